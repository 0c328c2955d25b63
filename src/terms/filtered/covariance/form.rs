//! What the covariance needs of a response: poles where its curve is a sum of exponentials times polynomials, a bell, or
//! the curve itself.
//!
//! A gamma density of integer shape n and scale s has the transform (a / (a + p))^n, a = 1/s; the Bateman curve that of
//! two poles 1/rise and 1/decay. Poles and bells go on beyond the support that [`crate::response`] cuts them to, as the
//! covariance of a state-space model does; the norm is that of the support. What that adds is [`Form::tail`].

use super::super::error::TermError;
use crate::math::special::{erf, ndtr};
use crate::response::{Curve, Response, ResponseError};

/// Widths at which [`crate::response`] cuts a bell.
const BELL_WIDTHS: f64 = 6.0;

/// Mass of a gamma density behind its cut.
const GAMMA_TAIL: f64 = 1e-8;

/// Seconds at which the Bateman curve is cut.
const SKIN_DURATION: f64 = 90.0;

/// A factor (rate / (rate + p))^multiplicity of a transform.
#[derive(Debug, Clone)]
pub(super) struct Pole {
    pub rate: f64,
    pub multiplicity: usize,
    /// Derivatives of the rate in every parameter but the lag.
    pub slopes: Vec<f64>,
}

/// A gain times a product of poles.
#[derive(Debug, Clone)]
pub(super) struct Component {
    pub gain: f64,
    /// Derivatives of the gain in every parameter but the lag.
    pub gain_slopes: Vec<f64>,
    pub poles: Vec<Pole>,
}

/// The curve with its lag taken away.
#[derive(Debug, Clone)]
pub(super) enum Shape {
    /// A sum of components; the identity is one without poles.
    Poles(Vec<Component>),
    /// The density of a normal law of this standard deviation, times `mass`.
    Bell { width: f64, mass: f64 },
    /// Anything else, by quadrature on its support.
    Curve(Box<Curve>),
}

/// A response at given parameters.
#[derive(Debug, Clone)]
pub(in super::super) struct Form {
    pub(super) shape: Shape,
    pub(super) lag: f64,
    /// Number of parameters without the lag.
    pub(super) others: usize,
    /// Number of parameters.
    pub(super) parameters: usize,
    /// L1 norm of the curve, and of what lies outside its support.
    mass: f64,
    tail: f64,
}

fn integer(x: f64) -> Option<usize> {
    (x.fract() == 0.0).then_some(x as usize)
}

/// The integral of a bell of unit L2 norm on its support.
pub(super) fn bell_mass(width: f64) -> f64 {
    (2.0 * std::f64::consts::PI.sqrt() * width / erf(BELL_WIDTHS)).sqrt()
}

impl Form {
    /// The identity.
    pub fn impulse() -> Form {
        let one = Component { gain: 1.0, gain_slopes: Vec::new(), poles: Vec::new() };
        Form { shape: Shape::Poles(vec![one]), lag: 0.0, others: 0, parameters: 0, mass: 1.0, tail: 0.0 }
    }

    /// The form of `response`. `free` says of every parameter whether its derivative is wanted: a gamma density whose
    /// shape is wanted has no poles, whatever the shape.
    pub fn new(slot: usize, response: &Response, free: &[bool]) -> Result<Form, TermError> {
        Self::of(response, free).map_err(|reason| TermError::Response { slot, reason })
    }

    fn of(response: &Response, free: &[bool]) -> Result<Form, ResponseError> {
        let Some(curve) = Curve::new(&unlagged(response))? else { return Ok(Form::impulse()) };
        let parameters = free.len();
        let others = parameters.saturating_sub(1);
        let norm = curve.norm();
        let in_norm = curve.norm_gradient();
        let poles_of = |rate: f64, multiplicity: usize, parameter: usize| {
            let mut slopes = vec![0.0; others];
            slopes[parameter] = -rate * rate;
            Pole { rate, multiplicity, slopes }
        };
        // `amplitude` over the norm, where the amplitude's derivative in parameter `by` is `slope`.
        let component = |amplitude: f64, by: Option<(usize, f64)>, poles: Vec<Pole>| {
            let mut gain_slopes: Vec<f64> = in_norm[..others].iter().map(|n| -amplitude * n / (norm * norm)).collect();
            if let Some((parameter, slope)) = by {
                gain_slopes[parameter] += slope / norm;
            }
            Component { gain: amplitude / norm, gain_slopes, poles }
        };
        let form = |shape: Shape, mass: f64, tail: f64| Form {
            shape,
            lag: response.lag(),
            others,
            parameters,
            mass: mass / norm,
            tail: tail / norm,
        };
        Ok(match *response {
            Response::Gaussian { width, .. } => {
                let mass = bell_mass(width);
                let tail = 2.0 * ndtr(-BELL_WIDTHS) * mass;
                Form { mass, tail, ..form(Shape::Bell { width, mass }, 0.0, 0.0) }
            }
            Response::Gamma { shape, scale, .. } => match integer(shape) {
                Some(n) if !free[0] => {
                    let poles = vec![poles_of(1.0 / scale, n, 1)];
                    form(Shape::Poles(vec![component(1.0, None, poles)]), 1.0, GAMMA_TAIL)
                }
                _ => form(Shape::Curve(Box::new(curve)), 1.0, 0.0),
            },
            Response::DoubleGamma { peak_shape, peak_scale, undershoot_shape, undershoot_scale, ratio, .. } => {
                match (integer(peak_shape), integer(undershoot_shape)) {
                    (Some(n), Some(m)) if !free[0] && !free[2] => {
                        let peak = component(1.0, None, vec![poles_of(1.0 / peak_scale, n, 1)]);
                        let undershoot = vec![poles_of(1.0 / undershoot_scale, m, 3)];
                        let shape = Shape::Poles(vec![peak, component(-ratio, Some((4, -1.0)), undershoot)]);
                        form(shape, 1.0 + ratio, (1.0 + ratio) * GAMMA_TAIL)
                    }
                    _ => form(Shape::Curve(Box::new(curve)), 1.0 + ratio, 0.0),
                }
            }
            Response::Bateman { rise, decay, .. } => {
                let poles = vec![poles_of(1.0 / rise, 1, 0), poles_of(1.0 / decay, 1, 1)];
                // The mass behind the cut, from the curve there and the slower exponential.
                let tail = (-SKIN_DURATION / rise).exp() + decay * norm * curve.value(SKIN_DURATION);
                form(Shape::Poles(vec![component(1.0, None, poles)]), 1.0, tail)
            }
            Response::Identity | Response::Bach { .. } | Response::Sampled { .. } => {
                let (lo, hi) = curve.support();
                // By the inequality of Cauchy and Schwarz, since the curve has unit L2 norm.
                let mass = (hi - lo).sqrt();
                Form { mass, ..form(Shape::Curve(Box::new(curve)), 0.0, 0.0) }
            }
        })
    }

    /// Whether the derivative in this parameter is computed: that in a shape is not where the curve has poles.
    #[cfg(test)]
    pub fn computes(&self, parameter: usize) -> bool {
        let shapes: &[usize] = match (&self.shape, self.parameters) {
            (Shape::Poles(c), 6) if c.len() == 2 => &[0, 2],
            (Shape::Poles(c), 3) if c[0].poles.len() == 1 => &[0],
            _ => &[],
        };
        !shapes.contains(&parameter)
    }

    /// Rate of the fastest pole; zero without poles.
    pub fn fastest(&self) -> f64 {
        let Shape::Poles(components) = &self.shape else { return 0.0 };
        components.iter().flat_map(|c| &c.poles).map(|p| p.rate).fold(0.0, f64::max)
    }

    /// Seconds over which quadrature runs; zero where there is none. A bell meets one only where there are poles.
    pub fn quadrature_reach(&self, poles: bool) -> f64 {
        match &self.shape {
            Shape::Curve(curve) => curve.support().1 - curve.support().0,
            Shape::Bell { width, .. } if poles => 2.0 * BELL_WIDTHS * width,
            _ => 0.0,
        }
    }

    /// A bound on the difference between covariances of two forms and those of their curves cut to the supports.
    pub fn tail(&self, other: &Form) -> f64 {
        self.tail * other.mass + self.mass * other.tail
    }
}

/// The response with a lag of zero.
fn unlagged(response: &Response) -> Response {
    let mut out = response.clone();
    match &mut out {
        Response::Identity | Response::Sampled { .. } => {}
        Response::Gaussian { lag, .. }
        | Response::Gamma { lag, .. }
        | Response::DoubleGamma { lag, .. }
        | Response::Bateman { lag, .. }
        | Response::Bach { lag, .. } => *lag = 0.0,
    }
    out
}
