//! One of several categories: by probabilities, by log weights, and by cutpoints of a logistic variable.
//!
//! Ordered logistic: P(x = c) = s(eta - c_{c-1}) - s(eta - c_c) with the logistic function s; for a = eta - c_{c-1} and
//! b = eta - c_c its logarithm is log s(a) + log s(-b) + log(1 - exp(b - a)), which loses nothing in either tail.

use super::proportions::is_distribution;
use super::{Call, Outcome, Part, Pivot, Sizes, VectorDistribution, of_draw, part, place};
use crate::math::dist::Domain;
use crate::math::op::{log1p_exp, logistic};
use crate::math::special::{log_complement, log_sum_exp};
use rand::{Rng, RngExt};

pub(super) const CATEGORICAL: VectorDistribution = VectorDistribution {
    name: "categorical",
    arguments: &[part("theta", Part::Vector, Domain::Probability)],
    outcome: Outcome::Category,
    integer: true,
    constraint: None,
    doc: "One of the categories 1, ..., K with probabilities theta.",
    formula: "theta[x]",
    log_density: |call| {
        if !call.args[0].chunks_exact(call.sizes.k).all(is_distribution) {
            return Ok(f64::NAN);
        }
        Ok(categories(call, |theta, x, g| {
            g[x] += 1.0 / theta[x];
            theta[x].ln()
        }))
    },
    draw: |rng, sizes, args, out| {
        let theta = &args[0][..sizes.k];
        out.fill(if is_distribution(theta) { pick(rng, theta.iter().copied()) } else { f64::NAN });
    },
};

pub(super) const CATEGORICAL_LOGIT: VectorDistribution = VectorDistribution {
    name: "categorical_logit",
    arguments: &[part("eta", Part::Vector, Domain::Real)],
    outcome: Outcome::Category,
    integer: true,
    constraint: None,
    doc: "One of the categories 1, ..., K with probabilities proportional to exp(eta).",
    formula: "exp(eta[x]) / sum(exp(eta))",
    log_density: |call| {
        Ok(categories(call, |eta, x, g| {
            let normaliser = log_sum_exp(eta);
            if !normaliser.is_finite() {
                return f64::NAN;
            }
            for (g, eta) in g.iter_mut().zip(eta) {
                *g -= (eta - normaliser).exp();
            }
            g[x] += 1.0;
            eta[x] - normaliser
        }))
    },
    draw: |rng, sizes, args, out| {
        let eta = &args[0][..sizes.k];
        let normaliser = log_sum_exp(eta);
        out.fill(if normaliser.is_finite() { pick(rng, eta.iter().map(|e| (e - normaliser).exp())) } else { f64::NAN });
    },
};

pub(super) const ORDERED_LOGISTIC: VectorDistribution = VectorDistribution {
    name: "ordered_logistic",
    arguments: &[part("eta", Part::PerDraw, Domain::Real), part("c", Part::Vector, Domain::Real)],
    outcome: Outcome::Category,
    integer: true,
    constraint: None,
    doc: "One of the ordered categories 1, ..., K: the K - 1 increasing cutpoints c divide a logistic variable with mean eta.",
    formula: "s(eta - c[x - 1]) - s(eta - c[x]) with s(v) = 1 / (1 + exp(-v)), c[0] = -inf, c[K] = inf",
    log_density: ordered_logistic,
    draw: |rng, sizes, args, out| {
        let (eta, cuts) = (args[0][0], &args[1][..sizes.k]);
        if !eta.is_finite() || !increases(cuts) {
            out.fill(f64::NAN);
            return;
        }
        let above = |j: usize| if j == 0 { 1.0 } else { logistic(eta - cuts[j - 1]) };
        let probability = |j: usize| above(j) - if j == cuts.len() { 0.0 } else { above(j + 1) };
        out.fill(pick(rng, (0..=cuts.len()).map(probability)));
    },
};

/// A category with these probabilities.
fn pick(rng: &mut dyn Rng, probabilities: impl Iterator<Item = f64>) -> f64 {
    let share: f64 = rng.random();
    let (mut sum, mut last) = (0.0, 1.0);
    for (j, p) in probabilities.enumerate() {
        if p > 0.0 {
            last = (j + 1) as f64;
        }
        sum += p;
        if share < sum {
            break;
        }
    }
    last
}

/// The position that a category stands for.
fn position(x: f64, categories: usize) -> Option<usize> {
    (x >= 1.0 && x <= categories as f64 && x == x.floor()).then(|| x as usize - 1)
}

/// Sums `log_probability(vector, position, gradient)` over the draws.
fn categories(call: &mut Call<'_, '_>, mut log_probability: impl FnMut(&[f64], usize, &mut [f64]) -> f64) -> f64 {
    let k = call.sizes.k;
    let vectors = call.args[0];
    let mut total = 0.0;
    for (i, &x) in call.x.iter().enumerate() {
        let Some(x) = position(x, k) else { return if x.is_nan() { x } else { f64::NEG_INFINITY } };
        let at = if vectors.len() == k { 0 } else { i * k };
        total += log_probability(&vectors[at..at + k], x, &mut call.gradient[0][at..at + k]);
    }
    total
}

fn increases(cuts: &[f64]) -> bool {
    cuts.iter().all(|c| c.is_finite()) && cuts.is_sorted_by(|a, b| a < b)
}

fn ordered_logistic(call: &mut Call<'_, '_>) -> Result<f64, Pivot> {
    let Sizes { k, .. } = call.sizes;
    let (eta, cuts) = (call.args[0], call.args[1]);
    if k > 0 && !cuts.chunks_exact(k).all(increases) {
        return Ok(f64::NAN);
    }
    let [g_eta, g_cuts] = call.gradient else { return Ok(f64::NAN) };
    let mut total = 0.0;
    for (i, &x) in call.x.iter().enumerate() {
        let at = of_draw(eta.len(), i);
        if x.is_nan() || !eta[at].is_finite() {
            return Ok(f64::NAN);
        }
        let Some(x) = position(x, k + 1) else { return Ok(f64::NEG_INFINITY) };
        // The cutpoints below and above the category.
        let below = x.checked_sub(1).map(|j| place(cuts.len(), i, j, k));
        let above = (x < k).then(|| place(cuts.len(), i, x, k));
        let (a, b) = (below.map(|j| eta[at] - cuts[j]), above.map(|j| eta[at] - cuts[j]));
        let (mut da, mut db) = (0.0, 0.0);
        if let Some(a) = a {
            total -= log1p_exp(-a);
            da += logistic(-a);
        }
        if let Some(b) = b {
            total -= log1p_exp(b);
            db -= logistic(b);
        }
        if let (Some(a), Some(b)) = (a, b) {
            total += log_complement(b - a);
            let slope = 1.0 / (a - b).exp_m1();
            da += slope;
            db -= slope;
        }
        g_eta[at] += da + db;
        for (cut, slope) in [(below, da), (above, db)] {
            if let Some(j) = cut {
                g_cuts[j] -= slope;
            }
        }
    }
    Ok(total)
}
