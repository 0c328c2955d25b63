//! Tests of whole transitions and of warm-up; exactness by moments is in `moment_tests`.

use super::*;
use crate::graph::Rejection;
use crate::infer::test_densities::{Custom, Gaussian, Quartic};
use rand::SeedableRng;
use std::sync::atomic::{AtomicU32, Ordering};

fn rng(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

fn finished<'a>(
    density: &'a dyn LogDensity,
    start: &[f64],
    settings: Settings,
    seed: u64,
) -> (Chain<'a>, Vec<Transition>) {
    let mut chain = Chain::new(density, start, settings, rng(seed)).unwrap();
    let mut out = Vec::new();
    while !chain.is_finished() {
        out.push(chain.step());
    }
    (chain, out)
}

fn variants() -> Vec<Settings> {
    let mut out = Vec::new();
    for integrator in [None, Some(Integrator::MinimalNorm), Some(Integrator::FourthOrder)] {
        for refresh in [Refresh::Full, Refresh::Langevin { ratio: 1.25 }] {
            for preconditioner in [PreconditionerKind::Diagonal, PreconditionerKind::LowRank] {
                out.push(Settings { integrator, refresh, preconditioner, ..Settings::default() });
            }
        }
    }
    out
}

#[test]
fn same_seed_same_draws_and_other_seed_other_draws() {
    let density = Gaussian::correlated(0.5);
    for settings in variants() {
        let settings = Settings { warmup: 200, draws: 50, ..settings };
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
}

#[test]
fn a_chain_can_move_to_another_thread() {
    fn assert_send<T: Send>() {}
    assert_send::<Chain>();
}

#[test]
fn transitions_tell_the_truth() {
    let density = Gaussian::standard(3);
    for settings in variants() {
        let calls = AtomicU32::new(0);
        let counted = Custom {
            dim: 3,
            function: |x: &[f64], g: &mut [f64]| {
                calls.fetch_add(1, Ordering::Relaxed);
                density.evaluator().log_density_gradient(x, g)
            },
        };
        let settings = Settings { warmup: 100, draws: 60, ..settings };
        let mut chain = Chain::new(&counted, &[1.0, 0.0, -1.0], settings, rng(1)).unwrap();
        let each = chain.integrator().coefficients().1.len() as u32;
        let (mut gradients, mut diverged) = (0, 0);
        for i in 0..160 {
            assert_eq!(chain.completed(), i);
            assert!(!chain.is_finished());
            let (step_size, before) = (chain.step_size(), chain.position().to_vec());
            let t = chain.step();
            gradients += t.gradients;
            diverged += usize::from(t.divergence.is_some());
            assert_eq!(t.phase, if i < 100 { Phase::Warmup } else { Phase::Sampling });
            assert_eq!(t.step_size, step_size);
            assert_eq!(t.log_density, chain.log_density());
            assert!((t.log_density + 0.5 * chain.position().iter().map(|x| x * x).sum::<f64>()).abs() < 1e-14);
            let told = (-t.energy_error).exp().min(1.0);
            assert!((t.acceptance - told).abs() < 1e-12 || (i < 100 && t.acceptance == 0.0));
            assert_eq!(t.accepted, chain.position() != before);
            if i >= 100 {
                assert!(t.divergence.is_none() && t.steps >= 1);
                assert_eq!(t.length, chain.length());
                assert_eq!(t.gradients, t.steps * each);
                assert_eq!(chain.step_size(), step_size);
            }
        }
        assert!(chain.is_finished());
        assert_eq!(gradients, calls.load(Ordering::Relaxed));
        let faults = chain.warmup_faults();
        assert_eq!(faults.divergences, diverged);
        assert_eq!((faults.step_size_collapses, faults.step_size_explosions, faults.metric_failures), (0, 0, 0));
    }
}

/// Dual averaging holds the mean acceptance of the transitions it controls at the target, at the trajectory length that
/// is used. The averaged step that is used afterwards accepts more.
#[test]
fn warmup_holds_the_target_acceptance() {
    for (density, dim) in [(&Gaussian::standard(10) as &dyn LogDensity, 10), (&Quartic { dim: 5 }, 5)] {
        for target_accept in [0.85, 0.9, 0.95] {
            let settings = Settings { warmup: 4000, draws: 2000, target_accept, ..Settings::default() };
            let (_, transitions) = finished(density, &vec![0.3; dim], settings, 7);
            let mean = |x: &[Transition]| x.iter().map(|t| t.acceptance).sum::<f64>() / x.len() as f64;
            // The last restart of the averaging is at 3400.
            let (warm, sampled) = (mean(&transitions[3500..4000]), mean(&transitions[4000..]));
            assert!((warm - target_accept).abs() < 0.04, "target {target_accept}, d {dim}: {warm}");
            assert!(sampled > target_accept - 0.03, "target {target_accept}, d {dim}: {sampled}");
        }
    }
}

#[test]
fn warmup_finds_the_scales_of_an_ill_scaled_normal() {
    let sds = [1e-3, 1.0, 1e3, 0.3, 30.0];
    let density = Gaussian::with_sds(&sds);
    for settings in variants() {
        let settings = Settings { warmup: 600, draws: 200, ..settings };
        let (chain, transitions) = finished(&density, &[0.5; 5], settings.clone(), 5);
        let p = chain.preconditioner();
        for (i, sd) in sds.iter().enumerate() {
            // Row i of S: its length is the standard deviation that the preconditioner sees.
            let mut e = [0.0; 5];
            e[i] = 1.0;
            let mut row = [0.0; 5];
            p.pull(&e, &mut row);
            let found = row.iter().map(|x| x * x).sum::<f64>().sqrt();
            assert!((0.6..2.0).contains(&(found / sd)), "{settings:?}: {found} for {sd}");
        }
        let steps = transitions[600..].iter().map(|t| f64::from(t.steps)).sum::<f64>() / 200.0;
        assert!(steps < 4.0, "{settings:?}: {steps} steps");
        // The start is 500 standard deviations away, which a path of unit speed has to walk.
        let steps = transitions[..600].iter().map(|t| f64::from(t.steps)).sum::<f64>() / 600.0;
        assert!(steps < 25.0, "{settings:?}: {steps} steps in warm-up");
    }
}

#[test]
fn a_low_rank_preconditioner_learns_the_correlation() {
    let density = Gaussian::correlated(0.99);
    let settings =
        Settings { warmup: 600, draws: 0, preconditioner: PreconditionerKind::LowRank, ..Settings::default() };
    let (chain, _) = finished(&density, &[0.5, -0.5], settings, 8);
    let p = chain.preconditioner();
    let zero = [0.0; 2];
    let (mut first, mut second) = (zero, zero);
    p.drift(&zero, &[1.0, 0.0], 1.0, &mut first);
    p.drift(&zero, &[0.0, 1.0], 1.0, &mut second);
    // Columns of S; S S' is the covariance.
    let covariance = |i: usize, j: usize| first[i] * first[j] + second[i] * second[j];
    for (i, j, expected) in [(0, 0, 1.0), (1, 1, 1.0), (0, 1, 0.99)] {
        assert!((covariance(i, j) - expected).abs() < 0.02, "{i} {j}: {}", covariance(i, j));
    }
}

/// With scales that cannot help, the length grows; where nothing is wrong it stays near 1.3 sqrt(d).
#[test]
fn the_length_is_tuned_to_the_widest_direction() {
    let length = |density: &Gaussian| {
        let settings = Settings { warmup: 1000, draws: 0, ..Settings::default() };
        finished(density, &vec![0.5; density.dim()], settings, 9).0.length() / (density.dim() as f64).sqrt()
    };
    let plain = length(&Gaussian::standard(20));
    assert!((1.3..1.6).contains(&plain), "{plain}");
    let narrow = length(&Gaussian::correlated(0.999));
    assert!(narrow > 2.0 * 1.3, "{narrow}");
}

#[test]
fn halton_lengths_are_shared_by_chains_of_equal_settings() {
    let density = Gaussian::standard(4);
    let settings = Settings { warmup: 0, draws: 40, lengths: Lengths::Halton, ..Settings::default() };
    // From a common start the search may end at different steps; take two seeds for which it does not.
    let steps = |seed: u64| {
        let (chain, transitions) = finished(&density, &[0.5; 4], settings.clone(), seed);
        (chain.step_size(), transitions.iter().map(|t| t.steps).collect::<Vec<u32>>())
    };
    let runs: Vec<_> = (0..8).map(steps).collect();
    let equal: Vec<_> = runs.iter().filter(|r| r.0 == runs[0].0).collect();
    assert!(equal.len() > 1);
    assert!(equal.iter().all(|r| r.1 == runs[0].1));
    assert!(runs[0].1.iter().any(|&s| s != runs[0].1[0]));
}

#[test]
fn short_warmups_and_no_draws_are_fine() {
    let density = Gaussian::standard(2);
    for settings in variants() {
        let none = Settings { warmup: 0, draws: 0, ..settings };
        assert!(Chain::new(&density, &[0.1, 0.0], none.clone(), rng(1)).unwrap().is_finished());
        for warmup in [0, 1, 5, 19, 20, 21, 30, 100] {
            let settings = Settings { warmup, draws: 20, ..none.clone() };
            let (chain, _) = finished(&density, &[0.1, 0.0], settings, 1);
            assert!(chain.position().iter().all(|x| x.is_finite()));
            assert!(chain.step_size() > 1e-3 && chain.step_size() < 1e3, "{warmup}: {}", chain.step_size());
        }
    }
}

#[test]
fn trajectories_take_no_more_steps_than_allowed() {
    let density = Gaussian::with_sds(&[1e-4, 1.0]);
    let settings = Settings { warmup: 0, draws: 50, max_steps: 7, ..Settings::default() };
    let (_, transitions) = finished(&density, &[1e-4, 1.0], settings, 1);
    assert!(transitions.iter().all(|t| t.steps <= 7));
    assert!(transitions.iter().any(|t| t.steps == 7));
}

#[test]
fn unusable_starts_and_settings_are_refused_with_facts() {
    let density = Gaussian::standard(2);
    let refuse = |density: &dyn LogDensity, start: &[f64], settings: Settings| {
        Chain::new(density, start, settings, rng(1)).err()
    };
    let s = Settings::default;
    assert_eq!(refuse(&Gaussian::standard(0), &[], s()), Some(StartError::NoCoordinates));
    let one = refuse(&Gaussian::standard(1), &[0.5], s());
    assert_eq!(one, Some(StartError::OneCoordinate));
    assert!(one.is_some_and(|e| e.to_string().contains("use NUTS")));
    assert_eq!(refuse(&density, &[0.0], s()), Some(StartError::Length { expected: 2, found: 1 }));
    assert!(matches!(
        refuse(&density, &[0.0, f64::NAN], s()),
        Some(StartError::Coordinate { index: 1, value }) if value.is_nan()
    ));
    for (settings, name) in [
        (Settings { target_accept: 1.0, ..s() }, "target_accept"),
        (Settings { target_accept: f64::NAN, ..s() }, "target_accept"),
        (Settings { max_steps: 0, ..s() }, "max_steps"),
        (Settings { max_energy_error: 0.0, ..s() }, "max_energy_error"),
        (Settings { max_energy_error: f64::INFINITY, ..s() }, "max_energy_error"),
        (Settings { refresh: Refresh::Langevin { ratio: 0.0 }, ..s() }, "refresh ratio"),
        (Settings { refresh: Refresh::Langevin { ratio: f64::NAN }, ..s() }, "refresh ratio"),
    ] {
        assert!(
            matches!(refuse(&density, &[0.0; 2], settings), Some(StartError::Setting { name: n, .. }) if n == name)
        );
    }
    let value = |value: f64, slope: f64| Custom {
        dim: 2,
        function: move |_: &[f64], g: &mut [f64]| {
            g.fill(slope);
            Ok(value)
        },
    };
    assert_eq!(refuse(&value(f64::NEG_INFINITY, 0.0), &[0.0; 2], s()), Some(StartError::OutsideSupport));
    assert_eq!(
        refuse(&value(f64::INFINITY, 0.0), &[0.0; 2], s()),
        Some(StartError::Rejected(Rejection::NotFinite { value: f64::INFINITY }))
    );
    assert_eq!(
        refuse(&value(0.0, f64::INFINITY), &[0.0; 2], s()),
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
    for settings in variants() {
        let settings = Settings { warmup: 300, draws: 20, ..settings };
        let (chain, transitions) = finished(&density, &[0.5, 0.5], settings, 1);
        for t in &transitions {
            let divergence = t.divergence.as_ref().unwrap();
            assert_eq!(divergence.rejection, Some(failure.clone()));
            assert_eq!(divergence.start, [0.5, 0.5]);
            assert_ne!(divergence.end, [0.5, 0.5]);
            assert_eq!((divergence.energy_error, t.energy_error), (f64::INFINITY, f64::INFINITY));
            assert_eq!((t.acceptance, t.accepted), (0.0, false));
            // One evaluation ends a trajectory; the searches add at most one per halving.
            assert!(t.gradients < 100);
        }
        assert_eq!(chain.position(), [0.5, 0.5]);
        let faults = chain.warmup_faults();
        assert_eq!(faults.divergences, 300);
        assert_eq!(faults.consecutive_divergences, 300);
        assert!(faults.step_size_collapses > 0);
    }
}

#[test]
fn values_outside_the_support_and_nan_are_divergences_without_a_leak() {
    // Exponential with rate 1 in both coordinates; beyond it -inf with a NaN gradient, or NaN itself.
    for outside in [f64::NEG_INFINITY, f64::NAN] {
        let density = Custom {
            dim: 2,
            function: |x: &[f64], g: &mut [f64]| {
                let inside = x.iter().all(|&x| x > 0.0);
                g.fill(if inside { -1.0 } else { f64::NAN });
                Ok(if inside { -x[0] - x[1] } else { outside })
            },
        };
        let settings = Settings { warmup: 300, draws: 300, ..Settings::default() };
        let mut chain = Chain::new(&density, &[1.0, 1.0], settings, rng(2)).unwrap();
        let mut divergences = 0;
        while !chain.is_finished() {
            let t = chain.step();
            assert!(chain.position().iter().all(|&x| x > 0.0) && t.log_density.is_finite());
            assert!(!t.energy_error.is_nan() && t.acceptance.is_finite());
            if let Some(d) = t.divergence {
                divergences += 1;
                assert!(d.start.iter().all(|&x| x > 0.0) && d.end.iter().any(|&x| x <= 0.0));
                assert_eq!(d.energy_error, f64::INFINITY);
                assert_eq!(d.rejection.is_some(), outside.is_nan());
            }
        }
        assert!(divergences > 0);
    }
}

/// An error beyond the limit is a divergence with its size; one below it is an ordinary refusal.
#[test]
fn large_energy_errors_are_divergences_with_their_size() {
    let density = Quartic { dim: 2 };
    let settings = Settings { warmup: 50, draws: 0, max_energy_error: 1e-3, ..Settings::default() };
    let (_, transitions) = finished(&density, &[0.5, 0.5], settings, 4);
    assert!(transitions.iter().any(|t| t.divergence.is_some()));
    for t in transitions {
        assert_eq!(t.divergence.is_some(), t.energy_error > 1e-3);
        if let Some(d) = t.divergence {
            assert_eq!((d.energy_error, d.rejection), (t.energy_error, None));
        }
    }
}

#[test]
fn a_flat_density_stops_at_the_trajectory_length() {
    let density = Custom {
        dim: 2,
        function: |_: &[f64], g: &mut [f64]| {
            g.fill(0.0);
            Ok(0.0)
        },
    };
    let settings = Settings { warmup: 0, draws: 10, ..Settings::default() };
    let (chain, transitions) = finished(&density, &[0.0, 0.0], settings, 3);
    assert_eq!(chain.warmup_faults().step_size_explosions, 1);
    assert_eq!(chain.step_size(), chain.length());
    assert!(transitions.iter().all(|t| t.accepted && t.energy_error == 0.0 && t.steps <= 2));
}
