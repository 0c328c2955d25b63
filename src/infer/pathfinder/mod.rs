//! Starts of chains by Pathfinder: where a climb towards the mode passes through the mass of the posterior.
//!
//! From a random point a quasi-Newton climb goes towards the mode. Each of its points comes with a normal
//! approximation, mean x + H grad and covariance H; that with the largest evidence lower bound is kept, which is
//! rarely the last one where the mode lies outside the mass. The start is a draw of it, its distance from the mean widened by half.
//! Every chain climbs from a point of its own, so that chains may end in different modes and R-hat keeps its meaning;
//! for the same reason nothing is resampled across climbs. Zhang, Carpenter, Gelman & Vehtari 2022, "Pathfinder:
//! parallel quasi-Newton variational inference", JMLR 23.

mod estimate;

use crate::graph::{Evaluator, LogDensity};
use estimate::{Memory, dot};
use rand_chacha::ChaCha8Rng;

/// Most steps of a climb.
const MOST_STEPS: usize = 200;
/// Most tries of a line search.
const MOST_TRIES: usize = 30;
/// Draws per evidence lower bound.
const BOUND_DRAWS: usize = 5;
/// A climb ends where no derivative is larger than this.
const SMALLEST_SLOPE: f64 = 1e-6;
/// A climb ends where the log density rises by less than this part of itself.
const SMALLEST_RISE: f64 = 1e-10;
/// Factor of the distance from the mean.
const DISPERSION: f64 = 1.5;
/// Draws of the approximation before a start is given up.
const TRIES: usize = 20;

/// Why there is no start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PathfinderError {
    /// The density has no finite value where the climb begins.
    #[error("pathfinder cannot begin: the log density has no finite value there")]
    NoValue,
    /// No point of the climb has an approximation of which the density has finite values.
    #[error("pathfinder found no normal approximation along its climb; use --init random")]
    NoApproximation,
}

/// A start and what it cost.
#[derive(Debug, Clone, PartialEq)]
pub struct Start {
    /// Length d.
    pub position: Vec<f64>,
    /// Estimated evidence lower bound of the normal approximation that it is drawn from.
    pub bound: f64,
    /// Gradients evaluated.
    pub gradients: u32,
}

/// A normal approximation at a point of the climb.
struct Approximation {
    mean: Vec<f64>,
    memory: Memory,
    bound: f64,
}

/// Climbs from `from` (length d) and draws a start.
///
/// # Errors
/// When the density has no finite value at `from`, or no usable approximation is met.
pub fn start(density: &dyn LogDensity, from: &[f64], rng: &mut ChaCha8Rng) -> Result<Start, PathfinderError> {
    let mut climb = Climb { evaluator: density.evaluator(), gradients: 0 };
    let best = climb.best(from, rng)?;
    for _ in 0..TRIES {
        let v = best.memory.draw(rng);
        let position: Vec<f64> = best.mean.iter().zip(&v).map(|(m, v)| m + DISPERSION * v).collect();
        if climb.evaluate(&position).is_some() {
            return Ok(Start { position, bound: best.bound, gradients: climb.gradients });
        }
    }
    Err(PathfinderError::NoApproximation)
}

/// A point of the climb.
struct Point {
    position: Vec<f64>,
    value: f64,
    gradient: Vec<f64>,
}

struct Climb<'a> {
    evaluator: Box<dyn Evaluator + 'a>,
    gradients: u32,
}

impl Climb<'_> {
    /// `None` where the log density or its gradient is not finite.
    fn evaluate(&mut self, position: &[f64]) -> Option<Point> {
        self.gradients += 1;
        let mut gradient = vec![0.0; position.len()];
        let value = self.evaluator.log_density_gradient(position, &mut gradient).ok()?;
        let usable = value.is_finite() && gradient.iter().all(|g| g.is_finite());
        usable.then(|| Point { position: position.to_vec(), value, gradient })
    }

    fn best(&mut self, from: &[f64], rng: &mut ChaCha8Rng) -> Result<Approximation, PathfinderError> {
        let mut point = self.evaluate(from).ok_or(PathfinderError::NoValue)?;
        let mut memory = Memory::new(from.len());
        let mut best: Option<Approximation> = None;
        for _ in 0..MOST_STEPS {
            if point.gradient.iter().all(|g| g.abs() < SMALLEST_SLOPE) {
                break;
            }
            let Some(next) = self.line_search(&point, &memory) else { break };
            let difference = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a - b).collect::<Vec<f64>>();
            memory.add(difference(&next.position, &point.position), difference(&point.gradient, &next.gradient));
            let rise = next.value - point.value;
            point = next;
            if !memory.is_empty() {
                let found = self.approximation(&point, &memory, rng);
                if found.bound.is_finite() && best.as_ref().is_none_or(|b| found.bound > b.bound) {
                    best = Some(found);
                }
            }
            if rise < SMALLEST_RISE * point.value.abs() {
                break;
            }
        }
        best.ok_or(PathfinderError::NoApproximation)
    }

    /// A point along H grad with a sufficient rise and a flatter slope (the weak conditions of Wolfe), by bisection.
    fn line_search(&mut self, from: &Point, memory: &Memory) -> Option<Point> {
        let norm = dot(&from.gradient, &from.gradient).sqrt();
        let (direction, first) =
            if memory.is_empty() { (from.gradient.clone(), norm.recip()) } else { (memory.apply(&from.gradient), 1.0) };
        let slope = dot(&direction, &from.gradient);
        let (mut low, mut high, mut length) = (0.0, f64::INFINITY, first);
        let mut best: Option<Point> = None;
        for _ in 0..MOST_TRIES {
            let position: Vec<f64> = from.position.iter().zip(&direction).map(|(x, d)| x + length * d).collect();
            match self.evaluate(&position).filter(|p| p.value >= from.value + 1e-4 * length * slope) {
                None => high = length,
                Some(point) => {
                    let flat = dot(&point.gradient, &direction) <= 0.9 * slope;
                    best = Some(point);
                    if flat {
                        break;
                    }
                    low = length;
                }
            }
            length = if high.is_finite() { 0.5 * (low + high) } else { 2.0 * low };
        }
        best
    }

    /// The normal at `point` with its evidence lower bound, the mean of log pi - log q over a few draws.
    fn approximation(&mut self, point: &Point, memory: &Memory, rng: &mut ChaCha8Rng) -> Approximation {
        let shift = memory.apply(&point.gradient);
        let mean: Vec<f64> = point.position.iter().zip(&shift).map(|(x, s)| x + s).collect();
        let precision = memory.precision();
        let mut bound = 0.0;
        for _ in 0..BOUND_DRAWS {
            let v = memory.draw(rng);
            let x: Vec<f64> = mean.iter().zip(&v).map(|(m, v)| m + v).collect();
            let value = self.evaluate(&x).map_or(f64::NEG_INFINITY, |p| p.value);
            bound += (value - precision.log_density(&v)) / BOUND_DRAWS as f64;
        }
        Approximation { mean, memory: memory.clone(), bound }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::infer::test_densities::{Custom, Gaussian, funnel};
    use rand::SeedableRng;

    /// On an ill-scaled normal starts are over-dispersed around the mode by one and a half standard deviations.
    #[test]
    fn starts_spread_over_an_ill_scaled_normal() {
        let sds = [1e-3, 1.0, 30.0];
        let density = Gaussian::with_sds(&sds);
        let n = 200;
        let mut squares = [0.0; 3];
        for seed in 0..n {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let found = start(&density, &[1.0, -1.5, 0.5], &mut rng).unwrap();
            assert!(found.gradients < 500, "{}", found.gradients);
            for i in 0..3 {
                squares[i] += (found.position[i] / sds[i]).powi(2) / n as f64;
            }
        }
        // Where the climb has not seen a direction its width is a guess: the order of magnitude counts.
        assert!(squares.iter().all(|s| (0.3..12.0).contains(s)), "{squares:?}");
    }

    /// The bound of a normal whose constant is left out is at most log of the integral of exp(-x'x / 2).
    #[test]
    fn the_bound_of_a_normal_is_its_constant() {
        let density = Gaussian::standard(4);
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let found = start(&density, &[1.0, 2.0, -1.0, 0.3], &mut rng).unwrap();
        assert!((found.bound - 2.0 * (2.0 * std::f64::consts::PI).ln()).abs() < 1e-6, "{}", found.bound);
    }

    /// The mode of a funnel has no mass around it; the climb passes through the mass on its way.
    #[test]
    fn starts_in_a_funnel_are_not_at_its_mode() {
        let density = funnel(10);
        let mut near = 0;
        for seed in 0..40 {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let found = start(&*density, &[1.0; 10], &mut rng).unwrap();
            near += usize::from(found.position[0].abs() < 4.0);
        }
        assert!(near > 20, "{near}");
    }

    #[test]
    fn densities_without_a_path_are_errors() {
        let flat = Custom {
            dim: 2,
            function: |_: &[f64], g: &mut [f64]| {
                g.fill(0.0);
                Ok(0.0)
            },
        };
        let outside = Custom { dim: 2, function: |_: &[f64], _: &mut [f64]| Ok(f64::NEG_INFINITY) };
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        assert_eq!(start(&flat, &[0.0, 0.0], &mut rng), Err(PathfinderError::NoApproximation));
        assert_eq!(start(&outside, &[0.0, 0.0], &mut rng), Err(PathfinderError::NoValue));
    }
}
