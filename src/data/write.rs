//! Writes what the readers of this room read: named arrays as JSON, a recording as a long table.

use super::arrays::{Array, Arrays};
use super::recording::Recording;
use std::fmt::Write;

/// One JSON object with an entry per array; reading it gives the arrays back.
pub fn arrays_json(arrays: &Arrays) -> String {
    let entries: Vec<String> = arrays
        .iter()
        .map(|(name, array)| {
            let mut text = format!("  {}: ", serde_json::Value::from(name));
            nested(array, 0, 0, &mut text);
            text
        })
        .collect();
    if entries.is_empty() { "{}\n".into() } else { format!("{{\n{}\n}}\n", entries.join(",\n")) }
}

/// The part of an array below one position of the axes before `axis`, from element `first` on; the element behind it.
fn nested(array: &Array, axis: usize, first: usize, out: &mut String) -> usize {
    let Some(&size) = array.shape.get(axis) else {
        let value = array.values[first];
        // Whole numbers of a real array keep their point, so that they are read as real.
        let _ = if array.integer { write!(out, "{value:.0}") } else { write!(out, "{value:?}") };
        return first + 1;
    };
    let mut at = first;
    out.push('[');
    for i in 0..size {
        if i > 0 {
            out.push_str(", ");
        }
        at = nested(array, axis + 1, at, out);
    }
    out.push(']');
    at
}

/// The recording as `participant,run,modality,feature,time,value`; a missing entry has no value.
///
/// # Errors
/// Whatever the writer refuses; in memory that is nothing.
pub fn recording_csv(recording: &Recording) -> Result<String, csv::Error> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(["participant", "run", "modality", "feature", "time", "value"])?;
    for stream in &recording.streams {
        for (f, feature) in stream.features.iter().enumerate() {
            for (t, time) in stream.times.iter().enumerate() {
                let value = stream.value(t, f).map(|v| v.to_string()).unwrap_or_default();
                writer.write_record([
                    &recording.participants[stream.participant],
                    &recording.runs[stream.run],
                    &recording.modalities[stream.modality],
                    feature,
                    &time.to_string(),
                    &value,
                ])?;
            }
        }
    }
    let bytes = writer.into_inner().map_err(|e| csv::Error::from(e.into_error()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Options, Stream, load, parse_arrays};
    use std::path::Path;

    #[test]
    fn arrays_are_read_back_to_the_last_bit() {
        let array = |shape: &[usize], values: &[f64], integer| Array {
            shape: shape.to_vec(),
            values: values.to_vec(),
            integer,
        };
        let mut arrays = Arrays::default();
        for (name, array) in [
            ("N", array(&[], &[3.0], true)),
            ("a \"b\"", array(&[], &[1.0], false)),
            ("y", array(&[2, 3], &[0.1, -2.5e-300, 1e300, 0.1 + 0.2, -0.0, 7.0], false)),
            ("k", array(&[3], &[1.0, -2.0, 9_007_199_254_740_992.0], true)),
        ] {
            assert!(arrays.insert(name.into(), array).is_ok());
        }
        let text = arrays_json(&arrays);
        assert_eq!(parse_arrays(Path::new("a.json"), text.as_bytes()).expect(&text), arrays);
        assert_eq!(arrays_json(&Arrays::default()), "{}\n");
    }

    #[test]
    fn recordings_are_read_back_with_their_gaps() {
        let recording = Recording {
            participants: vec!["a, b".into(), "c".into()],
            runs: vec!["r".into()],
            modalities: vec!["eda".into()],
            streams: (0..2)
                .map(|participant| Stream {
                    participant,
                    run: 0,
                    modality: 0,
                    features: vec!["left".into(), "right".into()],
                    times: vec![0.0, 0.1, 0.30000000000000004],
                    values: vec![0.1, 2.0, f64::NAN, 1e-9, -1.5, f64::NAN],
                })
                .collect(),
        };
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("recording.csv");
        std::fs::write(&path, recording_csv(&recording).expect("a table")).expect("a file");
        let back = load(&path, &Options::default()).expect("a readable table").recording;
        assert_eq!(format!("{back:?}"), format!("{recording:?}"));
    }
}
