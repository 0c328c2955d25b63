//! Wrong input from outside: exit code 2, a message that names the place and the fix, and nothing written.

mod common {
    pub mod program;
}

use ciborium::Value;
use common::program::{Folder, data, model};
use std::fs;

/// What an archive holds at its top, by name.
type Entries = Vec<(Value, Value)>;

/// Two people; one of ada's two features never varies.
const RECORDING: &str = "participant,run,modality,feature,time,value\n\
    ada,film,eda,tonic,0,1\nada,film,eda,tonic,1,2\nada,film,eda,tonic,2,1.5\n\
    ada,film,eda,flat,0,3\nada,film,eda,flat,1,3\nada,film,eda,flat,2,3\n\
    ben,film,eda,tonic,0,2\nben,film,eda,tonic,1,3\nben,film,eda,tonic,2,1\n";

#[test]
fn bad_command_lines_are_refused() {
    let folder = Folder::new();
    let (model, data) = (model("std_normal"), data("std_normal"));
    folder.run(&[]).refused(&["Usage: msrm", "fit", "summary"]);
    folder.run(&["fitt"]).refused(&["fitt", "'fit'"]);
    folder.run(&["fit"]).refused(&["<MODEL>"]);
    folder.run(&["eval", &model]).refused(&["--at"]);
    let cases: [(&[&str], &[&str]); 16] = [
        (&["--chain", "4"], &["--chain", "--chains"]),
        (&["--chains", "0"], &["--chains", "at least 1", "0"]),
        (&["--chains", "-1"], &["-1"]),
        (&["--draws", "0"], &["--draws", "at least 1"]),
        (&["--draws", "many"], &["--draws", "many"]),
        (&["--starts", "0"], &["--starts", "at least 1"]),
        (&["--target-accept", "1"], &["--target-accept", "between 0 and 1"]),
        (&["--target-accept", "NaN"], &["--target-accept", "between 0 and 1"]),
        (&["--max-depth", "0"], &["--max-depth", "between 1 and 20"]),
        (&["--max-depth", "21"], &["--max-depth", "between 1 and 20", "21"]),
        (&["--metric", "full"], &["--metric", "diagonal", "dense"]),
        (&["--method", "mams", "--metric", "dense"], &["--metric dense", "--metric low-rank"]),
        (&["--method", "map", "--init", "pathfinder"], &["--init pathfinder", "--method nuts"]),
        (&["--method", "hmc"], &["--method", "nuts", "map", "als"]),
        (&["--device", "cuda:x"], &["cuda:x"]),
        (&["--threads", "100000"], &["--threads", "at most 1024"]),
    ];
    for (more, parts) in cases {
        folder.run(&[&["fit", &model, "--data", &data], more].concat()).refused(parts);
    }
}

#[test]
fn help_and_version_are_no_errors() {
    let folder = Folder::new();
    let help = folder.run(&["--help"]).ended(&[0]);
    for verb in ["check", "data", "fit", "summary", "eval"] {
        assert!(help.stdout.contains(verb), "{}", help.stdout);
        assert!(folder.run(&[verb, "--help"]).ended(&[0]).stdout.contains("Usage: msrm"));
    }
    for code in ["0 fine", "1 failure", "2 bad input", "3 ", "130 interrupted"] {
        assert!(help.stdout.contains(code), "{}", help.stdout);
    }
    assert_eq!(folder.run(&["--version"]).ended(&[0]).stdout, concat!("msrm ", env!("CARGO_PKG_VERSION"), "\n"));
}

#[test]
fn missing_files_and_folders_in_their_place_are_refused() {
    let folder = Folder::new();
    let (model, data) = (model("std_normal"), data("std_normal"));
    let recorded = common::program::model("r_msrm");
    folder.write("empty/note.txt", "no table");
    for verb in ["check", "fit"] {
        folder.run(&[verb, "none.msrm"]).refused(&["none.msrm", "No such file"]);
        folder.run(&[verb, "empty"]).refused(&["empty", "directory"]);
        folder.run(&[verb, &model, "--data", "none.json"]).refused(&["none.json", "No such file"]);
        folder.run(&[verb, &model, "--data", "empty"]).refused(&["empty", ".json"]);
        folder.run(&[verb, &recorded, "--data", "none.csv"]).refused(&["none.csv", "No such file"]);
        folder.run(&[verb, &recorded, "--data", "empty"]).refused(&["empty", "no .csv or .tsv"]);
    }
    folder.run(&["fit", &recorded]).refused(&["reads the recording `x`", "--data", "CSV"]);
    folder.run(&["data", "none.csv"]).refused(&["none.csv", "No such file"]);
    folder.run(&["data", "none.json"]).refused(&["none.json", "No such file"]);
    folder.run(&["data", "empty"]).refused(&["empty", "no .csv or .tsv"]);
    folder.run(&["data", &model]).refused(&["std_normal.msrm", ".csv"]);
    folder.run(&["eval", &model, "--data", &data, "--at", "none.json"]).refused(&["none.json", "No such file"]);
    folder.run(&["eval", &model, "--data", &data, "--at", "empty"]).refused(&["empty", ".json"]);
    folder.run(&["summary", "none"]).refused(&["none", "No such file"]);
    folder.run(&["summary", "empty"]).refused(&["empty", "fit.cbor"]);
}

#[test]
fn arrays_that_do_not_fit_the_model_are_refused() {
    let folder = Folder::new();
    let schools = model("eight_schools");
    let groups = model("varying_intercepts");
    let sigma = "\"sigma\": [15, 10]";
    let cases: [(&str, String, &[&str]); 17] = [
        (&schools, format!("{{\"J\": 2, {sigma}}}"), &["eight_schools.msrm:6:6", "the data lack `y`", "add \"y\""]),
        (
            &schools,
            "{\"J\": 2, \"y\": [1, 2], \"sigmas\": [15, 10]}".into(),
            &["eight_schools.msrm:7:6", "the data lack `sigma`", "`sigmas`; is that it?"],
        ),
        (&schools, format!("{{\"J\": 2, \"y\": [1, 2, 3], {sigma}}}"), &["6:6", "`y`", "shape", "[2]", "[J]", "[3]"]),
        (&schools, format!("{{\"J\": 2, \"y\": 1, {sigma}}}"), &["`y`", "shape", "[2]", "single number"]),
        (&schools, format!("{{\"J\": [2], \"y\": [1, 2], {sigma}}}"), &["5:6", "`J`", "shape", "single number"]),
        (&schools, "{\"J\": 2, \"y\": [1, 2], \"sigma\": [15, 0]}".into(), &["7:6", "bounds", "> 0", "sigma[2] = 0"]),
        (&schools, format!("{{\"J\": 2.0, \"y\": [1, 2], {sigma}}}"), &["5:6", "`J`", "whole numbers"]),
        (&schools, format!("{{\"J\": -1, \"y\": [1, 2], {sigma}}}"), &["-1", "sizes cannot be negative"]),
        (
            &groups,
            "{\"N\": 3, \"J\": 2, \"group\": [1, 3, 0], \"x\": [1, 2, 3], \"y\": [1, 2, 3]}".into(),
            &["varying_intercepts.msrm:7:6", "`group`", "bounds", "group[3] = 0"],
        ),
        (
            &groups,
            "{\"N\": 3, \"J\": 2, \"group\": [1, 1.5, 2], \"x\": [1, 2, 3], \"y\": [1, 2, 3]}".into(),
            &["`group`", "whole numbers", "group[2] = 1.5", "real"],
        ),
        (&schools, "{\"J\": 2,\n\"y\": [[1, 2], [3]]}".into(), &["data.json, line 2", "y[2]", "length 1", "length 2"]),
        (&schools, "{\"J\": 2,\n\"y\": [1, \"2\"]}".into(), &["data.json, line 2", "y[2]", "without quotes"]),
        (&schools, "{\"J\": 2,\n\"y\": [1, null]}".into(), &["data.json, line 2", "y[2]", "null", "missing"]),
        (&schools, "{\"J\": 2,\n\"y\": [1, NaN]}".into(), &["data.json, line 2", "NaN"]),
        (&schools, "{\"J\": 2,\n\"y\": [1, 2".into(), &["data.json, line 2", "end of the file", "expected"]),
        (&schools, "[1, 2]".into(), &["data.json, line 1, column 1", "one object"]),
        (&schools, format!("{{\"J\": 2, \"y\": [1, 2], {sigma},\n\"y\": [1, 2]}}"), &["line 2", "`y`", "second time"]),
    ];
    for (model, text, parts) in cases {
        let data = folder.write("data.json", &text);
        for verb in ["check", "fit"] {
            folder.run(&[verb, model, "--data", &data]).refused(parts);
        }
    }
    // Several findings at once.
    let data = folder.write("data.json", "{\"J\": 2, \"sigma\": [1, -1]}");
    folder.run(&["fit", &schools, "--data", &data]).refused(&["the data lack `y`", "sigma[2] = -1"]);
}

#[test]
fn recordings_that_cannot_be_used_are_refused() {
    let folder = Folder::new();
    let shared = model("r_msrm");
    let cases: [(String, &[&str]); 7] = [
        (RECORDING.replace("time,", "seconds,"), &["line 1", "missing", "time", "seconds"]),
        (RECORDING.replace("tonic,1,2\n", "tonic,1,two\n"), &["line 3", "ada, film, eda", "tonic", "`two`", "number"]),
        (RECORDING.replace("tonic,1,2\n", "tonic,n/a,2\n"), &["line 3", "ada, film, eda", "time is missing"]),
        (RECORDING.replace("tonic,1,2\n", "tonic,1,inf\n"), &["line 3", "infinite", "n/a"]),
        (RECORDING.replace("tonic,1,2\n", "tonic,1\n"), &["line 3", "5 fields", "expected 6"]),
        (
            format!("{RECORDING}ben,film,eda,tonic,1,4\n"),
            &["lines 9, 11", "ben, film, eda", "tonic at time 1", "average"],
        ),
        ("participant,run,modality,feature,time,value\n".into(), &["no data", "at least one row"]),
    ];
    for (text, parts) in cases {
        let data = folder.write("study.csv", text);
        folder.run(&["fit", &shared, "--data", &data]).refused(&[&["study.csv"], parts].concat());
    }
    folder.write("study.csv", b"participant,run,modality,feature,time,value\nada,film,eda,tonic,0,\xff\n");
    folder.run(&["fit", &shared, "--data", "study.csv"]).refused(&["study.csv, line 2", "0xff", "UTF-8"]);
    let data = folder.write("study.csv", RECORDING);
    folder
        .run(&["fit", &shared, "--data", &data, "--modality", "bold"])
        .refused(&["no modality `bold`", "it has: eda"]);
    // `msrm data` shows duplicates instead of refusing them.
    let data = folder.write("study.csv", format!("{RECORDING}ben,film,eda,tonic,1,4\n"));
    let shown = folder.run(&["data", &data]).ended(&[0]);
    assert!(shown.stdout.contains("lines 9, 11"), "{}", shown.stdout);
}

#[test]
fn constant_features_are_masked_and_named_or_refused_or_kept() {
    let folder = Folder::new();
    let data = folder.write("study.csv", RECORDING);
    let varying: String = RECORDING.lines().filter(|l| !l.contains("flat")).flat_map(|l| [l, "\n"]).collect();
    let varying = folder.write("varying.csv", varying);
    for name in ["r_msrm", "gp_msrm"] {
        let shared = model(name);
        let fit = |data: &str, out: &str, more: &[&str]| {
            folder.run(&[&["fit", &shared, "--data", data, "--out", out, "--json"], more].concat())
        };
        let masked = fit(&data, &format!("{name}-masked"), &[]).ended(&[0]);
        let found = masked.json();
        let notes: Vec<&str> = found["notes"].as_array().expect("notes").iter().filter_map(|n| n.as_str()).collect();
        let note = notes.iter().find(|n| n.contains("constant")).expect("a note on the constant feature");
        for part in ["ada", "eda", "flat (always 3)", "masked"] {
            assert!(note.contains(part), "the note lacks `{part}`: {note}");
        }
        assert!(masked.stderr.contains(note), "{}", masked.stderr);
        // Masked means: as if it were not in the file.
        let without = fit(&varying, &format!("{name}-varying"), &[]).ended(&[0]).json();
        assert_eq!(found["quantities"], without["quantities"], "{name}");
        fit(&data, "out", &["--constant", "refuse"]).refused(&["ada", "eda", "flat (always 3)", "--constant mask"]);
        let kept = fit(&data, &format!("{name}-kept"), &["--constant", "keep"]).ended(&[0]).json();
        let loading = |found: &serde_json::Value| {
            let all = found["quantities"].as_array().expect("quantities");
            let one = all.iter().find(|q| q["name"] == "w[ada,eda,flat,1]");
            one.map(|q| q["value"].as_f64().expect("a number"))
        };
        assert_eq!(loading(&found), None);
        // Nothing varies with the latent, and nothing became NaN.
        assert!(loading(&kept).is_some_and(|w| w.abs() < 1e-3), "{name}: {:?}", loading(&kept));
    }
    let flat: String = RECORDING.lines().filter(|l| !l.contains("tonic")).flat_map(|l| [l, "\n"]).collect();
    let flat = folder.write("flat.csv", flat);
    folder.run(&["fit", &model("r_msrm"), "--data", &flat]).refused(&["nothing is left to fit", "constant"]);
}

#[test]
fn wrong_models_are_refused_with_every_mistake_and_its_place() {
    let folder = Folder::new();
    let wrong = folder.write("wrong.msrm", "model wrong\nparam mu ~ norml(0, 1)\nobserve y ~ normal(mu, 1)\n");
    let parts = [
        "wrong.msrm:2:12",
        "param mu ~ norml(0, 1)\n  |            ^^^^^",
        "did you mean `normal`?",
        "wrong.msrm:3:9",
        "`y` is not declared",
    ];
    for verb in ["check", "fit"] {
        folder.run(&[verb, &wrong]).refused(&parts);
    }
    let found = folder.run(&["check", &wrong, "--json"]).ended(&[2]).json();
    let places: Vec<_> = found["diagnostics"]
        .as_array()
        .expect("diagnostics")
        .iter()
        .map(|d| (d["line"].as_u64(), d["column"].as_u64()))
        .collect();
    assert_eq!(places, [(Some(2), Some(12)), (Some(3), Some(9))]);
    assert_eq!(found["ok"].as_bool(), Some(false));
    let bytes = folder.write("bytes.msrm", b"model a\nparam \xff ~ normal(0, 1)\n");
    folder.run(&["check", &bytes]).refused(&["bytes.msrm", "UTF-8"]);
    let empty = folder.write("empty.msrm", "");
    folder.run(&["check", &empty]).refused(&["empty.msrm:1:1", "model"]);
}

#[test]
fn broken_archives_are_refused_with_the_reason() {
    let folder = Folder::new();
    let fit = ["fit", &model("std_normal"), "--data", &data("std_normal"), "--out", "fit"];
    folder.run(&[&fit[..], &["--warmup", "100", "--draws", "100"]].concat()).ended(&[0, 3]);
    let whole = fs::read(folder.at("fit/fit.cbor")).expect("an archive");
    let summary = |bytes: &[u8], parts: &[&str]| {
        folder.write("fit/fit.cbor", bytes);
        folder.run(&["summary", "fit"]).refused(&[&["fit.cbor"], parts].concat());
        folder.run(&["summary", "fit", "--json"]).refused(&[&["fit.cbor"], parts].concat());
    };
    summary(b"", &["no readable fit"]);
    summary(b"not an archive", &["no readable fit"]);
    summary(&whole[..whole.len() / 2], &["no readable fit"]);
    let value: Value = ciborium::from_reader(whole.as_slice()).expect("CBOR");
    let rewritten = |change: &dyn Fn(&mut Entries)| {
        let mut entries = value.as_map().expect("a map").clone();
        change(&mut entries);
        let mut bytes = Vec::new();
        ciborium::into_writer(&Value::Map(entries), &mut bytes).expect("bytes");
        bytes
    };
    let format = |entries: &mut Entries, version: i64| {
        let entry = entries.iter_mut().find(|e| e.0.as_text() == Some("format")).expect("the format");
        entry.1 = Value::from(version);
    };
    summary(&rewritten(&|e| format(e, 9999)), &["archive format 9999", "reads format"]);
    summary(&rewritten(&|e| format(e, -1)), &["not an msrm archive"]);
    summary(&rewritten(&|e| e.retain(|e| e.0.as_text() != Some("format"))), &["not an msrm archive"]);
    summary(&rewritten(&|e| e.retain(|e| e.0.as_text() != Some("settings"))), &["no readable fit", "settings"]);
    // Rewriting by itself breaks nothing.
    folder.write("fit/fit.cbor", rewritten(&|_| ()));
    folder.run(&["summary", "fit"]).ended(&[0, 3]);
}
