//! Orthogonal triangularisation of a node's scaled loadings, row by row.
//!
//! D = sum w w' / v loses the directions whose weight is below rounding of the largest one. The triangle R of
//! W / sqrt(v) = Q R, D = R' R, keeps them, since its relative error is that of the loadings themselves. Rows are added
//! by Givens rotations (Golub & Van Loan 2013, section 5.2.5). R is packed so that entry (row k, column c >= k) lies
//! at c (c + 1) / 2 + k, where D and its Cholesky factor hold entry (c, k).

/// A diagonal entry below this share of its column's norm is rounding.
const RANK_TOLERANCE: f64 = 64.0 * f64::EPSILON;

fn at(k: usize, c: usize) -> usize {
    c * (c + 1) / 2 + k
}

/// Adds the equation `row` x = `value`, in which entries before `first` are zero, to R x = `rotated`.
/// `row` is used up.
pub(super) fn append(r: &mut [f64], rotated: &mut [f64], row: &mut [f64], mut value: f64, first: usize) {
    for k in first..row.len() {
        if row[k] == 0.0 {
            continue;
        }
        let diagonal = r[at(k, k)];
        let radius = diagonal.hypot(row[k]);
        let (cos, sin) = (diagonal / radius, row[k] / radius);
        for c in k..row.len() {
            let (above, below) = (r[at(k, c)], row[c]);
            r[at(k, c)] = cos * above + sin * below;
            row[c] = cos * below - sin * above;
        }
        (rotated[k], value) = (cos * rotated[k] + sin * value, cos * value - sin * rotated[k]);
    }
}

/// Empties the rows of R whose diagonal is rounding, folding the rest of such a row into the rows below it.
pub(super) fn drop_dependent(r: &mut [f64], rotated: &mut [f64], row: &mut Vec<f64>) {
    let factors = rotated.len();
    for k in 0..factors {
        let norm = (0..=k).map(|i| r[at(i, k)] * r[at(i, k)]).sum::<f64>().sqrt();
        if r[at(k, k)].abs() > RANK_TOLERANCE * norm {
            continue;
        }
        row.clear();
        row.resize(factors, 0.0);
        for c in k + 1..factors {
            row[c] = std::mem::take(&mut r[at(k, c)]);
        }
        r[at(k, k)] = 0.0;
        let value = std::mem::take(&mut rotated[k]);
        append(r, rotated, row, value, k + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R' R, packed.
    fn gram(r: &[f64], factors: usize) -> Vec<f64> {
        let mut out = Vec::new();
        for c in 0..factors {
            for a in 0..=c {
                out.push((0..=a).map(|k| r[at(k, a)] * r[at(k, c)]).sum());
            }
        }
        out
    }

    #[test]
    fn triangle_keeps_products_and_drops_dependent_columns() {
        // The second column is three times the first up to a part in 1e15; the third is free.
        let rows = [[1.0, 3.0, 0.5], [-2.0, -6.0, 1.5], [0.25, 0.75 + 1e-15, -1.0], [4.0, 12.0, 0.125]];
        let values = [0.5, -1.0, 2.0, 0.75];
        let (mut r, mut rotated) = (vec![0.0; 6], vec![0.0; 3]);
        for (row, value) in rows.iter().zip(values) {
            append(&mut r, &mut rotated, &mut row.to_vec(), value, 0);
        }
        drop_dependent(&mut r, &mut rotated, &mut Vec::new());
        assert_eq!((r[at(1, 1)], r[at(1, 2)], rotated[1]), (0.0, 0.0, 0.0));
        assert!(r[at(2, 2)].abs() > 0.5);
        let mut expected = Vec::new();
        for c in 0..3 {
            for a in 0..=c {
                expected.push(rows.iter().map(|w| w[a] * w[c]).sum::<f64>());
            }
        }
        for (a, b) in gram(&r, 3).iter().zip(&expected) {
            assert!((a - b).abs() < 1e-12 * expected[2], "{a} against {b}");
        }
        // R' (Q' y) = W' y.
        for c in 0..3 {
            let got: f64 = (0..=c).map(|k| r[at(k, c)] * rotated[k]).sum();
            let wanted: f64 = rows.iter().zip(values).map(|(w, y)| w[c] * y).sum();
            assert!((got - wanted).abs() < 1e-12, "{got} against {wanted}");
        }
    }
}
