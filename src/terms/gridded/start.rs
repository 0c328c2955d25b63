//! Starting points of the alternation: random loadings, or the leading patterns of the back-projected data.
//!
//! Spectral: A = (H'(c x)) / (|H|' c), grid nodes of all runs by columns of all pairs; the latent starts at the first K
//! left singular vectors of A times the square root of its number of rows, the largest entry of each positive. They are
//! the eigenvectors of A A', which is nodes x nodes however many features there are. Groups of participants who have latent
//! paths of their own each begin at the patterns of their own data.

use faer::diag::Diag;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::{ComputeEigenvectors, self_adjoint_evd, self_adjoint_evd_scratch};
use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par};
use rand_distr::{Distribution, StandardNormal};

use super::error::GriddedError;
use super::problem::{Pair, Problem};
use crate::math::rng::{Purpose, stream};

/// Where restarts begin.
#[derive(Debug, Clone, PartialEq)]
pub enum Start {
    /// Loadings independent normal with variance 1/K.
    Random,
    /// Leading patterns of the data, the same for every restart.
    Spectral,
    /// Spectral for restart 0, random for the others.
    Hybrid,
    /// This loading vector, the same for every restart.
    Loadings(Vec<f64>),
}

/// Where one restart began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartUsed {
    Random,
    Spectral,
    /// A spectral start was wanted, but the data's rank is below the number of factors.
    RandomForRank {
        rank: usize,
    },
    Given,
}

/// Columns handled at once, so that A itself is never held.
const COLUMNS: usize = 256;

/// Loadings drawn for one restart.
pub(super) fn random(problem: &Problem, seed: u64, restart: u64) -> Vec<f64> {
    let mut rng = stream(seed, restart, Purpose::Start);
    let sd = (1.0 / problem.factors() as f64).sqrt();
    let draw = || -> f64 { StandardNormal.sample(&mut rng) };
    let draws = std::iter::repeat_with(draw).take(problem.loading_count());
    draws.map(|v| sd * v).collect()
}

/// The spectral latent, or the rank of a group's data where it is below the number of factors.
pub(super) fn spectral(problem: &Problem) -> Result<Result<Vec<f64>, usize>, GriddedError> {
    let mut z = vec![0.0; problem.latent_count()];
    for group in 0..problem.groups.len() {
        if let Err(rank) = spectral_of_group(problem, group, &mut z)? {
            return Ok(Err(rank));
        }
    }
    Ok(Ok(z))
}

/// Node 0 of each run where the grids of all runs stand in one column, and their number of nodes.
fn stacked_nodes(problem: &Problem) -> (Vec<usize>, usize) {
    let mut total = 0;
    let starts = problem.runs.iter().map(|run| {
        total += run.grid.nodes;
        total - run.grid.nodes
    });
    (starts.collect(), total)
}

/// Writes the paths of one group into `z`.
fn spectral_of_group(problem: &Problem, group: usize, z: &mut [f64]) -> Result<Result<(), usize>, GriddedError> {
    let k = problem.factors();
    let (starts, nodes) = stacked_nodes(problem);
    let mut inner = Mat::<f64>::zeros(nodes, nodes);
    let mut a = Vec::new();
    for pair in problem.pairs.iter().filter(|p| problem.groups[group].contains(&p.participant_index)) {
        let largest = largest_weight(pair, &starts, nodes);
        for first in (0..pair.features.len()).step_by(COLUMNS) {
            let width = COLUMNS.min(pair.features.len() - first);
            back_project(pair, (&starts, nodes), first, width, largest, &mut a);
            let a = MatRef::from_row_major_slice(&a, nodes, width);
            // One thread: the sum must not depend on how many there are.
            matmul(inner.as_mut(), Accum::Add, a, a.transpose(), 1.0, Par::Seq);
        }
    }
    let (values, vectors) = eigen(&inner)?;
    // Eigenvalues are squared singular values, so rounding hides those below sqrt(eps) of the largest.
    let floor = f64::EPSILON * nodes as f64 * values.last().copied().unwrap_or(0.0);
    let rank = values.iter().filter(|v| **v > floor).count();
    if rank < k {
        return Ok(Err(rank));
    }
    for factor in 0..k {
        let vector = vectors.col(nodes - 1 - factor);
        let mut peak = 0.0f64;
        for v in vector.iter() {
            if v.abs() > peak.abs() {
                peak = *v;
            }
        }
        let scale = (nodes as f64).sqrt().copysign(peak);
        for (r, start) in starts.iter().enumerate() {
            let path = &mut z[problem.latent_range(r * problem.groups.len() + group)];
            for (node, entry) in path.iter_mut().skip(factor).step_by(k).enumerate() {
                *entry = scale * vector[start + node];
            }
        }
    }
    Ok(Ok(()))
}

/// Eigenvalues in rising order and their vectors, on one thread.
fn eigen(matrix: &Mat<f64>) -> Result<(Vec<f64>, Mat<f64>), GriddedError> {
    let n = matrix.nrows();
    let mut values = Diag::<f64>::zeros(n);
    let mut vectors = Mat::zeros(n, n);
    let scratch = self_adjoint_evd_scratch::<f64>(n, ComputeEigenvectors::Yes, Par::Seq, Default::default());
    let mut memory = MemBuffer::try_new(scratch).map_err(|_| GriddedError::SpectralStart)?;
    self_adjoint_evd(
        matrix.as_ref(),
        values.as_mut(),
        Some(vectors.as_mut()),
        Par::Seq,
        MemStack::new(&mut memory),
        Default::default(),
    )
    .map_err(|_| GriddedError::SpectralStart)?;
    Ok((values.column_vector().iter().copied().collect(), vectors))
}

/// The largest sum of weights that any entry of the pair's part of A divides by.
fn largest_weight(pair: &Pair, starts: &[usize], nodes: usize) -> f64 {
    let mut sums = vec![0.0; nodes];
    for segment in &pair.segments {
        for t in segment.rows.clone() {
            let (first, weights) = pair.rows.row(t);
            for (s, h) in sums[starts[segment.run] + first..].iter_mut().zip(weights) {
                *s += h.abs() * pair.weights[t];
            }
        }
    }
    sums.into_iter().fold(0.0, f64::max)
}

/// Columns `first .. first + width` of the pair's part of A, nodes x width.
fn back_project(
    pair: &Pair,
    (starts, nodes): (&[usize], usize),
    first: usize,
    width: usize,
    largest: f64,
    a: &mut Vec<f64>,
) {
    a.clear();
    a.resize(nodes * width, 0.0);
    let mut weight = vec![0.0; nodes * width];
    let mut observed = vec![1.0; width];
    for segment in &pair.segments {
        for t in segment.rows.clone() {
            let x = &pair.x_row(t)[first..first + width];
            observed.fill(1.0);
            for &f in pair.missing_by_row.get(t) {
                if (first..first + width).contains(&f) {
                    observed[f - first] = 0.0;
                }
            }
            let (node, weights) = pair.rows.row(t);
            for (i, h) in weights.iter().enumerate() {
                let at = (starts[segment.run] + node + i) * width;
                let c = h * pair.weights[t];
                for (a, x) in a[at..at + width].iter_mut().zip(x) {
                    *a += c * x;
                }
                for (w, o) in weight[at..at + width].iter_mut().zip(&observed) {
                    *w += c.abs() * o;
                }
            }
        }
    }
    for (a, w) in a.iter_mut().zip(&weight) {
        *a = if *w > 1e-12 * largest { *a / w } else { 0.0 };
    }
}
