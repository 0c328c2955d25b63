//! Constraints that tie the elements of a parameter together: how free coordinates become such an array, and back.
//!
//! One piece has `k` elements along its last axis. The log Jacobian is that of the independent elements: the first
//! k - 1 of a simplex, all of an ordered vector, those below the diagonal of a correlation factor.
//!
//! * Simplex: x = softmax(V u) with the orthonormal Helmert basis V of the vectors that sum to zero (isometric log
//!   ratios; Egozcue et al. 2003). log J = log(k)/2 + sum log x.
//! * Ordered: x_1 = u_1, x_i = x_{i-1} + exp(u_i). log J = u_2 + ... + u_k; a positive one starts with exp(u_1).
//! * Correlation factor: row i holds canonical partial correlations z = tanh(u), l_ij = z_ij sqrt(1 - sum_{m<j} l_im^2),
//!   and the diagonal makes every row of length one (Lewandowski, Kurowicka & Joe 2009).

use serde::{Deserialize, Serialize};
use std::f64::consts::LN_2;

/// How far a sum that must be one may be from it.
pub const UNIT_TOLERANCE: f64 = 1e-8;

/// What the elements of a parameter must satisfy together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Constraint {
    /// Positive numbers that sum to one.
    Simplex,
    /// Each number above the one before it.
    Ordered,
    /// The same, and the first above zero.
    PositiveOrdered,
    /// The lower triangular Cholesky factor of a correlation matrix.
    CorrCholesky,
}

impl Constraint {
    /// All of them, in the order of the book.
    pub const ALL: [Constraint; 4] =
        [Constraint::Simplex, Constraint::Ordered, Constraint::PositiveOrdered, Constraint::CorrCholesky];

    /// Its word in the language.
    pub fn name(self) -> &'static str {
        match self {
            Constraint::Simplex => "simplex",
            Constraint::Ordered => "ordered",
            Constraint::PositiveOrdered => "positive_ordered",
            Constraint::CorrCholesky => "corr_cholesky",
        }
    }

    /// What it asks for, in words.
    pub fn describe(self) -> &'static str {
        match self {
            Constraint::Simplex => "positive numbers that sum to one",
            Constraint::Ordered => "numbers in increasing order",
            Constraint::PositiveOrdered => "positive numbers in increasing order",
            Constraint::CorrCholesky => "the lower triangular Cholesky factor of a correlation matrix",
        }
    }

    /// The constraint of that word.
    pub fn find(name: &str) -> Option<Constraint> {
        Constraint::ALL.into_iter().find(|c| c.name() == name)
    }

    /// `true` when a piece is a square matrix and not a vector.
    pub fn is_matrix(self) -> bool {
        self == Constraint::CorrCholesky
    }

    /// Free coordinates of one piece.
    pub fn free(self, k: usize) -> usize {
        match self {
            Constraint::Simplex => k.saturating_sub(1),
            Constraint::Ordered | Constraint::PositiveOrdered => k,
            Constraint::CorrCholesky => k * k.saturating_sub(1) / 2,
        }
    }

    /// Elements of one piece.
    pub fn elements(self, k: usize) -> usize {
        if self.is_matrix() { k * k } else { k }
    }

    /// Writes the elements that belong to the free coordinates `u` and returns the log Jacobian.
    pub fn constrain(self, k: usize, u: &[f64], x: &mut [f64]) -> f64 {
        match self {
            Constraint::Simplex => softmax_of_helmert(u, x),
            Constraint::Ordered | Constraint::PositiveOrdered => {
                let mut log_jacobian = 0.0;
                let mut last = 0.0;
                for (i, (x, &u)) in x.iter_mut().zip(u).enumerate() {
                    if i == 0 && self == Constraint::Ordered {
                        last = u;
                    } else {
                        last += u.exp();
                        log_jacobian += u;
                    }
                    *x = last;
                }
                log_jacobian
            }
            Constraint::CorrCholesky => correlation_factor(k, u, x),
        }
    }

    /// Adds to `gu` the derivative in `u` of a function whose derivatives in the elements are `g` and in the log
    /// Jacobian `g_jacobian`; `x` are the elements at `u`.
    pub fn add_adjoint(self, k: usize, u: &[f64], x: &[f64], g: &[f64], g_jacobian: f64, gu: &mut [f64]) {
        match self {
            Constraint::Simplex => {
                let inner: f64 = g.iter().zip(x).map(|(g, x)| g * x).sum();
                let slope = |i: usize| x[i] * (g[i] - inner - g_jacobian * k as f64);
                let mut sum = 0.0;
                for (j, gu) in gu.iter_mut().enumerate() {
                    sum += slope(j);
                    *gu += (sum - (j + 1) as f64 * slope(j + 1)) / helmert(j);
                }
            }
            Constraint::Ordered | Constraint::PositiveOrdered => {
                let mut later = 0.0;
                for (i, gu) in gu.iter_mut().enumerate().rev() {
                    later += g[i];
                    *gu += if i == 0 && self == Constraint::Ordered { later } else { later * u[i].exp() + g_jacobian };
                }
            }
            Constraint::CorrCholesky => {
                let mut row = 0;
                for i in 1..k {
                    let (x, g) = (&x[i * k..=i * k + i], &g[i * k..=i * k + i]);
                    // What the later elements of the row say about the length that is left for them.
                    let mut later = g[i] * x[i];
                    let mut log_left: f64 = 0.0;
                    for &u in &u[row..row + i] {
                        log_left += log_one_minus_square(u);
                    }
                    for j in (0..i).rev() {
                        let u = u[row + j];
                        let (z, own) = (u.tanh(), log_one_minus_square(u));
                        log_left -= own;
                        let slope = (0.5 * log_left + own).exp();
                        gu[row + j] += g[j] * slope - z * (later + g_jacobian * (1 + i - j) as f64);
                        later += g[j] * x[j];
                    }
                    row += i;
                }
            }
        }
    }

    /// The free coordinates of one piece.
    ///
    /// # Errors
    /// Why the elements are not of this kind.
    pub fn to_free(self, k: usize, x: &[f64]) -> Result<Vec<f64>, String> {
        if let Some(v) = x.iter().find(|v| !v.is_finite()) {
            return Err(format!("one element is {v}"));
        }
        match self {
            Constraint::Simplex => {
                let total: f64 = x.iter().sum();
                if let Some(v) = x.iter().find(|&&v| v <= 0.0) {
                    return Err(format!("one element is {v}, and all must be above 0"));
                }
                if (total - 1.0).abs() > UNIT_TOLERANCE {
                    return Err(format!("the elements sum to {total}, not to 1"));
                }
                let logs: Vec<f64> = x.iter().map(|v| v.ln()).collect();
                let mut sum = 0.0;
                let free = (0..k.saturating_sub(1)).map(|j| {
                    sum += logs[j];
                    (sum - (j + 1) as f64 * logs[j + 1]) / helmert(j)
                });
                Ok(free.collect())
            }
            Constraint::Ordered | Constraint::PositiveOrdered => {
                let mut free = Vec::with_capacity(k);
                let mut last = if self == Constraint::Ordered { f64::NEG_INFINITY } else { 0.0 };
                for &v in x {
                    if v <= last {
                        return Err(format!("{v} follows {last}, and must be above it"));
                    }
                    free.push(if last == f64::NEG_INFINITY { v } else { (v - last).ln() });
                    last = v;
                }
                Ok(free)
            }
            Constraint::CorrCholesky => {
                let mut free = Vec::with_capacity(self.free(k));
                for i in 0..k {
                    let row = &x[i * k..(i + 1) * k];
                    let length = row[..=i].iter().map(|v| v * v).sum::<f64>().sqrt();
                    if row[i + 1..].iter().any(|&v| v != 0.0) {
                        return Err(format!("row {} is not zero right of the diagonal", i + 1));
                    }
                    if row[i] <= 0.0 {
                        return Err(format!("the diagonal of row {} is {}, and must be above 0", i + 1, row[i]));
                    }
                    if (length - 1.0).abs() > UNIT_TOLERANCE {
                        return Err(format!("row {} has length {length}, not 1", i + 1));
                    }
                    // The length left after j elements is that of the elements behind them.
                    let tail = |j: usize| row[j..=i].iter().map(|v| v * v).sum::<f64>().sqrt();
                    free.extend((0..i).map(|j| (row[j] / tail(j + 1)).asinh()));
                }
                Ok(free)
            }
        }
    }
}

/// Length of the Helmert vector of coordinate `j`, (1, ..., 1, -(j + 1), 0, ...).
fn helmert(j: usize) -> f64 {
    (((j + 1) * (j + 2)) as f64).sqrt()
}

fn softmax_of_helmert(u: &[f64], x: &mut [f64]) -> f64 {
    let mut behind = 0.0;
    for i in (0..x.len()).rev() {
        let own = if i == 0 { 0.0 } else { u[i - 1] / helmert(i - 1) };
        x[i] = behind - i as f64 * own;
        behind += own;
    }
    let largest = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let total: f64 = x.iter().map(|z| (z - largest).exp()).sum();
    let normaliser = largest + total.ln();
    let k = x.len() as f64;
    x.iter_mut().for_each(|z| *z = (*z - normaliser).exp());
    // The logs before normalisation sum to zero.
    0.5 * k.ln() - k * normaliser
}

/// log(1 - tanh(u)^2) without cancellation.
fn log_one_minus_square(u: f64) -> f64 {
    2.0 * (LN_2 - u.abs() - (-2.0 * u.abs()).exp().ln_1p())
}

fn correlation_factor(k: usize, u: &[f64], x: &mut [f64]) -> f64 {
    x.fill(0.0);
    let (mut log_jacobian, mut at) = (0.0, 0);
    for i in 0..k {
        let mut log_left: f64 = 0.0;
        for j in 0..i {
            let own = log_one_minus_square(u[at]);
            x[i * k + j] = u[at].tanh() * (0.5 * log_left).exp();
            log_jacobian += 0.5 * log_left + own;
            log_left += own;
            at += 1;
        }
        x[i * k + i] = (0.5 * log_left).exp();
    }
    log_jacobian
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::rng::{Purpose, stream};
    use rand::RngExt;

    /// Positions of the elements that the density is a function of.
    fn independent(c: Constraint, k: usize) -> Vec<usize> {
        match c {
            Constraint::Simplex => (0..k - 1).collect(),
            Constraint::Ordered | Constraint::PositiveOrdered => (0..k).collect(),
            Constraint::CorrCholesky => (0..k).flat_map(|i| (0..i).map(move |j| i * k + j)).collect(),
        }
    }

    fn at(c: Constraint, k: usize, u: &[f64]) -> (Vec<f64>, f64) {
        let mut x = vec![f64::NAN; c.elements(k)];
        let log_jacobian = c.constrain(k, u, &mut x);
        (x, log_jacobian)
    }

    /// log |det A| by elimination with pivoting.
    fn log_abs_det(mut a: Vec<Vec<f64>>) -> f64 {
        let n = a.len();
        let mut total = 0.0;
        for c in 0..n {
            let p = (c..n).max_by(|&i, &j| a[i][c].abs().total_cmp(&a[j][c].abs())).unwrap();
            a.swap(c, p);
            total += a[c][c].abs().ln();
            for r in c + 1..n {
                let f = a[r][c] / a[c][c];
                let pivot = a[c].clone();
                a[r].iter_mut().zip(pivot).for_each(|(v, p)| *v -= f * p);
            }
        }
        total
    }

    fn for_points(mut check: impl FnMut(Constraint, usize, &[f64])) {
        let mut rng = stream(4, 0, Purpose::Prediction);
        for c in Constraint::ALL {
            for k in 1..6 {
                for spread in [0.5, 2.5] {
                    let u: Vec<f64> = (0..c.free(k)).map(|_| rng.random_range(-spread..spread)).collect();
                    check(c, k, &u);
                }
            }
        }
    }

    fn difference(f: impl Fn(f64) -> f64) -> f64 {
        let h = 1e-3;
        (45.0 * (f(h) - f(-h)) - 9.0 * (f(2.0 * h) - f(-2.0 * h)) + f(3.0 * h) - f(-3.0 * h)) / (60.0 * h)
    }

    fn moved(u: &[f64], i: usize, h: f64) -> Vec<f64> {
        let mut u = u.to_vec();
        u[i] += h;
        u
    }

    #[test]
    fn the_log_jacobian_is_that_of_differences() {
        for_points(|c, k, u| {
            let free: Vec<usize> = independent(c, k);
            let matrix: Vec<Vec<f64>> = free
                .iter()
                .map(|&e| (0..u.len()).map(|i| difference(|h| at(c, k, &moved(u, i, h)).0[e])).collect())
                .collect();
            let (found, wanted) = (at(c, k, u).1, log_abs_det(matrix));
            assert!((found - wanted).abs() < 1e-8 * (1.0 + wanted.abs()), "{c:?} {k} {u:?}: {found} {wanted}");
        });
    }

    #[test]
    fn adjoints_are_differences() {
        for_points(|c, k, u| {
            let g: Vec<f64> = (0..c.elements(k)).map(|i| (1.3 * i as f64 + 0.4).sin()).collect();
            for g_jacobian in [0.0, -0.7] {
                let f = |u: &[f64]| {
                    let (x, j) = at(c, k, u);
                    x.iter().zip(&g).map(|(x, g)| x * g).sum::<f64>() + g_jacobian * j
                };
                let mut gu = vec![0.25; u.len()];
                c.add_adjoint(k, u, &at(c, k, u).0, &g, g_jacobian, &mut gu);
                for (i, found) in gu.iter().enumerate() {
                    let wanted = 0.25 + difference(|h| f(&moved(u, i, h)));
                    assert!((found - wanted).abs() < 1e-9 * (1.0 + wanted.abs()), "{c:?} {k} {i}: {found} {wanted}");
                }
            }
        });
    }

    #[test]
    fn elements_satisfy_the_constraint_and_return() {
        for_points(|c, k, u| {
            let (x, _) = at(c, k, u);
            let back = c.to_free(k, &x).unwrap();
            assert!(back.iter().zip(u).all(|(a, b)| (a - b).abs() < 1e-12 * (1.0 + b.abs())), "{c:?} {u:?} {back:?}");
            match c {
                Constraint::Simplex => {
                    assert!((x.iter().sum::<f64>() - 1.0).abs() < 1e-14 && x.iter().all(|&v| v > 0.0))
                }
                Constraint::Ordered => assert!(x.is_sorted_by(|a, b| a < b)),
                Constraint::PositiveOrdered => assert!(x[0] > 0.0 && x.is_sorted_by(|a, b| a < b)),
                Constraint::CorrCholesky => {
                    for i in 0..k {
                        let row = &x[i * k..(i + 1) * k];
                        assert!((row.iter().map(|v| v * v).sum::<f64>() - 1.0).abs() < 1e-14 && row[i] > 0.0);
                        assert!(row[i + 1..].iter().all(|&v| v == 0.0));
                    }
                }
            }
        });
    }

    #[test]
    fn a_simplex_has_the_basis_of_the_formula() {
        // Two elements: log(x_1 / x_2) = sqrt(2) u.
        let (x, j) = at(Constraint::Simplex, 2, &[0.9]);
        assert!(((x[0] / x[1]).ln() - 2f64.sqrt() * 0.9).abs() < 1e-14);
        assert!((j - (0.5 * 2f64.ln() + x[0].ln() + x[1].ln())).abs() < 1e-14);
        // Far out, the logs stay exact where the elements are gone.
        let (x, j) = at(Constraint::Simplex, 2, &[1000.0]);
        assert!(x[1] == 0.0 && (j + 1000.0 * 2f64.sqrt() - 0.5 * 2f64.ln()).abs() < 1e-9);
    }

    #[test]
    fn other_arrays_are_refused() {
        for (c, k, x) in [
            (Constraint::Simplex, 2, vec![0.5, 0.6]),
            (Constraint::Simplex, 2, vec![1.0, 0.0]),
            (Constraint::Ordered, 2, vec![1.0, 1.0]),
            (Constraint::Ordered, 2, vec![f64::NAN, 1.0]),
            (Constraint::PositiveOrdered, 2, vec![-1.0, 1.0]),
            (Constraint::CorrCholesky, 2, vec![1.0, 0.0, 0.5, 0.5]),
            (Constraint::CorrCholesky, 2, vec![1.0, 0.1, 0.6, 0.8]),
            (Constraint::CorrCholesky, 2, vec![1.0, 0.0, 0.6, -0.8]),
        ] {
            assert!(c.to_free(k, &x).is_err(), "{c:?} {x:?}");
        }
        assert!(Constraint::CorrCholesky.to_free(2, &[1.0, 0.0, 0.6, 0.8]).is_ok());
    }
}
