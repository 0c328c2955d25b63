//! Safeguarded Newton steps that finish an optimum where the value has stalled but the gradient has not vanished.
//!
//! A step (H + lambda diag H)^-1 g over the free coordinates is taken only when it lowers the projected gradient and does
//! not worsen the value beyond rounding.

use std::sync::atomic::AtomicBool;

use super::bounds::Bounds;
use super::cholesky::Cholesky;
use super::hessian::{Hessian, negative_hessian};
use super::outcome::Settings;
use crate::graph::Evaluator;

/// Newton steps at most.
const STEPS: usize = 8;
/// Halvings of one step.
const HALVINGS: usize = 6;
/// Rounding of the value.
const ROUNDING: f64 = 1e-14;

/// A point being polished: log density and its gradient.
#[derive(Debug, Clone)]
pub(super) struct Polished {
    pub x: Vec<f64>,
    pub value: f64,
    pub gradient: Vec<f64>,
    /// Steps taken.
    pub steps: usize,
    /// Gradient evaluations.
    pub evaluations: usize,
}

impl Polished {
    /// Largest absolute component of the projected gradient.
    pub fn projected_gradient(&self, bounds: &Bounds) -> f64 {
        let descent: Vec<f64> = self.gradient.iter().map(|g| -g).collect();
        bounds.projected_gradient(&self.x, &descent)
    }

    /// Takes Newton steps until the projected gradient is within its tolerance, no step helps, or it is interrupted.
    pub fn polish(&mut self, evaluator: &mut dyn Evaluator, bounds: &Bounds, settings: &Settings) {
        for _ in 0..STEPS {
            let done = self.projected_gradient(bounds) <= settings.gradient_tolerance;
            if done || !self.step(evaluator, bounds, settings.stop) {
                return;
            }
        }
    }

    fn step(&mut self, evaluator: &mut dyn Evaluator, bounds: &Bounds, stop: Option<&AtomicBool>) -> bool {
        // A coordinate at a bound from which the density rises inwards may move.
        let mut moving = bounds.free(&self.x);
        moving.extend(
            bounds
                .active(&self.x)
                .into_iter()
                .filter(|&i| bounds.lower[i] < bounds.upper[i])
                .filter(|&i| bounds.projected_component(i, self.x[i], -self.gradient[i]) != 0.0),
        );
        let Ok(hessian) = negative_hessian(evaluator, &self.x, &moving, bounds, stop) else {
            return false;
        };
        self.evaluations += hessian.evaluations;
        let Some(step) = self.newton_step(&moving, hessian) else {
            return false;
        };
        let before = self.projected_gradient(bounds);
        let mut trial = self.clone();
        let mut fraction = 1.0;
        for _ in 0..=HALVINGS {
            for (&i, step) in moving.iter().zip(&step) {
                trial.x[i] = (self.x[i] + fraction * step).clamp(bounds.lower[i], bounds.upper[i]);
            }
            self.evaluations += 1;
            if let Ok(value) = evaluator.log_density_gradient(&trial.x, &mut trial.gradient)
                && value.is_finite()
                && value >= self.value - ROUNDING * self.value.abs()
                && trial.gradient.iter().all(|g| g.is_finite())
                && trial.projected_gradient(bounds) < before
            {
                self.x = trial.x;
                self.gradient = trial.gradient;
                self.value = value;
                self.steps += 1;
                return true;
            }
            fraction *= 0.5;
        }
        false
    }

    /// Ascent step over `moving`, damped until the Hessian is positive definite.
    fn newton_step(&self, moving: &[usize], hessian: Hessian) -> Option<Vec<f64>> {
        let n = moving.len();
        let Hessian { matrix, .. } = hessian;
        let mut damping = 0.0;
        while damping < 1e3 {
            let mut damped = matrix.clone();
            for i in 0..n {
                damped[i * n + i] += damping * damped[i * n + i].abs();
            }
            if let Ok(factor) = Cholesky::new(damped, n) {
                let mut step: Vec<f64> = moving.iter().map(|&i| self.gradient[i]).collect();
                factor.solve(&mut step);
                return step.iter().all(|s| s.is_finite()).then_some(step);
            }
            damping = if damping == 0.0 { 1e-6 } else { 10.0 * damping };
        }
        None
    }
}
