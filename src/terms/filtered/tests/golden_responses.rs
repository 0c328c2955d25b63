//! Golden likelihoods, gradients and conditional moments of recordings seen through responses.
//!
//! For bells the golden numbers are exact. For the other families those of `dense` and `grouped` carry the error of an order-24
//! quadrature and are compared with a port of that rule; exact values are compared with those of `state_space`, whose
//! curves go on beyond their supports as ours do.

use super::quadrature_port::Rule;
use super::*;
use crate::terms::filtered::covariance::tests::golden_response;
use serde_json::Value;
use std::collections::HashMap;

fn number(v: &Value) -> f64 {
    v.as_f64().unwrap_or_else(|| if v == "-inf" { f64::NEG_INFINITY } else { f64::INFINITY })
}

pub(super) fn numbers(v: &Value) -> Vec<f64> {
    match v {
        Value::Array(items) => items.iter().flat_map(numbers).collect(),
        other => vec![number(other)],
    }
}

fn texts(v: &Value) -> Vec<String> {
    v.as_array().unwrap().iter().map(|x| x.to_string()).collect()
}

/// A recording of a golden file, ready for evaluation at its parameters.
pub(super) struct Golden {
    pub gp: FilteredGp,
    pub observations: Vec<Vec<Observation>>,
    modalities: Vec<String>,
    /// JSON of (participant, modality, feature), in the order of the loadings.
    pub keys: Vec<String>,
    /// JSON of (participant, modality).
    pub noises: Vec<String>,
    /// Place in the golden parameters of every coordinate of `Theta`, where it is one.
    places: Vec<Option<usize>>,
    shape: Theta,
    priors: Value,
    names: Vec<Vec<String>>,
}

impl Golden {
    /// `file` holds data and responses, `case` the names of parameters and the priors.
    pub fn new(file: &Value, case: &Value, data: &Value, factors: usize) -> Golden {
        let names: Vec<Vec<String>> = case["parameter_names"].as_array().unwrap().iter().map(texts).collect();
        let position = |name: &[String]| names.iter().position(|n| n == name);
        let of_kind = |kind: &str, length: usize| -> Vec<String> {
            let mut out: Vec<String> = Vec::new();
            for name in names.iter().filter(|n| n[0] == format!("\"{kind}\"")) {
                let joined = name[1..1 + length].join(",");
                if !out.contains(&joined) {
                    out.push(joined);
                }
            }
            out
        };
        let (keys, noises) = (of_kind("offset", 3), of_kind("noise", 2));
        let modalities: Vec<String> = file["responses"].as_object().unwrap().keys().cloned().collect();
        let responses: Vec<Response> =
            modalities.iter().map(|m| golden_response(&file["responses"][m], &Value::Null)).collect();
        let observations = read(file, data, &modalities, &keys, &noises);
        let shape = Theta {
            loadings: vec![0.0; keys.len() * factors],
            offsets: vec![0.0; keys.len()],
            noise: vec![0.0; noises.len()],
            responses: responses.iter().flat_map(Response::values).collect(),
            length_scale: file["length_scale"].as_f64().unwrap(),
        };
        // Loadings, offsets and noises come first, in the order of ours.
        let first = shape.loadings.len() + keys.len() + noises.len();
        let mut places: Vec<Option<usize>> = (0..first).map(Some).collect();
        for (m, response) in modalities.iter().zip(&responses) {
            for parameter in response.family().parameters {
                let name = if parameter.name == "ratio" { "undershoot_ratio" } else { parameter.name };
                places.push(position(&["filter", m, name].map(|s| format!("\"{s}\""))));
            }
        }
        places.push(position(&["gp", "length_scale"].map(|s| format!("\"{s}\""))));
        let free: Vec<bool> = places[first..places.len() - 1].iter().map(Option::is_some).collect();
        let gp = FilteredGp::new(factors, keys.len(), noises.len(), responses, &observations)
            .unwrap()
            .with_learned_responses(&free)
            .unwrap();
        let priors = case["priors"].clone();
        Golden { gp, observations, modalities, keys, noises, places, shape, priors, names }
    }

    pub fn theta(&self, golden: &[f64]) -> Theta {
        let mut flat = self.shape.flat();
        for (x, place) in flat.iter_mut().zip(&self.places) {
            if let Some(place) = place {
                *x = golden[*place];
            }
        }
        self.shape.with_values(&flat)
    }

    /// The gradient of minus the log likelihood and the log prior, in golden order.
    fn objective_gradient(&self, golden: &[f64], gradient: &[f64]) -> Vec<f64> {
        let mut out: Vec<f64> = self.names.iter().zip(golden).map(|(name, x)| self.prior_slope(name, *x)).collect();
        for (g, place) in gradient.iter().zip(&self.places) {
            if let Some(place) = place {
                out[*place] -= g;
            }
        }
        out
    }

    /// Minus the derivative of the log prior density.
    fn prior_slope(&self, name: &[String], x: f64) -> f64 {
        let word = |i: usize| name[i].trim_matches('"');
        let prior = match word(0) {
            "loading" => return x / number(&self.priors["loading_sd"]).powi(2),
            "offset" => return x / number(&self.priors["offset_sd"]).powi(2),
            "noise" => &self.priors["noise"],
            "filter" => &self.priors["filters"][word(1)][word(2)],
            _ => &self.priors["length_scale"],
        };
        let (loc, scale) = (number(&prior["loc"]), number(&prior["scale"]));
        match prior["family"].as_str().unwrap() {
            "uniform" => 0.0,
            "normal" => (x - loc) / (scale * scale),
            _ => (1.0 + (x.ln() - loc) / (scale * scale)) / x,
        }
    }

    fn check_conditional(&self, theta: &Theta, golden: &Value, joint: &Value, tolerance: f64) {
        let query = numbers(&golden["query"]);
        let source = ["dense", "grouped"].into_iter().find(|s| !golden[s].is_null()).unwrap();
        let expected = &golden[source];
        let ws = &mut Workspace::new();
        let latent = self.gp.latent_moments(&theta.point(), 0, &query, ws).unwrap();
        close_all(&latent.mean, &numbers(&expected["latent_mean"]), tolerance, "latent mean");
        close_all(&latent.variance(), &numbers(&expected["latent_variance"]), tolerance, "latent variance");
        let key = texts(&expected["key"]);
        let at = self.keys.iter().position(|k| *k == key.join(",")).unwrap();
        let slot = self.modalities.iter().position(|m| key[1] == format!("\"{m}\"")).unwrap();
        let noise = self.noises.iter().position(|n| *n == key[..2].join(",")).unwrap();
        let feature = Feature { key: at, response: slot };
        let signal = self.gp.predict_moments(&theta.point(), 0, feature, &query, None, ws).unwrap();
        close_all(&signal.mean, &numbers(&expected["signal_mean"]), tolerance, "signal mean");
        close_all(&signal.variance, &numbers(&expected["signal_variance"]), tolerance, "signal variance");
        let noisy = self.gp.predict_moments(&theta.point(), 0, feature, &query, Some(noise), ws).unwrap();
        for (a, b) in noisy.variance.iter().zip(&signal.variance) {
            close(*a, b + number(&expected["noise_variance"]), 1e-14, 0.0, "noisy variance");
        }
        if !joint.is_null() {
            let path = self.gp.path_moments(&theta.point(), 0, &query[..3], ws).unwrap();
            close_all(&path.covariance, &numbers(joint), tolerance, "joint covariance");
        }
    }
}

/// Lags that a declared response may reach.
fn support(declared: &Value) -> [f64; 2] {
    let response = golden_response(declared, &Value::Null);
    let bounds: Vec<Option<(f64, f64)>> = response
        .family()
        .parameters
        .iter()
        .map(|p| {
            let name = if p.name == "ratio" { "undershoot_ratio" } else { p.name };
            let bounds = declared["bounds"][name].as_array();
            bounds.filter(|_| declared["fixed"][name].is_null()).map(|b| (number(&b[0]), number(&b[1])))
        })
        .collect();
    response.envelope(&bounds).unwrap().into()
}

/// The observations of each run whose response lies inside its domain.
fn read(
    file: &Value,
    data: &Value,
    modalities: &[String],
    keys: &[String],
    noises: &[String],
) -> Vec<Vec<Observation>> {
    let mut runs: Vec<&str> = Vec::new();
    let streams = data.as_array().unwrap();
    for stream in streams {
        let run = stream["run"].as_str().unwrap();
        if !runs.contains(&run) {
            runs.push(run);
        }
    }
    let mut out = vec![Vec::new(); runs.len()];
    for stream in streams {
        let run = runs.iter().position(|r| stream["run"] == *r).unwrap();
        let (participant, modality) = (stream["participant"].to_string(), stream["modality"].as_str().unwrap());
        let slot = modalities.iter().position(|m| m == modality).unwrap();
        let noise = noises.iter().position(|n| *n == format!("{participant},\"{modality}\"")).unwrap();
        let support = support(&file["responses"][modality]);
        let of_run = streams.iter().filter(|s| s["run"] == stream["run"]);
        let times: Vec<f64> = of_run.flat_map(|s| numbers(&s["times"])).collect();
        let domain = [times.iter().copied().fold(f64::INFINITY, f64::min), times.iter().copied().fold(-1e9, f64::max)];
        let slack = 1e-10 * domain.iter().fold(1.0f64, |m, x| m.max(x.abs()));
        let inside = |t: f64| domain[0] - slack <= t && t <= domain[1] + slack;
        for (time, row) in numbers(&stream["times"]).into_iter().zip(stream["values"].as_array().unwrap()) {
            if !(inside(time) && inside(time - support[0]) && inside(time - support[1])) {
                continue;
            }
            for (feature, value) in row.as_array().unwrap().iter().enumerate() {
                let Some(value) = value.as_f64() else { continue };
                let key = keys.iter().position(|k| *k == format!("{participant},\"{modality}\",{feature}")).unwrap();
                out[run].push(Observation {
                    time,
                    response: slot as u32,
                    modality: slot as u32,
                    feature_key: key as u32,
                    noise: noise as u32,
                    value,
                });
            }
        }
    }
    let counts: HashMap<&str, usize> = runs.iter().copied().zip(out.iter().map(Vec::len)).collect();
    for (run, count) in file["n_observations"].as_object().into_iter().flatten() {
        assert_eq!(count.as_u64().unwrap() as usize, counts[run.as_str()], "{run}");
    }
    out
}

/// Compares value and gradient of both algebras at every point with the first of `sources` that is there.
fn check_file(text: &str, sources: &[&str], value: f64, gradient: f64, conditional: Option<f64>) {
    let file: Value = serde_json::from_str(text).unwrap();
    let factors = file["K"].as_u64().unwrap() as usize;
    let golden = Golden::new(&file, &file, &file["data"], factors);
    for point in file["points"].as_array().unwrap() {
        let x = numbers(&point["parameters"]);
        let theta = golden.theta(&x);
        let expected = sources.iter().map(|s| &point[s]).find(|v| !v.is_null()).unwrap();
        for algebra in [Algebra::Dense, Algebra::Grouped] {
            let what = format!("{} K={factors} {algebra:?}", file["family"]);
            let (got, slopes) = evaluate(&golden.gp, algebra, &theta);
            close(-got, number(&expected["nll"]), value, 0.0, &what);
            close_all(&golden.objective_gradient(&x, &slopes), &numbers(&expected["gradient"]), gradient, &what);
        }
        if let (Some(tolerance), false) = (conditional, point["conditional_r1"].is_null()) {
            let joint = &point["conditional_r1"]["joint_latent_covariance_first3"];
            golden.check_conditional(&theta, &point["conditional_r1"], joint, tolerance);
        }
    }
}

macro_rules! file {
    ($name:literal) => {
        include_str!(concat!("../../../../tests/golden/gp_nll_", $name, ".json"))
    };
}

#[test]
fn bells_equal_golden_numbers() {
    for text in [file!("gaussian_k1"), file!("gaussian_k3"), file!("gaussian_k5")] {
        check_file(text, &["dense", "grouped"], 1e-12, 1e-10, Some(1e-10));
    }
}

#[test]
fn poles_equal_golden_state_space() {
    let files = [
        file!("gamma_k1"),
        file!("gamma_k3"),
        file!("doublegamma_k1"),
        file!("doublegamma_k3"),
        file!("bateman_k1"),
        file!("bateman_k3"),
        file!("bateman_k5"),
    ];
    for text in files {
        check_file(text, &["state_space"], 1e-12, 1e-10, None);
    }
}

#[test]
fn bells_and_poles_together_equal_golden_state_space() {
    // Its bells are a rational approximation, which puts each covariance off by up to 1.3e-7.
    check_file(file!("mixed_k1"), &["state_space"], 1e-7, 1e-5, None);
}

#[test]
fn order_24_numbers_equal_a_port_of_their_rule() {
    for text in [file!("gamma_k1"), file!("bateman_k1"), file!("mixed_k1")] {
        let file: Value = serde_json::from_str(text).unwrap();
        let golden = Golden::new(&file, &file, &file["data"], 1);
        let point = &file["points"][0];
        let theta = golden.theta(&numbers(&point["parameters"]));
        let rule = Rule::new(24);
        let total = super::quadrature_port::negative_log_likelihood(&rule, &golden, &theta);
        close(total, number(&point["dense"]["nll"]), 1e-11, 0.0, &file["family"].to_string());
    }
}

#[test]
fn learned_length_scale_equals_golden_numbers() {
    let file: Value = serde_json::from_str(include_str!("../../../../tests/golden/gp_variants.json")).unwrap();
    let case = &file["cases"][0];
    assert_eq!(case["label"], "learned length scale");
    let mut case = case.clone();
    case["priors"]["length_scale"] = case["settings"]["length_scale"].clone();
    let golden = Golden::new(&file, &case, &file["data"], 1);
    let x = numbers(&case["parameters"]);
    let theta = golden.theta(&x);
    for (algebra, source) in [(Algebra::Dense, "dense"), (Algebra::Grouped, "grouped")] {
        let (value, slopes) = evaluate(&golden.gp, algebra, &theta);
        close(-value, number(&case[source]["nll"]), 1e-12, 0.0, source);
        close_all(&golden.objective_gradient(&x, &slopes), &numbers(&case[source]["gradient"]), 1e-10, source);
    }
}
