//! Log densities with known moments, for the tests of the sampler.

use crate::graph::{Evaluator, LogDensity, Rejection};

/// A centred normal with a given precision matrix; normalised up to its constant.
pub struct Gaussian {
    dim: usize,
    /// d x d, row-major, or only the diagonal.
    precision: Vec<f64>,
}

impl Gaussian {
    pub fn standard(dim: usize) -> Gaussian {
        Gaussian { dim, precision: vec![1.0; dim] }
    }

    pub fn with_sds(sds: &[f64]) -> Gaussian {
        Gaussian { dim: sds.len(), precision: sds.iter().map(|s| 1.0 / (s * s)).collect() }
    }

    /// Two coordinates of unit variance with correlation `rho`.
    pub fn correlated(rho: f64) -> Gaussian {
        let s = 1.0 / (1.0 - rho * rho);
        Gaussian { dim: 2, precision: vec![s, -rho * s, -rho * s, s] }
    }
}

impl LogDensity for Gaussian {
    fn dim(&self) -> usize {
        self.dim
    }
    fn evaluator(&self) -> Box<dyn Evaluator + '_> {
        Box::new(self)
    }
}

impl Evaluator for &Gaussian {
    fn log_density_gradient(&mut self, x: &[f64], gradient: &mut [f64]) -> Result<f64, Rejection> {
        let d = self.dim;
        if self.precision.len() == d {
            let mut value = 0.0;
            for ((g, x), p) in gradient.iter_mut().zip(x).zip(&self.precision) {
                *g = -p * x;
                value += *g * x;
            }
            return Ok(0.5 * value);
        }
        let mut value = 0.0;
        for i in 0..d {
            gradient[i] = -(0..d).map(|j| self.precision[i * d + j] * x[j]).sum::<f64>();
            value += 0.5 * gradient[i] * x[i];
        }
        Ok(value)
    }
}

/// Independent coordinates with density proportional to exp(-x^4 / 4): a flow that is not linear.
pub struct Quartic {
    pub dim: usize,
}

impl LogDensity for Quartic {
    fn dim(&self) -> usize {
        self.dim
    }
    fn evaluator(&self) -> Box<dyn Evaluator + '_> {
        Box::new(self)
    }
}

impl Evaluator for &Quartic {
    fn log_density_gradient(&mut self, x: &[f64], gradient: &mut [f64]) -> Result<f64, Rejection> {
        gradient.iter_mut().zip(x).for_each(|(g, x)| *g = -x.powi(3));
        Ok(-x.iter().map(|x| x.powi(4)).sum::<f64>() / 4.0)
    }
}

/// Any function of one position, for faults.
pub struct Custom<F> {
    pub dim: usize,
    pub function: F,
}

impl<F: Fn(&[f64], &mut [f64]) -> Result<f64, Rejection> + Sync> LogDensity for Custom<F> {
    fn dim(&self) -> usize {
        self.dim
    }
    fn evaluator(&self) -> Box<dyn Evaluator + '_> {
        Box::new(self)
    }
}

impl<F: Fn(&[f64], &mut [f64]) -> Result<f64, Rejection> + Sync> Evaluator for &Custom<F> {
    fn log_density_gradient(&mut self, x: &[f64], gradient: &mut [f64]) -> Result<f64, Rejection> {
        (self.function)(x, gradient)
    }
}

/// A gentle funnel: v standard normal, and `dim` - 1 coordinates x with standard deviations exp(v / 2).
pub fn funnel(dim: usize) -> Box<dyn LogDensity> {
    Box::new(Custom {
        dim,
        function: move |x: &[f64], g: &mut [f64]| {
            let precision = (-x[0]).exp();
            let squares: f64 = x[1..].iter().map(|x| x * x).sum();
            g[0] = -x[0] + 0.5 * precision * squares - 0.5 * (dim - 1) as f64;
            g[1..].iter_mut().zip(&x[1..]).for_each(|(g, x)| *g = -precision * x);
            Ok(-0.5 * x[0] * x[0] - 0.5 * precision * squares - 0.5 * (dim - 1) as f64 * x[0])
        },
    })
}

/// A banana: a standard normal x and, around x^2 / 2, another coordinate of standard deviation one.
pub fn banana() -> Box<dyn LogDensity> {
    Box::new(Custom {
        dim: 2,
        function: |x: &[f64], g: &mut [f64]| {
            let off = x[1] - 0.5 * x[0] * x[0];
            g[0] = -x[0] + x[0] * off;
            g[1] = -off;
            Ok(-0.5 * x[0] * x[0] - 0.5 * off * off)
        },
    })
}

/// Draws of these two as independent standard normals, which they are after a change of coordinates.
pub fn standardised(name: &str, x: &[f64]) -> Vec<f64> {
    match name {
        "funnel" => {
            let scale = (-0.5 * x[0]).exp();
            std::iter::once(x[0]).chain(x[1..].iter().map(|x| scale * x)).collect()
        }
        _ => vec![x[0], x[1] - 0.5 * x[0] * x[0]],
    }
}
