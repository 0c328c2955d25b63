//! NUTS chains on threads, with finished draws kept whatever happens.

use super::progress::{ChainStatus, Progress, Reporting};
use crate::archive::{ChainDraws, Draws, Metric, Quantity, Settings};
use crate::graph::{Coordinates, LogDensity, Program, Tape};
use crate::infer::nuts::{Chain, MetricKind, Phase, Settings as NutsSettings};
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

/// Samples all chains. `starts` holds one unconstrained point per chain.
pub(super) fn sample(
    density: &dyn LogDensity,
    program: &Arc<Program>,
    coordinates: &Coordinates,
    starts: &[Vec<f64>],
    settings: &Settings,
    stop: &AtomicBool,
    reporting: Reporting,
) -> Draws {
    let progress = Progress::new(reporting, starts.len(), settings.warmup + settings.draws);
    let chains: Vec<ChainDraws> = starts
        .par_iter()
        .enumerate()
        .map(|(index, start)| {
            let mut tape = Tape::new(Arc::clone(program));
            one_chain(density, &mut tape, coordinates, start, index, settings, stop, &progress)
        })
        .collect();
    let interrupted = stop.load(Ordering::Relaxed);
    Draws { quantities: quantities(program), chains, interrupted }
}

fn one_chain(
    density: &dyn LogDensity,
    tape: &mut Tape,
    coordinates: &Coordinates,
    start: &[f64],
    index: usize,
    settings: &Settings,
    stop: &AtomicBool,
    progress: &Progress,
) -> ChainDraws {
    let begin = Instant::now();
    let nuts = NutsSettings {
        warmup: settings.warmup,
        draws: settings.draws,
        target_accept: settings.target_accept,
        max_depth: settings.max_depth,
        metric: match settings.metric {
            Metric::Diagonal => MetricKind::Diagonal,
            Metric::Dense => MetricKind::Dense,
        },
        ..NutsSettings::default()
    };
    let mut out = ChainDraws::default();
    let rng = stream(settings.seed, index as u64, Purpose::Sampling);
    let mut chain = match Chain::new(density, start, nuts, rng) {
        Ok(chain) => chain,
        Err(error) => {
            out.failure = Some(error.to_string());
            return out;
        }
    };
    let mut physical = vec![0.0; coordinates.dim()];
    let mut reported = Vec::new();
    let mut divergences = 0;
    while !chain.is_finished() && !stop.load(Ordering::Relaxed) {
        let t = chain.step();
        out.gradients += u64::from(t.leapfrogs);
        divergences += usize::from(t.divergence.is_some());
        if t.phase == Phase::Sampling {
            coordinates.to_physical(chain.position(), &mut physical);
            if let Err(rejection) = tape.outputs(&physical, &mut reported) {
                out.failure = Some(format!("a reported quantity has no value: {rejection}"));
                break;
            }
            out.values.extend_from_slice(&reported);
            out.log_density.push(t.log_density);
            out.energy.push(t.energy);
            out.acceptance.push(t.acceptance);
            out.depth.push(t.depth);
            out.leapfrogs.push(t.leapfrogs);
            out.divergent.push(t.divergence.is_some());
            out.depth_hit.push(t.max_depth_reached);
        }
        progress.update(
            index,
            ChainStatus {
                done: chain.completed(),
                total: settings.warmup + settings.draws,
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
    out.step_size = chain.step_size();
    out.inverse_mass = chain.metric().inverse_mass().to_vec();
    out.seconds = begin.elapsed().as_secs_f64();
    out
}
