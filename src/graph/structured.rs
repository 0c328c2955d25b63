//! Structured terms as operations: whole shared-response likelihoods and penalties with hand-written adjoints.

use super::density::Rejection;
use crate::model::SharedTerm;
use crate::terms::filtered::{Adjoint, Algebra, FilteredGp, Point, TermError, Workspace};
use crate::terms::gridded::Problem;
use crate::terms::gridded::objective::{self, Adjoint as GriddedAdjoint, Scratch};
use crate::terms::gridded::response_objective::{self, ResponseAdjoint};
use std::any::Any;
use std::sync::Arc;

/// The largest number of inputs of a structured term.
pub const MAX_INPUTS: usize = 32;

/// A scalar function of several arrays that knows its own gradient.
pub trait Structured: Send + Sync {
    /// What `--emit graph` calls it.
    fn name(&self) -> &'static str;

    /// Buffers for repeated evaluation on one thread.
    fn workspace(&self) -> Box<dyn Any + Send>;

    /// The value at `inputs`; the gradient in each input is ADDED to the slice of the same position.
    fn value_gradient(
        &self,
        inputs: &[&[f64]],
        gradient: &mut [&mut [f64]],
        workspace: &mut (dyn Any + Send),
    ) -> Result<f64, Rejection>;
}

/// The log likelihood of a recording with the latent paths integrated out.
///
/// Inputs: loadings (keys x factors), offsets (keys), noise variances, length scale, learned response parameters.
pub struct FilteredTerm {
    pub gp: Arc<FilteredGp>,
    /// Parameters of all responses; those that are learned are replaced by the input.
    pub responses: Vec<f64>,
    /// Place of every learned parameter among `responses`.
    pub places: Vec<usize>,
}

/// Buffers of a [`FilteredTerm`].
struct FilteredWorkspace {
    gp: Workspace,
    responses: Vec<f64>,
    adjoint: Vec<f64>,
}

impl Structured for FilteredTerm {
    fn name(&self) -> &'static str {
        "filtered_gp"
    }

    fn workspace(&self) -> Box<dyn Any + Send> {
        let responses = self.responses.clone();
        Box::new(FilteredWorkspace { gp: Workspace::default(), adjoint: vec![0.0; responses.len()], responses })
    }

    fn value_gradient(
        &self,
        inputs: &[&[f64]],
        gradient: &mut [&mut [f64]],
        workspace: &mut (dyn Any + Send),
    ) -> Result<f64, Rejection> {
        let (
            [loadings, offsets, noise, length_scale, learned],
            [g_loadings, g_offsets, g_noise, g_length_scale, g_learned],
        ) = (inputs, gradient)
        else {
            return Err(Rejection::NotFinite { value: f64::NAN });
        };
        let Some(FilteredWorkspace { gp, responses, adjoint: g_responses }) = workspace.downcast_mut() else {
            return Err(Rejection::NotFinite { value: f64::NAN });
        };
        for (&place, &value) in self.places.iter().zip(*learned) {
            responses[place] = value;
        }
        g_responses.fill(0.0);
        let point = Point { loadings, offsets: Some(offsets), noise, responses, length_scale: length_scale[0] };
        let mut adjoint = Adjoint {
            scale: 1.0,
            loadings: g_loadings,
            offsets: Some(g_offsets),
            noise: g_noise,
            responses: g_responses,
            length_scale: &mut g_length_scale[0],
        };
        let value = self.gp.log_likelihood_by(Algebra::Auto, &point, Some(&mut adjoint), gp).map_err(|e| match e {
            TermError::Factorisation { pivot, size, smallest, .. } => {
                Rejection::Factorisation { pivot, size, value: smallest }
            }
            _ => Rejection::NotFinite { value: f64::NAN },
        })?;
        for (out, &place) in g_learned.iter_mut().zip(&self.places) {
            *out += g_responses[place];
        }
        Ok(value)
    }
}

/// What a [`GriddedTerm`] computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GriddedKind {
    /// One term of the objective.
    Objective(SharedTerm),
    /// The priors and the spread of the learned response parameters.
    Responses,
}

/// One part of a gridded objective. Inputs: loadings (keys x factors), the latent (paths x nodes x factors), learned
/// response parameters.
pub struct GriddedTerm {
    pub problem: Arc<Problem>,
    pub kind: GriddedKind,
    /// Input position of every learned parameter of the problem.
    pub order: Vec<usize>,
}

/// Buffers of a [`GriddedTerm`].
struct GriddedWorkspace {
    scratch: Scratch,
    responses: Vec<f64>,
    adjoint: Vec<f64>,
}

impl Structured for GriddedTerm {
    fn name(&self) -> &'static str {
        match self.kind {
            GriddedKind::Objective(SharedTerm::BalancedSquares) => "balanced_squares",
            GriddedKind::Objective(SharedTerm::LoadingRidge | SharedTerm::LoadingRidgePerFeature) => "ridge_loadings",
            GriddedKind::Objective(SharedTerm::LatentRidge) => "ridge_latent",
            GriddedKind::Objective(SharedTerm::Roughness) => "roughness",
            GriddedKind::Objective(SharedTerm::LatentSpread | SharedTerm::LatentNeighbors) => "coupling_latent",
            GriddedKind::Objective(SharedTerm::ResponseSpread(_)) | GriddedKind::Responses => "responses",
        }
    }

    fn workspace(&self) -> Box<dyn Any + Send> {
        let n = self.order.len();
        let scratch = Scratch::new(&self.problem);
        Box::new(GriddedWorkspace { scratch, responses: vec![0.0; n], adjoint: vec![0.0; n] })
    }

    fn value_gradient(
        &self,
        inputs: &[&[f64]],
        gradient: &mut [&mut [f64]],
        workspace: &mut (dyn Any + Send),
    ) -> Result<f64, Rejection> {
        let ([w, z, learned], [loadings, latents, g_learned]) = (inputs, gradient) else {
            return Err(Rejection::NotFinite { value: f64::NAN });
        };
        let Some(GriddedWorkspace { scratch, responses, adjoint: g_responses }) = workspace.downcast_mut() else {
            return Err(Rejection::NotFinite { value: f64::NAN });
        };
        for (value, &position) in responses.iter_mut().zip(&self.order) {
            *value = learned[position];
        }
        g_responses.fill(0.0);
        let problem = &self.problem;
        let value = match self.kind {
            GriddedKind::Objective(SharedTerm::BalancedSquares) if self.order.is_empty() => {
                let mut adjoint = GriddedAdjoint { scale: 1.0, loadings, latents };
                objective::balanced_squares_adjoint(problem, w, z, scratch, &mut adjoint)
            }
            GriddedKind::Objective(SharedTerm::BalancedSquares) => {
                let mut adjoint = ResponseAdjoint { scale: 1.0, loadings, latents, responses: g_responses };
                response_objective::balanced_squares_adjoint(problem, (w, z, responses), scratch, &mut adjoint)
                    .map_err(|_| Rejection::NotFinite { value: f64::NAN })?
            }
            GriddedKind::Objective(SharedTerm::LoadingRidge | SharedTerm::LoadingRidgePerFeature) => {
                objective::ridge_loadings_adjoint(problem, w, 1.0, loadings)
            }
            GriddedKind::Objective(SharedTerm::LatentRidge) => {
                objective::ridge_latent_adjoint(problem, z, 1.0, latents)
            }
            GriddedKind::Objective(SharedTerm::Roughness) => objective::roughness_adjoint(problem, z, 1.0, latents),
            GriddedKind::Objective(SharedTerm::LatentSpread | SharedTerm::LatentNeighbors) => {
                objective::coupling_adjoint(problem, z, 1.0, latents)
            }
            GriddedKind::Objective(SharedTerm::ResponseSpread(_)) | GriddedKind::Responses => {
                response_objective::response_penalty_adjoint(problem, responses, 1.0, g_responses)
            }
        };
        for (g, &position) in g_responses.iter().zip(&self.order) {
            g_learned[position] += g;
        }
        Ok(value)
    }
}
