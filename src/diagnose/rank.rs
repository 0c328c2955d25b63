//! Rank-normalised split R-hat (Vehtari, Gelman, Simpson, Carpenter and Buerkner 2021, Bayesian Analysis 16).
//!
//! Chains are split into halves of n draws, S draws in all. With average ranks r, z = Phi^-1((r - 3/8) / (S + 1/4)) and
//! R-hat = sqrt(var(means) / mean(variances) + (n - 1) / n) over the halves. Bulk takes the ranks of x, folded those of
//! |x - median|; the larger of the two is reported.

use super::draws::{Draws, interpolate};
use super::moments::{is_constant, mean, variance};
use statrs::function::erf::erfc_inv;
use std::f64::consts::SQRT_2;

/// Rank-normalised split R-hat. `None` for a single chain, whose mixing with others cannot be seen, and for a constant
/// quantity; infinite when every chain stands still at values of its own.
pub fn r_hat(draws: &Draws) -> Option<f64> {
    let scores = Scores::new(2 * draws.half() * draws.chains());
    r_hat_of(draws, &scores, &scores.bulk(draws))
}

/// [`r_hat`] with the normal scores already at hand.
pub(super) fn r_hat_of(draws: &Draws, scores: &Scores, bulk: &[f64]) -> Option<f64> {
    if draws.chains() < 2 || draws.is_constant() {
        return None;
    }
    let bulk = split_r_hat(bulk, draws.half())?;
    // Two values placed evenly about their median fold into one: then only the bulk can tell.
    Some(split_r_hat(&scores.folded(draws), draws.half()).map_or(bulk, |folded| bulk.max(folded)))
}

/// R-hat of half chains of `half` values each, one after another; `None` if they are all one value.
fn split_r_hat(values: &[f64], half: usize) -> Option<f64> {
    if is_constant(values) {
        return None;
    }
    let means: Vec<f64> = values.chunks(half).map(mean).collect();
    let variances: Vec<f64> = values.chunks(half).map(variance).collect();
    Some((variance(&means) / mean(&variances) + (half - 1) as f64 / half as f64).sqrt())
}

/// Normal scores of the ranks 1 to S.
pub(super) struct Scores {
    count: usize,
    /// Scores of the integer ranks; the upper half mirrors the lower one.
    integer: Vec<f64>,
}

impl Scores {
    pub(super) fn new(count: usize) -> Self {
        let mut integer = vec![0.0; count];
        for i in 0..count / 2 {
            integer[i] = score((i + 1) as f64, count);
            integer[count - 1 - i] = -integer[i];
        }
        Self { count, integer }
    }

    /// Scores of the draws in half chains.
    pub(super) fn bulk(&self, draws: &Draws) -> Vec<f64> {
        self.of(&draws.split(|x| x), &draws.split_order())
    }

    /// Scores of the absolute distances from the median of the draws in half chains.
    fn folded(&self, draws: &Draws) -> Vec<f64> {
        let values = draws.split(|x| x);
        let order = draws.split_order();
        let median = interpolate(order.len(), 0.5, |i| values[order[i]]);
        let distances: Vec<f64> = values.iter().map(|x| (x - median).abs()).collect();
        // Distances fall along the order up to the median and rise beyond it, so merging outwards sorts them.
        let (mut low, mut high) = {
            let above = order.partition_point(|&i| values[i] < median);
            (order[..above].iter().rev().peekable(), order[above..].iter().peekable())
        };
        let mut outwards = Vec::with_capacity(order.len());
        while let Some(&next) = match (low.peek(), high.peek()) {
            (Some(&&a), Some(&&b)) if distances[a] <= distances[b] => low.next(),
            (Some(_), None) => low.next(),
            _ => high.next(),
        } {
            outwards.push(next);
        }
        self.of(&distances, &outwards)
    }

    /// Scores of the average ranks of `values`, whose ascending order is `order`.
    fn of(&self, values: &[f64], order: &[usize]) -> Vec<f64> {
        let mut out = vec![0.0; order.len()];
        let mut start = 0;
        for tied in order.chunk_by(|&a, &b| values[a] == values[b]) {
            let end = start + tied.len();
            let z = if tied.len() % 2 == 1 {
                self.integer[(start + end - 1) / 2]
            } else {
                score((start + end + 1) as f64 / 2.0, self.count)
            };
            for &i in tied {
                out[i] = z;
            }
            start = end;
        }
        out
    }
}

/// Phi^-1((rank - 3/8) / (count + 1/4)).
fn score(rank: f64, count: usize) -> f64 {
    -SQRT_2 * erfc_inv(2.0 * (rank - 0.375) / (count as f64 + 0.25))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn naive_scores(values: &[f64]) -> Vec<f64> {
        let rank = |x: f64| {
            let below = values.iter().filter(|&&y| y < x).count() as f64;
            let tied = values.iter().filter(|&&y| y == x).count() as f64;
            below + (tied + 1.0) / 2.0
        };
        values.iter().map(|&x| score(rank(x), values.len())).collect()
    }

    fn chains(count: usize, draws: usize, levels: f64) -> Vec<Vec<f64>> {
        let value = |c: usize, t: usize| ((c * 131 + t * t * 17 + t) as f64 * 0.37).sin() * levels;
        (0..count).map(|c| (0..draws).map(|t| value(c, t).round() / 3.0).collect()).collect()
    }

    #[test]
    fn scores_agree_with_counted_ranks_also_under_ties_and_odd_lengths() {
        for (draws, levels) in [(4, 3.0), (7, 2.0), (50, 4.0), (51, 40.0), (61, 1e6), (8, 0.4)] {
            let chains = chains(3, draws, levels);
            let slices: Vec<&[f64]> = chains.iter().map(Vec::as_slice).collect();
            let draws = Draws::new(&slices).unwrap();
            let scores = Scores::new(2 * draws.half() * 3);
            let split = draws.split(|x| x);
            let close = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(x, y)| (x - y).abs() < 1e-13);
            assert!(close(&scores.bulk(&draws), &naive_scores(&split)));
            let mut sorted = split.clone();
            sorted.sort_by(f64::total_cmp);
            let median = (sorted[sorted.len() / 2 - 1] + sorted[sorted.len() / 2]) / 2.0;
            let distances: Vec<f64> = split.iter().map(|x| (x - median).abs()).collect();
            assert!(close(&scores.folded(&draws), &naive_scores(&distances)));
        }
    }

    #[test]
    fn score_inverts_the_normal_distribution_function() {
        for rank in [1.0, 1.5, 10.0, 200.5, 399.0, 400.0] {
            let p = crate::math::special::ndtr(score(rank, 400));
            assert!((p / ((rank - 0.375) / 400.25) - 1.0).abs() < 1e-14, "rank {rank}");
        }
    }
}
