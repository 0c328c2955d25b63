//! Tests of whole transitions and of warm-up; exactness by moments is in `moment_tests`.

use super::hamiltonian::{Hamiltonian, Point};
use super::tree::{Limits, Tree};
use super::*;
use crate::graph::Rejection;
use crate::infer::adapt::Directions;
use crate::infer::test_densities::{Custom, Gaussian, Quartic};
use rand::SeedableRng;

fn rng(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

fn evaluated(h: &mut Hamiltonian, position: &[f64]) -> Point {
    let mut point = Point::blank(position.len());
    point.position.copy_from_slice(position);
    h.evaluate(&mut point).unwrap();
    point
}

#[test]
fn iterative_tree_equals_the_recursive_twin() {
    let h = 0.5f64.sqrt();
    let wide = Directions { rows: vec![h, h], variances: vec![3.0] };
    let densities: [(&dyn LogDensity, Metric); 5] = [
        (&Gaussian::correlated(0.95), Metric::low_rank(vec![1.0, 1.5], wide).unwrap()),
        (&Gaussian::correlated(0.95), Metric::dense(vec![1.0, 0.4, 0.4, 2.0], 2).unwrap()),
        (&Quartic { dim: 3 }, Metric::identity(MetricKind::Diagonal, 3)),
        (&Gaussian::standard(1), Metric::diagonal(vec![0.7]).unwrap()),
        (&Gaussian::with_sds(&[0.1, 1.0, 3.0]), Metric::identity(MetricKind::Dense, 3)),
    ];
    for (case, (density, metric)) in densities.into_iter().enumerate() {
        for (step, max_depth) in [(0.07, 10), (0.5, 10), (1.4, 10), (2.1, 10), (0.02, 4)] {
            let mut h = Hamiltonian::new(density.evaluator(), metric.clone());
            let mut slow_h = Hamiltonian::new(density.evaluator(), metric.clone());
            let mut current = evaluated(&mut h, &vec![0.4; density.dim()]);
            let mut tree = Tree::new(current.clone());
            let (mut a, mut b) = (rng(case as u64), rng(case as u64));
            let limits = Limits { max_depth, max_energy_error: 1000.0 };
            for i in 0..300 {
                let outcome = tree.transition(&mut h, step, limits, &mut a);
                let (next, acceptance, depth) = twin::transition(&mut slow_h, &current, step, max_depth, &mut b);
                assert_eq!(outcome.depth, depth, "case {case}, step {step}, transition {i}");
                assert!((outcome.acceptance - acceptance).abs() < 1e-12);
                assert_eq!(tree.current().position, next.position, "case {case}, step {step}, transition {i}");
                current = next;
            }
        }
    }
}

#[test]
fn same_seed_same_draws_and_other_seed_other_draws() {
    let density = Gaussian::correlated(0.5);
    let settings = Settings { warmup: 200, draws: 50, ..Settings::default() };
    let draws = |seed: u64| {
        let mut chain = Chain::new(&density, &[0.1, 0.2], settings.clone(), rng(seed)).unwrap();
        let mut out = Vec::new();
        while !chain.is_finished() {
            let t = chain.step();
            out.push((chain.position().to_vec(), t));
        }
        out
    };
    assert_eq!(draws(3), draws(3));
    assert_ne!(draws(3), draws(4));
}

#[test]
fn a_chain_can_move_to_another_thread() {
    fn assert_send<T: Send>() {}
    assert_send::<Chain>();
}

#[test]
fn transitions_tell_the_truth() {
    let density = Gaussian::standard(3);
    let settings = Settings { warmup: 100, draws: 60, ..Settings::default() };
    let calls = std::sync::atomic::AtomicU32::new(0);
    let counted = Custom {
        dim: 3,
        function: |x: &[f64], g: &mut [f64]| {
            calls.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            density.evaluator().log_density_gradient(x, g)
        },
    };
    let mut chain = Chain::new(&counted, &[1.0, 0.0, -1.0], settings, rng(1)).unwrap();
    let mut leapfrogs = 0;
    let mut diverged = 0;
    for i in 0..160 {
        assert_eq!(chain.completed(), i);
        assert!(!chain.is_finished());
        let step_size = chain.step_size();
        let t = chain.step();
        leapfrogs += t.leapfrogs;
        diverged += usize::from(t.divergence.is_some());
        assert_eq!(t.phase, if i < 100 { Phase::Warmup } else { Phase::Sampling });
        assert_eq!(t.step_size, step_size);
        assert_eq!(t.log_density, chain.log_density());
        assert!((t.log_density + 0.5 * chain.position().iter().map(|x| x * x).sum::<f64>()).abs() < 1e-14);
        assert!(t.energy > 0.0 && (0.0..=1.0).contains(&t.acceptance));
        if i > 100 {
            assert!(t.acceptance > 0.0 && t.divergence.is_none() && !t.max_depth_reached);
            assert!(t.leapfrogs >= (1 << t.depth) - 1 && t.leapfrogs < 2 << t.depth, "{t:?}");
            assert_eq!(t.step_size, step_size);
        }
    }
    assert!(chain.is_finished());
    assert_eq!(leapfrogs, calls.load(std::sync::atomic::Ordering::Relaxed));
    assert_eq!(chain.warmup_faults(), WarmupFaults { divergences: diverged, ..WarmupFaults::default() });
}

#[test]
fn energy_is_the_hamiltonian_of_the_refreshed_start() {
    // In d dimensions the energy of a standard normal, kinetic part included, is half a chi-square with 2d degrees.
    let density = Gaussian::standard(4);
    let settings = Settings { warmup: 200, draws: 4000, ..Settings::default() };
    let mut chain = Chain::new(&density, &[0.5; 4], settings, rng(2)).unwrap();
    let mut sum = 0.0;
    let mut n = 0.0;
    while !chain.is_finished() {
        let t = chain.step();
        if t.phase == Phase::Sampling {
            sum += t.energy;
            n += 1.0;
        }
    }
    // Mean 4, standard deviation 2; the draws are nearly independent, so six plain standard errors are generous.
    assert!((sum / n - 4.0f64).abs() < 6.0 * 2.0 / f64::sqrt(n), "{}", sum / n);
}

/// Dual averaging holds the mean acceptance of the iterations it controls at the target. The averaged step that is used
/// afterwards accepts more (0.9 for 0.8 on a normal), since acceptance falls off faster above it than it rises below.
#[test]
fn warmup_holds_the_target_acceptance() {
    for (density, dim) in [(&Gaussian::standard(10) as &dyn LogDensity, 10), (&Quartic { dim: 5 }, 5)] {
        for target in [0.6, 0.8, 0.95] {
            let settings = Settings { warmup: 4000, draws: 1000, target_accept: target, ..Settings::default() };
            let mut chain = Chain::new(density, &vec![0.3; dim], settings, rng(7)).unwrap();
            // One long stretch of dual averaging, from 1200 to 3400, though the metric still moves a little.
            let (mut warm, mut sampled) = (Vec::new(), Vec::new());
            while !chain.is_finished() {
                let iteration = chain.completed();
                let t = chain.step();
                if t.phase == Phase::Sampling {
                    sampled.push(t.acceptance);
                } else if (1700..3400).contains(&iteration) {
                    warm.push(t.acceptance);
                }
            }
            let mean = |x: &[f64]| x.iter().sum::<f64>() / x.len() as f64;
            assert!((mean(&warm) - target).abs() < 0.03, "target {target}, d {dim}: {}", mean(&warm));
            assert!(mean(&sampled) > target - 0.03, "target {target}, d {dim}: {}", mean(&sampled));
        }
    }
}

#[test]
fn warmup_finds_the_scales_of_an_ill_scaled_normal() {
    let sds = [1e-3, 1.0, 1e3];
    let density = Gaussian::with_sds(&sds);
    for kind in [MetricKind::Diagonal, MetricKind::LowRank, MetricKind::Dense] {
        let settings = Settings { warmup: 1000, draws: 200, metric: kind, ..Settings::default() };
        let mut chain = Chain::new(&density, &[1e-3, 1.0, 1e3], settings, rng(5)).unwrap();
        let mut sampling_leapfrogs = 0;
        while !chain.is_finished() {
            let t = chain.step();
            if t.phase == Phase::Sampling {
                sampling_leapfrogs += t.leapfrogs;
            }
        }
        let w = chain.metric().inverse_mass();
        let stride = if kind == MetricKind::Dense { 4 } else { 1 };
        for (i, sd) in sds.iter().enumerate() {
            let ratio = w[i * stride] / (sd * sd);
            assert!((0.6..1.7).contains(&ratio), "{kind:?} {i}: {ratio}");
        }
        assert!(sampling_leapfrogs < 200 * 64, "{kind:?}: {sampling_leapfrogs}");
    }
}

#[test]
fn warmup_learns_the_correlation() {
    let density = Gaussian::correlated(0.95);
    for metric in [MetricKind::Dense, MetricKind::LowRank] {
        let settings = Settings { warmup: 1000, draws: 0, metric, ..Settings::default() };
        let mut chain = Chain::new(&density, &[0.5, -0.5], settings, rng(8)).unwrap();
        while !chain.is_finished() {
            chain.step();
        }
        let (mut first, mut second) = ([0.0; 2], [0.0; 2]);
        chain.metric().velocity(&[1.0, 0.0], &mut first);
        chain.metric().velocity(&[0.0, 1.0], &mut second);
        let rho = first[1] / (first[0] * second[1]).sqrt();
        assert!((rho - 0.95).abs() < 0.03, "{metric:?}: {rho}");
        assert!((first[1] - second[0]).abs() < 1e-12);
    }
}

/// From five hundred standard deviations away the chain arrives, with the right scale, in a few transitions.
#[test]
fn a_far_start_on_a_narrow_posterior_is_found_cheaply() {
    let density = Gaussian::with_sds(&[1e-3, 1.0, 2e-3]);
    for metric in [MetricKind::Diagonal, MetricKind::LowRank, MetricKind::Dense] {
        let settings = Settings { warmup: 300, draws: 100, metric, ..Settings::default() };
        let mut chain = Chain::new(&density, &[0.5, -0.5, 1.0], settings, rng(8)).unwrap();
        let mut warmup_leapfrogs = 0;
        while chain.is_warmup() {
            warmup_leapfrogs += chain.step().leapfrogs;
        }
        while !chain.is_finished() {
            assert!(chain.step().log_density > -20.0, "{metric:?}");
        }
        assert!(warmup_leapfrogs < 6000, "{metric:?}: {warmup_leapfrogs}");
    }
}

#[test]
fn zero_warmup_and_zero_draws_are_fine() {
    let density = Gaussian::standard(2);
    let none = Settings { warmup: 0, draws: 0, ..Settings::default() };
    assert!(Chain::new(&density, &[0.0, 0.0], none.clone(), rng(1)).unwrap().is_finished());
    for warmup in [0, 1, 5, 19, 20, 30] {
        let settings = Settings { warmup, draws: 20, ..none.clone() };
        let mut chain = Chain::new(&density, &[0.0, 0.0], settings, rng(1)).unwrap();
        while !chain.is_finished() {
            chain.step();
        }
        assert!(chain.position().iter().all(|x| x.is_finite()));
        assert!(chain.step_size() > 1e-3 && chain.step_size() < 1e3, "{warmup}: {}", chain.step_size());
    }
}

#[test]
fn unusable_starts_and_settings_are_refused_with_facts() {
    let density = Gaussian::standard(2);
    let refuse = |density: &dyn LogDensity, start: &[f64], settings: Settings| {
        Chain::new(density, start, settings, rng(1)).err()
    };
    let s = Settings::default;
    assert_eq!(refuse(&Gaussian::standard(0), &[], s()), Some(StartError::NoCoordinates));
    assert_eq!(refuse(&density, &[0.0], s()), Some(StartError::Length { expected: 2, found: 1 }));
    assert!(matches!(
        refuse(&density, &[0.0, f64::NAN], s()),
        Some(StartError::Coordinate { index: 1, value }) if value.is_nan()
    ));
    for (settings, name) in [
        (Settings { target_accept: 1.0, ..s() }, "target_accept"),
        (Settings { target_accept: f64::NAN, ..s() }, "target_accept"),
        (Settings { max_depth: 0, ..s() }, "max_depth"),
        (Settings { max_depth: 21, ..s() }, "max_depth"),
        (Settings { max_energy_error: 0.0, ..s() }, "max_energy_error"),
        (Settings { max_energy_error: f64::INFINITY, ..s() }, "max_energy_error"),
    ] {
        assert!(
            matches!(refuse(&density, &[0.0; 2], settings), Some(StartError::Setting { name: n, .. }) if n == name)
        );
    }
    let outside = Custom { dim: 1, function: |_: &[f64], _: &mut [f64]| Ok(f64::NEG_INFINITY) };
    assert_eq!(refuse(&outside, &[0.0], s()), Some(StartError::OutsideSupport));
    let infinite = Custom { dim: 1, function: |_: &[f64], _: &mut [f64]| Ok(f64::INFINITY) };
    assert_eq!(
        refuse(&infinite, &[0.0], s()),
        Some(StartError::Rejected(Rejection::NotFinite { value: f64::INFINITY }))
    );
    let steep = Custom {
        dim: 1,
        function: |_: &[f64], g: &mut [f64]| {
            g[0] = f64::INFINITY;
            Ok(0.0)
        },
    };
    assert_eq!(
        refuse(&steep, &[0.0], s()),
        Some(StartError::Rejected(Rejection::Gradient { index: 0, value: f64::INFINITY }))
    );
}

#[test]
fn a_density_that_rejects_all_but_the_start_ends_and_says_so() {
    let failure = Rejection::Factorisation { pivot: 2, size: 5, value: -1.0 };
    let density = Custom {
        dim: 2,
        function: |x: &[f64], g: &mut [f64]| {
            g.fill(1.0);
            if x == [0.5, 0.5] { Ok(0.0) } else { Err(failure.clone()) }
        },
    };
    let settings = Settings { warmup: 300, draws: 20, ..Settings::default() };
    let mut chain = Chain::new(&density, &[0.5, 0.5], settings, rng(1)).unwrap();
    while !chain.is_finished() {
        let t = chain.step();
        let divergence = t.divergence.unwrap();
        assert_eq!(divergence.rejection, Some(failure.clone()));
        assert_eq!(divergence.start, [0.5, 0.5]);
        assert_ne!(divergence.end, [0.5, 0.5]);
        assert_eq!(divergence.energy_error, f64::INFINITY);
        assert_eq!((t.depth, t.acceptance, t.max_depth_reached), (0, 0.0, false));
        assert_eq!(chain.position(), [0.5, 0.5]);
    }
    let faults = chain.warmup_faults();
    assert_eq!(faults.divergences, 300);
    assert_eq!(faults.consecutive_divergences, 300);
    assert!(faults.step_size_collapses > 0);
}

#[test]
fn values_outside_the_support_and_nan_are_divergences_without_a_leak() {
    // Exponential with rate 1 on x > 0; beyond it -inf with a NaN gradient, or NaN itself.
    for outside in [f64::NEG_INFINITY, f64::NAN] {
        let density = Custom {
            dim: 1,
            function: |x: &[f64], g: &mut [f64]| {
                g[0] = if x[0] > 0.0 { -1.0 } else { f64::NAN };
                Ok(if x[0] > 0.0 { -x[0] } else { outside })
            },
        };
        let settings = Settings { warmup: 300, draws: 300, ..Settings::default() };
        let mut chain = Chain::new(&density, &[1.0], settings, rng(2)).unwrap();
        let mut divergences = 0;
        while !chain.is_finished() {
            let t = chain.step();
            assert!(chain.position()[0] > 0.0 && t.log_density.is_finite());
            assert!(t.acceptance.is_finite() && t.energy.is_finite());
            if let Some(d) = t.divergence {
                divergences += 1;
                assert!(d.start[0] > 0.0 && d.end[0] <= 0.0);
                assert_eq!(d.energy_error, f64::INFINITY);
                assert_eq!(d.rejection.is_some(), outside.is_nan());
            }
        }
        assert!(divergences > 0);
    }
}

#[test]
fn a_flat_density_stops_at_the_largest_step_and_the_depth_limit() {
    let density = Custom {
        dim: 1,
        function: |_: &[f64], g: &mut [f64]| {
            g[0] = 0.0;
            Ok(0.0)
        },
    };
    let settings = Settings { warmup: 0, draws: 10, max_depth: 3, ..Settings::default() };
    let mut chain = Chain::new(&density, &[0.0], settings, rng(3)).unwrap();
    assert_eq!(chain.warmup_faults().step_size_explosions, 1);
    assert_eq!(chain.step_size(), MAX_STEP);
    let first = chain.step();
    let second = chain.step();
    assert!(first.max_depth_reached && second.max_depth_reached);
    assert_eq!((second.depth, second.leapfrogs), (3, 7));
}

/// The pool needs at most three points per level of the tree and a few more: it does not grow with the trajectory.
#[test]
fn memory_is_bounded_by_the_depth() {
    let density = Gaussian::standard(2);
    let mut h = Hamiltonian::new(density.evaluator(), Metric::identity(MetricKind::Diagonal, 2));
    let mut tree = Tree::new(evaluated(&mut h, &[0.5, 0.5]));
    let mut r = rng(4);
    let limits = Limits { max_depth: 10, max_energy_error: 1000.0 };
    let full = (0..20).filter(|_| tree.transition(&mut h, 1e-3, limits, &mut r).max_depth_reached).count();
    assert!(full > 10, "{full}");
    assert!(tree.points_allocated() <= 3 * 11 + 3, "{}", tree.points_allocated());
}
