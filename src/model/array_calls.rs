//! Typing of the functions of whole arrays: how many arguments, which shapes go in, which shape comes out.

use super::arrays::{ArrayOp, Kernel};
use super::dim::Dim;
use super::expression::count;
use super::functions::{Function, Kind};
use super::scope::Scope;
use super::types::*;
use crate::base::{Code, Diagnostic, Span};
use crate::lang::ast::{Expr, ExprKind, Ident};
use crate::math::op::{Binary, Unary};

/// The axis of a reduction, 1 or 2, and where it is written.
type Axis = (usize, Span);

/// The kind of a call, with its data-dependence taken from the arguments.
fn array(op: ArrayOp, inputs: Vec<Typed>, shape: Shape, span: Span) -> Typed {
    let data_only = inputs.iter().all(|i| i.data_only);
    Typed { kind: TypedKind::Array(op, inputs), shape, integer: false, data_only, span }
}

fn shapes(inputs: &[Typed]) -> String {
    inputs.iter().map(|i| describe_shape(&i.shape)).collect::<Vec<_>>().join(" and ")
}

impl Scope {
    /// A named argument outside a call that takes it.
    pub(super) fn misplaced_argument<T>(&mut self, name: &Ident, span: Span) -> Option<T> {
        self.error(
            Diagnostic::error(Code::Arguments, span, format!("there is no argument called `{}` here", name.name))
                .help("arguments are given by position; only sums and the like take `axis = 1` or `axis = 2`"),
        )
    }

    /// The positional arguments of a call, and its axis.
    pub(super) fn split_axis<'a>(
        &mut self,
        entry: &Function,
        arguments: &'a [Expr],
    ) -> Option<(&'a [Expr], Option<Axis>)> {
        let Some((Expr { kind: ExprKind::Named(name, value), span }, rest)) = arguments.split_last() else {
            return Some((arguments, None));
        };
        if name.name != "axis" || !matches!(entry.kind, Kind::Reduce(_)) {
            return self.misplaced_argument(name, *span);
        }
        match value.kind {
            ExprKind::Number { value, integer: true } if value == 1.0 || value == 2.0 => {
                Some((rest, Some((value as usize, *span))))
            }
            _ => self.error(
                Diagnostic::error(Code::Arguments, value.span, "an axis is 1 or 2")
                    .help("`axis = 1` reduces over the rows: one number per column; `axis = 2` one per row"),
            ),
        }
    }

    pub(super) fn check_count(&mut self, entry: &Function, given: usize, span: Span) -> Option<()> {
        let (least, most) = match entry.kind {
            Kind::Reduce(Reduction::Minimum | Reduction::Maximum) => (1, 2),
            Kind::Array(ArrayOp::Append) => (2, usize::MAX),
            // The points once, or two sets of them.
            Kind::Array(ArrayOp::Covariance(kernel)) => (kernel.parameters() + 1, kernel.parameters() + 2),
            _ => {
                let n = entry.arguments.split(',').count();
                (n, n)
            }
        };
        if (least..=most).contains(&given) {
            return Some(());
        }
        let wanted = match most {
            usize::MAX => format!("{} or more", count(least, "argument")),
            _ if most == least => count(least, "argument"),
            _ => format!("{least} or {}", count(most, "argument")),
        };
        self.error(
            Diagnostic::error(Code::Arguments, span, format!("`{}` takes {wanted}", entry.name))
                .expected(format!("`{}({})`", entry.name, entry.arguments))
                .found(count(given, "argument"))
                .help(format!("`{}`: {}", entry.name, entry.doc)),
        )
    }

    pub(super) fn reduce(
        &mut self,
        entry: &Function,
        reduction: Reduction,
        value: Typed,
        axis: Option<Axis>,
        span: Span,
    ) -> Option<Typed> {
        let name = entry.name;
        if value.shape.is_empty() {
            return self.error(
                Diagnostic::error(Code::Shape, span, format!("`{name}` needs a vector or a matrix"))
                    .found("a scalar")
                    .help("drop the call"),
            );
        }
        let integer = value.integer && !matches!(reduction, Reduction::Mean | Reduction::LogSumExp);
        let data_only = value.data_only;
        let (kind, shape) = match (axis, value.shape.as_slice()) {
            (None | Some((1, _)), [_]) | (None, _) => (TypedKind::Reduce(reduction, Box::new(value)), vec![]),
            (Some((axis, _)), [rows, columns]) => {
                let left = if axis == 1 { columns } else { rows };
                let shape = vec![left.clone()];
                (TypedKind::Array(ArrayOp::Along(reduction, axis), vec![value]), shape)
            }
            (Some((_, at)), _) => {
                let found = describe_shape(&value.shape);
                return self.error(
                    Diagnostic::error(Code::Shape, at, "a vector has no second axis")
                        .found(found)
                        .help(format!("write `{name}(...)` without an axis")),
                );
            }
        };
        Some(Typed { kind, shape, integer, data_only, span })
    }

    /// `[a, b, c]`
    pub(super) fn stack(&mut self, elements: &[Expr], span: Span) -> Option<Typed> {
        let typed: Vec<Option<Typed>> = elements.iter().map(|e| self.expr(e)).collect();
        let typed = typed.into_iter().collect::<Option<Vec<_>>>()?;
        let Some(first) = typed.first() else {
            return self.error(
                Diagnostic::error(Code::Shape, span, "an array needs at least one element")
                    .help("for example `[0.5, 1]`"),
            );
        };
        let shape = first.shape.clone();
        if let Some(other) = typed.iter().find(|t| t.shape != shape) {
            let error = Diagnostic::error(Code::Shape, other.span, "the elements of an array have different shapes")
                .expected(format!("{}, as the first element", describe_shape(&shape)))
                .found(describe_shape(&other.shape))
                .help("`append(a, b)` puts one vector after the other");
            return self.error(error);
        }
        if shape.len() > 1 {
            return self.error(
                Diagnostic::error(Code::Shape, span, "an array of matrices would have three axes")
                    .expected("scalars, or vectors of one length"),
            );
        }
        let integer = typed.iter().all(|t| t.integer);
        let shape = std::iter::once(Dim::Size(typed.len() as i64)).chain(shape).collect();
        Some(Typed { integer, ..array(ArrayOp::Stack, typed, shape, span) })
    }

    fn wrong_shapes<T>(&mut self, entry: &Function, expected: &str, inputs: &[Typed], span: Span) -> Option<T> {
        let text = format!("`{}` cannot take these shapes", entry.name);
        self.error(Diagnostic::error(Code::Shape, span, text).expected(expected).found(shapes(inputs)))
    }

    /// A call of a function of whole arrays, its arguments typed and counted.
    pub(super) fn array_call(
        &mut self,
        entry: &Function,
        op: ArrayOp,
        inputs: Vec<Typed>,
        written: &[Expr],
        span: Span,
    ) -> Option<Typed> {
        let shape_of = |i: usize| inputs[i].shape.as_slice();
        let (shape, integer) = match op {
            ArrayOp::Where => return self.choose(inputs, span),
            ArrayOp::Append => return self.append(entry, inputs, span),
            ArrayOp::Repeat | ArrayOp::Range | ArrayOp::Linspace => return self.sequence(op, inputs, written, span),
            ArrayOp::Covariance(kernel) => return self.covariance(entry, kernel, inputs, span),
            // Made by the checker alone.
            ArrayOp::Stack | ArrayOp::Along(..) => return None,
            ArrayOp::CumulativeSum | ArrayOp::CumulativeProduct | ArrayOp::Reverse => match shape_of(0) {
                [n] => (vec![n.clone()], inputs[0].integer),
                _ => return self.wrong_shapes(entry, "a vector, for example [N]", &inputs, span),
            },
            ArrayOp::Softmax | ArrayOp::LogSoftmax => match shape_of(0) {
                [] => return self.wrong_shapes(entry, "a vector or a matrix", &inputs, span),
                shape => (shape.to_vec(), false),
            },
            ArrayOp::Outer => match (shape_of(0), shape_of(1)) {
                ([n], [m]) => (vec![n.clone(), m.clone()], false),
                _ => return self.wrong_shapes(entry, "two vectors, [N] and [M]", &inputs, span),
            },
            ArrayOp::Diag => match shape_of(0) {
                [n] => (vec![n.clone(), n.clone()], inputs[0].integer),
                _ => return self.wrong_shapes(entry, "a vector, for example [N]", &inputs, span),
            },
            ArrayOp::Diagonal => match shape_of(0) {
                [n, m] if n == m => (vec![n.clone()], inputs[0].integer),
                _ => return self.wrong_shapes(entry, "a square matrix, for example [N, N]", &inputs, span),
            },
            ArrayOp::Cholesky => match shape_of(0) {
                [n, m] if n == m => (vec![n.clone(), n.clone()], false),
                _ => return self.wrong_shapes(entry, "a square matrix, for example [N, N]", &inputs, span),
            },
            ArrayOp::SolveLower | ArrayOp::SolveLowerTransposed => match (shape_of(0), shape_of(1)) {
                ([n, m], [b, ..]) if n == m && n == b => (inputs[1].shape.clone(), false),
                _ => return self.wrong_shapes(entry, "[N, N] and [N], or [N, N] and [N, M]", &inputs, span),
            },
            ArrayOp::LogMatMul => match (shape_of(0), shape_of(1)) {
                ([k], [j, n]) if k == j => (vec![n.clone()], false),
                ([m, k], [j, n]) if k == j => (vec![m.clone(), n.clone()], false),
                _ => return self.wrong_shapes(entry, "[K] and [K, M], or [N, K] and [K, M]", &inputs, span),
            },
        };
        Some(Typed { integer, ..array(op, inputs, shape, span) })
    }

    /// `where(condition, a, b)`
    fn choose(&mut self, mut inputs: Vec<Typed>, span: Span) -> Option<Typed> {
        let condition = &inputs[0];
        if !condition.data_only || !condition.integer {
            let why = if condition.data_only { "a real value" } else { "a value that depends on a parameter" };
            let place = condition.span;
            return self.error(
                Diagnostic::error(Code::Type, place, "a condition must be known from the data")
                    .expected("a comparison such as `x > 0`, or `int` data of 0 and 1")
                    .found(why),
            );
        }
        let shape = self.common_shape("where", None, &inputs[1], &inputs[2], span)?;
        let both = Typed { shape, ..Typed::number(0.0, span) };
        let shape = self.common_shape("where", None, &inputs[0], &both, span)?;
        let integer = inputs[1].integer && inputs[2].integer;
        let b = inputs.split_off(1);
        let typed = array(ArrayOp::Where, inputs.into_iter().chain(b).collect(), shape, span);
        Some(Typed { integer, ..typed })
    }

    fn append(&mut self, entry: &Function, inputs: Vec<Typed>, span: Span) -> Option<Typed> {
        let one = Dim::Size(1);
        let matrices = inputs.iter().any(|i| i.shape.len() == 2);
        let mut length = Dim::Size(0);
        for input in &inputs {
            let add = match input.shape.as_slice() {
                [] if !matrices => &one,
                [n] if !matrices => n,
                [n, p] if inputs.iter().all(|i| i.shape.get(1) == Some(p)) => n,
                _ => {
                    let expected = "scalars and vectors, or matrices with the same columns";
                    return self.wrong_shapes(entry, expected, &inputs, span);
                }
            };
            length = length.plus(add);
        }
        let integer = inputs.iter().all(|i| i.integer);
        let shape = std::iter::once(length).chain(inputs[0].shape.get(1).cloned()).collect();
        Some(Typed { integer, ..array(ArrayOp::Append, inputs, shape, span) })
    }

    /// `rep(a, n)`, `range(a, b)` and `linspace(a, b, n)`: vectors whose length is written in the call.
    fn sequence(&mut self, op: ArrayOp, mut inputs: Vec<Typed>, written: &[Expr], span: Span) -> Option<Typed> {
        if let Some(input) = inputs.iter().find(|i| !i.shape.is_empty()) {
            let error = Diagnostic::error(Code::Shape, input.span, "this argument is one number")
                .found(describe_shape(&input.shape));
            return self.error(error);
        }
        let last = self.size(written.last()?)?;
        let length = match op {
            ArrayOp::Range => {
                let first = self.size(&written[0])?;
                Dim::between(&first, &last)
            }
            _ => last,
        };
        if matches!(length, Dim::Size(n) if n < 0) {
            return self.error(
                Diagnostic::error(Code::Bounds, span, format!("this vector would have {length} elements"))
                    .help("the first number stands before the last, and a length is not negative"),
            );
        }
        // What is left are the values; the shape holds the length.
        let integer = inputs[0].integer && op != ArrayOp::Linspace;
        inputs.truncate(if op == ArrayOp::Linspace { 2 } else { 1 });
        Some(Typed { integer, ..array(op, inputs, vec![length], span) })
    }

    fn covariance(&mut self, entry: &Function, kernel: Kernel, inputs: Vec<Typed>, span: Span) -> Option<Typed> {
        let (points, parameters) = inputs.split_at(inputs.len() - kernel.parameters());
        let expected = format!("`{}({})`, with points of shape [N] or [N, D] and scalars", entry.name, entry.arguments);
        if points.iter().any(|p| !(1..=2).contains(&p.shape.len()) || p.shape.get(1) != points[0].shape.get(1))
            || parameters.iter().any(|p| !p.shape.is_empty())
        {
            return self.wrong_shapes(entry, &expected, &inputs, span);
        }
        if let Some(point) = points.iter().find(|p| !p.data_only) {
            let error = Diagnostic::error(Code::Type, point.span, "the points of a covariance must be data")
                .found("points that depend on a parameter")
                .help("build it from elementwise functions, for example `exp(-square(d / length))`");
            return self.error(error);
        }
        let rows = |i: usize| points[i].shape[0].clone();
        let shape = vec![rows(0), rows(points.len() - 1)];
        Some(array(ArrayOp::Covariance(kernel), inputs, shape, span))
    }

    /// 2 sum(log(diagonal(cholesky(A))))
    pub(super) fn log_det(&mut self, matrix: Typed, span: Span) -> Option<Typed> {
        let n = match matrix.shape.as_slice() {
            [n, m] if n == m => n.clone(),
            _ => {
                let found = describe_shape(&matrix.shape);
                return self.error(
                    Diagnostic::error(Code::Shape, span, "`log_det` needs a square matrix")
                        .expected("a square matrix, for example [N, N]")
                        .found(found),
                );
            }
        };
        let factor = array(ArrayOp::Cholesky, vec![matrix], vec![n.clone(), n.clone()], span);
        let diagonal = array(ArrayOp::Diagonal, vec![factor], vec![n], span);
        let data_only = diagonal.data_only;
        let (shape, integer) = (diagonal.shape.clone(), false);
        let logs = Typed { kind: TypedKind::Unary(Unary::Log, Box::new(diagonal)), shape, integer, data_only, span };
        let kind = TypedKind::Reduce(Reduction::Sum, Box::new(logs));
        let sum = Typed { kind, shape: vec![], integer, data_only, span };
        self.elementwise(Binary::Mul, "*", Typed::number(2.0, span), sum, span)
    }

    /// x @ A @ x, with x named so that it is computed once
    pub(super) fn quad_form(&mut self, mut inputs: Vec<Typed>, span: Span) -> Option<Typed> {
        let fits =
            matches!((inputs[0].shape.as_slice(), inputs[1].shape.as_slice()), ([n, m], [k]) if n == m && n == k);
        if !fits {
            return self.error(
                Diagnostic::error(Code::Shape, span, "`quad_form` cannot take these shapes")
                    .expected("[N, N] and [N]")
                    .found(shapes(&inputs)),
            );
        }
        let (x, matrix) = (inputs.pop()?, inputs.pop()?);
        let mut named = Vec::new();
        let x = self.named("x", x, &mut named);
        let product = self.matmul(matrix, x.clone(), span)?;
        let value = self.matmul(x, product, span)?;
        Some(super::inline::wrap(named, value))
    }

    pub(super) fn add_diag(&mut self, mut inputs: Vec<Typed>, span: Span) -> Option<Typed> {
        let n = match (inputs[0].shape.as_slice(), inputs[1].shape.as_slice()) {
            ([n, m], []) if n == m => n.clone(),
            ([n, m], [k]) if n == m && n == k => n.clone(),
            _ => {
                return self.error(
                    Diagnostic::error(Code::Shape, span, "`add_diag` cannot take these shapes")
                        .expected("[N, N] and a scalar, or [N, N] and [N]")
                        .found(shapes(&inputs)),
                );
            }
        };
        let mut added = inputs.pop()?;
        if added.shape.is_empty() {
            added = array(ArrayOp::Repeat, vec![added], vec![n.clone()], span);
        }
        let diagonal = array(ArrayOp::Diag, vec![added], vec![n.clone(), n], span);
        self.elementwise(Binary::Add, "+", inputs.pop()?, diagonal, span)
    }
}
