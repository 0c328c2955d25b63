//! L-BFGS-B on problems whose minimiser is known or found another way, and its honesty where there is none.

use std::sync::atomic::{AtomicBool, Ordering};

use super::super::{Optimum, Settings, StartFault, Termination, minimize};
use super::{dense_solve, largest_difference, normals, random_spd, times, unbounded};
use crate::graph::Rejection;

fn tight() -> Settings<'static> {
    Settings { gradient_tolerance: 1e-9, value_tolerance: 0.0, stall_iterations: 10, ..Settings::default() }
}

/// x'Ax/2 - b'x.
fn quadratic<'a>(a: &'a [f64], b: &'a [f64]) -> impl FnMut(&[f64], &mut [f64]) -> Result<f64, Rejection> + 'a {
    move |x, g| {
        let ax = times(a, x);
        let mut value = 0.0;
        for i in 0..x.len() {
            g[i] = ax[i] - b[i];
            value += x[i] * (0.5 * ax[i] - b[i]);
        }
        Ok(value)
    }
}

fn rosenbrock(x: &[f64], g: &mut [f64]) -> Result<f64, Rejection> {
    g.fill(0.0);
    let mut value = 0.0;
    for i in 0..x.len() - 1 {
        let (a, b) = (1.0 - x[i], x[i + 1] - x[i] * x[i]);
        value += a * a + 100.0 * b * b;
        g[i] += -2.0 * a - 400.0 * x[i] * b;
        g[i + 1] += 200.0 * b;
    }
    Ok(value)
}

#[test]
fn quadratic_without_bounds_equals_the_direct_solution() {
    for (n, memory) in [(1, 10), (2, 3), (30, 10), (30, 50)] {
        let a = random_spd(n as u64, n, 1.0);
        let b = normals(77, n);
        let (lower, upper) = unbounded(n);
        let settings = Settings { memory, ..tight() };
        let optimum = minimize(&mut quadratic(&a, &b), &vec![3.0; n], &lower, &upper, &settings);
        assert_eq!(optimum.termination, Termination::GradientTolerance);
        assert!(optimum.projected_gradient <= 1e-9 && optimum.is_certified());
        assert!(largest_difference(&optimum.x, &dense_solve(&a, &b)) < 1e-8, "n = {n}");
        assert!(optimum.active.is_empty());
    }
}

#[test]
fn rosenbrock_reaches_its_minimum_with_a_bounded_number_of_evaluations() {
    for (n, evaluations) in [(2, 60), (20, 250)] {
        let start: Vec<f64> = (0..n).map(|i| if i % 2 == 0 { -1.2 } else { 1.0 }).collect();
        let (lower, upper) = unbounded(n);
        let optimum = minimize(&mut rosenbrock, &start, &lower, &upper, &Settings::default());
        assert!(optimum.termination.is_converged());
        assert!(optimum.evaluations <= evaluations, "{} evaluations", optimum.evaluations);
        assert!(largest_difference(&optimum.x, &vec![1.0; n]) < 1e-5);
    }
}

#[test]
fn rosenbrock_in_a_box_stops_at_the_bound() {
    // With x0 <= 0.5 the minimiser is (0.5, 0.25).
    let optimum =
        minimize(&mut rosenbrock, &[-1.2, 1.0], &[f64::NEG_INFINITY; 2], &[0.5, f64::INFINITY], &Settings::default());
    assert!(optimum.termination.is_converged());
    assert_eq!(optimum.x[0], 0.5);
    assert!((optimum.x[1] - 0.25).abs() < 1e-7);
    assert_eq!(optimum.active, vec![0]);
}

/// The KKT point of a strictly convex quadratic in a box, by trying every active set.
fn enumerate_active_sets(a: &[f64], b: &[f64], lower: &[f64], upper: &[f64]) -> Vec<f64> {
    let n = b.len();
    for code in 0..3usize.pow(n as u32) {
        let kind = |i: usize| code / 3usize.pow(i as u32) % 3;
        let free: Vec<usize> = (0..n).filter(|&i| kind(i) == 0).collect();
        let mut x: Vec<f64> = (0..n)
            .map(|i| match kind(i) {
                1 => lower[i],
                2 => upper[i],
                _ => 0.0,
            })
            .collect();
        let rest: Vec<f64> = times(a, &x).iter().zip(b).map(|(ax, b)| b - ax).collect();
        let block: Vec<f64> = free.iter().flat_map(|&i| free.iter().map(move |&j| a[i * n + j])).collect();
        let right: Vec<f64> = free.iter().map(|&i| rest[i]).collect();
        for (&i, value) in free.iter().zip(dense_solve(&block, &right)) {
            x[i] = value;
        }
        let gradient: Vec<f64> = times(a, &x).iter().zip(b).map(|(ax, b)| ax - b).collect();
        let is_solution = (0..n).all(|i| match kind(i) {
            1 => gradient[i] >= 0.0,
            2 => gradient[i] <= 0.0,
            _ => lower[i] <= x[i] && x[i] <= upper[i],
        });
        if is_solution {
            return x;
        }
    }
    panic!("a strictly convex quadratic has a minimiser in every box")
}

#[test]
fn small_quadratics_in_a_box_equal_the_enumeration_of_active_sets() {
    let n = 6;
    let mut bound_counts = [0; 7];
    for seed in 0..60 {
        let a = random_spd(seed + 1, n, 1.0);
        let b: Vec<f64> = normals(seed + 200, n).iter().map(|b| 10.0 * b).collect();
        let lower: Vec<f64> = normals(seed + 300, n).iter().map(|l| -l.abs()).collect();
        let upper: Vec<f64> = normals(seed + 400, n).iter().map(|u| u.abs()).collect();
        let twin = enumerate_active_sets(&a, &b, &lower, &upper);
        let optimum = minimize(&mut quadratic(&a, &b), &vec![0.1; n], &lower, &upper, &tight());
        assert!(optimum.projected_gradient < 1e-6, "seed {seed}: {:?}", optimum.termination);
        assert!(largest_difference(&optimum.x, &twin) < 1e-7, "seed {seed}");
        let active: Vec<usize> = (0..n).filter(|&i| twin[i] == lower[i] || twin[i] == upper[i]).collect();
        assert_eq!(optimum.active, active, "seed {seed}");
        assert!(active.iter().all(|&i| optimum.x[i] == twin[i]), "bounds are met exactly");
        bound_counts[active.len()] += 1;
    }
    assert!(bound_counts.iter().filter(|count| **count > 0).count() >= 4, "{bound_counts:?}");
}

#[test]
fn larger_quadratic_in_a_box_equals_slow_projected_gradients() {
    let n = 60;
    let a = random_spd(5, n, 0.0);
    let b: Vec<f64> = normals(6, n).iter().map(|b| 20.0 * b).collect();
    let (lower, upper) = (vec![-0.2; n], vec![0.3; n]);
    let trace: f64 = (0..n).map(|i| a[i * n + i]).sum();
    let mut twin = vec![0.0; n];
    for _ in 0..60_000 {
        let ax = times(&a, &twin);
        for i in 0..n {
            twin[i] = (twin[i] - (ax[i] - b[i]) * 4.0 / trace).clamp(lower[i], upper[i]);
        }
    }
    let optimum = minimize(&mut quadratic(&a, &b), &vec![0.0; n], &lower, &upper, &tight());
    assert!(largest_difference(&optimum.x, &twin) < 1e-7);
    assert!((5..n - 5).contains(&optimum.active.len()));
}

#[test]
fn twenty_thousand_coordinates_with_and_without_bounds() {
    // sum c_i (x_i - t_i)^2 / 2 + coupling of neighbours, with its minimum at t in the interior.
    let n = 20_000;
    let target = normals(9, n);
    let mut chain = |x: &[f64], g: &mut [f64]| -> Result<f64, Rejection> {
        g.fill(0.0);
        let mut value = 0.0;
        for i in 0..n {
            let e = x[i] - target[i];
            let c = 1.0 + (i % 7) as f64;
            value += 0.5 * c * e * e + 0.25 * e.powi(4);
            g[i] += c * e + e.powi(3);
            if i > 0 {
                let d = e - (x[i - 1] - target[i - 1]);
                value += 0.5 * d * d;
                g[i] += d;
                g[i - 1] -= d;
            }
        }
        Ok(value)
    };
    let (lower, upper) = unbounded(n);
    let optimum = minimize(&mut chain, &vec![0.0; n], &lower, &upper, &Settings::default());
    assert!(optimum.termination.is_converged() && optimum.evaluations < 100);
    assert!(largest_difference(&optimum.x, &target) < 1e-5);
    let (lower, upper) = (vec![-0.5; n], vec![0.8; n]);
    let optimum = minimize(&mut chain, &vec![0.0; n], &lower, &upper, &Settings::default());
    assert!(optimum.termination.is_converged() && optimum.is_certified() && optimum.evaluations < 100);
    assert!(optimum.active.len() > n / 4);
}

#[test]
fn logistic_regression_equals_plain_newton() {
    let (rows, n) = (200, 4);
    let design = normals(31, rows * n);
    let noise = normals(32, rows);
    let y: Vec<f64> =
        (0..rows).map(|r| f64::from(u8::from(design[r * n] - 0.5 * design[r * n + 1] + noise[r] > 0.2))).collect();
    let derivatives = |x: &[f64]| {
        let (mut value, mut g, mut h) = (0.0, x.to_vec(), vec![0.0; n * n]);
        value += 0.5 * x.iter().map(|x| x * x).sum::<f64>();
        for i in 0..n {
            h[i * n + i] = 1.0;
        }
        for r in 0..rows {
            let row = &design[r * n..(r + 1) * n];
            let eta: f64 = row.iter().zip(x).map(|(a, b)| a * b).sum();
            let p = 1.0 / (1.0 + (-eta).exp());
            value += eta.max(0.0) + (-eta.abs()).exp().ln_1p() - y[r] * eta;
            for i in 0..n {
                g[i] += (p - y[r]) * row[i];
                for j in 0..n {
                    h[i * n + j] += p * (1.0 - p) * row[i] * row[j];
                }
            }
        }
        (value, g, h)
    };
    let mut newton = vec![0.0; n];
    for _ in 0..30 {
        let (_, g, h) = derivatives(&newton);
        for (x, step) in newton.iter_mut().zip(dense_solve(&h, &g)) {
            *x -= step;
        }
    }
    let mut objective = |x: &[f64], gradient: &mut [f64]| -> Result<f64, Rejection> {
        let (value, g, _) = derivatives(x);
        gradient.copy_from_slice(&g);
        Ok(value)
    };
    let (lower, upper) = unbounded(n);
    let optimum = minimize(&mut objective, &vec![1.0; n], &lower, &upper, &Settings::default());
    assert!(optimum.termination.is_converged());
    assert!(largest_difference(&optimum.x, &newton) < 1e-6);
}

/// Rosenbrock in x / scale, in a box.
fn scaled_rosenbrock(scale: &[f64], given: Option<&[f64]>) -> Optimum {
    let mut objective = |x: &[f64], g: &mut [f64]| {
        let inner: Vec<f64> = x.iter().zip(scale).map(|(x, s)| x / s).collect();
        let value = rosenbrock(&inner, g)?;
        for (g, s) in g.iter_mut().zip(scale) {
            *g /= s;
        }
        Ok(value)
    };
    let place = |value: f64| scale.iter().map(|s| value * s).collect::<Vec<f64>>();
    let settings = Settings { scale: given, gradient_tolerance: 0.0, value_tolerance: 1e-14, ..Settings::default() };
    minimize(&mut objective, &place(-1.0), &place(-2.0), &place(0.75), &settings)
}

#[test]
fn scaling_coordinates_does_not_change_the_path_when_the_scale_is_given() {
    let plain = scaled_rosenbrock(&[1.0; 4], None);
    // Powers of two scale without rounding, so every number agrees.
    let scale = [1024.0, 2f64.powi(-12), 1.0, 2f64.powi(20)];
    let scaled = scaled_rosenbrock(&scale, Some(&scale));
    assert_eq!(scaled.value, plain.value);
    assert_eq!((scaled.iterations, scaled.evaluations), (plain.iterations, plain.evaluations));
    let back: Vec<f64> = scaled.x.iter().zip(&scale).map(|(x, s)| x / s).collect();
    assert_eq!(back, plain.x);
    assert_eq!(plain.x[0], 0.75);
    // Any other scale agrees to rounding.
    let scale = [1e3, 3e-5, 0.7, 1e6];
    let scaled = scaled_rosenbrock(&scale, Some(&scale));
    let back: Vec<f64> = scaled.x.iter().zip(&scale).map(|(x, s)| x / s).collect();
    assert!(largest_difference(&back, &plain.x) < 1e-6);
    assert_eq!(scaled.x[0], 0.75 * scale[0], "a bound is met exactly");
}

/// (x - centre)^2, rejected below 0.1.
fn walled(centre: f64, start: f64, settings: &Settings) -> (Optimum, usize) {
    let mut rejected = 0;
    let mut objective = |x: &[f64], g: &mut [f64]| {
        if x[0] < 0.1 {
            rejected += 1;
            return Err(Rejection::Factorisation { pivot: 3, size: 5, value: -1.0 });
        }
        g[0] = 100.0 * (x[0] - centre);
        Ok(50.0 * (x[0] - centre).powi(2))
    };
    let optimum = minimize(&mut objective, &[start], &[f64::NEG_INFINITY], &[f64::INFINITY], settings);
    (optimum, rejected)
}

#[test]
fn rejected_region_is_backed_out_of() {
    let (optimum, rejected) = walled(0.11, 0.5, &Settings::default());
    assert!(rejected > 0, "the test must meet the wall");
    assert_eq!(optimum.termination, Termination::GradientTolerance);
    assert!((optimum.x[0] - 0.11).abs() < 1e-7);
}

#[test]
fn creeping_up_to_a_wall_is_not_convergence() {
    // By the line search giving up, and by the value stalling.
    for (value_tolerance, stall_iterations) in [(1e-12, 5), (1e-2, 1)] {
        let settings = Settings { value_tolerance, stall_iterations, ..Settings::default() };
        let (optimum, _) = walled(-1.0, 5.0, &settings);
        let Termination::LineSearchFailed { facts } = &optimum.termination else {
            panic!("{:?}", optimum.termination);
        };
        assert_eq!(facts.rejection, Some(Rejection::Factorisation { pivot: 3, size: 5, value: -1.0 }));
        assert!(facts.rejections > 0 && facts.slope < 0.0);
        assert!(!optimum.termination.is_converged() && !optimum.is_certified());
        assert!(optimum.x[0] >= 0.1 && optimum.x[0] < 0.12);
        assert!(optimum.evaluations < 2_000);
    }
}

#[test]
fn a_gradient_of_rounding_alone_is_convergence_only_below_the_certificate() {
    for (residue, converged) in [(5e-4, true), (5e-3, false)] {
        let mut objective = |_: &[f64], g: &mut [f64]| {
            g[0] = residue;
            Ok(1.0)
        };
        let optimum = minimize(&mut objective, &[2.0], &[f64::NEG_INFINITY], &[f64::INFINITY], &Settings::default());
        assert_eq!(optimum.termination.is_converged(), converged, "{:?}", optimum.termination);
    }
}

#[test]
fn not_a_number_and_infinity_count_as_walls() {
    for bad in [f64::NAN, f64::INFINITY] {
        for in_gradient in [false, true] {
            let mut objective = |x: &[f64], g: &mut [f64]| {
                g[0] = 2.0 * (x[0] - 1.0);
                let value = (x[0] - 1.0).powi(2);
                if x[0] >= 0.5 {
                    return Ok(value);
                }
                if in_gradient {
                    g[0] = bad;
                }
                Ok(if in_gradient { value } else { bad })
            };
            let optimum =
                minimize(&mut objective, &[50.0], &[f64::NEG_INFINITY], &[f64::INFINITY], &Settings::default());
            assert_eq!(optimum.termination, Termination::GradientTolerance);
            assert!((optimum.x[0] - 1.0).abs() < 1e-6);
        }
    }
}

#[test]
fn a_wrong_gradient_is_a_failed_line_search_with_facts() {
    let mut objective = |x: &[f64], g: &mut [f64]| {
        g[0] = -2.0 * x[0];
        Ok(x[0] * x[0])
    };
    let optimum = minimize(&mut objective, &[3.0], &[f64::NEG_INFINITY], &[f64::INFINITY], &Settings::default());
    let Termination::LineSearchFailed { facts } = &optimum.termination else {
        panic!("{:?}", optimum.termination);
    };
    assert_eq!((facts.value, facts.rejection.clone()), (9.0, None));
    assert!(facts.trials >= 10 && facts.smallest_step < 1e-3);
    assert_eq!(optimum.x, vec![3.0], "a failed search leaves the point where it was");
}

#[test]
fn unbounded_objectives_end() {
    let mut linear = |x: &[f64], g: &mut [f64]| {
        g.fill(-1.0);
        Ok(-x.iter().sum::<f64>())
    };
    let (lower, upper) = unbounded(3);
    let optimum = minimize(&mut linear, &[0.0; 3], &lower, &upper, &Settings::default());
    assert!(matches!(optimum.termination, Termination::Unbounded { value, .. } if value < -1e10));
    assert!(optimum.evaluations < 200 && !optimum.termination.is_converged());

    // A scale parameter exp(u) with nothing to spread: 8 log scale falls until exp(u) is zero and its log -inf.
    let mut collapsing = |x: &[f64], g: &mut [f64]| {
        g[0] = 8.0;
        Ok(8.0 * x[0].exp().ln())
    };
    let optimum = minimize(&mut collapsing, &[0.0], &[f64::NEG_INFINITY], &[f64::INFINITY], &Settings::default());
    assert!(
        matches!(optimum.termination, Termination::Unbounded { value: f64::NEG_INFINITY, .. }),
        "{:?}",
        optimum.termination
    );
    assert!(optimum.value.is_finite() && optimum.evaluations < 2_000);

    // The same with a bound has its minimum there.
    let optimum = minimize(&mut collapsing, &[0.0], &[-20.0], &[f64::INFINITY], &Settings::default());
    assert_eq!((optimum.x[0], optimum.termination.clone()), (-20.0, Termination::GradientTolerance));
}

#[test]
fn limits_and_interrupts_are_terminations() {
    let (lower, upper) = unbounded(2);
    let run = |settings: &Settings| minimize(&mut rosenbrock, &[-1.2, 1.0], &lower, &upper, settings);
    let few = run(&Settings { max_iterations: 3, ..Settings::default() });
    assert_eq!((few.iterations, few.termination), (3, Termination::IterationLimit));
    let few = run(&Settings { max_evaluations: 5, ..Settings::default() });
    assert_eq!((few.evaluations, few.termination), (5, Termination::EvaluationLimit));
    let stop = AtomicBool::new(false);
    let mut calls = 0;
    let mut interrupting = |x: &[f64], g: &mut [f64]| {
        calls += 1;
        stop.store(calls >= 4, Ordering::Relaxed);
        rosenbrock(x, g)
    };
    let settings = Settings { stop: Some(&stop), ..Settings::default() };
    let stopped = minimize(&mut interrupting, &[-1.2, 1.0], &lower, &upper, &settings);
    assert_eq!((stopped.evaluations, stopped.termination), (4, Termination::Interrupted));
    assert!(stopped.value.is_finite());
}

#[test]
fn every_memory_size_gives_the_same_minimum_by_another_path() {
    let (lower, upper) = unbounded(10);
    let mut paths = Vec::new();
    for memory in [1, 5, 30] {
        let settings = Settings { memory, ..Settings::default() };
        let optimum = minimize(&mut rosenbrock, &[0.5; 10], &lower, &upper, &settings);
        assert!(largest_difference(&optimum.x, &[1.0; 10]) < 1e-4, "memory {memory}");
        paths.push(optimum.evaluations);
    }
    assert!(paths[0] != paths[1] && paths[1] != paths[2], "{paths:?}");
}

#[test]
fn unusable_starts_say_why() {
    let run = |x0: &[f64], lower: &[f64], upper: &[f64], scale: Option<&[f64]>| {
        let settings = Settings { scale, ..Settings::default() };
        let optimum = minimize(&mut rosenbrock, x0, lower, upper, &settings);
        match optimum.termination {
            Termination::StartRejected { fault } => fault,
            other => panic!("{other:?}"),
        }
    };
    let (lower, upper) = unbounded(2);
    assert!(matches!(run(&[0.0, f64::NAN], &lower, &upper, None), StartFault::Coordinate { index: 1, .. }));
    assert!(matches!(run(&[0.0, 0.0], &[0.0, 2.0], &[1.0, 1.0], None), StartFault::Bounds { index: 1, .. }));
    assert!(matches!(run(&[0.0, 0.0], &lower, &upper[..1], None), StartFault::Length { argument: "upper", .. }));
    let scale = [1.0, 0.0];
    assert_eq!(run(&[0.0, 0.0], &lower, &upper, Some(&scale)), StartFault::Scale { index: 1, value: 0.0 });

    let mut rejecting = |_: &[f64], _: &mut [f64]| Err(Rejection::NotFinite { value: f64::NAN });
    let optimum = minimize(&mut rejecting, &[1.0], &[0.0], &[2.0], &Settings::default());
    assert!(matches!(
        optimum.termination,
        Termination::StartRejected { fault: StartFault::Density(Rejection::NotFinite { .. }) }
    ));
    assert_eq!(optimum.evaluations, 1);
    assert!(!optimum.is_certified());
}

#[test]
fn a_start_outside_the_box_is_moved_in_and_fixed_coordinates_stay() {
    let optimum = minimize(&mut rosenbrock, &[-9.0, 9.0], &[2.0, 0.0], &[2.0, 3.5], &Settings::default());
    assert_eq!(optimum.x, vec![2.0, 3.5]);
    assert_eq!(optimum.termination, Termination::GradientTolerance);
    assert_eq!(optimum.active, vec![0, 1]);
}
