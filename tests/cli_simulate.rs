//! `msrm simulate`: its files are data of the model and its truth is a point of it; the same seed writes the same bytes.

mod common {
    pub mod program;
}

use common::program::{Folder, data, model};
use std::fs;

#[test]
fn what_is_drawn_can_be_evaluated_and_fitted() {
    let folder = Folder::new();
    let arguments = ["simulate", &model("glm_poisson"), "--data", &data("glm_poisson"), "--seed", "3"];
    let run = folder.run(&arguments).ended(&[0]);
    assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("written to glm_poisson-data\n", ""));
    let read = |name: &str| fs::read_to_string(folder.at(name)).expect(name);
    let drawn: serde_json::Value = serde_json::from_str(&read("glm_poisson-data/data.json")).expect("JSON");
    let given: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(data("glm_poisson")).expect("data")).expect("JSON");
    assert_eq!(drawn["X"], given["X"]);
    assert_ne!(drawn["y"], given["y"]);
    assert!(drawn["y"].as_array().expect("counts").iter().all(|v| v.is_u64()), "counts stay whole numbers");
    let truth: serde_json::Value = serde_json::from_str(&read("glm_poisson-data/truth.json")).expect("JSON");
    let rate = truth["rate"].as_f64().expect("a report");
    assert!((rate - truth["alpha"].as_f64().expect("a parameter").exp()).abs() < 1e-12 * rate);
    let again = folder.run(&[&arguments[..], &["--out", "again"]].concat()).ended(&[0]);
    assert_eq!(again.stderr, "");
    assert_eq!(read("again/data.json"), read("glm_poisson-data/data.json"));
    let point = format!("{{\"alpha\": {}, \"beta\": {}}}", truth["alpha"], truth["beta"]);
    let at = folder.write("point.json", point);
    let eval = ["eval", &model("glm_poisson"), "--data", "again/data.json", "--at", &at, "--json"];
    assert!(folder.run(&eval).ended(&[0]).json()["value"].as_f64().expect("a value").is_finite());
}

#[test]
fn several_draws_lie_in_numbered_folders() {
    let folder = Folder::new();
    let (m, d) = (model("eight_schools"), data("eight_schools"));
    folder.run(&["simulate", &m, "--data", &d, "--draws", "11", "--out", "draws"]).ended(&[0]);
    let text = |n: &str| fs::read_to_string(folder.at(&format!("draws/{n}/truth.json"))).expect(n);
    assert_ne!(text("01"), text("11"));
    folder.run(&["simulate", &m, "--data", &d, "--out", "draws"]).refused(&["draws exists already"]);
    folder.run(&["simulate", &m, "--data", &d, "--draws", "0"]).refused(&["--draws"]);
    folder.run(&["simulate", &m]).refused(&["the data lack `J`"]);
    folder.run(&["simulate", &m, "--data", &d, "--design", &d]).refused(&["takes a design"]);
}

#[test]
fn a_recording_is_drawn_from_a_design_and_fits_its_model() {
    let folder = Folder::new();
    let design = r#"{"participants": ["ada", "bo"], "seconds": 40, "streams": [
        {"modality": "rating", "features": ["joy"], "step": 1, "gaps": 0.1, "censored": 3},
        {"modality": "eda", "features": 2, "step": 0.8}]}"#;
    let design = folder.write("design.json", design);
    let m = model("gp_msrm");
    folder.run(&["simulate", &m, "--design", &design, "--out", "r"]).ended(&[0]);
    let read = |name: &str| fs::read_to_string(folder.at(name)).expect(name);
    assert!(read("r/latent.csv").starts_with("run,factor,time,mean,sd\n\"run-1\",1,0,"));
    assert!(
        read("r/recording.csv").starts_with("participant,run,modality,feature,time,value\nada,run-1,rating,joy,0,")
    );
    let eval = ["eval", &m, "--data", "r/recording.csv", "--at", "r/truth.json", "--json"];
    assert!(folder.run(&eval).ended(&[0]).json()["value"].as_f64().expect("a value").is_finite());
    folder.run(&["simulate", &m]).refused(&["--design"]);
    folder.run(&["simulate", &m, "--data", "r/recording.csv"]).refused(&["--design"]);
    let broken = folder.write("broken.json", r#"{"participants": 1, "seconds": 9, "stream": []}"#);
    folder.run(&["simulate", &m, "--design", &broken]).refused(&["broken.json", "unknown field `stream`"]);
    folder.run(&["simulate", &model("r_msrm"), "--design", &design]).refused(&["an objective says nothing"]);
}
