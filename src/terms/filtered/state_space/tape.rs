//! The filtered moments and gains that the way back needs, one record per event in one flat buffer.

use super::filter::{Filter, Sizes, Updated};
use std::ops::Range;

/// How much is kept at a time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// Most bytes of records, unless the shortest segment takes more.
    pub bytes: usize,
    /// Shortest segment, in events.
    pub shortest: usize,
    /// Transitions that are kept over the whole pass; where there are more distinct gaps, those of a segment are.
    pub transitions: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { bytes: 32 << 20, shortest: 64, transitions: 512 }
    }
}

/// Mean, covariance, gain, B^{-1} and error of each event of a segment.
#[derive(Debug, Default)]
pub(super) struct Tape {
    pub limits: Limits,
    sizes: Sizes,
    records: Vec<f64>,
    /// Moments before each segment.
    checkpoints: Vec<f64>,
}

impl Tape {
    /// Makes room for the segments of `events` events; returns the length of a segment.
    pub fn begin(&mut self, sizes: Sizes, events: usize) -> usize {
        self.sizes = sizes;
        let length = segment(events, self.stride() * size_of::<f64>(), self.limits);
        self.records.resize(length * self.stride(), 0.0);
        self.checkpoints.resize(events.div_ceil(length) * self.moments(), 0.0);
        length
    }

    fn moments(&self) -> usize {
        self.sizes.vector() + self.sizes.blocks()
    }

    fn gain(&self) -> Range<usize> {
        let start = self.moments();
        start..start + self.sizes.vectors()
    }

    fn inverse(&self) -> Range<usize> {
        let start = self.gain().end;
        start..start + self.sizes.factors * self.sizes.factors
    }

    fn error(&self) -> Range<usize> {
        let start = self.inverse().end;
        start..start + self.sizes.factors
    }

    fn stride(&self) -> usize {
        self.error().end
    }

    /// Keeps the moments of `filter` as those before segment `segment`.
    pub fn keep(&mut self, segment: usize, filter: &Filter) {
        let (from, moments) = (segment * self.moments(), self.moments());
        let (mean, covariance) = self.checkpoints[from..from + moments].split_at_mut(self.sizes.vector());
        mean.copy_from_slice(&filter.mean);
        covariance.copy_from_slice(&filter.covariance);
    }

    /// Sets the moments of `filter` to those before segment `segment`.
    pub fn restore(&self, segment: usize, filter: &mut Filter) {
        let (mean, covariance) = self.before(segment);
        filter.mean.copy_from_slice(mean);
        filter.covariance.copy_from_slice(covariance);
    }

    /// Moments before segment `segment`.
    pub fn before(&self, segment: usize) -> (&[f64], &[f64]) {
        self.checkpoints[segment * self.moments()..][..self.moments()].split_at(self.sizes.vector())
    }

    /// Records event `at` of the segment in work, whose update, if it had one, is still in `filter`.
    pub fn record(&mut self, at: usize, filter: &Filter) {
        let (moments, stride) = (self.moments(), self.stride());
        let (gain, inverse, error) = (self.gain(), self.inverse(), self.error());
        let record = &mut self.records[at * stride..][..stride];
        let (mean, covariance) = record[..moments].split_at_mut(self.sizes.vector());
        mean.copy_from_slice(&filter.mean);
        covariance.copy_from_slice(&filter.covariance);
        let updated = filter.updated();
        record[gain].copy_from_slice(updated.gain);
        record[inverse].copy_from_slice(updated.inverse);
        record[error].copy_from_slice(updated.error);
    }

    /// Filtered moments after event `at` of the segment.
    pub fn after(&self, at: usize) -> (&[f64], &[f64]) {
        self.records[at * self.stride()..][..self.moments()].split_at(self.sizes.vector())
    }

    /// The update of event `at` of the segment.
    pub fn updated(&self, at: usize) -> Updated<'_> {
        let record = &self.records[at * self.stride()..][..self.stride()];
        Updated { gain: &record[self.gain()], inverse: &record[self.inverse()], error: &record[self.error()] }
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        (self.records.capacity() + self.checkpoints.capacity()) * size_of::<f64>()
    }
}

/// Events per segment for records of `bytes` each: all where they fit, else about the square root of their number.
fn segment(events: usize, bytes: usize, limits: Limits) -> usize {
    if events * bytes <= limits.bytes {
        return events.max(1);
    }
    let root = (events as f64).sqrt().ceil() as usize;
    root.max(limits.shortest).min(events)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_keep_memory_bounded() {
        let limits = Limits::default();
        assert_eq!(segment(1000, 4096, limits), 1000);
        assert_eq!(segment(0, 4096, limits), 1);
        assert_eq!(segment(16_384, 4096, limits), 128);
        assert_eq!(segment(1000, 1 << 20, limits), 64);
        assert_eq!(segment(40, 1 << 21, limits), 40);
    }
}
