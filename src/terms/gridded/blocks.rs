//! The features of a pair by how their loadings are solved: one by one, or many at once through inner products of rows.
//!
//! Features observed at the same rows share a mask, and with it the normal matrix of their loadings. Where a mask has many
//! more features than rows, W = X' C stays implicit and the data enter through X X' (rows x rows) only; all other features are
//! solved explicitly. So an iteration's cost depends on the number of features only as far as masks differ.

use std::borrow::Cow;
use std::collections::HashMap;

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};

use super::problem::{Lists, Pair};

/// Features gathered at once.
const COLUMNS: usize = 512;

/// How the loadings of a pair are solved.
#[derive(Debug)]
pub(super) struct Blocks<'a> {
    /// Features that are solved explicitly, in rising order.
    pub explicit: Vec<usize>,
    /// Their values, T x E; 0 where missing.
    pub x: Cow<'a, [f64]>,
    /// Missing explicit features of each row, counted among the explicit ones.
    pub missing_by_row: Lists,
    /// Explicit features of each mask, and the rows at which they are missing.
    pub masks: Vec<(Vec<usize>, Vec<usize>)>,
    pub duals: Vec<DualBlock>,
    /// Dual blocks that are missing at each row.
    pub duals_missing: Lists,
    /// Missing features of each row, of both kinds.
    missing_counts: Vec<usize>,
    features: usize,
}

/// Features of one mask whose loadings stay implicit.
#[derive(Debug)]
pub(super) struct DualBlock {
    /// In rising order.
    pub features: Vec<usize>,
    /// Rows at which they are missing, in rising order.
    pub missing: Vec<usize>,
    /// X X', T x T; 0 at missing rows.
    pub inner: Vec<f64>,
}

impl<'a> Blocks<'a> {
    pub fn new(pair: &'a Pair) -> Self {
        let (rows, count) = (pair.row_count(), pair.features.len());
        let mut place: HashMap<&[usize], usize> = HashMap::new();
        let mut masks: Vec<(Vec<usize>, Vec<usize>)> = Vec::new();
        for f in 0..count {
            let missing = pair.missing_by_feature.get(f);
            let at = *place.entry(missing).or_insert(masks.len());
            match masks.get_mut(at) {
                Some((features, _)) => features.push(f),
                None => masks.push((vec![f], missing.to_vec())),
            }
        }
        let (dual, masks): (Vec<_>, Vec<_>) = masks.into_iter().partition(|(features, _)| features.len() >= 2 * rows);
        let mut explicit: Vec<usize> = masks.iter().flat_map(|(features, _)| features.iter().copied()).collect();
        explicit.sort_unstable();
        let at: HashMap<usize, usize> = explicit.iter().enumerate().map(|(i, f)| (*f, i)).collect();
        let masks = masks.into_iter().map(|(features, missing)| (features.iter().map(|f| at[f]).collect(), missing));
        let x = if explicit.len() == count {
            Cow::Borrowed(pair.x.as_slice())
        } else {
            let rows = (0..rows).map(|t| pair.x_row(t));
            Cow::Owned(rows.flat_map(|x| explicit.iter().map(|&f| x[f])).collect())
        };
        let by_row = (0..rows).map(|t| pair.missing_by_row.get(t).iter().filter_map(|f| at.get(f).copied()).collect());
        let duals: Vec<DualBlock> =
            dual.into_iter().map(|(features, missing)| dual_block(pair, features, missing)).collect();
        let mut duals_missing = vec![Vec::new(); rows];
        for (d, dual) in duals.iter().enumerate() {
            dual.missing.iter().for_each(|&t| duals_missing[t].push(d));
        }
        Blocks {
            x,
            missing_by_row: Lists::collect(by_row),
            masks: masks.collect(),
            explicit,
            duals,
            duals_missing: Lists::collect(duals_missing.into_iter()),
            missing_counts: (0..rows).map(|t| pair.missing_by_row.get(t).len()).collect(),
            features: count,
        }
    }

    /// Values of the explicit features at row `t`.
    pub fn x_row(&self, t: usize) -> &[f64] {
        let e = self.explicit.len();
        &self.x[t * e..(t + 1) * e]
    }

    /// Whether all features are observed at row `t`.
    pub fn complete(&self, t: usize) -> bool {
        self.missing_counts[t] == 0
    }

    /// Whether sums over the features of row `t` are better taken over what is there than corrected for what is not.
    pub fn mostly_missing(&self, t: usize) -> bool {
        2 * self.missing_counts[t] > self.features
    }
}

fn dual_block(pair: &Pair, features: Vec<usize>, missing: Vec<usize>) -> DualBlock {
    let (rows, count) = (pair.row_count(), pair.features.len());
    let mut inner = vec![0.0; rows * rows];
    let mut add = |x: &[f64], width: usize, accum: Accum| {
        let x = MatRef::from_row_major_slice(x, rows, width);
        // One thread: the sum must not depend on how many there are.
        matmul(MatMut::from_row_major_slice_mut(&mut inner, rows, rows), accum, x, x.transpose(), 1.0, Par::Seq);
    };
    if features.len() == count {
        add(&pair.x, count, Accum::Replace);
    } else {
        let mut gathered = Vec::new();
        for part in features.chunks(COLUMNS) {
            gathered.clear();
            (0..rows).for_each(|t| gathered.extend(part.iter().map(|&f| pair.x_row(t)[f])));
            add(&gathered, part.len(), Accum::Add);
        }
    }
    DualBlock { features, missing, inner }
}
