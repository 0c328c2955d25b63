//! Why a question to a fit has no answer, with the names that would have one.

use crate::bind::{BindError, EvaluateError, FormError};
use crate::graph::LowerError;
use crate::infer::optimize::MultistartError;
use crate::terms::filtered::TermError;
use crate::terms::gridded::GriddedError;

/// Errors of queries.
#[derive(Debug, thiserror::Error)]
pub enum QueryError {
    #[error("the model `{model}` reads no recording, so there is no latent to ask about")]
    NoRecording { model: String },
    #[error("the fit holds no finished draw")]
    NoDraws,
    #[error(
        "participants have latent paths of their own, so there is no path that a new participant could be fitted to; calibrate a fit whose latent all share"
    )]
    SeveralPaths,
    #[error("the fit knows no participant `{name}`{hint}; `msrm calibrate` adds new participants")]
    Participant { name: String, hint: String },
    #[error("the fit knows no modality `{name}`{hint}")]
    Modality { name: String, hint: String },
    #[error("participant `{participant}` was fitted without modality `{modality}`; `msrm calibrate` adds it")]
    Pair { participant: String, modality: String },
    #[error("participant `{participant}`, modality `{modality}`: the fit knows no feature `{name}`{hint}")]
    Feature { participant: String, modality: String, name: String, hint: String },
    #[error("`{text}` is no target: write PARTICIPANT/MODALITY, or */MODALITY for everybody{hint}")]
    Target { text: String, hint: String },
    #[error("nobody was fitted with modality `{modality}`{hint}")]
    NobodyHas { modality: String, hint: String },
    #[error("no target is named; add for example --target {example}")]
    NoTarget { example: String },
    #[error("the data hold no stream to answer from: {reason}")]
    NoSource { reason: String },
    #[error("the spacing of the times must be a positive number of seconds, not {step}")]
    Step { step: f64 },
    #[error("run `{run}` would need {count:e} times at a spacing of {step} s; the limit is {limit}")]
    ManyTimes { run: String, step: f64, count: f64, limit: usize },
    #[error("an objective has no noise variance, so there is no sd of a new observation; leave --noise out")]
    NoNoise,
    #[error("every stream of the data was fitted already; there is nothing to calibrate")]
    NothingNew,
    #[error("run `{run}` is no run of the {what}; it has: {known}")]
    Run { run: String, what: &'static str, known: String },
    #[error(
        "the data hold no stream of a fitted participant to infer the latent from; add donors, or use --reference training"
    )]
    NoDonors,
    #[error("loadings are calibrated at a mode, and this fit holds draws; fit with --method map")]
    DrawsOnly,
    #[error(
        "participant `{participant}`, modality `{modality}`, feature `{feature}`: {found} usable values, and {needed} are needed for {factors} factors"
    )]
    FewValues { participant: String, modality: String, feature: String, found: usize, needed: usize, factors: usize },
    #[error(transparent)]
    Form(#[from] FormError),
    #[error(transparent)]
    Evaluate(#[from] EvaluateError),
    #[error(transparent)]
    Bind(#[from] BindError),
    #[error(transparent)]
    Lower(#[from] LowerError),
    #[error(transparent)]
    Climb(#[from] MultistartError),
    #[error(transparent)]
    Gridded(#[from] GriddedError),
    #[error(transparent)]
    Filtered(#[from] TermError),
}

/// "; did you mean `x`?", or what there is.
pub(super) fn hint<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    match crate::base::suggest(word, known.iter().copied()) {
        Some(near) => format!("; did you mean `{near}`?"),
        None if known.is_empty() => String::new(),
        None => {
            let shown = known.iter().take(8).copied().collect::<Vec<_>>().join(", ");
            let more = if known.len() > 8 { format!(" and {} more", known.len() - 8) } else { String::new() };
            format!("; it has: {shown}{more}")
        }
    }
}
