//! Lowers a Plan to a `LogDensity`: as a burn autodiff graph on any burn device, and as a fused f64 tape on the CPU.
//!
//! The only room that imports burn.

mod array_function;
mod burn_graph;
mod constrain_op;
mod coordinates;
mod dense_functions;
mod density;
mod elementwise;
mod host_op;
mod kernels;
mod laws;
mod lower;
mod lower_arrays;
mod lower_laws;
mod lower_scan;
mod matmul;
mod program;
mod scan;
mod structured;
mod tape;

pub use array_function::ArrayFunction;
pub use burn_graph::{BurnDensity, Device, DeviceError};
pub use coordinates::{Coordinates, Physical, Unconstrained};
pub use density::{Evaluator, LogDensity, Rejection};
pub use lower::{LowerError, lower};
pub use program::{Group, Node, NodeId, Op, Output, Program};
pub use structured::Structured;
pub use tape::Tape;
