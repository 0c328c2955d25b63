//! The modified Bessel functions I0 and I1 as the normaliser and the mean of the von Mises law.
//!
//! Power series with positive terms below 20 (Abramowitz & Stegun 9.6.10), asymptotic series above (9.7.1).

use std::f64::consts::PI;

/// From here on the asymptotic series reaches full precision: its smallest term is below exp(-2 x).
const ASYMPTOTIC: f64 = 20.0;

/// The power series stops at terms below this share of the sum.
const NEGLIGIBLE: f64 = 1e-17;

/// log(exp(-|x|) I0(x)).
pub fn log_bessel_i0_scaled(x: f64) -> f64 {
    let x = x.abs();
    if x >= ASYMPTOTIC {
        return asymptotic(x).0.ln() - 0.5 * (2.0 * PI * x).ln();
    }
    power_series(x).0.ln_1p() - x
}

/// The derivative of [`log_bessel_i0_scaled`]: I1(x) / I0(x) - sign(x), which keeps its digits at large |x|; zero at
/// the corner x = 0.
pub fn bessel_ratio_excess(x: f64) -> f64 {
    if x == 0.0 {
        return 0.0;
    }
    let magnitude = x.abs();
    let excess = if magnitude >= ASYMPTOTIC {
        let (sum, slope) = asymptotic(magnitude);
        slope / sum - 0.5 / magnitude
    } else {
        let (rest, first) = power_series(magnitude);
        first / (1.0 + rest) - 1.0
    };
    excess.copysign(-x)
}

/// (I0(x) - 1, I1(x)).
fn power_series(x: f64) -> (f64, f64) {
    let square = 0.25 * x * x;
    let (mut zero, mut one) = (0.0, 0.5 * x);
    let (mut term_zero, mut term_one, mut k) = (1.0, 0.5 * x, 0.0);
    while term_zero > NEGLIGIBLE * zero || term_one > NEGLIGIBLE * one {
        k += 1.0;
        term_zero *= square / (k * k);
        term_one *= square / (k * (k + 1.0));
        zero += term_zero;
        one += term_one;
        if term_zero == 0.0 {
            break;
        }
    }
    (zero, one)
}

/// S(x) = sqrt(2 pi x) exp(-x) I0(x) = sum of ((2k - 1)!!)^2 / (k! (8 x)^k), and dS/dx.
fn asymptotic(x: f64) -> (f64, f64) {
    let (mut term, mut sum, mut slope, mut k) = (1.0, 1.0, 0.0, 0.0);
    while term > NEGLIGIBLE {
        k += 1.0;
        let odd = 2.0 * k - 1.0;
        term *= odd * odd / (8.0 * k * x);
        sum += term;
        slope -= k * term / x;
    }
    (sum, slope)
}
