//! What was mended while reading: nothing is changed in silence.

use super::finding::{Findings, StreamName};
use super::names::counted;
use serde::Serialize;
use std::fmt;
use std::path::PathBuf;

/// One change made to what the files say, or one part of them that was left out.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Repair {
    /// No run was named, so that all rows belong to one run of this name.
    RunNamed { file: PathBuf, run: String },
    /// Rows whose time lies before that of the row above them (same stream and feature); the stream was sorted.
    Sorted { file: PathBuf, stream: StreamName, lines: Findings<u64> },
    /// Entries given more than once, replaced by the mean of their observed values; `lines` holds all their rows.
    Averaged { file: PathBuf, stream: StreamName, entries: usize, lines: Findings<u64> },
    /// Entries that are missing: `tokens` are marked so in the file, `absent` have no row at a time of the stream.
    Masked { file: PathBuf, stream: StreamName, tokens: usize, absent: usize },
    /// A file or folder beside the tables that was not read.
    Skipped { file: PathBuf },
}

impl Repair {
    /// The stream that was changed; `None` for what concerns a whole file.
    pub fn stream(&self) -> Option<&StreamName> {
        match self {
            Repair::Sorted { stream, .. } | Repair::Averaged { stream, .. } | Repair::Masked { stream, .. } => {
                Some(stream)
            }
            Repair::RunNamed { .. } | Repair::Skipped { .. } => None,
        }
    }
}

impl fmt::Display for Repair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Repair::RunNamed { file, run } => {
                write!(f, "{}: no run is named; everything in it belongs to run `{run}`", file.display())
            }
            Repair::Sorted { file, stream, lines } => {
                write!(f, "{}: {stream}: sorted by time; out of order: {}", file.display(), lines.lines())
            }
            Repair::Averaged { file, stream, entries, lines } => {
                let lines = lines.lines();
                let what = counted(*entries, "repeated entry", "repeated entries");
                write!(f, "{}: {stream}: averaged {what}; {lines}", file.display())
            }
            Repair::Masked { file, stream, tokens, absent } => write!(
                f,
                "{}: {stream}: {} masked: {tokens} marked missing, {absent} without a row",
                file.display(),
                counted(tokens + absent, "entry", "entries")
            ),
            Repair::Skipped { file } => write!(f, "{}: not a table, not read", file.display()),
        }
    }
}
