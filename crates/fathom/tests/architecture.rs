//! The tables of allowed arrows in ARCHITECTURE.md, held against what the crates and modules import.

mod sources;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use sources::{code, crates, name, root, rust, text};

type Arrows = BTreeMap<String, BTreeSet<String>>;

/// The table below a heading: first column, who; second column, what it may use.
fn allowed(heading: &str) -> Vec<(String, BTreeSet<String>)> {
    let map = text(&root().join("ARCHITECTURE.md"));
    let section = map.split(&format!("{heading}\n")).nth(1).expect("ARCHITECTURE.md has the heading");
    let rows = section.lines().skip_while(|line| !line.starts_with('|')).skip(2);
    rows.take_while(|line| line.starts_with('|'))
        .map(|line| {
            let cells: Vec<&str> = line.trim_matches('|').split('|').collect();
            let names = |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect();
            let who: Vec<String> = names(cells[0]);
            (who[0].clone(), names(cells[1]).into_iter().collect())
        })
        .collect()
}

/// Fails where the table and the code differ, in either direction: a map that allows more than there
/// is does not guide anybody.
fn compare(heading: &str, actual: &Arrows, places: &BTreeMap<(String, String), String>) {
    let table: Arrows = allowed(heading).into_iter().collect();
    let mut faults = Vec::new();
    let none = BTreeSet::new();
    for (who, used) in actual {
        let row = table.get(who);
        if row.is_none() {
            faults.push(format!("there is no row '{who}'"));
        }
        let allowed = row.unwrap_or(&none);
        for what in used.difference(allowed) {
            let place = places.get(&(who.clone(), what.clone())).map_or("its manifest", String::as_str);
            faults.push(format!("{who} may not use {what}, but does in {place}"));
        }
        let idle = allowed.difference(used);
        faults.extend(idle.map(|what| format!("{who} does not use {what}: remove the arrow")));
    }
    let gone = table.keys().filter(|who| !actual.contains_key(*who));
    faults.extend(gone.map(|who| format!("there is a row '{who}', and nothing is so named")));
    assert!(faults.is_empty(), "ARCHITECTURE.md, {heading}:\n{}", faults.join("\n"));
}

/// Dependencies on crates of the workspace, those of tests aside.
fn crate_arrows() -> Arrows {
    let names: BTreeSet<String> = crates().into_iter().map(|(name, _)| name).collect();
    let mut arrows = Arrows::new();
    for (krate, directory) in crates() {
        let manifest = text(&directory.join("Cargo.toml"));
        let mut section = "";
        let used = arrows.entry(krate).or_default();
        for line in manifest.lines() {
            if line.starts_with('[') {
                section = line.trim();
            }
            let dependency = line.split(['.', '=', ' ']).next().unwrap_or_default();
            if section.ends_with("dependencies]") && !section.contains("dev-") && names.contains(dependency) {
                used.insert(dependency.to_owned());
            }
        }
    }
    arrows
}

/// The names that follow `prefix` in a line: `crate::` gives the modules that are used.
fn named_after<'a>(line: &'a str, prefix: &str) -> Vec<&'a str> {
    let word_end = |rest: &str| rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
    line.match_indices(prefix)
        .filter(|(at, _)| {
            !line[..*at].ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | ':'))
        })
        .map(|(at, _)| &line[at + prefix.len()..])
        .map(|rest| &rest[..word_end(rest)])
        .collect()
}

/// The crates whose modules the map orders: those with a table of their own.
fn mapped_crates() -> Vec<String> {
    let map = text(&root().join("ARCHITECTURE.md"));
    let headings = map.lines().filter_map(|line| line.strip_prefix("### Inside `")?.strip_suffix('`'));
    headings.map(str::to_owned).collect()
}

/// The top-level modules of a crate in reading order.
fn reading_order(krate: &str) -> Vec<String> {
    let source = root().join("crates").join(krate).join("src");
    let library = ["lib.rs", "main.rs"].map(|name| source.join(name)).into_iter().find(|path| path.exists());
    let is_module = |line: &str| {
        line.trim_start_matches("pub ").strip_prefix("mod ")?.strip_suffix(';').map(str::to_owned)
    };
    code(&library.unwrap_or(source)).iter().filter_map(|(_, line)| is_module(line)).collect()
}

/// Which modules of its crate each top-level module uses, and where.
fn module_arrows(krate: &str) -> (Arrows, BTreeMap<(String, String), String>) {
    let source = root().join("crates").join(krate).join("src");
    let modules = reading_order(krate);
    let (mut arrows, mut places) = (Arrows::new(), BTreeMap::new());
    for module in &modules {
        let used = arrows.entry(module.clone()).or_default();
        let mut paths = rust(&source.join(module));
        paths.push(source.join(format!("{module}.rs")));
        for path in paths {
            for (number, line) in code(&path) {
                let place = format!("{}:{number}", name(&path));
                for what in imports(&line, &path, &source, &place) {
                    if what != *module && modules.contains(&what) {
                        places.entry((module.clone(), what.clone())).or_insert_with(|| place.clone());
                        used.insert(what);
                    }
                }
            }
        }
    }
    (arrows, places)
}

fn imports(line: &str, path: &Path, source: &Path, place: &str) -> Vec<String> {
    let mut found: Vec<String> = named_after(line, "crate::").into_iter().map(str::to_owned).collect();
    assert!(!found.iter().any(String::is_empty), "{place}: name one module of the crate per import");
    // Each `super` goes up by one; those that reach the top of the crate name a module of it.
    let depth = path.strip_prefix(source).map_or(0, |inside| inside.components().count());
    found.extend(named_after(line, &"super::".repeat(depth)).into_iter().map(str::to_owned));
    found
}

#[test]
fn crates_depend_as_the_map_allows() {
    compare("### Between crates", &crate_arrows(), &BTreeMap::new());
}

#[test]
fn modules_import_as_the_map_allows() {
    for krate in mapped_crates() {
        let (arrows, places) = module_arrows(&krate);
        compare(&format!("### Inside `{krate}`"), &arrows, &places);
    }
}

#[test]
fn modules_use_what_stands_above_them() {
    for krate in mapped_crates() {
        let order = reading_order(&krate);
        let place = |module: &str| order.iter().position(|other| other == module);
        let (arrows, places) = module_arrows(&krate);
        for (who, used) in &arrows {
            for what in used {
                let at = &places[&(who.clone(), what.clone())];
                assert!(
                    place(what) < place(who),
                    "{who} uses {what}, which stands below it at the top of the crate: {at}"
                );
            }
        }
    }
}

/// The names that follow `prefix` in code, also those of a list in braces: `super::{a, b::c}` gives `a` and `b`.
fn heads(code: &str, prefix: &str) -> Vec<String> {
    let mut found: Vec<String> = named_after(code, prefix).into_iter().map(str::to_owned).collect();
    for (at, _) in code.match_indices(&format!("{prefix}{{")) {
        let (mut depth, mut is_start) = (0, true);
        for (place, letter) in code[at + prefix.len()..].char_indices() {
            match letter {
                '{' => depth += 1,
                '}' if depth == 1 => break,
                '}' => depth -= 1,
                ',' if depth == 1 => is_start = true,
                _ if letter.is_whitespace() => continue,
                _ if depth == 1 && is_start => {
                    let rest = &code[at + prefix.len() + place..];
                    let is_letter = |c: char| c.is_alphanumeric() || c == '_';
                    found.push(rest.chars().take_while(|&c| is_letter(c)).collect());
                    is_start = false;
                }
                _ => {}
            }
        }
    }
    found
}

/// Which of the modules in a folder use which, whatever depth the code stands at.
fn sibling_arrows(source: &Path, folder: &Path) -> Arrows {
    let stem = |path: &std::path::PathBuf| Some(path.file_stem()?.to_str()?.to_owned());
    let is_here = |path: &std::path::PathBuf| path.parent() == Some(folder);
    let paths = rust(folder);
    let modules: BTreeSet<String> = paths.iter().filter(|path| is_here(path)).filter_map(stem).collect();
    let inside = folder.strip_prefix(source).unwrap_or(folder);
    let from_top: String =
        inside.components().map(|part| format!("{}::", part.as_os_str().display())).collect();
    let mut arrows = Arrows::new();
    for path in paths {
        let inner = path.strip_prefix(folder).unwrap_or(&path);
        let Some(first) = inner.components().next() else { continue };
        let who = first.as_os_str().to_string_lossy().trim_end_matches(".rs").to_owned();
        let code: String = code(&path).into_iter().map(|(_, line)| line + "\n").collect();
        let prefixes = ["super::".repeat(inner.components().count()), format!("crate::{from_top}")];
        let used = prefixes.iter().flat_map(|prefix| heads(&code, prefix));
        let used = used.filter(|what| *what != who && modules.contains(what));
        arrows.entry(who.clone()).or_default().extend(used);
    }
    arrows
}

#[test]
fn no_modules_of_a_folder_use_each_other_in_a_circle() {
    for (krate, directory) in crates() {
        let source = directory.join("src");
        let folders: BTreeSet<_> =
            rust(&source).iter().filter_map(|path| Some(path.parent()?.to_owned())).collect();
        for folder in folders {
            let mut arrows = sibling_arrows(&source, &folder);
            while let Some(done) = arrows.iter().find(|(_, used)| used.is_empty()).map(|(who, _)| who.clone())
            {
                arrows.remove(&done);
                arrows.values_mut().for_each(|used| used.retain(|what| *what != done));
            }
            assert!(arrows.is_empty(), "{krate}, {}: in circles, or above them: {arrows:?}", name(&folder));
        }
    }
}

/// No room holds more than a fifth of the house.
#[test]
fn no_crate_outgrows_the_others() {
    let lines = |directory: &Path| -> usize {
        rust(&directory.join("src"))
            .iter()
            .map(|path| code(path).last().map_or(0, |(number, _)| *number))
            .sum()
    };
    let sizes: Vec<(String, usize)> =
        crates().into_iter().map(|(name, directory)| (name, lines(&directory))).collect();
    let all: usize = sizes.iter().map(|(_, lines)| lines).sum();
    for (name, lines) in sizes {
        assert!(lines * 5 <= all, "{name} has {lines} of {all} lines");
    }
}
