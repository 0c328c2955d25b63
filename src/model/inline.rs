//! Functions of the user's own: checked for names where they are defined, typed and written out where they are called.

use super::dim::Dim;
use super::expression::count;
use super::functions;
use super::scope::{CONSTANTS, Entry, Scope, dim_of};
use super::types::*;
use crate::base::{Code, Diagnostic, Span};
use crate::lang::ast::{Body, Expr, ExprKind, Ident, Index};
use std::collections::BTreeSet;

/// Functions inside functions inside functions; deeper calls are refused.
const MAX_DEPTH: usize = 20;
/// Calls written out in one model.
const MAX_INLINED: usize = 2000;

/// A function as it was written.
#[derive(Debug)]
pub(super) struct Function {
    parameters: Vec<Ident>,
    body: Body,
}

/// `value` inside the definitions of the names it uses, the first one outermost.
pub(super) fn wrap(named: Vec<(String, Typed)>, value: Typed) -> Typed {
    named.into_iter().rev().fold(value, |body, (name, value)| Typed {
        shape: body.shape.clone(),
        integer: body.integer,
        data_only: body.data_only,
        span: body.span,
        kind: TypedKind::Local { name, value: Box::new(value), body: Box::new(body) },
    })
}

impl Scope {
    /// `function f(a, b) = ...`
    pub fn function(&mut self, name: &Ident, parameters: &[Ident], body: &Body) {
        let errors = self.errors.len();
        let mut known = BTreeSet::new();
        for new in parameters.iter().chain(body.lets.iter().map(|(n, _)| n)) {
            let builtin = functions::find(&new.name).is_some_and(|f| f.reserves_name())
                || CONSTANTS.iter().any(|c| c.0 == new.name);
            if builtin || !known.insert(new.name.as_str()) {
                let text = format!("`{}` is already taken in this function", new.name);
                self.errors.push(Diagnostic::error(Code::NameTaken, new.span, text).help("choose another name"));
            }
        }
        known = parameters.iter().map(|p| p.name.as_str()).collect();
        for (new, value) in &body.lets {
            self.check_names(value, name, &known);
            known.insert(&new.name);
        }
        self.check_names(&body.value, name, &known);
        if functions::find(&name.name).is_some_and(|f| !f.reserves_name()) {
            let text = format!("there is a function `{}` already", name.name);
            self.errors.push(Diagnostic::error(Code::NameTaken, name.span, text).help("choose another name"));
        }
        let sound = self.errors.len() == errors;
        self.declare(name, if sound { Entry::Function } else { Entry::Failed });
        if sound && matches!(self.entries.get(&name.name), Some((Entry::Function, _))) {
            let function = Function { parameters: parameters.to_vec(), body: body.clone() };
            self.functions.insert(name.name.clone(), function.into());
        }
    }

    /// Reports names and functions that a function does not know.
    fn check_names(&mut self, expr: &Expr, function: &Ident, known: &BTreeSet<&str>) {
        let inner = |scope: &mut Scope, e: &Expr| scope.check_names(e, function, known);
        match &expr.kind {
            ExprKind::Number { .. } => {}
            ExprKind::Name(name) => {
                if known.contains(name.as_str()) || CONSTANTS.iter().any(|c| c.0 == *name) {
                    return;
                }
                let text = format!("`{}` does not know `{name}`", function.name);
                let error = Diagnostic::error(Code::UnknownName, expr.span, text)
                    .expected("one of its arguments, or a `let` above in its block")
                    .help(format!("a function sees its arguments alone; pass `{name}` as one of them"));
                self.errors.push(error);
            }
            ExprKind::Negate(e) | ExprKind::Named(_, e) => inner(self, e),
            ExprKind::Binary(_, l, r) => {
                inner(self, l);
                inner(self, r);
            }
            ExprKind::Call(called, arguments) => {
                if called.name == function.name {
                    self.errors.push(
                        Diagnostic::error(Code::Statement, called.span, format!("`{}` calls itself", called.name))
                            .expected("a function that ends")
                            .help("a value that follows from the one before is a `scan`"),
                    );
                } else if functions::find(&called.name).is_none()
                    && !self.functions.contains_key(&called.name)
                    && !matches!(self.entries.get(&called.name), Some((Entry::Failed, _)))
                {
                    match self.anywhere.get(&called.name).filter(|place| place.start > called.span.start) {
                        Some(_) => self.errors.push(
                            Diagnostic::error(
                                Code::UnknownFunction,
                                called.span,
                                format!("`{}` is not defined yet", called.name),
                            )
                            .help("move its definition above this one"),
                        ),
                        None => self.unknown_function::<()>(called).unwrap_or_default(),
                    }
                }
                arguments.iter().for_each(|a| inner(self, a));
            }
            ExprKind::Array(elements) => elements.iter().for_each(|e| inner(self, e)),
            ExprKind::Index(base, indices) => {
                inner(self, base);
                for index in indices {
                    match index {
                        Index::All(_) => {}
                        Index::At(e) => inner(self, e),
                        Index::Range(a, b, _) => a.iter().chain(b).for_each(|e| inner(self, e)),
                    }
                }
            }
        }
    }

    /// A call of a function of the model.
    pub(super) fn call_own(&mut self, name: &Ident, arguments: &[Expr], span: Span) -> Option<Typed> {
        let function = self.functions.get(&name.name)?.clone();
        let typed: Vec<Option<Typed>> = arguments.iter().map(|a| self.expr(a)).collect();
        if typed.len() != function.parameters.len() {
            let names: Vec<&str> = function.parameters.iter().map(|p| p.name.as_str()).collect();
            let wanted = count(function.parameters.len(), "argument");
            return self.error(
                Diagnostic::error(Code::Arguments, span, format!("`{}` takes {wanted}", name.name))
                    .expected(format!("`{}({})`", name.name, names.join(", ")))
                    .found(count(typed.len(), "argument")),
            );
        }
        let typed = typed.into_iter().collect::<Option<Vec<_>>>()?;
        self.inlined += 1;
        if self.depth == MAX_DEPTH || self.inlined > MAX_INLINED {
            return self.error(
                Diagnostic::error(Code::Statement, span, "too many functions inside functions")
                    .expected(format!("calls at most {MAX_DEPTH} deep, and {MAX_INLINED} of them in all"))
                    .help("name intermediate values with `let`"),
            );
        }
        let shapes: Vec<String> = typed.iter().map(|t| describe_shape(&t.shape)).collect();
        let errors = self.errors.len();
        let outer = (
            std::mem::take(&mut self.entries),
            std::mem::take(&mut self.bound),
            std::mem::take(&mut self.anywhere),
            self.scan.take(),
        );
        let mut named = Vec::new();
        for (parameter, argument) in function.parameters.iter().zip(typed) {
            let stand_in = self.named(&parameter.name, argument, &mut named);
            self.bound.insert(parameter.name.clone(), stand_in);
        }
        self.depth += 1;
        let value = self.block(&function.body);
        self.depth -= 1;
        (self.entries, self.bound, self.anywhere, self.scan) = outer;
        if let (None, Some(inner)) = (&value, self.errors.get(errors)) {
            let (code, text) = (inner.code, inner.message.clone());
            // The same place of the definition is shown once, however many calls fail there.
            let mut at = errors;
            while at < self.errors.len() {
                let place = self.errors[at].span;
                let again = |e: &Diagnostic| (e.span.start, e.span.end) == (place.start, place.end);
                if self.errors[..at].iter().any(again) {
                    self.errors.remove(at);
                } else {
                    at += 1;
                }
            }
            return self.error(
                Diagnostic::error(code, span, format!("`{}` does not work with these arguments: {text}", name.name))
                    .found(format!("arguments of shape {}", shapes.join(", ")))
                    .help("the place inside the function has a message of its own"),
            );
        }
        Some(wrap(named, value?))
    }

    /// What stands for a named value: itself where it costs nothing to repeat, or a new name that goes to `named`.
    pub(super) fn named(&mut self, name: &str, value: Typed, named: &mut Vec<(String, Typed)>) -> Typed {
        let free = matches!(value.kind, TypedKind::Name(_) | TypedKind::Number(_)) || dim_of(&value).is_some();
        if free {
            return value;
        }
        self.locals += 1;
        let unique = format!("{name}#{}", self.locals);
        let stand_in = Typed { kind: TypedKind::Name(unique.clone()), ..value.clone() };
        named.push((unique, value));
        stand_in
    }

    /// The value of a block; the names of its `let`s end with it.
    pub(super) fn block(&mut self, body: &Body) -> Option<Typed> {
        let outer = self.bound.clone();
        let value = self.lines(body);
        self.bound = outer;
        value
    }

    fn lines(&mut self, body: &Body) -> Option<Typed> {
        let mut named = Vec::new();
        for (name, value) in &body.lets {
            let value = self.expr(value)?;
            let stand_in = self.named(&name.name, value, &mut named);
            let recursion = self.scan.as_ref().is_some_and(|s| s.state == name.name);
            if recursion || self.entries.contains_key(&name.name) || self.bound.contains_key(&name.name) {
                return self.error(
                    Diagnostic::error(Code::NameTaken, name.span, format!("`{}` is already taken", name.name))
                        .help("choose another name"),
                );
            }
            self.bound.insert(name.name.clone(), stand_in);
        }
        Some(wrap(named, self.expr(&body.value)?))
    }

    /// The names that `dims` depend on.
    pub(super) fn depends_on(dims: &[Dim], name: &str) -> bool {
        dims.iter().any(|d| d.names().contains(&name))
    }
}
