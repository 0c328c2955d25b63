//! Binding: data against declarations, recordings against shared-response models.

use super::{BindError, BindOptions, Constants, Input, Plan, SharedError, bind};
use crate::base::Source;
use crate::data::{Recording, Stream, parse_arrays};
use crate::model::check_text;
use std::path::Path;

fn plan(model: &str, data: &str) -> Result<Plan, String> {
    let source = Source::new("m.msrm", format!("model m\n{model}\n"));
    let checked = check_text(&source).map_err(|e| crate::base::render(&source, &e))?;
    let arrays = parse_arrays(Path::new("d.json"), data.as_bytes()).map_err(|e| e.to_string())?;
    bind(checked, source, Input::Arrays(arrays), BindOptions::default()).map_err(|e| e.to_string())
}

#[test]
fn sizes_bounds_and_coordinates_become_explicit() {
    let model = "data N : int\ndata top : real\ndata y : real[N]\nparam a[N] in [0, top] ~ normal(0, 1)\n\
                 param s > 0 ~ half_normal(1)\nparam b[2, N] ~ normal(a[1], s)\nobserve y ~ normal(a, s)";
    let plan = plan(model, r#"{"N": 3, "top": 2.5, "y": [1, 2, 3]}"#).expect("binds");
    let facts: Vec<_> =
        plan.blocks.iter().map(|b| (b.name.as_str(), b.offset, b.len(), b.lower[0], b.upper[0])).collect();
    let inf = f64::INFINITY;
    assert_eq!(facts, [("a", 0, 3, 0.0, 2.5), ("s", 3, 1, 0.0, inf), ("b", 4, 6, -inf, inf)]);
    assert_eq!(plan.blocks[2].labels[4], "b[2,2]");
    assert_eq!(plan.dim(), 10);
}

#[test]
fn faults_of_the_data_are_all_reported_with_the_declaration() {
    let model = "data N : int\ndata K : int\ndata y : real[N]\ndata g : int[N] in [1, K]\ndata s : real[N] > 0\n\
                 param mu ~ normal(0, 1)\nobserve y ~ normal(mu, s)";
    let text = plan(model, r#"{"N": 2, "K": 2, "y": [1, 2, 3], "g": [1, 3], "s": [1, 0], "extra": 1}"#).unwrap_err();
    for part in [
        "`y` has the wrong shape",
        "expected: [2], that is [N]",
        "found: [3]",
        "`g` is outside its bounds",
        "found: g[2] = 3",
        "`s` is outside its bounds",
        "found: s[2] = 0",
        "m.msrm:4:6",
    ] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    let text = plan(model, r#"{"N": 2, "K": 2, "Y": [1, 2], "g": [1, 1.5], "s": [1, 1]}"#).unwrap_err();
    assert!(text.contains("the data lack `y`") && text.contains("the data hold `Y`"), "{text}");
    assert!(text.contains("`g` must hold whole numbers") && text.contains("g[2] = 1.5"), "{text}");
    let text = plan("data x : real[2]\ndata i : int\nparam a ~ normal(x[i], 1)", r#"{"x": [1, 2], "i": 1}"#);
    assert!(text.is_ok(), "{text:?}");
}

#[test]
fn unused_data_are_noted() {
    let plan = plan("param mu ~ normal(0, 1)", r#"{"z": 1}"#).expect("binds");
    assert_eq!(plan.notes, ["the data hold `z`, which the model does not declare; it is not used"]);
}

fn stream(participant: usize, run: usize, features: &[&str], values: &[f64]) -> Stream {
    let rows = values.len() / features.len();
    Stream {
        participant,
        run,
        modality: 0,
        features: features.iter().map(|f| f.to_string()).collect(),
        times: (0..rows).map(|t| t as f64).collect(),
        values: values.to_vec(),
    }
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|n| n.to_string()).collect()
}

const GP: &str = "model m\nrecording x standardized\nfactors K = 1\nlatent z ~ matern32(length_scale = 3)\n\
                  loading w ~ normal(0, 1)\nnoise v ~ lognormal(-2, 0.7)\nobserve x ~ normal(response(z) * w, sqrt(v))\n";

fn bind_recording(recording: Recording, options: BindOptions) -> Result<Plan, BindError> {
    let source = Source::new("m.msrm", GP);
    let model = check_text(&source).expect("a correct model");
    bind(model, source, Input::Recording(recording), options)
}

#[test]
fn constant_features_are_masked_refused_or_kept_as_asked() {
    let recording = Recording {
        participants: names(&["p", "q"]),
        runs: names(&["r"]),
        modalities: names(&["eda"]),
        streams: vec![
            stream(0, 0, &["a", "b"], &[1.0, 5.0, 2.0, 5.0, 3.0, 5.0]),
            stream(1, 0, &["a"], &[0.0, 0.0, 0.0]),
        ],
    };
    let plan = bind_recording(recording.clone(), BindOptions::default()).expect("binds");
    let shared = plan.shared.as_ref().expect("a recording");
    assert_eq!(shared.keys.iter().map(|k| k.label.as_str()).collect::<Vec<_>>(), ["p,eda,a"]);
    assert_eq!(shared.recording.participants, ["p"]);
    assert_eq!(shared.recording.streams[0].values, [1.0, 2.0, 3.0]);
    assert_eq!(
        plan.notes,
        [
            "p, eda: constant features are masked: b (always 5)",
            "q, eda: constant features are masked: a (always 0)",
            "participant q has nothing else and is left out of the fit"
        ]
    );
    let refused = BindOptions { constants: Constants::Refuse, ..BindOptions::default() };
    let error = bind_recording(recording.clone(), refused).unwrap_err().to_string();
    assert!(error.contains("p,eda,b (always 5); q,eda,a (always 0)"), "{error}");
    let kept = BindOptions { constants: Constants::Keep, ..BindOptions::default() };
    let plan = bind_recording(recording, kept).expect("binds");
    let shared = plan.shared.expect("a recording");
    assert_eq!(shared.keys.len(), 3);
    // A kept constant is centred and left in its unit.
    assert_eq!((shared.standardisation[1].mean, shared.standardisation[1].sd), (5.0, 1.0));
}

#[test]
fn features_are_matched_by_name_over_runs_and_standardised_together() {
    let recording = Recording {
        participants: names(&["p"]),
        runs: names(&["r1", "r2"]),
        modalities: names(&["eda"]),
        streams: vec![
            stream(0, 0, &["a", "b"], &[1.0, 10.0, 2.0, 20.0]),
            stream(0, 1, &["b", "a"], &[30.0, 3.0, f64::NAN, 4.0]),
        ],
    };
    let plan = bind_recording(recording, BindOptions::default()).expect("binds");
    let shared = plan.shared.expect("a recording");
    assert_eq!(shared.recording.streams[1].features, ["a", "b"]);
    assert_eq!(shared.recording.streams[1].values[..2], [3.0, 30.0]);
    let (a, b) = (shared.standardisation[0], shared.standardisation[1]);
    assert_eq!((a.mean, b.mean), (2.5, 20.0));
    assert!((a.sd - 1.25_f64.sqrt()).abs() < 1e-15 && (b.sd - (200.0_f64 / 3.0).sqrt()).abs() < 1e-14);
    assert_eq!(shared.anchor, Some(0));
    let loading = &plan.blocks[0];
    assert_eq!((loading.lower[0], loading.lower[1]), (0.0, f64::NEG_INFINITY));
}

#[test]
fn modalities_are_chosen_by_name() {
    let mut recording = Recording {
        participants: names(&["p", "q"]),
        runs: names(&["r"]),
        modalities: names(&["eda", "face"]),
        streams: vec![stream(0, 0, &["a"], &[1.0, 2.0]), stream(1, 0, &["a"], &[1.0, 3.0])],
    };
    recording.streams[1].modality = 1;
    let only = |m: &str| BindOptions { modalities: vec![m.to_string()], ..BindOptions::default() };
    let plan = bind_recording(recording.clone(), only("face")).expect("binds");
    let shared = plan.shared.expect("a recording");
    assert_eq!((shared.recording.participants, shared.recording.modalities), (names(&["q"]), names(&["face"])));
    let error = bind_recording(recording, only("fmri")).unwrap_err();
    assert!(
        matches!(&error, BindError::Shared(SharedError::Modality { present, .. }) if present.len() == 2),
        "{error}"
    );
}
