//! The regularised incomplete gamma functions P(a, x) and Q(a, x) = 1 - P(a, x), as logarithms, and their inverses.
//!
//! Power series below x = a + 1, continued fraction above (Abramowitz & Stegun 6.5.29, 6.5.31), the complement's
//! series for small a and x (Gautschi 1979); the common factor by deviance, without cancellation at large a.

use super::gamma::{ln_gamma, ln_gamma_1p, stirling_correction};
use super::{HALF_LN_2PI, bisect, log_complement};
use std::f64::consts::LN_2;

/// Terms after which a series or continued fraction is given up (NaN); reached only for a > 1e9 with x near a.
pub(super) const MAX_TERMS: usize = 1_000_000;

/// v - log(1 + v) for v > -1 without cancellation.
pub(super) fn log1p_excess(v: f64) -> f64 {
    if !(-0.5..=1.0).contains(&v) {
        return v - v.ln_1p();
    }
    // log(1 + v) = 2 artanh(r) with r = v / (2 + v).
    let r = v / (2.0 + v);
    let (mut power, mut odd, mut sum) = (r, 1.0, 0.0);
    loop {
        power *= r * r;
        odd += 2.0;
        let term = power / odd;
        sum += term;
        if term.abs() <= 1e-17 * sum.abs() {
            return r * v - 2.0 * sum;
        }
    }
}

/// log(x^a exp(-x) / Gamma(a)).
pub(super) fn log_factor(a: f64, x: f64) -> f64 {
    if a < 10.0 {
        return a * x.ln() - x - ln_gamma(a);
    }
    let v = (x - a) / a;
    let deviance = if v > -0.5 { log1p_excess(v) } else { v - (x / a).ln() };
    -a * deviance + 0.5 * a.ln() - HALF_LN_2PI - stirling_correction(a)
}

/// `(log P(a, x), log Q(a, x))` for a > 0, x >= 0; NaN outside, and where a > 1e9 and x is within a few roots of a.
pub fn log_inc_gamma(a: f64, x: f64) -> (f64, f64) {
    if !(a > 0.0 && a < f64::INFINITY && x >= 0.0) {
        return (f64::NAN, f64::NAN);
    }
    if x == 0.0 {
        return (f64::NEG_INFINITY, 0.0);
    }
    if x == f64::INFINITY {
        return (0.0, f64::NEG_INFINITY);
    }
    if if a < 1.0 { x < 1.0 } else { x < a + 1.0 } {
        let lower = log_factor(a, x) - a.ln() + lower_series(a, x).ln();
        if a < 0.5 && lower > -LN_2 {
            let upper = small_upper(a, x).ln();
            (log_complement(upper), upper)
        } else {
            (lower, log_complement(lower))
        }
    } else {
        let upper = log_factor(a, x) + upper_fraction(a, x).ln();
        (log_complement(upper), upper)
    }
}

/// Sum of x^n / ((a + 1) ... (a + n)).
fn lower_series(a: f64, x: f64) -> f64 {
    let (mut term, mut sum) = (1.0, 1.0);
    for n in 1..=MAX_TERMS {
        term *= x / (a + n as f64);
        sum += term;
        if term <= 1e-17 * sum {
            return sum;
        }
    }
    f64::NAN
}

/// Q(a, x) for a < 1/2, x < 1: 1 - (x^a / Gamma(1 + a)) (1 + a sum of (-x)^n / ((a + n) n!)).
fn small_upper(a: f64, x: f64) -> f64 {
    let log_lead = a * x.ln() - ln_gamma_1p(a);
    let (mut term, mut sum) = (1.0, 0.0);
    let mut n = 0.0;
    while n < 20.0 {
        n += 1.0;
        term *= -x / n;
        sum += term / (a + n);
    }
    -log_lead.exp_m1() - log_lead.exp() * a * sum
}

/// The continued fraction 1 / (x + 1 - a - (1 - a) / (x + 3 - a - ...)), by the modified Lentz method.
fn upper_fraction(a: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let mut b = x + 1.0 - a;
    let mut d = 1.0 / b.max(TINY);
    let (mut c, mut h) = (1.0 / TINY, d);
    for n in 1..=MAX_TERMS {
        let k = n as f64;
        let numerator = k * (a - k);
        b += 2.0;
        d = 1.0 / nonzero(numerator * d + b);
        c = nonzero(b + numerator / c);
        let factor = d * c;
        h *= factor;
        if (factor - 1.0).abs() <= f64::EPSILON {
            return h;
        }
    }
    f64::NAN
}

/// Lentz's guard against a division by zero.
pub(super) fn nonzero(v: f64) -> f64 {
    if v.abs() < 1e-300 { 1e-300 } else { v }
}

/// P(a, x), the gamma(a, 1) distribution function; domain as in [`log_inc_gamma`].
pub fn inc_gamma_lower(a: f64, x: f64) -> f64 {
    log_inc_gamma(a, x).0.exp()
}

/// Q(a, x), the gamma(a, 1) survival function; domain as in [`log_inc_gamma`].
pub fn inc_gamma_upper(a: f64, x: f64) -> f64 {
    log_inc_gamma(a, x).1.exp()
}

/// The x with P(a, x) = p; NaN unless a > 0 and 0 <= p <= 1.
pub fn inv_inc_gamma_lower(a: f64, p: f64) -> f64 {
    invert(a, p.ln(), (1.0 - p).ln(), p <= 0.5)
}

/// The x with Q(a, x) = q; NaN unless a > 0 and 0 <= q <= 1.
pub fn inv_inc_gamma_upper(a: f64, q: f64) -> f64 {
    invert(a, (1.0 - q).ln(), q.ln(), q > 0.5)
}

/// Solves in whichever tail is the smaller.
fn invert(a: f64, log_p: f64, log_q: f64, below: bool) -> f64 {
    if !(a > 0.0 && a < f64::INFINITY) || log_p.is_nan() || log_q.is_nan() {
        return f64::NAN;
    }
    if log_p == f64::NEG_INFINITY {
        0.0
    } else if log_q == f64::NEG_INFINITY {
        f64::INFINITY
    } else if below {
        bisect(|x| log_inc_gamma(a, x).0 - log_p, 0.0, f64::INFINITY)
    } else {
        bisect(|x| log_q - log_inc_gamma(a, x).1, 0.0, f64::INFINITY)
    }
}
