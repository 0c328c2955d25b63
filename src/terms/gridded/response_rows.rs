//! The rows of H of a response curve on a grid of linear pieces, and their derivatives in its parameters.
//!
//! Between two nodes the latent is linear, so a cell adds the curve's integral against the falling line to its left node
//! and against the rising line to its right node ([`Curve::spread`]). Behind the ends of the grid the latent stays as it is there.

use super::observation::{Grid, ObservationRows};
use crate::response::{Curve, Response, ResponseError};

/// A response with fixed parameters as the gridded objective needs it.
#[derive(Debug, Clone)]
pub struct ResponseRows {
    /// `None` is the identity.
    curve: Option<Curve>,
    envelope: (f64, f64),
}

impl ResponseRows {
    /// The rows of a response whose parameters are fixed: the support decides which times are usable.
    ///
    /// # Errors
    /// Those of [`Curve::new`].
    pub fn new(response: &Response) -> Result<Self, ResponseError> {
        ResponseRows::with_envelope(response, response.support())
    }

    /// The rows of a response whose usable times are decided by `envelope`, the smallest and largest lag that its
    /// parameters may reach ([`Response::envelope`]).
    ///
    /// # Errors
    /// Those of [`Curve::new`].
    pub fn with_envelope(response: &Response, envelope: (f64, f64)) -> Result<Self, ResponseError> {
        Ok(ResponseRows { curve: Curve::new(response)?, envelope })
    }

    /// The rows of a stream that shows the latent itself.
    pub fn identity() -> Self {
        ResponseRows { curve: None, envelope: (0.0, 0.0) }
    }

    /// Number of parameters of the response.
    pub fn parameter_count(&self) -> usize {
        self.curve.as_ref().map_or(0, Curve::parameter_count)
    }

    /// The row at time `t` like [`ObservationRows::row`], with its derivatives: `gradients` holds one list per parameter,
    /// to each of which as many numbers are appended as to `weights`.
    pub fn row_gradient(&self, t: f64, grid: &Grid, weights: &mut Vec<f64>, gradients: &mut [Vec<f64>]) -> usize {
        let Some(curve) = &self.curve else {
            return identity_row(t, grid, weights);
        };
        let (first, count) = reach(curve, t, grid);
        let start = weights.len();
        weights.resize(start + count, 0.0);
        let starts: Vec<usize> = gradients.iter().map(Vec::len).collect();
        for g in gradients.iter_mut() {
            g.resize(g.len() + count, 0.0);
        }
        let mut slopes = vec![(0.0, 0.0); curve.parameter_count()];
        for_each_piece(curve, t, grid, |left, right, l, h| {
            let (at_l, at_h) = curve.spread_gradient(l, h, &mut slopes);
            weights[start + left - first] += at_h;
            weights[start + right - first] += at_l;
            for ((g, from), slope) in gradients.iter_mut().zip(&starts).zip(&slopes) {
                g[from + left - first] += slope.1;
                g[from + right - first] += slope.0;
            }
        });
        for (end, factors) in curve.moving_ends() {
            let (cell, right) = grid.locate(t - end);
            for ((g, from), factor) in gradients.iter_mut().zip(&starts).zip(&factors) {
                g[from + cell - first] += (1.0 - right) * factor;
                g[from + cell + 1 - first] += right * factor;
            }
        }
        first
    }
}

impl ObservationRows for ResponseRows {
    fn envelope(&self) -> (f64, f64) {
        self.envelope
    }

    fn row(&self, t: f64, grid: &Grid, weights: &mut Vec<f64>) -> usize {
        let Some(curve) = &self.curve else {
            return identity_row(t, grid, weights);
        };
        let (first, count) = reach(curve, t, grid);
        let start = weights.len();
        weights.resize(start + count, 0.0);
        for_each_piece(curve, t, grid, |left, right, l, h| {
            let (at_l, at_h) = curve.spread(l, h);
            weights[start + left - first] += at_h;
            weights[start + right - first] += at_l;
        });
        first
    }
}

fn identity_row(t: f64, grid: &Grid, weights: &mut Vec<f64>) -> usize {
    let (cell, right) = grid.locate(t);
    if right == 0.0 {
        weights.push(1.0);
        cell
    } else if right == 1.0 {
        weights.push(1.0);
        cell + 1
    } else {
        weights.extend([1.0 - right, right]);
        cell
    }
}

/// First node and number of nodes that the row at `t` touches.
fn reach(curve: &Curve, t: f64, grid: &Grid) -> (usize, usize) {
    let (lo, hi) = curve.support();
    let (first, _) = grid.locate(t - hi);
    let (last, _) = grid.locate(t - lo);
    (first, last + 2 - first)
}

/// Visits the pieces of the support over which the latent is linear: its left and right node, and the lags of the right
/// and the left end. Behind the ends of the grid both nodes are the same.
fn for_each_piece(curve: &Curve, t: f64, grid: &Grid, mut visit: impl FnMut(usize, usize, f64, f64)) {
    let (lo, hi) = curve.support();
    let (first, count) = reach(curve, t, grid);
    let (before, behind) = (t - grid.start, t - grid.last());
    if before < hi {
        visit(0, 0, before.max(lo), hi);
    }
    for left in first..first + count - 1 {
        visit(left, left + 1, t - grid.time(left + 1), t - grid.time(left));
    }
    if behind > lo {
        visit(grid.nodes - 1, grid.nodes - 1, lo, behind.min(hi));
    }
}
