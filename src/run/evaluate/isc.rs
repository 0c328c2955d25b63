//! How alike participants respond, before any model: intersubject correlation of every feature of a recording.

use super::cut::names;
use crate::data::{Recording, Stream};
use crate::diagnose::{pairwise_isc, temporal_isc};

/// Intersubject correlation of one feature in one run.
#[derive(Debug, Clone, PartialEq)]
pub struct IscRow {
    pub run: String,
    pub modality: String,
    pub feature: String,
    /// Participants who have the feature, in the order of `correlations`.
    pub participants: Vec<String>,
    /// Times at which all of them have a value.
    pub rows: usize,
    /// Of each participant with the mean of the others, or why there is none.
    pub correlations: Vec<Result<f64, String>>,
    /// Mean of these by Fisher's z; absent where one is undefined.
    pub mean: Option<f64>,
    /// Mean over pairs of participants by Fisher's z; absent where one is undefined.
    pub pairwise: Option<f64>,
}

/// The correlations of every run, modality and feature that two participants or more have. Values are compared at equal
/// times only; nothing is interpolated, so clocks that differ share no row. Participants whose feature never varies in
/// the run are left out, and named by their absence.
pub fn common_response(recording: &Recording) -> Vec<IscRow> {
    let mut places: Vec<(&str, &str, &str)> = Vec::new();
    for s in &recording.streams {
        let (_, modality, run) = names(recording, s);
        places.extend(s.features.iter().map(|f| (run, modality, f.as_str())));
    }
    places.sort_unstable();
    places.dedup();
    places.into_iter().filter_map(|(run, modality, feature)| one(recording, run, modality, feature)).collect()
}

fn one(recording: &Recording, run: &str, modality: &str, feature: &str) -> Option<IscRow> {
    let mut owners: Vec<(&str, &Stream, usize)> = Vec::new();
    for s in &recording.streams {
        let (participant, m, r) = names(recording, s);
        let column = s.features.iter().position(|f| f == feature);
        if let Some(column) = column.filter(|_| m == modality && r == run) {
            let values: Vec<f64> = (0..s.times.len()).filter_map(|t| s.value(t, column)).collect();
            if !values.is_empty() && !crate::data::recording::is_constant(&values) {
                owners.push((participant, s, column));
            }
        }
    }
    owners.sort_by_key(|o| o.0);
    if owners.len() < 2 {
        return None;
    }
    let mut times: Vec<f64> = owners[0].1.times.clone();
    for (_, s, _) in &owners[1..] {
        times.retain(|t| s.times.binary_search_by(|u| u.total_cmp(t)).is_ok());
    }
    let series: Vec<Vec<f64>> = owners
        .iter()
        .map(|(_, s, column)| {
            let row = |t: &f64| s.times.binary_search_by(|u| u.total_cmp(t)).ok();
            times.iter().map(|t| row(t).and_then(|i| s.value(i, *column)).unwrap_or(f64::NAN)).collect()
        })
        .collect();
    let slices: Vec<&[f64]> = series.iter().map(Vec::as_slice).collect();
    let others = temporal_isc(&slices, 1);
    Some(IscRow {
        run: run.to_string(),
        modality: modality.to_string(),
        feature: feature.to_string(),
        participants: owners.iter().map(|o| o.0.to_string()).collect(),
        rows: others.rows[0],
        correlations: others.correlations.iter().map(|c| c[0].map_err(|e| e.to_string())).collect(),
        mean: others.means[0],
        pairwise: pairwise_isc(&slices, 1).means[0],
    })
}
