//! The syntax tree: one node per thing written, in the order written.

use crate::base::Span;
use crate::math::constraint::Constraint;
use serde::{Deserialize, Serialize};

/// A name with its place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ident {
    pub name: String,
    pub span: Span,
}

/// A whole model file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ast {
    pub name: Ident,
    pub items: Vec<Item>,
}

/// One statement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Item {
    pub span: Span,
    pub kind: ItemKind,
}

/// The kinds of statement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ItemKind {
    /// `data y : real[J] > 0`
    Data { name: Ident, integer: bool, dims: Vec<Expr>, bounds: Option<Bounds> },
    /// `param theta[J] > 0 ~ normal(mu, tau) noncentered`, `param w[K] : simplex`
    Param {
        name: Ident,
        dims: Vec<Expr>,
        /// What the elements satisfy together, and where it is written.
        constraint: Option<(Constraint, Span)>,
        bounds: Option<Bounds>,
        prior: Option<Draw>,
    },
    /// `let eta = X @ beta`
    Let { name: Ident, value: Expr },
    /// `report tau2 = tau * tau`
    Report { name: Ident, value: Expr },
    /// `function f(a, b) = a + exp(b)`
    Function { name: Ident, parameters: Vec<Ident>, body: Body },
    /// `scan h[t in 2:N] from start = a + b * h[t - 1]`
    Scan { name: Ident, index: Ident, first: Expr, last: Expr, start: Option<Expr>, body: Body },
    /// `report y_rep[N] ~ normal(theta, sigma)`
    ReportDraw { name: Ident, dims: Vec<Expr>, draw: Draw },
    /// `observe y ~ normal(theta, sigma)`
    Observe { value: Expr, draw: Draw },
    /// `log_density log_sum_exp(a)`
    LogDensity { value: Expr },
    /// `beta ~ normal(0, 1)`
    Tilde { value: Expr, draw: Draw },
    /// `minimize balanced_squares(x, response(z) * w) + 1e-3 * ridge(w)`
    Minimize { value: Expr },
    /// `recording x standardized`
    Recording { name: Ident, standardized: bool },
    /// `factors K = 3`
    Factors { name: Ident, value: Expr },
    /// `response rating = gaussian(width = 1, lag in [-4, 4]) per participant`
    Response {
        modality: Ident,
        family: Ident,
        arguments: Vec<Argument>,
        per_participant: bool,
        /// `weight 2`
        weight: Option<Expr>,
    },
    /// `latent z ~ matern32(length_scale = ell)`
    LatentProcess { name: Ident, family: Ident, arguments: Vec<Argument> },
    /// `latent z on grid(0.9)`
    LatentGrid { name: Ident, step: Expr, paths: Paths },
    /// `loading w ~ normal(0, 1)`; also `offset` and `noise`
    Weight { role: WeightRole, name: Ident, prior: Option<Draw> },
}

/// Who has a latent path of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Paths {
    /// Everybody shares one.
    Shared,
    /// `per participant`
    PerParticipant,
    /// `per component`: each connected part of the graph of affinities.
    PerComponent,
}

impl Paths {
    /// What stands behind the grid, with a space before it.
    pub fn suffix(self) -> &'static str {
        match self {
            Paths::Shared => "",
            Paths::PerParticipant => " per participant",
            Paths::PerComponent => " per component",
        }
    }
}

/// What a function or a step of a `scan` computes: named intermediate values, then the value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Body {
    pub lets: Vec<(Ident, Expr)>,
    pub value: Expr,
}

/// What a per-stream parameter of a shared-response model is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum WeightRole {
    /// Per participant, modality, feature and factor.
    Loading,
    /// Per participant, modality and feature.
    Offset,
    /// A variance per participant and modality.
    Noise,
}

impl WeightRole {
    /// The keyword of the language.
    pub fn keyword(self) -> &'static str {
        match self {
            WeightRole::Loading => "loading",
            WeightRole::Offset => "offset",
            WeightRole::Noise => "noise",
        }
    }
}

/// Bounds after a declaration: `> a`, `>= a`, `< b`, `<= b`, `in [a, b]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bounds {
    pub lower: Option<Bound>,
    pub upper: Option<Bound>,
    pub span: Span,
}

/// One side of the bounds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bound {
    pub value: Expr,
    /// `true` for `>` and `<`.
    pub strict: bool,
}

/// What stands right of `~`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Draw {
    pub family: Ident,
    pub arguments: Vec<Expr>,
    /// `in [lo, hi]`: truncated and renormalised.
    pub truncation: Option<(Expr, Expr)>,
    /// `censored above where lost`
    pub censoring: Option<Box<Censoring>>,
    pub noncentered: bool,
    pub span: Span,
}

/// Which values are only known to lie on one side of what is written down.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Censoring {
    /// The true value is larger than the one written down, else smaller.
    pub above: bool,
    /// 1 for a censored value, 0 for an exact one.
    pub marks: Expr,
}

/// A positional or named argument. A response parameter with a prior or bounds is learned; its value is then where a
/// search starts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Argument {
    pub name: Option<Ident>,
    pub value: Option<Expr>,
    pub prior: Option<Draw>,
    pub bounds: Option<Bounds>,
    pub span: Span,
}

/// An expression.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Expr {
    pub kind: ExprKind,
    pub span: Span,
}

/// The kinds of expression.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ExprKind {
    /// A number; `integer` when written without point and exponent.
    Number {
        value: f64,
        integer: bool,
    },
    Name(String),
    Negate(Box<Expr>),
    Binary(Operator, Box<Expr>, Box<Expr>),
    Call(Ident, Vec<Expr>),
    /// `x[i, j]`
    Index(Box<Expr>, Vec<Index>),
    /// `[a, b, c]`
    Array(Vec<Expr>),
    /// `axis = 1`, an argument of a call.
    Named(Ident, Box<Expr>),
}

/// One position in square brackets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Index {
    /// `:`, the whole axis.
    All(Span),
    At(Expr),
    /// `2:N`, `:N` or `2:`
    Range(Option<Expr>, Option<Expr>, Span),
}

/// The binary operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Operator {
    Add,
    Sub,
    Mul,
    Div,
    Pow,
    /// `@`, the matrix product.
    MatMul,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Equal,
    NotEqual,
}

impl Operator {
    /// How it is written.
    pub fn symbol(self) -> &'static str {
        match self {
            Operator::Add => "+",
            Operator::Sub => "-",
            Operator::Mul => "*",
            Operator::Div => "/",
            Operator::Pow => "^",
            Operator::MatMul => "@",
            Operator::Less => "<",
            Operator::LessEqual => "<=",
            Operator::Greater => ">",
            Operator::GreaterEqual => ">=",
            Operator::Equal => "==",
            Operator::NotEqual => "!=",
        }
    }

    /// Binding strength; larger binds tighter.
    pub fn precedence(self) -> u8 {
        match self {
            Operator::Less
            | Operator::LessEqual
            | Operator::Greater
            | Operator::GreaterEqual
            | Operator::Equal
            | Operator::NotEqual => 0,
            Operator::Add | Operator::Sub => 1,
            Operator::Mul | Operator::Div | Operator::MatMul => 2,
            Operator::Pow => 4,
        }
    }
}
