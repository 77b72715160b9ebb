//! What timing costs: the timed loop of the Linux machine against a loop of the bare calls.
//!
//! Both sides make the same calls at the same offsets of a small cached file, in one run, on one CPU
//! and in random order, so that a change of the clock rate or a busy neighbour meets both alike. The
//! figure is the ratio of the median times per call; the bar is 1.25.
#![allow(clippy::print_stdout, reason = "a benchmark talks to the one who runs it")]

mod ratio;

use std::os::fd::AsFd;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use fathom::instrument::Instrument;
use fathom::machine::Machine;
use fathom::machine::linux::{Limits, Linux};
use fathom::scratch::Scratch;
use fathom::workload::{CallKind, Pass, Region, ScratchFile, Workload};
use fathom_stats::quantile::median;
use fathom_sys::affinity::pin_to_current_cpu;
use fathom_sys::clock::monotonic_raw_ns;
use fathom_sys::file;
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use ratio::ratio;

const CALLS: u64 = 100_000;
const PAIRS: usize = 101;
const BAR: f64 = 1.25;
const REGION: Region = Region { offset: 0, size: 1, step: 1, count: CALLS };
const OPS: [(&str, CallKind); 3] =
    [("read of 1 byte", CallKind::Read), ("pread of 1 byte", CallKind::Pread), ("lseek", CallKind::Seek)];

/// Nanoseconds per call of both sides, pair by pair.
#[derive(Default)]
struct Sides {
    timed: Vec<f64>,
    bare: Vec<f64>,
}

fn main() -> ExitCode {
    // Dropped before the exit code is given, so that nothing stays behind.
    match compare(&std::env::temp_dir()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(reason) => {
            println!("timed_loop: {reason}");
            ExitCode::FAILURE
        }
    }
}

fn compare(directory: &Path) -> Result<bool, String> {
    let instrument = Instrument::calibrate()?;
    let limits = Limits { max_write: 64 << 20, deadline: None };
    let mut linux = Linux::at(directory, &instrument, limits, Arc::new(AtomicBool::new(false)))
        .map_err(|fault| fault.to_string())?;
    let scratch = Scratch::create(directory).map_err(|error| error.to_string())?;
    let mut generator = Pcg64Mcg::new(1);
    let mut within = true;
    println!("{:16} {:>9} {:>9} {:>7}  95 % interval", "", "timed ns", "bare ns", "ratio");
    for (name, op) in OPS {
        let sides = interleaved(op, &mut linux, scratch.path(), &mut generator)?;
        let ratio = ratio(&sides.timed, &sides.bare, &mut generator)?;
        let (timed, bare) = (median(&sides.timed), median(&sides.bare));
        println!(
            "{name:16} {:9.1} {:9.1} {:7.3}  {:.3} to {:.3}",
            timed.unwrap_or(f64::NAN),
            bare.unwrap_or(f64::NAN),
            ratio.value,
            ratio.interval.low,
            ratio.interval.high
        );
        within &= ratio.value <= BAR;
    }
    println!("the bar is {BAR}: {}", if within { "kept" } else { "missed" });
    Ok(within)
}

fn interleaved(
    op: CallKind,
    linux: &mut Linux,
    directory: &Path,
    generator: &mut Pcg64Mcg,
) -> Result<Sides, String> {
    let path = directory.join(format!("bare-{op:?}"));
    let target = file::create_new(&path).map_err(|error| error.to_string())?;
    let data = vec![1; CALLS as usize];
    file::pwrite(target.as_fd(), &data, 0).map_err(|errno| format!("pwrite {}: {errno}", path.display()))?;
    // On one CPU for good: the timed side binds itself to the CPU it is on.
    let _pinned = pin_to_current_cpu();
    timed_ns(op, linux)?;
    bare_ns(op, &target)?;
    let mut sides = Sides::default();
    for _ in 0..PAIRS {
        if generator.random::<bool>() {
            sides.timed.push(timed_ns(op, linux)?);
            sides.bare.push(bare_ns(op, &target)?);
        } else {
            sides.bare.push(bare_ns(op, &target)?);
            sides.timed.push(timed_ns(op, linux)?);
        }
    }
    Ok(sides)
}

/// One pass of the real machine: from its first clock reading to its last.
fn timed_ns(op: CallKind, linux: &mut Linux) -> Result<f64, String> {
    let workload = Workload::new(vec![ScratchFile::filled("timed", CALLS)])
        .pass(Pass::untimed(0, &[CallKind::Open]))
        .pass(Pass::timed(0, &[op], REGION));
    let samples = linux.run(&workload).map_err(|fault| fault.to_string())?;
    match (samples.readings.first(), samples.readings.last()) {
        (Some(first), Some(last)) => {
            let ticks = last.start.0 + last.latency.0 - first.start.0;
            Ok(samples.nanoseconds(ticks as f64) / CALLS as f64)
        }
        _ => Err("the machine gave no readings".to_owned()),
    }
}

/// The same calls and nothing else.
fn bare_ns(op: CallKind, target: &std::os::fd::OwnedFd) -> Result<f64, String> {
    let file = target.as_fd();
    let mut buffer = [0];
    file::seek(file, 0).map_err(|errno| format!("lseek: {errno}"))?;
    let before = monotonic_raw_ns();
    let mut outcome = Ok(0);
    match op {
        CallKind::Read => (0..CALLS).for_each(|_| outcome = outcome.and(file::read(file, &mut buffer))),
        CallKind::Pread => {
            (0..CALLS).for_each(|offset| outcome = outcome.and(file::pread(file, &mut buffer, offset)));
        }
        _ => (0..CALLS).for_each(|offset| outcome = outcome.and(file::seek(file, offset).map(|_| 0))),
    }
    let elapsed = monotonic_raw_ns() - before;
    outcome.map_err(|errno| format!("{op:?}: {errno}"))?;
    Ok(elapsed as f64 / CALLS as f64)
}
