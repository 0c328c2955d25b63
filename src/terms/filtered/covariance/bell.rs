//! The covariance of the latent path seen through two bells, or through a bell and the identity, in closed form.
//!
//! With sigma^2 = w_a^2 + w_b^2, q = rho sigma, d = |lag| and r = d / sigma, the Matérn 3/2 covariance smoothed by a
//! normal density of standard deviation sigma is f = (1 + rho d - q^2) A + (1 - rho d - q^2) B + 2 q phi(r), where
//! A = exp(q^2/2 - rho d) Phi(r - q) and B = exp(q^2/2 + rho d) Phi(-r - q). Its slope is
//! f' = -rho ((rho d - q^2) A + (rho d + q^2) B), its curvature f'' = rho^2 ((rho d - q^2 - 1) A - (rho d + q^2 + 1) B +
//! 2 q phi(r)); by the heat equation df/dsigma = sigma f'', and by its dimension rho df/drho = d f' + sigma df/dsigma.

use super::super::kernel::matern32;
use crate::math::special::{erfcx, ndtr};
use std::f64::consts::{FRAC_1_SQRT_2, PI};

/// The smoothed covariance at one lag.
#[derive(Debug, Clone, Copy)]
pub(super) struct Smoothed {
    pub value: f64,
    /// Derivative in the lag.
    pub slope: f64,
    /// Second derivative in the lag: the derivative in a width is the width times this.
    pub curvature: f64,
    pub in_rho: f64,
}

/// At `lag`, where `variance` = sigma^2 of the two bells together, zero for none.
pub(super) fn smoothed(rho: f64, variance: f64, lag: f64) -> Smoothed {
    let d = lag.abs();
    let x = rho * d;
    if variance == 0.0 {
        let e = (-x).exp();
        if e == 0.0 {
            return Smoothed { value: 0.0, slope: 0.0, curvature: 0.0, in_rho: 0.0 };
        }
        let slope = -rho * x * e;
        let curvature = rho * rho * (x - 1.0) * e;
        return Smoothed { value: matern32(rho, d), slope: slope.copysign(-lag), curvature, in_rho: -d * x * e };
    }
    let sigma = variance.sqrt();
    let (q, r) = (rho * sigma, d / sigma);
    let bell = (-0.5 * r * r).exp();
    let phi = bell / (2.0 * PI).sqrt();
    let behind = 0.5 * erfcx((r + q) * FRAC_1_SQRT_2) * bell;
    let ahead = if r < q { 0.5 * erfcx((q - r) * FRAC_1_SQRT_2) * bell } else { (0.5 * q * q - x).exp() * ndtr(r - q) };
    let square = q * q;
    let lead = |weight: f64, e: f64| if e == 0.0 { 0.0 } else { weight * e };
    let value = lead(1.0 + x - square, ahead) + lead(1.0 - x - square, behind) + 2.0 * q * phi;
    let slope = -rho * (lead(x - square, ahead) + lead(x + square, behind));
    let curvature = rho * rho * (lead(x - square - 1.0, ahead) - lead(x + square + 1.0, behind) + 2.0 * q * phi);
    let in_rho = (d * slope + variance * curvature) / rho;
    Smoothed { value, slope: if lag < 0.0 { -slope } else { slope }, curvature, in_rho }
}
