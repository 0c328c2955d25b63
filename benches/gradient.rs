//! Time per gradient of the bundled models: the tape beside the burn graph on the CPU and, for two of them, beside a
//! gradient written by hand; medians of blocks.
//!
//! `cargo bench --bench gradient`; the last lines are JSON, one a row.

mod hand;

use msrm::base::Source;
use msrm::bind::{BindOptions, Input, bind};
use msrm::data::{Options, load, load_arrays};
use msrm::graph::{BurnDensity, Coordinates, Device, LogDensity, Physical, Unconstrained, lower};
use msrm::model::check_text;
use serde_json::json;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Blocks per row; the median block counts.
const BLOCKS: usize = 15;
/// Shortest block.
const BLOCK: Duration = Duration::from_millis(20);

fn main() {
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("models");
    let mut lines = Vec::new();
    for (name, data) in [
        ("std_normal", "std_normal.json"),
        ("eight_schools", "eight_schools.json"),
        ("glm_logistic", "glm_logistic.json"),
        ("varying_intercepts", "varying_intercepts.json"),
        ("item_response", "item_response.json"),
        ("stochastic_volatility", "stochastic_volatility.json"),
        ("gp_regression", "gp_regression.json"),
        ("gp_msrm", "recording.csv"),
    ] {
        let text = std::fs::read_to_string(models.join(format!("{name}.msrm"))).expect("a bundled model");
        let source = Source::new(name, text);
        let model = check_text(&source).expect("a correct model");
        let path = models.join("data").join(data);
        let input = if model.shared.is_some() {
            Input::Recording(load(&path, &Options::default()).expect("a recording").recording)
        } else {
            Input::Arrays(load_arrays(&path).expect("arrays").0)
        };
        let plan = bind(model, source, input, BindOptions::default()).expect("bundled data fit");
        let program = Arc::new(lower(&plan).expect("a program").with_jacobian());
        let coordinates = Coordinates::new(&plan);
        let tape =
            Unconstrained { physical: Physical { program: Arc::clone(&program) }, coordinates: coordinates.clone() };
        let burn = Unconstrained { physical: BurnDensity::new(program, Device::NdArray), coordinates };
        if let Some(mut by_hand) = hand::by_hand(name, &plan) {
            agree(&tape, &mut by_hand);
            let seconds = seconds_per_gradient(&tape);
            let hand = timed(plan.dim(), |x, gradient| {
                by_hand(x, gradient);
            });
            lines.push(json!({
                "bench": "gradient", "row": format!("{name}, {} coordinates, tape", plan.dim()), "value": seconds * 1e6,
                "unit": "us", "peer": "by hand", "ratio": hand / seconds,
            }));
        }
        let (tape, burn) = (seconds_per_gradient(&tape), seconds_per_gradient(&burn));
        lines.push(json!({
            "bench": "gradient", "row": format!("{name}, {} coordinates, tape", plan.dim()), "value": tape * 1e6,
            "unit": "us", "peer": "burn graph, ndarray", "ratio": burn / tape,
        }));
    }
    for line in lines {
        println!("{line}");
    }
}

fn seconds_per_gradient(density: &dyn LogDensity) -> f64 {
    let mut evaluator = density.evaluator();
    timed(density.dim(), |x, gradient| {
        evaluator.log_density_gradient(x, gradient).expect("a finite density");
    })
}

/// A gradient by hand is worth comparing only where it is the same.
fn agree(density: &dyn LogDensity, by_hand: &mut hand::ByHand) {
    let n = density.dim();
    let x: Vec<f64> = (0..n).map(|i| 0.7 * (i as f64).sin()).collect();
    let (mut a, mut b) = (vec![0.0; n], vec![0.0; n]);
    let value = density.evaluator().log_density_gradient(&x, &mut a).expect("a finite density");
    let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a.abs().max(1.0);
    assert!(close(value, by_hand(&x, &mut b)), "the value by hand differs");
    assert!(a.iter().zip(&b).all(|(&a, &b)| close(a, b)), "the gradient by hand differs: {a:?} {b:?}");
}

fn timed(n: usize, mut one: impl FnMut(&[f64], &mut [f64])) -> f64 {
    let x = vec![0.1; n];
    let mut gradient = vec![0.0; n];
    let mut blocks: Vec<f64> = (0..BLOCKS)
        .map(|_| {
            let begin = Instant::now();
            let mut calls = 0u32;
            while begin.elapsed() < BLOCK {
                one(&x, &mut gradient);
                calls += 1;
            }
            begin.elapsed().as_secs_f64() / f64::from(calls)
        })
        .collect();
    blocks.sort_by(f64::total_cmp);
    blocks[BLOCKS / 2]
}
