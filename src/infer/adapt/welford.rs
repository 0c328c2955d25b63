//! Running means and variances, without cancellation.
//!
//! Welford 1962, Technometrics 4.

/// Sums over the vectors seen since the last [`Welford::clear`].
#[derive(Debug, Clone)]
pub(in crate::infer) struct Welford {
    count: f64,
    mean: Vec<f64>,
    /// Sums of squared deviations, length d.
    squares: Vec<f64>,
}

impl Welford {
    /// For `dim` coordinates.
    pub fn new(dim: usize) -> Welford {
        Welford { count: 0.0, mean: vec![0.0; dim], squares: vec![0.0; dim] }
    }

    pub fn clear(&mut self) {
        self.count = 0.0;
        self.mean.fill(0.0);
        self.squares.fill(0.0);
    }

    /// Adds one vector, length d.
    pub fn add(&mut self, vector: &[f64]) {
        self.count += 1.0;
        let share = self.count.recip();
        for ((s, m), x) in self.squares.iter_mut().zip(&mut self.mean).zip(vector) {
            let before = x - *m;
            *m += before * share;
            *s += before * (x - *m);
        }
    }

    /// Number of vectors added.
    pub fn count(&self) -> f64 {
        self.count
    }

    /// Sums of squared deviations, length d.
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
            let tolerance = if shift == 0.0 { 1e-10 } else { 1e-3 };
            let mut w = Welford::new(3);
            w.add(&[1e5; 3]);
            w.clear();
            rows.iter().for_each(|x| w.add(x));
            assert_eq!(w.count(), 40.0);
            for (i, m) in mean.iter().enumerate() {
                let sum: f64 = rows.iter().map(|x| (x[i] - shift - m).powi(2)).sum();
                assert!((w.squares()[i] - sum).abs() < tolerance);
            }
        }
    }
}
