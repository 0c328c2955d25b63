//! The passes over scalars: node statistics before the solve, residuals and their adjoint after it.
//!
//! Per node j: D_j = sum w w' / v and s_j = sum w (y - b) / v over its scalars. With the smoothed path mu and its
//! node covariances C, by Fisher's identity, d/dw = (e mu - C w) / v, d/db = e / v and
//! d/dv = -1/(2v) + (e^2 + w' C w) / (2 v^2), where e = y - b - w' mu.

use super::Adjoint;
use super::layout::{Block, LANES};
use super::triangle;

type Lanes = [f64; LANES];

/// Entries of a packed symmetric K x K matrix.
pub(super) fn packed(factors: usize) -> usize {
    factors * (factors + 1) / 2
}

/// The parameters and accumulators of one block, in its tile layout; buffers are kept between calls.
#[derive(Debug, Default)]
pub(super) struct Tiles {
    /// tile x K.
    w: Vec<Lanes>,
    /// tile.
    b: Vec<Lanes>,
    /// tile x packed K: sum over the tile of w w'.
    outer: Vec<f64>,
    /// A row on its way into a triangle, length K.
    pub equation: Vec<f64>,
    e: Vec<Lanes>,
    e_mu: Vec<Lanes>,
    /// tile x K x K: node covariances summed over rows in which the whole tile was observed.
    whole: Vec<f64>,
    /// tile x K x K: the same per lane, over the other rows.
    partial: Vec<Lanes>,
}

fn zeroed<T: Copy>(buffer: &mut Vec<T>, len: usize, zero: T) {
    buffer.clear();
    buffer.resize(len, zero);
}

fn sum(lanes: &Lanes) -> f64 {
    ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]))
}

/// Zeroes the lanes that were not observed.
#[inline]
fn keep(lanes: &mut Lanes, present: u8) {
    for (lane, x) in lanes.iter_mut().enumerate() {
        if present & (1 << lane) == 0 {
            *x = 0.0;
        }
    }
}

impl Tiles {
    /// Bring the loadings (keys x K) and offsets (keys) of `block` into its layout.
    pub fn load(&mut self, block: &Block, factors: usize, loadings: &[f64], offsets: Option<&[f64]>) {
        let tiles = block.tiles();
        zeroed(&mut self.w, tiles * factors, [0.0; LANES]);
        zeroed(&mut self.b, tiles, [0.0; LANES]);
        zeroed(&mut self.outer, tiles * packed(factors), 0.0);
        for (feature, &key) in block.keys.iter().enumerate() {
            let (tile, lane) = (feature / LANES, feature % LANES);
            let w = &loadings[key * factors..(key + 1) * factors];
            for (k, &x) in w.iter().enumerate() {
                self.w[tile * factors + k][lane] = x;
            }
            if let Some(b) = offsets {
                self.b[tile][lane] = b[key];
            }
        }
        for tile in 0..tiles {
            let w = &self.w[tile * factors..(tile + 1) * factors];
            let mut entry = tile * packed(factors);
            for a in 0..factors {
                for c in 0..=a {
                    self.outer[entry] = dot(&w[a], &w[c]);
                    entry += 1;
                }
            }
        }
    }

    /// Adds the block's part of D (node x packed K) and s (node x K). `variance` is the block's noise variance.
    pub fn collect(
        &self,
        block: &Block,
        factors: usize,
        variance: f64,
        precision: &mut [f64],
        information: &mut [f64],
    ) {
        let (tiles, p) = (block.tiles(), packed(factors));
        let weight = variance.recip();
        for (row, &node) in block.nodes.iter().enumerate() {
            let d = &mut precision[node * p..(node + 1) * p];
            let s = &mut information[node * factors..(node + 1) * factors];
            for tile in 0..tiles {
                let at = row * tiles + tile;
                let w = &self.w[tile * factors..(tile + 1) * factors];
                let mut r = difference(&block.values[at], &self.b[tile]);
                if block.present[at] == block.full[tile] {
                    for (d, o) in d.iter_mut().zip(&self.outer[tile * p..(tile + 1) * p]) {
                        *d += weight * o;
                    }
                } else {
                    keep(&mut r, block.present[at]);
                    add_partial_outer(d, w, block.present[at], weight);
                }
                for (s, w) in s.iter_mut().zip(w) {
                    *s += weight * dot(w, &r);
                }
            }
        }
    }

    /// For the nodes marked in `wanted`, adds the block's scalars one by one to the triangle R (packed like D) and to
    /// Q' (y - b) / sqrt(v), see [`triangle::append`].
    pub fn rotate(
        &mut self,
        block: &Block,
        factors: usize,
        variance: f64,
        wanted: &[bool],
        triangles: &mut [f64],
        rotated: &mut [f64],
    ) {
        let (tiles, p) = (block.tiles(), packed(factors));
        let weight = variance.sqrt().recip();
        for (at, &node) in block.nodes.iter().enumerate().filter(|(_, node)| wanted[**node]) {
            for feature in 0..block.keys.len() {
                let (tile, lane) = (feature / LANES, feature % LANES);
                if block.present[at * tiles + tile] & (1 << lane) == 0 {
                    continue;
                }
                let row = &mut self.equation;
                row.clear();
                row.extend((0..factors).map(|k| weight * self.w[tile * factors + k][lane]));
                let value = weight * (block.values[at * tiles + tile][lane] - self.b[tile][lane]);
                let r = &mut triangles[node * p..(node + 1) * p];
                triangle::append(r, &mut rotated[node * factors..(node + 1) * factors], row, value, 0);
            }
        }
    }

    /// Sum of squared residuals e = y - b - w' mu. `mean` is node x K.
    pub fn squares(&self, block: &Block, factors: usize, mean: &[f64]) -> f64 {
        let tiles = block.tiles();
        let mut squares = [0.0; LANES];
        for (row, &node) in block.nodes.iter().enumerate() {
            let mu = &mean[node * factors..(node + 1) * factors];
            for tile in 0..tiles {
                let e = self.residual(block, row * tiles + tile, tile, mu);
                for (q, e) in squares.iter_mut().zip(&e) {
                    *q += e * e;
                }
            }
        }
        sum(&squares)
    }

    /// Like [`Tiles::squares`], and gathers per feature what [`Tiles::add_gradient`] adds. `covariance` is
    /// node x K x K.
    pub fn squares_and_adjoint(&mut self, block: &Block, factors: usize, mean: &[f64], covariance: &[f64]) -> f64 {
        let (tiles, kk) = (block.tiles(), factors * factors);
        zeroed(&mut self.e, tiles, [0.0; LANES]);
        zeroed(&mut self.e_mu, tiles * factors, [0.0; LANES]);
        zeroed(&mut self.whole, tiles * kk, 0.0);
        zeroed(&mut self.partial, tiles * kk, [0.0; LANES]);
        let mut squares = [0.0; LANES];
        for (row, &node) in block.nodes.iter().enumerate() {
            let mu = &mean[node * factors..(node + 1) * factors];
            let c = &covariance[node * kk..(node + 1) * kk];
            for tile in 0..tiles {
                let at = row * tiles + tile;
                let e = self.residual(block, at, tile, mu);
                for ((q, sum), e) in squares.iter_mut().zip(&mut self.e[tile]).zip(&e) {
                    *q += e * e;
                    *sum += e;
                }
                for (acc, &mu) in self.e_mu[tile * factors..(tile + 1) * factors].iter_mut().zip(mu) {
                    for (acc, e) in acc.iter_mut().zip(&e) {
                        *acc += e * mu;
                    }
                }
                let present = block.present[at];
                if present == block.full[tile] {
                    for (acc, c) in self.whole[tile * kk..(tile + 1) * kk].iter_mut().zip(c) {
                        *acc += c;
                    }
                } else {
                    for (acc, &c) in self.partial[tile * kk..(tile + 1) * kk].iter_mut().zip(c) {
                        for (lane, acc) in acc.iter_mut().enumerate() {
                            if present & (1 << lane) != 0 {
                                *acc += c;
                            }
                        }
                    }
                }
            }
        }
        sum(&squares)
    }

    /// Adds what [`Tiles::squares_and_adjoint`] gathered to loadings and offsets; returns the sum of w' C w over the
    /// scalars. `weight` is the adjoint's scale over the noise variance.
    pub fn add_gradient(&self, block: &Block, factors: usize, weight: f64, adjoint: &mut Adjoint<'_>) -> f64 {
        let mut spread = 0.0;
        for (feature, &key) in block.keys.iter().enumerate() {
            let (tile, lane) = (feature / LANES, feature % LANES);
            for k in 0..factors {
                let mut cw = 0.0;
                for l in 0..factors {
                    let at = (tile * factors + k) * factors + l;
                    cw += (self.whole[at] + self.partial[at][lane]) * self.w[tile * factors + l][lane];
                }
                spread += self.w[tile * factors + k][lane] * cw;
                adjoint.loadings[key * factors + k] += weight * (self.e_mu[tile * factors + k][lane] - cw);
            }
            if let Some(offsets) = adjoint.offsets.as_deref_mut() {
                offsets[key] += weight * self.e[tile][lane];
            }
        }
        spread
    }

    /// Residuals of one tile of one row; padding lanes have zero value, offset and loading and so stay zero.
    #[inline]
    fn residual(&self, block: &Block, at: usize, tile: usize, mu: &[f64]) -> Lanes {
        let mut e = difference(&block.values[at], &self.b[tile]);
        let factors = mu.len();
        for (w, &mu) in self.w[tile * factors..(tile + 1) * factors].iter().zip(mu) {
            for (e, w) in e.iter_mut().zip(w) {
                *e -= w * mu;
            }
        }
        if block.present[at] != block.full[tile] {
            keep(&mut e, block.present[at]);
        }
        e
    }
}

fn dot(a: &Lanes, b: &Lanes) -> f64 {
    let mut products = [0.0; LANES];
    for ((p, a), b) in products.iter_mut().zip(a).zip(b) {
        *p = a * b;
    }
    sum(&products)
}

fn difference(a: &Lanes, b: &Lanes) -> Lanes {
    let mut out = [0.0; LANES];
    for ((o, a), b) in out.iter_mut().zip(a).zip(b) {
        *o = a - b;
    }
    out
}

/// Adds weight * w w' over the observed lanes; summing what is there, not subtracting what is missing, keeps D
/// positive semidefinite to rounding whatever the loadings.
fn add_partial_outer(d: &mut [f64], w: &[Lanes], present: u8, weight: f64) {
    let mut entry = 0;
    for a in 0..w.len() {
        let mut kept = w[a];
        keep(&mut kept, present);
        for c in w.iter().take(a + 1) {
            d[entry] += weight * dot(&kept, c);
            entry += 1;
        }
    }
}
