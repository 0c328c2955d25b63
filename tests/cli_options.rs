//! Options of `msrm fit`: each changes what is stored, and those that shape the result change the result.

mod common {
    pub mod program;
}

use common::program::{Folder, data, model};
use msrm::archive::{Archive, ChainDraws, Mode, Outcome, read};
use std::collections::BTreeSet;

/// Options that say where to read and write and what to print; each has tests of its own.
const OUTSIDE: [&str; 6] = ["--data", "--out", "--force", "--quiet", "--json", "--help"];

/// A recording with one value given twice.
const REPEATED: &str = "participant,run,modality,feature,time,value\n\
    ada,r,eda,tonic,0,1\nada,r,eda,tonic,1,2\nada,r,eda,tonic,2,1\nada,r,eda,tonic,2,2\n\
    ada,r,hr,rate,0,1\nada,r,hr,rate,1,2\nada,r,hr,rate,2,4\n\
    ben,r,eda,tonic,0,2\nben,r,eda,tonic,1,3\nben,r,eda,tonic,2,1\n";

/// Fits with `more` arguments and reads the archive.
fn fitted(folder: &Folder, model: &str, data: &str, out: &str, more: &[&str]) -> Archive {
    folder.run(&[&["fit", model, "--data", data, "--out", out], more].concat()).ended(&[0, 3]);
    read(&folder.at(out)).expect("a readable archive")
}

fn chains(archive: &Archive) -> &[ChainDraws] {
    match &archive.outcome {
        Outcome::Draws(draws) => &draws.chains,
        Outcome::Mode(_) => panic!("a mode, not draws"),
    }
}

fn mode(archive: &Archive) -> &Mode {
    match &archive.outcome {
        Outcome::Mode(mode) => mode,
        Outcome::Draws(_) => panic!("draws, not a mode"),
    }
}

/// The long options in the help of `msrm fit`.
fn listed(folder: &Folder) -> BTreeSet<String> {
    let run = folder.run(&["fit", "--help"]).ended(&[0]);
    let words = run.stdout.lines().map(str::trim_start).filter(|l| l.starts_with('-')).flat_map(str::split_whitespace);
    words.filter(|w| w.starts_with("--")).map(|w| w.trim_end_matches(',').to_string()).collect()
}

const TIED: &str = "model tied\nrecording x standardized\nfactors K = 1\nlatent z on grid(2) per participant\nloading w\n\
    minimize balanced_squares(x, response(z) * w) + 1e-3 * ridge(w) + 1e-4 * ridge(z) + roughness(z) + neighbors(z)\n";

#[test]
fn every_option_changes_the_stored_fit() {
    let folder = Folder::new();
    let (plain, plain_data) = (model("glm_logistic"), data("glm_logistic"));
    let base = ["--chains", "2", "--warmup", "150", "--draws", "30", "--seed", "5"];
    let stored = |a: &Archive| format!("{:?} {:?} {:?}", a.settings, a.plan.options, a.plan.notes);
    let without =
        |option: &str| -> Vec<&str> { base.chunks(2).filter(|c| c[0] != option).flatten().copied().collect() };
    let first = fitted(&folder, &plain, &plain_data, "base", &base);
    let mut seen: BTreeSet<String> = OUTSIDE.map(String::from).into();

    // Options of the sampler change its draws too; threads and device must not, up to rounding.
    let sampler: [(&[&str], bool); 12] = [
        (&["--chains", "3"], true),
        (&["--warmup", "151"], true),
        (&["--draws", "31"], true),
        (&["--seed", "6"], true),
        (&["--target-accept", "0.9"], true),
        (&["--max-depth", "1"], true),
        (&["--metric", "dense"], true),
        (&["--metric", "low-rank"], true),
        (&["--init", "random"], true),
        (&["--threads", "2"], false),
        (&["--starts", "5"], false),
        (&["--max-iterations", "77"], false),
    ];
    for (option, changes) in sampler {
        let more = [&without(option[0])[..], option].concat();
        let other = fitted(&folder, &plain, &plain_data, option.concat().trim_start_matches('-'), &more);
        assert_ne!(stored(&first), stored(&other), "{option:?}");
        let values = |a: &Archive| chains(a).iter().map(|c| c.values.clone()).collect::<Vec<_>>();
        assert_eq!(values(&first) != values(&other), changes, "{option:?}");
        seen.insert(option[0].to_string());
    }

    let climb = fitted(&folder, &plain, &plain_data, "map", &["--method", "map"]);
    assert_eq!(mode(&climb).restarts.len(), 4);
    assert!(mode(&climb).standard_errors.is_none() && mode(&climb).restarts[0].iterations > 1);
    assert_ne!(stored(&first), stored(&climb));
    let starts = fitted(&folder, &plain, &plain_data, "starts", &["--method", "map", "--starts", "2"]);
    assert_eq!(mode(&starts).restarts.len(), 2);
    let short = fitted(&folder, &plain, &plain_data, "short", &["--method", "map", "--max-iterations", "1"]);
    assert!(mode(&short).restarts.iter().all(|r| r.iterations <= 1 && !r.converged), "{:?}", mode(&short).restarts);
    let errors = fitted(&folder, &plain, &plain_data, "errors", &["--method", "map", "--standard-errors"]);
    assert!(mode(&errors).standard_errors.as_ref().is_some_and(|e| e.iter().all(|e| e.is_some_and(|e| e > 0.0))));
    let graph = fitted(&folder, &plain, &plain_data, "graph", &["--method", "map", "--device", "ndarray"]);
    for (a, b) in mode(&climb).values.iter().zip(&mode(&graph).values) {
        assert!((a - b).abs() < 1e-6, "{a} on the tape, {b} on the burn graph");
    }
    for (other, option) in
        [(&starts, "--starts"), (&short, "--max-iterations"), (&errors, "--standard-errors"), (&graph, "--device")]
    {
        assert_ne!(stored(&climb), stored(other), "{option}");
        seen.insert(option.to_string());
    }
    seen.insert("--method".into());

    // Options of recordings.
    let (shared, recording) = (model("r_msrm"), data("r_msrm"));
    let all = fitted(&folder, &shared, &recording, "all", &[]);
    for option in [["--modality", "rating"], ["--constant", "keep"], ["--duplicates", "average"]] {
        let other = fitted(&folder, &shared, &recording, option.concat().trim_start_matches('-'), &option);
        assert_ne!(stored(&all), stored(&other), "{option:?}");
        seen.insert(option[0].to_string());
    }
    let tied = folder.write("tied.msrm", TIED);
    for (name, rows, affinity) in [("weak", "ada,ben,0.1", "0.1"), ("strong", "ada,ben,9", "9")] {
        let edges = folder.write(&format!("{name}.csv"), format!("first,second,affinity\n{rows}\n"));
        let fit = fitted(&folder, &tied, &recording, name, &["--affinity", &edges]);
        assert!(stored(&fit).contains(&format!("affinity: {affinity}")), "{}", stored(&fit));
    }
    seen.insert("--affinity".into());
    assert_eq!(seen, listed(&folder), "the options of `msrm fit` and the options tested here");
}

#[test]
fn options_of_recordings_change_what_is_fitted() {
    let folder = Folder::new();
    let (shared, recording) = (model("r_msrm"), data("r_msrm"));
    let labels = |a: &Archive| mode(a).quantities[0].labels.clone();
    let all = labels(&fitted(&folder, &shared, &recording, "all", &[]));
    assert_eq!(all.len(), 12);
    let rating = labels(&fitted(&folder, &shared, &recording, "rating", &["--modality", "rating"]));
    assert_eq!(rating, all.iter().filter(|l| l.contains(",rating,")).cloned().collect::<Vec<_>>());
    let both = ["--modality", "physio", "--modality", "rating"];
    assert_eq!(labels(&fitted(&folder, &shared, &recording, "both", &both)), all);

    // Averaging gives the fit of the table that holds the average.
    let repeated = folder.write("repeated.csv", REPEATED);
    let averaged = folder.write(
        "averaged.csv",
        REPEATED.replace("ada,r,eda,tonic,2,1\nada,r,eda,tonic,2,2\n", "ada,r,eda,tonic,2,1.5\n"),
    );
    folder.run(&["fit", &shared, "--data", &repeated, "--out", "out"]).refused(&["lines 4, 5", "average"]);
    let a = fitted(&folder, &shared, &repeated, "a", &["--duplicates", "average"]);
    let b = fitted(&folder, &shared, &averaged, "b", &[]);
    assert_eq!(mode(&a).values, mode(&b).values);
    assert!(a.plan.notes.iter().any(|n| n.contains("averaged") && n.contains("lines 4, 5")), "{:?}", a.plan.notes);
}

#[test]
fn quiet_says_nothing_on_standard_error() {
    let folder = Folder::new();
    for name in ["eight_schools", "r_msrm", "gp_msrm"] {
        let (model, data) = (model(name), data(name));
        let loud = folder.run(&["fit", &model, "--data", &data, "--out", "loud", "--force"]).ended(&[0]);
        assert!(loud.stderr.contains("method: "), "{}", loud.stderr);
        let quiet = folder.run(&["fit", &model, "--data", &data, "--out", "quiet", "--force", "--quiet"]).ended(&[0]);
        assert_eq!(quiet.stderr, "", "{name}");
        // What remains on standard output is the result, not less of it.
        let result = |text: &str| {
            let lines: Vec<String> =
                text.lines().skip(1).filter(|l| !l.starts_with("written")).map(String::from).collect();
            lines
        };
        assert_eq!(result(&quiet.stdout), result(&loud.stdout), "{name}");
    }
}

#[test]
fn without_a_terminal_there_are_neither_escape_codes_nor_frames() {
    let folder = Folder::new();
    for name in ["varying_intercepts", "gp_msrm"] {
        let run = folder.run(&["fit", &model(name), "--data", &data(name)]).ended(&[0]);
        for text in [&run.stdout, &run.stderr] {
            assert!(!text.contains(['\u{1b}', '\r', '\u{8}']), "{name}: {text:?}");
        }
        // Less than ten seconds: no line of progress is due.
        assert!(!run.stderr.contains("chain "), "{name}: {}", run.stderr);
    }
}

#[test]
fn json_is_one_object_with_the_documented_keys() {
    let folder = Folder::new();
    let (plain, plain_data) = (model("eight_schools"), data("eight_schools"));
    let checked = folder.run(&["check", &plain, "--data", &plain_data, "--json"]).ended(&[0]).json();
    assert_eq!((checked["ok"].as_bool(), checked["coordinates"].as_u64()), (Some(true), Some(10)));
    let arrays = folder.run(&["data", &plain_data, "--json"]).ended(&[0]).json();
    let shapes: Vec<_> =
        arrays["arrays"].as_array().expect("arrays").iter().map(|a| (&a["name"], &a["shape"])).collect();
    assert_eq!(
        format!("{shapes:?}"),
        "[(String(\"J\"), Array []), (String(\"y\"), Array [Number(8)]), (String(\"sigma\"), Array [Number(8)])]"
    );
    let recording = folder.run(&["data", &data("r_msrm"), "--json"]).ended(&[0]).json();
    assert_eq!((recording["entries"].as_u64(), recording["missing"].as_u64()), (Some(1396), Some(26)));
    assert_eq!(recording["streams"].as_array().map(Vec::len), Some(15));

    let fit = folder.run(&["fit", &plain, "--data", &plain_data, "--json", "--out", "out"]).ended(&[0]).json();
    let summary = folder.run(&["summary", "out", "--json"]).ended(&[0]).json();
    assert_eq!(fit["out"].as_str(), Some("out"));
    let mut same = fit.clone();
    same.as_object_mut().expect("an object").remove("out");
    assert_eq!(same, summary, "`msrm summary` says what `msrm fit` said");
    assert_eq!(summary["trust"].as_bool(), Some(true));
    let quantities = summary["quantities"].as_array().expect("quantities");
    assert_eq!(quantities.len(), 10);
    for quantity in quantities {
        for key in ["mean", "sd", "mcse", "q05", "q25", "q50", "q75", "q95", "ess_bulk", "ess_tail", "r_hat"] {
            assert!(quantity[key].is_f64(), "{key} of {quantity}");
        }
        let q = ["q05", "q25", "q50", "q75", "q95"].map(|k| quantity[k].as_f64());
        assert!(q.is_sorted(), "{quantity}");
    }
    assert_eq!(summary["chains"].as_array().map(Vec::len), Some(4));

    let shared = folder.run(&["fit", &model("r_msrm"), "--data", &data("r_msrm"), "--json"]).ended(&[0]).json();
    let terms = shared["terms"].as_array().expect("terms").iter().map(|t| t["value"].as_f64().expect("a number"));
    let sum: f64 = terms.sum();
    assert!((sum - shared["objective"].as_f64().expect("a number")).abs() < 1e-12, "{sum}");
    assert!(shared["quantities"][0]["value"].is_f64());

    let point = folder.write("point.json", "{\"mu\": 0, \"tau\": 1, \"theta\": [0, 0, 0, 0, 0, 0, 0, 0]}");
    let eval = folder.run(&["eval", &plain, "--data", &plain_data, "--at", &point, "--json"]).ended(&[0]).json();
    assert!(eval["value"].is_f64() && eval["terms"].is_array() && eval["gradient"].is_array(), "{eval}");
}
