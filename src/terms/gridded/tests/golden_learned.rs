//! Golden numbers of learned responses, latent poolings and calibrations.

use std::sync::Arc;

use serde_json::Value;

use super::super::diagnostics::{components, gradient, stationarity};
use super::super::objective::{Scratch, balanced_squares, coupling, ridge_latent, ridge_loadings, roughness};
use super::super::query::{infer_latent, latent_of, predict};
use super::super::response_objective::response_penalty_adjoint;
use super::super::steps::Steps;
use super::super::*;
use super::distance;
use super::golden::{coarse, fixed_response, flat, latents, loadings, number, read, recording, rows, strengths, text};
use super::reference::ReferenceRows;
use crate::response::{Response, build};

/// The response that a golden file describes, with its bounds, pooling and priors.
fn learned(entry: &Value) -> LearnedResponse {
    let family = entry["family"].as_str().unwrap().to_lowercase();
    let parameters = entry["parameters"].as_object().unwrap();
    let given: Vec<(&str, f64)> = parameters.iter().map(|(k, v)| (k.as_str(), number(v))).collect();
    let initial = build(&family, &given).unwrap();
    let names: Vec<&str> = initial.family().parameters.iter().map(|p| p.name).collect();
    let bounds: Vec<Option<(f64, f64)>> =
        (names.iter()).map(|name| entry["bounds"][name].as_array().map(|b| (number(&b[0]), number(&b[1])))).collect();
    let at = |name: &str| names.iter().position(|n| *n == name).unwrap();
    let mut penalties = Vec::new();
    if let Some(prior) = entry["lag_prior"].as_object() {
        let (center, precision) = (number(&prior["mean"]), number(&prior["sd"]).powi(-2));
        penalties.push(Penalty { parameter: at("lag"), scale: PenaltyScale::Value, center, precision });
    }
    if let Some(prior) = entry["prior"].as_object() {
        for (name, v) in prior["reference"].as_object().unwrap() {
            assert_ne!(name, "lag");
            let (center, precision) = (number(v).ln(), number(&prior["strength"]));
            penalties.push(Penalty { parameter: at(name), scale: PenaltyScale::Logarithm, center, precision });
        }
    }
    let pooling = match entry["pooling"].as_str().unwrap() {
        "shared" => ResponsePooling::Shared,
        "partial" => ResponsePooling::Partial { strength: number(&entry["pooling_strength"]) },
        _ => ResponsePooling::Separate,
    };
    LearnedResponse { initial, bounds, pooling, penalties }
}

/// Values of the learned parameters out of {participant: {modality: {parameters}}}.
fn values(problem: &Problem, kernels: &Value) -> Vec<f64> {
    let names = (0..problem.response_count()).map(|i| problem.response_name(i).unwrap());
    names.map(|n| number(&kernels[n.participant.unwrap()][n.modality]["parameters"][n.parameter])).collect()
}

fn affinity(v: &Value) -> Affinity {
    let mut edges: Vec<(String, String, f64)> = Vec::new();
    for (a, row) in v.as_object().unwrap() {
        for (b, value) in row.as_object().unwrap() {
            if !edges.iter().any(|(x, y, _)| (x, y) == (b, a)) {
                edges.push((a.clone(), b.clone(), number(value)));
            }
        }
    }
    Affinity { edges }
}

/// The golden rows of a curve: those of gamma curves come from a coarse rule.
fn golden_rows(response: &Response, envelope: (f64, f64)) -> Arc<dyn ObservationRows> {
    match response {
        Response::Gamma { .. } => Arc::new(ReferenceRows::with_envelope(response, envelope)),
        _ => Arc::new(ResponseRows::with_envelope(response, envelope).unwrap()),
    }
}

/// The problem with the curves of `kernels`, as the golden file has their rows.
fn problem_of(golden: &Value, options: &Options) -> Problem {
    let data = recording(&golden["data"]);
    let (participants, modalities) = (data.participants.clone(), data.modalities.clone());
    Problem::with_responses(&data, options, &|p, m| {
        let entry = learned(&golden["responses"][&modalities[m]]);
        let mut kernel = golden["kernels"][&participants[p]][&modalities[m]].clone();
        kernel["pooling"] = "shared".into();
        golden_rows(&learned(&kernel).initial, entry.envelope().unwrap())
    })
    .unwrap()
}

fn key(problem: &Problem, track: usize) -> String {
    let t = &problem.tracks[track];
    format!("{}|{}", problem.participants[problem.groups[t.group][0]], problem.runs[t.run].name)
}

fn paths(problem: &Problem, v: &Value) -> Vec<f64> {
    (0..problem.tracks.len()).flat_map(|t| flat(&v[key(problem, t)])).collect()
}

#[test]
fn the_objective_of_every_pooling_matches() {
    let golden = read(include_str!("../../../../tests/golden/r_objective_k1.json"));
    let strengths = strengths(&golden["hyper"]);
    let evaluations = golden["evaluations"].as_array().unwrap();
    assert_eq!(evaluations.len(), 5);
    for evaluation in evaluations {
        let pooling = evaluation["pooling"].as_str().unwrap();
        let mut options = Options::new(1, number(&golden["latent_dt"]));
        let modalities = recording(&golden["data"]).modalities;
        options.modality_weights = Some(modalities.iter().map(|m| number(&golden["modality_weights"][m])).collect());
        options.latent_pooling = match pooling {
            "population" => LatentPooling::Population,
            "neighborhood" => LatentPooling::Neighborhood(affinity(&golden["affinity_neighborhood"])),
            "components" => LatentPooling::Components(affinity(&golden["affinity_components"])),
            _ => LatentPooling::Shared,
        };
        if evaluation["loading_penalty_scaling"] == "feature" {
            options.loading_scaling = LoadingScaling::Feature;
        }
        let problem = problem_of(&golden, &options);
        let groups: Vec<Vec<String>> = evaluation["latent_groups"]
            .as_array()
            .unwrap()
            .iter()
            .map(|g| g.as_array().unwrap().iter().map(text).collect())
            .collect();
        let own: Vec<Vec<String>> =
            problem.groups.iter().map(|g| g.iter().map(|&p| problem.participants[p].clone()).collect()).collect();
        assert_eq!(own, groups);
        let w = loadings(&problem, &golden["loadings"]);
        let z = match &evaluation["latents"] {
            Value::Null => paths(&problem, &evaluations[0]["latents"]),
            given => paths(&problem, given),
        };
        let wanted = &evaluation["components"];
        let near = |a: f64, b: &Value, what: &str| {
            assert!((a - number(b)).abs() <= 1e-11 * number(b).abs(), "{pooling} {what}: {a} {b}");
        };
        near(balanced_squares(&problem, &w, &z, &mut Scratch::new(&problem)), &wanted["reconstruction"], "squares");
        near(strengths.loading * ridge_loadings(&problem, &w), &wanted["loading_penalty"], "loadings");
        let latent = strengths.latent * ridge_latent(&problem, &z)
            + strengths.roughness * roughness(&problem, &z)
            + strengths.coupling * coupling(&problem, &z);
        near(latent, &wanted["latent_penalty"], "latent");
        let (gw, gz) = gradient(&problem, &strengths, &w, &z);
        assert!(distance(&gw, &loadings(&problem, &evaluation["loading_gradient"])) < 1e-11, "{pooling}");
        let steps = Steps::new(&problem, strengths);
        let mut states = steps.states_of(&w);
        if !evaluation["latent_gradient"].is_null() {
            assert!(distance(&gz, &paths(&problem, &evaluation["latent_gradient"])) < 1e-11, "{pooling}");
            let mut solved = vec![0.0; z.len()];
            steps.latent_step(&steps.geometry(), &states, &mut solved).unwrap();
            let gap = distance(&solved, &paths(&problem, &evaluation["solved_latents"]));
            assert!(gap < 1e-9, "{pooling} {gap:e}");
        }
        if !evaluation["solved_loadings"].is_null() {
            let mut signals = steps.empty_signals();
            steps.signals(&steps.geometry(), &z, &mut signals);
            steps.loading_step(&signals, &mut states).unwrap();
            let wanted = loadings(&problem, &evaluation["solved_loadings"]);
            assert!(distance(&steps.loadings_of(&states), &wanted) < 1e-9, "{pooling}");
        }
        if !evaluation["spectral_init"].is_null() {
            let patterns = super::super::start::spectral(&problem).unwrap().unwrap();
            assert!(distance(&patterns, &paths(&problem, &evaluation["spectral_init"])) < 1e-9);
        }
        if evaluation["stationarity"].is_object() {
            let wanted = &evaluation["stationarity"];
            let s = stationarity(&problem, &strengths, &w, &z).unwrap();
            near(s.loading_relative, &wanted["loading_relative_residual"], "loadings");
            near(s.latent_relative, &wanted["latent_relative_residual"], "latents");
            near(s.scale_imbalance, &wanted["relative_scale_imbalance"], "scales");
        }
    }
}

#[test]
fn the_penalty_of_responses_matches() {
    let golden = read(include_str!("../../../../tests/golden/r_objective_k1.json"));
    let data = recording(&golden["data"]);
    let responses: Vec<LearnedResponse> = data.modalities.iter().map(|m| learned(&golden["responses"][m])).collect();
    let problem = Problem::with_learned(&data, &Options::new(1, number(&golden["latent_dt"])), &responses).unwrap();
    let v = values(&problem, &golden["kernels"]);
    let mut slopes = vec![0.0; v.len()];
    let penalty = response_penalty_adjoint(&problem, &v, 1.0, &mut slopes);
    let wanted = number(&golden["evaluations"][0]["components"]["kernel_penalty"]);
    assert!((penalty - wanted).abs() < 1e-14 * wanted);
    let entries = golden["kernel_penalty_gradient"].as_array().unwrap();
    let mut seen = 0;
    for (i, slope) in slopes.iter().enumerate() {
        let name = problem.response_name(i).unwrap();
        let entry = entries.iter().find(|e| {
            e["participant"] == name.participant.unwrap()
                && e["modality"] == name.modality
                && e["parameter"] == name.parameter
        });
        // The golden derivatives are in coordinates: logarithms, lags as they are.
        let chain = if name.parameter == "lag" { 1.0 } else { v[i] };
        assert!((slope * chain - number(&entry.unwrap()["value"])).abs() < 1e-12, "{name:?}");
        seen += 1;
    }
    assert_eq!(seen, 12);
}

/// The golden population fit: paths of their own, drawn to their mean, with fixed responses.
fn population() -> (Value, Problem) {
    let golden = read(include_str!("../../../../tests/golden/r_fit_k1_population.json"));
    let data = recording(&golden["data"]);
    let mut options = Options::new(1, number(&golden["settings"]["latent_dt"]));
    options.latent_pooling = LatentPooling::Population;
    let modalities = data.modalities.clone();
    let problem = Problem::with_responses(&data, &options, &|_, m| {
        let response = fixed_response(&modalities[m]);
        if modalities[m] == "rate" { coarse(&response) } else { rows(&response) }
    });
    (golden, problem.unwrap())
}

fn options_of(golden: &Value, problem: &Problem) -> SolveOptions {
    SolveOptions {
        strengths: strengths(&golden["settings"]),
        start: Start::Loadings(loadings(problem, &golden["initial_loadings"])),
        max_iterations: golden["settings"]["max_iter"].as_u64().unwrap() as usize,
        tolerance: number(&golden["settings"]["tol"]),
        ..SolveOptions::default()
    }
}

#[test]
fn a_population_fit_matches() {
    let (golden, problem) = population();
    let options = options_of(&golden, &problem);
    let fit = solve(&problem, &options, None).unwrap();
    let head = flat(&golden["objective_history_head"]);
    assert!(distance(&fit.history[..head.len()], &head) < 1e-11);
    assert_eq!(fit.iterations as u64, golden["iterations"].as_u64().unwrap());
    assert!((fit.components.total - number(&golden["objective_final"])).abs() < 1e-11);
    let latent = fit.components.latent_ridge + fit.components.roughness + fit.components.coupling;
    assert!((latent - number(&golden["components"]["latent_penalty"])).abs() < 1e-11);
    assert!(distance(&fit.loadings, &loadings(&problem, &golden["loadings"])) < 1e-8);
    let wanted = &golden["stationarity"];
    assert!((fit.stationarity.latent_largest - number(&wanted["latent_max_abs_gradient"])).abs() < 1e-10);
    check_new_run(&golden, &problem, &options.strengths, &loadings(&problem, &golden["loadings"]), 1e-9);
}

/// A new run: everybody's latent, and predictions within, across and both.
fn check_new_run(golden: &Value, problem: &Problem, strengths: &Strengths, w: &[f64], tolerance: f64) {
    let new = recording(&golden["new_run"]["data"]);
    let query = flat(&golden["new_run"]["query"]);
    let (conditioned, z) = infer_latent(problem, w, strengths, &new).unwrap();
    for (participant, wanted) in golden["new_run"]["infer_latent"].as_object().unwrap() {
        let series = latent_of(&conditioned, &z, participant, "q1", &query).unwrap();
        let gap = distance(&series.values, &flat(&wanted["values"]));
        assert!(gap < tolerance, "{participant} {gap:e}");
    }
    let targets = [Target { participant: "p1".into(), modality: "brain".into() }];
    for (name, source) in [("within", Source::Within), ("across", Source::Across), ("both", Source::Both)] {
        let made = predict_targets((problem, w), strengths, &new, &targets, source, Some(&query)).unwrap();
        assert_eq!(made.len(), 1);
        let wanted = &golden["new_run"][format!("predict_{name}")];
        let valid: Vec<bool> = wanted["valid"].as_array().unwrap().iter().map(|v| v.as_bool().unwrap()).collect();
        assert_eq!(made[0].series.valid, valid, "{name}");
        for (a, b) in made[0].series.values.iter().zip(flat(&wanted["values"])) {
            assert!(a.is_nan() == b.is_nan() && (a.is_nan() || (a - b).abs() < tolerance), "{name}: {a} {b}");
        }
        let used: Vec<(String, String)> = (wanted["used_sources"].as_array().unwrap().iter())
            .map(|s| (text(&s[0]), if s[1] == "q1" { text(&s[2]) } else { text(&s[1]) }))
            .collect();
        let mut own: Vec<(String, String)> =
            made[0].sources.iter().map(|c| (c.participant.clone(), c.modality.clone())).collect();
        let mut used = used;
        own.sort();
        used.sort();
        assert_eq!(own, used, "{name}");
    }
}

#[test]
fn calibrations_of_a_new_participant_match() {
    for file in [
        include_str!("../../../../tests/golden/r_fit_k1_fixed.json"),
        include_str!("../../../../tests/golden/r_fit_k1_population.json"),
        include_str!("../../../../tests/golden/r_fit_k3_fixed.json"),
    ] {
        let golden = read(file);
        let data = recording(&golden["data"]);
        let mut options = Options::new(golden["settings"]["features"].as_u64().unwrap() as usize, 0.5);
        if golden["settings"]["latent_pooling"] == "population" {
            options.latent_pooling = LatentPooling::Population;
        }
        let fixed: Vec<LearnedResponse> =
            data.modalities.iter().map(|m| LearnedResponse::fixed(fixed_response(m))).collect();
        let problem = Problem::with_learned(&data, &options, &fixed).unwrap();
        let new = recording(&golden["calibrate_training"]["data"]);
        let settings = options_of(&golden, &problem);
        let mut fit = solve(&problem, &settings, None).unwrap();
        if options.latent_pooling == LatentPooling::Shared {
            // The golden point itself: at three factors its fit was not at rest.
            fit.loadings = loadings(&problem, &golden["loadings"]);
            fit.latents = latents(&problem, &golden["latents"], str::to_owned);
        }
        let none = Affinity::default();
        let made =
            calibrate((&problem, &fit.loadings), &settings, &new, Reference::Training(&fit.latents), &none).unwrap();
        for pair in &made.problem.pairs {
            let wanted = flat(&golden["calibrate_training"]["loadings"][&pair.modality]);
            let gap = distance(&made.loadings[pair.loading_range(options.factors)], &wanted);
            let size = wanted.iter().fold(0.0f64, |m, v| m.max(v.abs()));
            // A lost row leaves an interval of twice the median here, which rounding made a gap in the golden clock.
            let gap_by_rounding = options.factors == 3 && pair.modality == "eye";
            // Converged gamma rows differ from the golden coarse ones.
            assert_eq!(gap < 1e-5 * size, !gap_by_rounding, "{} {gap:e}", pair.modality);
        }
        // The golden objective of a population also holds the penalties of the paths that stay.
        if options.latent_pooling == LatentPooling::Shared && options.factors == 1 {
            let wanted = flat(&golden["calibrate_training"]["objective_history"])[1];
            assert!((made.history.last().unwrap() - wanted).abs() < 1e-6 * wanted);
        }
        // Seen through donors on the same runs, who are the training data themselves.
        let mut joined = data.clone();
        joined.participants.push("p9".into());
        for s in &new.streams {
            let mut s = s.clone();
            s.participant = data.participants.len();
            s.modality = data.modalities.iter().position(|m| *m == new.modalities[s.modality]).unwrap();
            s.run = data.runs.iter().position(|r| *r == new.runs[s.run]).unwrap();
            joined.streams.push(s);
        }
        let through = calibrate((&problem, &fit.loadings), &settings, &joined, Reference::Donors, &none).unwrap();
        let steps = Steps::new(&problem, settings.strengths);
        let mut z = vec![0.0; problem.latent_count()];
        steps.latent_step(&steps.geometry(), &steps.states_of(&fit.loadings), &mut z).unwrap();
        let direct = calibrate((&problem, &fit.loadings), &settings, &new, Reference::Training(&z), &none).unwrap();
        assert!(distance(&through.loadings, &direct.loadings) < 1e-9);
    }
}

#[test]
fn a_calibration_learns_the_curves_that_are_not_shared() {
    let golden = read(include_str!("../../../../tests/golden/r_fit_k1_responses.json"));
    let data = recording(&golden["data"]);
    let responses: Vec<LearnedResponse> = data.modalities.iter().map(|m| learned(&golden["responses"][m])).collect();
    let problem = Problem::with_learned(&data, &Options::new(1, 0.5), &responses).unwrap();
    let fitted = problem.at_responses(&values(&problem, &golden["kernels"])).unwrap();
    let brain = data.modalities.iter().position(|m| m == "brain").unwrap();
    let group = fitted.group_response(brain).unwrap().values();
    for (value, name) in group.iter().zip(["width", "lag"]) {
        assert!((value - number(&golden["group_kernels"]["brain"]["parameters"][name])).abs() < 1e-12);
    }
    let w = loadings(&problem, &golden["loadings"]);
    let z = latents(&problem, &golden["latents"], str::to_owned);
    let new = recording(&golden["calibrate_training"]["data"]);
    let settings = SolveOptions { tolerance: 1e-12, max_iterations: 2000, ..options_of(&golden, &problem) };
    let none = Affinity::default();
    let made = calibrate((&fitted, &w), &settings, &new, Reference::Training(&z), &none).unwrap();
    assert_eq!(made.termination, Termination::Converged);
    let wanted = &golden["calibrate_training"];
    for i in 0..made.problem.response_count() {
        let name = made.problem.response_name(i).unwrap();
        assert_eq!(name.participant, Some("p9"));
        let theirs = number(&wanted["kernels"][name.modality]["parameters"][name.parameter]);
        assert!((made.response_values[i] - theirs).abs() < 5e-3, "{name:?} {} {theirs}", made.response_values[i]);
    }
    let last = flat(&wanted["objective_history"])[1];
    // The golden rows of the gamma curve are off by some 1e-7.
    assert!(*made.history.last().unwrap() <= last * (1.0 + 1e-6), "{:?} {last}", made.history.last());
    assert!(made.history.windows(2).all(|h| h[1] <= h[0] + 1e-12));

    // The new participant can then be predicted, and be a source.
    let (everybody, w) = fitted.with_calibrated(&w, &made, &none).unwrap();
    let at = [8.0, 10.5];
    let series = predict((&everybody, &w), (&fitted, &z), "p9", "brain", "r1", &at).unwrap();
    let own =
        predict((&made.problem, &made.loadings), (&made.problem, &made.latents), "p9", "brain", "r1", &at).unwrap();
    assert_eq!(series.values, own.values);
    let target = [Target { participant: "p9".into(), modality: "eye".into() }];
    let within =
        predict_targets((&everybody, &w), &settings.strengths, &new, &target, Source::Within, Some(&at)).unwrap();
    assert_eq!(within[0].sources.len(), 2);
    assert!(within[0].series.values.iter().all(|v| v.is_finite()));
}

#[test]
fn a_fit_with_learned_responses_is_no_worse_than_the_golden_one() {
    let golden = read(include_str!("../../../../tests/golden/r_fit_k1_responses.json"));
    let data = recording(&golden["data"]);
    let responses: Vec<LearnedResponse> = data.modalities.iter().map(|m| learned(&golden["responses"][m])).collect();
    let options = Options::new(1, number(&golden["settings"]["latent_dt"]));
    let problem = Problem::with_learned(&data, &options, &responses).unwrap();
    let settings = SolveOptions { max_iterations: 20_000, tolerance: 1e-13, ..options_of(&golden, &problem) };
    let fit = solve(&problem, &settings, None).unwrap();
    assert_eq!(fit.responses_at_bounds, [0, 4]);
    // The golden objective, with its coarse rows, at the curves, loadings and latent found here.
    let at = |kernels: &[f64], w: &[f64], z: &[f64]| {
        let learned = problem.at_responses(kernels).unwrap();
        let slots: Vec<(String, Option<String>, Response)> =
            learned.slots.iter().map(|s| (s.modality.clone(), s.participant.clone(), s.response.clone())).collect();
        let (participants, modalities) = (data.participants.clone(), data.modalities.clone());
        let coarse = Problem::with_responses(&data, &options, &|p, m| {
            let own = |s: &&(String, Option<String>, Response)| {
                s.0 == modalities[m] && s.1.as_ref().is_none_or(|name| *name == participants[p])
            };
            golden_rows(&slots.iter().find(own).unwrap().2, responses[m].envelope().unwrap())
        })
        .unwrap();
        let penalty = response_penalty_adjoint(&problem, kernels, 0.0, &mut vec![0.0; kernels.len()]);
        components(&coarse, &settings.strengths, w, z).total + penalty
    };
    let wanted = number(&golden["objective_final"]);
    let theirs = at(
        &values(&problem, &golden["kernels"]),
        &loadings(&problem, &golden["loadings"]),
        &latents(&problem, &golden["latents"], str::to_owned),
    );
    assert!((theirs - wanted).abs() < 1e-10 * wanted, "{theirs} {wanted}");
    let ours = at(&fit.response_values, &fit.loadings, &fit.latents);
    assert!(ours <= wanted * (1.0 + 1e-8), "{ours} {wanted}");
    assert!(fit.stationarity.response_largest < 1e-6);
    // The golden steps ended at their limit, with a gradient ten thousand times ours along the flattest directions.
    let found = problem.at_responses(&fit.response_values).unwrap();
    let golden_point = problem.at_responses(&values(&problem, &golden["kernels"])).unwrap();
    let z = latents(&problem, &golden["latents"], str::to_owned);
    for pair in &problem.pairs {
        let times = &pair.times[pair.segments[0].rows.clone()];
        let run = &problem.runs[pair.segments[0].run].name;
        let ours =
            predict((&found, &fit.loadings), (&found, &fit.latents), &pair.participant, &pair.modality, run, times);
        let w = loadings(&problem, &golden["loadings"]);
        let theirs = predict((&golden_point, &w), (&golden_point, &z), &pair.participant, &pair.modality, run, times);
        let gap = distance(&ours.unwrap().values, &theirs.unwrap().values);
        assert!(gap < 1e-3, "{gap:e}");
    }
}
