//! The seam between models and inference: a log density with its gradient.

/// Why a point has no usable log density. A sampler treats it as a rejection and keeps the facts.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Rejection {
    /// The log density is NaN or `+inf`.
    #[error("the log density is {value}")]
    NotFinite { value: f64 },
    /// A partial derivative is not finite.
    #[error("the derivative in coordinate {index} is {value}")]
    Gradient { index: usize, value: f64 },
    /// A matrix that must be positive definite is not.
    #[error("factorisation failed at pivot {pivot} of {size} (value {value:e})")]
    Factorisation { pivot: usize, size: usize, value: f64 },
}

/// A differentiable log density over R^d, known up to nothing: all constants are included.
///
/// The density itself is shared between threads; each chain asks for its own [`Evaluator`], which owns the buffers.
pub trait LogDensity: Sync {
    /// Number of coordinates, d.
    fn dim(&self) -> usize;

    /// A new evaluator with its own buffers.
    fn evaluator(&self) -> Box<dyn Evaluator + '_>;
}

/// Evaluates one [`LogDensity`] without allocating per call.
pub trait Evaluator: Send {
    /// Log density at `x` (length d); writes its gradient (length d). `-inf` is a valid value (outside the support).
    fn log_density_gradient(&mut self, x: &[f64], gradient: &mut [f64]) -> Result<f64, Rejection>;
}

impl<D: LogDensity + Send + ?Sized> LogDensity for Box<D> {
    fn dim(&self) -> usize {
        (**self).dim()
    }

    fn evaluator(&self) -> Box<dyn Evaluator + '_> {
        (**self).evaluator()
    }
}
