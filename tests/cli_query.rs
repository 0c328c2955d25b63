//! `msrm infer`, `predict` and `calibrate` from outside: what is hidden, what does not matter, what is refused.

mod common {
    pub mod program;
}

use common::program::{Folder, data, model};
use std::collections::BTreeMap;
use std::fs;

const MODELS: [&str; 2] = ["r_msrm", "gp_msrm"];

fn recording() -> String {
    fs::read_to_string(data("r_msrm")).expect("the bundled recording")
}

/// A folder with a fit of each flagship in `r_msrm` and `gp_msrm`.
fn fits() -> Folder {
    let folder = Folder::new();
    for name in MODELS {
        let args = ["fit", &model(name), "--data", &data(name), "--out", name, "--quiet"];
        folder.run(&args).ended(&[0]);
    }
    folder
}

fn rows(text: &str) -> Vec<BTreeMap<String, String>> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header = reader.headers().expect("a header").clone();
    let row = |r: csv::StringRecord| header.iter().map(String::from).zip(r.iter().map(String::from)).collect();
    reader.records().map(|r| row(r.expect("a row"))).collect()
}

#[test]
fn answers_do_not_depend_on_hidden_values_on_the_order_of_rows_or_on_how_files_are_split() {
    let folder = fits();
    let plain = recording();
    folder.write("plain.csv", &plain);
    // Ratings of ben replaced, every other row moved.
    let mut lines: Vec<String> = plain.lines().skip(1).map(String::from).collect();
    let hide = |line: &String| match line.strip_prefix("ben,film-1,rating,valence,") {
        Some(rest) => format!("ben,film-1,rating,valence,{},-999", rest.split(',').next().expect("a time")),
        None => line.clone(),
    };
    let head = "participant,run,modality,feature,time,value\n";
    let hidden: Vec<String> = lines.iter().map(hide).collect();
    assert_ne!(hidden, lines);
    folder.write("hidden.csv", format!("{head}{}\n", hidden.join("\n")));
    // A shuffle without a seed: by the digits of the rows.
    lines.sort_by_key(|l| l.bytes().fold(7u64, |h, b| h.wrapping_mul(0x100_0000_01b3) ^ u64::from(b)));
    folder.write("shuffled.csv", format!("{head}{}\n", lines.join("\n")));
    // One wide file per stream.
    let mut wide: BTreeMap<[String; 3], BTreeMap<String, BTreeMap<String, String>>> = BTreeMap::new();
    for row in rows(&plain) {
        let stream = ["participant", "run", "modality"].map(|k| row[k].clone());
        let at = wide.entry(stream).or_default().entry(row["time"].clone()).or_default();
        at.insert(row["feature"].clone(), row["value"].clone());
    }
    for ([participant, run, modality], times) in &wide {
        let features: Vec<&String> = times.values().next().expect("a row").keys().collect();
        let mut sorted: Vec<(&String, f64)> = times.keys().map(|t| (t, t.parse().expect("a time"))).collect();
        sorted.sort_by(|a, b| a.1.total_cmp(&b.1));
        let mut text = format!("time,{}\n", features.iter().map(|f| f.as_str()).collect::<Vec<_>>().join(","));
        for (time, _) in sorted {
            let cells: Vec<&str> = features.iter().map(|f| times[time].get(*f).map_or("n/a", String::as_str)).collect();
            text.push_str(&format!("{time},{}\n", cells.join(",")));
        }
        folder.write(&format!("wide/{participant}_{run}_{modality}.csv"), text);
    }
    for fit in MODELS {
        for from in ["within", "across", "both"] {
            let ask = |file: &str| {
                let args = ["predict", fit, "--data", file, "--target", "ben/rating", "--from", from];
                folder.run(&args).ended(&[0]).stdout
            };
            let wanted = ask("plain.csv");
            for row in rows(&wanted) {
                let answered = row["valid"] == "true";
                assert_eq!(answered, !row["predicted"].is_empty());
                assert_eq!(answered && fit == "gp_msrm", !row["sd"].is_empty());
                assert!(from != "across" || row["within"] == "0");
                assert!(from != "within" || row["across"] == "0");
            }
            for file in ["hidden.csv", "shuffled.csv", "wide"] {
                assert_eq!(ask(file), wanted, "{fit} {from} {file}");
            }
        }
        for more in [vec![], vec!["--alone"], vec!["--every", "2.5"]] {
            let ask = |file: &str| {
                let args = [vec!["infer", fit, "--data", file], more.clone()].concat();
                folder.run(&args).ended(&[0]).stdout
            };
            let wanted = ask("plain.csv");
            let participants: usize = if more == ["--alone"] { 4 } else { 1 };
            let mut seen: Vec<String> = rows(&wanted).iter().map(|r| r["participant"].clone()).collect();
            seen.dedup();
            seen.sort();
            seen.dedup();
            assert_eq!(seen.len(), participants);
            for file in ["shuffled.csv", "wide"] {
                assert_eq!(ask(file), wanted, "{fit} {file}");
            }
        }
    }
}

#[test]
fn the_latent_of_the_training_data_is_that_of_the_fit() {
    let folder = fits();
    for fit in MODELS {
        let found = rows(&folder.run(&["infer", fit, "--data", &data(fit)]).ended(&[0]).stdout);
        let fitted = rows(&fs::read_to_string(folder.at(&format!("{fit}/latent.csv"))).expect("the latent"));
        let valid: Vec<_> = found.iter().filter(|r| r["valid"] == "true").collect();
        assert_eq!(valid.len(), fitted.len());
        for (a, b) in valid.iter().zip(&fitted) {
            assert_eq!((&a["run"], &a["factor"], &a["time"]), (&b["run"], &b["factor"], &b["time"]));
            let number = |r: &BTreeMap<String, String>, k: &str| r[k].parse::<f64>().expect("a number");
            // Alternating steps stop a little before the latent has settled for good.
            assert!((number(a, "mean") - number(b, "mean")).abs() < 1e-2, "{fit} {a:?} {b:?}");
            if fit == "gp_msrm" {
                assert!((number(a, "sd") - number(b, "sd")).abs() < 1e-9);
            }
        }
    }
}

#[test]
fn somebody_new_is_calibrated_kept_and_predicted() {
    let folder = Folder::new();
    let (mut three, mut dan) = (String::new(), String::new());
    for line in recording().lines() {
        let target = if line.starts_with("dan,") { &mut dan } else { &mut three };
        target.push_str(line);
        target.push('\n');
        if line.starts_with("participant,") {
            dan.push_str(line);
            dan.push('\n');
        }
    }
    folder.write("three.csv", three);
    folder.write("dan.csv", &dan);
    for name in MODELS {
        folder.run(&["fit", &model(name), "--data", "three.csv", "--out", name, "--quiet"]).ended(&[0]);
        let unknown = folder.run(&["infer", name, "--data", "dan.csv"]);
        unknown.refused(&["no participant `dan`", "msrm calibrate"]);
        let out = format!("{name}-with-dan");
        let training = folder.run(&["calibrate", name, "--data", "dan.csv", "--out", &out]).ended(&[0]);
        assert!(training.stdout.contains("calibrated dan/physio: 2 features"), "{}", training.stdout);
        folder.run(&["calibrate", name, "--data", &data(name), "--reference", "donors", "--out", "d"]).ended(&[0]);
        // The latent of the same runs from the same donors gives almost the same weights.
        let weights =
            |out: &str| rows(&fs::read_to_string(folder.at(&format!("{out}/calibrated.csv"))).expect("weights"));
        for (a, b) in weights(&out).iter().zip(&weights("d")) {
            let loading = |r: &BTreeMap<String, String>| r["loading"].parse::<f64>().expect("a number");
            assert!((loading(a) - loading(b)).abs() < 0.05, "{a:?} {b:?}");
            assert_eq!((a["reference"].as_str(), b["reference"].as_str()), ("training", "donors"));
        }
        fs::remove_dir_all(folder.at("d")).expect("removed");
        let summary = folder.run(&["summary", &out]).ended(&[0]).stdout;
        assert!(summary.contains("calibrated dan/rating: 1 feature, reference training"), "{summary}");
        assert_eq!(folder.run(&["summary", &out, "--json"]).ended(&[0]).json()["trust"], true);
        let args = ["predict", &out, "--data", &data(name), "--target", "dan/rating", "--from", "across"];
        let predicted = rows(&folder.run(&args).ended(&[0]).stdout);
        let truth: BTreeMap<(String, String), f64> = rows(&dan)
            .into_iter()
            .filter(|r| r["modality"] == "rating" && r["value"] != "n/a")
            .map(|r| ((r["run"].clone(), r["time"].clone()), r["value"].parse().expect("a number")))
            .collect();
        let pairs: Vec<(f64, f64)> = predicted
            .iter()
            .filter(|r| r["valid"] == "true")
            .filter_map(|r| {
                let key = (r["run"].clone(), r["time"].clone());
                truth.get(&key).map(|v| (*v, r["predicted"].parse().expect("a number")))
            })
            .collect();
        let (y, p): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
        let score = msrm::diagnose::score(&y, &p, 1);
        assert!(score.observations > 90 && score.correlation.expect("r") > 0.9, "{name} {score:?}");
        folder.run(&["calibrate", name, "--data", "three.csv", "--out", "x"]).refused(&["nothing to calibrate"]);
    }
}

#[test]
fn a_file_is_written_whole_and_replaced_only_on_request() {
    let folder = fits();
    let file = data("r_msrm");
    let args = ["predict", "r_msrm", "--data", &file, "--target", "*/rating", "--out", "p.csv", "--quiet"];
    let run = folder.run(&args).ended(&[0]);
    assert!(run.stdout.is_empty() && run.stderr.is_empty(), "{} {}", run.stdout, run.stderr);
    let shown = folder.run(&args[..6]).ended(&[0]).stdout;
    assert_eq!(fs::read_to_string(folder.at("p.csv")).expect("a table"), shown);
    folder.run(&args).refused(&["p.csv exists already", "--force"]);
    folder.run(&[&args[..], &["--force"]].concat()).ended(&[0]);
    folder
        .run(&["infer", "r_msrm", "--data", &file, "--out", "no/such.csv"])
        .refused(&["the folder no", "does not exist"]);
    folder.run(&["infer", "r_msrm", "--data", &file, "--out", "gp_msrm", "--force"]).refused(&["is a folder"]);
}

#[test]
fn faults_name_the_fix() {
    let folder = fits();
    let file = data("r_msrm");
    let predict = |more: &[&str]| folder.run(&[&["predict", "r_msrm", "--data", &file], more].concat());
    predict(&["--target", "bne/rating"]).refused(&["did you mean `ben/rating`?"]);
    predict(&["--target", "*/ratings"]).refused(&["did you mean `rating`?"]);
    predict(&["--target", "rating"]).refused(&["PARTICIPANT/MODALITY"]);
    predict(&[]).refused(&["--target"]);
    predict(&["--target", "ben/rating", "--noise"]).refused(&["objective has no noise variance"]);
    predict(&["--target", "ben/rating", "--every", "0"]).refused(&["positive number of seconds"]);
    folder.run(&["infer", "nowhere", "--data", &file]).refused(&["cannot read nowhere"]);
    let text = recording();
    for (from, to, wanted) in [
        ("ada,", "adda,", "did you mean `ada`?"),
        (",physio,", ",phsyio,", "did you mean `physio`?"),
        (",skin,", ",sking,", "did you mean `skin`?"),
    ] {
        folder.write("other.csv", text.replace(from, to));
        folder.run(&["infer", "gp_msrm", "--data", "other.csv"]).refused(&[wanted]);
    }
    folder.run(&["fit", &model("eight_schools"), "--data", &data("eight_schools"), "--out", "es", "--quiet"]);
    folder.run(&["infer", "es", "--data", &file]).refused(&["reads no recording"]);
    let sampled = ["fit", &model("gp_msrm"), "--data", &file, "--method", "nuts", "--chains", "1", "--warmup", "20"];
    let sampled = [&sampled[..], &["--draws", "10", "--starts", "1", "--out", "draws", "--quiet"]].concat();
    folder.run(&sampled).ended(&[0, 3]);
    let infer = folder.run(&["infer", "draws", "--data", &file, "--every", "20"]).ended(&[0]);
    assert!(infer.stderr.contains("not to trust it"), "{}", infer.stderr);
    folder.write("new.csv", text.replace("ada,", "eve,"));
    folder.run(&["calibrate", "draws", "--data", "new.csv"]).refused(&["--method map"]);
}
