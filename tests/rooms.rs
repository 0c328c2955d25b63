//! The rooms of `src/`: each uses only what stands above it, only `graph` knows burn, and every file tells its job.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The rooms in the direction of the data; a room uses only rooms to the left of it.
const ROOMS: [&str; 15] = [
    "base", "math", "response", "lang", "model", "data", "bind", "terms", "graph", "infer", "archive", "diagnose",
    "run", "report", "cli",
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every Rust file below `folder`, with its text.
fn sources(folder: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a readable folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let text = fs::read_to_string(&path).expect("a text file");
                found.push((path, text));
            }
        }
    }
    found.sort();
    found
}

/// The text with comments and the contents of string literals blanked out, and blanks around `::` and braces removed,
/// so that only code is searched and a path broken over lines is one word.
fn code(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let skip = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |i| i + 2)
        } else if let Some(hashes) = raw_string(rest) {
            let close = format!("\"{}", "#".repeat(hashes));
            let open = hashes + 2;
            rest[open..].find(&close).map_or(rest.len(), |i| open + i + close.len())
        } else if c == '"' {
            string_length(rest)
        } else if rest.starts_with("'\"'") || rest.starts_with("'\\\"'") {
            rest[1..].find("\"'").map_or(1, |i| i + 3)
        } else {
            out.push(c);
            rest = &rest[c.len_utf8()..];
            continue;
        };
        rest = &rest[skip..];
        out.push(' ');
    }
    let words: Vec<&str> = out.split_whitespace().collect();
    let mut joined = words.join(" ");
    for sign in ["::", "{", "}", ","] {
        joined = joined.replace(&format!(" {sign}"), sign).replace(&format!("{sign} "), sign);
    }
    joined
}

/// The number of `#` of the raw string that starts here.
fn raw_string(text: &str) -> Option<usize> {
    let rest = text.strip_prefix('r')?;
    let hashes = rest.len() - rest.trim_start_matches('#').len();
    rest[hashes..].starts_with('"').then_some(hashes)
}

/// Bytes of the string literal that starts here, quotes included.
fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (i, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return i + 1,
            _ => (),
        }
    }
    text.len()
}

/// First names of the paths that start with `crate::` (or `msrm::`) in blanked code.
fn named_rooms(code: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for root in ["crate::", "msrm::"] {
        for (at, _) in code.match_indices(root) {
            // `$crate::` is a path too; `my_crate::` is none.
            if code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_') {
                continue;
            }
            let rest = &code[at + root.len()..];
            match rest.strip_prefix('{') {
                Some(group) => names.extend(heads(group)),
                None => names.extend(head(rest)),
            }
        }
    }
    names
}

fn head(path: &str) -> Option<String> {
    let end = path.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(path.len());
    (end > 0).then(|| path[..end].to_string())
}

/// First names of the entries of a group, up to its closing brace.
fn heads(group: &str) -> Vec<String> {
    let (mut depth, mut start, mut found) = (0, 0, Vec::new());
    for (i, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                found.extend(head(&group[start..i]));
                start = i + 1;
                if c == '}' {
                    break;
                }
            }
            _ => (),
        }
    }
    found
}

#[test]
fn the_reader_of_imports_sees_every_form() {
    let text = r##"
        //! crate::cli in a comment
        use crate::bind::{Plan, graph};
        use crate::{
            base::{Span, Source}, lang,
            model as checked,
        };
        const A: &str = "crate::run and // no comment";
        const B: &str = r#"crate::report "quoted" "#;
        const C: char = '"';
        fn f() -> crate::math
            ::dist::Family { $crate::data::load(); my_crate::archive() }
        /* crate::infer */
        use msrm::diagnose::ess; // crate::terms
    "##;
    let expected = ["base", "bind", "data", "diagnose", "lang", "math", "model"];
    assert_eq!(named_rooms(&code(text)), expected.map(String::from).into());
}

#[test]
fn a_room_uses_only_the_rooms_above_it() {
    let mut faults = Vec::new();
    for (place, room) in ROOMS.iter().enumerate() {
        let files = sources(&root().join("src").join(room));
        assert!(!files.is_empty(), "the room `{room}` is empty");
        for (path, text) in files {
            for used in named_rooms(&code(&text)) {
                match ROOMS.iter().position(|r| *r == used) {
                    Some(other) if other <= place => {}
                    Some(_) => {
                        faults.push(format!("{}: `{room}` uses `{used}`, which stands below it", path.display()))
                    }
                    None => faults.push(format!("{}: `crate::{used}` is no room", path.display())),
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn no_path_climbs_out_of_its_room() {
    for room in ROOMS {
        let folder = root().join("src").join(room);
        for (path, text) in sources(&folder) {
            // Steps from the module of this file up to the root of the crate; a module inside a file adds one.
            let steps = path.strip_prefix(&folder).expect("below the room").components().count();
            let is_mod = path.file_name().is_some_and(|n| n == "mod.rs");
            let own = if is_mod { steps } else { steps + 1 };
            let inner = usize::from(text.contains("#[cfg(test)]"));
            let climb = "super::".repeat(own + inner);
            assert!(!code(&text).contains(&climb), "{} leaves its room by `{climb}`", path.display());
        }
    }
}

#[test]
fn only_graph_knows_burn() {
    let mut inside = 0;
    for (path, text) in sources(&root().join("src")) {
        let code = code(&text);
        let words = code.split(|c: char| !c.is_alphanumeric() && c != '_');
        let burn = words.filter(|w| *w == "burn" || w.starts_with("burn_") && !is_module(w)).count();
        if path.starts_with(root().join("src/graph")) {
            inside += burn;
        } else {
            assert_eq!(burn, 0, "{} speaks of burn", path.display());
        }
    }
    assert!(inside > 0, "the search would have found burn");
}

/// Whether a word is the name of a module of `graph` rather than of a crate.
fn is_module(word: &str) -> bool {
    root().join("src/graph").join(format!("{word}.rs")).exists()
}

#[test]
fn the_library_declares_the_rooms_and_nothing_else() {
    let lib = fs::read_to_string(root().join("src/lib.rs")).expect("src/lib.rs");
    let declared: BTreeSet<&str> =
        lib.lines().filter_map(|l| l.strip_prefix("pub mod ").and_then(|l| l.strip_suffix(';'))).collect();
    assert_eq!(declared, ROOMS.into(), "the modules of src/lib.rs");
    // Anything else is there for tests alone.
    let lines: Vec<&str> = lib.lines().collect();
    for (above, line) in lines.iter().zip(&lines[1..]).filter(|(_, line)| line.starts_with("mod ")) {
        assert!(["#[cfg(test)]", "#[cfg(doctest)]"].contains(above), "`{line}` in src/lib.rs is no public room");
    }
    // The formatter sorts the modules, so that the order of the data is told in words.
    let doc: Vec<&str> = lines.iter().map_while(|l| l.strip_prefix("//!")).map(str::trim).collect();
    let order = ROOMS.map(|r| format!("`{r}`")).join(", ");
    assert!(doc.join(" ").contains(&order), "the head of src/lib.rs does not tell the order of the rooms: {order}");
    let folders: BTreeSet<String> = fs::read_dir(root().join("src"))
        .expect("src/")
        .map(|e| e.expect("an entry").path())
        .filter(|p| p.is_dir())
        .map(|p| p.file_name().expect("a name").to_string_lossy().into_owned())
        .collect();
    assert_eq!(folders, ROOMS.map(String::from).into(), "the folders of src/");
}

#[test]
fn every_file_opens_with_its_job() {
    let mut faults = Vec::new();
    for folder in ["src", "tests", "examples", "benches"] {
        let files = sources(&root().join(folder));
        assert!(!files.is_empty(), "{folder}/ holds no Rust file");
        for (path, text) in files {
            let first = text.lines().next().unwrap_or_default();
            let sentence = first.strip_prefix("//! ").unwrap_or_default();
            if sentence.len() < 10 {
                faults.push(format!("{}: opens with `{first}`", path.display()));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn the_readme_shows_every_room_in_order() {
    let readme = fs::read_to_string(root().join("README.md")).expect("README.md");
    let rows: Vec<(&str, &str)> = readme
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once("` | "))
        .filter(|(name, _)| ROOMS.contains(name))
        .collect();
    let names: Vec<&str> = rows.iter().map(|r| r.0).collect();
    assert_eq!(names, ROOMS, "the table of rooms in README.md");
    for (room, sentence) in rows {
        assert!(sentence.len() > 20, "README.md does not say what `{room}` is for");
    }
}
