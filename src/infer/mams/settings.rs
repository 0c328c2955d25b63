//! What a microcanonical chain is to do, and which settings are refused.

use super::integrator::Integrator;
use super::lengths::Lengths;
use super::preconditioner::PreconditionerKind;
use crate::infer::start::{StartError, check_energy_limit, check_target};

/// How the direction of motion is renewed. A fresh one is drawn at the start of every trajectory in either case.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Refresh {
    /// At the start only.
    Full,
    /// Also by small random turns between the steps, so that the direction is forgotten over `ratio` mean trajectory
    /// lengths; positive and finite. 1.25 is usual.
    Langevin { ratio: f64 },
}

/// What a chain is to do.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Transitions that adapt step size, length and preconditioner and are not draws.
    pub warmup: usize,
    /// Transitions after warm-up.
    pub draws: usize,
    /// Mean acceptance that the step size is adapted to, between 0 and 1; where steps as long as the mean trajectory are
    /// accepted more often, the step stops there.
    pub target_accept: f64,
    /// `None`: by the dimension, [`Integrator::for_dim`].
    pub integrator: Option<Integrator>,
    pub refresh: Refresh,
    pub lengths: Lengths,
    pub preconditioner: PreconditionerKind,
    /// Most steps of a trajectory, at least 1.
    pub max_steps: u32,
    /// Energy error beyond which a trajectory counts as a divergence, positive and finite.
    pub max_energy_error: f64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            warmup: 1000,
            draws: 1000,
            target_accept: 0.75,
            integrator: None,
            refresh: Refresh::Full,
            lengths: Lengths::Halton,
            preconditioner: PreconditionerKind::Diagonal,
            max_steps: 1000,
            max_energy_error: 1000.0,
        }
    }
}

impl Settings {
    pub(super) fn check(&self) -> Result<(), StartError> {
        check_target(self.target_accept)?;
        check_energy_limit(self.max_energy_error)?;
        if self.max_steps == 0 {
            return Err(StartError::Setting { name: "max_steps", value: 0.0, range: "at least 1" });
        }
        match self.refresh {
            Refresh::Langevin { ratio } if !(ratio > 0.0 && ratio.is_finite()) => {
                Err(StartError::Setting { name: "refresh ratio", value: ratio, range: "positive and finite" })
            }
            _ => Ok(()),
        }
    }
}
