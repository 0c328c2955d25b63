//! Expressions: every function and operator, products, positions, reductions.

use super::Case;
use msrm::math::op::{Binary, Unary};
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
    let listed: [&[&str]; 7] = [&SIGNS, &PRODUCTS, &POSITIONS, &REDUCED, &RANGES, &ARRAYS, &MATRICES];
    cases.extend(listed.into_iter().flatten().map(|e| value(e)));
    cases
}

/// Where a function is smooth and finite.
fn domain(op: Unary) -> (f64, f64) {
    match op {
        Unary::Log | Unary::Sqrt | Unary::LnGamma | Unary::Digamma => (0.2, 5.0),
        Unary::Log1p => (-0.8, 3.0),
        Unary::Logit | Unary::NormalQuantile => (0.02, 0.98),
        Unary::Log1m => (-3.0, 0.8),
        Unary::Log1mExp => (-4.0, -0.05),
        Unary::Step => (0.5, 2.0),
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
        Unary::Logit | Unary::NormalQuantile => Some((0.999, 0.9999)),
        Unary::Log1m => Some((-1e-3, 1e-3)),
        Unary::Log1mExp => Some((-60.0, -1.0)),
        Unary::Step => Some((-2.0, -0.5)),
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
            Kind::Pairwise(Binary::LnBeta) => {
                let pairs = ["a, b", "u, a", "a, u", "u, w", "p, r", "positive, u", "u, 2", "0.5, a", "one, one"];
                cases.extend(pairs.map(|pair| value(&format!("{name}({pair})"))));
            }
            Kind::Pairwise(_) => {
                let pairs =
                    ["a, s", "u, s", "a, v", "u, v", "p, m", "positive, v", "u, real", "s, 2", "a, -0.5", "one, one"];
                cases.extend(pairs.map(|pair| value(&format!("{name}({pair})"))));
            }
            // Listed below, with the shapes each can take.
            Kind::Array(_) | Kind::LogDet | Kind::QuadForm | Kind::AddDiag => {}
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

/// Parts of an axis; sizes written in other orders are the same size.
const RANGES: [&str; 14] = [
    "v[2:3]",
    "v[:2]",
    "v[2:]",
    "v[2:J]",
    "v[:J - 1] - v[2:]",
    "v[K:three - 1] * s",
    "v[1 + 1:J] + u[2:J]",
    "m[:, 2:3]",
    "m[1:1, :]",
    "m[2, 1:2]",
    "q[2:3, places]",
    "v[3:2]",
    "(v * s)[2:3][1]",
    "append(v[2:], v[:1])",
];

/// Arrays made of others.
const ARRAYS: [&str; 45] = [
    "[s, 2, a]",
    "[v, u, real]",
    "[s]",
    "[v[1], v[3], v[1]]",
    "[[s, a], [1, b]]",
    "append(v, u)",
    "append(v, s)",
    "append(s, v, 0, real)",
    "append(none, v)",
    "append(m, p)",
    "append(matrix, 2 * m, m)",
    "where(real > 0, v, u)",
    "where(real > 0, v, s)",
    "where(real <= 0.4, s, v * u)",
    "where(scalar > 1, v, u)",
    "where(scalar == 0.8, v, s)",
    "where(counts != 3, v, real)",
    "where(matrix >= 0.5, m, p)",
    "where(binary, v, -v)",
    "where(real < 0, s, a)",
    "min(v, u)",
    "max(s, v) + min(a, 1)",
    "max(real, v)",
    "min(m, 0.1)",
    "sum(m, axis = 1)",
    "sum(m, axis = 2)",
    "mean(m, axis = 1) * v",
    "max(q, axis = 2) - min(q, axis = 2)",
    "prod(p, axis = 1)",
    "log_sum_exp(5 * m, axis = 2)",
    "log_sum_exp(m, axis = 1)",
    "mean(v, axis = 1)",
    "cumulative_sum(v)",
    "cumulative_sum(one)",
    "cumulative_prod(v)",
    "cumulative_prod(append(v, u))",
    "softmax(v)",
    "softmax(m)",
    "log_softmax(9 * v)",
    "log_softmax(q)",
    "rep(s, J) * v",
    "reverse(v)",
    "linspace(s, 2, 4)",
    "linspace(0, 1, J) * v + range(2, J + 1)",
    "linspace(s, a, 1)",
];

/// Matrices: products, diagonals, factorisations, covariances.
const MATRICES: [&str; 36] = [
    "outer(v, u)",
    "outer(real, v)",
    "outer(v, [s, 2])",
    "diag(v)",
    "diag(v) @ u",
    "diagonal(outer(v, u) * sq)",
    "add_diag(outer(v, v), s)",
    "add_diag(outer(v, v), u)",
    "quad_form(outer(v, u), w)",
    "quad_form(sq, 2 * v)",
    "cholesky(add_diag(outer(v, v), 1 + u))",
    "cholesky(add_diag(m @ transpose(m), a))",
    "cholesky([[1 + a]])",
    "solve_lower(cholesky(add_diag(outer(v, v), 1)), real)",
    "solve_lower(cholesky(add_diag(sq @ transpose(sq), 1)), v)",
    "solve_lower(cholesky(add_diag(outer(v, v), 1)), transpose(m))",
    "solve_lower_t(cholesky(add_diag(outer(v, v), 1)), u)",
    "solve_lower_t(cholesky(add_diag(outer(v, v), 1)), q)",
    "log_det(add_diag(outer(v, v), u))",
    "log_matmul(v, q)",
    "log_matmul(40 * v, sq)",
    "log_matmul(real, q)",
    "log_matmul(m, sq)",
    "log_matmul(matrix, 30 * q)",
    "squared_exponential(real, a, b)",
    "squared_exponential(tall, 1, b)",
    "squared_exponential(real, counts, a, b)",
    "matern12(real, a, b)",
    "matern32(real, a, b)",
    "matern52(real, a, b)",
    "matern52(tall, sq[:, 1:K], a, b)",
    "periodic(real, a, b, 1 + b)",
    "linear(real, a) * matern32(real, 1, b)",
    "linear(tall, sq[:, 1:K], s)",
    "cholesky(add_diag(squared_exponential(real, a, b) + periodic(real, 0.5, 1, 2), 0.01)) @ v",
    "log_det(add_diag(matern32(real, a, b), 0.1 * a))",
];
