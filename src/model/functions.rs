//! The one table of functions: name, what it does, one line of documentation.

use super::types::Reduction;
use crate::math::op::Unary;

/// What a function does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// Element by element; any shape.
    Elementwise(Unary),
    /// A whole array to one number.
    Reduce(Reduction),
    /// `dot(a, b)`: the sum of products of two vectors.
    Dot,
    /// `pow(a, b)`, the same as `a ^ b`.
    Power,
    /// Rows to columns.
    Transpose,
}

/// One entry of the table.
#[derive(Debug)]
pub struct Function {
    pub name: &'static str,
    pub kind: Kind,
    pub doc: &'static str,
    /// What Stan, PyMC or R call it, for "did you mean".
    pub elsewhere: &'static [&'static str],
}

const fn entry(name: &'static str, kind: Kind, doc: &'static str, elsewhere: &'static [&'static str]) -> Function {
    Function { name, kind, doc, elsewhere }
}

use Kind::{Elementwise as E, Reduce as R};

/// All functions, in the order of the book.
pub static FUNCTIONS: &[Function] = &[
    entry("exp", E(Unary::Exp), "exponential", &[]),
    entry("expm1", E(Unary::Expm1), "exp(x) - 1, accurate near 0", &[]),
    entry("log", E(Unary::Log), "natural logarithm", &["ln"]),
    entry("log1p", E(Unary::Log1p), "log(1 + x), accurate near 0", &[]),
    entry("sqrt", E(Unary::Sqrt), "square root", &[]),
    entry("square", E(Unary::Square), "x * x", &["sqr"]),
    entry("inv", E(Unary::Reciprocal), "1 / x", &["reciprocal"]),
    entry("abs", E(Unary::Abs), "absolute value", &["fabs"]),
    entry("sin", E(Unary::Sin), "sine", &[]),
    entry("cos", E(Unary::Cos), "cosine", &[]),
    entry("tan", E(Unary::Tan), "tangent", &[]),
    entry("atan", E(Unary::Atan), "arc tangent", &["arctan"]),
    entry("tanh", E(Unary::Tanh), "hyperbolic tangent", &[]),
    entry("logistic", E(Unary::Logistic), "1 / (1 + exp(-x))", &["inv_logit", "sigmoid", "expit", "invlogit"]),
    entry("logit", E(Unary::Logit), "log(x / (1 - x))", &[]),
    entry("log1p_exp", E(Unary::Log1pExp), "log(1 + exp(x)) without overflow", &["softplus", "log1pexp"]),
    entry("lgamma", E(Unary::LnGamma), "logarithm of the gamma function", &["gammaln", "ln_gamma"]),
    entry("digamma", E(Unary::Digamma), "derivative of lgamma", &["psi"]),
    entry("erf", E(Unary::Erf), "error function", &[]),
    entry("erfc", E(Unary::Erfc), "1 - erf(x), accurate for large x", &[]),
    entry("Phi", E(Unary::NormalCdf), "standard normal distribution function", &["phi", "pnorm", "std_normal_cdf"]),
    entry("log_Phi", E(Unary::LogNormalCdf), "log(Phi(x)), accurate far in the tail", &["std_normal_lcdf"]),
    entry("sum", R(Reduction::Sum), "sum of all elements", &[]),
    entry("mean", R(Reduction::Mean), "mean of all elements", &[]),
    entry("prod", R(Reduction::Product), "product of all elements", &["product"]),
    entry("min", R(Reduction::Minimum), "smallest element", &[]),
    entry("max", R(Reduction::Maximum), "largest element", &[]),
    entry("log_sum_exp", R(Reduction::LogSumExp), "log(sum(exp(x))) without overflow", &["logsumexp"]),
    entry("dot", Kind::Dot, "sum of products of two vectors", &["dot_product", "inner"]),
    entry("pow", Kind::Power, "power, also written a ^ b", &[]),
    entry("transpose", Kind::Transpose, "rows to columns of a matrix", &[]),
];

/// The function called `name`.
pub fn find(name: &str) -> Option<&'static Function> {
    FUNCTIONS.iter().find(|f| f.name == name)
}

/// Names of the shared-response language that look like functions.
pub const SHARED_WORDS: [&str; 7] =
    ["response", "balanced_squares", "ridge", "ridge_per_feature", "roughness", "spread", "neighbors"];
