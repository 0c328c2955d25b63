//! Minimises the objective by alternating exact loading and latent steps and response steps, with scale balancing and restarts.
//!
//! An iteration solves the loadings, moves the learned responses (see [`super::learn`]), solves the latent, then rescales z by
//! s = (A/B)^(1/4) and w by 1/s, where A and B are the loading and latent penalties: the fit is unchanged and A + B is
//! smallest. It converges when the objective J changes by at most tolerance * max(1, J). No step may raise J.

use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

use super::diagnostics::{Components, Stationarity, components, stationarity};
use super::error::GriddedError;
use super::learn::Learner;
use super::pair_state::PairState;
use super::problem::Problem;
use super::slots::ResponseSlot;
use super::start::{Start, StartUsed, random, spectral};
use super::steps::{Steps, Strengths};
use super::walk::{Trail, alternate};

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
    /// Most moves of the learned responses in one iteration; 0 leaves them where they begin.
    pub response_steps: usize,
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
            response_steps: 5,
        }
    }
}

impl SolveOptions {
    pub(super) fn check(&self) -> Result<(), GriddedError> {
        self.strengths.check()?;
        if self.restarts == 0 {
            return Err(GriddedError::NoRestarts);
        }
        let value = self.tolerance;
        if !value.is_finite() || value < 0.0 { Err(GriddedError::Tolerance { value }) } else { Ok(()) }
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

/// The best restart.
#[derive(Debug, Clone, PartialEq)]
pub struct Solution {
    /// Loading vector of the problem.
    pub loadings: Vec<f64>,
    /// Latent vector of the problem.
    pub latents: Vec<f64>,
    /// Vector of learned response parameters of the problem. [`Problem::at_responses`] makes the problem under which loadings
    /// and latents are to be read.
    pub response_values: Vec<f64>,
    /// The curves with these parameters.
    pub responses: Vec<ResponseSlot>,
    /// Indices of the learned parameters that lie at a bound.
    pub responses_at_bounds: Vec<usize>,
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
    options.check()?;
    if let Start::Loadings(w) = &options.start {
        check_vector("loadings", w, problem.loading_count())?;
    }
    let steps = Steps::new(problem, options.strengths);
    let learner = Learner::new(problem);
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
            Some((used, states.and_then(|s| alternate(&steps, &learner, options, restart, s, &stopped))))
        })
        .collect();
    choose(&steps, &learner, runs)
}

/// Keeps a record of every restart and the trail with the lowest objective, the lower index on ties.
fn choose(
    steps: &Steps,
    learner: &Learner,
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
    let loadings = steps.loadings_of(&trail.states);
    let response_values = learner.values(&trail.curves);
    let moved;
    let problem = if learner.is_empty() {
        steps.problem
    } else {
        moved = steps.problem.at_responses(&response_values)?;
        &moved
    };
    let components = components(problem, &steps.strengths, &loadings, &trail.z);
    let stationarity = stationarity(problem, &steps.strengths, &loadings, &trail.z)?;
    Ok(Solution {
        loadings,
        iterations: trail.history.len() - 1,
        latents: trail.z,
        response_values,
        responses: problem.slots.clone(),
        responses_at_bounds: learner.at_bounds(&trail.curves),
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
            steps.signals(&steps.geometry(), z, &mut signals);
            let mut states = steps.states_of(&vec![0.0; steps.problem.loading_count()]);
            let solved = steps.loading_step(&signals, &mut states);
            (StartUsed::Spectral, solved.map(|()| states))
        }
    }
}
