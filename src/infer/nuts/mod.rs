//! The No-U-Turn sampler with warm-up: one pure step at a time.
//!
//! [`Chain::step`] makes one transition and says everything about it; the caller keeps draws, clocks and files.
//! The parts: `metric` (inverse mass), `hamiltonian` (leapfrog), `pool` and `tree` (one transition), `adapt` and
//! `welford` (warm-up).

mod adapt;
mod hamiltonian;
mod metric;
mod pool;
mod tree;
mod welford;

#[cfg(test)]
mod moment_tests;
#[cfg(test)]
mod test_densities;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod twin;

pub use adapt::{MAX_STEP, MIN_STEP};
pub use metric::{Metric, MetricError, MetricKind};

use crate::graph::{LogDensity, Rejection};
use adapt::{DualAveraging, Schedule, search_step};
use hamiltonian::{Hamiltonian, Point};
use rand_chacha::ChaCha8Rng;
use tree::{Limits, Tree};
use welford::Welford;

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

/// Why a chain cannot start.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum StartError {
    /// The density has no coordinates.
    #[error("there is nothing to sample: the log density has no coordinates")]
    NoCoordinates,
    /// The starting point has another length than the density.
    #[error("the starting point has {found} coordinates, the log density has {expected}")]
    Length { expected: usize, found: usize },
    /// A coordinate of the starting point is NaN or infinite.
    #[error("coordinate {index} of the starting point is {value}")]
    Coordinate { index: usize, value: f64 },
    /// The log density at the starting point is `-inf`.
    #[error("the starting point lies outside the support: its log density is -inf")]
    OutsideSupport,
    /// The density rejects the starting point.
    #[error("the log density cannot be evaluated at the starting point: {0}")]
    Rejected(#[from] Rejection),
    /// A setting is out of its range.
    #[error("{name} is {value}, it must be {range}")]
    Setting { name: &'static str, value: f64, range: &'static str },
}

/// The phase a transition belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    Warmup,
    Sampling,
}

/// A leapfrog after which the trajectory could not be followed.
#[derive(Debug, Clone, PartialEq)]
pub struct Divergence {
    /// Position before the leapfrog, length d.
    pub start: Vec<f64>,
    /// Position after it, length d; not necessarily finite.
    pub end: Vec<f64>,
    /// Energy there less energy at the start of the transition; `+inf` where it is unknown.
    pub energy_error: f64,
    /// What the density said, if it refused the position.
    pub rejection: Option<Rejection>,
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

/// What went wrong during warm-up. A few divergences are usual while the first step sizes are tried; many in a row, or
/// anything else above zero, are not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WarmupFaults {
    /// Transitions that ended in a divergence.
    pub divergences: usize,
    /// Divergences in a row up to now; returns to zero at the first transition without one.
    pub consecutive_divergences: usize,
    /// Times the step size fell to [`MIN_STEP`] and was held there.
    pub step_size_collapses: usize,
    /// Times the step size rose to [`MAX_STEP`] and was held there.
    pub step_size_explosions: usize,
    /// Windows whose covariance was unusable, so that the old metric was kept.
    pub metric_failures: usize,
}

/// One Markov chain. The same density, start, settings and generator give the same draws.
pub struct Chain<'a> {
    hamiltonian: Hamiltonian<'a>,
    tree: Tree,
    rng: ChaCha8Rng,
    settings: Settings,
    schedule: Schedule,
    averaging: DualAveraging,
    welford: Welford,
    step_size: f64,
    completed: usize,
    faults: WarmupFaults,
}

impl<'a> Chain<'a> {
    /// A chain at `start` (length d), with an identity metric and a first step size found by doubling.
    pub fn new(
        density: &'a dyn LogDensity,
        start: &[f64],
        settings: Settings,
        rng: ChaCha8Rng,
    ) -> Result<Chain<'a>, StartError> {
        check(&settings)?;
        let dim = density.dim();
        if dim == 0 {
            return Err(StartError::NoCoordinates);
        }
        if start.len() != dim {
            return Err(StartError::Length { expected: dim, found: start.len() });
        }
        if let Some((index, &value)) = start.iter().enumerate().find(|(_, x)| !x.is_finite()) {
            return Err(StartError::Coordinate { index, value });
        }
        let mut hamiltonian = Hamiltonian::new(density.evaluator(), Metric::identity(settings.metric, dim));
        let mut point = Point::blank(dim);
        point.position.copy_from_slice(start);
        hamiltonian.evaluate(&mut point)?;
        if point.log_density == f64::NEG_INFINITY {
            return Err(StartError::OutsideSupport);
        }
        if let Some((index, &value)) = point.gradient.iter().enumerate().find(|(_, g)| !g.is_finite()) {
            return Err(StartError::Rejected(Rejection::Gradient { index, value }));
        }
        let mut chain = Chain {
            hamiltonian,
            tree: Tree::new(point),
            rng,
            schedule: Schedule::new(settings.warmup),
            averaging: DualAveraging::new(settings.target_accept, 1.0),
            welford: Welford::new(settings.metric, dim),
            step_size: 1.0,
            completed: 0,
            faults: WarmupFaults::default(),
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
            self.adapt(outcome.acceptance, outcome.divergence.is_some());
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

    fn adapt(&mut self, acceptance: f64, diverged: bool) {
        if diverged {
            self.faults.divergences += 1;
            self.faults.consecutive_divergences += 1;
        } else {
            self.faults.consecutive_divergences = 0;
        }
        let iteration = self.completed;
        let proposed = self.averaging.update(acceptance);
        self.set_step_size(proposed);
        if self.schedule.collects(iteration) {
            self.welford.add(&self.tree.current().position);
        }
        if self.schedule.ends_window(iteration) {
            match self.welford.metric() {
                Some(Ok(metric)) => self.hamiltonian.metric = metric,
                Some(Err(_)) => self.faults.metric_failures += 1,
                None => {}
            }
            self.welford.clear();
            self.search_step_size();
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

    /// Keeps the step within its limits and counts when it had to.
    fn set_step_size(&mut self, step: f64) {
        if step <= MIN_STEP {
            self.faults.step_size_collapses += 1;
        } else if step >= MAX_STEP {
            self.faults.step_size_explosions += 1;
        }
        self.step_size = step.clamp(MIN_STEP, MAX_STEP);
    }
}

fn check(settings: &Settings) -> Result<(), StartError> {
    let Settings { target_accept, max_depth, max_energy_error, .. } = *settings;
    if !(target_accept > 0.0 && target_accept < 1.0) {
        return Err(StartError::Setting { name: "target_accept", value: target_accept, range: "between 0 and 1" });
    }
    if !(1..=20).contains(&max_depth) {
        return Err(StartError::Setting { name: "max_depth", value: f64::from(max_depth), range: "1 to 20" });
    }
    if !max_energy_error.is_finite() || max_energy_error <= 0.0 {
        return Err(StartError::Setting {
            name: "max_energy_error",
            value: max_energy_error,
            range: "positive and finite",
        });
    }
    Ok(())
}
