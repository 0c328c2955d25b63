//! Laplace approximation at a mode: covariance = inverse Hessian of minus the log density over the free coordinates.

use std::sync::atomic::AtomicBool;

use super::bounds::Bounds;
use super::cholesky::{Cholesky, NotPositiveDefinite};
use super::hessian::{Hessian, HessianError, negative_hessian};
use super::outcome::StartFault;
use crate::graph::LogDensity;

/// Most free coordinates: two dense matrices of this order take 256 MiB.
pub const LAPLACE_LIMIT: usize = 4096;

/// Pivots of the Hessian, scaled to unit diagonal, at or below this are lost in the error of the differences.
const RESOLUTION: f64 = 1e-8;

/// Normal approximation at a mode.
#[derive(Debug, Clone, PartialEq)]
pub struct Laplace {
    /// Standard error per coordinate (length d); none for a coordinate at a bound.
    pub standard_errors: Vec<Option<f64>>,
    /// Coordinates away from their bounds, ascending.
    pub free: Vec<usize>,
    /// Covariance over `free`, row-major.
    pub covariance: Vec<f64>,
    /// log det of the Hessian over `free`.
    pub log_determinant: f64,
    /// Largest relative asymmetry of the differenced Hessian: its accuracy.
    pub asymmetry: f64,
}

/// Why there is no normal approximation.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum LaplaceError {
    /// The mode or the bounds do not fit the density.
    #[error("{0}")]
    Argument(StartFault),
    /// Too many free coordinates for a dense Hessian.
    #[error("{free} free coordinates; a dense Hessian is limited to {limit}")]
    TooLarge { free: usize, limit: usize },
    /// The density is rejected next to the mode, or the stop flag was raised.
    #[error(transparent)]
    Hessian(#[from] HessianError),
    /// The Hessian is not positive definite within its accuracy: this is no strict maximum. Pivots are of the Hessian scaled to unit
    /// diagonal, except when the diagonal entry itself is not positive.
    #[error("not a strict maximum: the Hessian is not positive definite at coordinate {coordinate} (pivot {pivot:e})")]
    NotPositiveDefinite { coordinate: usize, pivot: f64 },
}

/// Standard errors of `density` at its mode `x` (length d) inside `lower`, `upper` (length d). `stop` ends it early.
///
/// # Errors
/// [`LaplaceError`] with the coordinate, pivot or rejection.
pub fn laplace(
    density: &dyn LogDensity,
    x: &[f64],
    lower: &[f64],
    upper: &[f64],
    stop: Option<&AtomicBool>,
) -> Result<Laplace, LaplaceError> {
    let bounds = Bounds { lower, upper };
    let dim = density.dim();
    if x.len() != dim {
        let fault = StartFault::Length { argument: "mode", expected: dim, found: x.len() };
        return Err(LaplaceError::Argument(fault));
    }
    bounds.check(dim).map_err(LaplaceError::Argument)?;
    if let Some(index) = x.iter().position(|value| !value.is_finite()) {
        return Err(LaplaceError::Argument(StartFault::Coordinate { index, value: x[index] }));
    }
    let free = bounds.free(x);
    let n = free.len();
    if n > LAPLACE_LIMIT {
        return Err(LaplaceError::TooLarge { free: n, limit: LAPLACE_LIMIT });
    }
    let mut evaluator = density.evaluator();
    let Hessian { mut matrix, asymmetry, .. } = negative_hessian(&mut *evaluator, x, &free, &bounds, stop)?;
    let mut root = Vec::with_capacity(n);
    for (k, &coordinate) in free.iter().enumerate() {
        let pivot = matrix[k * n + k];
        if !(pivot > 0.0 && pivot.is_finite()) {
            return Err(LaplaceError::NotPositiveDefinite { coordinate, pivot });
        }
        root.push(pivot.sqrt());
    }
    // Unit diagonal, so that units of the coordinates do not decide what counts as singular.
    for i in 0..n {
        for j in 0..n {
            matrix[i * n + j] /= root[i] * root[j];
        }
    }
    let factor = Cholesky::new(matrix, n).map_err(|NotPositiveDefinite { pivot, value }| {
        LaplaceError::NotPositiveDefinite { coordinate: free[pivot], pivot: value }
    })?;
    if let Some(smallest) = factor.smallest_pivot()
        && smallest.value <= RESOLUTION.max(10.0 * asymmetry)
    {
        let (coordinate, pivot) = (free[smallest.index], smallest.value);
        return Err(LaplaceError::NotPositiveDefinite { coordinate, pivot });
    }
    let mut covariance = factor.inverse();
    for i in 0..n {
        for j in 0..n {
            covariance[i * n + j] /= root[i] * root[j];
        }
    }
    let mut standard_errors = vec![None; dim];
    for (k, &coordinate) in free.iter().enumerate() {
        standard_errors[coordinate] = Some(covariance[k * n + k].sqrt());
    }
    let log_determinant = factor.log_determinant() + 2.0 * root.iter().map(|r| r.ln()).sum::<f64>();
    Ok(Laplace { standard_errors, free, covariance, log_determinant, asymmetry })
}
