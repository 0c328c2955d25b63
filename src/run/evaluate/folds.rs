//! Cuts a recording into folds: what a model is fitted to, what it may look at, and what it must predict.

use super::cut::{map_streams, names, observed, rows, streams};
use crate::data::{Recording, Stream};
use crate::math::rng::{Purpose, stream as random_stream};
use crate::run::query::{QueryError, Source, Target, parse_targets};
use rand::RngExt;
use rand::seq::SliceRandom;

/// What is held out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// One run after the other; its targets are predicted from its other streams.
    Runs,
    /// One participant after the other, who is calibrated on all runs but one and predicted in that one; of a single run
    /// each half takes a turn.
    Participants,
    /// Stretches of every target, predicted from all that is left.
    Gaps,
}

impl Scheme {
    /// As it is written on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Scheme::Runs => "loro",
            Scheme::Participants => "lopo",
            Scheme::Gaps => "gaps",
        }
    }
}

/// What a prediction looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum From {
    /// The participant's other streams.
    Within,
    /// The other participants' streams.
    Across,
    /// Both of these.
    Both,
    /// Everything that is not hidden, the rest of the target included.
    Rest,
}

impl From {
    /// As it is written in tables.
    pub fn name(self) -> &'static str {
        match self {
            From::Within => "within",
            From::Across => "across",
            From::Both => "both",
            From::Rest => "rest",
        }
    }

    /// The choice of streams.
    pub fn source(self) -> Source {
        match self {
            From::Within => Source::Within,
            From::Across => Source::Across,
            From::Both | From::Rest => Source::Both,
        }
    }
}

impl std::convert::From<Source> for From {
    fn from(source: Source) -> From {
        match source {
            Source::Within => From::Within,
            Source::Across => From::Across,
            Source::Both => From::Both,
        }
    }
}

/// How a recording is cut.
#[derive(Debug, Clone, PartialEq)]
pub struct CutOptions {
    pub scheme: Scheme,
    /// Streams to predict; every one where empty. See [`parse_targets`].
    pub targets: Vec<String>,
    /// All targets are hidden at once, instead of one at a time.
    pub together: bool,
    /// For held-out runs and participants.
    pub sources: Vec<Source>,
    /// Number of folds of hidden stretches.
    pub folds: usize,
    /// Seconds of a hidden stretch; a twentieth of the longest run where absent.
    pub gap: Option<f64>,
    pub seed: u64,
}

/// One stream's held-out values.
#[derive(Debug, Clone, PartialEq)]
pub struct Test {
    pub target: Target,
    pub run: String,
    /// Feature names, length F.
    pub features: Vec<String>,
    /// Seconds, length T.
    pub times: Vec<f64>,
    /// T x F; NaN where nothing was held out.
    pub values: Vec<f64>,
    /// What there is to predict from.
    pub from: Vec<From>,
    /// Streams that must not be looked at; for hidden stretches none.
    pub hidden: Vec<Target>,
}

/// What is predicted after one fit, after one calibration where there is one.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    pub name: String,
    /// Streams of the participant whom the fit does not know.
    pub calibration: Option<Recording>,
    /// The data to predict from, targets still in them.
    pub sources: Recording,
    pub tests: Vec<Test>,
}

/// One fit.
#[derive(Debug, Clone, PartialEq)]
pub struct Fold {
    pub name: String,
    pub training: Recording,
    pub parts: Vec<Part>,
}

/// Why a recording cannot be cut, or an evaluation not be made.
#[derive(Debug, thiserror::Error)]
pub enum EvaluationError {
    #[error("--scheme {scheme} needs at least {needed} {what}; the recording has {found}")]
    TooFew { scheme: &'static str, needed: usize, what: &'static str, found: usize },
    #[error("a stretch must be a positive number of seconds, not {gap}")]
    Gap { gap: f64 },
    #[error("nothing can be predicted: {reason}")]
    Nothing { reason: &'static str },
    #[error(transparent)]
    Target(#[from] QueryError),
}

/// Cuts `recording`. The result does not depend on the order of its rows.
///
/// # Errors
/// Recordings with too few runs, participants or folds for the scheme, unknown targets, and nothing to predict.
pub fn folds(recording: &Recording, options: &CutOptions) -> Result<Vec<Fold>, EvaluationError> {
    let recording = &sorted(recording);
    let pairs = pairs_of(recording);
    let targets = if options.targets.is_empty() {
        pairs.iter().map(|(p, m)| Target { participant: p.clone(), modality: m.clone() }).collect()
    } else {
        parse_targets(&pairs, &options.targets)?
    };
    let folds = match options.scheme {
        Scheme::Runs => runs(recording, &targets, options)?,
        Scheme::Participants => participants(recording, &targets, options)?,
        Scheme::Gaps => gaps(recording, &targets, options)?,
    };
    let folds: Vec<Fold> = folds.into_iter().filter(|f| f.parts.iter().any(|p| !p.tests.is_empty())).collect();
    if folds.is_empty() {
        let reason = "no held-out stream has another stream to be predicted from; look at --from and --target";
        return Err(EvaluationError::Nothing { reason });
    }
    Ok(folds)
}

/// The recording with participants, runs and modalities sorted by name.
fn sorted(recording: &Recording) -> Recording {
    let order = |names: &[String]| {
        let mut sorted = names.to_vec();
        sorted.sort();
        let place = names.iter().map(|n| sorted.iter().position(|s| s == n).unwrap_or(0)).collect::<Vec<_>>();
        (sorted, place)
    };
    let (participants, p) = order(&recording.participants);
    let (runs, r) = order(&recording.runs);
    let (modalities, m) = order(&recording.modalities);
    let mut streams = recording.streams.clone();
    for s in &mut streams {
        (s.participant, s.run, s.modality) = (p[s.participant], r[s.run], m[s.modality]);
    }
    streams.sort_by_key(|s| (s.participant, s.run, s.modality));
    Recording { participants, runs, modalities, streams }
}

fn pairs_of(recording: &Recording) -> Vec<(String, String)> {
    let mut pairs: Vec<(String, String)> = recording
        .streams
        .iter()
        .map(|s| (recording.participants[s.participant].clone(), recording.modalities[s.modality].clone()))
        .collect();
    pairs.sort();
    pairs.dedup();
    pairs
}

/// The sources of a target that have a stream left when `hidden` are gone.
fn available(sources: &Recording, target: &Target, hidden: &[Target], wanted: &[Source]) -> Vec<From> {
    let offers = |source: &&Source| {
        sources.streams.iter().any(|s| {
            let (participant, modality, _) = names(sources, s);
            let secret = hidden.iter().any(|h| h.participant == participant && h.modality == modality);
            !secret && source.takes(participant == target.participant)
        })
    };
    wanted.iter().filter(offers).map(|s| From::from(*s)).collect()
}

/// Tests of the targets that `stream_of` accepts in the sources.
fn tests(
    sources: &Recording,
    targets: &[&Target],
    options: &CutOptions,
    rows_of: impl Fn(&Stream) -> Stream,
) -> Vec<Test> {
    let mut out = Vec::new();
    for target in targets {
        let hidden: Vec<Target> =
            if options.together { targets.iter().map(|t| (*t).clone()).collect() } else { vec![(*target).clone()] };
        for s in &sources.streams {
            let (participant, modality, run) = names(sources, s);
            if participant != target.participant || modality != target.modality {
                continue;
            }
            let from = available(sources, target, &hidden, &options.sources);
            let held_out = rows_of(s);
            if !from.is_empty() && !held_out.times.is_empty() {
                out.push(Test {
                    target: (*target).clone(),
                    run: run.to_string(),
                    features: held_out.features,
                    times: held_out.times,
                    values: held_out.values,
                    from,
                    hidden: hidden.clone(),
                });
            }
        }
    }
    out
}

fn runs(recording: &Recording, targets: &[Target], options: &CutOptions) -> Result<Vec<Fold>, EvaluationError> {
    let found = recording.runs.len();
    if found < 2 {
        return Err(EvaluationError::TooFew { scheme: "loro", needed: 2, what: "runs", found });
    }
    let fold = |run: &String| {
        let training = streams(recording, |_, _, r| r != run);
        let known = pairs_of(&training);
        let is_known = |p: &str, m: &str| known.iter().any(|(a, b)| a == p && b == m);
        // A stream that is nowhere else has no loadings, and can neither be a target nor a source.
        let sources = streams(recording, |p, m, r| r == run && is_known(p, m));
        let all: Vec<&Target> = targets.iter().filter(|t| is_known(&t.participant, &t.modality)).collect();
        let tests = tests(&sources, &all, options, Stream::clone);
        let part = Part { name: String::new(), calibration: None, sources, tests };
        Fold { name: run.clone(), training, parts: vec![part] }
    };
    Ok(recording.runs.iter().map(fold).collect())
}

fn participants(recording: &Recording, targets: &[Target], options: &CutOptions) -> Result<Vec<Fold>, EvaluationError> {
    let found = recording.participants.len();
    if found < 3 {
        return Err(EvaluationError::TooFew { scheme: "lopo", needed: 3, what: "participants", found });
    }
    let mut folds = Vec::new();
    for who in &recording.participants {
        let training = streams(recording, |p, _, _| p != who);
        let own: Vec<&Stream> =
            recording.streams.iter().filter(|s| recording.participants[s.participant] == *who).collect();
        let mut attended: Vec<&String> = own.iter().map(|s| &recording.runs[s.run]).collect();
        attended.sort();
        attended.dedup();
        // Calibration needs the latent of the others in the same run.
        attended.retain(|r| training.runs.contains(r));
        let mine: Vec<&Target> = targets.iter().filter(|t| t.participant == *who).collect();
        let mut parts = Vec::new();
        if attended.len() >= 2 {
            for run in &attended {
                let calibration =
                    streams(recording, |p, _, r| p == who && r != *run && training.runs.iter().any(|t| t == r));
                let known = pairs_of(&calibration);
                let sources =
                    streams(recording, |p, m, r| r == *run && (p != who || known.iter().any(|(_, b)| b == m)));
                let tests = tests(&sources, &mine, options, Stream::clone);
                parts.push(Part { name: (*run).clone(), calibration: Some(calibration), sources, tests });
            }
        } else if let Some(run) = attended.first() {
            let times = own.iter().flat_map(|s| s.times.iter().copied());
            let (first, last) = times.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), t| (a.min(t), b.max(t)));
            let middle = 0.5 * (first + last);
            for (name, early) in [("first half", true), ("second half", false)] {
                let in_part = |t: f64| (t < middle) == early;
                let half = |wanted: bool, s: &Stream| rows(s, |t| in_part(s.times[t]) == wanted);
                let of_who = |s: &Stream| recording.participants[s.participant] == *who;
                let here = |s: &Stream| recording.runs[s.run] == **run;
                let calibration = map_streams(recording, |s| (of_who(s) && here(s)).then(|| half(false, s)));
                let known = pairs_of(&calibration);
                let is_known = |s: &Stream| known.iter().any(|(_, m)| *m == recording.modalities[s.modality]);
                let sources = map_streams(recording, |s| match (here(s), of_who(s)) {
                    (false, _) => None,
                    (true, true) => is_known(s).then(|| half(true, s)),
                    (true, false) => Some(s.clone()),
                });
                let tests = tests(&sources, &mine, options, Stream::clone);
                parts.push(Part { name: name.into(), calibration: Some(calibration), sources, tests });
            }
        }
        folds.push(Fold { name: who.clone(), training, parts });
    }
    Ok(folds)
}

fn gaps(recording: &Recording, targets: &[Target], options: &CutOptions) -> Result<Vec<Fold>, EvaluationError> {
    if options.folds < 2 {
        return Err(EvaluationError::TooFew {
            scheme: "gaps",
            needed: 2,
            what: "folds (--folds)",
            found: options.folds,
        });
    }
    let longest = recording.domains().iter().map(|(a, b)| b - a).fold(0.0, f64::max);
    let gap = options.gap.unwrap_or(longest / 20.0);
    if !gap.is_finite() || gap <= 0.0 {
        return Err(EvaluationError::Gap { gap });
    }
    let hit = |s: &Stream| {
        let (participant, modality, _) = names(recording, s);
        targets.iter().position(|t| t.participant == participant && t.modality == modality)
    };
    // For every row of every target the fold that hides it.
    let assigned: Vec<Option<Vec<usize>>> = recording
        .streams
        .iter()
        .enumerate()
        .map(|(index, s)| hit(s).map(|_| assign(s, gap, options.folds, options.seed, index as u64)))
        .collect();
    let fold = |number: usize| {
        let mut training = recording.clone();
        let mut tests = Vec::new();
        for ((s, kept), folds) in recording.streams.iter().zip(&mut training.streams).zip(&assigned) {
            let (Some(folds), Some(target)) = (folds, hit(s)) else { continue };
            let hidden = |t: usize| folds[t] == number && observed(s, t);
            *kept = rows(s, |t| !hidden(t));
            let held_out = rows(s, hidden);
            if !held_out.times.is_empty() {
                tests.push(Test {
                    target: targets[target].clone(),
                    run: recording.runs[s.run].clone(),
                    features: held_out.features,
                    times: held_out.times,
                    values: held_out.values,
                    from: vec![From::Rest],
                    hidden: Vec::new(),
                });
            }
        }
        training.streams.retain(|s| (0..s.times.len()).any(|t| observed(s, t)));
        let training = training.compact();
        // What a stream loses in all of its runs has no loadings.
        let known = pairs_of(&training);
        tests.retain(|t| known.iter().any(|(p, m)| *p == t.target.participant && *m == t.target.modality));
        tests.retain(|t| training.runs.contains(&t.run));
        let part = Part { name: String::new(), calibration: None, sources: training.clone(), tests };
        Fold { name: format!("gaps {}", number + 1), training, parts: vec![part] }
    };
    Ok((0..options.folds).map(fold).collect())
}

/// For every row of a stream the fold that hides it: stretches of `gap` seconds from a random phase, dealt out in random
/// order, so that every fold hides about as much.
fn assign(s: &Stream, gap: f64, folds: usize, seed: u64, index: u64) -> Vec<usize> {
    let mut rng = random_stream(seed, index, Purpose::Prediction);
    let phase = rng.random_range(0.0..1.0);
    let first = s.times.first().copied().unwrap_or(0.0);
    let stretch = |t: f64| ((t - first) / gap + phase) as usize;
    let count = s.times.last().map_or(0, |&t| stretch(t) + 1);
    let mut order: Vec<usize> = (0..count).map(|i| i % folds).collect();
    order.shuffle(&mut rng);
    s.times.iter().map(|&t| order[stretch(t)]).collect()
}
