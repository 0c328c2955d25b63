//! Queries against slow obvious twins: dense normal equations, dense Gaussian conditioning, and what must not matter.

mod calibration;
mod leakage;
mod names;
mod twins;

use super::Fitted;
use crate::archive::{Method, Outcome, Settings};
use crate::base::Source;
use crate::bind::{BindOptions, Input, Plan, bind};
use crate::data::{Recording, Stream};
use crate::model::check_text;
use crate::run::{Reporting, fit};
use std::sync::atomic::AtomicBool;

/// R-MSRM with one or two factors.
pub(super) fn r_model(factors: usize) -> String {
    format!(
        "model r\nrecording x standardized\nfactors K = {factors}\nlatent z on grid(1.5)\nloading w\n\
         minimize balanced_squares(x, response(z) * w)\n  + 1e-3 * ridge(w) + 1e-4 * ridge(z) + 1e-2 * roughness(z)\n"
    )
}

/// GP-MSRM with one or two factors.
pub(super) fn gp_model(factors: usize) -> String {
    format!(
        "model g\nrecording x standardized\nfactors K = {factors}\nlatent z ~ matern32(length_scale = 3)\n\
         loading w ~ normal(0, 1)\noffset b ~ normal(0, 1)\nnoise v ~ lognormal(-1, 0.7)\n\
         observe x ~ normal(b + response(z) * w, sqrt(v))\n"
    )
}

/// Four people, two runs, two modalities of one and two features on clocks of their own, with missing entries.
pub(super) fn recording(runs: &[&str]) -> Recording {
    let names = |list: &[&str]| list.iter().map(|s| s.to_string()).collect::<Vec<_>>();
    let mut streams = Vec::new();
    for participant in 0..4 {
        for (run, name) in runs.iter().enumerate() {
            let seed = name.bytes().map(u64::from).sum::<u64>() as f64;
            for (modality, features) in [names(&["valence"]), names(&["rate", "skin"])].into_iter().enumerate() {
                let step = [1.3, 1.0][modality];
                let times: Vec<f64> = (0..14).map(|i| 0.2 * participant as f64 + step * f64::from(i)).collect();
                let width = features.len();
                let values = (0..times.len() * width)
                    .map(|i| {
                        let (t, f) = (times[i / width], (i % width) as f64);
                        let latent = (0.5 * t + seed).sin() + (0.21 * t).cos();
                        let weight = 1.0 + 0.3 * participant as f64 - 0.9 * f * modality as f64;
                        let own = ((participant * 37 + run * 11 + i * 5) as f64 * 7.31 + seed).sin();
                        if (i + participant) % 17 == 3 { f64::NAN } else { 5.0 + f + weight * latent + 0.4 * own }
                    })
                    .collect();
                streams.push(Stream { participant, run, modality, features, times, values });
            }
        }
    }
    let participants = names(&["ada", "ben", "cleo", "dan"]);
    Recording { participants, runs: names(runs), modalities: names(&["rating", "physio"]), streams }
}

/// A fit of `text` to `recording`.
pub(super) fn fitted(text: &str, recording: &Recording) -> (Plan, Outcome) {
    let source = Source::new("test.msrm", text);
    let model = check_text(&source).expect("a correct model");
    let plan = bind(model, source, Input::Recording(recording.clone()), BindOptions::default()).expect("a plan");
    let method = if plan.model.is_objective() { Method::Als } else { Method::Map };
    let settings = Settings { method, threads: 1, starts: 2, max_iterations: 3000, ..Settings::default() };
    let outcome = fit(&plan, &settings, &AtomicBool::new(false), Reporting::Quiet).expect("a fit");
    (plan, outcome)
}

/// The recording without the streams that `drop` names by participant, modality and run.
pub(super) fn without(recording: &Recording, drop: impl Fn(&str, &str, &str) -> bool) -> Recording {
    let r = recording;
    let keep = |s: &&Stream| !drop(&r.participants[s.participant], &r.modalities[s.modality], &r.runs[s.run]);
    let streams = r.streams.iter().filter(keep).cloned().collect();
    Recording { streams, ..r.clone_names() }
}

/// A fit that is opened and asked.
pub(super) fn ask<T>(text: &str, training: &Recording, question: impl FnOnce(&Fitted<'_>) -> T) -> T {
    let (plan, outcome) = fitted(text, training);
    question(&Fitted::new(&plan, &outcome, &[]).expect("an open fit"))
}
