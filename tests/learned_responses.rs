//! Responses that are learned: both shared-response models find the lag that the data were made with, and the gradient
//! in every learned parameter is the derivative.

mod common {
    pub mod plan;
}

use common::plan::plan;
use msrm::archive::{Method, Mode, Outcome, Settings};
use msrm::bind::{Input, Plan};
use msrm::data::{Recording, Stream};
use msrm::graph::{Tape, lower};
use msrm::math::rng::{Purpose, stream};
use msrm::response::{Curve, Response};
use msrm::run::{Reporting, fit};
use rand::RngExt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Seconds by which the rating of each participant follows.
const LAGS: [f64; 3] = [1.5, 2.0, 2.5];
const WIDTH: f64 = 1.0;

/// A smooth curve without a period in the run.
fn latent(t: f64) -> f64 {
    0.8 * (0.31 * t).sin() + (0.53 * t + 2.0).sin() + 0.9 * (0.83 * t).cos()
}

/// What a rating shows of the latent at `t`.
fn shown(curve: &Curve, t: f64) -> f64 {
    let (lo, hi) = curve.support();
    let steps = 400;
    let step = (hi - lo) / f64::from(steps);
    (0..=steps).map(|i| lo + f64::from(i) * step).map(|u| step * curve.value(u) * latent(t - u)).sum()
}

/// Three participants: two fast signals that follow at once, and a rating that follows late and smeared.
fn recording(lags: [f64; 3]) -> Recording {
    let mut rng = stream(5, 0, Purpose::Start);
    let mut streams = Vec::new();
    for (participant, lag) in lags.into_iter().enumerate() {
        let curve = Curve::new(&Response::Gaussian { width: WIDTH, lag }).expect("a curve").expect("not the identity");
        let mut noise = |scale: f64| scale * (rng.random_range(-1.0..1.0) + rng.random_range(-1.0..1.0));
        let times: Vec<f64> = (0..100).map(|i| f64::from(i) * 1.2).collect();
        let values = times.iter().flat_map(|&t| [latent(t) + noise(0.1), -0.7 * latent(t) + noise(0.1)]).collect();
        let features = vec!["up".to_string(), "down".to_string()];
        streams.push(Stream { participant, run: 0, modality: 0, features, times, values });
        let times: Vec<f64> = (0..119).map(f64::from).collect();
        let values = times.iter().map(|&t| 0.6 * shown(&curve, t) + noise(0.1)).collect();
        streams.push(Stream { participant, run: 0, modality: 1, features: vec!["valence".into()], times, values });
    }
    let names = |names: &[&str]| names.iter().map(|n| n.to_string()).collect();
    Recording {
        participants: names(&["ada", "ben", "cleo"]),
        runs: names(&["film"]),
        modalities: names(&["physio", "rating"]),
        streams,
    }
}

const GRIDDED: &str = "latent z on grid(0.5)\nloading w\n\
    minimize balanced_squares(x, response(z) * w) + 1e-4 * ridge(w) + 1e-5 * ridge(z) + 1e-4 * roughness(z)";
const FILTERED: &str = "param ell ~ lognormal(1.1, 0.5) in [0.5, 20]\nlatent z ~ matern32(length_scale = ell)\n\
    loading w ~ normal(0, 1)\noffset b ~ normal(0, 1)\nnoise v ~ lognormal(-2, 0.7)\n\
    observe x ~ normal(b + response(z) * w, sqrt(v))";

fn model(response: &str, rest: &str, lags: [f64; 3]) -> Plan {
    let text = format!("model m\nrecording x standardized\nfactors K = 1\nresponse rating = {response}\n{rest}\n");
    plan(&text, Input::Recording(recording(lags)))
}

fn mode(plan: &Plan, method: Method) -> Mode {
    let settings = Settings { method, starts: 2, ..Settings::default() };
    match fit(plan, &settings, &AtomicBool::new(false), Reporting::Quiet) {
        Ok(Outcome::Mode(mode)) => *mode,
        Ok(Outcome::Draws(_)) => panic!("draws instead of a mode"),
        Err(error) => panic!("{error}"),
    }
}

/// The values of a reported quantity.
fn reported(mode: &Mode, name: &str) -> Vec<f64> {
    let mut at = 0;
    for quantity in &mode.quantities {
        let n = quantity.labels.len();
        if quantity.name == name {
            return mode.values[at..at + n].to_vec();
        }
        at += n;
    }
    panic!("no quantity {name}");
}

#[test]
fn both_models_find_a_shared_lag_and_the_density_the_width_too() {
    // The objective follows the noise of the rating where a narrow curve lets it, so its width is no estimate.
    for (width, rest, method) in [("= 1", GRIDDED, Method::Als), ("in [0.3, 3]", FILTERED, Method::Map)] {
        let plan = model(&format!("gaussian(width {width}, lag = 1 in [-3, 6])"), rest, [2.0; 3]);
        let mode = mode(&plan, method);
        assert!(mode.restarts[mode.best].converged, "{:?}", mode.restarts);
        let lag = reported(&mode, "rating.lag")[0];
        assert!((lag - 2.0).abs() < 0.1, "{method:?}: lag {lag}");
        if method == Method::Map {
            let width = reported(&mode, "rating.width")[0];
            assert!((width - WIDTH).abs() < 0.25, "width {width}");
        }
        assert!(mode.at_bounds.iter().all(|label| !label.starts_with("rating")), "{:?}", mode.at_bounds);
    }
}

#[test]
fn every_participant_may_have_a_lag_of_their_own() {
    for (rest, method) in [(GRIDDED, Method::Als), (FILTERED, Method::Map)] {
        let plan = model("gaussian(width = 1, lag = 1 in [-3, 6]) per participant", rest, LAGS);
        let mode = mode(&plan, method);
        for (found, lag) in reported(&mode, "rating.lag").iter().zip(LAGS) {
            assert!((found - lag).abs() < 0.15, "{method:?}: {found} for {lag}");
        }
    }
}

#[test]
fn spread_draws_the_participants_lags_together() {
    let spread = |strength: f64| {
        let rest = format!("{GRIDDED} + {strength} * spread(rating)");
        let plan = model("gaussian(width = 1, lag = 1 in [-3, 6]) per participant", &rest, LAGS);
        let lags = reported(&mode(&plan, Method::Als), "rating.lag");
        lags.iter().fold(f64::NEG_INFINITY, |m, v| v.max(m)) - lags.iter().fold(f64::INFINITY, |m, v| v.min(m))
    };
    let (free, loose, tight) = (spread(0.0), spread(0.1), spread(100.0));
    assert!(free > 0.8 && loose < free && tight < 0.01, "{free} {loose} {tight}");
}

#[test]
fn a_lag_outside_its_bounds_ends_on_the_bound_and_says_so() {
    let plan = model("gaussian(width = 1, lag in [-3, 1])", GRIDDED, [2.0; 3]);
    let mode = mode(&plan, Method::Als);
    assert!((reported(&mode, "rating.lag")[0] - 1.0).abs() < 1e-6);
    assert_eq!(mode.at_bounds, ["rating.lag"]);
}

#[test]
fn the_reported_objective_is_that_of_the_reported_point_and_its_gradient_the_derivative() {
    let pooled = format!("{GRIDDED} + 0.3 * spread(rating)");
    let penalised = "gaussian(width ~ lognormal(0, 0.5) in [0.3, 3], lag ~ normal(1, 2) in [-3, 6])";
    for (response, rest) in [
        (penalised.to_string(), GRIDDED.to_string()),
        (format!("{penalised} per participant"), GRIDDED.to_string()),
        (format!("{penalised} per participant weight 2"), pooled.replacen("+ 1e-4", "* 2 + 1e-4", 1)),
        (penalised.to_string(), FILTERED.to_string()),
        (format!("{penalised} per participant"), FILTERED.to_string()),
        ("bateman(rise in [0.3, 1.4], decay in [1.5, 4], lag in [-1, 3])".to_string(), FILTERED.to_string()),
    ] {
        let plan = model(&response, &rest, LAGS);
        let mut tape = Tape::new(Arc::new(lower(&plan).expect("a program")));
        let mut rng = stream(9, 0, Purpose::Start);
        let x: Vec<f64> = plan
            .blocks
            .iter()
            .flat_map(|b| b.lower.iter().zip(&b.upper))
            .map(|(&lo, &hi)| match (lo.is_finite(), hi.is_finite()) {
                (true, true) => lo + (hi - lo) * rng.random_range(0.3..0.7),
                (true, false) => lo + rng.random_range(0.5..1.5),
                _ => rng.random_range(-1.0..1.0),
            })
            .collect();
        let mut gradient = vec![0.0; x.len()];
        tape.value_gradient(&x, &mut gradient).expect("a value");
        let learned = plan.shared.as_ref().expect("a recording").responses.coordinates.clone();
        assert!(!learned.is_empty());
        let mut unused = vec![0.0; x.len()];
        for i in learned {
            // Richardson's rule over two central differences.
            let mut at = |h: f64| {
                let mut moved = x.clone();
                moved[i] += h;
                unused.fill(0.0);
                tape.value_gradient(&moved, &mut unused).expect("a value")
            };
            let mut central = |h: f64| (at(h) - at(-h)) / (2.0 * h);
            let (wide, narrow) = (central(2e-4), central(1e-4));
            let difference = (4.0 * narrow - wide) / 3.0;
            let error = (difference - gradient[i]).abs() / (1.0 + gradient[i].abs());
            assert!(error < 1e-6, "{response}: coordinate {i}: {} against {difference}", gradient[i]);
        }
    }
}
