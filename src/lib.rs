//! msrm: shared response models and Bayesian inference from a short model file.
//!
//! The rooms below are listed in the direction of the data; a room uses only what stands above it.

pub mod base;
pub mod math;
pub mod response;
pub mod lang;
pub mod model;
pub mod data;
pub mod bind;
pub mod terms;
pub mod graph;
pub mod infer;
pub mod archive;
pub mod diagnose;
pub mod run;
pub mod report;
pub mod cli;
