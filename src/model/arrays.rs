//! What a checked expression can do with whole arrays: the operations, comparisons, covariance functions and recursions.

use super::dim::Dim;
use super::types::{Reduction, Typed};
use crate::math::kernel::Family;
use serde::{Deserialize, Serialize};

/// A function of whole arrays. Arrays are row-major; vectors have one axis, matrices two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ArrayOp {
    /// `[a, b, c]`: equal shapes side by side along a new first axis.
    Stack,
    /// Along the first axis; a scalar counts as a vector of one.
    Append,
    /// `where(condition, a, b)`, element by element; scalars broadcast.
    Where,
    /// A matrix to a vector: axis 1 reduces over the rows, axis 2 over the columns.
    Along(Reduction, usize),
    CumulativeSum,
    CumulativeProduct,
    /// Over a vector, or over each row of a matrix.
    Softmax,
    LogSoftmax,
    /// `[N]` and `[M]` to `[N, M]`.
    Outer,
    /// A vector to the diagonal of a square matrix.
    Diag,
    /// The diagonal of a square matrix.
    Diagonal,
    /// A vector from its end to its beginning.
    Reverse,
    /// A scalar, over and over.
    Repeat,
    /// Whole numbers from the first to the last.
    Range,
    /// Evenly spaced numbers.
    Linspace,
    /// log(exp(a) @ exp(b)) of a vector and a matrix, or of two matrices, without overflow.
    LogMatMul,
    /// The lower triangular factor of a positive definite matrix, of which the lower triangle is read.
    Cholesky,
    /// The solution X of L X = B, of a lower triangular L, for a vector or the columns of a matrix.
    SolveLower,
    /// The solution X of L' X = B.
    SolveLowerTransposed,
    /// Covariances among points, or between two sets of points.
    Covariance(Kernel),
}

/// A covariance function. Points are the elements of a vector or the rows of a matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kernel {
    /// sd^2 exp(-r^2 / (2 length^2))
    SquaredExponential,
    /// sd^2 exp(-r / length)
    Matern12,
    /// sd^2 (1 + a) exp(-a) with a = sqrt(3) r / length
    Matern32,
    /// sd^2 (1 + a + a^2 / 3) exp(-a) with a = sqrt(5) r / length
    Matern52,
    /// sd^2 exp(-2 sin^2(pi r / period) / length^2)
    Periodic,
    /// sd^2 times the inner product
    Linear,
}

impl Kernel {
    /// Number of parameters: standard deviation, length scale, period.
    pub fn parameters(self) -> usize {
        match self {
            Kernel::Linear => 1,
            Kernel::Periodic => 3,
            _ => 2,
        }
    }
}

/// A comparison of two values, element by element.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Comparison {
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Equal,
    NotEqual,
}

impl Comparison {
    /// Whether it holds between `a` and `b`.
    pub fn holds(self, a: f64, b: f64) -> bool {
        match self {
            Comparison::Less => a < b,
            Comparison::LessEqual => a <= b,
            Comparison::Greater => a > b,
            Comparison::GreaterEqual => a >= b,
            Comparison::Equal => a == b,
            Comparison::NotEqual => a != b,
        }
    }
}

/// A state carried along an index: the array of all states, of which the ones before `first` are given.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scan {
    /// What the array of states is called in `step`; only states before the current one may be looked at there.
    pub state: String,
    /// What the current position is called in `step`.
    pub index: String,
    pub first: Dim,
    pub last: Dim,
    /// The states before `first`, one after the other.
    pub start: Option<Typed>,
    /// The state at the current position.
    pub step: Typed,
}

impl Kernel {
    /// Its numerics.
    pub fn family(self) -> Family {
        match self {
            Kernel::SquaredExponential => Family::SquaredExponential,
            Kernel::Matern12 => Family::Matern12,
            Kernel::Matern32 => Family::Matern32,
            Kernel::Matern52 => Family::Matern52,
            Kernel::Periodic => Family::Periodic,
            Kernel::Linear => Family::Linear,
        }
    }
}
