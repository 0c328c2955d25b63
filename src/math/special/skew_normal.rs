//! The distribution function of the standard skew normal law with density 2 phi(z) Phi(alpha z), in both tails.
//!
//! P(Z <= z) = Phi(z) - 2 T(z, alpha) with Owen's (1956) T(h, a), the integral of exp(-h^2 (1 + x^2) / 2) / (1 + x^2)
//! over [0, a], divided by 2 pi. Each sign of z and alpha has a form in which nothing cancels; x = sinh(u).

use super::normal::{erf, log_ndtr};
use super::quadrature::{decaying, panel};
use super::{log_complement, log_sum_exp};
use std::f64::consts::{FRAC_1_SQRT_2, LN_2, PI};

/// At a larger slant the law is half normal to the last digit.
const MAX_SLANT: f64 = 1e100;

/// `(log P(Z <= z), log P(Z > z))` for a finite slant `alpha` and any `z` but NaN.
pub fn log_skew_normal(z: f64, alpha: f64) -> (f64, f64) {
    let (h, a) = (z.abs(), alpha.abs().min(MAX_SLANT));
    if z <= 0.0 {
        lower_half(h, a, alpha >= 0.0)
    } else {
        let (above, below) = lower_half(h, a, alpha < 0.0);
        (below, above)
    }
}

/// The two tails at z = -h, for the slant a or -a.
fn lower_half(h: f64, a: f64, slants_away: bool) -> (f64, f64) {
    // The logarithm itself overflows.
    if h * h == f64::INFINITY {
        return (f64::NEG_INFINITY, 0.0);
    }
    let below = if slants_away { log_beyond(h, a) } else { log_sum_exp(&[log_ndtr(-h), log_within(h, a)]) };
    if below <= -LN_2 {
        return (below, log_complement(below));
    }
    let above = complement(h, a).ln();
    (log_complement(above), above)
}

/// log of 2 T(h, a).
fn log_within(h: f64, a: f64) -> f64 {
    -0.5 * h * h - PI.ln() + decaying(|u| log_ratio(h, 0.0, u), a.asinh()).ln()
}

/// log of 2 T(h, infinity) - 2 T(h, a).
fn log_beyond(h: f64, a: f64) -> f64 {
    let height = 0.5 * h * h * (1.0 + a * a);
    if height == f64::INFINITY {
        return f64::NEG_INFINITY;
    }
    let start = a.asinh();
    let integral = decaying(|u| log_ratio(h, start, u), f64::INFINITY);
    -height - (1f64.hypot(a) * PI).ln() + integral.ln()
}

/// 1 - Phi(-h) - 2 T(h, a), for an h below one.
fn complement(h: f64, a: f64) -> f64 {
    let missed = |u: f64| {
        let c = u.cosh();
        -(-0.5 * (h * c).powi(2)).exp_m1() / c
    };
    let (end, mut at, mut sum) = (a.asinh(), 0.0, 0.0);
    while at < end && f64::exp(-at) > f64::EPSILON * f64::EPSILON {
        let width = (end - at).min(1.0);
        sum += panel(missed, at, width);
        at += width;
    }
    1f64.atan2(a) / PI + 0.5 * erf(h * FRAC_1_SQRT_2) + sum / PI
}

/// The logarithm of Owen's integrand over sinh(u) at `start + u`, relative to its value at `start`.
fn log_ratio(h: f64, start: f64, u: f64) -> f64 {
    let rise = if h == 0.0 { 0.0 } else { 0.5 * h * h * (2.0 * start + u).sinh() * u.sinh() };
    // The denominator cosh(start + u) / cosh(start), without overflow.
    let half = (0.5 * u).sinh();
    -rise - (2.0 * half * half + start.tanh() * u.sinh()).ln_1p()
}
