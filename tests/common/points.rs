//! Random points of a plan, the same in every run.

use msrm::graph::Coordinates;
use msrm::math::rng::{Purpose, stream};
use rand::RngExt;

/// Half-width of the box of unconstrained coordinates that points are drawn from.
const SPREAD: f64 = 1.5;

/// Point number `index`: its unconstrained coordinates, and the physical ones.
pub fn point(coordinates: &Coordinates, index: u64) -> (Vec<f64>, Vec<f64>) {
    let mut rng = stream(2026, index, Purpose::Start);
    let u: Vec<f64> = (0..coordinates.dim()).map(|_| rng.random_range(-SPREAD..SPREAD)).collect();
    let mut x = vec![0.0; u.len()];
    coordinates.to_physical(&u, &mut x);
    (u, x)
}
