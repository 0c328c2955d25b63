//! The forward recursion: prediction across gaps and one update per node by all that the node says of the K factors.
//!
//! The K factors are independent copies of one system, so a prediction moves the K (K + 1) / 2 blocks of the covariance,
//! each side x side, by one A. A node says u = L' f + e of its K-vector f, e ~ N(0, I), where L L' = D is its precision
//! and f_k = c' x_k: with S = Cov(f), B = I + L' S L has eigenvalues of at least one, so the update cannot fail at tiny
//! noise or rank-deficient loadings. Gain W = P H' L B^{-1}; P <- P - (P H' L B^{-1/2})(...)', symmetric to the bit.

use super::small::{Part, Shape, add_outer, add_product, add_transposed_product, axpy, dot, multiply};
use super::transition::Transition;
use crate::terms::filtered::error::TermError;

/// Sizes of the joint state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Sizes {
    pub factors: usize,
    pub side: usize,
}

impl Sizes {
    /// Entries of a vector over all factors.
    pub fn vector(self) -> usize {
        self.factors * self.side
    }

    /// Entries of one block.
    pub fn block(self) -> usize {
        self.side * self.side
    }

    /// Entries of the blocks of a symmetric matrix over all factors.
    pub fn blocks(self) -> usize {
        self.factors * (self.factors + 1) / 2 * self.block()
    }

    /// Entries of one vector per factor and per direction of a node.
    pub fn vectors(self) -> usize {
        self.factors * self.vector()
    }

    /// Pairs k >= l of factors, in the order of the blocks.
    pub fn pairs(self) -> impl Iterator<Item = (usize, usize)> {
        (0..self.factors).flat_map(|k| (0..=k).map(move |l| (k, l)))
    }
}

/// `out[k][a]` = `scale` * sum over l of matrix_kl in[l][a], vectors of length side; `directions` values of a.
pub(super) fn apply(sizes: Sizes, matrix: &[f64], input: &[f64], directions: usize, out: &mut [f64]) {
    let n = sizes.side;
    out.fill(0.0);
    for ((k, l), block) in sizes.pairs().zip(matrix.chunks_exact(sizes.block())) {
        for a in 0..directions {
            let at = |factor: usize| (factor * directions + a) * n;
            add_product(&mut out[at(k)..][..n], block, &input[at(l)..][..n], n);
            if k != l {
                add_transposed_product(&mut out[at(l)..][..n], block, &input[at(k)..][..n], n);
            }
        }
    }
}

/// What an update leaves for the way back.
#[derive(Debug, Clone, Copy)]
pub(super) struct Updated<'a> {
    /// `[k][a]`: W.
    pub gain: &'a [f64],
    /// B^{-1}, K x K.
    pub inverse: &'a [f64],
    /// B^{-1} (u - L' f).
    pub error: &'a [f64],
}

/// The moments of the state and the buffers of a step.
#[derive(Debug, Default)]
pub(super) struct Filter {
    sizes: Sizes,
    /// Mean, factor by factor.
    pub mean: Vec<f64>,
    /// Blocks k >= l of the covariance.
    pub covariance: Vec<f64>,
    /// Sum of log |B|.
    pub log_det: f64,
    /// Sum of (u - L' f)' B^{-1} (u - L' f).
    pub quadratic: f64,
    /// P_kl c, `[k][l]`.
    seen: Vec<f64>,
    /// P H' L, then times B^{-1/2}.
    whitened: Vec<f64>,
    gain: Vec<f64>,
    /// Cholesky factor of B, then its inverse.
    root: Vec<f64>,
    inverse: Vec<f64>,
    error: Vec<f64>,
    product: Vec<f64>,
}

/// A pivot of B that is not positive, which only overflow or NaN can cause: index, smallest and largest diagonal entry.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct BadPivot {
    pub index: usize,
    pub smallest: f64,
    pub largest: f64,
}

impl BadPivot {
    /// As the failure of `run`, whose B have side `factors`.
    pub fn in_run(self, run: usize, factors: usize) -> TermError {
        let Self { index, smallest, largest } = self;
        TermError::Factorisation { run, pivot: index, size: factors, smallest, largest }
    }
}

impl Filter {
    /// Starts from the stationary law.
    pub fn begin(&mut self, sizes: Sizes, order: usize) {
        self.sizes = sizes;
        let zero = |buffer: &mut Vec<f64>, len: usize| {
            buffer.clear();
            buffer.resize(len, 0.0);
        };
        zero(&mut self.mean, sizes.vector());
        zero(&mut self.covariance, sizes.blocks());
        zero(&mut self.seen, sizes.vectors());
        zero(&mut self.whitened, sizes.vectors());
        zero(&mut self.gain, sizes.vectors());
        zero(&mut self.product, sizes.block());
        for buffer in [&mut self.root, &mut self.inverse] {
            zero(buffer, sizes.factors * sizes.factors);
        }
        zero(&mut self.error, sizes.factors);
        (self.log_det, self.quadratic) = (0.0, 0.0);
        for ((k, l), block) in sizes.pairs().zip(self.covariance.chunks_exact_mut(sizes.block())) {
            if k == l {
                (0..order).for_each(|i| block[i * sizes.side + i] = 1.0);
            }
        }
    }

    /// Moves the state across a gap.
    pub fn predict(&mut self, t: &Transition) {
        let n = self.sizes.side;
        for mean in self.mean.chunks_exact_mut(n) {
            let moved = &mut self.product[..n];
            moved.fill(0.0);
            add_product(moved, &t.matrix, mean, n);
            mean.copy_from_slice(moved);
        }
        for ((k, l), block) in self.sizes.pairs().zip(self.covariance.chunks_exact_mut(n * n)) {
            multiply(&mut self.product, false, 1.0, (&t.matrix, block), n, Shape::LowerLeft, Part::All);
            let factors = (&self.product[..], &t.transposed[..]);
            if k == l {
                multiply(block, false, 1.0, factors, n, Shape::UpperRight, Part::Symmetric);
                axpy(block, 1.0, &t.noise);
            } else {
                multiply(block, false, 1.0, factors, n, Shape::UpperRight, Part::All);
            }
        }
    }

    /// Takes in a node that reads `row`: `lower` is its L (K x K, row-major, lower triangular), `informed` its u.
    pub fn update(&mut self, row: &[f64], lower: &[f64], informed: &[f64]) -> Result<(), BadPivot> {
        let (k_count, n) = (self.sizes.factors, self.sizes.side);
        self.seen.fill(0.0);
        for ((k, l), block) in self.sizes.pairs().zip(self.covariance.chunks_exact(n * n)) {
            add_product(&mut self.seen[(k * k_count + l) * n..][..n], block, row, n);
            if k != l {
                add_transposed_product(&mut self.seen[(l * k_count + k) * n..][..n], block, row, n);
            }
        }
        self.whitened.fill(0.0);
        for k in 0..k_count {
            for a in 0..k_count {
                for l in a..k_count {
                    let seen = &self.seen[(k * k_count + l) * n..][..n];
                    axpy(&mut self.whitened[(k * k_count + a) * n..][..n], lower[l * k_count + a], seen);
                }
            }
        }
        for a in 0..k_count {
            self.error[a] = informed[a];
            for k in a..k_count {
                self.error[a] -= lower[k * k_count + a] * dot(row, &self.mean[k * n..(k + 1) * n]);
            }
            for b in 0..=a {
                let mut sum = if a == b { 1.0 } else { 0.0 };
                for k in a..k_count {
                    sum += lower[k * k_count + a] * dot(row, &self.whitened[(k * k_count + b) * n..][..n]);
                }
                self.root[a * k_count + b] = sum;
            }
        }
        self.factorise()?;
        self.whiten();
        for k in 0..k_count {
            for a in 0..k_count {
                let direction = &self.whitened[(k * k_count + a) * n..][..n];
                axpy(&mut self.mean[k * n..(k + 1) * n], self.error[a], direction);
            }
        }
        for ((k, l), block) in self.sizes.pairs().zip(self.covariance.chunks_exact_mut(n * n)) {
            for a in 0..k_count {
                let direction = |k: usize| &self.whitened[(k * k_count + a) * n..][..n];
                add_outer(block, -1.0, direction(k), direction(l), n);
            }
        }
        self.finish();
        Ok(())
    }

    /// What the last update leaves for the way back.
    pub fn updated(&self) -> Updated<'_> {
        Updated { gain: &self.gain, inverse: &self.inverse, error: &self.error }
    }

    /// Cholesky factor of B in place.
    fn factorise(&mut self) -> Result<(), BadPivot> {
        let k_count = self.sizes.factors;
        let diagonal = |root: &[f64], a: usize| root[a * k_count + a];
        let range = |root: &[f64]| {
            (0..k_count)
                .fold((f64::INFINITY, 0.0f64), |(lo, hi), a| (lo.min(diagonal(root, a)), hi.max(diagonal(root, a))))
        };
        let (smallest, largest) = range(&self.root);
        for a in 0..k_count {
            for b in 0..=a {
                let mut sum = self.root[a * k_count + b];
                for c in 0..b {
                    sum -= self.root[a * k_count + c] * self.root[b * k_count + c];
                }
                if a == b {
                    if sum.is_nan() || sum <= 0.0 {
                        return Err(BadPivot { index: a, smallest, largest });
                    }
                    self.root[a * k_count + a] = sum.sqrt();
                } else {
                    self.root[a * k_count + b] = sum / diagonal(&self.root, b);
                }
            }
            self.log_det += 2.0 * diagonal(&self.root, a).ln();
        }
        Ok(())
    }

    /// Applies the inverse root to the error and, from the right and transposed, to the whitened directions.
    fn whiten(&mut self) {
        let (k_count, n) = (self.sizes.factors, self.sizes.side);
        for a in 0..k_count {
            let inverse = self.root[a * k_count + a].recip();
            for b in 0..a {
                self.error[a] -= self.root[a * k_count + b] * self.error[b];
            }
            self.error[a] *= inverse;
            self.quadratic += self.error[a] * self.error[a];
            for vectors in self.whitened.chunks_exact_mut(k_count * n) {
                let (before, here) = vectors.split_at_mut(a * n);
                let here = &mut here[..n];
                for b in 0..a {
                    axpy(here, -self.root[a * k_count + b], &before[b * n..][..n]);
                }
                here.iter_mut().for_each(|x| *x *= inverse);
            }
        }
    }

    /// Gain, B^{-1} and B^{-1} times the error.
    fn finish(&mut self) {
        let (k_count, n) = (self.sizes.factors, self.sizes.side);
        self.gain.copy_from_slice(&self.whitened);
        self.inverse.fill(0.0);
        for column in 0..k_count {
            // Forward, then back substitution of a unit vector.
            for a in column..k_count {
                let mut x = if a == column { 1.0 } else { 0.0 };
                for b in column..a {
                    x -= self.root[a * k_count + b] * self.inverse[b * k_count + column];
                }
                self.inverse[a * k_count + column] = x / self.root[a * k_count + a];
            }
            for a in (0..k_count).rev() {
                let mut x = self.inverse[a * k_count + column];
                for b in a + 1..k_count {
                    x -= self.root[b * k_count + a] * self.inverse[b * k_count + column];
                }
                self.inverse[a * k_count + column] = x / self.root[a * k_count + a];
            }
        }
        for a in (0..k_count).rev() {
            let inverse = self.root[a * k_count + a].recip();
            for b in a + 1..k_count {
                self.error[a] -= self.root[b * k_count + a] * self.error[b];
            }
            self.error[a] *= inverse;
            for vectors in self.gain.chunks_exact_mut(k_count * n) {
                let (here, after) = vectors.split_at_mut((a + 1) * n);
                let here = &mut here[a * n..];
                for b in a + 1..k_count {
                    axpy(here, -self.root[b * k_count + a], &after[(b - a - 1) * n..][..n]);
                }
                here.iter_mut().for_each(|x| *x *= inverse);
            }
        }
    }
}
