//! Counts of failures with a waiting-time or gamma-mixed rate: negative binomial in three forms, geometric.
//!
//! log NB2(x | mu, phi) = log C(x + phi - 1, x) - x log(1 + phi/mu) - phi log(1 + mu/phi).

use super::count::poisson_draw;
use super::expression::Expression;
use super::positive::standard_draw;
use super::{Distribution, Domain, NO_TAILS, Role, Support, finite_positive, outside, rigid};
use crate::math::op::{Ref, Unary, log1p_exp, logistic};
use crate::math::special::{digamma, ln_beta, log_complement, log_inc_beta};
use rand_distr::{Distribution as _, OpenClosed01};

pub(super) const NEG_BINOMIAL: Distribution = Distribution {
    name: "neg_binomial",
    arguments: &[rigid("alpha", Domain::Positive, Role::Shape), rigid("beta", Domain::Positive, Role::Rate)],
    support: Support::Counts,
    location_scale: false,
    corner: None,
    doc: "Poisson count whose rate has a gamma(alpha, beta) distribution.",
    formula: "C(x + alpha - 1, x) (beta / (beta + 1))^alpha (1 / (beta + 1))^x, x = 0, 1, ...",
    log_density: |x, args| {
        if !(accepts(args) && is_count(x)) {
            return outside(accepts(args), x, &mut []);
        }
        log_choices(x, args[0]) - x * args[1].ln_1p() - args[0] * (1.0 / args[1]).ln_1p()
    },
    gradient: rate_gradient,
    expand: |algebra, x, args| {
        let e = &mut Expression(algebra);
        let log_success = e.of(Unary::Log1p, args[1]);
        let inverse = e.of(Unary::Reciprocal, args[1]);
        let log_failure = e.of(Unary::Log1p, inverse);
        expand_kernel(e, x, args[0], log_success, log_failure)
    },
    log_tails: |x, args| {
        let beta = args[1];
        if accepts(args) { tails(x, args[0], 1.0 / (1.0 + 1.0 / beta), 1.0 / (1.0 + beta)) } else { NO_TAILS }
    },
    flow: |_, _, v| v.fill(f64::NAN),
    draw: |rng, args| {
        if !accepts(args) {
            return f64::NAN;
        }
        let rate = standard_draw(rng, args[0]) / args[1];
        poisson_draw(rng, rate)
    },
};

pub(super) const NEG_BINOMIAL_2: Distribution = Distribution {
    name: "neg_binomial_2",
    arguments: &[rigid("mu", Domain::Positive, Role::Mean), rigid("phi", Domain::Positive, Role::Shape)],
    support: Support::Counts,
    location_scale: false,
    corner: None,
    doc: "Overdispersed count with mean mu and variance mu + mu^2 / phi.",
    formula: "C(x + phi - 1, x) (mu / (mu + phi))^x (phi / (mu + phi))^phi, x = 0, 1, ...",
    log_density: |x, args| {
        if !(accepts(args) && is_count(x)) {
            return outside(accepts(args), x, &mut []);
        }
        let (mu, phi) = (args[0], args[1]);
        log_choices(x, phi) - x * log_success_cost(phi / mu) - phi * (mu / phi).ln_1p()
    },
    gradient: mean_gradient,
    expand: |algebra, x, args| {
        let e = &mut Expression(algebra);
        let relative = e.div(args[1], args[0]);
        let log_success = e.of(Unary::Log1p, relative);
        let inverse = e.div(args[0], args[1]);
        let log_failure = e.of(Unary::Log1p, inverse);
        expand_kernel(e, x, args[1], log_success, log_failure)
    },
    log_tails: |x, args| {
        let (mu, phi) = (args[0], args[1]);
        if accepts(args) { tails(x, phi, 1.0 / (1.0 + mu / phi), 1.0 / (1.0 + phi / mu)) } else { NO_TAILS }
    },
    flow: |_, _, v| v.fill(f64::NAN),
    draw: |rng, args| {
        if !accepts(args) {
            return f64::NAN;
        }
        let rate = args[0] * (standard_draw(rng, args[1]) / args[1]);
        poisson_draw(rng, rate)
    },
};

pub(super) const NEG_BINOMIAL_2_LOG: Distribution = Distribution {
    name: "neg_binomial_2_log",
    arguments: &[rigid("eta", Domain::Real, Role::LogRate), rigid("phi", Domain::Positive, Role::Shape)],
    support: Support::Counts,
    location_scale: false,
    corner: None,
    doc: "Overdispersed count with mean m = exp(eta) and variance m + m^2 / phi.",
    formula: "C(x + phi - 1, x) (m / (m + phi))^x (phi / (m + phi))^phi with m = exp(eta), x = 0, 1, ...",
    log_density: |x, args| log_mean_gradient(x, args, &mut [0.0; 3]),
    gradient: log_mean_gradient,
    expand: |algebra, x, args| {
        let e = &mut Expression(algebra);
        let log_phi = e.of(Unary::Log, args[1]);
        let log_odds = e.sub(args[0], log_phi);
        let against = e.of(Unary::Neg, log_odds);
        let log_success = e.of(Unary::Log1pExp, against);
        let log_failure = e.of(Unary::Log1pExp, log_odds);
        expand_kernel(e, x, args[1], log_success, log_failure)
    },
    log_tails: |x, args| {
        if !accepts_log(args) {
            return NO_TAILS;
        }
        let log_odds = args[0] - args[1].ln();
        tails(x, args[1], logistic(-log_odds), logistic(log_odds))
    },
    flow: |_, _, v| v.fill(f64::NAN),
    draw: |rng, args| {
        if !accepts_log(args) {
            return f64::NAN;
        }
        let rate = args[0].exp() * (standard_draw(rng, args[1]) / args[1]);
        poisson_draw(rng, rate)
    },
};

pub(super) const GEOMETRIC: Distribution = Distribution {
    name: "geometric",
    arguments: &[rigid("theta", Domain::Proportion, Role::Probability)],
    support: Support::Counts,
    location_scale: false,
    corner: None,
    doc: "Number of failures before the first success in trials with probability theta.",
    formula: "theta (1 - theta)^x, x = 0, 1, ...",
    log_density: |x, args| geometric_gradient(x, args, &mut [0.0; 2]),
    gradient: geometric_gradient,
    expand: |algebra, x, args| {
        let e = &mut Expression(algebra);
        let log_theta = e.of(Unary::Log, args[0]);
        let minus_theta = e.of(Unary::Neg, args[0]);
        let log_failure = e.of(Unary::Log1p, minus_theta);
        let failures = e.mul(x, log_failure);
        e.add(log_theta, failures)
    },
    log_tails: |x, args| {
        if !Domain::Proportion.contains(args[0]) || x.is_nan() {
            return NO_TAILS;
        }
        if x < 0.0 {
            return (f64::NEG_INFINITY, 0.0);
        }
        let above = (x.floor() + 1.0) * (-args[0]).ln_1p();
        (log_complement(above), above)
    },
    flow: |_, _, v| v.fill(f64::NAN),
    draw: |rng, args| {
        if !Domain::Proportion.contains(args[0]) {
            return f64::NAN;
        }
        let share: f64 = OpenClosed01.sample(rng);
        (share.ln() / (-args[0]).ln_1p()).floor()
    },
};

fn accepts(args: &[f64]) -> bool {
    finite_positive(args[0]) && finite_positive(args[1])
}

fn accepts_log(args: &[f64]) -> bool {
    args[0].is_finite() && finite_positive(args[1])
}

fn is_count(x: f64) -> bool {
    (0.0..f64::INFINITY).contains(&x) && x == x.floor()
}

/// log C(x + shape - 1, x).
fn log_choices(x: f64, shape: f64) -> f64 {
    -ln_beta(x + 1.0, shape) - (x + shape).ln()
}

/// log(1 + ratio), finite where the ratio overflows: none of that cost is no cost.
fn log_success_cost(ratio: f64) -> f64 {
    ratio.min(f64::MAX).ln_1p()
}

/// The tails for the probabilities `p` and `q` = 1 - `p` of stopping and going on.
fn tails(x: f64, shape: f64, p: f64, q: f64) -> (f64, f64) {
    if x.is_nan() {
        NO_TAILS
    } else if x < 0.0 {
        (f64::NEG_INFINITY, 0.0)
    } else if x == f64::INFINITY {
        (0.0, f64::NEG_INFINITY)
    } else {
        log_inc_beta(shape, x.floor() + 1.0, p, q)
    }
}

fn rate_gradient(x: f64, args: &[f64], d: &mut [f64]) -> f64 {
    if !(accepts(args) && is_count(x)) {
        return outside(accepts(args), x, d);
    }
    let (alpha, beta) = (args[0], args[1]);
    let log_failure = (1.0 / beta).ln_1p();
    d[0] = 0.0;
    d[1] = digamma(x + alpha) - digamma(alpha) - log_failure;
    d[2] = (alpha / beta - x) / (1.0 + beta);
    log_choices(x, alpha) - x * beta.ln_1p() - alpha * log_failure
}

fn mean_gradient(x: f64, args: &[f64], d: &mut [f64]) -> f64 {
    if !(accepts(args) && is_count(x)) {
        return outside(accepts(args), x, d);
    }
    let (mu, phi) = (args[0], args[1]);
    let log_failure = (mu / phi).ln_1p();
    d[0] = 0.0;
    d[1] = (x / mu - 1.0) / (1.0 + mu / phi);
    d[2] = digamma(x + phi) - digamma(phi) - log_failure + (mu - x) / (mu + phi);
    log_choices(x, phi) - x * log_success_cost(phi / mu) - phi * log_failure
}

fn log_mean_gradient(x: f64, args: &[f64], d: &mut [f64]) -> f64 {
    if !(accepts_log(args) && is_count(x)) {
        return outside(accepts_log(args), x, d);
    }
    let (eta, phi) = (args[0], args[1]);
    let log_odds = eta - phi.ln();
    let (p, q) = (logistic(-log_odds), logistic(log_odds));
    let log_failure = log1p_exp(log_odds);
    d[0] = 0.0;
    d[1] = x * p - phi * q;
    d[2] = digamma(x + phi) - digamma(phi) - log_failure + q - x / phi * p;
    log_choices(x, phi) - x * log1p_exp(-log_odds) - phi * log_failure
}

fn geometric_gradient(x: f64, args: &[f64], d: &mut [f64]) -> f64 {
    let theta = args[0];
    let valid = Domain::Proportion.contains(theta);
    if !(valid && is_count(x)) {
        return outside(valid, x, d);
    }
    d[0] = 0.0;
    d[1] = 1.0 / theta - x / (1.0 - theta);
    theta.ln() + x * (-theta).ln_1p()
}

/// `log C(x + shape - 1, x) - x success - shape failure`.
fn expand_kernel(e: &mut Expression, x: Ref, shape: Ref, success: Ref, failure: Ref) -> Ref {
    let total = e.add(x, shape);
    let of_total = e.of(Unary::LnGamma, total);
    let of_shape = e.of(Unary::LnGamma, shape);
    let factorial = e.ln_gamma_shifted(x, 1.0);
    let choices = e.sub(of_total, of_shape);
    let choices = e.sub(choices, factorial);
    let successes = e.mul(x, success);
    let failures = e.mul(shape, failure);
    let costs = e.add(successes, failures);
    e.sub(choices, costs)
}
