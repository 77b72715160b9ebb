//! Where jobs run: their files in a private directory, the budgets, and the state of the cache.

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use fathom_sys::cache::{self, Advice};
use fathom_sys::file::Errno;
use fathom_sys::memory::{FileMapping, Mapping};
use fathom_sys::{Error, below, facts, file, transfer};

use super::Wrote;
use super::calm::{Calm, Start};
use super::disks::Disks;
use super::ranks::Ranks;
use crate::fault::Fault;
use crate::instrument::{Clock, Instrument};
use crate::machine::linux::files::Files;
use crate::machine::linux::residency::{self, Residency};
use crate::watch::Watch;
use fathom_program::call::CallKind;
use fathom_program::job::{Job, Layout, Pattern, Region, ThreadFile};
use fathom_program::workload::ScratchFile;

pub use crate::machine::linux::Limits;

/// A private directory on a real mount, with the files of the jobs that ran there.
#[derive(Debug)]
pub struct Testbed {
    pub(super) files: Files,
    residency: Residency,
    /// The block device below, as the kernel calls it, where there is one.
    device: Option<String>,
    clock: Clock,
    ticks_per_second: f64,
    limits: Limits,
    watch: Watch,
    start: Start,
    calm: Option<Calm>,
    pub(super) disks: Option<Disks>,
    pub(super) ranks: Option<Ranks>,
    /// What the kernel had taken out of memory when this was made, in bytes.
    reclaimed_before: Option<u64>,
    /// Whether a file that is all hole takes no space, as far as is known.
    has_holes: bool,
}

/// The file that is all hole.
const HOLE: &str = "hole";

/// How much of a job's region was in the page cache, in pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cached {
    /// Pages in the cache.
    pub cached: u64,
    /// Pages of the region.
    pub pages: u64,
}

impl Testbed {
    /// A testbed below `path` that is removed with all its files when dropped; `space` is what
    /// [`Needs`](super::Needs) says of the jobs to come.
    ///
    /// # Errors
    /// Too little free space, and what making the directory gives.
    pub fn at(
        path: &Path,
        space: u64,
        instrument: &Instrument,
        limits: Limits,
        watch: impl Into<Watch>,
    ) -> Result<Self, Fault> {
        let mut files = Files::below(path, space)?;
        let residency = residency::detect(&mut files)?;
        let ticks_per_second = instrument.certificate.ticks_per_second;
        let clock = instrument.clock;
        let device = facts::mount_of(path).ok().and_then(|mount| facts::device_of(&mount));
        let device = device.map(|device| device.name);
        let reclaimed_before = facts::reclaimed_bytes();
        Ok(Self {
            files,
            residency,
            device,
            clock,
            ticks_per_second,
            limits,
            watch: watch.into(),
            start: Start::Rested,
            calm: None,
            disks: None,
            ranks: None,
            reclaimed_before,
            has_holes: true,
        })
    }

    /// Sets when the threads of each further run begin.
    pub fn begin_when(&mut self, start: Start) {
        self.start = start;
        if let Start::Calm(patience) = start {
            self.calm = Some(self.calm.take().unwrap_or_else(Calm::learn).with_patience(patience));
        }
    }

    pub(super) fn calm(&self) -> Option<&Calm> {
        self.calm.as_ref().filter(|_| self.start != Start::Rested)
    }

    /// Whether another program worked on the same core when the last run ended; known only if runs wait for calm.
    pub fn was_disturbed(&self) -> bool {
        self.calm().is_some_and(Calm::was_disturbed)
    }

    /// Bytes written so far, including those that filled the files.
    pub fn bytes_written(&self) -> u64 {
        self.files.bytes_written()
    }

    /// What the device has written so far, by its own count; none where it is not known.
    pub(super) fn device_wrote(&self) -> Option<Wrote> {
        let stat = facts::device_stat(self.device.as_deref()?)?;
        Some(Wrote { requests: stat.requests[1] + stat.merged[1], bytes: stat.bytes[1] })
    }

    /// Bytes that the kernel has reclaimed from any process since the testbed was made; none where the kernel does not
    /// count them.
    pub fn reclaimed_bytes(&self) -> Option<u64> {
        Some(facts::reclaimed_bytes()?.saturating_sub(self.reclaimed_before?))
    }

    /// Bytes that may still be written.
    pub fn write_budget(&self) -> u64 {
        self.limits.max_write.saturating_sub(self.files.bytes_written())
    }

    /// Makes the files of jobs that run together, unless they exist and are long enough.
    ///
    /// # Errors
    /// A job that [`Job::check`] refuses; more to write than the budget allows, before the first byte.
    pub fn lay_out(&mut self, jobs: &[Job]) -> Result<(), Fault> {
        let mut wanted = 0_u64;
        for job in jobs {
            job.check().map_err(|reason| Fault::Unsupported(format!("[{}]: {reason}", job.name)))?;
            wanted = wanted.saturating_add(self.bytes_to_write(job)?);
        }
        Fault::unless_affordable(wanted, self.write_budget())?;
        for job in jobs.iter().filter(|job| job.engine.on_names() == Some(CallKind::Create)) {
            self.remove(job);
        }
        for job in jobs.iter().filter(|job| job.engine.has_directories()) {
            self.make_directories(job)?;
        }
        let is_guest = self.is_guest();
        let has_own = |job: &&Job| job.engine.has_files() && job.files.existing.is_none() && !is_guest;
        for job in jobs.iter().filter(has_own) {
            for thread in 0..job.numjobs {
                for file in job.files_of(thread).map_err(Fault::Unsupported)? {
                    self.lay_out_file(job, &file)?;
                    if job.engine.on_names().is_some() {
                        self.files.settle(&file.name);
                    }
                }
            }
        }
        Ok(())
    }

    /// Makes the directories that a job looks at or removes.
    fn make_directories(&mut self, job: &Job) -> Result<(), Fault> {
        for name in names(job).filter(|_| job.engine.on_names() != Some(CallKind::Create)) {
            if self.files.path(&name).is_dir() {
                continue;
            }
            self.files.provide(&[ScratchFile::directory(&name, 0)], &|| Ok(()))?;
            self.files.settle(&name);
        }
        Ok(())
    }

    /// Takes note of what jobs have made and removed.
    pub(super) fn settle(&mut self, jobs: &[Job]) {
        let on_names = jobs.iter().filter(|job| job.engine.on_names().is_some());
        on_names.flat_map(names).for_each(|name| self.files.settle(&name));
    }

    fn lay_out_file(&mut self, job: &Job, file: &ThreadFile) -> Result<(), Fault> {
        let (name, length) = (&file.name, file.region.file);
        let plain = match job.layout() {
            Layout::Filled => return self.fill(name, length),
            Layout::Allocated { keeps_size } => return self.allocate(name, length, keeps_size),
            Layout::Hole => ScratchFile::sparse(name, length),
            Layout::Empty => ScratchFile::empty(name),
        };
        self.files.provide(&[plain], &|| Ok(()))
    }

    /// What a job will write at least: its layout, and its transfers where these have an end.
    fn bytes_to_write(&self, job: &Job) -> Result<u64, Fault> {
        let transferred = super::needs::transferred_writes(job).map_err(Fault::Unsupported)?;
        let mut wanted = transferred;
        let is_filled = job.layout() == Layout::Filled && job.files.existing.is_none() && !self.is_guest();
        for thread in if is_filled { 0..job.numjobs } else { 0..0 } {
            let files = job.files_of(thread).map_err(Fault::Unsupported)?.into_iter();
            let files: Vec<_> = files.map(|file| ScratchFile::filled(&file.name, file.region.file)).collect();
            wanted = wanted.saturating_add(self.files.bytes_to_fill(&files));
        }
        Ok(wanted)
    }

    fn fill(&mut self, name: &str, length: u64) -> Result<(), Fault> {
        let (interrupt, deadline) = (Arc::clone(self.watch.interrupt()), self.limits.deadline);
        let go_on = move || Fault::if_stopped(&interrupt, deadline);
        self.files.provide(&[ScratchFile::filled(name, length)], &go_on)
    }

    /// Sets space aside, so that a full disk shows before the run; where the file system can't, the
    /// file grows as it is written, as it does where its size is kept.
    fn allocate(&mut self, name: &str, length: u64, keeps_size: bool) -> Result<(), Fault> {
        self.files.provide(&[ScratchFile::empty(name)], &|| Ok(()))?;
        if self.files.entry(name).filled >= length {
            return Ok(());
        }
        let file = self.files.descriptor(name)?;
        let set_aside = match keeps_size {
            true => transfer::allocate_keeping_size(file.as_fd(), 0, length),
            false => transfer::allocate(file.as_fd(), 0, length),
        };
        match set_aside {
            Ok(()) | Err(Errno::OPNOTSUPP) => {}
            Err(errno) => return Err(Error::new("allocate", &self.files.path(name), errno).into()),
        }
        self.files.entry(name).filled = length;
        Ok(())
    }

    /// Writes the dirty data of a job's files to the device before the job runs again, if the files exist.
    ///
    /// # Errors
    /// What `fsync(2)` gives.
    pub fn write_out(&self, job: &Job) -> Result<(), Fault> {
        for name in names(job) {
            let path = self.path_of(job, &name);
            if path.exists() {
                let file = self.descriptor_of(job, &name, false)?;
                file::fsync(&file).map_err(|errno| Error::new("fsync", &path, errno))?;
            }
        }
        Ok(())
    }

    /// Drops the files of a job from the page cache, if they exist.
    ///
    /// # Errors
    /// What `fsync(2)` and `posix_fadvise(2)` give.
    pub fn drop_cached(&self, job: &Job) -> Result<(), Fault> {
        for name in names(job) {
            let path = self.files.path(&name);
            if path.exists() {
                cache::evict(&self.files.descriptor(&name)?, 0, 0)
                    .map_err(|errno| Error::new("drop the cached pages of", &path, errno))?;
            }
        }
        Ok(())
    }

    /// Removes a job's data from the CPU's caches, if the page cache holds all of them. Otherwise the share that the CPU's
    /// caches hold would depend on what ran before, and on what other programs have pushed out of them. Nothing is done if
    /// there is no file yet, the file can't be mapped, or the kernel does not tell what is cached.
    ///
    /// # Errors
    /// A job that makes no sense, a file that can't be opened.
    pub fn leave_cpu_caches(&self, job: &Job) -> Result<(), Fault> {
        let region = job.region().map_err(Fault::Unsupported)?;
        let end = usize::try_from(region.offset + region.length).unwrap_or(0);
        for name in names(job).filter(|name| self.files.path(name).exists()) {
            let file = self.files.descriptor(&name)?;
            if self.holds(&file, region)
                && end > 0
                && let Ok(mapping) = FileMapping::shared(&file, 0, end, false)
            {
                mapping.leave_cpu_caches(region.offset, region.length as usize);
            }
        }
        Ok(())
    }

    /// Fills the page cache with `bytes` of a file that is all hole, none of them in the CPU's caches, until the result is dropped.
    /// The file stays as long as the testbed. Where such a file takes space, it is removed at once, and is not tried again.
    ///
    /// # Errors
    /// Where such a file can't be made or read, or takes space.
    pub fn keep_folios(&mut self, bytes: u64) -> Result<Folios, Fault> {
        if !self.has_holes {
            return Err(Fault::Unsupported("holes take space here".to_owned()));
        }
        let kept = self.read_hole(bytes);
        if kept.is_err() {
            self.has_holes = false;
            self.files.forget(HOLE);
        }
        kept
    }

    fn read_hole(&mut self, bytes: u64) -> Result<Folios, Fault> {
        // Where there are no holes, what a file is lengthened by is written.
        const TRIED: u64 = 1 << 20;
        self.files.provide(&[ScratchFile::sparse(HOLE, TRIED)], &|| Ok(()))?;
        let (folios, path) = (Folios(self.files.descriptor(HOLE)?), self.files.path(HOLE));
        let taken =
            file::allocated_bytes(folios.0.as_fd()).map_err(|errno| Error::new("stat", &path, errno))?;
        if taken >= TRIED / 2 {
            return Err(Fault::Unsupported("holes take space here".to_owned()));
        }
        self.files.provide(&[ScratchFile::sparse(HOLE, bytes)], &|| Ok(()))?;
        let region = Region { file: bytes, offset: 0, length: bytes };
        self.read_in(&folios.0, &path, region)?;
        // A file system that lives in memory gives a hole pages only where it is mapped, and keeps them.
        if self.holds(&folios.0, region)
            && let Ok(mapping) = FileMapping::shared(&folios.0, 0, bytes as usize, false)
        {
            mapping.leave_cpu_caches(0, bytes as usize);
        }
        Ok(folios)
    }

    /// Removes the files of a job, so that it begins without them the next time.
    pub fn remove(&mut self, job: &Job) {
        names(job).for_each(|name| self.files.forget(&name));
    }

    /// Brings the cache into the state that the first thread of a job begins with, for another program that runs the job, and
    /// counts what of its region is cached then.
    ///
    /// # Errors
    /// A job without a size, and what the calls give.
    pub fn ready(&self, job: &Job) -> Result<Option<Cached>, Fault> {
        let files = job.files_of(0).map_err(Fault::Unsupported)?;
        self.prepare(job, &files)?;
        let files = files.iter().filter(|_| job.engine.opens_files());
        let open = |file: &ThreadFile| {
            Ok((self.path_of(job, &file.name), self.descriptor_of(job, &file.name, false)?))
        };
        let open = files.clone().map(open).collect::<Result<Vec<_>, Fault>>()?;
        self.cached(job, &open, files.map(|file| file.region))
    }

    /// Brings the cache into the state that a thread begins with.
    pub(super) fn prepare<'a>(
        &self,
        job: &Job,
        files: impl IntoIterator<Item = &'a ThreadFile>,
    ) -> Result<(), Fault> {
        for file in files.into_iter().filter(|_| job.engine.opens_files()) {
            let (path, region) = (self.path_of(job, &file.name), file.region);
            let file = self.descriptor_of(job, &file.name, false)?;
            if job.pre_read {
                self.read_in(&file, &path, region)?;
            } else if job.invalidate {
                // What is dirty of somebody else's file stays so.
                let dropped = match job.files.existing {
                    Some(_) => cache::advise(&file, 0, 0, Advice::DontNeed),
                    None => cache::evict(&file, 0, 0),
                };
                dropped.map_err(|errno| Error::new("drop the cached pages of", &path, errno))?;
            }
        }
        Ok(())
    }

    /// Counts what is cached of the regions of a job's files, which are open. Opening a file may have dropped what was read in,
    /// as on FUSE without `FOPEN_KEEP_CACHE`: it is read in again.
    pub(super) fn cached(
        &self,
        job: &Job,
        open: &[(PathBuf, OwnedFd)],
        regions: impl Iterator<Item = Region>,
    ) -> Result<Option<Cached>, Fault> {
        let mut sum = Cached { cached: 0, pages: 0 };
        for ((path, file), region) in open.iter().zip(regions) {
            if job.pre_read && !job.direct {
                self.read_in(file, path, region)?;
            }
            let count = self.residency.count(file, region.offset, region.length);
            let count = count.map_err(|errno| Error::new("ask for the cached pages of", path, errno))?;
            let Some((cached, pages)) = count else { return Ok(None) };
            sum = Cached { cached: sum.cached + cached, pages: sum.pages + pages };
        }
        Ok(job.engine.opens_files().then_some(sum))
    }

    /// Whether all of a region is known to be in the cache.
    fn holds(&self, file: &OwnedFd, region: Region) -> bool {
        let count = self.residency.count(file, region.offset, region.length);
        matches!(count, Ok(Some((cached, pages))) if cached == pages)
    }

    /// Reads a region into the cache, unless it is there.
    fn read_in(&self, file: &OwnedFd, path: &Path, region: Region) -> Result<(), Fault> {
        if self.holds(file, region) {
            return Ok(());
        }
        const CHUNK: u64 = 1 << 20;
        let mut buffer =
            Mapping::touched(CHUNK as usize).map_err(|errno| Error::new("map a buffer for", path, errno))?;
        let end = region.offset + region.length;
        let mut at = region.offset;
        while at < end && !self.watch.interrupt().load(Ordering::Relaxed) {
            let length = CHUNK.min(end - at) as usize;
            let moved = file::pread(file.as_fd(), &mut buffer.bytes()[..length], at)
                .map_err(|errno| Error::new("read", path, errno).at(at))?;
            if moved == 0 {
                break;
            }
            at += moved as u64;
        }
        Ok(())
    }

    /// Tells the kernel the order of the offsets to come, on the descriptor that will be used.
    pub(super) fn hint(&self, job: &Job, file: &OwnedFd, path: &Path) -> Result<(), Fault> {
        let advice = match job.expected_order() {
            None => return Ok(()),
            Some(Pattern::Sequential) => Advice::Sequential,
            Some(Pattern::Random) => Advice::Random,
        };
        Ok(cache::advise(file, 0, 0, advice).map_err(|errno| Error::new("fadvise", path, errno))?)
    }

    /// The first file of a job's thread.
    pub fn path(&self, job: &Job, thread: u32) -> PathBuf {
        self.path_of(job, &job.file_names(thread)[0])
    }

    /// Where a job's file is.
    pub(super) fn path_of(&self, job: &Job, name: &str) -> PathBuf {
        match &job.files.existing {
            Some(existing) => Path::new(&existing.directory).join(name),
            None => self.host().map_or_else(|| self.files.path(name), |host| host.join(name)),
        }
    }

    /// A descriptor of a job's file, for reading alone where it is no scratch file.
    pub(super) fn descriptor_of(&self, job: &Job, name: &str, direct: bool) -> Result<OwnedFd, Fault> {
        let Some(existing) = &job.files.existing else { return self.own_descriptor(name) };
        let opened = below::open_below(Path::new(&existing.directory), Path::new(name), direct);
        Ok(opened.map_err(|errno| Error::new("open", &self.path_of(job, name), errno))?)
    }

    pub(super) fn clock(&self) -> Clock {
        self.clock
    }

    /// How many ticks of the clock pass in a second.
    pub fn ticks_per_second(&self) -> f64 {
        self.ticks_per_second
    }

    /// What code that waits for the runs can watch.
    pub fn watch(&self) -> &Watch {
        &self.watch
    }

    pub(super) fn interrupt(&self) -> &AtomicBool {
        self.watch.interrupt()
    }

    /// What is left of the time allowed; none where it has no end.
    pub fn time_left(&self) -> Option<Duration> {
        self.limits.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()))
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.limits.deadline
    }

    /// Subtracts bytes that another program wrote from the budget.
    pub fn count_written(&mut self, bytes: u64) {
        self.files.count_written(bytes);
    }
}

/// Pages of a hole that are in the page cache. Dropping this removes them from it.
#[derive(Debug)]
pub struct Folios(pub(super) OwnedFd);

impl Drop for Folios {
    fn drop(&mut self) {
        // If they stay, only the next run suffers.
        let _ = cache::advise(&self.0, 0, 0, Advice::DontNeed);
    }
}

/// The names of all files of a job.
fn names(job: &Job) -> impl Iterator<Item = String> + '_ {
    (0..job.numjobs).flat_map(|thread| job.file_names(thread))
}
