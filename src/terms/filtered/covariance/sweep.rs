//! Covariances of a curve of any kind with one that has poles, at ascending lags, by one pass of a chain along the lags.
//!
//! With k the first curve and F the covariance of the identity with the second, the covariance at a lag is the integral of
//! k(u) F(lag - u). Split at F's kink it is twice the convolution of k, once reflected, with the states of a
//! [`Side`]: each is carried along the lags while k feeds it at the nodes of Gauss-Legendre panels that end at the breaks of
//! k and at every lag. The integrands are smooth within a panel, so that the rule is exact to rounding.

use super::chain::{Outputs, Side};
use super::form::{Component, Shape};
use crate::response::Curve;
use std::f64::consts::PI;

/// Widths beyond which a bell is nothing in double precision.
const BELL_REACH: i32 = 9;

/// Time constants that a panel may span.
const PANEL: f64 = 4.0;

/// Positive nodes and weights of the ten-point Gauss-Legendre rule on [-1, 1].
const RULE: [(f64, f64); 5] = [
    (0.148_874_338_981_631_22, 0.295_524_224_714_752_87),
    (0.433_395_394_129_247_2, 0.269_266_719_309_996_35),
    (0.679_409_568_299_024_4, 0.219_086_362_515_982_04),
    (0.865_063_366_688_984_5, 0.149_451_349_150_580_6),
    (0.973_906_528_517_171_7, 0.066_671_344_308_688_14),
];

/// Panels below this share of the longest one are refinements of an end.
const SHORTEST: f64 = 0.01;

fn longest(breaks: &[f64]) -> f64 {
    breaks.windows(2).map(|ends| ends[1] - ends[0]).fold(0.0, f64::max)
}

/// Visits nodes, ascending, and weights of the rule on [a, b].
pub(super) fn panel(a: f64, b: f64, mut visit: impl FnMut(f64, f64)) {
    let (middle, half) = (0.5 * (a + b), 0.5 * (b - a));
    for (x, w) in RULE.into_iter().rev() {
        visit(middle - half * x, half * w);
    }
    for (x, w) in RULE {
        visit(middle + half * x, half * w);
    }
}

/// What feeds the chain.
#[derive(Debug)]
pub(super) enum Forcing<'a> {
    Bell { width: f64, mass: f64 },
    Curve(&'a Curve),
}

impl Forcing<'_> {
    /// The forcing of a shape without poles.
    pub fn of(shape: &Shape) -> Option<Forcing<'_>> {
        match shape {
            Shape::Poles(_) => None,
            Shape::Bell { width, mass } => Some(Forcing::Bell { width: *width, mass: *mass }),
            Shape::Curve(curve) => Some(Forcing::Curve(curve)),
        }
    }

    /// Ascending points between which the curve is smooth; the curve is zero outside.
    pub fn breaks(&self) -> Vec<f64> {
        match self {
            Forcing::Bell { width, .. } => (-BELL_REACH..=BELL_REACH).map(|i| width * f64::from(i)).collect(),
            Forcing::Curve(curve) => curve.breaks().to_vec(),
        }
    }

    /// Seconds over which the curve bends: a quarter of its longer panels are shorter.
    pub fn scale(&self) -> f64 {
        let breaks = self.breaks();
        let longest = longest(&breaks);
        let mut panels: Vec<f64> = breaks.windows(2).map(|ends| ends[1] - ends[0]).collect();
        panels.retain(|length| *length >= SHORTEST * longest);
        panels.sort_by(f64::total_cmp);
        panels[panels.len() / 4]
    }

    /// Points at which the curve or its slope may jump, and some behind its onset, where it may rise like a fractional power.
    pub fn kinks(&self) -> Vec<f64> {
        let mut breaks = self.breaks();
        match self {
            Forcing::Bell { .. } => breaks.clear(),
            // A sampled curve, which has no parameters, bends at each of its lags.
            Forcing::Curve(curve) if curve.parameter_count() == 0 => {}
            Forcing::Curve(_) => {
                let longest = longest(&breaks);
                let (onset, end) = (breaks[0], breaks[breaks.len() - 1]);
                let near = SHORTEST * longest..longest;
                breaks.retain(|b| *b == onset || *b == end || near.contains(&(b - onset)));
            }
        }
        breaks
    }

    /// The value at `u`; `slopes` becomes the derivatives in every parameter but the lag.
    pub fn value(&self, u: f64, slopes: &mut [f64]) -> f64 {
        match self {
            Forcing::Bell { width, mass } => {
                let x = u / width;
                let value = mass * (-0.5 * x * x).exp() / (width * (2.0 * PI).sqrt());
                if let [slope] = slopes {
                    // The mass grows with the root of the width.
                    *slope = value * (x * x - 0.5) / width;
                }
                value
            }
            Forcing::Curve(curve) => curve.value_and_slopes(u, slopes),
        }
    }

    /// Impulses, at the ends of the support, that its motion adds to the derivatives.
    pub fn moving_ends(&self) -> Vec<(f64, Vec<f64>)> {
        match self {
            Forcing::Bell { .. } => Vec::new(),
            Forcing::Curve(curve) => curve.moving_ends().into(),
        }
    }
}

/// The covariance of two curves with poles.
pub(super) fn poles(rho: f64, a: &[Component], b: &[Component], lags: &[f64], others: [usize; 2], out: &mut [f64]) {
    if lags.is_empty() {
        return;
    }
    let count = out.len() / lags.len();
    let ahead = Outputs { past: 3, future: 3 + others[0], count };
    let behind = Outputs { past: 3 + others[0], future: 3, count };
    let split = lags.partition_point(|lag| *lag < 0.0);
    let (mut states, mut power) = (Vec::new(), Vec::new());
    let mut run = |side: &Side, indices: &mut dyn Iterator<Item = usize>, out: &mut [f64]| {
        states.clear();
        states.resize(side.states(), 0.0);
        states[0] = 1.0;
        let mut now = 0.0;
        for i in indices {
            side.pass(lags[i].abs() - now, &mut states, &mut power);
            now = lags[i].abs();
            side.read(&states, &mut out[i * count..(i + 1) * count]);
        }
    };
    for component in a {
        run(&Side::new(rho, component, b, 1.0, ahead), &mut (split..lags.len()), out);
    }
    for component in b {
        run(&Side::new(rho, component, a, -1.0, behind), &mut (0..split).rev(), out);
    }
}

/// The covariance of a curve without poles and one with them. `others` are the numbers of their parameters without the
/// lags.
pub(super) fn forced(
    rho: f64,
    forcing: &Forcing<'_>,
    b: &[Component],
    lags: &[f64],
    others: [usize; 2],
    out: &mut [f64],
) {
    if lags.is_empty() {
        return;
    }
    let count = out.len() / lags.len();
    let identity = [Component { gain: 1.0, gain_slopes: Vec::new(), poles: Vec::new() }];
    // The identity has no parameters: its place is that of the forcing's, which the sweep fills.
    let ahead = Outputs { past: 3, future: 3 + others[0], count };
    let behind = Outputs { past: 3 + others[0], future: 3, count };
    let mut sweep = Sweep { forcing, lags, own: if count > 1 { others[0] } else { 0 }, count };
    sweep.along(&Side::new(rho, &identity[0], b, 1.0, ahead), false, out);
    for component in b {
        sweep.along(&Side::new(rho, component, &identity, -1.0, behind), true, out);
    }
}

struct Sweep<'a> {
    forcing: &'a Forcing<'a>,
    lags: &'a [f64],
    /// Parameters of the forcing whose derivatives are wanted.
    own: usize,
    count: usize,
}

impl Sweep<'_> {
    /// One side; `reflected` means that times are minus the lags.
    fn along(&mut self, side: &Side, reflected: bool, out: &mut [f64]) {
        let sign = if reflected { -1.0 } else { 1.0 };
        let n = side.states();
        let mut breaks = self.forcing.breaks();
        let mut ends = if self.own > 0 { self.forcing.moving_ends() } else { Vec::new() };
        if reflected {
            breaks.iter_mut().for_each(|b| *b = -*b);
            breaks.reverse();
            ends.iter_mut().for_each(|end| end.0 = -end.0);
            ends.reverse();
        }
        let mut states = vec![0.0; (1 + self.own) * n];
        let (mut power, mut slopes) = (Vec::new(), vec![0.0; self.own]);
        let mut now = breaks[0];
        let mut next = 1;
        let enter = |at: f64, states: &mut [f64]| {
            for (_, factors) in ends.iter().filter(|end| end.0 == at) {
                states[n..].chunks_exact_mut(n).zip(factors).for_each(|(s, f)| s[0] += f);
            }
        };
        // An impulse exactly at a lag counts on one side alone: the reflected side lets it in on leaving.
        let mut waiting = Some(now);
        for step in 0..self.lags.len() {
            let i = if reflected { self.lags.len() - 1 - step } else { step };
            let target = sign * self.lags[i];
            loop {
                if (now < target || (now == target && !reflected))
                    && let Some(at) = waiting.take()
                {
                    enter(at, &mut states);
                }
                if now >= target {
                    break;
                }
                let Some(&stop) = breaks.get(next) else {
                    side.pass(target - now, &mut states, &mut power);
                    now = target;
                    break;
                };
                let to = stop.min(target);
                let panels = ((to - now) * side.fastest / PANEL).ceil().max(1.0);
                for p in 0..panels as usize {
                    let from = now + (to - now) * p as f64 / panels;
                    let until = now + (to - now) * (p + 1) as f64 / panels;
                    let mut at = from;
                    panel(from, until, |t, w| {
                        side.pass(t - at, &mut states, &mut power);
                        at = t;
                        states[0] += w * self.forcing.value(sign * t, &mut slopes);
                        states[n..].chunks_exact_mut(n).zip(&slopes).for_each(|(s, slope)| s[0] += w * slope);
                    });
                    side.pass(until - at, &mut states, &mut power);
                }
                now = to;
                if to == stop {
                    next += 1;
                    waiting = Some(stop);
                }
            }
            if target < breaks[0] {
                continue;
            }
            let row = &mut out[i * self.count..(i + 1) * self.count];
            side.read(&states[..n], row);
            for (slope, copy) in row[3.min(self.count)..].iter_mut().zip(states[n..].chunks_exact(n)) {
                *slope += side.value(copy);
            }
        }
    }
}
