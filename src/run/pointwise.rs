//! The log density of every observation at every draw of a finished fit.

use crate::archive::{Archive, Draws, Outcome};
use crate::bind::{Env, EvaluateError, Plan, Value, complete, evaluate};
use crate::diagnose::LogLikelihood;
use crate::math::dist;
use crate::model::{Statement, Typed};
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
    #[error("`{family}` has no log density per element")]
    Family { family: String },
    #[error(transparent)]
    Evaluate(#[from] EvaluateError),
}

/// Name and log density of every observation, chain by chain and draw by draw; chains of an interrupted fit are cut as
/// everywhere else.
///
/// # Errors
/// Modes, recordings, and models without observations.
pub fn log_likelihood(archive: &Archive) -> Result<Vec<LogLikelihood>, PointwiseError> {
    let Outcome::Draws(draws) = &archive.outcome else { return Err(PointwiseError::NoDraws) };
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

/// `y[3]`; for an expression its place in brackets behind its text.
fn observed_names(plan: &Plan) -> Result<Vec<String>, PointwiseError> {
    let mut names = Vec::new();
    for statement in &plan.model.statements {
        let Statement::Density { label, value, draw } = statement else { continue };
        if !value.data_only {
            continue;
        }
        let shape = evaluate(value, &plan.values)?.shape;
        let text = label.strip_suffix(&format!(" ~ {}", draw.family)).unwrap_or(label);
        names.extend(crate::bind::element_labels(text, &shape));
    }
    Ok(names)
}

/// The log density of every observation, in the order of the names.
fn at_draw(plan: &Plan, env: &Env) -> Result<Vec<f64>, PointwiseError> {
    let mut out = Vec::new();
    for statement in &plan.model.statements {
        let Statement::Density { value, draw, .. } = statement else { continue };
        if !value.data_only {
            continue;
        }
        let number = |t: &Typed| evaluate(t, env).map(|v| v.values[0]);
        let missing = || PointwiseError::Family { family: draw.family.clone() };
        let distribution = dist::find(&draw.family).ok_or_else(missing)?;
        let x = evaluate(value, env)?;
        let arguments = draw.arguments.iter().map(|a| evaluate(a, env)).collect::<Result<Vec<_>, _>>()?;
        let interval = match &draw.truncation {
            Some((lo, hi)) => Some((number(lo)?, number(hi)?)),
            None => None,
        };
        let mut slopes = [0.0; 1 + dist::MAX_ARGUMENTS];
        for (i, &x) in x.values.iter().enumerate() {
            let args: Vec<f64> = arguments.iter().map(|a| a.at(i)).collect();
            out.push(match interval {
                Some((lo, hi)) => distribution.truncated_log_density(x, lo, hi, &args, &mut slopes[..=args.len()]),
                None => (distribution.log_density)(x, &args),
            });
        }
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
