//! Metropolis-adjusted microcanonical sampling with warm-up: one pure step at a time.
//!
//! The state moves at unit speed along a direction that the gradient turns; the end of a trajectory is accepted or
//! refused by its energy error. [`Chain::step`] makes one transition and says everything about it; the caller keeps
//! draws, clocks and files. The parts: `kick` and `integrator` (the motion), `preconditioner` (its coordinates), `flow`
//! (one trajectory), `lengths` (its random length), `descent`, `schedule`, `length_tuner` and `autocorrelation`
//! (warm-up). Robnik, Cohn-Gordon & Seljak 2025 (arXiv 2503.01707).

mod autocorrelation;
mod descent;
mod flow;
mod integrator;
mod kick;
mod length_tuner;
mod lengths;
mod preconditioner;
mod schedule;
mod settings;

#[cfg(test)]
mod flow_tests;
#[cfg(test)]
mod moment_tests;
#[cfg(test)]
mod tests;

pub use super::adapt::{MAX_STEP, MIN_STEP};
pub use super::start::StartError;
pub use super::transition::{Divergence, Phase, WarmupFaults};
pub use integrator::Integrator;
pub use lengths::Lengths;
pub use preconditioner::{Preconditioner, PreconditionerKind};
pub use settings::{Refresh, Settings};

use super::adapt::{DualAveraging, MOST_DRAWS, Recent, Scales, first_scales};
use super::nuts::HandOver;
use super::start::{check_start, check_value};
use crate::graph::LogDensity;
use descent::Descent;
use flow::{Course, Flow, Outcome, State, refresh};
use length_tuner::{LengthTuner, first_length};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use schedule::Schedule;

/// Mean number of steps of a trajectory while the scales are not known yet.
const EARLY_STEPS: f64 = 10.0;

/// Everything about one transition except the new position, which is [`Chain::position`].
#[derive(Debug, Clone, PartialEq)]
pub struct Transition {
    pub phase: Phase,
    /// Log density at the new position.
    pub log_density: f64,
    /// W, the energy error of the trajectory; `+inf` where it broke off. Of the No-U-Turn transitions with which warm-up
    /// begins, whose acceptance is a mean, that to which it belongs.
    pub energy_error: f64,
    /// min(1, exp(-W)), the probability with which the end of the trajectory was accepted; 0 where a gradient was too
    /// strong for the step to be followed in double precision.
    pub acceptance: f64,
    pub accepted: bool,
    /// Steps that the trajectory was to take, each of one to five gradients; all gradients of a No-U-Turn tree.
    pub steps: u32,
    /// Gradients evaluated since the last transition, those of the start and of step size searches included.
    pub gradients: u32,
    pub divergence: Option<Divergence>,
    /// Step size of this transition, in the preconditioned space.
    pub step_size: f64,
    /// Mean trajectory length L of this transition, in the preconditioned space.
    pub length: f64,
}

/// One Markov chain. The same density, start, settings and generator give the same draws.
pub struct Chain<'a> {
    /// The beginning of warm-up, until it is over.
    descent: Option<Box<Descent<'a>>>,
    flow: Flow<'a>,
    current: State,
    proposal: State,
    direction: Vec<f64>,
    rng: ChaCha8Rng,
    settings: Settings,
    integrator: Integrator,
    schedule: Schedule,
    averaging: DualAveraging,
    scales: Scales,
    /// Draws for the directions of a preconditioner of low rank, if that is what is learnt.
    recent: Option<Recent>,
    tuner: LengthTuner,
    step_size: f64,
    length: f64,
    completed: usize,
    faults: WarmupFaults,
}

impl<'a> Chain<'a> {
    /// A chain at `start` (length d >= 2), with scales from the gradient there and a first step size found by doubling.
    pub fn new(
        density: &'a dyn LogDensity,
        start: &[f64],
        settings: Settings,
        mut rng: ChaCha8Rng,
    ) -> Result<Chain<'a>, StartError> {
        settings.check()?;
        let dim = density.dim();
        check_start(dim, start)?;
        if dim == 1 {
            return Err(StartError::OneCoordinate);
        }
        let mut current = State::at(start);
        let mut flow = Flow::new(density.evaluator(), Preconditioner::diagonal(vec![1.0; dim]));
        let descent = Descent::new(density, start, &settings, ChaCha8Rng::from_rng(&mut rng))?.map(Box::new);
        if descent.is_none() {
            flow.evaluate(&mut current)?;
            check_value(current.log_density, &current.gradient)?;
            let scales = first_scales(&current.gradient);
            flow.precondition(&mut current, |p| *p = Preconditioner::diagonal(scales));
        }
        let (early, recent) = match settings.preconditioner {
            PreconditionerKind::Diagonal => (10, None),
            PreconditionerKind::LowRank => (20, Some(Recent::new(MOST_DRAWS))),
        };
        let mut chain = Chain {
            descent,
            flow,
            proposal: current.clone(),
            current,
            direction: vec![0.0; dim],
            rng,
            integrator: settings.integrator.unwrap_or(Integrator::for_dim(dim)),
            schedule: Schedule::new(settings.warmup, early),
            averaging: DualAveraging::new(settings.target_accept, 1.0),
            scales: Scales::new(dim),
            recent,
            tuner: LengthTuner::new(dim),
            step_size: 1.0,
            length: first_length(dim),
            completed: 0,
            faults: WarmupFaults::default(),
            settings,
        };
        match &chain.descent {
            Some(descent) => chain.step_size = descent.chain.step_size(),
            None => chain.begin(),
        }
        Ok(chain)
    }

    /// Makes one transition. During warm-up it also adapts; after [`Chain::is_finished`] it goes on drawing.
    pub fn step(&mut self) -> Transition {
        if let Some(descent) = self.descent.take() {
            return self.descend(descent);
        }
        let warmup = self.is_warmup();
        let step_size = self.step_size;
        let length = self.length_now();
        let steps =
            self.settings.lengths.steps(length / step_size, self.settings.max_steps, self.completed, &mut self.rng);
        let (energy_error, acceptance, divergence) = match self.propose(steps) {
            Ok(Outcome { energy_error, trusted }) => {
                let diverged = energy_error > self.settings.max_energy_error;
                let acceptance = if trusted { (-energy_error).exp().min(1.0) } else { 0.0 };
                (energy_error, acceptance, diverged.then(|| self.flow.divergence(&self.proposal, energy_error)))
            }
            Err(divergence) => (f64::INFINITY, 0.0, Some(divergence)),
        };
        let accepted = self.rng.random::<f64>() < acceptance;
        if accepted {
            std::mem::swap(&mut self.current, &mut self.proposal);
        }
        if warmup {
            self.adapt(acceptance, divergence.is_some());
        }
        self.completed += 1;
        Transition {
            phase: if warmup { Phase::Warmup } else { Phase::Sampling },
            log_density: self.current.log_density,
            energy_error,
            acceptance,
            accepted,
            steps,
            gradients: self.flow.take_evaluations(),
            divergence,
            step_size,
            length,
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
        &self.current.position
    }

    /// Log density at the current position.
    pub fn log_density(&self) -> f64 {
        self.current.log_density
    }

    /// Step size of the next transition, in the preconditioned space.
    pub fn step_size(&self) -> f64 {
        self.step_size
    }

    /// Mean trajectory length L after warm-up as it stands, in the preconditioned space.
    pub fn length(&self) -> f64 {
        self.length
    }

    /// How steps are split.
    pub fn integrator(&self) -> Integrator {
        self.integrator
    }

    /// Preconditioner of the next transition.
    pub fn preconditioner(&self) -> &Preconditioner {
        self.flow.preconditioner()
    }

    /// What went wrong during warm-up so far.
    pub fn warmup_faults(&self) -> WarmupFaults {
        self.faults
    }

    /// Makes one of the transitions with which warm-up begins, and takes over after the last.
    fn descend(&mut self, mut descent: Box<Descent<'a>>) -> Transition {
        let (t, arrived) = descent.step();
        let chain = &descent.chain;
        let accepted = self.current.position != chain.position();
        self.current.position.copy_from_slice(chain.position());
        self.current.log_density = chain.log_density();
        self.faults = chain.warmup_faults();
        self.step_size = chain.step_size();
        self.completed += 1;
        if arrived {
            self.take_over(descent.chain.hand_over());
        } else {
            self.descent = Some(descent);
        }
        Transition {
            phase: Phase::Warmup,
            log_density: t.log_density,
            energy_error: -t.acceptance.ln(),
            acceptance: t.acceptance,
            accepted,
            steps: t.leapfrogs,
            gradients: t.leapfrogs + self.flow.take_evaluations(),
            divergence: t.divergence,
            step_size: t.step_size,
            length: self.length,
        }
    }

    /// Goes on from where the descent ended, with the metric it has learnt.
    fn take_over(&mut self, left: HandOver) {
        self.current.gradient = left.gradient;
        self.scales = left.learner.scales;
        let directions = match &left.learner.recent {
            None => None,
            Some(recent) => recent.low_rank(&left.scales),
        };
        if self.recent.is_some() {
            self.recent = left.learner.recent;
        }
        let preconditioner = match directions {
            Some(Ok(directions)) => Preconditioner::low_rank(left.scales, directions),
            Some(Err(_)) => {
                self.faults.metric_failures += 1;
                Preconditioner::diagonal(left.scales)
            }
            None => Preconditioner::diagonal(left.scales),
        };
        self.flow.precondition(&mut self.current, |p| *p = preconditioner);
        self.step_size = 1.0;
        self.begin();
    }

    /// Finds a first step size at the current state.
    fn begin(&mut self) {
        self.search_step_size();
        self.averaging = DualAveraging::new(self.settings.target_accept, self.step_size);
    }

    /// L of the next transition: kept short in early warm-up.
    fn length_now(&self) -> f64 {
        if self.is_warmup() && self.schedule.windows.is_early(self.completed) {
            return self.length.min(EARLY_STEPS * self.step_size);
        }
        self.length
    }

    /// Follows a trajectory in a fresh direction; its end is the proposal.
    fn propose(&mut self, steps: u32) -> Result<Outcome, Divergence> {
        refresh(&mut self.direction, &mut self.rng);
        let decoherence = match self.settings.refresh {
            Refresh::Full => None,
            Refresh::Langevin { ratio } => Some(ratio * self.length),
        };
        let course = Course { integrator: self.integrator, step: self.step_size, steps, decoherence };
        self.flow.trajectory(&self.current, &mut self.proposal, &mut self.direction, course, &mut self.rng)
    }

    fn adapt(&mut self, acceptance: f64, diverged: bool) {
        self.faults.count_divergence(diverged);
        let iteration = self.completed;
        let proposed = self.averaging.update(acceptance).min(self.length);
        self.averaging.cap(self.length);
        self.set_step_size(proposed);
        let mut restarts = self.schedule.windows.ends_early(iteration);
        if self.schedule.windows.teaches(iteration) {
            restarts |= self.renew_preconditioner();
        }
        if self.schedule.records(iteration) {
            self.tuner.add(&self.current.position);
        }
        if self.schedule.tunes_length(iteration) {
            if let Some(length) = self.tuner.tuned(self.length, self.current.position.len()) {
                self.length = length;
            }
            self.tuner.clear();
            restarts = true;
        }
        if restarts {
            self.averaging = DualAveraging::around(self.settings.target_accept, self.step_size);
        }
        if self.schedule.ends(iteration) {
            self.set_step_size(self.averaging.averaged());
        }
    }

    /// Takes in the current draw; true where the new preconditioner asks for another step size, which is then searched.
    fn renew_preconditioner(&mut self) -> bool {
        let ends_window = self.schedule.windows.ends_window(self.completed);
        let Chain { scales, current, flow, faults, .. } = self;
        scales.add(&current.position, &current.gradient);
        let Some(recent) = &mut self.recent else {
            if ends_window {
                scales.end_window();
            }
            if scales.is_due() {
                flow.precondition(current, |p| scales.write(p.scales_mut()));
            }
            return false;
        };
        recent.add(&current.position, &current.gradient);
        if !ends_window {
            return false;
        }
        let mut latest = flow.preconditioner().scales().to_vec();
        scales.write(&mut latest);
        let renewed = recent.low_rank(&latest);
        scales.end_window();
        recent.end_window();
        match renewed {
            None => return false,
            Some(Err(_)) => {
                faults.metric_failures += 1;
                return false;
            }
            Some(Ok(directions)) => flow.precondition(current, |p| *p = Preconditioner::low_rank(latest, directions)),
        }
        // Autocorrelations under the old preconditioner say nothing of the new one.
        self.tuner.clear();
        self.search_step_size();
        true
    }

    /// Doubles or halves the step until the acceptance of a single one crosses 0.8, with a fresh direction for each
    /// try; it stays within [`MIN_STEP`] and [`MAX_STEP`].
    fn search_step_size(&mut self) {
        let grows = self.accepts_step();
        loop {
            self.step_size *= if grows { 2.0 } else { 0.5 };
            if !(MIN_STEP..=MAX_STEP).contains(&self.step_size) {
                break;
            }
            if self.accepts_step() != grows {
                break;
            }
        }
        self.set_step_size(self.step_size);
    }

    /// Keeps the step within its limits and counts when it had to. A step longer than L may well be accepted, but such a
    /// trajectory returns to the same distance from the mode again and again.
    fn set_step_size(&mut self, step: f64) {
        self.step_size = self.faults.clamp_step(step).min(self.length);
    }

    fn accepts_step(&mut self) -> bool {
        self.propose(1).is_ok_and(|o| o.trusted && o.energy_error < -f64::ln(0.8))
    }
}
