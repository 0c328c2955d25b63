//! Counts: Bernoulli and binomial by log odds, Poisson by rate and by log rate.
//!
//! log Poisson(k | alpha) = k alpha - exp(alpha) - log k!;
//! log Binomial(k | n, alpha) = log C(n, k) - k log(1 + exp(-alpha)) - (n - k) log(1 + exp(alpha)).

use super::expression::Expression;
use super::{Distribution, Domain, NO_TAILS, Role, Support, finite_positive, outside, rigid};
use crate::math::op::{Algebra, Ref, Unary, log1p_exp, logistic};
use crate::math::special::{ln_beta, ln_factorial, log_inc_beta, log_inc_gamma};
use rand::{Rng, RngExt};
use rand_distr::{Binomial, Distribution as _, Poisson};

pub(super) const BERNOULLI_LOGIT: Distribution = Distribution {
    name: "bernoulli_logit",
    arguments: &[rigid("alpha", Domain::Real, Role::LogOdds)],
    support: Support::Binary,
    location_scale: false,
    corner: None,
    doc: "One trial with two outcomes, 1 with log odds alpha.",
    formula: "exp(alpha x) / (1 + exp(alpha)), x = 0 or 1",
    log_density: |x, args| bernoulli_gradient(x, args, &mut [0.0; 2]),
    gradient: bernoulli_gradient,
    expand: |algebra, x, args| {
        let e = &mut Expression(algebra);
        let chosen = e.mul(x, args[0]);
        let normaliser = e.of(Unary::Log1pExp, args[0]);
        e.sub(chosen, normaliser)
    },
    log_tails: |x, args| {
        if !args[0].is_finite() || x.is_nan() {
            NO_TAILS
        } else if x < 0.0 {
            (f64::NEG_INFINITY, 0.0)
        } else if x < 1.0 {
            (-log1p_exp(args[0]), -log1p_exp(-args[0]))
        } else {
            (0.0, f64::NEG_INFINITY)
        }
    },
    flow: |_, _, v| v.fill(f64::NAN),
    draw: |rng, args| {
        if !args[0].is_finite() {
            return f64::NAN;
        }
        let share: f64 = rng.random();
        if share < logistic(args[0]) { 1.0 } else { 0.0 }
    },
};

pub(super) const BINOMIAL_LOGIT: Distribution = Distribution {
    name: "binomial_logit",
    arguments: &[rigid("n", Domain::NonNegativeInteger, Role::Count), rigid("alpha", Domain::Real, Role::LogOdds)],
    support: Support::CountsToArgument,
    location_scale: false,
    corner: None,
    doc: "Number of successes in n trials, each with log odds alpha.",
    formula: "C(n, x) exp(alpha x) / (1 + exp(alpha))^n, x = 0, ..., n",
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
            log_inc_beta(n - k, k + 1.0, logistic(-args[1]), logistic(args[1]))
        }
    },
    flow: |_, _, v| v.fill(f64::NAN),
    draw: |rng, args| {
        if !accepts_binomial(args) {
            return f64::NAN;
        }
        binomial_draw(rng, args[0], logistic(args[1]))
    },
};

pub(super) const POISSON: Distribution = Distribution {
    name: "poisson",
    arguments: &[rigid("lambda", Domain::Positive, Role::Mean)],
    support: Support::Counts,
    location_scale: false,
    corner: None,
    doc: "Number of events with expectation lambda.",
    formula: "lambda^x exp(-lambda) / x!, x = 0, 1, ...",
    log_density: |x, args| rate_gradient(x, args, &mut [0.0; 2]),
    gradient: rate_gradient,
    expand: |algebra, x, args| {
        let e = &mut Expression(algebra);
        let log_rate = e.of(Unary::Log, args[0]);
        let power = e.mul(x, log_rate);
        let kernel = e.sub(power, args[0]);
        let factorial = e.ln_gamma_shifted(x, 1.0);
        e.sub(kernel, factorial)
    },
    log_tails: |x, args| {
        if finite_positive(args[0]) && !x.is_nan() { poisson_tails(x, args[0]) } else { NO_TAILS }
    },
    flow: |_, _, v| v.fill(f64::NAN),
    draw: |rng, args| if finite_positive(args[0]) { poisson_draw(rng, args[0]) } else { f64::NAN },
};

pub(super) const POISSON_LOG: Distribution = Distribution {
    name: "poisson_log",
    arguments: &[rigid("alpha", Domain::Real, Role::LogRate)],
    support: Support::Counts,
    location_scale: false,
    corner: None,
    doc: "Number of events with expectation exp(alpha).",
    formula: "exp(alpha x - exp(alpha)) / x!, x = 0, 1, ...",
    log_density: |x, args| poisson_gradient(x, args, &mut [0.0; 2]),
    gradient: poisson_gradient,
    expand: |algebra, x, args| {
        let e = &mut Expression(algebra);
        let power = e.mul(x, args[0]);
        let rate = e.of(Unary::Exp, args[0]);
        let kernel = e.sub(power, rate);
        let factorial = e.ln_gamma_shifted(x, 1.0);
        e.sub(kernel, factorial)
    },
    log_tails: |x, args| {
        if args[0].is_finite() && !x.is_nan() { poisson_tails(x, args[0].exp()) } else { NO_TAILS }
    },
    flow: |_, _, v| v.fill(f64::NAN),
    draw: |rng, args| {
        if args[0].is_finite() { poisson_draw(rng, args[0].exp()) } else { f64::NAN }
    },
};

/// The number of successes in `n` trials; NaN where `n` has no place in 64 bits.
pub(super) fn binomial_draw(rng: &mut dyn Rng, n: f64, theta: f64) -> f64 {
    // The conversion is exact for every n below 2^64 that a double can hold.
    match Binomial::new(n as u64, theta) {
        Ok(law) => law.sample(rng) as f64,
        Err(_) => f64::NAN,
    }
}

/// The number of events with expectation `rate`; NaN where that is too large to be drawn.
pub(super) fn poisson_draw(rng: &mut dyn Rng, rate: f64) -> f64 {
    if rate == 0.0 {
        return 0.0;
    }
    Poisson::new(rate).map_or(f64::NAN, |law| law.sample(rng))
}

/// log C(n, x).
pub(super) fn log_ways(n: f64, x: f64) -> f64 {
    -n.ln_1p() - ln_beta(x + 1.0, n - x + 1.0)
}

/// log C(n, x), given n - x.
pub(super) fn expand_ways(e: &mut Expression, n: Ref, x: Ref, failures: Ref) -> Ref {
    let of_n = e.ln_gamma_shifted(n, 1.0);
    let of_x = e.ln_gamma_shifted(x, 1.0);
    let of_failures = e.ln_gamma_shifted(failures, 1.0);
    let ways = e.sub(of_n, of_x);
    e.sub(ways, of_failures)
}

fn poisson_tails(x: f64, rate: f64) -> (f64, f64) {
    if x < 0.0 {
        (f64::NEG_INFINITY, 0.0)
    } else if x == f64::INFINITY {
        (0.0, f64::NEG_INFINITY)
    } else {
        let (above, below) = log_inc_gamma(x.floor() + 1.0, rate);
        (below, above)
    }
}

fn accepts_binomial(args: &[f64]) -> bool {
    Domain::NonNegativeInteger.contains(args[0]) && args[1].is_finite()
}

#[inline]
fn bernoulli_gradient(x: f64, args: &[f64], d: &mut [f64]) -> f64 {
    let alpha = args[0];
    // The log odds of what was not seen.
    let against = if x == 1.0 {
        -alpha
    } else if x == 0.0 {
        alpha
    } else {
        f64::NAN
    };
    if !against.is_finite() {
        return outside(alpha.is_finite(), x, d);
    }
    // One exponential serves the value and the slope.
    let e = (-against.abs()).exp();
    let missed = if against > 0.0 { 1.0 / (1.0 + e) } else { e / (1.0 + e) };
    d[0] = 0.0;
    d[1] = if x == 1.0 { missed } else { -missed };
    -(against.max(0.0) + e.ln_1p())
}

fn binomial_gradient(x: f64, args: &[f64], d: &mut [f64]) -> f64 {
    let (n, alpha) = (args[0], args[1]);
    if !(accepts_binomial(args) && x >= 0.0 && x <= n && x == x.floor()) {
        return outside(accepts_binomial(args), x, d);
    }
    let failures = n - x;
    d[0] = 0.0;
    d[1] = 0.0;
    d[2] = x * logistic(-alpha) - failures * logistic(alpha);
    log_ways(n, x) - x * log1p_exp(-alpha) - failures * log1p_exp(alpha)
}

fn expand_binomial(algebra: &mut dyn Algebra, x: Ref, args: &[Ref]) -> Ref {
    let e = &mut Expression(algebra);
    let (n, alpha) = (args[0], args[1]);
    let failures = e.sub(n, x);
    let ways = expand_ways(e, n, x, failures);
    let against = e.of(Unary::Neg, alpha);
    let cost_success = e.of(Unary::Log1pExp, against);
    let cost_failure = e.of(Unary::Log1pExp, alpha);
    let successes = e.mul(x, cost_success);
    let rest = e.mul(failures, cost_failure);
    let costs = e.add(successes, rest);
    e.sub(ways, costs)
}

#[inline]
fn poisson_gradient(x: f64, args: &[f64], d: &mut [f64]) -> f64 {
    let alpha = args[0];
    if !(alpha.is_finite() && (0.0..f64::INFINITY).contains(&x) && x == x.floor()) {
        return outside(alpha.is_finite(), x, d);
    }
    let rate = alpha.exp();
    if rate == f64::INFINITY {
        return outside(true, x, d);
    }
    d[0] = 0.0;
    d[1] = x - rate;
    x * alpha - rate - ln_factorial(x)
}

fn rate_gradient(x: f64, args: &[f64], d: &mut [f64]) -> f64 {
    let rate = args[0];
    let valid = finite_positive(rate);
    if !(valid && (0.0..f64::INFINITY).contains(&x) && x == x.floor()) {
        return outside(valid, x, d);
    }
    d[0] = 0.0;
    d[1] = x / rate - 1.0;
    x * rate.ln() - rate - ln_factorial(x)
}
