//! The loop of one thread. Between the two clock readings of a transfer stands the call and nothing
//! else, and between two transfers nothing is allocated, formatted or dispatched dynamically.

use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use fathom_sys::Error;
use fathom_sys::cache::{self, Hint};
use fathom_sys::clock::Counter;
use fathom_sys::file::{self, Errno};
use fathom_sys::memory::Mapping;
use fathom_sys::usage::Usage;

use super::engine::Transfer;
use super::histogram::Histogram;
use crate::fault::Fault;
use fathom_program::job::{DIRECTIONS, Direction, Job};
use fathom_program::offsets::{Offsets, Span};

/// What all threads of a run look at.
pub(super) struct Control<'a> {
    pub(super) interrupt: &'a AtomicBool,
    /// Set by the first thread that fails, so that the others stop.
    pub(super) failed: &'a AtomicBool,
    /// Bytes that may still be written.
    pub(super) budget: &'a AtomicU64,
    /// When everything must have ended, in ticks.
    pub(super) deadline: u64,
    pub(super) ticks_per_second: f64,
}

/// One direction's transfers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Counted {
    pub(super) bytes: u64,
    pub(super) latency: Histogram,
}

/// What one thread did, in ticks.
#[derive(Debug, Clone, Default)]
pub(super) struct Record {
    pub(super) transfers: [Counted; DIRECTIONS],
    pub(super) syncs: Histogram,
    pub(super) elapsed: u64,
    pub(super) usage: Usage,
}

/// One thread's work, with all that it needs allocated.
pub(super) struct Worker<'a> {
    pub(super) job: &'a Job,
    pub(super) control: &'a Control<'a>,
    pub(super) path: PathBuf,
    pub(super) file: OwnedFd,
    pub(super) buffer: Mapping,
    pub(super) offsets: Offsets,
    pub(super) record: Record,
    /// Bytes still to be transferred; the last transfer is made whole.
    pub(super) left: u64,
    /// Whether another pass follows the first.
    pub(super) loops: bool,
    /// Written since the budget was last asked.
    pub(super) unclaimed: u64,
    pub(super) writes: u64,
}

/// How much may be written before the common budget is asked: rarely enough not to be felt.
const CLAIM: u64 = 8 << 20;
/// So close to its end a wait spins: waking from a sleep takes about that long.
const SPIN: Duration = Duration::from_micros(100);
/// The longest sleep that hears no interrupt.
const SLICE: Duration = Duration::from_millis(50);

/// The moments of a run, in ticks.
struct Times {
    start: u64,
    end: u64,
    /// The time allowed ends before the job's own.
    is_cut: bool,
    ramp_end: Option<u64>,
    due: [u64; DIRECTIONS],
}

impl Worker<'_> {
    /// Runs to the end of the work or of the time.
    pub(super) fn run<C: Counter, T: Transfer>(&mut self, clock: C, engine: &mut T) -> Result<(), Fault> {
        let job = self.job;
        let paces = job.rate.iter().any(|&rate| rate > 0);
        let thinktime = self.ticks(job.thinktime);
        let mut now = clock.stop();
        let mut times = self.times(now);
        let mut usage = Usage::of_this_thread();
        while now < times.end && self.left > 0 {
            if self.control.interrupt.load(Ordering::Relaxed) || self.control.failed.load(Ordering::Relaxed) {
                return Err(Fault::Interrupted);
            }
            if times.ramp_end.is_some_and(|end| now >= end) {
                self.begin_to_count(now, &mut times);
                usage = Usage::of_this_thread();
            }
            let mut direction = self.offsets.direction();
            if paces {
                direction = self.pace(clock, direction, &times);
            }
            let Some(span) = self.offsets.next(direction) else {
                if !self.loops {
                    self.left = 0;
                    break;
                }
                self.next_pass()?;
                now = clock.stop();
                continue;
            };
            self.sync_if_due(clock)?;
            now = self.transfer(clock, engine, direction, span)?;
            if paces {
                times.due[direction as usize] += self.ticks_at_rate(direction, span.length);
            }
            if direction == Direction::Write {
                self.after_write(span.length)?;
            }
            if thinktime > 0 {
                wait_until(clock, (now + thinktime).min(times.end), self.control);
                now = clock.stop();
            }
        }
        if job.end_fsync && self.writes > 0 {
            // fio counts its time, but not the call.
            file::fsync(&self.file).map_err(|errno| Error::new("fsync", &self.path, errno))?;
        }
        now = clock.stop();
        self.record.elapsed = now - times.start;
        self.record.usage = Usage::of_this_thread().since(usage);
        if times.is_cut && self.left > 0 { Err(Fault::OutOfTime) } else { Ok(()) }
    }

    #[inline(always)]
    fn transfer<C: Counter, T: Transfer>(
        &mut self,
        clock: C,
        engine: &mut T,
        direction: Direction,
        span: Span,
    ) -> Result<u64, Fault> {
        let Span { offset, length } = span;
        let buffer = &mut self.buffer.bytes()[..length as usize];
        let prepared = engine.prepare(&self.file, offset);
        prepared.map_err(|errno| Error::new("lseek", &self.path, errno).at(offset))?;
        if direction == Direction::Write {
            change(buffer, offset ^ self.writes);
        }
        let before = clock.start();
        let outcome = match direction {
            Direction::Read => engine.read(&self.file, buffer, offset),
            Direction::Write => engine.write(&self.file, buffer, offset),
        };
        let now = clock.stop();
        match outcome {
            Ok(moved) if moved == length as usize => {}
            other => return Err(self.failure(T::CALLS[direction as usize], span, other)),
        }
        let counted = &mut self.record.transfers[direction as usize];
        counted.bytes += length;
        counted.latency.record(now.saturating_sub(before));
        self.left = self.left.saturating_sub(length);
        Ok(now)
    }

    #[inline(always)]
    fn after_write(&mut self, length: u64) -> Result<(), Fault> {
        self.writes += 1;
        self.unclaimed += length;
        if self.unclaimed >= CLAIM { self.claim() } else { Ok(()) }
    }

    /// The sync that a job asks for after every so many writes.
    ///
    /// fio asks before each transfer whether the writes so far are such a number: none follows the
    /// last one, and reads that come before the next write each get one too.
    #[inline(always)]
    fn sync_if_due<C: Counter>(&mut self, clock: C) -> Result<(), Fault> {
        let is_due =
            |every: u32| every > 0 && self.writes > 0 && self.writes.is_multiple_of(u64::from(every));
        if is_due(self.job.fsync) {
            return self.sync(clock, "fsync", |file| file::fsync(file));
        }
        if is_due(self.job.fdatasync) {
            return self.sync(clock, "fdatasync", |file| file::fdatasync(file));
        }
        Ok(())
    }

    fn sync<C: Counter>(
        &mut self,
        clock: C,
        name: &'static str,
        call: impl FnOnce(&OwnedFd) -> Result<(), Errno>,
    ) -> Result<(), Fault> {
        let before = clock.start();
        let outcome = call(&self.file);
        let now = clock.stop();
        outcome.map_err(|errno| Error::new(name, &self.path, errno))?;
        self.record.syncs.record(now.saturating_sub(before));
        Ok(())
    }

    /// Takes what was written from the common budget.
    pub(super) fn claim(&mut self) -> Result<(), Fault> {
        let wanted = std::mem::take(&mut self.unclaimed);
        let take = |left: u64| left.checked_sub(wanted);
        match self.control.budget.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take) {
            Ok(_) => Ok(()),
            Err(left) => Err(Fault::OverBudget { wanted, left }),
        }
    }

    /// Another pass over the file; the cache is emptied of it, as before the first.
    #[cold]
    fn next_pass(&mut self) -> Result<(), Fault> {
        self.offsets.rewind();
        if self.job.invalidate && !self.job.pre_read {
            let dropped = cache::advise(&self.file, 0, 0, Hint::DontNeed);
            dropped.map_err(|errno| Error::new("drop the cached pages of", &self.path, errno))?;
        }
        Ok(())
    }

    fn times(&self, now: u64) -> Times {
        let ramp = self.ticks(self.job.ramp_time);
        let end = match self.job.runtime.is_zero() {
            true => u64::MAX,
            false => now.saturating_add(ramp).saturating_add(self.ticks(self.job.runtime)),
        };
        Times {
            start: now,
            end: end.min(self.control.deadline),
            is_cut: self.control.deadline <= end,
            ramp_end: (ramp > 0).then(|| now + ramp),
            due: [now; DIRECTIONS],
        }
    }

    /// The ramp is over: what was done in it is forgotten.
    #[cold]
    fn begin_to_count(&mut self, now: u64, times: &mut Times) {
        times.ramp_end = None;
        times.start = now;
        times.due = [now; DIRECTIONS];
        for counted in &mut self.record.transfers {
            counted.bytes = 0;
            counted.latency.clear();
        }
        self.record.syncs.clear();
    }

    /// Waits until a transfer is due; the other direction goes first if it is due first.
    fn pace<C: Counter>(&self, clock: C, drawn: Direction, times: &Times) -> Direction {
        let other = match drawn {
            Direction::Read => Direction::Write,
            Direction::Write => Direction::Read,
        };
        let due = |direction: Direction| times.due[direction as usize];
        let is_due = due(drawn) <= clock.stop();
        let direction =
            if !is_due && self.job.does(other) && due(other) < due(drawn) { other } else { drawn };
        wait_until(clock, due(direction).min(times.end), self.control);
        direction
    }

    fn ticks_at_rate(&self, direction: Direction, bytes: u64) -> u64 {
        match self.job.rate[direction as usize] {
            0 => 0,
            rate => (bytes as f64 / rate as f64 * self.control.ticks_per_second) as u64,
        }
    }

    fn ticks(&self, time: Duration) -> u64 {
        (time.as_secs_f64() * self.control.ticks_per_second) as u64
    }

    #[cold]
    fn failure(&self, call: &'static str, span: Span, outcome: Result<usize, Errno>) -> Fault {
        match outcome {
            Err(errno) => Error::new(call, &self.path, errno).at(span.offset).into(),
            Ok(moved) => Fault::Short {
                call: format!("{call} {} at byte {}", self.path.display(), span.offset),
                wanted: span.length as usize,
                moved,
            },
        }
    }
}

/// Makes a buffer unlike the one before in every 512 bytes, so that nothing is found twice on the way down.
#[inline(always)]
fn change(buffer: &mut [u8], mark: u64) {
    for sector in buffer.chunks_mut(512) {
        if let Some(word) = sector.first_chunk_mut::<8>() {
            *word = (u64::from_ne_bytes(*word) ^ mark.wrapping_mul(0x9E37_79B9_7F4A_7C15)).to_ne_bytes();
        }
    }
}

/// Waits until the clock shows `moment`, asleep for most of it, unless the run is to end.
fn wait_until<C: Counter>(clock: C, moment: u64, control: &Control<'_>) {
    loop {
        let now = clock.stop();
        if now >= moment {
            return;
        }
        let left = Duration::from_secs_f64((moment - now) as f64 / control.ticks_per_second);
        if left <= SPIN {
            std::hint::spin_loop();
            continue;
        }
        if control.interrupt.load(Ordering::Relaxed) || control.failed.load(Ordering::Relaxed) {
            return;
        }
        std::thread::sleep((left - SPIN).min(SLICE));
    }
}
