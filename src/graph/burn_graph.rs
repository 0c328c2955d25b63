//! The burn graph: the program as burn tensors, batched over chains, generic over the backend.
//!
//! Every value is a tensor of shape [chains, elements], or [1, elements] where it does not depend on a parameter.

use super::array_function::{ArrayFunction, Pairwise};
use super::constrain_op::constrain;
use super::coordinates::finite;
use super::density::{Evaluator, LogDensity, Rejection};
use super::host_op::{self, HostArray};
use super::program::{Node, NodeId, Op, Program};
use super::tape::{add_reduce_adjoint, log_mass, reduce};
use crate::math::op::{Algebra, Binary, Ref, Unary};
use crate::model::Reduction;
use burn::backend::Autodiff;
use burn::tensor::backend::Backend;
use burn::tensor::{DType, Int, Tensor, TensorData};
use burn_ndarray::{NdArray, NdArrayDevice};
use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError};

/// One burn graph at a time in the process: concurrent backward passes lose gradients (burn issue 5573).
static ONE_GRAPH: Mutex<()> = Mutex::new(());

/// Where a burn graph runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Device {
    /// The CPU.
    NdArray,
    /// An NVIDIA card, by index.
    #[cfg(feature = "cuda")]
    Cuda(usize),
}

/// A device that this build or machine does not have.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum DeviceError {
    #[error("there is no device `{name}`; this build has cpu, ndarray{}", if cfg!(feature = "cuda") { ", cuda, cuda:N" } else { " (build with --features cuda for cuda)" })]
    Unknown { name: String },
}

impl std::str::FromStr for Device {
    type Err = DeviceError;

    fn from_str(name: &str) -> Result<Self, DeviceError> {
        match name {
            "ndarray" => Ok(Device::NdArray),
            #[cfg(feature = "cuda")]
            "cuda" => Ok(Device::Cuda(0)),
            #[cfg(feature = "cuda")]
            other if other.strip_prefix("cuda:").is_some_and(|i| i.parse::<usize>().is_ok()) => {
                let index = other.strip_prefix("cuda:").and_then(|i| i.parse().ok()).unwrap_or(0);
                Ok(Device::Cuda(index))
            }
            _ => Err(DeviceError::Unknown { name: name.to_string() }),
        }
    }
}

/// The log density of the physical parameters as a burn graph.
pub struct BurnDensity {
    program: Arc<Program>,
    device: Device,
}

impl BurnDensity {
    /// The program on a device.
    pub fn new(program: Arc<Program>, device: Device) -> Self {
        Self { program, device }
    }

    /// Log densities of `chains` points at once, and their gradients. `points` and `gradients` are chains x d, row-major.
    ///
    /// # Errors
    /// For the whole batch when a value is NaN or a structured term fails.
    pub fn batch(&self, points: &[f64], chains: usize, gradients: &mut [f64]) -> Result<Vec<f64>, Rejection> {
        match self.device {
            Device::NdArray => evaluate::<NdArray<f64>>(&self.program, &NdArrayDevice::Cpu, points, chains, gradients),
            #[cfg(feature = "cuda")]
            Device::Cuda(index) => {
                let device = burn_cuda::CudaDevice::new(index);
                evaluate::<burn_cuda::Cuda<f64>>(&self.program, &device, points, chains, gradients)
            }
        }
    }
}

impl LogDensity for BurnDensity {
    fn dim(&self) -> usize {
        self.program.dim
    }

    fn evaluator(&self) -> Box<dyn Evaluator + '_> {
        Box::new(BurnEvaluator { density: self })
    }
}

struct BurnEvaluator<'a> {
    density: &'a BurnDensity,
}

impl Evaluator for BurnEvaluator<'_> {
    fn log_density_gradient(&mut self, x: &[f64], gradient: &mut [f64]) -> Result<f64, Rejection> {
        let value = self.density.batch(x, 1, gradient)?[0];
        finite(gradient)?;
        Ok(value)
    }
}

fn evaluate<B: Backend>(
    program: &Program,
    device: &B::Device,
    points: &[f64],
    chains: usize,
    gradients: &mut [f64],
) -> Result<Vec<f64>, Rejection> {
    let _guard = ONE_GRAPH.lock().unwrap_or_else(PoisonError::into_inner);
    let failed = Rejection::NotFinite { value: f64::NAN };
    let theta = host_op::tensor::<Autodiff<B>>(points.to_vec(), chains, program.dim, device).require_grad();
    let mut builder = Builder::<B> { device, tensors: Vec::with_capacity(program.nodes.len()) };
    for node in &program.nodes {
        let tensor = builder.node(program, node, &theta)?;
        builder.tensors.push(tensor);
    }
    let mut total = builder.constant_tensor(&[0.0]).expand([chains, 1]);
    for &(_, id) in &program.terms {
        total = total + builder.tensors[id].clone().expand([chains, 1]);
    }
    if total.dtype() != DType::F64 {
        return Err(failed);
    }
    let values = host_op::read(&total.clone().inner()).ok_or(failed.clone())?.values;
    if let Some(&value) = values.iter().find(|v| v.is_nan() || **v == f64::INFINITY) {
        return Err(Rejection::NotFinite { value });
    }
    if program.terms.iter().all(|&(_, id)| !program.nodes[id].active) {
        // Nothing depends on a parameter, so there is nothing to go backward through.
        gradients.fill(0.0);
        return Ok(values);
    }
    let grads = total.sum().backward();
    // A gradient that is missing must never pass for zero.
    let gradient = theta.grad(&grads).ok_or(failed.clone())?;
    let gradient = host_op::read(&gradient).ok_or(failed)?;
    gradients.copy_from_slice(&gradient.values);
    Ok(values)
}

/// Builds the tensors of a program in order.
struct Builder<'a, B: Backend> {
    device: &'a B::Device,
    tensors: Vec<Tensor<Autodiff<B>, 2>>,
}

type T<B> = Tensor<Autodiff<B>, 2>;

impl<B: Backend> Builder<'_, B> {
    fn constant_tensor(&self, values: &[f64]) -> T<B> {
        host_op::tensor(values.to_vec(), 1, values.len(), self.device)
    }

    /// The value of a node with an operand of size zero, which burn has no tensors for: a reduction over nothing.
    fn over_nothing(&self, program: &Program, node: &Node) -> Option<T<B>> {
        if let Op::Constrain { pieces, source } = &node.op
            && program.nodes[*source].len == 0
        {
            let mut values = vec![0.0; node.len];
            pieces.forward(&[], &mut values);
            return Some(self.constant_tensor(&values));
        }
        if node.len == 0 {
            // Never read: every use of it comes through here.
            return Some(self.constant_tensor(&[f64::NAN]));
        }
        if !node.op.operands().iter().any(|&o| program.nodes[o].len == 0) {
            return None;
        }
        let some = node.op.operands().iter().any(|&o| program.nodes[o].len > 0);
        let value = match &node.op {
            Op::Join { .. } => return None,
            Op::Array { .. } | Op::Structured { .. } if some => return None,
            Op::Array { function, .. } => {
                let mut out = vec![0.0; node.len];
                let done = function.forward(&[], &mut out, function.workspace().as_mut());
                return Some(self.constant_tensor(if done.is_ok() { &out } else { &[f64::NAN] }));
            }
            Op::Reduce(reduction, _) => reduce(*reduction, &[]),
            _ => 0.0,
        };
        Some(self.constant_tensor(&vec![value; node.len]))
    }

    fn node(&mut self, program: &Program, node: &Node, theta: &T<B>) -> Result<T<B>, Rejection> {
        if let Some(tensor) = self.over_nothing(program, node) {
            return Ok(tensor);
        }
        let failed = || Rejection::NotFinite { value: f64::NAN };
        Ok(match &node.op {
            Op::Constant(values) => self.constant_tensor(values),
            Op::Parameter { offset } => theta.clone().slice([0..theta.dims()[0], *offset..offset + node.len]),
            Op::Unary(op, a) => unary(*op, self.tensors[*a].clone()).ok_or_else(failed)?,
            Op::Binary(op, a, b) => binary(*op, self.tensors[*a].clone(), self.tensors[*b].clone()),
            Op::MatMul { a, b, m, k, n } => {
                let (a, b) = (self.tensors[*a].clone(), self.tensors[*b].clone());
                let (ca, cb) = (a.dims()[0], b.dims()[0]);
                let chains = ca.max(cb);
                let a = a.reshape([ca, *m, *k]).expand([chains, *m, *k]);
                let b = b.reshape([cb, *k, *n]).expand([chains, *k, *n]);
                a.matmul(b).reshape([chains, m * n])
            }
            Op::Gather { source, indices } => {
                let indices: Vec<i64> = indices.iter().map(|&i| i as i64).collect();
                let n = indices.len();
                let indices = Tensor::<Autodiff<B>, 1, Int>::from_data(TensorData::new(indices, [n]), self.device);
                self.tensors[*source].clone().select(1, indices)
            }
            Op::Join { inputs } => self.joined(program, inputs),
            Op::Array { function, inputs } => host_op::array(self.joined(program, inputs), function, node.len)?,
            Op::Reduce(Reduction::Sum, a) => self.tensors[*a].clone().sum_dim(1),
            Op::Reduce(Reduction::Mean, a) => self.tensors[*a].clone().mean_dim(1),
            Op::Reduce(reduction, a) => {
                let input = self.tensors[*a].clone();
                scalar_op(input, |x, d| {
                    let value = reduce(*reduction, x);
                    add_reduce_adjoint(*reduction, x, value, 1.0, d);
                    Ok(value)
                })?
            }
            Op::Constrain { pieces, source } => constrain(self.tensors[*source].clone(), *pieces).ok_or_else(failed)?,
            Op::Density { distribution, x, arguments } => {
                let mark = self.tensors.len();
                let result = (distribution.expand)(self, *x, arguments);
                let result = self.tensors[result].clone();
                self.tensors.truncate(mark);
                result.sum_dim(1)
            }
            Op::LogMass { distribution, lower, upper, arguments, count } => {
                let input = self.joined(program, arguments);
                let lengths: Vec<usize> = arguments.iter().map(|&a| program.nodes[a].len).collect();
                scalar_op(input, |x, d| {
                    let parts = split(x, &lengths);
                    Ok(log_mass(distribution, *lower, *upper, &parts, *count, d))
                })?
            }
            // No term of a density is drawn; outputs are computed by the tape.
            Op::Draw { .. } => return Err(failed()),
            Op::Structured { term, inputs } => {
                let input = self.joined(program, inputs);
                let lengths: Vec<usize> = inputs.iter().map(|&i| program.nodes[i].len).collect();
                let mut workspace: Box<dyn Any + Send> = term.workspace();
                scalar_op(input, |x, d| {
                    let mut rest = d;
                    let mut gradient: Vec<&mut [f64]> = Vec::with_capacity(lengths.len());
                    for &len in &lengths {
                        let (head, tail) = rest.split_at_mut(len);
                        gradient.push(head);
                        rest = tail;
                    }
                    term.value_gradient(&split(x, &lengths), &mut gradient, workspace.as_mut())
                })?
            }
        })
    }

    /// The operands side by side, one row per chain; those of size zero have no tensors.
    fn joined(&self, program: &Program, ids: &[NodeId]) -> T<B> {
        let ids = || ids.iter().filter(|&&id| program.nodes[id].len > 0);
        let chains = ids().map(|&id| self.tensors[id].dims()[0]).max().unwrap_or(1);
        let parts = ids()
            .map(|&id| {
                let t = self.tensors[id].clone();
                let n = t.dims()[1];
                t.expand([chains, n])
            })
            .collect();
        Tensor::cat(parts, 1)
    }
}

impl<B: Backend> Algebra for Builder<'_, B> {
    fn constant(&mut self, value: f64) -> Ref {
        self.tensors.push(self.constant_tensor(&[value]));
        self.tensors.len() - 1
    }

    fn unary(&mut self, op: Unary, x: Ref) -> Ref {
        let input = self.tensors[x].clone();
        let nan = input.clone().mul_scalar(f64::NAN);
        self.tensors.push(unary(op, input).unwrap_or(nan));
        self.tensors.len() - 1
    }

    fn binary(&mut self, op: Binary, a: Ref, b: Ref) -> Ref {
        self.tensors.push(binary(op, self.tensors[a].clone(), self.tensors[b].clone()));
        self.tensors.len() - 1
    }
}

fn split<'a>(x: &'a [f64], lengths: &[usize]) -> Vec<&'a [f64]> {
    let mut rest = x;
    lengths
        .iter()
        .map(|&len| {
            let (head, tail) = rest.split_at(len);
            rest = tail;
            head
        })
        .collect()
}

/// A scalar per chain from a host function that also gives its gradient.
fn scalar_op<B: Backend>(
    input: T<B>,
    mut f: impl FnMut(&[f64], &mut [f64]) -> Result<f64, Rejection>,
) -> Result<T<B>, Rejection> {
    let host = host_op::read(&input.clone().inner()).ok_or(Rejection::NotFinite { value: f64::NAN })?;
    let mut derivative = vec![0.0; host.values.len()];
    let mut values = Vec::with_capacity(host.rows);
    for row in 0..host.rows {
        let range = row * host.columns..(row + 1) * host.columns;
        values.push(f(&host.values[range.clone()], &mut derivative[range])?);
    }
    let rows = host.rows;
    Ok(host_op::apply(input, HostArray { rows, columns: 1, values }, derivative))
}

/// An elementwise operation; `None` when the tensor cannot be read back.
fn unary<B: Backend>(op: Unary, x: T<B>) -> Option<T<B>> {
    Some(match op {
        Unary::Neg => x.neg(),
        Unary::Exp => x.exp(),
        Unary::Log => x.log(),
        Unary::Log1p => x.log1p(),
        Unary::Sqrt => x.sqrt(),
        Unary::Square => x.clone() * x,
        Unary::Reciprocal => x.recip(),
        Unary::Abs => x.abs(),
        Unary::Sin => x.sin(),
        Unary::Cos => x.cos(),
        Unary::Tanh => x.tanh(),
        // Through tanh it neither overflows nor loses its gradient.
        Unary::Logistic => x.mul_scalar(0.5).tanh().add_scalar(1.0).mul_scalar(0.5),
        Unary::Expm1
        | Unary::Log1m
        | Unary::Log1mExp
        | Unary::NormalQuantile
        | Unary::Step
        | Unary::Tan
        | Unary::Atan
        | Unary::Logit
        | Unary::Log1pExp
        | Unary::LnGamma
        | Unary::Digamma
        | Unary::Erf
        | Unary::Erfc
        | Unary::NormalCdf
        | Unary::LogNormalCdf
        | Unary::LogBesselI0Scaled => {
            let host = host_op::read(&x.clone().inner())?;
            let values: Vec<f64> = host.values.iter().map(|&v| op.value(v)).collect();
            let derivative = host.values.iter().zip(&values).map(|(&v, &y)| op.derivative(v, y)).collect();
            host_op::apply(x, HostArray { values, ..host }, derivative)
        }
    })
}

/// An elementwise operation on two tensors that are expanded to the same shape.
fn binary<B: Backend>(op: Binary, a: T<B>, b: T<B>) -> T<B> {
    let ([ca, na], [cb, nb]) = (a.dims(), b.dims());
    let chains = ca.max(cb);
    let n = if na == 0 || nb == 0 { 0 } else { na.max(nb) };
    let (a, b) = (a.expand([chains, n]), b.expand([chains, n]));
    match op {
        Binary::Add => a + b,
        Binary::Sub => a - b,
        Binary::Mul => a * b,
        Binary::Div => a / b,
        Binary::Pow => a.powf(b),
        Binary::Min => a.min_pair(b),
        Binary::Max => a.max_pair(b),
        Binary::LnBeta => {
            let function: Arc<dyn ArrayFunction> = Arc::new(Pairwise { op });
            let nan = a.clone().mul_scalar(f64::NAN);
            host_op::array(Tensor::cat(vec![a, b], 1), &function, n).unwrap_or(nan)
        }
    }
}
