//! Tests of single trajectories: reversibility, order of the energy error, closed forms and faults.

use super::flow::{Course, Flow, State, refresh};
use super::*;
use crate::graph::Rejection;
use crate::infer::adapt::Directions;
use crate::infer::test_densities::{Custom, Gaussian, Quartic};
use rand::SeedableRng;

const ALL: [Integrator; 3] = [Integrator::Leapfrog, Integrator::MinimalNorm, Integrator::FourthOrder];

fn rng(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

fn preconditioners() -> [Preconditioner; 2] {
    let h = 0.5f64.sqrt();
    [
        Preconditioner::diagonal(vec![0.7, 1.0, 1.5]),
        Preconditioner::low_rank(vec![0.7, 1.0, 1.5], Directions { rows: vec![h, 0.0, h], variances: vec![4.0] }),
    ]
}

fn start(flow: &mut Flow, position: &[f64], seed: u64) -> (State, Vec<f64>) {
    let mut state = State::at(position);
    flow.evaluate(&mut state).unwrap();
    let mut direction = vec![0.0; position.len()];
    refresh(&mut direction, &mut rng(seed));
    (state, direction)
}

fn course(integrator: Integrator, step: f64, steps: u32) -> Course {
    Course { integrator, step, steps, decoherence: None }
}

fn run(flow: &mut Flow, from: &State, direction: &[f64], course: Course) -> (State, Vec<f64>, f64) {
    let (mut end, mut direction) = (from.clone(), direction.to_vec());
    let outcome = flow.trajectory(from, &mut end, &mut direction, course, &mut rng(0)).unwrap();
    assert!(outcome.trusted);
    (end, direction, outcome.energy_error)
}

fn close(a: &[f64], b: &[f64], tolerance: f64) -> bool {
    a.iter().zip(b).all(|(a, b)| (a - b).abs() < tolerance)
}

/// Turned round, or with the step reversed, a trajectory comes back, and its energy error changes sign.
#[test]
fn trajectories_are_reversible() {
    let density = Quartic { dim: 3 };
    for preconditioner in preconditioners() {
        for integrator in ALL {
            let mut flow = Flow::new(density.evaluator(), preconditioner.clone());
            let (from, u) = start(&mut flow, &[0.8, -1.1, 0.4], 6);
            let (there, v, error) = run(&mut flow, &from, &u, course(integrator, 0.3, 15));
            assert!(!close(&there.position, &from.position, 0.1) && error.abs() > 1e-6);
            let turned: Vec<f64> = v.iter().map(|x| -x).collect();
            let (back, w, error_back) = run(&mut flow, &there, &turned, course(integrator, 0.3, 15));
            assert!(close(&back.position, &from.position, 1e-11), "{integrator:?}");
            assert!((error + error_back).abs() < 1e-11);
            assert!(w.iter().zip(&u).all(|(w, u)| (w + u).abs() < 1e-11));
            let (back, w, error_back) = run(&mut flow, &there, &v, course(integrator, -0.3, 15));
            assert!(close(&back.position, &from.position, 1e-11) && close(&w, &u, 1e-11));
            assert!((error + error_back).abs() < 1e-11);
        }
    }
}

/// Halving the step divides the energy error at a fixed time by 2^order.
#[test]
fn energy_errors_have_the_order_of_their_integrator() {
    let density = Quartic { dim: 3 };
    for preconditioner in preconditioners() {
        for (integrator, order, step) in
            [(Integrator::Leapfrog, 2, 0.04), (Integrator::MinimalNorm, 2, 0.04), (Integrator::FourthOrder, 4, 0.1)]
        {
            let mut flow = Flow::new(density.evaluator(), preconditioner.clone());
            let (from, u) = start(&mut flow, &[0.8, -1.1, 0.4], 7);
            let errors =
                [1, 2, 4].map(|k| run(&mut flow, &from, &u, course(integrator, step / f64::from(k), 20 * k)).2);
            let expected = f64::from(1 << order);
            for pair in errors.windows(2) {
                let ratio = pair[0] / pair[1];
                assert!((ratio / expected - 1.0).abs() < 0.05, "{integrator:?} {errors:?}");
            }
        }
    }
}

/// Merged kicks change nothing: n steps equal n trajectories of one step, and their energy errors add up.
#[test]
fn a_trajectory_equals_its_single_steps() {
    let density = Quartic { dim: 3 };
    for integrator in ALL {
        let mut flow = Flow::new(density.evaluator(), preconditioners()[1].clone());
        let (from, u) = start(&mut flow, &[0.8, -1.1, 0.4], 8);
        let (whole, whole_u, whole_error) = run(&mut flow, &from, &u, course(integrator, 0.2, 5));
        let (mut state, mut direction, mut sum) = (from, u, 0.0);
        for _ in 0..5 {
            let (next, v, error) = run(&mut flow, &state, &direction, course(integrator, 0.2, 1));
            (state, direction) = (next, v);
            sum += error;
        }
        assert!(close(&whole.position, &state.position, 1e-13) && close(&whole_u, &direction, 1e-13));
        assert!((whole_error - sum).abs() < 1e-13);
    }
}

/// One leapfrog on a standard normal in two dimensions, where the direction is an angle a: with the gradient at angle b,
/// tan((a' - b) / 2) = exp(-t |g|) tan((a - b) / 2), and the energy is the change of log sin(a - b), reversed in sign.
#[test]
fn one_leapfrog_matches_the_closed_form_in_two_dimensions() {
    let density = Gaussian::standard(2);
    let mut flow = Flow::new(density.evaluator(), Preconditioner::diagonal(vec![1.0; 2]));
    let (from, u) = start(&mut flow, &[0.7, -0.4], 9);
    let step = 0.6;
    let half = |angle: f64, position: [f64; 2]| {
        let norm = position[0].hypot(position[1]);
        let b = (-position[1]).atan2(-position[0]);
        let relative = 2.0 * ((-0.5 * step * norm).exp() * (0.5 * (angle - b)).tan()).atan();
        (b + relative, ((angle - b).sin() / relative.sin()).abs().ln())
    };
    let (middle, first) = half(u[1].atan2(u[0]), [0.7, -0.4]);
    let position = [0.7 + step * middle.cos(), -0.4 + step * middle.sin()];
    let (angle, second) = half(middle, position);
    let squares = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>();
    let expected = first + second + 0.5 * (squares(&position) - squares(&[0.7, -0.4]));
    let (end, v, error) = run(&mut flow, &from, &u, course(Integrator::Leapfrog, step, 1));
    assert!(close(&end.position, &position, 1e-14));
    assert!(close(&v, &[angle.cos(), angle.sin()], 1e-14));
    assert!((error - expected).abs() < 1e-14, "{error} {expected}");
}

#[test]
fn every_gradient_is_counted() {
    let density = Gaussian::standard(3);
    for (integrator, each) in [(Integrator::Leapfrog, 1), (Integrator::MinimalNorm, 2), (Integrator::FourthOrder, 5)] {
        let mut flow = Flow::new(density.evaluator(), preconditioners()[0].clone());
        let (from, u) = start(&mut flow, &[0.7, 0.0, 0.1], 9);
        run(&mut flow, &from, &u, course(integrator, 0.1, 6));
        assert_eq!(flow.take_evaluations(), 6 * each + 1);
        assert_eq!(flow.take_evaluations(), 0);
    }
}

/// Directions of a fresh draw are uniform, and a random turn over a short path keeps exp(-step / length) of the old one.
#[test]
fn turns_forget_the_direction_over_their_length() {
    let flat = Custom {
        dim: 3,
        function: |_: &[f64], g: &mut [f64]| {
            g.fill(0.0);
            Ok(0.0)
        },
    };
    let mut flow = Flow::new(flat.evaluator(), Preconditioner::diagonal(vec![1.0; 3]));
    let mut generator = rng(5);
    let (from, _) = start(&mut flow, &[0.0; 3], 1);
    let (step, steps, length, n) = (0.01, 101, 1.0, 4000);
    let course = Course { integrator: Integrator::Leapfrog, step, steps, decoherence: Some(length) };
    let mut kept = 0.0;
    let mut mean = [0.0; 3];
    for _ in 0..n {
        let mut u = vec![0.0; 3];
        refresh(&mut u, &mut generator);
        let old = u.clone();
        let mut end = from.clone();
        flow.trajectory(&from, &mut end, &mut u, course, &mut generator).unwrap();
        kept += old.iter().zip(&u).map(|(a, b)| a * b).sum::<f64>() / f64::from(n);
        mean.iter_mut().zip(&old).for_each(|(m, u)| *m += u / f64::from(n));
    }
    // To first order a turn multiplies the old direction by 1 - nu^2 (d - 1) / 2, nu^2 = 2 step / (length d).
    let expected = (1.0 - step / length * 2.0 / 3.0f64).powi(100);
    assert!((kept - expected).abs() < 4.0 * (1.0 / 3.0 / f64::from(n)).sqrt() + 0.005, "{kept} {expected}");
    assert!(mean.iter().all(|m| m.abs() < 4.0 * (1.0 / 3.0 / f64::from(n)).sqrt()), "{mean:?}");
}

/// Steps so large that a direction is rounded to the opposite of the gradient: the ends, as far away as they are, would
/// be accepted.
#[test]
fn kicks_beyond_double_precision_are_not_trusted() {
    let density = Gaussian::standard(2);
    let mut flow = Flow::new(density.evaluator(), Preconditioner::diagonal(vec![1.0; 2]));
    for seed in 0..20 {
        let (from, mut u) = start(&mut flow, &[0.8, -0.5], seed);
        let mut end = from.clone();
        let course = course(Integrator::Leapfrog, 100.0, 1);
        let outcome = flow.trajectory(&from, &mut end, &mut u, course, &mut rng(1)).unwrap();
        assert!(!outcome.trusted);
    }
}

#[test]
fn gradients_that_are_not_finite_end_a_trajectory_with_their_facts() {
    let density = Custom {
        dim: 2,
        function: |x: &[f64], g: &mut [f64]| {
            g.fill(1.0);
            if x[0] != 0.0 {
                g[1] = f64::NAN;
            }
            Ok(0.0)
        },
    };
    let mut flow = Flow::new(density.evaluator(), Preconditioner::diagonal(vec![1.0; 2]));
    let (from, mut u) = start(&mut flow, &[0.0, 0.0], 3);
    let mut end = from.clone();
    let fault =
        flow.trajectory(&from, &mut end, &mut u, course(Integrator::Leapfrog, 0.1, 1), &mut rng(1)).unwrap_err();
    assert!(matches!(fault.rejection, Some(Rejection::Gradient { index: 1, value }) if value.is_nan()));
    assert_eq!((fault.start, fault.energy_error), (vec![0.0, 0.0], f64::INFINITY));
}
