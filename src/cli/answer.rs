//! What the verbs that ask a finished fit share: opening it, reading new data, and where the answer goes.

use super::error::CliError;
use super::{load, print};
use crate::archive::{self, Archive, InputFile};
use crate::data::Recording;
use crate::report::summarize_archive;
use std::path::Path;

/// A fit and the data that it is asked about.
pub struct Question {
    pub archive: Archive,
    pub recording: Recording,
    pub input: InputFile,
}

/// Reads a fit and new data, and says on standard error what was repaired and whether the fit is to be trusted.
pub fn question(fit: &Path, data: &Path, quiet: bool) -> Result<Question, CliError> {
    let archive = archive::read(fit)?;
    let (recording, input, notes) = load::recording(data, archive.plan.options.duplicates)?;
    note(&notes, quiet);
    if !quiet && !summarize_archive(&archive).judgement.trust {
        eprintln!("note: the verdict on this fit is not to trust it; `msrm summary {}` says why", fit.display());
    }
    Ok(Question { archive, recording, input })
}

/// Notes on standard error.
pub fn note(notes: &[String], quiet: bool) {
    if !quiet {
        notes.iter().for_each(|text| eprintln!("note: {text}"));
    }
}

/// Checks before any work that the answer can be written.
pub fn check_out(out: Option<&Path>, force: bool) -> Result<(), CliError> {
    out.map_or(Ok(()), |path| Ok(archive::check_file(path, force)?))
}

/// Writes a table to a file, or to standard output where none is named.
pub fn write_out(out: Option<&Path>, text: &str, force: bool, quiet: bool) -> Result<(), CliError> {
    match out {
        None => print(text),
        Some(path) => {
            archive::write_file(path, text, force)?;
            if !quiet {
                eprintln!("written to {}", path.display());
            }
            Ok(())
        }
    }
}
