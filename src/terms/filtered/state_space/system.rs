//! The linear system of one factor: latent path, response banks, and what each response slot reads.
//!
//! The readout of a slot is the covariance of its noiseless stream with the states, since these have unit covariance.
//! With G the generator and t_i that covariance for the i-th section of a chain of rates a_i, stationarity gives
//! (a_i I - G) t_i = a_i t_(i-1), t_0 = the path: one triangular solve per section, well conditioned whatever the poles.

use super::bank::Bank;
use super::cascade::{Cascade, Section};
use super::small::{add_outer, dot};
use crate::response::{Response, ResponseError};
use crate::terms::filtered::kernel::rate;
use std::ops::Range;

/// What a response slot sees of the state.
#[derive(Debug, Clone)]
pub(super) struct Readout {
    /// Length side.
    pub row: Vec<f64>,
    /// The slot at time t reads the state at t - delay.
    pub delay: f64,
    /// The slot reads the path itself.
    pub is_path: bool,
    bank: Option<Built>,
}

/// A bank in its place.
#[derive(Debug, Clone)]
struct Built {
    bank: Bank,
    /// Per chain: number of its first section in the cascade, and t_0, t_1, ...
    chains: Vec<(usize, Vec<Vec<f64>>)>,
}

/// The system of one factor; all factors share it.
#[derive(Debug, Clone)]
pub(super) struct System {
    pub cascade: Cascade,
    pub readouts: Vec<Readout>,
    /// The path itself.
    pub path: Readout,
    length_scale: f64,
}

/// Derivatives in what the recursions use of a [`System`].
#[derive(Debug, Clone, Default)]
pub(super) struct SystemAdjoint {
    /// side x side.
    pub generator: Vec<f64>,
    /// Per slot, length side.
    pub rows: Vec<Vec<f64>>,
    /// Per slot.
    pub delays: Vec<f64>,
}

impl System {
    /// The system of `responses`, all of which have one, at `length_scale`.
    pub fn new(length_scale: f64, responses: &[Response]) -> Result<Self, (usize, ResponseError)> {
        let rho = rate(length_scale);
        let mut sections = vec![Section::Pair { modulus: rho, damping: rho }];
        let banks = responses
            .iter()
            .enumerate()
            .map(|(slot, response)| Bank::new(response).map_err(|reason| (slot, reason)))
            .collect::<Result<Vec<_>, _>>()?;
        let mut firsts = Vec::new();
        for chain in banks.iter().flatten().flat_map(|b| &b.chains) {
            firsts.push(sections.len());
            sections.extend(chain.rates.iter().map(|&rate| Section::Real { rate }));
        }
        let cascade = Cascade::new(sections);
        let mut firsts = firsts.into_iter();
        let mut path = vec![0.0; cascade.side];
        path[0] = 1.0;
        let readouts = responses
            .iter()
            .zip(banks)
            .map(|(response, bank)| {
                let delay = response.lag();
                let Some(bank) = bank else { return Readout { row: path.clone(), delay, is_path: true, bank: None } };
                let mut row = vec![0.0; cascade.side];
                let mut chains = Vec::with_capacity(bank.chains.len());
                for (chain, first) in bank.chains.iter().zip(firsts.by_ref()) {
                    let mut states = vec![path.clone()];
                    let mut t = path.clone();
                    for &a in &chain.rates {
                        t.iter_mut().for_each(|x| *x *= a);
                        cascade.resolve(a, &mut t);
                        states.push(t.clone());
                    }
                    row.iter_mut().zip(&t).for_each(|(r, t)| *r += chain.weight * t);
                    chains.push((first, states));
                }
                Readout { row, delay, is_path: false, bank: Some(Built { bank, chains }) }
            })
            .collect();
        let path = Readout { row: path, delay: 0.0, is_path: true, bank: None };
        Ok(Self { cascade, readouts, path, length_scale })
    }

    /// States per factor.
    pub fn order(&self) -> usize {
        self.cascade.order
    }

    pub fn side(&self) -> usize {
        self.cascade.side
    }

    /// What `slot`, or without one a query of the path, reads.
    pub fn readout(&self, slot: Option<usize>) -> &Readout {
        slot.map_or(&self.path, |s| &self.readouts[s])
    }

    /// Zeroes of the right shape.
    pub fn adjoint(&self) -> SystemAdjoint {
        let side = self.side();
        SystemAdjoint {
            generator: vec![0.0; side * side],
            rows: vec![vec![0.0; side]; self.readouts.len()],
            delays: vec![0.0; self.readouts.len()],
        }
    }

    /// Adds `scale` times the derivatives in the response parameters (slot by slot, `ranges`) that are
    /// learned and in the length scale.
    pub fn pull(
        &self,
        mut adjoint: SystemAdjoint,
        scale: f64,
        (ranges, learned): (&[Range<usize>], &[bool]),
        responses: &mut [f64],
        length_scale: &mut f64,
    ) {
        let mut rates = vec![0.0; self.cascade.sections.len()];
        let mut weights = Vec::new();
        for (readout, row) in self.readouts.iter().zip(&adjoint.rows) {
            let Some(built) = &readout.bank else { continue };
            for (chain, (first, states)) in built.bank.chains.iter().zip(&built.chains) {
                weights.push(dot(row, &states[chain.rates.len()]));
                let mut t: Vec<f64> = row.iter().map(|x| chain.weight * x).collect();
                for (i, &a) in chain.rates.iter().enumerate().rev() {
                    self.cascade.resolve_transposed(a, &mut t);
                    add_outer(&mut adjoint.generator, 1.0, &t, &states[i + 1], self.side());
                    rates[first + i] += dot(&t, &states[i]) - dot(&t, &states[i + 1]);
                    t.iter_mut().for_each(|x| *x *= a);
                }
            }
        }
        let sections = self.cascade.pull(&adjoint.generator);
        *length_scale -= scale * (sections[0].0 + sections[0].1) * rate(self.length_scale) / self.length_scale;
        let mut weights = weights.into_iter();
        for ((readout, range), delay) in self.readouts.iter().zip(ranges).zip(&adjoint.delays) {
            let out = &mut responses[range.clone()];
            let Some(built) = &readout.bank else { continue };
            let mut own = vec![0.0; out.len()];
            for (c, (chain, weight)) in built.bank.chains.iter().zip(weights.by_ref()).enumerate() {
                let first = built.chains[c].0;
                let in_rates: Vec<f64> = (first..first + chain.rates.len()).map(|s| rates[s] + sections[s].0).collect();
                built.bank.pull(c, &in_rates, weight, &mut own);
            }
            if let Some(lag) = own.last_mut() {
                *lag += delay;
            }
            for ((out, own), learned) in out.iter_mut().zip(&own).zip(&learned[range.clone()]) {
                if *learned {
                    *out += scale * own;
                }
            }
        }
    }
}
