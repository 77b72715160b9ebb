//! `fathom run`: what it prints, what it refuses, and what it leaves behind, which is nothing.

use std::fs;
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::published;
use crate::support::{NO_MOUNTS, Outcome, Place, can_mount, command, fathom, mounted, require};

/// A place with a job file in it, and the file's path.
fn with_job(text: &str) -> (Place, Place, String) {
    let (place, jobs) = (Place::new(), Place::new());
    let path = jobs.join("x.fio");
    fs::write(&path, text).unwrap();
    (place, jobs, path)
}

fn run(text: &str, more: &[&str]) -> Outcome {
    let (place, _jobs, path) = with_job(text);
    let outcome = fathom(&[&["run", path.as_str(), place.text()], more].concat());
    assert!(place.names().is_empty(), "{:?} is left after {outcome:?}", place.names());
    outcome
}

#[test]
fn jobs_run_and_leave_nothing() {
    let text = "[global]\nsize=256k\n[a]\nrw=randread\nnumjobs=2\n[b]\nstonewall\nrw=write\nfsync=16\nioengine=mmap\n";
    let table = run(text, &[]);
    assert_eq!(table.code, Some(0), "{table:?}");
    for words in ["median", "a    2", "b    1", "sync", "nothing was left behind"] {
        assert!(table.out.contains(words), "{words} in {table:?}");
    }
    let json = run(text, &["--format", "fio-json"]);
    let value: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(value["jobs"].as_array().unwrap().len(), 3);
    assert_eq!(value["jobs"][2]["write"]["io_bytes"], 256 << 10);
    let json = run(text, &["--format", "json"]);
    let value: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    published::check("run", &value);
    assert_eq!(value["jobs"].as_array().unwrap().len(), 2);
}

#[test]
fn a_command_line_of_fio_is_run_and_predicted() {
    let place = Place::new();
    let words = ["--", "fio", "--name=x", "--rw=randread", "--size=64k", "--loops=2", "--randrepeat=0"];
    let done = fathom(&[&["run", place.text(), "--format", "json"], &words[..]].concat());
    let value: serde_json::Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!(value["jobs"][0]["sides"][0]["bytes"], 128 << 10, "{done:?}");
    assert!(done.err.contains("[x] randrepeat=0: randseed="), "{done:?}");
    assert!(place.names().is_empty());
    let told = fathom(&[&["predict", "--on", "assumed", "--draws", "0"], &words[..]].concat());
    assert_eq!(told.code, Some(0), "{told:?}");
    fathom(&["run", place.text(), "--", "--name=x", "--sice=1"]).complains(2, "there is no option '--sice'");
    fathom(&["run", "x.fio", place.text(), "--", "--name=x"]).complains(2, "before -- stands the directory");
    fathom(&["run"]).complains(2, "JOB.fio|TRACE");
}

#[test]
fn a_bad_job_file_is_named_with_its_line() {
    run("[x]\nsize=1m\nsice=1m\n", &[]).complains(2, "x.fio:3: there is no option 'sice'");
    run("[x]\nsize=1m\nverify=md5\n", &[])
        .complains(2, "x.fio: [x]: verify= is understood, and can't be run");
    run("[x]\nrw=read\n", &[]).complains(2, "x.fio: [x]: size= is missing");
    let path = run("[x]\nsize=64k\nfilename=/etc/passwd\n", &[]);
    assert!(path.err.contains("'/etc/passwd' is the scratch file 'etc_passwd' below PATH"), "{path:?}");
    run("[x]\nsize=1m\nnumjobs=0\n", &[]).complains(2, "x.fio:3: [x]: numjobs=0 leaves nothing to do");
    run("", &[]).complains(2, "there is no job");
    fathom(&["run", "/nonexistent.fio"]).complains(2, "/nonexistent.fio: No such file");
}

#[test]
fn budgets_are_refused_before_the_first_byte() {
    run("[x]\nsize=2m\n", &["--max-write", "1M"])
        .complains(1, "write 2 MiB, and 1 MiB are allowed: raise --max-write");
    run("[x]\nsize=1m\ntime_based\nruntime=5m\n", &["--max-time", "1m"]).complains(1, "raise --max-time");
    run("[x]\nsize=100p\n", &["--max-write", "200000T"]).complains(1, "free some space");
    run("[x]\nrw=write\nsize=1m\ntime_based\nruntime=5m\n", &["--max-write", "20M", "--max-time", "10m"])
        .complains(1, "raise --max-write");
}

#[test]
fn a_disk_without_room_is_refused_before_the_first_byte() {
    if !require("a_disk_without_room_is_refused_before_the_first_byte", can_mount(), NO_MOUNTS) {
        return;
    }
    let (_, _jobs, path) = with_job("[x]\nrw=write\nsize=3m\n");
    let setup = "mount -t tmpfs -o size=4m fathom-test \"$AT\"; head -c 2m /dev/zero > \"$AT/other\"";
    let (outcome, left) = mounted(setup, &["run", &path, "AT"]);
    outcome.complains(1, "free some space");
    assert_eq!(left, ["other"]);
}

#[test]
fn an_interrupt_removes_everything() {
    for signal in [Signal::INT, Signal::TERM] {
        let (place, _jobs, path) =
            with_job("[x]\nsize=1m\nrw=randrw\nthinktime=10ms\ntime_based\nruntime=60s\nnumjobs=3\n");
        let mut child = command(&["run", &path, place.text()])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let start = Instant::now();
        while place.names().is_empty() && start.elapsed() < Duration::from_secs(30) {
            assert!(child.try_wait().unwrap().is_none(), "it ended before it made anything");
            sleep(Duration::from_millis(1));
        }
        sleep(Duration::from_millis(300));
        kill_process(Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap(), signal).unwrap();
        let outcome = Outcome::from(child.wait_with_output().unwrap());
        outcome.complains(128 + signal.as_raw(), "interrupted; everything was removed");
        assert!(place.names().is_empty(), "{:?}", place.names());
        assert!(start.elapsed() < Duration::from_secs(30), "it hears the signal");
    }
}
