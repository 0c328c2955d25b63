//! Slow twins of the latent poolings: naive sums, dense solves, separate fits, and what is refused.

use super::super::diagnostics::gradient;
use super::super::objective::{coupling, coupling_adjoint};
use super::super::query::{infer_latent, latent_at, latent_of};
use super::super::steps::Steps;
use super::super::*;
use super::algebra::dense_minimum;
use super::{distance, normals, recording};

const STRENGTHS: Strengths = Strengths { loading: 0.02, latent: 0.03, roughness: 0.05, coupling: 0.7 };

/// Affinity of two participants, counted from 0.
type Pairwise<'a> = &'a dyn Fn(usize, usize) -> f64;

fn edges(list: &[(&str, &str, f64)]) -> Affinity {
    Affinity { edges: list.iter().map(|(a, b, v)| ((*a).to_owned(), (*b).to_owned(), *v)).collect() }
}

fn problem(pooling: LatentPooling) -> Problem {
    let options = Options { latent_pooling: pooling, ..Options::new(2, 0.8) };
    Problem::new(&recording(5, 2, 0.1), &options).unwrap()
}

fn neighbours() -> LatentPooling {
    LatentPooling::Neighborhood(edges(&[("ann", "bo", 0.7), ("bo", "cy", 0.2)]))
}

/// Sum over runs and nodes of q times affinity times the squared distance of paths, over (n R).
fn naive(problem: &Problem, z: &[f64], affinity: Pairwise) -> f64 {
    let n = problem.participants.len();
    let mut total = 0.0;
    for (r, run) in problem.runs.iter().enumerate() {
        for node in 0..run.grid.nodes {
            for factor in 0..problem.factors() {
                let at = |p: usize| z[problem.latent_index(problem.track_index(r, p), node, factor)];
                for p in 0..n {
                    for q in 0..p {
                        total += run.node_weight(node) * affinity(p, q) * (at(p) - at(q)).powi(2);
                    }
                }
            }
        }
    }
    total / (n * problem.runs.len()) as f64
}

#[test]
fn couplings_equal_naive_sums_and_their_gradients_differences() {
    // The squared distances from the mean are those of all pairs over n.
    let population = |_: usize, _: usize| 1.0 / 3.0;
    let graph = |p: usize, q: usize| [[0.0, 0.7, 0.0], [0.7, 0.0, 0.2], [0.0, 0.2, 0.0]][p][q];
    let cases: [(LatentPooling, Pairwise); 2] = [(LatentPooling::Population, &population), (neighbours(), &graph)];
    for (pooling, affinity) in cases {
        let problem = problem(pooling);
        let z = normals(3, problem.latent_count());
        let value = coupling(&problem, &z);
        assert!((value - naive(&problem, &z, affinity)).abs() < 1e-13 * value);
        let mut slopes = vec![1.0; z.len()];
        assert_eq!(coupling_adjoint(&problem, &z, 2.0, &mut slopes), value);
        for i in (0..z.len()).step_by(7) {
            let moved = |d: f64| {
                let mut z = z.clone();
                z[i] += d;
                coupling(&problem, &z)
            };
            let h = 1e-3;
            assert!((1.0 + 2.0 * (moved(h) - moved(-h)) / (2.0 * h) - slopes[i]).abs() < 1e-11);
        }
    }
    assert_eq!(coupling(&problem(LatentPooling::Shared), &normals(3, 1000)), 0.0);
}

#[test]
fn coupled_latent_steps_equal_dense_minima() {
    for pooling in [LatentPooling::Population, neighbours(), LatentPooling::Components(edges(&[("ann", "cy", 1.0)]))] {
        let problem = problem(pooling);
        let w = normals(1, problem.loading_count());
        let steps = Steps::new(&problem, STRENGTHS);
        let mut solved = vec![0.0; problem.latent_count()];
        steps.latent_step(&steps.geometry(), &steps.states_of(&w), &mut solved).unwrap();
        let wanted = dense_minimum(solved.len(), |z| gradient(&problem, &STRENGTHS, &w, z).1);
        let gap = distance(&solved, &wanted);
        assert!(gap < 1e-10, "{gap:e}");
    }
}

#[test]
fn components_are_separate_fits_with_shared_weights() {
    let problem = problem(LatentPooling::Components(edges(&[("bo", "cy", 2.0), ("ann", "bo", 0.0)])));
    assert_eq!(problem.groups, [vec![0], vec![1, 2]]);
    assert_eq!(problem.tracks.len(), 4);
    let name = problem.latent_name(problem.latent_index(3, 5, 1)).unwrap();
    assert_eq!((name.run, name.group, name.node, name.factor), ("day2", 1, 5, 1));
    let options = SolveOptions { start: Start::Spectral, ..SolveOptions::default() };
    let fit = solve(&problem, &options, None).unwrap();
    for pair in fit.history.windows(2) {
        assert!(pair[1] <= pair[0] + 1e-12);
    }
    let ann = latent_of(&problem, &fit.latents, "ann", "day1", &[3.0, 9.5]).unwrap();
    let bo = latent_of(&problem, &fit.latents, "bo", "day1", &[3.0, 9.5]).unwrap();
    let cy = latent_of(&problem, &fit.latents, "cy", "day1", &[3.0, 9.5]).unwrap();
    assert_eq!(bo, cy);
    let mean = latent_at(&problem, &fit.latents, "day1", &[3.0, 9.5]).unwrap();
    for i in 0..4 {
        let wanted = (ann.values[i] + 2.0 * bo.values[i]) / 3.0;
        assert!((mean.values[i] - wanted).abs() < 1e-14);
    }
}

#[test]
fn a_strong_coupling_is_one_path_for_all() {
    let shared = problem(LatentPooling::Shared);
    let own = problem(LatentPooling::Population);
    let w = normals(2, shared.loading_count());
    let solve_with = |problem: &Problem, coupling: f64| {
        let steps = Steps::new(problem, Strengths { coupling, ..STRENGTHS });
        let mut z = vec![0.0; problem.latent_count()];
        steps.latent_step(&steps.geometry(), &steps.states_of(&w), &mut z).unwrap();
        z
    };
    let one = solve_with(&shared, 0.0);
    let many = solve_with(&own, 1e7);
    for r in 0..2 {
        for p in 0..3 {
            let path = &many[own.latent_range(own.track_index(r, p))];
            let gap = distance(path, &one[shared.latent_range(r)]);
            assert!(gap < 1e-4, "{gap:e}");
        }
    }
}

#[test]
fn latents_that_nothing_reaches_are_refused() {
    let data = recording(5, 2, 0.0);
    let options = Options { latent_pooling: LatentPooling::Components(Affinity::default()), ..Options::new(2, 0.8) };
    let problem = Problem::new(&data, &options).unwrap();
    let w = normals(2, problem.loading_count());
    let mut alone = data.clone();
    alone.streams.retain(|s| s.participant == 0);
    let error = infer_latent(&problem, &w, &STRENGTHS, &alone).unwrap_err();
    assert_eq!(error, GriddedError::NoDonor { participant: "bo".into(), run: "day1".into() });
    let population = Options { latent_pooling: LatentPooling::Population, ..Options::new(2, 0.8) };
    let problem = Problem::new(&data, &population).unwrap();
    let (conditioned, z) = infer_latent(&problem, &w, &STRENGTHS, &alone).unwrap();
    assert_eq!(z.len(), conditioned.latent_count());
    let apart = Strengths { coupling: 0.0, ..STRENGTHS };
    assert!(matches!(infer_latent(&problem, &w, &apart, &alone), Err(GriddedError::NoDonor { .. })));
}

#[test]
fn faulty_affinities_are_refused_by_name() {
    let refused = |list: &[(&str, &str, f64)]| {
        let options = Options { latent_pooling: LatentPooling::Components(edges(list)), ..Options::new(2, 0.8) };
        Problem::new(&recording(5, 2, 0.0), &options).unwrap_err().to_string()
    };
    assert!(refused(&[("ann", "dora", 1.0)]).contains("dora"));
    assert!(refused(&[("ann", "ann", 1.0)]).contains("`ann` and `ann`"));
    assert!(refused(&[("ann", "bo", -1.0)]).contains("-1"));
    assert!(refused(&[("ann", "bo", 1.0), ("bo", "ann", 1.0)]).contains("twice"));
}
