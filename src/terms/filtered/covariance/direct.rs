//! Covariances of a curve given by quadrature with a bell or with another such curve.
//!
//! With k the first curve and F the covariance of the identity with the second, the covariance at a lag is the integral of
//! k(u) F(lag - u). F comes from a closed form or from an interpolant; panels end at the breaks of k and where lag - u
//! meets a kink of F. Covariances of two such curves are good to 1e-12, the others to rounding.

use super::bell::smoothed;
use super::form::Shape;
use super::interpolant::Interpolant;
use super::sweep::{Forcing, panel};

/// Length scales of the latent that a panel may span: ten points resolve exp(-x) over it to rounding.
const PANEL: f64 = 4.0;

/// Widths of a bell that a panel may span.
const BELL_PANEL: f64 = 2.0;

/// A panel of the first curve: its ends, and at every node the lag, the weight times the curve, and the weight times
/// the derivatives of the curve.
struct Panel {
    from: f64,
    to: f64,
    nodes: Vec<(f64, f64, Vec<f64>)>,
}

impl Panel {
    fn new(first: &Forcing<'_>, from: f64, to: f64, own: usize) -> Panel {
        let mut nodes = Vec::with_capacity(10);
        panel(from, to, |u, w| {
            let mut slopes = vec![0.0; own];
            let weight = w * first.value(u, &mut slopes);
            slopes.iter_mut().for_each(|s| *s *= w);
            nodes.push((u, weight, slopes));
        });
        Panel { from, to, nodes }
    }
}

/// F with its derivatives in rho, the lag, and the parameters of the second curve.
enum Inner {
    Bell { rho: f64, width: f64, mass: f64 },
    Curve(Interpolant),
}

impl Inner {
    fn at(&self, lag: f64, out: &mut [f64]) {
        match self {
            Inner::Bell { rho, width, mass } => {
                let s = smoothed(*rho, width * width, lag);
                let all = [s.value, s.in_rho, s.slope, width * s.curvature + 0.5 * s.value / width];
                out.iter_mut().zip(all).for_each(|(o, x)| *o = mass * x);
            }
            Inner::Curve(interpolant) => interpolant.at(lag, out),
        }
    }
}

/// `second` is a bell or a curve; `others` are the numbers of parameters without the lags.
pub(super) fn direct(rho: f64, first: &Forcing<'_>, second: &Shape, lags: &[f64], others: [usize; 2], out: &mut [f64]) {
    let (Some(&lowest), Some(&highest)) = (lags.first(), lags.last()) else { return };
    let count = out.len() / lags.len();
    let slopes = count > 1;
    let own = if slopes { others[0] } else { 0 };
    let breaks = first.breaks();
    let (lo, hi) = (breaks[0], breaks[breaks.len() - 1]);
    let inner_count = if slopes { 3 + others[1] } else { 1 };
    let (inner, kinks, finest) = match (second, Forcing::of(second)) {
        (Shape::Bell { width, mass }, _) => {
            let inner = Inner::Bell { rho, width: *width, mass: *mass };
            (inner, Vec::new(), (PANEL / rho).min(BELL_PANEL * width))
        }
        (_, Some(forcing)) => {
            let range = (lowest - hi, highest - lo);
            (
                Inner::Curve(Interpolant::new(rho, &forcing, range, inner_count)),
                forcing.kinks(),
                (PANEL / rho).min(forcing.scale()),
            )
        }
        _ => return,
    };
    let mut panels = Vec::new();
    for ends in breaks.windows(2) {
        let parts = ((ends[1] - ends[0]) / finest).ceil();
        let at = |share: f64| ends[0] + (ends[1] - ends[0]) * share / parts;
        panels.extend((0..parts as usize).map(|p| Panel::new(first, at(p as f64), at((p + 1) as f64), own)));
    }
    let ends = if own > 0 { first.moving_ends() } else { Vec::new() };
    let mut row = vec![0.0; inner_count];
    for (&lag, target) in lags.iter().zip(out.chunks_exact_mut(count)) {
        let mut add = |u: f64, weight: f64, slopes: &[f64]| {
            inner.at(lag - u, &mut row);
            for (t, r) in target[..inner_count.min(3)].iter_mut().zip(&row) {
                *t += weight * r;
            }
            for (t, slope) in target[inner_count.min(3)..].iter_mut().zip(slopes) {
                *t += slope * row[0];
            }
            for (t, r) in target[(3 + own).min(count)..].iter_mut().zip(&row[inner_count.min(3)..]) {
                *t += weight * r;
            }
        };
        for panel in &panels {
            // F has its kinks at minus the lags of the second curve.
            let mut inside: Vec<f64> =
                kinks.iter().map(|v| lag + v).filter(|u| panel.from < *u && *u < panel.to).collect();
            if inside.is_empty() {
                panel.nodes.iter().for_each(|(u, weight, slopes)| add(*u, *weight, slopes));
                continue;
            }
            inside.sort_by(f64::total_cmp);
            inside.insert(0, panel.from);
            inside.push(panel.to);
            for part in inside.windows(2) {
                let nodes = Panel::new(first, part[0], part[1], own).nodes;
                nodes.iter().for_each(|(u, weight, slopes)| add(*u, *weight, slopes));
            }
        }
        for (end, factors) in &ends {
            add(*end, 0.0, factors);
        }
    }
}
