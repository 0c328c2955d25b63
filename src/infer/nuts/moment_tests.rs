//! Exactness by moments: a sampler with the wrong stationary law is found by z-scores that know the effective number
//! of draws, and a sampler broken on purpose must be found by the same check.

use super::hamiltonian::{Hamiltonian, Point};
use super::tree::{Limits, Tree};
use super::*;
use crate::infer::moment_check::{demand, scores, worst};
use crate::infer::test_densities::{Gaussian, banana, funnel, standardised};
use rand::SeedableRng;

fn sample(density: &Gaussian, settings: &Settings, seed: u64) -> Vec<Vec<f64>> {
    let start = vec![0.5; density.dim()];
    let mut chain = Chain::new(density, &start, settings.clone(), ChaCha8Rng::seed_from_u64(seed)).unwrap();
    let mut draws = Vec::with_capacity(settings.draws);
    while !chain.is_finished() {
        if chain.step().phase == Phase::Sampling {
            draws.push(chain.position().to_vec());
        }
    }
    draws
}

fn check(density: &Gaussian, rho: f64, settings: &Settings, seed: u64, min_ess: f64) {
    let label = format!("d {}, {:?}, target {}", density.dim(), settings.metric, settings.target_accept);
    demand(&label, &scores(&sample(density, settings, seed), rho), min_ess);
}

#[test]
fn few_dimensions_at_low_acceptance() {
    for (dim, kind) in
        [(1, MetricKind::Diagonal), (2, MetricKind::Dense), (3, MetricKind::LowRank), (3, MetricKind::Diagonal)]
    {
        let settings = Settings { warmup: 500, draws: 30_000, target_accept: 0.6, metric: kind, ..Settings::default() };
        check(&Gaussian::standard(dim), 0.0, &settings, 11, 8_000.0);
    }
}

#[test]
#[ignore = "slow: run by CI with a fixed seed"]
fn every_dimension_target_and_metric() {
    for (dim, draws) in [(1, 200_000), (2, 200_000), (3, 200_000), (10, 200_000), (50, 250_000)] {
        for (target_accept, metric) in [
            (0.6, MetricKind::Diagonal),
            (0.8, MetricKind::Diagonal),
            (0.9, MetricKind::LowRank),
            (0.6, MetricKind::Dense),
        ] {
            let settings = Settings { warmup: 1000, draws, target_accept, metric, ..Settings::default() };
            check(&Gaussian::standard(dim), 0.0, &settings, 2024, 5e4);
        }
    }
}

#[test]
#[ignore = "slow: run by CI with a fixed seed"]
fn correlated_pair() {
    for target_accept in [0.6, 0.8] {
        for (metric, draws) in
            [(MetricKind::Diagonal, 400_000), (MetricKind::LowRank, 200_000), (MetricKind::Dense, 200_000)]
        {
            let settings = Settings { warmup: 1000, draws, target_accept, metric, ..Settings::default() };
            check(&Gaussian::correlated(0.95), 0.95, &settings, 77, 5e4);
        }
    }
}

/// Enough for a dense metric on a funnel, which no metric suits.
const DRAWS: usize = 120_000;

#[test]
fn curved_densities_keep_their_moments() {
    for metric in [MetricKind::Diagonal, MetricKind::LowRank, MetricKind::Dense] {
        for (name, density) in [("funnel", funnel(5)), ("banana", banana())] {
            let settings = Settings { draws: DRAWS, target_accept: 0.7, metric, ..Settings::default() };
            let mut chain = Chain::new(&*density, &vec![0.5; density.dim()], settings, ChaCha8Rng::seed_from_u64(5));
            let chain = chain.as_mut().unwrap();
            while chain.is_warmup() {
                chain.step();
            }
            let draws: Vec<Vec<f64>> = (0..DRAWS)
                .map(|_| {
                    chain.step();
                    standardised(name, chain.position())
                })
                .collect();
            demand(&format!("{name}, {metric:?}"), &scores(&draws, 0.0), 1_000.0);
        }
    }
}

/// Transitions of fixed step with or without the deliberate fault.
fn with_fault(dim: usize, step: f64, draws: usize, keep_turned_subtrees: bool) -> Vec<Vec<f64>> {
    let density = Gaussian::standard(dim);
    let mut h = Hamiltonian::new(density.evaluator(), Metric::identity(MetricKind::Diagonal, dim));
    let mut start = Point::blank(dim);
    start.position.fill(0.5);
    h.evaluate(&mut start).unwrap();
    let mut tree = Tree::new(start);
    tree.keep_turned_subtrees = keep_turned_subtrees;
    let mut rng = ChaCha8Rng::seed_from_u64(31);
    let limits = Limits { max_depth: 10, max_energy_error: 1000.0 };
    (0..draws)
        .map(|_| {
            tree.transition(&mut h, step, limits, &mut rng);
            tree.current().position.clone()
        })
        .collect()
}

/// The check finds a sampler that keeps the proposals of turned subtrees, and passes the same run without the fault.
#[test]
fn the_check_finds_kept_subtrees() {
    for (dim, step) in [(1, 0.5), (2, 0.5), (3, 0.5)] {
        let sound = worst(&scores(&with_fault(dim, step, 40_000, false), 0.0));
        let broken = worst(&scores(&with_fault(dim, step, 40_000, true), 0.0));
        assert!(sound < 4.0, "d {dim}: {sound}");
        assert!(broken > 8.0, "d {dim}: {broken}");
    }
}
