//! The skew normal law of Azzalini (1985).
//!
//! log SN(x | xi, omega, alpha) = log 2 - z^2/2 - log omega - log(2 pi)/2 + log Phi(alpha z), z = (x - xi)/omega.

use super::expression::Expression;
use super::{Distribution, Domain, NO_TAILS, Role, Support, finite_positive, outside, smooth};
use crate::math::op::{Algebra, Ref, Unary};
use crate::math::special::{HALF_LN_2PI, log_ndtr, log_ndtr_slope, log_skew_normal};
use rand::Rng;
use rand_distr::{Distribution as _, StandardNormal};
use std::f64::consts::LN_2;

pub(super) const SKEW_NORMAL: Distribution = Distribution {
    name: "skew_normal",
    arguments: &[
        smooth("xi", Domain::Real, Role::Location),
        smooth("omega", Domain::Positive, Role::Scale),
        smooth("alpha", Domain::Real, Role::Shape),
    ],
    support: Support::Real,
    location_scale: true,
    corner: None,
    doc: "Skew normal distribution with location xi, scale omega and slant alpha; alpha = 0 is the normal.",
    formula: "2 phi(z) Phi(alpha z) / omega with z = (x - xi) / omega",
    log_density: |x, args| skew_gradient(x, args, &mut [0.0; 4]),
    gradient: skew_gradient,
    expand: expand_skew,
    log_tails: |x, args| {
        if !accepts(args) || x.is_nan() {
            return NO_TAILS;
        }
        log_skew_normal((x - args[0]) / args[1], args[2])
    },
    flow: |x, args, v| {
        let z = (x - args[0]) / args[1];
        let alpha = args[2];
        v[0] = 1.0;
        v[1] = z;
        // The derivative of 2 T(z, alpha) in alpha over the density, with the common factor exp(-z^2/2) left out.
        let slant = -0.5 * (alpha * z).powi(2) - (alpha * alpha).ln_1p() - log_ndtr(alpha * z) - HALF_LN_2PI;
        v[2] = args[1] * slant.exp();
    },
    draw: |rng, args| {
        if !accepts(args) {
            return f64::NAN;
        }
        // delta |u| + sqrt(1 - delta^2) v with delta = alpha / sqrt(1 + alpha^2).
        let length = 1f64.hypot(args[2]);
        let (u, v): (f64, f64) = (standard(rng), standard(rng));
        args[0] + args[1] * (args[2] / length * u.abs() + v / length)
    },
};

fn accepts(args: &[f64]) -> bool {
    args[0].is_finite() && finite_positive(args[1]) && args[2].is_finite()
}

fn standard(rng: &mut dyn Rng) -> f64 {
    StandardNormal.sample(rng)
}

fn skew_gradient(x: f64, args: &[f64], d: &mut [f64]) -> f64 {
    let (omega, alpha) = (args[1], args[2]);
    let z = (x - args[0]) / omega;
    let slanted = alpha * z;
    let value = LN_2 - HALF_LN_2PI - 0.5 * z * z - omega.ln() + log_ndtr(slanted);
    if !(accepts(args) && value.is_finite()) {
        return outside(accepts(args), x, d);
    }
    let pull = log_ndtr_slope(slanted);
    let slope = alpha * pull - z;
    d[0] = slope / omega;
    d[1] = -slope / omega;
    d[2] = -(slope * z + 1.0) / omega;
    d[3] = pull * z;
    value
}

fn expand_skew(algebra: &mut dyn Algebra, x: Ref, args: &[Ref]) -> Ref {
    let e = &mut Expression(algebra);
    let z = e.standardize(x, args[0], args[1]);
    let square = e.of(Unary::Square, z);
    let quadratic = e.scale(square, -0.5);
    let slanted = e.mul(args[2], z);
    let log_slant = e.of(Unary::LogNormalCdf, slanted);
    let log_omega = e.of(Unary::Log, args[1]);
    let kernel = e.add(quadratic, log_slant);
    let kernel = e.sub(kernel, log_omega);
    e.shift(kernel, LN_2 - HALF_LN_2PI)
}
