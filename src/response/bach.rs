//! The skin conductance response of Bach et al. (2010, Int. J. Psychophysiol. 75): a bell convolved with two exponentials.
//!
//! It is I(v; lambda1) + I(v; lambda2), where I(v; l) is the integral of g(w) exp(-l (v - w)) for w from 0 to v and
//! g(w) = exp(-(w - t0)^2 / (2 sigma^2)). I solves I' = g - l I. With D = g(v) - g(0) exp(-l v) - l I, integration by parts gives
//! dI/dt0 = -D, dI/dl = -(v - t0) I - sigma^2 D and
//! dI/dsigma = (I - (v - t0) g(v) - t0 g(0) exp(-l v) - l sigma^2 D) / sigma.

use super::raw::{Raw, between};
use crate::math::special::{erfcx, ndtr};
use std::f64::consts::{FRAC_1_SQRT_2, PI};

#[derive(Debug)]
pub(super) struct Bach {
    pub t0: f64,
    pub sigma: f64,
    pub lambdas: [f64; 2],
}

impl Bach {
    fn bell(&self, w: f64) -> f64 {
        let z = (w - self.t0) / self.sigma;
        (-0.5 * z * z).exp()
    }

    /// The integral of g(w) exp(-lambda (v - w)) for w below `v`, from minus infinity on.
    fn smoothed(&self, v: f64, lambda: f64) -> f64 {
        let z = (v - self.t0) / self.sigma;
        let shift = lambda * self.sigma;
        let x = shift - z;
        let root = self.sigma * (2.0 * PI).sqrt();
        if x >= 0.0 {
            // Here Phi(-x) underflows where the exponential before it overflows; their product does neither.
            root * (-0.5 * z * z).exp() * 0.5 * erfcx(x * FRAC_1_SQRT_2)
        } else {
            root * (shift * (0.5 * shift - z)).exp() * ndtr(-x)
        }
    }

    /// I(v; lambda).
    fn convolved(&self, v: f64, lambda: f64) -> f64 {
        self.smoothed(v, lambda) - (-lambda * v).exp() * self.smoothed(0.0, lambda)
    }
}

impl Raw for Bach {
    fn value(&self, v: f64) -> f64 {
        self.lambdas.iter().map(|&l| self.convolved(v, l)).sum()
    }

    fn gradient(&self, v: f64, out: &mut [f64]) -> f64 {
        let (t0, sigma) = (self.t0, self.sigma);
        let variance = sigma * sigma;
        let (bell, first) = (self.bell(v), self.bell(0.0));
        out.fill(0.0);
        let mut value = 0.0;
        for (i, &l) in self.lambdas.iter().enumerate() {
            let integral = self.convolved(v, l);
            let faded = first * (-l * v).exp();
            let d = bell - faded - l * integral;
            out[0] -= d;
            out[1] += (integral - (v - t0) * bell - t0 * faded - l * variance * d) / sigma;
            out[2 + i] = -(v - t0) * integral - variance * d;
            value += integral;
        }
        value
    }

    fn slope(&self, v: f64) -> f64 {
        let bell = self.bell(v);
        self.lambdas.iter().map(|&l| bell - l * self.convolved(v, l)).sum()
    }

    fn square(&self) -> Option<(f64, Vec<f64>)> {
        None
    }

    fn breaks(&self, ends: (f64, f64)) -> Vec<f64> {
        // The bell varies over sigma; each exponential is spent 80 time constants behind the onset and behind the bell.
        let mut points: Vec<f64> = (-10..=10).map(|i| self.t0 + self.sigma * f64::from(i)).collect();
        let behind = self.t0 + 10.0 * self.sigma;
        for l in self.lambdas {
            points.extend((0..=40).map(|i| 2.0 / l * f64::from(i)));
            points.extend((0..=40).map(|i| behind + 2.0 / l * f64::from(i)));
        }
        between(points, ends)
    }
}
