//! Plain arrays from one JSON object: a name and a number or rectangular nested arrays of numbers per entry.
//!
//! Literals are read here rather than through a generic JSON value because three facts about them must survive: the
//! nearest f64, whether they are written as whole numbers, and their line.

use super::error::DataError;
use super::finding::Extent;
use super::table;
use super::token::excerpt;
use std::path::Path;

/// Deeper nesting is taken for a mistake.
const MOST_DIMENSIONS: usize = 16;
/// The largest magnitude up to which every whole number is an f64.
const LARGEST_WHOLE: u64 = 1 << 53;

/// One array, finite throughout.
#[derive(Debug, Clone, PartialEq)]
pub struct Array {
    /// Extents from the outermost to the innermost; empty for a single number.
    pub shape: Vec<usize>,
    /// Entries in row-major order; their count is the product of `shape`.
    pub values: Vec<f64>,
    /// True when every entry is written as a whole number (`3`, not `3.0`).
    pub integer: bool,
}

/// Arrays by name, in the order of the file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Arrays {
    entries: Vec<(String, Array)>,
}

impl Arrays {
    /// The array called `name`.
    pub fn get(&self, name: &str) -> Option<&Array> {
        self.entries.iter().find(|(n, _)| n == name).map(|(_, array)| array)
    }

    /// Adds an array at the end, or gives it back where the name is taken.
    ///
    /// # Errors
    /// The array, unchanged.
    pub fn insert(&mut self, name: String, array: Array) -> Result<(), Array> {
        if self.get(&name).is_some() {
            return Err(array);
        }
        self.entries.push((name, array));
        Ok(())
    }

    /// Names and arrays in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Array)> {
        self.entries.iter().map(|(name, array)| (name.as_str(), array))
    }

    /// The number of arrays.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// True when there is none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

/// Reads the arrays in `bytes`; `file` only names them in messages.
///
/// # Errors
/// Text that is not UTF-8 or not JSON; a top level that is no object; names given twice; entries that are not finite
/// numbers, or whole numbers beyond 2^53; arrays that are not rectangular.
pub fn parse_arrays(file: &Path, bytes: &[u8]) -> Result<Arrays, DataError> {
    let mut scan = Scanner { file, text: table::text(file, bytes)?, at: 0 };
    let mut arrays = Arrays::default();
    scan.expect('{', "`{`: one object with a name and a number or array per entry")?;
    if scan.accept('}') {
        scan.expect_end()?;
        return Ok(arrays);
    }
    loop {
        scan.skip_blanks();
        let start = scan.at;
        let name = scan.name()?;
        scan.expect(':', "`:` after a name")?;
        let mut part = Part::new(&name);
        part.read(&mut scan, 0)?;
        let array = part.finish();
        if arrays.insert(name.clone(), array).is_err() {
            scan.at = start;
            let line = scan.line();
            return Err(DataError::NameTwice { file: file.to_path_buf(), line, name });
        }
        if scan.accept('}') {
            scan.expect_end()?;
            return Ok(arrays);
        }
        scan.expect(',', "`,` or `}` after an entry")?;
    }
}

/// A position in the text.
struct Scanner<'a> {
    file: &'a Path,
    text: &'a str,
    at: usize,
}

impl<'a> Scanner<'a> {
    fn skip_blanks(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r']).len();
    }

    /// The next character that is no blank.
    fn peek(&mut self) -> Option<char> {
        self.skip_blanks();
        self.text[self.at..].chars().next()
    }

    fn accept(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.at += wanted.len_utf8();
        }
        found
    }

    fn expect(&mut self, wanted: char, expected: &'static str) -> Result<(), DataError> {
        if self.accept(wanted) { Ok(()) } else { Err(self.error(expected)) }
    }

    fn expect_end(&mut self) -> Result<(), DataError> {
        if self.peek().is_none() { Ok(()) } else { Err(self.error("the end of the file")) }
    }

    /// A name in quotes.
    fn name(&mut self) -> Result<String, DataError> {
        const EXPECTED: &str = "a name in double quotes";
        if self.peek() != Some('"') {
            return Err(self.error(EXPECTED));
        }
        let literal = self.string().ok_or_else(|| self.error("a closing double quote"))?;
        match serde_json::from_str(literal) {
            Ok(name) => {
                self.at += literal.len();
                Ok(name)
            }
            Err(_) => Err(self.error(EXPECTED)),
        }
    }

    /// The string literal that starts here, with its quotes.
    fn string(&self) -> Option<&'a str> {
        let rest = &self.text[self.at..];
        let mut escaped = false;
        for (i, c) in rest.char_indices().skip(1) {
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '"' => return Some(&rest[..=i]),
                _ => (),
            }
        }
        None
    }

    /// The word or other run of characters that starts here and ends at a separator.
    fn word(&mut self) -> &'a str {
        self.skip_blanks();
        let rest = &self.text[self.at..];
        if rest.starts_with('"') {
            return self.string().unwrap_or(rest);
        }
        let end = rest.find(|c: char| c.is_whitespace() || ",:[]{}\"".contains(c)).unwrap_or(rest.len());
        // A separator by itself is a word of one character.
        if end == 0 { rest.chars().next().map_or("", |c| &rest[..c.len_utf8()]) } else { &rest[..end] }
    }

    /// The line of the current position. Counted from the start of the text, so only for messages.
    fn line(&self) -> u64 {
        1 + self.text[..self.at].matches('\n').count() as u64
    }

    fn error(&mut self, expected: &'static str) -> DataError {
        self.skip_blanks();
        let line = self.line();
        let start = self.text[..self.at].rfind('\n').map_or(0, |i| i + 1);
        let column = 1 + self.text[start..self.at].chars().count() as u64;
        let found = match self.word() {
            "" => "the end of the file".to_string(),
            word => format!("`{}`", excerpt(word)),
        };
        DataError::Json { file: self.file.to_path_buf(), line, column, found, expected }
    }
}

/// One entry of the object while it is read.
struct Part<'n> {
    name: &'n str,
    /// Extents per level, known once the first array of that level has closed.
    shape: Vec<Option<usize>>,
    /// The level at which numbers stand, known from the first number on.
    rank: Option<usize>,
    values: Vec<f64>,
    integer: bool,
    /// Where we are, counted from one.
    index: Vec<usize>,
}

impl<'n> Part<'n> {
    fn new(name: &'n str) -> Self {
        Self { name, shape: Vec::new(), rank: None, values: Vec::new(), integer: true, index: Vec::new() }
    }

    fn finish(self) -> Array {
        let shape = self.shape.into_iter().flatten().collect();
        Array { shape, values: self.values, integer: self.integer }
    }

    fn read(&mut self, scan: &mut Scanner<'_>, level: usize) -> Result<(), DataError> {
        match scan.peek() {
            Some('[') => self.read_array(scan, level),
            _ => self.read_number(scan, level),
        }
    }

    fn read_array(&mut self, scan: &mut Scanner<'_>, level: usize) -> Result<(), DataError> {
        if self.rank.is_some_and(|rank| level >= rank) {
            return Err(self.ragged(scan, Extent::Array, Extent::Number));
        }
        if level == MOST_DIMENSIONS {
            return Err(scan.error("a number; more than sixteen nested arrays are not read"));
        }
        if level == self.shape.len() {
            self.shape.push(None);
        }
        scan.expect('[', "`[`")?;
        let mut count = 0;
        if !scan.accept(']') {
            loop {
                count += 1;
                self.index.push(count);
                self.read(scan, level + 1)?;
                self.index.pop();
                if scan.peek() == Some(']') {
                    break;
                }
                scan.expect(',', "`,` or `]` after an entry")?;
            }
        }
        if let Some(expected) = self.shape[level].filter(|&n| n != count) {
            return Err(self.ragged(scan, Extent::Length(count), Extent::Length(expected)));
        }
        self.shape[level] = Some(count);
        // The bracket of an empty array is consumed already.
        if count > 0 {
            scan.expect(']', "`]`")?;
        }
        Ok(())
    }

    fn read_number(&mut self, scan: &mut Scanner<'_>, level: usize) -> Result<(), DataError> {
        let word = scan.word();
        let entry = |found: String, fix| DataError::Entry {
            file: scan.file.to_path_buf(),
            line: scan.line(),
            name: self.name.to_string(),
            index: self.index.clone(),
            found,
            fix,
        };
        let (value, whole) = match literal(word) {
            Literal::Whole(v) => (v, true),
            Literal::Real(v) => (v, false),
            Literal::Refused(fix) => return Err(entry(describe(word), fix)),
            Literal::Unknown => return Err(scan.error("a number or an array of numbers")),
        };
        if level < self.shape.len() {
            return Err(self.ragged(scan, Extent::Number, Extent::Array));
        }
        self.rank = Some(level);
        self.values.push(value);
        self.integer &= whole;
        scan.at += word.len();
        Ok(())
    }

    fn ragged(&self, scan: &Scanner<'_>, found: Extent, expected: Extent) -> DataError {
        DataError::Ragged {
            file: scan.file.to_path_buf(),
            line: scan.line(),
            name: self.name.to_string(),
            index: self.index.clone(),
            found,
            expected,
        }
    }
}

/// What a word at the place of a number is.
enum Literal {
    Whole(f64),
    Real(f64),
    /// Well understood, but no finite number; with the fix.
    Refused(&'static str),
    /// Not JSON.
    Unknown,
}

fn literal(word: &str) -> Literal {
    const FINITE: &str = "data must be finite: leave missing entries out and adjust the sizes";
    const BARE: &str = "expected a number without quotes";
    const NUMBER: &str = "expected a number or an array of numbers";
    let bare = word.trim_matches('"').trim_start_matches(['+', '-']);
    if ["nan", "inf", "infinity"].iter().any(|w| bare.eq_ignore_ascii_case(w)) {
        return Literal::Refused(FINITE);
    }
    if word.starts_with('"') {
        let closed = word.len() > 1 && word.ends_with('"');
        return if closed { Literal::Refused(BARE) } else { Literal::Unknown };
    }
    match word {
        "null" => return Literal::Refused(FINITE),
        "true" | "false" => return Literal::Refused("write 1 for true and 0 for false"),
        "{" => return Literal::Refused(NUMBER),
        _ if !is_json_number(word) => return Literal::Unknown,
        _ => (),
    }
    if word.contains(['.', 'e', 'E']) {
        return match word.parse::<f64>() {
            Ok(v) if v.is_finite() => Literal::Real(v),
            _ => Literal::Refused("larger than any double-precision number; rescale the data"),
        };
    }
    match word.parse::<i64>() {
        Ok(v) if v.unsigned_abs() <= LARGEST_WHOLE => Literal::Whole(v as f64),
        _ => {
            Literal::Refused("a whole number beyond 2^53; write it with a decimal point where a rounded real is meant")
        }
    }
}

/// The number grammar of JSON (RFC 8259, section 6).
fn is_json_number(word: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let unsigned = word.strip_prefix('-').unwrap_or(word);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent.strip_prefix(['+', '-']).unwrap_or(exponent))),
        None => (unsigned, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    digits(whole)
        && (whole.len() == 1 || !whole.starts_with('0'))
        && fraction.is_none_or(digits)
        && exponent.is_none_or(digits)
}

fn describe(word: &str) -> String {
    match word {
        "{" => "an object".to_string(),
        _ if word.starts_with('"') => format!("the text {}", excerpt(word)),
        _ => excerpt(word),
    }
}

#[cfg(test)]
mod tests;
