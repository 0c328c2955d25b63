//! Makes the structured terms of a Plan from its recording.

use super::filtered::{FilteredGp, Observation, TermError};
use super::gridded::{GriddedError, Notice, ObservationRows, Options, Problem, ResponseRows};
use crate::bind::SharedPlan;
use crate::model::Shared;
use std::sync::Arc;

/// The gridded objective of `model` over the recording of its plan.
///
/// # Errors
/// Recordings that the objective cannot take, and streams too short for their response.
pub fn gridded_from_plan(model: &Shared, shared: &SharedPlan) -> Result<Problem, GriddedError> {
    let step = shared.grid_step.unwrap_or(f64::NAN);
    let options = Options { standardized: model.standardized, ..Options::new(shared.factors, step) };
    let mut rows: Vec<Arc<dyn ObservationRows>> = Vec::with_capacity(shared.responses.slots.len());
    for slot in &shared.responses.slots {
        let modality = || shared.recording.modalities[slot.modality].clone();
        let made = ResponseRows::new(&slot.response);
        rows.push(Arc::new(made.map_err(|reason| GriddedError::Response { modality: modality(), reason })?));
    }
    // Every modality has a slot.
    let row = |p, m| rows[shared.responses.slot(p, m).unwrap_or_default()].clone();
    let problem = Problem::with_responses(&shared.recording, &options, &row)?;
    for notice in &problem.notices {
        if let Notice::NotFitted { participant, modality } = notice {
            return Err(GriddedError::TooShort { participant: participant.clone(), modality: modality.clone() });
        }
    }
    Ok(problem)
}

/// The marginal likelihood of the recording of a plan, in standardised units where the model asks for them.
///
/// # Errors
/// Recordings that the term cannot take.
pub fn filtered_from_plan(shared: &SharedPlan) -> Result<FilteredGp, TermError> {
    let recording = &shared.recording;
    let mut runs: Vec<Vec<Observation>> = vec![Vec::new(); recording.runs.len()];
    for stream in &recording.streams {
        let same = |p: usize, m: usize| p == stream.participant && m == stream.modality;
        // Keys of one participant and modality lie next to each other, in the order of the features.
        let first_key = shared.keys.iter().position(|k| same(k.participant, k.modality)).unwrap_or(0);
        let slot = shared.responses.slot(stream.participant, stream.modality).unwrap_or_default();
        let noise = shared.noises.iter().position(|&(p, m)| same(p, m)).unwrap_or(0);
        for feature in 0..stream.features.len() {
            let key = first_key + feature;
            let scale = shared.standardisation[key];
            for (t, &time) in stream.times.iter().enumerate() {
                if let Some(value) = stream.value(t, feature) {
                    runs[stream.run].push(Observation {
                        time,
                        response: slot as u32,
                        modality: stream.modality as u32,
                        feature_key: key as u32,
                        noise: noise as u32,
                        value: (value - scale.mean) / scale.sd,
                    });
                }
            }
        }
    }
    let responses = shared.responses.slots.iter().map(|slot| slot.response.clone()).collect();
    let mut learned = vec![false; shared.responses.values().len()];
    for place in shared.responses.places() {
        learned[place] = true;
    }
    FilteredGp::new(shared.factors, shared.keys.len(), shared.noises.len(), responses, &runs)?
        .with_learned_responses(&learned)
}
