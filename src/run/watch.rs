//! Progress of a mode search: a log density that tells, while it is climbed, how far the climb is.

use super::progress::{PLAIN_INTERVAL, Reporting, duration};
use crate::graph::{Evaluator, LogDensity, Rejection};
use indicatif::ProgressBar;
use std::io::IsTerminal;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// A log density whose evaluations are counted and shown.
pub(super) struct Watched<'a> {
    density: &'a dyn LogDensity,
    begin: Instant,
    bar: Option<ProgressBar>,
    state: Option<Mutex<State>>,
}

struct State {
    shown: Instant,
    gradients: u64,
    best: f64,
}

impl<'a> Watched<'a> {
    /// Watches `density`: a spinner on a terminal, a plain line every ten seconds elsewhere, nothing when quiet.
    pub fn new(density: &'a dyn LogDensity, reporting: Reporting) -> Self {
        let begin = Instant::now();
        let shown = reporting == Reporting::Auto;
        let bar = (shown && std::io::stderr().is_terminal()).then(ProgressBar::new_spinner);
        let state = shown.then(|| Mutex::new(State { shown: begin, gradients: 0, best: f64::NEG_INFINITY }));
        Self { density, begin, bar, state }
    }

    fn tell(&self, value: f64) {
        let Some(Ok(mut state)) = self.state.as_ref().map(Mutex::lock) else { return };
        state.gradients += 1;
        state.best = state.best.max(value);
        let interval = if self.bar.is_some() { Duration::from_millis(100) } else { PLAIN_INTERVAL };
        if state.shown.elapsed() < interval {
            return;
        }
        state.shown = Instant::now();
        let seconds = self.begin.elapsed().as_secs_f64();
        let text = format!(
            "climbing: {} gradients at {}, highest log density {:.6}, {}",
            state.gradients,
            duration(seconds / state.gradients as f64),
            state.best,
            duration(seconds)
        );
        match &self.bar {
            Some(bar) => {
                bar.set_message(text);
                bar.tick();
            }
            None => eprintln!("{text}"),
        }
    }
}

impl Drop for Watched<'_> {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

impl LogDensity for Watched<'_> {
    fn dim(&self) -> usize {
        self.density.dim()
    }

    fn evaluator(&self) -> Box<dyn Evaluator + '_> {
        Box::new(WatchedEvaluator { inner: self.density.evaluator(), watched: self })
    }
}

struct WatchedEvaluator<'a> {
    inner: Box<dyn Evaluator + 'a>,
    watched: &'a Watched<'a>,
}

impl Evaluator for WatchedEvaluator<'_> {
    fn log_density_gradient(&mut self, x: &[f64], gradient: &mut [f64]) -> Result<f64, Rejection> {
        let result = self.inner.log_density_gradient(x, gradient);
        self.watched.tell(*result.as_ref().unwrap_or(&f64::NEG_INFINITY));
        result
    }
}
