//! Predicts hidden streams from the others. What is predicted is taken out of the data before anything else is done.

use super::condition::Conditioned;
use super::error::QueryError;
use super::fitted::Fitted;
use super::infer::spaced;
use super::target::Target;
use crate::data::{Recording, Stream};
use crate::terms::gridded::clock_segments;

/// Which streams a prediction may look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The participant's other streams.
    Within,
    /// The other participants' streams.
    Across,
    /// All of them.
    Both,
}

impl Source {
    /// As it is written on the command line and in tables.
    pub fn name(self) -> &'static str {
        match self {
            Source::Within => "within",
            Source::Across => "across",
            Source::Both => "both",
        }
    }

    pub(in crate::run) fn takes(self, own: bool) -> bool {
        match self {
            Source::Within => own,
            Source::Across => !own,
            Source::Both => true,
        }
    }
}

/// When to predict.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Query {
    /// At the target's own times where the data have the target, else at the grid nodes or all observed times.
    Native,
    /// Every so many seconds over the observed part of each run.
    Every(f64),
}

/// How to predict.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PredictOptions {
    pub source: Source,
    pub query: Query,
    /// The sd of a new observation instead of that of the signal.
    pub noise: bool,
}

/// One predicted stream.
#[derive(Debug, Clone, PartialEq)]
pub struct Prediction {
    pub target: Target,
    pub run: String,
    /// Feature names, length F.
    pub features: Vec<String>,
    /// Seconds, length T.
    pub times: Vec<f64>,
    /// T x F, in the units of the stream; NaN where not valid.
    pub mean: Vec<f64>,
    /// T x F, for a latent with a process.
    pub sd: Option<Vec<f64>>,
    /// Whether the sources reach far enough around each time for the response of the stream.
    pub valid: Vec<bool>,
    /// Number of the participant's own streams that cover each time: it lies in no gap of theirs.
    pub within: Vec<usize>,
    /// Number of other participants' streams that cover each time.
    pub across: Vec<usize>,
}

/// All predicted streams.
#[derive(Debug, Clone, PartialEq)]
pub struct Predictions {
    pub predictions: Vec<Prediction>,
    /// What was left out, one sentence each.
    pub notes: Vec<String>,
}

/// Predicts the targets in every run of `data` (as it was read) that has a source. All targets are taken out of the
/// data first, in everybody's latent; of a target only its times are used, and only for [`Query::Native`].
///
/// # Errors
/// Data that the fit does not know, and targets without a source in any run.
pub fn predict(
    fitted: &Fitted<'_>,
    data: &Recording,
    targets: &[Target],
    options: &PredictOptions,
) -> Result<Predictions, QueryError> {
    let (hidden, native) = hide(data, targets);
    let admitted = fitted.admit(&hidden)?;
    let mut out = Predictions { predictions: Vec::new(), notes: admitted.notes };
    let mut all: Option<Conditioned<'_>> = None;
    let mut participants: Vec<&str> = targets.iter().map(|t| t.participant.as_str()).collect();
    participants.dedup();
    for participant in participants {
        let sources = keep(&admitted.recording, participant, options.source);
        if sources.streams.is_empty() {
            out.notes.push(format!("{participant}: nothing to predict from {}", options.source.name()));
            continue;
        }
        let mut own;
        let conditioned = if options.source == Source::Both {
            if all.is_none() {
                all = Some(fitted.condition(&sources)?);
            }
            all.as_mut()
        } else {
            own = fitted.condition(&sources)?;
            Some(&mut own)
        };
        let Some(conditioned) = conditioned else { continue };
        for run in &sources.runs {
            if !conditioned.runs().contains(run) {
                out.notes.push(format!("{participant}, run {run}: nothing to predict from {}", options.source.name()));
                continue;
            }
            for target in targets.iter().filter(|t| t.participant == participant) {
                let times = match options.query {
                    Query::Every(step) => spaced(run, conditioned.domain(run)?, step)?,
                    Query::Native => match native.iter().find(|(t, r, _)| *t == target && r == run) {
                        Some((_, _, times)) => times.clone(),
                        None => conditioned.natural_times(run)?,
                    },
                };
                let values = conditioned.predict(&target.participant, &target.modality, run, &times, options.noise)?;
                let features = fitted.find(participant, &target.modality).map(|k| k.features.clone());
                let covered = |own: bool| coverage(&sources, participant, run, own, &times);
                out.predictions.push(Prediction {
                    target: target.clone(),
                    run: run.clone(),
                    features: features.unwrap_or_default(),
                    within: covered(true),
                    across: covered(false),
                    times,
                    mean: values.mean,
                    sd: values.sd,
                    valid: values.valid,
                });
            }
        }
    }
    if out.predictions.is_empty() {
        let reason = format!(
            "no run has a stream {} of a target",
            match options.source {
                Source::Within => "of the participant",
                Source::Across => "of another participant than that",
                Source::Both => "that is none",
            }
        );
        return Err(QueryError::NoSource { reason });
    }
    Ok(out)
}

/// Times of one target in one run.
type Native<'t> = (&'t Target, String, Vec<f64>);

/// The data without the targets, and the targets' times.
fn hide<'t>(data: &Recording, targets: &'t [Target]) -> (Recording, Vec<Native<'t>>) {
    let target_of = |s: &Stream| {
        let (participant, modality) = (&data.participants[s.participant], &data.modalities[s.modality]);
        targets.iter().find(|t| t.participant == *participant && t.modality == *modality)
    };
    let native =
        data.streams.iter().filter_map(|s| target_of(s).map(|t| (t, data.runs[s.run].clone(), s.times.clone())));
    let native = native.collect();
    let streams = data.streams.iter().filter(|s| target_of(s).is_none()).cloned().collect();
    (Recording { streams, ..data.clone_names() }, native)
}

/// The streams that a prediction for `participant` may look at.
pub(in crate::run) fn keep(recording: &Recording, participant: &str, source: Source) -> Recording {
    let own = |s: &Stream| recording.participants[s.participant] == participant;
    let streams = recording.streams.iter().filter(|s| source.takes(own(s))).cloned().collect();
    Recording { streams, ..recording.clone_names() }
}

/// For each time the number of streams of the participant (or of the others) that have no gap there.
fn coverage(sources: &Recording, participant: &str, run: &str, own: bool, times: &[f64]) -> Vec<usize> {
    let mut counts = vec![0; times.len()];
    for stream in &sources.streams {
        if sources.runs[stream.run] != run || (sources.participants[stream.participant] == participant) != own {
            continue;
        }
        let observed: Vec<f64> = (0..stream.times.len())
            .filter(|&t| (0..stream.features.len()).any(|f| stream.value(t, f).is_some()))
            .map(|t| stream.times[t])
            .collect();
        let segments = clock_segments(&observed, None);
        for (count, time) in counts.iter_mut().zip(times) {
            let inside = |s: &std::ops::Range<usize>| *time >= observed[s.start] && *time <= observed[s.end - 1];
            *count += usize::from(segments.iter().any(inside));
        }
    }
    counts
}
