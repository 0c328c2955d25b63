//! Extreme values: Gumbel, Weibull, Frechet, Rayleigh.
//!
//! In each of them w, a monotone function of x, is exponential with mean one:
//! log density = log |d log w / dx| + log w - w (Johnson, Kotz & Balakrishnan 1995, chapters 21 and 22).

use super::expression::Expression;
use super::{Distribution, Domain, NO_TAILS, Role, Support, finite_positive, outside, smooth};
use crate::math::op::{Algebra, Ref, Unary};
use crate::math::special::log_complement;
use rand::Rng;
use rand_distr::{Distribution as _, Exp1};
use std::f64::consts::{LN_2, SQRT_2};

pub(super) const GUMBEL: Distribution = Distribution {
    name: "gumbel",
    arguments: &[smooth("mu", Domain::Real, Role::Location), smooth("beta", Domain::Positive, Role::Scale)],
    support: Support::Real,
    location_scale: true,
    corner: None,
    doc: "Gumbel distribution of a maximum, with mode mu and scale beta.",
    formula: "exp(-z - exp(-z)) / beta with z = (x - mu) / beta",
    log_density: |x, args| gumbel_gradient(x, args, &mut [0.0; 3]),
    gradient: gumbel_gradient,
    expand: |algebra, x, args| {
        let e = &mut Expression(algebra);
        let z = e.standardize(x, args[0], args[1]);
        let log_w = e.of(Unary::Neg, z);
        let log_beta = e.of(Unary::Log, args[1]);
        let kernel = expand_kernel(e, log_w);
        e.sub(kernel, log_beta)
    },
    log_tails: |x, args| {
        if accepts_gumbel(args) { reversed(tails((args[0] - x) / args[1])) } else { NO_TAILS }
    },
    flow: |x, args, v| {
        v[0] = 1.0;
        v[1] = (x - args[0]) / args[1];
    },
    draw: |rng, args| {
        if accepts_gumbel(args) { args[0] - args[1] * exponential_draw(rng).ln() } else { f64::NAN }
    },
};

pub(super) const WEIBULL: Distribution = Distribution {
    name: "weibull",
    arguments: SHAPE_SCALE,
    support: Support::Positive,
    location_scale: false,
    corner: None,
    doc: "Weibull distribution with shape alpha and scale sigma; a larger alpha is narrower.",
    formula: "alpha / sigma (x / sigma)^(alpha - 1) exp(-(x / sigma)^alpha), x > 0",
    log_density: |x, args| weibull_gradient(x, args, &mut [0.0; 3]),
    gradient: weibull_gradient,
    expand: |algebra, x, args| expand_power(algebra, x, args, false),
    log_tails: |x, args| {
        if accepts(args) { tails(args[0] * (x.clamp(0.0, f64::INFINITY) / args[1]).ln()) } else { NO_TAILS }
    },
    flow: power_flow,
    draw: |rng, args| {
        if accepts(args) { representable(args[1] * exponential_draw(rng).powf(1.0 / args[0])) } else { f64::NAN }
    },
};

pub(super) const FRECHET: Distribution = Distribution {
    name: "frechet",
    arguments: SHAPE_SCALE,
    support: Support::Positive,
    location_scale: false,
    corner: None,
    doc: "Frechet distribution of a maximum with a heavy tail: shape alpha, scale sigma.",
    formula: "alpha / sigma (x / sigma)^(-alpha - 1) exp(-(x / sigma)^(-alpha)), x > 0",
    log_density: |x, args| frechet_gradient(x, args, &mut [0.0; 3]),
    gradient: frechet_gradient,
    expand: |algebra, x, args| expand_power(algebra, x, args, true),
    log_tails: |x, args| {
        if accepts(args) { reversed(tails(-args[0] * (x.clamp(0.0, f64::INFINITY) / args[1]).ln())) } else { NO_TAILS }
    },
    flow: power_flow,
    draw: |rng, args| {
        if accepts(args) { representable(args[1] * exponential_draw(rng).powf(-1.0 / args[0])) } else { f64::NAN }
    },
};

pub(super) const RAYLEIGH: Distribution = Distribution {
    name: "rayleigh",
    arguments: &[smooth("sigma", Domain::Positive, Role::Scale)],
    support: Support::Positive,
    location_scale: false,
    corner: None,
    doc: "Length of a vector of two normal variables with mean 0 and standard deviation sigma.",
    formula: "x / sigma^2 exp(-x^2 / (2 sigma^2)), x > 0",
    log_density: |x, args| rayleigh_gradient(x, args, &mut [0.0; 2]),
    gradient: rayleigh_gradient,
    expand: |algebra, x, args| {
        let e = &mut Expression(algebra);
        let relative = e.div(x, args[0]);
        let log = e.of(Unary::Log, relative);
        let twice = e.scale(log, 2.0);
        let log_w = e.shift(twice, -LN_2);
        let kernel = expand_kernel(e, log_w);
        let log_x = e.of(Unary::Log, x);
        let sum = e.sub(kernel, log_x);
        e.shift(sum, LN_2)
    },
    log_tails: |x, args| {
        if finite_positive(args[0]) {
            tails(2.0 * (x.clamp(0.0, f64::INFINITY) / args[0]).ln() - LN_2)
        } else {
            NO_TAILS
        }
    },
    flow: |x, args, v| v[0] = x / args[0],
    draw: |rng, args| {
        if !finite_positive(args[0]) {
            return f64::NAN;
        }
        representable(args[0] * SQRT_2 * exponential_draw(rng).sqrt())
    },
};

const SHAPE_SCALE: &[super::Argument] =
    &[smooth("alpha", Domain::Positive, Role::Shape), smooth("sigma", Domain::Positive, Role::Scale)];

fn accepts(args: &[f64]) -> bool {
    finite_positive(args[0]) && finite_positive(args[1])
}

fn accepts_gumbel(args: &[f64]) -> bool {
    args[0].is_finite() && finite_positive(args[1])
}

/// (log P(W <= w), log P(W > w)) of the standard exponential law, given log w.
fn tails(log_w: f64) -> (f64, f64) {
    let above = -log_w.exp();
    // 1 - exp(-w) is w to the last digit, and w may be too small for a double.
    let below = if log_w < -40.0 { log_w } else { log_complement(above) };
    (below, above)
}

fn reversed((below, above): (f64, f64)) -> (f64, f64) {
    (above, below)
}

/// A standard exponential draw.
fn exponential_draw(rng: &mut dyn Rng) -> f64 {
    let draw: f64 = Exp1.sample(rng);
    draw.max(f64::MIN_POSITIVE)
}

/// A draw that overflows or underflows would have no density.
fn representable(draw: f64) -> f64 {
    draw.clamp(f64::MIN_POSITIVE, f64::MAX)
}

/// `log w - w` and its derivative in log w.
#[inline]
fn kernel(log_w: f64) -> (f64, f64) {
    let w = log_w.exp();
    (log_w - w, 1.0 - w)
}

fn gumbel_gradient(x: f64, args: &[f64], d: &mut [f64]) -> f64 {
    let z = (x - args[0]) / args[1];
    let (value, slope) = kernel(-z);
    if !(accepts_gumbel(args) && x.is_finite() && value.is_finite()) {
        return outside(accepts_gumbel(args), x, d);
    }
    let inverse = 1.0 / args[1];
    d[0] = -slope * inverse;
    d[1] = slope * inverse;
    d[2] = (slope * z - 1.0) * inverse;
    value - args[1].ln()
}

/// The density for log w = `power` log(x / sigma), whose derivatives in `power` and sigma go to `d[1]` and `d[2]`.
fn power_gradient(x: f64, args: &[f64], power: f64, d: &mut [f64]) -> f64 {
    let log_relative = (x / args[1]).ln();
    let (value, slope) = kernel(power * log_relative);
    if !(accepts(args) && finite_positive(x) && value.is_finite()) {
        return outside(accepts(args), x, d);
    }
    d[0] = (power * slope - 1.0) / x;
    d[1] = 1.0 / power + slope * log_relative;
    d[2] = -power * slope / args[1];
    args[0].ln() + value - x.ln()
}

fn weibull_gradient(x: f64, args: &[f64], d: &mut [f64]) -> f64 {
    power_gradient(x, args, args[0], d)
}

fn frechet_gradient(x: f64, args: &[f64], d: &mut [f64]) -> f64 {
    let value = power_gradient(x, args, -args[0], d);
    d[1] = -d[1];
    value
}

fn rayleigh_gradient(x: f64, args: &[f64], d: &mut [f64]) -> f64 {
    let valid = finite_positive(args[0]);
    let (value, slope) = kernel(2.0 * (x / args[0]).ln() - LN_2);
    if !(valid && finite_positive(x) && value.is_finite()) {
        return outside(valid, x, d);
    }
    d[0] = (2.0 * slope - 1.0) / x;
    d[1] = -2.0 * slope / args[0];
    LN_2 + value - x.ln()
}

/// The movement of a quantile sigma q^(1 / alpha) or sigma q^(-1 / alpha).
fn power_flow(x: f64, args: &[f64], v: &mut [f64]) {
    v[0] = -x * (x / args[1]).ln() / args[0];
    v[1] = x / args[1];
}

/// `log w - w`.
fn expand_kernel(e: &mut Expression, log_w: Ref) -> Ref {
    let w = e.of(Unary::Exp, log_w);
    e.sub(log_w, w)
}

fn expand_power(algebra: &mut dyn Algebra, x: Ref, args: &[Ref], is_inverse: bool) -> Ref {
    let e = &mut Expression(algebra);
    let relative = if is_inverse { e.div(args[1], x) } else { e.div(x, args[1]) };
    let log = e.of(Unary::Log, relative);
    let log_w = e.mul(args[0], log);
    let kernel = expand_kernel(e, log_w);
    let log_alpha = e.of(Unary::Log, args[0]);
    let log_x = e.of(Unary::Log, x);
    let sum = e.add(log_alpha, kernel);
    e.sub(sum, log_x)
}
