//! What the real kernel shows of scratch files.

use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use fathom_sys::cache::{cachestat, evict};
use fathom_sys::file::{self, Errno};
use fathom_sys::memory::Mapping;
use fathom_sys::tracing::{Event, FUSE_REQUEST, PAGE_ADDED, Record, Trace};
use fathom_sys::{Error, affinity, dirty, facts, journal, layout, transfer};

use super::Linux;
use super::residency::Residency;
use crate::instrument::Clock;
use crate::machine::{Fault, Machine};
use crate::witness::{Counter, Declared, Extent, Pinned, Requests, Unseen, Witness};
use fathom_program::workload::{CacheState, Region, ScratchFile, Workload};

/// Bytes by which memory is aligned where it is aligned at all: more than any device asks for.
const MOST_ALIGNED: usize = 64 << 10;

impl Witness for Linux {
    fn declared(&self) -> &Declared {
        &self.declared
    }

    fn provide(&mut self, file: &ScratchFile) -> Result<(), Fault> {
        let wanted = std::slice::from_ref(file);
        Fault::unless_affordable(self.files.bytes_to_fill(wanted), self.write_budget())?;
        Linux::provide(self, wanted)?;
        self.files.entry(&file.name).open = None;
        self.on(&file.name, "open", |_| Ok(()))
    }

    fn create(&mut self, name: &str) -> Result<(), Fault> {
        self.files.forget(name);
        Linux::provide(self, &[ScratchFile::empty(name)])
    }

    fn remove(&mut self, name: &str) {
        self.files.forget(name);
    }

    fn lengthen(&mut self, name: &str, length: u64) -> Result<(), Fault> {
        self.on(name, "lengthen", |file| file::ftruncate(file, length))
    }

    fn set_aside(&mut self, name: &str, length: u64) -> Result<bool, Fault> {
        if facts::space(&self.files.path(name))?.free_bytes / 2 < length {
            return Ok(false);
        }
        self.on(name, "set space aside for", |file| match transfer::allocate(file.as_fd(), 0, length) {
            Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::NOSPC | Errno::DQUOT | Errno::FBIG) => Ok(false),
            done => done.map(|()| true),
        })
    }

    fn write(&mut self, name: &str, range: Range<u64>) -> Result<(), Fault> {
        let length = (range.end - range.start) as usize;
        Fault::unless_affordable(length as u64, self.write_budget())?;
        let path = self.files.path(name);
        let mut data =
            Mapping::touched(length.max(1)).map_err(|errno| Error::new("map a buffer for", &path, errno))?;
        let bytes = &data.bytes()[..length];
        let written = self.on(name, "write", |file| Ok(file::pwrite(file.as_fd(), bytes, range.start)))?;
        let moved = written.map_err(|errno| Error::new("write", &path, errno).at(range.start))?;
        self.files.count_written(moved as u64);
        match moved == length {
            true => Ok(()),
            false => Err(Fault::short("write", &path, range.start, length, moved)),
        }
    }

    fn read(&mut self, name: &str, range: Range<u64>) -> Result<(), Fault> {
        let mut buffer = vec![0; (range.end - range.start) as usize];
        let read = self.on(name, "read", |file| Ok(file::pread(file.as_fd(), &mut buffer, range.start)))?;
        let path = || self.files.path(name);
        let moved = read.map_err(|errno| Error::new("read", &path(), errno).at(range.start))?;
        if moved < buffer.len() {
            return Err(Fault::short("read", &path(), range.start, buffer.len(), moved));
        }
        self.bytes_read += moved as u64;
        Ok(())
    }

    fn read_directly(&mut self, name: &str, range: Range<u64>, memory: u64) -> Result<bool, Fault> {
        self.check_interrupt()?;
        let path = self.files.path(name);
        let failed = |operation, errno| Fault::from(Error::new(operation, &path, errno));
        let open = match file::open_direct(&path) {
            Ok(open) => open,
            Err(Errno::INVAL | Errno::OPNOTSUPP) => return Ok(false),
            Err(errno) => return Err(failed("open for direct reads", errno)),
        };
        let length = (range.end - range.start) as usize;
        let mut buffer =
            Mapping::touched(2 * MOST_ALIGNED + length).map_err(|errno| failed("map a buffer for", errno))?;
        let start = buffer.bytes().as_ptr().align_offset(MOST_ALIGNED) + memory as usize % MOST_ALIGNED;
        let target = &mut buffer.bytes()[start..start + length];
        match file::pread(open.as_fd(), target, range.start) {
            Ok(moved) if moved < length => {
                Err(Fault::short("read directly", &path, range.start, length, moved))
            }
            Ok(moved) => {
                self.bytes_read += moved as u64;
                Ok(true)
            }
            Err(Errno::INVAL) => Ok(false),
            Err(errno) => Err(Error::new("read directly", &path, errno).at(range.start).into()),
        }
    }

    fn sync(&mut self, name: &str) -> Result<(), Fault> {
        self.on(name, "fsync", |file| file::fsync(file))
    }

    fn sync_file_system(&mut self, name: &str) -> Result<(), Fault> {
        self.on(name, "sync the file system of", |file| file::syncfs(file))
    }

    fn perform(&mut self, workload: &Workload, index: usize) -> Result<(), Fault> {
        workload.check().map_err(Fault::Unsupported)?;
        self.check_interrupt()?;
        let pass = &workload.passes[index];
        let order = workload.order(index, 0);
        let done = match self.clock {
            Clock::Cycles(counter) => self.perform(counter, workload, pass, &order),
            Clock::Monotonic(counter) => self.perform(counter, workload, pass, &order),
        };
        done.map(drop).inspect_err(|_| self.forget(&workload.files))
    }

    fn allocated(&mut self, name: &str) -> Result<u64, Fault> {
        self.on(name, "stat", |file| file::allocated_bytes(file.as_fd()))
    }

    fn extents(&mut self, name: &str) -> Result<Option<Vec<Extent>>, Fault> {
        self.on(name, "map the extents of", |file| match layout::extents(file) {
            Err(Errno::OPNOTSUPP | Errno::NOTTY | Errno::NOSYS | Errno::INVAL) => Ok(None),
            extents => extents.map(|all| Some(all).filter(|all| !all.iter().any(Extent::is_nowhere))),
        })
    }

    fn data(&mut self, name: &str) -> Result<Option<Range<u64>>, Fault> {
        let from = self.on(name, "seek for data in", |file| match file::seek_data(file.as_fd(), 0) {
            Err(Errno::INVAL | Errno::NXIO | Errno::OPNOTSUPP) => Ok(None),
            from => from.map(Some),
        })?;
        let Some(from) = from else { return Ok(None) };
        let to = self.on(name, "seek for a hole in", |file| file::seek_hole(file.as_fd(), from))?;
        Ok(Some(from..to))
    }

    fn evict(&mut self, name: &str) -> Result<(), Fault> {
        self.on(name, "evict", |file| evict(file, 0, 0))
    }

    fn cached(&mut self, name: &str, patience: Duration) -> Result<Option<u64>, Fault> {
        let residency = self.residency;
        self.on(name, "look at the cache of", |file| {
            let mut cached = residency.bytes(file)?;
            while residency == Residency::Mincore && !patience.is_zero() {
                std::thread::sleep(patience);
                let now = residency.bytes(file)?;
                if now == cached {
                    break;
                }
                cached = now;
            }
            Ok(cached)
        })
    }

    fn cached_at(&mut self, name: &str, region: Region) -> Result<Option<Vec<bool>>, Fault> {
        self.check_interrupt()?;
        let offsets: Vec<u64> = (0..region.count).map(|at| region.offset + at * region.step).collect();
        let states = self.residency.states(&self.files, name, region.size, &offsets)?;
        Ok(self
            .residency
            .is_visible()
            .then(|| states.into_iter().map(|state| state == CacheState::Cached).collect()))
    }

    fn is_dirty(&mut self, name: &str) -> Result<Option<bool>, Fault> {
        self.on(name, "look at the cache of", |file| match cachestat(file, 0, 0) {
            Err(Errno::NOSYS | Errno::OPNOTSUPP) => Ok(None),
            stat => stat.map(|stat| Some(stat.nr_dirty > 0)),
        })
    }

    fn trace_reads(
        &mut self,
        name: &str,
        offsets: &[u64],
        size: u64,
    ) -> Result<Result<Vec<u64>, Unseen>, Fault> {
        let inode = self.on(name, "stat", |file| file::inode(file.as_fd()))?;
        let filter = format!("i_ino == {inode}");
        let records = traced(PAGE_ADDED, Some(&filter), |trace| {
            (0..).zip(offsets).try_for_each(|(number, &offset)| {
                trace.mark(number)?;
                self.read(name, offset..offset + size)
            })
        })?;
        Ok(records.map(|records| bytes_by_mark(&records, offsets.len())))
    }

    fn trace_requests(&mut self, workload: &Workload) -> Result<Result<Vec<Requests>, Unseen>, Fault> {
        workload.check().map_err(Fault::Unsupported)?;
        Linux::provide(self, &workload.files)?;
        let passes = workload.passes.len();
        let records = traced(FUSE_REQUEST, None, |trace| {
            (0..passes).zip((0..).step_by(2)).try_for_each(|(pass, number)| {
                trace.mark(number)?;
                Witness::perform(self, workload, pass)?;
                Ok(trace.mark(number + 1)?)
            })
        })?;
        Ok(records.map(|records| requests_by_pass(&records, passes)))
    }

    fn count(&mut self, counter: Counter) -> Option<u64> {
        let device = self.device.as_deref();
        match counter {
            Counter::DeviceReads => Some(facts::device_stat(device?)?.requests[0]),
            Counter::DeviceReadMs => Some(facts::device_stat(device?)?.wait_ms[0]),
            Counter::DirtyBackground => dirty::thresholds().map(|[background, _]| background),
            Counter::DirtyLimit => dirty::thresholds().map(|[_, limit]| limit),
            Counter::JournalTransactions => journal::transactions(device?),
        }
    }

    fn wait(&mut self, time: Duration) -> Result<(), Fault> {
        const SLICE: Duration = Duration::from_millis(50);
        let until = Instant::now() + time;
        loop {
            self.check_interrupt()?;
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(SLICE));
        }
    }

    fn pin(&self) -> Option<Pinned> {
        affinity::pin_to_current_cpu()
    }
}

impl Linux {
    /// Makes a system call on a file, which is opened if it is not.
    fn on<T>(
        &mut self,
        name: &str,
        operation: &'static str,
        call: impl FnOnce(&OwnedFd) -> Result<T, Errno>,
    ) -> Result<T, Fault> {
        self.check_interrupt()?;
        let path = self.files.path(name);
        let result = call(self.files.opened(name)?);
        result.map_err(|errno| Error::new(operation, &path, errno).into())
    }
}

/// The events of one kind in this thread while something is done, in which marks are set; or why they can't be seen.
fn traced(
    point: &'static str,
    filter: Option<&str>,
    act: impl FnOnce(&Trace) -> Result<(), Fault>,
) -> Result<Result<Vec<Record>, Unseen>, Fault> {
    let trace = match Trace::start(&[point], filter).and_then(Trace::of_this_thread) {
        Ok(trace) => trace,
        Err(error) if error.is_permission() => {
            return Ok(Err(Unseen::Forbidden(format!("tracing needs CAP_SYS_ADMIN: {error}"))));
        }
        Err(error) => return Ok(Err(Unseen::Impossible(error.to_string()))),
    };
    act(&trace)?;
    let recorded = trace.finish()?;
    Ok(match recorded.lost {
        0 => Ok(recorded.records),
        lost => Err(Unseen::Lost(format!("{lost} events of the trace were lost"))),
    })
}

/// The requests between the marks at the beginning and at the end of each pass.
fn requests_by_pass(records: &[Record], passes: usize) -> Vec<Requests> {
    let mut all = vec![Requests { began_ns: 0, ended_ns: 0, names: Vec::new() }; passes];
    let mut current = None;
    for record in records {
        match &record.event {
            Event::Mark(number) => {
                let pass = (*number / 2) as usize;
                let Some(requests) = all.get_mut(pass) else { continue };
                let begins = number.is_multiple_of(2);
                *(if begins { &mut requests.began_ns } else { &mut requests.ended_ns }) = record.time_ns;
                current = begins.then_some(pass);
            }
            // `connection 47 req 6 opcode 3 (FUSE_GETATTR) len 56`
            Event::Other(_, text) => {
                let name = text.split_once('(').and_then(|(_, rest)| rest.split_once(')'));
                if let (Some(pass), Some((name, _))) = (current, name) {
                    all[pass].names.push(name.to_owned());
                }
            }
            _ => {}
        }
    }
    all
}

/// Bytes that entered the cache after each of `marks` marks.
fn bytes_by_mark(records: &[Record], marks: usize) -> Vec<u64> {
    let mut bytes = vec![0; marks];
    let mut current = None;
    for record in records {
        match record.event {
            Event::Mark(number) => current = usize::try_from(number).ok().filter(|&number| number < marks),
            Event::PageAdded { bytes: added, .. } => {
                if let Some(current) = current {
                    bytes[current] += added;
                }
            }
            _ => {}
        }
    }
    bytes
}
