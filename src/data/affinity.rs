//! Reads a table of affinities between participants: a CSV with the columns `first`, `second` and `affinity`.

use super::error::DataError;
use super::table::Table;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Two participants and how strongly they are tied; each pair once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Edge {
    pub first: String,
    pub second: String,
    /// Finite and not negative; pairs that are not named have affinity 0.
    pub affinity: f64,
}

/// Reads the pairs of `bytes`, the content of `file`.
///
/// # Errors
/// Other columns, missing cells, and affinities that are not numbers of 0 or more, with their line.
pub fn parse_affinity(file: &Path, bytes: &[u8]) -> Result<Vec<Edge>, DataError> {
    let mut table = Table::open(file, bytes, b',')?;
    if table.header != ["first", "second", "affinity"] {
        let found = table.header.join(",");
        return Err(DataError::AffinityColumns { file: file.to_path_buf(), found });
    }
    let mut edges = Vec::new();
    while let Some((line, row)) = table.next_row()? {
        let cell = |i: usize| row.get(i).unwrap_or_default().to_string();
        let affinity = cell(2).parse::<f64>().ok().filter(|v| v.is_finite() && *v >= 0.0);
        match affinity {
            Some(affinity) if row.len() == 3 && !cell(0).is_empty() && !cell(1).is_empty() => {
                edges.push(Edge { first: cell(0), second: cell(1), affinity });
            }
            _ => {
                let found = row.iter().collect::<Vec<_>>().join(",");
                return Err(DataError::AffinityRow { file: file.to_path_buf(), line, found });
            }
        }
    }
    if edges.is_empty() {
        return Err(DataError::Empty { file: file.to_path_buf() });
    }
    Ok(edges)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_read_and_bad_rows_named() {
        let read = |text: &str| parse_affinity(Path::new("a.csv"), text.as_bytes());
        let edges = read("first,second,affinity\nanna, ben ,0.5\n\nben,carl,2\n").expect("two pairs");
        let edge = |a: &str, b: &str, affinity| Edge { first: a.into(), second: b.into(), affinity };
        assert_eq!(edges, [edge("anna", "ben", 0.5), edge("ben", "carl", 2.0)]);
        for (text, wanted) in [
            ("a,b,c\nanna,ben,1\n", "line 1: the columns are `a,b,c`"),
            ("first,second,affinity\nanna,ben,-1\n", "line 2: `anna,ben,-1`"),
            ("first,second,affinity\nanna,ben,0\nanna,,1\n", "line 3: `anna,,1`"),
            ("first,second,affinity\nanna,ben,inf\n", "line 2"),
            ("first,second,affinity\n", "holds no data"),
        ] {
            let error = read(text).expect_err("a bad table").to_string();
            assert!(error.contains(wanted), "{error}");
        }
    }
}
