//! Adapts the mean trajectory length to the autocorrelation of the draws.
//!
//! A trajectory much shorter than the widest direction makes a random walk there, whose integrated autocorrelation time
//! tau falls with the square of the length. So L is multiplied by sqrt(tau / tau_0), where tau_0 is the time at
//! L = 1.3 sqrt(d) on N(0, I), the best length there: with the right preconditioner L stays, otherwise it grows until
//! tau has fallen to tau_0. tau is the mean over the slowest quarter of x_i and (x_i - mean)^2 over the coordinates.

use super::autocorrelation::integrated_time;

/// Fewest draws from which a length is tuned.
const FEWEST: usize = 50;
/// Most coordinates that are recorded; more are thinned evenly.
const MOST_COORDINATES: usize = 500;
/// tau_0, as estimated from 250 draws: 2.1 to 2.8 in 10, 2.8 to 3.7 in 100 and 3.0 to 3.7 in 1000 dimensions.
const REFERENCE_TIME: f64 = 3.2;
/// Largest change at once.
const LARGEST_CHANGE: f64 = 2.0;
/// Bounds of L / sqrt(d).
const RANGE: (f64, f64) = (FIRST, 16.0);
/// L / sqrt(d) before anything is known.
const FIRST: f64 = 1.3;

/// Draws of a stretch of warm-up, thinned in their coordinates.
#[derive(Debug)]
pub(super) struct LengthTuner {
    stride: usize,
    /// Coordinates recorded per draw.
    width: usize,
    draws: Vec<f64>,
}

/// L before anything is known, in units of the preconditioned space.
pub(super) fn first_length(dim: usize) -> f64 {
    FIRST * (dim as f64).sqrt()
}

impl LengthTuner {
    pub fn new(dim: usize) -> LengthTuner {
        let stride = dim.div_ceil(MOST_COORDINATES);
        LengthTuner { stride, width: dim.div_ceil(stride), draws: Vec::new() }
    }

    pub fn clear(&mut self) {
        self.draws.clear();
    }

    /// Adds a draw, length d.
    pub fn add(&mut self, position: &[f64]) {
        self.draws.extend(position.iter().step_by(self.stride));
    }

    /// The length to use after a stretch made with mean length `length` in `dim` coordinates; `None` with too few
    /// draws or none that moved.
    pub fn tuned(&self, length: f64, dim: usize) -> Option<f64> {
        let change = (self.slowest()? / REFERENCE_TIME).sqrt().clamp(LARGEST_CHANGE.recip(), LARGEST_CHANGE);
        let unit = (dim as f64).sqrt();
        Some((length * change).clamp(RANGE.0 * unit, RANGE.1 * unit))
    }

    /// tau: the mean over the slowest quarter of the recorded quantities.
    fn slowest(&self) -> Option<f64> {
        let n = self.draws.len() / self.width;
        if n < FEWEST {
            return None;
        }
        let mut times = Vec::with_capacity(2 * self.width);
        let mut series = vec![0.0; n];
        for i in 0..self.width {
            for (s, draw) in series.iter_mut().zip(self.draws.chunks_exact(self.width)) {
                *s = draw[i];
            }
            times.extend(integrated_time(&mut series));
            // The series is centred now.
            series.iter_mut().for_each(|s| *s *= *s);
            times.extend(integrated_time(&mut series));
        }
        if times.is_empty() {
            return None;
        }
        times.sort_by(|a, b| b.total_cmp(a));
        let quarter = times.len().div_ceil(4);
        Some(times[..quarter].iter().sum::<f64>() / quarter as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;
    use rand_distr::StandardNormal;

    /// `draws` of autoregressions with these coefficients.
    fn fed(coefficients: &[f64], draws: usize) -> LengthTuner {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut tuner = LengthTuner::new(coefficients.len());
        let mut x = vec![0.0; coefficients.len()];
        for _ in 0..draws {
            for (x, c) in x.iter_mut().zip(coefficients) {
                *x = c * *x + (1.0 - c * c).sqrt() * rng.sample::<f64, _>(StandardNormal);
            }
            tuner.add(&x);
        }
        tuner
    }

    #[test]
    fn tau_is_that_of_the_slowest_quarter() {
        // x has tau (1 + c) / (1 - c), x^2 has (1 + c^2) / (1 - c^2); the quarter of four times is the largest.
        let tau = fed(&[0.0, 0.9], 500_000).slowest().unwrap();
        assert!((tau / 19.0 - 1.0).abs() < 0.1, "{tau}");
        let tau = fed(&[0.9, 0.9, 0.0, 0.0], 500_000).slowest().unwrap();
        assert!((tau / 19.0 - 1.0).abs() < 0.1, "{tau}");
    }

    #[test]
    fn slow_draws_lengthen_and_fast_ones_shorten_within_bounds() {
        let unit = 2.0f64.sqrt();
        let slow = fed(&[0.99, 0.99], 4000);
        assert_eq!(slow.tuned(2.0 * unit, 2), Some(4.0 * unit));
        assert_eq!(slow.tuned(12.0 * unit, 2), Some(16.0 * unit));
        let fast = fed(&[0.0, 0.0], 4000);
        let length = fast.tuned(6.0 * unit, 2).unwrap();
        assert!((length / (6.0 * unit / REFERENCE_TIME.sqrt()) - 1.0).abs() < 0.1);
        assert_eq!(fast.tuned(1.3 * unit, 2), Some(1.3 * unit));
    }

    #[test]
    fn too_few_or_stuck_draws_say_nothing() {
        assert_eq!(fed(&[0.0, 0.0], FEWEST - 1).tuned(1.0, 2), None);
        let mut stuck = LengthTuner::new(2);
        (0..200).for_each(|_| stuck.add(&[1.0, 2.0]));
        assert_eq!(stuck.tuned(1.0, 2), None);
        let mut cleared = fed(&[0.0, 0.0], 200);
        cleared.clear();
        assert_eq!(cleared.tuned(1.0, 2), None);
    }

    #[test]
    fn many_coordinates_are_thinned() {
        for dim in [1, 499, 500, 501, 1000, 1001, 7000] {
            let mut tuner = LengthTuner::new(dim);
            tuner.add(&vec![1.0; dim]);
            assert_eq!(tuner.draws.len(), tuner.width);
            assert!(tuner.width <= MOST_COORDINATES && (dim > MOST_COORDINATES || tuner.width == dim));
        }
    }
}
