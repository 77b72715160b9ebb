//! The engines of jobs.

use strum::{EnumMessage, EnumString, IntoStaticStr, VariantArray};

use crate::call::CallKind;

/// The system calls that transfer; the names are fio's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumMessage, EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Engine {
    /// `pread(2)`, `pwrite(2)`.
    Psync,
    /// `lseek(2)` where the position is elsewhere, `read(2)`, `write(2)`.
    Sync,
    /// `preadv(2)`, `pwritev(2)`.
    Pvsync,
    /// Copies from and to a mapping of the file.
    Mmap,
    /// `lseek(2)`, `readv(2)`, `writev(2)`; sequential neighbours in one call.
    Vsync,
    /// `preadv2(2)`, `pwritev2(2)`.
    Pvsync2,
    /// `aio_read(3)`, `aio_write(3)`.
    Posixaio,
    /// `splice(2)` by a pipe.
    Splice,
    /// Nothing at all.
    Null,
    /// `io_submit(2)`, `io_getevents(2)`.
    #[strum(to_string = "libaio", serialize = "linuxaio", serialize = "aio")]
    Libaio,
    /// `io_uring_enter(2)`.
    IoUring,
    /// `open(2)` of files that are not there.
    Filecreate,
    /// `stat(2)` of files.
    Filestat,
    /// `unlink(2)` of files.
    Filedelete,
    /// `mkdir(2)`.
    Dircreate,
    /// `stat(2)` of directories.
    Dirstat,
    /// `rmdir(2)`.
    Dirdelete,
    /// `fallocate(2)`.
    Falloc,
    /// `ftruncate(2)`.
    Ftruncate,
    /// No transfers: the CPU is kept busy.
    Cpuio,
}

impl Engine {
    /// The engine of this name.
    pub fn named(name: &str) -> Option<Self> {
        name.parse().ok()
    }

    /// fio's name for it.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Every name of every engine.
    pub(super) fn names() -> impl Iterator<Item = &'static str> {
        Self::VARIANTS.iter().flat_map(Self::get_serializations).copied()
    }

    /// Whether several requests can be under way.
    pub fn is_asynchronous(self) -> bool {
        matches!(self, Engine::Libaio | Engine::IoUring | Engine::Posixaio | Engine::Null)
    }

    /// Whether files are laid out for it.
    pub fn has_files(self) -> bool {
        use Engine::{Cpuio, Dircreate, Dirdelete, Dirstat, Filecreate, Null};
        !matches!(self, Null | Cpuio | Filecreate | Dircreate | Dirstat | Dirdelete)
    }

    /// Whether it has files open while it works on them.
    pub fn opens_files(self) -> bool {
        self.has_files() && self.on_names().is_none()
    }

    /// What it does to each name in place of opening a file, if it does: make, look at or remove it.
    pub fn on_names(self) -> Option<CallKind> {
        match self {
            Engine::Filecreate | Engine::Dircreate => Some(CallKind::Create),
            Engine::Filestat | Engine::Dirstat => Some(CallKind::Stat),
            Engine::Filedelete | Engine::Dirdelete => Some(CallKind::Unlink),
            _ => None,
        }
    }

    /// Whether its names are those of directories.
    pub fn has_directories(self) -> bool {
        matches!(self, Engine::Dircreate | Engine::Dirstat | Engine::Dirdelete)
    }

    /// Whether it moves data from and to files.
    pub fn transfers(self) -> bool {
        self.opens_files() && !matches!(self, Engine::Falloc | Engine::Ftruncate)
    }
}

impl super::Job {
    /// Whether its requests are under way side by side: by its engine, or by threads that others offload to.
    pub fn is_queued(&self) -> bool {
        self.engine.is_asynchronous() || self.is_offloaded()
    }

    /// Whether a read at the end of a file that grows is no error: a request of fio's may move less than was asked for,
    /// a call of its may not.
    pub fn may_read_less(&self) -> bool {
        self.files.create_on_open && self.engine.is_asynchronous()
    }

    /// Whether threads carry out the requests of an engine that knows one at a time.
    pub fn is_offloaded(&self) -> bool {
        !self.engine.is_asynchronous() && self.depth.offload && self.depth.most > 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documentation_names_every_engine() {
        let table = crate::job::option::markdown();
        let row = table.lines().find(|row| row.starts_with("| `ioengine`")).unwrap();
        for engine in Engine::VARIANTS {
            assert!(row.contains(&format!("`{}`", engine.name())), "{}", engine.name());
        }
    }
}
