//! A burst of writes over a file that is in memory, every write timed by itself and kept.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::Ordering;

use fathom_sys::clock::Counter;
use fathom_sys::memory::Mapping;
use fathom_sys::{Error, file};

use super::engine;
use super::site::Site;
use crate::fault::Fault;
use crate::instrument::Clock;
use fathom_program::job::{Direction, Job};

/// What the calls of a burst took, in ns; the clock's own cost is in them.
#[derive(Debug, Clone, PartialEq)]
pub struct Burst {
    /// Each write, in order.
    pub writes_ns: Vec<f64>,
    /// The fsync behind them.
    pub sync_ns: f64,
}

/// Writes `count` blocks of a job's size in order over the beginning of its file, which is read into the cache
/// before, and syncs it. Everything that was dirty on the machine is written first.
///
/// # Errors
/// More to write than the budget allows, before the first byte; what the calls give; an interrupt.
pub fn burst(job: &Job, count: u64, site: &mut Site) -> Result<Burst, Fault> {
    // What is written over must have been written.
    site.lay_out(&[Job { read_percent: 100, io_size: None, ..job.clone() }])?;
    let size = job.blocks[Direction::Write as usize].most;
    let (wanted, left) = (count * size, site.write_budget());
    if wanted > left {
        return Err(Fault::OverBudget { wanted, left });
    }
    site.ready(&Job { pre_read: true, ..job.clone() })?;
    let path = site.path(job, 0);
    let file = engine::open(job, &path)?;
    let buffer =
        Mapping::touched(size as usize).map_err(|errno| Error::new("map a buffer for", &path, errno))?;
    fathom_sys::dirty::sync();
    let burst = Writes { file: &file, path: &path, buffer, site };
    let (mut ticks, sync) = match site.clock() {
        Clock::Cycles(clock) => burst.run(clock, count)?,
        Clock::Monotonic(clock) => burst.run(clock, count)?,
    };
    site.count_written(wanted);
    let ns = 1e9 / site.ticks_per_second();
    Ok(Burst { writes_ns: ticks.drain(..).map(|one| one as f64 * ns).collect(), sync_ns: sync as f64 * ns })
}

struct Writes<'a> {
    file: &'a OwnedFd,
    path: &'a Path,
    buffer: Mapping,
    site: &'a Site,
}

impl Writes<'_> {
    fn run<C: Counter>(mut self, clock: C, count: u64) -> Result<(Vec<u64>, u64), Fault> {
        let mut ticks = Vec::with_capacity(count as usize);
        let size = self.buffer.bytes().len();
        for offset in (0..count).map(|index| index * size as u64) {
            if self.site.interrupt().load(Ordering::Relaxed) {
                return Err(Fault::Interrupted);
            }
            let before = clock.start();
            let outcome = file::pwrite(self.file.as_fd(), self.buffer.bytes(), offset);
            let now = clock.stop();
            let moved = outcome.map_err(|errno| Error::new("pwrite", self.path, errno).at(offset))?;
            if moved != size {
                return Err(Fault::short("pwrite", self.path, offset, size, moved));
            }
            ticks.push(now.saturating_sub(before));
        }
        let before = clock.start();
        file::fsync(self.file).map_err(|errno| Error::new("fsync", self.path, errno))?;
        Ok((ticks, clock.stop().saturating_sub(before)))
    }
}
