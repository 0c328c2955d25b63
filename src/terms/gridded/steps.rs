//! The two exact steps of the alternation: the latent given the loadings, and the loadings given the latent.
//!
//! Latent: ridge regression whose normal matrix is block banded for each run, penalty (x) I_K + sum_t c_t h_t h_t' (x) D_t,
//! with D_t the sum of w w' over the features observed at t. Loadings: see [`super::pair_state`].

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use rayon::prelude::*;

use super::banded::{Banded, dot};
use super::error::GriddedError;
use super::pair_state::{PairState, add_outer, axpy, column, mostly_missing, others};
use super::problem::{Pair, Problem};

/// Factors of the three penalties.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Strengths {
    /// Ridge of the loadings.
    pub loading: f64,
    /// Ridge of the latent.
    pub latent: f64,
    /// Roughness of the latent.
    pub roughness: f64,
}

impl Default for Strengths {
    fn default() -> Self {
        Strengths { loading: 1e-3, latent: 1e-4, roughness: 1e-2 }
    }
}

impl Strengths {
    pub(super) fn check(&self) -> Result<(), GriddedError> {
        let named = [("loading ridge", self.loading), ("latent ridge", self.latent), ("roughness", self.roughness)];
        match named.into_iter().find(|(_, v)| !v.is_finite() || *v < 0.0) {
            Some((name, value)) => Err(GriddedError::Strength { name, value }),
            None => Ok(()),
        }
    }
}

/// What the steps need of a problem beyond the problem itself; shared by all restarts.
#[derive(Debug)]
pub(super) struct Steps<'a> {
    pub problem: &'a Problem,
    pub strengths: Strengths,
    /// For each pair and segment the sum of c h h' over the rows that are mostly observed: nodes x (span + 1).
    bands: Vec<Vec<Vec<f64>>>,
    /// For each pair X X' where the dual form pays.
    pub inner: Vec<Option<Vec<f64>>>,
    /// For each run the pairs and segments that belong to it.
    members: Vec<Vec<(usize, usize)>>,
    /// Largest distance in nodes of two nodes that meet in a row or in the roughness.
    span: usize,
    /// Sum of c x^2.
    total_squares: f64,
}

impl<'a> Steps<'a> {
    pub fn new(problem: &'a Problem, strengths: Strengths) -> Self {
        let spans: Vec<usize> = problem.pairs.iter().map(|p| p.rows.span()).collect();
        let mut members = vec![Vec::new(); problem.runs.len()];
        for (p, pair) in problem.pairs.iter().enumerate() {
            for (s, segment) in pair.segments.iter().enumerate() {
                members[segment.run].push((p, s));
            }
        }
        let prepared: Vec<_> = problem
            .pairs
            .par_iter()
            .zip(&spans)
            .map(|(pair, &span)| (node_bands(problem, pair, span), inner_products(pair)))
            .collect();
        let (bands, inner) = prepared.into_iter().unzip();
        let squares = |pair: &Pair| -> f64 {
            let rows = pair.weights.iter().enumerate();
            rows.map(|(t, c)| c * dot(pair.x_row(t), pair.x_row(t))).sum()
        };
        Steps {
            problem,
            strengths,
            bands,
            inner,
            members,
            span: spans.into_iter().max().unwrap_or(0).max(1),
            total_squares: problem.pairs.iter().map(squares).sum(),
        }
    }

    /// States that hold the given loading vector.
    pub fn states_of(&self, w: &[f64]) -> Vec<PairState> {
        let k = self.problem.factors();
        let pairs = self.problem.pairs.par_iter();
        pairs.map(|pair| PairState::new(pair, &w[pair.loading_range(k)], k)).collect()
    }

    /// The loading vector of the states.
    pub fn loadings_of(&self, states: &[PairState]) -> Vec<f64> {
        let k = self.problem.factors();
        let mut w = vec![0.0; self.problem.loading_count()];
        for (pair, state) in self.problem.pairs.iter().zip(states) {
            state.write_loadings(pair, &mut w[pair.loading_range(k)], k);
        }
        w
    }

    /// H z for every pair, T x K each.
    pub fn signals(&self, z: &[f64], signals: &mut [Vec<f64>]) {
        let k = self.problem.factors();
        for (pair, y) in self.problem.pairs.iter().zip(signals) {
            for s in &pair.segments {
                let run = &z[self.problem.latent_range(s.run)];
                let rows = s.rows.clone();
                let y = &mut y[k * rows.start..k * rows.end];
                pair.rows.apply(rows, k, run, y);
            }
        }
    }

    /// Empty signals of the right sizes.
    pub fn empty_signals(&self) -> Vec<Vec<f64>> {
        let k = self.problem.factors();
        let pairs = self.problem.pairs.iter();
        pairs.map(|p| vec![0.0; k * p.row_count()]).collect()
    }

    /// Empty normal matrices, one per run.
    pub fn empty_systems(&self) -> Vec<Banded> {
        let k = self.problem.factors();
        let runs = self.problem.runs.iter();
        runs.map(|r| Banded::zeros(r.grid.nodes * k, self.span * k + k - 1)).collect()
    }

    /// Ridge of the loadings, without its strength.
    pub fn ridge(&self, states: &[PairState]) -> f64 {
        let k = self.problem.factors();
        let pairs = self.problem.pairs.iter().zip(states);
        pairs.map(|(p, s)| p.ridge_weight * (0..k).map(|i| s.gram[i * k + i]).sum::<f64>()).sum()
    }

    /// Balanced squares from the sufficient statistics of the states: no pass over the data.
    pub fn squares(&self, states: &[PairState], signals: &[Vec<f64>]) -> f64 {
        let k = self.problem.factors();
        let mut total = self.total_squares;
        for ((pair, state), y) in self.problem.pairs.iter().zip(states).zip(signals) {
            let f = pair.features.len();
            let rows = y.chunks_exact(k).zip(state.xw.chunks_exact(k));
            for (t, (y, xw)) in rows.enumerate() {
                let missing = pair.missing_by_row.get(t);
                let squared = |i: usize| {
                    let w = column(state.explicit(), f, i);
                    w.zip(y).map(|(w, y)| w * y).sum::<f64>().powi(2)
                };
                let fitted: f64 = if mostly_missing(missing.len(), f) {
                    others(f, missing).map(squared).sum()
                } else {
                    let full: f64 = (state.gram.chunks_exact(k).zip(y))
                        .map(|(row, a)| a * row.iter().zip(y).map(|(g, b)| g * b).sum::<f64>())
                        .sum();
                    full - missing.iter().map(|&i| squared(i)).sum::<f64>()
                };
                let cross: f64 = xw.iter().zip(y).map(|(a, b)| a * b).sum();
                total += pair.weights[t] * (fitted - 2.0 * cross);
            }
        }
        total
    }

    /// Latent step: `z` becomes the minimiser of the objective for the loadings in `states`.
    pub fn latent_step(&self, states: &[PairState], systems: &mut [Banded], z: &mut [f64]) -> Result<(), GriddedError> {
        for (r, system) in systems.iter_mut().enumerate() {
            let z = &mut z[self.problem.latent_range(r)];
            system.clear();
            z.fill(0.0);
            self.add_penalty(r, system);
            for &(p, s) in &self.members[r] {
                self.add_rows(p, s, &states[p], system, z);
            }
            let factor = system
                .factorize()
                .map_err(|pivot| GriddedError::LatentStep { run: self.problem.runs[r].name.clone(), pivot })?;
            factor.solve(z);
        }
        Ok(())
    }

    fn add_penalty(&self, r: usize, system: &mut Banded) {
        let k = self.problem.factors();
        let run = &self.problem.runs[r];
        let share = 1.0 / self.problem.runs.len() as f64;
        let rough = self.strengths.roughness * share * run.roughness_weight();
        for i in 0..run.grid.nodes {
            let neighbours = if i == 0 || i + 1 == run.grid.nodes { 1.0 } else { 2.0 };
            let diagonal = self.strengths.latent * share * run.node_weight(i) + neighbours * rough;
            for a in i * k..(i + 1) * k {
                system.add(a, a, diagonal);
                if i > 0 {
                    system.add(a, a - k, -rough);
                }
            }
        }
    }

    fn add_rows(&self, p: usize, s: usize, state: &PairState, system: &mut Banded, b: &mut [f64]) {
        let k = self.problem.factors();
        let pair = &self.problem.pairs[p];
        let width = pair.rows.span() + 1;
        for (i, row) in self.bands[p][s].chunks_exact(width).enumerate() {
            for (d, &h) in row.iter().enumerate().filter(|(_, h)| **h != 0.0) {
                add_block(system, k, (i, d), h, &state.gram);
            }
        }
        let mut moment = vec![0.0; k * k];
        let mut w = Vec::with_capacity(k);
        let f = pair.features.len();
        for t in pair.segments[s].rows.clone() {
            let (first, weights) = pair.rows.row(t);
            let c = pair.weights[t];
            let xw = &state.xw[t * k..(t + 1) * k];
            for (node, h) in b[first * k..].chunks_exact_mut(k).zip(weights) {
                axpy(node, c * h, xw);
            }
            let missing = pair.missing_by_row.get(t);
            if missing.is_empty() {
                continue;
            }
            moment.fill(0.0);
            if mostly_missing(missing.len(), f) {
                for i in others(f, missing) {
                    w.clear();
                    w.extend(column(state.explicit(), f, i));
                    add_outer(&mut moment, c, &w);
                }
            } else {
                for &i in missing {
                    w.clear();
                    w.extend(column(state.explicit(), f, i));
                    add_outer(&mut moment, -c, &w);
                }
            }
            for (i, hi) in weights.iter().enumerate() {
                for (d, hj) in weights[i..].iter().enumerate() {
                    add_block(system, k, (first + i, d), hi * hj, &moment);
                }
            }
        }
    }

    /// Loading step: `states` become the minimisers of the objective for the latent behind `signals`.
    pub fn loading_step(&self, signals: &[Vec<f64>], states: &mut [PairState]) -> Result<(), GriddedError> {
        let k = self.problem.factors();
        // Small pairs are handled many to a task, so that handing them out costs little.
        let work = self.problem.pairs.iter().zip(&self.inner);
        let work = work.map(|(p, s)| {
            let columns = match s {
                Some(_) => p.row_count(),
                None => p.features.len(),
            };
            p.row_count() * columns * k
        });
        let mean = work.sum::<usize>() / self.problem.pairs.len().max(1);
        states
            .par_iter_mut()
            .with_min_len(1 + 200_000 / mean.max(1))
            .zip(&self.problem.pairs)
            .zip(signals)
            .zip(&self.inner)
            .try_for_each(|(((state, pair), y), inner)| {
                let ridge = self.strengths.loading * pair.ridge_weight;
                let done = match inner {
                    Some(inner) => state.solve_dual(pair, y, ridge, inner, k),
                    None => state.solve(pair, y, ridge, k),
                };
                done.map_err(|pivot| GriddedError::LoadingStep {
                    participant: pair.participant.clone(),
                    modality: pair.modality.clone(),
                    pivot,
                })
            })
    }
}

/// Adds `h` times the K x K matrix `d` between node i and node i + distance, in the lower half.
fn add_block(system: &mut Banded, k: usize, (i, distance): (usize, usize), h: f64, d: &[f64]) {
    let (row, column) = ((i + distance) * k, i * k);
    for a in 0..k {
        let end = if distance == 0 { a + 1 } else { k };
        for b in 0..end {
            system.add(row + a, column + b, h * d[a * k + b]);
        }
    }
}

fn node_bands(problem: &Problem, pair: &Pair, span: usize) -> Vec<Vec<f64>> {
    let width = span + 1;
    let segments = pair.segments.iter();
    segments
        .map(|s| {
            let mut band = vec![0.0; problem.runs[s.run].grid.nodes * width];
            for t in s.rows.clone() {
                let missing = pair.missing_by_row.get(t).len();
                if mostly_missing(missing, pair.features.len()) {
                    continue;
                }
                let (first, weights) = pair.rows.row(t);
                for (i, hi) in weights.iter().enumerate() {
                    for (d, hj) in weights[i..].iter().enumerate() {
                        band[(first + i) * width + d] += pair.weights[t] * hi * hj;
                    }
                }
            }
            band
        })
        .collect()
}

/// X X' where rows are complete and features so many that T x T is the smaller side.
fn inner_products(pair: &Pair) -> Option<Vec<f64>> {
    let (t, f) = (pair.row_count(), pair.features.len());
    if !pair.missing_by_row.is_empty() || f < 2 * t {
        return None;
    }
    let x = MatRef::from_row_major_slice(&pair.x, t, f);
    let mut inner = vec![0.0; t * t];
    matmul(MatMut::from_row_major_slice_mut(&mut inner, t, t), Accum::Replace, x, x.transpose(), 1.0, Par::Seq);
    Some(inner)
}
