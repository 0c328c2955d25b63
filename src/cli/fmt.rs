//! `msrm fmt`

use super::arguments::FmtArguments;
use super::error::{CliError, Exit};
use super::{load, print};
use crate::base::Source;
use crate::lang::tidy;
use std::io::{Read, Write};
use std::path::Path;

/// The name under which standard input is read.
const STANDARD_INPUT: &str = "-";

/// Brings model files into their tidy form; with `--check` only says which are not.
pub fn run(arguments: &FmtArguments) -> Result<Exit, CliError> {
    let mut exit = Exit::Fine;
    for path in &arguments.files {
        // One broken file does not keep the others from being tidied.
        match one(path, arguments.check) {
            Ok(true) => {}
            Ok(false) => exit = Exit::BadInput,
            Err(error) if error.exit() == Exit::BadInput => {
                eprintln!("{}", error.message());
                exit = Exit::BadInput;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(exit)
}

/// Whether the file passes: it is tidy now, or was.
fn one(path: &Path, check: bool) -> Result<bool, CliError> {
    let input = path.as_os_str() == STANDARD_INPUT;
    let source = if input { standard_input()? } else { load::source(path)?.0 };
    let text = tidy(&source).map_err(|diagnostics| CliError::Model { text: Box::new(source.clone()), diagnostics })?;
    let same = text == source.text;
    if check {
        if !same {
            print(&format!("{} is not tidy; `msrm fmt` changes it\n", source.name))?;
        }
        return Ok(same);
    }
    if input {
        print(&text)?;
    } else if !same {
        replace(path, &text)?;
        print(&format!("tidied {}\n", source.name))?;
    }
    Ok(true)
}

fn standard_input() -> Result<Source, CliError> {
    let mut bytes = Vec::new();
    let read = std::io::stdin().read_to_end(&mut bytes);
    let path = Path::new("standard input");
    read.map_err(|source| CliError::Read { path: path.to_path_buf(), source })?;
    load::text(path, bytes)
}

/// Writes the file anew; it is the old or the new one at any time, with the old one's permissions.
fn replace(path: &Path, text: &str) -> Result<(), CliError> {
    // A link stays a link: the file it leads to is replaced.
    let target = std::fs::canonicalize(path).map_err(CliError::Output)?;
    let folder = target.parent().unwrap_or(Path::new("."));
    let permissions = std::fs::metadata(&target).map_err(CliError::Output)?.permissions();
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(CliError::Output)?;
    file.write_all(text.as_bytes()).map_err(CliError::Output)?;
    std::fs::set_permissions(file.path(), permissions).map_err(CliError::Output)?;
    file.persist(&target).map(drop).map_err(|e| CliError::Output(e.error))
}
