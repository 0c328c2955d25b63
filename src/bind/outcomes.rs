//! Checks of what distributions of vectors, mixtures and censored observations are given, once the data are known.

use super::evaluate::{Env, EvaluateError, evaluate, shape};
use super::layout::element_labels;
use super::plain::explain;
use crate::base::{Code, Diagnostic};
use crate::math::compound::Compound;
use crate::math::vector::{self, Outcome, Part, VectorDistribution};
use crate::model::{Draw, Model, Statement, Typed};

/// Every finding about the densities and constrained parameters of a model.
pub(super) fn check(model: &Model, values: &Env) -> Vec<Diagnostic> {
    let mut errors = Vec::new();
    for statement in &model.statements {
        let found = match statement {
            Statement::Density { label, value, draw } => density(label, value, draw, values),
            Statement::Param(param) => match (param.constraint, shape(&param.shape, values)) {
                (Some(constraint), Ok(sizes)) if sizes.contains(&0) => {
                    let text = format!("`{}` has no elements, and cannot be `{}`", param.name, constraint.name());
                    Ok(Some(Diagnostic::error(Code::Data, param.span, text).found(format!("{sizes:?}"))))
                }
                _ => Ok(None),
            },
            _ => Ok(None),
        };
        match found {
            Ok(found) => errors.extend(found),
            Err(error) => errors.push(explain(&error, span_of(statement))),
        }
    }
    errors
}

fn span_of(statement: &Statement) -> crate::base::Span {
    match statement {
        Statement::Density { draw, .. } => draw.span,
        _ => crate::base::Span::default(),
    }
}

/// The name of element `i` of the value that `label` starts with.
fn element(label: &str, sizes: &[usize], i: usize) -> String {
    let name = label.split(" ~ ").next().unwrap_or(label);
    element_labels(name, sizes)[i].clone()
}

fn density(label: &str, value: &Typed, draw: &Draw, values: &Env) -> Result<Option<Diagnostic>, EvaluateError> {
    if let Some(distribution) = vector::find(&draw.family) {
        return vectors(label, value, draw, distribution, values);
    }
    if Compound::find(&draw.family) == Some(Compound::Mixture) {
        let sizes = shape(&draw.arguments[0].shape, values)?;
        let parts = draw.components.len();
        let wrong = sizes.last().filter(|&&k| k != parts);
        return Ok(wrong.map(|k| {
            Diagnostic::error(Code::Data, draw.arguments[0].span, "there are not as many weights as components")
                .expected(format!("{parts} weights"))
                .found(format!("{k} with these data"))
        }));
    }
    let Some(censoring) = &draw.censoring else { return Ok(None) };
    let marks = evaluate(&censoring.marks, values)?;
    let wrong = marks.values.iter().find(|&&m| m != 0.0 && m != 1.0);
    Ok(wrong.map(|m| {
        Diagnostic::error(Code::Data, censoring.marks.span, "a mark of a censored value is 0 or 1")
            .found(format!("{m}"))
            .help("declare them like `data lost : int[N] in [0, 1]`")
    }))
}

fn vectors(
    label: &str,
    value: &Typed,
    draw: &Draw,
    distribution: &VectorDistribution,
    values: &Env,
) -> Result<Option<Diagnostic>, EvaluateError> {
    let sizes = shape(&value.shape, values)?;
    let long = match distribution.outcome {
        Outcome::Vector | Outcome::Matrix => sizes.last().copied().unwrap_or(0),
        Outcome::Category => {
            let vector = distribution.arguments.iter().position(|a| a.part == Part::Vector);
            let argument = vector.map(|i| shape(&draw.arguments[i].shape, values)).transpose()?;
            distribution.categories(argument.and_then(|s| s.last().copied()).unwrap_or(0))
        }
    };
    if long == 0 {
        let text = format!("`{}` has nothing to draw: its size is 0 with these data", distribution.name);
        return Ok(Some(Diagnostic::error(Code::Data, draw.span, text).expected("a size of 1 or more")));
    }
    if !value.data_only {
        return Ok(None);
    }
    let x = evaluate(value, values)?.values;
    let outside = |i: usize, expected: String| {
        Diagnostic::error(Code::Data, value.span, format!("`{}` has no such outcome", distribution.name))
            .expected(expected)
            .found(format!("{} = {}", element(label, &sizes, i), x[i]))
    };
    if distribution.outcome == Outcome::Category {
        let wrong = x.iter().position(|&v| v < 1.0 || v > long as f64);
        return Ok(wrong.map(|i| outside(i, format!("a category from 1 to {long}"))));
    }
    if let Some(i) = x.iter().position(|&v| distribution.integer && v < 0.0) {
        return Ok(Some(outside(i, "a count, 0 or more".into())));
    }
    let count = distribution.arguments.iter().position(|a| a.part == Part::CountPerDraw);
    let Some(count) = count else { return Ok(None) };
    let totals = evaluate(&draw.arguments[count], values)?;
    for (row, counts) in x.chunks_exact(long).enumerate() {
        let (sum, n) = (counts.iter().sum::<f64>(), totals.at(row));
        if sum != n {
            let text =
                format!("counts of `{}` must sum to `{}`", distribution.name, distribution.arguments[count].name);
            let place =
                if sizes.len() == 2 { format!("row {} sums to {sum}", row + 1) } else { format!("a sum of {sum}") };
            let error = Diagnostic::error(Code::Data, draw.arguments[count].span, text);
            return Ok(Some(error.expected(format!("{n}")).found(place)));
        }
    }
    Ok(None)
}
