//! One run judged: the smaller of bulk and tail effective sample size over all coordinates, gradients and time.

use msrm::diagnose::{Draws, ess::ess_bulk, ess::ess_tail, rank::r_hat};

/// What one run of several chains made.
pub struct Run {
    /// Draws per chain, each d numbers, one after another.
    pub chains: Vec<Vec<f64>>,
    pub dim: usize,
    pub warmup_gradients: u64,
    pub gradients: u64,
    /// Processor seconds, warm-up included.
    pub seconds: f64,
    pub divergences: usize,
}

/// The numbers of a run that are reported.
#[derive(Clone, Copy)]
pub struct Score {
    pub bulk: f64,
    pub tail: f64,
    pub r_hat: f64,
    pub warmup_gradients: f64,
    pub gradients: f64,
    pub seconds: f64,
    pub divergences: f64,
}

impl Score {
    pub fn of(run: &Run) -> Score {
        let (mut bulk, mut tail, mut worst) = (f64::INFINITY, f64::INFINITY, 0.0f64);
        for i in 0..run.dim {
            let columns: Vec<Vec<f64>> =
                run.chains.iter().map(|c| c.iter().skip(i).step_by(run.dim).copied().collect()).collect();
            let slices: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
            let draws = Draws::new(&slices).expect("finite draws");
            bulk = bulk.min(ess_bulk(&draws));
            tail = tail.min(ess_tail(&draws));
            worst = worst.max(r_hat(&draws).unwrap_or(f64::INFINITY));
        }
        Score {
            bulk,
            tail,
            r_hat: worst,
            warmup_gradients: run.warmup_gradients as f64,
            gradients: run.gradients as f64,
            seconds: run.seconds,
            divergences: run.divergences as f64,
        }
    }

    /// The smaller of bulk and tail.
    pub fn ess(&self) -> f64 {
        self.bulk.min(self.tail)
    }
}

/// Processor seconds of this thread, which other programs on the machine do not lengthen; wall-clock seconds where the
/// system does not tell.
pub fn thread_seconds() -> f64 {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = told.as_deref().and_then(|t| t.split(' ').next()).and_then(|n| n.parse::<f64>().ok());
    nanoseconds.map_or_else(
        || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0.0, |d| d.as_secs_f64()),
        |n| n * 1e-9,
    )
}
