//! Several starts, Newton finish and the Laplace approximation.

use std::sync::atomic::AtomicBool;

use super::super::bounds::Bounds;
use super::super::newton::Polished;
use super::super::{
    HessianError, LaplaceError, MultistartError, Settings, StartFault, Termination, laplace, maximize, negative_hessian,
};
use super::{dense_solve, largest_difference, normals, random_spd, times, unbounded};
use crate::graph::{Evaluator, LogDensity, Rejection};

/// A density given by a function of point and gradient.
struct Density<F> {
    dim: usize,
    function: F,
}

impl<F: Fn(&[f64], &mut [f64]) -> Result<f64, Rejection> + Sync> LogDensity for Density<F> {
    fn dim(&self) -> usize {
        self.dim
    }

    fn evaluator(&self) -> Box<dyn Evaluator + '_> {
        Box::new(Calls(&self.function))
    }
}

struct Calls<F>(F);

impl<F: Fn(&[f64], &mut [f64]) -> Result<f64, Rejection> + Send> Evaluator for Calls<F> {
    fn log_density_gradient(&mut self, x: &[f64], gradient: &mut [f64]) -> Result<f64, Rejection> {
        (self.0)(x, gradient)
    }
}

/// offset - (x - mean)'A(x - mean)/2.
struct Normal {
    precision: Vec<f64>,
    mean: Vec<f64>,
    offset: f64,
}

impl LogDensity for Normal {
    fn dim(&self) -> usize {
        self.mean.len()
    }

    fn evaluator(&self) -> Box<dyn Evaluator + '_> {
        Box::new(Calls(|x: &[f64], g: &mut [f64]| {
            let e: Vec<f64> = x.iter().zip(&self.mean).map(|(x, m)| x - m).collect();
            let ae = times(&self.precision, &e);
            for (g, a) in g.iter_mut().zip(&ae) {
                *g = -a;
            }
            Ok(self.offset - 0.5 * e.iter().zip(&ae).map(|(e, a)| e * a).sum::<f64>())
        }))
    }
}

fn normal_density(precision: Vec<f64>, mean: Vec<f64>, offset: f64) -> Normal {
    Normal { precision, mean, offset }
}

/// Two bumps, the higher one near 4; rejected beyond 8.
fn two_modes(x: &[f64], g: &mut [f64]) -> Result<f64, Rejection> {
    if x[0] > 8.0 {
        return Err(Rejection::NotFinite { value: f64::NAN });
    }
    let bumps = [(0.0, 1.0), (4.0, 3.0)].map(|(centre, weight)| {
        let e: f64 = x[0] - centre;
        (weight * (-0.5 * e * e).exp(), -e)
    });
    let total = bumps[0].0 + bumps[1].0;
    g[0] = (bumps[0].0 * bumps[0].1 + bumps[1].0 * bumps[1].1) / total;
    Ok(total.ln())
}

#[test]
fn threads_do_not_change_a_bit_and_the_highest_mode_wins() {
    let density = Density { dim: 1, function: two_modes };
    let starts: Vec<Vec<f64>> = [-3.0, 9.0, 4.5, 0.2, 3.1, 7.9, -1.0, f64::NAN, 5.0].iter().map(|&x| vec![x]).collect();
    let (lower, upper) = unbounded(1);
    let run = |threads| maximize(&density, &starts, &lower, &upper, &Settings::default(), threads).expect("usable");
    let serial = run(1);
    for threads in [2, 4, 16] {
        let parallel = run(threads);
        for (a, b) in serial.climbs.iter().zip(&parallel.climbs) {
            assert_eq!(a.value.to_bits(), b.value.to_bits());
            assert_eq!((a.iterations, a.evaluations, a.stages), (b.iterations, b.evaluations, b.stages));
            let bits = |x: &[f64]| x.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&a.x), bits(&b.x));
        }
        assert_eq!(serial.best, parallel.best);
    }
    assert_eq!(serial.climbs.len(), starts.len());
    assert!((serial.best().x[0] - 4.0).abs() < 1e-2 && serial.best().is_certified());
    assert!((serial.climbs[0].x[0]).abs() < 1e-2);
    let rejected = |i: usize| matches!(serial.climbs[i].termination, Termination::StartRejected { .. });
    assert!(rejected(1) && rejected(7));
}

#[test]
fn equal_climbs_go_to_the_lower_index() {
    let density = Density { dim: 1, function: two_modes };
    let starts = vec![vec![9.0], vec![0.1], vec![4.5], vec![4.5]];
    let (lower, upper) = unbounded(1);
    let result = maximize(&density, &starts, &lower, &upper, &Settings::default(), 2).expect("usable");
    assert_eq!(result.climbs[2], result.climbs[3]);
    assert_eq!(result.best, 2);
}

#[test]
fn no_usable_start_is_an_error_with_all_faults() {
    let density = Density { dim: 1, function: two_modes };
    let (lower, upper) = unbounded(1);
    let run = |starts: &[Vec<f64>]| maximize(&density, starts, &lower, &upper, &Settings::default(), 1);
    assert_eq!(run(&[]), Err(MultistartError::NoStarts));
    let Err(MultistartError::AllRejected { faults }) = run(&[vec![9.0], vec![f64::INFINITY], vec![1.0, 2.0]]) else {
        panic!("no start is usable");
    };
    assert!(matches!(faults[0], StartFault::Density(_)));
    assert!(matches!(faults[1], StartFault::Coordinate { index: 0, .. }));
    assert!(matches!(faults[2], StartFault::Length { expected: 1, found: 2, .. }));
}

#[test]
fn a_large_constant_does_not_cost_the_certificate() {
    // Rounding of the value, 1e-9, hides gradients up to about 0.1 from a comparison of values.
    let n = 12;
    let precision: Vec<f64> = random_spd(8, n, 2.0).iter().map(|a| 1e4 * a).collect();
    let mean = normals(3, n);
    let density = normal_density(precision, mean.clone(), 1e7);
    let (lower, upper) = unbounded(n);
    let result = maximize(&density, &[vec![0.0; n]], &lower, &upper, &Settings::default(), 1).expect("usable");
    let best = result.best();
    assert!(best.is_certified(), "{} {:?}", best.projected_gradient, best.termination);
    assert!(best.termination.is_converged());
    assert!(best.stages > 1 || best.newton_steps > 0, "the first stage must stall for this test to mean anything");
    assert!(largest_difference(&best.x, &mean) < 1e-6);
}

#[test]
fn newton_steps_finish_what_values_cannot_compare() {
    // Values are rounded to 1e-4, which hides gradients of a hundred.
    let n = 12;
    let precision: Vec<f64> = random_spd(8, n, 4.0).iter().map(|a| 1e6 * a).collect();
    let mean = normals(3, n);
    let density = normal_density(precision, mean.clone(), -1e9);
    let (lower, upper) = unbounded(n);
    let settings = Settings { memory: 2, ..Settings::default() };
    let result = maximize(&density, &[vec![0.0; n]], &lower, &upper, &settings, 1).expect("usable");
    let best = result.best();
    assert!(best.newton_steps > 0, "{best:?}");
    assert!(best.is_certified() && best.termination.is_converged(), "{best:?}");
    assert!(largest_difference(&best.x, &mean) < 1e-6);
}

#[test]
fn collapsing_variance_ends_as_stalled() {
    // theta_j ~ normal(0, tau), log tau with a flat prior, and data so weak that the density rises without limit.
    let function = |x: &[f64], g: &mut [f64]| {
        let (log_tau, theta) = (x[0], &x[1..]);
        let precision = (-2.0 * log_tau).exp();
        let squares: f64 = theta.iter().map(|t| t * t).sum();
        g[0] = precision * squares - theta.len() as f64;
        for (g, t) in g[1..].iter_mut().zip(theta) {
            *g = -precision * t;
        }
        Ok(-0.5 * precision * squares - theta.len() as f64 * log_tau)
    };
    let density = Density { dim: 9, function };
    let mut start = vec![0.5; 9];
    start[0] = 0.0;
    let (lower, upper) = unbounded(9);
    let result = maximize(&density, &[start.clone()], &lower, &upper, &Settings::default(), 1).expect("usable");
    let best = result.best();
    let Termination::Stalled { projected_gradient, gain } = best.termination else {
        panic!("{:?}", best.termination);
    };
    assert!(projected_gradient > 1.0 && projected_gradient == best.projected_gradient && gain > 1.0);
    assert!(!best.termination.is_converged() && best.evaluations < 6_000 && best.value.is_finite());
    // With the scale kept above exp(-3) the mode is at that bound, and theta is 0.
    let mut bounded = lower.clone();
    bounded[0] = -3.0;
    let result = maximize(&density, &[start], &bounded, &upper, &Settings::default(), 1).expect("usable");
    let best = result.best();
    assert!(best.is_certified() && best.termination.is_converged(), "{best:?}");
    assert_eq!((best.x[0], &best.active), (-3.0, &vec![0]));
}

#[test]
fn centred_funnel_ends_without_a_false_claim() {
    // v ~ normal(0, 3), x_j ~ normal(0, exp(v / 2)): one mode, at v = -40.5 where each x has a width of 1.6e-9.
    let function = |x: &[f64], g: &mut [f64]| {
        let precision = (-x[0]).exp();
        let squares: f64 = x[1..].iter().map(|x| x * x).sum();
        let n = (x.len() - 1) as f64;
        g[0] = -x[0] / 9.0 + 0.5 * precision * squares - 0.5 * n;
        for (g, x) in g[1..].iter_mut().zip(&x[1..]) {
            *g = -precision * x;
        }
        Ok(-x[0] * x[0] / 18.0 - 0.5 * precision * squares - 0.5 * n * x[0])
    };
    let density = Density { dim: 10, function };
    let (lower, upper) = unbounded(10);
    let starts = [vec![1.0; 10], normals(5, 10)];
    let result = maximize(&density, &starts, &lower, &upper, &Settings::default(), 1).expect("usable");
    for climb in &result.climbs {
        assert_eq!(climb.termination.is_converged(), climb.is_certified(), "{climb:?}");
        assert!(climb.evaluations < 10_000);
        assert!(!climb.is_certified() || (climb.x[0] + 40.5).abs() < 0.1, "{climb:?}");
    }
}

#[test]
fn a_limit_is_reported_as_a_limit() {
    let density = normal_density(random_spd(4, 20, 3.0), normals(6, 20), 0.0);
    let (lower, upper) = unbounded(20);
    let settings = Settings { max_iterations: 6, ..Settings::default() };
    let result = maximize(&density, &[vec![3.0; 20]], &lower, &upper, &settings, 1).expect("usable");
    assert_eq!((result.best().iterations, &result.best().termination), (6, &Termination::IterationLimit));
    assert_eq!(result.best().stages, 1);
}

#[test]
fn newton_finish_lowers_the_gradient_in_a_box_and_keeps_the_value() {
    let n = 6;
    let precision = random_spd(21, n, 2.0);
    let mean = normals(4, n);
    let density = normal_density(precision.clone(), mean.clone(), 0.0);
    let (lower, mut upper) = unbounded(n);
    upper[2] = mean[2] - 0.5;
    let bounds = Bounds { lower: &lower, upper: &upper };
    let mut x: Vec<f64> = mean.iter().map(|m| m + 0.2).collect();
    x[2] = upper[2];
    let mut gradient = vec![0.0; n];
    let mut evaluator = density.evaluator();
    let value = evaluator.log_density_gradient(&x, &mut gradient).expect("finite");
    let mut polished = Polished { x, value, gradient, steps: 0, evaluations: 0 };
    polished.polish(&mut *evaluator, &bounds, &Settings { gradient_tolerance: 1e-8, ..Settings::default() });
    assert!(polished.projected_gradient(&bounds) <= 1e-8 && polished.value > value && polished.steps > 0);
    // The conditional mode given the coordinate at its bound.
    let free = [0, 1, 3, 4, 5];
    let block: Vec<f64> = free.iter().flat_map(|&i| free.map(|j| precision[i * n + j])).collect();
    let right: Vec<f64> = free.iter().map(|&i| 0.5 * precision[i * n + 2]).collect();
    for (&i, shift) in free.iter().zip(dense_solve(&block, &right)) {
        assert!((polished.x[i] - mean[i] - shift).abs() < 1e-7);
    }
    assert_eq!(polished.x[2], upper[2]);
}

#[test]
fn hessian_equals_the_analytic_one() {
    // -log density = cosh(x - y) + exp(z) - z + x^2/2.
    let function = |x: &[f64], g: &mut [f64]| {
        let d = x[0] - x[1];
        g[0] = -d.sinh() - x[0];
        g[1] = d.sinh();
        g[2] = 1.0 - x[2].exp();
        Ok(-d.cosh() - x[2].exp() + x[2] - 0.5 * x[0] * x[0])
    };
    let density = Density { dim: 3, function };
    let x = [0.3, -0.4, 0.9];
    let c = 0.7f64.cosh();
    let expected = [c + 1.0, -c, 0.0, -c, c, 0.0, 0.0, 0.0, 0.9f64.exp()];
    let (lower, upper) = unbounded(3);
    let free_space = Bounds { lower: &lower, upper: &upper };
    let found = negative_hessian(&mut *density.evaluator(), &x, &[0, 1, 2], &free_space, None).expect("finite");
    assert!(largest_difference(&found.matrix, &expected) < 1e-7 && found.asymmetry < 1e-7);
    // Close to bounds one side only is used, and the bound is never crossed.
    let guarded = Density {
        dim: 3,
        function: |x: &[f64], g: &mut [f64]| {
            if x[0] < 0.299_999 || x[2] > 0.900_001 {
                return Err(Rejection::NotFinite { value: f64::NAN });
            }
            function(x, g)
        },
    };
    let (lower, upper) = ([0.299_999, -1.0, -1.0], [1.0, 1.0, 0.900_001]);
    let near = Bounds { lower: &lower, upper: &upper };
    let found = negative_hessian(&mut *guarded.evaluator(), &x, &[0, 1, 2], &near, None).expect("finite");
    assert!(largest_difference(&found.matrix, &expected) < 1e-6);
}

#[test]
fn hessian_steps_adapt_to_narrow_and_wide_coordinates() {
    // -log density = sum cosh(x / s) has curvature 1 / s^2 at 0, and is far from quadratic beyond s.
    let sizes = [1e-7, 1.0, 1e4];
    let function = |x: &[f64], g: &mut [f64]| {
        let mut value = 0.0;
        for ((x, s), g) in x.iter().zip(sizes).zip(g.iter_mut()) {
            value -= (x / s).cosh();
            *g = -(x / s).sinh() / s;
        }
        Ok(value)
    };
    let density = Density { dim: 3, function };
    let (lower, upper) = unbounded(3);
    let found = laplace(&density, &[0.0; 3], &lower, &upper, None).expect("a strict maximum");
    for (error, size) in found.standard_errors.iter().zip(sizes) {
        assert!((error.expect("free") / size - 1.0).abs() < 1e-7, "{error:?} for {size}");
    }
}

#[test]
fn laplace_equals_the_analytic_covariance_over_eleven_orders_of_magnitude() {
    let n = 6;
    let sizes = [1e-6, 1e5, 1.0, 30.0, 1e-3, 0.1];
    let base = random_spd(17, n, 0.0);
    let precision: Vec<f64> = (0..n * n).map(|k| base[k] / (sizes[k / n] * sizes[k % n])).collect();
    let mean = vec![1.0, -2e5, 0.0, 100.0, 1.0, 3.0];
    let density = normal_density(precision.clone(), mean.clone(), 0.0);
    let (lower, upper) = unbounded(n);
    let found = laplace(&density, &mean, &lower, &upper, None).expect("a strict maximum");
    for i in 0..n {
        let mut unit = vec![0.0; n];
        unit[i] = 1.0;
        let column = dense_solve(&base, &unit);
        for j in 0..n {
            let expected = column[j] * sizes[i] * sizes[j];
            assert!((found.covariance[i * n + j] - expected).abs() < 1e-6 * sizes[i] * sizes[j]);
        }
        let error = found.standard_errors[i].expect("free");
        assert!((error / (column[i].sqrt() * sizes[i]) - 1.0).abs() < 1e-6);
    }
    assert_eq!(found.free, (0..n).collect::<Vec<_>>());
}

#[test]
fn laplace_leaves_out_coordinates_at_bounds() {
    let n = 3;
    let precision = random_spd(2, n, 0.0);
    let density = normal_density(precision.clone(), vec![0.0; n], 0.0);
    let (mut lower, upper) = unbounded(n);
    lower[1] = 0.0;
    let found = laplace(&density, &[0.0; 3], &lower, &upper, None).expect("a strict maximum");
    let (a, b, c) = (precision[0], precision[2], precision[8]);
    let det = a * c - b * b;
    assert_eq!(found.standard_errors[1], None);
    assert!((found.standard_errors[0].expect("free") - (c / det).sqrt()).abs() < 1e-8);
    assert!((found.standard_errors[2].expect("free") - (a / det).sqrt()).abs() < 1e-8);
    assert!((found.log_determinant - det.ln()).abs() < 1e-7);
    // Everything at a bound: nothing to approximate, and no failure.
    let found = laplace(&density, &[0.0; 3], &[0.0; 3], &upper, None).expect("empty");
    assert_eq!((found.standard_errors, found.log_determinant), (vec![None; 3], 0.0));
}

#[test]
fn laplace_names_the_direction_without_a_maximum() {
    let (lower, upper) = unbounded(3);
    let saddle = normal_density(vec![2.0, 0.0, 0.0, 0.0, -1.0, 0.0, 0.0, 0.0, 3.0], vec![0.0; 3], 0.0);
    let fault = laplace(&saddle, &[0.0; 3], &lower, &upper, None).expect_err("saddle");
    assert!(matches!(fault, LaplaceError::NotPositiveDefinite { coordinate: 1, pivot } if (pivot + 1.0).abs() < 1e-6));
    let tilted = normal_density(vec![1.0, 0.0, 0.0, 0.0, 1.0, 2.0, 0.0, 2.0, 1.0], vec![0.0; 3], 0.0);
    let fault = laplace(&tilted, &[0.0; 3], &lower, &upper, None).expect_err("saddle");
    assert!(matches!(fault, LaplaceError::NotPositiveDefinite { coordinate: 2, pivot } if (pivot + 3.0).abs() < 1e-6));
    let flat = normal_density(vec![1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0], vec![0.0; 3], 0.0);
    assert!(matches!(
        laplace(&flat, &[0.0; 3], &lower, &upper, None),
        Err(LaplaceError::NotPositiveDefinite { coordinate: 1, .. })
    ));
}

#[test]
fn laplace_refuses_a_ridge_that_only_rounding_makes_curved() {
    // Only x + y is informed; the rest stands for rounding in the gradient.
    let function = |x: &[f64], g: &mut [f64]| {
        let s = x[0] + x[1];
        g[0] = -s.sinh() - 1e-13 * (1e9 * x[0]).sin();
        g[1] = -s.sinh() - 1e-13 * (1e9 * x[1]).cos();
        Ok(-s.cosh())
    };
    let (lower, upper) = unbounded(2);
    let found = laplace(&Density { dim: 2, function }, &[0.4, -0.4], &lower, &upper, None);
    assert!(matches!(found, Err(LaplaceError::NotPositiveDefinite { .. })), "{found:?}");
}

#[test]
fn a_second_run_from_the_mode_is_converged() {
    let n = 8;
    let precision: Vec<f64> = random_spd(14, n, 1.0).iter().map(|a| 1e3 * a).collect();
    let density = normal_density(precision, normals(15, n), -3e6);
    let (lower, upper) = unbounded(n);
    let run = |start: Vec<f64>| {
        maximize(&density, &[start], &lower, &upper, &Settings::default(), 1).expect("usable").best().clone()
    };
    let first = run(vec![0.0; n]);
    let second = run(first.x.clone());
    assert!(first.is_certified() && first.termination.is_converged());
    assert!(second.is_certified() && second.termination.is_converged(), "{second:?}");
    assert!(largest_difference(&first.x, &second.x) < 1e-6 && second.evaluations < 100);
}

#[test]
fn laplace_refuses_what_it_cannot_do() {
    let wall = Density { dim: 1, function: |_: &[f64], _: &mut [f64]| Err(Rejection::NotFinite { value: f64::NAN }) };
    let (lower, upper) = unbounded(1);
    let Err(LaplaceError::Hessian(HessianError::Rejected { coordinate, step, rejection })) =
        laplace(&wall, &[0.0], &lower, &upper, None)
    else {
        panic!("the density is rejected everywhere");
    };
    assert_eq!(coordinate, 0);
    assert!(step < 1e-7 && matches!(rejection, Rejection::NotFinite { .. }));
    let stop = AtomicBool::new(true);
    let fine = normal_density(vec![1.0], vec![0.0], 0.0);
    let interrupted = laplace(&fine, &[0.0], &lower, &upper, Some(&stop));
    assert_eq!(interrupted, Err(LaplaceError::Hessian(HessianError::Interrupted)));
    assert!(matches!(
        laplace(&wall, &[0.0, 1.0], &lower, &upper, None),
        Err(LaplaceError::Argument(StartFault::Length { argument: "mode", expected: 1, found: 2 }))
    ));
    let large = Density {
        dim: 5000,
        function: |_: &[f64], g: &mut [f64]| {
            g.fill(0.0);
            Ok(0.0)
        },
    };
    let (lower, upper) = unbounded(5000);
    assert!(matches!(
        laplace(&large, &vec![0.0; 5000], &lower, &upper, None),
        Err(LaplaceError::TooLarge { free: 5000, limit: 4096 })
    ));
}
