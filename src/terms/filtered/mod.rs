//! GP-MSRM: the marginal likelihood of scalars that all see one latent Gaussian process path, which is integrated out.
//!
//! Per run, K independent zero-mean unit-variance Matérn 3/2 paths g_k; y = b + sum_k w_k (h * g_k)(t) + e with the
//! response h of the stream and e ~ N(0, v), so
//! y ~ N(b, C) with C_ij = T_ij w_i' w_j + v_i [i = j], T the covariance of the path as the responses of i and j show it, and the log likelihood is
//! -((y - b)' C^{-1} (y - b) + log |C| + N log 2 pi) / 2. Runs are independent; nothing is added to a diagonal.
//! [`FilteredGp::log_likelihood`] groups scalars by node and costs O((nodes K)^3);
//! [`FilteredGp::dense_log_likelihood`] is its slow obvious twin.

mod algebra;
mod covariance;
mod dense;
mod error;
mod kernel;
mod layout;
mod moments;
mod node_kernel;
mod scalars;
mod state_space;
#[cfg(test)]
mod tests;
mod triangle;

pub use algebra::Workspace;
pub use error::TermError;
pub use layout::Observation;
pub use moments::{Feature, LatentMoments, PathMoments, PredictedMoments};
pub use state_space::Choice;

use crate::response::Response;
use covariance::Form;
use layout::RunNodes;
use std::ops::Range;

/// Time constants that a curve given by quadrature may span.
const LONGEST_QUADRATURE: f64 = 1e4;

/// Scalars of all runs, sorted for evaluation.
#[derive(Debug, Clone)]
pub struct FilteredGp {
    factors: usize,
    keys: usize,
    noise_count: usize,
    responses: Vec<Response>,
    ranges: Vec<Range<usize>>,
    /// Parameters of responses whose derivatives are wanted.
    free: Vec<bool>,
    runs: Vec<RunNodes>,
}

/// Where the density is evaluated.
#[derive(Debug, Clone, Copy)]
pub struct Point<'a> {
    /// keys x K, row-major.
    pub loadings: &'a [f64],
    /// Length keys; absent means zero.
    pub offsets: Option<&'a [f64]>,
    /// Noise variances, positive.
    pub noise: &'a [f64],
    /// Parameters of all response slots, one slot after the other ([`FilteredGp::response_ranges`]), each in the order
    /// of its family's table.
    pub responses: &'a [f64],
    /// Positive, in the unit of the times.
    pub length_scale: f64,
}

/// Where derivatives of the log likelihood go: each evaluation ADDS `scale` times the derivative.
///
/// After an error the contents are undefined.
#[derive(Debug)]
pub struct Adjoint<'a> {
    pub scale: f64,
    /// keys x K, row-major.
    pub loadings: &'a mut [f64],
    /// Length keys.
    pub offsets: Option<&'a mut [f64]>,
    pub noise: &'a mut [f64],
    /// Laid out like [`Point::responses`].
    pub responses: &'a mut [f64],
    pub length_scale: &'a mut f64,
}

impl Adjoint<'_> {
    fn is_finite(&self) -> bool {
        let offsets = self.offsets.as_deref().unwrap_or_default();
        let parts = [&*self.loadings, offsets, &*self.noise, &*self.responses];
        self.length_scale.is_finite() && parts.iter().all(|part| part.iter().all(|x| x.is_finite()))
    }
}

/// How the marginal likelihood is computed; both are exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algebra {
    /// Covariance of all scalars of a run: cubic in the scalars.
    Dense,
    /// Scalars grouped by node: cubic in nodes times factors, linear in the scalars.
    Grouped,
    /// A filter and smoother over the nodes: linear in nodes and scalars, cubic in factors times states. Not every
    /// response has this form.
    StateSpace,
    /// Whichever of grouped and state space is expected to be faster, see [`FilteredGp::choose`].
    Auto,
}

/// Sizes of a term, known before anything is allocated for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    pub runs: Vec<RunSummary>,
    /// Bytes that one [`Workspace`] grows to (value and gradient), set by the largest run.
    pub workspace_bytes: usize,
}

/// Sizes of one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunSummary {
    pub nodes: usize,
    pub scalars: usize,
}

impl FilteredGp {
    /// Sorts the scalars of every run. `responses[r]` names the family of response slot r and, for a sampled curve, the
    /// curve; the values of parameters come with each [`Point`].
    ///
    /// # Errors
    /// No factor, and an observation that is not finite or points outside.
    pub fn new(
        factors: usize,
        keys: usize,
        noises: usize,
        responses: Vec<Response>,
        runs: &[Vec<Observation>],
    ) -> Result<Self, TermError> {
        if factors == 0 {
            return Err(TermError::BadParameter { name: "factors", index: 0, value: 0.0, requirement: "at least one" });
        }
        let first_identity = responses.iter().position(|r| *r == Response::Identity).unwrap_or_default();
        let same: Vec<usize> = responses
            .iter()
            .enumerate()
            .map(|(slot, r)| if *r == Response::Identity { first_identity } else { slot })
            .collect();
        let runs = runs
            .iter()
            .enumerate()
            .map(|(run, scalars)| RunNodes::new(run, keys, noises, &same, scalars))
            .collect::<Result<_, _>>()?;
        let mut ranges = Vec::with_capacity(responses.len());
        let mut end = 0;
        for response in &responses {
            let start = end;
            end += response.family().parameters.len();
            ranges.push(start..end);
        }
        Ok(Self { factors, keys, noise_count: noises, responses, ranges, free: vec![true; end], runs })
    }

    /// Says of every parameter of the responses whether its derivative is wanted; at first, all are. A gamma density of
    /// fixed integer shape has covariances in closed form, any other costs a quadrature.
    ///
    /// # Errors
    /// A length that is not that of [`Point::responses`].
    pub fn with_learned_responses(mut self, learned: &[bool]) -> Result<Self, TermError> {
        length("learned responses", self.free.len(), learned.len())?;
        self.free = learned.to_vec();
        Ok(self)
    }

    /// Where the parameters of each response slot lie in [`Point::responses`].
    pub fn response_ranges(&self) -> &[Range<usize>] {
        &self.ranges
    }

    /// Nodes and scalars per run, and the memory that an evaluation will take.
    pub fn summary(&self) -> Summary {
        let runs: Vec<RunSummary> =
            self.runs.iter().map(|r| RunSummary { nodes: r.times.len(), scalars: r.scalars }).collect();
        let bytes = |run: &RunNodes| algebra::workspace_bytes(run.times.len(), self.factors) + self.table_bytes(run);
        let workspace_bytes = self.runs.iter().map(bytes).max().unwrap_or_default();
        Summary { runs, workspace_bytes }
    }

    /// Bytes of the covariances of a run and of their derivatives, one row per distinct lag.
    fn table_bytes(&self, run: &RunNodes) -> usize {
        let others = |slot: usize| self.ranges[slot].len().saturating_sub(1);
        let numbers = run.pairs.iter().map(|pair| {
            let (lags, [a, b]) = pair.sizes(&run.groups);
            lags * (3 + others(a) + others(b))
        });
        numbers.sum::<usize>() * size_of::<f64>()
    }

    /// Evaluates by the given algebra.
    pub fn log_likelihood_by(
        &self,
        algebra: Algebra,
        point: &Point<'_>,
        adjoint: Option<&mut Adjoint<'_>>,
        workspace: &mut Workspace,
    ) -> Result<f64, TermError> {
        match algebra {
            Algebra::Dense => self.dense_log_likelihood(point, adjoint),
            Algebra::Grouped => self.log_likelihood(point, adjoint, workspace),
            Algebra::StateSpace => self.state_space_log_likelihood(point, adjoint, workspace),
            Algebra::Auto => {
                self.check(point)?;
                self.log_likelihood_by(self.choose(point).algebra, point, adjoint, workspace)
            }
        }
    }

    /// Log likelihood of all runs, N log 2 pi included, and its gradient where asked for.
    pub fn log_likelihood(
        &self,
        point: &Point<'_>,
        mut adjoint: Option<&mut Adjoint<'_>>,
        workspace: &mut Workspace,
    ) -> Result<f64, TermError> {
        self.check(point)?;
        if let Some(adjoint) = adjoint.as_deref() {
            self.check_adjoint(adjoint)?;
        }
        let forms = self.forms(point)?;
        let mut total = 0.0;
        for run in 0..self.runs.len() {
            total += self.run_log_likelihood(run, point, &forms, adjoint.as_deref_mut(), workspace)?;
        }
        Ok(total)
    }

    fn run_log_likelihood(
        &self,
        run: usize,
        point: &Point<'_>,
        forms: &[Form],
        mut adjoint: Option<&mut Adjoint<'_>>,
        ws: &mut Workspace,
    ) -> Result<f64, TermError> {
        let nodes = &self.runs[run];
        let (n, k) = (nodes.times.len(), self.factors);
        if n == 0 {
            return Ok(0.0);
        }
        let solved = self.smooth(run, point, forms, adjoint.is_some(), ws)?;
        if let Some(adjoint) = adjoint.as_deref_mut() {
            ws.differentiate(n, k);
            self.pull(run, point, forms, &ws.kernel, &ws.kernel_adjoint, adjoint);
        }
        self.score_scalars(run, point, &solved, adjoint, ws)
    }

    /// Log likelihood of a run once its nodes are solved: `mean` and, for a gradient, `covariance` of the workspace are
    /// those of its nodes. Adds the derivatives in loadings, offsets and noise.
    fn score_scalars(
        &self,
        run: usize,
        point: &Point<'_>,
        solved: &algebra::Solved,
        adjoint: Option<&mut Adjoint<'_>>,
        ws: &mut Workspace,
    ) -> Result<f64, TermError> {
        let (nodes, k) = (&self.runs[run], self.factors);
        let mut deviance = solved.log_det + solved.quadratic + nodes.scalars as f64 * (2.0 * std::f64::consts::PI).ln();
        let mut finite = true;
        if let Some(adjoint) = adjoint {
            for block in &nodes.blocks {
                let variance = point.noise[block.noise];
                let weight = adjoint.scale / variance;
                ws.tiles.load(block, k, point.loadings, point.offsets);
                let squares = ws.tiles.squares_and_adjoint(block, k, &ws.mean, &ws.covariance);
                let spread = ws.tiles.add_gradient(block, k, weight, adjoint);
                let count = block.count as f64;
                adjoint.noise[block.noise] += 0.5 * weight * ((squares + spread) / variance - count);
                deviance += squares / variance + count * variance.ln();
            }
            finite = adjoint.is_finite();
        } else {
            for block in &nodes.blocks {
                let variance = point.noise[block.noise];
                ws.tiles.load(block, k, point.loadings, point.offsets);
                let squares = ws.tiles.squares(block, k, &ws.mean);
                deviance += squares / variance + block.count as f64 * variance.ln();
            }
        }
        if finite && deviance.is_finite() { Ok(-0.5 * deviance) } else { Err(overflow(run, point)) }
    }

    /// The form of each response slot.
    fn forms(&self, point: &Point<'_>) -> Result<Vec<Form>, TermError> {
        let forms = self.unchecked_forms(point)?;
        let poles = forms.iter().map(Form::fastest).fold(0.0, f64::max);
        let fastest = poles.max(kernel::rate(point.length_scale));
        for (slot, form) in forms.iter().enumerate() {
            let seconds = form.quadrature_reach(poles > 0.0);
            if seconds * fastest > LONGEST_QUADRATURE {
                return Err(TermError::Unresolved { slot, seconds, shortest: 1.0 / fastest });
            }
        }
        Ok(forms)
    }

    fn unchecked_forms(&self, point: &Point<'_>) -> Result<Vec<Form>, TermError> {
        let slots = self.responses.iter().zip(&self.ranges).enumerate();
        slots
            .map(|(slot, (response, range))| {
                let family = response.family();
                if !family.is_parametric() {
                    return Form::new(slot, response, &[]);
                }
                let values = &point.responses[range.clone()];
                let response = family.with(values).map_err(|reason| TermError::Response { slot, reason })?;
                Form::new(slot, &response, &self.free[range.clone()])
            })
            .collect()
    }

    /// A bound on the difference, in each entry, between the covariances used and those of curves that end where their supports
    /// do: closed forms go on with the tails of bells, gamma densities and Bateman curves.
    ///
    /// # Errors
    /// Those of [`FilteredGp::log_likelihood`] for the point.
    pub fn covariance_tail(&self, point: &Point<'_>) -> Result<f64, TermError> {
        self.check(point)?;
        let forms = self.forms(point)?;
        let pairs = forms.iter().enumerate().flat_map(|(i, a)| forms[i..].iter().map(move |b| a.tail(b)));
        Ok(pairs.fold(0.0, f64::max))
    }

    /// Adds what the derivative in the kernel of a run says of length scale and responses.
    fn pull(
        &self,
        run: usize,
        point: &Point<'_>,
        forms: &[Form],
        kernel: &node_kernel::NodeKernel,
        kernel_adjoint: &[f64],
        adjoint: &mut Adjoint<'_>,
    ) {
        let (scale, responses) = (adjoint.scale, &mut *adjoint.responses);
        let in_rho = kernel.pull(&self.runs[run], forms, kernel_adjoint, |slot, derivatives| {
            for (i, derivative) in self.ranges[slot].clone().zip(derivatives) {
                if self.free[i] {
                    responses[i] += scale * derivative;
                }
            }
        });
        let rho = kernel::rate(point.length_scale);
        *adjoint.length_scale -= scale * in_rho * rho / point.length_scale;
    }

    /// Node statistics and the smoothed path of a run that has nodes.
    fn smooth(
        &self,
        run: usize,
        point: &Point<'_>,
        forms: &[Form],
        slopes: bool,
        ws: &mut Workspace,
    ) -> Result<algebra::Solved, TermError> {
        let nodes = &self.runs[run];
        self.factor_nodes(run, point, ws)?;
        ws.kernel.fill(nodes, forms, kernel::rate(point.length_scale), slopes);
        ws.solve(run, nodes.times.len(), self.factors)
    }

    /// Node statistics of a run that has nodes: L and u of each are left in the workspace.
    fn factor_nodes(&self, run: usize, point: &Point<'_>, ws: &mut Workspace) -> Result<(), TermError> {
        let nodes = &self.runs[run];
        let (n, k) = (nodes.times.len(), self.factors);
        ws.begin(n, k);
        for block in &nodes.blocks {
            ws.tiles.load(block, k, point.loadings, point.offsets);
            let variance = point.noise[block.noise];
            ws.tiles.collect(block, k, variance, &mut ws.precision, &mut ws.information);
        }
        if ws.precision.iter().chain(&ws.information).any(|x| !x.is_finite()) {
            return Err(overflow(run, point));
        }
        if ws.factor_nodes(n, k) {
            ws.refactor_nodes(n, k, |ws| {
                for block in &nodes.blocks {
                    ws.tiles.load(block, k, point.loadings, point.offsets);
                    ws.tiles.rotate(
                        block,
                        k,
                        point.noise[block.noise],
                        &ws.cancelled,
                        &mut ws.precision,
                        &mut ws.information,
                    );
                }
            });
        }
        Ok(())
    }

    fn check(&self, point: &Point<'_>) -> Result<(), TermError> {
        length("loadings", self.keys * self.factors, point.loadings.len())?;
        length("noise", self.noise_count, point.noise.len())?;
        length("responses", self.ranges.last().map_or(0, |r| r.end), point.responses.len())?;
        finite("loadings", point.loadings)?;
        if let Some(offsets) = point.offsets {
            length("offsets", self.keys, offsets.len())?;
            finite("offsets", offsets)?;
        }
        for (index, &value) in point.noise.iter().enumerate() {
            positive("noise", index, value)?;
        }
        positive("length_scale", 0, point.length_scale)
    }

    fn check_adjoint(&self, adjoint: &Adjoint<'_>) -> Result<(), TermError> {
        length("adjoint of loadings", self.keys * self.factors, adjoint.loadings.len())?;
        length("adjoint of noise", self.noise_count, adjoint.noise.len())?;
        length("adjoint of responses", self.ranges.last().map_or(0, |r| r.end), adjoint.responses.len())?;
        match adjoint.offsets.as_deref() {
            Some(offsets) => length("adjoint of offsets", self.keys, offsets.len()),
            None => Ok(()),
        }
    }
}

fn overflow(run: usize, point: &Point<'_>) -> TermError {
    TermError::Overflow {
        run,
        largest_loading: point.loadings.iter().fold(0.0, |m, w| w.abs().max(m)),
        smallest_noise: point.noise.iter().fold(f64::INFINITY, |m, v| v.min(m)),
    }
}

fn length(name: &'static str, expected: usize, found: usize) -> Result<(), TermError> {
    if expected == found { Ok(()) } else { Err(TermError::Length { name, expected, found }) }
}

fn finite(name: &'static str, values: &[f64]) -> Result<(), TermError> {
    match values.iter().position(|x| !x.is_finite()) {
        None => Ok(()),
        Some(index) => Err(TermError::BadParameter { name, index, value: values[index], requirement: "finite" }),
    }
}

/// Also refuses values whose reciprocal overflows.
fn positive(name: &'static str, index: usize, value: f64) -> Result<(), TermError> {
    if value.is_finite() && value > 0.0 && value.recip().is_finite() {
        return Ok(());
    }
    Err(TermError::BadParameter { name, index, value, requirement: "positive and finite" })
}
