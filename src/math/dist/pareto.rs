//! The Pareto law: a power of x from a least value on.
//!
//! log Pareto(x | y_min, alpha) = log alpha - log x - alpha log(x / y_min), x >= y_min.

use super::expression::Expression;
use super::{Distribution, Domain, NO_TAILS, Role, Support, finite_positive, outside, smooth};
use crate::math::op::Unary;
use crate::math::special::log_complement;
use rand_distr::{Distribution as _, Exp1};

pub(super) const PARETO: Distribution = Distribution {
    name: "pareto",
    arguments: &[smooth("y_min", Domain::Positive, Role::Scale), smooth("alpha", Domain::Positive, Role::Shape)],
    support: Support::AboveArgument,
    location_scale: false,
    corner: None,
    doc: "Pareto distribution with least value y_min and shape alpha; a smaller alpha has a heavier tail.",
    formula: "alpha y_min^alpha / x^(alpha + 1), x >= y_min",
    log_density: |x, args| pareto_gradient(x, args, &mut [0.0; 3]),
    gradient: pareto_gradient,
    expand: |algebra, x, args| {
        let e = &mut Expression(algebra);
        let relative = e.div(x, args[0]);
        let log = e.of(Unary::Log, relative);
        let powered = e.mul(args[1], log);
        let log_alpha = e.of(Unary::Log, args[1]);
        let log_x = e.of(Unary::Log, x);
        let front = e.sub(log_alpha, log_x);
        e.sub(front, powered)
    },
    log_tails: |x, args| {
        if !accepts(args) {
            return NO_TAILS;
        }
        let above = -args[1] * log_relative(x.clamp(args[0], f64::INFINITY), args[0]);
        (log_complement(above), above)
    },
    flow: |x, args, v| {
        v[0] = x / args[0];
        v[1] = -x * log_relative(x, args[0]) / args[1];
    },
    draw: |rng, args| {
        if !accepts(args) {
            return f64::NAN;
        }
        let exponential: f64 = Exp1.sample(rng);
        (args[0] * (exponential / args[1]).exp()).min(f64::MAX)
    },
};

fn accepts(args: &[f64]) -> bool {
    finite_positive(args[0]) && finite_positive(args[1])
}

/// log(x / least), by the difference where that is small and exact.
fn log_relative(x: f64, least: f64) -> f64 {
    if x < 2.0 * least { ((x - least) / least).ln_1p() } else { (x / least).ln() }
}

fn pareto_gradient(x: f64, args: &[f64], d: &mut [f64]) -> f64 {
    let (least, alpha) = (args[0], args[1]);
    if !(accepts(args) && x >= least && x < f64::INFINITY) {
        return outside(accepts(args), x, d);
    }
    let log_relative = log_relative(x, least);
    d[0] = -(alpha + 1.0) / x;
    d[1] = alpha / least;
    d[2] = 1.0 / alpha - log_relative;
    alpha.ln() - x.ln() - alpha * log_relative
}
