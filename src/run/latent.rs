//! The latent paths of a filtered recording: posterior mean and standard deviation, at a point or over draws.

use super::envs::draw_envs;
use super::fit::FitError;
use crate::archive::{Draws, LatentSeries};
use crate::bind::{Env, EvaluateError, Plan, SharedPlan, evaluate};
use crate::model::{Latent, Shared};
use crate::terms::filtered::{Algebra, FilteredGp, Point, Workspace};
use crate::terms::filtered_from_plan;

/// Draws that the latent is averaged over, evenly spaced; each costs about one gradient.
const AVERAGED_DRAWS: usize = 200;

/// Reads latent paths at the times at which anything was observed.
pub(super) struct PathReader<'a> {
    plan: &'a Plan,
    parts: &'a Shared,
    shared: &'a SharedPlan,
    gp: FilteredGp,
    workspace: Workspace,
    /// Distinct times of each run, ascending.
    times: Vec<Vec<f64>>,
}

impl<'a> PathReader<'a> {
    /// For a plan whose latent is a process.
    pub fn new(plan: &'a Plan, shared: &'a SharedPlan) -> Result<Self, FitError> {
        let parts = plan.model.shared.as_ref().ok_or(FitError::NotGridded)?;
        let gp = filtered_from_plan(shared).map_err(FitError::Filtered)?;
        let times = (0..shared.recording.runs.len()).map(|run| shared.recording.observed_times(run)).collect();
        Ok(Self { plan, parts, shared, gp, workspace: Workspace::default(), times })
    }

    /// The latent given the named parameters.
    pub fn at(&mut self, env: &Env) -> Result<Vec<LatentSeries>, FitError> {
        let responses = self.shared.responses.values_in(&self.plan.blocks, env);
        let point = filtered_point(self.parts, env, &responses)?;
        let mut out = Vec::with_capacity(self.times.len());
        for (run, times) in self.times.iter().enumerate() {
            let moments = self.gp.moments(&point, run, None, times, &mut self.workspace).map_err(FitError::Filtered)?;
            out.push(LatentSeries {
                run: self.shared.recording.runs[run].clone(),
                participants: None,
                times: times.clone(),
                sd: Some(moments.variance().iter().map(|v| v.sqrt()).collect()),
                mean: moments.mean,
                factors: self.shared.factors,
            });
        }
        Ok(out)
    }

    /// The latent averaged over draws: the mean of the means, and the spread within and between draws together.
    pub fn over(&mut self, plan: &Plan, draws: &Draws) -> Result<Vec<LatentSeries>, FitError> {
        let envs = draw_envs(plan, draws, AVERAGED_DRAWS)?;
        let used = envs.len();
        let mut mixtures: Vec<LatentSeries> = Vec::new();
        let mut squares: Vec<Vec<f64>> = Vec::new();
        for (i, env) in envs.iter().enumerate() {
            for (run, series) in self.at(env)?.into_iter().enumerate() {
                let variance = series.sd.iter().flatten().map(|sd| sd * sd);
                let second: Vec<f64> = series.mean.iter().zip(variance).map(|(m, v)| v + m * m).collect();
                if i == 0 {
                    mixtures.push(series);
                    squares.push(second);
                } else {
                    mixtures[run].mean.iter_mut().zip(&series.mean).for_each(|(a, b)| *a += b);
                    squares[run].iter_mut().zip(&second).for_each(|(a, b)| *a += b);
                }
            }
        }
        for (series, second) in mixtures.iter_mut().zip(&squares) {
            series.mean.iter_mut().for_each(|m| *m /= used as f64);
            let sd = series.mean.iter().zip(second).map(|(m, s)| (s / used as f64 - m * m).max(0.0).sqrt()).collect();
            series.sd = Some(sd);
        }
        Ok(mixtures)
    }
}

/// Where the filtered term stands, given all named quantities and the parameters of all responses.
pub(super) fn filtered_point<'e>(
    parts: &Shared,
    env: &'e Env,
    responses: &'e [f64],
) -> Result<Point<'e>, EvaluateError> {
    let named = |name: Option<&String>| name.and_then(|n| env.get(n)).map(|v| v.values.as_slice());
    let length_scale = match &parts.latent {
        Latent::Process { length_scale, .. } => evaluate(length_scale, env)?.values[0],
        Latent::Grid { .. } => f64::NAN,
    };
    Ok(Point {
        loadings: named(Some(&parts.loading)).unwrap_or(&[]),
        offsets: named(parts.offset.as_ref()),
        noise: named(parts.noise.as_ref()).unwrap_or(&[]),
        responses,
        length_scale,
    })
}

/// How the likelihood of a recording is computed, with the reason; `None` for other models.
///
/// # Errors
/// Recordings that the likelihood cannot take.
pub fn likelihood_algebra(plan: &Plan) -> Result<Option<String>, FitError> {
    let (Some(parts), Some(shared)) = (&plan.model.shared, &plan.shared) else { return Ok(None) };
    if matches!(parts.latent, Latent::Grid { .. }) {
        return Ok(None);
    }
    let gp = filtered_from_plan(shared).map_err(FitError::Filtered)?;
    // The choice depends on sizes and families alone; any point with the right lengths does.
    let (loadings, noise) = (vec![1.0; shared.keys.len() * shared.factors], vec![1.0; shared.noises.len()]);
    let responses = shared.responses.values();
    let point = Point { loadings: &loadings, offsets: None, noise: &noise, responses: &responses, length_scale: 1.0 };
    let choice = gp.choose(&point);
    let name = if choice.algebra == Algebra::StateSpace { "state space" } else { "grouped" };
    Ok(Some(format!("{name} ({})", choice.reason)))
}
