//! Temporal intersubject correlation: how much participants who met the same thing respond alike.
//!
//! Each participant is correlated with the mean of the others, or every two participants with each other, over the
//! rows at which all of them have a value (Hasson et al. 2004, Science 303; Nastase et al. 2019, Social Cognitive and
//! Affective Neuroscience 14). Means are taken over Fisher's z.

use super::scores::correlation;

/// Rows that a correlation needs.
const FEWEST_ROWS: usize = 3;
/// Deviations, relative to the largest value, below which a series counts as constant.
const FLAT: f64 = 1e-12;
/// Correlations are kept this far from one before Fisher's transform.
const CLIP: f64 = 1e-12;

/// Why a correlation does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IscUndefined {
    /// Fewer than three rows at which all participants have a value.
    TooFewRows,
    /// One of the two series does not vary there.
    Constant,
}

impl std::fmt::Display for IscUndefined {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            IscUndefined::TooFewRows => "fewer than 3 common rows",
            IscUndefined::Constant => "constant",
        })
    }
}

/// Correlations between participants.
#[derive(Debug, Clone, PartialEq)]
pub struct Isc {
    /// Rows at which all participants have a value, per feature.
    pub rows: Vec<usize>,
    /// One list per participant (or pair of participants), one entry per feature.
    pub correlations: Vec<Vec<Result<f64, IscUndefined>>>,
    /// Mean over participants (or pairs) by Fisher's z, per feature; absent where one of them is undefined.
    pub means: Vec<Option<f64>>,
}

/// Correlates every participant with the mean of the others. `series` holds one array per participant, rows x
/// `features`, row-major, NaN where there is no value; the rows of all are those of one clock.
///
/// With fewer than two participants there is nothing to correlate, and the lists are empty.
pub fn temporal_isc(series: &[&[f64]], features: usize) -> Isc {
    let n = series.len();
    let subjects = if n < 2 { 0 } else { n };
    collect(series, features, subjects, |who, columns| {
        let own = columns[who].clone();
        let rows = 0..own.len();
        let others = |t: usize| (0..n).filter(|&p| p != who).map(|p| columns[p][t]).sum::<f64>() / (n - 1) as f64;
        (own, rows.map(others).collect())
    })
}

/// Correlates every two participants with each other; pairs in the order (0, 1), (0, 2), ..., (1, 2), ... See
/// [`temporal_isc`] for the arguments.
pub fn pairwise_isc(series: &[&[f64]], features: usize) -> Isc {
    let n = series.len();
    let pairs: Vec<(usize, usize)> = (0..n).flat_map(|a| (a + 1..n).map(move |b| (a, b))).collect();
    collect(series, features, pairs.len(), |pair, columns| {
        let (a, b) = pairs[pair];
        (columns[a].clone(), columns[b].clone())
    })
}

/// Correlates, for every feature, the `count` couples of series that `couple` makes of the common rows.
fn collect(
    series: &[&[f64]],
    features: usize,
    count: usize,
    couple: impl Fn(usize, &[Vec<f64>]) -> (Vec<f64>, Vec<f64>),
) -> Isc {
    let length = series.iter().map(|s| s.len()).min().unwrap_or(0);
    let mut isc = Isc { rows: Vec::new(), correlations: vec![Vec::new(); count], means: Vec::new() };
    for feature in 0..features {
        let common: Vec<usize> =
            (feature..length).step_by(features).filter(|&i| series.iter().all(|s| !s[i].is_nan())).collect();
        let columns: Vec<Vec<f64>> = series.iter().map(|s| common.iter().map(|&i| s[i]).collect()).collect();
        let found: Vec<Result<f64, IscUndefined>> = (0..count)
            .map(|who| {
                if common.len() < FEWEST_ROWS {
                    return Err(IscUndefined::TooFewRows);
                }
                let (a, b) = couple(who, &columns);
                if flat(&a) || flat(&b) { Err(IscUndefined::Constant) } else { Ok(correlation(&a, &b)) }
            })
            .collect();
        isc.rows.push(common.len());
        isc.means.push(fisher_mean(&found));
        for (list, value) in isc.correlations.iter_mut().zip(found) {
            list.push(value);
        }
    }
    isc
}

/// Whether a series varies by no more than rounding of its largest value.
pub(super) fn flat(values: &[f64]) -> bool {
    let largest = values.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
    if largest == 0.0 {
        return true;
    }
    let n = values.len() as f64;
    let centre = values.iter().map(|v| v / largest).sum::<f64>() / n;
    let squares: f64 = values.iter().map(|v| (v / largest - centre).powi(2)).sum();
    squares.sqrt() <= FLAT * n.sqrt()
}

/// tanh of the mean of atanh.
fn fisher_mean(values: &[Result<f64, IscUndefined>]) -> Option<f64> {
    let defined: Vec<f64> = values.iter().filter_map(|v| v.ok()).collect();
    if defined.is_empty() || defined.len() < values.len() {
        return None;
    }
    let z = defined.iter().map(|r| r.clamp(CLIP - 1.0, 1.0 - CLIP).atanh());
    Some((z.sum::<f64>() / defined.len() as f64).tanh())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn flat_numbers(v: &Value) -> Vec<f64> {
        match v {
            Value::Array(items) => items.iter().flat_map(flat_numbers).collect(),
            other => vec![other.as_f64().unwrap_or(f64::NAN)],
        }
    }

    fn golden() -> (Value, Vec<Vec<f64>>) {
        let golden: Value =
            serde_json::from_str(include_str!("../../tests/golden/scores_alignment.json")).expect("golden numbers");
        let series = ["s0", "s1", "s2"].map(|s| flat_numbers(&golden["series"][s]["values"]));
        (golden, series.to_vec())
    }

    fn slices(series: &[Vec<f64>]) -> Vec<&[f64]> {
        series.iter().map(Vec::as_slice).collect()
    }

    #[test]
    fn golden_numbers_match() {
        let (golden, series) = golden();
        let isc = temporal_isc(&slices(&series), 2);
        let wanted = &golden["isc"];
        let rows: Vec<f64> = isc.rows.iter().map(|&n| n as f64).collect();
        assert_eq!(rows, flat_numbers(&wanted["n_common_valid_per_feature"]));
        for (who, name) in ["s0", "s1", "s2"].iter().enumerate() {
            let wanted = flat_numbers(&wanted["subjects"][name]["correlations"]);
            for (found, wanted) in isc.correlations[who].iter().zip(wanted) {
                assert!((found.expect("defined") - wanted).abs() < 1e-14);
            }
        }
        let means = flat_numbers(&wanted["mean_fisher_z_correlation_per_feature"]);
        for (found, wanted) in isc.means.iter().zip(means) {
            assert!((found.expect("defined") - wanted).abs() < 1e-14);
        }
    }

    /// Pearson by raw sums, the slow obvious way.
    fn raw(a: &[f64], b: &[f64]) -> f64 {
        let n = a.len() as f64;
        let (sa, sb): (f64, f64) = (a.iter().sum(), b.iter().sum());
        let products = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
        (products(a, b) - sa * sb / n) / ((products(a, a) - sa * sa / n) * (products(b, b) - sb * sb / n)).sqrt()
    }

    #[test]
    fn pairs_equal_plain_correlations_over_the_common_rows() {
        let (_, series) = golden();
        let isc = pairwise_isc(&slices(&series), 2);
        for (pair, (a, b)) in [(0, 1), (0, 2), (1, 2)].into_iter().enumerate() {
            for feature in 0..2 {
                let common: Vec<usize> =
                    (0..20).filter(|t| series.iter().all(|s| !s[t * 2 + feature].is_nan())).collect();
                let column = |p: usize| common.iter().map(|t| series[p][t * 2 + feature]).collect::<Vec<_>>();
                let wanted = raw(&column(a), &column(b));
                assert!((isc.correlations[pair][feature].expect("defined") - wanted).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn two_participants_give_each_other_the_same_correlation() {
        let (_, series) = golden();
        let two = slices(&series[..2]);
        let loo = temporal_isc(&two, 2);
        let pairs = pairwise_isc(&two, 2);
        for feature in 0..2 {
            assert_eq!(loo.correlations[0][feature], pairs.correlations[0][feature]);
            assert_eq!(loo.correlations[0][feature], loo.correlations[1][feature]);
        }
    }

    #[test]
    fn constants_and_short_series_are_undefined_and_leave_no_mean() {
        let flat = [5.0, 5.0, 5.0, 5.0];
        let rising = [1.0, 2.0, 3.0, 5.0];
        let other = [2.0, 2.5, 3.5, 3.0];
        let isc = temporal_isc(&[&flat, &rising, &other], 1);
        assert_eq!(isc.correlations[0][0], Err(IscUndefined::Constant));
        assert!(isc.correlations[1][0].is_ok());
        assert_eq!(isc.means, [None]);
        // Rounding around a large offset is no variation.
        let nearly = [1e9, 1e9 + 1e-7, 1e9, 1e9];
        assert_eq!(temporal_isc(&[&nearly, &rising], 1).correlations[0][0], Err(IscUndefined::Constant));
        let gaps = [1.0, f64::NAN, 3.0, f64::NAN];
        let isc = temporal_isc(&[&gaps, &rising], 1);
        assert_eq!((isc.rows[0], isc.correlations[1][0]), (2, Err(IscUndefined::TooFewRows)));
        assert!(temporal_isc(&[&rising], 1).correlations.is_empty());
        assert_eq!(temporal_isc(&[&rising, &rising], 1).means[0].map(|m| m > 1.0 - 1e-9), Some(true));
    }
}
