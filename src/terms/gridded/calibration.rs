//! Finds the loadings of participants (or modalities) who were not fitted, while everything that was fitted stays as it is.
//!
//! The latent is the reference's: that of the fit, or that of fitted streams recorded together with the new ones. A shared
//! response stays; one of each participant is learned, where pooling is partial with its coordinates drawn to the fitted
//! mean curve. Under `Population` and `Neighborhood` a new participant has a latent path of its own, drawn to the fixed
//! paths: strength / (n R) times the sum over nodes of q times affinity times the squared distance, with n the number of
//! fitted and new participants, R the runs, and for `Population` affinity 1 to the mean path.

use super::build::{Calibration, Curves, build};
use super::error::GriddedError;
use super::latent_pooling::{Affinity, LatentPooling};
use super::learn::Learner;
use super::learned::{LearnedResponse, Penalty, PenaltyScale, ResponsePooling};
use super::pair_state::axpy;
use super::problem::{Problem, Run};
use super::query::infer_latent;
use super::solve::{SolveOptions, Termination, check_vector};
use super::steps::{Anchor, Steps};
use super::walk::calibrate as walk;
use crate::data::Recording;
use crate::response::Domain;

/// Where the latent of a calibration comes from.
#[derive(Debug, Clone, Copy)]
pub enum Reference<'a> {
    /// Streams of fitted participants and modalities in the same recording.
    Donors,
    /// The latent vector of the fit, for new streams of the fitted runs.
    Training(&'a [f64]),
}

/// New loadings under a fixed latent.
#[derive(Debug, Clone)]
pub struct Calibrated {
    /// The new pairs with their own scales, under their learned responses.
    pub problem: Problem,
    /// Loading vector of that problem.
    pub loadings: Vec<f64>,
    /// Latent vector of that problem: the reference's, or the new participants' own.
    pub latents: Vec<f64>,
    /// Vector of learned response parameters of that problem.
    pub response_values: Vec<f64>,
    /// Objective of the new pairs after each iteration, with the penalty of the latent that they look at.
    pub history: Vec<f64>,
    pub termination: Termination,
}

/// Calibrates what `recording` holds beyond the fitted pairs. `fitted` has the learned responses
/// ([`Problem::at_responses`]) and loadings `w`; `links` gives affinities of new to fitted participants where paths are
/// related by a graph. Of the options starts and restarts play no part.
///
/// # Errors
/// Nothing new, runs without a reference, new participants whose latent nothing places, and those of [`super::solve`].
pub fn calibrate(
    (fitted, w): (&Problem, &[f64]),
    options: &SolveOptions,
    recording: &Recording,
    reference: Reference,
    links: &Affinity,
) -> Result<Calibrated, GriddedError> {
    check_vector("loadings", w, fitted.loading_count())?;
    options.check()?;
    let names = |s: &crate::data::Stream| {
        let (p, m) = (&recording.participants[s.participant], &recording.modalities[s.modality]);
        fitted.pair_index(p, m).is_some()
    };
    let mut fresh = recording.clone();
    fresh.streams.retain(|s| !names(s));
    if fresh.streams.is_empty() {
        return Err(GriddedError::NothingToCalibrate);
    }
    let inferred;
    let (source, z) = match reference {
        Reference::Training(z) => {
            check_vector("latents", z, fitted.latent_count())?;
            (fitted, z)
        }
        Reference::Donors => {
            let mut donors = recording.clone();
            donors.streams.retain(|s| names(s));
            if donors.streams.is_empty() {
                return Err(GriddedError::NoSources);
            }
            inferred = infer_latent(fitted, w, &options.strengths, &donors)?;
            (&inferred.0, inferred.1.as_slice())
        }
    };
    let runs = reference_runs(&fresh, source)?;
    let responses = fresh.modalities.iter().map(|m| response_for_new(fitted, m)).collect::<Result<Vec<_>, _>>()?;
    let calibration = Calibration { fitted, responses: &responses, runs: &runs };
    let problem = build(&fresh, &fitted.options, Curves::Calibrated(&calibration))?;
    let (start, anchor) = latents_for_new(&problem, source, z, options, links)?;
    let own_paths = anchor.is_some();
    let steps = Steps::anchored(&problem, options.strengths, anchor);
    let trail = walk(&steps, &Learner::new(&problem), options, start, own_paths)?;
    let loadings = steps.loadings_of(&trail.states);
    let response_values = Learner::new(&problem).values(&trail.curves);
    Ok(Calibrated {
        problem: problem.at_responses(&response_values)?,
        loadings,
        latents: trail.z,
        response_values,
        history: trail.history,
        termination: trail.termination,
    })
}

/// The reference's runs that hold new streams.
fn reference_runs(fresh: &Recording, source: &Problem) -> Result<Vec<Run>, GriddedError> {
    let mut out = Vec::new();
    for (r, name) in fresh.runs.iter().enumerate() {
        if fresh.streams.iter().any(|s| s.run == r) {
            let at = source.run_index(name).ok_or_else(|| GriddedError::NoReferenceRun { run: name.clone() })?;
            out.push(source.runs[at].clone());
        }
    }
    Ok(out)
}

/// The response of a modality for participants who were not fitted.
fn response_for_new(fitted: &Problem, modality: &str) -> Result<LearnedResponse, GriddedError> {
    let unknown = || GriddedError::UnknownModality { modality: modality.to_owned() };
    let m = fitted.modalities.iter().position(|name| name == modality).ok_or_else(unknown)?;
    let slot = fitted.slots.iter().find(|s| s.modality_index == m).ok_or_else(unknown)?;
    let learned = &fitted.learned[m];
    match learned.pooling {
        _ if slot.free.is_empty() => Ok(learned.clone()),
        ResponsePooling::Shared => Ok(LearnedResponse::fixed(slot.response.clone())),
        ResponsePooling::Separate => Ok(learned.clone()),
        ResponsePooling::Partial { strength } => {
            let mean = fitted.group_response(m)?;
            let parameters = mean.family().parameters;
            let values = mean.values();
            let penalties = slot.free.iter().map(|&parameter| {
                let lag = parameters[parameter].domain == Domain::Lag;
                let (scale, center) = if lag {
                    (PenaltyScale::Value, values[parameter])
                } else {
                    (PenaltyScale::Logarithm, values[parameter].ln())
                };
                Penalty { parameter, scale, center, precision: strength }
            });
            Ok(LearnedResponse {
                penalties: penalties.collect(),
                bounds: learned.bounds.clone(),
                pooling: ResponsePooling::Separate,
                initial: mean,
            })
        }
    }
}

/// Where the latents of the new participants begin, and what draws them where they are their own.
fn latents_for_new(
    problem: &Problem,
    source: &Problem,
    z: &[f64],
    options: &SolveOptions,
    links: &Affinity,
) -> Result<(Vec<f64>, Option<Anchor>), GriddedError> {
    let pooling = &source.options.latent_pooling;
    let mut start = vec![0.0; problem.latent_count()];
    let mut weights = vec![0.0; problem.tracks.len()];
    for (t, track) in problem.tracks.iter().enumerate() {
        let run = source.run_index(&problem.runs[track.run].name);
        let r = run.ok_or_else(|| GriddedError::NoReferenceRun { run: problem.runs[track.run].name.clone() })?;
        let members = &problem.groups[track.group];
        let name = &problem.participants[members[0]];
        let path = &mut start[problem.latent_range(t)];
        let mut add = |group: usize, share: f64| {
            axpy(path, share, &z[source.latent_range(r * source.groups.len() + group)]);
        };
        // A fitted participant with a new modality keeps the path that it has.
        let known = source.participants.iter().position(|p| p == name);
        let shares: Vec<(usize, f64)> = match pooling {
            LatentPooling::Shared => vec![(0, 1.0)],
            _ if known.is_some() => vec![(source.track_index(0, known.unwrap_or(0)), 1.0)],
            LatentPooling::Population => {
                let n = source.groups.len();
                (0..n).map(|g| (g, 1.0 / n as f64)).collect()
            }
            LatentPooling::Neighborhood(_) => neighbours(source, name, links),
            LatentPooling::Components(_) => {
                let mut groups: Vec<usize> = neighbours(source, name, links).iter().map(|n| n.0).collect();
                groups.dedup();
                match groups[..] {
                    [group] => vec![(group, 1.0)],
                    _ => return Err(GriddedError::GroupOfNew { participant: name.clone(), count: groups.len() }),
                }
            }
        };
        let total: f64 = shares.iter().map(|s| s.1).sum();
        if shares.is_empty() || total == 0.0 {
            return Err(GriddedError::NoNeighbour { participant: name.clone() });
        }
        shares.iter().for_each(|&(group, share)| add(group, share / total));
        weights[t] = options.strengths.coupling * total * track.share;
    }
    let own = matches!(pooling, LatentPooling::Population | LatentPooling::Neighborhood(_));
    let known = problem.participants.iter().filter(|p| source.participants.contains(p)).count();
    if own && known > 0 && known < problem.participants.len() {
        return Err(GriddedError::MixedCalibration);
    }
    let own = own && known == 0;
    let anchor = own.then(|| Anchor { weights, target: start.clone() });
    Ok((start, anchor))
}

/// Groups of the fitted participants to whom `name` is linked, in rising order, with the affinities.
fn neighbours(source: &Problem, name: &str, links: &Affinity) -> Vec<(usize, f64)> {
    let mut out = Vec::new();
    for (a, b, affinity) in &links.edges {
        let other = if a == name {
            b
        } else if b == name {
            a
        } else {
            continue;
        };
        if let Some(p) = source.participants.iter().position(|p| p == other)
            && *affinity > 0.0
        {
            out.push((source.track_index(0, p), *affinity));
        }
    }
    out.sort_by_key(|n| n.0);
    out
}

impl Problem {
    /// This problem with the pairs of a calibration and their loadings behind its own, for queries: the new participants can
    /// be predicted and be sources. `links` are the affinities that the calibration was given.
    ///
    /// # Errors
    /// Affinities that name nobody.
    pub fn with_calibrated(
        &self,
        w: &[f64],
        new: &Calibrated,
        links: &Affinity,
    ) -> Result<(Problem, Vec<f64>), GriddedError> {
        let mut out = self.clone();
        for name in &new.problem.participants {
            if !out.participants.contains(name) {
                out.participants.push(name.clone());
            }
        }
        match &mut out.options.latent_pooling {
            LatentPooling::Shared | LatentPooling::Population => {}
            LatentPooling::Neighborhood(a) | LatentPooling::Components(a) => {
                a.edges.extend(links.edges.iter().cloned())
            }
        }
        let shift = self.loading_count();
        for pair in &new.problem.pairs {
            let mut pair = pair.clone();
            pair.loading_offset += shift;
            pair.slot = None;
            pair.participant_index = out.participants.iter().position(|p| *p == pair.participant).unwrap_or(0);
            // Its rows belong to the runs of the calibration.
            pair.forget_rows();
            out.pairs.push(pair);
        }
        Ok((out, [w, &new.loadings].concat()))
    }
}
