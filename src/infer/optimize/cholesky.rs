//! Cholesky factor and solves for the small dense systems of the optimisers (row-major, lower triangle).

/// The matrix is not numerically positive definite: `value` remained at diagonal `pivot`.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error("pivot {pivot} is {value:e}")]
pub struct NotPositiveDefinite {
    pub pivot: usize,
    pub value: f64,
}

/// A diagonal entry of the factor, squared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pivot {
    pub index: usize,
    pub value: f64,
}

/// Lower factor L with L L' = A.
#[derive(Debug, Clone)]
pub struct Cholesky {
    size: usize,
    lower: Vec<f64>,
}

impl Cholesky {
    /// Factorises the symmetric row-major `matrix` (size x size), reading its lower triangle.
    ///
    /// # Errors
    /// [`NotPositiveDefinite`] when a pivot is not above rounding (`1e-15` of its diagonal entry) or not finite.
    pub fn new(mut matrix: Vec<f64>, size: usize) -> Result<Self, NotPositiveDefinite> {
        for i in 0..size {
            let diagonal = matrix[i * size + i];
            let (above, row) = matrix.split_at_mut(i * size);
            for j in 0..i {
                let other = &above[j * size..j * size + j + 1];
                let sum: f64 = row[..j].iter().zip(other).map(|(a, b)| a * b).sum();
                row[j] = (row[j] - sum) / other[j];
            }
            let pivot = row[i] - row[..i].iter().map(|a| a * a).sum::<f64>();
            if !(pivot > 1e-15 * diagonal && pivot > 0.0 && pivot.is_finite()) {
                return Err(NotPositiveDefinite { pivot: i, value: pivot });
            }
            row[i] = pivot.sqrt();
        }
        Ok(Cholesky { size, lower: matrix })
    }

    /// Replaces `b` by L^-1 b.
    pub fn forward(&self, b: &mut [f64]) {
        for i in 0..self.size {
            let row = &self.lower[i * self.size..];
            let sum: f64 = row[..i].iter().zip(b.iter()).map(|(a, x)| a * x).sum();
            b[i] = (b[i] - sum) / row[i];
        }
    }

    /// Replaces `b` by A^-1 b.
    pub fn solve(&self, b: &mut [f64]) {
        self.forward(b);
        for i in (0..self.size).rev() {
            let row = &self.lower[i * self.size..];
            b[i] /= row[i];
            let solved = b[i];
            for (x, a) in b[..i].iter_mut().zip(row) {
                *x -= a * solved;
            }
        }
    }

    /// A^-1, row-major.
    pub fn inverse(&self) -> Vec<f64> {
        let mut inverse = vec![0.0; self.size * self.size];
        // The inverse is symmetric, so its columns are written as rows.
        for (j, row) in inverse.chunks_exact_mut(self.size.max(1)).enumerate() {
            row[j] = 1.0;
            self.solve(row);
        }
        inverse
    }

    /// The smallest pivot and its position; none for an empty matrix.
    pub fn smallest_pivot(&self) -> Option<Pivot> {
        let pivots = (0..self.size).map(|i| Pivot { index: i, value: self.lower[i * self.size + i].powi(2) });
        pivots.min_by(|a, b| a.value.total_cmp(&b.value))
    }

    /// log det A.
    pub fn log_determinant(&self) -> f64 {
        (0..self.size).map(|i| 2.0 * self.lower[i * self.size + i].ln()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: [f64; 9] = [4.0, 2.0, -1.0, 2.0, 5.0, 0.5, -1.0, 0.5, 3.0];

    #[test]
    fn solve_and_inverse_reproduce_the_identity() {
        let factor = Cholesky::new(A.to_vec(), 3).expect("positive definite");
        let inverse = factor.inverse();
        for i in 0..3 {
            for j in 0..3 {
                let entry: f64 = (0..3).map(|k| A[3 * i + k] * inverse[3 * k + j]).sum();
                assert!((entry - f64::from(u8::from(i == j))).abs() < 1e-14);
            }
        }
        // Determinant by cofactors.
        let det = 4.0 * (5.0 * 3.0 - 0.25) - 2.0 * (2.0 * 3.0 + 0.5) - (2.0 * 0.5 + 5.0);
        assert!((factor.log_determinant() - f64::ln(det)).abs() < 1e-14);
        // The leading blocks have determinants 4 and 16, so the pivots are 4, 4 and det / 16.
        let smallest = factor.smallest_pivot().expect("three pivots");
        assert_eq!(smallest.index, 2);
        assert!((smallest.value - det / 16.0).abs() < 1e-14);
    }

    #[test]
    fn an_indefinite_matrix_names_its_pivot() {
        let fault = Cholesky::new(vec![1.0, 2.0, 2.0, 1.0], 2).expect_err("indefinite");
        assert_eq!(fault, NotPositiveDefinite { pivot: 1, value: -3.0 });
        assert!(Cholesky::new(vec![f64::NAN], 1).is_err());
    }
}
