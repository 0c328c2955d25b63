//! What stands right of `~` beyond one distribution per element: distributions of vectors, mixtures and their kin,
//! censored observations, and the constraints that tie the elements of a parameter together.

use super::declare::literal;
use super::dim::Dim;
use super::expression::{GATHER, count};
use super::scope::Scope;
use super::types::*;
use crate::base::{Code, Diagnostic, Span};
use crate::lang::ast::{self, Bounds, Expr, ExprKind, Ident};
use crate::lang::format_expression;
use crate::math::compound::{Compound, MAX_COMPONENTS};
use crate::math::constraint::Constraint;
use crate::math::dist::{Distribution, Domain};
use crate::math::vector::{self, Outcome, Part, VectorArgument, VectorDistribution};

/// What a family of the language is.
#[derive(Debug, Clone, Copy)]
pub(super) enum Law {
    /// One distribution, element by element.
    Scalar(&'static Distribution),
    /// A distribution of whole vectors.
    Vector(&'static VectorDistribution),
    /// Distributions put together; `true` for counts.
    Compound(Compound, bool),
}

impl Law {
    pub fn name(&self) -> &'static str {
        match self {
            Law::Scalar(d) => d.name,
            Law::Vector(d) => d.name,
            Law::Compound(c, _) => c.name(),
        }
    }

    /// Whether only whole numbers are drawn.
    pub fn is_integer(&self) -> bool {
        match self {
            Law::Scalar(d) => d.support.is_integer(),
            Law::Vector(d) => d.integer,
            Law::Compound(_, integer) => *integer,
        }
    }
}

impl Scope {
    /// Types whatever stands right of `~` for a value called `name` of shape `shape`.
    pub fn law(&mut self, draw: &ast::Draw, name: &str, shape: Option<&[Dim]>, observed: bool) -> Option<(Draw, Law)> {
        let family = draw.family.name.as_str();
        let vector = vector::find(family);
        let compound = Compound::find(family);
        if vector.is_some() || compound.is_some() {
            self.plain_behind(draw)?;
        }
        if let Some(distribution) = vector {
            return Some((self.vector_draw(draw, distribution, name, shape)?, Law::Vector(distribution)));
        }
        if let Some(kind) = compound {
            return self.compound_draw(draw, kind, name, shape);
        }
        let Some(censoring) = draw.censoring.as_ref().filter(|_| observed) else {
            let (draw, distribution) = self.draw(draw, name, shape)?;
            return Some((draw, Law::Scalar(distribution)));
        };
        if draw.truncation.is_some() {
            return self.error(
                Diagnostic::error(Code::Bounds, draw.span, "an observation is truncated or censored, not both")
                    .help("drop `in [...]` or `censored ...`"),
            );
        }
        let plain = ast::Draw { censoring: None, ..draw.clone() };
        let marks = self.expr(&censoring.marks);
        let (mut typed, distribution) = self.draw(&plain, name, shape)?;
        let (marks, shape) = (marks?, shape?);
        self.has_tails(distribution, &typed.arguments, draw.span, "censored")?;
        if !(marks.integer && marks.data_only && marks.shape == shape) {
            let whole = if marks.integer { "int" } else { "real" };
            return self.error(
                Diagnostic::error(Code::Type, marks.span, "the marks of censored values are 0 or 1 for each of them")
                    .expected(format!("`int` data of the shape of `{name}`, {}", describe_shape(shape)))
                    .found(format!("{whole}, {}", describe_shape(&marks.shape)))
                    .help("declare them like `data lost : int[N] in [0, 1]`"),
            );
        }
        typed.censoring = Some(Box::new(Censoring { above: censoring.above, marks }));
        Some((typed, Law::Scalar(distribution)))
    }

    /// Neither truncation nor the like may stand behind a distribution of vectors or a mixture.
    /// The name of a distribution that is there, but not one of single numbers.
    pub fn not_single_numbers<'a>(&self, family: &'a ast::Ident) -> Option<&'a str> {
        let name = family.name.as_str();
        (vector::find(name).is_some() || Compound::find(name).is_some()).then_some(name)
    }

    fn plain_behind(&mut self, draw: &ast::Draw) -> Option<()> {
        let what = if draw.truncation.is_some() {
            "truncated"
        } else if draw.censoring.is_some() {
            "censored"
        } else if draw.noncentered {
            "written `noncentered`"
        } else {
            return Some(());
        };
        self.error(
            Diagnostic::error(Code::Arguments, draw.span, format!("`{}` cannot be {what}", draw.family.name))
                .help("drop what stands behind its arguments"),
        )
    }

    fn vector_draw(
        &mut self,
        draw: &ast::Draw,
        distribution: &'static VectorDistribution,
        name: &str,
        shape: Option<&[Dim]>,
    ) -> Option<Draw> {
        let names: Vec<&str> = distribution.arguments.iter().map(|a| a.name).collect();
        let arguments = self.counted_arguments(draw, distribution.name, &names, distribution.doc)?;
        let shape = shape?;
        let (rows, size) = self.draws_of(distribution, name, shape, &arguments, draw.span)?;
        let mut ok = true;
        for (argument, spec) in arguments.iter().zip(distribution.arguments) {
            ok &= self.vector_argument(argument, spec, distribution, rows, &size);
        }
        if !ok {
            return None;
        }
        let family = distribution.name.to_string();
        Some(Draw { family, arguments, truncation: None, censoring: None, components: vec![], span: draw.span })
    }

    /// Number of draws (`None` for one) and size of one, from the shape of the value.
    fn draws_of<'a>(
        &mut self,
        distribution: &VectorDistribution,
        name: &str,
        shape: &'a [Dim],
        arguments: &[Typed],
        span: Span,
    ) -> Option<(Option<&'a Dim>, Dim)> {
        let (expected, help) = match (distribution.outcome, shape) {
            (Outcome::Vector, [k]) => return Some((None, k.clone())),
            (Outcome::Vector, [rows, k]) => return Some((Some(rows), k.clone())),
            (Outcome::Vector, _) => ("a vector, or a matrix with one draw per row", "a draw is a whole vector"),
            (Outcome::Matrix, [a, b]) if a == b => return Some((None, a.clone())),
            (Outcome::Matrix, _) => ("a square matrix", "declare it like `param L[K, K] : corr_cholesky`"),
            (Outcome::Category, [] | [_]) => {
                let vector = distribution.arguments.iter().position(|a| a.part == Part::Vector);
                let size = vector.and_then(|i| arguments[i].shape.last().cloned());
                // Without a last axis the argument is reported by itself.
                return Some((shape.first(), size.unwrap_or(Dim::Size(1))));
            }
            (Outcome::Category, _) => ("a number, or a vector with one category per element", "take one column"),
        };
        self.error(
            Diagnostic::error(Code::Shape, span, format!("`{name}` has no shape for `{}`", distribution.name))
                .expected(expected)
                .found(describe_shape(shape))
                .help(help),
        )
    }

    fn vector_argument(
        &mut self,
        argument: &Typed,
        spec: &VectorArgument,
        distribution: &VectorDistribution,
        rows: Option<&Dim>,
        size: &Dim,
    ) -> bool {
        let VectorArgument { name: what, part, domain } = *spec;
        let vector = vec![size.clone()];
        let by_row: Shape = rows.into_iter().chain([size]).cloned().collect();
        let one_per_row: Shape = rows.into_iter().cloned().collect();
        let allowed: Vec<Shape> = match part {
            Part::Scalar => vec![vec![]],
            Part::PerDraw | Part::CountPerDraw => vec![vec![], one_per_row],
            Part::Centre => vec![vec![], vector, by_row],
            Part::Vector => vec![vector, by_row],
            Part::Matrix => vec![vec![size.clone(), size.clone()]],
        };
        if !allowed.contains(&argument.shape) {
            let mut words: Vec<String> = allowed.iter().map(|s| describe_shape(s)).collect();
            words.dedup();
            if distribution.outcome == Outcome::Category && part == Part::Vector && argument.shape.is_empty() {
                words = vec!["a vector with one number per category, or a row per draw".into()];
            }
            self.errors.push(
                Diagnostic::error(
                    Code::Shape,
                    argument.span,
                    format!("`{what}` of `{}` has the wrong shape", distribution.name),
                )
                .expected(words.join(", or "))
                .found(describe_shape(&argument.shape))
                .help(format!("`{}`: {}", distribution.name, distribution.doc)),
            );
            return false;
        }
        if part == Part::CountPerDraw && !(argument.integer && argument.data_only) {
            self.errors.push(
                Diagnostic::error(
                    Code::Type,
                    argument.span,
                    format!("`{what}` of `{}` is a whole number of the data", distribution.name),
                )
                .help("declare it with `int`"),
            );
            return false;
        }
        if let Some(value) = literal(argument).filter(|v| !domain.contains(*v)) {
            self.errors.push(
                Diagnostic::error(
                    Code::Bounds,
                    argument.span,
                    format!("`{what}` of `{}` cannot be {value}", distribution.name),
                )
                .expected(domain.describe()),
            );
            return false;
        }
        true
    }

    /// `mixture(w, normal(a, s), normal(b, t))`, `zero_inflated(p, poisson(lambda))`
    fn compound_draw(
        &mut self,
        draw: &ast::Draw,
        kind: Compound,
        name: &str,
        shape: Option<&[Dim]>,
    ) -> Option<(Draw, Law)> {
        let enough = match kind {
            Compound::Mixture => (3..=1 + MAX_COMPONENTS).contains(&draw.arguments.len()),
            Compound::ZeroInflated | Compound::Hurdle => draw.arguments.len() == 2,
        };
        if !enough {
            let needs = match kind {
                Compound::Mixture => format!("weights and 2 to {MAX_COMPONENTS} distributions"),
                Compound::ZeroInflated | Compound::Hurdle => "a probability and one distribution".to_string(),
            };
            return self.error(
                Diagnostic::error(Code::Arguments, draw.span, format!("`{}` takes {needs}", kind.name()))
                    .expected(format!("for example `{}`", kind.usage()))
                    .found(count(draw.arguments.len(), "argument")),
            );
        }
        let weights = self.expr(&draw.arguments[0]);
        let parts: Vec<Option<(Draw, &'static Distribution)>> =
            draw.arguments[1..].iter().map(|part| self.component(part, kind, name, shape)).collect();
        let (weights, shape) = (weights?, shape?);
        let parts = parts.into_iter().collect::<Option<Vec<_>>>()?;
        let integer = parts[0].1.support.is_integer();
        if let Some((part, other)) = parts.iter().find(|p| p.1.support.is_integer() != integer) {
            return self.error(
                Diagnostic::error(Code::Type, part.span, "components are all counts or all continuous")
                    .found(format!("`{}` and `{}`", parts[0].1.name, other.name)),
            );
        }
        let (lowest, _) = super::declare::constant_support(parts[0].1);
        if kind == Compound::ZeroInflated && !integer {
            return self.error(
                Diagnostic::error(Code::Arguments, parts[0].0.span, "`zero_inflated` is for counts")
                    .found(format!("`{}`, which is continuous", parts[0].1.name))
                    .help("for positive numbers with zeros of their own, write `hurdle(p, ...)`"),
            );
        }
        if kind == Compound::Hurdle && lowest.is_none_or(|lo| lo < 0.0) {
            return self.error(
                Diagnostic::error(Code::Arguments, parts[0].0.span, "a `hurdle` needs a distribution above zero")
                    .found(format!("`{}`", parts[0].1.name)),
            );
        }
        self.weights_fit(&weights, kind, parts.len(), shape, name)?;
        let components = parts.into_iter().map(|p| p.0).collect();
        let typed = Draw {
            family: kind.name().to_string(),
            arguments: vec![weights],
            truncation: None,
            censoring: None,
            components,
            span: draw.span,
        };
        Some((typed, Law::Compound(kind, integer)))
    }

    /// One distribution inside the brackets of another.
    fn component(
        &mut self,
        part: &Expr,
        kind: Compound,
        name: &str,
        shape: Option<&[Dim]>,
    ) -> Option<(Draw, &'static Distribution)> {
        let ExprKind::Call(family, arguments) = &part.kind else {
            return self.error(
                Diagnostic::error(Code::Arguments, part.span, format!("a part of `{}` is a distribution", kind.name()))
                    .expected(format!("for example `{}`", kind.usage()))
                    .found(format!("`{}`", format_expression(part))),
            );
        };
        if Compound::find(&family.name).is_some() || vector::find(&family.name).is_some() {
            return self.error(
                Diagnostic::error(
                    Code::Arguments,
                    part.span,
                    format!("`{}` cannot be a part of `{}`", family.name, kind.name()),
                )
                .expected("a distribution of single numbers"),
            );
        }
        let draw = ast::Draw {
            family: family.clone(),
            arguments: arguments.clone(),
            truncation: None,
            censoring: None,
            noncentered: false,
            span: part.span,
        };
        self.draw(&draw, name, shape)
    }

    fn weights_fit(&mut self, weights: &Typed, kind: Compound, parts: usize, shape: &[Dim], name: &str) -> Option<()> {
        let found = &weights.shape;
        let (fits, expected) = match kind {
            Compound::Mixture => {
                let size = |d: &Dim| !matches!(d, Dim::Size(n) if *n != parts as i64);
                let fits = match (found.as_slice(), shape) {
                    ([], _) => parts == 2,
                    ([k], _) => size(k),
                    ([n, k], [rows]) => n == rows && size(k),
                    _ => false,
                };
                let scalar = if parts == 2 { ", or the probability of the first component" } else { "" };
                (fits, format!("a vector of {parts} weights, a row of {parts} per value{scalar}"))
            }
            Compound::ZeroInflated | Compound::Hurdle => (
                found.is_empty() || found == shape,
                format!("one probability, or one per element of `{name}`, {}", describe_shape(shape)),
            ),
        };
        if let Some(value) = literal(weights).filter(|v| !Domain::Probability.contains(*v)) {
            return self.error(
                Diagnostic::error(Code::Bounds, weights.span, format!("`{}` has no weight {value}", kind.name()))
                    .expected(Domain::Probability.describe()),
            );
        }
        if fits {
            return Some(());
        }
        self.error(
            Diagnostic::error(Code::Shape, weights.span, format!("the weights of `{}` do not fit", kind.name()))
                .expected(expected)
                .found(describe_shape(found))
                .help(GATHER),
        )
    }

    /// A bound of a parameter: one number, or one per element where it depends on parameters or data.
    pub fn bound(&mut self, expr: &Expr, shape: Option<&[Dim]>) -> Option<Typed> {
        let typed = self.expr(expr)?;
        let shape = shape?;
        if typed.shape.is_empty() || typed.shape == shape {
            return Some(typed);
        }
        self.error(
            Diagnostic::error(Code::Shape, expr.span, "a bound has the wrong shape")
                .expected(if shape.is_empty() {
                    "a scalar".to_string()
                } else {
                    format!("a scalar or {}, the shape of the parameter", describe_shape(shape))
                })
                .found(describe_shape(&typed.shape)),
        )
    }

    /// The constraint that is written, or that comes with the prior, checked against shape, bounds and prior.
    pub fn constraint(
        &mut self,
        name: &Ident,
        written: Option<(Constraint, Span)>,
        shape: &[Dim],
        bounds: Option<&Bounds>,
        prior: Option<(&Law, &ast::Draw)>,
    ) -> Option<Option<Constraint>> {
        let implied = match prior {
            Some((Law::Vector(distribution), draw)) => distribution.constraint.map(|c| (c, draw.span)),
            _ => None,
        };
        let Some((constraint, span)) = written.or(implied) else { return Some(None) };
        let word = constraint.name();
        let fits = match shape {
            [a, b] if constraint.is_matrix() => a == b,
            [_] | [_, _] => !constraint.is_matrix(),
            _ => false,
        };
        if !fits {
            let expected = if constraint.is_matrix() {
                "a square matrix, as in `L[K, K]`"
            } else {
                "a vector, or a matrix of which every row is one"
            };
            return self.error(
                Diagnostic::error(Code::Shape, span, format!("`{}` has no shape for `{word}`", name.name))
                    .expected(expected)
                    .found(describe_shape(shape)),
            );
        }
        if let Some(bounds) = bounds {
            return self.error(
                Diagnostic::error(Code::Bounds, bounds.span, format!("`{word}` leaves no room for bounds"))
                    .found(constraint.describe())
                    .help("drop the bounds"),
            );
        }
        let Some((law, draw)) = prior else { return Some(Some(constraint)) };
        let of_its_own = match constraint {
            Constraint::Simplex => Some("dirichlet"),
            Constraint::CorrCholesky => Some("lkj_cholesky"),
            Constraint::Ordered | Constraint::PositiveOrdered => None,
        };
        let wrong = match of_its_own {
            Some(own) => law.name() != own,
            None => implied.is_some_and(|i| i.0 != constraint),
        };
        if wrong {
            let text = format!("`{}` cannot be the prior of a parameter that is `{word}`", law.name());
            let error = Diagnostic::error(Code::Arguments, draw.span, text).found(constraint.describe());
            let own = of_its_own.map(|o| format!("`{o}(...)`")).unwrap_or("a distribution of numbers".into());
            return self.error(error.expected(own));
        }
        if draw.noncentered || draw.truncation.is_some() {
            let what = if draw.noncentered { "`noncentered`" } else { "truncation" };
            return self.error(
                Diagnostic::error(Code::Arguments, draw.span, format!("{what} and `{word}` do not go together"))
                    .help("drop one of the two"),
            );
        }
        if let Law::Scalar(distribution) = law {
            let (lo, hi) = super::declare::constant_support(distribution);
            let least = if constraint == Constraint::PositiveOrdered { 0.0 } else { f64::NEG_INFINITY };
            if hi.is_some() || lo.is_some_and(|lo| lo > least) || distribution.support.depends_on_arguments() {
                let text = format!("`{}` is allowed where `{}` has no density", name.name, distribution.name);
                let error = Diagnostic::error(Code::Bounds, draw.span, text).found(constraint.describe());
                return self.error(if hi.is_none() && lo == Some(0.0) {
                    error.help(format!("declare `{}` as `: positive_ordered`", name.name))
                } else {
                    error.expected(if least == 0.0 {
                        "a distribution of all positive numbers"
                    } else {
                        "a distribution of all real numbers"
                    })
                });
            }
        }
        Some(Some(constraint))
    }
}
