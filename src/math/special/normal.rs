//! The error function and the standard normal distribution function, their logarithms and inverses.
//!
//! erfcx(x) = exp(x^2) erfc(x) by one Chebyshev series for (1 + 2x) erfcx(x) in (x - k)/(x + k), k = 3.75
//! (the form of Shepherd & Laframboise 1981, coefficients computed to 50 digits); all else follows from it.

use super::log_complement;
use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI, LN_2};

/// Chebyshev coefficients of (1 + 2x) erfcx(x); the first is already halved.
const ERFCX: [f64; 25] = [
    1.1775789345674017,
    -0.004590054580646478,
    -0.08424913336651792,
    0.05920993999819189,
    -0.026658668435305753,
    0.009074997670705265,
    -0.002413163540417608,
    0.0004907758365258086,
    -6.916973302501207e-05,
    4.13902798607301e-06,
    7.74038306619849e-07,
    -2.1886401049234397e-07,
    1.076499946567091e-08,
    4.521959811218287e-09,
    -7.754400208831351e-10,
    -6.318088340886684e-11,
    2.86879501093067e-11,
    1.9455868545777347e-13,
    -9.65469674843344e-13,
    3.25254814814874e-14,
    3.3478119482868056e-14,
    -1.864562880419313e-15,
    -1.2507950530688648e-15,
    7.418235256624044e-17,
    5.068148904796111e-17,
];

/// The standard normal density at zero.
const PHI_0: f64 = 0.3989422804014327;

/// Halley's method triples the digits in each step; from a start good to three digits it needs three.
const MAX_HALLEY: usize = 8;

/// exp(x^2) erfc(x), the scaled complementary error function, for x >= 0.
fn erfcx_positive(x: f64) -> f64 {
    if x == f64::INFINITY {
        return 0.0;
    }
    let t = (x - 3.75) / (x + 3.75);
    let (mut b1, mut b2) = (0.0, 0.0);
    for c in ERFCX[1..].iter().rev() {
        (b1, b2) = (2.0 * t * b1 - b2 + c, b1);
    }
    (t * b1 - b2 + ERFCX[0]) / (1.0 + 2.0 * x)
}

/// exp(-s x^2) with s = 1 or 1/2: the leading bits of x are squared exactly, so that a large x costs no digits.
fn exp_minus_square(x: f64, s: f64) -> f64 {
    // Beyond 60 the result is zero, and infinity would make the difference below indeterminate.
    let x = x.abs().min(60.0);
    let head = (x * 16.0).trunc() / 16.0;
    (-s * head * head).exp() * (-s * (x - head) * (x + head)).exp()
}

/// exp(x^2) erfc(x), the scaled complementary error function; overflows below about -26.6.
pub fn erfcx(x: f64) -> f64 {
    if x >= 0.0 { erfcx_positive(x) } else { 2.0 * (x * x).exp() - erfcx_positive(-x) }
}

/// The error function by its series exp(-x^2) sum of (2 x^2)^n x / (1 * 3 * ... * (2n + 1)), for |x| <= 1/2.
fn erf_series(x: f64) -> f64 {
    let step = 2.0 * x * x;
    let (mut term, mut sum, mut odd) = (x, x, 1.0);
    while term.abs() > 1e-17 * sum.abs() {
        odd += 2.0;
        term *= step / odd;
        sum += term;
    }
    FRAC_2_SQRT_PI * (-x * x).exp() * sum
}

/// The error function.
pub fn erf(x: f64) -> f64 {
    if x.abs() < 0.5 { erf_series(x) } else { (1.0 - erfc(x.abs())).copysign(x) }
}

/// 1 - erf(x), accurate in the upper tail.
pub fn erfc(x: f64) -> f64 {
    if x.abs() < 0.5 {
        1.0 - erf_series(x)
    } else if x < 0.0 {
        2.0 - erfc(-x)
    } else {
        exp_minus_square(x, 1.0) * erfcx_positive(x)
    }
}

/// The standard normal distribution function, accurate in the lower tail.
pub fn ndtr(x: f64) -> f64 {
    if x > -0.5 {
        0.5 * erfc(-x * FRAC_1_SQRT_2)
    } else {
        0.5 * exp_minus_square(x, 0.5) * erfcx_positive(-x * FRAC_1_SQRT_2)
    }
}

/// The logarithm of [`ndtr`], accurate in both tails.
pub fn log_ndtr(x: f64) -> f64 {
    if x > -1.0 {
        (-ndtr(-x)).ln_1p()
    } else if x == f64::NEG_INFINITY {
        x
    } else {
        (0.5 * erfcx_positive(-x * FRAC_1_SQRT_2)).ln() - 0.5 * x * x
    }
}

/// The derivative of [`log_ndtr`]: the density over the distribution function, accurate in both tails.
pub fn log_ndtr_slope(x: f64) -> f64 {
    if x > 0.0 { PHI_0 * exp_minus_square(x, 0.5) / ndtr(x) } else { 2.0 * PHI_0 / erfcx_positive(-x * FRAC_1_SQRT_2) }
}

/// The inverse of [`ndtr`]; infinite at 0 and 1, NaN outside.
pub fn ndtri(p: f64) -> f64 {
    let offset = p - 0.5;
    if offset.abs() >= 0.25 {
        return if p < 0.5 { ndtri_exp(p.ln()) } else { -ndtri_exp((1.0 - p).ln()) };
    }
    // Here the distance from one half carries the digits.
    let mut x = offset / PHI_0;
    for _ in 0..MAX_HALLEY {
        let newton = (0.5 * erf(x * FRAC_1_SQRT_2) - offset) / (PHI_0 * (-0.5 * x * x).exp());
        let step = newton / (1.0 + 0.5 * newton * x);
        x -= step;
        if step.abs() <= f64::EPSILON * x.abs() {
            break;
        }
    }
    x
}

/// The inverse of [`log_ndtr`]: the point below which lies the probability exp(log_p), for log_p <= 0.
///
/// Abramowitz & Stegun 26.2.22, refined by Halley's method on log Phi.
pub fn ndtri_exp(log_p: f64) -> f64 {
    if log_p > -LN_2 {
        return -ndtri_exp(log_complement(log_p));
    }
    if log_p == f64::NEG_INFINITY {
        return log_p;
    }
    let t = (-2.0 * log_p).sqrt();
    let mut x = (2.30753 + 0.27061 * t) / (1.0 + t * (0.99229 + 0.04481 * t)) - t;
    for _ in 0..MAX_HALLEY {
        let hazard = log_ndtr_slope(x);
        let newton = (log_ndtr(x) - log_p) / hazard;
        let step = newton / (1.0 + 0.5 * newton * (x + hazard));
        x -= step;
        if step.abs() <= f64::EPSILON * x.abs() {
            break;
        }
    }
    x
}
