//! Sorts the scalars of a run into nodes and dense blocks, once, so that every later pass is a flat loop.
//!
//! With Identity responses every scalar observed at one time sees the same functional of the latent path, so a node is
//! a distinct time (exact equality). Scalars that share a noise variance and a modality form a block: rows by nodes,
//! features in tiles of [`LANES`], a bit per entry that says whether it was observed.

use super::error::TermError;

/// Features per tile.
pub(super) const LANES: usize = 8;

/// Blocks filled less than this are split by feature, so that memory stays linear in the number of scalars.
const SPARSEST_FILL: f64 = 0.25;

/// One scalar observation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Observation {
    /// Seconds (or whatever the clock counts in).
    pub time: f64,
    /// Index of the modality; scalars of one modality and noise are stored together.
    pub modality: u32,
    /// Row of the loadings and of the offsets.
    pub feature_key: u32,
    /// Index of its noise variance.
    pub noise: u32,
    /// The observed value, in the units of the data.
    pub value: f64,
}

/// Scalars of one noise variance: rows by tiles of features.
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
    /// Distinct times, ascending.
    pub times: Vec<f64>,
    pub blocks: Vec<Block>,
    pub scalars: usize,
}

/// An observation whose time has become a node; `repeat` counts earlier ones of the same feature at the same node.
struct Entry {
    noise: u32,
    modality: u32,
    key: u32,
    node: usize,
    repeat: usize,
    value: f64,
}

impl RunNodes {
    /// Checks the scalars of run `run` and sorts them.
    pub fn new(run: usize, keys: usize, noises: usize, scalars: &[Observation]) -> Result<Self, TermError> {
        for (index, o) in scalars.iter().enumerate() {
            check(run, index, o, keys, noises)?;
        }
        // Adding zero turns -0.0 into 0.0, so that the two are one node.
        let mut times: Vec<f64> = scalars.iter().map(|o| o.time + 0.0).collect();
        times.sort_by(f64::total_cmp);
        times.dedup();
        let mut entries: Vec<Entry> = scalars
            .iter()
            .map(|o| Entry {
                noise: o.noise,
                modality: o.modality,
                key: o.feature_key,
                node: times.partition_point(|t| *t < o.time),
                repeat: 0,
                value: o.value,
            })
            .collect();
        entries.sort_by(|a, b| {
            (a.noise, a.modality, a.key, a.node)
                .cmp(&(b.noise, b.modality, b.key, b.node))
                .then(a.value.total_cmp(&b.value))
        });
        for i in 1..entries.len() {
            let (before, here) = entries.split_at_mut(i);
            let (a, b) = (&before[i - 1], &mut here[0]);
            if (a.noise, a.modality, a.key, a.node) == (b.noise, b.modality, b.key, b.node) {
                b.repeat = a.repeat + 1;
            }
        }
        let mut blocks = Vec::new();
        for group in entries.chunk_by(|a, b| (a.noise, a.modality) == (b.noise, b.modality)) {
            push_blocks(&mut blocks, group);
        }
        Ok(Self { times, blocks, scalars: scalars.len() })
    }
}

fn check(run: usize, index: usize, o: &Observation, keys: usize, noises: usize) -> Result<(), TermError> {
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
