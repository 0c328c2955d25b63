//! Gradients of two bundled models written by hand, over the unconstrained coordinates: what the tape is measured against.

use msrm::bind::Plan;
use msrm::math::special::{HALF_LN_2PI, ln_beta};

/// A log density with its gradient.
pub type ByHand = Box<dyn FnMut(&[f64], &mut [f64]) -> f64>;

/// The gradient of a bundled model by hand, if it has one.
pub fn by_hand(name: &str, plan: &Plan) -> Option<ByHand> {
    match name {
        "item_response" => Some(item_response(plan)),
        "stochastic_volatility" => Some(stochastic_volatility(plan)),
        _ => None,
    }
}

fn data(plan: &Plan, name: &str) -> Vec<f64> {
    plan.values[name].values.clone()
}

/// Adds the log density of a normal variable with mean 0 to `total`, and its slope to `slope`.
fn normal(x: f64, sd: f64, total: &mut f64, slope: &mut f64) {
    *total -= 0.5 * (x / sd) * (x / sd) + sd.ln() + HALF_LN_2PI;
    *slope -= x / (sd * sd);
}

fn item_response(plan: &Plan) -> ByHand {
    let index = |name: &str| -> Vec<usize> { data(plan, name).iter().map(|&v| v as usize - 1).collect() };
    let (person, item, y) = (index("person"), index("item"), data(plan, "y"));
    let (persons, items) = (data(plan, "P")[0] as usize, data(plan, "I")[0] as usize);
    let mut scale = vec![0.0; items];
    Box::new(move |u, gradient| {
        gradient.fill(0.0);
        let mut total = 0.0;
        let (ability, rest) = u.split_at(persons);
        let (difficulty, log_scale) = rest.split_at(items);
        let (g_ability, rest) = gradient.split_at_mut(persons);
        let (g_difficulty, g_scale) = rest.split_at_mut(items);
        for (x, g) in ability.iter().zip(&mut *g_ability) {
            normal(*x, 1.0, &mut total, g);
        }
        for i in 0..items {
            normal(difficulty[i], 2.0, &mut total, &mut g_difficulty[i]);
            scale[i] = log_scale[i].exp();
        }
        for ((&p, &i), &y) in person.iter().zip(&item).zip(&y) {
            let distance = ability[p] - difficulty[i];
            let eta = scale[i] * distance;
            let e = (-eta.abs()).exp();
            total -= e.ln_1p() + if y == 1.0 { (-eta).max(0.0) } else { eta.max(0.0) };
            let g = y - if eta >= 0.0 { 1.0 / (1.0 + e) } else { e / (1.0 + e) };
            g_ability[p] += g * scale[i];
            g_difficulty[i] -= g * scale[i];
            g_scale[i] += g * distance;
        }
        for i in 0..items {
            g_scale[i] *= scale[i];
            // The Jacobian takes the factor 1 / x of the lognormal density away.
            normal(log_scale[i], 0.5, &mut total, &mut g_scale[i]);
        }
        total
    })
}

fn stochastic_volatility(plan: &Plan) -> ByHand {
    let y = data(plan, "y");
    let n = y.len();
    let beta = ln_beta(20.0, 1.5);
    let (mut h, mut g) = (vec![0.0; n], vec![0.0; n]);
    Box::new(move |u, gradient| {
        gradient.fill(0.0);
        let (mu, phi, sigma, z) = (u[0], 1.0 / (1.0 + (-u[1]).exp()), u[2].exp(), &u[3..]);
        let mut total = 0.0;
        normal(mu, 5.0, &mut total, &mut gradient[0]);
        total += 20.0 * phi.ln() + 1.5 * (1.0 - phi).ln() - beta;
        total += 2f64.ln() - 0.5 * sigma * sigma - HALF_LN_2PI + u[2];
        let stationary = (1.0 - phi * phi).sqrt();
        h[0] = mu + sigma * z[0] / stationary;
        for t in 1..n {
            h[t] = mu + phi * (h[t - 1] - mu) + sigma * z[t];
        }
        for t in 0..n {
            let square = y[t] * y[t] * (-h[t]).exp();
            total -= 0.5 * (h[t] + square) + HALF_LN_2PI;
            g[t] = 0.5 * (square - 1.0);
        }
        let (mut g_phi, mut g_sigma) = (20.0 / phi - 1.5 / (1.0 - phi), 0.0);
        for t in (1..n).rev() {
            gradient[0] += g[t] * (1.0 - phi);
            g_phi += g[t] * (h[t - 1] - mu);
            g_sigma += g[t] * z[t];
            gradient[3 + t] = g[t] * sigma;
            g[t - 1] += g[t] * phi;
        }
        gradient[0] += g[0];
        g_sigma += g[0] * z[0] / stationary;
        gradient[3] = g[0] * sigma / stationary;
        g_phi += g[0] * sigma * z[0] * phi / stationary.powi(3);
        for (z, g) in z.iter().zip(&mut gradient[3..]) {
            normal(*z, 1.0, &mut total, g);
        }
        gradient[1] = g_phi * phi * (1.0 - phi);
        gradient[2] = (g_sigma - sigma) * sigma + 1.0;
        total
    })
}
