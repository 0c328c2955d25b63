//! The slow obvious evaluator: walks a checked expression and computes it, array by array.
//!
//! It gives bounds and sizes their values, folds what depends on data alone, and is the twin that the tape is tested against.

use super::arrays;
use super::forms::Form;
use crate::base::Span;
use crate::math::compound::Compound;
use crate::math::dist::{self, Role};
use crate::math::special::log_sum_exp;
use crate::math::vector::{self, Outcome, Part, Sizes, VectorDistribution};
use crate::model::{Dim, Draw, Param, Reduction, Scan, Statement, Typed, TypedIndex, TypedKind};
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
    #[error("`{name}` is looked at in position {position} when only those before {now} are known")]
    Future { name: String, position: usize, now: usize, span: Span },
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
        TypedKind::Binary(op, l, r) => elementwise(&evaluate(l, env)?, &evaluate(r, env)?, |a, b| op.value(a, b)),
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
        TypedKind::Compare(comparison, l, r) => {
            let (l, r) = (evaluate(l, env)?, evaluate(r, env)?);
            elementwise(&l, &r, |a, b| f64::from(comparison.holds(a, b)))
        }
        TypedKind::Array(op, inputs) => {
            let inputs = inputs.iter().map(|i| evaluate(i, env)).collect::<Result<Vec<_>, _>>()?;
            arrays::evaluate(*op, &inputs, &shape(&expr.shape, env)?)
        }
        TypedKind::Local { name, value, body } => {
            let mut inner = env.clone();
            inner.insert(name.clone(), evaluate(value, env)?);
            evaluate(body, &inner)?
        }
        TypedKind::Scan(scan) => self::scan(scan, shape(&expr.shape, env)?, env)?,
    })
}

/// One state after the other; states that are still to come are NaN.
fn scan(scan: &Scan, shape: Vec<usize>, env: &Env) -> Result<Value, EvaluateError> {
    let width: usize = shape[1..].iter().product();
    let first = size(&scan.first, env)?;
    let mut values = vec![f64::NAN; shape[0] * width];
    if let Some(start) = &scan.start {
        // Fewer states than the start gives are cut off.
        let start = evaluate(start, env)?.values;
        let given = start.len().min(values.len());
        values[..given].copy_from_slice(&start[..given]);
    }
    let mut inner = env.clone();
    inner.insert(scan.state.clone(), Value { shape: shape.clone(), values });
    for t in first..=shape[0] {
        inner.insert(scan.index.clone(), Value::scalar(t as f64));
        let next = evaluate(&scan.step, &inner)?.values;
        if let Some(states) = inner.get_mut(&scan.state) {
            states.values[(t - 1) * width..t * width].copy_from_slice(&next);
        }
    }
    Ok(Value { shape, values: inner.remove(&scan.state).map(|s| s.values).unwrap_or_default() })
}

fn elementwise(l: &Value, r: &Value, f: impl Fn(f64, f64) -> f64) -> Value {
    let shape = if l.shape.is_empty() { r.shape.clone() } else { l.shape.clone() };
    let n = l.values.len().max(r.values.len());
    // A scalar against an empty vector is an empty vector.
    let n = if l.values.is_empty() || r.values.is_empty() { 0 } else { n };
    Value { shape, values: (0..n).map(|i| f(l.at(i), r.at(i))).collect() }
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

pub(super) fn reduce(reduction: Reduction, values: &[f64]) -> f64 {
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
            TypedIndex::Range(lower, upper, span) => {
                let (lower, upper) = (signed_size(lower, env)?, signed_size(upper, env)?);
                // An empty range may stand at either end.
                let outside = |at: i64| EvaluateError::Position { position: at as f64, size, span: *span };
                if lower < 1 {
                    return Err(outside(lower));
                }
                if upper > size as i64 || upper < lower - 1 {
                    return Err(outside(upper));
                }
                shape.push((upper - lower + 1) as usize);
                (lower as usize - 1..upper as usize).collect()
            }
        };
        indices = indices.iter().flat_map(|&i| along.iter().map(move |&a| i * size + a)).collect();
    }
    Ok((shape, indices))
}

/// The log density of `value` under `draw`: the sum of [`log_densities`].
///
/// # Errors
/// As [`evaluate`].
pub fn log_density(value: &Typed, draw: &Draw, env: &Env) -> Result<f64, EvaluateError> {
    Ok(log_densities(value, draw, env)?.iter().sum())
}

/// The log density of every element of `value` under `draw`, truncation and censoring included; of every row where the
/// distribution is one of vectors.
///
/// # Errors
/// As [`evaluate`].
pub fn log_densities(value: &Typed, draw: &Draw, env: &Env) -> Result<Vec<f64>, EvaluateError> {
    let x = evaluate(value, env)?;
    let arguments = draw.arguments.iter().map(|a| evaluate(a, env)).collect::<Result<Vec<_>, _>>()?;
    if let Some(distribution) = vector::find(&draw.family) {
        return Ok(vectors(distribution, &x, &arguments));
    }
    if let Some(kind) = Compound::find(&draw.family) {
        return compound(kind, &x, &arguments[0], &draw.components, env);
    }
    let Some(distribution) = dist::find(&draw.family) else { return Ok(vec![f64::NAN]) };
    let censoring = draw.censoring.as_ref().map(|c| Ok((c.above, evaluate(&c.marks, env)?))).transpose()?;
    let mut densities = Vec::with_capacity(x.values.len());
    for (i, &x) in x.values.iter().enumerate() {
        let args: Vec<f64> = arguments.iter().map(|a| a.at(i)).collect();
        if let Some((above, _)) = censoring.as_ref().filter(|(_, marks)| marks.at(i) != 0.0) {
            let (smaller, larger) = (distribution.log_tails)(x, &args);
            densities.push(if *above { larger } else { smaller });
            continue;
        }
        let mut density = (distribution.log_density)(x, &args);
        if let Some((lo, hi)) = &draw.truncation {
            let (lo, hi) = (evaluate(lo, env)?.values[0], evaluate(hi, env)?.values[0]);
            density -= distribution.log_mass(lo, hi, &args, &mut vec![0.0; args.len()]);
            if x < lo || x > hi {
                density = f64::NEG_INFINITY;
            }
        }
        densities.push(density);
    }
    Ok(densities)
}

/// Draw after draw, each with its own row of the arguments.
fn vectors(distribution: &VectorDistribution, x: &Value, arguments: &[Value]) -> Vec<f64> {
    let (rows, width, size) = match (distribution.outcome, x.shape.as_slice()) {
        (Outcome::Matrix, &[k, _]) => (1, k * k, k),
        (Outcome::Vector, &[rows, k]) => (rows, k, k),
        (Outcome::Vector, &[k]) => (1, k, k),
        _ => {
            let vector = distribution.arguments.iter().position(|a| a.part == Part::Vector);
            (x.values.len(), 1, vector.and_then(|i| arguments[i].shape.last().copied()).unwrap_or(0))
        }
    };
    let one = |i: usize| {
        let own = |(a, spec): (&Value, &vector::VectorArgument)| match (spec.part, a.shape.as_slice()) {
            (Part::PerDraw | Part::CountPerDraw, [_]) => vec![a.values[i]],
            (Part::Centre | Part::Vector, [_, k]) => a.values[i * k..(i + 1) * k].to_vec(),
            _ => a.values.clone(),
        };
        let own: Vec<Vec<f64>> = arguments.iter().zip(distribution.arguments).map(own).collect();
        let own: Vec<&[f64]> = own.iter().map(Vec::as_slice).collect();
        let sizes = Sizes { rows: 1, k: size };
        distribution.value(sizes, &x.values[i * width..(i + 1) * width], &own).unwrap_or(f64::NAN)
    };
    (0..rows).map(one).collect()
}

/// Sums of weighted densities, element by element.
fn compound(kind: Compound, x: &Value, weights: &Value, parts: &[Draw], env: &Env) -> Result<Vec<f64>, EvaluateError> {
    let arguments = |part: &Draw| part.arguments.iter().map(|a| evaluate(a, env)).collect::<Result<Vec<_>, _>>();
    let arguments = parts.iter().map(arguments).collect::<Result<Vec<_>, _>>()?;
    let density = |j: usize, i: usize, x: f64| {
        let args: Vec<f64> = arguments[j].iter().map(|a| a.at(i)).collect();
        dist::find(&parts[j].family).map_or(f64::NAN, |d| (d.log_density)(x, &args).exp())
    };
    let counts = parts.first().and_then(|p| dist::find(&p.family)).is_some_and(|d| d.support.is_integer());
    let mut densities = Vec::with_capacity(x.values.len());
    for (i, &x) in x.values.iter().enumerate() {
        let weight = |j: usize| match weights.shape.as_slice() {
            [] if kind == Compound::Mixture && j == 1 => 1.0 - weights.values[0],
            [_, k] if kind == Compound::Mixture => weights.values[i * k + j],
            [_] if kind == Compound::Mixture => weights.values[j],
            _ => weights.at(i),
        };
        let p = weight(0);
        let value: f64 = match kind {
            Compound::Mixture => (0..parts.len()).map(|j| weight(j) * density(j, i, x)).sum(),
            Compound::ZeroInflated => (1.0 - p) * density(0, i, x) + if x == 0.0 { p } else { 0.0 },
            Compound::Hurdle if x == 0.0 => p,
            Compound::Hurdle => (1.0 - p) * density(0, i, x) / if counts { 1.0 - density(0, i, 0.0) } else { 1.0 },
        };
        densities.push(value.ln());
    }
    Ok(densities)
}

/// Every named quantity of a plan at the physical coordinates `x`: data, parameters (noncentred ones in their own units)
/// and `let`s.
///
/// # Errors
/// As [`evaluate`].
pub fn parameter_values(plan: &super::Plan, x: &[f64]) -> Result<Env, EvaluateError> {
    let mut env = plan.values.clone();
    for block in plan.blocks.iter().filter(|b| b.form == Form::Direct) {
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
                let Some(block) = plan.block(&param.name).filter(|b| b.form != Form::Direct) else { continue };
                let values = block.from_coordinates(param, &env, &x[block.offset..block.offset + block.len()])?;
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
