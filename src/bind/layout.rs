//! Where each parameter lies in the vector of coordinates, and what its elements are called.

use super::forms::Form;
use super::plan::Block;
use crate::math::transform::Transform;

impl Block {
    /// A block for a parameter of the model file; elements are named `theta[1]`, `m[2,3]`, or `mu` for a scalar.
    pub(super) fn plain(name: &str, shape: Vec<usize>, lower: f64, upper: f64, form: Form) -> Block {
        let labels = element_labels(name, &shape);
        let n = form.sizes(&shape).iter().product();
        Block { name: name.to_string(), form, shape, labels, offset: 0, lower: vec![lower; n], upper: vec![upper; n] }
    }

    /// Number of coordinates.
    pub fn len(&self) -> usize {
        self.lower.len()
    }

    /// `true` for a parameter without coordinates.
    pub fn is_empty(&self) -> bool {
        self.lower.is_empty()
    }

    /// The constraint transform of each coordinate.
    pub fn transforms(&self) -> impl Iterator<Item = Transform> + '_ {
        self.lower.iter().zip(&self.upper).map(|(&lo, &hi)| Transform::from_bounds(lo, hi))
    }
}

/// One-based names of the elements of an array, row-major.
pub(crate) fn element_labels(name: &str, shape: &[usize]) -> Vec<String> {
    match shape {
        [] => vec![name.to_string()],
        [n] => (1..=*n).map(|i| format!("{name}[{i}]")).collect(),
        [rows, columns] => (1..=*rows).flat_map(|i| (1..=*columns).map(move |j| format!("{name}[{i},{j}]"))).collect(),
        _ => (1..=shape.iter().product()).map(|i| format!("{name}[{i}]")).collect(),
    }
}
