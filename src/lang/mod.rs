//! Text to tokens to an AST that mirrors the text; formatter.

pub mod ast;
mod blocks;
mod expressions;
mod format;
mod lexer;
mod parser;
mod statements;
mod words;

pub use format::{format, format_expression};
pub use parser::parse;
pub use words::DISCRETE;
