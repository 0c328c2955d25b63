//! The limited-memory BFGS matrix in compact form, B = theta I - W M W'.
//!
//! With correction pairs S = [s_1 .. s_k], Y = [y_1 .. y_k] (oldest first), W = [Y, theta S] and
//! M^-1 = [[-D, L'], [L, theta S'S]], where D is the diagonal and L the strictly lower triangle of S'Y
//! (Byrd, Nocedal and Schnabel 1994; Byrd, Lu, Nocedal and Zhu 1995). Nothing of size d x d is formed.

use std::collections::VecDeque;

use super::cholesky::{Cholesky, NotPositiveDefinite};

/// a'b in eight fixed lanes, so that the compiler may vectorise and every run adds in the same order.
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut lanes = [0.0; 8];
    let (a_chunks, b_chunks) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest: f64 = a_chunks.remainder().iter().zip(b_chunks.remainder()).map(|(x, y)| x * y).sum();
    for (x, y) in a_chunks.zip(b_chunks) {
        for (lane, (x, y)) in lanes.iter_mut().zip(x.iter().zip(y)) {
            *lane += x * y;
        }
    }
    lanes.iter().sum::<f64>() + rest
}

/// A pair needs s'y above this times y'y: weaker curvature is rounding.
const CURVATURE: f64 = f64::EPSILON;

/// Correction pairs and their Gram matrices.
#[derive(Debug)]
pub(super) struct Compact {
    capacity: usize,
    s: VecDeque<Vec<f64>>,
    y: VecDeque<Vec<f64>>,
    /// S'S, S'Y and Y'Y, one inner deque per row.
    ss: VecDeque<VecDeque<f64>>,
    sy: VecDeque<VecDeque<f64>>,
    yy: VecDeque<VecDeque<f64>>,
    theta: f64,
    /// Factor of theta S'S + L D^-1 L'.
    schur: Option<Cholesky>,
}

impl Compact {
    /// The identity, with room for `capacity` pairs (at least one).
    pub fn new(capacity: usize) -> Self {
        Compact {
            capacity: capacity.max(1),
            s: VecDeque::new(),
            y: VecDeque::new(),
            ss: VecDeque::new(),
            sy: VecDeque::new(),
            yy: VecDeque::new(),
            theta: 1.0,
            schur: None,
        }
    }

    /// Forgets every pair.
    pub fn clear(&mut self) {
        *self = Compact::new(self.capacity);
    }

    /// Number of pairs, k.
    pub fn pairs(&self) -> usize {
        self.s.len()
    }

    pub fn theta(&self) -> f64 {
        self.theta
    }

    /// Adds the step `s` and change of gradient `y`; a pair without positive curvature is left out.
    ///
    /// # Errors
    /// The pivot at which the updated matrix stops being positive definite; the memory is then unusable until cleared.
    pub fn update(&mut self, s: Vec<f64>, y: Vec<f64>) -> Result<(), NotPositiveDefinite> {
        let (curvature, norm) = (dot(&s, &y), dot(&y, &y));
        let usable = curvature > CURVATURE * norm && norm > 0.0 && (norm / curvature).is_finite();
        if !usable {
            return Ok(());
        }
        if self.pairs() == self.capacity {
            self.s.pop_front();
            self.y.pop_front();
            for gram in [&mut self.ss, &mut self.sy, &mut self.yy] {
                gram.pop_front();
                for row in gram {
                    row.pop_front();
                }
            }
        }
        for j in 0..self.pairs() {
            self.ss[j].push_back(dot(&self.s[j], &s));
            self.sy[j].push_back(dot(&self.s[j], &y));
            self.yy[j].push_back(dot(&self.y[j], &y));
        }
        self.s.push_back(s);
        self.y.push_back(y);
        let (Some(s), Some(y)) = (self.s.back(), self.y.back()) else {
            return Ok(());
        };
        self.ss.push_back(self.s.iter().map(|v| dot(v, s)).collect());
        self.sy.push_back(self.y.iter().map(|v| dot(s, v)).collect());
        self.yy.push_back(self.y.iter().map(|v| dot(v, y)).collect());
        self.theta = norm / curvature;
        let k = self.pairs();
        let mut matrix = vec![0.0; k * k];
        for i in 0..k {
            for j in 0..=i {
                // L has entries (i, l) for l < i only.
                let correction: f64 = (0..j).map(|l| self.sy[i][l] * self.sy[j][l] / self.sy[l][l]).sum();
                matrix[i * k + j] = self.theta * self.ss[i][j] + correction;
            }
        }
        self.schur = Some(Cholesky::new(matrix, k)?);
        Ok(())
    }

    /// W' v (length 2k) for `v` of length d.
    pub fn project(&self, v: &[f64]) -> Vec<f64> {
        let y = self.y.iter().map(|column| dot(column, v));
        let s = self.s.iter().map(|column| self.theta * dot(column, v));
        y.chain(s).collect()
    }

    /// Row `i` of W (length 2k).
    pub fn row(&self, i: usize) -> Vec<f64> {
        let y = self.y.iter().map(|column| column[i]);
        let s = self.s.iter().map(|column| self.theta * column[i]);
        y.chain(s).collect()
    }

    /// M v (length 2k).
    pub fn middle(&self, v: &[f64]) -> Vec<f64> {
        let k = self.pairs();
        let Some(schur) = &self.schur else {
            return Vec::new();
        };
        let mut lower: Vec<f64> =
            (0..k).map(|i| v[k + i] + (0..i).map(|j| self.sy[i][j] * v[j] / self.sy[j][j]).sum::<f64>()).collect();
        schur.solve(&mut lower);
        let upper = (0..k).map(|j| {
            let sum: f64 = (j + 1..k).map(|i| self.sy[i][j] * lower[i]).sum();
            (sum - v[j]) / self.sy[j][j]
        });
        upper.chain(lower.iter().copied()).collect()
    }

    /// Writes W u restricted to `indices`, times `factor`, onto `out` (one entry per index).
    pub fn add_expanded(&self, u: &[f64], indices: &[usize], factor: f64, out: &mut [f64]) {
        let k = self.pairs();
        for j in 0..k {
            let (a, b) = (factor * u[j], factor * self.theta * u[k + j]);
            let (y, s) = (&self.y[j], &self.s[j]);
            for (value, &i) in out.iter_mut().zip(indices) {
                *value += a * y[i] + b * s[i];
            }
        }
    }

    /// Solves B_FF p = r over the coordinates `free` (F), with `fixed` its complement; `r` and p have one entry per
    /// free coordinate.
    ///
    /// Woodbury: B_FF^-1 = I / theta + W_F K^-1 W_F' / theta^2 with K = M^-1 - W_F' W_F / theta.
    ///
    /// # Errors
    /// The pivot at which B_FF is found not to be positive definite.
    pub fn solve_free(&self, free: &[usize], fixed: &[usize], r: &[f64]) -> Result<Vec<f64>, NotPositiveDefinite> {
        let (k, theta) = (self.pairs(), self.theta);
        let mut p: Vec<f64> = r.iter().map(|value| value / theta).collect();
        if k == 0 {
            return Ok(p);
        }
        let mut spread = vec![0.0; free.len() + fixed.len()];
        for (&i, &value) in free.iter().zip(r) {
            spread[i] = value;
        }
        let mut u = self.project(&spread);
        self.solve_reduced(fixed, &mut u)?;
        self.add_expanded(&u, free, 1.0 / (theta * theta), &mut p);
        Ok(p)
    }

    /// Replaces `u` by K^-1 u, where K = [[-(D + Y_F'Y_F / theta), C'], [C, theta S_A'S_A]] over free F and fixed A;
    /// C holds (s_i'y_j)_A below the diagonal and -(s_i'y_j)_F on and above it. Its first block is negative definite
    /// and the Schur complement positive definite, so two Cholesky factors solve it.
    fn solve_reduced(&self, fixed: &[usize], u: &mut [f64]) -> Result<(), NotPositiveDefinite> {
        let (k, theta) = (self.pairs(), self.theta);
        let gather = |column: &Vec<f64>| fixed.iter().map(|&i| column[i]).collect::<Vec<f64>>();
        let s: Vec<Vec<f64>> = self.s.iter().map(gather).collect();
        let y: Vec<Vec<f64>> = self.y.iter().map(gather).collect();
        let mut first = vec![0.0; k * k];
        let mut second = vec![0.0; k * k];
        let mut cross = vec![0.0; k * k];
        for i in 0..k {
            for j in 0..k {
                let fixed_sy = dot(&s[i], &y[j]);
                cross[i * k + j] = if i > j { fixed_sy } else { fixed_sy - self.sy[i][j] };
                if j <= i {
                    let free_yy = self.yy[i][j] - dot(&y[i], &y[j]);
                    first[i * k + j] = free_yy / theta;
                    second[i * k + j] = theta * dot(&s[i], &s[j]);
                }
            }
            first[i * k + i] += self.sy[i][i];
        }
        let first = Cholesky::new(first, k)?;
        // Rows of `half` are L^-1 applied to the rows of C, so C F^-1 C' = half half'.
        let mut half = cross.clone();
        for row in half.chunks_exact_mut(k) {
            first.forward(row);
        }
        for i in 0..k {
            for j in 0..=i {
                second[i * k + j] += dot(&half[i * k..(i + 1) * k], &half[j * k..(j + 1) * k]);
            }
        }
        let second = Cholesky::new(second, k)?;
        let (upper, lower) = u.split_at_mut(k);
        let mut solved = upper.to_vec();
        first.solve(&mut solved);
        for (i, value) in lower.iter_mut().enumerate() {
            *value += dot(&cross[i * k..(i + 1) * k], &solved);
        }
        second.solve(lower);
        for (j, value) in upper.iter_mut().enumerate() {
            *value = (0..k).map(|i| cross[i * k + j] * lower[i]).sum::<f64>() - *value;
        }
        first.solve(upper);
        Ok(())
    }
}
