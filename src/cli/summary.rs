//! `msrm summary`

use super::arguments::SummaryArguments;
use super::error::{CliError, Exit};
use super::{print, print_json};
use crate::archive;
use crate::diagnose::loo;
use crate::report::{facts, loo_table, summarize_archive, summary_table};
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
        print(&format!("{}\n{}\n{}", facts(&archive), summary_table(&summary), summary.judgement))?;
        if let Some(loo) = &loo {
            print(&format!("\n{}", loo_table(loo)))?;
        }
    }
    Ok(if summary.judgement.trust { Exit::Fine } else { Exit::Doubt })
}
