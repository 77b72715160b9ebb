//! The published schemas are those of the types that are written, and are no empty promise.

mod published;

use std::fs;

use fathom::results;
use serde_json::json;

#[test]
fn the_published_schemas_are_those_of_the_types() {
    let differs = |name: &str, derived| published::schema(name) != derived;
    let stale = results::published().filter(|(kind, schema)| differs(kind.name, schema()));
    let stale: Vec<&str> = stale.map(|(kind, _)| kind.name).collect();
    assert!(
        stale.is_empty(),
        "{stale:?} differ from the types; make them again with\n\
         cargo run --release -- schema --write-all schema"
    );
}

#[test]
fn each_kind_is_published_and_nothing_else() {
    let names: Vec<&str> = results::published().map(|(kind, _)| kind.name).collect();
    let folder = published::path("survey");
    let entries = fs::read_dir(folder.parent().unwrap()).unwrap().flatten();
    let files: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    for (kind, _) in results::published() {
        assert!(files.contains(&kind.schema_file().unwrap()), "{} is not published", kind.name);
    }
    // Older versions stay for those who hold such files.
    let of = |file: &str| {
        let versioned = file.strip_prefix("fathom.")?.strip_suffix(".schema.json")?;
        Some(versioned.rsplit_once('-')?.0.to_owned())
    };
    for file in files {
        assert!(of(&file).is_some_and(|name| names.contains(&name.as_str())), "{file} is of no kind");
    }
}

#[test]
fn something_else_breaks_the_schema() {
    for (kind, _) in results::published() {
        let other = json!({"schema": "other/1"});
        let broken = std::panic::catch_unwind(|| published::check(kind.name, &other));
        assert!(broken.is_err(), "{}", kind.name);
    }
}
