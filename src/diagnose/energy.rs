//! Bayesian fraction of missing information per chain (Betancourt 2016, arXiv 1604.00695).
//!
//! BFMI = mean((E_t - E_{t-1})^2) / var(E), E the total Hamiltonian right after the momentum is refreshed. Low values
//! mean that the momentum changes the energy too little to reach the tails. Microcanonical samplers have no such number.

use super::draws::FEWEST_DRAWS;
use super::moments::variance;

/// BFMI of one chain's energies. `None` for fewer than four draws, non-finite energies or energies that never vary.
pub fn bfmi(energy: &[f64]) -> Option<f64> {
    if energy.len() < FEWEST_DRAWS {
        return None;
    }
    let steps = energy.windows(2).map(|pair| (pair[1] - pair[0]) * (pair[1] - pair[0]));
    let mean_step = steps.sum::<f64>() / (energy.len() - 1) as f64;
    Some(mean_step / variance(energy)).filter(|value| value.is_finite())
}
