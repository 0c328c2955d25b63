//! Reductions along an axis, cumulative sums, factorisations, triangular solutions and covariances, forward and reverse.

use super::array_function::ArrayFunction;
use super::density::Rejection;
use super::tape::{add_reduce_adjoint, reduce};
use crate::math::dense::{Pivot, axpy, cholesky, cholesky_reverse, solve_lower, solve_lower_transposed};
use crate::math::kernel::{Family, covariance, slopes};
use crate::math::special::log_sum_exp;
use crate::model::Reduction;
use std::any::Any;

type Workspace = dyn Any + Send;

/// A matrix to one number per column (axis 1) or per row (axis 2).
pub(super) struct Along {
    pub reduction: Reduction,
    pub axis: usize,
    pub rows: usize,
    pub columns: usize,
}

impl Along {
    /// Calls `f` with the number of each line and its elements, gathered where they are not side by side.
    fn lines(&self, input: &[f64], line: &mut Vec<f64>, mut f: impl FnMut(usize, &[f64])) {
        if self.axis == 2 {
            (0..self.rows).for_each(|i| f(i, &input[i * self.columns..(i + 1) * self.columns]));
            return;
        }
        for j in 0..self.columns {
            line.clear();
            line.extend(input.iter().skip(j).step_by(self.columns));
            f(j, line);
        }
    }
}

/// A gathered line and the gradient of one.
#[derive(Default)]
struct Line {
    values: Vec<f64>,
    gradient: Vec<f64>,
}

impl ArrayFunction for Along {
    fn name(&self) -> &'static str {
        if self.axis == 1 { "reduce_rows" } else { "reduce_columns" }
    }

    fn workspace(&self) -> Box<Workspace> {
        Box::new(Line::default())
    }

    fn forward(&self, input: &[f64], out: &mut [f64], workspace: &mut Workspace) -> Result<(), Rejection> {
        let line = workspace.downcast_mut::<Line>().ok_or(Rejection::NotFinite { value: f64::NAN })?;
        self.lines(input, &mut line.values, |i, values| out[i] = reduce(self.reduction, values));
        Ok(())
    }

    fn reverse(&self, input: &[f64], out: &[f64], g: &[f64], gradient: &mut [f64], workspace: &mut Workspace) {
        let Some(Line { values, gradient: part }) = workspace.downcast_mut::<Line>() else { return };
        self.lines(input, values, |i, values| {
            part.clear();
            part.resize(values.len(), 0.0);
            add_reduce_adjoint(self.reduction, values, out[i], g[i], part);
            let (from, step) = if self.axis == 2 { (i * self.columns, 1) } else { (i, self.columns) };
            part.iter().enumerate().for_each(|(k, p)| gradient[from + k * step] += p);
        });
    }
}

/// Sums or products of the first 1, 2, ... elements.
pub(super) struct Cumulative {
    pub product: bool,
}

impl ArrayFunction for Cumulative {
    fn name(&self) -> &'static str {
        if self.product { "cumulative_prod" } else { "cumulative_sum" }
    }

    fn forward(&self, input: &[f64], out: &mut [f64], _: &mut Workspace) -> Result<(), Rejection> {
        let mut so_far = if self.product { 1.0 } else { 0.0 };
        for (out, x) in out.iter_mut().zip(input) {
            so_far = if self.product { so_far * x } else { so_far + x };
            *out = so_far;
        }
        Ok(())
    }

    fn reverse(&self, input: &[f64], out: &[f64], g: &[f64], gradient: &mut [f64], _: &mut Workspace) {
        // Adjoint of the running value behind element i, from the last element backward.
        let mut behind = 0.0;
        for i in (0..input.len()).rev() {
            behind += g[i];
            if self.product {
                gradient[i] += behind * if i == 0 { 1.0 } else { out[i - 1] };
                behind *= input[i];
            } else {
                gradient[i] += behind;
            }
        }
    }
}

/// log(exp(A) @ exp(B)) of A (m x k) and B (k x n).
pub(super) struct LogMatMul {
    pub m: usize,
    pub k: usize,
    pub n: usize,
}

impl LogMatMul {
    /// Writes the terms of element (i, j) of the result.
    fn terms(&self, input: &[f64], i: usize, j: usize, terms: &mut Vec<f64>) {
        let (a, b) = input.split_at(self.m * self.k);
        terms.clear();
        terms.extend((0..self.k).map(|p| a[i * self.k + p] + b[p * self.n + j]));
    }
}

impl ArrayFunction for LogMatMul {
    fn name(&self) -> &'static str {
        "log_matmul"
    }

    fn workspace(&self) -> Box<Workspace> {
        Box::new(Vec::<f64>::with_capacity(self.k))
    }

    fn forward(&self, input: &[f64], out: &mut [f64], workspace: &mut Workspace) -> Result<(), Rejection> {
        let terms = workspace.downcast_mut::<Vec<f64>>().ok_or(Rejection::NotFinite { value: f64::NAN })?;
        for (at, out) in out.iter_mut().enumerate() {
            self.terms(input, at / self.n, at % self.n, terms);
            *out = log_sum_exp(terms);
        }
        Ok(())
    }

    fn reverse(&self, input: &[f64], out: &[f64], g: &[f64], gradient: &mut [f64], workspace: &mut Workspace) {
        let Some(terms) = workspace.downcast_mut::<Vec<f64>>() else { return };
        let (ga, gb) = gradient.split_at_mut(self.m * self.k);
        for (at, (&out, &g)) in out.iter().zip(g).enumerate() {
            let (i, j) = (at / self.n, at % self.n);
            self.terms(input, i, j, terms);
            // Nothing reaches a sum of zeros.
            if out == f64::NEG_INFINITY || g == 0.0 {
                continue;
            }
            for (p, term) in terms.iter().enumerate() {
                let part = g * (term - out).exp();
                ga[i * self.k + p] += part;
                gb[p * self.n + j] += part;
            }
        }
    }
}

/// The lower triangular factor of a positive definite n x n matrix.
pub(super) struct Cholesky {
    pub n: usize,
}

impl ArrayFunction for Cholesky {
    fn name(&self) -> &'static str {
        "cholesky"
    }

    fn workspace(&self) -> Box<Workspace> {
        Box::new(vec![0.0; self.n * self.n + 2 * self.n])
    }

    fn forward(&self, input: &[f64], out: &mut [f64], _: &mut Workspace) -> Result<(), Rejection> {
        cholesky(input, self.n, out).map_err(|Pivot { index, value }| Rejection::Factorisation {
            pivot: index + 1,
            size: self.n,
            value,
        })
    }

    fn reverse(&self, _: &[f64], out: &[f64], g: &[f64], gradient: &mut [f64], workspace: &mut Workspace) {
        let n = self.n;
        let Some(buffer) = workspace.downcast_mut::<Vec<f64>>() else { return };
        let (f, columns) = buffer.split_at_mut(n * n);
        f.copy_from_slice(g);
        cholesky_reverse(out, n, f, columns);
        for i in 0..n {
            axpy(1.0, &f[i * n..=i * n + i], &mut gradient[i * n..=i * n + i]);
        }
    }
}

/// X with L X = B or L' X = B, of L (n x n) and B (n x m).
pub(super) struct Solve {
    pub n: usize,
    pub m: usize,
    pub transposed: bool,
}

impl ArrayFunction for Solve {
    fn name(&self) -> &'static str {
        if self.transposed { "solve_lower_t" } else { "solve_lower" }
    }

    fn workspace(&self) -> Box<Workspace> {
        Box::new(vec![0.0; self.n * self.m])
    }

    fn forward(&self, input: &[f64], out: &mut [f64], _: &mut Workspace) -> Result<(), Rejection> {
        let (l, b) = input.split_at(self.n * self.n);
        out.copy_from_slice(b);
        if self.transposed {
            solve_lower_transposed(l, self.n, self.m, out);
        } else {
            solve_lower(l, self.n, self.m, out);
        }
        Ok(())
    }

    fn reverse(&self, input: &[f64], out: &[f64], g: &[f64], gradient: &mut [f64], workspace: &mut Workspace) {
        let Some(b) = workspace.downcast_mut::<Vec<f64>>() else { return };
        let (n, m) = (self.n, self.m);
        let l = &input[..n * n];
        b.copy_from_slice(g);
        if self.transposed {
            solve_lower(l, n, m, b);
        } else {
            solve_lower_transposed(l, n, m, b);
        }
        let (gl, gb) = gradient.split_at_mut(n * n);
        axpy(1.0, b, gb);
        // dX = -L^-1 dL X, or -L'^-1 dL' X.
        for i in 0..n {
            for p in 0..=i {
                let (left, right) = if self.transposed { (p, i) } else { (i, p) };
                let (left, right) = (&b[left * m..(left + 1) * m], &out[right * m..(right + 1) * m]);
                gl[i * n + p] -= left.iter().zip(right).map(|(a, b)| a * b).sum::<f64>();
            }
        }
    }
}

/// Covariances from the distances (or inner products) of points that are data; the inputs are the parameters.
pub(super) struct Covariance {
    pub family: Family,
    pub statistics: Vec<f64>,
    /// Number of points, where rows and columns are the same points, so that one triangle is enough.
    pub symmetric: Option<usize>,
}

impl Covariance {
    /// Calls `f` with every place that has to be computed, and its mirror image.
    fn places(&self, mut f: impl FnMut(usize, usize)) {
        match self.symmetric {
            None => (0..self.statistics.len()).for_each(|k| f(k, k)),
            Some(n) => {
                for i in 0..n {
                    for j in 0..=i {
                        f(i * n + j, j * n + i);
                    }
                }
            }
        }
    }
}

impl ArrayFunction for Covariance {
    fn name(&self) -> &'static str {
        "covariance"
    }

    fn forward(&self, input: &[f64], out: &mut [f64], _: &mut Workspace) -> Result<(), Rejection> {
        self.places(|k, mirror| {
            let value = covariance(self.family, self.statistics[k], input);
            out[k] = value;
            out[mirror] = value;
        });
        Ok(())
    }

    fn reverse(&self, input: &[f64], out: &[f64], g: &[f64], gradient: &mut [f64], _: &mut Workspace) {
        let (mut scale, mut rest) = (0.0, [0.0; 2]);
        self.places(|k, mirror| {
            let g = if k == mirror { g[k] } else { g[k] + g[mirror] };
            for (total, slope) in rest.iter_mut().zip(slopes(self.family, self.statistics[k], out[k], input)) {
                *total += g * slope;
            }
            scale += g * out[k];
        });
        // The covariance grows with the square of the standard deviation.
        gradient[0] += 2.0 * scale / input[0];
        for (gradient, total) in gradient[1..].iter_mut().zip(rest) {
            *gradient += total;
        }
    }
}
