//! Single findings about data, with their places; an error or a repair holds the first ten of them and their count.

use super::names::brief;
use super::token::MISSING;
use serde::Serialize;
use std::fmt;

/// How many findings of one kind a message lists; the rest are counted.
pub(super) const LISTED: usize = 10;

/// The names of one stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StreamName {
    pub participant: String,
    pub run: String,
    pub modality: String,
}

impl fmt::Display for StreamName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}, {}", self.participant, self.run, self.modality)
    }
}

/// The first ten findings of a kind, and how many there are in all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Findings<T> {
    pub first: Vec<T>,
    pub count: usize,
}

impl<T> Default for Findings<T> {
    fn default() -> Self {
        Self { first: Vec::new(), count: 0 }
    }
}

impl<T> Findings<T> {
    /// Counts a finding; builds and keeps it while there is room.
    pub(super) fn push_with(&mut self, finding: impl FnOnce() -> T) {
        if self.first.len() < LISTED {
            self.first.push(finding());
        }
        self.count += 1;
    }

    /// True when nothing was found.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

impl<T: fmt::Display> fmt::Display for Findings<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for finding in &self.first {
            write!(f, "\n  {finding}")?;
        }
        match self.count - self.first.len() {
            0 => Ok(()),
            more => write!(f, "\n  and {more} more"),
        }
    }
}

impl Findings<u64> {
    /// Line numbers inside a sentence: `line 3`, or `lines 3, 5 and 12 more`.
    pub fn lines(&self) -> String {
        let list: Vec<String> = self.first.iter().map(u64::to_string).collect();
        let word = if self.count == 1 { "line" } else { "lines" };
        match self.count - self.first.len() {
            0 => format!("{word} {}", list.join(", ")),
            more => format!("{word} {} and {more} more", list.join(", ")),
        }
    }
}

/// What is wrong with one row of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// The row has another number of fields than the header.
    FieldCount { expected: usize, found: usize },
    /// A name in the named column is empty.
    EmptyName { column: &'static str },
    /// The time is empty or a missing-value token.
    TimeMissing,
    /// The time is infinite or not a number.
    TimeNotFinite,
    /// The time is some other text.
    TimeUnreadable,
    /// The value is infinite.
    ValueInfinite,
    /// The value is neither a number nor a missing-value token.
    ValueUnreadable,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::FieldCount { expected, found } => {
                write!(f, "{found} fields, expected {expected} as in the header; check separators and quotes")
            }
            Fault::EmptyName { column } => write!(f, "the {column} is empty; fill in its name"),
            Fault::TimeMissing => write!(f, "the time is missing; give it in seconds or remove the row"),
            Fault::TimeNotFinite => write!(f, "the time is not finite; give it in seconds or remove the row"),
            Fault::TimeUnreadable => {
                write!(f, "the time is not a number; expected seconds with a decimal point, such as 12.5")
            }
            Fault::ValueInfinite => write!(f, "the value is infinite; write n/a where it is missing"),
            Fault::ValueUnreadable => write!(
                f,
                "the value is not a number; expected digits with a decimal point, or {} or nothing where it is missing",
                MISSING.join(", ")
            ),
        }
    }
}

/// One row that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadRow {
    /// Line in the file; the header is line 1.
    pub line: u64,
    /// Absent where the row does not say, or has the wrong number of fields.
    pub stream: Option<StreamName>,
    pub feature: Option<String>,
    /// The offending text, cut to sixty characters.
    pub text: String,
    pub fault: Fault,
}

impl fmt::Display for BadRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}", self.line)?;
        match (&self.stream, &self.feature) {
            (Some(stream), Some(feature)) => write!(f, " ({stream}, {feature})")?,
            (Some(stream), None) => write!(f, " ({stream})")?,
            _ => (),
        }
        write!(f, ": `{}`: {}", self.text, self.fault)
    }
}

/// Rows that give a value for the same stream, feature and time.
#[derive(Debug, Clone, PartialEq)]
pub struct Repeat {
    pub stream: StreamName,
    /// All features that these rows repeat.
    pub features: Vec<String>,
    /// Seconds.
    pub time: f64,
    /// Lines in the file, ascending, at least two.
    pub lines: Vec<u64>,
}

impl fmt::Display for Repeat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.lines.iter().map(u64::to_string).collect();
        let features = brief(&self.features, 3);
        write!(f, "lines {}: {}, {features} at time {}", lines.join(", "), self.stream, self.time)
    }
}

/// Two runs of one participant and modality whose feature sets differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeatureMismatch {
    pub participant: String,
    pub modality: String,
    /// The two runs.
    pub runs: [String; 2],
    /// Features of the first run that the second lacks.
    pub only_first: Vec<String>,
    /// Features of the second run that the first lacks.
    pub only_second: Vec<String>,
}

impl fmt::Display for FeatureMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}: ", self.participant, self.modality)?;
        let sides = [(&self.only_first, &self.runs[0]), (&self.only_second, &self.runs[1])];
        let parts: Vec<String> = sides
            .iter()
            .filter(|(names, _)| !names.is_empty())
            .map(|(names, run)| format!("only {run} has {}", brief(names, LISTED)))
            .collect();
        write!(f, "{} (runs compared: {}, {})", parts.join("; "), self.runs[0], self.runs[1])
    }
}

/// A table whose file name does not say which stream it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadName {
    /// The file's name without its folder.
    pub name: String,
    /// What about it cannot be read.
    pub reason: String,
}

impl fmt::Display for BadName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.reason)
    }
}

/// What stands at one place of nested arrays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    Number,
    /// An array of whatever length.
    Array,
    /// An array of this length.
    Length(usize),
}

impl fmt::Display for Extent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Extent::Number => write!(f, "a number"),
            Extent::Array => write!(f, "an array"),
            Extent::Length(n) => write!(f, "an array of length {n}"),
        }
    }
}
