//! Covariances of a curve given by quadrature with a bell or with another such curve.
//!
//! With k the first curve and F the covariance of the identity with the second, the covariance at a lag is the integral of
//! k(u) F(lag - u). F comes from a closed form or from a sweep; panels end at the breaks of k and where lag - u meets those of F.

use super::Table;
use super::bell::smoothed;
use super::form::{Component, Shape};
use super::sweep::{Forcing, forced, panel};

/// Lags whose quadrature points are handled together.
const BATCH: usize = 64;

/// Length scales of the latent that a panel may span: ten points resolve exp(-x) over it to rounding.
const PANEL: f64 = 4.0;

/// Widths of a bell that a panel may span.
const BELL_PANEL: f64 = 2.0;

/// A point of the quadrature of one lag.
struct Point {
    /// Argument of F.
    at: f64,
    lag: usize,
    weight: f64,
    /// Weights of the derivatives in the parameters of the first curve.
    slopes: Vec<f64>,
}

/// `second` is a bell or a curve; `others` are the numbers of parameters without the lags.
pub(super) fn direct(
    rho: f64,
    first: &Forcing<'_>,
    second: &Shape,
    lags: &[f64],
    others: [usize; 2],
    out: &mut [f64],
) {
    if lags.is_empty() {
        return;
    }
    let count = out.len() / lags.len();
    let slopes = count > 1;
    let inner_count = if slopes { 3 + others[1] } else { 1 };
    let (kinks, finest) = match second {
        Shape::Bell { width, .. } => (Vec::new(), (PANEL / rho).min(BELL_PANEL * width)),
        other => (Forcing::of(other).map_or_else(Vec::new, |f| f.breaks()), PANEL / rho),
    };
    for (batch, out) in lags.chunks(BATCH).zip(out.chunks_mut(BATCH * count)) {
        let mut points = Vec::new();
        for (i, &lag) in batch.iter().enumerate() {
            spread(first, lag, i, &kinks, finest, if slopes { others[0] } else { 0 }, &mut points);
        }
        points.sort_by(|p, q| p.at.total_cmp(&q.at));
        let ats: Vec<f64> = points.iter().map(|p| p.at).collect();
        let inner = identity_with(rho, second, &ats, inner_count);
        for (i, point) in points.iter().enumerate() {
            let row = &inner.rows[i * inner_count..(i + 1) * inner_count];
            let target = &mut out[point.lag * count..(point.lag + 1) * count];
            target[0] += point.weight * row[0];
            if slopes {
                target[1] += point.weight * row[1];
                target[2] += point.weight * row[2];
                let (own, rest) = target[3..].split_at_mut(others[0]);
                own.iter_mut().zip(&point.slopes).for_each(|(o, s)| *o += s * row[0]);
                rest.iter_mut().zip(&row[3..]).for_each(|(o, r)| *o += point.weight * r);
            }
        }
    }
}

/// The quadrature points of one lag.
fn spread(
    first: &Forcing<'_>,
    lag: f64,
    index: usize,
    kinks: &[f64],
    finest: f64,
    own: usize,
    points: &mut Vec<Point>,
) {
    let mut breaks = first.breaks();
    let (lo, hi) = (breaks[0], breaks[breaks.len() - 1]);
    breaks.extend(kinks.iter().map(|k| lag + k).filter(|u| lo < *u && *u < hi));
    breaks.sort_by(f64::total_cmp);
    for ends in breaks.windows(2) {
        let panels = ((ends[1] - ends[0]) / finest).ceil();
        for p in 0..panels as usize {
            let at = |share: f64| ends[0] + (ends[1] - ends[0]) * share / panels;
            panel(at(p as f64), at((p + 1) as f64), |u, w| {
                let mut slopes = vec![0.0; own];
                let weight = w * first.value(u, &mut slopes);
                slopes.iter_mut().for_each(|s| *s *= w);
                points.push(Point { at: lag - u, lag: index, weight, slopes });
            });
        }
    }
    if own > 0 {
        for (end, slopes) in first.moving_ends() {
            points.push(Point { at: lag - end, lag: index, weight: 0.0, slopes });
        }
    }
}

/// The covariance of the identity with `second` at ascending lags: value, and derivatives in rho, the lag, and the
/// parameters of `second`.
fn identity_with(rho: f64, second: &Shape, lags: &[f64], count: usize) -> Table {
    let mut table = Table { count, rows: vec![0.0; lags.len() * count] };
    if let Shape::Bell { width, mass } = second {
        for (row, &lag) in table.rows.chunks_exact_mut(count).zip(lags) {
            let s = smoothed(rho, width * width, lag);
            let all = [s.value, s.in_rho, s.slope, width * s.curvature + 0.5 * s.value / width];
            row.iter_mut().zip(all).for_each(|(r, x)| *r = mass * x);
        }
        return table;
    }
    if let Some(forcing) = Forcing::of(second) {
        let identity = [Component { gain: 1.0, gain_slopes: Vec::new(), poles: Vec::new() }];
        let reversed: Vec<f64> = lags.iter().rev().map(|lag| -lag).collect();
        forced(rho, &forcing, &identity, &reversed, [count.saturating_sub(3), 0], &mut table.rows);
        table.turn(0);
    }
    table
}
