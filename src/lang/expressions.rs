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
    pub fn list(&mut self, close: &'static str) -> Parsed<Vec<Expr>> {
        let mut out = Vec::new();
        if self.take_sign(close) {
            return Ok(out);
        }
        loop {
            out.push(self.condition()?);
            if self.take_sign(close) {
                return Ok(out);
            }
            if !self.take_sign(",") {
                let help = match self.peek() {
                    TokenKind::Sign("=") => {
                        "arguments are given by position, without their names, as in `normal(0, 1)`"
                    }
                    _ => "arguments and sizes are separated by commas",
                };
                return self.fail(&format!("`,` or `{close}`"), Some(help));
            }
        }
    }

    pub fn expression(&mut self) -> Parsed<Expr> {
        self.nested(|parser| parser.binary(1))
    }

    /// An expression, or a comparison of two.
    pub fn condition(&mut self) -> Parsed<Expr> {
        let left = self.expression()?;
        let operator = match self.peek() {
            TokenKind::Sign("<") => Operator::Less,
            TokenKind::Sign("<=") => Operator::LessEqual,
            TokenKind::Sign(">") => Operator::Greater,
            TokenKind::Sign(">=") => Operator::GreaterEqual,
            TokenKind::Sign("==") => Operator::Equal,
            TokenKind::Sign("!=") => Operator::NotEqual,
            _ => return Ok(left),
        };
        self.count_operation(self.span())?;
        self.advance();
        let right = self.expression()?;
        let span = left.span.to(right.span);
        Ok(Expr { kind: ExprKind::Binary(operator, Box::new(left), Box::new(right)), span })
    }

    /// The arguments of a call, up to and with the closing bracket: by position, or by name as in `axis = 1`.
    fn call_arguments(&mut self) -> Parsed<Vec<Expr>> {
        let mut out = Vec::new();
        if self.take_sign(")") {
            return Ok(out);
        }
        loop {
            let start = self.span();
            let named = matches!(self.peek(), TokenKind::Word(_)) && self.peek_second() == Some(&TokenKind::Sign("="));
            if named {
                let name = self.ident("the name of an argument")?;
                self.advance();
                let value = self.expression()?;
                let span = start.to(value.span);
                out.push(Expr { kind: ExprKind::Named(name, Box::new(value)), span });
            } else {
                out.push(self.condition()?);
            }
            if self.take_sign(")") {
                return Ok(out);
            }
            if !self.take_sign(",") {
                return self.fail("`,` or `)`", Some("arguments are separated by commas"));
            }
        }
    }

    /// Reads an inner part of an expression, unless brackets and signs already stand too deep around it.
    fn nested(&mut self, inner: impl FnOnce(&mut Self) -> Parsed<Expr>) -> Parsed<Expr> {
        if self.nesting == MAX_NESTING {
            return self.report(
                Diagnostic::error(Code::Syntax, self.span(), "this expression is nested too deeply")
                    .expected(format!("at most {MAX_NESTING} brackets and signs around one another"))
                    .help("name parts of it with `let`"),
            );
        }
        self.nesting += 1;
        let expr = inner(self);
        self.nesting -= 1;
        expr
    }

    /// Counts one operation at `span` towards the length of the statement.
    fn count_operation(&mut self, span: Span) -> Parsed<()> {
        self.operations += 1;
        if self.operations <= MAX_OPERATIONS {
            return Ok(());
        }
        self.report(
            Diagnostic::error(Code::Syntax, span, "this statement is too long")
                .expected(format!("at most {MAX_OPERATIONS} operations"))
                .help("name parts of it with `let`; a sum over data is `sum(...)`"),
        )
    }

    /// Precedence climbing; `^` binds to the right, the others to the left.
    fn binary(&mut self, least: u8) -> Parsed<Expr> {
        let mut left = self.unary()?;
        while let Some(operator) = self.operator() {
            let precedence = operator.precedence();
            if precedence < least {
                break;
            }
            self.count_operation(self.span())?;
            self.advance();
            let least = if operator == Operator::Pow { precedence } else { precedence + 1 };
            let right = self.nested(|parser| parser.binary(least))?;
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
            self.count_operation(start)?;
            let inner = self.nested(|parser| parser.binary(Operator::Pow.precedence()))?;
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
            self.count_operation(self.span())?;
            self.advance();
            let mut indices = Vec::new();
            loop {
                let span = self.span();
                indices.push(self.position(span)?);
                if self.take_sign("]") {
                    break;
                }
                if !self.take_sign(",") {
                    let help = "positions are separated by commas, as in `X[1, 2]`, `X[:, 2]` or `x[2:N]`";
                    return self.fail("`,` or `]`", Some(help));
                }
            }
            let span = expr.span.to(self.previous_span());
            expr = Expr { kind: ExprKind::Index(Box::new(expr), indices), span };
        }
        Ok(expr)
    }

    /// `i`, `:`, `2:N`, `:N` or `2:`
    fn position(&mut self, start: Span) -> Parsed<Index> {
        let lower = if self.is_sign(":") { None } else { Some(self.expression()?) };
        if !self.take_sign(":") {
            return match lower {
                Some(at) => Ok(Index::At(at)),
                None => self.fail("a position", None),
            };
        }
        let open = self.is_sign(",") || self.is_sign("]");
        let upper = if open { None } else { Some(self.expression()?) };
        let span = start.to(self.previous_span());
        Ok(if lower.is_none() && upper.is_none() { Index::All(span) } else { Index::Range(lower, upper, span) })
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
                    return self.fail("a value", Some("this is a word of the language and cannot be a name"));
                }
                self.advance();
                if self.take_sign("(") {
                    let arguments = self.call_arguments()?;
                    let whole = span.to(self.previous_span());
                    return Ok(Expr { kind: ExprKind::Call(Ident { name, span }, arguments), span: whole });
                }
                Ok(Expr { kind: ExprKind::Name(name), span })
            }
            TokenKind::Sign("(") => {
                self.advance();
                let mut inner = self.condition()?;
                self.expect(")", None)?;
                inner.span = span.to(self.previous_span());
                Ok(inner)
            }
            TokenKind::Sign("[") => {
                self.count_operation(span)?;
                self.advance();
                let elements = self.list("]")?;
                Ok(Expr { kind: ExprKind::Array(elements), span: span.to(self.previous_span()) })
            }
            _ => self.fail(
                "a value",
                Some("a value is a number, a name, a call such as `exp(a)`, or an expression in brackets"),
            ),
        }
    }
}
