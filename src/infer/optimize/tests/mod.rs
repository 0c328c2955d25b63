//! Tests of the optimisers against slow twins: dense algebra, enumeration of active sets, plain Newton.

mod climb;
mod line_search;
mod minimise;
mod model;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

/// Standard normal draws.
fn normals(seed: u64, n: usize) -> Vec<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    (0..n).map(|_| StandardNormal.sample(&mut rng)).collect()
}

/// A random symmetric positive definite matrix, row-major, with entries scaled over `10^spread`.
fn random_spd(seed: u64, n: usize, spread: f64) -> Vec<f64> {
    let a = normals(seed, n * n);
    let size = |i: usize| 10f64.powf(spread * (i as f64 / n as f64 - 0.5));
    let mut matrix = vec![0.0; n * n];
    for i in 0..n {
        for j in 0..n {
            let product: f64 = (0..n).map(|k| a[i * n + k] * a[j * n + k]).sum();
            let ridge = if i == j { 0.1 * n as f64 } else { 0.0 };
            matrix[i * n + j] = (product + ridge) * size(i) * size(j);
        }
    }
    matrix
}

fn times(matrix: &[f64], x: &[f64]) -> Vec<f64> {
    matrix.chunks_exact(x.len()).map(|row| row.iter().zip(x).map(|(a, b)| a * b).sum()).collect()
}

/// Gaussian elimination with partial pivoting.
fn dense_solve(matrix: &[f64], b: &[f64]) -> Vec<f64> {
    let n = b.len();
    let mut rows: Vec<Vec<f64>> =
        matrix.chunks_exact(n.max(1)).zip(b).map(|(row, &b)| row.iter().copied().chain([b]).collect()).collect();
    for k in 0..n {
        let pivot = (k..n).max_by(|&i, &j| rows[i][k].abs().total_cmp(&rows[j][k].abs())).expect("rows");
        rows.swap(k, pivot);
        for i in k + 1..n {
            let factor = rows[i][k] / rows[k][k];
            let pivot_row = rows[k].clone();
            for (entry, pivot) in rows[i].iter_mut().zip(&pivot_row).skip(k) {
                *entry -= factor * pivot;
            }
        }
    }
    let mut x = vec![0.0; n];
    for k in (0..n).rev() {
        let known: f64 = (k + 1..n).map(|j| rows[k][j] * x[j]).sum();
        x[k] = (rows[k][n] - known) / rows[k][k];
    }
    x
}

fn largest_difference(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

fn unbounded(n: usize) -> (Vec<f64>, Vec<f64>) {
    (vec![f64::NEG_INFINITY; n], vec![f64::INFINITY; n])
}
