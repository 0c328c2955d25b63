//! Values and gradients of the tape for every operation of the language, against a slow evaluator and its differences.

mod common {
    pub mod arrays;
    pub mod bundled;
    pub mod corpus;
    pub mod plan;
    pub mod points;
}

use common::bundled::plans;
use common::corpus::cases;
use common::points::point;
use msrm::bind::evaluate::log_density;
use msrm::bind::{Env, Form, Plan, Value, evaluate, parameter_values};
use msrm::graph::{Coordinates, LogDensity, Physical, Tape, Unconstrained, lower};
use msrm::math::compound::Compound;
use msrm::math::constraint::Constraint;
use msrm::math::dist::{DISTRIBUTIONS, Role, find};
use msrm::math::vector::VECTOR_DISTRIBUTIONS;
use msrm::model::functions::FUNCTIONS;
use msrm::model::{Draw, Statement};
use rayon::prelude::*;
use std::sync::Arc;

/// Points per model.
const POINTS: u64 = 3;
/// Largest relative difference of two values that should be the same up to rounding.
const ROUNDING: f64 = 1e-12;
/// Largest difference between a derivative and the difference quotient, relative to the sizes of both and of the value.
const DIFFERENCES: f64 = 1e-9;

/// A sum of terms with the sum of their sizes, which limits how well the sum can be known.
#[derive(Default)]
struct Total {
    value: f64,
    size: f64,
}

impl Total {
    fn add(&mut self, term: f64) {
        self.value += term;
        self.size += term.abs();
    }
}

/// The log density (or minus the objective) of a plain plan at physical coordinates, by walking its statements.
fn slow_log_density(plan: &Plan, x: &[f64]) -> Total {
    let env = parameter_values(plan, x).expect("values of all parameters");
    let mut total = Total::default();
    for statement in &plan.model.statements {
        match statement {
            Statement::Density { value, draw, .. } => total.add(log_density(value, draw, &env).expect("a density")),
            Statement::Param(param) => {
                if let Some(draw) = &param.noncentered {
                    let block = plan.block(&param.name).expect("coordinates of a parameter");
                    total.add(standardised(draw, &x[block.offset..block.offset + block.len()], &env));
                }
            }
            Statement::LogDensity { value, .. } => total.add(evaluate(value, &env).expect("a term").values[0]),
            Statement::Minimize { value } => total.add(-evaluate(value, &env).expect("an objective").values[0]),
            Statement::Let { .. } | Statement::Report { .. } | Statement::Generated { .. } => {}
            Statement::WeightPrior { .. } | Statement::SharedObserve => panic!("not a plain model"),
        }
    }
    total
}

/// The log density of non-centred coordinates: location 0, scale 1, other arguments as written.
fn standardised(draw: &Draw, raw: &[f64], env: &Env) -> f64 {
    let distribution = find(&draw.family).expect("a distribution");
    let arguments: Vec<Value> = draw.arguments.iter().map(|a| evaluate(a, env).expect("an argument")).collect();
    let element = |(i, &z): (usize, &f64)| {
        let at = |(value, spec): (&Value, &msrm::math::dist::Argument)| match spec.role {
            Role::Location => 0.0,
            Role::Scale => 1.0,
            _ => value.at(i),
        };
        let args: Vec<f64> = arguments.iter().zip(distribution.arguments).map(at).collect();
        (distribution.log_density)(z, &args)
    };
    raw.iter().enumerate().map(element).sum()
}

/// log |dx/du| of what the program makes of free coordinates, from the values of the parameters.
fn inner_log_jacobian(plan: &Plan, x: &[f64]) -> f64 {
    let env = parameter_values(plan, x).expect("values of all parameters");
    let mut total = 0.0;
    for statement in &plan.model.statements {
        let Statement::Param(param) = statement else { continue };
        let block = plan.block(&param.name).expect("coordinates of a parameter");
        let value = &env[&param.name];
        let k = value.shape.last().copied().unwrap_or(1);
        match block.form {
            Form::Direct | Form::Standardised => {}
            Form::Constrained(constraint) => {
                let size = if constraint.is_matrix() { k * k } else { k };
                total += value.values.chunks_exact(size).map(|piece| of_piece(constraint, k, piece)).sum::<f64>();
            }
            Form::Bounded => {
                let bound = |b: &Option<msrm::model::Typed>| b.as_ref().map(|b| evaluate(b, &env).expect("a bound"));
                let (lower, upper) = (bound(&param.lower), bound(&param.upper));
                for (i, x) in value.values.iter().enumerate() {
                    total += match (&lower, &upper) {
                        (Some(lo), Some(hi)) => {
                            let (lo, hi) = (lo.at(i), hi.at(i));
                            (x - lo).ln() + (hi - x).ln() - (hi - lo).ln()
                        }
                        (Some(lo), None) => (x - lo.at(i)).ln(),
                        (None, Some(hi)) => (hi.at(i) - x).ln(),
                        (None, None) => 0.0,
                    };
                }
            }
        }
    }
    total
}

/// The log Jacobian of one constrained piece in terms of its elements.
fn of_piece(constraint: Constraint, k: usize, x: &[f64]) -> f64 {
    let steps = |first: usize| (first..k).map(|i| (x[i] - if i == 0 { 0.0 } else { x[i - 1] }).ln()).sum();
    match constraint {
        Constraint::Simplex => 0.5 * (k as f64).ln() + x.iter().map(|v| v.ln()).sum::<f64>(),
        Constraint::Ordered => steps(1),
        Constraint::PositiveOrdered => steps(0),
        Constraint::CorrCholesky => {
            // The length that the elements from j on leave of a row.
            let left = |i: usize, j: usize| x[i * k + j..=i * k + i].iter().map(|v| v * v).sum::<f64>().sqrt();
            (0..k)
                .flat_map(|i| (0..i).map(move |j| (i, j)))
                .map(|(i, j)| 2.0 * left(i, j + 1).ln() - left(i, j).ln())
                .sum()
        }
    }
}

/// log |dx/du| of all coordinates, from the bounds and the physical values.
fn log_jacobian(plan: &Plan, x: &[f64]) -> f64 {
    let (lower, upper) = plan.bounds();
    let one = |((&x, lo), hi): ((&f64, f64), f64)| match (lo.is_finite(), hi.is_finite()) {
        (false, false) => 0.0,
        (true, false) => (x - lo).ln(),
        (false, true) => (hi - x).ln(),
        (true, true) => (x - lo).ln() + (hi - x).ln() - (hi - lo).ln(),
    };
    x.iter().zip(lower).zip(upper).map(one).sum::<f64>() + inner_log_jacobian(plan, x)
}

/// The derivative of `f` at 0 by a sixth-order central difference, and how far rounding can have moved it.
fn derivative(step: f64, f: impl Fn(f64) -> Total) -> (f64, f64) {
    let mut sum = 0.0;
    let mut size: f64 = 0.0;
    for (weight, at) in [(45.0, 1.0), (-9.0, 2.0), (1.0, 3.0)] {
        let (plus, minus) = (f(at * step), f(-at * step));
        sum += weight * (plus.value - minus.value);
        size = size.max(plus.size).max(minus.size);
    }
    (sum / (60.0 * step), 10.0 * f64::EPSILON * size / step)
}

/// A step that keeps three of them well inside the bounds.
fn step(x: f64, lower: f64, upper: f64) -> f64 {
    let room = (x - lower).min(upper - x);
    (1e-3 * x.abs().max(0.25)).min(0.005 * room)
}

/// Physical coordinate `i` with its unconstrained one moved by `by`.
fn physical_at(coordinates: &Coordinates, u: &[f64], i: usize, by: f64) -> f64 {
    let mut x = vec![0.0; u.len()];
    coordinates.to_physical(&shifted(u, i, by), &mut x);
    x[i]
}

fn shifted(x: &[f64], i: usize, by: f64) -> Vec<f64> {
    let mut moved = x.to_vec();
    moved[i] += by;
    moved
}

/// What is wrong with the tape of `plan`, if anything.
fn faults(name: &str, plan: &Plan) -> Vec<String> {
    let mut faults = Vec::new();
    let program = Arc::new(lower(plan).expect("a program"));
    let coordinates = Coordinates::new(plan);
    let (lower, upper) = plan.bounds();
    let physical = Physical { program: Arc::clone(&program) };
    let sampled = Physical { program: Arc::new(program.with_jacobian()) };
    let unconstrained = Unconstrained { physical: sampled, coordinates };
    let coordinates = &unconstrained.coordinates;
    for index in 0..POINTS {
        let (u, x) = point(coordinates, index);
        let mut fault = |text: String| faults.push(format!("{name}, point {index}: {text}"));
        let mut gradient = vec![f64::NAN; x.len()];
        let value = match physical.evaluator().log_density_gradient(&x, &mut gradient) {
            Ok(value) => value,
            Err(rejection) => {
                fault(format!("{rejection}"));
                continue;
            }
        };
        let slow = slow_log_density(plan, &x);
        if (value - slow.value).abs() > ROUNDING * slow.size.max(1.0) {
            fault(format!("value {value}, slowly {}", slow.value));
        }
        for i in 0..x.len() {
            let h = step(x[i], lower[i], upper[i]);
            let (want, rounding) = derivative(h, |by| slow_log_density(plan, &shifted(&x, i, by)));
            if (gradient[i] - want).abs() > DIFFERENCES * (1.0 + want.abs()) + rounding {
                fault(format!("physical derivative {i} is {}, by differences {want}", gradient[i]));
            }
        }
        let value = unconstrained.evaluator().log_density_gradient(&u, &mut gradient).expect("a value");
        let with_jacobian = slow.value + log_jacobian(plan, &x);
        if (value - with_jacobian).abs() > 1e-11 * slow.size.max(1.0) {
            fault(format!("unconstrained value {value}, slowly {with_jacobian}"));
        }
        for i in 0..u.len() {
            let at = |by: f64| {
                let mut x = x.clone();
                coordinates.to_physical(&shifted(&u, i, by), &mut x);
                let mut total = slow_log_density(plan, &x);
                total.add(log_jacobian(plan, &x));
                total
            };
            // As far as the physical coordinate may go.
            let along = |by: f64| physical_at(coordinates, &u, i, by);
            let speed = (along(1e-6) - along(-1e-6)).abs() / 2e-6;
            let (want, rounding) = derivative((step(x[i], lower[i], upper[i]) / speed).min(2e-3), at);
            // A bounded value near 1000 knows its distance to the bound only to 1e-13.
            if (gradient[i] - want).abs() > 10.0 * DIFFERENCES * (1.0 + want.abs()) + rounding {
                fault(format!("unconstrained derivative {i} is {}, by differences {want}", gradient[i]));
            }
        }
        compare_outputs(plan, &program, &x, &mut fault);
    }
    faults
}

/// Parameters in their own units and reports, against the slow evaluator.
fn compare_outputs(plan: &Plan, program: &Arc<msrm::graph::Program>, x: &[f64], fault: &mut impl FnMut(String)) {
    let mut env = parameter_values(plan, x).expect("values of all parameters");
    for statement in &plan.model.statements {
        if let Statement::Report { name, value } = statement {
            let value = evaluate(value, &env).expect("a report");
            env.insert(name.clone(), value);
        }
    }
    let mut outputs = Vec::new();
    Tape::new(Arc::clone(program)).outputs(x, &mut outputs).expect("outputs");
    let mut rest = outputs.as_slice();
    for output in &program.outputs {
        let want = &env[&output.name];
        let (found, tail) = rest.split_at(output.labels.len());
        rest = tail;
        let close = |(a, b): (&f64, &f64)| (a - b).abs() <= ROUNDING * b.abs().max(1.0);
        if want.shape != output.shape || want.values.len() != found.len() || !found.iter().zip(&want.values).all(close)
        {
            fault(format!("`{}` is {found:?} of shape {:?}, slowly {want:?}", output.name, output.shape));
        }
    }
    assert!(rest.is_empty(), "outputs without a name");
}

fn report(faults: &[String]) {
    let shown: Vec<&str> = faults.iter().take(20).map(String::as_str).collect();
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), shown.join("\n"));
}

#[test]
fn every_operation_has_the_value_and_gradient_of_the_slow_evaluator() {
    let cases = cases();
    assert!(cases.len() > 1000, "{} cases", cases.len());
    let all: Vec<String> = cases.par_iter().flat_map(|case| faults(&case.name, &case.plan())).collect();
    report(&all);
}

#[test]
fn plain_model_files_have_the_value_and_gradient_of_the_slow_evaluator() {
    let plain: Vec<(String, Plan)> = plans().into_iter().filter(|(_, plan)| plan.shared.is_none()).collect();
    assert!(plain.len() >= 19, "{} plain model files", plain.len());
    let all: Vec<String> = plain.iter().flat_map(|(name, plan)| faults(name, plan)).collect();
    report(&all);
}

/// Recordings have no slow evaluator here (their rooms hold it); along random directions the gradient is the slope.
#[test]
fn shared_response_models_slope_as_their_gradient_says() {
    for (name, plan) in plans().into_iter().filter(|(_, plan)| plan.shared.is_some()) {
        let coordinates = Coordinates::new(&plan);
        let program = Arc::new(lower(&plan).expect("a program"));
        let density = Unconstrained { physical: Physical { program }, coordinates };
        let mut evaluator = density.evaluator();
        let mut gradient = vec![0.0; density.dim()];
        for index in 0..4 {
            let (u, _) = point(&density.coordinates, index);
            let (direction, _) = point(&density.coordinates, 100 + index);
            evaluator.log_density_gradient(&u, &mut gradient).expect("a value");
            let slope: f64 = gradient.iter().zip(&direction).map(|(g, d)| g * d).sum();
            let size: f64 = gradient.iter().zip(&direction).map(|(g, d)| (g * d).abs()).sum();
            let along = std::cell::RefCell::new(density.evaluator());
            let (want, rounding) = derivative(1e-3, |by| {
                let moved: Vec<f64> = u.iter().zip(&direction).map(|(u, d)| u + by * d).collect();
                let value = along.borrow_mut().log_density_gradient(&moved, &mut vec![0.0; u.len()]).expect("a value");
                Total { value, size: 10.0 * value.abs() }
            });
            assert!(
                (slope - want).abs() <= 1e-8 * size + rounding,
                "{name}, point {index}: {slope}, by differences {want}"
            );
        }
    }
}

/// With zeros among its factors a product has no logarithm, but it has derivatives.
#[test]
fn a_product_with_zeros_has_the_derivatives_of_a_product() {
    let text = "model product\ndata J : int\nparam x[J]\nprod(x) ~ normal(2, 0.5)";
    let plan = common::plan::plan(text, common::arrays::arrays("{\"J\": 4}"));
    let mut tape = Tape::new(Arc::new(lower(&plan).expect("a program")));
    let mut gradient = vec![0.0; 4];
    for (x, want) in [
        // d log N(p | 2, 1/2) / dp = 4 (2 - p), times the product of the other factors.
        ([2.0, 0.0, -3.0, 0.5], [0.0, 8.0 * -3.0, 0.0, 0.0]),
        ([2.0, 0.0, 0.0, 0.5], [0.0; 4]),
        ([2.0, 1.0, -1.0, 0.5], [12.0 * -0.5, -12.0, 12.0, 12.0 * -2.0]),
    ] {
        tape.value_gradient(&x, &mut gradient).expect("a value");
        assert_eq!(gradient, want, "at {x:?}");
    }
}

/// Outside the support the density is zero, not an error, and there is no slope to follow.
#[test]
fn outside_the_support_the_log_density_is_minus_infinity() {
    let text = "model outside\ndata y : real\nparam x > 0\nparam lo\nobserve y ~ uniform(lo, 3)\nx ~ gamma(2, 1)";
    let plan = common::plan::plan(text, common::arrays::arrays("{\"y\": 1}"));
    let mut tape = Tape::new(Arc::new(lower(&plan).expect("a program")));
    let mut gradient = [f64::NAN; 2];
    let value = tape.value_gradient(&[1.5, 2.0], &mut gradient);
    assert_eq!((value, gradient), (Ok(f64::NEG_INFINITY), [0.0; 2]));
    assert!(
        tape.value_gradient(&[1.5, 3.5], &mut gradient).is_err(),
        "the ends of the interval are in the wrong order"
    );
    assert!(tape.value_gradient(&[f64::NAN, 0.0], &mut gradient).is_err());
}

#[test]
fn the_cases_use_every_function_and_distribution() {
    let cases = cases();
    let vectors = VECTOR_DISTRIBUTIONS.iter().map(|d| d.name).chain(Compound::ALL.map(Compound::name));
    for name in FUNCTIONS.iter().map(|f| f.name).chain(DISTRIBUTIONS.iter().map(|d| d.name)).chain(vectors) {
        assert!(cases.iter().any(|case| case.text.contains(&format!("{name}("))), "no case uses `{name}`");
    }
    let mut names: Vec<&str> = cases.iter().map(|case| case.name.as_str()).collect();
    names.sort_unstable();
    if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        panic!("two cases are called `{}`", twice[0]);
    }
}
