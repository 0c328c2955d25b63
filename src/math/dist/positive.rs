//! The gamma family: gamma, inverse gamma, exponential.
//!
//! log Gamma(x | alpha, beta) = alpha log beta - log Gamma(alpha) + (alpha - 1) log x - beta x.

use super::expression::Expression;
use super::{Distribution, Domain, NO_TAILS, Role, Support, finite_positive, outside, rigid, smooth};
use crate::math::op::{Ref, Unary};
use crate::math::special::{digamma, ln_gamma, log_complement, log_inc_gamma};
use rand::Rng;
use rand_distr::{Distribution as _, Exp1, Gamma};

pub(super) const GAMMA: Distribution = Distribution {
    name: "gamma",
    arguments: &[rigid("alpha", Domain::Positive, Role::Shape), smooth("beta", Domain::Positive, Role::Rate)],
    support: Support::Positive,
    location_scale: false,
    corner: None,
    doc: "Gamma distribution with shape alpha and rate beta; its mean is alpha / beta.",
    formula: "beta^alpha x^(alpha - 1) exp(-beta x) / Gamma(alpha), x > 0",
    log_density: |x, args| {
        if !(accepts(args) && finite_positive(x)) {
            return outside(accepts(args), x, &mut []);
        }
        log_constant(args) + (args[0] - 1.0) * x.ln() - args[1] * x
    },
    gradient: gamma_gradient,
    expand: |algebra, x, args| {
        let e = &mut Expression(algebra);
        let power = e.shift(args[0], -1.0);
        let decay = e.mul(args[1], x);
        expand_kernel(e, x, args, power, decay)
    },
    log_tails: |x, args| {
        if accepts(args) { log_inc_gamma(args[0], args[1] * x.clamp(0.0, f64::INFINITY)) } else { NO_TAILS }
    },
    flow: |x, args, v| {
        v[0] = f64::NAN;
        v[1] = -x / args[1];
    },
    draw: |rng, args| if accepts(args) { standard_draw(rng, args[0]) / args[1] } else { f64::NAN },
};

pub(super) const INV_GAMMA: Distribution = Distribution {
    name: "inv_gamma",
    arguments: &[rigid("alpha", Domain::Positive, Role::Shape), smooth("beta", Domain::Positive, Role::Scale)],
    support: Support::Positive,
    location_scale: false,
    corner: None,
    doc: "Inverse of a gamma variable, with shape alpha and scale beta; its mode is beta / (alpha + 1).",
    formula: "beta^alpha x^(-alpha - 1) exp(-beta / x) / Gamma(alpha), x > 0",
    log_density: |x, args| {
        if !(accepts(args) && finite_positive(x)) {
            return outside(accepts(args), x, &mut []);
        }
        log_constant(args) - (args[0] + 1.0) * x.ln() - args[1] / x
    },
    gradient: inv_gamma_gradient,
    expand: |algebra, x, args| {
        let e = &mut Expression(algebra);
        let above = e.shift(args[0], 1.0);
        let power = e.of(Unary::Neg, above);
        let decay = e.div(args[1], x);
        expand_kernel(e, x, args, power, decay)
    },
    log_tails: |x, args| {
        if !accepts(args) {
            return NO_TAILS;
        }
        let (below, above) = log_inc_gamma(args[0], args[1] / x.clamp(0.0, f64::INFINITY));
        (above, below)
    },
    flow: |x, args, v| {
        v[0] = f64::NAN;
        v[1] = x / args[1];
    },
    draw: |rng, args| if accepts(args) { args[1] / standard_draw(rng, args[0]) } else { f64::NAN },
};

pub(super) const EXPONENTIAL: Distribution = Distribution {
    name: "exponential",
    arguments: &[smooth("rate", Domain::Positive, Role::Rate)],
    support: Support::NonNegative,
    location_scale: false,
    corner: None,
    doc: "Exponential distribution with mean 1 / rate.",
    formula: "rate exp(-rate x), x >= 0",
    log_density: |x, args| exponential_gradient(x, args, &mut [0.0; 2]),
    gradient: exponential_gradient,
    expand: |algebra, x, args| {
        let e = &mut Expression(algebra);
        let log_rate = e.of(Unary::Log, args[0]);
        let decay = e.mul(args[0], x);
        e.sub(log_rate, decay)
    },
    log_tails: |x, args| {
        if !finite_positive(args[0]) {
            return NO_TAILS;
        }
        let above = -args[0] * x.clamp(0.0, f64::INFINITY);
        (log_complement(above), above)
    },
    flow: |x, args, v| v[0] = -x / args[0],
    draw: |rng, args| {
        if !finite_positive(args[0]) {
            return f64::NAN;
        }
        let standard: f64 = Exp1.sample(rng);
        standard / args[0]
    },
};

fn accepts(args: &[f64]) -> bool {
    finite_positive(args[0]) && finite_positive(args[1])
}

fn log_constant(args: &[f64]) -> f64 {
    args[0] * args[1].ln() - ln_gamma(args[0])
}

/// A gamma(alpha, 1) draw; one that underflows would have no density.
pub(super) fn standard_draw(rng: &mut dyn Rng, alpha: f64) -> f64 {
    match Gamma::new(alpha, 1.0) {
        Ok(law) => law.sample(rng).max(f64::MIN_POSITIVE),
        Err(_) => f64::NAN,
    }
}

fn gamma_gradient(x: f64, args: &[f64], d: &mut [f64]) -> f64 {
    if !(accepts(args) && finite_positive(x)) {
        return outside(accepts(args), x, d);
    }
    let (alpha, beta, log_x) = (args[0], args[1], x.ln());
    d[0] = (alpha - 1.0) / x - beta;
    d[1] = beta.ln() - digamma(alpha) + log_x;
    d[2] = alpha / beta - x;
    log_constant(args) + (alpha - 1.0) * log_x - beta * x
}

fn inv_gamma_gradient(x: f64, args: &[f64], d: &mut [f64]) -> f64 {
    if !(accepts(args) && finite_positive(x)) {
        return outside(accepts(args), x, d);
    }
    let (alpha, beta, log_x) = (args[0], args[1], x.ln());
    d[0] = (beta / x - (alpha + 1.0)) / x;
    d[1] = beta.ln() - digamma(alpha) - log_x;
    d[2] = alpha / beta - 1.0 / x;
    log_constant(args) - (alpha + 1.0) * log_x - beta / x
}

fn exponential_gradient(x: f64, args: &[f64], d: &mut [f64]) -> f64 {
    let valid = finite_positive(args[0]);
    if !(valid && (0.0..f64::INFINITY).contains(&x)) {
        return outside(valid, x, d);
    }
    d[0] = -args[0];
    d[1] = 1.0 / args[0] - x;
    args[0].ln() - args[0] * x
}

/// `alpha log beta - log Gamma(alpha) + power log x - decay`.
pub(super) fn expand_kernel(e: &mut Expression, x: Ref, args: &[Ref], power: Ref, decay: Ref) -> Ref {
    let log_beta = e.of(Unary::Log, args[1]);
    let scaled = e.mul(args[0], log_beta);
    let normaliser = e.of(Unary::LnGamma, args[0]);
    let constant = e.sub(scaled, normaliser);
    let log_x = e.of(Unary::Log, x);
    let powered = e.mul(power, log_x);
    let kernel = e.sub(powered, decay);
    e.add(constant, kernel)
}
