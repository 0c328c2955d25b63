//! Random streams: ChaCha keyed by (seed, chain, purpose), so that draws do not depend on threads.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// What a stream is used for. Streams of different purposes never overlap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Starting points of chains and restarts.
    Start = 1,
    /// The transitions of a chain.
    Sampling = 2,
    /// Draws from prior or predictive distributions.
    Prediction = 3,
    /// The climbs that look for starting points.
    Climb = 4,
}

/// The generator for one chain (or restart) and one purpose. All 256 key bits are set from the three numbers.
pub fn stream(seed: u64, chain: u64, purpose: Purpose) -> ChaCha8Rng {
    let mut key = [0u8; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    key[8..16].copy_from_slice(&chain.to_le_bytes());
    key[16..24].copy_from_slice(&(purpose as u64).to_le_bytes());
    key[24..].copy_from_slice(b"msrm-rng");
    ChaCha8Rng::from_seed(key)
}
