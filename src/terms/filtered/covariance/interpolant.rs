//! The covariance of the identity with a curve given by quadrature, as polynomials between the breaks of the curve.
//!
//! A sweep costs ten values of the curve per lag; where thousands of lags are wanted it is asked at Chebyshev points of panels, and
//! the barycentric formula (Berrut & Trefethen 2004, SIAM Review 46) gives the rest to rounding.

use super::Table;
use super::form::Component;
use super::sweep::{Forcing, forced};

/// Chebyshev points per panel, both ends included.
const POINTS: usize = 16;

/// Length scales of the latent that a panel may span.
const PANEL: f64 = 2.0;

/// Parts of what lies between two breaks of the curve.
const PARTS: f64 = 2.0;

/// Length scales beyond the curve at which the covariance is nothing in double precision.
const REACH: f64 = 45.0;

/// Polynomials over a range of lags; zero outside.
#[derive(Debug)]
pub(super) struct Interpolant {
    edges: Vec<f64>,
    /// Panel after panel, one row per point.
    table: Table,
}

fn chebyshev(from: f64, to: f64, point: usize) -> f64 {
    let angle = std::f64::consts::PI * point as f64 / (POINTS - 1) as f64;
    0.5 * (from + to) - 0.5 * (to - from) * angle.cos()
}

impl Interpolant {
    /// The covariance of the identity with the curve of `forcing` for lags in `range`; `count` numbers per lag.
    pub fn new(rho: f64, forcing: &Forcing<'_>, range: (f64, f64), count: usize) -> Interpolant {
        // The identity at s + lag meets the curve at lags u = -lag.
        let mut stops: Vec<f64> = forcing.breaks().iter().rev().map(|u| -u).collect();
        let range = (range.0.max(stops[0] - REACH / rho), range.1.min(stops[stops.len() - 1] + REACH / rho));
        if range.0 >= range.1 {
            return Interpolant { edges: Vec::new(), table: Table::default() };
        }
        stops.retain(|lag| range.0 < *lag && *lag < range.1);
        stops.insert(0, range.0);
        stops.push(range.1);
        let mut edges = vec![range.0];
        for ends in stops.windows(2) {
            let parts = PARTS.max(((ends[1] - ends[0]) * rho / PANEL).ceil());
            edges.extend((1..=parts as usize).map(|p| ends[0] + (ends[1] - ends[0]) * p as f64 / parts));
        }
        let points: Vec<f64> = edges
            .windows(2)
            .flat_map(|ends| (0..POINTS).map(|i| chebyshev(ends[0], ends[1], i)).collect::<Vec<_>>())
            .collect();
        let reversed: Vec<f64> = points.iter().rev().map(|lag| -lag).collect();
        let mut table = Table { count, rows: vec![0.0; points.len() * count] };
        let identity = [Component { gain: 1.0, gain_slopes: Vec::new(), poles: Vec::new() }];
        forced(rho, forcing, &identity, &reversed, [count.saturating_sub(3), 0], &mut table.rows);
        table.turn(count.saturating_sub(3));
        Interpolant { edges, table }
    }

    /// The numbers at a lag.
    pub fn at(&self, lag: f64, out: &mut [f64]) {
        out.fill(0.0);
        let inside = |(first, last): (&f64, &f64)| (*first..=*last).contains(&lag);
        if !self.edges.first().zip(self.edges.last()).is_some_and(inside) {
            return;
        }
        let count = self.table.count;
        let panel = self.edges.partition_point(|e| *e <= lag).clamp(1, self.edges.len() - 1) - 1;
        let (from, to) = (self.edges[panel], self.edges[panel + 1]);
        let rows = &self.table.rows[panel * POINTS * count..(panel + 1) * POINTS * count];
        let mut total = 0.0;
        for (point, row) in rows.chunks_exact(count).enumerate() {
            let distance = lag - chebyshev(from, to, point);
            if distance == 0.0 {
                out.copy_from_slice(row);
                return;
            }
            let end = if point == 0 || point == POINTS - 1 { 0.5 } else { 1.0 };
            let weight = if point % 2 == 0 { end } else { -end } / distance;
            total += weight;
            out.iter_mut().zip(row).for_each(|(o, r)| *o += weight * r);
        }
        out.iter_mut().for_each(|o| *o /= total);
    }
}
