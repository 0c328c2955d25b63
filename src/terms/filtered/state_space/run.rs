//! The log likelihood of a run and its gradient by the state-space recursions, linear in the number of nodes.
//!
//! The scalars of a node enter as D = L L' and u = L^{-1} s, the same statistics as in the grouped algebra. Without a
//! gradient, one filter pass gives log |B| and the squared whitened errors; what the scalars say beyond their node's u is
//! their squared distance from any least-squares solution f of the node, L' f = u. With a gradient the smoothed f takes
//! its place, and u - L' f = e~ comes from the smoother without cancellation.

use super::Unsupported;
use super::bank::states;
use super::pass::{Depth, Nodes};
use super::system::{System, SystemAdjoint};
use crate::terms::filtered::algebra::{Solved, Workspace};
use crate::terms::filtered::error::TermError;
use crate::terms::filtered::{Adjoint, FilteredGp, Point, overflow};

/// States per factor beyond which the algebra refuses: the cost of a node grows with their cube.
const MAX_ORDER: usize = 128;

/// The node statistics of a workspace, and where smoothed moments go.
pub(super) struct Statistics<'a> {
    factors: usize,
    nodes: usize,
    lower: &'a [f64],
    informed: &'a [f64],
    mean: &'a mut [f64],
    covariance: &'a mut [f64],
    /// Sum of f' L e~ over the nodes.
    quadratic: f64,
}

impl<'a> Statistics<'a> {
    /// Of a workspace in which the nodes are factored.
    pub fn new(factors: usize, nodes: usize, ws: &'a mut Workspace) -> Self {
        ws.mean.resize(nodes * factors, 0.0);
        ws.covariance.resize(nodes * factors * factors, 0.0);
        Self {
            factors,
            nodes,
            lower: &ws.lower,
            informed: &ws.solution,
            mean: &mut ws.mean,
            covariance: &mut ws.covariance,
            quadratic: 0.0,
        }
    }
}

impl Nodes for Statistics<'_> {
    fn read(&self, node: usize, lower: &mut [f64], informed: &mut [f64]) {
        for (at, x) in lower.iter_mut().enumerate() {
            *x = self.lower[at * self.nodes + node];
        }
        for (a, u) in informed.iter_mut().enumerate() {
            *u = self.informed[a * self.nodes + node];
        }
    }

    fn smoothed(&mut self, node: usize, mean: &[f64], covariance: &[f64], error: &[f64]) {
        let k = self.factors;
        self.mean[node * k..(node + 1) * k].copy_from_slice(mean);
        self.covariance[node * k * k..(node + 1) * k * k].copy_from_slice(covariance);
        for (c, mu) in mean.iter().enumerate() {
            for (a, e) in error.iter().enumerate().take(c + 1) {
                self.quadratic += mu * self.lower[(c * k + a) * self.nodes + node] * e;
            }
        }
    }

    fn answer(&mut self, _query: usize, _mean: &[f64], _covariance: &[f64]) {}
}

impl FilteredGp {
    /// States per factor.
    pub(super) fn order(&self, point: &Point<'_>) -> Result<usize, TermError> {
        let mut order = 2;
        for (response, range) in self.responses.iter().zip(&self.ranges) {
            order += states(response, &point.responses[range.clone()], &self.free[range.clone()])
                .map_err(|Unsupported { family, reason }| TermError::Unsupported { family, reason })?;
        }
        if order > MAX_ORDER {
            let reason = format!("together the responses need {order} states per factor, more than {MAX_ORDER}");
            return Err(TermError::Unsupported { family: "with most states", reason });
        }
        Ok(order)
    }

    /// The linear system of one factor at `point`.
    pub(super) fn system(&self, point: &Point<'_>) -> Result<System, TermError> {
        self.order(point)?;
        let mut responses = Vec::with_capacity(self.responses.len());
        for (slot, (response, range)) in self.responses.iter().zip(&self.ranges).enumerate() {
            let built = response.family().with(&point.responses[range.clone()]);
            responses.push(built.map_err(|reason| TermError::Response { slot, reason })?);
        }
        System::new(point.length_scale, &responses).map_err(|(slot, reason)| TermError::Response { slot, reason })
    }

    /// Log likelihood of all runs by the state-space algebra, and its gradient where asked for.
    ///
    /// Linear in the nodes. Shapes of gamma densities must be integers and must not be learned
    /// ([`FilteredGp::with_learned_responses`]).
    ///
    /// # Errors
    /// Those of [`FilteredGp::log_likelihood`], and [`TermError::Unsupported`] for responses without an exact
    /// state-space form.
    pub fn state_space_log_likelihood(
        &self,
        point: &Point<'_>,
        mut adjoint: Option<&mut Adjoint<'_>>,
        workspace: &mut Workspace,
    ) -> Result<f64, TermError> {
        self.check(point)?;
        if let Some(adjoint) = adjoint.as_deref() {
            self.check_adjoint(adjoint)?;
        }
        let system = self.system(point)?;
        let mut score = system.adjoint();
        let mut total = 0.0;
        for run in 0..self.runs.len() {
            if self.runs[run].times.is_empty() {
                continue;
            }
            self.factor_nodes(run, point, workspace)?;
            let depth = if adjoint.is_some() { Depth::Score } else { Depth::Filter };
            let solved = self.pass(run, &system, point, depth, &mut score, workspace)?;
            total += self.score_scalars(run, point, &solved, adjoint.as_deref_mut(), workspace)?;
        }
        if let Some(adjoint) = adjoint {
            let scale = adjoint.scale;
            system.pull(score, scale, (&self.ranges, &self.free), adjoint.responses, adjoint.length_scale);
            if !adjoint.is_finite() {
                return Err(overflow(0, point));
            }
        }
        Ok(total)
    }

    /// Filters, and smooths where asked for: leaves in the workspace a mean of each node, smoothed or of its own
    /// scalars, and smoothed covariances.
    fn pass(
        &self,
        run: usize,
        system: &System,
        point: &Point<'_>,
        depth: Depth,
        score: &mut SystemAdjoint,
        ws: &mut Workspace,
    ) -> Result<Solved, TermError> {
        let nodes = &self.runs[run];
        let (n, k) = (nodes.times.len(), self.factors);
        let mut pass = std::mem::take(&mut ws.state_space);
        pass.events.set(nodes, system, &[], None);
        if pass.events.list.iter().any(|e| !e.time.is_finite()) {
            return Err(overflow(run, point));
        }
        let mut statistics = Statistics::new(k, n, ws);
        let passed = pass.run(system, k, &mut statistics, depth, score);
        let smoothed = statistics.quadratic;
        let (log_det, filtered) = (pass.filter.log_det, pass.filter.quadratic);
        ws.state_space = pass;
        passed.map_err(|e| e.in_run(run, k))?;
        if depth != Depth::Filter {
            ws.undo_loading_factor(n, k);
            return Ok(Solved { log_det, quadratic: smoothed });
        }
        for node in 0..n {
            let lower = |c: usize, a: usize| ws.lower[(c * k + a) * n + node];
            for a in (0..k).rev() {
                let mut f = ws.solution[a * n + node];
                for c in a + 1..k {
                    f -= lower(c, a) * ws.mean[node * k + c];
                }
                ws.mean[node * k + a] = if lower(a, a) == 0.0 { 0.0 } else { f / lower(a, a) };
            }
        }
        Ok(Solved { log_det, quadratic: filtered })
    }
}
