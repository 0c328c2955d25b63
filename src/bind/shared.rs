//! Joins a recording with a shared-response model: which streams take part, and the coordinates of their weights.

use super::forms::Form;
use super::paths;
use super::plan::{Block, Constants, Plan};
use super::responses::{ResponsePenalty, Responses, penalties};
use crate::bind::evaluate::evaluate;
use crate::data::recording::is_constant;
use crate::data::{Edge, Recording, Stream};
use crate::lang::ast::Paths;
use crate::math::dist;
use crate::model::{Latent, ModalityResponse, Shared, SharedTerm, Statement};
use serde::{Deserialize, Serialize};

/// One feature of one participant's modality: a row of the loadings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Key {
    pub participant: usize,
    pub modality: usize,
    /// Index among the features of this participant and modality.
    pub feature: usize,
    /// `sub-01,bold,LATL`
    pub label: String,
}

/// Mean and standard deviation taken out of a feature before the fit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Standardisation {
    pub mean: f64,
    pub sd: f64,
}

/// The recording as the fit sees it, and where its weights lie.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SharedPlan {
    /// In the units of the data; masked entries are NaN.
    pub recording: Recording,
    pub factors: usize,
    /// Rows of the loadings, in participant, modality, feature order.
    pub keys: Vec<Key>,
    /// Mean 0 and sd 1 where the recording is not standardised. Same order as `keys`.
    pub standardisation: Vec<Standardisation>,
    /// (participant, modality) of each noise variance.
    pub noises: Vec<(usize, usize)>,
    /// How the streams follow the latent.
    pub responses: Responses,
    /// For a latent on a grid: its step in seconds.
    pub grid_step: Option<f64>,
    /// Groups of participants who share a latent path.
    pub paths: Vec<Vec<usize>>,
    /// Affinities of participants; pairs that are not named have affinity 0.
    pub affinity: Vec<Edge>,
    /// Priors of learned response parameters as penalties of an objective.
    pub penalties: Vec<ResponsePenalty>,
    /// First and last observed time of each run, in seconds.
    pub domains: Vec<(f64, f64)>,
    /// Row of the loadings whose sign is fixed to be positive (one factor, density models).
    pub anchor: Option<usize>,
    /// Value of each coefficient of the objective.
    pub objective: Vec<(SharedTerm, f64)>,
}

/// Why a recording does not fit a model.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SharedError {
    #[error("the recording has no modality `{wanted}`; it has: {}", present.join(", "))]
    Modality { wanted: String, present: Vec<String> },
    #[error("the model gives `{modality}` a response, but the recording has no such modality; it has: {}", present.join(", "))]
    Response { modality: String, present: Vec<String> },
    #[error(
        "constant features: {}. Leave them out of the file, or let the fit mask them with --constant mask",
        features.join("; ")
    )]
    Constant { features: Vec<String> },
    #[error(
        "participant {participant}, modality {modality}, feature {feature} has no observed value in any run; leave the feature out of the file"
    )]
    Empty { participant: String, modality: String, feature: String },
    #[error("nothing is left to fit: every feature is constant or missing")]
    Nothing,
    #[error(
        "{factors} factors are more than the {rows} features all participants have together; lower `factors` in the model"
    )]
    Factors { factors: usize, rows: usize },
    #[error(
        "no value is left for `{parameter}`: above {lower} and below {upper}; check its bounds and the data they are made of"
    )]
    ResponseBounds { parameter: String, lower: f64, upper: f64 },
    #[error(
        "the model ties participants by their affinity; give it with --affinity FILE.csv (columns first, second, affinity)"
    )]
    NoAffinity,
    #[error("the model does not use the affinities; drop --affinity, or write `per component` or `neighbors(z)`")]
    UnusedAffinity,
    #[error("the affinities name `{name}`, who is no participant of the fit; there are: {}", present.join(", "))]
    AffinityName { name: String, present: Vec<String> },
    #[error(
        "the affinity of `{first}` and `{second}` is {affinity}; it must be between two participants, finite and not negative"
    )]
    Affinity { first: String, second: String, affinity: f64 },
    #[error("the affinity of `{first}` and `{second}` is given twice")]
    AffinityTwice { first: String, second: String },
    #[error("the standard deviation of the prior of `{parameter}` is {sd}; it must be a positive number")]
    ResponsePrior { parameter: String, sd: f64 },
    #[error("the {what} is {value}; it must be a positive number")]
    NotPositive { what: &'static str, value: f64 },
}

/// Adds the recording and the coordinates of the weights to `plan`.
pub(super) fn add(plan: &mut Plan, recording: Recording, notes: &mut Vec<String>) -> Result<(), SharedError> {
    let Some(shared) = plan.model.shared.clone() else { return Ok(()) };
    let mut recording = select(recording, &plan.options.modalities, notes)?;
    for ModalityResponse { modality, .. } in &shared.responses {
        if !recording.modalities.contains(modality) && plan.options.modalities.is_empty() {
            return Err(SharedError::Response { modality: modality.clone(), present: recording.modalities });
        }
    }
    align_features(&mut recording);
    let recording = handle_constants(recording, plan.options.constants, notes)?;
    let (keys, noises) = layout(&recording);
    if keys.is_empty() {
        return Err(SharedError::Nothing);
    }
    let factors = shared.factors.1;
    if factors > keys.len() {
        return Err(SharedError::Factors { factors, rows: keys.len() });
    }
    let standardisation = standardise(&recording, &keys, shared.standardized)?;
    let number = |t: &crate::model::Typed| evaluate(t, &plan.values).map_or(f64::NAN, |v| v.values[0]);
    let grid_step = match &shared.latent {
        Latent::Grid { step, .. } => {
            let value = number(step);
            if value.is_nan() || value <= 0.0 {
                return Err(SharedError::NotPositive { what: "step of the grid", value });
            }
            Some(value)
        }
        Latent::Process { .. } => None,
    };
    let objective: Vec<(SharedTerm, f64)> = shared.objective.iter().map(|(term, c)| (*term, number(c))).collect();
    let choice = match &shared.latent {
        Latent::Grid { paths, .. } => *paths,
        Latent::Process { .. } => Paths::Shared,
    };
    let paths = paths::groups(choice, &objective, &recording.participants, &plan.options.affinity)?;
    let anchor = (factors == 1 && grid_step.is_none()).then(|| anchor(&recording, &keys));
    let penalties = if grid_step.is_some() { penalties(&shared.responses, &plan.values)? } else { Vec::new() };
    let domains = recording.domains();
    let (responses, learned) = Responses::new(&shared.responses, &recording, &plan.values)?;
    let mut plan_shared = SharedPlan {
        recording,
        factors,
        keys,
        standardisation,
        noises,
        responses,
        grid_step,
        paths,
        affinity: plan.options.affinity.clone(),
        penalties,
        domains,
        anchor,
        objective,
    };
    let mut blocks = weight_blocks(plan, &shared, &plan_shared);
    let mut offset = plan.dim() + blocks.iter().map(Block::len).sum::<usize>();
    let coordinates = &mut plan_shared.responses.coordinates;
    *coordinates = offset..offset + coordinates.len();
    blocks.extend(learned);
    offset = plan.dim();
    for block in &mut blocks {
        block.offset = offset;
        offset += block.len();
    }
    plan.blocks.extend(blocks);
    plan.shared = Some(plan_shared);
    Ok(())
}

/// Keeps the wanted modalities.
fn select(recording: Recording, wanted: &[String], notes: &mut Vec<String>) -> Result<Recording, SharedError> {
    if wanted.is_empty() {
        return Ok(recording);
    }
    for w in wanted {
        if !recording.modalities.contains(w) {
            return Err(SharedError::Modality { wanted: w.clone(), present: recording.modalities.clone() });
        }
    }
    let left: Vec<&str> = recording.modalities.iter().filter(|m| !wanted.contains(m)).map(String::as_str).collect();
    if !left.is_empty() {
        notes.push(format!("modality {} is left out, as asked", left.join(", ")));
    }
    let keep: Vec<bool> = recording.modalities.iter().map(|m| wanted.contains(m)).collect();
    let streams = recording.streams.iter().filter(|s| keep[s.modality]).cloned().collect();
    Ok(Recording { streams, ..recording }.compact())
}

/// Puts the features of every run into the order of the participant's first run.
fn align_features(recording: &mut Recording) {
    for i in 0..recording.streams.len() {
        let (done, rest) = recording.streams.split_at_mut(i);
        let stream = &mut rest[0];
        let first = done.iter().find(|s| s.participant == stream.participant && s.modality == stream.modality);
        let Some(first) = first.filter(|f| f.features != stream.features) else { continue };
        let order: Vec<usize> =
            first.features.iter().filter_map(|name| stream.features.iter().position(|f| f == name)).collect();
        keep_columns(stream, &order);
    }
}

/// Masks, refuses or keeps features that never vary (over all runs of a participant), and tells in `notes` what went.
///
/// # Errors
/// Such a feature, where `policy` refuses them.
pub fn handle_constants(
    mut recording: Recording,
    policy: Constants,
    notes: &mut Vec<String>,
) -> Result<Recording, SharedError> {
    let (keys, _) = layout(&recording);
    let mut found: Vec<(Key, f64)> = Vec::new();
    for key in keys {
        let values = observed(&recording, &key);
        if !values.is_empty() && is_constant(&values) {
            found.push((key, values[0]));
        }
    }
    if found.is_empty() || policy == Constants::Keep {
        return Ok(recording);
    }
    let named: Vec<String> = found.iter().map(|(k, v)| format!("{} (always {v})", k.label)).collect();
    if policy == Constants::Refuse {
        return Err(SharedError::Constant { features: named });
    }
    for group in found.chunk_by(|a, b| (a.0.participant, a.0.modality) == (b.0.participant, b.0.modality)) {
        let (participant, modality) =
            (&recording.participants[group[0].0.participant], &recording.modalities[group[0].0.modality]);
        let features: Vec<String> = group
            .iter()
            .map(|(k, v)| format!("{} (always {v})", k.label.splitn(3, ',').last().unwrap_or_default()))
            .collect();
        notes.push(format!("{participant}, {modality}: constant features are masked: {}", features.join(", ")));
    }
    for stream in &mut recording.streams {
        let drop: Vec<usize> = found
            .iter()
            .filter(|(k, _)| k.participant == stream.participant && k.modality == stream.modality)
            .map(|(k, _)| k.feature)
            .collect();
        remove_features(stream, &drop);
    }
    recording.streams.retain(|s| !s.features.is_empty());
    let before = recording.participants.clone();
    let recording = recording.compact();
    for participant in before.iter().filter(|p| !recording.participants.contains(p)) {
        notes.push(format!("participant {participant} has nothing else and is left out of the fit"));
    }
    Ok(recording)
}

fn remove_features(stream: &mut Stream, drop: &[usize]) {
    if !drop.is_empty() {
        let keep: Vec<usize> = (0..stream.features.len()).filter(|f| !drop.contains(f)).collect();
        keep_columns(stream, &keep);
    }
}

/// Keeps these features, in this order.
fn keep_columns(stream: &mut Stream, keep: &[usize]) {
    let width = stream.features.len();
    stream.values = (0..stream.times.len())
        .flat_map(|t| keep.iter().map(move |f| t * width + f))
        .map(|i| stream.values[i])
        .collect();
    stream.features = keep.iter().map(|&f| stream.features[f].clone()).collect();
}

/// All observed values of a feature, over runs.
fn observed(recording: &Recording, key: &Key) -> Vec<f64> {
    recording
        .streams
        .iter()
        .filter(|s| s.participant == key.participant && s.modality == key.modality)
        .flat_map(|s| (0..s.times.len()).filter_map(|t| s.value(t, key.feature)))
        .collect()
}

/// Rows of the loadings and the noise variances, in participant, modality, feature order.
fn layout(recording: &Recording) -> (Vec<Key>, Vec<(usize, usize)>) {
    let mut keys = Vec::new();
    let mut noises = Vec::new();
    for participant in 0..recording.participants.len() {
        for modality in 0..recording.modalities.len() {
            let stream = recording.streams.iter().find(|s| s.participant == participant && s.modality == modality);
            let Some(stream) = stream else { continue };
            noises.push((participant, modality));
            for (feature, name) in stream.features.iter().enumerate() {
                let label =
                    format!("{},{},{name}", recording.participants[participant], recording.modalities[modality]);
                keys.push(Key { participant, modality, feature, label });
            }
        }
    }
    (keys, noises)
}

fn standardise(recording: &Recording, keys: &[Key], standardized: bool) -> Result<Vec<Standardisation>, SharedError> {
    let mut out = Vec::with_capacity(keys.len());
    for key in keys {
        let values = observed(recording, key);
        if values.is_empty() {
            let mut parts = key.label.splitn(3, ',').map(str::to_string);
            let mut next = || parts.next().unwrap_or_default();
            return Err(SharedError::Empty { participant: next(), modality: next(), feature: next() });
        }
        out.push(if standardized && !is_constant(&values) {
            let n = values.len() as f64;
            let mean = values.iter().sum::<f64>() / n;
            let sd = (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n).sqrt();
            Standardisation { mean, sd }
        } else if standardized {
            Standardisation { mean: values[0], sd: 1.0 }
        } else {
            Standardisation { mean: 0.0, sd: 1.0 }
        });
    }
    Ok(out)
}

impl SharedPlan {
    /// Mean and variance of every key, in the units the fit sees.
    pub fn feature_moments(&self, standardized: bool) -> Vec<(f64, f64)> {
        let one = |(key, scale): (&Key, &Standardisation)| {
            let values = observed(&self.recording, key);
            let n = values.len().max(1) as f64;
            let mean = values.iter().sum::<f64>() / n;
            let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n;
            if standardized {
                ((mean - scale.mean) / scale.sd, variance / (scale.sd * scale.sd))
            } else {
                (mean, variance)
            }
        };
        self.keys.iter().zip(&self.standardisation).map(one).collect()
    }

    /// The coefficient of a term of the objective; 0 for a term that it does not have.
    pub fn coefficient(&self, term: SharedTerm) -> f64 {
        self.objective.iter().find(|o| o.0 == term).map_or(0.0, |o| o.1)
    }

    /// Names of the latent paths of a run, participants joined by `+`; `None` for one path that all share.
    pub fn path_names(&self) -> Vec<Option<String>> {
        if let [_] = self.paths[..] {
            return vec![None];
        }
        let name =
            |group: &Vec<usize>| group.iter().map(|&p| self.recording.participants[p].as_str()).collect::<Vec<_>>();
        self.paths.iter().map(|group| Some(name(group).join("+"))).collect()
    }

    /// Number of nodes of the latent's grid in each run; empty without a grid.
    pub fn grid_nodes(&self) -> Vec<usize> {
        let Some(step) = self.grid_step else { return Vec::new() };
        self.domains.iter().map(|(first, last)| ((last - first) / step).ceil() as usize + 1).collect()
    }
}

/// First key in the sorted order of (participant, modality, feature) names.
fn anchor(recording: &Recording, keys: &[Key]) -> usize {
    let name = |k: &Key| {
        let stream = recording.streams.iter().find(|s| s.participant == k.participant && s.modality == k.modality);
        let feature = stream.map(|s| &s.features[k.feature]);
        (&recording.participants[k.participant], &recording.modalities[k.modality], feature)
    };
    (0..keys.len()).min_by_key(|&i| name(&keys[i])).unwrap_or(0)
}

/// Coordinates of loadings, offsets, noise variances, or of loadings and the latent on its grid.
fn weight_blocks(plan: &Plan, shared: &Shared, s: &SharedPlan) -> Vec<Block> {
    let support = |name: &str| {
        plan.model.statements.iter().find_map(|statement| match statement {
            Statement::WeightPrior { name: n, draw, .. } if n == name => {
                let value = |t| evaluate(t, &plan.values).map_or(f64::NAN, |v| v.values[0]);
                // Arguments that depend on parameters do not move a support.
                let arguments: Vec<f64> =
                    draw.arguments.iter().map(|a| if a.data_only { value(a) } else { 1.0 }).collect();
                let everything = (f64::NEG_INFINITY, f64::INFINITY);
                let (mut lo, mut hi) = dist::find(&draw.family).map_or(everything, |d| d.support.bounds(&arguments));
                if let Some((a, b)) = &draw.truncation {
                    (lo, hi) = (lo.max(value(a)), hi.min(value(b)));
                }
                Some((lo, hi))
            }
            _ => None,
        })
    };
    let block = |name: &str, shape: Vec<usize>, labels: Vec<String>| {
        let (lo, hi) = support(name).unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
        let n = labels.len();
        Block {
            name: name.to_string(),
            form: Form::Direct,
            shape,
            labels,
            offset: 0,
            lower: vec![lo; n],
            upper: vec![hi; n],
        }
    };
    let k = s.factors;
    let loading_labels = s.keys.iter().flat_map(|key| (1..=k).map(move |f| (key, f)));
    let loading_labels = loading_labels.map(|(key, f)| format!("{}[{},{f}]", shared.loading, key.label)).collect();
    let mut loading = block(&shared.loading, vec![s.keys.len(), k], loading_labels);
    if let Some(anchor) = s.anchor {
        loading.lower[anchor] = loading.lower[anchor].max(0.0);
    }
    let mut blocks = vec![loading];
    if let Some(b) = &shared.offset {
        let labels = s.keys.iter().map(|key| format!("{b}[{}]", key.label)).collect();
        blocks.push(block(b, vec![s.keys.len()], labels));
    }
    if let Latent::Grid { name, .. } = &shared.latent {
        let mut labels = Vec::new();
        for (nodes, run) in s.grid_nodes().into_iter().zip(&s.recording.runs) {
            for path in s.path_names() {
                let path = path.map(|p| format!(",{p}")).unwrap_or_default();
                labels.extend(
                    (1..=nodes)
                        .flat_map(|i| (1..=k).map(move |f| (i, f)))
                        .map(|(i, f)| format!("{name}[{run}{path},{i},{f}]")),
                );
            }
        }
        blocks.push(block(name, vec![labels.len() / k, k], labels));
    }
    if let Some(v) = &shared.noise {
        let names =
            |&(p, m): &(usize, usize)| format!("{v}[{},{}]", s.recording.participants[p], s.recording.modalities[m]);
        blocks.push(block(v, vec![s.noises.len()], s.noises.iter().map(names).collect()));
    }
    blocks
}
