//! Successes in trials by their probability: Bernoulli, binomial, and binomial with a beta-distributed probability.
//!
//! log Binomial(x | n, theta) = log C(n, x) + x log theta + (n - x) log(1 - theta);
//! log BetaBinomial(x | n, a, b) = log C(n, x) + log B(x + a, n - x + b) - log B(a, b).

use super::count::{binomial_draw, expand_ways, log_ways};
use super::expression::Expression;
use super::{Distribution, Domain, NO_TAILS, Role, Support, finite_positive, outside, rigid};
use crate::math::op::{Algebra, Ref, Unary};
use crate::math::special::{digamma, ln_beta, log_complement, log_inc_beta, log_sum_exp};
use rand::RngExt;
use rand_distr::{Beta, Distribution as _};
use std::f64::consts::LN_2;

pub(super) const BERNOULLI: Distribution = Distribution {
    name: "bernoulli",
    arguments: &[rigid("theta", Domain::Probability, Role::Probability)],
    support: Support::Binary,
    location_scale: false,
    corner: None,
    doc: "One trial with two outcomes, 1 with probability theta.",
    formula: "theta^x (1 - theta)^(1 - x), x = 0 or 1",
    log_density: |x, args| bernoulli_gradient(x, args, &mut [0.0; 2]),
    gradient: bernoulli_gradient,
    expand: |algebra, x, args| {
        let e = &mut Expression(algebra);
        // The probability of what was seen: one logarithm, finite wherever the density is.
        let success = e.mul(x, args[0]);
        let minus_x = e.of(Unary::Neg, x);
        let failed = e.shift(minus_x, 1.0);
        let minus_theta = e.of(Unary::Neg, args[0]);
        let against = e.shift(minus_theta, 1.0);
        let failure = e.mul(failed, against);
        let seen = e.add(success, failure);
        e.of(Unary::Log, seen)
    },
    log_tails: |x, args| {
        if !Domain::Probability.contains(args[0]) || x.is_nan() {
            NO_TAILS
        } else if x < 0.0 {
            (f64::NEG_INFINITY, 0.0)
        } else if x < 1.0 {
            ((-args[0]).ln_1p(), args[0].ln())
        } else {
            (0.0, f64::NEG_INFINITY)
        }
    },
    flow: |_, _, v| v.fill(f64::NAN),
    draw: |rng, args| {
        if !Domain::Probability.contains(args[0]) {
            return f64::NAN;
        }
        let share: f64 = rng.random();
        if share < args[0] { 1.0 } else { 0.0 }
    },
};

pub(super) const BINOMIAL: Distribution = Distribution {
    name: "binomial",
    arguments: &[
        rigid("n", Domain::NonNegativeInteger, Role::Count),
        rigid("theta", Domain::Probability, Role::Probability),
    ],
    support: Support::CountsToArgument,
    location_scale: false,
    corner: None,
    doc: "Number of successes in n trials, each with probability theta.",
    formula: "C(n, x) theta^x (1 - theta)^(n - x), x = 0, ..., n",
    log_density: |x, args| binomial_gradient(x, args, &mut [0.0; 3]),
    gradient: binomial_gradient,
    expand: expand_binomial,
    log_tails: |x, args| {
        if !accepts_binomial(args) || x.is_nan() {
            return NO_TAILS;
        }
        let (n, k) = (args[0], x.floor());
        if k < 0.0 {
            (f64::NEG_INFINITY, 0.0)
        } else if k >= n {
            (0.0, f64::NEG_INFINITY)
        } else {
            log_inc_beta(n - k, k + 1.0, 1.0 - args[1], args[1])
        }
    },
    flow: |_, _, v| v.fill(f64::NAN),
    draw: |rng, args| if accepts_binomial(args) { binomial_draw(rng, args[0], args[1]) } else { f64::NAN },
};

pub(super) const BETA_BINOMIAL: Distribution = Distribution {
    name: "beta_binomial",
    arguments: &[
        rigid("n", Domain::NonNegativeInteger, Role::Count),
        rigid("alpha", Domain::Positive, Role::Shape),
        rigid("beta", Domain::Positive, Role::Shape),
    ],
    support: Support::CountsToArgument,
    location_scale: false,
    corner: None,
    doc: "Number of successes in n trials whose common probability has a beta(alpha, beta) distribution.",
    formula: "C(n, x) B(x + alpha, n - x + beta) / B(alpha, beta), x = 0, ..., n",
    log_density: |x, args| {
        if !(accepts_beta_binomial(args) && Support::CountsToArgument.contains(x, args)) {
            return outside(accepts_beta_binomial(args), x, &mut []);
        }
        log_beta_binomial(x, args)
    },
    gradient: beta_binomial_gradient,
    expand: expand_beta_binomial,
    log_tails: beta_binomial_tails,
    flow: |_, _, v| v.fill(f64::NAN),
    draw: |rng, args| match Beta::new(args[1], args[2]) {
        Ok(law) if accepts_beta_binomial(args) => {
            let theta: f64 = law.sample(rng);
            binomial_draw(rng, args[0], theta)
        }
        _ => f64::NAN,
    },
};

fn accepts_binomial(args: &[f64]) -> bool {
    Domain::NonNegativeInteger.contains(args[0]) && Domain::Probability.contains(args[1])
}

fn accepts_beta_binomial(args: &[f64]) -> bool {
    Domain::NonNegativeInteger.contains(args[0]) && finite_positive(args[1]) && finite_positive(args[2])
}

#[inline]
fn bernoulli_gradient(x: f64, args: &[f64], d: &mut [f64]) -> f64 {
    let theta = args[0];
    let valid = Domain::Probability.contains(theta);
    if valid && x == 1.0 && theta > 0.0 {
        d[0] = 0.0;
        d[1] = 1.0 / theta;
        theta.ln()
    } else if valid && x == 0.0 && theta < 1.0 {
        d[0] = 0.0;
        d[1] = -1.0 / (1.0 - theta);
        (-theta).ln_1p()
    } else {
        outside(valid, x, d)
    }
}

fn binomial_gradient(x: f64, args: &[f64], d: &mut [f64]) -> f64 {
    let (n, theta) = (args[0], args[1]);
    let failures = n - x;
    let in_support = x >= 0.0 && x <= n && x == x.floor();
    let is_possible = (x == 0.0 || theta > 0.0) && (failures == 0.0 || theta < 1.0);
    if !(accepts_binomial(args) && in_support && is_possible) {
        return outside(accepts_binomial(args), x, d);
    }
    // No success costs nothing, even where its logarithm is infinite.
    let share = |count: f64, v: f64| if count == 0.0 { 0.0 } else { count * v };
    d[0] = 0.0;
    d[1] = 0.0;
    d[2] = share(x, 1.0 / theta) - share(failures, 1.0 / (1.0 - theta));
    log_ways(n, x) + share(x, theta.ln()) + share(failures, (-theta).ln_1p())
}

fn expand_binomial(algebra: &mut dyn Algebra, x: Ref, args: &[Ref]) -> Ref {
    let e = &mut Expression(algebra);
    let (n, theta) = (args[0], args[1]);
    let failures = e.sub(n, x);
    let ways = expand_ways(e, n, x, failures);
    // Where a count is zero the logarithm is that of one, so that theta may be 0 or 1.
    let any_success = at_most_one(e, x);
    let success = e.mul(any_success, theta);
    let minus_success = e.of(Unary::Neg, any_success);
    let no_success = e.shift(minus_success, 1.0);
    let success = e.add(success, no_success);
    let log_success = e.of(Unary::Log, success);
    let any_failure = at_most_one(e, failures);
    let missed = e.mul(any_failure, theta);
    let minus_missed = e.of(Unary::Neg, missed);
    let log_failure = e.of(Unary::Log1p, minus_missed);
    let gained = e.mul(x, log_success);
    let rest = e.mul(failures, log_failure);
    let sum = e.add(ways, gained);
    e.add(sum, rest)
}

/// The smaller of a count and one.
fn at_most_one(e: &mut Expression, count: Ref) -> Ref {
    let less = e.shift(count, -1.0);
    let distance = e.of(Unary::Abs, less);
    let more = e.shift(count, 1.0);
    let twice = e.sub(more, distance);
    e.scale(twice, 0.5)
}

fn log_beta_binomial(x: f64, args: &[f64]) -> f64 {
    let (n, alpha, beta) = (args[0], args[1], args[2]);
    log_ways(n, x) + ln_beta(x + alpha, n - x + beta) - ln_beta(alpha, beta)
}

fn beta_binomial_gradient(x: f64, args: &[f64], d: &mut [f64]) -> f64 {
    if !(accepts_beta_binomial(args) && Support::CountsToArgument.contains(x, args)) {
        return outside(accepts_beta_binomial(args), x, d);
    }
    let (n, alpha, beta) = (args[0], args[1], args[2]);
    let both = digamma(alpha + beta) - digamma(n + alpha + beta);
    d[0] = 0.0;
    d[1] = 0.0;
    d[2] = digamma(x + alpha) - digamma(alpha) + both;
    d[3] = digamma(n - x + beta) - digamma(beta) + both;
    log_beta_binomial(x, args)
}

/// The sum of the probabilities on the smaller side, from their ratios; takes n steps at most.
fn beta_binomial_tails(x: f64, args: &[f64]) -> (f64, f64) {
    if !accepts_beta_binomial(args) || x.is_nan() {
        return NO_TAILS;
    }
    let (n, alpha, beta) = (args[0], args[1], args[2]);
    let k = x.floor();
    if k < 0.0 {
        return (f64::NEG_INFINITY, 0.0);
    }
    if k >= n {
        return (0.0, f64::NEG_INFINITY);
    }
    let below = log_falling_sum(k, args);
    if below <= -LN_2 {
        return (below, log_complement(below));
    }
    // Failures are successes with the shapes exchanged.
    let above = log_falling_sum(n - k - 1.0, &[n, beta, alpha]);
    (log_complement(above), above)
}

/// log P(X <= k), summed from k down to zero.
fn log_falling_sum(k: f64, args: &[f64]) -> f64 {
    let (n, alpha, beta) = (args[0], args[1], args[2]);
    let mut term = log_beta_binomial(k, args);
    let (mut sum, mut at) = (term, k);
    while at > 0.0 {
        term += (at / (n - at + 1.0)).ln() + ((n - at + beta) / (at - 1.0 + alpha)).ln();
        at -= 1.0;
        sum = log_sum_exp(&[sum, term]);
    }
    sum
}

fn expand_beta_binomial(algebra: &mut dyn Algebra, x: Ref, args: &[Ref]) -> Ref {
    let e = &mut Expression(algebra);
    let (n, alpha, beta) = (args[0], args[1], args[2]);
    let failures = e.sub(n, x);
    let ways = expand_ways(e, n, x, failures);
    let successes = e.add(x, alpha);
    let rest = e.add(failures, beta);
    let seen = expand_ln_beta(e, successes, rest);
    let prior = expand_ln_beta(e, alpha, beta);
    let ratio = e.sub(seen, prior);
    e.add(ways, ratio)
}

/// log B(a, b).
fn expand_ln_beta(e: &mut Expression, a: Ref, b: Ref) -> Ref {
    let of_a = e.of(Unary::LnGamma, a);
    let of_b = e.of(Unary::LnGamma, b);
    let total = e.add(a, b);
    let of_total = e.of(Unary::LnGamma, total);
    let both = e.add(of_a, of_b);
    e.sub(both, of_total)
}
