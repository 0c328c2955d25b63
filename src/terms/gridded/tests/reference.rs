//! The coarse quadrature rule behind the golden rows of gamma, Bach and sampled curves: three points between break points.

use super::super::observation::{Grid, ObservationRows};
use crate::response::{Curve, Response};

/// Rows by the coarse rule.
#[derive(Debug)]
pub struct ReferenceRows {
    curve: Curve,
    envelope: (f64, f64),
    breaks: Breaks,
}

#[derive(Debug)]
enum Breaks {
    /// Equal parts of at most so many seconds.
    Parts(f64),
    At(Vec<f64>),
}

impl ReferenceRows {
    pub fn new(response: &Response) -> Self {
        ReferenceRows::with_envelope(response, response.support())
    }

    pub fn with_envelope(response: &Response, envelope: (f64, f64)) -> Self {
        let breaks = match response {
            Response::Gamma { scale, .. } => Breaks::Parts(0.5 * scale),
            Response::DoubleGamma { peak_scale, undershoot_scale, .. } => {
                Breaks::Parts(0.5 * peak_scale.min(*undershoot_scale))
            }
            Response::Bach { sigma, .. } => Breaks::Parts(0.5 * sigma),
            Response::Sampled { lags, .. } => Breaks::At(lags.clone()),
            other => panic!("no coarse rule for {other:?}"),
        };
        ReferenceRows { curve: Curve::new(response).unwrap().unwrap(), envelope, breaks }
    }
}

/// Nodes and weights of the Gauss-Legendre rule on [-1, 1].
const RULE: [(f64, f64); 3] =
    [(-0.774_596_669_241_483_4, 5.0 / 9.0), (0.0, 8.0 / 9.0), (0.774_596_669_241_483_4, 5.0 / 9.0)];

impl ObservationRows for ReferenceRows {
    fn envelope(&self) -> (f64, f64) {
        self.envelope
    }

    fn row(&self, t: f64, grid: &Grid, weights: &mut Vec<f64>) -> usize {
        let (lo, hi) = self.curve.support();
        let nodes = (0..grid.nodes).map(|i| t - grid.time(i));
        let mut points: Vec<f64> = nodes.filter(|u| lo < *u && *u < hi).collect();
        match &self.breaks {
            Breaks::Parts(length) => {
                let parts = ((hi - lo) / length).ceil().max(1.0) as usize;
                points.extend((0..=parts).map(|i| lo + (hi - lo) * i as f64 / parts as f64));
            }
            Breaks::At(lags) => points.extend(lags),
        }
        points.sort_by(f64::total_cmp);
        points.dedup();
        let mut dense = vec![0.0; grid.nodes];
        for piece in points.windows(2) {
            let (middle, half) = (0.5 * (piece[0] + piece[1]), 0.5 * (piece[1] - piece[0]));
            for (x, w) in RULE {
                let u = middle + half * x;
                let mass = half * w * self.curve.value(u);
                let (cell, right) = grid.locate(t - u);
                dense[cell] += (1.0 - right) * mass;
                dense[cell + 1] += right * mass;
            }
        }
        let first = dense.iter().position(|v| *v != 0.0).unwrap_or(0);
        let last = dense.iter().rposition(|v| *v != 0.0).unwrap_or(0);
        weights.extend_from_slice(&dense[first..=last]);
        first
    }
}
