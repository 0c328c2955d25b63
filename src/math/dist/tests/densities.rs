//! Log densities against another implementation, or against the textbook formula evaluated plainly.

use super::*;
use statrs::distribution as other;
use statrs::distribution::{Continuous, Discrete};
use std::f64::consts::{LN_2, PI};

/// The integral of `f` over [lo, hi] by Simpson's rule.
fn simpson(f: impl Fn(f64) -> f64, lo: f64, hi: f64) -> f64 {
    let steps = 2000;
    let width = (hi - lo) / f64::from(steps);
    let weight = |i: i32| if i == 0 || i == steps { 1.0 } else { 2.0 + 2.0 * f64::from(i % 2) };
    (0..=steps).map(|i| weight(i) * f(lo + width * f64::from(i))).sum::<f64>() * width / 3.0
}

/// log of the product of (shape + i) / (1 + i) over i < n: the binomial coefficient C(n + shape - 1, n).
fn log_rising_choices(n: f64, shape: f64) -> f64 {
    (0..n as u64).map(|i| ((shape + i as f64) / (1.0 + i as f64)).ln()).sum()
}

fn twin(name: &str, x: f64, a: &[f64]) -> f64 {
    let p = |alpha: f64| 1.0 / (1.0 + (-alpha).exp());
    let negative =
        |x: f64, shape: f64, stop: f64| log_rising_choices(x, shape) + shape * stop.ln() + x * (1.0 - stop).ln();
    match name {
        "normal" => other::Normal::new(a[0], a[1]).unwrap().ln_pdf(x),
        "half_normal" => other::Normal::new(0.0, a[0]).unwrap().ln_pdf(x) + LN_2,
        "lognormal" => other::LogNormal::new(a[0], a[1]).unwrap().ln_pdf(x),
        "skew_normal" => {
            let z = (x - a[0]) / a[1];
            let phi = |t: f64| (-0.5 * t * t).exp() / (2.0 * PI).sqrt();
            // The distribution function of a large negative argument from its continued fraction.
            let t = a[2] * z;
            let log_cdf = if t > -4.0 {
                (0.5 + t.signum() * simpson(phi, 0.0, t.abs().min(9.0))).ln()
            } else {
                let tail = (1..400).rev().fold(-t, |rest, k| -t + f64::from(k) / rest);
                -0.5 * t * t - 0.5 * (2.0 * PI).ln() - tail.ln()
            };
            LN_2 - 0.5 * z * z - 0.5 * (2.0 * PI).ln() - a[1].ln() + log_cdf
        }
        "student_t" => other::StudentsT::new(a[1], a[2], a[0]).unwrap().ln_pdf(x),
        "half_student_t" => other::StudentsT::new(0.0, a[1], a[0]).unwrap().ln_pdf(x) + LN_2,
        "cauchy" => other::Cauchy::new(a[0], a[1]).unwrap().ln_pdf(x),
        "half_cauchy" => other::Cauchy::new(0.0, a[0]).unwrap().ln_pdf(x) + LN_2,
        "laplace" => other::Laplace::new(a[0], a[1]).unwrap().ln_pdf(x),
        "logistic" => -2.0 * (2.0 * (0.5 * (x - a[0]) / a[1]).cosh()).ln() - a[1].ln(),
        "gumbel" => other::Gumbel::new(a[0], a[1]).unwrap().ln_pdf(x),
        "weibull" => other::Weibull::new(a[0], a[1]).unwrap().ln_pdf(x),
        // One over x is Weibull with scale one over sigma.
        "frechet" => other::Weibull::new(a[0], 1.0 / a[1]).unwrap().ln_pdf(1.0 / x) - 2.0 * x.ln(),
        "rayleigh" => x.ln() - 2.0 * a[0].ln() - x * x / (2.0 * a[0] * a[0]),
        "gamma" => other::Gamma::new(a[0], a[1]).unwrap().ln_pdf(x),
        "inv_gamma" => other::InverseGamma::new(a[0], a[1]).unwrap().ln_pdf(x),
        "exponential" => other::Exp::new(a[0]).unwrap().ln_pdf(x),
        "chi_squared" => other::ChiSquared::new(a[0]).unwrap().ln_pdf(x),
        // By the change of variables from the law of one over x.
        "inv_chi_squared" => other::ChiSquared::new(a[0]).unwrap().ln_pdf(1.0 / x) - 2.0 * x.ln(),
        "scaled_inv_chi_squared" => {
            let scale = a[0] * a[1] * a[1];
            other::ChiSquared::new(a[0]).unwrap().ln_pdf(scale / x) + scale.ln() - 2.0 * x.ln()
        }
        "pareto" => other::Pareto::new(a[0], a[1]).unwrap().ln_pdf(x),
        "beta" => other::Beta::new(a[0], a[1]).unwrap().ln_pdf(x),
        "beta_proportion" => other::Beta::new(a[0] * a[1], (1.0 - a[0]) * a[1]).unwrap().ln_pdf(x),
        "uniform" => other::Uniform::new(a[0], a[1]).unwrap().ln_pdf(x),
        "von_mises" => a[1] * (x - a[0]).cos() - simpson(|t| (a[1] * t.cos()).exp(), -PI, PI).ln(),
        "bernoulli" => other::Bernoulli::new(a[0]).unwrap().ln_pmf(x as u64),
        "bernoulli_logit" => other::Bernoulli::new(p(a[0])).unwrap().ln_pmf(x as u64),
        "binomial" => other::Binomial::new(a[1], a[0] as u64).unwrap().ln_pmf(x as u64),
        "binomial_logit" => other::Binomial::new(p(a[1]), a[0] as u64).unwrap().ln_pmf(x as u64),
        // Polya's urn.
        "beta_binomial" => {
            let rest = log_rising_choices(a[0] - x, a[2]) - log_rising_choices(a[0], a[1] + a[2]);
            log_rising_choices(x, a[1]) + rest
        }
        "poisson" => other::Poisson::new(a[0]).unwrap().ln_pmf(x as u64),
        "poisson_log" => other::Poisson::new(a[0].exp()).unwrap().ln_pmf(x as u64),
        "neg_binomial" => negative(x, a[0], a[1] / (1.0 + a[1])),
        "neg_binomial_2" => negative(x, a[1], a[1] / (a[0] + a[1])),
        "neg_binomial_2_log" => negative(x, a[1], a[1] / (a[0].exp() + a[1])),
        "geometric" => other::Geometric::new(a[0]).unwrap().ln_pmf(x as u64 + 1),
        name => panic!("{name} has no twin"),
    }
}

#[test]
fn densities_agree_with_another_implementation() {
    for_random_points(4, 200, |d, x, a| {
        let want = twin(d.name, x, a);
        let got = (d.log_density)(x, a);
        assert!((got - want).abs() <= 1e-11 * want.abs().max(1.0), "{} {a:?} {x}: {got} {want}", d.name);
    });
}
