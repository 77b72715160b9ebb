//! Scratch files by name: made once, filled with data, kept open between passes.

use std::collections::HashMap;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use fathom_sys::file::Errno;
use fathom_sys::memory::Mapping;
use fathom_sys::{Error, entry, facts, file};

use crate::executor::entry_name;
use crate::machine::Fault;
use crate::scratch::{Scratch, remove_leftovers};
use fathom_program::workload::ScratchFile;

const CHUNK: u64 = 1 << 20;

/// The scratch files of one machine.
#[derive(Debug)]
pub struct Files {
    // The descriptors go before the directory does: FUSE and NFS only rename a file that is removed while it is open.
    entries: HashMap<String, Entry>,
    place: Place,
    bytes_written: u64,
}

/// Where files can be made.
#[derive(Debug)]
enum Place {
    Private(Scratch),
    /// No directory: the mount is read-only. What the kernel declares of it can still be read.
    ReadOnly(PathBuf),
}

/// One file: how far it is filled, how long it is, and its descriptor while it is open.
#[derive(Debug, Default)]
pub(crate) struct Entry {
    /// Of a directory, how many files are in it.
    pub(crate) filled: u64,
    /// How long a hole has made it.
    length: u64,
    pub(crate) open: Option<OwnedFd>,
}

impl Files {
    /// Removes what a killed run left below `path`, checks that there is space for `max_write` bytes and makes a private directory.
    ///
    /// # Errors
    /// Too little space, and what making the directory gives.
    pub fn below(path: &Path, max_write: u64) -> Result<Self, Fault> {
        remove_leftovers(path);
        let space = facts::space(path)?;
        let free = space.free_bytes;
        // A file system without a size of its own, as ramfs, declares none at all.
        let is_short = free < max_write && space.total_bytes > 0;
        let place = match Scratch::create(path) {
            // The server of a user-space file system that has no such call makes nothing, as squashfuse's.
            Err(error) if error.is_read_only() || error.errno == Errno::NOSYS => {
                Place::ReadOnly(path.to_owned())
            }
            // A directory that was made goes with its place.
            _ if is_short => {
                let (free, budget) =
                    (fathom_program::units::Bytes(free), fathom_program::units::Bytes(max_write));
                return Err(Fault::Unsupported(format!(
                    "{} has {free} free, less than the {budget} that may be written: free some space, or lower --max-write or the sizes of files",
                    path.display()
                )));
            }
            place => Place::Private(place?),
        };
        Ok(Self { place, entries: HashMap::new(), bytes_written: 0 })
    }

    /// The directory of the files.
    pub fn directory(&self) -> &Path {
        match &self.place {
            Place::Private(scratch) => scratch.path(),
            Place::ReadOnly(path) => path,
        }
    }

    pub(super) fn is_read_only(&self) -> bool {
        matches!(self.place, Place::ReadOnly(_))
    }

    pub(crate) fn bytes_written(&self) -> u64 {
        self.bytes_written
    }

    pub(crate) fn count_written(&mut self, bytes: u64) {
        self.bytes_written += bytes;
    }

    /// Refuses what needs a scratch file where none can be made.
    pub(super) fn check_writable(&self) -> Result<(), Fault> {
        match &self.place {
            Place::Private(_) => Ok(()),
            Place::ReadOnly(path) => Err(Fault::Unsupported(format!(
                "{} is mounted read-only, and no scratch file can be made there to measure this",
                path.display()
            ))),
        }
    }

    /// Where a file of that name is or would be.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory().join(name)
    }

    /// Bytes to be written before all files are as large as asked.
    pub(crate) fn bytes_to_fill(&self, wanted: &[ScratchFile]) -> u64 {
        let filled = |name: &str| self.entries.get(name).map_or(0, |entry| entry.filled);
        wanted.iter().map(|file| file.size.saturating_sub(filled(&file.name))).sum()
    }

    /// Makes and fills the files, which stay open; between chunks `go_on` decides whether to go on.
    ///
    /// # Errors
    /// A mount that is read-only, what `go_on` says, and what making and filling the files gives.
    pub fn provide(
        &mut self,
        wanted: &[ScratchFile],
        go_on: &dyn Fn() -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        self.check_writable()?;
        for file in wanted {
            match file.entries {
                Some(entries) => self.fill_directory(&file.name, entries, go_on)?,
                None => {
                    self.fill(file, go_on)?;
                    self.lengthen(file)?;
                }
            }
        }
        Ok(())
    }

    /// Makes a directory, and empty files in it up to a number.
    fn fill_directory(
        &mut self,
        name: &str,
        entries: u64,
        go_on: &dyn Fn() -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let path = self.path(name);
        if !self.entries.contains_key(name) {
            std::fs::create_dir(&path).map_err(|error| Error::from_io("make", &path, &error))?;
            let directory = entry::directory(&path).map_err(|errno| Error::new("open", &path, errno))?;
            let about = Entry { open: Some(directory), ..Entry::default() };
            self.entries.insert(name.to_owned(), about);
        }
        let directory = self.descriptor(name)?;
        let about = self.entry(name);
        for number in about.filled..entries {
            go_on()?;
            entry::create(directory.as_fd(), &entry_name(number))
                .map_err(|errno| Error::new("create a file in", &path, errno))?;
            about.filled = number + 1;
        }
        Ok(())
    }

    /// Lets a hole follow the data, where one is wanted.
    fn lengthen(&mut self, wanted: &ScratchFile) -> Result<(), Fault> {
        if wanted.hole <= self.entry(&wanted.name).filled.max(self.entry(&wanted.name).length) {
            return Ok(());
        }
        let path = self.path(&wanted.name);
        let file = self.descriptor(&wanted.name)?;
        file::ftruncate(&file, wanted.hole)
            .and_then(|()| file::fsync(&file))
            .map_err(|errno| Error::new("lengthen", &path, errno).at(wanted.hole))?;
        self.entry(&wanted.name).length = wanted.hole;
        Ok(())
    }

    fn fill(&mut self, wanted: &ScratchFile, go_on: &dyn Fn() -> Result<(), Fault>) -> Result<(), Fault> {
        let path = self.path(&wanted.name);
        if !self.entries.contains_key(&wanted.name) {
            let open = Some(file::create_new(&path)?);
            self.entries.insert(wanted.name.clone(), Entry { open, ..Entry::default() });
        }
        if self.entry(&wanted.name).filled >= wanted.size {
            return Ok(());
        }
        let target = self.descriptor(&wanted.name)?;
        let entry = self.entries.entry(wanted.name.clone()).or_default();
        let mut data =
            Mapping::touched(CHUNK as usize).map_err(|errno| Error::new("map a buffer for", &path, errno))?;
        while entry.filled < wanted.size {
            go_on()?;
            let length = CHUNK.min(wanted.size - entry.filled) as usize;
            match file::pwrite(target.as_fd(), &data.bytes()[..length], entry.filled) {
                // A short write goes on where it ended; one of nothing at all never would.
                Ok(0) => return Err(Fault::short("write", &path, entry.filled, length, 0)),
                Ok(moved) => {
                    entry.filled += moved as u64;
                    self.bytes_written += moved as u64;
                }
                Err(Errno::INTR) => {}
                Err(errno) => return Err(Error::new("write", &path, errno).at(entry.filled).into()),
            }
        }
        // Without this a later eviction would have to wait for the data, and a full disk would show late.
        file::fsync(&target).map_err(|errno| Error::new("fsync", &path, errno))?;
        Ok(())
    }

    /// Closes a file and takes it away, so that the next one of its name is made anew.
    pub(crate) fn forget(&mut self, name: &str) {
        self.entries.remove(name);
        if !self.is_read_only() {
            let path = self.path(name);
            // What can't be removed now goes with the directory.
            let _ = std::fs::remove_file(&path).or_else(|_| std::fs::remove_dir_all(&path));
        }
    }

    /// Closes what has a name, and forgets it where others have removed it.
    pub(crate) fn settle(&mut self, name: &str) {
        match self.path(name).exists() {
            true => self.entry(name).open = None,
            false => drop(self.entries.remove(name)),
        }
    }

    /// Removes everything.
    pub(super) fn close(self) -> fathom_sys::Result<()> {
        drop(self.entries);
        match self.place {
            Place::Private(scratch) => scratch.remove(),
            Place::ReadOnly(_) => Ok(()),
        }
    }

    /// The entry of a file that `provide` has made.
    pub(crate) fn entry(&mut self, name: &str) -> &mut Entry {
        self.entries.entry(name.to_owned()).or_default()
    }

    /// The file of this name, which stays open.
    ///
    /// # Errors
    /// What opening it gives.
    pub fn opened(&mut self, name: &str) -> Result<&OwnedFd, Fault> {
        let path = self.path(name);
        Ok(match &mut self.entry(name).open {
            Some(open) => open,
            none => none.insert(file::open(&path).map_err(|errno| Error::new("open", &path, errno))?),
        })
    }

    /// A descriptor of the file: the one that is open, or a new one.
    pub(crate) fn descriptor(&self, name: &str) -> Result<OwnedFd, Fault> {
        let path = self.path(name);
        let open = self.entries.get(name).and_then(|entry| entry.open.as_ref());
        let result = match open {
            Some(file) => file.try_clone().map_err(|error| Error::from_io("duplicate", &path, &error)),
            None => file::open(&path).map_err(|errno| Error::new("open", &path, errno)),
        };
        Ok(result?)
    }
}
