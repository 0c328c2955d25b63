//! The Rust builder: every bundled model, written in Rust, is the model that its text says, and errors read the same.

use msrm::base::Source;
use msrm::lang::ast::WeightRole;
use msrm::model::builder::{Builder, call, draw, int, param, real, x};
use msrm::model::check_text;
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

/// Every bundled model, written in Rust.
fn twins() -> Vec<Builder> {
    vec![
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
        linear_regression(),
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
