//! A session: one mount, one budget, and all that can be measured there.
//!
//! Every call keeps the same order. The path was checked when the session was made. The watchdog starts, settings that
//! a killed run left changed are put back, the clock is calibrated and the facts of the machine and the mount are
//! noted, once for the whole session. Then the budget is compared with what is known to be needed, before the first
//! byte is written; the work runs in a private scratch directory; that directory is gone before the call returns.
//!
//! ```no_run
#![doc = include_str!("../examples/predict.rs")]
//! ```

mod forecast;
mod models;
mod speeds;
mod surveys;
mod sweeps;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use fathom_program::units::Bytes;
use fathom_run::fault::{Fault, plain};
use fathom_run::instrument::Instrument;
use fathom_run::intrusion;
use fathom_run::load::{Ranks, Testbed};
use fathom_run::machine::linux::{Limits, Linux};
use fathom_run::provenance::Provenance;
use fathom_run::watch::Watch;

pub use self::forecast::{Done, Work, predict};
pub use self::models::{Against, BY_FIO};
pub use self::speeds::{CurveSettings, VersusSettings};
pub use self::surveys::{Surveyed, survey_model};
pub use self::sweeps::{best, end_race, job_text, merge_sweep, plan_sweep, sweep, try_cells};
use crate::watchdog::{self, Hang};

/// What a session may cost, all its calls together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Bytes that may be written.
    pub max_write: u64,
    /// The time it may take, from the making of the session on.
    pub max_time: Duration,
}

/// One mount, and what may be spent on measuring it.
#[derive(Debug)]
pub struct Session {
    path: PathBuf,
    budget: Budget,
    started: Instant,
    seed: u64,
    watch: Watch,
    give_up: Option<fn(&Hang) -> !>,
    ranks: Option<Ranks>,
    begun: Option<Begun>,
    bytes_written: u64,
}

/// What is found out once, before the first measurement.
#[derive(Debug, Clone)]
struct Begun {
    instrument: Instrument,
    provenance: Provenance,
    /// Settings that a killed run had left changed, and that are put back now.
    restored: Vec<String>,
}

/// Why a call of a session gave no result.
#[derive(Debug, Clone, PartialEq, Eq, strum::Display)]
pub enum Error {
    /// The session's flag was set; all scratch files were removed.
    #[strum(to_string = "interrupted; all scratch files were removed")]
    Interrupted,
    /// Anything else: one sentence, which names the path or the job.
    #[strum(to_string = "{0}")]
    Failed(String),
}

impl Session {
    /// A session on the file system of the directory `path`. Nothing is measured or made yet.
    ///
    /// # Errors
    /// A path that is not there, or that is not a directory.
    pub fn at(path: &Path, budget: Budget) -> Result<Self, Error> {
        Ok(Self {
            path: directory(path)?,
            budget,
            started: Instant::now(),
            seed: 1,
            watch: Watch::default(),
            give_up: None,
            ranks: None,
            begun: None,
            bytes_written: 0,
        })
    }

    /// The same with this seed for random orders and positions, where nothing else is said: 1.
    pub fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// The same, which ends soon after `interrupt` is set: calls then give [`Error::Interrupted`].
    pub fn interrupted_by(self, interrupt: Arc<AtomicBool>) -> Self {
        Self { watch: interrupt.into(), ..self }
    }

    /// How far a call is while it runs: a copy of this, taken before, can be looked at from another thread.
    pub fn progress(&self) -> &Watch {
        &self.watch
    }

    /// The same with a [watchdog]: `give_up` ends the process where a call does not return.
    pub fn watched_by(self, give_up: fn(&Hang) -> !) -> Self {
        Self { give_up: Some(give_up), ..self }
    }

    /// From now on jobs begin when those of other processes do.
    pub fn meet_with(&mut self, ranks: Option<Ranks>) {
        self.ranks = ranks;
    }

    /// The absolute path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes written so far.
    pub fn bytes_written(&self) -> u64 {
        self.bytes_written
    }

    fn begin(&mut self) -> Result<Begun, Error> {
        if self.begun.is_none() {
            self.watch();
            let restored = intrusion::restore_leftovers();
            let instrument = Instrument::calibrate().map_err(Error::Failed)?;
            let provenance = Provenance::of(&self.path, &instrument.certificate, self.seed)?;
            self.begun = Some(Begun { instrument, provenance, restored });
        }
        self.begun.clone().ok_or(Error::Interrupted)
    }

    /// Starts the watchdog, unless it watches already.
    fn watch(&mut self) {
        if let Some(give_up) = self.give_up.take() {
            watchdog::watch(Some(self.deadline()), Arc::clone(self.watch.interrupt()), give_up);
        }
    }

    fn deadline(&self) -> Instant {
        self.started + self.budget.max_time
    }

    fn elapsed_ns(&self) -> u64 {
        self.started.elapsed().as_nanos() as u64
    }

    /// Bytes that may still be written.
    fn left(&self) -> u64 {
        self.budget.max_write.saturating_sub(self.bytes_written)
    }

    fn limits(&self) -> Limits {
        Limits { max_write: self.left(), deadline: Some(self.deadline()) }
    }

    /// Refuses what is known to write more than is left, before anything is made.
    fn afford(&self, what: &str, writes: u64) -> Result<(), Error> {
        match writes <= self.left() {
            true => Ok(()),
            false => Err(Error::Failed(format!(
                "{what} write {}, and {} are allowed: raise --max-write",
                Bytes(writes),
                Bytes(self.left())
            ))),
        }
    }

    /// A place to run jobs in that take so much space.
    fn testbed(&self, begun: &Begun, space: u64, limits: Limits) -> Result<Testbed, Error> {
        Ok(Testbed::at(&self.path, space, &begun.instrument, limits, self.watch.clone())?)
    }

    /// Counts what was written at a place and removes its files; gives the bytes.
    fn leave(&mut self, testbed: Testbed) -> u64 {
        let bytes_written = testbed.bytes_written();
        self.bytes_written += bytes_written;
        bytes_written
    }

    /// The kernel as a machine.
    fn linux(&self, begun: &Begun, limits: Limits) -> Result<Linux, Error> {
        Ok(Linux::at(&self.path, &begun.instrument, limits, Arc::clone(self.watch.interrupt()))?)
    }

    /// Counts what a machine wrote, and removes its files; what can't be removed joins the reason why it ended.
    fn close<T>(&mut self, outcome: Result<T, Fault>, machine: Linux) -> Result<T, Error> {
        self.bytes_written += machine.bytes_written();
        match (outcome, machine.close()) {
            (outcome, Ok(())) => Ok(outcome?),
            (Ok(_), Err(left)) => Err(Error::Failed(format!("left behind: {left}"))),
            (Err(fault), Err(left)) => Err(Error::Failed(format!("{fault}; left behind: {left}"))),
        }
    }
}

/// The absolute path of a directory.
///
/// # Errors
/// What is wrong with it, with its path.
pub fn directory(path: &Path) -> Result<PathBuf, Error> {
    let wrong = |reason: &str| Error::Failed(format!("{}: {reason}", path.display()));
    let absolute = fs::canonicalize(path).map_err(|error| wrong(&plain(&error)))?;
    match absolute.is_dir() {
        true => Ok(absolute),
        false => Err(wrong("not a directory; name the directory that the file is in")),
    }
}

impl std::error::Error for Error {}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Interrupted => Self::Interrupted,
            other => Self::Failed(other.to_string()),
        }
    }
}
