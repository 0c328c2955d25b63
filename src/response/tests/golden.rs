//! Golden numbers: supports, norms, values, default bounds and support envelopes.

use serde_json::Value;

use super::*;

fn number(v: &Value) -> f64 {
    v.as_f64().unwrap()
}

fn numbers(v: &Value) -> Vec<f64> {
    v.as_array().unwrap().iter().map(number).collect()
}

/// The response of a golden entry, which names some things in its own way.
pub(crate) fn response_of(entry: &Value) -> Response {
    let family = match entry["family"].as_str().unwrap() {
        "SampledKernel" => {
            return Response::sampled(numbers(&entry["lags_given"]), numbers(&entry["values_given"])).unwrap();
        }
        "Identity" => "identity",
        "Gaussian" => "gaussian",
        "Gamma" => "gamma",
        "DoubleGamma" => "double_gamma",
        "BatemanSCR" => "bateman",
        "BachSCR" => "bach",
        other => panic!("{other}"),
    };
    let parameters = entry["parameters"].as_object().unwrap();
    let given: Vec<(&str, f64)> = parameters.iter().map(|(name, v)| (own_name(name), number(v))).collect();
    build(family, &given).unwrap()
}

fn own_name(name: &str) -> &str {
    if name == "undershoot_ratio" { "ratio" } else { name }
}

fn read() -> Value {
    serde_json::from_str(include_str!("../../../tests/golden/responses.json")).unwrap()
}

#[test]
fn supports_norms_and_values_match() {
    let golden = read();
    let entries = golden["kernels"].as_array().unwrap();
    assert_eq!(entries.len(), 16);
    for entry in entries {
        let response = response_of(entry);
        let curve = curve(&response);
        let support = numbers(&entry["support"]);
        assert_eq!(curve.support(), response.support());
        assert!((curve.support().0 - support[0]).abs() < 1e-12, "{response:?}");
        assert!((curve.support().1 - support[1]).abs() < 1e-12, "{response:?}");
        let norm = number(&entry["l2_norm_of_raw"]);
        assert!((curve.norm() - norm).abs() < 1e-11 * norm, "{response:?}: {} and {norm}", curve.norm());
        for (u, wanted) in numbers(&entry["lags"]).into_iter().zip(numbers(&entry["values"])) {
            let found = curve.value(u);
            assert!((found - wanted).abs() < 1e-11, "{response:?} at {u}: {found} and {wanted}");
        }
    }
}

#[test]
fn default_bounds_and_envelopes_match() {
    let golden = read();
    let entries = golden["envelopes"].as_array().unwrap();
    assert_eq!(entries.len(), 6);
    for entry in entries {
        let response = response_of(entry);
        let parameters = response.family().parameters;
        let mut bounds = response.default_bounds();
        let foreign = |name: &str| if name == "ratio" { "undershoot_ratio".to_owned() } else { name.to_owned() };
        for (parameter, bound) in parameters.iter().zip(&mut bounds) {
            if let Some(given) = entry["bounds_given"].get(foreign(parameter.name)) {
                let given = numbers(given);
                *bound = (given[0], given[1]);
            }
            let wanted = numbers(&entry["bounds"][foreign(parameter.name)]);
            assert_eq!(*bound, (wanted[0], wanted[1]), "{}", parameter.name);
        }
        let free: Vec<&str> = entry["free"].as_array().unwrap().iter().map(|v| own_name(v.as_str().unwrap())).collect();
        let free_bounds: Vec<Option<(f64, f64)>> =
            parameters.iter().zip(bounds).map(|(p, b)| free.contains(&p.name).then_some(b)).collect();
        let (lo, hi) = response.envelope(&free_bounds).unwrap();
        let wanted = numbers(&entry["support_envelope"]);
        assert!((lo - wanted[0]).abs() < 1e-12 && (hi - wanted[1]).abs() < 1e-12, "{response:?}: {lo} {hi}");
    }
}
