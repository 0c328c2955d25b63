//! What folds hold out and what they leave.

use super::super::baseline::ridge_prediction;
use super::super::cut::names;
use super::super::{EvaluationError, Fold, Scheme, common_response, folds};
use super::{options, recording, words};
use crate::data::Recording;
use std::collections::BTreeMap;

/// Every observed value by participant, modality, run, feature and time (as bits).
fn entries(r: &Recording) -> BTreeMap<(String, String, String, String, u64), f64> {
    let mut out = BTreeMap::new();
    for s in &r.streams {
        let (p, m, run) = names(r, s);
        for (f, feature) in s.features.iter().enumerate() {
            for (t, time) in s.times.iter().enumerate() {
                if let Some(v) = s.value(t, f) {
                    out.insert((p.into(), m.into(), run.into(), feature.clone(), time.to_bits()), v);
                }
            }
        }
    }
    out
}

/// The held-out values of a fold in the same form.
fn held_out(fold: &Fold) -> BTreeMap<(String, String, String, String, u64), f64> {
    let mut out = BTreeMap::new();
    for test in fold.parts.iter().flat_map(|p| &p.tests) {
        for (t, time) in test.times.iter().enumerate() {
            for (f, feature) in test.features.iter().enumerate() {
                let v = test.values[t * test.features.len() + f];
                if !v.is_nan() {
                    let who = test.target.clone();
                    out.insert((who.participant, who.modality, test.run.clone(), feature.clone(), time.to_bits()), v);
                }
            }
        }
    }
    out
}

#[test]
fn every_scheme_holds_every_target_value_out_once_and_trains_without_it() {
    for (scheme, runs) in [
        (Scheme::Runs, vec!["one", "two", "three"]),
        (Scheme::Participants, vec!["one", "two"]),
        (Scheme::Participants, vec!["one"]),
        (Scheme::Gaps, vec!["one", "two"]),
    ] {
        let all = recording(&runs);
        let whole = entries(&all);
        let targets: BTreeMap<_, _> = whole.iter().filter(|(k, _)| k.1 == "rating").collect();
        let folds = folds(&all, &options(scheme)).expect("folds");
        let mut seen = BTreeMap::new();
        for fold in &folds {
            let training = entries(&fold.training);
            for part in &fold.parts {
                let calibration = part.calibration.as_ref().map(entries).unwrap_or_default();
                for test in &part.tests {
                    assert!(!test.from.is_empty());
                }
                let one = Fold { parts: vec![part.clone()], ..fold.clone() };
                for (key, value) in held_out(&one) {
                    assert_eq!(whole.get(&key), Some(&value));
                    assert!(!training.contains_key(&key), "{scheme:?}: the fit sees {key:?}");
                    assert!(!calibration.contains_key(&key), "{scheme:?}: the calibration sees {key:?}");
                    assert!(seen.insert(key, value).is_none(), "{scheme:?}: held out twice");
                }
            }
        }
        assert_eq!(seen.len(), targets.len(), "{scheme:?} {runs:?}");
    }
}

#[test]
fn folds_do_not_depend_on_the_order_of_rows() {
    let all = recording(&["one", "two", "three"]);
    let mut turned = all.clone();
    turned.participants.reverse();
    turned.runs.reverse();
    turned.modalities.reverse();
    for s in &mut turned.streams {
        s.participant = 3 - s.participant;
        s.run = 2 - s.run;
        s.modality = 1 - s.modality;
    }
    turned.streams.reverse();
    for scheme in [Scheme::Runs, Scheme::Participants, Scheme::Gaps] {
        let (a, b) = (folds(&all, &options(scheme)).expect("folds"), folds(&turned, &options(scheme)).expect("folds"));
        assert_eq!(format!("{a:?}"), format!("{b:?}"), "{scheme:?}");
    }
}

#[test]
fn stretches_follow_the_seed_and_are_stretches() {
    let all = recording(&["one"]);
    let cut = |seed| folds(&all, &super::CutOptions { seed, ..options(Scheme::Gaps) }).expect("folds");
    let hidden = |folds: &[Fold]| folds.iter().map(held_out).collect::<Vec<_>>();
    assert_eq!(hidden(&cut(7)), hidden(&cut(7)));
    assert_ne!(hidden(&cut(7)), hidden(&cut(8)));
    // Four folds of stretches of three seconds, about four rows each.
    for fold in cut(7) {
        for test in &fold.parts[0].tests {
            let jumps = test.times.windows(2).filter(|w| w[1] - w[0] > 1.7).count();
            assert!(test.times.len() >= 2 * (jumps + 1), "{:?}", test.times);
            assert_eq!(words(&test.from), ["rest"]);
        }
    }
}

#[test]
fn a_single_modality_has_nothing_within() {
    let all = recording(&["one", "two"]).only(&["rating".to_string()]);
    for fold in folds(&all, &options(Scheme::Runs)).expect("folds") {
        assert!(fold.parts[0].tests.iter().all(|t| words(&t.from) == ["across", "both"]));
    }
    let together = super::CutOptions { together: true, ..options(Scheme::Runs) };
    assert!(matches!(folds(&all, &together), Err(EvaluationError::Nothing { .. })));
}

#[test]
fn what_cannot_be_cut_is_told() {
    let one = recording(&["one"]);
    let refusal = |r: &Recording, o: &super::CutOptions| folds(r, o).expect_err("a refusal").to_string();
    assert!(refusal(&one, &options(Scheme::Runs)).contains("at least 2 runs; the recording has 1"));
    let few = super::super::cut::streams(&one, |p, _, _| p < "c");
    assert!(refusal(&few, &options(Scheme::Participants)).contains("at least 3 participants; the recording has 2"));
    for gap in [0.0, -1.0, f64::NAN] {
        let o = super::CutOptions { gap: Some(gap), ..options(Scheme::Gaps) };
        assert!(refusal(&one, &o).contains("positive number of seconds"));
    }
    let o = super::CutOptions { targets: vec!["*/ratng".into()], ..options(Scheme::Gaps) };
    assert!(refusal(&one, &o).contains("did you mean `rating`?"));
}

#[test]
fn the_ridge_baseline_never_sees_what_is_held_out() {
    let all = recording(&["one", "two"]);
    for scheme in [Scheme::Runs, Scheme::Participants] {
        for fold in folds(&all, &options(scheme)).expect("folds") {
            for part in &fold.parts {
                for test in &part.tests {
                    let mut poisoned = part.clone();
                    for s in &mut poisoned.sources.streams {
                        let (p, m, _) = names(&part.sources, s);
                        if p == test.target.participant && m == test.target.modality {
                            s.values.fill(1e9);
                        }
                    }
                    for from in &test.from {
                        let lags = [-1.0, 0.0, 1.0];
                        let plain = ridge_prediction(&fold.training, part, test, *from, &lags);
                        let found = ridge_prediction(&fold.training, &poisoned, test, *from, &lags);
                        assert_eq!(format!("{plain:?}"), format!("{found:?}"));
                        assert!(plain.iter().all(|v| v.is_finite()));
                    }
                }
            }
        }
    }
}

#[test]
fn participants_are_compared_at_equal_times() {
    let rows = common_response(&recording(&["one"]));
    assert_eq!(rows.iter().map(|r| r.feature.as_str()).collect::<Vec<_>>(), ["rate", "skin", "valence"]);
    for row in &rows {
        assert_eq!(row.participants, ["ada", "ben", "cleo", "dan"]);
        assert!(row.rows > 25 && row.mean.expect("a mean") > 0.8 && row.pairwise < row.mean, "{row:?}");
    }
    // One clock half an interval later shares no row, and a constant is left out.
    let mut moved = recording(&["one"]);
    for s in moved.streams.iter_mut().filter(|s| s.participant == 1) {
        s.times.iter_mut().for_each(|t| *t += 0.35);
    }
    assert!(common_response(&moved).iter().all(|r| r.rows == 0 && r.mean.is_none()));
    for s in moved.streams.iter_mut().filter(|s| s.participant == 1) {
        s.values.fill(0.0);
    }
    assert!(common_response(&moved).iter().all(|r| r.participants.len() == 3 && r.mean.is_some()));
}
