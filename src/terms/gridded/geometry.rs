//! The rows of H of every pair as the steps use them, and their weighted products, under the responses of the moment.

use super::blocks::Blocks;
use super::observation::Rows;
use super::problem::{Pair, Problem};

/// Rows of H and what the latent step needs of them.
#[derive(Debug, Clone)]
pub(super) struct Geometry {
    /// Rows of each pair.
    pub rows: Vec<Rows>,
    /// For each pair and segment the sum of c h h' over the rows that are mostly observed: entry (i, d) of nodes x (span + 1)
    /// belongs to the nodes i and i + d.
    pub bands: Vec<Vec<Vec<f64>>>,
    /// Largest distance in nodes of two nodes that meet in a row or in the roughness.
    pub span: usize,
}

impl Geometry {
    /// The geometry of the problem's own rows.
    pub fn new(problem: &Problem, blocks: &[Blocks]) -> Self {
        let rows: Vec<Rows> = problem.pairs.iter().map(|p| p.rows.clone()).collect();
        let mut geometry = Geometry { rows, bands: vec![Vec::new(); problem.pairs.len()], span: 1 };
        geometry.refresh(problem, blocks, |_| true);
        geometry
    }

    /// Recomputes what depends on the rows of the pairs that `moved` names.
    pub fn refresh(&mut self, problem: &Problem, blocks: &[Blocks], moved: impl Fn(&Pair) -> bool) {
        for (((pair, rows), blocks), bands) in problem.pairs.iter().zip(&self.rows).zip(blocks).zip(&mut self.bands) {
            if moved(pair) {
                *bands = node_bands(problem, pair, blocks, rows);
            }
        }
        self.span = self.rows.iter().map(Rows::span).max().unwrap_or(0).max(1);
    }
}

fn node_bands(problem: &Problem, pair: &Pair, blocks: &Blocks, rows: &Rows) -> Vec<Vec<f64>> {
    let width = rows.span() + 1;
    let segments = pair.segments.iter();
    segments
        .map(|s| {
            let mut band = vec![0.0; problem.runs[s.run].grid.nodes * width];
            for t in s.rows.clone().filter(|&t| !blocks.mostly_missing(t)) {
                let (first, weights) = rows.row(t);
                for (i, hi) in weights.iter().enumerate() {
                    let scaled = pair.weights[t] * hi;
                    let out = &mut band[(first + i) * width..];
                    for (o, hj) in out.iter_mut().zip(&weights[i..]) {
                        *o += scaled * hj;
                    }
                }
            }
            band
        })
        .collect()
}
