//! `msrm eval` on plain models against densities written out here: value, terms, gradients, and refused points.

mod common {
    pub mod evaluation;
    pub mod program;
}

use common::evaluation::{Evaluated, Evaluator, Point, Support, check_gradients, close};
use common::program::data;
use serde_json::{Value, json};
use std::f64::consts::PI;

/// Rounding of a sum of a few hundred terms.
const ROUNDING: f64 = 1e-12;
/// Error of five-point differences of values printed in full.
const DIFFERENCES: f64 = 1e-8;

fn normal(x: f64, mean: f64, sd: f64) -> f64 {
    -0.5 * ((x - mean) / sd).powi(2) - sd.ln() - 0.5 * (2.0 * PI).ln()
}

fn half_normal(x: f64, sd: f64) -> f64 {
    2f64.ln() + normal(x, 0.0, sd)
}

fn half_cauchy(x: f64, scale: f64) -> f64 {
    (2.0 / (PI * scale * (1.0 + (x / scale).powi(2)))).ln()
}

fn bernoulli_logit(y: f64, eta: f64) -> f64 {
    let p = 1.0 / (1.0 + (-eta).exp());
    if y == 1.0 { p.ln() } else { (1.0 - p).ln() }
}

fn poisson_log(y: f64, eta: f64) -> f64 {
    let log_factorial: f64 = (1..=y as u64).map(|k| (k as f64).ln()).sum();
    y * eta - eta.exp() - log_factorial
}

/// The bundled data of a model.
fn arrays(name: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(data(name)).expect("data")).expect("JSON")
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().expect("an array").iter().map(|v| v.as_f64().expect("a number")).collect()
}

/// X times b.
fn product(x: &Value, b: &[f64]) -> Vec<f64> {
    let row = |r: &Value| numbers(r).iter().zip(b).map(|(x, b)| x * b).sum();
    x.as_array().expect("a matrix").iter().map(row).collect()
}

fn point(value: Value) -> Point {
    value.as_object().expect("an object").clone()
}

/// Asserts terms (in order), value and kind.
fn check(found: &Evaluated, expected: &[(&str, f64)]) {
    assert_eq!(found.kind(), "log_density");
    let terms = found.list("terms");
    assert_eq!(
        terms.iter().map(|t| t.0.as_str()).collect::<Vec<_>>(),
        expected.iter().map(|e| e.0).collect::<Vec<_>>()
    );
    for ((name, term), (_, value)) in terms.iter().zip(expected) {
        close(*term, *value, ROUNDING, name);
    }
    close(found.value(), expected.iter().map(|e| e.1).sum(), ROUNDING, "the value");
}

#[test]
fn eight_schools_centred_and_noncentred() {
    let given = arrays("eight_schools");
    let (y, sigma) = (numbers(&given["y"]), numbers(&given["sigma"]));
    let (mu, tau) = (1.5, 2.5);
    let theta = [1.0, -2.0, 3.5, 4.0, 0.5, 6.0, 12.0, 8.0];
    let raw = theta.map(|t| (t - mu) / tau);
    let likelihood: f64 = (0..8).map(|i| normal(y[i], theta[i], sigma[i])).sum();
    let priors = [("mu ~ normal", normal(mu, 0.0, 5.0)), ("tau ~ half_cauchy", half_cauchy(tau, 5.0))];

    let centred = Evaluator::new("eight_schools_centered");
    let at = point(json!({ "mu": mu, "tau": tau, "theta": theta }));
    let effects = theta.iter().map(|t| normal(*t, mu, tau)).sum();
    check(&centred.at(&at), &[priors[0], priors[1], ("theta ~ normal", effects), ("y ~ normal", likelihood)]);
    let names = [("mu", Support::REAL), ("tau", Support::POSITIVE), ("theta", Support::REAL)];
    check_gradients(&centred, &at, &names, DIFFERENCES);

    let noncentred = Evaluator::new("eight_schools");
    let effects = raw.iter().map(|r| normal(*r, 0.0, 1.0)).sum();
    let expected = [priors[0], priors[1], ("theta_raw ~ normal", effects), ("y ~ normal", likelihood)];
    check(&noncentred.at(&at), &expected);
    let at = point(json!({ "mu": mu, "tau": tau, "theta_raw": raw }));
    check(&noncentred.at(&at), &expected);
    let names = [("mu", Support::REAL), ("tau", Support::POSITIVE), ("theta_raw", Support::REAL)];
    check_gradients(&noncentred, &at, &names, DIFFERENCES);
}

#[test]
fn funnels_and_a_standard_normal() {
    let x = [0.5, -1.0, 2.0, 0.0, 0.25, -3.0, 1.0, 1.5, -0.125];
    let v: f64 = 1.25;
    let sd = (v / 2.0).exp();
    let prior = ("v ~ normal", normal(v, 0.0, 3.0));
    let centred = Evaluator::new("funnel_centered");
    let at = point(json!({ "v": v, "x": x }));
    check(&centred.at(&at), &[prior, ("x ~ normal", x.iter().map(|x| normal(*x, 0.0, sd)).sum())]);
    check_gradients(&centred, &at, &[("v", Support::REAL), ("x", Support::REAL)], DIFFERENCES);
    let noncentred = Evaluator::new("funnel");
    let raw = ("x_raw ~ normal", x.iter().map(|x| normal(x / sd, 0.0, 1.0)).sum());
    check(&noncentred.at(&at), &[prior, raw]);
    let ten = [0.5, -1.0, 2.0, 0.0, 0.25, -3.0, 1.0, 1.5, -0.125, 4.0];
    let standard = Evaluator::new("std_normal");
    check(&standard.at(&point(json!({ "x": ten }))), &[("x ~ normal", ten.iter().map(|x| normal(*x, 0.0, 1.0)).sum())]);
}

#[test]
fn regressions() {
    let given = arrays("linear_regression");
    let (x, y) = (numbers(&given["x"]), numbers(&given["y"]));
    let (alpha, beta, sigma) = (0.75, -1.5, 1.25);
    let evaluator = Evaluator::new("linear_regression");
    let at = point(json!({ "alpha": alpha, "beta": beta, "sigma": sigma }));
    let likelihood = x.iter().zip(&y).map(|(x, y)| normal(*y, alpha + beta * x, sigma)).sum();
    check(
        &evaluator.at(&at),
        &[
            ("alpha ~ normal", normal(alpha, 0.0, 10.0)),
            ("beta ~ normal", normal(beta, 0.0, 5.0)),
            ("sigma ~ half_normal", half_normal(sigma, 5.0)),
            ("y ~ normal", likelihood),
        ],
    );
    let names = [("alpha", Support::REAL), ("beta", Support::REAL), ("sigma", Support::POSITIVE)];
    check_gradients(&evaluator, &at, &names, DIFFERENCES);

    let given = arrays("glm_logistic");
    let y = numbers(&given["y"]);
    let beta = [0.5, -0.75, 0.25];
    let evaluator = Evaluator::new("glm_logistic");
    let at = point(json!({ "beta": beta }));
    let likelihood = product(&given["X"], &beta).iter().zip(&y).map(|(eta, y)| bernoulli_logit(*y, *eta)).sum();
    let prior = beta.iter().map(|b| normal(*b, 0.0, 1.0)).sum();
    check(&evaluator.at(&at), &[("beta ~ normal", prior), ("y ~ bernoulli_logit", likelihood)]);
    check_gradients(&evaluator, &at, &[("beta", Support::REAL)], DIFFERENCES);

    let given = arrays("glm_poisson");
    let (y, exposure) = (numbers(&given["y"]), numbers(&given["exposure"]));
    let (alpha, beta) = (0.5, [0.25, -0.125]);
    let eta = product(&given["X"], &beta);
    let evaluator = Evaluator::new("glm_poisson");
    let at = point(json!({ "alpha": alpha, "beta": beta }));
    let likelihood = (0..y.len()).map(|i| poisson_log(y[i], alpha + eta[i] + exposure[i].ln())).sum();
    let prior = beta.iter().map(|b| normal(*b, 0.0, 1.0)).sum();
    let alpha = ("alpha ~ normal", normal(alpha, 0.0, 2.0));
    check(&evaluator.at(&at), &[alpha, ("beta ~ normal", prior), ("y ~ poisson_log", likelihood)]);
    check_gradients(&evaluator, &at, &[("alpha", Support::REAL), ("beta", Support::REAL)], DIFFERENCES);
}

#[test]
fn varying_intercepts() {
    let given = arrays("varying_intercepts");
    let (group, x, y) = (numbers(&given["group"]), numbers(&given["x"]), numbers(&given["y"]));
    let (mu, tau, beta, sigma) = (0.5, 0.75, 0.25, 1.5);
    let alpha: Vec<f64> = (0..12).map(|i| 0.5 * f64::from(i) - 2.0).collect();
    let raw: Vec<f64> = alpha.iter().map(|a| (a - mu) / tau).collect();
    let likelihood = (0..y.len()).map(|i| normal(y[i], alpha[group[i] as usize - 1] + beta * x[i], sigma)).sum();
    let expected = [
        ("mu ~ normal", normal(mu, 0.0, 5.0)),
        ("tau ~ half_normal", half_normal(tau, 2.0)),
        ("alpha_raw ~ normal", raw.iter().map(|r| normal(*r, 0.0, 1.0)).sum()),
        ("beta ~ normal", normal(beta, 0.0, 2.0)),
        ("sigma ~ half_normal", half_normal(sigma, 2.0)),
        ("y ~ normal", likelihood),
    ];
    let evaluator = Evaluator::new("varying_intercepts");
    check(
        &evaluator.at(&point(json!({ "mu": mu, "tau": tau, "alpha": alpha, "beta": beta, "sigma": sigma }))),
        &expected,
    );
    let at = point(json!({ "mu": mu, "tau": tau, "alpha_raw": raw, "beta": beta, "sigma": sigma }));
    check(&evaluator.at(&at), &expected);
    let names = [
        ("mu", Support::REAL),
        ("tau", Support::POSITIVE),
        ("alpha_raw", Support::REAL),
        ("beta", Support::REAL),
        ("sigma", Support::POSITIVE),
    ];
    check_gradients(&evaluator, &at, &names, DIFFERENCES);
}

#[test]
fn elements_may_be_named_one_by_one() {
    let evaluator = Evaluator::new("eight_schools");
    let whole = point(json!({ "mu": 1, "tau": 2, "theta_raw": [1, 2, 3, 4, 5, 6, 7, 8] }));
    let found = evaluator.at(&whole);
    for prefix in ["theta", "theta_raw"] {
        let mut single = point(json!({ "mu": 1, "tau": 2 }));
        for i in 1..=8 {
            let value = if prefix == "theta" { 1 + 2 * i } else { i };
            single.insert(format!("{prefix}[{i}]"), json!(value));
        }
        assert_eq!(evaluator.at(&single).value(), found.value(), "{prefix}");
    }
}

#[test]
fn points_that_do_not_fit_are_refused() {
    let schools = Evaluator::new("eight_schools");
    let theta = [1, 2, 3, 4, 5, 6, 7, 8];
    schools.refuses(json!({ "tau": 2, "theta": theta }), &["the point lacks `mu`"]);
    schools.refuses(json!({ "mu": 1, "tau": 2 }), &["the point lacks `theta`", "`theta_raw`"]);
    schools.refuses(json!({ "mu": 1, "tau": 2, "theta[1]": 1 }), &["the point lacks `theta`"]);
    schools.refuses(json!({ "mu": 1, "tau": 2, "theta": theta, "nu": 3 }), &["`nu`", "no parameter", "mu, tau, theta"]);
    schools.refuses(json!({ "mu": 1, "tau": 2, "theta": theta, "y": 3 }), &["`y`", "no parameter"]);
    schools.refuses(json!({ "mu": 1, "tau": 2, "theta": [1, 2, 3] }), &["`theta`", "[3]", "[8]"]);
    schools.refuses(json!({ "mu": [1, 2], "tau": 2, "theta": theta }), &["`mu`", "[2]", "[]"]);
    for tau in [0, -1] {
        let point = json!({ "mu": 1, "tau": tau, "theta": theta });
        schools.refuses(point, &["tau", &tau.to_string(), "strictly between its bounds", "0", "inf"]);
    }
    schools.refuses(json!({ "mu": null, "tau": 2, "theta": theta }), &["point.json, line 1", "mu", "null"]);
    schools.refuses(json!([1, 2]), &["point.json, line 1", "one object"]);
    // Two forms of one parameter could contradict each other.
    schools.refuses(json!({ "mu": 1, "tau": 2, "theta": theta, "theta_raw": theta }), &["`theta`", "`theta_raw`"]);
    schools.refuses(json!({ "mu": 1, "tau": 2, "theta": theta, "theta[1]": 5 }), &["`theta`", "`theta[1]`"]);
}
