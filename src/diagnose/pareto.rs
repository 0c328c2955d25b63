//! Pareto-smoothed importance sampling: the largest importance ratios are replaced by quantiles of a generalised Pareto
//! distribution that is fitted to them, and its shape says whether the ratios can be used at all.
//!
//! Sources: Vehtari, Simpson, Gelman, Yao, Gabry 2024, Journal of Machine Learning Research 25 (smoothing, thresholds);
//! Zhang, Stephens 2009, Technometrics 51 (the fit).

use super::draws::ascending;
use crate::math::special::log_sum_exp;

/// Fewer ratios than this have no tail to fit.
const SHORTEST_TAIL: usize = 5;

/// Importance weights after smoothing.
#[derive(Debug, Clone, PartialEq)]
pub struct Smoothed {
    /// Logarithms of weights that sum to 1, in the order of the ratios.
    pub log_weights: Vec<f64>,
    /// Shape of the tail of the ratios: they have 1 / k moments. Infinite where there is no tail to fit.
    pub k: f64,
}

/// Smooths log importance ratios, which are known up to a constant. `efficiency` is the effective sample size of the
/// draws over their number; less efficient draws have fewer of them in the tail.
pub fn smooth(log_ratios: &[f64], efficiency: f64) -> Smoothed {
    let count = log_ratios.len();
    let largest = log_ratios.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut log_weights: Vec<f64> = log_ratios.iter().map(|r| r - largest).collect();
    let wanted = (0.2 * count as f64).min(3.0 * (count as f64 / efficiency).sqrt()).ceil() as usize;
    let tail = wanted.min(count.saturating_sub(1));
    let mut k = f64::INFINITY;
    if tail >= SHORTEST_TAIL {
        let order = ascending(&log_weights);
        let (body, tail) = order.split_at(count - tail);
        let cut = log_weights[body[body.len() - 1]].max(f64::MIN_POSITIVE.ln());
        let threshold = cut.exp();
        let excess: Vec<f64> = tail.iter().map(|&i| log_weights[i].exp() - threshold).collect();
        if excess[excess.len() - 1] > excess[0] {
            let (shape, scale) = fit(&excess);
            k = shape;
            if k.is_finite() {
                for (rank, &i) in tail.iter().enumerate() {
                    let p = (rank as f64 + 0.5) / tail.len() as f64;
                    // No weight above the largest ratio that was met.
                    log_weights[i] = (threshold + quantile(p, shape, scale)).ln().min(0.0);
                }
            }
        }
    }
    let total = log_sum_exp(&log_weights);
    log_weights.iter_mut().for_each(|w| *w -= total);
    Smoothed { log_weights, k }
}

/// Shape and scale of a generalised Pareto distribution of ascending excesses: the mean over a profile posterior, with
/// the shape drawn towards 1/2 as by ten more values.
fn fit(excess: &[f64]) -> (f64, f64) {
    let n = excess.len() as f64;
    let (quartile, largest) = (excess[(n / 4.0 + 0.5).floor() as usize - 1], excess[excess.len() - 1]);
    let grid = 30 + n.sqrt().floor() as usize;
    let shape_at = |b: f64| excess.iter().map(|x| (-b * x).ln_1p()).sum::<f64>() / n;
    let candidates: Vec<f64> = (1..=grid)
        .map(|i| 1.0 / largest + (1.0 - (grid as f64 / (i as f64 - 0.5)).sqrt()) / (3.0 * quartile))
        .filter(|b| b.is_finite() && *b != 0.0)
        .collect();
    let profile: Vec<f64> = candidates
        .iter()
        .map(|&b| {
            let k = shape_at(b);
            n * ((-b / k).ln() - k - 1.0)
        })
        .collect();
    let total = log_sum_exp(&profile);
    let b: f64 = candidates.iter().zip(&profile).map(|(b, l)| b * (l - total).exp()).sum();
    let k = shape_at(b);
    ((n * k + 5.0) / (n + 10.0), -k / b)
}

/// The quantile at `p` of a generalised Pareto distribution that starts at 0.
fn quantile(p: f64, shape: f64, scale: f64) -> f64 {
    let log_above = (-p).ln_1p();
    if shape.abs() < 1e-12 { -scale * log_above } else { scale * (-shape * log_above).exp_m1() / shape }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::rng::{Purpose, stream};
    use rand::RngExt;

    #[test]
    fn the_fit_finds_the_shape_that_drew_the_excesses() {
        for (shape, scale) in [(-0.3, 2.0), (0.2, 0.5), (0.7, 1.0), (1.4, 3.0)] {
            let n = 20_000;
            let excess: Vec<f64> = (0..n).map(|i| quantile((i as f64 + 0.5) / n as f64, shape, scale)).collect();
            let (k, sigma) = fit(&excess);
            assert!((k - shape).abs() < 0.02 && (sigma / scale - 1.0).abs() < 0.03, "{shape} {scale}: {k} {sigma}");
        }
    }

    #[test]
    fn weights_of_a_heavy_tail_are_smoothed_and_flagged() {
        // Ratios u^-a have a tail of shape a.
        let mut rng = stream(1, 0, Purpose::Prediction);
        for (a, mean) in [(0.2, 1.0 / 0.8), (0.5, 2.0), (0.9, f64::NAN)] {
            let uniform: Vec<f64> = (0..50_000).map(|_| 1.0 - rng.random::<f64>()).collect();
            let ratios: Vec<f64> = uniform.iter().map(|u| -a * u.ln()).collect();
            let smoothed = smooth(&ratios, 1.0);
            assert!((smoothed.k - a).abs() < 0.12, "{a}: {}", smoothed.k);
            let total: f64 = smoothed.log_weights.iter().map(|w| w.exp()).sum();
            assert!((total - 1.0).abs() < 1e-12);
            // E u under weights proportional to u^-a is (1 - a) / (2 - a).
            let found: f64 = smoothed.log_weights.iter().zip(&uniform).map(|(w, u)| w.exp() * u).sum();
            let wanted = (1.0 - a) / (2.0 - a);
            let allowed = if mean.is_nan() { 0.06 } else { 0.01 };
            assert!((found - wanted).abs() < allowed, "{a}: {found} {wanted}");
        }
    }

    #[test]
    fn equal_ratios_and_few_draws_have_equal_or_raw_weights() {
        let equal = smooth(&[3.0; 100], 1.0);
        assert!(equal.k.is_infinite() && equal.log_weights.iter().all(|w| (w.exp() - 0.01).abs() < 1e-15));
        let few = smooth(&[0.0, 2.0_f64.ln()], 1.0);
        assert!(few.k.is_infinite() && (few.log_weights[1].exp() - 2.0 / 3.0).abs() < 1e-15);
    }
}
