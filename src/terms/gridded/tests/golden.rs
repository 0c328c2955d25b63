//! Golden numbers: clock weights, every part of the objective, both steps, and whole fits with fixed responses.

use std::sync::Arc;

use serde_json::Value;

use super::super::diagnostics::{gradient, stationarity};
use super::super::objective::{balanced_squares_by_modality, ridge_latent, ridge_loadings, roughness};
use super::super::query::{infer_latent, latent_at, predict};
use super::super::start::spectral;
use super::super::steps::Steps;
use super::super::*;
use super::distance;
use super::reference::ReferenceRows;
use crate::data::{Recording, Stream};
use crate::response::{Response, build};

pub(super) fn read(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

pub(super) fn number(v: &Value) -> f64 {
    v.as_f64().unwrap_or(f64::NAN)
}

/// All numbers of nested arrays in reading order; what is not a number is NaN.
pub(super) fn flat(v: &Value) -> Vec<f64> {
    match v {
        Value::Array(items) => items.iter().flat_map(flat).collect(),
        other => vec![number(other)],
    }
}

pub(super) fn text(v: &Value) -> String {
    v.as_str().unwrap().to_owned()
}

fn index(names: &mut Vec<String>, name: String) -> usize {
    names.iter().position(|n| *n == name).unwrap_or_else(|| {
        names.push(name);
        names.len() - 1
    })
}

pub(super) fn recording(data: &Value) -> Recording {
    let (mut participants, mut runs, mut modalities) = (Vec::new(), Vec::new(), Vec::new());
    let mut streams: Vec<Stream> = data
        .as_array()
        .unwrap()
        .iter()
        .map(|s| {
            let times = flat(&s["times"]);
            let values = flat(&s["values"]);
            Stream {
                participant: index(&mut participants, text(&s["participant"])),
                run: index(&mut runs, text(&s["run"])),
                modality: index(&mut modalities, text(&s["modality"])),
                features: (0..values.len() / times.len()).map(|f| format!("f{f}")).collect(),
                times,
                values,
            }
        })
        .collect();
    streams.sort_by_key(|s| (s.participant, s.run, s.modality));
    Recording { participants, runs, modalities, streams }
}

/// A loading vector in the problem's order from {participant: {modality: F x K}}.
pub(super) fn loadings(problem: &Problem, v: &Value) -> Vec<f64> {
    let pairs = problem.pairs.iter();
    pairs.flat_map(|p| flat(&v[&p.participant][&p.modality])).collect()
}

pub(super) fn latents(problem: &Problem, v: &Value, key: impl Fn(&str) -> String) -> Vec<f64> {
    let runs = problem.runs.iter();
    runs.flat_map(|r| flat(&v[key(&r.name)])).collect()
}

#[test]
fn clock_weights_match() {
    let golden = read(include_str!("../../../../tests/golden/r_time_weights.json"));
    for case in golden["cases"].as_array().unwrap() {
        let weights = clock_weights(&flat(&case["times"]), case["gap_threshold"].as_f64());
        assert!(distance(&weights, &flat(&case["weights"])) < 1e-15);
    }
}

/// Rows of a response of fixed parameters.
pub(super) fn rows(response: &Response) -> Arc<dyn ObservationRows> {
    Arc::new(ResponseRows::new(response).unwrap())
}

/// The responses of the golden fits: brain Gaussian(0.6, 0.4), rate Gamma(3, 0.3) at lag 0.1, eye identity.
pub(super) fn fixed_response(modality: &str) -> Response {
    match modality {
        "brain" => build("gaussian", &[("width", 0.6), ("lag", 0.4)]),
        "rate" => build("gamma", &[("shape", 3.0), ("scale", 0.3), ("lag", 0.1)]),
        _ => build("identity", &[]),
    }
    .unwrap()
}

/// The problem of a golden fit with the given rows for the gamma response.
fn fixed_problem(golden: &Value, gamma_rows: &dyn Fn(&Response) -> Arc<dyn ObservationRows>) -> Problem {
    let recording = recording(&golden["data"]);
    let settings = &golden["settings"];
    let mut options = Options::new(settings["features"].as_u64().unwrap() as usize, number(&settings["latent_dt"]));
    if settings["loading_penalty_scaling"] == "feature" {
        options.loading_scaling = LoadingScaling::Feature;
    }
    let modalities = recording.modalities.clone();
    Problem::with_responses(&recording, &options, &|_, m| {
        let response = fixed_response(&modalities[m]);
        if modalities[m] == "rate" { gamma_rows(&response) } else { rows(&response) }
    })
    .unwrap()
}

/// The golden fits integrate gamma curves by a coarse rule.
pub(super) fn coarse(response: &Response) -> Arc<dyn ObservationRows> {
    Arc::new(ReferenceRows::new(response))
}

pub(super) fn strengths(settings: &Value) -> Strengths {
    let default = Strengths::default();
    let or = |key: &str, v: f64| settings[key].as_f64().unwrap_or(v);
    Strengths {
        loading: or("loading_ridge", default.loading),
        latent: or("latent_ridge", default.latent),
        roughness: or("temporal_strength", default.roughness),
        coupling: or("latent_strength", default.coupling),
    }
}

/// Runs a golden fit, a random one from the loadings that were drawn there, and compares everything it reports.
fn check_fit(file: &str, start: Start, tolerance: f64) {
    let golden = read(file);
    let problem = fixed_problem(&golden, &coarse);
    let settings = &golden["settings"];
    let start = match start {
        Start::Random => Start::Loadings(loadings(&problem, &golden["initial_loadings"])),
        other => other,
    };
    let options = SolveOptions {
        strengths: strengths(settings),
        start,
        max_iterations: settings["max_iter"].as_u64().unwrap() as usize,
        tolerance: number(&settings["tol"]),
        ..SolveOptions::default()
    };
    let fit = solve(&problem, &options, None).unwrap();
    let head = flat(&golden["objective_history_head"]);
    assert!(distance(&fit.history[..head.len()], &head) < tolerance);
    assert_eq!(fit.iterations as u64, golden["iterations"].as_u64().unwrap());
    assert_eq!(fit.converged(), golden["converged"].as_bool().unwrap());
    let last = *fit.history.last().unwrap();
    assert!((last - number(&golden["objective_final"])).abs() < tolerance);
    assert!((last - fit.components.total).abs() < 1e-13);

    let parts = &golden["components"];
    for (name, value) in problem.modalities.iter().zip(&fit.components.reconstruction_by_modality) {
        let wanted = number(&parts["reconstruction_by_modality"][name]);
        assert!((value - wanted).abs() < tolerance);
    }
    let ridge = fit.components.loading_ridge - number(&parts["loading_penalty"]);
    assert!(ridge.abs() < tolerance);
    let latent = fit.components.latent_ridge + fit.components.roughness;
    assert!((latent - number(&parts["latent_penalty"])).abs() < tolerance);

    let wanted = &golden["stationarity"];
    let s = fit.stationarity;
    assert!((s.loading_relative - number(&wanted["loading_relative_residual"])).abs() < 1e-9);
    assert!((s.latent_relative - number(&wanted["latent_relative_residual"])).abs() < 1e-9);
    assert!((s.loading_largest - number(&wanted["loading_max_abs_gradient"])).abs() < 1e-9);
    assert!((s.latent_largest - number(&wanted["latent_max_abs_gradient"])).abs() < 1e-9);

    let w = loadings(&problem, &golden["loadings"]);
    let z = latents(&problem, &golden["latents"], str::to_owned);
    // The parameters follow the objective's flat directions, so rounding shows there first.
    assert!(distance(&fit.loadings, &w) < 100.0 * tolerance);
    assert!(distance(&fit.latents, &z) < 100.0 * tolerance);
    check_new_run(&golden, &problem, &options.strengths, &w);
}

/// A new run: the latent from all streams, and predictions within, across and both.
fn check_new_run(golden: &Value, problem: &Problem, strengths: &Strengths, w: &[f64]) {
    let new = recording(&golden["new_run"]["data"]);
    let query = flat(&golden["new_run"]["query"]);
    let infer = |keep: &dyn Fn(&str, &str) -> bool| {
        let mut kept = new.clone();
        kept.streams.retain(|s| keep(&new.participants[s.participant], &new.modalities[s.modality]));
        infer_latent(problem, w, strengths, &kept).unwrap()
    };
    let (conditioned, z) = infer(&|_, _| true);
    let series = latent_at(&conditioned, &z, "q1", &query).unwrap();
    let wanted = &golden["new_run"]["infer_latent"]["p1"];
    assert!(distance(&series.values, &flat(&wanted["values"])) < 1e-9);

    for source in ["within", "across", "both"] {
        // The target is p1's brain; nobody else's brain is a target, so it stays a source.
        let (conditioned, z) = infer(&|p, m| {
            let own = p == "p1";
            let allowed = match source {
                "within" => own,
                "across" => !own,
                _ => true,
            };
            allowed && !(own && m == "brain")
        });
        let at = (&conditioned, z.as_slice());
        let series = predict((problem, w), at, "p1", "brain", "q1", &query).unwrap();
        let wanted = &golden["new_run"][format!("predict_{source}")];
        let valid: Vec<bool> = wanted["valid"].as_array().unwrap().iter().map(|v| v.as_bool().unwrap()).collect();
        assert_eq!(series.valid, valid, "{source}");
        for (a, b) in series.values.iter().zip(flat(&wanted["values"])) {
            assert!(a.is_nan() == b.is_nan() && (a.is_nan() || (a - b).abs() < 1e-9));
        }
    }
}

#[test]
fn fit_with_one_factor_matches() {
    let file = include_str!("../../../../tests/golden/r_fit_k1_fixed.json");
    check_fit(file, Start::Random, 1e-11);
}

#[test]
fn trajectory_of_four_hundred_iterations_matches() {
    let file = include_str!("../../../../tests/golden/r_fit_k3_fixed.json");
    check_fit(file, Start::Random, 1e-11);
}

#[test]
fn fit_from_a_spectral_start_matches() {
    let file = include_str!("../../../../tests/golden/r_fit_k3_spectral_feature.json");
    check_fit(file, Start::Spectral, 1e-11);
}

#[test]
fn converged_gamma_rows_move_a_golden_fit_no_further_than_the_coarse_rule_is_off() {
    let golden = read(include_str!("../../../../tests/golden/r_fit_k1_fixed.json"));
    let options = |problem: &Problem| SolveOptions {
        strengths: strengths(&golden["settings"]),
        start: Start::Loadings(loadings(problem, &golden["initial_loadings"])),
        max_iterations: golden["settings"]["max_iter"].as_u64().unwrap() as usize,
        tolerance: number(&golden["settings"]["tol"]),
        ..SolveOptions::default()
    };
    let problem = fixed_problem(&golden, &rows);
    let fit = solve(&problem, &options(&problem), None).unwrap();
    let wanted = number(&golden["objective_final"]);
    assert!((fit.components.total - wanted).abs() < 1e-7 * wanted);
    assert!(fit.components.total != wanted);
}

#[test]
fn parts_gradients_steps_and_spectral_start_match() {
    let golden = read(include_str!("../../../../tests/golden/r_objective_k3.json"));
    let recording = recording(&golden["data"]);
    let (participants, modalities) = (&recording.participants, &recording.modalities);
    let mut options = Options::new(3, number(&golden["latent_dt"]));
    let weight = |m: &String| number(&golden["modality_weights"][m]);
    options.modality_weights = Some(modalities.iter().map(weight).collect());
    let problem = Problem::with_responses(&recording, &options, &|p, m| {
        let kernel = &golden["kernels"][&participants[p]][&modalities[m]]["parameters"];
        let lag = number(&kernel["lag"]);
        match modalities[m].as_str() {
            "brain" => {
                let response = build("gaussian", &[("width", number(&kernel["width"])), ("lag", lag)]).unwrap();
                // The width is bounded by 0.3 and 0.9, the lag by -0.4 and 1.2.
                let envelope = response.envelope(&[Some((0.3, 0.9)), Some((-0.4, 1.2))]).unwrap();
                Arc::new(ResponseRows::with_envelope(&response, envelope).unwrap())
            }
            "rate" => {
                let given = [("shape", 3.0), ("scale", number(&kernel["scale"])), ("lag", lag)];
                let response = build("gamma", &given).unwrap();
                let envelope = response.envelope(&[None, Some((0.2, 0.4)), Some((-0.3, 0.5))]).unwrap();
                Arc::new(ReferenceRows::with_envelope(&response, envelope))
            }
            _ => rows(&Response::Identity),
        }
    })
    .unwrap();
    for pair in &problem.pairs {
        let wanted = &golden["preprocessing"][&pair.participant][&pair.modality];
        let means: Vec<f64> = pair.scales.iter().map(|s| s.mean).collect();
        let sds: Vec<f64> = pair.scales.iter().map(|s| s.sd).collect();
        assert!(distance(&means, &flat(&wanted["mean"])) < 1e-14);
        assert!(distance(&sds, &flat(&wanted["scale"])) < 1e-14);
    }
    for block in golden["block_coefficients"].as_array().unwrap() {
        let pair = problem.pair_index(&text(&block["participant"]), &text(&block["modality"])).unwrap();
        let run = problem.run_index(&text(&block["run"])).unwrap();
        let pair = &problem.pairs[pair];
        let segment = pair.segments.iter().find(|s| s.run == run).unwrap();
        let mut wanted = flat(&block["c_row_max"]);
        let valid = block["valid"].as_array().unwrap();
        let mut at = valid.iter();
        wanted.retain(|_| at.next().unwrap().as_bool().unwrap());
        assert!(distance(&pair.weights[segment.rows.clone()], &wanted) < 1e-15);
    }

    let evaluation = &golden["evaluation"];
    let strengths = strengths(&golden["hyper"]);
    let w = loadings(&problem, &golden["loadings"]);
    let key = |run: &str| format!("p1|{run}");
    let z = latents(&problem, &evaluation["latents"], key);
    let parts = &evaluation["components"];
    let values = balanced_squares_by_modality(&problem, &w, &z);
    for (name, value) in modalities.iter().zip(values) {
        let wanted = number(&parts["reconstruction_by_modality"][name]);
        assert!((value - wanted).abs() < 1e-11, "{name}");
    }
    let ridge = strengths.loading * ridge_loadings(&problem, &w);
    assert!((ridge - number(&parts["loading_penalty"])).abs() < 1e-15);
    let latent = strengths.latent * ridge_latent(&problem, &z) + strengths.roughness * roughness(&problem, &z);
    assert!((latent - number(&parts["latent_penalty"])).abs() < 1e-14);

    let (gw, gz) = gradient(&problem, &strengths, &w, &z);
    let wanted = loadings(&problem, &evaluation["loading_gradient"]);
    assert!(distance(&gw, &wanted) < 1e-11);
    let wanted = latents(&problem, &evaluation["latent_gradient"], key);
    assert!(distance(&gz, &wanted) < 1e-11);
    let s = stationarity(&problem, &strengths, &w, &z).unwrap();
    let wanted = &evaluation["stationarity"];
    assert!((s.loading_relative - number(&wanted["loading_relative_residual"])).abs() < 1e-10);
    assert!((s.latent_relative - number(&wanted["latent_relative_residual"])).abs() < 1e-10);
    assert!((s.scale_imbalance - number(&wanted["relative_scale_imbalance"])).abs() < 1e-14);

    let steps = Steps::new(&problem, strengths);
    let mut states = steps.states_of(&w);
    let mut solved = vec![0.0; z.len()];
    steps.latent_step(&steps.geometry(), &states, &mut solved).unwrap();
    let wanted = latents(&problem, &evaluation["solved_latents"], key);
    assert!(distance(&solved, &wanted) < 1e-9);
    let mut signals = steps.empty_signals();
    steps.signals(&steps.geometry(), &z, &mut signals);
    steps.loading_step(&signals, &mut states).unwrap();
    let wanted = loadings(&problem, &evaluation["solved_loadings"]);
    assert!(distance(&steps.loadings_of(&states), &wanted) < 1e-9);
    let patterns = spectral(&problem).unwrap().unwrap();
    let wanted = latents(&problem, &evaluation["spectral_init"], key);
    assert!(distance(&patterns, &wanted) < 1e-9);
}
