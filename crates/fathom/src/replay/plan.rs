//! What a replay must do before it begins: which files of what size, and what each operation works on.

use std::collections::HashMap;

use fathom_trace::{Access, FileId, Files, Kind, Level, Operation};

/// What [`Operation::flags`] holds of an open: `O_TRUNC`.
pub(crate) const O_TRUNC: u32 = 0o1000;

/// A replay, ready to be run.
#[derive(Debug)]
pub struct Plan {
    /// Size of each file before the first operation, by the trace's numbers; none of files that never open.
    pub sizes: Vec<Option<u64>>,
    /// Steps of each thread, in its order.
    pub threads: Vec<Vec<Step>>,
    /// Open descriptions that the steps work on.
    pub slots: usize,
    /// Those that were open before the trace began: which file, and where it stood.
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
    /// The description that it works on.
    pub slot: usize,
    /// What an open or dup makes; of others the same as `slot`.
    pub makes: usize,
    /// Steps on the same description that go before: all of them for a close, those that share its position for a
    /// read or write at it.
    pub after: u32,
    /// Whether the last one to use the description closes it.
    pub closes: bool,
    /// Steps on the same file that an open waits for, so that it finds what others have made.
    pub after_file: u32,
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
    fn new(operation: &Operation, slot: usize) -> Self {
        Self {
            operation: *operation,
            slot,
            makes: slot,
            after: 0,
            closes: false,
            after_file: 0,
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
    users: u32,
    moves: u32,
    names: u32,
}

#[derive(Debug, Default)]
struct Planner {
    keys: HashMap<Key, usize>,
    slots: Vec<Slot>,
    inherited: Vec<(usize, FileId, u64)>,
    threads: HashMap<(u32, u32), usize>,
    steps: Vec<Vec<Step>>,
    /// Of each file: the size it must begin with, the size it has got since, the steps on it.
    files: HashMap<FileId, (u64, u64, u32)>,
    writes: u64,
    left_out: u64,
    largest: u64,
}

impl Plan {
    /// Plans the replay of `operations`.
    #[must_use]
    pub fn new(operations: &[Operation], files: &Files, level: Level) -> Self {
        let mut planner = Planner::default();
        for operation in operations {
            if level == Level::Block && operation.kind == Kind::Flush {
                planner.left_out += 1;
                continue;
            }
            planner.add(operation);
        }
        let size = |at: usize| planner.files.get(&FileId(at as u32)).map(|file| file.0);
        Self {
            sizes: (0..files.paths().len()).map(size).collect(),
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
    operation.descriptor.is_some()
        && matches!(operation.kind, Kind::Read | Kind::Readv | Kind::Write | Kind::Writev | Kind::Seek)
}

impl Planner {
    fn add(&mut self, operation: &Operation) {
        let failed = operation.result.is_some_and(|result| result < 0);
        match operation.kind {
            Kind::Fork => {
                self.fork(operation);
                self.left_out += 1;
            }
            Kind::Map => self.left_out += 1,
            // What failed has changed nothing; of opens it is a search that many programs do.
            _ if failed && operation.kind != Kind::Open => self.left_out += 1,
            Kind::Open => self.open(operation, failed),
            kind if kind.access().is_some()
                && operation.descriptor.is_none()
                && operation.offset.is_none() =>
            {
                self.left_out += 1;
            }
            Kind::Truncate if operation.descriptor.is_none() => self.left_out += 1,
            Kind::Close => self.close(operation),
            _ => self.work(operation),
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
        self.files.entry(operation.file).or_default().2 += 1;
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

    fn new_slot(&mut self) -> usize {
        self.slots.push(Slot { names: 1, ..Slot::default() });
        self.slots.len() - 1
    }

    fn open(&mut self, operation: &Operation, failed: bool) {
        let file = self.files.entry(operation.file).or_default();
        let after_file = file.2;
        if operation.flags & O_TRUNC != 0 && !failed {
            file.1 = 0;
        }
        let slot = self.new_slot();
        if !failed {
            let number = operation.result.map_or(-1 - i64::from(operation.file.0), |number| number);
            self.keys.insert((operation.process, number), slot);
        }
        self.push(Step { after_file, ..Step::new(operation, slot) });
    }

    /// The description of a descriptor; one that no open in the trace has made was open before.
    fn slot(&mut self, operation: &Operation) -> usize {
        if let Some(slot) = self.keys.get(&key(operation)) {
            return *slot;
        }
        let slot = self.new_slot();
        let position = operation.offset.filter(|_| is_positional(operation) && operation.kind != Kind::Seek);
        self.inherited.push((slot, operation.file, position.unwrap_or(0)));
        self.files.entry(operation.file).or_default();
        self.keys.insert(key(operation), slot);
        slot
    }

    fn close(&mut self, operation: &Operation) {
        let Some(slot) = self.keys.remove(&key(operation)) else {
            self.left_out += 1;
            return;
        };
        let known = &mut self.slots[slot];
        known.names -= 1;
        let (after, closes) = (known.users, known.names == 0);
        known.users += 1;
        self.push(Step { after, closes, ..Step::new(operation, slot) });
    }

    fn work(&mut self, operation: &Operation) {
        let slot = self.slot(operation);
        let known = &mut self.slots[slot];
        known.users += 1;
        let mut after = 0;
        if is_positional(operation) {
            after = known.moves;
            known.moves += 1;
        }
        let mut makes = slot;
        if operation.kind == Kind::Dup {
            makes = self.new_slot();
            if let Some(number) = operation.result {
                self.keys.insert((operation.process, number), makes);
            }
        }
        self.size(operation);
        self.push(Step { makes, after, ..Step::new(operation, slot) });
    }

    /// A child begins with its parent's descriptors, which mean the same descriptions.
    fn fork(&mut self, operation: &Operation) {
        let Some(child) = operation.result.and_then(|child| u32::try_from(child).ok()) else { return };
        let parent = operation.process;
        let inherited: Vec<(i64, usize)> = self
            .keys
            .iter()
            .filter(|((process, _), _)| *process == parent)
            .map(|((_, key), slot)| (*key, *slot))
            .collect();
        for (number, slot) in inherited {
            self.slots[slot].names += 1;
            self.keys.insert((child, number), slot);
        }
    }

    /// A file begins with what is read of it and nobody has written before.
    fn size(&mut self, operation: &Operation) {
        let bytes = operation.moved_bytes();
        let end = operation.offset.unwrap_or(0).saturating_add(bytes);
        let (begins, now, _) = self.files.entry(operation.file).or_default();
        match operation.kind.access() {
            Some(Access::Read) if bytes > 0 && end > (*now).max(*begins) => *begins = end,
            Some(Access::Write) => {
                *now = (*now).max(end);
                self.writes = self.writes.saturating_add(bytes);
            }
            _ if operation.kind == Kind::Truncate => *now = operation.length,
            _ => {}
        }
        if operation.kind.access().is_some() {
            self.largest = self.largest.max(operation.length);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operation(kind: Kind, file: u32, descriptor: Option<i32>, offset: u64, length: u64) -> Operation {
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
            operation(Kind::Pwrite, 0, Some(3), 0, 1000),
            operation(Kind::Pread, 0, Some(3), 500, 500),
            operation(Kind::Pread, 1, Some(4), 4096, 4096),
            operation(Kind::Pread, 0, Some(3), 900, 700),
        ]);
        assert_eq!(plan.sizes, [Some(1600), Some(8192)]);
        assert_eq!((plan.writes, plan.laid_out(), plan.largest), (1000, 9792, 4096));
    }

    #[test]
    fn descriptions_are_told_apart_by_when_they_were_opened() {
        let open = Operation { result: Some(3), flags: 0, ..operation(Kind::Open, 0, None, 0, 0) };
        let close = Operation { result: Some(0), ..operation(Kind::Close, 0, Some(3), 0, 0) };
        let read = operation(Kind::Read, 0, Some(3), 0, 10);
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
}
