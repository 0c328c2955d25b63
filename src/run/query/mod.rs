//! Questions to a finished fit: the latent of new data, predictions of hidden streams, loadings of new people.
//!
//! [`Fitted`] opens a fit; [`Fitted::admit`] finds the streams of new data among those it knows; [`infer`], [`predict`]
//! and [`calibrate`] answer.

mod admit;
mod calibrate;
mod condition;
mod error;
mod fitted;
mod freed;
mod infer;
mod predict;
mod responses;
mod target;
#[cfg(test)]
mod tests;

pub use admit::Admitted;
pub use calibrate::{Calibration, Reference, calibrate};
pub use condition::{Conditioned, Values};
pub use error::QueryError;
pub use fitted::Fitted;
pub use infer::{InferOptions, InferredLatent, infer};
pub use predict::{PredictOptions, Prediction, Predictions, Query, Source, predict};
pub use responses::{LearnedResponse, learned_responses};
pub use target::{Target, parse_targets};
