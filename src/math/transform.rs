//! Constraint transforms between an unconstrained coordinate u and a bounded physical value x.
//!
//! Interval: x = lo + (hi - lo) s(u), s the logistic function kept inside (0, 1); one bound: x = lo + exp(u) or
//! x = hi - exp(u). The log Jacobian is log |dx/du| (Stan Reference Manual, "Constraint Transforms").

use super::op::{log1p_exp, logistic};
use serde::{Deserialize, Serialize};

/// A smooth increasing or decreasing map from the real line onto an open interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Transform {
    /// The whole line.
    Identity,
    /// Above a lower bound.
    Lower(f64),
    /// Below an upper bound.
    Upper(f64),
    /// Between a lower and an upper bound.
    Interval(f64, f64),
}

impl Transform {
    /// The transform for the bounds `lo < hi`; an infinite bound is none.
    pub fn from_bounds(lo: f64, hi: f64) -> Transform {
        match (lo.is_finite(), hi.is_finite()) {
            (false, false) => Transform::Identity,
            (true, false) => Transform::Lower(lo),
            (false, true) => Transform::Upper(hi),
            (true, true) => Transform::Interval(lo, hi),
        }
    }

    /// The physical value at `u`.
    #[inline]
    pub fn to_physical(self, u: f64) -> f64 {
        match self {
            Transform::Identity => u,
            Transform::Lower(lo) => lo + u.exp(),
            Transform::Upper(hi) => hi - u.exp(),
            Transform::Interval(lo, hi) => {
                let share = logistic(u).clamp(f64::MIN_POSITIVE, 1.0 - f64::EPSILON);
                lo + (hi - lo) * share
            }
        }
    }

    /// dx/du at `u`.
    #[inline]
    pub fn derivative(self, u: f64) -> f64 {
        match self {
            Transform::Identity => 1.0,
            Transform::Lower(_) => u.exp(),
            Transform::Upper(_) => -u.exp(),
            Transform::Interval(lo, hi) => (hi - lo) * logistic(u) * logistic(-u),
        }
    }

    /// log |dx/du| at `u`.
    #[inline]
    pub fn log_jacobian(self, u: f64) -> f64 {
        match self {
            Transform::Identity => 0.0,
            Transform::Lower(_) | Transform::Upper(_) => u,
            Transform::Interval(lo, hi) => (hi - lo).ln() - log1p_exp(u) - log1p_exp(-u),
        }
    }

    /// The derivative of [`Transform::log_jacobian`] at `u`.
    #[inline]
    pub fn log_jacobian_derivative(self, u: f64) -> f64 {
        match self {
            Transform::Identity => 0.0,
            Transform::Lower(_) | Transform::Upper(_) => 1.0,
            Transform::Interval(..) => -(0.5 * u).tanh(),
        }
    }

    /// The coordinate of a physical value; `None` unless `x` is finite and strictly inside the bounds.
    pub fn to_unconstrained(self, x: f64) -> Option<f64> {
        let inside = match self {
            Transform::Identity => true,
            Transform::Lower(lo) => x > lo,
            Transform::Upper(hi) => x < hi,
            Transform::Interval(lo, hi) => x > lo && x < hi,
        };
        if !(inside && x.is_finite()) {
            return None;
        }
        Some(match self {
            Transform::Identity => x,
            Transform::Lower(lo) => (x - lo).ln(),
            Transform::Upper(hi) => (hi - x).ln(),
            Transform::Interval(lo, hi) => (x - lo).ln() - (hi - x).ln(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Transform; 5] = [
        Transform::Identity,
        Transform::Lower(-1.5),
        Transform::Upper(2.0),
        Transform::Interval(-3.0, 0.5),
        Transform::Interval(1.0, 1.0 + 1e-6),
    ];

    #[test]
    fn derivatives_are_differences() {
        for t in ALL {
            for u in [-9.0, -2.3, -0.1, 0.0, 0.7, 3.0, 8.0] {
                let h = 1e-4;
                let central = |f: &dyn Fn(f64) -> f64| {
                    (8.0 * (f(u + h) - f(u - h)) - (f(u + 2.0 * h) - f(u - 2.0 * h))) / (12.0 * h)
                };
                let slope = central(&|u| t.to_physical(u));
                let rounding = 1e-11 * (1.0 + t.to_physical(u).abs());
                assert!((slope - t.derivative(u)).abs() <= 1e-9 * slope.abs() + rounding, "{t:?} {u}");
                let want = t.derivative(u).abs().ln();
                assert!((t.log_jacobian(u) - want).abs() < 1e-13 * want.abs().max(1.0), "{t:?} {u}");
                let slope = central(&|u| t.log_jacobian(u));
                assert!((slope - t.log_jacobian_derivative(u)).abs() < 1e-10, "{t:?} {u}");
            }
        }
    }

    #[test]
    fn coordinates_return() {
        for t in ALL {
            for u in [-20.0, -3.0, 0.0, 1.0, 9.0] {
                let x = t.to_physical(u);
                let back = t.to_unconstrained(x).unwrap();
                // What a rounding of x near a bound leaves.
                let rounding = 2.0 * f64::EPSILON * (1.0 + x.abs()) / t.derivative(u).abs();
                assert!((back - u).abs() <= 1e-14 * u.abs() + 2.0 * rounding, "{t:?} {u}: {back}");
            }
        }
    }

    #[test]
    fn only_interior_points_have_a_coordinate() {
        assert_eq!(Transform::from_bounds(f64::NEG_INFINITY, f64::INFINITY), Transform::Identity);
        assert_eq!(Transform::from_bounds(1.0, f64::INFINITY), Transform::Lower(1.0));
        assert_eq!(Transform::from_bounds(f64::NEG_INFINITY, 1.0), Transform::Upper(1.0));
        let interval = Transform::from_bounds(1.0, 2.0);
        for t in [Transform::Lower(1.0), Transform::Upper(1.0), interval] {
            assert_eq!(t.to_unconstrained(1.0), None);
        }
        assert_eq!(interval.to_unconstrained(2.0), None);
        assert_eq!(interval.to_unconstrained(f64::NAN), None);
        assert_eq!(Transform::Identity.to_unconstrained(f64::INFINITY), None);
        assert_eq!(Transform::Lower(0.0).to_unconstrained(f64::INFINITY), None);
    }

    #[test]
    fn far_coordinates_stay_in_the_interval() {
        let unit = Transform::Interval(0.0, 1.0);
        assert!(unit.to_physical(-1e4) > 0.0 && unit.to_physical(1e4) < 1.0);
        assert_eq!(unit.log_jacobian(1e4), -1e4);
        assert_eq!(unit.log_jacobian_derivative(1e4), -1.0);
    }
}
