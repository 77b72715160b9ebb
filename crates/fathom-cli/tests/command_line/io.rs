//! `fathom io` and `fathom syscalls`: files moved by blocks, and nothing lost or left behind.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;

use crate::published;
use crate::support::{
    NO_MOUNTS, NO_SETPRIV, Outcome, Place, can_mount, command, fathom, mounted, require, unprivileged,
};

#[track_caller]
fn done(arguments: &[&str]) -> Outcome {
    let outcome = fathom(arguments);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    outcome
}

#[track_caller]
fn json(schema: &str, outcome: &Outcome) -> Value {
    let json = serde_json::from_str(&outcome.out).unwrap_or_else(|error| panic!("{error}: {outcome:?}"));
    published::check(schema, &json);
    json
}

#[test]
fn what_was_written_is_read_and_counted() {
    let place = Place::new();
    for (pattern, block, count) in [("random", "1000", 77), ("zero", "4K", 3), ("text", "64", 5)] {
        let path = place.join(pattern);
        let blocks = count.to_string();
        let arguments =
            ["io", "write", &path, "--block-size", block, "--count", &blocks, "--pattern", pattern];
        let written = json("io", &done(&[&arguments[..], &["--sync", "--json", "-"]].concat()));
        let bytes = fs::read(&path).unwrap();
        assert_eq!(written["bytes"], bytes.len(), "{written}");
        let outcome = done(&["io", "read", &path, "--block-size", "333"]);
        assert!(!outcome.out.is_empty() && outcome.err.contains(" bytes in "), "{}", outcome.err);
        let counted = json("io", &done(&["io", "count", &path, "--block-size", "100", "--json", "-"]));
        let expected = (bytes.len() as u64 / 100, bytes.len() as u64 % 100, bytes.len() as u64);
        let field = |name: &str| counted[name].as_u64().unwrap();
        assert_eq!((field("whole_blocks"), field("last_block_bytes"), field("declared_bytes")), expected);
    }
    assert!(fs::read(place.join("zero")).unwrap() == vec![0; 3 << 12]);
    assert!(fs::read_to_string(place.join("text")).unwrap().lines().count() == 5);
    let two = done(&["io", "read", &place.join("text"), "--block-size", "64", "--count", "2"]);
    assert_eq!(two.out.as_bytes(), &fs::read(place.join("text")).unwrap()[..128]);
    let all = done(&["io", "read", &place.join("text"), "--block-size", "64", "--discard", "--count", "9"]);
    assert!(
        all.out.contains("5 blocks of 64 B, 320 bytes in") && all.out.contains("it ends after 320 of 576"),
        "{all:?}"
    );
    done(&["io", "count", &place.join("text"), "--block-size", "7"]).says("45 blocks of 7 B and one of 5 B");
}

impl Outcome {
    #[track_caller]
    fn says(&self, words: &str) {
        assert!(self.out.contains(words), "'{words}' in {self:?}");
    }
}

#[test]
fn nothing_is_overwritten_without_force() {
    let place = Place::new();
    let (path, link) = (place.join("mine"), place.join("link"));
    fs::write(&path, "mine").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    symlink(&path, &link).unwrap();
    let write = |path: &str, more: &[&str]| {
        fathom(&[&["io", "write", path, "--block-size", "10", "--count", "2"], more].concat())
    };
    write(&path, &[])
        .complains(1, &format!("{path} exists: choose another name, or replace it with --force"));
    write(&link, &[]).complains(1, "exists");
    assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
    assert_eq!(write(&link, &["--force"]).code, Some(0));
    let about = fs::symlink_metadata(&path).unwrap();
    assert_eq!((about.len(), about.permissions().mode() & 0o777), (20, 0o640));
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(write(&place.join("new"), &["--force"]).code, Some(0));
    write("/dev/null", &["--force"])
        .complains(1, "/dev/null is not a regular file, and only those are replaced");
    write(place.text(), &["--force"]).complains(1, "is not a regular file");
    assert_eq!(place.names().len(), 3, "{:?}", place.names());
}

#[test]
fn wrong_usage_is_told() {
    let place = Place::new();
    let file = place.join("file");
    fs::write(&file, "mine").unwrap();
    let cases: [(&[&str], &str); 9] = [
        (&["io"], "no command was given"),
        (
            &["io", "write", &file, "--count", "1"],
            "required arguments were not provided: --block-size <SIZE>",
        ),
        (
            &["io", "write", &file, "--block-size", "0", "--count", "1"],
            "'0' is not a block size from 1 byte to 1 GiB",
        ),
        (&["io", "write", &file, "--block-size", "1", "--count", "-1"], "-1"),
        (
            &["io", "write", &file, "--block-size", "1", "--count", "1", "--pattern", "x"],
            "random, zero, text",
        ),
        (&["io", "read", &file, "--block-size", "1", "--json", "-"], "add --discard, or name a file"),
        (&["io", "size", "--time", "soon"], "'soon' is not a time"),
        (&["io", "size", "--time", "0"], "must be more than zero"),
        (&["syscalls", "--sizes", "0"], "a file must have at least one byte"),
    ];
    for (arguments, words) in cases {
        fathom(arguments).complains(2, words);
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
}

#[test]
fn what_the_system_refuses_is_told_and_nothing_is_left() {
    let place = Place::new();
    let missing = place.join("missing");
    for command in ["read", "count"] {
        fathom(&["io", command, &missing, "--block-size", "1"])
            .complains(1, &format!("open {missing}: No such file"));
        fathom(&["io", command, place.text(), "--block-size", "1"])
            .complains(1, "is a directory: name a file in it");
    }
    let below = place.join("missing/below");
    fathom(&["io", "write", &below, "--block-size", "1", "--count", "1"]).complains(1, "No such file");
    fathom(&["io", "write", &missing, "--block-size", "1G", "--count", "9999999"])
        .complains(1, "are to be written: write less");
    fathom(&["io", "size", &missing, "--time", "1s"]).complains(1, "No such file");
    fathom(&["io", "size", place.text(), "--time", "1s", "--max-write", "100"])
        .complains(1, "raise --max-write");
    fathom(&["syscalls", place.text(), "--max-write", "1K"]).complains(1, "raise --max-write");
    fathom(&["syscalls", &missing]).complains(1, "No such file");
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o555)).unwrap();
    match unprivileged(&["io", "write", &missing, "--block-size", "1", "--count", "1"]) {
        Some(outcome) => outcome.complains(1, ": Permission denied"),
        None => assert!(!require("what_the_system_refuses_is_told", false, NO_SETPRIV)),
    }
    assert!(place.names().is_empty(), "{:?}", place.names());
}

#[test]
fn a_disk_that_fills_up_leaves_the_old_file() {
    if require("a_disk_that_fills_up_leaves_the_old_file", can_mount(), NO_MOUNTS) {
        // The space is there when it is asked for, and another takes it: a file of 20 MiB grows meanwhile.
        let setup = "mount -t tmpfs -o size=40m fathom-test \"$AT\"\n\
            cd \"$AT\"; printf mine > old\n\
            (until ls -d .fathom-* >/dev/null 2>&1; do sleep 0.01; done\n\
            dd if=/dev/zero of=filler bs=1M 2>/dev/null || true) &";
        let arguments = ["io", "write", "old", "--force", "--block-size", "1K", "--count", "39000"];
        let (outcome, mut left) = mounted(setup, &arguments);
        left.sort();
        // On a fast machine all of it may be written before the other one wakes.
        if outcome.code != Some(0) {
            outcome.complains(1, "No space left on device");
        }
        assert_eq!(left, ["filler", "old"]);
    }
}

#[test]
fn a_reader_that_leaves_is_no_failure() {
    let place = Place::new();
    let path = place.join("long");
    done(&["io", "write", &path, "--block-size", "1M", "--count", "8", "--pattern", "zero"]);
    let mut child = command(&["io", "read", &path, "--block-size", "4K"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = [1; 10];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let outcome = Outcome::from(child.wait_with_output().unwrap());
    assert_eq!((outcome.code, outcome.err.as_str(), first), (Some(141), "", [0; 10]));
}

#[test]
fn an_interrupt_removes_what_was_begun() {
    let place = Place::new();
    let path = place.join("begun");
    let mut child = command(&["io", "write", &path, "--block-size", "4K", "--count", "500000", "--sync"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while place.names().is_empty() {
        std::thread::sleep(Duration::from_millis(1));
    }
    let process = rustix::process::Pid::from_raw(child.id() as i32).unwrap();
    // More than once: a signal that comes while the supervisor is being made is lost.
    while child.try_wait().unwrap().is_none() {
        rustix::process::kill_process(process, rustix::process::Signal::INT).unwrap();
        std::thread::sleep(Duration::from_millis(20));
    }
    let outcome = Outcome::from(child.wait_with_output().unwrap());
    outcome.complains(130, "interrupted; all scratch files were removed");
    assert!(place.names().is_empty(), "{:?}", place.names());
}

#[test]
fn files_of_proc_and_pipes_are_counted_though_they_have_no_size() {
    let outcome = done(&["io", "count", "/proc/version", "--block-size", "10"]);
    outcome.says("the kernel makes up such files");
    let mut child = command(&["io", "count", "-", "--block-size", "3"]);
    let mut child =
        child.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"1234567").unwrap();
    let outcome = Outcome::from(child.wait_with_output().unwrap());
    outcome.says("2 blocks of 3 B and one of 1 B, 7 bytes");
    outcome.says("fstat gives no size");
}

#[test]
fn a_size_is_found_or_the_reason_is_told() {
    let place = Place::new();
    for state in ["cached", "cold"] {
        let arguments = ["io", "size", place.text(), "--time", "5ms", "--state", state, "--json", "-"];
        let outcome = fathom(&[&arguments[..], &["--max-write", "64M"]].concat());
        assert!(matches!(outcome.code, Some(0 | 3)), "{outcome:?}");
        let answer = json("io-size", &outcome);
        assert_eq!(answer["bytes"].is_u64(), outcome.code == Some(0), "{answer}");
        assert!(answer["bytes"].is_u64() || !answer["caveats"].as_array().unwrap().is_empty(), "{answer}");
    }
    let outcome = fathom(&["io", "size", place.text(), "--time", "10m", "--max-write", "1M"]);
    assert_eq!(outcome.code, Some(3), "{outcome:?}");
    outcome.says("no size was found that takes 600 s to read");
    assert!(place.names().is_empty(), "{:?}", place.names());
}

#[test]
fn prices_come_in_every_format() {
    let place = Place::new();
    let syscalls = |format: &str| {
        let arguments =
            ["syscalls", place.text(), "--sizes", "10K,100K", "--rounds", "6", "--format", format];
        done(&arguments)
    };
    let costs = json("syscalls", &syscalls("json"));
    assert_eq!(costs["measurements"].as_array().unwrap().len(), 11, "{costs}");
    syscalls("text").says("getppid          -");
    syscalls("csv").says("name,file_bytes,threads,sample,");
    syscalls("google-benchmark").says("read/file_bytes:10240");
    syscalls("hyperfine").says("\"results\"");
    assert!(place.names().is_empty(), "{:?}", place.names());
}
