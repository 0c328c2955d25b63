//! The language as its users see it: canonical texts of good models, transcripts of the errors of bad ones, and no
//! panic on any text. `MSRM_BLESS=1 cargo test --test language` rewrites the transcripts; review their diff.

use msrm::base::{Diagnostic, Source, render};
use msrm::lang::{format, parse};
use msrm::model::check_text;
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::fs;
use std::path::{Path, PathBuf};

/// The models of one folder of the corpus, by file name, in order.
fn corpus(folder: &str) -> Vec<(PathBuf, Source)> {
    let folder_path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models").join(folder);
    let mut paths: Vec<PathBuf> = fs::read_dir(&folder_path)
        .expect("the corpus is there")
        .map(|entry| entry.expect("a readable folder").path())
        .filter(|path| path.extension().is_some_and(|e| e == "msrm"))
        .collect();
    paths.sort();
    paths
        .into_iter()
        .map(|path| {
            let file = path.file_name().and_then(|n| n.to_str()).expect("a plain file name");
            let name = format!("tests/models/{folder}/{file}");
            let text = fs::read_to_string(&path).expect("a text file");
            (path, Source::new(name, text))
        })
        .collect()
}

/// Compares `actual` with the transcript beside `model`, or rewrites the transcript; the complaint if they differ.
fn compare(model: &Path, actual: &str) -> Option<String> {
    let golden = model.with_extension("golden");
    if std::env::var_os("MSRM_BLESS").is_some() {
        fs::write(&golden, actual).expect("the transcript can be written");
        return None;
    }
    let expected = fs::read_to_string(&golden).unwrap_or_default();
    (expected != actual).then(|| format!("{}\n--- expected\n{expected}\n--- actual\n{actual}", golden.display()))
}

#[test]
fn good_models_have_a_canonical_text_of_the_same_meaning() {
    let models = corpus("good");
    assert!(models.len() >= 35, "only {} good models", models.len());
    let mut complaints = Vec::new();
    for (path, source) in models {
        let ast = parse(&source).unwrap_or_else(|e| panic!("{}", render(&source, &e)));
        let model = check_text(&source).unwrap_or_else(|e| panic!("{}", render(&source, &e)));
        let canonical = Source::new(source.name.as_str(), format(&ast));
        let again = parse(&canonical).unwrap_or_else(|e| panic!("{}", render(&canonical, &e)));
        assert_eq!(ast, again, "{}", canonical.text);
        assert_eq!(format(&again), canonical.text, "the canonical text is a fixed point");
        assert_eq!(check_text(&canonical).as_ref(), Ok(&model), "{}", canonical.text);
        complaints.extend(compare(&path, &canonical.text));
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n\n"));
}

#[test]
fn bad_models_are_explained() {
    let models = corpus("bad");
    assert!(models.len() >= 45, "only {} bad models", models.len());
    let mut complaints = Vec::new();
    for (path, source) in models {
        let errors = check_text(&source).expect_err(&source.name);
        assert!(!errors.is_empty(), "{}", source.name);
        let text = render(&source, &errors);
        for error in &errors {
            assert_place(&source, error);
            let explained = error.expected.is_some() || error.found.is_some() || error.help.is_some();
            assert!(explained, "nothing but a message:\n{text}");
        }
        complaints.extend(compare(&path, &text));
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n\n"));
}

#[test]
fn every_code_of_the_language_has_a_bad_model() {
    let codes: Vec<_> = corpus("bad")
        .iter()
        .flat_map(|(_, source)| check_text(source).expect_err(&source.name))
        .map(|error| error.code)
        .collect();
    for code in msrm::base::Code::ALL.iter().filter(|c| c.id() != "E11") {
        assert!(codes.contains(code), "no bad model shows {}", code.id());
    }
}

#[test]
fn no_part_of_a_model_is_an_error_twice() {
    for (_, source) in corpus("bad") {
        let errors = check_text(&source).expect_err(&source.name);
        for (i, a) in errors.iter().enumerate() {
            let again = errors[..i].iter().any(|b| a.span.start == b.span.start && a.span.end == b.span.end);
            assert!(!again, "{}", render(&source, &errors));
        }
    }
}

/// The span of an error lies inside the text, on boundaries of characters.
fn assert_place(source: &Source, error: &Diagnostic) {
    let span = error.span;
    let inside = span.start <= span.end && source.text.get(span.start..span.end).is_some();
    assert!(inside, "{span:?} of {error:?} in {:?}", source.text);
}

/// Checks a text that may be anything: no panic, and every error has a place that can be rendered.
fn survive(text: String) {
    let source = Source::new("mutant.msrm", text);
    match check_text(&source) {
        Ok(_) => {
            let ast = parse(&source).expect("a checked model parses");
            let canonical = Source::new("canonical.msrm", format(&ast));
            assert_eq!(parse(&canonical).as_ref(), Ok(&ast), "{}", source.text);
        }
        Err(errors) => {
            assert!(!errors.is_empty());
            for error in &errors {
                assert_place(&source, error);
            }
            assert!(render(&source, &errors).contains("mutant.msrm:"), "{}", source.text);
        }
    }
}

fn all_texts() -> Vec<String> {
    let mut texts: Vec<String> = ["good", "bad"].iter().flat_map(|f| corpus(f)).map(|(_, s)| s.text).collect();
    // The two files that are long on purpose would take up most of the time.
    texts.retain(|t| t.len() < 1500);
    texts
}

#[test]
fn a_text_cut_off_anywhere_is_no_panic() {
    for text in all_texts() {
        for (end, _) in text.char_indices() {
            survive(text[..end].to_string());
        }
    }
}

#[test]
fn mutated_texts_are_no_panic() {
    let texts = all_texts();
    let mut rng = ChaCha8Rng::seed_from_u64(20_260_101);
    for i in 0..20_000 {
        let text = &texts[i % texts.len()];
        let mutant = if i % 2 == 0 { mutate_words(text, &texts, &mut rng) } else { mutate_bytes(text, &mut rng) };
        survive(mutant);
    }
}

/// Deletes, doubles, swaps or replaces one to three words or signs.
fn mutate_words(text: &str, texts: &[String], rng: &mut impl Rng) -> String {
    let mut words = cut(text);
    let other = cut(&texts[rng.random_range(0..texts.len())]);
    for _ in 0..rng.random_range(1..=3) {
        if words.is_empty() {
            break;
        }
        let (at, to) = (rng.random_range(0..words.len()), rng.random_range(0..words.len()));
        match rng.random_range(0..4) {
            0 => {
                words.remove(at);
            }
            1 => words.insert(to, words[at]),
            2 => words.swap(at, to),
            _ if other.is_empty() => {}
            _ => words[at] = other[rng.random_range(0..other.len())],
        }
    }
    words.concat()
}

/// The words, numbers and single other characters of a text; together they are the text.
fn cut(text: &str) -> Vec<&str> {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = if word(first) { rest.find(|c| !word(c)).unwrap_or(rest.len()) } else { first.len_utf8() };
        out.push(&rest[..length]);
        rest = &rest[length..];
    }
    out
}

/// Overwrites up to four bytes with noise; what is not UTF-8 any more becomes the replacement character.
fn mutate_bytes(text: &str, rng: &mut impl Rng) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..rng.random_range(1..=4) {
        if !bytes.is_empty() {
            let at = rng.random_range(0..bytes.len());
            bytes[at] = rng.random();
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
