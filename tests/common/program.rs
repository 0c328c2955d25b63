//! Runs the program in a temporary folder and keeps how it ended, what it printed and which files it changed.

use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Path of a bundled model file.
pub fn model(name: &str) -> String {
    format!("{}/models/{name}.msrm", env!("CARGO_MANIFEST_DIR"))
}

/// Path of the data bundled for a model: arrays of its own, or the recording that the flagships share.
pub fn data(name: &str) -> String {
    let folder = format!("{}/models/data", env!("CARGO_MANIFEST_DIR"));
    let json = format!("{folder}/{name}.json");
    if Path::new(&json).exists() { json } else { format!("{folder}/recording.csv") }
}

/// A temporary folder that the program runs in.
pub struct Folder(tempfile::TempDir);

impl Folder {
    /// An empty folder.
    pub fn new() -> Folder {
        Folder(tempfile::tempdir().expect("a temporary folder"))
    }

    /// The path of `name` in this folder.
    pub fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file, with the folders it lies in, and gives its name back.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.at(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(path, content).expect("a file");
        name.to_string()
    }

    /// Runs the program here, with nothing on standard input and no terminal.
    pub fn run(&self, arguments: &[&str]) -> Run {
        let before = self.files();
        let output = Command::new(env!("CARGO_BIN_EXE_msrm"))
            .args(arguments)
            .current_dir(self.0.path())
            .stdin(std::process::Stdio::null())
            .output()
            .expect("the program starts");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8 output");
        Run {
            command: arguments.join(" "),
            code: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
            before,
            after: self.files(),
        }
    }

    /// Every file below the folder with its bytes, and every folder with none.
    fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        let mut folders = vec![self.0.path().to_path_buf()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).expect("a readable folder") {
                let path = entry.expect("an entry").path();
                if path.is_dir() {
                    found.insert(path.clone(), Vec::new());
                    folders.push(path);
                } else {
                    let bytes = fs::read(&path).expect("a readable file");
                    found.insert(path, bytes);
                }
            }
        }
        found
    }
}

/// One finished run.
pub struct Run {
    command: String,
    code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
    before: BTreeMap<PathBuf, Vec<u8>>,
    after: BTreeMap<PathBuf, Vec<u8>>,
}

impl Run {
    /// Asserts one of these exit codes.
    pub fn ended(self, codes: &[i32]) -> Run {
        let Run { command, code, stdout, stderr, .. } = &self;
        assert!(code.is_some_and(|c| codes.contains(&c)), "msrm {command} ended with {code:?}\n{stdout}\n{stderr}");
        self
    }

    /// The one JSON object on standard output.
    pub fn json(&self) -> Value {
        let value: Value = serde_json::from_str(&self.stdout)
            .unwrap_or_else(|e| panic!("msrm {}: {e}\n{}\n{}", self.command, self.stdout, self.stderr));
        assert!(value.is_object(), "msrm {}: {value}", self.command);
        value
    }

    /// Asserts a refusal of the input: exit code 2, a message on standard error alone that holds every one of `parts`,
    /// and a folder in which nothing was written, changed or removed.
    pub fn refused(self, parts: &[&str]) {
        let run = self.ended(&[2]);
        let command = &run.command;
        assert!(run.stdout.is_empty(), "msrm {command}: standard output says\n{}", run.stdout);
        for part in parts {
            assert!(run.stderr.contains(part), "msrm {command}: the message lacks `{part}`\n{}", run.stderr);
        }
        assert!(!run.stderr.contains("panicked"), "msrm {command}\n{}", run.stderr);
        // The keys name the files in the message; the bytes would fill the screen.
        assert!(run.before.keys().eq(run.after.keys()), "msrm {command}: {:?}", run.after.keys());
        assert!(run.before == run.after, "msrm {command} changed a file");
    }
}
