//! Mean and variance in two passes, so that a large mean never cancels the spread.

/// Arithmetic mean; NaN for no values. Sums the distances from the first value, so equal values give exactly that value.
pub fn mean(values: &[f64]) -> f64 {
    match values.first() {
        None => f64::NAN,
        Some(first) => first + values.iter().map(|x| x - first).sum::<f64>() / values.len() as f64,
    }
}

/// Variance with divisor n - 1 (squared units of the values), never negative; NaN for fewer than two values.
pub fn variance(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return f64::NAN;
    }
    sum_of_squares(values) / (values.len() - 1) as f64
}

/// Variance with divisor n, never negative; NaN for no values.
pub fn population_variance(values: &[f64]) -> f64 {
    sum_of_squares(values) / values.len() as f64
}

fn sum_of_squares(values: &[f64]) -> f64 {
    let centre = mean(values);
    values.iter().map(|x| (x - centre) * (x - centre)).sum()
}

/// Whether the values differ by no more than rounding: range <= 8 eps max |x|. A row sum of a simplex is such a value.
pub fn is_constant(values: &[f64]) -> bool {
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for &x in values {
        low = low.min(x);
        high = high.max(x);
    }
    high - low <= 8.0 * f64::EPSILON * low.abs().max(high.abs())
}
