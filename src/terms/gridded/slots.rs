//! The curves of a problem, one for a modality or for each of its participants, and the vector of their learned parameters.
//!
//! The vector holds the values (not logarithms), modality by modality in the order of the recording, within a modality
//! curve by curve in the order of participants, within a curve in the order of the family's table.

use std::sync::Arc;

use super::error::GriddedError;
use super::learned::{LearnedResponse, ResponsePooling};
use super::observation::{ObservationRows, Rows};
use super::problem::{Pair, Problem};
use super::response_rows::ResponseRows;
use crate::response::Response;

/// One curve, shared by a modality's participants or belonging to one of them.
#[derive(Debug, Clone, PartialEq)]
pub struct ResponseSlot {
    pub modality: String,
    /// Index of the modality in [`Problem::modalities`].
    pub modality_index: usize,
    /// `None` where all participants share the curve.
    pub participant: Option<String>,
    /// The curve behind the rows of the problem.
    pub response: Response,
    /// Indices of the learned parameters in the family's table.
    pub free: Vec<usize>,
    /// Index in the vector of learned parameters of the first of them.
    pub offset: usize,
}

/// What a coordinate of the vector of learned parameters is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResponseName<'a> {
    pub modality: &'a str,
    /// `None` where all participants share the curve.
    pub participant: Option<&'a str>,
    pub parameter: &'static str,
}

impl ResponseSlot {
    /// Indices of the curve's learned parameters in the vector of all.
    pub fn range(&self) -> std::ops::Range<usize> {
        self.offset..self.offset + self.free.len()
    }

    /// The curve with these values of its learned parameters.
    pub(super) fn with(&self, values: &[f64]) -> Result<Response, GriddedError> {
        if self.free.is_empty() {
            return Ok(self.response.clone());
        }
        let mut all = self.response.values();
        for (&i, v) in self.free.iter().zip(values) {
            all[i] = *v;
        }
        let named = |reason| GriddedError::Response { modality: self.modality.clone(), reason };
        self.response.family().with(&all).map_err(named)
    }
}

/// The checked responses of the modalities, before it is known which pairs are fitted.
pub(super) struct Slots {
    rows: Vec<Arc<dyn ObservationRows>>,
}

impl Slots {
    pub fn new(modalities: &[String], responses: &[LearnedResponse]) -> Result<Self, GriddedError> {
        if responses.len() != modalities.len() {
            return Err(GriddedError::ResponseCount { expected: modalities.len(), found: responses.len() });
        }
        let mut rows: Vec<Arc<dyn ObservationRows>> = Vec::with_capacity(responses.len());
        for (modality, response) in modalities.iter().zip(responses) {
            let refused = |reason| GriddedError::Learned { modality: modality.clone(), reason };
            response.check().map_err(refused)?;
            let envelope = response.envelope().map_err(|e| refused(e.into()))?;
            let made = ResponseRows::with_envelope(&response.initial, envelope).map_err(|e| refused(e.into()))?;
            rows.push(Arc::new(made));
        }
        Ok(Slots { rows })
    }

    /// With the rows of `fitted` for modalities that stay as they are there, so that the same times stay usable.
    pub fn fixed_as(mut self, fitted: &Problem, modalities: &[String]) -> Self {
        for (rows, modality) in self.rows.iter_mut().zip(modalities) {
            let shared =
                |p: &&Pair| p.modality == *modality && p.slot.is_some_and(|s| fitted.slots[s].participant.is_none());
            if let Some(pair) = fitted.pairs.iter().find(shared) {
                *rows = Arc::clone(&pair.response);
            }
        }
        self
    }

    /// The rows of a modality's initial response.
    pub fn rows(&self, modality: usize) -> Arc<dyn ObservationRows> {
        Arc::clone(&self.rows[modality])
    }
}

/// The curves of the fitted pairs, to which the pairs are pointed.
pub(super) fn slots_of(pairs: &mut [Pair], modalities: &[String], responses: &[LearnedResponse]) -> Vec<ResponseSlot> {
    let mut slots: Vec<ResponseSlot> = Vec::new();
    let mut offset = 0;
    for (modality_index, (modality, learned)) in modalities.iter().zip(responses).enumerate() {
        let free = learned.free_parameters();
        let together = free.is_empty() || learned.pooling == ResponsePooling::Shared;
        let mut common = None;
        for pair in pairs.iter_mut().filter(|p| p.modality_index == modality_index) {
            if common.is_none() || !together {
                common = Some(slots.len());
                slots.push(ResponseSlot {
                    modality: modality.clone(),
                    modality_index,
                    participant: (!together).then(|| pair.participant.clone()),
                    response: learned.initial.clone(),
                    free: free.clone(),
                    offset,
                });
                offset += free.len();
            }
            pair.slot = common;
        }
    }
    slots
}

impl Problem {
    /// Number of learned response parameters.
    pub fn response_count(&self) -> usize {
        self.slots.last().map_or(0, |s| s.range().end)
    }

    /// The learned parameters of the curves behind the rows of the problem.
    pub fn response_values(&self) -> Vec<f64> {
        let values = self.slots.iter().flat_map(|s| {
            let all = s.response.values();
            s.free.iter().map(move |&i| all[i]).collect::<Vec<_>>()
        });
        values.collect()
    }

    /// Smallest and largest value of each learned parameter.
    pub fn response_bounds(&self) -> Vec<(f64, f64)> {
        let bounds = self.slots.iter().flat_map(|s| {
            let all = &self.learned[s.modality_index].bounds;
            s.free.iter().filter_map(|&i| all[i])
        });
        bounds.collect()
    }

    /// Name of entry `index` of the vector of learned parameters, or `None` behind its end.
    pub fn response_name(&self, index: usize) -> Option<ResponseName<'_>> {
        let slot = self.slots.iter().find(|s| s.range().contains(&index))?;
        let parameter = slot.free[index - slot.offset];
        Some(ResponseName {
            modality: &slot.modality,
            participant: slot.participant.as_deref(),
            parameter: slot.response.family().parameters[parameter].name,
        })
    }

    /// Index in [`Problem::slots`] of the curve of a pair, where its response is one that can be learned.
    pub fn slot_of(&self, pair: usize) -> Option<usize> {
        self.pairs[pair].slot
    }

    /// The curve whose coordinates (logarithms, lags as they are) are the mean of those of a modality's curves.
    ///
    /// # Errors
    /// A modality without curves, and a mean that is no curve of the family.
    pub fn group_response(&self, modality_index: usize) -> Result<Response, GriddedError> {
        let slots: Vec<&ResponseSlot> = self.slots.iter().filter(|s| s.modality_index == modality_index).collect();
        let unknown = || GriddedError::UnknownModality { modality: self.modalities[modality_index].clone() };
        let first = *slots.first().ok_or_else(unknown)?;
        let count = slots.len() as f64;
        let values = first.free.iter().zip(self.learned[modality_index].logarithmic()).map(|(&i, log)| {
            let all = slots.iter().map(|s| s.response.values()[i]);
            if log { (all.map(f64::ln).sum::<f64>() / count).exp() } else { all.sum::<f64>() / count }
        });
        first.with(&values.collect::<Vec<_>>())
    }

    /// This problem under other values of the learned parameters, as [`super::Solution::response_values`] has them. The data
    /// are shared, and usable rows stay the same.
    ///
    /// # Errors
    /// A wrong number of values, values that are not finite or outside their bounds, and those of [`ResponseRows::new`].
    pub fn at_responses(&self, values: &[f64]) -> Result<Problem, GriddedError> {
        super::solve::check_vector("response parameters", values, self.response_count())?;
        for (i, (&value, (lo, hi))) in values.iter().zip(self.response_bounds()).enumerate() {
            let slack = 1e-12 * (hi - lo);
            if value < lo - slack || value > hi + slack {
                return Err(GriddedError::ResponseOutside { index: i, value, lo, hi });
            }
        }
        let mut out = self.clone();
        let mut rows: Vec<Arc<dyn ObservationRows>> = Vec::with_capacity(self.slots.len());
        for slot in &mut out.slots {
            slot.response = slot.with(&values[slot.range()])?;
            rows.push(Arc::new(slot_rows(&self.learned[slot.modality_index], slot)?));
        }
        for pair in &mut out.pairs {
            let Some(slot) = pair.slot.filter(|&s| !out.slots[s].free.is_empty()) else { continue };
            pair.response = Arc::clone(&rows[slot]);
            let mut fresh = Rows::default();
            for segment in &pair.segments {
                for &t in &pair.times[segment.rows.clone()] {
                    fresh.push(&*pair.response, t, &out.runs[segment.run].grid);
                }
            }
            pair.rows = fresh;
        }
        Ok(out)
    }
}

/// The rows of a slot's curve within the envelope of its bounds.
pub(super) fn slot_rows(learned: &LearnedResponse, slot: &ResponseSlot) -> Result<ResponseRows, GriddedError> {
    let named = |reason| GriddedError::Response { modality: slot.modality.clone(), reason };
    let envelope = learned.envelope().map_err(named)?;
    ResponseRows::with_envelope(&slot.response, envelope).map_err(named)
}
