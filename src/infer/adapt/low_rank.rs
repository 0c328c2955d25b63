//! Directions in which scales fall short, from draws and their gradients.
//!
//! In coordinates scaled by D^(1/2), with C_x and C_g the covariances of draws and gradients, the covariance A of the
//! normal that is closest in Fisher divergence solves A C_g A = C_x: the geometric mean
//! A = C_g^(-1/2) (C_g^(1/2) C_x C_g^(1/2))^(1/2) C_g^(-1/2). It is computed in the span of the draws and gradients, to
//! which 1e-5 I is added in both covariances. For a normal it is exact once there are more than d draws. A low rank keeps
//! of its eigenvalues those outside [1/2, 2], a dense metric all.

use faer::diag::Diag;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::{ComputeEigenvectors, self_adjoint_evd, self_adjoint_evd_scratch};
use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par};
use std::collections::VecDeque;

/// Most draws that are remembered for a low rank: the work grows with the cube of twice their number.
pub(in crate::infer) const MOST_DRAWS: usize = 200;
/// Fewest draws from which directions are taken.
const FEWEST_DRAWS: usize = 10;
/// Added to the diagonals of both covariances.
const RIDGE: f64 = 1e-5;
/// A low rank keeps a direction where its variance is larger than this or smaller than its inverse.
const CUTOFF: f64 = 2.0;
/// Relative length below which a vector adds nothing to a span.
const DEPENDENT: f64 = 1e-8;

/// No usable directions came of the draws: an eigenvalue problem failed or its result is not finite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::infer) struct Unusable;

/// Orthonormal directions in coordinates divided by their scales, and the variances along them.
#[derive(Debug, Clone, PartialEq, Default)]
pub(in crate::infer) struct Directions {
    /// k rows of length d.
    pub rows: Vec<f64>,
    /// Length k, positive and finite.
    pub variances: Vec<f64>,
}

impl Directions {
    /// S (I + R' (V - I) R) S, d x d, row-major, with the scales on the diagonal of S and the variances on that of V.
    pub fn covariance(&self, scales: &[f64]) -> Vec<f64> {
        let dim = scales.len();
        let mut out = vec![0.0; dim * dim];
        out.iter_mut().step_by(dim + 1).for_each(|x| *x = 1.0);
        for (row, variance) in self.rows.chunks_exact(dim).zip(&self.variances) {
            for (out, r) in out.chunks_exact_mut(dim).zip(row) {
                let factor = (variance - 1.0) * r;
                out.iter_mut().zip(row).for_each(|(o, r)| *o += factor * r);
            }
        }
        for (out, s) in out.chunks_exact_mut(dim).zip(scales) {
            out.iter_mut().zip(scales).for_each(|(o, t)| *o *= s * t);
        }
        out
    }
}

/// The latest draws and their gradients, of this window and the one before.
#[derive(Debug)]
pub(in crate::infer) struct Recent {
    /// Most rows that are kept.
    most: usize,
    /// A draw followed by its gradient, 2 d numbers each.
    rows: VecDeque<Vec<f64>>,
    /// Rows since the window began.
    fresh: usize,
}

impl Recent {
    /// Remembers at most `most` draws.
    pub fn new(most: usize) -> Recent {
        Recent { most, rows: VecDeque::new(), fresh: 0 }
    }

    /// Adds a draw and the gradient there, both of length d.
    pub fn add(&mut self, draw: &[f64], gradient: &[f64]) {
        let full = self.rows.len() == self.most;
        let mut row = if full { self.rows.pop_front().unwrap_or_default() } else { Vec::new() };
        row.clear();
        row.extend_from_slice(draw);
        row.extend_from_slice(gradient);
        self.rows.push_back(row);
        self.fresh += 1;
    }

    /// Ends a window: draws from before it are forgotten.
    pub fn end_window(&mut self) {
        let old = self.rows.len().saturating_sub(self.fresh);
        self.rows.drain(..old);
        self.fresh = 0;
    }

    /// The few directions in which `scales` (length d) fall short; `None` with too few draws.
    pub fn low_rank(&self, scales: &[f64]) -> Option<Result<Directions, Unusable>> {
        (self.rows.len() >= FEWEST_DRAWS).then(|| self.directions(scales, CUTOFF))
    }

    /// All directions of which the draws know; `None` with too few draws.
    pub fn full_rank(&self, scales: &[f64]) -> Option<Result<Directions, Unusable>> {
        (self.rows.len() >= FEWEST_DRAWS).then(|| self.directions(scales, 1.0))
    }

    fn directions(&self, scales: &[f64], cutoff: f64) -> Result<Directions, Unusable> {
        let dim = scales.len();
        let inverse: Vec<f64> = scales.iter().map(|s| s.recip()).collect();
        let draws = self.centred(0, &inverse);
        let gradients = self.centred(dim, scales);
        let basis = if 2 * self.rows.len() < dim { Some(span(&[&draws, &gradients], dim)) } else { None };
        let mean = match &basis {
            None => geometric_mean(&covariance(&draws, dim), &covariance(&gradients, dim))?,
            Some(basis) => {
                let size = basis.len() / dim;
                let coordinates = |rows: &[f64]| {
                    let mut out = Mat::zeros(rows.len() / dim, size);
                    let rows = MatRef::from_row_major_slice(rows, rows.len() / dim, dim);
                    let basis = MatRef::from_row_major_slice(basis, size, dim);
                    matmul(out.as_mut(), Accum::Replace, rows, basis.transpose(), 1.0, Par::Seq);
                    out
                };
                geometric_mean(&gram(coordinates(&draws).as_ref()), &gram(coordinates(&gradients).as_ref()))?
            }
        };
        let (values, vectors) = eigen(&mean)?;
        let Directions { rows: mut directions, mut variances } = Directions::default();
        for (k, &value) in values.iter().enumerate() {
            if !(value > 0.0 && value.is_finite()) {
                return Err(Unusable);
            }
            if value > cutoff || value * cutoff < 1.0 {
                variances.push(value);
                match &basis {
                    None => directions.extend(vectors.col(k).iter()),
                    Some(basis) => {
                        let first = directions.len();
                        directions.resize(first + dim, 0.0);
                        for (row, weight) in basis.chunks_exact(dim).zip(vectors.col(k).iter()) {
                            for (d, r) in directions[first..].iter_mut().zip(row) {
                                *d += weight * r;
                            }
                        }
                    }
                }
            }
        }
        Ok(Directions { rows: directions, variances })
    }

    /// The half of every row that begins at `first`, times `factors` (length d), less its mean; row-major.
    fn centred(&self, first: usize, factors: &[f64]) -> Vec<f64> {
        let dim = factors.len();
        let mut mean = vec![0.0; dim];
        for row in &self.rows {
            mean.iter_mut().zip(&row[first..]).for_each(|(m, x)| *m += x);
        }
        mean.iter_mut().for_each(|m| *m /= self.rows.len() as f64);
        let mut out = Vec::with_capacity(self.rows.len() * dim);
        for row in &self.rows {
            out.extend(row[first..first + dim].iter().zip(&mean).zip(factors).map(|((x, m), f)| (x - m) * f));
        }
        out
    }
}

/// Orthonormal rows (each of length `dim`) that span the given rows: Gram and Schmidt's process, every vector freed
/// twice of those before it, since once is not enough in rounded arithmetic.
fn span(matrices: &[&[f64]], dim: usize) -> Vec<f64> {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let mut basis: Vec<f64> = Vec::new();
    for row in matrices.iter().flat_map(|m| m.chunks_exact(dim)) {
        let mut vector = row.to_vec();
        for _ in 0..2 {
            for b in basis.chunks_exact(dim) {
                let along = dot(&vector, b);
                vector.iter_mut().zip(b).for_each(|(v, b)| *v -= along * b);
            }
        }
        let (norm, before) = (dot(&vector, &vector).sqrt(), dot(row, row).sqrt());
        if norm > DEPENDENT * before {
            basis.extend(vector.iter().map(|v| v / norm));
        }
    }
    basis
}

/// Covariance of centred rows of length `dim`, with the ridge.
fn covariance(rows: &[f64], dim: usize) -> Mat<f64> {
    gram(MatRef::from_row_major_slice(rows, rows.len() / dim, dim))
}

/// R'R / n + ridge for R with n rows.
fn gram(rows: MatRef<f64>) -> Mat<f64> {
    let size = rows.ncols();
    let mut out = Mat::from_fn(size, size, |i, j| if i == j { RIDGE } else { 0.0 });
    matmul(out.as_mut(), Accum::Add, rows.transpose(), rows, 1.0 / rows.nrows() as f64, Par::Seq);
    out
}

/// A with A `of_gradients` A = `of_draws`, all symmetric and positive definite.
fn geometric_mean(of_draws: &Mat<f64>, of_gradients: &Mat<f64>) -> Result<Mat<f64>, Unusable> {
    let (values, vectors) = eigen(of_gradients)?;
    let root = power(&values, &vectors, f64::sqrt)?;
    let inverse_root = power(&values, &vectors, |v| v.sqrt().recip())?;
    let (values, vectors) = eigen(&sandwich(&root, of_draws))?;
    Ok(sandwich(&inverse_root, &power(&values, &vectors, f64::sqrt)?))
}

/// V f(values) V'.
fn power(values: &[f64], vectors: &Mat<f64>, f: impl Fn(f64) -> f64) -> Result<Mat<f64>, Unusable> {
    if values.iter().any(|v| !(*v > 0.0 && v.is_finite())) {
        return Err(Unusable);
    }
    let n = values.len();
    let weighted = Mat::from_fn(n, n, |i, j| vectors[(i, j)] * f(values[j]));
    Ok(product(&weighted, vectors.transpose()))
}

/// B C B for symmetric B.
fn sandwich(outer: &Mat<f64>, inner: &Mat<f64>) -> Mat<f64> {
    product(&product(outer, inner.as_ref()), outer.as_ref())
}

/// On one thread: a sum must not depend on how many there are.
fn product(a: &Mat<f64>, b: MatRef<f64>) -> Mat<f64> {
    let mut out = Mat::zeros(a.nrows(), b.ncols());
    matmul(out.as_mut(), Accum::Replace, a, b, 1.0, Par::Seq);
    out
}

/// Eigenvalues in rising order and their vectors, on one thread.
fn eigen(matrix: &Mat<f64>) -> Result<(Vec<f64>, Mat<f64>), Unusable> {
    let n = matrix.nrows();
    let mut values = Diag::<f64>::zeros(n);
    let mut vectors = Mat::zeros(n, n);
    let scratch = self_adjoint_evd_scratch::<f64>(n, ComputeEigenvectors::Yes, Par::Seq, Default::default());
    let mut memory = MemBuffer::try_new(scratch).map_err(|_| Unusable)?;
    self_adjoint_evd(
        matrix.as_ref(),
        values.as_mut(),
        Some(vectors.as_mut()),
        Par::Seq,
        MemStack::new(&mut memory),
        Default::default(),
    )
    .map_err(|_| Unusable)?;
    Ok((values.column_vector().iter().copied().collect(), vectors))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;
    use rand_distr::StandardNormal;

    /// I + sum over the directions of (variance - 1) v v': covariance and its inverse, from orthonormal directions.
    fn spiked(dim: usize, spikes: &[(Vec<f64>, f64)]) -> [Vec<f64>; 2] {
        [1.0, -1.0].map(|sign| {
            let mut out = vec![0.0; dim * dim];
            for i in 0..dim {
                out[i * dim + i] = 1.0;
                for (v, variance) in spikes {
                    let excess = if sign > 0.0 { variance - 1.0 } else { variance.recip() - 1.0 };
                    (0..dim).for_each(|j| out[i * dim + j] += excess * v[i] * v[j]);
                }
            }
            out
        })
    }

    fn times(m: &[f64], x: &[f64]) -> Vec<f64> {
        m.chunks_exact(x.len()).map(|row| row.iter().zip(x).map(|(a, b)| a * b).sum()).collect()
    }

    /// Draws of the normal with these spikes, and their gradients.
    fn recent(dim: usize, draws: usize, spikes: &[(Vec<f64>, f64)], seed: u64) -> Recent {
        let [_, precision] = spiked(dim, spikes);
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut recent = Recent::new(MOST_DRAWS);
        for _ in 0..draws {
            let mut x: Vec<f64> = (0..dim).map(|_| rng.sample(StandardNormal)).collect();
            for (v, variance) in spikes {
                let along: f64 = (variance.sqrt() - 1.0) * x.iter().zip(v).map(|(x, v)| x * v).sum::<f64>();
                x.iter_mut().zip(v).for_each(|(x, v)| *x += along * v);
            }
            let g: Vec<f64> = times(&precision, &x).iter().map(|g| -g).collect();
            recent.add(&x, &g);
        }
        recent
    }

    fn spikes(dim: usize) -> Vec<(Vec<f64>, f64)> {
        let wave = |k: f64| {
            (0..dim)
                .map(|i| (2.0 / dim as f64).sqrt() * (std::f64::consts::PI * (i as f64 + 0.5) * k / dim as f64).cos())
                .collect()
        };
        vec![(wave(1.0), 100.0), (wave(2.0), 0.02), (wave(3.0), 1.5)]
    }

    /// Entry by entry the covariance of the normal, up to the ridge and the eigenvalues that are not kept.
    #[test]
    fn a_normal_is_recognised_from_more_draws_than_coordinates() {
        let dim = 12;
        let all = spikes(dim);
        let scales = vec![1.0; dim];
        for (kept, spikes, rank) in [(CUTOFF, &all[..2], 2), (1.0, &all[..], dim)] {
            let [covariance, _] = spiked(dim, spikes);
            let recent = recent(dim, 40, spikes, 1);
            let found = if kept > 1.0 { recent.low_rank(&scales) } else { recent.full_rank(&scales) };
            let found = found.unwrap().unwrap();
            assert!(found.variances.len() <= rank && (kept == 1.0 || found.variances.len() == 2));
            for (k, (a, b)) in found.covariance(&scales).iter().zip(&covariance).enumerate() {
                assert!((a - b).abs() < 0.02, "{kept} {k}: {a} {b}");
            }
        }
    }

    #[test]
    fn the_covariance_is_scaled_from_both_sides() {
        let h = 0.5f64.sqrt();
        let found = Directions { rows: vec![h, h], variances: vec![9.0] }.covariance(&[2.0, 0.5]);
        assert!(found.iter().zip([20.0, 4.0, 4.0, 1.25]).all(|(a, b)| (a - b).abs() < 1e-12), "{found:?}");
    }

    /// With fewer draws than coordinates a wide direction is found, though not to its full width.
    #[test]
    fn few_draws_in_many_coordinates_find_a_wide_direction() {
        let dim = 300;
        let spikes = spikes(dim);
        let found = recent(dim, 60, &spikes, 2).low_rank(&vec![1.0; dim]).unwrap().unwrap();
        let wide = &spikes[0].0;
        let along = |row: &[f64]| row.iter().zip(wide).map(|(a, b)| a * b).sum::<f64>().powi(2);
        let excess: f64 =
            found.rows.chunks_exact(dim).zip(&found.variances).map(|(row, v)| (v.sqrt() - 1.0) * along(row)).sum();
        assert!(excess > 2.0 && excess < 10.0, "{excess}");
    }

    #[test]
    fn the_span_is_orthonormal_and_leaves_out_dependent_rows() {
        let rows = [1.0, 2.0, 0.0, 2.0, 4.0, 0.0, 0.0, 0.0, 0.0, 1.0, 2.0, 1e-3];
        let basis = span(&[&rows], 3);
        assert_eq!(basis.len(), 6);
        for i in 0..2 {
            for j in 0..2 {
                let dot: f64 = (0..3).map(|k| basis[3 * i + k] * basis[3 * j + k]).sum();
                assert!((dot - f64::from(u8::from(i == j))).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn windows_forget_and_bad_numbers_are_unusable() {
        let mut recent = Recent::new(MOST_DRAWS);
        let scales = [1.0, 1.0];
        for k in 0..9 {
            recent.add(&[f64::from(k), 0.0], &[0.0, f64::from(k)]);
        }
        assert!(recent.low_rank(&scales).is_none());
        recent.end_window();
        recent.add(&[0.0; 2], &[0.0; 2]);
        assert!(recent.low_rank(&scales).is_some());
        recent.end_window();
        assert_eq!(recent.rows.len(), 1);
        for _ in 0..2 * MOST_DRAWS {
            recent.add(&[1.0, 2.0], &[3.0, 4.0]);
        }
        assert_eq!(recent.rows.len(), MOST_DRAWS);
        assert_eq!(recent.low_rank(&scales).unwrap().unwrap().variances.len(), 0);
        recent.add(&[1e200, 2.0], &[3.0, 4.0]);
        assert_eq!(recent.low_rank(&scales), Some(Err(Unusable)));
    }
}
