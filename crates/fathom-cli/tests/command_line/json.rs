//! What programs read: JSON alone on standard output, kept to the published schemas, and run folders.

use std::fs;

use serde_json::Value;

use crate::published;
use crate::support::{Outcome, Place, SHORT, can_mount, fathom, require, survey};

#[track_caller]
fn parsed(outcome: &Outcome) -> Value {
    assert!(matches!(outcome.code, Some(0 | 3)), "{outcome:?}");
    serde_json::from_str(&outcome.out).unwrap_or_else(|error| panic!("{error}: {outcome:?}"))
}

#[test]
fn a_dash_gives_json_alone_on_standard_output() {
    let place = Place::new();
    let outcome = survey(place.text(), &["--json", "-"]);
    let json = parsed(&outcome);
    published::check("survey", &json);
    assert_eq!(json["schema"], "fathom.survey/1");
    let names: Vec<&str> =
        json["findings"].as_array().unwrap().iter().filter_map(|one| one["parameter"].as_str()).collect();
    assert_eq!(names, ["page_size", "block_size"]);
    assert!(outcome.err.contains("page_size") && outcome.err.contains("verdict"), "{outcome:?}");
    assert!(place.names().is_empty(), "{:?}", place.names());
}

#[test]
fn a_run_folder_can_be_inferred_again() {
    let (place, kept) = (Place::new(), Place::new());
    let (run, file) = (kept.join("run"), kept.join("survey.json"));
    let outcome = survey(place.text(), &["--out", &run, "--json", &file, "--seed", "7"]);
    outcome.is_done();
    assert!(outcome.err.contains(&format!("{run}/report.html")), "{outcome:?}");
    let of = |path: &str| -> Value { serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap() };
    let first = of(&file);
    published::check("survey", &first);
    assert_eq!((first["seed"].as_u64(), &first), (Some(7), &of(&format!("{run}/survey.json"))));
    let header = fs::read_to_string(format!("{run}/samples/block_size.csv")).unwrap();
    assert!(header.starts_with("run,offset_bytes,latency_ticks,round,cached,"), "{}", &header[..80]);
    let again = parsed(&fathom(&["report", &run, "--json", "-"]));
    published::check("survey", &again);
    assert_eq!(again["findings"], first["findings"]);
}

#[test]
fn every_way_to_ask_gives_json_of_the_schema() {
    let place = Place::new();
    let kinds = ["timing", "witness", "declared"];
    for evidence in kinds {
        let json = parsed(&survey(place.text(), &["--json", "-", "--evidence", evidence]));
        published::check("survey", &json);
        for piece in json["findings"].as_array().unwrap().iter().flat_map(|one| one["evidence"].as_array()) {
            assert!(piece.iter().all(|piece| piece["kind"] == evidence), "{json}");
        }
    }
    // A budget that allows nothing: refused, which is an answer too.
    let outcome = fathom(&["survey", place.text(), "--json", "-", "--max-write", "1K", "--max-time", "5s"]);
    assert_eq!(outcome.code, Some(3), "{outcome:?}");
    published::check("survey", &parsed(&outcome));
}

#[test]
fn the_other_commands_print_json_that_parses() {
    let list = parsed(&fathom(&["list", "--json"]));
    assert!(list.as_array().unwrap().iter().all(|one| one["question"].is_string()), "{list}");
    for report in ["survey", "lab", "xor", "io", "io-size", "syscalls"] {
        assert!(parsed(&fathom(&["schema", report])) == published::schema(report), "{report}");
    }
    let workload = parsed(&fathom(&["probe", "--dry-run", "--op", "lseek,read"]));
    assert_eq!(workload["passes"][1]["ops"], serde_json::json!(["lseek", "read"]));
}

#[test]
fn a_recipe_is_printed_with_its_samples() {
    let place = Place::new();
    let outcome = fathom(&["probe", place.text(), "--recipe", "paper-a-block-512"]);
    assert_eq!((outcome.code, outcome.out.lines().count()), (Some(0), 301), "{outcome:?}");
    for words in ["paper A, figure 6", "and concluded: peaks", "Fathom, from these samples: "] {
        assert!(outcome.err.contains(words), "{outcome:?}");
    }
    assert!(place.names().is_empty(), "{:?}", place.names());
    assert!(fathom(&["probe", "--list-recipes"]).out.contains("paper-d-prefetch-sweep (paper D, figure 4)"));
}

#[test]
fn a_probe_prints_one_line_per_sample() {
    let place = Place::new();
    let outcome = fathom(&["probe", place.text(), "--size", "1", "--count", "10", "--rounds", "3"]);
    assert_eq!((outcome.code, outcome.out.lines().count()), (Some(0), 31), "{outcome:?}");
    assert!(outcome.out.starts_with("offset_bytes,latency_ticks,round,"), "{outcome:?}");
    assert!(place.names().is_empty(), "{:?}", place.names());
}

#[test]
fn the_lab_gives_json_of_its_schema() {
    let reason = "the lab mounts file systems, which needs root and CAP_SYS_ADMIN";
    if require("the_lab_gives_json_of_its_schema", can_mount(), reason) {
        let arguments = [&["lab", "run", "--cases", "tmpfs", "--json", "-"], &SHORT[..]].concat();
        let json = parsed(&fathom(&arguments));
        published::check("lab", &json);
        assert_eq!(json["cases"][0]["outcome"], "surveyed", "{json}");
    }
}
