//! Exactness by moments, at low acceptance, for every integrator and variant; and a sampler broken on purpose, which the
//! same check must find.

use super::flow::{Course, Flow, State, refresh};
use super::*;
use crate::infer::moment_check::{demand, scores, worst};
use crate::infer::test_densities::{Gaussian, banana, funnel, standardised};
use rand::SeedableRng;

const ALL: [Integrator; 3] = [Integrator::Leapfrog, Integrator::MinimalNorm, Integrator::FourthOrder];
const VARIANTS: [(Refresh, Lengths); 3] = [
    (Refresh::Full, Lengths::Uniform),
    (Refresh::Full, Lengths::Halton),
    (Refresh::Langevin { ratio: 1.25 }, Lengths::Uniform),
];

/// Draws until every moment has `min_ess` effective draws, at most eight times those of the settings.
fn check(density: &Gaussian, rho: f64, settings: &Settings, seed: u64, min_ess: f64) {
    let start = vec![0.5; density.dim()];
    let mut chain = Chain::new(density, &start, settings.clone(), ChaCha8Rng::seed_from_u64(seed)).unwrap();
    while chain.is_warmup() {
        chain.step();
    }
    let mut draws = Vec::with_capacity(settings.draws);
    let mut acceptance = 0.0;
    let found = loop {
        for _ in 0..settings.draws {
            acceptance += chain.step().acceptance;
            draws.push(chain.position().to_vec());
        }
        let found = scores(&draws, rho);
        if found.iter().all(|s| s.2 >= min_ess) || draws.len() >= 8 * settings.draws {
            break found;
        }
    };
    let acceptance = acceptance / draws.len() as f64;
    let Settings { integrator, refresh, lengths, preconditioner, target_accept, .. } = settings;
    let label = format!(
        "d {}, {integrator:?}, {refresh:?}, {lengths:?}, {preconditioner:?}, target {target_accept}, got {acceptance:.3}",
        density.dim()
    );
    assert!((0.45..0.999).contains(&acceptance), "{label}");
    demand(&label, &found, min_ess);
}

#[test]
fn few_dimensions_at_low_acceptance() {
    let cases = [(2, Integrator::Leapfrog), (3, Integrator::MinimalNorm), (2, Integrator::FourthOrder)];
    for ((dim, integrator), (refresh, lengths)) in cases.into_iter().zip(VARIANTS) {
        let settings = Settings {
            warmup: 500,
            draws: 30_000,
            target_accept: 0.6,
            integrator: Some(integrator),
            refresh,
            lengths,
            ..Settings::default()
        };
        check(&Gaussian::standard(dim), 0.0, &settings, 11, 4_000.0);
    }
}

#[test]
#[ignore = "slow: run by CI"]
fn every_dimension_integrator_and_variant() {
    for (dim, draws) in [(2, 400_000), (3, 400_000), (10, 300_000), (50, 300_000)] {
        for integrator in ALL {
            for (refresh, lengths) in VARIANTS {
                for target_accept in [0.6, 0.9] {
                    let settings = Settings {
                        draws,
                        target_accept,
                        integrator: Some(integrator),
                        refresh,
                        lengths,
                        ..Settings::default()
                    };
                    check(&Gaussian::standard(dim), 0.0, &settings, 2024, 1e5);
                }
            }
        }
    }
}

#[test]
fn a_correlated_pair_with_both_preconditioners() {
    for (preconditioner, min_ess) in [(PreconditionerKind::Diagonal, 1_000.0), (PreconditionerKind::LowRank, 4_000.0)] {
        let settings =
            Settings { warmup: 500, draws: 30_000, target_accept: 0.6, preconditioner, ..Settings::default() };
        check(&Gaussian::correlated(0.95), 0.95, &settings, 12, min_ess);
    }
}

#[test]
#[ignore = "slow: run by CI"]
fn correlated_pairs_for_every_integrator_and_variant() {
    for integrator in ALL {
        for (refresh, lengths) in VARIANTS {
            for (preconditioner, draws) in
                [(PreconditionerKind::Diagonal, 600_000), (PreconditionerKind::LowRank, 400_000)]
            {
                let settings = Settings {
                    draws,
                    target_accept: 0.6,
                    integrator: Some(integrator),
                    refresh,
                    lengths,
                    preconditioner,
                    ..Settings::default()
                };
                check(&Gaussian::correlated(0.9), 0.9, &settings, 77, 1e5);
            }
        }
    }
}

#[test]
fn curved_densities_keep_their_moments() {
    for (preconditioner, integrator) in
        [(PreconditionerKind::Diagonal, Integrator::Leapfrog), (PreconditionerKind::LowRank, Integrator::MinimalNorm)]
    {
        for (name, density) in [("funnel", funnel(5)), ("banana", banana())] {
            let settings = Settings { preconditioner, integrator: Some(integrator), ..Settings::default() };
            let start = vec![0.5; density.dim()];
            let mut chain = Chain::new(&*density, &start, settings, ChaCha8Rng::seed_from_u64(5)).unwrap();
            while chain.is_warmup() {
                chain.step();
            }
            let draws: Vec<Vec<f64>> = (0..80_000)
                .map(|_| {
                    chain.step();
                    standardised(name, chain.position())
                })
                .collect();
            demand(&format!("{name}, {preconditioner:?}"), &scores(&draws, 0.0), 1_000.0);
        }
    }
}

/// Transitions of fixed step, with or without the faulty kick, and their mean acceptance.
fn of_fixed_step(dim: usize, integrator: Integrator, step: f64, draws: usize, broken: bool) -> (Vec<Vec<f64>>, f64) {
    let density = Gaussian::standard(dim);
    let mut flow = Flow::new(density.evaluator(), Preconditioner::diagonal(vec![1.0; dim]));
    flow.broken = broken;
    let mut current = State::at(&vec![0.5; dim]);
    flow.evaluate(&mut current).unwrap();
    let mut end = current.clone();
    let mut u = vec![0.0; dim];
    let mut rng = ChaCha8Rng::seed_from_u64(31);
    let ratio = (1.3 * (dim as f64).sqrt() / step).max(1.5);
    let mut acceptances = 0.0;
    let out = (0..draws)
        .map(|i| {
            refresh(&mut u, &mut rng);
            let steps = Lengths::Uniform.steps(ratio, 100, i, &mut rng);
            let course = Course { integrator, step, steps, decoherence: None };
            let outcome = flow.trajectory(&current, &mut end, &mut u, course, &mut rng).unwrap();
            let acceptance = if outcome.trusted { (-outcome.energy_error).exp().min(1.0) } else { 0.0 };
            acceptances += acceptance;
            if rng.random::<f64>() < acceptance {
                std::mem::swap(&mut current, &mut end);
            }
            current.position.clone()
        })
        .collect();
    (out, acceptances / draws as f64)
}

#[test]
fn fixed_steps_at_low_acceptance() {
    for (dim, integrator, step) in [
        (2, Integrator::Leapfrog, 2.2),
        (3, Integrator::Leapfrog, 2.6),
        (10, Integrator::Leapfrog, 4.6),
        (2, Integrator::MinimalNorm, 3.5),
        (3, Integrator::MinimalNorm, 4.0),
        (10, Integrator::MinimalNorm, 7.5),
        (2, Integrator::FourthOrder, 5.0),
        (3, Integrator::FourthOrder, 6.0),
        (10, Integrator::FourthOrder, 11.0),
    ] {
        let (draws, acceptance) = of_fixed_step(dim, integrator, step, 60_000, false);
        assert!((0.55..0.8).contains(&acceptance), "d {dim}, {integrator:?}: acceptance {acceptance}");
        demand(&format!("d {dim}, {integrator:?}, acceptance {acceptance:.3}"), &scores(&draws, 0.0), 1_000.0);
    }
}

/// The check finds a kick that scales the part orthogonal to the gradient, and passes the same run without the fault.
#[test]
fn the_check_finds_a_broken_kick() {
    for (dim, step) in [(2, 1.5), (3, 1.8), (10, 3.5)] {
        let (draws, acceptance) = of_fixed_step(dim, Integrator::Leapfrog, step, 60_000, false);
        let sound = worst(&scores(&draws, 0.0));
        let broken = worst(&scores(&of_fixed_step(dim, Integrator::Leapfrog, step, 60_000, true).0, 0.0));
        assert!((0.55..0.92).contains(&acceptance), "d {dim}: acceptance {acceptance}");
        assert!(sound < 4.0, "d {dim}: {sound}");
        assert!(broken > 8.0, "d {dim}: {broken}");
    }
}
