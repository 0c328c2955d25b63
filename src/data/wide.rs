//! A folder of wide tables: one file per stream, first column `time` or `onset`, one further column per feature.

use super::assemble::{Entry, assemble, refuse_repeats};
use super::error::DataError;
use super::file_name::{self, FileName};
use super::finding::{BadName, BadRow, Fault, FeatureMismatch, Findings, StreamName};
use super::load::{DEFAULT_RUN, Duplicates};
use super::names::Names;
use super::recording::{Recording, Stream};
use super::repair::Repair;
use super::table::Table;
use super::token::{self, excerpt};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// One table that is to be read.
pub(super) struct TableFile {
    path: PathBuf,
    name: FileName,
    delimiter: u8,
}

impl TableFile {
    /// Where it lies.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

/// Features of a (participant, modality), as its first run has them.
struct FeatureSet {
    run: usize,
    names: Vec<String>,
}

/// The streams read so far.
pub(super) struct Reader {
    folder: PathBuf,
    duplicates: Duplicates,
    participants: Names,
    runs: Names,
    modalities: Names,
    features: HashMap<(usize, usize), FeatureSet>,
    streams: Vec<Stream>,
    sources: HashMap<(usize, usize, usize), PathBuf>,
    mismatches: Findings<FeatureMismatch>,
    repairs: Vec<Repair>,
}

/// The tables of a folder in the order of their names, and a repair for everything else that lies there.
///
/// # Errors
/// No table, or names that do not say which stream a table holds.
pub(super) fn list(folder: &Path) -> Result<(Vec<TableFile>, Vec<Repair>), DataError> {
    let read_error = |source| DataError::Read { file: folder.to_path_buf(), source };
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(read_error)? {
        paths.push(entry.map_err(read_error)?.path());
    }
    paths.sort();
    let (mut tables, mut skipped, mut bad) = (Vec::new(), Vec::new(), Findings::default());
    for path in paths {
        let delimiter = match path.extension().and_then(|e| e.to_str()) {
            Some("csv") if path.is_file() => b',',
            Some("tsv") if path.is_file() => b'\t',
            _ => {
                skipped.push(Repair::Skipped { file: path });
                continue;
            }
        };
        match file_name::parse(&path.file_stem().unwrap_or_default().to_string_lossy()) {
            Ok(name) => tables.push(TableFile { path, name, delimiter }),
            Err(reason) => bad.push_with(|| BadName {
                name: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
                reason,
            }),
        }
    }
    if !bad.is_empty() {
        return Err(DataError::FileNames { folder: folder.to_path_buf(), names: bad });
    }
    if tables.is_empty() {
        return Err(DataError::NoTables { folder: folder.to_path_buf() });
    }
    Ok((tables, skipped))
}

impl Reader {
    /// A reader of the tables of `folder`; `repairs` are those that listing it gave.
    pub(super) fn new(folder: &Path, duplicates: Duplicates, repairs: Vec<Repair>) -> Self {
        Self {
            folder: folder.to_path_buf(),
            duplicates,
            participants: Names::default(),
            runs: Names::default(),
            modalities: Names::default(),
            features: HashMap::new(),
            streams: Vec::new(),
            sources: HashMap::new(),
            mismatches: Findings::default(),
            repairs,
        }
    }

    /// Reads the bytes of one table.
    ///
    /// # Errors
    /// A wrong header, rows that cannot be used, repeated times where they are to be refused, or a stream that another
    /// file holds already.
    pub(super) fn read(&mut self, table: &TableFile, bytes: &[u8]) -> Result<(), DataError> {
        let file = table.path.as_path();
        let name = StreamName {
            participant: table.name.participant.clone(),
            run: table.name.run.clone().unwrap_or_else(|| DEFAULT_RUN.to_string()),
            modality: table.name.modality.clone(),
        };
        if table.name.run.is_none() {
            self.repairs.push(Repair::RunNamed { file: file.to_path_buf(), run: DEFAULT_RUN.to_string() });
        }
        let participant = self.participants.intern(&name.participant);
        let run = self.runs.intern(&name.run);
        let modality = self.modalities.intern(&name.modality);
        if let Some(first) = self.sources.insert((participant, run, modality), file.to_path_buf()) {
            return Err(DataError::SameStream { first, second: file.to_path_buf(), stream: Box::new(name) });
        }
        let mut rows = Table::open(file, bytes, table.delimiter)?;
        let header = rows.header.clone();
        check_header(file, &header, table.delimiter)?;
        let Some(columns) = self.place_columns(participant, run, modality, &header[1..]) else { return Ok(()) };
        let entries = read_rows(file, &name, &mut rows, &header, &columns)?;
        let features = self.features[&(participant, modality)].names.clone();
        let rows = assemble(entries, features.len());
        let mut refused = Findings::default();
        rows.report(file, &name, &features, self.duplicates, &mut self.repairs, &mut refused);
        refuse_repeats(file, refused)?;
        self.streams.push(Stream { participant, run, modality, features, times: rows.times, values: rows.values });
        Ok(())
    }

    /// Where each column goes in the feature order of the first run; `None`, with a finding, where the sets differ.
    fn place_columns(
        &mut self,
        participant: usize,
        run: usize,
        modality: usize,
        columns: &[String],
    ) -> Option<Vec<usize>> {
        let set =
            self.features.entry((participant, modality)).or_insert_with(|| FeatureSet { run, names: columns.to_vec() });
        let places: HashMap<&str, usize> = set.names.iter().enumerate().map(|(i, n)| (n.as_str(), i)).collect();
        let placed: Option<Vec<usize>> = columns.iter().map(|c| places.get(c.as_str()).copied()).collect();
        if let Some(placed) = placed
            && placed.len() == set.names.len()
        {
            return Some(placed);
        }
        let only = |a: &[String], b: &[String]| a.iter().filter(|n| !b.contains(n)).cloned().collect();
        let (runs, participants, modalities) = (&self.runs, &self.participants, &self.modalities);
        self.mismatches.push_with(|| FeatureMismatch {
            participant: participants.list()[participant].clone(),
            modality: modalities.list()[modality].clone(),
            runs: [set.run, run].map(|r| runs.list()[r].clone()),
            only_first: only(&set.names, columns),
            only_second: only(columns, &set.names),
        });
        None
    }

    /// The recording and all repairs.
    ///
    /// # Errors
    /// Features that change from run to run.
    pub(super) fn finish(mut self) -> Result<(Recording, Vec<Repair>), DataError> {
        if !self.mismatches.is_empty() {
            return Err(DataError::Features { file: self.folder, mismatches: self.mismatches });
        }
        self.streams.sort_by_key(|s| (s.participant, s.run, s.modality));
        let recording = Recording {
            participants: self.participants.into_list(),
            runs: self.runs.into_list(),
            modalities: self.modalities.into_list(),
            streams: self.streams,
        };
        Ok((recording, self.repairs))
    }
}

fn check_header(file: &Path, header: &[String], delimiter: u8) -> Result<(), DataError> {
    let separator = char::from(delimiter).to_string();
    if header[0] != "time" && header[0] != "onset" {
        let others = header.iter().filter(|h| *h != "time" && *h != "onset").enumerate();
        // A first line of numbers is no header: the line to add needs names as well.
        let named = others.map(|(i, h)| if token::value(h).is_ok() { format!("feature_{}", i + 1) } else { h.clone() });
        let header_line = [vec!["time".to_string()], named.collect()].concat().join(&separator);
        return Err(DataError::NoTime {
            file: file.to_path_buf(),
            found: excerpt(&header[0]),
            header: excerpt(&header_line),
        });
    }
    if header.len() == 1 {
        return Err(DataError::NoFeatures { file: file.to_path_buf() });
    }
    let unnamed: Vec<usize> = (0..header.len()).filter(|&c| header[c].is_empty()).map(|c| c + 1).collect();
    let mut names = Names::default();
    let mut repeated = Vec::new();
    for (column, name) in header.iter().enumerate().filter(|(_, name)| !name.is_empty()) {
        let new = names.list().len();
        if names.intern(name) != new && !repeated.contains(&header[column]) {
            repeated.push(name.clone());
        }
    }
    if unnamed.is_empty() && repeated.is_empty() {
        return Ok(());
    }
    Err(DataError::Header { file: file.to_path_buf(), unnamed, repeated })
}

fn read_rows(
    file: &Path,
    name: &StreamName,
    rows: &mut Table<'_>,
    header: &[String],
    columns: &[usize],
) -> Result<Vec<Entry>, DataError> {
    let mut entries = Vec::new();
    let mut bad = Findings::default();
    while let Some((line, record)) = rows.next_row()? {
        let bad_row = |feature: Option<&String>, text: &str, fault| BadRow {
            line,
            stream: Some(name.clone()),
            feature: feature.cloned(),
            text: excerpt(text),
            fault,
        };
        if record.len() != header.len() {
            let text = record.iter().collect::<Vec<_>>().join(",");
            let fault = Fault::FieldCount { expected: header.len(), found: record.len() };
            bad.push_with(|| bad_row(None, &text, fault));
            continue;
        }
        let time = match token::time(&record[0]) {
            Ok(time) => time,
            Err(fault) => {
                bad.push_with(|| bad_row(None, &record[0], fault));
                continue;
            }
        };
        for (c, &feature) in columns.iter().enumerate() {
            match token::value(&record[c + 1]) {
                Ok(value) => entries.push(Entry { time, value, feature, line }),
                Err(fault) => bad.push_with(|| bad_row(header.get(c + 1), &record[c + 1], fault)),
            }
        }
    }
    if !bad.is_empty() {
        return Err(DataError::Rows { file: file.to_path_buf(), rows: bad });
    }
    if entries.is_empty() {
        return Err(DataError::Empty { file: file.to_path_buf() });
    }
    Ok(entries)
}

#[cfg(test)]
mod tests;
