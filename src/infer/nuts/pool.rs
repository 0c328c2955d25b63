//! A pool of phase-space points with holder counts, so that branches share points instead of copying them.

use super::hamiltonian::Point;

/// Points by slot. Slot [`Pool::CURRENT`] is the chain's current point between transitions.
#[derive(Debug)]
pub(super) struct Pool {
    points: Vec<Point>,
    /// How many branch fields name the slot.
    holders: Vec<u32>,
    free: Vec<usize>,
}

impl Pool {
    pub const CURRENT: usize = 0;

    pub fn new(current: Point) -> Pool {
        let scratch = Point::blank(current.position.len());
        Pool { points: vec![current, scratch], holders: vec![0, 0], free: vec![1] }
    }

    pub fn point(&self, slot: usize) -> &Point {
        &self.points[slot]
    }

    pub fn point_mut(&mut self, slot: usize) -> &mut Point {
        &mut self.points[slot]
    }

    /// The current point and one that no branch uses; only between transitions.
    pub fn current_and_scratch(&mut self) -> (&mut Point, &mut Point) {
        let (current, others) = self.points.split_at_mut(1);
        (&mut current[0], &mut others[0])
    }

    /// An unused slot, held by nobody yet.
    pub fn take(&mut self) -> usize {
        self.free.pop().unwrap_or_else(|| {
            self.points.push(Point::blank(self.points[Pool::CURRENT].position.len()));
            self.holders.push(0);
            self.points.len() - 1
        })
    }

    /// Notes that a branch of one point holds `slot` as its first, last and proposed point.
    pub fn hold_single(&mut self, slot: usize) {
        self.holders[slot] = 3;
    }

    /// One holder fewer; a slot without holders may be reused.
    pub fn release(&mut self, slot: usize) {
        self.holders[slot] -= 1;
        if self.holders[slot] == 0 {
            self.free.push(slot);
        }
    }

    /// Two different slots, the second one for writing.
    pub fn pair(&mut self, from: usize, to: usize) -> (&Point, &mut Point) {
        if from < to {
            let (low, high) = self.points.split_at_mut(to);
            (&low[from], &mut high[0])
        } else {
            let (low, high) = self.points.split_at_mut(from);
            (&high[0], &mut low[to])
        }
    }

    /// Makes `slot` the current point and frees all others.
    pub fn restart_from(&mut self, slot: usize) {
        self.points.swap(Pool::CURRENT, slot);
        self.holders.fill(0);
        self.free.clear();
        self.free.extend((1..self.points.len()).rev());
    }

    #[cfg(test)]
    pub fn size(&self) -> usize {
        self.points.len()
    }
}
