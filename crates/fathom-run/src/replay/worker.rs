//! One thread of a replay: waits for what it must, makes its calls, and notes what they took and moved.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Condvar, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use fathom_sys::file::{self, Errno};
use fathom_sys::{Error, cache};
use fathom_trace::{Access, FileId, Kind, Operation};

use super::plan::{Plan, Step};
use super::{Moved, Pace};
use crate::fault::Fault;

/// Up to here a wait spins: sleeping is no more exact than that.
const SPUN: Duration = Duration::from_micros(150);
/// An open description, and how far the steps on it are.
#[derive(Debug, Default)]
pub(super) struct Slot {
    pub(super) file: RwLock<Option<OwnedFd>>,
    is_open: AtomicBool,
    used: AtomicU32,
    moved: AtomicU32,
}

impl Slot {
    pub(super) fn fill(&self, file: OwnedFd) {
        *self.file.write().unwrap_or_else(PoisonError::into_inner) = Some(file);
        self.is_open.store(true, Ordering::Release);
    }
}

/// A thread's steps that other threads begin after.
#[derive(Debug, Default)]
pub(super) struct Gate {
    /// Their numbers in order; nobody is told of the others.
    waited: Vec<u32>,
    done: Mutex<u32>,
    changed: Condvar,
}

impl Gate {
    pub(super) fn new(mut waited: Vec<u32>) -> Self {
        waited.sort_unstable();
        waited.dedup();
        Self { waited, ..Self::default() }
    }

    /// So many steps are done; `told` says how many of those that somebody waits for were told of.
    fn pass(&self, done: u32, told: &mut usize) {
        if self.waited.get(*told) == Some(&done) {
            *told += 1;
            *self.done.lock().unwrap_or_else(PoisonError::into_inner) = done;
            self.changed.notify_all();
        }
    }
}

/// What all threads share.
pub(super) struct Shared<'a> {
    pub(super) plan: &'a Plan,
    pub(super) slots: Vec<Slot>,
    pub(super) paths: Vec<PathBuf>,
    /// Of each thread.
    pub(super) gates: Vec<Gate>,
    /// Steps done on each path.
    pub(super) on_path: Vec<AtomicU32>,
    pub(super) pace: Pace,
    pub(super) start: Instant,
    pub(super) deadline: Option<Instant>,
    pub(super) interrupt: &'a AtomicBool,
    /// Set where a thread has failed, so that the others do not wait for it.
    pub(super) failed: AtomicBool,
    pub(super) fault: Mutex<Option<Fault>>,
}

impl Shared<'_> {
    /// Ends the replay for all threads; the first reason stays.
    fn fail(&self, fault: Fault) {
        let mut first = self.fault.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert(fault);
        self.failed.store(true, Ordering::Release);
    }

    fn stop(&self) -> Option<Fault> {
        if self.interrupt.load(Ordering::Relaxed) {
            return Some(Fault::Interrupted);
        }
        self.deadline.is_some_and(|end| Instant::now() >= end).then_some(Fault::OutOfTime)
    }

    /// Waits for other threads.
    fn until(&self, is_so: impl Fn() -> bool) -> Result<(), Fault> {
        let mut rounds = 0_u32;
        while !is_so() {
            rounds += 1;
            if self.failed.load(Ordering::Acquire) {
                return Err(Fault::Interrupted);
            }
            if rounds.is_multiple_of(1024) {
                self.stop().map_or(Ok(()), Err)?;
                std::thread::sleep(Duration::from_micros(50));
            } else {
                std::thread::yield_now();
            }
        }
        Ok(())
    }

    /// Waits for a step of another thread, however long that takes.
    fn behind(&self, gate: &Gate, steps: u32) -> Result<(), Fault> {
        const LOOKS: Duration = Duration::from_millis(100);
        let mut done = gate.done.lock().unwrap_or_else(PoisonError::into_inner);
        while *done < steps {
            if self.failed.load(Ordering::Acquire) {
                return Err(Fault::Interrupted);
            }
            self.stop().map_or(Ok(()), Err)?;
            let waited = gate.changed.wait_timeout(done, LOOKS);
            done = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        Ok(())
    }

    /// Waits for a moment.
    fn wait(&self, moment: Instant) -> Result<(), Fault> {
        loop {
            let now = Instant::now();
            let Some(left) = moment.checked_duration_since(now).filter(|left| !left.is_zero()) else {
                return Ok(());
            };
            if left > SPUN {
                self.stop().map_or(Ok(()), Err)?;
                std::thread::sleep((left - SPUN).min(Duration::from_millis(100)));
            } else {
                std::hint::spin_loop();
            }
        }
    }
}

/// Runs a thread's steps; what went wrong is in `shared`.
pub(super) fn run(shared: &Shared, thread: usize) -> [Moved; 2] {
    let steps = &shared.plan.threads[thread];
    let largest = usize::try_from(shared.plan.largest).unwrap_or(usize::MAX);
    // Written to, so that no call pays for pages that are not there yet.
    let mut buffer: Vec<u8> = (0..largest).map(|at| (at % 251) as u8).collect();
    let mut moved = [Moved::default(), Moved::default()];
    let mut last_end = shared.start;
    let mut last_recorded = None;
    if let Err(fault) = shared.wait(shared.start) {
        shared.fail(fault);
        return moved;
    }
    let mut told = 0;
    for (count, step) in (1..).zip(steps) {
        let done = before(shared, step, last_end, last_recorded).and_then(|()| {
            let begun = Instant::now();
            let result = call(shared, step, &mut buffer);
            last_end = Instant::now();
            note(&mut moved, &step.operation, result?, last_end - begun);
            Ok(())
        });
        if let Err(fault) = done {
            shared.fail(fault);
            break;
        }
        last_recorded = Some(step.end_ns());
        after(shared, step);
        shared.gates[thread].pass(count, &mut told);
    }
    moved
}

/// Waits until a step may be made.
fn before(shared: &Shared, step: &Step, last_end: Instant, last_recorded: Option<i64>) -> Result<(), Fault> {
    let slot = &shared.slots[step.slot];
    let has = |count: &AtomicU32, least| count.load(Ordering::Acquire) >= least;
    let on_path = |path: FileId| &shared.on_path[path.0 as usize];
    if let Some(begin) = step.after_thread {
        shared.behind(&shared.gates[begin.thread], begin.steps)?;
        if shared.pace == Pace::Think {
            shared.wait(Instant::now() + Duration::from_nanos(begin.pause_ns))?;
        }
    }
    match step.operation.kind {
        Kind::Open | Kind::Unlink => shared.until(|| has(on_path(step.operation.file), step.after_file))?,
        Kind::Rename => shared.until(|| {
            let is_free = |to| has(on_path(to), step.after_to);
            has(on_path(step.operation.file), step.after_file) && step.operation.to.is_none_or(is_free)
        })?,
        Kind::Close => {
            shared.until(|| slot.is_open.load(Ordering::Acquire) && has(&slot.used, step.after))?
        }
        _ => shared.until(|| slot.is_open.load(Ordering::Acquire) && has(&slot.moved, step.after))?,
    }
    let since = |from: i64| {
        Duration::from_nanos(u64::try_from(step.operation.start_ns.saturating_sub(from)).unwrap_or(0))
    };
    match shared.pace {
        Pace::Fast => Ok(()),
        Pace::Recorded => shared.wait(shared.start + since(shared.plan.first_ns)),
        Pace::Think => shared.wait(last_end + last_recorded.map_or(Duration::ZERO, since)),
    }
}

fn after(shared: &Shared, step: &Step) {
    let slot = &shared.slots[step.slot];
    let kind = step.operation.kind;
    if matches!(kind, Kind::Read | Kind::Readv | Kind::Write | Kind::Writev | Kind::Seek) {
        slot.moved.fetch_add(1, Ordering::AcqRel);
    }
    if kind != Kind::Open {
        slot.used.fetch_add(1, Ordering::AcqRel);
    }
    for path in [Some(step.operation.file), step.operation.to].into_iter().flatten() {
        shared.on_path[path.0 as usize].fetch_add(1, Ordering::AcqRel);
    }
}

/// What a step's call returned.
fn call(shared: &Shared, step: &Step, buffer: &mut [u8]) -> Result<i64, Fault> {
    let operation = &step.operation;
    let path = &shared.paths[operation.file.0 as usize];
    let slot = &shared.slots[step.slot];
    match operation.kind {
        Kind::Open => return open(slot, operation, path),
        Kind::Close => {
            if step.closes {
                let taken = slot.file.write().unwrap_or_else(PoisonError::into_inner).take();
                taken.map_or(Ok(()), file::close).map_err(|errno| Error::new("close", path, errno))?;
            }
            return Ok(0);
        }
        Kind::Unlink => {
            return file::unlink(path).map(|()| 0).map_err(|errno| Error::new("unlink", path, errno).into());
        }
        Kind::Rename => {
            let to = operation.to.map_or(path, |to| &shared.paths[to.0 as usize]);
            let renamed = file::rename(path, to, operation.flags);
            return renamed.map(|()| 0).map_err(|errno| Error::new("rename", path, errno).into());
        }
        _ => {}
    }
    let held = slot.file.read().unwrap_or_else(PoisonError::into_inner);
    let Some(held) = held.as_ref() else {
        return Err(Fault::Unsupported(format!("{}: used after it was closed", path.display())));
    };
    let result = if operation.kind == Kind::Dup {
        held.try_clone()
            .map(|copy| shared.slots[step.makes].fill(copy))
            .map(|()| 0)
            .map_err(|error| Errno::from_raw_os_error(error.raw_os_error().unwrap_or(0)))
    } else {
        work(held.as_fd(), operation, buffer)
    };
    result.map_err(|errno| Error::new(operation.kind.name(), path, errno).into())
}

/// Opens as the trace did, below the scratch directory; what it did not find is not found again.
fn open(slot: &Slot, operation: &Operation, path: &Path) -> Result<i64, Fault> {
    let has_failed = operation.result.is_some_and(|result| result < 0);
    let path = if has_failed { path.with_extension("absent") } else { path.to_owned() };
    // A source that tells no result tells no flags either: for reading and writing then.
    let flags = if operation.result.is_some() { operation.flags } else { 2 };
    match file::open_with(&path, flags) {
        Ok(opened) => {
            slot.fill(opened);
            Ok(0)
        }
        Err(errno) if has_failed => Ok(-i64::from(errno.raw_os_error())),
        Err(errno) => Err(Error::new("open", &path, errno).into()),
    }
}

fn work(file: BorrowedFd<'_>, operation: &Operation, buffer: &mut [u8]) -> Result<i64, Errno> {
    let length = usize::try_from(operation.length).unwrap_or(usize::MAX).min(buffer.len());
    let part = &mut buffer[..if operation.kind.access().is_some() { length } else { 0 }];
    let offset = operation.offset.unwrap_or(0);
    let at_offset = operation.descriptor.is_none();
    let moved = |moved: Result<usize, Errno>| moved.map(|bytes| bytes as i64);
    match operation.kind {
        Kind::Read | Kind::Readv | Kind::Pread if at_offset => moved(file::pread(file, part, offset)),
        Kind::Write | Kind::Writev | Kind::Pwrite if at_offset => moved(file::pwrite(file, part, offset)),
        Kind::Read => moved(file::read(file, part)),
        Kind::Write => moved(file::write(file, part)),
        Kind::Readv => moved(file::readv(file, part)),
        Kind::Writev => moved(file::writev(file, part)),
        Kind::Pread => moved(file::pread(file, part, offset)),
        Kind::Pwrite => moved(file::pwrite(file, part, offset)),
        Kind::Preadv => moved(file::preadv(file, part, offset)),
        Kind::Pwritev => moved(file::pwritev(file, part, offset)),
        Kind::Seek => file::seek(file, offset).map(|to| to as i64),
        Kind::Fsync => file::fsync(file).map(|()| 0),
        Kind::Fdatasync => file::fdatasync(file).map(|()| 0),
        Kind::SyncRange => cache::write_out(file, offset, operation.length).map(|()| 0),
        Kind::Truncate => file::ftruncate(file, operation.length).map(|()| 0),
        Kind::Allocate => file::allocate(file, offset.saturating_add(operation.length)).map(|()| 0),
        Kind::Discard => file::punch(file, offset, operation.length).map(|()| 0),
        _ => Ok(0),
    }
}

fn note(moved: &mut [Moved; 2], operation: &Operation, result: i64, took: Duration) {
    let Some(access) = operation.kind.access() else { return };
    let moved = &mut moved[if access == Access::Read { 0 } else { 1 }];
    let bytes = u64::try_from(result).unwrap_or(0);
    moved.operations += 1;
    moved.bytes += bytes;
    moved.time += took;
    moved.took_ns.add(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
    operation.duration_ns.iter().for_each(|&ns| moved.recorded_ns.add(ns));
    moved.different += u64::from(bytes != operation.moved_bytes());
}
