//! A fixed quadrature of filtered covariances, as golden numbers of some families were made with: panels of a rule of some
//! order on each curve, the curve normalised by the rule itself, and the sum over all pairs of nodes.

use super::golden_responses::Golden;
use super::*;
use crate::math::special::inv_inc_gamma_upper;
use crate::terms::filtered::kernel;
use std::collections::HashMap;

/// Nodes and weights of a Gauss-Legendre rule on [-1, 1].
pub(super) struct Rule(Vec<(f64, f64)>);

impl Rule {
    /// By Newton's method on the Legendre polynomial.
    pub fn new(order: usize) -> Rule {
        let n = order as f64;
        Rule(
            (0..order)
                .map(|i| {
                    let mut x = (std::f64::consts::PI * (i as f64 + 0.75) / (n + 0.5)).cos();
                    let mut slope = 0.0;
                    for _ in 0..100 {
                        let (mut before, mut here) = (1.0, x);
                        for k in 2..=order {
                            let k = k as f64;
                            (before, here) = (here, ((2.0 * k - 1.0) * x * here - (k - 1.0) * before) / k);
                        }
                        slope = n * (x * here - before) / (x * x - 1.0);
                        x -= here / slope;
                    }
                    (x, 2.0 / ((1.0 - x * x) * slope * slope))
                })
                .collect(),
        )
    }

    /// Lags and coefficients of a response.
    fn nodes(&self, response: &Response) -> Vec<(f64, f64)> {
        let end = |shape: f64| inv_inc_gamma_upper(shape, 1.0 - 0.999_999_99);
        let (breaks, raw): (Vec<f64>, Box<dyn Fn(f64) -> f64>) = match *response {
            Response::Identity => return vec![(0.0, 1.0)],
            Response::Gaussian { width, .. } => (
                [-6.0, -4.0, -2.0, -1.0, 0.0, 1.0, 2.0, 4.0, 6.0].map(|x| x * width).to_vec(),
                Box::new(move |u| (-0.5 * (u / width).powi(2)).exp()),
            ),
            Response::Gamma { shape, scale, .. } => (
                [0.0, 0.01, 0.025, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0].map(|x| x * scale * end(shape)).to_vec(),
                Box::new(move |u| u.powf(shape - 1.0) * (-u / scale).exp()),
            ),
            Response::Bateman { rise, decay, .. } => (
                vec![0.0, 1.0, 2.0, 3.0, 4.0, 6.0, 10.0, 20.0, 40.0, 60.0, 90.0],
                Box::new(move |u| (-u / decay).exp() - (-u / rise).exp()),
            ),
            _ => panic!("no rule for {response:?}"),
        };
        let mut out = Vec::new();
        for ends in breaks.windows(2) {
            let half = 0.5 * (ends[1] - ends[0]);
            out.extend(self.0.iter().map(|(x, w)| {
                let u = ends[0] + half * (1.0 + x);
                (u, half * w, raw(u))
            }));
        }
        let norm = out.iter().map(|(_, w, k)| w * k * k).sum::<f64>().sqrt();
        out.into_iter().map(|(u, w, k)| (u + response.lag(), w * k / norm)).collect()
    }
}

/// Minus the log likelihood with covariances of the rule, one factor.
pub(super) fn negative_log_likelihood(rule: &Rule, golden: &Golden, theta: &Theta) -> f64 {
    let rho = kernel::rate(theta.length_scale);
    let slots = golden.gp.responses.iter().zip(golden.gp.response_ranges());
    let nodes: Vec<Vec<(f64, f64)>> =
        slots.map(|(r, range)| rule.nodes(&r.family().with(&theta.responses[range.clone()]).unwrap())).collect();
    let mut known: HashMap<(u32, u32, i64), f64> = HashMap::new();
    let mut total = 0.0;
    for scalars in &golden.observations {
        let n = scalars.len();
        let mut c = vec![0.0; n * n];
        for (i, a) in scalars.iter().enumerate() {
            for (j, b) in scalars.iter().enumerate() {
                let lag = a.time - b.time;
                let seen = *known.entry((a.response, b.response, (lag * 1e9).round() as i64)).or_insert_with(|| {
                    let inner = |u: f64| -> f64 {
                        let f = |(v, d): &(f64, f64)| d * kernel::matern32(rho, (lag - u + v).abs());
                        nodes[b.response as usize].iter().map(f).sum()
                    };
                    nodes[a.response as usize].iter().map(|(u, k)| k * inner(*u)).sum()
                });
                c[i * n + j] = seen * theta.loadings[a.feature_key as usize] * theta.loadings[b.feature_key as usize];
            }
            c[i * n + i] += theta.noise[a.noise as usize];
        }
        let residuals: Vec<f64> = scalars.iter().map(|o| o.value - theta.offsets[o.feature_key as usize]).collect();
        total += deviance(n, &mut c, residuals) / 2.0;
    }
    total
}

/// r' C^{-1} r + log |C| + n log 2 pi by elimination.
fn deviance(n: usize, c: &mut [f64], mut r: Vec<f64>) -> f64 {
    let mut sum = n as f64 * (2.0 * std::f64::consts::PI).ln();
    for j in 0..n {
        let pivot = c[j * n + j];
        sum += pivot.ln() + r[j] * r[j] / pivot;
        for i in j + 1..n {
            let factor = c[i * n + j] / pivot;
            r[i] -= factor * r[j];
            for k in j..n {
                c[i * n + k] -= factor * c[j * n + k];
            }
        }
    }
    sum
}
