//! A response made ready for evaluation: unit L2 norm, support, and integrals against linear pieces, with derivatives.
//!
//! With raw the family's curve and N^2 the integral of its square over the support, k = raw / N and
//! dk = (d raw - k dN) / N. All integrals run by ten-point Gauss-Legendre rules between breaks which the family sets so that
//! they are exact to rounding; where an end of the support moves with a parameter, the curve's value there adds to the derivative.

use std::sync::Arc;

use super::bach::Bach;
use super::bateman::Bateman;
use super::double_gamma::DoubleGamma;
use super::gamma::Gamma;
use super::gaussian::Gaussian;
use super::quadrature::points;
use super::raw::Raw;
use super::sampled::Sampled;
use super::support;
use super::{Response, ResponseError};

/// A response ready for evaluation. Lags `u` are seconds; derivatives are in the order of the family's table.
#[derive(Debug, Clone)]
pub struct Curve {
    pub(super) raw: Arc<dyn Raw>,
    lag: f64,
    has_lag: bool,
    /// Ends of the support relative to the lag.
    ends: (f64, f64),
    /// Their derivatives in every parameter but the lag.
    end_slopes: Vec<(f64, f64)>,
    /// Points between which the quadrature holds, both ends included.
    breaks: Vec<f64>,
    norm: f64,
    /// Derivatives of the norm in every parameter but the lag.
    norm_slopes: Vec<f64>,
}

impl Curve {
    /// The curve of a response; `None` for the identity, an impulse, which has no values.
    ///
    /// # Errors
    /// Those of [`Response::check`], and [`ResponseError::Degenerate`] where the norm or the support leaves the range
    /// of double precision.
    pub fn new(response: &Response) -> Result<Option<Curve>, ResponseError> {
        response.check()?;
        let raw: Arc<dyn Raw> = match response {
            Response::Identity => return Ok(None),
            Response::Gaussian { width, .. } => Arc::new(Gaussian { width: *width }),
            Response::Gamma { shape, scale, .. } => Arc::new(Gamma::new(*shape, *scale)),
            Response::DoubleGamma { peak_shape, peak_scale, undershoot_shape, undershoot_scale, ratio, .. } => {
                Arc::new(DoubleGamma {
                    peak: Gamma::new(*peak_shape, *peak_scale),
                    undershoot: Gamma::new(*undershoot_shape, *undershoot_scale),
                    ratio: *ratio,
                })
            }
            Response::Bateman { rise, decay, .. } => Arc::new(Bateman { rise: *rise, decay: *decay }),
            Response::Bach { t0, sigma, lambda1, lambda2, .. } => {
                Arc::new(Bach { t0: *t0, sigma: *sigma, lambdas: [*lambda1, *lambda2] })
            }
            Response::Sampled { lags, values } => Arc::new(Sampled { lags: lags.clone(), values: values.clone() }),
        };
        let family = response.family();
        let (lag, ends) = (response.lag(), support::ends(response));
        let degenerate =
            |norm: f64| ResponseError::Degenerate { family: family.name, norm, support: (lag + ends.0, lag + ends.1) };
        if !(lag + ends.0 < lag + ends.1 && (lag + ends.0).is_finite() && (lag + ends.1).is_finite()) {
            return Err(degenerate(f64::NAN));
        }
        let mut breaks = vec![ends.0];
        breaks.extend(raw.breaks(ends));
        breaks.push(ends.1);
        let mut curve = Curve {
            raw,
            lag,
            has_lag: !family.parameters.is_empty(),
            ends,
            end_slopes: support::end_slopes(response),
            breaks,
            norm: 1.0,
            norm_slopes: Vec::new(),
        };
        let (square, mut slopes) = curve.raw.square().unwrap_or_else(|| curve.integrated_square());
        let norm = square.sqrt();
        for slope in &mut slopes {
            *slope /= 2.0 * norm;
        }
        let others = [norm.recip(), curve.raw.value(ends.0), curve.raw.value(ends.1)];
        if !(norm > 0.0 && norm.is_finite() && others.iter().chain(&slopes).all(|v| v.is_finite())) {
            return Err(degenerate(norm));
        }
        (curve.norm, curve.norm_slopes) = (norm, slopes);
        Ok(Some(curve))
    }

    /// Smallest and largest lag in seconds at which the curve is not zero; both belong to the support.
    pub fn support(&self) -> (f64, f64) {
        (self.lag + self.ends.0, self.lag + self.ends.1)
    }

    /// L2 norm of the family's curve before normalisation.
    pub fn norm(&self) -> f64 {
        self.norm
    }

    /// Derivatives of the norm, one per parameter.
    pub fn norm_gradient(&self) -> Vec<f64> {
        let mut slopes = self.norm_slopes.clone();
        if self.has_lag {
            slopes.push(0.0);
        }
        slopes
    }

    /// The curve, of unit L2 norm, at lag `u`; zero outside the support.
    pub fn value(&self, u: f64) -> f64 {
        if self.covers(u) { self.raw.value(u - self.lag) / self.norm } else { 0.0 }
    }

    /// Derivatives of the value at lag `u`, one per parameter; zero outside the support.
    ///
    /// At the onset of a gamma curve a derivative is infinite where the true one is: in a shape of 1, and in the lag at
    /// shapes from 1 to 2.
    pub fn gradient(&self, u: f64) -> Vec<f64> {
        let mut out = vec![0.0; self.parameter_count()];
        if !self.covers(u) {
            return out;
        }
        let v = u - self.lag;
        let free = self.norm_slopes.len();
        let k = self.raw.gradient(v, &mut out[..free]) / self.norm;
        for (o, slope) in out.iter_mut().zip(&self.norm_slopes) {
            *o = (*o - k * slope) / self.norm;
        }
        if self.has_lag {
            out[free] = -self.raw.slope(v) / self.norm;
        }
        out
    }

    /// Number of parameters.
    pub fn parameter_count(&self) -> usize {
        self.norm_slopes.len() + usize::from(self.has_lag)
    }

    /// What a function that is linear between lags `l` < `h` sees of the curve: the integral of k f over [l, h] is the
    /// first number times f(l) plus the second times f(h).
    pub fn spread(&self, l: f64, h: f64) -> (f64, f64) {
        let (a, b) = (l - self.lag, h - self.lag);
        if a >= b {
            // The interval is lost in the rounding of its ends.
            return (0.0, 0.0);
        }
        let mut sums = (0.0, 0.0);
        self.integrate(a, b, |v, w| {
            let k = w * self.raw.value(v);
            sums.0 += k * (b - v);
            sums.1 += k * (v - a);
        });
        let scale = 1.0 / ((b - a) * self.norm);
        (sums.0 * scale, sums.1 * scale)
    }

    /// [`Curve::spread`]; `out` becomes its derivatives, one pair per parameter.
    ///
    /// What the motion of the support's ends adds is left to [`Curve::moving_ends`]. In the lag the curve's values at `l`
    /// and `h` are left out: where intervals meet they cancel.
    pub fn spread_gradient(&self, l: f64, h: f64, out: &mut [(f64, f64)]) -> (f64, f64) {
        let (a, b) = (l - self.lag, h - self.lag);
        let free = self.norm_slopes.len();
        let mut slopes = vec![0.0; free];
        let mut sums = (0.0, 0.0);
        out.fill((0.0, 0.0));
        if a >= b {
            return (0.0, 0.0);
        }
        self.integrate(a, b, |v, w| {
            let k = w * self.raw.gradient(v, &mut slopes);
            sums.0 += k * (b - v);
            sums.1 += k * (v - a);
            for (o, s) in out.iter_mut().zip(&slopes) {
                o.0 += w * s * (b - v);
                o.1 += w * s * (v - a);
            }
        });
        let scale = 1.0 / ((b - a) * self.norm);
        let (at_l, at_h) = (sums.0 * scale, sums.1 * scale);
        for (o, slope) in out.iter_mut().zip(&self.norm_slopes) {
            let relative = slope / self.norm;
            *o = (o.0 * scale - at_l * relative, o.1 * scale - at_h * relative);
        }
        if self.has_lag {
            // A later curve moves its mass against the linear weights, which fall and rise by 1 over [l, h].
            let moved = (at_l + at_h) / (b - a);
            out[free] = (-moved, moved);
        }
        (at_l, at_h)
    }

    /// Both ends of the support, each with the factors, one per parameter, that f there adds to the derivative of the
    /// integral of k f.
    pub fn moving_ends(&self) -> [(f64, Vec<f64>); 2] {
        let (lo, hi) = self.support();
        let (at_lo, at_hi) = (self.raw.value(self.ends.0) / self.norm, self.raw.value(self.ends.1) / self.norm);
        let mut low: Vec<f64> = self.end_slopes.iter().map(|s| -at_lo * s.0).collect();
        let mut high: Vec<f64> = self.end_slopes.iter().map(|s| at_hi * s.1).collect();
        // The lag moves the curve as a whole, which spread_gradient has accounted for.
        low.resize(self.parameter_count(), 0.0);
        high.resize(self.parameter_count(), 0.0);
        [(lo, low), (hi, high)]
    }

    /// Seconds after the lag, ascending, both ends of the support included, between which ten-point Gauss-Legendre rules
    /// integrate the curve, its square and its derivatives to rounding.
    pub fn breaks(&self) -> &[f64] {
        &self.breaks
    }

    /// The curve `v` seconds after the lag, inside the support; `slopes` becomes its derivatives in every parameter but the
    /// lag, unless it is empty.
    pub fn value_and_slopes(&self, v: f64, slopes: &mut [f64]) -> f64 {
        if slopes.is_empty() {
            return self.raw.value(v) / self.norm;
        }
        let k = self.raw.gradient(v, slopes) / self.norm;
        for (slope, in_norm) in slopes.iter_mut().zip(&self.norm_slopes) {
            *slope = (*slope - k * in_norm) / self.norm;
        }
        k
    }

    fn covers(&self, u: f64) -> bool {
        let (lo, hi) = self.support();
        (lo..=hi).contains(&u)
    }

    /// Visits quadrature points and weights on the part of [a, b] inside the support, seconds after the lag.
    fn integrate(&self, a: f64, b: f64, mut visit: impl FnMut(f64, f64)) {
        let (mut from, end) = (a.max(self.ends.0), b.min(self.ends.1));
        let next = self.breaks.partition_point(|v| *v <= from);
        for &stop in &self.breaks[next..] {
            if from >= end {
                break;
            }
            let to = stop.min(end);
            points(from, to, &mut visit);
            from = to;
        }
    }

    /// The integral of the squared raw curve with its derivatives in every parameter but the lag.
    pub(super) fn integrated_square(&self) -> (f64, Vec<f64>) {
        let free = self.end_slopes.len();
        let (mut value, mut gradient, mut slopes) = (0.0, vec![0.0; free], vec![0.0; free]);
        self.integrate(self.ends.0, self.ends.1, |v, w| {
            let k = self.raw.gradient(v, &mut slopes);
            value += w * k * k;
            for (g, s) in gradient.iter_mut().zip(&slopes) {
                *g += 2.0 * w * k * s;
            }
        });
        let (first, last) = (self.raw.value(self.ends.0), self.raw.value(self.ends.1));
        for (g, s) in gradient.iter_mut().zip(&self.end_slopes) {
            *g += last * last * s.1 - first * first * s.0;
        }
        (value, gradient)
    }
}
