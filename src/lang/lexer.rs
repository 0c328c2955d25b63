//! Text to tokens; comments and line continuations end here.

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

const SIGNS: [&str; 21] =
    [">=", "<=", "+", "-", "*", "/", "^", "@", "~", "=", ">", "<", "(", ")", "[", "]", ",", ":", "{", "}", ";"];

/// Cuts `text` into tokens. A newline inside brackets, before a line that starts with a binary operator or `~`,
/// or after a line that ends in one, does not end the statement.
pub fn tokens(text: &str) -> (Vec<Token>, Vec<Diagnostic>) {
    let mut out: Vec<Token> = Vec::new();
    let mut errors = Vec::new();
    let bytes = text.as_bytes();
    let mut depth = 0usize;
    let mut at = if text.starts_with('\u{feff}') { 3 } else { 0 };
    while at < text.len() {
        let rest = &text[at..];
        let Some(c) = rest.chars().next() else { break };
        if c == '\n' {
            if depth == 0 {
                push_newline(&mut out, at);
            }
            at += 1;
        } else if c.is_whitespace() {
            at += c.len_utf8();
        } else if c == '#' {
            at += rest.find('\n').unwrap_or(rest.len());
        } else if c.is_ascii_digit() || (c == '.' && bytes.get(at + 1).is_some_and(u8::is_ascii_digit)) {
            let length = number_length(&bytes[at..]);
            let span = Span::new(at, at + length);
            let word = &rest[..length];
            match word.parse::<f64>() {
                Ok(value) if value.is_finite() => {
                    let integer = word.bytes().all(|b| b.is_ascii_digit());
                    out.push(Token { kind: TokenKind::Number { value, integer }, span });
                }
                _ => errors.push(
                    Diagnostic::error(Code::Syntax, span, format!("`{word}` is not a number a program can hold"))
                        .help("write a finite decimal number, for example 1.5 or 2e-3"),
                ),
            }
            at += length;
        } else if c.is_alphabetic() || c == '_' {
            let length = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
            out.push(Token { kind: TokenKind::Word(rest[..length].to_string()), span: Span::new(at, at + length) });
            at += length;
        } else if let Some(sign) = SIGNS.iter().find(|s| rest.starts_with(**s)) {
            match *sign {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth = depth.saturating_sub(1),
                _ => {}
            }
            out.push(Token { kind: TokenKind::Sign(sign), span: Span::new(at, at + sign.len()) });
            at += sign.len();
        } else {
            let span = Span::new(at, at + c.len_utf8());
            let mut error = Diagnostic::error(Code::Syntax, span, format!("unexpected character `{c}`"));
            if c == '%' || c == '!' || c == '\'' {
                error = error.help("comments start with `#`");
            }
            errors.push(error);
            at += c.len_utf8();
        }
    }
    push_newline(&mut out, text.len());
    out.push(Token { kind: TokenKind::End, span: Span::new(text.len(), text.len()) });
    (join_continuations(out), errors)
}

fn push_newline(out: &mut Vec<Token>, at: usize) {
    if out.last().is_some_and(|t| t.kind != TokenKind::Newline) {
        out.push(Token { kind: TokenKind::Newline, span: Span::new(at, at) });
    }
}

/// Length of the number at the start of `bytes`: digits, a point, digits, an exponent.
fn number_length(bytes: &[u8]) -> usize {
    let digits = |from: usize| bytes[from..].iter().take_while(|b| b.is_ascii_digit()).count();
    let mut n = digits(0);
    if bytes.get(n) == Some(&b'.') {
        n += 1;
        n += digits(n);
    }
    if matches!(bytes.get(n), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(n + 1), Some(b'+' | b'-')));
        let exponent = if n + 1 + sign <= bytes.len() { digits(n + 1 + sign) } else { 0 };
        if exponent > 0 {
            n += 1 + sign + exponent;
        }
    }
    n
}

fn join_continuations(tokens: Vec<Token>) -> Vec<Token> {
    let continues = |t: &Token| matches!(t.kind, TokenKind::Sign("+" | "-" | "*" | "/" | "^" | "@" | "~" | "=" | ","));
    let mut out: Vec<Token> = Vec::with_capacity(tokens.len());
    for (i, token) in tokens.iter().enumerate() {
        if token.kind == TokenKind::Newline
            && (out.last().is_some_and(continues) || tokens.get(i + 1).is_some_and(continues))
        {
            continue;
        }
        out.push(token.clone());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<String> {
        tokens(text).0.iter().map(|t| t.kind.describe()).collect()
    }

    #[test]
    fn lines_continue_at_operators_and_inside_brackets() {
        let joined = kinds("minimize a\n  + b\nlet c = (1,\n 2)");
        assert_eq!(joined.iter().filter(|k| *k == "the end of the line").count(), 2, "{joined:?}");
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
    fn strange_characters_are_reported_with_their_place() {
        let (_, errors) = tokens("model m\nparam § ~ normal(0, 1)");
        assert_eq!(errors.len(), 1);
        assert_eq!(errors[0].span.start, 14);
    }
}
