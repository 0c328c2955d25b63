//! The microcanonical flow: positions, directions of unit length, and trajectories with their energy error.
//!
//! In coordinates y (see `preconditioner`) a drift moves y by t u and a kick turns u by the gradient (see `kick`). The
//! energy error of a trajectory is W = -(log pi(end) - log pi(start)) + sum dK; accepting its end with probability
//! min(1, exp(-W)) leaves pi invariant. Robnik, Cohn-Gordon & Seljak 2025 (arXiv 2503.01707).
//!
//! The Langevin variant turns u at random between steps: u becomes u + nu z over its length, z ~ N(0, I),
//! nu^2 = (exp(2 step / length) - 1) / d. Such a turn is reversible for the uniform law of directions and leaves W
//! alone. The half turns at both ends of the usual scheme have no effect: a fresh direction is drawn at the start of
//! every trajectory.

use super::integrator::Integrator;
use super::kick::{Gain, kick};
use super::preconditioner::Preconditioner;
use crate::graph::{Evaluator, Rejection};
use crate::infer::transition::Divergence;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

/// A position with everything that was computed there; all vectors have length d.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct State {
    pub position: Vec<f64>,
    /// Gradient of the log density in x.
    pub gradient: Vec<f64>,
    /// The same in y.
    pub whitened: Vec<f64>,
    pub log_density: f64,
}

impl State {
    /// A state at `position` whose values are yet to be computed.
    pub fn at(position: &[f64]) -> State {
        let zeros = vec![0.0; position.len()];
        State { position: position.to_vec(), gradient: zeros.clone(), whitened: zeros, log_density: 0.0 }
    }

    fn copy_from(&mut self, other: &State) {
        self.position.copy_from_slice(&other.position);
        self.gradient.copy_from_slice(&other.gradient);
        self.whitened.copy_from_slice(&other.whitened);
        self.log_density = other.log_density;
    }
}

/// How a trajectory is followed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Course {
    pub integrator: Integrator,
    /// Signed length of a step in y.
    pub step: f64,
    pub steps: u32,
    /// Length over which the direction is forgotten by random turns between steps, if there are any.
    pub decoherence: Option<f64>,
}

/// What came of a trajectory that was followed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Outcome {
    /// W, finite.
    pub energy_error: f64,
    /// False where a kick was too strong to be trusted (see `kick`): the trajectory ends there and is refused.
    pub trusted: bool,
}

/// A log density in preconditioned coordinates, with the working memory of a trajectory.
pub(super) struct Flow<'a> {
    evaluator: Box<dyn Evaluator + 'a>,
    preconditioner: Preconditioner,
    /// Position before the latest drift, length d.
    before: Vec<f64>,
    /// Gradients evaluated since [`Flow::take_evaluations`] was last called.
    evaluations: u32,
    /// Uses the faulty kick, to see that the tests find it.
    #[cfg(test)]
    pub broken: bool,
}

impl<'a> Flow<'a> {
    pub fn new(evaluator: Box<dyn Evaluator + 'a>, preconditioner: Preconditioner) -> Flow<'a> {
        let before = vec![0.0; preconditioner.dim()];
        Flow {
            evaluator,
            preconditioner,
            before,
            evaluations: 0,
            #[cfg(test)]
            broken: false,
        }
    }

    /// How many gradients were evaluated since the last call.
    pub fn take_evaluations(&mut self) -> u32 {
        std::mem::take(&mut self.evaluations)
    }

    pub fn preconditioner(&self) -> &Preconditioner {
        &self.preconditioner
    }

    /// Replaces the change of coordinates and brings `current` up to date with it.
    pub fn precondition(&mut self, current: &mut State, renew: impl FnOnce(&mut Preconditioner)) {
        renew(&mut self.preconditioner);
        self.preconditioner.pull(&current.gradient, &mut current.whitened);
    }

    /// Log density and gradients at the state's position. A value of NaN or `+inf` is a rejection, `-inf` is not.
    pub fn evaluate(&mut self, state: &mut State) -> Result<(), Rejection> {
        self.evaluations += 1;
        let value = self.evaluator.log_density_gradient(&state.position, &mut state.gradient)?;
        if value.is_nan() || value == f64::INFINITY {
            return Err(Rejection::NotFinite { value });
        }
        state.log_density = value;
        self.preconditioner.pull(&state.gradient, &mut state.whitened);
        Ok(())
    }

    /// Follows a trajectory from `start` along `direction`; `end` and `direction` become its end. An error says where
    /// it broke off.
    pub fn trajectory(
        &mut self,
        start: &State,
        end: &mut State,
        direction: &mut [f64],
        course: Course,
        rng: &mut ChaCha8Rng,
    ) -> Result<Outcome, Divergence> {
        end.copy_from(start);
        self.before.copy_from_slice(&start.position);
        let (kicks, drifts) = course.integrator.coefficients();
        let last = kicks[drifts.len()];
        let mut energy = 0.0;
        let mut kick_time = kicks[0] * course.step;
        for step in 1..=course.steps {
            for (drift, next_kick) in drifts.iter().zip(&kicks[1..]) {
                let gain = self.kick(direction, &end.whitened, kick_time);
                energy += gain.energy;
                if !gain.trusted {
                    return self.outcome(start, end, energy, false);
                }
                std::mem::swap(&mut self.before, &mut end.position);
                self.preconditioner.drift(&self.before, direction, drift * course.step, &mut end.position);
                if let Err(rejection) = self.evaluate(end) {
                    return Err(self.broken_off(end, Some(rejection)));
                }
                if end.log_density == f64::NEG_INFINITY {
                    return Err(self.broken_off(end, None));
                }
                kick_time = next_kick * course.step;
            }
            if step == course.steps {
                break;
            }
            match course.decoherence {
                // The last kick of a step and the first of the next use one gradient: together they are one kick.
                None => kick_time = (last + kicks[0]) * course.step,
                Some(length) => {
                    let gain = self.kick(direction, &end.whitened, kick_time);
                    energy += gain.energy;
                    if !gain.trusted {
                        return self.outcome(start, end, energy, false);
                    }
                    turn(direction, course.step, length, rng);
                    kick_time = kicks[0] * course.step;
                }
            }
        }
        let gain = self.kick(direction, &end.whitened, kick_time);
        self.outcome(start, end, energy + gain.energy, gain.trusted)
    }

    /// The facts of a trajectory that reached `end` by its latest drift.
    pub fn divergence(&self, end: &State, energy_error: f64) -> Divergence {
        Divergence { start: self.before.clone(), end: end.position.clone(), energy_error, rejection: None }
    }

    fn outcome(&self, start: &State, end: &State, energy: f64, trusted: bool) -> Result<Outcome, Divergence> {
        let energy_error = energy - (end.log_density - start.log_density);
        if energy_error.is_finite() {
            return Ok(Outcome { energy_error, trusted });
        }
        let bad = end.gradient.iter().enumerate().find(|(_, g)| !g.is_finite());
        Err(self.broken_off(end, bad.map(|(index, &value)| Rejection::Gradient { index, value })))
    }

    fn broken_off(&self, end: &State, rejection: Option<Rejection>) -> Divergence {
        Divergence { rejection, ..self.divergence(end, f64::INFINITY) }
    }

    fn kick(&self, direction: &mut [f64], gradient: &[f64], time: f64) -> Gain {
        #[cfg(test)]
        if self.broken {
            return super::kick::broken_kick(direction, gradient, time);
        }
        kick(direction, gradient, time)
    }
}

/// Draws a direction uniformly from the unit sphere.
pub(super) fn refresh(direction: &mut [f64], rng: &mut ChaCha8Rng) {
    // A length of zero has probability zero, but not in floating point.
    loop {
        for u in direction.iter_mut() {
            *u = rng.sample(StandardNormal);
        }
        if normalise(direction) {
            return;
        }
    }
}

/// Turns a direction at random: after a path of `length` little of it is left.
fn turn(direction: &mut [f64], step: f64, length: f64, rng: &mut ChaCha8Rng) {
    let spread = ((2.0 * step.abs() / length).exp_m1() / direction.len() as f64).sqrt();
    if !spread.is_finite() {
        return refresh(direction, rng);
    }
    for u in direction.iter_mut() {
        *u += spread * rng.sample::<f64, _>(StandardNormal);
    }
    if !normalise(direction) {
        refresh(direction, rng);
    }
}

/// Scales to unit length; false where there is no length to scale.
fn normalise(direction: &mut [f64]) -> bool {
    let squares: f64 = direction.iter().map(|u| u * u).sum();
    if !(squares > 0.0 && squares.is_finite()) {
        return false;
    }
    let scale = squares.sqrt().recip();
    direction.iter_mut().for_each(|u| *u *= scale);
    true
}
