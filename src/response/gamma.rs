//! The gamma density v^(a-1) exp(-v/s) / (Gamma(a) s^a), and the integral of a product of two of them.
//!
//! The integral of g(v; n, s) g(v; m, t) over all v > 0 is Gamma(n+m-1) / (Gamma(n) Gamma(m)) s^-n t^-m
//! (1/s + 1/t)^-(n+m-1). What a cut at the 0.99999999 quantile takes away is a product of two tails, less than 1e-15 of
//! the whole, and left in.

use super::raw::{Raw, between};
use super::support::gamma_end;
use crate::math::special::{digamma, ln_gamma};

#[derive(Debug)]
pub(super) struct Gamma {
    shape: f64,
    scale: f64,
    /// ln(Gamma(a) s^a).
    log_normaliser: f64,
    /// psi(a) + ln s, the mean of ln v.
    mean_log: f64,
}

impl Gamma {
    pub fn new(shape: f64, scale: f64) -> Self {
        Gamma {
            shape,
            scale,
            log_normaliser: ln_gamma(shape) + shape * scale.ln(),
            mean_log: digamma(shape) + scale.ln(),
        }
    }

    /// Points between which the density and its derivatives are smooth on the scale of the distance between them.
    pub fn landmarks(&self) -> Vec<f64> {
        let (a, s) = (self.shape, self.scale);
        // Towards the onset v^(a-1) and ln v call for ever shorter panels, until the rest weighs 2^-44.
        let halvings = (44.0 / a).ceil() as i32;
        let mut points: Vec<f64> = (0..halvings).map(|i| 2.0 * s * 0.5f64.powi(i)).collect();
        let step = s * a.sqrt().max(2.0);
        // Thirteen panels behind its own cut nothing is left of the density that a longer second one could show.
        let count = ((s * gamma_end(a) - 2.0 * s) / step).ceil().max(0.0) as usize + 13;
        points.extend((1..=count).map(|i| 2.0 * s + step * i as f64));
        points
    }

    /// Integral of the product of two densities, and its derivatives in the shape and scale of the first.
    pub fn product(&self, other: &Gamma) -> (f64, [f64; 2]) {
        let (n, s, m, t) = (self.shape, self.scale, other.shape, other.scale);
        let (power, rate) = (n + m - 1.0, 1.0 / s + 1.0 / t);
        let value = (ln_gamma(power) - self.log_normaliser - other.log_normaliser - power * rate.ln()).exp();
        let in_shape = digamma(power) - self.mean_log - rate.ln();
        let in_scale = (power * t / (s + t) - n) / s;
        (value, [value * in_shape, value * in_scale])
    }
}

impl Raw for Gamma {
    fn value(&self, v: f64) -> f64 {
        if v == 0.0 {
            return if self.shape == 1.0 { 1.0 / self.scale } else { 0.0 };
        }
        ((self.shape - 1.0) * v.ln() - v / self.scale - self.log_normaliser).exp()
    }

    fn gradient(&self, v: f64, out: &mut [f64]) -> f64 {
        let k = self.value(v);
        // At the onset the product tends to 0, except for shape 1, whose derivative there is minus infinity.
        out[0] = if v == 0.0 && self.shape > 1.0 { 0.0 } else { k * (v.ln() - self.mean_log) };
        out[1] = k * (v / self.scale - self.shape) / self.scale;
        k
    }

    fn slope(&self, v: f64) -> f64 {
        let (a, s) = (self.shape, self.scale);
        if a == 1.0 {
            return -self.value(v) / s;
        }
        let falling = self.value(v) / s;
        let rising = (a - 1.0) * ((a - 2.0) * if a == 2.0 { 0.0 } else { v.ln() } - v / s - self.log_normaliser).exp();
        rising - falling
    }

    fn square(&self) -> Option<(f64, Vec<f64>)> {
        let (value, [shape, scale]) = self.product(self);
        Some((value, vec![2.0 * shape, 2.0 * scale]))
    }

    fn breaks(&self, ends: (f64, f64)) -> Vec<f64> {
        between(self.landmarks(), ends)
    }
}
