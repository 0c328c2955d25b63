//! Bounded supports: beta by its shapes and by its mean, uniform.
//!
//! log Beta(x | a, b) = (a - 1) log x + (b - 1) log(1 - x) - log B(a, b).

use super::expression::Expression;
use super::{Distribution, Domain, NO_TAILS, Role, Support, finite_positive, outside, rigid, smooth};
use crate::math::op::{Algebra, Ref, Unary};
use crate::math::special::{digamma, ln_beta, log_inc_beta};
use rand::{Rng, RngExt};
use rand_distr::{Beta, Distribution as _};

pub(super) const BETA: Distribution = Distribution {
    name: "beta",
    arguments: &[rigid("a", Domain::Positive, Role::Shape), rigid("b", Domain::Positive, Role::Shape)],
    support: Support::UnitInterval,
    location_scale: false,
    corner: None,
    doc: "Beta distribution of a proportion, with mean a / (a + b).",
    formula: "x^(a - 1) (1 - x)^(b - 1) / B(a, b), 0 < x < 1",
    log_density: |x, args| {
        if !(accepts_beta(args) && x > 0.0 && x < 1.0) {
            return outside(accepts_beta(args), x, &mut []);
        }
        (args[0] - 1.0) * x.ln() + (args[1] - 1.0) * (-x).ln_1p() - ln_beta(args[0], args[1])
    },
    gradient: beta_gradient,
    expand: expand_beta,
    log_tails: |x, args| {
        let x = x.clamp(0.0, 1.0);
        log_inc_beta(args[0], args[1], x, 1.0 - x)
    },
    flow: |_, _, v| v.fill(f64::NAN),
    draw: beta_draw,
};

pub(super) const BETA_PROPORTION: Distribution = Distribution {
    name: "beta_proportion",
    arguments: &[rigid("mu", Domain::Proportion, Role::Mean), rigid("kappa", Domain::Positive, Role::Shape)],
    support: Support::UnitInterval,
    location_scale: false,
    corner: None,
    doc: "Beta distribution of a proportion with mean mu and precision kappa.",
    formula: "x^(mu kappa - 1) (1 - x)^((1 - mu) kappa - 1) / B(mu kappa, (1 - mu) kappa), 0 < x < 1",
    log_density: |x, args| (BETA.log_density)(x, &shapes(args)),
    gradient: proportion_gradient,
    expand: |algebra, x, args| {
        let e = &mut Expression(algebra);
        let a = e.mul(args[0], args[1]);
        let minus_mu = e.of(Unary::Neg, args[0]);
        let against = e.shift(minus_mu, 1.0);
        let b = e.mul(against, args[1]);
        expand_beta(e.0, x, &[a, b])
    },
    log_tails: |x, args| (BETA.log_tails)(x, &shapes(args)),
    flow: |_, _, v| v.fill(f64::NAN),
    draw: |rng, args| beta_draw(rng, &shapes(args)),
};

pub(super) const UNIFORM: Distribution = Distribution {
    name: "uniform",
    arguments: &[smooth("lo", Domain::Real, Role::Bound), smooth("hi", Domain::Real, Role::Bound)],
    support: Support::BetweenArguments,
    location_scale: false,
    corner: None,
    doc: "Uniform distribution from lo to hi.",
    formula: "1 / (hi - lo), lo <= x <= hi",
    log_density: |x, args| uniform_gradient(x, args, &mut [0.0; 3]),
    gradient: uniform_gradient,
    expand: |algebra, x, args| {
        let e = &mut Expression(algebra);
        let width = e.sub(args[1], args[0]);
        let log_width = e.of(Unary::Log, width);
        // Zero times x gives the result the shape of x.
        let shape = e.scale(x, 0.0);
        e.sub(shape, log_width)
    },
    log_tails: |x, args| {
        if !accepts_uniform(args) {
            return NO_TAILS;
        }
        let (width, x) = (args[1] - args[0], x.clamp(args[0], args[1]));
        (((x - args[0]) / width).ln(), ((args[1] - x) / width).ln())
    },
    flow: |x, args, v| {
        let width = args[1] - args[0];
        v[0] = (args[1] - x) / width;
        v[1] = (x - args[0]) / width;
    },
    draw: |rng, args| {
        if !accepts_uniform(args) {
            return f64::NAN;
        }
        let share: f64 = rng.random();
        args[0] + (args[1] - args[0]) * share
    },
};

fn accepts_beta(args: &[f64]) -> bool {
    finite_positive(args[0]) && finite_positive(args[1])
}

/// The shapes of a beta law with mean mu and precision kappa; not valid where those are not.
fn shapes(args: &[f64]) -> [f64; 2] {
    [args[0] * args[1], (1.0 - args[0]) * args[1]]
}

fn beta_draw(rng: &mut dyn Rng, args: &[f64]) -> f64 {
    match Beta::new(args[0], args[1]) {
        // A draw that rounds to an end of the interval would have no density.
        Ok(law) if accepts_beta(args) => law.sample(rng).clamp(f64::MIN_POSITIVE, 1.0 - 0.5 * f64::EPSILON),
        _ => f64::NAN,
    }
}

fn accepts_uniform(args: &[f64]) -> bool {
    finite_positive(args[1] - args[0])
}

fn beta_gradient(x: f64, args: &[f64], d: &mut [f64]) -> f64 {
    if !(accepts_beta(args) && x > 0.0 && x < 1.0) {
        return outside(accepts_beta(args), x, d);
    }
    let (a, b) = (args[0], args[1]);
    let (log_x, log_y) = (x.ln(), (-x).ln_1p());
    let both = digamma(a + b);
    d[0] = (a - 1.0) / x - (b - 1.0) / (1.0 - x);
    d[1] = log_x + both - digamma(a);
    d[2] = log_y + both - digamma(b);
    (a - 1.0) * log_x + (b - 1.0) * log_y - ln_beta(a, b)
}

fn proportion_gradient(x: f64, args: &[f64], d: &mut [f64]) -> f64 {
    let mut all = [0.0; 3];
    let value = beta_gradient(x, &shapes(args), &mut all);
    d[0] = all[0];
    d[1] = args[1] * (all[1] - all[2]);
    d[2] = args[0] * all[1] + (1.0 - args[0]) * all[2];
    value
}

fn expand_beta(algebra: &mut dyn Algebra, x: Ref, args: &[Ref]) -> Ref {
    let e = &mut Expression(algebra);
    let log_x = e.of(Unary::Log, x);
    let minus_x = e.of(Unary::Neg, x);
    let log_y = e.of(Unary::Log1p, minus_x);
    let a_less = e.shift(args[0], -1.0);
    let b_less = e.shift(args[1], -1.0);
    let left = e.mul(a_less, log_x);
    let right = e.mul(b_less, log_y);
    let kernel = e.add(left, right);
    let total = e.add(args[0], args[1]);
    let of_total = e.of(Unary::LnGamma, total);
    let of_a = e.of(Unary::LnGamma, args[0]);
    let of_b = e.of(Unary::LnGamma, args[1]);
    let constant = e.sub(of_total, of_a);
    let constant = e.sub(constant, of_b);
    e.add(kernel, constant)
}

fn uniform_gradient(x: f64, args: &[f64], d: &mut [f64]) -> f64 {
    if !(accepts_uniform(args) && x >= args[0] && x <= args[1]) {
        return outside(accepts_uniform(args), x, d);
    }
    let width = args[1] - args[0];
    d[0] = 0.0;
    d[1] = 1.0 / width;
    d[2] = -1.0 / width;
    -width.ln()
}
