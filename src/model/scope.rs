//! The names of a model: what each stands for, and what is said about one that does not exist.

use super::dim::Dim;
use super::functions;
use super::inline::Function;
use super::scan::Recursion;
use super::types::*;
use crate::base::{Code, Diagnostic, Span, suggest};
use crate::lang::ast::{Expr, ExprKind, Ident, Operator, WeightRole};
use crate::lang::format_expression;
use crate::math::op::{Binary, Unary};
use std::collections::BTreeMap;
use std::rc::Rc;

/// What a name stands for.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Entry {
    /// Data, a parameter or a `let`.
    Value {
        shape: Shape,
        integer: bool,
        data_only: bool,
        role: Role,
    },
    /// The number of factors.
    Factors(usize),
    Recording,
    Latent,
    Weight(WeightRole),
    /// A function of the model.
    Function,
    /// An error about this name stands in the list already; its uses are not reported again.
    Failed,
}

/// Where a value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Data,
    Param,
    Let,
    /// Drawn after the fit, or made of what is.
    Generated,
}

impl Entry {
    /// A value whose shape is known, or else a failed name.
    pub fn value(shape: Option<&[Dim]>, integer: bool, data_only: bool, role: Role) -> Entry {
        match shape {
            Some(shape) => Entry::Value { shape: shape.to_vec(), integer, data_only, role },
            None => Entry::Failed,
        }
    }

    pub fn describe(&self) -> &'static str {
        match self {
            Entry::Value { role: Role::Data, .. } => "data",
            Entry::Value { role: Role::Param, .. } => "a parameter",
            Entry::Value { role: Role::Let, .. } => "a `let` or a `report`",
            Entry::Value { role: Role::Generated, .. } => "a `report` that is drawn",
            Entry::Factors(_) => "the number of factors",
            Entry::Recording => "the recording",
            Entry::Latent => "the latent",
            Entry::Weight(WeightRole::Loading) => "the loading",
            Entry::Weight(WeightRole::Offset) => "the offset",
            Entry::Weight(WeightRole::Noise) => "the noise variance",
            Entry::Function => "a function",
            Entry::Failed => "a name with an error",
        }
    }
}

/// All names declared so far, and the findings.
#[derive(Default)]
pub(super) struct Scope {
    pub entries: BTreeMap<String, (Entry, Span)>,
    /// Where the model declares its names, to tell a wrong order from a wrong name.
    pub anywhere: BTreeMap<String, Span>,
    pub errors: Vec<Diagnostic>,
    /// What the names inside a function or a block stand for.
    pub bound: BTreeMap<String, Typed>,
    pub functions: BTreeMap<String, Rc<Function>>,
    /// The recursion whose step is being typed.
    pub scan: Option<Recursion>,
    /// Functions that the one being typed is inside of.
    pub depth: usize,
    /// Calls of functions written out so far.
    pub inlined: usize,
    /// Named values of blocks so far; their names are told apart by it.
    pub locals: usize,
    /// Inside a `report`, where values that are drawn after the fit may stand.
    pub reporting: bool,
    /// Whether such a value was met since `reporting` was set.
    pub met_generated: bool,
}

/// Constants that need no declaration.
pub(super) const CONSTANTS: [(&str, f64); 2] = [("pi", std::f64::consts::PI), ("inf", f64::INFINITY)];

/// Sizes above this are no sizes but mistakes; products of two of them still fit.
const LARGEST_SIZE: i64 = 1 << 31;

impl Scope {
    /// Records an error; typing goes on with `None`.
    pub fn error<T>(&mut self, error: Diagnostic) -> Option<T> {
        self.errors.push(error);
        None
    }

    /// Lets names of broken statements pass: whatever they are, nothing more is said about them.
    pub fn lose(&mut self, names: &[Ident]) {
        for name in names {
            self.entries.entry(name.name.clone()).or_insert((Entry::Failed, name.span));
        }
    }

    /// Declares `name`, unless it is taken.
    pub fn declare(&mut self, name: &Ident, entry: Entry) {
        // Distributions stand only behind `~`, so their names are free: `beta` is a common coefficient.
        let builtin = functions::find(&name.name).is_some_and(|f| f.reserves_name())
            || CONSTANTS.iter().any(|c| c.0 == name.name);
        let error = if builtin || functions::SHARED_WORDS.contains(&name.name.as_str()) {
            let text = format!("`{}` is already a word of the language", name.name);
            Diagnostic::error(Code::NameTaken, name.span, text).help("choose another name")
        } else {
            match self.entries.get(&name.name) {
                None | Some((Entry::Failed, _)) => {
                    self.entries.insert(name.name.clone(), (entry, name.span));
                    return;
                }
                Some((old, _)) => {
                    let text = format!("`{}` is declared twice; it already is {}", name.name, old.describe());
                    Diagnostic::error(Code::NameTaken, name.span, text)
                        .help("choose another name, or drop one of the two")
                }
            }
        };
        self.errors.push(error);
        self.entries.entry(name.name.clone()).or_insert((Entry::Failed, name.span));
    }

    /// Reports a name that is not declared, once; `declaration` shows how it could be.
    pub fn unknown_name<T>(&mut self, name: &str, span: Span, declaration: &str) -> Option<T> {
        let known = self.entries.iter().filter(|(_, (entry, _))| *entry != Entry::Failed).map(|(n, _)| n.as_str());
        let help = if let Some(place) = self.anywhere.get(name) {
            if place.start > span.start {
                format!("`{name}` is declared further down; move that line above this one")
            } else {
                format!("`{name}` is what this line declares; it cannot depend on itself")
            }
        } else if functions::find(name).is_some() {
            format!("`{name}` is a function: write `{name}(...)`")
        } else if let Some(near) = suggest(name, known) {
            format!("did you mean `{near}`?")
        } else if crate::math::dist::find(name).is_some() {
            format!("`{name}` is a distribution and stands only after `~`")
        } else {
            format!("declare it first, for example {declaration}")
        };
        self.entries.entry(name.to_string()).or_insert((Entry::Failed, span));
        self.error(
            Diagnostic::error(Code::UnknownName, span, format!("`{name}` is not declared"))
                .expected("a name declared above this line")
                .help(help),
        )
    }

    fn no_size<T>(&mut self, expr: &Expr, found: String) -> Option<T> {
        self.error(
            Diagnostic::error(Code::Type, expr.span, "a size must be a whole number known from the data")
                .expected("an `int` of the data, a whole number, or +, -, * of them")
                .found(found)
                .help("declare it like `data N : int`"),
        )
    }

    /// A size from an expression of whole numbers known from the data.
    pub fn dim(&mut self, expr: &Expr) -> Option<Dim> {
        let dim = self.size(expr)?;
        match dim {
            Dim::Size(n) if !(0..=LARGEST_SIZE).contains(&n) => self.error(
                Diagnostic::error(Code::Shape, expr.span, format!("{n} is no size"))
                    .expected(format!("a whole number from 0 to {LARGEST_SIZE}")),
            ),
            _ => Some(dim),
        }
    }

    pub fn size(&mut self, expr: &Expr) -> Option<Dim> {
        match &expr.kind {
            ExprKind::Name(name) if self.bound.contains_key(name) => match dim_of(&self.bound[name]) {
                Some(dim) => Some(dim),
                None => self.no_size(expr, format!("`{name}`")),
            },
            // A float cast saturates, so that a huge number stays too large to be a size.
            ExprKind::Number { value, integer: true } => Some(Dim::Size(*value as i64)),
            ExprKind::Name(name) => match self.entries.get(name) {
                Some((Entry::Value { shape, integer: true, data_only: true, .. }, _)) if shape.is_empty() => {
                    Some(Dim::Name(name.clone()))
                }
                Some((Entry::Factors(k), _)) => i64::try_from(*k).ok().map(Dim::Size),
                Some((Entry::Failed, _)) => None,
                Some((entry, _)) => {
                    let found = match entry {
                        Entry::Value { shape, integer: true, .. } if !shape.is_empty() => {
                            format!("`{name}`, which has the shape {}", describe_shape(shape))
                        }
                        Entry::Value { data_only: true, .. } => format!("`{name}`, which is `real`"),
                        _ => format!("`{name}`, {}", entry.describe()),
                    };
                    self.no_size(expr, found)
                }
                None => self.unknown_name(name, expr.span, &format!("`data {name} : int`")),
            },
            ExprKind::Binary(op @ (Operator::Add | Operator::Sub | Operator::Mul), l, r) => {
                let (l, r) = (self.size(l), self.size(r));
                let (l, r) = (l?, r?);
                Some(match op {
                    Operator::Add => l.plus(&r),
                    Operator::Sub => l.minus(&r),
                    _ => l.times(&r),
                })
            }
            _ => self.no_size(expr, format!("`{}`", format_expression(expr))),
        }
    }
}

/// The size that a checked whole number known from the data stands for.
pub(super) fn dim_of(typed: &Typed) -> Option<Dim> {
    if !typed.integer || !typed.data_only || !typed.shape.is_empty() {
        return None;
    }
    match &typed.kind {
        TypedKind::Number(n) => Some(Dim::Size(*n as i64)),
        TypedKind::Name(name) => Some(Dim::Name(name.clone())),
        TypedKind::Unary(Unary::Neg, inner) => Some(Dim::Size(0).minus(&dim_of(inner)?)),
        TypedKind::Binary(op, l, r) => {
            let (l, r) = (dim_of(l)?, dim_of(r)?);
            match op {
                Binary::Add => Some(l.plus(&r)),
                Binary::Sub => Some(l.minus(&r)),
                Binary::Mul => Some(l.times(&r)),
                _ => None,
            }
        }
        _ => None,
    }
}
