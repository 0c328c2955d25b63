//! The line search on one-dimensional functions: Wolfe conditions from steps far too short and far too long.

use super::super::LineSearchFacts;
use super::super::line_search::{Halt, Search, search};
use crate::graph::Rejection;

type Function = fn(f64) -> (f64, f64);

/// Functions of t > 0 that fall at 0, with their derivatives.
const FUNCTIONS: [(&str, Function); 3] = [
    ("rational", |t| (-t / (t * t + 2.0), (t * t - 2.0) / (t * t + 2.0).powi(2))),
    ("quadratic", |t| ((t - 1.0).powi(2), 2.0 * (t - 1.0))),
    ("wavy", |t| {
        ((t - 3.0).powi(2) + 2.0 * (4.0 * t).sin() - 10.0 * t, 2.0 * (t - 3.0) + 8.0 * (4.0 * t).cos() - 10.0)
    }),
];

fn step_of(found: Search) -> (f64, LineSearchFacts) {
    match found {
        Search::Accepted { step, facts } => (step, facts),
        other => panic!("{other:?}"),
    }
}

#[test]
fn accepted_steps_meet_the_strong_wolfe_conditions() {
    for (name, function) in FUNCTIONS {
        let (value, slope) = function(0.0);
        for first in [1e-3, 1e-1, 1.0, 1e1, 1e3] {
            let (t, facts) = step_of(search(|t| Ok(function(t)), value, slope, first, 1e10));
            let (f, g) = function(t);
            assert!(f <= value + 1e-3 * t * slope, "{name} from {first}: t = {t}");
            assert!(g.abs() <= 0.9 * slope.abs(), "{name} from {first}: t = {t}, slope {g}");
            assert!(facts.trials <= 14, "{name} from {first}: {} trials", facts.trials);
        }
    }
}

#[test]
fn a_short_interval_around_the_minimum_is_enough() {
    // (t + b)^5 - 2 (t + b)^4 starts so flat that the curvature condition would ask for a slope of 5e-7.
    let function = |t: f64| {
        let u: f64 = t + 0.004;
        (u.powi(5) - 2.0 * u.powi(4), 5.0 * u.powi(4) - 8.0 * u.powi(3))
    };
    let (value, slope) = function(0.0);
    for first in [1e-3, 1e-1, 1.0, 1e1, 1e3] {
        let (t, facts) = step_of(search(|t| Ok(function(t)), value, slope, first, 1e10));
        assert!((t - 1.596).abs() < 0.16, "from {first}: t = {t}");
        assert!(facts.trials <= 14);
    }
}

#[test]
fn the_longest_step_is_taken_when_the_function_falls_all_the_way() {
    let (t, _) = step_of(search(|t| Ok((-t, -1.0)), 0.0, -1.0, 0.1, 7.0));
    assert_eq!(t, 7.0);
}

#[test]
fn a_wall_is_not_crossed_twice() {
    // A minimum at 2 behind a wall at 1.3.
    let mut beyond = Vec::new();
    let evaluate = |t: f64| {
        if t > 1.3 {
            beyond.push(t);
            return Err(Halt::Rejected(Rejection::NotFinite { value: f64::NAN }));
        }
        Ok(((t - 2.0).powi(2), 2.0 * (t - 2.0)))
    };
    let (t, facts) = step_of(search(evaluate, 4.0, -4.0, 50.0, 1e10));
    assert!(t <= 1.3 && (t - 2.0).powi(2) < 4.0);
    assert_eq!(facts.rejections, beyond.len());
    assert!(beyond.windows(2).all(|pair| pair[1] < pair[0]), "{beyond:?}");
}

#[test]
fn a_rising_function_fails_with_its_facts() {
    let Search::Failed(facts) = search(|t| Ok((1.0 + t, 1.0)), 1.0, -1.0, 1.0, 1e10) else {
        panic!("nothing is acceptable");
    };
    assert_eq!((facts.value, facts.slope, facts.rejections), (1.0, -1.0, 0));
    assert_eq!(facts.trials, 20);
}
