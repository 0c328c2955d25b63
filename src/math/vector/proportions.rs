//! Proportions that sum to one, and counts that share a total: Dirichlet and multinomial.

use super::{Call, Outcome, Part, Pivot, Sizes, VectorDistribution, of_draw, part, place};
use crate::math::constraint::{Constraint, UNIT_TOLERANCE};
use crate::math::dist::Domain;
use crate::math::special::{digamma, ln_factorial, ln_gamma, log_sum_exp};
use rand::RngExt;
use rand_distr::{Binomial, Distribution as _, Gamma};

pub(super) const DIRICHLET: VectorDistribution = VectorDistribution {
    name: "dirichlet",
    arguments: &[part("alpha", Part::Centre, Domain::Positive)],
    outcome: Outcome::Vector,
    integer: false,
    constraint: Some(Constraint::Simplex),
    doc: "Dirichlet distribution of proportions, with concentrations alpha and mean alpha / sum(alpha).",
    formula: "Gamma(sum(alpha)) prod(x^(alpha - 1) / Gamma(alpha)), x > 0, sum(x) = 1",
    log_density: dirichlet,
    draw: |rng, sizes, args, out| {
        let alpha = args[0];
        let at = |j: usize| alpha[place(alpha.len(), 0, j, sizes.k)];
        for (j, out) in out.iter_mut().enumerate() {
            // The logarithm of a gamma variable, also for shapes at which the variable itself is zero.
            let Ok(law) = Gamma::new(at(j) + 1.0, 1.0) else {
                *out = f64::NAN;
                continue;
            };
            let share: f64 = rng.random();
            *out = law.sample(rng).ln() + (1.0 - share).ln() / at(j);
        }
        let total = log_sum_exp(out);
        out.iter_mut().for_each(|v| *v = (*v - total).exp());
    },
};

pub(super) const MULTINOMIAL: VectorDistribution = VectorDistribution {
    name: "multinomial",
    arguments: &[
        part("n", Part::CountPerDraw, Domain::NonNegativeInteger),
        part("theta", Part::Vector, Domain::Probability),
    ],
    outcome: Outcome::Vector,
    integer: true,
    constraint: None,
    doc: "Numbers of n outcomes that fall into each of K categories with probabilities theta.",
    formula: "n! prod(theta^x / x!), sum(x) = n",
    log_density: multinomial,
    draw: |rng, sizes, args, out| {
        let (mut left, mut mass) = (args[0][0], 1.0);
        for (j, out) in out.iter_mut().enumerate() {
            let theta = args[1][place(args[1].len(), 0, j, sizes.k)];
            let share = if theta >= mass { 1.0 } else { theta / mass };
            *out = Binomial::new(left as u64, share).map_or(f64::NAN, |law| law.sample(rng) as f64);
            left -= *out;
            mass -= theta;
        }
    },
};

/// Whether these are probabilities that sum to one.
pub(super) fn is_distribution(theta: &[f64]) -> bool {
    theta.iter().all(|t| (0.0..=1.0).contains(t)) && (theta.iter().sum::<f64>() - 1.0).abs() <= UNIT_TOLERANCE
}

fn dirichlet(call: &mut Call<'_, '_>) -> Result<f64, Pivot> {
    let Sizes { rows, k } = call.sizes;
    let alpha = call.args[0];
    if alpha.iter().any(|a| !(*a > 0.0 && *a < f64::INFINITY)) {
        return Ok(f64::NAN);
    }
    let [g_alpha] = call.gradient else { return Ok(f64::NAN) };
    let mut total = 0.0;
    // With one vector for all draws its normaliser is worked out once.
    let distinct = if alpha.len() == rows * k { rows } else { rows.min(1) };
    for i in 0..distinct {
        let weight = (rows / distinct) as f64;
        let sum: f64 = (0..k).map(|j| alpha[place(alpha.len(), i, j, k)]).sum();
        total += weight * ln_gamma(sum);
        let slope = digamma(sum);
        for j in 0..k {
            let at = place(alpha.len(), i, j, k);
            total -= weight * ln_gamma(alpha[at]);
            g_alpha[at] += weight * (slope - digamma(alpha[at]));
        }
    }
    for (i, (x, gx)) in call.x.chunks_exact(k).zip(call.gx.chunks_exact_mut(k)).enumerate() {
        let sum: f64 = x.iter().sum();
        if sum.is_nan() {
            return Ok(f64::NAN);
        }
        if (sum - 1.0).abs() > UNIT_TOLERANCE || x.iter().any(|&v| v <= 0.0) {
            return Ok(f64::NEG_INFINITY);
        }
        for (j, (&x, gx)) in x.iter().zip(gx).enumerate() {
            let at = place(alpha.len(), i, j, k);
            let log_x = x.ln();
            total += (alpha[at] - 1.0) * log_x;
            *gx += (alpha[at] - 1.0) / x;
            g_alpha[at] += log_x;
        }
    }
    Ok(total)
}

fn multinomial(call: &mut Call<'_, '_>) -> Result<f64, Pivot> {
    let k = call.sizes.k;
    let (n, theta) = (call.args[0], call.args[1]);
    if !theta.chunks_exact(k).all(is_distribution) {
        return Ok(f64::NAN);
    }
    let [_, g_theta] = call.gradient else { return Ok(f64::NAN) };
    let mut total = 0.0;
    for (i, x) in call.x.chunks_exact(k).enumerate() {
        let n = n[of_draw(n.len(), i)];
        if x.iter().sum::<f64>() != n || x.iter().any(|&x| x < 0.0 || x != x.floor()) {
            return Ok(f64::NEG_INFINITY);
        }
        total += ln_factorial(n);
        for (j, &x) in x.iter().enumerate() {
            let at = place(theta.len(), i, j, k);
            total -= ln_factorial(x);
            // Nothing was seen of an impossible category.
            if x > 0.0 {
                total += x * theta[at].ln();
                g_theta[at] += x / theta[at];
            }
        }
    }
    Ok(total)
}
