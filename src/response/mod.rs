//! Response curves: what a stream shows, some seconds later, of an impulse of the latent.
//!
//! A stream's noiseless value at t is the integral of k(u) z(t - u) du, with k of unit L2 norm on a closed support, so
//! that loadings carry the amplitude.
//!
//! * [`Response`] names a family and its parameters; [`build`] makes and checks one, [`FAMILIES`] is the table;
//! * [`Curve`] evaluates it: value, support, norm, integrals against linear pieces, each with derivatives.

mod bach;
mod bateman;
mod bounds;
mod curve;
mod double_gamma;
mod error;
mod family;
mod gamma;
mod gaussian;
mod quadrature;
mod raw;
mod sampled;
mod support;
#[cfg(test)]
pub(crate) mod tests;

use serde::{Deserialize, Serialize};

pub use curve::Curve;
pub use error::ResponseError;
pub use family::{Domain, FAMILIES, Family, Parameter, build, find};

/// A response curve with its parameters; times are seconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Response {
    /// The stream shows the latent itself: a unit impulse at lag 0.
    Identity,
    /// exp(-(u - lag)^2 / (2 width^2)) within six widths of the lag.
    Gaussian { width: f64, lag: f64 },
    /// The density of a gamma distribution at u - lag.
    Gamma { shape: f64, scale: f64, lag: f64 },
    /// The density of one gamma distribution less `ratio` times that of another.
    DoubleGamma { peak_shape: f64, peak_scale: f64, undershoot_shape: f64, undershoot_scale: f64, ratio: f64, lag: f64 },
    /// (exp(-v / decay) - exp(-v / rise)) / (decay - rise) for v = u - lag from 0 to 90.
    Bateman { rise: f64, decay: f64, lag: f64 },
    /// A bell about `t0`, cut at 0, convolved with the sum of two exponential decays, for u - lag from 0 to 90.
    Bach { t0: f64, sigma: f64, lambda1: f64, lambda2: f64, lag: f64 },
    /// Linear between the lags (seconds, strictly increasing, at least 2), zero outside.
    Sampled { lags: Vec<f64>, values: Vec<f64> },
}

impl Response {
    /// The curve through `values` at `lags` (seconds), linear between and zero outside.
    ///
    /// # Errors
    /// Fewer than 2 lags, lags that do not increase strictly, unequal lengths, numbers that are not finite, and values
    /// that are all zero.
    pub fn sampled(lags: Vec<f64>, values: Vec<f64>) -> Result<Response, ResponseError> {
        sampled::check(&lags, &values)?;
        Ok(Response::Sampled { lags, values })
    }

    /// The entry of the table to which this response belongs.
    pub fn family(&self) -> &'static Family {
        let index = match self {
            Response::Identity => 0,
            Response::Gaussian { .. } => 1,
            Response::Gamma { .. } => 2,
            Response::DoubleGamma { .. } => 3,
            Response::Bateman { .. } => 4,
            Response::Bach { .. } => 5,
            Response::Sampled { .. } => 6,
        };
        &FAMILIES[index]
    }

    /// Values of the parameters in the order of the family's table.
    pub fn values(&self) -> Vec<f64> {
        match *self {
            Response::Identity | Response::Sampled { .. } => Vec::new(),
            Response::Gaussian { width, lag } => vec![width, lag],
            Response::Gamma { shape, scale, lag } => vec![shape, scale, lag],
            Response::DoubleGamma { peak_shape, peak_scale, undershoot_shape, undershoot_scale, ratio, lag } => {
                vec![peak_shape, peak_scale, undershoot_shape, undershoot_scale, ratio, lag]
            }
            Response::Bateman { rise, decay, lag } => vec![rise, decay, lag],
            Response::Bach { t0, sigma, lambda1, lambda2, lag } => vec![t0, sigma, lambda1, lambda2, lag],
        }
    }

    /// Seconds by which the whole curve is moved; 0 where the family has no lag.
    pub fn lag(&self) -> f64 {
        match *self {
            Response::Identity | Response::Sampled { .. } => 0.0,
            Response::Gaussian { lag, .. }
            | Response::Gamma { lag, .. }
            | Response::DoubleGamma { lag, .. }
            | Response::Bateman { lag, .. }
            | Response::Bach { lag, .. } => lag,
        }
    }

    /// Refuses parameters outside their domain, as a response read from a file may have.
    ///
    /// # Errors
    /// Those of [`build`] and [`Response::sampled`].
    pub fn check(&self) -> Result<(), ResponseError> {
        match self {
            Response::Sampled { lags, values } => sampled::check(lags, values),
            other => other.family().with(&other.values()).map(drop),
        }
    }

    /// Smallest and largest lag in seconds at which the curve is not zero; both belong to the support.
    pub fn support(&self) -> (f64, f64) {
        let (lo, hi) = support::ends(self);
        (self.lag() + lo, self.lag() + hi)
    }
}
