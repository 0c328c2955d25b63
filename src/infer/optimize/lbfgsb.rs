//! L-BFGS-B: minimises a smooth function of up to tens of thousands of variables inside a box.
//!
//! Byrd, Lu, Nocedal and Zhu (1995), with the subspace step of Morales and Nocedal (2011): generalised Cauchy point,
//! subspace minimisation, line search, compact limited-memory matrix.

use super::CERTIFICATE;
use super::bounds::Bounds;
use super::cauchy::cauchy_point;
use super::compact::{Compact, dot};
use super::line_search::{Halt, Search, search};
use super::outcome::{LineSearchFacts, Optimum, Settings, StartFault, Termination};
use super::subspace::subspace_minimiser;
use crate::graph::Rejection;

/// An objective below minus this falls without limit.
const UNBOUNDED: f64 = 1e10;
/// Longest step, as a multiple of the search direction.
const LONGEST_STEP: f64 = 1e10;

/// An objective to be minimised: value at the point, gradient into the second argument, or why there is none.
pub type Objective<'a> = dyn FnMut(&[f64], &mut [f64]) -> Result<f64, Rejection> + 'a;

/// Minimises `f` from `x0` (length d, moved into the box first) subject to `lower <= x <= upper`.
///
/// `f` returns the value and writes the gradient (length d). A rejected point, NaN, `+inf` or a gradient that is not
/// finite counts as `+inf`: the line search backs away from it. It backs away from `-inf` too, but when the search
/// ends there it is [`Termination::Unbounded`]. Faults of the arguments and a start without a finite value come back
/// as [`Termination::StartRejected`].
pub fn minimize(f: &mut Objective, x0: &[f64], lower: &[f64], upper: &[f64], settings: &Settings) -> Optimum {
    let bounds = Bounds { lower, upper };
    if let Err(fault) = check(x0, &bounds, settings) {
        return Optimum::rejected(x0, 0, fault);
    }
    let ones = vec![1.0; x0.len()];
    let scale = settings.scale.unwrap_or(&ones);
    let divided = |values: &[f64]| values.iter().zip(scale).map(|(v, s)| v / s).collect::<Vec<f64>>();
    let (scaled_lower, scaled_upper) = (divided(lower), divided(upper));
    let scaled_bounds = Bounds { lower: &scaled_lower, upper: &scaled_upper };
    let mut objective = Scaled { f, scale, bounds, scaled_bounds, evaluations: 0 };
    let mut start = x0.to_vec();
    bounds.project(&mut start);
    let mut state = State::new(divided(&start));
    if let Err(rejection) = objective.evaluate(&mut state) {
        return Optimum::rejected(x0, objective.evaluations, StartFault::Density(rejection));
    }
    let mut run = Run {
        trial: state.clone(),
        state,
        memory: Compact::new(settings.memory),
        bounds: scaled_bounds,
        settings,
        seen: None,
    };
    let (iterations, termination) = run.iterate(&mut objective);
    let State { x, physical_gradient: gradient, value, .. } = run.state;
    Optimum {
        projected_gradient: bounds.projected_gradient(&x, &gradient),
        active: bounds.active(&x),
        x,
        value,
        gradient,
        iterations,
        evaluations: objective.evaluations,
        termination,
    }
}

fn check(x0: &[f64], bounds: &Bounds, settings: &Settings) -> Result<(), StartFault> {
    bounds.check(x0.len())?;
    if let Some(index) = x0.iter().position(|value| !value.is_finite()) {
        return Err(StartFault::Coordinate { index, value: x0[index] });
    }
    let Some(scale) = settings.scale else {
        return Ok(());
    };
    if scale.len() != x0.len() {
        return Err(StartFault::Length { argument: "scale", expected: x0.len(), found: scale.len() });
    }
    match scale.iter().position(|&value| !(value > 0.0 && value.is_finite())) {
        Some(index) => Err(StartFault::Scale { index, value: scale[index] }),
        None => Ok(()),
    }
}

/// A point in scaled (`u`, `gradient`) and physical (`x`, `physical_gradient`) coordinates with its value.
#[derive(Debug, Clone)]
struct State {
    u: Vec<f64>,
    gradient: Vec<f64>,
    x: Vec<f64>,
    physical_gradient: Vec<f64>,
    value: f64,
}

impl State {
    fn new(u: Vec<f64>) -> Self {
        let zeros = vec![0.0; u.len()];
        State { gradient: zeros.clone(), x: zeros.clone(), physical_gradient: zeros, u, value: f64::NAN }
    }
}

/// The objective in scaled coordinates.
struct Scaled<'a, 'f, 'o> {
    f: &'f mut Objective<'o>,
    scale: &'a [f64],
    bounds: Bounds<'a>,
    scaled_bounds: Bounds<'a>,
    evaluations: usize,
}

impl Scaled<'_, '_, '_> {
    /// Fills everything in `state` from its `u`.
    fn evaluate(&mut self, state: &mut State) -> Result<(), Rejection> {
        for (i, (x, &u)) in state.x.iter_mut().zip(&state.u).enumerate() {
            // A bound is met exactly, whatever the scale rounds to.
            *x = if u == self.scaled_bounds.lower[i] {
                self.bounds.lower[i]
            } else if u == self.scaled_bounds.upper[i] {
                self.bounds.upper[i]
            } else {
                (u * self.scale[i]).clamp(self.bounds.lower[i], self.bounds.upper[i])
            };
        }
        self.evaluations += 1;
        let value = (self.f)(&state.x, &mut state.physical_gradient)?;
        if !value.is_finite() {
            // The rejection speaks of the log density, which is minus the objective.
            return Err(Rejection::NotFinite { value: -value });
        }
        if let Some(index) = state.physical_gradient.iter().position(|g| !g.is_finite()) {
            let value = state.physical_gradient[index];
            return Err(Rejection::Gradient { index, value });
        }
        for ((g, physical), s) in state.gradient.iter_mut().zip(&state.physical_gradient).zip(self.scale) {
            *g = physical * s;
        }
        state.value = value;
        Ok(())
    }
}

/// Everything a minimisation carries from step to step.
struct Run<'a> {
    state: State,
    trial: State,
    memory: Compact,
    bounds: Bounds<'a>,
    settings: &'a Settings<'a>,
    /// What the last line search saw.
    seen: Option<LineSearchFacts>,
}

impl Run<'_> {
    fn iterate(&mut self, objective: &mut Scaled) -> (usize, Termination) {
        let mut stalled = 0;
        let mut iterations = 0;
        loop {
            if self.projected_gradient(objective) <= self.settings.gradient_tolerance {
                return (iterations, Termination::GradientTolerance);
            }
            if self.state.value < -UNBOUNDED {
                return (iterations, Termination::Unbounded { value: self.state.value, size: self.size() });
            }
            if iterations >= self.settings.max_iterations {
                return (iterations, Termination::IterationLimit);
            }
            let before = self.state.value;
            if let Err(termination) = self.step(objective) {
                return (iterations, termination);
            }
            iterations += 1;
            let value = self.state.value;
            let size = before.abs().max(value.abs()).max(1.0);
            stalled = if before - value <= self.settings.value_tolerance * size { stalled + 1 } else { 0 };
            if stalled >= self.settings.stall_iterations.max(1) {
                return (iterations, self.stall(objective));
            }
        }
    }

    fn projected_gradient(&self, objective: &Scaled) -> f64 {
        objective.bounds.projected_gradient(&self.state.x, &self.state.physical_gradient)
    }

    /// What it means that the value stopped falling.
    fn stall(&self, objective: &Scaled) -> Termination {
        let projected_gradient = self.projected_gradient(objective);
        if projected_gradient <= self.settings.gradient_tolerance {
            return Termination::GradientTolerance;
        }
        match &self.seen {
            // Creeping up to a wall of rejected points is no convergence.
            Some(facts) if facts.rejections > 0 && projected_gradient > CERTIFICATE => self.failure(facts.clone()),
            _ => Termination::ValueTolerance,
        }
    }

    /// One accepted step; on failure the state is the last accepted point.
    fn step(&mut self, objective: &mut Scaled) -> Result<(), Termination> {
        // The fall of the value that the quasi-Newton model still promised.
        let mut promised = f64::INFINITY;
        loop {
            let fresh = self.memory.pairs() == 0;
            let mut facts = LineSearchFacts::unsearched(self.state.value);
            if let Some(target) = self.target() {
                let direction: Vec<f64> = target.iter().zip(&self.state.u).map(|(a, b)| a - b).collect();
                let slope = dot(&direction, &self.state.gradient);
                facts.slope = slope;
                if slope < 0.0 {
                    match self.search(objective, &target, &direction, slope) {
                        Search::Accepted { step, facts } => {
                            return self.accept(objective, &target, &direction, step, facts);
                        }
                        Search::Stopped(termination) => return Err(termination),
                        Search::Failed(seen) => facts = seen,
                    }
                }
            }
            if fresh {
                let rounding = self.settings.value_tolerance * self.state.value.abs().max(1.0);
                let exhausted = promised <= rounding && facts.rejections == 0;
                let certified = self.projected_gradient(objective) <= CERTIFICATE;
                return Err(if exhausted || certified { Termination::ValueTolerance } else { self.failure(facts) });
            }
            if facts.trials > 0 {
                promised = -0.5 * facts.slope;
            }
            self.memory.clear();
        }
    }

    /// Minimiser of the model inside the box; none when rounding has made the memory unusable.
    fn target(&self) -> Option<Vec<f64>> {
        let State { u, gradient, .. } = &self.state;
        let cauchy = cauchy_point(u, gradient, &self.bounds, &self.memory);
        let target = subspace_minimiser(u, gradient, &self.bounds, &self.memory, cauchy).ok()?;
        target.iter().all(|u| u.is_finite()).then_some(target)
    }

    fn search(&mut self, objective: &mut Scaled, target: &[f64], direction: &[f64], slope: f64) -> Search {
        let longest = direction.iter().enumerate().fold(LONGEST_STEP, |longest, (i, &d)| {
            let wall = if d > 0.0 { self.bounds.upper[i] } else { self.bounds.lower[i] };
            // Rounding may put the wall a little short of the target, which is inside the box.
            if d == 0.0 { longest } else { longest.min(((wall - self.state.u[i]) / d).max(1.0)) }
        });
        let first = if self.memory.pairs() == 0 { 1.0 / dot(direction, direction).sqrt() } else { 1.0 };
        let value = self.state.value;
        let evaluate = |t: f64| {
            self.check_limits(objective)?;
            self.place_trial(target, direction, t);
            objective.evaluate(&mut self.trial).map_err(Halt::Rejected)?;
            Ok((self.trial.value, dot(&self.trial.gradient, direction)))
        };
        search(evaluate, value, slope, first.min(longest), longest)
    }

    fn check_limits(&self, objective: &Scaled) -> Result<(), Halt> {
        if self.settings.interrupted() {
            return Err(Halt::Stop(Termination::Interrupted));
        }
        if objective.evaluations >= self.settings.max_evaluations {
            return Err(Halt::Stop(Termination::EvaluationLimit));
        }
        Ok(())
    }

    fn place_trial(&mut self, target: &[f64], direction: &[f64], t: f64) {
        for (i, u) in self.trial.u.iter_mut().enumerate() {
            // A whole step lands on the target exactly, so that bounds are hit without rounding.
            let moved = if t == 1.0 { target[i] } else { self.state.u[i] + t * direction[i] };
            *u = moved.clamp(self.bounds.lower[i], self.bounds.upper[i]);
        }
    }

    fn accept(
        &mut self,
        objective: &mut Scaled,
        target: &[f64],
        direction: &[f64],
        t: f64,
        mut facts: LineSearchFacts,
    ) -> Result<(), Termination> {
        let last = self.trial.u.clone();
        self.place_trial(target, direction, t);
        // The accepted point need not be the last one tried.
        if self.trial.u != last
            && let Err(rejection) = objective.evaluate(&mut self.trial)
        {
            facts.rejections += 1;
            facts.rejection = Some(rejection);
            return Err(Termination::LineSearchFailed { facts });
        }
        self.seen = Some(facts);
        let difference = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a - b).collect::<Vec<f64>>();
        let s = difference(&self.trial.u, &self.state.u);
        let y = difference(&self.trial.gradient, &self.state.gradient);
        std::mem::swap(&mut self.state, &mut self.trial);
        if self.memory.update(s, y).is_err() {
            self.memory.clear();
        }
        Ok(())
    }

    /// Names a failure: a fall towards a density of `+inf` is unbounded.
    fn failure(&self, facts: LineSearchFacts) -> Termination {
        match facts.rejection {
            Some(Rejection::NotFinite { value: f64::INFINITY }) => {
                Termination::Unbounded { value: f64::NEG_INFINITY, size: self.size() }
            }
            _ => Termination::LineSearchFailed { facts },
        }
    }

    /// Largest absolute physical coordinate.
    fn size(&self) -> f64 {
        self.state.x.iter().fold(0.0, |size, x| size.max(x.abs()))
    }
}
