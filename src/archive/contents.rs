//! What an archive holds: what was asked, what was given, and what came out.

use crate::bind::{Plan, Standardisation};
use crate::graph::Group;
use crate::response::Response;
use serde::{Deserialize, Serialize};

/// Version of the archive format; readers refuse what they do not know.
pub const FORMAT: u32 = 2;

/// How a fit is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// Draws from the posterior by the No-U-Turn sampler.
    Nuts,
    /// Draws by Metropolis-adjusted microcanonical sampling.
    Mams,
    /// The mode of the physical density, by bounded quasi-Newton climbs from several starts.
    Map,
    /// Alternating closed-form steps for a gridded objective.
    Als,
}

/// The form of the mass matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Metric {
    #[default]
    Diagonal,
    /// NUTS only.
    Dense,
    /// A diagonal and a few directions.
    #[serde(rename = "low-rank")]
    LowRank,
}

/// Where chains start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Init {
    /// By Pathfinder, and at random where that finds nothing; around the mode for a shared response.
    #[default]
    Auto,
    /// Uniform on (-2, 2) in unconstrained coordinates; around the mode for a shared response.
    Random,
    /// Over-dispersed draws of the normal approximations that climbs from random points pass through.
    Pathfinder,
}

/// Number of threads; 0 takes one per core.
pub type Threads = usize;

/// Everything that decides what a fit does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    pub method: Method,
    pub seed: u64,
    pub threads: Threads,
    /// `cpu` for the tape, or a burn device.
    pub device: String,
    pub chains: usize,
    pub warmup: usize,
    pub draws: usize,
    pub target_accept: f64,
    pub max_depth: u32,
    pub metric: Metric,
    #[serde(default)]
    pub init: Init,
    /// Starts of the mode search, or restarts of the alternating steps.
    pub starts: usize,
    pub max_iterations: usize,
    /// Laplace standard errors at the mode.
    pub standard_errors: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            method: Method::Nuts,
            seed: 1,
            threads: 0,
            device: "cpu".into(),
            chains: 4,
            warmup: 1000,
            draws: 1000,
            target_accept: 0.8,
            max_depth: 10,
            metric: Metric::Diagonal,
            init: Init::Auto,
            starts: 4,
            max_iterations: 10_000,
            standard_errors: false,
        }
    }
}

/// A file that was read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InputFile {
    pub role: String,
    pub path: String,
    pub sha256: String,
}

/// A reported quantity and its elements.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Quantity {
    pub name: String,
    #[serde(default)]
    pub group: Group,
    /// Every element is a whole number.
    #[serde(default)]
    pub integer: bool,
    pub shape: Vec<usize>,
    pub labels: Vec<String>,
}

/// What one chain left.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ChainDraws {
    /// draws x elements of all quantities, row-major, in the units of the model.
    pub values: Vec<f64>,
    pub log_density: Vec<f64>,
    /// Total Hamiltonian after the momentum was refreshed; empty for MAMS, which has none.
    pub energy: Vec<f64>,
    pub acceptance: Vec<f64>,
    /// Doublings of each NUTS tree; empty for MAMS.
    pub depth: Vec<u32>,
    /// Steps of each MAMS trajectory; empty for NUTS.
    pub steps: Vec<u32>,
    /// Gradients of each transition.
    pub gradients_per_draw: Vec<u32>,
    pub divergent: Vec<bool>,
    /// Trees that ended at the limit of depth; empty for MAMS.
    pub depth_hit: Vec<bool>,
    pub step_size: f64,
    /// Inverse mass: the diagonal, or the full matrix row by row.
    pub inverse_mass: Vec<f64>,
    /// Divergences of warm-up.
    pub warmup_divergences: usize,
    /// Times warm-up drove the step size to its smallest value: the density could not be followed at any step.
    pub step_size_collapses: usize,
    /// All gradients, warm-up and step-size searches included.
    pub gradients: u64,
    pub seconds: f64,
    /// Why the chain ended early, if it did.
    pub failure: Option<String>,
}

impl ChainDraws {
    /// Number of finished draws.
    pub fn len(&self) -> usize {
        self.log_density.len()
    }

    /// `true` before the first draw.
    pub fn is_empty(&self) -> bool {
        self.log_density.is_empty()
    }
}

/// Draws from the posterior.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Draws {
    pub quantities: Vec<Quantity>,
    pub chains: Vec<ChainDraws>,
    /// For a recording: the latent averaged over draws.
    pub latent: Vec<LatentSeries>,
    pub interrupted: bool,
}

impl Draws {
    /// Names of all elements, in the order of the draws.
    pub fn labels(&self) -> impl Iterator<Item = &str> {
        self.quantities.iter().flat_map(|q| q.labels.iter().map(String::as_str))
    }

    /// The draws of element `index`, chain by chain, all of the same length.
    ///
    /// Chains of an interrupted fit differ in length: those are taken, cut to the shortest of them, that keep the most
    /// draws in all.
    pub fn element(&self, index: usize) -> Vec<Vec<f64>> {
        let width: usize = self.quantities.iter().map(|q| q.labels.len()).sum();
        let common = self.common_length();
        let long = self.chains.iter().filter(|c| common > 0 && c.len() >= common);
        long.map(|c| (0..common).map(|i| c.values[i * width + index]).collect()).collect()
    }

    fn common_length(&self) -> usize {
        let mut lengths: Vec<usize> = self.chains.iter().map(ChainDraws::len).collect();
        lengths.sort_unstable_by(|a, b| b.cmp(a));
        // The largest count of chains wins a tie.
        let kept = lengths.iter().enumerate().map(|(i, &n)| ((i + 1) * n, n));
        kept.max_by_key(|&(total, n)| (total, std::cmp::Reverse(n))).map_or(0, |(_, n)| n)
    }
}

/// What became of one start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Restart {
    /// Log density, or the objective.
    pub value: f64,
    pub iterations: usize,
    pub evaluations: usize,
    pub converged: bool,
    /// Largest projected partial derivative in physical coordinates.
    pub projected_gradient: Option<f64>,
    pub termination: String,
}

/// The latent of one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LatentSeries {
    pub run: String,
    /// Whose path it is, names joined by `+`; `None` where everybody shares one.
    pub participants: Option<String>,
    /// Seconds, length T.
    pub times: Vec<f64>,
    /// T x K, row-major; NaN where the data do not reach.
    pub mean: Vec<f64>,
    /// Posterior standard deviation given the parameters, T x K; for a latent with a process.
    pub sd: Option<Vec<f64>>,
    pub factors: usize,
}

/// A mode, or the minimum of an objective.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Mode {
    pub quantities: Vec<Quantity>,
    /// All elements of the quantities, in the units of the model.
    pub values: Vec<f64>,
    /// Standard error per element, where asked for and defined.
    pub standard_errors: Option<Vec<Option<f64>>>,
    /// Names of coordinates that lie on a bound.
    pub at_bounds: Vec<String>,
    /// The terms of the log density or of the objective.
    pub terms: Vec<(String, f64)>,
    /// Log density, or the objective.
    pub value: f64,
    pub objective: bool,
    pub restarts: Vec<Restart>,
    pub best: usize,
    /// Objective after each iteration, for alternating steps.
    pub history: Vec<f64>,
    pub latent: Vec<LatentSeries>,
    pub interrupted: bool,
}

/// What came out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Outcome {
    Draws(Draws),
    Mode(Box<Mode>),
}

/// A participant's modality whose weights were found after the fit, with the fit left as it was.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Calibrated {
    pub participant: String,
    pub modality: String,
    /// Feature names, length F.
    pub features: Vec<String>,
    /// Mean and standard deviation of each feature in the calibration data.
    pub standardisation: Vec<Standardisation>,
    /// F x K, row-major.
    pub loadings: Vec<f64>,
    /// Length F; empty where the model has no offsets.
    pub offsets: Vec<f64>,
    /// Where the model has noise variances.
    pub noise: Option<f64>,
    /// The pair's own response, where every participant has one that was learned.
    pub response: Option<Response>,
    /// `training` or `donors`: whose latent the weights were found against.
    pub reference: String,
    /// Runs of the calibration data.
    pub runs: Vec<String>,
}

/// A whole fit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Archive {
    pub format: u32,
    pub msrm_version: String,
    /// Seconds since 1970.
    pub created: u64,
    pub inputs: Vec<InputFile>,
    pub settings: Settings,
    pub plan: Plan,
    /// SHA-256 of the Plan in CBOR: equal plans and settings give equal results.
    pub plan_sha256: String,
    pub outcome: Outcome,
    /// People and modalities that were added by `msrm calibrate`.
    #[serde(default)]
    pub calibrated: Vec<Calibrated>,
    pub seconds: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draws(lengths: &[usize]) -> Draws {
        let chain = |&n: &usize| ChainDraws {
            values: (0..2 * n).map(|i| i as f64).collect(),
            log_density: vec![0.0; n],
            ..ChainDraws::default()
        };
        let quantities = vec![Quantity {
            name: "x".into(),
            labels: vec!["x[1]".into(), "x[2]".into()],
            shape: vec![2],
            ..Quantity::default()
        }];
        Draws { quantities, chains: lengths.iter().map(chain).collect(), latent: vec![], interrupted: false }
    }

    #[test]
    fn unequal_chains_are_cut_so_that_most_draws_stay() {
        let sizes = |lengths: &[usize]| draws(lengths).element(1).iter().map(Vec::len).collect::<Vec<_>>();
        assert_eq!(sizes(&[5, 5, 5]), [5, 5, 5]);
        assert_eq!(sizes(&[1000, 0, 900, 0]), [900, 900]);
        assert_eq!(sizes(&[1000, 10]), [1000]);
        assert_eq!(sizes(&[4, 2]), [2, 2]);
        assert!(sizes(&[0, 0]).is_empty());
        assert_eq!(draws(&[3]).element(1), [[1.0, 3.0, 5.0]]);
    }
}
