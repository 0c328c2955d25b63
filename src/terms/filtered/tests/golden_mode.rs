//! Golden likelihoods at modes, the latent there, and a new run predicted from its other streams.

use super::golden_responses::{Golden, numbers};
use super::*;
use serde_json::Value;

const FILES: [&str; 2] = [
    include_str!("../../../../tests/golden/gp_map_grouped_k1.json"),
    include_str!("../../../../tests/golden/gp_map_grouped_k3.json"),
];

/// The entries that the golden file calls valid.
fn valid<'a>(part: &'a Value, name: &str) -> impl Iterator<Item = (usize, Vec<f64>)> + 'a {
    let rows = part[name].as_array().unwrap().iter().enumerate();
    rows.filter(|(i, _)| part["valid"][*i] == true).map(|(i, row)| (i, numbers(row)))
}

#[test]
fn likelihood_and_latent_at_a_mode() {
    for text in FILES {
        let file: Value = serde_json::from_str(text).unwrap();
        let factors = file["K"].as_u64().unwrap() as usize;
        let golden = Golden::new(&file, &file, &file["data"], factors);
        let theta = golden.theta(&numbers(&file["map"]["parameters"]));
        for algebra in [Algebra::Dense, Algebra::Grouped] {
            let (value, _) = evaluate(&golden.gp, algebra, &theta);
            close(value, file["map"]["log_likelihood"].as_f64().unwrap(), 1e-11, 0.0, "log likelihood");
        }
        let part = &file["infer_latent_r1"];
        let times = numbers(&part["times"]);
        let latent = golden.gp.latent_moments(&theta.point(), 0, &times, &mut Workspace::new()).unwrap();
        let variances = latent.variance();
        for (i, expected) in valid(part, "mean") {
            // Golden latents are rotated; their length is not.
            let square = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>();
            close(square(&latent.mean[i * factors..(i + 1) * factors]), square(&expected), 1e-9, 1e-9, "mean");
        }
        for (i, expected) in valid(part, "variance") {
            let sum: f64 = variances[i * factors..(i + 1) * factors].iter().sum();
            close(sum, expected.iter().sum(), 1e-9, 0.0, "variance");
        }
    }
}

#[test]
fn a_new_run_is_predicted_from_its_other_streams() {
    for text in FILES {
        let file: Value = serde_json::from_str(text).unwrap();
        let factors = file["K"].as_u64().unwrap() as usize;
        let part = &file["frozen_condition"];
        let kept = |s: &&Value| !(s["participant"] == "b" && s["modality"] == "b");
        let donors: Vec<Value> = part["data"].as_array().unwrap().iter().filter(kept).cloned().collect();
        let golden = Golden::new(&file, &file, &Value::Array(donors), factors);
        let theta = golden.theta(&numbers(&file["map"]["parameters"]));
        let times = numbers(&part["times"]);
        let noise = golden.noises.iter().position(|n| n == "\"b\",\"b\"").unwrap();
        for feature in 0..2 {
            let key = golden.keys.iter().position(|k| *k == format!("\"b\",\"b\",{feature}")).unwrap();
            let seen = Feature { key, response: 1 };
            let ws = &mut Workspace::new();
            let signal = golden.gp.predict_moments(&theta.point(), 0, seen, &times, None, ws).unwrap();
            let noisy = golden.gp.predict_moments(&theta.point(), 0, seen, &times, Some(noise), ws).unwrap();
            let mut compared = 0;
            for (name, got) in
                [("mean", &signal.mean), ("variance", &signal.variance), ("variance_with_noise", &noisy.variance)]
            {
                for (i, expected) in valid(part, name) {
                    close(got[i], expected[feature], 1e-9, 1e-12, name);
                    compared += 1;
                }
            }
            assert_eq!(compared, 6);
        }
    }
}
