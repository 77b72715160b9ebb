//! The timed loop. Between the two clock readings stands the system call and nothing else:
//! no allocation, no formatting, no dynamic dispatch; what to call is decided before the window opens.

use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fathom_sys::clock::{Counter, monotonic_raw_ns};
use fathom_sys::file::{self, Errno};
use fathom_sys::memory::Mapping;
use fathom_sys::{Error, cache, dirty};

use super::files::Files;
use crate::machine::Fault;
use fathom_program::workload::{Buffer, Op, Pass};

/// Two clock readings, in ticks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Window {
    pub(super) start: u64,
    pub(super) stop: u64,
}

/// Everything that a pass needs, allocated before its first window opens.
pub(super) struct Timed {
    name: String,
    path: PathBuf,
    open: Option<OwnedFd>,
    at: Option<u64>,
    buffer: Mapping,
    buffer_step: usize,
    windows: Vec<Window>,
    shortest_sleep_ns: u64,
    read: u64,
    written: u64,
    /// Whether a new file took the old one's place, with what it was filled with.
    created: bool,
}

/// When a pass must end before its end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stop<'a> {
    /// Once this is set.
    pub(super) interrupt: &'a AtomicBool,
    /// Once the timed loop's own clock has come so far, in ticks: readings that are taken anyway tell.
    pub(super) ticks: Option<u64>,
    /// The same as a reading of [`monotonic_raw_ns`], for pauses.
    pub(super) ns: Option<u64>,
}

/// A shorter pause is spent spinning: waking from a sleep takes longer than that, and a CPU that
/// slept wakes with cold caches, which shows in the next call.
const SHORTEST_SLEEP_NS: u64 = 2_000_000;
/// The same where the only CPU must be left to the kernel's own threads.
const SHORTEST_SLEEP_ALONE_NS: u64 = 10_000;

impl Timed {
    pub(super) fn prepare(files: &mut Files, name: &str, pass: &Pass) -> Result<Self, Fault> {
        let path = files.path(name);
        let size = (pass.region.size as usize).max(1);
        let (buffer, buffer_step) = match pass.buffer {
            Buffer::Reused => (Mapping::touched(size), 0),
            Buffer::Fresh { step } => {
                let span = (step as usize).saturating_mul(pass.region.count as usize).saturating_add(size);
                (Mapping::fresh(span), step as usize)
            }
        };
        let buffer = buffer.map_err(|errno| Error::new("map a buffer for", &path, errno))?;
        let opens_itself = pass.ops.iter().any(|op| op.changes_descriptor());
        let entry = files.entry(name);
        if entry.open.is_none() && !opens_itself {
            entry.open = Some(file::open(&path).map_err(|errno| Error::new("open", &path, errno))?);
        }
        Ok(Self {
            name: name.to_owned(),
            path,
            open: entry.open.take(),
            at: None,
            buffer,
            buffer_step,
            windows: Vec::with_capacity(pass.region.count as usize * pass.ops.len()),
            shortest_sleep_ns: match fathom_sys::affinity::online_cpus() {
                1 => SHORTEST_SLEEP_ALONE_NS,
                _ => SHORTEST_SLEEP_NS,
            },
            read: 0,
            written: 0,
            created: false,
        })
    }

    /// Gives the descriptor back; returns the windows and the bytes read and written.
    pub(super) fn finish(self, files: &mut Files) -> (Vec<Window>, u64, u64) {
        let entry = files.entry(&self.name);
        entry.open = self.open;
        if self.created {
            entry.filled = 0;
        }
        (self.windows, self.read, self.written)
    }

    pub(super) fn run<C: Counter>(
        &mut self,
        clock: C,
        pass: &Pass,
        order: &[u32],
        offsets: &[u64],
        stop: Stop<'_>,
    ) -> Result<(), Fault> {
        for (&index, &offset) in order.iter().zip(offsets) {
            for &op in &pass.ops {
                if matches!(op, Op::Read | Op::Write) && self.at != Some(offset) {
                    self.move_to(offset)?;
                }
                let (window, outcome) = self.call(clock, op, pass, index as usize, offset);
                self.windows.push(window);
                let done = outcome
                    .map_err(|errno| self.failure(op, offset, errno))
                    .and_then(|moved| self.account(op, pass, offset, moved));
                // A signal may have cut the call short: then the signal is what ended the run.
                done.map_err(|fault| if stop.is_asked() { Fault::Interrupted } else { fault })?;
                if stop.ticks.is_some_and(|ticks| window.stop >= ticks) {
                    return Err(Fault::OutOfTime);
                }
            }
            if stop.is_asked() {
                return Err(Fault::Interrupted);
            }
            if pass.gap_ns > 0 {
                pause(pass.gap_ns, self.shortest_sleep_ns, stop);
            }
        }
        Ok(())
    }

    /// One operation in its window. Each arm opens and closes its own.
    #[inline(always)]
    fn call<C: Counter>(
        &mut self,
        clock: C,
        op: Op,
        pass: &Pass,
        index: usize,
        offset: u64,
    ) -> (Window, Result<usize, Errno>) {
        let size = pass.region.size as usize;
        let from = index * self.buffer_step;
        let file = match (op, &self.open) {
            (Op::Pause, _) => return self.lifecycle(clock, op),
            (op, _) if op.changes_descriptor() => return self.lifecycle(clock, op),
            (_, Some(file)) => file.as_fd(),
            (_, None) => return (Window { start: 0, stop: 0 }, Err(Errno::BADF)),
        };
        let buffer = &mut self.buffer.bytes()[from..from + size];
        match op {
            Op::Read => window(clock, || file::read(file, buffer)),
            Op::Write => window(clock, || file::write(file, buffer)),
            Op::Pread => window(clock, || file::pread(file, buffer, offset)),
            Op::Pwrite => window(clock, || file::pwrite(file, buffer, offset)),
            Op::Prefetch => window(clock, || cache::prefetch(file, offset, size as u64).map(|()| 0)),
            Op::Lseek => window(clock, || file::seek(file, offset).map(|_| 0)),
            Op::Fsync => window(clock, || file::fsync(file).map(|()| 0)),
            Op::Fdatasync => window(clock, || file::fdatasync(file).map(|()| 0)),
            Op::Sync => window(clock, || {
                dirty::sync();
                Ok(0)
            }),
            Op::WriteOut => window(clock, || cache::write_out(file, offset, size as u64).map(|()| 0)),
            Op::Syncfs => window(clock, || file::syncfs(file).map(|()| 0)),
            Op::Evict => window(clock, || cache::evict(file, 0, 0).map(|()| 0)),
            Op::Open | Op::OpenDirect | Op::Create | Op::Close | Op::Pause => {
                (Window { start: 0, stop: 0 }, Ok(0))
            }
        }
    }

    /// Operations that change the descriptor.
    fn lifecycle<C: Counter>(&mut self, clock: C, op: Op) -> (Window, Result<usize, Errno>) {
        self.at = None;
        match op {
            Op::Open => {
                // Dropping an open descriptor here would put its close into nobody's window, yet change the file.
                self.open = None;
                let (window, opened) = window(clock, || file::open(&self.path));
                (window, opened.map(|file| self.open = Some(file)).map(|()| 0))
            }
            Op::OpenDirect => {
                self.open = None;
                let (window, opened) = window(clock, || file::open_past_cache(&self.path));
                (window, opened.map(|file| self.open = Some(file)).map(|()| 0))
            }
            Op::Create => {
                self.open = None;
                self.created = true;
                // There may be no old file.
                let _ = std::fs::remove_file(&self.path);
                let (window, created) = window(clock, || file::create_new(&self.path));
                (window, created.map(|file| self.open = Some(file)).map(|()| 0).map_err(|error| error.errno))
            }
            Op::Close => match self.open.take() {
                Some(file) => window(clock, || file::close(file).map(|()| 0)),
                None => window(clock, || Ok(0)),
            },
            _ => window(clock, || Ok(0)),
        }
    }

    fn move_to(&mut self, offset: u64) -> Result<(), Fault> {
        let Some(file) = &self.open else { return Err(self.failure(Op::Lseek, offset, Errno::BADF)) };
        file::seek(file.as_fd(), offset).map_err(|errno| self.failure(Op::Lseek, offset, errno))?;
        self.at = Some(offset);
        Ok(())
    }

    /// Keeps the books after the window has closed.
    #[inline(always)]
    fn account(&mut self, op: Op, pass: &Pass, offset: u64, moved: usize) -> Result<(), Fault> {
        let size = pass.region.size as usize;
        match op {
            Op::Read | Op::Pread => self.read += moved as u64,
            Op::Write | Op::Pwrite => self.written += moved as u64,
            Op::Lseek => self.at = Some(offset),
            _ => {}
        }
        if matches!(op, Op::Read | Op::Write) {
            self.at = Some(offset + moved as u64);
        }
        if matches!(op, Op::Read | Op::Write | Op::Pread | Op::Pwrite) && moved != size {
            return Err(Fault::short(name(op), &self.path, offset, size, moved));
        }
        Ok(())
    }

    fn failure(&self, op: Op, offset: u64, errno: Errno) -> Fault {
        let error = Error::new(name(op), &self.path, errno);
        let has_offset = matches!(
            op,
            Op::Read | Op::Write | Op::Pread | Op::Pwrite | Op::Prefetch | Op::Lseek | Op::WriteOut
        );
        Fault::System(if has_offset { error.at(offset) } else { error })
    }
}

impl Stop<'_> {
    fn is_asked(&self) -> bool {
        self.interrupt.load(Ordering::Relaxed)
    }
}

/// The timed window: a reading, the call, a reading.
#[inline(always)]
fn window<C: Counter, T>(clock: C, call: impl FnOnce() -> T) -> (Window, T) {
    let start = clock.start();
    let outcome = call();
    let stop = clock.stop();
    (Window { start, stop }, outcome)
}

/// Waits, in slices short enough to hear an interrupt, and no longer than there is time.
fn pause(gap_ns: u64, shortest_sleep_ns: u64, stop: Stop<'_>) {
    let end = (monotonic_raw_ns() + gap_ns).min(stop.ns.unwrap_or(u64::MAX));
    if gap_ns < shortest_sleep_ns {
        while monotonic_raw_ns() < end {
            std::hint::spin_loop();
        }
        return;
    }
    let slice = Duration::from_millis(50);
    while let left @ 1.. = end.saturating_sub(monotonic_raw_ns())
        && !stop.is_asked()
    {
        std::thread::sleep(slice.min(Duration::from_nanos(left)));
    }
}

fn name(op: Op) -> &'static str {
    match op {
        Op::Read => "read",
        Op::Write => "write",
        Op::Pread => "pread",
        Op::Pwrite => "pwrite",
        Op::Prefetch => "prefetch",
        Op::Lseek => "lseek",
        Op::Fsync => "fsync",
        Op::Fdatasync => "fdatasync",
        Op::Sync => "sync",
        Op::WriteOut => "write out",
        Op::Syncfs => "sync the file system of",
        Op::Open => "open",
        Op::OpenDirect => "open past the cache",
        Op::Close => "close",
        Op::Create => "create",
        Op::Evict => "evict",
        Op::Pause => "pause",
    }
}
