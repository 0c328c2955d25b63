//! Analytic derivatives of values, norms, supports and integrals, by central differences.

use super::*;

/// Central difference with one Richardson step of `f` in parameter `i` of the response.
fn difference(response: &Response, i: usize, f: &dyn Fn(&Response) -> f64) -> f64 {
    let (family, values) = (response.family(), response.values());
    let h = 1e-3 * values[i].abs().max(0.03);
    let at = |h: f64| {
        let mut moved = values.clone();
        moved[i] += h;
        // A shape of 1 may not be lowered; the formulas hold below it.
        f(&family.unchecked(&moved).unwrap())
    };
    let central = |h: f64| (at(h) - at(-h)) / (2.0 * h);
    let (a, b, c) = (central(h), central(0.5 * h), central(0.25 * h));
    let (ab, bc) = ((4.0 * b - a) / 3.0, (4.0 * c - b) / 3.0);
    (16.0 * bc - ab) / 15.0
}

/// Curves whose neighbours are curves, too.
fn interior() -> Vec<Response> {
    let mut all = examples();
    all.retain(|r| !matches!(r, Response::Gamma { shape: 1.0, .. } | Response::Sampled { .. }));
    all
}

#[test]
fn values() {
    for response in interior() {
        let base = curve(&response);
        let (lo, hi) = base.support();
        for share in [0.04, 0.11, 0.2, 0.35, 0.5, 0.7, 0.9] {
            let u = lo + share * (hi - lo);
            for (i, found) in base.gradient(u).into_iter().enumerate() {
                let wanted = difference(&response, i, &|r| curve(r).value(u));
                let gap = (found - wanted).abs();
                assert!(gap < 2e-9 * (1.0 + wanted.abs()), "{response:?}, {i} at {u}: {found} and {wanted}");
            }
        }
    }
}

#[test]
fn norms() {
    for response in interior() {
        for (i, found) in curve(&response).norm_gradient().into_iter().enumerate() {
            let wanted = difference(&response, i, &|r| curve(r).norm());
            assert!((found - wanted).abs() < 1e-9 * (1.0 + wanted.abs()), "{response:?}, {i}: {found} and {wanted}");
        }
    }
}

#[test]
fn ends_of_the_support() {
    for response in interior() {
        for (i, (first, last)) in support::end_slopes(&response).into_iter().enumerate() {
            let first_wanted = difference(&response, i, &|r| support::ends(r).0);
            let last_wanted = difference(&response, i, &|r| support::ends(r).1);
            assert!((first - first_wanted).abs() < 1e-9 * (1.0 + first.abs()));
            assert!((last - last_wanted).abs() < 1e-8 * (1.0 + last.abs()), "{response:?}, {i}: {last} {last_wanted}");
        }
    }
}

#[test]
fn integrals_against_a_line() {
    for response in interior() {
        let base = curve(&response);
        let (lo, hi) = base.support();
        // An interval that holds the whole support, and stays clear of the ends when they move.
        let (l, h) = (lo - 0.3 * (hi - lo) - 0.5, hi + 0.2 * (hi - lo) + 0.5);
        let mut found = vec![(0.0, 0.0); base.parameter_count()];
        let (both, alone) = (base.spread_gradient(l, h, &mut found), base.spread(l, h));
        assert!((both.0 - alone.0).abs() < 1e-14 && (both.1 - alone.1).abs() < 1e-14);
        for (end, factors) in base.moving_ends() {
            for (pair, factor) in found.iter_mut().zip(factors) {
                pair.0 += factor * (h - end) / (h - l);
                pair.1 += factor * (end - l) / (h - l);
            }
        }
        for (i, pair) in found.into_iter().enumerate() {
            let at_l = difference(&response, i, &|r| curve(r).spread(l, h).0);
            let at_h = difference(&response, i, &|r| curve(r).spread(l, h).1);
            let scale = 1.0 + at_l.abs() + at_h.abs();
            assert!((pair.0 - at_l).abs() < 1e-9 * scale, "{response:?}, {i}: {pair:?} {at_l}");
            assert!((pair.1 - at_h).abs() < 1e-9 * scale, "{response:?}, {i}: {pair:?} {at_h}");
        }
    }
}

#[test]
fn an_exponential_curve_has_an_infinite_derivative_in_its_shape_at_the_onset() {
    let base = curve(&build("gamma", &[("shape", 1.0)]).unwrap());
    assert_eq!(base.gradient(0.0)[0], f64::NEG_INFINITY);
    assert!(base.gradient(1e-9).iter().all(|g| g.is_finite()));
    // Its integral has a finite one: the difference to the right of shape 1.
    let mut slopes = [(0.0, 0.0); 3];
    base.spread_gradient(0.0, 2.0, &mut slopes);
    let at = |shape: f64| curve(&build("gamma", &[("shape", shape)]).unwrap()).spread(0.0, 2.0).0;
    let h = 1e-4;
    let wanted = (-3.0 * at(1.0) + 4.0 * at(1.0 + h) - at(1.0 + 2.0 * h)) / (2.0 * h);
    assert!((slopes[0].0 - wanted).abs() < 1e-6, "{} {wanted}", slopes[0].0);
}
