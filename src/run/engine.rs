//! One Markov chain of either sampler behind one face: what the driver needs of a transition, and nothing else.

use crate::archive::{Method, Metric, Settings};
use crate::graph::LogDensity;
use crate::infer::{mams, nuts};
use rand_chacha::ChaCha8Rng;

/// A chain of the sampler that was asked for.
pub(super) enum Engine<'a> {
    Nuts(Box<nuts::Chain<'a>>),
    Mams(Box<mams::Chain<'a>>),
}

/// How far a transition went.
#[derive(Debug, Clone, Copy)]
pub(super) enum Extent {
    /// Doublings of a NUTS tree.
    Depth(u32),
    /// Steps of a MAMS trajectory.
    Steps(u32),
}

/// The facts of one transition.
pub(super) struct Step {
    pub warmup: bool,
    pub log_density: f64,
    /// Total Hamiltonian after the momentum was refreshed; only NUTS has one.
    pub energy: Option<f64>,
    pub acceptance: f64,
    pub extent: Extent,
    pub gradients: u32,
    pub divergent: bool,
    /// Whether a tree ended at its limit; only NUTS has trees.
    pub depth_hit: Option<bool>,
    pub step_size: f64,
}

impl<'a> Engine<'a> {
    /// A chain of `settings.method` at an unconstrained start.
    pub fn new(
        density: &'a dyn LogDensity,
        start: &[f64],
        settings: &Settings,
        rng: ChaCha8Rng,
    ) -> Result<Self, nuts::StartError> {
        if settings.method == Method::Mams {
            let options = mams::Settings {
                warmup: settings.warmup,
                draws: settings.draws,
                target_accept: settings.target_accept,
                preconditioner: match settings.metric {
                    Metric::LowRank => mams::PreconditionerKind::LowRank,
                    Metric::Diagonal | Metric::Dense => mams::PreconditionerKind::Diagonal,
                },
                ..mams::Settings::default()
            };
            return Ok(Engine::Mams(Box::new(mams::Chain::new(density, start, options, rng)?)));
        }
        let options = nuts::Settings {
            warmup: settings.warmup,
            draws: settings.draws,
            target_accept: settings.target_accept,
            max_depth: settings.max_depth,
            metric: match settings.metric {
                Metric::Diagonal => nuts::MetricKind::Diagonal,
                Metric::LowRank => nuts::MetricKind::LowRank,
                Metric::Dense => nuts::MetricKind::Dense,
            },
            ..nuts::Settings::default()
        };
        Ok(Engine::Nuts(Box::new(nuts::Chain::new(density, start, options, rng)?)))
    }

    /// Makes one transition.
    pub fn step(&mut self) -> Step {
        match self {
            Engine::Nuts(chain) => {
                let t = chain.step();
                Step {
                    warmup: t.phase == nuts::Phase::Warmup,
                    log_density: t.log_density,
                    energy: Some(t.energy),
                    acceptance: t.acceptance,
                    extent: Extent::Depth(t.depth),
                    gradients: t.leapfrogs,
                    divergent: t.divergence.is_some(),
                    depth_hit: Some(t.max_depth_reached),
                    step_size: t.step_size,
                }
            }
            Engine::Mams(chain) => {
                let t = chain.step();
                Step {
                    warmup: t.phase == mams::Phase::Warmup,
                    log_density: t.log_density,
                    energy: None,
                    acceptance: t.acceptance,
                    extent: Extent::Steps(t.steps),
                    gradients: t.gradients,
                    divergent: t.divergence.is_some(),
                    depth_hit: None,
                    step_size: t.step_size,
                }
            }
        }
    }

    /// Whether all draws are made.
    pub fn is_finished(&self) -> bool {
        match self {
            Engine::Nuts(chain) => chain.is_finished(),
            Engine::Mams(chain) => chain.is_finished(),
        }
    }

    /// Transitions made so far.
    pub fn completed(&self) -> usize {
        match self {
            Engine::Nuts(chain) => chain.completed(),
            Engine::Mams(chain) => chain.completed(),
        }
    }

    /// The current unconstrained position.
    pub fn position(&self) -> &[f64] {
        match self {
            Engine::Nuts(chain) => chain.position(),
            Engine::Mams(chain) => chain.position(),
        }
    }

    /// The step size now.
    pub fn step_size(&self) -> f64 {
        match self {
            Engine::Nuts(chain) => chain.step_size(),
            Engine::Mams(chain) => chain.step_size(),
        }
    }

    /// The diagonal of the inverse mass, or the whole matrix row by row if it is dense; for MAMS the squared scales.
    pub fn inverse_mass(&self) -> Vec<f64> {
        match self {
            Engine::Nuts(chain) => chain.metric().inverse_mass().to_vec(),
            Engine::Mams(chain) => chain.preconditioner().scales().iter().map(|s| s * s).collect(),
        }
    }

    /// What went wrong during warm-up.
    pub fn warmup_faults(&self) -> nuts::WarmupFaults {
        match self {
            Engine::Nuts(chain) => chain.warmup_faults(),
            Engine::Mams(chain) => chain.warmup_faults(),
        }
    }
}
