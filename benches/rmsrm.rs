//! Seconds of preparation and per iteration of R-MSRM, by number of features, and whole fits of a film recording.
//!
//! `cargo bench --bench rmsrm` prints JSON, one row a line. Rows by features: 5 participants, 250 rows of the wide stream, a
//! rating and a physiology stream with learned Gaussian width and lag, 3 factors; each row runs in a process of its own, so that
//! its peak memory is its own. Rows of the recording: 100 features at 1.8 s, 4 at 1.2 s, 2 at 1.5 s, one entry in a hundred
//! missing, learned responses, 60 iterations; the reference package takes 6.4 s for 120 s and 14.8 s for 480 s of film.

use std::process::Command;
use std::time::Instant;

use msrm::data::{Recording, Stream};
use msrm::math::rng::{Purpose, stream};
use msrm::response::{Response, build};
use msrm::terms::gridded::{LearnedResponse, Options, Problem, ResponsePooling, SolveOptions, Start, solve};
use rand::Rng;
use rand_distr::{Distribution, StandardNormal};
use serde_json::json;

const FACTORS: usize = 3;
const PARTICIPANTS: usize = 5;
const ITERATIONS: usize = 60;

/// A stream of the simulation: name, seconds between rows, features, seconds behind the latent, noise.
type Kind = (&'static str, f64, usize, f64, f64);

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [row, value] = &arguments[..] {
        let value: f64 = value.parse().expect("a number");
        match row.as_str() {
            "--features" => features(value as usize),
            _ => recording(value),
        }
        return;
    }
    let own = std::env::current_exe().expect("the path of this program");
    let mut rows: Vec<[String; 2]> = [100, 1_000, 3_600, 20_000].map(|n| ["--features".into(), n.to_string()]).to_vec();
    rows.extend([120, 480].map(|d| ["--recording".into(), d.to_string()]));
    for row in rows {
        let made = Command::new(&own).args(&row).output().expect("this program runs");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        print!("{}", String::from_utf8_lossy(&made.stdout));
    }
}

fn features(n: usize) {
    let kinds = [("brain", 1.8, n, 0.0, 0.8), ("rating", 1.8, 4, 0.7, 0.4), ("physio", 1.8, 2, 0.4, 0.5)];
    let data = simulate(249.5 * 1.8, &kinds, 0.0);
    let (problem, prepared) = timed(|| prepare(&data));
    let short = seconds(&problem, 10);
    let (whole, fit) = (seconds(&problem, ITERATIONS), solve(&problem, &options(ITERATIONS), None).expect("a fit"));
    let iteration = (whole - short) / (fit.iterations as f64 - 10.0);
    for (row, value, unit) in [
        ("problem", prepared, "s"),
        ("iteration", iteration, "s"),
        ("preparation and 60 iterations", prepared + whole, "s"),
        ("peak memory", peak_memory(), "MiB"),
    ] {
        println!(
            "{}",
            json!({ "bench": "rmsrm", "row": format!("{n} features: {row}"), "value": value, "unit": unit })
        );
    }
}

fn recording(duration: f64) {
    let kinds = [("brain", 1.8, 100, 0.0, 0.8), ("rating", 1.2, 4, 0.7, 0.4), ("physio", 1.5, 2, 0.4, 0.5)];
    let data = simulate(duration, &kinds, 0.01);
    let peer = if duration < 300.0 { 6.4 } else { 14.8 };
    let (problem, prepared) = timed(|| prepare(&data));
    let whole = prepared + seconds(&problem, ITERATIONS);
    println!(
        "{}",
        json!({
            "bench": "rmsrm", "row": format!("recording of {duration} s: preparation and 60 iterations"), "value": whole,
            "unit": "s", "peer": "multimodalsrm 0.2.0", "ratio": peer / whole,
        })
    );
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let begin = Instant::now();
    let made = work();
    (made, begin.elapsed().as_secs_f64())
}

fn options(max_iterations: usize) -> SolveOptions {
    SolveOptions { start: Start::Random, max_iterations, tolerance: 0.0, ..SolveOptions::default() }
}

/// The middle of three whole fits.
fn seconds(problem: &Problem, iterations: usize) -> f64 {
    let mut all: Vec<f64> =
        (0..3).map(|_| timed(|| solve(problem, &options(iterations), None).expect("a fit")).1).collect();
    all.sort_by(f64::total_cmp);
    all[1]
}

/// The brain shows the latent itself; the lag of the rating and lag and width of the physiology are learned.
fn prepare(data: &Recording) -> Problem {
    let gaussian = |width: f64, lag: f64| build("gaussian", &[("width", width), ("lag", lag)]).expect("a curve");
    let learned = |initial, bounds: [Option<(f64, f64)>; 2]| LearnedResponse {
        initial,
        bounds: bounds.to_vec(),
        pooling: ResponsePooling::Shared,
        penalties: Vec::new(),
    };
    let responses = [
        LearnedResponse::fixed(Response::Identity),
        learned(gaussian(1.0, 0.5), [None, Some((-1.0, 2.0))]),
        learned(gaussian(0.7, 0.3), [Some((0.4, 1.0)), Some((-1.0, 1.5))]),
    ];
    Problem::with_learned(data, &Options::new(FACTORS, 0.5), &responses).expect("a problem")
}

/// Three smooth factors, seen by every participant through loadings of their own.
fn simulate(duration: f64, kinds: &[Kind], missing: f64) -> Recording {
    let mut rng = stream(7, 0, Purpose::Prediction);
    let uniform = |rng: &mut dyn Rng| rng.next_u64() as f64 / u64::MAX as f64;
    let waves: Vec<(f64, f64, f64)> = (0..FACTORS * 6)
        .map(|_| {
            let amplitude: f64 = StandardNormal.sample(&mut rng);
            (0.1 + 0.8 * uniform(&mut rng), std::f64::consts::TAU * uniform(&mut rng), amplitude / 1.8)
        })
        .collect();
    let latent = |t: f64, k: usize| -> f64 {
        waves[k * 6..(k + 1) * 6].iter().map(|(rate, phase, size)| size * (t * rate + phase).sin()).sum()
    };
    let mut streams = Vec::new();
    for participant in 0..PARTICIPANTS {
        for (modality, &(_, step, features, lag, sd)) in kinds.iter().enumerate() {
            let mut draw = |n: usize, sd: f64| -> Vec<f64> {
                (0..n).map(|_| StandardNormal.sample(&mut rng)).map(|v: f64| sd * v).collect()
            };
            let (w, b) = (draw(features * FACTORS, 0.6), draw(features, 0.2));
            let times: Vec<f64> = (0..).map(|i| step * f64::from(i)).take_while(|t| *t <= duration + 1e-9).collect();
            let mut values = draw(times.len() * features, sd);
            for (&t, row) in times.iter().zip(values.chunks_exact_mut(features)) {
                let z: Vec<f64> = (0..FACTORS).map(|k| latent(t - lag, k)).collect();
                for ((v, b), w) in row.iter_mut().zip(&b).zip(w.chunks_exact(FACTORS)) {
                    *v += b + w.iter().zip(&z).map(|(w, z)| w * z).sum::<f64>();
                }
            }
            let inner = features..values.len() - features;
            for v in &mut values[inner] {
                if uniform(&mut rng) < missing {
                    *v = f64::NAN;
                }
            }
            let features = (0..features).map(|f| f.to_string()).collect();
            streams.push(Stream { participant, run: 0, modality, features, times, values });
        }
    }
    Recording {
        participants: (1..=PARTICIPANTS).map(|p| format!("p{p}")).collect(),
        runs: vec!["r1".into()],
        modalities: kinds.iter().map(|k| k.0.to_owned()).collect(),
        streams,
    }
}

/// Largest resident memory of this process so far in MiB; NaN where the system does not say.
fn peak_memory() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    line.and_then(|l| l.trim().trim_end_matches("kB").trim().parse::<f64>().ok()).map_or(f64::NAN, |kib| kib / 1024.0)
}
