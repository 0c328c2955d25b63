//! How the coordinates of a block make the parameter that the model names, and back: the slow obvious way.

use super::evaluate::{Env, EvaluateError, Value, evaluate, location_scale};
use super::layout::element_labels;
use super::plan::Block;
use crate::math::constraint::Constraint;
use crate::math::transform::Transform;
use crate::model::Param;
use serde::{Deserialize, Serialize};

/// What the coordinates of a block are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Form {
    /// The parameter itself.
    Direct,
    /// Its standardised form: the parameter is location + scale * coordinate.
    Standardised,
    /// Free numbers that a constraint turns into the parameter.
    Constrained(Constraint),
    /// Free numbers that are moved between bounds which depend on other parameters.
    Bounded,
}

impl Form {
    /// Sizes of the array of coordinates for a parameter of this shape.
    pub fn sizes(self, shape: &[usize]) -> Vec<usize> {
        let mut sizes = shape.to_vec();
        if let (Form::Constrained(constraint), Some(&k)) = (self, shape.last()) {
            if constraint.is_matrix() {
                sizes = vec![constraint.free(k)];
            } else if let Some(last) = sizes.last_mut() {
                *last = constraint.free(k);
            }
        }
        sizes
    }
}

/// Why values are no values of a parameter.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum FormError {
    #[error(transparent)]
    Evaluate(#[from] EvaluateError),
    #[error("`{name}` is not `{constraint}`: {reason}")]
    Constraint { name: String, constraint: &'static str, reason: String },
    #[error("{label} = {value} is not strictly between its bounds {lower} and {upper}")]
    Outside { label: String, value: f64, lower: f64, upper: f64 },
}

/// The transform of each element between bounds that depend on other parameters.
fn transforms(param: &Param, env: &Env, count: usize) -> Result<Vec<(f64, f64)>, EvaluateError> {
    let side = |bound: &Option<crate::model::Typed>, none: f64| match bound {
        Some(b) => evaluate(b, env),
        None => Ok(Value::scalar(none)),
    };
    let (lower, upper) = (side(&param.lower, f64::NEG_INFINITY)?, side(&param.upper, f64::INFINITY)?);
    Ok((0..count).map(|i| (lower.at(i), upper.at(i))).collect())
}

impl Block {
    /// Names of the sampled coordinates: `theta_raw` where they are standardised, `theta_free` where they are free.
    pub fn sampled_name(&self) -> String {
        match self.form {
            Form::Direct => self.name.clone(),
            Form::Standardised => format!("{}_raw", self.name),
            Form::Constrained(_) | Form::Bounded => format!("{}_free", self.name),
        }
    }

    /// Names of the sampled coordinates, element by element.
    pub fn sampled_labels(&self) -> Vec<String> {
        let name = self.sampled_name();
        if let Form::Constrained(constraint) = self.form {
            if constraint.is_matrix() {
                let k = self.shape[0];
                return (1..=k)
                    .flat_map(|i| (1..i).map(move |j| (i, j)))
                    .map(|(i, j)| format!("{name}[{i},{j}]"))
                    .collect();
            }
            return element_labels(&name, &self.form.sizes(&self.shape));
        }
        self.labels.iter().map(|label| format!("{name}{}", &label[self.name.len()..])).collect()
    }

    /// Elements along the last axis, and the number of pieces that a constraint holds for.
    pub fn pieces(&self) -> (usize, usize) {
        let k = self.shape.last().copied().unwrap_or(1);
        match self.form {
            Form::Constrained(constraint) => (k, self.labels.len() / constraint.elements(k).max(1)),
            _ => (k, 1),
        }
    }

    /// The parameter at these coordinates; `env` holds all that stands above it in the model.
    ///
    /// # Errors
    /// As [`evaluate`].
    pub fn from_coordinates(&self, param: &Param, env: &Env, u: &[f64]) -> Result<Vec<f64>, EvaluateError> {
        Ok(match self.form {
            Form::Direct => u.to_vec(),
            Form::Standardised => {
                let (location, scale) = location_scale(param, env)?;
                u.iter().enumerate().map(|(i, r)| location.at(i) + scale.at(i) * r).collect()
            }
            Form::Constrained(constraint) => {
                let (k, pieces) = self.pieces();
                let (free, elements) = (constraint.free(k), constraint.elements(k));
                let mut x = vec![0.0; self.labels.len()];
                for piece in 0..pieces {
                    let to = &mut x[piece * elements..(piece + 1) * elements];
                    constraint.constrain(k, &u[piece * free..(piece + 1) * free], to);
                }
                x
            }
            Form::Bounded => {
                let bounds = transforms(param, env, u.len())?;
                bounds.iter().zip(u).map(|(&(lo, hi), &u)| Transform::from_bounds(lo, hi).to_physical(u)).collect()
            }
        })
    }

    /// The coordinates at which the parameter has these values.
    ///
    /// # Errors
    /// Values that are not of the constraint, or outside the bounds.
    pub fn to_coordinates(&self, param: &Param, env: &Env, values: &[f64]) -> Result<Vec<f64>, FormError> {
        Ok(match self.form {
            Form::Direct => values.to_vec(),
            Form::Standardised => {
                let (location, scale) = location_scale(param, env)?;
                values.iter().enumerate().map(|(i, theta)| (theta - location.at(i)) / scale.at(i)).collect()
            }
            Form::Constrained(constraint) => {
                let (k, _) = self.pieces();
                let refuse =
                    |reason| FormError::Constraint { name: self.name.clone(), constraint: constraint.name(), reason };
                let pieces = values.chunks_exact(constraint.elements(k).max(1));
                pieces.map(|x| constraint.to_free(k, x)).collect::<Result<Vec<_>, _>>().map_err(refuse)?.concat()
            }
            Form::Bounded => {
                let bounds = transforms(param, env, values.len())?;
                let one = |(i, (&(lower, upper), &value)): (usize, (&(f64, f64), &f64))| {
                    let label = || self.labels[i].clone();
                    Transform::from_bounds(lower, upper).to_unconstrained(value).ok_or_else(|| FormError::Outside {
                        label: label(),
                        value,
                        lower,
                        upper,
                    })
                };
                bounds.iter().zip(values).enumerate().map(one).collect::<Result<_, _>>()?
            }
        })
    }
}
