//! The responses that a fit learned, at its mode or averaged over its draws.

use super::error::QueryError;
use super::fitted::resolved;
use crate::archive::{Archive, Outcome};
use crate::response::Response;
use crate::run::envs::{draw_envs, mode_env};

/// Draws that parameters are averaged over.
const AVERAGED_DRAWS: usize = 200;

/// A response with learned parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct LearnedResponse {
    pub modality: String,
    /// Whose it is; everybody's where absent.
    pub participant: Option<String>,
    /// At the mode, or with the mean of each parameter over draws.
    pub response: Response,
    /// Positions of the learned parameters in the family's table.
    pub learned: Vec<usize>,
}

/// Every response of the fit that has a learned parameter, in the order of the modalities.
///
/// # Errors
/// Archives whose quantities do not fit their model.
pub fn learned_responses(archive: &Archive) -> Result<Vec<LearnedResponse>, QueryError> {
    let plan = &archive.plan;
    let Some(shared) = plan.shared.as_ref().filter(|s| s.responses.learned_count() > 0) else {
        return Ok(Vec::new());
    };
    let envs = match &archive.outcome {
        Outcome::Mode(mode) => vec![mode_env(plan, mode)?],
        Outcome::Draws(draws) => draw_envs(plan, draws, AVERAGED_DRAWS)?,
    };
    let at: Vec<_> = envs.iter().map(|env| resolved(plan, shared, env)).collect();
    let mut out = Vec::new();
    for (i, slot) in shared.responses.slots.iter().enumerate().filter(|(_, s)| !s.learned.is_empty()) {
        let mut values = vec![0.0; slot.response.values().len()];
        for responses in &at {
            let of_draw = responses.slots[i].response.values();
            values.iter_mut().zip(of_draw).for_each(|(sum, v)| *sum += v / at.len() as f64);
        }
        let participant = slot.participant.map(|p| shared.recording.participants[p].clone());
        // The mean of admissible parameters may break a rule between two of them; then there is no mean curve.
        if let Ok(response) = slot.response.family().with(&values) {
            out.push(LearnedResponse {
                modality: shared.recording.modalities[slot.modality].clone(),
                participant,
                response,
                learned: slot.learned.iter().map(|l| l.index).collect(),
            });
        }
    }
    Ok(out)
}
