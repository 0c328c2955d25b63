//! Ridge regression with its strength chosen by generalised cross-validation (Golub, Heath & Wahba 1979,
//! Technometrics 21).

use faer::{Mat, MatRef, Side};

/// Smallest and largest strength that is tried, relative to the mean squared column, and the number of steps between.
const GRID: (f64, f64, usize) = (1e-4, 1e4, 33);

/// A fitted linear predictor.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Ridge {
    pub intercept: f64,
    /// One per column.
    pub coefficients: Vec<f64>,
    /// The chosen strength.
    pub strength: f64,
}

/// For every target y of `ys`: minimises sum (y - a - X b)^2 + strength |b|^2 over a and b, with the strength that
/// generalised cross-validation prefers; `x` is rows x `columns`, row-major, and every y has as many entries as X has
/// rows. Without columns, or where they are all constant, the mean is left.
pub(super) fn ridge(x: &[f64], columns: usize, ys: &[Vec<f64>]) -> Vec<Ridge> {
    let n = ys.first().map_or(0, Vec::len);
    let mean = |v: &mut dyn Iterator<Item = f64>| v.sum::<f64>() / n as f64;
    let centre: Vec<f64> = (0..columns).map(|c| mean(&mut x.iter().skip(c).step_by(columns).copied())).collect();
    let scale = (0..n * columns).map(|i| (x[i] - centre[i % columns]).powi(2)).sum::<f64>() / columns.max(1) as f64;
    let centred: Vec<f64> = x.iter().enumerate().map(|(i, v)| v - centre[i % columns]).collect();
    let spectrum = (columns > 0 && n > 1 && scale > 0.0).then(|| Spectrum::new(&centred, n, columns)).flatten();
    ys.iter()
        .map(|y| {
            let intercept = mean(&mut y.iter().copied());
            let Some(spectrum) = &spectrum else {
                return Ridge { intercept, coefficients: vec![0.0; columns], strength: f64::INFINITY };
            };
            let y: Vec<f64> = y.iter().map(|v| v - intercept).collect();
            let turned = spectrum.turn(&y);
            let strength = spectrum.best(&turned, &y, scale);
            let coefficients = spectrum.coefficients(&turned, strength);
            let shift: f64 = centre.iter().zip(&coefficients).map(|(m, b)| m * b).sum();
            Ridge { intercept: intercept - shift, coefficients, strength }
        })
        .collect()
}

/// X'X = V S V', or XX' = U S U' where that is the smaller; eigenvalues that are zero do not mind a ridge.
struct Spectrum<'x> {
    x: MatRef<'x, f64>,
    values: Vec<f64>,
    vectors: Mat<f64>,
    dual: bool,
}

impl<'x> Spectrum<'x> {
    fn new(centred: &'x [f64], n: usize, columns: usize) -> Option<Self> {
        let x = MatRef::from_row_major_slice(centred, n, columns);
        let dual = n < columns;
        let gram = if dual { x * x.transpose() } else { x.transpose() * x };
        let eigen = gram.self_adjoint_eigen(Side::Lower).ok()?;
        let values = (0..gram.nrows()).map(|i| eigen.S()[i].max(0.0)).collect();
        Some(Spectrum { x, values, vectors: eigen.U().to_owned(), dual })
    }

    /// V'X'y, or U'y.
    fn turn(&self, y: &[f64]) -> Vec<f64> {
        let y = MatRef::from_column_major_slice(y, y.len(), 1);
        let turned =
            if self.dual { self.vectors.transpose() * y } else { self.vectors.transpose() * (self.x.transpose() * y) };
        (0..turned.nrows()).map(|i| turned[(i, 0)]).collect()
    }

    /// The strength with the lowest generalised score; among equals the largest, which is the simplest.
    fn best(&self, turned: &[f64], y: &[f64], scale: f64) -> f64 {
        let total: f64 = y.iter().map(|v| v * v).sum();
        let score = |strength: f64| {
            let (mut residual, mut freedom) = (total, 1.0);
            for (value, t) in self.values.iter().zip(turned) {
                let explained = if self.dual { value * t * t } else { t * t };
                let held = value + strength;
                residual += explained * (value / held - 2.0) / held;
                freedom += value / held;
            }
            // Where the fit is exact, one degree of freedom keeps the score defined.
            residual.max(0.0) / (y.len() as f64 - freedom).max(1.0).powi(2)
        };
        let (low, high, steps) = GRID;
        let strengths = (0..steps).map(|i| scale * low * (high / low).powf(i as f64 / (steps - 1) as f64));
        strengths.rev().min_by(|a, b| score(*a).total_cmp(&score(*b))).unwrap_or(scale)
    }

    fn coefficients(&self, turned: &[f64], strength: f64) -> Vec<f64> {
        let shrunk: Vec<f64> = self.values.iter().zip(turned).map(|(v, t)| t / (v + strength)).collect();
        let shrunk = MatRef::from_column_major_slice(&shrunk, self.values.len(), 1);
        let inner = &self.vectors * shrunk;
        let b = if self.dual { self.x.transpose() * &inner } else { inner };
        (0..b.nrows()).map(|i| b[(i, 0)]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(n: usize, columns: usize) -> (Vec<f64>, Vec<f64>) {
        let noise = |i: usize| ((i * 7919) as f64 * 0.618).sin();
        let x: Vec<f64> = (0..n * columns).map(|i| noise(i) + 2.0).collect();
        let y = (0..n)
            .map(|t| {
                3.0 + (0..columns).map(|c| (c as f64 - 1.0) * x[t * columns + c]).sum::<f64>() + 0.3 * noise(t + 5000)
            })
            .collect();
        (x, y)
    }

    /// Value and gradient of the penalised squares in (a, b), written out.
    fn gradient(x: &[f64], columns: usize, y: &[f64], r: &Ridge) -> Vec<f64> {
        let mut g = vec![0.0; columns + 1];
        for (t, y) in y.iter().enumerate() {
            let row = &x[t * columns..(t + 1) * columns];
            let e = y - r.intercept - row.iter().zip(&r.coefficients).map(|(x, b)| x * b).sum::<f64>();
            g[0] -= 2.0 * e;
            row.iter().enumerate().for_each(|(c, x)| g[c + 1] -= 2.0 * e * x);
        }
        r.coefficients.iter().enumerate().for_each(|(c, b)| g[c + 1] += 2.0 * r.strength * b);
        g
    }

    #[test]
    fn the_gradient_vanishes_with_more_and_with_fewer_rows_than_columns() {
        for (n, columns) in [(60, 3), (8, 20), (40, 1)] {
            let (x, y) = made(n, columns);
            let r = &ridge(&x, columns, std::slice::from_ref(&y))[0];
            let size: f64 = y.iter().map(|v| v.abs()).sum();
            assert!(gradient(&x, columns, &y, r).iter().all(|g| g.abs() < 1e-9 * size), "{n} {columns}");
        }
    }

    /// Leave-one-out errors by refitting with the strength fixed, the slow way, agree with what the grid prefers: no
    /// neighbour on the grid has a lower generalised score, computed from the hat matrix by solving each row's system.
    #[test]
    fn the_strength_has_the_lowest_generalised_score() {
        let (n, columns) = (12, 4);
        let (x, y) = made(n, columns);
        let r = &ridge(&x, columns, std::slice::from_ref(&y))[0];
        let mean: f64 = y.iter().sum::<f64>() / n as f64;
        let centre: Vec<f64> =
            (0..columns).map(|c| (0..n).map(|t| x[t * columns + c]).sum::<f64>() / n as f64).collect();
        let at = |t: usize, c: usize| x[t * columns + c] - centre[c];
        let score = |strength: f64| {
            // (X'X + s I)^-1 X' by Gauss-Jordan.
            let width = columns + n;
            let mut a = vec![0.0; columns * width];
            for i in 0..columns {
                for j in 0..columns {
                    a[i * width + j] = (0..n).map(|t| at(t, i) * at(t, j)).sum::<f64>();
                }
                a[i * width + i] += strength;
                (0..n).for_each(|t| a[i * width + columns + t] = at(t, i));
            }
            for p in 0..columns {
                let pivot = a[p * width + p];
                (0..width).for_each(|j| a[p * width + j] /= pivot);
                for i in (0..columns).filter(|i| *i != p) {
                    let factor = a[i * width + p];
                    (0..width).for_each(|j| a[i * width + j] -= factor * a[p * width + j]);
                }
            }
            let hat = |t: usize, u: usize| (0..columns).map(|c| at(t, c) * a[c * width + columns + u]).sum::<f64>();
            let residual: f64 =
                (0..n).map(|t| (y[t] - mean - (0..n).map(|u| hat(t, u) * (y[u] - mean)).sum::<f64>()).powi(2)).sum();
            let freedom = 1.0 + (0..n).map(|t| hat(t, t)).sum::<f64>();
            residual / (n as f64 - freedom).max(1.0).powi(2)
        };
        let step = (GRID.1 / GRID.0).powf(1.0 / (GRID.2 - 1) as f64);
        assert!(score(r.strength) <= score(r.strength * step) && score(r.strength) <= score(r.strength / step));
    }

    #[test]
    fn nothing_to_learn_from_leaves_the_mean() {
        let y = vec![1.0, 2.0, 6.0];
        for (x, columns) in [(vec![], 0), (vec![4.0; 6], 2)] {
            let r = &ridge(&x, columns, std::slice::from_ref(&y))[0];
            assert_eq!((r.intercept, &r.coefficients), (3.0, &vec![0.0; columns]));
        }
    }
}
