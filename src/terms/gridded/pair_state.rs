//! The loadings of one pair and their exact step: (ridge I + Y' R Y) W' = Y' R X with Y = H z.
//!
//! Features share one factorisation unless entries are missing. A pair of complete rows and many features keeps
//! W = X' C implicit (Gram trick), C = R Y (ridge I + Y' R Y)^-1, and needs X only through X X' (T x T).

use super::banded::{Banded, Pivot, dot};
use super::problem::Pair;

/// Loadings of one pair, and what the latent step needs of them.
#[derive(Debug, Clone)]
pub(super) struct PairState {
    form: Form,
    /// W'W, K x K.
    pub gram: Vec<f64>,
    /// X W, T x K, missing entries counting as zero.
    pub xw: Vec<f64>,
}

#[derive(Debug, Clone)]
enum Form {
    /// W', K x F.
    Loadings(Vec<f64>),
    /// C', K x T, with W = X' C.
    Dual(Vec<f64>),
}

/// Whether a sum is better taken over what is there than corrected for what is not.
pub(super) fn mostly_missing(missing: usize, of: usize) -> bool {
    2 * missing > of
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

/// Loadings of feature `f` out of W' (K x F).
pub(super) fn column(w: &[f64], features: usize, f: usize) -> impl Iterator<Item = f64> {
    w.iter().skip(f).step_by(features).copied()
}

impl PairState {
    /// The state of loadings `w` (F x K).
    pub fn new(pair: &Pair, w: &[f64], k: usize) -> Self {
        let f = pair.features.len();
        let mut turned = vec![0.0; w.len()];
        for (i, row) in w.chunks_exact(k).enumerate() {
            for (j, v) in row.iter().enumerate() {
                turned[j * f + i] = *v;
            }
        }
        let mut state =
            PairState { form: Form::Loadings(turned), gram: vec![0.0; k * k], xw: vec![0.0; k * pair.row_count()] };
        state.refresh(pair, k);
        state
    }

    /// Writes the loadings into `out` (F x K).
    pub fn write_loadings(&self, pair: &Pair, out: &mut [f64], k: usize) {
        let f = pair.features.len();
        let expanded;
        let turned = match &self.form {
            Form::Loadings(turned) => turned,
            Form::Dual(coefficients) => {
                let mut rows = vec![0.0; k * f];
                let coefficients = coefficients.chunks_exact(pair.row_count());
                for (row, c) in rows.chunks_exact_mut(f).zip(coefficients) {
                    for (t, c) in c.iter().enumerate() {
                        axpy(row, *c, pair.x_row(t));
                    }
                }
                expanded = rows;
                &expanded
            }
        };
        for (j, row) in turned.chunks_exact(f).enumerate() {
            for (i, v) in row.iter().enumerate() {
                out[i * k + j] = *v;
            }
        }
    }

    /// W' (K x F); empty in the dual form, which only pairs without missing entries take.
    pub fn explicit(&self) -> &[f64] {
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

    /// Loading step in explicit form for the signal `y` = H z (T x K).
    pub fn solve(&mut self, pair: &Pair, y: &[f64], ridge: f64, k: usize) -> Result<(), Pivot> {
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

    /// Loading step in dual form; `inner` is X X'.
    pub fn solve_dual(&mut self, pair: &Pair, y: &[f64], ridge: f64, inner: &[f64], k: usize) -> Result<(), Pivot> {
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
