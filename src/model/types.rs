//! The checked model: every name resolved, every shape known in terms of the data's sizes.

use super::arrays::{ArrayOp, Comparison, Scan};
use super::dim::Dim;
use crate::base::Span;
use crate::lang::ast::Paths;
use crate::math::constraint::Constraint;
use crate::math::op::{Binary, Unary};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

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
    /// Element by element 1 where it holds, else 0; known from the data.
    Compare(Comparison, Box<Typed>, Box<Typed>),
    /// A function of whole arrays.
    Array(ArrayOp, Vec<Typed>),
    /// `body`, in which `name` stands for `value`.
    Local {
        name: String,
        value: Box<Typed>,
        body: Box<Typed>,
    },
    /// A state carried along an index.
    Scan(Box<Scan>),
}

/// One position in square brackets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum TypedIndex {
    All,
    /// A whole number or a vector of them, known from the data.
    At(Typed),
    /// From the first to the last position, both included.
    Range(Dim, Dim, Span),
}

/// The terms a gridded shared-response objective is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SharedTerm {
    /// `balanced_squares(x, response(z) * w)`
    BalancedSquares,
    /// `ridge(w)`
    LoadingRidge,
    /// `ridge_per_feature(w)`
    LoadingRidgePerFeature,
    /// `ridge(z)`
    LatentRidge,
    /// `roughness(z)`
    Roughness,
    /// `spread(z)`: squared distance of the participants' paths from their mean.
    LatentSpread,
    /// `neighbors(z)`: squared distance of paths, weighted by the affinity of their participants.
    LatentNeighbors,
    /// `spread(rating)`: squared distance of the participants' response parameters from their mean; by position among
    /// the declared responses.
    ResponseSpread(usize),
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
    /// What the elements satisfy together.
    pub constraint: Option<Constraint>,
    /// Bounds of the support; `None` where there is none. A bound may depend on earlier parameters.
    pub lower: Option<Typed>,
    pub upper: Option<Typed>,
    /// Location and scale of a parameter written `noncentered`: the engine samples the standardised form.
    pub noncentered: Option<Draw>,
    pub span: Span,
}

impl Param {
    /// Whether a bound depends on other parameters or differs between the elements.
    pub fn has_moving_bounds(&self) -> bool {
        self.lower.iter().chain(&self.upper).any(|b| !b.data_only || !b.shape.is_empty())
    }
}

/// Which values are only known to lie on one side of what the data say.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Censoring {
    /// The true value is larger, else smaller.
    pub above: bool,
    /// 1 for a censored value, 0 for an exact one; known from the data.
    pub marks: Typed,
}

/// A distribution with its arguments.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Draw {
    pub family: String,
    pub arguments: Vec<Typed>,
    /// Renormalised to this interval.
    pub truncation: Option<(Typed, Typed)>,
    pub censoring: Option<Box<Censoring>>,
    /// What a `mixture`, `zero_inflated` or `hurdle` is made of; its arguments are then the weights alone.
    pub components: Vec<Draw>,
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
    /// A number that is added to the log density.
    LogDensity {
        label: String,
        value: Typed,
    },
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
    /// How much the modality counts relative to the others; 1 where the model does not say.
    pub weight: f64,
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
    Grid { name: String, step: Typed, paths: Paths },
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

impl Typed {
    /// Whether the value depends on one of `names`, directly or through a name of its own that does.
    pub fn mentions(&self, names: &BTreeSet<String>) -> bool {
        let any = |dims: &[Dim]| dims.iter().any(|d| d.names().iter().any(|n| names.contains(*n)));
        if any(&self.shape) {
            return true;
        }
        match &self.kind {
            TypedKind::Number(_) | TypedKind::Shared(_) => false,
            TypedKind::Name(name) => names.contains(name),
            TypedKind::Unary(_, a) | TypedKind::Transpose(a) | TypedKind::Reduce(_, a) => a.mentions(names),
            TypedKind::Binary(_, a, b)
            | TypedKind::MatMul(a, b)
            | TypedKind::Pair(a, b)
            | TypedKind::Compare(_, a, b)
            | TypedKind::Local { value: a, body: b, .. } => a.mentions(names) || b.mentions(names),
            TypedKind::Index(base, positions) => base.mentions(names) || positions.iter().any(|p| p.mentions(names)),
            TypedKind::Array(_, inputs) => inputs.iter().any(|i| i.mentions(names)),
            TypedKind::Scan(scan) => {
                scan.step.mentions(names)
                    || scan.start.as_ref().is_some_and(|s| s.mentions(names))
                    || any(std::slice::from_ref(&scan.first))
            }
        }
    }
}

impl TypedIndex {
    /// Whether the position depends on one of `names`.
    pub fn mentions(&self, names: &BTreeSet<String>) -> bool {
        match self {
            TypedIndex::All => false,
            TypedIndex::At(at) => at.mentions(names),
            TypedIndex::Range(a, b, _) => [a, b].iter().any(|d| d.names().iter().any(|n| names.contains(*n))),
        }
    }
}
