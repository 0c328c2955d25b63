//! The Plan: a checked model and its data, with every size and coordinate explicit.

use super::evaluate::{Env, Value, evaluate};
use super::forms::Form;
use super::shared::{self, SharedPlan};
use super::{evaluate as eval, outcomes, plain};
use crate::base::{Code, Diagnostic, Source, Span, render};
use crate::data::{Arrays, DataError, Duplicates, Edge, Recording};
use crate::model::{Model, Statement};
use serde::{Deserialize, Serialize};

/// What is done with a feature that never varies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Constants {
    /// Its entries are treated as missing, and it is named.
    #[default]
    Mask,
    /// The fit is refused.
    Refuse,
    /// It takes part like any other.
    Keep,
}

/// Choices of the user that shape a Plan.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct BindOptions {
    /// Keep these modalities only; empty keeps all.
    pub modalities: Vec<String>,
    pub constants: Constants,
    /// How the reader treated several values of one feature at one time.
    pub duplicates: Duplicates,
    /// Affinities of participants, for models whose latent paths depend on them.
    pub affinity: Vec<Edge>,
}

/// What a model is joined with.
#[derive(Debug, Clone)]
pub enum Input {
    /// Named arrays.
    Arrays(Arrays),
    /// Streams of people.
    Recording(Recording),
    /// Nothing: for models without data.
    None,
}

/// The coordinates of one parameter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Block {
    /// Name in the model.
    pub name: String,
    /// How the coordinates make the parameter.
    pub form: Form,
    pub shape: Vec<usize>,
    /// Names of the elements, row-major.
    pub labels: Vec<String>,
    /// First coordinate.
    pub offset: usize,
    /// Bounds per coordinate; infinite where there is none.
    pub lower: Vec<f64>,
    pub upper: Vec<f64>,
}

/// A model joined with its data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    pub model: Model,
    /// The text the model was read from.
    pub source: Source,
    /// Data and everything computed from data alone.
    pub values: Env,
    pub blocks: Vec<Block>,
    pub shared: Option<SharedPlan>,
    pub options: BindOptions,
    /// What was masked, dropped or assumed, one sentence each.
    pub notes: Vec<String>,
}

/// Why a model and its data do not fit.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    #[error("{}", render(text, diagnostics))]
    Mismatch { text: Box<Source>, diagnostics: Vec<Diagnostic> },
    #[error(transparent)]
    Data(#[from] DataError),
    #[error(transparent)]
    Shared(#[from] shared::SharedError),
}

impl Plan {
    /// Number of coordinates.
    pub fn dim(&self) -> usize {
        self.blocks.iter().map(Block::len).sum()
    }

    /// The block of parameter `name`.
    pub fn block(&self, name: &str) -> Option<&Block> {
        self.blocks.iter().find(|b| b.name == name)
    }

    /// Bounds of all coordinates.
    pub fn bounds(&self) -> (Vec<f64>, Vec<f64>) {
        let lower = self.blocks.iter().flat_map(|b| b.lower.iter().copied()).collect();
        let upper = self.blocks.iter().flat_map(|b| b.upper.iter().copied()).collect();
        (lower, upper)
    }
}

/// Joins `model` (read from `source`) with its input.
///
/// # Errors
/// Data that are missing, of another shape or type, or outside their bounds (all at once); recordings that the model cannot use.
pub fn bind(model: Model, source: Source, input: Input, options: BindOptions) -> Result<Plan, BindError> {
    let mut notes = Vec::new();
    let mismatch = |diagnostics: Vec<Diagnostic>| BindError::Mismatch { text: Box::new(source.clone()), diagnostics };
    let whole = model_line(&source);
    let recording = match (&model.shared, input) {
        (Some(_), Input::Recording(recording)) => Some((recording, Arrays::default())),
        (None, Input::Arrays(arrays)) => {
            return plain_plan(model, source.clone(), arrays, options, notes).map_err(mismatch);
        }
        (None, Input::None) if !model.data.is_empty() => {
            let names: Vec<&str> = model.data.iter().map(|d| d.name.as_str()).collect();
            return Err(mismatch(vec![
                Diagnostic::error(Code::Data, whole, "this model needs data")
                    .expected(format!("--data with a JSON file that holds {}", names.join(", ")))
                    .found("no data"),
            ]));
        }
        (None, Input::None) => {
            return plain_plan(model, source.clone(), Arrays::default(), options, notes).map_err(mismatch);
        }
        (Some(shared), _) => {
            let text = format!("this model reads the recording `{}`", shared.recording);
            return Err(mismatch(vec![
                Diagnostic::error(Code::Data, whole, text)
                    .expected("--data with a long CSV file or a folder of wide CSV files")
                    .found("no recording"),
            ]));
        }
        (None, Input::Recording(_)) => {
            return Err(mismatch(vec![
                Diagnostic::error(Code::Data, whole, "this model reads no recording")
                    .expected("--data with a JSON file")
                    .found("a recording"),
            ]));
        }
    };
    let Some((recording, arrays)) = recording else {
        return Err(mismatch(vec![]));
    };
    let mut plan = plain_plan(model, source.clone(), arrays, options, Vec::new()).map_err(&mismatch)?;
    shared::add(&mut plan, recording, &mut notes)?;
    plan.notes = notes;
    Ok(plan)
}

/// The line that names the model, to point at when nothing in particular is wrong with the text.
fn model_line(source: &Source) -> Span {
    let mut start = 0;
    for line in source.text.split_inclusive('\n') {
        if line.trim_start().starts_with("model") {
            return Span::new(start, start + line.trim_end().len());
        }
        start += line.len();
    }
    Span::default()
}

/// Everything but the recording: data checks, bounds, coordinates.
fn plain_plan(
    model: Model,
    source: Source,
    arrays: Arrays,
    options: BindOptions,
    mut notes: Vec<String>,
) -> Result<Plan, Vec<Diagnostic>> {
    let mut values = plain::check_data(&model, &arrays, &mut notes)?;
    let mut errors = Vec::new();
    let mut blocks = Vec::new();
    for statement in &model.statements {
        match statement {
            Statement::Param(param) => {
                let side = |bound: &Option<crate::model::Typed>, none: f64| match bound {
                    None => Ok(none),
                    Some(b) => evaluate(b, &values).map(|v| v.values[0]),
                };
                let form = match (param.constraint, &param.noncentered) {
                    (Some(constraint), _) => Form::Constrained(constraint),
                    (None, Some(_)) => Form::Standardised,
                    (None, None) if param.has_moving_bounds() => Form::Bounded,
                    (None, None) => Form::Direct,
                };
                let made = eval::shape(&param.shape, &values).and_then(|shape| {
                    if form != Form::Direct {
                        return Ok(Block::plain(&param.name, shape, f64::NEG_INFINITY, f64::INFINITY, form));
                    }
                    let (lo, hi) = (side(&param.lower, f64::NEG_INFINITY)?, side(&param.upper, f64::INFINITY)?);
                    Ok(Block::plain(&param.name, shape, lo, hi, form))
                });
                match made {
                    Ok(block) => {
                        if let (Some(lo), Some(hi)) = (block.lower.first(), block.upper.first())
                            && (lo >= hi || lo.is_nan() || hi.is_nan())
                        {
                            errors.push(
                                Diagnostic::error(
                                    Code::Data,
                                    param.span,
                                    format!("`{}` has no room between its bounds", param.name),
                                )
                                .found(format!("[{lo}, {hi}] with these data")),
                            );
                        }
                        blocks.push(block);
                    }
                    Err(e) => errors.push(plain::explain(&e, param.span)),
                }
            }
            Statement::Generated { shape, draw, .. } => {
                if let Err(e) = eval::shape(shape, &values) {
                    errors.push(plain::explain(&e, draw.span));
                }
            }
            Statement::Let { name, value } if value.data_only => match evaluate(value, &values) {
                Ok(v) => {
                    values.insert(name.clone(), v);
                }
                Err(e) => errors.push(plain::explain(&e, value.span)),
            },
            _ => {}
        }
    }
    if errors.is_empty() {
        errors = outcomes::check(&model, &values);
    }
    let mut offset = 0;
    for block in &mut blocks {
        block.offset = offset;
        offset += block.len();
    }
    if errors.is_empty() {
        Ok(Plan { model, source, values, blocks, shared: None, options, notes })
    } else {
        Err(errors)
    }
}

/// The array of the data called `name`.
pub(super) fn to_value(array: &crate::data::Array) -> Value {
    Value { shape: array.shape.clone(), values: array.values.clone() }
}
