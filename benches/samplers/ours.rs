//! msrm on a target, through its model file and data.

use crate::score::{Run, thread_seconds};
use crate::targets::Target;
use crate::{CHAINS, DRAWS, WARMUP};
use msrm::base::Source;
use msrm::bind::{BindOptions, Input, bind};
use msrm::data::load_arrays;
use msrm::graph::{Coordinates, LogDensity, Physical, Unconstrained, lower};
use msrm::infer::{mams, nuts};
use msrm::math::rng::{Purpose, stream};
use msrm::model::check_text;
use rand::RngExt;
use std::sync::Arc;

/// A sampler with the metric that it learns.
#[derive(Clone, Copy)]
pub enum Sampler {
    Nuts(nuts::MetricKind),
    Mams(mams::PreconditionerKind),
}

/// All samplers with their names.
pub const SAMPLERS: [(&str, Sampler); 4] = [
    ("nuts", Sampler::Nuts(nuts::MetricKind::Diagonal)),
    ("nuts_dense", Sampler::Nuts(nuts::MetricKind::Dense)),
    ("mams", Sampler::Mams(mams::PreconditionerKind::Diagonal)),
    ("mams_low_rank", Sampler::Mams(mams::PreconditionerKind::LowRank)),
];

/// The log density of a target on the tape.
pub fn density(target: &Target) -> Unconstrained<Physical> {
    let text = std::fs::read_to_string(&target.model).expect("a model file");
    let source = Source::new(target.name, text);
    let model = check_text(&source).expect("a correct model");
    let input = Input::Arrays(load_arrays(&target.data).expect("arrays").0);
    let plan = bind(model, source, input, BindOptions::default()).expect("data that fit");
    let program = Arc::new(lower(&plan).expect("a program"));
    Unconstrained { physical: Physical { program }, coordinates: Coordinates::new(&plan) }
}

/// Starts of all chains, uniform on (-2, 2); the same for every sampler.
pub fn starts(dim: usize, seed: u64) -> Vec<Vec<f64>> {
    (0..CHAINS)
        .map(|chain| {
            let mut rng = stream(seed, chain, Purpose::Start);
            (0..dim).map(|_| rng.random_range(-2.0..2.0)).collect()
        })
        .collect()
}

/// Chains one after another on this thread, from the reading of the files on.
pub fn run(target: &Target, sampler: Sampler, seed: u64) -> Run {
    let begin = thread_seconds();
    let density = density(target);
    let dim = density.dim();
    let mut out = Run { chains: Vec::new(), dim, warmup_gradients: 0, gradients: 0, seconds: 0.0, divergences: 0 };
    for (chain, start) in (0..).zip(starts(dim, seed)) {
        let rng = stream(seed, chain, Purpose::Sampling);
        let mut draws = Vec::with_capacity(DRAWS * dim);
        match sampler {
            Sampler::Nuts(metric) => {
                let settings = nuts::Settings { warmup: WARMUP, draws: DRAWS, metric, ..nuts::Settings::default() };
                let mut chain = nuts::Chain::new(&density, &start, settings, rng).expect("a start");
                while !chain.is_finished() {
                    let t = chain.step();
                    if t.phase == nuts::Phase::Warmup {
                        out.warmup_gradients += u64::from(t.leapfrogs);
                    } else {
                        out.gradients += u64::from(t.leapfrogs);
                        out.divergences += usize::from(t.divergence.is_some());
                        draws.extend_from_slice(chain.position());
                    }
                }
            }
            Sampler::Mams(preconditioner) => {
                let settings =
                    mams::Settings { warmup: WARMUP, draws: DRAWS, preconditioner, ..mams::Settings::default() };
                let mut chain = mams::Chain::new(&density, &start, settings, rng).expect("a start");
                while !chain.is_finished() {
                    let t = chain.step();
                    if t.phase == mams::Phase::Warmup {
                        out.warmup_gradients += u64::from(t.gradients);
                    } else {
                        out.gradients += u64::from(t.gradients);
                        out.divergences += usize::from(t.divergence.is_some());
                        draws.extend_from_slice(chain.position());
                    }
                }
            }
        }
        out.chains.push(draws);
    }
    out.seconds = thread_seconds() - begin;
    out
}
