//! What a kernel shows a program besides durations, and what it declares.
//!
//! A timing inference never reads any of this. It meets the timing in the finding, and there only.

use std::ops::Range;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use fathom_sys::affinity::Pinned;
pub use fathom_sys::layout::Extent;

use crate::fault::Fault;
use fathom_program::workload::{Region, ScratchFile, Workload};

/// What a program can do to its own scratch files and see of them. These are primitives, which experiments compose. Files are named
/// as in workloads, and exist for those too. Each method may fail with [`Fault`]: a system call that fails, a budget that is used
/// up, an interrupt.
#[allow(clippy::missing_errors_doc, reason = "said once, above")]
pub trait Witness {
    /// What the kernel declares of this mount.
    fn declared(&self) -> &Declared;

    /// Makes and fills a file, and opens it anew, so that no reader's past is remembered with it.
    fn provide(&mut self, file: &ScratchFile) -> Result<(), Fault>;

    /// Puts a new, empty file into the place of the one of that name.
    fn create(&mut self, name: &str) -> Result<(), Fault>;

    /// Removes a file.
    fn remove(&mut self, name: &str);

    /// Sets a file's length in bytes; what is added is a hole: `ftruncate(2)`.
    fn lengthen(&mut self, name: &str, length: u64) -> Result<(), Fault>;

    /// Sets space aside for the first `length` bytes of a file: `fallocate(2)`. Whether it could be had: not where the
    /// file system can't do that, nor where it would take more than half of what is free.
    fn set_aside(&mut self, name: &str, length: u64) -> Result<bool, Fault>;

    /// Writes the bytes of a range: `pwrite(2)`.
    fn write(&mut self, name: &str, range: Range<u64>) -> Result<(), Fault>;

    /// Reads the bytes of a range: `pread(2)`.
    fn read(&mut self, name: &str, range: Range<u64>) -> Result<(), Fault>;

    /// Reads the bytes of a range with O_DIRECT to memory that is aligned to `memory` bytes and no more. Whether the
    /// kernel accepted that.
    fn read_directly(&mut self, name: &str, range: Range<u64>, memory: u64) -> Result<bool, Fault>;

    /// Writes what is dirty of a file to the device: `fsync(2)`.
    fn sync(&mut self, name: &str) -> Result<(), Fault>;

    /// Writes everything that is dirty on a file's file system: `syncfs(2)`.
    fn sync_file_system(&mut self, name: &str) -> Result<(), Fault>;

    /// Does one pass of a workload, for what it does and not for how long that takes.
    fn perform(&mut self, workload: &Workload, pass: usize) -> Result<(), Fault>;

    /// Bytes set aside for a file, with what points to its blocks: `st_blocks`.
    fn allocated(&mut self, name: &str) -> Result<u64, Fault>;

    /// The extents of a file in order, where the file system draws a map of them (FIEMAP) that says where they are kept.
    fn extents(&mut self, name: &str) -> Result<Option<Vec<Extent>>, Fault>;

    /// The first bytes of a file that are data and no hole, where the file system knows holes: SEEK_DATA, SEEK_HOLE.
    fn data(&mut self, name: &str) -> Result<Option<Range<u64>>, Fault>;

    /// Writes what is dirty of a file, and drops all of it from the cache.
    fn evict(&mut self, name: &str) -> Result<(), Fault>;

    /// How many bytes of a file are in the cache, once none has come for so long; `None` where that can't be seen.
    ///
    /// `cachestat(2)` counts pages from the moment that they are asked of the device and need not wait; `mincore(2)`
    /// counts those that have arrived (`mincore_page` of `mm/mincore.c`), so that it sees in pieces what is on its way.
    fn cached(&mut self, name: &str, patience: Duration) -> Result<Option<u64>, Fault>;

    /// Which positions of a region are wholly in the cache; `None` where that can't be seen.
    fn cached_at(&mut self, name: &str, region: Region) -> Result<Option<Vec<bool>>, Fault>;

    /// Whether any page of a file is dirty; `None` where that can't be seen: `cachestat(2)`.
    fn is_dirty(&mut self, name: &str) -> Result<Option<bool>, Fault>;

    /// Reads `size` bytes at each of `offsets`; how many bytes entered the cache during each read, as the kernel's
    /// tracepoint tells. Needs CAP_SYS_ADMIN.
    fn trace_reads(
        &mut self,
        name: &str,
        offsets: &[u64],
        size: u64,
    ) -> Result<Result<Vec<u64>, Unseen>, Fault>;

    /// Does the passes of a workload, as [`perform`](Self::perform) does; of each, which requests went to the server of
    /// a user-space file system meanwhile, as the kernel's tracepoint tells. Needs CAP_SYS_ADMIN.
    fn trace_requests(&mut self, workload: &Workload) -> Result<Result<Vec<Requests>, Unseen>, Fault>;

    /// A counter of the kernel; `None` where it does not show that.
    fn count(&mut self, counter: Counter) -> Option<u64>;

    /// Waits for so long, unless it is time to stop.
    fn wait(&mut self, time: Duration) -> Result<(), Fault>;

    /// Stays on the CPU at hand until the result is dropped, where that is permitted.
    fn pin(&self) -> Option<Pinned>;
}

/// A counter of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counter {
    /// Reads that the block device below has completed.
    DeviceReads,
    /// The time between submission and completion that the block layer counted for those reads, in whole ms.
    DeviceReadMs,
    /// The dirty data in bytes at which the kernel begins to write them.
    DirtyBackground,
    /// The most dirty data that the kernel allows, in bytes.
    DirtyLimit,
    /// Transactions that the file system's journal has committed.
    JournalTransactions,
}

/// The requests that went to the server of a user-space file system during one pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requests {
    /// When the pass began, in ns of the clock that `ended_ns` is in as well.
    pub began_ns: u64,
    /// When the pass ended, in ns of the same clock.
    pub ended_ns: u64,
    /// The requests as FUSE's protocol calls them: `FUSE_LOOKUP`.
    pub names: Vec<String>,
}

/// Why nothing can be seen: one sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unseen {
    /// This kernel or file system does not show it, or the cache can't be emptied.
    Impossible(String),
    /// A privilege is missing.
    Forbidden(String),
    /// Something could be seen, and part of it was lost.
    Lost(String),
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
    /// The type of the file system.
    pub fs_type: String,
    /// The alignment that direct I/O needs, of memory and of offsets, in bytes; zeros where files can't
    /// be read so: STATX_DIOALIGN of `statx(2)`.
    pub direct_alignment: Option<(u64, u64)>,
    /// The memory that this process may use, for everything.
    pub memory: MemoryBound,
    /// Whether cached pages are sorted into generations (MGLRU), and not into two lists.
    pub generations: bool,
    /// The background threshold and the limit of dirty data in bytes, by the settings under `vm.dirty_`.
    pub dirty_thresholds: Option<[u64; 2]>,
    /// The share in percent of those limits that the mount may take, where it has a fixed limit of its own: `max_ratio` and
    /// `strict_limit` of its backing device.
    pub strict_share: Option<u64>,
    /// The age from which dirty data are written, and how often the kernel looks for such data; none where it never looks:
    /// `vm.dirty_expire_centisecs` and `vm.dirty_writeback_centisecs`.
    pub flusher: Option<[Duration; 2]>,
    /// How often the file system commits changes of metadata without a sync.
    pub commits: Commits,
    /// Whether data read from a file show up in the page cache. Where they do not, no setting of the cache has an effect.
    pub caches_files: bool,
    /// Whether each write waits until the data are stored: the option `sync` of the mount.
    #[serde(default)]
    pub writes_through: bool,
    /// What is declared of the server that keeps the files; none where they are on a device of this machine or in its memory, and
    /// asking for them takes no round trip.
    pub server: Option<Server>,
}

/// What a kernel declares of its dealings with the server of a file system, each with the option that says so.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Server {
    /// How long the kernel believes attributes at first.
    pub attributes: Option<(Duration, String)>,
    /// How long the kernel believes names at first.
    pub names: Option<(Duration, String)>,
    /// Bytes that one request reads at most.
    pub read_request: Option<(u64, String)>,
    /// Bytes that one request writes at most.
    pub write_request: Option<(u64, String)>,
    /// The largest number of requests for reading ahead and for writing back that are under way at once.
    #[serde(default)]
    pub in_flight: Option<(u64, String)>,
    /// How a file is divided among servers; none where the mount declares no such thing.
    #[serde(default)]
    pub stripes: Option<Stripes>,
}

/// How a file is divided among the servers of its file system. An error is the reason why that is not known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stripes {
    /// What declares it: an extended attribute of the file, or an option of the client.
    pub source: String,
    /// Bytes of a file that lie in one object before it goes on in another; none where parts have no such size.
    pub size: Result<Option<u64>, String>,
    /// Objects among which the parts alternate; none where their number is not fixed.
    pub count: Result<Option<u64>, String>,
}

/// How often a file system commits changes of metadata without a sync.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Commits {
    /// This long after the first change, or up to a second later.
    Every(Duration),
    /// About this long after the first change: whole seconds are counted, which may be one more or less.
    About(Duration),
    /// The file system looks for changes at this interval, so that a change waits for that long at most.
    Within(Duration),
    /// The file system has no journal and nothing like it.
    Never,
    /// The file system does not tell.
    Unknown,
}

/// An upper bound on the memory that this process's data may take, those of files included.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryBound {
    /// The bound in bytes.
    pub bytes: u64,
    /// The source of the bound: `memory.max`, `MemTotal`.
    pub source: String,
    /// Whether it is the limit of a group of processes, so that filling it disturbs no processes outside.
    pub limited: bool,
}

impl Declared {
    /// Whether a program on this machine serves the files: FUSE.
    pub fn is_fuse(&self) -> bool {
        self.fs_type == "fuse" || self.fs_type.starts_with("fuse.")
    }

    /// Whether a file's only copy is in memory, so that nothing is ever read ahead.
    pub fn is_memory_only(&self) -> bool {
        matches!(self.fs_type.as_str(), "tmpfs" | "ramfs" | "devtmpfs" | "hugetlbfs")
    }
}
