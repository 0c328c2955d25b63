//! The one table of functions: name, what it does, how it is called, one line of documentation.

use super::arrays::{ArrayOp, Kernel};
use super::types::Reduction;
use crate::math::op::{Binary, Unary};

/// What a function does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// Element by element; any shape.
    Elementwise(Unary),
    /// Element by element of two values; a scalar broadcasts.
    Pairwise(Binary),
    /// A whole array to one number, or along an axis of a matrix.
    Reduce(Reduction),
    /// `dot(a, b)`: the sum of products of two vectors.
    Dot,
    /// Rows to columns.
    Transpose,
    /// A function of whole arrays.
    Array(ArrayOp),
    /// The logarithm of the determinant of a positive definite matrix.
    LogDet,
    /// `quad_form(A, x)`: x' A x.
    QuadForm,
    /// `add_diag(A, v)`: a scalar or a vector added to the diagonal.
    AddDiag,
}

/// One entry of the table.
#[derive(Debug)]
pub struct Function {
    pub name: &'static str,
    /// The arguments as a call shows them.
    pub arguments: &'static str,
    pub kind: Kind,
    pub doc: &'static str,
    /// What Stan, PyMC or R call it, for "did you mean".
    pub elsewhere: &'static [&'static str],
}

const fn entry(name: &'static str, kind: Kind, doc: &'static str, elsewhere: &'static [&'static str]) -> Function {
    Function { name, arguments: "x", kind, doc, elsewhere }
}

const fn call(name: &'static str, arguments: &'static str, kind: Kind, doc: &'static str) -> Function {
    Function { name, arguments, kind, doc, elsewhere: &[] }
}

use ArrayOp as A;
use Kind::{Array, Elementwise as E, Reduce as R};

/// All functions, in the order of the book.
pub static FUNCTIONS: &[Function] = &[
    entry("exp", E(Unary::Exp), "exponential", &[]),
    entry("expm1", E(Unary::Expm1), "exp(x) - 1, accurate near 0", &[]),
    entry("log", E(Unary::Log), "natural logarithm", &["ln"]),
    entry("log1p", E(Unary::Log1p), "log(1 + x), accurate near 0", &[]),
    entry("log1m", E(Unary::Log1m), "log(1 - x), accurate near 0", &[]),
    entry("log1m_exp", E(Unary::Log1mExp), "log(1 - exp(x)) for x below 0", &["log1mexp"]),
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
    entry("inv_Phi", E(Unary::NormalQuantile), "standard normal quantile", &["qnorm", "probit", "std_normal_qf"]),
    entry("step", E(Unary::Step), "1 from 0 on, 0 below; its derivative is 0", &["heaviside"]),
    entry("sum", R(Reduction::Sum), "sum of all elements", &[]),
    entry("mean", R(Reduction::Mean), "mean of all elements", &[]),
    entry("prod", R(Reduction::Product), "product of all elements", &["product"]),
    entry(
        "min",
        R(Reduction::Minimum),
        "smallest element; `min(a, b)` the smaller of two values",
        &["fmin", "minimum"],
    ),
    entry("max", R(Reduction::Maximum), "largest element; `max(a, b)` the larger of two values", &["fmax", "maximum"]),
    entry("log_sum_exp", R(Reduction::LogSumExp), "log(sum(exp(x))) without overflow", &["logsumexp"]),
    Function {
        elsewhere: &["dot_product", "inner"],
        ..call("dot", "a, b", Kind::Dot, "sum of products of two vectors")
    },
    call("pow", "a, b", Kind::Pairwise(Binary::Pow), "power, also written a ^ b"),
    call("lbeta", "a, b", Kind::Pairwise(Binary::LnBeta), "logarithm of the beta function"),
    call("where", "c, a, b", Array(A::Where), "a where the comparison c of data holds, else b"),
    entry("transpose", Kind::Transpose, "rows to columns of a matrix", &["t"]),
    Function {
        elsewhere: &["cumsum"],
        ..call("cumulative_sum", "x", Array(A::CumulativeSum), "sums of the first 1, 2, ... elements of a vector")
    },
    Function {
        elsewhere: &["cumprod"],
        ..call("cumulative_prod", "x", Array(A::CumulativeProduct), "products of the first 1, 2, ... elements")
    },
    entry("softmax", Array(A::Softmax), "exp(x) / sum(exp(x)) of a vector, or of each row of a matrix", &[]),
    entry("log_softmax", Array(A::LogSoftmax), "its logarithm, without overflow", &[]),
    Function {
        elsewhere: &["concat", "concatenate", "append_row", "c"],
        ..call(
            "append",
            "a, b, ...",
            Array(A::Append),
            "one vector after the other, or rows below rows; scalars count as vectors",
        )
    },
    call("rep", "a, n", Array(A::Repeat), "the scalar a, n times"),
    Function {
        elsewhere: &["arange", "seq"],
        ..call("range", "a, b", Array(A::Range), "the whole numbers from a to b")
    },
    call("linspace", "a, b, n", Array(A::Linspace), "n evenly spaced numbers from a to b"),
    Function {
        elsewhere: &["rev"],
        ..call("reverse", "x", Array(A::Reverse), "a vector from its end to its beginning")
    },
    call(
        "outer",
        "a, b",
        Array(A::Outer),
        "products of every element of a with every element of b: [N] and [M] make [N, M]",
    ),
    Function {
        elsewhere: &["diag_matrix"],
        ..call("diag", "x", Array(A::Diag), "the square matrix with the vector x on its diagonal")
    },
    call("diagonal", "A", Array(A::Diagonal), "the diagonal of a square matrix"),
    call("add_diag", "A, x", Kind::AddDiag, "the matrix A with the scalar or vector x added to its diagonal"),
    Function {
        elsewhere: &["cholesky_decompose", "chol"],
        ..call(
            "cholesky",
            "A",
            Array(A::Cholesky),
            "the lower triangular L with L L' = A; reads the lower triangle of A",
        )
    },
    Function {
        elsewhere: &["mdivide_left_tri_low", "solve_triangular", "forwardsolve"],
        ..call(
            "solve_lower",
            "L, b",
            Array(A::SolveLower),
            "the solution x of L x = b, of a lower triangular L; b is a vector or a matrix",
        )
    },
    call("solve_lower_t", "L, b", Array(A::SolveLowerTransposed), "the solution x of L' x = b"),
    Function {
        elsewhere: &["log_determinant", "logdet"],
        ..call("log_det", "A", Kind::LogDet, "log determinant of a positive definite matrix")
    },
    call("quad_form", "A, x", Kind::QuadForm, "x' A x of a matrix and a vector"),
    call("log_matmul", "a, B", Array(A::LogMatMul), "log(exp(a) @ exp(B)) without overflow; a is a vector or a matrix"),
    Function {
        elsewhere: &["gp_exp_quad_cov", "cov_exp_quad", "rbf", "ExpQuad"],
        ..call(
            "squared_exponential",
            "x, sd, length",
            Array(A::Covariance(Kernel::SquaredExponential)),
            "covariances sd^2 exp(-r^2 / (2 length^2)) among the points x",
        )
    },
    Function {
        elsewhere: &["gp_exponential_cov", "Exponential"],
        ..call("matern12", "x, sd, length", Array(A::Covariance(Kernel::Matern12)), "sd^2 exp(-r / length)")
    },
    Function {
        elsewhere: &["gp_matern32_cov", "Matern32"],
        ..call(
            "matern32",
            "x, sd, length",
            Array(A::Covariance(Kernel::Matern32)),
            "sd^2 (1 + a) exp(-a) with a = sqrt(3) r / length",
        )
    },
    Function {
        elsewhere: &["gp_matern52_cov", "Matern52"],
        ..call(
            "matern52",
            "x, sd, length",
            Array(A::Covariance(Kernel::Matern52)),
            "sd^2 (1 + a + a^2 / 3) exp(-a) with a = sqrt(5) r / length",
        )
    },
    Function {
        elsewhere: &["gp_periodic_cov", "Periodic"],
        ..call(
            "periodic",
            "x, sd, length, period",
            Array(A::Covariance(Kernel::Periodic)),
            "sd^2 exp(-2 sin^2(pi r / period) / length^2)",
        )
    },
    Function {
        elsewhere: &["gp_dot_prod_cov"],
        ..call("linear", "x, sd", Array(A::Covariance(Kernel::Linear)), "sd^2 times the inner products of the points x")
    },
];

impl Function {
    /// Whether its name cannot also name data or a parameter. Functions of whole arrays have common words for names.
    pub fn reserves_name(&self) -> bool {
        !matches!(self.kind, Array(_) | Kind::LogDet | Kind::QuadForm | Kind::AddDiag | E(Unary::Step))
    }
}

/// The function called `name`.
pub fn find(name: &str) -> Option<&'static Function> {
    FUNCTIONS.iter().find(|f| f.name == name)
}

/// Names of the shared-response language that look like functions.
pub const SHARED_WORDS: [&str; 5] = ["response", "balanced_squares", "ridge", "ridge_per_feature", "roughness"];
