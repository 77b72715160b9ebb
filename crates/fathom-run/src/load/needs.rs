//! What jobs will cost, worked out before the first byte.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use fathom_sys::facts;

use super::groups;
use crate::fault::Fault;
use fathom_program::job::{Direction, Job, JobFile, Layout, Trim};
use fathom_program::units::Bytes;

/// What jobs need at least.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Needs {
    /// Bytes of disk for their files.
    pub space: u64,
    /// Bytes that they will write: to lay files out, and in transfers whose number is known.
    pub writes: u64,
    /// The time that they are sure to take: the ramps, and runtimes that are based on time.
    pub time: Duration,
}

impl Needs {
    /// # Errors
    /// The first job that [`Job::check`] refuses, by name.
    pub fn of(jobs: &[Job]) -> Result<Self, String> {
        let mut files: HashMap<String, (u64, bool)> = HashMap::new();
        let mut writes = 0_u64;
        for job in jobs {
            let named = |reason: String| format!("[{}]: {reason}", job.name);
            job.check().map_err(named)?;
            let has_scratch = job.engine.has_files() && job.files.existing.is_none();
            for thread in if has_scratch { 0..job.numjobs } else { 0..0 } {
                for file in job.files_of(thread).map_err(named)? {
                    let (longest, is_filled) = files.entry(file.name).or_default();
                    *longest = file.region.file.max(*longest);
                    *is_filled |= job.layout() == Layout::Filled;
                }
            }
            writes = writes.saturating_add(transferred_writes(job).map_err(named)?);
        }
        let space = files.values().fold(0, |sum: u64, (length, _)| sum.saturating_add(*length));
        let filled = files.values().filter(|(_, is_filled)| *is_filled);
        let writes = filled.fold(writes, |sum, (length, _)| sum.saturating_add(*length));
        let longest = |group: &[Job]| group.iter().map(sure_time).max().unwrap_or_default();
        Ok(Self { space, writes, time: groups(jobs).map(longest).sum() })
    }
}

impl Needs {
    /// What jobs need, after their files were made smaller if the disk at `path` has no room for them; a note of the job file says
    /// so.
    ///
    /// # Errors
    /// As [`of`](Self::of); a disk without room even so; a file system that does not tell its space.
    pub fn fit(file: &mut JobFile, path: &Path) -> Result<Self, Fault> {
        let needs = Self::of(&file.jobs).map_err(Fault::Unsupported)?;
        let space = facts::space(path)?;
        // A file system without a size of its own, as ramfs, declares none at all.
        let is_known = space.total_bytes > 0 && !space.is_read_only;
        let room = space.free_bytes / 10 * 9;
        if !is_known || needs.space <= room {
            return Ok(needs);
        }
        file.shrink(needs.space, room);
        let needs = Self::of(&file.jobs).map_err(Fault::Unsupported)?;
        if needs.space > space.free_bytes {
            let (free, wanted, path) = (Bytes(space.free_bytes), Bytes(needs.space), path.display());
            let reason = format!("{path} has {free} free, and the jobs need {wanted}: free some space");
            return Err(Fault::Unsupported(reason));
        }
        Ok(needs)
    }
}

/// Bytes that all threads of a job write, where that is no matter of time.
pub(super) fn transferred_writes(job: &Job) -> Result<u64, String> {
    if let Some(log) = &job.replay.log {
        return Ok(log.bytes(Direction::Write).saturating_mul(u64::from(job.numjobs)));
    }
    let trims = matches!(job.order.trim, Some((Trim::Only, _)));
    let is_endless = !job.runtime.is_zero() || trims || !job.engine.has_files() || !job.engine.transfers();
    // A number of transfers may end it earlier.
    let is_endless = is_endless || job.course.number_ios > 0;
    let bytes = if is_endless { 0 } else { job.transfer()?.unwrap_or(0) };
    let written = u128::from(bytes) * u128::from(100 - job.read_percent.min(100)) / 100;
    Ok((written as u64).saturating_mul(u64::from(job.numjobs)))
}

fn sure_time(job: &Job) -> Duration {
    let delay = job.course.start_delay.0;
    if job.time_based { delay.saturating_add(job.ramp_time).saturating_add(job.runtime) } else { delay }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_files_are_counted_once_and_groups_follow_each_other() {
        let mib = 1 << 20;
        let read = Job { size: Some(mib), numjobs: 3, ..Job::named("r") };
        let shared = Job { filename: Some("s".to_owned()), read_percent: 0, ..read.clone() };
        assert_eq!(
            Needs::of(std::slice::from_ref(&read)).unwrap(),
            Needs { space: 3 * mib, writes: 3 * mib, time: Duration::ZERO }
        );
        let needs = Needs::of(&[read.clone(), shared.clone()]).unwrap();
        assert_eq!((needs.space, needs.writes), (4 * mib, 6 * mib));
        let timed = |seconds, stonewall| Job {
            time_based: true,
            runtime: Duration::from_secs(seconds),
            ramp_time: Duration::from_secs(1),
            stonewall,
            ..shared.clone()
        };
        let needs = Needs::of(&[timed(5, false), timed(3, false), timed(2, true)]).unwrap();
        assert_eq!((needs.writes, needs.time), (0, Duration::from_secs(9)));
        assert!(Needs::of(&[Job::named("x")]).unwrap_err().starts_with("[x]: size= is missing"));
    }

    #[test]
    fn files_that_the_disk_has_no_room_for_are_made_smaller() {
        let path = std::env::temp_dir();
        let free = facts::space(&path).unwrap().free_bytes;
        let file =
            |size| JobFile { jobs: vec![Job { size: Some(size), ..Job::named("x") }], ..JobFile::default() };
        let mut small = file(1 << 20);
        assert_eq!(Needs::fit(&mut small, &path).unwrap().space, 1 << 20);
        assert!(small.notes.is_empty());
        let mut large = file(free.saturating_mul(4));
        assert!(Needs::fit(&mut large, &path).unwrap().space < free);
        assert!(large.notes[0].contains("% of what the jobs say"), "{:?}", large.notes);
    }
}
