//! Names that a fit does not know are refused with the nearest that it does, and what it left out is left out again.

use super::super::{InferOptions, PredictOptions, Query, QueryError, Source, infer, predict};
use super::{ask, gp_model, r_model, recording, without};
use crate::data::Recording;

const NATIVE: InferOptions = InferOptions { query: Query::Native, alone: false };

fn message(model: &str, training: &Recording, new: &Recording) -> String {
    ask(model, training, |fitted| infer(fitted, new, &NATIVE).expect_err("a refusal").to_string())
}

#[test]
fn unknown_names_are_refused_with_the_nearest() {
    let training = recording(&["one"]);
    for model in [r_model(1), gp_model(1)] {
        let mut new = recording(&["three"]);
        new.participants[1] = "bem".into();
        let text = message(&model, &training, &new);
        assert!(
            text.contains("no participant `bem`; did you mean `ben`?") && text.contains("msrm calibrate"),
            "{text}"
        );
        let mut new = recording(&["three"]);
        new.modalities[1] = "physo".into();
        let text = message(&model, &training, &new);
        assert!(text.contains("no modality `physo`; did you mean `physio`?"), "{text}");
        let mut new = recording(&["three"]);
        new.streams[1].features[0] = "rates".into();
        let text = message(&model, &training, &new);
        assert!(
            text.contains("participant `ada`, modality `physio`") && text.contains("did you mean `rate`?"),
            "{text}"
        );
        let unfitted = without(&training, |p, m, _| p == "dan" && m == "physio");
        let text = message(&model, &unfitted, &recording(&["three"]));
        assert!(text.contains("participant `dan` was fitted without modality `physio`"), "{text}");
    }
}

#[test]
fn targets_are_found_by_name_and_star() {
    ask(&r_model(1), &recording(&["one"]), |fitted| {
        let names = |texts: &[&str]| {
            let texts: Vec<String> = texts.iter().map(|t| t.to_string()).collect();
            fitted.targets(&texts).map(|t| t.iter().map(ToString::to_string).collect::<Vec<_>>())
        };
        assert_eq!(names(&["dan/physio", "ada/rating", "ada/rating"]).expect("targets"), ["ada/rating", "dan/physio"]);
        assert_eq!(names(&["*/rating"]).expect("targets").len(), 4);
        let refusal = |texts: &[&str]| names(texts).expect_err("a refusal").to_string();
        assert!(refusal(&["ada/ratng"]).contains("did you mean `ada/rating`?"));
        assert!(refusal(&["*/ratings"]).contains("did you mean `rating`?"));
        assert!(refusal(&["rating"]).contains("PARTICIPANT/MODALITY"));
        assert!(refusal(&[]).contains("--target ada/rating"));
    });
}

#[test]
fn a_feature_that_never_varies_is_left_out_as_in_the_fit() {
    let mut training = recording(&["one"]);
    let mut new = recording(&["three"]);
    for r in [&mut training, &mut new] {
        // Dan's skin sensor was off, and ben rated nothing.
        for s in r.streams.iter_mut().filter(|s| (s.participant, s.modality) == (3, 1)) {
            s.values.iter_mut().skip(1).step_by(2).for_each(|v| *v = 0.0);
        }
        for s in r.streams.iter_mut().filter(|s| (s.participant, s.modality) == (1, 0)) {
            s.values.fill(4.0);
        }
    }
    for model in [r_model(1), gp_model(1)] {
        ask(&model, &training, |fitted| {
            let (_, notes) = infer(fitted, &new, &NATIVE).expect("a latent");
            assert_eq!(
                notes,
                [
                    "ben, rating: constant features are masked: valence",
                    "dan, physio: constant features are masked: skin"
                ]
            );
            // The same names with values that vary are unknown, not constant.
            let text = infer(fitted, &recording(&["three"]), &NATIVE).expect_err("a refusal").to_string();
            assert!(text.contains("`ben`") || text.contains("`skin`"), "{text}");
        });
    }
}

#[test]
fn features_may_be_missing_and_runs_may_lack_people() {
    let new = without(&recording(&["three", "four"]), |p, m, r| r == "four" && (p != "cleo" || m == "rating"));
    let mut new = new;
    let s = new.streams.iter_mut().find(|s| s.features.len() == 2).expect("a stream");
    s.features = vec!["skin".into()];
    s.values = s.values.iter().skip(1).step_by(2).copied().collect();
    for model in [r_model(1), gp_model(1)] {
        ask(&model, &recording(&["one"]), |fitted| {
            let (latents, _) = infer(fitted, &new, &NATIVE).expect("latents");
            assert_eq!(latents.len(), 2);
            let targets = fitted.targets(&["cleo/physio".into(), "cleo/rating".into()]).expect("targets");
            let options = PredictOptions { source: Source::Across, query: Query::Native, noise: false };
            let found = predict(fitted, &new, &targets, &options).expect("predictions");
            assert_eq!(found.predictions.iter().map(|p| p.run.as_str()).collect::<Vec<_>>(), ["three", "three"]);
            assert_eq!(found.notes, ["cleo, run four: nothing to predict from across"]);
            let only = without(&new, |p, _, r| p != "cleo" || r == "three");
            let none = predict(fitted, &only, &targets, &options);
            assert!(matches!(none, Err(QueryError::NoSource { .. })));
        });
    }
}

#[test]
fn spacings_and_noise_are_checked() {
    ask(&r_model(1), &recording(&["one"]), |fitted| {
        let new = recording(&["three"]);
        for step in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let options = InferOptions { query: Query::Every(step), alone: false };
            assert!(matches!(infer(fitted, &new, &options), Err(QueryError::Step { .. })));
        }
        let options = InferOptions { query: Query::Every(1e-9), alone: false };
        assert!(matches!(infer(fitted, &new, &options), Err(QueryError::ManyTimes { .. })));
        let targets = fitted.targets(&["ada/rating".into()]).expect("targets");
        let options = PredictOptions { source: Source::Both, query: Query::Native, noise: true };
        assert!(matches!(predict(fitted, &new, &targets, &options), Err(QueryError::NoNoise)));
    });
}
