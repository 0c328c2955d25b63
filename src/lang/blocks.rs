//! The rules of the two statements with a body: functions of the user's own, and recursions along an index.

use super::ast::*;
use super::lexer::TokenKind;
use super::parser::{Parsed, Parser};

impl Parser {
    /// `function f(a, b) = a + exp(b)`, or with a block in braces; the word itself is read already.
    pub fn function(&mut self) -> Parsed<ItemKind> {
        let name = self.ident("the name of the function, as in `function f(a, b) = a + exp(b)`")?;
        let help = Some("for example `function f(a, b) = a + exp(b)`");
        self.expect("(", help)?;
        let mut parameters = Vec::new();
        if !self.take_sign(")") {
            loop {
                parameters.push(self.ident("the name of an argument")?);
                if self.take_sign(")") {
                    break;
                }
                if !self.take_sign(",") {
                    return self.fail("`,` or `)`", Some("arguments are names without types; shapes follow from use"));
                }
            }
        }
        Ok(ItemKind::Function { name, parameters, body: self.body()? })
    }

    /// `scan h[t in 2:N] from start = a + b * h[t - 1]`, or with a block in braces.
    pub fn scan(&mut self) -> Parsed<ItemKind> {
        let help = Some("for example `scan h[t in 2:N] from 1 = a + b * h[t - 1]`");
        let name = self.ident("the name of what is carried along, as in `scan h[t in 2:N] from 1 = ...`")?;
        self.expect("[", help)?;
        let index = self.ident("the name of the position, as in `h[t in 2:N]`")?;
        if !self.take_word("in") {
            return self.fail("`in`", help);
        }
        let first = self.expression()?;
        self.expect(":", help)?;
        let last = self.expression()?;
        self.expect("]", help)?;
        let start = if self.take_word("from") { Some(self.expression()?) } else { None };
        Ok(ItemKind::Scan { name, index, first, last, start, body: self.body()? })
    }

    /// `= value`, or lines in braces: `let`s, then the value.
    fn body(&mut self) -> Parsed<Body> {
        if self.take_sign("=") {
            return Ok(Body { lets: Vec::new(), value: self.condition()? });
        }
        if !self.take_sign("{") {
            let help = "several lines stand in braces: `{`, lines of `let NAME = ...`, the value, `}`";
            return self.fail("`=` and a value, or a block in braces", Some(help));
        }
        self.in_block = true;
        let mut lets = Vec::new();
        loop {
            self.skip_newlines();
            self.no_bad_token()?;
            if !self.take_word("let") {
                break;
            }
            let name = self.ident("a name")?;
            self.expect("=", Some("for example `let d = a - b`"))?;
            let value = self.condition()?;
            if *self.peek() != TokenKind::Newline {
                return self.fail("the end of the line", Some("every `let` stands on a line of its own"));
            }
            lets.push((name, value));
        }
        if self.is_sign("}") {
            return self.fail("a value", Some("the last line of a block is the value it leads to"));
        }
        let value = self.condition()?;
        self.skip_newlines();
        self.expect("}", Some("the value is the last line of a block; lines before it start with `let`"))?;
        self.in_block = false;
        Ok(Body { lets, value })
    }

    fn skip_newlines(&mut self) {
        while *self.peek() == TokenKind::Newline {
            self.advance();
        }
    }
}
