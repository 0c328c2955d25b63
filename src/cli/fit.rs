//! `msrm fit`

use super::arguments::FitArguments;
use super::error::{CliError, Exit};
use super::{load, print, print_json};
use crate::archive::{self, Archive, FORMAT, Method, Outcome, Settings};
use crate::model::Statement;
use crate::report::{facts, latent_csv, responses_text, summarize_archive, summary_table};
use crate::run::query::learned_responses;
use crate::run::{Reporting, default_method, fit, interrupt_flag, likelihood_algebra};
use std::path::PathBuf;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Iterations of alternating steps, which are cheap and slow to settle.
const ALS_ITERATIONS: usize = 5000;
/// Target acceptance of NUTS.
const NUTS_ACCEPT: f64 = 0.8;
/// Target acceptance of MAMS, which takes larger steps.
const MAMS_ACCEPT: f64 = 0.75;
/// Iterations of a mode search.
const MAP_ITERATIONS: usize = 10_000;

/// More threads than any machine has cores are a mistake that would take minutes to start.
pub(super) const MOST_THREADS: usize = 1024;

/// Fits, writes the folder, prints the summary and the verdict.
pub fn run(arguments: &FitArguments) -> Result<Exit, CliError> {
    let begin = Instant::now();
    check_settings(arguments)?;
    let (plan, inputs) = load::plan(&arguments.model, arguments.data.as_deref(), &arguments.recording)?;
    let out = arguments.out.clone().unwrap_or_else(|| PathBuf::from(format!("{}-fit", plan.model.name)));
    archive::check_target(&out, arguments.force)?;
    let note = |text: &str| {
        if !arguments.quiet {
            eprintln!("{text}");
        }
    };
    for text in &plan.notes {
        note(&format!("note: {text}"));
    }
    let (automatic, reason) = default_method(&plan);
    let method = arguments.method.method().unwrap_or(automatic);
    if arguments.method.method().is_none() {
        let name = match method {
            Method::Nuts => "nuts",
            Method::Mams => "mams",
            Method::Map => "map",
            Method::Als => "als",
        };
        note(&format!("method: {name} ({reason})"));
    }
    if let Some(algebra) = likelihood_algebra(&plan)? {
        note(&format!("likelihood: {algebra}"));
    }
    if matches!(method, Method::Map | Method::Als) {
        for statement in &plan.model.statements {
            if let Statement::Generated { name, .. } = statement {
                note(&format!("note: `{name}` is drawn per draw of the posterior; a mode has none, so it is left out"));
            }
        }
    }
    let default_iterations = if method == Method::Als { ALS_ITERATIONS } else { MAP_ITERATIONS };
    let settings = Settings {
        method,
        seed: arguments.seed,
        threads: arguments.threads,
        device: arguments.device.clone(),
        chains: arguments.chains,
        warmup: arguments.warmup,
        draws: arguments.draws,
        target_accept: arguments.target_accept.unwrap_or(if method == Method::Mams {
            MAMS_ACCEPT
        } else {
            NUTS_ACCEPT
        }),
        max_depth: arguments.max_depth,
        metric: arguments.metric.into(),
        init: arguments.init.into(),
        starts: arguments.starts,
        max_iterations: arguments.max_iterations.unwrap_or(default_iterations),
        standard_errors: arguments.standard_errors,
    };
    let reporting = if arguments.quiet { Reporting::Quiet } else { Reporting::Auto };
    let outcome = fit(&plan, &settings, interrupt_flag(arguments.quiet), reporting)?;
    let archive = Archive {
        format: FORMAT,
        msrm_version: env!("CARGO_PKG_VERSION").into(),
        created: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs()),
        inputs,
        settings,
        plan_sha256: archive::plan_digest(&plan)?,
        plan,
        outcome,
        calibrated: Vec::new(),
        seconds: begin.elapsed().as_secs_f64(),
    };
    let summary = summarize_archive(&archive);
    let mut tables = vec![("summary.csv", summary.csv())];
    let (interrupted, latent) = match &archive.outcome {
        Outcome::Draws(draws) => (draws.interrupted, &draws.latent),
        Outcome::Mode(mode) => (mode.interrupted, &mode.latent),
    };
    if !latent.is_empty() {
        tables.push(("latent.csv", latent_csv(latent)));
    }
    archive::write(&out, &archive, &tables, arguments.force)?;
    if arguments.json {
        let mut object = summary.json(&archive);
        object["out"] = serde_json::json!(out);
        print_json(&object)?;
    } else {
        print(&format!("{}\n{}\n", facts(&archive), summary_table(&summary)))?;
        let responses = responses_text(&learned_responses(&archive)?);
        if !responses.is_empty() {
            print(&format!("{responses}\n"))?;
        }
        print(&summary.judgement.to_string())?;
        print(&format!("written to {}\n", out.display()))?;
    }
    Ok(if interrupted {
        Exit::Interrupted
    } else if summary.judgement.trust {
        Exit::Fine
    } else {
        Exit::Doubt
    })
}

fn check_settings(arguments: &FitArguments) -> Result<(), CliError> {
    let setting = |name, range, value: String| Err(CliError::Setting { name, range, value });
    if arguments.chains == 0 {
        return setting("--chains", "at least 1", "0".into());
    }
    if arguments.draws == 0 {
        return setting("--draws", "at least 1", "0".into());
    }
    if arguments.starts == 0 {
        return setting("--starts", "at least 1", "0".into());
    }
    if arguments.threads > MOST_THREADS {
        return setting("--threads", "at most 1024", arguments.threads.to_string());
    }
    if let Some(target) = arguments.target_accept.filter(|t| !(*t > 0.0 && *t < 1.0)) {
        return setting("--target-accept", "between 0 and 1", target.to_string());
    }
    if !(1..=20).contains(&arguments.max_depth) {
        return setting("--max-depth", "between 1 and 20", arguments.max_depth.to_string());
    }
    Ok(())
}
