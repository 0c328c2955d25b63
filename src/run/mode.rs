//! The mode of a density (or the minimum of a general objective) from several starts.

use super::fit::FitError;
use super::latent::PathReader;
use super::progress::Reporting;
use super::sample::quantities;
use super::start::mode_starts;
use super::watch::Watched;
use crate::archive::{Mode, Restart, Settings};
use crate::bind::{Plan, parameter_values};
use crate::graph::{Coordinates, LogDensity, Program, Tape};
use crate::infer::optimize::{self, Climb, MultistartResult};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Climbs from every start in physical coordinates.
pub(super) fn climb(
    plan: &Plan,
    density: &dyn LogDensity,
    coordinates: &Coordinates,
    settings: &Settings,
    threads: usize,
    stop: &AtomicBool,
    reporting: Reporting,
) -> Result<MultistartResult, FitError> {
    let starts = mode_starts(plan, coordinates, settings.seed, settings.starts);
    let (lower, upper) = plan.bounds();
    let options =
        optimize::Settings { max_iterations: settings.max_iterations, stop: Some(stop), ..Default::default() };
    let watched = Watched::new(density, reporting);
    Ok(optimize::maximize(&watched, &starts, &lower, &upper, &options, threads)?)
}

/// The best climb as a result, with standard errors and the latent where they are asked for and defined.
pub(super) fn finish(
    plan: &Plan,
    program: &Arc<Program>,
    density: &dyn LogDensity,
    result: &MultistartResult,
    settings: &Settings,
    stop: &AtomicBool,
) -> Result<Mode, FitError> {
    let best = result.best();
    let objective = plan.model.is_objective();
    let sign = if objective { -1.0 } else { 1.0 };
    let mut tape = Tape::new(Arc::clone(program));
    let mut values = Vec::new();
    tape.outputs(&best.x, &mut values)?;
    let terms = tape.terms(&best.x)?;
    let terms = terms.into_iter().map(|(label, v)| (label.trim_start_matches('-').to_string(), sign * v)).collect();
    let labels: Vec<String> = plan.blocks.iter().flat_map(|b| b.sampled_labels()).collect();
    let standard_errors =
        if settings.standard_errors { Some(standard_errors(plan, program, density, best, stop)?) } else { None };
    let latent = match (&plan.model.shared, &plan.shared) {
        (Some(_), Some(shared)) if shared.grid_step.is_none() => {
            PathReader::new(plan, shared)?.at(&parameter_values(plan, &best.x)?)?
        }
        _ => Vec::new(),
    };
    Ok(Mode {
        quantities: quantities(program),
        values,
        standard_errors,
        at_bounds: best.active.iter().map(|&i| labels[i].clone()).collect(),
        terms,
        value: sign * best.value,
        objective,
        restarts: result.climbs.iter().map(|c| record(c, sign)).collect(),
        best: result.best,
        history: Vec::new(),
        latent,
        interrupted: stop.load(Ordering::Relaxed),
    })
}

fn record(climb: &Climb, sign: f64) -> Restart {
    Restart {
        value: sign * climb.value,
        iterations: climb.iterations,
        evaluations: climb.evaluations,
        converged: climb.is_certified(),
        projected_gradient: Some(climb.projected_gradient).filter(|g| g.is_finite()),
        termination: climb.termination.to_string(),
    }
}

/// Standard error of every reported element: from the Laplace covariance of the coordinates, by the delta method.
fn standard_errors(
    plan: &Plan,
    program: &Arc<Program>,
    density: &dyn LogDensity,
    best: &Climb,
    stop: &AtomicBool,
) -> Result<Vec<Option<f64>>, FitError> {
    let (lower, upper) = plan.bounds();
    let laplace = optimize::laplace(density, &best.x, &lower, &upper, Some(stop))?;
    let mut tape = Tape::new(Arc::clone(program));
    let (mut plus, mut minus) = (Vec::new(), Vec::new());
    let mut x = best.x.clone();
    let free = laplace.free.len();
    tape.outputs(&x, &mut plus)?;
    let outputs = plus.len();
    // Derivative of every output in every free coordinate, by central differences over a hundredth of its error.
    let mut jacobian = vec![0.0; outputs * free];
    for (column, &i) in laplace.free.iter().enumerate() {
        let h = 0.01 * laplace.standard_errors[i].unwrap_or(1.0);
        x[i] = best.x[i] + h;
        tape.outputs(&x, &mut plus)?;
        x[i] = best.x[i] - h;
        tape.outputs(&x, &mut minus)?;
        x[i] = best.x[i];
        for row in 0..outputs {
            jacobian[row * free + column] = (plus[row] - minus[row]) / (2.0 * h);
        }
    }
    let error = |row: &[f64]| {
        // An output that depends on nothing free, or on a coordinate at its bound alone, has no error.
        if row.iter().all(|&d| d == 0.0) {
            return None;
        }
        let variance: f64 = (0..free)
            .filter(|&a| row[a] != 0.0)
            .map(|a| row[a] * (0..free).map(|b| laplace.covariance[a * free + b] * row[b]).sum::<f64>())
            .sum();
        Some(variance.sqrt()).filter(|v| v.is_finite())
    };
    Ok(if free == 0 { vec![None; outputs] } else { jacobian.chunks_exact(free).map(error).collect() })
}
