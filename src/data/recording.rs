//! The recording: participants x runs x modalities, every stream on its own clock, gaps as masks.

use serde::{Deserialize, Serialize};

/// Streams of several people over one or more runs. All orders are first-seen orders of the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recording {
    pub participants: Vec<String>,
    pub runs: Vec<String>,
    pub modalities: Vec<String>,
    /// At most one stream per (participant, run, modality), sorted by those three indices.
    pub streams: Vec<Stream>,
}

/// One participant's stream of one modality in one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stream {
    /// Index into [`Recording::participants`].
    pub participant: usize,
    /// Index into [`Recording::runs`].
    pub run: usize,
    /// Index into [`Recording::modalities`].
    pub modality: usize,
    /// Feature names, length F.
    pub features: Vec<String>,
    /// Seconds, length T, strictly increasing.
    pub times: Vec<f64>,
    /// T x F, row-major; NaN marks a missing entry and nothing else is non-finite.
    pub values: Vec<f64>,
}

impl Stream {
    /// The entry at row `t`, feature `f`, or `None` where it is missing.
    pub fn value(&self, t: usize, f: usize) -> Option<f64> {
        let v = self.values[t * self.features.len() + f];
        if v.is_nan() { None } else { Some(v) }
    }
}

impl Recording {
    /// The names without the streams.
    pub fn clone_names(&self) -> Recording {
        let (participants, runs, modalities) = (self.participants.clone(), self.runs.clone(), self.modalities.clone());
        Recording { participants, runs, modalities, streams: Vec::new() }
    }

    /// The streams of these modalities; all where none is named.
    pub fn only(self, modalities: &[String]) -> Recording {
        if modalities.is_empty() {
            return self;
        }
        let wanted: Vec<bool> = self.modalities.iter().map(|m| modalities.contains(m)).collect();
        let streams = self.streams.iter().filter(|s| wanted[s.modality]).cloned().collect();
        Recording { streams, ..self.clone_names() }.compact()
    }

    /// Drops participants, runs and modalities without streams, keeping the order of the rest.
    pub fn compact(self) -> Recording {
        let Recording { participants, runs, modalities, mut streams } = self;
        let kept = |names: Vec<String>, used: &dyn Fn(&Stream) -> usize, streams: &[Stream]| {
            let mut map = vec![usize::MAX; names.len()];
            let mut out = Vec::new();
            for (i, name) in names.into_iter().enumerate() {
                if streams.iter().any(|s| used(s) == i) {
                    map[i] = out.len();
                    out.push(name);
                }
            }
            (out, map)
        };
        let (participants, p) = kept(participants, &|s| s.participant, &streams);
        let (runs, r) = kept(runs, &|s| s.run, &streams);
        let (modalities, m) = kept(modalities, &|s| s.modality, &streams);
        for s in &mut streams {
            (s.participant, s.run, s.modality) = (p[s.participant], r[s.run], m[s.modality]);
        }
        Recording { participants, runs, modalities, streams }
    }

    /// Times of a run at which anything was observed, ascending, each once.
    pub fn observed_times(&self, run: usize) -> Vec<f64> {
        let streams = self.streams.iter().filter(|s| s.run == run);
        let observed = streams.flat_map(|s| {
            (0..s.times.len()).filter(|&t| (0..s.features.len()).any(|f| s.value(t, f).is_some())).map(|t| s.times[t])
        });
        let mut times: Vec<f64> = observed.collect();
        times.sort_by(f64::total_cmp);
        times.dedup();
        times
    }

    /// First and last time of each run at which anything was observed, in seconds; infinite and reversed where nothing
    /// was.
    pub fn domains(&self) -> Vec<(f64, f64)> {
        let mut domains = vec![(f64::INFINITY, f64::NEG_INFINITY); self.runs.len()];
        for stream in &self.streams {
            for (t, &time) in stream.times.iter().enumerate() {
                if (0..stream.features.len()).any(|f| stream.value(t, f).is_some()) {
                    let (first, last) = &mut domains[stream.run];
                    *first = first.min(time);
                    *last = last.max(time);
                }
            }
        }
        domains
    }
}

/// Whether values do not vary beyond rounding, in whatever unit: the population sd is at most 2.2e-16 times the largest
/// absolute value. `false` without a value.
pub fn is_constant(values: &[f64]) -> bool {
    let Some(&first) = values.first() else { return false };
    // Deviations from the first entry are exactly zero for a constant, which a rounded mean would not give.
    let n = values.len() as f64;
    let shift = values.iter().map(|v| v - first).sum::<f64>() / n;
    let variance = values.iter().map(|v| (v - first - shift).powi(2)).sum::<f64>() / n;
    let largest = values.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
    variance.sqrt() <= f64::EPSILON * largest
}

#[cfg(test)]
mod tests {
    use super::is_constant;

    #[test]
    fn constant_means_no_variation_beyond_rounding_in_any_unit() {
        let ulp = f64::EPSILON;
        for unit in [1.0, 1e-20, 1e12] {
            // The population sd of {1, 1 + ulp} is ulp / 2, that of {1, 1 + 4 ulp} is 2 ulp.
            assert!(is_constant(&[unit, unit * (1.0 + ulp)]));
            assert!(!is_constant(&[unit, unit * (1.0 + 4.0 * ulp)]));
            assert!(!is_constant(&[0.0, unit]));
            assert!(is_constant(&[-unit, -unit, -unit]));
        }
        assert!(is_constant(&[0.0, 0.0]));
        assert!(is_constant(&[5.0]));
        assert!(!is_constant(&[]));
    }
}
