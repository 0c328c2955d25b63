//! The Gaussian curve exp(-v^2 / (2 w^2)); its square integrates over six widths on both sides to sqrt(pi) w erf(6).

use super::raw::{Raw, between};
use super::support::GAUSSIAN_WIDTHS;
use crate::math::special::erf;

#[derive(Debug)]
pub(super) struct Gaussian {
    pub width: f64,
}

impl Raw for Gaussian {
    fn value(&self, v: f64) -> f64 {
        let x = v / self.width;
        (-0.5 * x * x).exp()
    }

    fn gradient(&self, v: f64, out: &mut [f64]) -> f64 {
        let x = v / self.width;
        let k = (-0.5 * x * x).exp();
        out[0] = k * x * x / self.width;
        k
    }

    fn slope(&self, v: f64) -> f64 {
        let x = v / self.width;
        -(-0.5 * x * x).exp() * x / self.width
    }

    fn square(&self) -> Option<(f64, Vec<f64>)> {
        let slope = std::f64::consts::PI.sqrt() * erf(GAUSSIAN_WIDTHS);
        Some((slope * self.width, vec![slope]))
    }

    fn breaks(&self, ends: (f64, f64)) -> Vec<f64> {
        let widths = GAUSSIAN_WIDTHS as i32;
        between((-widths..=widths).map(|i| self.width * f64::from(i)).collect(), ends)
    }
}
