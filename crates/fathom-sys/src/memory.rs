//! Buffers whose page-level state is known: already mapped, or never touched.

mod lines;

use std::os::fd::AsFd;
use std::ptr::NonNull;

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, mmap_anonymous, munmap};

/// Private anonymous memory without huge pages, zeroed, page-aligned.
///
/// Fresh memory has no page behind it: the first byte that a system call copies into a page makes
/// the kernel fault that page in, and the call pays for it.
#[derive(Debug)]
pub struct Mapping {
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: the mapping is private memory owned by this value alone; moving it between threads moves the ownership.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Maps `length` bytes that have not been touched; `length` must not be zero.
    ///
    /// # Errors
    /// What `mmap(2)` gives, ENOMEM above all.
    pub fn fresh(length: usize) -> rustix::io::Result<Self> {
        let mapping = Self::anonymous(length, MapFlags::PRIVATE)?;
        // A kernel without transparent huge pages refuses this advice and needs none.
        // SAFETY: the range is the mapping just made.
        let _ = unsafe { madvise(mapping.start.as_ptr().cast(), length, Advice::LinuxNoHugepage) };
        Ok(mapping)
    }

    fn anonymous(length: usize, flags: MapFlags) -> rustix::io::Result<Self> {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new anonymous private mapping at an address of the kernel's choice aliases nothing.
        let start = unsafe { mmap_anonymous(std::ptr::null_mut(), length, protection, flags)? };
        Ok(Self { start: NonNull::new(start.cast()).ok_or(rustix::io::Errno::NOMEM)?, length })
    }

    /// Maps `length` bytes and touches every page, so that no later call pays for a fault.
    ///
    /// # Errors
    /// What `mmap(2)` gives, ENOMEM above all.
    pub fn touched(length: usize) -> rustix::io::Result<Self> {
        Ok(Self::fresh(length)?.filled())
    }

    /// The same in huge pages that the machine has set aside; what does not fill one counts as one. Source: `mmap(2)`,
    /// MAP_HUGETLB.
    ///
    /// # Errors
    /// ENOMEM where none is free.
    pub fn huge(length: usize) -> rustix::io::Result<Self> {
        const HUGE: usize = 2 << 20;
        let flags = MapFlags::PRIVATE | MapFlags::HUGETLB | MapFlags::HUGE_2MB;
        Ok(Self::anonymous(length.next_multiple_of(HUGE), flags)?.filled())
    }

    /// The same as [`touched`](Self::touched), at an address that is a multiple of `align`, a power of two.
    ///
    /// # Errors
    /// What `mmap(2)` gives, ENOMEM above all.
    pub fn aligned(length: usize, align: usize) -> rustix::io::Result<Self> {
        let page = crate::facts::page_size() as usize;
        if align <= page || !align.is_power_of_two() {
            return Self::touched(length);
        }
        let length = length.next_multiple_of(page);
        let wide = Self::fresh(length.checked_add(align).ok_or(rustix::io::Errno::NOMEM)?)?;
        let (start, wide_length) = (wide.start, wide.length);
        std::mem::forget(wide);
        let before = start.as_ptr().align_offset(align);
        // SAFETY: all three addresses are in the mapping just made or at its end; no pointer leads to what is given back.
        let start = unsafe {
            let first = start.add(before);
            let after = wide_length - before - length;
            if before > 0 {
                munmap(start.as_ptr().cast(), before)?;
            }
            if after > 0 {
                munmap(first.as_ptr().add(length).cast(), after)?;
            }
            first
        };
        Ok(Self { start, length }.filled())
    }

    fn filled(mut self) -> Self {
        // A cheap generator: compressing file systems must not find the same byte everywhere.
        let mut word = 0x9E37_79B9_7F4A_7C15_u64;
        for chunk in self.bytes().chunks_mut(8) {
            word ^= word << 13;
            word ^= word >> 7;
            word ^= word << 17;
            chunk.copy_from_slice(&word.to_ne_bytes()[..chunk.len()]);
        }
        self
    }

    /// Maps `length` bytes in pages as large as the kernel gives, and touches every page.
    ///
    /// # Errors
    /// What `mmap(2)` gives, ENOMEM above all.
    pub fn large(length: usize) -> rustix::io::Result<Self> {
        let mut mapping = Self::fresh_large(length)?;
        mapping.bytes().fill(0x5A);
        Ok(mapping)
    }

    /// Maps `length` bytes that have not been touched, for pages as large as the kernel gives.
    ///
    /// # Errors
    /// What `mmap(2)` gives, ENOMEM above all.
    pub fn fresh_large(length: usize) -> rustix::io::Result<Self> {
        let mapping = Self::fresh(length)?;
        // SAFETY: the range is the mapping just made; a kernel without huge pages refuses the advice.
        let _ = unsafe { madvise(mapping.start.as_ptr().cast(), length, Advice::LinuxHugepage) };
        Ok(mapping)
    }

    /// Has all caches of all CPUs give up what they hold of it; gives whether the processor can.
    pub fn leave_cpu_caches(&self) -> bool {
        // SAFETY: the range is this mapping's own.
        unsafe { lines::flush(self.start.as_ptr(), self.length) }
    }

    /// The whole mapping.
    pub fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: the mapping is `length` initialised bytes (zeroed by the kernel), owned and borrowed mutably here.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.length) }
    }
}

/// A part of a file mapped shared, reached only by copies.
///
/// Its pages are the page cache's: other threads and the kernel change them at any time, so no
/// reference into it is ever given out. A file that is cut shorter while it is mapped ends the
/// process with SIGBUS; map only files that no other process can reach.
#[derive(Debug)]
pub struct FileMapping {
    start: NonNull<u8>,
    length: usize,
    write: bool,
}

// SAFETY: the mapping is reached through raw copies alone, from whichever thread owns it.
unsafe impl Send for FileMapping {}

impl FileMapping {
    /// Maps `length` bytes of a file at `offset`, a multiple of the page size; `length` must not be zero. Source: `mmap(2)`,
    /// MAP_SHARED.
    ///
    /// # Errors
    /// ENODEV where the file system can't map files, EACCES where the file is not open for that.
    pub fn shared(file: impl AsFd, offset: u64, length: usize, write: bool) -> rustix::io::Result<Self> {
        let protection = if write { ProtFlags::READ | ProtFlags::WRITE } else { ProtFlags::READ };
        // SAFETY: a new mapping at an address of the kernel's choice aliases no Rust object.
        let start =
            unsafe { mmap(std::ptr::null_mut(), length, protection, MapFlags::SHARED, file, offset)? };
        let start = NonNull::new(start.cast()).ok_or(rustix::io::Errno::NOMEM)?;
        Ok(Self { start, length, write })
    }

    /// Where it begins, and how long it is.
    pub(crate) fn bytes(&self) -> (*const u8, usize) {
        (self.start.as_ptr(), self.length)
    }

    /// Copies from the mapping at `offset`; gives the bytes copied, fewer at the end.
    #[inline(always)]
    pub fn copy_out(&self, offset: u64, buffer: &mut [u8]) -> usize {
        let (from, length) = self.clamp(offset, buffer.len());
        // SAFETY: the source lies within the mapping and the target is a buffer of its own.
        unsafe { std::ptr::copy_nonoverlapping(self.start.as_ptr().add(from), buffer.as_mut_ptr(), length) };
        length
    }

    /// Copies into the mapping at `offset`; gives the bytes copied: none where it is not writable.
    #[inline(always)]
    pub fn copy_in(&mut self, offset: u64, buffer: &[u8]) -> usize {
        if !self.write {
            return 0;
        }
        let (to, length) = self.clamp(offset, buffer.len());
        // SAFETY: the target lies within the mapping, which is writable, and the source is a buffer of its own.
        unsafe { std::ptr::copy_nonoverlapping(buffer.as_ptr(), self.start.as_ptr().add(to), length) };
        length
    }

    fn clamp(&self, offset: u64, wanted: usize) -> (usize, usize) {
        let from = usize::try_from(offset).unwrap_or(usize::MAX).min(self.length);
        (from, wanted.min(self.length - from))
    }

    /// Removes `length` bytes at `offset` from the caches of all CPUs, at all levels: the next access to them waits for
    /// memory. Pages that are not in the page cache are read into it. Returns whether the processor can do that; nothing is
    /// changed where it can't. Source: CLFLUSHOPT and CLFLUSH of x86, DC CIVAC of Arm.
    pub fn leave_cpu_caches(&self, offset: u64, length: usize) -> bool {
        let (from, length) = self.clamp(offset, length);
        // SAFETY: the range lies within the mapping.
        unsafe { lines::flush(self.start.as_ptr().add(from), length) }
    }

    /// Asks for huge pages, which the kernel may give or not. Source: `madvise(2)`, MADV_HUGEPAGE.
    pub fn prefer_huge_pages(&self) {
        // SAFETY: the range is this mapping's, and the advice changes no content.
        let _ = unsafe { madvise(self.start.as_ptr().cast(), self.length, Advice::LinuxHugepage) };
    }

    /// Tells the kernel in which order pages will be used. Source: `madvise(2)`.
    pub fn expect(&self, random: bool) -> rustix::io::Result<()> {
        let advice = if random { Advice::Random } else { Advice::Sequential };
        // SAFETY: the range is the mapping, and this advice changes no contents.
        unsafe { madvise(self.start.as_ptr().cast(), self.length, advice) }
    }
}

impl Drop for FileMapping {
    fn drop(&mut self) {
        // SAFETY: the range was mapped by `shared` and no reference into it exists.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.length) };
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the range was mapped by `fresh` and nothing borrows it any more.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.length) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fresh_memory_reads_as_zero_and_touched_does_not() {
        assert!(Mapping::fresh(8192).unwrap().bytes().iter().all(|&byte| byte == 0));
        assert!(Mapping::touched(8192).unwrap().bytes().iter().any(|&byte| byte != 0));
    }

    #[test]
    fn what_was_copied_in_is_in_the_file() {
        let path = std::env::temp_dir().join(format!("fathom-mapped-{}", std::process::id()));
        std::fs::write(&path, [0; 8192]).unwrap();
        let file = crate::file::open(&path).unwrap();
        let mut mapping = FileMapping::shared(&file, 0, 8192, true).unwrap();
        assert_eq!(mapping.copy_in(4090, &[7; 10]), 10);
        let read = std::fs::read(&path).unwrap();
        std::fs::remove_file(path).unwrap();
        assert_eq!(read[4089..4101], [0, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 0]);
    }

    #[test]
    #[allow(clippy::print_stdout, reason = "a test that is skipped says so")]
    fn what_has_left_the_caches_is_the_same_and_takes_longer_to_read() {
        const BYTES: usize = 128 << 10;
        let path = std::env::temp_dir().join(format!("fathom-lines-{}", std::process::id()));
        let written: Vec<u8> = (0..BYTES).map(|at| (at / 7) as u8).collect();
        std::fs::write(&path, &written).unwrap();
        let file = std::fs::File::open(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let mapping = FileMapping::shared(&file, 0, BYTES, false).unwrap();
        // One line after the other, far apart, and each only when the one before has come: nothing is fetched ahead.
        let visit = |flushes: bool| {
            let flushed = flushes && mapping.leave_cpu_caches(0, BYTES);
            let begun = std::time::Instant::now();
            let mut at = 0;
            for _ in 0..BYTES / 64 {
                let mut byte = [0];
                assert_eq!(mapping.copy_out(at as u64, &mut byte), 1);
                at = (at + 577 * 64 + usize::from(byte[0] - written[at])) % BYTES;
            }
            (begun.elapsed(), flushed)
        };
        // Whatever else the machine does makes it slower, and of so many one is left alone.
        let fastest = |flushes: bool| (0..100).map(|_| visit(flushes)).min().unwrap();
        let [(near, _), (far, flushed)] = [fastest(false), fastest(true)];
        match flushed {
            true => assert!(far > near, "{far:?} from memory, {near:?} from the caches"),
            false => println!(
                "skipped: what_has_left_the_caches_takes_longer_to_read: no instruction drops lines here"
            ),
        }
        let mut all = vec![0; BYTES];
        assert_eq!((mapping.copy_out(0, &mut all), all), (BYTES, written));
    }
}
