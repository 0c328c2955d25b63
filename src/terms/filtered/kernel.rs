//! The covariance of the latent path itself.
//!
//! Matérn 3/2 with unit variance: k(d) = (1 + rho |d|) exp(-rho |d|), rho = sqrt(3) / length scale (Rasmussen &
//! Williams 2006, section 4.2.1).

/// Inverse time constant of a Matérn 3/2 process.
pub(super) fn rate(length_scale: f64) -> f64 {
    3f64.sqrt() / length_scale
}

/// Covariance at distance `d >= 0`; zero where the exponential underflowed while its argument may have overflowed.
pub(super) fn matern32(rho: f64, d: f64) -> f64 {
    let e = (-rho * d).exp();
    if e == 0.0 { 0.0 } else { (1.0 + rho * d) * e }
}
