//! What is hidden stays hidden: the values of targets, the order of rows and of names change no bit of an answer.

use super::super::{InferOptions, PredictOptions, Query, Source, Target, infer, parse_targets, predict};
use super::{ask, gp_model, r_model, recording};
use crate::data::Recording;

fn models() -> [String; 3] {
    [r_model(1), r_model(2), gp_model(1)]
}

/// The recording with the values of the targets replaced.
fn poisoned(recording: &Recording, targets: &[Target], value: impl Fn(usize) -> f64) -> Recording {
    let mut out = recording.clone();
    for s in &mut out.streams {
        let is = |t: &Target| {
            t.participant == recording.participants[s.participant] && t.modality == recording.modalities[s.modality]
        };
        if targets.iter().any(is) {
            s.values.iter_mut().enumerate().for_each(|(i, v)| *v = value(i));
        }
    }
    out
}

#[test]
fn the_payload_of_a_target_changes_no_bit_of_a_prediction() {
    let training = recording(&["one", "two"]);
    let new = recording(&["three", "two"]);
    for model in models() {
        ask(&model, &training, |fitted| {
            for texts in [vec!["ben/rating"], vec!["*/rating"], vec!["ada/physio", "dan/rating"]] {
                let texts: Vec<String> = texts.into_iter().map(String::from).collect();
                let targets = fitted.targets(&texts).expect("targets");
                for source in [Source::Within, Source::Across, Source::Both] {
                    let options = PredictOptions { source, query: Query::Native, noise: false };
                    let plain = predict(fitted, &new, &targets, &options).expect("a prediction");
                    // Other numbers, nothing at all, a constant, and numbers that would overflow if they were squared.
                    let payloads: [fn(usize) -> f64; 4] = [|i| i as f64, |_| f64::NAN, |_| 7.0, |i| 1e300 * (i as f64)];
                    for payload in payloads {
                        let changed = poisoned(&new, &targets, payload);
                        let found = predict(fitted, &changed, &targets, &options).expect("a prediction");
                        assert_eq!(format!("{plain:?}"), format!("{found:?}"));
                    }
                }
            }
        });
    }
}

#[test]
fn a_target_is_hidden_in_every_solve() {
    // With everybody's rating hidden, nobody's rating may reach the prediction of another.
    ask(&r_model(1), &recording(&["one"]), |fitted| {
        let new = recording(&["three"]);
        let all = parse_targets(&fitted.pair_names(), &["*/rating".into()]).expect("targets");
        let options = PredictOptions { source: Source::Across, query: Query::Native, noise: false };
        let together = predict(fitted, &new, &all, &options).expect("predictions");
        let one = predict(fitted, &new, &all[..1], &options).expect("a prediction");
        // Alone, ada's rating is predicted from the ratings of the others too, which must make a difference.
        assert_ne!(format!("{:?}", together.predictions[0].mean), format!("{:?}", one.predictions[0].mean));
        assert!(one.predictions[0].across.iter().max() > together.predictions[0].across.iter().max());
    });
}

/// The same streams with participants, runs, modalities, streams and features in reverse order.
fn reversed(recording: &Recording) -> Recording {
    let turn = |names: &[String]| names.iter().rev().cloned().collect::<Vec<_>>();
    let mut out = Recording {
        participants: turn(&recording.participants),
        runs: turn(&recording.runs),
        modalities: turn(&recording.modalities),
        streams: recording.streams.clone(),
    };
    for s in &mut out.streams {
        s.participant = recording.participants.len() - 1 - s.participant;
        s.run = recording.runs.len() - 1 - s.run;
        s.modality = recording.modalities.len() - 1 - s.modality;
        let width = s.features.len();
        s.features.reverse();
        s.values.chunks_exact_mut(width).for_each(<[f64]>::reverse);
    }
    out.streams.reverse();
    out
}

#[test]
fn the_order_of_new_data_changes_no_bit() {
    let new = recording(&["three", "four"]);
    for model in models() {
        ask(&model, &recording(&["one"]), |fitted| {
            let turned = reversed(&new);
            for alone in [false, true] {
                let options = InferOptions { query: Query::Native, alone };
                let plain = infer(fitted, &new, &options).expect("latents");
                assert_eq!(format!("{plain:?}"), format!("{:?}", infer(fitted, &turned, &options).expect("latents")));
            }
            let targets = fitted.targets(&["*/physio".into()]).expect("targets");
            let options = PredictOptions { source: Source::Both, query: Query::Native, noise: false };
            let plain = predict(fitted, &new, &targets, &options).expect("predictions");
            let found = predict(fitted, &turned, &targets, &options).expect("predictions");
            assert_eq!(format!("{plain:?}"), format!("{found:?}"));
        });
    }
}

#[test]
fn coverage_counts_streams_without_a_gap() {
    ask(&r_model(1), &recording(&["one"]), |fitted| {
        let mut new = recording(&["three"]);
        // Ben's physio stops for a while; streams that end early cover nothing behind their end.
        for s in new.streams.iter_mut().filter(|s| (s.participant, s.modality) == (1, 1)) {
            s.values[8..16].fill(f64::NAN);
        }
        let targets = fitted.targets(&["ben/rating".into()]).expect("targets");
        let options = PredictOptions { source: Source::Both, query: Query::Native, noise: false };
        let p = &predict(fitted, &new, &targets, &options).expect("a prediction").predictions[0];
        let physio = new.streams.iter().find(|s| (s.participant, s.modality) == (1, 1)).expect("it");
        for (t, within) in p.times.iter().zip(&p.within) {
            let gap = *t > physio.times[3] && *t < physio.times[8];
            let beyond = *t < physio.times[0] || *t > physio.times[13];
            assert_eq!(*within, usize::from(!gap && !beyond), "at {t}");
        }
        assert!(p.within.contains(&0) && p.within.contains(&1));
        assert_eq!(p.across.iter().max(), Some(&6));
    });
}

#[test]
fn shifting_and_scaling_a_training_stream_moves_its_prediction_alone() {
    let training = recording(&["one"]);
    let new = recording(&["three"]);
    let moved = |r: &Recording| {
        let mut r = r.clone();
        for s in r.streams.iter_mut().filter(|s| (s.participant, s.modality) == (1, 0)) {
            s.values.iter_mut().for_each(|v| *v = 1000.0 + 8.0 * *v);
        }
        r
    };
    for model in models() {
        let answers = |training: &Recording, new: &Recording| {
            ask(&model, training, |fitted| {
                let options = InferOptions { query: Query::Every(2.0), alone: false };
                let latent = infer(fitted, new, &options).expect("a latent").0.remove(0).mean;
                let targets = fitted.targets(&["ben/rating".into()]).expect("targets");
                let options = PredictOptions { source: Source::Both, query: Query::Every(2.0), noise: false };
                let mut found = predict(fitted, new, &targets, &options).expect("a prediction");
                (latent, found.predictions.remove(0).mean)
            })
        };
        let (latent, prediction) = answers(&training, &new);
        let (moved_latent, moved_prediction) = answers(&moved(&training), &moved(&new));
        for (a, b) in latent.iter().zip(&moved_latent) {
            assert!((a - b).abs() < 1e-3 * (1.0 + a.abs()), "{a} {b}");
        }
        for (a, b) in prediction.iter().zip(&moved_prediction) {
            assert!(a.is_nan() && b.is_nan() || (1000.0 + 8.0 * a - b).abs() < 1e-2 * (1.0 + a.abs()), "{a} {b}");
        }
    }
}
