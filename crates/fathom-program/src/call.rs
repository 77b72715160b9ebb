//! One system call, for every writer of programs and for every machine that makes its calls.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

/// A file, by its place in the list of a program or of a machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId(pub u32);

/// One call. What a kind has no use for is zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Call {
    /// Which.
    pub kind: CallKind,
    /// Of which file.
    pub file: FileId,
    /// Through which descriptor of the program.
    pub descriptor: u32,
    /// By which path, where the kind names one: its place in the program's list of paths.
    pub path: u32,
    /// Of a rename the new path, of a dup the new descriptor.
    pub to: u32,
    /// At which byte of the file.
    pub offset: u64,
    /// How many bytes.
    pub bytes: u64,
    /// The flags of `open(2)`, `renameat2(2)` or `sync_file_range(2)`, as the kernel numbers them; of the last, zero for all.
    /// Where a job verifies: of a write its number, from one, and the same of the read that compares what it wrote.
    pub flags: u32,
    /// Where in the caller's memory the data are, in bytes from its start.
    pub buffer: u64,
    /// Pages of the caller's buffer that this call is the first to touch.
    pub fresh_pages: u32,
    /// The file that has neither path nor descriptor after the call: a kernel knows by itself, a model is told.
    pub frees: Option<FileId>,
}

impl Call {
    /// A call of a kind, at the start of a file.
    pub const fn new(kind: CallKind, file: FileId) -> Self {
        Self {
            kind,
            file,
            descriptor: 0,
            path: 0,
            to: 0,
            offset: 0,
            bytes: 0,
            flags: 0,
            buffer: 0,
            fresh_pages: 0,
            frees: None,
        }
    }

    /// The same on a range of bytes.
    #[must_use]
    pub const fn at(self, offset: u64, bytes: u64) -> Self {
        Self { offset, bytes, ..self }
    }
}

/// Where a thread's file position is, if that is known.
#[derive(Debug, Default)]
pub(crate) struct Position(Option<u64>);

impl Position {
    /// The `lseek(2)` without which a call at the file position would not begin at its offset. Whichever of the two is made,
    /// its move is noted.
    #[inline(always)]
    pub(crate) fn seek_before(&mut self, call: &Call) -> Option<Call> {
        let (is_there, moved) = match call.kind {
            CallKind::Seek => (true, call.offset),
            kind if kind.is_positional() => (self.0 == Some(call.offset), call.offset + call.bytes),
            CallKind::Open | CallKind::OpenDirect | CallKind::Create => (true, 0),
            _ => return None,
        };
        self.0 = Some(if is_there { moved } else { call.offset });
        (!is_there).then_some(Call { kind: CallKind::Seek, ..*call })
    }
}

/// Reading or writing; the index of what is kept for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// From the file.
    Read = 0,
    /// To the file.
    Write = 1,
}

impl Direction {
    /// `read` or `write`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}

/// The number of directions.
pub const DIRECTIONS: usize = 2;

/// The kinds of calls: of passes, of jobs and of traces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[derive(IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum CallKind {
    /// `open(2)` and its kin.
    Open,
    /// `close(2)`.
    Close,
    /// `read(2)` at the file position; a block device's read.
    Read,
    /// `write(2)` at the file position; a block device's write.
    Write,
    /// `readv(2)`.
    Readv,
    /// `writev(2)`.
    Writev,
    /// `pread(2)`.
    Pread,
    /// `pwrite(2)`.
    Pwrite,
    /// `preadv(2)`.
    Preadv,
    /// `pwritev(2)`.
    Pwritev,
    /// `lseek(2)`.
    #[serde(rename = "lseek")]
    Seek,
    /// `fsync(2)`.
    Fsync,
    /// `fdatasync(2)`: times that changed are left.
    Fdatasync,
    /// `sync_file_range(2)`: the dirty pages of the range are written and waited for; metadata are left.
    #[serde(rename = "write_out")]
    SyncRange,
    /// `truncate(2)` and `ftruncate(2)`: the length is the file's new size.
    Truncate,
    /// `fallocate(2)`.
    Allocate,
    /// `mmap(2)` of a file: what is then touched, no trace shows.
    Map,
    /// `dup(2)` and its kin.
    Dup,
    /// `unlink(2)`: the path means nothing, or another file, from here on.
    Unlink,
    /// `rename(2)`: the file has another path from here on, and what had that path has none.
    Rename,
    /// A new process, whose number is the result.
    Fork,
    /// `fstat(2)` of an open file, `stat(2)` of a directory's entry.
    Stat,
    /// `statx(2)` with AT_STATX_FORCE_SYNC: the attributes as the file system's server has them now.
    StatAnew,
    /// A name is looked up, whether it is there or not, and nothing is asked of what it stands for: `statx(2)` with
    /// AT_STATX_DONT_SYNC.
    LookUp,
    /// All names of a directory: `open(2)`, `getdents64(2)` to the end and `close(2)`.
    List,
    /// A discard of blocks; of a file's, a hole is punched.
    Discard,
    /// A flush of a block device's cache.
    Flush,
    /// `posix_fadvise(2)`, POSIX_FADV_WILLNEED: what of the range is not in the cache is brought there.
    Prefetch,
    /// `posix_fadvise(2)`, POSIX_FADV_DONTNEED: the file's clean pages are dropped from the cache.
    DontNeed,
    /// `sync(2)`: all that is dirty is written, of this and of every other file of the machine.
    Sync,
    /// `syncfs(2)`: everything that is dirty on the file's file system is written.
    Syncfs,
    /// `open(2)` with O_DIRECT: until the file is opened again, reads and writes go past the page cache.
    OpenDirect,
    /// A new, empty file takes the place of the old one, and is open.
    Create,
    /// Dirty pages are written, and all of the file's pages are dropped from the cache.
    Evict,
    /// Asks which pages of the range are in the cache; takes no time.
    Look,
    /// Nothing, for as long as the program says.
    Pause,
}

impl CallKind {
    /// Every kind.
    pub const ALL: &[Self] = Self::VARIANTS;

    /// Its name in traces and messages.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The kind of that name.
    pub fn named(name: &[u8]) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.name().as_bytes() == name)
    }

    /// Which way it moves data, if it does.
    #[inline(always)]
    pub const fn direction(self) -> Option<Direction> {
        match self {
            Self::Read | Self::Readv | Self::Pread | Self::Preadv => Some(Direction::Read),
            Self::Write | Self::Writev | Self::Pwrite | Self::Pwritev => Some(Direction::Write),
            _ => None,
        }
    }

    /// Whether it reads data.
    #[inline(always)]
    pub const fn is_read(self) -> bool {
        matches!(self.direction(), Some(Direction::Read))
    }

    /// Whether it writes data.
    #[inline(always)]
    pub const fn is_write(self) -> bool {
        matches!(self.direction(), Some(Direction::Write))
    }

    /// Whether it begins or ends at the file position, and moves it.
    pub const fn is_positional(self) -> bool {
        matches!(self, Self::Read | Self::Readv | Self::Write | Self::Writev | Self::Seek)
    }

    /// Whether it has data on the device before it returns.
    pub const fn is_sync(self) -> bool {
        matches!(self, Self::Fsync | Self::Fdatasync | Self::Sync | Self::Syncfs | Self::SyncRange)
    }

    /// Whether a pass of an experiment can make it of the entry of a directory that a position numbers.
    pub const fn is_of_entry(self) -> bool {
        matches!(
            self,
            Self::Create
                | Self::Open
                | Self::Close
                | Self::Stat
                | Self::LookUp
                | Self::Rename
                | Self::Unlink
                | Self::List
                | Self::Pause
        )
    }

    /// Whether a pass of an experiment can make it of a file: that and a position say all.
    pub const fn is_of_pass(self) -> bool {
        !matches!(
            self,
            Self::Readv
                | Self::Writev
                | Self::Preadv
                | Self::Pwritev
                | Self::DontNeed
                | Self::Look
                | Self::Truncate
                | Self::Allocate
                | Self::Map
                | Self::Dup
                | Self::Unlink
                | Self::Rename
                | Self::Fork
                | Self::LookUp
                | Self::List
                | Self::Discard
                | Self::Flush
        )
    }

    /// Whether it makes or closes the descriptor, so that none need be there before.
    pub const fn changes_descriptor(self) -> bool {
        matches!(self, Self::Open | Self::OpenDirect | Self::Create | Self::Close)
    }
}
