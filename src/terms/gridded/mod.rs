//! R-MSRM: the balanced least-squares objective of a latent on a regular grid, and its alternating solver.
//!
//! For every participant, run and modality a stream x(t) is modelled as `(H z)(t) w`, where z is piecewise
//! linear between the nodes of the run's grid, H holds the response and w are the loadings.
//!
//! * [`Problem`] turns a recording into rows of H, standardised values and weights that sum to one;
//! * [`LearnedResponse`] says what of a response is learned, [`LatentPooling`] who shares a latent path;
//! * [`objective`] evaluates the parts of the objective with their adjoints, [`response_objective`] those in responses;
//! * [`solve`] minimises the objective by alternating steps;
//! * [`query`] reads latents and predictions from a solution, also for new data; [`predict_targets`] keeps the targets out,
//!   [`calibrate`] finds the loadings of new participants, their responses and latent paths.

mod banded;
mod blocks;
mod build;
mod calibration;
mod clock;
mod coupled;
mod diagnostics;
mod error;
mod extended;
mod geometry;
mod latent_pooling;
mod learn;
mod learned;
pub mod objective;
mod observation;
mod pair_state;
mod phases;
mod place;
mod predict;
mod problem;
pub mod query;
pub mod response_objective;
mod response_rows;
mod slots;
mod solve;
mod standardize;
mod start;
mod steps;
mod walk;

pub use banded::{Banded, Factor, Pivot};
pub use calibration::{Calibrated, Reference, calibrate};
pub use clock::{clock_segments, clock_weights};
pub use diagnostics::{Components, Stationarity};
pub use error::GriddedError;
pub use extended::NewPair;
pub use latent_pooling::{Affinity, LatentPooling, Track};
pub use learned::{LearnedError, LearnedResponse, Penalty, PenaltyScale, ResponsePooling};
pub use observation::{Grid, ObservationRows};
pub use predict::{Coverage, Prediction, Source, Target, predict_targets};
pub use problem::{LatentName, LoadingName, LoadingScaling, Notice, Options, Pair, Problem, Run, Segment};
pub use response_rows::ResponseRows;
pub use slots::{ResponseName, ResponseSlot};
pub use solve::{Finish, RestartRecord, Solution, SolveOptions, Termination, solve};
pub use standardize::Scale;
pub use start::{Start, StartUsed};
pub use steps::Strengths;

#[cfg(test)]
mod tests;
