//! Text to tokens; comments, line continuations and the balance of brackets end here.

use super::words::{BLOCKS, KEYWORDS, sign_elsewhere};
use crate::base::{Code, Diagnostic, Span};

/// The kinds of token.
#[derive(Debug, Clone, PartialEq)]
pub enum TokenKind {
    Word(String),
    Number {
        value: f64,
        integer: bool,
    },
    /// An operator or a bracket.
    Sign(&'static str),
    /// What belongs to no statement of the language; the parser reports the first one of a statement.
    Bad(Box<Diagnostic>),
    /// End of a statement's line.
    Newline,
    End,
}

impl TokenKind {
    /// How a message names the token.
    pub fn describe(&self) -> String {
        match self {
            TokenKind::Word(w) => format!("`{w}`"),
            TokenKind::Number { value, .. } => format!("the number {value}"),
            TokenKind::Sign(s) => format!("`{s}`"),
            TokenKind::Bad(error) => error.message.clone(),
            TokenKind::Newline => "the end of the line".into(),
            TokenKind::End => "the end of the file".into(),
        }
    }
}

/// A token with its place.
#[derive(Debug, Clone)]
pub struct Token {
    pub kind: TokenKind,
    pub span: Span,
}

const SIGNS: [&str; 23] = [
    "==", "!=", ">=", "<=", "+", "-", "*", "/", "^", "@", "~", "=", ">", "<", "(", ")", "[", "]", ",", ":", "{", "}",
    ";",
];

const BRACKETS: [(&str, &str); 3] = [("(", ")"), ("[", "]"), ("{", "}")];

/// Cuts `text` into tokens. A newline inside brackets, before a line that starts with a binary operator or `~`,
/// or after a line that ends in one, does not end the statement; the first word of a statement always does.
pub fn tokens(text: &str) -> Vec<Token> {
    let mut lexer = Lexer { text, at: 0, out: Vec::new(), open: Vec::new(), block: false };
    if text.starts_with('\u{feff}') {
        lexer.at = '\u{feff}'.len_utf8();
    }
    while let Some(c) = lexer.rest().chars().next() {
        lexer.step(c);
    }
    lexer.newline();
    let end = lexer.last_end();
    lexer.push(TokenKind::End, Span::new(end, end));
    join_continuations(lexer.out)
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    out: Vec<Token>,
    /// The brackets that are open, each with the sign that closes it.
    open: Vec<(Span, &'static str)>,
    /// The statement may have a block in braces, whose lines are statements of their own.
    block: bool,
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn push(&mut self, kind: TokenKind, span: Span) {
        self.out.push(Token { kind, span });
    }

    fn bad(&mut self, error: Diagnostic) {
        let span = error.span;
        self.push(TokenKind::Bad(Box::new(error)), span);
    }

    /// Takes the next `length` bytes.
    fn take(&mut self, length: usize) -> Span {
        let span = Span::new(self.at, self.at + length);
        self.at = span.end;
        span
    }

    fn step(&mut self, c: char) {
        let rest = self.rest();
        if c == '\n' {
            self.at += 1;
            let in_block = self.block && self.open.last().is_some_and(|(_, close)| *close == "}");
            if in_block && !statement_follows(self.rest(), true) {
                self.end_of_line();
            } else if self.open.is_empty() || statement_follows(self.rest(), false) {
                self.newline();
            }
        } else if c.is_whitespace() {
            self.at += c.len_utf8();
        } else if c == '#' {
            self.at += rest.find('\n').unwrap_or(rest.len());
        } else if c.is_ascii_digit() || (c == '.' && rest[1..].starts_with(|d: char| d.is_ascii_digit())) {
            self.number();
        } else if c.is_alphabetic() || c == '_' {
            let span = self.take(word_length(rest));
            let word = &self.text[span.start..span.end];
            if self.open.is_empty() && self.out.last().is_none_or(|t| t.kind == TokenKind::Newline) {
                self.block = BLOCKS.contains(&word);
            }
            self.push(TokenKind::Word(word.to_string()), span);
        } else if rest.starts_with("//") || rest.starts_with("/*") {
            self.foreign_comment();
        } else if let Some((sign, help)) = sign_elsewhere(rest) {
            let span = self.take(sign.len());
            self.bad(Diagnostic::error(Code::Syntax, span, format!("`{sign}` has no meaning here")).help(help));
        } else if let Some(&sign) = SIGNS.iter().find(|s| rest.starts_with(**s)) {
            let span = self.take(sign.len());
            self.sign(sign, span);
        } else {
            let span = self.take(c.len_utf8());
            self.bad(
                Diagnostic::error(Code::Syntax, span, format!("`{}` has no meaning here", c.escape_debug()))
                    .expected("names, numbers, and the signs + - * / ^ @ ~ = < > ( ) [ ] , : #"),
            );
        }
    }

    fn number(&mut self) {
        let rest = self.rest();
        let length = number_length(rest.as_bytes());
        let tail = word_length(&rest[length..]);
        let span = self.take(length + tail);
        let word = &rest[..length + tail];
        if tail > 0 {
            return self.bad(
                Diagnostic::error(Code::Syntax, span, format!("`{word}` is neither a number nor a name"))
                    .help("numbers are written like 12, 1.5 or 2e-3, and a name does not start with a digit"),
            );
        }
        match word.parse::<f64>() {
            Ok(value) if value.is_finite() => {
                let integer = word.bytes().all(|b| b.is_ascii_digit());
                self.push(TokenKind::Number { value, integer }, span);
            }
            _ => self.bad(
                Diagnostic::error(Code::Syntax, span, format!("`{word}` is too large for a number"))
                    .expected("at most about 1.8e308")
                    .help("without a limit is written `inf`"),
            ),
        }
    }

    fn foreign_comment(&mut self) {
        let rest = self.rest();
        let line = rest.find('\n').unwrap_or(rest.len());
        let length = if rest.starts_with("/*") { rest.find("*/").map_or(line, |n| n + 2) } else { line };
        let start = self.take(length).start;
        let span = Span::new(start, start + 2);
        self.bad(
            Diagnostic::error(Code::Syntax, span, "this is not how a comment starts").help("comments start with `#`"),
        );
    }

    fn sign(&mut self, sign: &'static str, span: Span) {
        if let Some((_, close)) = BRACKETS.iter().find(|(open, _)| *open == sign) {
            self.open.push((span, close));
        } else if BRACKETS.iter().any(|(_, close)| *close == sign) {
            match self.open.pop() {
                Some((_, close)) if close == sign => {}
                Some((open, close)) => {
                    let opened = &self.text[open.start..open.end];
                    return self.bad(
                        Diagnostic::error(Code::Syntax, span, format!("`{sign}` does not close `{opened}`"))
                            .expected(format!("`{close}`"))
                            .found(format!("`{sign}`")),
                    );
                }
                None => {
                    return self.bad(
                        Diagnostic::error(Code::Syntax, span, format!("`{sign}` closes nothing"))
                            .help("drop it, or open a bracket before it"),
                    );
                }
            }
        }
        self.push(TokenKind::Sign(sign), span);
    }

    fn last_end(&self) -> usize {
        self.out.last().map_or(0, |t| t.span.end)
    }

    /// Ends a statement, if one has begun; brackets still open are reported where they open.
    fn newline(&mut self) {
        if let Some(&(span, close)) = self.open.last() {
            let open = &self.text[span.start..span.end];
            let error = Diagnostic::error(Code::Syntax, span, format!("this `{open}` is never closed"))
                .expected(format!("`{close}` before the next statement"));
            self.bad(error);
            self.open.clear();
        }
        self.end_of_line();
    }

    /// Ends a line, unless nothing stands on it.
    fn end_of_line(&mut self) {
        let nothing = [TokenKind::Newline, TokenKind::Sign("{")];
        if self.out.last().is_some_and(|t| !nothing.contains(&t.kind)) {
            // Just after the last token, so that a message does not point behind a comment.
            let end = self.last_end();
            self.push(TokenKind::Newline, Span::new(end, end));
        }
    }
}

/// Whether the next line starts with the first word of a statement; in a block a `let` may follow.
fn statement_follows(rest: &str, in_block: bool) -> bool {
    let line = rest.trim_start_matches([' ', '\t']);
    let (word, after) = line.split_at(word_length(line));
    KEYWORDS.contains(&word) && !(in_block && word == "let") && !after.trim_start().starts_with(['(', ',', ')'])
}

/// Length in bytes of the letters, digits and underscores at the start.
fn word_length(text: &str) -> usize {
    text.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(text.len())
}

/// Length of the number at the start of `bytes`: digits, a point, digits, an exponent.
fn number_length(bytes: &[u8]) -> usize {
    let digits = |from: usize| bytes.iter().skip(from).take_while(|b| b.is_ascii_digit()).count();
    let mut n = digits(0);
    if bytes.get(n) == Some(&b'.') {
        n += 1;
        n += digits(n);
    }
    if matches!(bytes.get(n), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(n + 1), Some(b'+' | b'-')));
        let exponent = digits(n + 1 + sign);
        if exponent > 0 {
            n += 1 + sign + exponent;
        }
    }
    n
}

fn join_continuations(tokens: Vec<Token>) -> Vec<Token> {
    let continues = |t: &Token| matches!(t.kind, TokenKind::Sign("+" | "-" | "*" | "/" | "^" | "@" | "~" | "=" | ","));
    let starts = |t: &Token| matches!(&t.kind, TokenKind::Word(w) if KEYWORDS.contains(&w.as_str()));
    let mut out: Vec<Token> = Vec::with_capacity(tokens.len());
    for (i, token) in tokens.iter().enumerate() {
        let next = tokens.get(i + 1);
        // `+` and a line break before `response(z) * w` go on; before `response brain = ...` they do not.
        let called = matches!(tokens.get(i + 2), Some(Token { kind: TokenKind::Sign("("), .. }));
        let begins = next.is_some_and(|t| starts(t) && !called || t.kind == TokenKind::End);
        let goes_on = out.last().is_some_and(continues) && !begins || next.is_some_and(continues);
        if token.kind != TokenKind::Newline || !goes_on {
            out.push(token.clone());
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<String> {
        tokens(text).iter().map(|t| t.kind.describe()).collect()
    }

    fn lines(text: &str) -> usize {
        kinds(text).iter().filter(|k| *k == "the end of the line").count()
    }

    #[test]
    fn lines_continue_at_operators_and_inside_brackets() {
        assert_eq!(lines("minimize a\n  + b\nlet c = (1,\n 2)"), 2);
        assert_eq!(lines("let a = b +\n response(z)"), 1);
    }

    #[test]
    fn the_first_word_of_a_statement_ends_the_one_before() {
        assert_eq!(lines("param a ~\nparam b"), 2);
        assert_eq!(lines("param a ~ normal(0,\nparam b"), 2);
    }

    #[test]
    fn numbers_and_comments() {
        assert_eq!(
            kinds("1e-3 .5 2. 7 # all of it"),
            [
                "the number 0.001",
                "the number 0.5",
                "the number 2",
                "the number 7",
                "the end of the line",
                "the end of the file"
            ]
        );
    }

    #[test]
    fn strange_characters_keep_their_place() {
        let bad: Vec<Span> = tokens("model m\nparam § ~ normal(0, 1)")
            .into_iter()
            .filter(|t| matches!(t.kind, TokenKind::Bad(_)))
            .map(|t| t.span)
            .collect();
        assert_eq!(bad.iter().map(|s| (s.start, s.end)).collect::<Vec<_>>(), [(14, 16)]);
    }
}
