//! Loadings of people or modalities that were not fitted: one ridge step against latents that stay as they are.
//!
//! The entries of the new streams are weighed among themselves as those of a fit are, and the ridge is divided by the
//! number of new pairs; there is nothing to iterate, because neither the latents nor the responses move.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::blocks::Blocks;
use super::build::{Usable, any_observed, append, check_stream, scales_of, union_of_features};
use super::error::GriddedError;
use super::observation::{Rows, eligible};
use super::pair_state::PairState;
use super::problem::{Lists, LoadingScaling, Pair, Problem, Segment};
use super::solve::check_vector;
use super::standardize::Scale;
use super::steps::Strengths;
use crate::data::{Recording, Stream};

/// A participant's modality that was fitted after the others.
#[derive(Debug, Clone, PartialEq)]
pub struct NewPair {
    pub participant: String,
    pub modality: String,
    /// Feature names, length F.
    pub features: Vec<String>,
    /// Centre and scale of each feature.
    pub scales: Vec<Scale>,
    /// F x K, row-major.
    pub loadings: Vec<f64>,
}

/// Loadings of every stream of `recording`, none of which was fitted, against the latent `z` of `reference`; its runs
/// must hold those of the recording. Modalities respond as they do in `fitted`.
///
/// # Errors
/// A latent path of their own for participants or groups of them; a stream that was fitted, of a modality or run that nobody has, or with no row that its response can use.
pub fn calibrate(
    fitted: &Problem,
    (reference, z): (&Problem, &[f64]),
    strengths: &Strengths,
    recording: &Recording,
) -> Result<Vec<NewPair>, GriddedError> {
    check_vector("latents", z, reference.latent_count())?;
    strengths.check()?;
    if fitted.groups.len() > 1 {
        return Err(GriddedError::SeveralPaths);
    }
    let k = fitted.factors();
    let mut by_pair: BTreeMap<(usize, usize), Vec<Usable>> = BTreeMap::new();
    let mut present: BTreeMap<(usize, usize), f64> = BTreeMap::new();
    for stream in &recording.streams {
        check_stream(recording, stream)?;
        let usable = usable_rows(fitted, reference, recording, stream)?;
        if !usable.rows.is_empty() {
            let (_, weight) = known_modality(fitted, &recording.modalities[stream.modality])?;
            *present.entry((stream.participant, stream.run)).or_default() += weight;
            by_pair.entry((stream.participant, stream.modality)).or_default().push(usable);
        }
    }
    for s in &recording.streams {
        if !by_pair.contains_key(&(s.participant, s.modality)) {
            return Err(GriddedError::TooShort {
                participant: recording.participants[s.participant].clone(),
                modality: recording.modalities[s.modality].clone(),
            });
        }
    }
    let (participant_runs, pairs) = (present.len() as f64, by_pair.len() as f64);
    let mut out = Vec::with_capacity(by_pair.len());
    for ((participant, modality), usable) in by_pair {
        let (model, weight) = known_modality(fitted, &recording.modalities[modality])?;
        let streams: Vec<&Stream> = usable.iter().map(|u| u.stream).collect();
        let features = union_of_features(&streams);
        let scales = scales_of(recording, &fitted.options, &streams, &features, &mut Vec::new())?;
        let scaling = match fitted.options.loading_scaling {
            LoadingScaling::Pair => 1.0 / pairs,
            LoadingScaling::Feature => 1.0 / (pairs * features.len() as f64),
        };
        let names = (recording.participants[participant].as_str(), recording.modalities[modality].as_str());
        let mut pair = bare_pair(names, model, features, scales, scaling);
        let (mut gaps, mut x) = (Vec::new(), Vec::new());
        for u in &usable {
            let index = run_of(reference, &recording.runs[u.stream.run])?;
            let share = weight / present[&(participant, u.stream.run)] / participant_runs;
            let start = pair.row_count();
            append(&mut pair, &mut x, &mut gaps, u, &reference.runs[index], share, &fitted.options);
            pair.segments.push(Segment { run: index, track: index, rows: start..pair.row_count() });
        }
        pair.x = Arc::new(x);
        let missing_at = |f: usize| (0..gaps.len()).filter(|&t| gaps[t].contains(&f)).collect();
        pair.missing_by_feature = Lists::collect((0..pair.features.len()).map(missing_at));
        pair.missing_by_row = Lists::collect(gaps.iter().cloned());
        let mut loadings = vec![0.0; pair.features.len() * k];
        let blocks = Blocks::new(&pair);
        let mut state = PairState::new(&pair, &blocks, &loadings, k);
        let ridge = strengths.loading * pair.ridge_weight;
        state.solve(&pair, &blocks, &signal(&pair, reference, z, k), ridge, k).map_err(|pivot| {
            GriddedError::LoadingStep { participant: pair.participant.clone(), modality: pair.modality.clone(), pivot }
        })?;
        state.write_loadings(&pair, &blocks, &mut loadings, k);
        let Pair { participant, modality, features, scales, .. } = pair;
        out.push(NewPair { participant, modality, features, scales, loadings });
    }
    Ok(out)
}

/// A fitted pair of the modality, whose response the new pair takes, and the modality's weight.
fn known_modality<'a>(fitted: &'a Problem, modality: &str) -> Result<(&'a Pair, f64), GriddedError> {
    let pair = fitted.pairs.iter().find(|p| p.modality == modality);
    pair.map(|p| (p, fitted.modality_weights[p.modality_index]))
        .ok_or_else(|| GriddedError::UnknownModality { modality: modality.to_owned() })
}

fn run_of(reference: &Problem, run: &str) -> Result<usize, GriddedError> {
    reference.run_index(run).ok_or_else(|| GriddedError::UnknownRun { run: run.to_owned() })
}

/// Rows of a new stream that are observed and lie far enough inside the reference's run.
fn usable_rows<'a>(
    fitted: &Problem,
    reference: &Problem,
    recording: &Recording,
    stream: &'a Stream,
) -> Result<Usable<'a>, GriddedError> {
    let (participant, modality) = (&recording.participants[stream.participant], &recording.modalities[stream.modality]);
    if fitted.pair_index(participant, modality).is_some() {
        return Err(GriddedError::AlreadyFitted { participant: participant.clone(), modality: modality.clone() });
    }
    let envelope = known_modality(fitted, modality)?.0.response.envelope();
    let run = &reference.runs[run_of(reference, &recording.runs[stream.run])?];
    let rows = (0..stream.times.len())
        .filter(|&t| any_observed(stream, t) && eligible(stream.times[t], envelope, run.domain, &run.grid))
        .collect();
    Ok(Usable { stream, rows })
}

/// A pair without rows that responds like `model`.
fn bare_pair(
    (participant, modality): (&str, &str),
    model: &Pair,
    features: Vec<String>,
    scales: Vec<Scale>,
    ridge_weight: f64,
) -> Pair {
    Pair {
        participant: participant.to_owned(),
        participant_index: model.participant_index,
        modality: modality.to_owned(),
        modality_index: model.modality_index,
        features,
        scales,
        loading_offset: 0,
        segments: Vec::new(),
        response: Arc::clone(&model.response),
        slot: None,
        x: Arc::default(),
        times: Vec::new(),
        weights: Vec::new(),
        rows: Rows::default(),
        missing_by_row: Lists::default(),
        missing_by_feature: Lists::default(),
        ridge_weight,
    }
}

/// H z at the rows of the pair, T x K.
fn signal(pair: &Pair, reference: &Problem, z: &[f64], k: usize) -> Vec<f64> {
    let mut y = vec![0.0; k * pair.row_count()];
    for s in &pair.segments {
        let out = &mut y[k * s.rows.start..k * s.rows.end];
        pair.rows.apply(s.rows.clone(), k, &z[reference.latent_range(s.track)], out);
    }
    y
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
            let (model, _) = known_modality(self, &pair.modality)?;
            let names = (pair.participant.as_str(), pair.modality.as_str());
            let mut bare = bare_pair(names, model, pair.features.clone(), pair.scales.clone(), 0.0);
            bare.loading_offset = extended.loading_count();
            extended.pairs.push(bare);
        }
        Ok(extended)
    }
}
