//! Typing of expressions: names resolved, shapes inferred, every mismatch named.

use super::functions::{self, Kind};
use super::types::*;
use crate::base::{Code, Diagnostic, Span, suggest};
use crate::lang::ast::{Expr, ExprKind, Ident, Index, Operator, WeightRole};
use crate::lang::format_expression;
use crate::math::op::{Binary, Unary};
use std::collections::BTreeMap;

/// What a name stands for.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Entry {
    /// Data, a parameter or a `let`.
    Value {
        shape: Shape,
        integer: bool,
        data_only: bool,
        role: Role,
    },
    /// The number of factors.
    Factors(usize),
    Recording,
    Latent,
    Weight(WeightRole),
}

/// Where a value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Data,
    Param,
    Let,
}

impl Entry {
    fn describe(&self) -> &'static str {
        match self {
            Entry::Value { role: Role::Data, .. } => "data",
            Entry::Value { role: Role::Param, .. } => "a parameter",
            Entry::Value { role: Role::Let, .. } => "a `let`",
            Entry::Factors(_) => "the number of factors",
            Entry::Recording => "the recording",
            Entry::Latent => "the latent",
            Entry::Weight(role) => match role {
                WeightRole::Loading => "the loading",
                WeightRole::Offset => "the offset",
                WeightRole::Noise => "the noise variance",
            },
        }
    }
}

/// All names declared so far, and the findings.
#[derive(Default)]
pub(super) struct Scope {
    pub entries: BTreeMap<String, (Entry, Span)>,
    pub errors: Vec<Diagnostic>,
}

/// Constants that need no declaration.
pub(super) const CONSTANTS: [(&str, f64); 2] = [("pi", std::f64::consts::PI), ("inf", f64::INFINITY)];

impl Scope {
    /// Records an error; typing goes on with `None`.
    pub fn error<T>(&mut self, error: Diagnostic) -> Option<T> {
        self.errors.push(error);
        None
    }

    /// Declares `name`, unless it is taken.
    pub fn declare(&mut self, name: &Ident, entry: Entry) {
        // Distributions stand only behind `~`, so their names are free: `beta` is a common coefficient.
        let builtin = functions::find(&name.name).is_some() || CONSTANTS.iter().any(|c| c.0 == name.name);
        if builtin || functions::SHARED_WORDS.contains(&name.name.as_str()) {
            self.errors.push(
                Diagnostic::error(
                    Code::NameTaken,
                    name.span,
                    format!("`{}` is already a word of the language", name.name),
                )
                .help("choose another name"),
            );
        } else if let Some((old, _)) = self.entries.get(&name.name) {
            let text = format!("`{}` is declared twice; it already is {}", name.name, old.describe());
            self.errors.push(
                Diagnostic::error(Code::NameTaken, name.span, text).help("choose another name, or drop one of the two"),
            );
        } else {
            self.entries.insert(name.name.clone(), (entry, name.span));
        }
    }

    fn unknown_name<T>(&mut self, name: &str, span: Span) -> Option<T> {
        let help = match suggest(name, self.entries.keys().map(String::as_str)) {
            Some(near) => format!("did you mean `{near}`?"),
            None if functions::find(name).is_some() => format!("`{name}` is a function: write `{name}(...)`"),
            None => format!("declare it first, for example `data {name} : real` or `param {name}`"),
        };
        self.error(
            Diagnostic::error(Code::UnknownName, span, format!("`{name}` is not declared"))
                .expected("a name declared above this line")
                .found(format!("`{name}`"))
                .help(help),
        )
    }

    /// A size from an expression of whole numbers known from the data.
    pub fn dim(&mut self, expr: &Expr) -> Option<Dim> {
        match &expr.kind {
            ExprKind::Number { value, integer: true } if *value >= 0.0 => Some(Dim::Size(*value as i64)),
            ExprKind::Name(name) => match self.entries.get(name) {
                Some((Entry::Value { shape, integer: true, data_only: true, .. }, _)) if shape.is_empty() => {
                    Some(Dim::Name(name.clone()))
                }
                Some((Entry::Factors(k), _)) => Some(Dim::Size(*k as i64)),
                Some((entry, _)) => {
                    let found = format!("`{name}`, {}", entry.describe());
                    self.error(
                        Diagnostic::error(Code::Type, expr.span, "a size must be a whole number known from the data")
                            .expected("an `int` of the data, a whole number, or +, -, * of them")
                            .found(found)
                            .help(format!("declare it like `data {name} : int`")),
                    )
                }
                None => self.unknown_name(name, expr.span),
            },
            ExprKind::Binary(op @ (Operator::Add | Operator::Sub | Operator::Mul), l, r) => {
                let (l, r) = (self.dim(l), self.dim(r));
                let (l, r) = (l?, r?);
                Some(match (op, &l, &r) {
                    (Operator::Add, Dim::Size(a), Dim::Size(b)) => Dim::Size(a + b),
                    (Operator::Sub, Dim::Size(a), Dim::Size(b)) => Dim::Size(a - b),
                    (Operator::Mul, Dim::Size(a), Dim::Size(b)) => Dim::Size(a * b),
                    (Operator::Add, ..) => Dim::Add(Box::new(l), Box::new(r)),
                    (Operator::Sub, ..) => Dim::Sub(Box::new(l), Box::new(r)),
                    _ => Dim::Mul(Box::new(l), Box::new(r)),
                })
            }
            _ => self.error(
                Diagnostic::error(Code::Type, expr.span, "a size must be a whole number known from the data")
                    .expected("an `int` of the data, a whole number, or +, -, * of them")
                    .found(format!("`{}`", format_expression(expr))),
            ),
        }
    }

    /// Types an expression.
    pub fn expr(&mut self, expr: &Expr) -> Option<Typed> {
        let span = expr.span;
        match &expr.kind {
            ExprKind::Number { value, integer } => Some(Typed { integer: *integer, ..Typed::number(*value, span) }),
            ExprKind::Name(name) => self.name(name, span),
            ExprKind::Negate(inner) => {
                let inner = self.expr(inner)?;
                Some(Typed {
                    shape: inner.shape.clone(),
                    integer: inner.integer,
                    data_only: inner.data_only,
                    span,
                    kind: TypedKind::Unary(Unary::Neg, Box::new(inner)),
                })
            }
            ExprKind::Binary(Operator::MatMul, l, r) => {
                let (l, r) = (self.expr(l), self.expr(r));
                self.matmul(l?, r?, span)
            }
            ExprKind::Binary(operator, l, r) => {
                let (l, r) = (self.expr(l), self.expr(r));
                let op = match operator {
                    Operator::Add => Binary::Add,
                    Operator::Sub => Binary::Sub,
                    Operator::Mul => Binary::Mul,
                    Operator::Div => Binary::Div,
                    _ => Binary::Pow,
                };
                self.elementwise(op, operator.symbol(), l?, r?, span)
            }
            ExprKind::Call(function, arguments) => self.call(function, arguments, span),
            ExprKind::Index(base, indices) => self.index(base, indices, span),
        }
    }

    fn name(&mut self, name: &str, span: Span) -> Option<Typed> {
        if let Some(&(_, value)) = CONSTANTS.iter().find(|c| c.0 == name) {
            return Some(Typed::number(value, span));
        }
        match self.entries.get(name) {
            Some((Entry::Value { shape, integer, data_only, .. }, _)) => Some(Typed {
                kind: TypedKind::Name(name.to_string()),
                shape: shape.clone(),
                integer: *integer,
                data_only: *data_only,
                span,
            }),
            Some((Entry::Factors(k), _)) => Some(Typed { integer: true, ..Typed::number(*k as f64, span) }),
            Some((entry, _)) => {
                let what = entry.describe();
                self.error(
                    Diagnostic::error(
                        Code::SharedResponse,
                        span,
                        format!("{what} `{name}` cannot stand in this expression"),
                    )
                    .help(
                        "the recording, the latent and its weights stand only in \
                             `observe x ~ normal(b + response(z) * w, sqrt(v))` and in the terms of `minimize`",
                    ),
                )
            }
            None => self.unknown_name(name, span),
        }
    }

    fn elementwise(&mut self, op: Binary, symbol: &str, l: Typed, r: Typed, span: Span) -> Option<Typed> {
        let shape = if l.shape == r.shape || r.shape.is_empty() {
            l.shape.clone()
        } else if l.shape.is_empty() {
            r.shape.clone()
        } else {
            let mut error =
                Diagnostic::error(Code::Shape, span, format!("the two sides of `{symbol}` have different shapes"))
                    .expected("equal shapes, or a scalar on one side")
                    .found(format!("{} {symbol} {}", describe_shape(&l.shape), describe_shape(&r.shape)));
            if op == Binary::Mul && l.shape.len() == 2 && l.shape.last() == r.shape.first() {
                error = error.help("`*` works element by element; the matrix product is `@`");
            }
            return self.error(error);
        };
        let integer = l.integer && r.integer && matches!(op, Binary::Add | Binary::Sub | Binary::Mul);
        let data_only = l.data_only && r.data_only;
        Some(Typed { kind: TypedKind::Binary(op, Box::new(l), Box::new(r)), shape, integer, data_only, span })
    }

    fn matmul(&mut self, l: Typed, r: Typed, span: Span) -> Option<Typed> {
        let shape = match (l.shape.as_slice(), r.shape.as_slice()) {
            ([m, k], [j, n]) if k == j => Some(vec![m.clone(), n.clone()]),
            ([m, k], [j]) if k == j => Some(vec![m.clone()]),
            ([k], [j, n]) if k == j => Some(vec![n.clone()]),
            ([k], [j]) if k == j => Some(vec![]),
            _ => None,
        };
        let Some(shape) = shape else {
            let mut error = Diagnostic::error(Code::Shape, span, "the inner sizes of `@` differ")
                .expected("[N, P] @ [P], [N, P] @ [P, Q], [P] @ [P, Q] or [P] @ [P]")
                .found(format!("{} @ {}", describe_shape(&l.shape), describe_shape(&r.shape)));
            if l.shape.is_empty() || r.shape.is_empty() {
                error = error.help("multiply by a scalar with `*`");
            } else if l.shape.len() == 2 && l.shape.first() == r.shape.first() {
                error = error.help("`transpose(...)` turns the left matrix around");
            }
            return self.error(error);
        };
        let data_only = l.data_only && r.data_only;
        Some(Typed { kind: TypedKind::MatMul(Box::new(l), Box::new(r)), shape, integer: false, data_only, span })
    }

    fn call(&mut self, function: &Ident, arguments: &[Expr], span: Span) -> Option<Typed> {
        let name = function.name.as_str();
        let Some(entry) = functions::find(name) else {
            return self.unknown_function(function);
        };
        let arity = if matches!(entry.kind, Kind::Dot | Kind::Power) { 2 } else { 1 };
        let mut typed = Vec::with_capacity(arity);
        for argument in arguments {
            typed.push(self.expr(argument));
        }
        if typed.len() != arity {
            return self.error(
                Diagnostic::error(Code::Arguments, span, format!("`{name}` takes {}", count(arity, "argument")))
                    .expected(count(arity, "argument"))
                    .found(count(typed.len(), "argument"))
                    .help(format!("`{name}`: {}", entry.doc)),
            );
        }
        let mut typed = typed.into_iter().collect::<Option<Vec<_>>>()?.into_iter();
        let first = typed.next()?;
        let data_only = first.data_only;
        match entry.kind {
            Kind::Elementwise(op) => Some(Typed {
                shape: first.shape.clone(),
                integer: first.integer && matches!(op, Unary::Abs | Unary::Square),
                data_only,
                span,
                kind: TypedKind::Unary(op, Box::new(first)),
            }),
            Kind::Reduce(reduction) => {
                if first.shape.is_empty() {
                    return self.error(
                        Diagnostic::error(Code::Shape, span, format!("`{name}` needs a vector or a matrix"))
                            .found("a scalar")
                            .help("drop the call"),
                    );
                }
                let integer = first.integer && !matches!(reduction, Reduction::Mean | Reduction::LogSumExp);
                Some(Typed {
                    kind: TypedKind::Reduce(reduction, Box::new(first)),
                    shape: vec![],
                    integer,
                    data_only,
                    span,
                })
            }
            Kind::Transpose => {
                let [rows, columns] = first.shape.as_slice() else {
                    let found = describe_shape(&first.shape);
                    return self.error(Diagnostic::error(Code::Shape, span, "`transpose` needs a matrix").found(found));
                };
                let shape = vec![columns.clone(), rows.clone()];
                Some(Typed {
                    integer: first.integer,
                    kind: TypedKind::Transpose(Box::new(first)),
                    shape,
                    data_only,
                    span,
                })
            }
            Kind::Power => {
                let second = typed.next()?;
                self.elementwise(Binary::Pow, "^", first, second, span)
            }
            Kind::Dot => {
                let second = typed.next()?;
                if first.shape.len() != 1 || first.shape != second.shape {
                    return self.error(
                        Diagnostic::error(Code::Shape, span, "`dot` needs two vectors of the same length")
                            .found(format!("{} and {}", describe_shape(&first.shape), describe_shape(&second.shape))),
                    );
                }
                self.matmul(first, second, span)
            }
        }
    }

    fn unknown_function(&mut self, function: &Ident) -> Option<Typed> {
        let name = function.name.as_str();
        let help = if functions::SHARED_WORDS.contains(&name) {
            "this word stands only in `observe x ~ normal(b + response(z) * w, sqrt(v))` and in the terms of `minimize`"
                .to_string()
        } else if crate::math::dist::find(name).is_some() {
            format!("`{name}` is a distribution: write `y ~ {name}(...)`")
        } else if self.entries.contains_key(name) {
            format!("`{name}` is not a function; index with square brackets: `{name}[...]`")
        } else {
            let elsewhere = functions::FUNCTIONS.iter().find(|f| f.elsewhere.contains(&name)).map(|f| f.name);
            elsewhere
                .or_else(|| suggest(name, functions::FUNCTIONS.iter().map(|f| f.name)))
                .map_or("the book lists all functions".to_string(), |near| format!("did you mean `{near}`?"))
        };
        self.error(
            Diagnostic::error(Code::UnknownFunction, function.span, format!("there is no function `{name}`"))
                .help(help),
        )
    }

    fn index(&mut self, base: &Expr, indices: &[Index], span: Span) -> Option<Typed> {
        let typed_base = self.expr(base);
        let typed: Vec<Option<(TypedIndex, Shape)>> = indices
            .iter()
            .map(|i| match i {
                Index::All(_) => Some((TypedIndex::All, vec![])),
                Index::At(e) => self.position(e),
            })
            .collect();
        let base = typed_base?;
        if typed.len() > base.shape.len() {
            return self.error(
                Diagnostic::error(Code::Shape, span, "too many positions in square brackets")
                    .expected(count(base.shape.len(), "position"))
                    .found(count(typed.len(), "position")),
            );
        }
        let typed = typed.into_iter().collect::<Option<Vec<_>>>()?;
        let mut shape = Vec::new();
        let mut positions = Vec::new();
        for (axis, size) in base.shape.iter().enumerate() {
            match typed.get(axis) {
                None | Some((TypedIndex::All, _)) => {
                    shape.push(size.clone());
                    positions.push(TypedIndex::All);
                }
                Some((at, at_shape)) => {
                    shape.extend(at_shape.iter().cloned());
                    positions.push(at.clone());
                }
            }
        }
        let (integer, data_only) = (base.integer, base.data_only);
        Some(Typed { kind: TypedKind::Index(Box::new(base), positions), shape, integer, data_only, span })
    }

    fn position(&mut self, expr: &Expr) -> Option<(TypedIndex, Shape)> {
        let typed = self.expr(expr)?;
        if !typed.integer || !typed.data_only {
            return self.error(
                Diagnostic::error(Code::Type, expr.span, "positions must be whole numbers known from the data")
                    .expected("an `int` scalar or vector of the data")
                    .found(format!("`{}`, a real", format_expression(expr)))
                    .help("declare the index like `data group : int[N] in [1, J]`; positions start at 1"),
            );
        }
        if typed.shape.len() > 1 {
            let found = describe_shape(&typed.shape);
            return self
                .error(Diagnostic::error(Code::Shape, expr.span, "a position is a scalar or a vector").found(found));
        }
        let shape = typed.shape.clone();
        Some((TypedIndex::At(typed), shape))
    }
}

/// "1 argument", "2 arguments".
pub(super) fn count(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}
