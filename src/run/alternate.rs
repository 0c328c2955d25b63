//! Fits a gridded objective by alternating closed-form steps.

use super::fit::FitError;
use super::sample::quantities;
use crate::archive::{LatentSeries, Mode, Restart, Settings};
use crate::bind::{Plan, SharedPlan};
use crate::graph::{Program, Tape};
use crate::model::SharedTerm;
use crate::terms::gridded::{Solution, SolveOptions, Start, Termination, query, solve};
use crate::terms::{gridded_from_plan, gridded_strengths, learned_order};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Relative change of the objective at which alternating steps have converged.
const TOLERANCE: f64 = 1e-9;

/// The sign of a factor is free: it is reported such that its loadings sum to a positive number.
fn orient(solution: &mut Solution, factors: usize) {
    for factor in 0..factors {
        let of_factor = |v: &[f64]| v.iter().skip(factor).step_by(factors).sum::<f64>();
        if of_factor(&solution.loadings) < 0.0 {
            for values in [&mut solution.loadings, &mut solution.latents] {
                values.iter_mut().skip(factor).step_by(factors).for_each(|v| *v = -*v);
            }
        }
    }
}

/// Minimises the objective of a gridded plan.
pub(super) fn alternate(
    plan: &Plan,
    shared: &SharedPlan,
    program: &Arc<Program>,
    settings: &Settings,
    stop: &AtomicBool,
) -> Result<Mode, FitError> {
    let model = plan.model.shared.as_ref().ok_or(FitError::NotGridded)?;
    let problem = gridded_from_plan(model, shared).map_err(FitError::Gridded)?;
    // The solver minimises with the squares at weight one; the objective is scaled back for the report.
    let squares = shared.coefficient(SharedTerm::BalancedSquares);
    if squares <= 0.0 {
        return Err(FitError::NoSquares);
    }
    let options = SolveOptions {
        strengths: gridded_strengths(shared),
        start: Start::Hybrid,
        restarts: settings.starts,
        seed: settings.seed,
        max_iterations: settings.max_iterations,
        tolerance: TOLERANCE,
        ..SolveOptions::default()
    };
    let mut solution = solve(&problem, &options, Some(stop)).map_err(FitError::Gridded)?;
    orient(&mut solution, shared.factors);
    let order = learned_order(shared);
    let mut learned = vec![0.0; order.len()];
    for (&position, &value) in order.iter().zip(&solution.response_values) {
        learned[position] = value;
    }
    let x: Vec<f64> = [&solution.loadings[..], &solution.latents, &learned].concat();
    let names: Vec<String> = plan.blocks.iter().flat_map(|b| b.labels.iter().cloned()).collect();
    let first_learned = x.len() - learned.len();
    let at_bounds = solution.responses_at_bounds.iter().map(|&i| names[first_learned + order[i]].clone()).collect();
    let mut tape = Tape::new(Arc::clone(program));
    let mut values = Vec::new();
    tape.outputs(&x, &mut values)?;
    let terms: Vec<(String, f64)> =
        tape.terms(&x)?.into_iter().map(|(label, v)| (label.trim_start_matches('-').to_string(), -v)).collect();
    let mut latent = Vec::new();
    for run in &shared.recording.runs {
        for (path, participants) in shared.path_names().into_iter().enumerate() {
            let series = query::path_on_grid(&problem, &solution.latents, run, path).map_err(FitError::Gridded)?;
            latent.push(LatentSeries {
                run: run.clone(),
                participants,
                times: series.times,
                mean: series.values,
                sd: None,
                factors: shared.factors,
            });
        }
    }
    let restarts = solution
        .restarts
        .iter()
        .map(|r| match &r.outcome {
            Ok(finish) => Restart {
                value: squares * finish.objective,
                iterations: finish.iterations,
                evaluations: finish.iterations,
                converged: finish.termination == Termination::Converged,
                projected_gradient: None,
                termination: match finish.termination {
                    Termination::Converged => "the objective no longer changes".into(),
                    Termination::IterationLimit => "the limit of iterations was reached".into(),
                    Termination::Interrupted => "interrupted".into(),
                },
            },
            Err(error) => Restart {
                value: f64::INFINITY,
                iterations: 0,
                evaluations: 0,
                converged: false,
                projected_gradient: None,
                termination: error.to_string(),
            },
        })
        .collect();
    Ok(Mode {
        quantities: quantities(program),
        values,
        standard_errors: None,
        at_bounds,
        value: terms.iter().map(|t| t.1).sum(),
        terms,
        objective: true,
        restarts,
        best: solution.best_restart,
        history: solution.history.iter().map(|h| squares * h).collect(),
        latent,
        interrupted: stop.load(Ordering::Relaxed),
    })
}
