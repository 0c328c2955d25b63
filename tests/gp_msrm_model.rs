//! GP-MSRM from a model text and a recording file to its log density: golden objectives and gradients, priors included.

mod common {
    pub mod plan;
}

use common::plan::plan;
use msrm::bind::{Input, Plan};
use msrm::data::{Options, load};
use msrm::graph::{Tape, lower};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::sync::Arc;

/// Largest relative difference to a golden number.
const AGREEMENT: f64 = 1e-9;

/// The noise variance, and with it participant and modality, and the key of every golden observation.
fn names(noise: u64, key: u64) -> (String, String, String) {
    (format!("p{}", noise / 2), format!("m{}", noise % 2), format!("f{key}"))
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

fn whole(value: &Value) -> u64 {
    value.as_u64().expect("a whole number")
}

/// The runs of a golden problem as a long CSV.
fn csv(golden: &Value) -> String {
    let mut text = String::from("participant,run,modality,feature,time,value\n");
    for (run, rows) in golden["runs"].as_array().expect("runs").iter().enumerate() {
        for row in rows.as_array().expect("rows") {
            let (participant, modality, feature) = names(whole(&row[3]), whole(&row[2]));
            let (time, value) = (number(&row[0]), number(&row[4]));
            writeln!(text, "{participant},r{run},{modality},{feature},{time},{value}").expect("a text");
        }
    }
    text
}

/// The model whose priors and length scale the golden numbers were made with.
fn model(golden: &Value) -> String {
    let n = |key: &str| number(&golden[key]);
    let (loc, scale) = (number(&golden["noise_prior"]["loc"]), number(&golden["noise_prior"]["scale"]));
    format!(
        "model golden\nrecording x\nfactors K = {}\nlatent z ~ matern32(length_scale = {})\n\
         loading w ~ normal(0, {})\noffset b ~ normal(0, {})\nnoise v ~ lognormal({loc}, {scale})\n\
         observe x ~ normal(b + response(z) * w, sqrt(v))\n",
        whole(&golden["factors"]),
        n("length_scale"),
        n("loading_sd"),
        n("offset_sd"),
    )
}

/// Names of the golden parameters in their order: loadings (key by factor), offsets, noise variances.
fn golden_labels(golden: &Value) -> Vec<String> {
    let mut noise_of = BTreeMap::new();
    for row in golden["runs"].as_array().expect("runs").iter().flat_map(|run| run.as_array().expect("rows")) {
        noise_of.insert(whole(&row[2]), whole(&row[3]));
    }
    assert_eq!(noise_of.len() as u64, whole(&golden["keys"]));
    let mut labels = Vec::new();
    for (&key, &noise) in &noise_of {
        let (participant, modality, feature) = names(noise, key);
        labels.extend((1..=whole(&golden["factors"])).map(|k| format!("w[{participant},{modality},{feature},{k}]")));
    }
    for (&key, &noise) in &noise_of {
        let (participant, modality, feature) = names(noise, key);
        labels.push(format!("b[{participant},{modality},{feature}]"));
    }
    for noise in 0..whole(&golden["noises"]) {
        let (participant, modality, _) = names(noise, 0);
        labels.push(format!("v[{participant},{modality}]"));
    }
    labels
}

fn golden_plan(golden: &Value) -> Plan {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (data, text) = (folder.path().join("recording.csv"), folder.path().join("golden.msrm"));
    fs::write(&data, csv(golden)).expect("a CSV file");
    fs::write(&text, model(golden)).expect("a model file");
    let recording = load(&data, &Options::default()).expect("a recording").recording;
    plan(&fs::read_to_string(&text).expect("a model file"), Input::Recording(recording))
}

/// log N(x | 0, sd), written out.
fn log_normal(x: f64, sd: f64) -> f64 {
    -0.5 * (x / sd).powi(2) - sd.ln() - 0.5 * (2.0 * std::f64::consts::PI).ln()
}

/// log density of exp(N(loc, scale)) at x, written out.
fn log_lognormal(x: f64, loc: f64, scale: f64) -> f64 {
    log_normal(x.ln() - loc, scale) - x.ln()
}

fn close(found: f64, want: f64, what: &str) {
    assert!((found - want).abs() <= AGREEMENT * want.abs().max(1.0), "{what}: {found}, golden {want}");
}

fn check(file: &str) {
    let golden: Value = serde_json::from_str(file).expect("JSON");
    let plan = golden_plan(&golden);
    let factors = whole(&golden["factors"]);
    let labels: Vec<String> = plan.blocks.iter().flat_map(|b| b.labels.clone()).collect();
    let golden_labels = golden_labels(&golden);
    let place = |label: &String| labels.iter().position(|l| l == label).unwrap_or_else(|| panic!("no {label}"));
    let places: Vec<usize> = golden_labels.iter().map(place).collect();
    assert_eq!(places.len(), plan.dim());
    // One factor: the sign of the first loading is fixed, and its prior is that of the positive half.
    let anchors: Vec<&String> =
        labels.iter().zip(plan.bounds().0).filter(|(l, lo)| l.starts_with('w') && *lo == 0.0).map(|(l, _)| l).collect();
    let expected_anchors: &[&str] = if factors == 1 { &["w[p0,m0,f0,1]"] } else { &[] };
    assert_eq!(anchors, expected_anchors);
    let mut tape = Tape::new(Arc::new(lower(&plan).expect("a program")));
    let (w_sd, b_sd) = (number(&golden["loading_sd"]), number(&golden["offset_sd"]));
    let (loc, scale) = (number(&golden["noise_prior"]["loc"]), number(&golden["noise_prior"]["scale"]));
    for (index, point) in golden["points"].as_array().expect("points").iter().enumerate() {
        let parameters: Vec<f64> = point["parameters"].as_array().expect("parameters").iter().map(number).collect();
        let mut x = vec![f64::NAN; plan.dim()];
        for (&at, &value) in places.iter().zip(&parameters) {
            x[at] = value;
        }
        let mut gradient = vec![f64::NAN; plan.dim()];
        let value = tape.value_gradient(&x, &mut gradient).expect("a value");
        let terms = tape.terms(&x).expect("terms");
        let term = |name: &str| -> f64 {
            terms.iter().find(|t| t.0 == name).unwrap_or_else(|| panic!("no term {name} in {terms:?}")).1
        };
        let log_prior = |start: char, one: &dyn Fn(f64) -> f64| -> f64 {
            golden_labels.iter().zip(&parameters).filter(|(l, _)| l.starts_with(start)).map(|(_, &p)| one(p)).sum()
        };
        let (w, b, v) = (
            log_prior('w', &|p| log_normal(p, w_sd)),
            log_prior('b', &|p| log_normal(p, b_sd)),
            log_prior('v', &|p| log_lognormal(p, loc, scale)),
        );
        let half = if factors == 1 { std::f64::consts::LN_2 } else { 0.0 };
        let what = |text: &str| format!("K = {factors}, point {index}, {text}");
        close(term("w ~ normal"), w, &what("prior of the loadings"));
        close(term("b ~ normal"), b, &what("prior of the offsets"));
        close(term("v ~ lognormal"), v, &what("prior of the noise"));
        let anchor: f64 = terms.iter().filter(|t| t.0.contains("anchor")).map(|t| t.1).sum();
        close(anchor, half, &what("half-normal anchor"));
        for algebra in ["dense", "grouped"] {
            if point[algebra].is_null() {
                continue;
            }
            let nll = number(&point[algebra]["nll"]);
            close(-term("x ~ normal"), nll, &what("likelihood"));
            close(-value, nll - w - b - v - half, &what("objective"));
            let wanted = point[algebra]["gradient"].as_array().expect("a gradient");
            assert_eq!(wanted.len(), places.len());
            for ((&at, want), label) in places.iter().zip(wanted).zip(&golden_labels) {
                close(-gradient[at], number(want), &what(label));
            }
        }
        assert!(!point["grouped"].is_null(), "{}", what("no golden number"));
    }
}

#[test]
fn one_factor() {
    check(include_str!("golden/gp_nll_identity_k1.json"));
}

#[test]
fn three_factors() {
    check(include_str!("golden/gp_nll_identity_k3.json"));
}

#[test]
fn five_factors() {
    check(include_str!("golden/gp_nll_identity_k5.json"));
}
