//! The rules of expressions: precedence climbing over unary, postfix and primary forms.

use super::ast::*;
use super::lexer::TokenKind;
use super::parser::{Parsed, Parser};
use super::words::RESERVED;
use crate::base::{Code, Diagnostic, Span};

/// Brackets and signs around one another; deeper text is refused before it fills the stack.
const MAX_NESTING: usize = 100;
/// Operations in one statement; a tree can be as deep as it has operations.
const MAX_OPERATIONS: usize = 500;

impl Parser {
    /// Expressions separated by commas up to the closing sign, which is consumed.
    fn list(&mut self, close: &'static str) -> Parsed<Vec<Expr>> {
        let mut out = Vec::new();
        if self.take_sign(close) {
            return Ok(out);
        }
        loop {
            out.push(self.expression()?);
            if self.take_sign(close) {
                return Ok(out);
            }
            if !self.take_sign(",") {
                return self.fail(&format!("`,` or `{close}`"), None);
            }
        }
    }

    fn expression(&mut self) -> Parsed<Expr> {
        self.binary(1)
    }

    /// Precedence climbing; `^` binds to the right, the others to the left.
    fn binary(&mut self, least: u8) -> Parsed<Expr> {
        let mut left = self.unary()?;
        while let Some(operator) = self.operator() {
            let precedence = operator.precedence();
            if precedence < least {
                break;
            }
            self.advance();
            let right = self.binary(if operator == Operator::Pow { precedence } else { precedence + 1 })?;
            let span = left.span.to(right.span);
            left = Expr { kind: ExprKind::Binary(operator, Box::new(left), Box::new(right)), span };
        }
        Ok(left)
    }

    fn operator(&self) -> Option<Operator> {
        let TokenKind::Sign(sign) = self.peek() else { return None };
        Some(match *sign {
            "+" => Operator::Add,
            "-" => Operator::Sub,
            "*" => Operator::Mul,
            "/" => Operator::Div,
            "^" => Operator::Pow,
            "@" => Operator::MatMul,
            _ => return None,
        })
    }

    /// A minus sign binds looser than `^` and tighter than `*`: `-x^2` is `-(x^2)`.
    fn unary(&mut self) -> Parsed<Expr> {
        let start = self.span();
        if self.take_sign("-") {
            let inner = self.binary(Operator::Pow.precedence())?;
            let span = start.to(inner.span);
            return Ok(match inner.kind {
                ExprKind::Number { value, integer } => Expr { kind: ExprKind::Number { value: -value, integer }, span },
                _ => Expr { kind: ExprKind::Negate(Box::new(inner)), span },
            });
        }
        self.postfix()
    }

    fn postfix(&mut self) -> Parsed<Expr> {
        let mut expr = self.primary()?;
        while self.is_sign("[") {
            self.advance();
            let mut indices = Vec::new();
            loop {
                let span = self.span();
                if self.take_sign(":") {
                    indices.push(Index::All(span));
                } else {
                    indices.push(Index::At(self.expression()?));
                }
                if self.take_sign("]") {
                    break;
                }
                if !self.take_sign(",") {
                    return self.fail("`,` or `]`", None);
                }
            }
            let span = expr.span.to(self.previous_span());
            expr = Expr { kind: ExprKind::Index(Box::new(expr), indices), span };
        }
        Ok(expr)
    }

    fn primary(&mut self) -> Parsed<Expr> {
        let span = self.span();
        match self.peek().clone() {
            TokenKind::Number { value, integer } => {
                self.advance();
                Ok(Expr { kind: ExprKind::Number { value, integer }, span })
            }
            TokenKind::Word(name) => {
                // `response(z)` is a function of the language although `response` starts a statement.
                let callable = name == "response";
                if RESERVED.contains(&name.as_str()) && !callable {
                    return self.fail("a value", Some("this word starts a statement; start it on a new line"));
                }
                self.advance();
                if self.take_sign("(") {
                    let arguments = self.list(")")?;
                    let whole = span.to(self.previous_span());
                    return Ok(Expr { kind: ExprKind::Call(Ident { name, span }, arguments), span: whole });
                }
                Ok(Expr { kind: ExprKind::Name(name), span })
            }
            TokenKind::Sign("(") => {
                self.advance();
                let mut inner = self.expression()?;
                self.expect(")")?;
                inner.span = span.to(self.previous_span());
                Ok(inner)
            }
            _ => self.fail("a value", None),
        }
    }
}
