//! Finds modes: a bounded quasi-Newton minimiser, several starts at once, and the Laplace approximation at the end.

mod bounds;
mod cauchy;
mod cholesky;
mod compact;
mod hessian;
mod laplace;
mod lbfgsb;
mod line_search;
mod multistart;
mod newton;
mod outcome;
mod subspace;
#[cfg(test)]
mod tests;

pub use bounds::{BOUND_TOLERANCE, Bounds};
pub use hessian::{Hessian, HessianError, negative_hessian};
pub use laplace::{LAPLACE_LIMIT, Laplace, LaplaceError, laplace};
pub use lbfgsb::{Objective, minimize};
pub use multistart::{Climb, MultistartError, MultistartResult, maximize};
pub use outcome::{LineSearchFacts, Optimum, Settings, StartFault, Termination};

/// Largest absolute projected partial derivative, in physical coordinates, that certifies a mode.
pub const CERTIFICATE: f64 = 1e-3;
