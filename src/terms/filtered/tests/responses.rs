//! Twins and invariances of recordings seen through responses of every family.

use super::*;
use crate::response::build;

fn kind(family: &str, parameters: &[(&str, f64)]) -> Response {
    build(family, parameters).unwrap()
}

fn every_kind() -> Vec<Response> {
    let double = [
        ("peak_shape", 3.0),
        ("peak_scale", 0.5),
        ("undershoot_shape", 7.0),
        ("undershoot_scale", 0.5),
        ("ratio", 0.3),
        ("lag", 0.1),
    ];
    vec![
        Response::Identity,
        kind("gaussian", &[("width", 0.6), ("lag", 0.3)]),
        kind("gamma", &[("shape", 3.0), ("scale", 0.4), ("lag", -0.2)]),
        kind("gamma", &[("shape", 2.6), ("scale", 0.5), ("lag", 0.2)]),
        kind("double_gamma", &double),
        kind("bateman", &[("rise", 0.6), ("decay", 1.7), ("lag", 0.1)]),
        kind("bach", &[("t0", 2.0), ("sigma", 0.6), ("lambda1", 0.9), ("lambda2", 0.4), ("lag", -0.4)]),
        Response::sampled(vec![-0.5, 0.3, 1.1, 2.0], vec![0.2, 1.0, -0.4, 0.1]).unwrap(),
    ]
}

/// A random recording whose modalities are seen through `kinds`; shapes of integer value are fixed.
fn seen_through(seed: u64, factors: usize, runs: usize, jitter: bool, kinds: [Response; 3]) -> (FilteredGp, Theta) {
    let (_, mut theta, mut observations) = random_problem(seed, factors, runs, jitter);
    for o in observations.iter_mut().flatten() {
        o.response = o.modality;
    }
    theta.responses = kinds.iter().flat_map(Response::values).collect();
    let parameters = kinds.iter().flat_map(|r| r.family().parameters.iter().zip(r.values()));
    let free: Vec<bool> = parameters.map(|(p, x)| !(p.name.ends_with("shape") && x.fract() == 0.0)).collect();
    let gp = FilteredGp::new(factors, theta.offsets.len(), theta.noise.len(), kinds.to_vec(), &observations)
        .unwrap()
        .with_learned_responses(&free)
        .unwrap();
    (gp, theta)
}

/// Three of the families, another selection for every seed.
fn selection(seed: usize) -> [Response; 3] {
    let kinds = every_kind();
    [seed, 3 * seed + 1, 5 * seed + 3].map(|i| kinds[i % kinds.len()].clone())
}

#[test]
fn grouped_equals_dense_through_every_response() {
    for seed in 0..16 {
        let (factors, runs) = (1 + seed % 6, 1 + seed % 3);
        let (gp, theta) = seen_through(seed as u64, factors, runs, seed % 4 == 3, selection(seed));
        let (a, ga) = evaluate(&gp, Algebra::Grouped, &theta);
        let (b, gb) = evaluate(&gp, Algebra::Dense, &theta);
        close(a, b, 1e-12, 0.0, &format!("value, seed {seed}"));
        close_all(&ga, &gb, 1e-10, &format!("gradient, seed {seed}"));
        close(value(&gp, &theta), a, 1e-13, 0.0, "value alone");
    }
}

#[test]
fn gradients_through_every_response_equal_differences() {
    for seed in 0..5 {
        let (gp, theta) = seen_through(100 + seed as u64, 1 + seed % 2, 1, seed % 4 == 3, selection(seed));
        let (_, gradient) = evaluate(&gp, Algebra::Grouped, &theta);
        let x = theta.flat();
        let first = theta.loadings.len() + theta.offsets.len() + theta.noise.len();
        for i in first..x.len() {
            let fixed = i - first < gp.free.len() && !gp.free[i - first];
            if fixed {
                assert_eq!(gradient[i], 0.0);
                continue;
            }
            let h = 1e-3 * x[i].abs().max(0.1);
            let at = |step: f64| {
                let mut y = x.clone();
                y[i] += step * h;
                value(&gp, &theta.with_values(&y))
            };
            let slope = (8.0 * (at(1.0) - at(-1.0)) - (at(2.0) - at(-2.0))) / (12.0 * h);
            close(gradient[i], slope, 1e-7, 1e-6, &format!("seed {seed}, coordinate {}", i - first));
        }
    }
}

#[test]
fn small_noise_and_deficient_loadings_keep_both_algebras_together() {
    for (seed, noise) in [(0, 1e-3), (1, 1e-6), (2, 1e-9)] {
        for rank in [0, 1, 2] {
            let (gp, mut theta) = seen_through(seed, 2, 1, false, selection(seed as usize + 1));
            theta.noise.fill(noise);
            for w in theta.loadings.chunks_exact_mut(2) {
                match rank {
                    0 => w.fill(0.0),
                    1 => w[1] = -0.5 * w[0],
                    _ => {}
                }
            }
            let (a, ga) = evaluate(&gp, Algebra::Grouped, &theta);
            let (b, gb) = evaluate(&gp, Algebra::Dense, &theta);
            // The covariance of the scalars has a condition of one over the noise variance; the grouped system does not.
            close(a, b, 1e-14 / noise, 0.0, &format!("value, noise {noise}, rank {rank}"));
            assert!(ga.iter().all(|g| g.is_finite()));
            if noise > 1e-4 {
                close_all(&ga, &gb, 1e-14 / (noise * noise), &format!("gradient, noise {noise}, rank {rank}"));
            }
        }
    }
}

#[test]
fn a_lag_moves_the_clock() {
    // A stream whose response is later by a second is the stream whose times are a second earlier.
    let kinds = |lag: f64| {
        [Response::Identity, kind("gaussian", &[("width", 0.6), ("lag", lag)]), kind("bateman", &[("lag", lag)])]
    };
    let (_, theta, observations) = random_problem(4, 2, 2, false);
    let build = |lag: f64, shift: f64| {
        let mut moved = observations.clone();
        for o in moved.iter_mut().flatten() {
            o.response = o.modality;
            o.time -= if o.modality > 0 { shift } else { 0.0 };
        }
        let mut theta = theta.clone();
        theta.responses = kinds(lag).iter().flat_map(Response::values).collect();
        let gp = FilteredGp::new(2, theta.offsets.len(), theta.noise.len(), kinds(lag).to_vec(), &moved).unwrap();
        evaluate(&gp, Algebra::Grouped, &theta)
    };
    let (late, late_gradient) = build(1.0, 0.0);
    let (early, early_gradient) = build(0.0, 1.0);
    close(late, early, 1e-12, 0.0, "value");
    close_all(&late_gradient, &early_gradient, 1e-10, "gradient");
}

#[test]
fn a_narrow_bell_is_the_identity_times_its_mass() {
    let narrow = kind("gaussian", &[("width", 1e-4)]);
    let (wide, mut theta) = seen_through(6, 1, 1, false, [Response::Identity, narrow.clone(), Response::Identity]);
    let a = value(&wide, &theta);
    let (identity, _) = seen_through(6, 1, 1, false, [Response::Identity, Response::Identity, Response::Identity]);
    theta.responses.clear();
    let mass = std::f64::consts::SQRT_2 * std::f64::consts::PI.powf(0.25) * 1e-2;
    let streams = [11, 2, 1];
    for p in 0..2 {
        let first = p * 14 + streams[0];
        theta.loadings[first..first + 2].iter_mut().for_each(|w| *w *= mass);
    }
    close(a, value(&identity, &theta), 1e-6, 0.0, "value");
}

#[test]
fn bad_response_parameters_are_named() {
    let (gp, mut theta) = seen_through(7, 1, 1, false, selection(0));
    theta.responses[0] = -1.0;
    let error = gp.log_likelihood(&theta.point(), None, &mut Workspace::new()).unwrap_err();
    assert!(matches!(error, TermError::Response { slot: 1, .. }), "{error}");
    assert!(!error.is_rejection());
    theta.responses.pop();
    let error = gp.log_likelihood(&theta.point(), None, &mut Workspace::new()).unwrap_err();
    assert!(matches!(error, TermError::Length { name: "responses", .. }), "{error}");
    let (gp, mut theta) =
        seen_through(7, 1, 1, false, [every_kind()[6].clone(), Response::Identity, Response::Identity]);
    theta.length_scale = 1e-3;
    let error = gp.log_likelihood(&theta.point(), None, &mut Workspace::new()).unwrap_err();
    assert!(matches!(error, TermError::Unresolved { slot: 0, .. }) && error.is_rejection(), "{error}");
    let (gp, _) = seen_through(7, 1, 1, false, selection(0));
    assert!(gp.with_learned_responses(&[true]).is_err());
}

#[test]
fn tails_are_small_and_named() {
    let (gp, theta) = seen_through(8, 1, 1, false, [kind("gamma", &[]), kind("gaussian", &[]), Response::Identity]);
    let tail = gp.covariance_tail(&theta.point()).unwrap();
    assert!(tail > 1e-9 && tail < 2e-7, "{tail}");
    let (gp, theta) = seen_through(8, 1, 1, false, [Response::Identity, Response::Identity, Response::Identity]);
    assert_eq!(gp.covariance_tail(&theta.point()).unwrap(), 0.0);
}
