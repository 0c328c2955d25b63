//! Autocovariances of equally long series, averaged over the series, by the fast Fourier transform.
//!
//! c(l) = (1/n) sum_t (x_t - m)(x_{t+l} - m), the inverse transform of the power spectrum of the centred series padded
//! with n zeros (Wiener-Khinchin). Two real series travel as one complex series z = a + i b: the real part of the
//! autocovariance of z is that of a plus that of b. The forward transform leaves its output bit-reversed (decimation
//! in frequency) and the inverse one takes it so (decimation in time), hence nothing is ever permuted.

use super::moments::mean;

/// A plan for series of one length.
#[derive(Debug, Clone)]
pub(super) struct Autocovariance {
    length: usize,
    /// Entry s holds exp(-pi i k / 2^s), k below 2^s, as (real, imaginary): the factors of the stage that joins
    /// blocks of 2^s, side by side for the sake of the cache. The last stage makes the padded size, at least twice
    /// the length.
    stages: Vec<Vec<[f64; 2]>>,
}

impl Autocovariance {
    /// A plan for series of `length` values.
    pub(super) fn new(length: usize) -> Self {
        let count = (2 * length).next_power_of_two().trailing_zeros();
        let root = |k: usize, half: usize| {
            let angle = -std::f64::consts::PI * k as f64 / half as f64;
            [angle.cos(), angle.sin()]
        };
        let stage = |half: usize| (0..half).map(|k| root(k, half)).collect();
        Self { length, stages: (0..count).map(|s| stage(1 << s)).collect() }
    }

    /// The mean over series of their autocovariances at lags 0 to length - 1; `series` holds them one after another.
    pub(super) fn mean(&self, series: &[f64]) -> Vec<f64> {
        let size = 1 << self.stages.len();
        let mut power = vec![[0.0; 2]; size];
        let mut buffer = vec![[0.0; 2]; size];
        for pair in series.chunks(2 * self.length) {
            buffer.fill([0.0; 2]);
            for (part, values) in pair.chunks(self.length).enumerate() {
                let centre = mean(values);
                for (z, x) in buffer.iter_mut().zip(values) {
                    z[part] = x - centre;
                }
            }
            self.forward(&mut buffer);
            for (p, z) in power.iter_mut().zip(&buffer) {
                p[0] += z[0] * z[0] + z[1] * z[1];
            }
        }
        self.inverse(&mut power);
        let scale = 1.0 / (size as f64 * series.len() as f64);
        power[..self.length].iter().map(|z| z[0] * scale).collect()
    }

    fn forward(&self, data: &mut [[f64; 2]]) {
        for roots in self.stages.iter().rev() {
            for block in data.chunks_exact_mut(2 * roots.len()) {
                let (low, high) = block.split_at_mut(roots.len());
                for ((u, v), w) in low.iter_mut().zip(high).zip(roots) {
                    let difference = [u[0] - v[0], u[1] - v[1]];
                    *u = [u[0] + v[0], u[1] + v[1]];
                    *v = [difference[0] * w[0] - difference[1] * w[1], difference[0] * w[1] + difference[1] * w[0]];
                }
            }
        }
    }

    /// Not scaled by 1 / size.
    fn inverse(&self, data: &mut [[f64; 2]]) {
        for roots in &self.stages {
            for block in data.chunks_exact_mut(2 * roots.len()) {
                let (low, high) = block.split_at_mut(roots.len());
                for ((u, v), w) in low.iter_mut().zip(high).zip(roots) {
                    let turned = [v[0] * w[0] + v[1] * w[1], v[1] * w[0] - v[0] * w[1]];
                    *v = [u[0] - turned[0], u[1] - turned[1]];
                    *u = [u[0] + turned[0], u[1] + turned[1]];
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn naive(series: &[f64], length: usize) -> Vec<f64> {
        let parts = series.chunks(length).count() as f64;
        let at = |values: &[f64], lag: usize| {
            let m = values.iter().sum::<f64>() / length as f64;
            (0..length - lag).map(|t| (values[t] - m) * (values[t + lag] - m)).sum::<f64>() / length as f64
        };
        (0..length).map(|lag| series.chunks(length).map(|v| at(v, lag)).sum::<f64>() / parts).collect()
    }

    #[test]
    fn transform_agrees_with_the_double_loop() {
        for length in [2, 3, 4, 5, 7, 8, 16, 25, 100, 129] {
            for parts in [1, 2, 3, 8] {
                let wave = |i: usize| (i as f64 * 0.7).sin() + 0.3 * (i as f64 * i as f64).cos() + i as f64 * 0.01;
                let series: Vec<f64> = (0..length * parts).map(wave).collect();
                let fast = Autocovariance::new(length).mean(&series);
                for (lag, slow) in naive(&series, length).into_iter().enumerate() {
                    assert!((fast[lag] - slow).abs() < 1e-12, "n {length}, parts {parts}, lag {lag}");
                }
            }
        }
    }
}
