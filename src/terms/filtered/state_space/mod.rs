//! The state-space algebra: the same marginal likelihood in time linear in the nodes.
//!
//! The latent path of a factor and all that the responses make of it are read from one linear system driven by white
//! noise; a Kalman filter over the nodes gives the value, a smoother the gradient. Exact for Identity; for Gamma and
//! DoubleGamma of integer shape and for Bateman exact but for the tails that the curves cut off and the system keeps.
//!
//! | file | what |
//! |---|---|
//! | `cascade` | any poles as a system of unit stationary covariance |
//! | `bank`, `system` | responses as chains of sections, and what each slot reads |
//! | `transition` | exp(G d), its noise, and their derivatives |
//! | `events`, `filter`, `smoother`, `tape`, `pass` | the recursions |
//! | `run` | the likelihood of a run |
//! | `small` | products of small matrices |

mod bank;
mod cascade;
mod events;
mod filter;
mod pass;
mod run;
mod small;
mod smoother;
mod system;
mod tape;
#[cfg(test)]
mod tests;
mod transition;

pub(super) use pass::Pass;

/// A response that the algebra cannot take, and why.
#[derive(Debug, Clone, PartialEq)]
struct Unsupported {
    family: &'static str,
    reason: String,
}
