//! The slow obvious evaluator: walks a checked expression and computes it, array by array.
//!
//! It gives bounds and sizes their values, folds what depends on data alone, and is the twin that the tape is tested against.

use crate::base::Span;
use crate::math::dist::{self, Role};
use crate::math::op::Binary;
use crate::math::special::log_sum_exp;
use crate::model::{Dim, Draw, Param, Reduction, Statement, Typed, TypedIndex, TypedKind};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// An array of one of the model's quantities, row-major.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Value {
    pub shape: Vec<usize>,
    pub values: Vec<f64>,
}

impl Value {
    /// A scalar.
    pub fn scalar(value: f64) -> Self {
        Self { shape: vec![], values: vec![value] }
    }

    /// Element `i`; a scalar stands for every element.
    pub fn at(&self, i: usize) -> f64 {
        if self.values.len() == 1 { self.values[0] } else { self.values[i] }
    }
}

/// The named quantities known so far.
pub type Env = BTreeMap<String, Value>;

/// Why an expression has no value for these data.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum EvaluateError {
    #[error("`{name}` has no value yet")]
    Unbound { name: String, span: Span },
    #[error("position {position} is outside 1..{size}")]
    Position { position: f64, size: usize, span: Span },
    #[error("a shared-response term is evaluated by its own room")]
    Shared { span: Span },
    #[error("a size is {value}")]
    Size { value: i64, dim: String },
    #[error("{} elements are more than msrm works with", shape.iter().map(usize::to_string).collect::<Vec<_>>().join(" x "))]
    TooLarge { shape: Vec<usize> },
}

/// The size that `dim` stands for.
///
/// # Errors
/// Unbound names and negative sizes.
pub fn size(dim: &Dim, env: &Env) -> Result<usize, EvaluateError> {
    let value = signed_size(dim, env)?;
    usize::try_from(value).map_err(|_| EvaluateError::Size { value, dim: dim.to_string() })
}

fn signed_size(dim: &Dim, env: &Env) -> Result<i64, EvaluateError> {
    Ok(match dim {
        Dim::Size(n) => *n,
        Dim::Name(name) => match env.get(name) {
            Some(value) => value.values[0] as i64,
            None => return Err(EvaluateError::Unbound { name: name.clone(), span: Span::default() }),
        },
        Dim::Add(a, b) => signed_size(a, env)?.saturating_add(signed_size(b, env)?),
        Dim::Sub(a, b) => signed_size(a, env)?.saturating_sub(signed_size(b, env)?),
        Dim::Mul(a, b) => signed_size(a, env)?.saturating_mul(signed_size(b, env)?),
    })
}

/// Arrays of the model are smaller than this; a larger size is a mistake that would fill the memory.
const MOST_ELEMENTS: usize = 1 << 24;

/// The shape that `dims` stand for.
///
/// # Errors
/// Unbound names, negative sizes, and arrays that no memory holds.
pub fn shape(dims: &[Dim], env: &Env) -> Result<Vec<usize>, EvaluateError> {
    let shape: Vec<usize> = dims.iter().map(|d| size(d, env)).collect::<Result<_, _>>()?;
    match shape.iter().try_fold(1_usize, |n, &size| n.checked_mul(size)) {
        Some(n) if n <= MOST_ELEMENTS => Ok(shape),
        _ => Err(EvaluateError::TooLarge { shape }),
    }
}

/// The value of `expr`.
///
/// # Errors
/// Unbound names, and positions outside an axis.
pub fn evaluate(expr: &Typed, env: &Env) -> Result<Value, EvaluateError> {
    Ok(match &expr.kind {
        TypedKind::Number(n) => Value::scalar(*n),
        TypedKind::Name(name) => {
            env.get(name).cloned().ok_or_else(|| EvaluateError::Unbound { name: name.clone(), span: expr.span })?
        }
        TypedKind::Unary(op, inner) => {
            let mut value = evaluate(inner, env)?;
            for v in &mut value.values {
                *v = op.value(*v);
            }
            value
        }
        TypedKind::Binary(op, l, r) => elementwise(*op, &evaluate(l, env)?, &evaluate(r, env)?),
        TypedKind::MatMul(l, r) => matmul(&evaluate(l, env)?, &evaluate(r, env)?),
        TypedKind::Transpose(inner) => {
            let value = evaluate(inner, env)?;
            let (rows, columns) = (value.shape[0], value.shape[1]);
            let values = (0..rows * columns).map(|i| value.values[(i % rows) * columns + i / rows]).collect();
            Value { shape: vec![columns, rows], values }
        }
        TypedKind::Reduce(reduction, inner) => Value::scalar(reduce(*reduction, &evaluate(inner, env)?.values)),
        TypedKind::Pair(a, b) => {
            Value { shape: vec![2], values: vec![evaluate(a, env)?.values[0], evaluate(b, env)?.values[0]] }
        }
        TypedKind::Index(base, positions) => {
            let value = evaluate(base, env)?;
            let (shape, indices) = element_indices(&value.shape, positions, env)?;
            Value { shape, values: indices.iter().map(|&i| value.values[i]).collect() }
        }
        TypedKind::Shared(_) => return Err(EvaluateError::Shared { span: expr.span }),
    })
}

fn elementwise(op: Binary, l: &Value, r: &Value) -> Value {
    let shape = if l.shape.is_empty() { r.shape.clone() } else { l.shape.clone() };
    let n = l.values.len().max(r.values.len());
    // A scalar against an empty vector is an empty vector.
    let n = if l.values.is_empty() || r.values.is_empty() { 0 } else { n };
    Value { shape, values: (0..n).map(|i| op.value(l.at(i), r.at(i))).collect() }
}

fn matmul(l: &Value, r: &Value) -> Value {
    let (m, k) = if l.shape.len() == 2 { (l.shape[0], l.shape[1]) } else { (1, l.shape[0]) };
    let n = if r.shape.len() == 2 { r.shape[1] } else { 1 };
    let mut values = vec![0.0; m * n];
    for i in 0..m {
        for j in 0..n {
            values[i * n + j] = (0..k).map(|p| l.values[i * k + p] * r.values[p * n + j]).sum();
        }
    }
    let mut shape = Vec::new();
    if l.shape.len() == 2 {
        shape.push(m);
    }
    if r.shape.len() == 2 {
        shape.push(n);
    }
    Value { shape, values }
}

fn reduce(reduction: Reduction, values: &[f64]) -> f64 {
    match reduction {
        Reduction::Sum => values.iter().sum(),
        Reduction::Mean => values.iter().sum::<f64>() / values.len() as f64,
        Reduction::Product => values.iter().product(),
        Reduction::Minimum => values.iter().copied().fold(f64::INFINITY, f64::min),
        Reduction::Maximum => values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        Reduction::LogSumExp => log_sum_exp(values),
    }
}

/// Shape of `base[positions]`, and for each of its elements the place in the row-major base.
///
/// # Errors
/// A position outside its axis.
pub fn element_indices(
    base: &[usize],
    positions: &[TypedIndex],
    env: &Env,
) -> Result<(Vec<usize>, Vec<usize>), EvaluateError> {
    let mut shape = Vec::new();
    let mut indices = vec![0usize];
    for (&size, position) in base.iter().zip(positions) {
        let along: Vec<usize> = match position {
            TypedIndex::All => {
                shape.push(size);
                (0..size).collect()
            }
            TypedIndex::At(expr) => {
                let at = evaluate(expr, env)?;
                shape.extend_from_slice(&at.shape);
                let place = |&p: &f64| {
                    if p >= 1.0 && p <= size as f64 {
                        Ok(p as usize - 1)
                    } else {
                        Err(EvaluateError::Position { position: p, size, span: expr.span })
                    }
                };
                at.values.iter().map(place).collect::<Result<_, _>>()?
            }
        };
        indices = indices.iter().flat_map(|&i| along.iter().map(move |&a| i * size + a)).collect();
    }
    Ok((shape, indices))
}

/// The log density of every element of `value` under `draw`, summed, truncation included.
///
/// # Errors
/// As [`evaluate`].
pub fn log_density(value: &Typed, draw: &Draw, env: &Env) -> Result<f64, EvaluateError> {
    let x = evaluate(value, env)?;
    let arguments = draw.arguments.iter().map(|a| evaluate(a, env)).collect::<Result<Vec<_>, _>>()?;
    let Some(distribution) = dist::find(&draw.family) else { return Ok(f64::NAN) };
    let mut total = 0.0;
    for (i, &x) in x.values.iter().enumerate() {
        let args: Vec<f64> = arguments.iter().map(|a| a.at(i)).collect();
        total += (distribution.log_density)(x, &args);
        if let Some((lo, hi)) = &draw.truncation {
            let (lo, hi) = (evaluate(lo, env)?.values[0], evaluate(hi, env)?.values[0]);
            total -= distribution.log_mass(lo, hi, &args, &mut vec![0.0; args.len()]);
            if x < lo || x > hi {
                return Ok(f64::NEG_INFINITY);
            }
        }
    }
    Ok(total)
}

/// Every named quantity of a plan at the physical coordinates `x`: data, parameters (noncentred ones in their own units)
/// and `let`s.
///
/// # Errors
/// As [`evaluate`].
pub fn parameter_values(plan: &super::Plan, x: &[f64]) -> Result<Env, EvaluateError> {
    let mut env = plan.values.clone();
    for block in plan.blocks.iter().filter(|b| !b.noncentered) {
        let values = x[block.offset..block.offset + block.len()].to_vec();
        env.insert(block.name.clone(), Value { shape: block.shape.clone(), values });
    }
    for statement in &plan.model.statements {
        match statement {
            Statement::Let { name, value } if !value.data_only => {
                let value = evaluate(value, &env)?;
                env.insert(name.clone(), value);
            }
            Statement::Param(param) => {
                let Some(block) = plan.block(&param.name).filter(|b| b.noncentered) else { continue };
                let (location, scale) = location_scale(param, &env)?;
                let raw = &x[block.offset..block.offset + block.len()];
                let values = raw.iter().enumerate().map(|(i, r)| location.at(i) + scale.at(i) * r).collect();
                env.insert(param.name.clone(), Value { shape: block.shape.clone(), values });
            }
            _ => {}
        }
    }
    Ok(env)
}

/// Adds the `let`s that depend on parameters to an environment that holds all parameters in their own units.
///
/// # Errors
/// As [`evaluate`].
pub fn complete(plan: &super::Plan, mut env: Env) -> Result<Env, EvaluateError> {
    for statement in &plan.model.statements {
        if let Statement::Let { name, value } = statement
            && !value.data_only
        {
            let value = evaluate(value, &env)?;
            env.insert(name.clone(), value);
        }
    }
    Ok(env)
}

/// Location and scale of a noncentred parameter.
///
/// # Errors
/// As [`evaluate`].
pub fn location_scale(param: &Param, env: &Env) -> Result<(Value, Value), EvaluateError> {
    let (mut location, mut scale) = (Value::scalar(0.0), Value::scalar(1.0));
    let Some(draw) = &param.noncentered else { return Ok((location, scale)) };
    let roles = dist::find(&draw.family).map(|d| d.arguments).unwrap_or(&[]);
    for (argument, spec) in draw.arguments.iter().zip(roles) {
        match spec.role {
            Role::Location => location = evaluate(argument, env)?,
            Role::Scale => scale = evaluate(argument, env)?,
            _ => {}
        }
    }
    Ok((location, scale))
}
