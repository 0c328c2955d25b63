//! Integrated autocorrelation time of a short series: by how many dependent draws one independent draw is replaced.
//!
//! tau = -1 + 2 sum P_k, P_k = rho(2k) + rho(2k + 1), up to the first pair that is not positive and each at most its
//! predecessor (Geyer 1992, Statistical Science 7).

/// Integrated time of `series`; `None` where it is constant or shorter than four. Centres the series in place.
pub(super) fn integrated_time(series: &mut [f64]) -> Option<f64> {
    let n = series.len();
    if n < 4 {
        return None;
    }
    let mean = series.iter().sum::<f64>() / n as f64;
    series.iter_mut().for_each(|x| *x -= mean);
    let product = |lag: usize| series[lag..].iter().zip(&*series).map(|(a, b)| a * b).sum::<f64>();
    let square = product(0);
    if !(square > 0.0 && square.is_finite()) {
        return None;
    }
    let mut sum = 0.0;
    let mut bound = f64::INFINITY;
    for k in 0..n / 2 {
        let pair = (product(2 * k) + product(2 * k + 1)) / square;
        if pair <= 0.0 {
            break;
        }
        bound = bound.min(pair);
        sum += bound;
    }
    Some(2.0 * sum - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    #[test]
    fn known_autoregressions() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for phi in [-0.4f64, 0.0, 0.6, 0.9] {
            let mut x = 0.0;
            let mut series: Vec<f64> = (0..100_000)
                .map(|_| {
                    x = phi * x + rng.sample::<f64, _>(rand_distr::StandardNormal);
                    x
                })
                .collect();
            let tau = integrated_time(&mut series).unwrap();
            assert!((tau / ((1.0 + phi) / (1.0 - phi)) - 1.0).abs() < 0.1, "{phi}: {tau}");
        }
    }

    #[test]
    fn nothing_to_say_of_constants_and_of_very_short_series() {
        assert_eq!(integrated_time(&mut [2.0; 10]), None);
        assert_eq!(integrated_time(&mut [1.0, 2.0, 3.0]), None);
        assert_eq!(integrated_time(&mut [1e300, -1e300, 1e300, -1e300]), None);
    }
}
