//! Learned responses in sentences: the family with its parameters, and when the curve peaks.

use crate::response::Curve;
use crate::run::query::LearnedResponse;

/// Places at which the peak is looked for.
const PLACES: usize = 4000;

/// One line per response: `response rating = gaussian(width = 1.2 learned, lag = 2.31 learned), peak at 2.31 s`.
pub fn responses_text(responses: &[LearnedResponse]) -> String {
    let mut out = String::new();
    for r in responses {
        let family = r.response.family();
        let parameters: Vec<String> = family
            .parameters
            .iter()
            .zip(r.response.values())
            .enumerate()
            .map(|(i, (p, v))| {
                let learned = if r.learned.contains(&i) { " learned" } else { "" };
                format!("{} = {:.4}{learned}", p.name, v)
            })
            .collect();
        let who = r.participant.as_ref().map(|p| format!(" of {p}")).unwrap_or_default();
        let peak = peak(r).map(|t| format!(", peak at {t:.2} s")).unwrap_or_default();
        out.push_str(&format!("response {}{who} = {}({}){peak}\n", r.modality, family.name, parameters.join(", ")));
    }
    out
}

/// The lag at which the curve is largest, in seconds.
fn peak(r: &LearnedResponse) -> Option<f64> {
    let curve = Curve::new(&r.response).ok()??;
    let (lo, hi) = curve.support();
    let at = |i: usize| lo + (hi - lo) * i as f64 / PLACES as f64;
    let largest = (0..=PLACES).max_by(|&i, &j| curve.value(at(i)).total_cmp(&curve.value(at(j))))?;
    Some(at(largest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::response::build;

    #[test]
    fn learned_parameters_and_the_peak_are_told() {
        let response = build("gaussian", &[("width", 1.25), ("lag", 2.0)]).expect("a response");
        let mut one = LearnedResponse { modality: "rating".into(), participant: None, response, learned: vec![1] };
        let text = responses_text(std::slice::from_ref(&one));
        assert_eq!(text, "response rating = gaussian(width = 1.2500, lag = 2.0000 learned), peak at 2.00 s\n");
        one.participant = Some("ada".into());
        // A gamma density of shape 3 and scale 1 peaks at 2.
        one.response = build("gamma", &[("shape", 3.0), ("scale", 1.0), ("lag", 1.0)]).expect("a response");
        let text = responses_text(&[one]);
        assert!(text.starts_with("response rating of ada = gamma(shape = 3.0000, scale = 1.0000 learned"), "{text}");
        assert!(text.ends_with("peak at 3.00 s\n"), "{text}");
    }
}
