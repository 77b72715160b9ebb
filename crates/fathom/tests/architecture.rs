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

/// The top-level modules of `fathom` in reading order.
fn reading_order() -> Vec<String> {
    let library = root().join("crates/fathom/src/lib.rs");
    code(&library)
        .iter()
        .filter_map(|(_, line)| {
            line.trim_start_matches("pub ").strip_prefix("mod ")?.strip_suffix(';').map(str::to_owned)
        })
        .collect()
}

/// What each top-level module of `fathom` uses: other modules, and the crates beside it.
fn module_arrows() -> (Arrows, BTreeMap<(String, String), String>) {
    let source = root().join("crates/fathom/src");
    let modules = reading_order();
    let (mut arrows, mut places) = (Arrows::new(), BTreeMap::new());
    for module in &modules {
        let used = arrows.entry(module.clone()).or_default();
        let mut paths = rust(&source.join(module));
        paths.push(source.join(format!("{module}.rs")));
        for path in paths {
            for (number, line) in code(&path) {
                let place = format!("{}:{number}", name(&path));
                for what in imports(&line, &path, &source, &place) {
                    if what != *module && (modules.contains(&what) || what.starts_with("fathom-")) {
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
    for krate in ["fathom_fuse", "fathom_trace", "fathom_sys", "fathom_stats", "fathom_net", "fathom_model"] {
        if line.contains(&format!("{krate}::")) {
            found.push(krate.replace('_', "-"));
        }
    }
    found
}

#[test]
fn crates_depend_as_the_map_allows() {
    compare("### Between crates", &crate_arrows(), &BTreeMap::new());
}

#[test]
fn modules_import_as_the_map_allows() {
    let (arrows, places) = module_arrows();
    compare("### Inside `fathom`", &arrows, &places);
}

#[test]
fn modules_use_what_stands_above_them() {
    let order = reading_order();
    let place = |module: &str| order.iter().position(|other| other == module);
    let exceptions: Arrows = allowed("### Against the reading order").into_iter().collect();
    let (arrows, places) = module_arrows();
    let mut against = Arrows::new();
    for (who, used) in &arrows {
        for what in used.iter().filter(|what| place(what) > place(who)) {
            let excused = exceptions.get(who).is_some_and(|allowed| allowed.contains(what));
            let at = &places[&(who.clone(), what.clone())];
            assert!(excused, "{who} uses {what}, which stands below it in lib.rs: {at}");
            against.entry(who.clone()).or_default().insert(what.clone());
        }
    }
    assert_eq!(against, exceptions, "exceptions that ARCHITECTURE.md lists and the code no longer needs");
}
