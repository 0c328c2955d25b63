//! Evaluates models by predicting what was held out: runs, participants, or stretches of streams.
//!
//! [`folds`] cuts a recording; [`evaluate`] fits every candidate to every fold's training part, predicts the held-out
//! values, scores them beside two baselines, and keeps failures as rows; [`choose`] selects a model; [`common_response`]
//! tells how alike the participants are before any model.

mod baseline;
mod choose;
mod cut;
mod driver;
mod folds;
mod isc;
mod ridge;
mod row;
#[cfg(test)]
mod tests;
mod watch;

pub use choose::{Choice, Metric, choose};
pub use driver::{Candidate, Evaluation, EvaluationOptions, evaluate};
pub use folds::{CutOptions, EvaluationError, Fold, From, Part, Scheme, Test, folds};
pub use isc::{IscRow, common_response};
pub use row::{MEAN, RIDGE, Row, Summary, summarise};
