//! Rows of the observation operator H: what a stream shows, at one time, of a latent that is piecewise linear on a grid.

use std::fmt::Debug;
use std::ops::Range;

/// A regular grid of latent nodes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Grid {
    /// Time of node 0 in seconds.
    pub start: f64,
    /// Seconds between neighbouring nodes.
    pub step: f64,
    /// Number of nodes, at least 2.
    pub nodes: usize,
}

impl Grid {
    /// Time of node `i` in seconds.
    pub fn time(&self, i: usize) -> f64 {
        self.start + self.step * i as f64
    }

    /// Time of the last node in seconds; it may lie behind the run's domain.
    pub fn last(&self) -> f64 {
        self.time(self.nodes - 1)
    }

    /// The cell that holds `t` and the weight of its right node. Times outside the grid count as its nearer end.
    pub fn locate(&self, t: f64) -> (usize, f64) {
        let t = t.clamp(self.start, self.last());
        let mut cell = (((t - self.start) / self.step) as usize).min(self.nodes - 2);
        if cell + 2 < self.nodes && self.time(cell + 1) <= t {
            cell += 1;
        } else if self.time(cell) > t {
            cell -= 1;
        }
        (cell, (t - self.time(cell)) / self.step)
    }
}

/// A response as the gridded objective needs it.
pub trait ObservationRows: Debug + Send + Sync {
    /// Smallest and largest lag in seconds that any admissible parameter value reaches.
    fn envelope(&self) -> (f64, f64);

    /// Appends to `weights` the row of H at time `t` as weights on consecutive nodes and returns the first of these nodes.
    fn row(&self, t: f64, grid: &Grid, weights: &mut Vec<f64>) -> usize;
}

/// Whether a response with envelope [lo, hi] may use a row at `t`: the latent it looks at, t - hi to t - lo, must lie in
/// the domain and on the grid.
pub(super) fn eligible(t: f64, (lo, hi): (f64, f64), (a, b): (f64, f64), grid: &Grid) -> bool {
    let (first, last) = (grid.start, grid.last());
    let slack = 1e-10 * 1f64.max(first.abs()).max(last.abs());
    t - hi >= first - slack && t - lo <= last + slack && t - hi >= a - 1e-10 && t - lo <= b + 1e-10
}

/// Rows of H of one stream or several, each a run of weights on consecutive nodes.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Rows {
    first: Vec<usize>,
    bounds: Vec<usize>,
    weights: Vec<f64>,
}

impl Rows {
    /// Appends the row of `response` at `t`.
    pub fn push(&mut self, response: &dyn ObservationRows, t: f64, grid: &Grid) {
        if self.bounds.is_empty() {
            self.bounds.push(0);
        }
        self.first.push(response.row(t, grid, &mut self.weights));
        self.bounds.push(self.weights.len());
    }

    /// Appends a row that begins at node `first`.
    pub fn push_weights(&mut self, first: usize, weights: &[f64]) {
        if self.bounds.is_empty() {
            self.bounds.push(0);
        }
        self.first.push(first);
        self.weights.extend_from_slice(weights);
        self.bounds.push(self.weights.len());
    }

    /// First node and weights of row `t`.
    #[inline]
    pub fn row(&self, t: usize) -> (usize, &[f64]) {
        (self.first[t], &self.weights[self.bounds[t]..self.bounds[t + 1]])
    }

    /// The largest number of nodes between the first and the last of any row.
    pub fn span(&self) -> usize {
        self.bounds.windows(2).map(|w| (w[1] - w[0]).saturating_sub(1)).max().unwrap_or(0)
    }

    /// `y` (row-major, `factors` wide, first row is `rows.start`) becomes H z for the rows of one run, `z` node-major.
    pub fn apply(&self, rows: Range<usize>, factors: usize, z: &[f64], y: &mut [f64]) {
        for (t, out) in rows.zip(y.chunks_exact_mut(factors)) {
            out.fill(0.0);
            let (first, weights) = self.row(t);
            for (node, h) in z[first * factors..].chunks_exact(factors).zip(weights) {
                for (o, v) in out.iter_mut().zip(node) {
                    *o += h * v;
                }
            }
        }
    }
}
