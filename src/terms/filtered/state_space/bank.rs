//! Response families as chains of first-order sections driven by the latent path.
//!
//! A section with time constant T turns its input into a mean over the exponentially forgotten past; a gamma density of
//! integer shape n is n equal sections in a row, the Bateman curve two, a double gamma two chains. Each family is
//! declared by the parameters from which its time constants and weights come, so that one pull-back serves all.
//! Tails that the curves cut off are kept: [`Bank::tail`] says how much that is.

use super::Unsupported;
use crate::response::{Curve, Response};

/// Largest integer shape that is taken.
pub(super) const MAX_SHAPE: f64 = 32.0;

/// Mass of a gamma density behind its cut.
const GAMMA_TAIL: f64 = 1e-8;

/// Seconds for which skin conductance responses last.
const SKIN_DURATION: f64 = 90.0;

/// Equal first-order sections in a row and one weight at the end.
#[derive(Debug, Clone)]
pub(super) struct Chain {
    /// Parameter that is the time constant of each section.
    pub constants: Vec<usize>,
    /// Rates, one over the time constants.
    pub rates: Vec<f64>,
    /// What the last section's output counts in the stream.
    pub weight: f64,
    /// Parameter to which the weight is proportional.
    factor: Option<usize>,
}

/// Chains of one response, with what their pull-back needs.
#[derive(Debug, Clone)]
pub(super) struct Bank {
    pub chains: Vec<Chain>,
    /// L1 norm of the curve of unit L2 norm.
    pub mass: f64,
    /// L1 norm of the tail that the curve cuts off and the chains keep.
    pub tail: f64,
    values: Vec<f64>,
    norm: f64,
    norm_slopes: Vec<f64>,
}

/// What the family of a response says about it before its parameters are known.
pub(super) fn supports(family: &str) -> bool {
    matches!(family, "identity" | "gamma" | "double_gamma" | "bateman")
}

impl Bank {
    /// The chains of `response`; none for the identity.
    pub fn new(response: &Response) -> Result<Option<Self>, Unsupported> {
        let chain = |constants: Vec<usize>, values: &[f64], factor: Option<usize>, norm: f64| {
            let rates = constants.iter().map(|p| values[*p].recip()).collect();
            let weight = factor.map_or(1.0, |p| -values[p]) / norm;
            Chain { constants, rates, weight, factor }
        };
        let values = response.values();
        let bad = |reason: String| Unsupported { family: response.family().name, reason };
        let Some(curve) = Curve::new(response).map_err(|e| bad(e.to_string()))? else { return Ok(None) };
        let norm = curve.norm();
        let (chains, mass, tail) = match *response {
            Response::Gamma { shape, .. } => {
                (vec![chain(vec![1; sections(response, "shape", shape)?], &values, None, norm)], 1.0, GAMMA_TAIL)
            }
            Response::DoubleGamma { peak_shape, undershoot_shape, ratio, .. } => {
                let peak = vec![1; sections(response, "peak_shape", peak_shape)?];
                let undershoot = vec![3; sections(response, "undershoot_shape", undershoot_shape)?];
                let chains = vec![chain(peak, &values, None, norm), chain(undershoot, &values, Some(4), norm)];
                (chains, 1.0 + ratio, (1.0 + ratio) * GAMMA_TAIL)
            }
            Response::Bateman { rise, decay, .. } => {
                let last = curve.value(curve.support().1) * norm;
                let tail = (-SKIN_DURATION / rise).exp() + decay * last;
                (vec![chain(vec![0, 1], &values, None, norm)], 1.0, tail)
            }
            _ => return Err(bad("it has no exact state-space form".into())),
        };
        let (mass, tail) = (mass / norm, tail / norm);
        Ok(Some(Self { chains, mass, tail, values, norm, norm_slopes: curve.norm_gradient() }))
    }

    /// Adds to `out`, one entry per parameter, the derivative that comes through chain `chain`: `rates` are the
    /// derivatives in its rates, `weight` in its weight.
    pub fn pull(&self, chain: usize, rates: &[f64], weight: f64, out: &mut [f64]) {
        let chain = &self.chains[chain];
        for ((p, rate), adjoint) in chain.constants.iter().zip(&chain.rates).zip(rates) {
            out[*p] -= adjoint * rate * rate;
        }
        for (out, slope) in out.iter_mut().zip(&self.norm_slopes) {
            *out -= weight * chain.weight * slope / self.norm;
        }
        if let Some(p) = chain.factor {
            out[p] += weight * chain.weight / self.values[p];
        }
    }
}

/// Number of sections of a gamma density.
fn sections(response: &Response, name: &str, shape: f64) -> Result<usize, Unsupported> {
    let rounded = shape.round();
    if (shape - rounded).abs() > 1e-12 * shape || rounded > MAX_SHAPE {
        let reason = format!("{name} = {shape} must be an integer from 1 to {MAX_SHAPE}; fix it to one");
        return Err(Unsupported { family: response.family().name, reason });
    }
    Ok(rounded as usize)
}
