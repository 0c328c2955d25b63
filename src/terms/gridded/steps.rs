//! The two exact steps of the alternation: the latent given the loadings, and the loadings given the latent.
//!
//! Both are ridge regressions. Latent: the normal matrix of a run is block banded, penalty (x) I_K + sum_t c_t h_t h_t' (x) D_t
//! with D_t the sum of w w' over the features observed at t. Loadings: (ridge I + Y' R Y) W' = Y' R X, Y = H z.
//! A pair of complete rows and many features keeps W = X' C implicit (Gram trick): both steps then need X only through X X'.

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use rayon::prelude::*;

use super::banded::{Banded, Pivot, dot};
use super::error::GriddedError;
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
        Strengths {
            loading: 1e-3,
            latent: 1e-4,
            roughness: 1e-2,
        }
    }
}

impl Strengths {
    pub(super) fn check(&self) -> Result<(), GriddedError> {
        let named = [
            ("loading ridge", self.loading),
            ("latent ridge", self.latent),
            ("roughness", self.roughness),
        ];
        match named.into_iter().find(|(_, v)| !v.is_finite() || *v < 0.0) {
            Some((name, value)) => Err(GriddedError::Strength { name, value }),
            None => Ok(()),
        }
    }
}

/// Loadings of one pair, and what the latent step needs of them.
#[derive(Debug, Clone)]
pub(super) struct PairState {
    form: Form,
    /// W'W, K x K.
    gram: Vec<f64>,
    /// X W, T x K, missing entries counting as zero.
    xw: Vec<f64>,
}

#[derive(Debug, Clone)]
enum Form {
    /// W', K x F.
    Loadings(Vec<f64>),
    /// C', K x T, with W = X' C.
    Dual(Vec<f64>),
}

/// What the steps need of a problem beyond the problem itself; shared by all restarts.
#[derive(Debug)]
pub(super) struct Steps<'a> {
    pub problem: &'a Problem,
    pub strengths: Strengths,
    /// For each pair and segment the sum of c h h' over the rows that are mostly observed: nodes x (span + 1).
    bands: Vec<Vec<Vec<f64>>>,
    /// For each pair X X' where the dual form pays.
    inner: Vec<Option<Vec<f64>>>,
    /// For each run the pairs and segments that belong to it.
    members: Vec<Vec<(usize, usize)>>,
    /// Largest distance in nodes of two nodes that meet in a row or in the roughness.
    span: usize,
    /// Sum of c x^2.
    total_squares: f64,
}

fn mostly_missing(missing: usize, of: usize) -> bool {
    2 * missing > of
}

/// The indices below `n` that are not in `sorted`.
fn others(n: usize, sorted: &[usize]) -> impl Iterator<Item = usize> {
    let mut rest = sorted;
    (0..n).filter(move |i| match rest.first() {
        Some(next) if next == i => {
            rest = &rest[1..];
            false
        }
        _ => true,
    })
}

/// Adds `scale` v v' to the K x K matrix `out`.
fn add_outer(out: &mut [f64], scale: f64, v: &[f64]) {
    for (row, a) in out.chunks_exact_mut(v.len()).zip(v) {
        let a = scale * a;
        for (o, b) in row.iter_mut().zip(v) {
            *o += a * b;
        }
    }
}

fn axpy(y: &mut [f64], a: f64, x: &[f64]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y += a * x;
    }
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
            rows.map(|(t, c)| c * dot(pair.x_row(t), pair.x_row(t)))
                .sum()
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
        pairs
            .map(|pair| {
                let w = &w[pair.loading_range(k)];
                let f = pair.features.len();
                let mut turned = vec![0.0; w.len()];
                for (i, row) in w.chunks_exact(k).enumerate() {
                    for (j, v) in row.iter().enumerate() {
                        turned[j * f + i] = *v;
                    }
                }
                let mut state = PairState {
                    form: Form::Loadings(turned),
                    gram: vec![0.0; k * k],
                    xw: vec![0.0; k * pair.row_count()],
                };
                state.refresh(pair, k);
                state
            })
            .collect()
    }

    /// The loading vector of the states.
    pub fn loadings_of(&self, states: &[PairState]) -> Vec<f64> {
        let k = self.problem.factors();
        let mut w = vec![0.0; self.problem.loading_count()];
        for (pair, state) in self.problem.pairs.iter().zip(states) {
            let f = pair.features.len();
            let expanded;
            let turned = match &state.form {
                Form::Loadings(turned) => turned,
                Form::Dual(coefficients) => {
                    let t = pair.row_count();
                    let mut rows = vec![0.0; k * f];
                    for (row, c) in rows.chunks_exact_mut(f).zip(coefficients.chunks_exact(t)) {
                        for (t, c) in c.iter().enumerate() {
                            axpy(row, *c, pair.x_row(t));
                        }
                    }
                    expanded = rows;
                    &expanded
                }
            };
            let out = &mut w[pair.loading_range(k)];
            for (j, row) in turned.chunks_exact(f).enumerate() {
                for (i, v) in row.iter().enumerate() {
                    out[i * k + j] = *v;
                }
            }
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
        runs.map(|r| Banded::zeros(r.grid.nodes * k, self.span * k + k - 1))
            .collect()
    }

    /// Ridge of the loadings, without its strength.
    pub fn ridge(&self, states: &[PairState]) -> f64 {
        let k = self.problem.factors();
        let pairs = self.problem.pairs.iter().zip(states);
        pairs
            .map(|(p, s)| p.ridge_weight * (0..k).map(|i| s.gram[i * k + i]).sum::<f64>())
            .sum()
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
    pub fn latent_step(
        &self,
        states: &[PairState],
        systems: &mut [Banded],
        z: &mut [f64],
    ) -> Result<(), GriddedError> {
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
                .map_err(|pivot| GriddedError::LatentStep {
                    run: self.problem.runs[r].name.clone(),
                    pivot,
                })?;
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
            let neighbours = if i == 0 || i + 1 == run.grid.nodes {
                1.0
            } else {
                2.0
            };
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
    pub fn loading_step(
        &self,
        signals: &[Vec<f64>],
        states: &mut [PairState],
    ) -> Result<(), GriddedError> {
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
    matmul(
        MatMut::from_row_major_slice_mut(&mut inner, t, t),
        Accum::Replace,
        x,
        x.transpose(),
        1.0,
        Par::Seq,
    );
    Some(inner)
}

/// Loadings of feature `f` out of W' (K x F).
fn column(w: &[f64], features: usize, f: usize) -> impl Iterator<Item = f64> {
    w.iter().skip(f).step_by(features).copied()
}

impl PairState {
    /// W' (K x F); empty in the dual form, which only pairs without missing entries take.
    fn explicit(&self) -> &[f64] {
        match &self.form {
            Form::Loadings(w) => w,
            Form::Dual(_) => &[],
        }
    }

    /// Multiplies the loadings by `s`.
    pub fn scale(&mut self, s: f64) {
        let form = match &mut self.form {
            Form::Loadings(v) | Form::Dual(v) => v,
        };
        form.iter_mut().chain(&mut self.xw).for_each(|v| *v *= s);
        self.gram.iter_mut().for_each(|v| *v *= s * s);
    }

    /// Recomputes W'W and X W from explicit loadings.
    fn refresh(&mut self, pair: &Pair, k: usize) {
        let f = pair.features.len();
        let Form::Loadings(w) = &self.form else {
            return;
        };
        for i in 0..k {
            for j in 0..=i {
                let v = dot(&w[i * f..(i + 1) * f], &w[j * f..(j + 1) * f]);
                self.gram[i * k + j] = v;
                self.gram[j * k + i] = v;
            }
        }
        for (t, out) in self.xw.chunks_exact_mut(k).enumerate() {
            let x = pair.x_row(t);
            for (o, w) in out.iter_mut().zip(w.chunks_exact(f)) {
                *o = dot(x, w);
            }
        }
    }

    fn solve(&mut self, pair: &Pair, y: &[f64], ridge: f64, k: usize) -> Result<(), Pivot> {
        let (f, rows) = (pair.features.len(), pair.row_count());
        let row = |t: usize| &y[t * k..(t + 1) * k];
        let mut moment = vec![0.0; k * k];
        let mut w = vec![0.0; k * f];
        for t in 0..rows {
            add_outer(&mut moment, pair.weights[t], row(t));
            for (w, y) in w.chunks_exact_mut(f).zip(row(t)) {
                axpy(w, pair.weights[t] * y, pair.x_row(t));
            }
        }
        let mut shared = Banded::zeros(k, k - 1);
        fill(&mut shared, &moment, ridge, k);
        let shared = shared.factorize()?;
        let mut own = Banded::zeros(k, k - 1);
        let mut own_moment = vec![0.0; k * k];
        let mut b = vec![0.0; k];
        for i in 0..f {
            for (b, v) in b.iter_mut().zip(column(&w, f, i)) {
                *b = v;
            }
            let missing = pair.missing_by_feature.get(i);
            if missing.is_empty() {
                shared.solve(&mut b);
            } else {
                if mostly_missing(missing.len(), rows) {
                    own_moment.fill(0.0);
                    for t in others(rows, missing) {
                        add_outer(&mut own_moment, pair.weights[t], row(t));
                    }
                } else {
                    own_moment.copy_from_slice(&moment);
                    for &t in missing {
                        add_outer(&mut own_moment, -pair.weights[t], row(t));
                    }
                }
                fill(&mut own, &own_moment, ridge, k);
                own.factorize()?.solve(&mut b);
            }
            for (w, b) in w.iter_mut().skip(i).step_by(f).zip(&b) {
                *w = *b;
            }
        }
        self.form = Form::Loadings(w);
        self.refresh(pair, k);
        Ok(())
    }

    fn solve_dual(
        &mut self,
        pair: &Pair,
        y: &[f64],
        ridge: f64,
        inner: &[f64],
        k: usize,
    ) -> Result<(), Pivot> {
        let rows = pair.row_count();
        let mut moment = vec![0.0; k * k];
        for (y, c) in y.chunks_exact(k).zip(&pair.weights) {
            add_outer(&mut moment, *c, y);
        }
        let mut normal = Banded::zeros(k, k - 1);
        fill(&mut normal, &moment, ridge, k);
        let normal = normal.factorize()?;
        let mut coefficients = vec![0.0; k * rows];
        let mut b = vec![0.0; k];
        for (t, (y, c)) in y.chunks_exact(k).zip(&pair.weights).enumerate() {
            for (b, y) in b.iter_mut().zip(y) {
                *b = c * y;
            }
            normal.solve(&mut b);
            for (v, b) in coefficients.iter_mut().skip(t).step_by(rows).zip(&b) {
                *v = *b;
            }
        }
        for (out, inner) in self.xw.chunks_exact_mut(k).zip(inner.chunks_exact(rows)) {
            for (o, c) in out.iter_mut().zip(coefficients.chunks_exact(rows)) {
                *o = dot(inner, c);
            }
        }
        self.gram.fill(0.0);
        for (t, xw) in self.xw.chunks_exact(k).enumerate() {
            let c = column(&coefficients, rows, t);
            for (row, c) in self.gram.chunks_exact_mut(k).zip(c) {
                axpy(row, c, xw);
            }
        }
        self.form = Form::Dual(coefficients);
        Ok(())
    }
}

/// Writes `moment` plus `ridge` on the diagonal into `out`.
fn fill(out: &mut Banded, moment: &[f64], ridge: f64, k: usize) {
    out.clear();
    for i in 0..k {
        for j in 0..=i {
            out.add(i, j, moment[i * k + j]);
        }
        out.add(i, i, ridge);
    }
}
