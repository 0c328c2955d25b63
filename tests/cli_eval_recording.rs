//! `msrm eval` on the two flagship models and the bundled recording, against slow obvious versions written out here.

mod common {
    pub mod evaluation;
    pub mod program;
}

use common::evaluation::{Evaluator, Point, Support, check_gradients, close};
use common::program::data;
use serde_json::json;
use std::f64::consts::PI;

/// Rounding of sums over the recording, and of a dense factorisation of a few hundred rows.
const ROUNDING: f64 = 1e-10;
/// Error of five-point differences of values printed in full.
const DIFFERENCES: f64 = 1e-7;

/// One observed entry, standardised, and where it belongs.
struct Entry {
    run: usize,
    /// Index of (participant, modality).
    pair: usize,
    /// Index of (participant, modality, feature).
    key: usize,
    time: f64,
    value: f64,
}

/// The recording as the models see it.
struct Recording {
    entries: Vec<Entry>,
    runs: usize,
    pairs: Vec<(String, String)>,
    keys: usize,
}

/// The place of `item` in `list`, where it is put if it is new.
fn place<T: PartialEq>(list: &mut Vec<T>, item: T) -> usize {
    list.iter().position(|i| *i == item).unwrap_or_else(|| {
        list.push(item);
        list.len() - 1
    })
}

/// Reads the bundled recording. It lists every participant's streams in the order of the loadings.
fn recording() -> Recording {
    let mut reader = csv::Reader::from_path(data("r_msrm")).expect("the recording");
    let rows: Vec<Vec<String>> =
        reader.records().map(|r| r.expect("a row").iter().map(str::to_string).collect()).collect();
    let (mut runs, mut pairs, mut keys, mut entries) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for row in &rows {
        let [participant, run, modality, feature] = [0, 1, 2, 3].map(|i| row[i].clone());
        let run = place(&mut runs, run);
        let pair = place(&mut pairs, (participant, modality));
        let key = place(&mut keys, (pair, feature));
        if let Ok(value) = row[5].parse() {
            entries.push(Entry { run, pair, key, time: row[4].parse().expect("a time"), value });
        }
    }
    assert_eq!((rows.len(), entries.len()), (1396, 1370), "rows and observed entries");
    for key in 0..keys.len() {
        let values: Vec<f64> = entries.iter().filter(|e| e.key == key).map(|e| e.value).collect();
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let sd = (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n).sqrt();
        entries.iter_mut().filter(|e| e.key == key).for_each(|e| e.value = (e.value - mean) / sd);
    }
    Recording { entries, runs: runs.len(), pairs, keys: keys.len() }
}

/// A number between -1 and 1 that differs from index to index.
fn wiggle(index: usize) -> f64 {
    (1.7 * index as f64 + 0.3).sin()
}

fn normal(x: f64, mean: f64, sd: f64) -> f64 {
    -0.5 * ((x - mean) / sd).powi(2) - sd.ln() - 0.5 * (2.0 * PI).ln()
}

fn lognormal(x: f64, mean: f64, sd: f64) -> f64 {
    normal(x.ln(), mean, sd) - x.ln()
}

/// Probability that a standard normal lies below `x`, by the trapezoid rule from far below.
fn standard_normal_below(x: f64) -> f64 {
    let (from, steps) = (-12.0, 200_000);
    let h = (x - from) / f64::from(steps);
    let density = |i: i32| normal(from + h * f64::from(i), 0.0, 1.0).exp();
    h * ((1..steps).map(density).sum::<f64>() + 0.5 * (density(0) + density(steps)))
}

/// log density of N(0, C) at `r`; `c` row-major, by Gaussian elimination without pivoting, which a covariance permits.
fn dense_normal(mut c: Vec<f64>, mut r: Vec<f64>) -> f64 {
    let n = r.len();
    let mut value = -0.5 * n as f64 * (2.0 * PI).ln();
    for j in 0..n {
        let pivot = c[j * n + j];
        assert!(pivot > 0.0, "pivot {j} of {n} is {pivot}");
        value -= 0.5 * (pivot.ln() + r[j] * r[j] / pivot);
        let row = c[j * n..(j + 1) * n].to_vec();
        for i in j + 1..n {
            let factor = c[i * n + j] / pivot;
            r[i] -= factor * r[j];
            for (a, b) in c[i * n + j..(i + 1) * n].iter_mut().zip(&row[j..]) {
                *a -= factor * b;
            }
        }
    }
    value
}

/// Loadings, offsets, noise variances and the length scale of a test point.
fn gp_point(recording: &Recording) -> (Vec<f64>, Vec<f64>, Vec<f64>, f64) {
    // The first loading in the order of names (ada, physio) is the anchor and positive.
    let mut w: Vec<f64> = (0..recording.keys).map(|i| 0.8 + 0.7 * wiggle(i)).collect();
    w[4] = -0.6;
    let b = (0..recording.keys).map(|i| 0.2 * wiggle(i + 20)).collect();
    let v = (0..recording.pairs.len()).map(|i| 0.6 + 0.3 * wiggle(i + 40)).collect();
    (w, b, v, 3.25)
}

#[test]
fn the_gaussian_process_is_the_dense_normal_density() {
    let recording = recording();
    let (w, b, v, ell) = gp_point(&recording);
    let rate = 3f64.sqrt() / ell;
    let mut likelihood = 0.0;
    for run in 0..recording.runs {
        let entries: Vec<&Entry> = recording.entries.iter().filter(|e| e.run == run).collect();
        let n = entries.len();
        let mut c = vec![0.0; n * n];
        for (i, a) in entries.iter().enumerate() {
            for (j, other) in entries.iter().enumerate() {
                let d = rate * (a.time - other.time).abs();
                c[i * n + j] = w[a.key] * w[other.key] * (1.0 + d) * (-d).exp();
            }
            c[i * n + i] += v[a.pair];
        }
        likelihood += dense_normal(c, entries.iter().map(|e| e.value - b[e.key]).collect());
    }
    let inside = |x: f64| standard_normal_below((x.ln() - 1.1) / 0.5);
    let expected = [
        ("ell ~ lognormal", lognormal(ell, 1.1, 0.5)),
        ("ell ~ lognormal, renormalised", -(inside(20.0) - inside(0.5)).ln()),
        ("w ~ normal", w.iter().map(|w| normal(*w, 0.0, 1.0)).sum()),
        ("w ~ normal, anchor, renormalised", 2f64.ln()),
        ("b ~ normal", b.iter().map(|b| normal(*b, 0.0, 1.0)).sum()),
        ("v ~ lognormal", v.iter().map(|v| lognormal(*v, -2.0, 0.7)).sum()),
        ("x ~ normal", likelihood),
    ];
    let point = json!({ "ell": ell, "w": w, "b": b, "v": v }).as_object().expect("a point").clone();
    let found = Evaluator::new("gp_msrm").at(&point);
    assert_eq!(found.kind(), "log_density");
    let terms = found.list("terms");
    assert_eq!(terms.len(), expected.len());
    for ((name, term), (label, value)) in terms.iter().zip(expected) {
        assert_eq!(name, label);
        close(*term, value, ROUNDING, name);
    }
    close(found.value(), terms.iter().map(|t| t.1).sum(), 1e-12, "the sum of the terms");
}

#[test]
fn the_gradient_of_the_gaussian_process_is_its_slope() {
    let recording = recording();
    let (w, b, v, ell) = gp_point(&recording);
    let point = json!({ "ell": ell, "w": w, "b": b, "v": v }).as_object().expect("a point").clone();
    let evaluator = Evaluator::new("gp_msrm");
    let anchor = "w[ada,physio,heart_rate,1]";
    let labels: Vec<String> = evaluator.at(&point).list("gradient").into_iter().map(|g| g.0).collect();
    let at = labels.iter().position(|l| l == anchor).expect("the anchor") - 1;
    // The anchor's loading has a bound of its own, so that it is named by itself.
    let mut single: Point = point.clone();
    single.remove("w");
    for (label, w) in labels[1..].iter().zip(&w) {
        single.insert(label.clone(), json!(w));
    }
    let mut names: Vec<(&str, Support)> = vec![("ell", Support { lower: 0.5, upper: 20.0 })];
    names.extend(
        labels[1..13]
            .iter()
            .enumerate()
            .map(|(i, label)| (label.as_str(), if i == at { Support::POSITIVE } else { Support::REAL })),
    );
    names.extend([("b", Support::REAL), ("v", Support::POSITIVE)]);
    check_gradients(&evaluator, &single, &names, DIFFERENCES);
}

/// Weight of each time of a stream, summing to one: half of each interval beside it, within stretches without a gap. A
/// gap is an interval of more than twice the median.
fn clock(times: &[f64]) -> Vec<f64> {
    let gaps: Vec<f64> = times.windows(2).map(|t| t[1] - t[0]).collect();
    let mut sorted = gaps.clone();
    sorted.sort_by(f64::total_cmp);
    let median = 0.5 * (sorted[(sorted.len() - 1) / 2] + sorted[sorted.len() / 2]);
    let near = |i: Option<usize>| i.and_then(|i| gaps.get(i)).copied().filter(|g| *g <= 2.0 * median * (1.0 + 1e-9));
    let mut weights: Vec<f64> = (0..times.len())
        .map(|i| match (near(i.checked_sub(1)), near(Some(i))) {
            (None, None) => median,
            (before, after) => 0.5 * (before.unwrap_or(0.0) + after.unwrap_or(0.0)),
        })
        .collect();
    let total: f64 = weights.iter().sum();
    weights.iter_mut().for_each(|w| *w /= total);
    weights
}

#[test]
fn the_objective_is_the_sum_written_out() {
    let recording = recording();
    let (runs, pairs) = (recording.runs, recording.pairs.len());
    let w: Vec<f64> = (0..recording.keys).map(wiggle).collect();
    // Per run: first time, and the nodes one second apart that reach its last time.
    let grids: Vec<(f64, usize)> = (0..runs)
        .map(|run| {
            let times = recording.entries.iter().filter(|e| e.run == run).map(|e| e.time);
            let (first, last) = times.fold((f64::INFINITY, 0.0), |(a, b): (f64, f64), t| (a.min(t), b.max(t)));
            (first, (last - first).ceil() as usize + 1)
        })
        .collect();
    let nodes: usize = grids.iter().map(|g| g.1).sum();
    let z: Vec<f64> = (0..nodes).map(|i| 1.5 * wiggle(i + 5)).collect();
    let path = |run: usize| {
        let start: usize = grids[..run].iter().map(|g| g.1).sum();
        &z[start..start + grids[run].1]
    };

    // Participants and modalities weigh the same in each of their runs, whatever their clocks and features.
    let participant = |pair: usize| &recording.pairs[pair].0;
    let mut present: Vec<(usize, usize)> = Vec::new();
    for e in &recording.entries {
        place(&mut present, (e.pair, e.run));
    }
    let mut visits: Vec<(&String, usize)> = Vec::new();
    for (pair, run) in &present {
        place(&mut visits, (participant(*pair), *run));
    }
    let mut squares = 0.0;
    for &(pair, run) in &present {
        let here: Vec<&Entry> = recording.entries.iter().filter(|e| e.pair == pair && e.run == run).collect();
        let mut times: Vec<f64> = here.iter().map(|e| e.time).collect();
        times.sort_by(f64::total_cmp);
        times.dedup();
        let beside = present.iter().filter(|(p, r)| *r == run && participant(*p) == participant(pair)).count();
        for (&t, q) in times.iter().zip(clock(&times)) {
            let row: Vec<&&Entry> = here.iter().filter(|e| e.time == t).collect();
            let (from, z) = (t - grids[run].0, path(run));
            let node = (from as usize).min(z.len() - 2);
            let right = from - node as f64;
            let signal = (1.0 - right) * z[node] + right * z[node + 1];
            let weight = q / (row.len() * beside * visits.len()) as f64;
            squares += row.iter().map(|e| weight * (e.value - signal * w[e.key]).powi(2)).sum::<f64>();
        }
    }
    let ridge_w = w.iter().map(|w| w * w).sum::<f64>() / pairs as f64;
    let (mut ridge_z, mut roughness) = (0.0, 0.0);
    for run in 0..runs {
        let z = path(run);
        let length = (z.len() - 1) as f64;
        let ends = 0.5 * (z[0].powi(2) + z[z.len() - 1].powi(2));
        ridge_z += (ends + z[1..z.len() - 1].iter().map(|z| z * z).sum::<f64>()) / length / runs as f64;
        roughness += z.windows(2).map(|z| (z[1] - z[0]).powi(2)).sum::<f64>() / length / runs as f64;
    }
    let expected = [
        ("balanced_squares(x)", squares),
        ("ridge(w)", 1e-3 * ridge_w),
        ("ridge(z)", 1e-4 * ridge_z),
        ("roughness(z)", 1e-2 * roughness),
    ];

    let point = json!({ "w": w, "z": z }).as_object().expect("a point").clone();
    let evaluator = Evaluator::new("r_msrm");
    let found = evaluator.at(&point);
    assert_eq!((found.kind(), found.log_jacobian()), ("objective", 0.0));
    let terms = found.list("terms");
    assert_eq!(terms.len(), expected.len());
    for ((name, term), (label, value)) in terms.iter().zip(expected) {
        assert_eq!(name, label);
        close(*term, value, ROUNDING, name);
    }
    close(found.value(), terms.iter().map(|t| t.1).sum(), 1e-14, "the sum of the terms");
    check_gradients(&evaluator, &point, &[("w", Support::REAL), ("z", Support::REAL)], DIFFERENCES);
}

#[test]
fn points_outside_the_bounds_or_without_a_name_are_refused() {
    let recording = recording();
    let (w, b, v, ell) = gp_point(&recording);
    let gp = Evaluator::new("gp_msrm");
    for ell in [0.5, 20.0, 25.0] {
        gp.refuses(json!({ "ell": ell, "w": w, "b": b, "v": v }), &["ell", "0.5", "20"]);
    }
    let mut negative = v.clone();
    negative[3] = -0.5;
    gp.refuses(json!({ "ell": ell, "w": w, "b": b, "v": negative }), &["v[ben,physio] = -0.5", "0"]);
    gp.refuses(json!({ "ell": ell, "w": w, "b": b }), &["the point lacks `v`"]);
    gp.refuses(json!({ "ell": ell, "w": w, "b": b, "v": v, "z": 1 }), &["`z`", "no parameter", "ell, w, b, v"]);
    gp.refuses(json!({ "ell": ell, "w": w[1..], "b": b, "v": v }), &["`w`", "[11]", "[12, 1]"]);
    let shared = Evaluator::new("r_msrm");
    shared.refuses(json!({ "w": w }), &["the point lacks `z`"]);
    shared.refuses(json!({ "w": w, "z": [1, 2, 3] }), &["`z`", "[3]", "[107, 1]"]);
}
