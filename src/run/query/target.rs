//! The streams that are hidden and predicted.

use super::error::{QueryError, hint};
use super::fitted::Fitted;

/// One participant's modality.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Target {
    pub participant: String,
    pub modality: String,
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.participant, self.modality)
    }
}

/// The targets that `texts` name among the pairs (participant, modality), in the order of the pairs, each once. A text
/// is `PARTICIPANT/MODALITY`, or `*/MODALITY` for every participant who has it. Names may hold slashes themselves.
///
/// # Errors
/// Texts that name nothing, with the nearest name.
pub fn parse_targets(pairs: &[(String, String)], texts: &[String]) -> Result<Vec<Target>, QueryError> {
    let mut wanted = vec![false; pairs.len()];
    for text in texts {
        let found: Vec<usize> = match text.strip_prefix("*/") {
            Some(modality) => (0..pairs.len()).filter(|&i| pairs[i].1 == modality).collect(),
            None => (0..pairs.len()).filter(|&i| format!("{}/{}", pairs[i].0, pairs[i].1) == *text).collect(),
        };
        if found.is_empty() {
            return Err(unknown(pairs, text));
        }
        found.into_iter().for_each(|i| wanted[i] = true);
    }
    let chosen = pairs.iter().zip(wanted).filter(|(_, w)| *w);
    Ok(chosen.map(|((p, m), _)| Target { participant: p.clone(), modality: m.clone() }).collect())
}

fn unknown(pairs: &[(String, String)], text: &str) -> QueryError {
    let mut modalities: Vec<&str> = pairs.iter().map(|p| p.1.as_str()).collect();
    modalities.sort_unstable();
    modalities.dedup();
    if let Some(modality) = text.strip_prefix("*/") {
        return QueryError::NobodyHas { modality: modality.to_string(), hint: hint(modality, modalities) };
    }
    let names: Vec<String> = pairs.iter().map(|(p, m)| format!("{p}/{m}")).collect();
    QueryError::Target { text: text.to_string(), hint: hint(text, names.iter().map(String::as_str)) }
}

impl Fitted<'_> {
    /// The fitted pairs that `texts` name; see [`parse_targets`].
    ///
    /// # Errors
    /// As [`parse_targets`], and an empty list of texts.
    pub fn targets(&self, texts: &[String]) -> Result<Vec<Target>, QueryError> {
        let pairs = self.pair_names();
        if texts.is_empty() {
            let example = pairs.first().map(|(p, m)| format!("{p}/{m}")).unwrap_or_default();
            return Err(QueryError::NoTarget { example });
        }
        parse_targets(&pairs, texts)
    }
}
