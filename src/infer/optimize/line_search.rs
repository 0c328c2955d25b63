//! Line search for the strong Wolfe conditions by safeguarded cubic interpolation (Moré and Thuente 1994).
//!
//! Accepts a step t with f(t) <= f(0) + C1 t f'(0) and |f'(t)| <= C2 |f'(0)|; where the values differ by rounding
//! only, the derivative form of the first condition, (2 C1 - 1) f'(0) >= f'(t) (Hager and Zhang 2005). A rejected
//! trial is a wall: later trials stay below it.

use super::outcome::{LineSearchFacts, Termination};
use crate::graph::Rejection;

/// Sufficient decrease.
const C1: f64 = 1e-3;
/// Curvature.
const C2: f64 = 0.9;
/// Sufficient decrease of the derivative form.
const C1_ROUNDING: f64 = 0.1;
/// Relative rounding of the objective.
const ROUNDING: f64 = 1e-13;
/// Finite trials per search.
const TRIALS: usize = 20;
/// Rejected trials per search.
const REJECTIONS: usize = 60;
/// An interval of uncertainty shorter than this fraction of its upper end is good enough once the value has fallen.
const INTERVAL: f64 = 0.1;

/// Why a trial has no value.
#[derive(Debug)]
pub(super) enum Halt {
    /// The objective is infinite or rejected there.
    Rejected(Rejection),
    /// The whole minimisation must end.
    Stop(Termination),
}

/// Result of a search.
#[derive(Debug)]
pub(super) enum Search {
    /// The step to take, and what was seen on the way.
    Accepted {
        step: f64,
        facts: LineSearchFacts,
    },
    Failed(LineSearchFacts),
    Stopped(Termination),
}

/// A step with value and derivative along the direction.
#[derive(Debug, Clone, Copy)]
struct Point {
    t: f64,
    f: f64,
    g: f64,
}

/// The best point so far and the far end of the interval of uncertainty.
struct Interval {
    best: Point,
    other: Point,
    bracketed: bool,
}

/// Searches t in (0, `longest`] from value `value` and derivative `slope` (negative), trying `first` first.
pub(super) fn search(
    mut evaluate: impl FnMut(f64) -> Result<(f64, f64), Halt>,
    value: f64,
    slope: f64,
    first: f64,
    longest: f64,
) -> Search {
    let start = Point { t: 0.0, f: value, g: slope };
    let mut interval = Interval { best: start, other: start, bracketed: false };
    let mut modified = true;
    let mut widths = [longest, 2.0 * longest];
    let mut wall = f64::INFINITY;
    let mut facts = LineSearchFacts { slope, ..LineSearchFacts::unsearched(value) };
    let mut t = first.min(longest);
    let sufficient = |p: Point| p.f <= value + C1 * p.t * slope;
    while facts.trials - facts.rejections < TRIALS && facts.rejections < REJECTIONS {
        facts.trials += 1;
        facts.smallest_step = facts.smallest_step.min(t);
        let trial = match evaluate(t) {
            Ok((f, g)) => Point { t, f, g },
            Err(Halt::Stop(termination)) => return Search::Stopped(termination),
            Err(Halt::Rejected(rejection)) => {
                facts.rejections += 1;
                facts.rejection = Some(rejection);
                wall = t;
                let factor = if interval.best.t == 0.0 { 0.1 } else { 0.5 };
                t = interval.best.t + factor * (wall - interval.best.t);
                if wall - interval.best.t <= 1e-10 * wall {
                    break;
                }
                continue;
            }
        };
        let wolfe = sufficient(trial) && trial.g.abs() <= -C2 * slope;
        let within_rounding = (trial.f - value).abs() <= ROUNDING * value.abs()
            && trial.g <= (2.0 * C1_ROUNDING - 1.0) * slope
            && trial.g >= C2 * slope;
        let still_falling_at_the_end = t == longest && sufficient(trial) && trial.g <= C1 * slope;
        if wolfe || within_rounding || still_falling_at_the_end {
            return Search::Accepted { step: t, facts };
        }
        if modified && sufficient(trial) && trial.g >= 0.0 {
            modified = false;
        }
        // The first stage works on f minus its line of sufficient decrease, until that has been met.
        let tilt = if modified && trial.f <= interval.best.f && !sufficient(trial) { C1 * slope } else { 0.0 };
        let (near, far) = if interval.bracketed {
            let (a, b) = (interval.best.t, interval.other.t);
            (a.min(b), a.max(b))
        } else {
            (t + 1.1 * (t - interval.best.t), t + 4.0 * (t - interval.best.t))
        };
        t = interval.advance(trial, near, far, tilt);
        if interval.bracketed {
            let width = (interval.other.t - interval.best.t).abs();
            if width >= 0.66 * widths[1] {
                t = interval.best.t + 0.5 * (interval.other.t - interval.best.t);
            }
            widths = [width, widths[0]];
        }
        let best = interval.best;
        if t >= wall {
            t = best.t + 0.5 * (wall - best.t);
        }
        t = t.min(longest);
        if interval.bracketed {
            let (a, b) = (best.t.min(interval.other.t), best.t.max(interval.other.t));
            let short = b - a <= INTERVAL * b;
            if short && best.t > 0.0 && sufficient(best) && best.f < value {
                break;
            }
            if b - a <= 1e-14 * b || t <= 0.0 {
                break;
            }
            if t <= a || t >= b {
                t = 0.5 * (a + b);
            }
        }
    }
    let best = interval.best;
    if best.t > 0.0 && best.f < value && sufficient(best) {
        return Search::Accepted { step: best.t, facts };
    }
    Search::Failed(facts)
}

impl Interval {
    /// Takes `trial` into the interval and returns the next step. Between trials without a bracket it lies in
    /// [near, far]. Values and slopes are tilted by `tilt` per unit step while deciding.
    fn advance(&mut self, trial: Point, near: f64, far: f64, tilt: f64) -> f64 {
        let tilted = |p: Point| Point { t: p.t, f: p.f - p.t * tilt, g: p.g - tilt };
        let (x, y, p) = (tilted(self.best), tilted(self.other), tilted(trial));
        let turned = p.g * x.g.signum() < 0.0;
        let secant = p.t + p.g / (p.g - x.g) * (x.t - p.t);
        let next;
        if p.f > x.f {
            // Higher: a minimiser lies between. The cubic step when nearer to x, else halfway to the quadratic one.
            let cubic = cubic_minimiser(x, p).0;
            let quadratic = x.t + 0.5 * x.g / ((x.f - p.f) / (p.t - x.t) + x.g) * (p.t - x.t);
            next =
                if (cubic - x.t).abs() < (quadratic - x.t).abs() { cubic } else { cubic + 0.5 * (quadratic - cubic) };
            self.bracketed = true;
        } else if turned {
            // Lower with a slope of the other sign: the farther of the cubic and the secant step.
            let cubic = cubic_minimiser(p, x).0;
            next = if (cubic - p.t).abs() > (secant - p.t).abs() { cubic } else { secant };
            self.bracketed = true;
        } else if p.g.abs() < x.g.abs() {
            // Lower and flatter: the cubic step only if the cubic rises in the direction of search.
            let (minimiser, rises) = cubic_minimiser(p, x);
            let beyond = (minimiser - p.t) * (p.t - x.t) > 0.0;
            let cubic = match (rises && beyond, p.t > x.t) {
                (true, _) => minimiser,
                (false, true) => far,
                (false, false) => near,
            };
            let cubic_is_nearer = (cubic - p.t).abs() < (secant - p.t).abs();
            next = if self.bracketed {
                let chosen = if cubic_is_nearer { cubic } else { secant };
                let limit = p.t + 0.66 * (y.t - p.t);
                if p.t > x.t { chosen.min(limit) } else { chosen.max(limit) }
            } else {
                let chosen = if cubic_is_nearer { secant } else { cubic };
                chosen.clamp(near.min(far), near.max(far))
            };
        } else {
            // Lower and no flatter: towards the other end, or as far as allowed.
            next = match (self.bracketed, p.t > x.t) {
                (true, _) => cubic_minimiser(p, y).0,
                (false, true) => far,
                (false, false) => near,
            };
        }
        let next = match (next.is_finite(), self.bracketed) {
            (true, _) => next,
            (false, true) => 0.5 * (p.t + if p.f > x.f || turned { x.t } else { y.t }),
            (false, false) => far,
        };
        if p.f > x.f {
            self.other = trial;
        } else {
            if turned {
                self.other = self.best;
            }
            self.best = trial;
        }
        next
    }
}

/// Minimiser of the cubic through two points with slopes, and whether the cubic has one.
fn cubic_minimiser(a: Point, b: Point) -> (f64, bool) {
    let theta = 3.0 * (a.f - b.f) / (b.t - a.t) + a.g + b.g;
    let size = theta.abs().max(a.g.abs()).max(b.g.abs());
    let discriminant = (theta / size).powi(2) - (a.g / size) * (b.g / size);
    let root = size * discriminant.max(0.0).sqrt() * (b.t - a.t).signum();
    let ratio = (root - a.g + theta) / (root - a.g + root + b.g);
    (a.t + ratio * (b.t - a.t), root != 0.0)
}
