//! R-MSRM: the balanced least-squares objective of a latent on a regular grid, and its alternating solver.
//!
//! For every participant, run and modality a stream x(t) is modelled as `(H z)(t) w`, where z is piecewise
//! linear between the nodes of the run's grid, H holds the response and w are the loadings.
//!
//! * [`Problem`] turns a recording into rows of H, standardised values and weights that sum to one;
//! * [`objective`] evaluates the four parts of the objective with their adjoints;
//! * [`solve`] minimises the objective by exact alternating steps;
//! * [`query`] reads latents and predictions from a solution, also for new data.

mod banded;
mod build;
mod calibrate;
mod clock;
mod error;
pub mod objective;
mod observation;
mod pair_state;
mod problem;
pub mod query;
mod response_rows;
mod solve;
mod standardize;
mod start;
mod steps;

pub use banded::{Banded, Factor, Pivot};
pub use calibrate::{NewPair, calibrate};
pub use clock::{clock_segments, clock_weights};
pub use error::GriddedError;
pub use observation::{Grid, ObservationRows};
pub use problem::{LatentName, LoadingName, LoadingScaling, Notice, Options, Pair, Problem, Run, Segment};
pub use response_rows::ResponseRows;
pub use solve::{Components, Finish, RestartRecord, Solution, SolveOptions, Stationarity, Termination, solve};
pub use standardize::Scale;
pub use start::{Start, StartUsed};
pub use steps::Strengths;

#[cfg(test)]
mod tests;
