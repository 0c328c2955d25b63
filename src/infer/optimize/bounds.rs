//! The box: projection, which coordinates are at a bound, and the projected gradient that certifies an optimum.

use super::outcome::StartFault;

/// A coordinate within this distance of a bound, relative to `max(1, |x|)`, counts as being at it.
pub const BOUND_TOLERANCE: f64 = 1e-7;

/// Lower and upper bounds (length d each; infinities mean none).
#[derive(Debug, Clone, Copy)]
pub struct Bounds<'a> {
    pub lower: &'a [f64],
    pub upper: &'a [f64],
}

impl Bounds<'_> {
    /// Checks lengths against `dim` and that every interval holds a finite number.
    ///
    /// # Errors
    /// [`StartFault::Length`] or [`StartFault::Bounds`].
    pub fn check(&self, dim: usize) -> Result<(), StartFault> {
        for (argument, values) in [("lower", self.lower), ("upper", self.upper)] {
            if values.len() != dim {
                return Err(StartFault::Length { argument, expected: dim, found: values.len() });
            }
        }
        for (index, (&lower, &upper)) in self.lower.iter().zip(self.upper).enumerate() {
            // A NaN bound fails the first comparison.
            let holds_a_number = lower <= upper && lower < f64::INFINITY && upper > f64::NEG_INFINITY;
            if !holds_a_number {
                return Err(StartFault::Bounds { index, lower, upper });
            }
        }
        Ok(())
    }

    /// Moves `x` to the nearest point of the box.
    pub fn project(&self, x: &mut [f64]) {
        for (index, value) in x.iter_mut().enumerate() {
            *value = value.clamp(self.lower[index], self.upper[index]);
        }
    }

    /// Whether coordinate `index` is at its lower bound.
    pub fn at_lower(&self, index: usize, value: f64) -> bool {
        value - self.lower[index] <= BOUND_TOLERANCE * value.abs().max(1.0)
    }

    /// Whether coordinate `index` is at its upper bound.
    pub fn at_upper(&self, index: usize, value: f64) -> bool {
        self.upper[index] - value <= BOUND_TOLERANCE * value.abs().max(1.0)
    }

    /// Coordinates of `x` at either bound, ascending.
    pub fn active(&self, x: &[f64]) -> Vec<usize> {
        (0..x.len()).filter(|&i| self.at_lower(i, x[i]) || self.at_upper(i, x[i])).collect()
    }

    /// Coordinates of `x` that are not [`active`](Self::active), ascending.
    pub fn free(&self, x: &[f64]) -> Vec<usize> {
        (0..x.len()).filter(|&i| !self.at_lower(i, x[i]) && !self.at_upper(i, x[i])).collect()
    }

    /// Derivative of an objective to be *minimised*, zero where descent would leave the box.
    pub fn projected_component(&self, index: usize, value: f64, derivative: f64) -> f64 {
        let outward =
            (derivative > 0.0 && self.at_lower(index, value)) || (derivative < 0.0 && self.at_upper(index, value));
        if outward { 0.0 } else { derivative }
    }

    /// Largest absolute component of the projected gradient of an objective to be *minimised*.
    pub fn projected_gradient(&self, x: &[f64], gradient: &[f64]) -> f64 {
        x.iter()
            .zip(gradient)
            .enumerate()
            .map(|(i, (&value, &derivative))| self.projected_component(i, value, derivative).abs())
            .fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gradient_out_of_the_box_is_dropped_and_into_it_is_kept() {
        let bounds = Bounds { lower: &[0.0, 0.0, f64::NEG_INFINITY, 1.0], upper: &[1.0, 1.0, f64::INFINITY, 1.0] };
        let x = [5e-8, 1.0, 3.0, 1.0];
        assert_eq!(bounds.projected_gradient(&x, &[2.0, -3.0, 0.5, 9.0]), 0.5);
        assert_eq!(bounds.projected_gradient(&x, &[-2.0, -3.0, 0.5, -9.0]), 2.0);
        assert_eq!(bounds.active(&x), vec![0, 1, 3]);
        assert_eq!(bounds.free(&x), vec![2]);
    }

    #[test]
    fn impossible_bounds_are_named() {
        let crossed = Bounds { lower: &[0.0, 2.0], upper: &[1.0, 1.0] };
        assert_eq!(crossed.check(2), Err(StartFault::Bounds { index: 1, lower: 2.0, upper: 1.0 }));
        let not_a_number = Bounds { lower: &[f64::NAN], upper: &[1.0] };
        assert!(matches!(not_a_number.check(1), Err(StartFault::Bounds { index: 0, .. })));
        assert!(matches!(crossed.check(3), Err(StartFault::Length { argument: "lower", expected: 3, found: 2 })));
    }
}
