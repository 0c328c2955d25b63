//! Interval probabilities and truncated distributions against quadrature, differences and golden numbers.

use super::*;
use crate::math::transform::Transform;

/// The integral (or sum) of the density from `lo` to `hi` by Simpson's rule in a coordinate without end points.
fn slow_mass(d: &Distribution, lo: f64, hi: f64, args: &[f64]) -> f64 {
    if d.support.is_integer() {
        let mut sum = 0.0;
        let mut k = lo;
        while k <= hi {
            sum += (d.log_density)(k, args).exp();
            k += 1.0;
        }
        return sum;
    }
    // Heavy tails by x = mu + sigma sinh(u), ends of the support far away by log and logit.
    let role = |role: Role| argument_of(d, role, args).filter(|_| d.location_scale);
    let (mu, sigma) = (role(Role::Location).unwrap_or(0.0), role(Role::Scale).unwrap_or(1.0));
    let inner = match d.support {
        Support::Positive | Support::NonNegative | Support::AboveArgument => Transform::Lower(0.0),
        Support::UnitInterval => Transform::Interval(0.0, 1.0),
        _ => Transform::Identity,
    };
    let point = |u: f64| {
        if d.location_scale {
            (mu + sigma * u.sinh(), sigma * u.cosh())
        } else {
            (inner.to_physical(u), inner.derivative(u))
        }
    };
    let coordinate = |x: f64| {
        if d.location_scale { ((x - mu) / sigma).asinh() } else { inner.to_unconstrained(x).unwrap() }
    };
    let (a, b, steps) = (coordinate(lo), coordinate(hi), 4000);
    let width = (b - a) / f64::from(steps);
    let terms = (0..=steps).map(|i| {
        let (x, jacobian) = point(a + width * f64::from(i));
        let weight = if i == 0 || i == steps { 1.0 } else { 2.0 + 2.0 * f64::from(i % 2) };
        weight * jacobian * (d.log_density)(x.clamp(lo, hi), args).exp()
    });
    terms.sum::<f64>() * width / 3.0
}

#[test]
fn masses_are_integrals_of_the_density() {
    for_random_points(5, 30, |d, _, args| {
        let at = |p: f64| d.quantile(p, args);
        for (p, q) in [(0.05, 0.9), (0.3, 0.35), (0.5, 0.7), (0.9, 0.93), (0.99, 0.999), (0.4, 0.4001), (0.002, 0.1)] {
            let (lo, hi) = (at(p), at(q));
            // The last tail of a beta with a small b may round to one, where its density ends.
            if !d.support.contains(hi, args) {
                continue;
            }
            let mut slopes = [0.0; MAX_ARGUMENTS];
            let got = d.log_mass(lo, hi, args, &mut slopes[..args.len()]).exp();
            let want = slow_mass(d, lo, hi, args);
            let density_at = |x: f64| x.abs() * (d.log_density)(x, args).exp();
            let resolution = 4.0 * f64::EPSILON * (density_at(lo) + density_at(hi));
            assert!((got - want).abs() <= 1e-8 * want + resolution, "{} {args:?} {p} {q}: {got} {want}", d.name);
            if !d.support.is_integer() {
                assert!((got - (q - p)).abs() <= 1e-12 + resolution, "{} {args:?} {p} {q}: {got}", d.name);
            }
        }
    });
}

#[test]
fn mass_gradients_are_differences() {
    for_random_points(7, 40, |d, _, args| {
        if d.support.is_integer() {
            return;
        }
        let ends = [(0.1, 0.8), (1e-12, 1e-9), (0.999, 0.999_99), (0.2, 0.2001), (0.0, 0.3), (0.6, 1.0), (0.0, 1.0)];
        for (p, q) in ends {
            let (lo, hi) = (d.quantile(p, args), d.quantile(q, args));
            // The doubles below one are too coarse for the last tail of a beta with a small b.
            if lo == hi {
                continue;
            }
            let mut g = [0.0; MAX_ARGUMENTS];
            let value = d.log_mass(lo, hi, args, &mut g[..args.len()]);
            for i in 0..args.len() {
                if !d.arguments[i].mass_gradient {
                    assert!(g[i].is_nan());
                    continue;
                }
                // The ends of a support are corners of the mass; stay on the side of the interval.
                let is_corner =
                    d.support == Support::BetweenArguments || (d.support == Support::AboveArgument && i == 0);
                if is_corner && (p == 0.0 || q == 1.0) {
                    continue;
                }
                let mass = |v: f64| d.log_mass(lo, hi, &with(args, i, v), &mut [0.0; MAX_ARGUMENTS][..args.len()]);
                let scale = if d.support == Support::AboveArgument && i == 0 {
                    (lo - args[0]).min(0.1 * args[0])
                } else if d.arguments[i].role == Role::Bound {
                    argument_scale(d, args, i) * p.min(1.0 - q)
                } else {
                    0.1 * argument_scale(d, args, i)
                };
                let slope = difference(mass, args[i], 1e-2 * scale);
                let allowed = 1e-6 * g[i].abs() + 1e-11 * value.abs().max(1.0) / scale;
                assert!((slope - g[i]).abs() <= allowed, "{} {args:?} {p} {q} {i}: {} {slope}", d.name, g[i]);
            }
        }
    });
}

#[test]
fn truncation_renormalises() {
    for_random_points(8, 20, |d, _, args| {
        for (p, q) in [(0.1, 0.8), (1e-12, 1e-9), (0.9999, 0.999_999), (0.2, 0.2001)] {
            let (lo, hi) = (d.quantile(p, args), d.quantile(q, args));
            // The doubles below one are too coarse to divide the last tail of a beta with a small b.
            if !d.support.contains(hi, args) || hi - lo < 1e-9 * hi.abs() && !d.support.is_integer() {
                continue;
            }
            let mut g = [0.0; 1 + MAX_ARGUMENTS];
            let g = &mut g[..=args.len()];
            let mut m = [0.0; MAX_ARGUMENTS];
            let m = &mut m[..args.len()];
            let total = d.log_mass(lo, hi, args, m);
            for share in [0.0, 1e-6, 0.3, 0.5, 0.9, 1.0] {
                let x = d.truncated_quantile(share, lo, hi, args);
                assert!(lo <= x && x <= hi, "{} {args:?}", d.name);
                let below = (d.log_mass(lo, x, args, m) - total).exp();
                if d.support.is_integer() {
                    let before = (d.log_mass(lo, x - 1.0, args, m) - total).exp();
                    assert!(below >= share * (1.0 - 1e-11) && (before < share || x == lo), "{} {args:?}", d.name);
                } else {
                    // The spacing of the doubles near the interval limits what can be met.
                    let resolution = 4.0 * f64::EPSILON * x.abs() * ((d.log_density)(x, args) - total).exp();
                    assert!((below - share).abs() <= 1e-11 * share + resolution, "{} {args:?} {below} {share}", d.name);
                }
                let value = d.truncated_log_density(x, lo, hi, args, g);
                let mut plain = [0.0; 1 + MAX_ARGUMENTS];
                let want = (d.gradient)(x, args, &mut plain[..=args.len()]) - total;
                assert!((value - want).abs() <= 1e-13 * want.abs().max(total.abs()).max(1.0), "{}", d.name);
                d.log_mass(lo, hi, args, m);
                for i in 0..args.len() {
                    let slope = plain[1 + i] - m[i];
                    assert!(g[1 + i] == slope || (slope.is_nan() && g[1 + i].is_nan()), "{}", d.name);
                }
            }
            assert_eq!(d.truncated_log_density(hi + 1.0 + hi.abs(), lo, hi, args, g), f64::NEG_INFINITY);
            assert!(d.truncated_log_density(lo, 2.0, 1.0, args, g).is_nan());
            assert!(d.truncated_quantile(0.5, 2.0, 1.0, args).is_nan());
        }
    });
}

#[test]
fn far_and_narrow_intervals_keep_their_digits() {
    let normal = find("normal").unwrap();
    let mut g = [0.0; 2];
    // A tenth of a unit under a density that is flat over a million.
    let value = normal.log_mass(0.2, 0.3, &[0.0, 1e6], &mut g);
    let want = 0.1f64.ln() - 1e6f64.ln() - crate::math::special::HALF_LN_2PI;
    assert!((value - want).abs() < 1e-13 && (g[1] + 1e-6).abs() < 1e-17, "{value} {want} {g:?}");
    // Mills' ratio: far out the mass beyond c is density / c (1 - 1/c^2 + 3/c^4 - 15/c^6).
    let c = 1e3f64;
    let beyond = normal.log_mass(c, f64::INFINITY, &[0.0, 1.0], &mut g);
    let r = 1.0 / (c * c);
    let want = (normal.log_density)(c, &[0.0, 1.0]) - c.ln() + (-r + 3.0 * r * r - 15.0 * r * r * r).ln_1p();
    assert!((beyond / want - 1.0).abs() < 1e-14);
    // The derivative in the mean is the hazard.
    assert!((g[0] / (c + 1.0 / c) - 1.0).abs() < 1e-9, "{}", g[0]);
    assert!(normal.log_mass(f64::NAN, 1.0, &[0.0, 1.0], &mut g).is_nan());
    assert_eq!(normal.log_mass(2.0, 1.0, &[0.0, 1.0], &mut g), f64::NEG_INFINITY);
    assert_eq!(normal.log_mass(2.0, 2.0, &[0.0, 1.0], &mut g), f64::NEG_INFINITY);
}

#[test]
fn masses_about_a_corner_are_exact() {
    let laplace = find("laplace").unwrap();
    let args = [0.7, 2.0];
    for (below, above) in [(0.1, 0.05), (1e-6, 3e-6), (1e-3, 4.0)] {
        let (lo, hi) = (args[0] - below, args[0] + above);
        let mut g = [0.0; 2];
        let value = laplace.log_mass(lo, hi, &args, &mut g);
        let mass = |mu: f64, sigma: f64| -0.5 * ((-(hi - mu) / sigma).exp_m1() + (-(mu - lo) / sigma).exp_m1());
        let want = mass(args[0], args[1]);
        assert!((value.exp() / want - 1.0).abs() < 1e-14 + 4.0 * f64::EPSILON / below.min(above), "{value} {want}");
        let in_mu = 0.25 * ((-below / args[1]).exp() - (-above / args[1]).exp()) / want;
        let in_sigma = -0.125 * (below * (-below / 2.0).exp() + above * (-above / 2.0).exp()) / want;
        assert!(
            (g[0] - in_mu).abs() < 1e-9 * in_mu.abs() && (g[1] - in_sigma).abs() < 1e-9,
            "{g:?} {in_mu} {in_sigma}"
        );
    }
}

#[derive(serde::Deserialize)]
struct Golden {
    priors: Vec<Prior>,
}

#[derive(serde::Deserialize)]
struct Prior {
    family: String,
    loc: f64,
    scale: f64,
    lower: serde_json::Value,
    upper: serde_json::Value,
    probabilities: Vec<f64>,
    quantiles: Vec<f64>,
    log_density: Vec<f64>,
}

#[test]
fn bounded_priors_match_golden_numbers() {
    let golden: Golden = serde_json::from_str(include_str!("../../../../tests/golden/gp_priors.json")).unwrap();
    assert!(golden.priors.len() >= 9);
    for prior in golden.priors {
        let number = |v: &serde_json::Value| v.as_f64().unwrap_or_else(|| v.as_str().unwrap().parse().unwrap());
        let (lo, hi) = (number(&prior.lower), number(&prior.upper));
        let d = find(&prior.family).unwrap();
        let args = [prior.loc, prior.scale];
        for ((p, want), log_density) in prior.probabilities.iter().zip(&prior.quantiles).zip(&prior.log_density) {
            let got = d.truncated_quantile(*p, lo, hi, &args);
            assert!((got / want - 1.0).abs() <= 1e-9, "{} {args:?} [{lo}, {hi}] {p}: {got}, not {want}", prior.family);
            let value = d.truncated_log_density(*want, lo, hi, &args, &mut [0.0; 3]);
            assert!((value / log_density - 1.0).abs() <= 1e-9, "{} {args:?} {value} {log_density}", prior.family);
        }
    }
}
