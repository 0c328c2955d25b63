//! The windows of a warm-up: which of its transitions teach the metric, and after which older draws are forgotten.
//!
//! The first 30 % have windows of a few draws, since the chain is still on its way; up to 85 % windows start at 80 draws
//! and grow by half; in the rest only the step moves.

/// Transitions of warm-up, counted from zero.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::infer) struct Windows {
    early_end: usize,
    slow_end: usize,
    /// One past the last transition of each window, increasing.
    ends: Vec<usize>,
}

impl Windows {
    /// `early` is the width of the first windows. Below 20 transitions only the step is adapted.
    pub fn new(warmup: usize, early: usize) -> Windows {
        if warmup < 20 {
            return Windows { early_end: 0, slow_end: 0, ends: Vec::new() };
        }
        let (early_end, slow_end) = (percent(warmup, 30), percent(warmup, 85));
        let mut ends: Vec<usize> = (1..).map(|k| k * early).take_while(|&end| end < early_end).collect();
        ends.push(early_end);
        let mut size = 80;
        let mut end = early_end;
        while end < slow_end {
            end += size;
            size += size / 2;
            // The last window takes what would not fill the next one.
            if end + size > slow_end {
                end = slow_end;
            }
            ends.push(end);
        }
        Windows { early_end, slow_end, ends }
    }

    /// The metric is not known yet.
    pub fn is_early(&self, iteration: usize) -> bool {
        iteration < self.early_end
    }

    /// The first transition that is not early follows.
    pub fn ends_early(&self, iteration: usize) -> bool {
        iteration + 1 == self.early_end
    }

    /// The draw counts for the metric.
    pub fn teaches(&self, iteration: usize) -> bool {
        iteration < self.slow_end
    }

    /// The last draw that counts for the metric.
    pub fn ends_teaching(&self, iteration: usize) -> bool {
        iteration + 1 == self.slow_end
    }

    /// A window ends with this draw.
    pub fn ends_window(&self, iteration: usize) -> bool {
        self.ends.binary_search(&(iteration + 1)).is_ok()
    }

    /// One past the last transition whose draw counts for the metric.
    pub fn slow_end(&self) -> usize {
        self.slow_end
    }
}

/// So many percent of `whole`, rounded down.
pub(in crate::infer) fn percent(whole: usize, share: usize) -> usize {
    (whole as f64 * share as f64 / 100.0) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_warm_up() {
        let w = Windows::new(1000, 10);
        assert_eq!(w.ends[..3], [10, 20, 30]);
        assert_eq!(w.ends[28..], [290, 300, 380, 500, 850]);
        let where_true = |f: &dyn Fn(usize) -> bool| (0..1000).filter(|&i| f(i)).collect::<Vec<usize>>();
        assert_eq!(where_true(&|i| w.is_early(i)), (0..300).collect::<Vec<usize>>());
        assert_eq!(where_true(&|i| w.ends_early(i)), [299]);
        assert_eq!(where_true(&|i| w.teaches(i)), (0..850).collect::<Vec<usize>>());
        assert_eq!(where_true(&|i| w.ends_teaching(i)), [849]);
        assert_eq!(where_true(&|i| w.ends_window(i)), w.ends.iter().map(|e| e - 1).collect::<Vec<usize>>());
    }

    #[test]
    fn windows_lie_inside_every_warm_up() {
        for early in [10, 20] {
            for warmup in 0..1500 {
                let w = Windows::new(warmup, early);
                assert!(w.ends.is_sorted_by(|a, b| a < b), "{warmup}");
                assert_eq!(w.ends.last().copied().unwrap_or(0), w.slow_end);
                assert!(w.slow_end < warmup || warmup == 0);
                if warmup < 20 {
                    assert!((0..warmup).all(|i| !w.teaches(i) && !w.ends_teaching(i) && !w.ends_window(i)));
                }
            }
        }
    }
}
