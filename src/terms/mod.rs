//! Structured terms with a hand-written adjoint: the gridded shared response (R-MSRM) and the filtered GP (GP-MSRM).

pub mod filtered;
mod from_plan;
pub mod gridded;

pub use from_plan::{filtered_from_plan, gridded_from_plan, gridded_responses, gridded_strengths, learned_order};
