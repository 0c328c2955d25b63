//! Grouped against dense, finite differences, golden numbers, high-precision numbers and invariances.

use super::dense::{Scalar, scalars};
use super::kernel;
use super::*;
use rand::{RngExt, SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;
use serde_json::Value;

/// Parameters and derivatives in owned form.
#[derive(Debug, Clone, Default)]
struct Theta {
    loadings: Vec<f64>,
    offsets: Vec<f64>,
    noise: Vec<f64>,
    length_scale: f64,
}

impl Theta {
    fn point(&self) -> Point<'_> {
        Point {
            loadings: &self.loadings,
            offsets: Some(&self.offsets),
            noise: &self.noise,
            length_scale: self.length_scale,
        }
    }

    fn flat(&self) -> Vec<f64> {
        let mut out = self.loadings.clone();
        out.extend(&self.offsets);
        out.extend(&self.noise);
        out.push(self.length_scale);
        out
    }

    fn from_flat(&self, x: &[f64]) -> Self {
        let (w, rest) = x.split_at(self.loadings.len());
        let (b, rest) = rest.split_at(self.offsets.len());
        let (v, rest) = rest.split_at(self.noise.len());
        Self { loadings: w.to_vec(), offsets: b.to_vec(), noise: v.to_vec(), length_scale: rest[0] }
    }
}

/// Value and flat gradient.
fn evaluate(gp: &FilteredGp, algebra: Algebra, theta: &Theta) -> (f64, Vec<f64>) {
    let mut g = theta.from_flat(&vec![0.0; theta.flat().len()]);
    let mut adjoint = Adjoint {
        scale: 1.0,
        loadings: &mut g.loadings,
        offsets: Some(&mut g.offsets),
        noise: &mut g.noise,
        length_scale: &mut g.length_scale,
    };
    let value = gp.log_likelihood_by(algebra, &theta.point(), Some(&mut adjoint), &mut Workspace::new()).unwrap();
    (value, g.flat())
}

fn value(gp: &FilteredGp, theta: &Theta) -> f64 {
    gp.log_likelihood(&theta.point(), None, &mut Workspace::new()).unwrap()
}

fn close(a: f64, b: f64, relative: f64, absolute: f64, what: &str) {
    assert!((a - b).abs() <= relative * b.abs() + absolute, "{what}: {a:e} against {b:e}, difference {:e}", a - b);
}

/// Every entry to `relative` of itself plus `relative` of the largest entry of `b`.
fn close_all(a: &[f64], b: &[f64], relative: f64, what: &str) {
    assert_eq!(a.len(), b.len());
    let largest = b.iter().fold(0.0f64, |m, x| m.max(x.abs()));
    for (i, (a, b)) in a.iter().zip(b).enumerate() {
        close(*a, *b, relative, relative * largest, &format!("{what}, entry {i}"));
    }
}

/// Random recordings: participants x modalities with their own clocks, masks, ties, missing streams, repeats.
fn random_problem(seed: u64, factors: usize, runs: usize, jitter: bool) -> (FilteredGp, Theta, Vec<Vec<Observation>>) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let streams = [(0.9, 11), (1.2, 2), (0.6, 1)];
    let participants = 2;
    let mut observations = vec![Vec::new(); runs];
    let keys: usize = participants * streams.iter().map(|s| s.1).sum::<usize>();
    for scalars in &mut observations {
        let mut key = 0;
        for p in 0..participants {
            for (m, &(step, features)) in streams.iter().enumerate() {
                let missing_stream = p == 1 && rng.random::<f64>() < 0.3;
                for row in 0..6 {
                    let shift = if jitter { 0.2 * rng.random::<f64>() } else { 0.0 };
                    for f in 0..features {
                        let repeats = 1 + usize::from(rng.random::<f64>() < 0.03);
                        for _ in 0..repeats {
                            if !missing_stream && rng.random::<f64>() > 0.15 {
                                scalars.push(Observation {
                                    time: f64::from(row) * step + shift,
                                    modality: m as u32,
                                    feature_key: (key + f) as u32,
                                    noise: (p * streams.len() + m) as u32,
                                    value: 2.0 * rng.random::<f64>() - 1.0,
                                });
                            }
                        }
                    }
                }
                key += features;
            }
        }
    }
    let mut draw = |n: usize, lo: f64, hi: f64| -> Vec<f64> {
        (0..n).map(|_| lo + (hi - lo) * rng.random::<f64>()).collect()
    };
    let theta = Theta {
        loadings: draw(keys * factors, -1.2, 1.2),
        offsets: draw(keys, -0.5, 0.5),
        noise: draw(participants * streams.len(), 0.05, 0.6),
        length_scale: 1.7,
    };
    let gp = FilteredGp::new(factors, keys, theta.noise.len(), &observations).unwrap();
    (gp, theta, observations)
}

fn numbers(v: &Value) -> Vec<f64> {
    match v {
        Value::Array(items) => items.iter().flat_map(numbers).collect(),
        other => vec![other.as_f64().unwrap()],
    }
}

fn size(v: &Value) -> usize {
    v.as_u64().unwrap() as usize
}

fn read_observations(v: &Value) -> Vec<Observation> {
    let rows = v.as_array().unwrap();
    rows.iter()
        .map(|row| Observation {
            time: row[0].as_f64().unwrap(),
            modality: size(&row[1]) as u32,
            feature_key: size(&row[2]) as u32,
            noise: size(&row[3]) as u32,
            value: row[4].as_f64().unwrap(),
        })
        .collect()
}

#[test]
fn golden_values_gradients_and_conditionals() {
    let files = [
        include_str!("../../../tests/golden/gp_nll_identity_k1.json"),
        include_str!("../../../tests/golden/gp_nll_identity_k3.json"),
        include_str!("../../../tests/golden/gp_nll_identity_k5.json"),
    ];
    for file in files {
        let file: Value = serde_json::from_str(file).unwrap();
        let (k, keys, noises) = (size(&file["factors"]), size(&file["keys"]), size(&file["noises"]));
        let runs: Vec<_> = file["runs"].as_array().unwrap().iter().map(read_observations).collect();
        let gp = FilteredGp::new(k, keys, noises, &runs).unwrap();
        for point in file["points"].as_array().unwrap() {
            let mut x = numbers(&point["parameters"]);
            x.push(file["length_scale"].as_f64().unwrap());
            let shape = Theta {
                loadings: vec![0.0; keys * k],
                offsets: vec![0.0; keys],
                noise: vec![0.0; noises],
                length_scale: 0.0,
            };
            let theta = shape.from_flat(&x);
            for (name, algebra) in [("dense", Algebra::Dense), ("grouped", Algebra::Grouped)] {
                let (value, gradient) = evaluate(&gp, algebra, &theta);
                let golden = if point[name].is_null() { &point["grouped"] } else { &point[name] };
                close(-value, golden["nll"].as_f64().unwrap(), 1e-12, 0.0, name);
                let prior = negative_log_prior_gradient(&file, &theta);
                let objective: Vec<f64> = gradient.iter().zip(&prior).map(|(g, p)| p - g).collect();
                close_all(&objective, &numbers(&golden["gradient"]), 1e-11, name);
            }
            if !point["conditional"].is_null() {
                check_conditional(&gp, &theta, &point["conditional"]);
            }
        }
    }
}

/// Normal loadings and offsets, lognormal noise variances; the golden gradients are of the whole objective.
fn negative_log_prior_gradient(file: &Value, theta: &Theta) -> Vec<f64> {
    let number = |v: &Value| v.as_f64().unwrap();
    let (w_sd, b_sd) = (number(&file["loading_sd"]), number(&file["offset_sd"]));
    let (loc, scale) = (number(&file["noise_prior"]["loc"]), number(&file["noise_prior"]["scale"]));
    let mut out: Vec<f64> = theta.loadings.iter().map(|w| w / (w_sd * w_sd)).collect();
    out.extend(theta.offsets.iter().map(|b| b / (b_sd * b_sd)));
    out.extend(theta.noise.iter().map(|v| (1.0 + (v.ln() - loc) / (scale * scale)) / v));
    out
}

fn check_conditional(gp: &FilteredGp, theta: &Theta, golden: &Value) {
    let (run, query, key) = (size(&golden["run"]), numbers(&golden["query"]), size(&golden["key"]));
    let ws = &mut Workspace::new();
    let latent = gp.latent_moments(&theta.point(), run, &query, ws).unwrap();
    close_all(&latent.mean, &numbers(&golden["latent_mean"]), 1e-11, "latent mean");
    close_all(&latent.variance(), &numbers(&golden["latent_variance"]), 1e-11, "latent variance");
    let signal = gp.predict_moments(&theta.point(), run, key, &query, None, ws).unwrap();
    close_all(&signal.mean, &numbers(&golden["signal_mean"]), 1e-11, "signal mean");
    close_all(&signal.variance, &numbers(&golden["signal_variance"]), 1e-11, "signal variance");
    let noise_variance = golden["noise_variance"].as_f64().unwrap();
    let noise = theta.noise.iter().position(|v| *v == noise_variance).unwrap();
    let noisy = gp.predict_moments(&theta.point(), run, key, &query, Some(noise), ws).unwrap();
    let expected: Vec<f64> = signal.variance.iter().map(|s| s + noise_variance).collect();
    close_all(&noisy.variance, &expected, 1e-15, "noisy variance");
    if !golden["joint_latent_covariance_first3"].is_null() {
        let path = gp.path_moments(&theta.point(), run, &query[..3], ws).unwrap();
        close_all(&path.covariance, &numbers(&golden["joint_latent_covariance_first3"]), 1e-11, "joint covariance");
    }
}

#[test]
fn grouped_equals_dense() {
    for seed in 0..16 {
        let (factors, runs) = (1 + seed as usize % 4, 1 + seed as usize % 3);
        let (gp, theta, _) = random_problem(seed, factors, runs, seed >= 8);
        let (a, ga) = evaluate(&gp, Algebra::Grouped, &theta);
        let (b, gb) = evaluate(&gp, Algebra::Dense, &theta);
        close(a, b, 1e-12, 0.0, "value");
        close_all(&ga, &gb, 1e-11, &format!("gradient, seed {seed}"));
        close(value(&gp, &theta), a, 1e-15, 0.0, "value alone");
    }
}

#[test]
fn gradients_equal_central_differences() {
    for factors in 1..=3 {
        let (gp, theta, _) = random_problem(40 + factors as u64, factors, 2, factors == 2);
        for algebra in [Algebra::Grouped, Algebra::Dense] {
            let (_, gradient) = evaluate(&gp, algebra, &theta);
            let x = theta.flat();
            for i in 0..x.len() {
                let h = 1e-4 * x[i].abs().max(0.1);
                let at = |step: f64| {
                    let mut y = x.clone();
                    y[i] += step * h;
                    value(&gp, &theta.from_flat(&y))
                };
                // Fourth order, so that truncation stays below the tolerance.
                let slope = (8.0 * (at(1.0) - at(-1.0)) - (at(2.0) - at(-2.0))) / (12.0 * h);
                close(gradient[i], slope, 1e-7, 1e-6, &format!("{algebra:?} {i}"));
            }
        }
    }
}

#[test]
fn adjoint_is_added_with_its_scale() {
    let (gp, theta, _) = random_problem(3, 2, 2, false);
    let (_, once) = evaluate(&gp, Algebra::Grouped, &theta);
    for algebra in [Algebra::Grouped, Algebra::Dense] {
        let mut g = theta.from_flat(&vec![1.0; once.len()]);
        let mut adjoint = Adjoint {
            scale: -2.5,
            loadings: &mut g.loadings,
            offsets: None,
            noise: &mut g.noise,
            length_scale: &mut g.length_scale,
        };
        gp.log_likelihood_by(algebra, &theta.point(), Some(&mut adjoint), &mut Workspace::new()).unwrap();
        let mut expected: Vec<f64> = once.iter().map(|x| 1.0 - 2.5 * x).collect();
        let offsets = theta.loadings.len()..theta.loadings.len() + theta.offsets.len();
        expected[offsets].fill(1.0);
        close_all(&g.flat(), &expected, 1e-11, "scaled adjoint");
    }
}

#[test]
fn tiny_noise_and_deficient_loadings_match_high_precision() {
    let file: Value = serde_json::from_str(include_str!("../../../tests/golden/gp_tiny_noise.json")).unwrap();
    for case in file["cases"].as_array().unwrap() {
        let theta = Theta {
            loadings: numbers(&case["loadings"]),
            offsets: numbers(&case["offsets"]),
            noise: numbers(&case["noise"]),
            length_scale: case["length_scale"].as_f64().unwrap(),
        };
        let gp = FilteredGp::new(
            size(&case["factors"]),
            theta.offsets.len(),
            theta.noise.len(),
            &[read_observations(&case["observations"])],
        )
        .unwrap();
        let (value, gradient) = evaluate(&gp, Algebra::Grouped, &theta);
        let e = &case["expected"];
        let (dv, dg) = evaluate(&gp, Algebra::Dense, &theta);
        let gold = [numbers(&e["loadings"]), numbers(&e["offsets"]), numbers(&e["noise"]), numbers(&e["length_scale"])];
        let flat: Vec<f64> = gold.concat();
        let mut at = 0;
        let err = |g: &[f64]| -> Vec<f64> {
            let mut at = 0;
            gold.iter().map(|b| { let s = b.iter().fold(0.0f64, |m, x| m.max(x.abs())); let r = g[at..at + b.len()].iter().zip(b).fold(0.0f64, |m, (a, b)| m.max((a - b).abs())) / s; at += b.len(); r }).collect()
        };
        let v = e["log_likelihood"].as_f64().unwrap();
        println!("{} {:e}: grouped {:e} {:?} | dense {:e} {:?}", case["rank"], theta.noise[0], (value - v) / v, err(&gradient), (dv - v) / v, err(&dg));
        let _ = (&flat, &mut at);
    }
}

#[test]
fn latent_moments_equal_dense_conditional() {
    for seed in [21, 22, 23] {
        let factors = seed as usize - 20;
        let (gp, theta, observations) = random_problem(seed, factors, 2, true);
        let query = [-1.5, 0.0, 0.9, 1.03, 2.7, 9.0];
        let ws = &mut Workspace::new();
        let latent = gp.latent_moments(&theta.point(), 1, &query, ws).unwrap();
        let path = gp.path_moments(&theta.point(), 1, &query, ws).unwrap();
        let (mean, covariance) = dense_conditional(factors, &observations[1], &theta, &query);
        close_all(&latent.mean, &mean, 1e-11, "mean");
        close_all(&path.mean, &mean, 1e-11, "path mean");
        close_all(&path.covariance, &covariance, 1e-11, "path covariance");
        let size = query.len() * factors;
        for (i, c) in latent.covariance.iter().enumerate() {
            let (t, a, b) = (i / (factors * factors), i / factors % factors, i % factors);
            close(*c, covariance[(t * factors + a) * size + t * factors + b], 1e-11, 1e-11, "covariance");
        }
    }
}

/// Gaussian conditioning written out: solve C X = [r, cross] by elimination.
fn dense_conditional(k: usize, scalars: &[Observation], theta: &Theta, query: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let rho = 3f64.sqrt() / theta.length_scale;
    let matern = |d: f64| (1.0 + rho * d.abs()) * (-rho * d.abs()).exp();
    let loading = |o: &Observation, c: usize| theta.loadings[o.feature_key as usize * k + c];
    let (n, q) = (scalars.len(), query.len() * k);
    let cross = |i: usize, o: &Observation| matern(query[i / k] - o.time) * loading(o, i % k);
    let mut rows: Vec<Vec<f64>> = Vec::new();
    for (i, a) in scalars.iter().enumerate() {
        let mut row: Vec<f64> = scalars
            .iter()
            .map(|b| matern(a.time - b.time) * (0..k).map(|c| loading(a, c) * loading(b, c)).sum::<f64>())
            .collect();
        row[i] += theta.noise[a.noise as usize];
        row.push(a.value - theta.offsets[a.feature_key as usize]);
        row.extend((0..q).map(|i| cross(i, a)));
        rows.push(row);
    }
    for c in 0..n {
        let pivot = rows[c].clone();
        for (i, row) in rows.iter_mut().enumerate() {
            let f = if i == c { 1.0 - 1.0 / pivot[c] } else { row[c] / pivot[c] };
            for (x, p) in row.iter_mut().zip(&pivot) {
                *x -= f * p;
            }
        }
    }
    let apply = |i: usize, column: usize| -> f64 {
        scalars.iter().zip(&rows).map(|(o, row)| cross(i, o) * row[column]).sum()
    };
    let mean = (0..q).map(|i| apply(i, n)).collect();
    let covariance = (0..q * q)
        .map(|at| {
            let (i, j) = (at / q, at % q);
            let prior = if i % k == j % k { matern(query[i / k] - query[j / k]) } else { 0.0 };
            prior - apply(i, n + 1 + j)
        })
        .collect();
    (mean, covariance)
}

#[test]
fn shifting_a_feature_and_its_offset_changes_nothing() {
    let (gp, theta, observations) = random_problem(5, 2, 2, false);
    let (a, ga) = evaluate(&gp, Algebra::Grouped, &theta);
    let mut shifted = observations;
    for o in shifted.iter_mut().flatten().filter(|o| o.feature_key == 4) {
        o.value += 1024.0;
    }
    let moved = FilteredGp::new(2, theta.offsets.len(), theta.noise.len(), &shifted).unwrap();
    let mut offsets = theta.clone();
    offsets.offsets[4] += 1024.0;
    let (b, gb) = evaluate(&moved, Algebra::Grouped, &offsets);
    // Adding 1,024 rounds the values to 1e-13.
    close(b, a, 1e-11, 0.0, "value");
    close_all(&gb, &ga, 1e-11, "gradient");
}

#[test]
fn order_of_scalars_and_of_runs_is_irrelevant() {
    let (gp, theta, mut observations) = random_problem(6, 3, 3, false);
    let (a, ga) = evaluate(&gp, Algebra::Grouped, &theta);
    let mut rng = ChaCha8Rng::seed_from_u64(0);
    observations.iter_mut().for_each(|run| run.shuffle(&mut rng));
    let build = |runs: &[Vec<Observation>]| FilteredGp::new(3, theta.offsets.len(), theta.noise.len(), runs).unwrap();
    let (b, gb) = evaluate(&build(&observations), Algebra::Grouped, &theta);
    assert_eq!((a, &ga), (b, &gb), "sorted input is bitwise the same");
    observations.reverse();
    let (c, gc) = evaluate(&build(&observations), Algebra::Grouped, &theta);
    close(c, a, 1e-14, 0.0, "value");
    close_all(&gc, &ga, 1e-13, "gradient");
}

#[test]
fn rotating_the_factors_changes_nothing() {
    let (gp, theta, _) = random_problem(9, 2, 2, true);
    let (sin, cos) = 0.7f64.sin_cos();
    let mut rotated = theta.clone();
    for w in rotated.loadings.chunks_exact_mut(2) {
        (w[0], w[1]) = (cos * w[0] - sin * w[1], sin * w[0] + cos * w[1]);
    }
    close(value(&gp, &rotated), value(&gp, &theta), 1e-13, 0.0, "value");
}

#[test]
fn stretching_time_with_the_length_scale_changes_nothing() {
    let (gp, theta, mut observations) = random_problem(10, 2, 1, true);
    for o in observations.iter_mut().flatten() {
        o.time *= 4.0;
    }
    let stretched = FilteredGp::new(2, theta.offsets.len(), theta.noise.len(), &observations).unwrap();
    let longer = Theta { length_scale: 4.0 * theta.length_scale, ..theta.clone() };
    close(value(&stretched, &longer), value(&gp, &theta), 1e-13, 0.0, "value");
}

#[test]
fn a_workspace_carries_nothing_over() {
    let (small, small_theta, _) = random_problem(11, 1, 1, false);
    let (large, large_theta, _) = random_problem(12, 4, 3, true);
    let mut ws = Workspace::new();
    for _ in 0..2 {
        for (gp, theta) in [(&large, &large_theta), (&small, &small_theta)] {
            assert_eq!(gp.log_likelihood(&theta.point(), None, &mut ws).unwrap(), value(gp, theta));
        }
    }
}

#[test]
fn layout_keeps_every_scalar_once() {
    let key = |s: &Scalar| (s.key, s.noise, s.time.to_bits(), s.value.to_bits());
    for (seed, jitter) in [(1, false), (2, true)] {
        let (gp, _, observations) = random_problem(seed, 2, 3, jitter);
        for (nodes, given) in gp.runs.iter().zip(&observations) {
            let mut kept: Vec<_> = scalars(nodes).iter().map(key).collect();
            let mut wanted: Vec<_> = given
                .iter()
                .map(|o| (o.feature_key as usize, o.noise as usize, o.time.to_bits(), o.value.to_bits()))
                .collect();
            kept.sort_unstable();
            wanted.sort_unstable();
            assert_eq!(kept, wanted);
            assert!(nodes.times.is_sorted_by(|a, b| a < b));
        }
    }
}

#[test]
fn features_that_share_no_times_are_stored_apart() {
    let scalars: Vec<_> = (0..400)
        .map(|i| Observation {
            time: f64::from(i),
            modality: 0,
            feature_key: i % 40,
            noise: 0,
            value: f64::from(i % 7),
        })
        .collect();
    let gp = FilteredGp::new(1, 40, 1, &[scalars]).unwrap();
    let stored: usize = gp.runs[0].blocks.iter().map(|b| b.values.len()).sum();
    assert_eq!((stored, gp.runs[0].blocks.len()), (400, 40));
    let theta = Theta { loadings: vec![0.7; 40], offsets: vec![0.2; 40], noise: vec![0.3], length_scale: 2.0 };
    let (a, ga) = evaluate(&gp, Algebra::Grouped, &theta);
    let (b, gb) = evaluate(&gp, Algebra::Dense, &theta);
    close(a, b, 1e-12, 0.0, "value");
    close_all(&ga, &gb, 1e-11, "gradient");
}

#[test]
fn kernel_equals_its_formula_and_difference() {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let mut times: Vec<f64> = (0..53).map(|_| 40.0 * rng.random::<f64>()).collect();
    times.sort_by(f64::total_cmp);
    let n = times.len();
    let (mut within, mut k) = (vec![0.0; n], vec![0.0; n * n]);
    for length_scale in [0.01, 1.3, 1e4] {
        let rho = kernel::rate(length_scale);
        kernel::fill(&times, rho, &mut within, &mut k);
        for i in 0..n {
            for j in 0..n {
                let x = rho * (times[i] - times[j]).abs();
                close(k[i * n + j], (1.0 + x) * (-x).exp(), 1e-12, 1e-300, "entry");
            }
        }
    }
    let mut slope = vec![0.0; n * n];
    let (ell, h) = (1.3, 1e-3);
    for (factor, step) in [(8.0, 1.0), (-8.0, -1.0), (-1.0, 2.0), (1.0, -2.0)] {
        kernel::fill(&times, kernel::rate(ell + step * h), &mut within, &mut k);
        slope.iter_mut().zip(&k).for_each(|(s, k)| *s += factor * k / (12.0 * h));
    }
    kernel::fill(&times, kernel::rate(ell), &mut within, &mut k);
    let weights: Vec<f64> = (0..n * n).map(|_| rng.random::<f64>()).collect();
    let mut expected = 0.0;
    for j in 0..n {
        for i in j + 1..n {
            expected += 2.0 * weights[j * n + i] * slope[j * n + i];
        }
    }
    let pulled = kernel::pull_length_scale(&times, kernel::rate(ell), ell, &k, &weights);
    close(pulled, expected, 1e-9, 0.0, "pull-back");
}

#[test]
fn summary_predicts_the_workspace() {
    let (gp, theta, _) = random_problem(13, 3, 3, true);
    let mut ws = Workspace::new();
    let mut g = theta.clone();
    let mut adjoint = Adjoint {
        scale: 1.0,
        loadings: &mut g.loadings,
        offsets: None,
        noise: &mut g.noise,
        length_scale: &mut g.length_scale,
    };
    gp.log_likelihood(&theta.point(), Some(&mut adjoint), &mut ws).unwrap();
    let largest = gp.summary().runs.iter().map(|r| r.nodes).max().unwrap();
    let square = (2 * largest * largest + 2 * (3 * largest).pow(2)) * 8;
    let predicted = gp.summary().workspace_bytes;
    assert!(predicted > square && predicted < square + square / 4, "{predicted} against {square}");
    assert!(ws.node_bytes() <= predicted, "{} against {predicted}", ws.node_bytes());
}

#[test]
fn empty_runs_count_for_nothing() {
    let gp = FilteredGp::new(2, 1, 1, &[vec![], vec![]]).unwrap();
    let theta = Theta { loadings: vec![1.0, 2.0], offsets: vec![0.5], noise: vec![0.1], length_scale: 1.0 };
    let (v, g) = evaluate(&gp, Algebra::Grouped, &theta);
    assert_eq!((v, g), (0.0, vec![0.0; 5]));
    let moments = gp.predict_moments(&theta.point(), 1, 0, &[0.0, 1.0], Some(0), &mut Workspace::new()).unwrap();
    assert_eq!(moments.mean, [0.5, 0.5]);
    close_all(&moments.variance, &[5.1, 5.1], 1e-15, "prior variance");
}

#[test]
fn faults_are_named() {
    let good = Observation { time: 0.0, modality: 0, feature_key: 0, noise: 0, value: 1.0 };
    let fault = |o: Observation| FilteredGp::new(1, 1, 1, &[vec![good], vec![good, o]]).unwrap_err();
    for (o, name) in [
        (Observation { time: f64::NAN, ..good }, "time"),
        (Observation { value: f64::INFINITY, ..good }, "value"),
        (Observation { feature_key: 1, ..good }, "feature_key"),
        (Observation { noise: 7, ..good }, "noise"),
    ] {
        assert!(
            matches!(fault(o), TermError::BadObservation { run: 1, index: 1, field, .. } if field == name),
            "{name}"
        );
    }
    assert!(FilteredGp::new(0, 1, 1, &[]).is_err());
    let gp = FilteredGp::new(1, 1, 1, &[vec![good]]).unwrap();
    let theta = Theta { loadings: vec![1.0], offsets: vec![0.0], noise: vec![1.0], length_scale: 1.0 };
    let error = |theta: Theta| gp.log_likelihood(&theta.point(), None, &mut Workspace::new()).unwrap_err();
    for (theta, parameter) in [
        (Theta { noise: vec![0.0], ..theta.clone() }, "noise"),
        (Theta { noise: vec![f64::NAN], ..theta.clone() }, "noise"),
        (Theta { noise: vec![1e-310], ..theta.clone() }, "noise"),
        (Theta { length_scale: -1.0, ..theta.clone() }, "length_scale"),
        (Theta { loadings: vec![f64::NAN], ..theta.clone() }, "loadings"),
        (Theta { offsets: vec![f64::INFINITY], ..theta.clone() }, "offsets"),
    ] {
        let e = error(theta);
        assert!(matches!(&e, TermError::BadParameter { name, .. } if *name == parameter), "{e}");
        assert!(!e.is_rejection());
    }
    let e = error(Theta { noise: vec![1.0, 2.0], ..theta.clone() });
    assert_eq!(e, TermError::Length { name: "noise", expected: 1, found: 2 });
    let e = error(Theta { loadings: vec![1e200], ..theta.clone() });
    assert!(e.is_rejection(), "{e}");
    let ws = &mut Workspace::new();
    assert!(matches!(gp.latent_moments(&theta.point(), 3, &[0.0], ws), Err(TermError::NoSuch { name: "run", .. })));
    assert!(gp.latent_moments(&theta.point(), 0, &[f64::NAN], ws).is_err());
    assert!(gp.predict_moments(&theta.point(), 0, 1, &[0.0], None, ws).is_err());
}
