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
