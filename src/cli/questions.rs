//! Options of the verbs that ask a finished fit, or hold out data: infer, predict, calibrate, evaluate.

use super::arguments::RecordingArguments;
use crate::run::evaluate::{self, Scheme};
use crate::run::query::{Query, Reference, Source};
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// What the verbs that ask a fit share.
#[derive(Args)]
pub struct AnswerArguments {
    /// The folder of a fit.
    pub fit: PathBuf,
    /// New data: a long CSV file or a folder of wide CSV files.
    #[arg(long)]
    pub data: PathBuf,
    /// Seconds between the times of the answer [default: the times of the target, the grid nodes, or all observed times].
    #[arg(long, value_name = "SECONDS")]
    pub every: Option<f64>,
    /// File for the answer [default: standard output].
    #[arg(long)]
    pub out: Option<PathBuf>,
    /// Replace that file.
    #[arg(long)]
    pub force: bool,
    /// No notes on standard error.
    #[arg(long)]
    pub quiet: bool,
}

impl AnswerArguments {
    /// When the answer is given.
    pub fn query(&self) -> Query {
        self.every.map_or(Query::Native, Query::Every)
    }
}

#[derive(Args)]
pub struct InferArguments {
    #[command(flatten)]
    pub answer: AnswerArguments,
    /// Each participant's latent from their own streams alone.
    #[arg(long)]
    pub alone: bool,
}

/// `--from`
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SourceChoice {
    /// The participant's other streams.
    Within,
    /// The other participants' streams.
    Across,
    /// All of them.
    Both,
}

impl From<SourceChoice> for Source {
    fn from(choice: SourceChoice) -> Source {
        match choice {
            SourceChoice::Within => Source::Within,
            SourceChoice::Across => Source::Across,
            SourceChoice::Both => Source::Both,
        }
    }
}

#[derive(Args)]
pub struct PredictArguments {
    #[command(flatten)]
    pub answer: AnswerArguments,
    /// A stream to hide and predict: PARTICIPANT/MODALITY, or */MODALITY for everybody; may be given several times.
    #[arg(long, value_name = "STREAM", required = true)]
    pub target: Vec<String>,
    /// Which streams the prediction may look at.
    #[arg(long, value_enum, default_value = "both")]
    pub from: SourceChoice,
    /// Give the sd of a new observation instead of that of the signal.
    #[arg(long)]
    pub noise: bool,
}

/// `--reference`
#[derive(Clone, Copy, ValueEnum)]
pub enum ReferenceChoice {
    /// The latent of the fit, in the runs of the fit.
    Training,
    /// The latent inferred from the fitted participants in the new data.
    Donors,
}

impl From<ReferenceChoice> for Reference {
    fn from(choice: ReferenceChoice) -> Reference {
        match choice {
            ReferenceChoice::Training => Reference::Training,
            ReferenceChoice::Donors => Reference::Donors,
        }
    }
}

#[derive(Args)]
pub struct CalibrateArguments {
    /// The folder of a fit.
    pub fit: PathBuf,
    /// Streams of the new people, and of donors where the reference needs them.
    #[arg(long)]
    pub data: PathBuf,
    /// Whose latent the new streams are fitted to.
    #[arg(long, value_enum, default_value = "training")]
    pub reference: ReferenceChoice,
    /// Seed of the starts of a density.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Folder for the extended fit [default: NAME-calibrated in the current folder].
    #[arg(long)]
    pub out: Option<PathBuf>,
    /// Replace an earlier fit in that folder.
    #[arg(long)]
    pub force: bool,
    /// No notes on standard error.
    #[arg(long)]
    pub quiet: bool,
}

/// `--scheme`
#[derive(Clone, Copy, ValueEnum)]
pub enum SchemeChoice {
    /// Leave one run out; predict its streams from its other streams.
    Loro,
    /// Leave one participant out, calibrate them on all runs but one (or on half of a single run), predict the rest.
    Lopo,
    /// Hide stretches of every stream, and predict them from all that is left.
    Gaps,
}

impl From<SchemeChoice> for Scheme {
    fn from(choice: SchemeChoice) -> Scheme {
        match choice {
            SchemeChoice::Loro => Scheme::Runs,
            SchemeChoice::Lopo => Scheme::Participants,
            SchemeChoice::Gaps => Scheme::Gaps,
        }
    }
}

/// `--metric` of an evaluation
#[derive(Clone, Copy, ValueEnum)]
pub enum ScoreChoice {
    /// Largest mean share of explained variance.
    R2,
    /// Smallest mean squared error.
    Mse,
    /// Largest mean correlation.
    Correlation,
}

impl From<ScoreChoice> for evaluate::Metric {
    fn from(choice: ScoreChoice) -> evaluate::Metric {
        match choice {
            ScoreChoice::R2 => evaluate::Metric::R2,
            ScoreChoice::Mse => evaluate::Metric::Mse,
            ScoreChoice::Correlation => evaluate::Metric::Correlation,
        }
    }
}

#[derive(Args)]
pub struct EvaluateArguments {
    /// The model files to compare.
    #[arg(required = true)]
    pub models: Vec<PathBuf>,
    /// A long CSV file or a folder of wide CSV files.
    #[arg(long)]
    pub data: PathBuf,
    /// What is held out.
    #[arg(long, value_enum)]
    pub scheme: SchemeChoice,
    /// A stream to predict: PARTICIPANT/MODALITY, or */MODALITY for everybody; may be given several times [default: every
    /// stream].
    #[arg(long, value_name = "STREAM")]
    pub target: Vec<String>,
    /// Hide all targets at once instead of one at a time.
    #[arg(long)]
    pub together: bool,
    /// Which streams predictions may look at, for loro and lopo.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "within,across,both")]
    pub from: Vec<SourceChoice>,
    /// Number of folds, for gaps.
    #[arg(long, default_value_t = 5)]
    pub folds: usize,
    /// Seconds of a hidden stretch, for gaps [default: a twentieth of the longest run].
    #[arg(long, value_name = "SECONDS")]
    pub gap: Option<f64>,
    /// Lags of the ridge baseline in seconds.
    #[arg(long, value_delimiter = ',', default_value = "-4,-2,0,2,4", allow_hyphen_values = true)]
    pub lag: Vec<f64>,
    /// What models are compared by.
    #[arg(long, value_enum, default_value = "r2")]
    pub metric: ScoreChoice,
    /// Also choose a model inside every fold, by the same scheme, and score the chosen one.
    #[arg(long)]
    pub nested: bool,
    /// Starts of every fit.
    #[arg(long, default_value_t = 4)]
    pub starts: usize,
    /// Most iterations of each start.
    #[arg(long, default_value_t = 5000)]
    pub max_iterations: usize,
    /// Seed of the fits and of the hidden stretches.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Folds at a time; 0 takes one per core.
    #[arg(long, default_value_t = 0)]
    pub threads: usize,
    /// Folder for the tables [default: NAME-evaluation in the current folder].
    #[arg(long)]
    pub out: Option<PathBuf>,
    /// Replace an earlier evaluation in that folder.
    #[arg(long)]
    pub force: bool,
    /// No progress and no notes on standard error.
    #[arg(long)]
    pub quiet: bool,
    /// Print one JSON object instead of tables.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub recording: RecordingArguments,
}
