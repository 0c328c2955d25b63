//! Checks named arrays against the `data` lines of a model.

use super::evaluate::{Env, EvaluateError, evaluate, shape};
use super::plan::to_value;
use crate::base::{Code, Diagnostic, Span, suggest};
use crate::data::Arrays;
use crate::model::{Data, Model};

/// Every declared array, checked for presence, type, shape and bounds; arrays that nothing declares are noted.
///
/// # Errors
/// All findings at once.
pub fn check_data(model: &Model, arrays: &Arrays, notes: &mut Vec<String>) -> Result<Env, Vec<Diagnostic>> {
    let mut env = Env::new();
    let mut errors = Vec::new();
    for declared in &model.data {
        match check_one(declared, arrays, &env) {
            Ok(value) => {
                env.insert(declared.name.clone(), value);
            }
            Err(error) => errors.extend(error),
        }
    }
    for name in arrays.iter().map(|(name, _)| name) {
        if !model.data.iter().any(|d| d.name == name) {
            notes.push(format!("the data hold `{name}`, which the model does not declare; it is not used"));
        }
    }
    if errors.is_empty() { Ok(env) } else { Err(errors) }
}

fn check_one(declared: &Data, arrays: &Arrays, env: &Env) -> Result<super::Value, Option<Diagnostic>> {
    let name = &declared.name;
    let error = |text: String| Diagnostic::error(Code::Data, declared.span, text);
    let Some(array) = arrays.get(name) else {
        let near = suggest(name, arrays.iter().map(|(name, _)| name));
        let help =
            near.map_or(format!("add \"{name}\" to the data file"), |n| format!("the data hold `{n}`; is that it?"));
        return Err(Some(error(format!("the data lack `{name}`")).help(help)));
    };
    let expected = match shape(&declared.shape, env) {
        Ok(expected) => expected,
        // The size itself is missing or wrong and has its own message.
        Err(EvaluateError::Unbound { .. }) => return Err(None),
        Err(e) => return Err(Some(explain(&e, declared.span))),
    };
    let empty = expected.contains(&0) && array.values.is_empty();
    if array.shape != expected && !empty {
        let sizes: Vec<String> = declared.shape.iter().map(|d| d.to_string()).collect();
        let wanted = if expected.is_empty() {
            "a single number".to_string()
        } else {
            format!("{expected:?}, that is [{}]", sizes.join(", "))
        };
        let found = if array.shape.is_empty() { "a single number".to_string() } else { format!("{:?}", array.shape) };
        return Err(Some(error(format!("`{name}` has the wrong shape")).expected(wanted).found(found)));
    }
    let label = |i: usize| super::layout::element_labels(name, &expected)[i].clone();
    if declared.integer && !array.integer {
        let place = array.values.iter().position(|v| v.fract() != 0.0);
        let found =
            place.map_or("numbers with a decimal point".to_string(), |i| format!("{} = {}", label(i), array.values[i]));
        return Err(Some(
            error(format!("`{name}` must hold whole numbers")).found(found).help("or declare it `real` in the model"),
        ));
    }
    let violated = |limit: &Option<crate::model::Limit>, is_lower: bool| -> Option<Diagnostic> {
        let limit = limit.as_ref()?;
        let bound = match evaluate(&limit.value, env) {
            Ok(bound) => bound.values[0],
            Err(e) => return Some(explain(&e, limit.value.span)),
        };
        let fits = |v: f64| match (is_lower, limit.strict) {
            (true, true) => v > bound,
            (true, false) => v >= bound,
            (false, true) => v < bound,
            (false, false) => v <= bound,
        };
        let bad: Vec<usize> = (0..array.values.len()).filter(|&i| !fits(array.values[i])).collect();
        let &first = bad.first()?;
        let sign = match (is_lower, limit.strict) {
            (true, true) => ">",
            (true, false) => ">=",
            (false, true) => "<",
            (false, false) => "<=",
        };
        let more = if bad.len() > 1 { format!(" (and {} more)", bad.len() - 1) } else { String::new() };
        Some(error(format!("`{name}` is outside its bounds")).expected(format!("{sign} {bound}")).found(format!(
            "{} = {}{more}",
            label(first),
            array.values[first]
        )))
    };
    if let Some(d) = violated(&declared.lower, true).or_else(|| violated(&declared.upper, false)) {
        return Err(Some(d));
    }
    let mut value = to_value(array);
    value.shape = expected;
    Ok(value)
}

/// An evaluation error as a diagnostic.
pub(super) fn explain(error: &EvaluateError, place: Span) -> Diagnostic {
    let (span, help) = match error {
        EvaluateError::Position { span, .. } => (*span, Some("positions start at 1")),
        EvaluateError::Future { span, .. } => (*span, Some("a step may look back alone")),
        EvaluateError::Unbound { span, .. } | EvaluateError::Shared { span } => (*span, None),
        EvaluateError::Size { .. } => (place, Some("sizes cannot be negative")),
        EvaluateError::TooLarge { .. } => (place, Some("look at the sizes in the data")),
    };
    let mut diagnostic = Diagnostic::error(Code::Data, span, error.to_string());
    diagnostic.help = help.map(str::to_string);
    diagnostic
}
