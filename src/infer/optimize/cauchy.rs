//! The generalised Cauchy point: first local minimiser of the quadratic model along the projected steepest descent path.
//!
//! On each segment between breakpoints the model is m(t) with m'' = theta d'd - p'Mp, p = W'd, updated in O(k^2) per
//! breakpoint (Byrd, Lu, Nocedal and Zhu 1995, algorithm CP).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::bounds::Bounds;
use super::compact::{Compact, dot};

/// Where the subspace minimisation starts: the point and W' (point - x).
#[derive(Debug)]
pub(super) struct CauchyPoint {
    pub point: Vec<f64>,
    pub projected_step: Vec<f64>,
    /// Coordinates strictly inside the box at the point, ascending.
    pub free: Vec<usize>,
    /// The others.
    pub fixed: Vec<usize>,
}

pub(super) fn cauchy_point(x: &[f64], gradient: &[f64], bounds: &Bounds, memory: &Compact) -> CauchyPoint {
    let dim = x.len();
    let no_bounds = bounds.lower.iter().all(|l| l.is_infinite()) && bounds.upper.iter().all(|u| u.is_infinite());
    if no_bounds && memory.pairs() > 0 {
        // The subspace is the whole space, whose minimiser is the same from any point: start from x.
        let (free, fixed) = ((0..dim).collect(), Vec::new());
        return CauchyPoint { point: x.to_vec(), projected_step: vec![0.0; 2 * memory.pairs()], free, fixed };
    }
    let theta = memory.theta();
    let mut point = x.to_vec();
    let mut direction = vec![0.0; dim];
    let mut breakpoints = Vec::new();
    for i in 0..dim {
        let g = gradient[i];
        let wall = if g < 0.0 { bounds.upper[i] } else { bounds.lower[i] };
        let t = if g == 0.0 { f64::INFINITY } else { (x[i] - wall) / g };
        if t > 0.0 {
            direction[i] = -g;
            if t.is_finite() {
                // Positive floats order like their bits.
                breakpoints.push(Reverse((t.to_bits(), i)));
            }
        }
    }
    // Few breakpoints are reached as a rule: a heap spares the sort.
    let mut breakpoints = BinaryHeap::from(breakpoints);

    let mut p = memory.project(&direction);
    let mut c = vec![0.0; p.len()];
    let mut slope = -dot(&direction, &direction);
    let mut curvature = -theta * slope - dot(&p, &memory.middle(&p));
    let smallest_curvature = f64::EPSILON * -theta * slope;
    let mut reached = 0.0;
    let mut rest = if slope < 0.0 { -slope / curvature.max(smallest_curvature) } else { 0.0 };
    while let Some(Reverse((bits, i))) = breakpoints.pop() {
        let t = f64::from_bits(bits);
        let length = t - reached;
        if rest < length || slope >= 0.0 {
            break;
        }
        let g = gradient[i];
        point[i] = if g < 0.0 { bounds.upper[i] } else { bounds.lower[i] };
        direction[i] = 0.0;
        let z = point[i] - x[i];
        for (total, part) in c.iter_mut().zip(&p) {
            *total += length * part;
        }
        let w = memory.row(i);
        let mw = memory.middle(&w);
        slope += length * curvature + g * g + theta * g * z - g * dot(&mw, &c);
        curvature -= theta * g * g + 2.0 * g * dot(&mw, &p) + g * g * dot(&mw, &w);
        curvature = curvature.max(smallest_curvature);
        for (part, w) in p.iter_mut().zip(&w) {
            *part += g * w;
        }
        reached = t;
        rest = (-slope / curvature).max(0.0);
    }
    // Beyond the last breakpoint of a wholly bounded direction the path stands still.
    if direction.iter().all(|d| *d == 0.0) {
        rest = 0.0;
    }
    reached += rest;
    for (total, part) in c.iter_mut().zip(&p) {
        *total += rest * part;
    }
    let (mut free, mut fixed) = (Vec::new(), Vec::new());
    for i in 0..dim {
        if direction[i] != 0.0 {
            point[i] = (x[i] + reached * direction[i]).clamp(bounds.lower[i], bounds.upper[i]);
        }
        if point[i] > bounds.lower[i] && point[i] < bounds.upper[i] {
            free.push(i);
        } else {
            fixed.push(i);
        }
    }
    CauchyPoint { point, projected_step: c, free, fixed }
}
