//! The Euclidean metric of Hamiltonian Monte Carlo: velocity, kinetic energy and momentum draws.
//!
//! Kinetic energy K(p) = p' W p / 2 with inverse mass W (an estimate of the posterior covariance), velocity v = W p,
//! momentum p ~ N(0, W^-1). The term log|W| is constant during a transition and is left out. With W = L L' a dense
//! momentum is the solution of L' p = n, n ~ N(0, I). A metric of low rank is W = S (I + U (V - I) U') S with scales S,
//! orthonormal directions U and variances V; its momentum is S^-1 (I + U (V^(-1/2) - I) U') n.
//! Neal 2011, "MCMC using Hamiltonian dynamics".

use crate::infer::adapt::Directions;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

/// Which inverse mass a chain learns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricKind {
    /// One variance per coordinate: memory and time linear in d.
    Diagonal,
    /// Scales and the directions in which they fall short: linear in d times the number of directions.
    LowRank,
    /// A full covariance: memory and time per leapfrog quadratic in d.
    Dense,
}

/// Why an inverse mass cannot be used.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum MetricError {
    /// A variance is zero, negative or not finite.
    #[error("the variance of coordinate {index} is {value:e}, it must be positive and finite")]
    Variance { index: usize, value: f64 },
    /// The covariance is not positive definite; `value` is the pivot that should be positive.
    #[error("the covariance is not positive definite at pivot {pivot} of {size} (value {value:e})")]
    Pivot { pivot: usize, size: usize, value: f64 },
}

/// An inverse mass matrix together with what is needed to draw momenta.
#[derive(Debug, Clone, PartialEq)]
pub struct Metric {
    dim: usize,
    form: Form,
}

#[derive(Debug, Clone, PartialEq)]
enum Form {
    /// Variances and the standard deviations of the momentum, 1 / sqrt(variance).
    Diagonal { inverse_mass: Vec<f64>, momentum_sd: Vec<f64> },
    /// The diagonal of W, the scales, U row by row (k x d), and of every direction V - 1 and V^(-1/2) - 1.
    LowRank { inverse_mass: Vec<f64>, scales: Vec<f64>, rows: Vec<f64>, stretches: Vec<(f64, f64)> },
    /// Covariance W and its factor L, both d x d, row-major; L is lower triangular.
    Dense { inverse_mass: Vec<f64>, factor: Vec<f64> },
}

impl Metric {
    /// The identity in `dim` coordinates, stored in the given form.
    pub fn identity(kind: MetricKind, dim: usize) -> Metric {
        let ones = vec![1.0; dim];
        let form = match kind {
            MetricKind::Diagonal => Form::Diagonal { inverse_mass: ones.clone(), momentum_sd: ones },
            MetricKind::LowRank => {
                Form::LowRank { inverse_mass: ones.clone(), scales: ones, rows: Vec::new(), stretches: Vec::new() }
            }
            MetricKind::Dense => {
                let eye = Directions::default().covariance(&ones);
                Form::Dense { inverse_mass: eye.clone(), factor: eye }
            }
        };
        Metric { dim, form }
    }

    /// The squares of `scales` (length d) as variances, stored in the given form.
    pub(super) fn scaled(kind: MetricKind, scales: &[f64]) -> Result<Metric, MetricError> {
        match kind {
            MetricKind::Diagonal => Metric::diagonal(scales.iter().map(|s| s * s).collect()),
            MetricKind::LowRank => Metric::low_rank(scales.to_vec(), Directions::default()),
            MetricKind::Dense => Metric::dense(Directions::default().covariance(scales), scales.len()),
        }
    }

    /// A diagonal metric from `variances`, length d, each positive and finite.
    pub fn diagonal(variances: Vec<f64>) -> Result<Metric, MetricError> {
        usable(&variances)?;
        let momentum_sd = variances.iter().map(|v| v.sqrt().recip()).collect();
        Ok(Metric { dim: variances.len(), form: Form::Diagonal { inverse_mass: variances, momentum_sd } })
    }

    /// A metric of low rank from scales, length d, and the directions in which they fall short.
    pub(super) fn low_rank(scales: Vec<f64>, directions: Directions) -> Result<Metric, MetricError> {
        let dim = scales.len();
        let mut inverse_mass: Vec<f64> = vec![1.0; dim];
        for (row, variance) in directions.rows.chunks_exact(dim).zip(&directions.variances) {
            inverse_mass.iter_mut().zip(row).for_each(|(w, r)| *w += (variance - 1.0) * r * r);
        }
        inverse_mass.iter_mut().zip(&scales).for_each(|(w, s)| *w *= s * s);
        usable(&inverse_mass)?;
        let stretches = directions.variances.iter().map(|v| (v - 1.0, v.sqrt().recip() - 1.0)).collect();
        Ok(Metric { dim, form: Form::LowRank { inverse_mass, scales, rows: directions.rows, stretches } })
    }

    /// A dense metric from a symmetric positive definite `covariance`, `dim` x `dim`, row-major.
    pub fn dense(covariance: Vec<f64>, dim: usize) -> Result<Metric, MetricError> {
        let factor = cholesky(&covariance, dim)?;
        Ok(Metric { dim, form: Form::Dense { inverse_mass: covariance, factor } })
    }

    /// The form.
    pub fn kind(&self) -> MetricKind {
        match self.form {
            Form::Diagonal { .. } => MetricKind::Diagonal,
            Form::LowRank { .. } => MetricKind::LowRank,
            Form::Dense { .. } => MetricKind::Dense,
        }
    }

    /// Number of coordinates, d.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// The inverse mass: a d x d covariance, row-major, of a dense metric; of the others its diagonal, length d.
    pub fn inverse_mass(&self) -> &[f64] {
        match &self.form {
            Form::Diagonal { inverse_mass, .. }
            | Form::LowRank { inverse_mass, .. }
            | Form::Dense { inverse_mass, .. } => inverse_mass,
        }
    }

    /// Writes v = W p; `momentum` and `velocity` have length d.
    #[inline]
    pub(super) fn velocity(&self, momentum: &[f64], velocity: &mut [f64]) {
        match &self.form {
            Form::Diagonal { inverse_mass, .. } => {
                for ((v, p), w) in velocity.iter_mut().zip(momentum).zip(inverse_mass) {
                    *v = w * p;
                }
            }
            Form::LowRank { scales, rows, stretches, .. } => {
                for ((v, p), s) in velocity.iter_mut().zip(momentum).zip(scales) {
                    *v = s * p;
                }
                stretch(rows, stretches.iter().map(|s| s.0), velocity);
                velocity.iter_mut().zip(scales).for_each(|(v, s)| *v *= s);
            }
            Form::Dense { inverse_mass, .. } => {
                velocity.fill(0.0);
                // W is symmetric: adding multiples of its rows keeps the inner loop free of a reduction.
                for (row, p) in inverse_mass.chunks_exact(self.dim).zip(momentum) {
                    for (v, w) in velocity.iter_mut().zip(row) {
                        *v += w * p;
                    }
                }
            }
        }
    }

    /// Draws p ~ N(0, W^-1) into `momentum`, length d.
    pub(super) fn draw_momentum(&self, rng: &mut ChaCha8Rng, momentum: &mut [f64]) {
        for p in momentum.iter_mut() {
            *p = rng.sample(StandardNormal);
        }
        match &self.form {
            Form::Diagonal { momentum_sd, .. } => {
                for (p, sd) in momentum.iter_mut().zip(momentum_sd) {
                    *p *= sd;
                }
            }
            Form::LowRank { scales, rows, stretches, .. } => {
                stretch(rows, stretches.iter().map(|s| s.1), momentum);
                momentum.iter_mut().zip(scales).for_each(|(p, s)| *p /= s);
            }
            Form::Dense { factor, .. } => solve_transposed(factor, momentum),
        }
    }
}

/// Refuses variances of which a momentum cannot be drawn.
fn usable(variances: &[f64]) -> Result<(), MetricError> {
    let bad = |value: f64| !(value > 0.0 && value.is_finite() && value.sqrt().recip().is_finite());
    match variances.iter().enumerate().find(|&(_, &value)| bad(value)) {
        Some((index, &value)) => Err(MetricError::Variance { index, value }),
        None => Ok(()),
    }
}

/// Adds to `vector` its parts along orthonormal `rows`, each times its factor.
fn stretch(rows: &[f64], factors: impl Iterator<Item = f64>, vector: &mut [f64]) {
    for (row, factor) in rows.chunks_exact(vector.len()).zip(factors) {
        let along = factor * dot(row, vector);
        vector.iter_mut().zip(row).for_each(|(v, r)| *v += along * r);
    }
}

/// a'b with four running sums, so that the additions do not wait for each other.
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let (a4, a1) = a.as_chunks::<4>();
    let (b4, b1) = b.as_chunks::<4>();
    let mut sums = [0.0; 4];
    for (x, y) in a4.iter().zip(b4) {
        for k in 0..4 {
            sums[k] += x[k] * y[k];
        }
    }
    let rest: f64 = a1.iter().zip(b1).map(|(x, y)| x * y).sum();
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}

/// Lower triangular L with L L' = `a` (`dim` x `dim`, row-major); the upper triangle of the result is zero.
fn cholesky(a: &[f64], dim: usize) -> Result<Vec<f64>, MetricError> {
    let mut factor = vec![0.0; dim * dim];
    for i in 0..dim {
        let (done, rest) = factor.split_at_mut(i * dim);
        let row = &mut rest[..dim];
        for (j, above) in done.chunks_exact(dim).enumerate() {
            row[j] = (a[i * dim + j] - dot(&row[..j], &above[..j])) / above[j];
        }
        let value = a[i * dim + i] - dot(&row[..i], &row[..i]);
        if !(value > 0.0 && value.is_finite()) {
            return Err(MetricError::Pivot { pivot: i, size: dim, value });
        }
        row[i] = value.sqrt();
    }
    Ok(factor)
}

/// Solves L' x = b in place, L lower triangular and row-major.
fn solve_transposed(factor: &[f64], x: &mut [f64]) {
    let dim = x.len();
    for i in (0..dim).rev() {
        let row = &factor[i * dim..=i * dim + i];
        let (before, from) = x.split_at_mut(i);
        from[0] /= row[i];
        for (b, l) in before.iter_mut().zip(row) {
            *b -= l * from[0];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    /// A A' + I for random A: symmetric positive definite.
    fn random_covariance(dim: usize, rng: &mut ChaCha8Rng) -> Vec<f64> {
        let a: Vec<f64> = (0..dim * dim).map(|_| rng.sample(StandardNormal)).collect();
        let mut w = vec![0.0; dim * dim];
        for i in 0..dim {
            for j in 0..dim {
                w[i * dim + j] = (0..dim).map(|k| a[i * dim + k] * a[j * dim + k]).sum::<f64>();
            }
            w[i * dim + i] += 1.0;
        }
        w
    }

    #[test]
    fn factor_times_its_transpose_is_the_matrix() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for dim in [1, 2, 3, 7, 20] {
            let w = random_covariance(dim, &mut rng);
            let l = cholesky(&w, dim).unwrap();
            for i in 0..dim {
                for j in 0..dim {
                    let product: f64 = (0..dim).map(|k| l[i * dim + k] * l[j * dim + k]).sum();
                    assert!((product - w[i * dim + j]).abs() < 1e-12 * (1.0 + w[i * dim + i]), "{dim} {i} {j}");
                }
                assert!(l[i * dim + i + 1..(i + 1) * dim].iter().all(|&x| x == 0.0));
            }
        }
    }

    #[test]
    fn transposed_solve_inverts_the_transposed_product() {
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        let dim = 9;
        let l = cholesky(&random_covariance(dim, &mut rng), dim).unwrap();
        let x: Vec<f64> = (0..dim).map(|_| rng.sample(StandardNormal)).collect();
        let mut b: Vec<f64> = (0..dim).map(|i| (0..dim).map(|k| l[k * dim + i] * x[k]).sum()).collect();
        solve_transposed(&l, &mut b);
        assert!(x.iter().zip(&b).all(|(x, b)| (x - b).abs() < 1e-12), "{x:?} {b:?}");
    }

    #[test]
    fn velocity_is_the_matrix_product() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let dim = 6;
        let w = random_covariance(dim, &mut rng);
        let p: Vec<f64> = (0..dim).map(|_| rng.sample(StandardNormal)).collect();
        let mut v = vec![f64::NAN; dim];
        Metric::dense(w.clone(), dim).unwrap().velocity(&p, &mut v);
        for i in 0..dim {
            let expected: f64 = (0..dim).map(|j| w[i * dim + j] * p[j]).sum();
            assert!((v[i] - expected).abs() < 1e-12);
        }
        let variances: Vec<f64> = (0..dim).map(|i| w[i * dim + i]).collect();
        Metric::diagonal(variances.clone()).unwrap().velocity(&p, &mut v);
        assert!((0..dim).all(|i| v[i] == variances[i] * p[i]));
        let (scales, directions) = few_directions();
        let w = directions.covariance(&scales);
        let metric = Metric::low_rank(scales, directions).unwrap();
        metric.velocity(&p[..3], &mut v[..3]);
        for i in 0..3 {
            let expected: f64 = (0..3).map(|j| w[i * 3 + j] * p[j]).sum();
            assert!((v[i] - expected).abs() < 1e-12);
            assert!((metric.inverse_mass()[i] - w[i * 3 + i]).abs() < 1e-12);
        }
    }

    /// Three scales and two orthonormal directions, one wide and one narrow.
    fn few_directions() -> (Vec<f64>, Directions) {
        let h = 0.5f64.sqrt();
        (vec![2.0, 0.5, 1.5], Directions { rows: vec![h, h, 0.0, 0.0, 0.0, 1.0], variances: vec![9.0, 0.25] })
    }

    /// v = W p has covariance W W^-1 W = W, which can be read off without inverting anything.
    #[test]
    fn velocities_of_drawn_momenta_have_covariance_w() {
        let mut rng = ChaCha8Rng::seed_from_u64(4);
        let dim = 3;
        let w = random_covariance(dim, &mut rng);
        let variances: Vec<f64> = (0..dim).map(|i| w[i * dim + i]).collect();
        let diagonal: Vec<f64> = (0..dim * dim).map(|k| if k / dim == k % dim { w[k] } else { 0.0 }).collect();
        let (scales, directions) = few_directions();
        let low_rank = directions.covariance(&scales);
        let cases = [
            (Metric::dense(w.clone(), dim).unwrap(), w),
            (Metric::diagonal(variances).unwrap(), diagonal),
            (Metric::low_rank(scales, directions).unwrap(), low_rank),
        ];
        for (metric, expected) in cases {
            let n = 40_000;
            let (mut p, mut v, mut sums) = (vec![0.0; dim], vec![0.0; dim], vec![0.0; dim * dim]);
            for _ in 0..n {
                metric.draw_momentum(&mut rng, &mut p);
                metric.velocity(&p, &mut v);
                for k in 0..dim * dim {
                    sums[k] += v[k / dim] * v[k % dim];
                }
            }
            for k in 0..dim * dim {
                let (i, j) = (k / dim, k % dim);
                // Var(v_i v_j) = W_ii W_jj + W_ij^2 for a centred normal.
                let sd = ((expected[i * dim + i] * expected[j * dim + j] + expected[k].powi(2)) / n as f64).sqrt();
                assert!(((sums[k] / n as f64 - expected[k]) / sd).abs() < 4.0, "{:?} {i} {j}", metric.kind());
            }
        }
    }

    #[test]
    fn unusable_matrices_are_refused_with_facts() {
        assert_eq!(Metric::diagonal(vec![1.0, 0.0]), Err(MetricError::Variance { index: 1, value: 0.0 }));
        assert!(matches!(Metric::diagonal(vec![f64::INFINITY]), Err(MetricError::Variance { index: 0, .. })));
        let bad = Directions { rows: vec![1.0], variances: vec![f64::INFINITY] };
        assert!(matches!(Metric::low_rank(vec![1.0], bad), Err(MetricError::Variance { index: 0, .. })));
        assert!(matches!(Metric::diagonal(vec![f64::NAN]), Err(MetricError::Variance { index: 0, .. })));
        assert_eq!(
            Metric::dense(vec![1.0, 2.0, 2.0, 1.0], 2),
            Err(MetricError::Pivot { pivot: 1, size: 2, value: -3.0 })
        );
        assert!(matches!(Metric::dense(vec![f64::NAN], 1), Err(MetricError::Pivot { pivot: 0, .. })));
    }

    #[test]
    fn dot_equals_the_plain_sum_for_every_length() {
        for n in 0..13 {
            let a: Vec<f64> = (0..n).map(|i| i as f64 - 3.0).collect();
            let b: Vec<f64> = (0..n).map(|i| 2.0 * i as f64 + 1.0).collect();
            assert_eq!(dot(&a, &b), a.iter().zip(&b).map(|(x, y)| x * y).sum::<f64>());
        }
    }
}
