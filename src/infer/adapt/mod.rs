//! What the warm-ups of several samplers share: dual averaging of the step size, running variances, limits of a step.

mod dual_averaging;
mod welford;

pub(super) use dual_averaging::DualAveraging;
pub(super) use welford::Welford;

/// Steps below this count as collapsed: the density cannot be integrated from where the chain stands.
pub const MIN_STEP: f64 = 1e-10;
/// Steps above this mean that the density does not curve: it is flat or improper.
pub const MAX_STEP: f64 = 1e7;
