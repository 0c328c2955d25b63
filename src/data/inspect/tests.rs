//! What an inspection says of constants, gaps, duplicates and people.

use super::*;
use crate::data::{Duplicates, Options, load};

/// Inspects rows of a long table.
fn look(rows: &str) -> Inspection {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let path = dir.path().join("study.csv");
    std::fs::write(&path, format!("participant,run,modality,feature,time,value\n{rows}")).expect("a file");
    inspect(&load(&path, &Options { duplicates: Duplicates::Average }).expect("good rows"))
}

fn notes(inspection: &Inspection) -> Vec<&str> {
    inspection.streams.iter().flat_map(|s| s.notes.iter().map(String::as_str)).collect()
}

#[test]
fn clocks_gaps_and_missing_entries_are_measured() {
    // Intervals 0.5, 0.5, 0.5, 1.0 (twice the median: no gap), 1.5, 4.0.
    let times = [-1.0, -0.5, 0.0, 0.5, 1.5, 3.0, 7.0];
    let body: String = times.iter().map(|t| format!("a,r,eda,x,{t},{}\n", t * t)).collect();
    let inspection = look(&(body + "a,r,eda,y,0,n/a\na,r,eda,y,7,1\na,r,eda,y,3,2\n"));
    let s = &inspection.streams[0];
    assert_eq!((s.features, s.rows, s.start, s.end), (2, 7, -1.0, 7.0));
    // Sorted intervals: 0.5 0.5 0.5 1 1.5 4; the middle ones are 0.5 and 1.
    assert_eq!((s.median_interval, s.rate), (Some(0.75), Some(1.0 / 0.75)));
    assert_eq!((s.gaps, s.longest_gap), (1, Some(4.0)));
    assert_eq!((s.missing, inspection.entries, inspection.missing), (5, 14, 5));
    assert_eq!(s.unsorted.first, [11]);
    let expected = [
        "1 gap, the longest 4 s: nothing is filled in",
        "rows out of order, line 11: sorted",
        "5 of 14 entries missing (1 marked, 4 without a row): masked",
    ];
    assert_eq!(notes(&inspection), expected);
}

#[test]
fn an_interval_of_twice_the_median_is_no_gap_whatever_the_rounding() {
    for start in [0.0, 0.1, 1.7e9] {
        let body: String = [0, 1, 2, 3, 5, 6, 7, 8, 10]
            .iter()
            .map(|i| format!("a,r,eda,x,{},{i}\n", start + 0.1 * *i as f64))
            .collect();
        assert_eq!(look(&body).streams[0].gaps, 0, "{start}");
        let longer = body + &format!("a,r,eda,x,{},1\n", start + 1.21);
        assert_eq!(look(&longer).streams[0].gaps, 1, "{start}");
    }
}

#[test]
fn constant_features_are_named_whatever_their_size() {
    // 0.1 and 1e6 + 0.1 are not binary fractions: sums round, deviations from the first entry do not.
    let mut body = String::new();
    for t in 0..1000 {
        body += &format!("a,r,eda,small,{t},0.1\na,r,eda,large,{t},1000000.1\na,r,eda,moves,{t},{}\n", t % 2);
        body += &format!("a,r,eda,offset,{t},{}\n", 1e9 + (t % 2) as f64);
    }
    let inspection = look(&body);
    assert_eq!(inspection.streams[0].constant, ["small", "large"]);
    let expected = ["constant features small, large: a fit masks them unless told otherwise (--constant)"];
    assert_eq!(notes(&inspection), expected);
    assert!(!inspection.streams[0].all_zero);
}

#[test]
fn a_feature_constant_in_one_run_only_is_told_apart() {
    let inspection = look("a,r1,eda,x,0,1\na,r1,eda,x,1,1\na,r2,eda,x,0,2\na,r2,eda,x,1,3\n");
    assert_eq!(inspection.streams[0].constant, ["x"]);
    assert_eq!(notes(&inspection), ["constant in this run, not in others, feature x: kept"]);
}

#[test]
fn features_never_observed_are_named() {
    let inspection = look("a,r1,eda,x,0,\na,r1,eda,y,0,1\na,r2,eda,x,0,1\na,r2,eda,y,0,2\nb,r1,eda,z,0,NA\n");
    let notes = notes(&inspection);
    assert!(notes.contains(&"no observed entry in this run, feature x: masked"), "{notes:?}");
    assert!(notes.contains(&"no observed entry in any run, feature z: remove it before fitting"), "{notes:?}");
    assert!(!inspection.streams.iter().any(|s| s.all_zero));
}

#[test]
fn streams_that_a_participant_lacks_are_listed() {
    let inspection = look("a,r1,eda,x,0,1\na,r1,bold,x,0,1\nb,r1,eda,x,0,1\na,r2,eda,x,0,1\n");
    let lacking: Vec<String> = inspection.lacking.iter().map(ToString::to_string).collect();
    assert_eq!(lacking, ["b, r1, bold", "b, r2, eda"]);
    assert!(inspection.to_string().contains("bold, r1, b: no such stream"), "{inspection}");
}

#[test]
fn duplicates_are_reported_as_averaged() {
    let inspection = look("a,r,eda,x,0,1\na,r,eda,x,0,2\na,r,eda,x,1,4\n");
    assert_eq!(inspection.streams[0].duplicates, Findings { first: vec![2, 3], count: 2 });
    assert_eq!(notes(&inspection), ["1 entry given more than once, lines 2, 3: averaged"]);
}

#[test]
fn a_group_of_equal_streams_is_one_line_and_an_all_zero_stream_is_named() {
    let mut body = String::new();
    for p in 0..28 {
        for modality in ["bold", "motion"] {
            for t in 0..5 {
                let value = if p == 9 && modality == "bold" { 0 } else { t * (p + 1) };
                body += &format!("sub-{p:02},film,{modality},x,{},{value}\n", 2 * t);
            }
        }
    }
    let inspection = look(&body);
    let text = inspection.to_string();
    let table: Vec<&str> = text.lines().skip(3).collect();
    assert_eq!(
        table[..3],
        [
            "modality  run   participants     features  rows  start s  end s  interval s  rate Hz  gaps  missing",
            "bold      film  28 participants         1     5        0      8           2      0.5     0        0",
            "motion    film  28 participants         1     5        0      8           2      0.5     0        0",
        ]
    );
    assert_eq!(
        table[3..],
        [
            "",
            "bold, film, sub-09: every entry is zero: constant feature x: a fit masks it unless told otherwise (--constant)"
        ]
    );
    assert!(text.starts_with("28 participants, 1 run, 2 modalities: 56 streams, 280 entries, 0 missing\n"), "{text}");
}

#[test]
fn streams_that_differ_have_lines_of_their_own() {
    let mut body = String::new();
    for p in 0..8 {
        let rows = if p == 3 { 4 } else { 5 };
        (0..rows).for_each(|t| body += &format!("p{p},film,eda,x,{t},{}\n", t + p));
    }
    let text = look(&body).to_string();
    assert!(text.contains("eda       film  all but p3"), "{text}");
    assert!(text.contains("eda       film  p3 "), "{text}");
}

#[test]
fn the_inspection_is_json_without_nulls_in_place_of_numbers() {
    let inspection = look("a,r,eda,x,0,1\na,r,eda,x,1,n/a\n");
    let json = serde_json::to_value(&inspection).expect("json");
    assert_eq!(json["streams"][0]["start"], 0.0);
    assert_eq!(json["streams"][0]["stream"]["participant"], "a");
    assert_eq!(json["repairs"][0]["kind"], "masked");
    assert_eq!(json["missing"], 1);
}

#[test]
fn the_median_is_that_of_the_sorted_list() {
    assert_eq!(median(&[]), None);
    assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
    assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
}
