//! Rows of one curve at many times, made once for each position within a grid cell.
//!
//! Away from the ends of the grid a row depends only on where its time lies between two nodes. Clocks that beat with the grid
//! have few such phases, so that a row costs a copy.

use std::collections::HashMap;

use super::error::GriddedError;
use super::observation::Grid;
use super::response_rows::ResponseRows;
use crate::response::Response;

/// Phases of a cell that count as different. Two times of one phase differ by less than 2^-34 of a grid step, which
/// is below what rounding leaves of a time after a few hours.
const PHASES: f64 = (1u64 << 34) as f64;

/// A time on a grid.
#[derive(Debug, Clone, Copy)]
struct Mark {
    /// Node at or before the time.
    cell: usize,
    /// Index into [`Phases::fractions`].
    phase: usize,
}

/// Times on one grid.
#[derive(Debug)]
pub(super) struct Phases {
    grid: Grid,
    times: Vec<f64>,
    marks: Vec<Mark>,
    /// Fraction of a step behind a node, one for each phase.
    fractions: Vec<f64>,
}

/// Rows and their derivatives for all times of a [`Phases`].
#[derive(Debug, Default)]
pub(super) struct RowTable {
    /// First node of each time's row.
    pub first: Vec<usize>,
    /// Where in `weights` each time's row lies.
    pub place: Vec<std::ops::Range<usize>>,
    pub weights: Vec<f64>,
    /// One list like `weights` for each parameter.
    pub slopes: Vec<Vec<f64>>,
}

impl Phases {
    pub fn new(grid: Grid, times: Vec<f64>) -> Self {
        let mut known: HashMap<u64, usize> = HashMap::new();
        let mut fractions = Vec::new();
        let marks = times.iter().map(|&t| {
            let (cell, fraction) = grid.locate(t);
            let phase = *known.entry((fraction * PHASES).round() as u64).or_insert_with(|| {
                fractions.push(fraction);
                fractions.len() - 1
            });
            Mark { cell, phase }
        });
        Phases { marks: marks.collect(), grid, times, fractions }
    }

    /// Number of times.
    pub fn len(&self) -> usize {
        self.times.len()
    }

    /// The rows of `response`, whose support lies within its envelope.
    pub fn rows(&self, response: &Response, gradient: bool) -> Result<RowTable, crate::response::ResponseError> {
        let rows = ResponseRows::new(response)?;
        let (lo, hi) = response.support();
        let step = self.grid.step;
        // On this grid a time one phase behind node `before` looks at nodes inside only.
        let before = (hi.max(0.0) / step).ceil() as usize + 2;
        let behind = ((-lo).max(0.0) / step).ceil() as usize + 2;
        let wide = Grid { start: 0.0, step, nodes: before + behind + 1 };
        let mut table = RowTable { slopes: vec![Vec::new(); rows.parameter_count()], ..RowTable::default() };
        let push = |t: f64, grid: &Grid, table: &mut RowTable| {
            let start = table.weights.len();
            let first = if gradient {
                rows.row_gradient(t, grid, &mut table.weights, &mut table.slopes)
            } else {
                super::observation::ObservationRows::row(&rows, t, grid, &mut table.weights)
            };
            (first, start..table.weights.len())
        };
        let made: Vec<_> = self.fractions.iter().map(|f| push((before as f64 + f) * step, &wide, &mut table)).collect();
        for (mark, &t) in self.marks.iter().zip(&self.times) {
            let (first, place) = &made[mark.phase];
            let moved = (mark.cell + first).checked_sub(before);
            match moved.filter(|m| m + place.len() <= self.grid.nodes) {
                Some(moved) => {
                    table.first.push(moved);
                    table.place.push(place.clone());
                }
                None => {
                    // The support reaches beyond the grid by no more than rounding.
                    let (first, place) = push(t, &self.grid, &mut table);
                    table.first.push(first);
                    table.place.push(place);
                }
            }
        }
        Ok(table)
    }

    /// [`Phases::rows`] with the modality named in the error.
    pub fn named_rows(&self, response: &Response, gradient: bool, modality: &str) -> Result<RowTable, GriddedError> {
        let named = |reason| GriddedError::Response { modality: modality.to_owned(), reason };
        self.rows(response, gradient).map_err(named)
    }
}
