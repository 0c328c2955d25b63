//! Progress of an evaluation: a bar on a terminal, a plain line every ten seconds elsewhere, or nothing.

use crate::run::progress::{PLAIN_INTERVAL, Reporting, duration};
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::sync::Mutex;
use std::time::Instant;

/// Counts finished folds.
pub(super) struct Watch {
    total: usize,
    begin: Instant,
    bar: Option<ProgressBar>,
    /// Finished folds, and when a line was last written; absent where nothing is shown.
    state: Option<Mutex<(usize, Instant)>>,
}

impl Watch {
    pub fn new(reporting: Reporting, total: usize) -> Watch {
        let begin = Instant::now();
        let shown = reporting == Reporting::Auto;
        let bar = (shown && std::io::stderr().is_terminal()).then(|| {
            let style = ProgressStyle::with_template("folds [{bar:24}] {pos}/{len} {elapsed} {msg}")
                .unwrap_or_else(|_| ProgressStyle::default_bar())
                .progress_chars("=> ");
            ProgressBar::new(total as u64).with_style(style)
        });
        Watch { total, begin, bar, state: shown.then(|| Mutex::new((0, begin))) }
    }

    /// A fold has finished.
    pub fn finished(&self, name: &str) {
        let Some(Ok(mut state)) = self.state.as_ref().map(Mutex::lock) else { return };
        state.0 += 1;
        if let Some(bar) = &self.bar {
            bar.set_message(name.to_string());
            bar.set_position(state.0 as u64);
        } else if state.1.elapsed() >= PLAIN_INTERVAL {
            state.1 = Instant::now();
            let seconds = self.begin.elapsed().as_secs_f64();
            eprintln!("folds: {}/{} after {}, the last: {name}", state.0, self.total, duration(seconds));
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
