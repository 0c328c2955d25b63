//! Covariances of the latent path seen through two responses, C_ab(lag) = integral of k_a(u) k_b(v) kappa(lag - u + v), with
//! derivatives in the inverse time constant, the lag and every parameter.
//!
//! * identity and bells: closed form ([`bell`]);
//! * sums of exponentials times polynomials (gamma densities of integer shape, Bateman): exact chains ([`chain`]);
//! * one of those with a bell or any other curve: a chain fed by quadrature ([`sweep`]);
//! * the rest: quadrature ([`direct`]), of an [`interpolant`] where both curves are given by values.

mod bell;
mod chain;
mod direct;
mod form;
mod interpolant;
mod sweep;
#[cfg(test)]
pub(super) mod tests;

use bell::smoothed;
pub(super) use form::Form;
use form::Shape;
use sweep::Forcing;

/// Covariances at many lags, with derivatives where wanted.
#[derive(Debug, Clone, Default)]
pub(super) struct Table {
    /// Numbers per lag: the value alone, or the value and its derivatives in rho, in the lag, and in the parameters
    /// of either curve without its lag.
    count: usize,
    rows: Vec<f64>,
}

/// Derivatives of a weighted sum of covariances.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Pulled {
    pub in_rho: f64,
    /// In the parameters of either response, in the order of their families' tables.
    pub responses: [Vec<f64>; 2],
}

/// Numbers per lag of a table of `a` and `b`.
pub(super) fn table_width(a: &Form, b: &Form, slopes: bool) -> usize {
    if slopes { 3 + a.others + b.others } else { 1 }
}

/// Covariances of `a` at time s + lag with `b` at time s, for ascending `lags`.
pub(super) fn covariances(rho: f64, a: &Form, b: &Form, lags: &[f64], slopes: bool) -> Table {
    let shifted: Vec<f64> = lags.iter().map(|lag| lag - a.lag + b.lag).collect();
    unlagged(rho, a, b, &shifted, slopes)
}

fn unlagged(rho: f64, a: &Form, b: &Form, lags: &[f64], slopes: bool) -> Table {
    let count = table_width(a, b, slopes);
    let mut table = Table { count, rows: vec![0.0; lags.len() * count] };
    let others = [a.others, b.others];
    if let (Some((width_a, mass_a)), Some((width_b, mass_b))) = (a.as_bell(), b.as_bell()) {
        let mass = mass_a * mass_b;
        let variance = width_a * width_a + width_b * width_b;
        for (row, &lag) in table.rows.chunks_exact_mut(count).zip(lags) {
            let s = smoothed(rho, variance, lag);
            row[0] = mass * s.value;
            if slopes {
                (row[1], row[2]) = (mass * s.in_rho, mass * s.slope);
                let widths = [width_a, width_b].into_iter().filter(|w| *w > 0.0);
                for (r, w) in row[3..].iter_mut().zip(widths) {
                    *r = mass * (w * s.curvature + 0.5 * s.value / w);
                }
            }
        }
        return table;
    }
    match (&a.shape, &b.shape, Forcing::of(&a.shape)) {
        (Shape::Poles(p), Shape::Poles(q), _) => sweep::poles(rho, p, q, lags, others, &mut table.rows),
        (_, Shape::Poles(q), Some(forcing)) => sweep::forced(rho, &forcing, q, lags, others, &mut table.rows),
        (Shape::Curve(_), second, Some(forcing)) => {
            direct::direct(rho, &forcing, second, lags, others, &mut table.rows);
        }
        _ => {
            let reversed: Vec<f64> = lags.iter().rev().map(|lag| -lag).collect();
            table = unlagged(rho, b, a, &reversed, slopes);
            table.turn(b.others);
        }
    }
    table
}

impl Form {
    /// Width and mass where the curve is a bell; the identity is one of width zero.
    fn as_bell(&self) -> Option<(f64, f64)> {
        match &self.shape {
            Shape::Bell { width, mass } => Some((*width, *mass)),
            Shape::Poles(_) if self.parameters == 0 => Some((0.0, 1.0)),
            _ => None,
        }
    }
}

impl Table {
    /// The covariance at the lag of this index.
    pub fn value(&self, index: usize) -> f64 {
        self.rows[index * self.count]
    }

    /// Exchanges the two curves: lags change sign and order; the first curve had `first` parameters.
    fn turn(&mut self, first: usize) {
        let mut rows = Vec::with_capacity(self.rows.len());
        for row in self.rows.chunks_exact(self.count).rev() {
            rows.push(row[0]);
            if self.count > 1 {
                rows.extend([row[1], -row[2]]);
                rows.extend(&row[3 + first..]);
                rows.extend(&row[3..3 + first]);
            }
        }
        self.rows = rows;
    }

    /// Derivatives of the sum over lags of `weights` times covariances; the table must hold derivatives.
    pub fn pull(&self, a: &Form, b: &Form, weights: &[f64]) -> Pulled {
        let mut sums = vec![0.0; self.count];
        for (row, w) in self.rows.chunks_exact(self.count).zip(weights) {
            sums.iter_mut().zip(row).for_each(|(s, r)| *s += w * r);
        }
        let (first, second) = sums[3..].split_at(a.others);
        let mut responses = [first.to_vec(), second.to_vec()];
        for ((form, out), sign) in [a, b].into_iter().zip(&mut responses).zip([-1.0, 1.0]) {
            if form.parameters > form.others {
                out.push(sign * sums[2]);
            }
        }
        Pulled { in_rho: sums[1], responses }
    }
}
