//! Why data can be refused: every message names the file, the place in it, what stands there and the fix.

use super::finding::{BadName, BadRow, Extent, FeatureMismatch, Findings, LISTED, Repeat, StreamName};
use super::names::{brief, counted};
use std::fmt;
use std::path::PathBuf;
use thiserror::Error;

/// Why data were refused.
#[derive(Debug, Error)]
pub enum DataError {
    /// The file or folder cannot be read at all.
    #[error("{file}: cannot be read: {source}")]
    Read { file: PathBuf, source: std::io::Error },

    /// The file is not UTF-8.
    #[error("{file}, line {line}: the byte {byte:#04x} is not UTF-8 text; save the file with the encoding UTF-8")]
    Encoding { file: PathBuf, line: u64, byte: u8 },

    /// The path is of no kind that holds this sort of data.
    #[error("{file}: cannot be read as {wanted}; expected {expected}")]
    Kind { file: PathBuf, wanted: &'static str, expected: &'static str },

    /// The table has no header, or a header and no row.
    #[error("{file}: holds no data; expected a header and at least one row below it")]
    Empty { file: PathBuf },

    /// The header of a long table lacks columns, has unknown ones, or repeats one.
    #[error("{file}, line 1: the columns are not those of a long table (found `{found}`):{faults}")]
    Columns { file: PathBuf, found: String, faults: Box<ColumnFaults> },

    /// Rows that cannot be used.
    #[error("{file}: {} cannot be used:{rows}", counted(.rows.count, "entry", "entries"))]
    Rows { file: PathBuf, rows: Findings<BadRow> },

    /// The header of a table of affinities.
    #[error("{file}, line 1: the columns are `{found}`, expected `first,second,affinity`")]
    AffinityColumns { file: PathBuf, found: String },

    /// A row of a table of affinities.
    #[error("{file}, line {line}: `{found}` is not two participants and an affinity, a number of 0 or more")]
    AffinityRow { file: PathBuf, line: u64, found: String },

    /// Several values for one stream, feature and time.
    #[error(
        "{file}: {} given more than once:{repeats}\n  \
         remove the extra rows, or have them averaged (--duplicates average)",
        counted(.repeats.count, "entry is", "entries are")
    )]
    Duplicated { file: PathBuf, repeats: Findings<Repeat> },

    /// The features of a participant and modality change from run to run.
    #[error(
        "{file}: features must be the same in all runs of a participant and modality:{mismatches}\n  \
         where a feature was not recorded in a run, give it there with the value n/a, or remove it from the other runs"
    )]
    Features { file: PathBuf, mismatches: Findings<FeatureMismatch> },

    /// File names that do not say which stream they hold.
    #[error(
        "{folder}: {} cannot be read:{names}\n  \
         expected participant_run_modality.csv (three parts, no further `_`) or a name such as \
         sub-01_ses-1_task-film_run-02_bold.tsv",
        counted(.names.count, "file name", "file names")
    )]
    FileNames { folder: PathBuf, names: Findings<BadName> },

    /// No table lies in the folder.
    #[error(
        "{folder}: holds no .csv or .tsv file; expected one table per participant, run and modality, \
         directly in this folder"
    )]
    NoTables { folder: PathBuf },

    /// Two files hold the same stream.
    #[error("{second}: holds the stream {stream}, which {first} holds already; remove or rename one of them")]
    SameStream { first: PathBuf, second: PathBuf, stream: Box<StreamName> },

    /// A wide table whose first column is not the time.
    #[error(
        "{file}, line 1: the first column is `{found}`, expected `time` (or `onset`) in seconds. No sampling rate is \
         ever assumed. Put the time of every row first; the header then reads\n  {header}"
    )]
    NoTime { file: PathBuf, found: String, header: String },

    /// A wide table whose feature columns cannot be told apart.
    #[error(
        "{file}, line 1: {}{}; give every feature column a name of its own",
        listed_columns("columns without a name: ", .unnamed), listed("repeated", .repeated)
    )]
    Header { file: PathBuf, unnamed: Vec<usize>, repeated: Vec<String> },

    /// A wide table without a feature.
    #[error("{file}, line 1: only a time column; expected one column per feature beside it")]
    NoFeatures { file: PathBuf },

    /// The text is not JSON, or not of the form that plain arrays have.
    #[error("{file}, line {line}, column {column}: found {found}, expected {expected}")]
    Json { file: PathBuf, line: u64, column: u64, found: String, expected: &'static str },

    /// An entry of an array that is not a finite number.
    #[error("{file}, line {line}: {} is {found}; {fix}", place(.name, .index))]
    Entry { file: PathBuf, line: u64, name: String, index: Vec<usize>, found: String, fix: &'static str },

    /// Nested arrays of unequal length or depth.
    #[error(
        "{file}, line {line}: {} is {found}, expected {expected} as in the part before it; \
         arrays must be rectangular",
        place(.name, .index)
    )]
    Ragged { file: PathBuf, line: u64, name: String, index: Vec<usize>, found: Extent, expected: Extent },

    /// A name that stands twice in one file of arrays.
    #[error("{file}, line {line}: `{name}` is given a second time; remove one of the two")]
    NameTwice { file: PathBuf, line: u64, name: String },
}

/// What is wrong with the header of a long table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnFaults {
    /// Columns it must have and has not.
    pub missing: Vec<String>,
    /// Columns that a long table does not have.
    pub unknown: Vec<String>,
    /// Columns that stand there more than once.
    pub repeated: Vec<String>,
    /// What to do.
    pub fix: String,
}

impl fmt::Display for ColumnFaults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (what, names) in [("missing", &self.missing), ("unknown", &self.unknown), ("repeated", &self.repeated)] {
            write!(f, "{}", listed(what, names))?;
        }
        write!(f, "\n  {}", self.fix)
    }
}

/// `y[3][2]`, counted from one.
fn place(name: &str, index: &[usize]) -> String {
    index.iter().fold(name.to_string(), |text, i| format!("{text}[{i}]"))
}

fn listed(what: &str, names: &[String]) -> String {
    if names.is_empty() { String::new() } else { format!("\n  {what}: {}", brief(names, LISTED)) }
}

fn listed_columns(what: &str, columns: &[usize]) -> String {
    let numbers: Vec<String> = columns.iter().map(usize::to_string).collect();
    if numbers.is_empty() { String::new() } else { format!("{what}{}", brief(&numbers, LISTED)) }
}
