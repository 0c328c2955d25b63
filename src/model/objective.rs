//! Checks the objective of a gridded shared-response model: a sum of known terms, each with a coefficient.

use super::scope::Scope;
use super::shared::Draft;
use super::types::*;
use crate::base::{Code, Diagnostic};
use crate::lang::ast::{Expr, ExprKind, Operator};
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
        let kind = match arguments {
            Some(("balanced_squares", [x, product])) if is_recording(x) && self.is_product(product) => {
                SharedTerm::BalancedSquares
            }
            Some(("ridge", [w])) if is_loading(w) => SharedTerm::LoadingRidge,
            Some(("ridge", [z])) if self.is_latent(z) => SharedTerm::LatentRidge,
            Some(("roughness", [z])) if self.is_latent(z) => SharedTerm::Roughness,
            _ => {
                return scope.error(
                    Diagnostic::error(Code::SharedResponse, term.span, "this is not a term of a gridded objective")
                        .expected(
                            "`balanced_squares(x, response(z) * w)`, `ridge(w)`, `ridge(z)` or `roughness(z)`, \
                             each with a coefficient",
                        )
                        .found(format!("`{}`", format_expression(term))),
                );
            }
        };
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
