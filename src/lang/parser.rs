//! Tokens to the syntax tree: recursive descent, one statement per line, all errors reported at once.

use super::ast::*;
use super::lexer::{Token, TokenKind, tokens};
use crate::base::{Code, Diagnostic, Source, Span, suggest};

/// The words that start a statement.
const KEYWORDS: [&str; 13] = [
    "data",
    "param",
    "let",
    "report",
    "observe",
    "minimize",
    "recording",
    "factors",
    "response",
    "latent",
    "loading",
    "offset",
    "noise",
];

/// Words that cannot name a quantity.
pub(crate) const RESERVED: [&str; 17] = [
    "model",
    "data",
    "param",
    "let",
    "report",
    "observe",
    "minimize",
    "recording",
    "factors",
    "response",
    "latent",
    "loading",
    "offset",
    "noise",
    "in",
    "on",
    "noncentered",
];

/// Parses a model file.
///
/// # Errors
/// Every syntax error of the text; after an error, parsing goes on at the next line.
pub fn parse(source: &Source) -> Result<Ast, Vec<Diagnostic>> {
    let (tokens, errors) = tokens(&source.text);
    let mut parser = Parser { tokens, at: 0, errors };
    let ast = parser.model();
    match ast {
        Some(ast) if parser.errors.is_empty() => Ok(ast),
        _ => Err(parser.errors),
    }
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
    errors: Vec<Diagnostic>,
}

/// The error is already in the list; the statement is given up.
struct Failed;
type Parsed<T> = Result<T, Failed>;

impl Parser {
    fn peek(&self) -> &TokenKind {
        &self.tokens[self.at].kind
    }

    fn span(&self) -> Span {
        self.tokens[self.at].span
    }

    fn previous_span(&self) -> Span {
        self.tokens[self.at.saturating_sub(1)].span
    }

    fn advance(&mut self) {
        if self.at + 1 < self.tokens.len() {
            self.at += 1;
        }
    }

    fn is_sign(&self, sign: &str) -> bool {
        matches!(self.peek(), TokenKind::Sign(s) if *s == sign)
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), TokenKind::Word(w) if w == word)
    }

    fn take_sign(&mut self, sign: &str) -> bool {
        let found = self.is_sign(sign);
        if found {
            self.advance();
        }
        found
    }

    fn take_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        if found {
            self.advance();
        }
        found
    }

    fn fail<T>(&mut self, expected: &str, help: Option<&str>) -> Parsed<T> {
        let found = self.peek().describe();
        let mut error =
            Diagnostic::error(Code::Syntax, self.span(), format!("unexpected {found}")).expected(expected).found(found);
        error.help = help.map(str::to_string);
        self.errors.push(error);
        Err(Failed)
    }

    fn expect(&mut self, sign: &'static str) -> Parsed<Span> {
        let span = self.span();
        if self.take_sign(sign) { Ok(span) } else { self.fail(&format!("`{sign}`"), None) }
    }

    fn ident(&mut self, what: &str) -> Parsed<Ident> {
        let span = self.span();
        match self.peek().clone() {
            TokenKind::Word(name) if RESERVED.contains(&name.as_str()) => {
                self.errors.push(
                    Diagnostic::error(Code::NameTaken, span, format!("`{name}` is a word of the language"))
                        .expected(what)
                        .help("choose another name"),
                );
                Err(Failed)
            }
            TokenKind::Word(name) => {
                self.advance();
                Ok(Ident { name, span })
            }
            _ => self.fail(what, None),
        }
    }

    fn skip_line(&mut self) {
        while !matches!(self.peek(), TokenKind::Newline | TokenKind::End) {
            self.advance();
        }
        self.skip_newlines();
    }

    fn skip_newlines(&mut self) {
        while *self.peek() == TokenKind::Newline {
            self.advance();
        }
    }

    fn model(&mut self) -> Option<Ast> {
        self.skip_newlines();
        let name = if self.take_word("model") {
            let name = self.ident("the name of the model").ok();
            if name.is_some() && *self.peek() != TokenKind::Newline {
                let _ = self.fail::<()>("the end of the line", Some("start the next statement on a new line"));
            }
            self.skip_line();
            name
        } else {
            let _ = self
                .fail::<()>("`model NAME`", Some("the first line names the model, for example `model eight_schools`"));
            None
        };
        let mut items = Vec::new();
        while *self.peek() != TokenKind::End {
            let start = self.span();
            match self.statement() {
                Ok(kind) => {
                    let span = start.to(self.previous_span());
                    if *self.peek() == TokenKind::Newline {
                        items.push(Item { span, kind });
                        self.skip_newlines();
                    } else {
                        let help = match self.peek() {
                            TokenKind::Sign(";") => Some("statements end with the line; drop the `;`"),
                            _ => Some("start the next statement on a new line"),
                        };
                        let _ = self.fail::<()>("the end of the line", help);
                        self.skip_line();
                    }
                }
                Err(Failed) => self.skip_line(),
            }
        }
        Some(Ast { name: name?, items })
    }

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
