//! What the repository must not hold. Each rule is an absence, and each complaint names the place.

mod sources;

use std::path::Path;

use fathom_survey::experiment::REGISTRY;
use sources::{code, crates, files, name, root, rust, text};

const MOST_LINES: usize = 500;

/// Every line of code of the given files for which `is_wrong` holds, with its place.
fn lines(paths: &[std::path::PathBuf], is_wrong: impl Fn(&str) -> bool) -> Vec<String> {
    let of = |path: &Path| {
        let wrong = code(path).into_iter().filter(|(_, line)| is_wrong(line));
        wrong.map(|(number, line)| format!("{}:{number}: {}", name(path), line.trim())).collect::<Vec<_>>()
    };
    paths.iter().flat_map(|path| of(path)).collect()
}

fn holds_word(line: &str, word: &str) -> bool {
    line.split(|c: char| !c.is_alphanumeric() && c != '_').any(|part| part == word)
}

#[test]
fn unsafe_code_stands_in_one_crate_alone() {
    let keyword = concat!("un", "safe");
    for (krate, directory) in crates() {
        if krate != "fathom-sys" {
            let found = lines(&rust(&directory), |line| holds_word(line, keyword));
            assert!(found.is_empty(), "only fathom-sys may hold {keyword}:\n{}", found.join("\n"));
        }
    }
}

#[test]
fn the_command_line_alone_prints() {
    let printing = ["print!(", "println!(", "eprint!(", "eprintln!(", "dbg!(", "stdout()", "stderr()"];
    for (krate, directory) in crates() {
        // What tests share says on standard error what was skipped.
        if !["fathom-cli", "fathom-scripted"].contains(&krate.as_str()) {
            let found =
                lines(&rust(&directory.join("src")), |line| printing.iter().any(|call| line.contains(call)));
            assert!(found.is_empty(), "only fathom-cli may print:\n{}", found.join("\n"));
        }
    }
}

#[test]
fn files_are_short() {
    let last = |path: &std::path::PathBuf| code(path).last().map_or(0, |(number, _)| *number);
    let files = crates().into_iter().flat_map(|(_, directory)| rust(&directory.join("src")));
    let long = files.filter(|path| last(path) > MOST_LINES);
    let said: Vec<String> = long.map(|path| format!("{} has {} lines", name(&path), last(&path))).collect();
    assert!(said.is_empty(), "without their tests:\n{}", said.join("\n"));
}

/// Everything known of a question stands in its one file, so that a new one needs no other.
#[test]
fn no_file_but_its_own_names_an_experiments_parameter() {
    let model: String = rust(&root().join("crates/fathom-model/src")).iter().map(|path| text(path)).collect();
    for (krate, directory) in crates() {
        // The model has parameters of its own, some of the same names, of which calibration speaks as well.
        let is_model = |name: &str| krate == "fathom-predict" && model.contains(name);
        let literals: Vec<String> = REGISTRY
            .iter()
            .map(|experiment| format!("\"{}\"", experiment.about().parameter))
            .filter(|literal| krate != "fathom-model" && !is_model(literal))
            .collect();
        let elsewhere = |path: &std::path::PathBuf| {
            !path.ancestors().any(|part| part.ends_with("fathom-survey/src/experiment"))
        };
        let paths: Vec<_> = rust(&directory.join("src")).into_iter().filter(elsewhere).collect();
        let found = lines(&paths, |line| literals.iter().any(|literal| line.contains(literal)));
        assert!(found.is_empty(), "only its own file may name a parameter:\n{}", found.join("\n"));
    }
}

#[test]
fn no_file_names_a_place_on_somebodys_machine() {
    let places =
        [concat!("/ho", "me/"), concat!("/ro", "ot/"), concat!("/Us", "ers/"), concat!("/wo", "rk/")];
    for path in files(&root()) {
        let text = text(&path);
        for (number, line) in text.lines().enumerate() {
            let place = places.iter().find(|place| line.contains(*place));
            assert!(place.is_none(), "{}:{}: {place:?}", name(&path), number + 1);
        }
    }
}
