//! Learned responses: slow twins of gradient and response step, planted curves, poolings, bounds, and what must not matter.

use super::super::diagnostics::{components, response_gradient};
use super::super::learn::Learner;
use super::super::objective::{Scratch, balanced_squares};
use super::super::observation::{Grid, ObservationRows};
use super::super::phases::Phases;
use super::super::query::predict;
use super::super::response_objective::{
    ResponseAdjoint, balanced_squares_adjoint, penalty_in_coordinates, response_penalty_adjoint,
};
use super::super::steps::Steps;
use super::super::*;
use super::{distance, normals, recording};
use crate::data::{Recording, Stream};
use crate::response::tests::{adaptive, curve};
use crate::response::{Response, build};

fn gaussian(width: f64, lag: f64) -> Response {
    build("gaussian", &[("width", width), ("lag", lag)]).unwrap()
}

fn gamma(shape: f64, scale: f64, lag: f64) -> Response {
    build("gamma", &[("shape", shape), ("scale", scale), ("lag", lag)]).unwrap()
}

/// Face Gaussian with partial pooling and two priors, skin gamma with a curve each and priors on either scale.
fn responses() -> [LearnedResponse; 2] {
    let penalty = |parameter, scale, center, precision| Penalty { parameter, scale, center, precision };
    [
        LearnedResponse {
            initial: gaussian(0.5, 0.3),
            bounds: vec![Some((0.3, 0.8)), Some((-0.5, 1.0))],
            pooling: ResponsePooling::Partial { strength: 0.4 },
            penalties: vec![penalty(0, PenaltyScale::Value, 0.6, 3.0), penalty(1, PenaltyScale::Value, 0.1, 2.0)],
        },
        LearnedResponse {
            initial: gamma(2.5, 0.3, 0.1),
            bounds: vec![None, Some((0.2, 0.4)), Some((-0.2, 0.6))],
            pooling: ResponsePooling::Separate,
            penalties: vec![penalty(1, PenaltyScale::Logarithm, -1.0, 0.5), penalty(1, PenaltyScale::Value, 0.2, 1.0)],
        },
    ]
}

fn problem() -> Problem {
    Problem::with_learned(&recording(6, 2, 0.15), &Options::new(2, 0.8), &responses()).unwrap()
}

/// A point inside the bounds.
fn inside(problem: &Problem) -> Vec<f64> {
    let bounds = problem.response_bounds();
    let spread = |i: usize| 0.2 + 0.6 * ((i * 7) % 10) as f64 / 10.0;
    bounds.iter().enumerate().map(|(i, (lo, hi))| lo + spread(i) * (hi - lo)).collect()
}

fn whole(problem: &Problem, w: &[f64], z: &[f64], v: &[f64]) -> f64 {
    components(&problem.at_responses(v).unwrap(), &Strengths::default(), w, z).total
}

#[test]
fn names_values_and_bounds_agree() {
    let problem = problem();
    assert_eq!(problem.response_count(), 3 * 2 + 3 * 2);
    let first = problem.response_name(0).unwrap();
    assert_eq!((first.modality, first.participant, first.parameter), ("face", Some("ann"), "width"));
    let last = problem.response_name(11).unwrap();
    assert_eq!((last.modality, last.participant, last.parameter), ("skin", Some("cy"), "lag"));
    assert_eq!(problem.response_name(12), None);
    assert_eq!(problem.response_values()[..2], [0.5, 0.3]);
    assert_eq!(problem.response_bounds()[11], (-0.2, 0.6));
    let moved = problem.at_responses(&inside(&problem)).unwrap();
    assert_eq!(moved.response_values(), inside(&problem));
    assert!(std::sync::Arc::ptr_eq(&moved.pairs[0].x, &problem.pairs[0].x));
    let mut outside = inside(&problem);
    outside[3] = 1.5;
    assert!(matches!(problem.at_responses(&outside), Err(GriddedError::ResponseOutside { index: 3, .. })));
}

#[test]
fn gradients_in_responses_equal_central_differences() {
    let problem = problem();
    let (w, z) = (normals(1, problem.loading_count()), normals(2, problem.latent_count()));
    let v = inside(&problem);
    let here = problem.at_responses(&v).unwrap();
    let slopes = response_gradient(&here, &w, &z).unwrap();
    for i in 0..v.len() {
        let moved = |d: f64| {
            let mut v = v.clone();
            v[i] += d;
            whole(&problem, &w, &z, &v)
        };
        let h = 1e-4;
        let wanted = (8.0 * (moved(h) - moved(-h)) - (moved(2.0 * h) - moved(-2.0 * h))) / (12.0 * h);
        // The gamma's second derivative jumps where its onset meets a node, which limits the differences.
        assert!((slopes[i] - wanted).abs() < 2e-6 * wanted.abs().max(0.1), "{i}: {} {wanted}", slopes[i]);
    }
    // The other two gradients are those of the problem at these curves.
    let (mut gw, mut gz, mut gv) = (vec![0.0; w.len()], vec![0.0; z.len()], vec![0.0; v.len()]);
    let mut adjoint = ResponseAdjoint { scale: 1.0, loadings: &mut gw, latents: &mut gz, responses: &mut gv };
    let mut scratch = Scratch::new(&problem);
    let value = balanced_squares_adjoint(&problem, (&w, &z, &v), &mut scratch, &mut adjoint).unwrap();
    assert!((value - balanced_squares(&here, &w, &z, &mut scratch)).abs() < 1e-12 * value);
    let (mut hw, mut hz) = (vec![0.0; w.len()], vec![0.0; z.len()]);
    let mut adjoint = objective::Adjoint { scale: 1.0, loadings: &mut hw, latents: &mut hz };
    objective::balanced_squares_adjoint(&here, &w, &z, &mut scratch, &mut adjoint);
    assert!(distance(&gw, &hw) < 1e-11 && distance(&gz, &hz) < 1e-11);
}

#[test]
fn the_curvature_of_penalties_is_that_of_differences_at_their_center() {
    let problem = problem();
    let n = problem.response_count();
    let x: Vec<f64> = (0..n).map(|i| if i % 2 == 0 { -1.0 - 0.1 * i as f64 } else { 0.05 * i as f64 }).collect();
    let (mut slopes, mut curvature) = (vec![0.0; n], vec![0.0; n * n]);
    penalty_in_coordinates(&problem, &x, &mut slopes, Some(&mut curvature));
    // Lags are penalised on their own scale, where the curvature is exact.
    for i in (1..6).step_by(2) {
        for j in (1..6).step_by(2) {
            let moved = |d: f64| {
                let mut x = x.clone();
                x[j] += d;
                let mut slopes = vec![0.0; n];
                penalty_in_coordinates(&problem, &x, &mut slopes, None);
                slopes[i]
            };
            let wanted = (moved(1e-3) - moved(-1e-3)) / 2e-3;
            assert!((curvature[i * n + j] - wanted).abs() < 1e-11, "{i} {j}");
        }
    }
}

#[test]
fn rows_by_phase_are_the_rows() {
    let grid = Grid { start: 3.0, step: 0.5, nodes: 200 };
    for (response, step) in [(gaussian(0.7, 1.2), 1.2), (gamma(3.0, 0.6, -0.4), 0.77), (gaussian(0.01, 0.0), 0.5)] {
        let times: Vec<f64> = (0..50).map(|i| 20.0 + step * f64::from(i)).collect();
        let phases = Phases::new(grid, times.clone());
        let table = phases.rows(&response, true).unwrap();
        let rows = ResponseRows::new(&response).unwrap();
        let dense = |first: usize, weights: &[f64]| {
            let mut out = vec![0.0; grid.nodes];
            out[first..first + weights.len()].copy_from_slice(weights);
            out
        };
        for (i, &t) in times.iter().enumerate() {
            let mut weights = Vec::new();
            let first = rows.row(t, &grid, &mut weights);
            let place = table.place[i].clone();
            let gap = distance(&dense(first, &weights), &dense(table.first[i], &table.weights[place.clone()]));
            assert!(gap < 1e-9, "{response:?} {t}: {gap:e}");
            let mut slopes = vec![Vec::new(); rows.parameter_count()];
            let first = rows.row_gradient(t, &grid, &mut Vec::new(), &mut slopes);
            for (slope, table_slopes) in slopes.iter().zip(&table.slopes) {
                let size = slope.iter().fold(1.0f64, |m, v| m.max(v.abs()));
                let gap = distance(&dense(first, slope), &dense(table.first[i], &table_slopes[place.clone()]));
                assert!(gap < 1e-8 * size, "{response:?} {t}: {gap:e}");
            }
        }
    }
    // A clock that beats with the grid has few phases.
    let phases = Phases::new(grid, (0..50).map(|i| 20.0 + 1.2 * f64::from(i)).collect());
    assert!(phases.rows(&gaussian(0.7, 0.0), false).unwrap().weights.len() < 6 * 20);
}

#[test]
fn a_response_step_goes_down_to_a_stationary_point() {
    let problem = problem();
    let (w, z) = (normals(1, problem.loading_count()), normals(2, problem.latent_count()));
    let steps = Steps::new(&problem, Strengths::default());
    let learner = Learner::new(&problem);
    let mut x = learner.start();
    let before = whole(&problem, &w, &z, &learner.values(&x));
    assert!(learner.step(&steps, &steps.states_of(&w), &z, &mut x, 200).unwrap());
    let v = learner.values(&x);
    let after = whole(&problem, &w, &z, &v);
    assert!(after < before);
    let mut slopes = response_gradient(&problem.at_responses(&v).unwrap(), &w, &z).unwrap();
    slopes.iter_mut().zip(learner.chain(&v)).for_each(|(g, c)| *g *= c);
    learner.project(&x, &mut slopes);
    let largest = slopes.iter().fold(0.0f64, |m, g| m.max(g.abs()));
    assert!(largest < 1e-5, "{largest:e} {slopes:?}");
}

/// Two people who follow a planted latent through Gaussian curves, 160 s, noise of a tenth.
fn planted(curves: [Response; 2], split: bool) -> Recording {
    let latent = |t: f64| (0.5 * t).sin() + (0.9 * t + 1.0).sin() + (0.23 * t + 2.0).cos();
    let mut streams = Vec::new();
    for (participant, response) in curves.iter().enumerate() {
        let k = curve(response);
        let (lo, hi) = k.support();
        for modality in 0..2 {
            let times: Vec<f64> = (0..200).map(|i| 0.8 * f64::from(i)).collect();
            let noise = normals((10 * participant + modality) as u64, 3 * times.len());
            let values: Vec<f64> = (times.iter().enumerate())
                .flat_map(|(i, &t)| {
                    let x =
                        if modality == 0 { latent(t) } else { adaptive(&|u| k.value(u) * latent(t - u), lo, hi, 1e-5) };
                    [1.0, -0.7, 0.4]
                        .map(|a| a * x)
                        .into_iter()
                        .enumerate()
                        .map(move |(f, x)| (3 * i + f, x))
                        .collect::<Vec<_>>()
                })
                .map(|(at, x)| x + 0.1 * noise[at])
                .collect();
            // A file split in two holds the same rows in two runs with a pause between.
            let cut = if split { 100 } else { times.len() };
            for (run, range) in [0..cut, cut..times.len()].into_iter().enumerate().filter(|(_, r)| !r.is_empty()) {
                streams.push(Stream {
                    participant,
                    run,
                    modality,
                    features: ["a", "b", "c"].map(String::from).to_vec(),
                    times: times[range.clone()].to_vec(),
                    values: values[3 * range.start..3 * range.end].to_vec(),
                });
            }
        }
    }
    streams.sort_by_key(|s| (s.participant, s.run, s.modality));
    Recording {
        participants: ["ann", "bo"].map(String::from).to_vec(),
        runs: (0..1 + usize::from(split)).map(|r| format!("r{r}")).collect(),
        modalities: ["face", "rating"].map(String::from).to_vec(),
        streams,
    }
}

fn learn(recording: &Recording, pooling: ResponsePooling, bounds: [(f64, f64); 2]) -> (Problem, Solution) {
    let rating = LearnedResponse {
        initial: gaussian(1.0, 0.5),
        bounds: bounds.map(Some).to_vec(),
        pooling,
        penalties: Vec::new(),
    };
    let all = recording
        .modalities
        .iter()
        .map(|m| if m == "rating" { rating.clone() } else { LearnedResponse::fixed(Response::Identity) });
    let problem = Problem::with_learned(recording, &Options::new(1, 0.4), &all.collect::<Vec<_>>()).unwrap();
    let options =
        SolveOptions { start: Start::Spectral, max_iterations: 2000, tolerance: 1e-12, ..SolveOptions::default() };
    let fit = solve(&problem, &options, None).unwrap();
    for pair in fit.history.windows(2) {
        assert!(pair[1] <= pair[0] * (1.0 + 1e-12));
    }
    assert!((fit.components.total - fit.history.last().unwrap()).abs() < 1e-10);
    (problem, fit)
}

const WIDE: [(f64, f64); 2] = [(0.5, 3.0), (-1.0, 3.0)];

#[test]
fn planted_curves_are_found_whatever_the_pooling() {
    let data = planted([gaussian(1.5, 1.2), gaussian(1.5, 1.2)], false);
    let (_, shared) = learn(&data, ResponsePooling::Shared, WIDE);
    assert!(shared.converged());
    assert!(shared.responses_at_bounds.is_empty());
    assert!((shared.response_values[0] - 1.5).abs() < 0.1, "{:?}", shared.response_values);
    assert!((shared.response_values[1] - 1.2).abs() < 0.05, "{:?}", shared.response_values);
    assert!(shared.stationarity.response_largest < 1e-5, "{:?}", shared.stationarity);
    assert_eq!(shared.responses[1].response, gaussian(shared.response_values[0], shared.response_values[1]));

    let apart = planted([gaussian(1.5, 0.6), gaussian(1.5, 1.8)], false);
    let (problem, separate) = learn(&apart, ResponsePooling::Separate, WIDE);
    let lags = |fit: &Solution| [fit.response_values[1], fit.response_values[3]];
    let [ann, bo] = lags(&separate);
    assert!((ann - 0.6).abs() < 0.05 && (bo - 1.8).abs() < 0.05, "{ann} {bo}");
    let Ok(Response::Gaussian { width, lag }) =
        problem.at_responses(&separate.response_values).unwrap().group_response(1)
    else {
        panic!("a Gaussian")
    };
    assert!((lag - 0.5 * (ann + bo)).abs() < 1e-14);
    assert!((width - (separate.response_values[0] * separate.response_values[2]).sqrt()).abs() < 1e-14);
    let (_, loose) = learn(&apart, ResponsePooling::Partial { strength: 0.01 }, WIDE);
    let (_, tight) = learn(&apart, ResponsePooling::Partial { strength: 1e4 }, WIDE);
    let spread = |fit: &Solution| (lags(fit)[1] - lags(fit)[0]).abs();
    assert!(spread(&loose) < spread(&separate) && spread(&tight) < 1e-3 * spread(&loose));
}

#[test]
fn parameters_at_bounds_are_reported() {
    let data = planted([gaussian(1.5, 1.2), gaussian(1.5, 1.2)], false);
    let (problem, fit) = learn(&data, ResponsePooling::Shared, [(0.5, 1.1), (-1.0, 3.0)]);
    assert_eq!(fit.responses_at_bounds, [0]);
    assert_eq!(fit.response_values[0], 1.1);
    assert_eq!(problem.response_name(0).unwrap().parameter, "width");
    assert!(fit.stationarity.response_largest < 1e-5);
}

#[test]
fn lag_only_learns_the_lag_only() {
    let response = LearnedResponse::lag_only(gaussian(1.5, 0.5));
    assert_eq!(response.bounds, [None, Some((-1.5, 2.5))]);
    assert!(LearnedResponse::lag_only(Response::Identity).free_parameters().is_empty());
    let data = planted([gaussian(1.5, 1.2), gaussian(1.5, 1.2)], false);
    let all = [LearnedResponse::fixed(Response::Identity), response];
    let problem = Problem::with_learned(&data, &Options::new(1, 0.4), &all).unwrap();
    assert_eq!(problem.response_count(), 1);
    let fit = solve(&problem, &SolveOptions { start: Start::Spectral, ..SolveOptions::default() }, None).unwrap();
    assert!((fit.response_values[0] - 1.2).abs() < 0.05);
}

/// Fitted values by names of stream and feature, in original units, and learned parameters by name.
fn outcome(recording: &Recording, (problem, fit): &(Problem, Solution)) -> Vec<(String, Vec<f64>)> {
    let learned = problem.at_responses(&fit.response_values).unwrap();
    let mut out: Vec<(String, Vec<f64>)> = Vec::new();
    for s in &recording.streams {
        let (p, m) = (&recording.participants[s.participant], &recording.modalities[s.modality]);
        let r = &recording.runs[s.run];
        let series = predict((&learned, &fit.loadings), (&learned, &fit.latents), p, m, r, &s.times).unwrap();
        for (f, name) in series.columns.iter().enumerate() {
            let own = series.values.iter().skip(f).step_by(series.columns.len()).copied().filter(|v| !v.is_nan());
            out.push((format!("{p} {m} {r} {name}"), own.collect()));
        }
    }
    for (i, v) in fit.response_values.iter().enumerate() {
        out.push((format!("{:?}", problem.response_name(i).unwrap()), vec![*v]));
    }
    out.sort_by(|a, b| a.0.cmp(&b.0));
    out
}

fn same(before: &[(String, Vec<f64>)], after: &[(String, Vec<f64>)], tolerance: f64) {
    assert_eq!(before.len(), after.len());
    for ((name, a), (other, b)) in before.iter().zip(after) {
        assert_eq!(name, other);
        assert!(distance(a, b) < tolerance, "{name} {:e}", distance(a, b));
    }
}

#[test]
fn units_offsets_and_orders_leave_learned_responses_unchanged() {
    let plain = planted([gaussian(1.5, 0.6), gaussian(1.2, 1.5)], false);
    let before = outcome(&plain, &learn(&plain, ResponsePooling::Separate, WIDE));
    let mut moved = plain.clone();
    for s in &mut moved.streams {
        s.values.chunks_exact_mut(3).for_each(|row| {
            row[0] = row[0] * 1e6 + 3.0;
            row[2] += 40.0;
        });
    }
    let mut after = outcome(&moved, &learn(&moved, ResponsePooling::Separate, WIDE));
    for (name, values) in after.iter_mut().filter(|(n, _)| !n.starts_with("ResponseName")) {
        match name.as_bytes().last() {
            Some(b'a') => values.iter_mut().for_each(|v| *v = (*v - 3.0) / 1e6),
            Some(b'c') => values.iter_mut().for_each(|v| *v -= 40.0),
            _ => {}
        }
    }
    same(&before, &after, 1e-6);

    let mut turned = plain.clone();
    turned.participants.reverse();
    turned.modalities.reverse();
    for s in &mut turned.streams {
        s.participant = 1 - s.participant;
        s.modality = 1 - s.modality;
        s.features.reverse();
        s.values.chunks_exact_mut(3).for_each(<[f64]>::reverse);
    }
    turned.streams.sort_by_key(|s| (s.participant, s.run, s.modality));
    same(&before, &outcome(&turned, &learn(&turned, ResponsePooling::Separate, WIDE)), 1e-6);
}

#[test]
fn a_recording_split_into_two_runs_finds_the_same_curves() {
    let curves = || [gaussian(1.5, 1.2), gaussian(1.5, 1.2)];
    let (_, whole) = learn(&planted(curves(), false), ResponsePooling::Shared, WIDE);
    let mut halves = planted(curves(), true);
    let (_, split) = learn(&halves, ResponsePooling::Shared, WIDE);
    // The rows near the cut are lost, so the curves agree within what noise allows.
    assert!(distance(&whole.response_values, &split.response_values) < 0.05);
    halves.runs.reverse();
    halves.streams.iter_mut().for_each(|s| s.run = 1 - s.run);
    halves.streams.sort_by_key(|s| (s.participant, s.run, s.modality));
    let (_, turned) = learn(&halves, ResponsePooling::Shared, WIDE);
    assert!(distance(&split.response_values, &turned.response_values) < 1e-6);
}

#[test]
fn faulty_responses_are_refused() {
    let check = |change: &dyn Fn(&mut LearnedResponse)| {
        let mut response = responses()[0].clone();
        change(&mut response);
        let all = [response, responses()[1].clone()];
        Problem::with_learned(&recording(6, 2, 0.0), &Options::new(2, 0.8), &all).unwrap_err().to_string()
    };
    assert!(check(&|r| r.bounds[0] = Some((0.6, 0.9))).contains("outside its bounds"));
    assert!(check(&|r| r.bounds = vec![None]).contains("2 parameters"));
    assert!(check(&|r| r.pooling = ResponsePooling::Partial { strength: -1.0 }).contains("strength"));
    assert!(check(&|r| r.penalties[0].parameter = 2).contains("no parameter 2"));
    assert!(check(&|r| r.bounds[0] = None).contains("has no effect"));
    assert!(check(&|r| r.penalties[1].scale = PenaltyScale::Logarithm).contains("logarithmic"));
    assert!(check(&|r| r.penalties[1].precision = f64::NAN).contains("precision"));
    let double = LearnedResponse {
        bounds: vec![Some((5.0, 20.0)), None, None, None, None, None],
        ..LearnedResponse::fixed(build("double_gamma", &[]).unwrap())
    };
    assert!(matches!(double.check(), Err(LearnedError::MeanOrder { .. })));
    let count = Problem::with_learned(&recording(6, 2, 0.0), &Options::new(2, 0.8), &responses()[..1]);
    assert_eq!(count.unwrap_err(), GriddedError::ResponseCount { expected: 2, found: 1 });
    let v = problem().response_values();
    assert!(response_penalty_adjoint(&problem(), &v, 0.0, &mut vec![0.0; v.len()]) > 0.0);
}
