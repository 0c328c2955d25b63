//! `msrm <verb>`: reads the command line, calls the rooms, and maps every error to an exit code in one place.

mod answer;
mod arguments;
mod calibrate;
mod check;
mod data;
mod error;
mod eval;
mod evaluate;
mod fit;
mod fmt;
mod infer;
mod load;
mod predict;
mod questions;
mod simulate;
mod summary;

use arguments::{Cli, Verb};
use clap::Parser;
use error::{CliError, Exit};
use std::process::ExitCode;

/// Runs the program on the arguments of the process.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let result = match &cli.verb {
        Verb::Check(arguments) => check::run(arguments),
        Verb::Data(arguments) => data::run(arguments),
        Verb::Fit(arguments) => fit::run(arguments),
        Verb::Summary(arguments) => summary::run(arguments),
        Verb::Infer(arguments) => infer::run(arguments),
        Verb::Predict(arguments) => predict::run(arguments),
        Verb::Calibrate(arguments) => calibrate::run(arguments),
        Verb::Evaluate(arguments) => evaluate::run(arguments),
        Verb::Eval(arguments) => eval::run(arguments),
        Verb::Fmt(arguments) => fmt::run(arguments),
        Verb::Simulate(arguments) => simulate::run(arguments),
    };
    match result {
        Ok(exit) => exit.code(),
        // The reader of a pipe went away: nobody is left to tell.
        Err(CliError::Output(e)) if e.kind() == std::io::ErrorKind::BrokenPipe => Exit::Fine.code(),
        Err(error) => {
            eprintln!("{}", error.message());
            error.exit().code()
        }
    }
}

/// Writes to standard output without the panic of `println!` when the reader has gone.
fn print(text: &str) -> Result<(), CliError> {
    use std::io::Write;
    std::io::stdout().write_all(text.as_bytes()).map_err(CliError::Output)
}

/// Prints one JSON object.
fn print_json(value: &serde_json::Value) -> Result<(), CliError> {
    print(&format!("{value:#}\n"))
}
