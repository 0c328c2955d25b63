//! Text to tokens to an AST that mirrors the text; formatter.

pub mod ast;
mod format;
mod lexer;
mod parser;

pub use format::{format, format_expression};
pub use parser::parse;
