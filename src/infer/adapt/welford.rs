//! Running means and variances or covariances, without cancellation.
//!
//! Welford 1962, Technometrics 4.

/// Sums over the vectors seen since the last [`Welford::clear`].
#[derive(Debug, Clone)]
pub(in crate::infer) struct Welford {
    /// Squares of pairs of coordinates are summed too.
    full: bool,
    count: f64,
    mean: Vec<f64>,
    /// Sums of squared deviations: length d, or d x d with only the lower triangle in use.
    squares: Vec<f64>,
    deviation: Vec<f64>,
}

impl Welford {
    /// For the variances of `dim` coordinates.
    pub fn diagonal(dim: usize) -> Welford {
        Welford::sized(dim, dim, false)
    }

    /// For their covariances.
    pub fn full(dim: usize) -> Welford {
        Welford::sized(dim, dim * dim, true)
    }

    fn sized(dim: usize, size: usize, full: bool) -> Welford {
        Welford { full, count: 0.0, mean: vec![0.0; dim], squares: vec![0.0; size], deviation: vec![0.0; dim] }
    }

    pub fn clear(&mut self) {
        self.count = 0.0;
        self.mean.fill(0.0);
        self.squares.fill(0.0);
    }

    /// Adds one vector, length d.
    pub fn add(&mut self, vector: &[f64]) {
        self.count += 1.0;
        for ((d, m), x) in self.deviation.iter_mut().zip(&mut self.mean).zip(vector) {
            *d = x - *m;
            *m += *d / self.count;
        }
        // (x - old mean)(x - new mean) = (x - old mean)^2 (n-1)/n, also across coordinates.
        let factor = (self.count - 1.0) / self.count;
        if self.full {
            let dim = self.deviation.len();
            for (i, row) in self.squares.chunks_exact_mut(dim).enumerate() {
                let scaled = factor * self.deviation[i];
                for (s, d) in row[..=i].iter_mut().zip(&self.deviation) {
                    *s += scaled * d;
                }
            }
        } else {
            for (s, d) in self.squares.iter_mut().zip(&self.deviation) {
                *s += factor * d * d;
            }
        }
    }

    /// Number of vectors added.
    pub fn count(&self) -> f64 {
        self.count
    }

    /// Mean, length d.
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// Sums of squared deviations: length d, or d x d, row-major, with only the lower triangle in use.
    pub fn squares(&self) -> &[f64] {
        &self.squares
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two passes: mean first, then products of deviations.
    #[test]
    fn sums_match_two_passes_also_far_from_zero() {
        for shift in [0.0, 1e8] {
            let rows: Vec<[f64; 3]> = (0..40)
                .map(f64::from)
                .map(|t| [shift + (1.7 * t).sin(), shift + t - 20.0, shift - 0.1 * t * (0.9 * t).cos()])
                .collect();
            let mean: Vec<f64> = (0..3).map(|i| rows.iter().map(|x| x[i] - shift).sum::<f64>() / 40.0).collect();
            let product = |i: usize, j: usize| -> f64 {
                rows.iter().map(|x| (x[i] - shift - mean[i]) * (x[j] - shift - mean[j])).sum()
            };
            let tolerance = if shift == 0.0 { 1e-10 } else { 1e-3 };
            for mut w in [Welford::diagonal(3), Welford::full(3)] {
                w.add(&[1e5; 3]);
                w.clear();
                rows.iter().for_each(|x| w.add(x));
                assert_eq!(w.count(), 40.0);
                for (i, m) in mean.iter().enumerate() {
                    assert!((w.mean()[i] - shift - m).abs() < tolerance);
                    let stride = if w.full { 3 } else { 0 };
                    assert!((w.squares()[i * stride + i] - product(i, i)).abs() < tolerance);
                    if w.full {
                        (0..i).for_each(|j| assert!((w.squares()[3 * i + j] - product(i, j)).abs() < tolerance));
                    }
                }
            }
        }
    }
}
