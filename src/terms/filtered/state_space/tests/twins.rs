//! State space against grouped and dense, and gradients against differences.

use super::{bateman, double_gamma, gamma, problem};
use crate::response::Response;
use crate::terms::filtered::tests::{Theta, close, close_all, evaluate, random_problem};
use crate::terms::filtered::{Algebra, FilteredGp, Workspace};

fn value(gp: &FilteredGp, theta: &Theta) -> f64 {
    gp.log_likelihood_by(Algebra::StateSpace, &theta.point(), None, &mut Workspace::new()).unwrap()
}

#[test]
fn identity_equals_grouped_in_value_and_gradient() {
    for seed in 0..16 {
        let (factors, runs) = (1 + seed as usize % 6, 1 + seed as usize % 3);
        let (gp, theta, _) = random_problem(seed, factors, runs, seed >= 8);
        let (a, ga) = evaluate(&gp, Algebra::StateSpace, &theta);
        let (b, gb) = evaluate(&gp, Algebra::Grouped, &theta);
        close(a, b, 1e-12, 0.0, "value");
        close_all(&ga, &gb, 1e-10, &format!("gradient, seed {seed}"));
        close(value(&gp, &theta), a, 1e-13, 0.0, "value alone");
    }
}

#[test]
fn near_ties_gaps_and_tiny_noise_equal_dense() {
    for (seed, noise) in [(0, 1e-3), (1, 1e-6), (2, 1e-9), (3, 1e-3), (4, 1e-6), (5, 1e-9)] {
        let factors = 1 + seed as usize % 3;
        let (gp, mut theta) = problem(seed, factors, 3, &[Response::Identity, Response::Identity]);
        theta.noise.fill(noise);
        for w in theta.loadings.chunks_exact_mut(factors) {
            match seed {
                3 => w.fill(0.0),
                4 | 5 => w[factors - 1] = 2.0 * w[0],
                _ => {}
            }
        }
        let (a, ga) = evaluate(&gp, Algebra::StateSpace, &theta);
        let (b, gb) = evaluate(&gp, Algebra::Dense, &theta);
        // The covariance of scalars that nearly coincide has condition one over the noise.
        let tolerance = 1e-11 + 1e-15 / noise;
        close(a, b, tolerance, 0.0, &format!("value, seed {seed}"));
        close_all(&ga, &gb, 10.0 * tolerance, &format!("gradient, seed {seed}"));
    }
}

#[test]
fn gradients_equal_central_differences() {
    let sets = [
        vec![Response::Identity, gamma(), bateman()],
        vec![double_gamma(), Response::Identity],
        vec![gamma(), gamma()],
        vec![bateman()],
    ];
    for (seed, responses) in sets.iter().enumerate() {
        let (gp, theta) = problem(seed as u64, 1 + seed, 1 + seed % 3, responses);
        let (at, gradient) = evaluate(&gp, Algebra::StateSpace, &theta);
        close(value(&gp, &theta), at, 1e-12, 0.0, "value alone");
        let x = theta.flat();
        let names: Vec<&str> =
            responses.iter().flat_map(|r| r.family().parameters.iter().map(|p| p.name)).collect();
        let first = x.len() - 1 - names.len();
        for i in 0..x.len() {
            if i >= first && i < x.len() - 1 && names[i - first].contains("shape") {
                continue;
            }
            let h = 1e-4 * x[i].abs().max(0.1);
            let at = |step: f64| {
                let mut y = x.clone();
                y[i] += step * h;
                value(&gp, &theta.with_values(&y))
            };
            let slope = (8.0 * (at(1.0) - at(-1.0)) - (at(2.0) - at(-2.0))) / (12.0 * h);
            close(gradient[i], slope, 1e-6, 1e-6, &format!("set {seed}, coordinate {i} of {first}.."));
        }
    }
}
