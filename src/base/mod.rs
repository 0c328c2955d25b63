//! Spans, diagnostics with codes and their rendering; knows nothing of models.

mod diagnostic;
mod span;

pub use diagnostic::{Code, Diagnostic, Severity, render, suggest};
pub use span::{Source, Span};
