//! Tokens to the syntax tree: recursive descent, one statement per line, all errors reported at once.
//!
//! This file holds the walk from statement to statement and the steps that all rules share; the rules are in
//! `statements` and `expressions`. A statement gives at most one error, and parsing goes on at the next one.

use super::ast::*;
use super::lexer::{Token, TokenKind, tokens};
use super::words::{RESERVED, statement_elsewhere};
use crate::base::{Code, Diagnostic, Source, Span};

/// Parses a model file.
///
/// # Errors
/// Every syntax error of the text; after an error, parsing goes on at the next line.
pub fn parse(source: &Source) -> Result<Ast, Vec<Diagnostic>> {
    let partial = parse_partly(source);
    if partial.errors.is_empty() { Ok(partial.ast) } else { Err(partial.errors) }
}

/// A text as far as it could be read.
#[derive(Debug, Clone)]
pub struct Partial {
    /// The statements without an error; the name is empty where the model has none.
    pub ast: Ast,
    /// Every syntax error of the text.
    pub errors: Vec<Diagnostic>,
    /// Names in the statements with an error: any of them may be declared there.
    pub lost: Vec<Ident>,
}

/// Reads the statements that can be read, whatever stands between them.
pub fn parse_partly(source: &Source) -> Partial {
    let tokens = tokens(&source.text);
    let mut parser =
        Parser { tokens, at: 0, errors: Vec::new(), lost: Vec::new(), nesting: 0, operations: 0, in_block: false };
    let ast = parser.model();
    Partial { ast, errors: parser.errors, lost: parser.lost }
}

pub(super) struct Parser {
    tokens: Vec<Token>,
    at: usize,
    errors: Vec<Diagnostic>,
    lost: Vec<Ident>,
    /// Brackets and signs around the expression being read.
    pub nesting: usize,
    /// Operations of the statement so far.
    pub operations: usize,
    /// A block in braces has begun and not ended.
    pub in_block: bool,
}

/// The error is already in the list; the statement is given up.
pub(super) struct Failed;
pub(super) type Parsed<T> = Result<T, Failed>;

impl Parser {
    pub fn peek(&self) -> &TokenKind {
        &self.tokens[self.at].kind
    }

    /// The token after the next one.
    pub fn peek_second(&self) -> Option<&TokenKind> {
        self.tokens.get(self.at + 1).map(|t| &t.kind)
    }

    pub fn span(&self) -> Span {
        self.tokens[self.at].span
    }

    pub fn previous_span(&self) -> Span {
        self.tokens[self.at.saturating_sub(1)].span
    }

    pub fn advance(&mut self) {
        if self.at + 1 < self.tokens.len() {
            self.at += 1;
        }
    }

    pub fn is_sign(&self, sign: &str) -> bool {
        matches!(self.peek(), TokenKind::Sign(s) if *s == sign)
    }

    pub fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), TokenKind::Word(w) if w == word)
    }

    pub fn take_sign(&mut self, sign: &str) -> bool {
        let found = self.is_sign(sign);
        if found {
            self.advance();
        }
        found
    }

    pub fn take_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        if found {
            self.advance();
        }
        found
    }

    pub fn report<T>(&mut self, error: Diagnostic) -> Parsed<T> {
        self.errors.push(error);
        Err(Failed)
    }

    /// The next token is not what should stand here.
    pub fn fail<T>(&mut self, expected: &str, help: Option<&str>) -> Parsed<T> {
        let found = self.peek().describe();
        let message = match self.peek() {
            TokenKind::Newline | TokenKind::End => "this statement ends too early".to_string(),
            _ => format!("{found} does not belong here"),
        };
        let mut error = Diagnostic::error(Code::Syntax, self.span(), message).expected(expected).found(found);
        error.help = help.map(str::to_string);
        self.report(error)
    }

    /// Takes `sign`, or fails with `help`.
    pub fn expect(&mut self, sign: &'static str, help: Option<&str>) -> Parsed<()> {
        if self.take_sign(sign) { Ok(()) } else { self.fail(&format!("`{sign}`"), help) }
    }

    pub fn ident(&mut self, what: &str) -> Parsed<Ident> {
        let span = self.span();
        match self.peek().clone() {
            TokenKind::Word(name) if RESERVED.contains(&name.as_str()) => self.report(
                Diagnostic::error(Code::NameTaken, span, format!("`{name}` is a word of the language"))
                    .expected(what)
                    .help("choose another name"),
            ),
            TokenKind::Word(name) => {
                self.advance();
                Ok(Ident { name, span })
            }
            _ => self.fail(what, None),
        }
    }

    fn model(&mut self) -> Ast {
        let name = self.first_line();
        let mut items = Vec::new();
        while *self.peek() != TokenKind::End {
            let (first, start) = (self.at, self.span());
            match self.whole_statement() {
                Ok(kind) => items.push(Item { span: start.to(self.previous_span()), kind }),
                Err(Failed) => self.lose(first),
            }
            // Behind an error the rest of the block is left out, as its lines are no statements.
            while self.in_block && *self.peek() != TokenKind::End {
                self.in_block = !self.take_sign("}");
                if self.in_block {
                    self.advance();
                }
            }
            self.in_block = false;
            self.next_line();
        }
        let name = name.unwrap_or_else(|Failed| Ident { name: String::new(), span: Span::default() });
        Ast { name, items }
    }

    /// Remembers the names of the statement that starts at token `first`.
    fn lose(&mut self, first: usize) {
        let line = self.tokens[first..].iter().take_while(|t| t.kind != TokenKind::Newline);
        let names = line.filter_map(|t| match &t.kind {
            TokenKind::Word(name) => Some(Ident { name: name.clone(), span: t.span }),
            _ => None,
        });
        self.lost.extend(names);
    }

    /// `model NAME`; where the line is missing, the first line is left to be read as a statement.
    fn first_line(&mut self) -> Parsed<Ident> {
        if *self.peek() == TokenKind::End {
            let error = Diagnostic::error(Code::Syntax, self.span(), "this file holds no model")
                .expected("`model NAME`, then one statement a line")
                .help("for example `model coin`, and below it `param mu ~ normal(0, 1)`");
            return self.report(error);
        }
        if !self.is_word("model") {
            let found = self.peek().describe();
            // A point, because the word itself may be an error of its own.
            let start = self.span().start;
            return self.report(
                Diagnostic::error(Code::Syntax, Span::new(start, start), "the model has no name")
                    .expected("`model NAME` on the first line")
                    .found(found)
                    .help("start the file with a line such as `model eight_schools`"),
            );
        }
        let name = self.no_bad_token().and_then(|()| {
            self.advance();
            let name = self.ident("the name of the model, for example `model eight_schools`")?;
            self.end_of_statement()?;
            Ok(name)
        });
        self.next_line();
        name
    }

    fn whole_statement(&mut self) -> Parsed<ItemKind> {
        self.nesting = 0;
        self.operations = 0;
        self.no_bad_token()?;
        let kind = self.statement()?;
        self.end_of_statement()?;
        Ok(kind)
    }

    /// Reports the first token of the statement that the lexer could not make sense of.
    pub fn no_bad_token(&mut self) -> Parsed<()> {
        let line = self.tokens[self.at..].iter().take_while(|t| t.kind != TokenKind::Newline);
        let bad = line.map(|t| &t.kind).find_map(|kind| match kind {
            TokenKind::Bad(error) => Some(error.as_ref().clone()),
            _ => None,
        });
        let Some(error) = bad else { return Ok(()) };
        match self.peek() {
            TokenKind::Word(word) if statement_elsewhere(word).is_some() => self.not_a_statement(&word.clone()),
            _ => self.report(error),
        }
    }

    fn end_of_statement(&mut self) -> Parsed<()> {
        if *self.peek() == TokenKind::Newline {
            return Ok(());
        }
        let help = self.trailing_help();
        self.fail("the end of the line", Some(help))
    }

    fn next_line(&mut self) {
        while !matches!(self.peek(), TokenKind::Newline | TokenKind::End) {
            self.advance();
        }
        self.take_newline();
    }

    fn take_newline(&mut self) {
        if *self.peek() == TokenKind::Newline {
            self.advance();
        }
    }
}
