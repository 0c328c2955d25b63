//! The little dense algebra that the normal distributions of vectors need, on row-major slices.

use super::Pivot;

/// The lower triangular L with L L' = A; the rest of `l` becomes zero.
///
/// # Errors
/// The first pivot that is not a positive number.
pub(super) fn cholesky(a: &[f64], k: usize, l: &mut [f64]) -> Result<(), Pivot> {
    l.fill(0.0);
    for i in 0..k {
        for j in 0..=i {
            let dot: f64 = (0..j).map(|m| l[i * k + m] * l[j * k + m]).sum();
            let left = a[i * k + j] - dot;
            if i > j {
                l[i * k + j] = left / l[j * k + j];
            } else if left > 0.0 && left < f64::INFINITY {
                l[i * k + i] = left.sqrt();
            } else {
                return Err(Pivot { index: i, size: k, value: left });
            }
        }
    }
    Ok(())
}

/// L^-1 y in place.
pub(super) fn solve_lower(l: &[f64], k: usize, y: &mut [f64]) {
    for i in 0..k {
        let dot: f64 = l[i * k..i * k + i].iter().zip(&*y).map(|(l, y)| l * y).sum();
        y[i] = (y[i] - dot) / l[i * k + i];
    }
}

/// L'^-1 y in place.
pub(super) fn solve_upper(l: &[f64], k: usize, y: &mut [f64]) {
    for i in (0..k).rev() {
        y[i] /= l[i * k + i];
        let own = y[i];
        for (y, l) in y[..i].iter_mut().zip(&l[i * k..i * k + i]) {
            *y -= l * own;
        }
    }
}

/// Adds `scale` times (L L')^-1 to `out`, with a column of memory.
pub(super) fn add_inverse(l: &[f64], k: usize, scale: f64, column: &mut [f64], out: &mut [f64]) {
    for j in 0..k {
        column.fill(0.0);
        column[j] = 1.0;
        solve_lower(l, k, column);
        solve_upper(l, k, column);
        for (i, v) in column.iter().enumerate() {
            out[i * k + j] += scale * v;
        }
    }
}

/// Whether a matrix is symmetric up to rounding, relative to its diagonal.
pub(super) fn is_symmetric(a: &[f64], k: usize) -> bool {
    (0..k).all(|i| {
        (0..i).all(|j| {
            let scale = (a[i * k + i] * a[j * k + j]).abs().sqrt();
            (a[i * k + j] - a[j * k + i]).abs() <= 1e-8 * scale
        })
    })
}
