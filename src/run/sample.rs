//! Chains on threads, with finished draws kept whatever happens.

use super::engine::{Engine, Extent, Step};
use super::progress::{ChainStatus, Progress, Reporting};
use crate::archive::{ChainDraws, Draws, Quantity, Settings};
use crate::graph::{Coordinates, LogDensity, Program, Tape};
use crate::math::rng::{Purpose, stream};
use rayon::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// The reported quantities of a program.
pub(super) fn quantities(program: &Program) -> Vec<Quantity> {
    let one = |o: &crate::graph::Output| Quantity {
        name: o.name.clone(),
        group: o.group,
        integer: o.integer,
        shape: o.shape.clone(),
        labels: o.labels.clone(),
    };
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

    fn chain(&self, index: usize, start: &[f64], progress: &Progress) -> ChainDraws {
        let begin = Instant::now();
        let mut out = ChainDraws::default();
        let rng = stream(self.settings.seed, index as u64, Purpose::Sampling);
        let mut chain = match Engine::new(self.density, start, self.settings, rng) {
            Ok(chain) => chain,
            Err(error) => {
                out.failure = Some(error.to_string());
                return out;
            }
        };
        let mut tape = Tape::new(Arc::clone(self.program));
        tape.set_random(stream(self.settings.seed, index as u64, Purpose::Prediction));
        let mut physical = vec![0.0; self.coordinates.dim()];
        let mut reported = Vec::new();
        let mut divergences = 0;
        while !chain.is_finished() && !self.stop.load(Ordering::Relaxed) {
            let t = chain.step();
            out.gradients += u64::from(t.gradients);
            divergences += usize::from(t.divergent);
            if !t.warmup {
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
                    warmup: t.warmup,
                    step_size: t.step_size,
                    extent: t.extent,
                    divergences,
                    gradients: out.gradients,
                    seconds: begin.elapsed().as_secs_f64(),
                },
            );
        }
        out.warmup_divergences = chain.warmup_faults().divergences;
        out.step_size_collapses = chain.warmup_faults().step_size_collapses;
        out.step_size = chain.step_size();
        out.inverse_mass = chain.inverse_mass();
        out.seconds = begin.elapsed().as_secs_f64();
        out
    }
}

/// Adds one draw to a chain: the reported quantities and the facts of its transition.
fn record(out: &mut ChainDraws, reported: &[f64], t: &Step) {
    out.values.extend_from_slice(reported);
    out.log_density.push(t.log_density);
    out.energy.extend(t.energy);
    out.acceptance.push(t.acceptance);
    match t.extent {
        Extent::Depth(depth) => out.depth.push(depth),
        Extent::Steps(steps) => out.steps.push(steps),
    }
    out.gradients_per_draw.push(t.gradients);
    out.divergent.push(t.divergent);
    out.depth_hit.extend(t.depth_hit);
}
