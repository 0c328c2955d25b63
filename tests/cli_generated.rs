//! What comes after a fit: values that a `report` draws, and leave-one-out cross-validation.

mod common {
    pub mod program;
}

use common::program::{Folder, data, model};
use msrm::archive::{Archive, Outcome, read};
use msrm::graph::Group;
use msrm::run::{evaluate_at, log_likelihood};
use serde_json::Value;

const COUNTS: &str = "model counts\ndata N : int\ndata x : real[N]\ndata y : int[N] >= 0\nparam a ~ normal(0, 1)\n\
                      param b ~ normal(0, 1)\nlet eta = a + b * x\nobserve y ~ poisson_log(eta)\n\
                      report y_rep[N] ~ poisson_log(eta)\nreport total = sum(y_rep)\nreport rate = exp(a)\n\
                      report near ~ normal(rate, 0.001) in [0, inf]\n";
const DATA: &str = r#"{"N": 6, "x": [-1, -0.5, 0, 0.3, 0.8, 1.2], "y": [1, 0, 2, 4, 3, 7]}"#;

fn fitted(folder: &Folder, out: &str, more: &[&str]) -> Archive {
    let (m, d) = (folder.write("counts.msrm", COUNTS), folder.write("counts.json", DATA));
    let arguments = ["fit", &m, "--data", &d, "--out", out, "--quiet"];
    folder.run(&[&arguments[..], more].concat()).ended(&[0, 3]);
    read(&folder.at(out)).expect("a fit")
}

fn element(archive: &Archive, name: &str) -> Vec<f64> {
    let Outcome::Draws(draws) = &archive.outcome else { panic!("no draws") };
    let index = draws.labels().position(|l| l == name).unwrap_or_else(|| panic!("no {name}"));
    draws.element(index).concat()
}

#[test]
fn reports_are_drawn_once_per_draw_from_their_distribution() {
    let folder = Folder::new();
    let archive = fitted(&folder, "first", &["--threads", "1"]);
    let Outcome::Draws(draws) = &archive.outcome else { panic!("no draws") };
    let groups: Vec<(&str, Group, bool)> =
        draws.quantities.iter().map(|q| (q.name.as_str(), q.group, q.integer)).collect();
    let wanted = [
        ("a", Group::Parameter, false),
        ("b", Group::Parameter, false),
        ("y_rep", Group::Generated, true),
        ("total", Group::Generated, true),
        ("rate", Group::Report, false),
        ("near", Group::Generated, false),
    ];
    assert_eq!(groups, wanted);
    // Given the parameters, a count minus its rate has mean 0 and variance rate.
    let (a, b, counts) = (element(&archive, "a"), element(&archive, "b"), element(&archive, "y_rep[6]"));
    assert!(counts.iter().all(|c| *c >= 0.0 && c.fract() == 0.0));
    let z = |i: usize| (counts[i] - (a[i] + 1.2 * b[i]).exp()) / (0.5 * (a[i] + 1.2 * b[i])).exp();
    let n = counts.len() as f64;
    let (mean, square) = (0..counts.len()).fold((0.0, 0.0), |(m, s), i| (m + z(i) / n, s + z(i) * z(i) / n));
    assert!(mean.abs() < 4.5 / n.sqrt() && (square - 1.0).abs() < 4.5 * (2.5 / n).sqrt(), "{mean} {square}");
    // Draws do not repeat those of the draw before, and a report of them is a function of them.
    assert!(counts.windows(2).any(|w| w[0] != w[1]));
    let total = element(&archive, "total");
    let sums: Vec<Vec<f64>> = (1..=6).map(|i| element(&archive, &format!("y_rep[{i}]"))).collect();
    assert!((0..total.len()).all(|i| total[i] == sums.iter().map(|s| s[i]).sum::<f64>()));
    let near = element(&archive, "near");
    assert!(element(&archive, "rate").iter().zip(&near).all(|(r, x)| (r - x).abs() < 0.007));
    let chains = near.chunks(1000).map(|c| c[7]).collect::<Vec<_>>();
    assert!(chains.windows(2).all(|w| w[0] != w[1]), "chains have random numbers of their own");
    // The same seed draws the same on any number of threads; another seed does not.
    let again = fitted(&folder, "again", &["--threads", "2"]);
    assert_eq!(element(&again, "y_rep[3]"), element(&archive, "y_rep[3]"));
    let other = fitted(&folder, "other", &["--seed", "2"]);
    assert_ne!(element(&other, "y_rep[3]"), element(&archive, "y_rep[3]"));
    // The parameters do not depend on what is reported.
    folder.write("plain.msrm", COUNTS.split("report").next().expect("a head"));
    folder.run(&["fit", "plain.msrm", "--data", "counts.json", "--out", "plain", "--quiet"]).ended(&[0, 3]);
    assert_eq!(element(&read(&folder.at("plain")).expect("a fit"), "b"), b);
}

#[test]
fn integers_stay_integers_in_the_tables() {
    let folder = Folder::new();
    fitted(&folder, "fit", &["--draws", "100"]);
    let csv = std::fs::read_to_string(folder.at("fit/summary.csv")).expect("a table");
    let row = csv.lines().find(|l| l.starts_with("\"y_rep[6]\"")).expect("a row");
    let cells: Vec<&str> = row.split(',').collect();
    // The median of an even number of whole numbers may lie half way between two.
    assert!(cells[7].parse::<f64>().expect("a median") % 0.5 == 0.0 && !cells[7].ends_with(".0"), "{row}");
    let json = folder.run(&["summary", "fit", "--json"]).ended(&[0, 3]).json();
    let group = |name: &str| {
        let groups = json["groups"].as_array().expect("groups");
        groups.iter().find(|g| g["name"] == name).expect("a quantity").clone()
    };
    assert_eq!(
        (group("y_rep")["group"].as_str(), group("y_rep")["integer"].as_bool()),
        (Some("generated"), Some(true))
    );
    assert_eq!(group("y_rep")["shape"], serde_json::json!([6]));
}

#[test]
fn a_mode_leaves_drawn_reports_out_and_says_so() {
    let folder = Folder::new();
    let (m, d) = (folder.write("counts.msrm", COUNTS), folder.write("counts.json", DATA));
    let run =
        folder.run(&["fit", &m, "--data", &d, "--method", "map", "--out", "fit", "--standard-errors"]).ended(&[0]);
    assert!(run.stderr.contains("`y_rep` is drawn per draw of the posterior"), "{}", run.stderr);
    assert!(!run.stdout.contains("y_rep") && !run.stdout.contains("total") && run.stdout.contains("rate"));
    folder.run(&["summary", "fit", "--loo"]).refused(&["this fit is a mode"]);
}

#[test]
fn leaving_one_out_has_the_known_value_for_eight_schools() {
    let folder = Folder::new();
    folder
        .run(&["fit", &model("eight_schools"), "--data", &data("eight_schools"), "--out", "fit", "--quiet"])
        .ended(&[0]);
    let run = folder.run(&["summary", "fit", "--loo", "--json"]).ended(&[0]);
    let loo = &run.json()["loo"];
    let number = |key: &str| loo[key].as_f64().expect("a number");
    // The value that is found elsewhere for this model: -30.8 with standard error 1.4, and 0.8 to 1.1 parameters.
    assert!((number("elpd") + 30.8).abs() < 0.4, "{loo}");
    assert!((number("elpd_se") - 1.4).abs() < 0.25 && (number("p") - 0.9).abs() < 0.5, "{loo}");
    let rows = loo["observations"].as_array().expect("observations");
    assert_eq!((rows.len(), rows[2]["name"].as_str()), (8, Some("y[3]")));
    let total: f64 = rows.iter().map(|r| r["elpd"].as_f64().expect("a number")).sum();
    assert!((total - number("elpd")).abs() < 1e-9);
    let text = folder.run(&["summary", "fit", "--loo"]).ended(&[0]).stdout;
    assert!(text.contains("leave-one-out cross-validation of 8 observations\nelpd_loo"), "{text}");
}

#[test]
fn the_pointwise_log_likelihood_sums_to_the_terms_of_the_density() {
    let folder = Folder::new();
    let text = "model m\ndata y : real[3]\ndata n : int[2]\ndata u : real[3]\ndata c : int[3] in [0, 1]\n\
                data v : real[2, 2]\ndata S : real[2, 2]\nparam a ~ normal(0, 1)\nparam s ~ half_normal(1)\n\
                observe y ~ normal(a, s) in [-5, 9]\nobserve 2 * y[2] ~ student_t(4, a, 1)\nobserve n ~ poisson(s)\n\
                observe u ~ normal(a, s) censored above where c\nobserve v ~ multi_normal(a, S)\n\
                observe exp(u) ~ mixture(0.3, lognormal(a, 1), gamma(2, s))\n\
                a * s ~ normal(0, 1)\nreport drawn ~ normal(a, 1)\n";
    let (m, d) = (
        folder.write("m.msrm", text),
        folder.write(
            "d.json",
            r#"{"y": [0.5, -1, 2], "n": [0, 3], "u": [1, 0.5, 2],
        "c": [0, 1, 0], "v": [[0.1, -0.4], [1.2, 0.3]], "S": [[1, 0.2], [0.2, 1.5]]}"#,
        ),
    );
    let arguments = ["fit", &m, "--data", &d, "--out", "fit", "--draws", "50", "--chains", "2", "--quiet"];
    folder.run(&arguments).ended(&[0, 3]);
    let archive = read(&folder.at("fit")).expect("a fit");
    let found = log_likelihood(&archive).expect("a likelihood");
    let names: Vec<&str> = found.iter().map(|o| o.name.as_str()).collect();
    let wanted = ["y[1]", "y[2]", "y[3]", "2 * y[2]", "n[1]", "n[2]", "u[1]", "u[2]", "u[3]", "v[1]", "v[2]"];
    assert_eq!(names[..11], wanted);
    assert_eq!(names.len(), 14, "{names:?}");
    let (a, s) = (element(&archive, "a"), element(&archive, "s"));
    for draw in [0, 49, 73] {
        let point = format!("{{\"a\": {:?}, \"s\": {:?}}}", a[draw], s[draw]);
        let point = msrm::data::parse_arrays("p.json".as_ref(), point.as_bytes()).expect("a point");
        let terms = evaluate_at(&archive.plan, &point).expect("an evaluation").terms;
        let observed = |n: &str| ["y ~", "2 * y", "n ~", "u ~", "v ~", "exp(u) ~"].iter().any(|p| n.starts_with(p));
        let wanted: f64 = terms.iter().filter(|t| observed(&t.name)).map(|t| t.value).sum();
        let sum: f64 = found.iter().map(|o| o.chains[draw / 50][draw % 50]).sum();
        assert!((sum - wanted).abs() < 1e-10 * wanted.abs().max(1.0), "{sum} {wanted} {terms:?}");
    }
}

#[test]
fn what_has_no_observations_to_leave_out_is_refused() {
    let folder = Folder::new();
    let prior = folder.write("prior.msrm", "model prior\nparam a ~ normal(0, 1)\n");
    folder.run(&["fit", &prior, "--out", "prior", "--quiet"]).ended(&[0]);
    folder.run(&["summary", "prior", "--loo"]).refused(&["observes no data"]);
    let json = folder.run(&["summary", "prior", "--json"]).ended(&[0]).json();
    assert_eq!(json["loo"], Value::Null);
}
