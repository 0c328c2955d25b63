//! The distribution function of the von Mises law on [-pi, pi], accurate in both tails.
//!
//! Either tail is a sum of integrals of exp(-2 kappa sin^2(t / 2)) over arcs that begin nearest to the mode, so that
//! nothing cancels; the whole circle is 2 pi exp(-kappa) I0(kappa) (Mardia & Jupp 2000, section 3.5.4).

use super::bessel::log_bessel_i0_scaled;
use super::quadrature::decaying;
use super::{log_complement, log_sum_exp};
use std::f64::consts::{LN_2, PI};

/// `(log P(X <= x), log P(X > x))` for any finite mean direction `mu` and a finite concentration `kappa` > 0; zero
/// and one beyond the ends.
pub fn log_von_mises(x: f64, mu: f64, kappa: f64) -> (f64, f64) {
    if x <= -PI {
        return (f64::NEG_INFINITY, 0.0);
    }
    if x >= PI {
        return (0.0, f64::NEG_INFINITY);
    }
    // Sine and cosine reduce a large angle exactly.
    let mode = mu.sin().atan2(mu.cos());
    if mode < 0.0 {
        let (above, below) = tails(-x, -mode, kappa);
        return (below, above);
    }
    tails(x, mode, kappa)
}

/// The two tails for a mode in [0, pi].
fn tails(x: f64, mode: f64, kappa: f64) -> (f64, f64) {
    let log_total = (2.0 * PI).ln() + log_bessel_i0_scaled(kappa);
    // The interval is cut open at this angle before the mode's antipode; from there to pi the law lies at its lower end.
    let cut = PI - mode;
    let below = if x - mode < -PI {
        log_arc(cut, x + PI, kappa)
    } else if x < mode {
        let angle = mode - x;
        log_sum_exp(&[log_arc(cut, mode, kappa), log_arc(angle, PI - angle, kappa)])
    } else {
        0.0
    } - log_total;
    if x < mode && below <= -LN_2 {
        return (below, log_complement(below));
    }
    let above = if x < mode {
        log_sum_exp(&[log_arc(0.0, mode - x, kappa), log_arc(0.0, cut, kappa)])
    } else {
        log_arc(x - mode, PI - x, kappa)
    } - log_total;
    (log_complement(above), above)
}

/// The logarithm of the integral of exp(-2 kappa sin^2(t / 2)) from `start` to `start + length`, within [0, pi].
fn log_arc(start: f64, length: f64, kappa: f64) -> f64 {
    let height = (0.5 * start).sin().powi(2);
    // cos(start) - cos(start + t) as a product.
    let drop = |t: f64| -2.0 * (kappa * (start + 0.5 * t).sin() * (0.5 * t).sin());
    decaying(drop, length).ln() - 2.0 * (kappa * height)
}
