//! The real kernel as a machine: scratch files, proven cache states, and a timed loop.

mod declared;
pub mod files;
pub(crate) mod residency;
mod witness;

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::{Duration, Instant};

use fathom_program::call::{Call, DIRECTIONS, FileId};
use fathom_program::passes::{PassCalls, Visit};
pub use fathom_sys::blocked::{Blocked, calls as blocked_calls};
use fathom_sys::clock::{Counter, monotonic_raw_ns};
use fathom_sys::memory::Mapping;
pub use fathom_sys::process::{Surrender, supervise};
use fathom_sys::{Error, affinity, facts};

use self::files::Files;
use self::residency::Residency;
use crate::executor::{self, Buffer, Control, Counters, Descriptors, Entries, Own, Recorder, System, Window};
use crate::instrument::{Clock, Instrument};
use crate::machine::{Fault, Machine};
use crate::samples::{Reading, Samples, notes};
use crate::witness::{Declared, Witness};
use fathom_program::units::Ticks;
use fathom_program::workload::{Buffer as Fill, CacheState, Pass, ScratchFile, Workload};

/// What a run may use.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The number of bytes that may be written in all.
    pub max_write: u64,
    /// When everything must have ended.
    pub deadline: Option<Instant>,
}

/// Linux, at one directory.
#[derive(Debug)]
pub struct Linux {
    files: Files,
    residency: Residency,
    declared: Declared,
    clock: Clock,
    ticks_per_second: f64,
    limits: Limits,
    interrupt: Arc<AtomicBool>,
    bytes_read: u64,
    /// The block device below the mount.
    device: Option<String>,
}

/// Counters that one run advances.
#[derive(Debug, Default)]
struct Tally {
    readings: Vec<Reading>,
    rounds_done: u32,
}

impl Linux {
    /// A machine that works in a private directory below `path` until it is dropped. Runs check `interrupt` between operations;
    /// once it is set, they end with [`Fault::Interrupted`].
    ///
    /// `interrupt` is looked at between operations; once it is set, runs end with [`Fault::Interrupted`].
    ///
    /// # Errors
    /// What making the directory gives; a file system with less free space than `limits.max_write`.
    pub fn at(
        path: &Path,
        instrument: &Instrument,
        limits: Limits,
        interrupt: Arc<AtomicBool>,
    ) -> Result<Self, Fault> {
        let mut files = Files::below(path, limits.max_write)?;
        affinity::sleep_precisely();
        let (residency, sample) = match files.is_read_only() {
            // There is no file to ask: the directory tells what it can.
            true => (Residency::Invisible, path.to_owned()),
            false => (residency::detect(&mut files)?, files.path(residency::FILE)),
        };
        let declared = declared::declared(path, &sample, files.is_read_only() || residency.is_visible())?;
        Ok(Self {
            files,
            residency,
            declared,
            clock: instrument.clock,
            ticks_per_second: instrument.certificate.ticks_per_second,
            limits,
            interrupt,
            bytes_read: 0,
            device: facts::device_of(&facts::mount_of(path)?).map(|device| device.name),
        })
    }

    /// Bytes written so far, including those that filled the scratch files.
    pub fn bytes_written(&self) -> u64 {
        self.files.bytes_written()
    }

    /// Bytes read so far.
    pub fn bytes_read(&self) -> u64 {
        self.bytes_read
    }

    /// Removes the scratch files, and reports what could not be removed; dropping does the same in silence.
    ///
    /// # Errors
    /// The first removal that failed, twice.
    pub fn close(self) -> Result<(), Fault> {
        Ok(self.files.close()?)
    }

    /// Makes and fills scratch files, unless it is time to stop.
    fn provide(&mut self, wanted: &[ScratchFile]) -> Result<(), Fault> {
        self.check_interrupt()?;
        let (interrupt, deadline) = (Arc::clone(&self.interrupt), self.limits.deadline);
        let provided = self.files.provide(wanted, &|| Fault::if_stopped(&interrupt, deadline));
        provided.inspect_err(|_| self.forget(wanted))
    }

    /// After a fault the content of the files is unknown: the next run makes them anew.
    fn forget(&mut self, damaged: &[ScratchFile]) {
        damaged.iter().for_each(|file| self.files.forget(&file.name));
    }

    fn check_interrupt(&self) -> Result<(), Fault> {
        Fault::if_stopped(&self.interrupt, self.limits.deadline)
    }

    fn run_with<C: Counter>(&mut self, clock: C, workload: &Workload) -> Result<Tally, Fault> {
        let mut tally = Tally::default();
        let rounds = workload.warmup_rounds.saturating_add(workload.rounds);
        for absolute in 0..rounds {
            let round = absolute.checked_sub(workload.warmup_rounds);
            let kept = tally.readings.len();
            match self.round(clock, workload, absolute, round, &mut tally.readings) {
                Ok(()) => tally.rounds_done = round.map_or(0, |round| round + 1),
                // What was completed stays; the round that was cut short goes whole.
                Err(Fault::OutOfTime) if tally.rounds_done > 0 => {
                    tally.readings.truncate(kept);
                    break;
                }
                Err(fault) => return Err(fault),
            }
            if let Some(words) = &workload.between_rounds {
                run_between(words, &|| self.check_interrupt())?;
            }
        }
        Ok(tally)
    }

    fn round<C: Counter>(
        &mut self,
        clock: C,
        workload: &Workload,
        absolute: u32,
        round: Option<u32>,
        readings: &mut Vec<Reading>,
    ) -> Result<(), Fault> {
        for (index, pass) in workload.passes.iter().enumerate() {
            self.check_interrupt()?;
            let order = workload.order(index, absolute);
            let offsets: Vec<u64> =
                order.iter().map(|&at| pass.region.offset + u64::from(at) * pass.region.step).collect();
            let states = match pass.needs {
                Some(_) => Some(self.residency.states(
                    &self.files,
                    &workload.files[pass.file].name,
                    pass.region.size,
                    &offsets,
                )?),
                None => None,
            };
            let windows = self.perform(clock, workload, pass, &order)?;
            if let (true, Some(round)) = (pass.timed, round) {
                readings.extend(label(index, round, pass, &order, &offsets, states.as_deref(), &windows));
            }
        }
        Ok(())
    }

    fn perform<C: Counter>(
        &mut self,
        clock: C,
        workload: &Workload,
        pass: &Pass,
        order: &[u32],
    ) -> Result<Vec<Window>, Fault> {
        let ScratchFile { name, entries, .. } = &workload.files[pass.file];
        let path = self.files.path(name);
        if entries.is_some() {
            // The one that is kept open: nothing on the way to it is looked up again.
            let directory = self.files.descriptor(name)?;
            let entries = Entries::of(path.clone(), directory);
            let mut engine = System::new(entries, Buffer::touched(1, &path)?);
            let (kept, outcome) = self.calls(clock, pass, order, &mut engine);
            return outcome.map(|()| kept.windows);
        }
        let size = pass.region.size.max(1);
        let buffer = match pass.buffer {
            Fill::Reused => Buffer::touched(size, &path)?,
            Fill::Fresh { step } => {
                let span = step.saturating_mul(pass.region.count).saturating_add(size);
                let memory = Mapping::fresh(span as usize);
                let memory = memory.map_err(|errno| Error::new("map a buffer for", &path, errno))?;
                Buffer { memory, changes: false, verifier: None }
            }
        };
        let opens_itself = pass.ops.iter().any(|op| op.changes_descriptor());
        if !opens_itself {
            self.files.opened(name)?;
        }
        let own = Own { path, open: self.files.entry(name).open.take(), created: false };
        let mut engine = System::new(own, buffer);
        let (kept, outcome) = self.calls(clock, pass, order, &mut engine);
        let entry = self.files.entry(name);
        let Own { open, created, .. } = engine.descriptors;
        entry.open = open;
        if created {
            entry.filled = 0;
        }
        let [read, written] = kept.moved;
        self.bytes_read += read;
        self.files.count_written(written);
        outcome.map(|()| kept.windows)
    }

    /// Makes the calls of a pass.
    fn calls<C: Counter, D: Descriptors>(
        &self,
        clock: C,
        pass: &Pass,
        order: &[u32],
        engine: &mut System<D>,
    ) -> (Windows, Result<(), Fault>) {
        let mut calls =
            PassCalls::new(pass, FileId(pass.file as u32), order.to_vec(), self.ticks_per_second, 0);
        // Touched, so that no page fault falls between two calls.
        let mut windows = vec![Window { start: 0, stop: 0 }; order.len() * pass.ops.len()];
        windows.clear();
        let mut kept = Windows { windows, moved: [0; 2] };
        let control = Control {
            interrupt: &self.interrupt,
            failed: &AtomicBool::new(false),
            budget: &AtomicU64::new(u64::MAX),
            deadline: executor::deadline(clock, self.limits.deadline, self.ticks_per_second),
            ticks_per_second: self.ticks_per_second,
            counters: &Counters::default(),
            spin: if affinity::online_cpus() == 1 { SPIN_ALONE } else { SPIN },
        };
        let outcome = executor::run(clock, &mut calls, engine, &mut kept, &control, None);
        (kept, outcome.map(drop))
    }
}

/// A shorter pause is spent spinning: waking from a sleep takes longer than that, and a CPU that
/// slept wakes with cold caches, which shows in the next call.
const SPIN: Duration = Duration::from_millis(2);
/// The same where the only CPU must be left to the kernel's own threads.
const SPIN_ALONE: Duration = Duration::from_micros(10);

/// The windows of a pass, and the bytes that it read and wrote.
struct Windows {
    windows: Vec<Window>,
    moved: [u64; DIRECTIONS],
}

impl Recorder<Option<Visit>> for Windows {
    #[inline(always)]
    fn record(&mut self, call: &Call, visit: Option<Visit>, window: Window, moved: u64) {
        if visit.is_some() {
            self.windows.push(window);
            if let Some(direction) = call.kind.direction() {
                self.moved[direction as usize] += moved;
            }
        }
    }
}

impl Machine for Linux {
    fn run(&mut self, workload: &Workload) -> Result<Samples, Fault> {
        workload.check().map_err(Fault::Unsupported)?;
        self.check_interrupt()?;
        let (read_before, written_before) = (self.bytes_read, self.files.bytes_written());
        let wanted = workload.bytes_written().saturating_add(self.files.bytes_to_fill(&workload.files));
        let left = self.write_budget();
        Fault::unless_affordable(wanted, left)?;
        self.provide(&workload.files)?;
        let pinned = affinity::pin_to_current_cpu();
        let started = monotonic_raw_ns();
        let outcome = match self.clock {
            Clock::Cycles(counter) => self.run_with(counter, workload),
            Clock::Monotonic(counter) => self.run_with(counter, workload),
        };
        let tally = outcome.inspect_err(|_| self.forget(&workload.files))?;
        Ok(Samples {
            workload: workload.clone(),
            machine: "linux".to_owned(),
            ticks_per_second: self.ticks_per_second,
            readings: tally.readings,
            bytes_read: self.bytes_read - read_before,
            bytes_written: self.files.bytes_written() - written_before,
            write_budget: left,
            elapsed_ns: monotonic_raw_ns() - started,
            notes: notes(pinned.is_some(), tally.rounds_done, workload.rounds),
        })
    }

    fn witness(&mut self) -> Option<&mut dyn Witness> {
        Some(self)
    }

    fn write_budget(&self) -> u64 {
        self.limits.max_write.saturating_sub(self.files.bytes_written())
    }
}

/// Turns the windows of a pass, which are in order of time, into readings.
fn label<'a>(
    pass_index: usize,
    round: u32,
    pass: &'a Pass,
    order: &'a [u32],
    offsets: &'a [u64],
    states: Option<&'a [CacheState]>,
    windows: &'a [Window],
) -> impl Iterator<Item = Reading> + 'a {
    let steps = pass.ops.len();
    windows.iter().enumerate().map(move |(index, window)| {
        let (visit, step) = (index / steps, index % steps);
        Reading {
            offset: offsets[visit],
            latency: Ticks(window.ticks()),
            round,
            cache: states.map(|states| states[visit]),
            op: pass.ops[step],
            pass: pass_index as u32,
            step: step as u32,
            position: order[visit],
            start: Ticks(window.start),
        }
    })
}

/// Runs the command between rounds to its end, or ends it when it is time to stop.
fn run_between(words: &[String], go_on: &dyn Fn() -> Result<(), Fault>) -> Result<(), Fault> {
    let Some((program, arguments)) = words.split_first() else { return Ok(()) };
    let failed = |why: &dyn std::fmt::Display| {
        Fault::Unsupported(format!("the command between rounds, '{program}', {why}"))
    };
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .map_err(|error| failed(&format_args!("can't be run: {error}")))?;
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(failed(&format_args!("failed: {status}"))),
            Ok(None) => {}
            Err(error) => return Err(failed(&format_args!("can't be waited for: {error}"))),
        }
        if let Err(fault) = go_on() {
            let _ = child.kill();
            let _ = child.wait();
            return Err(fault);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_program::workload::{CallKind, RENAMED, Region, Traversal};
    use std::sync::atomic::Ordering;

    fn machine(max_write: u64) -> Linux {
        let instrument = Instrument::calibrate().unwrap();
        let limits = Limits { max_write, deadline: None };
        Linux::at(&std::env::temp_dir(), &instrument, limits, Arc::new(AtomicBool::new(false))).unwrap()
    }

    const REGION: Region = Region { offset: 0, size: 4096, step: 4096, count: 16 };

    #[test]
    fn every_operation_runs_and_is_timed() {
        let mut linux = machine(64 << 20);
        let all = [
            CallKind::Open,
            CallKind::Write,
            CallKind::Pwrite,
            CallKind::Read,
            CallKind::Pread,
            CallKind::Seek,
            CallKind::Fsync,
            CallKind::Fdatasync,
            CallKind::Evict,
            CallKind::Pause,
            CallKind::Close,
        ];
        for direction in [Traversal::Forward, Traversal::Backward, Traversal::Random] {
            let workload = Workload::new(vec![ScratchFile::filled("all", 64 << 10)])
                .pass(Pass::untimed(0, &[CallKind::Close]))
                .pass(Pass::timed(0, &all, REGION).direction(direction))
                .rounds(2)
                .warmup(1);
            let samples = linux.run(&workload).unwrap();
            assert_eq!(samples.readings.len(), 2 * 16 * all.len());
            assert_eq!(samples.matrix(1, 3).len(), 32);
            assert!(samples.matrix(1, 3).iter().all(|&ticks| ticks > 0.0));
        }
    }

    #[test]
    fn entries_of_a_directory_are_made_and_removed() {
        let mut linux = machine(1 << 20);
        let ops = [
            CallKind::Create,
            CallKind::Close,
            CallKind::Stat,
            CallKind::Open,
            CallKind::Close,
            CallKind::LookUp,
            CallKind::List,
        ];
        let new = Region { offset: 20, size: 0, step: 1, count: 8 };
        let renamed = Region { offset: 20 + RENAMED, ..new };
        let workload = Workload::new(vec![ScratchFile::directory("names", 20)])
            .pass(Pass::timed(0, &ops, new))
            .pass(Pass::timed(0, &[CallKind::Rename], new))
            .pass(Pass::timed(0, &[CallKind::Unlink], renamed))
            .rounds(2);
        assert_eq!(linux.run(&workload).unwrap().readings.len(), 2 * 8 * (ops.len() + 2));
        let left = std::fs::read_dir(linux.files.path("names")).unwrap().count();
        assert_eq!(left, 20);
        let missing = Workload::new(vec![ScratchFile::directory("names", 20)]).pass(Pass::timed(
            0,
            &[CallKind::Stat],
            new,
        ));
        assert!(matches!(linux.run(&missing), Err(Fault::System(_))));
        let directory = linux.files.directory().to_owned();
        linux.close().unwrap();
        assert!(!directory.exists());
    }

    #[test]
    fn cold_and_cached_are_proven() {
        let mut linux = machine(64 << 20);
        let workload = Workload::new(vec![ScratchFile::filled("proof", 1 << 20)])
            .pass(Pass::untimed(0, &[CallKind::Evict, CallKind::Close, CallKind::Open]))
            .pass(Pass::timed(0, &[CallKind::Pread], REGION).needs(CacheState::Cold))
            .pass(Pass::timed(0, &[CallKind::Pread], REGION).needs(CacheState::Cached));
        let samples = linux.run(&workload).unwrap();
        let on_tmpfs = samples.readings[0].cache == Some(CacheState::Cached);
        assert_eq!(samples.wrong_state(), if on_tmpfs { 16 } else { 0 });
        assert_eq!(samples.unproven(), 0);
    }

    #[test]
    fn a_file_that_was_replaced_is_filled_again() {
        let mut linux = machine(64 << 20);
        let files = || vec![ScratchFile::filled("replaced", 64 << 10)];
        linux.run(&Workload::new(files()).pass(Pass::untimed(0, &[CallKind::Create]))).unwrap();
        let reads = Workload::new(files()).pass(Pass::timed(0, &[CallKind::Pread], REGION));
        assert_eq!(linux.run(&reads).unwrap().bytes_read, 64 << 10);
    }

    #[test]
    fn the_budget_is_checked_before_the_first_byte() {
        let mut linux = machine(1 << 20);
        let workload = Workload::new(vec![ScratchFile::filled("big", 2 << 20)]);
        assert!(matches!(linux.run(&workload), Err(Fault::OverBudget { left, .. }) if left <= 1 << 20));
        assert!(linux.bytes_written() <= 1 << 20);
    }

    #[test]
    fn an_interrupt_ends_a_run_and_leaves_nothing() {
        let instrument = Instrument::calibrate().unwrap();
        let interrupt = Arc::new(AtomicBool::new(false));
        let limits = Limits { max_write: 1 << 20, deadline: None };
        let mut linux =
            Linux::at(&std::env::temp_dir(), &instrument, limits, Arc::clone(&interrupt)).unwrap();
        let directory = linux.files.directory().to_owned();
        interrupt.store(true, Ordering::Relaxed);
        let workload = Workload::new(vec![ScratchFile::filled("a", 4096)]);
        assert_eq!(linux.run(&workload), Err(Fault::Interrupted));
        drop(linux);
        assert!(!directory.exists());
    }
}
