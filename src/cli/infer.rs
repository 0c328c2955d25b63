//! `msrm infer`

use super::answer::{check_out, note, question, write_out};
use super::error::{CliError, Exit};
use super::questions::InferArguments;
use crate::report::inferred_csv;
use crate::run::query::{Fitted, InferOptions, infer};

/// Writes the latent of new data under the parameters of a fit.
pub fn run(arguments: &InferArguments) -> Result<Exit, CliError> {
    let answer = &arguments.answer;
    check_out(answer.out.as_deref(), answer.force)?;
    let asked = question(&answer.fit, &answer.data, answer.quiet)?;
    let fitted = Fitted::open(&asked.archive)?;
    let options = InferOptions { query: answer.query(), alone: arguments.alone };
    let (latents, notes) = infer(&fitted, &asked.recording, &options)?;
    note(&notes, answer.quiet);
    let text = inferred_csv(&latents, fitted.factors());
    write_out(answer.out.as_deref(), &text, answer.force, answer.quiet)?;
    Ok(Exit::Fine)
}
