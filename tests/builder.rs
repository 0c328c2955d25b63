//! The Rust builder: every bundled model, written in Rust, is the model that its text says, and errors read the same.

use msrm::base::Source;
use msrm::lang::ast::WeightRole;
use msrm::model::builder::{
    Builder, Constraint, Ex, array, block, call, draw, int, param, positions, real, response, x,
};
use msrm::model::check_text;
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

/// Every bundled model, written in Rust.
fn twins() -> Vec<Builder> {
    vec![
        ar1(),
        arma11(),
        garch11(),
        gp_poisson(),
        gp_regression(),
        hmm(),
        horseshoe(),
        item_response(),
        negative_binomial(),
        stochastic_volatility(),
        eight_schools("eight_schools", true),
        eight_schools("eight_schools_centered", false),
        funnel("funnel", true),
        funnel("funnel_centered", false),
        Builder::new("glm_logistic")
            .data("N", int())
            .data("P", int())
            .data("X", real().of([x("N"), x("P")]))
            .data("y", int().of([x("N")]).within(0, 1))
            .param("beta", param().of([x("P")]).prior(draw("normal", [x(0), x(1)])))
            .observe("y", draw("bernoulli_logit", [x("X").matmul(x("beta"))])),
        Builder::new("glm_poisson")
            .data("N", int())
            .data("P", int())
            .data("X", real().of([x("N"), x("P")]))
            .data("exposure", real().of([x("N")]).above(0))
            .data("y", int().of([x("N")]).at_least(0))
            .param("alpha", param().prior(draw("normal", [x(0), x(2)])))
            .param("beta", param().of([x("P")]).prior(draw("normal", [x(0), x(1)])))
            .observe("y", draw("poisson_log", [x("alpha") + x("X").matmul(x("beta")) + call("log", [x("exposure")])]))
            .report("rate", call("exp", [x("alpha")])),
        Builder::new("gp_msrm")
            .recording("x", true)
            .factors("K", 1)
            .param("ell", param().prior(draw("lognormal", [x(1.1), x(0.5)]).truncated(0.5, 20)))
            .matern32("z", "ell")
            .weight(WeightRole::Loading, "w", Some(draw("normal", [x(0), x(1)])))
            .weight(WeightRole::Offset, "b", Some(draw("normal", [x(0), x(1)])))
            .weight(WeightRole::Noise, "v", Some(draw("lognormal", [x(-2), x(0.7)])))
            .observe("x", draw("normal", [x("b") + call("response", [x("z")]) * x("w"), call("sqrt", [x("v")])])),
        gp_msrm_learned(),
        Builder::new("gaussian_mixture")
            .data("N", int())
            .data("y", real().of([x("N")]))
            .param("w", param().of([x(2)]).constrained(Constraint::Simplex).prior(draw("dirichlet", [x(2)])))
            .param("mu", param().of([x(2)]).constrained(Constraint::Ordered).prior(draw("normal", [x(0), x(5)])))
            .param("sigma", param().of([x(2)]).prior(draw("half_normal", [x(2)])))
            .observe("y", draw("mixture", [x("w"), component(1), component(2)])),
        linear_regression(),
        Builder::new("ordered_logit")
            .data("N", int())
            .data("P", int())
            .data("K", int())
            .data("X", real().of([x("N"), x("P")]))
            .data("y", int().of([x("N")]).within(1, "K"))
            .param("beta", param().of([x("P")]).prior(draw("normal", [x(0), x(2)])))
            .param(
                "c",
                param().of([x("K") - x(1)]).constrained(Constraint::Ordered).prior(draw("normal", [x(0), x(5)])),
            )
            .observe("y", draw("ordered_logistic", [x("X").matmul(x("beta")), x("c")])),
        survival(),
        varying_slopes(),
        Builder::new("zero_inflated_poisson")
            .data("N", int())
            .data("x", real().of([x("N")]))
            .data("y", int().of([x("N")]).at_least(0))
            .param("p", param().prior(draw("beta", [x(1), x(1)])))
            .param("alpha", param().prior(draw("normal", [x(0), x(2)])))
            .param("beta", param().prior(draw("normal", [x(0), x(1)])))
            .observe("y", draw("zero_inflated", [x("p"), call("poisson_log", [x("alpha") + x("beta") * x("x")])])),
        Builder::new("r_msrm")
            .recording("x", true)
            .factors("K", 1)
            .grid("z", 1.0)
            .weight(WeightRole::Loading, "w", None)
            .minimize(
                call("balanced_squares", [x("x"), call("response", [x("z")]) * x("w")])
                    + x(1e-3) * call("ridge", [x("w")])
                    + x(1e-4) * call("ridge", [x("z")])
                    + x(1e-2) * call("roughness", [x("z")]),
            ),
        r_msrm_learned(),
        Builder::new("std_normal")
            .data("D", int())
            .param("x", param().of([x("D")]).prior(draw("normal", [x(0), x(1)]))),
        Builder::new("varying_intercepts")
            .data("N", int())
            .data("J", int())
            .data("group", int().of([x("N")]).within(1, "J"))
            .data("x", real().of([x("N")]))
            .data("y", real().of([x("N")]))
            .param("mu", param().prior(draw("normal", [x(0), x(5)])))
            .param("tau", param().above(0).prior(draw("half_normal", [x(2)])))
            .param("alpha", param().of([x("J")]).prior(draw("normal", [x("mu"), x("tau")]).noncentered()))
            .param("beta", param().prior(draw("normal", [x(0), x(2)])))
            .param("sigma", param().above(0).prior(draw("half_normal", [x(2)])))
            .observe("y", draw("normal", [x("alpha").at([x("group")]) + x("beta") * x("x"), x("sigma")])),
    ]
}

fn gp_msrm_learned() -> Builder {
    let number = |values: [f64; 2]| values.map(x);
    let physio = response("bateman")
        .learned("rise", draw("lognormal", number([-0.4, 0.4])).truncated(0.3, 1.4))
        .learned("decay", draw("lognormal", number([1.1, 0.3])).truncated(1.5, 4))
        .learned("lag", draw("normal", [x(0), x(2)]).truncated(-4, 4));
    let lag = draw("normal", [x(1), x(1)]).truncated(-2, 5);
    Builder::new("gp_msrm_learned")
        .recording("x", true)
        .factors("K", 1)
        .response("rating", response("gaussian").fixed("width", 1.0).learned("lag", lag))
        .response("physio", physio)
        .param("ell", param().prior(draw("lognormal", [x(1.1), x(0.5)]).truncated(0.5, 20)))
        .matern32("z", "ell")
        .weight(WeightRole::Loading, "w", Some(draw("normal", [x(0), x(1)])))
        .weight(WeightRole::Offset, "b", Some(draw("normal", [x(0), x(1)])))
        .weight(WeightRole::Noise, "v", Some(draw("lognormal", [x(-2), x(0.7)])))
        .observe("x", draw("normal", [x("b") + call("response", [x("z")]) * x("w"), call("sqrt", [x("v")])]))
}

fn r_msrm_learned() -> Builder {
    let lag = draw("normal", [x(0), x(2)]).truncated(-2, 2);
    Builder::new("r_msrm_learned")
        .recording("x", true)
        .factors("K", 1)
        .response("rating", response("gaussian").within("width", 0.3, 1.5).within("lag", -1, 3))
        .response("physio", response("gaussian").fixed("width", 1.0).learned("lag", lag).per_participant())
        .grid("z", 1.0)
        .weight(WeightRole::Loading, "w", None)
        .minimize(
            call("balanced_squares", [x("x"), call("response", [x("z")]) * x("w")])
                + x(1e-3) * call("ridge", [x("w")])
                + x(1e-4) * call("ridge", [x("z")])
                + x(1e-2) * call("roughness", [x("z")])
                + x(0.01) * call("spread", [x("physio")]),
        )
}

/// A component of the mixture.
fn component(j: i32) -> Ex {
    call("normal", [x("mu").at([x(j)]), x("sigma").at([x(j)])])
}

fn survival() -> Builder {
    let scale = call("exp", [x("alpha") + x("beta") * x("treatment")]);
    Builder::new("survival")
        .data("N", int())
        .data("time", real().of([x("N")]).above(0))
        .data("lost", int().of([x("N")]).within(0, 1))
        .data("treatment", int().of([x("N")]).within(0, 1))
        .param("shape", param().prior(draw("lognormal", [x(0), x(0.5)])))
        .param("alpha", param().prior(draw("normal", [x(2), x(2)])))
        .param("beta", param().prior(draw("normal", [x(0), x(1)])))
        .observe("time", draw("weibull", [x("shape"), scale]).censored_above("lost"))
        .report("hazard_ratio", call("exp", [-x("beta") * x("shape")]))
}

fn varying_slopes() -> Builder {
    let part = |k: i32| x("tau").at([x(k)]) * x("u").at([x("group"), x(k)]);
    Builder::new("varying_slopes")
        .data("N", int())
        .data("J", int())
        .data("group", int().of([x("N")]).within(1, "J"))
        .data("x", real().of([x("N")]))
        .data("y", real().of([x("N")]))
        .param("alpha", param().prior(draw("normal", [x(0), x(5)])))
        .param("beta", param().prior(draw("normal", [x(0), x(2)])))
        .param("tau", param().of([x(2)]).prior(draw("half_normal", [x(1)])))
        .param("L", param().of([x(2), x(2)]).constrained(Constraint::CorrCholesky).prior(draw("lkj_cholesky", [x(2)])))
        .param("z", param().of([x("J"), x(2)]).prior(draw("normal", [x(0), x(1)])))
        .param("sigma", param().prior(draw("half_normal", [x(2)])))
        .define("u", x("z").matmul(call("transpose", [x("L")])))
        .observe("y", draw("normal", [x("alpha") + part(1) + (x("beta") + part(2)) * x("x"), x("sigma")]))
        .report("correlation", x("L").at([x(2), x(1)]))
}

fn series(name: &str) -> Builder {
    Builder::new(name).data("N", int()).data("y", real().of([x("N")]))
}

fn ar1() -> Builder {
    let before = x("y").until(x("N") - x(1));
    series("ar1")
        .param("alpha", param().prior(draw("normal", [x(0), x(2)])))
        .param("beta", param().prior(draw("uniform", [x(-1), x(1)])))
        .param("sigma", param().prior(draw("half_normal", [x(1)])))
        .observe(x("y").slice(2, "N"), draw("normal", [x("alpha") + x("beta") * before, x("sigma")]))
        .report("level", x("alpha") / (x(1) - x("beta")))
}

fn arma11() -> Builder {
    let before = || x("t") - x(1);
    let error = x("y").at([before()]) - x("nu").at([before()]);
    let mean = x("mu") + x("phi") * x("y").at([before()]);
    series("arma11")
        .param("mu", param().prior(draw("normal", [x(0), x(10)])))
        .param("phi", param().prior(draw("uniform", [x(-1), x(1)])))
        .param("theta", param().prior(draw("uniform", [x(-1), x(1)])))
        .param("sigma", param().prior(draw("half_cauchy", [x(2.5)])))
        .scan("nu", positions("t", 2, "N").from(x("mu") + x("phi") * x("mu")), block(mean + x("theta") * error))
        .observe("y", draw("normal", [x("nu"), x("sigma")]))
}

fn garch11() -> Builder {
    let before = || x("t") - x(1);
    let shock = call("square", [x("y").at([before()]) - x("mu")]);
    series("garch11")
        .data("sigma1", real().above(0))
        .param("mu", param().prior(draw("normal", [x(0), x(5)])))
        .param("alpha0", param().prior(draw("half_normal", [x(2)])))
        .param("alpha1", param().within(0, 1))
        .param("beta1", param().within(0, x(1) - x("alpha1")))
        .scan(
            "variance",
            positions("t", 2, "N").from(call("square", [x("sigma1")])),
            block(x("alpha0") + x("alpha1") * shock + x("beta1") * x("variance").at([before()])),
        )
        .observe("y", draw("normal", [x("mu"), call("sqrt", [x("variance")])]))
}

fn hmm() -> Builder {
    let z = (x("y") - x("mu")) / x("sigma");
    let density = -x(0.5) * call("square", [z]) - call("log", [x("sigma")]);
    let density = density - x(0.5) * call("log", [x(2) * x("pi")]);
    let emission = |t: Ex| call("emission", [x("y").at([t]), x("mu"), x("sigma")]);
    let sticky = x(1) + call("diag", [call("rep", [x(3), x("K")])]);
    let moved = call("log_matmul", [x("forward").at([x("t") - x(1)]), x("moves")]);
    Builder::new("hmm")
        .data("N", int())
        .data("K", int())
        .data("y", real().of([x("N")]))
        .function("emission", ["y", "mu", "sigma"], block(density))
        .param("mu", param().of([x("K")]).constrained(Constraint::Ordered).prior(draw("normal", [x(0), x(5)])))
        .param("sigma", param().prior(draw("half_normal", [x(2)])))
        .param("next", param().of([x("K"), x("K")]).constrained(Constraint::Simplex).prior(draw("dirichlet", [sticky])))
        .define("moves", call("log", [x("next")]))
        .scan(
            "forward",
            positions("t", 2, "N").from(emission(x(1)) - call("log", [x("K")])),
            block(moved + emission(x("t"))),
        )
        .log_density(call("log_sum_exp", [x("forward").at([x("N")])]))
}

fn gp_regression() -> Builder {
    let covariance = call("squared_exponential", [x("x"), x("sd"), x("length")]);
    let noisy = call("add_diag", [covariance, call("square", [x("sigma")])]);
    let half = || x(0.5);
    Builder::new("gp_regression")
        .data("N", int())
        .data("x", real().of([x("N")]))
        .data("y", real().of([x("N")]))
        .param("length", param().prior(draw("inv_gamma", [x(5), x(5)])))
        .param("sd", param().prior(draw("half_normal", [x(2)])))
        .param("sigma", param().prior(draw("half_normal", [x(1)])))
        .define("L", call("cholesky", [noisy]))
        .define("z", call("solve_lower", [x("L"), x("y")]))
        .log_density(
            -half() * call("dot", [x("z"), x("z")])
                - call("sum", [call("log", [call("diagonal", [x("L")])])])
                - half() * x("N") * call("log", [x(2) * x("pi")]),
        )
}

fn gp_poisson() -> Builder {
    let covariance = call("matern52", [x("x"), x("sd"), x("length")]);
    let factor = call("cholesky", [call("add_diag", [covariance, x(1e-8)])]);
    Builder::new("gp_poisson")
        .data("N", int())
        .data("x", real().of([x("N")]))
        .data("k", int().of([x("N")]).at_least(0))
        .param("length", param().prior(draw("gamma", [x(25), x(4)])))
        .param("sd", param().prior(draw("half_normal", [x(2)])))
        .param("z", param().of([x("N")]).prior(draw("normal", [x(0), x(1)])))
        .define("f", factor.matmul(x("z")))
        .observe("k", draw("poisson_log", [x("f")]))
        .report("rate", call("exp", [x("f")]))
}

fn item_response() -> Builder {
    let distance = x("ability").at([x("person")]) - x("difficulty").at([x("item")]);
    Builder::new("item_response")
        .data("N", int())
        .data("P", int())
        .data("I", int())
        .data("person", int().of([x("N")]).within(1, "P"))
        .data("item", int().of([x("N")]).within(1, "I"))
        .data("y", int().of([x("N")]).within(0, 1))
        .param("ability", param().of([x("P")]).prior(draw("normal", [x(0), x(1)])))
        .param("difficulty", param().of([x("I")]).prior(draw("normal", [x(0), x(2)])))
        .param("discrimination", param().of([x("I")]).prior(draw("lognormal", [x(0), x(0.5)])))
        .observe("y", draw("bernoulli_logit", [x("discrimination").at([x("item")]) * distance]))
}

fn stochastic_volatility() -> Builder {
    let scale = call("sqrt", [x(1) - call("square", [x("phi")])]);
    let pull = x("phi") * (x("h").at([x("t") - x(1)]) - x("mu"));
    series("stochastic_volatility")
        .param("mu", param().prior(draw("normal", [x(0), x(5)])))
        .param("phi", param().prior(draw("beta", [x(20), x(1.5)])))
        .param("sigma", param().prior(draw("half_normal", [x(1)])))
        .param("z", param().of([x("N")]).prior(draw("normal", [x(0), x(1)])))
        .scan(
            "h",
            positions("t", 2, "N").from(x("mu") + x("sigma") * x("z").at([x(1)]) / scale),
            block(x("mu") + pull + x("sigma") * x("z").at([x("t")])),
        )
        .observe("y", draw("normal", [x(0), call("exp", [x("h") / x(2)])]))
}

fn negative_binomial() -> Builder {
    Builder::new("negative_binomial")
        .data("N", int())
        .data("P", int())
        .data("X", real().of([x("N"), x("P")]))
        .data("y", int().of([x("N")]).at_least(0))
        .param("alpha", param().prior(draw("normal", [x(0), x(3)])))
        .param("beta", param().of([x("P")]).prior(draw("normal", [x(0), x(1)])))
        .param("phi", param().prior(draw("gamma", [x(2), x(0.5)])))
        .observe("y", draw("neg_binomial_2_log", [x("alpha") + x("X").matmul(x("beta")), x("phi")]))
        .report("overdispersion", call("inv", [x("phi")]))
}

fn horseshoe() -> Builder {
    Builder::new("horseshoe")
        .data("N", int())
        .data("P", int())
        .data("X", real().of([x("N"), x("P")]))
        .data("y", real().of([x("N")]))
        .param("tau", param().prior(draw("half_cauchy", [x(0.1)])))
        .param("lambda", param().of([x("P")]).prior(draw("half_student_t", [x(3), x(1)])))
        .param("z", param().of([x("P")]).prior(draw("normal", [x(0), x(1)])))
        .param("sigma", param().prior(draw("half_normal", [x(2)])))
        .define("beta", x("z") * x("lambda") * x("tau"))
        .observe("y", draw("normal", [x("X").matmul(x("beta")), x("sigma")]))
        .report("coefficient", x("beta"))
}

fn eight_schools(name: &str, noncentered: bool) -> Builder {
    let prior = draw("normal", [x("mu"), x("tau")]);
    let prior = if noncentered { prior.noncentered() } else { prior };
    Builder::new(name)
        .data("J", int())
        .data("y", real().of([x("J")]))
        .data("sigma", real().of([x("J")]).above(0))
        .param("mu", param().prior(draw("normal", [x(0), x(5)])))
        .param("tau", param().above(0).prior(draw("half_cauchy", [x(5)])))
        .param("theta", param().of([x("J")]).prior(prior))
        .observe("y", draw("normal", [x("theta"), x("sigma")]))
}

fn funnel(name: &str, noncentered: bool) -> Builder {
    let prior = draw("normal", [x(0), call("exp", [x("v") / x(2)])]);
    let prior = if noncentered { prior.noncentered() } else { prior };
    Builder::new(name)
        .data("D", int())
        .param("v", param().prior(draw("normal", [x(0), x(3)])))
        .param("x", param().of([x("D")]).prior(prior))
}

fn linear_regression() -> Builder {
    let spread = || call("mean", [call("square", [x("mu") - call("mean", [x("mu")])])]);
    Builder::new("linear_regression")
        .data("N", int())
        .data("x", real().of([x("N")]))
        .data("y", real().of([x("N")]))
        .param("alpha", param().prior(draw("normal", [x(0), x(10)])))
        .param("beta", param().prior(draw("normal", [x(0), x(5)])))
        .param("sigma", param().above(0).prior(draw("half_normal", [x(5)])))
        .define("mu", x("alpha") + x("beta") * x("x"))
        .observe("y", draw("normal", [x("mu"), x("sigma")]))
        .report("explained", spread() / (spread() + call("square", [x("sigma")])))
}

/// The bundled model files.
fn files() -> Vec<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("models");
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .expect("models/")
        .map(|e| e.expect("an entry").path())
        .filter(|p| p.extension().is_some_and(|e| e == "msrm"))
        .collect();
    files.sort();
    files
}

#[test]
fn every_bundled_model_has_an_equal_twin_in_rust() {
    let mut without_file: BTreeSet<String> = BTreeSet::new();
    let mut twins: Vec<_> = twins().into_iter().map(|b| b.build().expect("a correct model")).collect();
    without_file.extend(twins.iter().map(|t| t.model.name.clone()));
    for path in files() {
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let source = Source::new(path.display().to_string(), fs::read_to_string(&path).expect("a text file"));
        let from_text = check_text(&source).expect("a correct model");
        assert_eq!(from_text.name, name, "the name in {}", path.display());
        let Some(at) = twins.iter().position(|t| t.model.name == name) else {
            panic!("models/{name}.msrm has no twin in tests/builder.rs");
        };
        let twin = twins.remove(at);
        assert_eq!(twin.model, from_text, "{name}");
        // The canonical text of the twin is a model file that says the same.
        assert_eq!(check_text(&twin.source).expect("a correct model"), from_text, "{name}");
        without_file.remove(&name);
    }
    assert!(without_file.is_empty(), "no file in models/ for {without_file:?}");
}

/// What no bundled model uses.
#[test]
fn arrays_axes_and_comparisons_are_written_as_in_a_text() {
    let built = Builder::new("m")
        .data("N", int())
        .data("X", real().of([x("N"), x(2)]))
        .param("a", param().prior(draw("normal", [x(0), x(1)])))
        .define("both", array([x("a"), x(2)]))
        .define("rows", x("X").along("mean", 2))
        .define("chosen", call("where", [x("rows").greater(0), x("a"), call("log", [x(3)])]))
        .define("same", call("where", [x("rows").equals(1), x("chosen"), x("rows").starting(1)]))
        .observe("rows", draw("normal", [x("same"), call("exp", [x("both").at([x(1)])])]))
        .build()
        .expect("a correct model");
    let text = "model m\ndata N : int\ndata X : real[N, 2]\nparam a ~ normal(0, 1)\nlet both = [a, 2]\n\
                let rows = mean(X, axis = 2)\nlet chosen = where(rows > 0, a, log(3))\n\
                let same = where(rows == 1, chosen, rows[1:])\nobserve rows ~ normal(same, exp(both[1]))";
    assert_eq!(built.model, check_text(&Source::new("m", text)).expect("a correct model"));
}

#[test]
fn different_models_are_told_apart() {
    // What a comparison that ignores too much would miss: a number, a name, a flag, an order, a bound, a size.
    let base = || Builder::new("m").data("N", int());
    let normal = |a: i32, b: i32| draw("normal", [x(a), x(b)]);
    let models = [
        base().param("a", param().prior(normal(0, 1))),
        base().param("a", param().prior(normal(0, 2))),
        base().param("b", param().prior(normal(0, 1))),
        base().param("a", param().above(0).prior(normal(0, 1))),
        base().param("a", param().of([x("N")]).prior(normal(0, 1))),
        base().param("a", param().of([x(3)]).prior(normal(0, 1))),
        base().param("a", param().of([x(3)]).prior(normal(0, 1).noncentered())),
        base().param("a", param().prior(normal(0, 1).truncated(-1, 1))),
        base().param("a", param().prior(normal(0, 1))).param("b", param().prior(normal(0, 1))),
        base().param("b", param().prior(normal(0, 1))).param("a", param().prior(normal(0, 1))),
        base().param("a", param().prior(normal(0, 1))).report("c", x("a") - x(1)),
        base().param("a", param().prior(normal(0, 1))).report("c", x(1) - x("a")),
        base().data("y", real()).param("a", param().prior(normal(0, 1))),
        base().data("y", int()).param("a", param().prior(normal(0, 1))),
        base().data("y", int().above(0)).param("a", param().prior(normal(0, 1))),
        base().data("y", int().at_least(0)).param("a", param().prior(normal(0, 1))),
    ];
    let built: Vec<_> = models.into_iter().map(|m| m.build().expect("a correct model").model).collect();
    for (i, a) in built.iter().enumerate() {
        for (j, b) in built.iter().enumerate() {
            assert_eq!(a == b, i == j, "models {i} and {j}\n{a:#?}\n{b:#?}");
        }
    }
}

#[test]
fn errors_show_the_canonical_text_and_the_place() {
    let wrong = Builder::new("wrong")
        .data("y", real())
        .param("mu", param().prior(draw("norml", [x(0), x(1)])))
        .observe("y", draw("normal", [x("mu"), x("sigma")]));
    let text = wrong.text();
    assert_eq!(text, "model wrong\ndata y : real\nparam mu ~ norml(0, 1)\nobserve y ~ normal(mu, sigma)\n");
    let error = wrong.build().expect_err("two mistakes");
    assert_eq!(error.diagnostics.len(), 2);
    assert_eq!(error.text.text, text);
    let message = error.to_string();
    for part in [
        "there is no distribution `norml`",
        "--> wrong.msrm:3:12",
        "3 | param mu ~ norml(0, 1)",
        "  |            ^^^^^",
        "did you mean `normal`?",
        "`sigma` is not declared",
        "--> wrong.msrm:4:24",
        "  |                        ^^^^^",
    ] {
        assert!(message.contains(part), "the message lacks `{part}`\n{message}");
    }
    // The same text in a file gives the same message.
    let diagnostics = check_text(&Source::new("wrong.msrm", text)).expect_err("two mistakes");
    assert_eq!(message, msrm::base::render(&error.text, &diagnostics));
}

#[test]
fn reports_that_are_drawn_are_those_of_the_text() {
    let built = Builder::new("drawn")
        .data("N", int())
        .param("a", param().prior(draw("normal", [x(0), x(1)])))
        .report_draw("y", int().of([x("N")]), draw("normal", [x("a"), x(1)]).truncated(0, x("N")))
        .report("most", call("max", [x("y")]));
    let text = "model drawn\ndata N : int\nparam a ~ normal(0, 1)\nreport y[N] ~ normal(a, 1) in [0, N]\n\
                report most = max(y)\n";
    assert_eq!(built.text(), text);
    let model = check_text(&Source::new("drawn.msrm", text)).expect("a correct model");
    assert_eq!(built.build().expect("a correct model").model, model);
}
