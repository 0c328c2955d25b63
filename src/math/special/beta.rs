//! The beta function's logarithm, without the cancellation of three ln Gamma values.
//!
//! Stirling's series for the large arguments leave only log1p terms (DiDonato & Morris 1992, ACM TOMS 708).

use super::HALF_LN_2PI;
use super::gamma::{ln_gamma, stirling_correction};

/// From here on Stirling's corrections are used.
const LARGE: f64 = 10.0;

/// log B(a, b) for a, b > 0; NaN otherwise.
pub fn ln_beta(a: f64, b: f64) -> f64 {
    if !(a > 0.0 && b > 0.0) {
        return f64::NAN;
    }
    let (a, b) = if a < b { (a, b) } else { (b, a) };
    if b < LARGE {
        return ln_gamma(a) + ln_gamma(b) - ln_gamma(a + b);
    }
    let correction = stirling_correction(b) - stirling_correction(a + b);
    if a < LARGE {
        // ln Gamma(b) - ln Gamma(a + b) by Stirling.
        return ln_gamma(a) + (a * (1.0 - b.ln()) - (a + b - 0.5) * (a / b).ln_1p()) + correction;
    }
    HALF_LN_2PI - 0.5 * b.ln() - (a - 0.5) * (b / a).ln_1p() - b * (a / b).ln_1p() + stirling_correction(a) + correction
}
