//! Turns a model text and its input into a Plan, as a fit does.

use msrm::base::{Source, render};
use msrm::bind::{BindOptions, Input, Plan, bind};
use msrm::model::check_text;

/// The plan of `text` joined with `input`; a text or input that does not fit is a failure of the test.
pub fn plan(text: &str, input: Input) -> Plan {
    let source = Source::new("test.msrm", text);
    let model = match check_text(&source) {
        Ok(model) => model,
        Err(diagnostics) => panic!("{}\n{text}", render(&source, &diagnostics)),
    };
    match bind(model, source, input, BindOptions::default()) {
        Ok(plan) => plan,
        Err(error) => panic!("{error}\n{text}"),
    }
}
