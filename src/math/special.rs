//! Special functions of probability theory, each accurate relative to its own size wherever the problem is well posed.
//!
//! Distribution functions come as a pair of logarithms (below, above), so that neither tail is a difference from one.

mod bessel;
mod beta;
mod gamma;
mod incomplete_beta;
mod incomplete_gamma;
mod normal;
mod quadrature;
mod skew_normal;
#[cfg(test)]
mod tests;
mod von_mises;

pub use bessel::{bessel_ratio_excess, log_bessel_i0_scaled};
pub use beta::ln_beta;
pub use gamma::{digamma, ln_factorial, ln_gamma, trigamma};
pub use incomplete_beta::{inc_beta, inv_inc_beta, log_inc_beta};
pub use incomplete_gamma::{inc_gamma_lower, inc_gamma_upper, inv_inc_gamma_lower, inv_inc_gamma_upper, log_inc_gamma};
pub use normal::{erf, erfc, erfcx, log_ndtr, log_ndtr_slope, ndtr, ndtri, ndtri_exp};
pub use skew_normal::log_skew_normal;
pub use von_mises::log_von_mises;

/// Half of log(2 pi).
pub const HALF_LN_2PI: f64 = 0.9189385332046728;

/// log(sum of exp(values)); minus infinity for an empty slice, NaN if a value is NaN.
pub fn log_sum_exp(values: &[f64]) -> f64 {
    let top = values.iter().fold(f64::NEG_INFINITY, |m, &v| if v > m || v.is_nan() { v } else { m });
    if !top.is_finite() {
        return top;
    }
    top + values.iter().map(|&v| (v - top).exp()).sum::<f64>().ln()
}

/// log(exp(a) - exp(b)) for a >= b; minus infinity when they are equal, NaN when a < b.
pub fn log_diff_exp(a: f64, b: f64) -> f64 {
    if a == b || b == f64::NEG_INFINITY {
        return if a == b { f64::NEG_INFINITY } else { a };
    }
    a + log_complement(b - a)
}

/// log(1 - exp(v)) for v <= 0; NaN above (Maechler 2012, "Accurately computing log(1 - exp(-|a|))").
pub fn log_complement(v: f64) -> f64 {
    if v > -std::f64::consts::LN_2 { (-v.exp_m1()).ln() } else { (-v.exp()).ln_1p() }
}

/// The smallest double in `[lo, hi]` at which the nondecreasing `f` is not negative; `hi` if there is none.
///
/// Bisects the ordered sequence of doubles, so that 64 evaluations reach the last bit at any scale, also between
/// infinite ends.
pub fn bisect(mut f: impl FnMut(f64) -> f64, lo: f64, hi: f64) -> f64 {
    let (mut a, mut b) = (rank(lo), rank(hi));
    while a < b {
        // The overflow-free average of two integers, rounded down.
        let middle = (a & b) + ((a ^ b) >> 1);
        if f(unrank(middle)) >= 0.0 {
            b = middle;
        } else {
            a = middle + 1;
        }
    }
    unrank(b)
}

/// The position of a double in the ordered sequence of doubles; both zeros take one place.
fn rank(x: f64) -> i64 {
    let magnitude = (x.to_bits() & (u64::MAX >> 1)) as i64;
    if x.is_sign_negative() { -magnitude } else { magnitude }
}

/// The double at a position.
fn unrank(rank: i64) -> f64 {
    let magnitude = f64::from_bits(rank.unsigned_abs());
    if rank < 0 { -magnitude } else { magnitude }
}
