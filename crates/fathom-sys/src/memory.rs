//! Buffers whose page-level state is known: already mapped, or never touched.

use std::ptr::NonNull;

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

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
        // SAFETY: a new anonymous private mapping at an address of the kernel's choice aliases nothing.
        let start = unsafe {
            mmap_anonymous(
                std::ptr::null_mut(),
                length,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE,
            )?
        };
        // A kernel without transparent huge pages refuses this advice and needs none.
        // SAFETY: the range is the mapping just made.
        let _ = unsafe { madvise(start, length, Advice::LinuxNoHugepage) };
        let start = NonNull::new(start.cast()).ok_or(rustix::io::Errno::NOMEM)?;
        Ok(Self { start, length })
    }

    /// Maps `length` bytes and touches every page, so that no later call pays for a fault.
    ///
    /// # Errors
    /// What `mmap(2)` gives, ENOMEM above all.
    pub fn touched(length: usize) -> rustix::io::Result<Self> {
        let mut mapping = Self::fresh(length)?;
        // A cheap generator: compressing file systems must not find the same byte everywhere.
        let mut word = 0x9E37_79B9_7F4A_7C15_u64;
        for chunk in mapping.bytes().chunks_mut(8) {
            word ^= word << 13;
            word ^= word >> 7;
            word ^= word << 17;
            chunk.copy_from_slice(&word.to_ne_bytes()[..chunk.len()]);
        }
        Ok(mapping)
    }

    /// The whole mapping.
    pub fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: the mapping is `length` initialised bytes (zeroed by the kernel), owned and borrowed mutably here.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.length) }
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
}
