//! A program as a log density: in the physical parameters, or in unconstrained coordinates with the Jacobian.

use super::density::{Evaluator, LogDensity, Rejection};
use super::program::Program;
use super::tape::Tape;
use crate::bind::{Block, Plan};
use crate::math::transform::Transform;
use std::sync::Arc;

/// The constraint transforms of all coordinates.
#[derive(Debug, Clone)]
pub struct Coordinates {
    transforms: Vec<Transform>,
}

impl Coordinates {
    /// The coordinates of a plan.
    pub fn new(plan: &Plan) -> Self {
        Self { transforms: plan.blocks.iter().flat_map(Block::transforms).collect() }
    }

    /// Number of coordinates.
    pub fn dim(&self) -> usize {
        self.transforms.len()
    }

    /// Unconstrained to physical.
    pub fn to_physical(&self, u: &[f64], x: &mut [f64]) {
        for ((x, &u), t) in x.iter_mut().zip(u).zip(&self.transforms) {
            *x = t.to_physical(u);
        }
    }

    /// Physical to unconstrained; the index of the first coordinate that is not strictly inside its bounds otherwise.
    pub fn to_unconstrained(&self, x: &[f64]) -> Result<Vec<f64>, usize> {
        self.transforms.iter().zip(x).enumerate().map(|(i, (t, &x))| t.to_unconstrained(x).ok_or(i)).collect()
    }

    /// Physical to unconstrained; a coordinate on a bound is moved inside by a millionth of its scale.
    pub fn interior(&self, x: &[f64]) -> Vec<f64> {
        let one = |(t, &x): (&Transform, &f64)| {
            let inner = match *t {
                Transform::Identity => x,
                Transform::Lower(lo) => x.max(lo + 1e-6 * lo.abs().max(1.0)),
                Transform::Upper(hi) => x.min(hi - 1e-6 * hi.abs().max(1.0)),
                Transform::Interval(lo, hi) => x.clamp(lo + 1e-6 * (hi - lo), hi - 1e-6 * (hi - lo)),
            };
            t.to_unconstrained(inner).unwrap_or(0.0)
        };
        self.transforms.iter().zip(x).map(one).collect()
    }

    /// A physical gradient in unconstrained coordinates, without the Jacobian term.
    pub fn chain_rule(&self, u: &[f64], gradient: &[f64]) -> Vec<f64> {
        self.transforms.iter().zip(u).zip(gradient).map(|((t, &u), g)| g * t.derivative(u)).collect()
    }

    /// Adds the log Jacobian to `value` and turns a physical gradient into an unconstrained one, in place.
    pub fn pull_back(&self, u: &[f64], value: f64, gradient: &mut [f64]) -> f64 {
        let mut total = value;
        for ((g, &u), t) in gradient.iter_mut().zip(u).zip(&self.transforms) {
            if *t != Transform::Identity {
                total += t.log_jacobian(u);
                *g = *g * t.derivative(u) + t.log_jacobian_derivative(u);
            }
        }
        total
    }
}

/// The log density of the physical parameters, without a Jacobian, on the tape.
pub struct Physical {
    pub program: Arc<Program>,
}

impl LogDensity for Physical {
    fn dim(&self) -> usize {
        self.program.dim
    }

    fn evaluator(&self) -> Box<dyn Evaluator + '_> {
        Box::new(PhysicalEvaluator { tape: Tape::new(Arc::clone(&self.program)) })
    }
}

struct PhysicalEvaluator {
    tape: Tape,
}

impl Evaluator for PhysicalEvaluator {
    fn log_density_gradient(&mut self, x: &[f64], gradient: &mut [f64]) -> Result<f64, Rejection> {
        let value = self.tape.value_gradient(x, gradient)?;
        finite(gradient)?;
        Ok(value)
    }
}

/// A log density of physical parameters seen in unconstrained coordinates: what samplers take.
pub struct Unconstrained<D> {
    pub physical: D,
    pub coordinates: Coordinates,
}

impl<D: LogDensity> LogDensity for Unconstrained<D> {
    fn dim(&self) -> usize {
        self.physical.dim()
    }

    fn evaluator(&self) -> Box<dyn Evaluator + '_> {
        Box::new(UnconstrainedEvaluator {
            inner: self.physical.evaluator(),
            coordinates: &self.coordinates,
            x: vec![0.0; self.dim()],
        })
    }
}

struct UnconstrainedEvaluator<'a> {
    inner: Box<dyn Evaluator + 'a>,
    coordinates: &'a Coordinates,
    x: Vec<f64>,
}

impl Evaluator for UnconstrainedEvaluator<'_> {
    fn log_density_gradient(&mut self, u: &[f64], gradient: &mut [f64]) -> Result<f64, Rejection> {
        self.coordinates.to_physical(u, &mut self.x);
        let value = self.inner.log_density_gradient(&self.x, gradient)?;
        let value = self.coordinates.pull_back(u, value, gradient);
        if value.is_nan() || value == f64::INFINITY {
            return Err(Rejection::NotFinite { value });
        }
        finite(gradient)?;
        Ok(value)
    }
}

pub(super) fn finite(gradient: &[f64]) -> Result<(), Rejection> {
    match gradient.iter().position(|g| !g.is_finite()) {
        Some(index) => Err(Rejection::Gradient { index, value: gradient[index] }),
        None => Ok(()),
    }
}
