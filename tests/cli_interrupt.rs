//! Ctrl-C during `msrm fit`: what is finished is kept and readable, the exit code says so, and progress stays plain text.
#![cfg(unix)]

mod common {
    pub mod program;
}

use common::program::{Folder, data, model};
use msrm::archive::{Archive, Outcome, read};
use std::fs::{File, read_to_string};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Longest wait for anything.
const PATIENCE: Duration = Duration::from_secs(90);

/// A fit that runs in the background, into the folder `out`, with standard error in the file `log`.
struct Background<'a> {
    folder: &'a Folder,
    child: Child,
    begin: Instant,
}

impl<'a> Background<'a> {
    fn start(folder: &'a Folder, model: &str, data: &str, more: &[&str]) -> Background<'a> {
        let begin = Instant::now();
        let child = Command::new(env!("CARGO_BIN_EXE_msrm"))
            .args(["fit", model, "--data", data, "--out", "out"])
            .args(more)
            .current_dir(folder.at(""))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(folder.at("log")).expect("a log"))
            .spawn()
            .expect("the program starts");
        Background { folder, child, begin }
    }

    fn log(&self) -> String {
        read_to_string(self.folder.at("log")).expect("a log")
    }

    /// Waits until standard error satisfies `enough`, and tells how long the program has been running.
    fn wait_for(&mut self, enough: impl Fn(&str) -> bool) -> Duration {
        while !enough(&self.log()) {
            assert!(self.begin.elapsed() < PATIENCE, "{}", self.log());
            assert!(self.child.try_wait().expect("a state").is_none(), "it ended by itself: {}", self.log());
            std::thread::sleep(Duration::from_millis(20));
        }
        self.begin.elapsed()
    }

    fn interrupt(&self) {
        let sent = Command::new("kill").args(["-INT", &self.child.id().to_string()]).status().expect("kill runs");
        assert!(sent.success());
    }

    fn end(&mut self) -> ExitStatus {
        let begin = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("a state") {
                return status;
            }
            assert!(begin.elapsed() < PATIENCE, "it does not end: {}", self.log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Background<'_> {
    fn drop(&mut self) {
        // A failed assertion must not leave a sampler running; one that has ended cannot be killed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn archive(folder: &Folder) -> Archive {
    read(&folder.at("out")).expect("a readable archive")
}

#[test]
fn finished_draws_are_kept_and_progress_is_a_plain_line_every_ten_seconds() {
    let folder = Folder::new();
    let more = ["--method", "nuts", "--chains", "2", "--threads", "2", "--starts", "1"];
    let long = ["--warmup", "40", "--draws", "1000000"];
    let (model, data) = (model("gp_msrm"), data("gp_msrm"));
    let mut fit = Background::start(&folder, &model, &data, &[&more[..], &long].concat());
    let first = fit.wait_for(|log| log.contains("chain 1: "));
    assert!(first > Duration::from_millis(9500), "the first line of progress came after {first:?}");
    fit.wait_for(|log| {
        ["chain 1: ", "chain 2: "].iter().all(|c| log.lines().any(|l| l.starts_with(c) && l.contains("sampling")))
    });
    fit.interrupt();
    assert_eq!(fit.end().code(), Some(130));
    let log = fit.log();
    assert!(log.contains("interrupted: keeping the finished draws"), "{log}");
    assert!(!log.contains(['\u{1b}', '\r', '\u{8}']), "{log:?}");
    let lines = log.lines().filter(|l| l.starts_with("chain ")).count() as u64;
    assert!(lines <= 2 * (fit.begin.elapsed().as_secs() / 10), "{log}");
    for part in ["/1000040 ", "step ", "depth ", "divergences ", "per gradient", "left"] {
        assert!(log.lines().any(|l| l.starts_with("chain 1: ") && l.contains(part)), "`{part}` in {log}");
    }

    let archive = archive(&folder);
    let Outcome::Draws(draws) = &archive.outcome else { panic!("no draws") };
    assert!(draws.interrupted);
    let width = draws.labels().count();
    for chain in &draws.chains {
        assert!(!chain.is_empty() && chain.len() < 1_000_000, "{} draws", chain.len());
        assert_eq!(chain.values.len(), chain.len() * width);
        assert!(chain.values.iter().chain(&chain.log_density).all(|v| v.is_finite()));
    }
    // The summary is one of as many kept draws as chains of equal length can have: both cut to the shorter one, or the
    // longer one alone.
    let summary = folder.run(&["summary", "out", "--json"]).ended(&[3]).json();
    assert_eq!(summary["interrupted"].as_bool(), Some(true));
    let lengths: Vec<usize> = draws.chains.iter().map(|c| c.len()).collect();
    let (short, long) = (lengths[0].min(lengths[1]), lengths[0].max(lengths[1]));
    let cut = if 2 * short >= long { short } else { long };
    let used = draws.chains.iter().filter(|c| c.len() >= cut);
    let first: Vec<f64> = used.flat_map(|c| (0..cut).map(|i| c.values[i * width])).collect();
    let mean = first.iter().sum::<f64>() / first.len() as f64;
    let told = summary["quantities"][0]["mean"].as_f64().expect("a mean");
    assert!((mean - told).abs() < 1e-9 * mean.abs(), "{mean} and {told}");
    // The partial fit is protected like any other.
    folder.run(&["fit", &model, "--data", &data, "--out", "out"]).refused(&["out exists already"]);
}

#[test]
fn a_chain_that_has_not_begun_takes_no_draws_from_the_others() {
    let folder = Folder::new();
    let cell = folder.write("cell.json", "{\"D\": 2}");
    // One thread, two chains: the second waits for the first.
    let more = ["--chains", "2", "--threads", "1", "--warmup", "100", "--draws", "100000000"];
    let mut fit = Background::start(&folder, &model("std_normal"), &cell, &more);
    fit.wait_for(|log| log.contains("method: "));
    std::thread::sleep(Duration::from_millis(500));
    fit.interrupt();
    assert_eq!(fit.end().code(), Some(130));
    let archive = archive(&folder);
    let Outcome::Draws(draws) = &archive.outcome else { panic!("no draws") };
    let lengths: Vec<usize> = draws.chains.iter().map(|c| c.len()).collect();
    assert!(lengths[0] > 100 && lengths[1] == 0, "{lengths:?}");
    let summary = folder.run(&["summary", "out", "--json"]).ended(&[3]).json();
    let mean = summary["quantities"][0]["mean"].as_f64();
    assert!(mean.is_some_and(|m| m.abs() < 0.5), "the finished draws are not summarised: {}", summary["quantities"][0]);
}

#[test]
fn an_interrupt_in_warm_up_leaves_a_readable_fit_without_draws() {
    let folder = Folder::new();
    let (model, data) = (model("eight_schools"), data("eight_schools"));
    let mut fit = Background::start(&folder, &model, &data, &["--warmup", "1000000000"]);
    fit.wait_for(|log| log.contains("method: "));
    std::thread::sleep(Duration::from_millis(300));
    fit.interrupt();
    assert_eq!(fit.end().code(), Some(130));
    let archive = archive(&folder);
    let Outcome::Draws(draws) = &archive.outcome else { panic!("no draws") };
    assert!(draws.interrupted && draws.chains.iter().all(|c| c.is_empty()));
    assert!(folder.run(&["summary", "out"]).ended(&[3]).stdout.contains("interrupted"));
    // Another try replaces it.
    let again = ["--force", "--warmup", "100", "--draws", "100"];
    folder.run(&[&["fit", &model, "--data", &data, "--out", "out"], &again[..]].concat()).ended(&[0, 3]);
    assert!(!folder.run(&["summary", "out"]).ended(&[0, 3]).stdout.contains("interrupted"));
}

#[test]
fn an_interrupt_of_a_search_keeps_the_best_point() {
    let folder = Folder::new();
    let more = ["--method", "map", "--starts", "2000"];
    let mut fit = Background::start(&folder, &model("gp_msrm"), &data("gp_msrm"), &more);
    fit.wait_for(|log| log.lines().count() > 0);
    std::thread::sleep(Duration::from_millis(1500));
    fit.interrupt();
    assert_eq!(fit.end().code(), Some(130));
    let archive = archive(&folder);
    let Outcome::Mode(mode) = &archive.outcome else { panic!("no mode") };
    assert!(mode.interrupted && mode.value.is_finite());
    assert!(folder.run(&["summary", "out"]).ended(&[3]).stdout.contains("interrupted"));
}
