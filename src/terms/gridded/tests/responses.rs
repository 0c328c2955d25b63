//! Slow responses for the golden fits: rows of H by quadrature of the definition.

use super::super::observation::{Grid, ObservationRows};

/// exp(-u^2 / (2 width^2)) about `lag`, over six widths on both sides, with unit L2 norm.
#[derive(Debug, Clone, Copy)]
pub struct Gaussian {
    pub width: f64,
    pub lag: f64,
    pub envelope: (f64, f64),
}

/// Gamma density of shape 3 behind `lag`, cut at its 1 - 1e-8 quantile, with unit L2 norm.
#[derive(Debug, Clone, Copy)]
pub struct Gamma3 {
    pub scale: f64,
    pub lag: f64,
    pub envelope: (f64, f64),
}

/// Quantile 1 - 1e-8 of the unit gamma distribution of shape 3, by bisection.
pub fn gamma3_end() -> f64 {
    let (mut a, mut b) = (0.0f64, 100.0f64);
    for _ in 0..200 {
        let x = 0.5 * (a + b);
        if (-x).exp() * (1.0 + x + 0.5 * x * x) > 1e-8 {
            a = x;
        } else {
            b = x;
        }
    }
    0.5 * (a + b)
}

/// Nodes and weights of Gauss-Legendre rules on [-1, 1].
const RULE_3: [(f64, f64); 3] =
    [(-0.774_596_669_241_483_4, 5.0 / 9.0), (0.0, 8.0 / 9.0), (0.774_596_669_241_483_4, 5.0 / 9.0)];

/// Adds weight * k(u) at every quadrature point to the two nodes around t - u.
fn quadrature(t: f64, grid: &Grid, points: &[f64], k: impl Fn(f64) -> f64, out: &mut [f64]) {
    for piece in points.windows(2) {
        let (middle, half) = (0.5 * (piece[0] + piece[1]), 0.5 * (piece[1] - piece[0]));
        for (x, w) in RULE_3 {
            let u = middle + half * x;
            let mass = half * w * k(u);
            let (cell, right) = grid.locate(t - u);
            out[cell] += (1.0 - right) * mass;
            out[cell + 1] += right * mass;
        }
    }
}

/// Break points: the ends, the lags of all nodes between, and `extra` equal parts.
fn breaks(t: f64, grid: &Grid, (lo, hi): (f64, f64), extra: usize) -> Vec<f64> {
    let nodes = (0..grid.nodes).map(|i| t - grid.time(i));
    let mut points: Vec<f64> = nodes.filter(|u| lo < *u && *u < hi).collect();
    points.extend((0..=extra).map(|i| lo + (hi - lo) * i as f64 / extra as f64));
    points.sort_by(f64::total_cmp);
    points.dedup();
    points
}

fn emit(dense: &[f64], weights: &mut Vec<f64>) -> usize {
    let first = dense.iter().position(|v| *v != 0.0).unwrap_or(0);
    let last = dense.iter().rposition(|v| *v != 0.0).unwrap_or(0);
    weights.extend_from_slice(&dense[first..=last]);
    first
}

impl ObservationRows for Gaussian {
    fn envelope(&self) -> (f64, f64) {
        self.envelope
    }

    fn row(&self, t: f64, grid: &Grid, weights: &mut Vec<f64>) -> usize {
        let norm = (std::f64::consts::PI.sqrt() * self.width).sqrt();
        let support = (self.lag - 6.0 * self.width, self.lag + 6.0 * self.width);
        let mut dense = vec![0.0; grid.nodes];
        let k = |u: f64| (-0.5 * ((u - self.lag) / self.width).powi(2)).exp() / norm;
        let points = breaks(t, grid, support, 600);
        quadrature(t, grid, &points, k, &mut dense);
        emit(&dense, weights)
    }
}

impl ObservationRows for Gamma3 {
    fn envelope(&self) -> (f64, f64) {
        self.envelope
    }

    fn row(&self, t: f64, grid: &Grid, weights: &mut Vec<f64>) -> usize {
        let s = self.scale;
        let norm = (6.0 / (32.0 * s)).sqrt();
        let support = (self.lag, self.lag + s * gamma3_end());
        let parts = ((support.1 - support.0) / (0.5 * s)).ceil() as usize;
        let mut dense = vec![0.0; grid.nodes];
        let k = |u: f64| {
            let v = (u - self.lag).max(0.0);
            v * v * (-v / s).exp() / (2.0 * s.powi(3)) / norm
        };
        let points = breaks(t, grid, support, parts.max(1));
        quadrature(t, grid, &points, k, &mut dense);
        emit(&dense, weights)
    }
}
