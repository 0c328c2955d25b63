//! Judges draws (R-hat, effective sample sizes, Monte Carlo errors, BFMI, orientation probes, mixtures, leave-one-out
//! cross-validation, a verdict) and predictions (scores, correlation between participants, matching of time segments).
//!
//! Everything here is a pure function of arrays; nothing is read, drawn or printed.

mod autocovariance;
mod draws;
pub mod energy;
pub mod ess;
pub mod finding;
pub mod isc;
pub mod loo;
pub mod mcse;
pub mod mixture;
pub mod moments;
pub mod orientation;
pub mod pareto;
pub mod rank;
pub mod scores;
pub mod segments;
pub mod summary;
pub mod verdict;

pub use draws::{Draws, FEWEST_DRAWS, Unjudged};
pub use finding::{Finding, Indicator};
pub use isc::{Isc, pairwise_isc, temporal_isc};
pub use loo::{LogLikelihood, Loo, loo};
pub use mixture::{Mixture, MixtureError};
pub use scores::{FeatureScore, Score, Undefined, score};
pub use segments::{Centring, Matching, SegmentError, match_segments};
pub use summary::{QuantitySummary, summarize};
pub use verdict::{Inputs, Level, Verdict, verdict};

#[cfg(test)]
mod tests;
#[cfg(test)]
mod verdict_tests;
