//! Every distribution: each argument a constant, data, a scalar and a vector parameter; truncated; non-centred.

use super::Case;
use msrm::math::dist::{Argument, DISTRIBUTIONS, Distribution, Domain, Role, Support};

/// What stands in the place of an argument.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    Constant,
    Data,
    Scalar,
    Vector,
}

use Form::{Constant, Data, Scalar, Vector};

pub(super) fn cases() -> Vec<Case> {
    DISTRIBUTIONS
        .iter()
        .flat_map(|d| {
            let mut cases = plain(d);
            cases.extend(truncated(d));
            cases.extend(noncentered(d));
            cases
        })
        .collect()
}

/// All lists of forms for the arguments of `d`.
fn combinations(d: &Distribution, forms: impl Fn(&Argument) -> Vec<Form>) -> Vec<Vec<Form>> {
    d.arguments.iter().fold(vec![vec![]], |lists, argument| {
        let forms = forms(argument);
        lists
            .iter()
            .flat_map(|list: &Vec<Form>| {
                forms.iter().map(move |&form| list.iter().copied().chain([form]).collect::<Vec<Form>>())
            })
            .collect()
    })
}

/// The declaration that an argument of `d` needs, and how it is written in the call.
fn argument(d: &Distribution, position: usize, form: Form) -> (String, String) {
    let spec = &d.arguments[position];
    let name = if form == Vector { format!("vector{position}") } else { format!("scalar{position}") };
    let ends = d.support.bounding_arguments();
    // Bounds of a parameter, a constant, and data: all leave room for the variable where they are ends of a support.
    let (bounds, constant, data) = match (spec.domain, spec.role) {
        (Domain::NonNegativeInteger, _) => ("", "7", "trials"),
        (Domain::Real, Role::Bound) if ends.1 == Some(position) => (" in [1.5, 4]", "2.25", "between + 3"),
        (Domain::Real, Role::Bound) => (" in [-3, -1]", "-1.5", "between - 3"),
        (Domain::Positive, _) if ends.0 == Some(position) => (" in [0.1, 0.4]", "0.3", "positive / 5"),
        (Domain::Positive, _) => (" > 0", "1.4", "positive"),
        (Domain::Probability | Domain::Proportion, _) => (" in [0, 1]", "0.4", "unit"),
        (Domain::Real, _) => ("", "0.35", "real"),
    };
    match form {
        Scalar => (format!("param {name}{bounds}\n"), name),
        Vector => (format!("param {name}[J]{bounds}\n"), name),
        Constant => (String::new(), constant.into()),
        Data => (String::new(), data.into()),
    }
}

/// Declarations of all arguments, and the call.
fn call(d: &Distribution, forms: &[Form]) -> (String, String) {
    let parts = forms.iter().enumerate().map(|(position, &form)| argument(d, position, form));
    let (declarations, texts): (Vec<String>, Vec<String>) = parts.unzip();
    (declarations.concat(), format!("{}({})", d.name, texts.join(", ")))
}

/// The bounds of a parameter with the support of `d`, and data inside it.
fn variable(d: &Distribution) -> (&'static str, &'static str) {
    match d.support {
        Support::Real => ("", "real"),
        Support::Positive | Support::NonNegative => (" > 0", "positive"),
        Support::UnitInterval => (" in [0, 1]", "unit"),
        Support::BetweenArguments => (" in [-0.9, 1.4]", "between"),
        Support::AboveArgument => (" > 0.42", "positive"),
        Support::Circle => (" in [-3.1, 3.1]", "real"),
        Support::Binary => ("", "binary"),
        Support::Counts => ("", "counts"),
        Support::CountsToArgument => ("", "successes"),
    }
}

/// Whether an end of the support is not a number known from the data, so that no prior can be written with it.
fn moves(d: &Distribution, forms: &[Form]) -> bool {
    let (lower, upper) = d.support.bounding_arguments();
    [lower, upper].into_iter().flatten().any(|i| matches!(forms[i], Scalar | Vector))
}

fn plain(d: &Distribution) -> Vec<Case> {
    let (bounds, data) = variable(d);
    let mut cases = Vec::new();
    let forms = |spec: &Argument, all: &[Form]| -> Vec<Form> {
        let fits = |f: &&Form| spec.domain != Domain::NonNegativeInteger || matches!(f, Constant | Data);
        all.iter().filter(fits).copied().collect()
    };
    let is_active = |forms: &[Form]| forms.iter().any(|f| matches!(f, Scalar | Vector));
    for list in combinations(d, |spec| forms(spec, &[Constant, Data, Scalar, Vector])) {
        let (declarations, call) = call(d, &list);
        if is_active(&list) {
            cases.push(Case::new(format!("{data} ~ {call}"), &format!("{declarations}observe {data} ~ {call}")));
        }
        if !d.support.is_integer() {
            cases.push(Case::new(format!("x[J] ~ {call}"), &format!("{declarations}param x[J]{bounds}\nx ~ {call}")));
        }
    }
    for list in combinations(d, |spec| forms(spec, &[Constant, Scalar])) {
        let (declarations, call) = call(d, &list);
        if is_active(&list) {
            let text = format!("{declarations}observe {data}[2] ~ {call}");
            cases.push(Case::new(format!("{data}[2] ~ {call}"), &text));
        }
        if !d.support.is_integer() {
            cases.push(Case::new(format!("x ~ {call}"), &format!("{declarations}param x{bounds}\nx ~ {call}")));
            // A matrix, and a prior written into the declaration where its support is known from the data.
            if !moves(d, &list) {
                let text = format!("{declarations}param x[K, J] ~ {call}\nreport total = sum(x)");
                cases.push(Case::new(format!("param x[K, J] ~ {call}"), &text));
            }
        }
    }
    cases
}

/// Ends of truncations: two-sided, one-sided, and so narrow that the mass is integrated.
fn intervals(d: &Distribution) -> Vec<(&'static str, &'static str)> {
    match d.support {
        Support::Real => vec![("-1", "2"), ("0.5", "inf"), ("-inf", "0.3"), ("0.4", "0.45"), ("low", "high")],
        Support::Positive => vec![("0.5", "2.5"), ("0.5", "inf"), ("0", "2"), ("0.4", "0.45")],
        Support::NonNegative => vec![("0.5", "2.5"), ("0.5", "inf"), ("0", "2"), ("0.4", "0.45"), ("-1", "1")],
        Support::UnitInterval => vec![("0.2", "0.7"), ("0", "0.6"), ("0.3", "1"), ("0.4", "0.42")],
        Support::BetweenArguments => vec![("-0.5", "1.2"), ("-5", "0.3"), ("0.4", "0.41")],
        Support::AboveArgument => vec![("0.5", "2.5"), ("0.5", "inf"), ("0.05", "2"), ("0.6", "0.65")],
        Support::Circle => vec![("-1", "2"), ("-3", "0.3"), ("0.4", "0.45"), ("-4", "1")],
        Support::Counts | Support::Binary | Support::CountsToArgument => vec![],
    }
}

fn truncated(d: &Distribution) -> Vec<Case> {
    let mut cases = Vec::new();
    for (lo, hi) in intervals(d) {
        let forms =
            |spec: &Argument| if spec.mass_gradient { vec![Constant, Scalar, Vector] } else { vec![Constant, Data] };
        // What the support allows of the interval.
        let x_lo = match (d.support, lo) {
            (Support::NonNegative, "-1") => "0",
            (Support::BetweenArguments, "-5") => "-0.9",
            (Support::AboveArgument, "0.05") => "0.42",
            (Support::Circle, "-4") => "-3.1",
            _ => lo,
        };
        let bounds = match (x_lo, hi) {
            (lo, "inf") => format!("> {lo}"),
            ("-inf", hi) => format!("< {hi}"),
            (lo, hi) => format!("in [{lo}, {hi}]"),
        };
        for list in combinations(d, forms) {
            let (declarations, call) = call(d, &list);
            let call = format!("{call} in [{lo}, {hi}]");
            let text = format!("{declarations}param x[J] {bounds}\nx ~ {call}");
            cases.push(Case::new(format!("x[J] ~ {call}"), &text));
            if !list.contains(&Vector) && !list.contains(&Data) && x_lo == lo && !moves(d, &list) {
                let text = format!("{declarations}param x ~ {call}\nreport twice = 2 * x");
                cases.push(Case::new(format!("param x ~ {call}"), &text));
            }
        }
    }
    // Observed data, truncated where they cannot lie outside.
    let (lo, hi) = match d.support {
        Support::Counts | Support::Binary | Support::CountsToArgument => return cases,
        Support::UnitInterval => ("0.1", "0.9"),
        Support::Real | Support::BetweenArguments | Support::Circle => ("-1.45", "1.3"),
        Support::Positive | Support::NonNegative | Support::AboveArgument => ("0.4", "inf"),
    };
    let forms = |spec: &Argument| if spec.mass_gradient { vec![Scalar, Vector] } else { vec![Data] };
    let (_, data) = variable(d);
    for list in combinations(d, forms) {
        let (declarations, call) = call(d, &list);
        let text = format!("param other ~ normal(0, 1)\n{declarations}observe {data} ~ {call} in [{lo}, {hi}]");
        cases.push(Case::new(format!("{data} ~ {call} in [{lo}, {hi}]"), &text));
    }
    cases
}

fn noncentered(d: &Distribution) -> Vec<Case> {
    if !d.location_scale {
        return Vec::new();
    }
    let after = "observe real ~ normal(x, 0.8)\nreport spread = max(x) - min(x)";
    let mut cases = Vec::new();
    for list in combinations(d, |_| vec![Constant, Data, Scalar, Vector]) {
        let (declarations, call) = call(d, &list);
        let text = format!("{declarations}param x[J] ~ {call} noncentered\n{after}");
        cases.push(Case::new(format!("x[J] ~ {call} noncentered"), &text));
    }
    for list in combinations(d, |_| vec![Constant, Scalar]) {
        let (declarations, call) = call(d, &list);
        let text = format!("{declarations}param x ~ {call} noncentered\nobserve scalar ~ normal(x, 0.8)");
        cases.push(Case::new(format!("x ~ {call} noncentered"), &text));
        let text = format!("{declarations}param x[K, J] ~ {call} noncentered\nobserve matrix ~ normal(x, 0.8)");
        cases.push(Case::new(format!("x[K, J] ~ {call} noncentered"), &text));
    }
    cases
}
