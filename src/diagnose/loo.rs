//! Leave-one-out cross-validation from one set of draws, by Pareto-smoothed importance sampling.
//!
//! elpd = sum_i log p(y_i | y without i), each term a weighted mean of p(y_i | draw) with weights smoothed from
//! 1 / p(y_i | draw). Source: Vehtari, Gelman, Gabry 2017, Statistics and Computing 27.

use super::draws::Draws;
use super::ess::ess_mean;
use super::pareto::smooth;
use crate::math::special::log_sum_exp;
use serde::Serialize;

/// Below this shape the estimate of an observation is good, whatever the number of draws.
pub const LARGEST_K: f64 = 0.7;

/// The log density of one observation at every draw.
#[derive(Debug, Clone, PartialEq)]
pub struct LogLikelihood {
    pub name: String,
    /// log p(y_i | draw), chain by chain.
    pub chains: Vec<Vec<f64>>,
}

/// The estimate for one observation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Pointwise {
    pub name: String,
    /// log p(y_i | y without i).
    pub elpd: f64,
    /// How much lower that is than the log density of y_i under all data.
    pub p: f64,
    /// Shape of the tail of the importance ratios; above [`Loo::largest_k`] the estimate cannot be trusted. `None` where
    /// the likelihood of the observation does not vary.
    pub k: Option<f64>,
}

/// The estimate for all observations.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Loo {
    pub elpd: f64,
    /// Standard error over observations.
    pub elpd_se: f64,
    /// Effective number of parameters.
    pub p: f64,
    pub p_se: f64,
    /// Shapes above this are too large for the number of draws: min(1 - 1 / log10(draws), 0.7).
    pub largest_k: f64,
    /// Observations whose shape is above it.
    pub doubtful: usize,
    pub observations: Vec<Pointwise>,
}

/// Estimates from the log densities of all observations.
///
/// `None` without observations, or with values that are not finite or chains too short to judge.
pub fn loo(log_likelihood: &[LogLikelihood]) -> Option<Loo> {
    let mut observations = Vec::with_capacity(log_likelihood.len());
    let mut draws = 0;
    for LogLikelihood { name, chains } in log_likelihood {
        let all: Vec<f64> = chains.iter().flatten().copied().collect();
        draws = all.len();
        let largest = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let likelihood: Vec<Vec<f64>> =
            chains.iter().map(|chain| chain.iter().map(|l| (l - largest).exp()).collect()).collect();
        let slices: Vec<&[f64]> = likelihood.iter().map(Vec::as_slice).collect();
        let judged = Draws::new(&slices).ok()?;
        // Draws that are worth nothing for the mean are worth nothing here.
        let efficiency = ess_mean(&judged).unwrap_or(draws as f64) / draws as f64;
        let ratios: Vec<f64> = all.iter().map(|l| -l).collect();
        let smoothed = smooth(&ratios, efficiency);
        let terms: Vec<f64> = smoothed.log_weights.iter().zip(&all).map(|(w, l)| w + l).collect();
        let elpd = log_sum_exp(&terms);
        let lpd = log_sum_exp(&all) - (draws as f64).ln();
        let k = if judged.is_constant() { None } else { Some(smoothed.k) };
        if !elpd.is_finite() {
            return None;
        }
        observations.push(Pointwise { name: name.clone(), elpd, p: lpd - elpd, k });
    }
    if observations.is_empty() {
        return None;
    }
    let largest_k = LARGEST_K.min(1.0 - 1.0 / (draws as f64).log10());
    let (elpd, elpd_se) = total(observations.iter().map(|o| o.elpd));
    let (p, p_se) = total(observations.iter().map(|o| o.p));
    let doubtful = observations.iter().filter(|o| o.k.is_some_and(|k| k > largest_k)).count();
    Some(Loo { elpd, elpd_se, p, p_se, largest_k, doubtful, observations })
}

/// A sum, and its standard error from the spread of its terms.
fn total(terms: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let n = terms.clone().count() as f64;
    let sum: f64 = terms.clone().sum();
    let variance = terms.map(|t| (t - sum / n).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
    (sum, (n * variance).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::rng::{Purpose, stream};
    use rand_distr::{Distribution, StandardNormal};

    fn log_normal(x: f64, mean: f64, variance: f64) -> f64 {
        -0.5 * (x - mean).powi(2) / variance - 0.5 * (2.0 * std::f64::consts::PI * variance).ln()
    }

    /// Draws of the mean of normal data with variance 1 under a normal prior with variance 100.
    fn log_likelihoods(y: &[f64], draws: usize) -> Vec<LogLikelihood> {
        let variance = 1.0 / (y.len() as f64 + 0.01);
        let mean = y.iter().sum::<f64>() * variance;
        let mut rng = stream(2, 0, Purpose::Prediction);
        let chains: Vec<Vec<f64>> = (0..4)
            .map(|_| {
                let one =
                    |_| -> f64 { mean + variance.sqrt() * Distribution::<f64>::sample(&StandardNormal, &mut rng) };
                (0..draws).map(one).collect()
            })
            .collect();
        let of = |&y: &f64| chains.iter().map(|c| c.iter().map(|mu| log_normal(y, *mu, 1.0)).collect()).collect();
        y.iter().enumerate().map(|(i, y)| LogLikelihood { name: format!("y[{}]", i + 1), chains: of(y) }).collect()
    }

    #[test]
    fn the_estimate_is_that_of_fitting_again_without_each_observation() {
        let y = [0.3, -1.2, 2.1, 0.7, -0.4, 1.9, 0.1, -2.0, 0.8, 1.1];
        let found = loo(&log_likelihoods(&y, 5000)).expect("an estimate");
        let mut wanted = 0.0;
        for (i, observation) in found.observations.iter().enumerate() {
            // Exactly: normal, with the mean and variance of the posterior of the others.
            let rest: f64 = y.iter().enumerate().filter(|(j, _)| *j != i).map(|(_, y)| y).sum();
            let variance = 1.0 / (y.len() as f64 - 1.0 + 0.01);
            let exact = log_normal(y[i], rest * variance, 1.0 + variance);
            assert!((observation.elpd - exact).abs() < 0.01, "{}: {} {exact}", observation.name, observation.elpd);
            wanted += exact;
        }
        assert!((found.elpd - wanted).abs() < 0.03, "{} {wanted}", found.elpd);
        assert!(found.p > 0.7 && found.p < 1.6, "{}", found.p);
        assert_eq!((found.doubtful, found.largest_k), (0, LARGEST_K));
        let mean = found.elpd / 10.0;
        let spread: f64 = found.observations.iter().map(|o| (o.elpd - mean).powi(2)).sum::<f64>() / 9.0;
        assert!((found.elpd_se - (10.0 * spread).sqrt()).abs() < 1e-12);
    }

    #[test]
    fn an_observation_that_decides_the_fit_is_doubtful() {
        let found = loo(&log_likelihoods(&[0.1, -0.2, 60.0], 1000)).expect("an estimate");
        assert!(found.observations[2].k.expect("a shape") > LARGEST_K, "{found:?}");
        assert!(found.observations[2].elpd < found.observations[0].elpd);
        assert!(found.doubtful >= 1);
    }

    #[test]
    fn what_cannot_be_judged_has_no_estimate() {
        assert!(loo(&[]).is_none());
        let of = |chains: Vec<Vec<f64>>| loo(&[LogLikelihood { name: "y".into(), chains }]);
        assert!(of(vec![vec![f64::NEG_INFINITY; 100]]).is_none());
        assert!(of(vec![vec![0.0, 1.0]]).is_none());
        let constant = of(vec![vec![-1.5; 50]; 2]).expect("an estimate");
        assert!(constant.observations[0].k.is_none() && (constant.elpd + 1.5).abs() < 1e-12);
    }
}
