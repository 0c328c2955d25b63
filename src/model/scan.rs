//! Typing of `scan`: a state carried along an index, of which every step may look at the states before it.

use super::arrays::{ArrayOp, Scan};
use super::dim::Dim;
use super::scope::{Entry, Role, Scope};
use super::types::*;
use crate::base::{Code, Diagnostic, Span};
use crate::lang::ast::{Body, Expr, ExprKind, Ident};
use std::collections::BTreeSet;

/// The recursion whose step is being typed.
#[derive(Debug, Clone)]
pub(super) struct Recursion {
    pub state: String,
    index: String,
    first: Dim,
    /// Shape of all states; `None` where none is given to begin with.
    shape: Option<Shape>,
    data_only: bool,
}

/// The parts of a `scan` statement.
pub(super) struct Written<'a> {
    pub name: &'a Ident,
    pub index: &'a Ident,
    pub first: &'a Expr,
    pub last: &'a Expr,
    pub start: Option<&'a Expr>,
    pub body: &'a Body,
}

impl Scope {
    /// `scan h[t in 2:N] from start = ...`: the array of all states.
    pub fn recursion(&mut self, written: &Written<'_>) -> Option<Typed> {
        let (name, index) = (written.name, written.index);
        let start = written.start.map(|s| self.expr(s));
        let (first, last) = (self.dim(written.first), self.dim(written.last));
        if self.entries.contains_key(&index.name) || index.name == name.name {
            return self.error(
                Diagnostic::error(Code::NameTaken, index.span, format!("`{}` is already taken", index.name))
                    .help("choose another name for the position"),
            );
        }
        let (first, last) = (first?, last?);
        let start = match start {
            Some(start) => Some(start?),
            None => None,
        };
        let state = self.state_shape(&first, start.as_ref(), written)?;
        let span = name.span.to(written.body.value.span);
        let all = |state: &[Dim]| -> Shape { std::iter::once(last.clone()).chain(state.iter().cloned()).collect() };
        let mut recursion = Recursion {
            state: name.name.clone(),
            index: index.name.clone(),
            first: first.clone(),
            shape: state.as_deref().map(all),
            data_only: start.as_ref().is_none_or(|s| s.data_only),
        };
        let position = Entry::Value { shape: vec![], integer: true, data_only: true, role: Role::Let };
        self.entries.insert(index.name.clone(), (position, index.span));
        self.scan = Some(recursion.clone());
        let mut step = self.block(written.body);
        if recursion.data_only && step.as_ref().is_some_and(|s| !s.data_only) {
            // The step brings parameters in, so the states depend on them too.
            recursion.data_only = false;
            self.scan = Some(recursion.clone());
            step = self.block(written.body);
        }
        self.scan = None;
        self.entries.remove(&index.name);
        let step = step?;
        let place = written.body.value.span;
        if let Some(varying) = varying(&step, &index.name) {
            return self.error(
                Diagnostic::error(Code::Shape, varying.span, format!("this size changes with `{}`", index.name))
                    .found(describe_shape(&varying.shape))
                    .help("a step has one size; look back over a fixed number of positions, as in `y[t - 2:t - 1]`"),
            );
        }
        let mut names = BTreeSet::from([name.name.clone(), index.name.clone()]);
        if let Some(error) = unsupported(&step, &name.name, &mut names) {
            return self.error(error);
        }
        let state = state.unwrap_or_else(|| step.shape.clone());
        if state.len() > 1 {
            return self.error(
                Diagnostic::error(Code::Shape, place, "a state is a scalar or a vector").found(describe_shape(&state)),
            );
        }
        if step.shape != state {
            return self.error(
                Diagnostic::error(Code::Shape, place, format!("this step does not make a state of `{}`", name.name))
                    .expected(format!("{}, as in `from`", describe_shape(&state)))
                    .found(describe_shape(&step.shape)),
            );
        }
        let data_only = recursion.data_only && step.data_only;
        let shape = all(&state);
        let scan = Scan { state: name.name.clone(), index: index.name.clone(), first, last, start, step };
        Some(Typed { kind: TypedKind::Scan(Box::new(scan)), shape, integer: false, data_only, span })
    }

    /// The shape of one state; `None` where no state is given and none can be looked at.
    fn state_shape(&mut self, first: &Dim, start: Option<&Typed>, written: &Written<'_>) -> Option<Option<Shape>> {
        let name = &written.name.name;
        let before = first.minus(&Dim::Size(1));
        match start {
            None if *first == Dim::Size(1) => Some(None),
            None => self.error(
                Diagnostic::error(Code::Statement, written.first.span, format!("`{name}` has nothing to begin with"))
                    .expected(format!("`from` and the states before position {first}"))
                    .help(format!("for example `scan {name}[{} in 2:N] from 0 = ...`", written.index.name)),
            ),
            Some(start) if *first == Dim::Size(1) => self.error(
                Diagnostic::error(Code::Statement, start.span, "there is no position before the first")
                    .expected("a scan that begins at 2 or later")
                    .help("drop `from`, or begin at 2"),
            ),
            Some(start) if *first == Dim::Size(2) => Some(Some(start.shape.clone())),
            Some(start) if start.shape.first() == Some(&before) => Some(Some(start.shape[1..].to_vec())),
            Some(start) => self.error(
                Diagnostic::error(Code::Shape, start.span, format!("`from` must give the states before {first}"))
                    .expected(format!("{before} of them, along the first axis"))
                    .found(describe_shape(&start.shape)),
            ),
        }
    }

    /// The array of states, where `base` names it inside its own step.
    pub(super) fn state(&mut self, base: &Expr) -> Option<Typed> {
        let (ExprKind::Name(name), Some(scan)) = (&base.kind, &self.scan) else { return None };
        if *name != scan.state || self.bound.contains_key(name) {
            return None;
        }
        let shape = scan.shape.clone()?;
        let kind = TypedKind::Name(name.clone());
        Some(Typed { kind, shape, integer: false, data_only: scan.data_only, span: base.span })
    }

    /// What is wrong with the name of the states standing alone.
    pub(super) fn whole_state(&self, name: &str, span: Span) -> Option<Diagnostic> {
        let scan = self.scan.as_ref().filter(|s| s.state == name)?;
        let (state, index) = (&scan.state, &scan.index);
        let text = format!("`{state}` is not complete inside its own step");
        let error = Diagnostic::error(Code::Statement, span, text);
        Some(match scan.shape {
            Some(_) => error.expected(format!("an earlier state, such as `{state}[{index} - 1]`")),
            None => error.help(format!("to look back, begin at 2: `scan {state}[{index} in 2:N] from ... = ...`")),
        })
    }

    /// Reports a position that is not before the current one, as far as that can be known without data.
    pub(super) fn earlier(&mut self, position: Option<&TypedIndex>, span: Span) -> Option<()> {
        let scan = self.scan.clone()?;
        let here = Dim::Name(scan.index.clone());
        let (lowest, highest) = match position {
            Some(TypedIndex::At(at)) => match super::scope::dim_of(at) {
                Some(at) => (at.minus(&here), at.minus(&here)),
                None => return Some(()),
            },
            Some(TypedIndex::Range(first, last, _)) => (first.minus(&here), last.minus(&here)),
            _ => (Dim::Size(0), Dim::Size(0)),
        };
        let (state, index) = (&scan.state, &scan.index);
        if matches!(highest, Dim::Size(n) if n >= 0) {
            return self.error(
                Diagnostic::error(Code::Statement, span, format!("`{state}` is known only before position {index}"))
                    .expected(format!("an earlier state, such as `{state}[{index} - 1]`")),
            );
        }
        if let (Dim::Size(n), Dim::Size(first)) = (&lowest, &scan.first)
            && *n < 1 - first
        {
            let needed = 1 - n;
            return self.error(
                Diagnostic::error(Code::Statement, span, format!("this looks {} positions back", -n))
                    .expected(format!("at most {} back, as the first position is {first}", first - 1))
                    .help(format!("begin at {needed}, with the {} states before it in `from`", needed - 1)),
            );
        }
        Some(())
    }
}

/// A part that depends on a parameter, or the whole, whose size depends on the position.
fn varying<'a>(typed: &'a Typed, index: &str) -> Option<&'a Typed> {
    let varies = Scope::depends_on(&typed.shape, index);
    if typed.data_only {
        return varies.then_some(typed);
    }
    if varies {
        return Some(typed);
    }
    // A part of the data may change its size as long as what is made of it does not.
    let inner = |t: &'a Typed| varying(t, index);
    match &typed.kind {
        TypedKind::Number(_) | TypedKind::Name(_) | TypedKind::Shared(_) | TypedKind::Scan(_) => None,
        TypedKind::Unary(_, a) | TypedKind::Transpose(a) | TypedKind::Reduce(_, a) => inner(a),
        TypedKind::Binary(_, a, b) | TypedKind::MatMul(a, b) | TypedKind::Pair(a, b) | TypedKind::Compare(_, a, b) => {
            inner(a).or_else(|| varying(b, index))
        }
        TypedKind::Index(base, _) => inner(base),
        TypedKind::Array(_, inputs) => inputs.iter().find_map(inner),
        TypedKind::Local { value, body, .. } => inner(value).or_else(|| varying(body, index)),
    }
}

/// A part that depends on the states in a way that a step cannot; `names` are those whose values change.
fn unsupported(typed: &Typed, state: &str, names: &mut BTreeSet<String>) -> Option<Diagnostic> {
    if typed.data_only || !typed.mentions(names) {
        return None;
    }
    match &typed.kind {
        TypedKind::Number(_) | TypedKind::Name(_) | TypedKind::Shared(_) | TypedKind::Scan(_) => None,
        TypedKind::Unary(_, a) | TypedKind::Transpose(a) | TypedKind::Reduce(_, a) => unsupported(a, state, names),
        TypedKind::Binary(_, a, b) | TypedKind::MatMul(a, b) | TypedKind::Pair(a, b) | TypedKind::Compare(_, a, b) => {
            unsupported(a, state, names).or_else(|| unsupported(b, state, names))
        }
        TypedKind::Index(base, positions) => {
            if matches!(&base.kind, TypedKind::Name(name) if name == state) || !base.mentions(names) {
                return None;
            }
            if positions.iter().any(|p| p.mentions(names)) {
                let text = "a position that changes from step to step cannot look into a value of the step";
                return Some(
                    Diagnostic::error(Code::Type, typed.span, text)
                        .expected("a fixed position, or a look at the state itself")
                        .help(format!("put all positions into one pair of brackets, as in `{state}[t - 1, group[t]]`")),
                );
            }
            unsupported(base, state, names)
        }
        TypedKind::Array(ArrayOp::Covariance(_), _) => Some(
            Diagnostic::error(Code::Statement, typed.span, "a covariance function cannot stand in a step")
                .found("parameters that change from step to step")
                .help("build the covariance before the `scan`"),
        ),
        TypedKind::Array(_, inputs) => inputs.iter().find_map(|i| unsupported(i, state, names)),
        TypedKind::Local { name, value, body } => {
            let found = unsupported(value, state, names);
            if value.mentions(names) {
                names.insert(name.clone());
            }
            found.or_else(|| unsupported(body, state, names))
        }
    }
}
