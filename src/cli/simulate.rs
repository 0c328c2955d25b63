//! `msrm simulate`

use super::arguments::SimulateArguments;
use super::error::{CliError, Exit};
use super::{load, print};
use crate::data::{Arrays, arrays_json, load_arrays, recording_csv};
use crate::report::latent_csv;
use crate::run::{Design, RecordingSimulator, SimulateError, Simulator};
use std::fs;
use std::path::{Path, PathBuf};

/// The files of one draw: names and texts.
type Files = Vec<(&'static str, String)>;

/// Draws parameters and data, and writes a folder per draw.
pub fn run(arguments: &SimulateArguments) -> Result<Exit, CliError> {
    if arguments.draws == 0 {
        return Err(CliError::Setting { name: "--draws", range: "at least 1", value: "0".into() });
    }
    let loaded = load::model(&arguments.model)?;
    let out = arguments.out.clone().unwrap_or_else(|| PathBuf::from(format!("{}-data", loaded.model.name)));
    if out.symlink_metadata().is_ok() {
        return Err(CliError::OutExists { path: out });
    }
    let make: Box<dyn Fn(u64) -> Result<Files, CliError>> = if loaded.model.shared.is_some() {
        if arguments.data.is_some() {
            return Err(CliError::Design("this model draws a recording: give --design in place of --data".into()));
        }
        let Some(path) = &arguments.design else {
            let help = "a recording is drawn from a design: give --design with a JSON file of participants and streams";
            return Err(CliError::Design(help.into()));
        };
        let simulator = RecordingSimulator::new(loaded.model, loaded.source, design(path)?)?;
        Box::new(move |index| {
            let drawn = simulator.draw(arguments.seed, index)?;
            let table = recording_csv(&drawn.recording).map_err(|e| CliError::Output(e.into()))?;
            let truth = arrays_json(&drawn.truth);
            Ok(vec![("recording.csv", table), ("truth.json", truth), ("latent.csv", latent_csv(&drawn.latent))])
        })
    } else {
        if arguments.design.is_some() {
            return Err(CliError::Design("only a model with a `recording` takes a design; give --data".into()));
        }
        let given = arguments.data.as_ref().map(|p| load_arrays(p)).transpose()?.map_or(Arrays::default(), |(a, _)| a);
        let simulator = Simulator::new(loaded.model, loaded.source, given)?;
        Box::new(move |index| {
            let drawn = simulator.draw(arguments.seed, index)?;
            Ok(vec![("data.json", arrays_json(&drawn.data)), ("truth.json", arrays_json(&drawn.truth))])
        })
    };
    write(&out, arguments.draws, &*make)?;
    print(&format!("written to {}\n", out.display()))?;
    Ok(Exit::Fine)
}

fn design(path: &Path) -> Result<Design, CliError> {
    let text = fs::read_to_string(path).map_err(|source| CliError::Read { path: path.to_path_buf(), source })?;
    serde_json::from_str(&text).map_err(|e| CliError::Design(format!("{} is no design: {e}", path.display())))
}

/// Writes all draws into a folder that appears whole: the files themselves of one draw, or numbered folders of them.
fn write(out: &Path, draws: u64, make: &dyn Fn(u64) -> Result<Files, CliError>) -> Result<(), CliError> {
    let parent = out.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !parent.is_dir() {
        return Err(CliError::Archive(crate::archive::ArchiveError::NoParent { path: parent.to_path_buf() }));
    }
    let staging = tempfile::Builder::new().prefix(".msrm-data-").tempdir_in(parent).map_err(CliError::Output)?;
    let whole = staging.path().join("draws");
    let width = draws.to_string().len();
    for index in 0..draws {
        let folder = if draws == 1 { whole.clone() } else { whole.join(format!("{:0width$}", index + 1)) };
        fs::create_dir_all(&folder).map_err(CliError::Output)?;
        for (name, text) in make(index)? {
            fs::write(folder.join(name), text).map_err(CliError::Output)?;
        }
    }
    fs::rename(&whole, out).map_err(CliError::Output)
}

impl From<SimulateError> for CliError {
    fn from(error: SimulateError) -> CliError {
        match error {
            SimulateError::Form { text, diagnostics } => CliError::Model { text, diagnostics },
            SimulateError::Bind(error) => CliError::Bind(error),
            other => CliError::Simulate(other),
        }
    }
}
