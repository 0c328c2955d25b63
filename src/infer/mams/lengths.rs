//! How many steps a trajectory takes: a random length around the tuned one, since a fixed one resonates.
//!
//! The length is L (1/2 + v) and the number of steps its quotient by the step, rounded up or down at random so that its
//! mean is exact: max(1, floor(L (1/2 + v) / step + w)), with v and w uniform or from the Halton sequence in bases 2
//! and 3 (Halton 1960), whose points depend on the number of the transition alone: chains with equal settings take
//! equal numbers of steps.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// Where the randomness of the lengths comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lengths {
    /// Uniform draws of the chain's own generator.
    Uniform,
    /// The Halton sequence, the same for all chains.
    Halton,
}

impl Lengths {
    /// Steps of transition `iteration`, counted from zero, for a mean of `ratio` = L / step; 1 to `most`.
    pub(super) fn steps(self, ratio: f64, most: u32, iteration: usize, rng: &mut ChaCha8Rng) -> u32 {
        let (v, w) = match self {
            Lengths::Uniform => (rng.random::<f64>(), rng.random::<f64>()),
            Lengths::Halton => (radical_inverse(iteration + 1, 2), radical_inverse(iteration + 1, 3)),
        };
        // The cast saturates: a ratio too large for u32 gives `most`.
        ((ratio * (0.5 + v) + w) as u32).clamp(1, most)
    }
}

/// The digits of `n` in `base`, mirrored at the point: in [0, 1).
fn radical_inverse(mut n: usize, base: usize) -> f64 {
    let (mut value, mut weight) = (0.0, 1.0);
    while n > 0 {
        weight /= base as f64;
        value += weight * (n % base) as f64;
        n /= base;
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    #[test]
    fn mirrored_digits() {
        let in_base = |b| (1..7).map(|n| radical_inverse(n, b)).collect::<Vec<f64>>();
        assert_eq!(in_base(2), [0.5, 0.25, 0.75, 0.125, 0.625, 0.375]);
        let thirds = [1.0 / 3.0, 2.0 / 3.0, 1.0 / 9.0, 4.0 / 9.0, 7.0 / 9.0, 2.0 / 9.0];
        assert!(in_base(3).iter().zip(thirds).all(|(a, b)| (a - b).abs() < 1e-15));
    }

    #[test]
    fn the_mean_is_the_ratio_and_the_range_half_of_it_either_way() {
        for rule in [Lengths::Uniform, Lengths::Halton] {
            for ratio in [2.3, 7.0, 40.4] {
                let mut rng = ChaCha8Rng::seed_from_u64(3);
                let n = 20_000;
                let steps: Vec<f64> = (0..n).map(|i| f64::from(rule.steps(ratio, 1000, i, &mut rng))).collect();
                let mean = steps.iter().sum::<f64>() / f64::from(n as u32);
                // Standard error of a uniform of width ratio, plus rounding of variance below 1/4.
                let error = ((ratio * ratio / 12.0 + 0.25) / f64::from(n as u32)).sqrt();
                assert!((mean - ratio).abs() < 4.0 * error, "{rule:?} {ratio}: {mean}");
                assert!(steps.iter().all(|&s| s > ratio / 2.0 - 1.0 && s < 1.5 * ratio + 1.0));
            }
        }
    }

    #[test]
    fn steps_stay_within_their_limits() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        for i in 0..100 {
            assert_eq!(Lengths::Uniform.steps(1e-9, 50, i, &mut rng), 1);
            assert_eq!(Lengths::Uniform.steps(1e300, 50, i, &mut rng), 50);
        }
    }
}
