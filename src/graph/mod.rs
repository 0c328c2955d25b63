//! Lowers a Plan to a `LogDensity`: as a burn autodiff graph on any burn device, and as a fused f64 tape on the CPU.
//!
//! The only room that imports burn.

mod burn_graph;
mod coordinates;
mod density;
mod elementwise;
mod host_op;
mod kernels;
mod lower;
mod matmul;
mod program;
mod structured;
mod tape;

pub use burn_graph::{BurnDensity, Device, DeviceError};
pub use coordinates::{Coordinates, Physical, Unconstrained};
pub use density::{Evaluator, LogDensity, Rejection};
pub use lower::{LowerError, lower};
pub use program::{Group, Node, NodeId, Op, Output, Program};
pub use structured::Structured;
pub use tape::Tape;
