//! nuts-rs on a target, with the gradient written by hand: the fastest No-U-Turn sampler known to us.

use crate::ours::starts;
use crate::score::{Run, thread_seconds};
use crate::targets::{Density, Target};
use crate::{DRAWS, WARMUP};
use nuts_rs::{
    Chain, CpuLogpFunc, CpuMath, CpuMathError, DiagNutsSettings, HasDims, LogpError, LowRankNutsSettings, Settings,
};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use std::collections::HashMap;

/// nuts-rs asks for an error type; these densities have no errors.
#[derive(Debug, thiserror::Error)]
#[error("the density has no value")]
pub struct NoValue;

impl LogpError for NoValue {
    fn is_recoverable(&self) -> bool {
        true
    }
}

impl HasDims for Density {
    fn dim_sizes(&self) -> HashMap<String, u64> {
        HashMap::from([("unconstrained_parameter".to_string(), self.dim() as u64)])
    }
}

impl CpuLogpFunc for Density {
    type LogpError = NoValue;
    type FlowParameters = ();
    type ExpandedVector = Vec<f64>;

    fn dim(&self) -> usize {
        Density::dim(self)
    }

    fn logp(&mut self, position: &[f64], gradient: &mut [f64]) -> Result<f64, NoValue> {
        Ok(self.log_density_gradient(position, gradient))
    }

    fn expand_vector<R: rand::Rng + ?Sized>(&mut self, _: &mut R, array: &[f64]) -> Result<Vec<f64>, CpuMathError> {
        Ok(array.to_vec())
    }
}

/// Chains one after another on this thread, from the reading of the data on.
pub fn run(target: &Target, low_rank: bool, seed: u64) -> Run {
    let begin = thread_seconds();
    let density = Density::of(target);
    let dim = density.dim();
    let mut out = Run { chains: Vec::new(), dim, warmup_gradients: 0, gradients: 0, seconds: 0.0, divergences: 0 };
    for (chain, start) in (0..).zip(starts(dim, seed)) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed * 1000 + chain);
        let math = CpuMath::new(density.clone());
        if low_rank {
            let settings = LowRankNutsSettings {
                num_tune: WARMUP as u64,
                num_draws: DRAWS as u64,
                ..LowRankNutsSettings::default()
            };
            draw(settings.new_chain(chain, math, &mut rng).expect("valid settings"), &start, &mut out);
        } else {
            let settings =
                DiagNutsSettings { num_tune: WARMUP as u64, num_draws: DRAWS as u64, ..DiagNutsSettings::default() };
            draw(settings.new_chain(chain, math, &mut rng).expect("valid settings"), &start, &mut out);
        }
    }
    out.seconds = thread_seconds() - begin;
    out
}

fn draw(mut chain: impl Chain<CpuMath<Density>>, start: &[f64], out: &mut Run) {
    chain.set_position(start).expect("a start");
    let mut draws = Vec::with_capacity(DRAWS * start.len());
    for i in 0..WARMUP + DRAWS {
        let (position, progress) = chain.draw().expect("a draw");
        if i < WARMUP {
            out.warmup_gradients += progress.num_gradients;
        } else {
            out.gradients += progress.num_gradients;
            out.divergences += usize::from(progress.diverging);
            draws.extend_from_slice(&position);
        }
    }
    out.chains.push(draws);
}
