//! Equal-weight mixtures of normal distributions: the posterior of a path given each of D parameter draws.
//!
//! Mean: the mean of the component means. Variance: within (mean of the component variances) plus between (population
//! variance of the component means). Quantiles by bisection of the mixture's distribution function.

use super::moments::{mean, population_variance};
use crate::math::special::{HALF_LN_2PI, bisect, log_sum_exp, ndtr, ndtri};
use thiserror::Error;

/// Why components do not make a mixture, or a question to it has no answer. Component numbers are zero-based.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum MixtureError {
    #[error("a mixture needs at least one component")]
    Empty,
    #[error("{means} means but {variances} variances")]
    Lengths { means: usize, variances: usize },
    #[error("component {} has mean {mean} and variance {variance}; both must be finite and the variance not negative",
        component + 1)]
    Component { component: usize, mean: f64, variance: f64 },
    #[error("component {} has variance zero, so the mixture has no density", component + 1)]
    NoDensity { component: usize },
    #[error("the probability {value} is not strictly between 0 and 1")]
    Probability { value: f64 },
}

/// A mixture of D normal distributions with equal weights, one scalar. Borrowed, because there is one per time and factor.
#[derive(Debug, Clone, Copy)]
pub struct Mixture<'a> {
    means: &'a [f64],
    variances: &'a [f64],
}

impl<'a> Mixture<'a> {
    /// `means` and `variances`: length D >= 1; variances are zero or positive.
    pub fn new(means: &'a [f64], variances: &'a [f64]) -> Result<Self, MixtureError> {
        if means.len() != variances.len() {
            return Err(MixtureError::Lengths { means: means.len(), variances: variances.len() });
        }
        if means.is_empty() {
            return Err(MixtureError::Empty);
        }
        for (component, (&mean, &variance)) in means.iter().zip(variances).enumerate() {
            if !(mean.is_finite() && variance.is_finite() && variance >= 0.0) {
                return Err(MixtureError::Component { component, mean, variance });
            }
        }
        Ok(Self { means, variances })
    }

    /// Mean of the mixture.
    pub fn mean(&self) -> f64 {
        mean(self.means)
    }

    /// Mean variance of the components: what is uncertain though the parameters were known.
    pub fn within(&self) -> f64 {
        mean(self.variances)
    }

    /// Population variance of the component means: what is uncertain because the parameters are.
    pub fn between(&self) -> f64 {
        population_variance(self.means)
    }

    /// Variance of the mixture, within plus between.
    pub fn variance(&self) -> f64 {
        self.within() + self.between()
    }

    /// P(Y <= y).
    pub fn cdf(&self, y: f64) -> f64 {
        let component = |(m, v): (&f64, &f64)| {
            if *v > 0.0 { ndtr((y - m) / v.sqrt()) } else { f64::from(u8::from(*m <= y)) }
        };
        self.means.iter().zip(self.variances).map(component).sum::<f64>() / self.means.len() as f64
    }

    /// The quantile at `p`, 0 < p < 1, the least double whose [`Self::cdf`] reaches `p`. The search starts between the least
    /// and the greatest quantile of a component at `p`, which always enclose it.
    pub fn quantile(&self, p: f64) -> Result<f64, MixtureError> {
        if !(0.0 < p && p < 1.0) {
            return Err(MixtureError::Probability { value: p });
        }
        let z = ndtri(p);
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for (m, v) in self.means.iter().zip(self.variances) {
            low = low.min(m + z * v.sqrt());
            high = high.max(m + z * v.sqrt());
        }
        Ok(bisect(|y| self.cdf(y) - p, low, high))
    }

    /// The central interval that holds `mass`, 0 < mass < 1, as (lower, upper).
    pub fn interval(&self, mass: f64) -> Result<(f64, f64), MixtureError> {
        if !(0.0 < mass && mass < 1.0) {
            return Err(MixtureError::Probability { value: mass });
        }
        Ok((self.quantile(0.5 - 0.5 * mass)?, self.quantile(0.5 + 0.5 * mass)?))
    }

    /// Log density at `y`, nats; finite for every finite `y` whose squared distances do not overflow.
    pub fn log_density(&self, y: f64) -> Result<f64, MixtureError> {
        if let Some(component) = self.variances.iter().position(|v| *v == 0.0) {
            return Err(MixtureError::NoDensity { component });
        }
        let log_normal = |(m, v): (&f64, &f64)| -0.5 * ((y - m) * (y - m) / v + v.ln()) - HALF_LN_2PI;
        let logs: Vec<f64> = self.means.iter().zip(self.variances).map(log_normal).collect();
        Ok(log_sum_exp(&logs) - (logs.len() as f64).ln())
    }
}
