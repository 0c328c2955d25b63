//! Checks the objective of a gridded shared-response model: a sum of known terms, each with a coefficient.

use super::scope::Scope;
use super::shared::Draft;
use super::types::*;
use crate::base::{Code, Diagnostic, Span};
use crate::lang::ast::{Expr, ExprKind, Operator, Paths};
use crate::lang::format_expression;
use crate::math::op::Binary;

impl Draft {
    /// The objective of a gridded model: a sum of known terms with coefficients known from the data.
    pub fn objective(&mut self, scope: &mut Scope, value: &Expr) -> Option<Typed> {
        let mut total: Option<Typed> = None;
        let mut stack = vec![value];
        let mut ok = true;
        while let Some(term) = stack.pop() {
            if let ExprKind::Binary(Operator::Add, l, r) = &term.kind {
                stack.push(r);
                stack.push(l);
                continue;
            }
            let Some((coefficient, kind)) = self.objective_term(scope, term) else {
                ok = false;
                continue;
            };
            if self.objective.iter().any(|(k, _)| *k == kind) {
                scope.errors.push(
                    Diagnostic::error(Code::SharedResponse, term.span, "this term stands in the objective twice")
                        .help("add the two coefficients"),
                );
                ok = false;
            }
            let shared = Typed {
                kind: TypedKind::Shared(kind),
                shape: vec![],
                integer: false,
                data_only: false,
                span: term.span,
            };
            let product = binary(Binary::Mul, coefficient.clone(), shared);
            self.objective.push((kind, coefficient));
            total = Some(match total {
                None => product,
                Some(t) => binary(Binary::Add, t, product),
            });
        }
        if ok && !self.objective.iter().any(|(k, _)| *k == SharedTerm::BalancedSquares) {
            return scope.error(
                Diagnostic::error(Code::SharedResponse, value.span, "the objective does not look at the recording")
                    .help("add `balanced_squares(x, response(z) * w)`"),
            );
        }
        if ok { total } else { None }
    }

    /// Refuses a coupling of paths or responses that are not one for each participant, and two ridges of the loadings.
    fn term_has_a_place(&self, kind: SharedTerm, span: Span) -> Result<(), Box<Diagnostic>> {
        let refuse =
            |text: &str, help: String| Err(Box::new(Diagnostic::error(Code::SharedResponse, span, text).help(help)));
        let has = |kind| self.objective.iter().any(|(k, _)| *k == kind);
        let paths = match &self.latent {
            Some((_, Latent::Grid { paths, .. })) => *paths,
            _ => Paths::Shared,
        };
        match kind {
            SharedTerm::LatentSpread | SharedTerm::LatentNeighbors if paths != Paths::PerParticipant => refuse(
                "the participants have no paths of their own",
                "write `latent z on grid(STEP) per participant`".into(),
            ),
            SharedTerm::LatentNeighbors if has(SharedTerm::LatentSpread) => two_couplings(span),
            SharedTerm::LatentSpread if has(SharedTerm::LatentNeighbors) => two_couplings(span),
            SharedTerm::LoadingRidgePerFeature if has(SharedTerm::LoadingRidge) => two_ridges(span),
            SharedTerm::LoadingRidge if has(SharedTerm::LoadingRidgePerFeature) => two_ridges(span),
            SharedTerm::ResponseSpread(i) if !self.responses[i].per_participant => refuse(
                "the participants share this response",
                format!("write `per participant` behind `response {} = ...`", self.responses[i].modality),
            ),
            _ => Ok(()),
        }
    }

    fn objective_term(&self, scope: &mut Scope, term: &Expr) -> Option<(Typed, SharedTerm)> {
        let (coefficient, call) = match &term.kind {
            ExprKind::Binary(Operator::Mul, l, r) => match (&l.kind, &r.kind) {
                (_, ExprKind::Call(..)) => (Some(l.as_ref()), r.as_ref()),
                (ExprKind::Call(..), _) => (Some(r.as_ref()), l.as_ref()),
                _ => (None, term),
            },
            _ => (None, term),
        };
        let arguments = match &call.kind {
            ExprKind::Call(f, arguments) => Some((f.name.as_str(), arguments.as_slice())),
            _ => None,
        };
        let is_recording =
            |e: &Expr| matches!((&e.kind, &self.recording), (ExprKind::Name(n), Some((x, _))) if *n == x.name);
        let is_loading = |e: &Expr| matches!((&e.kind, &self.loading), (ExprKind::Name(n), Some(w)) if *n == w.name);
        let response_of = |e: &Expr| match &e.kind {
            ExprKind::Name(n) => self.responses.iter().position(|r| r.modality == *n),
            _ => None,
        };
        let kind = match arguments {
            Some(("balanced_squares", [x, product])) if is_recording(x) && self.is_product(product) => {
                SharedTerm::BalancedSquares
            }
            Some(("ridge", [w])) if is_loading(w) => SharedTerm::LoadingRidge,
            Some(("ridge", [z])) if self.is_latent(z) => SharedTerm::LatentRidge,
            Some(("ridge_per_feature", [w])) if is_loading(w) => SharedTerm::LoadingRidgePerFeature,
            Some(("roughness", [z])) if self.is_latent(z) => SharedTerm::Roughness,
            Some(("spread", [z])) if self.is_latent(z) => SharedTerm::LatentSpread,
            Some(("neighbors", [z])) if self.is_latent(z) => SharedTerm::LatentNeighbors,
            Some(("spread", [modality])) if response_of(modality).is_some() => {
                SharedTerm::ResponseSpread(response_of(modality)?)
            }
            _ => {
                return scope.error(
                    Diagnostic::error(Code::SharedResponse, term.span, "this is not a term of a gridded objective")
                        .expected(
                            "`balanced_squares(x, response(z) * w)`, `ridge(w)`, `ridge(z)`, `roughness(z)`, `spread(z)`, \
                             `neighbors(z)` or `spread(MODALITY)`, each with a coefficient",
                        )
                        .found(format!("`{}`", format_expression(term))),
                );
            }
        };
        if let Err(error) = self.term_has_a_place(kind, term.span) {
            return scope.error(*error);
        }
        let coefficient = match coefficient {
            Some(c) => scope.expr(c)?,
            None => Typed::number(1.0, term.span),
        };
        if !coefficient.data_only || !coefficient.shape.is_empty() {
            return scope.error(
                Diagnostic::error(Code::Type, coefficient.span, "a coefficient is one number known from the data")
                    .help("the objective of a gridded model is minimised over the loadings and the latent alone"),
            );
        }
        if matches!(coefficient.kind, TypedKind::Number(n) if n < 0.0) {
            return scope.error(
                Diagnostic::error(Code::Bounds, coefficient.span, "a coefficient cannot be negative")
                    .expected("a number, 0 or more"),
            );
        }
        Some((coefficient, kind))
    }
}

fn two_couplings(span: Span) -> Result<(), Box<Diagnostic>> {
    let text = "`spread(z)` and `neighbors(z)` are two ways to draw paths together";
    Err(Box::new(Diagnostic::error(Code::SharedResponse, span, text).help("keep one of the two")))
}

fn two_ridges(span: Span) -> Result<(), Box<Diagnostic>> {
    let text = "`ridge(w)` and `ridge_per_feature(w)` are two scalings of one penalty";
    Err(Box::new(Diagnostic::error(Code::SharedResponse, span, text).help("keep one of the two")))
}

fn binary(op: Binary, l: Typed, r: Typed) -> Typed {
    let span = l.span.to(r.span);
    Typed {
        kind: TypedKind::Binary(op, Box::new(l), Box::new(r)),
        shape: vec![],
        integer: false,
        data_only: false,
        span,
    }
}
