//! Transitions of the state across a gap: A = exp(G d) and Q = integral of exp(G s) b b' exp(G' s) over the gap.
//!
//! Both are power series in a gap that is halved until norm(G) d <= 1, then doubled back: A <- A A, Q <- Q + A Q A'
//! (Van Loan 1978; Higham 2005). The powers of G are formed once per evaluation, so that a gap costs a few matrix sums
//! and products; nothing is subtracted, so that Q keeps its digits however small the gap. Since the stationary
//! covariance is I for all parameters, dQ = -(dA A' + A dA'), so derivatives need dA alone.
//! Gaps that differ by no more than the rounding of their times are one gap.

use super::cascade::Cascade;
use super::small::{Part, Shape, axpy, multiply, transpose};

/// Terms of the series: 1 / 19! is below rounding.
const TERMS: usize = 19;

/// Power series of one evaluation.
#[derive(Debug, Default)]
pub(super) struct Series {
    side: usize,
    norm: f64,
    generator: Vec<f64>,
    /// G^k / k!, k from 0.
    powers: Vec<Vec<f64>>,
    /// Coefficients of Q, k from 1.
    noises: Vec<Vec<f64>>,
    scratch: [Vec<f64>; 3],
    levels: Vec<Vec<f64>>,
}

/// A, its transpose, and Q of one gap.
#[derive(Debug, Clone, Default)]
pub(super) struct Transition {
    pub gap: f64,
    pub matrix: Vec<f64>,
    pub transposed: Vec<f64>,
    pub noise: Vec<f64>,
}

impl Series {
    /// Forms the powers for `cascade`.
    pub fn set(&mut self, cascade: &Cascade) {
        let n = cascade.side;
        self.side = n;
        self.generator.clone_from(&cascade.generator);
        let row_sum = |i: usize| self.generator[i * n..(i + 1) * n].iter().map(|x| x.abs()).sum::<f64>();
        self.norm = (0..n).map(row_sum).fold(0.0, f64::max);
        for buffer in &mut self.scratch {
            buffer.clear();
            buffer.resize(n * n, 0.0);
        }
        let mut identity = vec![0.0; n * n];
        (0..cascade.order).for_each(|i| identity[i * n + i] = 1.0);
        let mut noise = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..n {
                noise[i * n + j] = cascade.drive[i] * cascade.drive[j];
            }
        }
        self.powers = vec![identity];
        self.noises = vec![noise];
        for k in 1..TERMS {
            let mut power = vec![0.0; n * n];
            multiply(
                &mut power,
                false,
                1.0 / k as f64,
                (&self.generator, &self.powers[k - 1]),
                n,
                Shape::Lower,
                Part::All,
            );
            self.powers.push(power);
            // G Q + its transpose, over k + 1.
            let mut half = vec![0.0; n * n];
            let scale = 1.0 / (k + 1) as f64;
            multiply(&mut half, false, scale, (&self.generator, &self.noises[k - 1]), n, Shape::LowerLeft, Part::All);
            let mut noise = vec![0.0; n * n];
            transpose(&mut noise, &half, n);
            axpy(&mut noise, 1.0, &half);
            self.noises.push(noise);
        }
    }

    /// How often `gap` is halved, and what is left.
    fn halve(&self, gap: f64) -> (usize, f64) {
        let size = self.norm * gap;
        let halvings = if size > 1.0 { size.log2().ceil() as usize } else { 0 };
        (halvings, gap * 0.5f64.powi(halvings as i32))
    }

    fn sum_powers(&self, step: f64, out: &mut [f64]) {
        out.copy_from_slice(&self.powers[0]);
        let mut h = 1.0;
        for power in &self.powers[1..] {
            h *= step;
            axpy(out, h, power);
        }
    }

    /// The transition across `gap` > 0.
    pub fn transition(&mut self, gap: f64, out: &mut Transition) {
        let n = self.side;
        for buffer in [&mut out.matrix, &mut out.transposed, &mut out.noise] {
            buffer.clear();
            buffer.resize(n * n, 0.0);
        }
        out.gap = gap;
        let (halvings, step) = self.halve(gap);
        self.sum_powers(step, &mut out.matrix);
        let mut h = 1.0;
        for noise in &self.noises {
            h *= step;
            axpy(&mut out.noise, h, noise);
        }
        let [product, square, _] = &mut self.scratch;
        for _ in 0..halvings {
            transpose(&mut out.transposed, &out.matrix, n);
            multiply(product, false, 1.0, (&out.matrix, &out.noise), n, Shape::LowerLeft, Part::All);
            let factors = (&product[..], &out.transposed[..]);
            multiply(&mut out.noise, true, 1.0, factors, n, Shape::UpperRight, Part::Symmetric);
            multiply(square, false, 1.0, (&out.matrix, &out.matrix), n, Shape::Lower, Part::All);
            std::mem::swap(square, &mut out.matrix);
        }
        transpose(&mut out.transposed, &out.matrix, n);
    }

    /// Adds to `coefficients` (one matrix per power of G) what the derivative `adjoint` in A across `gap` says of them.
    /// `adjoint` is used up.
    pub fn pull(&mut self, gap: f64, adjoint: &mut [f64], coefficients: &mut [Vec<f64>]) {
        let n = self.side;
        let (halvings, step) = self.halve(gap);
        if self.levels.len() < halvings + 1 {
            self.levels.resize(halvings + 1, Vec::new());
        }
        let mut levels = std::mem::take(&mut self.levels);
        levels.iter_mut().for_each(|l| l.resize(n * n, 0.0));
        self.sum_powers(step, &mut levels[0]);
        for i in 1..halvings {
            let (before, here) = levels.split_at_mut(i);
            multiply(&mut here[0], false, 1.0, (&before[i - 1], &before[i - 1]), n, Shape::Lower, Part::All);
        }
        let [sum, transposed, _] = &mut self.scratch;
        for level in levels[..halvings].iter().rev() {
            transpose(transposed, level, n);
            multiply(sum, false, 1.0, (adjoint, transposed), n, Shape::UpperRight, Part::All);
            multiply(sum, true, 1.0, (transposed, adjoint), n, Shape::UpperLeft, Part::All);
            adjoint.copy_from_slice(sum);
        }
        self.levels = levels;
        let mut h = 1.0;
        for coefficient in &mut coefficients[1..] {
            h *= step;
            axpy(coefficient, h, adjoint);
        }
    }

    /// Zeroed room for [`Series::pull`].
    pub fn coefficients(&self) -> Vec<Vec<f64>> {
        vec![vec![0.0; self.side * self.side]; TERMS]
    }

    /// Adds to `generator` the derivative in G, given those in its powers; these are used up.
    pub fn pull_powers(&mut self, coefficients: &mut [Vec<f64>], generator: &mut [f64]) {
        let n = self.side;
        let mut turned = vec![0.0; n * n];
        transpose(&mut turned, &self.generator, n);
        for k in (1..TERMS).rev() {
            let (lower, upper) = coefficients.split_at_mut(k);
            let scale = 1.0 / k as f64;
            multiply(&mut lower[k - 1], true, scale, (&turned, &upper[0]), n, Shape::UpperLeft, Part::All);
            let transposed = &mut self.scratch[0];
            transpose(transposed, &self.powers[k - 1], n);
            multiply(generator, true, scale, (&upper[0], transposed), n, Shape::UpperRight, Part::All);
        }
    }

    /// `out` = G A.
    pub fn slope(&self, matrix: &[f64], out: &mut [f64]) {
        multiply(out, false, 1.0, (&self.generator, matrix), self.side, Shape::Lower, Part::All);
    }
}

/// Distinct gaps of a run and which of them follows each event.
#[derive(Debug, Default)]
pub(super) struct Gaps {
    /// Distinct gaps, ascending.
    pub distinct: Vec<f64>,
    /// Per event, the gap before it: an index into `distinct`, or none where it shares its time with the event before.
    pub before: Vec<Option<u32>>,
}

impl Gaps {
    /// Gaps between ascending `times`; the first event has none.
    pub fn set(&mut self, times: &[f64]) {
        let scale = times.iter().fold(0.0f64, |m, t| m.max(t.abs()));
        let tolerance = 4.0 * f64::EPSILON * scale;
        self.distinct.clear();
        self.before.clear();
        self.before.resize(times.len(), None);
        let mut order: Vec<(f64, u32)> = (1..times.len()).map(|i| (times[i] - times[i - 1], i as u32)).collect();
        order.retain(|(gap, _)| *gap > tolerance);
        order.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (gap, event) in order {
            if self.distinct.last().is_none_or(|first| gap - first > tolerance) {
                self.distinct.push(gap);
            }
            self.before[event as usize] = Some(self.distinct.len() as u32 - 1);
        }
    }
}
