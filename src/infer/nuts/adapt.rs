//! The first step size, and the metric that a warm-up learns.

use super::hamiltonian::{Hamiltonian, Point};
use super::metric::{Metric, MetricKind};
use crate::infer::adapt::{FEWEST, MAX_STEP, MIN_STEP, MOST_DRAWS, Recent, Scales};
use rand_chacha::ChaCha8Rng;

/// Most draws that a dense metric rests on.
const MOST_DENSE_DRAWS: usize = 1000;

/// The draws of the windows of a warm-up with their gradients, as a metric of some kind needs them.
#[derive(Debug)]
pub(in crate::infer) struct Learner {
    kind: MetricKind,
    pub scales: Scales,
    /// Draws for directions, of a metric that has them.
    pub recent: Option<Recent>,
    /// Whether a window has ended; until then a metric with directions learns its scales draw by draw.
    directed: bool,
}

/// What became of the metric after a draw.
#[derive(Debug, PartialEq)]
pub(in crate::infer) enum Learnt {
    /// It stays.
    Nothing,
    /// A new one that differs little from the one before.
    Refined(Metric),
    /// A new one that asks for another step size.
    Renewed(Metric),
    /// The new one was unusable.
    Failed,
}

impl Learner {
    pub fn new(kind: MetricKind, dim: usize) -> Learner {
        let recent = match kind {
            MetricKind::Diagonal => None,
            MetricKind::LowRank => Some(Recent::new(MOST_DRAWS)),
            MetricKind::Dense => Some(Recent::new(MOST_DENSE_DRAWS)),
        };
        Learner { kind, scales: Scales::new(dim), recent, directed: false }
    }

    /// Width of the first windows: directions need more draws than scales, all directions as many as there are.
    pub fn early_window(kind: MetricKind, dim: usize) -> usize {
        match kind {
            MetricKind::Diagonal => 10,
            MetricKind::LowRank => 20,
            MetricKind::Dense => dim.max(20),
        }
    }

    /// Takes in a draw and its gradient, both of length d.
    pub fn add(&mut self, draw: &[f64], gradient: &[f64]) {
        self.scales.add(draw, gradient);
        if let Some(recent) = &mut self.recent {
            recent.add(draw, gradient);
        }
    }

    /// The metric after the latest draw, with which a window may have ended; `scales` (length d) are those so far.
    pub fn learn(&mut self, ends_window: bool, scales: &mut [f64]) -> Learnt {
        let Some(recent) = &mut self.recent else {
            if ends_window {
                self.scales.end_window();
            }
            return self.rescale(scales);
        };
        if !ends_window {
            return if self.directed { Learnt::Nothing } else { self.rescale(scales) };
        }
        self.directed = true;
        self.scales.write(scales);
        let directions =
            if self.kind == MetricKind::Dense { recent.full_rank(scales) } else { recent.low_rank(scales) };
        self.scales.end_window();
        recent.end_window();
        let metric = match directions {
            None => return Learnt::Nothing,
            Some(Err(_)) => return Learnt::Failed,
            Some(Ok(directions)) if self.kind == MetricKind::Dense => {
                Metric::dense(directions.covariance(scales), scales.len())
            }
            Some(Ok(directions)) => Metric::low_rank(scales.to_vec(), directions),
        };
        metric.map_or(Learnt::Failed, Learnt::Renewed)
    }

    /// The metric of the scales so far alone, where one is due; it is diagonal, which is cheap to renew.
    fn rescale(&self, scales: &mut [f64]) -> Learnt {
        if !self.scales.is_due() || self.scales.count() < FEWEST {
            return Learnt::Nothing;
        }
        self.scales.write(scales);
        match Metric::scaled(MetricKind::Diagonal, scales) {
            Ok(metric) if self.scales.count() == FEWEST => Learnt::Renewed(metric),
            Ok(metric) => Learnt::Refined(metric),
            Err(_) => Learnt::Failed,
        }
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
    use super::*;
    use crate::graph::LogDensity;
    use crate::infer::test_densities::Gaussian;
    use rand::SeedableRng;

    /// Draws of a correlated pair on two very different scales.
    fn taught(kind: MetricKind, draws: usize) -> (Learner, Vec<f64>) {
        let mut learner = Learner::new(kind, 2);
        let mut scales = vec![1.0; 2];
        for k in 0..draws {
            let (a, b) = ((1.7 * k as f64).sin(), (0.9 * k as f64).cos());
            let x = [1e-3 * a, 1e3 * (0.9 * a + 0.4 * b)];
            // The gradient of the normal with x = (1e-3 a, 1e3 (0.9 a + 0.4 b)), a and b of variance 1/2.
            let (u, v) = (2.0 * a, 2.0 * b);
            let g = [-1e3 * (u - 0.9 / 0.4 * v), -1e-3 * v / 0.4];
            learner.add(&x, &g);
            if k + 1 < draws {
                learner.learn(false, &mut scales);
            }
        }
        (learner, scales)
    }

    #[test]
    fn a_dense_metric_sees_the_correlation_on_any_scale() {
        for kind in [MetricKind::Dense, MetricKind::LowRank] {
            let (mut learner, mut scales) = taught(kind, 40);
            let Learnt::Renewed(metric) = learner.learn(true, &mut scales) else { panic!("{kind:?}") };
            // W applied to unit momenta in units of the scales.
            let mut column = [0.0; 2];
            metric.velocity(&[1e3, 0.0], &mut column);
            let (var, cov) = (column[0] * 1e3, column[1] * 1e-3);
            assert!((var - 0.5).abs() < 0.05 && (cov - 0.45).abs() < 0.05, "{kind:?}: {var} {cov}");
            assert_eq!(learner.learn(false, &mut scales), Learnt::Nothing);
        }
    }

    #[test]
    fn a_diagonal_metric_is_renewed_at_its_third_draw_and_refined_later() {
        let (mut learner, mut scales) = taught(MetricKind::Diagonal, 3);
        assert!(matches!(learner.learn(false, &mut scales), Learnt::Renewed(_)));
        let (mut learner, mut scales) = taught(MetricKind::Diagonal, 4);
        assert!(matches!(learner.learn(true, &mut scales), Learnt::Refined(_)));
        let (mut learner, mut scales) = taught(MetricKind::Diagonal, 2);
        assert_eq!(learner.learn(false, &mut scales), Learnt::Nothing);
        assert_eq!(scales, [1.0; 2]);
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
