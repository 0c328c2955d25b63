//! What can go wrong between a recording and a solution, with the facts of each case.

use super::banded::Pivot;

/// Errors of the gridded shared response.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum GriddedError {
    #[error("the number of factors must be at least 1")]
    NoFactors,
    #[error("modality `{modality}`: {reason}")]
    Response { modality: String, reason: crate::response::ResponseError },
    #[error("modality `{modality}`: {reason}")]
    Learned { modality: String, reason: super::learned::LearnedError },
    #[error("response parameter {index} is {value}, outside its bounds {lo} to {hi}")]
    ResponseOutside { index: usize, value: f64, lo: f64, hi: f64 },
    #[error("{found} responses for {expected} modalities")]
    ResponseCount { expected: usize, found: usize },
    #[error("there is no participant `{participant}` with data; an affinity names participants of the recording")]
    AffinityName { participant: String },
    #[error(
        "the affinity of `{first}` and `{second}` is {value}; it must be between two participants, finite and not negative"
    )]
    Affinity { first: String, second: String, value: f64 },
    #[error("the affinity of `{first}` and `{second}` is given twice")]
    AffinityTwice { first: String, second: String },
    #[error(
        "participant `{participant}`, modality `{modality}`: no row lies far enough inside its runs for the response of the modality; give it a shorter response, or leave it out of the recording"
    )]
    TooShort { participant: String, modality: String },
    #[error("the grid step must be a finite positive number of seconds, not {step}")]
    GridStep { step: f64 },
    #[error("the gap threshold must be a finite positive number of seconds, not {threshold}")]
    GapThreshold { threshold: f64 },
    #[error("{found} modality weights for {expected} modalities")]
    WeightCount { expected: usize, found: usize },
    #[error("the weight of modality `{modality}` is {weight}; weights are finite and not negative")]
    Weight { modality: String, weight: f64 },
    #[error("the modality weights sum to {sum} instead of 1")]
    WeightSum { sum: f64 },
    #[error("`{name}` must be finite and not negative, not {value}")]
    Strength { name: &'static str, value: f64 },
    #[error("the tolerance must be finite and not negative, not {value}")]
    Tolerance { value: f64 },
    #[error("at least one restart is needed")]
    NoRestarts,
    #[error("the recording has no observed value in a modality of positive weight")]
    NothingObserved,
    #[error(
        "participant `{participant}`, run `{run}`, modality `{modality}`: {values} values for {rows} rows of {features} features"
    )]
    Shape { participant: String, run: String, modality: String, rows: usize, features: usize, values: usize },
    #[error(
        "participant `{participant}`, run `{run}`, modality `{modality}`: time {time} at row {row} does not follow the time before it"
    )]
    TimeOrder { participant: String, run: String, modality: String, row: usize, time: f64 },
    #[error(
        "participant `{participant}`, run `{run}`, modality `{modality}`: feature `{feature}` is infinite at row {row}"
    )]
    Infinite { participant: String, run: String, modality: String, feature: String, row: usize },
    #[error("participant `{participant}`, run `{run}`, modality `{modality}`: feature `{feature}` appears twice")]
    DuplicateFeature { participant: String, run: String, modality: String, feature: String },
    #[error("participant `{participant}`, modality `{modality}`: feature `{feature}` is never observed")]
    FeatureNeverObserved { participant: String, modality: String, feature: String },
    #[error(
        "participant `{participant}`, modality `{modality}`: the values of feature `{feature}` are too large to standardise"
    )]
    Overflow { participant: String, modality: String, feature: String },
    #[error("participant `{participant}` has no usable row in run `{run}` (domain {start} s to {end} s)")]
    NoUsableRows { participant: String, run: String, start: f64, end: f64 },
    #[error("participant `{participant}` has no observed value in run `{run}`")]
    NoObservedRows { participant: String, run: String },
    #[error("run `{run}` has a single observed time, {time} s; a run needs a positive duration")]
    NoDuration { run: String, time: f64 },
    #[error("run `{run}` needs {nodes:e} grid nodes at a step of {step} s; the limit is {limit}")]
    GridTooLarge { run: String, step: f64, nodes: f64, limit: usize },
    #[error("{factors} factors, but the recording has {features} features in all")]
    FactorsExceedFeatures { factors: usize, features: usize },
    #[error("{factors} factors, but the grid of run `{run}` has {nodes} nodes")]
    FactorsExceedGrid { factors: usize, run: String, nodes: usize },
    #[error("expected {expected} {what}, found {found}")]
    Length { what: &'static str, expected: usize, found: usize },
    #[error("{what} {index} is not finite")]
    NotFinite { what: &'static str, index: usize },
    #[error("run `{run}`: the latent's normal matrix is not positive definite: {pivot}")]
    LatentStep { run: String, pivot: Pivot },
    #[error(
        "run `{run}`: the coupled latent paths could not be solved, a relative residual of {residual:e} is left; a smaller coupling or a larger ridge of the latent helps"
    )]
    CoupledStep { run: String, residual: f64 },
    #[error(
        "participant `{participant}`, modality `{modality}`: the loadings' normal matrix is not positive definite: {pivot}"
    )]
    LoadingStep { participant: String, modality: String, pivot: Pivot },
    #[error("iteration {iteration}: the objective rose from {before} to {after}")]
    Increase { iteration: usize, before: f64, after: f64 },
    #[error("the objective is {value}; the values may be too large to square")]
    Objective { value: f64 },
    #[error("the singular values of the back-projected data did not converge")]
    SpectralStart,
    #[error("there is no fitted modality `{modality}`")]
    UnknownModality { modality: String },
    #[error("there is no fitted participant `{participant}`")]
    UnknownParticipant { participant: String },
    #[error(
        "nothing observed in run `{run}` reaches the latent of participant `{participant}`: neither own streams nor those of somebody who shares it or is coupled to it"
    )]
    NoDonor { participant: String, run: String },
    #[error("nothing is left to predict from: the targets and the choice of sources leave no stream")]
    NoSources,
    #[error(
        "every stream belongs to a participant and modality that have loadings already; there is nothing to calibrate"
    )]
    NothingToCalibrate,
    #[error(
        "new participants and new modalities of fitted participants need a calibration each where participants have latent paths of their own"
    )]
    MixedCalibration,
    #[error("the run `{run}` has no latent to calibrate on: it is none of the runs of the reference")]
    NoReferenceRun { run: String },
    #[error(
        "participant `{participant}`: affinities link it to the latent paths of {count} groups; to join one path it must be linked to exactly one"
    )]
    GroupOfNew { participant: String, count: usize },
    #[error(
        "participant `{participant}` has a positive affinity to no fitted participant, so nothing places its latent"
    )]
    NoNeighbour { participant: String },
    #[error("there is no run `{run}`")]
    UnknownRun { run: String },
    #[error("participant `{participant}` has no loadings for modality `{modality}`")]
    UnknownPair { participant: String, modality: String },
    #[error("participant `{participant}`, modality `{modality}` has no loadings for feature `{feature}`")]
    UnknownFeature { participant: String, modality: String, feature: String },
}
