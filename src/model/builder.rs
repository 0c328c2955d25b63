//! The same models written in Rust: the builder makes a syntax tree, which is checked like a parsed one.
//!
//! ```
//! use msrm::model::builder::{Builder, draw, param, real, int, x};
//! let model = Builder::new("eight_schools")
//!     .data("J", int())
//!     .data("y", real().of([x("J")]))
//!     .data("sigma", real().of([x("J")]).above(0))
//!     .param("mu", param().prior(draw("normal", [x(0), x(5)])))
//!     .param("tau", param().above(0).prior(draw("half_cauchy", [x(5)])))
//!     .param("theta", param().of([x("J")]).prior(draw("normal", [x("mu"), x("tau")]).noncentered()))
//!     .observe("y", draw("normal", [x("theta"), x("sigma")]))
//!     .build()
//!     .expect("a correct model");
//! assert_eq!(model.model.name, "eight_schools");
//! ```

use super::check::check_text;
use super::types::Model;
use crate::base::{Diagnostic, Source, Span};
use crate::lang::ast::{
    self, Argument, Ast, Body, Bound, Bounds, Expr, ExprKind, Ident, Index, Item, ItemKind, Operator, Paths, WeightRole,
};
use crate::lang::format;
pub use crate::math::constraint::Constraint;

/// An expression under construction.
#[derive(Debug, Clone, PartialEq)]
pub struct Ex(Expr);

fn ex(kind: ExprKind) -> Ex {
    Ex(Expr { kind, span: Span::default() })
}

fn ident(name: &str) -> Ident {
    Ident { name: name.to_string(), span: Span::default() }
}

/// A name (`x("mu")`) or a number (`x(5)`, `x(0.5)`).
pub fn x(value: impl Into<Ex>) -> Ex {
    value.into()
}

/// `function(arguments)`, for example `call("exp", [x("eta")])`.
pub fn call<const N: usize>(function: &str, arguments: [Ex; N]) -> Ex {
    ex(ExprKind::Call(ident(function), arguments.into_iter().map(|a| a.0).collect()))
}

/// `[elements]`
pub fn array<const N: usize>(elements: [Ex; N]) -> Ex {
    ex(ExprKind::Array(elements.into_iter().map(|e| e.0).collect()))
}

/// What a function or a step of a `scan` computes: `let`s, then the value.
#[derive(Debug, Clone, PartialEq)]
pub struct Block(Body);

/// A block that leads to `value`.
pub fn block(value: impl Into<Ex>) -> Block {
    Block(Body { lets: Vec::new(), value: value.into().0 })
}

impl Block {
    /// `let name = value`, behind the `let`s so far.
    pub fn define(mut self, name: &str, value: impl Into<Ex>) -> Self {
        self.0.lets.push((ident(name), value.into().0));
        self
    }
}

/// The positions of a `scan`, and the states before them.
#[derive(Debug, Clone, PartialEq)]
pub struct Positions {
    index: Ident,
    first: Expr,
    last: Expr,
    start: Option<Expr>,
}

/// `[index in first:last]`
pub fn positions(index: &str, first: impl Into<Ex>, last: impl Into<Ex>) -> Positions {
    Positions { index: ident(index), first: first.into().0, last: last.into().0, start: None }
}

impl Positions {
    /// `from start`
    pub fn from(mut self, start: impl Into<Ex>) -> Self {
        self.start = Some(start.into().0);
        self
    }
}

impl From<&str> for Ex {
    fn from(name: &str) -> Ex {
        ex(ExprKind::Name(name.to_string()))
    }
}

impl From<f64> for Ex {
    fn from(value: f64) -> Ex {
        ex(ExprKind::Number { value, integer: false })
    }
}

impl From<i32> for Ex {
    fn from(value: i32) -> Ex {
        ex(ExprKind::Number { value: f64::from(value), integer: true })
    }
}

macro_rules! operators {
    ($($trait:ident $method:ident $operator:ident),*) => {$(
        impl std::ops::$trait for Ex {
            type Output = Ex;
            fn $method(self, other: Ex) -> Ex {
                ex(ExprKind::Binary(Operator::$operator, Box::new(self.0), Box::new(other.0)))
            }
        }
    )*};
}
operators!(Add add Add, Sub sub Sub, Mul mul Mul, Div div Div);

impl std::ops::Neg for Ex {
    type Output = Ex;
    fn neg(self) -> Ex {
        ex(ExprKind::Negate(Box::new(self.0)))
    }
}

impl Ex {
    /// The matrix product `self @ other`.
    pub fn matmul(self, other: Ex) -> Ex {
        ex(ExprKind::Binary(Operator::MatMul, Box::new(self.0), Box::new(other.0)))
    }

    /// `self ^ exponent`
    pub fn pow(self, exponent: Ex) -> Ex {
        ex(ExprKind::Binary(Operator::Pow, Box::new(self.0), Box::new(exponent.0)))
    }

    /// `self[position, ...]`; positions start at 1.
    pub fn at<const N: usize>(self, positions: [Ex; N]) -> Ex {
        ex(ExprKind::Index(Box::new(self.0), positions.into_iter().map(|p| Index::At(p.0)).collect()))
    }

    /// `self[lower:upper]`, both ends included.
    pub fn slice(self, lower: impl Into<Ex>, upper: impl Into<Ex>) -> Self {
        let range = Index::Range(Some(lower.into().0), Some(upper.into().0), Span::default());
        ex(ExprKind::Index(Box::new(self.0), vec![range]))
    }

    /// `self[:upper]`
    pub fn until(self, upper: impl Into<Ex>) -> Self {
        let range = Index::Range(None, Some(upper.into().0), Span::default());
        ex(ExprKind::Index(Box::new(self.0), vec![range]))
    }

    /// `self[lower:]`
    pub fn starting(self, lower: impl Into<Ex>) -> Self {
        let range = Index::Range(Some(lower.into().0), None, Span::default());
        ex(ExprKind::Index(Box::new(self.0), vec![range]))
    }

    /// `sum(self, axis = axis)` and other reductions along an axis: 1 over the rows, 2 over the columns.
    pub fn along(self, reduction: &str, axis: i32) -> Ex {
        let axis = ex(ExprKind::Named(ident("axis"), Box::new(Ex::from(axis).0)));
        call(reduction, [self, axis])
    }

    /// `self > other`; for the other comparisons write `where` with its branches in the fitting order.
    pub fn greater(self, other: impl Into<Ex>) -> Ex {
        ex(ExprKind::Binary(Operator::Greater, Box::new(self.0), Box::new(other.into().0)))
    }

    /// `self == other`
    pub fn equals(self, other: impl Into<Ex>) -> Ex {
        ex(ExprKind::Binary(Operator::Equal, Box::new(self.0), Box::new(other.into().0)))
    }

    /// `self[:, column]`
    pub fn column(self, column: Ex) -> Ex {
        ex(ExprKind::Index(Box::new(self.0), vec![Index::All(Span::default()), Index::At(column.0)]))
    }
}

/// A response under construction.
#[derive(Debug, Clone, PartialEq)]
pub struct ResponseBuilder {
    family: Ident,
    arguments: Vec<Argument>,
    per_participant: bool,
    weight: Option<Expr>,
}

/// `family()`, for example `response("gaussian").fixed("width", 1).within("lag", -4, 4)`.
pub fn response(family: &str) -> ResponseBuilder {
    ResponseBuilder { family: ident(family), arguments: Vec::new(), per_participant: false, weight: None }
}

impl ResponseBuilder {
    fn push(mut self, name: &str, value: Option<Ex>, prior: Option<DrawBuilder>, bounds: Option<Bounds>) -> Self {
        let (value, prior) = (value.map(|v| v.0), prior.map(|p| p.0));
        self.arguments.push(Argument { name: Some(ident(name)), value, prior, bounds, span: Span::default() });
        self
    }

    /// `name = value`
    pub fn fixed(self, name: &str, value: impl Into<Ex>) -> Self {
        self.push(name, Some(value.into()), None, None)
    }

    /// `name in [lower, upper]`: learned, without a prior.
    pub fn within(self, name: &str, lower: impl Into<Ex>, upper: impl Into<Ex>) -> Self {
        let bound = |value: Ex| Some(Bound { value: value.0, strict: false });
        let bounds = Bounds { lower: bound(lower.into()), upper: bound(upper.into()), span: Span::default() };
        self.push(name, None, None, Some(bounds))
    }

    /// `name ~ prior`: learned.
    pub fn learned(self, name: &str, prior: DrawBuilder) -> Self {
        self.push(name, None, Some(prior), None)
    }

    /// `... per participant`
    pub fn per_participant(mut self) -> Self {
        self.per_participant = true;
        self
    }

    /// `... weight value`
    pub fn weight(mut self, value: impl Into<Ex>) -> Self {
        self.weight = Some(value.into().0);
        self
    }
}

/// A distribution under construction.
#[derive(Debug, Clone, PartialEq)]
pub struct DrawBuilder(ast::Draw);

/// `family(arguments)`, for example `draw("normal", [x(0), x(1)])`.
pub fn draw<const N: usize>(family: &str, arguments: [Ex; N]) -> DrawBuilder {
    DrawBuilder(ast::Draw {
        family: ident(family),
        arguments: arguments.into_iter().map(|a| a.0).collect(),
        truncation: None,
        censoring: None,
        noncentered: false,
        span: Span::default(),
    })
}

impl DrawBuilder {
    /// `... in [lower, upper]`: truncated and renormalised.
    pub fn truncated(mut self, lower: impl Into<Ex>, upper: impl Into<Ex>) -> Self {
        self.0.truncation = Some((lower.into().0, upper.into().0));
        self
    }

    /// `... censored above where marks`: where a mark is 1, the true value is larger than the one given.
    pub fn censored_above(mut self, marks: impl Into<Ex>) -> Self {
        self.0.censoring = Some(Box::new(ast::Censoring { above: true, marks: marks.into().0 }));
        self
    }

    /// `... censored below where marks`: where a mark is 1, the true value is smaller than the one given.
    pub fn censored_below(mut self, marks: impl Into<Ex>) -> Self {
        self.0.censoring = Some(Box::new(ast::Censoring { above: false, marks: marks.into().0 }));
        self
    }

    /// `... noncentered`
    pub fn noncentered(mut self) -> Self {
        self.0.noncentered = true;
        self
    }
}

/// Sizes, bounds and prior of a declaration under construction.
#[derive(Debug, Clone, Default)]
pub struct Declaration {
    integer: bool,
    dims: Vec<Expr>,
    constraint: Option<Constraint>,
    lower: Option<Bound>,
    upper: Option<Bound>,
    prior: Option<ast::Draw>,
}

/// Real data.
pub fn real() -> Declaration {
    Declaration::default()
}

/// Whole-number data.
pub fn int() -> Declaration {
    Declaration { integer: true, ..Declaration::default() }
}

/// A parameter.
pub fn param() -> Declaration {
    Declaration::default()
}

impl Declaration {
    /// Sizes along each axis.
    pub fn of<const N: usize>(mut self, dims: [Ex; N]) -> Self {
        self.dims = dims.into_iter().map(|d| d.0).collect();
        self
    }

    /// `: constraint`, for example `constrained(Constraint::Simplex)`; for parameters.
    pub fn constrained(mut self, constraint: Constraint) -> Self {
        self.constraint = Some(constraint);
        self
    }

    /// `> bound`
    pub fn above(mut self, bound: impl Into<Ex>) -> Self {
        self.lower = Some(Bound { value: bound.into().0, strict: true });
        self
    }

    /// `< bound`
    pub fn below(mut self, bound: impl Into<Ex>) -> Self {
        self.upper = Some(Bound { value: bound.into().0, strict: true });
        self
    }

    /// `>= bound`
    pub fn at_least(mut self, bound: impl Into<Ex>) -> Self {
        self.lower = Some(Bound { value: bound.into().0, strict: false });
        self
    }

    /// `<= bound`
    pub fn at_most(mut self, bound: impl Into<Ex>) -> Self {
        self.upper = Some(Bound { value: bound.into().0, strict: false });
        self
    }

    /// `in [lower, upper]`
    pub fn within(mut self, lower: impl Into<Ex>, upper: impl Into<Ex>) -> Self {
        self.lower = Some(Bound { value: lower.into().0, strict: false });
        self.upper = Some(Bound { value: upper.into().0, strict: false });
        self
    }

    /// `~ prior`; for parameters.
    pub fn prior(mut self, prior: DrawBuilder) -> Self {
        self.prior = Some(prior.0);
        self
    }

    fn bounds(&self) -> Option<Bounds> {
        let any = self.lower.is_some() || self.upper.is_some();
        any.then(|| Bounds { lower: self.lower.clone(), upper: self.upper.clone(), span: Span::default() })
    }
}

/// A model together with the canonical text its messages point into.
#[derive(Debug, Clone)]
pub struct BuiltModel {
    pub model: Model,
    pub source: Source,
}

/// Why a built model is wrong: the same diagnostics as for a text.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{}", crate::base::render(text, diagnostics))]
pub struct BuildError {
    /// The canonical text that the diagnostics point into.
    pub text: Source,
    pub diagnostics: Vec<Diagnostic>,
}

/// Collects the statements of a model, in order.
#[derive(Debug, Clone)]
pub struct Builder {
    name: String,
    items: Vec<Item>,
}

impl Builder {
    /// `model name`
    pub fn new(name: &str) -> Self {
        Self { name: name.to_string(), items: Vec::new() }
    }

    fn push(mut self, kind: ItemKind) -> Self {
        self.items.push(Item { span: Span::default(), kind });
        self
    }

    /// `data name : type`
    pub fn data(self, name: &str, d: Declaration) -> Self {
        let bounds = d.bounds();
        self.push(ItemKind::Data { name: ident(name), integer: d.integer, dims: d.dims, bounds })
    }

    /// `param name`
    pub fn param(self, name: &str, d: Declaration) -> Self {
        let constraint = d.constraint.map(|c| (c, Span::default()));
        let bounds = d.bounds();
        self.push(ItemKind::Param { name: ident(name), dims: d.dims, constraint, bounds, prior: d.prior })
    }

    /// `let name = value`
    pub fn define(self, name: &str, value: Ex) -> Self {
        self.push(ItemKind::Let { name: ident(name), value: value.0 })
    }

    /// `report name = value`
    pub fn report(self, name: &str, value: Ex) -> Self {
        self.push(ItemKind::Report { name: ident(name), value: value.0 })
    }

    /// `function name(parameters) = ...`
    pub fn function<const N: usize>(self, name: &str, parameters: [&str; N], body: Block) -> Self {
        let parameters = parameters.iter().map(|p| ident(p)).collect();
        self.push(ItemKind::Function { name: ident(name), parameters, body: body.0 })
    }

    /// `scan name[index in first:last] from start = ...`
    pub fn scan(self, name: &str, positions: Positions, body: Block) -> Self {
        let Positions { index, first, last, start } = positions;
        self.push(ItemKind::Scan { name: ident(name), index, first, last, start, body: body.0 })
    }

    /// `report name[sizes] ~ draw`; of the declaration only the sizes count.
    pub fn report_draw(self, name: &str, d: Declaration, draw: DrawBuilder) -> Self {
        self.push(ItemKind::ReportDraw { name: ident(name), dims: d.dims, draw: draw.0 })
    }

    /// `observe value ~ draw`
    pub fn observe(self, value: impl Into<Ex>, draw: DrawBuilder) -> Self {
        self.push(ItemKind::Observe { value: value.into().0, draw: draw.0 })
    }

    /// `value ~ draw`
    pub fn tilde(self, value: impl Into<Ex>, draw: DrawBuilder) -> Self {
        self.push(ItemKind::Tilde { value: value.into().0, draw: draw.0 })
    }

    /// `log_density value`
    pub fn log_density(self, value: Ex) -> Self {
        self.push(ItemKind::LogDensity { value: value.0 })
    }

    /// `minimize value`
    pub fn minimize(self, value: Ex) -> Self {
        self.push(ItemKind::Minimize { value: value.0 })
    }

    /// `recording name`, with `standardized` after it or not.
    pub fn recording(self, name: &str, standardized: bool) -> Self {
        self.push(ItemKind::Recording { name: ident(name), standardized })
    }

    /// `factors name = k`
    pub fn factors(self, name: &str, k: i32) -> Self {
        self.push(ItemKind::Factors { name: ident(name), value: Ex::from(k).0 })
    }

    /// `response modality = family(...)`
    pub fn response(self, modality: &str, response: ResponseBuilder) -> Self {
        let ResponseBuilder { family, arguments, per_participant, weight } = response;
        self.push(ItemKind::Response { modality: ident(modality), family, arguments, per_participant, weight })
    }

    /// `latent name ~ matern32(length_scale = value)`
    pub fn matern32(self, name: &str, length_scale: impl Into<Ex>) -> Self {
        let argument = Argument {
            name: Some(ident("length_scale")),
            value: Some(length_scale.into().0),
            prior: None,
            bounds: None,
            span: Span::default(),
        };
        self.push(ItemKind::LatentProcess { name: ident(name), family: ident("matern32"), arguments: vec![argument] })
    }

    /// `latent name on grid(step)`, with one path for all
    pub fn grid(self, name: &str, step: impl Into<Ex>) -> Self {
        self.grid_of(name, step, Paths::Shared)
    }

    /// `latent name on grid(step) per participant`, or another choice of paths
    pub fn grid_of(self, name: &str, step: impl Into<Ex>, paths: Paths) -> Self {
        self.push(ItemKind::LatentGrid { name: ident(name), step: step.into().0, paths })
    }

    /// `loading name ~ prior`, `offset name ~ prior` or `noise name ~ prior`
    pub fn weight(self, role: WeightRole, name: &str, prior: Option<DrawBuilder>) -> Self {
        self.push(ItemKind::Weight { role, name: ident(name), prior: prior.map(|p| p.0) })
    }

    /// The canonical text of the model.
    pub fn text(&self) -> String {
        format(&Ast { name: ident(&self.name), items: self.items.clone() })
    }

    /// Checks the model.
    ///
    /// # Errors
    /// The same diagnostics as for a text; they point into [`Builder::text`].
    pub fn build(self) -> Result<BuiltModel, BuildError> {
        let source = Source::new(format!("{}.msrm", self.name), self.text());
        match check_text(&source) {
            Ok(model) => Ok(BuiltModel { model, source }),
            Err(diagnostics) => Err(BuildError { text: source, diagnostics }),
        }
    }
}
