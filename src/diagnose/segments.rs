//! Time-segment matching: whether a stretch of one participant's series can be told from the other stretches by
//! looking at the mean of the other participants (Haxby et al. 2011, Neuron 72).
//!
//! A window is correlated with the same window of the others' mean, and with all of their windows that do not overlap
//! it. It is matched where its own correlation is the largest; windows that tie share the credit.

use super::isc::flat;
use super::scores::correlation;

/// Correlations this close count as equal.
const TIE: f64 = 1e-12;

/// What is taken out of a window before it is correlated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Centring {
    /// The mean over the whole window.
    Global,
    /// The mean of each feature over the window.
    Feature,
}

/// Why segments cannot be matched.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SegmentError {
    #[error("segments are matched between at least two participants, not {count}")]
    Participants { count: usize },
    #[error("a window needs at least 3 rows, not {rows}")]
    Window { rows: usize },
    #[error("the series of participant {participant} has {found} entries where {expected} are needed")]
    Length { participant: usize, expected: usize, found: usize },
    #[error("segments need a regular clock: the interval after row {row} is {interval} s, the first is {first} s")]
    Clock { row: usize, interval: f64, first: f64 },
}

/// What one participant's windows say.
#[derive(Debug, Clone, PartialEq)]
pub struct Matched {
    /// Per window: 1 where it is matched, a share where it ties, 0 where another window is nearer; absent where no other
    /// window can compete or a window does not vary.
    pub credits: Vec<Option<f64>>,
    /// Mean of the credits.
    pub accuracy: Option<f64>,
    /// Mean of what guessing would have earned.
    pub chance: Option<f64>,
}

/// Segment matching of all participants.
#[derive(Debug, Clone, PartialEq)]
pub struct Matching {
    /// First row of every window in which all participants have all features.
    pub starts: Vec<usize>,
    pub participants: Vec<Matched>,
}

/// Matches windows of `rows` rows. `series` holds one array per participant, times x `features`, row-major, NaN where
/// there is no value.
///
/// # Errors
/// Fewer than two participants, windows of fewer than three rows, arrays of another length than the times, and clocks
/// that are not regular.
pub fn match_segments(
    times: &[f64],
    series: &[&[f64]],
    features: usize,
    rows: usize,
    centring: Centring,
) -> Result<Matching, SegmentError> {
    check(times, series, features, rows)?;
    let complete = |start: usize| {
        let entries = start * features..(start + rows) * features;
        series.iter().all(|s| s[entries.clone()].iter().all(|v| !v.is_nan()))
    };
    let last = (times.len() + 1).saturating_sub(rows);
    let starts: Vec<usize> = (0..last).filter(|&s| complete(s)).collect();
    let participants = (0..series.len())
        .map(|who| {
            let own: Vec<Vec<f64>> = starts
                .iter()
                .map(|&s| centred(&series[who][s * features..(s + rows) * features], features, centring))
                .collect();
            let others: Vec<Vec<f64>> = starts
                .iter()
                .map(|&s| {
                    let entries = s * features..(s + rows) * features;
                    let mean = |i: usize| {
                        let sum: f64 = (0..series.len()).filter(|&p| p != who).map(|p| series[p][i]).sum();
                        sum / (series.len() - 1) as f64
                    };
                    centred(&entries.map(mean).collect::<Vec<_>>(), features, centring)
                })
                .collect();
            matched(&starts, &own, &others, rows)
        })
        .collect();
    Ok(Matching { starts, participants })
}

fn check(times: &[f64], series: &[&[f64]], features: usize, rows: usize) -> Result<(), SegmentError> {
    if series.len() < 2 {
        return Err(SegmentError::Participants { count: series.len() });
    }
    if rows < 3 {
        return Err(SegmentError::Window { rows });
    }
    let expected = times.len() * features;
    if let Some(participant) = series.iter().position(|s| s.len() != expected) {
        return Err(SegmentError::Length { participant, expected, found: series[participant].len() });
    }
    let interval = |i: usize| times[i + 1] - times[i];
    for row in 1..times.len().saturating_sub(1) {
        if (interval(row) - interval(0)).abs() > 1e-10 + 1e-7 * interval(0).abs() {
            return Err(SegmentError::Clock { row, interval: interval(row), first: interval(0) });
        }
    }
    Ok(())
}

fn centred(window: &[f64], features: usize, centring: Centring) -> Vec<f64> {
    if centring == Centring::Global {
        // The correlation takes the overall mean out.
        return window.to_vec();
    }
    let rows = window.len() / features;
    let means: Vec<f64> =
        (0..features).map(|f| window.iter().skip(f).step_by(features).sum::<f64>() / rows as f64).collect();
    window.iter().enumerate().map(|(i, v)| v - means[i % features]).collect()
}

fn matched(starts: &[usize], own: &[Vec<f64>], others: &[Vec<f64>], rows: usize) -> Matched {
    let mut credits = Vec::with_capacity(starts.len());
    let mut guesses = Vec::new();
    for (i, window) in own.iter().enumerate() {
        let competitors: Vec<usize> = (0..starts.len()).filter(|&j| starts[j].abs_diff(starts[i]) >= rows).collect();
        let usable = !competitors.is_empty() && !flat(window) && !flat(&others[i]);
        if !usable || competitors.iter().any(|&j| flat(&others[j])) {
            credits.push(None);
            continue;
        }
        let right = correlation(window, &others[i]);
        let rivals: Vec<f64> = competitors.iter().map(|&j| correlation(window, &others[j])).collect();
        let beaten = rivals.iter().any(|r| *r > right + TIE);
        let ties = rivals.iter().filter(|r| (**r - right).abs() <= TIE).count();
        credits.push(Some(if beaten { 0.0 } else { 1.0 / (1 + ties) as f64 }));
        guesses.push(1.0 / (1 + rivals.len()) as f64);
    }
    let scored: Vec<f64> = credits.iter().flatten().copied().collect();
    let mean = |v: &[f64]| (!v.is_empty()).then(|| v.iter().sum::<f64>() / v.len() as f64);
    Matched { accuracy: mean(&scored), chance: mean(&guesses), credits }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn flat_numbers(v: &Value) -> Vec<f64> {
        match v {
            Value::Array(items) => items.iter().flat_map(flat_numbers).collect(),
            other => vec![other.as_f64().unwrap_or(f64::NAN)],
        }
    }

    #[test]
    fn golden_windows_overlap_and_stay_without_a_verdict() {
        let golden: Value =
            serde_json::from_str(include_str!("../../tests/golden/scores_alignment.json")).expect("golden numbers");
        let series: Vec<Vec<f64>> =
            ["s0", "s1", "s2"].iter().map(|s| flat_numbers(&golden["series"][s]["values"])).collect();
        let slices: Vec<&[f64]> = series.iter().map(Vec::as_slice).collect();
        let times = flat_numbers(&golden["series"]["s0"]["times"]);
        for (name, centring) in [("matching", Centring::Global), ("matching_feature", Centring::Feature)] {
            let found = match_segments(&times, &slices, 2, 4, centring).expect("windows");
            let starts: Vec<f64> = found.starts.iter().map(|&s| s as f64).collect();
            assert_eq!(starts, flat_numbers(&golden[name]["window_starts"]));
            for (matched, who) in found.participants.iter().zip(["s0", "s1", "s2"]) {
                let wanted = &golden[name]["subjects"][who];
                assert_eq!(matched.credits.iter().map(|c| c.is_none()).collect::<Vec<_>>(), [true; 3]);
                assert!(wanted["accuracy"].is_null() && matched.accuracy.is_none() && matched.chance.is_none());
            }
        }
    }

    /// Three participants who share a wandering signal, with noise of their own.
    fn shared(noise: f64) -> (Vec<f64>, Vec<Vec<f64>>) {
        let times: Vec<f64> = (0..60).map(|i| 0.5 * i as f64).collect();
        let signal = |i: usize, f: usize| ((i * i) as f64 * 0.01 + f as f64).sin() + (i as f64 * 0.37 + f as f64).cos();
        let own = |p: usize, i: usize, f: usize| ((p * 1313 + i * 717 + f * 91) as f64 * 12.9898).sin();
        let series =
            (0..3).map(|p| (0..120).map(|j| signal(j / 2, j % 2) + noise * own(p, j / 2, j % 2)).collect()).collect();
        (times, series)
    }

    /// The definition, written out: all windows, all correlations, by raw sums.
    fn slow(series: &[Vec<f64>], who: usize, rows: usize, centring: Centring) -> Vec<Option<f64>> {
        let window = |values: &[f64], start: usize| {
            let mut w: Vec<f64> = values[start * 2..(start + rows) * 2].to_vec();
            for f in 0..2 {
                let of = |i: &usize| centring == Centring::Global || i % 2 == f;
                let members: Vec<usize> = (0..w.len()).filter(of).collect();
                let mean = members.iter().map(|&i| w[i]).sum::<f64>() / members.len() as f64;
                members.iter().for_each(|&i| w[i] -= mean);
            }
            w
        };
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let others: Vec<f64> =
            (0..120).map(|i| (0..3).filter(|p| *p != who).map(|p| series[p][i]).sum::<f64>() / 2.0).collect();
        let count = 60 - rows + 1;
        (0..count)
            .map(|i| {
                let own = window(&series[who], i);
                let r = |j: usize| {
                    let other = window(&others, j);
                    dot(&own, &other) / (dot(&own, &own) * dot(&other, &other)).sqrt()
                };
                let rivals: Vec<usize> = (0..count).filter(|j| i.abs_diff(*j) >= rows).collect();
                let best = rivals.iter().map(|&j| r(j)).fold(f64::NEG_INFINITY, f64::max);
                (!rivals.is_empty()).then(|| if r(i) > best { 1.0 } else { 0.0 })
            })
            .collect()
    }

    #[test]
    fn credits_equal_those_of_the_definition() {
        let (times, series) = shared(1.5);
        let slices: Vec<&[f64]> = series.iter().map(Vec::as_slice).collect();
        for centring in [Centring::Global, Centring::Feature] {
            let found = match_segments(&times, &slices, 2, 5, centring).expect("windows");
            for who in 0..3 {
                assert_eq!(found.participants[who].credits, slow(&series, who, 5, centring), "{centring:?} {who}");
            }
        }
    }

    #[test]
    fn a_shared_signal_is_matched_and_chance_is_known() {
        let (times, series) = shared(0.0);
        let slices: Vec<&[f64]> = series.iter().map(Vec::as_slice).collect();
        let found = match_segments(&times, &slices, 2, 6, Centring::Feature).expect("windows");
        for matched in &found.participants {
            assert_eq!(matched.accuracy, Some(1.0));
            // 55 windows; between 44 and 49 of them do not overlap a given one, plus itself.
            let chance = matched.chance.expect("chance");
            assert!(chance > 1.0 / 50.0 && chance < 1.0 / 44.0, "{chance}");
        }
    }

    #[test]
    fn equal_windows_share_the_credit() {
        // The signal repeats every four rows, so that windows four rows apart are equal.
        let times: Vec<f64> = (0..12).map(f64::from).collect();
        let one: Vec<f64> = (0..12).map(|i| [0.0, 1.0, 3.0, -2.0][i % 4]).collect();
        let found = match_segments(&times, &[&one, &one], 1, 4, Centring::Global).expect("windows");
        assert_eq!(found.participants[0].credits[0], Some(1.0 / 3.0));
        assert_eq!(found.participants[0].credits[4], Some(1.0 / 3.0));
    }

    #[test]
    fn faults_are_named() {
        let (times, series) = shared(0.1);
        let slices: Vec<&[f64]> = series.iter().map(Vec::as_slice).collect();
        let run = |times: &[f64], series: &[&[f64]], rows| match_segments(times, series, 2, rows, Centring::Global);
        assert_eq!(run(&times, &slices[..1], 5), Err(SegmentError::Participants { count: 1 }));
        assert_eq!(run(&times, &slices, 2), Err(SegmentError::Window { rows: 2 }));
        assert!(matches!(run(&times[1..], &slices, 5), Err(SegmentError::Length { expected: 118, .. })));
        let mut jitter = times.clone();
        jitter[7] += 0.01;
        assert!(matches!(run(&jitter, &slices, 5), Err(SegmentError::Clock { row: 6, .. })));
    }
}
