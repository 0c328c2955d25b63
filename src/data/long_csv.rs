//! The long table: one row per value, columns `participant,run,modality,feature,time,value` in any order.

use super::assemble::{Entry, assemble, refuse_repeats};
use super::error::{ColumnFaults, DataError};
use super::finding::{BadRow, Fault, FeatureMismatch, Findings, StreamName};
use super::load::{DEFAULT_RUN, Duplicates};
use super::names::Names;
use super::recording::{Recording, Stream};
use super::repair::Repair;
use super::table::Table;
use super::token::{self, excerpt};
use csv::StringRecord;
use std::collections::HashMap;
use std::path::Path;

const COLUMNS: [&str; 6] = ["participant", "run", "modality", "feature", "time", "value"];

/// Positions of the columns; `run` may be absent.
struct Columns {
    participant: usize,
    run: Option<usize>,
    modality: usize,
    feature: usize,
    time: usize,
    value: usize,
}

/// The entries of one stream in file order.
struct Raw {
    participant: usize,
    run: usize,
    modality: usize,
    entries: Vec<Entry>,
}

/// All rows of the file, grouped by stream.
#[derive(Default)]
struct Rows {
    participants: Names,
    runs: Names,
    modalities: Names,
    /// Features of a (participant, modality), shared by its runs.
    features: HashMap<(usize, usize), Names>,
    streams: Vec<Raw>,
    /// Position in `streams` of a (participant, run, modality).
    index: HashMap<(usize, usize, usize), usize>,
}

/// Reads a long table.
///
/// # Errors
/// Unknown, missing or repeated columns; rows that cannot be used (the first ten are listed, all are counted);
/// features that change from run to run; repeated entries where they are to be refused.
pub(super) fn read(
    file: &Path,
    bytes: &[u8],
    delimiter: u8,
    duplicates: Duplicates,
) -> Result<(Recording, Vec<Repair>), DataError> {
    let mut table = Table::open(file, bytes, delimiter)?;
    let columns = Columns::find(file, &table.header, delimiter)?;
    let width = table.header.len();
    let mut rows = Rows::default();
    let mut bad = Findings::default();
    while let Some((line, record)) = table.next_row()? {
        if record.len() != width {
            let fault = Fault::FieldCount { expected: width, found: record.len() };
            let text = excerpt(&record.iter().collect::<Vec<_>>().join(","));
            bad.push_with(|| BadRow { line, stream: None, feature: None, text, fault });
        } else if let Err((text, fault)) = rows.add(&columns, line, record) {
            bad.push_with(|| columns.bad_row(line, record, text, fault));
        }
    }
    if !bad.is_empty() {
        return Err(DataError::Rows { file: file.to_path_buf(), rows: bad });
    }
    if rows.streams.is_empty() {
        return Err(DataError::Empty { file: file.to_path_buf() });
    }
    let mut repairs = Vec::new();
    if columns.run.is_none() {
        repairs.push(Repair::RunNamed { file: file.to_path_buf(), run: DEFAULT_RUN.to_string() });
    }
    let recording = rows.finish(file, duplicates, &mut repairs)?;
    Ok((recording, repairs))
}

impl Columns {
    fn find(file: &Path, header: &[String], delimiter: u8) -> Result<Self, DataError> {
        let at = |name: &str| header.iter().position(|h| h == name);
        let all = (at("participant"), at("modality"), at("feature"), at("time"), at("value"));
        let unknown: Vec<String> = header.iter().filter(|h| !COLUMNS.contains(&h.as_str())).cloned().collect();
        let repeated: Vec<String> =
            COLUMNS.iter().filter(|c| header.iter().filter(|h| h == *c).count() > 1).map(|c| c.to_string()).collect();
        if let (Some(participant), Some(modality), Some(feature), Some(time), Some(value)) = all
            && unknown.is_empty()
            && repeated.is_empty()
        {
            return Ok(Self { participant, run: at("run"), modality, feature, time, value });
        }
        let missing: Vec<String> =
            COLUMNS.iter().filter(|&&c| c != "run" && at(c).is_none()).map(|c| c.to_string()).collect();
        let fix = fix(header, delimiter, &missing, &unknown);
        let found = excerpt(&header.join(char::from(delimiter).to_string().as_str()));
        let faults = Box::new(ColumnFaults { missing, unknown, repeated, fix });
        Err(DataError::Columns { file: file.to_path_buf(), found, faults })
    }

    fn bad_row(&self, line: u64, record: &StringRecord, text: String, fault: Fault) -> BadRow {
        let stream = StreamName {
            participant: record[self.participant].to_string(),
            run: self.run.map_or(DEFAULT_RUN, |run| &record[run]).to_string(),
            modality: record[self.modality].to_string(),
        };
        BadRow { line, stream: Some(stream), feature: Some(record[self.feature].to_string()), text, fault }
    }
}

/// What to do about a wrong header.
fn fix(header: &[String], delimiter: u8, missing: &[String], unknown: &[String]) -> String {
    let other = [';', '\t', ','].into_iter().find(|&c| header.len() == 1 && header[0].contains(c));
    if let Some(c) = other {
        let wanted = if delimiter == b'\t' { "tabs" } else { "commas" };
        return format!("the columns are separated by {c:?}; separate them by {wanted}");
    }
    if header.iter().any(|h| h == "time" || h == "onset") && missing.len() > 2 {
        return "for a wide table (one column per feature), name the file participant_run_modality.csv \
                and give the folder it lies in"
            .to_string();
    }
    let mut parts = Vec::new();
    let misspelt: Vec<String> = unknown
        .iter()
        .filter_map(|u| COLUMNS.iter().find(|c| u.eq_ignore_ascii_case(c)).map(|c| format!("`{u}` to `{c}`")))
        .collect();
    if !misspelt.is_empty() {
        parts.push(format!("rename {}", misspelt.join(", ")));
    }
    if unknown.len() > misspelt.len() {
        parts.push("remove the columns that are unknown, or rename them".to_string());
    }
    parts.push("expected participant, run, modality, feature, time, value in any order (run may be left out)".into());
    parts.join("; ")
}

impl Rows {
    /// Adds one row; on failure nothing is added and the offending text is returned with its fault.
    fn add(&mut self, columns: &Columns, line: u64, record: &StringRecord) -> Result<(), (String, Fault)> {
        let name = |column: &'static str, at: usize| match &record[at] {
            "" => Err((String::new(), Fault::EmptyName { column })),
            name => Ok(name),
        };
        let participant = name("participant", columns.participant)?;
        let run = columns.run.map_or(Ok(DEFAULT_RUN), |at| name("run", at))?;
        let modality = name("modality", columns.modality)?;
        let feature = name("feature", columns.feature)?;
        let text = &record[columns.time];
        let time = token::time(text).map_err(|fault| (excerpt(text), fault))?;
        let text = &record[columns.value];
        let value = token::value(text).map_err(|fault| (excerpt(text), fault))?;

        let participant = self.participants.intern(participant);
        let run = self.runs.intern(run);
        let modality = self.modalities.intern(modality);
        let feature = self.features.entry((participant, modality)).or_default().intern(feature);
        let streams = &mut self.streams;
        let at = *self.index.entry((participant, run, modality)).or_insert_with(|| {
            streams.push(Raw { participant, run, modality, entries: Vec::new() });
            streams.len() - 1
        });
        streams[at].entries.push(Entry { time, value, feature, line });
        Ok(())
    }

    fn finish(
        mut self,
        file: &Path,
        duplicates: Duplicates,
        repairs: &mut Vec<Repair>,
    ) -> Result<Recording, DataError> {
        let raws = std::mem::take(&mut self.streams);
        self.check_features(file, &raws)?;
        let mut refused = Findings::default();
        let mut streams = Vec::with_capacity(raws.len());
        for Raw { participant, run, modality, entries } in raws {
            let features = self.feature_names(participant, modality);
            let rows = assemble(entries, features.len());
            rows.report(file, &self.name(participant, run, modality), features, duplicates, repairs, &mut refused);
            let features = features.to_vec();
            streams.push(Stream { participant, run, modality, features, times: rows.times, values: rows.values });
        }
        refuse_repeats(file, refused)?;
        streams.sort_by_key(|s| (s.participant, s.run, s.modality));
        Ok(Recording {
            participants: self.participants.into_list(),
            runs: self.runs.into_list(),
            modalities: self.modalities.into_list(),
            streams,
        })
    }

    /// Every run of a (participant, modality) must have rows of every feature.
    fn check_features(&self, file: &Path, raws: &[Raw]) -> Result<(), DataError> {
        let mut firsts: HashMap<(usize, usize), (usize, Vec<bool>)> = HashMap::new();
        let mut mismatches = Findings::default();
        for raw in raws {
            let group = (raw.participant, raw.modality);
            let names = self.feature_names(raw.participant, raw.modality);
            let mut seen = vec![false; names.len()];
            raw.entries.iter().for_each(|e| seen[e.feature] = true);
            let (first_run, first) = firsts.entry(group).or_insert_with(|| (raw.run, seen.clone()));
            if *first != seen {
                let only = |a: &[bool], b: &[bool]| -> Vec<String> {
                    (0..names.len()).filter(|&f| a[f] && !b[f]).map(|f| names[f].clone()).collect()
                };
                let mismatch = || FeatureMismatch {
                    participant: self.participants.list()[raw.participant].clone(),
                    modality: self.modalities.list()[raw.modality].clone(),
                    runs: [*first_run, raw.run].map(|run| self.runs.list()[run].clone()),
                    only_first: only(first, &seen),
                    only_second: only(&seen, first),
                };
                mismatches.push_with(mismatch);
            }
        }
        if mismatches.is_empty() {
            return Ok(());
        }
        Err(DataError::Features { file: file.to_path_buf(), mismatches })
    }

    fn feature_names(&self, participant: usize, modality: usize) -> &[String] {
        self.features.get(&(participant, modality)).map_or(&[], Names::list)
    }

    fn name(&self, participant: usize, run: usize, modality: usize) -> StreamName {
        StreamName {
            participant: self.participants.list()[participant].clone(),
            run: self.runs.list()[run].clone(),
            modality: self.modalities.list()[modality].clone(),
        }
    }
}

#[cfg(test)]
mod tests;
