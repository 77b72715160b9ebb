//! Mapped files written back and dropped, as fio's engine `mmap` does.

use rustix::mm::{Advice, MsyncFlags, madvise, msync};

use super::FileMapping;

impl FileMapping {
    /// Writes the mapping's dirty pages back and waits for them: a sync of fio's engine `mmap`. Source: `msync(2)`, MS_SYNC.
    ///
    /// # Errors
    /// EIO, ENOSPC where writing back fails.
    pub fn sync(&self) -> rustix::io::Result<()> {
        // SAFETY: the range is the mapping, and no contents change.
        unsafe { msync(self.start.as_ptr().cast(), self.length, MsyncFlags::SYNC) }
    }

    /// Writes the pages of a range back and unmaps them from this process: fio's engine `mmap` does so with `direct=1`
    /// after each transfer. Pages stay in the page cache. Source: `msync(2)`; `madvise(2)`, MADV_DONTNEED.
    ///
    /// # Errors
    /// What the calls give; EINVAL where `offset` is no multiple of the page size.
    pub fn sync_and_unmap(&self, offset: u64, length: usize) -> rustix::io::Result<()> {
        let (from, length) = self.clamp(offset, length);
        // SAFETY: the range lies within the mapping, which is shared: its contents are the file's, before and after.
        unsafe {
            let start = self.start.as_ptr().add(from).cast();
            msync(start, length, MsyncFlags::SYNC)?;
            madvise(start, length, Advice::LinuxDontNeed)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::FileMapping;

    #[test]
    fn what_was_copied_in_is_in_the_file_after_a_sync() {
        let path = std::env::temp_dir().join(format!("fathom-mapped-{}", std::process::id()));
        std::fs::write(&path, [0; 8192]).unwrap();
        let file = crate::file::open(&path).unwrap();
        std::fs::remove_file(path).unwrap();
        let mut mapping = FileMapping::shared(&file, 8192, true).unwrap();
        assert_eq!(mapping.copy_in(4090, &[7; 10]), 10);
        mapping.sync().unwrap();
        mapping.sync_and_unmap(4096, 4096).unwrap();
        let mut bytes = [0; 10];
        assert_eq!(mapping.copy_out(4090, &mut bytes), 10);
        assert_eq!(bytes, [7; 10]);
        assert_eq!(mapping.sync_and_unmap(1, 10), Err(rustix::io::Errno::INVAL));
    }
}
