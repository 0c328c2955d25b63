//! One delimited text table: encoding, header, rows with their true line numbers.

use super::error::DataError;
use csv::{ReaderBuilder, StringRecord, Trim};
use std::path::Path;

/// The text of `bytes` without a byte-order mark.
///
/// # Errors
/// The line and the first byte that is not UTF-8.
pub(super) fn text<'a>(file: &Path, bytes: &'a [u8]) -> Result<&'a str, DataError> {
    let text = std::str::from_utf8(bytes).map_err(|e| {
        let at = e.valid_up_to();
        let line = 1 + bytes[..at].iter().filter(|&&b| b == b'\n').count() as u64;
        DataError::Encoding { file: file.to_path_buf(), line, byte: bytes[at] }
    })?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}

/// A table being read row by row; surrounding blanks of every field are dropped.
pub(super) struct Table<'a> {
    file: &'a Path,
    bytes: &'a [u8],
    reader: csv::Reader<&'a [u8]>,
    record: StringRecord,
    /// Column names.
    pub(super) header: Vec<String>,
    /// Bytes whose line ends are counted in `line`.
    counted: usize,
    line: u64,
}

impl<'a> Table<'a> {
    /// Reads the header.
    ///
    /// # Errors
    /// [`DataError::Encoding`]; [`DataError::Empty`] without a header.
    pub(super) fn open(file: &'a Path, bytes: &'a [u8], delimiter: u8) -> Result<Self, DataError> {
        let bytes = text(file, bytes)?.as_bytes();
        let reader = ReaderBuilder::new()
            .delimiter(delimiter)
            .has_headers(false)
            .flexible(true)
            .trim(Trim::All)
            .from_reader(bytes);
        let record = StringRecord::new();
        let mut table = Self { file, bytes, reader, record, header: Vec::new(), counted: 0, line: 1 };
        table.header = match table.next_row()? {
            Some((_, record)) => record.iter().map(str::to_string).collect(),
            None => return Err(DataError::Empty { file: file.to_path_buf() }),
        };
        Ok(table)
    }

    /// The next row that is not blank, with the number of its first line (the file's first line is 1).
    pub(super) fn next_row(&mut self) -> Result<Option<(u64, &StringRecord)>, DataError> {
        let found = self
            .reader
            .read_record(&mut self.record)
            .map_err(|e| DataError::Read { file: self.file.to_path_buf(), source: e.into() })?;
        if !found {
            return Ok(None);
        }
        let start = self.record.position().map_or(0, |p| p.byte() as usize);
        self.advance(start);
        Ok(Some((self.line, &self.record)))
    }

    /// Moves `line` to the record that starts at or after byte `start`.
    fn advance(&mut self, start: usize) {
        // A record's position may lie before line ends that belong to the row above it or to blank lines.
        let blank = self.bytes[start..].iter().take_while(|&&b| b == b'\n' || b == b'\r').count();
        let end = start + blank;
        for i in self.counted..end {
            let lone_return = self.bytes[i] == b'\r' && self.bytes.get(i + 1) != Some(&b'\n');
            if self.bytes[i] == b'\n' || lone_return {
                self.line += 1;
            }
        }
        self.counted = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str, delimiter: u8) -> Vec<(u64, Vec<String>)> {
        let mut table = Table::open(Path::new("t.csv"), text.as_bytes(), delimiter).expect("a header");
        let mut rows = vec![(1, table.header.clone())];
        while let Some((line, record)) = table.next_row().expect("a row") {
            rows.push((line, record.iter().map(str::to_string).collect()));
        }
        rows
    }

    /// Slow twin for texts without quotes: split at line ends, then at the delimiter.
    fn twin(text: &str, delimiter: char) -> Vec<(u64, Vec<String>)> {
        let unmarked = text.trim_start_matches('\u{feff}').replace("\r\n", "\n").replace('\r', "\n");
        let lines = unmarked.split('\n').enumerate().filter(|(_, line)| !line.is_empty());
        lines.map(|(i, line)| (i as u64 + 1, line.split(delimiter).map(|s| s.trim().to_string()).collect())).collect()
    }

    #[test]
    fn lines_are_numbered_as_an_editor_numbers_them() {
        for end in ["\n", "\r\n", "\r"] {
            for text in ["a,b\n1,2\n\n\n3, 4 \n5,6\n", "a,b\n1,2", "\u{feff}a,b\n1,2\n\n3,4\n\n"] {
                let text = text.replace('\n', end);
                assert_eq!(rows(&text, b','), twin(&text, ','), "{text:?}");
            }
        }
        assert_eq!(rows("a\tb\n1\t2\n", b'\t'), twin("a\tb\n1\t2\n", '\t'));
    }

    #[test]
    fn quotes_may_hold_separators_and_line_ends() {
        let rows = rows("a,b\n\"x,\ny\",1\n\"q\"\"q\",2\n", b',');
        assert_eq!(rows[1], (2, vec!["x,\ny".to_string(), "1".to_string()]));
        assert_eq!(rows[2], (4, vec!["q\"q".to_string(), "2".to_string()]));
    }

    #[test]
    fn other_encodings_are_refused_with_their_line() {
        let error = Table::open(Path::new("t.csv"), b"a,b\nM\xfcller,1\n", b',').err();
        assert!(matches!(error, Some(DataError::Encoding { line: 2, byte: 0xfc, .. })), "{error:?}");
    }

    #[test]
    fn a_file_without_a_header_is_empty() {
        assert!(matches!(Table::open(Path::new("t.csv"), b"\n\n", b','), Err(DataError::Empty { .. })));
    }
}
