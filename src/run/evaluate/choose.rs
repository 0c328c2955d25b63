//! Selects the model with the best average score; one that failed anywhere is no candidate.

use super::row::{MEAN, RIDGE, Row, mean};
use crate::diagnose::{Score, Undefined};

/// What models are compared by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metric {
    /// Largest mean share of explained variance.
    R2,
    /// Smallest mean squared error in units of the training variance.
    Mse,
    /// Largest mean correlation.
    Correlation,
}

impl Metric {
    fn of(self, score: &Score) -> Option<f64> {
        match self {
            Metric::R2 => score.r2,
            Metric::Mse => score.mse.map(|v| -v),
            Metric::Correlation => score.correlation,
        }
    }

    /// Whether the held-out values themselves have no such score, whatever is predicted.
    fn impossible(self, score: &Score) -> bool {
        score.features.iter().all(|f| match self {
            Metric::Mse => f.count == 0,
            Metric::R2 => f.r2.is_err(),
            Metric::Correlation => {
                matches!(f.correlation, Err(Undefined::TooFew | Undefined::ConstantTarget))
            }
        })
    }
}

/// Which model is best, and what each had.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// Absent where no model has all of its scores.
    pub best: Option<String>,
    /// Model and mean of the metric (of minus the error, for [`Metric::Mse`]), or why it is no candidate; by name.
    pub models: Vec<(String, Result<f64, String>)>,
}

/// Compares the models of `rows`, baselines apart. Every row counts alike; a row that failed, or that has no score
/// although the held-out values have one, rules its model out. Equals are decided by name.
pub fn choose(rows: &[Row], metric: Metric) -> Choice {
    let mut names: Vec<&str> = rows.iter().map(|r| r.model.as_str()).filter(|m| *m != MEAN && *m != RIDGE).collect();
    names.sort_unstable();
    names.dedup();
    let judge = |name: &str| -> Result<f64, String> {
        let mut values = Vec::new();
        for row in rows.iter().filter(|r| r.model == name && r.selected.is_none()) {
            let place = format!("{} {}/{}", row.fold, row.participant, row.modality);
            match &row.outcome {
                Err(error) => return Err(format!("it failed at {}: {error}", place.trim())),
                Ok(score) => match metric.of(score) {
                    Some(value) => values.push(value),
                    None if metric.impossible(score) => {}
                    None => return Err(format!("it has no score at {}", place.trim())),
                },
            }
        }
        mean(values.into_iter()).ok_or_else(|| "it has no score".to_string())
    };
    let models: Vec<(String, Result<f64, String>)> = names.iter().map(|n| (n.to_string(), judge(n))).collect();
    let mut best: Option<(&str, f64)> = None;
    for (name, value) in &models {
        if let Ok(value) = value
            && best.is_none_or(|(_, b)| *value > b)
        {
            best = Some((name, *value));
        }
    }
    Choice { best: best.map(|(n, _)| n.to_string()), models }
}

#[cfg(test)]
mod tests {
    use super::super::folds::From;
    use super::*;
    use crate::diagnose::score;

    fn row(model: &str, fold: &str, outcome: Result<Score, String>) -> Row {
        Row {
            model: model.into(),
            fold: fold.into(),
            part: String::new(),
            participant: "ada".into(),
            run: "one".into(),
            modality: "rating".into(),
            from: From::Both,
            outcome,
            skill: None,
            selected: None,
        }
    }

    const TRUTH: [f64; 4] = [1.0, 2.0, 4.0, 3.0];

    fn scored(predicted: [f64; 4]) -> Result<Score, String> {
        Ok(score(&TRUTH, &predicted, 1))
    }

    #[test]
    fn the_best_mean_wins_and_equals_go_by_name() {
        let good = [1.1, 2.0, 3.9, 3.0];
        let poor = [2.0, 2.0, 3.0, 2.0];
        let rows = [
            row("b", "1", scored(good)),
            row("a", "1", scored(good)),
            row("c", "1", scored(poor)),
            row(MEAN, "1", scored(TRUTH)),
        ];
        for metric in [Metric::R2, Metric::Mse, Metric::Correlation] {
            let choice = choose(&rows, metric);
            assert_eq!(choice.best.as_deref(), Some("a"), "{metric:?}");
            assert_eq!(choice.models.iter().map(|m| m.0.as_str()).collect::<Vec<_>>(), ["a", "b", "c"]);
        }
    }

    #[test]
    fn a_failure_rules_a_model_out_and_is_told() {
        let rows = [
            row("a", "1", scored([1.0, 2.0, 4.0, 3.0])),
            row("a", "2", Err("it diverged".into())),
            row("b", "1", scored([2.0, 2.0, 3.0, 2.0])),
            row("b", "2", scored([2.0, 2.0, 3.0, 2.0])),
            // A constant prediction of values that vary has no correlation.
            row("c", "1", scored([2.0; 4])),
        ];
        let choice = choose(&rows, Metric::Correlation);
        assert_eq!(choice.best.as_deref(), Some("b"));
        assert_eq!(choice.models[0].1, Err("it failed at 2 ada/rating: it diverged".into()));
        assert_eq!(choice.models[2].1, Err("it has no score at 1 ada/rating".into()));
        assert_eq!(choose(&rows[1..2], Metric::R2).best, None);
        // Held-out values that do not vary rule nobody out.
        let constant = Ok(score(&[2.0; 4], &[1.0, 2.0, 3.0, 4.0], 1));
        let rows = [row("a", "1", scored([1.0, 2.0, 4.0, 3.0])), row("a", "2", constant)];
        assert_eq!(choose(&rows, Metric::R2).models, [("a".into(), Ok(1.0))]);
    }
}
