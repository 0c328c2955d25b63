//! `msrm check`

use super::arguments::{CheckArguments, Stage};
use super::error::{CliError, Exit};
use super::{load, print, print_json};
use crate::bind::Plan;
use crate::graph::lower;
use crate::lang::{format, parse};
use crate::model::{Latent, Model, Statement, describe_shape};
use serde_json::json;

/// Checks a model and prints the stage asked for.
pub fn run(arguments: &CheckArguments) -> Result<Exit, CliError> {
    let loaded = match load::model(&arguments.model) {
        Err(CliError::Model { text, diagnostics }) if arguments.json => {
            let found: Vec<_> = diagnostics
                .iter()
                .map(|d| {
                    let (line, column) = text.line_column(d.span.start);
                    json!({
                        "code": d.code.id(), "severity": d.severity, "message": d.message, "line": line, "column": column,
                        "expected": d.expected, "found": d.found, "help": d.help,
                    })
                })
                .collect();
            print_json(&json!({ "ok": false, "file": text.name, "diagnostics": found }))?;
            return Ok(Exit::BadInput);
        }
        other => other?,
    };
    let needs_plan = arguments.data.is_some() || matches!(arguments.emit, Some(Stage::Plan | Stage::Graph));
    let plan = if needs_plan {
        Some(load::plan(&arguments.model, arguments.data.as_deref(), &arguments.recording)?.0)
    } else {
        None
    };
    if arguments.json {
        let stage = match (arguments.emit, &plan) {
            (Some(Stage::Graph), Some(plan)) => json!(lower(plan)?.to_string()),
            (Some(Stage::Plan), Some(plan)) => json!(plan),
            (Some(Stage::Ast), _) => json!(parse(&loaded.source).ok()),
            (Some(_), _) => json!(loaded.model),
            (None, _) => json!(null),
        };
        let coordinates = plan.as_ref().map(Plan::dim);
        print_json(&json!({
            "ok": true, "model": loaded.model.name, "objective": loaded.model.is_objective(),
            "coordinates": coordinates, "notes": plan.as_ref().map(|p| &p.notes), "stage": stage,
        }))?;
        return Ok(Exit::Fine);
    }
    match (arguments.emit, &plan) {
        (Some(Stage::Ast), _) => {
            let ast = parse(&loaded.source)
                .map_err(|diagnostics| CliError::Model { text: Box::new(loaded.source.clone()), diagnostics })?;
            print(&format(&ast))?;
        }
        (Some(Stage::Plan), Some(plan)) => print(&describe_plan(plan))?,
        (Some(Stage::Graph), Some(plan)) => print(&lower(plan)?.to_string())?,
        (Some(_), _) => print(&describe_model(&loaded.model))?,
        (None, plan) => {
            let kind = if loaded.model.is_objective() { "objective" } else { "density" };
            let size = plan.as_ref().map_or(String::new(), |p| format!(", {} coordinates", p.dim()));
            print(&format!("{}: model `{}` is correct ({kind}{size})\n", loaded.source.name, loaded.model.name))?;
            for note in plan.iter().flat_map(|p| &p.notes) {
                print(&format!("note: {note}\n"))?;
            }
        }
    }
    Ok(Exit::Fine)
}

/// The checked model in lines: what each name is, and the terms of the density or objective.
fn describe_model(model: &Model) -> String {
    let kind = if model.is_objective() { "objective" } else { "density" };
    let mut out = format!("model {}: {kind}\n", model.name);
    for data in &model.data {
        let element = if data.integer { "int" } else { "real" };
        out.push_str(&format!("data {}: {element}, {}\n", data.name, describe_shape(&data.shape)));
    }
    if let Some(shared) = &model.shared {
        let latent = match &shared.latent {
            Latent::Process { name, .. } => format!("{name}, a Matern-3/2 process"),
            Latent::Grid { name, .. } => format!("{name}, values on a grid"),
        };
        out.push_str(&format!(
            "recording {}{}: {} factors, latent {latent}, loading {}\n",
            shared.recording,
            if shared.standardized { ", standardised" } else { "" },
            shared.factors.1,
            shared.loading
        ));
    }
    for statement in &model.statements {
        let line = match statement {
            Statement::Param(p) => {
                let bounded = match (&p.lower, &p.upper) {
                    (None, None) => "",
                    (Some(_), None) => ", bounded below",
                    (None, Some(_)) => ", bounded above",
                    (Some(_), Some(_)) => ", bounded on both sides",
                };
                let noncentered = if p.noncentered.is_some() { ", sampled in standardised form" } else { "" };
                let constraint = p.constraint.map(|c| format!(", {}", c.describe())).unwrap_or_default();
                format!("param {}: {}{constraint}{bounded}{noncentered}", p.name, describe_shape(&p.shape))
            }
            Statement::Let { name, value } => format!("let {name}: {}", describe_shape(&value.shape)),
            Statement::Report { name, value } => format!("report {name}: {}", describe_shape(&value.shape)),
            Statement::Generated { name, shape, draw, .. } => {
                format!("report {name}: {}, drawn from {}", describe_shape(shape), draw.family)
            }
            Statement::Density { label, value, .. } => format!("term {label}: over {}", describe_shape(&value.shape)),
            Statement::WeightPrior { role, name, draw } => {
                format!("{} {name}: one per stream, term {name} ~ {}", role.keyword(), draw.family)
            }
            Statement::SharedObserve => "term recording ~ normal: the latent is integrated out".to_string(),
            Statement::LogDensity { label, .. } => format!("term {label}: a scalar"),
            Statement::Minimize { .. } => "minimize: a scalar".to_string(),
        };
        out.push_str(&line);
        out.push('\n');
    }
    out
}

/// The plan in lines: sizes of the data, then the coordinates with their bounds.
fn describe_plan(plan: &Plan) -> String {
    let mut out = format!("model {}: {} coordinates\n", plan.model.name, plan.dim());
    for (name, value) in &plan.values {
        let what = if value.shape.is_empty() { value.values[0].to_string() } else { format!("{:?}", value.shape) };
        out.push_str(&format!("value {name}: {what}\n"));
    }
    if let Some(shared) = &plan.shared {
        let r = &shared.recording;
        out.push_str(&format!(
            "recording: {} participants, {} runs, {} modalities, {} loading rows, {} factors\n",
            r.participants.len(),
            r.runs.len(),
            r.modalities.len(),
            shared.keys.len(),
            shared.factors
        ));
    }
    for block in &plan.blocks {
        let (lower, upper) = (block.lower.first(), block.upper.first());
        let bounds = match (lower, upper) {
            (Some(lo), Some(hi)) if lo.is_finite() || hi.is_finite() => format!(" in ({lo}, {hi})"),
            _ => String::new(),
        };
        let range = format!("{}..{}", block.offset, block.offset + block.len());
        out.push_str(&format!(
            "coordinates {range}: {} {:?}{bounds}\n",
            block.sampled_name(),
            block.form.sizes(&block.shape)
        ));
    }
    for note in &plan.notes {
        out.push_str(&format!("note: {note}\n"));
    }
    out
}
