//! What can speak against draws, each with its facts, and in plain words what to do about it.

use super::verdict::{LARGEST_DIVERGENT_FRACTION, LOWEST_BFMI};
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;

/// One thing that speaks against the draws. Chain numbers are zero-based; worst come first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Finding {
    /// A single chain (or none): nothing to compare.
    TooFewChains { chains: usize },
    /// Chains too short to judge.
    TooFewDraws { chains: Vec<usize>, needed: usize },
    /// No quantity varies, so that nothing was tested.
    NothingVaries { constants: usize },
    /// Quantities with draws that are not finite.
    NonFinite { quantities: Vec<String> },
    /// An indicator that should be there and is not, and the quantities or chains it is missing for.
    Missing { indicator: Indicator, of: Vec<String> },
    /// R-hat above the threshold.
    RHat { worst: Vec<Quantity>, threshold: f64 },
    /// Bulk or tail ESS below the threshold.
    LowEss { indicator: Indicator, worst: Vec<Quantity>, threshold: f64 },
    /// Divergent transitions, per chain and out of all draws.
    Divergences { per_chain: Vec<usize>, draws: usize },
    /// Draws that ended at the limit of tree depth, per chain and out of all draws; the threshold is a fraction.
    DepthHits { per_chain: Vec<usize>, draws: usize, threshold: f64 },
    /// BFMI below the threshold.
    LowBfmi { chains: Vec<Chain>, threshold: f64 },
}

impl Finding {
    /// Worth knowing, but no reason by itself to distrust the draws: a stray divergence, slow trees, a BFMI just below
    /// the usual limit.
    pub fn is_warning(&self) -> bool {
        match self {
            Finding::Divergences { per_chain, draws } => {
                per_chain.iter().sum::<usize>() as f64 <= LARGEST_DIVERGENT_FRACTION * *draws as f64
            }
            Finding::DepthHits { .. } => true,
            Finding::LowBfmi { chains, .. } => chains.iter().all(|c| c.value >= LOWEST_BFMI),
            _ => false,
        }
    }
}

/// A measure of how well draws can be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Indicator {
    RHat,
    BulkEss,
    TailEss,
    Divergences,
    DepthHits,
    Bfmi,
}

/// A quantity and its value of an indicator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Quantity {
    pub name: String,
    /// Infinite for the R-hat of chains that each stand still; JSON writes that as null.
    #[serde(deserialize_with = "null_as_infinity")]
    pub value: f64,
}

/// A chain (zero-based) and its value of an indicator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Chain {
    pub chain: usize,
    pub value: f64,
}

fn null_as_infinity<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::<f64>::deserialize(deserializer)?.unwrap_or(f64::INFINITY))
}

/// How many names a sentence carries before it counts the rest.
const NAMED: usize = 5;

impl fmt::Display for Indicator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::RHat => "R-hat",
            Self::BulkEss => "bulk ESS",
            Self::TailEss => "tail ESS",
            Self::Divergences => "the count of divergences",
            Self::DepthHits => "the count of draws at the limit of tree depth",
            Self::Bfmi => "BFMI",
        })
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooFewChains { chains } => write!(
                f,
                "R-hat needs at least 2 chains and there {}: whether the chain found the whole posterior is unknown. \
                 Run 4 chains.",
                if *chains == 1 { "is 1".to_string() } else { format!("are {chains}") }
            ),
            Self::TooFewDraws { chains, needed } => write!(
                f,
                "{} fewer than {needed} draws, too few to judge. Run longer.",
                match chains.as_slice() {
                    [chain] => format!("Chain {} has", chain + 1),
                    _ => format!("Chains {} have", list(chains.iter().map(|chain| (chain + 1).to_string()))),
                }
            ),
            Self::NothingVaries { constants: 0 } => {
                write!(f, "There is no quantity to judge. Report at least one parameter.")
            }
            Self::NothingVaries { constants } => write!(
                f,
                "Nothing varies: {} constant, so nothing was tested. If parameters are among them, no proposal was \
                 accepted; look at the step size and the divergences of the warm-up.",
                match constants {
                    1 => "the only quantity is".to_string(),
                    _ => format!("all {constants} quantities are"),
                }
            ),
            Self::NonFinite { quantities } => write!(
                f,
                "Draws that are not finite numbers in {}. Look for overflow, logarithms of zero or division by zero in \
                 how they are computed.",
                list(quantities.iter().cloned())
            ),
            Self::Missing { indicator, of } => write!(
                f,
                "There is no {} for {}, so convergence is not shown. {}",
                indicator.to_string().trim_start_matches("the "),
                list(of.iter().cloned()),
                match indicator {
                    Indicator::RHat | Indicator::BulkEss | Indicator::TailEss => {
                        "Check that all chains have the same number of draws, at least 4."
                    }
                    Indicator::Bfmi => "Check that the energies are finite and vary.",
                    Indicator::Divergences | Indicator::DepthHits => "Check that every chain reports it.",
                }
            ),
            Self::RHat { worst, threshold } => write!(
                f,
                "R-hat is above {threshold} for {}: the chains do not agree. Run a longer warm-up and more draws; if it \
                 stays, the posterior may have several modes or the model may not identify these quantities.",
                list(worst.iter().map(|q| format!("{} ({:.3})", q.name, q.value)))
            ),
            Self::LowEss { indicator, worst, threshold } => write!(
                f,
                "The {indicator} is below {threshold} for {}: {} are too noisy. Run more draws; if that is too slow, \
                 reparameterise.",
                list(worst.iter().map(|q| format!("{} ({:.0})", q.name, q.value))),
                if *indicator == Indicator::TailEss { "interval ends" } else { "means and medians" }
            ),
            Self::Divergences { per_chain, draws } => write!(
                f,
                "{} of {draws} transitions diverged (per chain: {}): some region was not explored. Raise the target \
                 acceptance, reparameterise (noncentered) or tighten priors.",
                per_chain.iter().sum::<usize>(),
                counts(per_chain)
            ),
            Self::DepthHits { per_chain, draws, threshold } => write!(
                f,
                "{} of {draws} draws ended at the limit of tree depth (per chain: {}), more than {} %: steps are too \
                 short for the scale of the posterior. Run a longer warm-up, rescale parameters or raise the limit.",
                per_chain.iter().sum::<usize>(),
                counts(per_chain),
                100.0 * threshold
            ),
            Self::LowBfmi { chains, threshold } => write!(
                f,
                "BFMI is below {threshold} for {}: the sampler moves too slowly between energies and may miss the tails. \
                 Reparameterise (noncentered), or give heavy-tailed parameters a tighter prior.",
                list(chains.iter().map(|c| format!("chain {} ({:.2})", c.chain + 1, c.value)))
            ),
        }
    }
}

/// The first names, then how many more there are.
fn list(names: impl ExactSizeIterator<Item = String>) -> String {
    let count = names.len();
    let mut text = names.take(NAMED).collect::<Vec<_>>().join(", ");
    if count > NAMED {
        text.push_str(&format!(" and {} more", count - NAMED));
    }
    text
}

fn counts(per_chain: &[usize]) -> String {
    per_chain.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")
}
