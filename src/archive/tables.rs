//! Tables that answer a question: a CSV file, or a folder of them, that appears whole or not at all.

use super::folder::{ArchiveError, parent_of, readable};
use std::fs;
use std::io::Write;
use std::path::Path;

/// Checks before any work that the file can be written.
///
/// # Errors
/// A path that exists (without `force`) or is a folder, or whose parent does not exist.
pub fn check_file(out: &Path, force: bool) -> Result<(), ArchiveError> {
    let parent = parent_of(out);
    if !parent.is_dir() {
        return Err(ArchiveError::NoParent { path: parent });
    }
    if out.is_dir() {
        return Err(ArchiveError::Folder { path: out.to_path_buf() });
    }
    if out.symlink_metadata().is_ok() && !force {
        return Err(ArchiveError::Exists { path: out.to_path_buf() });
    }
    Ok(())
}

/// Writes `text` to `out` by a rename.
///
/// # Errors
/// As [`check_file`], and whatever the disk refuses; then nothing is left behind.
pub fn write_file(out: &Path, text: &str, force: bool) -> Result<(), ArchiveError> {
    check_file(out, force)?;
    let parent = parent_of(out);
    let io = |action: &'static str| {
        let path = out.to_path_buf();
        move |source| ArchiveError::Io { action, path, source }
    };
    let mut staging =
        tempfile::Builder::new().prefix(".msrm-table-").tempfile_in(&parent).map_err(io("make a file beside"))?;
    staging.write_all(text.as_bytes()).map_err(io("write"))?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(staging.path(), fs::Permissions::from_mode(0o644)).map_err(io("write"))?;
    }
    staging.persist(out).map_err(|e| e.error).map_err(io("write"))?;
    Ok(())
}

/// Checks before any work that the folder of tables can be written. A folder that holds the table `mark` was made by
/// msrm and is replaced with `force`.
///
/// # Errors
/// A path that exists (without `force`), or whose parent does not, and folders that hold something else.
pub fn check_tables(out: &Path, mark: &'static str, force: bool) -> Result<(), ArchiveError> {
    let parent = parent_of(out);
    if !parent.is_dir() {
        return Err(ArchiveError::NoParent { path: parent });
    }
    if out.symlink_metadata().is_ok() {
        if !force {
            return Err(ArchiveError::Exists { path: out.to_path_buf() });
        }
        if !out.join(mark).is_file() {
            return Err(ArchiveError::ForeignTables { path: out.to_path_buf(), holds: mark });
        }
    }
    Ok(())
}

/// Writes named tables, the first of which marks the folder, into `out` by a rename.
///
/// # Errors
/// As [`check_tables`], and whatever the disk refuses; then nothing is left behind.
pub fn write_tables(out: &Path, tables: &[(&'static str, String)], force: bool) -> Result<(), ArchiveError> {
    let mark = tables.first().map_or("", |t| t.0);
    check_tables(out, mark, force)?;
    let io = |action: &'static str, path: &Path| {
        let path = path.to_path_buf();
        move |source| ArchiveError::Io { action, path, source }
    };
    let parent = parent_of(out);
    let temporary = |prefix: &str| tempfile::Builder::new().prefix(prefix).tempdir_in(&parent);
    let staging = temporary(".msrm-tables-").map_err(io("make a folder in", &parent))?;
    for (name, text) in tables {
        let path = staging.path().join(name);
        fs::write(&path, text).map_err(io("write", &path))?;
    }
    readable(staging.path());
    // Kept until the end, so that what is replaced goes only after the new folder has come.
    let old = match out.symlink_metadata() {
        Ok(_) => {
            let old = temporary(".msrm-old-").map_err(io("make a folder in", &parent))?;
            fs::rename(out, old.path().join("tables")).map_err(io("replace", out))?;
            Some(old)
        }
        Err(_) => None,
    };
    fs::rename(staging.path(), out).map_err(io("write", out))?;
    // The folder has moved to its place and must stay.
    let _ = staging.keep();
    drop(old);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).expect("a folder");
        let mut names: Vec<String> =
            entries.map(|e| e.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_appears_whole_and_is_replaced_only_on_request() {
        let dir = tempfile::tempdir().expect("a folder");
        let out = dir.path().join("a.csv");
        write_file(&out, "x\n", false).expect("written");
        assert!(matches!(write_file(&out, "y\n", false), Err(ArchiveError::Exists { .. })));
        write_file(&out, "y\n", true).expect("replaced");
        assert_eq!(fs::read_to_string(&out).expect("text"), "y\n");
        assert!(matches!(write_file(dir.path(), "y\n", true), Err(ArchiveError::Folder { .. })));
        let lost = dir.path().join("no/such/a.csv");
        assert!(matches!(write_file(&lost, "y\n", true), Err(ArchiveError::NoParent { .. })));
        assert_eq!(names(dir.path()), ["a.csv"]);
    }

    #[test]
    fn a_folder_of_tables_replaces_only_its_own_kind() {
        let dir = tempfile::tempdir().expect("a folder");
        let out = dir.path().join("e");
        let tables = |text: &str| [("scores.csv", text.to_string()), ("isc.csv", text.to_string())];
        write_tables(&out, &tables("1"), false).expect("written");
        assert_eq!(names(&out), ["isc.csv", "scores.csv"]);
        assert!(matches!(write_tables(&out, &tables("2"), false), Err(ArchiveError::Exists { .. })));
        write_tables(&out, &tables("2")[..1], true).expect("replaced");
        assert_eq!(names(&out), ["scores.csv"]);
        let foreign = dir.path().join("photos");
        fs::create_dir(&foreign).expect("made");
        assert!(matches!(write_tables(&foreign, &tables("3"), true), Err(ArchiveError::ForeignTables { .. })));
        assert_eq!(names(dir.path()), ["e", "photos"]);
    }
}
