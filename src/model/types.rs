//! The checked model: every name resolved, every shape known in terms of the data's sizes.

use crate::base::Span;
use crate::math::op::{Binary, Unary};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A size: a number, an `int` of the data, or whole-number arithmetic over them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Dim {
    Size(i64),
    Name(String),
    Add(Box<Dim>, Box<Dim>),
    Sub(Box<Dim>, Box<Dim>),
    Mul(Box<Dim>, Box<Dim>),
}

impl fmt::Display for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Dim::Size(n) => write!(f, "{n}"),
            Dim::Name(name) => write!(f, "{name}"),
            Dim::Add(a, b) => write!(f, "({a} + {b})"),
            Dim::Sub(a, b) => write!(f, "({a} - {b})"),
            Dim::Mul(a, b) => write!(f, "{a} * {b}"),
        }
    }
}

/// The sizes along each axis; empty for a scalar.
pub type Shape = Vec<Dim>;

/// `[N, P]`, or `a scalar`.
pub fn describe_shape(shape: &[Dim]) -> String {
    if shape.is_empty() {
        "a scalar".into()
    } else {
        format!("[{}]", shape.iter().map(Dim::to_string).collect::<Vec<_>>().join(", "))
    }
}

/// A reduction of a whole array to one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reduction {
    Sum,
    Mean,
    Product,
    Minimum,
    Maximum,
    LogSumExp,
}

/// An expression whose names, types and shapes are checked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Typed {
    pub kind: TypedKind,
    pub shape: Shape,
    pub integer: bool,
    /// Depends on data and constants alone.
    pub data_only: bool,
    pub span: Span,
}

impl Typed {
    /// A real constant.
    pub fn number(value: f64, span: Span) -> Typed {
        Typed { kind: TypedKind::Number(value), shape: vec![], integer: false, data_only: true, span }
    }
}

/// The kinds of checked expression.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum TypedKind {
    Number(f64),
    /// Data, a parameter or a `let`, by name.
    Name(String),
    Unary(Unary, Box<Typed>),
    /// Equal shapes, or one scalar that broadcasts.
    Binary(Binary, Box<Typed>, Box<Typed>),
    /// Matrix times matrix, matrix times vector, vector times matrix, or vector times vector.
    MatMul(Box<Typed>, Box<Typed>),
    Transpose(Box<Typed>),
    Reduce(Reduction, Box<Typed>),
    /// Two scalars side by side; the checker makes it to take the tighter of two bounds.
    Pair(Box<Typed>, Box<Typed>),
    /// One-based positions along each axis.
    Index(Box<Typed>, Vec<TypedIndex>),
    /// A term of a gridded shared-response objective.
    Shared(SharedTerm),
}

/// One position in square brackets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum TypedIndex {
    All,
    /// A whole number or a vector of them, known from the data.
    At(Typed),
}

/// The terms a gridded shared-response objective is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SharedTerm {
    /// `balanced_squares(x, response(z) * w)`
    BalancedSquares,
    /// `ridge(w)`
    LoadingRidge,
    /// `ridge(z)`
    LatentRidge,
    /// `roughness(z)`
    Roughness,
}

/// A declared input.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Data {
    pub name: String,
    pub integer: bool,
    pub shape: Shape,
    pub lower: Option<Limit>,
    pub upper: Option<Limit>,
    pub span: Span,
}

/// One bound of declared data, known from earlier data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Limit {
    pub value: Typed,
    pub strict: bool,
}

/// A parameter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Param {
    pub name: String,
    pub shape: Shape,
    /// Bounds of the support, known from the data; `None` where there is none.
    pub lower: Option<Typed>,
    pub upper: Option<Typed>,
    /// Location and scale of a parameter written `noncentered`: the engine samples the standardised form.
    pub noncentered: Option<Draw>,
    pub span: Span,
}

/// A distribution with its arguments.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Draw {
    pub family: String,
    pub arguments: Vec<Typed>,
    /// Renormalised to this interval.
    pub truncation: Option<(Typed, Typed)>,
    pub span: Span,
}

/// The statements of a plain model, in order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Statement {
    Param(Param),
    Let {
        name: String,
        value: Typed,
    },
    Report {
        name: String,
        value: Typed,
    },
    /// `report y_rep[N] ~ normal(theta, sigma)`: drawn anew at every draw of the posterior.
    Generated {
        name: String,
        shape: Shape,
        /// Every value is a whole number.
        integer: bool,
        draw: Draw,
    },
    /// One term of the log density: every element of `value` is drawn from `draw`.
    Density {
        label: String,
        value: Typed,
        draw: Draw,
    },
    /// A prior of the loadings, offsets or noise variances.
    WeightPrior {
        role: crate::lang::ast::WeightRole,
        name: String,
        draw: Draw,
    },
    /// `observe x ~ normal(b + response(z) * w, sqrt(v))`
    SharedObserve,
    Minimize {
        value: Typed,
    },
}

/// The shared-response part of a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Shared {
    pub recording: String,
    pub standardized: bool,
    /// Name and number of factors.
    pub factors: (String, usize),
    /// Response of each named modality; other modalities respond with the identity.
    pub responses: Vec<ModalityResponse>,
    pub latent: Latent,
    pub loading: String,
    pub offset: Option<String>,
    pub noise: Option<String>,
    /// Coefficients of the objective's terms, for a gridded model.
    pub objective: Vec<(SharedTerm, Typed)>,
}

/// How the streams of one modality follow the latent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModalityResponse {
    pub modality: String,
    /// The family with the values of its parameters; those of learned ones count for nothing.
    pub response: crate::response::Response,
    pub learned: Vec<LearnedParameter>,
    /// Every participant has learned parameters of their own.
    pub per_participant: bool,
    pub span: Span,
}

/// A parameter of a response that is learned from the data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LearnedParameter {
    /// Position in the family's table of parameters.
    pub index: usize,
    /// `rating.lag`: modality and parameter.
    pub name: String,
    /// Where a search starts, if the model says so.
    pub start: Option<f64>,
    /// Bounds of the support, known from the data; `None` where there is none.
    pub lower: Option<Typed>,
    pub upper: Option<Typed>,
    /// In an objective a penalty: minus the log density, up to a constant.
    pub prior: Option<Draw>,
    pub span: Span,
}

/// The latent of a shared-response model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Latent {
    /// A Matern-3/2 process with this length scale in seconds.
    Process { name: String, length_scale: Typed },
    /// Free values on a regular grid with this step in seconds.
    Grid { name: String, step: Typed },
}

/// A checked model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Model {
    pub name: String,
    pub data: Vec<Data>,
    pub statements: Vec<Statement>,
    pub shared: Option<Shared>,
}

impl Model {
    /// `true` when the model ends in `minimize`: an objective, not a density.
    pub fn is_objective(&self) -> bool {
        self.statements.iter().any(|s| matches!(s, Statement::Minimize { .. }))
    }
}
