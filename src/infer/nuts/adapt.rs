//! The first step size and the schedule of a warm-up.
//!
//! Windows as in Stan: 75 iterations of step size only, then 25, 50, 100, ... iterations at whose ends
//! the metric is renewed, then 50 of step size only; 15, 75 and 10 % when the warm-up is shorter than 150.

use super::hamiltonian::{Hamiltonian, Point};
use crate::infer::adapt::{MAX_STEP, MIN_STEP};
use rand_chacha::ChaCha8Rng;

/// Which warm-up iterations feed the metric, and after which it is renewed; counted from zero.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Schedule {
    slow_start: usize,
    /// One past the last iteration of each window, increasing.
    window_ends: Vec<usize>,
}

impl Schedule {
    /// Below 20 iterations there is no window: the metric stays as it is.
    pub fn new(warmup: usize) -> Schedule {
        if warmup < 20 {
            return Schedule { slow_start: warmup, window_ends: Vec::new() };
        }
        let (slow_start, mut size, slow_end) = if warmup < 75 + 25 + 50 {
            let (start, end) = (15 * warmup / 100, warmup - warmup / 10);
            (start, end - start, end)
        } else {
            (75, 25, warmup - 50)
        };
        let mut window_ends = Vec::new();
        let mut end = slow_start;
        while end < slow_end {
            end += size;
            size *= 2;
            // The last window takes what would not fill the next one.
            if end + size > slow_end {
                end = slow_end;
            }
            window_ends.push(end);
        }
        Schedule { slow_start, window_ends }
    }

    /// Whether the draw of this iteration enters the metric.
    pub fn collects(&self, iteration: usize) -> bool {
        iteration >= self.slow_start && self.window_ends.last().is_some_and(|&end| iteration < end)
    }

    /// Whether the metric is renewed after this iteration.
    pub fn ends_window(&self, iteration: usize) -> bool {
        self.window_ends.contains(&(iteration + 1))
    }
}

/// Doubles or halves `step` from `start` until the acceptance of a single leapfrog crosses 0.8, with a fresh momentum
/// for each try, and returns the first step beyond; it stays within [`MIN_STEP`] and [`MAX_STEP`].
pub(super) fn search_step(
    h: &mut Hamiltonian,
    start: &mut Point,
    scratch: &mut Point,
    step: f64,
    rng: &mut ChaCha8Rng,
) -> f64 {
    let mut accepts = |step: f64| {
        h.refresh(start, rng);
        // A NaN energy compares false: not accepted.
        h.leapfrog(start, scratch, step).is_ok() && start.energy - scratch.energy > f64::ln(0.8)
    };
    let mut step = step.clamp(MIN_STEP, MAX_STEP);
    let grows = accepts(step);
    loop {
        step = if grows { 2.0 * step } else { 0.5 * step };
        if !(MIN_STEP..=MAX_STEP).contains(&step) {
            return step.clamp(MIN_STEP, MAX_STEP);
        }
        if accepts(step) != grows {
            return step;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::metric::{Metric, MetricKind};
    use super::*;
    use crate::graph::LogDensity;
    use crate::infer::test_densities::Gaussian;
    use rand::SeedableRng;

    #[test]
    fn windows_are_those_of_stan() {
        let ends = |n| Schedule::new(n).window_ends;
        assert_eq!(ends(1000), [100, 150, 250, 450, 950]);
        assert_eq!(ends(2000), [100, 150, 250, 450, 850, 1950]);
        assert_eq!(ends(150), [100]);
        assert_eq!(ends(151), [101]);
        assert_eq!(ends(200), [100, 150]);
        assert_eq!(ends(100), [90]);
        assert_eq!(Schedule::new(100).slow_start, 15);
        assert_eq!(ends(20), [18]);
        assert!(ends(19).is_empty());
        assert!(ends(0).is_empty());
    }

    #[test]
    fn every_window_lies_inside_the_warmup() {
        for warmup in 0..1200 {
            let s = Schedule::new(warmup);
            let slow: Vec<usize> = (0..warmup).filter(|&i| s.collects(i)).collect();
            let renewed = (0..warmup).filter(|&i| s.ends_window(i)).count();
            assert_eq!(renewed, s.window_ends.len());
            assert!(s.window_ends.is_sorted_by(|a, b| a < b));
            if warmup >= 20 {
                assert_eq!(slow.first(), Some(&s.slow_start));
                assert_eq!(slow.len(), s.window_ends[s.window_ends.len() - 1] - s.slow_start);
                assert!(s.ends_window(slow[slow.len() - 1]));
            }
        }
    }

    #[test]
    fn search_crosses_the_threshold_from_both_sides() {
        for sd in [1e-6, 1.0, 1e5] {
            let density = Gaussian::with_sds(&[sd; 3]);
            let mut h = Hamiltonian::new(density.evaluator(), Metric::identity(MetricKind::Diagonal, 3));
            let (mut start, mut scratch) = (Point::blank(3), Point::blank(3));
            start.position.fill(0.5 * sd);
            h.evaluate(&mut start).unwrap();
            let mut rng = ChaCha8Rng::seed_from_u64(1);
            let step = search_step(&mut h, &mut start, &mut scratch, 1.0, &mut rng);
            // One leapfrog on a normal is unstable beyond 2 sd; a useful step is of the order of sd.
            assert!(step > 0.2 * sd && step < 8.0 * sd, "{step} for sd {sd}");
        }
    }
}
