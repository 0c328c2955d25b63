//! Exponential tails on both sides: Laplace and logistic.
//!
//! log Laplace(x | mu, sigma) = -|z| - log(2 sigma); log Logistic(x | mu, sigma) = -|z| - 2 log(1 + exp(-|z|)) -
//! log sigma, with z = (x - mu)/sigma.

use super::expression::Expression;
use super::{Distribution, Domain, NO_TAILS, Role, Support, finite_positive, outside, smooth};
use crate::math::op::{Ref, Unary, log1p_exp};
use crate::math::special::log_complement;
use rand::RngExt;
use rand_distr::{Distribution as _, Exp1, Open01};
use std::f64::consts::LN_2;

const LOCATION_SCALE: &[super::Argument] =
    &[smooth("mu", Domain::Real, Role::Location), smooth("sigma", Domain::Positive, Role::Scale)];

pub(super) const LAPLACE: Distribution = Distribution {
    name: "laplace",
    arguments: LOCATION_SCALE,
    support: Support::Real,
    location_scale: true,
    corner: Some(0),
    doc: "Laplace (double exponential) distribution with mean mu and mean absolute deviation sigma.",
    formula: "exp(-|x - mu| / sigma) / (2 sigma)",
    log_density: |x, args| laplace_gradient(x, args, &mut [0.0; 3]),
    gradient: laplace_gradient,
    expand: |algebra, x, args| {
        let e = &mut Expression(algebra);
        let z = e.standardize(x, args[0], args[1]);
        let distance = e.of(Unary::Abs, z);
        let width = e.scale(args[1], 2.0);
        let log_width = e.of(Unary::Log, width);
        let sum = e.add(distance, log_width);
        e.of(Unary::Neg, sum)
    },
    log_tails: |x, args| {
        if !accepts(args) {
            return NO_TAILS;
        }
        let z = (x - args[0]) / args[1];
        let far = -z.abs() - LN_2;
        let near = log_complement(far);
        if z < 0.0 { (far, near) } else { (near, far) }
    },
    flow: location_scale_flow,
    draw: |rng, args| {
        if !accepts(args) {
            return f64::NAN;
        }
        let distance: f64 = Exp1.sample(rng);
        let is_below: bool = rng.random();
        args[0] + args[1] * if is_below { -distance } else { distance }
    },
};

pub(super) const LOGISTIC: Distribution = Distribution {
    name: "logistic",
    arguments: LOCATION_SCALE,
    support: Support::Real,
    location_scale: true,
    corner: None,
    doc: "Logistic distribution with mean mu and scale sigma; its standard deviation is sigma pi / sqrt(3).",
    formula: "exp(-z) / (sigma (1 + exp(-z))^2) with z = (x - mu) / sigma",
    log_density: |x, args| logistic_gradient(x, args, &mut [0.0; 3]),
    gradient: logistic_gradient,
    expand: |algebra, x, args| {
        let e = &mut Expression(algebra);
        let z = e.standardize(x, args[0], args[1]);
        let minus_z = e.of(Unary::Neg, z);
        let upper = e.of(Unary::Log1pExp, z);
        let lower = e.of(Unary::Log1pExp, minus_z);
        let log_sigma = e.of(Unary::Log, args[1]);
        let both: Ref = e.add(upper, lower);
        let sum = e.add(both, log_sigma);
        e.of(Unary::Neg, sum)
    },
    log_tails: |x, args| {
        if !accepts(args) {
            return NO_TAILS;
        }
        let z = (x - args[0]) / args[1];
        (-log1p_exp(-z), -log1p_exp(z))
    },
    flow: location_scale_flow,
    draw: |rng, args| {
        if !accepts(args) {
            return f64::NAN;
        }
        let share: f64 = Open01.sample(rng);
        args[0] + args[1] * (share.ln() - (-share).ln_1p())
    },
};

fn accepts(args: &[f64]) -> bool {
    args[0].is_finite() && finite_positive(args[1])
}

fn location_scale_flow(x: f64, args: &[f64], v: &mut [f64]) {
    v[0] = 1.0;
    v[1] = (x - args[0]) / args[1];
}

fn laplace_gradient(x: f64, args: &[f64], d: &mut [f64]) -> f64 {
    let z = (x - args[0]) / args[1];
    if !(accepts(args) && z.is_finite()) {
        return outside(accepts(args), x, d);
    }
    let inverse = 1.0 / args[1];
    // At the corner the derivative is that of the absolute value, zero.
    let side = if z == 0.0 { 0.0 } else { z.signum() };
    d[0] = -side * inverse;
    d[1] = side * inverse;
    d[2] = (z.abs() - 1.0) * inverse;
    -z.abs() - LN_2 - args[1].ln()
}

fn logistic_gradient(x: f64, args: &[f64], d: &mut [f64]) -> f64 {
    let z = (x - args[0]) / args[1];
    if !(accepts(args) && z.is_finite()) {
        return outside(accepts(args), x, d);
    }
    let inverse = 1.0 / args[1];
    let e = (-z.abs()).exp();
    let slope = ((1.0 - e) / (1.0 + e)).copysign(z);
    d[0] = -slope * inverse;
    d[1] = slope * inverse;
    d[2] = (slope * z - 1.0) * inverse;
    -z.abs() - 2.0 * e.ln_1p() - args[1].ln()
}
