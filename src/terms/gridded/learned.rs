//! Which parameters of a modality's response are learned, within which bounds, for whom, and what they are drawn towards.
//!
//! Coordinates: a lag is its own coordinate, every other parameter is its logarithm. With x the coordinates of a
//! participant's curve and m their mean over the P participants who have the modality, the penalty of a modality is the sum of
//!
//! * `partial`: strength / 2 times the mean over participants of |x - m|^2;
//! * each [`Penalty`] at m (`shared`, `partial`), or averaged over the participants (`separate`).

use crate::response::{Domain, Response, ResponseError};

/// For whom a response is learned.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ResponsePooling {
    /// One curve for all participants.
    Shared,
    /// One curve for each participant, drawn to their mean with this strength.
    Partial { strength: f64 },
    /// One curve for each participant, unrelated.
    Separate,
}

/// The scale on which a parameter is penalised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PenaltyScale {
    Value,
    /// The natural logarithm of the value; for parameters above zero.
    Logarithm,
}

/// precision / 2 times (s - center)^2, s being a parameter on the penalty's scale.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Penalty {
    /// Index of the parameter in its family's table.
    pub parameter: usize,
    pub scale: PenaltyScale,
    pub center: f64,
    /// Not negative; the inverse of a variance.
    pub precision: f64,
}

/// The response of a modality and what of it is learned.
#[derive(Debug, Clone, PartialEq)]
pub struct LearnedResponse {
    /// Where learning begins; parameters without bounds stay here.
    pub initial: Response,
    /// Smallest and largest value of each parameter in the order of the family's table; `None` keeps it fixed.
    pub bounds: Vec<Option<(f64, f64)>>,
    pub pooling: ResponsePooling,
    pub penalties: Vec<Penalty>,
}

/// Why a [`LearnedResponse`] is refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum LearnedError {
    #[error(transparent)]
    Response(#[from] ResponseError),
    #[error(
        "the bounds of the response `double_gamma` let the undershoot come before the peak: the peak's mean reaches {peak} s, the undershoot's goes down to {undershoot} s"
    )]
    MeanOrder { peak: f64, undershoot: f64 },
    #[error("the pooling strength of a response must be finite and not negative, not {strength}")]
    Strength { strength: f64 },
    #[error(
        "the response `{family}` has no parameter {index} to penalise; its parameters are counted from 0 to {last}"
    )]
    PenaltyIndex { family: &'static str, index: usize, last: usize },
    #[error("`{parameter}` of the response `{family}` is fixed, so a penalty on it has no effect; give it bounds")]
    PenaltyOnFixed { family: &'static str, parameter: &'static str },
    #[error("a lag may be negative, so it cannot be penalised on the logarithmic scale")]
    LogarithmOfLag,
    #[error(
        "a penalty needs a finite center and a finite precision that is not negative, not {center} and {precision}"
    )]
    PenaltyNumbers { center: f64, precision: f64 },
}

impl LearnedResponse {
    /// A response of which nothing is learned.
    pub fn fixed(response: Response) -> Self {
        let bounds = vec![None; response.values().len()];
        LearnedResponse { initial: response, bounds, pooling: ResponsePooling::Shared, penalties: Vec::new() }
    }

    /// A response whose parameters are all learned within [`Response::default_bounds`], one curve for all.
    pub fn free(response: Response) -> Self {
        let bounds = response.default_bounds().into_iter().map(Some).collect();
        LearnedResponse { initial: response, bounds, pooling: ResponsePooling::Shared, penalties: Vec::new() }
    }

    /// A response of which only the lag is learned, within [`Response::default_bounds`], one curve for all. A family without
    /// a lag stays fixed.
    pub fn lag_only(response: Response) -> Self {
        let parameters = response.family().parameters;
        let bounds = response.default_bounds().into_iter().zip(parameters);
        let bounds = bounds.map(|(b, p)| (p.domain == Domain::Lag).then_some(b)).collect();
        LearnedResponse { initial: response, bounds, pooling: ResponsePooling::Shared, penalties: Vec::new() }
    }

    /// Indices of the learned parameters, in rising order.
    pub fn free_parameters(&self) -> Vec<usize> {
        (0..self.bounds.len()).filter(|&i| self.bounds[i].is_some()).collect()
    }

    /// Smallest and largest lag in seconds that the support reaches within the bounds.
    ///
    /// # Errors
    /// Those of [`Response::envelope`].
    pub fn envelope(&self) -> Result<(f64, f64), ResponseError> {
        self.initial.envelope(&self.bounds)
    }

    /// Refuses responses and bounds outside their domain, and penalties that name no learned parameter.
    ///
    /// # Errors
    /// See [`LearnedError`].
    pub fn check(&self) -> Result<(), LearnedError> {
        self.initial.check()?;
        self.envelope()?;
        let family = self.initial.family();
        self.check_mean_order()?;
        if let ResponsePooling::Partial { strength } = self.pooling
            && (!strength.is_finite() || strength < 0.0)
        {
            return Err(LearnedError::Strength { strength });
        }
        for p in &self.penalties {
            let Some(parameter) = family.parameters.get(p.parameter) else {
                let last = family.parameters.len().saturating_sub(1);
                return Err(LearnedError::PenaltyIndex { family: family.name, index: p.parameter, last });
            };
            if self.bounds[p.parameter].is_none() {
                return Err(LearnedError::PenaltyOnFixed { family: family.name, parameter: parameter.name });
            }
            if p.scale == PenaltyScale::Logarithm && parameter.domain == Domain::Lag {
                return Err(LearnedError::LogarithmOfLag);
            }
            if !p.center.is_finite() || !p.precision.is_finite() || p.precision < 0.0 {
                return Err(LearnedError::PenaltyNumbers { center: p.center, precision: p.precision });
            }
        }
        Ok(())
    }

    /// A double gamma's undershoot must follow its peak wherever the bounds let the parameters go.
    fn check_mean_order(&self) -> Result<(), LearnedError> {
        if !matches!(self.initial, Response::DoubleGamma { .. }) {
            return Ok(());
        }
        let values = self.initial.values();
        let end = |i: usize, upper: bool| self.bounds[i].map_or(values[i], |(lo, hi)| if upper { hi } else { lo });
        let (peak, undershoot) = (end(0, true) * end(1, true), end(2, false) * end(3, false));
        if peak < undershoot { Ok(()) } else { Err(LearnedError::MeanOrder { peak, undershoot }) }
    }

    /// Whether each learned parameter's coordinate is its logarithm.
    pub(super) fn logarithmic(&self) -> Vec<bool> {
        let parameters = self.initial.family().parameters;
        self.free_parameters().into_iter().map(|i| parameters[i].domain != Domain::Lag).collect()
    }
}

/// Value and slope, in a parameter's coordinate, of the sum of its penalties; `curvature` is a positive bound of the second
/// derivative's main part.
pub(super) struct PenaltyAt {
    pub value: f64,
    pub slope: f64,
    pub curvature: f64,
}

/// The penalty `p` at coordinate `x` of a parameter that is `logarithmic` or not.
pub(super) fn penalty_at(p: &Penalty, logarithmic: bool, x: f64) -> PenaltyAt {
    // ds/dx of the penalised scale s in the coordinate x.
    let (s, ds) = match (p.scale, logarithmic) {
        (PenaltyScale::Value, true) => (x.exp(), x.exp()),
        (PenaltyScale::Value, false) | (PenaltyScale::Logarithm, _) => (x, 1.0),
    };
    let gap = s - p.center;
    PenaltyAt { value: 0.5 * p.precision * gap * gap, slope: p.precision * gap * ds, curvature: p.precision * ds * ds }
}
