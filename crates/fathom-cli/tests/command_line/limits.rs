//! `curve --intrusive`: what it measures past the limits, what it says where it can't, and that the machine is as it
//! was before, whatever ends it. One test, because settings of the machine are changed by one run at a time.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::published;
use crate::support::{NO_SETPRIV, Outcome, Place, command, fathom, is_root, require, unprivileged};

const SETTINGS: [&str; 4] =
    ["dirty_bytes", "dirty_ratio", "dirty_background_bytes", "dirty_background_ratio"];
/// Bursts of 6 MiB in a file of 16.
const SMALL: [&str; 14] = [
    "--ops",
    "read,overwrite",
    "--order",
    "sequential",
    "--state",
    "cached",
    "--block-sizes",
    "64K",
    "--file-size",
    "16M",
    "--max-write",
    "128M",
    "--max-time",
    "12s",
];

/// Over in a moment.
const SHORT: [&str; 10] =
    ["--ops", "read", "--block-sizes", "4K", "--file-size", "64K", "--max-write", "8M", "--max-time", "3s"];

fn settings() -> [String; 4] {
    SETTINGS.map(|name| fs::read_to_string(format!("/proc/sys/vm/{name}")).unwrap_or_default())
}

fn intrusive<'a>(place: &'a Place, more: &[&'a str]) -> Vec<&'a str> {
    [&["curve", place.text(), "--intrusive"], &SMALL[..], more].concat()
}

/// Starts a curve and waits until it has changed the settings.
fn under_way(place: &Place, before: &[String; 4]) -> Child {
    let mut child =
        command(&intrusive(place, &[])).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let started = Instant::now();
    while settings() == *before {
        let ended = child.try_wait().unwrap();
        assert!(ended.is_none() && started.elapsed() < Duration::from_secs(30), "nothing was set: {ended:?}");
        sleep(Duration::from_millis(1));
    }
    child
}

fn send(process: u32, signal: Signal) {
    kill_process(Pid::from_raw(i32::try_from(process).unwrap()).unwrap(), signal).unwrap();
}

/// The process that does the work for this one.
fn worker(process: u32) -> u32 {
    let children = fs::read_to_string(format!("/proc/{process}/task/{process}/children")).unwrap();
    children.trim().parse().unwrap()
}

#[test]
fn limits_are_passed_named_and_put_back() {
    the_user_nobody_is_told_what_is_missing();
    let what = "a memory group and lower vm.dirty_bytes take root and a system that may be changed";
    let can = is_root() && fs::metadata("/sys/fs/cgroup").is_ok_and(|about| about.is_dir());
    let before = settings();
    let place = Place::new();
    let whole = fathom(&intrusive(&place, &["--format", "json"]));
    assert_eq!(settings(), before);
    let curve: Value = serde_json::from_str(&whole.out).unwrap_or_else(|error| panic!("{error}: {whole:?}"));
    published::check("curve", &curve);
    assert!(curve["bytes_written"].as_u64().unwrap() <= 128 << 20, "{}", curve["bytes_written"]);
    let is_changeable = can && curve["past_dirty"].is_object();
    if !require("limits_are_passed_named_and_put_back", is_changeable, what) {
        return;
    }
    let bursts = curve["past_dirty"]["writes_ns"].as_array().unwrap();
    assert!(bursts.len() == 8 && bursts.iter().all(|one| one.as_array().unwrap().len() >= 64), "{curve}");
    assert!(curve["effects"].to_string().contains("vm.dirty_bytes"), "{}", curve["effects"]);
    let memory = &curve["past_memory"];
    let sizes = memory["points"].as_array().unwrap();
    assert_eq!((&memory["limit_bytes"], sizes.len()), (&(8 << 20).into(), 9), "{memory}");
    // What the kernel shows: below the limit all of it stays, past it some of it can't.
    match sizes[8]["cached_share"].as_f64() {
        Some(share) => assert!(share <= 0.55, "{}", sizes[8]),
        None => drop(require("limits_are_passed_named_and_put_back", false, "cached pages are not shown")),
    }
    for signal in [Signal::INT, Signal::TERM] {
        let child = under_way(&place, &before);
        send(child.id(), signal);
        let outcome = Outcome::from(child.wait_with_output().unwrap());
        outcome.complains(128 + signal.as_raw(), "interrupted");
        assert_eq!(settings(), before, "after {signal:?}");
        assert!(place.names().is_empty(), "{:?}", place.names());
    }
    // The one who works is killed: its parent puts things back.
    let mut child = under_way(&place, &before);
    send(worker(child.id()), Signal::KILL);
    child.wait().unwrap();
    assert_eq!(settings(), before, "after the worker was killed");
    // Both are killed: the next run puts things back, and says so. Now and then the next run is another test's.
    let says_so = (0..5).any(|_| {
        let mut child = under_way(&place, &before);
        send(child.id(), Signal::KILL);
        child.wait().unwrap();
        let next = fathom(&[&["curve", place.text()], &SHORT[..]].concat());
        assert_eq!(settings(), before, "after everything was killed");
        next.out.contains("put back")
    });
    assert!(says_so, "five runs that were next did not say that they put things back");
}

fn the_user_nobody_is_told_what_is_missing() {
    let place = Place::new();
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let outcome = unprivileged(&intrusive(&place, &[]));
    if require("the_user_nobody_is_told_what_is_missing", outcome.is_some(), NO_SETPRIV) {
        let outcome = outcome.unwrap();
        assert_eq!(outcome.code, Some(3), "{outcome:?}");
        let words: String = outcome.out.split_whitespace().collect::<Vec<_>>().join(" ");
        for what in [
            "not measured: files larger than the memory: ",
            "not measured: writes past the dirty threshold: ",
        ] {
            assert!(words.contains(what), "{outcome:?}");
        }
        assert!(words.contains("run it as root") && words.contains("it takes root"), "{outcome:?}");
        assert!(place.names().is_empty(), "{:?}", place.names());
    }
}
