//! Predicts streams from other streams of the same time: which are looked at, which are kept out, and where the data reach.

use super::clock::clock_segments;
use super::error::GriddedError;
use super::problem::Problem;
use super::query::{Series, infer_latent, predict};
use super::steps::Strengths;
use crate::data::Recording;

/// Whose streams a prediction may look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// Other modalities of the target participant.
    Within,
    /// Other participants.
    Across,
    /// Both.
    Both,
}

/// A stream, over all runs, that is to be predicted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    pub participant: String,
    pub modality: String,
}

/// Where a source stream was observed.
#[derive(Debug, Clone, PartialEq)]
pub struct Coverage {
    pub participant: String,
    pub modality: String,
    /// First and last time of every stretch without a gap, seconds.
    pub intervals: Vec<(f64, f64)>,
}

/// One predicted stream of one run.
#[derive(Debug, Clone, PartialEq)]
pub struct Prediction {
    pub participant: String,
    pub modality: String,
    pub run: String,
    /// Values in original units; valid where the response's support lies inside the domain of the sources.
    pub series: Series,
    /// First and last time observed in the sources, seconds.
    pub domain: (f64, f64),
    /// The streams that were looked at in this run.
    pub sources: Vec<Coverage>,
}

/// Predicts `targets` from the other streams of `recording` under the fitted loadings `w`, at `times` (seconds, the same
/// for every run) or on the latent grid of each run.
///
/// No target is looked at, whichever participant is predicted. `fitted` must hold the learned responses
/// ([`Problem::at_responses`]).
///
/// # Errors
/// Unknown targets, no source left, runs whose sources do not reach the target's latent, and those of
/// [`Problem::condition`].
pub fn predict_targets(
    (fitted, w): (&Problem, &[f64]),
    strengths: &Strengths,
    recording: &Recording,
    targets: &[Target],
    source: Source,
    times: Option<&[f64]>,
) -> Result<Vec<Prediction>, GriddedError> {
    let mut out = Vec::new();
    for (i, target) in targets.iter().enumerate() {
        // Participants in the order of their first target, each with one look at the sources.
        if targets[..i].iter().any(|t| t.participant == target.participant) {
            continue;
        }
        let sources = sources_of(recording, targets, &target.participant, source)?;
        let (conditioned, z) = infer_latent(fitted, w, strengths, &sources)?;
        for target in targets.iter().filter(|t| t.participant == target.participant) {
            for run in &conditioned.runs {
                let on_grid: Vec<f64> = (0..run.grid.nodes).map(|n| run.grid.time(n)).collect();
                let times = times.unwrap_or(&on_grid);
                let at = (&conditioned, z.as_slice());
                let series = predict((fitted, w), at, &target.participant, &target.modality, &run.name, times)?;
                out.push(Prediction {
                    participant: target.participant.clone(),
                    modality: target.modality.clone(),
                    run: run.name.clone(),
                    series,
                    domain: run.domain,
                    sources: coverage(&sources, fitted, &run.name),
                });
            }
        }
    }
    Ok(out)
}

/// The streams that a prediction for `participant` may look at.
fn sources_of(
    recording: &Recording,
    targets: &[Target],
    participant: &str,
    source: Source,
) -> Result<Recording, GriddedError> {
    let mut kept = recording.clone();
    kept.streams.retain(|s| {
        let (p, m) = (&recording.participants[s.participant], &recording.modalities[s.modality]);
        let own = p == participant;
        let allowed = match source {
            Source::Within => own,
            Source::Across => !own,
            Source::Both => true,
        };
        allowed && !targets.iter().any(|t| t.participant == *p && t.modality == *m)
    });
    if kept.streams.is_empty() { Err(GriddedError::NoSources) } else { Ok(kept) }
}

/// Where each stream of a run was observed in a modality of positive weight.
fn coverage(sources: &Recording, fitted: &Problem, run: &str) -> Vec<Coverage> {
    let mut out = Vec::new();
    for s in sources.streams.iter().filter(|s| sources.runs[s.run] == run) {
        let modality = &sources.modalities[s.modality];
        let weight = fitted.modalities.iter().position(|m| m == modality).map_or(0.0, |m| fitted.modality_weights[m]);
        let features = s.features.len();
        let observed = s.times.iter().zip(s.values.chunks_exact(features));
        let times: Vec<f64> = observed.filter(|(_, row)| row.iter().any(|v| !v.is_nan())).map(|(t, _)| *t).collect();
        if weight > 0.0 && !times.is_empty() {
            let stretches = clock_segments(&times, fitted.options.gap_threshold);
            out.push(Coverage {
                participant: sources.participants[s.participant].clone(),
                modality: modality.clone(),
                intervals: stretches.into_iter().map(|r| (times[r.start], times[r.end - 1])).collect(),
            });
        }
    }
    out
}
