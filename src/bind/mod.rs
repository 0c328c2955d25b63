//! Joins a model and data into a `Plan` in which every size, coordinate and default is explicit.
//!
//! The Plan is what is hashed, stored and re-run.

pub mod evaluate;
pub(crate) mod layout;
mod plain;
mod plan;
mod responses;
mod shared;
#[cfg(test)]
mod tests;

pub use evaluate::{Env, EvaluateError, Value, complete, evaluate, location_scale, parameter_values};
pub(crate) use layout::element_labels;
pub use plan::{BindError, BindOptions, Block, Constants, Input, Plan, bind};
pub use responses::{LearnedSlot, ResponseSlot, Responses};
pub use shared::{Key, SharedError, SharedPlan, Standardisation, handle_constants};
