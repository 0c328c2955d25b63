//! A custom burn operation computed on the host: value and derivative come from f64 code, burn only carries them.
//!
//! Special functions that burn lacks and the structured terms enter the graph this way.

use super::array_function::ArrayFunction;
use super::density::Rejection;
use burn::backend::Autodiff;
use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::strategy::NoCheckpointing;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind, unary};
use burn::tensor::backend::Backend;
use burn::tensor::{Tensor, TensorData, TensorPrimitive};
use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// Rows (chains) by columns (elements) on the host.
pub(super) struct HostArray {
    pub rows: usize,
    pub columns: usize,
    /// Row-major.
    pub values: Vec<f64>,
}

#[derive(Debug)]
struct HostOp;

impl<B: Backend> Backward<B, 1> for HostOp {
    /// The derivative of the output (broadcast) in each element of the input.
    type State = B::FloatTensorPrimitive;

    fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        let derivative = ops.state;
        unary::<B, _>(ops.parents, ops.node, grads, |grad| B::float_mul(grad, derivative));
    }
}

/// Reads a tensor back to the host.
pub(super) fn read<B: Backend>(tensor: &Tensor<B, 2>) -> Option<HostArray> {
    let [rows, columns] = tensor.dims();
    let values = tensor.to_data().into_vec::<f64>().ok()?;
    Some(HostArray { rows, columns, values })
}

/// A tensor with these rows and columns.
pub(super) fn tensor<B: Backend>(values: Vec<f64>, rows: usize, columns: usize, device: &B::Device) -> Tensor<B, 2> {
    Tensor::from_data(TensorData::new(values, [rows, columns]), device)
}

/// The operation whose value is `output` and whose derivative in element (r, c) of `input` is `derivative`.
///
/// `output` has one column, or as many as `input` for an elementwise operation.
pub(super) fn apply<B: Backend>(
    input: Tensor<Autodiff<B>, 2>,
    output: HostArray,
    derivative: Vec<f64>,
) -> Tensor<Autodiff<B>, 2> {
    let device = input.device();
    let [rows, columns] = input.dims();
    let derivative: Tensor<B, 2> = tensor(derivative, rows, columns, &device);
    let output: Tensor<B, 2> = tensor(output.values, output.rows, output.columns, &device);
    let input = input.into_primitive().tensor();
    let output = output.into_primitive().tensor();
    let prepared = Backward::<B, 1>::prepare::<NoCheckpointing>(HostOp, [input.node]).compute_bound().stateful();
    let result = match prepared {
        OpsKind::Tracked(prep) => prep.finish(derivative.into_primitive().tensor(), output),
        OpsKind::UnTracked(prep) => prep.finish(output),
    };
    Tensor::from_primitive(TensorPrimitive::Float(result))
}

/// What the backward pass of a function of arrays needs: the values of the forward pass, one workspace a chain.
struct Pullback {
    function: Arc<dyn ArrayFunction>,
    input: HostArray,
    output: HostArray,
    workspaces: Mutex<Vec<Box<dyn Any + Send>>>,
}

impl fmt::Debug for Pullback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pullback of {}", self.function.name())
    }
}

impl Pullback {
    /// Vector-Jacobian products, chain by chain; NaN where the gradient cannot be read.
    fn pull(&self, grad: Option<HostArray>) -> Vec<f64> {
        let mut out = vec![0.0; self.input.values.len()];
        let Some(grad) = grad else {
            out.fill(f64::NAN);
            return out;
        };
        let mut workspaces = self.workspaces.lock().unwrap_or_else(PoisonError::into_inner);
        for (row, workspace) in workspaces.iter_mut().enumerate() {
            let (input, output) = (self.input.row(row), self.output.row(row));
            let gradient = &mut out[row * self.input.columns..(row + 1) * self.input.columns];
            self.function.reverse(input, output, grad.row(row), gradient, workspace.as_mut());
        }
        out
    }
}

impl HostArray {
    fn row(&self, row: usize) -> &[f64] {
        &self.values[row * self.columns..(row + 1) * self.columns]
    }
}

#[derive(Debug)]
struct ArrayHostOp;

impl<B: Backend> Backward<B, 1> for ArrayHostOp {
    type State = Arc<Pullback>;

    fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        let pullback = ops.state;
        unary::<B, _>(ops.parents, ops.node, grads, |grad| {
            let grad: Tensor<B, 2> = Tensor::from_primitive(TensorPrimitive::Float(grad));
            let values = pullback.pull(read(&grad));
            let (rows, columns) = (pullback.input.rows, pullback.input.columns);
            tensor::<B>(values, rows, columns, &grad.device()).into_primitive().tensor()
        });
    }
}

/// A function of arrays on the host; `input` holds its joined inputs, one row a chain.
///
/// # Errors
/// What the function itself rejects, for the whole batch, or a tensor that cannot be read back.
pub(super) fn array<B: Backend>(
    input: Tensor<Autodiff<B>, 2>,
    function: &Arc<dyn ArrayFunction>,
    columns: usize,
) -> Result<Tensor<Autodiff<B>, 2>, Rejection> {
    let device = input.device();
    let host = read(&input.clone().inner()).ok_or(Rejection::NotFinite { value: f64::NAN })?;
    let mut values = vec![0.0; host.rows * columns];
    let mut workspaces = Vec::with_capacity(host.rows);
    for (row, out) in values.chunks_exact_mut(columns).enumerate() {
        let mut workspace = function.workspace();
        function.forward(host.row(row), out, workspace.as_mut())?;
        workspaces.push(workspace);
    }
    let output: Tensor<B, 2> = tensor(values.clone(), host.rows, columns, &device);
    let output = output.into_primitive().tensor();
    let input_node = input.into_primitive().tensor().node;
    let prepared = Backward::<B, 1>::prepare::<NoCheckpointing>(ArrayHostOp, [input_node]).compute_bound().stateful();
    let result = match prepared {
        OpsKind::Tracked(prep) => {
            let output_values = HostArray { rows: host.rows, columns, values };
            let state = Pullback {
                function: Arc::clone(function),
                input: host,
                output: output_values,
                workspaces: Mutex::new(workspaces),
            };
            prep.finish(Arc::new(state), output)
        }
        OpsKind::UnTracked(prep) => prep.finish(output),
    };
    Ok(Tensor::from_primitive(TensorPrimitive::Float(result)))
}
