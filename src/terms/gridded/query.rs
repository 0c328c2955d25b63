//! Reads a solution: latents and predicted values at any time, also for runs that were not fitted.

use super::error::GriddedError;
use super::observation::{Rows, eligible};
use super::problem::Problem;
use super::solve::check_vector;
use super::steps::{Steps, Strengths};
use crate::data::Recording;

/// Values at given times.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Names of the columns: features, or `factor 1` and so on.
    pub columns: Vec<String>,
    /// Seconds.
    pub times: Vec<f64>,
    /// times x columns, row-major; NaN where not valid.
    pub values: Vec<f64>,
    /// Whether the data reach each time.
    pub valid: Vec<bool>,
}

/// The latent path of a group of participants (index into [`Problem::groups`]) in a run, on its grid nodes. Nodes behind the
/// last observed time are not valid.
pub fn path_on_grid(problem: &Problem, z: &[f64], run: &str, group: usize) -> Result<Series, GriddedError> {
    let grid = problem.runs[find_run(problem, run)?].grid;
    let times: Vec<f64> = (0..grid.nodes).map(|i| grid.time(i)).collect();
    path_at(problem, z, run, group, &times)
}

/// The latent of a run that all participants share, at any finite times, linear between nodes; valid inside the run's
/// domain.
pub fn latent_at(problem: &Problem, z: &[f64], run: &str, times: &[f64]) -> Result<Series, GriddedError> {
    path_at(problem, z, run, 0, times)
}

/// The latent path of a group of participants in a run, like [`latent_at`].
pub fn path_at(problem: &Problem, z: &[f64], run: &str, group: usize, times: &[f64]) -> Result<Series, GriddedError> {
    check_vector("latents", z, problem.latent_count())?;
    check_vector("query times", times, times.len())?;
    let r = find_run(problem, run)?;
    let (k, grid) = (problem.factors(), problem.runs[r].grid);
    let z = &z[problem.latent_range(r * problem.groups.len() + group)];
    let valid: Vec<bool> = times.iter().map(|&t| eligible(t, (0.0, 0.0), problem.runs[r].domain, &grid)).collect();
    let mut values = Vec::with_capacity(times.len() * k);
    for (&t, &valid) in times.iter().zip(&valid) {
        let (cell, right) = grid.locate(t);
        for factor in 0..k {
            let (a, b) = (z[cell * k + factor], z[(cell + 1) * k + factor]);
            values.push(if valid { (1.0 - right) * a + right * b } else { f64::NAN });
        }
    }
    Ok(Series { columns: (1..=k).map(|i| format!("factor {i}")).collect(), times: times.to_vec(), values, valid })
}

/// Predicted values of a participant's modality in its original units at any finite times of a run.
///
/// `fitted` holds the pair and its loadings `w`; `conditioned` holds the run and its latent `z`. For fitted data they
/// are one problem.
pub fn predict(
    (fitted, w): (&Problem, &[f64]),
    (conditioned, z): (&Problem, &[f64]),
    participant: &str,
    modality: &str,
    run: &str,
    times: &[f64],
) -> Result<Series, GriddedError> {
    check_vector("loadings", w, fitted.loading_count())?;
    check_vector("latents", z, conditioned.latent_count())?;
    check_vector("query times", times, times.len())?;
    let r = find_run(conditioned, run)?;
    let index = find_pair(fitted, participant, modality)?;
    let pair = &fitted.pairs[index];
    let k = fitted.factors();
    let w = &w[pair.loading_range(k)];
    let z = &z[conditioned.latent_range(conditioned.track_index(r, pair.participant_index))];
    let place = &conditioned.runs[r];
    let envelope = pair.response.envelope();
    let (mut valid, mut values) = (Vec::new(), Vec::new());
    let mut y = vec![0.0; k];
    for &t in times {
        let usable = eligible(t, envelope, place.domain, &place.grid);
        valid.push(usable);
        if !usable {
            values.extend(std::iter::repeat_n(f64::NAN, pair.features.len()));
            continue;
        }
        let mut rows = Rows::default();
        rows.push(&*pair.response, t, &place.grid);
        rows.apply(0..1, k, z, &mut y);
        for (w, scale) in w.chunks_exact(k).zip(&pair.scales) {
            let standardized: f64 = w.iter().zip(&y).map(|(w, y)| w * y).sum();
            values.push(standardized * scale.sd + scale.mean);
        }
    }
    Ok(Series { columns: pair.features.clone(), times: times.to_vec(), values, valid })
}

/// The latent of other data under fitted loadings: the problem of those data and its latent vector.
///
/// To predict a stream without having looked at it, leave it out of `recording`.
pub fn infer_latent(
    fitted: &Problem,
    w: &[f64],
    strengths: &Strengths,
    recording: &Recording,
) -> Result<(Problem, Vec<f64>), GriddedError> {
    check_vector("loadings", w, fitted.loading_count())?;
    strengths.check()?;
    let conditioned = fitted.condition(recording)?;
    let k = fitted.factors();
    let mut own = Vec::with_capacity(conditioned.loading_count());
    for pair in &conditioned.pairs {
        let index = find_pair(fitted, &pair.participant, &pair.modality)?;
        own.extend_from_slice(&w[fitted.pairs[index].loading_range(k)]);
    }
    let steps = Steps::new(&conditioned, *strengths);
    let mut z = vec![0.0; conditioned.latent_count()];
    steps.latent_step(&steps.geometry(), &steps.states_of(&own), &mut z)?;
    Ok((conditioned, z))
}

fn find_run(problem: &Problem, run: &str) -> Result<usize, GriddedError> {
    problem.run_index(run).ok_or_else(|| GriddedError::UnknownRun { run: run.to_owned() })
}

fn find_pair(problem: &Problem, participant: &str, modality: &str) -> Result<usize, GriddedError> {
    problem
        .pair_index(participant, modality)
        .ok_or_else(|| GriddedError::UnknownPair { participant: participant.to_owned(), modality: modality.to_owned() })
}
