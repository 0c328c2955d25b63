//! MAP and NUTS over a `LogDensity`: pure steps, no input or output.

pub mod nuts;
pub mod optimize;
