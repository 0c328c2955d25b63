//! Structured terms as operations: whole shared-response likelihoods and penalties with hand-written adjoints.

use super::density::Rejection;
use crate::model::SharedTerm;
use crate::terms::filtered::{Adjoint, FilteredGp, Point, TermError, Workspace};
use crate::terms::gridded::Problem;
use crate::terms::gridded::objective::{self, Adjoint as GriddedAdjoint, Scratch};
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
/// Inputs: loadings (keys x factors), offsets (keys), noise variances, length scale.
pub struct FilteredTerm {
    pub gp: Arc<FilteredGp>,
}

impl Structured for FilteredTerm {
    fn name(&self) -> &'static str {
        "filtered_gp"
    }

    fn workspace(&self) -> Box<dyn Any + Send> {
        Box::new(Workspace::default())
    }

    fn value_gradient(
        &self,
        inputs: &[&[f64]],
        gradient: &mut [&mut [f64]],
        workspace: &mut (dyn Any + Send),
    ) -> Result<f64, Rejection> {
        let ([loadings, offsets, noise, length_scale], [g_loadings, g_offsets, g_noise, g_length_scale]) =
            (inputs, gradient)
        else {
            return Err(Rejection::NotFinite { value: f64::NAN });
        };
        let Some(workspace) = workspace.downcast_mut::<Workspace>() else {
            return Err(Rejection::NotFinite { value: f64::NAN });
        };
        let point = Point { loadings, offsets: Some(offsets), noise, length_scale: length_scale[0] };
        let mut adjoint = Adjoint {
            scale: 1.0,
            loadings: g_loadings,
            offsets: Some(g_offsets),
            noise: g_noise,
            length_scale: &mut g_length_scale[0],
        };
        self.gp.log_likelihood(&point, Some(&mut adjoint), workspace).map_err(|e| match e {
            TermError::Factorisation { pivot, size, smallest, .. } => {
                Rejection::Factorisation { pivot, size, value: smallest }
            }
            _ => Rejection::NotFinite { value: f64::NAN },
        })
    }
}

/// One term of a gridded objective. Inputs: loadings (keys x factors) and the latent (runs x nodes x factors).
pub struct GriddedTerm {
    pub problem: Arc<Problem>,
    pub kind: SharedTerm,
}

impl Structured for GriddedTerm {
    fn name(&self) -> &'static str {
        match self.kind {
            SharedTerm::BalancedSquares => "balanced_squares",
            SharedTerm::LoadingRidge => "ridge_loadings",
            SharedTerm::LatentRidge => "ridge_latent",
            SharedTerm::Roughness => "roughness",
        }
    }

    fn workspace(&self) -> Box<dyn Any + Send> {
        Box::new(Scratch::new(&self.problem))
    }

    fn value_gradient(
        &self,
        inputs: &[&[f64]],
        gradient: &mut [&mut [f64]],
        workspace: &mut (dyn Any + Send),
    ) -> Result<f64, Rejection> {
        let ([w, z], [loadings, latents], Some(scratch)) = (inputs, gradient, workspace.downcast_mut::<Scratch>())
        else {
            return Err(Rejection::NotFinite { value: f64::NAN });
        };
        let problem = &self.problem;
        Ok(match self.kind {
            SharedTerm::BalancedSquares => {
                let mut adjoint = GriddedAdjoint { scale: 1.0, loadings, latents };
                objective::balanced_squares_adjoint(problem, w, z, scratch, &mut adjoint)
            }
            SharedTerm::LoadingRidge => objective::ridge_loadings_adjoint(problem, w, 1.0, loadings),
            SharedTerm::LatentRidge => objective::ridge_latent_adjoint(problem, z, 1.0, latents),
            SharedTerm::Roughness => objective::roughness_adjoint(problem, z, 1.0, latents),
        })
    }
}
