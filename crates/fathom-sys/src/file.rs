//! The file operations that a workload is made of. Each is one system call, inlined into its caller.

use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{Mode, OFlags, SeekFrom};
use rustix::io::Result;

pub use rustix::fs::{fdatasync, fsync, ftruncate, syncfs, unlink};
pub use rustix::io::{Errno, pread, pwrite, read, write};

/// Creates a file that must not exist yet, for reading and writing by its owner alone. Source: `open(2)`, O_EXCL.
///
/// # Errors
/// EEXIST where something of that name exists, and whatever else `open(2)` gives.
pub fn create_new(path: &Path) -> crate::Result<OwnedFd> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)
        .map_err(|errno| crate::Error::new("create", path, errno))
}

/// Opens an existing file for reading and writing. Source: `open(2)`.
#[inline(always)]
pub fn open(path: &Path) -> Result<OwnedFd> {
    rustix::fs::open(path, OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW, Mode::empty())
}

/// Opens an existing file for reading, through symbolic links. Source: `open(2)`.
pub fn open_readable(path: &Path) -> Result<OwnedFd> {
    rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
}

/// Opens a file for reading past the page cache. Source: `open(2)`, O_DIRECT.
///
/// # Errors
/// EINVAL where the file system has no such reads, and whatever else `open(2)` gives.
pub fn open_direct(path: &Path) -> Result<OwnedFd> {
    rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC | OFlags::DIRECT, Mode::empty())
}

/// Closes a descriptor and reports the kernel's answer, which dropping would hide. Source: `close(2)`.
///
/// # Errors
/// EIO, ENOSPC or EDQUOT from a file system that writes on close.
#[inline(always)]
pub fn close(file: OwnedFd) -> Result<()> {
    use std::os::fd::IntoRawFd;
    // SAFETY: the descriptor was owned by the argument, which gave it up, so it is closed exactly once.
    crate::error::done(unsafe { libc::close(file.into_raw_fd()) }.into())
}

/// Sets the file position to `offset` bytes from the start. Source: `lseek(2)`.
#[inline(always)]
pub fn seek(file: BorrowedFd<'_>, offset: u64) -> Result<u64> {
    rustix::fs::seek(file, SeekFrom::Start(offset))
}

/// The first byte of data at or after `offset`. Source: `lseek(2)`, SEEK_DATA.
///
/// # Errors
/// ENXIO where there is no data after `offset`; EINVAL where the file system does not know.
pub fn seek_data(file: BorrowedFd<'_>, offset: u64) -> Result<u64> {
    rustix::fs::seek(file, SeekFrom::Data(offset))
}

/// The first byte of a hole at or after `offset`. Source: `lseek(2)`, SEEK_HOLE.
///
/// # Errors
/// ENXIO where `offset` is past the end; EINVAL where the file system does not know.
pub fn seek_hole(file: BorrowedFd<'_>, offset: u64) -> Result<u64> {
    rustix::fs::seek(file, SeekFrom::Hole(offset))
}

/// Asks for a file's status and gives its size in bytes. Source: `fstat(2)`.
#[inline(always)]
pub fn status(file: BorrowedFd<'_>) -> Result<u64> {
    rustix::fs::fstat(file).map(|stat| stat.st_size as u64)
}

/// Bytes that the file system has set aside for a file: `st_blocks` in units of 512. Source: `stat(2)`.
pub fn allocated_bytes(file: BorrowedFd<'_>) -> Result<u64> {
    rustix::fs::fstat(file).map(|stat| stat.st_blocks as u64 * 512)
}

/// The number of a file's inode. Source: `stat(2)`, `st_ino`.
pub fn inode(file: BorrowedFd<'_>) -> Result<u64> {
    rustix::fs::fstat(file).map(|stat| stat.st_ino)
}

/// Takes a lock that ends with the process, without waiting. Source: `flock(2)`, LOCK_EX | LOCK_NB.
///
/// # Errors
/// EWOULDBLOCK where somebody holds it.
pub fn lock_exclusive(file: &OwnedFd) -> Result<()> {
    rustix::fs::flock(file, rustix::fs::FlockOperation::NonBlockingLockExclusive)
}

/// How [`open_for`] opens a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// For writing as well as reading.
    pub write: bool,
    /// Past the page cache, O_DIRECT.
    pub direct: bool,
    /// Writes return when data and metadata, or data alone, are on the device: O_SYNC and O_DSYNC.
    pub sync: bool,
    /// As said of `sync`.
    pub dsync: bool,
}

impl Access {
    /// For reading and writing past the page cache: offsets, lengths and addresses must be aligned as the file system wants it.
    pub const DIRECT: Self = Self { write: true, direct: true, sync: false, dsync: false };

    #[inline(always)]
    fn flags(self) -> OFlags {
        let mut flags = OFlags::CLOEXEC | OFlags::NOFOLLOW;
        flags |= if self.write { OFlags::RDWR } else { OFlags::RDONLY };
        flags.set(OFlags::DIRECT, self.direct);
        // O_SYNC has the bit of O_DSYNC in it.
        flags |= match (self.sync, self.dsync) {
            (true, _) => OFlags::SYNC,
            (false, true) => OFlags::DSYNC,
            (false, false) => OFlags::empty(),
        };
        flags
    }
}

/// Opens an existing file for reading, and for writing too where asked. Source: `open(2)`.
///
/// # Errors
/// What `open(2)` gives; EINVAL where the file system has no O_DIRECT.
#[inline(always)]
pub fn open_for(path: &Path, access: Access) -> Result<OwnedFd> {
    rustix::fs::open(path, access.flags(), Mode::empty())
}

/// Creates a file that must not exist yet, and opens it in this way. Source: `open(2)`, O_EXCL.
///
/// # Errors
/// EEXIST where something of that name exists, and what [`open_for`] gives.
pub fn create_for(path: &Path, access: Access) -> Result<OwnedFd> {
    let flags = access.flags() | OFlags::CREATE | OFlags::EXCL;
    rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)
}

/// Opens a file for reading and writing by its owner alone, and makes it where there is none. Source: `open(2)`, O_CREAT.
#[inline(always)]
pub fn open_or_create(path: &Path) -> Result<OwnedFd> {
    let flags = OFlags::CREATE | OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)
}

/// Reads at an offset through a vector of one buffer. Source: `preadv(2)`.
#[inline(always)]
pub fn preadv(file: BorrowedFd<'_>, buffer: &mut [u8], offset: u64) -> Result<usize> {
    rustix::io::preadv(file, &mut [std::io::IoSliceMut::new(buffer)], offset)
}

/// Writes at an offset through a vector of one buffer. Source: `pwritev(2)`.
#[inline(always)]
pub fn pwritev(file: BorrowedFd<'_>, buffer: &[u8], offset: u64) -> Result<usize> {
    rustix::io::pwritev(file, &[std::io::IoSlice::new(buffer)], offset)
}

/// Opens a scratch file with the flags of a recorded open, as open(2) numbers them: access, creation, truncation,
/// appending, direct and synchronous I/O are taken, what concerns names and descriptors is not. Source: `open(2)`.
#[inline(always)]
pub fn open_with(path: &Path, flags: u32) -> Result<OwnedFd> {
    let taken = OFlags::RWMODE
        | OFlags::CREATE
        | OFlags::TRUNC
        | OFlags::APPEND
        | OFlags::DIRECT
        | OFlags::SYNC
        | OFlags::DSYNC
        | OFlags::NOATIME;
    let flags = OFlags::from_bits_truncate(flags) & taken | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)
}

/// What the flags of a recorded open ask for beyond a file in the page cache, by name.
pub fn special_flags(flags: u32) -> Option<&'static str> {
    let flags = OFlags::from_bits_retain(flags);
    match flags {
        _ if flags.contains(OFlags::DIRECT) => Some("O_DIRECT"),
        _ if flags.intersects(OFlags::SYNC | OFlags::DSYNC) => Some("O_SYNC or O_DSYNC"),
        _ => None,
    }
}

/// Gives a file another name, with the flags of a recorded call. Source: `renameat2(2)`.
#[inline(always)]
pub fn rename(from: &Path, to: &Path, flags: u32) -> Result<()> {
    use rustix::fs::{CWD, RenameFlags, rename, renameat_with};
    match flags {
        // Not every file system has the call with flags.
        0 => rename(from, to),
        _ => renameat_with(CWD, from, CWD, to, RenameFlags::from_bits_retain(flags)),
    }
}

/// Reads at the position through a vector of one buffer. Source: `readv(2)`.
#[inline(always)]
pub fn readv(file: BorrowedFd<'_>, buffer: &mut [u8]) -> Result<usize> {
    rustix::io::readv(file, &mut [std::io::IoSliceMut::new(buffer)])
}

/// Writes at the position through a vector of one buffer. Source: `writev(2)`.
#[inline(always)]
pub fn writev(file: BorrowedFd<'_>, buffer: &[u8]) -> Result<usize> {
    rustix::io::writev(file, &[std::io::IoSlice::new(buffer)])
}

/// Gives a range's blocks back; the file keeps its length. Source: `fallocate(2)`, FALLOC_FL_PUNCH_HOLE.
///
/// # Errors
/// EOPNOTSUPP where the file system can't.
#[inline(always)]
pub fn punch(file: BorrowedFd<'_>, offset: u64, length: u64) -> Result<()> {
    let flags = rustix::fs::FallocateFlags::PUNCH_HOLE | rustix::fs::FallocateFlags::KEEP_SIZE;
    rustix::fs::fallocate(file, flags, offset, length)
}
