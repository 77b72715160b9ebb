//! Other processes that run the same jobs at the same time, on this machine or on others: where all wait for each other.

use std::fmt;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};

use fathom_program::job::{Existing, Job};
use fathom_sys::{Error, file};

use super::Testbed;
use crate::fault::Fault;

/// The points at which all processes wait for each other, for each group of jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meeting {
    /// Each process has its files.
    LaidOut,
    /// Each process has its files open: the jobs begin.
    Begin,
    /// The jobs have ended.
    Ended,
}

impl Meeting {
    /// The name of the point.
    pub fn name(self) -> &'static str {
        match self {
            Self::LaidOut => "laid out",
            Self::Begin => "begin",
            Self::Ended => "ended",
        }
    }
}

/// Waits at a meeting, for the files in that directory and a group of so many jobs. At [`Meeting::LaidOut`] it gives the directory
/// of the process whose files are to be read, or of a guest's host, where that is not this one.
type Meet = dyn Fn(Meeting, &Path, usize) -> Result<Option<PathBuf>, Fault> + Send + Sync;

/// Gives the most bytes that any process has moved when its time was over, of those that this one has.
pub(super) type Most = dyn Fn(u64) -> Result<u64, Fault> + Send + Sync;

/// How a process waits for the others.
#[derive(Clone)]
pub struct Ranks {
    meet: Arc<Meet>,
    most: Option<Arc<Most>>,
    is_guest: bool,
    /// Where a guest's files are.
    host: Option<PathBuf>,
}

impl fmt::Debug for Ranks {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Ranks")
    }
}

impl Ranks {
    /// One process among others. It waits for them by calling `meet`.
    pub fn new(
        meet: impl Fn(Meeting, &Path, usize) -> Result<Option<PathBuf>, Fault> + Send + Sync + 'static,
    ) -> Self {
        Self { meet: Arc::new(meet), most: None, is_guest: false, host: None }
    }

    /// The same process, whose jobs go on after their `runtime` until each process has moved as much as the fastest one had by
    /// then: IOR's wear-out. `most` takes the bytes that a job has moved here and returns the maximum over all processes.
    #[must_use]
    pub fn wearing_out(self, most: impl Fn(u64) -> Result<u64, Fault> + Send + Sync + 'static) -> Self {
        Self { most: Some(Arc::new(most)), ..self }
    }

    /// The same process, which makes no files and uses those of another process for everything.
    #[must_use]
    pub fn as_guest(self) -> Self {
        Self { is_guest: true, ..self }
    }
}

impl Testbed {
    /// Makes the jobs of each group begin together with those of other processes, from now on.
    pub fn meet_with(&mut self, ranks: Option<Ranks>) {
        self.ranks = ranks;
    }

    /// Whether the files are made by another process.
    pub(super) fn is_guest(&self) -> bool {
        self.ranks.as_ref().is_some_and(|ranks| ranks.is_guest)
    }

    /// Where the files of a guest are.
    pub(super) fn host(&self) -> Option<&Path> {
        self.ranks.as_ref()?.host.as_deref()
    }

    /// A descriptor of a scratch file, here or at the host.
    pub(super) fn own_descriptor(&self, name: &str) -> Result<OwnedFd, Fault> {
        match self.host() {
            Some(host) => {
                let path = host.join(name);
                Ok(file::open(&path).map_err(|errno| Error::new("open", &path, errno))?)
            }
            None => self.files.descriptor(name),
        }
    }

    /// How much all have moved, where jobs wear out.
    pub(super) fn most(&self) -> Option<&Most> {
        self.ranks.as_ref()?.most.as_deref()
    }

    pub(super) fn meet(&self, meeting: Meeting, jobs: &[Job]) -> Result<Option<PathBuf>, Fault> {
        let meet = |ranks: &Ranks| (ranks.meet)(meeting, self.files.directory(), jobs.len());
        self.ranks.as_ref().map_or(Ok(None), meet)
    }

    /// Jobs whose files are there: those that only read take another process's files, where `meet` names its directory.
    pub(super) fn with_files_of_others(&mut self, jobs: &[Job]) -> Result<Option<Vec<Job>>, Fault> {
        if self.ranks.is_some() {
            // A client of a shared file system may keep to itself what it has written.
            let mut own = jobs.iter().filter(|job| job.engine.opens_files() && job.files.existing.is_none());
            own.try_for_each(|job| self.write_out(job))?;
        }
        let Some(directory) = self.meet(Meeting::LaidOut, jobs)? else { return Ok(None) };
        if let Some(ranks) = self.ranks.as_mut().filter(|ranks| ranks.is_guest) {
            ranks.host = Some(directory);
            return Ok(None);
        }
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
