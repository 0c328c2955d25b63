//! `msrm summary`

use super::arguments::SummaryArguments;
use super::error::{CliError, Exit};
use super::{print, print_json};
use crate::archive;
use crate::report::{facts, summarize_archive, summary_table};

/// Summarises a finished fit; the exit code repeats its verdict.
pub fn run(arguments: &SummaryArguments) -> Result<Exit, CliError> {
    let archive = archive::read(&arguments.fit)?;
    let summary = summarize_archive(&archive);
    if arguments.json {
        print_json(&summary.json(&archive))?;
    } else {
        print(&format!("{}\n{}\n{}", facts(&archive), summary_table(&summary), summary.judgement))?;
    }
    Ok(if summary.judgement.trust { Exit::Fine } else { Exit::Doubt })
}
