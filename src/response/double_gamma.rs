//! One gamma density less `ratio` times another, the canonical haemodynamic response (Friston et al. 1998).

use super::gamma::Gamma;
use super::raw::{Raw, between};

/// Below this share of the peak's own square integral the three terms of the closed form cancel too many digits.
const CANCELLED: f64 = 1e-4;

#[derive(Debug)]
pub(super) struct DoubleGamma {
    pub peak: Gamma,
    pub undershoot: Gamma,
    pub ratio: f64,
}

impl Raw for DoubleGamma {
    fn value(&self, v: f64) -> f64 {
        self.peak.value(v) - self.ratio * self.undershoot.value(v)
    }

    fn gradient(&self, v: f64, out: &mut [f64]) -> f64 {
        let peak = self.peak.gradient(v, &mut out[..2]);
        let undershoot = self.undershoot.gradient(v, &mut out[2..4]);
        out[2] *= -self.ratio;
        out[3] *= -self.ratio;
        out[4] = -undershoot;
        peak - self.ratio * undershoot
    }

    fn slope(&self, v: f64) -> f64 {
        self.peak.slope(v) - self.ratio * self.undershoot.slope(v)
    }

    fn square(&self) -> Option<(f64, Vec<f64>)> {
        let r = self.ratio;
        let (a, da) = self.peak.product(&self.peak);
        let (c, dc) = self.undershoot.product(&self.undershoot);
        let (b, by_peak) = self.peak.product(&self.undershoot);
        let (_, by_undershoot) = self.undershoot.product(&self.peak);
        let value = a - 2.0 * r * b + r * r * c;
        let peak = |i: usize| 2.0 * (da[i] - r * by_peak[i]);
        let undershoot = |i: usize| 2.0 * r * (r * dc[i] - by_undershoot[i]);
        let gradient = vec![peak(0), peak(1), undershoot(0), undershoot(1), 2.0 * (r * c - b)];
        (value > CANCELLED * a).then_some((value, gradient))
    }

    fn breaks(&self, ends: (f64, f64)) -> Vec<f64> {
        let mut points = self.peak.landmarks();
        points.extend(self.undershoot.landmarks());
        between(points, ends)
    }
}
