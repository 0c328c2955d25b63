//! Fast against slow: grouped against dense, gradients against differences, queries against written-out conditioning.

use super::super::dense::{Scalar, scalars};
use super::*;

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
                    value(&gp, &theta.with_values(&y))
                };
                // Fourth order, so that truncation stays below the tolerance.
                let slope = (8.0 * (at(1.0) - at(-1.0)) - (at(2.0) - at(-2.0))) / (12.0 * h);
                close(gradient[i], slope, 1e-7, 1e-6, &format!("{algebra:?} {i}"));
            }
        }
    }
}

#[test]
fn factors_that_depend_on_others_at_every_place() {
    // Column `dependent` of the loadings is twice column `of`, or zero.
    for (seed, dependent, of) in [(30, 0, 2), (31, 1, 0), (32, 2, 1), (33, 1, 1)] {
        let (gp, mut theta, _) = random_problem(seed, 3, 2, seed % 2 == 0);
        for w in theta.loadings.chunks_exact_mut(3) {
            w[dependent] = if dependent == of { 0.0 } else { 2.0 * w[of] };
        }
        let (a, ga) = evaluate(&gp, Algebra::Grouped, &theta);
        let (b, gb) = evaluate(&gp, Algebra::Dense, &theta);
        close(a, b, 1e-12, 0.0, "value");
        close_all(&ga, &gb, 1e-11, &format!("gradient, column {dependent}"));
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
    let apply =
        |i: usize, column: usize| -> f64 { scalars.iter().zip(&rows).map(|(o, row)| cross(i, o) * row[column]).sum() };
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
fn layout_keeps_every_scalar_once() {
    for (seed, jitter) in [(1, false), (2, true)] {
        let (gp, _, observations) = random_problem(seed, 2, 3, jitter);
        for (nodes, given) in gp.runs.iter().zip(&observations) {
            let key = |s: &Scalar| (s.key, s.noise, nodes.times[s.node].to_bits(), s.value.to_bits());
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
            response: 0,
            modality: 0,
            feature_key: i % 40,
            noise: 0,
            value: f64::from(i % 7),
        })
        .collect();
    let gp = FilteredGp::new(1, 40, 1, identity(), &[scalars]).unwrap();
    let stored: usize = gp.runs[0].blocks.iter().map(|b| b.values.len()).sum();
    assert_eq!((stored, gp.runs[0].blocks.len()), (400, 40));
    let theta = Theta {
        loadings: vec![0.7; 40],
        offsets: vec![0.2; 40],
        noise: vec![0.3],
        length_scale: 2.0,
        ..Theta::default()
    };
    let (a, ga) = evaluate(&gp, Algebra::Grouped, &theta);
    let (b, gb) = evaluate(&gp, Algebra::Dense, &theta);
    close(a, b, 1e-12, 0.0, "value");
    close_all(&ga, &gb, 1e-11, "gradient");
}
