//! Monte Carlo standard errors of the mean, the standard deviation and quantiles.
//!
//! Mean: sd / sqrt(ESS). Standard deviation, by the delta method on the fourth moment: with c = (x - mean)^2,
//! sqrt(var(c) / (4 mean(c) ESS(c))). Quantile at p: half the distance between the order statistics at the 15.9 % and
//! 84.1 % points of Beta(E p + 1, E (1 - p) + 1), E the ESS of that quantile (Vehtari et al. 2021, Bayesian Analysis 16).

use super::draws::Draws;
use super::ess::{ess_mean, ess_quantile, ess_sd};
use super::moments::{mean, population_variance, variance};
use crate::math::special::inv_inc_beta;

/// Phi(-1): one standard error below the centre of a normal distribution.
const ONE_SIGMA_BELOW: f64 = 0.158_655_253_931_457_05;

/// Standard error of the mean, units of the quantity; 0 for a constant. `None` where squares overflow.
pub fn mcse_mean(draws: &Draws) -> Option<f64> {
    if draws.is_constant() {
        return Some(0.0);
    }
    Some(variance(draws.values()).sqrt() / ess_mean(draws)?.sqrt()).filter(|error| error.is_finite())
}

/// Standard error of the standard deviation, units of the quantity. `None` for a constant or where powers overflow.
pub fn mcse_sd(draws: &Draws) -> Option<f64> {
    if draws.is_constant() {
        return None;
    }
    let centre = mean(draws.values());
    let squares: Vec<f64> = draws.values().iter().map(|x| (x - centre) * (x - centre)).collect();
    Some((population_variance(&squares) / ess_sd(draws)? / mean(&squares)).sqrt() / 2.0)
        .filter(|error| error.is_finite())
}

/// Standard error of the quantile at `p`, units of the quantity. `None` unless 0 < p < 1.
pub fn mcse_quantile(draws: &Draws, p: f64) -> Option<f64> {
    let ess = ess_quantile(draws, p)?;
    let count = draws.values().len();
    let (a, b) = (ess * p + 1.0, ess * (1.0 - p) + 1.0);
    let low = (inv_inc_beta(a, b, ONE_SIGMA_BELOW) * count as f64).floor();
    let high = (inv_inc_beta(a, b, 1.0 - ONE_SIGMA_BELOW) * count as f64).ceil();
    // Ranks count from 1, `ordered` from 0.
    let low = draws.ordered((low as usize).max(1) - 1);
    let high = draws.ordered((high as usize).clamp(1, count) - 1);
    Some((high - low) / 2.0).filter(|error| error.is_finite())
}
