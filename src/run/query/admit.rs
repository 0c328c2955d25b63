//! Finds the streams of new data among those that a fit knows.

use super::error::{QueryError, hint};
use super::fitted::{Fitted, Known};
use crate::bind::Constants;
use crate::data::recording::is_constant;
use crate::data::{Recording, Stream};
use std::collections::BTreeSet;

/// New data in the places of a fit: participants and modalities are those of the fit in its order, every stream has the
/// features of the fit in its order, and runs are sorted by name. Features that the data lack are missing.
#[derive(Debug, Clone, PartialEq)]
pub struct Admitted {
    pub recording: Recording,
    /// What was left out, one sentence each.
    pub notes: Vec<String>,
}

impl Fitted<'_> {
    /// Finds every stream of `recording`. What the fit itself left out (other modalities, features that never vary) is
    /// left out here too, with a note.
    ///
    /// # Errors
    /// Participants, modalities and features that the fit does not know.
    pub fn admit(&self, recording: &Recording) -> Result<Admitted, QueryError> {
        let mut notes = BTreeSet::new();
        let mut runs: Vec<String> = recording.runs.clone();
        runs.sort();
        let mut streams = Vec::new();
        for stream in &recording.streams {
            let names = (&recording.participants[stream.participant], &recording.modalities[stream.modality]);
            if self.left_out(names.1) {
                notes.insert(format!("modality {} is left out, as in the fit", names.1));
                continue;
            }
            let Some(known) = self.find(names.0, names.1) else {
                // Somebody whose features never vary was left out of the fit.
                if let Some(note) =
                    self.never_varies(recording, stream, &(0..stream.features.len()).collect::<Vec<_>>())
                {
                    notes.insert(note);
                    continue;
                }
                return Err(self.unknown_pair(names.0, names.1));
            };
            let unknown: Vec<usize> =
                (0..stream.features.len()).filter(|&f| !known.features.contains(&stream.features[f])).collect();
            if let Some(&first) = unknown.first() {
                notes.insert(self.never_varies(recording, stream, &unknown).ok_or_else(|| QueryError::Feature {
                    participant: names.0.clone(),
                    modality: names.1.clone(),
                    name: stream.features[first].clone(),
                    hint: hint(&stream.features[first], known.features.iter().map(String::as_str)),
                })?);
            }
            if unknown.len() == stream.features.len() {
                continue;
            }
            let run = runs.iter().position(|r| *r == recording.runs[stream.run]).unwrap_or(0);
            streams.push(placed(stream, known, run));
        }
        streams.sort_by_key(|s| (s.participant, s.run, s.modality));
        let recording = Recording {
            participants: self.shared.recording.participants.clone(),
            runs,
            modalities: self.shared.recording.modalities.clone(),
            streams,
        };
        Ok(Admitted { recording, notes: notes.into_iter().collect() })
    }

    /// Whether the user of the fit chose modalities, and this is none of them.
    pub(super) fn left_out(&self, modality: &str) -> bool {
        let chosen = &self.plan.options.modalities;
        !chosen.is_empty() && !chosen.iter().any(|m| m == modality)
    }

    /// A note where none of these features varies over all runs and the fit would mask such features.
    fn never_varies(&self, recording: &Recording, stream: &Stream, features: &[usize]) -> Option<String> {
        if self.plan.options.constants != Constants::Mask {
            return None;
        }
        let constant = |f: &usize| {
            let name = &stream.features[*f];
            let of_feature = |s: &Stream| -> Vec<f64> {
                let Some(column) = s.features.iter().position(|n| n == name) else { return Vec::new() };
                (0..s.times.len()).filter_map(|t| s.value(t, column)).collect()
            };
            let same = |s: &&Stream| s.participant == stream.participant && s.modality == stream.modality;
            let values: Vec<f64> = recording.streams.iter().filter(same).flat_map(of_feature).collect();
            values.is_empty() || is_constant(&values)
        };
        features.iter().all(constant).then(|| {
            let names: Vec<&str> = features.iter().map(|&f| stream.features[f].as_str()).collect();
            let (participant, modality) =
                (&recording.participants[stream.participant], &recording.modalities[stream.modality]);
            format!("{participant}, {modality}: constant features are masked: {}", names.join(", "))
        })
    }

    pub(super) fn unknown_pair(&self, participant: &str, modality: &str) -> QueryError {
        let mut modalities: Vec<&str> = self.known.iter().map(|k| self.modality(k)).collect();
        modalities.sort_unstable();
        modalities.dedup();
        if !modalities.contains(&modality) {
            return QueryError::Modality { name: modality.to_string(), hint: hint(modality, modalities) };
        }
        let mut participants: Vec<&str> = self.known.iter().map(|k| self.participant(k)).collect();
        participants.dedup();
        if participants.contains(&participant) {
            return QueryError::Pair { participant: participant.to_string(), modality: modality.to_string() };
        }
        QueryError::Participant { name: participant.to_string(), hint: hint(participant, participants) }
    }
}

/// The stream with the features of the fit in the order of the fit.
fn placed(stream: &Stream, known: &Known, run: usize) -> Stream {
    let columns: Vec<Option<usize>> =
        known.features.iter().map(|name| stream.features.iter().position(|f| f == name)).collect();
    let values = (0..stream.times.len())
        .flat_map(|t| columns.iter().map(move |c| c.and_then(|c| stream.value(t, c)).unwrap_or(f64::NAN)))
        .collect();
    Stream {
        participant: known.participant,
        run,
        modality: known.modality,
        features: known.features.clone(),
        times: stream.times.clone(),
        values,
    }
}
