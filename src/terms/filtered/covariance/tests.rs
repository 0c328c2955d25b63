//! Covariances against double quadrature written out, golden numbers, differences, and each other.

use super::*;
use crate::response::{Curve, Response, build};
use crate::terms::filtered::kernel;
use serde_json::Value;

fn response(family: &str, parameters: &[(&str, f64)]) -> Response {
    build(family, parameters).unwrap()
}

fn form(response: &Response) -> Form {
    let count = response.family().parameters.len();
    Form::new(0, response, &vec![false; count]).unwrap()
}

/// The same with derivatives in shapes.
fn free_form(response: &Response) -> Form {
    let count = response.family().parameters.len();
    Form::new(0, response, &vec![true; count]).unwrap()
}

fn close(a: f64, b: f64, tolerance: f64, what: &str) {
    assert!((a - b).abs() <= tolerance, "{what}: {a:e} against {b:e}, difference {:e}", a - b);
}

fn every_kind() -> Vec<Response> {
    vec![
        Response::Identity,
        response("gaussian", &[("width", 0.7), ("lag", 0.4)]),
        response("gamma", &[("shape", 3.0), ("scale", 0.6), ("lag", -0.2)]),
        response("gamma", &[("shape", 2.4), ("scale", 0.8), ("lag", 0.1)]),
        response(
            "double_gamma",
            &[
                ("peak_shape", 4.0),
                ("peak_scale", 0.5),
                ("undershoot_shape", 9.0),
                ("undershoot_scale", 0.6),
                ("ratio", 0.3),
                ("lag", 0.15),
            ],
        ),
        response("bateman", &[("rise", 0.6), ("decay", 1.9), ("lag", 0.3)]),
        response("bach", &[("t0", 2.0), ("sigma", 0.6), ("lambda1", 0.9), ("lambda2", 0.4), ("lag", -0.4)]),
        Response::sampled(vec![-0.5, 0.3, 1.1, 2.0], vec![0.2, 1.0, -0.4, 0.1]).unwrap(),
    ]
}

/// Nodes and weights of a curve, its lag taken away: panels of a tenth of a second at most, over all that is not
/// negligible of a bell or a sum of exponentials.
fn nodes(r: &Response) -> Vec<(f64, f64)> {
    let lag = r.lag();
    let Some(curve) = Curve::new(r).unwrap() else { return vec![(0.0, 1.0)] };
    let gamma = |v: f64, n: f64, s: f64| {
        v.powf(n - 1.0) * (-v / s).exp() / (crate::math::special::ln_gamma(n).exp() * s.powf(n))
    };
    let (value, breaks): (Box<dyn Fn(f64) -> f64>, Vec<f64>) = match *r {
        Response::Gaussian { width, .. } => {
            (Box::new(move |v| (-0.5 * (v / width).powi(2)).exp()), (-9..=9).map(|i| width * f64::from(i)).collect())
        }
        Response::Gamma { shape, scale, .. } if shape.fract() == 0.0 => {
            (Box::new(move |v| gamma(v, shape, scale)), (0..=50).map(|i| scale * f64::from(i)).collect())
        }
        Response::DoubleGamma { peak_shape, peak_scale, undershoot_shape, undershoot_scale, ratio, .. } => (
            Box::new(move |v| gamma(v, peak_shape, peak_scale) - ratio * gamma(v, undershoot_shape, undershoot_scale)),
            (0..=150).map(|i| 0.25 * f64::from(i)).collect(),
        ),
        Response::Bateman { rise, decay, .. } => (
            Box::new(move |v| ((-v / decay).exp() - (-v / rise).exp()) / (decay - rise)),
            (0..=160).map(|i| 0.5 * f64::from(i)).collect(),
        ),
        _ => {
            let curve = curve.clone();
            let breaks = curve.breaks().to_vec();
            let norm = curve.norm();
            (Box::new(move |v| curve.value(v + lag) * norm), breaks)
        }
    };
    let mut out = Vec::new();
    for ends in breaks.windows(2) {
        let parts = ((ends[1] - ends[0]) / 0.5).ceil();
        for p in 0..parts as usize {
            let at = |share: f64| ends[0] + (ends[1] - ends[0]) * share / parts;
            sweep::panel(at(p as f64), at((p + 1) as f64), |u, w| out.push((u, w * value(u) / curve.norm())));
        }
    }
    out.retain(|(_, w)| w.abs() > 1e-12);
    out
}

/// The double integral written out. The Matérn covariance is smoothed at its kink by nothing: the inner sum is over
/// nodes, so that the rule converges slowly across the kink and is good to about 1e-6 of the whole.
fn written_out(rho: f64, a: &Response, b: &Response, lag: f64) -> f64 {
    let lag = lag - a.lag() + b.lag();
    let (p, q) = (nodes(a), nodes(b));
    p.iter().map(|(u, c)| q.iter().map(|(v, d)| c * d * kernel::matern32(rho, (lag - u + v).abs())).sum::<f64>()).sum()
}

#[test]
fn every_pair_equals_the_double_integral() {
    let kinds = every_kind();
    let rho = kernel::rate(2.1);
    let lags = [-3.3, 0.35, 2.2];
    for (first, a) in kinds.iter().enumerate() {
        for b in &kinds[first..] {
            let table = covariances(rho, &form(a), &form(b), &lags, false);
            for (i, &lag) in lags.iter().enumerate() {
                let expected = written_out(rho, a, b, lag);
                close(table.value(i), expected, 2e-6, &format!("{a:?} with {b:?} at {lag}"));
            }
        }
    }
}

#[test]
fn slopes_equal_differences() {
    let kinds = every_kind();
    let (rho, h) = (0.8, 2e-3);
    let lags = [-5.1, -0.3, 0.0, 0.9, 3.7];
    let weights = [0.3, -1.0, 0.7, 0.45, -0.2];
    for (first, a) in kinds.iter().enumerate() {
        for b in &kinds[first..] {
            let sum = |rho: f64, a: &Response, b: &Response| -> f64 {
                let table = covariances(rho, &free_form(a), &free_form(b), &lags, false);
                weights.iter().enumerate().map(|(i, w)| w * table.value(i)).sum()
            };
            let difference =
                |at: &dyn Fn(f64) -> f64| (8.0 * (at(h) - at(-h)) - (at(2.0 * h) - at(-2.0 * h))) / (12.0 * h);
            let moved = |r: &Response, i: usize, step: f64| {
                let mut values = r.values();
                values[i] += step;
                r.family().with(&values).unwrap()
            };
            for (fa, fb) in [(form(a), form(b)), (free_form(a), free_form(b))] {
                let pulled = covariances(rho, &fa, &fb, &lags, true).pull(&fa, &fb, &weights);
                let what = format!("{a:?} with {b:?}");
                close(pulled.in_rho, difference(&|s| sum(rho + s, a, b)), 1e-8, &format!("{what}, rho"));
                for (i, parameter) in a.family().parameters.iter().enumerate() {
                    if fa.computes(i) {
                        let expected = difference(&|s| sum(rho, &moved(a, i, s), b));
                        close(pulled.responses[0][i], expected, 2e-8, &format!("{what}, first {}", parameter.name));
                    }
                }
                for (i, parameter) in b.family().parameters.iter().enumerate() {
                    if fb.computes(i) {
                        let expected = difference(&|s| sum(rho, a, &moved(b, i, s)));
                        close(pulled.responses[1][i], expected, 2e-8, &format!("{what}, second {}", parameter.name));
                    }
                }
            }
        }
    }
}

#[test]
fn chains_equal_quadrature_of_the_same_curve() {
    // Shapes that are wanted send an integer shape through quadrature, which keeps the cut at 1e-8 of the mass.
    let rho = 0.9;
    let lags: Vec<f64> = (-20..=20).map(|i| 0.37 * f64::from(i)).collect();
    let kinds = every_kind();
    for a in kinds.iter().filter(|r| matches!(r, Response::Gamma { .. } | Response::DoubleGamma { .. })) {
        for b in &kinds {
            let (chain, quadrature) = (form(a), free_form(a));
            let exact = covariances(rho, &chain, &form(b), &lags, false);
            let other = covariances(rho, &quadrature, &form(b), &lags, false);
            let bound = chain.tail(&form(b)) + 1e-13;
            assert!(bound < 3e-7);
            for (i, lag) in lags.iter().enumerate() {
                close(exact.value(i), other.value(i), bound, &format!("{a:?} with {b:?} at {lag}"));
            }
        }
    }
}

#[test]
fn rates_may_meet() {
    // All of rho, 1/scale, 1/rise and 1/decay equal, or apart by almost nothing: the covariance is smooth there.
    let rho = 0.5;
    let lags = [-6.0, -0.5, 0.0, 1.3, 9.0];
    let gamma = |s: f64| form(&response("gamma", &[("shape", 5.0), ("scale", s)]));
    let bateman = |r: f64, d: f64| form(&response("bateman", &[("rise", r), ("decay", d)]));
    let all = |e: f64| {
        let (g, b) = (gamma(2.0 * (1.0 + e)), bateman(2.0 - e, 2.0 + 3.0 * e));
        [covariances(rho, &g, &b, &lags, true), covariances(rho, &b, &b, &lags, true)]
    };
    let meet = all(0.0);
    for e in [1e-13, 1e-10, 1e-7] {
        for (at, near) in meet.iter().zip(all(e)) {
            for (x, y) in at.rows.iter().zip(&near.rows) {
                close(*y, *x, 20.0 * e + 1e-13, "near meeting rates");
            }
        }
    }
    // One pole of multiplicity two is a gamma density of shape two.
    let two = form(&response("gamma", &[("shape", 2.0), ("scale", 2.0)]));
    let merged = covariances(rho, &two, &Form::impulse(), &lags, false);
    let pair = covariances(rho, &bateman(2.0, 2.0), &Form::impulse(), &lags, false);
    for i in 0..lags.len() {
        close(pair.value(i), merged.value(i), 1e-13, "double pole");
    }
}

#[test]
fn exchanging_the_curves_reverses_the_lag() {
    let kinds = every_kind();
    let lags = [-3.0, -0.2, 0.0, 0.7, 4.4];
    let reversed: Vec<f64> = lags.iter().rev().map(|l| -l).collect();
    for a in &kinds {
        for b in &kinds {
            let forth = covariances(0.7, &form(a), &form(b), &lags, true);
            let mut back = covariances(0.7, &form(b), &form(a), &reversed, true);
            back.turn(form(b).others);
            // Of two curves given by values, each is once the inner and once the outer one.
            let curves = [a, b].iter().all(|r| matches!(form(r).shape, Shape::Curve(_)));
            let tolerance = if curves { 5e-13 } else { 1e-13 };
            for (x, y) in forth.rows.iter().zip(&back.rows) {
                close(*x, *y, tolerance, &format!("{a:?} with {b:?}"));
            }
        }
    }
}

#[test]
fn a_path_seen_through_one_curve_has_a_positive_covariance() {
    // Variances of differences, which any covariance must leave positive, over lags from tiny to long.
    for r in every_kind() {
        let f = form(&r);
        let lags = [0.0, 1e-6, 1e-3, 0.1, 1.0, 10.0, 1e3];
        let table = covariances(0.6, &f, &f, &lags, false);
        for (i, lag) in lags.iter().enumerate() {
            assert!(table.value(i).abs() <= table.value(0) * (1.0 + 1e-14), "{r:?} at {lag}");
        }
        assert!(table.value(6).abs() < 1e-12, "{r:?}");
    }
}

/// The response of a golden file, with the parameters of this case.
pub(in crate::terms::filtered) fn golden_response(declared: &Value, given: &Value) -> Response {
    let family = match declared["family"].as_str().unwrap() {
        "Identity" => return Response::Identity,
        "Gaussian" => "gaussian",
        "Gamma" => "gamma",
        "DoubleGamma" => "double_gamma",
        _ => "bateman",
    };
    let mut parameters = Vec::new();
    for (name, value) in declared["parameters"].as_object().unwrap() {
        let value = if given[name].is_null() { value } else { &given[name] };
        let name = if name == "undershoot_ratio" { "ratio" } else { name };
        parameters.push((name, value.as_f64().unwrap()));
    }
    response(family, &parameters)
}

#[test]
fn golden_covariances() {
    let file: Value = serde_json::from_str(include_str!("../../../../tests/golden/gp_covariance.json")).unwrap();
    let numbers = |v: &Value| -> Vec<f64> { v.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect() };
    let mut compared = 0;
    for case in file["cases"].as_array().unwrap() {
        let rho = kernel::rate(case["length_scale"].as_f64().unwrap());
        let of = |name: &str| match name {
            "latent" => Form::impulse(),
            m => form(&golden_response(&case["responses"][m], &case["filter_parameters"])),
        };
        // What the golden numbers themselves are good for: an approximate bell, tails, quadrature across the kink.
        let sources = [("analytic", 1e-14), ("state_space", 2e-8), ("quadrature_192", 2e-7)];
        for (source, tolerance) in sources {
            let Some(blocks) = case[source].as_object() else { continue };
            let exact = source == "state_space" && case["family"] != "gaussian";
            for (pair, rows) in blocks {
                let (a, b) = pair.split_once('|').unwrap();
                let (a, b) = (of(a), of(b));
                for (s, row) in numbers(&case["times_a"]).iter().zip(rows.as_array().unwrap()) {
                    for (t, expected) in numbers(&case["times_b"]).iter().zip(numbers(row)) {
                        let got = covariances(rho, &a, &b, &[s - t], false).value(0);
                        let tolerance = if exact { 1e-13 } else { tolerance };
                        close(got, expected, tolerance, &format!("{} {pair} {source}", case["family"]));
                        compared += 1;
                    }
                }
            }
        }
    }
    assert!(compared > 500, "{compared}");
}
