//! Other processes that run the same jobs at the same time, on this machine or on others: where all wait for each other.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};

use fathom_program::job::{Existing, Job};

use super::Site;
use crate::fault::Fault;

/// Where all processes wait for each other, for each group of jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meeting {
    /// Each has its files.
    LaidOut,
    /// Each has them open: the jobs begin.
    Begin,
    /// The jobs have ended.
    Ended,
}

impl Meeting {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::LaidOut => "laid out",
            Self::Begin => "begin",
            Self::Ended => "ended",
        }
    }
}

/// Waits at a meeting, for the files in that directory and a group of so many jobs. At [`Meeting::LaidOut`] it gives the directory
/// of the process whose files are to be read, where that is not this one.
type Meet = dyn Fn(Meeting, &Path, usize) -> Result<Option<PathBuf>, Fault> + Send + Sync;

/// How a process waits for the others.
#[derive(Clone)]
pub struct Ranks(Arc<Meet>);

impl fmt::Debug for Ranks {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Ranks")
    }
}

impl Ranks {
    /// A process among others, which waits for them by `meet`.
    pub fn new(
        meet: impl Fn(Meeting, &Path, usize) -> Result<Option<PathBuf>, Fault> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(meet))
    }
}

impl Site {
    /// From now on the jobs of each group begin when those of other processes do.
    pub fn meet_with(&mut self, ranks: Option<Ranks>) {
        self.ranks = ranks;
    }

    pub(super) fn meet(&self, meeting: Meeting, jobs: &[Job]) -> Result<Option<PathBuf>, Fault> {
        let meet = |ranks: &Ranks| ranks.0(meeting, self.files.directory(), jobs.len());
        self.ranks.as_ref().map_or(Ok(None), meet)
    }

    /// Jobs whose files are there: those that only read take another process's files, where `meet` names its directory.
    pub(super) fn with_files_of_others(&self, jobs: &[Job]) -> Result<Option<Vec<Job>>, Fault> {
        if self.ranks.is_some() {
            // A client of a shared file system may keep to itself what it has written.
            let mut own = jobs.iter().filter(|job| job.engine.opens_files() && job.files.existing.is_none());
            own.try_for_each(|job| self.write_out(job))?;
        }
        let Some(directory) = self.meet(Meeting::LaidOut, jobs)? else { return Ok(None) };
        let directory = directory.to_string_lossy().into_owned();
        let elsewhere = |job: &Job| {
            let reads = job.engine.transfers() && job.read_percent == 100 && job.order.trim.is_none();
            if !reads || job.files.existing.is_some() || job.files.unlink_each_loop {
                return Ok(job.clone());
            }
            let threads =
                (0..job.numjobs).map(|thread| job.files_of(thread)).collect::<Result<Vec<_>, _>>()?;
            let files = threads.into_iter().flatten().map(|file| (file.name, file.region)).collect();
            let mut job = job.clone();
            job.files.existing = Some(Existing { directory: directory.clone(), files });
            Ok(job)
        };
        jobs.iter().map(elsewhere).collect::<Result<_, _>>().map(Some).map_err(Fault::Unsupported)
    }

    /// Has the first thread of a group wait for the other processes, once all threads here are ready, and the others wait for it.
    pub(super) fn begin_with_others(
        &self,
        number: usize,
        jobs: &[Job],
        start: &Barrier,
        failed: &AtomicBool,
    ) -> Result<(), Fault> {
        if self.ranks.is_none() {
            return Ok(());
        }
        let is_first = number == 0 && !failed.load(Ordering::Relaxed);
        let met = if is_first { self.meet(Meeting::Begin, jobs).map(drop) } else { Ok(()) };
        if met.is_err() {
            failed.store(true, Ordering::Relaxed);
        }
        start.wait();
        met
    }
}
