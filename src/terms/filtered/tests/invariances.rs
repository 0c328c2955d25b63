//! Changes that must change nothing.

use super::*;
use rand::seq::SliceRandom;

#[test]
fn adjoint_is_added_with_its_scale() {
    let (gp, theta, _) = random_problem(3, 2, 2, false);
    let (_, once) = evaluate(&gp, Algebra::Grouped, &theta);
    for algebra in [Algebra::Grouped, Algebra::Dense] {
        let mut g = theta.with_values(&vec![1.0; once.len()]);
        let mut adjoint = Adjoint {
            scale: -2.5,
            loadings: &mut g.loadings,
            offsets: None,
            noise: &mut g.noise,
            responses: &mut g.responses,
            length_scale: &mut g.length_scale,
        };
        gp.log_likelihood_by(algebra, &theta.point(), Some(&mut adjoint), &mut Workspace::new()).unwrap();
        let mut expected: Vec<f64> = once.iter().map(|x| 1.0 - 2.5 * x).collect();
        let offsets = theta.loadings.len()..theta.loadings.len() + theta.offsets.len();
        expected[offsets].fill(1.0);
        close_all(&g.flat(), &expected, 1e-11, "scaled adjoint");
    }
}

#[test]
fn shifting_a_feature_and_its_offset_changes_nothing() {
    let (gp, theta, observations) = random_problem(5, 2, 2, false);
    let (a, ga) = evaluate(&gp, Algebra::Grouped, &theta);
    let mut shifted = observations;
    for o in shifted.iter_mut().flatten().filter(|o| o.feature_key == 4) {
        o.value += 1024.0;
    }
    let moved = FilteredGp::new(2, theta.offsets.len(), theta.noise.len(), identity(), &shifted).unwrap();
    let mut offsets = theta.clone();
    offsets.offsets[4] += 1024.0;
    let (b, gb) = evaluate(&moved, Algebra::Grouped, &offsets);
    // Adding 1,024 rounds the values to 1e-13.
    close(b, a, 1e-11, 0.0, "value");
    close_all(&gb, &ga, 1e-11, "gradient");
}

#[test]
fn order_of_scalars_and_of_runs_is_irrelevant() {
    let (gp, theta, mut observations) = random_problem(6, 3, 3, false);
    let (a, ga) = evaluate(&gp, Algebra::Grouped, &theta);
    let mut rng = ChaCha8Rng::seed_from_u64(0);
    observations.iter_mut().for_each(|run| run.shuffle(&mut rng));
    let build = |runs: &[Vec<Observation>]| {
        FilteredGp::new(3, theta.offsets.len(), theta.noise.len(), identity(), runs).unwrap()
    };
    let (b, gb) = evaluate(&build(&observations), Algebra::Grouped, &theta);
    assert_eq!((a, &ga), (b, &gb), "sorted input is bitwise the same");
    observations.reverse();
    let (c, gc) = evaluate(&build(&observations), Algebra::Grouped, &theta);
    close(c, a, 1e-14, 0.0, "value");
    close_all(&gc, &ga, 1e-13, "gradient");
}

#[test]
fn rotating_the_factors_changes_nothing() {
    let (gp, theta, _) = random_problem(9, 2, 2, true);
    let (sin, cos) = 0.7f64.sin_cos();
    let mut rotated = theta.clone();
    for w in rotated.loadings.chunks_exact_mut(2) {
        (w[0], w[1]) = (cos * w[0] - sin * w[1], sin * w[0] + cos * w[1]);
    }
    close(value(&gp, &rotated), value(&gp, &theta), 1e-13, 0.0, "value");
}

#[test]
fn stretching_time_with_the_length_scale_changes_nothing() {
    let (gp, theta, mut observations) = random_problem(10, 2, 1, true);
    for o in observations.iter_mut().flatten() {
        o.time *= 4.0;
    }
    let stretched = FilteredGp::new(2, theta.offsets.len(), theta.noise.len(), identity(), &observations).unwrap();
    let longer = Theta { length_scale: 4.0 * theta.length_scale, ..theta.clone() };
    close(value(&stretched, &longer), value(&gp, &theta), 1e-13, 0.0, "value");
}

#[test]
fn a_workspace_carries_nothing_over() {
    let (small, small_theta, _) = random_problem(11, 1, 1, false);
    let (large, large_theta, _) = random_problem(12, 4, 3, true);
    let mut ws = Workspace::new();
    for _ in 0..2 {
        for (gp, theta) in [(&large, &large_theta), (&small, &small_theta)] {
            assert_eq!(gp.log_likelihood(&theta.point(), None, &mut ws).unwrap(), value(gp, theta));
        }
    }
}
