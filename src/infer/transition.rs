//! What every sampler says about its transitions: their phase, their divergences and the faults of warm-up.

use super::adapt::{MAX_STEP, MIN_STEP};
use crate::graph::Rejection;

/// The phase a transition belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    Warmup,
    Sampling,
}

/// A stage of an integrator after which the trajectory could not be followed.
#[derive(Debug, Clone, PartialEq)]
pub struct Divergence {
    /// Position before it, length d.
    pub start: Vec<f64>,
    /// Position after it, length d; not necessarily finite.
    pub end: Vec<f64>,
    /// Energy there less energy at the start of the transition; `+inf` where it is unknown.
    pub energy_error: f64,
    /// What the density said, if it refused the position.
    pub rejection: Option<Rejection>,
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
    /// Times a new metric was unusable, so that the old metric was kept.
    pub metric_failures: usize,
}

impl WarmupFaults {
    pub(super) fn count_divergence(&mut self, diverged: bool) {
        if diverged {
            self.divergences += 1;
            self.consecutive_divergences += 1;
        } else {
            self.consecutive_divergences = 0;
        }
    }

    /// Keeps a step within its limits and counts when it had to.
    pub(super) fn clamp_step(&mut self, step: f64) -> f64 {
        if step <= MIN_STEP {
            self.step_size_collapses += 1;
        } else if step >= MAX_STEP {
            self.step_size_explosions += 1;
        }
        step.clamp(MIN_STEP, MAX_STEP)
    }
}
