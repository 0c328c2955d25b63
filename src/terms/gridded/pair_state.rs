//! The loadings of one pair and their exact step: (ridge I + Y' R Y) W' = Y' R X with Y = H z.
//!
//! Features of one mask share one factorisation. A mask of many features keeps W = X' C implicit (Gram trick),
//! C = R Y (ridge I + Y' R Y)^-1, and needs X only through X X' (T x T); see [`super::blocks`].

use super::banded::{Banded, Pivot, dot};
use super::blocks::{Blocks, DualBlock};
use super::problem::Pair;

/// Loadings of one pair, and what the other steps need of them.
#[derive(Debug, Clone)]
pub(super) struct PairState {
    /// W' of the explicit features, K x E.
    w: Vec<f64>,
    duals: Vec<DualState>,
    /// W'W over all features, K x K.
    pub gram: Vec<f64>,
    /// X W over all features, T x K, missing entries counting as zero.
    pub xw: Vec<f64>,
}

/// Loadings of a dual block.
#[derive(Debug, Clone)]
struct DualState {
    form: Form,
    /// W'W over the block's features, K x K.
    gram: Vec<f64>,
}

#[derive(Debug, Clone)]
enum Form {
    /// W', K x F.
    Loadings(Vec<f64>),
    /// C', K x T, with W = X' C.
    Dual(Vec<f64>),
}

/// The indices below `n` that are not in `sorted`.
pub(super) fn others(n: usize, sorted: &[usize]) -> impl Iterator<Item = usize> {
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
pub(super) fn add_outer(out: &mut [f64], scale: f64, v: &[f64]) {
    for (row, a) in out.chunks_exact_mut(v.len()).zip(v) {
        let a = scale * a;
        for (o, b) in row.iter_mut().zip(v) {
            *o += a * b;
        }
    }
}

/// y += a x
pub(super) fn axpy(y: &mut [f64], a: f64, x: &[f64]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y += a * x;
    }
}

/// v' M v for the K x K matrix `m`.
pub(super) fn quadratic(m: &[f64], v: &[f64]) -> f64 {
    let rows = m.chunks_exact(v.len()).zip(v);
    rows.map(|(row, a)| a * row.iter().zip(v).map(|(g, b)| g * b).sum::<f64>()).sum()
}

/// Column `i` of a matrix stored by rows of `width`.
fn column(rows: &[f64], width: usize, i: usize) -> impl Iterator<Item = f64> {
    rows.iter().skip(i).step_by(width).copied()
}

/// W'W of W' (K x F).
fn gram_of(w: &[f64], gram: &mut [f64], k: usize) {
    let f = w.len() / k;
    for i in 0..k {
        for j in 0..=i {
            let v = dot(&w[i * f..(i + 1) * f], &w[j * f..(j + 1) * f]);
            gram[i * k + j] = v;
            gram[j * k + i] = v;
        }
    }
}

impl PairState {
    /// The state of loadings `w` (F x K).
    pub fn new(pair: &Pair, blocks: &Blocks, w: &[f64], k: usize) -> Self {
        let turned = |features: &[usize]| -> Vec<f64> {
            (0..k).flat_map(|j| features.iter().map(move |f| w[f * k + j])).collect()
        };
        let rows = pair.row_count();
        let mut state = PairState {
            w: turned(&blocks.explicit),
            duals: Vec::with_capacity(blocks.duals.len()),
            gram: vec![0.0; k * k],
            xw: vec![0.0; k * rows],
        };
        state.refresh_explicit(blocks, k);
        for block in &blocks.duals {
            let own = turned(&block.features);
            let mut gram = vec![0.0; k * k];
            gram_of(&own, &mut gram, k);
            axpy(&mut state.gram, 1.0, &gram);
            let f = block.features.len();
            for (t, out) in state.xw.chunks_exact_mut(k).enumerate() {
                let x = pair.x_row(t);
                for (o, w) in out.iter_mut().zip(own.chunks_exact(f)) {
                    *o += block.features.iter().zip(w).map(|(&f, w)| x[f] * w).sum::<f64>();
                }
            }
            state.duals.push(DualState { form: Form::Loadings(own), gram });
        }
        state
    }

    /// Writes the loadings into `out` (F x K).
    pub fn write_loadings(&self, pair: &Pair, blocks: &Blocks, out: &mut [f64], k: usize) {
        let mut write = |features: &[usize], turned: &[f64]| {
            for (j, row) in turned.chunks_exact(features.len().max(1)).enumerate() {
                for (f, v) in features.iter().zip(row) {
                    out[f * k + j] = *v;
                }
            }
        };
        write(&blocks.explicit, &self.w);
        for (block, state) in blocks.duals.iter().zip(&self.duals) {
            match &state.form {
                Form::Loadings(turned) => write(&block.features, turned),
                Form::Dual(coefficients) => {
                    let all = pair.features.len();
                    let mut full = vec![0.0; k * all];
                    let coefficients = coefficients.chunks_exact(pair.row_count());
                    for (row, c) in full.chunks_exact_mut(all).zip(coefficients) {
                        for (t, c) in c.iter().enumerate() {
                            axpy(row, *c, pair.x_row(t));
                        }
                    }
                    let full = full.chunks_exact(all);
                    let own: Vec<f64> = full.flat_map(|row| block.features.iter().map(|&f| row[f])).collect();
                    write(&block.features, &own);
                }
            }
        }
    }

    /// Writes into `out` (K x K) the sum of w w' over the features observed at row `t`.
    pub fn row_gram(&self, blocks: &Blocks, t: usize, k: usize, out: &mut [f64]) {
        if blocks.mostly_missing(t) {
            out.fill(0.0);
            others(blocks.explicit.len(), blocks.missing_by_row.get(t)).for_each(|i| self.add_feature(out, 1.0, i, k));
            others(self.duals.len(), blocks.duals_missing.get(t)).for_each(|d| axpy(out, 1.0, &self.duals[d].gram));
            return;
        }
        out.copy_from_slice(&self.gram);
        blocks.missing_by_row.get(t).iter().for_each(|&i| self.add_feature(out, -1.0, i, k));
        blocks.duals_missing.get(t).iter().for_each(|&d| axpy(out, -1.0, &self.duals[d].gram));
    }

    /// Adds `scale` w w' of explicit feature `i`.
    fn add_feature(&self, out: &mut [f64], scale: f64, i: usize, k: usize) {
        let e = self.w.len() / k;
        for a in 0..k {
            let left = scale * self.w[a * e + i];
            for b in 0..k {
                out[a * k + b] += left * self.w[b * e + i];
            }
        }
    }

    /// Multiplies the loadings by `s`.
    pub fn scale(&mut self, s: f64) {
        self.w.iter_mut().chain(&mut self.xw).for_each(|v| *v *= s);
        self.gram.iter_mut().for_each(|v| *v *= s * s);
        for dual in &mut self.duals {
            let form = match &mut dual.form {
                Form::Loadings(v) | Form::Dual(v) => v,
            };
            form.iter_mut().for_each(|v| *v *= s);
            dual.gram.iter_mut().for_each(|v| *v *= s * s);
        }
    }

    /// Sets W'W and X W to those of the explicit features.
    fn refresh_explicit(&mut self, blocks: &Blocks, k: usize) {
        let e = blocks.explicit.len();
        gram_of(&self.w, &mut self.gram, k);
        for (t, out) in self.xw.chunks_exact_mut(k).enumerate() {
            let x = blocks.x_row(t);
            for (j, o) in out.iter_mut().enumerate() {
                *o = dot(x, &self.w[j * e..(j + 1) * e]);
            }
        }
    }

    /// Loading step for the signal `y` = H z (T x K).
    pub fn solve(&mut self, pair: &Pair, blocks: &Blocks, y: &[f64], ridge: f64, k: usize) -> Result<(), Pivot> {
        let (e, rows) = (blocks.explicit.len(), pair.row_count());
        let row = |t: usize| &y[t * k..(t + 1) * k];
        let mut moment = vec![0.0; k * k];
        self.w.fill(0.0);
        for (t, &c) in pair.weights.iter().enumerate() {
            add_outer(&mut moment, c, row(t));
            if e > 0 {
                for (w, y) in self.w.chunks_exact_mut(e).zip(row(t)) {
                    axpy(w, c * y, blocks.x_row(t));
                }
            }
        }
        let normal_of = |missing: &[usize], own: &mut Vec<f64>| {
            own.clear();
            if 2 * missing.len() > rows {
                own.resize(k * k, 0.0);
                others(rows, missing).for_each(|t| add_outer(own, pair.weights[t], row(t)));
            } else {
                own.extend_from_slice(&moment);
                missing.iter().for_each(|&t| add_outer(own, -pair.weights[t], row(t)));
            }
        };
        let mut normal = Banded::zeros(k, k - 1);
        let mut own = Vec::with_capacity(k * k);
        let mut b = vec![0.0; k];
        for (features, missing) in &blocks.masks {
            normal_of(missing, &mut own);
            fill(&mut normal, &own, ridge, k);
            let factor = normal.factorize()?;
            for &i in features {
                b.iter_mut().zip(column(&self.w, e, i)).for_each(|(b, v)| *b = v);
                factor.solve(&mut b);
                self.w.iter_mut().skip(i).step_by(e).zip(&b).for_each(|(w, b)| *w = *b);
            }
        }
        self.refresh_explicit(blocks, k);
        for (d, block) in blocks.duals.iter().enumerate() {
            normal_of(&block.missing, &mut own);
            fill(&mut normal, &own, ridge, k);
            let factor = normal.factorize()?;
            let mut coefficients = vec![0.0; k * rows];
            for t in others(rows, &block.missing) {
                b.iter_mut().zip(row(t)).for_each(|(b, y)| *b = pair.weights[t] * y);
                factor.solve(&mut b);
                coefficients.iter_mut().skip(t).step_by(rows).zip(&b).for_each(|(v, b)| *v = *b);
            }
            self.add_dual(block, d, coefficients, k);
        }
        Ok(())
    }

    /// Makes `coefficients` (K x T) the form of block `d` and adds its part of W'W and X W.
    fn add_dual(&mut self, block: &DualBlock, d: usize, coefficients: Vec<f64>, k: usize) {
        let rows = coefficients.len() / k;
        let mut gram = vec![0.0; k * k];
        let mut own = vec![0.0; k];
        for (t, out) in self.xw.chunks_exact_mut(k).enumerate() {
            let inner = &block.inner[t * rows..(t + 1) * rows];
            for (o, c) in own.iter_mut().zip(coefficients.chunks_exact(rows)) {
                *o = dot(inner, c);
            }
            for (row, c) in gram.chunks_exact_mut(k).zip(column(&coefficients, rows, t)) {
                axpy(row, c, &own);
            }
            axpy(out, 1.0, &own);
        }
        axpy(&mut self.gram, 1.0, &gram);
        self.duals[d] = DualState { form: Form::Dual(coefficients), gram };
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
