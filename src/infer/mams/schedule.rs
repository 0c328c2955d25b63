//! The order of a warm-up: which of its transitions renew the scales, which record for the length, which settle the step.
//!
//! The first 30 % renew the scales in windows of 10 draws (20 with a low-rank preconditioner) and keep trajectories
//! short; up to 85 % windows start at 80 draws and grow by half; in the rest only the step moves. The length is tuned at
//! 60 and 85 %, from the draws since 35 and 60 %.

/// What happens after a transition of warm-up, counted from zero.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Schedule {
    warmup: usize,
    early_end: usize,
    slow_end: usize,
    /// One past the last transition of each window, increasing.
    window_ends: Vec<usize>,
    record_start: usize,
    first_tuning: usize,
}

impl Schedule {
    /// `early` is the width of the first windows. Below 20 transitions only the step is adapted.
    pub fn new(warmup: usize, early: usize) -> Schedule {
        if warmup < 20 {
            return Schedule {
                warmup,
                early_end: 0,
                slow_end: 0,
                window_ends: Vec::new(),
                record_start: warmup,
                first_tuning: warmup,
            };
        }
        let part = |percent: usize| (warmup as f64 * percent as f64 / 100.0) as usize;
        let (early_end, slow_end) = (part(30), part(85));
        let mut window_ends: Vec<usize> = (1..).map(|k| k * early).take_while(|&end| end < early_end).collect();
        window_ends.push(early_end);
        let mut size = 80;
        let mut end = early_end;
        while end < slow_end {
            end += size;
            size += size / 2;
            // The last window takes what would not fill the next one.
            if end + size > slow_end {
                end = slow_end;
            }
            window_ends.push(end);
        }
        Schedule { warmup, early_end, slow_end, window_ends, record_start: part(35), first_tuning: part(60) }
    }

    /// Trajectories are kept short: the scales are not known yet.
    pub fn is_early(&self, iteration: usize) -> bool {
        iteration < self.early_end
    }

    /// The first transition with trajectories of full length follows.
    pub fn ends_early(&self, iteration: usize) -> bool {
        iteration + 1 == self.early_end
    }

    /// The draw counts for the scales, which are renewed.
    pub fn renews_scales(&self, iteration: usize) -> bool {
        iteration < self.slow_end
    }

    pub fn ends_window(&self, iteration: usize) -> bool {
        self.window_ends.binary_search(&(iteration + 1)).is_ok()
    }

    /// The draw counts for the length.
    pub fn records(&self, iteration: usize) -> bool {
        (self.record_start..self.slow_end).contains(&iteration)
    }

    pub fn tunes_length(&self, iteration: usize) -> bool {
        iteration < self.slow_end && (iteration + 1 == self.first_tuning || iteration + 1 == self.slow_end)
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
        assert_eq!(s.window_ends[..3], [10, 20, 30]);
        assert_eq!(s.window_ends[28..], [290, 300, 380, 500, 850]);
        let where_true = |f: &dyn Fn(usize) -> bool| (0..1000).filter(|&i| f(i)).collect::<Vec<usize>>();
        assert_eq!(where_true(&|i| s.is_early(i)), (0..300).collect::<Vec<usize>>());
        assert_eq!(where_true(&|i| s.ends_early(i)), [299]);
        assert_eq!(where_true(&|i| s.renews_scales(i)), (0..850).collect::<Vec<usize>>());
        assert_eq!(where_true(&|i| s.records(i)), (350..850).collect::<Vec<usize>>());
        assert_eq!(where_true(&|i| s.tunes_length(i)), [599, 849]);
        assert_eq!(where_true(&|i| s.ends(i)), [999]);
    }

    #[test]
    fn windows_lie_inside_every_warm_up() {
        for early in [10, 20] {
            for warmup in 0..1500 {
                let s = Schedule::new(warmup, early);
                assert!(s.window_ends.is_sorted_by(|a, b| a < b), "{warmup}");
                assert_eq!(s.window_ends.last().copied().unwrap_or(0), s.slow_end);
                assert!(s.slow_end < warmup || warmup == 0);
                assert_eq!((0..warmup).filter(|&i| s.ends(i)).count(), usize::from(warmup > 0));
                if warmup < 20 {
                    assert!((0..warmup).all(|i| !s.renews_scales(i) && !s.tunes_length(i) && !s.records(i)));
                }
            }
        }
    }
}
