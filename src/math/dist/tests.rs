//! Every entry of the table against slow twins: differences, its expansion, its own draws.

mod densities;
mod truncation;

use super::*;
use crate::math::op::{Binary, Unary, logistic};
use crate::math::rng::{Purpose, stream};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution as _, StandardNormal};

/// Evaluates expressions on the spot.
#[derive(Default)]
struct OnTheSpot(Vec<f64>);

impl OnTheSpot {
    fn push(&mut self, v: f64) -> Ref {
        self.0.push(v);
        self.0.len() - 1
    }
}

impl Algebra for OnTheSpot {
    fn constant(&mut self, value: f64) -> Ref {
        self.push(value)
    }
    fn unary(&mut self, op: Unary, x: Ref) -> Ref {
        self.push(op.value(self.0[x]))
    }
    fn binary(&mut self, op: Binary, a: Ref, b: Ref) -> Ref {
        self.push(op.value(self.0[a], self.0[b]))
    }
}

/// Random arguments in their domains.
fn random_arguments(d: &Distribution, rng: &mut ChaCha8Rng) -> Vec<f64> {
    let mut args: Vec<f64> = Vec::new();
    for argument in d.arguments {
        let z: f64 = StandardNormal.sample(rng);
        args.push(match (argument.role, argument.domain) {
            (Role::Bound, _) => args.last().map_or(z, |lo| lo + (2.0 * z).exp()),
            (_, Domain::Real) => 1.5 * z,
            (_, Domain::Positive) => (0.8 * z).exp(),
            (_, Domain::NonNegativeInteger) => f64::from(rng.random_range(1..25)),
            (_, Domain::Probability | Domain::Proportion) => logistic(1.2 * z),
        });
    }
    if d.name == "beta_proportion" {
        // Shapes that leave no mass within a rounding of zero or one.
        args[1] += 4.0;
    }
    args
}

/// The argument with that role.
fn argument_of(d: &Distribution, role: Role, args: &[f64]) -> Option<f64> {
    d.arguments.iter().position(|a| a.role == role).map(|i| args[i])
}

/// How far `x` is from the corner of the density.
fn to_corner(d: &Distribution, x: f64, args: &[f64]) -> f64 {
    d.corner.map_or(f64::INFINITY, |i| (x - args[i]).abs())
}

/// Calls `check` with random arguments and a draw for every distribution.
fn for_random_points(seed: u64, points: usize, mut check: impl FnMut(&Distribution, f64, &[f64])) {
    let mut rng = stream(seed, 0, Purpose::Prediction);
    for d in DISTRIBUTIONS {
        for _ in 0..points {
            let args = random_arguments(d, &mut rng);
            let x = (d.draw)(&mut rng, &args);
            assert!(d.support.contains(x, &args), "{} {args:?}: {x}", d.name);
            check(d, x, &args);
        }
    }
}

/// A fourth-order central difference.
fn difference(f: impl Fn(f64) -> f64, at: f64, step: f64) -> f64 {
    (8.0 * (f(at + step) - f(at - step)) - (f(at + 2.0 * step) - f(at - 2.0 * step))) / (12.0 * step)
}

/// The length over which a function of argument `i` changes.
fn argument_scale(d: &Distribution, args: &[f64], i: usize) -> f64 {
    match (d.arguments[i].role, d.arguments[i].domain) {
        (Role::Bound, _) => args[1] - args[0],
        (Role::Location, _) => argument_of(d, Role::Scale, args).unwrap_or(1.0),
        (_, Domain::Positive) => args[i],
        (_, Domain::Probability | Domain::Proportion) => args[i].min(1.0 - args[i]),
        _ => 1.0,
    }
}

fn with(args: &[f64], i: usize, v: f64) -> Vec<f64> {
    let mut changed = args.to_vec();
    changed[i] = v;
    changed
}

#[test]
fn entries_are_complete() {
    for d in DISTRIBUTIONS {
        assert!(std::ptr::eq(find(d.name).unwrap(), d));
        assert!(d.arguments.len() <= MAX_ARGUMENTS && !d.doc.is_empty() && !d.formula.is_empty());
        let roles: Vec<Role> = d.arguments.iter().map(|a| a.role).collect();
        assert!(!d.location_scale || (roles.contains(&Role::Location) && roles.contains(&Role::Scale)));
        assert!(!d.support.is_integer() || d.arguments.iter().all(|a| !a.mass_gradient));
        let bounded = ["uniform", "pareto", "binomial", "binomial_logit", "beta_binomial"].contains(&d.name);
        assert_eq!(d.support.depends_on_arguments(), bounded);
        let (lo, hi) = d.support.bounding_arguments();
        let args = [0.25, 4.0, 9.0];
        let bounds = d.support.bounds(&args);
        assert!(lo.is_none_or(|i| bounds.0 == args[i]) && hi.is_none_or(|i| bounds.1 == args[i]));
        assert!(d.corner.is_none_or(|i| d.arguments[i].role == Role::Location));
    }
    assert!(find("gaussian").is_none());
}

#[test]
fn invalid_arguments_give_nan_and_outside_is_impossible() {
    for_random_points(1, 3, |d, x, args| {
        let mut g = [0.0; 4];
        let g = &mut g[..=args.len()];
        let mut rng = stream(1, 1, Purpose::Prediction);
        for (i, argument) in d.arguments.iter().enumerate() {
            let bad: &[f64] = match argument.domain {
                Domain::Real => &[f64::NAN, f64::INFINITY],
                Domain::Positive => &[f64::NAN, f64::INFINITY, 0.0, -1.0],
                Domain::NonNegativeInteger => &[f64::NAN, f64::INFINITY, -1.0, 2.5],
                Domain::Probability => &[f64::NAN, f64::INFINITY, -0.1, 1.1],
                Domain::Proportion => &[f64::NAN, f64::INFINITY, -0.1, 0.0, 1.0, 1.1],
            };
            for &v in bad {
                let args = with(args, i, v);
                assert!(!d.accepts(&args));
                assert!((d.log_density)(x, &args).is_nan(), "{} {args:?}", d.name);
                assert!((d.gradient)(x, &args, g).is_nan() && g.iter().all(|v| v.is_nan()), "{} {args:?}", d.name);
                assert!((d.log_tails)(x, &args).0.is_nan() && (d.log_tails)(x, &args).1.is_nan(), "{}", d.name);
                assert!(d.quantile(0.3, &args).is_nan() && (d.draw)(&mut rng, &args).is_nan(), "{}", d.name);
            }
        }
        assert!(d.accepts(args) && !d.accepts(&args[1..]));
        let (lo, hi) = d.support.bounds(args);
        for outside in [lo - 1.0, hi + 1.0, f64::NEG_INFINITY, f64::INFINITY] {
            assert!(!d.support.contains(outside, args));
            assert_eq!((d.log_density)(outside, args), f64::NEG_INFINITY, "{} {outside}", d.name);
            assert_eq!((d.gradient)(outside, args, g), f64::NEG_INFINITY, "{} {outside}", d.name);
            assert!(g.iter().all(|&v| v == 0.0), "{} {outside}", d.name);
        }
        if d.support.is_integer() {
            assert_eq!((d.log_density)(x + 0.5, args), f64::NEG_INFINITY);
        }
        assert_eq!((d.log_tails)(f64::NEG_INFINITY, args), (f64::NEG_INFINITY, 0.0), "{}", d.name);
        assert_eq!((d.log_tails)(f64::INFINITY, args), (0.0, f64::NEG_INFINITY), "{}", d.name);
        for far in [-1e300, 1e300] {
            let (below, above) = (d.log_tails)(far, args);
            let (none, all) = if far < 0.0 { (below, above) } else { (above, below) };
            assert!(d.support.is_integer() || (none < -1.0 && all <= 0.0), "{} {args:?} {far}", d.name);
        }
        for value in [(d.log_density)(f64::NAN, args), (d.gradient)(f64::NAN, args, g), d.cdf(f64::NAN, args)] {
            assert!(value.is_nan(), "{}", d.name);
        }
    });
    assert!(!find("uniform").unwrap().accepts(&[1.0, 1.0]));
    assert!((find("uniform").unwrap().log_density)(1.0, &[2.0, 1.0]).is_nan());
}

#[test]
fn gradients_are_differences() {
    for_random_points(2, 200, |d, x, args| {
        let mut g = [0.0; 4];
        let value = (d.gradient)(x, args, &mut g);
        assert!((value - (d.log_density)(x, args)).abs() <= 1e-14 * value.abs().max(1.0), "{} {args:?} {x}", d.name);
        if d.support.is_integer() {
            assert_eq!(g[0], 0.0);
        } else {
            let (lo, hi) = d.support.bounds(args);
            let spread = match argument_of(d, Role::Scale, args) {
                Some(scale) if d.location_scale => scale,
                _ => d.quantile(0.75, args) - d.quantile(0.25, args),
            };
            // Beyond the middle the density changes over the distance to it.
            let scale =
                spread.max(0.1 * (x - d.quantile(0.5, args)).abs()).min(x - lo).min(hi - x).min(to_corner(d, x, args));
            let slope = difference(|x| (d.log_density)(x, args), x, 1e-3 * scale);
            // The steps are only as exact as the doubles near x.
            let rounding = f64::EPSILON * x.abs() / (1e-3 * scale);
            let allowed = (1e-8 + rounding) * g[0].abs() + 1e-9 * value.abs().max(1.0) / scale;
            assert!((slope - g[0]).abs() <= allowed, "{} {args:?} {x}: {} {slope}", d.name, g[0]);
        }
        for i in 0..args.len() {
            if d.arguments[i].role == Role::Count {
                assert_eq!(g[1 + i], 0.0);
                continue;
            }
            let scale = argument_scale(d, args, i).min(match d.arguments[i].role {
                // The bounds may move up to x.
                Role::Bound => (x - args[0]).min(args[1] - x),
                _ if d.support == Support::AboveArgument && i == 0 => x - args[0],
                _ => to_corner(d, x, args),
            });
            let slope = difference(|v| (d.log_density)(x, &with(args, i, v)), args[i], 1e-3 * scale);
            let allowed = 1e-8 * g[1 + i].abs() + 1e-9 * value.abs().max(1.0) / scale;
            assert!((slope - g[1 + i]).abs() <= allowed, "{} {args:?} {x} {i}: {} {slope}", d.name, g[1 + i]);
        }
    });
}

#[test]
fn expansions_are_the_densities() {
    for_random_points(3, 200, |d, x, args| {
        let mut algebra = OnTheSpot::default();
        let x_ref = algebra.push(x);
        let refs: Vec<Ref> = args.iter().map(|&v| algebra.push(v)).collect();
        let result = (d.expand)(&mut algebra, x_ref, &refs);
        let want = (d.log_density)(x, args);
        let largest = algebra.0.iter().fold(1.0f64, |m, v| m.max(v.abs().min(1e3)));
        assert!((algebra.0[result] - want).abs() <= 1e-14 * largest.max(want.abs()), "{} {args:?} {x}", d.name);
    });
}

#[test]
fn quantiles_invert_the_distribution_function() {
    for_random_points(6, 50, |d, x, args| {
        let (below, above) = (d.log_tails)(x, args);
        assert!((below.exp() + above.exp() - 1.0).abs() < 1e-13);
        if d.support.is_integer() {
            let p = d.cdf(x, args);
            assert_eq!(d.quantile(p * (1.0 - 1e-9), args), x, "{} {args:?}", d.name);
            assert_eq!(d.quantile(0.0, args), 0.0);
        } else {
            // From the smaller tail, and with the error that a rounding of the probability leaves.
            let p = below.exp();
            let found = d.quantile(p, args);
            let density = (d.log_density)(x, args).exp();
            let allowed = 1e-13 * x.abs() + 2.0 * f64::EPSILON / density;
            assert!((found - x).abs() <= allowed, "{} {args:?}: {x} {found}", d.name);
        }
        assert_eq!((d.quantile(0.0, args), d.quantile(1.0, args)), d.support.bounds(args));
        assert!(d.quantile(-0.1, args).is_nan() && d.quantile(f64::NAN, args).is_nan());
    });
}

#[test]
fn draws_follow_the_distribution_function() {
    let draws = 20_000;
    let mut rng = stream(9, 0, Purpose::Prediction);
    for d in DISTRIBUTIONS {
        for _ in 0..4 {
            let args = random_arguments(d, &mut rng);
            let mut sample: Vec<f64> = (0..draws).map(|_| (d.draw)(&mut rng, &args)).collect();
            sample.sort_by(f64::total_cmp);
            let n = f64::from(draws);
            if d.support.is_integer() {
                // Chi-square over the outcomes, those of a small expectation joined to the next.
                let (mut statistic, mut cells, mut expected, mut seen, mut last) = (0.0, 0, 0.0, 0, 0.0);
                for k in 0..200 {
                    let upto = d.cdf(f64::from(k), &args);
                    expected += n * (upto - last);
                    seen += sample.iter().filter(|&&x| x == f64::from(k)).count();
                    last = upto;
                    if expected > 10.0 {
                        statistic += (seen as f64 - expected).powi(2) / expected;
                        cells += 1;
                        (expected, seen) = (0.0, 0);
                    }
                }
                let freedom = f64::from(cells - 1).max(1.0);
                assert!(statistic < freedom + 4.5 * (2.0 * freedom).sqrt(), "{} {args:?} {statistic} {cells}", d.name);
            } else {
                // Kolmogorov-Smirnov.
                let distance = sample.iter().enumerate().fold(0.0f64, |worst, (i, &x)| {
                    let (p, i) = (d.cdf(x, &args), i as f64);
                    worst.max((p - i / n).abs()).max(((i + 1.0) / n - p).abs())
                });
                assert!(distance * n.sqrt() < 2.1, "{} {args:?} {distance}", d.name);
            }
        }
    }
}

#[test]
fn extreme_counts() {
    let poisson = find("poisson_log").unwrap();
    let mut rng = stream(10, 0, Purpose::Prediction);
    assert_eq!((poisson.draw)(&mut rng, &[-800.0]), 0.0);
    assert_eq!((poisson.log_density)(3.0, &[800.0]), f64::NEG_INFINITY);
    let bernoulli = find("bernoulli_logit").unwrap();
    let mut g = [0.0; 2];
    // The improbable outcome and the probable one, each with its own small remainder.
    assert_eq!((bernoulli.gradient)(0.0, &[800.0], &mut g), -800.0);
    assert_eq!(g[1], -1.0);
    assert!(((bernoulli.gradient)(1.0, &[50.0], &mut g) / -(-50f64).exp() - 1.0).abs() < 1e-14);
    assert!((g[1] / (-50f64).exp() - 1.0).abs() < 1e-14);
    let binomial = find("binomial_logit").unwrap();
    assert_eq!((binomial.log_density)(0.0, &[0.0, 1.3]), 0.0);
}

/// The log density from the elementwise operations.
fn expanded(d: &Distribution, x: f64, args: &[f64]) -> f64 {
    let mut algebra = OnTheSpot::default();
    let x_ref = algebra.push(x);
    let refs: Vec<Ref> = args.iter().map(|&v| algebra.push(v)).collect();
    let result = (d.expand)(&mut algebra, x_ref, &refs);
    algebra.0[result]
}

#[test]
fn certain_outcomes() {
    let mut rng = stream(11, 0, Purpose::Prediction);
    let (bernoulli, binomial) = (find("bernoulli").unwrap(), find("binomial").unwrap());
    for (d, args, outcome, slope) in [
        (bernoulli, &[0.0][..], 0.0, -1.0),
        (bernoulli, &[1.0][..], 1.0, 1.0),
        (binomial, &[5.0, 0.0][..], 0.0, -5.0),
        (binomial, &[5.0, 1.0][..], 5.0, 5.0),
    ] {
        let mut g = [f64::NAN; 3];
        let g = &mut g[..=args.len()];
        assert!(d.accepts(args));
        assert!((d.gradient)(outcome, args, g).abs() < 1e-15);
        assert_eq!(g[args.len()], slope);
        assert!(expanded(d, outcome, args).abs() < 1e-15);
        assert_eq!((d.draw)(&mut rng, args), outcome);
        assert_eq!((d.cdf(outcome, args), d.cdf(outcome - 1.0, args)), (1.0, 0.0));
        let impossible = d.support.bounds(args).1 - outcome;
        assert_eq!((d.gradient)(impossible, args, g), f64::NEG_INFINITY);
        assert!(g.iter().all(|&v| v == 0.0));
        assert_eq!(expanded(d, impossible, args), f64::NEG_INFINITY);
    }
}

#[test]
fn limits_of_overdispersion_and_concentration() {
    let (poisson, negative) = (find("poisson").unwrap(), find("neg_binomial_2").unwrap());
    // A count with little overdispersion is Poisson, up to ((x - mu)^2 - x) / (2 phi).
    for x in [0.0, 3.0, 20.0] {
        let (got, limit) = ((negative.log_density)(x, &[4.0, 1e9]), (poisson.log_density)(x, &[4.0]));
        let want = limit + ((x - 4.0f64).powi(2) - x) / 2e9;
        assert!((got - want).abs() < 1e-12, "{x}: {got} {want}");
    }
    let log = find("neg_binomial_2_log").unwrap();
    for eta in [-800.0, 800.0] {
        let mut g = [0.0; 3];
        assert!((log.gradient)(3.0, &[eta, 2.0], &mut g).is_finite() && g.iter().all(|v| v.is_finite()), "{eta}");
    }
    // A concentrated angle is normal with variance 1 / kappa, also across the seam.
    let (angle, normal) = (find("von_mises").unwrap(), find("normal").unwrap());
    let end = std::f64::consts::PI - 1e-4;
    for (x, mu) in [(0.3001, 0.3), (-end, end)] {
        let turn = f64::sin(x - mu).atan2(f64::cos(x - mu));
        let got = (angle.log_density)(x, &[mu, 1e8]);
        let want = (normal.log_density)(turn, &[0.0, 1e-4]);
        assert!((got - want).abs() < 1e-7, "{x}: {got} {want}");
    }
}
