//! The calls of fio's engines `pvsync2`, `splice` and `falloc`, and of its metadata engines.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, FallocateFlags, Mode, StatxFlags};
use rustix::io::{Errno, IoSlice, IoSliceMut, ReadWriteFlags, Result};
use rustix::pipe::{IoSliceRaw, SpliceFlags};

/// Polls for the completion of a direct transfer: fio's `hipri`. Source: `preadv2(2)`, RWF_HIPRI.
pub const HIGH_PRIORITY: u32 = libc::RWF_HIPRI as u32;
/// Fails with EAGAIN where the call would wait: fio's `nowait`. Source: `preadv2(2)`, RWF_NOWAIT.
pub const NO_WAIT: u32 = libc::RWF_NOWAIT as u32;
/// Drops the pages from the cache afterwards: fio's `uncached`. Source: `preadv2(2)`, RWF_DONTCACHE, Linux 6.14.
pub const UNCACHED: u32 = 0x80;

/// Bytes that fio's engine `splice` moves at once: what a pipe holds. Source: `SPLICE_DEF_SIZE` of `engines/splice.c`.
const PIPE_BYTES: usize = 64 << 10;

/// Reads at an offset through a vector of one buffer, with RWF_ flags. Source: `preadv2(2)`.
///
/// # Errors
/// EOPNOTSUPP where the kernel or the file system lacks a flag, and what `preadv2(2)` gives.
#[inline(always)]
pub fn preadv2(file: BorrowedFd<'_>, buffer: &mut [u8], offset: u64, flags: u32) -> Result<usize> {
    let flags = ReadWriteFlags::from_bits_retain(flags);
    rustix::io::preadv2(file, &mut [IoSliceMut::new(buffer)], offset, flags)
}

/// Writes at an offset through a vector of one buffer, with RWF_ flags. Source: `pwritev2(2)`.
///
/// # Errors
/// EOPNOTSUPP where the kernel or the file system lacks a flag, and what `pwritev2(2)` gives.
#[inline(always)]
pub fn pwritev2(file: BorrowedFd<'_>, buffer: &[u8], offset: u64, flags: u32) -> Result<usize> {
    rustix::io::pwritev2(file, &[IoSlice::new(buffer)], offset, ReadWriteFlags::from_bits_retain(flags))
}

/// A pipe through which transfers go, as those of fio's engine `splice`.
#[derive(Debug)]
pub struct Pipe {
    read: OwnedFd,
    write: OwnedFd,
}

impl Pipe {
    /// Makes a pipe. Source: `pipe2(2)`.
    pub fn new() -> Result<Self> {
        let (read, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        Ok(Self { read, write })
    }

    /// Reads at an offset: a splice from the file into the pipe and a vmsplice from the pipe into the buffer, 64 KiB at a
    /// time. Gives the bytes read, fewer at the end of the file. After an error make a new pipe: this one may hold bytes.
    /// Source: `splice(2)`, `vmsplice(2)`.
    ///
    /// # Errors
    /// EINVAL where the file system can't splice.
    pub fn read(&self, file: impl AsFd, buffer: &mut [u8], mut offset: u64) -> Result<usize> {
        let mut done = 0;
        while done < buffer.len() {
            let (length, flags) = match buffer.len() - done {
                left if left > PIPE_BYTES => (PIPE_BYTES, SpliceFlags::MORE),
                left => (left, SpliceFlags::empty()),
            };
            let mut left = rustix::pipe::splice(&file, Some(&mut offset), &self.write, None, length, flags)?;
            if left == 0 {
                break;
            }
            while left > 0 {
                let target = IoSliceRaw::from_slice_mut(&mut buffer[done..done + left]);
                // SAFETY: the pipe's end for reading has the kernel copy into the buffer, which is borrowed mutably.
                let taken = unsafe { rustix::pipe::vmsplice(&self.read, &[target], SpliceFlags::MOVE)? };
                if taken == 0 {
                    return Err(Errno::NODATA);
                }
                (left, done) = (left - taken, done + taken);
            }
        }
        Ok(done)
    }

    /// Writes at an offset: a vmsplice of the buffer into the pipe and a splice from the pipe into the file, as much at a time
    /// as the pipe holds. The pages of the buffer go into the pipe, not copies of them. Gives the bytes written. After an error
    /// make a new pipe. Source: `splice(2)`, `vmsplice(2)`.
    ///
    /// # Errors
    /// EINVAL where the file system can't splice, ENOSPC where it is full.
    pub fn write(&self, file: impl AsFd, buffer: &[u8], mut offset: u64) -> Result<usize> {
        let mut done = 0;
        while done < buffer.len() {
            let source = IoSliceRaw::from_slice(&buffer[done..]);
            // SAFETY: the pipe's end for writing has the kernel only read the buffer, and nothing is gifted. What is in the pipe
            // is taken out below; after an error it stays there, where nothing but this value's `read` could see it.
            let mut left = unsafe { rustix::pipe::vmsplice(&self.write, &[source], SpliceFlags::NONBLOCK)? };
            while left > 0 {
                let flags = SpliceFlags::empty();
                let moved = rustix::pipe::splice(&self.read, None, &file, Some(&mut offset), left, flags)?;
                if moved == 0 {
                    return Err(Errno::IO);
                }
                (left, done) = (left - moved, done + moved);
            }
        }
        Ok(done)
    }
}

/// Sets a range's blocks aside and leaves the file's length alone: what fio's engine `falloc` does for a read.
/// For a write it calls [`allocate`], for a trim [`crate::file::punch`]. Source: `fallocate(2)`,
/// FALLOC_FL_KEEP_SIZE.
///
/// # Errors
/// EOPNOTSUPP where the file system can't, ENOSPC where there is not enough.
#[inline(always)]
pub fn allocate_keeping_size(file: BorrowedFd<'_>, offset: u64, length: u64) -> Result<()> {
    rustix::fs::fallocate(file, FallocateFlags::KEEP_SIZE, offset, length)
}

/// Sets a range's blocks aside and makes the file reach to its end. Source: `fallocate(2)`, mode 0.
///
/// # Errors
/// EOPNOTSUPP where the file system can't, ENOSPC where there is not enough.
#[inline(always)]
pub fn allocate(file: BorrowedFd<'_>, offset: u64, length: u64) -> Result<()> {
    rustix::fs::fallocate(file, FallocateFlags::empty(), offset, length)
}

/// How fio's engines `filestat` and `dirstat` ask, their option `stat_type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatCall {
    /// `stat(2)`.
    Stat,
    /// `lstat(2)`.
    Lstat,
    /// `statx(2)` with STATX_ALL.
    Statx,
}

/// Asks for the status of a path and gives its size in bytes. Source: `stat(2)`, `lstat(2)`, `statx(2)`.
///
/// # Errors
/// What the call gives, ENOENT above all.
#[inline(always)]
pub fn stat(path: &Path, call: StatCall) -> Result<u64> {
    match call {
        StatCall::Stat => rustix::fs::stat(path).map(|stat| stat.st_size as u64),
        StatCall::Lstat => rustix::fs::lstat(path).map(|stat| stat.st_size as u64),
        StatCall::Statx => {
            rustix::fs::statx(CWD, path, AtFlags::empty(), StatxFlags::ALL).map(|stat| stat.stx_size)
        }
    }
}

/// Makes a directory for its owner alone. Source: `mkdir(2)`.
///
/// # Errors
/// EEXIST where something of that name exists, and what `mkdir(2)` gives.
#[inline(always)]
pub fn mkdir(path: &Path) -> Result<()> {
    rustix::fs::mkdir(path, Mode::RWXU)
}

/// Removes an empty directory. Source: `rmdir(2)`.
///
/// # Errors
/// ENOTEMPTY where it is not empty, and what `rmdir(2)` gives.
#[inline(always)]
pub fn rmdir(path: &Path) -> Result<()> {
    rustix::fs::rmdir(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::Write;

    fn scratch(name: &str) -> File {
        let path = std::env::temp_dir().join(format!("fathom-transfer-{name}-{}", std::process::id()));
        let file = crate::file::create_new(&path).unwrap();
        std::fs::remove_file(path).unwrap();
        file.into()
    }

    #[test]
    fn flags_reach_the_kernel() {
        let file = scratch("flags");
        let file = file.as_fd();
        assert_eq!(pwritev2(file, b"fathom", 2, libc::RWF_DSYNC as u32), Ok(6));
        let mut buffer = [0; 10];
        assert_eq!((preadv2(file, &mut buffer, 0, 0), &buffer[..8]), (Ok(8), &b"\0\0fathom"[..]));
        // A flag that no kernel has.
        assert_eq!(preadv2(file, &mut buffer, 0, 1 << 30), Err(Errno::OPNOTSUPP));
    }

    #[test]
    fn what_goes_through_a_pipe_comes_back_the_same() {
        let (file, pipe) = (scratch("splice"), Pipe::new().unwrap());
        let written: Vec<u8> = (0..200_000_u32).map(|at| (at / 3) as u8).collect();
        assert_eq!(pipe.write(&file, &written, 5), Ok(200_000));
        let mut read = vec![0; 200_100];
        assert_eq!(pipe.read(&file, &mut read, 5), Ok(200_000));
        assert!(read[..200_000] == written);
        assert_eq!(pipe.read(&file, &mut read, 1 << 20), Ok(0));
    }

    #[test]
    fn space_is_set_aside() {
        let file = scratch("space");
        let fd = file.as_fd();
        if allocate_keeping_size(fd, 0, 8192) == Err(Errno::OPNOTSUPP) {
            let mut stderr = std::io::stderr();
            writeln!(stderr, "skipped: space_is_set_aside: no fallocate here").unwrap();
            return;
        }
        assert_eq!(
            (crate::file::status(fd), crate::file::allocated_bytes(fd).unwrap() >= 8192),
            (Ok(0), true)
        );
        allocate(fd, 4096, 4096).unwrap();
        assert_eq!(crate::file::status(fd), Ok(8192));
    }

    #[test]
    fn directories_come_and_go_and_have_a_status() {
        let path = std::env::temp_dir().join(format!("fathom-transfer-dir-{}", std::process::id()));
        let calls = [StatCall::Stat, StatCall::Lstat, StatCall::Statx];
        assert_eq!(calls.map(|call| stat(&path, call)), [Err(Errno::NOENT); 3]);
        mkdir(&path).unwrap();
        assert_eq!(mkdir(&path), Err(Errno::EXIST));
        let sizes = calls.map(|call| stat(&path, call).unwrap());
        assert_eq!(sizes, [sizes[0]; 3]);
        rmdir(&path).unwrap();
        assert_eq!(rmdir(&path), Err(Errno::NOENT));
    }
}
