//! One pass over the events of a run: forward, and back again segment by segment.
//!
//! Where the filtered moments of all events would take too much room, only those before each segment are kept and the
//! forward recursion is repeated, so that memory grows with the square root of the number of events.

use super::events::{Events, What};
use super::filter::{BadPivot, Filter, Sizes};
use super::small::{axpy, dot};
use super::smoother::Smoother;
use super::system::{System, SystemAdjoint};
use super::tape::Tape;
use super::transition::{Series, Transition};
use std::ops::Range;

/// What a pass reads and reports.
pub(super) trait Nodes {
    /// Writes L (K x K, row-major, lower triangular) and u (K) of `node`.
    fn read(&self, node: usize, lower: &mut [f64], informed: &mut [f64]);

    /// Takes the smoothed mean (K), Cov(f) L (K x K) and e~ (K) of a node.
    fn smoothed(&mut self, node: usize, mean: &[f64], covariance: &[f64], error: &[f64]);

    /// Takes the smoothed mean (K) and covariance (K x K) of a query.
    fn answer(&mut self, query: usize, mean: &[f64], covariance: &[f64]);
}

/// How far a pass goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Depth {
    /// Forward.
    Filter,
    /// Back again.
    Smooth,
    /// Back again, with the score of the system.
    Score,
}

/// Buffers of a pass, kept between calls.
#[derive(Debug, Default)]
pub(in super::super) struct Pass {
    pub(super) events: Events,
    pub(super) filter: Filter,
    series: Series,
    smoother: Smoother,
    tape: Tape,
    transitions: Transitions,
    score: Vec<f64>,
    /// Derivative of A in the gap.
    slope: Vec<f64>,
    lower: Vec<f64>,
    informed: Vec<f64>,
}

/// The transitions of distinct gaps, formed when they are first met.
#[derive(Debug, Default)]
struct Transitions {
    /// Of each distinct gap, where its transition is, if it has been formed.
    formed: Vec<Option<u32>>,
    list: Vec<Transition>,
    /// Per transition, the derivative in A.
    scores: Vec<Vec<f64>>,
    used: usize,
}

impl Transitions {
    fn begin(&mut self, distinct: usize) {
        self.formed.clear();
        self.formed.resize(distinct, None);
        self.used = 0;
    }

    /// Number of the transition of distinct gap `gap`.
    fn form(&mut self, gap: u32, length: f64, series: &mut Series, block: usize) -> usize {
        if let Some(at) = self.formed[gap as usize] {
            return at as usize;
        }
        let at = self.used;
        if at == self.list.len() {
            self.list.push(Transition::default());
            self.scores.push(Vec::new());
        }
        series.transition(length, &mut self.list[at]);
        self.scores[at].clear();
        self.scores[at].resize(block, 0.0);
        self.formed[gap as usize] = Some(at as u32);
        self.used += 1;
        at
    }

    /// Moves the derivatives in all transitions to the powers of G.
    fn flush(&mut self, series: &mut Series, coefficients: &mut [Vec<f64>]) {
        for (transition, score) in self.list.iter().zip(&mut self.scores).take(self.used) {
            series.pull(transition.gap, score, coefficients);
            score.fill(0.0);
        }
    }
}

impl Pass {
    /// Goes over the events; `adjoint` receives the score of the readouts and, at [`Depth::Score`], of the rest.
    pub(super) fn run(
        &mut self,
        system: &System,
        factors: usize,
        nodes: &mut dyn Nodes,
        depth: Depth,
        adjoint: &mut SystemAdjoint,
    ) -> Result<(), BadPivot> {
        let sizes = Sizes { factors, side: system.side() };
        let count = self.events.list.len();
        self.series.set(&system.cascade);
        self.transitions.begin(self.events.gaps.distinct.len());
        self.filter.begin(sizes, system.order());
        for (buffer, len) in [
            (&mut self.score, sizes.block()),
            (&mut self.slope, sizes.block()),
            (&mut self.lower, factors * factors),
            (&mut self.informed, factors),
        ] {
            buffer.clear();
            buffer.resize(len, 0.0);
        }
        let length = self.tape.begin(sizes, count);
        let starts: Vec<usize> = (0..count).step_by(length).collect();
        let end = |start: usize| (start + length).min(count);
        let whole = starts.len() == 1 && depth != Depth::Filter;
        for (segment, &start) in starts.iter().enumerate() {
            self.tape.keep(segment, &self.filter);
            self.forward(system, start..end(start), nodes, whole)?;
        }
        if depth == Depth::Filter {
            return Ok(());
        }
        let sums = (self.filter.log_det, self.filter.quadratic);
        let mut coefficients = self.series.coefficients();
        self.smoother.begin(sizes);
        for (segment, &start) in starts.iter().enumerate().rev() {
            if !whole {
                self.tape.restore(segment, &mut self.filter);
                self.forward(system, start..end(start), nodes, true)?;
            }
            self.backward(system, start..end(start), segment, nodes, depth, adjoint);
            if depth == Depth::Score && (self.crowded() || segment == 0) {
                self.transitions.flush(&mut self.series, &mut coefficients);
            }
        }
        if depth == Depth::Score {
            self.series.pull_powers(&mut coefficients, &mut adjoint.generator);
        }
        (self.filter.log_det, self.filter.quadratic) = sums;
        Ok(())
    }

    #[cfg(test)]
    pub(super) fn limit(&mut self, limits: super::tape::Limits) {
        self.tape.limits = limits;
    }

    /// Bytes held by what grows with the number of events.
    pub(in super::super) fn bytes(&self) -> usize {
        self.tape.bytes()
    }

    fn crowded(&self) -> bool {
        self.events.gaps.distinct.len() > self.tape.limits.transitions
    }

    fn forward(
        &mut self,
        system: &System,
        range: Range<usize>,
        nodes: &dyn Nodes,
        record: bool,
    ) -> Result<(), BadPivot> {
        if self.crowded() {
            self.transitions.begin(self.events.gaps.distinct.len());
        }
        let block = system.side() * system.side();
        for at in range.clone() {
            if let Some(gap) = self.events.gaps.before[at] {
                let length = self.events.gaps.distinct[gap as usize];
                let transition = self.transitions.form(gap, length, &mut self.series, block);
                self.filter.predict(&self.transitions.list[transition]);
            }
            if let What::Node { node, slot } = self.events.list[at].what {
                nodes.read(node, &mut self.lower, &mut self.informed);
                self.filter.update(&system.readouts[slot].row, &self.lower, &self.informed)?;
            }
            if record {
                self.tape.record(at - range.start, &self.filter);
            }
        }
        Ok(())
    }

    fn backward(
        &mut self,
        system: &System,
        range: Range<usize>,
        segment: usize,
        nodes: &mut dyn Nodes,
        depth: Depth,
        adjoint: &mut SystemAdjoint,
    ) {
        for at in range.clone().rev() {
            let here = at - range.start;
            let what = self.events.list[at].what;
            let slot = what.slot();
            let readout = system.readout(slot);
            let moments = self.tape.after(here);
            match what {
                What::Node { node, slot } => {
                    nodes.read(node, &mut self.lower, &mut self.informed);
                    let updated = self.tape.updated(here);
                    self.smoother.node(readout, &self.lower, updated, moments, &mut adjoint.rows[slot]);
                    let s = &self.smoother;
                    nodes.smoothed(node, &s.mean, &s.covariance, &s.error);
                }
                What::Query { query, .. } => {
                    self.smoother.query(readout, moments);
                    nodes.answer(query, &self.smoother.mean, &self.smoother.covariance);
                }
            }
            if at == 0 {
                continue;
            }
            let before = if here == 0 { self.tape.before(segment) } else { self.tape.after(here - 1) };
            let transition =
                self.events.gaps.before[at].and_then(|gap| self.transitions.formed[gap as usize]).map(|t| t as usize);
            let matrix = transition.map(|t| &self.transitions.list[t]);
            let earlier = self.events.list[at - 1].what.slot();
            let moves = slot != earlier && !(readout.is_path && system.readout(earlier).is_path);
            let scored = depth == Depth::Score && (moves || transition.is_some());
            self.smoother.gap(matrix, scored.then_some(before), &mut self.score);
            if !scored {
                continue;
            }
            if moves {
                match matrix {
                    Some(t) => self.series.slope(&t.matrix, &mut self.slope),
                    None => self.slope.copy_from_slice(&system.cascade.generator),
                }
                let longer = dot(&self.score, &self.slope);
                for (slot, sign) in [(slot, -1.0), (earlier, 1.0)] {
                    if let Some(slot) = slot {
                        adjoint.delays[slot] += sign * longer;
                    }
                }
            }
            if let Some(t) = transition {
                axpy(&mut self.transitions.scores[t], 1.0, &self.score);
            }
        }
    }
}
