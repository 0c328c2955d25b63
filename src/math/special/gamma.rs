//! The gamma function's logarithm and its first two derivatives.
//!
//! ln Gamma: Taylor series about 2 with zeta coefficients, recurrence, Stirling's series from 10 on
//! (Abramowitz & Stegun 6.1.33, 6.1.15, 6.1.40); digamma and trigamma: 6.3.18 and 6.4.12 after recurrence.

use super::HALF_LN_2PI;
use std::f64::consts::{LN_2, PI};

/// 1 - Euler's constant.
const ONE_MINUS_EULER: f64 = 0.42278433509846713;

/// (zeta(k) - 1) / k for k = 2, 3, ...
const ZETA: [f64; 26] = [
    0.3224670334241132,
    0.0673523010531981,
    0.020580808427784546,
    0.007385551028673986,
    0.0028905103307415234,
    0.001192753911703261,
    0.0005096695247430425,
    0.00022315475845357939,
    9.945751278180853e-05,
    4.492623673813314e-05,
    2.050721277567069e-05,
    9.439488275268397e-06,
    4.374866789907488e-06,
    2.039215753801366e-06,
    9.55141213040742e-07,
    4.492469198764566e-07,
    2.1207184805554665e-07,
    1.0043224823968099e-07,
    4.7698101693639804e-08,
    2.2711094608943164e-08,
    1.0838659214896955e-08,
    5.183475041970047e-09,
    2.4836745438024785e-09,
    1.1921401405860912e-09,
    5.731367241678862e-10,
    2.7595228851242334e-10,
];

/// log k! for k = 0, 1, ...
const LN_FACTORIAL: [f64; 32] = [
    0.0,
    0.0,
    LN_2,
    1.791759469228055,
    3.1780538303479458,
    4.787491742782046,
    6.579251212010101,
    8.525161361065415,
    10.60460290274525,
    12.801827480081469,
    15.104412573075516,
    17.502307845873887,
    19.987214495661885,
    22.552163853123425,
    25.19122118273868,
    27.89927138384089,
    30.671860106080672,
    33.50507345013689,
    36.39544520803305,
    39.339884187199495,
    42.335616460753485,
    45.38013889847691,
    48.47118135183523,
    51.60667556776438,
    54.78472939811232,
    58.00360522298052,
    61.261701761002,
    64.55753862700634,
    67.88974313718154,
    71.25703896716801,
    74.65823634883016,
    78.0922235533153,
];

/// B_2k / (2k (2k - 1)) for k = 1, 2, ...
const STIRLING: [f64; 9] = [
    0.08333333333333333,
    -0.002777777777777778,
    0.0007936507936507937,
    -0.0005952380952380953,
    0.0008417508417508417,
    -0.0019175269175269176,
    0.00641025641025641,
    -0.029550653594771242,
    0.17964437236883057,
];

/// From here on the asymptotic series reach full precision.
const ASYMPTOTIC: f64 = 10.0;

/// ln Gamma(x) - ((x - 1/2) ln x - x + ln(2 pi)/2) for x >= 10.
pub(super) fn stirling_correction(x: f64) -> f64 {
    let r = 1.0 / (x * x);
    STIRLING.iter().rev().fold(0.0, |sum, c| sum * r + c) / x
}

/// log |Gamma(x)|; infinite at 0, -1, -2, ...
pub fn ln_gamma(x: f64) -> f64 {
    if x < 0.5 {
        return if x > 0.0 {
            ln_gamma_1p(x) - x.ln()
        } else if x == x.floor() {
            f64::INFINITY
        } else {
            PI.ln() - (PI * x).sin().abs().ln() - ln_gamma(1.0 - x)
        };
    }
    if x < 1.5 {
        ln_gamma_1p(x - 1.0)
    } else if x < 2.5 {
        about_two(x - 2.0)
    } else if x < ASYMPTOTIC {
        let mut y = x - 1.0;
        let mut product = y;
        while y >= 2.5 {
            y -= 1.0;
            product *= y;
        }
        about_two(y - 2.0) + product.ln()
    } else if x == f64::INFINITY {
        x
    } else {
        // Split so that the largest terms share a factor and cannot overflow one by one.
        (x - 0.5) * (x.ln() - 1.0) + (HALF_LN_2PI - 0.5) + stirling_correction(x)
    }
}

/// ln Gamma(1 + z) for |z| <= 1/2, to the last digits of a small z.
pub(super) fn ln_gamma_1p(z: f64) -> f64 {
    about_two(z) - z.ln_1p()
}

/// ln Gamma(2 + z) for |z| <= 1/2.
fn about_two(z: f64) -> f64 {
    let sum = ZETA.iter().rev().fold(0.0, |sum, c| c - z * sum);
    z * (ONE_MINUS_EULER + z * sum)
}

/// log k! for a whole number k >= 0, from a table while it is small.
pub fn ln_factorial(k: f64) -> f64 {
    if k < LN_FACTORIAL.len() as f64 { LN_FACTORIAL[k as usize] } else { ln_gamma(k + 1.0) }
}

/// The derivative of [`ln_gamma`]; NaN at its poles.
pub fn digamma(x: f64) -> f64 {
    if x <= 0.0 {
        return if x == x.floor() { f64::NAN } else { digamma(1.0 - x) - PI / (PI * x).tan() };
    }
    let (mut y, mut sum) = (x, 0.0);
    while y < ASYMPTOTIC {
        sum += 1.0 / y;
        y += 1.0;
    }
    let r = 1.0 / (y * y);
    let tail = STIRLING.iter().enumerate().rev().fold(0.0, |s, (i, c)| s * r + c * (2 * i + 1) as f64);
    (y.ln() - 0.5 / y - r * tail) - sum
}

/// The second derivative of [`ln_gamma`]; infinite at its poles.
pub fn trigamma(x: f64) -> f64 {
    if x <= 0.0 {
        let s = (PI * x).sin();
        return if x == x.floor() { f64::INFINITY } else { (PI / s) * (PI / s) - trigamma(1.0 - x) };
    }
    let (mut y, mut sum) = (x, 0.0);
    while y < ASYMPTOTIC {
        sum += 1.0 / (y * y);
        y += 1.0;
    }
    let r = 1.0 / (y * y);
    let tail = STIRLING.iter().enumerate().rev().fold(0.0, |s, (i, c)| s * r + c * ((2 * i + 1) * (2 * i + 2)) as f64);
    sum + (1.0 + 0.5 / y + r * tail) / y
}
