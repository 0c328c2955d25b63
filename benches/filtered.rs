//! Time of one value and gradient of the filtered term on a synthetic recording: JSON lines.
//!
//! Five people, one run of 120 seconds: brain 100 features at 1.8 s, rating 4 at 1.2 s, physiology 2 at 1.5 s, one entry in
//! a hundred missing. IG: identity and two bells; GB: identity, gamma and Bateman.

use msrm::response::{Response, build};
use msrm::terms::filtered::{Adjoint, FilteredGp, Observation, Point, Workspace};
use std::time::Instant;

const STREAMS: [(f64, u32); 3] = [(1.8, 100), (1.2, 4), (1.5, 2)];
const PEOPLE: u32 = 5;
const DURATION: f64 = 120.0;

/// Numbers between -1 and 1 that look like noise.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

fn observations(reaches: [(f64, f64); 3]) -> Vec<Observation> {
    let mut noise = Noise(7);
    let mut out = Vec::new();
    let mut key = 0;
    for person in 0..PEOPLE {
        for (modality, (step, features)) in STREAMS.into_iter().enumerate() {
            let (lo, hi) = reaches[modality];
            for row in 0..=(DURATION / step + 1e-9) as u32 {
                let time = f64::from(row) * step;
                if time - hi < 0.0 || time - lo > DURATION {
                    continue;
                }
                for feature in 0..features {
                    if noise.next() > -0.98 {
                        out.push(Observation {
                            time,
                            response: modality as u32,
                            modality: modality as u32,
                            feature_key: key + feature,
                            noise: person * STREAMS.len() as u32 + modality as u32,
                            value: (0.3 * time).sin() + 0.5 * noise.next(),
                        });
                    }
                }
            }
            key += features;
        }
    }
    out
}

fn main() {
    let make = |family: &str, values: &[(&str, f64)]| build(family, values).expect("a response");
    let cases = [
        (
            "IG",
            [(0.0, 0.0), (-7.0, 8.0), (-7.0, 7.5)],
            [
                Response::Identity,
                make("gaussian", &[("width", 1.0), ("lag", 0.35)]),
                make("gaussian", &[("width", 0.72), ("lag", 0.35)]),
            ],
        ),
        (
            "GB",
            [(0.0, 0.0), (-1.0, 20.0), (-1.0, 91.5)],
            [
                Response::Identity,
                make("gamma", &[("shape", 3.0), ("scale", 0.63), ("lag", 0.35)]),
                make("bateman", &[("rise", 0.8), ("decay", 2.8), ("lag", 0.35)]),
            ],
        ),
    ];
    for (name, reaches, responses) in cases {
        for factors in [1, 3, 5] {
            run(name, reaches, &responses, factors);
        }
    }
}

fn run(name: &str, reaches: [(f64, f64); 3], responses: &[Response], factors: usize) {
    let scalars = observations(reaches);
    let keys = PEOPLE as usize * STREAMS.iter().map(|s| s.1 as usize).sum::<usize>();
    let noises = PEOPLE as usize * STREAMS.len();
    let parameters = responses.iter().flat_map(|r| r.family().parameters);
    let learned: Vec<bool> = parameters.map(|p| !p.name.ends_with("shape")).collect();
    let gp = FilteredGp::new(factors, keys, noises, responses.to_vec(), &[scalars])
        .and_then(|gp| gp.with_learned_responses(&learned))
        .expect("a term");
    let mut noise = Noise(11);
    let loadings: Vec<f64> = (0..keys * factors).map(|_| 0.7 * noise.next()).collect();
    let offsets: Vec<f64> = (0..keys).map(|_| 0.1 * noise.next()).collect();
    let variances = vec![0.4; noises];
    let values: Vec<f64> = responses.iter().flat_map(Response::values).collect();
    let point = Point {
        loadings: &loadings,
        offsets: Some(&offsets),
        noise: &variances,
        responses: &values,
        length_scale: 3.0,
    };
    let mut workspace = Workspace::new();
    let mut times = Vec::new();
    let mut value = 0.0;
    for _ in 0..15 {
        let (mut w, mut b, mut v) = (vec![0.0; loadings.len()], vec![0.0; keys], vec![0.0; noises]);
        let (mut r, mut l) = (vec![0.0; values.len()], 0.0);
        let mut adjoint = Adjoint {
            scale: 1.0,
            loadings: &mut w,
            offsets: Some(&mut b),
            noise: &mut v,
            responses: &mut r,
            length_scale: &mut l,
        };
        let start = Instant::now();
        value = gp.log_likelihood(&point, Some(&mut adjoint), &mut workspace).expect("a value");
        times.push(start.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    let summary = &gp.summary().runs[0];
    println!(
        "{{\"responses\": \"{name}\", \"factors\": {factors}, \"nodes\": {}, \"scalars\": {}, \"log_likelihood\": {value:.6}, \
         \"median_ms\": {:.3}, \"least_ms\": {:.3}}}",
        summary.nodes,
        summary.scalars,
        1e3 * times[times.len() / 2],
        1e3 * times[0],
    );
}
