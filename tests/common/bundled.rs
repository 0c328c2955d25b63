//! The model files of `models/`, each joined with the data that comes with it.

use super::plan::plan;
use msrm::bind::{Input, Plan};
use msrm::data::{Options, load, load_arrays};
use std::fs;
use std::path::PathBuf;

/// Name and plan of every model file, by name.
pub fn plans() -> Vec<(String, Plan)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("models");
    let mut files: Vec<PathBuf> = fs::read_dir(&folder)
        .expect("the folder models/")
        .map(|entry| entry.expect("an entry of models/").path())
        .filter(|path| path.extension().is_some_and(|e| e == "msrm"))
        .collect();
    files.sort();
    // Twenty-one come with the engine; a reader that finds none would make every test over them pass.
    assert!(files.len() >= 21, "only {} model files in {}", files.len(), folder.display());
    files
        .iter()
        .map(|file| {
            let name = file.file_stem().expect("a file name").to_string_lossy().into_owned();
            let text = fs::read_to_string(file).expect("a readable model file");
            let json = folder.join("data").join(format!("{name}.json"));
            let input = if json.exists() {
                Input::Arrays(load_arrays(&json).expect("readable data").0)
            } else {
                let csv = folder.join("data").join("recording.csv");
                Input::Recording(load(&csv, &Options::default()).expect("a readable recording").recording)
            };
            (name, plan(&text, input))
        })
        .collect()
}
