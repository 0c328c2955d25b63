//! `msrm summary`

use super::arguments::SummaryArguments;
use super::error::{CliError, Exit};
use super::{print, print_json};
use crate::archive;
use crate::data::counted;
use crate::diagnose::loo;
use crate::report::{facts, loo_table, responses_text, summarize_archive, summary_table};
use crate::run::query::learned_responses;
use crate::run::{PointwiseError, log_likelihood};

/// Summarises a finished fit; the exit code repeats its verdict.
pub fn run(arguments: &SummaryArguments) -> Result<Exit, CliError> {
    let archive = archive::read(&arguments.fit)?;
    let summary = summarize_archive(&archive);
    let loo = if arguments.loo { Some(loo(&log_likelihood(&archive)?).ok_or(PointwiseError::Unjudged)?) } else { None };
    if arguments.json {
        let mut object = summary.json(&archive);
        if let Some(loo) = &loo {
            object["loo"] = serde_json::json!(loo);
        }
        print_json(&object)?;
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
        if let Some(loo) = &loo {
            print(&format!("\n{}", loo_table(loo)))?;
        }
    }
    Ok(if summary.judgement.trust { Exit::Fine } else { Exit::Doubt })
}
