//! Slow twins: dense algebra, naive sums and central differences against the band solver, the objective and both steps.

use faer::prelude::Solve;
use faer::{Mat, Side};

use super::super::diagnostics::gradient;
use super::super::objective::*;
use super::super::steps::Steps;
use super::super::*;
use super::{distance, normals, recording};
use crate::data::{Recording, Stream};

const STRENGTHS: Strengths = Strengths { loading: 0.02, latent: 0.03, roughness: 0.05, coupling: 0.7 };

fn problem(factors: usize, missing: f64) -> (Recording, Problem) {
    let recording = recording(7, factors, missing);
    let problem = Problem::new(&recording, &Options::new(factors, 0.9)).unwrap();
    (recording, problem)
}

fn point(problem: &Problem) -> (Vec<f64>, Vec<f64>) {
    let w = normals(1, problem.loading_count());
    (w, normals(2, problem.latent_count()))
}

#[test]
fn band_cholesky_equals_dense() {
    for (n, half) in [(1, 0), (5, 0), (6, 5), (17, 3), (40, 11)] {
        let v = normals(n as u64, n * n);
        let mut band = Banded::zeros(n, half);
        let mut dense = Mat::<f64>::zeros(n, n);
        for i in 0..n {
            for j in i.saturating_sub(half)..=i {
                let a = if i == j { 40.0 } else { v[i * n + j] };
                band.add(i, j, a);
                dense[(i, j)] = a;
                dense[(j, i)] = a;
            }
        }
        let b = normals(99, n);
        let mut x = b.clone();
        band.factorize().unwrap().solve(&mut x);
        let right = Mat::from_fn(n, 1, |i, _| b[i]);
        let wanted = dense.llt(Side::Lower).unwrap().solve(&right);
        let wanted: Vec<f64> = (0..n).map(|i| wanted[(i, 0)]).collect();
        assert!(distance(&x, &wanted) < 1e-14, "n {n}, half bandwidth {half}");
    }
}

#[test]
fn band_cholesky_names_the_failing_pivot() {
    let mut band = Banded::zeros(3, 1);
    for i in 0..3 {
        band.add(i, i, 1.0);
    }
    band.add(2, 1, 2.0);
    let pivot = band.factorize().unwrap_err();
    assert_eq!((pivot.index, pivot.value, pivot.diagonal), (2, -3.0, 1.0));
    let mut band = Banded::zeros(1, 0);
    band.add(0, 0, f64::NAN);
    assert!(band.factorize().unwrap_err().value.is_nan());
}

/// The whole objective written out from the recording, entry by entry.
fn naive(recording: &Recording, problem: &Problem, w: &[f64], z: &[f64]) -> f64 {
    let k = problem.factors();
    let blocks = |s: &Stream| (s.participant, s.run);
    let mut keys: Vec<_> = recording.streams.iter().map(blocks).collect();
    keys.dedup();
    let mut total = 0.0;
    for s in &recording.streams {
        let together = recording.streams.iter().filter(|o| blocks(o) == blocks(s));
        let share = 1.0 / together.count() as f64 / keys.len() as f64;
        let p = problem.pair_index(&recording.participants[s.participant], &recording.modalities[s.modality]).unwrap();
        let run = problem.run_index(&recording.runs[s.run]).unwrap();
        let grid = problem.runs[run].grid;
        let seen = |t: &usize| (0..s.features.len()).any(|f| s.value(*t, f).is_some());
        let rows: Vec<usize> = (0..s.times.len()).filter(seen).collect();
        let times: Vec<f64> = rows.iter().map(|&t| s.times[t]).collect();
        for (&t, q) in rows.iter().zip(clock_weights(&times, None)) {
            let observed = (0..s.features.len()).filter(|&f| s.value(t, f).is_some());
            let c = share * q / observed.clone().count() as f64;
            for f in observed {
                let scale = problem.pairs[p].scales[f];
                let x = (s.value(t, f).unwrap() - scale.mean) / scale.sd;
                let mut fitted = 0.0;
                for factor in 0..k {
                    // Linear interpolation as a sum over all nodes of a hat function.
                    for i in 0..grid.nodes {
                        let hat = 1.0 - (s.times[t] - grid.time(i)).abs() / grid.step;
                        fitted += hat.max(0.0)
                            * z[problem.latent_index(run, i, factor)]
                            * w[problem.loading_index(p, f, factor)];
                    }
                }
                total += c * (x - fitted).powi(2);
            }
        }
    }
    let pairs = problem.pairs.len() as f64;
    total += STRENGTHS.loading * w.iter().map(|v| v * v).sum::<f64>() / pairs;
    let runs = problem.runs.len() as f64;
    for (r, run) in problem.runs.iter().enumerate() {
        let (n, step) = (run.grid.nodes, run.grid.step);
        let length = step * (n - 1) as f64;
        for factor in 0..k {
            let at = |i: usize| z[problem.latent_index(r, i, factor)];
            for i in 0..n {
                let q = if i == 0 || i == n - 1 { 0.5 } else { 1.0 } * step / length;
                total += STRENGTHS.latent * q * at(i).powi(2) / runs;
            }
            for i in 1..n {
                let rough = (at(i) - at(i - 1)).powi(2) / (step * length);
                total += STRENGTHS.roughness * rough / runs;
            }
        }
    }
    total
}

fn whole(problem: &Problem, w: &[f64], z: &[f64]) -> f64 {
    balanced_squares(problem, w, z, &mut Scratch::new(problem))
        + STRENGTHS.loading * ridge_loadings(problem, w)
        + STRENGTHS.latent * ridge_latent(problem, z)
        + STRENGTHS.roughness * roughness(problem, z)
}

#[test]
fn objective_equals_the_naive_sum() {
    for (factors, missing) in [(1, 0.0), (3, 0.1), (2, 0.8)] {
        let (recording, problem) = problem(factors, missing);
        let (w, z) = point(&problem);
        let (fast, slow) = (whole(&problem, &w, &z), naive(&recording, &problem, &w, &z));
        assert!((fast - slow).abs() < 1e-13 * slow, "{fast} {slow}");
        let zero = naive(&recording, &problem, &vec![0.0; w.len()], &vec![0.0; z.len()]);
        let squares = whole(&problem, &vec![0.0; w.len()], &vec![0.0; z.len()]);
        assert!((zero - squares).abs() < 1e-13);
    }
}

#[test]
fn entry_weights_sum_to_one() {
    let (_, problem) = problem(2, 0.3);
    let weights = problem.pairs.iter().map(|p| -> f64 {
        let observed = |t: usize| p.features.len() - p.missing_by_row.get(t).len();
        let rows = p.weights.iter().enumerate();
        rows.map(|(t, c)| c * observed(t) as f64).sum()
    });
    assert!((weights.sum::<f64>() - 1.0).abs() < 1e-13);
}

#[test]
fn gradients_equal_central_differences() {
    let (_, problem) = problem(2, 0.2);
    let (w, z) = point(&problem);
    let (gw, gz) = gradient(&problem, &STRENGTHS, &w, &z);
    // The objective is quadratic in either block, so central differences have no truncation error.
    let h = 1e-3;
    for i in 0..w.len() {
        let shifted = |d: f64| {
            let mut w = w.clone();
            w[i] += d;
            whole(&problem, &w, &z)
        };
        assert!(((shifted(h) - shifted(-h)) / (2.0 * h) - gw[i]).abs() < 1e-11);
    }
    for i in 0..z.len() {
        let shifted = |d: f64| {
            let mut z = z.clone();
            z[i] += d;
            whole(&problem, &w, &z)
        };
        assert!(((shifted(h) - shifted(-h)) / (2.0 * h) - gz[i]).abs() < 1e-11);
    }
}

#[test]
fn adjoints_add_scaled_gradients() {
    let (_, problem) = problem(2, 0.2);
    let (w, z) = point(&problem);
    let run = |scale: f64, start: f64| {
        let (mut gw, mut gz) = (vec![start; w.len()], vec![start; z.len()]);
        let mut adjoint = Adjoint { scale, loadings: &mut gw, latents: &mut gz };
        let mut scratch = Scratch::new(&problem);
        let value = balanced_squares_adjoint(&problem, &w, &z, &mut scratch, &mut adjoint);
        assert_eq!(value, balanced_squares(&problem, &w, &z, &mut scratch));
        let ridge = ridge_loadings_adjoint(&problem, &w, scale, &mut gw);
        assert_eq!(ridge, ridge_loadings(&problem, &w));
        let ridge = ridge_latent_adjoint(&problem, &z, scale, &mut gz);
        assert_eq!(ridge, ridge_latent(&problem, &z));
        let rough = roughness_adjoint(&problem, &z, scale, &mut gz);
        assert_eq!(rough, roughness(&problem, &z));
        [gw, gz].concat()
    };
    let once = run(1.0, 0.0);
    let scaled: Vec<f64> = once.iter().map(|g| 5.0 - 3.0 * g).collect();
    assert!(distance(&run(-3.0, 5.0), &scaled) < 1e-13);
}

/// Minimises a quadratic function of `n` numbers, given its gradient, by a dense solve.
pub(super) fn dense_minimum(n: usize, gradient: impl Fn(&[f64]) -> Vec<f64>) -> Vec<f64> {
    let at_zero = gradient(&vec![0.0; n]);
    let mut hessian = Mat::<f64>::zeros(n, n);
    for j in 0..n {
        let mut unit = vec![0.0; n];
        unit[j] = 1.0;
        for (i, g) in gradient(&unit).iter().enumerate() {
            hessian[(i, j)] = g - at_zero[i];
        }
    }
    let right = Mat::from_fn(n, 1, |i, _| -at_zero[i]);
    let x = hessian.partial_piv_lu().solve(&right);
    (0..n).map(|i| x[(i, 0)]).collect()
}

#[test]
fn steps_equal_dense_minima_and_have_no_gradient() {
    for (factors, missing) in [(1, 0.0), (3, 0.0), (2, 0.15), (2, 0.75)] {
        let (_, problem) = problem(factors, missing);
        let (w, z) = point(&problem);
        let steps = Steps::new(&problem, STRENGTHS);
        let mut states = steps.states_of(&w);
        assert_eq!(steps.loadings_of(&states), w);
        let mut solved = vec![0.0; z.len()];
        steps.latent_step(&steps.geometry(), &states, &mut solved).unwrap();
        let wanted = dense_minimum(z.len(), |z| gradient(&problem, &STRENGTHS, &w, z).1);
        assert!(distance(&solved, &wanted) < 1e-10);
        let rest = gradient(&problem, &STRENGTHS, &w, &solved).1;
        assert!(distance(&rest, &vec![0.0; z.len()]) < 1e-13);

        let mut signals = steps.empty_signals();
        steps.signals(&steps.geometry(), &z, &mut signals);
        let squares = steps.squares(&states, &signals);
        let direct = balanced_squares(&problem, &w, &z, &mut Scratch::new(&problem));
        assert!((squares - direct).abs() < 1e-12 * direct);
        steps.loading_step(&signals, &mut states).unwrap();
        let solved = steps.loadings_of(&states);
        let wanted = dense_minimum(w.len(), |w| gradient(&problem, &STRENGTHS, w, &z).0);
        assert!(distance(&solved, &wanted) < 1e-10);
        let rest = gradient(&problem, &STRENGTHS, &solved, &z).0;
        assert!(distance(&rest, &vec![0.0; w.len()]) < 1e-13);
        let ridge = steps.ridge(&states);
        assert!((ridge - ridge_loadings(&problem, &solved)).abs() < 1e-12 * ridge);
    }
}

/// Two participants, one of them with many features and complete rows, so that its loadings take the dual form.
fn wide() -> Recording {
    let mut streams = Vec::new();
    for (participant, features) in [(0, 90), (1, 5)] {
        for run in 0..2 {
            let times: Vec<f64> = (0..15).map(|i| i as f64 * (1.0 + 0.1 * run as f64)).collect();
            let seed = 10 + 2 * participant as u64 + run as u64;
            streams.push(Stream {
                participant,
                run,
                modality: 0,
                features: (0..features).map(|f| format!("v{f}")).collect(),
                values: normals(seed, times.len() * features),
                times,
            });
        }
    }
    Recording {
        participants: ["a", "b"].map(String::from).to_vec(),
        runs: ["r", "s"].map(String::from).to_vec(),
        modalities: vec!["brain".into()],
        streams,
    }
}

/// [`wide`] with masks: features 70 and above are missing at three rows, 140 and above also here and there, and
/// the last row of the first run keeps ten features only.
fn wide_with_masks() -> Recording {
    let mut recording = wide();
    for s in recording.streams.iter_mut().filter(|s| s.participant == 0) {
        let (rows, features) = (s.times.len(), 150);
        s.features = (0..features).map(|f| format!("v{f}")).collect();
        s.values = normals(40 + s.run as u64, rows * features);
        for f in 70..features {
            (3..6).for_each(|t| s.values[t * features + f] = f64::NAN);
            if f >= 140 {
                s.values[(7 + f % 3) * features + f] = f64::NAN;
            }
        }
        if s.run == 0 {
            (10..features).for_each(|f| s.values[(rows - 1) * features + f] = f64::NAN);
        }
    }
    recording
}

#[test]
fn dual_form_equals_explicit_form() {
    check_forms(&wide(), &[(1, 0), (0, 5)]);
    // Ten of the first 70 features see one row more than the others.
    check_forms(&wide_with_masks(), &[(2, 20), (0, 5)]);
}

fn check_forms(recording: &Recording, wanted_forms: &[(usize, usize)]) {
    let options = Options::new(2, 1.3);
    let problem = Problem::new(recording, &options).unwrap();
    let (w, z) = point(&problem);
    let steps = Steps::new(&problem, STRENGTHS);
    let forms: Vec<(usize, usize)> = steps.blocks.iter().map(|b| (b.duals.len(), b.explicit.len())).collect();
    assert_eq!(forms, wanted_forms);
    let mut states = steps.states_of(&w);
    let mut signals = steps.empty_signals();
    steps.signals(&steps.geometry(), &z, &mut signals);
    steps.loading_step(&signals, &mut states).unwrap();
    let solved = steps.loadings_of(&states);
    let wanted = dense_minimum(w.len(), |w| gradient(&problem, &STRENGTHS, w, &z).0);
    assert!(distance(&solved, &wanted) < 1e-10);
    let direct = balanced_squares(&problem, &solved, &z, &mut Scratch::new(&problem));
    assert!((steps.squares(&states, &signals) - direct).abs() < 1e-13);
    assert!((steps.ridge(&states) - ridge_loadings(&problem, &solved)).abs() < 1e-12);
    let mut from_dual = vec![0.0; z.len()];
    let mut from_explicit = vec![0.0; z.len()];
    steps.latent_step(&steps.geometry(), &states, &mut from_dual).unwrap();
    let explicit = steps.states_of(&solved);
    steps.latent_step(&steps.geometry(), &explicit, &mut from_explicit).unwrap();
    assert!(distance(&from_dual, &from_explicit) < 1e-11);

    let fit = solve(&problem, &SolveOptions::default(), None).unwrap();
    assert!((fit.components.total - fit.history.last().unwrap()).abs() < 1e-13);
}
