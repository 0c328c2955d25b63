//! Turns the text of a JSON object into the input of a plain model.

use msrm::bind::Input;
use msrm::data::parse_arrays;
use std::path::Path;

/// Named arrays from `json`.
pub fn arrays(json: &str) -> Input {
    match parse_arrays(Path::new("test.json"), json.as_bytes()) {
        Ok(arrays) => Input::Arrays(arrays),
        Err(error) => panic!("{error}\n{json}"),
    }
}
