//! From system calls to operations: which file a descriptor means, and where it stands.
//!
//! Descriptors are followed through open, dup, fork, exec and close as the kernel keeps them: a table per
//! process (or shared between threads), whose entries point to open descriptions, which hold the position.

mod names;

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

use rustc_hash::FxHashMap;

use crate::operation::{CallKind, Direction, FileId, Files, Operation};

/// `O_TRUNC` of open(2).
pub const O_TRUNC: u32 = 0o1000;
/// Others that decide positions and inheritance, as on x86-64 and aarch64.
pub(crate) const O_APPEND: u32 = 0o2000;
pub(crate) const O_CLOEXEC: u32 = 0o200_0000;

/// A system call that has returned.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    pub(crate) thread: u32,
    pub(crate) start_ns: i64,
    pub(crate) duration_ns: Option<u64>,
    pub(crate) what: What,
    pub(crate) descriptor: i32,
    pub(crate) offset: Option<u64>,
    pub(crate) length: u64,
    pub(crate) flags: u32,
    pub(crate) result: Option<i64>,
    /// The file that a call names, or that the tracer says the descriptor means.
    pub(crate) path: Option<Cow<'a, [u8]>>,
    /// What a path that is no whole one is named under.
    pub(crate) under: Under<'a>,
    /// The new path of a rename, and what it is named under.
    pub(crate) to: Option<(Cow<'a, [u8]>, Under<'a>)>,
}

impl Call<'_> {
    /// A call of which no more is known.
    pub(crate) fn new(thread: u32, start_ns: i64, what: What) -> Self {
        Self {
            thread,
            start_ns,
            duration_ns: None,
            what,
            descriptor: -1,
            offset: None,
            length: 0,
            flags: 0,
            result: None,
            path: None,
            under: Under::Here,
            to: None,
        }
    }
}

impl Under<'_> {
    /// What it says of the process alone: of a path that is whole without it.
    pub(crate) fn of_the_process(self) -> Self {
        if matches!(self, Self::HereIs(_)) { self } else { Self::Here }
    }
}

/// Where a path begins that does not begin with `/`.
#[derive(Debug, Clone, Default)]
pub(crate) enum Under<'a> {
    /// The working directory.
    #[default]
    Here,
    /// The working directory, which the tracer says to be this.
    HereIs(Cow<'a, [u8]>),
    /// A directory.
    Directory(Cow<'a, [u8]>),
    /// What a descriptor means.
    Descriptor(i32),
}

/// What a call does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    /// Something to a file.
    Do(CallKind),
    /// truncate(2), by a path.
    TruncatePath,
    /// A dup onto a descriptor that closes at exec.
    DupCloseOnExec,
    /// A new thread or process.
    Fork {
        /// It shares the descriptors (`CLONE_FILES`).
        shares: bool,
        /// It is a thread (`CLONE_THREAD`).
        is_thread: bool,
    },
    /// fcntl(2) with F_SETFD: the flags say whether the descriptor closes at exec.
    SetCloseOnExec,
    /// close_range(2), from the descriptor up to the length.
    CloseRange,
    /// chdir(2) and fchdir(2).
    ChangeDirectory,
    /// execve(2).
    Exec,
    /// The end of a thread.
    Exit,
    /// Nothing that files or descriptors depend on.
    Nothing,
}

/// preadv2(2) and pwritev2(2) move data at the position where the offset is -1.
pub(crate) fn at_position(what: What, offset: Option<u64>) -> What {
    match (what, offset) {
        (What::Do(CallKind::Preadv), None) => What::Do(CallKind::Readv),
        (What::Do(CallKind::Pwritev), None) => What::Do(CallKind::Writev),
        _ => what,
    }
}

/// An open description, as the kernel's `struct file`.
#[derive(Debug, Clone, Copy)]
struct Description {
    file: FileId,
    position: Option<u64>,
    appends: bool,
    is_file: bool,
    /// It was removed, or another took its name: what has the name now is another file.
    is_nameless: bool,
}

impl Description {
    fn new(file: FileId, position: Option<u64>, appends: bool, is_file: bool) -> Self {
        Self { file, position, appends, is_file, is_nameless: false }
    }
}

#[derive(Debug, Clone)]
struct Descriptor {
    description: Rc<Cell<Description>>,
    closes_on_exec: bool,
}

impl Descriptor {
    fn new(description: Description, closes_on_exec: bool) -> Self {
        Self { description: Rc::new(Cell::new(description)), closes_on_exec }
    }
}

type Table = Rc<RefCell<FxHashMap<i32, Descriptor>>>;

#[derive(Debug, Clone)]
struct Thread {
    process: u32,
    table: Table,
}

/// `RENAME_EXCHANGE` of renameat2(2).
const RENAME_EXCHANGE: u32 = 2;
/// `CLOSE_RANGE_CLOEXEC` of close_range(2).
const CLOSE_RANGE_CLOEXEC: u32 = 4;

impl Thread {
    /// A descriptor that was just made means nothing that is followed.
    fn forget(&self, made: Option<i64>) {
        if let Some(made) = made.and_then(|made| i32::try_from(made).ok()) {
            self.table.borrow_mut().remove(&made);
        }
    }

    fn close_later_or_now(&self, call: &Call) {
        let mut table = self.table.borrow_mut();
        if call.what == What::SetCloseOnExec {
            if let Some(descriptor) = table.get_mut(&call.descriptor) {
                descriptor.closes_on_exec = call.flags & 1 != 0;
            }
            return;
        }
        let is_meant = |number: i32| {
            number >= call.descriptor && u64::try_from(number).is_ok_and(|number| number <= call.length)
        };
        if call.flags & CLOSE_RANGE_CLOEXEC != 0 {
            table
                .iter_mut()
                .filter(|(number, _)| is_meant(**number))
                .for_each(|(_, one)| one.closes_on_exec = true);
        } else {
            table.retain(|number, _| !is_meant(*number));
        }
    }
}

/// The processes of a trace and what their descriptors mean.
#[derive(Debug, Default)]
pub(crate) struct Processes {
    threads: FxHashMap<u32, Thread>,
    /// The working directories of processes, where the trace has shown them.
    directories: FxHashMap<u32, Vec<u8>>,
    /// Sizes of files, where the trace has shown them.
    sizes: FxHashMap<FileId, u64>,
}

impl Processes {
    pub(crate) fn knows(&self, thread: u32) -> bool {
        self.threads.contains_key(&thread)
    }

    /// The process that a thread belongs to.
    pub(crate) fn process(&mut self, thread: u32) -> u32 {
        self.thread(thread).process
    }

    /// A descriptor that was open before the trace began.
    pub(crate) fn inherit(
        &mut self,
        process: u32,
        descriptor: i32,
        file: FileId,
        position: Option<u64>,
        flags: u32,
    ) {
        let description = Description::new(file, position, flags & O_APPEND != 0, true);
        let entry = Descriptor::new(description, flags & O_CLOEXEC != 0);
        self.thread(process).table.borrow_mut().insert(descriptor, entry);
    }

    /// Where an open descriptor stands.
    pub(crate) fn place(&mut self, process: u32, descriptor: i32, position: u64) {
        if let Some(entry) = self.thread(process).table.borrow().get(&descriptor) {
            entry.description.set(Description { position: Some(position), ..entry.description.get() });
        }
    }

    /// A new thread or process, with its creator's descriptors; one that is known already is left as it is.
    pub(crate) fn fork(&mut self, creator: u32, created: u32, shares: bool, is_thread: bool) {
        if self.knows(created) {
            return;
        }
        let creator = self.thread(creator).clone();
        let table =
            if shares { creator.table } else { Rc::new(RefCell::new(creator.table.borrow().clone())) };
        let process = if is_thread { creator.process } else { created };
        if let Some(directory) = self.directories.get(&creator.process).filter(|_| !is_thread).cloned() {
            self.directories.insert(process, directory);
        }
        self.threads.insert(created, Thread { process, table });
    }

    fn thread(&mut self, thread: u32) -> &Thread {
        self.threads.entry(thread).or_insert_with(|| Thread { process: thread, table: Table::default() })
    }

    /// Follows a call; gives the operation that it is. None where it is none, or not on a file that is known.
    pub(crate) fn apply(&mut self, call: &Call, files: &mut Files) -> Option<Operation> {
        let thread = self.thread(call.thread).clone();
        let operation = |kind, file| Operation {
            duration_ns: call.duration_ns,
            process: thread.process,
            thread: call.thread,
            descriptor: (call.descriptor >= 0).then_some(call.descriptor),
            offset: call.offset,
            length: call.length,
            result: call.result,
            flags: call.flags,
            ..Operation::new(kind, file, call.start_ns)
        };
        let succeeded = call.result.filter(|&result| result >= 0);
        match call.what {
            What::Do(CallKind::Open) => {
                self.open(call, &thread, files).map(|file| operation(CallKind::Open, file))
            }
            What::TruncatePath => {
                let file = files.id(&self.path(call, &thread, files)?);
                if succeeded.is_some() {
                    self.sizes.insert(file, call.length);
                }
                Some(operation(CallKind::Truncate, file))
            }
            What::Do(CallKind::Unlink) => {
                let file = files.id(&self.path(call, &thread, files)?);
                if succeeded.is_some() {
                    self.unname(file);
                }
                Some(operation(CallKind::Unlink, file))
            }
            What::Do(CallKind::Rename) => {
                let (from, to) = (self.path(call, &thread, files)?, call.to.as_ref()?);
                let to = files.id(&self.whole(&to.0, &to.1, &thread, files)?);
                let from = files.id(&from);
                if succeeded.is_some() {
                    self.rename(from, to, call.flags & RENAME_EXCHANGE != 0, files);
                }
                Some(Operation { to: Some(to), ..operation(CallKind::Rename, from) })
            }
            What::ChangeDirectory => {
                succeeded?;
                let directory = if call.descriptor >= 0 && call.path.is_none() {
                    let table = thread.table.borrow();
                    Cow::Owned(files.path(table.get(&call.descriptor)?.description.get().file).to_vec())
                } else {
                    self.path(call, &thread, files)?
                };
                self.directories.insert(thread.process, directory.into_owned());
                None
            }
            What::Fork { shares, is_thread } => {
                let child = u32::try_from(succeeded?).ok()?;
                self.fork(call.thread, child, shares, is_thread);
                (!is_thread).then(|| operation(CallKind::Fork, files.id(b"")))
            }
            What::Exec => {
                succeeded?;
                let mut left = thread.table.borrow().clone();
                left.retain(|_, descriptor| !descriptor.closes_on_exec);
                self.threads.insert(call.thread, Thread { table: Rc::new(RefCell::new(left)), ..thread });
                None
            }
            What::Exit => {
                self.threads.remove(&call.thread);
                None
            }
            What::SetCloseOnExec | What::CloseRange => {
                succeeded?;
                thread.close_later_or_now(call);
                None
            }
            What::Nothing => None,
            What::DupCloseOnExec => {
                self.on_descriptor(call, &thread, files, operation(CallKind::Dup, FileId(0)))
            }
            What::Do(kind) => self.on_descriptor(call, &thread, files, operation(kind, FileId(0))),
        }
    }

    fn open(&mut self, call: &Call, thread: &Thread, files: &mut Files) -> Option<FileId> {
        let Some(path) = call.path.as_deref() else {
            thread.forget(call.result);
            return None;
        };
        let path = self.whole(path, &call.under, thread, files).unwrap_or(Cow::Borrowed(path));
        let file = files.id(&path);
        if let Some(descriptor) =
            call.result.and_then(|result| i32::try_from(result).ok()).filter(|&fd| fd >= 0)
        {
            if call.flags & O_TRUNC != 0 {
                self.sizes.insert(file, 0);
            }
            let description = Description::new(file, Some(0), call.flags & O_APPEND != 0, true);
            let entry = Descriptor::new(description, call.flags & O_CLOEXEC != 0);
            thread.table.borrow_mut().insert(descriptor, entry);
        }
        Some(file)
    }

    /// A call on a descriptor; `operation` lacks the file, and the offset where the position decides it.
    fn on_descriptor(
        &mut self,
        call: &Call,
        thread: &Thread,
        files: &mut Files,
        mut operation: Operation,
    ) -> Option<Operation> {
        let Some(entry) = known(call, thread, files) else {
            // What is not followed may take the place of what was.
            if operation.kind == CallKind::Dup {
                thread.forget(call.result);
            }
            return None;
        };
        let mut description = entry.description.get();
        operation.file = description.file;
        let done = call.result.filter(|&result| result >= 0);
        let table = &thread.table;
        match operation.kind {
            CallKind::Read | CallKind::Readv | CallKind::Write | CallKind::Writev => {
                let is_write = matches!(operation.kind, CallKind::Write | CallKind::Writev);
                if is_write && description.appends {
                    let size = self.sizes.get(&description.file).filter(|_| !description.is_nameless);
                    description.position = size.copied();
                }
                operation.offset = description.position;
                let moved = u64::try_from(done.unwrap_or(0)).unwrap_or(0);
                description.position = description.position.and_then(|position| position.checked_add(moved));
            }
            CallKind::Seek => {
                description.position = done.map_or(description.position, |to| u64::try_from(to).ok());
                operation.offset = done.and_then(|to| u64::try_from(to).ok());
                if operation.flags == 2
                    && operation.length == 0
                    && !description.is_nameless
                    && let Some(end) = operation.offset
                {
                    self.sizes.insert(description.file, end);
                }
                operation.length = 0;
            }
            CallKind::Truncate if done.is_some() && !description.is_nameless => {
                self.sizes.insert(description.file, operation.length);
            }
            CallKind::Close => {
                table.borrow_mut().remove(&call.descriptor);
            }
            CallKind::Dup => {
                if let Some(to) = done.and_then(|to| i32::try_from(to).ok()) {
                    let closes_on_exec = call.what == What::DupCloseOnExec;
                    let copy = Descriptor { description: entry.description.clone(), closes_on_exec };
                    table.borrow_mut().insert(to, copy);
                }
            }
            _ => {}
        }
        entry.description.set(description);
        if !description.is_nameless {
            self.grow(&operation);
        }
        description.is_file.then_some(operation)
    }
}

impl Processes {
    /// A write makes a file whose size is known as large as its end.
    fn grow(&mut self, operation: &Operation) {
        if operation.kind.direction() == Some(Direction::Write)
            && let (Some(offset), Some(size)) = (operation.offset, self.sizes.get_mut(&operation.file))
        {
            *size = (*size).max(offset.saturating_add(operation.moved_bytes()));
        }
    }
}

/// What a call's descriptor means: what was followed, corrected by what the tracer says.
fn known(call: &Call, thread: &Thread, files: &mut Files) -> Option<Descriptor> {
    let entry = thread.table.borrow().get(&call.descriptor).cloned();
    let Some(path) = call.path.as_deref() else { return entry };
    // Pipes, sockets and the like are named by a word and a number.
    let is_file = path.first() == Some(&b'/');
    let agrees = entry.as_ref().is_some_and(|entry| {
        let description = entry.description.get();
        description.is_file == is_file && files.path(description.file) == path
    });
    if agrees {
        return entry;
    }
    if !is_file && entry.is_none() {
        return None;
    }
    let entry = Descriptor::new(Description::new(files.id(path), None, false, is_file), false);
    thread.table.borrow_mut().insert(call.descriptor, entry.clone());
    Some(entry)
}
