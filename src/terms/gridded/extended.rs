//! A problem with pairs that were calibrated after the fit, so that queries reach them.

use std::sync::Arc;

use super::error::GriddedError;
use super::observation::{ObservationRows, Rows};
use super::problem::{Lists, Pair, Problem};
use super::response_rows::ResponseRows;
use super::standardize::Scale;
use crate::response::Response;

/// A participant's modality that was fitted after the others.
#[derive(Debug, Clone, PartialEq)]
pub struct NewPair {
    pub participant: String,
    pub modality: String,
    /// Feature names, length F.
    pub features: Vec<String>,
    /// Centre and scale of each feature.
    pub scales: Vec<Scale>,
    /// The pair's own response; `None` where it has that of its modality.
    pub response: Option<Response>,
}

impl Problem {
    /// This problem with the new pairs behind its own, for queries about them; their loadings follow those of the
    /// problem in the loading vector.
    ///
    /// # Errors
    /// A pair of a modality that nobody has.
    pub fn with_pairs(&self, new: &[NewPair]) -> Result<Problem, GriddedError> {
        let mut extended = self.clone();
        for pair in new {
            let unknown = || GriddedError::UnknownModality { modality: pair.modality.clone() };
            let model = self.pairs.iter().find(|p| p.modality == pair.modality).ok_or_else(unknown)?;
            let named = |reason| GriddedError::Response { modality: pair.modality.clone(), reason };
            let response: Arc<dyn ObservationRows> = match &pair.response {
                Some(response) => {
                    Arc::new(ResponseRows::with_envelope(response, model.response.envelope()).map_err(named)?)
                }
                None => Arc::clone(&model.response),
            };
            let bare = Pair {
                participant: pair.participant.clone(),
                participant_index: model.participant_index,
                modality: pair.modality.clone(),
                modality_index: model.modality_index,
                features: pair.features.clone(),
                scales: pair.scales.clone(),
                loading_offset: extended.loading_count(),
                segments: Vec::new(),
                response,
                slot: None,
                x: Arc::default(),
                times: Vec::new(),
                weights: Vec::new(),
                rows: Rows::default(),
                missing_by_row: Lists::default(),
                missing_by_feature: Lists::default(),
                ridge_weight: 0.0,
            };
            extended.pairs.push(bare);
        }
        Ok(extended)
    }
}
