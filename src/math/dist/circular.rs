//! Angles: the von Mises law, in radians from -pi to pi.
//!
//! log VM(x | mu, kappa) = -2 kappa sin^2((x - mu)/2) - log(2 pi exp(-kappa) I0(kappa)) (Mardia & Jupp 2000).

use super::expression::Expression;
use super::{Distribution, Domain, NO_TAILS, Role, Support, finite_positive, outside, rigid, smooth};
use crate::math::op::{Algebra, Ref, Unary};
use crate::math::special::{HALF_LN_2PI, bessel_ratio_excess, log_bessel_i0_scaled, log_von_mises};
use rand::{Rng, RngExt};
use std::f64::consts::PI;

pub(super) const VON_MISES: Distribution = Distribution {
    name: "von_mises",
    arguments: &[smooth("mu", Domain::Real, Role::Location), rigid("kappa", Domain::Positive, Role::Shape)],
    support: Support::Circle,
    location_scale: false,
    corner: None,
    doc: "Von Mises distribution of an angle in radians from -pi to pi, with mean direction mu and concentration kappa.",
    formula: "exp(kappa cos(x - mu)) / (2 pi I0(kappa)), -pi <= x <= pi",
    log_density: |x, args| {
        if !(accepts(args) && x.abs() <= PI) {
            return outside(accepts(args), x, &mut []);
        }
        log_kernel(x, args) - 2.0 * HALF_LN_2PI - log_bessel_i0_scaled(args[1])
    },
    gradient: von_mises_gradient,
    expand: expand_von_mises,
    log_tails: |x, args| {
        if accepts(args) && !x.is_nan() { log_von_mises(x, args[0], args[1]) } else { NO_TAILS }
    },
    flow: |x, args, v| {
        // One, less the share of the density at the lower end, which the turned law carries out of the interval.
        let lower = (0.5 * (x + PI)).sin() * (0.5 * (PI - x) + args[0]).sin();
        v[0] = -(-2.0 * args[1] * lower).exp_m1();
        v[1] = f64::NAN;
    },
    draw: |rng, args| if accepts(args) { draw(rng, args[0], args[1]) } else { f64::NAN },
};

fn accepts(args: &[f64]) -> bool {
    args[0].is_finite() && finite_positive(args[1])
}

/// kappa (cos(x - mu) - 1).
fn log_kernel(x: f64, args: &[f64]) -> f64 {
    -2.0 * args[1] * (0.5 * (x - args[0])).sin().powi(2)
}

fn von_mises_gradient(x: f64, args: &[f64], d: &mut [f64]) -> f64 {
    if !(accepts(args) && x.abs() <= PI) {
        return outside(accepts(args), x, d);
    }
    let kappa = args[1];
    let (sine, cosine) = (0.5 * (x - args[0])).sin_cos();
    let slope = 2.0 * kappa * sine * cosine;
    d[0] = -slope;
    d[1] = slope;
    d[2] = -2.0 * sine * sine - bessel_ratio_excess(kappa);
    -2.0 * kappa * sine * sine - 2.0 * HALF_LN_2PI - log_bessel_i0_scaled(kappa)
}

fn expand_von_mises(algebra: &mut dyn Algebra, x: Ref, args: &[Ref]) -> Ref {
    let e = &mut Expression(algebra);
    let angle = e.sub(x, args[0]);
    let half = e.scale(angle, 0.5);
    let sine = e.of(Unary::Sin, half);
    let square = e.of(Unary::Square, sine);
    let scaled = e.mul(args[1], square);
    let kernel = e.scale(scaled, -2.0);
    let normaliser = e.of(Unary::LogBesselI0Scaled, args[1]);
    let value = e.sub(kernel, normaliser);
    e.shift(value, -2.0 * HALF_LN_2PI)
}

/// Rejection from a wrapped Cauchy law (Best & Fisher 1979), in half angles so that no concentration cancels.
fn draw(rng: &mut dyn Rng, mu: f64, kappa: f64) -> f64 {
    let root = 1f64.hypot(2.0 * kappa);
    let tau = 1.0 + root;
    // The envelope's resultant length is 2 kappa / sum.
    let spread = (2.0 * tau).sqrt();
    let sum = tau + spread;
    let gap = spread + 1.0 + 1.0 / (root + 2.0 * kappa);
    let narrowing = gap / (sum + 2.0 * kappa);
    loop {
        let turn: f64 = rng.random();
        let half_tangent = narrowing * (PI * (turn - 0.5)).tan();
        // sin^2 of half the angle.
        let sine_square = half_tangent * half_tangent / (1.0 + half_tangent * half_tangent);
        let c = gap * (gap / (4.0 * sum)) + 2.0 * kappa * sine_square;
        let share: f64 = rng.random();
        if share <= c * (1.0 - c).exp() {
            let (sine, cosine) = (mu + 2.0 * half_tangent.atan()).sin_cos();
            return sine.atan2(cosine);
        }
    }
}
