//! What can't be done is told in one line, with the code that fits: 2 for wrong usage, 1 for what the
//! system refuses.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use crate::support::{
    NO_MOUNTS, NO_SETPRIV, Outcome, Place, SHORT, can_mount, command, fathom, mounted, require, survey,
    unprivileged,
};

#[test]
fn wrong_usage_is_told_in_one_line() {
    let cases: [(&[&str], &str); 13] = [
        (&[], "no command was given"),
        (&["surve"], "unrecognized subcommand 'surve'; tip: "),
        (&["survey", "--bogus"], "unexpected argument '--bogus'"),
        (
            &["survey", "--only", "no_such"],
            "there is no parameter 'no_such'; there are page_size, block_size",
        ),
        (&["survey", "--max-write", "4x"], "'4x' is not a size: write a number of bytes, or 4K, 64KiB"),
        (&["survey", "--max-write"], "a value is required for '--max-write <SIZE>'"),
        (&["survey", "--max-time", "soon"], "'soon' is not a time"),
        (&["survey", "--evidence", "gut"], "[possible values: timing, witness, declared]"),
        (&["report"], "required arguments were not provided: <RESULT>"),
        (&["lab", "list", "--cases", "no_such"], "no file system of the lab has 'no_such' in its name"),
        (&["probe", "--recipe", "no_such"], "there is no recipe 'no_such'; there are paper-a-block-256"),
        (&["probe", "--recipe", "paper-c-block", "--size", "4"], "cannot be used with '--size"),
        (&["probe", "--size", "0"], "reads and writes need a size above zero"),
    ];
    for (arguments, words) in cases {
        fathom(arguments).complains(2, words);
    }
}

#[test]
fn help_and_version_are_no_failure() {
    for arguments in [&["--help"][..], &["--version"], &["survey", "--help"], &["help", "lab"]] {
        let outcome = fathom(arguments);
        assert!(outcome.code == Some(0) && outcome.err.is_empty() && !outcome.out.is_empty(), "{outcome:?}");
    }
}

#[test]
fn a_path_that_is_no_directory_is_refused() {
    let place = Place::new();
    let missing = place.join("missing");
    survey(&missing, &[]).complains(1, &format!("{missing}: No such file or directory"));
    let file = place.join("file");
    fs::write(&file, "mine").unwrap();
    survey(&file, &[]).complains(1, &format!("{file}: not a directory"));
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
    fathom(&["report", &missing]).complains(1, &missing);
}

#[test]
fn no_permission_is_told() {
    let place = Place::new();
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o555)).unwrap();
    let outcome = unprivileged(&[&["survey", place.text()], &SHORT[..]].concat());
    if require("no_permission_is_told", outcome.is_some(), NO_SETPRIV) {
        outcome.unwrap().complains(1, &format!("{}: Permission denied", place.text()));
    }
}

#[test]
fn less_free_space_than_the_budget_is_told_before_anything_is_written() {
    let place = Place::new();
    let json = place.join("new.json");
    let outcome = fathom(&["survey", place.text(), "--max-write", "1024T", "--json", &json]);
    outcome.complains(1, "less than the 1024 TiB that may be written: free some space, or lower --max-write");
    assert!(place.names().is_empty(), "{:?}", place.names());
}

#[test]
fn a_failure_leaves_an_earlier_json_as_it_was() {
    let place = Place::new();
    let json = place.join("old.json");
    fs::write(&json, "earlier").unwrap();
    let outcome = fathom(&["survey", place.text(), "--max-write", "1024T", "--json", &json]);
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    assert_eq!(fs::read_to_string(&json).unwrap(), "earlier");
}

#[test]
fn output_that_can_not_be_written_is_told_before_anything_is_measured() {
    let (place, elsewhere) = (Place::new(), Place::new());
    let file = elsewhere.join("file");
    fs::write(&file, "mine").unwrap();
    let below = elsewhere.join("file/below");
    survey(place.text(), &["--json", &below])
        .complains(1, &format!("--json: can't write {below}: Not a directory"));
    survey(place.text(), &["--json", elsewhere.text()]).complains(1, "Is a directory");
    survey(place.text(), &["--out", &below]).complains(1, "Not a directory");
    survey(place.text(), &["--out", &file]).complains(1, &file);
    // Not even root can make a folder there.
    survey(place.text(), &["--out", "/proc/fathom"]).complains(1, "make /proc/fathom");
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
    assert!(place.names().is_empty(), "{:?}", place.names());
}

#[test]
fn a_folder_that_holds_a_run_is_never_overwritten() {
    let place = Place::new();
    let run = place.join("run");
    fs::create_dir(&run).unwrap();
    let earlier = place.join("run/survey.json");
    fs::write(&earlier, "earlier").unwrap();
    survey(place.text(), &["--out", &run]).complains(1, "choose another folder");
    assert_eq!(fs::read_to_string(&earlier).unwrap(), "earlier");
}

#[test]
fn a_closed_pipe_is_told_and_nothing_is_left() {
    let place = Place::new();
    let arguments = [&["survey", place.text()], &SHORT[..]].concat();
    let mut child = command(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let outcome = Outcome::from(child.wait_with_output().unwrap());
    outcome.complains(1, "standard output was closed before all was written");
    assert!(place.names().is_empty(), "{:?}", place.names());
}

#[test]
fn a_read_only_mount_is_told() {
    if require("a_read_only_mount_is_told", can_mount(), NO_MOUNTS) {
        let setup = "mount -t tmpfs -o size=200m,ro fathom-test \"$AT\"";
        let (outcome, left) = mounted(setup, &[&["survey", "AT"], &SHORT[..]].concat());
        // What the mount declares is told, and why nothing else is.
        outcome.is_done();
        assert!(outcome.out.contains("is mounted read-only"), "{outcome:?}");
        assert!(left.is_empty(), "{left:?}");
        let (outcome, _) = mounted(setup, &["probe", "AT"]);
        outcome.complains(1, "is mounted read-only, and no scratch file can be made");
    }
}

#[test]
fn a_small_disk_is_told() {
    if require("a_small_disk_is_told", can_mount(), NO_MOUNTS) {
        let (outcome, left) = mounted("mount -t tmpfs -o size=8m fathom-test \"$AT\"", &["survey", "AT"]);
        outcome.complains(1, "has 8 MiB free, less than the 256 MiB that may be written");
        assert!(left.is_empty(), "{left:?}");
    }
}

#[test]
fn a_disk_that_fills_up_in_the_middle_is_told_and_nothing_is_left() {
    if require("a_disk_that_fills_up_in_the_middle", can_mount(), NO_MOUNTS) {
        // Somebody else takes all the space as soon as the survey has begun.
        let setup = "mount -t tmpfs -o size=80m fathom-test \"$AT\"\n\
            (until ls -d \"$AT\"/.fathom-* >/dev/null 2>&1; do sleep 0.01; done\n\
            dd if=/dev/zero of=\"$AT/filler\" bs=1M 2>/dev/null || true) &";
        let arguments = ["survey", "AT", "--only", "page_size,block_size", "--max-write", "64MiB"];
        let (outcome, left) = mounted(setup, &arguments);
        outcome.complains(1, "No space left on device");
        assert_eq!(left, ["filler"]);
    }
}
