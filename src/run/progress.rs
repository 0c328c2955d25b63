//! Progress of chains: bars on a terminal, a plain line every ten seconds otherwise, or nothing.

use super::engine::Extent;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// How progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reporting {
    /// Bars on a terminal, plain lines elsewhere.
    Auto,
    /// Nothing.
    Quiet,
}

/// Seconds between plain lines.
pub(super) const PLAIN_INTERVAL: Duration = Duration::from_secs(10);
/// Bars are redrawn at most this often, so that fast chains do not spend their time drawing.
const DRAW_INTERVAL: Duration = Duration::from_millis(100);

/// What a chain tells about itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChainStatus {
    pub done: usize,
    pub total: usize,
    pub warmup: bool,
    pub step_size: f64,
    pub extent: Extent,
    pub divergences: usize,
    pub gradients: u64,
    pub seconds: f64,
}

impl ChainStatus {
    fn describe(&self) -> String {
        let phase = if self.warmup { "warm-up" } else { "sampling" };
        let per_gradient = if self.gradients > 0 { self.seconds / self.gradients as f64 } else { 0.0 };
        let left = if self.done > 0 { self.seconds / self.done as f64 * (self.total - self.done) as f64 } else { 0.0 };
        format!(
            "{phase}, step {:.3}, {}, divergences {}, {} per gradient, {} left",
            self.step_size,
            match self.extent {
                Extent::Depth(depth) => format!("depth {depth}"),
                Extent::Steps(steps) => format!("steps {steps}"),
            },
            self.divergences,
            duration(per_gradient),
            duration(left)
        )
    }
}

/// A length of time with a fitting unit.
pub fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 1e-3 => format!("{:.1} us", s * 1e6),
        s if s < 1.0 => format!("{:.1} ms", s * 1e3),
        s if s < 120.0 => format!("{s:.1} s"),
        s if s < 7200.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

/// Shows the progress of several chains.
pub struct Progress {
    bars: Vec<ProgressBar>,
    /// Last redraw of each bar.
    drawn: Vec<Mutex<Instant>>,
    plain: Option<Mutex<(Instant, Vec<Option<ChainStatus>>)>>,
}

impl Progress {
    /// For `chains` chains of `total` transitions each.
    pub fn new(reporting: Reporting, chains: usize, total: usize) -> Self {
        let now = Instant::now();
        let mut progress = Progress { bars: Vec::new(), drawn: Vec::new(), plain: None };
        if reporting == Reporting::Quiet {
            return progress;
        }
        if std::io::stderr().is_terminal() {
            let group = MultiProgress::new();
            let style = ProgressStyle::with_template("{prefix} [{bar:24}] {pos}/{len} {wide_msg}")
                .unwrap_or_else(|_| ProgressStyle::default_bar())
                .progress_chars("=> ");
            for chain in 0..chains {
                let bar = group.add(ProgressBar::new(total as u64).with_style(style.clone()));
                bar.set_prefix(format!("chain {}", chain + 1));
                progress.bars.push(bar);
                progress.drawn.push(Mutex::new(now));
            }
        } else {
            progress.plain = Some(Mutex::new((now, vec![None; chains])));
        }
        progress
    }

    /// Tells where `chain` stands.
    pub(super) fn update(&self, chain: usize, status: ChainStatus) {
        if let (Some(bar), Some(drawn)) = (self.bars.get(chain), self.drawn.get(chain)) {
            let Ok(mut last) = drawn.lock() else { return };
            if last.elapsed() >= DRAW_INTERVAL || status.done == status.total {
                *last = Instant::now();
                bar.set_position(status.done as u64);
                bar.set_message(status.describe());
                if status.done == status.total {
                    bar.finish();
                }
            }
        }
        let Some(plain) = &self.plain else { return };
        let Ok(mut plain) = plain.lock() else { return };
        plain.1[chain] = Some(status);
        if plain.0.elapsed() >= PLAIN_INTERVAL {
            plain.0 = Instant::now();
            for (chain, status) in plain.1.iter().enumerate().filter_map(|(i, s)| s.as_ref().map(|s| (i, s))) {
                eprintln!("chain {}: {}/{} {}", chain + 1, status.done, status.total, status.describe());
            }
        }
    }
}
