//! The normal family: normal, half normal, lognormal.
//!
//! log N(x | mu, sigma) = -z^2/2 - log sigma - log(2 pi)/2 with z = (x - mu)/sigma.

use super::expression::Expression;
use super::{Distribution, Domain, NO_TAILS, Role, Support, finite_positive, outside, smooth};
use crate::math::op::{Ref, Unary};
use crate::math::special::{HALF_LN_2PI, erf, erfc, log_ndtr};
use rand::Rng;
use rand_distr::{Distribution as _, StandardNormal};
use std::f64::consts::{FRAC_1_SQRT_2, LN_2};

pub(super) const NORMAL: Distribution = Distribution {
    name: "normal",
    arguments: &[smooth("mu", Domain::Real, Role::Location), smooth("sigma", Domain::Positive, Role::Scale)],
    support: Support::Real,
    location_scale: true,
    corner: None,
    doc: "Normal distribution with mean mu and standard deviation sigma.",
    formula: "exp(-(x - mu)^2 / (2 sigma^2)) / (sigma sqrt(2 pi))",
    log_density: log_normal,
    gradient: normal_gradient,
    expand: |algebra, x, args| {
        let e = &mut Expression(algebra);
        let z = e.standardize(x, args[0], args[1]);
        expand_standard(e, z, args[1], -HALF_LN_2PI)
    },
    log_tails: normal_tails,
    flow: |x, args, v| {
        v[0] = 1.0;
        v[1] = (x - args[0]) / args[1];
    },
    draw: |rng, args| if accepts(args) { args[0] + args[1] * standard_draw(rng) } else { f64::NAN },
};

pub(super) const HALF_NORMAL: Distribution = Distribution {
    name: "half_normal",
    arguments: &[smooth("sigma", Domain::Positive, Role::Scale)],
    support: Support::NonNegative,
    location_scale: false,
    corner: None,
    doc: "Absolute value of a normal variable with mean 0 and standard deviation sigma.",
    formula: "2 exp(-x^2 / (2 sigma^2)) / (sigma sqrt(2 pi)), x >= 0",
    log_density: |x, args| {
        if x < 0.0 { outside(finite_positive(args[0]), x, &mut []) } else { log_normal(x, &[0.0, args[0]]) + LN_2 }
    },
    gradient: half_normal_gradient,
    expand: |algebra, x, args| {
        let e = &mut Expression(algebra);
        let z = e.div(x, args[0]);
        expand_standard(e, z, args[0], LN_2 - HALF_LN_2PI)
    },
    log_tails: |x, args| {
        if !finite_positive(args[0]) {
            return NO_TAILS;
        }
        let z = x.clamp(0.0, f64::INFINITY) / args[0];
        let r = z * FRAC_1_SQRT_2;
        let below = if r < 0.5 { erf(r).ln() } else { (-erfc(r)).ln_1p() };
        (below, LN_2 + log_ndtr(-z))
    },
    flow: |x, args, v| v[0] = x / args[0],
    draw: |rng, args| if finite_positive(args[0]) { args[0] * standard_draw(rng).abs() } else { f64::NAN },
};

pub(super) const LOGNORMAL: Distribution = Distribution {
    name: "lognormal",
    arguments: &[smooth("mu", Domain::Real, Role::Location), smooth("sigma", Domain::Positive, Role::Scale)],
    support: Support::Positive,
    location_scale: false,
    corner: None,
    doc: "Exponential of a normal variable with mean mu and standard deviation sigma.",
    formula: "exp(-(log x - mu)^2 / (2 sigma^2)) / (x sigma sqrt(2 pi)), x > 0",
    log_density: |x, args| {
        if !finite_positive(x) {
            return outside(accepts(args), x, &mut []);
        }
        let log_x = x.ln();
        log_normal(log_x, args) - log_x
    },
    gradient: lognormal_gradient,
    expand: |algebra, x, args| {
        let e = &mut Expression(algebra);
        let log_x = e.of(Unary::Log, x);
        let z = e.standardize(log_x, args[0], args[1]);
        let of_log = expand_standard(e, z, args[1], -HALF_LN_2PI);
        e.sub(of_log, log_x)
    },
    log_tails: |x, args| normal_tails(x.clamp(0.0, f64::INFINITY).ln(), args),
    flow: |x, args, v| {
        v[0] = x;
        v[1] = x * (x.ln() - args[0]) / args[1];
    },
    draw: |rng, args| if accepts(args) { (args[0] + args[1] * standard_draw(rng)).exp() } else { f64::NAN },
};

#[inline]
fn accepts(args: &[f64]) -> bool {
    args[0].is_finite() && finite_positive(args[1])
}

#[inline]
fn log_normal(x: f64, args: &[f64]) -> f64 {
    if !accepts(args) {
        return f64::NAN;
    }
    let z = (x - args[0]) / args[1];
    -0.5 * z * z - args[1].ln() - HALF_LN_2PI
}

fn normal_tails(x: f64, args: &[f64]) -> (f64, f64) {
    if !accepts(args) {
        return NO_TAILS;
    }
    let z = (x - args[0]) / args[1];
    (log_ndtr(z), log_ndtr(-z))
}

fn standard_draw(rng: &mut dyn Rng) -> f64 {
    StandardNormal.sample(rng)
}

/// `constant - z^2/2 - log sigma`.
fn expand_standard(e: &mut Expression, z: Ref, sigma: Ref, constant: f64) -> Ref {
    let square = e.of(Unary::Square, z);
    let quadratic = e.scale(square, -0.5);
    let log_sigma = e.of(Unary::Log, sigma);
    let kernel = e.sub(quadratic, log_sigma);
    e.shift(kernel, constant)
}

#[inline]
fn normal_gradient(x: f64, args: &[f64], d: &mut [f64]) -> f64 {
    let z = (x - args[0]) / args[1];
    let square = z * z;
    if !(accepts(args) && square < f64::INFINITY) {
        return outside(accepts(args), x, d);
    }
    let inverse = 1.0 / args[1];
    d[0] = -z * inverse;
    d[1] = z * inverse;
    d[2] = (square - 1.0) * inverse;
    -0.5 * square - args[1].ln() - HALF_LN_2PI
}

fn half_normal_gradient(x: f64, args: &[f64], d: &mut [f64]) -> f64 {
    if x < 0.0 {
        return outside(finite_positive(args[0]), x, d);
    }
    let mut both = [0.0; 3];
    let value = normal_gradient(x, &[0.0, args[0]], &mut both);
    d[0] = both[0];
    d[1] = both[2];
    value + LN_2
}

fn lognormal_gradient(x: f64, args: &[f64], d: &mut [f64]) -> f64 {
    if !finite_positive(x) {
        return outside(accepts(args), x, d);
    }
    let log_x = x.ln();
    let value = normal_gradient(log_x, args, d);
    d[0] = (d[0] - 1.0) / x;
    value - log_x
}
