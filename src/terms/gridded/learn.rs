//! The response step: the learned parameters of all curves, given loadings and latent, by a bounded Levenberg-Marquardt method.
//!
//! Coordinates are logarithms, lags as they are. With y = H z the signal of a row, the balanced squares are
//! a constant plus the sum over rows of y' M y - 2 v' y with M = sum of c D and v = sum of c X W over the pairs that look at the
//! row's latent path: these sums are made once for a step, and each trial costs one pass over the rows of H, however many
//! features and participants there are. The signal is the only thing that depends on the parameters, so that
//! 2 (dy)' M (dy) is the Gauss-Newton matrix. A trial is kept only if the objective falls.

use super::error::GriddedError;
use super::observation::Rows;
use super::pair_state::{PairState, axpy};
use super::phases::{Phases, RowTable};
use super::problem::Problem;
use super::response_objective::{logarithmic, penalty_in_coordinates};
use super::steps::Steps;
use faer::Side;
use faer::linalg::solvers::Solve;
use faer::{Mat, MatRef};

/// Damping at which a step is as good as none.
const MOST_DAMPING: f64 = 1e12;
/// Distance from a bound, relative to max(1, |x|), within which a coordinate lies at it.
pub(super) const AT_BOUND: f64 = 1e-8;

/// One curve's rows on one grid for all pairs with the same times.
#[derive(Debug)]
struct View {
    slot: usize,
    phases: Phases,
    /// For each latent path the pairs and first rows that look at it at these times.
    paths: Vec<(usize, Vec<(usize, usize)>)>,
}

/// The learned curves of a problem, made ready for response steps.
#[derive(Debug)]
pub(super) struct Learner<'a> {
    problem: &'a Problem,
    views: Vec<View>,
    logarithmic: Vec<bool>,
    /// Bounds in coordinates.
    bounds: Vec<(f64, f64)>,
}

/// Sufficient statistics of one view and latent path: T x K x K and T x K.
struct Statistics {
    moment: Vec<f64>,
    cross: Vec<f64>,
}

/// Squares up to a constant plus penalty, with derivatives in coordinates.
#[derive(Debug, Clone)]
struct Evaluation {
    value: f64,
    gradient: Vec<f64>,
    hessian: Vec<f64>,
}

/// Bases of the Halton sequence.
const PRIMES: [usize; 8] = [2, 3, 5, 7, 11, 13, 17, 19];

/// Element `index` of the Halton sequence of this base: its digits mirrored at the point.
fn halton(mut index: usize, base: usize) -> f64 {
    let (mut value, mut digit) = (0.0, 1.0);
    while index > 0 {
        digit /= base as f64;
        value += digit * (index % base) as f64;
        index /= base;
    }
    value
}

impl<'a> Learner<'a> {
    pub fn new(problem: &'a Problem) -> Self {
        let mut views: Vec<(usize, usize, &[f64], View)> = Vec::new();
        for (p, pair) in problem.pairs.iter().enumerate() {
            let Some(slot) = pair.slot.filter(|&s| !problem.slots[s].free.is_empty()) else { continue };
            for segment in &pair.segments {
                let times = &pair.times[segment.rows.clone()];
                let same = |v: &(usize, usize, &[f64], View)| v.0 == slot && v.1 == segment.run && v.2 == times;
                let at = views.iter().position(same).unwrap_or_else(|| {
                    let phases = Phases::new(problem.runs[segment.run].grid, times.to_vec());
                    views.push((slot, segment.run, times, View { slot, phases, paths: Vec::new() }));
                    views.len() - 1
                });
                let paths = &mut views[at].3.paths;
                match paths.iter_mut().find(|(track, _)| *track == segment.track) {
                    Some((_, members)) => members.push((p, segment.rows.start)),
                    None => paths.push((segment.track, vec![(p, segment.rows.start)])),
                }
            }
        }
        let logarithmic = logarithmic(problem);
        let coordinate = |v: f64, log: bool| if log { v.ln() } else { v };
        let bounds = problem.response_bounds().into_iter().zip(&logarithmic);
        let bounds = bounds.map(|((lo, hi), &log)| (coordinate(lo, log), coordinate(hi, log))).collect();
        Learner { problem, views: views.into_iter().map(|v| v.3).collect(), logarithmic, bounds }
    }

    /// Whether there is nothing to learn.
    pub fn is_empty(&self) -> bool {
        self.bounds.is_empty()
    }

    /// Coordinates of the problem's own curves.
    pub fn start(&self) -> Vec<f64> {
        let values = self.problem.response_values().into_iter().zip(&self.logarithmic).zip(&self.bounds);
        values.map(|((v, &log), &(lo, hi))| if log { v.ln() } else { v }.clamp(lo, hi)).collect()
    }

    /// Where restart `restart` begins: at the problem's own curves, and after that at points of the Halton sequence, so
    /// that a lag is tried over all of its interval (Halton 1960).
    pub fn start_of(&self, restart: usize) -> Vec<f64> {
        if restart == 0 {
            return self.start();
        }
        self.bounds
            .iter()
            .enumerate()
            .map(|(i, (lo, hi))| lo + (hi - lo) * halton(restart, PRIMES[i % PRIMES.len()]))
            .collect()
    }

    /// `x + factor * direction`, inside the bounds.
    pub fn along(&self, x: &[f64], direction: &[f64], factor: f64) -> Vec<f64> {
        let moved = x.iter().zip(direction).map(|(x, d)| x + factor * d);
        moved.zip(&self.bounds).map(|(v, (lo, hi))| v.clamp(*lo, *hi)).collect()
    }

    /// Parameters of coordinates; those at a bound have exactly its value.
    pub fn values(&self, x: &[f64]) -> Vec<f64> {
        let values = x.iter().zip(&self.logarithmic).zip(self.problem.response_bounds());
        values.map(|((x, &log), (lo, hi))| if log { x.exp() } else { *x }.clamp(lo, hi)).collect()
    }

    /// The penalty at coordinates `x`.
    pub fn penalty(&self, x: &[f64]) -> f64 {
        penalty_in_coordinates(self.problem, x, &mut vec![0.0; x.len()], None)
    }

    /// Indices of the coordinates at a bound.
    pub fn at_bounds(&self, x: &[f64]) -> Vec<usize> {
        let near = |i: &usize| {
            let ((lo, hi), slack) = (self.bounds[*i], AT_BOUND * x[*i].abs().max(1.0));
            x[*i] - lo <= slack || hi - x[*i] <= slack
        };
        (0..x.len()).filter(near).collect()
    }

    /// `gradient` with 0 where the coordinate lies at a bound and would leave it.
    pub fn project(&self, x: &[f64], gradient: &mut [f64]) {
        for ((g, x), (lo, hi)) in gradient.iter_mut().zip(x).zip(&self.bounds) {
            let slack = AT_BOUND * x.abs().max(1.0);
            if (*g > 0.0 && x - lo <= slack) || (*g < 0.0 && hi - x <= slack) {
                *g = 0.0;
            }
        }
    }

    /// Factor by which a derivative in a parameter becomes one in its coordinate.
    pub fn chain(&self, values: &[f64]) -> Vec<f64> {
        values.iter().zip(&self.logarithmic).map(|(v, log)| if *log { *v } else { 1.0 }).collect()
    }

    fn tables(&self, x: &[f64], gradient: bool) -> Result<Vec<RowTable>, GriddedError> {
        let values = self.values(x);
        let table = |view: &View| {
            let slot = &self.problem.slots[view.slot];
            view.phases.named_rows(&slot.with(&values[slot.range()])?, gradient, &slot.modality)
        };
        self.views.iter().map(table).collect()
    }

    /// Writes the rows at coordinates `x` into those of the pairs that have learned curves.
    pub fn write_rows(&self, x: &[f64], rows: &mut [Rows]) -> Result<(), GriddedError> {
        let tables = self.tables(x, false)?;
        for (p, pair) in self.problem.pairs.iter().enumerate() {
            if pair.slot.is_none_or(|s| self.problem.slots[s].free.is_empty()) {
                continue;
            }
            rows[p] = Rows::default();
            for segment in &pair.segments {
                let own = |members: &Vec<(usize, usize)>| members.contains(&(p, segment.rows.start));
                let found = self.views.iter().zip(&tables).find(|(v, _)| v.paths.iter().any(|(_, m)| own(m)));
                let Some((_, table)) = found else { continue };
                for (first, place) in table.first.iter().zip(&table.place) {
                    rows[p].push_weights(*first, &table.weights[place.clone()]);
                }
            }
        }
        Ok(())
    }

    fn statistics(&self, steps: &Steps, states: &[PairState]) -> Vec<Vec<Statistics>> {
        let k = self.problem.factors();
        let mut gram = vec![0.0; k * k];
        let mut of_path = |view: &View, members: &[(usize, usize)]| {
            let count = view.phases.len();
            let mut out = Statistics { moment: vec![0.0; count * k * k], cross: vec![0.0; count * k] };
            for &(p, start) in members {
                let (pair, state, blocks) = (&self.problem.pairs[p], &states[p], &steps.blocks[p]);
                for i in 0..count {
                    let t = start + i;
                    let moment = &mut out.moment[i * k * k..(i + 1) * k * k];
                    if blocks.complete(t) {
                        axpy(moment, pair.weights[t], &state.gram);
                    } else {
                        state.row_gram(blocks, t, k, &mut gram);
                        axpy(moment, pair.weights[t], &gram);
                    }
                    axpy(&mut out.cross[i * k..(i + 1) * k], pair.weights[t], &state.xw[t * k..(t + 1) * k]);
                }
            }
            out
        };
        self.views.iter().map(|view| view.paths.iter().map(|(_, members)| of_path(view, members)).collect()).collect()
    }

    fn evaluate(&self, statistics: &[Vec<Statistics>], z: &[f64], x: &[f64]) -> Result<Evaluation, GriddedError> {
        let (k, n) = (self.problem.factors(), x.len());
        let chain = self.chain(&self.values(x));
        let tables = self.tables(x, true)?;
        let (mut gradient, mut hessian) = (vec![0.0; n], vec![0.0; n * n]);
        let mut value = penalty_in_coordinates(self.problem, x, &mut gradient, Some(&mut hessian));
        for ((view, table), statistics) in self.views.iter().zip(&tables).zip(statistics) {
            let slot = &self.problem.slots[view.slot];
            let free = slot.free.len();
            let mut y = vec![0.0; k];
            let mut slopes = vec![0.0; free * k];
            let mut images = vec![0.0; free * k];
            for ((track, _), statistics) in view.paths.iter().zip(statistics) {
                let path = &z[self.problem.latent_range(*track)];
                let rows = statistics.moment.chunks_exact(k * k).zip(statistics.cross.chunks_exact(k));
                for (i, (moment, cross)) in rows.enumerate() {
                    let nodes = &path[table.first[i] * k..];
                    let place = table.place[i].clone();
                    project_row(&table.weights[place.clone()], nodes, &mut y);
                    for ((parameter, out), factor) in
                        slot.free.iter().zip(slopes.chunks_exact_mut(k)).zip(&chain[slot.range()])
                    {
                        project_row(&table.slopes[*parameter][place.clone()], nodes, out);
                        out.iter_mut().for_each(|v| *v *= factor);
                    }
                    for (row, (c, a)) in moment.chunks_exact(k).zip(cross.iter().zip(&y)) {
                        let image: f64 = row.iter().zip(&y).map(|(m, b)| m * b).sum();
                        value += a * (image - 2.0 * c);
                    }
                    for (image, slope) in images.chunks_exact_mut(k).zip(slopes.chunks_exact(k)) {
                        for (out, row) in image.iter_mut().zip(moment.chunks_exact(k)) {
                            *out = 2.0 * row.iter().zip(slope).map(|(m, s)| m * s).sum::<f64>();
                        }
                    }
                    for (j, (image, slope)) in images.chunks_exact(k).zip(slopes.chunks_exact(k)).enumerate() {
                        let down: f64 = image.iter().zip(&y).map(|(m, a)| m * a).sum();
                        let pull: f64 = slope.iter().zip(cross).map(|(s, c)| s * c).sum();
                        gradient[slot.offset + j] += down - 2.0 * pull;
                        for (l, other) in slopes.chunks_exact(k).enumerate() {
                            let entry: f64 = image.iter().zip(other).map(|(m, s)| m * s).sum();
                            hessian[(slot.offset + j) * n + slot.offset + l] += entry;
                        }
                    }
                }
            }
        }
        Ok(Evaluation { value, gradient, hessian })
    }

    /// Moves the coordinates `x` towards the minimum for the loadings in `states` and the latent `z`, in at most `limit`
    /// steps. Whether `x` moved.
    pub fn step(
        &self,
        steps: &Steps,
        states: &[PairState],
        z: &[f64],
        x: &mut Vec<f64>,
        limit: usize,
    ) -> Result<bool, GriddedError> {
        let statistics = self.statistics(steps, states);
        let mut here = self.evaluate(&statistics, z, x)?;
        let (mut damping, mut moved) = (1e-4, false);
        let mut taken = 0;
        while taken < limit && damping < MOST_DAMPING {
            let Some((next, expected)) = self.trial(&here, x, damping) else { break };
            // Degenerate curves inside the bounds count as infinitely bad.
            let there = self.evaluate(&statistics, z, &next).ok().filter(|e| e.value.is_finite());
            match there {
                Some(there) if there.value < here.value => {
                    let gain = (here.value - there.value) / expected;
                    damping = if gain > 0.75 {
                        (damping * 0.1).max(1e-12)
                    } else if gain < 0.25 {
                        damping * 4.0
                    } else {
                        damping
                    };
                    *x = next;
                    here = there;
                    moved = true;
                    taken += 1;
                }
                _ => damping *= 10.0,
            }
            if expected <= 1e-15 {
                break;
            }
        }
        Ok(moved)
    }

    /// The damped Gauss-Newton step among the coordinates that do not press against a bound, cut at the bounds, and the
    /// fall of the objective that the quadratic model expects; `None` at a stationary point.
    fn trial(&self, here: &Evaluation, x: &[f64], damping: f64) -> Option<(Vec<f64>, f64)> {
        let n = x.len();
        let mut gradient = here.gradient.clone();
        self.project(x, &mut gradient);
        let free: Vec<usize> = (0..n).filter(|&i| gradient[i] != 0.0).collect();
        if free.is_empty() {
            return None;
        }
        let m = free.len();
        let mut matrix = vec![0.0; m * m];
        for (a, &i) in free.iter().enumerate() {
            for (b, &j) in free.iter().enumerate() {
                matrix[a * m + b] = here.hessian[i * n + j];
            }
            let diagonal = here.hessian[i * n + i];
            matrix[a * m + a] += damping * diagonal + f64::MIN_POSITIVE.max(1e-14 * diagonal);
        }
        let factor = MatRef::from_row_major_slice(&matrix, m, m).llt(Side::Lower).ok()?;
        let step = factor.solve(Mat::from_fn(m, 1, |a, _| -gradient[free[a]]));
        let mut next = x.to_vec();
        for (a, &i) in free.iter().enumerate() {
            let (lo, hi) = self.bounds[i];
            next[i] = (x[i] + step[(a, 0)]).clamp(lo, hi);
        }
        let moved: Vec<f64> = next.iter().zip(x).map(|(a, b)| a - b).collect();
        let linear: f64 = moved.iter().zip(&gradient).map(|(d, g)| d * g).sum();
        let bent = super::pair_state::quadratic(&here.hessian, &moved);
        let expected = -(linear + 0.5 * bent);
        // A step cut at several bounds may point uphill; then the steepest way down is what is left.
        (expected > 0.0).then_some((next, expected)).or_else(|| self.steepest(here, &gradient, x, damping))
    }

    /// The step along the projected gradient to the minimum of the quadratic model, shortened by the damping.
    fn steepest(&self, here: &Evaluation, gradient: &[f64], x: &[f64], damping: f64) -> Option<(Vec<f64>, f64)> {
        let square: f64 = gradient.iter().map(|g| g * g).sum();
        let bent = super::pair_state::quadratic(&here.hessian, gradient);
        let length = square / bent / (1.0 + damping);
        if !length.is_finite() {
            return None;
        }
        let next: Vec<f64> = x
            .iter()
            .zip(gradient)
            .zip(&self.bounds)
            .map(|((x, g), (lo, hi))| (x - length * g).clamp(*lo, *hi))
            .collect();
        let expected: f64 = next.iter().zip(x).zip(gradient).map(|((a, b), g)| -0.5 * (a - b) * g).sum();
        (expected > 0.0).then_some((next, expected))
    }
}

/// The sum of weights times nodes (K wide).
fn project_row(weights: &[f64], nodes: &[f64], out: &mut [f64]) {
    out.fill(0.0);
    for (node, h) in nodes.chunks_exact(out.len()).zip(weights) {
        axpy(out, *h, node);
    }
}
