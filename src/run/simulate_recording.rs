//! Draws a recording from a shared-response density: loadings, offsets and noise from their priors, the latent from its
//! process, and the streams of a design through their responses.

use super::design::{Design, StreamDesign};
use super::simulate::{SimulateError, Simulator, add};
use crate::archive::LatentSeries;
use crate::base::Source;
use crate::bind::{BindOptions, Constants, Env, EvaluateError, Input, Plan, SharedPlan, Value, bind};
use crate::data::{Arrays, Recording, Stream};
use crate::math::dist;
use crate::math::rng::{Purpose, stream};
use crate::model::{Draw, Latent, Model, Statement};
use crate::response::{Curve, Response};
use rand::{Rng, RngExt};
use rand_distr::{Distribution, StandardNormal};

/// Nodes of the latent path per length scale, where a response has to be integrated over it.
const NODES_PER_LENGTH: f64 = 64.0;
/// More nodes than this in one run are a mistake in the design.
const MOST_NODES: f64 = 2e6;

/// A drawn recording.
#[derive(Debug, Clone, PartialEq)]
pub struct SimulatedRecording {
    /// Parameters in their own units; those of a standardised model are in units of the recording as it is drawn.
    pub truth: Arrays,
    pub recording: Recording,
    /// The latent at the times of the rows.
    pub latent: Vec<LatentSeries>,
}

/// A shared-response density with a design.
pub struct RecordingSimulator {
    simulator: Simulator,
    plan: Plan,
    design: Design,
}

impl RecordingSimulator {
    /// Joins a model with a design.
    ///
    /// # Errors
    /// Designs without rows, and models that cannot be drawn from.
    pub fn new(model: Model, source: Source, design: Design) -> Result<RecordingSimulator, SimulateError> {
        let simulator = Simulator::new(model.clone(), source.clone(), Arrays::default())?;
        let input = Input::Recording(design.recording()?);
        let plan = bind(model, source, input, BindOptions { constants: Constants::Keep, ..BindOptions::default() })?;
        Ok(RecordingSimulator { simulator, plan, design })
    }

    /// Draw number `index` under `seed`: the same numbers give the same draw.
    ///
    /// # Errors
    /// Draws outside what the next distribution allows.
    pub fn draw(&self, seed: u64, index: u64) -> Result<SimulatedRecording, SimulateError> {
        let missing = |name: &str| EvaluateError::Unbound { name: name.into(), span: crate::base::Span::default() };
        let (Some(model), Some(shared)) = (&self.plan.model.shared, &self.plan.shared) else {
            return Err(missing("recording").into());
        };
        let Latent::Process { length_scale, .. } = &model.latent else {
            return Err(missing("latent").into());
        };
        let mut rng = stream(seed, index, Purpose::Prediction);
        let (env, truth) = self.parameters(&mut rng)?;
        let scale = self.simulator.value(length_scale, &env)?.values[0];
        let named = |name: &str| env.get(name).ok_or_else(|| missing(name));
        let weights = Weights {
            loadings: &named(&model.loading)?.values,
            offsets: model.offset.as_deref().map(named).transpose()?.map(|v| v.values.as_slice()),
            noise: &named(model.noise.as_deref().unwrap_or_default())?.values,
            responses: self.responses(&env)?,
        };
        let mut recording = shared.recording.clone();
        let mut latent = Vec::new();
        for run in 0..recording.runs.len() {
            let mut streams: Vec<&mut Stream> = recording.streams.iter_mut().filter(|s| s.run == run).collect();
            let path = Path::draw(&streams, shared, &weights.responses, scale, &mut rng)?;
            for stream in &mut streams {
                weights.fill(stream, shared, &path, &mut rng);
                if let Some(design) = self.design.streams.get(stream.modality) {
                    mask(stream, design, &mut rng);
                }
            }
            latent.push(path.series(&streams, shared.recording.runs[run].clone()));
        }
        Ok(SimulatedRecording { truth, recording, latent })
    }

    /// Every parameter of the model, in the order of its lines; and of its responses.
    fn parameters(&self, rng: &mut dyn Rng) -> Result<(Env, Arrays), SimulateError> {
        let mut env = self.plan.values.clone();
        let mut truth = Arrays::default();
        let mut keep = |env: &mut Env, name: &str, value: Value| {
            add(&mut truth, name, &value, false);
            env.insert(name.to_string(), value);
        };
        for statement in &self.plan.model.statements {
            match statement {
                Statement::Param(param) => {
                    let value = self.simulator.parameter(param, &env, rng)?;
                    keep(&mut env, &param.name, value);
                }
                Statement::Let { name, value } => {
                    let value = self.simulator.value(value, &env)?;
                    env.insert(name.clone(), value);
                }
                Statement::WeightPrior { name, draw, .. } => {
                    let value = self.block(name, draw, &env, rng)?;
                    keep(&mut env, name, value);
                }
                _ => {}
            }
        }
        for response in self.plan.model.shared.iter().flat_map(|s| &s.responses) {
            for learned in &response.learned {
                if let Some(prior) = &learned.prior {
                    let value = self.block(&learned.name, prior, &env, rng)?;
                    keep(&mut env, &learned.name, value);
                }
            }
        }
        Ok((env, truth))
    }

    /// One draw per element of a block, inside its bounds.
    fn block(&self, name: &str, draw: &Draw, env: &Env, rng: &mut dyn Rng) -> Result<Value, SimulateError> {
        let missing = || EvaluateError::Unbound { name: name.into(), span: draw.span };
        let block = self.plan.block(name).ok_or_else(missing)?;
        let distribution = dist::find(&draw.family).ok_or_else(missing)?;
        let arguments = draw.arguments.iter().map(|a| self.simulator.value(a, env)).collect::<Result<Vec<_>, _>>()?;
        let mut values = Vec::with_capacity(block.len());
        for i in 0..block.len() {
            let args: Vec<f64> = arguments.iter().map(|a| a.at(i)).collect();
            let value = distribution.draw_within(rng, block.lower[i], block.upper[i], &args);
            if !value.is_finite() {
                return Err(SimulateError::Value { name: name.into(), family: draw.family.clone(), arguments: args });
            }
            values.push(value);
        }
        Ok(Value { shape: block.shape.clone(), values })
    }

    /// The response of every slot with its drawn parameters; `None` for the identity.
    fn responses(&self, env: &Env) -> Result<Vec<Option<Curve>>, SimulateError> {
        let (Some(model), Some(shared)) = (&self.plan.model.shared, &self.plan.shared) else { return Ok(Vec::new()) };
        let mut curves = Vec::new();
        let mut seen = vec![0; shared.recording.modalities.len()];
        for slot in &shared.responses.slots {
            let owner: usize = seen[slot.modality];
            seen[slot.modality] += 1;
            let mut values = slot.response.values();
            let modality = &shared.recording.modalities[slot.modality];
            for learned in model.responses.iter().filter(|r| r.modality == *modality).flat_map(|r| &r.learned) {
                values[learned.index] = env.get(&learned.name).map_or(f64::NAN, |v| v.at(owner));
            }
            let response = match slot.response {
                Response::Identity | Response::Sampled { .. } => slot.response.clone(),
                _ => slot.response.family().with(&values)?,
            };
            curves.push(Curve::new(&response)?);
        }
        Ok(curves)
    }
}

/// Removes the entries that the design leaves out.
fn mask(stream: &mut Stream, design: &StreamDesign, rng: &mut dyn Rng) {
    let (rows, width) = (stream.times.len(), stream.features.len());
    if design.gaps > 0.0 {
        for value in &mut stream.values {
            if rng.random::<f64>() < design.gaps {
                *value = f64::NAN;
            }
        }
    }
    if design.censored > 0 {
        let first = rng.random_range(0..=rows - design.censored);
        stream.values[first * width..(first + design.censored) * width].fill(f64::NAN);
    }
}

/// What turns a path into streams.
struct Weights<'a> {
    /// keys x factors.
    loadings: &'a [f64],
    offsets: Option<&'a [f64]>,
    /// Variances.
    noise: &'a [f64],
    /// One per slot.
    responses: Vec<Option<Curve>>,
}

impl Weights<'_> {
    /// Draws every entry of a stream: b + sum_k w_k (response of z_k) + noise.
    fn fill(&self, stream: &mut Stream, shared: &SharedPlan, path: &Path, rng: &mut dyn Rng) {
        let same = |p: usize, m: usize| (p, m) == (stream.participant, stream.modality);
        let first = shared.keys.iter().position(|k| same(k.participant, k.modality)).unwrap_or(0);
        let noise = shared.noises.iter().position(|&(p, m)| same(p, m)).unwrap_or(0);
        let slot = shared.responses.slot(stream.participant, stream.modality).unwrap_or(0);
        let (width, factors, sd) = (stream.features.len(), path.factors, self.noise[noise].sqrt());
        for (row, &time) in stream.times.iter().enumerate() {
            let seen = path.seen(self.responses[slot].as_ref(), time);
            for feature in 0..width {
                let key = first + feature;
                let weights = &self.loadings[key * factors..(key + 1) * factors];
                let signal: f64 = weights.iter().zip(&seen).map(|(w, z)| w * z).sum();
                let noise: f64 = StandardNormal.sample(rng);
                stream.values[row * width + feature] = self.offsets.map_or(0.0, |b| b[key]) + signal + sd * noise;
            }
        }
    }
}

/// The latent of one run at the times of the identity streams and on a fine grid wherever a response looks.
struct Path {
    /// Ascending.
    nodes: Vec<f64>,
    /// nodes x factors.
    values: Vec<f64>,
    factors: usize,
}

impl Path {
    /// Draws independent Matern-3/2 paths of variance 1, exactly at the nodes.
    fn draw(
        streams: &[&mut Stream],
        shared: &SharedPlan,
        responses: &[Option<Curve>],
        scale: f64,
        rng: &mut dyn Rng,
    ) -> Result<Path, SimulateError> {
        let mut nodes: Vec<f64> = streams.iter().flat_map(|s| s.times.iter().copied()).collect();
        let (mut first, mut last) = (f64::INFINITY, f64::NEG_INFINITY);
        for stream in streams {
            let slot = shared.responses.slot(stream.participant, stream.modality).unwrap_or(0);
            if let (Some(curve), Some(&a), Some(&b)) = (&responses[slot], stream.times.first(), stream.times.last()) {
                let (lo, hi) = curve.support();
                (first, last) = (first.min(a - hi), last.max(b - lo));
            }
        }
        if first < last {
            let count = (NODES_PER_LENGTH * (last - first) / scale).ceil().max(1.0);
            if count > MOST_NODES {
                return Err(SimulateError::Design(format!(
                    "a latent of length scale {scale} s over {:.0} s takes too many nodes; shorten the run or raise the prior's length scale",
                    last - first
                )));
            }
            nodes.extend((0..=count as usize).map(|i| first + (last - first) * i as f64 / count));
        }
        nodes.sort_by(f64::total_cmp);
        nodes.dedup();
        let factors = shared.factors;
        let mut values = vec![0.0; nodes.len() * factors];
        for factor in 0..factors {
            let path = matern32(&nodes, scale, rng);
            path.iter().enumerate().for_each(|(i, z)| values[i * factors + factor] = *z);
        }
        Ok(Path { nodes, values, factors })
    }

    /// What a stream shows of every factor at `time`: the latent itself, or the integral of k(u) z(time - u) du.
    fn seen(&self, curve: Option<&Curve>, time: f64) -> Vec<f64> {
        let at = |i: usize| &self.values[i * self.factors..(i + 1) * self.factors];
        let Some(curve) = curve else {
            return at(self.nodes.partition_point(|&t| t < time).min(self.nodes.len() - 1)).to_vec();
        };
        let (lo, hi) = curve.support();
        let start = self.nodes.partition_point(|&t| t < time - hi).saturating_sub(1);
        let mut seen = vec![0.0; self.factors];
        for i in start..self.nodes.len() - 1 {
            if self.nodes[i] > time - lo {
                break;
            }
            // Between two nodes the path is taken as linear.
            let (late, early) = curve.spread(time - self.nodes[i + 1], time - self.nodes[i]);
            for (k, s) in seen.iter_mut().enumerate() {
                *s += late * at(i + 1)[k] + early * at(i)[k];
            }
        }
        seen
    }

    /// The latent at the times of the rows.
    fn series(&self, streams: &[&mut Stream], run: String) -> LatentSeries {
        let mut times: Vec<f64> = streams.iter().flat_map(|s| s.times.iter().copied()).collect();
        times.sort_by(f64::total_cmp);
        times.dedup();
        let mean = times.iter().flat_map(|&t| self.seen(None, t)).collect();
        LatentSeries { run, participants: None, times, mean, sd: None, factors: self.factors }
    }
}

/// A path of the stationary Matern-3/2 process of variance 1 at ascending `times`: with r = sqrt(3) / scale the pair
/// (z, z') is Markov, of stationary covariance diag(1, r^2) and transition exp(-r d) [[1 + r d, d], [-r^2 d, 1 - r d]].
fn matern32(times: &[f64], scale: f64, rng: &mut dyn Rng) -> Vec<f64> {
    let r = 3.0_f64.sqrt() / scale;
    let mut normal = || -> f64 { StandardNormal.sample(rng) };
    let (mut z, mut slope) = (normal(), r * normal());
    let mut path = Vec::with_capacity(times.len());
    for (i, &time) in times.iter().enumerate() {
        if i > 0 {
            let d = time - times[i - 1];
            let x = r * d;
            let e = (-x).exp();
            let (a, b, c, f) = (e * (1.0 + x), e * d, -e * r * x, e * (1.0 - x));
            // What the transition leaves of the stationary covariance, and its Cholesky factor.
            let v00 = (1.0 - a * a - b * b * r * r).max(0.0);
            let v01 = -(a * c + b * f * r * r);
            let v11 = (r * r - c * c - f * f * r * r).max(0.0);
            let l00 = v00.sqrt();
            let l10 = if l00 > 0.0 { v01 / l00 } else { 0.0 };
            let l11 = (v11 - l10 * l10).max(0.0).sqrt();
            let (first, second) = (normal(), normal());
            (z, slope) = (a * z + b * slope + l00 * first, c * z + f * slope + l10 * first + l11 * second);
        }
        path.push(z);
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::recording_csv;
    use crate::model::check_text;

    fn draw(model: &str, design: &str) -> Result<RecordingSimulator, SimulateError> {
        let source = Source::new("m.msrm", format!("model m\n{model}\n"));
        let checked = check_text(&source).unwrap_or_else(|e| panic!("{}", crate::base::render(&source, &e)));
        RecordingSimulator::new(checked, source, serde_json::from_str(design).expect("a design"))
    }

    const MODEL: &str = "recording x\nfactors K = 1\nlatent z ~ matern32(length_scale = 2)\nloading w ~ normal(0, 1)\n\
                         offset b ~ normal(3, 0.001)\nnoise v ~ lognormal(-2, 0.1)\n\
                         observe x ~ normal(b + response(z) * w, sqrt(v))";

    #[test]
    fn paths_have_the_covariance_of_the_process() {
        let mut rng = stream(5, 0, Purpose::Prediction);
        let (times, scale, paths) = ([0.0, 0.3, 0.30001, 2.0, 7.0], 1.5, 40_000);
        let mut found = [[0.0; 5]; 5];
        for _ in 0..paths {
            let z = matern32(&times, scale, &mut rng);
            for i in 0..5 {
                for j in 0..5 {
                    found[i][j] += z[i] * z[j] / paths as f64;
                }
            }
        }
        for i in 0..5 {
            for j in 0..5 {
                let x = 3.0_f64.sqrt() * (times[i] - times[j]).abs() / scale;
                let wanted = (1.0 + x) * (-x).exp();
                let error = ((1.0 + wanted * wanted) / paths as f64).sqrt();
                assert!((found[i][j] - wanted).abs() < 4.5 * error, "{i} {j}: {} {wanted}", found[i][j]);
            }
        }
    }

    #[test]
    fn streams_follow_the_design_and_the_truth() {
        let design = r#"{"participants": 3, "seconds": 400, "streams": [
            {"modality": "rating", "features": ["joy", "fear"], "step": 1, "gaps": 0.2, "censored": 30},
            {"modality": "eda", "features": 1, "step": 0.5, "start": 0.25}]}"#;
        let simulator = draw(MODEL, design).expect("a simulator");
        let drawn = simulator.draw(1, 0).expect("a draw");
        // A missing entry is NaN, which equals nothing: the bytes are compared.
        let table = |index| recording_csv(&simulator.draw(1, index).expect("a draw").recording).expect("a table");
        assert!(table(0) == table(0) && table(0) != table(1));
        let recording = &drawn.recording;
        assert_eq!((recording.participants[0].as_str(), recording.streams.len()), ("person-1", 6));
        let rating = &recording.streams[0];
        let missing = rating.values.iter().filter(|v| v.is_nan()).count();
        assert_eq!((rating.times.len(), rating.features.len()), (401, 2));
        assert!((160..290).contains(&missing), "{missing} of 802");
        let empty = (0..401).filter(|&t| rating.value(t, 0).is_none() && rating.value(t, 1).is_none()).count();
        assert!(empty >= 30);
        // What is left when the signal is taken out has the mean and the variance of the noise.
        let (w, v) = (&drawn.truth.get("w").expect("w").values, &drawn.truth.get("v").expect("v").values);
        assert!(w[0] > 0.0 || w.iter().any(|w| *w > 0.0));
        let latent = &drawn.latent[0];
        let z = |time: f64| latent.mean[latent.times.iter().position(|t| *t == time).expect("a node")];
        let eda = &recording.streams[1];
        let left: Vec<f64> = eda.times.iter().zip(&eda.values).map(|(&t, x)| x - 3.0 - w[2] * z(t)).collect();
        let n = left.len() as f64;
        let mean = left.iter().sum::<f64>() / n;
        let variance = left.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
        assert!(mean.abs() < 0.01 + 4.5 * (v[1] / n).sqrt(), "{mean}");
        assert!((variance / v[1] - 1.0).abs() < 4.5 * (2.0 / n).sqrt(), "{variance} {}", v[1]);
    }

    #[test]
    fn responses_smooth_and_delay_the_latent() {
        let model = MODEL.replace("latent", "response eda = gaussian(width = 0.5, lag = 2)\nlatent");
        let design = r#"{"participants": 1, "seconds": 300, "streams": [
            {"modality": "eda", "features": 1, "step": 0.5}]}"#;
        let drawn = draw(&model, design).expect("a simulator").draw(3, 0).expect("a draw");
        let (w, eda, z) = (drawn.truth.get("w").expect("w").values[0], &drawn.recording.streams[0], &drawn.latent[0]);
        // The naive sum over rows, half a second apart: k(u) = exp(-(u - 2)^2 / (2 s^2)) / sqrt(s sqrt(pi)).
        let (s, rows) = (0.5_f64, eda.times.len());
        let kernel = |u: f64| (-(u - 2.0).powi(2) / (2.0 * s * s)).exp() / (s * std::f64::consts::PI.sqrt()).sqrt();
        let signal = |t: usize| (0..=t).map(|j| 0.5 * kernel(0.5 * (t - j) as f64) * z.mean[j]).sum::<f64>();
        let left: Vec<f64> = (20..rows).map(|t| eda.values[t] - 3.0 - w * signal(t)).collect();
        let variance = left.iter().map(|x| x * x).sum::<f64>() / left.len() as f64;
        let v = drawn.truth.get("v").expect("v").values[0];
        assert!((variance / v - 1.0).abs() < 4.5 * (2.0 / left.len() as f64).sqrt() + 0.02, "{variance} {v}");
    }

    #[test]
    fn designs_without_sense_are_refused() {
        for (design, part) in [
            (r#"{"participants": 0, "seconds": 9, "streams": []}"#, "at least one of each"),
            (
                r#"{"participants": 1, "seconds": 9, "streams": [{"modality": "a", "features": 1, "step": 0}]}"#,
                "no two rows",
            ),
            (
                r#"{"participants": 1, "seconds": 9, "streams": [{"modality": "a", "features": 1, "step": 1, "gaps": 1}]}"#,
                "a share from 0",
            ),
            (
                r#"{"participants": 1, "seconds": 9, "streams": [{"modality": "a", "features": 1, "step": 1, "censored": 9}]}"#,
                "fewer than two",
            ),
            (
                r#"{"participants": 1, "seconds": 9, "streams": [{"modality": "a", "features": [], "step": 1}]}"#,
                "no features",
            ),
        ] {
            let error = draw(MODEL, design).err().map(|e| e.to_string()).unwrap_or_default();
            assert!(error.contains(part), "{design}: {error}");
        }
        assert!(serde_json::from_str::<Design>(r#"{"participants": 1, "seconds": 9, "stream": []}"#).is_err());
    }
}
