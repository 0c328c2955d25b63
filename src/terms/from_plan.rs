//! Makes the structured terms of a Plan from its recording.

use super::filtered::{FilteredGp, Observation, TermError};
use super::gridded::{
    Affinity, GriddedError, LatentPooling, LearnedResponse, LoadingScaling, Notice, Options, Penalty, PenaltyScale,
    Problem, ResponsePooling, Strengths,
};
use crate::bind::{ResponsePenalty, ResponseSlot, Responses, SharedPlan};
use crate::lang::ast::Paths;
use crate::model::{Latent, Shared, SharedTerm};

/// The gridded objective of `model` over the recording of its plan. What it asks of the responses is relative to the
/// coefficient of the squares.
///
/// # Errors
/// Recordings that the objective cannot take, and streams too short for their response.
pub fn gridded_from_plan(model: &Shared, shared: &SharedPlan) -> Result<Problem, GriddedError> {
    let affinity = || Affinity {
        edges: shared.affinity.iter().map(|e| (e.first.clone(), e.second.clone(), e.affinity)).collect(),
    };
    let paths = match &model.latent {
        Latent::Grid { paths, .. } => *paths,
        Latent::Process { .. } => Paths::Shared,
    };
    let has = |term| shared.objective.iter().any(|o| o.0 == term);
    let weight = |m: &String| model.responses.iter().find(|r| r.modality == *m).map_or(1.0, |r| r.weight);
    let weights: Vec<f64> = shared.recording.modalities.iter().map(weight).collect();
    let total: f64 = weights.iter().sum();
    let options = Options {
        standardized: model.standardized,
        modality_weights: Some(weights.iter().map(|w| w / total).collect()),
        loading_scaling: if has(SharedTerm::LoadingRidgePerFeature) {
            LoadingScaling::Feature
        } else {
            LoadingScaling::Pair
        },
        latent_pooling: match paths {
            Paths::Shared => LatentPooling::Shared,
            Paths::PerComponent => LatentPooling::Components(affinity()),
            Paths::PerParticipant if has(SharedTerm::LatentNeighbors) => LatentPooling::Neighborhood(affinity()),
            Paths::PerParticipant => LatentPooling::Population,
        },
        ..Options::new(shared.factors, shared.grid_step.unwrap_or(f64::NAN))
    };
    let squares = shared.coefficient(SharedTerm::BalancedSquares);
    let mut responses = Vec::with_capacity(shared.recording.modalities.len());
    for (m, modality) in shared.recording.modalities.iter().enumerate() {
        let Some(slot) = shared.responses.slots.iter().find(|s| s.modality == m) else { continue };
        let mut learned = LearnedResponse::fixed(slot.response.clone());
        for parameter in &slot.learned {
            learned.bounds[parameter.index] = Some((parameter.lower, parameter.upper));
        }
        if let Some(position) = model.responses.iter().position(|r| r.modality == *modality) {
            let declared = &model.responses[position];
            if declared.per_participant {
                learned.pooling = match shared.coefficient(SharedTerm::ResponseSpread(position)) {
                    0.0 => ResponsePooling::Separate,
                    strength => ResponsePooling::Partial { strength: strength / squares },
                };
            }
            learned.penalties =
                shared.penalties.iter().filter(|p| p.response == position).map(|p| penalty(p, squares)).collect();
        }
        responses.push(learned);
    }
    let problem = Problem::with_learned(&shared.recording, &options, &responses)?;
    for notice in &problem.notices {
        if let Notice::NotFitted { participant, modality } = notice {
            return Err(GriddedError::TooShort { participant: participant.clone(), modality: modality.clone() });
        }
    }
    Ok(problem)
}

/// The penalties of loadings and latent relative to the squares.
pub fn gridded_strengths(shared: &SharedPlan) -> Strengths {
    let squares = shared.coefficient(SharedTerm::BalancedSquares);
    // Of two forms of one penalty an objective has at most one.
    let either = |a, b| shared.coefficient(a).max(shared.coefficient(b)) / squares;
    Strengths {
        loading: either(SharedTerm::LoadingRidge, SharedTerm::LoadingRidgePerFeature),
        latent: shared.coefficient(SharedTerm::LatentRidge) / squares,
        roughness: shared.coefficient(SharedTerm::Roughness) / squares,
        coupling: either(SharedTerm::LatentSpread, SharedTerm::LatentNeighbors),
    }
}

/// The squared penalty that a prior is in an objective.
fn penalty(prior: &ResponsePenalty, squares: f64) -> Penalty {
    Penalty {
        parameter: prior.index,
        scale: if prior.logarithmic { PenaltyScale::Logarithm } else { PenaltyScale::Value },
        center: prior.center,
        precision: 1.0 / (prior.sd * prior.sd * squares),
    }
}

/// The learned parameters of the gridded problem, in its order, at the values that `responses` has.
pub fn gridded_responses(responses: &Responses) -> Vec<f64> {
    let of_slot = |slot: &ResponseSlot| {
        let values = slot.response.values();
        let mut indices: Vec<usize> = slot.learned.iter().map(|l| l.index).collect();
        indices.sort_unstable();
        indices.into_iter().map(move |i| values[i])
    };
    responses.slots.iter().flat_map(of_slot).collect()
}

/// For every learned parameter of the gridded problem, in its order: its position among the plan's learned parameters.
pub fn learned_order(shared: &SharedPlan) -> Vec<usize> {
    let of_slot = |slot: &ResponseSlot| {
        let mut learned = slot.learned.clone();
        learned.sort_by_key(|l| l.index);
        learned.into_iter().map(|l| l.coordinate)
    };
    shared.responses.slots.iter().flat_map(of_slot).collect()
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
