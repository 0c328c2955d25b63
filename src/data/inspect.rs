//! What a recording holds, stream by stream, and what a fit would do with each peculiarity.

use super::finding::{Findings, StreamName};
use super::load::Loaded;
use super::names::{brief, counted};
use super::recording::{self, Recording, Stream};
use super::repair::Repair;
use serde::Serialize;
use std::collections::HashSet;

/// How many feature names a phrase lists.
const LISTED: usize = 8;

/// The facts of one stream.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StreamFacts {
    pub stream: StreamName,
    /// Number of features, F.
    pub features: usize,
    /// Number of distinct times, T.
    pub rows: usize,
    /// First and last time, seconds.
    pub start: f64,
    pub end: f64,
    /// Median of the intervals between neighbouring times, seconds; absent with one row.
    pub median_interval: Option<f64>,
    /// Rows per second: the inverse of the median interval, Hz.
    pub rate: Option<f64>,
    /// Intervals longer than twice the median.
    pub gaps: usize,
    /// The longest of them, seconds.
    pub longest_gap: Option<f64>,
    /// Missing entries of the T x F.
    pub missing: usize,
    /// Features whose observed entries in this run are all equal: population sd at most 2.2e-16 max(1, |mean|).
    pub constant: Vec<String>,
    /// Features without an observed entry in this run.
    pub unobserved: Vec<String>,
    /// Every observed entry is zero (and there is one).
    pub all_zero: bool,
    /// Lines that give an entry a second time.
    pub duplicates: Findings<u64>,
    /// Lines out of order in time.
    pub unsorted: Findings<u64>,
    /// One phrase per peculiarity: what it is and what a fit does with it.
    pub notes: Vec<String>,
}

/// The facts of a whole recording.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Inspection {
    pub participants: Vec<String>,
    pub runs: Vec<String>,
    pub modalities: Vec<String>,
    /// In the order of the recording's streams.
    pub streams: Vec<StreamFacts>,
    /// Streams that others have and these participants lack (same run and modality).
    pub lacking: Vec<StreamName>,
    /// Entries over all streams, and how many of them are missing.
    pub entries: usize,
    pub missing: usize,
    pub repairs: Vec<Repair>,
    /// SHA-256 of the input, as in [`Loaded::digest`].
    pub digest: String,
}

/// Looks at every stream of what was loaded.
pub fn inspect(loaded: &Loaded) -> Inspection {
    let recording = &loaded.recording;
    let streams: Vec<StreamFacts> =
        recording.streams.iter().map(|stream| facts(recording, stream, &loaded.repairs)).collect();
    Inspection {
        participants: recording.participants.clone(),
        runs: recording.runs.clone(),
        modalities: recording.modalities.clone(),
        lacking: lacking(recording),
        entries: recording.streams.iter().map(|s| s.values.len()).sum(),
        missing: streams.iter().map(|s| s.missing).sum(),
        streams,
        repairs: loaded.repairs.clone(),
        digest: loaded.digest.clone(),
    }
}

fn facts(recording: &Recording, stream: &Stream, repairs: &[Repair]) -> StreamFacts {
    let intervals: Vec<f64> = stream.times.windows(2).map(|w| w[1] - w[0]).collect();
    let median_interval = median(&intervals);
    let (start, end) = (stream.times.first().copied(), stream.times.last().copied());
    let (start, end) = (start.unwrap_or_default(), end.unwrap_or_default());
    // Times written in decimals carry half a rounding unit each; an interval of exactly twice the median is no gap.
    let rounding = 4.0 * f64::EPSILON * start.abs().max(end.abs());
    let gaps: Vec<f64> =
        intervals.into_iter().filter(|d| median_interval.is_some_and(|m| *d > 2.0 * m + rounding)).collect();
    let named = |wanted: &dyn Fn(&[f64]) -> bool| -> Vec<String> {
        let columns = (0..stream.features.len()).filter(|&f| wanted(&observed(stream, f)));
        columns.map(|f| stream.features[f].clone()).collect()
    };
    let mut present = stream.values.iter().filter(|v| !v.is_nan()).peekable();
    let mut facts = StreamFacts {
        features: stream.features.len(),
        rows: stream.times.len(),
        start,
        end,
        median_interval,
        rate: median_interval.map(|m| m.recip()),
        gaps: gaps.len(),
        longest_gap: gaps.into_iter().reduce(f64::max),
        missing: stream.values.iter().filter(|v| v.is_nan()).count(),
        constant: named(&recording::is_constant),
        unobserved: named(&<[f64]>::is_empty),
        all_zero: present.peek().is_some() && present.all(|&v| v == 0.0),
        duplicates: Findings::default(),
        unsorted: Findings::default(),
        notes: Vec::new(),
        stream: StreamName {
            participant: recording.participants[stream.participant].clone(),
            run: recording.runs[stream.run].clone(),
            modality: recording.modalities[stream.modality].clone(),
        },
    };
    note_features(&mut facts, recording, stream);
    note_repairs(&mut facts, repairs);
    facts
}

/// What a fit does with features that carry no variation.
fn note_features(facts: &mut StreamFacts, recording: &Recording, stream: &Stream) {
    // Standardisation pools the runs of a participant and modality, so a feature may be constant in one run only.
    let pooled = |feature: &String| -> Vec<f64> {
        let runs =
            recording.streams.iter().filter(|s| s.participant == stream.participant && s.modality == stream.modality);
        runs.filter_map(|s| s.features.iter().position(|f| f == feature).map(|f| observed(s, f))).flatten().collect()
    };
    let (everywhere, here): (Vec<String>, Vec<String>) =
        facts.constant.iter().cloned().partition(|f| recording::is_constant(&pooled(f)));
    if !everywhere.is_empty() {
        let it = if everywhere.len() == 1 { "it" } else { "them" };
        let zero = if facts.all_zero { "every entry is zero: " } else { "" };
        facts.notes.push(format!(
            "{zero}constant {}: a fit masks {it} unless told otherwise (--constant)",
            features(&everywhere)
        ));
    }
    if !here.is_empty() {
        facts.notes.push(format!("constant in this run, not in others, {}: kept", features(&here)));
    }
    let (never, not_here): (Vec<String>, Vec<String>) =
        facts.unobserved.iter().cloned().partition(|f| pooled(f).is_empty());
    if !never.is_empty() {
        facts.notes.push(format!("no observed entry in any run, {}: remove it before fitting", features(&never)));
    }
    if !not_here.is_empty() {
        facts.notes.push(format!("no observed entry in this run, {}: masked", features(&not_here)));
    }
}

/// What reading did to the stream, and what a fit does with its gaps and missing entries.
fn note_repairs(facts: &mut StreamFacts, repairs: &[Repair]) {
    if let (gaps @ 1.., Some(longest)) = (facts.gaps, facts.longest_gap) {
        let gaps = counted(gaps, "gap", "gaps");
        facts.notes.push(format!("{gaps}, the longest {longest} s: nothing is filled in"));
    }
    for repair in repairs {
        match repair {
            Repair::Sorted { stream, lines, .. } if *stream == facts.stream => {
                facts.notes.push(format!("rows out of order, {}: sorted", lines.lines()));
                facts.unsorted = lines.clone();
            }
            Repair::Averaged { stream, entries, lines, .. } if *stream == facts.stream => {
                facts.notes.push(format!(
                    "{} given more than once, {}: averaged",
                    counted(*entries, "entry", "entries"),
                    lines.lines()
                ));
                facts.duplicates = lines.clone();
            }
            Repair::Masked { stream, tokens, absent, .. } if *stream == facts.stream => {
                let total = facts.rows * facts.features;
                facts.notes.push(format!(
                    "{} of {total} entries missing ({tokens} marked, {absent} without a row): masked",
                    facts.missing
                ));
            }
            _ => (),
        }
    }
}

fn features(names: &[String]) -> String {
    let word = if names.len() == 1 { "feature" } else { "features" };
    format!("{word} {}", brief(names, LISTED))
}

fn observed(stream: &Stream, feature: usize) -> Vec<f64> {
    (0..stream.times.len()).filter_map(|t| stream.value(t, feature)).collect()
}

/// The mean of the two middle ones where their number is even.
fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n % 2 == 1 => Some(sorted[middle]),
        _ => Some(0.5 * (sorted[middle - 1] + sorted[middle])),
    }
}

fn lacking(recording: &Recording) -> Vec<StreamName> {
    let present: HashSet<(usize, usize, usize)> =
        recording.streams.iter().map(|s| (s.participant, s.run, s.modality)).collect();
    let kinds: HashSet<(usize, usize)> = recording.streams.iter().map(|s| (s.run, s.modality)).collect();
    let mut kinds: Vec<(usize, usize)> = kinds.into_iter().collect();
    kinds.sort_unstable();
    let mut lacking = Vec::new();
    for participant in 0..recording.participants.len() {
        for &(run, modality) in kinds.iter().filter(|&&(r, m)| !present.contains(&(participant, r, m))) {
            lacking.push(StreamName {
                participant: recording.participants[participant].clone(),
                run: recording.runs[run].clone(),
                modality: recording.modalities[modality].clone(),
            });
        }
    }
    lacking
}

#[cfg(test)]
mod tests;
