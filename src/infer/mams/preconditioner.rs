//! Linear change of coordinates in which the dynamics run: x = D^(1/2) (I + U (L^(1/2) - I) U') y.
//!
//! D is diagonal and U (d x k) orthonormal, L diagonal, so that the covariance of x is taken to be
//! D^(1/2) (I + U (L - I) U') D^(1/2). Without U it is D alone. Gradients in y are the transpose applied to those in x.

use crate::infer::adapt::Directions;

/// Which change of coordinates a chain learns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PreconditionerKind {
    /// One scale per coordinate: time per gradient linear in d.
    Diagonal,
    /// Scales and the directions in which they fall short: time per gradient linear in d times their number.
    LowRank,
}

/// A change of coordinates; see the module.
#[derive(Debug, Clone, PartialEq)]
pub struct Preconditioner {
    /// Diagonal of D^(1/2), length d.
    scales: Vec<f64>,
    /// Columns of U one after another, k x d.
    directions: Vec<f64>,
    /// sqrt(L) - 1, length k.
    stretches: Vec<f64>,
}

impl Preconditioner {
    /// Scales only: length d, positive and finite.
    pub(super) fn diagonal(scales: Vec<f64>) -> Preconditioner {
        Preconditioner { scales, directions: Vec::new(), stretches: Vec::new() }
    }

    /// Scales (length d) and the directions in which they fall short.
    pub(super) fn low_rank(scales: Vec<f64>, directions: Directions) -> Preconditioner {
        let stretches = directions.variances.iter().map(|v| v.sqrt() - 1.0).collect();
        Preconditioner { scales, directions: directions.rows, stretches }
    }

    /// Number of coordinates, d.
    pub fn dim(&self) -> usize {
        self.scales.len()
    }

    /// Scales D^(1/2), length d.
    pub fn scales(&self) -> &[f64] {
        &self.scales
    }

    /// Number of directions beyond the scales, k.
    pub fn rank(&self) -> usize {
        self.stretches.len()
    }

    pub(super) fn scales_mut(&mut self) -> &mut [f64] {
        &mut self.scales
    }

    /// Gradient in y from the gradient in x, both of length d.
    pub(super) fn pull(&self, gradient: &[f64], whitened: &mut [f64]) {
        for ((w, g), s) in whitened.iter_mut().zip(gradient).zip(&self.scales) {
            *w = s * g;
        }
        self.stretch(whitened);
    }

    /// `to` = `from` + `time` times the image of `direction`, all of length d.
    pub(super) fn drift(&self, from: &[f64], direction: &[f64], time: f64, to: &mut [f64]) {
        if self.stretches.is_empty() {
            for (((t, f), u), s) in to.iter_mut().zip(from).zip(direction).zip(&self.scales) {
                *t = f + time * (s * u);
            }
            return;
        }
        to.copy_from_slice(direction);
        self.stretch(to);
        for ((t, f), s) in to.iter_mut().zip(from).zip(&self.scales) {
            *t = f + time * (s * *t);
        }
    }

    /// v becomes (I + U (L^(1/2) - I) U') v. The columns are orthonormal: each can be applied after the other.
    fn stretch(&self, v: &mut [f64]) {
        for (column, stretch) in self.directions.chunks_exact(self.scales.len()).zip(&self.stretches) {
            let along: f64 = stretch * column.iter().zip(&*v).map(|(c, v)| c * v).sum::<f64>();
            for (v, c) in v.iter_mut().zip(column) {
                *v += along * c;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both maps against the dense matrix, and each the transpose of the other.
    #[test]
    fn maps_equal_the_dense_matrix() {
        let scales = vec![2.0, 0.5, 1.5];
        let h = 0.5f64.sqrt();
        let directions = vec![h, h, 0.0, 0.0, 0.0, 1.0];
        let variances = [9.0f64, 0.25];
        let mut dense = [[0.0; 3]; 3];
        for i in 0..3 {
            for j in 0..3 {
                let inner: f64 =
                    (0..2).map(|k| directions[3 * k + i] * (variances[k].sqrt() - 1.0) * directions[3 * k + j]).sum();
                dense[i][j] = scales[i] * (f64::from(u8::from(i == j)) + inner);
            }
        }
        let p =
            Preconditioner::low_rank(scales.clone(), Directions { rows: directions, variances: variances.to_vec() });
        assert_eq!((p.dim(), p.rank(), p.scales()), (3, 2, &scales[..]));
        let (v, from) = ([0.3, -1.2, 0.7], [1.0, 2.0, 3.0]);
        let (mut pulled, mut drifted) = ([0.0; 3], [0.0; 3]);
        p.pull(&v, &mut pulled);
        p.drift(&from, &v, 0.4, &mut drifted);
        for i in 0..3 {
            let transposed: f64 = (0..3).map(|j| dense[j][i] * v[j]).sum();
            let product: f64 = (0..3).map(|j| dense[i][j] * v[j]).sum();
            assert!((pulled[i] - transposed).abs() < 1e-14);
            assert!((drifted[i] - from[i] - 0.4 * product).abs() < 1e-14);
        }
        let plain = Preconditioner::diagonal(scales.clone());
        plain.pull(&v, &mut pulled);
        plain.drift(&from, &v, 0.4, &mut drifted);
        for i in 0..3 {
            assert_eq!(pulled[i], scales[i] * v[i]);
            assert!((drifted[i] - from[i] - 0.4 * scales[i] * v[i]).abs() < 1e-15);
        }
    }
}
