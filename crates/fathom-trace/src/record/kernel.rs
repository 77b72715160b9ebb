//! From the kernel's events to operations: calls are entered and left, threads made.

use std::collections::VecDeque;
use std::fs::File;
use std::io;

use rustc_hash::FxHashMap;

use super::events::{Event, Layouts, events};
use super::running::Seen;
use crate::calls::{Call, O_CLOEXEC, Processes, Under, What, at_position};
use crate::operation::{CallKind, FileId, Files, Operation};

/// `CLONE_FILES` and `CLONE_THREAD` of clone(2).
const CLONE_FILES: u64 = 0x400;
const CLONE_THREAD: u64 = 0x1_0000;
/// `F_DUPFD`, `F_DUPFD_CLOEXEC` and `F_SETFD` of fcntl(2).
const F_DUPFD: u64 = 0;
const F_DUPFD_CLOEXEC: u64 = 1030;
const F_SETFD: u64 = 2;

/// `AT_REMOVEDIR` of unlinkat(2).
const AT_REMOVEDIR: u64 = 0x200;

/// What strace says of each thread's calls that name files, in their order.
pub(super) type Paths = FxHashMap<u32, VecDeque<TracedCall>>;

/// A call that names a file, or two.
#[derive(Debug, Clone, Copy)]
pub(super) struct TracedCall {
    pub(super) kind: CallKind,
    pub(super) file: FileId,
    pub(super) to: Option<FileId>,
    pub(super) flags: u32,
    pub(super) result: Option<i64>,
}

/// Who says which paths calls name.
pub(super) enum Names {
    /// strace, which saw each of them.
    Traced(Paths),
    /// /proc, where somebody looked soon enough.
    Seen(Seen),
}

/// Makes operations of events.
pub(super) struct Maker<'a> {
    pub(super) layouts: &'a Layouts,
    pub(super) calls: FxHashMap<u64, &'static str>,
    pub(super) processes: Processes,
    pub(super) names: Names,
    /// The traced program's first thread.
    pub(super) root: u32,
    /// Whether it has become the program: what it did before, strace did.
    pub(super) has_begun: bool,
    /// Threads inside of calls.
    pub(super) entered: FxHashMap<u32, (u64, u64, [u64; 6])>,
    pub(super) files: &'a mut Files,
    /// Calls whose path is not known.
    pub(super) unnamed: u64,
}

impl Maker<'_> {
    /// Goes through all events; gives how many times events were missed.
    pub(super) fn run(
        &mut self,
        kept: &[File],
        sub_buffer: usize,
        mut sink: impl FnMut(&Operation, &Files) -> io::Result<()>,
    ) -> io::Result<u64> {
        events(kept, sub_buffer, |time_ns, bytes| match self.event(time_ns, bytes) {
            Some(operation) => sink(&operation, self.files),
            None => Ok(()),
        })
    }

    fn event(&mut self, time_ns: u64, bytes: &[u8]) -> Option<Operation> {
        let (thread, event) = self.layouts.event(bytes)?;
        if thread != self.root && !self.processes.knows(thread) {
            return None;
        }
        if let Names::Seen(seen) = &mut self.names {
            seen.place(time_ns, self.root, &mut self.processes);
        }
        let (id, result) = match event {
            Event::Entered(id, arguments) => {
                self.entered.insert(thread, (time_ns, id, arguments));
                return None;
            }
            Event::Made(made, flags) => return self.made(thread, made, flags, time_ns),
            Event::Left(id, result) => (id, result),
        };
        let (start_ns, _, arguments) = self.entered.remove(&thread).filter(|entered| entered.1 == id)?;
        let name = *self.calls.get(&id)?;
        let mut call = call(thread, i64::try_from(start_ns).ok()?, name, &arguments, result)?;
        call.duration_ns = Some(time_ns.saturating_sub(start_ns));
        if call.what == What::Exec {
            self.has_begun |= result >= 0;
        }
        if !self.has_begun {
            return None;
        }
        self.name(&mut call, time_ns);
        self.processes.apply(&call, self.files)
    }

    fn made(&mut self, creator: u32, made: u32, flags: u64, time_ns: u64) -> Option<Operation> {
        if !self.has_begun {
            return None;
        }
        let is_thread = flags & CLONE_THREAD != 0;
        self.processes.fork(creator, made, flags & CLONE_FILES != 0, is_thread);
        let process = self.processes.process(creator);
        let fork = Operation::new(CallKind::Fork, self.files.id(b""), i64::try_from(time_ns).ok()?);
        (!is_thread).then_some(Operation { process, thread: creator, result: Some(i64::from(made)), ..fork })
    }

    /// Puts the path in of a call that names one.
    fn name(&mut self, call: &mut Call, ended_ns: u64) {
        let kind = match call.what {
            What::Do(kind @ (CallKind::Open | CallKind::Unlink | CallKind::Rename)) => kind,
            What::TruncatePath => CallKind::Truncate,
            _ => return,
        };
        let named = match &mut self.names {
            Names::Traced(paths) => {
                let traced = paths.get_mut(&call.thread).and_then(VecDeque::pop_front);
                // Where the two disagree on what came of it, neither's order can be trusted.
                let agree = |traced: &TracedCall| traced.kind == kind && traced.result == call.result;
                traced.filter(agree).map(|traced| {
                    let path = |file| self.files.path(file).to_vec();
                    call.to = traced.to.map(|to| (path(to).into(), Under::Here));
                    (path(traced.file), traced.flags)
                })
            }
            Names::Seen(seen) if kind == CallKind::Open => seen.opened(call, ended_ns),
            Names::Seen(_) => None,
        };
        if let Some((path, flags)) = named {
            call.path = Some(path.into());
            call.flags |= flags;
        } else {
            self.unnamed += 1;
        }
    }
}

/// The call of a name, without its path.
fn call(thread: u32, start_ns: i64, name: &str, arguments: &[u64; 6], result: i64) -> Option<Call<'static>> {
    let mut call = Call {
        descriptor: arguments[0] as u32 as i32,
        result: Some(result),
        ..Call::new(thread, start_ns, What::Nothing)
    };
    let place = |value: u64| u64::try_from(value.cast_signed()).ok();
    let moved = u64::try_from(result).unwrap_or(0);
    let (kind, offset, length) = match name {
        "read" => (CallKind::Read, None, arguments[2]),
        "write" => (CallKind::Write, None, arguments[2]),
        "pread64" => (CallKind::Pread, place(arguments[3]), arguments[2]),
        "pwrite64" => (CallKind::Pwrite, place(arguments[3]), arguments[2]),
        "readv" => (CallKind::Readv, None, moved),
        "writev" => (CallKind::Writev, None, moved),
        "preadv" | "preadv2" => (CallKind::Preadv, place(arguments[3]), moved),
        "pwritev" | "pwritev2" => (CallKind::Pwritev, place(arguments[3]), moved),
        "fsync" => (CallKind::Fsync, None, 0),
        "fdatasync" => (CallKind::Fdatasync, None, 0),
        "sync_file_range" => (CallKind::SyncRange, place(arguments[1]), arguments[2]),
        "ftruncate" => (CallKind::Truncate, None, arguments[1]),
        "fallocate" => (CallKind::Allocate, place(arguments[2]), arguments[3]),
        "close" => (CallKind::Close, None, 0),
        "lseek" => {
            call.flags = arguments[2] as u32;
            (CallKind::Seek, None, arguments[1].cast_signed().unsigned_abs())
        }
        "mmap" => {
            call.descriptor = arguments[4] as u32 as i32;
            call.result = Some(result.min(0));
            (CallKind::Map, place(arguments[5]), arguments[1])
        }
        _ => return other(name, arguments, call),
    };
    Some(Call { what: at_position(What::Do(kind), offset), offset, length, ..call })
}

/// The calls that open or copy descriptors, and those that name files.
fn other(name: &str, arguments: &[u64; 6], mut call: Call<'static>) -> Option<Call<'static>> {
    call.what = match name {
        "dup" | "dup2" => What::Do(CallKind::Dup),
        "dup3" if arguments[2] as u32 & O_CLOEXEC != 0 => What::DupCloseOnExec,
        "dup3" => What::Do(CallKind::Dup),
        "fcntl" if arguments[1] == F_DUPFD => What::Do(CallKind::Dup),
        "fcntl" if arguments[1] == F_DUPFD_CLOEXEC => What::DupCloseOnExec,
        "fcntl" if arguments[1] == F_SETFD => {
            call.flags = arguments[2] as u32;
            What::SetCloseOnExec
        }
        "close_range" => {
            (call.length, call.flags) = (arguments[1] & u64::from(u32::MAX), arguments[2] as u32);
            What::CloseRange
        }
        _ => {
            call.descriptor = -1;
            match name {
                "open" => call.flags = arguments[1] as u32,
                "openat" => call.flags = arguments[2] as u32,
                "truncate" => call.length = arguments[1],
                "unlinkat" if arguments[2] & AT_REMOVEDIR != 0 => return None,
                "renameat2" => call.flags = arguments[4] as u32,
                _ => {}
            }
            match name {
                "open" | "openat" | "openat2" | "creat" => What::Do(CallKind::Open),
                "truncate" => What::TruncatePath,
                "unlink" | "unlinkat" => What::Do(CallKind::Unlink),
                "rename" | "renameat" | "renameat2" => What::Do(CallKind::Rename),
                "execve" | "execveat" => What::Exec,
                _ => return None,
            }
        }
    };
    Some(call)
}
