//! Draws of one scalar quantity, checked once and sorted once, in the forms the diagnostics need.

use super::autocovariance::Autocovariance;
use super::moments::is_constant;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A chain shorter than this cannot be split into halves that have a variance.
pub const FEWEST_DRAWS: usize = 4;

/// Why chains of a quantity cannot be judged. Chain and draw numbers are zero-based.
#[derive(Debug, Clone, PartialEq, Eq, Error, Serialize, Deserialize)]
pub enum Unjudged {
    #[error("there are no chains")]
    NoChains,
    #[error("chain {} has {draws} draws; at least {} are needed", chain + 1, FEWEST_DRAWS)]
    TooFewDraws { chain: usize, draws: usize },
    #[error("chain {} has {draws} draws and chain 1 has {first}; chains must be of equal length", chain + 1)]
    UnequalChains { chain: usize, draws: usize, first: usize },
    #[error("draw {} of chain {} is not a finite number", draw + 1, chain + 1)]
    NonFinite { chain: usize, draw: usize },
}

/// Checked draws of one scalar quantity: at least one chain, equal lengths of at least four, all finite.
///
/// Diagnostics split each chain into its first and last half; an odd chain's middle draw is then left out of the
/// halves (and only there).
#[derive(Debug, Clone)]
pub struct Draws {
    /// Chain after chain.
    values: Vec<f64>,
    chains: usize,
    draws: usize,
    /// Indices into `values`, ascending by value.
    order: Vec<usize>,
    constant: bool,
    autocovariance: Autocovariance,
}

impl Draws {
    /// Checks and sorts `chains` (one slice of draws per chain).
    pub fn new(chains: &[&[f64]]) -> Result<Self, Unjudged> {
        check(chains)?;
        let (draws, values) = (chains[0].len(), chains.concat());
        let (order, constant) = (ascending(&values), is_constant(&values));
        Ok(Self {
            chains: chains.len(),
            draws,
            order,
            values,
            constant,
            autocovariance: Autocovariance::new(draws / 2),
        })
    }

    /// Number of chains.
    pub fn chains(&self) -> usize {
        self.chains
    }

    /// Draws per chain.
    pub fn draws(&self) -> usize {
        self.draws
    }

    /// All draws, chain after chain, length chains x draws.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Whether all draws of all chains are equal, up to rounding.
    pub fn is_constant(&self) -> bool {
        self.constant
    }

    /// The quantile of all draws at `p` in [0, 1], linear between order statistics (x_(1) at 0, x_(S) at 1).
    pub fn quantile(&self, p: f64) -> f64 {
        interpolate(self.order.len(), p, |i| self.values[self.order[i]])
    }

    /// The `i`-th smallest draw, `i` from 0.
    pub(super) fn ordered(&self, i: usize) -> f64 {
        self.values[self.order[i]]
    }

    /// Length of a half chain.
    pub(super) fn half(&self) -> usize {
        self.draws / 2
    }

    /// `f` of every draw that lies in a half chain, half after half.
    pub(super) fn split(&self, f: impl Fn(f64) -> f64) -> Vec<f64> {
        let half = self.half();
        let mut out = Vec::with_capacity(2 * half * self.chains);
        for chain in self.values.chunks_exact(self.draws) {
            out.extend(chain[..half].iter().map(|&x| f(x)));
            out.extend(chain[self.draws - half..].iter().map(|&x| f(x)));
        }
        out
    }

    /// Positions in `split(|x| x)`, ascending by value.
    pub(super) fn split_order(&self) -> Vec<usize> {
        let half = self.half();
        if self.draws == 2 * half {
            return self.order.clone();
        }
        let place = |&index: &usize| {
            let (chain, draw) = (index / self.draws, index % self.draws);
            match draw.cmp(&half) {
                std::cmp::Ordering::Less => Some(2 * half * chain + draw),
                std::cmp::Ordering::Equal => None,
                std::cmp::Ordering::Greater => Some(2 * half * chain + draw - 1),
            }
        };
        self.order.iter().filter_map(place).collect()
    }

    /// The autocovariance of half chains.
    pub(super) fn autocovariance(&self) -> &Autocovariance {
        &self.autocovariance
    }
}

fn check(chains: &[&[f64]]) -> Result<(), Unjudged> {
    let first = chains.first().ok_or(Unjudged::NoChains)?.len();
    for (chain, values) in chains.iter().enumerate() {
        if let Some(draw) = values.iter().position(|x| !x.is_finite()) {
            return Err(Unjudged::NonFinite { chain, draw });
        }
    }
    for (chain, values) in chains.iter().enumerate() {
        if values.len() != first {
            return Err(Unjudged::UnequalChains { chain, draws: values.len(), first });
        }
        if values.len() < FEWEST_DRAWS {
            return Err(Unjudged::TooFewDraws { chain, draws: values.len() });
        }
    }
    Ok(())
}

/// Indices of `values`, ascending by value.
pub(super) fn ascending(values: &[f64]) -> Vec<usize> {
    let mut keyed: Vec<(f64, usize)> = values.iter().copied().zip(0..).collect();
    keyed.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    keyed.into_iter().map(|(_, index)| index).collect()
}

/// The quantile at `p` of `count` > 0 ascending values given by `at`. A convex combination, so that it cannot overflow.
pub(super) fn interpolate(count: usize, p: f64, at: impl Fn(usize) -> f64) -> f64 {
    let position = (count - 1) as f64 * p;
    let below = (position.floor() as usize).min(count - 1);
    let (a, b) = (at(below), at((below + 1).min(count - 1)));
    let t = position - below as f64;
    (a * (1.0 - t) + b * t).clamp(a, b)
}
