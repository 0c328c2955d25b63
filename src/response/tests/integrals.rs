//! Norms and integrals against lines, by adaptive quadrature of the values.

use super::*;

/// The support cut at the sampled lags and near the onset, where adaptive quadrature wants help.
fn cuts(response: &Response) -> Vec<f64> {
    let (lo, hi) = response.support();
    let mut cuts = vec![lo, lo + 1e-6 * (hi - lo), lo + 1e-3 * (hi - lo), lo + 0.05 * (hi - lo), hi];
    if let Response::Sampled { lags, .. } = response {
        cuts.clone_from(lags);
    }
    cuts
}

fn slow(response: &Response, f: &dyn Fn(f64) -> f64, l: f64, h: f64) -> f64 {
    let mut points = cuts(response);
    points.retain(|u| l < *u && *u < h);
    let (lo, hi) = response.support();
    points.insert(0, l.max(lo));
    points.push(h.min(hi));
    points.windows(2).map(|w| if w[1] > w[0] { adaptive(f, w[0], w[1], 1e-14) } else { 0.0 }).sum()
}

#[test]
fn every_curve_has_unit_norm() {
    for response in examples() {
        let curve = curve(&response);
        let (lo, hi) = curve.support();
        let square = slow(&response, &|u| curve.value(u).powi(2), lo, hi);
        assert!((square - 1.0).abs() < 2e-12, "{response:?}: {square}");
    }
}

#[test]
fn spread_is_the_integral_against_lines() {
    for response in examples() {
        let curve = curve(&response);
        let (lo, hi) = curve.support();
        let length = hi - lo;
        // Cells of several widths, inside the support, over either end, over all of it, and outside.
        for (from, width) in
            [(0.0, 0.01), (0.013, 0.02), (0.1, 0.05), (0.4, 0.3), (0.9, 0.5), (-0.2, 0.25), (-0.1, 1.3), (-0.5, 0.3)]
        {
            let (l, h) = (lo + from * length, lo + (from + width) * length);
            let (at_l, at_h) = curve.spread(l, h);
            let slow_l = slow(&response, &|u| curve.value(u) * (h - u) / (h - l), l, h);
            let slow_h = slow(&response, &|u| curve.value(u) * (u - l) / (h - l), l, h);
            assert!((at_l - slow_l).abs() < 1e-11, "{response:?} [{l}, {h}]: {at_l} and {slow_l}");
            assert!((at_h - slow_h).abs() < 1e-11, "{response:?} [{l}, {h}]: {at_h} and {slow_h}");
        }
    }
}

#[test]
fn closed_forms_of_the_square_agree_with_its_quadrature() {
    // The quadrature of the definition is a second way to the norm for every family that has a closed form.
    for response in examples() {
        let curve = curve(&response);
        let Some((square, slopes)) = curve.raw.square() else { continue };
        let (wanted, wanted_slopes) = curve.integrated_square();
        // The terms of the closed form are up to ten thousand times as large as the result where they cancel.
        assert!((square - wanted).abs() < 1e-12 * wanted, "{response:?}: {square} and {wanted}");
        for (a, b) in slopes.iter().zip(&wanted_slopes) {
            assert!((a - b).abs() < 1e-12 * (wanted + b.abs()), "{response:?}: {slopes:?} and {wanted_slopes:?}");
        }
    }
}

#[test]
fn swapping_the_constants_leaves_a_bateman_curve_unchanged() {
    let a = curve(&build("bateman", &[("rise", 0.4), ("decay", 2.2)]).unwrap());
    let b = curve(&build("bateman", &[("rise", 2.2), ("decay", 0.4)]).unwrap());
    assert!((a.norm() - b.norm()).abs() < 1e-15);
    for u in [0.0, 0.3, 1.0, 7.0, 60.0, 90.0] {
        assert_eq!(a.value(u) * a.norm(), b.value(u) * b.norm());
        let (da, db) = (a.gradient(u), b.gradient(u));
        assert!((da[0] - db[1]).abs() < 1e-14 && (da[1] - db[0]).abs() < 1e-14);
    }
}

#[test]
fn nearly_equal_bateman_constants_keep_all_digits() {
    // Through equal constants the curve is smooth: v exp(-v / r) / r^2 with a correction of first order.
    for gap in [0.0, 1e-15, 1e-12, 1e-9, 1e-7] {
        let curve = curve(&build("bateman", &[("rise", 1.5), ("decay", 1.5 + gap)]).unwrap());
        for v in [1e-3, 0.5, 2.0, 10.0, 40.0] {
            let limit = v * (-v / 1.5f64).exp() / 2.25;
            let first_order = limit * (0.5 * v / 2.25 - 1.0 / 1.5) * gap;
            let found = curve.value(v) * curve.norm();
            assert!((found - limit - first_order).abs() < 1e-14 + 10.0 * gap * gap, "{gap} {v}");
        }
    }
}

#[test]
fn bach_is_the_convolution_it_claims_to_be() {
    for response in examples() {
        let Response::Bach { t0, sigma, lambda1, lambda2, lag } = response else { continue };
        let curve = curve(&response);
        for v in [0.0, 0.2, 1.0, 3.0, 8.0, 25.0, 89.0] {
            let bell = |w: f64| (-0.5 * ((w - t0) / sigma).powi(2)).exp();
            let f = |w: f64| bell(w) * ((-lambda1 * (v - w)).exp() + (-lambda2 * (v - w)).exp());
            let middle = t0.min(v);
            let slow = adaptive(&f, 0.0, middle, 1e-14) + adaptive(&f, middle, v, 1e-14);
            let found = curve.value(v + lag) * curve.norm();
            assert!((found - slow).abs() < 1e-12, "{response:?} at {v}: {found} and {slow}");
        }
    }
}

#[test]
fn steep_decay_of_bach_neither_overflows_nor_vanishes() {
    // With lambda sigma = 70, exp((lambda sigma)^2 / 2) is far outside double precision. The curve tends to bell / lambda.
    let given = [("t0", 5.0), ("sigma", 0.7), ("lambda1", 100.0), ("lambda2", 100.0)];
    let curve = curve(&build("bach", &given).unwrap());
    let peak = curve.value(5.0) * curve.norm();
    assert!((peak - 2.0 / 100.0).abs() < 1e-5, "{peak}");
}

#[test]
fn an_interval_lost_in_rounding_holds_nothing() {
    let far = curve(&build("gaussian", &[("lag", 1e12)]).unwrap());
    assert_eq!(far.spread(0.0, 1e-9), (0.0, 0.0));
    let mut slopes = [(1.0, 1.0); 2];
    assert_eq!(far.spread_gradient(0.0, 1e-9, &mut slopes), (0.0, 0.0));
    assert_eq!(slopes, [(0.0, 0.0); 2]);
}

#[test]
fn masses_of_gamma_curves_are_incomplete_gamma_functions() {
    use crate::math::special::inc_gamma_lower;
    for response in examples() {
        let mass = |v: f64| match response {
            Response::Gamma { shape, scale, .. } => Some(inc_gamma_lower(shape, v / scale)),
            Response::DoubleGamma { peak_shape, peak_scale, undershoot_shape, undershoot_scale, ratio, .. } => Some(
                inc_gamma_lower(peak_shape, v / peak_scale)
                    - ratio * inc_gamma_lower(undershoot_shape, v / undershoot_scale),
            ),
            _ => None,
        };
        let curve = curve(&response);
        let (lo, hi) = curve.support();
        for share in [1e-4, 0.01, 0.1, 0.3, 1.0] {
            let v = share * (hi - lo);
            let Some(wanted) = mass(v) else { continue };
            let (l, r) = curve.spread(lo, lo + v);
            let found = (l + r) * curve.norm();
            assert!((found - wanted).abs() < 1e-13, "{response:?} up to {v}: {found} and {wanted}");
        }
    }
}
