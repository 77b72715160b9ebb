//! Results that commands keep in a folder with a page, and `fathom report` of each folder.

use std::fs;
use std::path::Path;

use crate::support::{NO_MOUNTS, Outcome, Place, SHORT, can_mount, command, fathom, mounted, require};

/// Runs a command that keeps its result in `kept`, and checks that its folder is enough for the page and the text.
fn is_kept(arguments: &[&str], kept: &str) {
    let made = fathom(arguments);
    assert!(matches!(made.code, Some(0 | 3)), "{arguments:?}: {made:?}");
    assert!(made.err.contains("report.html"), "{arguments:?}: {made:?}");
    let page = Path::new(kept).join("report.html");
    let first = fs::read_to_string(&page).unwrap();
    fs::remove_file(&page).unwrap();
    let again = fathom(&["report", kept]);
    assert_eq!(again.code, Some(0), "{arguments:?}: {again:?}");
    assert!(again.out.starts_with(&made.out), "{arguments:?}: another text: {made:?}, {again:?}");
    assert!(fs::read_to_string(&page).unwrap() == first, "{arguments:?}: another page");
    // What is there is not overwritten.
    fathom(arguments).complains(1, "earlier run");
}

#[test]
fn jobs_and_their_prediction_are_kept() {
    let (place, kept) = (Place::new(), Place::new());
    let job = kept.join("job.fio");
    fs::write(&job, "[reads]\nrw=randread\nbs=4k\nsize=256k\n").unwrap();
    let (ran, predicted) = (kept.join("ran"), kept.join("predicted"));
    is_kept(&["run", &job, place.text(), "--out", &ran], &ran);
    is_kept(&["predict", &job, "--on", "assumed", "--draws", "2", "--out", &predicted], &predicted);
    // The model that predicted is a model like any other.
    let model = format!("{predicted}/model.json");
    let again = fathom(&["predict", &job, "--on", &model, "--draws", "2"]);
    assert_eq!(again.code, Some(0), "{again:?}");
    assert!(place.names().is_empty(), "{:?}", place.names());
}

#[test]
fn a_quiet_command_keeps_its_result_and_gives_no_advice() {
    let (place, kept) = (Place::new(), Place::new());
    let job = kept.join("job.fio");
    fs::write(&job, "[reads]\nrw=randread\nbs=4k\nsize=64k\n").unwrap();
    let ran = kept.join("ran");
    let quiet = fathom(&["--quiet", "run", &job, place.text(), "--out", &ran]);
    assert!(quiet.code == Some(0) && quiet.err.is_empty() && quiet.out.contains("reads"), "{quiet:?}");
    let report = fathom(&["report", &ran, "--quiet"]);
    assert!(report.code == Some(0) && report.err.is_empty() && report.out == quiet.out, "{report:?}");
}

#[test]
fn an_xor_is_kept() {
    let kept = Place::new();
    let (file, out) = (kept.join("file"), kept.join("out"));
    fs::write(&file, vec![7; 1 << 20]).unwrap();
    is_kept(&["xor", &file, "--out", &out], &out);
}

#[test]
fn what_a_trace_does_and_its_replay_are_kept() {
    let (place, kept) = (Place::new(), Place::new());
    let (log, trace) = (kept.join("log"), kept.join("trace"));
    let lines: String = (0..50).map(|at| format!("{} data read {} 4096\n", at * 10, at * 4096)).collect();
    fs::write(&log, format!("fio version 3 iolog\n0 data add\n0 data open\n{lines}")).unwrap();
    let imported = fathom(&["trace", "import", &log, "--out", &trace]);
    assert_eq!(imported.code, Some(0), "{imported:?}");
    let (shown, replayed) = (kept.join("shown"), kept.join("replayed"));
    is_kept(&["trace", "show", &trace, "--out", &shown], &shown);
    is_kept(&["run", &trace, place.text(), "--pace", "fast", "--out", &replayed], &replayed);
}

#[test]
fn a_comparison_with_other_programs_is_kept() {
    let (place, kept) = (Place::new(), Place::new());
    let out = kept.join("out");
    let short = ["--block-sizes", "64K", "--file-size", "1M", "--state", "cached", "--max-time", "3s"];
    is_kept(&[&["versus", place.text(), "--out", &out], &short[..]].concat(), &out);
}

/// Runs a prediction with a state directory of its own, and gives what it did.
fn predicted(state: &str, job: &str, more: &[&str]) -> Outcome {
    let arguments = [&["predict", job, "--on", "assumed", "--draws", "2"], more].concat();
    command(&arguments).env("XDG_STATE_HOME", state).output().unwrap().into()
}

#[test]
fn without_a_folder_a_result_is_kept_where_programs_keep_their_state() {
    let (kept, state) = (Place::new(), Place::new());
    let job = kept.join("job.fio");
    fs::write(&job, "[reads]\nrw=randread\nbs=4k\nsize=256k\n").unwrap();
    for more in [&["--no-report"][..], &["--format", "json"], &["--format", "fio-json"]] {
        let done = predicted(state.text(), &job, more);
        assert!(done.code == Some(0) && !done.err.contains("report"), "{more:?}: {done:?}");
        assert!(state.names().is_empty(), "{more:?}: {:?}", state.names());
    }
    let done = predicted(state.text(), &job, &[]);
    assert_eq!(done.code, Some(0), "{done:?}");
    let shelved = Place::names_in(&state.path().join("fathom"));
    assert!(shelved.len() == 1 && shelved[0].starts_with("predict-"), "{shelved:?}");
    let folder = state.join(&format!("fathom/{}", shelved[0]));
    assert!(done.err.contains(&format!("{folder}/report.html")), "{done:?}");
    let again = fathom(&["report", &folder]);
    assert!(again.code == Some(0) && again.out == done.out, "{again:?}");
}

#[test]
fn a_report_that_nobody_asked_for_and_that_finds_no_place_costs_a_line_and_nothing_else() {
    let kept = Place::new();
    let job = kept.join("job.fio");
    fs::write(&job, "[reads]\nrw=randread\nbs=4k\nsize=256k\n").unwrap();
    let done = predicted("/proc/nowhere", &job, &[]);
    assert!(done.code == Some(0) && done.out.contains("reads"), "{done:?}");
    assert!(done.err.contains("No report is kept: make /proc/nowhere/fathom"), "{done:?}");
    assert!(done.err.contains("--no-report"), "{done:?}");
}

#[test]
fn a_result_outlives_a_folder_that_is_full() {
    if !require("a_result_outlives_a_folder_that_is_full", can_mount(), NO_MOUNTS) {
        return;
    }
    let place = Place::new();
    // The page alone is larger than this file system.
    let small = "mount -t tmpfs -o size=256k small \"$AT\"";
    let arguments = [&["survey", place.text()], &SHORT[..], &["--out", "AT"]].concat();
    let (done, _) = mounted(small, &arguments);
    assert!(done.code == Some(1) && done.out.contains("page_size"), "{done:?}");
    assert_eq!(done.err.matches("fathom: ").count(), 1, "{done:?}");
    assert!(done.err.contains("No space left on device"), "{done:?}");
}
