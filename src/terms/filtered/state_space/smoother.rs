//! The backward recursion: smoothed moments at nodes and the score of transitions and readouts, without any inverse of Q.
//!
//! With the vector r and the matrix N of de Jong (1988), just before the update of a node
//! r <- r + H' L e~, e~ = B^{-1}(u - L' f) - W' r, and N <- (I - W L'H)' N (I - W L'H) + H' L B^{-1} L' H; across a gap
//! r <- A' r, N <- A' N A. The smoothed state after the node's update is m + P r, and, free of cancellation at tiny noise,
//! Cov(x, f) L = W - P N W. The score of a transition (Koopman & Shephard 1992) is dL/dQ = (r r' - N) / 2 and
//! dL/dA = r m' + (r r' - N) A P; with dQ = -(dA A' + A dA') it is one matrix per gap.

use super::filter::{Sizes, Updated, apply};
use super::small::{Part, Shape, add_outer, add_product, axpy, dot, multiply, transpose};
use super::system::Readout;
use super::transition::Transition;

/// r and N, and the buffers of a step.
#[derive(Debug, Default)]
pub(super) struct Smoother {
    sizes: Sizes,
    r: Vec<f64>,
    /// Blocks k >= l.
    n: Vec<f64>,
    /// N W, `[k][a]`.
    passed: Vec<f64>,
    /// P r, then P N W.
    shifted: Vec<f64>,
    spread: Vec<f64>,
    /// N W L' by factor pair, `[k][l]`.
    coupled: Vec<f64>,
    next: Vec<f64>,
    product: [Vec<f64>; 3],
    small: [Vec<f64>; 2],
    /// e~ of the last node.
    pub error: Vec<f64>,
    /// Smoothed f of the last node, length K.
    pub mean: Vec<f64>,
    /// Cov(f) L of the last node, or Cov(f) of the last query: K x K.
    pub covariance: Vec<f64>,
}

impl Smoother {
    /// Starts behind the last event.
    pub fn begin(&mut self, sizes: Sizes) {
        self.sizes = sizes;
        let k = sizes.factors;
        let lengths = [
            (&mut self.r, sizes.vector()),
            (&mut self.n, sizes.blocks()),
            (&mut self.passed, sizes.vectors()),
            (&mut self.shifted, sizes.vector()),
            (&mut self.spread, sizes.vectors()),
            (&mut self.coupled, sizes.vectors()),
            (&mut self.next, sizes.vector()),
            (&mut self.error, k),
            (&mut self.mean, k),
            (&mut self.covariance, k * k),
        ];
        for (buffer, len) in lengths {
            buffer.clear();
            buffer.resize(len, 0.0);
        }
        for buffer in &mut self.product {
            buffer.clear();
            buffer.resize(sizes.block(), 0.0);
        }
        for buffer in &mut self.small {
            buffer.clear();
            buffer.resize(k * k, 0.0);
        }
    }

    /// Moments of f at a query, an event that says nothing; `mean` and `covariance` are the filtered ones.
    pub fn query(&mut self, readout: &Readout, (mean, covariance): (&[f64], &[f64])) {
        let (k_count, n) = (self.sizes.factors, self.sizes.side);
        self.smooth_mean(readout, mean, covariance);
        self.see(readout, covariance);
        apply(self.sizes, &self.n, &self.coupled, k_count, &mut self.passed);
        for k in 0..k_count {
            for a in 0..k_count {
                let mut c = dot(&readout.row, &self.coupled[(k * k_count + a) * n..][..n]);
                for l in 0..k_count {
                    let seen = &self.coupled[(l * k_count + k) * n..][..n];
                    c -= dot(seen, &self.passed[(l * k_count + a) * n..][..n]);
                }
                self.covariance[k * k_count + a] = c;
            }
        }
    }

    /// P_kl c into `coupled[k][l]`.
    fn see(&mut self, readout: &Readout, covariance: &[f64]) {
        let (k_count, n) = (self.sizes.factors, self.sizes.side);
        self.spread.fill(0.0);
        for k in 0..k_count {
            self.spread[(k * k_count + k) * n..][..n].copy_from_slice(&readout.row);
        }
        apply(self.sizes, covariance, &self.spread, k_count, &mut self.coupled);
    }

    fn smooth_mean(&mut self, readout: &Readout, mean: &[f64], covariance: &[f64]) {
        let n = self.sizes.side;
        apply(self.sizes, covariance, &self.r, 1, &mut self.shifted);
        axpy(&mut self.shifted, 1.0, mean);
        for (mu, state) in self.mean.iter_mut().zip(self.shifted.chunks_exact(n)) {
            *mu = dot(&readout.row, state);
        }
    }

    /// Goes back over the update of a node, whose smoothed moments are left in the public fields. `row` gets the
    /// derivative in the readout unless that is the path.
    pub fn node(
        &mut self,
        readout: &Readout,
        lower: &[f64],
        updated: Updated<'_>,
        (mean, covariance): (&[f64], &[f64]),
        row: &mut [f64],
    ) {
        let (k_count, n) = (self.sizes.factors, self.sizes.side);
        let gain = updated.gain;
        self.smooth_mean(readout, mean, covariance);
        apply(self.sizes, &self.n, gain, k_count, &mut self.passed);
        let [mut inner, mut weights] = std::mem::take(&mut self.small);
        for a in 0..k_count {
            let direction = |a: usize, k: usize| (k * k_count + a) * n..(k * k_count + a + 1) * n;
            self.error[a] = updated.error[a];
            for k in 0..k_count {
                self.error[a] -= dot(&self.r[k * n..(k + 1) * n], &gain[direction(a, k)]);
            }
            for b in 0..k_count {
                inner[a * k_count + b] = updated.inverse[a * k_count + b];
                for k in 0..k_count {
                    let (w, x) = (&gain[direction(a, k)], &self.passed[direction(b, k)]);
                    inner[a * k_count + b] += dot(w, x);
                }
            }
        }
        if readout.is_path {
            self.see(readout, covariance);
            for k in 0..k_count {
                for a in 0..k_count {
                    let mut c = dot(&readout.row, &gain[(k * k_count + a) * n..][..n]);
                    for l in 0..k_count {
                        let seen = &self.coupled[(l * k_count + k) * n..][..n];
                        c -= dot(seen, &self.passed[(l * k_count + a) * n..][..n]);
                    }
                    self.covariance[k * k_count + a] = c;
                }
            }
        } else {
            apply(self.sizes, covariance, &self.passed, k_count, &mut self.spread);
            for k in 0..k_count {
                for a in 0..k_count {
                    let z = &mut self.spread[(k * k_count + a) * n..][..n];
                    for (z, w) in z.iter_mut().zip(&gain[(k * k_count + a) * n..]) {
                        *z = w - *z;
                    }
                    self.covariance[k * k_count + a] = dot(&readout.row, z);
                    axpy(row, -lower[k * k_count + a], z);
                }
            }
        }
        // L M L' and what the node pulls at each factor.
        for k in 0..k_count {
            let pull: f64 = (0..=k).map(|a| lower[k * k_count + a] * self.error[a]).sum();
            if !readout.is_path {
                axpy(row, pull, &self.shifted[k * n..(k + 1) * n]);
            }
            axpy(&mut self.r[k * n..(k + 1) * n], pull, &readout.row);
            for l in 0..k_count {
                let mut sum = 0.0;
                for a in 0..=k {
                    for b in 0..=l {
                        sum += lower[k * k_count + a] * inner[a * k_count + b] * lower[l * k_count + b];
                    }
                }
                weights[k * k_count + l] = sum;
            }
        }
        self.coupled.fill(0.0);
        for k in 0..k_count {
            for l in 0..k_count {
                for a in 0..=l {
                    let x = &self.passed[(k * k_count + a) * n..][..n];
                    axpy(&mut self.coupled[(k * k_count + l) * n..][..n], lower[l * k_count + a], x);
                }
            }
        }
        for ((k, l), block) in self.sizes.pairs().zip(self.n.chunks_exact_mut(n * n)) {
            let (y, back) = (&self.coupled[(k * k_count + l) * n..][..n], &self.coupled[(l * k_count + k) * n..][..n]);
            add_outer(block, -1.0, y, &readout.row, n);
            self.next[..n].copy_from_slice(back);
            axpy(&mut self.next[..n], -weights[k * k_count + l], &readout.row);
            add_outer(block, -1.0, &readout.row, &self.next[..n], n);
        }
        self.small = [inner, weights];
    }

    /// Goes back across a gap, or, where `transition` is none, across no time. With the filtered moments before the gap,
    /// `score` becomes the derivative in A.
    pub fn gap(&mut self, transition: Option<&Transition>, before: Option<(&[f64], &[f64])>, score: &mut [f64]) {
        let n = self.sizes.side;
        let Some(t) = transition else {
            if let Some(before) = before {
                self.next.copy_from_slice(&self.r);
                score.fill(0.0);
                for index in 0..self.sizes.blocks() / (n * n) {
                    self.product[0].copy_from_slice(&self.n[index * n * n..][..n * n]);
                    self.score_block(index, None, before, score);
                }
                self.score_means(before, score);
            }
            return;
        };
        for (next, r) in self.next.chunks_exact_mut(n).zip(self.r.chunks_exact(n)) {
            next.fill(0.0);
            add_product(next, &t.transposed, r, n);
        }
        score.fill(0.0);
        for (index, (k, l)) in self.sizes.pairs().enumerate() {
            let block = &mut self.n[index * n * n..][..n * n];
            multiply(&mut self.product[0], false, 1.0, (block, &t.matrix), n, Shape::LowerRight, Part::All);
            if let Some(before) = before {
                self.score_block(index, Some(t), before, score);
            }
            let part = if k == l { Part::Symmetric } else { Part::All };
            let block = &mut self.n[index * n * n..][..n * n];
            multiply(block, false, 1.0, (&t.transposed, &self.product[0]), n, Shape::UpperLeft, part);
        }
        if let Some(before) = before {
            self.score_means(before, score);
        }
        self.r.copy_from_slice(&self.next);
    }

    /// Adds -N_kl A P_lk - N_lk A P_kl, or, on the diagonal, N_kk A (I - P_kk). N_kl A is in the first product.
    fn score_block(
        &mut self,
        index: usize,
        t: Option<&Transition>,
        (_, covariance): (&[f64], &[f64]),
        score: &mut [f64],
    ) {
        let n = self.sizes.side;
        let diagonal = self.sizes.pairs().nth(index).is_some_and(|(k, l)| k == l);
        let prior = &covariance[index * n * n..][..n * n];
        let [moved, turned, other] = &mut self.product;
        if diagonal {
            multiply(score, true, -1.0, (moved, prior), n, Shape::Full, Part::All);
            axpy(score, 1.0, moved);
            return;
        }
        transpose(turned, prior, n);
        multiply(score, true, -1.0, (moved, turned), n, Shape::Full, Part::All);
        transpose(turned, &self.n[index * n * n..][..n * n], n);
        match t {
            Some(t) => multiply(other, false, 1.0, (turned, &t.matrix), n, Shape::LowerRight, Part::All),
            None => other.copy_from_slice(turned),
        }
        multiply(score, true, -1.0, (other, prior), n, Shape::Full, Part::All);
    }

    /// Adds r_k (m_k + sum over l of P_kl A' r_l - A' r_k)'; A' r is in `next`.
    fn score_means(&mut self, (mean, covariance): (&[f64], &[f64]), score: &mut [f64]) {
        let n = self.sizes.side;
        apply(self.sizes, covariance, &self.next, 1, &mut self.shifted);
        axpy(&mut self.shifted, 1.0, mean);
        axpy(&mut self.shifted, -1.0, &self.next);
        for (r, shifted) in self.r.chunks_exact(n).zip(self.shifted.chunks_exact(n)) {
            add_outer(score, 1.0, r, shifted, n);
        }
    }
}
