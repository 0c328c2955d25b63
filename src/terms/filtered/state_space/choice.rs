//! Which algebra a term is evaluated by, and why.
//!
//! Both cost models are multiply-adds over measured rates: the grouped algebra factorises and inverts a matrix of side
//! nodes x factors with blocked kernels, the state-space algebra moves K (K + 1) / 2 blocks of the state per node.

use super::small::side;
use crate::terms::filtered::{Algebra, FilteredGp, LatentMoments, Point, TermError, Workspace};

/// Seconds of the grouped algebra per cube and per square of nodes x factors.
const GROUPED: (f64, f64) = (1.5e-10, 4e-9);

/// Seconds of the state-space algebra: per evaluation, per node and pair of factors, and per multiply-add of a block.
const STATE_SPACE: (f64, f64, f64) = (2e-5, 2.5e-7, 3e-9);

/// An algebra and the reason for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    pub algebra: Algebra,
    /// A sentence for people.
    pub reason: String,
}

impl FilteredGp {
    /// The faster of the grouped and the state-space algebra for a value with its gradient at `point`, by a cost model
    /// of nodes, factors and states; grouped where a response has no state-space form.
    pub fn choose(&self, point: &Point<'_>) -> Choice {
        let order = match self.order(point) {
            Ok(order) => order,
            Err(why) => return Choice { algebra: Algebra::Grouped, reason: why.to_string() },
        };
        let k = self.factors as f64;
        let pairs = 0.5 * k * (k + 1.0);
        let block = (side(order) as f64).powi(3);
        let (mut grouped, mut state_space) = (0.0, STATE_SPACE.0);
        for run in &self.runs {
            let nodes = run.times.len() as f64;
            let m = nodes * k;
            grouped += m * m * (GROUPED.0 * m + GROUPED.1);
            state_space += nodes * pairs * (STATE_SPACE.1 + STATE_SPACE.2 * block);
        }
        let algebra = if grouped <= state_space { Algebra::Grouped } else { Algebra::StateSpace };
        let nodes: usize = self.runs.iter().map(|r| r.times.len()).sum();
        let reason = format!(
            "{nodes} nodes, {} factors, {order} states per factor: about {:.1} ms by state space, {:.1} ms grouped",
            self.factors,
            1e3 * state_space,
            1e3 * grouped
        );
        Choice { algebra, reason }
    }

    /// Moments of the path of `run` at `times`, or, with a response slot, of the path seen through that response, by the
    /// algebra of [`FilteredGp::choose`].
    ///
    /// # Errors
    /// Those of [`FilteredGp::latent_moments`] and [`FilteredGp::state_space_moments`].
    pub fn moments(
        &self,
        point: &Point<'_>,
        run: usize,
        slot: Option<usize>,
        times: &[f64],
        workspace: &mut Workspace,
    ) -> Result<LatentMoments, TermError> {
        match (self.choose(point).algebra, slot) {
            (Algebra::StateSpace, slot) => self.state_space_moments(point, run, slot, times, workspace),
            (_, Some(slot)) => self.response_moments(point, run, slot, times, workspace),
            (_, None) => self.latent_moments(point, run, times, workspace),
        }
    }
}
