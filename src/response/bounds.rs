//! Bounds of a response's parameters: their defaults, their checks, and the support that they can reach.

use super::family::{Domain, MAX_SHAPE, Parameter};
use super::support::ends;
use super::{Response, ResponseError};

impl Response {
    /// Default bounds of each parameter about its present value v, in the order of the family's table: a lag v - 2 to
    /// v + 2 seconds, a shape three quarters to five quarters of v inside its domain, a ratio half of v to the least of 1.5 v
    /// and half way to 1, any other v/2 to 3v/2.
    pub fn default_bounds(&self) -> Vec<(f64, f64)> {
        let parameters = self.family().parameters.iter().zip(self.values());
        parameters
            .map(|(parameter, v)| match parameter.domain {
                Domain::Lag => (v - 2.0, v + 2.0),
                Domain::Shape => ((0.75 * v).max(1.0), (1.25 * v).min(MAX_SHAPE)),
                Domain::Ratio => {
                    let hi = (1.5 * v).min(v + 0.5 * (1.0 - v)).min(1f64.next_down());
                    ((0.5 * v).max(f64::MIN_POSITIVE), hi)
                }
                Domain::Positive => (0.5 * v, 1.5 * v),
            })
            .collect()
    }

    /// Refuses bounds that a parameter cannot have or that leave out its present value. `None` marks a fixed parameter.
    ///
    /// # Errors
    /// A wrong number of bounds, bounds that are not finite and increasing or not inside the parameter's domain, and a
    /// value outside its bounds.
    pub fn check_bounds(&self, bounds: &[Option<(f64, f64)>]) -> Result<(), ResponseError> {
        let family = self.family();
        if bounds.len() != family.parameters.len() {
            let (expected, found) = (family.parameters.len(), bounds.len());
            return Err(ResponseError::ParameterCount { family: family.name, expected, found });
        }
        let check = |parameter: &Parameter, value: f64, lo: f64, hi: f64| {
            family.check_value(parameter, lo)?;
            family.check_value(parameter, hi)?;
            let (family, parameter) = (family.name, parameter.name);
            if lo >= hi {
                return Err(ResponseError::BoundsOrder { family, parameter, lo, hi });
            }
            if !(lo..=hi).contains(&value) {
                return Err(ResponseError::OutsideBounds { family, parameter, value, lo, hi });
            }
            Ok(())
        };
        for ((parameter, value), bound) in family.parameters.iter().zip(self.values()).zip(bounds) {
            if let Some((lo, hi)) = *bound {
                check(parameter, value, lo, hi)?;
            }
        }
        Ok(())
    }

    /// Smallest and largest lag in seconds that the support reaches while the parameters stay in their bounds. `None`
    /// marks a fixed parameter.
    ///
    /// # Errors
    /// Those of [`Response::check_bounds`].
    pub fn envelope(&self, bounds: &[Option<(f64, f64)>]) -> Result<(f64, f64), ResponseError> {
        self.check_bounds(bounds)?;
        let family = self.family();
        if !family.is_parametric() {
            return Ok(self.support());
        }
        let upper: Vec<f64> = self.values().iter().zip(bounds).map(|(v, b)| b.map_or(*v, |(_, hi)| hi)).collect();
        // A support widens with every parameter that it depends on, apart from the lag, which moves it.
        let widest = family.unchecked(&upper)?;
        let (first, last) = ends(&widest);
        let lowest_lag = bounds.last().copied().flatten().map_or(self.lag(), |(lo, _)| lo);
        Ok((lowest_lag + first, widest.lag() + last))
    }
}
