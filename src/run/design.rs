//! The design of a recording that is to be drawn: who, for how long, and with which streams.

use super::simulate::SimulateError;
use crate::data::{Recording, Stream};
use serde::Deserialize;

/// Who is recorded, for how long, and with which streams.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Design {
    /// Names, or how many.
    pub participants: NameList,
    /// Names, or how many; one run where nothing is said.
    #[serde(default = "one_run")]
    pub runs: NameList,
    /// Length of every run.
    pub seconds: f64,
    pub streams: Vec<StreamDesign>,
}

/// One stream, which every participant has in every run.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StreamDesign {
    pub modality: String,
    /// Names, or how many.
    pub features: NameList,
    /// Seconds between rows.
    pub step: f64,
    /// Time of the first row in seconds.
    #[serde(default)]
    pub start: f64,
    /// Share of the entries that are missing, from 0 to below 1.
    #[serde(default)]
    pub gaps: f64,
    /// Rows of which every entry is missing, in one piece at a random place.
    #[serde(default)]
    pub censored: usize,
}

/// Names, or how many there are.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum NameList {
    Count(usize),
    Names(Vec<String>),
}

fn one_run() -> NameList {
    NameList::Count(1)
}

impl NameList {
    /// The names; counted ones are `what-1`, `what-2`, ...
    fn names(&self, what: &str) -> Vec<String> {
        match self {
            NameList::Count(n) => (1..=*n).map(|i| format!("{what}-{i}")).collect(),
            NameList::Names(names) => names.clone(),
        }
    }
}

impl Design {
    /// The recording of the design, every entry a stand-in.
    pub(super) fn recording(&self) -> Result<Recording, SimulateError> {
        let wrong = |text: String| Err(SimulateError::Design(text));
        let (participants, runs) = (self.participants.names("person"), self.runs.names("run"));
        if participants.is_empty() || runs.is_empty() || self.streams.is_empty() {
            return wrong("it needs a participant, a run and a stream, at least one of each".into());
        }
        let mut modalities: Vec<String> = Vec::new();
        for s in &self.streams {
            let name = &s.modality;
            if modalities.contains(name) {
                return wrong(format!("modality `{name}` stands in it twice"));
            }
            let rows = ((self.seconds - s.start) / s.step + 1e-9).floor() + 1.0;
            if !(s.step > 0.0 && s.start.is_finite() && rows.is_finite()) || rows < 2.0 {
                return wrong(format!(
                    "`{name}` has no two rows: `step` must be above 0, and `seconds` at least one step after `start`"
                ));
            }
            if !(0.0..1.0).contains(&s.gaps) {
                return wrong(format!("`gaps` of `{name}` is {}; it is a share from 0 to below 1", s.gaps));
            }
            if s.censored as f64 > rows - 2.0 {
                return wrong(format!("`censored` of `{name}` leaves fewer than two of its {rows} rows"));
            }
            if s.features.names("feature").is_empty() {
                return wrong(format!("`{name}` has no features"));
            }
            modalities.push(name.clone());
        }
        let mut streams = Vec::new();
        for participant in 0..participants.len() {
            for run in 0..runs.len() {
                for (modality, s) in self.streams.iter().enumerate() {
                    let rows = ((self.seconds - s.start) / s.step + 1e-9).floor() as usize + 1;
                    let features = s.features.names("feature");
                    streams.push(Stream {
                        participant,
                        run,
                        modality,
                        times: (0..rows).map(|i| s.start + i as f64 * s.step).collect(),
                        values: (0..rows * features.len()).map(|i| i as f64).collect(),
                        features,
                    });
                }
            }
        }
        Ok(Recording { participants, runs, modalities, streams })
    }
}
