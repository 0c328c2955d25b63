//! Calibration: weights of somebody left out, against those of the joint fit and against a ridge step written out.

use super::super::{Fitted, QueryError, Reference, Source, calibrate};
use super::super::{PredictOptions, Query, predict};
use super::{fitted, gp_model, r_model, recording, without};
use crate::archive::{Mode, Outcome};
use crate::bind::{BindOptions, Input, Plan, bind};
use crate::data::Recording;

/// The joint mode without one participant: the plan of the others, with their parameters as they are.
fn left_out(plan: &Plan, mode: &Mode, training: &Recording, who: &str) -> (Plan, Outcome) {
    let others = without(training, |p, _, _| p == who);
    let names = |s: &crate::data::Stream| training.participants[s.participant].clone();
    let mut participants: Vec<String> = others.streams.iter().map(names).collect();
    participants.dedup();
    let mut others = others;
    for s in &mut others.streams {
        let name = &training.participants[s.participant];
        s.participant = participants.iter().position(|p| p == name).expect("a name");
    }
    others.participants = participants;
    let reduced = bind(plan.model.clone(), plan.source.clone(), Input::Recording(others), BindOptions::default());
    let reduced = reduced.expect("a plan");
    let mut mode = mode.clone();
    let all: Vec<String> = mode.quantities.iter().flat_map(|q| q.labels.clone()).collect();
    let stays = |label: &String| !label.contains(&format!("[{who},"));
    mode.values = mode.values.iter().zip(&all).filter(|(_, l)| stays(l)).map(|(v, _)| *v).collect();
    for q in &mut mode.quantities {
        let before = q.labels.len();
        q.labels.retain(stays);
        if q.labels.len() < before {
            q.shape[0] = q.shape[0] * q.labels.len() / before;
        }
    }
    (reduced, Outcome::Mode(Box::new(mode)))
}

#[test]
fn somebody_left_out_of_a_joint_mode_gets_the_same_weights_back() {
    // At the joint mode every block of parameters is at its mode given the others.
    let training = recording(&["one", "two"]);
    for factors in [1, 2] {
        let (plan, outcome) = fitted(&gp_model(factors), &training);
        let Outcome::Mode(mode) = &outcome else { panic!("no mode") };
        let (reduced, rest) = left_out(&plan, mode, &training, "cleo");
        let open = Fitted::new(&reduced, &rest, &[]).expect("an open fit");
        let own = without(&training, |p, _, _| p != "cleo");
        for reference in [Reference::Training, Reference::Donors] {
            let data = if reference == Reference::Donors { training.clone() } else { own.clone() };
            let found = calibrate(&open, &data, reference, 1).expect("weights");
            assert!(found.notes.is_empty(), "{:?}", found.notes);
            let labels: Vec<&String> = mode.quantities.iter().flat_map(|q| &q.labels).collect();
            let value = |label: String| mode.values[labels.iter().position(|l| **l == label).expect("a label")];
            assert_eq!(found.pairs.len(), 2);
            for pair in &found.pairs {
                assert_eq!(pair.reference, reference.name());
                for (f, feature) in pair.features.iter().enumerate() {
                    let name = format!("cleo,{},{feature}", pair.modality);
                    for k in 0..factors {
                        let wanted = value(format!("w[{name},{}]", k + 1));
                        assert!((pair.loadings[f * factors + k] - wanted).abs() < 1e-3, "{name} {reference:?}");
                    }
                    assert!((pair.offsets[f] - value(format!("b[{name}]"))).abs() < 1e-3);
                }
                let wanted = value(format!("v[cleo,{}]", pair.modality));
                assert!((pair.noise.expect("a variance") - wanted).abs() < 1e-3);
            }
        }
    }
}

#[test]
fn calibrated_people_are_predicted_like_fitted_ones() {
    let training = recording(&["one", "two"]);
    let new = recording(&["three"]);
    for model in [r_model(1), gp_model(1)] {
        let (plan, outcome) = fitted(&model, &without(&training, |p, _, _| p == "dan"));
        let open = Fitted::new(&plan, &outcome, &[]).expect("an open fit");
        let own = without(&training, |p, _, _| p != "dan");
        let found = calibrate(&open, &own, Reference::Training, 1).expect("weights");
        let extended = Fitted::new(&plan, &outcome, &found.pairs).expect("an open fit");
        let targets = extended.targets(&["dan/rating".into()]).expect("a target");
        let options = PredictOptions { source: Source::Across, query: Query::Native, noise: false };
        let p = &predict(&extended, &new, &targets, &options).expect("a prediction").predictions[0];
        let truth = &new.streams.iter().find(|s| (s.participant, s.modality) == (3, 0)).expect("it").values;
        let score = crate::diagnose::score(truth, &p.mean, 1);
        assert!(score.correlation.expect("r") > 0.9, "{score:?}");
        // What was there before is untouched by what was added.
        let targets = open.targets(&["ada/rating".into()]).expect("a target");
        let only = without(&new, |p, _, _| p == "dan");
        let before = predict(&open, &only, &targets, &options).expect("a prediction");
        let after = predict(&extended, &only, &targets, &options).expect("a prediction");
        assert_eq!(format!("{before:?}"), format!("{after:?}"));
        // And the weights do not depend on the order of the rows.
        let mut turned = own.clone();
        turned.streams.reverse();
        assert_eq!(calibrate(&open, &turned, Reference::Training, 1).expect("weights").pairs, found.pairs);
    }
}

#[test]
fn faults_are_named() {
    let training = recording(&["one"]);
    for model in [r_model(1), gp_model(1)] {
        let (plan, outcome) = fitted(&model, &without(&training, |p, _, _| p == "dan"));
        let open = Fitted::new(&plan, &outcome, &[]).expect("an open fit");
        let ask = |data: &Recording, reference| calibrate(&open, data, reference, 1);
        let old = without(&training, |p, _, _| p == "dan");
        assert!(matches!(ask(&old, Reference::Training), Err(QueryError::NothingNew)));
        let own = without(&training, |p, _, _| p != "dan");
        assert!(matches!(ask(&own, Reference::Donors), Err(QueryError::NoDonors)));
        let elsewhere = without(&recording(&["three"]), |p, _, _| p != "dan");
        let error = ask(&elsewhere, Reference::Training).expect_err("no such run").to_string();
        assert!(error.contains("`three`") && error.contains("it has: one"), "{error}");
        let mut renamed = own.clone();
        renamed.modalities[0] = "ratings".into();
        let error = ask(&renamed, Reference::Training).expect_err("no such modality").to_string();
        assert!(error.contains("did you mean `rating`?"), "{error}");
        let mut short = own.clone();
        short.streams.iter_mut().for_each(|s| {
            let width = s.features.len();
            s.values[width..].fill(f64::NAN);
        });
        let error = ask(&short, Reference::Training).expect_err("too little");
        // One value does not vary, so the features are masked first.
        assert!(matches!(error, QueryError::NothingNew | QueryError::FewValues { .. }), "{error}");
    }
}
