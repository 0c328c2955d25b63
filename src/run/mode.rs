//! The mode of a density (or the minimum of a general objective) from several starts.

use super::fit::FitError;
use super::progress::Reporting;
use super::sample::quantities;
use super::start::mode_starts;
use super::watch::Watched;
use crate::archive::{LatentSeries, Mode, Restart, Settings};
use crate::bind::{Plan, SharedPlan, evaluate, parameter_values};
use crate::graph::{Coordinates, LogDensity, Program, Tape};
use crate::infer::optimize::{self, Climb, MultistartResult};
use crate::model::Latent;
use crate::terms::filtered::{Point, Workspace};
use crate::terms::filtered_from_plan;
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
        (Some(_), Some(shared)) if shared.grid_step.is_none() => latent(plan, shared, &best.x)?,
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

/// The latent of every run at the times at which anything was observed, given the parameters.
fn latent(plan: &Plan, shared: &SharedPlan, x: &[f64]) -> Result<Vec<LatentSeries>, FitError> {
    let Some(parts) = &plan.model.shared else { return Ok(Vec::new()) };
    let gp = filtered_from_plan(shared).map_err(FitError::Filtered)?;
    let block =
        |name: &Option<String>| name.as_ref().and_then(|n| plan.block(n)).map(|b| &x[b.offset..b.offset + b.len()]);
    let loadings = block(&Some(parts.loading.clone())).unwrap_or(&[]);
    let noise = block(&parts.noise).unwrap_or(&[]);
    let point = Point { loadings, offsets: block(&parts.offset), noise, length_scale: length_scale(plan, x)? };
    let mut workspace = Workspace::default();
    let mut out = Vec::new();
    for (run, name) in shared.recording.runs.iter().enumerate() {
        let mut times: Vec<f64> =
            shared.recording.streams.iter().filter(|s| s.run == run).flat_map(|s| s.times.iter().copied()).collect();
        times.sort_by(f64::total_cmp);
        times.dedup();
        let moments = gp.latent_moments(&point, run, &times, &mut workspace).map_err(FitError::Filtered)?;
        let sd = moments.variance().iter().map(|v| v.sqrt()).collect();
        out.push(LatentSeries { run: name.clone(), times, mean: moments.mean, sd: Some(sd), factors: shared.factors });
    }
    Ok(out)
}

/// The length scale at the physical parameters: an expression of the model's own parameters.
fn length_scale(plan: &Plan, x: &[f64]) -> Result<f64, FitError> {
    let Some(Latent::Process { length_scale, .. }) = plan.model.shared.as_ref().map(|s| &s.latent) else {
        return Ok(f64::NAN);
    };
    let env = parameter_values(plan, x)?;
    Ok(evaluate(length_scale, &env)?.values[0])
}
