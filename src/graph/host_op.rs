//! A custom burn operation computed on the host: value and derivative come from f64 code, burn only carries them.
//!
//! Special functions that burn lacks and the structured terms enter the graph this way.

use burn::backend::Autodiff;
use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::strategy::NoCheckpointing;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind, unary};
use burn::tensor::backend::Backend;
use burn::tensor::{Tensor, TensorData, TensorPrimitive};

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
