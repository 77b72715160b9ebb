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
        .filter(|(at, _)| !line[..*at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '$'))
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
