//! Golden numbers, slow twins, invariances and traps for the diagnostics of draws.

use super::energy::bfmi;
use super::ess::{ess_bulk, ess_mean, ess_quantile, ess_sd, ess_tail};
use super::mcse::{mcse_mean, mcse_quantile, mcse_sd};
use super::moments::{mean, variance};
use super::orientation::{OrientationError, probes};
use super::rank::r_hat;
use super::*;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use serde_json::Value;

fn golden() -> Value {
    serde_json::from_str(include_str!("../../tests/golden/gp_diagnostics.json")).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

/// All numbers of nested arrays, in order.
fn flat(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(items) => items.iter().flat_map(flat).collect(),
        _ => vec![value.as_f64().unwrap()],
    }
}

fn table(value: &Value) -> Vec<Vec<f64>> {
    value.as_array().unwrap().iter().map(numbers).collect()
}

fn slices(chains: &[Vec<f64>]) -> Vec<&[f64]> {
    chains.iter().map(Vec::as_slice).collect()
}

fn draws(chains: &[Vec<f64>]) -> Draws {
    Draws::new(&slices(chains)).unwrap()
}

fn summary(chains: &[Vec<f64>]) -> QuantitySummary {
    summarize(&slices(chains))
}

#[track_caller]
fn assert_close(found: Option<f64>, expected: &Value, tolerance: f64) {
    match (found, expected.as_f64()) {
        (None, None) => {}
        (Some(a), Some(b)) => assert!((a - b).abs() <= tolerance * b.abs(), "{a} against {b}"),
        (a, b) => panic!("{a:?} against {b:?}"),
    }
}

/// Independent chains of an autoregression x_t = phi x_{t-1} + e_t, started in equilibrium.
fn autoregression(seed: u64, chains: usize, length: usize, phi: f64) -> Vec<Vec<f64>> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut chain = || {
        let start: f64 = StandardNormal.sample(&mut rng);
        let mut x = start / (1.0 - phi * phi).sqrt();
        let mut step = |_| {
            let noise: f64 = StandardNormal.sample(&mut rng);
            x = phi * x + noise;
            x
        };
        (0..length).map(&mut step).collect::<Vec<f64>>()
    };
    (0..chains).map(|_| chain()).collect()
}

#[test]
fn golden_diagnostics_of_draws() {
    let golden = golden();
    for set in golden["sets"].as_array().unwrap() {
        let expected = &set["expected"];
        for (i, quantity) in set["values"].as_array().unwrap().iter().enumerate() {
            let chains = table(quantity);
            let (d, s) = (draws(&chains), summary(&chains));
            for (name, alone, together) in [
                ("ess_bulk", Some(ess_bulk(&d)), s.ess_bulk),
                ("ess_tail", Some(ess_tail(&d)), s.ess_tail),
                ("r_hat", r_hat(&d), s.r_hat),
                ("mcse_mean", mcse_mean(&d), s.mcse_mean),
                ("mcse_sd", mcse_sd(&d), s.mcse_sd),
            ] {
                assert_close(alone, &expected[name][i], 1e-11);
                assert_eq!(alone, together);
            }
        }
        for (energy, expected) in table(&set["energy"]).iter().zip(set["bfmi"].as_array().unwrap()) {
            assert_close(bfmi(energy), expected, 1e-13);
        }
    }
}

#[test]
fn golden_orientation_probes() {
    for (block, factors) in [("k2", 2), ("k3", 3)] {
        let golden = &golden()["orientation"][block];
        let anchors: Vec<Vec<f64>> = golden["anchor"].as_array().unwrap().iter().map(flat).collect();
        let found = probes(&slices(&anchors), factors).unwrap();
        let names: Vec<&str> = golden["names"].as_array().unwrap().iter().map(|n| n.as_str().unwrap()).collect();
        assert_eq!(found.names, names);
        for (chain, by_draw) in golden["values"].as_array().unwrap().iter().enumerate() {
            for (draw, expected) in table(by_draw).iter().enumerate() {
                for (probe, expected) in expected.iter().enumerate() {
                    let found = found.values[probe][chain][draw];
                    assert!((found - expected).abs() < 1e-13, "{} {found} {expected}", names[probe]);
                }
            }
        }
    }
}

#[test]
fn golden_mixtures() {
    let golden = &golden()["mixture"];
    let components = |key: &str| -> Vec<Vec<f64>> { golden[key].as_array().unwrap().iter().map(flat).collect() };
    let (means, variances) = (components("component_means"), components("component_variances"));
    for at in 0..means[0].len() {
        let column = |table: &[Vec<f64>]| table.iter().map(|row| row[at]).collect::<Vec<f64>>();
        let (m, v) = (column(&means), column(&variances));
        let mixture = Mixture::new(&m, &v).unwrap();
        let expected = |key: &str| flat(&golden[key])[at];
        let (lower, upper) = mixture.interval(0.9).unwrap();
        for (key, found) in [
            ("mean", mixture.mean()),
            ("variance", mixture.variance()),
            ("within", mixture.within()),
            ("between", mixture.between()),
            ("lower90", lower),
            ("upper90", upper),
            ("log_density", mixture.log_density(expected("y")).unwrap()),
        ] {
            let expected = expected(key);
            assert!((found - expected).abs() <= 1e-12 * expected.abs(), "{key} {found} {expected}");
        }
    }
}

/// ESS by double loops over lags, written from the formula with every rho kept.
fn naive_ess(halves: &[Vec<f64>]) -> f64 {
    let (m, n) = (halves.len(), halves[0].len());
    let average = |v: &[f64]| v.iter().sum::<f64>() / v.len() as f64;
    let covariance = |v: &[f64], lag: usize| {
        (0..n - lag).map(|t| (v[t] - average(v)) * (v[t + lag] - average(v))).sum::<f64>() / n as f64
    };
    let c: Vec<f64> = (0..n).map(|lag| halves.iter().map(|h| covariance(h, lag)).sum::<f64>() / m as f64).collect();
    let within = c[0] * n as f64 / (n - 1) as f64;
    let centres: Vec<f64> = halves.iter().map(|h| average(h)).collect();
    let between = centres.iter().map(|x| (x - average(&centres)).powi(2)).sum::<f64>() / (m - 1) as f64;
    let total = c[0] + between;
    let mut rho: Vec<f64> = c.iter().map(|c| 1.0 - (within - c) / total).collect();
    rho[0] = 1.0;
    let mut last = 0;
    while 2 * last + 4 < n && rho[2 * last] + rho[2 * last + 1] > 0.0 {
        last += 1;
    }
    let mut sums: Vec<f64> = (0..last).map(|k| rho[2 * k] + rho[2 * k + 1]).collect();
    for k in 1..last {
        sums[k] = sums[k].min(sums[k - 1]);
    }
    let tail = if rho[2 * last] > 0.0 || rho[2 * last] + rho[2 * last + 1] >= 0.0 { rho[2 * last] } else { 0.0 };
    let count = (m * n) as f64;
    count / (2.0 * sums.iter().sum::<f64>() - 1.0 + tail).max(1.0 / count.log10())
}

fn halves(chains: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let half = chains[0].len() / 2;
    chains.iter().flat_map(|c| [c[..half].to_vec(), c[c.len() - half..].to_vec()]).collect()
}

#[test]
fn ess_agrees_with_double_loops() {
    for (seed, chains, length, phi) in
        [(1, 1, 4, 0.0), (2, 2, 7, 0.5), (3, 3, 40, -0.6), (4, 4, 101, 0.9), (5, 2, 400, 0.99), (6, 4, 300, -0.9)]
    {
        let x = autoregression(seed, chains, length, phi);
        let d = draws(&x);
        let close = |fast: f64, slow: f64| assert!((fast / slow - 1.0).abs() < 1e-9, "{fast} against {slow}");
        close(ess_mean(&d).unwrap(), naive_ess(&halves(&x)));
        let squares: Vec<Vec<f64>> =
            x.iter().map(|c| c.iter().map(|v| (v - mean(d.values())).powi(2)).collect()).collect();
        close(ess_sd(&d).unwrap(), naive_ess(&halves(&squares)));
        for p in [0.25, 0.5] {
            let below = |v: &f64| if *v <= d.quantile(p) { 1.0 } else { 0.0 };
            let indicator: Vec<Vec<f64>> = x.iter().map(|c| c.iter().map(below).collect()).collect();
            close(ess_quantile(&d, p).unwrap(), naive_ess(&halves(&indicator)));
        }
    }
}

#[test]
fn ess_of_independent_draws_is_their_number() {
    for seed in 0..20 {
        let d = draws(&autoregression(seed, 4, 1000, 0.0));
        for ess in [ess_bulk(&d), ess_mean(&d).unwrap(), ess_tail(&d), ess_quantile(&d, 0.5).unwrap()] {
            assert!((3000.0..5000.0).contains(&ess), "seed {seed}: {ess}");
        }
        assert!(r_hat(&d).unwrap() < 1.01);
    }
}

#[test]
fn ess_of_an_autoregression_is_its_theory_and_may_exceed_the_draws() {
    // The mean of an autoregression has S (1 - phi) / (1 + phi) effective draws.
    for phi in [-0.5, -0.3, 0.3, 0.7, 0.9] {
        let x = autoregression(7, 8, 5000, phi);
        let ratio = ess_mean(&draws(&x)).unwrap() / (40_000.0 * (1.0 - phi) / (1.0 + phi));
        assert!((0.85..1.15).contains(&ratio), "phi {phi}: {ratio}");
    }
    // Beyond S log10 S nothing is believed.
    let strongly = ess_mean(&draws(&autoregression(8, 4, 1000, -0.95))).unwrap();
    assert!((strongly - 4000.0 * 4000_f64.log10()).abs() < 1e-9);
}

#[test]
fn monte_carlo_errors_are_the_spread_over_replications() {
    let (mut means, mut sds, mut medians) = (Vec::new(), Vec::new(), Vec::new());
    let mut stated = [0.0; 3];
    let replications = 400;
    for seed in 0..replications {
        let d = draws(&autoregression(1000 + seed, 4, 250, 0.6));
        means.push(mean(d.values()));
        sds.push(variance(d.values()).sqrt());
        medians.push(d.quantile(0.5));
        for (sum, error) in stated.iter_mut().zip([mcse_mean(&d), mcse_sd(&d), mcse_quantile(&d, 0.5)]) {
            *sum += error.unwrap() / replications as f64;
        }
    }
    for (stated, found) in stated.iter().zip([means, sds, medians]) {
        let ratio = stated / variance(&found).sqrt();
        // The spread of 400 replications is itself known to 1 / sqrt(800) = 3.5 %.
        assert!((0.88..1.14).contains(&ratio), "{ratio}");
    }
}

#[test]
fn ranks_do_not_see_monotone_transforms() {
    let x = autoregression(9, 4, 200, 0.5);
    let transformed: Vec<Vec<f64>> = x.iter().map(|c| c.iter().map(|v| v.exp()).collect()).collect();
    let (a, b) = (draws(&x), draws(&transformed));
    assert_eq!(ess_bulk(&a), ess_bulk(&b));
    assert_eq!(ess_tail(&a), ess_tail(&b));
    // Powers of two scale without rounding, so also the folded ranks stay.
    let scaled: Vec<Vec<f64>> = x.iter().map(|c| c.iter().map(|v| 8.0 * v).collect()).collect();
    assert_eq!(r_hat(&a), r_hat(&draws(&scaled)));
}

#[test]
fn order_of_chains_does_not_matter() {
    let x = autoregression(10, 4, 151, 0.8);
    let turned: Vec<Vec<f64>> = [2, 0, 3, 1].iter().map(|&c| x[c].clone()).collect();
    let (a, b) = (summary(&x), summary(&turned));
    let pairs = [
        (a.r_hat, b.r_hat),
        (a.ess_bulk, b.ess_bulk),
        (a.ess_tail, b.ess_tail),
        (a.mcse_mean, b.mcse_mean),
        (a.mcse_sd, b.mcse_sd),
        (a.mean, b.mean),
        (a.sd, b.sd),
    ];
    for (a, b) in pairs {
        assert!((a.unwrap() / b.unwrap() - 1.0).abs() < 1e-10);
    }
    assert_eq!((a.q05, a.q25, a.q50, a.q75, a.q95), (b.q05, b.q25, b.q50, b.q75, b.q95));
}

#[test]
fn a_large_mean_does_not_cancel_the_spread() {
    // Multiples of 2^-10, so that adding 2^30 (about 1e9) is exact and nothing may change but the location.
    let grid = |v: &f64| (v * 1024.0).round() / 1024.0;
    let x: Vec<Vec<f64>> = autoregression(11, 4, 100, 0.3).iter().map(|c| c.iter().map(grid).collect()).collect();
    let far: Vec<Vec<f64>> = x.iter().map(|c| c.iter().map(|v| v + 1_073_741_824.0).collect()).collect();
    let (near, far) = (summary(&x), summary(&far));
    for (a, b) in [
        (near.sd, far.sd),
        (near.mcse_mean, far.mcse_mean),
        (near.mcse_sd, far.mcse_sd),
        (near.ess_bulk, far.ess_bulk),
        (near.r_hat, far.r_hat),
    ] {
        assert!((a.unwrap() / b.unwrap() - 1.0).abs() < 1e-6, "{a:?} against {b:?}");
    }
    let tiny: Vec<f64> = (0..1000).map(|i| 1e9 + f64::from(i % 3) * 1e-6).collect();
    assert!(variance(&tiny) > 0.0 && variance(&tiny) < 1e-11);
    assert_eq!(variance(&[1e9 + 0.1; 1000]), 0.0);
}

#[test]
fn quantiles_agree_with_sorted_draws() {
    let x = autoregression(12, 3, 51, 0.0);
    let mut sorted = x.concat();
    sorted.sort_by(f64::total_cmp);
    let d = draws(&x);
    // 153 draws: the quantile at k / 152 is the k-th from 0.
    for k in [0, 1, 38, 76, 114, 151, 152] {
        assert!((d.quantile(k as f64 / 152.0) - sorted[k]).abs() < 1e-12);
    }
    assert!((d.quantile(0.05) - (0.4 * sorted[7] + 0.6 * sorted[8])).abs() < 1e-12);
    assert_eq!((mcse_quantile(&d, 0.0), mcse_quantile(&d, 1.0), ess_quantile(&d, f64::NAN)), (None, None, None));
}

#[test]
fn constants_are_called_constant() {
    let s = summary(&[vec![0.3; 50], vec![0.3; 50]]);
    assert!(s.constant);
    assert_eq!((s.r_hat, s.ess_bulk, s.ess_tail), (None, Some(100.0), Some(100.0)));
    assert_eq!((s.mean, s.sd, s.mcse_mean, s.mcse_sd), (Some(0.3), Some(0.0), Some(0.0), None));
    // A row sum of a simplex is 1 up to rounding.
    let rounding: Vec<f64> = (0..50).map(|i| 1.0 + f64::from(i % 3) * f64::EPSILON).collect();
    let s = summary(&[rounding.clone(), rounding]);
    assert!(s.constant);
    assert_eq!((s.r_hat, s.ess_bulk, s.ess_tail), (None, Some(100.0), Some(100.0)));
    assert!(summary(&[vec![0.0; 8], vec![-0.0; 8]]).constant);
}

#[test]
fn chains_that_stand_still_at_different_places_are_not_constant() {
    let s = summary(&[vec![1.0; 100], vec![2.0; 100], vec![1.0; 100], vec![3.0; 100]]);
    assert!(!s.constant);
    assert_eq!(s.r_hat, Some(f64::INFINITY));
    assert!(s.ess_bulk.unwrap() < 5.0);
    // A difference of one part in 10^12 is not rounding.
    assert_eq!(summary(&[vec![1.0; 10], vec![1.0 + 1e-12; 10]]).r_hat, Some(f64::INFINITY));
    // Only the middle draw of an odd chain differs, and the halves do not hold it.
    let s = summary(&[vec![1.0, 1.0, 9.0, 1.0, 1.0], vec![1.0; 5]]);
    assert!(!s.constant && s.r_hat.is_none());
}

#[test]
fn a_stuck_chain_is_seen() {
    for (place, most) in [(0.4, 1000.0), (1.0, 60.0), (2.5, 30.0)] {
        let mut x = autoregression(13, 4, 1000, 0.0);
        x[2] = vec![place; 1000];
        let s = summary(&x);
        // Even one that is stuck in the middle costs most of the draws, and its distances from the median show it.
        assert!(s.ess_bulk.unwrap() < most, "at {place}: {:?}", s.ess_bulk);
        assert!(s.r_hat.unwrap() > 1.05, "at {place}: {:?}", s.r_hat);
    }
    // One that moves once only.
    let mut x = autoregression(14, 4, 1000, 0.0);
    x[1] = (0..1000).map(|t| if t < 500 { -1.0 } else { 1.0 }).collect();
    let s = summary(&x);
    assert!(s.ess_bulk.unwrap() < 100.0 && s.r_hat.unwrap() > 1.05);
}

#[test]
fn what_cannot_be_judged_says_why_and_never_is_nan() {
    let short = summary(&[vec![1.0, 2.0, 3.0], vec![2.0, 3.0, 4.0]]);
    assert_eq!(short.unjudged, Some(Unjudged::TooFewDraws { chain: 0, draws: 3 }));
    assert_eq!((short.mean, short.q50, short.r_hat, short.ess_bulk), (Some(2.5), Some(2.5), None, None));
    let unequal = summary(&[vec![1.0; 9], vec![2.0; 8]]);
    assert_eq!(unequal.unjudged, Some(Unjudged::UnequalChains { chain: 1, draws: 8, first: 9 }));
    let broken = summary(&[vec![1.0; 9], vec![1.0, f64::NAN, 2.0]]);
    assert_eq!(broken.unjudged, Some(Unjudged::NonFinite { chain: 1, draw: 1 }));
    assert_eq!((broken.mean, broken.sd, broken.q05), (None, None, None));
    let none = summary(&[]);
    assert_eq!((none.unjudged, none.mean, none.q50), (Some(Unjudged::NoChains), None, None));
    let empty = summary(&[vec![], vec![]]);
    assert_eq!((empty.mean, empty.sd, empty.q50), (None, None, None));
    // Squares overflow or underflow: ranks still judge, the rest is absent.
    for scale in [1e300, 1e308, 1e-300] {
        let x: Vec<Vec<f64>> =
            autoregression(15, 4, 50, 0.0).iter().map(|c| c.iter().map(|v| v / 5.0 * scale).collect()).collect();
        let s = summary(&x);
        assert!(s.ess_bulk.unwrap() > 50.0 && s.r_hat.unwrap() < 1.2);
        for value in [s.mean, s.sd, s.mcse_mean, s.mcse_sd, s.q05, s.q95].into_iter().flatten() {
            assert!(value.is_finite());
        }
    }
    assert_eq!(bfmi(&[1.0; 10]), None);
    assert_eq!(bfmi(&[1.0, f64::NAN, 2.0, 3.0, 4.0]), None);
    assert_eq!(bfmi(&[1.0, 2.0, 1.0]), None);
}

#[test]
fn bfmi_of_independent_energies_is_two() {
    let x = autoregression(16, 1, 20_000, 0.0);
    assert!((bfmi(&x[0]).unwrap() - 2.0).abs() < 0.06);
}

#[test]
fn orientation_is_orthogonal_and_refuses_what_has_none() {
    let anchor = [2.0, 1.0, 0.5, 0.1, 1.0, -1.0, 3.0, 0.2, 0.5, -0.3, 1.0, 1.0, 0.7, 0.2, -2.0, 1.5];
    let found = probes(&[&anchor], 4).unwrap();
    let q = |i: usize, j: usize| {
        let at = found.names.iter().position(|name| *name == format!("Q_{i}_{j}")).unwrap();
        found.values[at][0][0]
    };
    for i in 0..4 {
        for j in 0..4 {
            let dot: f64 = (0..4).map(|k| q(k, i) * q(k, j)).sum();
            assert!((dot - f64::from(u8::from(i == j))).abs() < 1e-14);
            // R = Q' A' is upper triangular with a positive diagonal.
            let r: f64 = (0..4).map(|k| q(k, i) * anchor[j * 4 + k]).sum();
            assert!(if i == j { r > 0.0 } else { i < j || r.abs() < 1e-14 });
        }
    }
    // Mirroring one factor changes the sign of the determinant.
    let mirrored: Vec<f64> = anchor.iter().enumerate().map(|(at, w)| if at % 4 == 1 { -w } else { *w }).collect();
    assert_eq!(probes(&[&mirrored], 4).unwrap().values[0][0][0], -found.values[0][0][0]);

    assert!(matches!(probes(&[&[1.0]], 1), Err(OrientationError::TooFewFactors { factors: 1 })));
    assert!(matches!(probes(&[&[1.0; 5]], 2), Err(OrientationError::Shape { chain: 0, values: 5, factors: 2 })));
    let bad = [1.0, 0.0, 0.0, 1.0, 1.0, f64::NAN, 0.0, 1.0];
    assert_eq!(probes(&[&bad], 2), Err(OrientationError::NonFinite { chain: 0, draw: 1 }));
    for singular in [[1.0, 2.0, 2.0, 4.0], [0.0, 0.0, 1.0, 1.0], [0.1, 0.3, 0.3, 0.9]] {
        assert!(matches!(probes(&[&singular], 2), Err(OrientationError::Singular { chain: 0, draw: 0, .. })));
    }
    // Nearly dependent, but not singular.
    let near = probes(&[&[1.0, 1.0, 1.0, 1.0 + 1e-9]], 2).unwrap();
    assert!((near.values[1][0][0] - 0.5_f64.sqrt()).abs() < 1e-15);
    assert_eq!(near.values[0][0][0], 1.0);
}

#[test]
fn mixtures_agree_with_brute_force_and_refuse_what_is_none() {
    let (m, v) = ([-1.0, 0.5, 4.0], [0.3, 2.0, 0.01]);
    let mixture = Mixture::new(&m, &v).unwrap();
    let (width, low) = (1e-4, -12.0);
    let density = |y: f64| mixture.log_density(y).unwrap().exp();
    let mass: f64 = (0..140_000).map(|i| density(low + (f64::from(i) + 0.5) * width)).sum::<f64>() * width;
    assert!((mixture.cdf(2.0) - mass).abs() < 1e-8);
    let naive = (m.iter().zip(v).map(|(m, v): (&f64, f64)| (-(2.0 - m).powi(2) / (2.0 * v)).exp() / v.sqrt()))
        .sum::<f64>()
        / (3.0 * std::f64::consts::TAU.sqrt());
    assert!((density(2.0) / naive - 1.0).abs() < 1e-14);
    for p in [1e-12, 1e-3, 0.2, 0.5, 0.9, 1.0 - 1e-9] {
        let quantile = mixture.quantile(p).unwrap();
        assert!((mixture.cdf(quantile) / p - 1.0).abs() < 1e-12);
        assert!(mixture.cdf(quantile) >= p && mixture.cdf(quantile.next_down()) < p);
    }
    // Far out, where every density underflows, the logarithm is still there.
    assert!((mixture.log_density(1e6).unwrap() + 0.25 * (1e6_f64 - 0.5).powi(2)).abs() < 10.0);

    let point = Mixture::new(&[1.0, 1.0], &[0.0, 0.0]).unwrap();
    assert_eq!(point.interval(0.5), Ok((1.0, 1.0)));
    assert_eq!(point.log_density(0.0), Err(MixtureError::NoDensity { component: 0 }));
    assert_eq!(Mixture::new(&[], &[]).err(), Some(MixtureError::Empty));
    assert_eq!(Mixture::new(&[1.0], &[]).err(), Some(MixtureError::Lengths { means: 1, variances: 0 }));
    let negative = Mixture::new(&[1.0, 2.0], &[1.0, -1e-9]).err();
    assert_eq!(negative, Some(MixtureError::Component { component: 1, mean: 2.0, variance: -1e-9 }));
    for p in [0.0, 1.0, -0.1, f64::NAN] {
        assert!(matches!(mixture.quantile(p), Err(MixtureError::Probability { .. })));
        assert!(matches!(mixture.interval(p), Err(MixtureError::Probability { .. })));
    }
}

#[test]
fn quantile_errors_are_order_statistics_of_the_beta_distribution() {
    // Independent draws: E is near S, and the 15.9 % and 84.1 % points of the beta distribution are one standard error
    // sqrt(p (1 - p) / S) either way, here counted in order statistics of the grid 1, 2, ... S.
    let count = 4000_usize;
    let place = |i: usize| ((i * 1597) % count) as f64;
    let x: Vec<Vec<f64>> = (0..4).map(|c| (0..1000).map(|t| place(c * 1000 + t)).collect()).collect();
    let d = draws(&x);
    for p in [0.05, 0.5, 0.9] {
        let ess = ess_quantile(&d, p).unwrap();
        let expected = count as f64 * (p * (1.0 - p) / ess).sqrt();
        assert!((mcse_quantile(&d, p).unwrap() / expected - 1.0).abs() < 0.03 + 1.0 / expected);
    }
}
