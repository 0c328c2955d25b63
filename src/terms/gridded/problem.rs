//! The gridded problem: grids, standardised values, rows of H, entry weights, and the names of every coordinate.
//!
//! Weights: an entry of modality m at time t weighs omega_m q_t / n_t, with q the clock weight and n_t the number of
//! observed features; each participant-run is divided by the omega present in it and all by the number of
//! participant-runs, so that all entries together weigh 1.

use std::ops::Range;
use std::sync::Arc;

use super::build::{Curves, build};
use super::error::GriddedError;
use super::latent_pooling::{LatentPooling, Track};
use super::learned::LearnedResponse;
use super::observation::{Grid, ObservationRows, Rows};
use super::response_rows::ResponseRows;
use super::slots::ResponseSlot;
use super::standardize::Scale;
use crate::data::Recording;

/// Whether the ridge on a pair's loadings is also divided by its number of features.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadingScaling {
    /// A pair's sum of squares as it is.
    Pair,
    /// A pair's sum of squares divided by its number of features.
    Feature,
}

/// What a gridded problem is made with.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Number K of latent factors.
    pub factors: usize,
    /// Seconds between grid nodes.
    pub grid_step: f64,
    /// Whether each feature is centred and scaled, pooled over runs.
    pub standardized: bool,
    /// Seconds above which an interval is a gap; `None` is twice the stream's median interval.
    pub gap_threshold: Option<f64>,
    /// One weight per modality of the recording, summing to 1; `None` weighs all alike.
    pub modality_weights: Option<Vec<f64>>,
    pub loading_scaling: LoadingScaling,
    pub latent_pooling: LatentPooling,
}

impl Options {
    /// `factors` factors on a grid of `grid_step` seconds, standardised, all modalities alike, one latent path for all.
    pub fn new(factors: usize, grid_step: f64) -> Self {
        Options {
            factors,
            grid_step,
            standardized: true,
            gap_threshold: None,
            modality_weights: None,
            loading_scaling: LoadingScaling::Pair,
            latent_pooling: LatentPooling::Shared,
        }
    }
}

/// Something a user should hear about although the problem stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// The feature does not vary and counts as zero.
    Constant { participant: String, modality: String, feature: String },
    /// The participant alone cannot tell the factors apart; the others must.
    FewerFeaturesThanFactors { participant: String, features: usize },
    /// No row of this pair lies far enough inside its runs, so it has no loadings.
    NotFitted { participant: String, modality: String },
}

/// One run and its grid.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    pub name: String,
    pub grid: Grid,
    /// First and last observed time in seconds.
    pub domain: (f64, f64),
}

impl Run {
    /// Share of the grid's duration that node `i` stands for: half a step at the ends, a step elsewhere.
    pub fn node_weight(&self, i: usize) -> f64 {
        let cells = (self.grid.nodes - 1) as f64;
        let ends = i == 0 || i + 1 == self.grid.nodes;
        if ends { 0.5 / cells } else { 1.0 / cells }
    }

    /// Factor 1 / (step * duration) of the roughness.
    pub(super) fn roughness_weight(&self) -> f64 {
        1.0 / (self.grid.step * (self.grid.last() - self.grid.start))
    }
}

/// The rows of a pair that belong to one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// Index into [`Problem::runs`].
    pub run: usize,
    /// Index into [`Problem::tracks`]: the latent path that the rows look at.
    pub track: usize,
    pub rows: Range<usize>,
}

/// A list of lists of indices, stored flat.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Lists {
    bounds: Vec<usize>,
    items: Vec<usize>,
}

impl Lists {
    pub fn collect(lists: impl Iterator<Item = Vec<usize>>) -> Self {
        let mut out = Lists { bounds: vec![0], items: Vec::new() };
        for list in lists {
            out.items.extend(list);
            out.bounds.push(out.items.len());
        }
        out
    }

    pub fn get(&self, i: usize) -> &[usize] {
        &self.items[self.bounds[i]..self.bounds[i + 1]]
    }
}

/// One participant's modality over all runs: the unit that has a loading matrix.
#[derive(Debug, Clone)]
pub struct Pair {
    pub participant: String,
    /// Index of the participant in [`Problem::participants`].
    pub participant_index: usize,
    pub modality: String,
    /// Index of the modality in [`Problem::modalities`].
    pub modality_index: usize,
    /// Feature names, length F.
    pub features: Vec<String>,
    /// Centre and scale of each feature.
    pub scales: Vec<Scale>,
    /// Index in the loading vector of feature 0, factor 0; feature-major, factor-minor.
    pub loading_offset: usize,
    /// Rows by run.
    pub segments: Vec<Segment>,
    pub(super) response: Arc<dyn ObservationRows>,
    /// Index into [`Problem::slots`], where the response is one that can be learned.
    pub(super) slot: Option<usize>,
    /// T x F standardised values, row-major; 0 where missing. Shared by the problems of other responses.
    pub(super) x: Arc<Vec<f64>>,
    /// Seconds of each row, length T.
    pub(super) times: Vec<f64>,
    /// Weight of each observed entry of a row, length T.
    pub(super) weights: Vec<f64>,
    pub(super) rows: Rows,
    /// Missing features of each row.
    pub(super) missing_by_row: Lists,
    /// Rows at which each feature is missing.
    pub(super) missing_by_feature: Lists,
    /// Factor of the pair's sum of squared loadings: 1/P, or 1/(P F).
    pub(super) ridge_weight: f64,
}

impl Pair {
    /// Number T of rows over all runs.
    pub fn row_count(&self) -> usize {
        self.weights.len()
    }

    /// Indices of the pair's loadings in the loading vector.
    pub fn loading_range(&self, factors: usize) -> Range<usize> {
        self.loading_offset..self.loading_offset + self.features.len() * factors
    }

    /// Leaves names, scales, response and place of the loadings.
    pub(super) fn forget_rows(&mut self) {
        self.segments.clear();
        self.x = Arc::default();
        self.times.clear();
        self.weights.clear();
        self.rows = Rows::default();
        self.missing_by_row = Lists::collect(std::iter::empty());
        self.missing_by_feature = Lists::collect(self.features.iter().map(|_| Vec::new()));
    }

    pub(super) fn x_row(&self, t: usize) -> &[f64] {
        let f = self.features.len();
        &self.x[t * f..(t + 1) * f]
    }
}

/// What a coordinate of the loading vector is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoadingName<'a> {
    pub participant: &'a str,
    pub modality: &'a str,
    pub feature: &'a str,
    pub factor: usize,
}

/// What a coordinate of the latent vector is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LatentName<'a> {
    pub run: &'a str,
    /// Index into [`Problem::groups`]: whose path it is.
    pub group: usize,
    pub node: usize,
    /// Seconds.
    pub time: f64,
    pub factor: usize,
}

/// The gridded problem of a recording.
#[derive(Debug, Clone)]
pub struct Problem {
    pub options: Options,
    /// Modalities of the recording, in its order.
    pub modalities: Vec<String>,
    /// Weight of each modality.
    pub modality_weights: Vec<f64>,
    /// Participants with a stream of positive weight, in the order of the recording.
    pub participants: Vec<String>,
    /// Indices of the participants who share a latent path.
    pub groups: Vec<Vec<usize>>,
    pub runs: Vec<Run>,
    /// Latent paths, run by run and within a run group by group.
    pub tracks: Vec<Track>,
    /// L of the coupling, participants x participants, where each has a path of their own.
    pub(super) coupling: Option<Vec<f64>>,
    /// Curves of the responses, by modality and, where each has their own, participant.
    pub slots: Vec<ResponseSlot>,
    /// How the response of each modality is learned; empty where responses came as rows.
    pub learned: Vec<LearnedResponse>,
    /// Sorted by participant, then modality, in the orders of the recording.
    pub pairs: Vec<Pair>,
    pub notices: Vec<Notice>,
}

impl Problem {
    /// The problem in which every stream follows the latent itself. A response with a delay or width comes in
    /// through [`Problem::with_responses`].
    pub fn new(recording: &Recording, options: &Options) -> Result<Problem, GriddedError> {
        Problem::with_responses(recording, options, &|_, _| Arc::new(ResponseRows::identity()))
    }

    /// The problem whose stream of participant `p` and modality `m` (indices of the recording) has the response
    /// `response_of(p, m)`.
    pub fn with_responses(
        recording: &Recording,
        options: &Options,
        response_of: &dyn Fn(usize, usize) -> Arc<dyn ObservationRows>,
    ) -> Result<Problem, GriddedError> {
        build(recording, options, Curves::Given(response_of))
    }

    /// The problem whose modalities (in the order of the recording) have these responses, which [`super::solve`] learns
    /// within their bounds. Rows are usable if any admissible parameters leave them usable.
    pub fn with_learned(
        recording: &Recording,
        options: &Options,
        responses: &[LearnedResponse],
    ) -> Result<Problem, GriddedError> {
        build(recording, options, Curves::Learned(responses))
    }

    /// The problem of other data under this problem's scales, responses and modality weights, with its own grids and
    /// weights. Every participant, modality and feature must be known here.
    pub fn condition(&self, recording: &Recording) -> Result<Problem, GriddedError> {
        build(recording, &self.options, Curves::Fitted(self))
    }

    /// Number K of factors.
    pub fn factors(&self) -> usize {
        self.options.factors
    }

    /// Length of the loading vector.
    pub fn loading_count(&self) -> usize {
        self.pairs.last().map_or(0, |p| p.loading_range(self.factors()).end)
    }

    /// Length of the latent vector.
    pub fn latent_count(&self) -> usize {
        self.tracks.last().map_or(0, |t| t.latent_offset + self.runs[t.run].grid.nodes * self.factors())
    }

    /// Index of a loading in the loading vector.
    pub fn loading_index(&self, pair: usize, feature: usize, factor: usize) -> usize {
        self.pairs[pair].loading_offset + feature * self.factors() + factor
    }

    /// Name of entry `index` of the loading vector, or `None` behind its end.
    pub fn loading_name(&self, index: usize) -> Option<LoadingName<'_>> {
        let k = self.factors();
        let after = self.pairs.partition_point(|p| p.loading_offset <= index);
        let pair = self.pairs.get(after.checked_sub(1)?)?;
        let inside = index - pair.loading_offset;
        Some(LoadingName {
            participant: &pair.participant,
            modality: &pair.modality,
            feature: pair.features.get(inside / k)?,
            factor: inside % k,
        })
    }

    /// Index of a latent coordinate in the latent vector.
    pub fn latent_index(&self, track: usize, node: usize, factor: usize) -> usize {
        self.tracks[track].latent_offset + node * self.factors() + factor
    }

    /// Name of entry `index` of the latent vector, or `None` behind its end.
    pub fn latent_name(&self, index: usize) -> Option<LatentName<'_>> {
        let k = self.factors();
        let after = self.tracks.partition_point(|t| t.latent_offset <= index);
        let track = self.tracks.get(after.checked_sub(1)?)?;
        let run = &self.runs[track.run];
        let inside = index - track.latent_offset;
        (inside / k < run.grid.nodes).then(|| LatentName {
            run: &run.name,
            group: track.group,
            node: inside / k,
            time: run.grid.time(inside / k),
            factor: inside % k,
        })
    }

    /// Index of the pair of a participant and modality.
    pub fn pair_index(&self, participant: &str, modality: &str) -> Option<usize> {
        self.pairs.iter().position(|p| p.participant == participant && p.modality == modality)
    }

    /// Index of a run.
    pub fn run_index(&self, run: &str) -> Option<usize> {
        self.runs.iter().position(|r| r.name == run)
    }

    /// Index of the latent path of a participant in a run. One path for all makes it the index of the run.
    pub fn track_index(&self, run: usize, participant: usize) -> usize {
        let group = self.groups.iter().position(|g| g.contains(&participant)).unwrap_or(0);
        run * self.groups.len() + group
    }

    /// The part of the latent vector that belongs to a latent path: nodes x factors, node-major.
    pub fn latent_range(&self, track: usize) -> Range<usize> {
        let t = &self.tracks[track];
        t.latent_offset..t.latent_offset + self.runs[t.run].grid.nodes * self.factors()
    }
}
