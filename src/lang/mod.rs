//! Text to tokens to an AST that mirrors the text; formatter.

pub mod ast;
mod blocks;
mod columns;
mod expressions;
mod format;
mod lexer;
mod parser;
mod statements;
mod tidy;
mod words;

pub use format::{format, format_expression};
pub use parser::{Partial, parse, parse_partly};
pub use tidy::tidy;
pub use words::DISCRETE;
