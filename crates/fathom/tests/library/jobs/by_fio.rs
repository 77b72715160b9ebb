//! Jobs by fio on a testbed: the same calls as by Fathom, from the same state, within the same budget.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use fathom::fault::Fault;
use fathom::job::{Blocks, Direction, Job, Pattern};
use fathom::load::program::{FioReport, is_same_in_fio, run_fio};
use fathom::load::{self, Limits, Testbed};
use fathom::model::Model;
use fathom::validation::Condition;

use super::{has_fio, instrument};

fn testbed(max_write: u64, interrupt: &Arc<AtomicBool>) -> Testbed {
    let limits = Limits { max_write, deadline: None };
    Testbed::at(&std::env::temp_dir(), 64 << 20, instrument(), limits, Arc::clone(interrupt)).unwrap()
}

/// What is in a directory.
fn names(path: &Path) -> BTreeSet<OsString> {
    std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name()).collect()
}

/// Bytes read and written.
fn moved(report: &FioReport) -> [u64; 2] {
    [Direction::Read, Direction::Write].map(|direction| report.bytes(direction).unwrap())
}

#[test]
fn fio_moves_what_fathom_moves() {
    if !has_fio("fio_moves_what_fathom_moves") {
        return;
    }
    let job = |name: &str, pattern, bytes: u64| Job {
        pattern,
        blocks: [Blocks::fixed(bytes); 2],
        size: Some(512 << 10),
        ..Job::named(name)
    };
    let jobs = [
        Job { filesize: Some(1 << 20), io_size: Some(64 << 10), ..job("cold", Pattern::Sequential, 8 << 10) },
        Job { pre_read: true, io_size: Some(1 << 20), ..job("again", Pattern::Random, 700) },
        Job { read_percent: 0, fsync: 4, end_fsync: true, ..job("synced", Pattern::Random, 64 << 10) },
        Job { read_percent: 50, pre_read: true, ..job("mixed", Pattern::Sequential, 4096) },
        Job { offset: 4096, random_map: false, ..job("part: of it", Pattern::Random, 4096) },
    ];
    let mut testbed = testbed(64 << 20, &Arc::default());
    let directory = testbed.path(&jobs[0], 0).parent().unwrap().to_owned();
    for job in &jobs {
        assert!(is_same_in_fio(job), "{}", job.name);
        let before = testbed.bytes_written();
        let ours = load::run(job, &mut testbed).unwrap();
        let own = testbed.bytes_written() - before;
        let there = names(&directory);
        let report = run_fio(job, &mut testbed).unwrap();
        assert_eq!(names(&directory), there, "fio leaves nothing of its own");
        let ours = [0, 1].map(|side| ours[0].transfers[side].bytes);
        let fios = moved(&report);
        // Which transfer of a mix reads is drawn.
        if job.read_percent == 50 {
            assert_eq!(fios.iter().sum::<u64>(), ours.iter().sum::<u64>(), "{}", job.name);
        } else {
            assert_eq!(fios, ours, "{}", job.name);
        }
        assert_eq!(testbed.bytes_written() - before - own, fios[1], "{}", job.name);
        for direction in job.directions() {
            assert!(report.calls_ns(direction, "clat_ns").unwrap() > 0.0, "{}", job.name);
        }
        assert_eq!(report.syncs_ns().unwrap() > 0.0, job.fsync > 0, "{}", job.name);
    }
    drop(testbed);
    assert!(!directory.exists());
}

#[test]
fn fio_ends_with_an_interrupt_and_keeps_to_the_budget() {
    if !has_fio("fio_ends_with_an_interrupt_and_keeps_to_the_budget") {
        return;
    }
    let interrupt = Arc::new(AtomicBool::new(false));
    let mut testbed = testbed(4 << 20, &interrupt);
    let large = Job { read_percent: 0, size: Some(8 << 20), ..Job::named("large") };
    assert!(matches!(run_fio(&large, &mut testbed), Err(Fault::OverBudget { .. })));
    // A megabyte by single bytes takes fio a while.
    let long =
        Job { blocks: [Blocks::fixed(1); 2], size: Some(1 << 20), pre_read: true, ..Job::named("long") };
    let endless = Job { io_size: Some(1 << 40), ..long };
    let after_a_while = Arc::clone(&interrupt);
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(700));
        after_a_while.store(true, Ordering::Relaxed);
    });
    let began = Instant::now();
    assert_eq!(run_fio(&endless, &mut testbed).unwrap_err(), Fault::Interrupted);
    assert!(began.elapsed() < Duration::from_secs(20));
    let file = testbed.path(&endless, 0).to_string_lossy().into_owned();
    let still = Command::new("pgrep").args(["-f", &file]).output();
    assert!(still.is_ok_and(|found| found.stdout.is_empty()), "fio goes on");
}

#[test]
fn fio_can_run_the_jobs_that_models_are_held_to() {
    for condition in [Condition::Usual, Condition::ReadAhead(32 << 10), Condition::DirtyBytes(12 << 20)] {
        let others: Vec<String> =
            condition.jobs().iter().filter(|job| !is_same_in_fio(job)).map(|job| job.name.clone()).collect();
        assert!(others.is_empty(), "{others:?}");
    }
    let model = Model::assumed();
    let needs = |by_fio| fathom::validation::needs(&[Condition::Usual], &model, 6, by_fio).unwrap();
    let (alone, with_fio) = (needs(0), needs(3));
    assert_eq!(alone.space, with_fio.space);
    assert!(with_fio.writes > alone.writes && with_fio.writes < alone.writes / 4 * 5);
}
