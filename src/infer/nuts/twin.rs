//! The slow twin of a transition: the recursive algorithm with its points copied about, as plain as possible.

use super::hamiltonian::{Hamiltonian, Point};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

#[derive(Clone)]
struct Part {
    first: Point,
    last: Point,
    proposal: Point,
    weights: Vec<f64>,
    momentum_sum: Vec<f64>,
}

fn log_sum(weights: &[f64]) -> f64 {
    let most = weights.iter().cloned().fold(f64::NEG_INFINITY, f64::max);
    most + weights.iter().map(|w| (w - most).exp()).sum::<f64>().ln()
}

fn plus(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a + b).collect()
}

fn straight(first: &Point, last: &Point, rho: &[f64]) -> bool {
    let along = |v: &[f64]| v.iter().zip(rho).map(|(v, r)| v * r).sum::<f64>();
    along(&first.velocity) > 0.0 && along(&last.velocity) > 0.0
}

/// The joined part and whether it is straight.
fn join(left: Part, right: Part, top: bool, rng: &mut ChaCha8Rng) -> (Part, bool) {
    let rho = plus(&left.momentum_sum, &right.momentum_sum);
    let ok = straight(&left.first, &right.last, &rho)
        && straight(&left.first, &right.first, &plus(&left.momentum_sum, &right.first.momentum))
        && straight(&left.last, &right.last, &plus(&left.last.momentum, &right.momentum_sum));
    let (wl, wr) = (log_sum(&left.weights), log_sum(&right.weights));
    let all = [left.weights, right.weights].concat();
    let p = if top { (wr - wl).exp().min(1.0) } else { (wr - log_sum(&all)).exp() };
    let proposal = if rng.random::<f64>() < p { right.proposal } else { left.proposal };
    (Part { first: left.first, last: right.last, proposal, weights: all, momentum_sum: rho }, ok)
}

struct Build<'h, 'a> {
    h: &'h mut Hamiltonian<'a>,
    step: f64,
    start_energy: f64,
    acceptances: Vec<f64>,
}

impl Build<'_, '_> {
    fn subtree(&mut self, from: &Point, depth: u32, rng: &mut ChaCha8Rng) -> Option<Part> {
        if depth > 0 {
            let left = self.subtree(from, depth - 1, rng)?;
            let right = self.subtree(&left.last, depth - 1, rng)?;
            let (part, straight) = join(left, right, false, rng);
            return straight.then_some(part);
        }
        let mut to = from.clone();
        self.h.leapfrog(from, &mut to, self.step).ok()?;
        let error = to.energy - self.start_energy;
        self.acceptances.push((-error).exp().min(1.0));
        (error <= 1000.0).then(|| Part {
            first: to.clone(),
            last: to.clone(),
            proposal: to.clone(),
            weights: vec![-error],
            momentum_sum: to.momentum.clone(),
        })
    }
}

/// The next point, the mean acceptance and the number of completed doublings.
pub fn transition(
    h: &mut Hamiltonian,
    current: &Point,
    step: f64,
    max_depth: u32,
    rng: &mut ChaCha8Rng,
) -> (Point, f64, u32) {
    let mut start = current.clone();
    h.refresh(&mut start, rng);
    let start_energy = start.energy;
    let mut build = Build { h, step, start_energy, acceptances: Vec::new() };
    let mut whole = Part {
        first: start.clone(),
        last: start.clone(),
        momentum_sum: start.momentum.clone(),
        proposal: start,
        weights: vec![0.0],
    };
    let mut depth = 0;
    while depth < max_depth {
        let forward = rng.random::<bool>();
        build.step = if forward { step } else { -step };
        if !forward {
            std::mem::swap(&mut whole.first, &mut whole.last);
        }
        let Some(right) = build.subtree(&whole.last, depth, rng) else { break };
        let (joined, straight) = join(whole, right, true, rng);
        whole = joined;
        if !forward {
            std::mem::swap(&mut whole.first, &mut whole.last);
        }
        depth += 1;
        if !straight {
            break;
        }
    }
    let n = build.acceptances.len() as f64;
    (whole.proposal, build.acceptances.iter().sum::<f64>() / n, depth)
}
