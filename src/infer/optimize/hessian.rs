//! Hessian of minus a log density by central differences of its gradient.
//!
//! Steps adapt to the curvature: `STEP` standard deviations (1 / sqrt(H_ii)) of each coordinate, where truncation and
//! rounding are both small. Near a bound the one-sided formula (-3 g(0) + 4 g(h) - g(2h)) / 2h is used.

use std::sync::atomic::{AtomicBool, Ordering};

use super::bounds::Bounds;
use crate::graph::{Evaluator, Rejection};

/// Step in units of 1 / sqrt(curvature).
const STEP: f64 = 2e-4;
/// A column is taken again when the step was off by more than this factor.
const STEP_SLACK: f64 = 8.0;
/// Attempts to find a good step per coordinate.
const ATTEMPTS: usize = 5;
/// Halvings of a step into a rejected region before giving up.
const HALVINGS: usize = 10;

/// Why there is no Hessian.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum HessianError {
    /// The density is rejected next to the point even at the smallest step, `step`.
    #[error("no second derivative in coordinate {coordinate}: rejected at a step of {step:e}: {rejection}")]
    Rejected { coordinate: usize, step: f64, rejection: Rejection },
    /// The stop flag was raised.
    #[error("interrupted")]
    Interrupted,
}

/// Second derivatives over chosen coordinates.
#[derive(Debug, Clone, PartialEq)]
pub struct Hessian {
    /// Symmetrised, row-major, n x n for n coordinates.
    pub matrix: Vec<f64>,
    /// Largest |H_ij - H_ji| / sqrt(|H_ii H_jj|) before symmetrising: the accuracy reached.
    pub asymmetry: f64,
    /// Gradient evaluations.
    pub evaluations: usize,
}

/// Hessian of minus the log density at `x` (length d) over the coordinates `free`, which are inside the bounds.
/// `stop` is read before each coordinate.
///
/// # Errors
/// [`HessianError`] with the coordinate and the rejection, or when interrupted.
pub fn negative_hessian(
    evaluator: &mut dyn Evaluator,
    x: &[f64],
    free: &[usize],
    bounds: &Bounds,
    stop: Option<&AtomicBool>,
) -> Result<Hessian, HessianError> {
    let mut differences =
        Differences { evaluator, x, free, bounds, moved: x.to_vec(), gradient: vec![0.0; x.len()], evaluations: 0 };
    let n = free.len();
    let mut matrix = Vec::with_capacity(n * n);
    for (k, &coordinate) in free.iter().enumerate() {
        if stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            return Err(HessianError::Interrupted);
        }
        let mut step = f64::EPSILON.cbrt() * x[coordinate].abs().max(1.0);
        let mut row = differences.row(coordinate, &mut step)?;
        for _ in 1..ATTEMPTS {
            let wanted = STEP / row[k].abs().sqrt();
            let close = wanted <= STEP_SLACK * step && step <= STEP_SLACK * wanted;
            if close || !wanted.is_finite() {
                break;
            }
            // A step that the wall of a rejected region shortened is not lengthened again.
            let tried = wanted;
            step = wanted;
            row = differences.row(coordinate, &mut step)?;
            if step < tried {
                break;
            }
        }
        matrix.extend_from_slice(&row);
    }
    let mut asymmetry = 0.0_f64;
    for i in 0..n {
        for j in 0..i {
            let (a, b) = (matrix[i * n + j], matrix[j * n + i]);
            let size = (matrix[i * n + i] * matrix[j * n + j]).abs().sqrt();
            if a != b {
                asymmetry = asymmetry.max((a - b).abs() / size);
            }
            let mean = 0.5 * (a + b);
            matrix[i * n + j] = mean;
            matrix[j * n + i] = mean;
        }
    }
    Ok(Hessian { matrix, asymmetry, evaluations: differences.evaluations })
}

struct Differences<'a> {
    evaluator: &'a mut dyn Evaluator,
    x: &'a [f64],
    free: &'a [usize],
    bounds: &'a Bounds<'a>,
    moved: Vec<f64>,
    gradient: Vec<f64>,
    evaluations: usize,
}

impl Differences<'_> {
    /// Derivatives of the free gradient along `coordinate`; shortens `step` where the density is rejected.
    fn row(&mut self, coordinate: usize, step: &mut f64) -> Result<Vec<f64>, HessianError> {
        let mut halvings = 0;
        loop {
            match self.row_at(coordinate, *step) {
                Ok(row) => return Ok(row),
                Err(_) if halvings < HALVINGS => {
                    halvings += 1;
                    *step *= 0.5;
                }
                Err(rejection) => return Err(HessianError::Rejected { coordinate, step: *step, rejection }),
            }
        }
    }

    fn row_at(&mut self, coordinate: usize, step: f64) -> Result<Vec<f64>, Rejection> {
        let here = self.x[coordinate];
        let (below, above) = (here - self.bounds.lower[coordinate], self.bounds.upper[coordinate] - here);
        if step <= below.min(above) {
            let (right, left) = (here + step, here - step);
            let mut row = self.gradient_at(coordinate, right)?;
            let other = self.gradient_at(coordinate, left)?;
            for (a, b) in row.iter_mut().zip(&other) {
                *a = (*a - b) / (right - left);
            }
            return Ok(row);
        }
        // One side has no room: three points on the other.
        let length = (0.5 * below.max(above)).min(step);
        let signed = if above >= below { length } else { -length };
        let (near, far) = (here + signed, here + 2.0 * signed);
        let mut row = self.gradient_at(coordinate, near)?;
        let middle = self.gradient_at(coordinate, here)?;
        let end = self.gradient_at(coordinate, far)?;
        for ((a, b), c) in row.iter_mut().zip(&middle).zip(&end) {
            *a = (4.0 * *a - 3.0 * b - c) / (2.0 * signed);
        }
        Ok(row)
    }

    /// Free gradient of minus the log density with one coordinate moved.
    fn gradient_at(&mut self, coordinate: usize, value: f64) -> Result<Vec<f64>, Rejection> {
        self.evaluations += 1;
        self.moved[coordinate] = value;
        let outcome = self.evaluator.log_density_gradient(&self.moved, &mut self.gradient);
        self.moved[coordinate] = self.x[coordinate];
        let density = outcome?;
        if !density.is_finite() {
            return Err(Rejection::NotFinite { value: density });
        }
        match self.gradient.iter().position(|g| !g.is_finite()) {
            Some(index) => Err(Rejection::Gradient { index, value: self.gradient[index] }),
            None => Ok(self.free.iter().map(|&i| -self.gradient[i]).collect()),
        }
    }
}
