//! The regularised incomplete beta function I_x(a, b) and its complement, as logarithms, and its inverse.
//!
//! Continued fraction 26.5.8 of Abramowitz & Stegun on the side of the mean where it converges, in the form and with
//! the common factor of DiDonato & Morris (1992, ACM TOMS 708), which keep their digits at large arguments.

use super::beta::ln_beta;
use super::gamma::stirling_correction;
use super::incomplete_gamma::{self, MAX_TERMS, log1p_excess, nonzero};
use super::{bisect, log_complement};

/// log(x^a y^b / B(a, b)) with y = 1 - x.
fn log_factor(a: f64, b: f64, x: f64, y: f64) -> f64 {
    if a > b {
        return log_factor(b, a, y, x);
    }
    if b < 10.0 {
        let log_x = if x > 0.5 { (-y).ln_1p() } else { x.ln() };
        let log_y = if y > 0.5 { (-x).ln_1p() } else { y.ln() };
        return a * log_x + b * log_y - ln_beta(a, b);
    }
    // Stirling's series for Gamma(b) and Gamma(a + b) leaves the factor of the gamma law at x (a + b).
    let total = a + b;
    let excess = (y * a - x * b) / b;
    let deviance = if excess > -0.5 { log1p_excess(excess) } else { excess - (y * total / b).ln() };
    let correction = stirling_correction(total) - stirling_correction(b);
    incomplete_gamma::log_factor(a, x * total) - b * deviance + 0.5 * (b / total).ln() + correction
}

/// `(log I_x(a, b), log(1 - I_x(a, b)))` for a, b > 0, x in [0, 1] and y = 1 - x, given apart so that an x near
/// one keeps its digits; NaN outside, and where the fraction needs over a million terms (a, b > 1e9 near the mean).
pub fn log_inc_beta(a: f64, b: f64, x: f64, y: f64) -> (f64, f64) {
    let valid = a > 0.0 && b > 0.0 && a < f64::INFINITY && b < f64::INFINITY && x >= 0.0 && y >= 0.0;
    if !valid {
        return (f64::NAN, f64::NAN);
    }
    if x == 0.0 {
        return (f64::NEG_INFINITY, 0.0);
    }
    if y == 0.0 {
        return (0.0, f64::NEG_INFINITY);
    }
    let factor = log_factor(a, b, x, y);
    if x * (a + b + 2.0) < a + 1.0 {
        let lower = factor + fraction(a, b, x, y).ln();
        (lower, log_complement(lower))
    } else {
        let upper = factor + fraction(b, a, y, x).ln();
        (log_complement(upper), upper)
    }
}

/// The continued fraction of B(a, b) I_x(a, b) / (x^a y^b), every second convergent of 26.5.8, by the modified Lentz
/// method; a - (a + b) x enters as a y - b x, so that a large argument costs no digits.
fn fraction(a: f64, b: f64, x: f64, y: f64) -> f64 {
    let lead = a * y - b * x;
    let mut value = nonzero(a / (a + 1.0) * (lead + 1.0));
    let (mut c, mut d) = (value, 0.0);
    for n in 1..=MAX_TERMS {
        let m = n as f64;
        let odd = a + 2.0 * m - 1.0;
        let step = m * (b - m) * x / odd;
        let numerator = (a + m - 1.0) / odd * (a + b + m - 1.0) * x * step;
        let denominator = m + step + (a + m) / (odd + 2.0) * (lead + 1.0 + m * (1.0 + y));
        d = 1.0 / nonzero(denominator + numerator * d);
        c = nonzero(denominator + numerator / c);
        let factor = d * c;
        value *= factor;
        if (factor - 1.0).abs() <= f64::EPSILON {
            return 1.0 / value;
        }
    }
    f64::NAN
}

/// I_x(a, b), the beta(a, b) distribution function; domain as in [`log_inc_beta`].
pub fn inc_beta(a: f64, b: f64, x: f64) -> f64 {
    log_inc_beta(a, b, x, 1.0 - x).0.exp()
}

/// The x with I_x(a, b) = p; NaN unless a, b > 0 and 0 <= p <= 1.
pub fn inv_inc_beta(a: f64, b: f64, p: f64) -> f64 {
    if !(a > 0.0 && b > 0.0 && a < f64::INFINITY && b < f64::INFINITY && (0.0..=1.0).contains(&p)) {
        return f64::NAN;
    }
    if p == 0.0 || p == 1.0 {
        p
    } else if p <= 0.5 {
        let target = p.ln();
        bisect(|x| log_inc_beta(a, b, x, 1.0 - x).0 - target, 0.0, 1.0)
    } else {
        let target = (1.0 - p).ln();
        bisect(|x| target - log_inc_beta(a, b, x, 1.0 - x).1, 0.0, 1.0)
    }
}
