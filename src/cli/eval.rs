//! `msrm eval`

use super::arguments::EvalArguments;
use super::error::{CliError, Exit};
use super::{load, print, print_json};
use crate::data::load_arrays;
use crate::run::evaluate_at;
use serde_json::json;

/// Prints value, terms and gradients at a named point.
pub fn run(arguments: &EvalArguments) -> Result<Exit, CliError> {
    let (plan, _) = load::plan(&arguments.model, arguments.data.as_deref(), &arguments.recording)?;
    let (point, _) = load_arrays(&arguments.at)?;
    let evaluation = evaluate_at(&plan, &point)?;
    if arguments.json {
        print_json(&json!(evaluation))?;
        return Ok(Exit::Fine);
    }
    let mut text = format!("{} {:?}\n", evaluation.kind.replace('_', " "), evaluation.value);
    for term in &evaluation.terms {
        text.push_str(&format!("  {}: {:?}\n", term.name, term.value));
    }
    text.push_str(&format!("log Jacobian {:?}\n", evaluation.log_jacobian));
    text.push_str("gradient (physical, unconstrained)\n");
    for (physical, unconstrained) in evaluation.gradient.iter().zip(&evaluation.gradient_unconstrained) {
        text.push_str(&format!("  {}: {:?}, {:?}\n", physical.name, physical.value, unconstrained.value));
    }
    print(&text)?;
    Ok(Exit::Fine)
}
