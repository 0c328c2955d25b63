//! Draws parameters from their priors and data from the likelihood: prior predictive data with their truth.
//!
//! Parameters and data are drawn in the order of the model, each from the distribution that the model gives it, so that
//! the pair (truth, data) is a draw from the joint density that a fit conditions on.

use crate::base::{Code, Diagnostic, Source, Span, render};
use crate::bind::evaluate::shape;
use crate::bind::{BindError, Env, EvaluateError, Value, check_data, evaluate};
use crate::data::{Array, Arrays};
use crate::math::dist;
use crate::math::rng::{Purpose, stream};
use crate::model::{Draw, Model, Param, Statement, Typed, TypedKind};
use crate::response::ResponseError;
use rand::Rng;
use std::collections::BTreeSet;

/// Why a model cannot be simulated.
#[derive(Debug, thiserror::Error)]
pub enum SimulateError {
    /// The form of the model does not say how to draw from it.
    #[error("{}", render(text, diagnostics))]
    Form { text: Box<Source>, diagnostics: Vec<Diagnostic> },
    #[error(transparent)]
    Bind(#[from] BindError),
    #[error(transparent)]
    Evaluate(#[from] EvaluateError),
    #[error("`{name}` cannot be drawn from {family}({}); the prior reaches values that the distribution does not take", arguments.iter().map(f64::to_string).collect::<Vec<_>>().join(", "))]
    Value { name: String, family: String, arguments: Vec<f64> },
    #[error("the design of the recording: {0}")]
    Design(String),
    #[error(transparent)]
    Response(#[from] ResponseError),
    #[error(
        "the priors drew data that the model does not allow; narrow the priors, or widen the bounds of the data:\n{reason}"
    )]
    Impossible { reason: String },
}

/// One draw from the joint density of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Simulated {
    /// Parameters in their own units, then `report` values.
    pub truth: Arrays,
    /// What was given, and what was drawn in place of the observations.
    pub data: Arrays,
}

/// A model that can be drawn from, with the data that are not drawn.
#[derive(Debug, Clone)]
pub struct Simulator {
    model: Model,
    source: Source,
    given: Arrays,
    /// What is known before anything is drawn.
    known: Env,
}

impl Simulator {
    /// Joins a model with the data it does not observe: sizes, covariates. Observed arrays in `given` are not used.
    ///
    /// # Errors
    /// Objectives, parameters without a proper prior, observations that are not a whole declared array, and data that
    /// do not fit the declarations.
    pub fn new(model: Model, source: Source, given: Arrays) -> Result<Simulator, SimulateError> {
        let diagnostics = faults(&model);
        if !diagnostics.is_empty() {
            return Err(SimulateError::Form { text: Box::new(source), diagnostics });
        }
        let drawn = drawn_names(&model);
        let mut rest = model.clone();
        rest.data.retain(|d| !drawn.contains(d.name.as_str()));
        let known = check_data(&rest, &given, &mut Vec::new())
            .map_err(|diagnostics| BindError::Mismatch { text: Box::new(source.clone()), diagnostics })?;
        Ok(Simulator { model, source, given, known })
    }

    /// Draw number `index` under `seed`: the same numbers give the same draw.
    ///
    /// # Errors
    /// Draws outside what the next distribution or the declaration of the data allows.
    pub fn draw(&self, seed: u64, index: u64) -> Result<Simulated, SimulateError> {
        let mut rng = stream(seed, index, Purpose::Prediction);
        let mut env = self.known.clone();
        let mut truth = Arrays::default();
        let mut reports = Vec::new();
        for statement in &self.model.statements {
            match statement {
                Statement::Param(param) => {
                    let value = self.parameter(param, &env, &mut rng)?;
                    add(&mut truth, &param.name, &value, false);
                    env.insert(param.name.clone(), value);
                }
                Statement::Let { name, value } => {
                    let value = self.value(value, &env)?;
                    env.insert(name.clone(), value);
                }
                Statement::Report { name, value } => reports.push((name, value)),
                Statement::Density { value, draw, .. } => {
                    let TypedKind::Name(name) = &value.kind else { continue };
                    let Some(data) = self.model.data.iter().find(|d| d.name == *name) else { continue };
                    let sizes = shape(&data.shape, &env)?;
                    let value = self.elements(name, draw, sizes, None, &env, &mut rng)?;
                    env.insert(name.clone(), value);
                }
                _ => {}
            }
        }
        for (name, value) in reports {
            let value = self.value(value, &env)?;
            add(&mut truth, name, &value, false);
            env.insert(name.clone(), value);
        }
        let mut data = Arrays::default();
        for declared in &self.model.data {
            match (env.get(&declared.name), self.given.get(&declared.name)) {
                (Some(value), _) if drawn_names(&self.model).contains(declared.name.as_str()) => {
                    add(&mut data, &declared.name, value, declared.integer);
                }
                (_, Some(array)) => drop(data.insert(declared.name.clone(), array.clone())),
                _ => {}
            }
        }
        check_data(&self.model, &data, &mut Vec::new())
            .map_err(|d| SimulateError::Impossible { reason: render(&self.source, &d) })?;
        Ok(Simulated { truth, data })
    }

    /// The value of an expression; what is not drawn yet is named at its place.
    pub(super) fn value(&self, expr: &Typed, env: &Env) -> Result<Value, SimulateError> {
        evaluate(expr, env).map_err(|error| match error {
            EvaluateError::Unbound { name, span } => SimulateError::Form {
                text: Box::new(self.source.clone()),
                diagnostics: vec![
                    Diagnostic::error(Code::Statement, span, format!("`{name}` is drawn later than it is used here"))
                        .help("draws follow the order of the lines: a value can depend on lines above it alone"),
                ],
            },
            other => SimulateError::Evaluate(other),
        })
    }

    pub(super) fn parameter(&self, param: &Param, env: &Env, rng: &mut dyn Rng) -> Result<Value, SimulateError> {
        let sizes = shape(&param.shape, env)?;
        if let Some(draw) = &param.noncentered {
            return self.elements(&param.name, draw, sizes, None, env, rng);
        }
        let end = |bound: &Option<Typed>, none: f64| match bound {
            Some(bound) => self.value(bound, env),
            None => Ok(Value::scalar(none)),
        };
        let bounds = (end(&param.lower, f64::NEG_INFINITY)?, end(&param.upper, f64::INFINITY)?);
        match priors(&self.model, &param.name)[..] {
            [draw] => self.elements(&param.name, draw, sizes, Some(bounds), env, rng),
            _ => Ok(Value { shape: sizes, values: Vec::new() }),
        }
    }

    /// One draw per element, inside the truncation and `bounds`.
    fn elements(
        &self,
        name: &str,
        draw: &Draw,
        sizes: Vec<usize>,
        bounds: Option<(Value, Value)>,
        env: &Env,
        rng: &mut dyn Rng,
    ) -> Result<Value, SimulateError> {
        let missing = || EvaluateError::Unbound { name: draw.family.clone(), span: draw.span };
        let distribution = dist::find(&draw.family).ok_or_else(missing)?;
        let arguments = draw.arguments.iter().map(|a| self.value(a, env)).collect::<Result<Vec<_>, _>>()?;
        let everything = || (Value::scalar(f64::NEG_INFINITY), Value::scalar(f64::INFINITY));
        let (lower, upper) = bounds.unwrap_or_else(everything);
        let (least, most) = match &draw.truncation {
            Some((a, b)) => (self.value(a, env)?.values[0], self.value(b, env)?.values[0]),
            None => (f64::NEG_INFINITY, f64::INFINITY),
        };
        let count: usize = sizes.iter().product();
        let mut values = Vec::with_capacity(count);
        for i in 0..count {
            let args: Vec<f64> = arguments.iter().map(|a| a.at(i)).collect();
            let value = distribution.draw_within(rng, lower.at(i).max(least), upper.at(i).min(most), &args);
            if !value.is_finite() {
                return Err(SimulateError::Value { name: name.into(), family: draw.family.clone(), arguments: args });
            }
            values.push(value);
        }
        Ok(Value { shape: sizes, values })
    }
}

/// Adds an array of values; `integer` when they are whole.
pub(super) fn add(arrays: &mut Arrays, name: &str, value: &Value, integer: bool) {
    let array = Array { shape: value.shape.clone(), values: value.values.clone(), integer };
    // Names of a checked model are unique.
    drop(arrays.insert(name.to_string(), array));
}

/// The declared data that are observed as a whole.
fn drawn_names(model: &Model) -> BTreeSet<&str> {
    let name = |statement: &'_ Statement| match statement {
        Statement::Density { value, .. } if value.data_only => match &value.kind {
            TypedKind::Name(name) => model.data.iter().find(|d| d.name == *name).map(|d| d.name.as_str()),
            _ => None,
        },
        _ => None,
    };
    model.statements.iter().filter_map(name).collect()
}

/// The densities of parameter `name` itself.
fn priors<'a>(model: &'a Model, name: &str) -> Vec<&'a Draw> {
    let of = |statement: &'a Statement| match statement {
        Statement::Density { value: Typed { kind: TypedKind::Name(n), .. }, draw, .. } if n == name => Some(draw),
        _ => None,
    };
    model.statements.iter().filter_map(of).collect()
}

/// What keeps a model from being drawn from.
fn faults(model: &Model) -> Vec<Diagnostic> {
    let error = |span: Span, message: String| Diagnostic::error(Code::Statement, span, message);
    let mut found = Vec::new();
    let mut observed: BTreeSet<&str> = BTreeSet::new();
    for statement in &model.statements {
        match statement {
            Statement::Minimize { value } => found.push(
                error(value.span, "an objective says nothing about how data come about".into())
                    .expected("a density: priors and `observe` lines")
                    .help("write the model with `~` and `observe` to simulate it"),
            ),
            Statement::Param(param) if param.constraint.is_some() => found.push(
                error(
                    param.span,
                    format!("the elements of `{}` are tied together, which cannot be drawn yet", param.name),
                )
                .expected("parameters with a prior for each element"),
            ),
            Statement::Density { draw, .. } if dist::find(&draw.family).is_none() => found.push(
                error(draw.span, format!("`{}` cannot be drawn from yet", draw.family))
                    .expected("a distribution of single numbers"),
            ),
            Statement::Density { draw: Draw { censoring: Some(censoring), .. }, .. } => found.push(
                error(censoring.marks.span, "the model does not say how values come to be censored".into())
                    .help("drop `censored ...` to draw the values themselves"),
            ),
            Statement::Param(param) if param.noncentered.is_none() => found.extend(prior_fault(model, param)),
            Statement::Density { value, draw, .. } if value.data_only => {
                let declared = match &value.kind {
                    TypedKind::Name(name) => model.data.iter().find(|d| d.name == *name),
                    _ => None,
                };
                let Some(data) = declared else {
                    found.push(
                        error(value.span, "only a whole array of the data can be drawn".into())
                            .expected("`observe NAME ~ ...` with a name of the data")
                            .help("declare what this expression gives as data of its own"),
                    );
                    continue;
                };
                let whole = dist::find(&draw.family).is_some_and(|d| d.support.is_integer());
                if !observed.insert(&data.name) {
                    found.push(
                        error(value.span, format!("`{}` is observed twice; which of the two draws it?", data.name))
                            .help("drop one of the two lines"),
                    );
                } else if data.integer && !whole {
                    found.push(
                        error(draw.span, format!("`{}` draws real numbers, but `{}` is `int`", draw.family, data.name))
                            .help(format!("declare `data {} : real`", data.name)),
                    );
                }
            }
            Statement::Density { value, .. } => {
                let parameter =
                    |name: &str| model.statements.iter().any(|s| matches!(s, Statement::Param(p) if p.name == name));
                if !matches!(&value.kind, TypedKind::Name(name) if parameter(name)) {
                    found.push(
                        error(value.span, "a density of an expression is no recipe for drawing parameters".into())
                            .expected("a prior of each whole parameter")
                            .help("give the parameters themselves priors, and drop this line"),
                    );
                }
            }
            _ => {}
        }
    }
    for learned in model.shared.iter().flat_map(|s| &s.responses).flat_map(|r| &r.learned) {
        if learned.prior.is_none() {
            found.push(
                error(learned.span, format!("`{}` has a flat prior, which cannot be drawn from", learned.name))
                    .help("give it one, for example `lag ~ normal(2, 1)`"),
            );
        }
    }
    found
}

/// What is wrong with the prior of a centred parameter.
fn prior_fault(model: &Model, param: &Param) -> Option<Diagnostic> {
    let error = |message: String| Diagnostic::error(Code::Statement, param.span, message);
    let draws = priors(model, &param.name);
    let [draw] = draws[..] else {
        return Some(if draws.is_empty() {
            error(format!("`{}` has a flat prior, which cannot be drawn from", param.name))
                .help(format!("give it one, for example `param {} ~ normal(0, 1)`", param.name))
        } else {
            error(format!("`{}` has several densities; their product cannot be drawn from", param.name))
                .help("keep one of them")
        });
    };
    // Bounds that cut a distribution whose arguments are parameters leave a normalising constant in the joint density.
    let fixed = draw.arguments.iter().all(|a| a.data_only) && !param.has_moving_bounds();
    let covered = |bound: &Option<Typed>, end: f64, truncation: Option<&Typed>| match bound {
        None => true,
        Some(bound) => match (&bound.kind, truncation) {
            (_, Some(end)) => bound.kind == end.kind,
            (TypedKind::Number(value), None) => *value == end,
            _ => false,
        },
    };
    let distribution = dist::find(&draw.family)?;
    let (lo, hi) = if distribution.support.depends_on_arguments() {
        (f64::NAN, f64::NAN)
    } else {
        distribution.support.bounds(&vec![1.0; distribution.arguments.len()])
    };
    let cut = !covered(&param.lower, lo, draw.truncation.as_ref().map(|t| &t.0))
        || !covered(&param.upper, hi, draw.truncation.as_ref().map(|t| &t.1));
    (cut && !fixed).then(|| {
        error(format!("the bounds of `{}` cut a prior, and by how much depends on parameters", param.name))
            .expected("a prior that is renormalised to the bounds")
            .help("truncate it, as in `~ normal(0, tau) in [0, inf]`, in place of the bounds")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::parse_arrays;
    use crate::model::check_text;
    use std::path::Path;

    fn simulator(model: &str, data: &str) -> Result<Simulator, SimulateError> {
        let source = Source::new("m.msrm", format!("model m\n{model}\n"));
        let checked = check_text(&source).unwrap_or_else(|e| panic!("{}", render(&source, &e)));
        let arrays = parse_arrays(Path::new("d.json"), data.as_bytes()).expect("arrays");
        Simulator::new(checked, source, arrays)
    }

    #[test]
    fn draws_have_the_moments_of_the_joint_density() {
        // theta is normal with sd sqrt(2^2 + 1), y adds 0.5^2; sd is a half normal cut to [1, 3].
        let model = "data N : int\ndata y : real[N]\ndata n : int\nparam mu ~ normal(1, 2)\n\
                     param theta[N] ~ normal(mu, 1) noncentered\nparam s in [1, 3] ~ half_normal(2)\n\
                     observe y ~ normal(theta, 0.5)\nobserve n ~ poisson_log(0.1 * mu)\nreport twice = 2 * mu";
        let simulator = simulator(model, r#"{"N": 2, "y": [9, 9], "n": 5}"#).expect("a simulator");
        let (mut moments, draws) = ([0.0; 6], 20_000);
        for index in 0..draws {
            let Simulated { truth, data } = simulator.draw(7, index).expect("a draw");
            let get = |arrays: &Arrays, name: &str| arrays.get(name).expect(name).values.clone();
            let (theta, y, s) = (get(&truth, "theta")[1], get(&data, "y")[1], get(&truth, "s")[0]);
            assert!((1.0..=3.0).contains(&s));
            assert_eq!(get(&truth, "twice")[0], 2.0 * get(&truth, "mu")[0]);
            assert!(data.get("n").expect("n").integer && !data.get("y").expect("y").integer);
            let facts = [theta, (theta - 1.0).powi(2), y, (y - 1.0).powi(2), s, get(&data, "n")[0]];
            moments.iter_mut().zip(facts).for_each(|(m, f)| *m += f / draws as f64);
        }
        // E s = 2 (phi(1/2) - phi(3/2)) / (Phi(3/2) - Phi(1/2)); E n = exp(0.1 + 0.02).
        let s = 2.0 * (0.352_065_326_764_3 - 0.129_517_595_665_892) / (0.933_192_798_731_142 - 0.691_462_461_274_013);
        for (found, (wanted, sd)) in
            moments.iter().zip([(1.0, 2.24), (5.0, 7.1), (1.0, 2.3), (5.25, 7.5), (s, 0.6), (0.12_f64.exp(), 1.1)])
        {
            assert!((found - wanted).abs() < 4.5 * sd / (draws as f64).sqrt(), "{found} {wanted}");
        }
        assert_eq!(simulator.draw(7, 3).expect("a draw"), simulator.draw(7, 3).expect("a draw"));
        assert_ne!(simulator.draw(7, 3).expect("a draw"), simulator.draw(8, 3).expect("a draw"));
    }

    #[test]
    fn what_is_no_recipe_for_drawing_is_refused_at_its_place() {
        for (model, part) in [
            ("param a", "`a` has a flat prior"),
            ("param a ~ normal(0, 1)\na ~ normal(1, 1)", "`a` has several densities"),
            ("param a[2] ~ normal(0, 1)\nsum(a) ~ normal(0, 1)", "a density of an expression"),
            ("data y : real\nparam a ~ normal(0, 1)\nobserve y + 1 ~ normal(a, 1)", "only a whole array"),
            (
                "data y : real\nparam a ~ normal(0, 1)\nobserve y ~ normal(a, 1)\nobserve y ~ cauchy(a, 1)",
                "observed twice",
            ),
            ("data y : int\nparam a ~ normal(0, 1)\nobserve y ~ normal(a, 1)", "draws real numbers"),
            ("param t ~ half_normal(1)\nparam a > 0 ~ normal(0, t)", "the bounds of `a` cut a prior"),
            ("param t ~ normal(0, 1)\nparam a > t ~ normal(0, 1)", "the bounds of `a` cut a prior"),
            ("param p[3] : simplex ~ dirichlet(2)", "are tied together"),
            (
                "data y : real[2]\nparam a ~ normal(0, 1)\nobserve y ~ mixture(0.3, normal(a, 1), normal(0, 1))",
                "cannot be drawn from yet",
            ),
        ] {
            let full = if model == "param a" { "param a\nparam b ~ normal(0, 1)" } else { model };
            let error = simulator(full, r#"{"y": 1}"#).expect_err(model).to_string();
            assert!(error.contains(part) && error.contains("m.msrm:"), "{error}");
        }
        let text = "param a\nminimize square(a)";
        let error = simulator(text, "{}").expect_err(text).to_string();
        assert!(error.contains("an objective says nothing"), "{error}");
        // Truncation to the bounds, and bounds that are the support, are fine.
        for model in ["param t ~ half_normal(1)\nparam a ~ normal(0, t) in [0, inf]", "param t > 0 ~ half_normal(1)"] {
            assert!(simulator(model, "{}").is_ok(), "{model}");
        }
    }

    #[test]
    fn draws_that_the_data_cannot_take_are_named() {
        let model = "data y : real in [0, 1]\nparam a ~ normal(50, 0.1)\nobserve y ~ normal(a, 1)";
        let error = simulator(model, "{}").expect("a simulator").draw(1, 0).expect_err("outside").to_string();
        assert!(error.contains("`y` is outside its bounds"), "{error}");
        let model = "data y : real\nparam a ~ normal(-50, 0.1)\nobserve y ~ normal(0, a)";
        let error = simulator(model, "{}").expect("a simulator").draw(1, 0).expect_err("a scale below 0").to_string();
        assert!(error.contains("`y` cannot be drawn from normal(0, -"), "{error}");
        let model = "data y : real\ndata z : real\nparam a ~ normal(0, 1)\nlet m = a + z\nobserve y ~ normal(m, 1)\n\
                     observe z ~ normal(0, 1)";
        let error = simulator(model, "{}").expect("a simulator").draw(1, 0).expect_err("an order").to_string();
        assert!(error.contains("`z` is drawn later than it is used here") && error.contains("m.msrm:5:13"), "{error}");
    }
}
