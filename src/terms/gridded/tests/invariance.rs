//! What must not change a solution, and what a solution must find: units, offsets, orders, threads, a planted latent.

use std::sync::atomic::AtomicBool;

use super::super::query::{path_on_grid, predict};
use super::super::*;
use super::{distance, planted, recording, recording_with_noise};
use crate::data::{Recording, Stream};

fn fit(recording: &Recording, factors: usize, start: Start) -> (Problem, Solution) {
    let problem = Problem::new(recording, &Options::new(factors, 0.8)).unwrap();
    let options = SolveOptions { start, ..SolveOptions::default() };
    let solution = solve(&problem, &options, None).unwrap();
    (problem, solution)
}

/// Fitted values of every stream at its own times, with the names of the stream.
fn fitted(recording: &Recording, (problem, solution): &(Problem, Solution)) -> Vec<(String, Vec<f64>)> {
    let mut out: Vec<_> = recording
        .streams
        .iter()
        .map(|s| {
            let p = &recording.participants[s.participant];
            let (m, r) = (&recording.modalities[s.modality], &recording.runs[s.run]);
            let w = (problem, solution.loadings.as_slice());
            let z = (problem, solution.latents.as_slice());
            let series = predict(w, z, p, m, r, &s.times).unwrap();
            (format!("{p} {m} {r}"), series.values)
        })
        .collect();
    out.sort_by(|a, b| a.0.cmp(&b.0));
    out
}

fn map_values(recording: &Recording, change: impl Fn(&Stream, usize, f64) -> f64) -> Recording {
    let mut changed = recording.clone();
    for s in &mut changed.streams {
        let before = s.clone();
        let features = s.features.len();
        for (i, v) in s.values.iter_mut().enumerate() {
            *v = change(&before, i % features, *v);
        }
    }
    changed
}

#[test]
fn offsets_and_units_leave_the_latent_unchanged() {
    let plain = recording(3, 2, 0.1);
    let (_, before) = fit(&plain, 2, Start::Spectral);
    let moved = map_values(&plain, |_, f, v| v + 50.0 * (f as f64 + 1.0));
    let (_, after) = fit(&moved, 2, Start::Spectral);
    assert!(distance(&before.latents, &after.latents) < 1e-10);
    assert!(distance(&before.loadings, &after.loadings) < 1e-10);
    let scaled = map_values(&plain, |s, f, v| v * [1e-20, 3.7e6, 0.25][(f + s.participant) % 3]);
    let (problem, after) = fit(&scaled, 2, Start::Spectral);
    assert!(problem.notices.is_empty());
    assert!(distance(&before.latents, &after.latents) < 1e-10);
    assert!(distance(&before.loadings, &after.loadings) < 1e-10);
}

#[test]
fn orders_of_names_leave_the_fit_unchanged() {
    let plain = recording(4, 2, 0.1);
    let mut turned = plain.clone();
    turned.participants.reverse();
    turned.modalities.reverse();
    turned.runs.reverse();
    for s in &mut turned.streams {
        s.participant = 2 - s.participant;
        s.modality = 1 - s.modality;
        s.run = 1 - s.run;
        let features = s.features.len();
        s.features.reverse();
        s.values.chunks_exact_mut(features).for_each(<[f64]>::reverse);
    }
    turned.streams.sort_by_key(|s| (s.participant, s.run, s.modality));
    let before = fitted(&plain, &fit(&plain, 2, Start::Spectral));
    let after = fitted(&turned, &fit(&turned, 2, Start::Spectral));
    for ((name, a), (other, b)) in before.iter().zip(&after) {
        assert_eq!(name, other);
        let features = if name.contains("face") { 4 } else { 3 };
        let mut b = b.clone();
        b.chunks_exact_mut(features).for_each(<[f64]>::reverse);
        assert!(distance(a, &b) < 1e-9, "{name}");
    }
}

#[test]
fn features_of_a_run_are_found_by_name() {
    let plain = recording(5, 1, 0.1);
    let mut turned = plain.clone();
    let stream = turned.streams.iter_mut().find(|s| s.run == 1).unwrap();
    let features = stream.features.len();
    stream.features.reverse();
    stream.values.chunks_exact_mut(features).for_each(<[f64]>::reverse);
    let (_, before) = fit(&plain, 1, Start::Spectral);
    let (_, after) = fit(&turned, 1, Start::Spectral);
    assert_eq!(before.latents, after.latents);
}

#[test]
fn a_feature_absent_from_a_run_equals_a_missing_column() {
    let plain = recording(6, 1, 0.0);
    let mut absent = plain.clone();
    let mut masked = plain;
    let place = absent.streams.iter().position(|s| s.run == 1).unwrap();
    let stream = &mut absent.streams[place];
    let features = stream.features.len();
    stream.features.pop();
    let kept = stream.values.chunks_exact(features);
    stream.values = kept.flat_map(|row| row[..features - 1].to_vec()).collect();
    for row in masked.streams[place].values.chunks_exact_mut(features) {
        row[features - 1] = f64::NAN;
    }
    let (_, a) = fit(&absent, 1, Start::Random);
    let (_, b) = fit(&masked, 1, Start::Random);
    assert_eq!(a.latents, b.latents);
}

#[test]
fn threads_leave_every_bit_unchanged() {
    let data = recording(8, 2, 0.1);
    let problem = Problem::new(&data, &Options::new(2, 0.8)).unwrap();
    let run = |threads: usize, start: Start| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let options = SolveOptions { start, restarts: 5, seed: 11, ..SolveOptions::default() };
        pool.install(|| solve(&problem, &options, None)).unwrap()
    };
    for start in [Start::Random, Start::Hybrid] {
        assert_eq!(run(1, start.clone()), run(4, start));
    }
}

#[test]
fn the_best_restart_has_the_lowest_objective() {
    let data = recording(9, 3, 0.1);
    let problem = Problem::new(&data, &Options::new(3, 0.8)).unwrap();
    let options = SolveOptions { start: Start::Hybrid, restarts: 6, max_iterations: 15, ..SolveOptions::default() };
    let fit = solve(&problem, &options, None).unwrap();
    let ends: Vec<f64> = fit.restarts.iter().map(|r| r.outcome.clone().unwrap().objective).collect();
    assert_eq!(ends.len(), 6);
    assert!(ends.iter().all(|e| *e >= ends[fit.best_restart]));
    assert!(ends.iter().any(|e| *e > ends[fit.best_restart]));
    assert_eq!(fit.history.last(), Some(&ends[fit.best_restart]));
    assert_eq!(fit.restarts[0].start, StartUsed::Spectral);
    assert_eq!(fit.restarts[1].start, StartUsed::Random);
}

#[test]
fn the_objective_never_rises() {
    for missing in [0.0, 0.3] {
        let data = recording(10, 3, missing);
        let problem = Problem::new(&data, &Options::new(3, 0.8)).unwrap();
        let options = SolveOptions { tolerance: 0.0, max_iterations: 300, ..SolveOptions::default() };
        let fit = solve(&problem, &options, None).unwrap();
        assert!(fit.history.windows(2).all(|w| w[1] <= w[0] + 1e-13));
        assert!(fit.history[0] > 2.0 * fit.history[fit.iterations]);
        assert!(fit.stationarity.scale_imbalance < 1e-12);
    }
}

#[test]
fn a_planted_latent_is_recovered() {
    let data = recording_with_noise(12, 1, 0.1, 0.01);
    let (problem, solution) = fit(&data, 1, Start::Random);
    assert!(solution.converged());
    let (mut found, mut truth) = (Vec::new(), Vec::new());
    for (r, run) in ["day1", "day2"].iter().enumerate() {
        let series = path_on_grid(&problem, &solution.latents, run, 0).unwrap();
        for ((t, z), valid) in series.times.iter().zip(&series.values).zip(&series.valid) {
            // Nothing was observed in the gap.
            if *valid && !(11.5..15.5).contains(t) {
                found.push(*z);
                truth.push(planted(*t, r, 0));
            }
        }
    }
    // Standardising took the features' means, so the latent is known up to its own.
    let centred = |v: &[f64]| -> Vec<f64> {
        let mean = v.iter().sum::<f64>() / v.len() as f64;
        v.iter().map(|x| x - mean).collect()
    };
    let (a, b) = (centred(&found), centred(&truth));
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let correlation = product(&a, &b) / (product(&a, &a) * product(&b, &b)).sqrt();
    assert!(correlation.abs() > 0.999, "{correlation}");
}

#[test]
fn constant_features_are_named_and_harmless() {
    let plain = recording(13, 1, 0.0);
    for value in [0.0, 1000.1] {
        let data = map_values(&plain, |s, _, v| if s.participant == 1 { value } else { v });
        let (problem, solution) = fit(&data, 1, Start::Spectral);
        assert_eq!(problem.notices.len(), 7);
        assert!(problem.notices.iter().all(|n| matches!(
            n,
            Notice::Constant { participant, .. } if participant == "bo"
        )));
        assert!(solution.latents.iter().all(|v| v.is_finite()));
        for (name, values) in fitted(&data, &(problem, solution)) {
            assert!(values.iter().all(|v| v.is_finite()));
            if name.starts_with("bo") {
                assert!(values.iter().all(|v| (v - value).abs() <= 1e-12 * value));
            }
        }
    }
}

#[test]
fn an_interrupt_keeps_the_start_of_the_first_restart() {
    let data = recording(14, 1, 0.0);
    let problem = Problem::new(&data, &Options::new(1, 0.8)).unwrap();
    let options = SolveOptions { restarts: 3, ..SolveOptions::default() };
    let stop = AtomicBool::new(true);
    let solution = solve(&problem, &options, Some(&stop)).unwrap();
    assert_eq!(solution.termination, Termination::Interrupted);
    assert_eq!((solution.iterations, solution.restarts.len()), (0, 1));
    assert!(!solution.converged());
    let stop = AtomicBool::new(false);
    let whole = solve(&problem, &options, Some(&stop)).unwrap();
    assert_eq!(whole.restarts.len(), 3);
}

#[test]
fn a_spectral_start_without_rank_falls_back() {
    let mut data = recording(15, 1, 0.0);
    // Every stream is one level in the first run and another in the second, so there is no second pattern.
    for s in &mut data.streams {
        s.values.fill(if s.run == 0 { 1.0 } else { -1.0 });
    }
    data.streams.retain(|s| s.participant == 0 && s.modality == 0);
    let problem = Problem::new(&data, &Options::new(2, 0.8)).unwrap();
    let options = SolveOptions { start: Start::Spectral, ..SolveOptions::default() };
    let fit = solve(&problem, &options, None).unwrap();
    assert_eq!(fit.restarts[0].start, StartUsed::RandomForRank { rank: 1 });
}
