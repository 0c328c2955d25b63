//! Simulation-based calibration (Talts et al. 2018): over data drawn from a model with their truth, the rank of the truth
//! among the draws of a fit is uniform. A fit of another model than the one that drew the data must not pass.

use msrm::archive::{Outcome, Settings};
use msrm::base::Source;
use msrm::bind::{BindOptions, Input, bind};
use msrm::data::{Arrays, parse_arrays};
use msrm::model::{Model, check_text};
use msrm::run::{Reporting, Simulator, fit};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

const REPLICATIONS: usize = 240;
const RANKED: usize = 99;
const THIN: usize = 5;
const BINS: usize = 10;
/// The 0.9999 quantile of chi-squared with nine degrees of freedom.
const LARGEST_CHI_SQUARED: f64 = 33.7;

fn bundled(name: &str) -> (Source, Model) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("models/{name}.msrm"));
    model(&fs::read_to_string(path).expect("a model file"))
}

fn model(text: &str) -> (Source, Model) {
    let source = Source::new("m.msrm", text);
    let model = check_text(&source).unwrap_or_else(|e| panic!("{}", msrm::base::render(&source, &e)));
    (source, model)
}

fn arrays(json: &str) -> Arrays {
    parse_arrays(Path::new("d.json"), json.as_bytes()).expect("arrays")
}

/// Chi-squared of the ranks of each named element, for data drawn from `truth` and fitted by `fitted`.
fn chi_squared(truth: &(Source, Model), fitted: &(Source, Model), given: &str, names: &[&str]) -> Vec<(String, f64)> {
    let simulator = Simulator::new(truth.1.clone(), truth.0.clone(), arrays(given)).expect("a simulator");
    let mut counts = vec![[0usize; BINS]; names.len()];
    for replication in 0..REPLICATIONS as u64 {
        let drawn = simulator.draw(20, replication).expect("a draw");
        let input = Input::Arrays(drawn.data);
        let plan = bind(fitted.1.clone(), fitted.0.clone(), input, BindOptions::default()).expect("a plan");
        let settings = Settings {
            seed: 1000 + replication,
            chains: 1,
            threads: 1,
            warmup: 400,
            draws: RANKED * THIN,
            target_accept: 0.9,
            ..Settings::default()
        };
        let outcome = fit(&plan, &settings, &AtomicBool::new(false), Reporting::Quiet).expect("a fit");
        let Outcome::Draws(draws) = outcome else { panic!("no draws") };
        let labels: Vec<String> = draws.labels().map(str::to_string).collect();
        for (name, counts) in names.iter().zip(&mut counts) {
            let index = labels.iter().position(|l| l == name).expect("a quantity");
            let (whole, element) = name.split_once('[').unwrap_or((name, "1]"));
            let at: usize = element.trim_end_matches(']').parse().expect("a position");
            let value = drawn.truth.get(whole).expect("a parameter").values[at - 1];
            let chain = &draws.element(index)[0];
            let rank = chain.iter().step_by(THIN).filter(|x| **x < value).count();
            counts[rank * BINS / (RANKED + 1)] += 1;
        }
    }
    let expected = REPLICATIONS as f64 / BINS as f64;
    let of = |counts: &[usize; BINS]| counts.iter().map(|&c| (c as f64 - expected).powi(2) / expected).sum();
    names.iter().zip(&counts).map(|(n, c)| (format!("{n} {c:?}"), of(c))).collect()
}

const SCHOOLS: &str = r#"{"J": 8, "sigma": [15, 10, 16, 11, 9, 11, 10, 18]}"#;
const SCHOOLS_NAMES: [&str; 4] = ["mu", "tau", "theta[1]", "theta[8]"];

/// Twelve rows with two covariates.
const LOGISTIC: &str = r#"{"N": 12, "P": 2, "X": [[1, -1.2], [1, -0.9], [1, -0.7], [1, -0.4], [1, -0.2], [1, 0],
    [1, 0.1], [1, 0.3], [1, 0.6], [1, 0.8], [1, 1.1], [1, 1.4]]}"#;
const LOGISTIC_NAMES: [&str; 2] = ["beta[1]", "beta[2]"];

#[test]
fn ranks_are_uniform_for_eight_schools() {
    let schools = bundled("eight_schools");
    for (name, value) in chi_squared(&schools, &schools, SCHOOLS, &SCHOOLS_NAMES) {
        assert!(value < LARGEST_CHI_SQUARED, "{name}: {value}");
    }
}

#[test]
fn ranks_are_uniform_for_a_logistic_regression() {
    let logistic = bundled("glm_logistic");
    for (name, value) in chi_squared(&logistic, &logistic, LOGISTIC, &LOGISTIC_NAMES) {
        assert!(value < LARGEST_CHI_SQUARED, "{name}: {value}");
    }
}

#[test]
fn a_fit_with_another_prior_or_likelihood_is_caught() {
    let schools = bundled("eight_schools");
    let mut text = schools.0.text.clone();
    // Half the errors of measurement.
    text = text.replace("normal(theta, sigma)", "normal(theta, sigma / 2)");
    let worst = |found: Vec<(String, f64)>| found.into_iter().map(|f| f.1).fold(0.0, f64::max);
    let found = worst(chi_squared(&schools, &model(&text), SCHOOLS, &SCHOOLS_NAMES));
    assert!(found > 2.0 * LARGEST_CHI_SQUARED, "{found}");
    let logistic = bundled("glm_logistic");
    let shifted = logistic.0.text.replace("normal(0, 1)", "normal(0.7, 1)");
    assert_ne!(shifted, logistic.0.text);
    let found = worst(chi_squared(&logistic, &model(&shifted), LOGISTIC, &LOGISTIC_NAMES));
    assert!(found > 2.0 * LARGEST_CHI_SQUARED, "{found}");
}
