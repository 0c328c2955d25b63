//! Solves the latent paths of all participants of one run together, where a coupling binds them.
//!
//! With B the block diagonal part of the normal matrix, one band for each participant with L_pp of the coupling in it, and N the
//! rest, conjugate gradients preconditioned by B solve (B + N) z = b. Multiplying by B is not needed: the search direction d
//! and B d are carried along together.

use super::banded::Factor;

/// Most iterations; B removes what makes the matrix large, so that few are needed.
const LIMIT: usize = 2000;
/// Residual relative to the right-hand side, both in the norm of the inverse of B, at which the solution is as good as rounding lets it be.
const TOLERANCE: f64 = 1e-14;

/// The coupling of one run.
pub(super) struct Coupling<'a> {
    /// Participants x participants; the diagonal is part of the bands.
    pub matrix: &'a [f64],
    /// Factor of every entry: strength / (n R).
    pub scale: f64,
    /// Weight of each node.
    pub weights: Vec<f64>,
    pub factors: usize,
}

impl Coupling<'_> {
    /// Adds N v to `out`.
    fn add_product(&self, v: &[Vec<f64>], out: &mut [Vec<f64>]) {
        let n = v.len();
        for (p, out) in out.iter_mut().enumerate() {
            for (q, v) in v.iter().enumerate().filter(|(q, _)| *q != p) {
                let entry = self.scale * self.matrix[p * n + q];
                if entry == 0.0 {
                    continue;
                }
                let nodes = out.chunks_exact_mut(self.factors).zip(v.chunks_exact(self.factors));
                for ((out, v), weight) in nodes.zip(&self.weights) {
                    for (o, v) in out.iter_mut().zip(v) {
                        *o += entry * weight * v;
                    }
                }
            }
        }
    }
}

fn dot(a: &[Vec<f64>], b: &[Vec<f64>]) -> f64 {
    a.iter().zip(b).map(|(a, b)| super::banded::dot(a, b)).sum()
}

/// y = x + a y
fn update(y: &mut [Vec<f64>], a: f64, x: &[Vec<f64>]) {
    for (y, x) in y.iter_mut().flatten().zip(x.iter().flatten()) {
        *y = x + a * *y;
    }
}

/// y += a x
fn add(y: &mut [Vec<f64>], a: f64, x: &[Vec<f64>]) {
    for (y, x) in y.iter_mut().flatten().zip(x.iter().flatten()) {
        *y += a * x;
    }
}

/// The solution for the right-hand side `b`, one vector for each participant like the factors of B; the relative residual
/// that was left, where it is too large to be rounding.
pub(super) fn solve(bands: &[Factor], coupling: &Coupling, b: Vec<Vec<f64>>) -> Result<Vec<Vec<f64>>, f64> {
    let precondition = |r: &[Vec<f64>]| -> Vec<Vec<f64>> {
        let solved = bands.iter().zip(r).map(|(factor, r)| {
            let mut v = r.clone();
            factor.solve(&mut v);
            v
        });
        solved.collect()
    };
    let mut x: Vec<Vec<f64>> = b.iter().map(|b| vec![0.0; b.len()]).collect();
    let mut residual = b;
    let mut direction = precondition(&residual);
    // B times the direction.
    let mut image = residual.clone();
    let mut size = dot(&residual, &direction);
    let start = size;
    let mut best = size;
    let mut stalled = 0;
    for _ in 0..LIMIT {
        if size <= start * TOLERANCE * TOLERANCE || stalled > 20 {
            break;
        }
        let mut product = image.clone();
        coupling.add_product(&direction, &mut product);
        let step = size / dot(&direction, &product);
        add(&mut x, step, &direction);
        add(&mut residual, -step, &product);
        let preconditioned = precondition(&residual);
        let next = dot(&residual, &preconditioned);
        update(&mut direction, next / size, &preconditioned);
        update(&mut image, next / size, &residual);
        stalled = if next < 0.5 * best { 0 } else { stalled + 1 };
        best = best.min(next);
        size = next;
    }
    let relative = if start > 0.0 { (size / start).sqrt() } else { 0.0 };
    if relative <= 1e-9 { Ok(x) } else { Err(relative) }
}
