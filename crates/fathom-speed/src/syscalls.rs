//! The cost of a system call: one byte read or written, a seek, a question (paper B, part 5).
//!
//! A sample is the time of a batch of calls between two clock readings, so that what the clock costs
//! hardly shows; it is subtracted all the same. Samples of all calls and file sizes are taken in rounds,
//! each in an order of its own, so that a change of the processor's pace meets all alike.

use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use fathom_sys::clock::Counter;
use fathom_sys::file::{self, Errno};
use fathom_sys::{Error, affinity, process, repeat};
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

use crate::measurement::Measurement;
use fathom_program::shuffle::shuffle;
use fathom_program::workload::ScratchFile;
use fathom_run::fault::Fault;
use fathom_run::instrument::{Clock, Instrument};
use fathom_run::machine::linux::files::Files;
use fathom_run::provenance::Provenance;
use fathom_run::samples::notes;

/// The name of the schema that [`Syscalls`] is published under.
pub const SCHEMA: &str = "fathom.syscalls/1";

/// The sizes that paper B used, in bytes, and two beyond.
pub const SIZES: [u64; 11] = [
    10 << 10,
    50 << 10,
    100 << 10,
    150 << 10,
    200 << 10,
    250 << 10,
    300 << 10,
    1000 << 10,
    5000 << 10,
    16 << 20,
    64 << 20,
];

/// Calls of a batch.
pub const CALLS: u64 = 4096;
/// Calls before each batch, which are not timed: the file, its page and the code come into the caches.
const WARM_UP: u64 = 256;

/// The times of calls, as they are written with `--json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "fathom.syscalls/1")]
pub struct Syscalls {
    /// Always `fathom.syscalls/1`.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: String,
    /// Where, when and by which clock.
    #[serde(flatten)]
    pub provenance: Provenance,
    /// What reading the clock cost each sample, in ns: it is taken out of the samples.
    pub clock_ns: f64,
    /// One measurement per call and file size; `file_bytes` is the setting.
    pub measurements: Vec<Measurement>,
    /// Rounds that were completed.
    pub rounds: u32,
    /// How long it took, in ns.
    pub duration_ns: u64,
    /// Bytes written.
    pub bytes_written: u64,
    /// What to know before relying on it.
    pub caveats: Vec<String>,
}

/// A system call that can be timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Call {
    /// `read(2)` of one byte, each behind the last.
    Read,
    /// `pread(2)` of one byte, each behind the last.
    Pread,
    /// `lseek(2)` to each byte in turn.
    Lseek,
    /// `fstat(2)`.
    Fstat,
    /// `getppid(2)`: the way into the kernel and back, and hardly anything else. No file is involved.
    Getppid,
    /// `write(2)` of one byte over the old one, each behind the last.
    Write,
}

/// Every call, in the order of reports.
pub const ALL: &[Call] = Call::VARIANTS;

/// What to measure, and how long.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Sizes of files in bytes.
    pub sizes: Vec<u64>,
    /// How many samples of each.
    pub rounds: u32,
    /// Decides orders and positions.
    pub seed: u64,
    /// Bytes that may be written in all.
    pub max_write: u64,
    /// When to end, after whole rounds.
    pub deadline: Instant,
}

/// One call on one file.
struct Case {
    call: Call,
    file: usize,
    size: u64,
    samples: Vec<f64>,
}

/// What measuring gave.
#[derive(Debug)]
pub struct CallTimes {
    /// One per call and file size, in the order of [`ALL`] and of the plan.
    pub measurements: Vec<Measurement>,
    /// Rounds that were completed.
    pub rounds: u32,
    /// Bytes written.
    pub bytes_written: u64,
    /// What to know before relying on it.
    pub caveats: Vec<String>,
}

impl Call {
    /// The call's name.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Bytes that one call moves.
    fn bytes(self) -> u64 {
        u64::from(matches!(self, Call::Read | Call::Pread | Call::Write))
    }

    /// Times `calls` calls on `file` from byte `start` on: wall time of all together in ns, the clock's own
    /// cost taken out. Some calls before them are not timed.
    ///
    /// # Errors
    /// What the call gives; EIO where the file ends before.
    pub fn time(
        self,
        instrument: &Instrument,
        file: BorrowedFd<'_>,
        start: u64,
        calls: u64,
    ) -> Result<f64, Errno> {
        let ticks = match instrument.clock {
            Clock::Cycles(clock) => self.warm_batch(clock, file, start, calls)?,
            Clock::Monotonic(clock) => self.warm_batch(clock, file, start, calls)?,
        };
        let certificate = &instrument.certificate;
        Ok(ticks as f64 / certificate.ticks_per_second * 1e9 - certificate.overhead_ns)
    }

    fn warm_batch<C: Counter>(
        self,
        clock: C,
        file: BorrowedFd<'_>,
        start: u64,
        calls: u64,
    ) -> Result<u64, Errno> {
        self.batch(clock, file, start, calls.min(WARM_UP))?;
        self.batch(clock, file, start, calls)
    }

    /// Makes `calls` calls from `start` on; gives the ticks between the first and the last.
    fn batch<C: Counter>(self, clock: C, file: BorrowedFd<'_>, start: u64, calls: u64) -> Result<u64, Errno> {
        file::seek(file, start)?;
        let before = clock.start();
        let moved = match self {
            Call::Read => repeat::read(file, calls)?,
            Call::Pread => repeat::pread(file, start, calls)?,
            Call::Lseek => repeat::lseek(file, start, calls).map(|()| 0)?,
            Call::Fstat => repeat::fstat(file, calls).map(|()| 0)?,
            Call::Getppid => {
                repeat::getppid(calls);
                0
            }
            Call::Write => repeat::write(file, calls)?,
        };
        let ticks = clock.stop().saturating_sub(before);
        // A byte that was not there: somebody cut the file off.
        if moved == self.bytes() * calls { Ok(ticks) } else { Err(Errno::IO) }
    }
}

/// Makes a file of each size below `path` and times every call on each.
///
/// # Errors
/// What making and using the files gives; [`Fault::OverBudget`] before the first byte.
pub fn measure(
    path: &Path,
    instrument: &Instrument,
    plan: &Plan,
    interrupt: &AtomicBool,
    progress: &mut dyn FnMut(u32),
) -> Result<CallTimes, Fault> {
    let mut bytes_written: u64 = plan.sizes.iter().sum();
    let rewritten = plan.sizes.len() as u64 * u64::from(plan.rounds) * (WARM_UP + CALLS);
    Fault::unless_affordable(bytes_written + rewritten, plan.max_write)?;
    // Calls cost as in a program of one thread, although other threads here watch or draw.
    let has_own = process::own_descriptors();
    let numbered = plan.sizes.iter().enumerate();
    let wanted: Vec<_> = numbered.map(|(at, &size)| ScratchFile::filled(&at.to_string(), size)).collect();
    let mut files = Files::below(path, bytes_written)?;
    files.provide(&wanted, &|| Fault::if_stopped(interrupt, None))?;
    let directory = files.directory().to_owned();
    let pinned = affinity::pin_to_current_cpu();
    let mut cases = cases(&plan.sizes);
    let mut generator = Pcg64Mcg::seed_from_u64(plan.seed);
    let mut rounds = 0;
    while rounds < plan.rounds && (rounds == 0 || Instant::now() < plan.deadline) {
        progress(rounds);
        let mut order: Vec<usize> = (0..cases.len()).collect();
        shuffle(&mut order, &mut generator);
        for index in order {
            Fault::if_stopped(interrupt, None)?;
            let case = &mut cases[index];
            let calls = CALLS.min(case.size);
            let start = generator.random_range(0..=case.size - calls);
            // No copy of the descriptor: where there is one the kernel locks the position at each call.
            let file = files.opened(&wanted[case.file].name)?.as_fd();
            let failed = |errno| Error::new(case.call.name(), &directory, errno);
            case.samples.push(case.call.time(instrument, file, start, calls).map_err(failed)?);
            bytes_written += if case.call == Call::Write { calls.min(WARM_UP) + calls } else { 0 };
        }
        rounds += 1;
    }
    let mut caveats = notes(pinned.is_some(), rounds, plan.rounds);
    if !has_own {
        caveats
            .push("the threads of Fathom share descriptors: calls on files cost some more here".to_owned());
    }
    let measurements = cases.into_iter().filter_map(Case::measurement).collect();
    Ok(CallTimes { measurements, rounds, bytes_written, caveats })
}

/// Every call on every file; the one that needs no file once.
fn cases(sizes: &[u64]) -> Vec<Case> {
    let of = |call: Call| {
        let files = if call == Call::Getppid { &sizes[..1] } else { sizes };
        files.iter().enumerate().map(move |(file, &size)| Case { call, file, size, samples: Vec::new() })
    };
    ALL.iter().copied().flat_map(of).collect()
}

impl Case {
    fn measurement(self) -> Option<Measurement> {
        let calls = CALLS.min(self.size);
        let measurement = Measurement::new(self.call.name(), calls, self.call.bytes() * calls, self.samples)?;
        Some(match self.call {
            Call::Getppid => measurement,
            _ => measurement.with("file_bytes", self.size),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_run::scratch::Scratch;
    use std::time::Duration;

    fn plan(rounds: u32, max_write: u64) -> Plan {
        let deadline = Instant::now() + Duration::from_secs(60);
        Plan { sizes: vec![1, 10 << 10, 100 << 10], rounds, seed: 1, max_write, deadline }
    }

    #[test]
    fn every_call_has_a_price_on_every_file() {
        let instrument = Instrument::calibrate().unwrap();
        let directory = Scratch::create(&std::env::temp_dir()).unwrap();
        let interrupt = AtomicBool::new(false);
        let costs =
            measure(directory.path(), &instrument, &plan(6, 1 << 20), &interrupt, &mut |_| {}).unwrap();
        assert_eq!((costs.measurements.len(), costs.rounds), (5 * 3 + 1, 6));
        for one in &costs.measurements {
            assert!(
                one.call_ns > 0.0 && one.call_ns_interval.is_some() && one.samples_ns.len() == 6,
                "{one:?}"
            );
            assert_eq!(one.settings.contains_key("file_bytes"), one.name != "getppid");
            assert_eq!(one.bytes > 0, ["read", "pread", "write"].contains(&one.name.as_str()));
        }
        assert!(costs.bytes_written <= 1 << 20 && costs.caveats.is_empty(), "{:?}", costs.caveats);
        // Nothing but the lock of the directory itself is left.
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn budgets_are_kept() {
        let instrument = Instrument::calibrate().unwrap();
        let interrupt = AtomicBool::new(true);
        let at = std::env::temp_dir();
        let over = measure(&at, &instrument, &plan(6, 1 << 10), &interrupt, &mut |_| {}).unwrap_err();
        assert!(matches!(over, Fault::OverBudget { left: 1024, .. }), "{over}");
        let stopped = measure(&at, &instrument, &plan(6, 1 << 20), &interrupt, &mut |_| {}).unwrap_err();
        assert_eq!(stopped, Fault::Interrupted);
    }
}
