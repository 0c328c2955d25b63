//! A diagnostic: what is wrong with a model, where, what was expected, and the fix.

use super::{Source, Span};
use codespan_reporting::diagnostic::{Diagnostic as Report, Label};
use codespan_reporting::files::SimpleFile;
use codespan_reporting::term;
use serde::{Deserialize, Serialize};

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    Error,
    Warning,
}

/// The code of a kind of diagnostic; the book lists each with its fix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Code {
    /// The text is not a model: an unexpected word or sign.
    Syntax,
    /// A name that is not declared.
    UnknownName,
    /// A name that is declared twice, or is reserved.
    NameTaken,
    /// A function, distribution or response that does not exist.
    UnknownFunction,
    /// Wrong number or kind of arguments.
    Arguments,
    /// Shapes that do not fit.
    Shape,
    /// A whole number was needed, or a real one.
    Type,
    /// Bounds or truncation that cannot hold.
    Bounds,
    /// A statement that does not belong into this kind of model.
    Statement,
    /// A shared-response model that is incomplete or of an unsupported form.
    SharedResponse,
    /// The data do not fit the model.
    Data,
}

impl Code {
    /// All codes, in the order of the book's table.
    pub const ALL: [Code; 11] = [
        Code::Syntax,
        Code::UnknownName,
        Code::NameTaken,
        Code::UnknownFunction,
        Code::Arguments,
        Code::Shape,
        Code::Type,
        Code::Bounds,
        Code::Statement,
        Code::SharedResponse,
        Code::Data,
    ];

    /// The short form printed in brackets, for example `E06`.
    pub fn id(self) -> &'static str {
        match self {
            Code::Syntax => "E01",
            Code::UnknownName => "E02",
            Code::NameTaken => "E03",
            Code::UnknownFunction => "E04",
            Code::Arguments => "E05",
            Code::Shape => "E06",
            Code::Type => "E07",
            Code::Bounds => "E08",
            Code::Statement => "E09",
            Code::SharedResponse => "E10",
            Code::Data => "E11",
        }
    }
}

/// One finding about a model text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Diagnostic {
    pub severity: Severity,
    pub code: Code,
    pub message: String,
    pub span: Span,
    /// What would have been right here.
    pub expected: Option<String>,
    /// What stands here.
    pub found: Option<String>,
    /// How to mend it.
    pub help: Option<String>,
}

impl Diagnostic {
    /// An error at `span`.
    pub fn error(code: Code, span: Span, message: impl Into<String>) -> Self {
        Self { severity: Severity::Error, code, message: message.into(), span, expected: None, found: None, help: None }
    }

    /// Adds what was expected.
    pub fn expected(mut self, text: impl Into<String>) -> Self {
        self.expected = Some(text.into());
        self
    }

    /// Adds what was found instead.
    pub fn found(mut self, text: impl Into<String>) -> Self {
        self.found = Some(text.into());
        self
    }

    /// Adds the fix.
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help = Some(text.into());
        self
    }
}

/// The diagnostics as text: file, line, column, the line with a caret, expected, found, help.
pub fn render(source: &Source, diagnostics: &[Diagnostic]) -> String {
    let file = SimpleFile::new(source.name.as_str(), source.text.as_str());
    let config = term::Config { chars: term::Chars::ascii(), ..term::Config::default() };
    let mut text = String::new();
    for d in diagnostics {
        let notes = [("expected", &d.expected), ("found", &d.found), ("help", &d.help)]
            .iter()
            .filter_map(|(key, value)| value.as_ref().map(|v| format!("{key}: {v}")))
            .collect();
        let end = source.text.floor_char_boundary(d.span.end.min(source.text.len()));
        let start = source.text.floor_char_boundary(d.span.start.min(end));
        let report = match d.severity {
            Severity::Error => Report::error(),
            Severity::Warning => Report::warning(),
        }
        .with_code(d.code.id())
        .with_message(&d.message)
        .with_label(Label::primary((), start..end))
        .with_notes(notes);
        if term::emit_to_string(&mut text, &config, &file, &report).is_err() {
            text.push_str(&format!("error[{}]: {}\n", d.code.id(), d.message));
        }
    }
    text
}

/// The candidate closest to `word` but for capital letters, when it is close enough to be what was meant.
pub fn suggest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    candidates
        .into_iter()
        .map(|c| (edit_distance(&word.to_lowercase(), &c.to_lowercase()), c))
        .filter(|&(d, c)| d <= 1 + word.len().max(c.len()) / 4 && d < word.len())
        .min_by_key(|&(d, _)| d)
        .map(|(_, c)| c)
}

/// Number of single-letter insertions, deletions, substitutions and swaps of neighbours between two words.
fn edit_distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut d = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            d[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let substitution = d[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
                let mut best = substitution.min(d[i - 1][j] + 1).min(d[i][j - 1] + 1);
                if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                    best = best.min(d[i - 2][j - 2] + 1);
                }
                best
            };
        }
    }
    d[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggestions_are_near_misses_only() {
        let words = ["normal", "lognormal", "cauchy"];
        assert_eq!(suggest("nromal", words), Some("normal"));
        assert_eq!(suggest("cauchi", words), Some("cauchy"));
        assert_eq!(suggest("NORMAL", words), Some("normal"));
        assert_eq!(suggest("poisson", words), None);
        assert_eq!(suggest("y", ["Y", "x"]), Some("Y"), "only the case differs");
    }

    #[test]
    fn rendering_names_place_and_fix() {
        let source = Source::new("m.msrm", "model m\nparam mu ~ nromal(0, 1)\n");
        let d = Diagnostic::error(Code::UnknownFunction, Span::new(19, 25), "unknown distribution `nromal`")
            .help("did you mean `normal`?");
        let text = render(&source, &[d]);
        assert!(text.contains("m.msrm:2:12"), "{text}");
        assert!(text.contains("param mu ~ nromal(0, 1)"), "{text}");
        assert!(text.contains("^^^^^^"), "{text}");
        assert!(text.contains("help: did you mean `normal`?"), "{text}");
    }
}
