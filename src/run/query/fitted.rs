//! A finished fit, opened for questions: its parameters, and every participant and modality that has loadings.

use super::error::QueryError;
use crate::archive::{Archive, Calibrated, Outcome};
use crate::bind::{Block, Env, Key, Plan, ResponseSlot, Responses, SharedPlan};
use crate::model::{Latent, Shared};
use crate::run::envs::{draw_envs, mode_env};
use crate::terms::gridded::{NewPair, Problem, Scale, Strengths};
use crate::terms::{gridded_from_plan, gridded_responses, gridded_strengths};

/// Draws that answers are averaged over, evenly spaced over all chains.
const AVERAGED_DRAWS: usize = 200;

/// The features of one participant's modality.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Known {
    pub participant: usize,
    pub modality: usize,
    /// Row of the first feature among the keys.
    pub first_key: usize,
    pub features: Vec<String>,
}

/// The parts of an objective with a latent on a grid.
#[derive(Debug)]
pub(super) struct Gridded {
    pub problem: Problem,
    pub loadings: Vec<f64>,
    /// The fitted latent.
    pub latents: Vec<f64>,
    pub strengths: Strengths,
}

/// A fit that can be asked.
#[derive(Debug)]
pub struct Fitted<'a> {
    pub(super) plan: &'a Plan,
    pub(super) parts: &'a Shared,
    /// The plan of the fit and of what was calibrated since, without the training values.
    pub(super) shared: SharedPlan,
    pub(super) known: Vec<Known>,
    /// One point of a mode, several of a posterior.
    pub(super) points: Vec<Env>,
    pub(super) gridded: Option<Gridded>,
    /// Whether the fit holds draws.
    pub(super) drawn: bool,
}

impl<'a> Fitted<'a> {
    /// Opens a fit.
    ///
    /// # Errors
    /// Models without a recording, and fits without a finished draw.
    pub fn open(archive: &'a Archive) -> Result<Self, QueryError> {
        Self::new(&archive.plan, &archive.outcome, &archive.calibrated)
    }

    /// Opens the outcome of a plan together with what was calibrated since.
    ///
    /// # Errors
    /// As [`Fitted::open`].
    pub fn new(plan: &'a Plan, outcome: &Outcome, calibrated: &[Calibrated]) -> Result<Self, QueryError> {
        let (Some(parts), Some(shared)) = (&plan.model.shared, &plan.shared) else {
            return Err(QueryError::NoRecording { model: plan.model.name.clone() });
        };
        let mut points = match outcome {
            Outcome::Mode(mode) => vec![mode_env(plan, mode)?],
            Outcome::Draws(draws) => draw_envs(plan, draws, AVERAGED_DRAWS)?,
        };
        let Some(first) = points.first() else { return Err(QueryError::NoDraws) };
        let gridded = match shared.grid_step {
            Some(_) => Some(Gridded::new(plan, parts, shared, first, calibrated)?),
            None => None,
        };
        let mut known: Vec<Known> = Vec::new();
        for (row, key) in shared.keys.iter().enumerate() {
            let same = |k: &Known| k.participant == key.participant && k.modality == key.modality;
            if !known.last().is_some_and(same) {
                let streams = &shared.recording.streams;
                let stream = streams.iter().find(|s| s.participant == key.participant && s.modality == key.modality);
                let features = stream.map(|s| s.features.clone()).unwrap_or_default();
                known.push(Known { participant: key.participant, modality: key.modality, first_key: row, features });
            }
        }
        let mut extended = SharedPlan {
            recording: shared.recording.clone_names(),
            keys: shared.keys.clone(),
            standardisation: shared.standardisation.clone(),
            noises: shared.noises.clone(),
            responses: resolved(plan, shared, first),
            factors: shared.factors,
            grid_step: shared.grid_step,
            paths: shared.paths.clone(),
            affinity: shared.affinity.clone(),
            penalties: shared.penalties.clone(),
            domains: Vec::new(),
            anchor: shared.anchor,
            objective: shared.objective.clone(),
        };
        for pair in calibrated {
            known.push(extend(&mut extended, pair));
            if gridded.is_none() {
                points.iter_mut().for_each(|env| extend_env(env, parts, pair));
            }
        }
        let drawn = matches!(outcome, Outcome::Draws(_));
        Ok(Fitted { plan, parts, shared: extended, known, points, gridded, drawn })
    }

    /// Every participant/modality that has loadings.
    pub fn pair_names(&self) -> Vec<(String, String)> {
        let names = |k: &Known| (self.participant(k).to_string(), self.modality(k).to_string());
        self.known.iter().map(names).collect()
    }

    /// Feature names of a pair, in the order of its predictions.
    pub fn features(&self, participant: &str, modality: &str) -> Option<Vec<String>> {
        self.find(participant, modality).map(|k| k.features.clone())
    }

    /// The model's number of factors.
    pub fn factors(&self) -> usize {
        self.shared.factors
    }

    pub(super) fn participant(&self, known: &Known) -> &str {
        &self.shared.recording.participants[known.participant]
    }

    pub(super) fn modality(&self, known: &Known) -> &str {
        &self.shared.recording.modalities[known.modality]
    }

    pub(super) fn find(&self, participant: &str, modality: &str) -> Option<&Known> {
        self.known.iter().find(|k| self.participant(k) == participant && self.modality(k) == modality)
    }
}

/// The responses with the learned parameters at the values that `env` has for them.
pub(super) fn resolved(plan: &Plan, shared: &SharedPlan, env: &Env) -> Responses {
    let mut responses = shared.responses.clone();
    let learned = |b: &&Block| responses.coordinates.contains(&b.offset);
    let blocks: Vec<&Block> = plan.blocks.iter().filter(learned).collect();
    let values: Vec<f64> = blocks.iter().filter_map(|b| env.get(&b.name)).flat_map(|v| v.values.clone()).collect();
    for slot in &mut responses.slots {
        let mut parameters = slot.response.values();
        for learned in &slot.learned {
            if let Some(value) = values.get(learned.coordinate) {
                parameters[learned.index] = *value;
            }
        }
        // Fitted values lie inside their domain; were they not, the start of the search would stay.
        if let Ok(response) = slot.response.family().with(&parameters) {
            slot.response = response;
        }
    }
    responses
}

/// A response for a participant of whom the fit knows none: that of the mean of the others, of logarithms where a
/// parameter is positive.
fn group_slot(responses: &Responses, participant: usize, modality: usize) -> Option<ResponseSlot> {
    let others: Vec<&ResponseSlot> = responses.slots.iter().filter(|s| s.modality == modality).collect();
    let first = others.first()?;
    let family = first.response.family();
    let n = others.len() as f64;
    let mean = |i: usize| {
        let of = |s: &&ResponseSlot| s.response.values()[i];
        if family.parameters[i].domain.bounds().0 >= 0.0 {
            (others.iter().map(|s| of(s).ln()).sum::<f64>() / n).exp()
        } else {
            others.iter().map(of).sum::<f64>() / n
        }
    };
    let values: Vec<f64> = (0..family.parameters.len()).map(mean).collect();
    let response = family.with(&values).ok()?;
    Some(ResponseSlot { modality, participant: Some(participant), response, learned: Vec::new() })
}

/// The position of `name`, which is added where it is missing.
pub(super) fn place(names: &mut Vec<String>, name: &String) -> usize {
    names.iter().position(|n| n == name).unwrap_or_else(|| {
        names.push(name.clone());
        names.len() - 1
    })
}

/// Adds the names of a calibrated pair to the plan.
fn extend(shared: &mut SharedPlan, pair: &Calibrated) -> Known {
    let participant = place(&mut shared.recording.participants, &pair.participant);
    let modality = place(&mut shared.recording.modalities, &pair.modality);
    if shared.responses.slot(participant, modality).is_none()
        && let Some(slot) = group_slot(&shared.responses, participant, modality)
    {
        shared.responses.slots.push(slot);
    }
    let first_key = shared.keys.len();
    for (feature, name) in pair.features.iter().enumerate() {
        let label = format!("{},{},{name}", pair.participant, pair.modality);
        shared.keys.push(Key { participant, modality, feature, label });
    }
    shared.standardisation.extend_from_slice(&pair.standardisation);
    shared.noises.push((participant, modality));
    Known { participant, modality, first_key, features: pair.features.clone() }
}

/// Adds the weights of a calibrated pair behind those of the fit.
fn extend_env(env: &mut Env, parts: &Shared, pair: &Calibrated) {
    let mut append = |name: Option<&String>, values: &[f64]| {
        if let Some(value) = name.and_then(|n| env.get_mut(n)) {
            value.values.extend_from_slice(values);
            let columns: usize = value.shape.iter().skip(1).product();
            value.shape[0] = value.values.len() / columns.max(1);
        }
    };
    append(Some(&parts.loading), &pair.loadings);
    append(parts.offset.as_ref(), &pair.offsets);
    append(parts.noise.as_ref(), pair.noise.as_slice());
}

impl Gridded {
    fn new(
        plan: &Plan,
        parts: &Shared,
        shared: &SharedPlan,
        env: &Env,
        calibrated: &[Calibrated],
    ) -> Result<Self, QueryError> {
        let start = gridded_from_plan(parts, shared)?;
        let fitted = start.at_responses(&gridded_responses(&resolved(plan, shared, env)))?;
        let values = |name: &str| env.get(name).map(|v| v.values.clone()).unwrap_or_default();
        let mut loadings = values(&parts.loading);
        let scale = |s: &crate::bind::Standardisation| Scale { mean: s.mean, sd: s.sd, constant: false };
        let new: Vec<NewPair> = calibrated
            .iter()
            .map(|c| NewPair {
                participant: c.participant.clone(),
                modality: c.modality.clone(),
                features: c.features.clone(),
                scales: c.standardisation.iter().map(scale).collect(),
                response: c.response.clone(),
            })
            .collect();
        calibrated.iter().for_each(|pair| loadings.extend_from_slice(&pair.loadings));
        let (Latent::Grid { name: latent, .. } | Latent::Process { name: latent, .. }) = &parts.latent;
        let problem = if new.is_empty() { fitted } else { fitted.with_pairs(&new)? };
        Ok(Gridded { problem, loadings, latents: values(latent), strengths: gridded_strengths(shared) })
    }
}
