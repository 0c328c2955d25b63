//! Checks of the shared-response statements: which belong together, and the forms they may take.

use super::declare::constant;
use super::scope::{Entry, Scope};
use super::types::*;
use crate::base::{Code, Diagnostic, Span, suggest};
use crate::lang::ast::{self, Argument, Expr, ExprKind, Ident, Operator, Paths, WeightRole};
use crate::lang::format_expression;
use crate::response::{Domain, FAMILIES, Family};

/// What has been declared of the shared-response part so far.
#[derive(Default)]
pub(super) struct Draft {
    pub recording: Option<(Ident, bool)>,
    pub factors: Option<(Ident, usize)>,
    pub responses: Vec<ModalityResponse>,
    pub latent: Option<(Ident, Latent)>,
    pub loading: Option<Ident>,
    pub offset: Option<Ident>,
    pub noise: Option<Ident>,
    pub objective: Vec<(SharedTerm, Typed)>,
    /// Where a modality was given a weight.
    pub weighted: Option<Span>,
    pub observed: bool,
    /// Where the recording was observed before all parts were there.
    pub early: Option<Span>,
    /// A part was declared with an error, so that the whole cannot be judged.
    pub broken: bool,
}

const OBSERVE_FORM: &str = "observe x ~ normal(b + response(z) * w, sqrt(v))";

/// A parameter of a response as the model file gives it.
enum Given {
    Fixed(usize, f64),
    Learned(Box<LearnedParameter>),
}

/// `width = 1.5`, `lag in [-4, 4]`, `lag = 2 in [0, 5]` or `lag ~ normal(2, 1) in [0, 5]`.
///
/// `None` after an error, which then stands in the list.
fn response_parameter(scope: &mut Scope, modality: &Ident, family: &Family, argument: &Argument) -> Option<Given> {
    let wrong = |text: &str| {
        Diagnostic::error(Code::Arguments, argument.span, text)
            .expected("for example `lag = 2`, or to learn it `lag in [-4, 4]` or `lag ~ normal(2, 1)`")
    };
    let Some(name) = &argument.name else {
        return scope.error(wrong("a parameter of a response is given by name"));
    };
    let number = match &argument.value {
        Some(value) => match constant(&scope.expr(value)?) {
            Some(number) => Some(number),
            None => return scope.error(wrong("the value of a response parameter is a plain number")),
        },
        None => None,
    };
    let Some(index) = family.parameters.iter().position(|p| p.name == name.name) else {
        let names: Vec<&str> = family.parameters.iter().map(|p| p.name).collect();
        let help = match suggest(&name.name, names.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None if names.is_empty() => "drop it; this response has no parameters".into(),
            None => format!("its parameters are {}", names.join(", ")),
        };
        let text = format!("`{}` has no parameter `{}`", family.name, name.name);
        return scope.error(Diagnostic::error(Code::Arguments, name.span, text).help(help));
    };
    let parameter = &family.parameters[index];
    if argument.prior.is_none() && argument.bounds.is_none() {
        let Some(value) = number else { return scope.error(wrong("this parameter has no value")) };
        if let Err(error) = family.check_value(parameter, value) {
            return scope.error(
                Diagnostic::error(Code::Arguments, argument.span, error.to_string())
                    .help(format!("its default is `{} = {}`", parameter.name, parameter.default)),
            );
        }
        return Some(Given::Fixed(index, value));
    }
    let full = Ident { name: format!("{}.{}", modality.name, name.name), span: name.span };
    let (param, prior) = scope.param(&full, &[], argument.bounds.as_ref(), argument.prior.as_ref())?;
    if param.noncentered.is_some() {
        return scope.error(
            Diagnostic::error(Code::SharedResponse, argument.span, "a response parameter is not written `noncentered`")
                .help("drop `noncentered`"),
        );
    }
    let (lowest, highest) = parameter.domain.bounds();
    for (bound, is_lower) in [(&param.lower, true), (&param.upper, false)] {
        let value = bound.as_ref().and_then(constant);
        if let Some(value) = value.filter(|v| if is_lower { *v < lowest } else { *v > highest }) {
            let text = format!("`{}` of `{}` cannot be {value}", name.name, family.name);
            return scope.error(
                Diagnostic::error(Code::Bounds, argument.span, text)
                    .expected(parameter.domain.describe())
                    .help("move the bound, or add bounds to the prior with `in [lo, hi]`"),
            );
        }
    }
    let outside = |v: f64| {
        v <= param.lower.as_ref().and_then(constant).unwrap_or(lowest)
            || v >= param.upper.as_ref().and_then(constant).unwrap_or(highest)
    };
    if let Some(start) = number.filter(|v| outside(*v)) {
        let text = format!("the start {start} is not inside the bounds of `{}`", full.name);
        return scope.error(
            Diagnostic::error(Code::Bounds, argument.span, text)
                .help("move the start or the bounds, or drop the start"),
        );
    }
    let Param { lower, upper, .. } = param;
    Some(Given::Learned(Box::new(LearnedParameter {
        index,
        name: full.name,
        start: number,
        lower,
        upper,
        prior,
        span: name.span,
    })))
}

impl Draft {
    pub fn recording(&mut self, scope: &mut Scope, name: &Ident, standardized: bool) {
        if let Some((old, _)) = &self.recording {
            let text = format!("this model already reads the recording `{}`", old.name);
            scope.errors.push(
                Diagnostic::error(Code::SharedResponse, name.span, text)
                    .help("a model reads one recording; drop this line"),
            );
            return;
        }
        scope.declare(name, Entry::Recording);
        self.recording = Some((name.clone(), standardized));
    }

    pub fn factors(&mut self, scope: &mut Scope, name: &Ident, value: &Expr) {
        match value.kind {
            ExprKind::Number { value: k, integer: true } if k >= 1.0 => {
                scope.declare(name, Entry::Factors(k as usize));
                self.factors = Some((name.clone(), k as usize));
            }
            _ => self.fail(
                scope,
                name,
                Diagnostic::error(Code::Type, value.span, "the number of factors is a whole number, at least 1")
                    .found(format!("`{}`", format_expression(value)))
                    .help("for example `factors K = 3`"),
            ),
        }
    }

    /// `response rating = gaussian(width = 1, lag in [-4, 4]) per participant weight 2`
    pub fn response(
        &mut self,
        scope: &mut Scope,
        modality: &Ident,
        family: &Ident,
        arguments: &[Argument],
        per_participant: bool,
        weight: Option<&Expr>,
    ) {
        if self.responses.iter().any(|r| r.modality == modality.name) {
            let text = format!("modality `{}` already has a response", modality.name);
            scope
                .errors
                .push(Diagnostic::error(Code::NameTaken, modality.span, text).help("drop one of the two lines"));
            return;
        }
        let Some(entry) = crate::response::find(&family.name) else {
            let names: Vec<&str> = FAMILIES.iter().map(|f| f.name).collect();
            let help = suggest(&family.name, names.iter().copied())
                .map_or(format!("this version has: {}", names.join(", ")), |near| format!("did you mean `{near}`?"));
            let text = format!("there is no response `{}`", family.name);
            scope.errors.push(Diagnostic::error(Code::UnknownFunction, family.span, text).help(help));
            return;
        };
        if !entry.is_parametric() {
            scope.errors.push(
                Diagnostic::error(
                    Code::SharedResponse,
                    family.span,
                    format!("`{}` cannot be written in a model file", entry.name),
                )
                .help("a sampled curve is for the Rust library; take a response with parameters"),
            );
            return;
        }
        let weight = match weight {
            None => None,
            Some(expr) => {
                match scope.expr(expr).map(|w| constant(&w)) {
                    Some(Some(w)) if w > 0.0 && w.is_finite() => Some((w, expr.span)),
                    Some(_) => {
                        let text = "the weight of a modality is a positive number";
                        scope.errors.push(
                        Diagnostic::error(Code::Type, expr.span, text)
                            .found(format!("`{}`", format_expression(expr)))
                            .help("for example `weight 2`; to leave a modality out, fit with --modality and the others"),
                    );
                        return;
                    }
                    None => return,
                }
            }
        };
        self.weighted = self.weighted.or(weight.map(|w| w.1));
        let mut given: Vec<(&str, f64)> = Vec::new();
        let mut learned: Vec<LearnedParameter> = Vec::new();
        for argument in arguments {
            match response_parameter(scope, modality, entry, argument) {
                Some(Given::Fixed(index, value)) => given.push((entry.parameters[index].name, value)),
                Some(Given::Learned(parameter)) => learned.push(*parameter),
                None => return,
            }
        }
        let span = family.span.to(arguments.last().map_or(family.span, |a| a.span));
        let fixed = |p: &LearnedParameter| given.iter().find(|g| g.0 == entry.parameters[p.index].name);
        if let Some(twice) = learned.iter().find(|p| fixed(p).is_some()) {
            let text = format!("`{}` is given twice", entry.parameters[twice.index].name);
            scope.errors.push(Diagnostic::error(Code::Arguments, span, text).help("drop one of the two"));
            return;
        }
        if per_participant && learned.is_empty() {
            scope.errors.push(
                Diagnostic::error(Code::SharedResponse, span, "nothing of this response is learned")
                    .help("drop `per participant`, or learn a parameter, for example `lag in [-4, 4]`"),
            );
            return;
        }
        match crate::response::build(entry.name, &given) {
            Ok(response) => self.responses.push(ModalityResponse {
                modality: modality.name.clone(),
                response,
                learned,
                per_participant,
                weight: weight.map_or(1.0, |w| w.0),
                span: modality.span,
            }),
            Err(error) => {
                let parameters: Vec<String> =
                    entry.parameters.iter().map(|p| format!("{} = {}", p.name, p.default)).collect();
                scope.errors.push(Diagnostic::error(Code::Arguments, span, error.to_string()).help(format!(
                    "with its defaults: `{}({})`",
                    entry.name,
                    parameters.join(", ")
                )));
            }
        }
    }

    /// Records an error in the declaration of `name`.
    fn fail(&mut self, scope: &mut Scope, name: &Ident, error: Diagnostic) {
        scope.errors.push(error);
        scope.declare(name, Entry::Failed);
        self.broken = true;
    }

    fn set_latent(&mut self, scope: &mut Scope, name: &Ident, latent: Latent) {
        if let Some((old, _)) = &self.latent {
            let text = format!("this model already has the latent `{}`", old.name);
            scope.errors.push(Diagnostic::error(Code::SharedResponse, name.span, text).help("a model has one latent"));
            return;
        }
        scope.declare(name, Entry::Latent);
        self.latent = Some((name.clone(), latent));
    }

    pub fn process(&mut self, scope: &mut Scope, latent_name: &Ident, family: &Ident, arguments: &[Argument]) {
        if family.name != "matern32" {
            let text = format!("there is no latent process `{}`", family.name);
            self.fail(
                scope,
                latent_name,
                Diagnostic::error(Code::UnknownFunction, family.span, text)
                    .expected("`matern32(length_scale = ...)`")
                    .help("for free values on a grid write `latent z on grid(STEP)`"),
            );
            return;
        }
        let value = match arguments {
            [Argument { name, value: Some(value), .. }] if name.as_ref().is_none_or(|n| n.name == "length_scale") => {
                value
            }
            _ => {
                self.fail(
                    scope,
                    latent_name,
                    Diagnostic::error(Code::Arguments, family.span, "`matern32` takes one argument, `length_scale`")
                        .expected("`matern32(length_scale = ...)` in seconds")
                        .help("for example `latent z ~ matern32(length_scale = 3)`, or a parameter in place of 3"),
                );
                return;
            }
        };
        let Some(length_scale) = scope.expr(value) else {
            scope.declare(latent_name, Entry::Failed);
            self.broken = true;
            return;
        };
        if !length_scale.shape.is_empty() {
            let found = describe_shape(&length_scale.shape);
            self.fail(
                scope,
                latent_name,
                Diagnostic::error(Code::Shape, value.span, "the length scale is one number for all factors")
                    .found(found),
            );
            return;
        }
        if let TypedKind::Number(n) = length_scale.kind
            && (n <= 0.0 || !n.is_finite())
        {
            scope.errors.push(
                Diagnostic::error(Code::Bounds, value.span, "the length scale must be positive")
                    .expected("a finite number of seconds above 0"),
            );
        }
        self.set_latent(scope, latent_name, Latent::Process { name: latent_name.name.clone(), length_scale });
    }

    pub fn grid(&mut self, scope: &mut Scope, name: &Ident, step: &Expr, paths: Paths) {
        let Some(typed) = scope.expr(step) else {
            scope.declare(name, Entry::Failed);
            self.broken = true;
            return;
        };
        let bad_number = matches!(typed.kind, TypedKind::Number(n) if n <= 0.0 || !n.is_finite());
        if !typed.shape.is_empty() || !typed.data_only || bad_number {
            self.fail(
                scope,
                name,
                Diagnostic::error(Code::Type, step.span, "the step of the grid is one positive number of seconds")
                    .found(format!("`{}`", format_expression(step)))
                    .help("for example `latent z on grid(0.9)`"),
            );
            return;
        }
        self.set_latent(scope, name, Latent::Grid { name: name.name.clone(), step: typed, paths });
    }

    pub fn weight(&mut self, scope: &mut Scope, role: WeightRole, name: &Ident) {
        let slot = match role {
            WeightRole::Loading => &mut self.loading,
            WeightRole::Offset => &mut self.offset,
            WeightRole::Noise => &mut self.noise,
        };
        if let Some(old) = slot {
            let text = format!("this model already has the {} `{}`", role.keyword(), old.name);
            scope.errors.push(Diagnostic::error(Code::SharedResponse, name.span, text).help("drop one of the two"));
            return;
        }
        *slot = Some(name.clone());
        scope.declare(name, Entry::Weight(role));
    }

    /// `observe x ~ normal(b + response(z) * w, sqrt(v))`; `true` when the line observes the recording.
    pub fn observe(&mut self, scope: &mut Scope, value: &Expr, draw: &ast::Draw) -> bool {
        if !matches!((&value.kind, &self.recording), (ExprKind::Name(n), Some((r, _))) if *n == r.name) {
            return false;
        }
        // What is missing or wrong is reported elsewhere; the form can only be judged once the parts are there.
        let incomplete = [&self.loading, &self.noise].iter().any(|w| w.is_none()) || self.latent.is_none();
        if self.broken || incomplete {
            self.observed = true;
            self.early = Some(value.span.to(draw.span));
            return true;
        }
        let wrong = |span: Span, text: &str| {
            Diagnostic::error(Code::SharedResponse, span, text)
                .expected(format!("`{OBSERVE_FORM}`, with or without the offset `b`"))
        };
        if draw.family.name != "normal" || draw.arguments.len() != 2 || draw.truncation.is_some() {
            scope.errors.push(wrong(draw.span, "a recording is observed with a normal distribution"));
            self.observed = true;
            return true;
        }
        let mut product = false;
        let mut offset = false;
        let mut terms = vec![&draw.arguments[0]];
        while let Some(term) = terms.pop() {
            match &term.kind {
                ExprKind::Binary(Operator::Add, l, r) => {
                    terms.push(r);
                    terms.push(l);
                }
                ExprKind::Name(n) if !offset && self.offset.as_ref().is_some_and(|b| b.name == *n) => offset = true,
                _ if !product && self.is_product(term) => product = true,
                _ => {
                    let found = format!("`{}`", format_expression(term));
                    scope
                        .errors
                        .push(wrong(term.span, "this term cannot stand in the mean of a recording").found(found));
                    return true;
                }
            }
        }
        if !product {
            scope.errors.push(wrong(draw.arguments[0].span, "the mean lacks `response(z) * w`"));
        }
        if let (Some(b), false) = (&self.offset, offset) {
            let text = format!("the offset `{}` is declared but not part of the mean", b.name);
            scope.errors.push(wrong(draw.arguments[0].span, &text));
        }
        let sd = &draw.arguments[1];
        let noise_ok = matches!(&sd.kind, ExprKind::Call(f, args) if f.name == "sqrt" && args.len() == 1
            && matches!((&args[0].kind, &self.noise), (ExprKind::Name(n), Some(v)) if *n == v.name));
        if !noise_ok {
            let help = match &self.noise {
                Some(v) => format!("noise is a variance: write `sqrt({})`", v.name),
                None => "declare it above, for example `noise v ~ lognormal(-2, 0.7)`, and write `sqrt(v)`".into(),
            };
            let found = format!("`{}`", format_expression(sd));
            scope
                .errors
                .push(wrong(sd.span, "the standard deviation is the root of a noise variance").found(found).help(help));
        }
        self.observed = true;
        true
    }

    /// Whether the model has any part of a shared response.
    pub fn begun(&self) -> bool {
        self.broken || self.recording.is_some() || self.latent.is_some() || self.loading.is_some()
    }

    /// `response(z) * w` in either order.
    pub fn is_product(&self, expr: &Expr) -> bool {
        let ExprKind::Binary(Operator::Mul, l, r) = &expr.kind else { return false };
        let is_loading = |e: &Expr| matches!((&e.kind, &self.loading), (ExprKind::Name(n), Some(w)) if *n == w.name);
        let is_response = |e: &Expr| matches!(&e.kind, ExprKind::Call(f, args) if f.name == "response" && args.len() == 1 && self.is_latent(&args[0]));
        is_response(l) && is_loading(r) || is_loading(l) && is_response(r)
    }

    pub fn is_latent(&self, expr: &Expr) -> bool {
        matches!((&expr.kind, &self.latent), (ExprKind::Name(n), Some((z, _))) if *n == z.name)
    }

    /// An objective searches learned parameters between bounds, and takes priors that are squares as penalties.
    fn learnable_in_objective(&self, scope: &mut Scope) -> bool {
        let before = scope.errors.len();
        let learned = self.responses.iter().flat_map(|r| r.learned.iter().map(move |p| (r, p)));
        for (response, parameter) in learned {
            let domain = response.response.family().parameters[parameter.index].domain;
            if parameter.lower.is_none() || parameter.upper.is_none() {
                let text = format!("`{}` is learned without bounds on both sides", parameter.name);
                scope.errors.push(
                    Diagnostic::error(Code::SharedResponse, parameter.span, text)
                        .help("an objective needs them: `lag in [-4, 4]`, or `lag ~ normal(2, 1) in [0, 5]`"),
                );
            }
            let Some(prior) = &parameter.prior else { continue };
            let penalty = if domain == Domain::Lag { "normal" } else { "lognormal" };
            if prior.family != penalty || prior.arguments.iter().any(|a| !a.data_only) {
                let text = format!("the prior of `{}` is no penalty of an objective", parameter.name);
                scope.errors.push(
                    Diagnostic::error(Code::SharedResponse, prior.span, text)
                        .expected(format!("`{penalty}(...)` with numbers known from the data"))
                        .help(
                            "a normal prior on a lag, a lognormal one on any other parameter, become squared penalties",
                        ),
                );
            }
        }
        scope.errors.len() == before
    }

    /// Checks that the parts are complete. `place` is where to point when a part is missing altogether.
    pub fn finish(self, scope: &mut Scope, objective: bool, place: Span) -> Option<Shared> {
        let any = self
            .recording
            .as_ref()
            .map(|r| r.0.span)
            .or(self.factors.as_ref().map(|f| f.0.span))
            .or(self.latent.as_ref().map(|l| l.0.span))
            .or(self.loading.as_ref().or(self.offset.as_ref()).or(self.noise.as_ref()).map(|w| w.span))
            .or(self.responses.first().map(|r| r.span))?;
        if self.broken {
            return None;
        }
        let mut missing = Vec::new();
        if self.recording.is_none() {
            missing.push("recording x");
        }
        if self.factors.is_none() {
            missing.push("factors K = 1");
        }
        if self.latent.is_none() {
            missing.push(if objective { "latent z on grid(1.0)" } else { "latent z ~ matern32(length_scale = 3)" });
        }
        if self.loading.is_none() {
            missing.push(if objective { "loading w" } else { "loading w ~ normal(0, 1)" });
        }
        if !objective && self.noise.is_none() {
            missing.push("noise v ~ lognormal(-2, 0.7)");
        }
        if !missing.is_empty() {
            return scope.error(
                Diagnostic::error(Code::SharedResponse, any, "a shared-response model is incomplete").expected(
                    format!("also: {}", missing.iter().map(|m| format!("`{m}`")).collect::<Vec<_>>().join(", ")),
                ),
            );
        }
        if let Some(span) = self.early {
            return scope.error(
                Diagnostic::error(
                    Code::SharedResponse,
                    span,
                    "the recording is observed before all its parts are declared",
                )
                .help("move this line below `latent`, `loading` and `noise`"),
            );
        }
        if objective && !self.learnable_in_objective(scope) {
            return None;
        }
        let (latent_name, latent) = self.latent?;
        match (&latent, objective) {
            (Latent::Grid { .. }, false) => {
                return scope.error(
                    Diagnostic::error(Code::SharedResponse, latent_name.span, "a latent on a grid needs an objective")
                        .help("end the model with `minimize balanced_squares(x, response(z) * w) + ...`, or give the latent a process: `latent z ~ matern32(length_scale = 3)`"),
                );
            }
            (Latent::Process { .. }, true) => {
                return scope.error(
                    Diagnostic::error(Code::SharedResponse, latent_name.span, "an objective needs a latent on a grid")
                        .help("write `latent z on grid(STEP)`, or observe the recording instead of `minimize`"),
                );
            }
            _ => {}
        }
        if objective && let Some(weight) = self.offset.as_ref().or(self.noise.as_ref()) {
            return scope.error(
                Diagnostic::error(
                    Code::SharedResponse,
                    weight.span,
                    format!("`{}` has no place in an objective", weight.name),
                )
                .help("drop the line; `recording x standardized` takes care of means and scales"),
            );
        }
        if !objective && !self.observed {
            return scope.error(
                Diagnostic::error(Code::SharedResponse, place, "the recording is never observed")
                    .help(format!("add `{OBSERVE_FORM}`")),
            );
        }
        if let (false, Some(span)) = (objective, self.weighted) {
            return scope.error(
                Diagnostic::error(Code::SharedResponse, span, "a density has no weights of modalities")
                    .help("drop `weight`; the noise variances decide how much a modality counts"),
            );
        }
        let (recording, standardized) = self.recording?;
        let (factors_name, factors) = self.factors?;
        Some(Shared {
            recording: recording.name,
            standardized,
            factors: (factors_name.name, factors),
            responses: self.responses,
            latent,
            loading: self.loading?.name,
            offset: self.offset.map(|b| b.name),
            noise: self.noise.map(|v| v.name),
            objective: self.objective,
        })
    }
}
