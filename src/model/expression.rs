//! Typing of expressions: names resolved, shapes inferred, every mismatch named.

use super::arrays::Comparison;
use super::dim::Dim;
use super::functions::{self, Kind};
use super::scope::{CONSTANTS, Entry, Role, Scope};
use super::types::*;
use crate::base::{Code, Diagnostic, Span, suggest};
use crate::lang::ast::{Expr, ExprKind, Ident, Index, Operator};
use crate::lang::format_expression;
use crate::math::op::{Binary, Unary};

impl Scope {
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
                    Operator::Pow | Operator::MatMul => Binary::Pow,
                    comparison => return self.compare(*comparison, l?, r?, span),
                };
                self.elementwise(op, operator.symbol(), l?, r?, span)
            }
            ExprKind::Call(function, arguments) => self.call(function, arguments, span),
            ExprKind::Index(base, indices) => self.index(base, indices, span),
            ExprKind::Array(elements) => self.stack(elements, span),
            ExprKind::Named(name, _) => self.misplaced_argument(name, span),
        }
    }

    fn name(&mut self, name: &str, span: Span) -> Option<Typed> {
        if let Some(&(_, value)) = CONSTANTS.iter().find(|c| c.0 == name) {
            return Some(Typed::number(value, span));
        }
        if let Some(bound) = self.bound.get(name) {
            return Some(Typed { span, ..bound.clone() });
        }
        if let Some(error) = self.whole_state(name, span) {
            return self.error(error);
        }
        match self.entries.get(name) {
            Some((Entry::Value { role: Role::Generated, .. }, _)) if !self.reporting => self.error(
                Diagnostic::error(Code::Statement, span, format!("`{name}` is drawn after the fit"))
                    .expected("data, parameters, and `let`s of them")
                    .help("what a `report` draws can stand in a later `report` alone"),
            ),
            Some((Entry::Value { shape, integer, data_only, role }, _)) => {
                self.met_generated |= *role == Role::Generated;
                Some(Typed {
                    kind: TypedKind::Name(name.to_string()),
                    shape: shape.clone(),
                    integer: *integer,
                    data_only: *data_only,
                    span,
                })
            }
            Some((Entry::Factors(k), _)) => Some(Typed { integer: true, ..Typed::number(*k as f64, span) }),
            Some((Entry::Failed, _)) => None,
            Some((Entry::Function, _)) => self.error(
                Diagnostic::error(Code::Type, span, format!("`{name}` is a function"))
                    .help(format!("write `{name}(...)` with its arguments")),
            ),
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
            None => self.unknown_name(name, span, &format!("`data {name} : real` or `param {name} ~ normal(0, 1)`")),
        }
    }

    /// `l < r` and the other comparisons: 1 where it holds, 0 elsewhere.
    fn compare(&mut self, operator: Operator, l: Typed, r: Typed, span: Span) -> Option<Typed> {
        let comparison = match operator {
            Operator::Less => Comparison::Less,
            Operator::LessEqual => Comparison::LessEqual,
            Operator::Greater => Comparison::Greater,
            Operator::GreaterEqual => Comparison::GreaterEqual,
            Operator::Equal => Comparison::Equal,
            _ => Comparison::NotEqual,
        };
        let shape = self.common_shape(operator.symbol(), None, &l, &r, span)?;
        if !l.data_only || !r.data_only {
            return self.error(
                Diagnostic::error(Code::Type, span, "a comparison must be known from the data")
                    .found("a side that depends on a parameter")
                    .help(
                        "a density that jumps has no slope to follow; a smooth switch is \
                         `a + (b - a) * logistic((t - tau) / width)`, the larger of two values `max(a, b)`",
                    ),
            );
        }
        let kind = TypedKind::Compare(comparison, Box::new(l), Box::new(r));
        Some(Typed { kind, shape, integer: true, data_only: true, span })
    }

    pub(super) fn elementwise(&mut self, op: Binary, symbol: &str, l: Typed, r: Typed, span: Span) -> Option<Typed> {
        let shape = self.common_shape(symbol, Some(op), &l, &r, span)?;
        let whole = matches!(op, Binary::Add | Binary::Sub | Binary::Mul | Binary::Min | Binary::Max);
        let integer = l.integer && r.integer && whole;
        let data_only = l.data_only && r.data_only;
        Some(Typed { kind: TypedKind::Binary(op, Box::new(l), Box::new(r)), shape, integer, data_only, span })
    }

    /// The shape of an elementwise operation: that of both sides, or of the one that is no scalar.
    pub(super) fn common_shape(
        &mut self,
        symbol: &str,
        op: Option<Binary>,
        l: &Typed,
        r: &Typed,
        span: Span,
    ) -> Option<Shape> {
        if l.shape == r.shape || r.shape.is_empty() {
            Some(l.shape.clone())
        } else if l.shape.is_empty() {
            Some(r.shape.clone())
        } else {
            let call = symbol.starts_with(char::is_alphabetic);
            let (text, between) = match call {
                true => (format!("the values in `{symbol}` have different shapes"), "and"),
                false => (format!("the two sides of `{symbol}` have different shapes"), symbol),
            };
            let mut error = Diagnostic::error(Code::Shape, span, text)
                .expected("equal shapes, or a scalar on one side")
                .found(format!("{} {between} {}", describe_shape(&l.shape), describe_shape(&r.shape)));
            if op == Some(Binary::Mul) && l.shape.len() == 2 && l.shape.last() == r.shape.first() {
                error = error.help("`*` works element by element; the matrix product is `@`");
            } else if l.shape.len() == 1 && r.shape.len() == 1 {
                error = error.help(GATHER);
            }
            self.error(error)
        }
    }

    pub(super) fn matmul(&mut self, l: Typed, r: Typed, span: Span) -> Option<Typed> {
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
        let Some(entry) = functions::find(&function.name) else {
            return match self.functions.contains_key(&function.name) {
                true => self.call_own(function, arguments, span),
                false if matches!(self.entries.get(&function.name), Some((Entry::Failed, _))) => None,
                false => self.unknown_function(function),
            };
        };
        let (arguments, axis) = self.split_axis(entry, arguments)?;
        let typed: Vec<Option<Typed>> = arguments.iter().map(|a| self.expr(a)).collect();
        self.check_count(entry, typed.len(), span)?;
        let mut typed = typed.into_iter().collect::<Option<Vec<_>>>()?;
        match entry.kind {
            Kind::Array(op) => self.array_call(entry, op, typed, arguments, span),
            Kind::LogDet => self.log_det(typed.pop()?, span),
            Kind::QuadForm => self.quad_form(typed, span),
            Kind::AddDiag => self.add_diag(typed, span),
            Kind::Pairwise(op) => {
                let second = typed.pop()?;
                let symbol = if op == Binary::Pow { "^" } else { entry.name };
                self.elementwise(op, symbol, typed.pop()?, second, span)
            }
            Kind::Dot => {
                let second = typed.pop()?;
                self.dot(typed.pop()?, second, span)
            }
            Kind::Reduce(Reduction::Minimum) if typed.len() == 2 => {
                let second = typed.pop()?;
                self.elementwise(Binary::Min, entry.name, typed.pop()?, second, span)
            }
            Kind::Reduce(Reduction::Maximum) if typed.len() == 2 => {
                let second = typed.pop()?;
                self.elementwise(Binary::Max, entry.name, typed.pop()?, second, span)
            }
            Kind::Reduce(reduction) => self.reduce(entry, reduction, typed.pop()?, axis, span),
            Kind::Transpose => self.transpose(typed.pop()?, span),
            Kind::Elementwise(op) => {
                let first = typed.pop()?;
                Some(Typed {
                    shape: first.shape.clone(),
                    integer: first.integer && matches!(op, Unary::Abs | Unary::Square | Unary::Step),
                    data_only: first.data_only,
                    span,
                    kind: TypedKind::Unary(op, Box::new(first)),
                })
            }
        }
    }

    fn transpose(&mut self, matrix: Typed, span: Span) -> Option<Typed> {
        let [rows, columns] = matrix.shape.as_slice() else {
            let found = describe_shape(&matrix.shape);
            return self.error(
                Diagnostic::error(Code::Shape, span, "`transpose` needs a matrix")
                    .found(found)
                    .expected("a matrix, for example [N, P]"),
            );
        };
        let shape = vec![columns.clone(), rows.clone()];
        let (integer, data_only) = (matrix.integer, matrix.data_only);
        Some(Typed { kind: TypedKind::Transpose(Box::new(matrix)), integer, shape, data_only, span })
    }

    fn dot(&mut self, first: Typed, second: Typed, span: Span) -> Option<Typed> {
        if first.shape.len() != 1 || first.shape != second.shape {
            return self.error(
                Diagnostic::error(Code::Shape, span, "`dot` needs two vectors of the same length").found(format!(
                    "{} and {}",
                    describe_shape(&first.shape),
                    describe_shape(&second.shape)
                )),
            );
        }
        self.matmul(first, second, span)
    }

    pub(super) fn unknown_function<T>(&mut self, function: &Ident) -> Option<T> {
        let name = function.name.as_str();
        let help = if functions::SHARED_WORDS.contains(&name) {
            "this word stands only in `observe x ~ normal(b + response(z) * w, sqrt(v))` and in the terms of `minimize`"
                .to_string()
        } else if crate::math::dist::find(name).is_some() {
            format!("`{name}` is a distribution: write `y ~ {name}(...)`")
        } else if self.entries.contains_key(name) {
            format!("`{name}` is not a function; index with square brackets: `{name}[...]`")
        } else if let Some(near) = suggest(name, self.functions.keys().map(String::as_str)) {
            format!("did you mean `{near}`?")
        } else {
            let elsewhere = functions::FUNCTIONS.iter().find(|f| f.elsewhere.contains(&name)).map(|f| f.name);
            elsewhere.or_else(|| suggest(name, functions::FUNCTIONS.iter().map(|f| f.name))).map_or_else(
                || format!("there are: {}", functions::FUNCTIONS.iter().map(|f| f.name).collect::<Vec<_>>().join(", ")),
                |near| format!("did you mean `{near}`?"),
            )
        };
        self.error(
            Diagnostic::error(Code::UnknownFunction, function.span, format!("there is no function `{name}`"))
                .help(help),
        )
    }

    fn index(&mut self, base_expr: &Expr, indices: &[Index], span: Span) -> Option<Typed> {
        let state = self.state(base_expr);
        let is_state = state.is_some();
        let typed_base = if is_state { state } else { self.expr(base_expr) };
        let sizes: Vec<Option<Dim>> = match &typed_base {
            Some(base) => (0..indices.len()).map(|i| base.shape.get(i).cloned()).collect(),
            None => vec![None; indices.len()],
        };
        let typed: Vec<Option<(TypedIndex, Shape)>> = indices
            .iter()
            .zip(sizes)
            .map(|(i, size)| match i {
                Index::All(_) => Some((TypedIndex::All, vec![])),
                Index::At(e) => self.position(e),
                Index::Range(lower, upper, span) => self.range(lower.as_ref(), upper.as_ref(), size, *span),
            })
            .collect();
        let base = typed_base?;
        if base.shape.is_empty() {
            let text = format!("`{}` is a scalar; it has no positions", format_expression(base_expr));
            return self.error(Diagnostic::error(Code::Shape, span, text).help("drop the square brackets"));
        }
        if typed.len() > base.shape.len() {
            return self.error(
                Diagnostic::error(Code::Shape, span, "too many positions in square brackets")
                    .expected(count(base.shape.len(), "position"))
                    .found(count(typed.len(), "position")),
            );
        }
        let typed = typed.into_iter().collect::<Option<Vec<_>>>()?;
        if is_state {
            self.earlier(typed.first().map(|t| &t.0), span)?;
        }
        let mut shape = Vec::new();
        let mut positions = Vec::new();
        for (axis, size) in base.shape.iter().enumerate() {
            match typed.get(axis) {
                None | Some((TypedIndex::All, _)) => {
                    shape.push(size.clone());
                    positions.push(TypedIndex::All);
                }
                Some((at, at_shape)) => {
                    self.inside(at, size)?;
                    shape.extend(at_shape.iter().cloned());
                    positions.push(at.clone());
                }
            }
        }
        let (integer, data_only) = (base.integer, base.data_only);
        Some(Typed { kind: TypedKind::Index(Box::new(base), positions), shape, integer, data_only, span })
    }

    /// `lower:upper`, both included; without one of them the axis goes to its end.
    fn range(
        &mut self,
        lower: Option<&Expr>,
        upper: Option<&Expr>,
        size: Option<Dim>,
        span: Span,
    ) -> Option<(TypedIndex, Shape)> {
        let lower = match lower {
            Some(expr) => self.range_end(expr),
            None => Some(Dim::Size(1)),
        };
        let upper = match upper {
            Some(expr) => self.range_end(expr),
            None => size.clone(),
        };
        let (lower, upper) = (lower?, upper?);
        let length = Dim::between(&lower, &upper);
        let outside = matches!((&upper, &size), (Dim::Size(a), Some(Dim::Size(n))) if a > n);
        if matches!(lower, Dim::Size(n) if n < 1) || outside || matches!(length, Dim::Size(n) if n < 0) {
            let size = size.map_or("the size of the axis".into(), |s| s.to_string());
            return self.error(
                Diagnostic::error(Code::Bounds, span, format!("there are no positions {lower}:{upper}"))
                    .expected(format!("first and last position, in this order, from 1 to {size}"))
                    .help("positions start at 1; both ends are included"),
            );
        }
        Some((TypedIndex::Range(lower, upper, span), vec![length]))
    }

    fn range_end(&mut self, expr: &Expr) -> Option<Dim> {
        // Inside a function an argument may be any whole number.
        match self.size(expr)? {
            Dim::Size(n) if n < 0 => self.error(
                Diagnostic::error(Code::Bounds, expr.span, format!("there is no position {n}"))
                    .help("positions start at 1"),
            ),
            dim => Some(dim),
        }
    }

    /// A position written as a plain number lies on the axis, as far as its size is a number too.
    fn inside(&mut self, at: &TypedIndex, size: &Dim) -> Option<()> {
        let TypedIndex::At(Typed { kind: TypedKind::Number(position), span, .. }) = at else { return Some(()) };
        let too_large = matches!(size, Dim::Size(n) if *position > *n as f64);
        if *position >= 1.0 && !too_large {
            return Some(());
        }
        self.error(
            Diagnostic::error(Code::Bounds, *span, format!("there is no position {position}"))
                .expected(format!("a whole number from 1 to {size}"))
                .help("positions start at 1"),
        )
    }

    fn position(&mut self, expr: &Expr) -> Option<(TypedIndex, Shape)> {
        let typed = self.expr(expr)?;
        if !typed.integer || !typed.data_only {
            let why = if typed.data_only { "which is `real`" } else { "which depends on a parameter" };
            return self.error(
                Diagnostic::error(Code::Type, expr.span, "positions must be whole numbers known from the data")
                    .expected("an `int` scalar or vector of the data")
                    .found(format!("`{}`, {why}", format_expression(expr)))
                    .help("declare the index like `data group : int[N] in [1, J]`; positions start at 1"),
            );
        }
        if typed.shape.len() > 1 {
            let found = describe_shape(&typed.shape);
            return self.error(
                Diagnostic::error(Code::Shape, expr.span, "a position is a scalar or a vector")
                    .found(found)
                    .help("take one column of it, as in `theta[I[:, 1]]`"),
            );
        }
        let shape = typed.shape.clone();
        Some((TypedIndex::At(typed), shape))
    }
}

/// The usual way out when a value per group meets a value per row.
pub(super) const GATHER: &str =
    "to give each row the value of its group, index: `theta[group]` with `data group : int[N] in [1, J]`";

/// "1 argument", "2 arguments".
pub(super) fn count(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}
