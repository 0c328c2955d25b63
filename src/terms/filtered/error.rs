//! What can go wrong in a filtered Gaussian process term, with the numbers that say why.

use crate::response::ResponseError;
use thiserror::Error;

/// Failure of a structured term. Factorisation failures, overflows and curves beyond quadrature are rejections of a
/// proposal, the rest faults of the caller.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum TermError {
    /// A Cholesky pivot was not positive.
    #[error(
        "run {run}: pivot {pivot} of a Cholesky factorisation of size {size} is not positive \
         (diagonal from {smallest:e} to {largest:e})"
    )]
    Factorisation { run: usize, pivot: usize, size: usize, smallest: f64, largest: f64 },
    /// The value or a derivative overflowed.
    #[error(
        "run {run}: the log likelihood or its gradient is not finite \
         (largest loading {largest_loading:e}, smallest noise variance {smallest_noise:e})"
    )]
    Overflow { run: usize, largest_loading: f64, smallest_noise: f64 },
    /// A parameter lies outside its domain.
    #[error("{name}[{index}] = {value} must be {requirement}")]
    BadParameter { name: &'static str, index: usize, value: f64, requirement: &'static str },
    /// An array has the wrong length.
    #[error("{name} has {found} entries where {expected} are needed")]
    Length { name: &'static str, expected: usize, found: usize },
    /// An observation points outside the model or is not finite.
    #[error("run {run}, observation {index}: {field} is {value}, but must be {requirement}")]
    BadObservation { run: usize, index: usize, field: &'static str, value: f64, requirement: String },
    /// The parameters of a response slot lie outside its family's domain.
    #[error("response slot {slot}: {reason}")]
    Response { slot: usize, reason: ResponseError },
    /// A curve spans too many of the shortest time constant for its covariances to be computed by quadrature.
    #[error(
        "response slot {slot}: its curve lasts {seconds} s, too long beside a time constant of {shortest:e} s for quadrature; \
         keep the length scale and the time constants of other responses longer"
    )]
    Unresolved { slot: usize, seconds: f64, shortest: f64 },
    /// The state-space algebra cannot take a response.
    #[error("the state-space algebra cannot take the response {family}: {reason}")]
    Unsupported { family: &'static str, reason: String },
    /// A run, key or noise index that the term does not have.
    #[error("{name} {index} does not exist: there are {count}")]
    NoSuch { name: &'static str, index: usize, count: usize },
    /// A conditional variance is negative by more than rounding explains.
    #[error("run {run}: the conditional variance at query {query} is {value:e}")]
    NegativeVariance { run: usize, query: usize, value: f64 },
}

impl TermError {
    /// Whether a sampler may treat the failure as a rejected proposal.
    pub fn is_rejection(&self) -> bool {
        match self {
            Self::Factorisation { .. } | Self::Overflow { .. } | Self::Unresolved { .. } => true,
            // Each of its parameters may lie within its bounds where the two together do not make a curve.
            Self::Response { reason, .. } => {
                matches!(reason, ResponseError::MeanOrder { .. } | ResponseError::Degenerate { .. })
            }
            _ => false,
        }
    }
}
