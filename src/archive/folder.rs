//! Writes and reads the folder of a fit; a folder is complete or absent.

use super::contents::{Archive, FORMAT};
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

fn parent_of(out: &Path) -> PathBuf {
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
fn readable(path: &Path) {
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
    // The format is looked at first, so that an archive of another version says so.
    let value: ciborium::Value = ciborium::from_reader(bytes.as_slice()).map_err(|e| broken(e.to_string()))?;
    let format = value
        .as_map()
        .and_then(|map| map.iter().find(|(k, _)| k.as_text() == Some("format")).and_then(|(_, v)| v.as_integer()));
    let found = format.and_then(|i| u32::try_from(i).ok()).ok_or_else(|| broken("it is not an msrm archive".into()))?;
    if found != FORMAT {
        return Err(ArchiveError::Format { path, found });
    }
    value.deserialized().map_err(|e| broken(e.to_string()))
}
