//! What every family supplies: its curve before normalisation, with derivatives, as a function of the time after the lag.

use std::fmt::Debug;

/// A curve before normalisation. Times `v` are seconds after the lag, inside the support.
pub(super) trait Raw: Debug + Send + Sync {
    /// The curve at `v`.
    fn value(&self, v: f64) -> f64;

    /// The curve at `v`; `out` becomes its derivatives in every parameter but the lag.
    fn gradient(&self, v: f64, out: &mut [f64]) -> f64;

    /// The derivative in `v`.
    fn slope(&self, v: f64) -> f64;

    /// The integral of the squared curve over its support with its derivatives in every parameter but the lag, where
    /// a closed form keeps its digits.
    fn square(&self) -> Option<(f64, Vec<f64>)>;

    /// Points, increasing and strictly between the ends, between which ten-point Gauss-Legendre
    /// rules integrate the curve, its square, and its derivatives to rounding.
    fn breaks(&self, ends: (f64, f64)) -> Vec<f64>;
}

/// Sorts `points` and keeps those strictly between the ends.
pub(super) fn between(mut points: Vec<f64>, (first, last): (f64, f64)) -> Vec<f64> {
    points.retain(|v| first < *v && *v < last);
    points.sort_by(f64::total_cmp);
    points.dedup();
    points
}
