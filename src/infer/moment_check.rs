//! Exactness by moments, for the tests of every sampler: z-scores that know the effective number of draws.

/// Mean, standard deviation and effective sample size of a series: autocorrelations by plain sums, paired and made
/// monotone until the first negative pair (Geyer 1992).
fn summary(x: &[f64]) -> (f64, f64, f64) {
    let n = x.len();
    let mean = x.iter().sum::<f64>() / n as f64;
    let c: Vec<f64> = x.iter().map(|v| v - mean).collect();
    let autocovariance = |lag: usize| c[lag..].iter().zip(&c).map(|(a, b)| a * b).sum::<f64>() / n as f64;
    let variance = autocovariance(0);
    let mut pairs = 0.0;
    let mut previous = f64::INFINITY;
    for k in 0..n / 2 {
        let pair = (autocovariance(2 * k) + autocovariance(2 * k + 1)) / variance;
        if pair <= 0.0 {
            break;
        }
        previous = pair.min(previous);
        pairs += previous;
    }
    (mean, variance.sqrt(), n as f64 / (2.0 * pairs - 1.0))
}

/// z-scores and effective sizes of E[x_i], E[x_i^2] and E[x_i x_(i+1)]; `rho` is the correlation of neighbours.
pub fn scores(draws: &[Vec<f64>], rho: f64) -> Vec<(String, f64, f64)> {
    let dim = draws[0].len();
    let mut out = Vec::new();
    let mut score = |name: String, truth: f64, f: &dyn Fn(&[f64]) -> f64| {
        let (mean, sd, ess) = summary(&draws.iter().map(|x| f(x)).collect::<Vec<f64>>());
        out.push((name, (mean - truth) / (sd / ess.sqrt()), ess));
    };
    for i in 0..dim {
        score(format!("x{i}"), 0.0, &|x| x[i]);
        score(format!("x{i}^2"), 1.0, &|x| x[i] * x[i]);
        if i + 1 < dim {
            score(format!("x{i} x{}", i + 1), rho, &|x| x[i] * x[i + 1]);
        }
    }
    out
}

pub fn worst(scores: &[(String, f64, f64)]) -> f64 {
    scores.iter().map(|s| s.1.abs()).fold(0.0, f64::max)
}

/// Fails unless every moment has at least `min_ess` effective draws and a z-score below 4.
pub fn demand(label: &str, scores: &[(String, f64, f64)], min_ess: f64) {
    for (name, z, ess) in scores {
        assert!(*ess >= min_ess, "{label}: {name} has {ess} effective draws");
        assert!(z.abs() < 4.0, "{label}: {name} has z = {z} at {ess} effective draws");
    }
}

#[test]
fn effective_size_of_known_series_is_right() {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    for phi in [-0.5f64, 0.0, 0.5, 0.9] {
        let n = 100_000;
        let mut x = 0.0;
        let series: Vec<f64> = (0..n)
            .map(|_| {
                x = phi * x + rng.sample::<f64, _>(rand_distr::StandardNormal);
                x
            })
            .collect();
        let expected = n as f64 * (1.0 - phi) / (1.0 + phi);
        let (_, _, ess) = summary(&series);
        assert!((ess / expected - 1.0).abs() < 0.1, "{phi}: {ess} {expected}");
    }
}
