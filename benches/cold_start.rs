//! Cold whole-process time of `msrm fit` on the bundled models, median of eleven runs, beside a process that does nothing.
//!
//! `cargo bench --bench cold_start`; the last lines are JSON, one a row.

use serde_json::json;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

const RUNS: usize = 11;

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = tempfile::tempdir().expect("a temporary folder");
    let rows = [
        ("eight_schools", "eight_schools.json", "NUTS 4 x (1000 + 1000)"),
        ("glm_logistic", "glm_logistic.json", "NUTS 4 x (1000 + 1000)"),
        ("r_msrm", "recording.csv", "alternating steps"),
        ("gp_msrm", "recording.csv", "mode, 4 starts"),
    ];
    let idle =
        median_seconds(|| Command::new(env!("CARGO_BIN_EXE_msrm")).arg("--version").stdout(Stdio::null()).status());
    let mut lines = vec![json!({ "bench": "cold_start", "row": "msrm --version", "value": idle * 1e3, "unit": "ms" })];
    for (model, data, what) in rows {
        let seconds = median_seconds(|| {
            Command::new(env!("CARGO_BIN_EXE_msrm"))
                .current_dir(folder.path())
                .args(["fit", "--quiet", "--force", "--data"])
                .arg(root.join("models/data").join(data))
                .arg(root.join(format!("models/{model}.msrm")))
                .stdout(Stdio::null())
                .status()
        });
        lines.push(json!({
            "bench": "cold_start", "row": format!("{model}, {what}"), "value": seconds * 1e3, "unit": "ms",
            "peer": "msrm --version", "ratio": seconds / idle,
        }));
    }
    for line in lines {
        println!("{line}");
    }
}

/// Median wall-clock seconds of a command. Exit codes other than a crash are results too.
fn median_seconds(run: impl Fn() -> std::io::Result<std::process::ExitStatus>) -> f64 {
    let mut seconds: Vec<f64> = (0..RUNS)
        .map(|_| {
            let begin = Instant::now();
            let status = run().expect("msrm runs");
            assert!(matches!(status.code(), Some(0 | 3)), "{status}");
            begin.elapsed().as_secs_f64()
        })
        .collect();
    seconds.sort_by(f64::total_cmp);
    seconds[RUNS / 2]
}
