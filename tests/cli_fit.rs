//! `msrm fit` from outside: the bundled models, the folder it writes, the seed, the threads and every option.

mod common {
    pub mod program;
}

use common::program::{Folder, data, model};
use msrm::archive::{Archive, ChainDraws, Outcome, read};
use std::collections::BTreeSet;
use std::fs;

/// Models that are there to show a failing sampler.
const HARD: [&str; 5] =
    ["eight_schools_centered", "funnel_centered", "gp_poisson", "horseshoe", "stochastic_volatility"];
const FLAGSHIPS: [&str; 4] = ["gp_msrm", "gp_msrm_learned", "r_msrm", "r_msrm_learned"];

/// Names of the bundled model files.
fn bundled() -> Vec<String> {
    let entries = fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/models")).expect("models/");
    let names = entries.map(|e| e.expect("an entry").file_name().into_string().expect("UTF-8"));
    let mut names: Vec<String> = names.filter_map(|n| Some(n.strip_suffix(".msrm")?.to_string())).collect();
    names.sort();
    assert!(names.len() >= 11, "{names:?}");
    names
}

/// Files in the folder of a fit.
fn files(folder: &Folder, fit: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(folder.at(fit)).expect("the folder of the fit");
    entries.map(|e| e.expect("an entry").file_name().into_string().expect("UTF-8")).collect()
}

/// `summary.csv` (or another table of a fit) as rows of cells.
fn table(folder: &Folder, path: &str) -> Vec<Vec<String>> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_path(folder.at(path)).expect("a table");
    let rows = reader.records().map(|r| r.expect("a row").iter().map(str::to_string).collect());
    rows.collect()
}

fn number(cell: &str) -> f64 {
    cell.parse().unwrap_or_else(|_| panic!("`{cell}` is no number"))
}

fn archive(folder: &Folder, fit: &str) -> Archive {
    read(&folder.at(fit)).expect("a readable archive")
}

fn chains(archive: &Archive) -> &[ChainDraws] {
    match &archive.outcome {
        Outcome::Draws(draws) => &draws.chains,
        Outcome::Mode(_) => panic!("a mode, not draws"),
    }
}

/// A fit as a list of arguments, into the folder `out`.
fn fit<'a>(model: &'a str, data: &'a str, out: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["fit", model, "--data", data, "--out", out], more].concat()
}

#[test]
fn every_bundled_model_fits_its_bundled_data() {
    for name in bundled() {
        let folder = Folder::new();
        let run = folder.run(&["fit", &model(&name), "--data", &data(&name)]);
        // The hard ones may pass by luck; the others must.
        let run = run.ended(if HARD.contains(&name.as_str()) { &[0, 3] } else { &[0] });
        let out = format!("{name}-fit");
        assert!(run.stdout.contains(&format!("written to {out}")), "{}", run.stdout);
        let flagship = FLAGSHIPS.contains(&name.as_str());
        let expected =
            if flagship { vec!["fit.cbor", "latent.csv", "summary.csv"] } else { vec!["fit.cbor", "summary.csv"] };
        assert_eq!(files(&folder, &out), expected.into_iter().map(String::from).collect(), "{name}");
        let archive = archive(&folder, &out);
        assert_eq!(archive.plan.model.name, name);
        let labels: Vec<String> = match &archive.outcome {
            Outcome::Draws(draws) => draws.labels().map(String::from).collect(),
            Outcome::Mode(mode) => mode.quantities.iter().flat_map(|q| q.labels.clone()).collect(),
        };
        let rows = table(&folder, &format!("{out}/summary.csv"));
        let named: Vec<&String> = rows[1..].iter().map(|r| &r[0]).collect();
        assert_eq!(named, labels.iter().collect::<Vec<_>>(), "{name}");
        for row in &rows[1..] {
            assert!(number(&row[1]).is_finite(), "{name}: {row:?}");
        }
        if flagship {
            check_latent(&table(&folder, &format!("{out}/latent.csv")), name.starts_with("gp"));
        }
    }
}

/// Both runs, one factor, times that ascend within a run, and a standard deviation where the latent is a process.
fn check_latent(rows: &[Vec<String>], process: bool) {
    assert_eq!(rows[0], ["run", "factor", "time", "mean", "sd"]);
    let runs: BTreeSet<&str> = rows[1..].iter().map(|r| r[0].as_str()).collect();
    assert_eq!(runs, ["film-1", "film-2"].into());
    for pair in rows[1..].windows(2).filter(|p| p[0][0] == p[1][0]) {
        assert!(number(&pair[0][2]) < number(&pair[1][2]), "{pair:?}");
    }
    for row in &rows[1..] {
        assert!(row[1] == "1" && number(&row[3]).is_finite(), "{row:?}");
        // Less is known than nothing only by mistake: the prior standard deviation is one.
        assert!(if process { (0.0..=1.0).contains(&number(&row[4])) } else { row[4].is_empty() }, "{row:?}");
    }
}

#[test]
fn summaries_of_known_targets_are_right() {
    let folder = Folder::new();
    let sd_of = |name: &str| if name == "v" { 3.0 } else { 1.0 };
    for (name, rows) in [("std_normal", 1..11), ("funnel", 1..2)] {
        folder.run(&fit(&model(name), &data(name), name, &["--draws", "4000"])).ended(&[0]);
        let table = table(&folder, &format!("{name}/summary.csv"));
        assert_eq!(table[0][..5], ["name", "mean", "sd", "mcse_mean", "mcse_sd"]);
        for row in &table[rows] {
            let [mean, sd, mcse_mean, mcse_sd] = [1, 2, 3, 4].map(|i| number(&row[i]));
            assert!(mean.abs() < 4.5 * mcse_mean, "{row:?}");
            assert!((sd - sd_of(&row[0])).abs() < 4.5 * mcse_sd, "{row:?}");
            // Errors that are too large would pass anything: 16,000 draws know a mean to a hundredth.
            assert!(mcse_mean < 0.02 * sd && mcse_sd < 0.05 * sd, "{row:?}");
        }
    }
}

#[test]
fn an_earlier_fit_is_replaced_only_by_force() {
    let folder = Folder::new();
    let (model, data) = (model("std_normal"), data("std_normal"));
    let short = ["--chains", "2", "--warmup", "50", "--draws", "50"];
    let arguments = fit(&model, &data, "out", &short);
    folder.run(&arguments).ended(&[0, 3]);
    let first = archive(&folder, "out");
    folder.run(&arguments).refused(&["out exists already", "--out", "--force"]);
    // A fit that fails leaves the earlier one as it was, also by force.
    folder.run(&[&arguments[..], &["--force", "--method", "als"]].concat()).refused(&["--method als"]);
    folder.run(&[&arguments[..], &["--force", "--seed", "7"]].concat()).ended(&[0, 3]);
    let second = archive(&folder, "out");
    assert_eq!((first.settings.seed, second.settings.seed), (1, 7));
    assert_ne!(chains(&first)[0].values, chains(&second)[0].values);
    // Neither the staging folder nor the replaced fit is left.
    let left: Vec<_> = fs::read_dir(folder.at("")).expect("the folder").collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn force_replaces_nothing_but_a_fit() {
    let folder = Folder::new();
    folder.write("letters/mother.txt", "dear mother");
    folder.write("notes.txt", "my notes");
    folder.write("fits/first/fit.cbor", "another fit in a folder of fits");
    let (model, data) = (model("std_normal"), data("std_normal"));
    for out in ["letters", "notes.txt", "fits", "."] {
        folder.run(&fit(&model, &data, out, &["--force"])).refused(&[out, "is not a fit folder", "--out"]);
    }
    folder.run(&fit(&model, &data, "nowhere/out", &[])).refused(&["nowhere", "does not exist"]);
    folder.run(&fit(&model, &data, "notes.txt/out", &[])).refused(&["notes.txt"]);
}

#[test]
fn a_fit_that_fails_leaves_nothing_behind() {
    let folder = Folder::new();
    let no_density = folder.write(
        "nowhere.msrm",
        "model nowhere\ndata y : real\nparam mu ~ normal(0, 1)\nobserve y ~ uniform(0, 1)\nobserve y ~ normal(mu, 1)\n",
    );
    let outside = folder.write("outside.json", "{\"y\": 5}");
    folder.run(&fit(&no_density, &outside, "out", &[])).refused(&["no starting point", "check bounds and priors"]);
    let (plain, plain_data) = (model("std_normal"), data("std_normal"));
    let (flagship, recording) = (model("gp_msrm"), data("gp_msrm"));
    folder.run(&fit(&plain, &plain_data, "out", &["--method", "als"])).refused(&["--method als", "map or nuts"]);
    folder.run(&fit(&flagship, &recording, "out", &["--method", "als"])).refused(&["--method als", "map or nuts"]);
    folder.run(&fit(&plain, &plain_data, "out", &["--device", "tpu"])).refused(&["tpu", "cpu", "ndarray"]);
    folder.run(&fit(&plain, &recording, "out", &[])).refused(&["recording.csv", ".json"]);
    folder.run(&fit(&flagship, &plain_data, "out", &[])).refused(&["std_normal.json", ".csv"]);
}

#[test]
fn an_objective_cannot_be_sampled() {
    let folder = Folder::new();
    let (gridded, recording) = (model("r_msrm"), data("r_msrm"));
    let message = ["ends in `minimize`", "not a density", "use --method als"];
    folder.run(&fit(&gridded, &recording, "out", &["--method", "nuts"])).refused(&message);
    folder.run(&fit(&gridded, &recording, "out", &["--method", "map"])).refused(&["--method als"]);
    let bowl = folder.write("bowl.msrm", "model bowl\ndata a : real\nparam x\nminimize square(x - a)\n");
    let three = folder.write("three.json", "{\"a\": 3}");
    folder.run(&fit(&bowl, &three, "out", &["--method", "nuts"])).refused(&["`minimize`", "use --method map"]);
    let found = folder.run(&fit(&bowl, &three, "out", &["--json"])).ended(&[0]).json();
    let [x, value] = [&found["quantities"][0]["value"], &found["objective"]].map(|v| v.as_f64().expect("a number"));
    assert!((x - 3.0).abs() < 1e-6 && value.abs() < 1e-10, "{found}");
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let folder = Folder::new();
    let sampled = ["--warmup", "200", "--draws", "200"];
    let short = ["--method", "nuts", "--chains", "3", "--warmup", "12", "--draws", "4", "--max-depth", "5"];
    let microcanonical = [&sampled[..], &["--method", "mams", "--metric", "low-rank"]].concat();
    let cases: [(&str, &[&str]); 5] = [
        ("eight_schools", &sampled),
        ("eight_schools", &microcanonical),
        ("gp_msrm", &short),
        ("gp_msrm", &["--standard-errors"]),
        ("r_msrm", &[]),
    ];
    for (case, (name, more)) in cases.into_iter().enumerate() {
        let (model, data) = (model(name), data(name));
        let fits = ["1", "2", "3"].map(|threads| {
            let out = format!("{case}-{threads}");
            folder.run(&fit(&model, &data, &out, &[more, &["--threads", threads]].concat())).ended(&[0, 3]);
            let archive = archive(&folder, &out);
            assert_eq!(archive.settings.threads.to_string(), threads);
            (fs::read(folder.at(&out).join("summary.csv")).expect("a table"), results(archive))
        });
        for other in &fits[1..] {
            assert!(fits[0].0 == other.0, "{name} {more:?}: summary.csv differs");
            assert_eq!(fits[0].1, other.1, "{name} {more:?}");
        }
    }
}

/// What came out of a fit, without the clock; floating-point numbers as their bits.
fn results(archive: Archive) -> String {
    let bits = |v: &[f64]| v.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
    match archive.outcome {
        Outcome::Draws(mut draws) => {
            let all = draws.chains.iter().map(|c| (bits(&c.values), bits(&c.log_density), bits(&c.energy)));
            let all: Vec<_> = all.collect();
            draws.chains.iter_mut().for_each(|c| c.seconds = 0.0);
            assert!(draws.chains.iter().all(|c| !c.is_empty()), "a chain without draws compares nothing");
            format!("{all:?} {draws:?}")
        }
        Outcome::Mode(mode) => {
            let latent: Vec<_> = mode.latent.iter().map(|l| bits(&l.mean)).collect();
            format!("{:?} {:?} {latent:?} {mode:?}", bits(&mode.values), mode.value.to_bits())
        }
    }
}

#[test]
fn the_seed_decides_the_draws() {
    let folder = Folder::new();
    let (model, data) = (model("eight_schools"), data("eight_schools"));
    for (out, seed) in [("a", "3"), ("b", "3"), ("c", "4")] {
        let more = ["--seed", seed, "--warmup", "100", "--draws", "100"];
        folder.run(&fit(&model, &data, out, &more)).ended(&[0, 3]);
    }
    let [a, b, c] = ["a", "b", "c"].map(|out| results(archive(&folder, out)));
    assert_eq!(a, b);
    assert_ne!(a, c);
    let archive = archive(&folder, "a");
    let chains = chains(&archive);
    assert_eq!(chains.len(), 4);
    for (i, one) in chains.iter().enumerate() {
        assert!(chains[..i].iter().all(|other| other.values != one.values), "two chains are the same");
    }
}
