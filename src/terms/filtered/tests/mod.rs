//! Twins, golden numbers and invariances of the filtered Gaussian process term; here what they share.

mod faults;
mod golden;
mod golden_mode;
mod golden_responses;
mod invariances;
mod quadrature_port;
mod responses;
mod twins;

use super::*;
use crate::response::Response;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Parameters and derivatives in owned form.
#[derive(Debug, Clone, Default)]
pub(in crate::terms::filtered) struct Theta {
    pub loadings: Vec<f64>,
    pub offsets: Vec<f64>,
    pub noise: Vec<f64>,
    pub responses: Vec<f64>,
    pub length_scale: f64,
}

impl Theta {
    pub fn point(&self) -> Point<'_> {
        Point {
            loadings: &self.loadings,
            offsets: Some(&self.offsets),
            noise: &self.noise,
            responses: &self.responses,
            length_scale: self.length_scale,
        }
    }

    pub fn flat(&self) -> Vec<f64> {
        let mut out = self.loadings.clone();
        out.extend(&self.offsets);
        out.extend(&self.noise);
        out.extend(&self.responses);
        out.push(self.length_scale);
        out
    }

    pub fn with_values(&self, x: &[f64]) -> Self {
        let (w, rest) = x.split_at(self.loadings.len());
        let (b, rest) = rest.split_at(self.offsets.len());
        let (v, rest) = rest.split_at(self.noise.len());
        let (r, rest) = rest.split_at(self.responses.len());
        Self {
            loadings: w.to_vec(),
            offsets: b.to_vec(),
            noise: v.to_vec(),
            responses: r.to_vec(),
            length_scale: rest[0],
        }
    }
}

/// One Identity slot.
fn identity() -> Vec<Response> {
    vec![Response::Identity]
}

/// Value and flat gradient.
pub(in crate::terms::filtered) fn evaluate(gp: &FilteredGp, algebra: Algebra, theta: &Theta) -> (f64, Vec<f64>) {
    evaluate_in(gp, algebra, theta, &mut Workspace::new())
}

/// The same in a given workspace.
pub(in crate::terms::filtered) fn evaluate_in(
    gp: &FilteredGp,
    algebra: Algebra,
    theta: &Theta,
    workspace: &mut Workspace,
) -> (f64, Vec<f64>) {
    let mut g = theta.with_values(&vec![0.0; theta.flat().len()]);
    let mut adjoint = Adjoint {
        scale: 1.0,
        loadings: &mut g.loadings,
        offsets: Some(&mut g.offsets),
        noise: &mut g.noise,
        responses: &mut g.responses,
        length_scale: &mut g.length_scale,
    };
    let value = gp.log_likelihood_by(algebra, &theta.point(), Some(&mut adjoint), workspace).unwrap();
    (value, g.flat())
}

pub(in crate::terms::filtered) fn value(gp: &FilteredGp, theta: &Theta) -> f64 {
    gp.log_likelihood(&theta.point(), None, &mut Workspace::new()).unwrap()
}

pub(in crate::terms::filtered) fn close(a: f64, b: f64, relative: f64, absolute: f64, what: &str) {
    assert!((a - b).abs() <= relative * b.abs() + absolute, "{what}: {a:e} against {b:e}, difference {:e}", a - b);
}

/// Every entry to `relative` of itself plus `relative` of the largest entry of `b`.
pub(in crate::terms::filtered) fn close_all(a: &[f64], b: &[f64], relative: f64, what: &str) {
    assert_eq!(a.len(), b.len());
    let largest = b.iter().fold(0.0f64, |m, x| m.max(x.abs()));
    for (i, (a, b)) in a.iter().zip(b).enumerate() {
        close(*a, *b, relative, relative * largest, &format!("{what}, entry {i}"));
    }
}

/// Random recordings: participants x modalities with their own clocks, masks, ties, missing streams, repeats.
pub(in crate::terms::filtered) fn random_problem(
    seed: u64,
    factors: usize,
    runs: usize,
    jitter: bool,
) -> (FilteredGp, Theta, Vec<Vec<Observation>>) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let streams = [(0.9, 11), (1.2, 2), (0.6, 1)];
    let participants = 2;
    let mut observations = vec![Vec::new(); runs];
    let keys: usize = participants * streams.iter().map(|s| s.1).sum::<usize>();
    for scalars in &mut observations {
        let mut key = 0;
        for p in 0..participants {
            for (m, &(step, features)) in streams.iter().enumerate() {
                let missing_stream = p == 1 && rng.random::<f64>() < 0.3;
                for row in 0..6 {
                    let shift = if jitter { 0.2 * rng.random::<f64>() } else { 0.0 };
                    for f in 0..features {
                        let repeats = 1 + usize::from(rng.random::<f64>() < 0.03);
                        for _ in 0..repeats {
                            if !missing_stream && rng.random::<f64>() > 0.15 {
                                scalars.push(Observation {
                                    time: f64::from(row) * step + shift,
                                    response: 0,
                                    modality: m as u32,
                                    feature_key: (key + f) as u32,
                                    noise: (p * streams.len() + m) as u32,
                                    value: 2.0 * rng.random::<f64>() - 1.0,
                                });
                            }
                        }
                    }
                }
                key += features;
            }
        }
    }
    let mut draw =
        |n: usize, lo: f64, hi: f64| -> Vec<f64> { (0..n).map(|_| lo + (hi - lo) * rng.random::<f64>()).collect() };
    let theta = Theta {
        loadings: draw(keys * factors, -1.2, 1.2),
        offsets: draw(keys, -0.5, 0.5),
        noise: draw(participants * streams.len(), 0.05, 0.6),
        responses: Vec::new(),
        length_scale: 1.7,
    };
    let gp = FilteredGp::new(factors, keys, theta.noise.len(), identity(), &observations).unwrap();
    (gp, theta, observations)
}
