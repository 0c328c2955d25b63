//! Mean and population standard deviation of a feature in two passes, and what counts as constant.

/// How a feature is centred and scaled: (x - mean) / sd.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    pub mean: f64,
    pub sd: f64,
    /// Whether the feature does not vary; its sd is then 1.
    pub constant: bool,
}

impl Scale {
    /// Values used as they are.
    pub const NONE: Scale = Scale { mean: 0.0, sd: 1.0, constant: false };

    /// Scale of the observed values of one feature over all runs, or `None` where there is no value.
    ///
    /// A feature is constant if its sd is within rounding of its largest value, so that neither its unit nor its
    /// offset decides.
    pub fn of(values: impl Iterator<Item = f64> + Clone) -> Option<Scale> {
        let (mut n, mut sum, mut largest) = (0.0, 0.0, 0f64);
        for v in values.clone() {
            n += 1.0;
            sum += v;
            largest = largest.max(v.abs());
        }
        if n == 0.0 {
            return None;
        }
        let rough = sum / n;
        // The second sum removes the rounding of the first.
        let mean = rough + values.clone().map(|v| v - rough).sum::<f64>() / n;
        let sd = (values.clone().map(|v| (v - mean).powi(2)).sum::<f64>() / n).sqrt();
        let mut same = values;
        let first = same.next();
        if same.all(|v| Some(v) == first) {
            return first.map(|mean| Scale { mean, sd: 1.0, constant: true });
        }
        let constant = sd <= f64::EPSILON * largest;
        Some(Scale { mean, sd: if constant { 1.0 } else { sd }, constant })
    }
}
