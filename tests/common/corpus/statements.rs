//! Statements: bounds of every kind, chains of definitions, objectives, empty arrays.

use super::Case;

pub(super) fn cases() -> Vec<Case> {
    let bounds = BOUNDS.iter().flat_map(|bounds| {
        ["", "[J]", "[K, J]"].map(|shape| {
            let body = format!("param x{shape} {bounds}\nexp(0.3 * x) ~ normal(0.9, 1.1)\nreport cube = x ^ 3");
            Case::new(format!("param x{shape} {bounds}"), &body)
        })
    });
    let listed = STATEMENTS.iter().map(|(name, body)| Case::new(*name, body));
    bounds.chain(listed).collect()
}

const BOUNDS: [&str; 18] = [
    "> 1",
    ">= -2.5",
    "< -1",
    "<= 2",
    "in [-1, 2]",
    "> 0 < 3",
    "< 4 > 2",
    "> low",
    "< high",
    "in [low, high]",
    "in [low - 1, high * 2]",
    "in [1000, 1000.5]",
    "> 1 ~ lognormal(0.2, 1)",
    "in [0.1, 0.4] ~ beta(2, 3)",
    "~ uniform(-2, 3)",
    "~ uniform(low, high)",
    "> 0 ~ uniform(low, high)",
    "in [low, 1] ~ uniform(-2, high)",
];

const STATEMENTS: [(&str, &str); 13] = [
    (
        "chained definitions",
        "param mu\nparam tau > 0\nlet centre = mean(real)\nlet shift = mu + centre\nlet twice = shift * 2\n\
         param x[J] ~ normal(shift, tau) noncentered\nlet y = x - twice\ny ~ normal(centre, 1)\n\
         observe real ~ student_t(4, x, tau)\nreport y_mean = mean(y)\nreport late = x[2] * twice",
    ),
    (
        "non-centred on non-centred",
        "param mu ~ normal(0, 2) noncentered\nparam tau ~ half_normal(1)\nparam x[J] ~ normal(mu, tau) noncentered\n\
         param y[J] ~ cauchy(x, exp(x)) noncentered\nobserve real ~ normal(y, 1)",
    ),
    ("the same value on both sides", "param x > 0\nx ~ lognormal(x, x)\nx ~ gamma(x, exp(-x))\nx * 2 ~ normal(x, x)"),
    ("an argument twice", "param x\nparam y > 0\nx ~ student_t(y, x * y, y)\nobserve unit ~ beta(y, y)"),
    ("several priors on one parameter", "param x ~ normal(0, 1)\nx ~ cauchy(1, 2)\nobserve real[1] ~ normal(x, 1)"),
    (
        "gathered groups",
        "param alpha[J] ~ normal(0, 1)\nparam beta[K] ~ normal(0, 1)\nparam sigma ~ half_normal(1)\n\
         let eta = alpha[places] + 0.5\neta ~ normal(1, sigma)\nobserve real[places] ~ normal(alpha[places], sigma)\n\
         observe tall[:, 1] ~ normal(tall @ beta, sigma)\nobserve binary ~ bernoulli_logit(alpha[columns])",
    ),
    ("a parameter that nothing uses", "param idle\nparam bounded in [0, 2]\nparam x ~ normal(0, 1)"),
    ("an objective", "param x[J]\nparam s > 0\nminimize sum(square(x - real) / s) + log(s) + 0.1 * sum(abs(x))"),
    (
        "an objective of one product",
        "param x[J]\nparam y[K] in [-1, 1]\nminimize (matrix @ x) @ y + 0.5 * x @ x + log_sum_exp(x)",
    ),
    (
        "no data in a term",
        "param mu ~ normal(0, 1)\nparam x[zero] ~ normal(mu, 1)\nobserve none ~ normal(mu, exp(mu))\n\
         let total = sum(x) + sum(none * mu)\nobserve real ~ normal(mu + total, 1)",
    ),
    ("a sum over nothing", "param mu\nparam x[zero]\nmu + sum(x) + sum(exp(x)) ~ normal(0, 1)"),
    ("a product over nothing", "param v[zero]\nparam mu\nmu + v @ v ~ normal(0, 1)"),
    (
        "arrays of one element",
        "param x[1]\nparam y[1] > 0\nparam a[1, 1]\nparam b[1, J]\nx ~ normal(y, y)\na @ x ~ normal(x, 1)\n\
         x @ b ~ normal(0, 1)\nobserve real[1] ~ normal(x[1] * sum(a), y[1])",
    ),
];
