//! Opens a path as a recording or as plain arrays, and keeps the digest of what was read.

use super::arrays::{Arrays, parse_arrays};
use super::error::DataError;
use super::recording::Recording;
use super::repair::Repair;
use super::{long_csv, wide};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::path::Path;

/// The name of the run where none is given.
pub(super) const DEFAULT_RUN: &str = "run-01";

/// What to do with several values of one stream, feature and time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Duplicates {
    /// An error that names the rows.
    #[default]
    Refuse,
    /// The mean of the observed ones, reported as a repair.
    Average,
}

/// How recordings are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    pub duplicates: Duplicates,
}

/// A recording with the account of how it was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Loaded {
    pub recording: Recording,
    /// Every change made to what the files say.
    pub repairs: Vec<Repair>,
    /// SHA-256 in hexadecimal: of the bytes of a file; of a folder, over its tables in the order of their names, each
    /// as its name, a zero byte, its length in eight bytes (little-endian) and its bytes.
    pub digest: String,
}

/// Reads a recording: a long table (`.csv`, `.tsv`) or a folder of wide tables.
///
/// # Errors
/// See [`DataError`]; nothing is guessed and no row is dropped.
pub fn load(path: &Path, options: &Options) -> Result<Loaded, DataError> {
    if path.is_dir() {
        return load_folder(path, options);
    }
    let delimiter = match path.extension().and_then(|e| e.to_str()) {
        Some("csv") => b',',
        Some("tsv") => b'\t',
        _ => {
            return Err(DataError::Kind {
                file: path.to_path_buf(),
                wanted: "a recording",
                expected: "a long table (.csv or .tsv, not compressed) or a folder of wide tables",
            });
        }
    };
    let bytes = read_bytes(path)?;
    let (recording, repairs) = long_csv::read(path, &bytes, delimiter, options.duplicates)?;
    Ok(Loaded { recording, repairs, digest: hex(&Sha256::digest(&bytes)) })
}

fn load_folder(folder: &Path, options: &Options) -> Result<Loaded, DataError> {
    let (tables, skipped) = wide::list(folder)?;
    let mut reader = wide::Reader::new(folder, options.duplicates, skipped);
    let mut digest = Sha256::new();
    for table in &tables {
        let bytes = read_bytes(table.path())?;
        let name = table.path().file_name().unwrap_or_default();
        digest.update(name.to_string_lossy().as_bytes());
        digest.update([0]);
        digest.update((bytes.len() as u64).to_le_bytes());
        digest.update(&bytes);
        reader.read(table, &bytes)?;
    }
    let (recording, repairs) = reader.finish()?;
    Ok(Loaded { recording, repairs, digest: hex(&digest.finalize()) })
}

/// Reads plain arrays from a `.json` file, with the SHA-256 of its bytes in hexadecimal.
///
/// # Errors
/// See [`DataError`].
pub fn load_arrays(path: &Path) -> Result<(Arrays, String), DataError> {
    if path.extension().and_then(|e| e.to_str()) != Some("json") {
        return Err(DataError::Kind {
            file: path.to_path_buf(),
            wanted: "plain arrays",
            expected: "a .json file with one object: a name and a number or nested arrays of numbers per entry",
        });
    }
    let bytes = read_bytes(path)?;
    let arrays = parse_arrays(path, &bytes)?;
    Ok((arrays, hex(&Sha256::digest(&bytes))))
}

fn read_bytes(path: &Path) -> Result<Vec<u8>, DataError> {
    std::fs::read(path).map_err(|source| DataError::Read { file: path.to_path_buf(), source })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn digests_are_those_of_the_bytes() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        // SHA-256 of `{"J": 3}` and a line end, as sha256sum prints it.
        let path = dir.path().join("data.json");
        fs::write(&path, "{\"J\": 3}\n").expect("a file");
        let (arrays, digest) = load_arrays(&path).expect("arrays");
        assert_eq!(arrays.len(), 1);
        assert_eq!(digest, "929e84370b6d1bc594647e7c40f4a3abf7250c54010325abc16811c87ef1aaa5");
        let tables = dir.path().join("tables");
        fs::create_dir(&tables).expect("a folder");
        fs::write(tables.join("a_r_eda.csv"), "time,x\n0,1\n").expect("a file");
        let first = load(&tables, &Options::default()).expect("a recording").digest;
        assert_eq!(first, "8b649782a6b308432537da0603e406a095aec42ea605261566ed1ccff11ddb55");
        fs::rename(tables.join("a_r_eda.csv"), tables.join("b_r_eda.csv")).expect("renamed");
        assert_ne!(load(&tables, &Options::default()).expect("a recording").digest, first);
    }

    #[test]
    fn paths_of_other_kinds_are_refused() {
        let kind = |e: Option<DataError>| matches!(e, Some(DataError::Kind { .. }));
        assert!(kind(load(Path::new("study.csv.gz"), &Options::default()).err()));
        assert!(kind(load(Path::new("study"), &Options::default()).err()));
        assert!(kind(load_arrays(Path::new("study.csv")).err()));
        let absent = load(Path::new("/no/such/study.csv"), &Options::default()).err();
        assert!(matches!(absent, Some(DataError::Read { .. })));
        assert!(absent.is_some_and(|e| e.to_string().contains("/no/such/study.csv")));
    }

    #[test]
    fn a_long_table_may_be_separated_by_tabs() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let path = dir.path().join("study.tsv");
        let text = "participant,run,modality,feature,time,value\na,r,eda,x,0,1\n".replace(',', "\t");
        fs::write(&path, text).expect("a file");
        assert_eq!(load(&path, &Options::default()).expect("a recording").recording.streams.len(), 1);
    }
}
