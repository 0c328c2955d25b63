//! Response families as chains of first-order sections driven by the latent path.
//!
//! A section with time constant T turns its input into a mean over the exponentially forgotten past; a gamma density of
//! integer shape n is n equal sections in a row, the Bateman curve two, a double gamma two chains. Each family is
//! declared by the parameters from which its time constants and weights come, so that one pull-back serves all.
//! Tails that the curves cut off are kept, as in the closed forms of the grouped algebra.

use super::Unsupported;
use crate::response::{Curve, Response, ResponseError};

/// Largest integer shape that is taken.
pub(super) const MAX_SHAPE: f64 = 32.0;

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
    values: Vec<f64>,
    norm: f64,
    norm_slopes: Vec<f64>,
}

/// States that `response` adds to a factor; `learned` says which of its parameters are.
///
/// # Errors
/// A family without an exact state-space form, and gamma shapes that are learned or no integers up to [`MAX_SHAPE`].
pub(super) fn states(response: &Response, values: &[f64], learned: &[bool]) -> Result<usize, Unsupported> {
    let family = response.family();
    let refuse = |reason: String| Err(Unsupported { family: family.name, reason });
    let shape = |name: &str, at: usize| -> Result<usize, Unsupported> {
        if learned[at] {
            return refuse(format!("its {name} is learned"));
        }
        let (shape, rounded) = (values[at], values[at].round());
        if (shape - rounded).abs() > 1e-12 * shape || !(1.0..=MAX_SHAPE).contains(&rounded) {
            return refuse(format!("its {name} is {shape}, not an integer from 1 to {MAX_SHAPE}"));
        }
        Ok(rounded as usize)
    };
    match response {
        Response::Identity => Ok(0),
        Response::Gamma { .. } => shape("shape", 0),
        Response::DoubleGamma { .. } => Ok(shape("peak_shape", 0)? + shape("undershoot_shape", 2)?),
        Response::Bateman { .. } => Ok(2),
        _ => refuse("it has no exact state-space form".into()),
    }
}

impl Bank {
    /// The chains of `response`, for which [`states`] has an answer; none for the identity.
    pub fn new(response: &Response) -> Result<Option<Self>, ResponseError> {
        let Some(curve) = Curve::new(response)? else { return Ok(None) };
        let (values, norm) = (response.values(), curve.norm());
        let chain = |constants: Vec<usize>, factor: Option<usize>| {
            let rates = constants.iter().map(|p| values[*p].recip()).collect();
            let weight = factor.map_or(1.0, |p| -values[p]) / norm;
            Chain { constants, rates, weight, factor }
        };
        let sections = |shape: f64, scale: usize| vec![scale; shape.round() as usize];
        let chains = match *response {
            Response::Gamma { shape, .. } => vec![chain(sections(shape, 1), None)],
            Response::DoubleGamma { peak_shape, undershoot_shape, .. } => {
                vec![chain(sections(peak_shape, 1), None), chain(sections(undershoot_shape, 3), Some(4))]
            }
            Response::Bateman { .. } => vec![chain(vec![0, 1], None)],
            _ => Vec::new(),
        };
        Ok(Some(Self { chains, values, norm, norm_slopes: curve.norm_gradient() }))
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
