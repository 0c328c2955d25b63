//! The covariance of the latent path between all nodes of a run, one evaluation per distinct lag.
//!
//! The covariance of two responses depends on the difference of times alone, and regular clocks repeat their
//! differences: lags are collected once per pair of groups, so that evaluation and pull-back cost one entry per lag.

use super::covariance::{Form, Table, covariances};
use super::layout::RunNodes;
use std::ops::Range;

/// The lags between the nodes of two groups.
#[derive(Debug, Clone)]
pub(super) struct Pair {
    /// Groups; that of the rows is not before that of the columns.
    row: usize,
    column: usize,
    /// Time of the row's node less that of the column's, ascending; differences that rounding of the times explains are one.
    lags: Vec<f64>,
    /// Index of the lag of each entry: columns one after the other, and of each the rows from the diagonal on.
    index: Vec<u32>,
}

/// Rows that a pair covers in column `j` of its second group.
fn rows(row: &Range<usize>, j: usize) -> Range<usize> {
    row.start.max(j)..row.end
}

/// The pairs of all groups of nodes at `times`.
pub(super) fn pairs(times: &[f64], groups: &[(usize, Range<usize>)]) -> Vec<Pair> {
    let largest = times.iter().fold(0.0f64, |m, t| m.max(t.abs()));
    let rounding = 4.0 * f64::EPSILON * largest;
    let mut out = Vec::new();
    for (column, (_, columns)) in groups.iter().enumerate() {
        for (row, (_, of_rows)) in groups.iter().enumerate().skip(column) {
            let mut entries: Vec<(f64, u32)> = Vec::new();
            for j in columns.clone() {
                for i in rows(of_rows, j) {
                    entries.push((times[i] - times[j], entries.len() as u32));
                }
            }
            entries.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
            let mut lags: Vec<f64> = Vec::new();
            let mut index = vec![0; entries.len()];
            for (lag, entry) in entries {
                if lags.last().is_none_or(|last| lag - last > rounding) {
                    lags.push(lag);
                }
                index[entry as usize] = lags.len() as u32 - 1;
            }
            out.push(Pair { row, column, lags, index });
        }
    }
    out
}

/// Covariances of `a` at the times of `lags` later than `b`, in any order.
pub(super) fn at_lags(rho: f64, a: &Form, b: &Form, lags: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..lags.len()).collect();
    order.sort_unstable_by(|i, j| lags[*i].total_cmp(&lags[*j]));
    let sorted: Vec<f64> = order.iter().map(|i| lags[*i]).collect();
    let table = covariances(rho, a, b, &sorted, false);
    let mut out = vec![0.0; lags.len()];
    for (position, i) in order.into_iter().enumerate() {
        out[i] = table.value(position);
    }
    out
}

/// Covariances and what their derivatives need.
#[derive(Debug, Default)]
pub(super) struct NodeKernel {
    /// Per pair of groups.
    tables: Vec<Table>,
    /// n x n, symmetric.
    pub matrix: Vec<f64>,
}

impl NodeKernel {
    /// Fills `matrix`; `forms` holds the form of each response slot, and `slopes` says whether a pull-back follows.
    pub fn fill(&mut self, nodes: &RunNodes, forms: &[Form], rho: f64, slopes: bool) {
        let n = nodes.times.len();
        self.matrix.resize(n * n, 0.0);
        self.tables.clear();
        for pair in &nodes.pairs {
            let (columns, of_rows) = (&nodes.groups[pair.column], &nodes.groups[pair.row]);
            let table = covariances(rho, &forms[of_rows.0], &forms[columns.0], &pair.lags, slopes);
            let values: Vec<f64> = (0..pair.lags.len()).map(|i| table.value(i)).collect();
            let mut index = pair.index.iter();
            for j in columns.1.clone() {
                let rows = rows(&of_rows.1, j);
                let entries = &mut self.matrix[j * n..][rows];
                for (entry, i) in entries.iter_mut().zip(index.by_ref()) {
                    *entry = values[*i as usize];
                }
            }
            self.tables.push(table);
        }
        mirror(&mut self.matrix, n);
    }

    /// Derivatives in rho and in the parameters of each response slot, given the derivative with respect to each entry: the
    /// lower triangle of `adjoint` is read, an entry beside the diagonal standing for both of its mirror images. Visits
    /// (slot, derivatives), a slot any number of times; returns the derivative in rho.
    pub fn pull(&self, nodes: &RunNodes, forms: &[Form], adjoint: &[f64], mut visit: impl FnMut(usize, &[f64])) -> f64 {
        let n = nodes.times.len();
        let mut in_rho = 0.0;
        for (pair, table) in nodes.pairs.iter().zip(&self.tables) {
            let (columns, of_rows) = (&nodes.groups[pair.column], &nodes.groups[pair.row]);
            let mut sums = vec![0.0; pair.lags.len()];
            let mut index = pair.index.iter();
            for j in columns.1.clone() {
                let rows = rows(&of_rows.1, j);
                let first = rows.start;
                for ((offset, g), lag) in adjoint[j * n..][rows].iter().enumerate().zip(index.by_ref()) {
                    sums[*lag as usize] += if first + offset == j { *g } else { 2.0 * g };
                }
            }
            let pulled = table.pull(&forms[of_rows.0], &forms[columns.0], &sums);
            in_rho += pulled.in_rho;
            visit(of_rows.0, &pulled.responses[0]);
            visit(columns.0, &pulled.responses[1]);
        }
        in_rho
    }
}

impl Pair {
    /// Distinct lags, and the slots of the rows and of the columns.
    pub fn sizes(&self, groups: &[(usize, Range<usize>)]) -> (usize, [usize; 2]) {
        (self.lags.len(), [groups[self.row].0, groups[self.column].0])
    }
}

/// Copies the lower triangle of a column-major matrix onto the upper.
pub(super) fn mirror(matrix: &mut [f64], n: usize) {
    const TILE: usize = 32;
    for jt in (0..n).step_by(TILE) {
        for it in (jt..n).step_by(TILE) {
            for j in jt..(jt + TILE).min(n) {
                for i in it.max(j + 1)..(it + TILE).min(n) {
                    matrix[i * n + j] = matrix[j * n + i];
                }
            }
        }
    }
}
