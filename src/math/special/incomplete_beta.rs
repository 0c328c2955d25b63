//! The regularised incomplete beta function I_x(a, b) and its complement, as logarithms, and its inverse.
//!
//! Continued fraction 26.5.8 of Abramowitz & Stegun on the side of the mean where it converges; the common factor
//! by deviance when both arguments are large (DiDonato & Morris 1992).

use super::beta::ln_beta;
use super::gamma::stirling_correction;
use super::incomplete_gamma::{MAX_TERMS, log1p_excess, nonzero};
use super::{HALF_LN_2PI, bisect, log_complement};

/// log(x^a y^b / B(a, b)) with y = 1 - x.
fn log_factor(a: f64, b: f64, x: f64, y: f64) -> f64 {
    if a.min(b) < 10.0 {
        let log_x = if x > 0.5 { (-y).ln_1p() } else { x.ln() };
        let log_y = if y > 0.5 { (-x).ln_1p() } else { y.ln() };
        return a * log_x + b * log_y - ln_beta(a, b);
    }
    let total = a + b;
    let excess = x * b - y * a;
    let deviance = a * relative_excess(excess / a, x * total / a) + b * relative_excess(-excess / b, y * total / b);
    let correction = stirling_correction(a) + stirling_correction(b) - stirling_correction(total);
    0.5 * (a.ln() + (b / total).ln()) - HALF_LN_2PI - deviance - correction
}

/// v - log(1 + v), with `ratio` = 1 + v given apart for ratios near zero.
fn relative_excess(v: f64, ratio: f64) -> f64 {
    if v > -0.5 { log1p_excess(v) } else { v - ratio.ln() }
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
        let lower = factor + (fraction(a, b, x) / a).ln();
        (lower, log_complement(lower))
    } else {
        let upper = factor + (fraction(b, a, y) / b).ln();
        (log_complement(upper), upper)
    }
}

/// The continued fraction of a B(a, b) I_x(a, b) / (x^a (1 - x)^b), by the modified Lentz method.
fn fraction(a: f64, b: f64, x: f64) -> f64 {
    let mut d = 1.0 / nonzero(1.0 - (a + b) * x / (a + 1.0));
    let (mut c, mut h) = (1.0, d);
    for n in 1..=MAX_TERMS {
        let m = n as f64;
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / nonzero(1.0 + even * d);
        c = nonzero(1.0 + even / c);
        h *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / nonzero(1.0 + odd * d);
        c = nonzero(1.0 + odd / c);
        let factor = d * c;
        h *= factor;
        if (factor - 1.0).abs() <= f64::EPSILON {
            return h;
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
    if p <= 0.5 {
        let target = p.ln();
        bisect(|x| log_inc_beta(a, b, x, 1.0 - x).0 - target, 0.0, 1.0)
    } else {
        let target = (1.0 - p).ln();
        bisect(|x| target - log_inc_beta(a, b, x, 1.0 - x).1, 0.0, 1.0)
    }
}
