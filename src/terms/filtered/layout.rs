//! Sorts the scalars of a run into nodes and dense blocks, once, so that every later pass is a flat loop.
//!
//! Scalars that are seen through one response at one time share a functional of the latent path, so a node is a distinct
//! pair of response slot and time (exact equality); all Identity slots count as one. Scalars that share a noise variance and a modality form a block: rows by nodes,
//! features in tiles of [`LANES`], a bit per entry that says whether it was observed.

use super::error::TermError;
use super::node_kernel::{Pair, pairs};
use std::ops::Range;

/// Features per tile.
pub(super) const LANES: usize = 8;

/// Blocks filled less than this are split by feature, so that memory stays linear in the number of scalars.
const SPARSEST_FILL: f64 = 0.25;

/// One scalar observation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Observation {
    /// Seconds (or whatever the clock counts in).
    pub time: f64,
    /// Index into the term's response slots.
    pub response: u32,
    /// Index of the modality; scalars of one modality and noise are stored together.
    pub modality: u32,
    /// Row of the loadings and of the offsets.
    pub feature_key: u32,
    /// Index of its noise variance.
    pub noise: u32,
    /// The observed value, in the units of the data.
    pub value: f64,
}

/// Scalars of one noise variance, modality and response: rows by tiles of features.
#[derive(Debug, Clone)]
pub(super) struct Block {
    pub noise: usize,
    /// Loading row of each feature.
    pub keys: Vec<usize>,
    /// Node of each row. A node may own several rows where a feature was observed twice at one time.
    pub nodes: Vec<usize>,
    /// Row-major, `tiles()` per row; zero where nothing was observed.
    pub values: Vec<[f64; LANES]>,
    /// Bit per lane: observed.
    pub present: Vec<u8>,
    /// Per tile, the lanes that hold a feature.
    pub full: Vec<u8>,
    pub count: usize,
}

impl Block {
    pub fn tiles(&self) -> usize {
        self.full.len()
    }
}

/// Nodes and blocks of one run.
#[derive(Debug, Clone)]
pub(super) struct RunNodes {
    /// Time of each node: ascending within a group.
    pub times: Vec<f64>,
    /// Response slot and nodes of each group, in the order of the slots.
    pub groups: Vec<(usize, Range<usize>)>,
    /// Lags between the nodes of each two groups.
    pub pairs: Vec<Pair>,
    pub blocks: Vec<Block>,
    pub scalars: usize,
}

/// An observation whose time has become a node; `repeat` counts earlier ones of the same feature at the same node.
struct Entry {
    noise: u32,
    modality: u32,
    response: u32,
    key: u32,
    node: usize,
    repeat: usize,
    value: f64,
}

impl RunNodes {
    /// Checks the scalars of run `run` and sorts them. `same[r]` is the first slot whose functional slot r shares.
    pub fn new(
        run: usize,
        keys: usize,
        noises: usize,
        same: &[usize],
        scalars: &[Observation],
    ) -> Result<Self, TermError> {
        for (index, o) in scalars.iter().enumerate() {
            check(run, index, o, [keys, noises, same.len()])?;
        }
        // Adding zero turns -0.0 into 0.0, so that the two are one node.
        let node_of = |o: &Observation| (same[o.response as usize], o.time + 0.0);
        let order = |a: &(usize, f64), b: &(usize, f64)| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1));
        let mut nodes: Vec<(usize, f64)> = scalars.iter().map(node_of).collect();
        nodes.sort_by(order);
        nodes.dedup();
        let mut groups: Vec<(usize, Range<usize>)> = Vec::new();
        for group in nodes.chunk_by(|a, b| a.0 == b.0) {
            let first = groups.last().map_or(0, |g| g.1.end);
            groups.push((group[0].0, first..first + group.len()));
        }
        let mut entries: Vec<Entry> = scalars
            .iter()
            .map(|o| Entry {
                noise: o.noise,
                modality: o.modality,
                response: o.response,
                key: o.feature_key,
                node: nodes.partition_point(|n| order(n, &node_of(o)).is_lt()),
                repeat: 0,
                value: o.value,
            })
            .collect();
        entries.sort_by(|a, b| {
            (a.noise, a.modality, a.response, a.key, a.node)
                .cmp(&(b.noise, b.modality, b.response, b.key, b.node))
                .then(a.value.total_cmp(&b.value))
        });
        for i in 1..entries.len() {
            let (before, here) = entries.split_at_mut(i);
            let (a, b) = (&before[i - 1], &mut here[0]);
            if (a.noise, a.modality, a.response, a.key, a.node) == (b.noise, b.modality, b.response, b.key, b.node) {
                b.repeat = a.repeat + 1;
            }
        }
        let mut blocks = Vec::new();
        let one_block = |a: &Entry, b: &Entry| (a.noise, a.modality, a.response) == (b.noise, b.modality, b.response);
        for group in entries.chunk_by(one_block) {
            push_blocks(&mut blocks, group);
        }
        let times: Vec<f64> = nodes.into_iter().map(|(_, time)| time).collect();
        let pairs = pairs(&times, &groups);
        Ok(Self { times, groups, pairs, blocks, scalars: scalars.len() })
    }
}

fn check(run: usize, index: usize, o: &Observation, [keys, noises, responses]: [usize; 3]) -> Result<(), TermError> {
    let bad =
        |field, value, requirement: String| Err(TermError::BadObservation { run, index, field, value, requirement });
    if !o.time.is_finite() {
        return bad("time", o.time, "finite".into());
    }
    if !o.value.is_finite() {
        return bad("value", o.value, "finite".into());
    }
    if o.feature_key as usize >= keys {
        return bad("feature_key", f64::from(o.feature_key), format!("below {keys}"));
    }
    if o.noise as usize >= noises {
        return bad("noise", f64::from(o.noise), format!("below {noises}"));
    }
    if o.response as usize >= responses {
        return bad("response", f64::from(o.response), format!("below {responses}"));
    }
    Ok(())
}

/// Adds one block for `group` (sorted by key), or one per key where the features hardly share times.
fn push_blocks(blocks: &mut Vec<Block>, group: &[Entry]) {
    let mut rows: Vec<(usize, usize)> = group.iter().map(|e| (e.node, e.repeat)).collect();
    rows.sort_unstable();
    rows.dedup();
    let mut keys: Vec<u32> = group.iter().map(|e| e.key).collect();
    keys.dedup();
    let fill = group.len() as f64 / (rows.len() as f64 * keys.len() as f64);
    if keys.len() > 1 && fill < SPARSEST_FILL {
        for feature in group.chunk_by(|a, b| a.key == b.key) {
            push_blocks(blocks, feature);
        }
        return;
    }
    let tiles = keys.len().div_ceil(LANES);
    let mut values = vec![[0.0; LANES]; rows.len() * tiles];
    let mut present = vec![0u8; rows.len() * tiles];
    for (feature, of_key) in group.chunk_by(|a, b| a.key == b.key).enumerate() {
        let (tile, lane) = (feature / LANES, feature % LANES);
        for e in of_key {
            let row = rows.partition_point(|r| *r < (e.node, e.repeat));
            values[row * tiles + tile][lane] = e.value;
            present[row * tiles + tile] |= 1 << lane;
        }
    }
    let mut full = vec![0u8; tiles];
    for feature in 0..keys.len() {
        full[feature / LANES] |= 1 << (feature % LANES);
    }
    blocks.push(Block {
        noise: group[0].noise as usize,
        keys: keys.into_iter().map(|k| k as usize).collect(),
        nodes: rows.into_iter().map(|(node, _)| node).collect(),
        values,
        present,
        full,
        count: group.len(),
    });
}
