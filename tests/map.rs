//! Modes: against closed forms, at bounds, with standard errors, and of the two shared-response models.

mod common {
    pub mod arrays;
    pub mod plan;
}

use common::arrays::arrays;
use common::plan::plan;
use msrm::archive::{Init, Method, Metric, Mode, Outcome, Settings};
use msrm::bind::{Input, Plan};
use msrm::data::{Options, load};
use msrm::graph::{Tape, lower};
use msrm::infer::optimize::{self, CERTIFICATE, minimize};
use msrm::math::rng::{Purpose, stream};
use msrm::run::{Reporting, fit};
use rand::RngExt;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

fn settings(method: Method) -> Settings {
    Settings {
        method,
        seed: 1,
        threads: 0,
        device: "cpu".into(),
        chains: 1,
        warmup: 0,
        draws: 1,
        target_accept: 0.8,
        max_depth: 10,
        metric: Metric::Diagonal,
        init: Init::Random,
        starts: 4,
        max_iterations: 10_000,
        standard_errors: true,
    }
}

fn mode_with(plan: &Plan, settings: &Settings) -> Mode {
    match fit(plan, settings, &AtomicBool::new(false), Reporting::Quiet) {
        Ok(Outcome::Mode(mode)) => {
            assert!(mode.restarts[mode.best].converged, "{:?}", mode.restarts);
            *mode
        }
        Ok(Outcome::Draws(_)) => panic!("draws instead of a mode"),
        Err(error) => panic!("{error}"),
    }
}

fn mode(plan: &Plan) -> Mode {
    mode_with(plan, &settings(Method::Map))
}

fn text_mode(text: &str, json: &str) -> Mode {
    mode(&plan(text, arrays(json)))
}

/// The place of a reported number.
fn place(mode: &Mode, label: &str) -> usize {
    let labels: Vec<&String> = mode.quantities.iter().flat_map(|q| &q.labels).collect();
    labels.iter().position(|l| *l == label).unwrap_or_else(|| panic!("no {label} in {labels:?}"))
}

fn value(mode: &Mode, label: &str) -> f64 {
    mode.values[place(mode, label)]
}

fn standard_error(mode: &Mode, label: &str) -> Option<f64> {
    mode.standard_errors.as_ref().expect("standard errors")[place(mode, label)]
}

fn close(found: f64, want: f64, tolerance: f64, what: &str) {
    assert!((found - want).abs() <= tolerance * want.abs().max(1.0), "{what}: {found}, expected {want}");
}

/// The inverse of a symmetric positive definite matrix, by Gauss-Jordan elimination.
fn inverse(matrix: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let n = matrix.len();
    let unit = |i: usize| (0..n).map(move |j| if i == j { 1.0 } else { 0.0 });
    let mut rows: Vec<Vec<f64>> = (0..n).map(|i| matrix[i].iter().copied().chain(unit(i)).collect()).collect();
    for i in 0..n {
        let pivot = rows[i][i];
        rows[i].iter_mut().for_each(|v| *v /= pivot);
        let row = rows[i].clone();
        for (_, other) in rows.iter_mut().enumerate().filter(|(k, _)| *k != i) {
            let factor = other[i];
            other.iter_mut().zip(&row).for_each(|(o, r)| *o -= factor * r);
        }
    }
    rows.iter().map(|row| row[n..].to_vec()).collect()
}

/// Least squares, maximum likelihood scatter (divisor n: no Jacobian), and the inverse Fisher information.
#[test]
fn linear_regression_with_flat_priors_is_least_squares() {
    let mut rng = stream(7, 0, Purpose::Prediction);
    let n = 40;
    let x: Vec<Vec<f64>> = (0..n).map(|_| vec![1.0, rng.random_range(-2.0..2.0), rng.random_range(0.0..5.0)]).collect();
    let y: Vec<f64> = x.iter().map(|r| 2.0 * r[0] - 1.5 * r[1] + 0.3 * r[2] + rng.random_range(-1.0..1.0)).collect();
    let gram: Vec<Vec<f64>> = (0..3).map(|a| (0..3).map(|b| x.iter().map(|r| r[a] * r[b]).sum()).collect()).collect();
    let spread = inverse(&gram);
    let moments: Vec<f64> = (0..3).map(|a| x.iter().zip(&y).map(|(r, y)| r[a] * y).sum()).collect();
    let beta: Vec<f64> = spread.iter().map(|row| row.iter().zip(&moments).map(|(s, m)| s * m).sum()).collect();
    let residual = |(r, y): (&Vec<f64>, &f64)| (y - r.iter().zip(&beta).map(|(x, b)| x * b).sum::<f64>()).powi(2);
    let squares: f64 = x.iter().zip(&y).map(residual).sum();
    let sigma = (squares / n as f64).sqrt();

    let text = "model regression\ndata N : int\ndata X : real[N, 3]\ndata y : real[N]\n\
                param beta[3]\nparam sigma > 0\nobserve y ~ normal(X @ beta, sigma)\nreport twice = 2 * beta[1] + sigma";
    let json = serde_json::json!({ "N": n, "X": x, "y": y }).to_string();
    let mode = text_mode(text, &json);
    for (i, b) in beta.iter().enumerate() {
        let label = format!("beta[{}]", i + 1);
        close(value(&mode, &label), *b, 1e-6, &label);
        close(standard_error(&mode, &label).expect("an error"), sigma * spread[i][i].sqrt(), 1e-5, &label);
    }
    close(value(&mode, "sigma"), sigma, 1e-6, "sigma");
    let sigma_error = sigma / (2.0 * n as f64).sqrt();
    close(standard_error(&mode, "sigma").expect("an error"), sigma_error, 1e-5, "error of sigma");
    // At the mode coefficients and scatter are uncorrelated.
    let twice = (4.0 * sigma * sigma * spread[0][0] + sigma_error * sigma_error).sqrt();
    close(standard_error(&mode, "twice").expect("an error"), twice, 1e-5, "error of a report");
    let log_density = -(n as f64) * (sigma.ln() + 0.5 * (2.0 * std::f64::consts::PI).ln() + 0.5);
    close(mode.value, log_density, 1e-10, "log density");
    assert_eq!(mode.at_bounds, Vec::<String>::new());
}

/// The mode of the density itself, not of its image in unconstrained coordinates, which has another mode.
#[test]
fn the_physical_density_is_what_is_maximised() {
    let text = "model modes\nparam g ~ gamma(3, 2)\nparam l ~ lognormal(0.5, 0.8)\nparam b ~ beta(3, 2)\n\
                param i ~ inv_gamma(4, 6)\nparam t ~ normal(1, 2) in [-3, 2.5]";
    let mode = text_mode(text, "{}");
    for (label, want, with_jacobian) in [
        ("g", 2.0 / 2.0, 3.0 / 2.0),
        ("l", (0.5f64 - 0.64).exp(), 0.5f64.exp()),
        ("b", 2.0 / 3.0, 3.0 / 5.0),
        ("i", 6.0 / 5.0, 6.0 / 4.0),
    ] {
        close(value(&mode, label), want, 1e-5, label);
        assert!((value(&mode, label) - with_jacobian).abs() > 0.05, "{label}");
    }
    close(value(&mode, "t"), 1.0, 1e-5, "t");
    // d2 log gamma / dx2 = -(alpha - 1) / x^2.
    close(standard_error(&mode, "g").expect("an error"), 1.0 / 2f64.sqrt(), 1e-5, "error of g");
}

#[test]
fn a_parameter_may_end_at_its_bound() {
    let text = "model bounded\ndata y : real[4]\nparam high in [0, 1]\nparam low in [3, 9]\nparam free\n\
                param tau ~ exponential(2)\nobserve y ~ normal(high, 1)\nobserve y ~ normal(low, 1)\n\
                observe y ~ normal(free, 1)";
    let mode = text_mode(text, "{\"y\": [1, 1.5, 2, 2.5]}");
    let at_bounds = ["high", "low", "tau"];
    assert_eq!(mode.at_bounds, at_bounds);
    // Exactly there, not a little inside.
    assert_eq!(at_bounds.map(|label| value(&mode, label)), [1.0, 3.0, 0.0]);
    assert_eq!(at_bounds.map(|label| standard_error(&mode, label)), [None; 3]);
    close(value(&mode, "free"), 1.75, 1e-6, "free");
    close(standard_error(&mode, "free").expect("an error"), 0.5, 1e-6, "error of free");
}

/// Means and standard deviations of a Gaussian posterior, also of parameters that are searched in standardised form.
#[test]
fn laplace_is_exact_for_a_gaussian_posterior() {
    let (y, sigma, tau) = ([1.2, -0.4, 2.9], 0.9, 0.7);
    let text = "model gaussian\ndata y : real[3]\nparam mu ~ normal(1, 2)\nparam theta[3] ~ normal(mu, 0.7) noncentered\n\
                observe y ~ normal(theta, 0.9)\nreport contrast = theta[1] - theta[3]";
    let mode = text_mode(text, "{\"y\": [1.2, -0.4, 2.9]}");
    let (pull, data) = (1.0 / (tau * tau), 1.0 / (sigma * sigma));
    let covariance = inverse(&[
        vec![0.25 + 3.0 * pull, -pull, -pull, -pull],
        vec![-pull, pull + data, 0.0, 0.0],
        vec![-pull, 0.0, pull + data, 0.0],
        vec![-pull, 0.0, 0.0, pull + data],
    ]);
    let information: Vec<f64> = [0.25].into_iter().chain(y.map(|y| y * data)).collect();
    let mean: Vec<f64> = covariance.iter().map(|row| row.iter().zip(&information).map(|(c, h)| c * h).sum()).collect();
    for (i, label) in ["mu", "theta[1]", "theta[2]", "theta[3]"].into_iter().enumerate() {
        close(value(&mode, label), mean[i], 1e-6, label);
        close(standard_error(&mode, label).expect("an error"), covariance[i][i].sqrt(), 1e-6, label);
    }
    let contrast = (covariance[1][1] + covariance[3][3] - 2.0 * covariance[1][3]).sqrt();
    close(standard_error(&mode, "contrast").expect("an error"), contrast, 1e-6, "error of a contrast");
}

/// An objective is minimised, and reported with its own sign.
#[test]
fn an_objective_is_minimised() {
    let text =
        "model objective\nparam x\nparam y in [-1, 1]\nminimize 3 + (x - 2) ^ 2 + (y - 4) ^ 2 + 0.5 * (x - y) ^ 2";
    let mode = text_mode(text, "{}");
    // With y at 1: 2 (x - 2) + (x - 1) = 0.
    close(value(&mode, "x"), 5.0 / 3.0, 1e-6, "x");
    assert_eq!(value(&mode, "y"), 1.0);
    close(mode.value, 3.0 + 1.0 / 9.0 + 9.0 + 0.5 * 4.0 / 9.0, 1e-9, "objective");
}

fn model_folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("models")
}

fn recording_plan(model: &str, csv: &str) -> Plan {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("recording.csv");
    fs::write(&path, csv).expect("a CSV file");
    let recording = load(&path, &Options::default()).expect("a recording").recording;
    let text = fs::read_to_string(model_folder().join(format!("{model}.msrm"))).expect("a model file");
    plan(&text, Input::Recording(recording))
}

fn bundled_csv() -> String {
    fs::read_to_string(model_folder().join("data").join("recording.csv")).expect("the bundled recording")
}

/// Alternating closed-form steps end where a general minimiser of the same objective ends.
#[test]
fn alternating_steps_find_the_minimum_of_the_objective() {
    let plan = recording_plan("r_msrm", &bundled_csv());
    let als = Settings { standard_errors: false, ..settings(Method::Als) };
    let alternating = mode_with(&plan, &als);
    let mut tape = Tape::new(Arc::new(lower(&plan).expect("a program")));
    let dim = plan.dim();
    let mut objective = |x: &[f64], gradient: &mut [f64]| {
        let value = tape.value_gradient(x, gradient)?;
        gradient.iter_mut().for_each(|g| *g = -*g);
        Ok(-value)
    };
    // The reported value is that of the objective at the reported point.
    let at_mode = objective(&alternating.values, &mut vec![0.0; dim]).expect("a value");
    close(alternating.value, at_mode, 1e-12, "objective at the reported point");
    let options = optimize::Settings { gradient_tolerance: 1e-9, value_tolerance: 1e-16, ..Default::default() };
    let (lower, upper) = plan.bounds();
    let mut general = |seed: u64| {
        let mut rng = stream(seed, 0, Purpose::Start);
        let start: Vec<f64> = (0..dim).map(|_| rng.random_range(-0.5..0.5)).collect();
        minimize(&mut objective, &start, &lower, &upper, &options).value
    };
    let lowest = (1..=4).map(&mut general).fold(f64::INFINITY, f64::min);
    assert!((alternating.value - lowest).abs() <= 1e-8, "alternating {}, general {lowest}", alternating.value);
}

/// The mode of the bundled recording is certified, and does not depend on the units or the order of the file.
#[test]
fn gp_msrm_does_not_depend_on_shifts_or_the_order_of_rows() {
    let find = |csv: &str| {
        mode_with(&recording_plan("gp_msrm", csv), &Settings { standard_errors: false, ..settings(Method::Map) })
    };
    let csv = bundled_csv();
    let plain = find(&csv);
    let certificate = plain.restarts[plain.best].projected_gradient.expect("a gradient");
    assert!(certificate <= CERTIFICATE, "projected gradient {certificate}");
    let shifted: String = csv
        .lines()
        .map(|line| match line.rsplit_once(',') {
            Some((start, value)) if start.starts_with("ada,") && start.contains(",skin,") => {
                match value.parse::<f64>() {
                    Ok(value) => format!("{start},{}\n", value + 250.0),
                    Err(_) => format!("{line}\n"),
                }
            }
            _ => format!("{line}\n"),
        })
        .collect();
    assert!(shifted != csv);
    let (header, rows) = csv.split_once('\n').expect("a header");
    let mut rows: Vec<&str> = rows.lines().collect();
    rows.reverse();
    let reversed = format!("{header}\n{}\n", rows.join("\n"));
    for (what, csv) in [("a shifted feature", shifted), ("reversed rows", reversed)] {
        let other = find(&csv);
        close(other.value, plain.value, 1e-9, what);
        for label in ["ell", "w[ben,rating,valence,1]", "w[ada,physio,skin,1]", "b[ada,physio,skin]", "v[cleo,physio]"]
        {
            // The sign of the loadings follows the anchor, which is the first of the sorted names in any order.
            close(value(&other, label), value(&plain, label), 1e-4, &format!("{label} with {what}"));
        }
        for run in &plain.latent {
            let same = other.latent.iter().find(|l| l.run == run.run).expect("the run");
            assert_eq!(same.times, run.times, "{what}");
            same.mean.iter().zip(&run.mean).for_each(|(a, b)| close(*a, *b, 1e-4, what));
        }
    }
}
