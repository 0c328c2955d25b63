//! Golden numbers, and numbers of 60-digit arithmetic where double precision runs out.

use super::*;
use serde_json::Value;

fn numbers(v: &Value) -> Vec<f64> {
    match v {
        Value::Array(items) => items.iter().flat_map(numbers).collect(),
        other => vec![other.as_f64().unwrap()],
    }
}

fn size(v: &Value) -> usize {
    v.as_u64().unwrap() as usize
}

fn read_observations(v: &Value) -> Vec<Observation> {
    let rows = v.as_array().unwrap();
    rows.iter()
        .map(|row| Observation {
            time: row[0].as_f64().unwrap(),
            response: 0,
            modality: size(&row[1]) as u32,
            feature_key: size(&row[2]) as u32,
            noise: size(&row[3]) as u32,
            value: row[4].as_f64().unwrap(),
        })
        .collect()
}

#[test]
fn golden_values_gradients_and_conditionals() {
    let files = [
        include_str!("../../../../tests/golden/gp_nll_identity_k1.json"),
        include_str!("../../../../tests/golden/gp_nll_identity_k3.json"),
        include_str!("../../../../tests/golden/gp_nll_identity_k5.json"),
    ];
    for file in files {
        let file: Value = serde_json::from_str(file).unwrap();
        let (k, keys, noises) = (size(&file["factors"]), size(&file["keys"]), size(&file["noises"]));
        let runs: Vec<_> = file["runs"].as_array().unwrap().iter().map(read_observations).collect();
        let gp = FilteredGp::new(k, keys, noises, identity(), &runs).unwrap();
        for point in file["points"].as_array().unwrap() {
            let mut x = numbers(&point["parameters"]);
            x.push(file["length_scale"].as_f64().unwrap());
            let shape = Theta {
                loadings: vec![0.0; keys * k],
                offsets: vec![0.0; keys],
                noise: vec![0.0; noises],
                ..Theta::default()
            };
            let theta = shape.with_values(&x);
            let algebras =
                [("dense", Algebra::Dense), ("grouped", Algebra::Grouped), ("state_space", Algebra::StateSpace)];
            for (name, algebra) in algebras {
                let (value, gradient) = evaluate(&gp, algebra, &theta);
                let golden = if point[name].is_null() { &point["grouped"] } else { &point[name] };
                close(-value, golden["nll"].as_f64().unwrap(), 1e-12, 0.0, name);
                let prior = negative_log_prior_gradient(&file, &theta);
                let objective: Vec<f64> = gradient.iter().zip(&prior).map(|(g, p)| p - g).collect();
                close_all(&objective, &numbers(&golden["gradient"]), 1e-11, name);
            }
            if !point["conditional"].is_null() {
                check_conditional(&gp, &theta, &point["conditional"]);
            }
        }
    }
}

/// Normal loadings and offsets, lognormal noise variances; the golden gradients are of the whole objective.
fn negative_log_prior_gradient(file: &Value, theta: &Theta) -> Vec<f64> {
    let number = |v: &Value| v.as_f64().unwrap();
    let (w_sd, b_sd) = (number(&file["loading_sd"]), number(&file["offset_sd"]));
    let (loc, scale) = (number(&file["noise_prior"]["loc"]), number(&file["noise_prior"]["scale"]));
    let mut out: Vec<f64> = theta.loadings.iter().map(|w| w / (w_sd * w_sd)).collect();
    out.extend(theta.offsets.iter().map(|b| b / (b_sd * b_sd)));
    out.extend(theta.noise.iter().map(|v| (1.0 + (v.ln() - loc) / (scale * scale)) / v));
    out
}

fn check_conditional(gp: &FilteredGp, theta: &Theta, golden: &Value) {
    let (run, query, key) = (size(&golden["run"]), numbers(&golden["query"]), size(&golden["key"]));
    let ws = &mut Workspace::new();
    let latent = gp.latent_moments(&theta.point(), run, &query, ws).unwrap();
    close_all(&latent.mean, &numbers(&golden["latent_mean"]), 1e-11, "latent mean");
    close_all(&latent.variance(), &numbers(&golden["latent_variance"]), 1e-11, "latent variance");
    let signal = gp.predict_moments(&theta.point(), run, Feature { key, response: 0 }, &query, None, ws).unwrap();
    close_all(&signal.mean, &numbers(&golden["signal_mean"]), 1e-11, "signal mean");
    close_all(&signal.variance, &numbers(&golden["signal_variance"]), 1e-11, "signal variance");
    let noise_variance = golden["noise_variance"].as_f64().unwrap();
    let noise = theta.noise.iter().position(|v| *v == noise_variance).unwrap();
    let noisy = gp.predict_moments(&theta.point(), run, Feature { key, response: 0 }, &query, Some(noise), ws).unwrap();
    let expected: Vec<f64> = signal.variance.iter().map(|s| s + noise_variance).collect();
    close_all(&noisy.variance, &expected, 1e-15, "noisy variance");
    if !golden["joint_latent_covariance_first3"].is_null() {
        let path = gp.path_moments(&theta.point(), run, &query[..3], ws).unwrap();
        close_all(&path.covariance, &numbers(&golden["joint_latent_covariance_first3"]), 1e-11, "joint covariance");
    }
}

#[test]
fn tiny_noise_and_deficient_loadings_match_high_precision() {
    let file: Value = serde_json::from_str(include_str!("../../../../tests/golden/gp_tiny_noise.json")).unwrap();
    for case in file["cases"].as_array().unwrap() {
        let theta = Theta {
            loadings: numbers(&case["loadings"]),
            offsets: numbers(&case["offsets"]),
            noise: numbers(&case["noise"]),
            length_scale: case["length_scale"].as_f64().unwrap(),
            responses: Vec::new(),
        };
        let gp = FilteredGp::new(
            size(&case["factors"]),
            theta.offsets.len(),
            theta.noise.len(),
            identity(),
            &[read_observations(&case["observations"])],
        )
        .unwrap();
        let e = &case["expected"];
        let v = theta.noise[0];
        for algebra in [Algebra::Grouped, Algebra::StateSpace] {
            let (value, gradient) = evaluate(&gp, algebra, &theta);
            let what = format!("{} loadings, noise {v:e}, {algebra:?}", case["rank"]);
            close(value, e["log_likelihood"].as_f64().unwrap(), 1e-12, 0.0, &what);
            let (w, b, n) = (theta.loadings.len(), theta.offsets.len(), theta.noise.len());
            // Residuals of size sqrt(v) are differences of numbers of size one, and w' C w of size v of products of size one.
            let (residual, spread) = (3e-14 / v.sqrt(), 5e-16 / v);
            close_all(&gradient[..w], &numbers(&e["loadings"]), residual, &what);
            close_all(&gradient[w..w + b], &numbers(&e["offsets"]), residual, &what);
            close_all(&gradient[w + b..w + b + n], &numbers(&e["noise"]), residual + spread, &what);
            close_all(&gradient[w + b + n..], &numbers(&e["length_scale"]), 1e-12, &what);
        }
    }
}
