//! Constrained parameters from end to end: points in both forms, modes that know no Jacobian, draws from priors whose
//! moments are known, and data that do not fit their distributions.

mod common {
    pub mod arrays;
    pub mod plan;
}

use common::arrays::arrays;
use common::plan::plan;
use msrm::archive::{Method, Outcome, Settings};
use msrm::base::Source;
use msrm::bind::{BindOptions, Input, Plan, bind};
use msrm::data::{Arrays, parse_arrays};
use msrm::model::check_text;
use msrm::run::{Evaluation, Reporting, evaluate_at, fit};
use std::path::Path;
use std::sync::atomic::AtomicBool;

fn named(json: &str) -> Arrays {
    parse_arrays(Path::new("point.json"), json.as_bytes()).expect("a point")
}

fn at(plan: &Plan, json: &str) -> Evaluation {
    evaluate_at(plan, &named(json)).unwrap_or_else(|e| panic!("{json}: {e}"))
}

fn refusal(plan: &Plan, json: &str) -> String {
    evaluate_at(plan, &named(json)).err().unwrap_or_else(|| panic!("{json} is taken")).to_string()
}

fn close(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance * b.abs().max(1.0)
}

const ALL: &str = "model all\nparam w[3] : simplex ~ dirichlet(2)\nparam c[2] : ordered ~ normal(0, 1)\n\
                   param L[2, 2] : corr_cholesky ~ lkj_cholesky(1)\nparam a in [0, 1]\nparam b in [0, 1 - a]\nparam d > a ~ normal(0, 1)";
const POINT: &str =
    r#"{"w": [0.2, 0.3, 0.5], "c": [-1, 0.5], "L": [[1, 0], [0.6, 0.8]], "a": 0.25, "b": 0.5, "d": 1.25}"#;

#[test]
fn a_point_is_the_same_in_both_forms() {
    let plan = plan(ALL, Input::None);
    let found = at(&plan, POINT);
    let names: Vec<&str> = found.unconstrained.iter().map(|n| n.name.as_str()).collect();
    let wanted = ["w_free[1]", "w_free[2]", "c_free[1]", "c_free[2]", "L_free[2,1]", "a", "b_free", "d_free"];
    assert_eq!(names, wanted);
    // 0.2 0.3 0.5 in isometric log ratios; atanh(0.6) = log(2); 0.5 of [0, 0.75]; log of the gaps.
    let ratios = [(0.2f64 / 0.3).ln() / 2f64.sqrt(), (0.06f64 / 0.25).ln() / 6f64.sqrt()];
    let free = [ratios[0], ratios[1], -1.0, 1.5f64.ln(), 2f64.ln(), (1f64 / 3.0).ln(), 2f64.ln(), 0.0];
    for (found, wanted) in found.unconstrained.iter().zip(free) {
        assert!(close(found.value, wanted, 1e-14), "{}: {} {wanted}", found.name, found.value);
    }
    // Density of the parameters as written, without any Jacobian.
    let normal = |x: f64| -0.5 * x * x - 0.5 * (2.0 * std::f64::consts::PI).ln();
    // Gamma(6) / Gamma(2)^3, and the length 2 of the only row of a correlation.
    let density = (120.0f64 * 0.03).ln() + normal(-1.0) + normal(0.5) - 2f64.ln() + normal(1.25);
    assert!(close(found.value, density, 1e-13), "{} {density}", found.value);
    let jacobian = 0.5 * 3f64.ln() + 0.03f64.ln()          // w
        + 1.5f64.ln()                                      // c
        + 0.64f64.ln()                                     // L
        + (0.25f64 * 0.75).ln()                            // a
        + (0.5f64 * 0.25 / 0.75).ln()                      // b
        + 1f64.ln(); // d
    assert!(close(found.log_jacobian, jacobian, 1e-13), "{} {jacobian}", found.log_jacobian);
    let free = format!(
        r#"{{"w_free": [{}, {}], "c_free": [{}, {}], "L_free": [{}], "a": 0.25, "b_free": {}, "d_free": {}}}"#,
        free[0], free[1], free[2], free[3], free[4], free[6], free[7]
    );
    let again = at(&plan, &free);
    assert!(close(again.value, found.value, 1e-13) && close(again.log_jacobian, found.log_jacobian, 1e-13));
    let by_element = POINT.replace(r#""w": [0.2, 0.3, 0.5]"#, r#""w[1]": 0.2, "w[2]": 0.3, "w[3]": 0.5"#);
    assert_eq!(at(&plan, &by_element).value, found.value);
}

#[test]
fn points_that_break_a_constraint_are_refused() {
    let plan = plan(ALL, Input::None);
    for (from, to, part) in [
        ("[0.2, 0.3, 0.5]", "[0.2, 0.3, 0.6]", "`w` is not `simplex`: the elements sum to 1.1"),
        ("[0.2, 0.3, 0.5]", "[0.2, 0.8]", "`w` has shape [2] in the point"),
        ("[-1, 0.5]", "[0.5, -1]", "`c` is not `ordered`: -1 follows 0.5"),
        ("[0.6, 0.8]", "[0.6, 0.6]", "`L` is not `corr_cholesky`: row 2 has length"),
        (r#""b": 0.5"#, r#""b": 0.8"#, "b = 0.8 is not strictly between its bounds 0 and 0.75"),
        (r#""d": 1.25"#, r#""d": 0.25"#, "d = 0.25 is not strictly between its bounds 0.25 and inf"),
        (r#""w": [0.2, 0.3, 0.5], "#, "", "the point lacks `w` (or its free form `w_free`)"),
        (r#""d": 1.25"#, r#""d": 1.25, "d_free": 0"#, "two forms of one parameter"),
    ] {
        assert!(POINT.contains(from));
        let message = refusal(&plan, &POINT.replace(from, to));
        assert!(message.contains(part), "{message}");
    }
}

fn settings(method: Method) -> Settings {
    Settings {
        method,
        seed: 3,
        draws: 4000,
        target_accept: 0.9,
        starts: 3,
        max_iterations: 1000,
        standard_errors: true,
        ..Settings::default()
    }
}

#[test]
fn modes_are_those_of_the_density_as_written() {
    let text = "model modes\ndata a : real[3]\nparam w[3] : simplex ~ dirichlet(a)\nparam c[2] : ordered\nparam top\nparam under < top ~ normal(-1, 0.5)\n\
                c[1] ~ normal(-1, 1)\nc[2] ~ normal(2, 0.5)\ntop ~ normal(3, 1)";
    let plan = plan(text, arrays(r#"{"a": [3, 2, 6]}"#));
    let outcome = fit(&plan, &settings(Method::Map), &AtomicBool::new(false), Reporting::Quiet).expect("a fit");
    let Outcome::Mode(mode) = outcome else { panic!("no mode") };
    assert!(mode.restarts[mode.best].converged, "{:?}", mode.restarts);
    // (alpha - 1) / (sum(alpha) - 3), and the centres of the normals.
    let wanted = [2.0 / 8.0, 1.0 / 8.0, 5.0 / 8.0, -1.0, 2.0, 3.0, -1.0];
    for (found, wanted) in mode.values.iter().zip(wanted) {
        assert!(close(*found, wanted, 1e-5), "{:?}", mode.values);
    }
    // Where the normals are, the errors are their standard deviations.
    let errors = mode.standard_errors.expect("standard errors");
    for (i, sd) in [(3, 1.0), (4, 0.5), (5, 1.0), (6, 0.5)] {
        assert!(close(errors[i].expect("an error"), sd, 1e-3), "{errors:?}");
    }
}

#[test]
fn draws_of_priors_have_their_moments() {
    let text = "model priors\ndata a : real[3]\nparam w[3] : simplex ~ dirichlet(a)\nparam flat[3] : simplex\nparam c[3] : ordered ~ normal(0, 1)\n\
                param L[3, 3] : corr_cholesky ~ lkj_cholesky(1.5)\nparam u in [0, 1]\nparam v in [0, u]\n\
                report r = L @ transpose(L)\nreport r2 = square(r[3, 2])\nreport v2 = v / u";
    let plan = plan(text, arrays(r#"{"a": [3, 0.8, 2]}"#));
    let outcome = fit(&plan, &settings(Method::Nuts), &AtomicBool::new(false), Reporting::Quiet).expect("a fit");
    let Outcome::Draws(draws) = outcome else { panic!("no draws") };
    let labels: Vec<String> = draws.labels().map(str::to_string).collect();
    let normal_order = 3.0 / (2.0 * std::f64::consts::PI.sqrt());
    // A correlation of an LKJ matrix of size 3 is 2 B - 1 with B ~ beta(eta + 1/2, eta + 1/2): variance 1 / (2 eta + 2).
    for (label, mean, sd) in [
        ("w[1]", 3.0 / 5.8, 0.192),
        ("w[2]", 0.8 / 5.8, 0.133),
        ("flat[2]", 1.0 / 3.0, 0.236),
        ("c[1]", -normal_order, 0.748),
        ("c[2]", 0.0, 0.67),
        ("c[3]", normal_order, 0.748),
        ("r[2,1]", 0.0, 0.447),
        ("r[3,1]", 0.0, 0.447),
        ("r2", 0.2, 0.21),
        // Flat over the triangle 0 < v < u < 1.
        ("u", 2.0 / 3.0, 0.236),
        ("v2", 0.5, 0.289),
    ] {
        let index = labels.iter().position(|l| l == label).unwrap_or_else(|| panic!("no {label} in {labels:?}"));
        let all: Vec<f64> = draws.element(index).concat();
        let found = all.iter().sum::<f64>() / all.len() as f64;
        // A tenth of the draws count as independent.
        let error = sd / (all.len() as f64 / 10.0).sqrt();
        assert!((found - mean).abs() < 4.0 * error, "{label}: {found}, expected {mean} +- {error}");
    }
}

fn refused_data(text: &str, json: &str) -> String {
    let source = Source::new("m.msrm", format!("model m\n{text}\n"));
    let model = check_text(&source).unwrap_or_else(|e| panic!("{}", msrm::base::render(&source, &e)));
    let found = bind(model, source, arrays(json), BindOptions::default());
    found.err().unwrap_or_else(|| panic!("{json} is taken")).to_string()
}

#[test]
fn data_that_no_draw_can_be_are_refused() {
    for (text, json, parts) in [
        (
            "data y : int[2]\nparam w[3] : simplex\nobserve y ~ categorical(w)",
            r#"{"y": [1, 4]}"#,
            ["`categorical` has no such outcome", "a category from 1 to 3", "y[2] = 4"],
        ),
        (
            "data y : int\nparam c[3] : ordered\nobserve y ~ ordered_logistic(0, c)",
            r#"{"y": 0}"#,
            ["`ordered_logistic` has no such outcome", "a category from 1 to 4", "y = 0"],
        ),
        (
            "data y : int[2, 3]\nparam w[3] : simplex\nobserve y ~ multinomial(4, w)",
            r#"{"y": [[1, 1, 2], [1, 1, 1]]}"#,
            ["must sum to `n`", "expected: 4", "row 2 sums to 3"],
        ),
        (
            "data y : int[3]\nparam w[3] : simplex\nobserve y ~ multinomial(1, w)",
            r#"{"y": [1, 1, -1]}"#,
            ["`multinomial` has no such outcome", "a count, 0 or more", "y[3] = -1"],
        ),
        (
            "data K : int\ndata y : real[2]\nparam w[K] : simplex\nobserve y ~ mixture(w, normal(0, 1), normal(1, 1))",
            r#"{"K": 3, "y": [1, 2]}"#,
            ["not as many weights as components", "2 weights", "3 with these data"],
        ),
        (
            "data y : real[2]\ndata lost : int[2]\nparam a\nobserve y ~ normal(a, 1) censored above where lost",
            r#"{"y": [1, 2], "lost": [0, 2]}"#,
            ["a mark of a censored value is 0 or 1", "found: 2", "int[N] in [0, 1]"],
        ),
        ("data K : int\nparam w[K] : simplex", r#"{"K": 0}"#, ["`w` has no elements", "simplex", "[0]"]),
    ] {
        let text = if text.contains('~') { text.to_string() } else { format!("{text}\nparam x ~ normal(0, 1)") };
        let message = refused_data(&text, json);
        for part in parts {
            assert!(message.contains(part), "{message}\nlacks `{part}`");
        }
    }
}
