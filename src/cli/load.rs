//! Reads models and data for the verbs.

use super::arguments::RecordingArguments;
use super::error::CliError;
use crate::archive::{InputFile, digest};
use crate::base::Source;
use crate::bind::{BindOptions, Input, Plan, bind};
use crate::data::{self, Duplicates, Edge, Recording, Repair, counted, load_arrays, parse_affinity};
use crate::model::{Model, check_text};
use std::path::Path;

/// A checked model with its text.
pub struct LoadedModel {
    pub source: Source,
    pub model: Model,
    pub input: InputFile,
}

/// A text file with the SHA-256 of its bytes.
pub fn source(path: &Path) -> Result<(Source, String), CliError> {
    let bytes = std::fs::read(path).map_err(|source| CliError::Read { path: path.to_path_buf(), source })?;
    let sha256 = digest(&bytes);
    Ok((text(path, bytes)?, sha256))
}

/// The bytes of `path` as a text.
pub fn text(path: &Path, bytes: Vec<u8>) -> Result<Source, CliError> {
    let text = String::from_utf8(bytes).map_err(|e| {
        let valid = &e.as_bytes()[..e.utf8_error().valid_up_to()];
        let line = valid.iter().filter(|b| **b == b'\n').count() + 1;
        let reason = format!("it is not UTF-8 text (line {line}); save it as UTF-8");
        let source = std::io::Error::new(std::io::ErrorKind::InvalidData, reason);
        CliError::Read { path: path.to_path_buf(), source }
    })?;
    Ok(Source::new(path.display().to_string(), text))
}

/// Reads and checks a model file.
pub fn model(path: &Path) -> Result<LoadedModel, CliError> {
    let (source, sha256) = source(path)?;
    match check_text(&source) {
        Ok(model) => {
            let input = InputFile { role: "model".into(), path: path.display().to_string(), sha256 };
            Ok(LoadedModel { source, model, input })
        }
        Err(diagnostics) => Err(CliError::Model { text: Box::new(source), diagnostics }),
    }
}

/// Reads the data that a model asks for.
pub fn input(
    model: &Model,
    path: Option<&Path>,
    options: &RecordingArguments,
) -> Result<(Input, Vec<InputFile>, Vec<String>), CliError> {
    let Some(path) = path else { return Ok((Input::None, Vec::new(), Vec::new())) };
    if model.shared.is_some() {
        let (recording, file, notes) = recording(path, options.duplicates.into())?;
        return Ok((Input::Recording(recording), vec![file], notes));
    }
    let (arrays, sha256) = load_arrays(path)?;
    let file = InputFile { role: "data".into(), path: path.display().to_string(), sha256 };
    Ok((Input::Arrays(arrays), vec![file], Vec::new()))
}

/// Reads a recording, with the notes on its repairs.
pub fn recording(path: &Path, duplicates: Duplicates) -> Result<(Recording, InputFile, Vec<String>), CliError> {
    let loaded = data::load(path, &data::Options { duplicates })?;
    let notes = repair_notes(&loaded.repairs, path);
    let input = InputFile { role: "data".into(), path: path.display().to_string(), sha256: loaded.digest };
    Ok((loaded.recording, input, notes))
}

/// Repairs in sentences; masks, which most recordings have in every stream, are counted in one.
fn repair_notes(repairs: &[Repair], path: &Path) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    let (mut entries, mut streams) = (0, 0);
    for repair in repairs {
        if let Repair::Masked { tokens, absent, .. } = repair {
            entries += tokens + absent;
            streams += 1;
        } else {
            notes.push(repair.to_string());
        }
    }
    if streams > 0 {
        let path = path.display();
        let (entries, streams) =
            (counted(entries, "missing entry", "missing entries"), counted(streams, "stream", "streams"));
        notes.push(format!("masked: {entries} in {streams}; `msrm data {path}` lists them"));
    }
    notes
}

/// Reads the affinities of participants, if there are any.
pub fn affinity(options: &RecordingArguments) -> Result<(Vec<Edge>, Option<InputFile>), CliError> {
    let Some(path) = &options.affinity else { return Ok((Vec::new(), None)) };
    let bytes = std::fs::read(path).map_err(|source| CliError::Read { path: path.clone(), source })?;
    let file = InputFile { role: "affinity".into(), path: path.display().to_string(), sha256: digest(&bytes) };
    Ok((parse_affinity(path, &bytes)?, Some(file)))
}

/// Joins a model file with data.
pub fn plan(
    model_path: &Path,
    data_path: Option<&Path>,
    options: &RecordingArguments,
) -> Result<(Plan, Vec<InputFile>), CliError> {
    let loaded = model(model_path)?;
    let (input, mut files, notes) = input(&loaded.model, data_path, options)?;
    files.insert(0, loaded.input);
    if loaded.model.shared.is_none() {
        let given = [("--affinity", options.affinity.is_some()), ("--modality", !options.modality.is_empty())];
        if let Some((option, _)) = given.into_iter().find(|g| g.1) {
            return Err(CliError::RecordingOption { option });
        }
    }
    let (affinity, file) = affinity(options)?;
    files.extend(file);
    let bind_options = BindOptions {
        modalities: options.modality.clone(),
        constants: options.constant.into(),
        duplicates: options.duplicates.into(),
        affinity,
    };
    let mut plan = bind(loaded.model, loaded.source, input, bind_options)?;
    plan.notes.splice(0..0, notes);
    Ok((plan, files))
}
