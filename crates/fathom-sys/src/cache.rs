//! The page cache as a program can see and control it: eviction, and the proof that it worked.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use linux_raw_sys::general::{cachestat as CacheStat, cachestat_range};
pub use rustix::fs::Advice;
use rustix::fs::{fadvise, fsync};
use rustix::io::{Errno, Result};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use crate::error::done;

/// The number of `cachestat(2)` on every architecture with the generic table and on x86-64.
const SYS_CACHESTAT: libc::c_long = 451;

/// Writes a file's dirty pages back and drops its clean ones from the page cache.
///
/// `length` zero means until the end of the file. Source: `posix_fadvise(2)`, POSIX_FADV_DONTNEED:
/// dirty pages are not dropped, hence the fsync.
///
/// # Errors
/// What `fsync(2)` or `posix_fadvise(2)` give.
pub fn evict(file: impl AsFd, offset: u64, length: u64) -> Result<()> {
    // A descriptor opened for reading can be synced; a file system without sync says EINVAL and has nothing to write.
    match fsync(&file) {
        Ok(()) | Err(Errno::INVAL | Errno::ROFS) => {}
        Err(error) => return Err(error),
    }
    fadvise(&file, offset, std::num::NonZeroU64::new(length), Advice::DontNeed)
}

/// Tells the kernel of future accesses to a range; `length` zero means until the end of the file. Source: `posix_fadvise(2)`:
/// of POSIX_FADV_WILLNEED, pages that are there cost a look each; others are made, and their data asked for but not waited for.
#[inline(always)]
pub fn advise(file: impl AsFd, offset: u64, length: u64, advice: Advice) -> Result<()> {
    fadvise(&file, offset, std::num::NonZeroU64::new(length), advice)
}

/// Writes the dirty pages of a range and waits until the device has taken them. Metadata, and the device's own
/// cache, are left as they are; `length` zero means until the end of the file. Of `flags`, SYNC_FILE_RANGE_, zero means all
/// three. Source: `sync_file_range(2)`.
///
/// # Errors
/// EIO or ENOSPC of the device; ESPIPE for what is no file.
#[inline(always)]
pub fn write_out(file: impl AsFd, offset: u64, length: u64, flags: u32) -> Result<()> {
    const ALL: libc::c_uint =
        libc::SYNC_FILE_RANGE_WAIT_BEFORE | libc::SYNC_FILE_RANGE_WRITE | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    let flags = if flags == 0 { ALL } else { flags };
    let range = [offset, length].map(|bytes| i64::try_from(bytes).unwrap_or(i64::MAX));
    // SAFETY: the call takes numbers alone, and the descriptor is open as long as `file` is borrowed.
    done(unsafe { libc::sync_file_range(file.as_fd().as_raw_fd(), range[0], range[1], flags) }.into())
}

/// Counts a range's pages in the cache without touching them: those that are there, dirty, or being written back. Source:
/// `cachestat(2)`, Linux 6.5.
///
/// # Errors
/// ENOSYS on older kernels; EPERM where the caller neither owns the file nor may write to it.
pub fn cachestat(file: impl AsFd, offset: u64, length: u64) -> Result<CacheStat> {
    let range = cachestat_range { off: offset, len: length };
    let mut stat =
        CacheStat { nr_cache: 0, nr_dirty: 0, nr_writeback: 0, nr_evicted: 0, nr_recently_evicted: 0 };
    let descriptor = file.as_fd().as_raw_fd();
    // SAFETY: both structures have the kernel's layout and outlive the call, which writes only to the second.
    done(unsafe { libc::syscall(SYS_CACHESTAT, descriptor, &raw const range, &raw mut stat, 0_u32) })?;
    Ok(stat)
}

/// Tells for each page of a range whether it is in the cache. Source: `mincore(2)`.
///
/// `offset` must be a multiple of the page size; the result has one entry per page begun.
///
/// # Errors
/// What `mmap(2)` gives, ENODEV where the file system cannot map files.
pub fn mincore(file: impl AsFd, offset: u64, length: usize, page_size: usize) -> Result<Vec<bool>> {
    if length == 0 {
        return Ok(Vec::new());
    }
    let file: BorrowedFd<'_> = file.as_fd();
    // SAFETY: a new shared read-only mapping at an address of the kernel's choice aliases no Rust object.
    let start =
        unsafe { mmap(std::ptr::null_mut(), length, ProtFlags::READ, MapFlags::SHARED, file, offset)? };
    let mut pages = vec![0_u8; length.div_ceil(page_size)];
    // SAFETY: the range was mapped just above and the vector has one byte per page of it.
    let outcome = done(unsafe { libc::mincore(start, length, pages.as_mut_ptr()) }.into());
    // SAFETY: the range was mapped above and no reference into it exists.
    let _ = unsafe { munmap(start, length) };
    outcome?;
    // Only the lowest bit is defined.
    Ok(pages.into_iter().map(|page| page & 1 == 1).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn cachestat_and_mincore_agree_on_a_fresh_file() {
        let directory = std::env::temp_dir().join(format!("fathom-cache-{}", std::process::id()));
        let mut file =
            std::fs::OpenOptions::new().create_new(true).read(true).write(true).open(&directory).unwrap();
        std::fs::remove_file(&directory).unwrap();
        file.write_all(&[7; 3 * 4096]).unwrap();
        let page = rustix::param::page_size();
        let by_mincore =
            mincore(&file, 0, 3 * 4096, page).unwrap().iter().filter(|&&cached| cached).count() as u64;
        match cachestat(&file, 0, 3 * 4096) {
            Ok(stat) => assert_eq!(stat.nr_cache, by_mincore),
            Err(error) => assert_eq!(error, Errno::NOSYS),
        }
        assert_eq!(by_mincore, (3 * 4096_u64).div_ceil(page as u64));
    }
}
