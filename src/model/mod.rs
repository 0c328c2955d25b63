//! Checks an AST (or what the Rust builder made) into a typed model: names, dims, supports, priors, responses.

mod array_calls;
mod arrays;
pub mod builder;
mod check;
mod declare;
mod dim;
mod expression;
pub mod functions;
mod inline;
mod laws;
mod objective;
mod scan;
mod scope;
mod shared;
#[cfg(test)]
mod tests;
mod types;

pub use arrays::{ArrayOp, Comparison, Kernel, Scan};
pub use check::{check, check_text};
pub use dim::Dim;
pub use types::*;
