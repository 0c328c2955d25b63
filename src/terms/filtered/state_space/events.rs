//! The nodes and queries of a run in the order in which the state meets them, and their gaps.
//!
//! A node of a slot with delay d at time t meets the state at t - d, so the order of nodes of different slots changes
//! with the lags. Ties keep the order of the nodes, queries last: the covariance is smooth enough that the order of a tie
//! changes neither the value nor the first derivative.

use super::system::System;
use super::transition::Gaps;
use crate::terms::filtered::layout::RunNodes;

/// One event.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Event {
    pub time: f64,
    pub what: What,
}

/// What happens at an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    /// A node informs the state through a response slot.
    Node { node: usize, slot: usize },
    /// A query asks for what a slot sees, or, without one, for the path.
    Query { query: usize, slot: Option<usize> },
}

impl What {
    /// The response slot that reads the state.
    pub fn slot(self) -> Option<usize> {
        match self {
            What::Node { slot, .. } => Some(slot),
            What::Query { slot, .. } => slot,
        }
    }
}

/// Events of a run in order, with the gaps before them.
#[derive(Debug, Default)]
pub(super) struct Events {
    pub list: Vec<Event>,
    pub gaps: Gaps,
    times: Vec<f64>,
}

impl Events {
    /// The nodes of a run, and queries of the path or of a slot at `queries`.
    pub fn set(&mut self, nodes: &RunNodes, system: &System, queries: &[f64], asked: Option<usize>) {
        let delay = |slot: Option<usize>| slot.map_or(0.0, |s| system.readouts[s].delay);
        self.list.clear();
        for (slot, range) in &nodes.groups {
            let slot = *slot;
            self.list.extend(
                range
                    .clone()
                    .map(|node| Event { time: nodes.times[node] - delay(Some(slot)), what: What::Node { node, slot } }),
            );
        }
        self.list.extend(
            queries
                .iter()
                .enumerate()
                .map(|(query, t)| Event { time: t - delay(asked), what: What::Query { query, slot: asked } }),
        );
        self.list.sort_by(|a, b| a.time.total_cmp(&b.time));
        self.times.clear();
        self.times.extend(self.list.iter().map(|e| e.time));
        self.gaps.set(&self.times);
    }
}
