//! What a kernel shows a program beside durations, and what it declares.
//!
//! A timing inference never reads any of this. It meets the timing in the finding, and there only.

use serde::{Deserialize, Serialize};

use crate::fault::Fault;
use crate::workload::ScratchFile;

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
    /// many bytes the read and what it set off have brought into the cache. `None` where the cache
    /// can't be seen or can't be emptied.
    ///
    /// # Errors
    /// [`Fault`] where the file can't be made or read.
    fn brought_in(
        &mut self,
        file: &ScratchFile,
        offsets: &[u64],
        size: u64,
    ) -> Result<Option<Vec<u64>>, Fault>;

    /// What the kernel declares of this mount.
    fn declared(&self) -> &Declared;
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
    /// The file system's type.
    pub fs_type: String,
}

impl Declared {
    /// Whether a file's only copy is in memory, so that nothing is ever read ahead.
    pub fn is_memory_only(&self) -> bool {
        matches!(self.fs_type.as_str(), "tmpfs" | "ramfs" | "devtmpfs" | "hugetlbfs")
    }
}
