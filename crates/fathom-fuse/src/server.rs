//! The tree as the kernel asks for it, with every planned delay and fault on the way.

mod common;

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use fuser::{
    BsdFileFlags, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo,
    InitFlags, KernelConfig, LockOwner, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData,
    ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyLseek, ReplyOpen, ReplyStatfs, ReplyWrite, ReplyXattr,
    Request, TimeOrNow, WriteFlags,
};

use self::common::{answer, own_ids, times, wait};
use crate::faults::{Count, Fate};
use crate::memory::Memory;
use crate::plan::{Blocks, Call, Opening, Plan, Writes};
use crate::tree::{Body, Node, Tree};

const PAGE: u64 = 4096;

/// What serves one mount; its clones serve other mounts of the same tree.
#[derive(Debug, Clone)]
pub(crate) struct Server {
    plan: Plan,
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    tree: Tree,
    count: Count,
    /// How often each file is open.
    open: HashMap<u64, u64>,
    /// Files that were removed while they were open: their directory and hidden name.
    hidden: HashMap<u64, (u64, OsString)>,
    /// Files of which something was written that the next flush takes a round trip for.
    late: HashSet<u64>,
    memory: Memory,
}

impl Server {
    pub(crate) fn new(plan: Plan) -> Self {
        // The root belongs to the user that mounts; the kernel checks permissions by that.
        let owner = own_ids();
        let tree = Tree::new(plan.block_bytes, owner);
        Self {
            plan,
            state: Arc::new(Mutex::new(State {
                tree,
                count: Count::default(),
                open: HashMap::new(),
                hidden: HashMap::new(),
                late: HashSet::new(),
                memory: Memory::default(),
            })),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits as planned; then whether the call moves half of its bytes, or how it fails.
    fn meet(&self, call: Call, bytes: u64, work: Duration) -> Result<bool, Errno> {
        let fate: Fate = self.state().count.fate(&self.plan.faults, call, bytes);
        let is_late = call == Call::Write && self.plan.writes == Writes::Late;
        let round_trip = if is_late { Duration::ZERO } else { self.plan.round_trip };
        wait(round_trip + self.plan.call + work + fate.hang);
        fate.error.map_or(Ok(fate.short), Err)
    }

    fn attributes(&self, tree: &Tree, number: u64) -> Result<FileAttr, Errno> {
        let node: &Node = tree.node(number)?;
        let block = u64::from(self.plan.block_bytes);
        let (size, blocks, kind) = match &node.body {
            Body::Directory(_) => (0, 0, FileType::Directory),
            Body::File { size, blocks } => {
                let taken = match self.plan.blocks {
                    Blocks::Taken => blocks.len() as u64 * block,
                    Blocks::Length => *size,
                    Blocks::Constant(bytes) => bytes,
                };
                (*size, taken.div_ceil(512), FileType::RegularFile)
            }
        };
        Ok(FileAttr {
            ino: INodeNo(number),
            size,
            blocks,
            atime: node.changed,
            mtime: node.changed,
            ctime: node.changed,
            crtime: UNIX_EPOCH,
            kind,
            perm: node.mode,
            nlink: if kind == FileType::Directory { 2 } else { 1 },
            uid: node.owner.0,
            gid: node.owner.1,
            rdev: 0,
            blksize: self.plan.block_bytes,
            flags: 0,
        })
    }

    fn add(
        &self,
        request: &Request,
        call: Call,
        at: (INodeNo, &OsStr),
        mode: u32,
        body: Body,
    ) -> Result<FileAttr, Errno> {
        self.meet(call, 0, Duration::ZERO)?;
        let mut state = self.state();
        let owner = (request.uid(), request.gid());
        let number = state.tree.add(at.0.0, at.1, body, (mode & 0o7777) as u16, owner)?;
        self.attributes(&state.tree, number)
    }

    /// Answers with what a name stands for, and for how long that is to be believed.
    fn tell_entry(&self, entry: Result<FileAttr, Errno>, reply: ReplyEntry) {
        match entry {
            Ok(attributes) => {
                let Plan { attributes: known, entries, .. } = &self.plan;
                reply.entry_with_ttls(known, entries, &attributes, Generation(0));
            }
            Err(error) => reply.error(error),
        }
    }

    /// Takes a name away, or only out of sight while it is open.
    fn unlink_or_hide(&self, parent: u64, name: &OsStr) -> Result<(), Errno> {
        let state = &mut *self.state();
        let number = state.tree.number(parent, name)?;
        if !self.plan.hides || state.open.get(&number).is_none_or(|count| *count == 0) {
            return state.tree.remove(parent, name, false);
        }
        let hidden = OsString::from(format!(".fuse_hidden{number:08x}"));
        state.tree.rename(parent, name, &hidden)?;
        state.hidden.insert(number, (parent, hidden));
        Ok(())
    }

    /// Notes that a file was opened; the flags to open it with.
    fn opened(&self, number: u64) -> FopenFlags {
        *self.state().open.entry(number).or_default() += 1;
        match self.plan.opening {
            Opening::Keeps => FopenFlags::FOPEN_KEEP_CACHE,
            Opening::Drops => FopenFlags::empty(),
            Opening::Bypasses => FopenFlags::FOPEN_DIRECT_IO,
        }
    }

    /// How long a read waits until its data are in the server's memory; a hole has none.
    fn cold(&self, number: u64, offset: u64, bytes: u64) -> Duration {
        let State { tree, memory, .. } = &mut *self.state();
        match tree.seek(number, offset, true) {
            Ok(Some(data)) if data < offset + bytes => {
                memory.read(&self.plan, number, offset, bytes, Instant::now())
            }
            _ => Duration::ZERO,
        }
    }

    fn write_down(&self, number: u64, offset: u64, data: &[u8]) -> Result<u32, Errno> {
        let new = {
            let state = self.state();
            let new = state.tree.new_blocks(number, offset, data.len())?;
            if state.tree.allocated_bytes() + new * u64::from(self.plan.block_bytes) > self.plan.size_bytes {
                return Err(Errno::ENOSPC);
            }
            new
        };
        let short = self.meet(Call::Write, data.len() as u64, times(self.plan.new_block, new))?;
        let kept = if short { data.len() / 2 } else { data.len() };
        let mut state = self.state();
        state.tree.write(number, offset, &data[..kept])?;
        state.memory.write(number, offset, kept as u64);
        if self.plan.writes == Writes::Late {
            state.late.insert(number);
        }
        Ok(kept as u32)
    }
}

impl Filesystem for Server {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        let refused = || io::Error::from(io::ErrorKind::InvalidInput);
        if self.plan.writes == Writes::Cached {
            let unsupported = |_| io::Error::from(io::ErrorKind::Unsupported);
            config.add_capabilities(InitFlags::FUSE_WRITEBACK_CACHE).map_err(unsupported)?;
        }
        if self.plan.stripes.is_some() {
            // Without it the kernel asks for a file's capabilities, an attribute as well, at each write.
            let unsupported = |_| io::Error::from(io::ErrorKind::Unsupported);
            config.add_capabilities(InitFlags::FUSE_HANDLE_KILLPRIV_V2).map_err(unsupported)?;
        }
        config.set_max_background(self.plan.background).map_err(|_| refused())?;
        config.set_max_write(self.plan.max_write).map(drop).map_err(|_| refused())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        wait(self.plan.round_trip);
        let mut state = self.state();
        let found = state.tree.look_up(parent.0, name);
        let found = found.and_then(|number| self.attributes(&state.tree, number));
        if let (Err(_), false) = (&found, self.plan.negative.is_zero()) {
            // The number zero says that there is nothing, and for how long that is so.
            let nothing = self.attributes(&state.tree, parent.0).map(|at| FileAttr { ino: INodeNo(0), ..at });
            if let Ok(nothing) = nothing {
                return reply.entry(&self.plan.negative, &nothing, Generation(0));
            }
        }
        self.tell_entry(found, reply);
    }

    fn forget(&self, _: &Request, number: INodeNo, references: u64) {
        let state = &mut *self.state();
        state.tree.forget(number.0, references);
        if state.tree.node(number.0).is_err() {
            state.memory.remove(number.0);
        }
    }

    fn getattr(&self, _: &Request, number: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        let met = self.meet(Call::Stat, 0, Duration::ZERO);
        match met.and_then(|_| self.attributes(&self.state().tree, number.0)) {
            Ok(attributes) => reply.attr(&self.plan.attributes, &attributes),
            Err(error) => reply.error(error),
        }
    }

    fn setattr(
        &self,
        _: &Request,
        number: INodeNo,
        mode: Option<u32>,
        user: Option<u32>,
        group: Option<u32>,
        size: Option<u64>,
        _: Option<TimeOrNow>,
        modified: Option<TimeOrNow>,
        _: Option<SystemTime>,
        _: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let outcome = || {
            if size.is_some() {
                self.meet(Call::Truncate, 0, Duration::ZERO)?;
            }
            let mut state = self.state();
            if let Some(size) = size {
                state.tree.resize(number.0, size)?;
            }
            let node = state.tree.node_mut(number.0)?;
            node.mode = mode.map_or(node.mode, |mode| (mode & 0o7777) as u16);
            node.owner = (user.unwrap_or(node.owner.0), group.unwrap_or(node.owner.1));
            if let Some(TimeOrNow::SpecificTime(time)) = modified {
                node.changed = time;
            }
            self.attributes(&state.tree, number.0)
        };
        match outcome() {
            Ok(attributes) => reply.attr(&self.plan.attributes, &attributes),
            Err(error) => reply.error(error),
        }
    }

    fn mkdir(&self, request: &Request, parent: INodeNo, name: &OsStr, mode: u32, _: u32, reply: ReplyEntry) {
        self.tell_entry(self.add(request, Call::Mkdir, (parent, name), mode, Body::empty_directory()), reply);
    }

    fn mknod(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _: u32,
        _: u32,
        reply: ReplyEntry,
    ) {
        self.tell_entry(self.add(request, Call::Create, (parent, name), mode, Body::empty_file()), reply);
    }

    fn rename(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        to_parent: INodeNo,
        to: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let renamed = || {
            self.meet(Call::Rename, 0, Duration::ZERO)?;
            if !flags.is_empty() || parent != to_parent {
                return Err(Errno::EINVAL);
            }
            let tree = &mut self.state().tree;
            if tree.number(to_parent.0, to).is_ok() {
                tree.remove(to_parent.0, to, false)?;
            }
            tree.rename(parent.0, name, to)
        };
        answer(renamed(), reply);
    }

    fn create(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _: u32,
        _: i32,
        reply: ReplyCreate,
    ) {
        if self.plan.attributes != self.plan.entries {
            // The answer to this call has one time for both; that to mknod, which is then made instead, has two.
            return reply.error(Errno::ENOSYS);
        }
        match self.add(request, Call::Create, (parent, name), mode, Body::empty_file()) {
            Ok(attributes) => {
                let flags = self.opened(attributes.ino.0);
                reply.created(&self.plan.entries, &attributes, Generation(0), FileHandle(0), flags);
            }
            Err(error) => reply.error(error),
        }
    }

    fn unlink(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let met = self.meet(Call::Unlink, 0, Duration::ZERO);
        answer(met.and_then(|_| self.unlink_or_hide(parent.0, name)), reply);
    }

    fn rmdir(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let met = self.meet(Call::Rmdir, 0, Duration::ZERO);
        answer(met.and_then(|_| self.state().tree.remove(parent.0, name, true)), reply);
    }

    fn open(&self, _: &Request, number: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        match self.meet(Call::Open, 0, Duration::ZERO) {
            Ok(_) => reply.opened(FileHandle(0), self.opened(number.0)),
            Err(error) => reply.error(error),
        }
    }

    fn release(
        &self,
        _: &Request,
        number: INodeNo,
        _: FileHandle,
        _: OpenFlags,
        _: Option<LockOwner>,
        _: bool,
        reply: ReplyEmpty,
    ) {
        let state = &mut *self.state();
        let open = state.open.entry(number.0).or_default();
        *open = open.saturating_sub(1);
        if *open == 0 {
            state.open.remove(&number.0);
            if let Some((parent, name)) = state.hidden.remove(&number.0) {
                // It may have been removed by its hidden name.
                let _ = state.tree.remove(parent, &name, false);
            }
        }
        reply.ok();
    }

    fn read(
        &self,
        _: &Request,
        number: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let pages = u64::from(size).div_ceil(PAGE);
        let cold = self.cold(number.0, offset, size.into());
        let data = self.meet(Call::Read, 0, times(self.plan.page, pages) + cold).and_then(|short| {
            let length = if short { size / 2 } else { size };
            self.state().tree.read(number.0, offset, length as usize)
        });
        match data {
            Ok(data) => reply.data(&data),
            Err(error) => reply.error(error),
        }
    }

    fn write(
        &self,
        _: &Request,
        number: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        match self.write_down(number.0, offset, data) {
            Ok(written) => reply.written(written),
            Err(error) => reply.error(error),
        }
    }

    fn flush(&self, _: &Request, number: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        // It waits for what was written, and only then for its own answer.
        let is_late = self.state().late.remove(&number.0);
        let late = if is_late { self.plan.round_trip } else { Duration::ZERO };
        wait(self.plan.round_trip + self.plan.flush + late);
        reply.ok();
    }

    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        answer(self.meet(Call::Fsync, 0, Duration::ZERO), reply);
    }

    fn fsyncdir(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        reply.ok();
    }

    fn readdir(&self, _: &Request, number: INodeNo, _: FileHandle, from: u64, mut reply: ReplyDirectory) {
        let met = self.meet(Call::Readdir, 0, Duration::ZERO);
        match met.and_then(|_| self.state().tree.list(number.0)) {
            Ok(entries) => {
                for (index, (name, number, is_directory)) in entries.iter().enumerate().skip(from as usize) {
                    let kind = if *is_directory { FileType::Directory } else { FileType::RegularFile };
                    if reply.add(INodeNo(*number), index as u64 + 1, kind, name) {
                        break;
                    }
                }
                reply.ok();
            }
            Err(error) => reply.error(error),
        }
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        match self.meet(Call::Statfs, 0, Duration::ZERO) {
            Ok(_) => {
                let block = u64::from(self.plan.block_bytes);
                let all = self.plan.size_bytes / block;
                let free = all.saturating_sub(self.state().tree.allocated_bytes() / block);
                let size = self.plan.block_bytes;
                reply.statfs(all, free, free, 1 << 20, 1 << 20, size, 255, size);
            }
            Err(error) => reply.error(error),
        }
    }

    fn getxattr(&self, _: &Request, _: INodeNo, name: &OsStr, room: u32, reply: ReplyXattr) {
        // The kernel then asks for no attribute any more.
        let Some(stripes) = self.plan.stripes else { return reply.error(Errno::ENOSYS) };
        match stripes.attribute(name) {
            // Clients know without asking a server that a file has no capabilities.
            None => reply.error(Errno::ENODATA),
            Some(value) => {
                wait(self.plan.round_trip);
                match (value.len() as u32, room) {
                    (length, 0) => reply.size(length),
                    (length, room) if length > room => reply.error(Errno::ERANGE),
                    _ => reply.data(&value),
                }
            }
        }
    }

    fn lseek(&self, _: &Request, number: INodeNo, _: FileHandle, from: i64, whence: i32, reply: ReplyLseek) {
        const SEEK_DATA: i32 = 3;
        let found = self.state().tree.seek(number.0, from.max(0) as u64, whence == SEEK_DATA);
        match found {
            Ok(Some(offset)) => reply.offset(offset as i64),
            Ok(None) => reply.error(Errno::ENXIO),
            Err(error) => reply.error(error),
        }
    }
}
