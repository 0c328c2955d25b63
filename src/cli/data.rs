//! `msrm data`

use super::arguments::DataArguments;
use super::error::{CliError, Exit};
use super::{print, print_json};
use crate::data::{self, Duplicates, Options, inspect, load_arrays};
use serde_json::json;

/// Shows what a file or folder of data holds.
pub fn run(arguments: &DataArguments) -> Result<Exit, CliError> {
    if arguments.file.extension().is_some_and(|e| e == "json") {
        let (arrays, sha256) = load_arrays(&arguments.file)?;
        if arguments.json {
            let list: Vec<_> = arrays
                .iter()
                .map(|(name, a)| json!({ "name": name, "shape": a.shape, "integer": a.integer }))
                .collect();
            print_json(&json!({ "arrays": list, "sha256": sha256 }))?;
        } else {
            for (name, array) in arrays.iter() {
                let kind = if array.integer { "int" } else { "real" };
                let shape = if array.shape.is_empty() { String::new() } else { format!("{:?}", array.shape) };
                print(&format!("{name} : {kind}{shape}\n"))?;
            }
        }
        return Ok(Exit::Fine);
    }
    // Duplicates are shown here, not refused.
    let loaded = data::load(&arguments.file, &Options { duplicates: Duplicates::Average })?;
    let inspection = inspect(&loaded);
    if arguments.json {
        print_json(&json!(inspection))?;
    } else {
        print(&inspection.to_string())?;
    }
    Ok(Exit::Fine)
}
