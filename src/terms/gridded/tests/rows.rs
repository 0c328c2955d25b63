//! Rows of H: golden rows, the definition by slow quadrature, the Gaussian's closed form, derivatives, and a planted latent.

use serde_json::Value;

use super::super::observation::{Grid, ObservationRows, eligible};
use super::super::response_rows::ResponseRows;
use super::distance;
use super::reference::ReferenceRows;
use crate::response::tests::{adaptive, curve, examples, response_of};
use crate::response::{Response, build};

fn number(v: &Value) -> f64 {
    v.as_f64().unwrap()
}

fn numbers(v: &Value) -> Vec<f64> {
    v.as_array().unwrap().iter().map(number).collect()
}

fn dense(rows: &dyn ObservationRows, t: f64, grid: &Grid) -> Vec<f64> {
    let mut weights = Vec::new();
    let first = rows.row(t, grid, &mut weights);
    spread_out(first, &weights, grid)
}

fn spread_out(first: usize, weights: &[f64], grid: &Grid) -> Vec<f64> {
    let mut out = vec![0.0; grid.nodes];
    out[first..first + weights.len()].copy_from_slice(weights);
    out
}

fn dense_gradient(rows: &ResponseRows, t: f64, grid: &Grid) -> (Vec<f64>, Vec<Vec<f64>>) {
    let mut weights = Vec::new();
    let mut gradients = vec![Vec::new(); rows.parameter_count()];
    let first = rows.row_gradient(t, grid, &mut weights, &mut gradients);
    (spread_out(first, &weights, grid), gradients.iter().map(|g| spread_out(first, g, grid)).collect())
}

/// The golden row `i` with its zeros.
fn golden_row(rows: &Value, i: usize, nodes: usize) -> Vec<f64> {
    let mut out = vec![0.0; nodes];
    let row = rows.as_array().unwrap().iter().find(|r| r["i"] == i);
    if let Some(row) = row {
        for (c, v) in numbers(&row["cols"]).into_iter().zip(numbers(&row["vals"])) {
            out[c as usize] = v;
        }
    }
    out
}

#[test]
fn golden_rows_and_their_derivatives_match() {
    let golden: Value = serde_json::from_str(include_str!("../../../../tests/golden/r_rows.json")).unwrap();
    let cases = golden["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 11);
    let mut derivatives = 0;
    for case in cases {
        let response = response_of(&case["kernel"]);
        let g = &case["grid"];
        let grid = Grid { start: number(&g["start"]), step: number(&g["dt"]), nodes: number(&g["n"]) as usize };
        let envelope = match &case["support"] {
            Value::Null => response.support(),
            given => (number(&given[0]), number(&given[1])),
        };
        let rows = ResponseRows::with_envelope(&response, envelope).unwrap();
        let coarse: Option<Box<dyn ObservationRows>> = match response {
            Response::Identity | Response::Gaussian { .. } | Response::Bateman { .. } => None,
            _ => Some(Box::new(ReferenceRows::with_envelope(&response, envelope))),
        };
        for (i, t) in numbers(&case["times"]).into_iter().enumerate() {
            let usable = eligible(t, rows.envelope(), (grid.start, grid.last()), &grid);
            assert_eq!(usable, case["valid"][i].as_bool().unwrap(), "{response:?} at {t}");
            if !usable {
                continue;
            }
            let wanted = golden_row(&case["rows"], i, grid.nodes);
            let found = dense(&rows, t, &grid);
            let gap = distance(&found, &wanted);
            match &coarse {
                Some(coarse) => {
                    let own = distance(&dense(&**coarse, t, &grid), &wanted);
                    assert!(own < 1e-11, "{response:?} at {t}: {own:e}");
                    // The converged row differs by the coarse rule's error, largest where the onset is steep.
                    assert!(gap < 2e-3, "{response:?} at {t}: {gap:e}");
                }
                None => assert!(gap < 1e-11, "{response:?} at {t}: {gap:e}"),
            }
            if let Some(all) = case["derivative_rows"].as_object() {
                let (weights, gradients) = dense_gradient(&rows, t, &grid);
                assert!(distance(&weights, &found) < 1e-15);
                for (parameter, gradient) in response.family().parameters.iter().zip(gradients) {
                    let wanted = golden_row(&all[parameter.name], i, grid.nodes);
                    let gap = distance(&gradient, &wanted);
                    assert!(gap < 1e-10, "{response:?} at {t}, {}: {gap:e}", parameter.name);
                    derivatives += 1;
                }
            }
        }
    }
    assert_eq!(derivatives, 2 * (8 + 6 + 2) + 3 * (4 + 4));
}

/// A grid, and times at which the whole support lies inside it, one of them with nodes at both of its ends.
fn setting(response: &Response, cells: f64) -> (Grid, Vec<f64>) {
    let (lo, hi) = response.support();
    let step = (hi - lo) / cells;
    let start = 0.3;
    let grid = Grid { start, step, nodes: cells as usize + 6 };
    (grid, vec![start + hi, start + hi + 0.37 * step, start + hi + 1.9 * step, start + hi + 3.0 * step])
}

#[test]
fn rows_are_the_integral_of_the_curve_against_hats() {
    for response in examples() {
        let (rows, curve) = (ResponseRows::new(&response).unwrap(), curve(&response));
        let (lo, hi) = curve.support();
        for cells in [1.7, 9.0, 40.0] {
            let (grid, times) = setting(&response, cells);
            for t in times {
                let found = dense(&rows, t, &grid);
                for (i, found) in found.into_iter().enumerate() {
                    let hat = |u: f64| (1.0 - ((t - u - grid.time(i)) / grid.step).abs()).max(0.0);
                    let f = |u: f64| curve.value(u) * hat(u);
                    // Pieces between nodes, sampled lags, and towards the onset, where the curve may be steep.
                    let mut points: Vec<f64> = (0..grid.nodes).map(|j| t - grid.time(j)).collect();
                    points.extend((0..12).map(|j| lo + (hi - lo) * 0.1f64.powi(j)));
                    points.push(lo);
                    if let Response::Sampled { lags, .. } = &response {
                        points.extend(lags);
                    }
                    points.retain(|u| (lo..=hi).contains(u) && (t - u - grid.time(i)).abs() < 1.001 * grid.step);
                    points.sort_by(f64::total_cmp);
                    let slow: f64 = points.windows(2).map(|w| adaptive(&f, w[0], w[1], 1e-14)).sum();
                    assert!((found - slow).abs() < 1e-11, "{response:?}, node {i} at {t}: {found} and {slow}");
                }
            }
        }
    }
}

#[test]
fn a_row_sees_all_of_the_curve_also_beyond_the_grid() {
    for response in examples() {
        let (rows, curve) = (ResponseRows::new(&response).unwrap(), curve(&response));
        let (lo, hi) = curve.support();
        let (l, r) = curve.spread(lo, hi);
        let (grid, _) = setting(&response, 9.0);
        let last = grid.last();
        for t in [grid.start + lo - 1.0, grid.start + 0.5 * (lo + hi), last + 0.3 * lo + 0.7 * hi, last + hi + 1.0] {
            let total: f64 = dense(&rows, t, &grid).iter().sum();
            assert!((total - l - r).abs() < 1e-13, "{response:?} at {t}: {total} and {}", l + r);
        }
    }
    let rows = ResponseRows::identity();
    let grid = Grid { start: 0.0, step: 0.5, nodes: 4 };
    assert_eq!(dense(&rows, 0.125, &grid), [0.75, 0.25, 0.0, 0.0]);
    assert_eq!(dense(&rows, 1.5, &grid), [0.0, 0.0, 0.0, 1.0]);
    assert_eq!(dense_gradient(&rows, 0.5, &grid), (vec![0.0, 1.0, 0.0, 0.0], vec![]));
}

/// The Gaussian's row in closed form, from the mass and the first moment of every cell.
fn gaussian_row(width: f64, lag: f64, t: f64, grid: &Grid) -> Vec<f64> {
    use crate::math::special::{erf, ndtr};
    let norm = (std::f64::consts::PI.sqrt() * width * erf(6.0)).sqrt();
    let mut out = vec![0.0; grid.nodes];
    for c in 0..grid.nodes - 1 {
        let l = ((t - grid.time(c + 1) - lag) / width).max(-6.0);
        let h = ((t - grid.time(c) - lag) / width).min(6.0);
        if h <= l {
            continue;
        }
        let between = if l >= 0.0 { ndtr(-l) - ndtr(-h) } else { ndtr(h) - ndtr(l) };
        let mass = width * (2.0 * std::f64::consts::PI).sqrt() * between / norm;
        let moment = width * width * ((-0.5 * l * l).exp() - (-0.5 * h * h).exp()) / norm;
        let left = ((grid.time(c + 1) - t + lag) * mass + moment) / grid.step;
        out[c] += left;
        out[c + 1] += mass - left;
    }
    out
}

#[test]
fn gaussian_rows_are_exact() {
    for (width, lag, step) in [(0.6, 0.4, 0.9), (2.5, -1.0, 0.3), (0.05, 0.0, 1.0), (0.3, 0.2, 20.0)] {
        let response = build("gaussian", &[("width", width), ("lag", lag)]).unwrap();
        let grid = Grid { start: -40.0, step, nodes: (80.0 / step) as usize + 2 };
        for t in [0.0, 0.123, 3.77] {
            let found = dense(&ResponseRows::new(&response).unwrap(), t, &grid);
            assert!(distance(&found, &gaussian_row(width, lag, t, &grid)) < 2e-14);
        }
    }
}

#[test]
fn derivatives_of_rows_are_those_of_differences() {
    for response in examples() {
        let (family, values) = (response.family(), response.values());
        if matches!(response, Response::Gamma { shape: 1.0, .. } | Response::Sampled { .. }) {
            continue;
        }
        let rows = ResponseRows::new(&response).unwrap();
        // The support stays inside the grid when parameters move, and no end of it passes a node.
        let (lo, hi) = response.support();
        let step = (hi - lo) / 7.3;
        let grid = Grid { start: 0.0, step, nodes: 12 };
        let t = hi + 1.45 * step;
        let (weights, gradients) = dense_gradient(&rows, t, &grid);
        assert!(distance(&weights, &dense(&rows, t, &grid)) < 1e-15);
        for (i, gradient) in gradients.iter().enumerate() {
            let moved = |h: f64| {
                let mut v = values.clone();
                v[i] += h;
                dense(&ResponseRows::new(&family.with(&v).unwrap()).unwrap(), t, &grid)
            };
            let h = 1e-3 * values[i].abs().max(0.03);
            let central =
                |h: f64| -> Vec<f64> { moved(h).iter().zip(&moved(-h)).map(|(a, b)| (a - b) / (2.0 * h)).collect() };
            let (wide, narrow) = (central(h), central(0.5 * h));
            let wanted: Vec<f64> = wide.iter().zip(&narrow).map(|(a, b)| (4.0 * b - a) / 3.0).collect();
            let scale = wanted.iter().fold(1.0f64, |m, v| m.max(v.abs()));
            let gap = distance(gradient, &wanted);
            assert!(gap < 1e-8 * scale, "{response:?}, {}: {gap:e} of {scale}", family.parameters[i].name);
        }
    }
}
