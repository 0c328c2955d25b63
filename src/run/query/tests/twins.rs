//! Latents and predictions against normal equations and Gaussian conditioning that are written out.

use super::super::{InferOptions, PredictOptions, Query, Source, Target, infer, predict};
use super::{ask, gp_model, r_model, recording, without};
use crate::data::{Recording, Stream};
use crate::run::query::Fitted;

/// Solves A x = b by elimination with row exchanges; `a` is row-major.
fn solve(mut a: Vec<f64>, mut b: Vec<f64>) -> Vec<f64> {
    let n = b.len();
    for c in 0..n {
        let pivot = (c..n).max_by(|&i, &j| a[i * n + c].abs().total_cmp(&a[j * n + c].abs())).expect("a row");
        for j in 0..n {
            a.swap(c * n + j, pivot * n + j);
        }
        b.swap(c, pivot);
        for i in c + 1..n {
            let factor = a[i * n + c] / a[c * n + c];
            for j in c..n {
                a[i * n + j] -= factor * a[c * n + j];
            }
            b[i] -= factor * b[c];
        }
    }
    for c in (0..n).rev() {
        b[c] = (b[c] - (c + 1..n).map(|j| a[c * n + j] * b[j]).sum::<f64>()) / a[c * n + c];
    }
    b
}

fn values(fitted: &Fitted<'_>, name: &str) -> Vec<f64> {
    fitted.points[0][name].values.clone()
}

/// Key, standardised value and time of every observed entry of one run.
fn entries(fitted: &Fitted<'_>, recording: &Recording, run: &str) -> Vec<(usize, f64, f64)> {
    let mut out = Vec::new();
    for s in recording.streams.iter().filter(|s| recording.runs[s.run] == run) {
        for (f, feature) in s.features.iter().enumerate() {
            let label =
                format!("{},{},{feature}", recording.participants[s.participant], recording.modalities[s.modality]);
            let key = fitted.shared.keys.iter().position(|k| k.label == label).expect("a key");
            let scale = fitted.shared.standardisation[key];
            for (t, time) in s.times.iter().enumerate() {
                if let Some(v) = s.value(t, f) {
                    out.push((key, (v - scale.mean) / scale.sd, *time));
                }
            }
        }
    }
    out
}

fn domain(entries: &[(usize, f64, f64)]) -> (f64, f64) {
    let times = entries.iter().map(|e| e.2);
    (times.clone().fold(f64::INFINITY, f64::min), times.fold(f64::NEG_INFINITY, f64::max))
}

/// Trapezoid weights of a clock without gaps, summing to one.
fn clock(times: &[f64]) -> Vec<f64> {
    let n = times.len();
    let cell = |i: usize| {
        let before = if i > 0 { times[i] - times[i - 1] } else { 0.0 };
        let after = if i + 1 < n { times[i + 1] - times[i] } else { 0.0 };
        0.5 * (before + after)
    };
    let total: f64 = (0..n).map(cell).sum();
    (0..n).map(|i| cell(i) / total).collect()
}

/// The latent of one run on its grid: dense normal equations of the objective in z, identity responses, one run.
fn grid_twin(fitted: &Fitted<'_>, data: &Recording, run: &str, factors: usize) -> (f64, Vec<f64>) {
    let w = values(fitted, "w");
    let (a, b) = domain(&entries(fitted, data, run));
    let (step, lambda, tau) = (1.5, 1e-4, 1e-2);
    let nodes = ((b - a) / step).ceil() as usize + 1;
    let duration = step * (nodes - 1) as f64;
    let n = nodes * factors;
    let (mut normal, mut right) = (vec![0.0; n * n], vec![0.0; n]);
    for i in 0..nodes {
        let q = if i == 0 || i + 1 == nodes { 0.5 } else { 1.0 } / (nodes - 1) as f64;
        for k in 0..factors {
            let at = i * factors + k;
            normal[at * n + at] += lambda * q;
            if i > 0 {
                let before = at - factors;
                let rough = tau / (step * duration);
                normal[at * n + at] += rough;
                normal[before * n + before] += rough;
                normal[at * n + before] -= rough;
                normal[before * n + at] -= rough;
            }
        }
    }
    let here: Vec<&Stream> = data.streams.iter().filter(|s| data.runs[s.run] == run).collect();
    let mut who: Vec<usize> = here.iter().map(|s| s.participant).collect();
    who.dedup();
    for s in &here {
        // Modalities weigh alike; those that a participant has in the run share the weight one.
        let present = here.iter().filter(|o| o.participant == s.participant).count() as f64;
        let rows: Vec<usize> =
            (0..s.times.len()).filter(|&t| (0..s.features.len()).any(|f| s.value(t, f).is_some())).collect();
        let q = clock(&rows.iter().map(|&t| s.times[t]).collect::<Vec<_>>());
        for (&t, q) in rows.iter().zip(q) {
            let observed = (0..s.features.len()).filter(|&f| s.value(t, f).is_some()).count() as f64;
            let weight = q / (present * observed * who.len() as f64);
            let position = (s.times[t] - a) / step;
            let cell = (position as usize).min(nodes - 2);
            let right_share = position - cell as f64;
            for (f, feature) in s.features.iter().enumerate() {
                let Some(v) = s.value(t, f) else { continue };
                let label = format!("{},{},{feature}", data.participants[s.participant], data.modalities[s.modality]);
                let key = fitted.shared.keys.iter().position(|k| k.label == label).expect("a key");
                let scale = fitted.shared.standardisation[key];
                let x = (v - scale.mean) / scale.sd;
                let mut row = vec![0.0; n];
                for k in 0..factors {
                    row[cell * factors + k] = (1.0 - right_share) * w[key * factors + k];
                    row[(cell + 1) * factors + k] = right_share * w[key * factors + k];
                }
                for i in 0..n {
                    for j in 0..n {
                        normal[i * n + j] += weight * row[i] * row[j];
                    }
                    right[i] += weight * row[i] * x;
                }
            }
        }
    }
    (a, solve(normal, right))
}

#[test]
fn the_latent_on_a_grid_solves_the_dense_normal_equations() {
    for factors in [1, 2] {
        ask(&r_model(factors), &recording(&["one", "two"]), |fitted| {
            let new = recording(&["three"]);
            let options = InferOptions { query: Query::Native, alone: false };
            let (latents, notes) = infer(fitted, &new, &options).expect("a latent");
            assert!(notes.is_empty() && latents.len() == 1);
            let (start, z) = grid_twin(fitted, &new, "three", factors);
            assert_eq!(latents[0].times[0], start);
            let inside = latents[0].valid.iter().filter(|v| **v).count() * factors;
            assert!(inside + factors >= z.len());
            for (found, wanted) in latents[0].mean[..inside].iter().zip(&z) {
                assert!((found - wanted).abs() < 1e-9, "{found} {wanted}");
            }
        });
    }
}

#[test]
fn a_prediction_on_a_grid_is_the_latent_of_its_sources_times_the_loadings() {
    ask(&r_model(2), &recording(&["one", "two"]), |fitted| {
        let new = recording(&["three"]);
        let target = Target { participant: "ben".into(), modality: "rating".into() };
        for source in [Source::Within, Source::Across, Source::Both] {
            let options = PredictOptions { source, query: Query::Native, noise: false };
            let found = predict(fitted, &new, std::slice::from_ref(&target), &options).expect("a prediction");
            let p = &found.predictions[0];
            let sources = without(&new, |who, what, _| {
                let own = who == "ben";
                (own && what == "rating") || !source.takes(own)
            });
            let (start, z) = grid_twin(fitted, &sources, "three", 2);
            let key = fitted.shared.keys.iter().position(|k| k.label == "ben,rating,valence").expect("a key");
            let (w, scale) = (values(fitted, "w"), fitted.shared.standardisation[key]);
            let own_times = &new.streams.iter().find(|s| (s.participant, s.modality) == (1, 0)).expect("it").times;
            assert_eq!(&p.times, own_times);
            let (_, last) = domain(&entries(fitted, &sources, "three"));
            for (i, t) in p.times.iter().enumerate() {
                assert_eq!(p.valid[i], *t >= start - 1e-10 && *t <= last + 1e-10);
                if !p.valid[i] {
                    assert!(p.mean[i].is_nan());
                    continue;
                }
                let position = (t - start) / 1.5;
                let cell = (position as usize).min(z.len() / 2 - 2);
                let share = position - cell as f64;
                let latent = |k: usize| (1.0 - share) * z[cell * 2 + k] + share * z[(cell + 1) * 2 + k];
                let signal = w[key * 2] * latent(0) + w[key * 2 + 1] * latent(1);
                assert!((p.mean[i] - (signal * scale.sd + scale.mean)).abs() < 1e-8);
            }
        }
    });
}

fn matern(d: f64) -> f64 {
    let x = 3f64.sqrt() / 3.0 * d.abs();
    (1.0 + x) * (-x).exp()
}

/// Mean and variance of `a' g(t)` of one run given its entries, by dense conditioning.
fn process_twin(fitted: &Fitted<'_>, entries: &[(usize, f64, f64)], t: f64, a: &[f64]) -> (f64, f64) {
    let k = a.len();
    let (w, b, v) = (values(fitted, "w"), values(fitted, "b"), values(fitted, "v"));
    let variance = |key: usize| {
        let owner = (fitted.shared.keys[key].participant, fitted.shared.keys[key].modality);
        v[fitted.shared.noises.iter().position(|n| *n == owner).expect("a variance")]
    };
    let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
    let row = |key: usize| &w[key * k..(key + 1) * k];
    let n = entries.len();
    let mut c = vec![0.0; n * n];
    for (i, x) in entries.iter().enumerate() {
        for (j, y) in entries.iter().enumerate() {
            c[i * n + j] = matern(x.2 - y.2) * dot(row(x.0), row(y.0));
        }
        c[i * n + i] += variance(x.0);
    }
    let cross: Vec<f64> = entries.iter().map(|e| matern(e.2 - t) * dot(row(e.0), a)).collect();
    let residual: Vec<f64> = entries.iter().map(|e| e.1 - b[e.0]).collect();
    let mean = dot(&cross, &solve(c.clone(), residual));
    (mean, dot(a, a) - dot(&cross, &solve(c, cross.clone())))
}

#[test]
fn answers_of_a_process_are_those_of_dense_conditioning() {
    for factors in [1, 2] {
        ask(&gp_model(factors), &recording(&["one"]), |fitted| {
            let new = recording(&["three"]);
            let options = InferOptions { query: Query::Every(2.7), alone: false };
            let (latents, _) = infer(fitted, &new, &options).expect("a latent");
            let all = entries(fitted, &new, "three");
            let sd = latents[0].sd.as_ref().expect("a sd");
            for (i, t) in latents[0].times.iter().enumerate() {
                for f in 0..factors {
                    let unit: Vec<f64> = (0..factors).map(|k| f64::from(u8::from(k == f))).collect();
                    let (mean, variance) = process_twin(fitted, &all, *t, &unit);
                    let at = i * factors + f;
                    assert!((latents[0].mean[at] - mean).abs() < 1e-9);
                    assert!((sd[at] - variance.sqrt()).abs() < 1e-8);
                }
            }
            let targets = [Target { participant: "cleo".into(), modality: "physio".into() }];
            for (source, noise) in [(Source::Within, false), (Source::Across, true), (Source::Both, true)] {
                let options = PredictOptions { source, query: Query::Native, noise };
                let found = predict(fitted, &new, &targets, &options).expect("a prediction");
                let p = &found.predictions[0];
                let sources = without(&new, |who, what, _| {
                    let own = who == "cleo";
                    (own && what == "physio") || !source.takes(own)
                });
                let given = entries(fitted, &sources, "three");
                let (first, last) = domain(&given);
                for (i, t) in p.times.iter().enumerate() {
                    assert_eq!(p.valid[i], *t >= first - 1e-9 && *t <= last + 1e-9);
                    for (f, feature) in p.features.iter().enumerate() {
                        let at = i * p.features.len() + f;
                        if !p.valid[i] {
                            assert!(p.mean[at].is_nan() && p.sd.as_ref().expect("a sd")[at].is_nan());
                            continue;
                        }
                        let label = format!("cleo,physio,{feature}");
                        let key = fitted.shared.keys.iter().position(|k| k.label == label).expect("a key");
                        let w = values(fitted, "w");
                        let (mean, variance) = process_twin(fitted, &given, *t, &w[key * factors..(key + 1) * factors]);
                        let scale = fitted.shared.standardisation[key];
                        let wanted = (values(fitted, "b")[key] + mean) * scale.sd + scale.mean;
                        let place = fitted.shared.noises.iter().position(|n| *n == (2, 1)).expect("a variance");
                        let added = if noise { values(fitted, "v")[place] } else { 0.0 };
                        assert!((p.mean[at] - wanted).abs() < 1e-9);
                        let sd = p.sd.as_ref().expect("a sd")[at];
                        assert!((sd - (variance + added).sqrt() * scale.sd).abs() < 1e-8);
                    }
                }
            }
        });
    }
}

#[test]
fn alone_means_the_streams_of_one_participant() {
    for model in [r_model(1), gp_model(1)] {
        ask(&model, &recording(&["one"]), |fitted| {
            let new = recording(&["three"]);
            let alone = InferOptions { query: Query::Every(3.0), alone: true };
            let (latents, _) = infer(fitted, &new, &alone).expect("latents");
            assert_eq!(latents.len(), 4);
            for latent in latents {
                let who = latent.participant.clone().expect("a name");
                let own = without(&new, |p, _, _| p != who);
                let together = InferOptions { query: Query::Every(3.0), alone: false };
                let (same, _) = infer(fitted, &own, &together).expect("a latent");
                assert_eq!(format!("{:?}", latent.mean), format!("{:?}", same[0].mean));
                assert_eq!(latent.times, same[0].times);
            }
        });
    }
}
