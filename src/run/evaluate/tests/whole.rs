//! Whole evaluations: scores by hand, threads, interrupts, failures, selection.

use super::super::{
    Candidate, Evaluation, EvaluationOptions, MEAN, Metric, RIDGE, Row, Scheme, choose, evaluate, folds, summarise,
};
use super::{options, recording};
use crate::archive::{Method, Settings};
use crate::base::Source as Text;
use crate::bind::{BindOptions, Input, bind};
use crate::data::Recording;
use crate::diagnose::score;
use crate::model::check_text;
use crate::run::query::{Fitted, PredictOptions, Query, predict};
use crate::run::{Reporting, fit};
use std::sync::atomic::AtomicBool;

fn candidate(name: &str, factors: usize, roughness: f64) -> Candidate {
    let text = format!(
        "model {name}\nrecording x standardized\nfactors K = {factors}\nlatent z on grid(1.0)\nloading w\n\
         minimize balanced_squares(x, response(z) * w)\n\
         + 1e-3 * ridge(w) + 1e-4 * ridge(z) + {roughness} * roughness(z)\n"
    );
    let source = Text::new(name, text);
    let model = check_text(&source).expect("a correct model");
    Candidate { name: name.into(), model, source }
}

fn settings(scheme: Scheme, threads: usize) -> EvaluationOptions {
    EvaluationOptions {
        cut: options(scheme),
        bind: BindOptions::default(),
        starts: 2,
        max_iterations: 300,
        seed: 3,
        threads,
        lags: vec![-1.0, 0.0, 1.0],
        nested: None,
    }
}

fn run(candidates: &[Candidate], all: &Recording, options: &EvaluationOptions) -> Evaluation {
    evaluate(candidates, all, options, &AtomicBool::new(false), Reporting::Quiet).expect("an evaluation")
}

fn named<'r>(rows: &'r [Row], model: &str) -> Vec<&'r Row> {
    rows.iter().filter(|r| r.model == model).collect()
}

#[test]
fn a_model_that_is_right_beats_the_mean_in_every_scheme() {
    let all = recording(&["one", "two"]);
    for scheme in [Scheme::Runs, Scheme::Participants, Scheme::Gaps] {
        let found = run(&[candidate("m", 1, 1e-2)], &all, &settings(scheme, 1));
        assert_eq!((found.finished, found.folds), (found.folds, found.folds));
        for s in summarise(&found.rows) {
            assert_eq!(s.failed, 0, "{s:?}");
            let mse = s.mse.expect("an error");
            match s.model.as_str() {
                // In units of the training variance; held-out means differ a little from training means.
                MEAN => assert!(mse > 0.5 && s.correlation.is_none() && s.skill == Some(0.0), "{s:?}"),
                RIDGE => assert!(s.skill.expect("a skill") > 0.5, "{scheme:?} {s:?}"),
                _ => assert!(s.skill.expect("a skill") > 0.5 && s.correlation.expect("r") > 0.8, "{scheme:?} {s:?}"),
            }
        }
    }
}

#[test]
fn scores_are_those_of_a_fit_and_a_prediction_by_hand() {
    let all = recording(&["one", "two"]);
    let m = candidate("m", 1, 1e-2);
    let options = settings(Scheme::Runs, 1);
    let found = run(std::slice::from_ref(&m), &all, &options);
    let mut checked = 0;
    for fold in folds(&all, &options.cut).expect("folds") {
        let input = Input::Recording(fold.training.clone());
        let plan = bind(m.model.clone(), m.source.clone(), input, BindOptions::default()).expect("a plan");
        let by_hand = Settings {
            method: Method::Als,
            seed: 3,
            threads: 1,
            starts: 2,
            max_iterations: 300,
            ..Settings::default()
        };
        let outcome = fit(&plan, &by_hand, &AtomicBool::new(false), Reporting::Quiet).expect("a fit");
        let open = Fitted::new(&plan, &outcome, &[]).expect("an open fit");
        for test in &fold.parts[0].tests {
            // The training mean and sd of the one feature, the slow way.
            let who = |s: &&crate::data::Stream| {
                fold.training.participants[s.participant] == test.target.participant
                    && fold.training.modalities[s.modality] == "rating"
            };
            let values: Vec<f64> = fold.training.streams.iter().filter(who).flat_map(|s| s.values.clone()).collect();
            let seen: Vec<f64> = values.into_iter().filter(|v| !v.is_nan()).collect();
            let mean = seen.iter().sum::<f64>() / seen.len() as f64;
            let sd = (seen.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / seen.len() as f64).sqrt();
            let predictions: Vec<Vec<f64>> = test
                .from
                .iter()
                .map(|from| {
                    let o = PredictOptions { source: from.source(), query: Query::Native, noise: false };
                    let target = std::slice::from_ref(&test.target);
                    predict(&open, &fold.parts[0].sources, target, &o).expect("a prediction").predictions.remove(0).mean
                })
                .collect();
            let mut truth: Vec<f64> = test.values.iter().map(|v| (v - mean) / sd).collect();
            for (i, v) in truth.iter_mut().enumerate() {
                if predictions.iter().any(|p| p[i].is_nan()) {
                    *v = f64::NAN;
                }
            }
            for (from, p) in test.from.iter().zip(&predictions) {
                let standard: Vec<f64> = p.iter().map(|v| (v - mean) / sd).collect();
                let wanted = score(&truth, &standard, 1);
                let row = found.rows.iter().find(|r| {
                    r.model == "m" && r.fold == fold.name && r.participant == test.target.participant && r.from == *from
                });
                let row = row.expect("a row").outcome.as_ref().expect("a score");
                assert_eq!((row.observations, row.times), (wanted.observations, wanted.times));
                for (a, b) in [(row.correlation, wanted.correlation), (row.r2, wanted.r2), (row.mse, wanted.mse)] {
                    assert!((a.expect("a") - b.expect("b")).abs() < 1e-9);
                }
                checked += 1;
            }
        }
    }
    assert_eq!(checked, 2 * 4 * 3);
}

#[test]
fn threads_change_nothing() {
    let all = recording(&["one", "two", "three"]);
    let candidates = [candidate("a", 1, 1e-2), candidate("b", 2, 1e-2)];
    let one = run(&candidates, &all, &settings(Scheme::Runs, 1));
    let three = run(&candidates, &all, &settings(Scheme::Runs, 3));
    assert_eq!(format!("{one:?}"), format!("{three:?}"));
}

#[test]
fn an_interrupt_keeps_finished_folds_alone() {
    let all = recording(&["one", "two"]);
    let stopped = AtomicBool::new(true);
    let options = settings(Scheme::Gaps, 1);
    let found = evaluate(&[candidate("m", 1, 1e-2)], &all, &options, &stopped, Reporting::Quiet).expect("nothing");
    assert_eq!((found.finished, found.folds, found.rows.len()), (0, 4, 0));
}

#[test]
fn a_model_that_cannot_be_fitted_stays_as_rows_and_is_not_chosen() {
    let all = recording(&["one", "two"]);
    // Twelve features in all cannot carry thirteen factors.
    let candidates = [candidate("a_fails", 13, 1e-2), candidate("works", 1, 1e-2)];
    let found = run(&candidates, &all, &settings(Scheme::Runs, 1));
    let failed = named(&found.rows, "a_fails");
    assert_eq!(failed.len(), named(&found.rows, "works").len());
    for row in failed {
        let error = row.outcome.as_ref().expect_err("a failure");
        assert!(error.contains("13 factors"), "{error}");
    }
    // The failure takes nothing from the others.
    let alone = run(&candidates[1..], &all, &settings(Scheme::Runs, 1));
    assert_eq!(format!("{:?}", named(&found.rows, "works")), format!("{:?}", named(&alone.rows, "works")));
    let choice = choose(&found.rows, Metric::R2);
    assert_eq!(choice.best.as_deref(), Some("works"));
    assert!(choice.models[0].1.as_ref().expect_err("a reason").contains("it failed at one ada/rating"));
}

#[test]
fn nested_selection_scores_the_model_that_the_inner_folds_prefer() {
    let all = recording(&["one", "two", "three"]);
    // Far too smooth a latent is worse in every fold.
    let candidates = [candidate("smooth", 1, 1e4), candidate("good", 1, 1e-2)];
    let options = EvaluationOptions { nested: Some(Metric::Mse), ..settings(Scheme::Runs, 2) };
    let found = run(&candidates, &all, &options);
    let selected = named(&found.rows, "(selected)");
    let good = named(&found.rows, "good");
    assert_eq!(selected.len(), good.len());
    for (s, g) in selected.iter().zip(good) {
        assert_eq!(s.selected.as_deref(), Some("good"));
        assert_eq!((&s.outcome, s.skill, &s.fold, s.from), (&g.outcome, g.skill, &g.fold, g.from));
    }
    // Two runs leave one to select on.
    let two = recording(&["one", "two"]);
    let refused = evaluate(&candidates, &two, &options, &AtomicBool::new(false), Reporting::Quiet);
    assert!(refused.expect_err("too few").to_string().contains("at least 2 runs"));
}
