//! Evaluates a plan at one named point: value, terms, and gradients in both coordinates.

use crate::bind::{Block, EvaluateError, Form, FormError, Plan, Value, evaluate};
use crate::data::Arrays;
use crate::graph::{Coordinates, LowerError, Rejection, Tape, lower};
use crate::model::Statement;
use serde::Serialize;
use std::sync::Arc;

/// Why a point cannot be evaluated.
#[derive(Debug, thiserror::Error)]
pub enum PointError {
    #[error("the point lacks `{name}`{}", other.as_deref().unwrap_or_default())]
    Missing { name: String, other: Option<String> },
    #[error("the point names `{name}`, which is no parameter of the model; parameters: {}", known.join(", "))]
    Unknown { name: String, known: Vec<String> },
    #[error("the point gives `{first}` and `{second}`, two forms of one parameter; keep one of them")]
    Twice { first: String, second: String },
    #[error("`{name}` has shape {found:?} in the point, the model needs {expected:?}")]
    Shape { name: String, expected: Vec<usize>, found: Vec<usize> },
    #[error("{label} = {value} is not strictly between its bounds {lower} and {upper}")]
    Outside { label: String, value: f64, lower: f64, upper: f64 },
    #[error(transparent)]
    Form(#[from] FormError),
    #[error(transparent)]
    Evaluate(#[from] EvaluateError),
    #[error(transparent)]
    Lower(#[from] LowerError),
    #[error("the density has no value at this point: {0}")]
    Rejected(#[from] Rejection),
}

/// A named number.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Named {
    pub name: String,
    pub value: f64,
}

/// A plan evaluated at a point.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Evaluation {
    /// `log_density`, or `objective` for a model that ends in `minimize`.
    pub kind: &'static str,
    /// With all constants; no Jacobian.
    pub value: f64,
    /// The terms that sum to the value.
    pub terms: Vec<Named>,
    /// Log determinant of the Jacobian of all transforms from free coordinates.
    pub log_jacobian: f64,
    /// Gradient of the value in the physical coordinates.
    pub gradient: Vec<Named>,
    /// The point in unconstrained coordinates.
    pub unconstrained: Vec<Named>,
    /// Gradient of value + log Jacobian in unconstrained coordinates (of the value alone for an objective).
    pub gradient_unconstrained: Vec<Named>,
}

/// Evaluates `plan` at the parameters named in `point`.
///
/// # Errors
/// Points that lack a parameter, name another, or lie outside the bounds.
pub fn evaluate_at(plan: &Plan, point: &Arrays) -> Result<Evaluation, PointError> {
    let x = physical_vector(plan, point)?;
    let labels: Vec<String> = plan.blocks.iter().flat_map(|b| b.sampled_labels()).collect();
    let coordinates = Coordinates::new(plan);
    let u = coordinates.to_unconstrained(&x).map_err(|i| {
        let (lower, upper) = plan.bounds();
        PointError::Outside { label: labels[i].clone(), value: x[i], lower: lower[i], upper: upper[i] }
    })?;
    let program = lower(plan)?;
    let mut jacobian = Tape::new(Arc::new(program.jacobian_alone()));
    let mut tape = Tape::new(Arc::new(program));
    let mut gradient = vec![0.0; x.len()];
    let value = tape.value_gradient(&x, &mut gradient)?;
    let objective = plan.model.is_objective();
    let sign = if objective { -1.0 } else { 1.0 };
    let mut pulled = vec![0.0; x.len()];
    let inner_jacobian = jacobian.value_gradient(&x, &mut pulled)?;
    pulled.iter_mut().zip(&gradient).for_each(|(p, g)| *p += g);
    let log_jacobian = coordinates.pull_back(&u, inner_jacobian, &mut pulled);
    let unconstrained_gradient: Vec<f64> =
        if objective { coordinates.chain_rule(&u, &gradient).iter().map(|g| -g).collect() } else { pulled };
    let named = |values: &[f64]| -> Vec<Named> {
        labels.iter().zip(values).map(|(n, &value)| Named { name: n.clone(), value }).collect()
    };
    let terms = tape.terms(&x)?.into_iter().map(|(name, v)| Named {
        name: if objective { name.trim_start_matches('-').to_string() } else { name },
        value: sign * v,
    });
    Ok(Evaluation {
        kind: if objective { "objective" } else { "log_density" },
        value: sign * value,
        terms: terms.collect(),
        log_jacobian,
        gradient: named(&gradient.iter().map(|g| sign * g).collect::<Vec<_>>()),
        unconstrained: named(&u),
        gradient_unconstrained: named(&unconstrained_gradient),
    })
}

/// The vector of physical coordinates that a named point stands for.
fn physical_vector(plan: &Plan, point: &Arrays) -> Result<Vec<f64>, PointError> {
    let known = |name: &str| {
        let in_block = |b: &Block| {
            b.name == name
                || b.sampled_name() == name
                || b.labels.iter().any(|l| l == name)
                || b.sampled_labels().iter().any(|l| l == name)
        };
        plan.blocks.iter().any(in_block)
    };
    if let Some((name, _)) = point.iter().find(|(name, _)| !known(name)) {
        let names = plan.blocks.iter().map(|b| b.name.clone()).collect();
        return Err(PointError::Unknown { name: name.to_string(), known: names });
    }
    for block in &plan.blocks {
        only_one_form(point, block)?;
    }
    let mut x = vec![0.0; plan.dim()];
    let mut env = plan.values.clone();
    for block in &plan.blocks {
        // The others follow below, when what they depend on is known.
        if block.form != Form::Direct {
            continue;
        }
        let values = block_values(point, &block.name, &block.labels, &block.shape)?
            .ok_or_else(|| PointError::Missing { name: block.name.clone(), other: None })?;
        x[block.offset..block.offset + block.len()].copy_from_slice(&values);
        env.insert(block.name.clone(), Value { shape: block.shape.clone(), values });
    }
    for statement in &plan.model.statements {
        match statement {
            Statement::Let { name, value } if !value.data_only => {
                let value = evaluate(value, &env)?;
                env.insert(name.clone(), value);
            }
            Statement::Param(param) => {
                let Some(block) = plan.block(&param.name).filter(|b| b.form != Form::Direct) else { continue };
                let sampled = block.sampled_name();
                let sizes = block.form.sizes(&block.shape);
                let raw = match block_values(point, &sampled, &block.sampled_labels(), &sizes)? {
                    Some(raw) => raw,
                    None => {
                        let form = if block.form == Form::Standardised { "standardised form" } else { "free form" };
                        let missing = || PointError::Missing {
                            name: block.name.clone(),
                            other: Some(format!(" (or its {form} `{sampled}`)")),
                        };
                        let values =
                            block_values(point, &block.name, &block.labels, &block.shape)?.ok_or_else(missing)?;
                        block.to_coordinates(param, &env, &values)?
                    }
                };
                x[block.offset..block.offset + block.len()].copy_from_slice(&raw);
                let values = block.from_coordinates(param, &env, &raw)?;
                env.insert(param.name.clone(), Value { shape: block.shape.clone(), values });
            }
            _ => {}
        }
    }
    Ok(x)
}

/// A parameter given whole and by elements, or in two parameterisations, could contradict itself.
fn only_one_form(point: &Arrays, block: &Block) -> Result<(), PointError> {
    let given = |name: &String| point.get(name).is_some();
    let mut forms = vec![vec![block.name.clone()], block.labels.clone()];
    if block.form != Form::Direct {
        forms.extend([vec![block.sampled_name()], block.sampled_labels()]);
    }
    let mut found = forms.iter().filter_map(|names| names.iter().find(|n| given(n)));
    match (found.next(), found.find(|name| Some(*name) != Some(&block.name))) {
        (Some(first), Some(second)) if first != second => {
            Err(PointError::Twice { first: first.clone(), second: second.clone() })
        }
        _ => Ok(()),
    }
}

/// The values of a block from its name, or from the names of its elements.
fn block_values(
    point: &Arrays,
    name: &str,
    labels: &[String],
    shape: &[usize],
) -> Result<Option<Vec<f64>>, PointError> {
    if let Some(array) = point.get(name) {
        // A matrix of one column may be given as a vector.
        let flat = |s: &[usize]| -> Vec<usize> { s.iter().copied().filter(|&n| n != 1).collect() };
        if flat(&array.shape) != flat(shape) {
            return Err(PointError::Shape {
                name: name.to_string(),
                expected: shape.to_vec(),
                found: array.shape.clone(),
            });
        }
        return Ok(Some(array.values.clone()));
    }
    if shape.is_empty() {
        return Ok(None);
    }
    let one = |label: &String| point.get(label).and_then(|a| a.values.first().copied());
    let values: Vec<f64> = labels.iter().filter_map(one).collect();
    Ok(if values.len() == labels.len() { Some(values) } else { None })
}
