//! One row per reported number of a fit.

use super::judge::{Judgement, judge};
use crate::archive::{Archive, Draws, Mode, Outcome};
use crate::diagnose::{QuantitySummary, summarize};
use rayon::prelude::*;
use serde_json::{Value, json};

/// One reported number.
#[derive(Debug, Clone, PartialEq)]
pub enum Row {
    /// Summarised draws.
    Drawn { name: String, summary: Box<QuantitySummary> },
    /// A point, with its standard error where it has one.
    Point { name: String, value: f64, standard_error: Option<f64> },
}

impl Row {
    /// The name of the number.
    pub fn name(&self) -> &str {
        match self {
            Row::Drawn { name, .. } | Row::Point { name, .. } => name,
        }
    }
}

/// All rows of a fit, and what to think of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    pub rows: Vec<Row>,
    pub judgement: Judgement,
}

/// Summarises a fit.
pub fn summarize_archive(archive: &Archive) -> Summary {
    let rows = match &archive.outcome {
        Outcome::Draws(draws) => drawn_rows(draws),
        Outcome::Mode(mode) => point_rows(mode),
    };
    let judgement = judge(archive, &rows);
    Summary { rows, judgement }
}

fn drawn_rows(draws: &Draws) -> Vec<Row> {
    let labels: Vec<&str> = draws.labels().collect();
    labels
        .par_iter()
        .enumerate()
        .map(|(index, label)| {
            let chains = draws.element(index);
            let slices: Vec<&[f64]> = chains.iter().map(Vec::as_slice).collect();
            Row::Drawn { name: (*label).to_string(), summary: Box::new(summarize(&slices)) }
        })
        .collect()
}

fn point_rows(mode: &Mode) -> Vec<Row> {
    let labels = mode.quantities.iter().flat_map(|q| &q.labels);
    labels
        .zip(&mode.values)
        .enumerate()
        .map(|(i, (name, &value))| Row::Point {
            name: name.clone(),
            value,
            standard_error: mode.standard_errors.as_ref().and_then(|e| e[i]),
        })
        .collect()
}

impl Summary {
    /// The rows as CSV, one line a row.
    pub fn csv(&self) -> String {
        let number = |v: Option<f64>| v.map(|v| v.to_string()).unwrap_or_default();
        let mut out = String::new();
        for (i, row) in self.rows.iter().enumerate() {
            let (header, cells) = match row {
                Row::Drawn { summary: s, .. } => (
                    "name,mean,sd,mcse_mean,mcse_sd,q05,q25,q50,q75,q95,ess_bulk,ess_tail,r_hat",
                    vec![
                        s.mean,
                        s.sd,
                        s.mcse_mean,
                        s.mcse_sd,
                        s.q05,
                        s.q25,
                        s.q50,
                        s.q75,
                        s.q95,
                        s.ess_bulk,
                        s.ess_tail,
                        s.r_hat,
                    ],
                ),
                Row::Point { value, standard_error, .. } => {
                    ("name,value,standard_error", vec![Some(*value), *standard_error])
                }
            };
            if i == 0 {
                out.push_str(header);
                out.push('\n');
            }
            let cells: Vec<String> = cells.into_iter().map(number).collect();
            out.push_str(&format!("\"{}\",{}\n", row.name().replace('"', "\"\""), cells.join(",")));
        }
        out
    }

    /// The summary as one JSON object.
    pub fn json(&self, archive: &Archive) -> Value {
        let rows: Vec<Value> = self
            .rows
            .iter()
            .map(|row| match row {
                Row::Drawn { name, summary: s } => json!({
                    "name": name, "mean": s.mean, "sd": s.sd, "mcse": s.mcse_mean, "mcse_sd": s.mcse_sd,
                    "q05": s.q05, "q25": s.q25, "q50": s.q50, "q75": s.q75, "q95": s.q95,
                    "ess_bulk": s.ess_bulk, "ess_tail": s.ess_tail, "r_hat": s.r_hat, "constant": s.constant,
                }),
                Row::Point { name, value, standard_error } => {
                    json!({ "name": name, "value": value, "standard_error": standard_error })
                }
            })
            .collect();
        let quantities = match &archive.outcome {
            Outcome::Draws(draws) => &draws.quantities,
            Outcome::Mode(mode) => &mode.quantities,
        };
        let groups: Vec<Value> = quantities
            .iter()
            .map(|q| json!({ "name": q.name, "group": q.group, "integer": q.integer, "shape": q.shape }))
            .collect();
        let mut object = json!({
            "model": archive.plan.model.name,
            "method": archive.settings.method,
            "msrm_version": archive.msrm_version,
            "seed": archive.settings.seed,
            "seconds": archive.seconds,
            "notes": archive.plan.notes,
            "inputs": archive.inputs,
            "plan_sha256": archive.plan_sha256,
            "settings": archive.settings,
            "trust": self.judgement.trust,
            "findings": self.judgement.findings,
            "constants": self.judgement.constants,
            "quantities": rows,
            "groups": groups,
        });
        match &archive.outcome {
            Outcome::Draws(draws) => {
                object["interrupted"] = json!(draws.interrupted);
                object["chains"] = draws
                    .chains
                    .iter()
                    .map(|c| {
                        json!({
                            "draws": c.len(), "step_size": c.step_size, "gradients": c.gradients, "seconds": c.seconds,
                            "divergences": c.divergent.iter().filter(|d| **d).count(),
                            "warmup_divergences": c.warmup_divergences,
                            "depth_hits": c.depth_hit.iter().filter(|d| **d).count(),
                            "bfmi": crate::diagnose::energy::bfmi(&c.energy),
                            "failure": c.failure,
                        })
                    })
                    .collect();
            }
            Outcome::Mode(mode) => {
                object["interrupted"] = json!(mode.interrupted);
                object[if mode.objective { "objective" } else { "log_density" }] = json!(mode.value);
                object["terms"] = mode.terms.iter().map(|(n, v)| json!({ "name": n, "value": v })).collect();
                object["restarts"] = json!(mode.restarts);
                object["best"] = json!(mode.best);
                object["at_bounds"] = json!(mode.at_bounds);
            }
        }
        object
    }
}
