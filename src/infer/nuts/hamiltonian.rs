//! Hamiltonian dynamics: points of phase space, their energy, and the leapfrog that moves them.
//!
//! H(q, p) = -log pi(q) + p' W p / 2. One leapfrog of step e: p += e/2 grad, q += e W p, p += e/2 grad. It is
//! reversible and preserves volume; its energy error is O(e^2). Neal 2011, "MCMC using Hamiltonian dynamics", section 2.3.

use super::metric::{Metric, dot};
use crate::graph::{Evaluator, Rejection};
use rand_chacha::ChaCha8Rng;

/// A point of phase space with everything that was computed there; all vectors have length d.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Point {
    pub position: Vec<f64>,
    pub momentum: Vec<f64>,
    /// W p.
    pub velocity: Vec<f64>,
    /// Gradient of the log density.
    pub gradient: Vec<f64>,
    pub log_density: f64,
    /// -log density + kinetic energy.
    pub energy: f64,
}

impl Point {
    /// A point whose values are yet to be computed.
    pub fn blank(dim: usize) -> Point {
        let zeros = vec![0.0; dim];
        Point {
            position: zeros.clone(),
            momentum: zeros.clone(),
            velocity: zeros.clone(),
            gradient: zeros,
            log_density: 0.0,
            energy: 0.0,
        }
    }
}

/// A log density and a metric: together they define the flow.
pub(super) struct Hamiltonian<'a> {
    evaluator: Box<dyn Evaluator + 'a>,
    pub metric: Metric,
    /// Gradients evaluated since [`Hamiltonian::take_evaluations`] was last called.
    evaluations: u32,
}

impl<'a> Hamiltonian<'a> {
    pub fn new(evaluator: Box<dyn Evaluator + 'a>, metric: Metric) -> Hamiltonian<'a> {
        Hamiltonian { evaluator, metric, evaluations: 0 }
    }

    /// How many gradients were evaluated since the last call.
    pub fn take_evaluations(&mut self) -> u32 {
        std::mem::take(&mut self.evaluations)
    }

    /// Log density and gradient at the point's position. A value of NaN or `+inf` is a rejection, `-inf` is not.
    pub fn evaluate(&mut self, point: &mut Point) -> Result<(), Rejection> {
        self.evaluations += 1;
        let value = self.evaluator.log_density_gradient(&point.position, &mut point.gradient)?;
        if value.is_nan() || value == f64::INFINITY {
            return Err(Rejection::NotFinite { value });
        }
        point.log_density = value;
        Ok(())
    }

    /// Replaces the momentum by a fresh draw.
    pub fn refresh(&self, point: &mut Point, rng: &mut ChaCha8Rng) {
        self.metric.draw_momentum(rng, &mut point.momentum);
        self.update_energy(point);
    }

    /// One leapfrog of signed step `step` from `from`, written to `to`. Afterwards `to.energy` may be infinite or NaN:
    /// the caller decides what an acceptable energy is. After a rejection only `to.position` has a meaning.
    pub fn leapfrog(&mut self, from: &Point, to: &mut Point, step: f64) -> Result<(), Rejection> {
        let half = 0.5 * step;
        for ((p, p0), g) in to.momentum.iter_mut().zip(&from.momentum).zip(&from.gradient) {
            *p = p0 + half * g;
        }
        self.metric.velocity(&to.momentum, &mut to.velocity);
        for ((q, q0), v) in to.position.iter_mut().zip(&from.position).zip(&to.velocity) {
            *q = q0 + step * v;
        }
        self.evaluate(to)?;
        for (p, g) in to.momentum.iter_mut().zip(&to.gradient) {
            *p += half * g;
        }
        self.update_energy(to);
        Ok(())
    }

    fn update_energy(&self, point: &mut Point) {
        self.metric.velocity(&point.momentum, &mut point.velocity);
        point.energy = 0.5 * dot(&point.momentum, &point.velocity) - point.log_density;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::LogDensity;
    use crate::infer::test_densities::{Gaussian, Quartic};
    use rand::SeedableRng;

    fn start(h: &mut Hamiltonian, position: &[f64], seed: u64) -> Point {
        let mut point = Point::blank(position.len());
        point.position.copy_from_slice(position);
        h.evaluate(&mut point).unwrap();
        h.refresh(&mut point, &mut ChaCha8Rng::seed_from_u64(seed));
        point
    }

    fn metrics() -> [Metric; 2] {
        [Metric::diagonal(vec![0.5, 2.0]).unwrap(), Metric::dense(vec![1.0, 0.6, 0.6, 2.0], 2).unwrap()]
    }

    fn run(h: &mut Hamiltonian, from: &Point, step: f64, steps: usize) -> Point {
        let (mut a, mut b) = (from.clone(), from.clone());
        for _ in 0..steps {
            h.leapfrog(&a, &mut b, step).unwrap();
            std::mem::swap(&mut a, &mut b);
        }
        a
    }

    #[test]
    fn energy_is_minus_log_density_plus_kinetic() {
        let density = Quartic { dim: 2 };
        for metric in metrics() {
            let mut h = Hamiltonian::new(density.evaluator(), metric);
            let z = start(&mut h, &[0.3, -1.1], 5);
            let w = |i: usize, j: usize| match h.metric.inverse_mass() {
                [a, b] => [[*a, 0.0], [0.0, *b]][i][j],
                full => full[2 * i + j],
            };
            let kinetic: f64 = (0..4).map(|k| 0.5 * z.momentum[k / 2] * w(k / 2, k % 2) * z.momentum[k % 2]).sum();
            let log_density: f64 = z.position.iter().map(|q| -q.powi(4) / 4.0).sum();
            assert!((z.energy - (kinetic - log_density)).abs() < 1e-14);
        }
    }

    #[test]
    fn leapfrog_is_reversible() {
        let density = Quartic { dim: 2 };
        for metric in metrics() {
            let mut h = Hamiltonian::new(density.evaluator(), metric);
            let z = start(&mut h, &[0.3, -1.1], 6);
            let there = run(&mut h, &z, 0.05, 40);
            assert!((there.position[0] - z.position[0]).abs() > 0.1);
            let mut turned = there.clone();
            turned.momentum.iter_mut().for_each(|p| *p = -*p);
            for back in [run(&mut h, &there, -0.05, 40), run(&mut h, &turned, 0.05, 40)] {
                assert!(back.position.iter().zip(&z.position).all(|(a, b)| (a - b).abs() < 1e-12));
                assert!((back.energy - z.energy).abs() < 1e-12);
            }
        }
    }

    /// Halving the step divides the energy error at a fixed time by four.
    #[test]
    fn energy_error_is_of_second_order() {
        let density = Quartic { dim: 2 };
        for metric in metrics() {
            let mut h = Hamiltonian::new(density.evaluator(), metric);
            let z = start(&mut h, &[0.3, -1.1], 7);
            let errors = [1, 2, 4].map(|k| run(&mut h, &z, 0.02 / k as f64, 50 * k).energy - z.energy);
            for pair in errors.windows(2) {
                let ratio = pair[0] / pair[1];
                assert!((ratio - 4.0).abs() < 0.1, "{errors:?}");
            }
        }
    }

    /// On a normal density one leapfrog is a linear map, known in closed form.
    #[test]
    fn one_leapfrog_matches_the_closed_form() {
        let density = Gaussian::standard(1);
        let mut h = Hamiltonian::new(density.evaluator(), Metric::diagonal(vec![1.0]).unwrap());
        let z = start(&mut h, &[0.7], 8);
        let (q, p, e) = (z.position[0], z.momentum[0], 0.3);
        let next = run(&mut h, &z, e, 1);
        assert!((next.position[0] - (q * (1.0 - e * e / 2.0) + e * p)).abs() < 1e-15);
        assert!((next.momentum[0] - (p * (1.0 - e * e / 2.0) - q * e * (1.0 - e * e / 4.0))).abs() < 1e-15);
    }

    #[test]
    fn every_gradient_is_counted() {
        let density = Gaussian::standard(1);
        let mut h = Hamiltonian::new(density.evaluator(), Metric::diagonal(vec![1.0]).unwrap());
        let z = start(&mut h, &[0.7], 9);
        run(&mut h, &z, 0.1, 6);
        assert_eq!(h.take_evaluations(), 7);
        assert_eq!(h.take_evaluations(), 0);
    }
}
