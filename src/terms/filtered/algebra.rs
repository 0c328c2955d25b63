//! The dense algebra over nodes: one Cholesky factorisation gives the value, its inverse the gradient.
//!
//! With D_j = L_j L_j' per node (K x K, lower) and the node covariance T (n x n), the scalars' covariance is reduced to
//! B = I + L' (T x I) L, whose eigenvalues are at least one: the factorisation cannot fail at zero or rank-deficient
//! loadings nor at tiny noise. With u = L^{-1} s, q = L B^{-1} u and the smoothed path is mu = (T x I) q (matrix
//! inversion lemma, Rasmussen & Williams 2006, sections 3.4.3 and A.3). The gradient needs
//! d/dT = (q q' - L B^{-1} L') / 2, traced over factors, and C_jj L_j = [(T x I) L B^{-1}]_jj.
//! Vectors and matrices of size nK run through the nodes of the first factor, then of the second, and so on.

use super::error::TermError;
use super::node_kernel::{NodeKernel, mirror};
use super::scalars::{Tiles, packed};
use super::state_space::Pass;
use super::triangle;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{LltError, cholesky_in_place, cholesky_in_place_scratch};
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::linalg::{triangular_inverse, triangular_solve};
use faer::{Accum, MatMut, MatRef, Par};

/// A Cholesky pivot of D below this share of its diagonal entry has lost six digits: the node is triangularised anew.
const CANCELLATION: f64 = 1e-6;

/// Buffers of one evaluation, kept between calls so that a steady state allocates nothing. One per thread.
#[derive(Default)]
pub struct Workspace {
    pub(super) tiles: Tiles,
    /// node x packed K: D.
    pub(super) precision: Vec<f64>,
    /// node x K: s.
    pub(super) information: Vec<f64>,
    /// node x K: mu.
    pub(super) mean: Vec<f64>,
    /// node x K x K: C_jj on the span of the node's loadings.
    pub(super) covariance: Vec<f64>,
    /// n x n.
    pub(super) kernel: NodeKernel,
    /// n x n, lower triangle.
    pub(super) kernel_adjoint: Vec<f64>,
    /// K x K x n: `lower[(c K + a) n + j]` is entry (c, a) of L_j.
    pub(super) lower: Vec<f64>,
    /// n: nodes whose Cholesky factor is not trusted.
    pub(super) cancelled: Vec<bool>,
    /// nK x nK: B, then its Cholesky factor, then (lower triangle) its inverse.
    system: Vec<f64>,
    /// nK x nK: inverse of the Cholesky factor.
    inverse_factor: Vec<f64>,
    /// nK: u, then B^{-1} u.
    pub(super) solution: Vec<f64>,
    /// nK: q, factor-major.
    pub(super) weights: Vec<f64>,
    /// n, twice: scratch.
    row: Vec<f64>,
    trace: Vec<f64>,
    scratch: Option<(usize, MemBuffer)>,
    pub(super) state_space: Pass,
}

/// Value parts of the node system.
pub(super) struct Solved {
    pub log_det: f64,
    /// q' mu.
    pub quadratic: f64,
}

/// Bytes that a run of `nodes` nodes and `factors` factors needs with its gradient.
pub(super) fn workspace_bytes(nodes: usize, factors: usize) -> usize {
    let m = nodes * factors;
    let vectors = nodes * (packed(factors) + 2 * factors * factors + 2 * factors + 2) + 3 * m;
    (2 * nodes * nodes + 2 * m * m + vectors) * size_of::<f64>()
}

fn reset(buffer: &mut Vec<f64>, len: usize) {
    buffer.clear();
    buffer.resize(len, 0.0);
}

/// Room for `len` entries whose old values do not matter.
fn reserve(buffer: &mut Vec<f64>, len: usize) {
    buffer.resize(len, 0.0);
}

fn axpy(y: &mut [f64], a: f64, x: &[f64]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y += a * x;
    }
}

/// Inner product with eight running sums, in an order that depends on the length alone.
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut lanes = [0.0; 8];
    for (a, b) in a.chunks(8).zip(b.chunks(8)) {
        for ((lane, a), b) in lanes.iter_mut().zip(a).zip(b) {
            *lane += a * b;
        }
    }
    lanes.iter().sum()
}

impl Workspace {
    /// Empty buffers; they grow on first use.
    pub fn new() -> Self {
        Self::default()
    }

    /// Bytes held by what grows with the number of nodes.
    pub fn bytes(&self) -> usize {
        let buffers = [
            &self.precision,
            &self.information,
            &self.mean,
            &self.covariance,
            &self.kernel.matrix,
            &self.kernel_adjoint,
            &self.lower,
            &self.system,
            &self.inverse_factor,
            &self.solution,
            &self.weights,
            &self.row,
            &self.trace,
        ];
        buffers.iter().map(|b| b.len() * size_of::<f64>()).sum::<usize>() + self.state_space.bytes()
    }

    /// Zeroes the node statistics for a run of `n` nodes.
    pub(super) fn begin(&mut self, n: usize, factors: usize) {
        reset(&mut self.precision, n * packed(factors));
        reset(&mut self.information, n * factors);
    }

    /// Factorises B and smooths: fills `weights` and `mean` from the factors of the `n` nodes and `kernel`.
    pub(super) fn solve(&mut self, run: usize, n: usize, factors: usize) -> Result<Solved, TermError> {
        let m = n * factors;
        self.assemble(n, factors);
        self.factorise(run, m)?;
        let system = MatRef::from_column_major_slice(&self.system, m, m);
        let mut log_det = 0.0;
        for i in 0..m {
            log_det += 2.0 * system[(i, i)].ln();
        }
        {
            let mut x = MatMut::from_column_major_slice_mut(&mut self.solution, m, 1);
            triangular_solve::solve_lower_triangular_in_place(system, x.as_mut(), Par::Seq);
            triangular_solve::solve_upper_triangular_in_place(system.transpose(), x, Par::Seq);
        }
        reset(&mut self.weights, m);
        for c in 0..factors {
            for a in 0..=c {
                let l = &self.lower[(c * factors + a) * n..][..n];
                let x = &self.solution[a * n..(a + 1) * n];
                for ((q, l), x) in self.weights[c * n..(c + 1) * n].iter_mut().zip(l).zip(x) {
                    *q += l * x;
                }
            }
        }
        reserve(&mut self.mean, m);
        let mut quadratic = 0.0;
        for c in 0..factors {
            let q = &self.weights[c * n..(c + 1) * n];
            for (j, column) in self.kernel.matrix.chunks_exact(n).enumerate() {
                let mu = dot(column, q);
                self.mean[j * factors + c] = mu;
                quadratic += q[j] * mu;
            }
        }
        Ok(Solved { log_det, quadratic })
    }

    /// L_j and u_j = L_j^{-1} s_j for every node by Cholesky; true where some node cancels too much for that, marked
    /// in `cancelled` and left to [`Workspace::refactor_nodes`].
    pub(super) fn factor_nodes(&mut self, n: usize, factors: usize) -> bool {
        reset(&mut self.lower, factors * factors * n);
        reset(&mut self.solution, factors * n);
        self.cancelled.clear();
        self.cancelled.resize(n, false);
        for j in 0..n {
            self.cancelled[j] = !self.factor_node(j, n, factors);
        }
        self.cancelled.contains(&true)
    }

    /// Whether the factor of node `j` is accurate.
    fn factor_node(&mut self, j: usize, n: usize, factors: usize) -> bool {
        let p = packed(factors);
        let d = &self.precision[j * p..(j + 1) * p];
        let at = |c: usize, b: usize| (c * factors + b) * n + j;
        for a in 0..factors {
            let diagonal = d[a * (a + 1) / 2 + a];
            if diagonal == 0.0 {
                continue;
            }
            let mut pivot = diagonal;
            let mut u = self.information[j * factors + a];
            for b in 0..a {
                pivot -= self.lower[at(a, b)] * self.lower[at(a, b)];
                u -= self.lower[at(a, b)] * self.solution[b * n + j];
            }
            if pivot < CANCELLATION * diagonal {
                return false;
            }
            let root = pivot.sqrt();
            self.lower[at(a, a)] = root;
            self.solution[a * n + j] = u / root;
            for c in a + 1..factors {
                let mut x = d[c * (c + 1) / 2 + a];
                for b in 0..a {
                    x -= self.lower[at(c, b)] * self.lower[at(a, b)];
                }
                self.lower[at(c, a)] = x / root;
            }
        }
        true
    }

    /// L_j and u_j of the cancelled nodes from their scalars; a direction that the loadings do not span gets a zero
    /// column. D and s of these nodes are overwritten by the triangle and the rotated residuals.
    pub(super) fn refactor_nodes(&mut self, n: usize, factors: usize, mut rotate: impl FnMut(&mut Self)) {
        let p = packed(factors);
        let nodes: Vec<usize> = (0..n).filter(|j| self.cancelled[*j]).collect();
        for &j in &nodes {
            self.precision[j * p..(j + 1) * p].fill(0.0);
            self.information[j * factors..(j + 1) * factors].fill(0.0);
        }
        rotate(self);
        for &j in &nodes {
            let r = &mut self.precision[j * p..(j + 1) * p];
            let u = &mut self.information[j * factors..(j + 1) * factors];
            triangle::drop_dependent(r, u, &mut self.tiles.equation);
            for c in 0..factors {
                self.solution[c * n + j] = u[c];
                for a in 0..=c {
                    self.lower[(c * factors + a) * n + j] = r[c * (c + 1) / 2 + a];
                }
            }
        }
    }

    /// Lower triangle of B.
    fn assemble(&mut self, n: usize, factors: usize) {
        let m = n * factors;
        reserve(&mut self.system, m * m);
        for b in 0..factors {
            for j in 0..n {
                let column = &mut self.system[(b * n + j) * m..][..m];
                for a in b..factors {
                    let first = if a == b { j } else { 0 };
                    let block = &mut column[a * n + first..(a + 1) * n];
                    let kernel = &self.kernel.matrix[j * n + first..(j + 1) * n];
                    let lower = |c: usize| &self.lower[(c * factors + a) * n + first..][..n - first];
                    let scale = |c: usize| self.lower[(c * factors + b) * n + j];
                    let s = scale(a);
                    for (x, l) in block.iter_mut().zip(lower(a)) {
                        *x = s * l;
                    }
                    for c in a + 1..factors {
                        axpy(block, scale(c), lower(c));
                    }
                    for (x, k) in block.iter_mut().zip(kernel) {
                        *x *= k;
                    }
                }
                column[b * n + j] += 1.0;
            }
        }
    }

    fn factorise(&mut self, run: usize, m: usize) -> Result<(), TermError> {
        let (mut smallest, mut largest) = (f64::INFINITY, 0.0f64);
        for i in 0..m {
            smallest = smallest.min(self.system[i * m + i]);
            largest = largest.max(self.system[i * m + i]);
        }
        let needed = |m| MemBuffer::new(cholesky_in_place_scratch::<f64>(m, Par::Seq, Default::default()));
        let (_, buffer) = match self.scratch.take() {
            Some((size, buffer)) if size >= m => self.scratch.insert((size, buffer)),
            _ => self.scratch.insert((m, needed(m))),
        };
        cholesky_in_place(
            MatMut::from_column_major_slice_mut(&mut self.system, m, m),
            Default::default(),
            Par::Seq,
            MemStack::new(buffer),
            Default::default(),
        )
        .map(|_| ())
        .map_err(|LltError::NonPositivePivot { index }| TermError::Factorisation {
            run,
            pivot: index,
            size: m,
            smallest,
            largest,
        })
    }

    /// After [`Workspace::solve`]: B^{-1}, then the node covariances and the adjoint of the kernel.
    pub(super) fn differentiate(&mut self, n: usize, factors: usize) {
        let m = n * factors;
        reserve(&mut self.inverse_factor, m * m);
        triangular_inverse::invert_lower_triangular(
            MatMut::from_column_major_slice_mut(&mut self.inverse_factor, m, m),
            MatRef::from_column_major_slice(&self.system, m, m),
            Par::Seq,
        );
        let inverse_factor = MatRef::from_column_major_slice(&self.inverse_factor, m, m);
        triangular::matmul(
            MatMut::from_column_major_slice_mut(&mut self.system, m, m),
            BlockStructure::TriangularLower,
            Accum::Replace,
            inverse_factor.transpose(),
            BlockStructure::TriangularUpper,
            inverse_factor,
            BlockStructure::TriangularLower,
            1.0,
            Par::Seq,
        );
        mirror(&mut self.system, m);
        self.sweep_inverse(n, factors);
        self.undo_loading_factor(n, factors);
    }

    /// One pass over the columns of B^{-1}: `covariance` becomes C_jj L_j, `kernel_adjoint` d/dT.
    fn sweep_inverse(&mut self, n: usize, factors: usize) {
        let m = n * factors;
        reserve(&mut self.kernel_adjoint, n * n);
        reserve(&mut self.covariance, m * factors);
        reserve(&mut self.trace, n);
        reserve(&mut self.row, n);
        for j in 0..n {
            let kernel = &self.kernel.matrix[j * n..(j + 1) * n];
            self.trace.fill(0.0);
            for b in 0..factors {
                let column = &self.system[(b * n + j) * m..][..m];
                for c in 0..factors {
                    self.row.fill(0.0);
                    for a in 0..=c {
                        let l = &self.lower[(c * factors + a) * n..][..n];
                        for ((t, l), x) in self.row.iter_mut().zip(l).zip(&column[a * n..(a + 1) * n]) {
                            *t += l * x;
                        }
                    }
                    self.covariance[(j * factors + c) * factors + b] = dot(kernel, &self.row);
                    if c >= b {
                        let s = self.lower[(c * factors + b) * n + j];
                        axpy(&mut self.trace[j..], s, &self.row[j..]);
                    }
                }
            }
            let adjoint = &mut self.kernel_adjoint[j * n + j..(j + 1) * n];
            for (g, t) in adjoint.iter_mut().zip(&self.trace[j..]) {
                *g = -0.5 * t;
            }
            for c in 0..factors {
                let q = &self.weights[c * n..(c + 1) * n];
                axpy(adjoint, 0.5 * q[j], &q[j..]);
            }
        }
    }

    /// Turns C_jj L_j into C_jj by back substitution; outside the span of the loadings, where C_jj is never applied,
    /// the columns are zero.
    pub(super) fn undo_loading_factor(&mut self, n: usize, factors: usize) {
        for (row, x) in self.covariance.chunks_exact_mut(factors).enumerate() {
            let j = row / factors;
            let lower = |c: usize, a: usize| self.lower[(c * factors + a) * n + j];
            for k in (0..factors).rev() {
                if lower(k, k) == 0.0 {
                    x[k] = 0.0;
                    continue;
                }
                for c in k + 1..factors {
                    x[k] -= x[c] * lower(c, k);
                }
                x[k] /= lower(k, k);
            }
        }
    }

    /// G^{-1} L' (k x e_c) for a kernel column `cross` (length n) and factor `c`, where B = G G'.
    pub(super) fn whiten(&self, n: usize, factors: usize, cross: &[f64], c: usize, out: &mut [f64]) {
        let m = n * factors;
        out.fill(0.0);
        for a in 0..=c {
            let l = &self.lower[(c * factors + a) * n..][..n];
            for ((x, l), k) in out[a * n..(a + 1) * n].iter_mut().zip(l).zip(cross) {
                *x = l * k;
            }
        }
        let system = MatRef::from_column_major_slice(&self.system, m, m);
        triangular_solve::solve_lower_triangular_in_place(
            system,
            MatMut::from_column_major_slice_mut(out, m, 1),
            Par::Seq,
        );
    }
}
