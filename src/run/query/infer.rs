//! The latent of new data under the parameters of a fit: of everybody together, or of each participant alone.

use super::error::QueryError;
use super::fitted::Fitted;
use super::predict::{Query, Source, keep};
use crate::data::Recording;

/// Most times of one run, so that a typing error in a spacing is caught before memory is asked for.
const MOST_TIMES: usize = 10_000_000;

/// How to infer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct InferOptions {
    pub query: Query,
    /// Each participant's latent from their own streams alone.
    pub alone: bool,
}

/// The latent of one run.
#[derive(Debug, Clone, PartialEq)]
pub struct InferredLatent {
    /// Whose latent it is, names joined by `+`; everybody's where absent.
    pub participant: Option<String>,
    pub run: String,
    /// Seconds, length T.
    pub times: Vec<f64>,
    /// T x K; NaN where not valid.
    pub mean: Vec<f64>,
    /// T x K, for a latent with a process.
    pub sd: Option<Vec<f64>>,
    pub valid: Vec<bool>,
}

/// The latent of every run of `data` (as it was read), and what was left out, one sentence each.
///
/// # Errors
/// Data that the fit does not know, or without an observed value.
pub fn infer(
    fitted: &Fitted<'_>,
    data: &Recording,
    options: &InferOptions,
) -> Result<(Vec<InferredLatent>, Vec<String>), QueryError> {
    let admitted = fitted.admit(data)?;
    let recording = &admitted.recording;
    let present = |p: &usize| recording.streams.iter().any(|s| s.participant == *p);
    let groups: Vec<Option<&str>> = if options.alone {
        let who = (0..recording.participants.len()).filter(present);
        who.map(|p| Some(recording.participants[p].as_str())).collect()
    } else {
        vec![None]
    };
    let mut out = Vec::new();
    for who in groups {
        let part = match who {
            Some(participant) => keep(recording, participant, Source::Within),
            None => recording.clone(),
        };
        let mut conditioned = fitted.condition(&part)?;
        for run in conditioned.runs() {
            let times = match options.query {
                Query::Native => conditioned.natural_times(&run)?,
                Query::Every(step) => spaced(&run, conditioned.domain(&run)?, step)?,
            };
            for (path, people) in conditioned.paths() {
                let values = conditioned.latent(&run, path, &times)?;
                out.push(InferredLatent {
                    participant: who.map(str::to_string).or(people),
                    run: run.clone(),
                    times: times.clone(),
                    mean: values.mean,
                    sd: values.sd,
                    valid: values.valid,
                });
            }
        }
    }
    if out.is_empty() {
        return Err(QueryError::NoSource { reason: "nothing of them is known to the fit".into() });
    }
    Ok((out, admitted.notes))
}

/// Times from `first` to `last`, `step` seconds apart.
pub(super) fn spaced(run: &str, (first, last): (f64, f64), step: f64) -> Result<Vec<f64>, QueryError> {
    if !step.is_finite() || step <= 0.0 {
        return Err(QueryError::Step { step });
    }
    // A last time that rounding puts behind the end still counts.
    let count = ((last - first) / step * (1.0 + 1e-12)).floor() + 1.0;
    if count > MOST_TIMES as f64 {
        return Err(QueryError::ManyTimes { run: run.to_string(), step, count, limit: MOST_TIMES });
    }
    Ok((0..count as usize).map(|i| first + step * i as f64).collect())
}
