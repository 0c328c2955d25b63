//! Sizes as whole-number arithmetic over the data, in one normal form: `1 + N` and `N + 1` are the same size.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// A size: a number, an `int` of the data, or whole-number arithmetic over them.
///
/// Sizes made by [`Dim::plus`], [`Dim::minus`] and [`Dim::times`] are in normal form, so that equal polynomials are
/// equal sizes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Dim {
    Size(i64),
    Name(String),
    Add(Box<Dim>, Box<Dim>),
    Sub(Box<Dim>, Box<Dim>),
    Mul(Box<Dim>, Box<Dim>),
}

impl fmt::Display for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Dim::Size(n) => write!(f, "{n}"),
            Dim::Name(name) => write!(f, "{name}"),
            Dim::Add(a, b) => write!(f, "{a} + {b}"),
            Dim::Sub(a, b) => write!(f, "{a} - {b}"),
            Dim::Mul(a, b) => write!(f, "{a} * {b}"),
        }
    }
}

/// Coefficients of products of names; a product is its names in order, and no names are the constant.
type Polynomial = BTreeMap<Vec<String>, i64>;

impl Dim {
    /// `self + other`
    pub fn plus(&self, other: &Dim) -> Dim {
        combine(self, other, 1)
    }

    /// `self - other`
    pub fn minus(&self, other: &Dim) -> Dim {
        combine(self, other, -1)
    }

    /// `self * other`
    pub fn times(&self, other: &Dim) -> Dim {
        rebuild(product(&polynomial(self), &polynomial(other)))
    }

    /// Number of positions from `first` to `last`, both included.
    pub fn between(first: &Dim, last: &Dim) -> Dim {
        last.minus(first).plus(&Dim::Size(1))
    }

    /// The names the size depends on.
    pub fn names(&self) -> Vec<&str> {
        match self {
            Dim::Size(_) => vec![],
            Dim::Name(name) => vec![name],
            Dim::Add(a, b) | Dim::Sub(a, b) | Dim::Mul(a, b) => [a.names(), b.names()].concat(),
        }
    }
}

fn combine(a: &Dim, b: &Dim, sign: i64) -> Dim {
    let mut sum = polynomial(a);
    for (names, coefficient) in polynomial(b) {
        let entry = sum.entry(names).or_insert(0);
        *entry = entry.saturating_add(sign.saturating_mul(coefficient));
    }
    rebuild(sum)
}

fn product(a: &Polynomial, b: &Polynomial) -> Polynomial {
    let mut out = Polynomial::new();
    for (left, x) in a {
        for (right, y) in b {
            let mut names = [left.as_slice(), right.as_slice()].concat();
            names.sort_unstable();
            let entry = out.entry(names).or_insert(0);
            *entry = entry.saturating_add(x.saturating_mul(*y));
        }
    }
    out
}

fn polynomial(dim: &Dim) -> Polynomial {
    match dim {
        Dim::Size(n) => Polynomial::from([(vec![], *n)]),
        Dim::Name(name) => Polynomial::from([(vec![name.clone()], 1)]),
        Dim::Mul(a, b) => product(&polynomial(a), &polynomial(b)),
        Dim::Add(a, b) | Dim::Sub(a, b) => {
            let sign = if matches!(dim, Dim::Add(..)) { 1 } else { -1 };
            let mut sum = polynomial(a);
            for (names, coefficient) in polynomial(b) {
                let entry = sum.entry(names).or_insert(0);
                *entry = entry.saturating_add(sign * coefficient);
            }
            sum
        }
    }
}

/// Products first, by their names, then the constant; what is added before what is taken away.
fn rebuild(polynomial: Polynomial) -> Dim {
    let mut terms: Vec<(Vec<String>, i64)> = polynomial.into_iter().filter(|(_, c)| *c != 0).collect();
    terms.sort_by_key(|(names, c)| (*c < 0, names.is_empty()));
    let mut out: Option<Dim> = None;
    for (names, coefficient) in terms {
        out = Some(match out {
            None => term(&names, coefficient),
            Some(sum) if coefficient < 0 => {
                Dim::Sub(Box::new(sum), Box::new(term(&names, coefficient.saturating_neg())))
            }
            Some(sum) => Dim::Add(Box::new(sum), Box::new(term(&names, coefficient))),
        });
    }
    out.unwrap_or(Dim::Size(0))
}

fn term(names: &[String], coefficient: i64) -> Dim {
    let mut factors = names.iter().map(|n| Dim::Name(n.clone()));
    let first = match factors.next() {
        None => return Dim::Size(coefficient),
        Some(first) if coefficient == 1 => first,
        Some(first) => Dim::Mul(Box::new(Dim::Size(coefficient)), Box::new(first)),
    };
    factors.fold(first, |product, name| Dim::Mul(Box::new(product), Box::new(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(n: &str) -> Dim {
        Dim::Name(n.into())
    }

    #[test]
    fn equal_polynomials_are_equal_sizes() {
        let (n, p, one) = (name("N"), name("P"), Dim::Size(1));
        assert_eq!(n.plus(&one), one.plus(&n));
        assert_eq!(n.plus(&p).times(&n), n.times(&n).plus(&p.times(&n)));
        assert_eq!(n.plus(&one).minus(&one), n);
        assert_eq!(n.minus(&n), Dim::Size(0));
        assert_eq!(Dim::between(&Dim::Size(2), &n), n.minus(&one));
        assert_ne!(n.minus(&one), one.minus(&n));
        assert_ne!(n.times(&p), n.plus(&p));
    }

    #[test]
    fn sizes_read_like_sums() {
        let (n, p) = (name("N"), name("P"));
        assert_eq!(Dim::Size(1).plus(&n).to_string(), "N + 1");
        assert_eq!(Dim::Size(3).minus(&n.times(&p)).to_string(), "3 - N * P");
        assert_eq!(n.times(&Dim::Size(2)).minus(&p).minus(&Dim::Size(1)).to_string(), "2 * N - P - 1");
        assert_eq!(Dim::Size(0).minus(&n).to_string(), "-1 * N");
    }
}
