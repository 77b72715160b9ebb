//! A file system that fails at a known call: each fault is told with operation, path and offset, nothing
//! hangs past its time, no finding rests on what was damaged, and nothing stays that can be removed.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{NO_MOUNTS, Outcome, Place, STATE, can_mount, require};

/// What a command on a faulty mount did, how long it took, and the names that it left.
pub(crate) struct Fared {
    pub(crate) outcome: Outcome,
    took: Duration,
    pub(crate) left: Vec<String>,
}

/// Runs the command on a FUSE file system of that plan; `AT` among the arguments stands for it.
pub(crate) fn on_fuse(plan: &str, arguments: &[&str]) -> Option<Fared> {
    let name = "faults";
    let there = Path::new("/dev/fuse").exists();
    if !require(name, can_mount(), NO_MOUNTS) || !require(name, there, "there is no /dev/fuse") {
        return None;
    }
    let (at, notes) = (Place::new(), Place::new());
    let arguments: Vec<&str> =
        arguments.iter().map(|&word| if word == "AT" { at.text() } else { word }).collect();
    let script = "\"$FATHOM\" lab fuse \"$AT\" --plan \"$PLAN\" </dev/null >\"$NOTES/server\" 2>&1 & server=$!\n\
        for i in $(seq 500); do mountpoint -q \"$AT\" && break; sleep 0.01; done\n\
        date +%s%N > \"$NOTES/began\"; code=0; \"$FATHOM\" \"$@\" || code=$?; date +%s%N > \"$NOTES/ended\"\n\
        ls -A \"$AT\" > \"$NOTES/left\"; kill $server; wait $server; exit $code";
    let output = Command::new("unshare")
        .args(["--mount", "--propagation", "private", "sh", "-c", script, "sh"])
        .args(arguments)
        .envs([
            ("FATHOM", env!("CARGO_BIN_EXE_fathom")),
            ("AT", at.text()),
            ("NOTES", notes.text()),
            ("PLAN", plan),
            ("XDG_STATE_HOME", STATE),
        ])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let note = |name: &str| fs::read_to_string(notes.join(name)).unwrap();
    let ns = |name: &str| note(name).trim().parse::<u64>().unwrap();
    assert_eq!(note("server"), "", "the server complains");
    Some(Fared {
        outcome: output.into(),
        took: Duration::from_nanos(ns("ended") - ns("began")),
        left: note("left").lines().map(str::to_owned).collect(),
    })
}

/// The command fails with one line that has these parts, and leaves nothing.
#[track_caller]
fn fails_clean(plan: &str, arguments: &[&str], parts: &[&str]) {
    let Some(fared) = on_fuse(plan, arguments) else { return };
    for part in parts {
        fared.outcome.complains(1, part);
    }
    assert_eq!(fared.left, Vec::<String>::new(), "{plan}: {:?}", fared.outcome);
}

const WRITES: [&str; 8] = ["probe", "AT", "--op", "pwrite", "--count", "64", "--rounds", "2"];
const READS: [&str; 7] = ["probe", "AT", "--op", "pread", "--count", "64", "--cold"];

#[test]
fn failing_calls_are_told_with_operation_path_and_offset() {
    fails_clean(
        "eio=write@5",
        &WRITES,
        &["pwrite /", "/.fathom-", "/probe at byte 12288: Input/output error"],
    );
    // The kernel asks again for what it could not read ahead, so one error alone goes unseen.
    fails_clean("eio=read@1+", &READS, &["pread /", "/.fathom-", "/probe at byte 0: Input/output error"]);
    fails_clean("eintr=write@5", &WRITES, &["pwrite /", "/probe at byte 12288: Interrupted system call"]);
    fails_clean("eio=fsync@2", &READS, &["fsync /", "/probe: Input/output error"]);
    fails_clean("eio=create@3", &READS, &["create /", "/probe: Input/output error"]);
    fails_clean("eio=mkdir@1", &READS, &["make a scratch directory in /", "Input/output error"]);
    fails_clean("eio=statfs@1", &["survey", "AT"], &["statfs /", "Input/output error"]);
}

#[test]
fn a_full_file_system_is_told_with_its_place() {
    fails_clean("enospc=40000", &WRITES, &["pwrite /", "/probe at byte 20480: No space left on device"]);
    let survey = ["survey", "AT", "--effort", "quick", "--max-write", "64MiB"];
    fails_clean("enospc=100000", &survey, &["write /", "/requests at byte ", "No space left on device"]);
}

#[test]
fn short_writes_are_told_with_what_they_moved() {
    fails_clean("short=write@5", &WRITES, &["pwrite /", "/probe at byte 12288: moved 2048 of 4096 bytes"]);
    // While a file is filled, a short write is gone on from where it ended.
    let Some(fared) = on_fuse("short=write@2", &READS) else { return };
    assert_eq!((fared.outcome.code, fared.left.len()), (Some(0), 0), "{:?}", fared.outcome);
}

#[test]
fn no_finding_rests_on_damaged_samples() {
    let parameters = "block_size,readahead_window,readahead_first,readahead_random,readahead_ramp";
    for (plan, damage) in
        [("short=read@60+", "moved "), ("eio=read@60+", "Input/output error"), ("short=write@60+", "moved ")]
    {
        let arguments = [
            "survey",
            "AT",
            "--only",
            parameters,
            "--effort",
            "quick",
            "--max-write",
            "64MiB",
            "--json",
            "-",
        ];
        let Some(fared) = on_fuse(plan, &arguments) else { return };
        assert!(matches!(fared.outcome.code, Some(0 | 3)), "{plan}: {:?}", fared.outcome);
        assert_eq!(fared.left, Vec::<String>::new(), "{plan}");
        let survey: serde_json::Value = serde_json::from_str(&fared.outcome.out).unwrap();
        let mut reported = 0;
        for finding in survey["findings"].as_array().unwrap() {
            for piece in finding["evidence"].as_array().unwrap() {
                let name = finding["parameter"].as_str().unwrap();
                let caveats = piece["caveats"].to_string();
                let damaged = caveats.contains(damage) && caveats.contains("/.fathom-");
                reported += usize::from(damaged && caveats.contains(" at byte "));
                if piece["status"] == "measured" {
                    assert!(!damaged, "{plan}: {piece}");
                    let truth = match name {
                        "block_size" | "readahead_random" => serde_json::json!(4096),
                        "readahead_window" => serde_json::json!(131_072),
                        "readahead_first" => serde_json::json!(16384),
                        _ => serde_json::json!([16384, 32768, 65536, 131_072]),
                    };
                    assert_eq!(piece["value"], truth, "{plan}: {name}: {piece}");
                }
            }
        }
        assert!(reported > 0, "{plan}: nothing tells of the damage: {}", fared.outcome.out);
    }
}

#[test]
fn a_call_that_hangs_is_told_and_left_behind() {
    let budget = ["--max-time", "2s"];
    let curve = ["curve", "AT", "--ops", "read", "--block-sizes", "4K", "--file-size", "64K"];
    let hangs: [(&str, &[&str], &[&str]); 7] = [
        ("hang=write@3:20s", &curve, &["write /", "/.fathom-", "does not return"]),
        ("hang=write@2:20s", &["syscalls", "AT", "--sizes", "10K"], &["write /", "does not return"]),
        ("hang=write@2:20s", &["io", "size", "AT", "--time", "5s"], &["write /", "does not return"]),
        ("hang=read@5:20s", &READS, &["pread /", "/probe at byte ", "does not return"]),
        ("hang=write@5:20s", &WRITES, &["pwrite /", "/probe at byte 12288", "does not return"]),
        ("hang=fsync@1:20s", &["survey", "AT"], &["fsync /", "/.fathom-", "does not return"]),
        ("hang=unlink@1:20s", &READS, &["remove /", "/.fathom-", "does not return"]),
    ];
    // They do nothing but wait, so some do so at the same time.
    for some in hangs.chunks(4) {
        std::thread::scope(|scope| {
            for &(plan, arguments, parts) in some {
                scope.spawn(move || is_left_behind(plan, &[arguments, &budget[..]].concat(), parts));
            }
        });
    }
}

fn is_left_behind(plan: &str, arguments: &[&str], parts: &[&str]) {
    let Some(fared) = on_fuse(plan, arguments) else { return };
    for part in parts {
        fared.outcome.complains(1, part);
    }
    assert!(fared.took < Duration::from_secs(8), "{plan}: {:?}", fared.took);
    // What could not be removed is named.
    let all_named = fared.left.iter().all(|name| fared.outcome.err.contains(name.as_str()));
    assert!(all_named, "{plan}: {:?} in {:?}", fared.left, fared.outcome);
}

#[test]
fn slow_calls_end_with_the_time_allowed() {
    let started = Instant::now();
    let arguments = ["probe", "AT", "--op", "pwrite", "--count", "10000", "--max-time", "2s"];
    let Some(fared) = on_fuse("call=30ms", &arguments) else { return };
    fared.outcome.complains(1, "the time allowed ran out");
    assert!(fared.took < Duration::from_secs(6), "{:?} of {:?}", fared.took, started.elapsed());
    assert_eq!(fared.left, Vec::<String>::new());
}

#[test]
fn a_fault_while_cleaning_up_is_tried_again_or_told() {
    for plan in ["eio=unlink@1", "eio=rmdir@1", "eio=readdir@3"] {
        let Some(fared) = on_fuse(plan, &READS) else { return };
        assert_eq!((fared.outcome.code, fared.left.len()), (Some(0), 0), "{plan}: {:?}", fared.outcome);
    }
    for plan in ["eio=unlink@1+", "eio=rmdir@1+", "eio=write@9,eio=rmdir@1+"] {
        let Some(fared) = on_fuse(plan, &WRITES) else { return };
        let name = fared.left.first().expect("it can't be removed").as_str();
        for part in ["left behind: remove /", name, "Input/output error"] {
            assert!(fared.outcome.err.contains(part), "{plan}: '{part}' in {:?}", fared.outcome);
        }
        assert_eq!((fared.outcome.code, fared.outcome.err.matches('\n').count()), (Some(1), 1), "{plan}");
    }
}
