//! What the kernel writes by itself while nobody asks for it.

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use fathom_sys::cache::cachestat;
use fathom_sys::facts::{self, Mount};
use fathom_sys::file::{self, Errno};
use fathom_sys::{Error, affinity, dirty, journal};

use super::Linux;
use crate::machine::{Fault, Machine};
use crate::witness::{Commits, Unseen};
use fathom_program::workload::ScratchFile;

/// How often it is looked.
const TICK: Duration = Duration::from_millis(5);

/// Where in the whole seconds after a commit the next change is made: jbd2's timer waits for such a second,
/// so that one just before it waits least and one just after it most. A commit is seen when it is over, a little late.
const MOMENTS: [Duration; 3] = [Duration::ZERO, Duration::from_millis(850), Duration::from_millis(150)];
/// No journal waits longer.
const LONGEST_COMMIT: Duration = Duration::from_secs(100);
/// What jbd2 does unless it is told otherwise: `JBD2_DEFAULT_MAX_COMMIT_AGE`, and `BTRFS_DEFAULT_COMMIT_INTERVAL`.
const JBD2_COMMIT: u64 = 5;
const BTRFS_COMMIT: u64 = 30;

/// A file with one page that becomes dirty, and clean again.
struct Page {
    path: PathBuf,
    file: OwnedFd,
    dirtied: Option<Instant>,
    delay: Option<Duration>,
}

/// See [`Witness::written_back`](crate::witness::Witness::written_back). `cachestat(2)` tells what is dirty.
pub(super) fn written_back(
    machine: &mut Linux,
    starts: &[Duration],
    patience: Duration,
) -> Result<Result<Vec<Duration>, Unseen>, Fault> {
    let mut pages = provide(machine, starts.len())?;
    let Some(first) = pages.first() else { return Ok(Ok(Vec::new())) };
    // An inode that is dirty already, if only for its times, is written when that has expired.
    file::syncfs(&first.file).map_err(|errno| Error::new("sync the file system of", &first.path, errno))?;
    let started = Instant::now();
    while pages.iter().any(|page| page.delay.is_none()) {
        if started.elapsed() > patience {
            let seconds = patience.as_secs();
            return Ok(Err(Unseen::Impossible(format!("nothing was written for {seconds} s"))));
        }
        for (page, &start) in pages.iter_mut().zip(starts) {
            if let Err(unseen) = page.look(machine, started, start)? {
                return Ok(Err(unseen));
            }
        }
        machine.wait(Instant::now() + TICK)?;
    }
    Ok(Ok(pages.into_iter().filter_map(|page| page.delay).collect()))
}

fn provide(machine: &mut Linux, count: usize) -> Result<Vec<Page>, Fault> {
    let size = facts::page_size();
    let names = (0..count).map(|number| ScratchFile::filled(&format!("witness-quiet-{number}"), size));
    let wanted: Vec<ScratchFile> = names.collect();
    let (to_fill, left) = (machine.files.bytes_to_fill(&wanted) + count as u64, machine.write_budget());
    if to_fill > left {
        return Err(Fault::OverBudget { wanted: to_fill, left });
    }
    machine.provide(&wanted)?;
    let page = |file: &ScratchFile| {
        let (path, file) = (machine.files.path(&file.name), machine.files.descriptor(&file.name)?);
        Ok(Page { path, file, dirtied: None, delay: None })
    };
    wanted.iter().map(page).collect()
}

impl Linux {
    /// Sleeps until then, unless it is time to stop.
    fn wait(&self, until: Instant) -> Result<(), Fault> {
        const SLICE: Duration = Duration::from_millis(50);
        loop {
            self.check_interrupt()?;
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            sleep(left.min(SLICE));
        }
    }
}

impl Page {
    /// Makes it dirty when its time has come, and notes when it has become clean.
    fn look(
        &mut self,
        machine: &mut Linux,
        started: Instant,
        start: Duration,
    ) -> Result<Result<(), Unseen>, Fault> {
        if self.delay.is_some() || started.elapsed() < start {
            return Ok(Ok(()));
        }
        if self.dirtied.is_none() {
            let written = file::pwrite(self.file.as_fd(), &[1], 0);
            written.map_err(|errno| Error::new("write", &self.path, errno).at(0))?;
            machine.files.count_written(1);
            self.dirtied = Some(Instant::now());
            return Ok(match self.is_dirty()? {
                Some(true) => Ok(()),
                Some(false) => Err(Unseen::Impossible("what is written is never dirty here".to_owned())),
                None => Err(Unseen::Impossible("this kernel has no cachestat(2), of Linux 6.5".to_owned())),
            });
        }
        if self.is_dirty()? == Some(false) {
            self.delay = self.dirtied.map(|dirtied| dirtied.elapsed());
        }
        Ok(Ok(()))
    }

    fn is_dirty(&self) -> Result<Option<bool>, Fault> {
        match cachestat(&self.file, 0, 0) {
            Ok(stat) => Ok(Some(stat.dirty > 0)),
            Err(Errno::NOSYS | Errno::OPNOTSUPP) => Ok(None),
            Err(errno) => Err(Error::new("look at the cache of", &self.path, errno).into()),
        }
    }
}

/// See [`Witness::committed`](crate::witness::Witness::committed). jbd2's own count of transactions tells.
pub(super) fn committed(machine: &mut Linux) -> Result<Result<Vec<Duration>, Unseen>, Fault> {
    const NAME: &str = "witness-commit";
    machine.provide(&[ScratchFile::empty(NAME)])?;
    let path = machine.files.path(NAME);
    let device = facts::device_of(&facts::mount_of(&path)?).map(|device| device.name).unwrap_or_default();
    if journal::transactions(&device).is_none() {
        return Ok(Err(Unseen::Impossible("no journal counts its transactions here".to_owned())));
    }
    // The timer of a transaction goes off a little earlier or later on each CPU.
    let _pinned = affinity::pin_to_current_cpu();
    let mut last = Instant::now();
    let mut delays = Vec::new();
    for moment in MOMENTS {
        let second = (last.elapsed() + Duration::from_millis(100)).as_secs() + 1;
        machine.wait(last + Duration::from_secs(second) + moment)?;
        let Some(delay) = one_commit(machine, NAME, &path, &device)? else {
            let seconds = LONGEST_COMMIT.as_secs();
            return Ok(Err(Unseen::Impossible(format!("nothing was committed for {seconds} s"))));
        };
        last = Instant::now();
        delays.push(delay);
    }
    Ok(Ok(delays))
}

/// How long the journal takes to commit a new file.
fn one_commit(machine: &mut Linux, name: &str, path: &Path, device: &str) -> Result<Option<Duration>, Fault> {
    let file = machine.files.descriptor(name)?;
    file::syncfs(&file).map_err(|errno| Error::new("sync the file system of", path, errno))?;
    let before = journal::transactions(device);
    machine.files.forget(name);
    let changed = Instant::now();
    machine.provide(&[ScratchFile::empty(name)])?;
    while changed.elapsed() < LONGEST_COMMIT {
        if journal::transactions(device) != before {
            return Ok(Some(changed.elapsed()));
        }
        machine.wait(Instant::now() + TICK)?;
    }
    Ok(None)
}

/// How often the file system of `mount` commits unasked.
pub(super) fn declared_commits(mount: &Mount) -> Commits {
    let option = facts::option_value(&mount.options, "commit").and_then(|seconds| seconds.parse().ok());
    let seconds = |usual: u64| Duration::from_secs(option.unwrap_or(usual));
    match mount.fs_type.as_str() {
        "ext3" | "ext4" => match facts::device_of(mount) {
            // The root file system is named /dev/root in some tables, and its device is known by its number.
            Some(device) if !journal::is_kept_on(&device.name) => Commits::Never,
            _ => Commits::Every(seconds(JBD2_COMMIT)),
        },
        // Source: `transaction_kthread`.
        "btrfs" => Commits::About(seconds(BTRFS_COMMIT)),
        "xfs" => dirty::xfs_log_period().map_or(Commits::Unknown, Commits::Within),
        "ext2" | "vfat" | "exfat" | "squashfs" | "iso9660" | "tmpfs" | "ramfs" => Commits::Never,
        "overlay" => {
            let upper = facts::option_value(&mount.options, "upperdir").map(Path::new);
            let below = upper.and_then(|upper| facts::mount_of(upper).ok());
            below.map_or(Commits::Unknown, |below| declared_commits(&below))
        }
        _ => Commits::Unknown,
    }
}
