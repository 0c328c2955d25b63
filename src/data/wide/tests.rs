//! Folders of wide tables: file names, headers, and the same rules as for long tables.

use super::super::load::{Loaded, Options, load};
use super::*;
use std::fs;
use tempfile::TempDir;

fn folder(files: &[(&str, &str)]) -> TempDir {
    let dir = tempfile::tempdir().expect("a temporary folder");
    for (name, text) in files {
        fs::write(dir.path().join(name), text).expect("a file");
    }
    dir
}

fn read_files(files: &[(&str, &str)], duplicates: Duplicates) -> Result<Loaded, DataError> {
    load(folder(files).path(), &Options { duplicates })
}

fn refusal(files: &[(&str, &str)]) -> DataError {
    read_files(files, Duplicates::Refuse).expect_err("bad files")
}

#[test]
fn a_folder_of_wide_tables_is_a_recording() {
    let loaded = read_files(
        &[
            ("sub-02_run-01_bold.tsv", "onset\tV1\tV2\n0\t1\t2\n2\tn/a\t4\n"),
            ("sub-01_film_eda.csv", "time,scl\n-0.5,7\n0,8\n"),
        ],
        Duplicates::Refuse,
    )
    .expect("good files");
    let recording = &loaded.recording;
    assert_eq!(recording.participants, ["sub-01", "sub-02"]);
    assert_eq!(recording.runs, ["film", "run-01"]);
    assert_eq!(recording.modalities, ["eda", "bold"]);
    let eda = &recording.streams[0];
    assert_eq!(
        (&eda.features[..], &eda.times[..], &eda.values[..]),
        (&["scl".to_string()][..], &[-0.5, 0.0][..], &[7.0, 8.0][..])
    );
    let bold = &recording.streams[1];
    assert_eq!(bold.features, ["V1", "V2"]);
    assert_eq!(bold.times, [0.0, 2.0]);
    assert_eq!(
        [bold.value(0, 0), bold.value(0, 1), bold.value(1, 0), bold.value(1, 1)],
        [Some(1.0), Some(2.0), None, Some(4.0)]
    );
    let [Repair::Masked { tokens: 1, absent: 0, .. }] = loaded.repairs[..] else { panic!("{:?}", loaded.repairs) };
}

#[test]
fn wide_and_long_tables_of_the_same_data_agree() {
    let wide = read_files(
        &[("a_r1_eda.csv", "time,x,y\n0,1,\n0.1,3,4\n"), ("b_r1_eda.csv", "time,z\n5,6\n")],
        Duplicates::Refuse,
    )
    .expect("wide");
    let long = "participant,run,modality,feature,time,value\n\
                a,r1,eda,x,0,1\na,r1,eda,x,0.1,3\na,r1,eda,y,0.1,4\nb,r1,eda,z,5,6\n";
    let dir = folder(&[("study.csv", long)]);
    let long = load(&dir.path().join("study.csv"), &Options::default()).expect("long");
    // Missing entries are NaN, which no comparison calls equal; the debug form shows them.
    assert_eq!(format!("{:?}", wide.recording), format!("{:?}", long.recording));
}

#[test]
fn a_table_without_times_is_refused_with_the_line_to_add() {
    let error = refusal(&[("a_r_eda.csv", "x,y\n1,2\n")]);
    assert!(
        matches!(&error, DataError::NoTime { found, header, .. } if found == "x" && header == "time,x,y"),
        "{error}"
    );
    let bare = refusal(&[("a_r_eda.tsv", "0.5\t-1\n0.6\t1\n")]);
    assert!(matches!(&bare, DataError::NoTime { header, .. } if header == "time\tfeature_1\tfeature_2"), "{bare}");
    assert!(bare.to_string().contains("No sampling rate is ever assumed"), "{bare}");
    let late = refusal(&[("a_r_eda.csv", "x,time\n1,2\n")]);
    assert!(matches!(&late, DataError::NoTime { header, .. } if header == "time,x"), "{late}");
}

#[test]
fn headers_must_name_every_feature_once() {
    let error = refusal(&[("a_r_eda.csv", "time,x,,x\n1,2,3,4\n")]);
    assert!(
        matches!(&error, DataError::Header { unnamed, repeated, .. } if unnamed == &[3] && repeated == &["x"]),
        "{error}"
    );
    assert!(matches!(refusal(&[("a_r_eda.csv", "time\n1\n")]), DataError::NoFeatures { .. }));
    assert!(matches!(refusal(&[("a_r_eda.csv", "time,x\n")]), DataError::Empty { .. }));
}

#[test]
fn bad_entries_are_listed_with_feature_and_line() {
    let error = refusal(&[("a_r_eda.csv", "time,x,y\n0,1,oops\nNaN,1,1\n2,inf,1\n3,1\n")]);
    let DataError::Rows { rows, .. } = &error else { panic!("{error}") };
    let found: Vec<(u64, Option<&str>, &Fault)> =
        rows.first.iter().map(|r| (r.line, r.feature.as_deref(), &r.fault)).collect();
    let expected = [
        (2, Some("y"), &Fault::ValueUnreadable),
        (3, None, &Fault::TimeMissing),
        (4, Some("x"), &Fault::ValueInfinite),
        (5, None, &Fault::FieldCount { expected: 3, found: 2 }),
    ];
    assert_eq!(found, expected);
    assert!(error.to_string().contains("line 2 (a, r, eda, y): `oops`"), "{error}");
}

#[test]
fn repeated_times_are_one_finding_per_row() {
    let files = [("a_r_eda.csv", "time,x,y\n1,1,2\n0,3,4\n1,5,n/a\n")];
    let error = refusal(&files);
    let DataError::Duplicated { repeats, .. } = &error else { panic!("{error}") };
    assert_eq!((repeats.count, &repeats.first[0].lines[..], repeats.first[0].features.len()), (1, &[2, 4][..], 2));
    let loaded = read_files(&files, Duplicates::Average).expect("averaged");
    assert_eq!(loaded.recording.streams[0].values, [3.0, 4.0, 3.0, 2.0]);
    let [Repair::Sorted { lines: sorted, .. }, Repair::Averaged { entries: 2, lines, .. }] = &loaded.repairs[..] else {
        panic!("{:?}", loaded.repairs)
    };
    assert_eq!((&sorted.first[..], &lines.first[..]), (&[3][..], &[2, 4][..]));
}

#[test]
fn columns_follow_the_feature_order_of_the_first_run() {
    let files = [("a_r1_eda.csv", "time,x,y\n0,1,2\n"), ("a_r2_eda.csv", "time,y,x\n0,3,4\n")];
    let loaded = read_files(&files, Duplicates::Refuse).expect("good files");
    assert_eq!(loaded.recording.streams[1].features, ["x", "y"]);
    assert_eq!(loaded.recording.streams[1].values, [4.0, 3.0]);
    let error = refusal(&[
        ("a_r1_eda.csv", "time,x,y\n0,1,2\n"),
        ("a_r2_eda.csv", "time,x\n0,3\n"),
        ("a_r3_eda.csv", "time,x,y,z\n0,3,1,1\n"),
    ]);
    let DataError::Features { mismatches, .. } = &error else { panic!("{error}") };
    assert_eq!(mismatches.count, 2);
    assert_eq!(
        (&mismatches.first[0].only_first[..], &mismatches.first[1].only_second[..]),
        (&["y".to_string()][..], &["z".to_string()][..])
    );
    assert_eq!(mismatches.first[1].runs, ["r1", "r3"]);
}

#[test]
fn file_names_that_say_no_stream_are_all_listed() {
    let table = "time,x\n0,1\n";
    let error = refusal(&[("eda.csv", table), ("a_r_eda.csv", table), ("a_b_c_d.tsv", table)]);
    let DataError::FileNames { names, .. } = &error else { panic!("{error}") };
    let listed: Vec<&str> = names.first.iter().map(|n| n.name.as_str()).collect();
    assert_eq!(listed, ["a_b_c_d.tsv", "eda.csv"]);
    assert!(error.to_string().contains("participant_run_modality.csv"), "{error}");
}

#[test]
fn one_stream_in_two_files_is_refused() {
    let error = refusal(&[("a_r_eda.csv", "time,x\n0,1\n"), ("a_r_eda.tsv", "time\tx\n0\t1\n")]);
    assert!(matches!(error, DataError::SameStream { .. }), "{error}");
}

#[test]
fn other_files_and_absent_runs_are_reported() {
    let files = [("sub-01_bold.csv", "time,x\n0,1\n"), ("notes.txt", "hello")];
    let loaded = read_files(&files, Duplicates::Refuse).expect("good files");
    let kinds: Vec<bool> = loaded.repairs.iter().map(|r| matches!(r, Repair::Skipped { .. })).collect();
    assert_eq!(kinds, [true, false]);
    assert!(matches!(&loaded.repairs[1], Repair::RunNamed { run, .. } if run == "run-01"));
    assert_eq!(loaded.recording.runs, ["run-01"]);
    assert!(matches!(refusal(&[("notes.txt", "hello")]), DataError::NoTables { .. }));
}
