//! Whether a chain can start: the faults of settings and starting points that every sampler reports alike.

use crate::graph::Rejection;

/// Why a chain cannot start.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum StartError {
    /// The density has no coordinates.
    #[error("there is nothing to sample: the log density has no coordinates")]
    NoCoordinates,
    /// The starting point has another length than the density.
    #[error("the starting point has {found} coordinates, the log density has {expected}")]
    Length { expected: usize, found: usize },
    /// A coordinate of the starting point is NaN or infinite.
    #[error("coordinate {index} of the starting point is {value}")]
    Coordinate { index: usize, value: f64 },
    /// The log density at the starting point is `-inf`.
    #[error("the starting point lies outside the support: its log density is -inf")]
    OutsideSupport,
    /// The density rejects the starting point.
    #[error("the log density cannot be evaluated at the starting point: {0}")]
    Rejected(#[from] Rejection),
    /// A setting is out of its range.
    #[error("{name} is {value}, it must be {range}")]
    Setting { name: &'static str, value: f64, range: &'static str },
    /// The density has one coordinate, which leaves a microcanonical direction nothing to turn through.
    #[error("MAMS needs two coordinates or more and the log density has one: use NUTS")]
    OneCoordinate,
}

/// Refuses a starting point of the wrong length or with coordinates that are not finite.
pub(super) fn check_start(dim: usize, start: &[f64]) -> Result<(), StartError> {
    if dim == 0 {
        return Err(StartError::NoCoordinates);
    }
    if start.len() != dim {
        return Err(StartError::Length { expected: dim, found: start.len() });
    }
    match start.iter().enumerate().find(|(_, x)| !x.is_finite()) {
        Some((index, &value)) => Err(StartError::Coordinate { index, value }),
        None => Ok(()),
    }
}

/// Refuses a log density of `-inf` and a gradient that is not finite at the starting point.
pub(super) fn check_value(log_density: f64, gradient: &[f64]) -> Result<(), StartError> {
    if log_density == f64::NEG_INFINITY {
        return Err(StartError::OutsideSupport);
    }
    match gradient.iter().enumerate().find(|(_, g)| !g.is_finite()) {
        Some((index, &value)) => Err(StartError::Rejected(Rejection::Gradient { index, value })),
        None => Ok(()),
    }
}

/// A target acceptance strictly between 0 and 1.
pub(super) fn check_target(target_accept: f64) -> Result<(), StartError> {
    if target_accept > 0.0 && target_accept < 1.0 {
        return Ok(());
    }
    Err(StartError::Setting { name: "target_accept", value: target_accept, range: "between 0 and 1" })
}

/// An energy error that counts as a divergence, positive and finite.
pub(super) fn check_energy_limit(max_energy_error: f64) -> Result<(), StartError> {
    if max_energy_error > 0.0 && max_energy_error.is_finite() {
        return Ok(());
    }
    Err(StartError::Setting { name: "max_energy_error", value: max_energy_error, range: "positive and finite" })
}
