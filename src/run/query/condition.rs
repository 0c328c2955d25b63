//! A fit and new data joined: the latent of the data, and every fitted stream, at any time.

use super::error::QueryError;
use super::fitted::{Fitted, Known};
use crate::bind::SharedPlan;
use crate::data::Recording;
use crate::run::latent::filtered_point;
use crate::terms::filtered::{FilteredGp, LatentMoments, Workspace};
use crate::terms::filtered_from_plan;
use crate::terms::gridded::{Problem, query};

/// Values at given times.
#[derive(Debug, Clone, PartialEq)]
pub struct Values {
    /// Times x columns, row-major; NaN where not valid.
    pub mean: Vec<f64>,
    /// Standard deviations in the same order, for a latent with a process; NaN where not valid.
    pub sd: Option<Vec<f64>>,
    /// Whether the data reach each time.
    pub valid: Vec<bool>,
}

/// The latent given new data and the parameters of a fit.
pub struct Conditioned<'a> {
    fitted: &'a Fitted<'a>,
    form: Form,
    /// Runs that hold data.
    runs: Vec<ConditionedRun>,
}

/// A run of the data.
struct ConditionedRun {
    name: String,
    /// First and last observed time, in seconds.
    domain: (f64, f64),
    /// Times at which the latent is given unless others are asked for: grid nodes, or all observed times.
    times: Vec<f64>,
}

enum Form {
    Gridded { problem: Box<Problem>, z: Vec<f64> },
    Filtered { gp: Box<FilteredGp>, workspace: Box<Workspace>, runs: Vec<String> },
}

impl<'a> Fitted<'a> {
    /// The latent given `recording`, which [`Fitted::admit`] has placed.
    ///
    /// # Errors
    /// Data without an observed value, and what the terms cannot take.
    pub fn condition(&'a self, recording: &Recording) -> Result<Conditioned<'a>, QueryError> {
        let domains = recording.domains();
        if domains.iter().all(|(first, last)| first > last) {
            return Err(QueryError::NoSource { reason: "it has no observed value".into() });
        }
        let mut runs = Vec::new();
        for (run, name) in recording.runs.iter().enumerate() {
            if domains[run].0 <= domains[run].1 {
                let times = recording.observed_times(run);
                runs.push(ConditionedRun { name: name.clone(), domain: domains[run], times });
            }
        }
        let form = match &self.gridded {
            Some(g) => {
                let (problem, z) = query::infer_latent(&g.problem, &g.loadings, &g.strengths, recording)?;
                for run in &mut runs {
                    if let Some(r) = problem.runs.iter().find(|r| r.name == run.name) {
                        run.times = (0..r.grid.nodes).map(|i| r.grid.time(i)).collect();
                    }
                }
                Form::Gridded { problem: Box::new(problem), z }
            }
            None => {
                let shared = SharedPlan { recording: recording.clone(), domains, ..self.shared.clone() };
                let gp = Box::new(filtered_from_plan(&shared)?);
                Form::Filtered { gp, workspace: Box::default(), runs: recording.runs.clone() }
            }
        };
        Ok(Conditioned { fitted: self, form, runs })
    }
}

impl Conditioned<'_> {
    /// Names of the runs that hold data.
    pub fn runs(&self) -> Vec<String> {
        self.runs.iter().map(|r| r.name.clone()).collect()
    }

    fn run(&self, name: &str) -> Result<&ConditionedRun, QueryError> {
        self.runs.iter().find(|r| r.name == name).ok_or_else(|| QueryError::Run {
            run: name.to_string(),
            what: "data",
            known: self.runs().join(", "),
        })
    }

    /// Times at which the latent of a run is given unless others are asked for: grid nodes, or all observed times.
    ///
    /// # Errors
    /// A run without data.
    pub fn natural_times(&self, run: &str) -> Result<Vec<f64>, QueryError> {
        Ok(self.run(run)?.times.clone())
    }

    /// First and last observed time of a run, in seconds.
    ///
    /// # Errors
    /// A run without data.
    pub fn domain(&self, run: &str) -> Result<(f64, f64), QueryError> {
        Ok(self.run(run)?.domain)
    }

    /// The latent paths with the people of each: one of everybody, or several where the model has paths of their own for
    /// participants. Paths of people without a stream in the data are left out.
    pub fn paths(&self) -> Vec<(usize, Option<String>)> {
        let Form::Gridded { problem, .. } = &self.form else { return vec![(0, None)] };
        if problem.groups.len() == 1 {
            return vec![(0, None)];
        }
        let present = |p: &&usize| problem.pairs.iter().any(|pair| pair.participant_index == **p);
        let name = |group: &Vec<usize>| {
            let who: Vec<&str> = group.iter().filter(present).map(|&p| problem.participants[p].as_str()).collect();
            (!who.is_empty()).then(|| who.join("+"))
        };
        problem.groups.iter().map(name).enumerate().filter(|(_, who)| who.is_some()).collect()
    }

    /// A latent path (see [`Conditioned::paths`]) of a run, times x factors.
    ///
    /// # Errors
    /// A run without data, times that are not finite, and failed factorisations.
    pub fn latent(&mut self, run: &str, path: usize, times: &[f64]) -> Result<Values, QueryError> {
        if let Form::Gridded { problem, z } = &self.form {
            let series = query::path_at(problem, z, run, path, times)?;
            return Ok(Values { mean: series.values, sd: None, valid: series.valid });
        }
        let columns = self.fitted.factors();
        self.filtered(run, times, columns, None, |_, moments, t, column, k| {
            let i = t * k + column;
            (moments.mean[i], moments.covariance[i * k + column])
        })
    }

    /// A fitted stream in its own units, times x features; with `noise` the sd is that of a new observation.
    ///
    /// # Errors
    /// A pair that was not fitted, a run without data, `noise` for an objective, and failed factorisations.
    pub fn predict(
        &mut self,
        participant: &str,
        modality: &str,
        run: &str,
        times: &[f64],
        noise: bool,
    ) -> Result<Values, QueryError> {
        let fitted = self.fitted;
        let known = fitted.find(participant, modality).ok_or_else(|| fitted.unknown_pair(participant, modality))?;
        if let (Form::Gridded { problem, z }, Some(g)) = (&self.form, &fitted.gridded) {
            if noise {
                return Err(QueryError::NoNoise);
            }
            let weights = (&g.problem, g.loadings.as_slice());
            let series = query::predict(weights, (problem, z), participant, modality, run, times)?;
            return Ok(Values { mean: series.values, sd: None, valid: series.valid });
        }
        let same = |n: &&(usize, usize)| **n == (known.participant, known.modality);
        let variance = fitted.shared.noises.iter().position(|n| same(&n));
        let slot = fitted.shared.responses.slot(known.participant, known.modality);
        let Known { first_key, features, .. } = known;
        self.filtered(run, times, features.len(), slot, |env, moments, t, column, k| {
            let key = first_key + column;
            let w = &env.loadings[key * k..(key + 1) * k];
            let signal: f64 = w.iter().zip(&moments.mean[t * k..]).map(|(w, m)| w * m).sum();
            let covariance = &moments.covariance[t * k * k..(t + 1) * k * k];
            let spread: f64 = covariance
                .chunks_exact(k)
                .zip(w)
                .map(|(row, a)| a * row.iter().zip(w).map(|(c, b)| c * b).sum::<f64>())
                .sum();
            let scale = fitted.shared.standardisation[key];
            let offset = env.offsets.map_or(0.0, |b| b[key]);
            let added = if noise { variance.map_or(0.0, |v| env.noise[v]) } else { 0.0 };
            ((offset + signal) * scale.sd + scale.mean, (spread.max(0.0) + added) * scale.sd * scale.sd)
        })
    }

    /// Mean and sd over the points of the fit: `read` gives mean and variance at one point, time and column, from the moments
    /// of the path or of what the response `slot` shows of it.
    fn filtered(
        &mut self,
        run: &str,
        times: &[f64],
        columns: usize,
        slot: Option<usize>,
        read: impl Fn(&crate::terms::filtered::Point<'_>, &LatentMoments, usize, usize, usize) -> (f64, f64),
    ) -> Result<Values, QueryError> {
        let (first, last) = self.domain(run)?;
        let k = self.fitted.factors();
        let Form::Filtered { gp, workspace, runs } = &mut self.form else { return Err(QueryError::NoNoise) };
        let index = runs.iter().position(|r| r == run).unwrap_or(0);
        let count = times.len() * columns;
        // Running mean and squares of the means (Welford), and the sum of the variances.
        let (mut mean, mut squares, mut within) = (vec![0.0; count], vec![0.0; count], vec![0.0; count]);
        for (i, env) in self.fitted.points.iter().enumerate() {
            let responses = self.fitted.shared.responses.values_in(&self.fitted.plan.blocks, env);
            let point = filtered_point(self.fitted.parts, env, &responses)?;
            let moments = gp.moments(&point, index, slot, times, workspace)?;
            for t in 0..times.len() {
                for column in 0..columns {
                    let (value, variance) = read(&point, &moments, t, column, k);
                    let at = t * columns + column;
                    let before = value - mean[at];
                    mean[at] += before / (i + 1) as f64;
                    squares[at] += before * (value - mean[at]);
                    within[at] += variance;
                }
            }
        }
        let n = self.fitted.points.len() as f64;
        let slack = 1e-10 * 1f64.max(first.abs()).max(last.abs());
        let valid: Vec<bool> = times.iter().map(|t| *t >= first - slack && *t <= last + slack).collect();
        let shown = |at: usize, value: f64| if valid[at / columns] { value } else { f64::NAN };
        let sd = squares.iter().zip(&within).map(|(b, w)| ((b + w) / n).sqrt());
        let sd = sd.enumerate().map(|(at, v)| shown(at, v)).collect();
        let mean = mean.into_iter().enumerate().map(|(at, v)| shown(at, v)).collect();
        Ok(Values { mean, sd: Some(sd), valid })
    }
}
