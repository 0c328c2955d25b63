//! Weights of people or modalities that were not in the fit, with everything of the fit left as it is.
//!
//! Objectives: a ridge step against the latent. Densities: the mode of the joint density of the reference's streams and
//! the new ones in the new loadings, offsets and noise variances alone, all other parameters fixed.

use super::error::{QueryError, hint};
use super::fitted::{Fitted, Gridded, place};
use super::freed::Freed;
use crate::archive::Calibrated;
use crate::bind::{Block, Constants, Key, Plan, SharedPlan, Standardisation};
use crate::data::recording::is_constant;
use crate::data::{Recording, Stream};
use crate::graph::{Physical, lower};
use crate::infer::optimize;
use crate::math::rng::{Purpose, stream};
use crate::model::Statement;
use crate::run::start::inside;
use crate::terms::gridded;
use rand::RngExt;
use std::sync::Arc;

/// Climbs of a density; all but the first start from random loadings.
const STARTS: u64 = 4;
/// Most iterations of a calibration against a grid, and the relative change of its objective at which it ends.
const CALIBRATION_ITERATIONS: usize = 5000;
const CALIBRATION_TOLERANCE: f64 = 1e-9;

/// Whose latent the new streams are fitted to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reference {
    /// That of the fit, in the runs of the fit.
    Training,
    /// That inferred from the streams of fitted participants in the new data.
    Donors,
}

impl Reference {
    /// As it is written on the command line and in archives.
    pub fn name(self) -> &'static str {
        match self {
            Reference::Training => "training",
            Reference::Donors => "donors",
        }
    }
}

/// New weights.
#[derive(Debug, Clone, PartialEq)]
pub struct Calibration {
    pub pairs: Vec<Calibrated>,
    /// What was left out or did not converge, one sentence each.
    pub notes: Vec<String>,
}

/// Weights of every stream of `data` (as it was read) that the fit does not have. `seed` fixes the random starts of a
/// density.
///
/// # Errors
/// Nothing new, modalities that the fit does not know, runs that the reference does not have, features with fewer values
/// than factors need, and fits that hold draws.
pub fn calibrate(
    fitted: &Fitted<'_>,
    data: &Recording,
    reference: Reference,
    seed: u64,
) -> Result<Calibration, QueryError> {
    if fitted.drawn {
        return Err(QueryError::DrawsOnly);
    }
    let mut notes = Vec::new();
    let (new, old) = split(fitted, data, &mut notes)?;
    if new.streams.is_empty() {
        return Err(QueryError::NothingNew);
    }
    let donors = match reference {
        Reference::Donors => {
            let admitted = fitted.admit(&old)?;
            if admitted.recording.streams.is_empty() {
                return Err(QueryError::NoDonors);
            }
            notes.extend(admitted.notes);
            Some(admitted.recording)
        }
        Reference::Training => {
            if !old.streams.is_empty() {
                notes.push("streams of fitted participants are not used: the latent is that of the fit".into());
            }
            None
        }
    };
    check_runs(fitted, &new, donors.as_ref())?;
    let mut pairs = match &fitted.gridded {
        Some(g) => against_grid(fitted, g, &new, donors.as_ref())?,
        None => {
            let trained = fitted.plan.shared.as_ref().map(|s| &s.recording);
            let Some(known) = donors.as_ref().or(trained) else { return Err(QueryError::NoDonors) };
            against_process(fitted, known, &new, seed, &mut notes)?
        }
    };
    for pair in &mut pairs {
        pair.reference = reference.name().into();
        let mut runs: Vec<String> = Vec::new();
        let same = |s: &&Stream| {
            new.participants[s.participant] == pair.participant && new.modalities[s.modality] == pair.modality
        };
        runs.extend(new.streams.iter().filter(same).map(|s| new.runs[s.run].clone()));
        pair.runs = runs;
    }
    Ok(Calibration { pairs, notes })
}

/// The streams that the fit does not have, in sorted order and without features that never vary, and the others.
fn split(fitted: &Fitted<'_>, data: &Recording, notes: &mut Vec<String>) -> Result<(Recording, Recording), QueryError> {
    let (mut new, mut old) = (data.clone_names(), data.clone_names());
    let known: Vec<&str> = fitted.known.iter().map(|k| fitted.modality(k)).collect();
    for stream in &data.streams {
        let (participant, modality) = (&data.participants[stream.participant], &data.modalities[stream.modality]);
        if fitted.find(participant, modality).is_some() {
            old.streams.push(stream.clone());
        } else if fitted.left_out(modality) {
            notes.push(format!("{participant}: modality {modality} is left out, as in the fit"));
        } else if known.contains(&modality.as_str()) {
            new.streams.push(stream.clone());
        } else {
            let mut known = known;
            known.sort_unstable();
            known.dedup();
            return Err(QueryError::Modality { name: modality.clone(), hint: hint(modality, known) });
        }
    }
    // Names decide the order of the sums, not the order of the rows of the file.
    let by_name = |s: &Stream| {
        (data.participants[s.participant].clone(), data.modalities[s.modality].clone(), data.runs[s.run].clone())
    };
    new.streams.sort_by_key(by_name);
    let mut places: Vec<(usize, usize)> = new.streams.iter().map(|s| (s.participant, s.modality)).collect();
    places.dedup();
    let mut kept = Vec::new();
    for place in places {
        let mut streams: Vec<Stream> =
            new.streams.iter().filter(|s| (s.participant, s.modality) == place).cloned().collect();
        let mut features: Vec<String> = streams.iter().flat_map(|s| s.features.clone()).collect();
        features.sort();
        features.dedup();
        let mut constant = Vec::new();
        if fitted.plan.options.constants != Constants::Keep {
            features.retain(|name| {
                let values = values_of(&streams, name);
                let varies = !values.is_empty() && !is_constant(&values);
                if !varies {
                    constant.push(name.clone());
                }
                varies
            });
        }
        let names = (&data.participants[place.0], &data.modalities[place.1]);
        if !constant.is_empty() {
            notes.push(format!("{}, {}: constant features are masked: {}", names.0, names.1, constant.join(", ")));
        }
        for s in &mut streams {
            let columns: Vec<Option<usize>> = features.iter().map(|n| s.features.iter().position(|f| f == n)).collect();
            s.values = (0..s.times.len())
                .flat_map(|t| columns.iter().map(move |c| (t, *c)))
                .map(|(t, c)| c.and_then(|c| s.value(t, c)).unwrap_or(f64::NAN))
                .collect();
            s.features.clone_from(&features);
        }
        if !features.is_empty() {
            kept.extend(streams);
        }
    }
    new.streams = kept;
    Ok((new, old))
}

/// All observed values of a feature over the streams.
fn values_of(streams: &[Stream], feature: &str) -> Vec<f64> {
    let of = |s: &Stream| -> Vec<f64> {
        let Some(column) = s.features.iter().position(|f| f == feature) else { return Vec::new() };
        (0..s.times.len()).filter_map(|t| s.value(t, column)).collect()
    };
    streams.iter().flat_map(of).collect()
}

/// Every run of the new streams must have a latent, and every feature more values than factors.
fn check_runs(fitted: &Fitted<'_>, new: &Recording, donors: Option<&Recording>) -> Result<(), QueryError> {
    let (runs, what) = match donors {
        Some(donors) => {
            let mut used: Vec<&String> = donors.streams.iter().map(|s| &donors.runs[s.run]).collect();
            used.sort();
            used.dedup();
            (used, "donors")
        }
        None => (fitted.shared.recording.runs.iter().collect(), "fit"),
    };
    for stream in &new.streams {
        let run = &new.runs[stream.run];
        if !runs.contains(&run) {
            let known = runs.iter().map(|r| r.as_str()).collect::<Vec<_>>().join(", ");
            return Err(QueryError::Run { run: run.clone(), what, known });
        }
        let streams: Vec<Stream> = new
            .streams
            .iter()
            .filter(|s| (s.participant, s.modality) == (stream.participant, stream.modality))
            .cloned()
            .collect();
        for feature in &stream.features {
            let (found, needed) = (values_of(&streams, feature).len(), fitted.factors() + 1);
            if found < needed {
                return Err(QueryError::FewValues {
                    participant: new.participants[stream.participant].clone(),
                    modality: new.modalities[stream.modality].clone(),
                    feature: feature.clone(),
                    found,
                    needed,
                    factors: fitted.factors(),
                });
            }
        }
    }
    Ok(())
}

fn against_grid(
    fitted: &Fitted<'_>,
    g: &Gridded,
    new: &Recording,
    donors: Option<&Recording>,
) -> Result<Vec<Calibrated>, QueryError> {
    if g.problem.groups.len() > 1 {
        return Err(QueryError::SeveralPaths);
    }
    let options = gridded::SolveOptions {
        strengths: g.strengths,
        max_iterations: CALIBRATION_ITERATIONS,
        tolerance: CALIBRATION_TOLERANCE,
        ..gridded::SolveOptions::default()
    };
    let (data, reference) = match donors {
        Some(donors) => (joined(donors, new), gridded::Reference::Donors),
        None => (new.clone(), gridded::Reference::Training(&g.latents)),
    };
    let links = gridded::Affinity::default();
    let found = gridded::calibrate((&g.problem, &g.loadings), &options, &data, reference, &links)?;
    let own = |index: usize| {
        let slot = found.problem.slot_of(index).map(|s| &found.problem.slots[s])?;
        slot.participant.is_some().then(|| slot.response.clone())
    };
    let one = |(index, pair): (usize, &gridded::Pair)| Calibrated {
        participant: pair.participant.clone(),
        modality: pair.modality.clone(),
        features: pair.features.clone(),
        standardisation: pair.scales.iter().map(|s| Standardisation { mean: s.mean, sd: s.sd }).collect(),
        loadings: found.loadings[pair.loading_range(fitted.factors())].to_vec(),
        offsets: Vec::new(),
        noise: None,
        response: own(index),
        reference: String::new(),
        runs: Vec::new(),
    };
    Ok(found.problem.pairs.iter().enumerate().map(one).collect())
}

/// The streams of two recordings, names matched.
fn joined(first: &Recording, second: &Recording) -> Recording {
    let mut out = first.clone();
    for stream in &second.streams {
        let participant = place(&mut out.participants, &second.participants[stream.participant]);
        let run = place(&mut out.runs, &second.runs[stream.run]);
        let modality = place(&mut out.modalities, &second.modalities[stream.modality]);
        out.streams.push(Stream { participant, run, modality, ..stream.clone() });
    }
    out
}

/// The plan of the fit over other streams, with rows for the new pairs behind its own.
fn joint_plan(fitted: &Fitted<'_>, known: &Recording, new: &Recording) -> (Plan, Vec<Calibrated>) {
    let mut shared = SharedPlan { recording: known.clone(), ..fitted.shared.clone() };
    shared.recording.participants.clone_from(&fitted.shared.recording.participants);
    let mut pairs: Vec<Calibrated> = Vec::new();
    for stream in &new.streams {
        let (participant, modality) = (&new.participants[stream.participant], &new.modalities[stream.modality]);
        let at = Stream {
            participant: place(&mut shared.recording.participants, participant),
            run: place(&mut shared.recording.runs, &new.runs[stream.run]),
            modality: place(&mut shared.recording.modalities, modality),
            ..stream.clone()
        };
        let same = |p: &Calibrated| p.participant == *participant && p.modality == *modality;
        if !pairs.last().is_some_and(same) {
            let all = |s: &&Stream| (s.participant, s.modality) == (stream.participant, stream.modality);
            let streams: Vec<Stream> = new.streams.iter().filter(all).cloned().collect();
            let mut standardisation = Vec::new();
            for (feature, name) in stream.features.iter().enumerate() {
                let label = format!("{participant},{modality},{name}");
                let scale = scale_of(&values_of(&streams, name), fitted.parts.standardized);
                standardisation.push(scale);
                shared.keys.push(Key { participant: at.participant, modality: at.modality, feature, label });
            }
            shared.standardisation.extend_from_slice(&standardisation);
            shared.noises.push((at.participant, at.modality));
            pairs.push(Calibrated {
                participant: participant.clone(),
                modality: modality.clone(),
                features: stream.features.clone(),
                standardisation,
                loadings: Vec::new(),
                offsets: Vec::new(),
                noise: None,
                response: None,
                reference: String::new(),
                runs: Vec::new(),
            });
        }
        shared.recording.streams.push(at);
    }
    shared.recording.streams.sort_by_key(|s| (s.participant, s.run, s.modality));
    shared.domains = shared.recording.domains();
    let mut plan = fitted.plan.clone();
    let rows = shared.keys.len();
    let mut offset = 0;
    for block in &mut plan.blocks {
        let of = |name: Option<&String>| name == Some(&block.name);
        let (length, columns) = if of(Some(&fitted.parts.loading)) {
            (rows * shared.factors, shared.factors)
        } else if of(fitted.parts.offset.as_ref()) {
            (rows, 1)
        } else if of(fitted.parts.noise.as_ref()) {
            (shared.noises.len(), 1)
        } else {
            (block.len(), 0)
        };
        lengthen(block, length, columns);
        block.offset = offset;
        offset += block.len();
    }
    plan.shared = Some(shared);
    (plan, pairs)
}

/// Adds coordinates to a block of weights; they are bounded like those that no convention of signs touches.
fn lengthen(block: &mut Block, length: usize, columns: usize) {
    if columns == 0 || length <= block.len() {
        return;
    }
    let loosest = block.lower.iter().copied().fold(f64::INFINITY, f64::min);
    let highest = block.upper.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    for i in block.len()..length {
        block.labels.push(format!("{}[{}]", block.name, i + 1));
    }
    block.lower.resize(length, loosest);
    block.upper.resize(length, highest);
    block.shape[0] = length / columns;
}

fn scale_of(values: &[f64], standardized: bool) -> Standardisation {
    let n = values.len() as f64;
    if !standardized || values.is_empty() {
        return Standardisation { mean: 0.0, sd: 1.0 };
    }
    let mean = values[0] + values.iter().map(|v| v - values[0]).sum::<f64>() / n;
    if is_constant(values) {
        return Standardisation { mean, sd: 1.0 };
    }
    let sd = (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n).sqrt();
    Standardisation { mean, sd }
}

/// The mode of the joint density in the new weights.
fn against_process(
    fitted: &Fitted<'_>,
    known: &Recording,
    new: &Recording,
    seed: u64,
    notes: &mut Vec<String>,
) -> Result<Vec<Calibrated>, QueryError> {
    let (plan, mut pairs) = joint_plan(fitted, known, new);
    let Some(shared) = &plan.shared else { return Err(QueryError::NoDonors) };
    let mut fixed = coordinates(fitted, &plan)?;
    let k = shared.factors;
    let old_rows = fitted.shared.keys.len();
    let old_noises = fitted.shared.noises.len();
    let mut free = Vec::new();
    let moments = shared.feature_moments(fitted.parts.standardized);
    let block = |name: Option<&String>| name.and_then(|n| plan.block(n));
    let (loading, offset, noise) =
        (block(Some(&fitted.parts.loading)), block(fitted.parts.offset.as_ref()), block(fitted.parts.noise.as_ref()));
    let mut loadings_at = Vec::new();
    if let Some(b) = loading {
        for i in old_rows * k..b.len() {
            fixed[b.offset + i] = inside((moments[i / k].1 / k as f64).sqrt(), b.lower[i], b.upper[i]);
            loadings_at.push((b.offset + i, fixed[b.offset + i]));
        }
        free.extend(b.offset + old_rows * k..b.offset + b.len());
    }
    if let Some(b) = offset {
        (old_rows..b.len()).for_each(|i| fixed[b.offset + i] = inside(moments[i].0, b.lower[i], b.upper[i]));
        free.extend(b.offset + old_rows..b.offset + b.len());
    }
    if let Some(b) = noise {
        for i in old_noises..b.len() {
            let of = |key: &&(usize, &Key)| (key.1.participant, key.1.modality) == shared.noises[i];
            let keys: Vec<(usize, &Key)> = shared.keys.iter().enumerate().collect();
            let variances: Vec<f64> = keys.iter().filter(of).map(|(row, _)| moments[*row].1).collect();
            let mean = variances.iter().sum::<f64>() / variances.len().max(1) as f64;
            fixed[b.offset + i] = inside(0.5 * mean.max(0.02), b.lower[i], b.upper[i]);
        }
        free.extend(b.offset + old_noises..b.offset + b.len());
    }
    free.sort_unstable();
    let starts: Vec<Vec<f64>> = (0..STARTS)
        .map(|index| {
            let mut x = fixed.clone();
            let mut rng = stream(seed, index, Purpose::Start);
            if index > 0 {
                loadings_at.iter().for_each(|(i, scale)| x[*i] = scale * rng.random_range(-1.0..1.0));
            }
            free.iter().map(|&i| x[i]).collect()
        })
        .collect();
    let (lower_bounds, upper_bounds) = plan.bounds();
    let of_free = |v: &[f64]| free.iter().map(|&i| v[i]).collect::<Vec<_>>();
    let (lo, hi) = (of_free(&lower_bounds), of_free(&upper_bounds));
    let density = Freed { density: Physical { program: Arc::new(lower(&plan)?) }, fixed: fixed.clone(), free };
    let result = optimize::maximize(&density, &starts, &lo, &hi, &optimize::Settings::default(), 1)?;
    let best = result.best();
    if !best.is_certified() {
        notes.push(format!("the new weights did not converge: {}", best.termination));
    }
    for (&i, &value) in density.free.iter().zip(&best.x) {
        fixed[i] = value;
    }
    let (mut row, mut variance) = (old_rows, old_noises);
    for pair in &mut pairs {
        let n = pair.features.len();
        let values = |b: Option<&Block>, from: usize, to: usize| {
            b.map(|b| fixed[b.offset + from..b.offset + to].to_vec()).unwrap_or_default()
        };
        pair.loadings = values(loading, row * k, (row + n) * k);
        pair.offsets = values(offset, row, row + n);
        pair.noise = values(noise, variance, variance + 1).first().copied();
        row += n;
        variance += 1;
    }
    Ok(pairs)
}

/// The coordinates of the joint plan at the parameters of the fit; the new ones are zero.
fn coordinates(fitted: &Fitted<'_>, plan: &Plan) -> Result<Vec<f64>, QueryError> {
    let Some(env) = fitted.points.first() else { return Err(QueryError::NoDraws) };
    let mut x = vec![0.0; plan.dim()];
    for block in &plan.blocks {
        let Some(value) = env.get(&block.name) else { continue };
        let x = &mut x[block.offset..block.offset + block.len()];
        let is_it = |s: &&Statement| matches!(s, Statement::Param(p) if p.name == block.name);
        match plan.model.statements.iter().find(is_it) {
            Some(Statement::Param(param)) => x.copy_from_slice(&block.to_coordinates(param, env, &value.values)?),
            // Weights and responses are their own coordinates; those of new pairs come behind.
            _ => x.iter_mut().zip(&value.values).for_each(|(x, v)| *x = *v),
        }
    }
    Ok(x)
}
