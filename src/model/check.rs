//! The walk over a syntax tree that turns it into a checked model, or into all its errors.

use super::declare::constant_support;
use super::dim::Dim;
use super::laws::Law;
use super::scan::Written;
use super::scope::{Entry, Role, Scope};
use super::shared::Draft;
use super::types::*;
use crate::base::{Code, Diagnostic, Source, Span};
use crate::lang::ast::{self, Ast, Ident, ItemKind, WeightRole};
use crate::lang::{DISCRETE, Partial, format_expression, parse_partly};
use crate::math::constraint::Constraint;

/// Parses and checks a model text.
///
/// # Errors
/// All syntax errors, and all errors of names, types, shapes, bounds and forms in the statements that can be read.
pub fn check_text(source: &Source) -> Result<Model, Vec<Diagnostic>> {
    let Partial { ast, mut errors, lost } = parse_partly(source);
    if errors.is_empty() {
        return check(&ast);
    }
    let mut checker = Checker::new(&ast);
    // What a broken line declares is not reported as missing, and a form with broken parts is not judged.
    checker.scope.lose(&lost);
    checker.shared.broken = true;
    for item in &ast.items {
        checker.item(&item.kind, item.span);
    }
    errors.append(&mut checker.scope.errors);
    errors.sort_by_key(|e| e.span.start);
    Err(errors)
}

/// Checks a syntax tree. Everything that can be known without data is checked here.
///
/// # Errors
/// All errors of names, types, shapes, bounds and forms.
pub fn check(ast: &Ast) -> Result<Model, Vec<Diagnostic>> {
    let mut checker = Checker::new(ast);
    for item in &ast.items {
        checker.item(&item.kind, item.span);
    }
    checker.finish(ast)
}

/// The name that a statement declares.
fn declared(kind: &ItemKind) -> Option<&Ident> {
    match kind {
        ItemKind::Data { name, .. }
        | ItemKind::Param { name, .. }
        | ItemKind::Let { name, .. }
        | ItemKind::Report { name, .. }
        | ItemKind::Function { name, .. }
        | ItemKind::Scan { name, .. }
        | ItemKind::ReportDraw { name, .. }
        | ItemKind::Recording { name, .. }
        | ItemKind::Factors { name, .. }
        | ItemKind::LatentProcess { name, .. }
        | ItemKind::LatentGrid { name, .. }
        | ItemKind::Weight { name, .. } => Some(name),
        ItemKind::Observe { .. }
        | ItemKind::LogDensity { .. }
        | ItemKind::Tilde { .. }
        | ItemKind::Minimize { .. }
        | ItemKind::Response { .. } => None,
    }
}

/// A prior that serves as an example.
fn usual_prior(role: WeightRole) -> &'static str {
    match role {
        WeightRole::Noise => "lognormal(-2, 0.7)",
        WeightRole::Loading | WeightRole::Offset => "normal(0, 1)",
    }
}

#[derive(Default)]
struct Checker {
    scope: Scope,
    shared: Draft,
    data: Vec<Data>,
    statements: Vec<Statement>,
    minimized: bool,
    /// Where a `report` draws.
    drawn: Vec<Span>,
    /// Where the model writes `~`.
    densities: Vec<Span>,
    /// Loadings, offsets and noise variances without a prior.
    bare_weights: Vec<(WeightRole, Ident)>,
}

impl Checker {
    fn new(ast: &Ast) -> Checker {
        let mut checker = Checker::default();
        let names = ast.items.iter().filter_map(|item| declared(&item.kind));
        checker.scope.anywhere = names.map(|n| (n.name.clone(), n.span)).collect();
        checker
    }

    fn item(&mut self, kind: &ItemKind, span: Span) {
        // A report is a function of the optimum, so it may come last; everything else belongs into the objective.
        if self.minimized && !matches!(kind, ItemKind::Report { .. } | ItemKind::ReportDraw { .. }) {
            let error = match kind {
                ItemKind::Minimize { .. } => Diagnostic::error(Code::Statement, span, "this is a second `minimize`")
                    .help("add the two objectives up in one `minimize`"),
                _ => Diagnostic::error(Code::Statement, span, "only `report` may follow `minimize`")
                    .help("move this line above `minimize`"),
            };
            self.scope.errors.push(error);
            return;
        }
        match kind {
            ItemKind::Data { name, integer, dims, bounds } => {
                let data = self.scope.data(name, *integer, dims, bounds.as_ref());
                self.data.extend(data);
            }
            ItemKind::Param { name, dims, constraint, bounds, prior } => {
                self.densities.extend(prior.as_ref().map(|p| p.span));
                let (bounds, prior) = (bounds.as_ref(), prior.as_ref());
                if let Some((param, draw)) = self.scope.parameter(name, dims, *constraint, bounds, prior) {
                    let value = self.named(name, &param.shape);
                    self.statements.push(Statement::Param(param));
                    if let Some(draw) = draw {
                        self.density(&name.name, value, draw);
                    }
                }
            }
            ItemKind::Let { name, value } => {
                if let Some(value) = self.define(name, value) {
                    self.statements.push(Statement::Let { name: name.name.clone(), value });
                }
            }
            ItemKind::Report { name, value } => {
                self.scope.reporting = true;
                self.scope.met_generated = false;
                let value = self.define(name, value);
                self.scope.reporting = false;
                if let Some(value) = value {
                    self.statements.push(Statement::Report { name: name.name.clone(), value });
                }
            }
            ItemKind::Function { name, parameters, body } => self.scope.function(name, parameters, body),
            ItemKind::Scan { name, index, first, last, start, body } => {
                let written = Written { name, index, first, last, start: start.as_ref(), body };
                let value = self.scope.recursion(&written);
                if let Some(value) = self.declare_value(name, value) {
                    self.statements.push(Statement::Let { name: name.name.clone(), value });
                }
            }
            ItemKind::ReportDraw { name, dims, draw } => self.generated(name, dims, draw),
            ItemKind::Observe { value, draw } => {
                self.densities.push(draw.span);
                self.reject_noncentered(draw);
                if self.shared.observe(&mut self.scope, value, draw) {
                    self.statements.push(Statement::SharedObserve);
                } else {
                    self.tilde(value, draw, true);
                }
            }
            ItemKind::LogDensity { value } => self.log_density(value),
            ItemKind::Tilde { value, draw } => {
                self.densities.push(draw.span);
                self.reject_noncentered(draw);
                self.tilde(value, draw, false);
            }
            ItemKind::Minimize { value } => self.minimize(value),
            ItemKind::Recording { name, standardized } => self.shared.recording(&mut self.scope, name, *standardized),
            ItemKind::Factors { name, value } => self.shared.factors(&mut self.scope, name, value),
            ItemKind::Response { modality, family, arguments, per_participant, weight } => {
                let weight = weight.as_ref();
                self.shared.response(&mut self.scope, modality, family, arguments, *per_participant, weight);
            }
            ItemKind::LatentProcess { name, family, arguments } => {
                self.shared.process(&mut self.scope, name, family, arguments);
            }
            ItemKind::LatentGrid { name, step, paths } => self.shared.grid(&mut self.scope, name, step, *paths),
            ItemKind::Weight { role, name, prior } => self.weight(*role, name, prior.as_ref()),
        }
    }

    /// Types `value` and declares `name` for it.
    fn define(&mut self, name: &Ident, value: &ast::Expr) -> Option<Typed> {
        let typed = self.scope.expr(value);
        self.declare_value(name, typed)
    }

    fn declare_value(&mut self, name: &Ident, typed: Option<Typed>) -> Option<Typed> {
        let (integer, data_only) = typed.as_ref().map_or((false, false), |t| (t.integer, t.data_only));
        let shape = typed.as_ref().map(|t| t.shape.as_slice());
        let role = if self.scope.reporting && self.scope.met_generated { Role::Generated } else { Role::Let };
        self.scope.declare(name, Entry::value(shape, integer, data_only, role));
        typed
    }

    /// `report y_rep[N] ~ normal(theta, sigma)`
    fn generated(&mut self, name: &Ident, dims: &[ast::Expr], draw: &ast::Draw) {
        self.reject_noncentered(draw);
        self.drawn.push(draw.span);
        let shape = self.scope.shape(dims);
        if let Some(family) = self.scope.not_single_numbers(&draw.family) {
            self.scope.declare(name, Entry::Failed);
            self.scope.errors.push(
                Diagnostic::error(Code::Statement, draw.span, format!("a `report` cannot draw from `{family}` yet"))
                    .expected("a distribution of single numbers")
                    .help("report the parameters of the distribution in its place"),
            );
            return;
        }
        self.scope.reporting = true;
        let checked = self.scope.draw(draw, &name.name, shape.as_deref());
        self.scope.reporting = false;
        let integer = checked.as_ref().is_some_and(|(_, distribution)| distribution.support.is_integer());
        self.scope.declare(name, Entry::value(shape.as_deref(), integer, false, Role::Generated));
        if let (Some(shape), Some((draw, _))) = (shape, checked) {
            self.statements.push(Statement::Generated { name: name.name.clone(), shape, integer, draw });
        }
    }

    fn named(&self, name: &Ident, shape: &[Dim]) -> Typed {
        Typed {
            kind: TypedKind::Name(name.name.clone()),
            shape: shape.to_vec(),
            integer: false,
            data_only: false,
            span: name.span,
        }
    }

    fn density(&mut self, what: &str, value: Typed, draw: Draw) {
        let label = format!("{what} ~ {}", draw.family);
        self.statements.push(Statement::Density { label, value, draw });
    }

    fn reject_noncentered(&mut self, draw: &ast::Draw) {
        if draw.noncentered {
            self.scope.errors.push(
                Diagnostic::error(
                    Code::Statement,
                    draw.span,
                    "`noncentered` belongs to the declaration of a parameter",
                )
                .help("for example `param theta[J] ~ normal(mu, tau) noncentered`"),
            );
        }
    }

    /// `value ~ draw`, written with `observe` or without.
    fn tilde(&mut self, value: &ast::Expr, draw: &ast::Draw, observe: bool) {
        let typed = self.scope.expr(value);
        let name = format_expression(value);
        let shape = typed.as_ref().map(|t| t.shape.as_slice());
        let checked = self.scope.law(draw, &name, shape, observe);
        let (Some(typed), Some((draw, law))) = (typed, checked) else { return };
        if observe && !typed.data_only {
            self.scope.errors.push(
                Diagnostic::error(Code::Statement, typed.span, format!("`{name}` is not data"))
                    .expected("data, or an expression of data")
                    .help(format!("a parameter's prior is written without `observe`: `{name} ~ ...`")),
            );
            return;
        }
        if !observe && typed.data_only {
            let what = if matches!(typed.kind, TypedKind::Number(_)) { "a number" } else { "data" };
            self.scope.errors.push(
                Diagnostic::error(Code::Statement, typed.span, format!("`{name}` is {what}"))
                    .expected("a parameter, or an expression of parameters")
                    .help(format!("write `observe {name} ~ ...`")),
            );
            return;
        }
        if law.is_integer() && !typed.data_only {
            self.scope.errors.push(
                Diagnostic::error(Code::Type, draw.span, format!("`{name}` would be discrete"))
                    .expected("a continuous distribution")
                    .found(format!("`{}`", law.name()))
                    .help(DISCRETE),
            );
            return;
        }
        if law.is_integer() && !typed.integer {
            let text = format!("`{}` needs whole numbers", law.name());
            self.scope.errors.push(
                Diagnostic::error(Code::Type, typed.span, text)
                    .expected("`int` data, or +, -, * of them")
                    .found(format!("`{name}`, which is `real`"))
                    .help("declare counts like `data y : int[N] >= 0`"),
            );
            return;
        }
        if let Law::Vector(distribution) = law
            && let Some(constraint) = distribution.constraint
            && !self.is_constrained(&typed, constraint)
        {
            let text = format!("`{name}` is allowed where `{}` has no density", distribution.name);
            self.scope.errors.push(
                Diagnostic::error(Code::Bounds, draw.span, text)
                    .expected(format!("a parameter that is declared `: {}`", constraint.name()))
                    .help("or write the distribution into the declaration: the parameter takes its constraint"),
            );
            return;
        }
        if let Law::Scalar(distribution) = law {
            self.check_support(&typed, &draw, distribution);
        }
        self.density(&name, typed, draw);
    }

    /// Whether a value is data, no parameter by itself, or a parameter of this constraint.
    fn is_constrained(&self, value: &Typed, constraint: Constraint) -> bool {
        let base = match &value.kind {
            TypedKind::Index(base, _) => &base.kind,
            kind => kind,
        };
        let TypedKind::Name(name) = base else { return true };
        self.statements.iter().all(|s| match s {
            Statement::Param(p) if p.name == *name => p.constraint == Some(constraint),
            _ => true,
        })
    }

    /// A parameter declared without bounds must not get a density that is zero on half the line.
    fn check_support(&mut self, value: &Typed, draw: &Draw, distribution: &crate::math::dist::Distribution) {
        let base = match &value.kind {
            TypedKind::Index(base, _) => &base.kind,
            kind => kind,
        };
        let TypedKind::Name(name) = base else { return };
        let param = self.statements.iter().find_map(|s| match s {
            Statement::Param(p) if p.name == *name => Some(p),
            _ => None,
        });
        // What a constraint or a bound that moves leaves open is for the density to say.
        let Some(param) = param.filter(|p| p.constraint.is_none() && !p.has_moving_bounds()) else { return };
        let (lo, hi) = match &draw.truncation {
            Some((a, b)) => (super::declare::literal(a), super::declare::literal(b)),
            None => constant_support(distribution),
        };
        let literal = |t: &Option<Typed>| t.as_ref().map_or(Some(f64::NAN), super::declare::literal);
        let inside = |bound: Option<f64>, declared: &Option<Typed>, is_lower: bool| match (bound, literal(declared)) {
            (Some(b), Some(d)) if b.is_finite() => {
                if is_lower {
                    d >= b
                } else {
                    d <= b
                }
            }
            _ => true,
        };
        if !inside(lo, &param.lower, true) || !inside(hi, &param.upper, false) {
            let wanted = match (lo.filter(|v| v.is_finite()), hi.filter(|v| v.is_finite())) {
                (Some(a), Some(b)) => format!("`param {name} in [{a}, {b}]`"),
                (Some(a), None) => format!("`param {name} > {a}`"),
                (_, Some(b)) => format!("`param {name} < {b}`"),
                _ => return,
            };
            self.scope.errors.push(
                Diagnostic::error(
                    Code::Bounds,
                    draw.span,
                    format!("`{name}` is allowed where `{}` has no density", draw.family),
                )
                .expected(format!("{wanted} where it is declared"))
                .help("or write the distribution into the declaration: the parameter takes its support"),
            );
        }
    }

    fn weight(&mut self, role: WeightRole, name: &Ident, prior: Option<&ast::Draw>) {
        // Weights have one value per stream; arguments of their priors are scalars.
        let checked = prior.map(|p| {
            self.reject_noncentered(p);
            self.densities.push(p.span);
            (self.scope.draw(p, &name.name, Some(&[])), p.span)
        });
        self.shared.weight(&mut self.scope, role, name);
        if prior.is_none() {
            self.bare_weights.push((role, name.clone()));
        }
        if let Some((Some((draw, distribution)), span)) = checked {
            let ends = self.scope.support_bounds(distribution, &draw);
            let lower = ends.and_then(|(lo, _)| lo).and_then(|lo| super::declare::literal(&lo));
            if distribution.support.is_integer() || (role == WeightRole::Noise && lower.is_none_or(|l| l < 0.0)) {
                self.scope.errors.push(
                    Diagnostic::error(
                        Code::Bounds,
                        span,
                        format!("the prior of {} `{}` does not fit", role.keyword(), name.name),
                    )
                    .expected(if role == WeightRole::Noise {
                        "a continuous distribution of positive numbers: noise is a variance"
                    } else {
                        "a continuous distribution"
                    })
                    .help(format!(
                        "for example `{} {} ~ {}`",
                        role.keyword(),
                        name.name,
                        usual_prior(role)
                    )),
                );
                return;
            }
            self.statements.push(Statement::WeightPrior { role, name: name.name.clone(), draw });
        }
    }

    /// A term of the density given by its logarithm.
    fn log_density(&mut self, value: &ast::Expr) {
        self.densities.push(value.span);
        let Some(typed) = self.scope.expr(value) else { return };
        if !typed.shape.is_empty() || typed.data_only {
            let found = if typed.data_only { "a value of the data alone".into() } else { describe_shape(&typed.shape) };
            self.scope.errors.push(
                Diagnostic::error(
                    Code::Statement,
                    typed.span,
                    "`log_density` needs one number that depends on parameters",
                )
                .found(found)
                .help("add terms up with `sum(...)`, and let it depend on a `param`"),
            );
            return;
        }
        self.statements.push(Statement::LogDensity { label: format_expression(value), value: typed });
    }

    fn minimize(&mut self, value: &ast::Expr) {
        self.minimized = true;
        let typed = if self.shared.recording.is_some() {
            self.shared.objective(&mut self.scope, value)
        } else {
            self.scope.expr(value)
        };
        let Some(value) = typed else { return };
        if !value.shape.is_empty() || value.data_only {
            let found = if value.data_only { "a value of the data alone".into() } else { describe_shape(&value.shape) };
            self.scope.errors.push(
                Diagnostic::error(
                    Code::Statement,
                    value.span,
                    "`minimize` needs one number that depends on parameters",
                )
                .found(found)
                .help("reduce it with `sum(...)`, and let it depend on a `param`"),
            );
            return;
        }
        self.statements.push(Statement::Minimize { value });
    }

    fn finish(mut self, ast: &Ast) -> Result<Model, Vec<Diagnostic>> {
        let place = ast.name.span;
        let objective = self.minimized;
        if let (true, Some(&density)) = (objective, self.densities.first()) {
            self.scope.errors.push(
                Diagnostic::error(Code::Statement, density, "a model is either a density or an objective, not both")
                    .help("drop every `~` and `log_density`, or drop `minimize`"),
            );
        }
        if let (true, Some(&drawn)) = (objective, self.drawn.first()) {
            self.scope.errors.push(
                Diagnostic::error(Code::Statement, drawn, "an objective has no draws that a `report` could follow")
                    .help("report a value, as in `report fitted = X @ beta`, or write the model as a density"),
            );
        }
        if !objective {
            for (role, weight) in &self.bare_weights {
                let text = format!("`{}` has no prior", weight.name);
                let help = format!("for example `{} {} ~ {}`", role.keyword(), weight.name, usual_prior(*role));
                self.scope.errors.push(Diagnostic::error(Code::SharedResponse, weight.span, text).help(help));
            }
        }
        let has_parameters = self.statements.iter().any(|s| matches!(s, Statement::Param(_))) || self.shared.begun();
        if self.scope.errors.is_empty() && !objective && self.densities.is_empty() {
            self.scope.errors.push(Diagnostic::error(Code::Statement, place, "this model has no density").help(
                "give parameters priors with `~` and observe data with `observe y ~ ...`, or end with `minimize`",
            ));
        } else if self.scope.errors.is_empty() && !has_parameters {
            self.scope.errors.push(
                Diagnostic::error(Code::Statement, place, "this model has no parameters")
                    .help("declare one, for example `param mu ~ normal(0, 1)`"),
            );
        }
        let shared = self.shared.finish(&mut self.scope, objective, place);
        let (data, statements) = (self.data, self.statements);
        if self.scope.errors.is_empty() {
            return Ok(Model { name: ast.name.name.clone(), data, statements, shared });
        }
        let mut errors = self.scope.errors;
        errors.sort_by_key(|e| e.span.start);
        Err(errors)
    }
}
