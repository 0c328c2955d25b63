//! Statements: bounds of every kind, chains of definitions, objectives, empty arrays.

use super::Case;

pub(super) fn cases() -> Vec<Case> {
    let bounds = BOUNDS.iter().flat_map(|bounds| {
        ["", "[J]", "[K, J]"].map(|shape| {
            let body = format!("param x{shape} {bounds}\nexp(0.3 * x) ~ normal(0.9, 1.1)\nreport cube = x ^ 3");
            Case::new(format!("param x{shape} {bounds}"), &body)
        })
    });
    let listed = STATEMENTS.iter().chain(&RECURSIONS).map(|(name, body)| Case::new(*name, body));
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

/// Functions of the model, and states carried along an index.
const RECURSIONS: [(&str, &str); 19] = [
    (
        "a term of its own",
        "param x[J]\nparam a > 0\nlog_density -a * sum(square(x - real)) + 1.5 * log(a)\nlog_density -a\nreport y = x[1]",
    ),
    (
        "a function of one line",
        "function shifted(a, b) = a + exp(b)\nparam x[J]\nparam y\nshifted(x * y, y) ~ normal(0, 2)\n\
         shifted(y, 0.5) ~ normal(1, 1)\nreport z = shifted(x, real)",
    ),
    (
        "a function with a block",
        "function scatter(x, n) {\n  let centre = mean(x)\n  let d = x - centre\n  sum(d * d) / (n - 1)\n}\n\
         function twice(x) = scatter(x, 3) + scatter(2 * x, 3)\nparam x[J]\ntwice(x + real) ~ gamma(2, 1)\n\
         report known = twice(real)",
    ),
    (
        "a function whose argument is a size",
        "function ends(x, n) = append(x[1:n], rep(x[n], 2))\nparam x[J]\nends(x, K) ~ normal(0, 1)\n\
         report back = reverse(x)[1:J - 1] - x[1:J - 1]",
    ),
    (
        "a state of data",
        "scan h[t in 2:J] from real[1] = 0.5 * h[t - 1] + positive[t]\nparam x\nobserve h ~ normal(x, 1)",
    ),
    ("a geometric sequence", "param a in [0, 1]\nparam s\nscan h[t in 2:6] from s = a * h[t - 1]\nh ~ normal(1, 2)"),
    (
        "variances that follow squares",
        "param a > 0\nparam b in [0, 1]\nparam c in [0, 1]\nparam mu\n\
         scan v[t in 2:J] from a = a + b * square(real[t - 1] - mu) + c * v[t - 1]\nobserve real ~ normal(mu, sqrt(v))",
    ),
    (
        "two steps back",
        "param phi[K]\nparam s\nscan h[t in 3:7] from [s, 2 * s] = phi[1] * h[t - 1] + phi[2] * h[t - 2]\nh ~ normal(0, 1)",
    ),
    (
        "a range of steps back",
        "param phi[K]\nscan h[t in K + 1:8] from real[1:K] = dot(phi, h[t - K:t - 1]) + tall[2, 1]\nh ~ normal(0, 1)",
    ),
    ("no step at all", "param s\nscan h[t in 2:1] from s = 2 * h[t - 1]\nparam x\nsum(h) + x ~ normal(0, 1)"),
    ("fewer states than given", "param s\nscan h[t in 4:2] from [s, 1, s * s] = h[t - 1]\nh ~ normal(0, 1)"),
    (
        "without a beginning",
        "param x[J]\nparam s\nscan e[t in 1:J] = x[t] * real[t] + s * t\ne ~ normal(0, 2)\nreport total = sum(e)",
    ),
    (
        "a vector of states",
        "param p > 0\nparam r > 0\nscan s[t in 2:5] from [0, p] {\n  let ahead = s[t - 1, 2] + p\n\
         let gain = ahead / (ahead + r)\n  [s[t - 1, 1] + gain * (tall[t, 1] - s[t - 1, 1]), (1 - gain) * ahead]\n}\n\
         observe tall[:, 1] ~ normal(s[:, 1], sqrt(s[:, 2] + r))",
    ),
    (
        "hidden states",
        "param logits[J, J]\nparam mu[J]\nlet moves = log_softmax(logits)\n\
         scan alpha[t in 2:5] from -log(J) - 0.5 * square(tall[1, 1] - mu) = \
         log_matmul(alpha[t - 1], moves) - 0.5 * square(tall[t, 1] - mu)\nlog_sum_exp(alpha[5]) ~ normal(-3, 2)",
    ),
    (
        "everything in a step",
        "param v[J]\nparam a > 0\nscan h[t in 2:4] from v {\n  let x = h[t - 1]\n  let soft = softmax(x) + log_softmax(x)\n\
         let many = append(x[2:], cumulative_sum(x), cumulative_prod(x)[1], reverse(x))\n\
         let table = [x, soft, x * a]\n  let line = sum(table, axis = 1) + sum(mean(table, axis = 2))\n\
         let least = min(min(x), a) + max(x) + prod(x) + mean(many) + log_sum_exp(many)\n\
         let chosen = where(real > 0, x, least) + where(binary[1 + 1] == t, a, x[1])\n\
         let turned = transpose(table) @ [1, a, 2] + [a, 1, 2] @ table + diagonal(outer(x, soft)) + diag(x) @ v\n\
         tanh(0.1 * (line + least + chosen + turned + rep(x[2], J) + linspace(a, x[1], J) - min(x, soft)))\n}\n\
         h ~ normal(0, 3)",
    ),
    (
        "a factor in a step",
        "param v[K]\nparam a > 0\nscan h[t in 2:3] from v {\n  let big = add_diag(outer(h[t - 1], h[t - 1]), a + t)\n\
         let l = cholesky(big)\n  solve_lower(l, v) + solve_lower_t(l, h[t - 1]) + log_det(big)\n}\nh ~ normal(0, 1)",
    ),
    (
        "positions looked up in a step",
        "param x[J]\nparam s\nscan h[t in 2:4] from [s, 1] = [x[places[t]] + h[t - 1, pair[2]], h[t - 1, 1] * real[places[t]]]\n\
         h ~ normal(0, 1)",
    ),
    (
        "a function in a step",
        "function next(x, a, y) {\n  let d = y - x\n  x + a * d + square(d) / 10\n}\nparam a in [0, 1]\nparam s\n\
         scan h[t in 2:J] from s = next(h[t - 1], a, real[t])\nobserve real ~ normal(h, 1)",
    ),
    (
        "one recursion after another",
        "param a in [0, 1]\nparam s\nscan g[t in 2:4] from s = a * g[t - 1] + 1\n\
         scan h[t in 2:4] from g[1] = h[t - 1] - g[t] * a\nh[2:4] - g[:3] ~ normal(0, 1)",
    ),
];
