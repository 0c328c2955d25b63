//! Minimises the quadratic model over the coordinates that the Cauchy point leaves free (direct primal method).
//!
//! The minimiser is projected onto the box; when that is no descent direction from x, the step from the Cauchy point
//! is cut at the first bound instead (Morales and Nocedal 2011).

use super::bounds::Bounds;
use super::cauchy::CauchyPoint;
use super::cholesky::NotPositiveDefinite;
use super::compact::Compact;

/// The target of the next line search (length d), inside the box.
///
/// # Errors
/// The pivot at which the reduced matrix is found not to be positive definite.
pub(super) fn subspace_minimiser(
    x: &[f64],
    gradient: &[f64],
    bounds: &Bounds,
    memory: &Compact,
    cauchy: CauchyPoint,
) -> Result<Vec<f64>, NotPositiveDefinite> {
    let CauchyPoint { point, projected_step, free, fixed } = cauchy;
    if memory.pairs() == 0 || free.is_empty() {
        return Ok(point);
    }
    let theta = memory.theta();
    let mut residual: Vec<f64> = free.iter().map(|&i| gradient[i] + theta * (point[i] - x[i])).collect();
    if projected_step.iter().any(|part| *part != 0.0) {
        memory.add_expanded(&memory.middle(&projected_step), &free, -1.0, &mut residual);
    }
    let step = memory.solve_free(&free, &fixed, &residual)?;

    let mut target = point.clone();
    for (&i, step) in free.iter().zip(&step) {
        target[i] = (point[i] - step).clamp(bounds.lower[i], bounds.upper[i]);
    }
    let slope: f64 = (0..x.len()).map(|i| gradient[i] * (target[i] - x[i])).sum();
    if slope < 0.0 {
        return Ok(target);
    }
    let fraction = free.iter().zip(&step).fold(1.0_f64, |fraction, (&i, &step)| {
        let room = if step > 0.0 { point[i] - bounds.lower[i] } else { point[i] - bounds.upper[i] };
        if step == 0.0 { fraction } else { fraction.min(room / step) }
    });
    for (&i, step) in free.iter().zip(&step) {
        target[i] = (point[i] - fraction * step).clamp(bounds.lower[i], bounds.upper[i]);
    }
    Ok(target)
}
