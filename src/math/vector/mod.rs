//! The table of distributions of whole vectors and matrices, and of categories whose probabilities form a vector.
//!
//! One entry says what its arguments look like, gives the log density of many draws at once with its gradient in
//! everything, and draws one outcome.

mod categories;
mod gaussian;
mod linear;
mod lkj;
mod proportions;
#[cfg(test)]
mod tests;

use super::constraint::Constraint;
use super::dist::Domain;
use rand::Rng;

/// The largest number of arguments of an entry.
pub const MAX_ARGUMENTS: usize = 2;

/// What a draw is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// A vector of k numbers; a matrix holds one draw per row.
    Vector,
    /// One k x k matrix.
    Matrix,
    /// A whole number from 1 to k; a vector holds one draw per element.
    Category,
}

/// What an argument looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// One number for all draws.
    Scalar,
    /// One number, or one per draw.
    PerDraw,
    /// The same, whole numbers of the data.
    CountPerDraw,
    /// One number for all elements, a vector, or a row per draw.
    Centre,
    /// A vector, or a row per draw.
    Vector,
    /// A square matrix.
    Matrix,
}

/// One argument.
#[derive(Debug, Clone, Copy)]
pub struct VectorArgument {
    /// Its name in a call.
    pub name: &'static str,
    /// What it looks like.
    pub part: Part,
    /// What each of its numbers may be.
    pub domain: Domain,
}

/// How many draws there are, and how large one is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// Number of draws.
    pub rows: usize,
    /// Elements of a vector, rows of a matrix; for categories the length of the argument that is a vector.
    pub k: usize,
}

/// A matrix that must be positive definite is not.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pivot {
    pub index: usize,
    pub size: usize,
    pub value: f64,
}

/// Points and where their derivatives go: every slice of `gx` and `gradient` is added to.
pub struct Call<'a, 'b> {
    pub sizes: Sizes,
    /// The draws, one after the other.
    pub x: &'a [f64],
    /// The arguments; row-major, and of length one where one number stands for all.
    pub args: &'a [&'a [f64]],
    pub gx: &'a mut [f64],
    pub gradient: &'a mut [&'b mut [f64]],
    /// Memory that is kept between calls.
    pub scratch: &'a mut Vec<f64>,
}

/// Writes one draw to the last slice, for arguments without rows.
pub type DrawOne = fn(&mut dyn Rng, Sizes, &[&[f64]], &mut [f64]);

/// One distribution.
///
/// Arguments outside their domain make the log density NaN, a draw outside the support minus infinity.
#[derive(Debug)]
pub struct VectorDistribution {
    /// Its name in the language.
    pub name: &'static str,
    /// What it takes.
    pub arguments: &'static [VectorArgument],
    /// What a draw is.
    pub outcome: Outcome,
    /// Whether a draw holds whole numbers.
    pub integer: bool,
    /// What a parameter with this prior satisfies.
    pub constraint: Option<Constraint>,
    /// One line that says what it is for.
    pub doc: &'static str,
    /// The density in plain ASCII.
    pub formula: &'static str,
    /// The sum of the log densities of all draws, with all constants.
    pub log_density: fn(&mut Call<'_, '_>) -> Result<f64, Pivot>,
    /// One draw for arguments without rows; NaN throughout for arguments outside their domain.
    pub draw: DrawOne,
}

/// Every entry, in the order of the documentation.
pub static VECTOR_DISTRIBUTIONS: &[VectorDistribution] = &[
    gaussian::MULTI_NORMAL,
    gaussian::MULTI_NORMAL_CHOLESKY,
    gaussian::MULTI_NORMAL_PRECISION,
    proportions::DIRICHLET,
    lkj::LKJ_CHOLESKY,
    proportions::MULTINOMIAL,
    categories::CATEGORICAL,
    categories::CATEGORICAL_LOGIT,
    categories::ORDERED_LOGISTIC,
];

/// The entry of that name.
pub fn find(name: &str) -> Option<&'static VectorDistribution> {
    VECTOR_DISTRIBUTIONS.iter().find(|d| d.name == name)
}

impl VectorDistribution {
    /// The sum of the log densities of all draws.
    ///
    /// # Errors
    /// A matrix that is not positive definite.
    pub fn value(&self, sizes: Sizes, x: &[f64], args: &[&[f64]]) -> Result<f64, Pivot> {
        let mut gradients: Vec<Vec<f64>> = args.iter().map(|a| vec![0.0; a.len()]).collect();
        let mut slots: Vec<&mut [f64]> = gradients.iter_mut().map(Vec::as_mut_slice).collect();
        let mut gx = vec![0.0; x.len()];
        (self.log_density)(&mut Call { sizes, x, args, gx: &mut gx, gradient: &mut slots, scratch: &mut Vec::new() })
    }

    /// Categories that an argument of `k` elements has.
    pub fn categories(&self, k: usize) -> usize {
        if self.name == "ordered_logistic" { k + 1 } else { k }
    }
}

const fn part(name: &'static str, part: Part, domain: Domain) -> VectorArgument {
    VectorArgument { name, part, domain }
}

/// Where element `j` of draw `i` lies in an argument that may be one number, one vector, or a row per draw.
#[inline]
fn place(length: usize, i: usize, j: usize, k: usize) -> usize {
    if length == 1 {
        0
    } else if length == k {
        j
    } else {
        i * k + j
    }
}

/// Where the number of draw `i` lies in an argument of one number, or of one per draw.
#[inline]
fn of_draw(length: usize, i: usize) -> usize {
    if length == 1 { 0 } else { i }
}
