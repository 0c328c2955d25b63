//! The functions of whole arrays, each as its definition says it: slow, obvious, and the twin of the fast ones.

use super::evaluate::{Value, reduce};
use crate::math::kernel;
use crate::math::special::log_sum_exp;
use crate::model::{ArrayOp, Kernel};

/// The value of `op`; `shape` is that of the result.
pub(super) fn evaluate(op: ArrayOp, inputs: &[Value], shape: &[usize]) -> Value {
    let x = &inputs[0];
    let n = shape.iter().product();
    let values: Vec<f64> = match op {
        ArrayOp::Stack | ArrayOp::Append => inputs.iter().flat_map(|i| i.values.iter().copied()).collect(),
        ArrayOp::Where => {
            let choose = |i: usize| if x.at(i) != 0.0 { inputs[1].at(i) } else { inputs[2].at(i) };
            (0..n).map(choose).collect()
        }
        ArrayOp::Along(reduction, axis) => {
            let line = |i: usize| -> Vec<f64> { if axis == 1 { column(x, i) } else { row(x, i).to_vec() } };
            (0..n).map(|i| reduce(reduction, &line(i))).collect()
        }
        ArrayOp::CumulativeSum => (0..n).map(|i| x.values[..=i].iter().sum()).collect(),
        ArrayOp::CumulativeProduct => (0..n).map(|i| x.values[..=i].iter().product()).collect(),
        ArrayOp::Softmax => log_softmax(x).map(f64::exp).collect(),
        ArrayOp::LogSoftmax => log_softmax(x).collect(),
        ArrayOp::Outer => x.values.iter().flat_map(|a| inputs[1].values.iter().map(move |b| a * b)).collect(),
        ArrayOp::Diag => {
            let size = x.values.len();
            (0..n).map(|i| if i / size == i % size { x.values[i / size] } else { 0.0 }).collect()
        }
        ArrayOp::Diagonal => (0..n).map(|i| x.values[i * n + i]).collect(),
        ArrayOp::Reverse => x.values.iter().rev().copied().collect(),
        ArrayOp::Repeat => vec![x.values[0]; n],
        ArrayOp::Range => (0..n).map(|i| x.values[0] + i as f64).collect(),
        ArrayOp::Linspace => linspace(x.values[0], inputs[1].values[0], n),
        ArrayOp::LogMatMul => {
            let (a, b) = (x, &inputs[1]);
            let (k, columns) = (b.shape[0], b.shape[1]);
            let term = |i: usize, j: usize, p: usize| a.values[i * k + p] + b.values[p * columns + j];
            let one = |i: usize| (0..k).map(|p| term(i / columns, i % columns, p)).collect::<Vec<_>>();
            (0..n).map(|i| log_sum_exp(&one(i))).collect()
        }
        ArrayOp::Cholesky => cholesky(x),
        ArrayOp::SolveLower => solve(x, &inputs[1], false),
        ArrayOp::SolveLowerTransposed => solve(x, &inputs[1], true),
        ArrayOp::Covariance(kernel) => covariance(kernel, inputs),
    };
    Value { shape: shape.to_vec(), values }
}

fn row(x: &Value, i: usize) -> &[f64] {
    let columns = x.shape[1];
    &x.values[i * columns..(i + 1) * columns]
}

fn column(x: &Value, j: usize) -> Vec<f64> {
    (0..x.shape[0]).map(|i| x.values[i * x.shape[1] + j]).collect()
}

/// Evenly spaced, with both ends exact; the middle of a single number is its beginning.
pub(crate) fn linspace(a: f64, b: f64, n: usize) -> Vec<f64> {
    let at = |i: usize| match i {
        0 => a,
        i if i + 1 == n => b,
        i => a + (b - a) * i as f64 / (n - 1) as f64,
    };
    (0..n).map(at).collect()
}

fn log_softmax(x: &Value) -> impl Iterator<Item = f64> + '_ {
    let columns = x.shape.last().copied().unwrap_or(1).max(1);
    x.values.chunks(columns).flat_map(|row| {
        let total = log_sum_exp(row);
        row.iter().map(move |v| v - total)
    })
}

/// Element by element from the definition; NaN from the first pivot on that is not positive.
fn cholesky(a: &Value) -> Vec<f64> {
    let n = a.shape[0];
    let mut l = vec![0.0; n * n];
    for i in 0..n {
        for j in 0..=i {
            let known: f64 = (0..j).map(|p| l[i * n + p] * l[j * n + p]).sum();
            let rest = a.values[i * n + j] - known;
            l[i * n + j] = if i == j { rest.sqrt() } else { rest / l[j * n + j] };
        }
    }
    l
}

/// Substitution, column by column.
fn solve(l: &Value, b: &Value, transposed: bool) -> Vec<f64> {
    let n = l.shape[0];
    let columns = b.shape.get(1).copied().unwrap_or(1);
    let mut x = b.values.clone();
    for c in 0..columns {
        for step in 0..n {
            let i = if transposed { n - 1 - step } else { step };
            let mut rest = b.values[i * columns + c];
            for done in 0..step {
                let p = if transposed { n - 1 - done } else { done };
                let factor = if transposed { l.values[p * n + i] } else { l.values[i * n + p] };
                rest -= factor * x[p * columns + c];
            }
            x[i * columns + c] = rest / l.values[i * n + i];
        }
    }
    x
}

fn covariance(kernel: Kernel, inputs: &[Value]) -> Vec<f64> {
    let (points, parameters) = inputs.split_at(inputs.len() - kernel.parameters());
    let parameters: Vec<f64> = parameters.iter().map(|p| p.values[0]).collect();
    let (a, b) = (&points[0], &points[points.len() - 1]);
    kernel::statistics(kernel.family(), &a.values, &b.values, a.shape.get(1).copied().unwrap_or(1))
        .into_iter()
        .map(|s| kernel::covariance(kernel.family(), s, &parameters))
        .collect()
}
