//! Replays a trace for real: its operations on scratch files of the right size, never on the files that it names.
//!
//! Each thread of the trace is a thread of the replay and makes its operations in their order. What threads share
//! is kept in order too: an operation at a description's position waits for those before it, a close for all that
//! use what it closes, an open, unlink or rename for what was done under the path before. Each path of the trace is one
//! in the scratch directory, so that a renamed file is found under its new one. Forks and maps are left out; a process's
//! children are threads here.

mod plan;
mod worker;

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use fathom_sys::{Error, cache, facts, file};
use fathom_trace::FileId;
use fathom_trace::format::Reader;
use fathom_trace::show::Histogram;
use serde::{Deserialize, Serialize};

pub use self::plan::O_TRUNC;
pub use self::plan::{Begin, Plan, Step};
use self::worker::{Gate, Shared, Slot};
use crate::fault::Fault;
use crate::scratch::Scratch;

/// What [`Replayed`] is called where it is written.
pub const SCHEMA: &str = "fathom.replay/1";

/// When an operation begins.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pace {
    /// When its thread has paused after the last one as long as in the trace.
    #[default]
    Think,
    /// At once.
    Fast,
    /// When it did in the trace, counted from the first; late ones at once.
    Recorded,
}

/// What the page cache holds of the files when the first operation begins. All that is in them is on the device.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cache {
    /// Nothing.
    #[default]
    Cold,
    /// All of them.
    Warm,
}

/// How a trace is replayed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct How {
    /// When operations begin.
    pub pace: Pace,
    /// What is cached then.
    #[serde(default)]
    pub cache: Cache,
}

/// What bounds a replay.
#[derive(Debug, Clone)]
pub struct Bounds {
    /// Bytes to write at most, with those that lay the files out.
    pub max_write: u64,
    /// When it must have ended.
    pub deadline: Option<Instant>,
    /// Set to end it early.
    pub interrupt: Arc<AtomicBool>,
}

/// What a replay came to.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Replayed {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// How it was replayed.
    #[serde(flatten)]
    pub how: How,
    /// Threads.
    pub threads: u64,
    /// From the first operation to the end of the last.
    #[serde(rename = "elapsed_ns", with = "nanos")]
    pub elapsed: Duration,
    /// Reads.
    pub reads: Moved,
    /// Writes.
    pub writes: Moved,
    /// Operations of the trace that are not replayed: forks, maps, failed ones, and those that say too little.
    pub left_out: u64,
    /// Bytes that laid the files out.
    pub laid_out_bytes: u64,
}

/// Reads, or writes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moved {
    /// How many.
    pub operations: u64,
    /// Bytes that they moved.
    pub bytes: u64,
    /// The time that they took, all threads together.
    #[serde(rename = "time_ns", with = "nanos")]
    pub time: Duration,
    /// How long each took, in ns.
    pub took_ns: Histogram,
    /// How long the same took in the trace, where that says so.
    pub recorded_ns: Histogram,
    /// Those that moved another number of bytes than in the trace.
    pub different: u64,
}

/// A duration as whole nanoseconds.
mod nanos {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        u64::deserialize(deserializer).map(Duration::from_nanos)
    }
}

/// More threads than that are not made.
const MOST_THREADS: usize = 1024;
/// What the threads' buffers may take together, in bytes.
const MOST_MEMORY: u64 = 1 << 30;

/// Plans the replay of a trace.
///
/// # Errors
/// The trace can't be read.
pub fn plan(trace: &Path) -> Result<Plan, Fault> {
    let unread = |error: fathom_trace::Error| Fault::Unsupported(error.to_string());
    let reader = Reader::open(trace).map_err(unread)?;
    let level = reader.origin().level;
    let (operations, files) = reader.read_all().map_err(unread)?;
    Ok(Plan::new(&operations, &files, level))
}

/// Replays a trace on scratch files below `path`; `ready` is called when they are there, before the first operation.
///
/// # Errors
/// The plan is too much for the budget, the time or the free space, or a call fails that did not fail in the trace.
pub fn replay(
    plan: &Plan,
    path: &Path,
    how: How,
    bounds: &Bounds,
    ready: &mut dyn FnMut(),
) -> Result<Replayed, Fault> {
    affordable(plan, path, bounds)?;
    let scratch = Scratch::create(path)?;
    let replayed = lay_out(plan, &scratch, how.cache, bounds).and_then(|paths| {
        ready();
        run(plan, paths, how, bounds)
    });
    let removed = scratch.remove();
    let replayed = replayed?;
    removed?;
    Ok(replayed)
}

fn affordable(plan: &Plan, path: &Path, bounds: &Bounds) -> Result<(), Fault> {
    let wanted = plan.writes.saturating_add(plan.laid_out());
    if wanted > bounds.max_write {
        return Err(Fault::OverBudget { wanted, left: bounds.max_write });
    }
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

fn run(plan: &Plan, paths: Vec<PathBuf>, how: How, bounds: &Bounds) -> Result<Replayed, Fault> {
    let slots: Vec<Slot> = std::iter::repeat_with(Slot::default).take(plan.slots).collect();
    for (slot, FileId(at), position) in &plan.inherited {
        let path = &paths[*at as usize];
        let opened = file::open(path).map_err(|errno| Error::new("open", path, errno))?;
        file::seek(opened.as_fd(), *position).map_err(|errno| Error::new("seek", path, errno))?;
        slots[*slot].fill(opened);
    }
    let shared = Shared {
        plan,
        slots,
        gates: gates(plan),
        on_path: paths.iter().map(|_| AtomicU32::new(0)).collect(),
        paths,
        pace: how.pace,
        // Late enough for every thread to be there.
        start: Instant::now() + Duration::from_millis(20),
        deadline: bounds.deadline,
        interrupt: &bounds.interrupt,
        failed: AtomicBool::new(false),
        fault: Mutex::new(None),
    };
    let (moved, ended) = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..plan.threads.len())
            .map(|thread| {
                scope.spawn({
                    let shared = &shared;
                    move || worker::run(shared, thread)
                })
            })
            .collect();
        let moved: Vec<[Moved; 2]> = threads.into_iter().filter_map(|thread| thread.join().ok()).collect();
        (moved, Instant::now())
    });
    if let Some(fault) = shared.fault.lock().unwrap_or_else(PoisonError::into_inner).take() {
        return Err(fault);
    }
    Ok(summed(plan, how, &moved, ended.saturating_duration_since(shared.start)))
}

fn summed(plan: &Plan, how: How, moved: &[[Moved; 2]], elapsed: Duration) -> Replayed {
    let sum = |way: usize| {
        moved.iter().map(|thread| &thread[way]).fold(Moved::default(), |mut sum, one| {
            sum.operations += one.operations;
            sum.bytes += one.bytes;
            sum.time += one.time;
            sum.took_ns.merge(&one.took_ns);
            sum.recorded_ns.merge(&one.recorded_ns);
            sum.different += one.different;
            sum
        })
    };
    Replayed {
        schema: SCHEMA.to_owned(),
        how,
        threads: plan.threads.len() as u64,
        elapsed,
        reads: sum(0),
        writes: sum(1),
        left_out: plan.left_out,
        laid_out_bytes: plan.laid_out(),
    }
}

/// Who waits for which of a thread's steps.
fn gates(plan: &Plan) -> Vec<Gate> {
    let mut waited = vec![Vec::new(); plan.threads.len()];
    for begin in plan.threads.iter().filter_map(|steps| steps.first()?.after_thread) {
        waited[begin.thread].push(begin.steps);
    }
    waited.into_iter().map(Gate::new).collect()
}

/// Makes the files, has all of them on the device, and gives the paths.
fn lay_out(plan: &Plan, scratch: &Scratch, cached: Cache, bounds: &Bounds) -> Result<Vec<PathBuf>, Fault> {
    let name = |at: usize| scratch.path().join(format!("file{at}"));
    let paths: Vec<_> = (0..plan.sizes.len()).map(name).collect();
    let sized = || paths.iter().zip(&plan.sizes).filter_map(|(path, size)| Some((path, (*size)?)));
    let mut made = Vec::new();
    for (path, size) in sized() {
        let file = fill(path, size, bounds)?;
        cache::write_out(&file, 0, 0).map_err(|errno| Error::new("write out", path, errno))?;
        made.push(path);
    }
    // Only when all are written, so that one commit of a journal serves all.
    for path in made {
        stop(bounds)?;
        let file = file::open(path).map_err(|errno| Error::new("open", path, errno))?;
        let settled = match cached {
            Cache::Cold => cache::evict(&file, 0, 0),
            Cache::Warm => file::fsync(&file),
        };
        settled.map_err(|errno| Error::new("sync", path, errno))?;
    }
    Ok(paths)
}

fn stop(bounds: &Bounds) -> Result<(), Fault> {
    if bounds.interrupt.load(std::sync::atomic::Ordering::Relaxed) {
        return Err(Fault::Interrupted);
    }
    if bounds.deadline.is_some_and(|end| Instant::now() >= end) {
        return Err(Fault::OutOfTime);
    }
    Ok(())
}

/// Makes a file of that size, filled with data.
fn fill(path: &Path, size: u64, bounds: &Bounds) -> Result<OwnedFd, Fault> {
    let made = file::create_new(path)?;
    let block: Vec<u8> = (0..1 << 20).map(|at| (at % 253) as u8).collect();
    let mut at = 0;
    while at < size {
        stop(bounds)?;
        let part = &block[..block.len().min(usize::try_from(size - at).unwrap_or(usize::MAX))];
        let written = file::pwrite(made.as_fd(), part, at);
        at += written.map_err(|errno| Error::new("write", path, errno))? as u64;
    }
    Ok(made)
}
