//! What the warm-ups of several samplers share: the step size, scales and directions of the posterior, windows.

mod dual_averaging;
mod low_rank;
mod scales;
mod welford;
mod windows;

pub(super) use dual_averaging::DualAveraging;
pub(super) use low_rank::{Directions, MOST_DRAWS, Recent};
pub(super) use scales::{FEWEST, Scales, first_scales};
pub(super) use windows::{Windows, percent};

/// Steps below this count as collapsed: the density cannot be integrated from where the chain stands.
pub const MIN_STEP: f64 = 1e-10;
/// Steps above this mean that the density does not curve: it is flat or improper.
pub const MAX_STEP: f64 = 1e7;
