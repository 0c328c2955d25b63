//! Reference posteriors: draws of the No-U-Turn sampler against the summaries of long reference runs.
//!
//! `tests/posteriordb/NAME.json` holds the data, and mean, sd, second moment and quantiles of 10,000 thinned reference
//! draws, which count as independent.

// By path, because rustfmt looks for modules in the folder that is called like this file.
#[path = "common/arrays.rs"]
mod arrays;
#[path = "common/plan.rs"]
mod plan;

use arrays::arrays;
use msrm::archive::{Archive, Draws, FORMAT, Init, Method, Metric, Outcome, Settings};
use msrm::diagnose::mcse::mcse_mean;
use msrm::diagnose::{Draws as CheckedDraws, summarize};
use msrm::report::summarize_archive;
use msrm::run::{Reporting, fit};
use plan::plan;
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

const CHAINS: usize = 4;
/// Largest distance of two Monte Carlo estimates in standard errors of their difference.
const LARGEST_Z: f64 = 4.0;
/// Largest distance of two quantiles in standard deviations of the posterior.
const QUANTILE: f64 = 0.1;
const LARGEST_R_HAT: f64 = 1.01;

/// How one posterior is sampled.
struct Choices {
    method: Method,
    metric: Metric,
    init: Init,
    draws: usize,
    target_accept: f64,
}

/// Enough draws for the Monte Carlo error of a 5 % quantile to stay well below [`QUANTILE`] at any seed.
const USUAL: Choices =
    Choices { method: Method::Nuts, metric: Metric::Diagonal, init: Init::Auto, draws: 4000, target_accept: 0.8 };
const DENSE: Choices = Choices { metric: Metric::Dense, ..USUAL };
const LOW_RANK: Choices = Choices { metric: Metric::LowRank, ..USUAL };
/// Draws of MAMS are cheaper and less independent.
const MAMS: Choices = Choices { method: Method::Mams, draws: 12_000, target_accept: 0.8, ..USUAL };

fn read(name: &str, extension: &str) -> String {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests").join("posteriordb");
    fs::read_to_string(folder.join(format!("{name}.{extension}"))).expect("a readable file")
}

fn settings(choices: &Choices) -> Settings {
    Settings {
        method: choices.method,
        seed: 1,
        threads: 0,
        device: "cpu".into(),
        chains: CHAINS,
        warmup: 1000,
        draws: choices.draws,
        target_accept: choices.target_accept,
        max_depth: 10,
        metric: choices.metric,
        init: choices.init,
        starts: 1,
        max_iterations: 1,
        standard_errors: false,
    }
}

/// Samples `name` and compares every quantity of the reference.
fn check(name: &str, choices: &Choices) {
    let reference: Value = serde_json::from_str(&read(name, "json")).expect("JSON");
    let plan = plan(&read(name, "msrm"), arrays(&reference["data"].to_string()));
    let settings = settings(choices);
    let outcome = fit(&plan, &settings, &AtomicBool::new(false), Reporting::Quiet).expect("a fit");
    let Outcome::Draws(draws) = &outcome else { panic!("{name}: no draws") };
    let mut faults = compare(draws, &reference);
    let archive = Archive {
        format: FORMAT,
        msrm_version: String::new(),
        created: 0,
        inputs: vec![],
        settings,
        plan,
        plan_sha256: String::new(),
        outcome: outcome.clone(),
        calibrated: Vec::new(),
        seconds: 0.0,
    };
    let judgement = summarize_archive(&archive).judgement;
    if !judgement.trust {
        faults.push(judgement.to_string());
    }
    assert!(faults.is_empty(), "{name}:\n{}", faults.join("\n"));
}

/// Where the draws are not those of the reference posterior.
fn compare(draws: &Draws, reference: &Value) -> Vec<String> {
    let labels: Vec<String> = draws.labels().map(str::to_string).collect();
    let count = reference["reference_draws"].as_f64().expect("a number of draws");
    let mut faults = Vec::new();
    let summaries = reference["summary"].as_object().expect("summaries");
    assert!(!summaries.is_empty());
    for (quantity, want) in summaries {
        let number = |key: &str| want[key].as_f64().expect("a number");
        let index = labels.iter().position(|l| l == quantity).unwrap_or_else(|| panic!("`{quantity}` is not reported"));
        let chains = draws.element(index);
        assert_eq!((chains.len(), chains[0].len()), (CHAINS, draws.chains[0].len()), "{quantity}");
        let slices: Vec<&[f64]> = chains.iter().map(Vec::as_slice).collect();
        let squares: Vec<Vec<f64>> = chains.iter().map(|c| c.iter().map(|v| v * v).collect()).collect();
        let squared: Vec<&[f64]> = squares.iter().map(Vec::as_slice).collect();
        for (what, slices, mean, sd) in
            [("mean", &slices, "mean", "sd"), ("second moment", &squared, "mean_sq", "sd_sq")]
        {
            let checked = CheckedDraws::new(slices).expect("draws that can be judged");
            let found = checked.values().iter().sum::<f64>() / checked.values().len() as f64;
            let error = mcse_mean(&checked).expect("a Monte Carlo error").hypot(number(sd) / count.sqrt());
            let z = (found - number(mean)) / error;
            if z.is_nan() || z.abs() >= LARGEST_Z {
                faults.push(format!("{quantity}: {what} {found}, reference {} (z = {z:.2})", number(mean)));
            }
        }
        let summary = summarize(&slices);
        for (what, found) in [("q05", summary.q05), ("q95", summary.q95)] {
            let off = (found.expect("a quantile") - number(what)) / number("sd");
            if off.is_nan() || off.abs() >= QUANTILE {
                faults.push(format!("{quantity}: {what} {found:?}, reference {} ({off:.3} sd)", number(what)));
            }
        }
        if summary.r_hat.is_none_or(|r| r.is_nan() || r >= LARGEST_R_HAT) {
            faults.push(format!("{quantity}: R-hat {:?}", summary.r_hat));
        }
    }
    faults
}

#[test]
fn eight_schools_noncentered() {
    check("eight_schools_noncentered", &Choices { target_accept: 0.95, draws: 16_000, ..USUAL });
}

#[test]
fn mixture_of_two_normals() {
    check("low_dim_gauss_mix", &USUAL);
}

#[test]
fn kilpisjarvi() {
    check("kilpisjarvi", &DENSE);
}

#[test]
fn linear_regression_with_correlated_columns() {
    check("sblrc_blr", &USUAL);
}

#[test]
fn linear_regression_with_independent_columns() {
    check("sblri_blr", &USUAL);
}

#[test]
fn kidscore_interaction() {
    check("kidscore_interaction", &DENSE);
}

#[test]
fn autoregression_of_order_five() {
    check("ark", &USUAL);
}

#[test]
fn hidden_markov_model() {
    check("hmm_example", &USUAL);
}

#[test]
fn poisson_counts_on_a_gaussian_process() {
    check("gp_pois_regr", &Choices { target_accept: 0.95, ..USUAL });
}

#[test]
fn earnings_on_height() {
    check("earn_height", &DENSE);
}

#[test]
fn log_earnings_with_an_interaction() {
    check("logearn_interaction", &DENSE);
}

/// Five thousand rows and 24 nearly collinear columns: a minute or more.
#[test]
#[ignore = "long; run with --ignored"]
fn diamonds() {
    check("diamonds", &DENSE);
}

#[test]
fn eight_schools_noncentered_by_mams() {
    check("eight_schools_noncentered", &Choices { target_accept: 0.95, ..MAMS });
}

#[test]
fn kilpisjarvi_by_mams() {
    check("kilpisjarvi", &Choices { metric: Metric::LowRank, ..MAMS });
}

#[test]
fn linear_regression_with_correlated_columns_by_mams() {
    check("sblrc_blr", &MAMS);
}

#[test]
fn linear_regression_with_independent_columns_by_mams() {
    check("sblri_blr", &MAMS);
}

#[test]
fn kidscore_interaction_by_mams() {
    check("kidscore_interaction", &Choices { metric: Metric::LowRank, ..MAMS });
}

#[test]
fn linear_regression_from_pathfinder_starts() {
    check("sblrc_blr", &Choices { init: Init::Pathfinder, ..USUAL });
}

#[test]
fn low_rank_metrics_of_nuts() {
    check("kilpisjarvi", &LOW_RANK);
    check("sblrc_blr", &LOW_RANK);
}

/// A check that passes whatever is drawn would be worth nothing: draws of a slightly different model must fail it.
#[test]
fn another_posterior_fails_the_check() {
    let mut reference: Value = serde_json::from_str(&read("sblri_blr", "json")).expect("JSON");
    let text = read("sblri_blr", "msrm").replace("half_normal(10)", "half_normal(0.05)");
    let other = plan(&text, arrays(&reference["data"].to_string()));
    let settings = settings(&Choices { draws: 500, ..USUAL });
    let outcome = fit(&other, &settings, &AtomicBool::new(false), Reporting::Quiet).expect("a fit");
    let Outcome::Draws(draws) = outcome else { panic!("no draws") };
    let faults = compare(&draws, &reference);
    assert!(faults.iter().any(|f| f.starts_with("sigma: mean")), "{faults:?}");
    // The same draws against their own mean pass there.
    let index = draws.labels().position(|l| l == "sigma").expect("sigma");
    let chains = draws.element(index).concat();
    reference["summary"]["sigma"]["mean"] = (chains.iter().sum::<f64>() / chains.len() as f64).into();
    assert!(!compare(&draws, &reference).iter().any(|f| f.starts_with("sigma: mean")));
}
