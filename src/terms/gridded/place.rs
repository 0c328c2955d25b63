//! Places runs, grids and latent paths: where the data of a problem lie before any of them is read.

use std::collections::BTreeSet;

use super::build::any_observed;
use super::error::GriddedError;
use super::latent_pooling::Track;
use super::observation::Grid;
use super::problem::{Options, Run};
use crate::data::{Recording, Stream};

/// Most nodes a grid may have; a typing error in a step or a time is caught before memory is asked for.
const MAX_NODES: usize = 10_000_000;

/// A run of the problem and its index in the recording.
pub(super) struct Placed {
    pub run: usize,
    /// Index into [`Problem::runs`].
    pub index: usize,
}

/// Names of the participants who have one of the streams.
pub(super) fn names_of_observed(recording: &Recording, streams: &[&Stream]) -> Vec<String> {
    let observed: BTreeSet<usize> = streams.iter().map(|s| s.participant).collect();
    observed.into_iter().map(|p| recording.participants[p].clone()).collect()
}

/// The latent paths of all groups in all runs.
pub(super) fn place_tracks(runs: &[Run], groups: &[Vec<usize>], participants: usize, factors: usize) -> Vec<Track> {
    let mut tracks = Vec::with_capacity(runs.len() * groups.len());
    let mut latent_offset = 0;
    for (r, run) in runs.iter().enumerate() {
        for (g, group) in groups.iter().enumerate() {
            let share = group.len() as f64 / (participants * runs.len()) as f64;
            tracks.push(Track { run: r, group: g, latent_offset, share });
            latent_offset += run.grid.nodes * factors;
        }
    }
    tracks
}

/// Domain and grid of every run that has a stream of positive weight.
pub(super) fn place_runs(
    recording: &Recording,
    options: &Options,
    streams: &[&Stream],
) -> Result<(Vec<Run>, Vec<Placed>), GriddedError> {
    let (mut runs, mut placed) = (Vec::new(), Vec::new());
    for (r, name) in recording.runs.iter().enumerate() {
        let (mut a, mut b) = (f64::INFINITY, f64::NEG_INFINITY);
        for s in streams.iter().filter(|s| s.run == r) {
            let mut observed = (0..s.times.len()).filter(|&t| any_observed(s, t));
            if let Some(first) = observed.next() {
                let last = observed.next_back().unwrap_or(first);
                a = a.min(s.times[first]);
                b = b.max(s.times[last]);
            }
        }
        if a > b {
            // Nobody was observed here; a participant who should have been is named by check_participant_runs.
            continue;
        }
        if a == b {
            return Err(GriddedError::NoDuration { run: name.clone(), time: a });
        }
        let step = options.grid_step;
        let nodes = ((b - a) / step).ceil() + 1.0;
        if nodes > MAX_NODES as f64 {
            return Err(GriddedError::GridTooLarge { run: name.clone(), step, nodes, limit: MAX_NODES });
        }
        placed.push(Placed { run: r, index: runs.len() });
        let grid = Grid { start: a, step, nodes: nodes as usize };
        runs.push(Run { name: name.clone(), grid, domain: (a, b) });
    }
    if runs.is_empty() {
        return Err(GriddedError::NothingObserved);
    }
    Ok((runs, placed))
}

/// Runs whose grids are given, and where the recording has them.
pub(super) fn given_runs(recording: &Recording, runs: &[Run]) -> (Vec<Run>, Vec<Placed>) {
    let placed = runs.iter().enumerate().filter_map(|(index, run)| {
        let at = recording.runs.iter().position(|name| *name == run.name);
        at.map(|run| Placed { run, index })
    });
    (runs.to_vec(), placed.collect())
}
