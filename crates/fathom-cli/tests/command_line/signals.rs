//! Whatever ends a survey, nothing stays behind; after SIGKILL the next run removes what did.
//!
//! The moments are random with a fixed seed; `FATHOM_KILLS=20` tries that many per signal.

use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use rustix::process::{Pid, Signal, kill_process};

use crate::support::{Outcome, Place, command, fathom};

const LONGEST_WAIT_MS: u64 = 1500;

fn kills() -> usize {
    std::env::var("FATHOM_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(4)
}

fn started(place: &Place) -> Child {
    let arguments = ["survey", place.text(), "--effort", "quick", "--max-write", "64MiB"];
    command(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Waits until the survey has made its scratch directory, so that it is surely under way.
fn wait_for_scratch(place: &Place, child: &mut Child) {
    let start = Instant::now();
    while place.names().is_empty() {
        let ended = child.try_wait().unwrap();
        assert!(ended.is_none(), "the survey ended before it made anything: {ended:?}");
        assert!(start.elapsed() < Duration::from_secs(30), "the survey made no scratch directory");
        sleep(Duration::from_millis(1));
    }
}

fn send(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    // A survey that is over already can't be killed; its status tells.
    let _ = kill_process(pid, signal);
}

/// Starts surveys and sends `signal`: to the first as soon as there is something to remove, to the
/// others at random moments. Gives each with its place.
fn each_killed(signal: Signal, seed: u128, mut check: impl FnMut(&Place, Child, bool)) {
    let mut generator = Pcg64Mcg::new(seed);
    for kill in 0..kills() {
        let place = Place::new();
        let mut child = started(&place);
        if kill == 0 {
            wait_for_scratch(&place, &mut child);
        } else {
            sleep(Duration::from_millis(generator.random_range(0..LONGEST_WAIT_MS)));
        }
        send(&child, signal);
        check(&place, child, kill == 0);
    }
}

fn ends_clean_after(signal: Signal, seed: u128) {
    each_killed(signal, seed, |place, child, under_way| {
        let output = child.wait_with_output().unwrap();
        let (ended_by, outcome) = (output.status.signal(), Outcome::from(output));
        assert!(place.names().is_empty(), "{:?} after {outcome:?}", place.names());
        match (outcome.code, ended_by) {
            (Some(code), _) if code == 128 + signal.as_raw() => {
                outcome.complains(code, "interrupted; all scratch files were removed");
            }
            // Before anything was made the signal does what it does to any program.
            (None, Some(by)) if !under_way => assert_eq!(by, signal.as_raw()),
            // The survey may have been faster than the signal.
            (Some(0 | 3), _) if !under_way => {}
            _ => panic!("{outcome:?}"),
        }
    });
}

#[test]
fn nothing_is_left_after_sigint() {
    ends_clean_after(Signal::INT, 1);
}

#[test]
fn nothing_is_left_after_sigterm() {
    ends_clean_after(Signal::TERM, 2);
}

#[test]
fn the_next_run_removes_what_sigkill_left() {
    each_killed(Signal::KILL, 3, |place, mut child, under_way| {
        child.wait().unwrap();
        assert!(!under_way || !place.names().is_empty(), "a killed survey can't clean up");
        let next = || {
            let outcome = fathom(&["survey", place.text(), "--only", "page_size", "--evidence", "declared"]);
            outcome.is_done();
            place.names()
        };
        let mut left = next();
        if !left.is_empty() {
            // Killed between making the directory and its lock: it is removed once it surely has no owner.
            assert!(!place.path().join(&left[0]).join("lock").exists(), "{left:?}");
            sleep(Duration::from_millis(2500));
            left = next();
        }
        assert!(left.is_empty(), "{left:?}");
    });
}
