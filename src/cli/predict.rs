//! `msrm predict`

use super::answer::{check_out, note, question, write_out};
use super::error::{CliError, Exit};
use super::questions::PredictArguments;
use crate::report::predictions_csv;
use crate::run::query::{Fitted, PredictOptions, predict};

/// Writes predictions of hidden streams.
pub fn run(arguments: &PredictArguments) -> Result<Exit, CliError> {
    let answer = &arguments.answer;
    check_out(answer.out.as_deref(), answer.force)?;
    let asked = question(&answer.fit, &answer.data, answer.quiet)?;
    let fitted = Fitted::open(&asked.archive)?;
    let targets = fitted.targets(&arguments.target)?;
    let options = PredictOptions { source: arguments.from.into(), query: answer.query(), noise: arguments.noise };
    let found = predict(&fitted, &asked.recording, &targets, &options)?;
    note(&found.notes, answer.quiet);
    let text = predictions_csv(&found.predictions);
    write_out(answer.out.as_deref(), &text, answer.force, answer.quiet)?;
    Ok(Exit::Fine)
}
