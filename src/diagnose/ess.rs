//! Effective sample sizes from split chains by Geyer's initial positive and monotone sequences.
//!
//! With W the mean variance of the m half chains, var+ = c(0) + var(means) and c(l) the mean autocovariance,
//! rho(l) = 1 - (W - c(l)) / var+. Sums of neighbours P_k = rho(2k) + rho(2k + 1) are taken while positive and bounded
//! by their predecessors; tau = -1 + 2 sum P_k + (even term of the first pair left out), and ESS = S / max(tau,
//! 1 / log10 S): antithetic chains may reach S log10 S. Sources: Geyer 1992, Statistical Science 7; Vehtari et al. 2021,
//! Bayesian Analysis 16. A constant quantity has ESS = S, the number of draws in half chains.

use super::draws::Draws;
use super::moments::{is_constant, mean, variance};
use super::rank::Scores;

/// Effective sample size of the bulk: of the normal scores of the ranks.
pub fn ess_bulk(draws: &Draws) -> f64 {
    ess_of(draws, &Scores::new(2 * draws.half() * draws.chains()).bulk(draws))
}

/// Effective sample size of the tails: the smaller of those of the 5 % and the 95 % quantile.
pub fn ess_tail(draws: &Draws) -> f64 {
    ess_of_indicator(draws, 0.05).min(ess_of_indicator(draws, 0.95))
}

/// Effective sample size for the mean. `None` where squares of the values overflow or underflow.
pub fn ess_mean(draws: &Draws) -> Option<f64> {
    Some(ess_of(draws, &draws.split(|x| x))).filter(|ess| ess.is_finite())
}

/// Effective sample size for the standard deviation: that of (x - mean)^2. `None` where squares overflow or underflow.
pub fn ess_sd(draws: &Draws) -> Option<f64> {
    let centre = mean(draws.values());
    Some(ess_of(draws, &draws.split(|x| (x - centre) * (x - centre)))).filter(|ess| ess.is_finite())
}

/// Effective sample size for the quantile at `p`: that of the indicator x <= quantile. `None` unless 0 < p < 1.
pub fn ess_quantile(draws: &Draws, p: f64) -> Option<f64> {
    (0.0 < p && p < 1.0).then(|| ess_of_indicator(draws, p))
}

fn ess_of_indicator(draws: &Draws, p: f64) -> f64 {
    let quantile = draws.quantile(p);
    ess_of(draws, &draws.split(|x| f64::from(u8::from(x <= quantile))))
}

/// Effective sample size of values in the half chains of `draws`, one half after another.
pub(super) fn ess_of(draws: &Draws, split: &[f64]) -> f64 {
    if draws.is_constant() || is_constant(split) {
        return split.len() as f64;
    }
    let half = draws.half();
    let means: Vec<f64> = split.chunks(half).map(mean).collect();
    sum_sequence(&draws.autocovariance().mean(split), variance(&means), split.len())
}

/// S / tau from the mean autocovariances of half chains, the variance of their means, and S.
fn sum_sequence(autocovariance: &[f64], between: f64, count: usize) -> f64 {
    let half = autocovariance.len();
    let within = autocovariance[0] * half as f64 / (half - 1) as f64;
    let total = autocovariance[0] + between;
    let rho = |lag: usize| 1.0 - (within - autocovariance[lag]) / total;

    let mut sum = 0.0;
    let mut bound = f64::INFINITY;
    let mut pair = [1.0, rho(1)];
    let mut lag = 1;
    while lag + 3 < half && pair[0] + pair[1] > 0.0 {
        bound = bound.min(pair[0] + pair[1]);
        sum += bound;
        pair = [rho(lag + 1), rho(lag + 2)];
        lag += 2;
    }
    let left_out = if pair[0] + pair[1] >= 0.0 { pair[0] } else { pair[0].max(0.0) };
    let tau = -1.0 + 2.0 * sum + left_out;
    let count = count as f64;
    // Not `f64::max`, which would turn a NaN of overflowed squares into the largest possible size.
    let shortest = 1.0 / count.log10();
    count / if tau < shortest { shortest } else { tau }
}
