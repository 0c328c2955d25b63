//! The covariance of the latent path between nodes and its pull-back to the length scale.
//!
//! Matérn 3/2 with unit variance: k(d) = (1 + rho |d|) exp(-rho |d|), rho = sqrt(3) / length scale (Rasmussen &
//! Williams 2006, section 4.2.1). Its derivative is dk/d(length scale) = (rho d)^2 exp(-rho |d|) / (length scale).

/// Rows that share one exponential per column.
const STRIDE: usize = 16;

/// Inverse time constant of a Matérn 3/2 process.
pub(super) fn rate(length_scale: f64) -> f64 {
    3f64.sqrt() / length_scale
}

/// Covariance at distance `d >= 0`.
pub(super) fn matern32(rho: f64, d: f64) -> f64 {
    polynomial_times(rho * d, (-rho * d).exp())
}

/// (1 + x) e, and zero where e underflowed while x may have overflowed.
#[inline]
fn polynomial_times(x: f64, e: f64) -> f64 {
    if e == 0.0 { 0.0 } else { (1.0 + x) * e }
}

/// Fills the symmetric n x n covariance of ascending `times`.
///
/// exp(-rho (t_i - t_j)) = exp(-rho (t_i - a)) exp(-rho (a - t_j)) for an anchor a between the two, so one exponential
/// per column serves [`STRIDE`] rows; both factors are at most one, so nothing can overflow.
pub(super) fn fill(times: &[f64], rho: f64, within: &mut [f64], kernel: &mut [f64]) {
    let n = times.len();
    for (i, w) in within.iter_mut().enumerate() {
        *w = (-rho * (times[i] - times[i - i % STRIDE])).exp();
    }
    for (j, &t) in times.iter().enumerate() {
        let column = &mut kernel[j * n..(j + 1) * n];
        let first_anchor = (j / STRIDE + 1) * STRIDE;
        column[j] = 1.0;
        for i in j + 1..first_anchor.min(n) {
            column[i] = matern32(rho, times[i] - t);
        }
        let mut start = first_anchor;
        while start < n {
            let end = (start + STRIDE).min(n);
            let across = (-rho * (times[start] - t)).exp();
            for ((k, &u), &w) in column[start..end].iter_mut().zip(&times[start..end]).zip(&within[start..end]) {
                *k = polynomial_times(rho * (u - t), w * across);
            }
            start = end;
        }
    }
    mirror(kernel, n);
}

/// Copies the lower triangle of a column-major matrix onto the upper.
pub(super) fn mirror(matrix: &mut [f64], n: usize) {
    const TILE: usize = 32;
    for jt in (0..n).step_by(TILE) {
        for it in (jt..n).step_by(TILE) {
            for j in jt..(jt + TILE).min(n) {
                for i in it.max(j + 1)..(it + TILE).min(n) {
                    matrix[i * n + j] = matrix[j * n + i];
                }
            }
        }
    }
}

/// Derivative with respect to the length scale, given the derivative with respect to each kernel entry; only the
/// strict lower triangle of `adjoint` is read, each entry standing for both of its mirror images.
pub(super) fn pull_length_scale(times: &[f64], rho: f64, length_scale: f64, kernel: &[f64], adjoint: &[f64]) -> f64 {
    let n = times.len();
    let mut total = 0.0;
    for (j, &t) in times.iter().enumerate() {
        let mut lanes = [0.0; 4];
        let rows = j + 1..n;
        let (k, g, u) = (&kernel[j * n..][rows.clone()], &adjoint[j * n..][rows.clone()], &times[rows]);
        for ((k, g), u) in k.chunks(4).zip(g.chunks(4)).zip(u.chunks(4)) {
            for (((lane, &k), &g), &u) in lanes.iter_mut().zip(k).zip(g).zip(u) {
                let x = rho * (u - t);
                *lane += if k == 0.0 { 0.0 } else { g * k * (x * (x / (1.0 + x))) };
            }
        }
        total += (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
    }
    2.0 * total / length_scale
}
