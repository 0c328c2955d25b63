//! Elementwise operations over flat arrays, forward and reverse; a slice of length one broadcasts.
//!
//! The operation is chosen outside the loop, so that each loop is one simple expression the compiler can vectorise.

use crate::math::op::Binary;

/// `out = a op b`
pub(super) fn binary(op: Binary, a: &[f64], b: &[f64], out: &mut [f64]) {
    match op {
        Binary::Add => zip(a, b, out, |a, b| a + b),
        Binary::Sub => zip(a, b, out, |a, b| a - b),
        Binary::Mul => zip(a, b, out, |a, b| a * b),
        Binary::Div => zip(a, b, out, |a, b| a / b),
        Binary::Pow => zip(a, b, out, f64::powf),
        Binary::Min | Binary::Max | Binary::LnBeta => zip(a, b, out, |a, b| op.value(a, b)),
    }
}

fn zip(a: &[f64], b: &[f64], out: &mut [f64], f: impl Fn(f64, f64) -> f64) {
    match (a, b) {
        ([a], b) if out.len() != 1 => out.iter_mut().zip(b).for_each(|(o, &b)| *o = f(*a, b)),
        (a, [b]) if out.len() != 1 => out.iter_mut().zip(a).for_each(|(o, &a)| *o = f(a, *b)),
        _ => out.iter_mut().zip(a).zip(b).for_each(|((o, &a), &b)| *o = f(a, b)),
    }
}

/// Adds `g` times the derivative of `x op y` in its left operand to `out`; a scalar operand takes the sum.
pub(super) fn add_left_adjoint(op: Binary, x: &[f64], y: &[f64], g: &[f64], out: &mut [f64]) {
    match op {
        Binary::Add | Binary::Sub => accumulate(x, y, g, out, |_, _| 1.0),
        Binary::Mul => accumulate(x, y, g, out, |_, y| y),
        Binary::Div => accumulate(x, y, g, out, |_, y| 1.0 / y),
        Binary::Pow | Binary::Min | Binary::Max | Binary::LnBeta => {
            accumulate(x, y, g, out, |x, y| op.left_derivative(x, y));
        }
    }
}

/// The same for the right operand.
pub(super) fn add_right_adjoint(op: Binary, x: &[f64], y: &[f64], g: &[f64], out: &mut [f64]) {
    match op {
        Binary::Add => accumulate(x, y, g, out, |_, _| 1.0),
        Binary::Sub => accumulate(x, y, g, out, |_, _| -1.0),
        Binary::Mul => accumulate(x, y, g, out, |x, _| x),
        Binary::Div => accumulate(x, y, g, out, |x, y| -x / (y * y)),
        Binary::Pow | Binary::Min | Binary::Max | Binary::LnBeta => {
            accumulate(x, y, g, out, |x, y| op.right_derivative(x, y));
        }
    }
}

fn accumulate(x: &[f64], y: &[f64], g: &[f64], out: &mut [f64], derivative: impl Fn(f64, f64) -> f64) {
    if let [total] = out {
        *total += match (x, y) {
            ([x], y) => g.iter().zip(y).map(|(g, &y)| g * derivative(*x, y)).sum::<f64>(),
            (x, [y]) => g.iter().zip(x).map(|(g, &x)| g * derivative(x, *y)).sum::<f64>(),
            _ => g.iter().zip(x).zip(y).map(|((g, &x), &y)| g * derivative(x, y)).sum::<f64>(),
        };
        return;
    }
    match (x, y) {
        ([x], y) => out.iter_mut().zip(g).zip(y).for_each(|((o, g), &y)| *o += g * derivative(*x, y)),
        (x, [y]) => out.iter_mut().zip(g).zip(x).for_each(|((o, g), &x)| *o += g * derivative(x, *y)),
        _ => out.iter_mut().zip(g).zip(x).zip(y).for_each(|(((o, g), &x), &y)| *o += g * derivative(x, y)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_broadcast_and_adjoint_matches_naive_loops() {
        let vector = [0.5, 1.5, 2.5];
        let other = [2.0, -1.0, 0.5];
        let g = [1.0, -2.0, 3.0];
        for op in [Binary::Add, Binary::Sub, Binary::Mul, Binary::Div, Binary::Pow] {
            for (x, y) in [(&vector[..], &other[..]), (&vector[..1], &other[..]), (&vector[..], &other[..1])] {
                let at = |v: &[f64], i: usize| if v.len() == 1 { v[0] } else { v[i] };
                let mut out = [0.0; 3];
                binary(op, x, y, &mut out);
                let (mut gx, mut gy) = (vec![0.25; x.len()], vec![0.5; y.len()]);
                add_left_adjoint(op, x, y, &g, &mut gx);
                add_right_adjoint(op, x, y, &g, &mut gy);
                let (mut wanted_x, mut wanted_y) = (vec![0.25; x.len()], vec![0.5; y.len()]);
                for i in 0..3 {
                    let (a, b) = (at(x, i), at(y, i));
                    assert_eq!(out[i], op.value(a, b));
                    let h = 1e-6;
                    let dx = (op.value(a + h, b) - op.value(a - h, b)) / (2.0 * h);
                    let dy = (op.value(a, b + h) - op.value(a, b - h)) / (2.0 * h);
                    wanted_x[if x.len() == 1 { 0 } else { i }] += g[i] * dx;
                    wanted_y[if y.len() == 1 { 0 } else { i }] += g[i] * dy;
                }
                for (got, wanted) in gx.iter().chain(&gy).zip(wanted_x.iter().chain(&wanted_y)) {
                    assert!((got - wanted).abs() < 1e-7 * wanted.abs().max(1.0), "{op:?}: {got} {wanted}");
                }
            }
        }
    }
}
