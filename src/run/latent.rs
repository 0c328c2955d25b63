//! The latent paths of a filtered recording: posterior mean and standard deviation, at a point or over draws.

use super::fit::FitError;
use crate::archive::{Draws, LatentSeries};
use crate::bind::{Env, Plan, SharedPlan, Value, complete, evaluate};
use crate::model::{Latent, Shared};
use crate::terms::filtered::{FilteredGp, Point, Workspace};
use crate::terms::filtered_from_plan;

/// Draws that the latent is averaged over, evenly spaced; each costs about one gradient.
const AVERAGED_DRAWS: usize = 200;

/// Reads latent paths at the times at which anything was observed.
pub(super) struct PathReader<'a> {
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
        let times = (0..shared.recording.runs.len())
            .map(|run| {
                let streams = shared.recording.streams.iter().filter(|s| s.run == run);
                let mut times: Vec<f64> = streams.flat_map(|s| s.times.iter().copied()).collect();
                times.sort_by(f64::total_cmp);
                times.dedup();
                times
            })
            .collect();
        Ok(Self { parts, shared, gp, workspace: Workspace::default(), times })
    }

    /// The latent given the named parameters.
    pub fn at(&mut self, env: &Env) -> Result<Vec<LatentSeries>, FitError> {
        let named = |name: &Option<String>| name.as_ref().and_then(|n| env.get(n)).map(|v| v.values.as_slice());
        let loading = Some(self.parts.loading.clone());
        let Latent::Process { length_scale, .. } = &self.parts.latent else { return Ok(Vec::new()) };
        let point = Point {
            loadings: named(&loading).unwrap_or(&[]),
            offsets: named(&self.parts.offset),
            noise: named(&self.parts.noise).unwrap_or(&[]),
            responses: &[],
            length_scale: evaluate(length_scale, env)?.values[0],
        };
        let mut out = Vec::with_capacity(self.times.len());
        for (run, times) in self.times.iter().enumerate() {
            let moments =
                self.gp.latent_moments(&point, run, times, &mut self.workspace).map_err(FitError::Filtered)?;
            out.push(LatentSeries {
                run: self.shared.recording.runs[run].clone(),
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
        let elements: Vec<Vec<Vec<f64>>> = (0..draws.labels().count()).map(|i| draws.element(i)).collect();
        let Some((chains, length)) = elements.first().map(|e| (e.len(), e.first().map_or(0, Vec::len))) else {
            return Ok(Vec::new());
        };
        let total = chains * length;
        let used = total.min(AVERAGED_DRAWS);
        let mut mixtures: Vec<LatentSeries> = Vec::new();
        let mut squares: Vec<Vec<f64>> = Vec::new();
        for i in 0..used {
            let draw = i * total / used;
            let env = self.draw_env(plan, draws, &elements, draw / length, draw % length)?;
            for (run, series) in self.at(&env)?.into_iter().enumerate() {
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

    /// All named quantities at one draw.
    fn draw_env(
        &self,
        plan: &Plan,
        draws: &Draws,
        elements: &[Vec<Vec<f64>>],
        chain: usize,
        draw: usize,
    ) -> Result<Env, FitError> {
        let mut env = plan.values.clone();
        let mut at = 0;
        for quantity in &draws.quantities {
            let n = quantity.labels.len();
            let values = elements[at..at + n].iter().map(|e| e[chain][draw]).collect();
            env.insert(quantity.name.clone(), Value { shape: quantity.shape.clone(), values });
            at += n;
        }
        Ok(complete(plan, env)?)
    }
}
