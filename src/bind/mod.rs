//! Joins a model and data into a `Plan` in which every size, coordinate and default is explicit.
//!
//! The Plan is what is hashed, stored and re-run.

mod arrays;
pub mod evaluate;
mod forms;
pub(crate) mod layout;
mod outcomes;
mod paths;
mod plain;
mod plan;
mod responses;
mod shared;
#[cfg(test)]
mod tests;

pub(crate) use arrays::linspace;
pub use evaluate::{Env, EvaluateError, Value, complete, evaluate, location_scale, parameter_values};
pub use forms::{Form, FormError};
pub(crate) use layout::element_labels;
pub use plain::check_data;
pub use plan::{BindError, BindOptions, Block, Constants, Input, Plan, bind};
pub use responses::{LearnedSlot, ResponsePenalty, ResponseSlot, Responses};
pub use shared::{Key, SharedError, SharedPlan, Standardisation, handle_constants};
