//! Twins, golden numbers and limits of the state-space algebra; here the problems that they share.

mod golden;
mod twins;

use crate::response::{Response, build};
use crate::terms::filtered::tests::Theta;
use crate::terms::filtered::{FilteredGp, Observation};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

fn gamma() -> Response {
    build("gamma", &[("shape", 3.0), ("scale", 0.45), ("lag", 0.3)]).unwrap()
}

fn bateman() -> Response {
    build("bateman", &[("rise", 0.6), ("decay", 2.1), ("lag", -0.2)]).unwrap()
}

fn double_gamma() -> Response {
    let values = [("peak_shape", 2.0), ("peak_scale", 0.5), ("undershoot_shape", 5.0), ("undershoot_scale", 0.55)];
    let others = [("ratio", 0.3), ("lag", 0.1)];
    build("double_gamma", &values.iter().chain(&others).copied().collect::<Vec<_>>()).unwrap()
}

/// Two participants, one stream per response on its own clock, with masks, ties, near ties, a gap of hours, a missing
/// stream and, in the last of several runs, a single row.
fn problem(seed: u64, factors: usize, runs: usize, responses: &[Response]) -> (FilteredGp, Theta) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let participants = 2;
    let features = 2;
    let keys = participants * responses.len() * features;
    let mut observations = vec![Vec::new(); runs];
    for (run, scalars) in observations.iter_mut().enumerate() {
        let rows = if run > 0 && run + 1 == runs { 1 } else { 7 };
        for p in 0..participants {
            for m in 0..responses.len() {
                if p == 1 && m == seed as usize % responses.len() && run == 0 {
                    continue;
                }
                for row in 0..rows {
                    // The second participant's clock is off by a microsecond; the last rows come hours later. Powers
                    // of two keep differences of times exact.
                    let time = f64::from(row) * (0.5 + 0.3125 * m as f64)
                        + 0.5f64.powi(20) * p as f64
                        + if row >= 5 { 7200.0 } else { 0.0 };
                    for f in 0..features {
                        if rng.random::<f64>() > 0.1 {
                            scalars.push(Observation {
                                time,
                                response: m as u32,
                                modality: m as u32,
                                feature_key: ((p * responses.len() + m) * features + f) as u32,
                                noise: (p * responses.len() + m) as u32,
                                value: 2.0 * rng.random::<f64>() - 1.0,
                            });
                        }
                    }
                }
            }
        }
    }
    let mut draw =
        |n: usize, lo: f64, hi: f64| -> Vec<f64> { (0..n).map(|_| lo + (hi - lo) * rng.random::<f64>()).collect() };
    let theta = Theta {
        loadings: draw(keys * factors, -1.2, 1.2),
        offsets: draw(keys, -0.5, 0.5),
        noise: draw(participants * responses.len(), 0.05, 0.6),
        responses: responses.iter().flat_map(Response::values).collect(),
        length_scale: 1.7,
    };
    let gp = FilteredGp::new(factors, keys, theta.noise.len(), responses.to_vec(), &observations).unwrap();
    (gp, theta)
}

/// Declares all parameters learned but the shapes.
fn with_fixed_shapes(gp: FilteredGp, responses: &[Response]) -> FilteredGp {
    let names = responses.iter().flat_map(|r| r.family().parameters.iter().map(|p| p.name));
    gp.with_learned_responses(&names.map(|n| !n.contains("shape")).collect::<Vec<_>>()).unwrap()
}
