//! The book tells the truth: its models check, its commands run and print what it says, its tables are those of the code.

use msrm::archive::{Outcome, read};
use msrm::base::{Code, Source};
use msrm::diagnose::{Draws, mcse, verdict};
use msrm::math::compound::Compound;
use msrm::math::constraint::Constraint;
use msrm::math::dist::DISTRIBUTIONS;
use msrm::math::vector::VECTOR_DISTRIBUTIONS;
use msrm::model::check_text;
use msrm::model::functions::FUNCTIONS;
use msrm::response::FAMILIES;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Languages that are shown and not run; Rust is run as doctests of the chapter `library.md`.
const SHOWN: [&str; 4] = ["stan", "python", "r", "rust"];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// A fenced block of a page.
struct Block {
    /// What stands behind the fence, cut at commas.
    words: Vec<String>,
    text: String,
    /// File and line, for messages.
    place: String,
}

impl Block {
    fn language(&self) -> &str {
        &self.words[0]
    }

    fn has(&self, word: &str) -> bool {
        self.words[1..].iter().any(|w| w == word)
    }

    fn value(&self, key: &str) -> Option<&str> {
        self.words[1..].iter().find_map(|w| w.strip_prefix(key)?.strip_prefix('='))
    }
}

struct Page {
    name: String,
    text: String,
    blocks: Vec<Block>,
}

fn page(path: &Path) -> Page {
    let text = fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    for (index, line) in text.lines().enumerate() {
        if let Some(info) = line.strip_prefix("```") {
            match open.take() {
                Some(block) if info.is_empty() => blocks.push(block),
                Some(block) => panic!("{}: a block opens before that of {} ends", name, block.place),
                None => {
                    let words = info.split(',').map(str::to_string).collect();
                    open = Some(Block { words, text: String::new(), place: format!("{name}:{}", index + 1) });
                }
            }
        } else if let Some(block) = &mut open {
            block.text.push_str(line);
            block.text.push('\n');
        }
    }
    assert!(open.is_none(), "{name}: the last block does not end");
    Page { name, text, blocks }
}

/// The chapters of the book, in the order of their names.
fn chapters() -> Vec<Page> {
    let folder = root().join("book/src");
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|p| page(p)).collect()
}

/// The chapters and the README.
fn pages() -> Vec<Page> {
    let mut pages = chapters();
    pages.push(page(&root().join("README.md")));
    pages
}

fn chapter(name: &str) -> Page {
    page(&root().join("book/src").join(name))
}

#[test]
fn every_block_is_of_a_kind_that_is_tested_or_only_shown() {
    for page in pages() {
        for block in &page.blocks {
            let known = |word: &String| match block.language() {
                "msrm" => word == "fails" || is_code(word) || word.starts_with("file="),
                "sh" => word.strip_prefix("exit=").is_some_and(|n| n.parse::<i32>().is_ok()),
                "json" => word.starts_with("file="),
                "csv" => word.starts_with("file=") || word.starts_with("shows="),
                "text" => word == "output" || word == "draws",
                _ => false,
            };
            let language = ["msrm", "sh", "json", "csv", "text"].contains(&block.language());
            assert!(language || SHOWN.contains(&block.language()), "{}: `{}`?", block.place, block.language());
            assert!(block.words[1..].iter().all(known), "{}: {:?}", block.place, block.words);
            let rust_is_run = page.name == "library.md";
            assert!(block.language() != "rust" || rust_is_run, "{}: no doctest compiles this", block.place);
        }
    }
}

fn is_code(word: &str) -> bool {
    Code::ALL.iter().any(|c| c.id() == word)
}

#[test]
fn models_check_or_fail_with_the_codes_of_their_fence() {
    let mut checked = 0;
    for page in pages() {
        for block in page.blocks.iter().filter(|b| b.language() == "msrm") {
            let wanted: BTreeSet<&str> = block.words.iter().map(String::as_str).filter(|w| is_code(w)).collect();
            assert_eq!(block.has("fails"), !wanted.is_empty(), "{}: name the codes of a failure", block.place);
            let diagnostics =
                check_text(&Source::new(block.place.as_str(), block.text.as_str())).err().unwrap_or_default();
            let found: BTreeSet<&str> = diagnostics.iter().map(|d| d.code.id()).collect();
            assert_eq!(found, wanted, "{}: {diagnostics:#?}", block.place);
            checked += 1;
        }
    }
    assert!(checked >= 20, "only {checked} models were found");
}

/// A command line cut at spaces.
fn run(folder: &Path, line: &str) -> (i32, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_msrm"))
        .args(line.split_whitespace().skip(1))
        .current_dir(folder)
        .output()
        .unwrap();
    // As on a terminal: notes come before results.
    let text = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    (output.status.code().unwrap_or(-1), text)
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy_folder(&path, &target);
        } else {
            fs::copy(&path, &target).unwrap();
        }
    }
}

#[test]
fn commands_run_and_print_what_the_book_says() {
    for page in pages() {
        let dir = tempfile::tempdir().unwrap();
        copy_folder(&root().join("models"), &dir.path().join("models"));
        let mut output = String::new();
        for block in &page.blocks {
            if let Some(name) = block.value("file") {
                let path = dir.path().join(name);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, &block.text).unwrap();
            }
            if block.language() == "sh" {
                let wanted = block.value("exit").map_or(0, |n| n.parse::<i32>().unwrap());
                // Other commands, such as cargo, are for the reader.
                for line in block.text.lines().filter(|l| l.starts_with("msrm ")) {
                    let (code, text) = run(dir.path(), line);
                    assert_eq!(code, wanted, "{}: `{line}` printed\n{text}", block.place);
                    output = text;
                }
            } else if let Some(name) = block.value("shows") {
                expect(&fs::read_to_string(dir.path().join(name)).unwrap(), &block.text, &block.place);
            } else if block.has("output") {
                expect(&output, &block.text, &block.place);
            } else if block.has("draws") {
                compare_draws(dir.path(), &output, block);
            }
        }
    }
}

/// Every piece between `...` must be printed, in order.
fn expect(output: &str, wanted: &str, place: &str) {
    let mut rest = output;
    for piece in wanted.trim_end().split("...") {
        match rest.find(piece) {
            Some(at) => rest = &rest[at + piece.len()..],
            None => panic!("{place}: after the pieces before it, `{piece}` is not part of\n{output}"),
        }
    }
}

/// A table of draws: each number may differ from that of this machine by five Monte Carlo errors of the difference.
fn compare_draws(folder: &Path, output: &str, block: &Block) {
    let out = output.lines().find_map(|l| l.strip_prefix("written to ")).expect("a fit before the table");
    let Outcome::Draws(draws) = read(&folder.join(out)).unwrap().outcome else { panic!("{}: no draws", block.place) };
    let labels: Vec<&str> = draws.labels().collect();
    let lines: Vec<&str> = block.text.lines().collect();
    let head: Vec<&str> = lines[0].split_whitespace().collect();
    assert_eq!(head, ["mean", "sd", "mcse", "5%", "50%", "95%", "ess_bulk", "ess_tail", "r_hat"]);
    assert_eq!(lines.len(), labels.len() + 1, "{}", block.place);
    for (index, line) in lines[1..].iter().enumerate() {
        let cells: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(cells[0], labels[index], "{}", block.place);
        let chains = draws.element(index);
        let slices: Vec<&[f64]> = chains.iter().map(Vec::as_slice).collect();
        let here = Draws::new(&slices).unwrap();
        let summary = msrm::diagnose::summarize(&slices);
        let facts = [
            (1, summary.mean, mcse::mcse_mean(&here)),
            (2, summary.sd, mcse::mcse_sd(&here)),
            (4, Some(here.quantile(0.05)), mcse::mcse_quantile(&here, 0.05)),
            (5, Some(here.quantile(0.5)), mcse::mcse_quantile(&here, 0.5)),
            (6, Some(here.quantile(0.95)), mcse::mcse_quantile(&here, 0.95)),
        ];
        for (column, value, error) in facts {
            let printed: f64 = cells[column].parse().unwrap();
            let (value, error) = (value.unwrap(), error.unwrap());
            let allowed = 5.0 * std::f64::consts::SQRT_2 * error;
            assert!((printed - value).abs() < allowed, "{}: {line}: {} is {value} here", block.place, head[column - 1]);
        }
    }
}

#[test]
fn the_summary_lists_every_chapter_once_and_links_lead_somewhere() {
    let pages: BTreeMap<String, Page> = chapters().into_iter().map(|p| (p.name.clone(), p)).collect();
    let mut listed: Vec<String> = links(&pages["SUMMARY.md"]);
    listed.sort();
    let files: Vec<String> = pages.keys().filter(|n| *n != "SUMMARY.md").cloned().collect();
    assert_eq!(listed, files);
    for page in pages.values() {
        for link in links(page) {
            let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let here = if file.is_empty() { page.name.as_str() } else { file };
            let target = pages.get(here).unwrap_or_else(|| panic!("{}: no chapter `{file}`", page.name));
            assert!(anchor.is_empty() || anchors(target).contains(anchor), "{}: no heading for `{link}`", page.name);
        }
    }
}

/// Links to other chapters.
fn links(page: &Page) -> Vec<String> {
    let targets = page.text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets.filter(|t| !t.starts_with("http")).map(str::to_string).collect()
}

/// Headings as the renderer names them.
fn anchors(page: &Page) -> BTreeSet<String> {
    let slug = |heading: &str| -> String {
        let kept = heading.to_lowercase();
        kept.chars()
            .filter(|c| c.is_alphanumeric() || " -_".contains(*c))
            .map(|c| if c == ' ' { '-' } else { c })
            .collect()
    };
    page.text.lines().filter(|l| l.starts_with('#')).map(|l| slug(l.trim_start_matches('#').trim())).collect()
}

/// Rows of the table under a header, each cut into cells.
fn table(page: &Page, header: &str) -> Vec<Vec<String>> {
    let mut lines = page.text.lines().skip_while(|l| *l != header);
    assert!(lines.next().is_some(), "{}: no table `{header}`", page.name);
    lines
        .skip(1)
        .take_while(|l| l.starts_with('|'))
        .map(|l| l[1..l.len() - 1].split('|').map(|c| c.trim().to_string()).collect())
        .collect()
}

#[test]
fn the_tables_of_functions_and_distributions_are_those_of_the_code() {
    let page = chapter("language.md");
    let mut functions = "| function | what it is |\n|---|---|\n".to_string();
    for f in FUNCTIONS {
        functions.push_str(&format!("| `{}({})` | {} |\n", f.name, f.arguments, f.doc));
    }
    let mut distributions = "| distribution | what it is | density | noncentered |\n|---|---|---|---|\n".to_string();
    for d in DISTRIBUTIONS {
        let names: Vec<&str> = d.arguments.iter().map(|a| a.name).collect();
        let noncentered = if d.location_scale { "yes" } else { "" };
        // A bar inside a cell is escaped, also in code.
        let formula = d.formula.replace('|', "\\|");
        let row = format!("| `{}({})` | {} | `{formula}` | {noncentered} |\n", d.name, names.join(", "), d.doc);
        distributions.push_str(&row);
    }
    let mut vectors = "| distribution | what it is | density |\n|---|---|---|\n".to_string();
    for d in VECTOR_DISTRIBUTIONS {
        let names: Vec<&str> = d.arguments.iter().map(|a| a.name).collect();
        let formula = d.formula.replace('|', "\\|");
        vectors.push_str(&format!("| `{}({})` | {} | `{formula}` |\n", d.name, names.join(", "), d.doc));
    }
    let mut compounds = "| written | what it is | density |\n|---|---|---|\n".to_string();
    for c in Compound::ALL {
        compounds.push_str(&format!("| `{}` | {} | `{}` |\n", c.usage(), c.doc(), c.formula()));
    }
    let mut constraints = "| written | what it is |\n|---|---|\n".to_string();
    for c in Constraint::ALL {
        constraints.push_str(&format!("| `: {}` | {} |\n", c.name(), c.describe()));
    }
    for wanted in [functions, distributions, vectors, compounds, constraints] {
        assert!(page.text.contains(&format!("\n\n{wanted}\n")), "language.md lacks\n{wanted}");
    }
    // A sampled curve is for the library; its lists have no place in a model file.
    let call = |f: &msrm::response::Family| {
        let parameters: Vec<String> = f.parameters.iter().map(|p| format!("{} = {:.4}", p.name, p.default)).collect();
        let trimmed: Vec<&str> = parameters.iter().map(|p| p.trim_end_matches('0').trim_end_matches('.')).collect();
        format!("| `{}({})` | {} |", f.name, trimmed.join(", "), f.doc)
    };
    let families: Vec<String> = FAMILIES.iter().filter(|f| f.is_parametric()).map(call).collect();
    let wanted = format!("| family | what it is |\n|---|---|\n{}\n", families.join("\n"));
    assert!(page.text.contains(&format!("\n\n{wanted}\n")), "language.md lacks\n{wanted}");
}

#[test]
fn models_beside_those_of_other_languages_are_bundled_ones() {
    for (name, other) in [("stan.md", "stan"), ("pymc.md", "python")] {
        let page = chapter(name);
        let pairs: Vec<&[Block]> = page.blocks.chunks(2).collect();
        assert_eq!(pairs.len(), 6, "{name}");
        for pair in pairs {
            let [theirs, ours] = pair else { panic!("{name}: a model without its twin") };
            assert_eq!((theirs.language(), ours.language()), (other, "msrm"), "{}", ours.place);
            let model = check_text(&Source::new(ours.place.as_str(), ours.text.as_str())).expect("a correct model");
            let path = root().join(format!("models/{}.msrm", model.name));
            let bundled = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            assert_eq!(check_text(&Source::new("bundled", bundled)).as_ref(), Ok(&model), "{}", ours.place);
        }
    }
}

#[test]
fn every_error_code_has_a_row_and_an_example() {
    let page = chapter("errors.md");
    let rows = table(&page, "| code | meaning | for example | what to do |");
    let codes: Vec<String> = rows.iter().map(|r| r[0].clone()).collect();
    assert_eq!(codes, Code::ALL.map(|c| format!("`{}`", c.id())));
    assert!(rows.iter().all(|r| r.len() == 4 && r.iter().all(|cell| !cell.is_empty())), "{rows:?}");
    for code in Code::ALL {
        // Whether data fit a model is seen by a command, not by the checker of texts.
        let shown = format!("error[{}]", code.id());
        let example = |b: &Block| b.has(code.id()) || (b.has("output") && b.text.starts_with(&shown));
        assert!(page.blocks.iter().any(example), "errors.md: no example of {}", code.id());
    }
}

#[test]
fn thresholds_are_those_of_the_verdict() {
    let rows = table(&chapter("results.md"), "| check | passes | warns | fails |");
    let percent = |fraction: f64| format!("{} %", 100.0 * fraction);
    let (r_hat, ess) = (verdict::LARGEST_R_HAT, verdict::SMALLEST_ESS_PER_CHAIN);
    let (bfmi, lowest) = (verdict::SMALLEST_BFMI, verdict::LOWEST_BFMI);
    let (divergent, deep) =
        (percent(verdict::LARGEST_DIVERGENT_FRACTION), percent(verdict::LARGEST_DEPTH_HIT_FRACTION));
    let wanted = [
        ["R-hat", &format!("up to {r_hat}"), "", &format!("above {r_hat}, or with a single chain")],
        ["bulk", &format!("from {ess} per chain"), "", &format!("below {ess} per chain")],
        ["divergences", "none", &format!("up to {divergent} of the draws"), &format!("above {divergent}")],
        ["BFMI", &format!("from {bfmi}"), &format!("from {lowest}"), &format!("below {lowest}")],
        ["draws at", &format!("up to {deep}"), &format!("above {deep}"), ""],
    ];
    assert_eq!(rows.len(), wanted.len());
    for (row, wanted) in rows.iter().zip(&wanted) {
        assert!(row[0].starts_with(wanted[0]), "{row:?}");
        assert_eq!(row[1..], wanted[1..].iter().map(|s| s.to_string()).collect::<Vec<_>>());
    }
}

#[test]
fn options_and_exit_codes_are_those_of_the_program() {
    let (_, help) = run(&root(), "msrm fit --help");
    // An option's line starts with its name; its default, where it has one, follows below.
    let mut options: BTreeMap<String, String> = BTreeMap::new();
    let mut current = String::new();
    for line in help.lines().map(str::trim) {
        if let Some(rest) = line.strip_prefix("--") {
            current = format!("`--{}`", rest.split_whitespace().next().unwrap());
            options.insert(current.clone(), String::new());
        } else if let Some(value) = line.strip_prefix("[default: ") {
            options.insert(current.clone(), value.trim_end_matches(']').to_string());
        }
    }
    let rows = table(&chapter("fitting.md"), "| option | default | what it does |");
    let told: BTreeSet<&String> = rows.iter().map(|r| &r[0]).collect();
    assert_eq!(told, options.keys().collect(), "the options of fitting.md and of the program");
    for row in &rows {
        let default = &options[&row[0]];
        assert!(default.is_empty() || row[1].trim_matches('`') == default, "{row:?}: the program has {default}");
    }

    let (_, help) = run(&root(), "msrm --help");
    let codes = help.lines().find_map(|l| l.strip_prefix("Exit codes: ")).expect("exit codes in the help");
    let numbers = |text: &str| -> Vec<String> {
        text.split(|c: char| !c.is_ascii_digit()).filter(|n| !n.is_empty()).map(str::to_string).collect()
    };
    let told: Vec<String> = table(&chapter("results.md"), "| code | meaning |").iter().map(|r| r[0].clone()).collect();
    assert_eq!(told, numbers(codes));
}
