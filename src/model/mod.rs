//! Checks an AST (or what the Rust builder made) into a typed model: names, dims, supports, priors, responses.

pub mod builder;
mod check;
mod declare;
mod expression;
pub mod functions;
mod laws;
mod objective;
mod scope;
mod shared;
#[cfg(test)]
mod tests;
mod types;

pub use check::{check, check_text};
pub use types::*;
