//! Maximises a log density from several starts and keeps a record of every one.
//!
//! Each start climbs by L-BFGS-B. Where the value stalls before the projected gradient is certified, the climb is
//! restarted from its end with an empty memory and, in few dimensions, finished by Newton steps.

use rayon::prelude::*;

use super::CERTIFICATE;
use super::bounds::Bounds;
use super::lbfgsb::minimize;
use super::newton::Polished;
use super::outcome::{Optimum, Settings, StartFault, Termination};
use crate::graph::{Evaluator, LogDensity, Rejection};

/// Restarts of one climb after the first.
const RESTARTS: usize = 3;
/// Stalled steps that a restart bears with while its gradient still shrinks.
const PATIENCE: usize = 25;
/// Steps that a restart may take, unless the climb before it took more.
const STAGE_ITERATIONS: usize = 500;
/// Most coordinates for Newton steps.
const NEWTON_LIMIT: usize = 256;

/// How one start ended. Values and gradients are of the log density.
#[derive(Debug, Clone, PartialEq)]
pub struct Climb {
    /// The end point (length d).
    pub x: Vec<f64>,
    /// Log density at `x`; NaN only when the start was rejected.
    pub value: f64,
    /// Its gradient; empty when the start was rejected.
    pub gradient: Vec<f64>,
    /// Largest absolute partial derivative, without those that point out of the box at a bound.
    pub projected_gradient: f64,
    /// Coordinates at a bound, ascending.
    pub active: Vec<usize>,
    /// Accepted steps of all stages.
    pub iterations: usize,
    /// Gradient evaluations of all stages, Newton steps included.
    pub evaluations: usize,
    /// L-BFGS-B runs.
    pub stages: usize,
    /// Newton steps taken at the end.
    pub newton_steps: usize,
    /// Why it stopped. Facts of a failed line search, and an unbounded value, are of minus the log density.
    pub termination: Termination,
}

impl Climb {
    /// Whether the projected gradient is at most [`CERTIFICATE`].
    pub fn is_certified(&self) -> bool {
        self.projected_gradient <= CERTIFICATE
    }
}

/// All starts, in their order.
#[derive(Debug, Clone, PartialEq)]
pub struct MultistartResult {
    pub climbs: Vec<Climb>,
    /// Index of the highest finite log density; the lowest index among equals.
    pub best: usize,
}

impl MultistartResult {
    /// The climb with the highest log density.
    pub fn best(&self) -> &Climb {
        &self.climbs[self.best]
    }
}

/// Why there is no maximum.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum MultistartError {
    /// There is nothing to start from.
    #[error("no starts were given")]
    NoStarts,
    /// No start has a finite log density; one fault per start.
    #[error("none of {} starts can be used; the first: {}", faults.len(), faults[0])]
    AllRejected { faults: Vec<StartFault> },
    /// The thread pool could not be made.
    #[error("cannot start {threads} threads: {reason}")]
    Threads { threads: usize, reason: String },
}

/// Climbs from every start (each of length d) inside `lower`, `upper`, on up to `threads` threads. The result does not
/// depend on `threads`.
///
/// # Errors
/// [`MultistartError`] when there is no start, none is usable, or threads cannot be started.
pub fn maximize(
    density: &dyn LogDensity,
    starts: &[Vec<f64>],
    lower: &[f64],
    upper: &[f64],
    settings: &Settings,
    threads: usize,
) -> Result<MultistartResult, MultistartError> {
    if starts.is_empty() {
        return Err(MultistartError::NoStarts);
    }
    let bounds = Bounds { lower, upper };
    // The first start is always evaluated, so that an interrupt leaves something to keep.
    let one = |(index, start): (usize, &Vec<f64>)| {
        if index > 0 && settings.interrupted() {
            return Climb::new(Optimum::skipped(start));
        }
        climb(density, start, &bounds, settings)
    };
    let climbs: Vec<Climb> = if threads <= 1 || starts.len() == 1 {
        starts.iter().enumerate().map(one).collect()
    } else {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads.min(starts.len()))
            .build()
            .map_err(|error| MultistartError::Threads { threads, reason: error.to_string() })?;
        pool.install(|| starts.par_iter().enumerate().map(one).collect())
    };
    let mut best: Option<usize> = None;
    for (index, climb) in climbs.iter().enumerate() {
        if climb.value.is_finite() && best.is_none_or(|best| climb.value > climbs[best].value) {
            best = Some(index);
        }
    }
    match best {
        Some(best) => Ok(MultistartResult { climbs, best }),
        None => {
            let faults = climbs.into_iter().filter_map(|climb| match climb.termination {
                Termination::StartRejected { fault } => Some(fault),
                _ => None,
            });
            Err(MultistartError::AllRejected { faults: faults.collect() })
        }
    }
}

fn climb(density: &dyn LogDensity, start: &[f64], bounds: &Bounds, settings: &Settings) -> Climb {
    if start.len() != density.dim() {
        let fault = StartFault::Length { argument: "start", expected: density.dim(), found: start.len() };
        return Climb::new(Optimum::rejected(start, 0, fault));
    }
    let mut evaluator = density.evaluator();
    let mut climb = Climb::new(ascend(&mut *evaluator, start, bounds, settings));
    let first = climb.value;
    for _ in 0..RESTARTS {
        if climb.is_certified() || !climb.has_stalled(settings) {
            break;
        }
        let rest = settings.max_iterations.saturating_sub(climb.iterations);
        let stage = Settings {
            stall_iterations: PATIENCE.max(settings.stall_iterations),
            max_iterations: rest.min(climb.iterations.max(STAGE_ITERATIONS)),
            max_evaluations: settings.max_evaluations.saturating_sub(climb.evaluations),
            ..*settings
        };
        climb.absorb(Climb::new(ascend(&mut *evaluator, &climb.x, bounds, &stage)));
    }
    if !climb.is_certified() && climb.has_stalled(settings) {
        if climb.x.len() <= NEWTON_LIMIT {
            climb.finish(&mut *evaluator, bounds, settings);
        }
        if !climb.is_certified() && settings.interrupted() {
            climb.termination = Termination::Interrupted;
        } else if !climb.is_certified() {
            climb.termination =
                Termination::Stalled { projected_gradient: climb.projected_gradient, gain: climb.value - first };
        }
    }
    climb
}

/// One L-BFGS-B run on minus the log density.
fn ascend(evaluator: &mut dyn Evaluator, start: &[f64], bounds: &Bounds, settings: &Settings) -> Optimum {
    let mut objective = |x: &[f64], gradient: &mut [f64]| -> Result<f64, Rejection> {
        let value = evaluator.log_density_gradient(x, gradient)?;
        for g in gradient {
            *g = -*g;
        }
        Ok(-value)
    };
    minimize(&mut objective, start, bounds.lower, bounds.upper, settings)
}

impl Climb {
    fn new(optimum: Optimum) -> Self {
        Climb {
            x: optimum.x,
            value: -optimum.value,
            gradient: optimum.gradient.iter().map(|g| -g).collect(),
            projected_gradient: optimum.projected_gradient,
            active: optimum.active,
            iterations: optimum.iterations,
            evaluations: optimum.evaluations,
            stages: 1,
            newton_steps: 0,
            termination: optimum.termination,
        }
    }

    /// Whether the climb itself, not a limit or a wall, ended a stage.
    fn has_stalled(&self, settings: &Settings) -> bool {
        match &self.termination {
            Termination::ValueTolerance => true,
            Termination::LineSearchFailed { facts } => facts.rejection.is_none(),
            // A restart has a limit of its own.
            Termination::IterationLimit => self.iterations < settings.max_iterations,
            _ => false,
        }
    }

    /// Continues with `later`, a stage that began at the end of this one; counts add up.
    fn absorb(&mut self, later: Climb) {
        let (iterations, evaluations) = (self.iterations + later.iterations, self.evaluations + later.evaluations);
        let stages = self.stages + 1;
        let rounding = 1e-13 * self.value.abs();
        let worse = later.value < self.value - rounding
            || (later.value <= self.value && later.projected_gradient > self.projected_gradient);
        if worse {
            // The point stays, and so does its reason, unless a limit or an interrupt ends the climb.
            if !later.termination.is_converged() {
                self.termination = later.termination;
            }
        } else {
            *self = later;
        }
        self.iterations = iterations;
        self.evaluations = evaluations;
        self.stages = stages;
    }

    /// Newton steps from the end point.
    fn finish(&mut self, evaluator: &mut dyn Evaluator, bounds: &Bounds, settings: &Settings) {
        let mut polished = Polished {
            x: self.x.clone(),
            value: self.value,
            gradient: self.gradient.clone(),
            steps: 0,
            evaluations: 0,
        };
        polished.polish(evaluator, bounds, settings);
        self.evaluations += polished.evaluations;
        if polished.steps == 0 {
            return;
        }
        self.projected_gradient = polished.projected_gradient(bounds);
        self.newton_steps = polished.steps;
        self.active = bounds.active(&polished.x);
        self.x = polished.x;
        self.value = polished.value;
        self.gradient = polished.gradient;
        if self.projected_gradient <= settings.gradient_tolerance {
            self.termination = Termination::GradientTolerance;
        } else if self.is_certified() {
            self.termination = Termination::ValueTolerance;
        }
    }
}
