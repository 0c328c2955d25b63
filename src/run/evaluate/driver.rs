//! Fits every candidate to every fold, predicts what was held out, and scores all predictions over the same entries.

use super::baseline::{joined, ridge_prediction, scales};
use super::choose::{Metric, choose};
use super::folds::{CutOptions, EvaluationError, Fold, From, Part, Test, folds};
use super::row::{MEAN, RIDGE, Row};
use super::watch::Watch;
use crate::archive::{Method, Outcome, Settings};
use crate::base::Source;
use crate::bind::{BindOptions, Input, Plan, bind};
use crate::data::Recording;
use crate::diagnose::{Score, score};
use crate::model::Model;
use crate::run::fit::fit;
use crate::run::progress::Reporting;
use crate::run::query::{Conditioned, Fitted, PredictOptions, Query, Reference, Target, calibrate, predict};
use crate::terms::gridded::Scale;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// A model that is compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// As it stands in the tables; names differ.
    pub name: String,
    pub model: Model,
    pub source: Source,
}

/// How models are evaluated.
#[derive(Debug, Clone, PartialEq)]
pub struct EvaluationOptions {
    pub cut: CutOptions,
    pub bind: BindOptions,
    /// Starts, iterations and seed of every fit; objectives are fitted by alternating steps, densities at their mode.
    pub starts: usize,
    pub max_iterations: usize,
    pub seed: u64,
    /// Folds at a time; 0 takes one per core. Results do not depend on it.
    pub threads: usize,
    /// Lags of the ridge baseline, in seconds.
    pub lags: Vec<f64>,
    /// Select a model inside every fold by the same scheme, and score the selected one.
    pub nested: Option<Metric>,
}

/// What came out.
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluation {
    /// In the order of the folds, tests, sources and models.
    pub rows: Vec<Row>,
    pub folds: usize,
    /// Less than `folds` after an interrupt.
    pub finished: usize,
}

/// Name of the rows that a nested selection adds.
const SELECTED: &str = "(selected)";

/// Evaluates `candidates` on `recording`. When `stop` becomes true, unfinished folds are dropped and finished ones kept.
///
/// # Errors
/// Recordings that cannot be cut. What goes wrong in a fold is kept as a row.
pub fn evaluate(
    candidates: &[Candidate],
    recording: &Recording,
    options: &EvaluationOptions,
    stop: &AtomicBool,
    reporting: Reporting,
) -> Result<Evaluation, EvaluationError> {
    let folds = folds(recording, &options.cut)?;
    if options.nested.is_some() {
        // What cannot be cut again is told before anything is fitted.
        for fold in &folds {
            self::folds(&fold.training, &options.cut)?;
        }
    }
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    let threads = if options.threads == 0 { cores() } else { options.threads }.min(folds.len());
    let watch = Watch::new(reporting, folds.len());
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<Vec<Row>>>> = folds.iter().map(|_| Mutex::new(None)).collect();
    let work = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= folds.len() || stop.load(Ordering::Relaxed) {
                break;
            }
            let rows = run_fold(candidates, &folds[index], options, stop);
            if let (Some(rows), Ok(mut slot)) = (rows, results[index].lock()) {
                *slot = Some(rows);
                watch.finished(&folds[index].name);
            }
        }
    };
    std::thread::scope(|scope| {
        (1..threads).for_each(|_| {
            scope.spawn(work);
        });
        work();
    });
    let finished: Vec<Vec<Row>> = results.into_iter().filter_map(|slot| slot.into_inner().ok().flatten()).collect();
    Ok(Evaluation { folds: folds.len(), finished: finished.len(), rows: finished.into_iter().flatten().collect() })
}

/// All rows of one fold; `None` after an interrupt.
fn run_fold(candidates: &[Candidate], fold: &Fold, options: &EvaluationOptions, stop: &AtomicBool) -> Option<Vec<Row>> {
    let mut rows = score_fold(candidates, fold, options, stop)?;
    let Some(metric) = options.nested else { return Some(rows) };
    let mut inner = Vec::new();
    match folds(&fold.training, &options.cut) {
        Ok(parts) => {
            for part in &parts {
                inner.extend(score_fold(candidates, part, options, stop)?);
            }
        }
        Err(_) => inner.clear(),
    }
    let best = choose(&inner, metric).best;
    let winners: Vec<Row> = rows
        .iter()
        .filter(|r| best.as_ref().map_or(candidates.first().is_some_and(|c| c.name == r.model), |b| *b == r.model))
        .map(|r| Row {
            model: SELECTED.into(),
            selected: Some(best.clone().unwrap_or_default()),
            outcome: match &best {
                Some(_) => r.outcome.clone(),
                None => Err("no model has all of its scores inside the fold".into()),
            },
            skill: r.skill.filter(|_| best.is_some()),
            ..r.clone()
        })
        .collect();
    rows.extend(winners);
    Some(rows)
}

/// Predictions of one test by one model from one source: times x features in units of the training sd, NaN where there
/// is none, or why there are none.
type Predicted = Result<Vec<f64>, String>;

fn score_fold(
    candidates: &[Candidate],
    fold: &Fold,
    options: &EvaluationOptions,
    stop: &AtomicBool,
) -> Option<Vec<Row>> {
    // By candidate, part, test and source.
    let mut predicted: Vec<Vec<Vec<Vec<Predicted>>>> = Vec::with_capacity(candidates.len());
    for candidate in candidates {
        let fitted = fit_fold(candidate, fold, options, stop);
        if stop.load(Ordering::Relaxed) {
            return None;
        }
        predicted.push(fold.parts.iter().map(|part| predict_part(&fitted, part, options.seed)).collect());
    }
    let mut rows = Vec::new();
    for (p, part) in fold.parts.iter().enumerate() {
        let training = part.calibration.as_ref().map_or(fold.training.clone(), |own| joined(&fold.training, own));
        let scales = scales(&training);
        for (t, test) in part.tests.iter().enumerate() {
            let scales: Vec<Option<Scale>> = test
                .features
                .iter()
                .map(|f| {
                    let Target { participant, modality } = &test.target;
                    scales.get(&(participant.clone(), modality.clone(), f.clone())).copied()
                })
                .collect();
            let standard = |values: &[f64]| -> Vec<f64> {
                let width = scales.len();
                let one = |(i, v): (usize, &f64)| scales[i % width].map_or(f64::NAN, |s| (v - s.mean) / s.sd);
                values.iter().enumerate().map(one).collect()
            };
            let truth = standard(&test.values);
            let mut all: Vec<(&str, Vec<Predicted>)> = vec![
                (MEAN, test.from.iter().map(|_| Ok(vec![0.0; truth.len()])).collect()),
                (
                    RIDGE,
                    test.from
                        .iter()
                        .map(|from| Ok(standard(&ridge_prediction(&fold.training, part, test, *from, &options.lags))))
                        .collect(),
                ),
            ];
            for (candidate, by_part) in candidates.iter().zip(&predicted) {
                let sources = by_part[p][t].iter().map(|one| one.as_ref().map(|v| standard(v)).map_err(Clone::clone));
                all.push((&candidate.name, sources.collect()));
            }
            rows.extend(score_test(fold, part, test, truth, &all));
        }
    }
    Some(rows)
}

/// Scores all predictions of a test over the entries that each of them has.
fn score_test(
    fold: &Fold,
    part: &Part,
    test: &Test,
    mut truth: Vec<f64>,
    predictions: &[(&str, Vec<Predicted>)],
) -> Vec<Row> {
    for values in predictions.iter().flat_map(|(_, sources)| sources.iter().flatten()) {
        truth.iter_mut().zip(values).filter(|(_, v)| v.is_nan()).for_each(|(t, _)| *t = f64::NAN);
    }
    let features = test.features.len();
    let nothing = truth.iter().all(|v| v.is_nan());
    let scored = |one: &Predicted| -> Result<Score, String> {
        match one {
            Ok(_) if nothing => Err("no held-out value can be predicted by every model and source".into()),
            Ok(values) => Ok(score(&truth, values, features)),
            Err(error) => Err(error.clone()),
        }
    };
    let mut rows = Vec::new();
    for (s, from) in test.from.iter().enumerate() {
        let by_mean = scored(&predictions[0].1[s]).ok().and_then(|m| m.mse);
        for (model, sources) in predictions {
            let outcome = scored(&sources[s]);
            let skill = match (&outcome, by_mean) {
                (Ok(score), Some(reference)) if reference > 0.0 => score.mse.map(|mse| 1.0 - mse / reference),
                _ => None,
            };
            rows.push(Row {
                model: (*model).to_string(),
                fold: fold.name.clone(),
                part: part.name.clone(),
                participant: test.target.participant.clone(),
                run: test.run.clone(),
                modality: test.target.modality.clone(),
                from: *from,
                outcome,
                skill,
                selected: None,
            });
        }
    }
    rows
}

/// One candidate fitted to the training part of a fold.
fn fit_fold(
    candidate: &Candidate,
    fold: &Fold,
    options: &EvaluationOptions,
    stop: &AtomicBool,
) -> Result<(Plan, Outcome), String> {
    let input = Input::Recording(fold.training.clone());
    let plan = bind(candidate.model.clone(), candidate.source.clone(), input, options.bind.clone());
    let plan = plan.map_err(|e| e.to_string())?;
    let method = if plan.model.is_objective() { Method::Als } else { Method::Map };
    let settings = Settings {
        method,
        seed: options.seed,
        threads: 1,
        starts: options.starts,
        max_iterations: options.max_iterations,
        ..Settings::default()
    };
    let outcome = fit(&plan, &settings, stop, Reporting::Quiet).map_err(|e| e.to_string())?;
    Ok((plan, outcome))
}

/// Predictions of every test of a part, by test and source.
fn predict_part(fitted: &Result<(Plan, Outcome), String>, part: &Part, seed: u64) -> Vec<Vec<Predicted>> {
    let failed = |error: &str| -> Vec<Vec<Predicted>> {
        part.tests.iter().map(|t| t.from.iter().map(|_| Err(error.to_string())).collect()).collect()
    };
    let (plan, outcome) = match fitted {
        Ok(both) => both,
        Err(error) => return failed(error),
    };
    let opened = Fitted::new(plan, outcome, &[]).and_then(|open| match &part.calibration {
        None => Ok(open),
        Some(own) => {
            let found = calibrate(&open, own, Reference::Training, seed)?;
            Fitted::new(plan, outcome, &found.pairs)
        }
    });
    match opened {
        Err(error) => failed(&error.to_string()),
        Ok(open) => {
            // Stretches of one run share one latent.
            let mut rest: Option<(&str, Result<Conditioned<'_>, String>)> = None;
            let mut out = Vec::with_capacity(part.tests.len());
            for test in &part.tests {
                if test.from == [From::Rest] {
                    if rest.as_ref().is_none_or(|(run, _)| *run != test.run) {
                        rest = Some((&test.run, condition_run(&open, part, &test.run)));
                    }
                    let conditioned = rest.as_mut().map(|r| r.1.as_mut().map_err(|e| e.clone()));
                    out.push(conditioned.into_iter().map(|c| from_rest(&open, c?, test)).collect());
                } else {
                    out.push(predict_test(&open, part, test));
                }
            }
            out
        }
    }
}

fn predict_test(fitted: &Fitted<'_>, part: &Part, test: &Test) -> Vec<Predicted> {
    let one = |from: &From| -> Predicted {
        let options = PredictOptions { source: from.source(), query: Query::Native, noise: false };
        let mut hidden = test.hidden.clone();
        hidden.sort();
        let sources = only_run(&part.sources, &test.run);
        let found = predict(fitted, &sources, &hidden, &options).map_err(|e| e.to_string())?;
        let mine = found.predictions.iter().find(|p| p.target == test.target && p.run == test.run);
        let Some(p) = mine else { return Err("there is nothing to predict from".into()) };
        Ok(reordered(&p.mean, &p.features, &test.features))
    };
    test.from.iter().map(one).collect()
}

fn only_run(recording: &Recording, run: &str) -> Recording {
    super::cut::streams(recording, |_, _, r| r == run)
}

fn condition_run<'f>(fitted: &'f Fitted<'f>, part: &Part, run: &str) -> Result<Conditioned<'f>, String> {
    let admitted = fitted.admit(&only_run(&part.sources, run)).map_err(|e| e.to_string())?;
    fitted.condition(&admitted.recording).map_err(|e| e.to_string())
}

/// A stretch, predicted from all that is left of its run.
fn from_rest(fitted: &Fitted<'_>, conditioned: &mut Conditioned<'_>, test: &Test) -> Predicted {
    let Target { participant, modality } = &test.target;
    let features = fitted.features(participant, modality).unwrap_or_default();
    let values = conditioned.predict(participant, modality, &test.run, &test.times, false);
    Ok(reordered(&values.map_err(|e| e.to_string())?.mean, &features, &test.features))
}

/// Columns in another order; a feature that was not predicted is missing.
fn reordered(values: &[f64], from: &[String], to: &[String]) -> Vec<f64> {
    let columns: Vec<Option<usize>> = to.iter().map(|name| from.iter().position(|f| f == name)).collect();
    let rows = values.chunks_exact(from.len().max(1));
    rows.flat_map(|row| columns.iter().map(|c| c.map_or(f64::NAN, |c| row[c])).collect::<Vec<_>>()).collect()
}
