//! The slow obvious twin: the covariance of all scalars of a run, written out and factorised.
//!
//! log p = -(r' C^{-1} r + log |C| + N log 2 pi) / 2 with r = y - b, and d log p / dC = (a a' - C^{-1}) / 2 with
//! a = C^{-1} r (Rasmussen & Williams 2006, equations 2.30 and 5.9). Plain loops throughout.

use super::covariance::Form;
use super::error::TermError;
use super::kernel::rate;
use super::layout::{LANES, RunNodes};
use super::node_kernel::NodeKernel;
use super::{Adjoint, FilteredGp, Point, overflow};

/// One scalar, as the density sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Scalar {
    pub node: usize,
    pub key: usize,
    pub noise: usize,
    pub value: f64,
}

/// The scalars of a run, block by block.
pub(super) fn scalars(nodes: &RunNodes) -> Vec<Scalar> {
    let mut out = Vec::with_capacity(nodes.scalars);
    for block in &nodes.blocks {
        for (row, &node) in block.nodes.iter().enumerate() {
            for (feature, &key) in block.keys.iter().enumerate() {
                let (at, lane) = (row * block.tiles() + feature / LANES, feature % LANES);
                if block.present[at] & (1 << lane) != 0 {
                    let value = block.values[at][lane];
                    out.push(Scalar { node, key, noise: block.noise, value });
                }
            }
        }
    }
    out
}

impl FilteredGp {
    /// What [`FilteredGp::log_likelihood`] computes, cubic in the number of scalars per run.
    pub fn dense_log_likelihood(
        &self,
        point: &Point<'_>,
        mut adjoint: Option<&mut Adjoint<'_>>,
    ) -> Result<f64, TermError> {
        self.check(point)?;
        if let Some(adjoint) = adjoint.as_deref() {
            self.check_adjoint(adjoint)?;
        }
        let mut total = 0.0;
        let forms = self.forms(point)?;
        for run in 0..self.runs.len() {
            total += run_log_likelihood(self, run, point, &forms, adjoint.as_deref_mut())?;
        }
        Ok(total)
    }
}

fn run_log_likelihood(
    gp: &FilteredGp,
    run: usize,
    point: &Point<'_>,
    forms: &[Form],
    adjoint: Option<&mut Adjoint<'_>>,
) -> Result<f64, TermError> {
    let (factors, nodes) = (gp.factors, &gp.runs[run]);
    let scalars = scalars(nodes);
    let (n, count) = (scalars.len(), nodes.times.len());
    let mut kernel = NodeKernel::default();
    kernel.fill(nodes, forms, rate(point.length_scale), adjoint.is_some());
    let loading = |i: usize| &point.loadings[scalars[i].key * factors..(scalars[i].key + 1) * factors];
    let inner = |i: usize, j: usize| loading(i).iter().zip(loading(j)).map(|(a, b)| a * b).sum::<f64>();
    let seen = |i: usize, j: usize| kernel.matrix[scalars[i].node * count + scalars[j].node];
    let mut c = vec![0.0; n * n];
    for i in 0..n {
        for j in 0..n {
            c[i * n + j] = seen(i, j) * inner(i, j);
        }
        c[i * n + i] += point.noise[scalars[i].noise];
    }
    cholesky(run, n, &mut c)?;
    let inverse = inverse_from_cholesky(n, &c);
    let r: Vec<f64> = scalars.iter().map(|s| s.value - point.offsets.map_or(0.0, |b| b[s.key])).collect();
    let a: Vec<f64> = (0..n).map(|i| (0..n).map(|j| inverse[i * n + j] * r[j]).sum()).collect();
    let log_det: f64 = (0..n).map(|i| 2.0 * c[i * n + i].ln()).sum();
    let quadratic: f64 = r.iter().zip(&a).map(|(r, a)| r * a).sum();
    let value = -0.5 * (quadratic + log_det + n as f64 * (2.0 * std::f64::consts::PI).ln());
    if !value.is_finite() {
        return Err(overflow(run, point));
    }
    let Some(adjoint) = adjoint else { return Ok(value) };
    let mut kernel_adjoint = vec![0.0; count * count];
    for i in 0..n {
        let s = scalars[i];
        for j in 0..n {
            let g = 0.5 * (a[i] * a[j] - inverse[i * n + j]);
            for k in 0..factors {
                // Both the row and the column of C that belong to scalar i move with its loading.
                adjoint.loadings[s.key * factors + k] += adjoint.scale * 2.0 * g * seen(i, j) * loading(j)[k];
            }
            kernel_adjoint[s.node * count + scalars[j].node] += g * inner(i, j);
            if i == j {
                adjoint.noise[s.noise] += adjoint.scale * g;
            }
        }
        if let Some(offsets) = adjoint.offsets.as_deref_mut() {
            offsets[s.key] += adjoint.scale * a[i];
        }
    }
    gp.pull(run, point, forms, &kernel, &kernel_adjoint, adjoint);
    Ok(value)
}

/// Lower Cholesky factor in place of the row-major `c`.
fn cholesky(run: usize, n: usize, c: &mut [f64]) -> Result<(), TermError> {
    let diagonal = |c: &[f64]| (0..n).map(|i| c[i * n + i]).collect::<Vec<_>>();
    let before = diagonal(c);
    for j in 0..n {
        let pivot = c[j * n + j] - (0..j).map(|k| c[j * n + k] * c[j * n + k]).sum::<f64>();
        if pivot.is_nan() || pivot <= 0.0 {
            return Err(TermError::Factorisation {
                run,
                pivot: j,
                size: n,
                smallest: before.iter().copied().fold(f64::INFINITY, f64::min),
                largest: before.iter().copied().fold(0.0, f64::max),
            });
        }
        let root = pivot.sqrt();
        c[j * n + j] = root;
        for i in j + 1..n {
            let rest: f64 = (0..j).map(|k| c[i * n + k] * c[j * n + k]).sum();
            c[i * n + j] = (c[i * n + j] - rest) / root;
        }
    }
    Ok(())
}

/// Inverse of L L', column by column.
fn inverse_from_cholesky(n: usize, l: &[f64]) -> Vec<f64> {
    let mut inverse = vec![0.0; n * n];
    for column in 0..n {
        let mut x = vec![0.0; n];
        x[column] = 1.0;
        for i in 0..n {
            let rest: f64 = (0..i).map(|k| l[i * n + k] * x[k]).sum();
            x[i] = (x[i] - rest) / l[i * n + i];
        }
        for i in (0..n).rev() {
            let rest: f64 = (i + 1..n).map(|k| l[k * n + i] * x[k]).sum();
            x[i] = (x[i] - rest) / l[i * n + i];
        }
        for i in 0..n {
            inverse[i * n + column] = x[i];
        }
    }
    inverse
}
