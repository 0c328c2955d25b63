//! NUTS chains on threads, with finished draws kept whatever happens.

use super::progress::{ChainStatus, Progress, Reporting};
use crate::archive::{ChainDraws, Draws, Metric, Quantity, Settings};
use crate::graph::{Coordinates, LogDensity, Program, Tape};
use crate::infer::nuts::{Chain, MetricKind, Phase, Settings as NutsSettings, Transition};
use crate::math::rng::{Purpose, stream};
use rayon::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// The reported quantities of a program.
pub(super) fn quantities(program: &Program) -> Vec<Quantity> {
    let one =
        |o: &crate::graph::Output| Quantity { name: o.name.clone(), shape: o.shape.clone(), labels: o.labels.clone() };
    program.outputs.iter().map(one).collect()
}

/// What all chains of a fit share.
pub(super) struct Sampler<'a> {
    /// Log density of the unconstrained coordinates.
    pub density: &'a dyn LogDensity,
    pub program: &'a Arc<Program>,
    pub coordinates: &'a Coordinates,
    pub settings: &'a Settings,
    pub stop: &'a AtomicBool,
}

impl Sampler<'_> {
    /// Samples one chain from each unconstrained start, on the threads of the current pool.
    pub fn sample(&self, starts: &[Vec<f64>], reporting: Reporting) -> Draws {
        let progress = Progress::new(reporting, starts.len(), self.settings.warmup + self.settings.draws);
        let chains = starts.par_iter().enumerate().map(|(index, start)| self.chain(index, start, &progress)).collect();
        let interrupted = self.stop.load(Ordering::Relaxed);
        Draws { quantities: quantities(self.program), chains, latent: Vec::new(), interrupted }
    }

    fn nuts_settings(&self) -> NutsSettings {
        NutsSettings {
            warmup: self.settings.warmup,
            draws: self.settings.draws,
            target_accept: self.settings.target_accept,
            max_depth: self.settings.max_depth,
            metric: match self.settings.metric {
                Metric::Diagonal => MetricKind::Diagonal,
                Metric::Dense => MetricKind::Dense,
            },
            ..NutsSettings::default()
        }
    }

    fn chain(&self, index: usize, start: &[f64], progress: &Progress) -> ChainDraws {
        let begin = Instant::now();
        let mut out = ChainDraws::default();
        let rng = stream(self.settings.seed, index as u64, Purpose::Sampling);
        let mut chain = match Chain::new(self.density, start, self.nuts_settings(), rng) {
            Ok(chain) => chain,
            Err(error) => {
                out.failure = Some(error.to_string());
                return out;
            }
        };
        let mut tape = Tape::new(Arc::clone(self.program));
        let mut physical = vec![0.0; self.coordinates.dim()];
        let mut reported = Vec::new();
        let mut divergences = 0;
        while !chain.is_finished() && !self.stop.load(Ordering::Relaxed) {
            let t = chain.step();
            out.gradients += u64::from(t.leapfrogs);
            divergences += usize::from(t.divergence.is_some());
            if t.phase == Phase::Sampling {
                self.coordinates.to_physical(chain.position(), &mut physical);
                if let Err(rejection) = tape.outputs(&physical, &mut reported) {
                    out.failure = Some(format!("a reported quantity has no value: {rejection}"));
                    break;
                }
                record(&mut out, &reported, &t);
            }
            progress.update(
                index,
                ChainStatus {
                    done: chain.completed(),
                    total: self.settings.warmup + self.settings.draws,
                    warmup: t.phase == Phase::Warmup,
                    step_size: t.step_size,
                    depth: t.depth,
                    divergences,
                    gradients: out.gradients,
                    seconds: begin.elapsed().as_secs_f64(),
                },
            );
        }
        out.warmup_divergences = chain.warmup_faults().divergences;
        out.step_size_collapses = chain.warmup_faults().step_size_collapses;
        out.step_size = chain.step_size();
        out.inverse_mass = chain.metric().inverse_mass().to_vec();
        out.seconds = begin.elapsed().as_secs_f64();
        out
    }
}

/// Adds one draw to a chain: the reported quantities and the facts of its transition.
fn record(out: &mut ChainDraws, reported: &[f64], t: &Transition) {
    out.values.extend_from_slice(reported);
    out.log_density.push(t.log_density);
    out.energy.push(t.energy);
    out.acceptance.push(t.acceptance);
    out.depth.push(t.depth);
    out.leapfrogs.push(t.leapfrogs);
    out.divergent.push(t.divergence.is_some());
    out.depth_hit.push(t.max_depth_reached);
}
