//! Products of small square matrices whose side is a multiple of four, in tiles of 4 x 4 kept in registers.
//!
//! Row-major, `side` x `side`; entries beyond the order of the system are zero. A matrix is block lower triangular where
//! nothing lies right of its 4 x 4 tiles on the diagonal; sums over what is known to be zero are left out.

use std::ops::Range;

/// Side of a tile.
pub(super) const TILE: usize = 4;

/// Smallest side that holds `order` rows.
pub(super) fn side(order: usize) -> usize {
    order.next_multiple_of(TILE)
}

/// What is known of the two factors of a product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// Nothing.
    Full,
    /// The left factor is lower triangular.
    LowerLeft,
    /// The left factor is upper triangular.
    UpperLeft,
    /// The right factor is lower triangular.
    LowerRight,
    /// The right factor is upper triangular.
    UpperRight,
    /// Both factors are lower triangular, and the product is.
    Lower,
}

impl Shape {
    fn terms(self, row: usize, column: usize, side: usize) -> Range<usize> {
        match self {
            Shape::Full => 0..side,
            Shape::LowerLeft => 0..row + TILE,
            Shape::UpperLeft => row..side,
            Shape::LowerRight => column..side,
            Shape::UpperRight => 0..column + TILE,
            Shape::Lower => column..row + TILE,
        }
    }
}

/// Which entries of a product are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    All,
    /// The product is symmetric: the upper tiles are copied from the lower ones.
    Symmetric,
}

/// `out` = `out` * `keep` + `scale` * `left` `right`, where `keep` is zero or one.
pub(super) fn multiply(
    out: &mut [f64],
    keep: bool,
    scale: f64,
    (left, right): (&[f64], &[f64]),
    side: usize,
    shape: Shape,
    part: Part,
) {
    for row in (0..side).step_by(TILE) {
        let last = if part == Part::Symmetric { row + TILE } else { side };
        for column in (0..last).step_by(TILE) {
            let terms = shape.terms(row, column, side);
            let tile =
                if terms.is_empty() { [[0.0; TILE]; TILE] } else { product(left, right, side, row, column, terms) };
            for (r, tile) in tile.iter().enumerate() {
                let out = &mut out[(row + r) * side + column..][..TILE];
                for (o, t) in out.iter_mut().zip(tile) {
                    *o = if keep { *o + scale * t } else { scale * t };
                }
            }
        }
    }
    if part == Part::Symmetric {
        for i in 0..side {
            for j in 0..i {
                out[j * side + i] = out[i * side + j];
            }
        }
    }
}

#[inline]
fn product(
    left: &[f64],
    right: &[f64],
    side: usize,
    row: usize,
    column: usize,
    terms: Range<usize>,
) -> [[f64; TILE]; TILE] {
    let rows = |r: usize| &left[(row + r) * side..][terms.clone()];
    let (r0, r1, r2, r3) = (rows(0), rows(1), rows(2), rows(3));
    let mut sums = [[0.0; TILE]; TILE];
    let right = right[terms.start * side..terms.end * side].chunks_exact(side);
    for ((((a0, a1), a2), a3), b) in r0.iter().zip(r1).zip(r2).zip(r3).zip(right) {
        let b = &b[column..column + TILE];
        for l in 0..TILE {
            sums[0][l] += a0 * b[l];
            sums[1][l] += a1 * b[l];
            sums[2][l] += a2 * b[l];
            sums[3][l] += a3 * b[l];
        }
    }
    sums
}

/// `out` = transpose of `matrix`.
pub(super) fn transpose(out: &mut [f64], matrix: &[f64], side: usize) {
    for (i, row) in matrix.chunks_exact(side).enumerate() {
        for (j, x) in row.iter().enumerate() {
            out[j * side + i] = *x;
        }
    }
}

/// y += a x.
pub(super) fn axpy(y: &mut [f64], a: f64, x: &[f64]) {
    for (y, x) in y.chunks_exact_mut(TILE).zip(x.chunks_exact(TILE)) {
        for (y, x) in y.iter_mut().zip(x) {
            *y += a * x;
        }
    }
}

/// Inner product.
pub(super) fn dot(x: &[f64], y: &[f64]) -> f64 {
    let mut sums = [0.0; TILE];
    for (x, y) in x.chunks_exact(TILE).zip(y.chunks_exact(TILE)) {
        for ((s, x), y) in sums.iter_mut().zip(x).zip(y) {
            *s += x * y;
        }
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3])
}

/// y += matrix x.
pub(super) fn add_product(y: &mut [f64], matrix: &[f64], x: &[f64], side: usize) {
    for (y, row) in y.iter_mut().zip(matrix.chunks_exact(side)) {
        *y += dot(row, x);
    }
}

/// y += matrix' x.
pub(super) fn add_transposed_product(y: &mut [f64], matrix: &[f64], x: &[f64], side: usize) {
    for (x, row) in x.iter().zip(matrix.chunks_exact(side)) {
        axpy(y, *x, row);
    }
}

/// matrix += x y'.
pub(super) fn add_outer(matrix: &mut [f64], scale: f64, x: &[f64], y: &[f64], side: usize) {
    for (x, row) in x.iter().zip(matrix.chunks_exact_mut(side)) {
        axpy(row, scale * x, y);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    fn zero_above(matrix: &mut [f64], side: usize, upper: bool) {
        for i in 0..side {
            for j in 0..side {
                let outside = if upper { i / TILE > j / TILE } else { i / TILE < j / TILE };
                if outside {
                    matrix[i * side + j] = 0.0;
                }
            }
        }
    }

    #[test]
    fn products_equal_the_naive_ones_for_every_shape() {
        let mut rng = ChaCha8Rng::seed_from_u64(4);
        for order in [1, 4, 7, 12, 13] {
            let side = side(order);
            let shapes =
                [Shape::Full, Shape::LowerLeft, Shape::UpperLeft, Shape::LowerRight, Shape::UpperRight, Shape::Lower];
            for shape in shapes {
                let mut draw = || -> Vec<f64> { (0..side * side).map(|_| rng.random::<f64>() - 0.5).collect() };
                let (mut a, mut b, before) = (draw(), draw(), draw());
                match shape {
                    Shape::Full => {}
                    Shape::LowerLeft => zero_above(&mut a, side, false),
                    Shape::UpperLeft => zero_above(&mut a, side, true),
                    Shape::LowerRight => zero_above(&mut b, side, false),
                    Shape::UpperRight => zero_above(&mut b, side, true),
                    Shape::Lower => {
                        zero_above(&mut a, side, false);
                        zero_above(&mut b, side, false);
                    }
                }
                for keep in [false, true] {
                    let mut out = before.clone();
                    multiply(&mut out, keep, -2.0, (&a, &b), side, shape, Part::All);
                    for i in 0..side {
                        for j in 0..side {
                            let sum: f64 = (0..side).map(|k| a[i * side + k] * b[k * side + j]).sum();
                            let wanted = if keep { before[i * side + j] } else { 0.0 } - 2.0 * sum;
                            assert!((out[i * side + j] - wanted).abs() < 1e-13, "{shape:?} {order} {i} {j}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn symmetric_products_are_symmetric_to_the_bit() {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let side = 12;
        let a: Vec<f64> = (0..side * side).map(|_| rng.random::<f64>() - 0.5).collect();
        let mut at = vec![0.0; side * side];
        transpose(&mut at, &a, side);
        let mut out = vec![0.0; side * side];
        multiply(&mut out, false, 1.0, (&a, &at), side, Shape::Full, Part::Symmetric);
        for i in 0..side {
            for j in 0..side {
                let wanted = dot(&a[i * side..(i + 1) * side], &a[j * side..(j + 1) * side]);
                assert!((out[i * side + j] - wanted).abs() < 1e-13);
                assert_eq!(out[i * side + j], out[j * side + i]);
            }
        }
    }

    #[test]
    fn vectors_meet_matrices() {
        let (matrix, x) = ((0..16).map(f64::from).collect::<Vec<_>>(), [1.0, -1.0, 2.0, 0.5]);
        let mut y = [1.0; 4];
        add_product(&mut y, &matrix, &x, 4);
        assert_eq!(y, [1.0 + 4.5, 1.0 + 14.5, 1.0 + 24.5, 1.0 + 34.5]);
        let mut y = [0.0; 4];
        add_transposed_product(&mut y, &matrix, &x, 4);
        assert_eq!(y, [18.0, 20.5, 23.0, 25.5]);
        let mut m = vec![0.0; 16];
        add_outer(&mut m, 2.0, &x, &x, 4);
        assert_eq!((m[1], m[10]), (-2.0, 8.0));
    }
}
