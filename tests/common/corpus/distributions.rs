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

/// The declaration that an argument needs, and how it is written in the call.
fn argument(position: usize, spec: &Argument, form: Form) -> (String, String) {
    let name = if form == Vector { format!("vector{position}") } else { format!("scalar{position}") };
    let last = position > 0;
    let bounds = match (spec.role, spec.domain) {
        (Role::Bound, _) if last => " in [1.5, 4]",
        (Role::Bound, _) => " in [-3, -1]",
        (_, Domain::Positive) => " > 0",
        _ => "",
    };
    match form {
        Scalar => (format!("param {name}{bounds}\n"), name),
        Vector => (format!("param {name}[J]{bounds}\n"), name),
        Constant => {
            let text = match (spec.role, spec.domain) {
                (Role::Bound, _) => {
                    if last {
                        "2.25"
                    } else {
                        "-1.5"
                    }
                }
                (_, Domain::Real) => "0.35",
                (_, Domain::Positive) => "1.4",
                (_, Domain::NonNegativeInteger) => "7",
            };
            (String::new(), text.into())
        }
        Data => {
            let text = match (spec.role, spec.domain) {
                (Role::Bound, _) => {
                    if last {
                        "between + 3"
                    } else {
                        "between - 3"
                    }
                }
                (_, Domain::Real) => "real",
                (_, Domain::Positive) => "positive",
                (_, Domain::NonNegativeInteger) => "trials",
            };
            (String::new(), text.into())
        }
    }
}

/// Declarations of all arguments, and the call.
fn call(d: &Distribution, forms: &[Form]) -> (String, String) {
    let parts = d.arguments.iter().zip(forms).enumerate().map(|(i, (spec, &form))| argument(i, spec, form));
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
        Support::Binary => ("", "binary"),
        Support::Counts => ("", "counts"),
        Support::CountsToArgument => ("", "successes"),
    }
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
            let is_free = d.support == Support::BetweenArguments && is_active(&list);
            if !is_free {
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
        Support::Counts | Support::Binary | Support::CountsToArgument => vec![],
    }
}

fn truncated(d: &Distribution) -> Vec<Case> {
    let mut cases = Vec::new();
    for (lo, hi) in intervals(d) {
        let forms =
            |spec: &Argument| if spec.mass_gradient { vec![Constant, Scalar, Vector] } else { vec![Constant, Data] };
        // What the support allows of the interval.
        let least = if d.support == Support::Real || lo != "-1" { lo } else { "0" };
        let (x_lo, x_hi) =
            if d.support == Support::BetweenArguments && lo == "-5" { ("-0.9", hi) } else { (least, hi) };
        let bounds = match (x_lo, x_hi) {
            (lo, "inf") => format!("> {lo}"),
            ("-inf", hi) => format!("< {hi}"),
            (lo, hi) => format!("in [{lo}, {hi}]"),
        };
        for list in combinations(d, forms) {
            let (declarations, call) = call(d, &list);
            let call = format!("{call} in [{lo}, {hi}]");
            let text = format!("{declarations}param x[J] {bounds}\nx ~ {call}");
            cases.push(Case::new(format!("x[J] ~ {call}"), &text));
            // The ends of a uniform prior are known from the data.
            let movable_end = d.support == Support::BetweenArguments && list.contains(&Scalar);
            if !list.contains(&Vector) && !list.contains(&Data) && x_lo == lo && !movable_end {
                let text = format!("{declarations}param x ~ {call}\nreport twice = 2 * x");
                cases.push(Case::new(format!("param x ~ {call}"), &text));
            }
        }
    }
    // Observed data, truncated where they cannot lie outside.
    if let Some((lo, hi)) = (!d.support.is_integer()).then_some(if d.support == Support::UnitInterval {
        ("0.1", "0.9")
    } else if d.support == Support::Real || d.support == Support::BetweenArguments {
        ("-1.45", "1.3")
    } else {
        ("0.4", "inf")
    }) {
        let forms = |spec: &Argument| if spec.mass_gradient { vec![Scalar, Vector] } else { vec![Data] };
        let (_, data) = variable(d);
        for list in combinations(d, forms) {
            let (declarations, call) = call(d, &list);
            let text = format!("param other ~ normal(0, 1)\n{declarations}observe {data} ~ {call} in [{lo}, {hi}]");
            cases.push(Case::new(format!("{data} ~ {call} in [{lo}, {hi}]"), &text));
        }
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
