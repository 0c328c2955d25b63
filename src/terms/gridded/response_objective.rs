//! The objective as a function of the responses' learned parameters: balanced squares and penalty, with their adjoints.
//!
//! `values` is the vector of learned parameters of a [`Problem`] (see [`super::ResponseSlot`]), `w` its loading vector and `z` its
//! latent vector. Adjoints are added to what is there. Every row of H is made anew, so that a call costs as much as it
//! looks; the solver's response step reads the same numbers from sufficient statistics.

use super::error::GriddedError;
use super::learned::{Penalty, PenaltyAt, ResponsePooling, penalty_at};
use super::objective::{Adjoint, Scratch, row_squares};
use super::problem::Problem;
use super::response_rows::ResponseRows;
use super::slots::slot_rows;

/// Gradients to add to.
#[derive(Debug)]
pub struct ResponseAdjoint<'a> {
    /// Factor of everything added.
    pub scale: f64,
    /// Gradient in the loadings.
    pub loadings: &'a mut [f64],
    /// Gradient in the latent.
    pub latents: &'a mut [f64],
    /// Gradient in the learned parameters.
    pub responses: &'a mut [f64],
}

/// Value of the balanced squares at `values`; adds its gradient to `adjoint`.
///
/// # Errors
/// Values outside their domain (bounds are not asked for).
pub fn balanced_squares_adjoint(
    problem: &Problem,
    (w, z, values): (&[f64], &[f64], &[f64]),
    scratch: &mut Scratch,
    adjoint: &mut ResponseAdjoint,
) -> Result<f64, GriddedError> {
    let rows = problem.slots.iter().map(|slot| {
        let mut moved = slot.clone();
        moved.response = slot.with(&values[slot.range()])?;
        slot_rows(&problem.learned[slot.modality_index], &moved)
    });
    let rows = rows.collect::<Result<Vec<ResponseRows>, GriddedError>>()?;
    let k = problem.factors();
    let mut total = 0.0;
    let mut weights = Vec::new();
    let mut inner = Adjoint { scale: adjoint.scale, loadings: &mut *adjoint.loadings, latents: &mut *adjoint.latents };
    for (index, pair) in problem.pairs.iter().enumerate() {
        for segment in &pair.segments {
            let path = &z[problem.latent_range(segment.track)];
            for t in segment.rows.clone() {
                let at = (index, segment.track, t);
                let Some(slot) = pair.slot else {
                    total += row_squares(problem, at, pair.rows.row(t), (w, z), scratch, Some(&mut inner));
                    continue;
                };
                weights.clear();
                let mut slopes = vec![Vec::new(); rows[slot].parameter_count()];
                let grid = &problem.runs[segment.run].grid;
                let first = rows[slot].row_gradient(pair.times[t], grid, &mut weights, &mut slopes);
                total += row_squares(problem, at, (first, &weights), (w, z), scratch, Some(&mut inner));
                let slot = &problem.slots[slot];
                for (g, &parameter) in adjoint.responses[slot.range()].iter_mut().zip(&slot.free) {
                    for (node, dh) in path[first * k..].chunks_exact(k).zip(&slopes[parameter]) {
                        *g += dh * node.iter().zip(&scratch.signal_adjoint).map(|(v, b)| v * b).sum::<f64>();
                    }
                }
            }
        }
    }
    Ok(total)
}

/// Value of the penalty of the responses at `values`; adds `scale` times its gradient to `gradient`.
pub fn response_penalty_adjoint(problem: &Problem, values: &[f64], scale: f64, gradient: &mut [f64]) -> f64 {
    let logarithmic = logarithmic(problem);
    let x: Vec<f64> = values.iter().zip(&logarithmic).map(|(v, log)| if *log { v.ln() } else { *v }).collect();
    let mut slopes = vec![0.0; x.len()];
    let value = penalty_in_coordinates(problem, &x, &mut slopes, None);
    for (((g, s), v), log) in gradient.iter_mut().zip(&slopes).zip(values).zip(&logarithmic) {
        *g += scale * if *log { s / v } else { *s };
    }
    value
}

/// Whether the coordinate of each learned parameter is its logarithm.
pub(super) fn logarithmic(problem: &Problem) -> Vec<bool> {
    problem.slots.iter().flat_map(|s| problem.learned[s.modality_index].logarithmic()).collect()
}

/// The penalty at coordinates `x`; adds its gradient and, n x n, a positive semidefinite approximation of its Hessian.
pub(super) fn penalty_in_coordinates(
    problem: &Problem,
    x: &[f64],
    gradient: &mut [f64],
    mut hessian: Option<&mut [f64]>,
) -> f64 {
    let n = x.len();
    let mut total = 0.0;
    for (m, learned) in problem.learned.iter().enumerate() {
        let slots: Vec<usize> = problem.slots.iter().filter(|s| s.modality_index == m).map(|s| s.offset).collect();
        let count = slots.len() as f64;
        let free = learned.free_parameters();
        for (j, (&parameter, log)) in free.iter().zip(learned.logarithmic()).enumerate() {
            let at: Vec<usize> = slots.iter().map(|offset| offset + j).collect();
            if at.is_empty() {
                continue;
            }
            let mean = at.iter().map(|&i| x[i]).sum::<f64>() / count;
            if let ResponsePooling::Partial { strength } = learned.pooling {
                let share = strength / count;
                for &i in &at {
                    total += 0.5 * share * (x[i] - mean).powi(2);
                    gradient[i] += share * (x[i] - mean);
                    if let Some(h) = hessian.as_deref_mut() {
                        h[i * n + i] += share;
                        at.iter().for_each(|&l| h[i * n + l] -= share / count);
                    }
                }
            }
            for p in learned.penalties.iter().filter(|p| p.parameter == parameter) {
                total += match learned.pooling {
                    ResponsePooling::Separate => at
                        .iter()
                        .map(|&i| add_penalty(p, log, x[i], &[i], count, gradient, hessian.as_deref_mut()))
                        .sum(),
                    ResponsePooling::Shared | ResponsePooling::Partial { .. } => {
                        count * add_penalty(p, log, mean, &at, count, gradient, hessian.as_deref_mut())
                    }
                };
            }
        }
    }
    total
}

/// The penalty at the mean `x` of the coordinates `at`, over `count`; adds its derivatives.
fn add_penalty(
    p: &Penalty,
    logarithmic: bool,
    x: f64,
    at: &[usize],
    count: f64,
    gradient: &mut [f64],
    hessian: Option<&mut [f64]>,
) -> f64 {
    let PenaltyAt { value, slope, curvature } = penalty_at(p, logarithmic, x);
    for &i in at {
        gradient[i] += slope / count;
    }
    if let Some(h) = hessian {
        let n = gradient.len();
        // One coordinate of many: d mean / d x = 1 / count, once for each of the two derivatives.
        let share = if at.len() == 1 { curvature / count } else { curvature / (count * count) };
        for &i in at {
            at.iter().for_each(|&l| h[i * n + l] += share);
        }
    }
    value / count
}
