//! Folds hold out what they say, nothing leaks, failures stay, and scores are those of the pieces put together by hand.

mod cuts;
mod whole;

use super::{CutOptions, From, Scheme};
use crate::data::{Recording, Stream};
use crate::run::query::Source;

/// Four people with a rating and two signals that share a wandering latent, in the named runs.
pub(super) fn recording(runs: &[&str]) -> Recording {
    let names = |list: &[&str]| list.iter().map(|s| s.to_string()).collect::<Vec<_>>();
    let mut streams = Vec::new();
    for participant in 0..4 {
        for (run, name) in runs.iter().enumerate() {
            let seed = name.bytes().map(u64::from).sum::<u64>() as f64;
            for (modality, features) in [names(&["rate", "skin"]), names(&["valence"])].into_iter().enumerate() {
                let times: Vec<f64> = (0..40).map(|i| f64::from(i) * [0.7, 0.8][modality]).collect();
                let width = features.len();
                let values = (0..times.len() * width)
                    .map(|i| {
                        let (t, f) = (times[i / width], (i % width) as f64);
                        let latent = (0.6 * t + seed).sin() + (0.29 * t * (1.0 + 0.01 * seed.sin())).cos();
                        let weight = (1.0 + 0.2 * participant as f64) * (1.0 - 1.7 * f);
                        let own = ((participant * 37 + run * 11 + modality * 3 + i * 5) as f64 * 7.31 + seed).sin();
                        if (i + participant) % 23 == 7 { f64::NAN } else { 50.0 + 3.0 * (weight * latent + 0.3 * own) }
                    })
                    .collect();
                streams.push(Stream { participant, run, modality, features, times, values });
            }
        }
    }
    let participants = names(&["ada", "ben", "cleo", "dan"]);
    Recording { participants, runs: names(runs), modalities: names(&["physio", "rating"]), streams }
}

pub(super) fn options(scheme: Scheme) -> CutOptions {
    CutOptions {
        scheme,
        targets: vec!["*/rating".into()],
        together: false,
        sources: vec![Source::Within, Source::Across, Source::Both],
        folds: 4,
        gap: Some(3.0),
        seed: 7,
    }
}

/// The sources of a test by name.
pub(super) fn words(from: &[From]) -> Vec<&'static str> {
    from.iter().map(|f| f.name()).collect()
}
