//! Builds a problem from a recording: checks, domains, scales, usable rows and weights.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::clock::clock_weights;
use super::error::GriddedError;
use super::latent_pooling::LatentPooling;
use super::learned::LearnedResponse;
use super::observation::{ObservationRows, Rows, eligible};
use super::place::{Placed, given_runs, names_of_observed, place_runs, place_tracks};
use super::problem::{Lists, LoadingScaling, Notice, Options, Pair, Problem, Run, Segment};
use super::slots::{Slots, slots_of};
use super::standardize::Scale;
use crate::data::{Recording, Stream};

/// A stream of positive weight with its usable rows.
pub(super) struct Usable<'a> {
    pub stream: &'a Stream,
    pub rows: Vec<usize>,
}

/// Where the responses of a problem come from.
#[derive(Clone, Copy)]
pub(super) enum Curves<'a> {
    /// Rows of a participant and modality, indices of the recording.
    Given(&'a dyn Fn(usize, usize) -> Arc<dyn ObservationRows>),
    /// One for each modality of the recording.
    Learned(&'a [LearnedResponse]),
    /// Scales, responses and weights are those of a problem, found by name.
    Fitted(&'a Problem),
    /// Pairs that the problem lacks, on given grids.
    Calibrated(&'a Calibration<'a>),
}

impl<'a> Curves<'a> {
    /// How each modality is learned; empty where responses came as rows.
    fn responses(self) -> &'a [LearnedResponse] {
        match self {
            Curves::Learned(responses) => responses,
            Curves::Calibrated(calibration) => calibration.responses,
            Curves::Given(_) | Curves::Fitted(_) => &[],
        }
    }
}

/// What a calibration takes from a fitted problem.
pub(super) struct Calibration<'a> {
    pub fitted: &'a Problem,
    /// One for each modality of the recording; fixed ones have the rows of the fitted problem.
    pub responses: &'a [LearnedResponse],
    /// The runs of the recording.
    pub runs: &'a [Run],
}

/// Builds the problem.
pub(super) fn build(recording: &Recording, options: &Options, curves: Curves) -> Result<Problem, GriddedError> {
    check_options(options)?;
    let fitted = match curves {
        Curves::Fitted(problem) => Some(problem),
        Curves::Given(_) | Curves::Learned(_) | Curves::Calibrated(_) => None,
    };
    let weights_of = match curves {
        Curves::Calibrated(c) => Some(c.fitted),
        _ => fitted,
    };
    let modality_weights = match weights_of {
        None => checked_weights(recording, options.modality_weights.as_deref())?,
        Some(f) => recording
            .modalities
            .iter()
            .map(|name| {
                let at = f.modalities.iter().position(|m| m == name);
                at.map(|i| f.modality_weights[i])
                    .ok_or_else(|| GriddedError::UnknownModality { modality: name.clone() })
            })
            .collect::<Result<_, _>>()?,
    };
    for stream in &recording.streams {
        check_stream(recording, stream)?;
    }
    let weighted: Vec<&Stream> = recording.streams.iter().filter(|s| modality_weights[s.modality] > 0.0).collect();
    let (runs, placed) = match curves {
        Curves::Calibrated(c) => given_runs(recording, c.runs),
        _ => place_runs(recording, options, &weighted)?,
    };
    let slots = match curves {
        Curves::Learned(responses) => Some(Slots::new(&recording.modalities, responses)?),
        Curves::Calibrated(c) => {
            Some(Slots::new(&recording.modalities, c.responses)?.fixed_as(c.fitted, &recording.modalities))
        }
        Curves::Given(_) | Curves::Fitted(_) => None,
    };
    let participants = match fitted {
        Some(f) => f.participants.clone(),
        None => names_of_observed(recording, &weighted),
    };
    let grouping = match curves {
        Curves::Calibrated(_) => options.latent_pooling.grouping_of_new(participants.len()),
        _ => options.latent_pooling.grouping(&participants)?,
    };
    // Paths of new participants weigh as they would among all.
    let everybody = match curves {
        Curves::Calibrated(c) if options.latent_pooling != LatentPooling::Shared => {
            let new = participants.iter().filter(|p| !c.fitted.participants.contains(p));
            c.fitted.participants.len() + new.count()
        }
        _ => participants.len(),
    };
    let tracks = place_tracks(&runs, &grouping.groups, everybody, options.factors);

    let mut by_pair: BTreeMap<(usize, usize), Vec<&Stream>> = BTreeMap::new();
    for s in &weighted {
        by_pair.entry((s.participant, s.modality)).or_default().push(s);
    }
    let mut notices = Vec::new();
    let mut drafts = Vec::new();
    for (&(participant, modality), streams) in &by_pair {
        let of_streams = |notices: &mut Vec<Notice>| {
            let features = union_of_features(streams);
            scales_of(recording, options, streams, &features, notices).map(|scales| (features, scales))
        };
        let (features, scales, response) = match (curves, &slots) {
            (Curves::Fitted(f), _) => fitted_parts(f, recording, streams)?,
            (Curves::Learned(_) | Curves::Calibrated(_), Some(slots)) => {
                let (features, scales) = of_streams(&mut notices)?;
                (features, scales, slots.rows(modality))
            }
            (Curves::Given(response_of), _) => {
                let (features, scales) = of_streams(&mut notices)?;
                (features, scales, response_of(participant, modality))
            }
            (Curves::Learned(_) | Curves::Calibrated(_), None) => continue,
        };
        let envelope = response.envelope();
        let mut usable: Vec<(&Placed, Usable)> = Vec::new();
        for place in &placed {
            let run = &runs[place.index];
            for s in streams.iter().filter(|s| s.run == place.run) {
                let rows: Vec<usize> = (0..s.times.len())
                    .filter(|&t| any_observed(s, t) && eligible(s.times[t], envelope, run.domain, &run.grid))
                    .collect();
                if !rows.is_empty() {
                    usable.push((place, Usable { stream: s, rows }));
                }
            }
        }
        if usable.is_empty() {
            notices.push(Notice::NotFitted {
                participant: recording.participants[participant].clone(),
                modality: recording.modalities[modality].clone(),
            });
        } else {
            drafts.push((features, scales, response, usable));
        }
    }

    let mut present: BTreeMap<(usize, usize), f64> = BTreeMap::new();
    for (_, _, _, usable) in &drafts {
        for (_, u) in usable {
            *present.entry((u.stream.participant, u.stream.run)).or_default() += modality_weights[u.stream.modality];
        }
    }
    check_participant_runs(recording, &present, &runs, &placed)?;
    let participant_runs = present.len() as f64;

    let pair_count = drafts.len() as f64;
    let mut pairs: Vec<Pair> = Vec::with_capacity(drafts.len());
    let mut loading_offset = 0;
    for (features, scales, response, usable) in drafts {
        let ridge_weight = match options.loading_scaling {
            LoadingScaling::Pair => 1.0 / pair_count,
            LoadingScaling::Feature => 1.0 / (pair_count * features.len() as f64),
        };
        let (participant, modality) = (usable[0].1.stream.participant, usable[0].1.stream.modality);
        let name = &recording.participants[participant];
        let participant_index = participants.iter().position(|p| p == name).unwrap_or(0);
        let mut pair = Pair {
            participant: name.clone(),
            participant_index,
            modality: recording.modalities[modality].clone(),
            modality_index: modality,
            features,
            scales,
            loading_offset,
            segments: Vec::new(),
            response,
            slot: None,
            x: Arc::default(),
            times: Vec::new(),
            weights: Vec::new(),
            rows: Rows::default(),
            missing_by_row: Lists::default(),
            missing_by_feature: Lists::default(),
            ridge_weight,
        };
        let (mut gaps, mut x) = (Vec::new(), Vec::new());
        for (place, u) in &usable {
            let share = modality_weights[modality] / present[&(u.stream.participant, u.stream.run)] / participant_runs;
            let start = pair.weights.len();
            append(&mut pair, &mut x, &mut gaps, u, &runs[place.index], share, options);
            let group = grouping.groups.iter().position(|g| g.contains(&participant_index)).unwrap_or(0);
            let track = place.index * grouping.groups.len() + group;
            pair.segments.push(Segment { run: place.index, track, rows: start..pair.weights.len() });
        }
        pair.x = Arc::new(x);
        let mut by_feature = vec![Vec::new(); pair.features.len()];
        for (t, row) in gaps.iter().enumerate() {
            for &f in row {
                by_feature[f].push(t);
            }
        }
        pair.missing_by_row = Lists::collect(gaps.into_iter());
        pair.missing_by_feature = Lists::collect(by_feature.into_iter());
        loading_offset += pair.features.len() * options.factors;
        pairs.push(pair);
    }

    let learned = curves.responses();
    let slots = slots_of(&mut pairs, &recording.modalities, learned);
    let problem = Problem {
        options: options.clone(),
        modalities: recording.modalities.clone(),
        modality_weights,
        participants,
        groups: grouping.groups,
        runs,
        tracks,
        coupling: grouping.coupling,
        slots,
        learned: learned.to_vec(),
        pairs,
        notices,
    };
    if weights_of.is_some() {
        return Ok(problem);
    }
    check_factors(problem)
}

/// Appends the usable rows of one stream to its pair, scaled and weighted.
pub(super) fn append(
    pair: &mut Pair,
    x: &mut Vec<f64>,
    gaps: &mut Vec<Vec<usize>>,
    usable: &Usable,
    run: &Run,
    share: f64,
    options: &Options,
) {
    let Usable { stream, rows } = usable;
    let columns = columns_of(stream, &pair.features);
    let times: Vec<f64> = rows.iter().map(|&t| stream.times[t]).collect();
    for (&t, q) in rows.iter().zip(clock_weights(&times, options.gap_threshold)) {
        let mut missing = Vec::new();
        for (f, (column, scale)) in columns.iter().zip(&pair.scales).enumerate() {
            match column.and_then(|c| stream.value(t, c)) {
                Some(v) => x.push((v - scale.mean) / scale.sd),
                None => {
                    x.push(0.0);
                    missing.push(f);
                }
            }
        }
        let observed = (columns.len() - missing.len()) as f64;
        pair.weights.push(share * q / observed);
        pair.rows.push(&*pair.response, stream.times[t], &run.grid);
        pair.times.push(stream.times[t]);
        gaps.push(missing);
    }
}

pub(super) fn any_observed(stream: &Stream, t: usize) -> bool {
    let f = stream.features.len();
    stream.values[t * f..(t + 1) * f].iter().any(|v| !v.is_nan())
}

fn check_options(options: &Options) -> Result<(), GriddedError> {
    if options.factors == 0 {
        return Err(GriddedError::NoFactors);
    }
    let step = options.grid_step;
    if !step.is_finite() || step <= 0.0 {
        return Err(GriddedError::GridStep { step });
    }
    match options.gap_threshold {
        Some(threshold) if !threshold.is_finite() || threshold <= 0.0 => Err(GriddedError::GapThreshold { threshold }),
        _ => Ok(()),
    }
}

fn checked_weights(recording: &Recording, given: Option<&[f64]>) -> Result<Vec<f64>, GriddedError> {
    let expected = recording.modalities.len();
    let Some(weights) = given else {
        return Ok(vec![1.0 / expected as f64; expected]);
    };
    if weights.len() != expected {
        return Err(GriddedError::WeightCount { expected, found: weights.len() });
    }
    for (modality, &weight) in recording.modalities.iter().zip(weights) {
        if !weight.is_finite() || weight < 0.0 {
            return Err(GriddedError::Weight { modality: modality.clone(), weight });
        }
    }
    let sum: f64 = weights.iter().sum();
    if (sum - 1.0).abs() > 1e-8 {
        return Err(GriddedError::WeightSum { sum });
    }
    Ok(weights.to_vec())
}

pub(super) fn check_stream(recording: &Recording, s: &Stream) -> Result<(), GriddedError> {
    let names = || {
        (
            recording.participants[s.participant].clone(),
            recording.runs[s.run].clone(),
            recording.modalities[s.modality].clone(),
        )
    };
    let (rows, features) = (s.times.len(), s.features.len());
    if rows == 0 || features == 0 || s.values.len() != rows * features {
        let (participant, run, modality) = names();
        return Err(GriddedError::Shape { participant, run, modality, rows, features, values: s.values.len() });
    }
    let mut before = f64::NEG_INFINITY;
    for (row, &time) in s.times.iter().enumerate() {
        if !time.is_finite() || time <= before {
            let (participant, run, modality) = names();
            return Err(GriddedError::TimeOrder { participant, run, modality, row, time });
        }
        before = time;
    }
    if let Some(i) = s.values.iter().position(|v| v.is_infinite()) {
        let (participant, run, modality) = names();
        return Err(GriddedError::Infinite {
            participant,
            run,
            modality,
            feature: s.features[i % features].clone(),
            row: i / features,
        });
    }
    let mut seen = BTreeSet::new();
    if let Some(feature) = s.features.iter().find(|f| !seen.insert(f.as_str())) {
        let (participant, run, modality) = names();
        return Err(GriddedError::DuplicateFeature { participant, run, modality, feature: feature.clone() });
    }
    Ok(())
}

/// All feature names of a pair's streams, in first-seen order.
pub(super) fn union_of_features(streams: &[&Stream]) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let all = streams.iter().flat_map(|s| &s.features);
    all.filter(|f| seen.insert(f.as_str())).cloned().collect()
}

/// For each feature of the pair its column in the stream; a feature the stream lacks is missing there.
fn columns_of(stream: &Stream, features: &[String]) -> Vec<Option<usize>> {
    let at: HashMap<&str, usize> = stream.features.iter().enumerate().map(|(i, f)| (f.as_str(), i)).collect();
    features.iter().map(|f| at.get(f.as_str()).copied()).collect()
}

pub(super) fn scales_of(
    recording: &Recording,
    options: &Options,
    streams: &[&Stream],
    features: &[String],
    notices: &mut Vec<Notice>,
) -> Result<Vec<Scale>, GriddedError> {
    let participant = || recording.participants[streams[0].participant].clone();
    let modality = || recording.modalities[streams[0].modality].clone();
    let columns: Vec<_> = streams.iter().map(|s| columns_of(s, features)).collect();
    let mut scales = Vec::with_capacity(features.len());
    for (f, feature) in features.iter().enumerate() {
        let values = streams.iter().zip(&columns).flat_map(|(s, columns)| {
            let column = columns[f];
            (0..s.times.len()).filter_map(move |t| column.and_then(|c| s.value(t, c)))
        });
        let scale = Scale::of(values).ok_or_else(|| GriddedError::FeatureNeverObserved {
            participant: participant(),
            modality: modality(),
            feature: feature.clone(),
        })?;
        if !options.standardized {
            scales.push(Scale::NONE);
            continue;
        }
        if !scale.mean.is_finite() || !scale.sd.is_finite() {
            return Err(GriddedError::Overflow {
                participant: participant(),
                modality: modality(),
                feature: feature.clone(),
            });
        }
        if scale.constant {
            notices.push(Notice::Constant {
                participant: participant(),
                modality: modality(),
                feature: feature.clone(),
            });
        }
        scales.push(scale);
    }
    Ok(scales)
}

type Parts = (Vec<String>, Vec<Scale>, Arc<dyn ObservationRows>);

/// Features, scales and response of the fitted pair that has the streams' names.
fn fitted_parts(fitted: &Problem, recording: &Recording, streams: &[&Stream]) -> Result<Parts, GriddedError> {
    let participant = &recording.participants[streams[0].participant];
    let modality = &recording.modalities[streams[0].modality];
    let index = fitted
        .pair_index(participant, modality)
        .ok_or_else(|| GriddedError::UnknownPair { participant: participant.clone(), modality: modality.clone() })?;
    let pair = &fitted.pairs[index];
    let known: BTreeSet<&str> = pair.features.iter().map(String::as_str).collect();
    let mut named = streams.iter().flat_map(|s| &s.features);
    match named.find(|f| !known.contains(f.as_str())) {
        Some(feature) => Err(GriddedError::UnknownFeature {
            participant: participant.clone(),
            modality: modality.clone(),
            feature: feature.clone(),
        }),
        None => Ok((pair.features.clone(), pair.scales.clone(), Arc::clone(&pair.response))),
    }
}

/// Every participant of a run must have a usable row in it.
fn check_participant_runs(
    recording: &Recording,
    present: &BTreeMap<(usize, usize), f64>,
    runs: &[Run],
    placed: &[Placed],
) -> Result<(), GriddedError> {
    for s in &recording.streams {
        if !present.contains_key(&(s.participant, s.run)) {
            let participant = recording.participants[s.participant].clone();
            let run = recording.runs[s.run].clone();
            return Err(match placed.iter().find(|p| p.run == s.run) {
                None => GriddedError::NoObservedRows { participant, run },
                Some(place) => {
                    let (start, end) = runs[place.index].domain;
                    GriddedError::NoUsableRows { participant, run, start, end }
                }
            });
        }
    }
    Ok(())
}

/// Refuses more factors than the data can carry and names the participants who have fewer features.
fn check_factors(mut problem: Problem) -> Result<Problem, GriddedError> {
    let factors = problem.factors();
    let features = problem.pairs.iter().map(|p| p.features.len()).sum();
    if factors > features {
        return Err(GriddedError::FactorsExceedFeatures { factors, features });
    }
    if let Some(run) = problem.runs.iter().find(|r| factors > r.grid.nodes) {
        return Err(GriddedError::FactorsExceedGrid { factors, run: run.name.clone(), nodes: run.grid.nodes });
    }
    let mut counts: Vec<(String, usize)> = Vec::new();
    for p in &problem.pairs {
        match counts.last_mut() {
            Some((name, n)) if *name == p.participant => *n += p.features.len(),
            _ => counts.push((p.participant.clone(), p.features.len())),
        }
    }
    for (participant, features) in counts {
        if features < factors {
            problem.notices.push(Notice::FewerFeaturesThanFactors { participant, features });
        }
    }
    Ok(problem)
}
