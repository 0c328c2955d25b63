//! Scales of the coordinates from draws and their gradients.
//!
//! F = sqrt(Var x_i / Var g_i) minimises the Fisher divergence between the posterior and a normal of independent
//! coordinates, for which two draws make it exact. Of a skewed coordinate it sees the steep side; there Var x_i = r F,
//! r = sqrt(Var x_i Var g_i), is the width itself, but as noisy as n draws make it, and far too large while the chain is
//! still on its way from its start. So sigma_i^2 = F min(r, 4)^w with w = n / (n + 80). Of two estimators the older is in
//! use and is replaced by the younger at the end of each window, so that it always rests on one to two windows.

use super::welford::Welford;

/// Draws before the first scale.
pub(in crate::infer) const FEWEST: f64 = 3.0;
/// From this many draws on only every tenth renews the scales, which costs more than a cheap gradient.
const SETTLED: f64 = 20.0;
/// Draws at which both estimates have equal weight. Without any weight on Var x eight schools loses 10 %, with equal
/// weight at 20 draws N(0, I_10) does.
const EQUAL_WEIGHT: f64 = 80.0;
/// Largest r, beyond which the variance is not believed.
const LARGEST_RATIO: f64 = 4.0;
/// Largest and smallest scale that is believed.
const RANGE: (f64, f64) = (1e-100, 1e100);

#[derive(Debug)]
struct Pair {
    draws: Welford,
    gradients: Welford,
}

impl Pair {
    fn new(dim: usize) -> Pair {
        Pair { draws: Welford::new(dim), gradients: Welford::new(dim) }
    }

    fn add(&mut self, draw: &[f64], gradient: &[f64]) {
        self.draws.add(draw);
        self.gradients.add(gradient);
    }
}

/// The two estimators.
#[derive(Debug)]
pub(in crate::infer) struct Scales {
    older: Pair,
    younger: Pair,
}

impl Scales {
    pub fn new(dim: usize) -> Scales {
        Scales { older: Pair::new(dim), younger: Pair::new(dim) }
    }

    /// Adds a draw and the gradient there, both of length d.
    pub fn add(&mut self, draw: &[f64], gradient: &[f64]) {
        self.older.add(draw, gradient);
        self.younger.add(draw, gradient);
    }

    /// Ends a window: what was seen before it is forgotten.
    pub fn end_window(&mut self) {
        std::mem::swap(&mut self.older, &mut self.younger);
        self.younger.draws.clear();
        self.younger.gradients.clear();
    }

    /// Draws that the scales in use rest on.
    pub fn count(&self) -> f64 {
        self.older.draws.count()
    }

    /// Whether the latest draw changes the scales enough to renew them.
    pub fn is_due(&self) -> bool {
        let n = self.older.draws.count();
        n <= SETTLED || n % 10.0 == 0.0
    }

    /// Overwrites `scales` (length d) with sigma, once there are draws enough; a coordinate without a usable estimate
    /// keeps its scale.
    pub fn write(&self, scales: &mut [f64]) {
        if self.older.draws.count() < FEWEST {
            return;
        }
        let n = self.older.draws.count();
        let weight = n / (n + EQUAL_WEIGHT);
        for ((s, x), g) in scales.iter_mut().zip(self.older.draws.squares()).zip(self.older.gradients.squares()) {
            let ratio = (x * g).sqrt() / (n - 1.0);
            let sigma = ((x / g).sqrt() * ratio.min(LARGEST_RATIO).powf(weight)).sqrt();
            if sigma >= RANGE.0 && sigma <= RANGE.1 {
                *s = sigma;
            }
        }
    }
}

/// Scales before the first draws: |g_i|^(-1/2), as if the start were one standard deviation of a standard normal away
/// from the mode whatever the unit; 1 where that is not usable.
pub(in crate::infer) fn first_scales(gradient: &[f64]) -> Vec<f64> {
    let scale = |g: &f64| Some(g.abs().sqrt().recip()).filter(|s| *s >= RANGE.0 && *s <= RANGE.1).unwrap_or(1.0);
    gradient.iter().map(scale).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three draws of a normal, 0, 1 and 4 standard deviations away: r = 13/3 is cut at 4 and has a weight of 3/83.
    #[test]
    fn few_draws_are_read_through_their_gradients() {
        let sds = [1e-3, 1.0, 50.0];
        let mut scales = Scales::new(3);
        let mut out = [7.0; 3];
        for k in 0..3 {
            scales.write(&mut out);
            assert_eq!(out, [7.0; 3]);
            let x: Vec<f64> = sds.iter().map(|s| 3.0 + s * f64::from(k * k)).collect();
            let g: Vec<f64> = x.iter().zip(sds).map(|(x, s)| -(x - 3.0) / (s * s)).collect();
            scales.add(&x, &g);
        }
        scales.write(&mut out);
        let factor = 4.0f64.powf(0.5 * 3.0 / 83.0);
        assert!(out.iter().zip(sds).all(|(a, b)| (a / b / factor - 1.0).abs() < 1e-9), "{out:?}");
    }

    /// Many draws of a law that its gradients make too narrow are read by their variance, unless that is absurd.
    #[test]
    fn many_draws_are_read_by_their_variance() {
        for (slope, expected) in [(0.9, 10.0 / 12.0f64.sqrt()), (1e3, (10.0 / 12.0f64.sqrt() / 1e3 * 4.0).sqrt())] {
            let mut scales = Scales::new(1);
            let n = 20_000;
            for k in 0..n {
                let x = 10.0 * f64::from(k) / f64::from(n);
                scales.add(&[x], &[if k % 2 == 0 { slope } else { -slope }]);
            }
            let mut out = [0.0];
            scales.write(&mut out);
            assert!((out[0] / expected - 1.0).abs() < 0.02, "{slope}: {out:?}");
        }
    }

    #[test]
    fn windows_forget_and_unusable_coordinates_keep_their_scale() {
        let mut scales = Scales::new(2);
        let mut out = [7.0; 2];
        for k in 0..5 {
            scales.add(&[1e4 * f64::from(k), 1.0], &[f64::from(k), 2.0]);
        }
        scales.end_window();
        // The younger estimator had seen the same draws and is in use now.
        scales.write(&mut out);
        // r = 2.5e4 in the first coordinate.
        let weight = 5.0 / 85.0;
        let cut = 4.0f64.powf(0.5 * weight);
        assert!((out[0] / (100.0 * cut) - 1.0).abs() < 1e-12 && out[1] == 7.0);
        for k in 0..5 {
            scales.add(&[f64::from(k), 1.0], &[f64::from(k), 2.0]);
        }
        scales.end_window();
        scales.write(&mut out);
        assert!((out[0] / 2.5f64.powf(0.5 * weight) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn first_scales_follow_the_unit_and_are_usable() {
        assert_eq!(first_scales(&[-4.0, 0.0, 1e-300, f64::NAN]), [0.5, 1.0, 1.0, 1.0]);
    }
}
