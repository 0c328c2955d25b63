//! `msrm calibrate`

use super::answer::{note, question};
use super::error::{CliError, Exit};
use super::print;
use super::questions::CalibrateArguments;
use crate::archive::{self, InputFile, Outcome};
use crate::report::{calibrated_csv, latent_csv, summarize_archive};
use crate::run::query::{Fitted, calibrate};
use std::path::PathBuf;

/// Adds the new people and modalities of a recording to a fit, in a folder of its own.
pub fn run(arguments: &CalibrateArguments) -> Result<Exit, CliError> {
    let asked = question(&arguments.fit, &arguments.data, arguments.quiet)?;
    let out =
        arguments.out.clone().unwrap_or_else(|| PathBuf::from(format!("{}-calibrated", asked.archive.plan.model.name)));
    archive::check_target(&out, arguments.force)?;
    let fitted = Fitted::open(&asked.archive)?;
    let factors = fitted.factors();
    let found = calibrate(&fitted, &asked.recording, arguments.reference.into(), arguments.seed)?;
    note(&found.notes, arguments.quiet);
    let mut archive = asked.archive;
    for pair in &found.pairs {
        let features = crate::data::counted(pair.features.len(), "feature", "features");
        print(&format!("calibrated {}/{}: {features}\n", pair.participant, pair.modality))?;
    }
    archive.calibrated.extend(found.pairs);
    archive.inputs.push(InputFile { role: "calibration".into(), ..asked.input });
    let summary = summarize_archive(&archive);
    let mut tables =
        vec![("summary.csv", summary.csv()), ("calibrated.csv", calibrated_csv(&archive.calibrated, factors))];
    let latent = match &archive.outcome {
        Outcome::Mode(mode) => &mode.latent,
        Outcome::Draws(draws) => &draws.latent,
    };
    if !latent.is_empty() {
        tables.push(("latent.csv", latent_csv(latent)));
    }
    archive::write(&out, &archive, &tables, arguments.force)?;
    print(&format!("written to {}\n", out.display()))?;
    Ok(Exit::Fine)
}
