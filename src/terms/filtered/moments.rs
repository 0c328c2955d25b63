//! Conditional moments of the latent path, and of what responses show of it, given the data and a point.
//!
//! At query times the path, or the path seen through a response, given the data is Gaussian with mean T_* q and covariance
//! T_** x I - (T_* x I) L B^{-1} L' (T_*' x I) (Rasmussen & Williams 2006, equations 2.25 and 2.26).

use super::algebra::{Workspace, dot};
use super::covariance::Form;
use super::error::TermError;
use super::kernel::{matern32, rate};
use super::node_kernel::at_lags;
use super::{FilteredGp, Point};

/// Variances down to minus this are rounding and become zero.
const VARIANCE_TOLERANCE: f64 = 1e-9;

/// The latent path, or what a response shows of it, at query times, each time on its own.
#[derive(Debug, Clone, PartialEq)]
pub struct LatentMoments {
    pub factors: usize,
    /// T x K.
    pub mean: Vec<f64>,
    /// T x K x K: covariance among the factors at each time.
    pub covariance: Vec<f64>,
}

impl LatentMoments {
    /// Variances, T x K.
    pub fn variance(&self) -> Vec<f64> {
        let k = self.factors;
        self.covariance.chunks_exact(k * k).flat_map(|c| (0..k).map(move |i| c[i * k + i])).collect()
    }
}

/// The latent path at query times, jointly.
#[derive(Debug, Clone, PartialEq)]
pub struct PathMoments {
    /// T x K.
    pub mean: Vec<f64>,
    /// (T K) x (T K), rows and columns ordered like `mean`.
    pub covariance: Vec<f64>,
}

/// One feature of a stream: whose loadings and offset it has, and how the path is seen in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Feature {
    /// Row of the loadings and of the offsets.
    pub key: usize,
    /// Response slot.
    pub response: usize,
}

/// One feature at query times.
#[derive(Debug, Clone, PartialEq)]
pub struct PredictedMoments {
    /// Length T, offset included.
    pub mean: Vec<f64>,
    /// Length T.
    pub variance: Vec<f64>,
}

/// Whitened cross-covariances of the queries, and the means.
struct Queries {
    mean: Vec<f64>,
    /// query x K x (nodes K).
    whitened: Vec<f64>,
    size: usize,
}

impl FilteredGp {
    /// Moments of the path of `run` at `times` (any order, also outside the data), given its data.
    pub fn latent_moments(
        &self,
        point: &Point<'_>,
        run: usize,
        times: &[f64],
        workspace: &mut Workspace,
    ) -> Result<LatentMoments, TermError> {
        self.check(point)?;
        self.functional(point, &self.forms(point)?, &Form::impulse(), run, times, workspace)
    }

    /// Moments of what the response slot `response` shows of the path of `run` at `times`, given its data.
    pub fn response_moments(
        &self,
        point: &Point<'_>,
        run: usize,
        response: usize,
        times: &[f64],
        workspace: &mut Workspace,
    ) -> Result<LatentMoments, TermError> {
        exists("response", response, self.responses.len())?;
        self.check(point)?;
        let forms = self.forms(point)?;
        self.functional(point, &forms, &forms[response], run, times, workspace)
    }

    /// Moments of the path seen through `seen`.
    fn functional(
        &self,
        point: &Point<'_>,
        forms: &[Form],
        seen: &Form,
        run: usize,
        times: &[f64],
        workspace: &mut Workspace,
    ) -> Result<LatentMoments, TermError> {
        let k = self.factors;
        let queries = self.query(point, forms, seen, run, times, workspace)?;
        let whole = at_lags(rate(point.length_scale), seen, seen, &[0.0])[0];
        let mut covariance = Vec::with_capacity(times.len() * k * k);
        for query in 0..times.len() {
            for a in 0..k {
                for b in 0..k {
                    let prior = if a == b { whole } else { 0.0 };
                    let c = prior - queries.explained(query * k + a, query * k + b);
                    covariance.push(if a == b { variance(run, query, whole, c)? } else { c });
                }
            }
        }
        Ok(LatentMoments { factors: k, mean: queries.mean, covariance })
    }

    /// Joint moments of the path of `run` at `times`: memory grows with the square of T K.
    pub fn path_moments(
        &self,
        point: &Point<'_>,
        run: usize,
        times: &[f64],
        workspace: &mut Workspace,
    ) -> Result<PathMoments, TermError> {
        let k = self.factors;
        let rho = rate(point.length_scale);
        self.check(point)?;
        let queries = self.query(point, &self.forms(point)?, &Form::impulse(), run, times, workspace)?;
        let size = times.len() * k;
        let mut covariance = Vec::with_capacity(size * size);
        for i in 0..size {
            for j in 0..size {
                let prior = if i % k == j % k { matern32(rho, (times[i / k] - times[j / k]).abs()) } else { 0.0 };
                let c = prior - queries.explained(i, j);
                covariance.push(if i == j { variance(run, i / k, 1.0, c)? } else { c });
            }
        }
        Ok(PathMoments { mean: queries.mean, covariance })
    }

    /// Moments of one feature of `run` at `times`: of its signal b + w' (h * g), or, with the index of a noise variance, of a new observation.
    pub fn predict_moments(
        &self,
        point: &Point<'_>,
        run: usize,
        Feature { key, response }: Feature,
        times: &[f64],
        noise: Option<usize>,
        workspace: &mut Workspace,
    ) -> Result<PredictedMoments, TermError> {
        let k = self.factors;
        exists("key", key, self.keys)?;
        if let Some(noise) = noise {
            exists("noise", noise, self.noise_count)?;
        }
        let seen = self.response_moments(point, run, response, times, workspace)?;
        let forms = self.forms(point)?;
        let w = &point.loadings[key * k..(key + 1) * k];
        let offset = point.offsets.map_or(0.0, |b| b[key]);
        let added = noise.map_or(0.0, |i| point.noise[i]);
        let prior = dot(w, w) * at_lags(rate(point.length_scale), &forms[response], &forms[response], &[0.0])[0];
        let mut predicted = PredictedMoments { mean: Vec::new(), variance: Vec::new() };
        for query in 0..times.len() {
            let c = &seen.covariance[query * k * k..(query + 1) * k * k];
            let signal: f64 = c.chunks_exact(k).zip(w).map(|(row, w_a)| w_a * dot(row, w)).sum();
            predicted.mean.push(offset + dot(w, &seen.mean[query * k..(query + 1) * k]));
            predicted.variance.push(variance(run, query, prior, signal)? + added);
        }
        Ok(predicted)
    }

    fn query(
        &self,
        point: &Point<'_>,
        forms: &[Form],
        seen: &Form,
        run: usize,
        times: &[f64],
        workspace: &mut Workspace,
    ) -> Result<Queries, TermError> {
        exists("run", run, self.runs.len())?;
        if let Some(index) = times.iter().position(|t| !t.is_finite()) {
            let value = times[index];
            return Err(TermError::BadParameter { name: "query times", index, value, requirement: "finite" });
        }
        let nodes = &self.runs[run];
        let (n, k) = (nodes.times.len(), self.factors);
        let size = n * k;
        if n == 0 {
            return Ok(Queries { mean: vec![0.0; times.len() * k], whitened: Vec::new(), size });
        }
        self.smooth(run, point, forms, false, workspace)?;
        // times x n.
        let mut crosses = vec![0.0; times.len() * n];
        for (slot, group) in &nodes.groups {
            let lags: Vec<f64> =
                times.iter().flat_map(|t| nodes.times[group.clone()].iter().map(move |u| t - u)).collect();
            let values = at_lags(rate(point.length_scale), seen, &forms[*slot], &lags);
            for (row, values) in crosses.chunks_exact_mut(n).zip(values.chunks_exact(group.len())) {
                row[group.clone()].copy_from_slice(values);
            }
        }
        let mut mean = Vec::with_capacity(times.len() * k);
        let mut whitened = vec![0.0; times.len() * k * size];
        let mut columns = whitened.chunks_exact_mut(size);
        for cross in crosses.chunks_exact(n) {
            for (c, column) in columns.by_ref().take(k).enumerate() {
                mean.push(dot(cross, &workspace.weights[c * n..(c + 1) * n]));
                workspace.whiten(n, k, cross, c, column);
            }
        }
        Ok(Queries { mean, whitened, size })
    }
}

impl Queries {
    /// Prior covariance that the data take away between two of the query x K entries.
    fn explained(&self, i: usize, j: usize) -> f64 {
        let column = |i: usize| &self.whitened[i * self.size..(i + 1) * self.size];
        dot(column(i), column(j))
    }
}

fn variance(run: usize, query: usize, prior: f64, value: f64) -> Result<f64, TermError> {
    if value >= 0.0 {
        Ok(value)
    } else if value >= -VARIANCE_TOLERANCE * prior.max(1.0) {
        Ok(0.0)
    } else {
        Err(TermError::NegativeVariance { run, query, value })
    }
}

fn exists(name: &'static str, index: usize, count: usize) -> Result<(), TermError> {
    if index < count { Ok(()) } else { Err(TermError::NoSuch { name, index, count }) }
}
