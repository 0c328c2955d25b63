//! The parts of R-MSRM's objective in loadings and latents, each with its value and its adjoint.
//!
//! * balanced squares: sum of c (x - (H z) w)^2 over all observed entries, c summing to 1;
//! * ridge of the loadings: (1/P) sum over pairs of ||W||^2 (divided by F where so configured);
//! * ridge of the latent: (1/R) sum over runs and nodes of q_i ||z_i||^2;
//! * roughness: (1/R) sum over runs of sum_i ||z_{i+1} - z_i||^2 / (step * duration);
//! * coupling: (1/(nR)) sum over runs, nodes and participants of q_i L_pp' z_p . z_p', where each has a latent path.
//!
//! Where there are several latent paths, ridge and roughness are those of each path times the share of its participants;
//! see [`super::LatentPooling`]. What the objective asks of the responses is in [`super::response_objective`].
//! `w` is the loading vector and `z` the latent vector of a [`Problem`]. Adjoints are added to what is there.

use super::banded::dot;
use super::problem::Problem;

/// Work space of [`balanced_squares`], for one problem.
#[derive(Debug, Clone)]
pub struct Scratch {
    signal: Vec<f64>,
    residual: Vec<f64>,
    pub(super) signal_adjoint: Vec<f64>,
}

impl Scratch {
    /// Work space for `problem`.
    pub fn new(problem: &Problem) -> Self {
        let features = problem.pairs.iter().map(|p| p.features.len()).max();
        Scratch {
            signal: vec![0.0; problem.factors()],
            residual: vec![0.0; features.unwrap_or(0)],
            signal_adjoint: vec![0.0; problem.factors()],
        }
    }
}

/// Gradients to add to.
#[derive(Debug)]
pub struct Adjoint<'a> {
    /// Factor of everything added.
    pub scale: f64,
    /// Gradient in the loadings.
    pub loadings: &'a mut [f64],
    /// Gradient in the latent.
    pub latents: &'a mut [f64],
}

/// Value of the balanced squares.
pub fn balanced_squares(problem: &Problem, w: &[f64], z: &[f64], scratch: &mut Scratch) -> f64 {
    (0..problem.pairs.len()).map(|p| pair_squares(problem, p, w, z, scratch, None)).sum()
}

/// Value of the balanced squares; adds its gradient to `adjoint`.
pub fn balanced_squares_adjoint(
    problem: &Problem,
    w: &[f64],
    z: &[f64],
    scratch: &mut Scratch,
    adjoint: &mut Adjoint,
) -> f64 {
    (0..problem.pairs.len()).map(|p| pair_squares(problem, p, w, z, scratch, Some(adjoint))).sum()
}

/// Balanced squares of each modality, in the problem's order; they sum to the whole.
pub fn balanced_squares_by_modality(problem: &Problem, w: &[f64], z: &[f64]) -> Vec<f64> {
    let mut parts = vec![0.0; problem.modalities.len()];
    let mut scratch = Scratch::new(problem);
    for (p, pair) in problem.pairs.iter().enumerate() {
        parts[pair.modality_index] += pair_squares(problem, p, w, z, &mut scratch, None);
    }
    parts
}

fn pair_squares(
    problem: &Problem,
    index: usize,
    w: &[f64],
    z: &[f64],
    scratch: &mut Scratch,
    mut adjoint: Option<&mut Adjoint>,
) -> f64 {
    let pair = &problem.pairs[index];
    let mut total = 0.0;
    for segment in &pair.segments {
        for t in segment.rows.clone() {
            let row = pair.rows.row(t);
            total += row_squares(problem, (index, segment.track, t), row, (w, z), scratch, adjoint.as_deref_mut());
        }
    }
    total
}

/// Balanced squares of row `t` of a pair over a latent path, for the row of H that begins at a node. With `adjoint` the
/// scratch's `signal_adjoint` becomes the gradient, times the adjoint's scale, in the row's signal H z.
pub(super) fn row_squares(
    problem: &Problem,
    (index, track, t): (usize, usize, usize),
    (first, weights): (usize, &[f64]),
    (w, z): (&[f64], &[f64]),
    scratch: &mut Scratch,
    adjoint: Option<&mut Adjoint>,
) -> f64 {
    let k = problem.factors();
    let pair = &problem.pairs[index];
    let range = pair.loading_range(k);
    let w = &w[range.clone()];
    let run = problem.latent_range(track);
    let residual = &mut scratch.residual[..pair.features.len()];
    let signal = &mut scratch.signal;
    signal.fill(0.0);
    for (node, h) in z[run.clone()][first * k..].chunks_exact(k).zip(weights) {
        for (s, v) in signal.iter_mut().zip(node) {
            *s += h * v;
        }
    }
    for ((e, x), w) in residual.iter_mut().zip(pair.x_row(t)).zip(w.chunks_exact(k)) {
        *e = x - w.iter().zip(&*signal).map(|(w, y)| w * y).sum::<f64>();
    }
    for &f in pair.missing_by_row.get(t) {
        residual[f] = 0.0;
    }
    let value = pair.weights[t] * dot(residual, residual);
    let Some(adjoint) = adjoint else {
        return value;
    };
    let slope = -2.0 * pair.weights[t] * adjoint.scale;
    let back = &mut scratch.signal_adjoint;
    back.fill(0.0);
    let gradient = &mut adjoint.loadings[range];
    for ((e, w), g) in residual.iter().zip(w.chunks_exact(k)).zip(gradient.chunks_exact_mut(k)) {
        let e = slope * e;
        for ((g, y), (b, w)) in g.iter_mut().zip(&*signal).zip(back.iter_mut().zip(w)) {
            *g += e * y;
            *b += e * w;
        }
    }
    let nodes = &mut adjoint.latents[run][first * k..];
    for (node, h) in nodes.chunks_exact_mut(k).zip(weights) {
        for (n, b) in node.iter_mut().zip(back.iter()) {
            *n += h * b;
        }
    }
    value
}

/// Value of the ridge of the loadings.
pub fn ridge_loadings(problem: &Problem, w: &[f64]) -> f64 {
    let k = problem.factors();
    problem.pairs.iter().map(|p| p.ridge_weight * dot(&w[p.loading_range(k)], &w[p.loading_range(k)])).sum()
}

/// Value of the ridge of the loadings; adds `scale` times its gradient to `gradient`.
pub fn ridge_loadings_adjoint(problem: &Problem, w: &[f64], scale: f64, gradient: &mut [f64]) -> f64 {
    let k = problem.factors();
    for p in &problem.pairs {
        let slope = 2.0 * scale * p.ridge_weight;
        for i in p.loading_range(k) {
            gradient[i] += slope * w[i];
        }
    }
    ridge_loadings(problem, w)
}

/// Value of the ridge of the latent.
pub fn ridge_latent(problem: &Problem, z: &[f64]) -> f64 {
    let k = problem.factors();
    let mut total = 0.0;
    for (t, track) in problem.tracks.iter().enumerate() {
        let run = &problem.runs[track.run];
        let nodes = z[problem.latent_range(t)].chunks_exact(k).enumerate();
        total += track.share * nodes.map(|(i, node)| run.node_weight(i) * dot(node, node)).sum::<f64>();
    }
    total
}

/// Value of the ridge of the latent; adds `scale` times its gradient to `gradient`.
pub fn ridge_latent_adjoint(problem: &Problem, z: &[f64], scale: f64, gradient: &mut [f64]) -> f64 {
    let k = problem.factors();
    for (t, track) in problem.tracks.iter().enumerate() {
        let run = &problem.runs[track.run];
        let slope = 2.0 * scale * track.share;
        let nodes = z[problem.latent_range(t)].chunks_exact(k);
        let gradients = gradient[problem.latent_range(t)].chunks_exact_mut(k);
        for (i, (node, gradient)) in nodes.zip(gradients).enumerate() {
            let slope = slope * run.node_weight(i);
            for (g, v) in gradient.iter_mut().zip(node) {
                *g += slope * v;
            }
        }
    }
    ridge_latent(problem, z)
}

/// Value of the roughness of the latent.
pub fn roughness(problem: &Problem, z: &[f64]) -> f64 {
    let k = problem.factors();
    let mut total = 0.0;
    for (t, track) in problem.tracks.iter().enumerate() {
        let z = &z[problem.latent_range(t)];
        let squares: f64 = z[k..].iter().zip(z).map(|(b, a)| (b - a).powi(2)).sum();
        total += track.share * problem.runs[track.run].roughness_weight() * squares;
    }
    total
}

/// Value of the roughness of the latent; adds `scale` times its gradient to `gradient`.
pub fn roughness_adjoint(problem: &Problem, z: &[f64], scale: f64, gradient: &mut [f64]) -> f64 {
    let k = problem.factors();
    for (t, track) in problem.tracks.iter().enumerate() {
        let slope = 2.0 * scale * track.share * problem.runs[track.run].roughness_weight();
        let z = &z[problem.latent_range(t)];
        let gradient = &mut gradient[problem.latent_range(t)];
        for i in k..z.len() {
            let step = slope * (z[i] - z[i - k]);
            gradient[i] += step;
            gradient[i - k] -= step;
        }
    }
    roughness(problem, z)
}

/// Value of the coupling; 0 where participants share their paths.
pub fn coupling(problem: &Problem, z: &[f64]) -> f64 {
    coupling_adjoint(problem, z, 0.0, &mut vec![0.0; z.len()])
}

/// Value of the coupling; adds `scale` times its gradient to `gradient`.
pub fn coupling_adjoint(problem: &Problem, z: &[f64], scale: f64, gradient: &mut [f64]) -> f64 {
    let Some(matrix) = &problem.coupling else { return 0.0 };
    let (k, n) = (problem.factors(), problem.groups.len());
    let mut total = 0.0;
    for (r, run) in problem.runs.iter().enumerate() {
        let share = 1.0 / (n * problem.runs.len()) as f64;
        for p in 0..n {
            let own = problem.latent_range(r * n + p);
            for q in 0..n {
                let other = &z[problem.latent_range(r * n + q)];
                let weight = share * matrix[p * n + q];
                for i in 0..run.grid.nodes {
                    let weight = weight * run.node_weight(i);
                    for at in i * k..(i + 1) * k {
                        total += weight * z[own.start + at] * other[at];
                        gradient[own.start + at] += 2.0 * scale * weight * other[at];
                    }
                }
            }
        }
    }
    total
}
