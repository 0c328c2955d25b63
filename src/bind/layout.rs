//! Where each parameter lies in the vector of coordinates, and what its elements are called.

use super::plan::Block;
use crate::math::transform::Transform;

impl Block {
    /// A block for a parameter of the model file; elements are named `theta[1]`, `m[2,3]`, or `mu` for a scalar.
    pub(super) fn plain(name: &str, shape: Vec<usize>, lower: f64, upper: f64, noncentered: bool) -> Block {
        let labels = element_labels(name, &shape);
        let n = labels.len();
        Block {
            name: name.to_string(),
            noncentered,
            shape,
            labels,
            offset: 0,
            lower: vec![lower; n],
            upper: vec![upper; n],
        }
    }

    /// Number of coordinates.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// `true` for a parameter of size zero.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// The name of the sampled coordinates: the standardised form of a noncentred parameter is `theta_raw`.
    pub fn sampled_name(&self) -> String {
        if self.noncentered { format!("{}_raw", self.name) } else { self.name.clone() }
    }

    /// Names of the sampled coordinates, element by element.
    pub fn sampled_labels(&self) -> Vec<String> {
        let suffix = |label: &String| format!("{}{}", self.sampled_name(), &label[self.name.len()..]);
        self.labels.iter().map(suffix).collect()
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
