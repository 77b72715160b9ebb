//! The files of the repository, as the tests that watch over it see them.

use std::fs;
use std::path::{Path, PathBuf};

/// The root of the workspace.
pub(crate) fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().unwrap_or(root)
}

/// Every file below `directory`, sorted, without what is built or belongs to version control.
pub(crate) fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut left = vec![directory.to_owned()];
    while let Some(directory) = left.pop() {
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            let path = entry.path();
            let name = entry.file_name();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && name != "target" && name != ".git" => left.push(path),
                Ok(kind) if kind.is_file() && name != ".git" => found.push(path),
                _ => {}
            }
        }
    }
    found.sort();
    found
}

/// Every Rust file below `directory`.
pub(crate) fn rust(directory: &Path) -> Vec<PathBuf> {
    let is_rust = |path: &PathBuf| path.extension().is_some_and(|end| end == "rs");
    files(directory).into_iter().filter(is_rust).collect()
}

/// The directories of the crates, by name: those of the product, and those that only tests use.
pub(crate) fn crates() -> Vec<(String, PathBuf)> {
    let entries = |folder| fs::read_dir(root().join(folder)).expect("the workspace has both").flatten();
    let mut crates: Vec<(String, PathBuf)> = ["crates", "tests"]
        .into_iter()
        .flat_map(entries)
        .filter(|entry| entry.path().join("Cargo.toml").is_file())
        .map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path()))
        .collect();
    crates.sort();
    crates
}

/// A file's text; not every file is text, and those that are not have none.
pub(crate) fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

/// The lines of a Rust file that are neither comment nor tests, numbered from 1.
///
/// Tests stand at the end of a file, below `#[cfg(test)]`, or in a file of their own.
pub(crate) fn code(path: &Path) -> Vec<(usize, String)> {
    if is_for_tests(path) {
        return Vec::new();
    }
    let text = text(path);
    let lines: Vec<&str> = text.lines().collect();
    let opens_tests = |pair: &[&str]| {
        pair[0].trim() == "#[cfg(test)]" && pair[1].starts_with("mod ") && pair[1].ends_with('{')
    };
    let end = lines.windows(2).position(opens_tests).unwrap_or(lines.len());
    let numbered = lines[..end].iter().enumerate().map(|(index, line)| (index + 1, *line));
    numbered
        .filter(|(_, line)| !line.trim_start().starts_with("//"))
        .map(|(number, line)| (number, line.split(" // ").next().unwrap_or_default().to_owned()))
        .collect()
}

/// Whether the module above declares this file, or a folder that it is in, below `#[cfg(test)]`.
fn is_for_tests(path: &Path) -> bool {
    path.ancestors().any(|part| {
        let (Some(folder), Some(stem)) = (part.parent(), part.file_stem()) else { return false };
        let declares = format!("#[cfg(test)]\nmod {};", stem.to_string_lossy());
        let above = [folder.join("lib.rs"), folder.join("main.rs"), folder.with_extension("rs")];
        above.iter().any(|module| text(module).contains(&declares))
    })
}

/// A path as it is named in the repository.
pub(crate) fn name(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}
