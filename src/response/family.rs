//! The table of response families: names, parameters, defaults, and what a parameter may be.

use super::{Response, ResponseError};

/// The largest shape of a gamma density: up to here its logarithm keeps twelve digits.
pub(super) const MAX_SHAPE: f64 = 1000.0;

/// What a parameter may be, and how far its default bounds reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Domain {
    /// Any finite number of seconds.
    Lag,
    /// Above zero.
    Positive,
    /// From one to [`MAX_SHAPE`].
    Shape,
    /// Between zero and one.
    Ratio,
}

impl Domain {
    /// Smallest and largest value, or what the values lie strictly between.
    pub fn bounds(self) -> (f64, f64) {
        match self {
            Domain::Lag => (f64::NEG_INFINITY, f64::INFINITY),
            Domain::Positive => (0.0, f64::INFINITY),
            Domain::Shape => (1.0, MAX_SHAPE),
            Domain::Ratio => (0.0, 1.0),
        }
    }

    /// What a message asks for.
    pub fn describe(self) -> &'static str {
        match self {
            Domain::Lag => "finite",
            Domain::Positive => "finite and above 0",
            Domain::Shape => "from 1 to 1000",
            Domain::Ratio => "above 0 and below 1",
        }
    }

    fn contains(self, value: f64) -> bool {
        let (lo, hi) = self.bounds();
        let open = matches!(self, Domain::Positive | Domain::Ratio);
        value.is_finite() && (if open { value > lo && value < hi } else { value >= lo && value <= hi })
    }
}

/// One parameter of a family.
#[derive(Debug)]
pub struct Parameter {
    pub name: &'static str,
    pub doc: &'static str,
    pub default: f64,
    pub domain: Domain,
}

/// One entry of the table of response families.
#[derive(Debug)]
pub struct Family {
    pub name: &'static str,
    pub doc: &'static str,
    /// In the order in which they are written and in which derivatives are given; the lag, if any, is last.
    pub parameters: &'static [Parameter],
    /// Makes the response of as many numbers as there are parameters; `None` if it is made of lags and values.
    make: Option<fn(&[f64]) -> Response>,
}

const fn parameter(name: &'static str, default: f64, domain: Domain, doc: &'static str) -> Parameter {
    Parameter { name, doc, default, domain }
}

const LAG: Parameter = parameter("lag", 0.0, Domain::Lag, "seconds by which the stream follows the latent");

/// All families, in the order of the book.
pub static FAMILIES: [Family; 7] = [
    Family {
        name: "identity",
        doc: "the stream follows the latent without delay or smoothing",
        parameters: &[],
        make: Some(|_| Response::Identity),
    },
    Family {
        name: "gaussian",
        doc: "a bell about the lag, cut at six widths on both sides",
        parameters: &[parameter("width", 1.0, Domain::Positive, "standard deviation in seconds"), LAG],
        make: Some(|v| Response::Gaussian { width: v[0], lag: v[1] }),
    },
    Family {
        name: "gamma",
        doc: "a gamma density behind the lag, cut at its 0.99999999 quantile",
        parameters: &[
            parameter("shape", 3.0, Domain::Shape, "shape of the gamma density"),
            parameter("scale", 1.0, Domain::Positive, "scale of the gamma density in seconds"),
            LAG,
        ],
        make: Some(|v| Response::Gamma { shape: v[0], scale: v[1], lag: v[2] }),
    },
    Family {
        name: "double_gamma",
        doc: "a gamma density less a later and smaller one: the usual haemodynamic response",
        parameters: &[
            parameter("peak_shape", 6.0, Domain::Shape, "shape of the peak"),
            parameter("peak_scale", 1.0, Domain::Positive, "scale of the peak in seconds"),
            parameter("undershoot_shape", 16.0, Domain::Shape, "shape of the undershoot"),
            parameter("undershoot_scale", 1.0, Domain::Positive, "scale of the undershoot in seconds"),
            parameter("ratio", 1.0 / 6.0, Domain::Ratio, "area of the undershoot relative to the peak"),
            LAG,
        ],
        make: Some(|v| Response::DoubleGamma {
            peak_shape: v[0],
            peak_scale: v[1],
            undershoot_shape: v[2],
            undershoot_scale: v[3],
            ratio: v[4],
            lag: v[5],
        }),
    },
    Family {
        name: "bateman",
        doc: "a skin conductance response that rises and decays exponentially, over 90 seconds",
        parameters: &[
            parameter("rise", 0.7, Domain::Positive, "time constant of the rise in seconds"),
            parameter("decay", 3.0, Domain::Positive, "time constant of the decay in seconds"),
            LAG,
        ],
        make: Some(|v| Response::Bateman { rise: v[0], decay: v[1], lag: v[2] }),
    },
    Family {
        name: "bach",
        doc: "a skin conductance response: a bell smoothed by two exponential decays, over 90 seconds",
        parameters: &[
            parameter("t0", 3.0745, Domain::Positive, "seconds from the lag to the centre of the bell"),
            parameter("sigma", 0.7013, Domain::Positive, "standard deviation of the bell in seconds"),
            parameter("lambda1", 0.3176, Domain::Positive, "first rate of decay per second"),
            parameter("lambda2", 0.0708, Domain::Positive, "second rate of decay per second"),
            LAG,
        ],
        make: Some(|v| Response::Bach { t0: v[0], sigma: v[1], lambda1: v[2], lambda2: v[3], lag: v[4] }),
    },
    Family {
        name: "sampled",
        doc: "a measured curve, linear between given lags and zero outside",
        parameters: &[],
        make: None,
    },
];

/// The family called `name`.
pub fn find(name: &str) -> Option<&'static Family> {
    FAMILIES.iter().find(|f| f.name == name)
}

/// The response of the named family with the given parameters; those that are not given have their defaults.
///
/// # Errors
/// Unknown or repeated names and values outside their domain. `sampled` is made by [`Response::sampled`].
pub fn build(family: &str, given: &[(&str, f64)]) -> Result<Response, ResponseError> {
    let entry = find(family).ok_or_else(|| ResponseError::UnknownFamily {
        family: family.to_owned(),
        known: FAMILIES.iter().map(|f| f.name).collect(),
    })?;
    let mut values: Vec<f64> = entry.parameters.iter().map(|p| p.default).collect();
    let mut seen = vec![false; values.len()];
    for &(name, value) in given {
        let Some(i) = entry.parameters.iter().position(|p| p.name == name) else {
            return Err(ResponseError::UnknownParameter {
                family: entry.name,
                parameter: name.to_owned(),
                known: entry.parameters.iter().map(|p| p.name).collect(),
            });
        };
        if std::mem::replace(&mut seen[i], true) {
            return Err(ResponseError::RepeatedParameter { family: entry.name, parameter: entry.parameters[i].name });
        }
        values[i] = value;
    }
    entry.with(&values)
}

impl Family {
    /// Whether a response of this family is given by numbers rather than by lags and values.
    pub fn is_parametric(&self) -> bool {
        self.make.is_some()
    }

    /// The response with these values of all parameters, in the order of the table.
    ///
    /// # Errors
    /// A wrong number of values, values outside their domain, and `sampled`, which is made by [`Response::sampled`].
    pub fn with(&self, values: &[f64]) -> Result<Response, ResponseError> {
        for (parameter, &value) in self.parameters.iter().zip(values) {
            self.check_value(parameter, value)?;
        }
        let response = self.unchecked(values)?;
        if let Response::DoubleGamma { peak_shape, peak_scale, undershoot_shape, undershoot_scale, .. } = response {
            let (peak_mean, undershoot_mean) = (peak_shape * peak_scale, undershoot_shape * undershoot_scale);
            if undershoot_mean <= peak_mean {
                return Err(ResponseError::MeanOrder { peak_mean, undershoot_mean });
            }
        }
        Ok(response)
    }

    /// The response with these values, which may break a rule between parameters, as a corner of their bounds does.
    pub(super) fn unchecked(&self, values: &[f64]) -> Result<Response, ResponseError> {
        let make = self.make.ok_or(ResponseError::NeedsSamples { family: self.name })?;
        if values.len() != self.parameters.len() {
            return Err(ResponseError::ParameterCount {
                family: self.name,
                expected: self.parameters.len(),
                found: values.len(),
            });
        }
        Ok(make(values))
    }

    /// Refuses a value outside the parameter's domain.
    ///
    /// # Errors
    /// [`ResponseError::Parameter`].
    pub fn check_value(&self, parameter: &Parameter, value: f64) -> Result<(), ResponseError> {
        if parameter.domain.contains(value) {
            return Ok(());
        }
        let demand = parameter.domain.describe();
        Err(ResponseError::Parameter { family: self.name, parameter: parameter.name, demand, value })
    }
}
