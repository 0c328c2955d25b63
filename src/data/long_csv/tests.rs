//! Long tables: column orders, joins on exact times, and every refusal with its rows.

use super::*;

const HEADER: &str = "participant,run,modality,feature,time,value\n";

fn read_text(text: &str, duplicates: Duplicates) -> Result<(Recording, Vec<Repair>), DataError> {
    read(Path::new("study.csv"), text.as_bytes(), b',', duplicates)
}

/// The recording and repairs of rows below the usual header.
fn rows(rows: &str) -> (Recording, Vec<Repair>) {
    read_text(&format!("{HEADER}{rows}"), Duplicates::Refuse).expect("good rows")
}

fn refusal(text: &str) -> DataError {
    read_text(text, Duplicates::Refuse).expect_err("bad text")
}

fn bits(values: &[f64]) -> Vec<Option<u64>> {
    values.iter().map(|v| (!v.is_nan()).then(|| v.to_bits())).collect()
}

/// A recording without its orders: every value under its names.
fn facts(recording: &Recording) -> Vec<(String, String, String, String, u64, Option<u64>)> {
    let mut facts = Vec::new();
    for s in &recording.streams {
        for (t, time) in s.times.iter().enumerate() {
            for (f, feature) in s.features.iter().enumerate() {
                facts.push((
                    recording.participants[s.participant].clone(),
                    recording.runs[s.run].clone(),
                    recording.modalities[s.modality].clone(),
                    feature.clone(),
                    time.to_bits(),
                    s.value(t, f).map(f64::to_bits),
                ));
            }
        }
    }
    facts.sort();
    facts
}

#[test]
fn rows_become_streams_in_first_seen_orders() {
    let (recording, repairs) = rows(
        "b,r2,eda,x,0,1\n\
         b,r2,eda,w,0,2\n\
         a,r1,bold,V1,1.5,3\n\
         a,r1,bold,V1,3,4\n\
         a,r2,bold,V1,0.1,-5e-3\n",
    );
    assert_eq!(recording.participants, ["b", "a"]);
    assert_eq!(recording.runs, ["r2", "r1"]);
    assert_eq!(recording.modalities, ["eda", "bold"]);
    let keys: Vec<_> = recording.streams.iter().map(|s| (s.participant, s.run, s.modality)).collect();
    assert_eq!(keys, [(0, 0, 0), (1, 0, 1), (1, 1, 1)]);
    assert_eq!(recording.streams[0].features, ["x", "w"]);
    assert_eq!(recording.streams[0].values, [1.0, 2.0]);
    assert_eq!(recording.streams[1].times, [0.1]);
    assert_eq!(recording.streams[1].values, [-5e-3]);
    assert_eq!((&recording.streams[2].times[..], &recording.streams[2].values[..]), (&[1.5, 3.0][..], &[3.0, 4.0][..]));
    assert_eq!(repairs, []);
}

#[test]
fn quotes_byte_order_mark_and_line_ends_do_not_matter() {
    let plain = format!("{HEADER}a,r,bold,\"V1, left\",0,1\na,r,bold,\"V1, left\",2,n/a\n");
    let marked = format!("\u{feff}{}", plain.replace('\n', "\r\n").replace("a,r,bold", "\"a\", r ,\"bold\""));
    let (expected, _) = read_text(&plain, Duplicates::Refuse).expect("plain");
    let (found, _) = read_text(&marked, Duplicates::Refuse).expect("marked");
    assert_eq!(expected.streams[0].features, ["V1, left"]);
    assert_eq!(facts(&found), facts(&expected));
}

#[test]
fn the_orders_of_rows_and_columns_only_change_first_seen_orders() {
    let mut lines: Vec<[String; 6]> = Vec::new();
    for (i, participant) in ["p1", "p2", "p3"].iter().enumerate() {
        for run in ["r1", "r2"] {
            for feature in 0..=i {
                for t in 0..7 {
                    let value = if (t + i) % 5 == 0 { "NA".to_string() } else { format!("{}.{t}", 10 * i + feature) };
                    let time = format!("{}", 1.5 * t as f64 - 2.0 + 0.25 * feature as f64);
                    let name = format!("f{feature}");
                    let fields = [*participant, run, "eda", name.as_str(), time.as_str(), value.as_str()];
                    lines.push(fields.map(str::to_string));
                }
            }
        }
    }
    let text = |columns: &[usize; 6], order: &[usize]| {
        let names: Vec<String> = COLUMNS.iter().map(|c| c.to_string()).collect();
        let join = |fields: &[String]| columns.map(|c| fields[c].clone()).join(",") + "\n";
        let body: String = order.iter().map(|&i| join(&lines[i])).collect();
        join(&names) + &body
    };
    let in_order: Vec<usize> = (0..lines.len()).collect();
    let (expected, _) = read_text(&text(&[0, 1, 2, 3, 4, 5], &in_order), Duplicates::Refuse).expect("in order");
    let mut state = 1_u64;
    for columns in [[5, 4, 3, 2, 1, 0], [2, 0, 5, 1, 4, 3], [0, 1, 2, 3, 4, 5]] {
        let mut order = in_order.clone();
        for i in (1..order.len()).rev() {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            order.swap(i, (state >> 33) as usize % (i + 1));
        }
        let (found, repairs) = read_text(&text(&columns, &order), Duplicates::Refuse).expect("shuffled");
        assert_eq!(facts(&found), facts(&expected));
        assert!(repairs.iter().any(|r| matches!(r, Repair::Sorted { .. })));
        for (a, b) in found.streams.iter().zip(found.streams.iter().skip(1)) {
            assert!((a.participant, a.run, a.modality) < (b.participant, b.run, b.modality));
        }
        assert!(found.streams.iter().all(|s| s.times.windows(2).all(|w| w[0] < w[1])));
    }
}

#[test]
fn an_absent_run_column_is_one_run_and_is_reported() {
    let (recording, repairs) =
        read_text("participant,modality,feature,time,value\na,eda,x,0,1\n", Duplicates::Refuse).expect("no run");
    assert_eq!(recording.runs, ["run-01"]);
    assert_eq!(repairs, [Repair::RunNamed { file: "study.csv".into(), run: "run-01".into() }]);
}

#[test]
fn missing_tokens_and_absent_rows_are_masked_and_counted_apart() {
    let (recording, repairs) = rows(
        "a,r,eda,x,0,n/a\na,r,eda,x,1,NA\na,r,eda,x,2,NaN\na,r,eda,x,3,nan\na,r,eda,x,4,\n\
         a,r,eda,x,5,0\na,r,eda,y,5,6\na,r,eda,y,6,7\n",
    );
    let n = f64::NAN;
    let expected = [n, n, n, n, n, n, n, n, n, n, 0.0, 6.0, n, 7.0];
    assert_eq!(bits(&recording.streams[0].values), bits(&expected));
    let stream = StreamName { participant: "a".into(), run: "r".into(), modality: "eda".into() };
    assert_eq!(repairs, [Repair::Masked { file: "study.csv".into(), stream, tokens: 5, absent: 6 }]);
}

#[test]
fn rows_that_cannot_be_used_are_listed_with_their_places() {
    let error = refusal(&format!(
        "{HEADER}a,r,eda,x,,1\na,r,eda,x,inf,1\na,r,eda,x,noon,1\na,r,eda,x,1,inf\na,r,eda,x,1,\"1,5\"\n,r,eda,x,1,2\n\
         a,r,eda,x,1\na,r,eda,x,2,2\n"
    ));
    let DataError::Rows { rows, .. } = &error else { panic!("{error}") };
    let faults: Vec<(u64, Fault)> = rows.first.iter().map(|r| (r.line, r.fault.clone())).collect();
    let expected = [
        (2, Fault::TimeMissing),
        (3, Fault::TimeNotFinite),
        (4, Fault::TimeUnreadable),
        (5, Fault::ValueInfinite),
        (6, Fault::ValueUnreadable),
        (7, Fault::EmptyName { column: "participant" }),
        (8, Fault::FieldCount { expected: 6, found: 5 }),
    ];
    assert_eq!(faults, expected);
    assert_eq!(rows.count, 7);
    let message = error.to_string();
    for part in ["study.csv: 7 entries", "line 6 (a, r, eda, x): `1,5`: the value is not a number", "`noon`"] {
        assert!(message.contains(part), "{part}\n{message}");
    }
}

#[test]
fn ten_findings_are_listed_and_all_are_counted() {
    let body: String = (0..25).map(|t| format!("a,r,eda,x,{t},bad{t}\n")).collect();
    let error = refusal(&format!("{HEADER}{body}"));
    let DataError::Rows { rows, .. } = &error else { panic!("{error}") };
    assert_eq!((rows.first.len(), rows.count), (10, 25));
    let message = error.to_string();
    assert!(message.contains("`bad9`") && !message.contains("`bad10`"), "{message}");
    assert!(message.ends_with("and 15 more"), "{message}");
}

#[test]
fn an_unclosed_quote_is_a_row_with_too_few_fields() {
    let error = refusal(&format!("{HEADER}a,r,eda,x,0,1\na,r,eda,\"x,1,1\na,r,eda,x,2,1\n"));
    let DataError::Rows { rows, .. } = &error else { panic!("{error}") };
    assert_eq!((rows.first[0].line, rows.count), (3, 1));
    assert!(rows.first[0].text.chars().count() <= 63);
}

#[test]
fn unsorted_rows_are_sorted_and_reported_with_their_lines() {
    let (recording, repairs) = rows("a,r,eda,x,2,20\na,r,eda,x,0,0\na,r,eda,x,3,30\na,r,eda,x,1,10\n");
    assert_eq!(recording.streams[0].times, [0.0, 1.0, 2.0, 3.0]);
    assert_eq!(recording.streams[0].values, [0.0, 10.0, 20.0, 30.0]);
    let [Repair::Sorted { lines, stream, .. }] = &repairs[..] else { panic!("{repairs:?}") };
    assert_eq!(*lines, Findings { first: vec![3, 5], count: 2 });
    assert_eq!(stream.to_string(), "a, r, eda");
}

#[test]
fn duplicates_are_refused_with_their_lines() {
    let text = format!("{HEADER}a,r,eda,x,0,1\na,r,eda,y,0,5\na,r,eda,x,0,3\na,r,eda,y,1,6\na,r,eda,x,0.0,n/a\n");
    let error = refusal(&text);
    let DataError::Duplicated { repeats, .. } = &error else { panic!("{error}") };
    assert_eq!(repeats.count, 1);
    assert_eq!(repeats.first[0].lines, [2, 4, 6]);
    assert_eq!(repeats.first[0].features, ["x"]);
    assert!(error.to_string().contains("lines 2, 4, 6: a, r, eda, x at time 0"), "{error}");
}

#[test]
fn duplicates_are_averaged_over_their_observed_values_by_option() {
    let text = format!(
        "{HEADER}a,r,eda,x,0,1\na,r,eda,x,0,n/a\na,r,eda,x,0,4\na,r,eda,x,1,n/a\na,r,eda,x,1,\na,r,eda,x,2,9\n"
    );
    let (recording, repairs) = read_text(&text, Duplicates::Average).expect("averaged");
    assert_eq!(bits(&recording.streams[0].values), bits(&[2.5, f64::NAN, 9.0]));
    let [Repair::Averaged { entries, lines, .. }, Repair::Masked { tokens, absent, .. }] = &repairs[..] else {
        panic!("{repairs:?}")
    };
    assert_eq!((*entries, &lines.first[..]), (2, &[2, 3, 4, 5, 6][..]));
    assert_eq!((*tokens, *absent), (1, 0));
}

#[test]
fn features_may_differ_between_people_but_not_between_runs() {
    let (recording, _) = rows("a,r,eda,x,0,1\nb,r,eda,y,0,1\nb,r,eda,z,0,1\n");
    assert_eq!(recording.streams[1].features, ["y", "z"]);
    let error =
        refusal(&format!("{HEADER}a,r1,eda,x,0,1\na,r1,eda,y,0,1\na,r2,eda,x,0,1\na,r2,eda,z,0,1\nb,r1,eda,q,0,1\n"));
    let DataError::Features { mismatches, .. } = &error else { panic!("{error}") };
    let expected = FeatureMismatch {
        participant: "a".into(),
        modality: "eda".into(),
        runs: ["r1".into(), "r2".into()],
        only_first: vec!["y".into()],
        only_second: vec!["z".into()],
    };
    assert_eq!(mismatches.first, [expected]);
    assert!(error.to_string().contains("only r1 has y; only r2 has z"), "{error}");
}

#[test]
fn runs_share_the_feature_order_of_the_first_seen_row() {
    let (recording, _) = rows("a,r1,eda,x,0,1\na,r1,eda,y,0,2\na,r2,eda,y,0,3\na,r2,eda,x,0,4\n");
    assert_eq!(recording.streams[1].features, ["x", "y"]);
    assert_eq!(recording.streams[1].values, [4.0, 3.0]);
}

#[test]
fn wrong_headers_are_refused_with_the_fix() {
    let cases = [
        ("participant,run,modality,feature,time,value,site\n", "unknown: site", "remove the columns"),
        (
            "Participant,run,modality,feature,time,value\n",
            "missing: participant",
            "rename `Participant` to `participant`",
        ),
        ("participant,run,modality,feature,time,value,time\n", "repeated: time", "expected participant"),
        ("participant;run;modality;feature;time;value\n", "participant;run", "separated by ';'"),
        ("time,V1,V2\n", "unknown: V1, V2", "participant_run_modality.csv"),
    ];
    for (header, part, fix) in cases {
        let error = refusal(&format!("{header}1\n"));
        let message = error.to_string();
        assert!(matches!(error, DataError::Columns { .. }), "{message}");
        assert!(message.contains(part) && message.contains(fix), "{header}{message}");
    }
}

#[test]
fn a_file_without_rows_is_refused() {
    assert!(matches!(refusal(HEADER), DataError::Empty { .. }));
    assert!(matches!(refusal(""), DataError::Empty { .. }));
}
