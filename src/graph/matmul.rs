//! Small dense products over row-major slices, forward and reverse, in flat loops.

pub(super) use crate::math::dense::{axpy, dot};

/// `out = a @ b` with a `[m, k]`, b `[k, n]`.
pub(super) fn product(a: &[f64], b: &[f64], m: usize, k: usize, n: usize, out: &mut [f64]) {
    out.fill(0.0);
    if n == 1 && k > 0 {
        for (o, row) in out.iter_mut().zip(a.chunks_exact(k)) {
            *o = dot(row, b);
        }
        return;
    }
    for i in 0..m {
        let row = &mut out[i * n..(i + 1) * n];
        for p in 0..k {
            axpy(a[i * k + p], &b[p * n..(p + 1) * n], row);
        }
    }
}

/// `ga += g @ b'`
pub(super) fn add_left_adjoint(g: &[f64], b: &[f64], m: usize, k: usize, n: usize, ga: &mut [f64]) {
    for i in 0..m {
        for p in 0..k {
            ga[i * k + p] += dot(&g[i * n..(i + 1) * n], &b[p * n..(p + 1) * n]);
        }
    }
}

/// `gb += a' @ g`
pub(super) fn add_right_adjoint(a: &[f64], g: &[f64], m: usize, k: usize, n: usize, gb: &mut [f64]) {
    if n == 1 && k > 0 {
        for (row, &g) in a.chunks_exact(k).zip(g) {
            axpy(g, row, gb);
        }
        return;
    }
    for i in 0..m {
        for p in 0..k {
            axpy(a[i * k + p], &g[i * n..(i + 1) * n], &mut gb[p * n..(p + 1) * n]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_and_adjoints_match_naive_sums() {
        for (m, k, n) in [(3, 5, 1), (1, 7, 4), (4, 3, 2), (2, 0, 1)] {
            let a: Vec<f64> = (0..m * k).map(|i| (i as f64 * 0.7).sin()).collect();
            let b: Vec<f64> = (0..k * n).map(|i| (i as f64 * 1.3).cos()).collect();
            let g: Vec<f64> = (0..m * n).map(|i| 1.0 + i as f64).collect();
            let mut out = vec![9.0; m * n];
            product(&a, &b, m, k, n, &mut out);
            let (mut ga, mut gb) = (vec![0.5; m * k], vec![0.25; k * n]);
            add_left_adjoint(&g, &b, m, k, n, &mut ga);
            add_right_adjoint(&a, &g, m, k, n, &mut gb);
            for i in 0..m {
                for j in 0..n {
                    let naive: f64 = (0..k).map(|p| a[i * k + p] * b[p * n + j]).sum();
                    assert!((out[i * n + j] - naive).abs() < 1e-12);
                }
            }
            for i in 0..m {
                for p in 0..k {
                    let naive: f64 = (0..n).map(|j| g[i * n + j] * b[p * n + j]).sum();
                    assert!((ga[i * k + p] - 0.5 - naive).abs() < 1e-12);
                }
            }
            for p in 0..k {
                for j in 0..n {
                    let naive: f64 = (0..m).map(|i| a[i * k + p] * g[i * n + j]).sum();
                    assert!((gb[p * n + j] - 0.25 - naive).abs() < 1e-12);
                }
            }
        }
    }
}
