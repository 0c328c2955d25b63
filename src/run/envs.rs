//! The named quantities of a fit, at its mode or at its draws.

use crate::archive::{Draws, Mode, Quantity};
use crate::bind::{Env, EvaluateError, Plan, Value, complete};

/// All named quantities at one vector of the elements of `quantities`.
fn env(plan: &Plan, quantities: &[Quantity], element: impl Fn(usize) -> f64) -> Result<Env, EvaluateError> {
    let mut env = plan.values.clone();
    let mut at = 0;
    for quantity in quantities {
        let n = quantity.labels.len();
        let values = (at..at + n).map(&element).collect();
        env.insert(quantity.name.clone(), Value { shape: quantity.shape.clone(), values });
        at += n;
    }
    complete(plan, env)
}

/// At the mode.
pub(super) fn mode_env(plan: &Plan, mode: &Mode) -> Result<Env, EvaluateError> {
    env(plan, &mode.quantities, |i| mode.values[i])
}

/// At up to `most` draws, evenly spaced over the chains that [`Draws::element`] keeps.
pub(super) fn draw_envs(plan: &Plan, draws: &Draws, most: usize) -> Result<Vec<Env>, EvaluateError> {
    let elements: Vec<Vec<Vec<f64>>> = (0..draws.labels().count()).map(|i| draws.element(i)).collect();
    let Some((chains, length)) = elements.first().map(|e| (e.len(), e.first().map_or(0, Vec::len))) else {
        return Ok(Vec::new());
    };
    let total = chains * length;
    let used = total.min(most);
    (0..used)
        .map(|i| {
            let draw = i * total / used;
            env(plan, &draws.quantities, |e| elements[e][draw / length][draw % length])
        })
        .collect()
}
