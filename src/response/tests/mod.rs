//! Tests of the response curves, and the slow quadrature and the curves that they share.

mod derivatives;
mod faults;
mod golden;
mod integrals;

pub(crate) use golden::response_of;

use super::*;

/// The integral of `f` over [a, b] by Simpson's rule, halving until two levels agree to `tolerance`.
pub(crate) fn adaptive(f: &dyn Fn(f64) -> f64, a: f64, b: f64, tolerance: f64) -> f64 {
    struct Piece {
        a: f64,
        b: f64,
        values: [f64; 3],
        whole: f64,
    }
    let simpson = |p: &Piece| (p.b - p.a) / 6.0 * (p.values[0] + 4.0 * p.values[1] + p.values[2]);
    let piece = |a: f64, b: f64, values: [f64; 3]| {
        let mut p = Piece { a, b, values, whole: 0.0 };
        p.whole = simpson(&p);
        p
    };
    // Eight pieces at first, so that a narrow curve is not missed.
    let mut stack = Vec::new();
    for i in 0..8 {
        let at = |j: usize| a + (b - a) * (2 * i + j) as f64 / 16.0;
        stack.push((piece(at(0), at(2), [f(at(0)), f(at(1)), f(at(2))]), tolerance / 8.0));
    }
    let mut sum = 0.0;
    while let Some((p, tolerance)) = stack.pop() {
        let middle = 0.5 * (p.a + p.b);
        let (left, right) = (f(0.5 * (p.a + middle)), f(0.5 * (middle + p.b)));
        let halves = [
            piece(p.a, middle, [p.values[0], left, p.values[1]]),
            piece(middle, p.b, [p.values[1], right, p.values[2]]),
        ];
        let error = (halves[0].whole + halves[1].whole - p.whole) / 15.0;
        // Rounding ends the halving where the tolerance cannot be met.
        if error.abs() <= tolerance || p.b - p.a < 1e-12 * (b - a) {
            sum += halves[0].whole + halves[1].whole + error;
        } else {
            stack.extend(halves.map(|h| (h, 0.5 * tolerance)));
        }
    }
    sum
}

/// Responses of every family, some at the edge of what a family takes.
pub(crate) fn examples() -> Vec<Response> {
    let of = |family: &str, values: &[f64]| find(family).unwrap().with(values).unwrap();
    vec![
        of("gaussian", &[0.6, 0.4]),
        of("gaussian", &[2.5, -1.0]),
        of("gaussian", &[0.03, 0.2]),
        of("gamma", &[3.0, 0.7, 0.1]),
        of("gamma", &[1.0, 0.5, 0.0]),
        of("gamma", &[1.14, 0.35, -0.2]),
        of("gamma", &[2.3, 1.9, 0.3]),
        of("gamma", &[60.0, 0.1, 0.0]),
        of("double_gamma", &[6.0, 1.0, 16.0, 1.0, 1.0 / 6.0, 0.0]),
        of("double_gamma", &[1.3, 0.4, 2.7, 3.0, 0.8, 0.5]),
        of("double_gamma", &[60.0, 0.1, 3.0, 20.0, 0.3, 0.0]),
        of("double_gamma", &[4.0, 1.0, 4.5, 0.9, 0.9, 0.0]),
        of("bateman", &[0.7, 3.0, 0.0]),
        of("bateman", &[3.0, 0.7, 0.4]),
        of("bateman", &[1.2, 1.2, -0.3]),
        of("bateman", &[1.0, 1.0 + 1e-9, 0.0]),
        of("bateman", &[0.05, 40.0, 0.0]),
        of("bateman", &[150.0, 20.0, 0.0]),
        of("bateman", &[30.0, 80.0, 0.0]),
        of("bateman", &[85.0, 60.0, 0.2]),
        of("bach", &[3.0745, 0.7013, 0.3176, 0.0708, 0.3]),
        of("bach", &[0.5, 1.5, 4.0, 0.9, 0.0]),
        of("bach", &[20.0, 0.2, 1.0, 1.0, -1.0]),
        Response::sampled(vec![-0.7, 0.4, 0.5, 1.2, 2.0, 4.8], vec![1.1, -0.2, 0.2, 0.6, -1.2, 0.3]).unwrap(),
    ]
}

pub(crate) fn curve(response: &Response) -> Curve {
    Curve::new(response).unwrap().unwrap()
}
