//! The tidy form of a model text: one space around signs, columns in line, comments and line breaks kept.
//!
//! The text is laid out from its tokens and not from its syntax tree, so that numbers, brackets and line breaks stay as
//! they were written, and a tidy text has the same tree as the one it was made of.

use super::columns::{Mark, Row, align};
use super::lexer::{Token, TokenKind, tokens};
use super::parser::parse;
use super::words::KEYWORDS;
use crate::base::{Diagnostic, Source};

/// The tidy form of a model text. It is a fixed point: the tidy form of a tidy text is that text.
///
/// # Errors
/// Every syntax error of the text; what does not parse is not touched.
pub fn tidy(source: &Source) -> Result<String, Vec<Diagnostic>> {
    parse(source)?;
    let tokens = tokens(&source.text);
    let lines = physical_lines(&source.text, &tokens);
    let shared = tokens.iter().any(|t| matches!(&t.kind, TokenKind::Word(w) if w == "recording"));
    let rows = Layout { text: &source.text, tokens: &tokens, before: None, open: Vec::new(), anchor: 0 }.rows(lines);
    Ok(align(rows, shared))
}

/// One line of the text.
enum Line<'a> {
    Blank,
    Comment(&'a str),
    Code {
        /// Positions of its tokens.
        tokens: Vec<usize>,
        /// A statement starts here.
        first: bool,
        comment: Option<&'a str>,
    },
}

/// Cuts the text into lines; every token lies in one of them, and every comment.
fn physical_lines<'a>(text: &'a str, tokens: &[Token]) -> Vec<Line<'a>> {
    let mut lines = Vec::new();
    let mut current: Option<(Vec<usize>, bool)> = None;
    let mut first = true;
    let mut at = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    for (index, token) in tokens.iter().enumerate() {
        if token.kind == TokenKind::Newline {
            first = true;
            continue;
        }
        let end = if token.kind == TokenKind::End { text.len() } else { token.span.start };
        let mut gap = &text[at.min(end)..end];
        while let Some(place) = gap.find(['\n', '#']) {
            if gap[place..].starts_with('\n') {
                lines.push(close(current.take(), None));
                gap = &gap[place + 1..];
            } else {
                let length = gap[place..].find('\n').unwrap_or(gap.len() - place);
                let comment = gap[place..place + length].trim_end();
                lines.push(close(current.take(), Some(comment)));
                gap = &gap[(place + length + 1).min(gap.len())..];
            }
        }
        if token.kind != TokenKind::End {
            current.get_or_insert_with(|| (Vec::new(), first)).0.push(index);
            first = false;
            at = token.span.end;
        }
    }
    if current.is_some() {
        lines.push(close(current, None));
    }
    lines
}

fn close<'a>(code: Option<(Vec<usize>, bool)>, comment: Option<&'a str>) -> Line<'a> {
    match (code, comment) {
        (Some((tokens, first)), comment) => Line::Code { tokens, first, comment },
        (None, Some(comment)) => Line::Comment(comment),
        (None, None) => Line::Blank,
    }
}

/// The walk over the lines; it knows the token before, the open brackets and where the statement's value starts.
struct Layout<'a> {
    text: &'a str,
    tokens: &'a [Token],
    /// The token before, in the same statement; and whether it is a minus sign of one operand.
    before: Option<(usize, bool)>,
    /// Columns of what stands behind each open bracket, and whether it is a square one.
    open: Vec<(usize, bool)>,
    /// Column that the value of the statement starts in.
    anchor: usize,
}

impl Layout<'_> {
    fn rows(mut self, lines: Vec<Line>) -> Vec<Row> {
        let mut rows: Vec<Row> = Vec::new();
        let last_code = lines.iter().rposition(|l| matches!(l, Line::Code { .. }));
        for (index, line) in lines.iter().enumerate() {
            // Whether the statement goes on behind this line.
            let inside = lines[index + 1..]
                .iter()
                .find_map(|l| match l {
                    Line::Code { first, .. } => Some(!first),
                    _ => None,
                })
                .unwrap_or(false)
                && last_code.is_some_and(|last| index < last);
            match line {
                Line::Blank if inside || matches!(rows.last(), None | Some(Row::Blank)) => {}
                Line::Blank => rows.push(Row::Blank),
                Line::Comment(text) if inside => {
                    let indent = self.indent(None);
                    rows.push(Row::Comment(format!("{}{text}", " ".repeat(indent))));
                }
                Line::Comment(text) => rows.push(Row::Comment((*text).to_string())),
                Line::Code { tokens, first, comment } => rows.push(self.code(tokens, *first, *comment)),
            }
        }
        while matches!(rows.last(), Some(Row::Blank)) {
            rows.pop();
        }
        rows
    }

    /// Column of a line that goes on with a statement, relative to the column of the statement's value.
    fn indent(&self, first: Option<&TokenKind>) -> usize {
        if let Some(&(column, _)) = self.open.last() {
            let closes = matches!(first, Some(TokenKind::Sign(")" | "]")));
            return column - usize::from(closes);
        }
        match first {
            Some(TokenKind::Sign("~" | "=")) => 4,
            Some(TokenKind::Sign("+" | "-" | "*" | "/" | "^" | "@")) => self.anchor.saturating_sub(2),
            _ => self.anchor,
        }
    }

    fn code(&mut self, indices: &[usize], first: bool, comment: Option<&str>) -> Row {
        let mut text = String::new();
        let mut mark = None;
        let mut word = 0;
        if first {
            self.before = None;
            self.open.clear();
        } else {
            text = " ".repeat(self.indent(Some(&self.tokens[indices[0]].kind)));
        }
        for (n, &index) in indices.iter().enumerate() {
            let token = &self.tokens[index];
            if n > 0 && self.space_before(index) {
                text.push(' ');
            }
            let start = text.chars().count();
            text.push_str(&self.text[token.span.start..token.span.end]);
            let end = text.chars().count();
            let keyword = matches!(&token.kind, TokenKind::Word(w) if KEYWORDS.contains(&w.as_str()));
            if first && n == 0 && keyword {
                word = end;
                self.anchor = end + 1;
            }
            match token.kind {
                TokenKind::Sign(sign @ ("(" | "[")) => self.open.push((end, sign == "[")),
                TokenKind::Sign(")" | "]") => {
                    self.open.pop();
                }
                TokenKind::Sign(sign @ (":" | "~" | "=")) if self.open.is_empty() && mark.is_none() => {
                    let data = first && matches!(&self.tokens[indices[0]].kind, TokenKind::Word(w) if w == "data");
                    if first && data == (sign == ":") {
                        mark = Some(Mark { column: start, data, word });
                    }
                    self.anchor = end + 1;
                }
                _ => {}
            }
            self.before = Some((index, self.is_sign_of_one(index)));
        }
        Row::Code { text, mark, first, comment: comment.map(str::to_string) }
    }

    /// Whether the token is a minus sign with one operand.
    fn is_sign_of_one(&self, index: usize) -> bool {
        self.tokens[index].kind == TokenKind::Sign("-")
            && match self.before.map(|(i, _)| (i, &self.tokens[i].kind)) {
                None => true,
                Some((_, TokenKind::Sign(sign))) => ![")", "]"].contains(sign),
                Some((i, TokenKind::Word(_))) => self.starts_statement(i),
                Some(_) => false,
            }
    }

    /// Whether the token is the first word of a statement.
    fn starts_statement(&self, index: usize) -> bool {
        let first = index == 0 || self.tokens[index - 1].kind == TokenKind::Newline;
        first && matches!(&self.tokens[index].kind, TokenKind::Word(w) if KEYWORDS.contains(&w.as_str()))
    }

    /// Whether a space stands between the token before and this one.
    fn space_before(&self, index: usize) -> bool {
        let Some((before, sign_of_one)) = self.before else { return false };
        if sign_of_one {
            return false;
        }
        let in_index = self.open.last().is_some_and(|&(_, square)| square);
        match (&self.tokens[before].kind, &self.tokens[index].kind) {
            (_, TokenKind::Sign(")" | "]" | ",")) | (TokenKind::Sign("(" | "["), _) => false,
            (TokenKind::Sign(":"), _) | (_, TokenKind::Sign(":")) => !in_index,
            (TokenKind::Word(word), TokenKind::Sign("(" | "[")) => word == "in" || self.starts_statement(before),
            (TokenKind::Sign(")" | "]") | TokenKind::Number { .. }, TokenKind::Sign("(" | "[")) => false,
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tidied(text: &str) -> String {
        tidy(&Source::new("m.msrm", text)).expect("a text that parses")
    }

    #[test]
    fn columns_comments_and_breaks() {
        let text = "# head\r\nmodel   m\n\n\n\ndata N:int# rows\ndata  yy : real [ N ]>0   # values\n\
                    param mu~normal( 0,-5 )\nparam sigma>0~half_normal(1)\n\n# lone\n\
                    let eta=mu*\n  2^-1 # half\n + yy [1]\nobserve yy~normal(\n eta, # mean\nsigma)\nreport a=-(mu-1)[:,1]";
        let wanted = "# head\nmodel m\n\ndata N  : int          # rows\ndata yy : real[N] > 0  # values\n\
                      param mu        ~ normal(0, -5)\nparam sigma > 0 ~ half_normal(1)\n\n# lone\n\
                      let eta    = mu *\n             2 ^ -1       # half\n           + yy[1]\n\
                      observe yy ~ normal(\n                    eta,  # mean\n                    sigma)\n\
                      report a   = -(mu - 1)[:, 1]\n";
        assert_eq!(tidied(text), wanted);
        assert_eq!(tidied(wanted), wanted);
    }

    #[test]
    fn the_words_of_a_recording_stand_in_a_column() {
        let text = "model m\nrecording x\nfactors K=1\nparam ell~lognormal(1,1)\nlatent z~matern32(length_scale=ell)\n\
                    loading w~normal(0,1)\nnoise v~lognormal(-2,0.7)\nobserve x~normal(response(z)*w,sqrt(v))\n";
        let wanted = "model m\nrecording x\nfactors K   = 1\nparam   ell ~ lognormal(1, 1)\n\
                      latent  z   ~ matern32(length_scale = ell)\nloading w   ~ normal(0, 1)\n\
                      noise   v   ~ lognormal(-2, 0.7)\nobserve x   ~ normal(response(z) * w, sqrt(v))\n";
        assert_eq!(tidied(text), wanted);
    }

    #[test]
    fn a_text_with_errors_is_left_alone() {
        assert!(tidy(&Source::new("m.msrm", "model m\nparam mu ~ normal(0, 1\n")).is_err());
    }
}
