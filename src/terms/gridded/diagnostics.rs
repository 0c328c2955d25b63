//! What a solution is made of and how far it is from a stationary point, computed from the data rather than from the steps.

use super::error::GriddedError;
use super::learn::Learner;
use super::objective::{
    Adjoint, Scratch, balanced_squares_adjoint, balanced_squares_by_modality, coupling, coupling_adjoint, ridge_latent,
    ridge_latent_adjoint, ridge_loadings, ridge_loadings_adjoint, roughness, roughness_adjoint,
};
use super::problem::Problem;
use super::response_objective::{self, ResponseAdjoint, response_penalty_adjoint};
use super::steps::Strengths;
use super::walk::latent_penalty;

/// The parts of the objective, each with its strength.
#[derive(Debug, Clone, PartialEq)]
pub struct Components {
    /// Balanced squares of each modality.
    pub reconstruction_by_modality: Vec<f64>,
    pub reconstruction: f64,
    pub loading_ridge: f64,
    pub latent_ridge: f64,
    pub roughness: f64,
    /// Coupling of the latent paths of participants.
    pub coupling: f64,
    /// Poolings and penalties of the learned responses.
    pub responses: f64,
    pub total: f64,
}

/// How far the solution is from a stationary point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stationarity {
    /// Norm of the gradient in the loadings over the norm of that gradient at zero loadings.
    pub loading_relative: f64,
    pub loading_largest: f64,
    /// The same for the latent.
    pub latent_relative: f64,
    pub latent_largest: f64,
    /// Largest derivative in a coordinate of a learned response (a lag, or the logarithm of another parameter), leaving out
    /// those that press against a bound; 0 where nothing is learned.
    pub response_largest: f64,
    /// |A - B| / (A + B) of the loading and latent penalties.
    pub scale_imbalance: f64,
}

/// The parts of the objective at (w, z) and the curves behind the problem's rows.
pub(super) fn components(problem: &Problem, strengths: &Strengths, w: &[f64], z: &[f64]) -> Components {
    let reconstruction_by_modality = balanced_squares_by_modality(problem, w, z);
    let reconstruction: f64 = reconstruction_by_modality.iter().sum();
    let loading_ridge = strengths.loading * ridge_loadings(problem, w);
    let latent_ridge = strengths.latent * ridge_latent(problem, z);
    let roughness = strengths.roughness * roughness(problem, z);
    let coupling = strengths.coupling * coupling(problem, z);
    let values = problem.response_values();
    let responses = response_penalty_adjoint(problem, &values, 0.0, &mut vec![0.0; values.len()]);
    Components {
        reconstruction_by_modality,
        reconstruction,
        loading_ridge,
        latent_ridge,
        roughness,
        coupling,
        responses,
        total: reconstruction + loading_ridge + latent_ridge + roughness + coupling + responses,
    }
}

/// Gradient of the whole objective at (w, z), in the loadings and in the latent.
pub(super) fn gradient(problem: &Problem, strengths: &Strengths, w: &[f64], z: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let (mut loadings, mut latents) = (vec![0.0; w.len()], vec![0.0; z.len()]);
    let mut adjoint = Adjoint { scale: 1.0, loadings: &mut loadings, latents: &mut latents };
    balanced_squares_adjoint(problem, w, z, &mut Scratch::new(problem), &mut adjoint);
    ridge_loadings_adjoint(problem, w, strengths.loading, &mut loadings);
    add_latent_penalty(problem, strengths, z, &mut latents);
    (loadings, latents)
}

fn add_latent_penalty(problem: &Problem, strengths: &Strengths, z: &[f64], latents: &mut [f64]) {
    ridge_latent_adjoint(problem, z, strengths.latent, latents);
    roughness_adjoint(problem, z, strengths.roughness, latents);
    coupling_adjoint(problem, z, strengths.coupling, latents);
}

/// Gradient of the whole objective at (w, z) and the curves behind the problem's rows, in the learned parameters.
pub(super) fn response_gradient(problem: &Problem, w: &[f64], z: &[f64]) -> Result<Vec<f64>, GriddedError> {
    let values = problem.response_values();
    let (mut loadings, mut latents, mut responses) = (vec![0.0; w.len()], vec![0.0; z.len()], vec![0.0; values.len()]);
    let mut adjoint =
        ResponseAdjoint { scale: 1.0, loadings: &mut loadings, latents: &mut latents, responses: &mut responses };
    let mut scratch = Scratch::new(problem);
    response_objective::balanced_squares_adjoint(problem, (w, z, &values), &mut scratch, &mut adjoint)?;
    response_penalty_adjoint(problem, &values, 1.0, &mut responses);
    Ok(responses)
}

/// How stationary (w, z) and the curves behind the problem's rows are.
pub(super) fn stationarity(
    problem: &Problem,
    strengths: &Strengths,
    w: &[f64],
    z: &[f64],
) -> Result<Stationarity, GriddedError> {
    let (loadings, latents) = gradient(problem, strengths, w, z);
    let (loadings_at_zero, _) = gradient(problem, strengths, &vec![0.0; w.len()], z);
    let (_, latents_at_zero) = gradient(problem, strengths, w, &vec![0.0; z.len()]);
    let a = strengths.loading * ridge_loadings(problem, w);
    let b = latent_penalty(problem, strengths, z);
    let mut responses = Vec::new();
    if problem.response_count() > 0 {
        let learner = Learner::new(problem);
        responses = response_gradient(problem, w, z)?;
        responses.iter_mut().zip(learner.chain(&problem.response_values())).for_each(|(g, c)| *g *= c);
        learner.project(&learner.start(), &mut responses);
    }
    Ok(Stationarity {
        loading_relative: ratio(norm(&loadings), norm(&loadings_at_zero)),
        loading_largest: largest(&loadings),
        latent_relative: ratio(norm(&latents), norm(&latents_at_zero)),
        latent_largest: largest(&latents),
        response_largest: largest(&responses),
        scale_imbalance: ratio((a - b).abs(), a + b),
    })
}

/// a / b, and 0 where both vanish.
fn ratio(a: f64, b: f64) -> f64 {
    if a == 0.0 { 0.0 } else { a / b }
}

fn norm(v: &[f64]) -> f64 {
    v.iter().map(|x| x * x).sum::<f64>().sqrt()
}

fn largest(v: &[f64]) -> f64 {
    v.iter().fold(0.0, |m, x| x.abs().max(m))
}
