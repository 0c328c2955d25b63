//! One scalar quantity in a row of numbers: location, spread, quantiles, and how far to trust them.

use super::draws::{Draws, Unjudged, ascending, interpolate};
use super::ess::{ess_of, ess_tail};
use super::mcse::{mcse_mean, mcse_sd};
use super::moments::{mean, variance};
use super::rank::{Scores, r_hat_of};
use serde::{Deserialize, Serialize};

/// Summary of a scalar quantity over chains. Every number is finite, save `r_hat`, which is infinite when each chain
/// stands still at a place of its own. `None` means that the number is not defined; `unjudged` then says why,
/// unless the quantity is constant or there is a single chain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct QuantitySummary {
    pub mean: Option<f64>,
    /// Standard deviation, divisor S - 1.
    pub sd: Option<f64>,
    /// Monte Carlo standard error of the mean; 0 for a constant.
    pub mcse_mean: Option<f64>,
    /// Monte Carlo standard error of the standard deviation; `None` for a constant.
    pub mcse_sd: Option<f64>,
    /// Quantile at 5 %, as the next four at 25, 50, 75 and 95 %; linear between order statistics.
    pub q05: Option<f64>,
    pub q25: Option<f64>,
    pub q50: Option<f64>,
    pub q75: Option<f64>,
    pub q95: Option<f64>,
    /// Effective sample size of the bulk; the number of draws in half chains for a constant.
    pub ess_bulk: Option<f64>,
    /// Effective sample size of the tails, the smaller of those at 5 % and 95 %.
    pub ess_tail: Option<f64>,
    /// Rank-normalised split R-hat; `None` for a constant and for a single chain.
    pub r_hat: Option<f64>,
    /// All draws of all chains are equal, up to rounding. Chains that stand still at different values are not constant.
    pub constant: bool,
    pub chains: usize,
    /// Draws over all chains.
    pub draws: usize,
    /// Why convergence could not be judged.
    pub unjudged: Option<Unjudged>,
}

/// Summarises one quantity, one slice of draws per chain.
///
/// Chains that are too short or of unequal length still have a mean, a spread and quantiles; with non-finite draws
/// nothing is defined.
pub fn summarize(chains: &[&[f64]]) -> QuantitySummary {
    match Draws::new(chains) {
        Ok(draws) => judged(&draws),
        Err(reason) => unjudged(chains, reason),
    }
}

fn judged(draws: &Draws) -> QuantitySummary {
    let scores = Scores::new(2 * draws.half() * draws.chains());
    let bulk = scores.bulk(draws);
    let quantile = |p| Some(draws.quantile(p));
    QuantitySummary {
        mean: finite(mean(draws.values())),
        sd: finite(variance(draws.values()).sqrt()),
        mcse_mean: mcse_mean(draws),
        mcse_sd: mcse_sd(draws),
        q05: quantile(0.05),
        q25: quantile(0.25),
        q50: quantile(0.5),
        q75: quantile(0.75),
        q95: quantile(0.95),
        ess_bulk: Some(ess_of(draws, &bulk)),
        ess_tail: Some(ess_tail(draws)),
        r_hat: r_hat_of(draws, &scores, &bulk),
        constant: draws.is_constant(),
        chains: draws.chains(),
        draws: draws.values().len(),
        unjudged: None,
    }
}

fn unjudged(chains: &[&[f64]], reason: Unjudged) -> QuantitySummary {
    let values = if matches!(reason, Unjudged::NonFinite { .. }) { Vec::new() } else { chains.concat() };
    let order = ascending(&values);
    let quantile = |p| (!values.is_empty()).then(|| interpolate(order.len(), p, |i| values[order[i]]));
    QuantitySummary {
        mean: finite(mean(&values)),
        sd: finite(variance(&values).sqrt()),
        mcse_mean: None,
        mcse_sd: None,
        q05: quantile(0.05),
        q25: quantile(0.25),
        q50: quantile(0.5),
        q75: quantile(0.75),
        q95: quantile(0.95),
        ess_bulk: None,
        ess_tail: None,
        r_hat: None,
        constant: false,
        chains: chains.len(),
        draws: chains.iter().map(|chain| chain.len()).sum(),
        unjudged: Some(reason),
    }
}

fn finite(value: f64) -> Option<f64> {
    Some(value).filter(|v| v.is_finite())
}
