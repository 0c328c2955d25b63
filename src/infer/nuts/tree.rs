//! One transition of the No-U-Turn sampler: a trajectory doubled until it turns, and a point drawn from it.
//!
//! Multinomial weights exp(-H) and the criterion "the velocity at both ends points along the summed momentum rho":
//! v_first . rho > 0 and v_last . rho > 0. Each join of two halves is also checked across the seam: the left half with
//! the first point of the right half, and the last point of the left half with the right half. A subtree that turned or
//! diverged anywhere is discarded whole; keeping its proposals breaks detailed balance. Within a subtree points are
//! drawn by weight; at the top the newer half is favoured with probability min(1, w_new / w_old).
//! Hoffman & Gelman 2014; Betancourt 2017 (arXiv 1701.02434), appendix A.
//!
//! A subtree of 2^k points is built from left to right like a binary counter: equal neighbours on a stack are joined as
//! soon as they exist, which visits the same joins in the same order as the recursion does.

use super::Divergence;
use super::hamiltonian::{Hamiltonian, Point};
use super::pool::Pool;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// When a trajectory must stop although it has not turned.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub max_depth: u32,
    /// Energy error beyond which a point counts as a divergence.
    pub max_energy_error: f64,
}

/// What one transition did.
#[derive(Debug)]
pub(super) struct Outcome {
    /// Hamiltonian at the start, after the momentum was refreshed.
    pub energy: f64,
    /// Mean of min(1, exp(H_start - H)) over all points visited, the start left out.
    pub acceptance: f64,
    /// Mean over the same points of 2 min(1, r) / (1 + r), r = exp(H_start - H): the same whichever way the energy erred,
    /// so that a chain on its way down does not drive the step up.
    pub symmetric_acceptance: f64,
    /// Whether another point than the start was drawn.
    pub moved: bool,
    /// Completed doublings.
    pub depth: u32,
    pub divergence: Option<Divergence>,
    /// The depth limit stopped a trajectory that had not turned.
    pub max_depth_reached: bool,
}

/// A contiguous piece of trajectory; points are slots of the pool.
#[derive(Debug, Default)]
struct Branch {
    /// In the order of integration.
    first: usize,
    last: usize,
    proposal: usize,
    /// log of the summed weights exp(H_start - H).
    log_weight: f64,
    /// rho, the sum of the momenta.
    momentum_sum: Vec<f64>,
}

impl Branch {
    fn set_single(&mut self, slot: usize, point: &Point, log_weight: f64) {
        self.first = slot;
        self.last = slot;
        self.proposal = slot;
        self.log_weight = log_weight;
        self.momentum_sum.clear();
        self.momentum_sum.extend_from_slice(&point.momentum);
    }
}

/// How the proposal of two joined branches is chosen.
#[derive(Clone, Copy)]
enum Choice {
    /// In proportion to the weights.
    Multinomial,
    /// The right one with probability min(1, w_right / w_left).
    Biased,
}

enum Growth {
    Complete,
    Turned,
    Diverged(Divergence),
}

/// Working memory of the sampler: nothing is allocated per leapfrog once the pool has grown.
pub(super) struct Tree {
    pool: Pool,
    whole: Branch,
    /// Parts of the subtree under construction; entry i is reused by every transition.
    stack: Vec<Branch>,
    /// Sums of the acceptance statistics and number of points of the transition in progress.
    acceptance_sum: f64,
    symmetric_sum: f64,
    visited: u32,
    /// Test of the tests: a fault that the moment checks must find.
    #[cfg(test)]
    pub keep_turned_subtrees: bool,
}

impl Tree {
    /// A sampler whose current point is `start`, which must have been evaluated.
    pub fn new(start: Point) -> Tree {
        Tree {
            pool: Pool::new(start),
            whole: Branch::default(),
            stack: Vec::new(),
            acceptance_sum: 0.0,
            symmetric_sum: 0.0,
            visited: 0,
            #[cfg(test)]
            keep_turned_subtrees: false,
        }
    }

    /// The current point.
    pub fn current(&self) -> &Point {
        self.pool.point(Pool::CURRENT)
    }

    /// The current point, and another one to write to.
    pub fn current_and_scratch(&mut self) -> (&mut Point, &mut Point) {
        self.pool.current_and_scratch()
    }

    /// Refreshes the momentum, builds a trajectory with the given step and moves to the point drawn from it.
    pub fn transition(&mut self, h: &mut Hamiltonian, step: f64, limits: Limits, rng: &mut ChaCha8Rng) -> Outcome {
        let start = self.pool.point_mut(Pool::CURRENT);
        h.refresh(start, rng);
        let energy = start.energy;
        self.whole.set_single(Pool::CURRENT, start, 0.0);
        self.pool.hold_single(Pool::CURRENT);
        self.acceptance_sum = 0.0;
        self.symmetric_sum = 0.0;
        self.visited = 0;

        let mut depth = 0;
        let mut divergence = None;
        let mut turned = false;
        while depth < limits.max_depth && !turned {
            let forward = rng.random::<bool>();
            if !forward {
                std::mem::swap(&mut self.whole.first, &mut self.whole.last);
            }
            let signed = if forward { step } else { -step };
            match self.grow(h, depth, signed, energy, limits.max_energy_error, rng) {
                Growth::Complete => {}
                Growth::Turned if self.keeps_turned_subtrees() => turned = true,
                Growth::Turned => {
                    turned = true;
                    break;
                }
                Growth::Diverged(found) => {
                    divergence = Some(found);
                    break;
                }
            }
            turned |= join(&mut self.pool, &mut self.whole, &self.stack[0], Choice::Biased, rng);
            if !forward {
                std::mem::swap(&mut self.whole.first, &mut self.whole.last);
            }
            depth += 1;
        }
        let moved = self.whole.proposal != Pool::CURRENT;
        self.pool.restart_from(self.whole.proposal);
        let visited = f64::from(self.visited.max(1));
        Outcome {
            energy,
            acceptance: self.acceptance_sum / visited,
            symmetric_acceptance: self.symmetric_sum / visited,
            moved,
            depth,
            max_depth_reached: !turned && divergence.is_none(),
            divergence,
        }
    }

    /// Builds the subtree of 2^`depth` points that follows `whole.last`; when complete it is `stack[0]`.
    fn grow(
        &mut self,
        h: &mut Hamiltonian,
        depth: u32,
        step: f64,
        start_energy: f64,
        max_energy_error: f64,
        rng: &mut ChaCha8Rng,
    ) -> Growth {
        let mut edge = self.whole.last;
        let mut height = 0;
        let mut turned = false;
        let keeps_turned = self.keeps_turned_subtrees();
        for leaf in 1..=1u32 << depth {
            let slot = self.pool.take();
            let (from, to) = self.pool.pair(edge, slot);
            let result = h.leapfrog(from, to, step);
            self.visited += 1;
            let rejection = result.err();
            let error = to.energy - start_energy;
            // NaN compares false: it is not usable.
            let usable = rejection.is_none() && error <= max_energy_error;
            if !usable {
                let known = rejection.is_none() && !error.is_nan();
                return Growth::Diverged(Divergence {
                    start: from.position.clone(),
                    end: to.position.clone(),
                    energy_error: if known { error } else { f64::INFINITY },
                    rejection,
                });
            }
            let smaller = (-error.abs()).exp();
            self.acceptance_sum += if error > 0.0 { smaller } else { 1.0 };
            self.symmetric_sum += 2.0 * smaller / (1.0 + smaller);
            if height == self.stack.len() {
                self.stack.push(Branch::default());
            }
            self.stack[height].set_single(slot, to, -error);
            self.pool.hold_single(slot);
            height += 1;
            for _ in 0..leaf.trailing_zeros() {
                height -= 1;
                let (left, right) = self.stack.split_at_mut(height);
                turned |= join(&mut self.pool, &mut left[height - 1], &right[0], Choice::Multinomial, rng);
                if turned && !keeps_turned {
                    return Growth::Turned;
                }
            }
            edge = slot;
        }
        if turned { Growth::Turned } else { Growth::Complete }
    }

    #[cfg(test)]
    pub fn points_allocated(&self) -> usize {
        self.pool.size()
    }

    #[cfg(test)]
    fn keeps_turned_subtrees(&self) -> bool {
        self.keep_turned_subtrees
    }

    #[cfg(not(test))]
    fn keeps_turned_subtrees(&self) -> bool {
        false
    }
}

/// Appends `right` to `left`, chooses the proposal, and says whether the joined branch turned.
fn join(pool: &mut Pool, left: &mut Branch, right: &Branch, choice: Choice, rng: &mut ChaCha8Rng) -> bool {
    let turned = turns(pool, left, right);
    for (sum, more) in left.momentum_sum.iter_mut().zip(&right.momentum_sum) {
        *sum += more;
    }
    let gain = right.log_weight - left.log_weight;
    let ratio = (-gain.abs()).exp();
    let probability = match (choice, gain > 0.0) {
        (Choice::Multinomial, true) => 1.0 / (1.0 + ratio),
        (Choice::Multinomial, false) => ratio / (1.0 + ratio),
        (Choice::Biased, true) => 1.0,
        (Choice::Biased, false) => ratio,
    };
    left.log_weight = left.log_weight.max(right.log_weight) + ratio.ln_1p();
    pool.release(left.last);
    pool.release(right.first);
    left.last = right.last;
    if rng.random::<f64>() < probability {
        pool.release(left.proposal);
        left.proposal = right.proposal;
    } else {
        pool.release(right.proposal);
    }
    turned
}

/// The three criteria of a join, in one pass over the coordinates.
fn turns(pool: &Pool, left: &Branch, right: &Branch) -> bool {
    let d = left.momentum_sum.len();
    let (rho_l, rho_r) = (&left.momentum_sum[..d], &right.momentum_sum[..d]);
    let (a, b) = (pool.point(left.first), pool.point(left.last));
    let (c, e) = (pool.point(right.first), pool.point(right.last));
    let (va, vb, vc, ve) = (&a.velocity[..d], &b.velocity[..d], &c.velocity[..d], &e.velocity[..d]);
    let (pb, pc) = (&b.momentum[..d], &c.momentum[..d]);
    // Two running sums per criterion, so that both halves of a vector register are in use.
    let mut s = [[0.0; 2]; 6];
    let mut add = |i: usize, k: usize| {
        let whole = rho_l[i] + rho_r[i];
        let left_and_first = rho_l[i] + pc[i];
        let last_and_right = pb[i] + rho_r[i];
        s[0][k] += va[i] * whole;
        s[1][k] += ve[i] * whole;
        s[2][k] += va[i] * left_and_first;
        s[3][k] += vc[i] * left_and_first;
        s[4][k] += vb[i] * last_and_right;
        s[5][k] += ve[i] * last_and_right;
    };
    for i in (0..d / 2).map(|pair| 2 * pair) {
        add(i, 0);
        add(i + 1, 1);
    }
    if d % 2 == 1 {
        add(d - 1, 0);
    }
    !s.iter().all(|x| x[0] + x[1] > 0.0)
}
