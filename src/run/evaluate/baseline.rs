//! Two predictions without a latent, which a model has to beat: the training mean, and ridge regression on lagged
//! features of the other streams.
//!
//! The columns of the regression are, at every lag, the participant's own other features and the mean of the other
//! participants' values of each feature, standardised and interpolated on their own clocks. Where a stream has a gap
//! its column counts as its mean.

use super::cut::names;
use super::folds::{From, Part, Test};
use super::ridge::ridge;
use crate::data::{Recording, Stream};
use crate::terms::gridded::Scale;
use std::collections::BTreeMap;

/// One feature of one stream between its observed values.
struct Curve {
    times: Vec<f64>,
    /// Standardised.
    values: Vec<f64>,
    /// Seconds above which two neighbours are not joined.
    longest: f64,
}

impl Curve {
    fn new(stream: &Stream, feature: usize, scale: Scale) -> Curve {
        let observed = (0..stream.times.len()).filter_map(|t| stream.value(t, feature).map(|v| (stream.times[t], v)));
        let (times, values): (Vec<f64>, Vec<f64>) = observed.map(|(t, v)| (t, (v - scale.mean) / scale.sd)).unzip();
        let mut intervals: Vec<f64> = times.windows(2).map(|w| w[1] - w[0]).collect();
        intervals.sort_by(f64::total_cmp);
        let longest = 2.0 * (1.0 + 1e-9) * intervals.get(intervals.len() / 2).copied().unwrap_or(0.0);
        Curve { times, values, longest }
    }

    fn at(&self, t: f64) -> Option<f64> {
        let after = self.times.partition_point(|u| *u < t);
        if self.times.get(after) == Some(&t) {
            return Some(self.values[after]);
        }
        let before = after.checked_sub(1)?;
        let (a, b) = (self.times[before], *self.times.get(after)?);
        let share = (t - a) / (b - a);
        (b - a <= self.longest).then(|| (1.0 - share) * self.values[before] + share * self.values[after])
    }
}

/// A feature by participant, modality and name.
type Place = (String, String, String);

/// Mean and sd of every feature over all runs.
pub(super) fn scales(recording: &Recording) -> BTreeMap<Place, Scale> {
    let mut values: BTreeMap<Place, Vec<f64>> = BTreeMap::new();
    for s in &recording.streams {
        let (participant, modality, _) = names(recording, s);
        for (f, feature) in s.features.iter().enumerate() {
            let place = (participant.to_string(), modality.to_string(), feature.clone());
            values.entry(place).or_default().extend((0..s.times.len()).filter_map(|t| s.value(t, f)));
        }
    }
    values.into_iter().filter_map(|(place, v)| Scale::of(v.iter().copied()).map(|s| (place, s))).collect()
}

/// A column: whose feature it is (`true` for the participant's own), modality and feature.
type Column = (bool, String, String);

/// The features that a prediction from `from` may look at, in sorted order.
fn columns(recording: &Recording, test: &Test, from: From) -> Vec<Column> {
    let mut found = Vec::new();
    for s in &recording.streams {
        if let Some(own) = may_see(recording, s, test, from) {
            let (_, modality, _) = names(recording, s);
            found.extend(s.features.iter().map(|f| (own, modality.to_string(), f.clone())));
        }
    }
    found.sort();
    found.dedup();
    found
}

/// Whether a stream may be looked at, and if so whether it is the participant's own.
fn may_see(recording: &Recording, s: &Stream, test: &Test, from: From) -> Option<bool> {
    let (participant, modality, _) = names(recording, s);
    let own = participant == test.target.participant;
    let target = own && modality == test.target.modality;
    let hidden = test.hidden.iter().any(|h| h.participant == participant && h.modality == modality);
    (!target && !hidden && from.source().takes(own)).then_some(own)
}

/// Times x (columns x lags), row-major, for one run.
fn design(
    recording: &Recording,
    run: &str,
    times: &[f64],
    (test, from): (&Test, From),
    columns: &[Column],
    lags: &[f64],
    scales: &BTreeMap<Place, Scale>,
) -> Vec<f64> {
    let mut curves: Vec<Vec<Curve>> = columns.iter().map(|_| Vec::new()).collect();
    for s in &recording.streams {
        let (participant, modality, r) = names(recording, s);
        let Some(own) = may_see(recording, s, test, from).filter(|_| r == run) else { continue };
        for (f, feature) in s.features.iter().enumerate() {
            let column = columns.binary_search(&(own, modality.to_string(), feature.clone()));
            let scale = scales.get(&(participant.to_string(), modality.to_string(), feature.clone()));
            if let (Ok(column), Some(scale)) = (column, scale) {
                curves[column].push(Curve::new(s, f, *scale));
            }
        }
    }
    let mut out = Vec::with_capacity(times.len() * columns.len() * lags.len());
    for t in times {
        for curves in &curves {
            for lag in lags {
                let values: Vec<f64> = curves.iter().filter_map(|c| c.at(t - lag)).collect();
                out.push(if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 });
            }
        }
    }
    out
}

/// Ridge predictions of a test in its own units, times x features.
pub(super) fn ridge_prediction(training: &Recording, part: &Part, test: &Test, from: From, lags: &[f64]) -> Vec<f64> {
    let learning = part.calibration.as_ref().map_or(training.clone(), |own| joined(training, own));
    let scales = scales(&learning);
    let columns = columns(&learning, test, from);
    let width = columns.len() * lags.len();
    let features = test.features.len();
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for s in &learning.streams {
        let (participant, modality, run) = names(&learning, s);
        if participant == test.target.participant && modality == test.target.modality {
            x.extend(design(&learning, run, &s.times, (test, from), &columns, lags, &scales));
            for t in 0..s.times.len() {
                y.extend(test.features.iter().map(|name| {
                    let column = s.features.iter().position(|f| f == name);
                    column.and_then(|c| s.value(t, c)).unwrap_or(f64::NAN)
                }));
            }
        }
    }
    let asked = design(&part.sources, &test.run, &test.times, (test, from), &columns, lags, &scales);
    let mut out = vec![f64::NAN; test.times.len() * features];
    // Features that are missing at the same rows share one decomposition.
    let mut by_mask: BTreeMap<Vec<usize>, Vec<usize>> = BTreeMap::new();
    for f in 0..features {
        let rows = (0..y.len() / features).filter(|t| !y[t * features + f].is_nan()).collect();
        by_mask.entry(rows).or_default().push(f);
    }
    for (rows, group) in by_mask.into_iter().filter(|(rows, _)| !rows.is_empty()) {
        let x: Vec<f64> = rows.iter().flat_map(|t| x[t * width..(t + 1) * width].iter().copied()).collect();
        let ys: Vec<Vec<f64>> = group.iter().map(|f| rows.iter().map(|t| y[t * features + f]).collect()).collect();
        for (f, fitted) in group.into_iter().zip(ridge(&x, width, &ys)) {
            for t in 0..test.times.len() {
                let row = &asked[t * width..(t + 1) * width];
                let sum: f64 = row.iter().zip(&fitted.coefficients).map(|(x, b)| x * b).sum();
                out[t * features + f] = fitted.intercept + sum;
            }
        }
    }
    out
}

/// The streams of both recordings.
pub(super) fn joined(a: &Recording, b: &Recording) -> Recording {
    let mut out = a.clone();
    let place = |list: &mut Vec<String>, name: &str| {
        list.iter().position(|n| n == name).unwrap_or_else(|| {
            list.push(name.to_string());
            list.len() - 1
        })
    };
    for s in &b.streams {
        let (participant, modality, run) = names(b, s);
        let participant = place(&mut out.participants, participant);
        let run = place(&mut out.runs, run);
        let modality = place(&mut out.modalities, modality);
        out.streams.push(Stream { participant, run, modality, ..s.clone() });
    }
    out.streams.sort_by_key(|s| (s.participant, s.run, s.modality));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(times: &[f64], values: &[f64]) -> Stream {
        Stream {
            participant: 0,
            run: 0,
            modality: 0,
            features: vec!["x".into()],
            times: times.to_vec(),
            values: values.to_vec(),
        }
    }

    #[test]
    fn a_curve_joins_neighbours_and_leaves_gaps_open() {
        let s = stream(&[-1.0, 0.0, 1.0, 2.0, 3.0, 7.0, 8.0], &[1.0, 0.0, 2.0, f64::NAN, 6.0, 1.0, 3.0]);
        let curve = Curve::new(&s, 0, Scale::NONE);
        assert_eq!(curve.at(0.5), Some(1.0));
        assert_eq!(curve.at(1.0), Some(2.0));
        // One missing row is bridged, a longer stop is not.
        assert_eq!(curve.at(2.0), Some(4.0));
        assert_eq!(curve.at(5.0), None);
        assert_eq!((curve.at(-1.1), curve.at(8.0), curve.at(8.1)), (None, Some(3.0), None));
        assert_eq!(Curve::new(&stream(&[1.0], &[5.0]), 0, Scale::NONE).at(1.0), Some(5.0));
    }
}
