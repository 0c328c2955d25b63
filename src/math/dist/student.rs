//! Heavy tails: Student's t, Cauchy, and their halves.
//!
//! log t(x | nu, mu, sigma) = -log B(1/2, nu/2) - log(nu)/2 - log sigma - (nu + 1)/2 log(1 + z^2/nu).

use super::expression::Expression;
use super::{Distribution, Domain, NO_TAILS, Role, Support, finite_positive, outside, rigid, smooth};
use crate::math::op::{Algebra, Ref, Unary};
use crate::math::special::{digamma, ln_beta, log_inc_beta};
use rand_distr::{Cauchy, Distribution as _, StudentT};
use std::f64::consts::{FRAC_2_PI, LN_2, PI};

pub(super) const STUDENT_T: Distribution = Distribution {
    name: "student_t",
    arguments: &[
        rigid("nu", Domain::Positive, Role::Shape),
        smooth("mu", Domain::Real, Role::Location),
        smooth("sigma", Domain::Positive, Role::Scale),
    ],
    support: Support::Real,
    location_scale: true,
    corner: None,
    doc: "Student's t distribution with nu degrees of freedom, location mu and scale sigma.",
    formula: "(1 + (x - mu)^2 / (nu sigma^2))^(-(nu + 1)/2) / (sqrt(nu) sigma B(1/2, nu/2))",
    log_density: |x, args| {
        if !(accepts_t(args) && x.is_finite()) {
            return outside(accepts_t(args), x, &mut []);
        }
        let z = (x - args[1]) / args[2];
        log_t_constant(args) - 0.5 * (args[0] + 1.0) * (z * z / args[0]).ln_1p()
    },
    gradient: t_gradient,
    expand: expand_t,
    log_tails: t_tails,
    flow: |x, args, v| {
        v[0] = f64::NAN;
        v[1] = 1.0;
        v[2] = (x - args[1]) / args[2];
    },
    draw: |rng, args| match StudentT::new(args[0]) {
        Ok(standard) if accepts_t(args) => args[1] + args[2] * standard.sample(rng),
        _ => f64::NAN,
    },
};

pub(super) const HALF_STUDENT_T: Distribution = Distribution {
    name: "half_student_t",
    arguments: &[rigid("nu", Domain::Positive, Role::Shape), smooth("sigma", Domain::Positive, Role::Scale)],
    support: Support::NonNegative,
    location_scale: false,
    corner: None,
    doc: "Absolute value of a Student's t variable with nu degrees of freedom, location 0 and scale sigma.",
    formula: "2 (1 + x^2 / (nu sigma^2))^(-(nu + 1)/2) / (sqrt(nu) sigma B(1/2, nu/2)), x >= 0",
    log_density: |x, args| half_t_gradient(x, args, &mut [0.0; 3]),
    gradient: half_t_gradient,
    expand: |algebra, x, args| {
        let e = &mut Expression(algebra);
        let z = e.div(x, args[1]);
        let value = expand_standard_t(e, z, args[0], args[1]);
        e.shift(value, LN_2)
    },
    log_tails: |x, args| {
        if !(finite_positive(args[0]) && finite_positive(args[1])) || x.is_nan() {
            return NO_TAILS;
        }
        let (beyond, within) = log_distance_tails(x.max(0.0) / args[1], args[0]);
        (within, beyond)
    },
    flow: |x, args, v| {
        v[0] = f64::NAN;
        v[1] = x / args[1];
    },
    draw: |rng, args| match StudentT::new(args[0]) {
        Ok(standard) if finite_positive(args[0]) && finite_positive(args[1]) => {
            (args[1] * standard.sample(rng).abs()).min(f64::MAX)
        }
        _ => f64::NAN,
    },
};

pub(super) const CAUCHY: Distribution = Distribution {
    name: "cauchy",
    arguments: &[smooth("mu", Domain::Real, Role::Location), smooth("sigma", Domain::Positive, Role::Scale)],
    support: Support::Real,
    location_scale: true,
    corner: None,
    doc: "Cauchy distribution with median mu and half the interquartile range sigma.",
    formula: "1 / (pi sigma (1 + (x - mu)^2 / sigma^2))",
    log_density: |x, args| cauchy_gradient(x, args, &mut [0.0; 3]),
    gradient: cauchy_gradient,
    expand: |algebra, x, args| {
        let e = &mut Expression(algebra);
        let z = e.standardize(x, args[0], args[1]);
        expand_cauchy(e, z, args[1], -PI.ln())
    },
    log_tails: |x, args| {
        if !accepts_cauchy(args) {
            return NO_TAILS;
        }
        let z = (x - args[0]) / args[1];
        ((arccot(-z) / PI).ln(), (arccot(z) / PI).ln())
    },
    flow: |x, args, v| {
        v[0] = 1.0;
        v[1] = (x - args[0]) / args[1];
    },
    draw: |rng, args| match Cauchy::new(args[0], args[1]) {
        Ok(law) if accepts_cauchy(args) => law.sample(rng),
        _ => f64::NAN,
    },
};

pub(super) const HALF_CAUCHY: Distribution = Distribution {
    name: "half_cauchy",
    arguments: &[smooth("sigma", Domain::Positive, Role::Scale)],
    support: Support::NonNegative,
    location_scale: false,
    corner: None,
    doc: "Absolute value of a Cauchy variable with median 0 and scale sigma; sigma is its median.",
    formula: "2 / (pi sigma (1 + x^2 / sigma^2)), x >= 0",
    log_density: |x, args| half_cauchy_gradient(x, args, &mut [0.0; 2]),
    gradient: half_cauchy_gradient,
    expand: |algebra, x, args| {
        let e = &mut Expression(algebra);
        let z = e.div(x, args[0]);
        expand_cauchy(e, z, args[0], FRAC_2_PI.ln())
    },
    log_tails: |x, args| {
        if !finite_positive(args[0]) {
            return NO_TAILS;
        }
        let z = x.clamp(0.0, f64::INFINITY) / args[0];
        ((FRAC_2_PI * z.atan()).ln(), (FRAC_2_PI * arccot(z)).ln())
    },
    flow: |x, args, v| v[0] = x / args[0],
    draw: |rng, args| match Cauchy::new(0.0, args[0]) {
        Ok(law) if finite_positive(args[0]) => law.sample(rng).abs(),
        _ => f64::NAN,
    },
};

/// arccot with values in [0, pi]: pi times the upper tail of the Cauchy law, accurate at any distance.
fn arccot(z: f64) -> f64 {
    1f64.atan2(z)
}

fn accepts_t(args: &[f64]) -> bool {
    finite_positive(args[0]) && args[1].is_finite() && finite_positive(args[2])
}

fn accepts_cauchy(args: &[f64]) -> bool {
    args[0].is_finite() && finite_positive(args[1])
}

fn log_t_constant(args: &[f64]) -> f64 {
    -ln_beta(0.5, 0.5 * args[0]) - 0.5 * args[0].ln() - args[2].ln()
}

fn t_gradient(x: f64, args: &[f64], d: &mut [f64]) -> f64 {
    if !(accepts_t(args) && x.is_finite()) {
        return outside(accepts_t(args), x, d);
    }
    let (nu, sigma) = (args[0], args[2]);
    let z = (x - args[1]) / sigma;
    let log_kernel = (z * z / nu).ln_1p();
    let weight = (nu + 1.0) / (nu + z * z);
    let weighted_square = (nu + 1.0) / (1.0 + nu / (z * z));
    d[0] = -weight * z / sigma;
    d[1] = 0.5 * (digamma(0.5 * (nu + 1.0)) - digamma(0.5 * nu) - log_kernel + (weighted_square - 1.0) / nu);
    d[2] = weight * z / sigma;
    d[3] = (weighted_square - 1.0) / sigma;
    log_t_constant(args) - 0.5 * (nu + 1.0) * log_kernel
}

fn half_t_gradient(x: f64, args: &[f64], d: &mut [f64]) -> f64 {
    let valid = finite_positive(args[0]) && finite_positive(args[1]);
    if !valid || x < 0.0 {
        return outside(valid, x, d);
    }
    let mut all = [0.0; 4];
    let value = t_gradient(x, &[args[0], 0.0, args[1]], &mut all);
    d[0] = all[0];
    d[1] = all[1];
    d[2] = all[3];
    value + LN_2
}

fn expand_t(algebra: &mut dyn Algebra, x: Ref, args: &[Ref]) -> Ref {
    let e = &mut Expression(algebra);
    let z = e.standardize(x, args[1], args[2]);
    expand_standard_t(e, z, args[0], args[2])
}

/// The log density at a standardised z.
fn expand_standard_t(e: &mut Expression, z: Ref, nu: Ref, sigma: Ref) -> Ref {
    let half_nu = e.scale(nu, 0.5);
    let upper = e.ln_gamma_shifted(half_nu, 0.5);
    let lower = e.of(Unary::LnGamma, half_nu);
    let ratio = e.sub(upper, lower);
    let log_nu_pi = {
        let nu_pi = e.scale(nu, PI);
        let log = e.of(Unary::Log, nu_pi);
        e.scale(log, 0.5)
    };
    let log_sigma = e.of(Unary::Log, sigma);
    let square = e.of(Unary::Square, z);
    let relative = e.div(square, nu);
    let log_kernel = e.of(Unary::Log1p, relative);
    let power = e.shift(half_nu, 0.5);
    let penalty = e.mul(power, log_kernel);
    let constant = e.sub(ratio, log_nu_pi);
    let constant = e.sub(constant, log_sigma);
    e.sub(constant, penalty)
}

fn t_tails(x: f64, args: &[f64]) -> (f64, f64) {
    if !accepts_t(args) || x.is_nan() {
        return NO_TAILS;
    }
    let z = (x - args[1]) / args[2];
    let (log_beyond, _) = log_distance_tails(z, args[0]);
    let far = log_beyond - LN_2;
    let near = (-far.exp()).ln_1p();
    if z < 0.0 { (far, near) } else { (near, far) }
}

/// (log P(|T| > |z|), log P(|T| <= |z|)): I_w(nu/2, 1/2) with w = nu / (nu + z^2), and its complement.
fn log_distance_tails(z: f64, nu: f64) -> (f64, f64) {
    // Where z^2 overflows, so does the density's.
    let ratio = (z / nu.sqrt()).powi(2);
    let beyond = if ratio == f64::INFINITY { 0.0 } else { 1.0 / (1.0 + ratio) };
    let within = if ratio > 1.0 { 1.0 / (1.0 + 1.0 / ratio) } else { ratio / (1.0 + ratio) };
    log_inc_beta(0.5 * nu, 0.5, beyond, within)
}

fn cauchy_gradient(x: f64, args: &[f64], d: &mut [f64]) -> f64 {
    let valid = accepts_cauchy(args);
    if !(valid && x.is_finite()) {
        return outside(valid, x, d);
    }
    let sigma = args[1];
    let z = (x - args[0]) / sigma;
    let weight = 2.0 / (1.0 + z * z);
    d[0] = -weight * z / sigma;
    d[1] = -d[0];
    d[2] = (1.0 - weight) / sigma;
    -PI.ln() - sigma.ln() - (z * z).ln_1p()
}

fn half_cauchy_gradient(x: f64, args: &[f64], d: &mut [f64]) -> f64 {
    if x < 0.0 {
        return outside(finite_positive(args[0]), x, d);
    }
    let mut both = [0.0; 3];
    let value = cauchy_gradient(x, &[0.0, args[0]], &mut both);
    d[0] = both[0];
    d[1] = both[2];
    value + LN_2
}

/// `constant - log sigma - log(1 + z^2)`.
fn expand_cauchy(e: &mut Expression, z: Ref, sigma: Ref, constant: f64) -> Ref {
    let square = e.of(Unary::Square, z);
    let log_kernel = e.of(Unary::Log1p, square);
    let log_sigma = e.of(Unary::Log, sigma);
    let sum = e.add(log_kernel, log_sigma);
    let negative = e.of(Unary::Neg, sum);
    e.shift(negative, constant)
}
