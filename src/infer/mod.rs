//! MAP, NUTS, MAMS and Pathfinder over a `LogDensity`: pure steps, no input or output.

mod adapt;
pub mod mams;
pub mod nuts;
pub mod optimize;
pub mod pathfinder;
mod start;
mod transition;

#[cfg(test)]
mod moment_check;
#[cfg(test)]
mod test_densities;
