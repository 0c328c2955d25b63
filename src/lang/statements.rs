//! The rules of statements: declarations, densities, and the parts of a shared-response model.

use super::ast::*;
use super::lexer::TokenKind;
use super::parser::{Parsed, Parser};
use super::words::{DISCRETE, KEYWORDS, statement_elsewhere, type_elsewhere};
use crate::base::{Code, Diagnostic, Span, suggest};
use crate::math::constraint::Constraint;

impl Parser {
    pub fn statement(&mut self) -> Parsed<ItemKind> {
        let word = match self.peek() {
            TokenKind::Word(w) => w.clone(),
            TokenKind::Number { .. } | TokenKind::Sign("(") => return self.tilde(""),
            _ => {
                return self.fail("a statement", Some(&statement_list()));
            }
        };
        if !KEYWORDS.contains(&word.as_str()) {
            return self.tilde(&word);
        }
        self.advance();
        if self.is_sign("{") {
            return self.block(&word);
        }
        match word.as_str() {
            "data" => self.data(),
            "param" => self.param(),
            "let" | "report" => {
                let name = self.ident("a name")?;
                if word == "report" && (self.is_sign("[") || self.is_sign("~")) {
                    return self.report_draw(name);
                }
                let help = format!("for example `{word} ratio = a / b`; a parameter is declared with `param`");
                self.expect("=", Some(&help))?;
                let value = self.condition()?;
                Ok(if word == "let" { ItemKind::Let { name, value } } else { ItemKind::Report { name, value } })
            }
            "function" => self.function(),
            "scan" => self.scan(),
            "observe" => {
                let value = self.expression()?;
                self.expect("~", Some("for example `observe y ~ normal(mu, sigma)`"))?;
                Ok(ItemKind::Observe { value, draw: self.draw()? })
            }
            "log_density" => Ok(ItemKind::LogDensity { value: self.expression()? }),
            "minimize" => Ok(ItemKind::Minimize { value: self.expression()? }),
            "recording" => {
                let name = self.ident("the name of the recording")?;
                Ok(ItemKind::Recording { name, standardized: self.take_word("standardized") })
            }
            "factors" => {
                let name = self.ident("a name for the number of factors, for example `factors K = 3`")?;
                self.expect("=", Some("for example `factors K = 3`"))?;
                Ok(ItemKind::Factors { name, value: self.expression()? })
            }
            "response" => {
                let modality = self.ident("the name of a modality")?;
                self.expect("=", Some("for example `response rating = identity()`"))?;
                let family = self.ident("a response family, for example `identity()`")?;
                let arguments = self.arguments()?;
                let per_participant = match self.paths()? {
                    (Paths::PerComponent, span) => {
                        let text = "a response is shared by all, or one `per participant`";
                        return self.report(Diagnostic::error(Code::Syntax, span, text).help("drop `per component`"));
                    }
                    (paths, _) => paths == Paths::PerParticipant,
                };
                let weight = if self.take_word("weight") { Some(self.expression()?) } else { None };
                Ok(ItemKind::Response { modality, family, arguments, per_participant, weight })
            }
            "latent" => self.latent(),
            "loading" => self.weight(WeightRole::Loading),
            "offset" => self.weight(WeightRole::Offset),
            _ => self.weight(WeightRole::Noise),
        }
    }

    /// `theta ~ normal(0, 1)`, or something that was meant as another statement. `word` is the first one; empty where the
    /// statement starts with a number or a bracket.
    fn tilde(&mut self, word: &str) -> Parsed<ItemKind> {
        match self.peek_second() {
            // A number or a bracket: whatever follows, it is an expression.
            _ if word.is_empty() => {}
            Some(TokenKind::Word(_)) => return self.not_a_statement(word),
            Some(TokenKind::Sign("{")) => {
                self.advance();
                return self.block(word);
            }
            Some(TokenKind::Sign("<" | "(")) if statement_elsewhere(word).is_some() => {
                return self.not_a_statement(word);
            }
            _ => {}
        }
        let value = self.expression()?;
        let arrow = self.is_sign("<") && self.peek_second() == Some(&TokenKind::Sign("-"));
        if self.is_sign("=") || arrow {
            return self.fail("`~`", Some("name an intermediate value with `let`, for example `let eta = X @ beta`"));
        }
        let help = statement_elsewhere(word).unwrap_or("a density is written like `theta ~ normal(0, 1)`");
        self.expect("~", Some(help))?;
        Ok(ItemKind::Tilde { value, draw: self.draw()? })
    }

    /// The line starts with two words of which the first is none of the language.
    pub fn not_a_statement<T>(&mut self, word: &str) -> Parsed<T> {
        let error = Diagnostic::error(Code::Syntax, self.span(), format!("`{word}` does not start a statement"));
        let help = if word == "model" {
            "a file holds one model; put the other into a file of its own".to_string()
        } else if let Some(help) = statement_elsewhere(word) {
            help.to_string()
        } else if let Some(near) = suggest(word, KEYWORDS) {
            format!("did you mean `{near}`?")
        } else if matches!(self.peek_second(), Some(TokenKind::Word(_))) {
            statement_list()
        } else {
            "a density is written like `theta ~ normal(0, 1)`".to_string()
        };
        self.report(error.help(help))
    }

    /// `parameters { ... }`; the parser stands at the brace.
    fn block<T>(&mut self, word: &str) -> Parsed<T> {
        let help = match word {
            "data" => "declare each input on a line of its own, for example `data y : real[N]`",
            "parameters" | "param" => {
                "declare each parameter on a line of its own, for example `param mu ~ normal(0, 1)`"
            }
            "model" => "write densities without a block, for example `observe y ~ normal(mu, sigma)`",
            "transformed" => "name intermediate values with `let`, for example `let eta = X @ beta`",
            "generated" => "add values to the results with `report`, for example `report ratio = a / b`",
            _ => "write one statement a line, without braces",
        };
        self.report(Diagnostic::error(Code::Syntax, self.previous_span(), "a model has no blocks in braces").help(help))
    }

    /// What to do about the token behind a complete statement.
    pub fn trailing_help(&self) -> &'static str {
        match self.peek() {
            TokenKind::Sign(";") => "a statement ends with its line; drop the `;`",
            TokenKind::Sign("=") => "a distribution is written with `~`, a value is named with `let NAME = ...`",
            TokenKind::Sign("<" | "<=" | ">" | ">=") => {
                "bounds stand before `~`, as in `param tau > 0 ~ normal(0, 1)`; `in [0, inf]` after a distribution truncates it"
            }
            TokenKind::Sign("[") => "all sizes stand in one pair of brackets, as in `real[N, P]`",
            TokenKind::Sign("(") => "sizes stand in square brackets, as in `real[N]`",
            TokenKind::Word(w) if w == "T" => "a distribution is truncated like `normal(0, 1) in [0, inf]`",
            TokenKind::Word(w) if w == "noncentered" => {
                "`noncentered` stands at the end, as in `~ normal(mu, tau) noncentered`"
            }
            TokenKind::Word(w) if w == "in" => "bounds are given once; write `in [lo, hi]` alone",
            TokenKind::Word(_) if self.peek_second() == Some(&TokenKind::Sign("(")) => {
                "a distribution follows `~`, as in `~ normal(0, 1)`"
            }
            _ => "start the next statement on a new line",
        }
    }

    fn data(&mut self) -> Parsed<ItemKind> {
        let name = self.ident("the name of the data")?;
        let help = match self.peek() {
            TokenKind::Sign("[") => format!("the sizes stand after the type: `data {} : real[...]`", name.name),
            _ => format!("for example `data {0} : real[N]` or `data {0} : int`", name.name),
        };
        if !self.take_sign(":") {
            return self.fail("`:` and a type", Some(&help));
        }
        let integer = if self.take_word("int") {
            true
        } else if self.take_word("real") {
            false
        } else {
            let help = match self.peek() {
                TokenKind::Word(word) => type_elsewhere(word),
                _ => None,
            };
            return self.fail("`int` or `real`", Some(help.unwrap_or("for example `data y : real[N]`")));
        };
        let dims = self.dims()?;
        let bounds = self.bounds()?;
        Ok(ItemKind::Data { name, integer, dims, bounds })
    }

    /// `report y_rep[N] ~ normal(theta, sigma)`, behind the name.
    fn report_draw(&mut self, name: Ident) -> Parsed<ItemKind> {
        let dims = self.dims()?;
        self.expect("~", Some("values to draw are written like `report y_rep[N] ~ normal(mu, sigma)`"))?;
        Ok(ItemKind::ReportDraw { name, dims, draw: self.draw()? })
    }

    fn param(&mut self) -> Parsed<ItemKind> {
        let name = self.ident("the name of the parameter")?;
        let dims = self.dims()?;
        let constraint = self.constraint()?;
        let bounds = self.bounds()?;
        let prior = if self.take_sign("~") { Some(self.draw()?) } else { None };
        Ok(ItemKind::Param { name, dims, constraint, bounds, prior })
    }

    /// `: simplex` behind the sizes of a parameter.
    fn constraint(&mut self) -> Parsed<Option<(Constraint, Span)>> {
        if !self.is_sign(":") {
            return Ok(None);
        }
        let word = match self.peek_second() {
            Some(TokenKind::Word(word)) => word.clone(),
            _ => String::new(),
        };
        if let Some(constraint) = Constraint::find(&word) {
            self.advance();
            self.advance();
            return Ok(Some((constraint, self.previous_span())));
        }
        let all = Constraint::ALL.map(|c| format!("`: {}`", c.name())).join(", ");
        let near = suggest(&word, Constraint::ALL.iter().map(|c| c.name()));
        let help = match (word.as_str(), near) {
            ("int" | "integer" | "bool", _) => DISCRETE.to_string(),
            ("cholesky_factor_corr", _) => "did you mean `corr_cholesky`?".into(),
            (_, Some(near)) => format!("did you mean `{near}`?"),
            _ => "parameters are real numbers and have no type; sizes follow the name, as in `param theta[J]`".into(),
        };
        self.fail(&format!("`[`, bounds, `~`, or one of {all}"), Some(&help))
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
            let help = Some("the step in seconds stands in brackets, as in `latent z on grid(0.9)`");
            self.expect("(", help)?;
            let step = self.expression()?;
            self.expect(")", help)?;
            return Ok(ItemKind::LatentGrid { name, step, paths: self.paths()?.0 });
        }
        self.fail("`~` and a process, or `on grid(STEP)`", Some("for example `latent z ~ matern32(length_scale = 3)`"))
    }

    fn dims(&mut self) -> Parsed<Vec<Expr>> {
        if !self.take_sign("[") {
            return Ok(Vec::new());
        }
        if self.is_sign("]") {
            return self.fail("a size", Some("for example `[N]` or `[N, P]`"));
        }
        self.list("]")
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
                if self.is_word("lower") || self.is_word("upper") {
                    return self
                        .fail("a number", Some("bounds are written like `param sigma > 0` or `param p in [0, 1]`"));
                }
                let value = self.expression()?;
                let side = if is_lower { &mut bounds.lower } else { &mut bounds.upper };
                if side.is_some() {
                    let which = if is_lower { "lower" } else { "upper" };
                    return self.report(
                        Diagnostic::error(Code::Bounds, value.span, format!("this is a second {which} bound"))
                            .expected("at most one lower and one upper bound")
                            .help("for example `> 0 < 1`, or `in [0, 1]` with its ends"),
                    );
                }
                *side = Some(Bound { value, strict });
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
        let help = Some("an interval has two ends, as in `in [0, 1]`; an open end is `inf` or `-inf`");
        self.expect(",", help)?;
        let upper = self.expression()?;
        self.expect("]", help)?;
        Ok((lower, upper))
    }

    fn draw(&mut self) -> Parsed<Draw> {
        let start = self.span();
        let family = self.ident("a distribution, for example `normal(0, 1)`")?;
        if !self.take_sign("(") {
            let text = format!("the arguments of `{}` in round brackets", family.name);
            return self.fail(&text, Some("for example `normal(0, 1)`"));
        }
        let arguments = self.list(")")?;
        let truncation = if self.take_word("in") { Some(self.interval()?) } else { None };
        let censoring = self.censoring()?;
        let noncentered = self.take_word("noncentered");
        Ok(Draw { family, arguments, truncation, censoring, noncentered, span: start.to(self.previous_span()) })
    }

    /// `censored above where lost` behind a distribution.
    fn censoring(&mut self) -> Parsed<Option<Box<Censoring>>> {
        if !self.take_word("censored") {
            return Ok(None);
        }
        let help = Some("for example `censored above where lost`: the true value is larger where `lost` is 1");
        let above = self.take_word("above");
        if !above && !self.take_word("below") {
            return self.fail("`above` or `below`", help);
        }
        if !self.take_word("where") {
            return self.fail("`where` and a column of 0 and 1", help);
        }
        Ok(Some(Box::new(Censoring { above, marks: self.expression()? })))
    }

    /// `(width = 1.0, lag ~ normal(2, 1) in [0, 5], 3)`
    fn arguments(&mut self) -> Parsed<Vec<Argument>> {
        self.expect("(", Some("brackets stand behind the name even with nothing in them, as in `identity()`"))?;
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
                return self.fail("`,` or `)`", Some("arguments are separated by commas"));
            }
        }
    }

    /// `per participant` or `per component` behind a declaration, and where it stands.
    fn paths(&mut self) -> Parsed<(Paths, Span)> {
        let start = self.span();
        let paths = if !self.take_word("per") {
            Paths::Shared
        } else if self.take_word("participant") {
            Paths::PerParticipant
        } else if self.take_word("component") {
            Paths::PerComponent
        } else {
            return self
                .fail("`participant` or `component`", Some("for example `latent z on grid(0.9) per participant`"));
        };
        Ok((paths, start.to(self.previous_span())))
    }

    fn argument(&mut self) -> Parsed<Argument> {
        let start = self.span();
        let mut argument = Argument { name: None, value: None, prior: None, bounds: None, span: start };
        let named = matches!(self.peek(), TokenKind::Word(_))
            && self.peek_second().is_some_and(|kind| match kind {
                TokenKind::Sign(s) => ["=", "~", ">", "<", ">=", "<="].contains(s),
                TokenKind::Word(w) => w == "in",
                _ => false,
            });
        if named {
            argument.name = Some(self.ident("a parameter of the response")?);
            if self.take_sign("=") {
                argument.value = Some(self.expression()?);
            }
            if self.take_sign("~") {
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

fn statement_list() -> String {
    format!("statements start with one of: {}", KEYWORDS.join(", "))
}
