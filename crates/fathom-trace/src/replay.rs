//! The replay of a trace as a program: which files of what size it begins with, what each operation works on, and what
//! it waits for.

mod calls;
mod names;

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

pub use self::calls::ReplayCalls;
use self::names::Names;
pub use crate::calls::O_TRUNC;
use crate::operation::{CallKind, Direction, FileId, Files, Level, Operation};

/// When an operation begins.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pace {
    /// When its thread has paused after the last one as long as in the trace.
    #[default]
    Think,
    /// At once.
    Fast,
    /// When it did in the trace, counted from the first; late ones at once.
    Recorded,
}

/// A replay, ready to be run.
#[derive(Debug)]
pub struct Plan {
    /// Size of what has each path before the first operation, by the trace's numbers of paths; none where nothing has it.
    pub sizes: Vec<Option<u64>>,
    /// Size of each file before the first operation, whatever path it has and when; 0 of one that is made later.
    pub files: Vec<u64>,
    /// Steps of each thread, in its order.
    pub threads: Vec<Vec<Step>>,
    /// Open descriptions that the steps work on.
    pub slots: usize,
    /// Those that were open before the trace began: which path, and where it stood.
    pub inherited: Vec<(usize, FileId, u64)>,
    /// When the first operation began, on the trace's clock.
    pub first_ns: i64,
    /// Bytes that the steps write.
    pub writes: u64,
    /// Operations that a replay leaves out: maps, forks, and what the trace does not say enough of.
    pub left_out: u64,
    /// The largest read or write, in bytes.
    pub largest: u64,
}

/// An operation and what it waits for.
#[derive(Debug, Clone, Copy)]
pub struct Step {
    /// What was recorded.
    pub operation: Operation,
    /// The file that it works on, by the plan's numbers; one that is empty and never read where that is none.
    pub file: usize,
    /// The description that it works on.
    pub slot: usize,
    /// What an open or dup makes; of others the same as `slot`.
    pub makes: usize,
    /// Steps on the same description that go before: all of them for a close, those that share its position for a
    /// read or write at it.
    pub after: u32,
    /// Whether the last one to use the description closes it.
    pub closes: bool,
    /// Steps on the same path that an open, unlink or rename waits for, so that it finds what others have made.
    pub after_file: u32,
    /// The same of a rename's new path.
    pub after_to: u32,
    /// The file that has no path and is not open any more after this step.
    pub frees: Option<usize>,
    /// Of a thread's first step: what it begins after.
    pub after_thread: Option<Begin>,
}

/// What a thread begins after: the last operation of another that had ended by then, as of the one that made it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Begin {
    /// Which thread of the replay.
    pub thread: usize,
    /// How many of its steps must be done.
    pub steps: u32,
    /// From that operation's end to the thread's first one.
    pub pause_ns: u64,
}

impl Step {
    fn new(operation: &Operation, file: usize, slot: usize) -> Self {
        Self {
            operation: *operation,
            file,
            slot,
            makes: slot,
            after: 0,
            closes: false,
            after_file: 0,
            after_to: 0,
            frees: None,
            after_thread: None,
        }
    }

    /// When it ended in the trace.
    #[must_use]
    pub fn end_ns(&self) -> i64 {
        self.operation.start_ns.saturating_add_unsigned(self.operation.duration_ns.unwrap_or(0))
    }
}

/// A descriptor: of a process, or what stands for a file where the trace names no descriptors.
type Key = (u32, i64);

#[derive(Debug, Default)]
struct Slot {
    file: usize,
    users: u32,
    moves: u32,
    names: u32,
}

#[derive(Debug, Default)]
struct Planner<'a> {
    /// The description that a descriptor means; none where what it means can't be replayed.
    keys: HashMap<Key, Option<usize>>,
    slots: Vec<Slot>,
    inherited: Vec<(usize, FileId, u64)>,
    threads: HashMap<(u32, u32), usize>,
    steps: Vec<Vec<Step>>,
    /// Steps on each path.
    on_path: HashMap<FileId, u32>,
    names: Names<'a>,
    writes: u64,
    left_out: u64,
    largest: u64,
}

impl Plan {
    /// Plans the replay of `operations`.
    #[must_use]
    pub fn new(operations: &[Operation], files: &Files, level: Level) -> Self {
        let mut planner = Planner { names: Names::new(files), ..Planner::default() };
        for operation in operations {
            if level == Level::Block && operation.kind == CallKind::Flush {
                planner.left_out += 1;
                continue;
            }
            planner.add(operation);
        }
        Self {
            sizes: planner.names.sizes_by_path(),
            files: planner.names.sizes(),
            threads: planner.steps,
            slots: planner.slots.len(),
            inherited: planner.inherited,
            first_ns: operations.iter().map(|one| one.start_ns).min().unwrap_or(0),
            writes: planner.writes,
            left_out: planner.left_out,
            largest: planner.largest,
        }
    }

    /// Bytes that must be there before the first operation.
    #[must_use]
    pub fn laid_out(&self) -> u64 {
        self.sizes.iter().flatten().fold(0, |sum, size| sum.saturating_add(*size))
    }
}

fn key(operation: &Operation) -> Key {
    // Without descriptors a file has one description, for all threads of a process.
    let number = operation.descriptor.map_or(-1 - i64::from(operation.file.0), i64::from);
    (operation.process, number)
}

/// Whether it moves the position, or depends on it.
fn is_positional(operation: &Operation) -> bool {
    operation.descriptor.is_some() && operation.kind.is_positional()
}

impl Planner<'_> {
    fn add(&mut self, operation: &Operation) {
        let failed = operation.result.is_some_and(|result| result < 0);
        let planned = match operation.kind {
            CallKind::Fork => {
                self.fork(operation);
                None
            }
            CallKind::Map => None,
            // What failed has changed nothing; of opens it is a search that many programs do.
            _ if failed && operation.kind != CallKind::Open => None,
            CallKind::Open => self.open(operation, failed),
            CallKind::Unlink => self.unlink(operation),
            CallKind::Rename => self.rename(operation),
            kind if kind.direction().is_some()
                && operation.descriptor.is_none()
                && operation.offset.is_none() =>
            {
                None
            }
            CallKind::Truncate if operation.descriptor.is_none() => None,
            CallKind::Close => self.close(operation),
            _ => self.work(operation),
        };
        match planned {
            Some(step) => self.push(step),
            None => self.left_out += 1,
        }
    }

    fn push(&mut self, mut step: Step) {
        let operation = step.operation;
        let count = self.threads.len();
        let thread = *self.threads.entry((operation.process, operation.thread)).or_insert(count);
        if thread == self.steps.len() {
            step.after_thread = self.begin(operation.start_ns);
            self.steps.push(Vec::new());
        }
        self.steps[thread].push(step);
        for path in [Some(operation.file), operation.to].into_iter().flatten() {
            *self.on_path.entry(path).or_default() += 1;
        }
    }

    /// What a thread that begins now begins after.
    fn begin(&self, start_ns: i64) -> Option<Begin> {
        let ended = self.steps.iter().enumerate().filter_map(|(thread, steps)| {
            let last = steps.iter().rposition(|step| step.end_ns() <= start_ns)?;
            Some((steps[last].end_ns(), thread, last))
        });
        let (end_ns, thread, last) = ended.max()?;
        Some(Begin { thread, steps: last as u32 + 1, pause_ns: start_ns.abs_diff(end_ns) })
    }

    fn steps_on(&self, path: FileId) -> u32 {
        self.on_path.get(&path).copied().unwrap_or(0)
    }

    fn new_slot(&mut self, file: usize) -> usize {
        self.slots.push(Slot { names: 1, file, ..Slot::default() });
        self.slots.len() - 1
    }

    fn open(&mut self, operation: &Operation, failed: bool) -> Option<Step> {
        let number = operation.result.map_or(-1 - i64::from(operation.file.0), |number| number);
        let key = (operation.process, number);
        let file = if failed {
            self.names.none()
        } else {
            let file = self.names.open(operation.file, operation.flags);
            // What had the path is gone, and the trace does not say who has made what is found there.
            if file.is_none() {
                self.keys.insert(key, None);
            }
            file?
        };
        let slot = self.new_slot(file);
        if !failed {
            self.names.hold(file);
            self.keys.insert(key, Some(slot));
        }
        Some(Step { after_file: self.steps_on(operation.file), ..Step::new(operation, file, slot) })
    }

    /// The description of a descriptor; one that no open in the trace has made was open before.
    fn slot(&mut self, operation: &Operation) -> Option<usize> {
        if let Some(slot) = self.keys.get(&key(operation)) {
            return *slot;
        }
        let first =
            self.names.file(operation.file).and_then(|file| Some((file, self.names.first_path(file)?)));
        let Some((file, path)) = first else {
            // The descriptor was open before, or its open was not recorded, and what it means has no path at first.
            self.keys.insert(key(operation), None);
            return None;
        };
        self.names.hold(file);
        let slot = self.new_slot(file);
        let position =
            operation.offset.filter(|_| is_positional(operation) && operation.kind != CallKind::Seek);
        self.inherited.push((slot, path, position.unwrap_or(0)));
        self.keys.insert(key(operation), Some(slot));
        Some(slot)
    }

    fn close(&mut self, operation: &Operation) -> Option<Step> {
        let slot = self.keys.remove(&key(operation))??;
        let known = &mut self.slots[slot];
        known.names -= 1;
        let (file, after, closes) = (known.file, known.users, known.names == 0);
        known.users += 1;
        let frees = if closes { self.names.release(file) } else { None };
        Some(Step { after, closes, frees, ..Step::new(operation, file, slot) })
    }

    fn work(&mut self, operation: &Operation) -> Option<Step> {
        let slot = self.slot(operation)?;
        let known = &mut self.slots[slot];
        let file = known.file;
        known.users += 1;
        let mut after = 0;
        if is_positional(operation) {
            after = known.moves;
            known.moves += 1;
        }
        let mut makes = slot;
        if operation.kind == CallKind::Dup {
            makes = self.new_slot(file);
            self.names.hold(file);
            if let Some(number) = operation.result {
                self.keys.insert((operation.process, number), Some(makes));
            }
        }
        self.size(operation, file);
        Some(Step { makes, after, ..Step::new(operation, file, slot) })
    }

    fn unlink(&mut self, operation: &Operation) -> Option<Step> {
        let (file, frees) = self.names.unlink(operation.file)?;
        let slot = self.new_slot(file);
        Some(Step { after_file: self.steps_on(operation.file), frees, ..Step::new(operation, file, slot) })
    }

    fn rename(&mut self, operation: &Operation) -> Option<Step> {
        let (from, to) = (operation.file, operation.to?);
        let (file, frees) = self.names.rename(from, to, operation.flags)?;
        let slot = self.new_slot(file);
        let (after_file, after_to) = (self.steps_on(from), self.steps_on(to));
        Some(Step { after_file, after_to, frees, ..Step::new(operation, file, slot) })
    }

    /// A child begins with its parent's descriptors, which mean the same descriptions.
    fn fork(&mut self, operation: &Operation) {
        let Some(child) = operation.result.and_then(|child| u32::try_from(child).ok()) else { return };
        let parent = operation.process;
        let inherited: Vec<(i64, Option<usize>)> = self
            .keys
            .iter()
            .filter(|((process, _), _)| *process == parent)
            .map(|((_, key), slot)| (*key, *slot))
            .collect();
        for (number, slot) in inherited {
            slot.into_iter().for_each(|slot| self.slots[slot].names += 1);
            self.keys.insert((child, number), slot);
        }
    }

    fn size(&mut self, operation: &Operation, file: usize) {
        let bytes = operation.moved_bytes();
        let end = operation.offset.unwrap_or(0).saturating_add(bytes);
        match operation.kind.direction() {
            Some(Direction::Read) if bytes > 0 => self.names.read(file, end),
            Some(Direction::Write) => {
                self.names.written(file, end);
                self.writes = self.writes.saturating_add(bytes);
            }
            _ if operation.kind == CallKind::Truncate => self.names.truncated(file, operation.length),
            _ => {}
        }
        if operation.kind.direction().is_some() {
            self.largest = self.largest.max(operation.length);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operation(kind: CallKind, file: u32, descriptor: Option<i32>, offset: u64, length: u64) -> Operation {
        Operation {
            descriptor,
            offset: Some(offset),
            length,
            result: Some(length as i64),
            ..Operation::new(kind, FileId(file), 0)
        }
    }

    fn plan(operations: &[Operation]) -> Plan {
        let mut files = Files::default();
        for name in [b"a", b"b"] {
            files.id(name);
        }
        Plan::new(operations, &files, Level::File)
    }

    #[test]
    fn a_file_begins_with_what_is_read_before_it_is_written() {
        let plan = plan(&[
            operation(CallKind::Pwrite, 0, Some(3), 0, 1000),
            operation(CallKind::Pread, 0, Some(3), 500, 500),
            operation(CallKind::Pread, 1, Some(4), 4096, 4096),
            operation(CallKind::Pread, 0, Some(3), 900, 700),
        ]);
        assert_eq!(plan.sizes, [Some(1600), Some(8192)]);
        assert_eq!((plan.writes, plan.laid_out(), plan.largest), (1000, 9792, 4096));
    }

    #[test]
    fn descriptions_are_told_apart_by_when_they_were_opened() {
        let open = Operation { result: Some(3), flags: 0, ..operation(CallKind::Open, 0, None, 0, 0) };
        let close = Operation { result: Some(0), ..operation(CallKind::Close, 0, Some(3), 0, 0) };
        let read = operation(CallKind::Read, 0, Some(3), 0, 10);
        let other = Operation { thread: 9, ..read };
        let plan = plan(&[open, read, other, close, open, read, close]);
        let slots: Vec<usize> = plan.threads[0].iter().map(|step| step.slot).collect();
        assert_eq!(slots, [0, 0, 0, 1, 1, 1]);
        assert_eq!((plan.threads.len(), plan.inherited.len()), (2, 0));
        // The other thread's read shares the position, and the close waits for both.
        assert_eq!(
            (plan.threads[1][0].after, plan.threads[0][2].after, plan.threads[0][2].closes),
            (1, 2, true)
        );
    }

    fn open(file: u32, flags: u32, descriptor: i64) -> Operation {
        Operation { result: Some(descriptor), flags, ..operation(CallKind::Open, file, None, 0, 0) }
    }

    fn unlink(file: u32) -> Operation {
        operation(CallKind::Unlink, file, None, 0, 0)
    }

    fn rename(file: u32, to: u32, flags: u32) -> Operation {
        Operation { to: Some(FileId(to)), flags, ..operation(CallKind::Rename, file, None, 0, 0) }
    }

    const O_CREAT: u32 = 0o100;
    const O_EXCL: u32 = 0o200;

    #[test]
    fn a_renamed_file_is_found_under_its_new_path() {
        let plan = plan(&[
            rename(0, 1, 0),
            open(1, 0, 3),
            operation(CallKind::Pread, 1, Some(3), 0, 4096),
            open(0, O_CREAT | O_EXCL, 4),
            operation(CallKind::Pwrite, 0, Some(4), 0, 10),
        ]);
        // What is read was at the old path at first, and the new one was free.
        assert_eq!(plan.sizes, [Some(4096), None]);
        assert_eq!(plan.files, [4096, 0]);
        let files: Vec<usize> = plan.threads[0].iter().map(|step| step.file).collect();
        assert_eq!(files, [0, 0, 0, 1, 1]);
        // The open of the new path waits for the rename, and so does that of the old one.
        assert_eq!((plan.threads[0][1].after_file, plan.threads[0][3].after_file, plan.left_out), (1, 1, 0));
    }

    #[test]
    fn a_removed_file_lives_as_long_as_it_is_open() {
        let close = |descriptor| operation(CallKind::Close, 0, Some(descriptor), 0, 0);
        let plan = plan(&[
            open(0, 0, 3),
            unlink(0),
            operation(CallKind::Pread, 0, Some(3), 0, 100),
            open(0, O_CREAT, 4),
            operation(CallKind::Pread, 0, Some(4), 0, 50),
            close(3),
            close(4),
            rename(1, 0, 0),
        ]);
        assert_eq!(
            (plan.sizes.as_slice(), plan.files.as_slice()),
            (&[Some(100), Some(0)][..], &[100, 0, 0][..])
        );
        let frees: Vec<Option<usize>> = plan.threads[0].iter().map(|step| step.frees).collect();
        assert_eq!(frees, [None, None, None, None, None, Some(0), None, Some(1)]);
    }

    #[test]
    fn what_the_trace_does_not_tell_is_left_out_and_counted() {
        let left_out = |operations: &[Operation]| plan(operations).left_out;
        let read = operation(CallKind::Pread, 0, Some(3), 0, 10);
        // Somebody else has made it again, or removed it before.
        assert_eq!(left_out(&[unlink(0), open(0, 0, 3), read]), 2);
        assert_eq!(left_out(&[open(0, 0, 3), open(0, O_CREAT | O_EXCL, 4)]), 1);
        assert_eq!(left_out(&[unlink(0), unlink(0), rename(0, 1, 0)]), 2);
        assert_eq!(left_out(&[unlink(0), read]), 1);
        // The new path must be free, must be taken, and what is left behind is no file.
        assert_eq!(left_out(&[open(1, 0, 3), rename(0, 1, 1)]), 1);
        assert_eq!(left_out(&[unlink(1), rename(0, 1, 2)]), 1);
        assert_eq!(left_out(&[rename(0, 1, 4)]), 1);
        let mut files = Files::default();
        for path in [b"/d".as_slice(), b"/d/x", b"x"] {
            files.id(path);
        }
        // A directory, and a path that does not begin where others do.
        let plan = Plan::new(&[rename(0, 1, 0), unlink(2), unlink(1)], &files, Level::File);
        assert_eq!((plan.left_out, plan.threads[0].len()), (2, 1));
    }
}
