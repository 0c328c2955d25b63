//! State space against grouped and dense, and gradients against differences.

use crate::terms::filtered::tests::{close, close_all, evaluate, random_problem};
use crate::terms::filtered::{Algebra, Workspace};

#[test]
fn identity_equals_grouped_in_value_and_gradient() {
    for seed in 0..16 {
        let (factors, runs) = (1 + seed as usize % 6, 1 + seed as usize % 3);
        let (gp, theta, _) = random_problem(seed, factors, runs, seed >= 8);
        let (a, ga) = evaluate(&gp, Algebra::StateSpace, &theta);
        let (b, gb) = evaluate(&gp, Algebra::Grouped, &theta);
        close(a, b, 1e-12, 0.0, "value");
        close_all(&ga, &gb, 1e-10, &format!("gradient, seed {seed}"));
        let alone =
            gp.log_likelihood_by(Algebra::StateSpace, &theta.point(), None, &mut Workspace::new()).unwrap();
        close(alone, a, 1e-13, 0.0, "value alone");
    }
}
