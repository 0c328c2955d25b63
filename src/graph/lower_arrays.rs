//! Functions of whole arrays as nodes: moves of elements as joins and gathers, the rest as functions with an adjoint.

use super::array_function::ArrayFunction;
use super::dense_functions::{Along, Cholesky, Covariance, Cumulative, LogMatMul, Solve};
use super::lower::{LowerError, Lowerer};
use super::program::{NodeId, Op};
use crate::bind::{Plan, evaluate, evaluate::shape};
use crate::math::kernel::statistics;
use crate::math::op::{Algebra, Binary, Unary};
use crate::model::{ArrayOp, Dim, Kernel, Reduction, Typed};
use std::sync::Arc;

type Lowered = Result<(NodeId, Vec<usize>), LowerError>;

impl Lowerer {
    /// A function of whole arrays that depends on a parameter.
    pub fn array(&mut self, plan: &Plan, op: ArrayOp, inputs: &[Typed], dims: &[Dim]) -> Lowered {
        let out = shape(dims, &self.values)?;
        let len = out.iter().product();
        if let ArrayOp::Covariance(kernel) = op {
            let node = self.covariance(plan, kernel, inputs, len)?;
            return Ok((node, out));
        }
        let lowered = inputs.iter().map(|i| self.expression(plan, i)).collect::<Result<Vec<_>, _>>()?;
        let ids: Vec<NodeId> = lowered.iter().map(|l| l.0).collect();
        let shape_of = |i: usize| lowered[i].1.as_slice();
        let node = match op {
            ArrayOp::Stack | ArrayOp::Append => self.push(Op::Join { inputs: ids }, len, true),
            ArrayOp::Where => {
                let condition = evaluate(&inputs[0], &self.values)?;
                let (a, b) = (self.nodes[ids[1]].len, self.nodes[ids[2]].len);
                let place = |at: usize, size: usize| if size == 1 { 0 } else { at };
                let choose = |i: usize| if condition.at(i) != 0.0 { place(i, a) } else { a + place(i, b) };
                let indices = (0..len).map(choose).collect();
                let source = self.push(Op::Join { inputs: vec![ids[1], ids[2]] }, a + b, true);
                self.push(Op::Gather { source, indices }, len, true)
            }
            ArrayOp::Along(reduction, axis) => {
                let function = Along { reduction, axis, rows: shape_of(0)[0], columns: shape_of(0)[1] };
                self.function(function, ids, len)
            }
            ArrayOp::CumulativeSum | ArrayOp::CumulativeProduct => {
                self.function(Cumulative { product: op == ArrayOp::CumulativeProduct }, ids, len)
            }
            ArrayOp::Softmax => {
                let logs = self.log_softmax(ids[0], shape_of(0), len);
                self.unary(Unary::Exp, logs)
            }
            ArrayOp::LogSoftmax => self.log_softmax(ids[0], shape_of(0), len),
            ArrayOp::Outer => self.push(Op::MatMul { a: ids[0], b: ids[1], m: out[0], k: 1, n: out[1] }, len, true),
            ArrayOp::Diag => {
                let zero = self.constant(0.0);
                let source = self.push(Op::Join { inputs: vec![ids[0], zero] }, out[0] + 1, true);
                let place = |i: usize| if i / out[0] == i % out[0] { i / out[0] } else { out[0] };
                self.push(Op::Gather { source, indices: (0..len).map(place).collect() }, len, true)
            }
            ArrayOp::Diagonal => self.gather(ids[0], (0..len).map(|i| i * len + i)),
            ArrayOp::Reverse => self.gather(ids[0], (0..len).rev()),
            ArrayOp::Repeat => self.gather(ids[0], std::iter::repeat_n(0, len)),
            // Evenly spaced between ends of which one depends on a parameter: a + (b - a) w.
            ArrayOp::Linspace | ArrayOp::Range => {
                let weights =
                    crate::bind::linspace(0.0, if op == ArrayOp::Range { len as f64 - 1.0 } else { 1.0 }, len);
                let weights = self.push(Op::Constant(weights.into()), len, false);
                let width = match op {
                    ArrayOp::Range => weights,
                    _ => {
                        let width = self.binary(Binary::Sub, ids[1], ids[0]);
                        self.binary(Binary::Mul, width, weights)
                    }
                };
                self.binary(Binary::Add, ids[0], width)
            }
            ArrayOp::LogMatMul => {
                let (k, n) = (shape_of(1)[0], shape_of(1)[1]);
                let m = if shape_of(0).len() == 2 { shape_of(0)[0] } else { 1 };
                self.function(LogMatMul { m, k, n }, ids, len)
            }
            ArrayOp::Cholesky => self.function(Cholesky { n: out[0] }, ids, len),
            ArrayOp::SolveLower | ArrayOp::SolveLowerTransposed => {
                let m = out.get(1).copied().unwrap_or(1);
                let transposed = op == ArrayOp::SolveLowerTransposed;
                self.function(Solve { n: out[0], m, transposed }, ids, len)
            }
            ArrayOp::Covariance(_) => return Err(LowerError::Missing { name: "covariance".into() }),
        };
        Ok((node, out))
    }

    fn function(&mut self, function: impl ArrayFunction + 'static, inputs: Vec<NodeId>, len: usize) -> NodeId {
        self.push(Op::Array { function: Arc::new(function), inputs }, len, true)
    }

    fn gather(&mut self, source: NodeId, indices: impl Iterator<Item = usize>) -> NodeId {
        let indices: Arc<[usize]> = indices.collect();
        let len = indices.len();
        self.push(Op::Gather { source, indices }, len, true)
    }

    /// Of a vector, or of each row of a matrix.
    fn log_softmax(&mut self, x: NodeId, shape: &[usize], len: usize) -> NodeId {
        let totals = match *shape {
            [rows, columns] => {
                let function = Along { reduction: Reduction::LogSumExp, axis: 2, rows, columns };
                let totals = self.function(function, vec![x], rows);
                self.gather(totals, (0..len).map(|i| i / columns))
            }
            _ => self.push(Op::Reduce(Reduction::LogSumExp, x), 1, true),
        };
        self.binary(Binary::Sub, x, totals)
    }

    fn covariance(&mut self, plan: &Plan, kernel: Kernel, inputs: &[Typed], len: usize) -> Result<NodeId, LowerError> {
        let (points, parameters) = inputs.split_at(inputs.len() - kernel.parameters());
        let points = points.iter().map(|p| evaluate(p, &self.values)).collect::<Result<Vec<_>, _>>()?;
        let (a, b) = (&points[0], &points[points.len() - 1]);
        let dimension = a.shape.get(1).copied().unwrap_or(1);
        let family = kernel.family();
        let function = Covariance {
            family,
            statistics: statistics(family, &a.values, &b.values, dimension),
            symmetric: (points.len() == 1).then_some(a.shape[0]),
        };
        let ids = parameters.iter().map(|p| Ok(self.expression(plan, p)?.0)).collect::<Result<Vec<_>, LowerError>>()?;
        Ok(self.function(function, ids, len))
    }
}
