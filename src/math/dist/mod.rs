//! The table of distributions: everything msrm knows of a distribution is one entry of it.
//!
//! The language checks calls against it, the tape takes the fused gradients, the graph takes the expansions, and
//! truncation, quantiles and prior draws follow from the two tail probabilities of an entry.

mod bounded;
mod chi_squared;
mod circular;
mod count;
mod double_exponential;
mod expression;
mod extreme;
mod normal;
mod overdispersed;
mod pareto;
mod positive;
mod skew_normal;
mod student;
#[cfg(test)]
mod tests;
mod trials;
mod truncation;

use super::op::{Algebra, Ref};
use rand::Rng;
use std::f64::consts::PI;

/// The largest number of arguments of any distribution.
pub const MAX_ARGUMENTS: usize = 3;

/// The values an argument may take; all of them finite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Domain {
    /// Any number.
    Real,
    /// Above zero.
    Positive,
    /// 0, 1, 2, ...
    NonNegativeInteger,
    /// From 0 to 1, ends included.
    Probability,
    /// Above 0 and below 1.
    Proportion,
}

impl Domain {
    /// Whether `value` may be such an argument.
    pub fn contains(self, value: f64) -> bool {
        value.is_finite()
            && match self {
                Domain::Real => true,
                Domain::Positive => value > 0.0,
                Domain::NonNegativeInteger => value >= 0.0 && value == value.floor(),
                Domain::Probability => (0.0..=1.0).contains(&value),
                Domain::Proportion => value > 0.0 && value < 1.0,
            }
    }

    /// The domain in words, for messages: "a number", ...
    pub fn describe(self) -> &'static str {
        match self {
            Domain::Real => "a finite number",
            Domain::Positive => "a finite number above 0",
            Domain::NonNegativeInteger => "a whole number, 0 or more",
            Domain::Probability => "a probability from 0 to 1",
            Domain::Proportion => "a number above 0 and below 1",
        }
    }
}

/// What an argument does to the distribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Shifts the variable.
    Location,
    /// Multiplies the variable.
    Scale,
    /// Divides the variable.
    Rate,
    /// Changes the form.
    Shape,
    /// An end of the support.
    Bound,
    /// A number of trials; not differentiable.
    Count,
    /// The probability of a success.
    Probability,
    /// The expected value of the variable.
    Mean,
    /// The log odds of a success.
    LogOdds,
    /// The log of an expected count.
    LogRate,
}

/// One argument of a distribution.
#[derive(Debug, Clone, Copy)]
pub struct Argument {
    /// Its name in a call.
    pub name: &'static str,
    /// What it may be.
    pub domain: Domain,
    /// What it does.
    pub role: Role,
    /// Whether the probability of an interval has a derivative in this argument; where it has none the argument of a
    /// truncated distribution must be a constant.
    pub mass_gradient: bool,
}

/// Where the density is positive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Support {
    /// The whole line.
    Real,
    /// x > 0.
    Positive,
    /// x >= 0.
    NonNegative,
    /// 0 < x < 1.
    UnitInterval,
    /// From the first argument to the second, ends included.
    BetweenArguments,
    /// From the first argument on, itself included.
    AboveArgument,
    /// From -pi to pi, ends included.
    Circle,
    /// 0, 1, 2, ... without end.
    Counts,
    /// 0 and 1.
    Binary,
    /// 0, 1, ... up to the first argument.
    CountsToArgument,
}

impl Support {
    /// The ends of the support for the given arguments.
    pub fn bounds(self, args: &[f64]) -> (f64, f64) {
        match self {
            Support::Real => (f64::NEG_INFINITY, f64::INFINITY),
            Support::Positive | Support::NonNegative | Support::Counts => (0.0, f64::INFINITY),
            Support::UnitInterval | Support::Binary => (0.0, 1.0),
            Support::BetweenArguments => (args[0], args[1]),
            Support::AboveArgument => (args[0], f64::INFINITY),
            Support::Circle => (-PI, PI),
            Support::CountsToArgument => (0.0, args[0]),
        }
    }

    /// Which arguments are the lower and the upper end.
    pub fn bounding_arguments(self) -> (Option<usize>, Option<usize>) {
        match self {
            Support::BetweenArguments => (Some(0), Some(1)),
            Support::AboveArgument => (Some(0), None),
            Support::CountsToArgument => (None, Some(0)),
            Support::Real
            | Support::Positive
            | Support::NonNegative
            | Support::UnitInterval
            | Support::Circle
            | Support::Counts
            | Support::Binary => (None, None),
        }
    }

    /// Whether the ends depend on the arguments.
    pub fn depends_on_arguments(self) -> bool {
        self.bounding_arguments() != (None, None)
    }

    /// Whether only whole numbers are in the support.
    pub fn is_integer(self) -> bool {
        matches!(self, Support::Counts | Support::Binary | Support::CountsToArgument)
    }

    /// Whether `x` is in the support for the given arguments.
    pub fn contains(self, x: f64, args: &[f64]) -> bool {
        let (lo, hi) = self.bounds(args);
        match self {
            Support::Positive | Support::UnitInterval | Support::Real => x > lo && x < hi,
            Support::NonNegative | Support::BetweenArguments | Support::AboveArgument | Support::Circle => {
                x >= lo && x <= hi && x.is_finite()
            }
            Support::Counts | Support::Binary | Support::CountsToArgument => {
                x >= lo && x <= hi && x.is_finite() && x == x.floor()
            }
        }
    }
}

/// One distribution. The slices `args` hold the arguments in the order of `arguments`.
///
/// An argument outside its domain makes every value NaN, which the caller rejects.
#[derive(Debug)]
pub struct Distribution {
    /// Its name in the language.
    pub name: &'static str,
    /// What it takes.
    pub arguments: &'static [Argument],
    /// Where its density is positive.
    pub support: Support,
    /// Whether x is `location + scale * standard x` in the arguments of those roles: it may be `noncentered`.
    pub location_scale: bool,
    /// The argument at which the density has a corner, which quadrature must not straddle.
    pub corner: Option<usize>,
    /// One line that says what it is for.
    pub doc: &'static str,
    /// The density in plain ASCII.
    pub formula: &'static str,
    /// The normalised log density; minus infinity outside the support.
    pub log_density: fn(x: f64, args: &[f64]) -> f64,
    /// The log density, and its derivatives in x (`d[0]`) and in argument i (`d[1 + i]`); a whole number has
    /// derivative zero, and so has everything outside the support.
    pub gradient: fn(x: f64, args: &[f64], d: &mut [f64]) -> f64,
    /// The log density inside the support from elementwise operations; the result has the shape of `x` broadcast
    /// with the arguments.
    pub expand: fn(&mut dyn Algebra, x: Ref, args: &[Ref]) -> Ref,
    /// (log P(X <= x), log P(X > x)), each accurate however small.
    pub log_tails: fn(x: f64, args: &[f64]) -> (f64, f64),
    /// How x moves with each argument at a fixed probability P(X <= x) (the implicit reparameterisation gradient of
    /// Figurnov et al. 2018); NaN for an argument without `mass_gradient`.
    pub flow: fn(x: f64, args: &[f64], v: &mut [f64]),
    /// An independent draw; NaN if an argument is outside its domain.
    pub draw: fn(&mut dyn Rng, args: &[f64]) -> f64,
}

impl Distribution {
    /// Whether every argument is in its domain (and the ends of a support are in order).
    pub fn accepts(&self, args: &[f64]) -> bool {
        args.len() == self.arguments.len()
            && self.arguments.iter().zip(args).all(|(a, &v)| a.domain.contains(v))
            && (self.support != Support::BetweenArguments || finite_positive(args[1] - args[0]))
    }

    /// P(X <= x).
    pub fn cdf(&self, x: f64, args: &[f64]) -> f64 {
        (self.log_tails)(x, args).0.exp()
    }

    /// The smallest x with P(X <= x) >= p; NaN unless 0 <= p <= 1.
    pub fn quantile(&self, p: f64, args: &[f64]) -> f64 {
        self.truncated_quantile(p, f64::NEG_INFINITY, f64::INFINITY, args)
    }
}

/// Every distribution, in the order of the documentation.
pub static DISTRIBUTIONS: &[Distribution] = &[
    normal::NORMAL,
    normal::HALF_NORMAL,
    normal::LOGNORMAL,
    skew_normal::SKEW_NORMAL,
    student::STUDENT_T,
    student::HALF_STUDENT_T,
    student::CAUCHY,
    student::HALF_CAUCHY,
    double_exponential::LAPLACE,
    double_exponential::LOGISTIC,
    extreme::GUMBEL,
    extreme::WEIBULL,
    extreme::FRECHET,
    extreme::RAYLEIGH,
    positive::GAMMA,
    positive::INV_GAMMA,
    positive::EXPONENTIAL,
    chi_squared::CHI_SQUARED,
    chi_squared::INV_CHI_SQUARED,
    chi_squared::SCALED_INV_CHI_SQUARED,
    pareto::PARETO,
    bounded::BETA,
    bounded::BETA_PROPORTION,
    bounded::UNIFORM,
    circular::VON_MISES,
    trials::BERNOULLI,
    count::BERNOULLI_LOGIT,
    trials::BINOMIAL,
    count::BINOMIAL_LOGIT,
    trials::BETA_BINOMIAL,
    count::POISSON,
    count::POISSON_LOG,
    overdispersed::NEG_BINOMIAL,
    overdispersed::NEG_BINOMIAL_2,
    overdispersed::NEG_BINOMIAL_2_LOG,
    overdispersed::GEOMETRIC,
];

/// The distribution of that name.
pub fn find(name: &str) -> Option<&'static Distribution> {
    DISTRIBUTIONS.iter().find(|d| d.name == name)
}

/// An argument whose interval probabilities can be differentiated.
const fn smooth(name: &'static str, domain: Domain, role: Role) -> Argument {
    Argument { name, domain, role, mass_gradient: true }
}

/// An argument whose interval probabilities have no closed-form derivative.
const fn rigid(name: &'static str, domain: Domain, role: Role) -> Argument {
    Argument { name, domain, role, mass_gradient: false }
}

/// Whether `v` is a finite number above zero.
#[inline]
fn finite_positive(v: f64) -> bool {
    v > 0.0 && v < f64::INFINITY
}

/// The log density (with its derivatives) where it is not positive: minus infinity, or NaN if the arguments are not
/// `valid` or `x` is NaN.
#[cold]
fn outside(valid: bool, x: f64, d: &mut [f64]) -> f64 {
    let (value, slope) = if valid && !x.is_nan() { (f64::NEG_INFINITY, 0.0) } else { (f64::NAN, f64::NAN) };
    d.fill(slope);
    value
}

/// Two NaN tail probabilities, for arguments that are not valid.
const NO_TAILS: (f64, f64) = (f64::NAN, f64::NAN);
