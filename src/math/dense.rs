//! Triangular factorisation and substitution over row-major slices, with the reverse sweep of each.
//!
//! Forward and reverse run along rows, so that the inner loops are dot products and sums of multiples that vectorise.

/// A pivot that is not positive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pivot {
    pub index: usize,
    pub value: f64,
}

/// The lower triangular L with L L' = A (n x n); reads the lower triangle of `a`, writes zeros above the diagonal.
///
/// # Errors
/// The first pivot that is not a positive number.
pub fn cholesky(a: &[f64], n: usize, l: &mut [f64]) -> Result<(), Pivot> {
    for i in 0..n {
        for j in 0..i {
            let (above, rest) = l.split_at_mut(i * n);
            let value = a[i * n + j] - dot(&above[j * n..j * n + j], &rest[..j]);
            rest[j] = value / above[j * n + j];
        }
        let row = &mut l[i * n..(i + 1) * n];
        let value = a[i * n + i] - dot(&row[..i], &row[..i]);
        if value.is_nan() || value <= 0.0 || value.is_infinite() {
            return Err(Pivot { index: i, value });
        }
        row[i] = value.sqrt();
        row[i + 1..].fill(0.0);
    }
    Ok(())
}

/// Turns the adjoint of L in the lower triangle of `f` into the adjoint of the lower triangle of A, in place, column by
/// column from the last (Smith 1995, "Differentiation of the Cholesky algorithm"). `columns` has 2 n elements.
pub fn cholesky_reverse(l: &[f64], n: usize, f: &mut [f64], columns: &mut [f64]) {
    let (lk, fk) = columns.split_at_mut(n);
    for k in (0..n).rev() {
        for i in k + 1..n {
            lk[i] = l[i * n + k];
            fk[i] = f[i * n + k];
        }
        for i in (k + 1..n).rev() {
            let row = &f[i * n + k + 1..=i * n + i];
            fk[i] -= dot(row, &lk[k + 1..=i]);
            axpy(-lk[i], row, &mut fk[k + 1..=i]);
        }
        let pivot = l[k * n + k];
        let mut diagonal = f[k * n + k];
        for i in k + 1..n {
            let value = fk[i] / pivot;
            diagonal -= lk[i] * value;
            f[i * n + k] = value;
        }
        f[k * n + k] = 0.5 * diagonal / pivot;
    }
}

/// X with L X = B for the columns of B (n x m), in place.
pub fn solve_lower(l: &[f64], n: usize, m: usize, b: &mut [f64]) {
    for i in 0..n {
        let (above, rest) = b.split_at_mut(i * m);
        let row = &mut rest[..m];
        for (p, factor) in l[i * n..i * n + i].iter().enumerate() {
            axpy(-factor, &above[p * m..(p + 1) * m], row);
        }
        row.iter_mut().for_each(|x| *x /= l[i * n + i]);
    }
}

/// X with L' X = B, in place.
pub fn solve_lower_transposed(l: &[f64], n: usize, m: usize, b: &mut [f64]) {
    for i in (0..n).rev() {
        let (above, rest) = b.split_at_mut(i * m);
        let row = &mut rest[..m];
        row.iter_mut().for_each(|x| *x /= l[i * n + i]);
        for (p, factor) in l[i * n..i * n + i].iter().enumerate() {
            axpy(-factor, row, &mut above[p * m..(p + 1) * m]);
        }
    }
}

/// Sum of products, in four interleaved partial sums so that the loop vectorises.
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut partial = [0.0; 4];
    let (ca, cb) = (a.chunks_exact(4), b.chunks_exact(4));
    let tail: f64 = ca.remainder().iter().zip(cb.remainder()).map(|(x, y)| x * y).sum();
    for (x, y) in ca.zip(cb) {
        for i in 0..4 {
            partial[i] += x[i] * y[i];
        }
    }
    (partial[0] + partial[1]) + (partial[2] + partial[3]) + tail
}

/// `y += a * x`
pub fn axpy(a: f64, x: &[f64], y: &mut [f64]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y += a * x;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A positive definite matrix; what stands above its diagonal is not read.
    fn matrix(n: usize) -> Vec<f64> {
        let entry = |i: usize, j: usize| 0.3 * ((i * 7 + j * 3) as f64).sin() + if i == j { 2.0 } else { 0.0 };
        (0..n * n).map(|k| if k % n > k / n { 99.0 } else { entry(k / n, k % n) }).collect()
    }

    #[test]
    fn the_factor_multiplies_back() {
        for n in [1, 2, 5, 9] {
            let a = matrix(n);
            let mut l = vec![9.0; n * n];
            cholesky(&a, n, &mut l).expect("positive definite");
            for i in 0..n {
                for j in 0..n {
                    let product: f64 = (0..n).map(|p| l[i * n + p] * l[j * n + p]).sum();
                    assert!((product - a[i.max(j) * n + i.min(j)]).abs() < 1e-13);
                    assert!(j <= i || l[i * n + j] == 0.0);
                }
            }
        }
        let mut l = vec![0.0; 4];
        assert_eq!(cholesky(&[1.0, 0.0, 2.0, 4.0], 2, &mut l), Err(Pivot { index: 1, value: 0.0 }));
    }

    #[test]
    fn the_reverse_sweep_is_the_slope() {
        let n = 6;
        let a = matrix(n);
        let weights: Vec<f64> = (0..n * n).map(|k| if k % n > k / n { 0.0 } else { (k as f64).cos() }).collect();
        let value = |a: &[f64]| {
            let mut l = vec![0.0; n * n];
            cholesky(a, n, &mut l).expect("positive definite");
            dot(&l, &weights)
        };
        let mut l = vec![0.0; n * n];
        cholesky(&a, n, &mut l).expect("positive definite");
        let mut f = weights.clone();
        cholesky_reverse(&l, n, &mut f, &mut vec![0.0; 2 * n]);
        for k in 0..n * n {
            let at = |by: f64| {
                let mut moved = a.clone();
                moved[k] += by;
                value(&moved)
            };
            let wanted = (at(1e-5) - at(-1e-5)) / 2e-5;
            assert!((f[k] - wanted).abs() < 1e-8, "{k}: {}, {wanted}", f[k]);
        }
    }

    #[test]
    fn solutions_solve() {
        let (n, m) = (5, 3);
        let mut l = vec![0.0; n * n];
        cholesky(&matrix(n), n, &mut l).expect("positive definite");
        let b: Vec<f64> = (0..n * m).map(|k| (k as f64).sin()).collect();
        let (mut x, mut y) = (b.clone(), b.clone());
        solve_lower(&l, n, m, &mut x);
        solve_lower_transposed(&l, n, m, &mut y);
        for i in 0..n {
            for c in 0..m {
                let lx: f64 = (0..n).map(|p| l[i * n + p] * x[p * m + c]).sum();
                let ly: f64 = (0..n).map(|p| l[p * n + i] * y[p * m + c]).sum();
                assert!((lx - b[i * m + c]).abs() < 1e-13 && (ly - b[i * m + c]).abs() < 1e-13);
            }
        }
    }
}
