//! From the kernel's events to operations: calls are entered and left, threads made.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Seek};

use rustc_hash::FxHashMap;

use super::ring::{Field, Layout, SubBuffer};
use crate::calls::{Call, O_CLOEXEC, Processes, What, at_position};
use crate::operation::{FileId, Files, Kind, Operation};

/// `CLONE_FILES` and `CLONE_THREAD` of clone(2).
const CLONE_FILES: u64 = 0x400;
const CLONE_THREAD: u64 = 0x1_0000;
/// `F_DUPFD`, `F_DUPFD_CLOEXEC` and `F_SETFD` of fcntl(2).
const F_DUPFD: u64 = 0;
const F_DUPFD_CLOEXEC: u64 = 1030;
const F_SETFD: u64 = 2;

/// The events that are recorded, as this kernel writes them.
#[derive(Debug, Clone)]
pub(super) struct Layouts {
    entered: (u64, Field, Field),
    left: (u64, Field, Field),
    made: (u64, Field, Field),
    kind: Field,
    thread: Field,
}

impl Layouts {
    /// Of the descriptions of `sys_enter`, `sys_exit` and `task_newtask`.
    pub(super) fn new(entered: &str, left: &str, made: &str) -> Option<Self> {
        let [entered, left, made] = [Layout::parse(entered)?, Layout::parse(left)?, Layout::parse(made)?];
        let of = |layout: &Layout, one, two| Some((layout.id, layout.field(one)?, layout.field(two)?));
        Some(Self {
            kind: entered.field("common_type")?,
            thread: entered.field("common_pid")?,
            entered: of(&entered, "id", "args")?,
            left: of(&left, "id", "ret")?,
            made: of(&made, "pid", "clone_flags")?,
        })
    }
}

/// One CPU's sub-buffers, as they were kept.
struct Buffers {
    file: File,
    page: Vec<u8>,
    next: VecDeque<(u64, Vec<u8>)>,
}

impl Buffers {
    /// The time of the next event; none at the end.
    fn time_ns(&mut self, missed: &mut u64) -> io::Result<Option<u64>> {
        while self.next.is_empty() {
            match self.file.read_exact(&mut self.page) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
                Err(error) => return Err(error),
            }
            let Some(events) = SubBuffer::new(&self.page) else { continue };
            *missed += u64::from(events.missed);
            self.next.extend(events.map(|event| (event.time_ns, event.bytes.to_vec())));
        }
        Ok(self.next.front().map(|event| event.0))
    }
}

/// What strace says of each thread's opens and truncates, in their order: which file, and what came of it.
pub(super) type Paths = FxHashMap<u32, VecDeque<(Kind, FileId, u32, Option<i64>)>>;

/// Makes operations of events.
pub(super) struct Maker<'a> {
    pub(super) layouts: Layouts,
    pub(super) calls: FxHashMap<u64, &'static str>,
    pub(super) processes: Processes,
    pub(super) paths: Paths,
    /// The traced program's first thread.
    pub(super) root: u32,
    /// Whether it has become the program: what it did before, strace did.
    pub(super) has_begun: bool,
    /// Threads inside of calls.
    pub(super) entered: FxHashMap<u32, (u64, u64, [u64; 6])>,
    pub(super) files: &'a mut Files,
    /// Opens whose path strace does not tell.
    pub(super) unnamed: u64,
}

impl Maker<'_> {
    /// Goes through all CPUs' sub-buffers in the order of time; gives how many times events were missed.
    pub(super) fn run(
        &mut self,
        kept: Vec<File>,
        sub_buffer: usize,
        mut sink: impl FnMut(&Operation, &Files) -> io::Result<()>,
    ) -> io::Result<u64> {
        let mut buffers = Vec::new();
        for mut file in kept {
            file.rewind()?;
            buffers.push(Buffers { file, page: vec![0; sub_buffer], next: VecDeque::new() });
        }
        let mut missed = 0;
        loop {
            let mut first: Option<(u64, usize)> = None;
            for (at, cpu) in buffers.iter_mut().enumerate() {
                if let Some(time_ns) = cpu.time_ns(&mut missed)? {
                    first = Some(first.map_or((time_ns, at), |least| least.min((time_ns, at))));
                }
            }
            let Some((_, at)) = first else { return Ok(missed) };
            let Some((time_ns, bytes)) = buffers[at].next.pop_front() else { return Ok(missed) };
            if let Some(operation) = self.event(time_ns, &bytes) {
                sink(&operation, self.files)?;
            }
        }
    }

    fn event(&mut self, time_ns: u64, bytes: &[u8]) -> Option<Operation> {
        let layouts = &self.layouts;
        let kind = layouts.kind.of(bytes)?;
        let thread = layouts.thread.of(bytes)? as u32;
        if thread != self.root && !self.processes.knows(thread) {
            return None;
        }
        if kind == layouts.entered.0 {
            let mut arguments = [0; 6];
            for (place, argument) in arguments.iter_mut().enumerate() {
                *argument = layouts.entered.2.at(bytes, place)?;
            }
            self.entered.insert(thread, (time_ns, layouts.entered.1.of(bytes)?, arguments));
            return None;
        }
        if kind == layouts.made.0 {
            let (made, flags) = (layouts.made.1.of(bytes)? as u32, layouts.made.2.of(bytes)?);
            return self.made(thread, made, flags, time_ns);
        }
        let (id, result) = (layouts.left.1.of(bytes)?, layouts.left.2.of(bytes)?.cast_signed());
        let (start_ns, _, arguments) = self.entered.remove(&thread).filter(|entered| entered.1 == id)?;
        let name = *self.calls.get(&id)?;
        let mut call = call(name, &arguments, result)?;
        call.thread = thread;
        call.start_ns = i64::try_from(start_ns).ok()?;
        call.duration_ns = Some(time_ns.saturating_sub(start_ns));
        if call.what == What::Exec {
            self.has_begun |= result >= 0;
        }
        if !self.has_begun {
            return None;
        }
        self.name(&mut call);
        self.processes.apply(&call, self.files)
    }

    fn made(&mut self, creator: u32, made: u32, flags: u64, time_ns: u64) -> Option<Operation> {
        if !self.has_begun {
            return None;
        }
        let is_thread = flags & CLONE_THREAD != 0;
        self.processes.fork(creator, made, flags & CLONE_FILES != 0, is_thread);
        let process = self.processes.process(creator);
        let fork = Operation::new(Kind::Fork, self.files.id(b""), i64::try_from(time_ns).ok()?);
        (!is_thread).then_some(Operation { process, thread: creator, result: Some(i64::from(made)), ..fork })
    }

    /// Puts the path in that strace tells.
    fn name(&mut self, call: &mut Call) {
        let kind = match call.what {
            What::Do(Kind::Open) => Kind::Open,
            What::TruncatePath => Kind::Truncate,
            _ => return,
        };
        let told = self.paths.get_mut(&call.thread).and_then(VecDeque::pop_front);
        // Where the two disagree on what came of it, neither's order can be trusted.
        let agree = |told: &(Kind, FileId, u32, Option<i64>)| told.0 == kind && told.3 == call.result;
        if let Some((_, file, flags, _)) = told.filter(agree) {
            call.path = Some(self.files.path(file).to_vec().into());
            call.flags |= flags;
        } else {
            self.unnamed += 1;
        }
    }
}

/// The call of a name, without its path.
fn call(name: &str, arguments: &[u64; 6], result: i64) -> Option<Call<'static>> {
    let mut call = Call {
        thread: 0,
        start_ns: 0,
        duration_ns: None,
        what: What::Do(Kind::Read),
        descriptor: arguments[0] as u32 as i32,
        offset: None,
        length: 0,
        flags: 0,
        result: Some(result),
        path: None,
    };
    let place = |value: u64| u64::try_from(value.cast_signed()).ok();
    let moved = u64::try_from(result).unwrap_or(0);
    let (kind, offset, length) = match name {
        "read" => (Kind::Read, None, arguments[2]),
        "write" => (Kind::Write, None, arguments[2]),
        "pread64" => (Kind::Pread, place(arguments[3]), arguments[2]),
        "pwrite64" => (Kind::Pwrite, place(arguments[3]), arguments[2]),
        "readv" => (Kind::Readv, None, moved),
        "writev" => (Kind::Writev, None, moved),
        "preadv" | "preadv2" => (Kind::Preadv, place(arguments[3]), moved),
        "pwritev" | "pwritev2" => (Kind::Pwritev, place(arguments[3]), moved),
        "fsync" => (Kind::Fsync, None, 0),
        "fdatasync" => (Kind::Fdatasync, None, 0),
        "sync_file_range" => (Kind::SyncRange, place(arguments[1]), arguments[2]),
        "ftruncate" => (Kind::Truncate, None, arguments[1]),
        "fallocate" => (Kind::Allocate, place(arguments[2]), arguments[3]),
        "close" => (Kind::Close, None, 0),
        "lseek" => {
            call.flags = arguments[2] as u32;
            (Kind::Seek, None, arguments[1].cast_signed().unsigned_abs())
        }
        "mmap" => {
            call.descriptor = arguments[4] as u32 as i32;
            call.result = Some(result.min(0));
            (Kind::Map, place(arguments[5]), arguments[1])
        }
        _ => return other(name, arguments, call),
    };
    Some(Call { what: at_position(What::Do(kind), offset), offset, length, ..call })
}

/// The calls that open or copy descriptors, and those that name files.
fn other(name: &str, arguments: &[u64; 6], mut call: Call<'static>) -> Option<Call<'static>> {
    call.what = match name {
        "dup" | "dup2" => What::Do(Kind::Dup),
        "dup3" if arguments[2] as u32 & O_CLOEXEC != 0 => What::DupCloseOnExec,
        "dup3" => What::Do(Kind::Dup),
        "fcntl" if arguments[1] == F_DUPFD => What::Do(Kind::Dup),
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
                _ => {}
            }
            match name {
                "open" | "openat" | "openat2" | "creat" => What::Do(Kind::Open),
                "truncate" => What::TruncatePath,
                "execve" | "execveat" => What::Exec,
                _ => return None,
            }
        }
    };
    Some(call)
}
