//! msrm: shared response models and Bayesian inference from a short model file.
//!
//! The rooms, in the direction of the data; a room uses only rooms before it:
//! `base`, `math`, `response`, `lang`, `model`, `data`, `bind`, `terms`, `graph`, `infer`, `archive`, `diagnose`, `run`,
//! `report`, `cli`.

pub mod archive;
pub mod base;
pub mod bind;
pub mod cli;
pub mod data;
pub mod diagnose;
pub mod graph;
pub mod infer;
pub mod lang;
pub mod math;
pub mod model;
pub mod report;
pub mod response;
pub mod run;
pub mod terms;

/// The Rust code of the book and the README is compiled and run as documentation tests.
#[cfg(doctest)]
mod prose {
    #[doc = include_str!("../book/src/library.md")]
    mod library {}
    #[doc = include_str!("../README.md")]
    mod readme {}
}
