//! The way from the start to where the posterior has its mass, by the No-U-Turn sampler.
//!
//! A path of unit speed walks every distance step by step, which to a posterior a thousand times narrower than the
//! distance takes thousands of steps. A Hamiltonian path gathers speed as it falls. So warm-up begins with No-U-Turn
//! transitions, whose metric is learnt in the same way, until their log density has ceased to rise.

use super::preconditioner::PreconditionerKind;
use super::settings::Settings;
use crate::graph::LogDensity;
use crate::infer::adapt::percent;
use crate::infer::nuts;
use crate::infer::start::StartError;
use rand_chacha::ChaCha8Rng;

/// Shortest warm-up that begins in this way.
const SHORTEST_WARMUP: usize = 100;
/// Largest part of warm-up that is spent on it, in percent.
const LARGEST_SHARE: usize = 20;
/// Rise of the mean log density from one block to the next, in units of sqrt(d), below which it counts as settled; it
/// spreads by sqrt(d / 2) around a normal.
const SETTLED: f64 = 0.5;

/// A No-U-Turn chain on its way down.
pub(super) struct Descent<'a> {
    pub chain: nuts::Chain<'a>,
    /// Transitions per block: a window of the metric.
    block: usize,
    longest: usize,
    /// Of the block in progress.
    sum: f64,
    divergences: usize,
    /// Mean log density of the block before.
    before: f64,
}

impl<'a> Descent<'a> {
    /// `None` where the warm-up is too short for it.
    pub fn new(
        density: &'a dyn LogDensity,
        start: &[f64],
        settings: &Settings,
        rng: ChaCha8Rng,
    ) -> Result<Option<Descent<'a>>, StartError> {
        if settings.warmup < SHORTEST_WARMUP {
            return Ok(None);
        }
        let (metric, block) = match settings.preconditioner {
            PreconditionerKind::Diagonal => (nuts::MetricKind::Diagonal, 10),
            PreconditionerKind::LowRank => (nuts::MetricKind::LowRank, 20),
        };
        let options = nuts::Settings {
            warmup: settings.warmup,
            draws: 0,
            metric,
            max_energy_error: settings.max_energy_error,
            ..nuts::Settings::default()
        };
        Ok(Some(Descent {
            chain: nuts::Chain::new(density, start, options, rng)?,
            block,
            longest: percent(settings.warmup, LARGEST_SHARE),
            sum: 0.0,
            divergences: 0,
            before: f64::NEG_INFINITY,
        }))
    }

    /// Makes one transition; true once the chain has arrived or no more transitions may be spent on it.
    pub fn step(&mut self) -> (nuts::Transition, bool) {
        let t = self.chain.step();
        self.sum += t.log_density;
        self.divergences += usize::from(t.divergence.is_some());
        let done = self.chain.completed();
        let mut arrived = done >= self.longest;
        if done.is_multiple_of(self.block) {
            let mean = self.sum / self.block as f64;
            let rise = mean - self.before;
            let dim = self.chain.position().len() as f64;
            arrived |= rise < SETTLED * dim.sqrt() && 2 * self.divergences < self.block;
            self.before = mean;
            self.sum = 0.0;
            self.divergences = 0;
        }
        (t, arrived)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::infer::test_densities::Gaussian;
    use rand::SeedableRng;

    fn arrival(density: &Gaussian, start: &[f64]) -> (usize, u32, f64) {
        let settings = Settings::default();
        let rng = ChaCha8Rng::seed_from_u64(1);
        let mut descent = Descent::new(density, start, &settings, rng).unwrap().unwrap();
        let mut gradients = 0;
        loop {
            let (t, arrived) = descent.step();
            gradients += t.leapfrogs;
            if arrived {
                return (descent.chain.completed(), gradients, t.log_density);
            }
        }
    }

    #[test]
    fn a_near_start_arrives_at_once_and_a_far_one_soon() {
        let (transitions, gradients, _) = arrival(&Gaussian::standard(10), &[1.0; 10]);
        assert!(transitions <= 40 && gradients < 400, "{transitions} {gradients}");
        // A thousand standard deviations away in one coordinate, two in the other.
        let (transitions, gradients, log_density) = arrival(&Gaussian::with_sds(&[1e-3, 1.0]), &[1.0, 2.0]);
        assert!(transitions <= 60 && gradients < 2000, "{transitions} {gradients}");
        assert!(log_density > -20.0, "{log_density}");
    }

    #[test]
    fn it_takes_no_more_than_its_share_of_warm_up() {
        // Nothing is ever accepted but the start: every transition diverges.
        let density = crate::infer::test_densities::Custom {
            dim: 2,
            function: |x: &[f64], g: &mut [f64]| {
                g.fill(1.0);
                Ok(if x == [0.5, 0.5] { 0.0 } else { f64::NEG_INFINITY })
            },
        };
        let settings = Settings { warmup: 200, ..Settings::default() };
        let rng = ChaCha8Rng::seed_from_u64(1);
        let mut descent = Descent::new(&density, &[0.5, 0.5], &settings, rng.clone()).unwrap().unwrap();
        while !descent.step().1 {}
        assert_eq!(descent.chain.completed(), 40);
        let short = Settings { warmup: SHORTEST_WARMUP - 1, ..settings };
        assert!(Descent::new(&density, &[0.5, 0.5], &short, rng).unwrap().is_none());
    }
}
