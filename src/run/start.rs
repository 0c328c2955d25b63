//! Where chains and climbs begin.

use crate::bind::Plan;
use crate::graph::{Coordinates, LogDensity};
use crate::math::rng::{Purpose, stream};
use rand::RngExt;

/// Half-width of the box of unconstrained coordinates that starts are drawn from.
const SPREAD: f64 = 2.0;
/// Tries before a start is given up.
const TRIES: usize = 100;

/// No point with a finite log density was found.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("no starting point with a finite log density in {tries} tries (the last: {last}); check bounds and priors")]
pub struct NoStart {
    pub tries: usize,
    pub last: String,
}

/// A start for chain `index`: uniform on (-2, 2) in unconstrained coordinates, drawn again until the density is finite.
///
/// # Errors
/// When the density refuses every try.
pub fn random_start(density: &dyn LogDensity, seed: u64, index: u64) -> Result<Vec<f64>, NoStart> {
    let mut rng = stream(seed, index, Purpose::Start);
    let mut evaluator = density.evaluator();
    let mut gradient = vec![0.0; density.dim()];
    let mut last = String::new();
    for _ in 0..TRIES {
        let u: Vec<f64> = (0..density.dim()).map(|_| rng.random_range(-SPREAD..SPREAD)).collect();
        match evaluator.log_density_gradient(&u, &mut gradient) {
            Ok(value) if value.is_finite() => return Ok(u),
            Ok(value) => last = format!("the log density is {value}"),
            Err(rejection) => last = rejection.to_string(),
        }
    }
    Err(NoStart { tries: TRIES, last })
}

/// Physical starts of a mode search: the first in the middle of the coordinates (with loadings of one where there is a
/// recording), the others random.
pub fn mode_starts(plan: &Plan, coordinates: &Coordinates, seed: u64, count: usize) -> Vec<Vec<f64>> {
    let dim = coordinates.dim();
    let physical = |u: &[f64]| {
        let mut x = vec![0.0; dim];
        coordinates.to_physical(u, &mut x);
        x
    };
    let mut starts = Vec::with_capacity(count);
    let mut first = physical(&vec![0.0; dim]);
    set_weights(plan, &mut first, |_| 1.0);
    starts.push(first);
    for index in 1..count.max(1) {
        let mut rng = stream(seed, index as u64, Purpose::Start);
        let u: Vec<f64> = (0..dim).map(|_| rng.random_range(-SPREAD..SPREAD)).collect();
        let mut x = physical(&u);
        set_weights(plan, &mut x, |_| rng.random_range(-1.0..1.0));
        starts.push(x);
    }
    starts
}

/// Loadings in units of each feature's standard deviation, offsets at its mean, noise at half its variance.
fn set_weights(plan: &Plan, x: &mut [f64], mut loading: impl FnMut(usize) -> f64) {
    let (Some(shared), Some(s)) = (&plan.model.shared, &plan.shared) else { return };
    let facts = s.feature_moments(shared.standardized);
    if let Some(block) = plan.block(&shared.loading) {
        for i in 0..block.len() {
            let sd = facts[i / s.factors].1.max(0.01).sqrt();
            let value = loading(i) * sd / (s.factors as f64).sqrt();
            // The anchor's loading is positive.
            let value = if block.lower[i] >= 0.0 { value.abs() } else { value };
            x[block.offset + i] = inside(value, block.lower[i], block.upper[i]);
        }
    }
    if let Some(block) = shared.offset.as_ref().and_then(|b| plan.block(b)) {
        for i in 0..block.len() {
            x[block.offset + i] = inside(facts[i].0, block.lower[i], block.upper[i]);
        }
    }
    if let Some(block) = shared.noise.as_ref().and_then(|v| plan.block(v)) {
        for (i, &(p, m)) in s.noises.iter().enumerate() {
            let variances: Vec<f64> = s
                .keys
                .iter()
                .zip(&facts)
                .filter(|(k, _)| k.participant == p && k.modality == m)
                .map(|(_, f)| f.1)
                .collect();
            let mean = variances.iter().sum::<f64>() / variances.len().max(1) as f64;
            x[block.offset + i] = inside(0.5 * mean.max(0.02), block.lower[i], block.upper[i]);
        }
    }
}

/// `value`, moved strictly inside its bounds.
pub(super) fn inside(value: f64, lower: f64, upper: f64) -> f64 {
    if value > lower && value < upper {
        return value;
    }
    match (lower.is_finite(), upper.is_finite()) {
        (true, true) => 0.5 * (lower + upper),
        (true, false) => lower + 1.0,
        (false, true) => upper - 1.0,
        (false, false) => value,
    }
}
