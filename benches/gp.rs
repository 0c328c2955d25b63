//! Time and memory of a gradient of the GP-MSRM likelihood: state space and grouped, over nodes and factors, and on the
//! recording on which programs are compared.
//!
//! `cargo bench --bench gp`; prints JSON, one line a row. The recording has 5 participants, one run, brain 100
//! features at 1.8 s, rating 4 at 1.2 s, physiology 2 at 1.5 s and 1 % missing entries; peer figures are those of
//! multimodalsrm 0.2.0 on one core of a like machine.

use msrm::response::{Response, build};
use msrm::terms::filtered::{Adjoint, Algebra, FilteredGp, Observation, Point, Workspace};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};
use std::time::Instant;

/// Seconds spent on a row beyond its first calls.
const BUDGET: f64 = 0.4;

/// One stream of every participant: seconds between rows, features, response.
struct Stream {
    step: f64,
    features: usize,
    response: Response,
}

/// A term and where it is evaluated.
struct Case {
    gp: FilteredGp,
    loadings: Vec<f64>,
    offsets: Vec<f64>,
    noise: Vec<f64>,
    responses: Vec<f64>,
}

impl Case {
    /// Participants x streams on their clocks for `duration` seconds; `jitter` moves each participant's clock.
    fn new(factors: usize, participants: usize, streams: &[Stream], duration: f64, jitter: bool) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let mut run = Vec::new();
        let mut key = 0;
        for p in 0..participants {
            for (m, stream) in streams.iter().enumerate() {
                let rows = (duration / stream.step + 1e-9) as usize + 1;
                for row in 0..rows {
                    let shift = if jitter { 0.2 * stream.step * rng.random::<f64>() } else { 0.0 };
                    let time = (row as f64 * stream.step * 1e6).round() / 1e6 + shift;
                    for feature in 0..stream.features {
                        if rng.random::<f64>() > 0.01 {
                            run.push(Observation {
                                time,
                                response: m as u32,
                                modality: m as u32,
                                feature_key: (key + feature) as u32,
                                noise: (p * streams.len() + m) as u32,
                                value: (0.4 * time + feature as f64).sin() + rng.random::<f64>() - 0.5,
                            });
                        }
                    }
                }
                key += stream.features;
            }
        }
        let noises = participants * streams.len();
        let slots: Vec<Response> = streams.iter().map(|s| s.response.clone()).collect();
        let responses = slots.iter().flat_map(Response::values).collect();
        let learned: Vec<bool> =
            slots.iter().flat_map(|r| r.family().parameters).map(|p| !p.name.contains("shape")).collect();
        Self {
            gp: FilteredGp::new(factors, key, noises, slots, &[run])
                .and_then(|gp| gp.with_learned_responses(&learned))
                .expect("a correct term"),
            loadings: (0..key * factors).map(|_| 1.2 * rng.random::<f64>() - 0.6).collect(),
            offsets: (0..key).map(|_| 0.2 * rng.random::<f64>() - 0.1).collect(),
            noise: vec![0.4; noises],
            responses,
        }
    }

    fn point(&self) -> Point<'_> {
        Point {
            loadings: &self.loadings,
            offsets: Some(&self.offsets),
            noise: &self.noise,
            responses: &self.responses,
            length_scale: 3.0,
        }
    }

    fn choice(&self) -> Algebra {
        self.gp.choose(&self.point()).algebra
    }

    /// Fastest seconds of a value with its gradient, and bytes of the workspace.
    fn time(&self, algebra: Algebra) -> (f64, usize) {
        let mut workspace = Workspace::new();
        let (mut loadings, mut offsets) = (self.loadings.clone(), self.offsets.clone());
        let (mut noise, mut responses, mut length_scale) = (self.noise.clone(), self.responses.clone(), 0.0);
        let point = self.point();
        let mut call = || {
            let mut adjoint = Adjoint {
                scale: 1.0,
                loadings: &mut loadings,
                offsets: Some(&mut offsets),
                noise: &mut noise,
                responses: &mut responses,
                length_scale: &mut length_scale,
            };
            let begin = Instant::now();
            self.gp
                .log_likelihood_by(algebra, &point, Some(&mut adjoint), &mut workspace)
                .expect("a finite likelihood");
            begin.elapsed().as_secs_f64()
        };
        let first = call();
        let calls = ((BUDGET / first) as usize).clamp(2, 200);
        let fastest = (0..calls).map(|_| call()).fold(first, f64::min);
        (fastest, workspace.bytes())
    }
}

fn response(family: &str, values: &[(&str, f64)]) -> Response {
    build(family, values).expect("a correct response")
}

fn gamma_bateman() -> [Response; 2] {
    [
        response("gamma", &[("shape", 3.0), ("scale", 0.63), ("lag", 0.35)]),
        response("bateman", &[("rise", 0.8), ("decay", 2.8), ("lag", 0.35)]),
    ]
}

/// Gradient time over nodes: growth must stay linear.
fn scaling(report: &mut impl FnMut(Value)) {
    let [gamma, bateman] = gamma_bateman();
    for (name, filtered) in [("identity", None), ("gamma + bateman", Some([gamma, bateman]))] {
        for factors in [1, 3, 5] {
            let mut before: Option<(f64, f64)> = None;
            for nodes in [128usize, 512, 2048, 16_384] {
                let streams: Vec<Stream> = match &filtered {
                    None => vec![Stream { step: 1.5, features: 4, response: Response::Identity }],
                    Some(responses) => [(1.8, 8), (1.2, 4), (1.5, 2)]
                        .into_iter()
                        .zip([Response::Identity].iter().chain(responses))
                        .map(|((step, features), response)| Stream { step, features, response: response.clone() })
                        .collect(),
                };
                let per_second: f64 = streams.iter().map(|s| 1.0 / s.step).sum();
                // Two participants whose clocks differ, so that no two rows share a node.
                let case = Case::new(factors, 2, &streams, nodes as f64 / (2.0 * per_second), true);
                let counted = case.gp.summary().runs[0].nodes;
                let (seconds, bytes) = case.time(Algebra::StateSpace);
                let growth = before.map(|(n, s)| (seconds / s).ln() / (counted as f64 / n).ln());
                before = Some((counted as f64, seconds));
                report(json!({
                    "bench": "gp", "row": format!("{name}, {factors} factors, {counted} nodes, state space"),
                    "value": seconds * 1e3, "unit": "ms", "bytes": bytes, "growth": growth,
                }));
            }
        }
    }
}

/// Few nodes: where the automatic choice has to leave the state space to the grouped algebra.
fn crossover(report: &mut impl FnMut(Value)) {
    let [gamma, bateman] = gamma_bateman();
    for (name, responses) in
        [("identity", [Response::Identity, Response::Identity]), ("gamma + bateman", [gamma, bateman])]
    {
        for factors in [1, 3, 5] {
            for rows in [2, 4, 8, 16, 32, 64] {
                let [a, b] = responses.clone();
                let streams =
                    [Stream { step: 1.2, features: 4, response: a }, Stream { step: 1.5, features: 2, response: b }];
                let case = Case::new(factors, 2, &streams, 1.2 * f64::from(rows), true);
                let nodes = case.gp.summary().runs[0].nodes;
                let (state_space, _) = case.time(Algebra::StateSpace);
                let (grouped, _) = case.time(Algebra::Grouped);
                report(json!({
                    "bench": "gp", "row": format!("{name}, {factors} factors, {nodes} nodes, state space"),
                    "value": state_space * 1e3, "unit": "ms", "peer": "grouped", "ratio": grouped / state_space,
                    "auto": format!("{:?}", case.choice()),
                }));
            }
        }
    }
}

/// The recording of the README of the comparison.
fn recording(report: &mut impl FnMut(Value)) {
    let [gamma, bateman] = gamma_bateman();
    let sets = [
        ("identity only", vec![Response::Identity, Response::Identity, Response::Identity]),
        ("GB", vec![Response::Identity, gamma, bateman]),
    ];
    for (name, responses) in &sets {
        for (duration, peer) in [(120.0, 36.0), (480.0, 220.0)] {
            let streams: Vec<Stream> = [(1.8, 100), (1.2, 4), (1.5, 2)]
                .into_iter()
                .zip(responses)
                .map(|((step, features), response)| Stream { step, features, response: response.clone() })
                .collect();
            let case = Case::new(3, 5, &streams, duration, false);
            let size = &case.gp.summary().runs[0];
            let (seconds, bytes) = case.time(Algebra::StateSpace);
            let ratio = (*name == "GB").then_some(peer / (seconds * 1e3));
            report(json!({
                "bench": "gp",
                "row": format!("recording {duration} s, {name}, 3 factors, {} nodes, {} scalars, state space", size.nodes, size.scalars),
                "value": seconds * 1e3, "unit": "ms", "bytes": bytes,
                "peer": "multimodalsrm 0.2.0, state space", "ratio": ratio,
            }));
        }
    }
}

fn main() {
    let mut report = |line: Value| println!("{line}");
    recording(&mut report);
    crossover(&mut report);
    scaling(&mut report);
}
