//! Plain f64 numerics: special functions, distributions, constraint transforms, random streams.

pub mod compound;
pub mod constraint;
pub mod dense;
pub mod dist;
pub mod kernel;
pub mod op;
pub mod rng;
pub mod special;
pub mod transform;
pub mod vector;
