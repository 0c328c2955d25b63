//! Expressions: every function and operator, products, positions, reductions.

use super::Case;
use msrm::math::op::Unary;
use msrm::model::functions::{FUNCTIONS, Kind};

/// Parameters of every shape; those in the second line are positive.
const PARAMETERS: &str = "\
param s
param v[J]
param m[K, J]
param q[J, 4]
param a > 0
param b > 0
param one[1] > 0
param u[J] > 0
param w[J] > 0
param p[K, J] > 0
param r[K, J] > 0
";

/// A case with the value `expression` of any shape.
fn value(expression: &str) -> Case {
    let body = format!("{PARAMETERS}let e = {expression}\ne ~ normal(0.3, 1.7)\nreport doubled = 2 * e");
    Case::new(expression, &body)
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = functions();
    cases.extend(operators());
    let listed: [&[&str]; 4] = [&SIGNS, &PRODUCTS, &POSITIONS, &REDUCED];
    cases.extend(listed.into_iter().flatten().map(|e| value(e)));
    cases
}

/// Where a function is smooth and finite.
fn domain(op: Unary) -> (f64, f64) {
    match op {
        Unary::Log | Unary::Sqrt | Unary::LnGamma | Unary::Digamma => (0.2, 5.0),
        Unary::Log1p => (-0.8, 3.0),
        Unary::Logit => (0.02, 0.98),
        Unary::Reciprocal => (0.3, 3.0),
        Unary::Tan => (-1.2, 1.2),
        _ => (-2.5, 2.5),
    }
}

/// Intervals far from zero, where a careless formula overflows or cancels.
fn tails(op: Unary) -> Option<(f64, f64)> {
    match op {
        Unary::Logistic | Unary::Log1pExp | Unary::Tanh => Some((-60.0, 60.0)),
        Unary::LogNormalCdf => Some((-40.0, -5.0)),
        Unary::Expm1 | Unary::Log1p | Unary::Erf => Some((-1e-3, 1e-3)),
        Unary::Log | Unary::Sqrt | Unary::LnGamma => Some((50.0, 5000.0)),
        Unary::Logit => Some((0.999, 0.9999)),
        _ => None,
    }
}

fn functions() -> Vec<Case> {
    let mut cases = Vec::new();
    for function in FUNCTIONS {
        let name = function.name;
        match function.kind {
            Kind::Elementwise(op) => {
                for (lo, hi) in [Some(domain(op)), tails(op)].into_iter().flatten() {
                    let inside = format!("in [{lo:?}, {hi:?}]");
                    let body = format!(
                        "param x {inside}\nparam y[J] {inside}\nparam z[K, J] {inside}\n\
                         let e = {name}(x) + sum({name}(y)) - mean({name}(z))\n\
                         e ~ normal(0.1, 1.2)\n{name}(y) ~ normal({name}(x), 0.9)\n{name}(z) ~ normal(0.2, 1.5)\n\
                         report of_scalar = {name}(x)\nreport of_vector = {name}(y)\nreport of_matrix = {name}(z)"
                    );
                    cases.push(Case::new(format!("{name} {inside}"), &body));
                }
            }
            Kind::Reduce(_) => {
                for inner in ["v", "m", "one", "v * s", "m[:, 2]", "transpose(q)", "real - v"] {
                    cases.push(value(&format!("{name}({inner}) * s")));
                }
            }
            Kind::Dot => {
                let pairs = ["v, u", "v, v", "v, real", "real, v", "2 * v, exp(v)", "one, one"];
                cases.extend(pairs.map(|pair| value(&format!("{name}({pair})"))));
            }
            Kind::Power => {
                let pairs =
                    ["a, s", "u, s", "a, v", "u, v", "p, m", "positive, v", "u, real", "s, 2", "a, -0.5", "one, one"];
                cases.extend(pairs.map(|pair| value(&format!("{name}({pair})"))));
            }
            Kind::Transpose => {
                let inner = ["m", "m * s", "matrix * s", "q", "transpose(m)", "tall @ m"];
                cases.extend(inner.map(|inner| value(&format!("{name}({inner})"))));
            }
        }
    }
    cases
}

/// Every operator between scalars, vectors and matrices, parameters and data, also with both sides the same.
fn operators() -> Vec<Case> {
    let groups: [&[&str]; 3] = [&["a", "b", "scalar", "1.7"], &["u", "w", "positive"], &["p", "r", "exp(matrix)"]];
    let known = ["scalar", "1.7", "positive", "exp(matrix)"];
    let mut cases = Vec::new();
    for operator in ["+", "-", "*", "/", "^"] {
        for (i, left_group) in groups.iter().enumerate() {
            for (j, right_group) in groups.iter().enumerate() {
                if i != j && i != 0 && j != 0 {
                    continue;
                }
                for left in *left_group {
                    for right in *right_group {
                        if !(known.contains(left) && known.contains(right)) {
                            cases.push(value(&format!("{left} {operator} {right}")));
                        }
                    }
                }
            }
        }
    }
    cases
}

/// Negative numbers, whole powers of them, constants, precedence, arrays of one element.
const SIGNS: [&str; 16] = [
    "-s",
    "-m",
    "-v ^ 2",
    "(-v) ^ 3",
    "s ^ 2 - v",
    "s ^ 1",
    "v ^ 0",
    "2 ^ -v",
    "pi * s / (1 + v ^ 2)",
    "s * pi - -v",
    "a / (a + u)",
    "(u + w) * (u - w) / u",
    "one * s + one ^ s",
    "one - one",
    "exp(-one) * a",
    "log(u) - log(sum(u))",
];

const PRODUCTS: [&str; 24] = [
    "m @ q",
    "m @ v",
    "v @ q",
    "v @ u",
    "v @ v",
    "matrix @ v",
    "matrix @ q",
    "m @ sq",
    "m @ real",
    "real @ q",
    "v @ sq",
    "v @ real",
    "real @ v",
    "m @ transpose(m)",
    "transpose(m) @ m",
    "transpose(m) @ matrix",
    "m @ sq @ q",
    "matrix @ (sq @ v)",
    "v @ sq @ v",
    "one @ one",
    "transpose(q) @ v",
    "tall @ m @ q",
    "tall @ p[:, 1]",
    "(s * sq) @ exp(v)",
];

const POSITIONS: [&str; 25] = [
    "v[2]",
    "v[three]",
    "v[K + 1]",
    "v[:]",
    "v[places]",
    "(v * s)[places]",
    "v[places] * v[places]",
    "v[pair]",
    "v[pair[2]]",
    "v[places[pair]]",
    "m[2, 3]",
    "m[K, three]",
    "m[1, :]",
    "m[:, 2]",
    "m[2]",
    "m[:, :]",
    "m[:, places]",
    "m[pair, :]",
    "m[pair]",
    "m[pair, columns]",
    "m[2, places]",
    "q[places, 4]",
    "m[:, places][2, 3]",
    "real[places] * s",
    "one[1] * v[1]",
];

/// Reductions inside larger expressions.
const REDUCED: [&str; 6] = [
    "v - mean(v)",
    "m / sum(square(m))",
    "exp(v - log_sum_exp(v))",
    "max(v) - min(v) + prod(u)",
    "mean(square(v - mean(v))) / (mean(square(v)) + square(a))",
    "log_sum_exp(400 * v) - log_sum_exp(v - 900)",
];
