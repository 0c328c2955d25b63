//! Where a curve begins and ends relative to its lag, and how these ends move with its parameters.
//!
//! A gamma density is cut at its 0.99999999 quantile q(a) times the scale. From Q(a, q(a)) = constant follows
//! q'(a) = (dQ/da)(a, q) / g(q), with dQ/da the integral of g(v) (ln v - psi(a)) above q and g the unit-scale density.

use super::Response;
use super::quadrature::points;
use crate::math::special::{digamma, inv_inc_gamma_upper};

/// Widths on either side of a Gaussian.
pub(super) const GAUSSIAN_WIDTHS: f64 = 6.0;

/// Seconds for which skin conductance responses last.
pub(super) const SKIN_DURATION: f64 = 90.0;

/// Mass of a gamma density above its cut. The difference of doubles is meant: in the far tail the rounding of the
/// quantile's level is worth 6e-9 scales.
const GAMMA_TAIL: f64 = 1.0 - 0.999_999_99;

/// The cut of a gamma density of unit scale.
pub(super) fn gamma_end(shape: f64) -> f64 {
    inv_inc_gamma_upper(shape, GAMMA_TAIL)
}

/// The derivative of [`gamma_end`] in the shape.
fn gamma_end_slope(shape: f64) -> f64 {
    let end = gamma_end(shape);
    // Above q the density falls at least as fast as exp(-rate (v - q)).
    let rate = 1.0 - (shape - 1.0) / end;
    let step = 2.0 / rate;
    let psi = digamma(shape);
    let mut sum = 0.0;
    for i in 0..25 {
        let from = step * i as f64;
        points(from, from + step, |y, w| {
            let relative = ((shape - 1.0) * (y / end).ln_1p() - y).exp();
            sum += w * relative * ((end + y).ln() - psi);
        });
    }
    sum
}

/// First and last second after the lag at which the curve is not zero. Needs no valid relation between parameters.
pub(super) fn ends(response: &Response) -> (f64, f64) {
    match response {
        Response::Identity => (0.0, 0.0),
        Response::Gaussian { width, .. } => (-GAUSSIAN_WIDTHS * width, GAUSSIAN_WIDTHS * width),
        Response::Gamma { shape, scale, .. } => (0.0, scale * gamma_end(*shape)),
        Response::DoubleGamma { peak_shape, peak_scale, undershoot_shape, undershoot_scale, .. } => {
            (0.0, (peak_scale * gamma_end(*peak_shape)).max(undershoot_scale * gamma_end(*undershoot_shape)))
        }
        Response::Bateman { .. } | Response::Bach { .. } => (0.0, SKIN_DURATION),
        Response::Sampled { lags, .. } => {
            (lags.first().copied().unwrap_or_default(), lags.last().copied().unwrap_or_default())
        }
    }
}

/// Derivatives of both ends in every parameter but the lag.
pub(super) fn end_slopes(response: &Response) -> Vec<(f64, f64)> {
    let gamma = |shape: f64, scale: f64| [(0.0, scale * gamma_end_slope(shape)), (0.0, gamma_end(shape))];
    match *response {
        Response::Identity | Response::Sampled { .. } => Vec::new(),
        Response::Gaussian { .. } => vec![(-GAUSSIAN_WIDTHS, GAUSSIAN_WIDTHS)],
        Response::Gamma { shape, scale, .. } => gamma(shape, scale).to_vec(),
        Response::DoubleGamma { peak_shape, peak_scale, undershoot_shape, undershoot_scale, .. } => {
            let mut slopes = vec![(0.0, 0.0); 5];
            if peak_scale * gamma_end(peak_shape) > undershoot_scale * gamma_end(undershoot_shape) {
                slopes[..2].copy_from_slice(&gamma(peak_shape, peak_scale));
            } else {
                slopes[2..4].copy_from_slice(&gamma(undershoot_shape, undershoot_scale));
            }
            slopes
        }
        Response::Bateman { .. } => vec![(0.0, 0.0); 2],
        Response::Bach { .. } => vec![(0.0, 0.0); 4],
    }
}
