//! Drives inference: chains on threads, seeds, interrupt, progress; asks finished fits and evaluates models.

mod alternate;
mod engine;
mod envs;
pub mod evaluate;
mod fit;
mod interrupt;
mod latent;
mod mode;
mod point;
mod progress;
pub mod query;
mod sample;
mod start;
mod watch;

pub use fit::{FitError, default_method, fit};
pub use interrupt::interrupt_flag;
pub use point::{Evaluation, PointError, evaluate_at};
pub use progress::{Progress, Reporting, duration};
