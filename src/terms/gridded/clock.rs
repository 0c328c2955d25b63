//! Weights of the rows of a native clock: trapezoid cells within uninterrupted segments, summing to one.

use std::ops::Range;

/// Relative excess over the threshold that still counts as rounding. One row lost from a regular clock leaves an
/// interval of exactly twice the median, and rounding of the times must not decide whether that is a gap.
const ROUNDING: f64 = 1e-9;

/// Splits `times` (strictly increasing) wherever an interval exceeds the threshold: `gap_threshold` seconds, or
/// twice the median interval.
pub fn clock_segments(times: &[f64], gap_threshold: Option<f64>) -> Vec<Range<usize>> {
    let threshold = gap_threshold.unwrap_or_else(|| 2.0 * median_interval(times));
    let threshold = threshold * (1.0 + ROUNDING);
    let mut segments = Vec::new();
    let mut start = 0;
    for i in 1..times.len() {
        if times[i] - times[i - 1] > threshold {
            segments.push(start..i);
            start = i;
        }
    }
    if !times.is_empty() {
        segments.push(start..times.len());
    }
    segments
}

/// One weight per time. A segment of one row stands for a median interval; in longer segments a row stands for half
/// of each interval beside it.
pub fn clock_weights(times: &[f64], gap_threshold: Option<f64>) -> Vec<f64> {
    if times.len() == 1 {
        return vec![1.0];
    }
    let alone = median_interval(times);
    let mut weights = vec![0.0; times.len()];
    for segment in clock_segments(times, gap_threshold) {
        if segment.len() == 1 {
            weights[segment.start] = alone;
        }
        for i in segment.start + 1..segment.end {
            let half = 0.5 * (times[i] - times[i - 1]);
            weights[i - 1] += half;
            weights[i] += half;
        }
    }
    let total: f64 = weights.iter().sum();
    for w in &mut weights {
        *w /= total;
    }
    weights
}

/// Median of the intervals between neighbouring times; 0 where there is none.
fn median_interval(times: &[f64]) -> f64 {
    let mut gaps: Vec<f64> = times.windows(2).map(|w| w[1] - w[0]).collect();
    gaps.sort_by(f64::total_cmp);
    let n = gaps.len();
    match n {
        0 => 0.0,
        _ if n % 2 == 1 => gaps[n / 2],
        _ => 0.5 * (gaps[n / 2 - 1] + gaps[n / 2]),
    }
}
