//! The state-space algebra: the same marginal likelihood in time linear in the nodes.
//!
//! The latent path of a factor and all that the responses make of it are read from one linear system driven by white
//! noise; a Kalman filter over the nodes gives the value, a smoother the gradient. Exact for Identity; for Gamma and
//! DoubleGamma of integer shape and for Bateman exact but for the tails that the curves cut off and the system keeps
//! ([`FilteredGp::covariance_tail`](super::FilteredGp::covariance_tail) bounds them).
//!
//! | file | what |
//! |---|---|
//! | `cascade` | any poles as a system of unit stationary covariance |
//! | `bank`, `system` | responses as chains of sections, and what each slot reads |
//! | `transition` | exp(G d), its noise, and their derivatives |
//! | `events`, `filter`, `smoother`, `tape`, `pass` | the recursions |
//! | `run`, `moments` | the likelihood of a run, and conditional moments |
//! | `choice` | which algebra is the faster one |
//! | `small` | products of small matrices |

mod bank;
mod cascade;
mod choice;
mod events;
mod filter;
mod moments;
mod pass;
mod run;
mod small;
mod smoother;
mod system;
mod tape;
#[cfg(test)]
mod tests;
mod transition;

pub use choice::Choice;
pub(super) use pass::Pass;

/// A response that the algebra cannot take, and why.
#[derive(Debug, Clone, PartialEq)]
struct Unsupported {
    family: &'static str,
    reason: String,
}
