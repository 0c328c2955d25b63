//! A log density of a few of its coordinates, with all others held where they are.

use crate::graph::{Evaluator, LogDensity, Rejection};

/// `density` with only the coordinates `free` left free; the others stay at `fixed`.
pub(super) struct Freed<D> {
    pub density: D,
    /// All coordinates (length d).
    pub fixed: Vec<f64>,
    /// Ascending indices of the free ones.
    pub free: Vec<usize>,
}

impl<D: LogDensity> LogDensity for Freed<D> {
    fn dim(&self) -> usize {
        self.free.len()
    }

    fn evaluator(&self) -> Box<dyn Evaluator + '_> {
        let gradient = vec![0.0; self.fixed.len()];
        Box::new(FreedEvaluator { inner: self.density.evaluator(), x: self.fixed.clone(), gradient, free: &self.free })
    }
}

struct FreedEvaluator<'a> {
    inner: Box<dyn Evaluator + 'a>,
    x: Vec<f64>,
    gradient: Vec<f64>,
    free: &'a [usize],
}

impl Evaluator for FreedEvaluator<'_> {
    fn log_density_gradient(&mut self, x: &[f64], gradient: &mut [f64]) -> Result<f64, Rejection> {
        for (&i, &value) in self.free.iter().zip(x) {
            self.x[i] = value;
        }
        let value = self.inner.log_density_gradient(&self.x, &mut self.gradient)?;
        for (g, &i) in gradient.iter_mut().zip(self.free) {
            *g = self.gradient[i];
        }
        Ok(value)
    }
}
