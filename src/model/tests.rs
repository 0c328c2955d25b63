//! The typing rules, one table each: shapes of expressions, bounds of parameters, the tables of names.

use super::functions::{FUNCTIONS, Kind};
use super::*;
use crate::base::{Code, Source, render};
use crate::math::dist::{DISTRIBUTIONS, Domain, Support};

/// Declarations that the expressions below may use.
const DECLARED: &str = "model m\ndata N : int\ndata P : int\ndata n : int\ndata g : int[N]\ndata x : real[N]\n\
                        data X : real[N, P]\nparam s ~ normal(0, 1)\nparam v[N] ~ normal(0, 1)\n\
                        param b[P] ~ normal(0, 1)\nparam M[P, 3] ~ normal(0, 1)\n";

fn model(text: &str) -> Model {
    let source = Source::new("m.msrm", text);
    check_text(&source).unwrap_or_else(|errors| panic!("{}", render(&source, &errors)))
}

fn codes(text: &str) -> Vec<Code> {
    check_text(&Source::new("m.msrm", text)).map_or_else(|e| e.iter().map(|d| d.code).collect(), |_| vec![])
}

/// The type of an expression over `DECLARED`.
fn typed(expression: &str) -> Typed {
    let last = model(&format!("{DECLARED}let q = {expression}\n")).statements.pop();
    match last {
        Some(Statement::Let { value, .. }) => value,
        other => panic!("{expression}: {other:?}"),
    }
}

/// The parameter that a line declares.
fn parameter(line: &str) -> Param {
    let statements = model(&format!("model m\ndata a : real\n{line}\n")).statements;
    statements
        .into_iter()
        .find_map(|s| match s {
            Statement::Param(p) => Some(p),
            _ => None,
        })
        .unwrap_or_else(|| panic!("{line} declares no parameter"))
}

fn ends(line: &str) -> (Option<f64>, Option<f64>) {
    let param = parameter(line);
    let value = |t: &Option<Typed>| t.as_ref().and_then(super::declare::literal);
    (value(&param.lower), value(&param.upper))
}

#[test]
fn shapes_of_every_form_of_expression() {
    for (expression, shape) in [
        ("1", "a scalar"),
        ("pi", "a scalar"),
        ("s", "a scalar"),
        ("v", "[N]"),
        ("-v", "[N]"),
        ("s + v", "[N]"),
        ("v / s", "[N]"),
        ("v * x", "[N]"),
        ("2 ^ X", "[N, P]"),
        ("pow(v, 2)", "[N]"),
        ("exp(M)", "[P, 3]"),
        ("X @ b", "[N]"),
        ("X @ M", "[N, 3]"),
        ("v @ X", "[P]"),
        ("v @ x", "a scalar"),
        ("dot(v, x)", "a scalar"),
        ("transpose(X)", "[P, N]"),
        ("transpose(X) @ v", "[P]"),
        ("sum(X)", "a scalar"),
        ("v[1]", "a scalar"),
        ("v[n]", "a scalar"),
        ("v[n + 1]", "a scalar"),
        ("b[g]", "[N]"),
        ("v[:]", "[N]"),
        ("M[2]", "[3]"),
        ("M[:, 2]", "[P]"),
        ("M[g, 2]", "[N]"),
        ("M[g]", "[N, 3]"),
        ("M[g, g]", "[N, N]"),
        ("M[g][1, 2]", "a scalar"),
    ] {
        assert_eq!(describe_shape(&typed(expression).shape), shape, "{expression}");
    }
}

#[test]
fn whole_numbers_and_data_are_tracked() {
    for (expression, integer, data_only) in [
        ("1", true, true),
        ("1.0", false, true),
        ("n", true, true),
        ("n + 1", true, true),
        ("n * g", true, true),
        ("n / 2", false, true),
        ("n ^ 2", false, true),
        ("-n", true, true),
        ("abs(n)", true, true),
        ("exp(n)", false, true),
        ("sum(g)", true, true),
        ("mean(g)", false, true),
        ("g[1]", true, true),
        ("n + s", false, false),
        ("x", false, true),
        ("x + v", false, false),
        ("X @ b", false, false),
    ] {
        let t = typed(expression);
        assert_eq!((t.integer, t.data_only), (integer, data_only), "{expression}");
    }
}

#[test]
fn a_parameter_takes_the_tightest_bounds_of_declaration_support_and_truncation() {
    for (line, lower, upper) in [
        ("param p ~ normal(0, 1)", None, None),
        ("param p ~ lognormal(0, 1)", Some(0.0), None),
        ("param p ~ beta(1, 1)", Some(0.0), Some(1.0)),
        ("param p ~ uniform(-2, 3)", Some(-2.0), Some(3.0)),
        ("param p > 0 ~ normal(0, 1)", Some(0.0), None),
        ("param p > 0.5 ~ gamma(2, 1)", Some(0.5), None),
        ("param p in [0.1, 0.9] ~ beta(1, 1)", Some(0.1), Some(0.9)),
        ("param p ~ normal(0, 1) in [-1, inf]", Some(-1.0), None),
        ("param p ~ normal(0, 1) in [-inf, 2]", None, Some(2.0)),
        ("param p ~ lognormal(0, 1) in [-5, 2]", Some(0.0), Some(2.0)),
        ("param p ~ uniform(0, 1) in [0.5, 2]", Some(0.5), Some(1.0)),
        ("param p < 1 ~ normal(0, 1) in [-3, 2]", Some(-3.0), Some(1.0)),
    ] {
        assert_eq!(ends(line), (lower, upper), "{line}");
    }
}

#[test]
fn bounds_from_the_data_are_left_to_the_binder() {
    let lower = parameter("param p > a ~ lognormal(0, 1)").lower.map(|t| t.kind);
    assert!(matches!(lower, Some(TypedKind::Reduce(Reduction::Maximum, _))), "{lower:?}");
    let upper = parameter("param p ~ beta(1, 1) in [0, a]").upper.map(|t| t.kind);
    assert!(matches!(upper, Some(TypedKind::Reduce(Reduction::Minimum, _))), "{upper:?}");
}

#[test]
fn bounds_that_cannot_hold_are_refused() {
    for line in [
        "param p in [1, 0]",
        "param p > -1 ~ lognormal(0, 1)",
        "param p > 2 ~ beta(1, 1)",
        "param p ~ lognormal(0, 1) in [-3, -1]",
        "param p ~ normal(0, 1) in [2, 2]",
        "param p > 3 ~ normal(0, 1) in [0, 2]",
        "param p > -1 ~ normal(0, 1) in [0, 2]",
    ] {
        assert_eq!(codes(&format!("model m\n{line}\n")), [Code::Bounds], "{line}");
    }
}

#[test]
fn noncentered_replaces_the_density_and_keeps_no_bounds() {
    let text = "model m\nparam s ~ half_normal(1)\nparam t[3] ~ student_t(4, 1, s) noncentered\n";
    let statements = model(text).statements;
    let densities = statements.iter().filter(|s| matches!(s, Statement::Density { .. })).count();
    assert_eq!(densities, 1, "only the prior of s");
    let Some(Statement::Param(t)) = statements.last() else { panic!("{statements:?}") };
    assert_eq!((&t.lower, &t.upper), (&None, &None));
    assert_eq!(t.noncentered.as_ref().map(|d| d.family.as_str()), Some("student_t"));
}

#[test]
fn an_error_in_a_declaration_is_reported_once() {
    let text = "model m\ndata y : real[M]\nparam t[M] ~ normal(0, nosuch)\nlet q = t @ y + exp(t)\nreport r = q * 2\n\
                observe y ~ normal(t, r)\n";
    assert_eq!(codes(text), [Code::UnknownName, Code::UnknownName]);
}

#[test]
fn every_function_can_be_used() {
    for f in FUNCTIONS {
        let call = match f.kind {
            Kind::Elementwise(_) => format!("{}(v)", f.name),
            Kind::Reduce(_) | Kind::Transpose => format!("{}(X)", f.name),
            Kind::Dot | Kind::Pairwise(_) => format!("{}(v, x)", f.name),
            // With arguments that stand for themselves in the table.
            Kind::Array(_) | Kind::LogDet | Kind::QuadForm | Kind::AddDiag => {
                let arguments = f.arguments.split(", ").filter(|a| *a != "...").map(|a| match (a, f.name) {
                    ("x" | "b", "softmax" | "log_softmax" | "solve_lower" | "solve_lower_t") => "X",
                    ("A" | "L", _) => "X @ transpose(X)",
                    ("B", _) => "X",
                    ("a", "log_matmul") => "transpose(X)",
                    ("a" | "b", "rep" | "range" | "linspace") | ("sd" | "length" | "period", _) => "2",
                    ("n", _) => "3",
                    ("c", _) => "x > 0",
                    _ => "x",
                });
                let arguments: Vec<&str> = arguments.collect();
                format!("{}({})", f.name, arguments.join(", "))
            }
        };
        typed(&call);
        assert!(!f.doc.is_empty(), "{}", f.name);
    }
}

#[test]
fn every_distribution_can_be_used() {
    for d in DISTRIBUTIONS {
        let constants: Vec<&str> = d
            .arguments
            .iter()
            .enumerate()
            .map(|(i, a)| match a.domain {
                Domain::NonNegativeInteger => "n",
                Domain::Probability | Domain::Proportion => "0.5",
                // The end of a support that starts at an argument lies below the truncation.
                Domain::Positive if i == 0 && d.support == Support::AboveArgument => "0.25",
                Domain::Real if i == 0 => "0.1",
                Domain::Real | Domain::Positive => "2.5",
            })
            .collect();
        let call = format!("{}({})", d.name, constants.join(", "));
        let observed = if d.support.is_integer() { "g" } else { "x" };
        model(&format!("{DECLARED}observe {observed} ~ {call}\n"));
        if d.support.is_integer() {
            assert_eq!(codes(&format!("{DECLARED}param k ~ {call}\n")), [Code::Type], "{}", d.name);
            continue;
        }
        let prior = model(&format!("{DECLARED}param k ~ {call}\n"));
        let bounds = prior.statements.iter().rev().find_map(|s| match s {
            Statement::Param(p) => Some((p.lower.is_some(), p.upper.is_some())),
            _ => None,
        });
        let expected = match d.support {
            Support::Real => (false, false),
            Support::Positive | Support::NonNegative | Support::AboveArgument => (true, false),
            _ => (true, true),
        };
        assert_eq!(bounds, Some(expected), "{}", d.name);
        model(&format!("{DECLARED}param k ~ {call} in [0.5, 0.75]\n"));
        let noncentered = codes(&format!("{DECLARED}param k ~ {call} noncentered\n"));
        assert_eq!(noncentered.is_empty(), d.location_scale, "{}", d.name);
    }
}
