//! The recording: participants x runs x modalities, every stream on its own clock, gaps as masks.

use serde::{Deserialize, Serialize};

/// Streams of several people over one or more runs. All orders are first-seen orders of the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recording {
    pub participants: Vec<String>,
    pub runs: Vec<String>,
    pub modalities: Vec<String>,
    /// At most one stream per (participant, run, modality), sorted by those three indices.
    pub streams: Vec<Stream>,
}

/// One participant's stream of one modality in one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stream {
    /// Index into [`Recording::participants`].
    pub participant: usize,
    /// Index into [`Recording::runs`].
    pub run: usize,
    /// Index into [`Recording::modalities`].
    pub modality: usize,
    /// Feature names, length F.
    pub features: Vec<String>,
    /// Seconds, length T, strictly increasing.
    pub times: Vec<f64>,
    /// T x F, row-major; NaN marks a missing entry and nothing else is non-finite.
    pub values: Vec<f64>,
}

impl Stream {
    /// The entry at row `t`, feature `f`, or `None` where it is missing.
    pub fn value(&self, t: usize, f: usize) -> Option<f64> {
        let v = self.values[t * self.features.len() + f];
        if v.is_nan() { None } else { Some(v) }
    }
}
