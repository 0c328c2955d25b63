//! What goes into a minimisation and what comes out: settings, the optimum, and the reason it stopped.

use std::sync::atomic::{AtomicBool, Ordering};

use super::CERTIFICATE;
use crate::graph::Rejection;

/// How to minimise. Tolerances are in the physical coordinates and units of the objective.
#[derive(Debug, Clone, Copy)]
pub struct Settings<'a> {
    /// Accepted steps before giving up.
    pub max_iterations: usize,
    /// Objective evaluations before giving up, line searches included.
    pub max_evaluations: usize,
    /// Number of correction pairs kept.
    pub memory: usize,
    /// Stop when the largest projected partial derivative is at most this.
    pub gradient_tolerance: f64,
    /// Stop when a step lowers the value by at most this, relative to `max(|f|, |f_previous|, 1)`.
    pub value_tolerance: f64,
    /// Number of consecutive steps that must meet `value_tolerance` before it stops the search (at least 1).
    pub stall_iterations: usize,
    /// Typical size of each coordinate (length d, positive): the search runs in `x / scale`.
    pub scale: Option<&'a [f64]>,
    /// When it becomes true the search ends with [`Termination::Interrupted`] before the next evaluation.
    pub stop: Option<&'a AtomicBool>,
}

impl Default for Settings<'_> {
    fn default() -> Self {
        Settings {
            max_iterations: 10_000,
            max_evaluations: 100_000,
            memory: 20,
            gradient_tolerance: 1e-6,
            value_tolerance: 1e-12,
            stall_iterations: 5,
            scale: None,
            stop: None,
        }
    }
}

impl Settings<'_> {
    pub(super) fn interrupted(&self) -> bool {
        self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
    }
}

/// Where a minimisation ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Optimum {
    /// The last accepted point (length d), inside the box.
    pub x: Vec<f64>,
    /// Objective at `x`; NaN only when the start was rejected.
    pub value: f64,
    /// Gradient at `x` (length d); empty when the start was rejected.
    pub gradient: Vec<f64>,
    /// Accepted steps.
    pub iterations: usize,
    /// Objective evaluations.
    pub evaluations: usize,
    /// Largest absolute partial derivative, leaving out those that point out of the box at a bound; infinite when
    /// the start was rejected.
    pub projected_gradient: f64,
    /// Coordinates at a bound, ascending.
    pub active: Vec<usize>,
    /// Why the search stopped.
    pub termination: Termination,
}

impl Optimum {
    /// Whether the projected gradient is at most [`CERTIFICATE`], whatever stopped the search.
    pub fn is_certified(&self) -> bool {
        self.projected_gradient <= CERTIFICATE
    }

    pub(super) fn rejected(x: &[f64], evaluations: usize, fault: StartFault) -> Self {
        Optimum { evaluations, ..Optimum::unused(x, Termination::StartRejected { fault }) }
    }

    /// A start that an interrupt left without an evaluation.
    pub(super) fn skipped(x: &[f64]) -> Self {
        Optimum::unused(x, Termination::Interrupted)
    }

    fn unused(x: &[f64], termination: Termination) -> Self {
        Optimum {
            x: x.to_vec(),
            value: f64::NAN,
            gradient: Vec::new(),
            iterations: 0,
            evaluations: 0,
            projected_gradient: f64::INFINITY,
            active: Vec::new(),
            termination,
        }
    }
}

/// Why a minimisation stopped.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Termination {
    /// The projected gradient is within its tolerance.
    #[error("the projected gradient is within its tolerance")]
    GradientTolerance,
    /// The value no longer falls by more than its relative tolerance.
    #[error("the value no longer changes within its relative tolerance")]
    ValueTolerance,
    /// `max_iterations` steps were taken.
    #[error("the limit of iterations was reached")]
    IterationLimit,
    /// `max_evaluations` evaluations were made.
    #[error("the limit of evaluations was reached")]
    EvaluationLimit,
    /// No acceptable point was found along a descent direction, not even along the projected gradient.
    #[error("line search failed: {facts}")]
    LineSearchFailed { facts: LineSearchFacts },
    /// Several stages in a row stalled and the projected gradient is still above [`CERTIFICATE`]: a ridge, a funnel,
    /// or a density without a maximum. `gain` is the fall of the objective since the first stall. Only
    /// [`maximize`](super::maximize) says this.
    #[error(
        "the value stalls but the projected gradient is {projected_gradient:e} \
         ({gain:e} gained since it first did)"
    )]
    Stalled { projected_gradient: f64, gain: f64 },
    /// The objective falls without limit; the last accepted point is reported. `value` is the objective that showed
    /// it (below -1e10 or `-inf`), `size` the largest absolute coordinate there.
    #[error("the objective is unbounded below: {value:e} at a point of size {size:e}")]
    Unbounded { value: f64, size: f64 },
    /// Nothing could be minimised from this start.
    #[error("the start was rejected: {fault}")]
    StartRejected { fault: StartFault },
    /// The stop flag was raised.
    #[error("interrupted")]
    Interrupted,
}

impl Termination {
    /// Whether a tolerance, not a limit or a failure, ended the search.
    pub fn is_converged(&self) -> bool {
        matches!(self, Termination::GradientTolerance | Termination::ValueTolerance)
    }
}

/// Why a start cannot be used.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum StartFault {
    /// The objective has no finite value or gradient there.
    #[error("{0}")]
    Density(Rejection),
    /// A coordinate is not finite.
    #[error("coordinate {index} is {value}")]
    Coordinate { index: usize, value: f64 },
    /// A pair of bounds holds no number.
    #[error("bounds of coordinate {index} are [{lower}, {upper}]")]
    Bounds { index: usize, lower: f64, upper: f64 },
    /// A scale is not a positive finite number.
    #[error("scale of coordinate {index} is {value}")]
    Scale { index: usize, value: f64 },
    /// An argument has the wrong length.
    #[error("{argument} has length {found}, the start has {expected}")]
    Length { argument: &'static str, expected: usize, found: usize },
}

/// What a failed line search saw.
#[derive(Debug, Clone, PartialEq)]
pub struct LineSearchFacts {
    /// Directional derivative at the start of the search (negative).
    pub slope: f64,
    /// Objective at the start of the search.
    pub value: f64,
    /// Trial points, rejected ones included.
    pub trials: usize,
    /// Trial points at which the objective was rejected or infinite.
    pub rejections: usize,
    /// Smallest step tried, as a multiple of the search direction.
    pub smallest_step: f64,
    /// The rejection nearest to the start of the search.
    pub rejection: Option<Rejection>,
}

impl LineSearchFacts {
    /// A search from `value` before its first trial.
    pub(super) fn unsearched(value: f64) -> Self {
        LineSearchFacts { slope: 0.0, value, trials: 0, rejections: 0, smallest_step: f64::INFINITY, rejection: None }
    }
}

impl std::fmt::Display for LineSearchFacts {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            out,
            "{} trials down to a step of {:e} from value {:e} with slope {:e}",
            self.trials, self.smallest_step, self.value, self.slope
        )?;
        match &self.rejection {
            Some(rejection) => write!(out, "; {} rejected, nearest: {rejection}", self.rejections),
            None => Ok(()),
        }
    }
}
