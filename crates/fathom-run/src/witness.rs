//! What a kernel shows a program beside durations, and what it declares.
//!
//! A timing inference never reads any of this. It meets the timing in the finding, and there only.

use std::ops::Range;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use fathom_sys::layout::Extent;

use crate::fault::Fault;
use fathom_program::workload::{ScratchFile, Workload};

/// Side effects of system calls that a program can see.
pub trait Witness {
    /// Bytes set aside for a file with one byte written into the middle of a hole: the allocation unit.
    ///
    /// # Errors
    /// [`Fault`] where the file can't be made or looked at.
    fn sparse_allocation(&mut self) -> Result<u64, Fault>;

    /// Bytes between SEEK_DATA and SEEK_HOLE around one byte written into a hole, where the file
    /// system tells data from holes.
    ///
    /// # Errors
    /// [`Fault`] where the file can't be made or looked at.
    fn sparse_extent(&mut self) -> Result<Option<u64>, Fault>;

    /// Reads `size` bytes at each of `offsets` of a file with no page cached; after each read, how
    /// many bytes the read and what it set off have brought into the cache, as seen by `sight`.
    ///
    /// # Errors
    /// [`Fault`] where the file can't be made or read.
    fn brought_in(
        &mut self,
        sight: Sight,
        file: &ScratchFile,
        offsets: &[u64],
        size: u64,
    ) -> Result<Result<Vec<u64>, Unseen>, Fault>;

    /// What a new file takes and where it lies. In each step the given ranges of bytes are written
    /// and synced; there is one layout after each. The file is all hole at first and `size` bytes long,
    /// or as long as what is written where that is more.
    ///
    /// # Errors
    /// [`Fault`] where the file can't be made, written or looked at.
    fn written(&mut self, size: u64, steps: &[&[Range<u64>]]) -> Result<Vec<Layout>, Fault>;

    /// Where a new file lies whose space is set aside and never written. `None` where the file system
    /// can't do that, or where it would take more than half of what is free.
    ///
    /// # Errors
    /// [`Fault`] where the file can't be made or looked at.
    fn set_aside(&mut self, bytes: u64) -> Result<Option<Layout>, Fault>;

    /// Tries to read a file of 256 KiB past the page cache: `length` bytes at `offset` to memory that
    /// is aligned to `memory` bytes and no more.
    ///
    /// # Errors
    /// [`Fault`] where the file can't be made, or read for another reason than its alignment.
    fn direct_read(&mut self, offset: u64, length: u64, memory: u64) -> Result<DirectRead, Fault>;

    /// Reads `size` bytes at each of `offsets` of a file with no page cached, over and over until its
    /// device's own count of time has moved far enough to be read; `None` where no block device is
    /// known to be below, or where others read from it meanwhile.
    ///
    /// # Errors
    /// [`Fault`] where the file can't be made or read.
    fn device_reads(
        &mut self,
        file: &ScratchFile,
        offsets: &[u64],
        size: u64,
    ) -> Result<Option<DeviceReads>, Fault>;

    /// Reads a file of `length` bytes of hole once, forward; how many bytes of it are in the cache then.
    /// `None` where the cache can't be seen.
    ///
    /// # Errors
    /// [`Fault`] where the file can't be made or read.
    fn survives_reading(&mut self, length: u64) -> Result<Option<u64>, Fault>;

    /// Does what one round of a workload does where nothing is timed; instead of each timed pass, looks which
    /// of its positions are wholly in the cache, in their order in the file. One list for each pass, empty
    /// for those that are not timed. `None` where the cache can't be seen.
    ///
    /// # Errors
    /// [`Fault`] where the workload can't be run.
    fn cached(&mut self, workload: &Workload) -> Result<Option<Vec<Vec<bool>>>, Fault>;

    /// The dirty data in bytes at which the kernel begins to write them, and which it never exceeds, as it
    /// uses them now. `None` where it does not show them.
    ///
    /// # Errors
    /// [`Fault`] where they can't be read.
    fn dirty_thresholds(&mut self) -> Result<Option<[u64; 2]>, Fault>;

    /// After how long the kernel itself has written a page of a file that nobody syncs: one file for each of
    /// `starts`, whose page is made dirty that long after the beginning. Nothing else of the file system
    /// is dirty then. Files that are still dirty after `patience` show nothing.
    ///
    /// # Errors
    /// [`Fault`] where the files can't be made, written or looked at.
    fn written_back(
        &mut self,
        starts: &[Duration],
        patience: Duration,
    ) -> Result<Result<Vec<Duration>, Unseen>, Fault>;

    /// After how long the file system itself has committed a new file that nobody syncs, several times over, at
    /// moments that lie differently to those of earlier commits.
    ///
    /// # Errors
    /// [`Fault`] where files can't be made or synced.
    fn committed(&mut self) -> Result<Result<Vec<Duration>, Unseen>, Fault>;

    /// What the kernel declares of this mount.
    fn declared(&self) -> &Declared;
}

/// What a file takes, and where it lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// Bytes set aside for it, with what points to its blocks: `st_blocks`.
    pub allocated: u64,
    /// Its extents in order, where the file system draws a map of them.
    pub extents: Option<Vec<Extent>>,
}

/// What became of a read past the page cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DirectRead {
    /// It was done, and left nothing in the cache.
    Direct,
    /// It was done by way of the cache.
    Buffered,
    /// It was refused: EINVAL.
    Refused,
}

/// How it is seen what is in the cache. The two share nothing: one counts the pages that a file has there,
/// the other is told of each page that is put there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sight {
    /// `cachestat(2)` or `mincore(2)`, between reads.
    Cache,
    /// The kernel's tracepoint, while it reads. Needs CAP_SYS_ADMIN.
    Tracepoint,
}

/// Why nothing can be seen: one sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unseen {
    /// This kernel or file system does not show it, or the cache can't be emptied.
    Impossible(String),
    /// A privilege is missing.
    Forbidden(String),
    /// Something was to be seen, and part of it was lost.
    Lost(String),
}

/// What a block device's counters say of reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceReads {
    /// Reads that were made.
    pub reads: u64,
    /// The time between submission and completion that the block layer counted for them, in ns.
    pub device_ns: u64,
    /// The time that the calls took, in ns.
    pub waited_ns: u64,
}

/// What a kernel declares of a mount.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Declared {
    /// The page size in bytes: `sysconf(_SC_PAGESIZE)`.
    pub page_size: u64,
    /// `f_bsize` of `statfs(2)`, in bytes.
    pub block_size: u64,
    /// The read-ahead limit in bytes, and the file that says so.
    pub read_ahead: Option<(u64, String)>,
    /// The caches of the first CPU, smallest first: level and bytes.
    pub cpu_caches: Vec<(u32, u64)>,
    /// The file system's type.
    pub fs_type: String,
    /// The alignment that direct I/O needs, of memory and of offsets, in bytes; zeros where files can't
    /// be read so: STATX_DIOALIGN of `statx(2)`.
    pub direct_alignment: Option<(u64, u64)>,
    /// The memory that this process may use, for everything.
    pub memory: MemoryBound,
    /// Whether cached pages are sorted into generations, and not into two lists.
    pub generations: bool,
    /// The background threshold and the limit of dirty data in bytes, by the settings under `vm.dirty_`.
    pub dirty_thresholds: Option<[u64; 2]>,
    /// The age from which dirty data are to be written, and how often it is looked for such; none where the
    /// kernel never looks: `vm.dirty_expire_centisecs` and `vm.dirty_writeback_centisecs`.
    pub flusher: Option<[Duration; 2]>,
    /// How often the file system commits changes of metadata unasked.
    pub commits: Commits,
}

/// How often a file system commits changes of metadata unasked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Commits {
    /// So long after the first of them, or up to a second later.
    Every(Duration),
    /// About so long after the first of them: whole seconds are counted, which may be one more or less.
    About(Duration),
    /// Whenever it looks, which is so often: a change waits for that long at most.
    Within(Duration),
    /// It has no journal and nothing like it.
    Never,
    /// It does not tell.
    Unknown,
}

/// An upper bound on the memory that this process's data may take, those of files included.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryBound {
    /// Bytes.
    pub bytes: u64,
    /// The file that says so: `memory.max`, `MemTotal`.
    pub source: String,
    /// Whether it is the limit of a group of processes, so that filling it disturbs no others.
    pub limited: bool,
}

impl Declared {
    /// Whether a file's only copy is in memory, so that nothing is ever read ahead.
    pub fn is_memory_only(&self) -> bool {
        matches!(self.fs_type.as_str(), "tmpfs" | "ramfs" | "devtmpfs" | "hugetlbfs")
    }
}
