//! `msrm summary`

use super::arguments::SummaryArguments;
use super::error::{CliError, Exit};
use super::{print, print_json};
use crate::archive;
use crate::data::counted;
use crate::report::{facts, responses_text, summarize_archive, summary_table};
use crate::run::query::learned_responses;

/// Summarises a finished fit; the exit code repeats its verdict.
pub fn run(arguments: &SummaryArguments) -> Result<Exit, CliError> {
    let archive = archive::read(&arguments.fit)?;
    let summary = summarize_archive(&archive);
    if arguments.json {
        print_json(&summary.json(&archive))?;
    } else {
        print(&format!("{}\n{}\n", facts(&archive), summary_table(&summary)))?;
        let responses = responses_text(&learned_responses(&archive)?);
        if !responses.is_empty() {
            print(&format!("{responses}\n"))?;
        }
        for pair in &archive.calibrated {
            let features = counted(pair.features.len(), "feature", "features");
            let (who, what) = (&pair.participant, &pair.modality);
            print(&format!("calibrated {who}/{what}: {features}, reference {}\n", pair.reference))?;
        }
        print(&summary.judgement.to_string())?;
    }
    Ok(if summary.judgement.trust { Exit::Fine } else { Exit::Doubt })
}
