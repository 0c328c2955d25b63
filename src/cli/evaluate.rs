//! `msrm evaluate`

use super::answer::note;
use super::error::{CliError, Exit};
use super::questions::EvaluateArguments;
use super::{load, print, print_json};
use crate::archive;
use crate::bind::{BindError, BindOptions, handle_constants};
use crate::report::{evaluation_json, evaluation_summary_csv, evaluation_table, isc_csv, scores_csv};
use crate::run::evaluate::{Candidate, CutOptions, EvaluationOptions, choose, common_response, evaluate, summarise};
use crate::run::{Reporting, interrupt_flag};
use std::path::PathBuf;

/// The table that marks the folder of an evaluation.
const MARK: &str = "scores.csv";

/// Evaluates models, writes the folder, prints the summary.
pub fn run(arguments: &EvaluateArguments) -> Result<Exit, CliError> {
    check_settings(arguments)?;
    let mut candidates: Vec<Candidate> = Vec::new();
    for (i, path) in arguments.models.iter().enumerate() {
        if arguments.models[..i].contains(path) {
            return Err(CliError::SameModel { path: path.clone() });
        }
        let loaded = load::model(path)?;
        if loaded.model.shared.is_none() {
            return Err(CliError::NoRecording { model: loaded.model.name });
        }
        // Two files may hold models of one name; their paths tell them apart.
        let stem = path.file_stem().map_or(loaded.model.name.clone(), |s| s.to_string_lossy().into_owned());
        let taken = candidates.iter().any(|c| c.name == stem);
        let name = if taken { path.display().to_string() } else { stem };
        candidates.push(Candidate { name, model: loaded.model, source: loaded.source });
    }
    let out = arguments
        .out
        .clone()
        .unwrap_or_else(|| PathBuf::from(format!("{}-evaluation", candidates.first().map_or("msrm", |c| &c.name))));
    archive::check_tables(&out, MARK, arguments.force)?;
    let (recording, _, notes) = load::recording(&arguments.data, arguments.recording.duplicates.into())?;
    note(&notes, arguments.quiet);
    let wanted = &arguments.recording.modality;
    if let Some(absent) = wanted.iter().find(|m| !recording.modalities.contains(m)) {
        return Err(CliError::Modality { name: absent.clone(), known: recording.modalities.join(", ") });
    }
    // What never varies has nothing to predict.
    let mut masked = Vec::new();
    let constants = arguments.recording.constant.into();
    let recording = handle_constants(recording.only(wanted), constants, &mut masked).map_err(BindError::Shared)?;
    note(&masked, arguments.quiet);
    let options = EvaluationOptions {
        cut: CutOptions {
            scheme: arguments.scheme.into(),
            targets: arguments.target.clone(),
            together: arguments.together,
            sources: arguments.from.iter().map(|s| (*s).into()).collect(),
            folds: arguments.folds,
            gap: arguments.gap,
            seed: arguments.seed,
        },
        bind: BindOptions {
            modalities: wanted.clone(),
            constants,
            duplicates: arguments.recording.duplicates.into(),
            affinity: load::affinity(&arguments.recording)?.0,
        },
        starts: arguments.starts,
        max_iterations: arguments.max_iterations,
        seed: arguments.seed,
        threads: arguments.threads,
        lags: arguments.lag.clone(),
        nested: arguments.nested.then(|| arguments.metric.into()),
    };
    let reporting = if arguments.quiet { Reporting::Quiet } else { Reporting::Auto };
    let evaluation = evaluate(&candidates, &recording, &options, interrupt_flag(arguments.quiet), reporting)?;
    let isc = common_response(&recording);
    let choice = (candidates.len() > 1).then(|| choose(&evaluation.rows, arguments.metric.into()));
    let summaries = summarise(&evaluation.rows);
    let tables = [
        (MARK, scores_csv(&evaluation)),
        ("summary.csv", evaluation_summary_csv(&summaries)),
        ("isc.csv", isc_csv(&isc)),
    ];
    archive::write_tables(&out, &tables, arguments.force)?;
    if arguments.json {
        let mut object = evaluation_json(&evaluation, choice.as_ref(), &isc);
        object["out"] = serde_json::json!(out);
        print_json(&object)?;
    } else {
        print(&evaluation_table(&evaluation, choice.as_ref(), &isc))?;
        print(&format!("written to {}\n", out.display()))?;
    }
    if evaluation.finished < evaluation.folds {
        note(
            &[format!("interrupted: {} of {} folds are finished", evaluation.finished, evaluation.folds)],
            arguments.quiet,
        );
        return Ok(Exit::Interrupted);
    }
    // Something failed, and the averages are over the rest.
    let failed = summaries.iter().any(|s| s.failed > 0);
    Ok(if failed { Exit::Doubt } else { Exit::Fine })
}

fn check_settings(arguments: &EvaluateArguments) -> Result<(), CliError> {
    let setting = |name, range, value: String| Err(CliError::Setting { name, range, value });
    if arguments.starts == 0 {
        return setting("--starts", "at least 1", "0".into());
    }
    if arguments.threads > super::fit::MOST_THREADS {
        return setting("--threads", "at most 1024", arguments.threads.to_string());
    }
    if let Some(lag) = arguments.lag.iter().find(|l| !l.is_finite()) {
        return setting("--lag", "a number of seconds", lag.to_string());
    }
    Ok(())
}
