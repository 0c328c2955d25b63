//! `msrm evaluate` from outside: the tables it writes, failures that stay, threads that change nothing.

mod common {
    pub mod program;
}

use common::program::{Folder, data, model};
use std::collections::BTreeMap;
use std::fs;

fn rows(folder: &Folder, path: &str) -> Vec<BTreeMap<String, String>> {
    let mut reader = csv::Reader::from_path(folder.at(path)).expect("a table");
    let header = reader.headers().expect("a header").clone();
    let row = |r: csv::StringRecord| header.iter().map(String::from).zip(r.iter().map(String::from)).collect();
    reader.records().map(|r| row(r.expect("a row"))).collect()
}

/// R-MSRM with other parts.
fn variant(factors: usize, roughness: &str) -> String {
    let text = fs::read_to_string(model("r_msrm")).expect("the bundled model");
    let text = text.replace("K = 1", &format!("K = {factors}"));
    text.replace("1e-2 * roughness", &format!("{roughness} * roughness"))
}

#[test]
fn every_scheme_writes_scores_that_beat_the_mean_on_any_number_of_threads() {
    let folder = Folder::new();
    let (r, file) = (model("r_msrm"), data("r_msrm"));
    for scheme in ["loro", "lopo", "gaps"] {
        let run = |out: &str, threads: &str| {
            let args = ["evaluate", &r, "--data", &file, "--scheme", scheme, "--out", out, "--starts", "1"];
            let more = ["--max-iterations", "200", "--threads", threads, "--target", "*/rating"];
            folder.run(&[&args[..], &more[..]].concat()).ended(&[0])
        };
        let out = format!("{scheme}-1");
        let told = run(&out, "1");
        assert!(
            told.stdout.contains("modality") && told.stdout.contains(&format!("written to {out}")),
            "{}",
            told.stdout
        );
        run(&format!("{scheme}-3"), "3");
        for table in ["scores.csv", "summary.csv", "isc.csv"] {
            let text = |n: u32| fs::read_to_string(folder.at(&format!("{scheme}-{n}/{table}"))).expect("a table");
            assert_eq!(text(1), text(3), "{scheme} {table}");
        }
        let summary = rows(&folder, &format!("{out}/summary.csv"));
        let sources = if scheme == "gaps" { vec!["rest"] } else { vec!["within", "across", "both"] };
        let mut models: Vec<(&str, &str)> = summary.iter().map(|r| (r["from"].as_str(), r["model"].as_str())).collect();
        models.sort_unstable();
        let mut wanted: Vec<(&str, &str)> =
            sources.iter().flat_map(|s| ["(mean)", "(ridge)", "r_msrm"].map(|m| (*s, m))).collect();
        wanted.sort_unstable();
        assert_eq!(models, wanted);
        for row in summary.iter().filter(|r| r["model"] == "r_msrm") {
            assert_eq!(row["failed"], "0");
            assert!(row["skill"].parse::<f64>().expect("a skill") > 0.3, "{scheme} {row:?}");
        }
        // Four people who saw both films; each film, participant and run is held out once.
        let scores = rows(&folder, &format!("{out}/scores.csv"));
        let held: Vec<_> = scores.iter().filter(|r| r["model"] == "r_msrm" && r["from"] == sources[0]).collect();
        // Dan wore no sensors during the second film: nothing of his own predicts a rating, and trained on the second film
        // alone, or calibrated on it, his sensors have no weights for the first.
        assert_eq!(held.len(), if scheme == "gaps" { 5 * 8 } else { 6 });
    }
}

#[test]
fn models_are_compared_failures_stay_and_selection_may_be_nested() {
    let folder = Folder::new();
    folder.write("good.msrm", variant(1, "1e-2"));
    folder.write("smooth.msrm", variant(1, "1e5"));
    folder.write("fails.msrm", variant(40, "1e-2"));
    let file = data("r_msrm");
    let args = ["evaluate", "smooth.msrm", "good.msrm", "fails.msrm", "--data", &file, "--scheme", "gaps"];
    let more = ["--starts", "1", "--max-iterations", "100", "--folds", "3", "--target", "*/rating", "--nested"];
    let run = folder.run(&[&args[..], &more[..]].concat()).ended(&[3]);
    assert!(run.stdout.contains("best: good"), "{}", run.stdout);
    assert!(run.stdout.contains("fails is no candidate: it failed at gaps 1 ada/rating: 40 factors"), "{}", run.stdout);
    let scores = rows(&folder, "smooth-evaluation/scores.csv");
    let of = |name: &str| scores.iter().filter(|r| r["model"] == name).collect::<Vec<_>>();
    assert_eq!(of("fails").len(), of("good").len());
    assert!(of("fails").iter().all(|r| r["error"].contains("40 factors") && r["r2"].is_empty()));
    assert_eq!(of("(selected)").len(), of("good").len());
    for (selected, good) in of("(selected)").iter().zip(of("good")) {
        assert_eq!((selected["selected"].as_str(), &selected["mse"]), ("good", &good["mse"]));
    }
    let json = folder.run(&[&args[..], &more[..6], &["--target", "ada/rating", "--json", "--force"]].concat());
    let json = json.ended(&[3]).json();
    assert_eq!(json["best"], "good");
    assert_eq!(json["folds"], 3);
    assert!(json["failures"][0]["error"].as_str().is_some_and(|e| e.contains("40 factors")));
}

#[test]
fn faults_name_the_fix_before_anything_is_fitted() {
    let folder = Folder::new();
    let (r, file) = (model("r_msrm"), data("r_msrm"));
    let run = |more: &[&str]| folder.run(&[&["evaluate", &r, "--data", &file], more].concat());
    run(&[]).refused(&["--scheme"]);
    run(&["--scheme", "loro", "--target", "ada/ratng"]).refused(&["did you mean `ada/rating`?"]);
    run(&["--scheme", "gaps", "--gap", "0"]).refused(&["positive number of seconds"]);
    run(&["--scheme", "gaps", "--folds", "1"]).refused(&["at least 2 folds"]);
    run(&["--scheme", "loro", "--modality", "ratings"]).refused(&["no modality `ratings`; it has: rating, physio"]);
    run(&["--scheme", "loro", "--starts", "0"]).refused(&["--starts must be at least 1"]);
    run(&["--scheme", "loro", "--nested"]).refused(&["at least 2 runs"]);
    let twice = ["evaluate", &r, &r, "--data", &file, "--scheme", "loro"];
    folder.run(&twice).refused(&["is given twice"]);
    let plain = model("eight_schools");
    folder.run(&["evaluate", &plain, "--data", &file, "--scheme", "loro"]).refused(&["reads no recording"]);
    folder.write("mine/photo.txt", "x");
    let args = ["--scheme", "loro", "--out", "mine", "--force"];
    run(&args).refused(&["it holds no scores.csv"]);
}

#[test]
fn what_never_varies_is_no_target() {
    let folder = Folder::new();
    let text = fs::read_to_string(data("r_msrm")).expect("the bundled recording");
    let flat = |line: &str| match line.strip_prefix("dan,") {
        Some(rest) if rest.contains(",rating,") => format!("dan,{},0\n", rest.rsplit_once(',').expect("a value").0),
        _ => format!("{line}\n"),
    };
    folder.write("flat.csv", text.lines().map(flat).collect::<String>());
    let r = model("r_msrm");
    let args = ["evaluate", &r, "--data", "flat.csv", "--scheme", "gaps", "--folds", "2", "--starts", "1"];
    let run = folder.run(&args).ended(&[0]);
    assert!(run.stderr.contains("dan, rating: constant features are masked: valence (always 0)"), "{}", run.stderr);
    let scores = rows(&folder, "r_msrm-evaluation/scores.csv");
    assert!(scores.iter().all(|s| s["error"].is_empty() && (s["participant"] != "dan" || s["modality"] == "physio")));
    let refuse = [&args[..], &["--constant", "refuse", "--force"]].concat();
    folder.run(&refuse).refused(&["constant features: dan,rating,valence (always 0)"]);
}
