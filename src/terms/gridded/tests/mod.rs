//! Tests of the gridded shared response, and the recordings they share.

mod algebra;
mod golden;
mod golden_learned;
mod invariance;
mod learned;
mod planted;
mod pooling;
mod preparation;
mod reference;
mod rows;

use rand::Rng;
use rand_distr::{Distribution, StandardNormal};

use crate::data::{Recording, Stream};
use crate::math::rng::{Purpose, stream};

/// Three people, two runs, two modalities on their own clocks, one planted smooth factor per `factors`, some entries missing.
fn recording(seed: u64, factors: usize, missing: f64) -> Recording {
    recording_with_noise(seed, factors, missing, 0.3)
}

fn recording_with_noise(seed: u64, factors: usize, missing: f64, sd: f64) -> Recording {
    let mut rng = stream(seed, 0, Purpose::Prediction);
    let mut streams = Vec::new();
    let feature_counts = [4, 3];
    for participant in 0..3 {
        let mut weights = Vec::new();
        for n in feature_counts {
            let draw = || -> f64 { StandardNormal.sample(&mut rng) };
            weights.push(std::iter::repeat_with(draw).take(n * factors).collect::<Vec<_>>());
        }
        for run in 0..2 {
            for (modality, &n) in feature_counts.iter().enumerate() {
                // One stream does not exist at all.
                if (participant, run, modality) == (2, 1, 1) {
                    continue;
                }
                let step = [0.7, 1.1][modality];
                let mut times: Vec<f64> =
                    (0..(30.0 / step) as usize).map(|i| step * i as f64 + 0.1 * participant as f64).collect();
                // A gap in the clock.
                times.retain(|t| !(12.0..15.0).contains(t));
                let mut values = Vec::new();
                for &t in &times {
                    for f in 0..n {
                        let clean: f64 = (0..factors)
                            .map(|k| {
                                let z = planted(t, run, k);
                                z * weights[modality][f * factors + k]
                            })
                            .sum();
                        let noise: f64 = StandardNormal.sample(&mut rng);
                        let lost = rng.next_u64() as f64 / u64::MAX as f64;
                        values.push(if lost < missing { f64::NAN } else { clean + sd * noise + f as f64 });
                    }
                }
                streams.push(Stream {
                    participant,
                    run,
                    modality,
                    features: (0..n).map(|f| format!("f{f}")).collect(),
                    times,
                    values,
                });
            }
        }
    }
    streams.sort_by_key(|s| (s.participant, s.run, s.modality));
    Recording {
        participants: ["ann", "bo", "cy"].map(String::from).to_vec(),
        runs: ["day1", "day2"].map(String::from).to_vec(),
        modalities: ["face", "skin"].map(String::from).to_vec(),
        streams,
    }
}

/// The latent behind [`recording`] at time `t`.
fn planted(t: f64, run: usize, factor: usize) -> f64 {
    (t * (0.4 + 0.25 * factor as f64) + run as f64 + 2.0 * factor as f64).sin()
}

/// Standard normal numbers.
fn normals(seed: u64, n: usize) -> Vec<f64> {
    let mut rng = stream(seed, 1, Purpose::Prediction);
    (0..n).map(|_| StandardNormal.sample(&mut rng)).collect()
}

/// Largest absolute difference.
fn distance(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    let gaps = a.iter().zip(b).map(|(a, b)| (a - b).abs());
    gaps.fold(0.0, |m, d| if d.is_nan() { f64::NAN } else { m.max(d) })
}
