//! No text and no data make the program panic: token soup, random bytes, mutated data, and the tidy form of all of it.
//! Every case comes from a seed, so that a failure repeats.

use msrm::base::{Source, render};
use msrm::bind::{BindOptions, Input, bind};
use msrm::data::parse_arrays;
use msrm::graph::lower;
use msrm::lang::{parse, tidy};
use msrm::model::check_text;
use msrm::model::functions::FUNCTIONS;
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// All model texts below a folder.
fn texts(folder: &str) -> Vec<String> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(root().join(folder)).expect("a folder").map(|e| e.expect("an entry").path()).collect();
    paths.sort();
    let models = paths.iter().filter(|p| p.extension().is_some_and(|e| e == "msrm"));
    models.map(|p| fs::read_to_string(p).expect("a text")).collect()
}

/// Lexes, parses, checks, renders and tidies a text that may be anything.
fn survive(text: &str) -> bool {
    let source = Source::new("fuzz.msrm", text);
    let tidied = tidy(&source);
    match check_text(&source) {
        Ok(model) => {
            let tidied = tidied.expect("a correct model can be tidied");
            let again = Source::new("fuzz.msrm", tidied.as_str());
            assert_eq!(parse(&again), parse(&source), "the tree of\n{text}\nchanged in\n{tidied}");
            assert_eq!(tidy(&again).as_deref(), Ok(tidied.as_str()), "no fixed point of\n{text}");
            // Every model can meet an empty file.
            let arrays = parse_arrays(Path::new("d.json"), b"{}").expect("no arrays");
            let _ = bind(model, source, Input::Arrays(arrays), BindOptions::default());
            true
        }
        Err(errors) => {
            assert!(!errors.is_empty() && !render(&source, &errors).is_empty());
            false
        }
    }
}

#[test]
fn tidy_texts_keep_their_tree_and_their_comments() {
    let mut seen = 0;
    for text in ["models", "tests/models/good", "tests/posteriordb"].iter().flat_map(|f| texts(f)) {
        assert!(survive(&text), "{text}");
        let tidied = tidy(&Source::new("m", text.as_str())).expect("a correct model");
        let comments = |t: &str| -> Vec<String> {
            t.lines().filter_map(|l| l.split_once('#')).map(|(_, c)| c.trim_end().to_string()).collect()
        };
        assert_eq!(comments(&text), comments(&tidied));
        assert!(tidied.lines().all(|l| l == l.trim_end()) && !tidied.contains("\n\n\n"), "{tidied}");
        seen += 1;
    }
    assert!(seen >= 115, "only {seen} models");
}

#[test]
fn bundled_models_are_tidy() {
    for text in texts("models") {
        assert_eq!(
            tidy(&Source::new("m", text.as_str())).expect("a correct model"),
            text,
            "run `msrm fmt models/*.msrm`"
        );
    }
}

#[test]
fn mutants_of_good_models_keep_their_tree_when_tidied() {
    let texts = texts("tests/models/good");
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    let mut correct = 0;
    for i in 0..6000 {
        let mut text = texts[i % texts.len()].clone();
        for _ in 0..rng.random_range(1..=2) {
            let places: Vec<usize> = text.char_indices().map(|(i, _)| i).collect();
            let at = places[rng.random_range(0..places.len())];
            let piece = ["\n", " ", "#", "  # note\n", "-", "(", ")", "1", ",", "\n\n", "+ 1\n", " * ", "\r\n", "~"];
            text.insert_str(at, piece[rng.random_range(0..piece.len())]);
        }
        correct += usize::from(survive(&text));
    }
    assert!(correct > 600, "only {correct} mutants are models: the test looks at too little");
}

#[test]
fn token_soup_is_no_panic() {
    let mut words: Vec<&str> = "data param let report observe minimize recording factors response latent loading offset \
        noise model in on noncentered standardized grid int real inf pi N y x mu K z w v b ~ = : , + - * / ^ @ ( ) [ ] \
        > < >= <= { } ; 0 1 2.5 1e-3 1e999 -1 # . % ** \u{2212} \u{3b1} \u{1f600} normal poisson matern32 balanced_squares"
        .split_whitespace()
        .collect();
    words.extend(FUNCTIONS.iter().map(|f| f.name));
    words.extend(["\n", "\n", "\n", "\n", "\t", "\r\n"]);
    let mut rng = ChaCha8Rng::seed_from_u64(12);
    for _ in 0..6000 {
        let mut text = String::from("model m\n");
        for _ in 0..rng.random_range(1..60) {
            text.push_str(words[rng.random_range(0..words.len())]);
            if rng.random_range(0..4) > 0 {
                text.push(' ');
            }
        }
        survive(&text);
    }
}

/// Statements put together from a grammar: most of them parse, many of them have a meaning.
#[test]
fn generated_statements_are_no_panic() {
    let mut rng = ChaCha8Rng::seed_from_u64(13);
    let mut correct = 0;
    for _ in 0..6000 {
        let mut text = String::from("model m\ndata N : int\ndata y : real[N]\nparam a ~ normal(0, 1)\nparam b[N]\n");
        for i in 0..rng.random_range(1..6) {
            let value = expression(&mut rng, 4);
            let other = expression(&mut rng, 2);
            text.push_str(&match rng.random_range(0..8) {
                0 => format!("let c{i} = {value}\n"),
                1 => format!("report d{i} = {value}\n"),
                2 => format!("param e{i} > {other} ~ normal({value}, 1)\n"),
                3 => format!("param f{i}[{other}] ~ half_normal({value}) in [{other}, inf]\n"),
                4 => format!("observe y ~ normal({value}, {other})\n"),
                5 => format!("{value} ~ student_t(3, {other}, 1)\n"),
                6 => format!("data g{i} : int[{other}] in [0, {value}]\n"),
                _ => format!("minimize {value}\n"),
            });
        }
        correct += usize::from(survive(&text));
    }
    assert!(correct > 200, "only {correct} of the generated models are correct");
}

fn expression(rng: &mut impl Rng, depth: usize) -> String {
    let leaves = ["1", "2.5", "N", "a", "b", "y", "pi", "-1", "inf", "(a)", "b[1]", "y[:]", "0"];
    if depth == 0 || rng.random_range(0..3) == 0 {
        return leaves[rng.random_range(0..leaves.len())].to_string();
    }
    let left = expression(rng, depth - 1);
    match rng.random_range(0..5) {
        0 => format!("{}({left})", FUNCTIONS[rng.random_range(0..FUNCTIONS.len())].name),
        1 => format!("-{left}"),
        2 => format!("({left})[{}]", expression(rng, 1)),
        _ => {
            let sign = ["+", "-", "*", "/", "^", "@"][rng.random_range(0..6)];
            format!("{left} {sign} {}", expression(rng, depth - 1))
        }
    }
}

#[test]
fn random_bytes_are_no_panic() {
    let mut rng = ChaCha8Rng::seed_from_u64(14);
    for _ in 0..4000 {
        let bytes: Vec<u8> = (0..rng.random_range(0..200)).map(|_| rng.random()).collect();
        survive(&String::from_utf8_lossy(&bytes));
        let _ = parse_arrays(Path::new("d.json"), &bytes);
    }
}

/// Data that were changed at random meet every bundled model: joined, lowered, or refused.
#[test]
fn mutated_data_are_no_panic() {
    let mut rng = ChaCha8Rng::seed_from_u64(15);
    let pieces =
        ["0", "-1", "1e308", "[]", "[1, 2]", "9", "null", "1.5", ",", "]", "[[1], [2]]", "\"N\"", "3000000000"];
    let mut bound = 0;
    for text in texts("models") {
        let source = Source::new("m.msrm", text);
        let model = check_text(&source).expect("a bundled model");
        let path = root().join(format!("models/data/{}.json", model.name));
        let Ok(json) = fs::read_to_string(&path) else { continue };
        // Long files are cut to their head, where the sizes stand.
        let long = json.len() > 3000;
        for _ in 0..(if long { 25 } else { 250 }) {
            let mut json = json.clone();
            let digits: Vec<usize> = json.char_indices().filter(|(_, c)| c.is_ascii_digit()).map(|(i, _)| i).collect();
            for _ in 0..rng.random_range(0..3) {
                let at = digits[rng.random_range(0..digits.len().min(400))].min(json.len() - 1);
                json.replace_range(at..=at, pieces[rng.random_range(0..pieces.len())]);
            }
            let Ok(arrays) = parse_arrays(Path::new("d.json"), json.as_bytes()) else { continue };
            let plan = bind(model.clone(), source.clone(), Input::Arrays(arrays), BindOptions::default());
            if let Ok(plan) = plan {
                let _ = lower(&plan);
                bound += 1;
            }
        }
    }
    assert!(bound > 200, "only {bound} data files fit their model");
}
