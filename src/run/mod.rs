//! Drives inference: chains on threads, seeds, interrupt, progress; asks finished fits and evaluates models.

mod alternate;
mod design;
mod engine;
mod envs;
pub mod evaluate;
mod fit;
mod interrupt;
mod latent;
mod mode;
mod point;
mod pointwise;
mod progress;
pub mod query;
mod sample;
mod simulate;
mod simulate_recording;
mod start;
mod watch;

pub use design::{Design, NameList, StreamDesign};
pub use fit::{FitError, default_method, fit};
pub use interrupt::interrupt_flag;
pub use latent::likelihood_algebra;
pub use point::{Evaluation, PointError, evaluate_at};
pub use pointwise::{PointwiseError, log_likelihood};
pub use progress::{Progress, Reporting, duration};
pub use simulate::{SimulateError, Simulated, Simulator};
pub use simulate_recording::{RecordingSimulator, SimulatedRecording};
