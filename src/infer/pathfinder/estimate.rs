//! The normal that a quasi-Newton climb has seen: covariance from changes of position and gradient.
//!
//! With steps s, changes y of the gradient of -log pi and r = 1 / y's, the BFGS inverse Hessian is
//! H+ = (I - r s y') H (I - r y s') + r s s'. So a draw of N(0, H+) is (I - r s y') v + sqrt(r) s n, with v ~ N(0, H) and
//! n ~ N(0, 1); B = H^-1 follows B+ v = B v - B s (s'B v) / s'B s + y (y'v) / y's and det B+ = det B y's / s'B s. Nothing
//! is factorised: all work is linear in d times the number of pairs. Nocedal & Wright 2006, chapter 6.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;
use std::collections::VecDeque;

/// Pairs that are remembered.
const HISTORY: usize = 6;
/// Smallest y's / y'y of a pair that is taken in.
const SMALLEST_CURVATURE: f64 = 1e-12;

/// One step of the climb.
#[derive(Debug, Clone)]
struct Pair {
    step: Vec<f64>,
    change: Vec<f64>,
    /// y's.
    product: f64,
}

/// Changes of position and gradient so far, and the diagonal that they start from.
#[derive(Debug, Clone)]
pub(super) struct Memory {
    pairs: VecDeque<Pair>,
    /// Diagonal of the first H, length d.
    diagonal: Vec<f64>,
}

impl Memory {
    pub fn new(dim: usize) -> Memory {
        Memory { pairs: VecDeque::new(), diagonal: vec![1.0; dim] }
    }

    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// Takes in a step and the change of the gradient of -log pi over it; false where these do not curve upwards.
    pub fn add(&mut self, step: Vec<f64>, change: Vec<f64>) -> bool {
        let product = dot(&step, &change);
        if !(product > SMALLEST_CURVATURE * dot(&change, &change) && product.is_finite()) {
            return false;
        }
        // The diagonal of the BFGS update of a diagonal matrix (Gilbert & Lemarechal 1989).
        let along: f64 = change.iter().zip(&self.diagonal).map(|(y, a)| y * y * a).sum();
        let across: f64 = step.iter().zip(&self.diagonal).map(|(s, a)| s * s / a).sum();
        for ((a, s), y) in self.diagonal.iter_mut().zip(&step).zip(&change) {
            let inverse = along / *a + y * y - along * s * s / (across * *a * *a);
            let renewed = product / inverse;
            if renewed > 0.0 && renewed.is_finite() {
                *a = renewed;
            }
        }
        if self.pairs.len() == HISTORY {
            self.pairs.pop_front();
        }
        self.pairs.push_back(Pair { step, change, product });
        true
    }

    /// H times `vector`, length d.
    pub fn apply(&self, vector: &[f64]) -> Vec<f64> {
        let mut v = vector.to_vec();
        let mut weights = Vec::with_capacity(self.pairs.len());
        for pair in self.pairs.iter().rev() {
            let weight = dot(&pair.step, &v) / pair.product;
            add(&mut v, -weight, &pair.change);
            weights.push(weight);
        }
        v.iter_mut().zip(&self.diagonal).for_each(|(v, a)| *v *= a);
        for (pair, weight) in self.pairs.iter().zip(weights.iter().rev()) {
            let back = dot(&pair.change, &v) / pair.product;
            add(&mut v, weight - back, &pair.step);
        }
        v
    }

    /// A draw of N(0, H), length d.
    pub fn draw(&self, rng: &mut ChaCha8Rng) -> Vec<f64> {
        let mut v: Vec<f64> = self.diagonal.iter().map(|a| a.sqrt() * rng.sample::<f64, _>(StandardNormal)).collect();
        for pair in &self.pairs {
            let weight = dot(&pair.change, &v) / pair.product;
            let fresh = rng.sample::<f64, _>(StandardNormal) / pair.product.sqrt();
            add(&mut v, fresh - weight, &pair.step);
        }
        v
    }

    /// What the log density of N(0, H) needs.
    pub fn precision(&self) -> Precision<'_> {
        let mut out = Precision { memory: self, bent: Vec::new(), log_determinant: 0.0 };
        out.log_determinant = -self.diagonal.iter().map(|a| a.ln()).sum::<f64>();
        for pair in &self.pairs {
            let image = out.apply(&pair.step);
            let product = dot(&pair.step, &image);
            out.log_determinant += (pair.product / product).ln();
            out.bent.push((image, product));
        }
        out
    }
}

/// B = H^-1, ready to be applied.
pub(super) struct Precision<'a> {
    memory: &'a Memory,
    /// B s and s'B s of every pair, with the B before it.
    bent: Vec<(Vec<f64>, f64)>,
    log_determinant: f64,
}

impl Precision<'_> {
    /// B times `vector`, with the pairs that were taken in so far.
    fn apply(&self, vector: &[f64]) -> Vec<f64> {
        let mut out: Vec<f64> = vector.iter().zip(&self.memory.diagonal).map(|(v, a)| v / a).collect();
        for (pair, (image, product)) in self.memory.pairs.iter().zip(&self.bent) {
            add(&mut out, -dot(image, vector) / product, image);
            add(&mut out, dot(&pair.change, vector) / pair.product, &pair.change);
        }
        out
    }

    /// Log density of N(0, H) at `v`, length d.
    pub fn log_density(&self, v: &[f64]) -> f64 {
        let constant = v.len() as f64 * (2.0 * std::f64::consts::PI).ln();
        -0.5 * (constant - self.log_determinant + dot(v, &self.apply(v)))
    }
}

pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn add(to: &mut [f64], factor: f64, what: &[f64]) {
    to.iter_mut().zip(what).for_each(|(t, w)| *t += factor * w);
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    const DIM: usize = 3;
    const HESSIAN: [[f64; DIM]; DIM] = [[4.0, 1.0, 0.0], [1.0, 3.0, 0.5], [0.0, 0.5, 0.1]];

    /// After some steps on a quadratic.
    fn taught() -> Memory {
        let mut memory = Memory::new(DIM);
        for step in [[1.0, 0.0, 0.3], [-0.2, 0.5, 0.0], [0.1, 0.4, -1.0], [0.0, 0.3, 2.0]] {
            let change = HESSIAN.iter().map(|row| dot(row, &step)).collect();
            assert!(memory.add(step.to_vec(), change));
        }
        memory
    }

    /// H and B as matrices, column by column.
    fn matrix(apply: impl Fn(&[f64]) -> Vec<f64>) -> Vec<Vec<f64>> {
        (0..DIM).map(|i| apply(&std::array::from_fn::<f64, DIM, _>(|j| f64::from(u8::from(i == j))))).collect()
    }

    #[test]
    fn h_and_b_are_symmetric_and_inverse_and_keep_the_latest_pair() {
        let memory = taught();
        let precision = memory.precision();
        let (h, b) = (matrix(|v| memory.apply(v)), matrix(|v| precision.apply(v)));
        for (i, row) in h.iter().enumerate() {
            for (j, across) in row.iter().enumerate() {
                let product: f64 = row.iter().zip(&b).map(|(x, column)| x * column[j]).sum();
                assert!((product - f64::from(u8::from(i == j))).abs() < 1e-10);
                assert!((across - h[j][i]).abs() < 1e-12);
            }
        }
        let last = &memory.pairs[3];
        let image = memory.apply(&last.change);
        assert!(image.iter().zip(&last.step).all(|(a, b)| (a - b).abs() < 1e-12));
        let cross = b[1][1] * b[2][2] - b[1][2] * b[2][1];
        let determinant = b[0][0] * cross - b[0][1] * (b[1][0] * b[2][2] - b[1][2] * b[2][0])
            + b[0][2] * (b[1][0] * b[2][1] - b[1][1] * b[2][0]);
        assert!((determinant.ln() - precision.log_determinant).abs() < 1e-10);
    }

    #[test]
    fn draws_have_covariance_h() {
        let memory = taught();
        let h = matrix(|v| memory.apply(v));
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let n = 40_000;
        let mut sums = [[0.0; DIM]; DIM];
        for _ in 0..n {
            let v = memory.draw(&mut rng);
            for i in 0..DIM {
                (0..DIM).for_each(|j| sums[i][j] += v[i] * v[j] / f64::from(n));
            }
        }
        for i in 0..DIM {
            for j in 0..DIM {
                let sd = ((h[i][i] * h[j][j] + h[i][j].powi(2)) / f64::from(n)).sqrt();
                assert!(((sums[i][j] - h[i][j]) / sd).abs() < 4.0, "{i} {j}");
            }
        }
    }

    #[test]
    fn steps_along_which_the_density_does_not_curve_are_left_out() {
        let mut memory = Memory::new(2);
        assert!(!memory.add(vec![1.0, 0.0], vec![-1.0, 0.0]));
        assert!(!memory.add(vec![1.0, 0.0], vec![0.0, 0.0]));
        assert!(memory.is_empty());
    }
}
