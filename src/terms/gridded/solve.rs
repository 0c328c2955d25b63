//! Minimises the objective by alternating exact loading and latent steps, with scale balancing and restarts.
//!
//! An iteration solves the loadings, solves the latent, then rescales z by s = (A/B)^(1/4) and w by 1/s, where A and B are
//! the loading and latent penalties: the fit is unchanged and A + B is smallest. It converges when the objective J
//! changes by at most tolerance * max(1, J). No step may raise J.

use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

use super::banded::Banded;
use super::error::GriddedError;
use super::objective::{
    Adjoint, Scratch, balanced_squares_adjoint, balanced_squares_by_modality, ridge_latent, ridge_latent_adjoint,
    ridge_loadings, ridge_loadings_adjoint, roughness, roughness_adjoint,
};
use super::pair_state::PairState;
use super::problem::Problem;
use super::start::{Start, StartUsed, random, spectral};
use super::steps::{Steps, Strengths};

/// A step is kept if it does not raise the objective by more than this times max(1, J).
const STEP_SLACK: f64 = 1e-12;
/// An iteration that raises the objective by more than this times max(1, J) is an error.
const INCREASE_LIMIT: f64 = 1e-10;

/// How the objective is minimised.
#[derive(Debug, Clone, PartialEq)]
pub struct SolveOptions {
    pub strengths: Strengths,
    pub start: Start,
    /// Number of restarts; the one with the lowest objective is the solution.
    pub restarts: usize,
    /// Seed of the random starts.
    pub seed: u64,
    pub max_iterations: usize,
    /// Relative change of the objective at which a restart has converged.
    pub tolerance: f64,
}

impl Default for SolveOptions {
    fn default() -> Self {
        SolveOptions {
            strengths: Strengths::default(),
            start: Start::Random,
            restarts: 1,
            seed: 0,
            max_iterations: 100,
            tolerance: 1e-5,
        }
    }
}

/// Why a restart ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Termination {
    /// The objective changed by no more than the tolerance.
    Converged,
    /// The iteration limit came first.
    IterationLimit,
    /// The caller asked to stop.
    Interrupted,
}

/// How a restart ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Finish {
    pub objective: f64,
    pub iterations: usize,
    pub termination: Termination,
}

/// What became of one restart.
#[derive(Debug, Clone, PartialEq)]
pub struct RestartRecord {
    pub restart: usize,
    pub start: StartUsed,
    pub outcome: Result<Finish, GriddedError>,
}

/// The parts of the objective, each with its strength.
#[derive(Debug, Clone, PartialEq)]
pub struct Components {
    /// Balanced squares of each modality.
    pub reconstruction_by_modality: Vec<f64>,
    pub reconstruction: f64,
    pub loading_ridge: f64,
    pub latent_ridge: f64,
    pub roughness: f64,
    pub total: f64,
}

/// How far the solution is from a stationary point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stationarity {
    /// Norm of the gradient in the loadings over the norm of that gradient at zero loadings.
    pub loading_relative: f64,
    pub loading_largest: f64,
    /// The same for the latent.
    pub latent_relative: f64,
    pub latent_largest: f64,
    /// |A - B| / (A + B) of the loading and latent penalties.
    pub scale_imbalance: f64,
}

/// The best restart.
#[derive(Debug, Clone, PartialEq)]
pub struct Solution {
    /// Loading vector of the problem.
    pub loadings: Vec<f64>,
    /// Latent vector of the problem.
    pub latents: Vec<f64>,
    /// Objective at the start and after each iteration.
    pub history: Vec<f64>,
    pub iterations: usize,
    pub termination: Termination,
    pub components: Components,
    pub stationarity: Stationarity,
    /// Index of the best restart.
    pub best_restart: usize,
    /// All restarts that began, in order.
    pub restarts: Vec<RestartRecord>,
}

impl Solution {
    /// Whether the best restart converged.
    pub fn converged(&self) -> bool {
        self.termination == Termination::Converged
    }
}

/// Minimises the objective of `problem`. Restarts run on the threads of the current rayon pool, and their results do not
/// depend on its size. When `stop` becomes true, running restarts end after the iteration at hand and no other begins.
///
/// Errors: faulty options; every restart failed (the first failure).
pub fn solve(problem: &Problem, options: &SolveOptions, stop: Option<&AtomicBool>) -> Result<Solution, GriddedError> {
    options.strengths.check()?;
    if options.restarts == 0 {
        return Err(GriddedError::NoRestarts);
    }
    let value = options.tolerance;
    if !value.is_finite() || value < 0.0 {
        return Err(GriddedError::Tolerance { value });
    }
    if let Start::Loadings(w) = &options.start {
        check_vector("loadings", w, problem.loading_count())?;
    }
    let steps = Steps::new(problem, options.strengths);
    let patterns = match options.start {
        Start::Spectral | Start::Hybrid => Some(spectral(problem)?),
        Start::Random | Start::Loadings(_) => None,
    };
    let stopped = || stop.is_some_and(|s| s.load(Ordering::Relaxed));
    let runs: Vec<Option<(StartUsed, Result<Trail, GriddedError>)>> = (0..options.restarts)
        .into_par_iter()
        .map(|restart| {
            // The first restart always begins, so that an interrupt leaves something to keep.
            if restart > 0 && stopped() {
                return None;
            }
            let patterns = match options.start {
                Start::Hybrid if restart > 0 => None,
                _ => patterns.as_ref(),
            };
            let (used, states) = begin(&steps, options, restart, patterns);
            Some((used, states.and_then(|s| alternate(&steps, options, s, &stopped))))
        })
        .collect();
    choose(&steps, runs)
}

/// Keeps a record of every restart and the trail with the lowest objective, the lower index on ties.
fn choose(
    steps: &Steps,
    runs: Vec<Option<(StartUsed, Result<Trail, GriddedError>)>>,
) -> Result<Solution, GriddedError> {
    let mut records = Vec::new();
    let mut best: Option<(usize, Trail)> = None;
    let mut first_error = GriddedError::NoRestarts;
    for (restart, run) in runs.into_iter().enumerate() {
        let Some((start, outcome)) = run else {
            continue;
        };
        let record = |outcome| RestartRecord { restart, start, outcome };
        match outcome {
            Ok(trail) => {
                records.push(record(Ok(trail.finish())));
                let lower = |b: &(usize, Trail)| trail.objective < b.1.objective;
                if best.as_ref().is_none_or(lower) {
                    best = Some((restart, trail));
                }
            }
            Err(error) => {
                if records.iter().all(|r: &RestartRecord| r.outcome.is_ok()) {
                    first_error = error.clone();
                }
                records.push(record(Err(error)));
            }
        }
    }
    let Some((best_restart, trail)) = best else {
        return Err(first_error);
    };
    let problem = steps.problem;
    let loadings = steps.loadings_of(&trail.states);
    let components = components(problem, &steps.strengths, &loadings, &trail.z);
    let stationarity = stationarity(problem, &steps.strengths, &loadings, &trail.z);
    Ok(Solution {
        loadings,
        iterations: trail.history.len() - 1,
        latents: trail.z,
        history: trail.history,
        termination: trail.termination,
        components,
        stationarity,
        best_restart,
        restarts: records,
    })
}

pub(super) fn check_vector(what: &'static str, v: &[f64], expected: usize) -> Result<(), GriddedError> {
    if v.len() != expected {
        return Err(GriddedError::Length { what, expected, found: v.len() });
    }
    match v.iter().position(|x| !x.is_finite()) {
        Some(index) => Err(GriddedError::NotFinite { what, index }),
        None => Ok(()),
    }
}

fn begin(
    steps: &Steps,
    options: &SolveOptions,
    restart: usize,
    patterns: Option<&Result<Vec<f64>, usize>>,
) -> (StartUsed, Result<Vec<PairState>, GriddedError>) {
    let drawn = || steps.states_of(&random(steps.problem, options.seed, restart as u64));
    match (&options.start, patterns) {
        (Start::Loadings(w), _) => (StartUsed::Given, Ok(steps.states_of(w))),
        (_, None) => (StartUsed::Random, Ok(drawn())),
        (_, Some(Err(rank))) => (StartUsed::RandomForRank { rank: *rank }, Ok(drawn())),
        (_, Some(Ok(z))) => {
            let mut signals = steps.empty_signals();
            steps.signals(z, &mut signals);
            let mut states = steps.states_of(&vec![0.0; steps.problem.loading_count()]);
            let solved = steps.loading_step(&signals, &mut states);
            (StartUsed::Spectral, solved.map(|()| states))
        }
    }
}

/// Where a restart stands.
struct Trail {
    states: Vec<PairState>,
    z: Vec<f64>,
    history: Vec<f64>,
    objective: f64,
    termination: Termination,
}

impl Trail {
    fn finish(&self) -> Finish {
        Finish { objective: self.objective, iterations: self.history.len() - 1, termination: self.termination }
    }
}

fn alternate(
    steps: &Steps,
    options: &SolveOptions,
    states: Vec<PairState>,
    stopped: &dyn Fn() -> bool,
) -> Result<Trail, GriddedError> {
    let mut walk = Walk::new(steps, states)?;
    let mut history = vec![walk.objective];
    let mut termination = Termination::IterationLimit;
    for iteration in 1..=options.max_iterations {
        if stopped() {
            termination = Termination::Interrupted;
            break;
        }
        let before = walk.objective;
        walk.step_loadings()?;
        walk.step_latents()?;
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
    Ok(Trail { states: walk.states, z: walk.z, history, objective: walk.objective, termination })
}

/// The current point of one restart and room for its next one.
struct Walk<'a> {
    steps: &'a Steps<'a>,
    states: Vec<PairState>,
    next_states: Vec<PairState>,
    z: Vec<f64>,
    next_z: Vec<f64>,
    signals: Vec<Vec<f64>>,
    next_signals: Vec<Vec<f64>>,
    systems: Vec<Banded>,
    loading_penalty: f64,
    latent_penalty: f64,
    objective: f64,
}

impl<'a> Walk<'a> {
    /// Begins at the latent that is best for the loadings in `states`.
    fn new(steps: &'a Steps<'a>, states: Vec<PairState>) -> Result<Self, GriddedError> {
        let count = steps.problem.latent_count();
        let mut walk = Walk {
            loading_penalty: steps.strengths.loading * steps.ridge(&states),
            next_states: states.clone(),
            states,
            z: vec![0.0; count],
            next_z: vec![0.0; count],
            signals: steps.empty_signals(),
            next_signals: steps.empty_signals(),
            systems: steps.empty_systems(),
            latent_penalty: 0.0,
            objective: f64::INFINITY,
            steps,
        };
        walk.step_latents()?;
        Ok(walk)
    }

    fn step_loadings(&mut self) -> Result<(), GriddedError> {
        let steps = self.steps;
        steps.loading_step(&self.signals, &mut self.next_states)?;
        let penalty = steps.strengths.loading * steps.ridge(&self.next_states);
        let squares = steps.squares(&self.next_states, &self.signals);
        let objective = squares + penalty + self.latent_penalty;
        if self.improves(objective)? {
            std::mem::swap(&mut self.states, &mut self.next_states);
            self.loading_penalty = penalty;
            self.objective = objective;
        }
        Ok(())
    }

    fn step_latents(&mut self) -> Result<(), GriddedError> {
        let steps = self.steps;
        steps.latent_step(&self.states, &mut self.systems, &mut self.next_z)?;
        steps.signals(&self.next_z, &mut self.next_signals);
        let penalty = latent_penalty(steps.problem, &steps.strengths, &self.next_z);
        let squares = steps.squares(&self.states, &self.next_signals);
        let objective = squares + self.loading_penalty + penalty;
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

    /// Makes the two penalties equal. Left out where one is zero or the objective would not fall.
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

fn latent_penalty(problem: &Problem, strengths: &Strengths, z: &[f64]) -> f64 {
    strengths.latent * ridge_latent(problem, z) + strengths.roughness * roughness(problem, z)
}

/// The parts of the objective at (w, z).
pub(super) fn components(problem: &Problem, strengths: &Strengths, w: &[f64], z: &[f64]) -> Components {
    let reconstruction_by_modality = balanced_squares_by_modality(problem, w, z);
    let reconstruction: f64 = reconstruction_by_modality.iter().sum();
    let loading_ridge = strengths.loading * ridge_loadings(problem, w);
    let latent_ridge = strengths.latent * ridge_latent(problem, z);
    let roughness = strengths.roughness * roughness(problem, z);
    Components {
        reconstruction_by_modality,
        reconstruction,
        loading_ridge,
        latent_ridge,
        roughness,
        total: reconstruction + loading_ridge + latent_ridge + roughness,
    }
}

/// Gradient of the whole objective at (w, z), in the loadings and in the latent.
pub(super) fn gradient(problem: &Problem, strengths: &Strengths, w: &[f64], z: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let (mut loadings, mut latents) = (vec![0.0; w.len()], vec![0.0; z.len()]);
    let mut adjoint = Adjoint { scale: 1.0, loadings: &mut loadings, latents: &mut latents };
    balanced_squares_adjoint(problem, w, z, &mut Scratch::new(problem), &mut adjoint);
    ridge_loadings_adjoint(problem, w, strengths.loading, &mut loadings);
    ridge_latent_adjoint(problem, z, strengths.latent, &mut latents);
    roughness_adjoint(problem, z, strengths.roughness, &mut latents);
    (loadings, latents)
}

pub(super) fn stationarity(problem: &Problem, strengths: &Strengths, w: &[f64], z: &[f64]) -> Stationarity {
    let (loadings, latents) = gradient(problem, strengths, w, z);
    let (loadings_at_zero, _) = gradient(problem, strengths, &vec![0.0; w.len()], z);
    let (_, latents_at_zero) = gradient(problem, strengths, w, &vec![0.0; z.len()]);
    let a = strengths.loading * ridge_loadings(problem, w);
    let b = latent_penalty(problem, strengths, z);
    Stationarity {
        loading_relative: ratio(norm(&loadings), norm(&loadings_at_zero)),
        loading_largest: largest(&loadings),
        latent_relative: ratio(norm(&latents), norm(&latents_at_zero)),
        latent_largest: largest(&latents),
        scale_imbalance: ratio((a - b).abs(), a + b),
    }
}

/// a / b, and 0 where both vanish.
fn ratio(a: f64, b: f64) -> f64 {
    if a == 0.0 { 0.0 } else { a / b }
}

fn norm(v: &[f64]) -> f64 {
    v.iter().map(|x| x * x).sum::<f64>().sqrt()
}

fn largest(v: &[f64]) -> f64 {
    v.iter().fold(0.0, |m, x| x.abs().max(m))
}
