//! Which response every stream has, and where the learned parameters of responses lie among the coordinates.

use super::evaluate::{Env, evaluate};
use super::forms::Form;
use super::plan::Block;
use super::shared::SharedError;
use crate::data::Recording;
use crate::model::{Draw, LearnedParameter, ModalityResponse, Typed};
use crate::response::{Family, Response};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// One response: of a modality, or of one participant's modality.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ResponseSlot {
    pub modality: usize,
    /// `None`: all participants share it.
    pub participant: Option<usize>,
    /// The family with the values of all parameters; a search for the learned ones starts here.
    pub response: Response,
    pub learned: Vec<LearnedSlot>,
}

/// A learned parameter of a [`ResponseSlot`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LearnedSlot {
    /// Position in the family's table of parameters.
    pub index: usize,
    /// Position among all learned parameters of the plan.
    pub coordinate: usize,
    pub lower: f64,
    pub upper: f64,
}

/// The responses of a recording.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Responses {
    /// In modality, participant order; every modality has one.
    pub slots: Vec<ResponseSlot>,
    /// Coordinates of the learned parameters in the plan.
    pub coordinates: Range<usize>,
}

/// The prior of a learned parameter as a penalty: ((p - center) / sd)^2 / 2, p being the parameter or its logarithm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ResponsePenalty {
    /// Position among the declared responses of the model.
    pub response: usize,
    /// Position of the parameter in the family's table.
    pub index: usize,
    pub logarithmic: bool,
    pub center: f64,
    pub sd: f64,
}

/// The penalties that the priors of learned parameters are in an objective.
pub(super) fn penalties(model: &[ModalityResponse], values: &Env) -> Result<Vec<ResponsePenalty>, SharedError> {
    let mut out = Vec::new();
    for (response, declared) in model.iter().enumerate() {
        for parameter in &declared.learned {
            let Some(Draw { family, arguments, .. }) = &parameter.prior else { continue };
            let number =
                |i: usize| arguments.get(i).and_then(|a| evaluate(a, values).ok()).map_or(f64::NAN, |v| v.values[0]);
            let (center, sd) = (number(0), number(1));
            if !(sd > 0.0 && sd.is_finite() && center.is_finite()) {
                return Err(SharedError::ResponsePrior { parameter: parameter.name.clone(), sd });
            }
            let logarithmic = family == "lognormal";
            out.push(ResponsePenalty { response, index: parameter.index, logarithmic, center, sd });
        }
    }
    Ok(out)
}

impl Responses {
    /// The slots of a recording's modalities, and the blocks of what is learned.
    pub(super) fn new(
        model: &[ModalityResponse],
        recording: &Recording,
        values: &Env,
    ) -> Result<(Responses, Vec<Block>), SharedError> {
        let mut responses = Responses::default();
        let mut blocks = Vec::new();
        for (m, modality) in recording.modalities.iter().enumerate() {
            let Some(declared) = model.iter().find(|r| r.modality == *modality) else {
                let (response, learned) = (Response::Identity, Vec::new());
                responses.slots.push(ResponseSlot { modality: m, participant: None, response, learned });
                continue;
            };
            let has = |p: usize| recording.streams.iter().any(|s| (s.participant, s.modality) == (p, m));
            let owners: Vec<Option<usize>> = if declared.per_participant {
                (0..recording.participants.len()).filter(|&p| has(p)).map(Some).collect()
            } else {
                vec![None]
            };
            let first = responses.slots.len();
            responses.slots.extend(owners.iter().map(|&participant| ResponseSlot {
                modality: m,
                participant,
                response: declared.response.clone(),
                learned: Vec::new(),
            }));
            for parameter in &declared.learned {
                let family = declared.response.family();
                let (lower, upper, start) = interval(family, parameter, declared, values)?;
                let name = |p: &usize| format!("{}[{}]", parameter.name, recording.participants[*p]);
                let labels = owners.iter().map(|p| p.as_ref().map_or(parameter.name.clone(), name)).collect();
                for slot in &mut responses.slots[first..] {
                    let coordinate = responses.coordinates.end;
                    slot.learned.push(LearnedSlot { index: parameter.index, coordinate, lower, upper });
                    responses.coordinates.end += 1;
                    let mut all = slot.response.values();
                    all[parameter.index] = start;
                    // A start that breaks a rule between parameters is met at the first evaluation.
                    if let Ok(response) = family.with(&all) {
                        slot.response = response;
                    }
                }
                blocks.push(Block {
                    name: parameter.name.clone(),
                    form: Form::Direct,
                    shape: if declared.per_participant { vec![owners.len()] } else { vec![] },
                    labels,
                    offset: 0,
                    lower: vec![lower; owners.len()],
                    upper: vec![upper; owners.len()],
                });
            }
        }
        Ok((responses, blocks))
    }

    /// The slot that a stream of this participant and modality follows.
    pub fn slot(&self, participant: usize, modality: usize) -> Option<usize> {
        let mine = |s: &ResponseSlot| s.modality == modality && s.participant.is_none_or(|p| p == participant);
        self.slots.iter().position(mine)
    }

    /// Number of learned parameters.
    pub fn learned_count(&self) -> usize {
        self.coordinates.len()
    }

    /// For every learned parameter, in their order: its place among the parameters of all slots, one slot after the
    /// other, each in the order of its family's table.
    pub fn places(&self) -> Vec<usize> {
        let mut places = vec![0; self.learned_count()];
        let mut first = 0;
        for slot in &self.slots {
            for learned in &slot.learned {
                places[learned.coordinate] = first + learned.index;
            }
            first += slot.response.values().len();
        }
        places
    }

    /// Parameters of all slots, one after the other; the learned ones are where a search starts.
    pub fn values(&self) -> Vec<f64> {
        self.slots.iter().flat_map(|s| s.response.values()).collect()
    }

    /// Parameters of all slots, one after the other, with the learned ones from `env`.
    pub fn values_in(&self, blocks: &[Block], env: &Env) -> Vec<f64> {
        let mut values = self.values();
        let mine = blocks.iter().filter(|b| self.coordinates.contains(&b.offset));
        let learned = mine.filter_map(|b| env.get(&b.name)).flat_map(|v| v.values.iter());
        for (place, value) in self.places().into_iter().zip(learned) {
            values[place] = *value;
        }
        values
    }
}

/// Bounds of a learned parameter inside its domain, and where its search starts.
fn interval(
    family: &Family,
    parameter: &LearnedParameter,
    declared: &ModalityResponse,
    values: &Env,
) -> Result<(f64, f64, f64), SharedError> {
    let number = |bound: &Option<Typed>| bound.as_ref().and_then(|b| evaluate(b, values).ok()).map(|v| v.values[0]);
    let (lowest, highest) = family.parameters[parameter.index].domain.bounds();
    let lower = number(&parameter.lower).unwrap_or(lowest).max(lowest);
    let upper = number(&parameter.upper).unwrap_or(highest).min(highest);
    if lower.is_nan() || upper.is_nan() || lower >= upper {
        return Err(SharedError::ResponseBounds { parameter: parameter.name.clone(), lower, upper });
    }
    let default = declared.response.values()[parameter.index];
    let inside = |v: &f64| *v > lower && *v < upper;
    let middle = match (lower.is_finite(), upper.is_finite()) {
        (true, true) => 0.5 * (lower + upper),
        (true, false) => lower + 1.0,
        (false, true) => upper - 1.0,
        (false, false) => 0.0,
    };
    let start = parameter.start.filter(inside).or(Some(default).filter(inside)).unwrap_or(middle);
    Ok((lower, upper, start))
}
