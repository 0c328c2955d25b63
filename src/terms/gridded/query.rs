//! Reads a solution: latents and predicted values at any time, also for runs that were not fitted.

use super::error::GriddedError;
use super::observation::{Rows, eligible};
use super::pair_state::axpy;
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

/// The latent of a run at any finite times, linear between nodes; valid inside the run's domain. Where participants have paths
/// of their own it is the mean over participants.
pub fn latent_at(problem: &Problem, z: &[f64], run: &str, times: &[f64]) -> Result<Series, GriddedError> {
    check_vector("latents", z, problem.latent_count())?;
    let r = find_run(problem, run)?;
    let n = problem.participants.len() as f64;
    let mut mean = vec![0.0; problem.runs[r].grid.nodes * problem.factors()];
    for (g, group) in problem.groups.iter().enumerate() {
        let path = &z[problem.latent_range(r * problem.groups.len() + g)];
        axpy(&mut mean, group.len() as f64 / n, path);
    }
    series_of_path(problem, r, &mean, times)
}

/// The latent path of a group of participants in a run, like [`latent_at`].
pub fn path_at(problem: &Problem, z: &[f64], run: &str, group: usize, times: &[f64]) -> Result<Series, GriddedError> {
    check_vector("latents", z, problem.latent_count())?;
    let r = find_run(problem, run)?;
    series_of_path(problem, r, &z[problem.latent_range(r * problem.groups.len() + group)], times)
}

/// The latent of a participant in a run at any finite times, like [`latent_at`].
pub fn latent_of(
    problem: &Problem,
    z: &[f64],
    participant: &str,
    run: &str,
    times: &[f64],
) -> Result<Series, GriddedError> {
    check_vector("latents", z, problem.latent_count())?;
    let r = find_run(problem, run)?;
    let track = find_track(problem, r, participant)?;
    series_of_path(problem, r, &z[problem.latent_range(track)], times)
}

fn series_of_path(problem: &Problem, r: usize, path: &[f64], times: &[f64]) -> Result<Series, GriddedError> {
    check_vector("query times", times, times.len())?;
    let (k, grid) = (problem.factors(), problem.runs[r].grid);
    let valid: Vec<bool> = times.iter().map(|&t| eligible(t, (0.0, 0.0), problem.runs[r].domain, &grid)).collect();
    let mut values = Vec::with_capacity(times.len() * k);
    for (&t, &valid) in times.iter().zip(&valid) {
        let (cell, right) = grid.locate(t);
        for factor in 0..k {
            let (a, b) = (path[cell * k + factor], path[(cell + 1) * k + factor]);
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
    let z = &z[conditioned.latent_range(find_track(conditioned, r, participant)?)];
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
    check_donors(&conditioned, strengths)?;
    let steps = Steps::new(&conditioned, *strengths);
    let mut z = vec![0.0; conditioned.latent_count()];
    steps.latent_step(&steps.geometry(), &steps.states_of(&own), &mut z)?;
    Ok((conditioned, z))
}

/// Every latent path must be reached by data of its run, directly or through the coupling.
fn check_donors(conditioned: &Problem, strengths: &Strengths) -> Result<(), GriddedError> {
    let width = conditioned.groups.len();
    for (r, run) in conditioned.runs.iter().enumerate() {
        let mut reached = vec![false; width];
        for segment in conditioned.pairs.iter().flat_map(|p| &p.segments).filter(|s| s.run == r) {
            reached[segment.track - r * width] = true;
        }
        if let Some(matrix) = conditioned.coupling.as_ref().filter(|_| strengths.coupling > 0.0) {
            let mut next: Vec<usize> = (0..width).filter(|&g| reached[g]).collect();
            while let Some(g) = next.pop() {
                for other in 0..width {
                    if matrix[g * width + other] != 0.0 && !std::mem::replace(&mut reached[other], true) {
                        next.push(other);
                    }
                }
            }
        }
        if let Some(group) = reached.iter().position(|r| !r) {
            let participant = conditioned.participants[conditioned.groups[group][0]].clone();
            return Err(GriddedError::NoDonor { participant, run: run.name.clone() });
        }
    }
    Ok(())
}

/// The latent path of a participant. One path for all serves also who is not among the participants.
fn find_track(problem: &Problem, run: usize, participant: &str) -> Result<usize, GriddedError> {
    if problem.groups.len() == 1 {
        return Ok(run);
    }
    let unknown = || GriddedError::UnknownParticipant { participant: participant.to_owned() };
    let index = problem.participants.iter().position(|p| p == participant).ok_or_else(unknown)?;
    Ok(problem.track_index(run, index))
}

fn find_run(problem: &Problem, run: &str) -> Result<usize, GriddedError> {
    problem.run_index(run).ok_or_else(|| GriddedError::UnknownRun { run: run.to_owned() })
}

pub(super) fn find_pair(problem: &Problem, participant: &str, modality: &str) -> Result<usize, GriddedError> {
    problem
        .pair_index(participant, modality)
        .ok_or_else(|| GriddedError::UnknownPair { participant: participant.to_owned(), modality: modality.to_owned() })
}
