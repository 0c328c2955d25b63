//! The syntax tree as canonical text: one statement a line, one space around operators.

use super::ast::*;

/// The canonical text of a model; parsing it gives the same tree.
pub fn format(ast: &Ast) -> String {
    let mut out = format!("model {}\n", ast.name.name);
    for item in &ast.items {
        out.push_str(&statement(&item.kind));
        out.push('\n');
    }
    out
}

fn statement(kind: &ItemKind) -> String {
    match kind {
        ItemKind::Data { name, integer, dims, bounds } => {
            let kind = if *integer { "int" } else { "real" };
            format!("data {} : {kind}{}{}", name.name, sizes(dims), limits(bounds.as_ref()))
        }
        ItemKind::Param { name, dims, constraint, bounds, prior } => {
            let constraint = constraint.map(|(c, _)| format!(" : {}", c.name())).unwrap_or_default();
            let (bounds, prior) = (limits(bounds.as_ref()), tilde(prior.as_ref()));
            format!("param {}{}{constraint}{bounds}{prior}", name.name, sizes(dims))
        }
        ItemKind::Let { name, value } => format!("let {} = {}", name.name, format_expression(value)),
        ItemKind::Report { name, value } => format!("report {} = {}", name.name, format_expression(value)),
        ItemKind::Function { name, parameters, body } => {
            format!("function {}({}){}", name.name, list(parameters, |p| p.name.clone()), block(body))
        }
        ItemKind::Scan { name, index, first, last, start, body } => {
            let from = start.as_ref().map(|s| format!(" from {}", operand(s))).unwrap_or_default();
            let (first, last) = (operand(first), operand(last));
            format!("scan {}[{} in {first}:{last}]{from}{}", name.name, index.name, block(body))
        }
        ItemKind::Observe { value, draw } => format!("observe {} ~ {}", operand(value), distribution(draw)),
        ItemKind::Tilde { value, draw } => format!("{} ~ {}", operand(value), distribution(draw)),
        ItemKind::LogDensity { value } => format!("log_density {}", operand(value)),
        ItemKind::Minimize { value } => format!("minimize {}", operand(value)),
        ItemKind::ReportDraw { name, dims, draw } => {
            format!("report {}{} ~ {}", name.name, sizes(dims), distribution(draw))
        }
        ItemKind::Recording { name, standardized } => {
            format!("recording {}{}", name.name, if *standardized { " standardized" } else { "" })
        }
        ItemKind::Factors { name, value } => format!("factors {} = {}", name.name, operand(value)),
        ItemKind::Response { modality, family, arguments, per_participant, weight } => {
            let per = if *per_participant { " per participant" } else { "" };
            let weight = weight.as_ref().map(|w| format!(" weight {}", operand(w))).unwrap_or_default();
            format!("response {} = {}({}){per}{weight}", modality.name, family.name, list(arguments, argument))
        }
        ItemKind::LatentProcess { name, family, arguments } => {
            format!("latent {} ~ {}({})", name.name, family.name, list(arguments, argument))
        }
        ItemKind::LatentGrid { name, step, paths } => {
            format!("latent {} on grid({}){}", name.name, operand(step), paths.suffix())
        }
        ItemKind::Weight { role, name, prior } => {
            format!("{} {}{}", role.keyword(), name.name, tilde(prior.as_ref()))
        }
    }
}

/// ` = value`, or the lines of a block in braces.
fn block(body: &Body) -> String {
    if body.lets.is_empty() {
        return format!(" = {}", format_expression(&body.value));
    }
    let lines = body.lets.iter().map(|(name, value)| format!("    let {} = {}\n", name.name, format_expression(value)));
    format!(" {{\n{}    {}\n}}", lines.collect::<String>(), format_expression(&body.value))
}

fn list<T>(items: &[T], one: impl Fn(&T) -> String) -> String {
    items.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn sizes(dims: &[Expr]) -> String {
    if dims.is_empty() { String::new() } else { format!("[{}]", list(dims, format_expression)) }
}

fn limits(bounds: Option<&Bounds>) -> String {
    let Some(bounds) = bounds else { return String::new() };
    let side =
        |bound: &Bound, sign: &str| format!(" {sign}{} {}", if bound.strict { "" } else { "=" }, operand(&bound.value));
    match (&bounds.lower, &bounds.upper) {
        (Some(lo), Some(hi)) if !lo.strict && !hi.strict => {
            format!(" in [{}, {}]", operand(&lo.value), operand(&hi.value))
        }
        (lo, hi) => {
            lo.as_ref().map(|b| side(b, ">")).unwrap_or_default()
                + &hi.as_ref().map(|b| side(b, "<")).unwrap_or_default()
        }
    }
}

fn tilde(draw: Option<&Draw>) -> String {
    draw.map(|d| format!(" ~ {}", distribution(d))).unwrap_or_default()
}

fn distribution(draw: &Draw) -> String {
    let mut out = format!("{}({})", draw.family.name, list(&draw.arguments, format_expression));
    if let Some((lo, hi)) = &draw.truncation {
        out.push_str(&format!(" in [{}, {}]", operand(lo), operand(hi)));
    }
    if let Some(censoring) = &draw.censoring {
        let Censoring { above, marks } = censoring.as_ref();
        let side = if *above { "above" } else { "below" };
        out.push_str(&format!(" censored {side} where {}", format_expression(marks)));
    }
    if draw.noncentered {
        out.push_str(" noncentered");
    }
    out
}

fn argument(argument: &Argument) -> String {
    let name = argument.name.as_ref().map_or("", |n| n.name.as_str());
    let value = argument.value.as_ref().map(operand).unwrap_or_default();
    let equals = if name.is_empty() || value.is_empty() { "" } else { " = " };
    let (prior, bounds) = (tilde(argument.prior.as_ref()), limits(argument.bounds.as_ref()));
    format!("{name}{equals}{value}{prior}{bounds}")
}

const UNARY_MINUS: u8 = 3;
const ATOM: u8 = 5;

/// The canonical text of an expression.
pub fn format_expression(expr: &Expr) -> String {
    match &expr.kind {
        ExprKind::Number { value, integer } => {
            if *integer {
                format!("{value:.0}")
            } else if value.abs() >= 1e-4 && value.abs() < 1e15 || *value == 0.0 {
                format!("{value:?}")
            } else {
                format!("{value:e}")
            }
        }
        ExprKind::Name(name) => name.clone(),
        ExprKind::Negate(inner) => format!("-{}", wrapped(inner, UNARY_MINUS + 1)),
        ExprKind::Binary(operator, left, right) => {
            let p = operator.precedence();
            let (l, r) = if *operator == Operator::Pow { (p + 1, p) } else { (p, p + 1) };
            // A minus sign may follow `^` directly, as in `x^-2`.
            let right_text = if *operator == Operator::Pow && precedence(right) == UNARY_MINUS {
                format_expression(right)
            } else {
                wrapped(right, r)
            };
            format!("{} {} {right_text}", wrapped(left, l), operator.symbol())
        }
        ExprKind::Call(function, arguments) => format!("{}({})", function.name, list(arguments, format_expression)),
        ExprKind::Index(base, indices) => {
            let one = |i: &Index| match i {
                Index::All(_) => ":".to_string(),
                Index::At(e) => operand(e),
                Index::Range(lower, upper, _) => {
                    let side = |e: &Option<Expr>| e.as_ref().map(operand).unwrap_or_default();
                    format!("{}:{}", side(lower), side(upper))
                }
            };
            format!("{}[{}]", wrapped(base, ATOM), list(indices, one))
        }
        ExprKind::Array(elements) => format!("[{}]", list(elements, format_expression)),
        ExprKind::Named(name, value) => format!("{} = {}", name.name, operand(value)),
    }
}

fn precedence(expr: &Expr) -> u8 {
    match &expr.kind {
        ExprKind::Binary(operator, ..) => operator.precedence(),
        ExprKind::Negate(_) => UNARY_MINUS,
        ExprKind::Number { value, .. } if value.is_sign_negative() => UNARY_MINUS,
        _ => ATOM,
    }
}

/// The text of an expression where a comparison needs brackets.
fn operand(expr: &Expr) -> String {
    wrapped(expr, Operator::Add.precedence())
}

fn wrapped(expr: &Expr, least: u8) -> String {
    let text = format_expression(expr);
    if precedence(expr) < least { format!("({text})") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Source;
    use crate::lang::parse;

    #[test]
    fn canonical_text_parses_to_the_same_tree() {
        let text = "model m\ndata N:int\ndata X:real[N,3]>0\nparam a[3]~normal(0,-(1-2)*3)in[0,1]noncentered\n\
                    let e=X@a^2^-1-(N-(-2)^2)/(3*4)\nreport q = e[1] + X[:, 2][N]\nobserve e~normal(-e^2,1e-9)\n\
                    recording x standardized\nresponse r = gaussian(width = 1.0, lag ~ normal(2,1) in [0,5], s in [1, 2])\n\
                    param th[3]:simplex~dirichlet(1)\nobserve e~weibull(1,2)censored above where lost\nlatent z on grid(0.9)\nlatent g ~ matern32(length_scale = 3)\nnoise v ~ lognormal(-2,0.7)\n";
        let first = parse(&Source::new("m", text)).expect("parses");
        let canonical = format(&first);
        let second = parse(&Source::new("m", canonical.as_str())).expect("canonical text parses");
        assert_eq!(first, second, "{canonical}");
        assert_eq!(format(&second), canonical);
    }
}
