//! The log density of every observation at every draw of a finished fit.

use crate::archive::{Archive, Draws, Outcome as Fitted};
use crate::bind::evaluate::log_densities;
use crate::bind::{Env, EvaluateError, Plan, Value, complete, evaluate};
use crate::diagnose::LogLikelihood;
use crate::math::vector::{self, Outcome};
use crate::model::{Draw, Statement, Typed};
use rayon::prelude::*;

/// Why a fit has no pointwise log likelihood.
#[derive(Debug, thiserror::Error)]
pub enum PointwiseError {
    #[error("this fit is a mode; leaving observations out needs draws (--method nuts)")]
    NoDraws,
    #[error(
        "the entries of a recording are not independent given the parameters, so that they cannot be left out one by one"
    )]
    Recording,
    #[error("the model observes no data with `observe`")]
    NothingObserved,
    #[error("the log likelihood of an observation is not finite at some draw, or the chains are too short to judge")]
    Unjudged,
    #[error(transparent)]
    Evaluate(#[from] EvaluateError),
}

/// Name and log density of every observation, chain by chain and draw by draw; chains of an interrupted fit are cut as
/// everywhere else.
///
/// # Errors
/// Modes, recordings, and models without observations.
pub fn log_likelihood(archive: &Archive) -> Result<Vec<LogLikelihood>, PointwiseError> {
    let Fitted::Draws(draws) = &archive.outcome else { return Err(PointwiseError::NoDraws) };
    let plan = &archive.plan;
    if plan.shared.is_some() {
        return Err(PointwiseError::Recording);
    }
    let names = observed_names(plan)?;
    if names.is_empty() {
        return Err(PointwiseError::NothingObserved);
    }
    let elements: Vec<Vec<Vec<f64>>> = (0..draws.labels().count()).map(|i| draws.element(i)).collect();
    let (chains, length) = elements.first().map_or((0, 0), |e| (e.len(), e.first().map_or(0, Vec::len)));
    let rows: Vec<Vec<f64>> = (0..chains * length)
        .into_par_iter()
        .map(|i| at_draw(plan, &draw_env(plan, draws, &elements, i / length, i % length)?))
        .collect::<Result<_, PointwiseError>>()?;
    let of = |observation: usize| {
        (0..chains).map(|c| (0..length).map(|d| rows[c * length + d][observation]).collect()).collect()
    };
    Ok(names.into_iter().enumerate().map(|(i, name)| LogLikelihood { name, chains: of(i) }).collect())
}

/// `y[3]`; an expression has its text in place of a name. A distribution of vectors observes a row at a time.
fn observed_names(plan: &Plan) -> Result<Vec<String>, PointwiseError> {
    let mut names = Vec::new();
    for (label, value, draw) in observed(plan) {
        let mut shape = evaluate(value, &plan.values)?.shape;
        match vector::find(&draw.family).map(|d| d.outcome) {
            Some(Outcome::Vector) => drop(shape.pop()),
            Some(Outcome::Matrix) => shape.clear(),
            Some(Outcome::Category) | None => {}
        }
        let text = label.strip_suffix(&format!(" ~ {}", draw.family)).unwrap_or(label);
        names.extend(crate::bind::element_labels(text, &shape));
    }
    Ok(names)
}

/// The lines that observe data: label, value and distribution.
fn observed(plan: &Plan) -> impl Iterator<Item = (&str, &Typed, &Draw)> {
    plan.model.statements.iter().filter_map(|statement| match statement {
        Statement::Density { label, value, draw } if value.data_only => Some((label.as_str(), value, draw)),
        _ => None,
    })
}

/// The log density of every observation, in the order of the names.
fn at_draw(plan: &Plan, env: &Env) -> Result<Vec<f64>, PointwiseError> {
    let mut out = Vec::new();
    for (_, value, draw) in observed(plan) {
        out.extend(log_densities(value, draw, env)?);
    }
    Ok(out)
}

/// All named quantities at one draw.
fn draw_env(
    plan: &Plan,
    draws: &Draws,
    elements: &[Vec<Vec<f64>>],
    chain: usize,
    draw: usize,
) -> Result<Env, EvaluateError> {
    let mut env = plan.values.clone();
    let mut at = 0;
    for quantity in &draws.quantities {
        let n = quantity.labels.len();
        let values = elements[at..at + n].iter().map(|e| e[chain][draw]).collect();
        env.insert(quantity.name.clone(), Value { shape: quantity.shape.clone(), values });
        at += n;
    }
    complete(plan, env)
}
