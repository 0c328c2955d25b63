//! An evaluation as tidy CSV, as tables for a terminal, and as JSON.

use super::answers::table;
use crate::run::evaluate::{Choice, Evaluation, IscRow, Summary, summarise};
use serde_json::{Value, json};

/// Rows shown of the correlations between participants.
const SHOWN: usize = 20;

fn cell(value: Option<f64>) -> String {
    value.map_or(String::new(), |v| v.to_string())
}

/// One line per model, fold, stream and source:
/// `model,fold,part,participant,run,modality,from,times,observations,correlation,r2,mse,skill,selected,error`. A score
/// that is undefined is empty; a row that failed says why in `error`.
pub fn scores_csv(evaluation: &Evaluation) -> String {
    let rows = evaluation.rows.iter().map(|r| {
        let score = r.outcome.as_ref().ok();
        vec![
            r.model.clone(),
            r.fold.clone(),
            r.part.clone(),
            r.participant.clone(),
            r.run.clone(),
            r.modality.clone(),
            r.from.name().to_string(),
            score.map_or(String::new(), |s| s.times.to_string()),
            score.map_or(String::new(), |s| s.observations.to_string()),
            cell(score.and_then(|s| s.correlation)),
            cell(score.and_then(|s| s.r2)),
            cell(score.and_then(|s| s.mse)),
            cell(r.skill),
            r.selected.clone().unwrap_or_default(),
            r.outcome.as_ref().err().cloned().unwrap_or_default(),
        ]
    });
    let header = [
        "model",
        "fold",
        "part",
        "participant",
        "run",
        "modality",
        "from",
        "times",
        "observations",
        "correlation",
        "r2",
        "mse",
        "skill",
        "selected",
        "error",
    ];
    table(&header, rows)
}

/// One line per modality, source and model:
/// `modality,from,model,rows,failed,observations,correlation,r2,mse,skill`.
pub fn evaluation_summary_csv(summaries: &[Summary]) -> String {
    let rows = summaries.iter().map(|s| {
        vec![
            s.modality.clone(),
            s.from.name().to_string(),
            s.model.clone(),
            s.rows.to_string(),
            s.failed.to_string(),
            s.observations.to_string(),
            cell(s.correlation),
            cell(s.r2),
            cell(s.mse),
            cell(s.skill),
        ]
    });
    let header = ["modality", "from", "model", "rows", "failed", "observations", "correlation", "r2", "mse", "skill"];
    table(&header, rows)
}

/// One line per run, feature and participant: `run,modality,feature,participant,rows,correlation,undefined,mean,pairwise`.
pub fn isc_csv(isc: &[IscRow]) -> String {
    let rows = isc.iter().flat_map(|row| {
        row.participants.iter().zip(&row.correlations).map(move |(participant, correlation)| {
            vec![
                row.run.clone(),
                row.modality.clone(),
                row.feature.clone(),
                participant.clone(),
                row.rows.to_string(),
                cell(correlation.as_ref().ok().copied()),
                correlation.as_ref().err().cloned().unwrap_or_default(),
                cell(row.mean),
                cell(row.pairwise),
            ]
        })
    });
    let header = ["run", "modality", "feature", "participant", "rows", "correlation", "undefined", "mean", "pairwise"];
    table(&header, rows)
}

/// Aligned lines; the first `left` columns are names.
fn aligned(lines: &[Vec<String>], left: usize) -> String {
    let columns = lines.first().map_or(0, Vec::len);
    let width = |c: usize| lines.iter().map(|l| l[c].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut out = String::new();
    for line in lines {
        let mut text = String::new();
        for (c, (cell, &width)) in line.iter().zip(&widths).enumerate() {
            let gap = if c == 0 { "" } else { "  " };
            if c < left {
                text.push_str(&format!("{gap}{cell:<width$}"));
            } else {
                text.push_str(&format!("{gap}{cell:>width$}"));
            }
        }
        out.push_str(text.trim_end());
        out.push('\n');
    }
    out
}

fn three(value: Option<f64>) -> String {
    value.map_or("-".into(), |v| format!("{v:.3}"))
}

/// The summary for a terminal: scores, what was selected and why others were not, and how alike the participants are.
pub fn evaluation_table(evaluation: &Evaluation, choice: Option<&Choice>, isc: &[IscRow]) -> String {
    let mut lines =
        vec![["modality", "from", "model", "r", "r2", "mse", "skill", "rows", "failed"].map(String::from).to_vec()];
    for s in summarise(&evaluation.rows) {
        lines.push(vec![
            s.modality,
            s.from.name().to_string(),
            s.model,
            three(s.correlation),
            three(s.r2),
            three(s.mse),
            three(s.skill),
            s.rows.to_string(),
            s.failed.to_string(),
        ]);
    }
    let mut out = aligned(&lines, 3);
    let mut failures: Vec<(String, usize)> = Vec::new();
    for row in &evaluation.rows {
        if let Err(error) = &row.outcome {
            let text = format!("{}: {error}", row.model);
            match failures.iter_mut().find(|f| f.0 == text) {
                Some(known) => known.1 += 1,
                None => failures.push((text, 1)),
            }
        }
    }
    for (text, count) in failures {
        let rows = if count == 1 { "1 row".into() } else { format!("{count} rows") };
        out.push_str(&format!("failed in {rows}: {}\n", text.trim_end()));
    }
    if let Some(choice) = choice {
        out.push('\n');
        match &choice.best {
            Some(best) => out.push_str(&format!("best: {best}\n")),
            None => out.push_str("best: none, no model has all of its scores\n"),
        }
        for (name, why) in choice.models.iter().filter_map(|(n, r)| r.as_ref().err().map(|e| (n, e))) {
            out.push_str(&format!("  - {name} is no candidate: {}\n", why.trim_end()));
        }
    }
    if !isc.is_empty() {
        out.push_str("\ncorrelation of a participant with the mean of the others, and of two participants\n");
        let mut lines =
            vec![["run", "modality", "feature", "others", "pairs", "people", "rows"].map(String::from).to_vec()];
        for row in isc.iter().take(SHOWN) {
            lines.push(vec![
                row.run.clone(),
                row.modality.clone(),
                row.feature.clone(),
                three(row.mean),
                three(row.pairwise),
                row.participants.len().to_string(),
                row.rows.to_string(),
            ]);
        }
        out.push_str(&aligned(&lines, 3));
        if isc.len() > SHOWN {
            out.push_str(&format!("... and {} more in isc.csv\n", isc.len() - SHOWN));
        }
    }
    out
}

/// The evaluation as one JSON object.
pub fn evaluation_json(evaluation: &Evaluation, choice: Option<&Choice>, isc: &[IscRow]) -> Value {
    let summary: Vec<Value> = summarise(&evaluation.rows)
        .iter()
        .map(|s| {
            json!({
                "modality": s.modality, "from": s.from.name(), "model": s.model, "rows": s.rows, "failed": s.failed,
                "observations": s.observations, "correlation": s.correlation, "r2": s.r2, "mse": s.mse,
                "skill": s.skill,
            })
        })
        .collect();
    let failures: Vec<Value> = evaluation
        .rows
        .iter()
        .filter_map(|r| r.outcome.as_ref().err().map(|e| (r, e)))
        .map(|(r, error)| {
            json!({ "model": r.model, "fold": r.fold, "participant": r.participant, "modality": r.modality, "error": error })
        })
        .collect();
    let models = choice.map(|c| {
        c.models
            .iter()
            .map(|(n, r)| json!({ "model": n, "value": r.as_ref().ok(), "reason": r.as_ref().err() }))
            .collect::<Vec<_>>()
    });
    let isc: Vec<Value> = isc
        .iter()
        .map(|r| {
            json!({
                "run": r.run, "modality": r.modality, "feature": r.feature, "participants": r.participants.len(),
                "rows": r.rows, "mean": r.mean, "pairwise": r.pairwise,
            })
        })
        .collect();
    json!({
        "folds": evaluation.folds, "finished": evaluation.finished, "summary": summary, "failures": failures,
        "best": choice.and_then(|c| c.best.clone()), "models": models, "isc": isc,
    })
}
