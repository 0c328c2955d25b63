//! The chi-squared family: chi squared, its inverse, and the inverse with a scale.
//!
//! log ScaledInvChi2(x | nu, sigma) = nu/2 log(nu/2) - log Gamma(nu/2) + nu log sigma - (nu/2 + 1) log x -
//! nu sigma^2 / (2 x); the others are gamma laws with shape nu/2.

use super::expression::Expression;
use super::positive::{GAMMA, INV_GAMMA, expand_kernel, standard_draw};
use super::{Distribution, Domain, NO_TAILS, Role, Support, finite_positive, outside, rigid, smooth};
use crate::math::op::{Algebra, Ref, Unary};
use crate::math::special::{digamma, ln_gamma, log_inc_gamma};

pub(super) const CHI_SQUARED: Distribution = Distribution {
    name: "chi_squared",
    arguments: &[rigid("nu", Domain::Positive, Role::Shape)],
    support: Support::Positive,
    location_scale: false,
    corner: None,
    doc: "Chi-squared distribution with nu degrees of freedom; its mean is nu.",
    formula: "x^(nu/2 - 1) exp(-x/2) / (2^(nu/2) Gamma(nu/2)), x > 0",
    log_density: |x, args| (GAMMA.log_density)(x, &[0.5 * args[0], 0.5]),
    gradient: |x, args, d| half_gradient(&GAMMA, x, args, d),
    expand: |algebra, x, args| {
        let e = &mut Expression(algebra);
        let alpha = e.scale(args[0], 0.5);
        let beta = e.constant(0.5);
        let power = e.shift(alpha, -1.0);
        let decay = e.scale(x, 0.5);
        expand_kernel(e, x, &[alpha, beta], power, decay)
    },
    log_tails: |x, args| (GAMMA.log_tails)(x, &[0.5 * args[0], 0.5]),
    flow: |_, _, v| v.fill(f64::NAN),
    draw: |rng, args| (GAMMA.draw)(rng, &[0.5 * args[0], 0.5]),
};

pub(super) const INV_CHI_SQUARED: Distribution = Distribution {
    name: "inv_chi_squared",
    arguments: &[rigid("nu", Domain::Positive, Role::Shape)],
    support: Support::Positive,
    location_scale: false,
    corner: None,
    doc: "Inverse of a chi-squared variable with nu degrees of freedom.",
    formula: "x^(-nu/2 - 1) exp(-1/(2x)) / (2^(nu/2) Gamma(nu/2)), x > 0",
    log_density: |x, args| (INV_GAMMA.log_density)(x, &[0.5 * args[0], 0.5]),
    gradient: |x, args, d| half_gradient(&INV_GAMMA, x, args, d),
    expand: |algebra, x, args| {
        let e = &mut Expression(algebra);
        let alpha = e.scale(args[0], 0.5);
        let beta = e.constant(0.5);
        let above = e.shift(alpha, 1.0);
        let power = e.of(Unary::Neg, above);
        let decay = e.div(beta, x);
        expand_kernel(e, x, &[alpha, beta], power, decay)
    },
    log_tails: |x, args| (INV_GAMMA.log_tails)(x, &[0.5 * args[0], 0.5]),
    flow: |_, _, v| v.fill(f64::NAN),
    draw: |rng, args| (INV_GAMMA.draw)(rng, &[0.5 * args[0], 0.5]),
};

pub(super) const SCALED_INV_CHI_SQUARED: Distribution = Distribution {
    name: "scaled_inv_chi_squared",
    arguments: &[rigid("nu", Domain::Positive, Role::Shape), smooth("sigma", Domain::Positive, Role::Scale)],
    support: Support::Positive,
    location_scale: false,
    corner: None,
    doc: "Distribution of a variance: nu sigma^2 over a chi-squared variable with nu degrees of freedom.",
    formula: "(nu/2)^(nu/2) sigma^nu x^(-nu/2 - 1) exp(-nu sigma^2 / (2x)) / Gamma(nu/2), x > 0",
    log_density: |x, args| {
        if !(accepts(args) && finite_positive(x)) {
            return outside(accepts(args), x, &mut []);
        }
        log_scaled(x, args)
    },
    gradient: scaled_gradient,
    expand: expand_scaled,
    log_tails: |x, args| {
        if !accepts(args) || x.is_nan() {
            return NO_TAILS;
        }
        let (below, above) = log_inc_gamma(0.5 * args[0], decay(x.max(0.0), args));
        (above, below)
    },
    flow: |x, args, v| {
        v[0] = f64::NAN;
        v[1] = 2.0 * x / args[1];
    },
    draw: |rng, args| {
        if !accepts(args) {
            return f64::NAN;
        }
        let alpha = 0.5 * args[0];
        let root = args[1] * (alpha / standard_draw(rng, alpha)).sqrt();
        (root * root).clamp(f64::MIN_POSITIVE, f64::MAX)
    },
};

fn accepts(args: &[f64]) -> bool {
    finite_positive(args[0]) && finite_positive(args[1])
}

/// nu sigma^2 / (2 x), in the order in which the square cannot overflow alone.
fn decay(x: f64, args: &[f64]) -> f64 {
    let root = args[1] / x.sqrt();
    0.5 * args[0] * root * root
}

fn log_scaled(x: f64, args: &[f64]) -> f64 {
    let alpha = 0.5 * args[0];
    alpha * alpha.ln() - ln_gamma(alpha) + args[0] * args[1].ln() - (alpha + 1.0) * x.ln() - decay(x, args)
}

fn scaled_gradient(x: f64, args: &[f64], d: &mut [f64]) -> f64 {
    if !(accepts(args) && finite_positive(x)) {
        return outside(accepts(args), x, d);
    }
    let (nu, sigma) = (args[0], args[1]);
    let alpha = 0.5 * nu;
    let decay = decay(x, args);
    d[0] = (decay - (alpha + 1.0)) / x;
    d[1] = 0.5 * (alpha.ln() + 1.0 - digamma(alpha) - x.ln()) + sigma.ln() - decay / nu;
    d[2] = (nu - 2.0 * decay) / sigma;
    log_scaled(x, args)
}

fn expand_scaled(algebra: &mut dyn Algebra, x: Ref, args: &[Ref]) -> Ref {
    let e = &mut Expression(algebra);
    let alpha = e.scale(args[0], 0.5);
    let square = e.of(Unary::Square, args[1]);
    let beta = e.mul(alpha, square);
    let above = e.shift(alpha, 1.0);
    let power = e.of(Unary::Neg, above);
    let decay = e.div(beta, x);
    expand_kernel(e, x, &[alpha, beta], power, decay)
}

/// The gradient of a gamma law with shape nu/2 and rate or scale 1/2.
fn half_gradient(law: &Distribution, x: f64, args: &[f64], d: &mut [f64]) -> f64 {
    let mut all = [0.0; 3];
    let value = (law.gradient)(x, &[0.5 * args[0], 0.5], &mut all);
    d[0] = all[0];
    d[1] = 0.5 * all[1];
    value
}
