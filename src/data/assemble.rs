//! From loose entries (time, feature, value, line) to the rows of one stream: joined on exact times, sorted, checked.

use super::error::DataError;
use super::finding::{Findings, Repeat, StreamName};
use super::load::Duplicates;
use super::repair::Repair;
use std::path::Path;

/// One value as it stands in a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    /// Seconds, finite.
    pub(super) time: f64,
    /// NaN where the file marks it missing.
    pub(super) value: f64,
    pub(super) feature: usize,
    pub(super) line: u64,
}

/// The rows of one stream, and what had to be done to get them.
#[derive(Debug, Default)]
pub(super) struct Assembled {
    /// Seconds, strictly increasing, length T: the union over the features.
    pub(super) times: Vec<f64>,
    /// T x F, row-major, NaN where missing.
    pub(super) values: Vec<f64>,
    unsorted: Findings<u64>,
    repeats: Vec<Group>,
    absent: usize,
}

/// Entries of one time that stand on the same lines.
#[derive(Debug)]
struct Group {
    time: f64,
    features: Vec<usize>,
    lines: Vec<u64>,
}

/// Joins `entries`, which come in file order, into rows of `features` columns.
pub(super) fn assemble(mut entries: Vec<Entry>, features: usize) -> Assembled {
    let mut out = Assembled { unsorted: unsorted(&entries, features), ..Assembled::default() };
    // Values are part of the order so that the mean of repeated entries does not depend on the order of the rows.
    entries.sort_by(|a, b| {
        a.time.total_cmp(&b.time).then(a.feature.cmp(&b.feature)).then_with(|| a.value.total_cmp(&b.value))
    });
    let mut covered = 0;
    for same in entries.chunk_by(|a, b| a.time == b.time && a.feature == b.feature) {
        let Entry { time, feature, value, .. } = same[0];
        if out.times.last() != Some(&time) {
            out.times.push(time);
            out.values.resize(out.times.len() * features, f64::NAN);
        }
        covered += 1;
        let row = (out.times.len() - 1) * features;
        out.values[row + feature] = if same.len() == 1 { value } else { mean_observed(same) };
        if same.len() > 1 {
            out.note_repeat(same);
        }
    }
    out.absent = out.values.len() - covered;
    out
}

/// Lines whose time lies before that of the line above them with the same feature.
fn unsorted(entries: &[Entry], features: usize) -> Findings<u64> {
    let mut last_time = vec![f64::NEG_INFINITY; features];
    let mut last_line = 0;
    let mut found = Findings::default();
    for e in entries {
        if e.time < last_time[e.feature] && e.line != last_line {
            found.push_with(|| e.line);
            last_line = e.line;
        }
        last_time[e.feature] = e.time;
    }
    found
}

/// The mean of the observed values, NaN where there is none; equal values give that value exactly.
fn mean_observed(same: &[Entry]) -> f64 {
    let observed: Vec<f64> = same.iter().map(|e| e.value).filter(|v| !v.is_nan()).collect();
    let Some(&first) = observed.first() else { return f64::NAN };
    // Divided before they are added, so that huge values do not overflow.
    let n = observed.len() as f64;
    first + observed.iter().map(|v| v / n - first / n).sum::<f64>()
}

impl Assembled {
    fn note_repeat(&mut self, same: &[Entry]) {
        let (time, feature) = (same[0].time, same[0].feature);
        let mut lines: Vec<u64> = same.iter().map(|e| e.line).collect();
        lines.sort_unstable();
        // A repeated row of a wide table is one finding, not one per column.
        match self.repeats.last_mut() {
            Some(group) if group.time == time && group.lines == lines => group.features.push(feature),
            _ => self.repeats.push(Group { time, features: vec![feature], lines }),
        }
    }

    /// Adds the repeated entries to `refused`, or to the repairs where they may be averaged; adds the other repairs.
    pub(super) fn report(
        &self,
        file: &Path,
        stream: &StreamName,
        features: &[String],
        duplicates: Duplicates,
        repairs: &mut Vec<Repair>,
        refused: &mut Findings<Repeat>,
    ) {
        let (file, stream) = (file.to_path_buf(), stream.clone());
        if !self.unsorted.is_empty() {
            let lines = self.unsorted.clone();
            repairs.push(Repair::Sorted { file: file.clone(), stream: stream.clone(), lines });
        }
        match duplicates {
            Duplicates::Average if !self.repeats.is_empty() => {
                let entries = self.repeats.iter().map(|g| g.features.len()).sum();
                let mut lines = Findings::default();
                let mut all: Vec<u64> = self.repeats.iter().flat_map(|g| g.lines.iter().copied()).collect();
                all.sort_unstable();
                all.dedup();
                all.iter().for_each(|&line| lines.push_with(|| line));
                repairs.push(Repair::Averaged { file: file.clone(), stream: stream.clone(), entries, lines });
            }
            Duplicates::Average => (),
            Duplicates::Refuse => {
                for group in &self.repeats {
                    refused.push_with(|| Repeat {
                        stream: stream.clone(),
                        features: group.features.iter().map(|&f| features[f].clone()).collect(),
                        time: group.time,
                        lines: group.lines.clone(),
                    });
                }
            }
        }
        let missing = self.values.iter().filter(|v| v.is_nan()).count();
        if missing > 0 {
            repairs.push(Repair::Masked { file, stream, tokens: missing - self.absent, absent: self.absent });
        }
    }
}

/// An error where any entry was refused as repeated.
pub(super) fn refuse_repeats(file: &Path, repeats: Findings<Repeat>) -> Result<(), DataError> {
    if repeats.is_empty() { Ok(()) } else { Err(DataError::Duplicated { file: file.to_path_buf(), repeats }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(time: f64, feature: usize, value: f64, line: u64) -> Entry {
        Entry { time, value, feature, line }
    }

    /// Slow twin: for every time and feature, scan all entries.
    fn twin(entries: &[Entry], features: usize) -> (Vec<f64>, Vec<Option<f64>>) {
        let mut times: Vec<f64> = entries.iter().map(|e| e.time).collect();
        times.sort_by(f64::total_cmp);
        times.dedup();
        let mut values = Vec::new();
        for &t in &times {
            for f in 0..features {
                let seen = entries.iter().filter(|e| e.time == t && e.feature == f && !e.value.is_nan());
                let seen: Vec<f64> = seen.map(|e| e.value).collect();
                values.push((!seen.is_empty()).then(|| seen.iter().sum::<f64>() / seen.len() as f64));
            }
        }
        (times, values)
    }

    #[test]
    fn features_are_joined_on_exact_times_as_the_slow_twin_joins_them() {
        // Small whole numbers, so that means of two are exact in both; clocks of the features differ.
        let mut state = 7_u64;
        let mut draw = |n: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % n
        };
        for _ in 0..50 {
            let entries: Vec<Entry> = (0..40)
                .map(|i| {
                    let value = if draw(5) == 0 { f64::NAN } else { draw(9) as f64 };
                    entry(draw(60) as f64 * 0.25, draw(3) as usize, value, i + 2)
                })
                .collect();
            let (times, values) = twin(&entries, 3);
            let got = assemble(entries, 3);
            assert_eq!(got.times, times);
            assert_eq!(got.values.len(), values.len());
            for (g, v) in got.values.iter().zip(&values) {
                match v {
                    Some(v) => assert!((g - v).abs() <= 4.0 * f64::EPSILON * 8.0, "{g} {v}"),
                    None => assert!(g.is_nan()),
                }
            }
        }
    }

    #[test]
    fn only_a_step_back_within_one_feature_is_out_of_order() {
        let by_feature = [entry(0.0, 0, 1.0, 2), entry(1.0, 0, 1.0, 3), entry(0.0, 1, 1.0, 4), entry(1.0, 1, 1.0, 5)];
        assert!(assemble(by_feature.to_vec(), 2).unsorted.is_empty());
        let back = [entry(1.0, 0, 1.0, 2), entry(0.0, 0, 1.0, 3), entry(2.0, 0, 1.0, 4)];
        assert_eq!(assemble(back.to_vec(), 1).unsorted, Findings { first: vec![3], count: 1 });
    }

    #[test]
    fn the_mean_of_repeats_does_not_depend_on_their_order_or_overflow() {
        let a = [entry(0.0, 0, 0.1, 2), entry(0.0, 0, 0.2, 3), entry(0.0, 0, 0.7, 4)];
        let b = [a[2], a[0], a[1]];
        assert_eq!(assemble(a.to_vec(), 1).values[0].to_bits(), assemble(b.to_vec(), 1).values[0].to_bits());
        let equal = [0.1; 3].map(|v| entry(0.0, 0, v, 2));
        assert_eq!(assemble(equal.to_vec(), 1).values, [0.1]);
        let huge = [entry(0.0, 0, 1.6e308, 2), entry(0.0, 0, 1.6e308, 3)];
        assert_eq!(assemble(huge.to_vec(), 1).values, [1.6e308]);
    }
}
