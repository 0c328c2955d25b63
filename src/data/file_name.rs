//! Which stream a wide table holds, read from its file name.

/// The names in a file name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileName {
    pub(super) participant: String,
    /// Absent where a BIDS name has neither session, task nor run.
    pub(super) run: Option<String>,
    pub(super) modality: String,
}

/// BIDS entities that tell runs apart.
const RUN_ENTITIES: [&str; 3] = ["ses", "task", "run"];
/// BIDS entities that tell versions or parts of one run apart; taken for runs, they would count data twice.
const OTHER_ENTITIES: [&str; 15] = [
    "acq",
    "ce",
    "rec",
    "dir",
    "echo",
    "flip",
    "part",
    "space",
    "res",
    "den",
    "desc",
    "hemi",
    "recording",
    "label",
    "split",
];

/// Reads the name of a table without its extension: `participant_run_modality`, or a BIDS name that starts with `sub-`.
///
/// # Errors
/// A phrase that says what cannot be read.
pub(super) fn parse(stem: &str) -> Result<FileName, String> {
    let parts: Vec<&str> = stem.split('_').collect();
    if parts.iter().any(|p| p.is_empty()) {
        return Err("a part between two `_` is empty".to_string());
    }
    let bids = stem.starts_with("sub-");
    if let Some(other) = parts[1..].iter().find(|p| bids && OTHER_ENTITIES.contains(&key(p))) {
        return Err(format!("`{other}` names neither participant, run nor modality"));
    }
    match parts.as_slice() {
        [participant, run, modality] => Ok(name(participant, Some(run.to_string()), modality)),
        [participant, modality] if bids => Ok(name(participant, None, modality)),
        [participant, run @ .., modality] if bids && parts.len() > 3 => {
            match run.iter().find(|p| !RUN_ENTITIES.contains(&key(p))) {
                Some(other) => Err(format!("`{other}` is neither ses-, task- nor run-")),
                None => Ok(name(participant, Some(run.join("_")), modality)),
            }
        }
        _ => Err(format!("{} parts between `_`", parts.len())),
    }
}

/// The part of `key-value` before the first hyphen.
fn key(part: &str) -> &str {
    part.split_once('-').map_or("", |(key, _)| key)
}

fn name(participant: &str, run: Option<String>, modality: &str) -> FileName {
    FileName { participant: participant.to_string(), run, modality: modality.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_both_forms_are_read() {
        let cases = [
            ("anna_film_rating", "anna", Some("film"), "rating"),
            ("sub-01_run-02_bold", "sub-01", Some("run-02"), "bold"),
            ("sub-18_alice-ch1_bold", "sub-18", Some("alice-ch1"), "bold"),
            ("sub-01_ses-1_task-film_run-02_bold", "sub-01", Some("ses-1_task-film_run-02"), "bold"),
            ("sub-01_bold", "sub-01", None, "bold"),
        ];
        for (stem, participant, run, modality) in cases {
            assert_eq!(parse(stem), Ok(name(participant, run.map(str::to_string), modality)), "{stem}");
        }
    }

    #[test]
    fn other_names_are_refused_with_the_reason() {
        let cases = [
            ("rating", "1 parts"),
            ("anna_rating", "2 parts"),
            ("anna_film_1_rating", "4 parts"),
            ("anna__rating", "empty"),
            ("sub-01_task-film_space-MNI_bold", "space-MNI"),
            ("sub-01_desc-clean_bold", "desc-clean"),
            ("sub-01_task-film_left_bold", "`left`"),
        ];
        for (stem, part) in cases {
            let reason = parse(stem).err().unwrap_or_default();
            assert!(reason.contains(part), "{stem}: {reason}");
        }
    }
}
