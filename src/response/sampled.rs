//! A curve given by its values at lags, linear between them; its square integrates to the sum of step (a^2 + ab + b^2) / 3.

use super::ResponseError;
use super::raw::{Raw, between};

#[derive(Debug)]
pub(super) struct Sampled {
    pub lags: Vec<f64>,
    pub values: Vec<f64>,
}

/// Refuses what is not a curve.
pub(super) fn check(lags: &[f64], values: &[f64]) -> Result<(), ResponseError> {
    if lags.len() != values.len() {
        return Err(ResponseError::SampleCount { lags: lags.len(), values: values.len() });
    }
    if lags.len() < 2 {
        return Err(ResponseError::TooFewSamples { count: lags.len() });
    }
    for (what, numbers) in [("lag", lags), ("value", values)] {
        if let Some((index, &value)) = numbers.iter().enumerate().find(|(_, v)| !v.is_finite()) {
            return Err(ResponseError::SampleNotFinite { what, index, value });
        }
    }
    if let Some(i) = lags.windows(2).position(|w| w[1] <= w[0]) {
        return Err(ResponseError::SampleOrder { index: i + 1, lag: lags[i + 1], before: lags[i] });
    }
    if values.iter().all(|v| *v == 0.0) {
        return Err(ResponseError::SampleZero);
    }
    Ok(())
}

impl Sampled {
    /// The segment that holds `v`: its index, and the share of its length that lies before `v`.
    fn locate(&self, v: f64) -> (usize, f64) {
        let i = self.lags.partition_point(|l| *l <= v).clamp(1, self.lags.len() - 1) - 1;
        (i, (v - self.lags[i]) / (self.lags[i + 1] - self.lags[i]))
    }
}

impl Raw for Sampled {
    fn value(&self, v: f64) -> f64 {
        let (i, share) = self.locate(v);
        (1.0 - share) * self.values[i] + share * self.values[i + 1]
    }

    fn gradient(&self, v: f64, _: &mut [f64]) -> f64 {
        self.value(v)
    }

    fn slope(&self, v: f64) -> f64 {
        let (i, _) = self.locate(v);
        (self.values[i + 1] - self.values[i]) / (self.lags[i + 1] - self.lags[i])
    }

    fn square(&self) -> Option<(f64, Vec<f64>)> {
        let segments = self.lags.windows(2).zip(self.values.windows(2));
        let sum: f64 = segments.map(|(l, v)| (l[1] - l[0]) * (v[0] * v[0] + v[0] * v[1] + v[1] * v[1])).sum();
        Some((sum / 3.0, Vec::new()))
    }

    fn breaks(&self, ends: (f64, f64)) -> Vec<f64> {
        between(self.lags.clone(), ends)
    }
}
