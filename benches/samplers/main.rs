//! Effective draws per gradient and per second of every sampler on the benchmark targets, beside nuts-rs.
//!
//! `cargo bench --bench samplers [-- TARGET [SAMPLER]]`; the last lines are JSON, one a row: medians over three seeds of
//! 4 chains with 1000 warm-up transitions and 1000 draws from starts uniform on (-2, 2), R-hat and divergences the
//! worst. msrm goes the whole way from its model file; nuts-rs gets a gradient written by hand.

mod ours;
mod peer;
mod score;
mod targets;

use score::Score;
use serde_json::json;

const CHAINS: u64 = 4;
const WARMUP: usize = 1000;
const DRAWS: usize = 1000;
const SEEDS: [u64; 3] = [42, 123, 777];

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let named = |position: usize, name: &str| wanted.get(position).is_none_or(|w| w == "all" || w == name);
    let mut lines = Vec::new();
    for target in targets::all() {
        if !named(0, target.name) {
            continue;
        }
        agree(&target);
        let mut row = |sampler: &str, run: &dyn Fn(u64) -> score::Run| {
            if named(1, sampler) {
                let scores: Vec<Score> = SEEDS.iter().map(|&seed| Score::of(&run(seed))).collect();
                let line = report(target.name, sampler, &scores);
                eprintln!("{line}");
                lines.push(line);
            }
        };
        for (name, sampler) in ours::SAMPLERS {
            row(name, &|seed| ours::run(&target, sampler, seed));
        }
        row("nuts_rs", &|seed| peer::run(&target, false, seed));
        // Its low-rank adaptation takes minutes in 1000 dimensions.
        if target.name != "std_normal_1000d" {
            row("nuts_rs_low_rank", &|seed| peer::run(&target, true, seed));
        }
    }
    for line in lines {
        println!("{line}");
    }
}

/// The density written by hand must be that of the model file, up to a constant.
fn agree(target: &targets::Target) {
    use msrm::graph::LogDensity;
    let (ours, by_hand) = (ours::density(target), targets::Density::of(target));
    let mut evaluator = ours.evaluator();
    let (mut a, mut b) = (vec![0.0; ours.dim()], vec![0.0; by_hand.dim()]);
    for x in ours::starts(ours.dim(), 1) {
        evaluator.log_density_gradient(&x, &mut a).expect("a finite density");
        by_hand.log_density_gradient(&x, &mut b);
        let close = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-8 * (1.0 + b.abs());
        assert!(a.iter().zip(&b).all(close), "{}: {a:?} {b:?}", target.name);
    }
}

fn report(target: &str, sampler: &str, scores: &[Score]) -> serde_json::Value {
    let median = |f: &dyn Fn(&Score) -> f64| {
        let mut values: Vec<f64> = scores.iter().map(f).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    let most = |f: &dyn Fn(&Score) -> f64| scores.iter().map(f).fold(0.0, f64::max);
    let round = |x: f64| if x == 0.0 { 0.0 } else { format!("{x:.3e}").parse::<f64>().unwrap_or(x) };
    json!({
        "bench": "samplers",
        "row": format!("{target}, {sampler}"),
        "ess_per_gradient": round(median(&|s| s.ess() / s.gradients)),
        "ess_per_total_gradient": round(median(&|s| s.ess() / (s.gradients + s.warmup_gradients))),
        "ess_per_second": round(median(&|s| s.ess() / s.seconds)),
        "bulk_ess": round(median(&|s| s.bulk)),
        "tail_ess": round(median(&|s| s.tail)),
        "r_hat": (most(&|s| s.r_hat) * 1e4).round() / 1e4,
        "gradients": round(median(&|s| s.gradients)),
        "warmup_gradients": round(median(&|s| s.warmup_gradients)),
        "seconds": round(median(&|s| s.seconds)),
        "divergences": most(&|s| s.divergences),
    })
}
