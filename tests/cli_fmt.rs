//! `msrm fmt`: in place, from standard input, as a check, and with files that are no models.

mod common {
    pub mod program;
}

use common::program::{Folder, data, model};
use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

const UNTIDY: &str = "model m\ndata N:int\ndata yy:real[N]#data\nparam mu~normal( 0,1 )\nobserve yy~normal(mu,1)";
const TIDY: &str = "model m\ndata N  : int\ndata yy : real[N]  #data\nparam mu   ~ normal(0, 1)\n\
                    observe yy ~ normal(mu, 1)\n";

#[test]
fn files_are_tidied_in_place_and_a_second_time_nothing_changes() {
    let folder = Folder::new();
    folder.write("a.msrm", UNTIDY);
    folder.write("b.msrm", TIDY);
    let run = folder.run(&["fmt", "a.msrm", "b.msrm"]).ended(&[0]);
    assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("tidied a.msrm\n", ""));
    assert_eq!(fs::read_to_string(folder.at("a.msrm")).expect("a file"), TIDY);
    let run = folder.run(&["fmt", "a.msrm", "b.msrm"]).ended(&[0]);
    assert_eq!(run.stdout, "");
}

#[test]
fn a_check_names_the_files_and_changes_none() {
    let folder = Folder::new();
    folder.write("a.msrm", UNTIDY);
    folder.write("b.msrm", TIDY);
    let run = folder.run(&["fmt", "--check", "a.msrm", "b.msrm"]).ended(&[2]);
    assert_eq!(run.stdout, "a.msrm is not tidy; `msrm fmt` changes it\n");
    assert_eq!(fs::read_to_string(folder.at("a.msrm")).expect("a file"), UNTIDY);
    folder.run(&["fmt", "--check", "b.msrm"]).ended(&[0]);
}

#[test]
fn broken_files_are_left_alone_and_the_others_are_tidied() {
    let folder = Folder::new();
    folder.write("broken.msrm", "model m\nparam mu ~ normal(0, 1\n");
    folder.write("latin.msrm", b"model m\n# caf\xe9\n");
    folder.write("a.msrm", UNTIDY);
    let run = folder.run(&["fmt", "broken.msrm", "latin.msrm", "missing.msrm", "a.msrm"]).ended(&[2]);
    for part in ["error[E01]", "broken.msrm:2:", "latin.msrm", "line 2", "missing.msrm"] {
        assert!(run.stderr.contains(part), "{part} in\n{}", run.stderr);
    }
    assert_eq!(fs::read_to_string(folder.at("a.msrm")).expect("a file"), TIDY);
    assert_eq!(fs::read_to_string(folder.at("broken.msrm")).expect("a file"), "model m\nparam mu ~ normal(0, 1\n");
    folder.run(&["fmt"]).refused(&["<FILES>"]);
}

#[test]
fn a_minus_reads_standard_input() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_msrm"))
        .args(["fmt", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    child.stdin.take().expect("a pipe").write_all(UNTIDY.as_bytes()).expect("a text");
    let output = child.wait_with_output().expect("an end");
    assert!(output.status.success());
    assert_eq!(String::from_utf8_lossy(&output.stdout), TIDY);
}

#[test]
fn a_tidied_model_says_what_it_said() {
    let folder = Folder::new();
    let bundled = fs::read_to_string(model("linear_regression")).expect("a model");
    folder.write("m.msrm", bundled.replace("  ", "\t ").replace(" ~ ", "~"));
    let point = folder.write("point.json", r#"{"alpha": 0.5, "beta": -1.25, "sigma": 2}"#);
    let data = data("linear_regression");
    let eval = ["eval", "m.msrm", "--data", &data, "--at", &point, "--json"];
    let before = folder.run(&eval).ended(&[0]).json();
    folder.run(&["fmt", "m.msrm"]).ended(&[0]);
    assert_eq!(folder.run(&eval).ended(&[0]).json(), before);
}
