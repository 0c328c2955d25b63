//! Every error of the program and its exit code.

use crate::archive::ArchiveError;
use crate::base::{Diagnostic, Source, render};
use crate::bind::BindError;
use crate::data::DataError;
use crate::graph::LowerError;
use crate::run::evaluate::EvaluationError;
use crate::run::query::QueryError;
use crate::run::{FitError, PointError, PointwiseError, SimulateError};
use std::path::PathBuf;
use std::process::ExitCode;

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Everything went well.
    Fine = 0,
    /// The machine or the program failed.
    Failure = 1,
    /// The command line, the model or the data are wrong.
    BadInput = 2,
    /// The fit finished, but do not trust it: the verdict says why.
    Doubt = 3,
    /// Ctrl-C; what was finished is kept.
    Interrupted = 130,
}

impl Exit {
    /// As the operating system takes it.
    pub fn code(self) -> ExitCode {
        ExitCode::from(self as u8)
    }
}

/// Any error of a verb.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    #[error("cannot read {}: {source}", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{}", render(text, diagnostics))]
    Model { text: Box<Source>, diagnostics: Vec<Diagnostic> },
    #[error(transparent)]
    Data(#[from] DataError),
    #[error(transparent)]
    Bind(#[from] BindError),
    #[error(transparent)]
    Lower(#[from] LowerError),
    #[error(transparent)]
    Point(#[from] PointError),
    #[error(transparent)]
    Fit(#[from] FitError),
    #[error(transparent)]
    Query(#[from] QueryError),
    #[error(transparent)]
    Evaluation(#[from] EvaluationError),
    #[error(
        "the model `{model}` reads no recording, so nothing of it can be held out; evaluate shared-response models"
    )]
    NoRecording { model: String },
    #[error("{} is given twice", path.display())]
    SameModel { path: PathBuf },
    #[error("the recording has no modality `{name}`; it has: {known}")]
    Modality { name: String, known: String },
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    #[error("{option} is for models that read a recording, which this one does not; drop it")]
    RecordingOption { option: &'static str },
    #[error("{name} must be {range}, not {value}")]
    Setting { name: &'static str, range: &'static str, value: String },
    #[error(transparent)]
    Pointwise(#[from] PointwiseError),
    #[error(transparent)]
    Simulate(SimulateError),
    #[error("{0}")]
    Design(String),
    #[error("{} exists already; choose another --out", path.display())]
    OutExists { path: PathBuf },
    #[error("{0}")]
    Output(std::io::Error),
}

impl CliError {
    /// The text for standard error; diagnostics already start with `error[...]`.
    pub fn message(&self) -> String {
        match self {
            CliError::Model { .. } | CliError::Bind(BindError::Mismatch { .. }) => {
                self.to_string().trim_end().to_string()
            }
            _ => format!("error: {self}"),
        }
    }

    /// The exit code of the error.
    pub fn exit(&self) -> Exit {
        match self {
            // What cannot be read was named wrongly; what cannot be written is the disk's fault.
            CliError::Archive(ArchiveError::Io { action, .. }) if *action != "read" => Exit::Failure,
            CliError::Output(_) => Exit::Failure,
            CliError::Fit(FitError::Threads { .. }) => Exit::Failure,
            _ => Exit::BadInput,
        }
    }
}
