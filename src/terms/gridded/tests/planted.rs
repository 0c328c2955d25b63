//! A latent planted behind responses of every kind is found again, and only with the right responses.

use std::sync::Arc;

use super::super::*;
use super::{normals, planted};
use crate::data::{Recording, Stream};
use crate::response::tests::{adaptive, curve};
use crate::response::{Response, build};

/// A slow and a faster part.
fn latent(t: f64) -> f64 {
    planted(t, 0, 0) + planted(t, 0, 3)
}

fn responses() -> Vec<(&'static str, Response)> {
    let of = |family: &str, given: &[(&str, f64)]| build(family, given).unwrap();
    vec![
        ("bold", of("double_gamma", &[])),
        ("rating", of("gaussian", &[("width", 1.0), ("lag", 2.0)])),
        ("skin", of("bateman", &[])),
        ("sweat", of("bach", &[])),
        ("pupil", of("gamma", &[("shape", 2.5), ("scale", 0.4)])),
        ("heart", Response::sampled(vec![0.0, 1.0, 2.5, 4.0], vec![0.0, -1.0, 0.8, 0.0]).unwrap()),
        ("face", Response::Identity),
    ]
}

/// One person and one run of 200 s; every modality has two features with small noise.
fn simulated() -> Recording {
    let mut streams = Vec::new();
    for (modality, (_, response)) in responses().iter().enumerate() {
        let times: Vec<f64> = (0..400).map(|i| 0.5 * i as f64 + 0.1).collect();
        let noise = normals(modality as u64, 2 * times.len());
        let clean = |t: f64| match response {
            Response::Identity => latent(t),
            other => {
                let k = curve(other);
                let (lo, hi) = k.support();
                adaptive(&|u| k.value(u) * latent(t - u), lo, hi, 1e-6)
            }
        };
        let values = times.iter().enumerate().flat_map(|(i, &t)| {
            let x = clean(t);
            [x + 0.02 * noise[2 * i], -0.5 * x + 0.02 * noise[2 * i + 1]]
        });
        streams.push(Stream {
            participant: 0,
            run: 0,
            modality,
            features: vec!["a".into(), "b".into()],
            values: values.collect(),
            times,
        });
    }
    Recording {
        participants: vec!["ann".into()],
        runs: vec!["film".into()],
        modalities: responses().iter().map(|(name, _)| (*name).to_owned()).collect(),
        streams,
    }
}

/// Correlation of the fitted with the planted latent, and the part of the variance left over.
fn recovered(recording: &Recording, response_of: &dyn Fn(usize) -> Response) -> (f64, f64) {
    let rows =
        |_: usize, m: usize| -> Arc<dyn ObservationRows> { Arc::new(ResponseRows::new(&response_of(m)).unwrap()) };
    let problem = Problem::with_responses(recording, &Options::new(1, 0.4), &rows).unwrap();
    let options = SolveOptions { start: Start::Spectral, ..SolveOptions::default() };
    let fit = solve(&problem, &options, None).unwrap();
    let grid = problem.runs[0].grid;
    let truth: Vec<f64> = (0..grid.nodes).map(|i| latent(grid.time(i))).collect();
    let mean = |v: &[f64]| v.iter().sum::<f64>() / v.len() as f64;
    let (a, b) = (mean(&truth), mean(&fit.latents));
    let cross = |x: &[f64], a: f64, y: &[f64], b: f64| -> f64 { x.iter().zip(y).map(|(x, y)| (x - a) * (y - b)).sum() };
    let z = &fit.latents;
    let r = cross(&truth, a, z, b) / (cross(&truth, a, &truth, a) * cross(z, b, z, b)).sqrt();
    (r.abs(), fit.components.reconstruction_by_modality.iter().sum())
}

#[test]
fn the_latent_behind_seven_kinds_of_response_is_recovered() {
    let recording = simulated();
    let all = responses();
    let (right, left_over) = recovered(&recording, &|m| all[m].1.clone());
    let (wrong, wrong_left_over) = recovered(&recording, &|_| Response::Identity);
    assert!(right > 0.999, "{right}");
    assert!(left_over < 0.1 * wrong_left_over, "{left_over} {wrong_left_over}");
    assert!(wrong < 0.9, "{wrong}");
}
