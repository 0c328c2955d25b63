//! Cholesky factorisation of symmetric positive definite band matrices, O(n h^2) for half bandwidth h.
//!
//! Row-oriented (Golub & Van Loan, Matrix Computations, section 4.3.5): L_ij = (A_ij - sum_k L_ik L_jk) / L_jj.

use std::fmt;

/// The lower half of a symmetric band matrix. Row i holds the columns i - half ..= i, and what would lie left of column 0 is unused.
#[derive(Debug, Clone, PartialEq)]
pub struct Banded {
    size: usize,
    half: usize,
    data: Vec<f64>,
}

/// Where a factorisation met a matrix that is not positive definite.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pivot {
    /// Row of the failing pivot.
    pub index: usize,
    /// What is left of the diagonal there: not above zero, or NaN.
    pub value: f64,
    /// The diagonal entry before elimination.
    pub diagonal: f64,
    /// Size of the matrix.
    pub size: usize,
}

impl fmt::Display for Pivot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pivot {} of {} is {:e} (diagonal {:e})", self.index, self.size, self.value, self.diagonal)
    }
}

impl Banded {
    /// The zero matrix of `size` rows and half bandwidth `half` (0 is diagonal).
    pub fn zeros(size: usize, half: usize) -> Self {
        Banded { size, half, data: vec![0.0; size * (half + 1)] }
    }

    /// Sets every entry to zero.
    pub fn clear(&mut self) {
        self.data.fill(0.0);
    }

    /// Adds `value` to entry (i, j) and its mirror image, for j <= i <= j + half.
    #[inline]
    pub fn add(&mut self, i: usize, j: usize, value: f64) {
        debug_assert!(j <= i && i - j <= self.half && i < self.size);
        self.data[i * (self.half + 1) + j + self.half - i] += value;
    }

    /// Factorises in place as L L'. On failure the matrix is left half factorised.
    pub fn factorize(&mut self) -> Result<Factor<'_>, Pivot> {
        let (half, width) = (self.half, self.half + 1);
        for i in 0..self.size {
            let first = i.saturating_sub(half);
            let (done, rest) = self.data.split_at_mut(i * width);
            let row = &mut rest[..width];
            // Column c of row i lies at c + half - i.
            let shift = half - (i - first);
            for j in first..i {
                let left = j - first;
                let other = &done[j * width..(j + 1) * width];
                let start = half - left;
                let s = dot(&row[shift..shift + left], &other[start..start + left]);
                row[shift + left] = (row[shift + left] - s) / other[half];
            }
            let filled = &row[shift..half];
            let value = row[half] - dot(filled, filled);
            if value.is_nan() || value <= 0.0 {
                return Err(Pivot { index: i, value, diagonal: row[half], size: self.size });
            }
            row[half] = value.sqrt();
        }
        Ok(Factor { matrix: self })
    }
}

/// The factor L of a band matrix.
#[derive(Debug)]
pub struct Factor<'a> {
    matrix: &'a Banded,
}

impl Factor<'_> {
    /// Replaces `b` (length size) by the solution of L L' x = b.
    pub fn solve(&self, b: &mut [f64]) {
        let Banded { size, half, data } = self.matrix;
        let width = half + 1;
        for i in 0..*size {
            let first = i.saturating_sub(*half);
            let row = &data[i * width..(i + 1) * width];
            let s = dot(&row[half - (i - first)..*half], &b[first..i]);
            b[i] = (b[i] - s) / row[*half];
        }
        for i in (0..*size).rev() {
            let first = i.saturating_sub(*half);
            let row = &data[i * width..(i + 1) * width];
            let x = b[i] / row[*half];
            b[i] = x;
            for (v, l) in b[first..i].iter_mut().zip(&row[half - (i - first)..*half]) {
                *v -= l * x;
            }
        }
    }
}

/// Inner product with eight running sums, so that the compiler may use vector registers.
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let (a8, b8) = (a.chunks_exact(8), b.chunks_exact(8));
    let tail: f64 = a8.remainder().iter().zip(b8.remainder()).map(|(x, y)| x * y).sum();
    for (x, y) in a8.zip(b8) {
        for ((s, x), y) in sums.iter_mut().zip(x).zip(y) {
            *s += x * y;
        }
    }
    sums.iter().sum::<f64>() + tail
}
