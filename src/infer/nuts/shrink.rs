//! The metric of a warm-up window: covariances of its draws, shrunk towards a small multiple of the identity.
//!
//! With n draws n/(n+5) S + 1e-3 * 5/(n+5) I, the regularisation of Stan's warm-up (Stan Reference Manual, "HMC
//! algorithm parameters").
//!
//! One difference: a covariance from few draws is singular, and shrinking its null space to 1e-3 makes the metric worse
//! than a diagonal one (warm-up and 1000 draws on N(0, I_100) took eight times the gradients). Until a window holds 2d
//! draws, a dense metric keeps its off-diagonals at zero.

use super::metric::{Metric, MetricError, MetricKind};
use crate::infer::adapt::Welford;

/// The regularised estimate as a metric of the given kind, or `None` with fewer than two draws.
pub(super) fn metric(moments: &Welford, kind: MetricKind) -> Option<Result<Metric, MetricError>> {
    if moments.count() < 2.0 {
        return None;
    }
    let scale = moments.count() / (moments.count() + 5.0) / (moments.count() - 1.0);
    let floor = 1e-3 * 5.0 / (moments.count() + 5.0);
    Some(match kind {
        MetricKind::Diagonal => Metric::diagonal(moments.squares().iter().map(|s| scale * s + floor).collect()),
        MetricKind::Dense => {
            let dim = moments.mean().len();
            let mut full = vec![0.0; dim * dim];
            let correlated = moments.count() >= 2.0 * dim as f64;
            for i in 0..dim {
                for j in 0..if correlated { i } else { 0 } {
                    full[i * dim + j] = scale * moments.squares()[i * dim + j];
                    full[j * dim + i] = full[i * dim + j];
                }
                full[i * dim + i] = scale * moments.squares()[i * dim + i] + floor;
            }
            Metric::dense(full, dim)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;
    use rand_distr::StandardNormal;

    fn moments(kind: MetricKind, dim: usize) -> Welford {
        if kind == MetricKind::Dense { Welford::full(dim) } else { Welford::diagonal(dim) }
    }

    /// Two passes: mean first, then products of deviations; shrunk by the stated formula.
    fn naive(draws: &[Vec<f64>]) -> Vec<f64> {
        let (n, dim) = (draws.len() as f64, draws[0].len());
        let mean: Vec<f64> = (0..dim).map(|i| draws.iter().map(|x| x[i]).sum::<f64>() / n).collect();
        let mut out = vec![0.0; dim * dim];
        for i in 0..dim {
            for j in 0..dim {
                let sum: f64 = draws.iter().map(|x| (x[i] - mean[i]) * (x[j] - mean[j])).sum();
                let eye = if i == j { 1e-3 } else { 0.0 };
                out[i * dim + j] = n / (n + 5.0) * sum / (n - 1.0) + 5.0 / (n + 5.0) * eye;
            }
        }
        out
    }

    #[test]
    fn both_forms_match_two_passes_also_far_from_zero() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for shift in [0.0, 1e8] {
            let dim = 4;
            let draws: Vec<Vec<f64>> = (0..50)
                .map(|_| {
                    let common: f64 = rng.sample(StandardNormal);
                    (0..dim).map(|i| shift + i as f64 * common + rng.sample::<f64, _>(StandardNormal)).collect()
                })
                .collect();
            let expected = naive(&draws);
            for kind in [MetricKind::Diagonal, MetricKind::Dense] {
                let mut w = moments(kind, dim);
                w.add(&[1e5; 4]);
                w.clear();
                draws.iter().for_each(|x| w.add(x));
                let metric = metric(&w, kind).unwrap().unwrap();
                let got = metric.inverse_mass();
                let tolerance = if shift == 0.0 { 1e-12 } else { 1e-6 };
                for i in 0..dim {
                    for j in 0..dim {
                        let found = match kind {
                            MetricKind::Diagonal if i == j => got[i],
                            MetricKind::Diagonal => continue,
                            MetricKind::Dense => got[i * dim + j],
                        };
                        assert!((found - expected[i * dim + j]).abs() < tolerance * 10.0, "{kind:?} {i} {j}");
                    }
                }
            }
        }
    }

    #[test]
    fn off_diagonals_wait_for_two_draws_per_coordinate() {
        let mut w = Welford::full(3);
        for n in 1..=6 {
            let t = f64::from(n);
            w.add(&[t, t * t, -t]);
            if n >= 2 {
                let metric = metric(&w, MetricKind::Dense).unwrap().unwrap();
                assert_eq!(metric.inverse_mass()[1] != 0.0, n == 6, "{n}");
            }
        }
    }

    #[test]
    fn too_few_or_overflowing_draws_give_no_metric() {
        for kind in [MetricKind::Diagonal, MetricKind::Dense] {
            let mut w = moments(kind, 1);
            assert!(metric(&w, kind).is_none());
            w.add(&[1e300]);
            assert!(metric(&w, kind).is_none());
            w.add(&[-1e300]);
            assert!(metric(&w, kind).unwrap().is_err());
        }
    }

    #[test]
    fn a_stuck_chain_still_has_a_positive_metric() {
        for kind in [MetricKind::Diagonal, MetricKind::Dense] {
            let mut w = moments(kind, 2);
            (0..20).for_each(|_| w.add(&[3.0, 4.0]));
            let metric = metric(&w, kind).unwrap().unwrap();
            assert!((metric.inverse_mass()[0] - 1e-3 * 5.0 / 25.0).abs() < 1e-18);
        }
    }
}
