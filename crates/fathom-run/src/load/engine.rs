//! The calls that move data, one type per engine: the loop is compiled once for each.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use fathom_sys::file::{self, Access, Errno};
use fathom_sys::memory::FileMapping;
use fathom_sys::{Error, Result};

use fathom_program::job::{Direction, Engine, Job, Pattern, Region};

/// One transfer. Nothing else stands between the two readings of the clock.
pub(super) trait Transfer {
    /// What a failed transfer is called in messages: reading, writing.
    const CALLS: [&'static str; 2];
    /// What must happen before a transfer and is no part of it.
    #[inline(always)]
    fn prepare(&mut self, _file: &OwnedFd, _offset: u64) -> std::result::Result<(), Errno> {
        Ok(())
    }
    /// Reads into the buffer from an offset; gives the bytes read.
    fn read(&mut self, file: &OwnedFd, buffer: &mut [u8], offset: u64) -> std::result::Result<usize, Errno>;
    /// Writes the buffer at an offset; gives the bytes written.
    fn write(&mut self, file: &OwnedFd, buffer: &[u8], offset: u64) -> std::result::Result<usize, Errno>;
}

pub(super) struct Psync;
pub(super) struct Pvsync;
pub(super) struct Mapped(FileMapping);

/// Knows where the file position is.
#[derive(Default)]
pub(super) struct Sync {
    at: Option<u64>,
}

impl Transfer for Psync {
    const CALLS: [&'static str; 2] = ["pread", "pwrite"];

    #[inline(always)]
    fn read(&mut self, file: &OwnedFd, buffer: &mut [u8], offset: u64) -> std::result::Result<usize, Errno> {
        file::pread(file.as_fd(), buffer, offset)
    }

    #[inline(always)]
    fn write(&mut self, file: &OwnedFd, buffer: &[u8], offset: u64) -> std::result::Result<usize, Errno> {
        file::pwrite(file.as_fd(), buffer, offset)
    }
}

impl Transfer for Pvsync {
    const CALLS: [&'static str; 2] = ["preadv", "pwritev"];

    #[inline(always)]
    fn read(&mut self, file: &OwnedFd, buffer: &mut [u8], offset: u64) -> std::result::Result<usize, Errno> {
        file::preadv(file.as_fd(), buffer, offset)
    }

    #[inline(always)]
    fn write(&mut self, file: &OwnedFd, buffer: &[u8], offset: u64) -> std::result::Result<usize, Errno> {
        file::pwritev(file.as_fd(), buffer, offset)
    }
}

impl Transfer for Sync {
    const CALLS: [&'static str; 2] = ["read", "write"];

    #[inline(always)]
    fn prepare(&mut self, file: &OwnedFd, offset: u64) -> std::result::Result<(), Errno> {
        if self.at == Some(offset) {
            return Ok(());
        }
        self.at = None;
        file::seek(file.as_fd(), offset).map(|at| self.at = Some(at))
    }

    #[inline(always)]
    fn read(&mut self, file: &OwnedFd, buffer: &mut [u8], offset: u64) -> std::result::Result<usize, Errno> {
        let moved = file::read(file.as_fd(), buffer)?;
        self.at = Some(offset + moved as u64);
        Ok(moved)
    }

    #[inline(always)]
    fn write(&mut self, file: &OwnedFd, buffer: &[u8], offset: u64) -> std::result::Result<usize, Errno> {
        let moved = file::write(file.as_fd(), buffer)?;
        self.at = Some(offset + moved as u64);
        Ok(moved)
    }
}

impl Mapped {
    pub(super) fn of(file: &OwnedFd, job: &Job, region: Region, path: &Path) -> Result<Self> {
        let failed = |errno| Error::new("mmap", path, errno);
        let length = usize::try_from(region.file).map_err(|_| failed(Errno::NOMEM))?;
        let mapping = FileMapping::shared(file, length, job.does(Direction::Write)).map_err(failed)?;
        if job.fadvise_hint {
            mapping.expect(job.pattern == Pattern::Random).map_err(failed)?;
        }
        Ok(Self(mapping))
    }
}

impl Transfer for Mapped {
    const CALLS: [&'static str; 2] = ["read through a mapping", "write through a mapping"];

    #[inline(always)]
    fn read(&mut self, _: &OwnedFd, buffer: &mut [u8], offset: u64) -> std::result::Result<usize, Errno> {
        Ok(self.0.copy_out(offset, buffer))
    }

    #[inline(always)]
    fn write(&mut self, _: &OwnedFd, buffer: &[u8], offset: u64) -> std::result::Result<usize, Errno> {
        Ok(self.0.copy_in(offset, buffer))
    }
}

/// Opens a job's file as its engine needs it.
pub(super) fn open(job: &Job, path: &Path) -> Result<OwnedFd> {
    let access = Access { write: job.does(Direction::Write), direct: job.direct };
    file::open_for(path, access).map_err(|errno| {
        let what = match (job.direct, job.engine) {
            (true, _) => "open with O_DIRECT",
            (false, Engine::Mmap) => "open for mmap",
            (false, _) => "open",
        };
        Error::new(what, path, errno)
    })
}
