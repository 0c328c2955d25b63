//! The inspection as a table for people: streams with equal facts share a line, peculiarities follow by name.

use super::inspect::{Inspection, StreamFacts};
use super::names::{brief, counted};
use std::fmt;

/// How many participants a line names.
const NAMED: usize = 4;

const HEADINGS: [&str; 10] =
    ["modality", "run", "participants", "features", "rows", "start s", "end s", "interval s", "rate Hz", "gaps"];

impl fmt::Display for Inspection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{}, {}, {}: {} streams, {} entries, {} missing",
            counted(self.participants.len(), "participant", "participants"),
            counted(self.runs.len(), "run", "runs"),
            counted(self.modalities.len(), "modality", "modalities"),
            self.streams.len(),
            self.entries,
            self.missing
        )?;
        writeln!(f, "sha256 {}\n", self.digest)?;
        self.write_table(f)?;
        self.write_notes(f)
    }
}

impl Inspection {
    fn write_table(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut headings: Vec<String> = HEADINGS.iter().map(|h| h.to_string()).collect();
        headings.push("missing".to_string());
        let mut lines = vec![headings];
        for (cells, members) in grouped(self.ordered().map(|s| (cells(s), s.stream.participant.as_str()))) {
            let [modality, run, facts @ ..] = &cells;
            let mut line = vec![modality.clone(), run.clone(), self.people(&members)];
            line.extend_from_slice(facts);
            lines.push(line);
        }
        let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..lines[0].len()).map(width).collect();
        for line in &lines {
            let padded: Vec<String> = line
                .iter()
                .zip(&widths)
                .enumerate()
                // Names to the left, figures to the right.
                .map(|(c, (cell, &w))| if c < 3 { format!("{cell:<w$}") } else { format!("{cell:>w$}") })
                .collect();
            writeln!(f, "{}", padded.join("  ").trim_end())?;
        }
        Ok(())
    }

    fn write_notes(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let notes = self.ordered().flat_map(|s| {
            let what = |note| [s.stream.modality.clone(), s.stream.run.clone(), note];
            s.notes.iter().map(move |note| (what(note.clone()), s.stream.participant.as_str()))
        });
        let lacking = self.lacking.iter().map(|s| {
            let note = "no such stream: the other streams are used".to_string();
            ([s.modality.clone(), s.run.clone(), note], s.participant.as_str())
        });
        let groups = grouped(notes.chain(lacking));
        if !groups.is_empty() {
            writeln!(f)?;
        }
        for ([modality, run, note], members) in groups {
            writeln!(f, "{modality}, {run}, {}: {note}", self.people(&members))?;
        }
        let general: Vec<String> =
            self.repairs.iter().filter(|r| r.stream().is_none()).map(ToString::to_string).collect();
        if !general.is_empty() {
            writeln!(f, "\n{}", general.join("\n"))?;
        }
        Ok(())
    }

    /// Streams by modality, then run, then participant.
    fn ordered(&self) -> impl Iterator<Item = &StreamFacts> {
        let place = |list: &[String], name: &str| list.iter().position(|n| n == name);
        let mut streams: Vec<&StreamFacts> = self.streams.iter().collect();
        streams.sort_by_key(|s| (place(&self.modalities, &s.stream.modality), place(&self.runs, &s.stream.run)));
        streams.into_iter()
    }

    /// `28 participants`, `all but sub-33`, or the names.
    fn people(&self, members: &[&str]) -> String {
        let others: Vec<String> =
            self.participants.iter().filter(|p| !members.contains(&p.as_str())).cloned().collect();
        match others.len() {
            0 => counted(members.len(), "participant", "participants"),
            n if n <= 2 && members.len() > NAMED => format!("all but {}", others.join(", ")),
            _ => brief(&members.iter().map(|m| m.to_string()).collect::<Vec<_>>(), NAMED),
        }
    }
}

/// Modality, run and the figures of one stream; streams with equal cells share a line.
fn cells(s: &StreamFacts) -> [String; 10] {
    let gaps = match s.longest_gap {
        Some(longest) => format!("{} (to {} s)", s.gaps, figure(longest)),
        None => "0".to_string(),
    };
    let unknown = || "-".to_string();
    [
        s.stream.modality.clone(),
        s.stream.run.clone(),
        s.features.to_string(),
        s.rows.to_string(),
        s.start.to_string(),
        s.end.to_string(),
        s.median_interval.map_or_else(unknown, figure),
        s.rate.map_or_else(unknown, figure),
        gaps,
        s.missing.to_string(),
    ]
}

/// Six significant digits, without trailing zeros.
fn figure(x: f64) -> String {
    format!("{x:.5e}").parse::<f64>().unwrap_or(x).to_string()
}

/// Members by key, both in first-seen order.
fn grouped<'a, K: PartialEq>(items: impl Iterator<Item = (K, &'a str)>) -> Vec<(K, Vec<&'a str>)> {
    let mut groups: Vec<(K, Vec<&str>)> = Vec::new();
    for (key, member) in items {
        match groups.iter_mut().find(|(k, _)| *k == key) {
            Some((_, members)) => members.push(member),
            None => groups.push((key, vec![member])),
        }
    }
    groups
}
