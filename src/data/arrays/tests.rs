//! JSON arrays: shapes, numbers to the last bit, and every refusal.

use super::*;

fn parse(text: &str) -> Result<Arrays, DataError> {
    parse_arrays(Path::new("data.json"), text.as_bytes())
}

fn array(text: &str) -> Array {
    let arrays = parse(&format!("{{\"y\": {text}}}")).expect("good arrays");
    arrays.get("y").expect("y").clone()
}

fn message(text: &str) -> String {
    parse(text).expect_err("bad text").to_string()
}

#[test]
fn names_keep_their_order_and_arrays_their_shape() {
    let arrays =
        parse("\u{feff}{\"J\": 3, \"y\": [28.0, 8, -3],\n \"a\": [[1, 2, 3], [4, 5, 6]], \"e\": []}\n").expect("good");
    assert_eq!(arrays.iter().map(|(name, _)| name).collect::<Vec<_>>(), ["J", "y", "a", "e"]);
    assert_eq!(arrays.get("J"), Some(&Array { shape: vec![], values: vec![3.0], integer: true }));
    assert_eq!(arrays.get("y"), Some(&Array { shape: vec![3], values: vec![28.0, 8.0, -3.0], integer: false }));
    let a = Array { shape: vec![2, 3], values: vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], integer: true };
    assert_eq!(arrays.get("a"), Some(&a));
    assert_eq!(arrays.get("e"), Some(&Array { shape: vec![0], values: vec![], integer: true }));
    assert_eq!(arrays.get("z"), None);
    assert_eq!(parse(" { } ").map(|a| a.is_empty()).ok(), Some(true));
}

#[test]
fn every_literal_is_the_nearest_double() {
    // Texts on which readers that scale a decimal significand in floating point go wrong by a unit in the last place.
    let hard = [
        ("8.5e-45", 8.5e-45),
        ("1.7976931348623157e308", f64::MAX),
        ("2.2250738585072014e-308", f64::MIN_POSITIVE),
        ("5e-324", 5e-324),
        ("0.1", 0.1),
        ("9007199254740993.0", 9007199254740992.0),
        ("179.769313486231570814527423731704356798e306", f64::MAX),
        ("122.416294033786585", 122.41629403378658),
        ("-1E+2", -100.0),
    ];
    for (text, value) in hard {
        let got = array(text);
        assert_eq!(got.values[0].to_bits(), value.to_bits(), "{text}");
        assert!(!got.integer, "{text}");
    }
    let mut state = 3_u64;
    for _ in 0..2000 {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let value = f64::from_bits(state);
        if value.is_finite() {
            assert_eq!(array(&format!("{value:e}")).values[0].to_bits(), value.to_bits());
        }
    }
}

#[test]
fn long_arrays_are_read_in_linear_time() {
    // A reader that looks back over the text at every number would need minutes for this.
    let text: Vec<String> = (0..400_000).map(|i| format!("{i}")).collect();
    let got = array(&format!("[{}]", text.join(",\n")));
    assert_eq!(got.shape, [400_000]);
    assert!(got.values.iter().enumerate().all(|(i, v)| *v == i as f64));
}

#[test]
fn arrays_agree_with_a_generic_reader_and_naive_flattening() {
    fn flatten(value: &serde_json::Value, shape: &mut Vec<usize>, depth: usize, out: &mut Vec<f64>) {
        match value.as_array() {
            Some(parts) => {
                if shape.len() == depth {
                    shape.push(parts.len());
                }
                parts.iter().for_each(|p| flatten(p, shape, depth + 1, out));
            }
            None => out.extend(value.as_f64()),
        }
    }
    for text in
        ["7", "[1,2.5]", "[[1],[2],[3]]", "[[[1,2],[3,4]],[[5,6],[7,8]],[[9,0],[-1,-2]]]", "[[],[]]", "[[[]],[[]]]"]
    {
        let (mut shape, mut values) = (Vec::new(), Vec::new());
        flatten(&serde_json::from_str(text).expect("json"), &mut shape, 0, &mut values);
        let got = array(text);
        assert_eq!((got.shape, got.values), (shape, values), "{text}");
    }
}

#[test]
fn arrays_that_are_not_rectangular_are_refused_with_their_place() {
    let cases = [
        ("[[1, 2], [3]]", "y[2] is an array of length 1, expected an array of length 2"),
        ("[[[1, 2]], [[3, 4], [5, 6]]]", "y[2] is an array of length 2, expected an array of length 1"),
        ("[[1, 2], 3]", "y[2] is a number, expected an array"),
        ("[1, [2]]", "y[2] is an array, expected a number"),
        ("[[1, 2], [3, [4]]]", "y[2][2] is an array, expected a number"),
        ("[[], [1]]", "y[2] is an array of length 1, expected an array of length 0"),
        ("[[[]], []]", "y[2] is an array of length 0, expected an array of length 1"),
        ("[[], 1]", "y[2] is a number, expected an array"),
    ];
    for (text, part) in cases {
        let message = message(&format!("{{\n\"y\": {text}}}"));
        assert!(message.contains(part) && message.contains("data.json, line 2"), "{text}: {message}");
    }
}

#[test]
fn entries_that_are_not_finite_numbers_are_refused_with_their_place() {
    let cases = [
        ("\"NaN\"", "the text \"NaN\"", "must be finite"),
        ("\"+inf\"", "the text \"+inf\"", "must be finite"),
        ("\"-Infinity\"", "the text", "must be finite"),
        ("NaN", "is NaN", "must be finite"),
        ("-Infinity", "is -Infinity", "must be finite"),
        ("null", "is null", "must be finite"),
        ("true", "is true", "write 1 for true"),
        ("\"3\"", "the text \"3\"", "without quotes"),
        ("{\"a\": 1}", "an object", "a number or an array"),
        ("1e999", "is 1e999", "rescale"),
        ("9007199254740993", "is 9007199254740993", "2^53"),
        ("-36893488147419103232", "is -36893488147419103232", "2^53"),
    ];
    for (text, found, fix) in cases {
        let message = message(&format!("{{\"y\": [[1, 2],\n [3, {text}]]}}"));
        assert!(message.contains("data.json, line 2: y[2][2]"), "{message}");
        assert!(message.contains(found) && message.contains(fix), "{message}");
    }
    assert_eq!(array("9007199254740992").values, [9007199254740992.0]);
}

#[test]
fn text_that_is_not_json_is_refused_with_line_and_column() {
    let cases = [
        ("[1, 2]", "line 1, column 1: found `[`, expected `{`"),
        ("{\"y\": 1} x", "line 1, column 10: found `x`, expected the end of the file"),
        ("{\"y\": [1 2]}", "line 1, column 10: found `2`, expected `,` or `]`"),
        ("{\"y\": [1,]}", "line 1, column 10: found `]`, expected a number"),
        ("{\"y\": 1,}", "line 1, column 9: found `}`, expected a name"),
        ("{\"y\" 1}", "line 1, column 6: found `1`, expected `:`"),
        ("{\n  y: 1}", "line 2, column 3: found `y`, expected a name"),
        ("{\"y: 1}", "expected a closing double quote"),
        ("{\"y\": [1", "found the end of the file, expected `,` or `]`"),
        ("{\"y\": .5}", "found `.5`, expected a number"),
        ("{\"y\": 01}", "found `01`, expected a number"),
        ("{\"y\": +1}", "found `+1`, expected a number"),
        ("{\"y\": 1.}", "found `1.`, expected a number"),
        ("{\"y\": \"3}", "expected a number"),
        ("", "found the end of the file, expected `{`"),
    ];
    for (text, part) in cases {
        let message = message(text);
        assert!(message.contains(part), "{text}: {message}");
    }
    let deep = format!("{{\"y\": {}", "[".repeat(100_000));
    assert!(message(&deep).contains("sixteen nested arrays"));
}

#[test]
fn a_name_may_stand_once_and_may_hold_escapes() {
    assert!(message("{\"y\": 1,\n\"y\": 2}").contains("line 2: `y` is given a second time"));
    let arrays = parse("{\"a\\\"b\\u00e9\": 1}").expect("escapes");
    assert_eq!(arrays.iter().map(|(n, _)| n).collect::<Vec<_>>(), ["a\"bé"]);
}
