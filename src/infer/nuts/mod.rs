//! The No-U-Turn sampler with warm-up: one pure step at a time.
//!
//! [`Chain::step`] makes one transition and says everything about it; the caller keeps draws, clocks and files.
//! The parts: `metric` (inverse mass), `hamiltonian` (leapfrog), `pool` and `tree` (one transition), `adapt` (warm-up).
//!
//! The metric is learnt from draws and their gradients, which tell the scale of a normal after two draws where the draws
//! alone need hundreds; it starts from the gradient at the start.

mod adapt;
mod hamiltonian;
mod metric;
mod pool;
mod tree;

#[cfg(test)]
mod moment_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod twin;

pub use super::adapt::{MAX_STEP, MIN_STEP};
pub use super::start::StartError;
pub use super::transition::{Divergence, Phase, WarmupFaults};
pub use metric::{Metric, MetricError, MetricKind};

use super::adapt::{DualAveraging, Windows, first_scales};
use super::start::{check_energy_limit, check_start, check_target, check_value};
use crate::graph::LogDensity;
use adapt::{Learner, Learnt, search_step};
use hamiltonian::{Hamiltonian, Point};
use rand_chacha::ChaCha8Rng;
use tree::{Limits, Outcome, Tree};

/// What a chain is to do.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Transitions that adapt step size and metric and are not draws.
    pub warmup: usize,
    /// Transitions after warm-up.
    pub draws: usize,
    /// Mean acceptance that the step size is adapted to, between 0 and 1.
    pub target_accept: f64,
    /// Most doublings of a trajectory, 1 to 20: at most 2^max_depth - 1 leapfrogs.
    pub max_depth: u32,
    pub metric: MetricKind,
    /// Energy error beyond which a point counts as a divergence, finite.
    pub max_energy_error: f64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            warmup: 1000,
            draws: 1000,
            target_accept: 0.8,
            max_depth: 10,
            metric: MetricKind::Diagonal,
            max_energy_error: 1000.0,
        }
    }
}

/// Everything about one transition except the new position, which is [`Chain::position`].
#[derive(Debug, Clone, PartialEq)]
pub struct Transition {
    pub phase: Phase,
    /// Log density at the new position.
    pub log_density: f64,
    /// Total energy at the start, after the momentum was refreshed (for BFMI).
    pub energy: f64,
    /// Mean over the points visited of min(1, exp(-energy error)).
    pub acceptance: f64,
    /// Completed doublings.
    pub depth: u32,
    /// Gradients evaluated since the last transition: leapfrogs, and those of the start and of step size searches.
    pub leapfrogs: u32,
    pub divergence: Option<Divergence>,
    /// The trajectory ended at `max_depth` before it turned.
    pub max_depth_reached: bool,
    /// Step size of this transition.
    pub step_size: f64,
}

/// One Markov chain. The same density, start, settings and generator give the same draws.
pub struct Chain<'a> {
    hamiltonian: Hamiltonian<'a>,
    tree: Tree,
    rng: ChaCha8Rng,
    settings: Settings,
    windows: Windows,
    averaging: DualAveraging,
    learner: Learner,
    scales: Vec<f64>,
    step_size: f64,
    completed: usize,
    faults: WarmupFaults,
}

impl<'a> Chain<'a> {
    /// A chain at `start` (length d), with a metric from the gradient there and a first step size found by doubling.
    pub fn new(
        density: &'a dyn LogDensity,
        start: &[f64],
        settings: Settings,
        rng: ChaCha8Rng,
    ) -> Result<Chain<'a>, StartError> {
        check(&settings)?;
        let dim = density.dim();
        check_start(dim, start)?;
        let kind = settings.metric;
        let mut hamiltonian = Hamiltonian::new(density.evaluator(), Metric::identity(kind, dim));
        let mut point = Point::blank(dim);
        point.position.copy_from_slice(start);
        hamiltonian.evaluate(&mut point)?;
        check_value(point.log_density, &point.gradient)?;
        let mut faults = WarmupFaults::default();
        let scales = first_scales(&point.gradient);
        match Metric::scaled(kind, &scales) {
            Ok(metric) => hamiltonian.metric = metric,
            Err(_) => faults.metric_failures += 1,
        }
        let mut chain = Chain {
            hamiltonian,
            tree: Tree::new(point),
            rng,
            windows: Windows::new(settings.warmup, Learner::early_window(kind, dim)),
            averaging: DualAveraging::new(settings.target_accept, 1.0),
            learner: Learner::new(kind, dim),
            scales,
            step_size: 1.0,
            completed: 0,
            faults,
            settings,
        };
        chain.search_step_size();
        Ok(chain)
    }

    /// Makes one transition. During warm-up it also adapts; after [`Chain::is_finished`] it goes on drawing.
    pub fn step(&mut self) -> Transition {
        let warmup = self.is_warmup();
        let step_size = self.step_size;
        let limits = Limits { max_depth: self.settings.max_depth, max_energy_error: self.settings.max_energy_error };
        let outcome = self.tree.transition(&mut self.hamiltonian, step_size, limits, &mut self.rng);
        let log_density = self.tree.current().log_density;
        if warmup {
            self.adapt(&outcome);
        }
        self.completed += 1;
        Transition {
            phase: if warmup { Phase::Warmup } else { Phase::Sampling },
            log_density,
            energy: outcome.energy,
            acceptance: outcome.acceptance,
            depth: outcome.depth,
            leapfrogs: self.hamiltonian.take_evaluations(),
            divergence: outcome.divergence,
            max_depth_reached: outcome.max_depth_reached,
            step_size,
        }
    }

    /// Whether the next transition belongs to warm-up.
    pub fn is_warmup(&self) -> bool {
        self.completed < self.settings.warmup
    }

    /// Whether all transitions of the settings have been made.
    pub fn is_finished(&self) -> bool {
        self.completed >= self.settings.warmup.saturating_add(self.settings.draws)
    }

    /// Transitions made so far, warm-up included.
    pub fn completed(&self) -> usize {
        self.completed
    }

    /// The current position, length d.
    pub fn position(&self) -> &[f64] {
        &self.tree.current().position
    }

    /// Log density at the current position.
    pub fn log_density(&self) -> f64 {
        self.tree.current().log_density
    }

    /// Step size of the next transition.
    pub fn step_size(&self) -> f64 {
        self.step_size
    }

    /// Metric of the next transition.
    pub fn metric(&self) -> &Metric {
        &self.hamiltonian.metric
    }

    /// What went wrong during warm-up so far.
    pub fn warmup_faults(&self) -> WarmupFaults {
        self.faults
    }

    /// What has been learnt, for a sampler that takes over at the current position.
    pub(super) fn hand_over(self) -> HandOver {
        let Chain { tree, learner, scales, .. } = self;
        HandOver { gradient: tree.current().gradient.clone(), learner, scales }
    }

    fn adapt(&mut self, outcome: &Outcome) {
        self.faults.count_divergence(outcome.divergence.is_some());
        let iteration = self.completed;
        let proposed = self.averaging.update(outcome.symmetric_acceptance);
        self.set_step_size(proposed);
        if self.windows.teaches(iteration) {
            if outcome.moved {
                let point = self.tree.current();
                self.learner.add(&point.position, &point.gradient);
            }
            match self.learner.learn(self.windows.ends_window(iteration), &mut self.scales) {
                Learnt::Nothing => {}
                Learnt::Refined(metric) => self.hamiltonian.metric = metric,
                Learnt::Renewed(metric) => {
                    self.hamiltonian.metric = metric;
                    self.search_step_size();
                }
                Learnt::Failed => self.faults.metric_failures += 1,
            }
            if self.windows.ends_early(iteration) || self.windows.ends_teaching(iteration) {
                self.averaging = DualAveraging::around(self.settings.target_accept, self.step_size);
            }
        }
        if iteration + 1 == self.settings.warmup {
            let averaged = self.averaging.averaged();
            self.set_step_size(averaged);
        }
    }

    fn search_step_size(&mut self) {
        let (current, scratch) = self.tree.current_and_scratch();
        let found = search_step(&mut self.hamiltonian, current, scratch, self.step_size, &mut self.rng);
        self.set_step_size(found);
        self.averaging.restart(self.step_size);
    }

    fn set_step_size(&mut self, step: f64) {
        self.step_size = self.faults.clamp_step(step);
    }
}

/// What a chain leaves to a sampler that takes over at its position.
pub(super) struct HandOver {
    /// At the current position, length d.
    pub gradient: Vec<f64>,
    pub learner: Learner,
    /// Scales of the coordinates as far as they are known, length d.
    pub scales: Vec<f64>,
}

fn check(settings: &Settings) -> Result<(), StartError> {
    let Settings { target_accept, max_depth, max_energy_error, .. } = *settings;
    check_target(target_accept)?;
    if !(1..=20).contains(&max_depth) {
        return Err(StartError::Setting { name: "max_depth", value: f64::from(max_depth), range: "1 to 20" });
    }
    check_energy_limit(max_energy_error)
}
