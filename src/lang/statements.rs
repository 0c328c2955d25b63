//! The rules of statements: declarations, densities, and the parts of a shared-response model.

use super::ast::*;
use super::lexer::TokenKind;
use super::parser::{Parsed, Parser};
use super::words::{KEYWORDS, statement_elsewhere, type_elsewhere};
use crate::base::{Code, Diagnostic, suggest};

impl Parser {
    fn statement(&mut self) -> Parsed<ItemKind> {
        let word = match self.peek() {
            TokenKind::Word(w) => w.clone(),
            _ => {
                return self
                    .fail("a statement", Some(&format!("statements start with one of: {}", KEYWORDS.join(", "))));
            }
        };
        if !KEYWORDS.contains(&word.as_str()) {
            return self.tilde(&word);
        }
        self.advance();
        match word.as_str() {
            "data" => self.data(),
            "param" => self.param(),
            "let" | "report" => {
                let name = self.ident("a name")?;
                self.expect("=")?;
                let value = self.expression()?;
                Ok(if word == "let" { ItemKind::Let { name, value } } else { ItemKind::Report { name, value } })
            }
            "observe" => {
                let value = self.expression()?;
                self.expect("~")?;
                Ok(ItemKind::Observe { value, draw: self.draw()? })
            }
            "minimize" => Ok(ItemKind::Minimize { value: self.expression()? }),
            "recording" => {
                let name = self.ident("the name of the recording")?;
                Ok(ItemKind::Recording { name, standardized: self.take_word("standardized") })
            }
            "factors" => {
                let name = self.ident("a name for the number of factors, for example `factors K = 3`")?;
                self.expect("=")?;
                Ok(ItemKind::Factors { name, value: self.expression()? })
            }
            "response" => {
                let modality = self.ident("the name of a modality")?;
                self.expect("=")?;
                let family = self.ident("a response family, for example `identity()`")?;
                Ok(ItemKind::Response { modality, family, arguments: self.arguments()? })
            }
            "latent" => self.latent(),
            "loading" => self.weight(WeightRole::Loading),
            "offset" => self.weight(WeightRole::Offset),
            _ => self.weight(WeightRole::Noise),
        }
    }

    /// `theta ~ normal(0, 1)`, or a misspelt keyword.
    fn tilde(&mut self, word: &str) -> Parsed<ItemKind> {
        let next = self.tokens.get(self.at + 1).map(|t| t.kind.clone());
        if matches!(next, Some(TokenKind::Word(_))) {
            let help = suggest(word, KEYWORDS.iter().copied())
                .map_or(format!("statements start with one of: {}", KEYWORDS.join(", ")), |k| {
                    format!("did you mean `{k}`?")
                });
            return self.fail("a statement", Some(&help));
        }
        let value = self.expression()?;
        if self.is_sign("=") {
            return self.fail("`~`", Some("name an intermediate value with `let`, for example `let eta = X @ beta`"));
        }
        self.expect("~")?;
        Ok(ItemKind::Tilde { value, draw: self.draw()? })
    }

    fn data(&mut self) -> Parsed<ItemKind> {
        let name = self.ident("the name of the data")?;
        if !self.is_sign(":") {
            return self.fail("`:` and a type", Some("data are declared like `data y : real[N]` or `data N : int`"));
        }
        self.advance();
        let integer = if self.take_word("int") {
            true
        } else if self.take_word("real") {
            false
        } else {
            return self.fail("`int` or `real`", Some("for example `data y : real[N]`"));
        };
        let dims = self.dims()?;
        let bounds = self.bounds()?;
        Ok(ItemKind::Data { name, integer, dims, bounds })
    }

    fn param(&mut self) -> Parsed<ItemKind> {
        let name = self.ident("the name of the parameter")?;
        if self.is_sign(":") {
            return self
                .fail("`[`, bounds or `~`", Some("parameters are real: write `param theta[J]`, without a type"));
        }
        let dims = self.dims()?;
        let bounds = self.bounds()?;
        let prior = if self.take_sign("~") { Some(self.draw()?) } else { None };
        Ok(ItemKind::Param { name, dims, bounds, prior })
    }

    fn weight(&mut self, role: WeightRole) -> Parsed<ItemKind> {
        let name = self.ident(&format!("a name, for example `{} w`", role.keyword()))?;
        let prior = if self.take_sign("~") { Some(self.draw()?) } else { None };
        Ok(ItemKind::Weight { role, name, prior })
    }

    fn latent(&mut self) -> Parsed<ItemKind> {
        let name = self.ident("the name of the latent")?;
        if self.take_sign("~") {
            let family = self.ident("a process, for example `matern32(length_scale = ell)`")?;
            return Ok(ItemKind::LatentProcess { name, family, arguments: self.arguments()? });
        }
        if self.take_word("on") {
            if !self.take_word("grid") {
                return self.fail("`grid(STEP)`", Some("for example `latent z on grid(0.9)`"));
            }
            self.expect("(")?;
            let step = self.expression()?;
            self.expect(")")?;
            return Ok(ItemKind::LatentGrid { name, step });
        }
        self.fail("`~` and a process, or `on grid(STEP)`", Some("for example `latent z ~ matern32(length_scale = 3)`"))
    }

    fn dims(&mut self) -> Parsed<Vec<Expr>> {
        if !self.take_sign("[") {
            return Ok(Vec::new());
        }
        let dims = self.list("]")?;
        if dims.is_empty() {
            return self.fail("a size", Some("for example `[N]` or `[N, P]`"));
        }
        Ok(dims)
    }

    fn bounds(&mut self) -> Parsed<Option<Bounds>> {
        let start = self.span();
        let mut bounds = Bounds { lower: None, upper: None, span: start };
        if self.take_word("in") {
            let (lower, upper) = self.interval()?;
            bounds.lower = Some(Bound { value: lower, strict: false });
            bounds.upper = Some(Bound { value: upper, strict: false });
        } else {
            for _ in 0..2 {
                let (is_lower, strict) = match self.peek() {
                    TokenKind::Sign(">") => (true, true),
                    TokenKind::Sign(">=") => (true, false),
                    TokenKind::Sign("<") => (false, true),
                    TokenKind::Sign("<=") => (false, false),
                    _ => break,
                };
                self.advance();
                let bound = Some(Bound { value: self.expression()?, strict });
                let side = if is_lower { &mut bounds.lower } else { &mut bounds.upper };
                if side.is_some() {
                    return self.fail("one lower and one upper bound", Some("write `in [lo, hi]`"));
                }
                *side = bound;
            }
        }
        bounds.span = start.to(self.previous_span());
        Ok(if bounds.lower.is_some() || bounds.upper.is_some() { Some(bounds) } else { None })
    }

    fn interval(&mut self) -> Parsed<(Expr, Expr)> {
        if !self.is_sign("[") {
            return self.fail("`[lo, hi]`", Some("an interval is written `in [0, 1]`"));
        }
        self.advance();
        let lower = self.expression()?;
        self.expect(",")?;
        let upper = self.expression()?;
        self.expect("]")?;
        Ok((lower, upper))
    }

    fn draw(&mut self) -> Parsed<Draw> {
        let start = self.span();
        let family = self.ident("a distribution, for example `normal(0, 1)`")?;
        if !self.is_sign("(") {
            return self.fail("`(` and the arguments of the distribution", Some("for example `normal(0, 1)`"));
        }
        self.advance();
        let arguments = self.list(")")?;
        let truncation = if self.take_word("in") { Some(self.interval()?) } else { None };
        let noncentered = self.take_word("noncentered");
        Ok(Draw { family, arguments, truncation, noncentered, span: start.to(self.previous_span()) })
    }

    /// `(width = 1.0, lag ~ normal(2, 1) in [0, 5], 3)`
    fn arguments(&mut self) -> Parsed<Vec<Argument>> {
        self.expect("(")?;
        let mut out = Vec::new();
        if self.take_sign(")") {
            return Ok(out);
        }
        loop {
            out.push(self.argument()?);
            if self.take_sign(")") {
                return Ok(out);
            }
            if !self.take_sign(",") {
                return self.fail("`,` or `)`", None);
            }
        }
    }

    fn argument(&mut self) -> Parsed<Argument> {
        let start = self.span();
        let mut argument = Argument { name: None, value: None, prior: None, bounds: None, span: start };
        let named = matches!(self.peek(), TokenKind::Word(_))
            && self.tokens.get(self.at + 1).is_some_and(|t| match &t.kind {
                TokenKind::Sign(s) => ["=", "~", ">", "<", ">=", "<="].contains(s),
                TokenKind::Word(w) => w == "in",
                _ => false,
            });
        if named {
            argument.name = Some(self.ident("a parameter of the response")?);
            if self.take_sign("=") {
                argument.value = Some(self.expression()?);
            } else if self.take_sign("~") {
                argument.prior = Some(self.draw()?);
            } else {
                argument.bounds = self.bounds()?;
            }
        } else {
            argument.value = Some(self.expression()?);
        }
        argument.span = start.to(self.previous_span());
        Ok(argument)
    }
}
