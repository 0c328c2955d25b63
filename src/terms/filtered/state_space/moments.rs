//! Conditional moments of the path, or of what a response makes of it, in time linear in nodes and queries.

use super::pass::{Depth, Nodes};
use super::run::Statistics;
use crate::terms::filtered::algebra::Workspace;
use crate::terms::filtered::error::TermError;
use crate::terms::filtered::moments::LatentMoments;
use crate::terms::filtered::{FilteredGp, Point};

/// Variances down to minus this are rounding and become zero.
const VARIANCE_TOLERANCE: f64 = 1e-9;

/// Reads nodes, keeps answers.
struct Answers<'a> {
    statistics: Statistics<'a>,
    mean: Vec<f64>,
    covariance: Vec<f64>,
}

impl Nodes for Answers<'_> {
    fn read(&self, node: usize, lower: &mut [f64], informed: &mut [f64]) {
        self.statistics.read(node, lower, informed);
    }

    fn smoothed(&mut self, _node: usize, _mean: &[f64], _covariance: &[f64], _error: &[f64]) {}

    fn answer(&mut self, query: usize, mean: &[f64], covariance: &[f64]) {
        let (k, kk) = (mean.len(), covariance.len());
        self.mean[query * k..(query + 1) * k].copy_from_slice(mean);
        self.covariance[query * kk..(query + 1) * kk].copy_from_slice(covariance);
    }
}

impl FilteredGp {
    /// What [`FilteredGp::latent_moments`] computes, by the state-space algebra: moments of the path of `run` at `times`
    /// (any order, also outside the data), or, with a response slot, of the path seen through that response.
    ///
    /// # Errors
    /// Those of [`FilteredGp::state_space_log_likelihood`], a run or slot that does not exist, times that are not finite,
    /// and a conditional variance below zero by more than rounding.
    pub fn state_space_moments(
        &self,
        point: &Point<'_>,
        run: usize,
        slot: Option<usize>,
        times: &[f64],
        workspace: &mut Workspace,
    ) -> Result<LatentMoments, TermError> {
        self.check(point)?;
        for (name, index, count) in
            [("run", run, self.runs.len()), ("response slot", slot.unwrap_or_default(), self.responses.len().max(1))]
        {
            if index >= count {
                return Err(TermError::NoSuch { name, index, count });
            }
        }
        if let Some(index) = times.iter().position(|t| !t.is_finite()) {
            let value = times[index];
            return Err(TermError::BadParameter { name: "query times", index, value, requirement: "finite" });
        }
        let system = self.system(point)?;
        let (nodes, k) = (&self.runs[run], self.factors);
        self.factor_nodes(run, point, workspace)?;
        let mut pass = std::mem::take(&mut workspace.state_space);
        pass.events.set(nodes, &system, times, slot);
        let mut answers = Answers {
            statistics: Statistics::new(k, nodes.times.len(), workspace),
            mean: vec![0.0; times.len() * k],
            covariance: vec![0.0; times.len() * k * k],
        };
        let passed = pass.run(&system, k, &mut answers, Depth::Smooth, &mut system.adjoint());
        let Answers { mean, mut covariance, .. } = answers;
        workspace.state_space = pass;
        passed.map_err(|e| e.in_run(run, k))?;
        for (query, block) in covariance.chunks_exact_mut(k * k).enumerate() {
            for a in 0..k {
                let value = block[a * k + a];
                if value < -VARIANCE_TOLERANCE || value.is_nan() {
                    return Err(TermError::NegativeVariance { run, query, value });
                }
                block[a * k + a] = value.max(0.0);
            }
        }
        Ok(LatentMoments { factors: k, mean, covariance })
    }
}
