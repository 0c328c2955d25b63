//! The two exact steps of the alternation: the latent given the loadings, and the loadings given the latent.
//!
//! Latent: ridge regression whose normal matrix is block banded for each latent path, penalty (x) I_K + sum_t c_t h_t h_t' (x) D_t,
//! with D_t the sum of w w' over the features observed at t; where a coupling binds the paths of a run see [`super::coupled`].
//! Loadings: see [`super::pair_state`].

use rayon::prelude::*;

use super::banded::{Banded, dot};
use super::blocks::Blocks;
use super::coupled::{self, Coupling};
use super::error::GriddedError;
use super::geometry::Geometry;
use super::pair_state::{PairState, axpy, quadratic};
use super::problem::{Pair, Problem};
use super::walk::latent_penalty;

/// Factors of the penalties.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Strengths {
    /// Ridge of the loadings.
    pub loading: f64,
    /// Ridge of the latent.
    pub latent: f64,
    /// Roughness of the latent.
    pub roughness: f64,
    /// Coupling of the latent paths of participants; of no effect where they share one.
    pub coupling: f64,
}

impl Default for Strengths {
    fn default() -> Self {
        Strengths { loading: 1e-3, latent: 1e-4, roughness: 1e-2, coupling: 1.0 }
    }
}

impl Strengths {
    pub(super) fn check(&self) -> Result<(), GriddedError> {
        let named = [
            ("loading ridge", self.loading),
            ("latent ridge", self.latent),
            ("roughness", self.roughness),
            ("coupling", self.coupling),
        ];
        match named.into_iter().find(|(_, v)| !v.is_finite() || *v < 0.0) {
            Some((name, value)) => Err(GriddedError::Strength { name, value }),
            None => Ok(()),
        }
    }
}

/// Fixed paths that draw latent paths: weight times the sum over nodes of q |z - target|^2.
#[derive(Debug, Clone)]
pub(super) struct Anchor {
    /// One for each latent path.
    pub weights: Vec<f64>,
    /// Like the latent vector.
    pub target: Vec<f64>,
}

/// What the steps need of a problem beyond the problem itself and its responses; shared by all restarts.
#[derive(Debug)]
pub(super) struct Steps<'a> {
    pub problem: &'a Problem,
    pub strengths: Strengths,
    pub blocks: Vec<Blocks<'a>>,
    /// For each latent path the pairs and segments that look at it.
    members: Vec<Vec<(usize, usize)>>,
    /// Sum of c x^2.
    total_squares: f64,
    anchor: Option<Anchor>,
}

impl<'a> Steps<'a> {
    pub fn new(problem: &'a Problem, strengths: Strengths) -> Self {
        Steps::anchored(problem, strengths, None)
    }

    /// Steps in which fixed paths draw the latent.
    pub fn anchored(problem: &'a Problem, strengths: Strengths, anchor: Option<Anchor>) -> Self {
        let mut members = vec![Vec::new(); problem.tracks.len()];
        for (p, pair) in problem.pairs.iter().enumerate() {
            for (s, segment) in pair.segments.iter().enumerate() {
                members[segment.track].push((p, s));
            }
        }
        let squares = |pair: &Pair| -> f64 {
            let rows = pair.weights.iter().enumerate();
            rows.map(|(t, c)| c * dot(pair.x_row(t), pair.x_row(t))).sum()
        };
        let prepared: Vec<_> = problem.pairs.par_iter().map(|pair| (Blocks::new(pair), squares(pair))).collect();
        let total_squares = prepared.iter().map(|p| p.1).sum();
        let blocks = prepared.into_iter().map(|p| p.0).collect();
        Steps { problem, strengths, blocks, members, total_squares, anchor }
    }

    /// The geometry of the problem's own responses.
    pub fn geometry(&self) -> Geometry {
        Geometry::new(self.problem, &self.blocks)
    }

    /// States that hold the given loading vector.
    pub fn states_of(&self, w: &[f64]) -> Vec<PairState> {
        let k = self.problem.factors();
        let pairs = self.problem.pairs.par_iter().zip(&self.blocks);
        pairs.map(|(pair, blocks)| PairState::new(pair, blocks, &w[pair.loading_range(k)], k)).collect()
    }

    /// The loading vector of the states.
    pub fn loadings_of(&self, states: &[PairState]) -> Vec<f64> {
        let k = self.problem.factors();
        let mut w = vec![0.0; self.problem.loading_count()];
        for ((pair, blocks), state) in self.problem.pairs.iter().zip(&self.blocks).zip(states) {
            state.write_loadings(pair, blocks, &mut w[pair.loading_range(k)], k);
        }
        w
    }

    /// H z for every pair, T x K each.
    pub fn signals(&self, geometry: &Geometry, z: &[f64], signals: &mut [Vec<f64>]) {
        let k = self.problem.factors();
        for ((pair, rows), y) in self.problem.pairs.iter().zip(&geometry.rows).zip(signals) {
            for s in &pair.segments {
                let path = &z[self.problem.latent_range(s.track)];
                let y = &mut y[k * s.rows.start..k * s.rows.end];
                rows.apply(s.rows.clone(), k, path, y);
            }
        }
    }

    /// Empty signals of the right sizes.
    pub fn empty_signals(&self) -> Vec<Vec<f64>> {
        let k = self.problem.factors();
        let pairs = self.problem.pairs.iter();
        pairs.map(|p| vec![0.0; k * p.row_count()]).collect()
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
        let mut gram = vec![0.0; k * k];
        for (((pair, blocks), state), y) in self.problem.pairs.iter().zip(&self.blocks).zip(states).zip(signals) {
            let rows = y.chunks_exact(k).zip(state.xw.chunks_exact(k));
            for (t, (y, xw)) in rows.enumerate() {
                let fitted = if blocks.complete(t) {
                    quadratic(&state.gram, y)
                } else {
                    state.row_gram(blocks, t, k, &mut gram);
                    quadratic(&gram, y)
                };
                let cross: f64 = xw.iter().zip(y).map(|(a, b)| a * b).sum();
                total += pair.weights[t] * (fitted - 2.0 * cross);
            }
        }
        total
    }

    /// Latent step: `z` becomes the minimiser of the objective for the loadings in `states`.
    pub fn latent_step(&self, geometry: &Geometry, states: &[PairState], z: &mut [f64]) -> Result<(), GriddedError> {
        let problem = self.problem;
        let width = problem.groups.len();
        z.fill(0.0);
        for (r, run) in problem.runs.iter().enumerate() {
            let tracks: Vec<usize> = (r * width..(r + 1) * width).collect();
            let start = problem.latent_range(tracks[0]).start;
            let length = run.grid.nodes * problem.factors();
            let paths: Vec<&mut [f64]> = z[start..start + width * length].chunks_exact_mut(length).collect();
            let failed = |pivot| GriddedError::LatentStep { run: run.name.clone(), pivot };
            let systems: Vec<(Banded, &mut [f64])> = tracks
                .par_iter()
                .zip(paths)
                .map(|(&track, path)| (self.normal(geometry, track, states, path), path))
                .collect();
            match &problem.coupling {
                Some(matrix) if self.strengths.coupling > 0.0 => {
                    let (mut bands, mut paths): (Vec<Banded>, Vec<&mut [f64]>) = systems.into_iter().unzip();
                    let factors = bands.par_iter_mut().map(Banded::factorize).collect::<Result<Vec<_>, _>>();
                    let coupling = Coupling {
                        matrix,
                        scale: self.strengths.coupling / (width * problem.runs.len()) as f64,
                        weights: (0..run.grid.nodes).map(|i| run.node_weight(i)).collect(),
                        factors: problem.factors(),
                    };
                    let right = paths.iter().map(|p| p.to_vec()).collect();
                    let solved = coupled::solve(&factors.map_err(failed)?, &coupling, right)
                        .map_err(|residual| GriddedError::CoupledStep { run: run.name.clone(), residual })?;
                    paths.iter_mut().zip(&solved).for_each(|(p, s)| p.copy_from_slice(s));
                }
                _ => {
                    systems
                        .into_par_iter()
                        .try_for_each(|(mut system, path)| system.factorize().map(|factor| factor.solve(path)))
                        .map_err(failed)?;
                }
            }
        }
        Ok(())
    }

    /// The normal matrix of one latent path, its right-hand side in `b`; of a coupling only what falls on the path itself.
    fn normal(&self, geometry: &Geometry, track: usize, states: &[PairState], b: &mut [f64]) -> Banded {
        let k = self.problem.factors();
        let run = &self.problem.runs[self.problem.tracks[track].run];
        let width = geometry.span + 1;
        let size = run.grid.nodes * width;
        // One plane for each pair of factors a >= c: entry (i, d) belongs to factor a of node i + d and factor c of node i.
        // The sums of w w' are symmetric, so that it also belongs to factor c of node i + d and factor a of node i.
        let mut planes = vec![0.0; k * (k + 1) / 2 * size];
        let mut moment = vec![0.0; k * k];
        for &(p, s) in &self.members[track] {
            let (pair, state, blocks) = (&self.problem.pairs[p], &states[p], &self.blocks[p]);
            let rows = &geometry.rows[p];
            add_planes(&mut planes, size, width, &geometry.bands[p][s], rows.span() + 1, &state.gram, k);
            for t in pair.segments[s].rows.clone() {
                let (first, weights) = rows.row(t);
                let c = pair.weights[t];
                let xw = &state.xw[t * k..(t + 1) * k];
                for (node, h) in b[first * k..].chunks_exact_mut(k).zip(weights) {
                    axpy(node, c * h, xw);
                }
                if blocks.complete(t) {
                    continue;
                }
                state.row_gram(blocks, t, k, &mut moment);
                if !blocks.mostly_missing(t) {
                    // The band holds the sum over all features.
                    axpy(&mut moment, -1.0, &state.gram);
                }
                for (i, hi) in weights.iter().enumerate() {
                    let at = (first + i) * width;
                    for (plane, entry) in planes.chunks_exact_mut(size).zip(lower(&moment, k)) {
                        axpy(&mut plane[at..at + weights.len() - i], c * hi * entry, &weights[i..]);
                    }
                }
            }
        }
        if let Some(anchor) = &self.anchor {
            let target = &anchor.target[self.problem.latent_range(track)];
            for (i, (b, z)) in b.chunks_exact_mut(k).zip(target.chunks_exact(k)).enumerate() {
                axpy(b, anchor.weights[track] * run.node_weight(i), z);
            }
        }
        self.assemble(track, width, &planes)
    }

    /// Ridge, roughness and coupling of the latent, each with its strength, and the pull of an anchor.
    pub fn latent_penalty(&self, z: &[f64]) -> f64 {
        let mut total = latent_penalty(self.problem, &self.strengths, z);
        if let Some(anchor) = &self.anchor {
            let k = self.problem.factors();
            for (t, track) in self.problem.tracks.iter().enumerate() {
                let (run, range) = (&self.problem.runs[track.run], self.problem.latent_range(t));
                let nodes = z[range.clone()].chunks_exact(k).zip(anchor.target[range].chunks_exact(k));
                let squares = nodes.enumerate().map(|(i, (z, target))| {
                    run.node_weight(i) * z.iter().zip(target).map(|(a, b)| (a - b).powi(2)).sum::<f64>()
                });
                total += anchor.weights[t] * squares.sum::<f64>();
            }
        }
        total
    }

    /// The band matrix of the planes and the penalties of a latent path.
    fn assemble(&self, track: usize, width: usize, planes: &[f64]) -> Banded {
        let k = self.problem.factors();
        let share = self.problem.tracks[track].share;
        let run = &self.problem.runs[self.problem.tracks[track].run];
        let nodes = run.grid.nodes;
        let size = nodes * width;
        let mut system = Banded::zeros(nodes * k, (width - 1) * k + k - 1);
        for a in 0..k {
            for c in 0..k {
                let (high, low) = (a.max(c), a.min(c));
                let plane = &planes[(high * (high + 1) / 2 + low) * size..][..size];
                for (i, row) in plane.chunks_exact(width).enumerate() {
                    // Where d is 0 only the lower half is stored.
                    for (d, v) in row.iter().enumerate().skip(usize::from(c > a)) {
                        if i + d < nodes {
                            system.add((i + d) * k + a, i * k + c, *v);
                        }
                    }
                }
            }
        }
        let rough = self.strengths.roughness * share * run.roughness_weight();
        let group = self.problem.tracks[track].group;
        let coupled = self.problem.coupling.as_ref().map_or(0.0, |matrix| {
            let n = self.problem.groups.len();
            self.strengths.coupling * matrix[group * n + group] / (n * self.problem.runs.len()) as f64
        });
        let coupled = coupled + self.anchor.as_ref().map_or(0.0, |anchor| anchor.weights[track]);
        for i in 0..nodes {
            let neighbours = if i == 0 || i + 1 == nodes { 1.0 } else { 2.0 };
            let diagonal = (self.strengths.latent * share + coupled) * run.node_weight(i) + neighbours * rough;
            for a in i * k..(i + 1) * k {
                system.add(a, a, diagonal);
                if i > 0 {
                    system.add(a, a - k, -rough);
                }
            }
        }
        system
    }

    /// Loading step: `states` become the minimisers of the objective for the latent behind `signals`.
    pub fn loading_step(&self, signals: &[Vec<f64>], states: &mut [PairState]) -> Result<(), GriddedError> {
        let k = self.problem.factors();
        // Small pairs are handled many to a task, so that handing them out costs little.
        let work = self.problem.pairs.iter().zip(&self.blocks).map(|(p, b)| {
            let rows = p.row_count();
            rows * (b.explicit.len() + b.duals.len() * rows) * k
        });
        let mean = work.sum::<usize>() / self.problem.pairs.len().max(1);
        states
            .par_iter_mut()
            .with_min_len(1 + 200_000 / mean.max(1))
            .zip(&self.problem.pairs)
            .zip(signals)
            .zip(&self.blocks)
            .try_for_each(|(((state, pair), y), blocks)| {
                let ridge = self.strengths.loading * pair.ridge_weight;
                state.solve(pair, blocks, y, ridge, k).map_err(|pivot| GriddedError::LoadingStep {
                    participant: pair.participant.clone(),
                    modality: pair.modality.clone(),
                    pivot,
                })
            })
    }
}

/// Entries of the lower half of a K x K matrix, row by row.
fn lower(m: &[f64], k: usize) -> impl Iterator<Item = f64> {
    (0..k).flat_map(move |a| m[a * k..=a * k + a].iter().copied())
}

/// Adds the band (nodes x `own`) times each entry of the lower half of `gram` to the planes (nodes x `width` each).
fn add_planes(planes: &mut [f64], size: usize, width: usize, band: &[f64], own: usize, gram: &[f64], k: usize) {
    for (plane, entry) in planes.chunks_exact_mut(size).zip(lower(gram, k)) {
        if own == width {
            axpy(plane, entry, band);
        } else {
            for (out, row) in plane.chunks_exact_mut(width).zip(band.chunks_exact(own)) {
                axpy(&mut out[..own], entry, row);
            }
        }
    }
}
