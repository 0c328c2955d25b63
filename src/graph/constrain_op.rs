//! Constrained parameters as a custom burn operation: elements and log Jacobian come from f64 code, and so does the
//! backward pass.

use super::host_op::{read, tensor};
use crate::math::constraint::Constraint;
use burn::backend::Autodiff;
use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::strategy::NoCheckpointing;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind, unary};
use burn::tensor::backend::Backend;
use burn::tensor::{Tensor, TensorPrimitive};

/// Pieces of one constraint side by side.
#[derive(Debug, Clone, Copy)]
pub struct Pieces {
    pub constraint: Constraint,
    /// Elements along the last axis.
    pub k: usize,
    pub count: usize,
}

impl Pieces {
    /// Length of the result: all elements, then the log Jacobian.
    pub fn output_len(self) -> usize {
        self.count * self.constraint.elements(self.k) + 1
    }

    /// Writes the elements of all pieces and, last, their log Jacobian.
    pub fn forward(self, u: &[f64], out: &mut [f64]) {
        let (free, elements) = (self.constraint.free(self.k), self.constraint.elements(self.k));
        let mut log_jacobian = 0.0;
        for piece in 0..self.count {
            let x = &mut out[piece * elements..(piece + 1) * elements];
            log_jacobian += self.constraint.constrain(self.k, &u[piece * free..(piece + 1) * free], x);
        }
        out[self.count * elements] = log_jacobian;
    }

    /// Adds the derivative in `u` of a function whose derivatives in the result are `g`.
    pub fn add_adjoint(self, u: &[f64], out: &[f64], g: &[f64], gu: &mut [f64]) {
        let (free, elements) = (self.constraint.free(self.k), self.constraint.elements(self.k));
        let g_jacobian = g[self.count * elements];
        for piece in 0..self.count {
            let (own, all) = (piece * free..(piece + 1) * free, piece * elements..(piece + 1) * elements);
            let (x, g) = (&out[all.clone()], &g[all]);
            self.constraint.add_adjoint(self.k, &u[own.clone()], x, g, g_jacobian, &mut gu[own]);
        }
    }
}

#[derive(Debug)]
struct Constrain;

/// What the backward pass needs.
#[derive(Debug, Clone)]
struct State {
    pieces: Pieces,
    rows: usize,
    input: Vec<f64>,
    output: Vec<f64>,
}

impl<B: Backend> Backward<B, 1> for Constrain {
    type State = State;

    fn backward(self, ops: Ops<State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        let State { pieces, rows, input, output } = ops.state;
        unary::<B, _>(ops.parents, ops.node, grads, |grad| {
            let grad: Tensor<B, 2> = Tensor::from_primitive(TensorPrimitive::Float(grad));
            let device = grad.device();
            let columns = input.len() / rows;
            let mut derivative = vec![f64::NAN; input.len()];
            // A gradient that cannot be read stays NaN, which is rejected.
            if let Some(grad) = read(&grad) {
                derivative.fill(0.0);
                for row in 0..rows {
                    let (from, to) = (row * columns..(row + 1) * columns, row * grad.columns..(row + 1) * grad.columns);
                    let (x, g) = (&output[to.clone()], &grad.values[to]);
                    pieces.add_adjoint(&input[from.clone()], x, g, &mut derivative[from]);
                }
            }
            tensor::<B>(derivative, rows, columns, &device).into_primitive().tensor()
        });
    }
}

/// Elements and log Jacobian of every chain; `None` when the tensor cannot be read back.
pub(super) fn constrain<B: Backend>(input: Tensor<Autodiff<B>, 2>, pieces: Pieces) -> Option<Tensor<Autodiff<B>, 2>> {
    let device = input.device();
    let host = read(&input.clone().inner())?;
    let length = pieces.output_len();
    let mut output = vec![0.0; host.rows * length];
    for (u, out) in host.values.chunks_exact(host.columns).zip(output.chunks_exact_mut(length)) {
        pieces.forward(u, out);
    }
    let result: Tensor<B, 2> = tensor(output.clone(), host.rows, length, &device);
    let input = input.into_primitive().tensor();
    let result = result.into_primitive().tensor();
    let state = State { pieces, rows: host.rows, input: host.values, output };
    let prepared = Backward::<B, 1>::prepare::<NoCheckpointing>(Constrain, [input.node]).compute_bound().stateful();
    let result = match prepared {
        OpsKind::Tracked(prep) => prep.finish(state, result),
        OpsKind::UnTracked(prep) => prep.finish(result),
    };
    Some(Tensor::from_primitive(TensorPrimitive::Float(result)))
}
