//! The order of a warm-up: the windows of the metric, and which transitions record for the length and tune it.
//!
//! The length is tuned at 60 and 85 %, from the draws since 35 and 60 %; while the metric is not known trajectories are
//! kept short.

use crate::infer::adapt::{Windows, percent};

/// What happens after a transition of warm-up, counted from zero.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Schedule {
    pub windows: Windows,
    warmup: usize,
    record_start: usize,
    first_tuning: usize,
}

impl Schedule {
    /// `early` is the width of the first windows. Below 20 transitions only the step is adapted.
    pub fn new(warmup: usize, early: usize) -> Schedule {
        let windows = Windows::new(warmup, early);
        Schedule { windows, warmup, record_start: percent(warmup, 35), first_tuning: percent(warmup, 60) }
    }

    /// The draw counts for the length.
    pub fn records(&self, iteration: usize) -> bool {
        (self.record_start..self.windows.slow_end()).contains(&iteration)
    }

    pub fn tunes_length(&self, iteration: usize) -> bool {
        self.windows.ends_teaching(iteration) || (self.windows.teaches(iteration) && iteration + 1 == self.first_tuning)
    }

    /// The averaged step is taken over.
    pub fn ends(&self, iteration: usize) -> bool {
        iteration + 1 == self.warmup
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_warm_up() {
        let s = Schedule::new(1000, 10);
        let where_true = |f: &dyn Fn(usize) -> bool| (0..1000).filter(|&i| f(i)).collect::<Vec<usize>>();
        assert_eq!(where_true(&|i| s.records(i)), (350..850).collect::<Vec<usize>>());
        assert_eq!(where_true(&|i| s.tunes_length(i)), [599, 849]);
        assert_eq!(where_true(&|i| s.ends(i)), [999]);
    }

    #[test]
    fn a_very_short_warm_up_tunes_nothing() {
        for warmup in 0..20 {
            let s = Schedule::new(warmup, 10);
            assert!((0..warmup).all(|i| !s.tunes_length(i) && !s.records(i)));
            assert_eq!((0..warmup).filter(|&i| s.ends(i)).count(), usize::from(warmup > 0));
        }
    }
}
