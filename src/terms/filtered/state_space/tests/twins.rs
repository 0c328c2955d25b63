//! State space against grouped and dense, and gradients against differences.

use super::super::tape::Limits;
use super::{bateman, double_gamma, gamma, problem, with_fixed_shapes};
use crate::response::Response;
use crate::terms::filtered::tests::{Theta, close, close_all, evaluate, evaluate_in, random_problem};
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
        let gp = with_fixed_shapes(gp, responses);
        let (at, gradient) = evaluate(&gp, Algebra::StateSpace, &theta);
        close(value(&gp, &theta), at, 1e-12, 0.0, "value alone");
        let x = theta.flat();
        let names: Vec<&str> = responses.iter().flat_map(|r| r.family().parameters.iter().map(|p| p.name)).collect();
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

#[test]
fn responses_equal_grouped_in_value_and_gradient() {
    let sets =
        [vec![Response::Identity, gamma(), bateman()], vec![double_gamma(), Response::Identity], vec![bateman()]];
    for seed in 0..9 {
        let responses = &sets[seed % 3];
        let (gp, theta) = problem(seed as u64, 1 + seed % 4, 1 + seed % 3, responses);
        let gp = with_fixed_shapes(gp, responses);
        let (a, ga) = evaluate(&gp, Algebra::StateSpace, &theta);
        let (b, gb) = evaluate(&gp, Algebra::Grouped, &theta);
        close(a, b, 1e-9, 0.0, &format!("value, seed {seed}"));
        close_all(&ga, &gb, 1e-7, &format!("gradient, seed {seed}"));
    }
}

#[test]
fn short_segments_and_few_transitions_change_nothing() {
    let responses = vec![Response::Identity, gamma(), bateman()];
    let (gp, theta) = problem(4, 2, 2, &responses);
    let gp = with_fixed_shapes(gp, &responses);
    let (a, ga) = evaluate(&gp, Algebra::StateSpace, &theta);
    for limits in [
        Limits { bytes: 0, shortest: 1, transitions: 512 },
        Limits { bytes: 0, shortest: 5, transitions: 0 },
        Limits { bytes: 1 << 20, shortest: 1, transitions: 0 },
    ] {
        let mut workspace = Workspace::new();
        workspace.state_space.limit(limits);
        let (b, gb) = evaluate_in(&gp, Algebra::StateSpace, &theta, &mut workspace);
        close(b, a, 1e-14, 0.0, "value");
        close_all(&gb, &ga, 1e-12, "gradient");
    }
}

#[test]
fn moments_equal_the_grouped_ones() {
    let responses = vec![Response::Identity, gamma(), bateman()];
    for seed in 0..3 {
        let (gp, theta) = problem(seed, 1 + seed as usize, 2, &responses);
        let gp = with_fixed_shapes(gp, &responses);
        let ws = &mut Workspace::new();
        let times = [-3.0, 0.5, 0.0, 1.37, 7201.0, 9000.0, 0.5];
        let fast = gp.state_space_moments(&theta.point(), 0, None, &times, ws).unwrap();
        let slow = gp.latent_moments(&theta.point(), 0, &times, ws).unwrap();
        close_all(&fast.mean, &slow.mean, 1e-8, "mean");
        close_all(&fast.covariance, &slow.covariance, 1e-8, "covariance");
        let seen = gp.state_space_moments(&theta.point(), 0, Some(0), &times, ws).unwrap();
        assert_eq!(seen, fast);
        let e = gp.state_space_moments(&theta.point(), 2, None, &times, ws).unwrap_err();
        assert!(e.to_string().contains("run 2 does not exist"), "{e}");
        assert!(gp.state_space_moments(&theta.point(), 0, Some(3), &times, ws).is_err());
        assert!(gp.state_space_moments(&theta.point(), 0, None, &[f64::NAN], ws).is_err());
    }
}

#[test]
fn automatic_choice_says_why() {
    let choose = |responses: &[Response], learned: bool, shape: f64| {
        let (gp, mut theta) = problem(1, 2, 2, responses);
        let gp = if learned { gp } else { with_fixed_shapes(gp, responses) };
        if let (Response::Gamma { .. }, true) = (&responses[0], theta.responses[0] != shape) {
            theta.responses[0] = shape;
        }
        let choice = gp.choose(&theta.point());
        let (a, _) = evaluate(&gp, Algebra::Auto, &theta);
        let (b, _) = evaluate(&gp, choice.algebra, &theta);
        assert_eq!(a, b);
        choice
    };
    let fixed = choose(&[gamma(), Response::Identity], false, 3.0);
    assert!(fixed.reason.contains("2 factors, 5 states per factor"), "{}", fixed.reason);
    let learned = choose(&[gamma()], true, 3.0);
    assert_eq!(learned.algebra, Algebra::Grouped);
    assert!(learned.reason.contains("gamma: its shape is learned"), "{}", learned.reason);
    let odd = choose(&[gamma()], false, 2.5);
    assert!(odd.reason.contains("its shape is 2.5, not an integer from 1 to 32"), "{}", odd.reason);
}
