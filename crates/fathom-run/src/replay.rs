//! Replays a trace for real: its operations on scratch files of the right size, never on the files that it names.
//!
//! Each thread of the trace is a thread of the replay and makes its operations in their order. What threads share
//! is kept in order too: an operation at a description's position waits for those before it, a close for all that
//! use what it closes, an open, unlink or rename for what was done under the path before. Each path of the trace is one
//! in the scratch directory, so that a renamed file is found under its new one. Forks and maps are left out; a process's
//! children are threads here.

mod record;
mod slots;

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::{Duration, Instant};

use fathom_program::call::Call;
use fathom_sys::clock::Counter;
use fathom_sys::{Error, cache, facts, file};
use fathom_trace::format::Reader;
use fathom_trace::replay::ReplayCalls;
use serde::{Deserialize, Serialize};

pub use fathom_trace::replay::{Pace, Plan};

use self::record::Record;
pub use self::record::{Moved, Replayed, SCHEMA};
use self::slots::Slots;
use crate::executor::{self, Buffer, Control, Counters, System};
use crate::fault::Fault;
use crate::instrument::{Clock, Instrument};
use crate::scratch::Scratch;

/// What the page cache holds of the files when the first operation begins. All data of the files are on the device.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cache {
    /// Nothing of the files.
    #[default]
    Cold,
    /// All of the files.
    Warm,
}

/// How a trace is replayed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct How {
    /// When operations begin.
    pub pace: Pace,
    /// What the page cache holds at first.
    #[serde(default)]
    pub cache: Cache,
}

/// What bounds a replay.
#[derive(Debug, Clone)]
pub struct Bounds {
    /// The number of bytes to write at most, including those that lay the files out.
    pub max_write: u64,
    /// The clock that times the replay.
    pub instrument: Instrument,
    /// When the replay must have ended.
    pub deadline: Option<Instant>,
    /// A flag that ends the replay early once it is set.
    pub interrupt: Arc<AtomicBool>,
}

/// More threads than that are not made.
const MOST_THREADS: usize = 1024;
/// What the threads' buffers may take together, in bytes.
const MOST_MEMORY: u64 = 1 << 30;

/// Plans the replay of a trace.
///
/// # Errors
/// The trace can't be read.
pub fn plan(trace: &Path) -> Result<Arc<Plan>, Fault> {
    let unread = |error: fathom_trace::Error| Fault::Unsupported(error.to_string());
    let reader = Reader::open(trace).map_err(unread)?;
    let level = reader.origin().level;
    let (operations, files) = reader.read_all().map_err(unread)?;
    Ok(Arc::new(Plan::new(&operations, &files, level)))
}

/// Replays a trace on scratch files below `path`; `ready` is called when they are there, before the first operation.
///
/// # Errors
/// The plan is too much for the budget, the time or the free space, or a call fails that did not fail in the trace.
pub fn replay(
    plan: &Arc<Plan>,
    path: &Path,
    how: How,
    bounds: &Bounds,
    ready: &mut dyn FnMut(),
) -> Result<Replayed, Fault> {
    let records = on_scratch(plan, path, how, bounds, ready, false)?;
    Ok(Replayed::of(plan, how, &records, bounds.instrument.certificate.ticks_per_second))
}

/// Replays a trace, and returns each thread's calls in order, for tests that compare machines.
///
/// # Errors
/// As [`replay`].
pub fn calls(plan: &Arc<Plan>, path: &Path, how: How, bounds: &Bounds) -> Result<Vec<Vec<Call>>, Fault> {
    let records = on_scratch(plan, path, how, bounds, &mut || (), true)?;
    Ok(records.into_iter().map(|record| record.calls.unwrap_or_default()).collect())
}

fn on_scratch<'a>(
    plan: &'a Arc<Plan>,
    path: &Path,
    how: How,
    bounds: &Bounds,
    ready: &mut dyn FnMut(),
    lists: bool,
) -> Result<Vec<Record<'a>>, Fault> {
    affordable(plan, path, bounds)?;
    let scratch = Scratch::create(path)?;
    let records = lay_out(plan, &scratch, how.cache, bounds).and_then(|paths| {
        ready();
        run(plan, paths, how, bounds, lists)
    });
    let removed = scratch.remove();
    let records = records?;
    removed?;
    Ok(records)
}

fn affordable(plan: &Plan, path: &Path, bounds: &Bounds) -> Result<(), Fault> {
    let wanted = plan.writes.saturating_add(plan.laid_out());
    Fault::unless_affordable(wanted, bounds.max_write)?;
    let free = facts::space(path)?.free_bytes;
    if wanted > free {
        return Err(Fault::Unsupported(format!(
            "{}: a replay takes {wanted} bytes, and {free} are free",
            path.display()
        )));
    }
    let buffers = plan.largest.saturating_mul(plan.threads.len() as u64);
    if buffers > MOST_MEMORY {
        return Err(Fault::Unsupported(format!(
            "its threads' reads and writes take buffers of {buffers} bytes in all"
        )));
    }
    if plan.threads.len() > MOST_THREADS {
        let count = plan.threads.len();
        return Err(Fault::Unsupported(format!(
            "the trace has {count} threads, and {MOST_THREADS} are the most"
        )));
    }
    Ok(())
}

/// How long before its end a wait begins to spin: sleeping is no more exact than that.
const SPIN: Duration = Duration::from_micros(150);

fn run<'a>(
    plan: &'a Arc<Plan>,
    paths: Vec<PathBuf>,
    how: How,
    bounds: &Bounds,
    lists: bool,
) -> Result<Vec<Record<'a>>, Fault> {
    let slots = Slots::new(plan, paths)?;
    match bounds.instrument.clock {
        Clock::Cycles(clock) => threads(clock, plan, &slots, how, bounds, lists),
        Clock::Monotonic(clock) => threads(clock, plan, &slots, how, bounds, lists),
    }
}

/// Runs all threads from the same moment.
fn threads<'a, C: Counter>(
    clock: C,
    plan: &'a Arc<Plan>,
    slots: &Slots,
    how: How,
    bounds: &Bounds,
    lists: bool,
) -> Result<Vec<Record<'a>>, Fault> {
    let ticks_per_second = bounds.instrument.certificate.ticks_per_second;
    let ticks = |time: Duration| (time.as_secs_f64() * ticks_per_second) as u64;
    let program = plan.program(how.pace, ticks_per_second);
    let now = clock.stop();
    let control = Control {
        interrupt: &bounds.interrupt,
        failed: &AtomicBool::new(false),
        budget: &AtomicU64::new(u64::MAX),
        deadline: executor::deadline(clock, bounds.deadline, ticks_per_second),
        ticks_per_second,
        counters: &Counters::new(&program.counters),
        spin: SPIN,
    };
    // Late enough for every thread to be there.
    let start = now + ticks(Duration::from_millis(20));
    let outcomes = std::thread::scope(|scope| {
        let control = &control;
        let spawn = |(thread, mut calls): (usize, ReplayCalls)| {
            scope.spawn(move || {
                let mut record = Record::new(&plan.threads[thread], lists);
                let outcome = Buffer::touched(plan.largest, Path::new("")).and_then(|buffer| {
                    let mut engine = System::new(slots, buffer);
                    control.wait_until(clock, start);
                    executor::run(clock, &mut calls, &mut engine, &mut record, control, Some(start))
                });
                if outcome.is_err() {
                    control.failed.store(true, std::sync::atomic::Ordering::Relaxed);
                }
                outcome.map(|elapsed| record.of(elapsed))
            })
        };
        let handles: Vec<_> = program.threads.into_iter().enumerate().map(spawn).collect();
        let gone = || Err(Fault::Unsupported("a thread of the replay died".to_owned()));
        handles.into_iter().map(|handle| handle.join().unwrap_or_else(|_| gone())).collect()
    });
    executor::first_cause(outcomes)
}

/// Makes the files, has all of them on the device, and gives the paths.
fn lay_out(plan: &Plan, scratch: &Scratch, cached: Cache, bounds: &Bounds) -> Result<Vec<PathBuf>, Fault> {
    let name = |at: usize| scratch.path().join(format!("file{at}"));
    let paths: Vec<_> = (0..plan.sizes.len()).map(name).collect();
    let sized = || paths.iter().zip(&plan.sizes).filter_map(|(path, size)| Some((path, (*size)?)));
    let mut made = Vec::new();
    for (path, size) in sized() {
        let file = fill(path, size, bounds)?;
        cache::write_out(&file, 0, 0, 0).map_err(|errno| Error::new("write out", path, errno))?;
        made.push(path);
    }
    // Only when all are written, so that one commit of a journal serves all.
    for path in made {
        Fault::if_stopped(&bounds.interrupt, bounds.deadline)?;
        let file = file::open(path).map_err(|errno| Error::new("open", path, errno))?;
        let settled = match cached {
            Cache::Cold => cache::evict(&file, 0, 0),
            Cache::Warm => file::fsync(&file),
        };
        settled.map_err(|errno| Error::new("sync", path, errno))?;
    }
    Ok(paths)
}

/// Makes a file of that size, filled with data.
fn fill(path: &Path, size: u64, bounds: &Bounds) -> Result<OwnedFd, Fault> {
    let made = file::create_new(path)?;
    let block: Vec<u8> = (0..1 << 20).map(|at| (at % 253) as u8).collect();
    let mut at = 0;
    while at < size {
        Fault::if_stopped(&bounds.interrupt, bounds.deadline)?;
        let part = &block[..block.len().min(usize::try_from(size - at).unwrap_or(usize::MAX))];
        let written = file::pwrite(made.as_fd(), part, at);
        at += written.map_err(|errno| Error::new("write", path, errno))? as u64;
    }
    Ok(made)
}
