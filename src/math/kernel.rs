//! Covariance functions of Gaussian processes, with their derivatives in every parameter.
//!
//! Rasmussen and Williams (2006), Gaussian Processes for Machine Learning, chapter 4.

use std::f64::consts::PI;

/// A covariance function of two points; parameters are standard deviation, length scale and period, as far as it has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    SquaredExponential,
    Matern12,
    Matern32,
    Matern52,
    Periodic,
    Linear,
}

/// What the covariance of each point of `a` with each of `b` depends on, row-major: the inner product for the linear
/// one, the distance for all others. Points have `dimension` coordinates.
pub fn statistics(family: Family, a: &[f64], b: &[f64], dimension: usize) -> Vec<f64> {
    let one = |x: &[f64], y: &[f64]| -> f64 {
        let pairs = x.iter().zip(y);
        match family {
            Family::Linear => pairs.map(|(x, y)| x * y).sum(),
            _ => pairs.map(|(x, y)| (x - y) * (x - y)).sum::<f64>().sqrt(),
        }
    };
    let dimension = dimension.max(1);
    a.chunks_exact(dimension).flat_map(|x| b.chunks_exact(dimension).map(move |y| one(x, y))).collect()
}

/// The covariance at statistic `s`.
#[inline]
pub fn covariance(family: Family, s: f64, parameters: &[f64]) -> f64 {
    let variance = parameters[0] * parameters[0];
    match family {
        Family::SquaredExponential => {
            let a = s / parameters[1];
            variance * (-0.5 * a * a).exp()
        }
        Family::Matern12 => variance * (-s / parameters[1]).exp(),
        Family::Matern32 => {
            let a = 3f64.sqrt() * s / parameters[1];
            variance * (1.0 + a) * (-a).exp()
        }
        Family::Matern52 => {
            let a = 5f64.sqrt() * s / parameters[1];
            variance * (1.0 + a + a * a / 3.0) * (-a).exp()
        }
        Family::Periodic => {
            let a = (PI * s / parameters[2]).sin() / parameters[1];
            variance * (-2.0 * a * a).exp()
        }
        Family::Linear => variance * s,
    }
}

/// The derivatives of the logarithm of the covariance `k` in the parameters behind the standard deviation, times `k`.
#[inline]
pub fn slopes(family: Family, s: f64, k: f64, parameters: &[f64]) -> [f64; 2] {
    match family {
        Family::SquaredExponential => [k * s * s / parameters[1].powi(3), 0.0],
        Family::Matern12 => [k * s / (parameters[1] * parameters[1]), 0.0],
        Family::Matern32 => {
            let a = 3f64.sqrt() * s / parameters[1];
            [k * a * a / (1.0 + a) / parameters[1], 0.0]
        }
        Family::Matern52 => {
            let a = 5f64.sqrt() * s / parameters[1];
            [k * a * a * (1.0 + a) / (3.0 + 3.0 * a + a * a) / parameters[1], 0.0]
        }
        Family::Periodic => {
            let angle = PI * s / parameters[2];
            let (sin, cos) = angle.sin_cos();
            let l2 = parameters[1] * parameters[1];
            [4.0 * k * sin * sin / (l2 * parameters[1]), 4.0 * k * sin * cos * angle / (l2 * parameters[2])]
        }
        Family::Linear => [0.0, 0.0],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Family; 6] = [
        Family::SquaredExponential,
        Family::Matern12,
        Family::Matern32,
        Family::Matern52,
        Family::Periodic,
        Family::Linear,
    ];

    #[test]
    fn slopes_are_differences() {
        let parameters = [1.3, 0.7, 1.9];
        for family in ALL {
            for s in [0.0, 0.3, 1.1, 2.5] {
                let k = covariance(family, s, &parameters);
                for (i, slope) in slopes(family, s, k, &parameters).into_iter().enumerate() {
                    let at = |by: f64| {
                        let mut p = parameters;
                        p[i + 1] += by;
                        covariance(family, s, &p)
                    };
                    let wanted = (at(1e-6) - at(-1e-6)) / 2e-6;
                    assert!((slope - wanted).abs() < 1e-8, "{family:?} at {s}: {slope}, {wanted}");
                }
            }
        }
    }

    #[test]
    fn covariances_at_distance_zero_are_variances_and_fall_off() {
        for family in ALL.into_iter().filter(|f| *f != Family::Linear) {
            assert_eq!(covariance(family, 0.0, &[1.5, 0.4, 9.0]), 2.25);
            assert!(covariance(family, 0.5, &[1.5, 0.4, 9.0]) < 2.25);
        }
        // A Matern function comes closer to the squared exponential the smoother it is.
        let near = |family| covariance(family, 0.3, &[1.0, 2.0, 1.0]);
        assert!(near(Family::Matern12) < near(Family::Matern32));
        assert!(near(Family::Matern32) < near(Family::Matern52));
        assert!(near(Family::Matern52) < near(Family::SquaredExponential));
    }

    #[test]
    fn statistics_are_distances_and_inner_products() {
        let (a, b) = ([0.0, 0.0, 3.0, 4.0], [3.0, 4.0]);
        assert_eq!(statistics(Family::Matern12, &a, &b, 2), [5.0, 0.0]);
        assert_eq!(statistics(Family::Linear, &a, &b, 2), [0.0, 25.0]);
    }
}
