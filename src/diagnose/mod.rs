//! Judges draws: R-hat, effective sample sizes, Monte Carlo errors, BFMI, orientation probes, mixtures, leave-one-out
//! cross-validation and a verdict.
//!
//! Everything here is a pure function of arrays; nothing is read, drawn or printed.

mod autocovariance;
mod draws;
pub mod energy;
pub mod ess;
pub mod finding;
pub mod loo;
pub mod mcse;
pub mod mixture;
pub mod moments;
pub mod orientation;
pub mod pareto;
pub mod rank;
pub mod summary;
pub mod verdict;

pub use draws::{Draws, FEWEST_DRAWS, Unjudged};
pub use finding::{Finding, Indicator};
pub use loo::{LogLikelihood, Loo, loo};
pub use mixture::{Mixture, MixtureError};
pub use summary::{QuantitySummary, summarize};
pub use verdict::{Inputs, Level, Verdict, verdict};

#[cfg(test)]
mod tests;
#[cfg(test)]
mod verdict_tests;
