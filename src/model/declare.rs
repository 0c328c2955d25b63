//! Checks of declarations and of what stands right of `~`: arguments, supports, truncation.

use super::dim::Dim;
use super::expression::{GATHER, count};
use super::laws::Law;
use super::scope::{Entry, Role, Scope};
use super::types::*;
use crate::base::{Code, Diagnostic, Span, suggest};
use crate::lang::ast::{self, Bounds, Expr, Ident};
use crate::lang::{DISCRETE, format_expression};
use crate::math::compound::Compound;
use crate::math::constraint::Constraint;
use crate::math::dist::{self, DISTRIBUTIONS, Distribution, Domain};
use crate::math::op::{Binary, Unary};
use crate::math::vector::{self, VECTOR_DISTRIBUTIONS};

/// What other programs call a distribution of the table.
const ELSEWHERE: [(&str, &str); 29] = [
    ("gaussian", "normal"),
    ("halfnormal", "half_normal"),
    ("halfcauchy", "half_cauchy"),
    ("studentt", "student_t"),
    ("inverse_gamma", "inv_gamma"),
    ("log_normal", "lognormal"),
    ("std_normal", "normal"),
    ("t", "student_t"),
    ("flat", "uniform"),
    ("inversegamma", "inv_gamma"),
    ("exp", "exponential"),
    ("expon", "exponential"),
    ("dnorm", "normal"),
    ("dunif", "uniform"),
    ("dgamma", "gamma"),
    ("dbeta", "beta"),
    ("dt", "student_t"),
    ("norm", "normal"),
    ("negative_binomial", "neg_binomial_2"),
    ("double_exponential", "laplace"),
    ("vonmises", "von_mises"),
    ("multivariate_normal", "multi_normal"),
    ("mvnormal", "multi_normal"),
    ("mv_normal", "multi_normal"),
    ("lkj", "lkj_cholesky"),
    ("lkj_corr_cholesky", "lkj_cholesky"),
    ("lkj_corr", "lkj_cholesky"),
    ("ordered_logit", "ordered_logistic"),
    ("zero_inflated_poisson", "zero_inflated"),
];

impl Scope {
    /// `data y : real[J] > 0`
    pub fn data(&mut self, name: &Ident, integer: bool, dims: &[Expr], bounds: Option<&Bounds>) -> Option<Data> {
        let shape = self.shape(dims);
        let mut side = |bound: Option<&ast::Bound>| -> Option<Option<Limit>> {
            let Some(bound) = bound else { return Some(None) };
            let value = self.known_scalar(&bound.value, "a bound of data")?;
            Some(Some(Limit { value, strict: bound.strict }))
        };
        let lower = side(bounds.and_then(|b| b.lower.as_ref()));
        let upper = side(bounds.and_then(|b| b.upper.as_ref()));
        let entry = Entry::value(shape.as_deref(), integer, true, Role::Data);
        self.declare(name, entry);
        let (lower, upper) = (lower?, upper?);
        self.ordered(lower.as_ref().map(|l| &l.value), upper.as_ref().map(|l| &l.value));
        Some(Data { name: name.name.clone(), integer, shape: shape?, lower, upper, span: name.span })
    }

    pub fn shape(&mut self, dims: &[Expr]) -> Option<Shape> {
        if dims.len() > 2 {
            return self.error(
                Diagnostic::error(Code::Shape, dims[2].span, "arrays have one or two axes")
                    .found(count(dims.len(), "axis").replace("axiss", "axes")),
            );
        }
        let dims: Vec<Option<Dim>> = dims.iter().map(|d| self.dim(d)).collect();
        dims.into_iter().collect()
    }

    /// A scalar known from the data.
    pub fn known_scalar(&mut self, expr: &Expr, what: &str) -> Option<Typed> {
        let typed = self.expr(expr)?;
        if !typed.data_only {
            return self.error(
                Diagnostic::error(Code::Bounds, expr.span, format!("{what} must be known from the data"))
                    .found(format!("`{}`, which depends on a parameter", format_expression(expr)))
                    .help("only bounds of parameters may depend on parameters"),
            );
        }
        if !typed.shape.is_empty() {
            let found = describe_shape(&typed.shape);
            return self.error(Diagnostic::error(Code::Shape, expr.span, format!("{what} is one number")).found(found));
        }
        Some(typed)
    }

    /// Reports bounds in the wrong order, where both are plain numbers.
    fn ordered(&mut self, lower: Option<&Typed>, upper: Option<&Typed>) {
        if let (Some(lo), Some(hi)) = (lower, upper)
            && let (Some(a), Some(b)) = (literal(lo), literal(hi))
            && a >= b
        {
            self.errors.push(
                Diagnostic::error(Code::Bounds, lo.span.to(hi.span), "the lower bound is not below the upper bound")
                    .expected("lower, then upper, as in `in [0, 1]`")
                    .found(format!("[{a}, {b}]")),
            );
        }
    }

    /// A parameter whose bounds are known from the data, and the term its prior adds.
    pub fn param(
        &mut self,
        name: &Ident,
        dims: &[Expr],
        bounds: Option<&Bounds>,
        prior: Option<&ast::Draw>,
    ) -> Option<(Param, Option<Draw>)> {
        for bound in bounds.iter().flat_map(|b| b.lower.iter().chain(&b.upper)) {
            self.known_scalar(&bound.value, "a bound")?;
        }
        self.parameter(name, dims, None, bounds, prior)
    }

    /// `param theta[J] > 0 ~ normal(mu, tau) noncentered`: the parameter and the term its prior adds.
    pub fn parameter(
        &mut self,
        name: &Ident,
        dims: &[Expr],
        constraint: Option<(Constraint, Span)>,
        bounds: Option<&Bounds>,
        prior: Option<&ast::Draw>,
    ) -> Option<(Param, Option<Draw>)> {
        let errors_before = self.errors.len();
        let shape = self.shape(dims);
        let mut side = |bound: Option<&ast::Bound>| bound.map(|b| self.bound(&b.value, shape.as_deref()));
        let lower = side(bounds.and_then(|b| b.lower.as_ref()));
        let upper = side(bounds.and_then(|b| b.upper.as_ref()));
        let draw = prior.map(|p| self.law(p, &name.name, shape.as_deref(), false));
        // The parameter is declared after its own prior is typed: `param x ~ normal(x, 1)` is an error.
        let entry = Entry::value(shape.as_deref(), false, false, Role::Param);
        self.declare(name, entry);
        let (mut lower, mut upper) =
            (lower.map_or(Some(None), |l| l.map(Some))?, upper.map_or(Some(None), |u| u.map(Some))?);
        self.ordered(lower.as_ref(), upper.as_ref());
        let shape = shape?;
        let (draw, law) = match draw {
            None => (None, None),
            Some(d) => {
                let (draw, law) = d?;
                (Some(draw), Some(law))
            }
        };
        if let Some(law) = law.as_ref().filter(|l| l.is_integer()) {
            return self.discrete_parameter(name, law.name());
        }
        let constraint = self.constraint(name, constraint, &shape, bounds, law.as_ref().zip(prior))?;
        let mut noncentered = None;
        let mut term = draw;
        let scalar = match (&law, constraint) {
            (Some(Law::Scalar(distribution)), None) => Some(*distribution),
            _ => None,
        };
        if let (Some(p), Some(draw), Some(distribution)) = (prior, &term, scalar) {
            if p.noncentered {
                if !distribution.location_scale || bounds.is_some() || p.truncation.is_some() {
                    let able: Vec<&str> = DISTRIBUTIONS.iter().filter(|d| d.location_scale).map(|d| d.name).collect();
                    return self.error(
                        Diagnostic::error(Code::Arguments, p.span, "this prior cannot be written `noncentered`")
                            .expected(format!("one of {} without bounds or truncation", able.join(", ")))
                            .help("drop `noncentered`"),
                    );
                }
                noncentered = term.take();
            } else {
                let (support_lower, support_upper) = self.support_bounds(distribution, draw)?;
                lower = self.tightest(lower, support_lower, true, &name.name, distribution);
                upper = self.tightest(upper, support_upper, false, &name.name, distribution);
                let both = lower.as_ref().zip(upper.as_ref()).map(|(lo, hi)| (literal(lo), literal(hi)));
                if let Some((Some(lo), Some(hi))) = both
                    && lo >= hi
                    && self.errors.len() == errors_before
                {
                    return self.error(
                        Diagnostic::error(Code::Bounds, p.span, format!("nothing is left of `{}`", name.name))
                            .expected("bounds, truncation and support with an interval in common")
                            .found(format!("above {lo} and below {hi}")),
                    );
                }
            }
        }
        let name_text = name.name.clone();
        Some((Param { name: name_text, shape, constraint, lower, upper, noncentered, span: name.span }, term))
    }

    fn discrete_parameter<T>(&mut self, name: &Ident, family: &str) -> Option<T> {
        self.error(
            Diagnostic::error(Code::Type, name.span, format!("parameter `{}` would be discrete", name.name))
                .expected("a continuous distribution")
                .found(format!("`{family}`"))
                .help(DISCRETE),
        )
    }

    /// Bounds that the distribution and its truncation put on a parameter.
    pub fn support_bounds(
        &mut self,
        distribution: &Distribution,
        draw: &Draw,
    ) -> Option<(Option<Typed>, Option<Typed>)> {
        let (lower_end, upper_end) = distribution.support.bounding_arguments();
        let ends = [lower_end, upper_end].map(|i| i.map(|i| &draw.arguments[i]));
        if ends.iter().flatten().any(|a| !a.data_only || !a.shape.is_empty()) {
            return self.error(
                Diagnostic::error(
                    Code::Bounds,
                    draw.span,
                    format!("the ends of a `{}` prior must be numbers known from the data", distribution.name),
                )
                .help("give a parameter a fixed range and rescale it, for example `let x = lo + (hi - lo) * u`"),
            );
        }
        let (lo, hi) = constant_support(distribution);
        let number = |v: f64| Typed::number(v, draw.span);
        let (mut lower, mut upper) = (ends[0].cloned().or(lo.map(number)), ends[1].cloned().or(hi.map(number)));
        if let Some((lo, hi)) = &draw.truncation {
            lower = tighter(Some(lo.clone()).filter(|t| literal(t) != Some(f64::NEG_INFINITY)), lower, true);
            upper = tighter(Some(hi.clone()).filter(|t| literal(t) != Some(f64::INFINITY)), upper, false);
        }
        Some((lower, upper))
    }

    /// The tighter of a declared bound and the distribution's; a declared bound outside the support is an error.
    fn tightest(
        &mut self,
        declared: Option<Typed>,
        support: Option<Typed>,
        is_lower: bool,
        name: &str,
        distribution: &Distribution,
    ) -> Option<Typed> {
        let (Some(d), Some(s)) = (&declared, &support) else { return declared.or(support) };
        match (literal(d), literal(s)) {
            (Some(a), Some(b)) if (is_lower && a < b) || (!is_lower && a > b) => self.error(
                Diagnostic::error(
                    Code::Bounds,
                    d.span,
                    format!("`{name}` is allowed where `{}` has no density", distribution.name),
                )
                .expected(format!("a bound {} {b}", if is_lower { "not below" } else { "not above" }))
                .found(format!("{a}"))
                .help("drop the bound; a parameter takes the support of its prior"),
            ),
            _ => tighter(declared, support, is_lower),
        }
    }

    /// Types `family(arguments) in [lo, hi]` for a value called `name` of shape `shape`.
    pub fn draw(
        &mut self,
        draw: &ast::Draw,
        name: &str,
        shape: Option<&[Dim]>,
    ) -> Option<(Draw, &'static Distribution)> {
        if let Some(censoring) = &draw.censoring {
            return self.error(
                Diagnostic::error(Code::Statement, censoring.marks.span, "only data can be censored")
                    .help("`censored above where ...` stands behind the distribution of an `observe`"),
            );
        }
        let Some(distribution) = dist::find(&draw.family.name) else {
            for argument in &draw.arguments {
                self.expr(argument);
            }
            return self.unknown_distribution(&draw.family);
        };
        let names: Vec<&str> = distribution.arguments.iter().map(|a| a.name).collect();
        let arguments = self.counted_arguments(draw, distribution.name, &names, distribution.doc)?;
        let shape = shape?;
        let mut ok = true;
        for (argument, spec) in arguments.iter().zip(distribution.arguments) {
            ok &= self.argument(argument, spec.name, spec.domain, distribution, name, shape);
        }
        let truncation = match &draw.truncation {
            None => None,
            Some((lo, hi)) => {
                let (a, b) = (self.known_scalar(lo, "truncation"), self.known_scalar(hi, "truncation"));
                let (a, b) = (a?, b?);
                self.ordered(Some(&a), Some(&b));
                self.has_tails(distribution, &arguments, draw.span, "truncated")?;
                Some((a, b))
            }
        };
        if !ok {
            return None;
        }
        let family = distribution.name.to_string();
        let typed = Draw { family, arguments, truncation, censoring: None, components: vec![], span: draw.span };
        Some((typed, distribution))
    }

    /// The typed arguments of a draw, which must be as many as `names`.
    pub(super) fn counted_arguments(
        &mut self,
        draw: &ast::Draw,
        family: &str,
        names: &[&str],
        doc: &str,
    ) -> Option<Vec<Typed>> {
        let typed: Vec<Option<Typed>> = draw.arguments.iter().map(|a| self.expr(a)).collect();
        if typed.len() != names.len() {
            return self.error(
                Diagnostic::error(
                    Code::Arguments,
                    draw.span,
                    format!("`{family}` takes {}", count(names.len(), "argument")),
                )
                .expected(format!("`{family}({})`", names.join(", ")))
                .found(count(typed.len(), "argument"))
                .help(doc),
            );
        }
        typed.into_iter().collect()
    }

    fn unknown_distribution<T>(&mut self, family: &Ident) -> Option<T> {
        let name = family.name.to_lowercase();
        if vector::find(&name).is_some() || Compound::find(&name).is_some() {
            let text = format!("`{name}` cannot stand here");
            return self.error(
                Diagnostic::error(Code::UnknownFunction, family.span, text)
                    .expected("a distribution of single numbers"),
            );
        }
        let known = ELSEWHERE.iter().find(|e| e.0 == name).map(|e| e.1);
        let all = || {
            let vectors = VECTOR_DISTRIBUTIONS.iter().map(|d| d.name);
            DISTRIBUTIONS.iter().map(|d| d.name).chain(vectors).chain(Compound::ALL.map(Compound::name))
        };
        let help = match known.or_else(|| suggest(&name, all())) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("there are: {}", all().collect::<Vec<_>>().join(", ")),
        };
        self.error(
            Diagnostic::error(
                Code::UnknownFunction,
                family.span,
                format!("there is no distribution `{}`", family.name),
            )
            .help(help),
        )
    }

    fn argument(
        &mut self,
        argument: &Typed,
        what: &str,
        domain: Domain,
        distribution: &Distribution,
        name: &str,
        shape: &[Dim],
    ) -> bool {
        let whole = domain == Domain::NonNegativeInteger;
        if !argument.shape.is_empty() && argument.shape != shape {
            self.errors.push(
                Diagnostic::error(
                    Code::Shape,
                    argument.span,
                    format!("`{what}` of `{}` has the wrong shape", distribution.name),
                )
                .expected(if shape.is_empty() {
                    "a scalar".to_string()
                } else {
                    format!("a scalar or {}, the shape of `{name}`", describe_shape(shape))
                })
                .found(describe_shape(&argument.shape))
                .help(if shape.is_empty() {
                    "reduce it, or take one element, as in `theta[1]`"
                } else {
                    GATHER
                }),
            );
            return false;
        }
        if whole && !(argument.integer && argument.data_only) {
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
        if let Some(value) = literal(argument)
            && !domain.contains(value)
        {
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

    /// Whether probabilities of intervals and their derivatives are there for what is `truncated` or `censored`.
    pub fn has_tails(
        &mut self,
        distribution: &Distribution,
        arguments: &[Typed],
        span: Span,
        what: &str,
    ) -> Option<()> {
        if distribution.support.is_integer() {
            let able: Vec<&str> = DISTRIBUTIONS.iter().filter(|d| !d.support.is_integer()).map(|d| d.name).collect();
            return self.error(
                Diagnostic::error(Code::Bounds, span, format!("`{}` cannot be {what}", distribution.name))
                    .expected(format!("one of {}", able.join(", "))),
            );
        }
        for (argument, spec) in arguments.iter().zip(distribution.arguments) {
            if !spec.mass_gradient && !argument.data_only {
                return self.error(
                    Diagnostic::error(
                        Code::Bounds,
                        argument.span,
                        format!("a {what} `{}` needs its `{}` known from the data", distribution.name, spec.name),
                    )
                    .help(format!("fix this argument, or let the distribution not be {what}")),
                );
            }
        }
        Some(())
    }
}

/// The value of a plain number, also of `inf` and `-inf`.
pub(super) fn literal(typed: &Typed) -> Option<f64> {
    match &typed.kind {
        TypedKind::Number(n) => Some(*n),
        TypedKind::Unary(crate::math::op::Unary::Neg, inner) => literal(inner).map(|v| -v),
        _ => None,
    }
}

/// The value of arithmetic over plain numbers, such as `1 / 6`.
pub(super) fn constant(typed: &Typed) -> Option<f64> {
    match &typed.kind {
        TypedKind::Number(n) => Some(*n),
        TypedKind::Unary(op, inner) => constant(inner).map(|v| op.value(v)),
        TypedKind::Binary(op, l, r) => Some(op.value(constant(l)?, constant(r)?)),
        _ => None,
    }
}

/// Finite ends of the support, where they do not depend on arguments.
pub(super) fn constant_support(distribution: &Distribution) -> (Option<f64>, Option<f64>) {
    if distribution.support.depends_on_arguments() {
        return (None, None);
    }
    let placeholder = vec![1.0; distribution.arguments.len()];
    let (lo, hi) = distribution.support.bounds(&placeholder);
    (Some(lo).filter(|v| v.is_finite()), Some(hi).filter(|v| v.is_finite()))
}

/// The bound that leaves less room; where it takes the data to tell, the binder takes it by value.
fn tighter(a: Option<Typed>, b: Option<Typed>, is_lower: bool) -> Option<Typed> {
    let (a, b) = match (a, b) {
        (Some(a), Some(b)) => (a, b),
        (a, b) => return a.or(b),
    };
    match (literal(&a), literal(&b)) {
        (Some(x), Some(y)) => Some(if (x >= y) == is_lower { a } else { b }),
        _ if !a.data_only || !a.shape.is_empty() => Some(moving_pick(a, b, is_lower)),
        _ => Some(pick(if is_lower { Reduction::Maximum } else { Reduction::Minimum }, a, b)),
    }
}

/// The larger or smaller of a bound that depends on parameters and one number: (a + b +- |a - b|) / 2.
fn moving_pick(a: Typed, b: Typed, larger: bool) -> Typed {
    let (span, shape, data_only) = (a.span, a.shape.clone(), a.data_only);
    let made = |kind: TypedKind| Typed { kind, shape: shape.clone(), integer: false, data_only, span };
    let binary = |op: Binary, l: Typed, r: Typed| made(TypedKind::Binary(op, Box::new(l), Box::new(r)));
    let gap = binary(Binary::Sub, a.clone(), b.clone());
    let distance = made(TypedKind::Unary(Unary::Abs, Box::new(gap)));
    let sum = binary(Binary::Add, a, b);
    let twice = binary(if larger { Binary::Add } else { Binary::Sub }, sum, distance);
    binary(Binary::Mul, twice, Typed::number(0.5, span))
}

/// The larger or smaller of two scalars.
fn pick(reduction: Reduction, a: Typed, b: Typed) -> Typed {
    let span = a.span;
    let both = TypedKind::Pair(Box::new(a), Box::new(b));
    let pair = Typed { kind: both, shape: vec![Dim::Size(2)], integer: false, data_only: true, span };
    Typed { kind: TypedKind::Reduce(reduction, Box::new(pair)), shape: vec![], integer: false, data_only: true, span }
}
