//! Constrained parameters, bounds that move, distributions of vectors, mixtures and censored values.

use super::Case;

pub(super) fn cases() -> Vec<Case> {
    LAWS.iter().map(|(name, body)| Case::new(*name, body)).collect()
}

const LAWS: [(&str, &str); 33] = [
    ("a simplex", "param w[J] : simplex\nobserve real ~ normal(w, 0.7)\nreport first = w[1]"),
    ("a simplex by its prior", "param w[J] ~ dirichlet(positive)\nobserve real ~ normal(w, 0.7)"),
    ("a symmetric simplex", "param a > 0\nparam w[J] : simplex ~ dirichlet(a)\nobserve real ~ normal(w, 0.7)"),
    (
        "rows of simplexes",
        "param a > 0\nparam w[K, J] : simplex ~ dirichlet(a * positive)\nobserve matrix ~ normal(w, 1)\na ~ gamma(2, 1)",
    ),
    ("a concentration per row", "param a[K, J] > 0\nparam w[K, J] ~ dirichlet(a)\na ~ gamma(2, 1)"),
    ("a simplex of one", "param w[1] : simplex\nparam m ~ normal(w[1], 1)"),
    ("an ordered vector", "param c[J] : ordered ~ normal(0, 2)\nobserve real ~ normal(c, 1)"),
    ("ordered rows", "param c[K, J] : ordered\nobserve matrix ~ normal(c, 1)"),
    ("a positive ordered vector", "param c[J] : positive_ordered ~ gamma(2, 1)\nobserve real ~ normal(c, 1)"),
    ("a correlation factor", "param L[J, J] : corr_cholesky\nobserve sq ~ normal(L, 1)"),
    (
        "a correlation factor with its prior",
        "param eta ~ gamma(3, 1)\nparam L[J, J] ~ lkj_cholesky(eta)\nparam s > 0\n\
         observe real ~ multi_normal_cholesky(0, s * L)",
    ),
    (
        "a normal vector",
        "param m[J] ~ multi_normal(0, sq @ transpose(sq))\nparam s > 0\nlet S = s * (sq @ transpose(sq))\n\
         observe matrix ~ multi_normal(m, S)\nobserve real ~ multi_normal(s, S)",
    ),
    (
        "means per row",
        "param m[K, J]\nparam L[J, J] : corr_cholesky\nobserve matrix ~ multi_normal_cholesky(m, L)\n\
         observe matrix ~ multi_normal(m, L @ transpose(L))",
    ),
    (
        "a precision",
        "param m[J]\nparam L[J, J] : corr_cholesky\nobserve matrix ~ multi_normal_precision(m, L @ transpose(L))",
    ),
    ("categories", "param w[J] : simplex\nobserve places ~ categorical(w)\nobserve three ~ categorical(w)"),
    ("categories by row", "param w[J, J] : simplex\nobserve columns ~ categorical(w)"),
    (
        "categories by log weights",
        "param b[J, J]\nparam e[J]\nobserve columns ~ categorical_logit(b)\nobserve places ~ categorical_logit(e)",
    ),
    ("shared counts", "param w[J] : simplex\nobserve counts ~ multinomial(8, w)"),
    (
        "ordered categories",
        "param c[K] : ordered\nparam eta[J]\nobserve columns ~ ordered_logistic(eta, c)\n\
         observe three ~ ordered_logistic(eta[1], c)",
    ),
    ("cutpoints per row", "param c[J, K] : ordered\nobserve columns ~ ordered_logistic(0.3, c)"),
    (
        "a mixture",
        "param w[K] : simplex\nparam a\nparam s > 0\nobserve real ~ mixture(w, normal(a, s), cauchy(between, s))",
    ),
    (
        "a mixture of two",
        "param p in [0, 1]\nparam x[J] ~ mixture(p, normal(-1, 0.5), normal(1, 2))\nobserve real ~ normal(x, 1)",
    ),
    (
        "weights per value",
        "param w[J, K] : simplex\nparam a[J]\nobserve real ~ mixture(w, normal(a, 1), student_t(4, 0, 2))",
    ),
    (
        "a mixture of three",
        "param w[3] : simplex\nparam l[3] : positive_ordered\n\
         observe counts ~ mixture(w, poisson(l[1]), poisson(l[2]), neg_binomial_2(l[3], 2))",
    ),
    (
        "components with supports of their own",
        "param w[K] : simplex\nparam s > 0\nobserve real ~ mixture(w, half_normal(s), normal(0, s))",
    ),
    ("extra zeros", "param p in [0, 1]\nparam a[J]\nobserve counts ~ zero_inflated(p, poisson_log(a))"),
    (
        "extra zeros per value",
        "param p[J] in [0, 1]\nparam m > 0\nobserve counts ~ zero_inflated(p, neg_binomial_2(m, 1.5))",
    ),
    ("a hurdle of counts", "param p in [0, 1]\nparam m > 0\nobserve counts ~ hurdle(p, poisson(m))"),
    ("a hurdle of numbers", "param p in [0, 1]\nparam m\nobserve counts ~ hurdle(p, lognormal(m, 0.8))"),
    ("censored above", "param a > 0\nparam b[J] > 0\nobserve positive ~ weibull(a, b) censored above where binary"),
    (
        "censored below",
        "param a\nparam s > 0\nobserve real ~ student_t(4, a, s) censored below where binary\nobserve real ~ normal(a, s) censored above where 1 - binary",
    ),
    (
        "bounds that move",
        "param lo ~ normal(0, 1)\nparam hi > lo ~ normal(0, 1)\nparam mid[J] in [lo, hi]\nparam under < lo ~ normal(0, 1)\n\
         observe real ~ normal(mid, hi - under)",
    ),
    (
        "bounds of two kinds",
        "param a in [0, 1]\nparam b in [0, 1 - a] ~ beta(2, 2)\nparam each[J] > real\nparam between_two[K, J] in [-1, a + b]\n\
         param c > a - 0.2 ~ gamma(2, 1)\nobserve real ~ normal(each * b, c)\nobserve matrix ~ normal(between_two, 1)",
    ),
];
