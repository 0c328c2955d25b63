//! Log likelihoods, gradients and covariances of the reference package's state-space algebra.

use super::super::system::System;
use super::super::transition::{Series, Transition};
use super::with_fixed_shapes;
use crate::response::{Response, find};
use crate::terms::filtered::tests::{Theta, close, close_all, evaluate};
use crate::terms::filtered::{Algebra, FilteredGp, Observation};
use serde_json::Value;

fn numbers(v: &Value) -> Vec<f64> {
    match v {
        Value::Array(items) => items.iter().flat_map(numbers).collect(),
        Value::Null => vec![f64::NAN],
        other => vec![other.as_f64().unwrap()],
    }
}

fn size(v: &Value) -> usize {
    v.as_u64().unwrap() as usize
}

fn file() -> Value {
    serde_json::from_str(include_str!("../../../../../tests/golden/gp_state_space.json")).unwrap()
}

#[test]
fn log_likelihoods_and_gradients() {
    for case in file()["cases"].as_array().unwrap() {
        let k = size(&case["factors"]);
        let families: Vec<&str> = case["responses"].as_array().unwrap().iter().map(|r| r.as_str().unwrap()).collect();
        let defaults = |name: &&str| {
            let family = find(name).unwrap();
            family.with(&family.parameters.iter().map(|p| p.default).collect::<Vec<_>>()).unwrap()
        };
        let responses: Vec<Response> = families.iter().map(defaults).collect();
        let read = |row: &Value| Observation {
            time: row[0].as_f64().unwrap(),
            response: size(&row[1]) as u32,
            modality: size(&row[1]) as u32,
            feature_key: size(&row[2]) as u32,
            noise: size(&row[3]) as u32,
            value: row[4].as_f64().unwrap(),
        };
        let runs: Vec<Vec<Observation>> =
            case["runs"].as_array().unwrap().iter().map(|r| r.as_array().unwrap().iter().map(read).collect()).collect();
        for point in case["points"].as_array().unwrap() {
            let theta = Theta {
                loadings: numbers(&point["loadings"]),
                offsets: numbers(&point["offsets"]),
                noise: numbers(&point["noise"]),
                responses: numbers(&point["responses"]),
                length_scale: case["length_scale"].as_f64().unwrap(),
            };
            let gp = FilteredGp::new(k, theta.offsets.len(), theta.noise.len(), responses.clone(), &runs).unwrap();
            let gp = with_fixed_shapes(gp, &responses);
            let (value, gradient) = evaluate(&gp, Algebra::StateSpace, &theta);
            let name = case["name"].as_str().unwrap();
            close(value, point["log_likelihood"].as_f64().unwrap(), 1e-10, 0.0, name);
            let golden = numbers(&point["gradient"]);
            close_all(&gradient[..golden.len()], &golden, 1e-8, name);
            let learned = numbers(&point["response_gradient"]);
            for (i, (g, wanted)) in gradient[golden.len()..].iter().zip(&learned).enumerate() {
                if !wanted.is_nan() {
                    close(*g, *wanted, 1e-7, 1e-7, &format!("{name}, response parameter {i}"));
                }
            }
        }
    }
}

/// Covariance of what two slots see at times `a` and `b`, by the transition between them.
fn covariance(system: &System, series: &mut Series, a: (Option<usize>, f64), b: (Option<usize>, f64)) -> f64 {
    let event = |(slot, time): (Option<usize>, f64)| time - system.readout(slot).delay;
    let (early, late) = if event(a) <= event(b) { (a, b) } else { (b, a) };
    let mut t = Transition::default();
    series.transition(event(late) - event(early), &mut t);
    let (row, column) = (&system.readout(late.0).row, &system.readout(early.0).row);
    let n = system.side();
    (0..n).map(|i| (0..n).map(|j| row[i] * t.matrix[i * n + j] * column[j]).sum::<f64>()).sum()
}

#[test]
fn covariances() {
    for case in file()["covariances"].as_array().unwrap() {
        let family = find(case["family"].as_str().unwrap()).unwrap();
        let response = family.with(&numbers(&case["parameters"])).unwrap();
        let system = System::new(case["length_scale"].as_f64().unwrap(), &[response]).unwrap();
        let mut series = Series::default();
        series.set(&system.cascade);
        let (a, b) = (numbers(&case["times_a"]), numbers(&case["times_b"]));
        let blocks = [
            ("path_path", None, None),
            ("path_slot", None, Some(0)),
            ("slot_slot", Some(0), Some(0)),
            ("slot_path", Some(0), None),
        ];
        for (name, first, second) in blocks {
            let golden = numbers(&case[name]);
            let found: Vec<f64> = a
                .iter()
                .flat_map(|s| b.iter().map(move |t| (*s, *t)))
                .map(|(s, t)| covariance(&system, &mut series, (first, s), (second, t)))
                .collect();
            for (found, golden) in found.iter().zip(&golden) {
                close(*found, *golden, 0.0, 1e-12, &format!("{} {name}", family.name));
            }
        }
        for (name, first) in [("latent|b", None), ("b|b", Some(0))] {
            let precise = numbers(&case["precise"][name]);
            let pairs = a.iter().flat_map(|s| b.iter().map(move |t| (*s, *t)));
            for ((s, t), precise) in pairs.zip(&precise) {
                let found = covariance(&system, &mut series, (first, s), (Some(0), t));
                close(found, *precise, 0.0, 2e-8, &format!("{} {name} against quadrature", family.name));
            }
        }
    }
}
