//! Engines: how a call of a program becomes a system call. Each arm of the match opens and closes its own window.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use fathom_program::call::{Call, CallKind, Direction};
use fathom_program::job::{Engine as Named, Job, OpenSync, Pattern};
use fathom_sys::cache::Advice;
use fathom_sys::clock::Counter;
use fathom_sys::file::{self, Access, Errno};
use fathom_sys::memory::{FileMapping, Mapping};
use fathom_sys::{Error, cache, dirty, entry, transfer};

use super::{Verifier, Window, mark, window};
use crate::fault::Fault;

/// Makes calls, one after the other.
pub(crate) trait Engine {
    /// What must happen before a call and is no part of it.
    #[inline(always)]
    fn prepare(&mut self, _call: &Call) {}

    /// A call in its window; gives how many bytes it moved.
    fn make<C: Counter>(&mut self, clock: C, call: &Call) -> (Window, Result<usize, Errno>);

    /// Judges what a call has moved; gives it where it is enough.
    fn check(&mut self, call: &Call, moved: usize) -> Result<u64, Fault>;

    /// What a failed call is called in messages. It takes the call by value, so that no address of it is needed in the loop.
    fn failure(&self, call: Call, errno: Errno) -> Fault;
}

/// The descriptors of a program, and the calls that make and end them.
pub(crate) trait Descriptors {
    /// Whether a read or write that moves less than it should ends the run.
    const MUST_MOVE_ALL: bool;

    /// What must happen before a call and is no part of it.
    #[inline(always)]
    fn prepare(&mut self, _call: &Call) {}

    /// A call that makes or ends a descriptor, or works on a path, in its window.
    fn lifecycle<C: Counter>(&mut self, clock: C, call: &Call) -> (Window, Result<usize, Errno>);

    /// A descriptor, where it is open.
    fn open(&self, descriptor: u32) -> Option<impl AsFd>;

    /// Acts on an open descriptor.
    #[inline(always)]
    fn with<R>(
        &self,
        descriptor: u32,
        act: impl FnOnce(BorrowedFd<'_>) -> (Window, Result<R, Errno>),
    ) -> (Window, Result<R, Errno>) {
        match self.open(descriptor) {
            Some(file) => act(file.as_fd()),
            None => (Window { start: 0, stop: 0 }, Err(Errno::BADF)),
        }
    }

    /// The path that a call works on.
    fn path(&self, call: &Call) -> &Path;
}

/// The memory that calls copy from and to.
pub(crate) struct Buffer {
    pub(crate) memory: Mapping,
    /// Whether each write is to differ from the one before, so that nothing is found twice on the way down.
    pub(crate) changes: bool,
    /// What writes are made ready for and reads compared by, where a job verifies.
    pub(crate) verifier: Option<Verifier>,
}

impl Buffer {
    /// So many bytes that were touched, the same for all calls.
    pub(crate) fn touched(bytes: u64, path: &Path) -> Result<Self, Fault> {
        let memory = Mapping::touched((bytes as usize).max(1)).map_err(|errno| unmapped(path, errno))?;
        Ok(Self { memory, changes: false, verifier: None })
    }

    /// Those of a job's thread, each write unlike the one before.
    pub(crate) fn of_job(job: &Job, path: &Path) -> Result<Self, Fault> {
        let memory = memory(job.largest_block() as usize, job, path)?;
        Ok(Self { memory, changes: true, verifier: Verifier::of(job)? })
    }
}

/// Memory of a job that was touched: in huge pages, or at a multiple of `iomem_align`, where these are asked for.
pub(crate) fn memory(bytes: usize, job: &Job, path: &Path) -> Result<Mapping, Fault> {
    let bytes = bytes.max(1);
    match (job.buffers.memory.is_some(), job.buffers.align as usize) {
        (true, _) => Ok(Mapping::huge(bytes).map_err(|errno| {
            Error::new("map huge pages for", path, errno).with_remedy("raise the sysctl vm.nr_hugepages")
        })?),
        (false, align) => Ok(Mapping::aligned(bytes, align).map_err(|errno| unmapped(path, errno))?),
    }
}

fn unmapped(path: &Path, errno: Errno) -> Error {
    Error::new("map a buffer for", path, errno).with_remedy("lower bs or iodepth")
}

/// System calls.
pub(crate) struct System<D> {
    pub(crate) descriptors: D,
    pub(crate) buffer: Buffer,
    writes: u64,
}

impl<D: Descriptors> System<D> {
    pub(crate) fn new(descriptors: D, buffer: Buffer) -> Self {
        Self { descriptors, buffer, writes: 0 }
    }

    /// A call that copies between a file and the buffer, in its window.
    #[inline(always)]
    fn moving<C: Counter>(
        &mut self,
        clock: C,
        call: &Call,
        act: impl FnOnce(BorrowedFd<'_>, &mut [u8]) -> Result<usize, Errno>,
    ) -> (Window, Result<usize, Errno>) {
        let data = &mut self.buffer.memory.bytes()[call.buffer as usize..][..call.bytes as usize];
        self.descriptors.with(call.descriptor, |file| window(clock, || act(file, data)))
    }

    /// A call on a file that moves no data, in its window.
    #[inline(always)]
    fn on<C: Counter>(
        &self,
        clock: C,
        call: &Call,
        act: impl FnOnce(BorrowedFd<'_>) -> Result<(), Errno>,
    ) -> (Window, Result<usize, Errno>) {
        self.descriptors.with(call.descriptor, |file| window(clock, || act(file).map(|()| 0)))
    }

    #[cold]
    fn short(&self, call: Call, moved: usize) -> Fault {
        let path = self.descriptors.path(&call);
        Fault::short(named(call.kind), path, call.offset, call.bytes as usize, moved)
    }

    /// Makes what is written next unlike what was written before, in every 512 bytes.
    #[inline(always)]
    pub(crate) fn change(&mut self, call: &Call) {
        if !self.buffer.changes || !call.kind.is_write() {
            return;
        }
        let block = &mut self.buffer.memory.bytes()[..call.bytes as usize];
        mark(block, call.offset ^ self.writes);
        if let (Some(verifier), 1..) = (&self.buffer.verifier, call.flags) {
            verifier.fill(block, &{ *call });
        }
        self.writes += 1;
    }
}

impl<D: Descriptors> Engine for System<D> {
    #[inline(always)]
    fn prepare(&mut self, call: &Call) {
        self.change(call);
        self.descriptors.prepare(call);
    }

    #[inline(always)]
    fn make<C: Counter>(&mut self, clock: C, call: &Call) -> (Window, Result<usize, Errno>) {
        let Call { offset, bytes, .. } = *call;
        // One match: before a second one, whose arms all begin with it, the compiler reads the clock. And a function that is not
        // inlined gets a copy, so that the call stays in registers.
        match call.kind {
            CallKind::Read => self.moving(clock, call, |file, data| file::read(file, data)),
            CallKind::Write => self.moving(clock, call, |file, data| file::write(file, data)),
            CallKind::Readv => self.moving(clock, call, file::readv),
            CallKind::Writev => self.moving(clock, call, |file, data| file::writev(file, data)),
            CallKind::Pread => self.moving(clock, call, |file, data| file::pread(file, data, offset)),
            CallKind::Pwrite => self.moving(clock, call, |file, data| file::pwrite(file, data, offset)),
            CallKind::Preadv => self.moving(clock, call, |file, data| file::preadv(file, data, offset)),
            CallKind::Pwritev => self.moving(clock, call, |file, data| file::pwritev(file, data, offset)),
            CallKind::Prefetch => {
                self.on(clock, call, |file| cache::advise(file, offset, bytes, Advice::WillNeed))
            }
            CallKind::DontNeed => self.on(clock, call, |file| cache::advise(file, 0, 0, Advice::DontNeed)),
            CallKind::Seek => self.on(clock, call, |file| file::seek(file, offset).map(drop)),
            CallKind::Fsync => self.on(clock, call, |file| file::fsync(file)),
            CallKind::Fdatasync => self.on(clock, call, |file| file::fdatasync(file)),
            CallKind::Sync => self.on(clock, call, |_| {
                dirty::sync();
                Ok(())
            }),
            CallKind::SyncRange => {
                self.on(clock, call, |file| cache::write_out(file, offset, bytes, call.flags))
            }
            CallKind::Syncfs => self.on(clock, call, |file| file::syncfs(file)),
            CallKind::Evict => self.on(clock, call, |file| cache::evict(file, 0, 0)),
            CallKind::Truncate => self.on(clock, call, |file| file::ftruncate(file, bytes)),
            CallKind::Allocate => {
                self.on(clock, call, |file| transfer::allocate(file, 0, offset.saturating_add(bytes)))
            }
            CallKind::Discard => self.on(clock, call, |file| file::punch(file, offset, bytes)),
            CallKind::Map | CallKind::Fork | CallKind::Flush => self.on(clock, call, |_| Ok(())),
            CallKind::Pause | CallKind::Look => window(clock, || Ok(0)),
            _ => self.descriptors.lifecycle(clock, &{ *call }),
        }
    }

    #[inline(always)]
    fn check(&mut self, call: &Call, moved: usize) -> Result<u64, Fault> {
        if D::MUST_MOVE_ALL && call.kind.direction().is_some() && moved as u64 != call.bytes {
            return Err(self.short(*call, moved));
        }
        if let (Some(verifier), 1.., true) = (&self.buffer.verifier, call.flags, call.kind.is_read()) {
            let block = &mut self.buffer.memory.bytes()[..moved];
            verifier.check(block, &{ *call }, self.descriptors.path(call))?;
        }
        Ok(moved as u64)
    }

    #[cold]
    fn failure(&self, call: Call, errno: Errno) -> Fault {
        let has_offset = call.kind.direction().is_some()
            || matches!(call.kind, CallKind::Prefetch | CallKind::Seek | CallKind::SyncRange);
        let error = Error::new(named(call.kind), self.descriptors.path(&call), errno);
        Fault::System(if has_offset && D::MUST_MOVE_ALL { error.at(call.offset) } else { error })
    }
}

/// What a call is called in messages, before the path.
pub(super) fn named(kind: CallKind) -> &'static str {
    match kind {
        CallKind::Seek => "lseek",
        CallKind::SyncRange => "write out",
        CallKind::Syncfs => "sync the file system of",
        CallKind::OpenDirect => "open past the cache",
        CallKind::DontNeed => "drop the cached pages of",
        CallKind::Discard => "punch a hole (rw=trim) into",
        CallKind::StatAnew => "stat",
        CallKind::LookUp => "look up a name in",
        kind => kind.name(),
    }
}

/// The one file of a pass.
pub(crate) struct Own {
    pub(crate) path: PathBuf,
    pub(crate) open: Option<OwnedFd>,
    /// Whether a new file took the old one's place.
    pub(crate) created: bool,
}

impl Descriptors for Own {
    const MUST_MOVE_ALL: bool = true;

    fn lifecycle<C: Counter>(&mut self, clock: C, call: &Call) -> (Window, Result<usize, Errno>) {
        match call.kind {
            CallKind::Stat => {
                return self.with(0, |file| window(clock, || file::status(file).map(|_| 0)));
            }
            CallKind::StatAnew => {
                return self.with(0, |file| window(clock, || entry::stat_anew(file).map(|()| 0)));
            }
            _ => {}
        }
        let open = self.open.take();
        if call.kind == CallKind::Close {
            return match open {
                Some(file) => window(clock, || file::close(file).map(|()| 0)),
                None => window(clock, || Ok(0)),
            };
        }
        // Dropped later, its close would change the file outside of any timed window.
        drop(open);
        let (window, opened) = match call.kind {
            CallKind::OpenDirect => window(clock, || file::open_for(&self.path, Access::DIRECT)),
            CallKind::Create => {
                self.created = true;
                // There may be no old file.
                let _ = std::fs::remove_file(&self.path);
                window(clock, || file::create_new(&self.path).map_err(|error| error.errno))
            }
            _ => window(clock, || file::open(&self.path)),
        };
        (window, opened.map(|file| self.open = Some(file)).map(|()| 0))
    }

    #[inline(always)]
    fn open(&self, _: u32) -> Option<impl AsFd> {
        self.open.as_ref()
    }

    fn path(&self, _: &Call) -> &Path {
        &self.path
    }
}

/// The files of a job's thread: each has the descriptor of its place. All are opened in one way.
pub(crate) struct OfJob(pub(crate) Vec<(PathBuf, OwnedFd)>, pub(crate) Access);

impl OfJob {
    /// Files that were opened for a job.
    pub(crate) fn new(job: &Job, files: Vec<(PathBuf, OwnedFd)>) -> Self {
        Self(files, Self::access(job))
    }

    fn access(job: &Job) -> Access {
        Access {
            write: job.does(Direction::Write) || job.engine == Named::Falloc,
            direct: job.direct,
            sync: job.durability.open == OpenSync::Sync,
            dsync: job.durability.open == OpenSync::Dsync,
        }
    }

    /// A new, empty file in the place of one. Source: `unlink(2)`, `open(2)`.
    pub(crate) fn renew(path: &Path, access: Access) -> Result<OwnedFd, Errno> {
        file::unlink(path)?;
        file::create_for(path, access)
    }

    /// Opens a job's file as its engine needs it.
    pub(crate) fn open(job: &Job, path: &Path) -> Result<OwnedFd, Fault> {
        let opened = file::open_for(path, Self::access(job)).map_err(|errno| {
            let what = match (job.direct, job.engine) {
                (true, _) => "open with O_DIRECT",
                (false, Named::Mmap) => "open for mmap",
                (false, _) => "open",
            };
            Error::new(what, path, errno)
        });
        Ok(opened?)
    }
}

impl Descriptors for OfJob {
    const MUST_MOVE_ALL: bool = true;

    /// A new, empty file takes the place of one: no job makes or ends descriptors in another way.
    #[cold]
    fn lifecycle<C: Counter>(&mut self, clock: C, call: &Call) -> (Window, Result<usize, Errno>) {
        let (access, (path, open)) = (self.1, &mut self.0[call.descriptor as usize]);
        window(clock, || Self::renew(path, access).map(|new| *open = new).map(|()| 0))
    }

    #[inline(always)]
    fn open(&self, descriptor: u32) -> Option<impl AsFd> {
        Some(&self.0[descriptor as usize].1)
    }

    fn path(&self, call: &Call) -> &Path {
        &self.0[call.descriptor as usize].0
    }
}

/// Copies from and to mappings of the files; all else by system calls.
pub(crate) struct Mapped {
    system: System<OfJob>,
    /// By descriptor.
    mappings: Vec<FileMapping>,
}

impl Mapped {
    /// Maps each file up to its length in the list.
    pub(crate) fn of(system: System<OfJob>, job: &Job, lengths: &[u64]) -> Result<Self, Fault> {
        let map = |((path, file), &length): (&(PathBuf, OwnedFd), &u64)| {
            let failed = |errno| Error::new("mmap", path, errno);
            let length = usize::try_from(length.max(1)).map_err(|_| failed(Errno::NOMEM))?;
            let mapping = FileMapping::shared(file, 0, length, job.does(Direction::Write)).map_err(failed)?;
            if job.engine_options.huge_pages {
                mapping.prefer_huge_pages();
            }
            if let Some(order) = job.expected_order() {
                mapping.expect(order == Pattern::Random).map_err(failed)?;
            }
            Ok(mapping)
        };
        let mappings = system.descriptors.0.iter().zip(lengths).map(map).collect::<Result<_, Fault>>()?;
        Ok(Self { system, mappings })
    }
}

impl Engine for Mapped {
    #[inline(always)]
    fn prepare(&mut self, call: &Call) {
        self.system.change(call);
    }

    #[inline(always)]
    fn make<C: Counter>(&mut self, clock: C, call: &Call) -> (Window, Result<usize, Errno>) {
        let Some(direction) = call.kind.direction() else { return self.system.make(clock, call) };
        let mapping = &mut self.mappings[call.descriptor as usize];
        let buffer = &mut self.system.buffer.memory.bytes()[..call.bytes as usize];
        match direction {
            Direction::Read => window(clock, || Ok(mapping.copy_out(call.offset, buffer))),
            Direction::Write => window(clock, || Ok(mapping.copy_in(call.offset, buffer))),
        }
    }

    #[inline(always)]
    fn check(&mut self, call: &Call, moved: usize) -> Result<u64, Fault> {
        self.system.check(call, moved)
    }

    fn failure(&self, call: Call, errno: Errno) -> Fault {
        self.system.failure(call, errno)
    }
}
