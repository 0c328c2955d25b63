//! Takes entries out of recordings: whole streams, and stretches of time.

use crate::data::{Recording, Stream};

/// Names of a stream: participant, modality, run.
pub(super) fn names<'r>(recording: &'r Recording, s: &Stream) -> (&'r str, &'r str, &'r str) {
    (&recording.participants[s.participant], &recording.modalities[s.modality], &recording.runs[s.run])
}

/// The streams that `keep` accepts by participant, modality and run; names without a stream go.
pub(super) fn streams(recording: &Recording, keep: impl Fn(&str, &str, &str) -> bool) -> Recording {
    let accepted = |s: &&Stream| {
        let (participant, modality, run) = names(recording, s);
        keep(participant, modality, run)
    };
    let streams = recording.streams.iter().filter(accepted).cloned().collect();
    Recording { streams, ..recording.clone_names() }.compact()
}

/// The stream with the rows that `keep` refuses taken out.
pub(super) fn rows(stream: &Stream, keep: impl Fn(usize) -> bool) -> Stream {
    let width = stream.features.len();
    let kept: Vec<usize> = (0..stream.times.len()).filter(|&t| keep(t)).collect();
    Stream {
        times: kept.iter().map(|&t| stream.times[t]).collect(),
        values: kept.iter().flat_map(|&t| stream.values[t * width..(t + 1) * width].iter().copied()).collect(),
        ..stream.clone()
    }
}

/// Whether anything was observed in a row.
pub(super) fn observed(stream: &Stream, t: usize) -> bool {
    let width = stream.features.len();
    stream.values[t * width..(t + 1) * width].iter().any(|v| !v.is_nan())
}

/// The recording with every stream changed; streams that lose all rows go, and names without a stream.
pub(super) fn map_streams(recording: &Recording, change: impl Fn(&Stream) -> Option<Stream>) -> Recording {
    let streams = recording.streams.iter().filter_map(change).filter(|s| (0..s.times.len()).any(|t| observed(s, t)));
    Recording { streams: streams.collect(), ..recording.clone_names() }.compact()
}
