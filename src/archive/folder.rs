//! Writes and reads the folder of a fit; a folder is complete or absent.

use super::contents::{Archive, FORMAT};
use crate::bind::Plan;
use sha2::{Digest, Sha256};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// File name of the archive inside the folder.
const ARCHIVE: &str = "fit.cbor";

/// What can go wrong between a fit and the disk.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    #[error("{} exists already; choose another --out, or replace it with --force", path.display())]
    Exists { path: PathBuf },
    #[error("{} is not a fit folder (it holds no {ARCHIVE}), so --force does not replace it; choose another --out", path.display())]
    Foreign { path: PathBuf },
    #[error("{} is no folder of tables that msrm wrote (it holds no {holds}), so --force does not replace it; choose another --out", path.display())]
    ForeignTables { path: PathBuf, holds: &'static str },
    #[error("{} is a folder; name a file with --out", path.display())]
    Folder { path: PathBuf },
    #[error("the folder {} that --out lies in does not exist; make it first", path.display())]
    NoParent { path: PathBuf },
    #[error("cannot {action} {}: {source}", path.display())]
    Io { action: &'static str, path: PathBuf, source: std::io::Error },
    #[error("{} holds no readable fit: {reason}", path.display())]
    Broken { path: PathBuf, reason: String },
    #[error("{} has archive format {found}; this msrm reads format {FORMAT}", path.display())]
    Format { path: PathBuf, found: u32 },
}

/// SHA-256 of bytes, in hexadecimal.
pub fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|b| format!("{b:02x}")).collect()
}

/// SHA-256 of a Plan.
///
/// # Errors
/// A Plan that cannot be written as CBOR.
pub fn plan_digest(plan: &Plan) -> Result<String, ArchiveError> {
    let mut bytes = Vec::new();
    ciborium::into_writer(plan, &mut bytes)
        .map_err(|e| ArchiveError::Broken { path: PathBuf::new(), reason: e.to_string() })?;
    Ok(digest(&bytes))
}

/// Checks before any work that the folder can be written.
///
/// # Errors
/// A path that exists (without `force`), or whose parent does not.
pub fn check_target(out: &Path, force: bool) -> Result<(), ArchiveError> {
    let parent = parent_of(out);
    if !parent.is_dir() {
        return Err(ArchiveError::NoParent { path: parent });
    }
    if out.symlink_metadata().is_ok() {
        if !force {
            return Err(ArchiveError::Exists { path: out.to_path_buf() });
        }
        // Never delete something that msrm did not make.
        if !out.join(ARCHIVE).is_file() {
            return Err(ArchiveError::Foreign { path: out.to_path_buf() });
        }
    }
    Ok(())
}

pub(super) fn parent_of(out: &Path) -> PathBuf {
    match out.parent() {
        Some(p) if !p.as_os_str().is_empty() => p.to_path_buf(),
        _ => PathBuf::from("."),
    }
}

/// Writes the archive and the named tables into `out`, which appears whole by a rename.
///
/// # Errors
/// As [`check_target`], and whatever the disk refuses; then nothing is left behind.
pub fn write(out: &Path, archive: &Archive, tables: &[(&str, String)], force: bool) -> Result<(), ArchiveError> {
    check_target(out, force)?;
    let io = |action: &'static str, path: &Path| {
        let path = path.to_path_buf();
        move |source| ArchiveError::Io { action, path, source }
    };
    let parent = parent_of(out);
    let staging =
        tempfile::Builder::new().prefix(".msrm-fit-").tempdir_in(&parent).map_err(io("make a folder in", &parent))?;
    let path = staging.path().join(ARCHIVE);
    let file = fs::File::create(&path).map_err(io("create", &path))?;
    let mut writer = std::io::BufWriter::new(file);
    ciborium::into_writer(archive, &mut writer)
        .map_err(|e| ArchiveError::Broken { path: path.clone(), reason: e.to_string() })?;
    writer.flush().map_err(io("write", &path))?;
    for (name, text) in tables {
        let path = staging.path().join(name);
        fs::write(&path, text).map_err(io("write", &path))?;
    }
    readable(staging.path());
    if out.symlink_metadata().is_ok() {
        let old = tempfile::Builder::new()
            .prefix(".msrm-old-")
            .tempdir_in(&parent)
            .map_err(io("make a folder in", &parent))?;
        fs::rename(out, old.path().join("fit")).map_err(io("replace", out))?;
        fs::rename(staging.path(), out).map_err(io("write", out))?;
    } else {
        fs::rename(staging.path(), out).map_err(io("write", out))?;
    }
    // The folder has moved to its place and must stay.
    let _ = staging.keep();
    Ok(())
}

/// Temporary folders are private to their maker; the finished one has the usual permissions.
pub(super) fn readable(path: &Path) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let _ = fs::set_permissions(path, fs::Permissions::from_mode(0o755));
    }
    #[cfg(not(unix))]
    let _ = path;
}

/// Reads a fit from its folder (or from the archive file itself).
///
/// # Errors
/// A missing or unreadable archive, or one of another format.
pub fn read(path: &Path) -> Result<Archive, ArchiveError> {
    let path = if path.is_dir() { path.join(ARCHIVE) } else { path.to_path_buf() };
    let bytes = fs::read(&path).map_err(|source| ArchiveError::Io { action: "read", path: path.clone(), source })?;
    let broken = |reason: String| ArchiveError::Broken { path: path.clone(), reason };
    let damaged = |_| broken("the file is cut off or damaged".into());
    // The format is looked at first, so that an archive of another version says so.
    let value: ciborium::Value = ciborium::from_reader(bytes.as_slice()).map_err(damaged)?;
    let format = value
        .as_map()
        .and_then(|map| map.iter().find(|(k, _)| k.as_text() == Some("format")).and_then(|(_, v)| v.as_integer()));
    let found = format.and_then(|i| u32::try_from(i).ok()).ok_or_else(|| broken("it is not an msrm archive".into()))?;
    if found != FORMAT {
        return Err(ArchiveError::Format { path, found });
    }
    value.deserialized().map_err(|e| broken(e.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::{ChainDraws, Draws, Outcome, Quantity, Settings};
    use crate::base::Source;
    use crate::bind::{BindOptions, Input, bind};
    use crate::model::check_text;

    fn archive() -> Archive {
        let source = Source::new("m.msrm", "model m\nparam mu ~ normal(0, 1)\n");
        let model = check_text(&source).expect("a correct model");
        let plan = bind(model, source, Input::None, BindOptions::default()).expect("a plan");
        let quantities = vec![Quantity { name: "mu".into(), labels: vec!["mu".into()], ..Quantity::default() }];
        let chain = ChainDraws { values: vec![0.1, -2.5e-300], log_density: vec![-1.0, -2.0], ..ChainDraws::default() };
        Archive {
            format: FORMAT,
            msrm_version: "0.0.0".into(),
            created: 7,
            inputs: vec![],
            settings: Settings::default(),
            plan_sha256: plan_digest(&plan).expect("a digest"),
            plan,
            outcome: Outcome::Draws(Draws { quantities, chains: vec![chain], latent: vec![], interrupted: false }),
            calibrated: Vec::new(),
            seconds: 0.5,
        }
    }

    fn entries(folder: &Path) -> Vec<String> {
        let names = fs::read_dir(folder).expect("a folder").map(|e| e.expect("an entry").file_name());
        let mut names: Vec<String> = names.map(|n| n.to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn what_is_written_is_read_back_bit_for_bit() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let out = folder.path().join("fit");
        let archive = archive();
        write(&out, &archive, &[("summary.csv", "a\n".into())], false).expect("written");
        assert_eq!(read(&out).expect("readable"), archive);
        assert_eq!(read(&out.join(ARCHIVE)).expect("readable by file"), archive);
        assert_eq!(entries(&out), ["fit.cbor", "summary.csv"]);
        assert_eq!(entries(folder.path()), ["fit"], "nothing temporary stays");
    }

    #[test]
    fn a_fit_is_replaced_only_by_force_and_strangers_never() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let out = folder.path().join("fit");
        let mut archive = archive();
        write(&out, &archive, &[("latent.csv", String::new())], false).expect("written");
        assert!(matches!(write(&out, &archive, &[], false), Err(ArchiveError::Exists { .. })));
        archive.created = 8;
        write(&out, &archive, &[], true).expect("replaced");
        assert_eq!(read(&out).expect("readable").created, 8);
        assert_eq!(entries(&out), ["fit.cbor"], "the old tables are gone");
        assert_eq!(entries(folder.path()), ["fit"]);

        let stranger = folder.path().join("photos");
        fs::create_dir(&stranger).expect("a folder");
        fs::write(stranger.join("cat.jpg"), "").expect("a file");
        assert!(matches!(write(&stranger, &archive, &[], true), Err(ArchiveError::Foreign { .. })));
        assert_eq!(entries(&stranger), ["cat.jpg"]);
        let nowhere = folder.path().join("no/such/fit");
        assert!(matches!(check_target(&nowhere, false), Err(ArchiveError::NoParent { .. })));
    }

    #[test]
    fn other_formats_and_broken_files_are_refused_with_the_reason() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("fit.cbor");
        let mut future = archive();
        future.format = FORMAT + 1;
        let mut bytes = Vec::new();
        ciborium::into_writer(&future, &mut bytes).expect("CBOR");
        fs::write(&path, &bytes).expect("a file");
        assert!(matches!(read(&path), Err(ArchiveError::Format { found, .. }) if found == FORMAT + 1));
        fs::write(&path, &bytes[..bytes.len() / 2]).expect("a file");
        assert!(matches!(read(&path), Err(ArchiveError::Broken { .. })));
        fs::write(&path, b"not cbor at all").expect("a file");
        assert!(matches!(read(&path), Err(ArchiveError::Broken { .. })));
        assert!(matches!(read(&folder.path().join("none")), Err(ArchiveError::Io { .. })));
    }
}
