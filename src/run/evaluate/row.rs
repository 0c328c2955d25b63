//! The rows of an evaluation and what they say together.

use super::folds::From;
use crate::diagnose::Score;

/// Name of the predictions by the training mean.
pub const MEAN: &str = "(mean)";
/// Name of the predictions by ridge regression.
pub const RIDGE: &str = "(ridge)";

/// One prediction of one stream's held-out values.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Name of the model, [`MEAN`] or [`RIDGE`].
    pub model: String,
    pub fold: String,
    pub part: String,
    pub participant: String,
    pub run: String,
    pub modality: String,
    pub from: From,
    /// Scores in units of the training standard deviation, over the entries that every model and source of the fold can
    /// predict; or why there are none.
    pub outcome: Result<Score, String>,
    /// 1 - mean squared error / that of the training mean.
    pub skill: Option<f64>,
    /// For rows of a nested selection: the model that was selected.
    pub selected: Option<String>,
}

/// Averages over the rows of one model, source and modality.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    pub model: String,
    pub from: From,
    pub modality: String,
    /// Rows with a score.
    pub rows: usize,
    /// Rows that failed.
    pub failed: usize,
    /// Scored entries.
    pub observations: usize,
    /// Means over the rows where the score is defined, each row alike.
    pub correlation: Option<f64>,
    pub r2: Option<f64>,
    pub mse: Option<f64>,
    pub skill: Option<f64>,
}

/// Averages for every modality, source and model, in this order; models in the order of the rows.
pub fn summarise(rows: &[Row]) -> Vec<Summary> {
    let mut models: Vec<&str> = Vec::new();
    for row in rows {
        if !models.contains(&row.model.as_str()) {
            models.push(&row.model);
        }
    }
    let mut groups: Vec<(&str, From)> = rows.iter().map(|r| (r.modality.as_str(), r.from)).collect();
    groups.sort();
    groups.dedup();
    let mut out = Vec::new();
    for (modality, from) in groups {
        for model in &models {
            let members: Vec<&Row> =
                rows.iter().filter(|r| r.model == *model && r.modality == modality && r.from == from).collect();
            if members.is_empty() {
                continue;
            }
            let scores: Vec<&Score> = members.iter().filter_map(|r| r.outcome.as_ref().ok()).collect();
            out.push(Summary {
                model: (*model).to_string(),
                from,
                modality: modality.to_string(),
                rows: scores.len(),
                failed: members.len() - scores.len(),
                observations: scores.iter().map(|s| s.observations).sum(),
                correlation: mean(scores.iter().filter_map(|s| s.correlation)),
                r2: mean(scores.iter().filter_map(|s| s.r2)),
                mse: mean(scores.iter().filter_map(|s| s.mse)),
                skill: mean(members.iter().filter_map(|r| r.skill)),
            });
        }
    }
    out
}

/// The mean of what is there.
pub(super) fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, n) = values.fold((0.0, 0.0), |(sum, n), v| (sum + v, n + 1.0));
    (n > 0.0).then(|| sum / n)
}
