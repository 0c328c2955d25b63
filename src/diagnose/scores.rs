//! Scores of predictions: correlation, R squared and mean squared error per feature, with what is undefined named.
//!
//! A feature's correlation needs two pairs or more and both sides to vary; R squared, 1 - sum (y - p)^2 / sum (y - m)^2
//! with m the mean of the observed values, needs two pairs and a target that varies. What is undefined is left out of
//! the averages and never counts as zero.

use super::moments::{self, is_constant};

/// Why a score does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Undefined {
    /// Fewer pairs of an observed and a predicted value than the score needs.
    TooFew,
    /// The observed values do not vary.
    ConstantTarget,
    /// The predicted values do not vary.
    ConstantPrediction,
}

/// Scores of one feature.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FeatureScore {
    /// Pearson's correlation of observed and predicted values.
    pub correlation: Result<f64, Undefined>,
    /// Share of the observed variance that is explained; negative where the mean would have been better.
    pub r2: Result<f64, Undefined>,
    /// Mean squared error, in squared units of the values.
    pub mse: Result<f64, Undefined>,
    /// Number of pairs.
    pub count: usize,
}

/// Scores of several features together.
#[derive(Debug, Clone, PartialEq)]
pub struct Score {
    /// Mean over the features for which it is defined.
    pub correlation: Option<f64>,
    /// Mean over the features for which it is defined.
    pub r2: Option<f64>,
    /// Mean over all pairs.
    pub mse: Option<f64>,
    /// Number of pairs.
    pub observations: usize,
    /// Number of times with a pair.
    pub times: usize,
    /// In the order of the columns.
    pub features: Vec<FeatureScore>,
}

/// Scores `predicted` against `observed`, both times x `features`, row-major; an entry counts where both are numbers.
pub fn score(observed: &[f64], predicted: &[f64], features: usize) -> Score {
    let pair = |i: usize| (observed[i], predicted[i]);
    let paired = |i: &usize| !observed[*i].is_nan() && !predicted[*i].is_nan();
    let length = observed.len().min(predicted.len());
    let scores: Vec<FeatureScore> = (0..features)
        .map(|f| {
            let pairs: Vec<(f64, f64)> = (f..length).step_by(features).filter(paired).map(pair).collect();
            feature_score(&pairs)
        })
        .collect();
    let squares: Vec<f64> = (0..length).filter(paired).map(|i| (observed[i] - predicted[i]).powi(2)).collect();
    let rows = (0..length).step_by(features.max(1));
    Score {
        correlation: mean(scores.iter().filter_map(|s| s.correlation.ok())),
        r2: mean(scores.iter().filter_map(|s| s.r2.ok())),
        mse: mean(squares.iter().copied()),
        observations: squares.len(),
        times: rows.filter(|&t| (t..(t + features).min(length)).any(|i| paired(&i))).count(),
        features: scores,
    }
}

/// The mean of what is there.
fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, n) = values.fold((0.0, 0.0), |(sum, n), v| (sum + v, n + 1.0));
    (n > 0.0).then(|| sum / n)
}

fn feature_score(pairs: &[(f64, f64)]) -> FeatureScore {
    let count = pairs.len();
    let (observed, predicted): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let errors: f64 = pairs.iter().map(|(y, p)| (y - p).powi(2)).sum();
    let few = (count < 2).then_some(Undefined::TooFew);
    let target = few.or(is_constant(&observed).then_some(Undefined::ConstantTarget));
    let prediction = target.or(is_constant(&predicted).then_some(Undefined::ConstantPrediction));
    FeatureScore {
        correlation: prediction.map_or_else(|| Ok(correlation(&observed, &predicted)), Err),
        r2: target.map_or_else(|| Ok(1.0 - errors / (count as f64 * moments::population_variance(&observed))), Err),
        mse: if count == 0 { Err(Undefined::TooFew) } else { Ok(errors / count as f64) },
        count,
    }
}

/// Pearson's correlation of two series that vary. Each is scaled by its largest deviation, so that nothing overflows.
pub(super) fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let centred = |v: &[f64]| -> Vec<f64> {
        let centre = moments::mean(v);
        let deviations: Vec<f64> = v.iter().map(|x| x - centre).collect();
        let largest = deviations.iter().fold(0.0_f64, |m, d| m.max(d.abs()));
        deviations.into_iter().map(|d| d / largest).collect()
    };
    let (a, b) = (centred(a), centred(b));
    let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
    (dot(&a, &b) / (dot(&a, &a).sqrt() * dot(&b, &b).sqrt())).clamp(-1.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn golden() -> Value {
        serde_json::from_str(include_str!("../../tests/golden/scores_alignment.json")).expect("golden numbers")
    }

    fn flat(v: &Value) -> Vec<f64> {
        match v {
            Value::Array(items) => items.iter().flat_map(flat).collect(),
            other => vec![other.as_f64().unwrap_or(f64::NAN)],
        }
    }

    #[test]
    fn golden_numbers_match() {
        let golden = golden();
        let mask: Vec<bool> = golden["mask"]
            .as_array()
            .into_iter()
            .flatten()
            .flat_map(|row| row.as_array().into_iter().flatten().map(|m| m.as_bool() == Some(true)))
            .collect();
        let observed: Vec<f64> =
            flat(&golden["observed"]).iter().zip(&mask).map(|(v, m)| if *m { *v } else { f64::NAN }).collect();
        let score = score(&observed, &flat(&golden["predicted"]), 4);
        let wanted = &golden["score"];
        for (name, value) in [("correlation", score.correlation), ("r2", score.r2), ("mse", score.mse)] {
            let wanted = wanted[name].as_f64().expect("a number");
            assert!((value.expect(name) - wanted).abs() < 1e-15, "{name}: {value:?} for {wanted}");
        }
        assert_eq!(Some(score.observations as u64), wanted["n_observations"].as_u64());
        assert_eq!(Some(score.times as u64), wanted["n_timestamps"].as_u64());
        // The third feature is observed as a constant, the fourth once.
        let undefined = |of: fn(&FeatureScore) -> bool| score.features.iter().filter(|f| of(f)).count() as u64;
        let wanted = &wanted["undefined_features"];
        assert_eq!(Some(undefined(|f| f.correlation.is_err())), wanted["correlation"].as_u64());
        assert_eq!(Some(undefined(|f| f.r2.is_err())), wanted["r2"].as_u64());
        assert_eq!(score.features[2].r2, Err(Undefined::ConstantTarget));
        assert_eq!(score.features[3].r2, Err(Undefined::TooFew));
        assert!(score.features[2].mse.is_ok());
    }

    #[test]
    fn one_feature_equals_the_textbook_formulas() {
        let observed = [1.0, 4.0, f64::NAN, 2.0, 8.0, 5.0];
        let predicted = [2.0, 3.0, 1.0, f64::NAN, 6.0, 6.0];
        let (y, p) = ([1.0, 4.0, 8.0, 5.0], [2.0, 3.0, 6.0, 6.0]);
        let n = 4.0;
        let (sy, sp): (f64, f64) = (y.iter().sum(), p.iter().sum());
        let syy: f64 = y.iter().map(|v| v * v).sum::<f64>() - sy * sy / n;
        let spp: f64 = p.iter().map(|v| v * v).sum::<f64>() - sp * sp / n;
        let syp: f64 = y.iter().zip(&p).map(|(a, b)| a * b).sum::<f64>() - sy * sp / n;
        let error: f64 = y.iter().zip(&p).map(|(a, b)| (a - b) * (a - b)).sum();
        let found = score(&observed, &predicted, 1);
        assert!((found.correlation.expect("r") - syp / (syy * spp).sqrt()).abs() < 1e-15);
        assert!((found.r2.expect("R2") - (1.0 - error / syy)).abs() < 1e-15);
        assert_eq!(found.mse, Some(error / n));
        assert_eq!((found.observations, found.times), (4, 4));
    }

    #[test]
    fn undefined_scores_say_why_and_never_enter_an_average() {
        let nan = f64::NAN;
        // Columns: fine, constant prediction, one pair, nothing.
        let observed = [1.0, 1.0, 7.0, nan, 2.0, 5.0, nan, nan, 4.0, 2.0, nan, nan];
        let predicted = [1.0, 3.0, 7.0, 1.0, 2.0, 3.0, 7.0, 1.0, 4.0, 3.0, 7.0, 1.0];
        let found = score(&observed, &predicted, 4);
        assert_eq!(found.features[1].correlation, Err(Undefined::ConstantPrediction));
        assert!(found.features[1].r2.is_ok());
        assert_eq!(found.features[2].correlation, Err(Undefined::TooFew));
        assert_eq!(found.features[2].mse, Ok(0.0));
        assert_eq!(found.features[3].mse, Err(Undefined::TooFew));
        assert!((found.correlation.expect("of the first feature") - 1.0).abs() < 1e-15);
        let empty = score(&[nan, nan], &[1.0, 2.0], 1);
        assert_eq!((empty.correlation, empty.r2, empty.mse, empty.times), (None, None, None, 0));
    }

    #[test]
    fn scores_do_not_depend_on_unit_offset_or_the_order_of_rows() {
        let observed: Vec<f64> = (0..50).map(|i| (i as f64 * 0.7).sin()).collect();
        let predicted: Vec<f64> = (0..50).map(|i| (i as f64 * 0.7 + 0.3).sin()).collect();
        let plain = score(&observed, &predicted, 1);
        for (scale, offset) in [(1e150, 0.0), (1e-150, 0.0), (1.0, 1e6)] {
            let moved = |v: &[f64]| v.iter().map(|x| scale * x + offset).collect::<Vec<_>>();
            let found = score(&moved(&observed), &moved(&predicted), 1);
            assert!((found.correlation.expect("r") - plain.correlation.expect("r")).abs() < 1e-9, "{scale} {offset}");
        }
        let turned = |v: &[f64]| v.iter().rev().copied().collect::<Vec<_>>();
        let found = score(&turned(&observed), &turned(&predicted), 1);
        assert!((found.correlation.expect("r") - plain.correlation.expect("r")).abs() < 1e-14);
    }
}
