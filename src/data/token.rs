//! Turns the text of one field into a time or a value.

use super::finding::Fault;

/// The texts that mark a missing value; an empty field does too.
pub(super) const MISSING: [&str; 4] = ["n/a", "NA", "NaN", "nan"];

fn is_missing(text: &str) -> bool {
    text.is_empty() || MISSING.contains(&text)
}

/// A time in seconds: finite, with -0 read as 0 so that equal times have equal bits.
pub(super) fn time(text: &str) -> Result<f64, Fault> {
    if is_missing(text) {
        return Err(Fault::TimeMissing);
    }
    match text.parse::<f64>() {
        Ok(t) if t.is_finite() => Ok(t + 0.0),
        Ok(_) => Err(Fault::TimeNotFinite),
        Err(_) => Err(Fault::TimeUnreadable),
    }
}

/// A value, NaN where it is missing and finite otherwise.
pub(super) fn value(text: &str) -> Result<f64, Fault> {
    if is_missing(text) {
        return Ok(f64::NAN);
    }
    match text.parse::<f64>() {
        Ok(v) if v.is_infinite() => Err(Fault::ValueInfinite),
        // Spellings of NaN other than the documented tokens are typing errors until the user says otherwise.
        Ok(v) if v.is_nan() => Err(Fault::ValueUnreadable),
        Ok(v) => Ok(v),
        Err(_) => Err(Fault::ValueUnreadable),
    }
}

/// The first sixty characters of `text`, for a message.
pub(super) fn excerpt(text: &str) -> String {
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_numbers_or_missing_and_nothing_else() {
        for text in ["", "n/a", "NA", "NaN", "nan"] {
            assert!(value(text).is_ok_and(f64::is_nan), "{text}");
        }
        assert_eq!(value("-1.5e3"), Ok(-1500.0));
        for text in ["inf", "-Infinity", "1e999"] {
            assert_eq!(value(text), Err(Fault::ValueInfinite), "{text}");
        }
        for text in ["1,5", "N/A", "NAN", "null", "1 2", "0x10"] {
            assert_eq!(value(text), Err(Fault::ValueUnreadable), "{text}");
        }
    }

    #[test]
    fn times_are_finite_numbers() {
        assert_eq!(time("-12.5"), Ok(-12.5));
        assert!(time("-0").is_ok_and(|t| t.to_bits() == 0));
        for text in ["", "n/a", "NaN"] {
            assert_eq!(time(text), Err(Fault::TimeMissing), "{text}");
        }
        assert_eq!(time("inf"), Err(Fault::TimeNotFinite));
        assert_eq!(time("00:12"), Err(Fault::TimeUnreadable));
    }

    #[test]
    fn long_texts_are_cut_at_a_character() {
        assert_eq!(excerpt("short"), "short");
        assert_eq!(excerpt(&"ä".repeat(61)), format!("{}...", "ä".repeat(60)));
    }
}
