//! The flags of every verb.

use super::questions::{CalibrateArguments, EvaluateArguments, InferArguments, PredictArguments};
use crate::archive::{Init, Method, Metric};
use crate::bind::Constants;
use crate::data::Duplicates;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Shared response models and Bayesian inference from a short model file.
#[derive(Parser)]
#[command(name = "msrm", version, about, max_term_width = 100)]
#[command(
    after_help = "Exit codes: 0 fine, 1 failure, 2 bad input, 3 the fit finished but do not trust it, 130 interrupted."
)]
pub struct Cli {
    #[command(subcommand)]
    pub verb: Verb,
}

/// The verbs.
#[derive(Subcommand)]
pub enum Verb {
    /// Check a model file, without data or with it.
    Check(CheckArguments),
    /// Show what a recording holds: streams, clocks, gaps, missing entries, constant features.
    Data(DataArguments),
    /// Fit a model to data.
    Fit(Box<FitArguments>),
    /// Summarise a finished fit.
    Summary(SummaryArguments),
    /// The latent of new data under the parameters of a fit, as CSV.
    Infer(InferArguments),
    /// Predict hidden streams of new data from the others, as CSV.
    Predict(PredictArguments),
    /// Add new people or modalities to a fit, which stays as it is.
    Calibrate(CalibrateArguments),
    /// Predict what was held out of a recording, and score it: compare models, and choose one.
    Evaluate(Box<EvaluateArguments>),
    /// Evaluate a model at a named point: value, terms, gradients.
    Eval(EvalArguments),
    /// Bring model files into their tidy form: one space around signs, columns in line.
    Fmt(FmtArguments),
    /// Draw parameters from their priors and data from the likelihood; write both.
    Simulate(SimulateArguments),
}

/// A stage of the compiler.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Stage {
    /// The model as it was read, in canonical form.
    Ast,
    /// The checked model with shapes.
    Model,
    /// The model joined with data: sizes, coordinates, bounds. Needs --data where the model has data.
    Plan,
    /// The array program. Needs --data where the model has data.
    Graph,
}

#[derive(Args)]
pub struct CheckArguments {
    /// The model file.
    pub model: PathBuf,
    /// Data to join the model with: a JSON file, a long CSV file or a folder of wide CSV files.
    #[arg(long)]
    pub data: Option<PathBuf>,
    /// Print a stage of the compiler.
    #[arg(long, value_enum)]
    pub emit: Option<Stage>,
    #[command(flatten)]
    pub recording: RecordingArguments,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
}

/// How recordings are read and used.
#[derive(Args)]
pub struct RecordingArguments {
    /// Use only this modality of a recording; may be given several times.
    #[arg(long, value_name = "NAME")]
    pub modality: Vec<String>,
    /// What to do with features that never vary.
    #[arg(long, value_enum, default_value = "mask")]
    pub constant: ConstantPolicy,
    /// What to do with several values of one feature at one time.
    #[arg(long, value_enum, default_value = "refuse")]
    pub duplicates: DuplicatePolicy,
    /// A CSV with the columns first, second, affinity: how strongly participants are tied, for models that use it.
    #[arg(long, value_name = "FILE")]
    pub affinity: Option<PathBuf>,
}

/// Features that never vary.
#[derive(Clone, Copy, ValueEnum)]
pub enum ConstantPolicy {
    /// Treat as missing, and name them.
    Mask,
    /// End with an error.
    Refuse,
    /// Use like any other feature.
    Keep,
}

impl From<ConstantPolicy> for Constants {
    fn from(policy: ConstantPolicy) -> Constants {
        match policy {
            ConstantPolicy::Mask => Constants::Mask,
            ConstantPolicy::Refuse => Constants::Refuse,
            ConstantPolicy::Keep => Constants::Keep,
        }
    }
}

/// Several values at one time.
#[derive(Clone, Copy, ValueEnum)]
pub enum DuplicatePolicy {
    /// End with an error.
    Refuse,
    /// Take their mean.
    Average,
}

impl From<DuplicatePolicy> for Duplicates {
    fn from(policy: DuplicatePolicy) -> Duplicates {
        match policy {
            DuplicatePolicy::Refuse => Duplicates::Refuse,
            DuplicatePolicy::Average => Duplicates::Average,
        }
    }
}

#[derive(Args)]
pub struct DataArguments {
    /// A long CSV file, a folder of wide CSV files, or a JSON file of named arrays.
    pub file: PathBuf,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
}

/// `--method`
#[derive(Clone, Copy, ValueEnum)]
pub enum MethodChoice {
    /// By the model: als for a latent on a grid, map for other objectives and recordings, nuts for the rest.
    Auto,
    /// Draws by the No-U-Turn sampler.
    Nuts,
    /// Draws by Metropolis-adjusted microcanonical sampling.
    Mams,
    /// The mode.
    Map,
    /// Alternating closed-form steps.
    Als,
}

impl MethodChoice {
    /// The chosen method; `None` for auto.
    pub fn method(self) -> Option<Method> {
        match self {
            MethodChoice::Auto => None,
            MethodChoice::Nuts => Some(Method::Nuts),
            MethodChoice::Mams => Some(Method::Mams),
            MethodChoice::Map => Some(Method::Map),
            MethodChoice::Als => Some(Method::Als),
        }
    }
}

/// `--metric`
#[derive(Clone, Copy, ValueEnum)]
pub enum MetricChoice {
    /// One scale per coordinate.
    Diagonal,
    /// A full covariance matrix; for nuts and few, strongly correlated coordinates.
    Dense,
    /// A diagonal and the few strongest correlations.
    LowRank,
}

impl From<MetricChoice> for Metric {
    fn from(choice: MetricChoice) -> Metric {
        match choice {
            MetricChoice::Diagonal => Metric::Diagonal,
            MetricChoice::Dense => Metric::Dense,
            MetricChoice::LowRank => Metric::LowRank,
        }
    }
}

/// `--init`
#[derive(Clone, Copy, ValueEnum)]
pub enum InitChoice {
    /// By Pathfinder, and at random where that finds nothing; around the mode for a shared response.
    Auto,
    /// Uniform on (-2, 2) in unconstrained coordinates; around the mode for a shared response.
    Random,
    /// Near the mass of the posterior, by the Pathfinder algorithm.
    Pathfinder,
}

impl From<InitChoice> for Init {
    fn from(choice: InitChoice) -> Init {
        match choice {
            InitChoice::Auto => Init::Auto,
            InitChoice::Random => Init::Random,
            InitChoice::Pathfinder => Init::Pathfinder,
        }
    }
}

#[derive(Args)]
pub struct FitArguments {
    /// The model file.
    pub model: PathBuf,
    /// A JSON file, a long CSV file or a folder of wide CSV files.
    #[arg(long)]
    pub data: Option<PathBuf>,
    /// How to fit.
    #[arg(long, value_enum, default_value = "auto")]
    pub method: MethodChoice,
    /// Number of chains.
    #[arg(long, default_value_t = 4)]
    pub chains: usize,
    /// Warm-up transitions per chain.
    #[arg(long, default_value_t = 1000)]
    pub warmup: usize,
    /// Draws per chain after warm-up.
    #[arg(long, default_value_t = 1000)]
    pub draws: usize,
    /// Mean acceptance that the step size is adapted to [default: 0.8 for nuts, 0.75 for mams].
    #[arg(long)]
    pub target_accept: Option<f64>,
    /// Most doublings of a trajectory.
    #[arg(long, default_value_t = 10)]
    pub max_depth: u32,
    /// Form of the mass matrix.
    #[arg(long, value_enum, default_value = "diagonal")]
    pub metric: MetricChoice,
    /// Where the chains of nuts and mams start.
    #[arg(long, value_enum, default_value = "auto")]
    pub init: InitChoice,
    /// Starts of a mode search, or restarts of alternating steps.
    #[arg(long, default_value_t = 4)]
    pub starts: usize,
    /// Most iterations of each start [default: 10000 for map, 5000 for als].
    #[arg(long)]
    pub max_iterations: Option<usize>,
    /// Laplace standard errors at the mode.
    #[arg(long)]
    pub standard_errors: bool,
    /// The same seed gives the same result on any number of threads.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Number of threads; 0 takes one per core.
    #[arg(long, default_value_t = 0)]
    pub threads: usize,
    /// Where gradients are computed: cpu (the tape), ndarray (the burn graph on the CPU), cuda or cuda:N.
    #[arg(long, default_value = "cpu")]
    pub device: String,
    /// Folder for the fit [default: NAME-fit in the current folder].
    #[arg(long)]
    pub out: Option<PathBuf>,
    /// Replace an earlier fit in that folder.
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

#[derive(Args)]
pub struct SummaryArguments {
    /// The folder of a fit.
    pub fit: PathBuf,
    /// Add leave-one-out cross-validation over the observations, by Pareto-smoothed importance sampling.
    #[arg(long)]
    pub loo: bool,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct EvalArguments {
    /// The model file.
    pub model: PathBuf,
    /// A JSON file, a long CSV file or a folder of wide CSV files.
    #[arg(long)]
    pub data: Option<PathBuf>,
    /// A JSON file with a value for every parameter.
    #[arg(long)]
    pub at: PathBuf,
    #[command(flatten)]
    pub recording: RecordingArguments,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct FmtArguments {
    /// Model files, which are changed in place; `-` reads standard input and writes standard output.
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// Change nothing; name the files that are not tidy and end with exit code 2.
    #[arg(long)]
    pub check: bool,
}

#[derive(Args)]
pub struct SimulateArguments {
    /// The model file.
    pub model: PathBuf,
    /// A JSON file with the data that are not drawn: sizes and covariates.
    #[arg(long)]
    pub data: Option<PathBuf>,
    /// For a model with a recording: a JSON file of participants, runs, seconds and streams.
    #[arg(long)]
    pub design: Option<PathBuf>,
    /// How often to draw; more than one draw lie in numbered folders.
    #[arg(long, default_value_t = 1)]
    pub draws: u64,
    /// The same seed gives the same draws.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Folder for data and truth, which must not exist [default: NAME-data in the current folder].
    #[arg(long)]
    pub out: Option<PathBuf>,
}
