//! What the real kernel shows of scratch files.

use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use fathom_sys::cache::{cachestat, evict, mincore};
use fathom_sys::cgroup::MemoryLimit;
use fathom_sys::file::{self, Errno};
use fathom_sys::tracing::{Event, PAGE_ADDED, Record, Trace};
use fathom_sys::{Error, cgroup, dirty, facts};

use super::residency::Residency;
use super::{Linux, device_reads, layout, quiet};
use crate::machine::{Fault, Machine};
use crate::witness::{Declared, DeviceReads, DirectRead, Layout, MemoryBound, Sight, Unseen, Witness};
use fathom_program::workload::{ScratchFile, Workload};

/// How long after a read its window may be on its way at least; twice the longest read where that is more.
const SHORTEST_PATIENCE: Duration = Duration::from_micros(300);
const SPARSE: &str = "sparse";
/// The size of the sparse file, and where its one byte is: beyond what an inode or a first extent could
/// hold inline, far from the end, behind which space is set aside, and within the twelve blocks that
/// ext2 and ext3 point to directly, so that no block of pointers is counted with it.
const SPARSE_BYTES: u64 = 64 << 20;
const SPARSE_OFFSET: u64 = 8 << 10;

impl Witness for Linux {
    fn sparse_allocation(&mut self) -> Result<u64, Fault> {
        let (file, failed) = self.sparse_file()?;
        file::allocated_bytes(file.as_fd()).map_err(|errno| failed("stat", errno))
    }

    fn sparse_extent(&mut self) -> Result<Option<u64>, Fault> {
        let (file, failed) = self.sparse_file()?;
        let data = match file::seek_data(file.as_fd(), 0) {
            Ok(data) => data,
            Err(Errno::INVAL | Errno::NXIO | Errno::OPNOTSUPP) => return Ok(None),
            Err(errno) => return Err(failed("seek for data in", errno)),
        };
        let hole =
            file::seek_hole(file.as_fd(), data).map_err(|errno| failed("seek for a hole in", errno))?;
        // A file system that knows no holes says that everything is data.
        Ok((data > 0 || hole < SPARSE_BYTES).then_some(hole - data))
    }

    fn brought_in(
        &mut self,
        sight: Sight,
        file: &ScratchFile,
        offsets: &[u64],
        size: u64,
    ) -> Result<Result<Vec<u64>, Unseen>, Fault> {
        let wanted = std::slice::from_ref(file);
        let to_fill = self.files.bytes_to_fill(wanted);
        let left = self.write_budget();
        if to_fill > left {
            return Err(Fault::OverBudget { wanted: to_fill, left });
        }
        self.provide(wanted)?;
        if sight == Sight::Cache && self.residency == Residency::Invisible {
            return Ok(Err(unseen()));
        }
        let path = self.files.path(&file.name);
        let failed = |operation, errno| Fault::System(Error::new(operation, &path, errno));
        // A descriptor of its own: read-ahead remembers per descriptor where it stands.
        let open = file::open(&path).map_err(|errno| failed("open", errno))?;
        evict(&open, 0, 0).map_err(|errno| failed("evict", errno))?;
        if sight == Sight::Tracepoint {
            return self.traced(&open, &path, offsets, size);
        }
        let look = "look at the cache of";
        let mut cached = self.cached_bytes(&open, file.size).map_err(|errno| failed(look, errno))?;
        if cached > 0 {
            return Ok(Err(unseen()));
        }
        let mut buffer = vec![0; size as usize];
        let mut brought = Vec::with_capacity(offsets.len());
        let mut patience = SHORTEST_PATIENCE;
        for &offset in offsets {
            let started = Instant::now();
            self.read_whole(&open, &path, &mut buffer, offset)?;
            patience = patience.max(started.elapsed() * 2);
            let arrived = self.arrived_bytes(&open, file.size, patience);
            let now = arrived.map_err(|errno| failed(look, errno))?;
            brought.push(now.saturating_sub(cached));
            cached = now;
        }
        Ok(Ok(brought))
    }

    fn written(&mut self, size: u64, steps: &[&[Range<u64>]]) -> Result<Vec<Layout>, Fault> {
        layout::written(self, size, steps)
    }

    fn set_aside(&mut self, bytes: u64) -> Result<Option<Layout>, Fault> {
        layout::set_aside(self, bytes)
    }

    fn direct_read(&mut self, offset: u64, length: u64, memory: u64) -> Result<DirectRead, Fault> {
        layout::direct_read(self, offset, length, memory)
    }

    fn device_reads(
        &mut self,
        file: &ScratchFile,
        offsets: &[u64],
        size: u64,
    ) -> Result<Option<DeviceReads>, Fault> {
        device_reads::count(self, file, offsets, size)
    }

    fn survives_reading(&mut self, length: u64) -> Result<Option<u64>, Fault> {
        let file = ScratchFile::sparse("witness-hole", length);
        self.provide(std::slice::from_ref(&file))?;
        if self.residency == Residency::Invisible {
            return Ok(None);
        }
        let path = self.files.path(&file.name);
        let failed = |operation, errno| Fault::System(Error::new(operation, &path, errno));
        let open = file::open(&path).map_err(|errno| failed("open", errno))?;
        let mut buffer = vec![0; 1 << 20];
        for offset in (0..length).step_by(buffer.len()) {
            self.check_interrupt()?;
            let read = file::pread(open.as_fd(), &mut buffer, offset);
            self.bytes_read += read.map_err(|errno| Error::new("read", &path, errno).at(offset))? as u64;
        }
        let look = |errno| failed("look at the cache of", errno);
        let cached = self.cached_bytes(&open, length).map_err(look)?;
        evict(&open, 0, 0).map_err(|errno| failed("evict", errno))?;
        Ok(Some(cached))
    }

    fn cached(&mut self, workload: &Workload) -> Result<Option<Vec<Vec<bool>>>, Fault> {
        workload.check().map_err(Fault::Unsupported)?;
        self.provide(&workload.files)?;
        if self.residency == Residency::Invisible {
            return Ok(None);
        }
        let looked = (0..workload.passes.len()).map(|pass| self.look_or_do(workload, pass)).collect();
        let looked: Result<_, Fault> = looked;
        looked.map(Some).inspect_err(|_| self.forget(&workload.files))
    }

    fn dirty_thresholds(&mut self) -> Result<Option<[u64; 2]>, Fault> {
        Ok(dirty::thresholds())
    }

    fn written_back(
        &mut self,
        starts: &[Duration],
        patience: Duration,
    ) -> Result<Result<Vec<Duration>, Unseen>, Fault> {
        quiet::written_back(self, starts, patience)
    }

    fn committed(&mut self) -> Result<Result<Vec<Duration>, Unseen>, Fault> {
        quiet::committed(self)
    }

    fn declared(&self) -> &Declared {
        &self.declared
    }
}

impl Linux {
    /// What the tracepoint tells of each read.
    fn traced(
        &mut self,
        open: &OwnedFd,
        path: &Path,
        offsets: &[u64],
        size: u64,
    ) -> Result<Result<Vec<u64>, Unseen>, Fault> {
        let inode = file::inode(open.as_fd()).map_err(|errno| Error::new("stat", path, errno))?;
        let started = Trace::start(&[PAGE_ADDED], Some(&format!("i_ino == {inode}")));
        let trace = match started.and_then(Trace::of_this_thread) {
            Ok(trace) => trace,
            Err(error) if error.is_permission() => {
                return Ok(Err(Unseen::Forbidden(format!("tracing needs CAP_SYS_ADMIN: {error}"))));
            }
            Err(error) => return Ok(Err(Unseen::Impossible(error.to_string()))),
        };
        let mut buffer = vec![0; size as usize];
        for (number, &offset) in (0..).zip(offsets) {
            trace.mark(number)?;
            self.read_whole(open, path, &mut buffer, offset)?;
        }
        let recorded = trace.finish()?;
        if recorded.lost > 0 {
            let lost = format!("{} events of the trace were lost", recorded.lost);
            return Ok(Err(Unseen::Lost(lost)));
        }
        let brought = bytes_by_mark(&recorded.records, offsets.len());
        // The first read of an empty cache brings in what it asks for.
        Ok(if brought.first() >= Some(&size) { Ok(brought) } else { Err(unseen()) })
    }

    /// Reads all of `buffer`, or fails with the place.
    fn read_whole(
        &mut self,
        open: &OwnedFd,
        path: &Path,
        buffer: &mut [u8],
        offset: u64,
    ) -> Result<(), Fault> {
        self.check_interrupt()?;
        let read = file::pread(open.as_fd(), buffer, offset);
        let moved = read.map_err(|errno| Error::new("read", path, errno).at(offset))?;
        self.bytes_read += moved as u64;
        match moved == buffer.len() {
            true => Ok(()),
            false => Err(Fault::short("read", path, offset, buffer.len(), moved)),
        }
    }

    /// A file that is all hole but for one byte, on disk.
    fn sparse_file(&mut self) -> Result<(OwnedFd, impl Fn(&'static str, Errno) -> Fault + use<>), Fault> {
        self.provide(&[ScratchFile::empty(SPARSE)])?;
        let file = self.files.descriptor(SPARSE)?;
        let path = self.files.path(SPARSE);
        let failed = move |operation, errno| Fault::System(Error::new(operation, &path, errno));
        file::ftruncate(&file, 0).map_err(|errno| failed("truncate", errno))?;
        file::ftruncate(&file, SPARSE_BYTES).map_err(|errno| failed("lengthen", errno))?;
        let written = file::pwrite(file.as_fd(), &[7], SPARSE_OFFSET);
        let written = written
            .map_err(|errno| Error::new("write", &self.files.path(SPARSE), errno).at(SPARSE_OFFSET))?;
        if written != 1 {
            return Err(Fault::short("write", &self.files.path(SPARSE), SPARSE_OFFSET, 1, written));
        }
        self.files.count_written(1);
        file::fsync(&file).map_err(|errno| failed("fsync", errno))?;
        Ok((file, failed))
    }

    /// What is in the cache once nothing arrives any more.
    ///
    /// `cachestat(2)` counts pages from the moment that they are asked of the device, `mincore(2)` only those
    /// that have arrived (`mincore_page` of `mm/mincore.c`), so that it sees a window in pieces that is on
    /// its way: what comes within `patience` of the last piece is of the same window.
    fn arrived_bytes(&self, file: &OwnedFd, size: u64, patience: Duration) -> Result<u64, Errno> {
        let mut cached = self.cached_bytes(file, size)?;
        if self.residency == Residency::Cachestat {
            return Ok(cached);
        }
        loop {
            std::thread::sleep(patience);
            let now = self.cached_bytes(file, size)?;
            if now == cached {
                return Ok(now);
            }
            cached = now;
        }
    }

    pub(super) fn cached_bytes(&self, file: &OwnedFd, size: u64) -> Result<u64, Errno> {
        let page = facts::page_size();
        if self.residency == Residency::Cachestat {
            return cachestat(file, 0, size).map(|stat| stat.cached * page);
        }
        let pages = mincore(file, 0, size as usize, page as usize)?;
        Ok(pages.into_iter().filter(|&cached| cached).count() as u64 * page)
    }
}

fn unseen() -> Unseen {
    Unseen::Impossible("the cache of this file can't be emptied or seen".to_owned())
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

/// What the kernel declares of the mount at `path` and of a file there.
///
/// # Errors
/// What `statfs(2)`, `statx(2)` or the table of mounts give.
pub(super) fn declared(path: &Path, file: &Path) -> Result<Declared, Fault> {
    let mount = facts::mount_of(path)?;
    let read_ahead =
        facts::declared_read_ahead(&mount).map(|(bytes, file)| (bytes, file.display().to_string()));
    let direct = fathom_sys::layout::direct_alignment(file)?;
    Ok(Declared {
        page_size: facts::page_size(),
        block_size: facts::space(path)?.block_size,
        read_ahead,
        cpu_caches: facts::cpu_caches(),
        fs_type: mount.fs_type.clone(),
        direct_alignment: direct.map(|direct| (u64::from(direct.memory), u64::from(direct.offset))),
        memory: memory_bound(),
        generations: facts::keeps_generations(),
        dirty_thresholds: dirty::declared_thresholds(),
        flusher: dirty::flusher_delays(),
        commits: quiet::declared_commits(&mount),
    })
}

/// The limit of the group that this process is in now, or all the memory there is.
fn memory_bound() -> MemoryBound {
    let total = facts::machine().memory_bytes;
    match cgroup::memory_limit().filter(|limit| limit.bytes < total) {
        Some(MemoryLimit { bytes, file }) => {
            let source = file.file_name().map(|name| name.to_string_lossy().into_owned());
            MemoryBound { bytes, source: source.unwrap_or_default(), limited: true }
        }
        None => MemoryBound { bytes: total, source: "MemTotal".to_owned(), limited: false },
    }
}
