//! The reference page of the book is what the tables of functions and distributions say.
//! `MSRM_BLESS=1 cargo test --test book_reference` writes it anew; review the diff.

use msrm::math::compound::Compound;
use msrm::math::dist::{DISTRIBUTIONS, Distribution, Support};
use msrm::math::vector::{Outcome, VECTOR_DISTRIBUTIONS, VectorDistribution};
use msrm::model::functions::{FUNCTIONS, Function, Kind};
use std::fs;
use std::path::PathBuf;

const HEAD: &str = "\
# Reference

Every function and distribution, made from the tables that the program itself reads. [The language](language.md) says
how they are used.

";

fn function(f: &Function) -> String {
    let shape = match f.kind {
        Kind::Elementwise(_) => " Takes any shape, element by element.",
        Kind::Pairwise(_) => " Takes two values of one shape, or a scalar on one side; element by element.",
        Kind::Reduce(_) => {
            " Takes a vector or a matrix and gives one number; with `axis` one number per row or column."
        }
        _ => "",
    };
    let elsewhere: Vec<String> = f.elsewhere.iter().map(|e| format!("`{e}`")).collect();
    let known = if elsewhere.is_empty() { String::new() } else { format!(" Elsewhere: {}.", elsewhere.join(", ")) };
    format!("### {}({})\n\n{}.{shape}{known}\n\n", f.name, f.arguments, capital(f.doc))
}

/// With a capital letter, unless it starts with a name or a formula.
fn capital(text: &str) -> String {
    let word = text.split([' ', '(']).next().unwrap_or_default();
    if FUNCTIONS.iter().any(|f| f.name == word) || text.starts_with("x ") {
        return text.to_string();
    }
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |c| c.to_uppercase().collect::<String>() + letters.as_str())
}

fn distribution(d: &Distribution) -> String {
    let names: Vec<&str> = d.arguments.iter().map(|a| a.name).collect();
    let arguments: Vec<String> =
        d.arguments.iter().map(|a| format!("| `{}` | {} |\n", a.name, a.domain.describe())).collect();
    let support = match d.support {
        Support::Real => "any number".to_string(),
        Support::Positive => "above 0".to_string(),
        Support::NonNegative => "0 and above".to_string(),
        Support::UnitInterval => "between 0 and 1".to_string(),
        Support::BetweenArguments => format!("from `{}` to `{}`", names[0], names[1]),
        Support::AboveArgument => format!("from `{}` on", names[0]),
        Support::Circle => "from -pi to pi".to_string(),
        Support::Counts => "the whole numbers from 0 on".to_string(),
        Support::Binary => "0 and 1".to_string(),
        Support::CountsToArgument => format!("the whole numbers from 0 to `{}`", names[0]),
    };
    let mut notes = Vec::new();
    if d.location_scale {
        notes.push("Can be `noncentered`.".to_string());
    }
    if d.support.is_integer() {
        notes.push("Draws data, not parameters, and cannot be truncated.".to_string());
    } else {
        let fixed: Vec<String> =
            d.arguments.iter().filter(|a| !a.mass_gradient).map(|a| format!("`{}`", a.name)).collect();
        if !fixed.is_empty() {
            notes.push(format!("Truncated, it needs {} known from the data.", fixed.join(" and ")));
        }
    }
    let notes = if notes.is_empty() { String::new() } else { format!("{}\n\n", notes.join(" ")) };
    format!(
        "### {}({})\n\n{}\n\n```text\n{}\n```\n\n| argument | may be |\n|---|---|\n{}\nSupport: {support}.\n\n{notes}",
        d.name,
        names.join(", "),
        d.doc,
        d.formula,
        arguments.concat(),
    )
}

fn entry(call: &str, doc: &str, formula: &str, notes: &str) -> String {
    format!("### {call}\n\n{}\n\n```text\n{formula}\n```\n\n{notes}", capital(doc))
}

fn vector_distribution(d: &VectorDistribution) -> String {
    let names: Vec<&str> = d.arguments.iter().map(|a| a.name).collect();
    let outcome = match d.outcome {
        Outcome::Vector => "A draw is a vector; a matrix holds one draw per row.",
        Outcome::Matrix => "A draw is a square matrix.",
        Outcome::Category => "A draw is a whole number from 1 on; a vector holds one draw per element.",
    };
    entry(&format!("{}({})", d.name, names.join(", ")), d.doc, d.formula, &format!("{outcome}\n\n"))
}

#[test]
fn the_reference_is_made_from_the_tables() {
    let functions: String = FUNCTIONS.iter().map(function).collect();
    let distributions: String = DISTRIBUTIONS.iter().map(distribution).collect();
    let vectors: String = VECTOR_DISTRIBUTIONS.iter().map(vector_distribution).collect();
    let made: String = Compound::ALL.iter().map(|c| entry(c.usage(), c.doc(), c.formula(), "")).collect();
    let wanted = format!(
        "{HEAD}## Functions\n\n{functions}## Distributions\n\n{distributions}## Distributions of vectors\n\n{vectors}\
         ## Distributions made of others\n\n{}\n",
        made.trim_end()
    );
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("book/src/reference.md");
    if std::env::var_os("MSRM_BLESS").is_some() {
        fs::write(&path, &wanted).expect("the page can be written");
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(found == wanted, "book/src/reference.md differs from the tables; MSRM_BLESS=1 writes it anew");
}
