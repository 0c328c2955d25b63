//! One restart of the alternation: loadings, responses, latent, scales, over and over until the objective rests.

use super::banded::dot;
use super::error::GriddedError;
use super::geometry::Geometry;
use super::learn::Learner;
use super::objective::{coupling, ridge_latent, roughness};
use super::pair_state::PairState;
use super::problem::{Pair, Problem};
use super::solve::{Finish, SolveOptions, Termination};
use super::steps::{Steps, Strengths};

/// A step is kept if it does not raise the objective by more than this times max(1, J).
const STEP_SLACK: f64 = 1e-12;
/// An iteration that raises the objective by more than this times max(1, J) is an error.
const INCREASE_LIMIT: f64 = 1e-10;

/// Steps of the curves that keep at least this share of the step before are slow.
const SLOW: f64 = 0.5;
/// Longest stride in units of the step before it.
const LONGEST: f64 = 50.0;

/// Where a restart stands.
pub(super) struct Trail {
    pub states: Vec<PairState>,
    pub z: Vec<f64>,
    /// Coordinates of the learned curves.
    pub curves: Vec<f64>,
    pub history: Vec<f64>,
    pub objective: f64,
    pub termination: Termination,
}

impl Trail {
    pub fn finish(&self) -> Finish {
        Finish { objective: self.objective, iterations: self.history.len() - 1, termination: self.termination }
    }
}

/// Alternates from the loadings in `states`.
pub(super) fn alternate(
    steps: &Steps,
    learner: &Learner,
    options: &SolveOptions,
    restart: usize,
    states: Vec<PairState>,
    stopped: &dyn Fn() -> bool,
) -> Result<Trail, GriddedError> {
    let mut walk = Walk::new(steps, learner, restart, states)?;
    let mut history = vec![walk.objective];
    let mut termination = Termination::IterationLimit;
    for iteration in 1..=options.max_iterations {
        if stopped() {
            termination = Termination::Interrupted;
            break;
        }
        let before = walk.objective;
        let curves = walk.curves.clone();
        walk.step_loadings()?;
        walk.step_responses(options.response_steps)?;
        walk.step_latents()?;
        walk.stride(&curves)?;
        walk.balance();
        let after = walk.objective;
        if after - before > INCREASE_LIMIT * before.max(1.0) {
            return Err(GriddedError::Increase { iteration, before, after });
        }
        history.push(after);
        if (before - after).abs() <= options.tolerance * before.abs().max(1.0) {
            termination = Termination::Converged;
            break;
        }
    }
    Ok(walk.trail(history, termination))
}

/// Alternates from the latent `z` without balancing scales; the latent moves only where `own_paths` says so.
pub(super) fn calibrate(
    steps: &Steps,
    learner: &Learner,
    options: &SolveOptions,
    z: Vec<f64>,
    own_paths: bool,
) -> Result<Trail, GriddedError> {
    let mut walk = Walk::empty(steps, learner, steps.states_of(&vec![0.0; steps.problem.loading_count()]));
    walk.latent_penalty = steps.latent_penalty(&z);
    walk.z = z;
    steps.signals(&walk.geometry, &walk.z, &mut walk.signals);
    walk.step_loadings()?;
    let mut history = vec![walk.objective];
    let mut termination = Termination::IterationLimit;
    for _ in 0..options.max_iterations {
        let before = walk.objective;
        walk.step_loadings()?;
        walk.step_responses(options.response_steps)?;
        if own_paths {
            walk.step_latents()?;
        }
        history.push(walk.objective);
        if (before - walk.objective).abs() <= options.tolerance * before.abs().max(1.0) {
            termination = Termination::Converged;
            break;
        }
    }
    Ok(walk.trail(history, termination))
}

/// The current point of one restart and room for its next one.
struct Walk<'a> {
    steps: &'a Steps<'a>,
    learner: &'a Learner<'a>,
    states: Vec<PairState>,
    next_states: Vec<PairState>,
    z: Vec<f64>,
    next_z: Vec<f64>,
    curves: Vec<f64>,
    geometry: Geometry,
    signals: Vec<Vec<f64>>,
    next_signals: Vec<Vec<f64>>,
    loading_penalty: f64,
    latent_penalty: f64,
    response_penalty: f64,
    objective: f64,
    /// The step of the curves in the iteration before; empty behind a stride.
    last_step: Vec<f64>,
}

impl<'a> Walk<'a> {
    /// Begins at the latent that is best for the loadings in `states` and the curves of the restart.
    fn new(
        steps: &'a Steps<'a>,
        learner: &'a Learner<'a>,
        restart: usize,
        states: Vec<PairState>,
    ) -> Result<Self, GriddedError> {
        let mut walk = Walk::empty(steps, learner, states);
        if restart > 0 && !learner.is_empty() {
            walk.curves = learner.start_of(restart);
            walk.response_penalty = learner.penalty(&walk.curves);
            walk.geometry = walk.geometry_at(&walk.curves)?;
        }
        walk.step_latents()?;
        Ok(walk)
    }

    /// At zero latent, which counts as infinitely bad.
    fn empty(steps: &'a Steps<'a>, learner: &'a Learner<'a>, states: Vec<PairState>) -> Self {
        let count = steps.problem.latent_count();
        let curves = learner.start();
        Walk {
            loading_penalty: steps.strengths.loading * steps.ridge(&states),
            response_penalty: learner.penalty(&curves),
            next_states: states.clone(),
            states,
            z: vec![0.0; count],
            next_z: vec![0.0; count],
            curves,
            geometry: steps.geometry(),
            signals: steps.empty_signals(),
            next_signals: steps.empty_signals(),
            latent_penalty: 0.0,
            objective: f64::INFINITY,
            last_step: Vec::new(),
            steps,
            learner,
        }
    }

    fn trail(self, history: Vec<f64>, termination: Termination) -> Trail {
        Trail { states: self.states, z: self.z, curves: self.curves, history, objective: self.objective, termination }
    }

    fn step_loadings(&mut self) -> Result<(), GriddedError> {
        let steps = self.steps;
        steps.loading_step(&self.signals, &mut self.next_states)?;
        let penalty = steps.strengths.loading * steps.ridge(&self.next_states);
        let squares = steps.squares(&self.next_states, &self.signals);
        let objective = squares + penalty + self.latent_penalty + self.response_penalty;
        if self.improves(objective)? {
            std::mem::swap(&mut self.states, &mut self.next_states);
            self.loading_penalty = penalty;
            self.objective = objective;
        }
        Ok(())
    }

    fn step_responses(&mut self, limit: usize) -> Result<(), GriddedError> {
        let steps = self.steps;
        let mut next = self.curves.clone();
        if self.learner.is_empty() || !self.learner.step(steps, &self.states, &self.z, &mut next, limit)? {
            return Ok(());
        }
        let mut geometry = Geometry { rows: self.geometry.rows.clone(), bands: Vec::new(), span: 0 };
        self.learner.write_rows(&next, &mut geometry.rows)?;
        steps.signals(&geometry, &self.z, &mut self.next_signals);
        let penalty = self.learner.penalty(&next);
        let squares = steps.squares(&self.states, &self.next_signals);
        let objective = squares + self.loading_penalty + self.latent_penalty + penalty;
        if self.improves(objective)? {
            let problem = steps.problem;
            let moved = |pair: &Pair| pair.slot.is_some_and(|s| !problem.slots[s].free.is_empty());
            geometry.bands = std::mem::take(&mut self.geometry.bands);
            geometry.refresh(problem, &steps.blocks, moved);
            self.geometry = geometry;
            std::mem::swap(&mut self.signals, &mut self.next_signals);
            self.curves = next;
            self.response_penalty = penalty;
            self.objective = objective;
        }
        Ok(())
    }

    /// The rows and bands of other curves.
    fn geometry_at(&self, curves: &[f64]) -> Result<Geometry, GriddedError> {
        let problem = self.steps.problem;
        let moved = |pair: &Pair| pair.slot.is_some_and(|s| !problem.slots[s].free.is_empty());
        let mut geometry = self.geometry.clone();
        self.learner.write_rows(curves, &mut geometry.rows)?;
        geometry.refresh(problem, &self.steps.blocks, moved);
        Ok(geometry)
    }

    /// Curves and latent follow each other in small steps, because each is fitted to where the other stood. Where the steps
    /// that the curves took since `before` shrink slowly, this goes on to where they would end (Aitken's extrapolation),
    /// with the latent that is best there, if the objective falls.
    fn stride(&mut self, before: &[f64]) -> Result<(), GriddedError> {
        let step: Vec<f64> = self.curves.iter().zip(before).map(|(new, old)| new - old).collect();
        let last = std::mem::replace(&mut self.last_step, step.clone());
        let ratio = dot(&step, &last) / dot(&last, &last);
        if ratio.is_nan() || ratio < SLOW {
            return Ok(());
        }
        self.last_step.clear();
        let reach = ratio / (1.0 - ratio).max(1.0 / LONGEST);
        let steps = self.steps;
        let curves = self.learner.along(&self.curves, &step, reach);
        let geometry = self.geometry_at(&curves)?;
        steps.latent_step(&geometry, &self.states, &mut self.next_z)?;
        steps.signals(&geometry, &self.next_z, &mut self.next_signals);
        let latent_penalty = steps.latent_penalty(&self.next_z);
        let response_penalty = self.learner.penalty(&curves);
        let squares = steps.squares(&self.states, &self.next_signals);
        let objective = squares + self.loading_penalty + latent_penalty + response_penalty;
        if objective.is_nan() || objective >= self.objective {
            return Ok(());
        }
        self.geometry = geometry;
        self.curves = curves;
        std::mem::swap(&mut self.z, &mut self.next_z);
        std::mem::swap(&mut self.signals, &mut self.next_signals);
        self.latent_penalty = latent_penalty;
        self.response_penalty = response_penalty;
        self.objective = objective;
        Ok(())
    }

    fn step_latents(&mut self) -> Result<(), GriddedError> {
        let steps = self.steps;
        steps.latent_step(&self.geometry, &self.states, &mut self.next_z)?;
        steps.signals(&self.geometry, &self.next_z, &mut self.next_signals);
        let penalty = steps.latent_penalty(&self.next_z);
        let squares = steps.squares(&self.states, &self.next_signals);
        let objective = squares + self.loading_penalty + penalty + self.response_penalty;
        if self.improves(objective)? {
            std::mem::swap(&mut self.z, &mut self.next_z);
            std::mem::swap(&mut self.signals, &mut self.next_signals);
            self.latent_penalty = penalty;
            self.objective = objective;
        }
        Ok(())
    }

    /// Whether a step that leads to `objective` is kept.
    fn improves(&self, objective: f64) -> Result<bool, GriddedError> {
        if !objective.is_finite() {
            return Err(GriddedError::Objective { value: objective });
        }
        Ok(self.objective.is_infinite() || objective <= self.objective + STEP_SLACK * self.objective.max(1.0))
    }

    /// Makes the penalties of loadings and latent equal. Left out where one is zero or the objective would not fall.
    fn balance(&mut self) {
        let (a, b) = (self.loading_penalty, self.latent_penalty);
        let s = (a / b).powf(0.25);
        let (a_new, b_new) = (a / (s * s), b * s * s);
        if !s.is_finite() || s <= 0.0 || a_new + b_new > a + b {
            return;
        }
        for state in &mut self.states {
            state.scale(1.0 / s);
        }
        for v in self.z.iter_mut().chain(self.signals.iter_mut().flatten()) {
            *v *= s;
        }
        self.loading_penalty = a_new;
        self.latent_penalty = b_new;
        self.objective += (a_new + b_new) - (a + b);
    }
}

/// Ridge, roughness and coupling of the latent, each with its strength.
pub(super) fn latent_penalty(problem: &Problem, strengths: &Strengths, z: &[f64]) -> f64 {
    strengths.latent * ridge_latent(problem, z)
        + strengths.roughness * roughness(problem, z)
        + strengths.coupling * coupling(problem, z)
}
