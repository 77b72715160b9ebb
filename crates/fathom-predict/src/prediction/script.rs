//! A planned replay as the model's calls, and what no call of the model stands for.

use std::collections::BTreeMap;
use std::sync::Arc;

use fathom_model::io_path::{Call, Kind as Model};
use fathom_model::page_cache::FileId;
use fathom_sys::file::special_flags;
use fathom_trace::{Access, Kind};

use fathom_program::job::Direction;
use fathom_run::replay::{Begin, How, O_TRUNC, Pace, Plan, Step};

/// A replay as the model can run it.
#[derive(Debug, Clone)]
pub struct Script {
    /// Each thread's calls.
    pub(super) threads: Vec<Vec<Line>>,
    /// Size of each file at first.
    pub(super) sizes: Vec<u64>,
    /// How many paths there are.
    pub(super) paths: usize,
    /// How many descriptions there are, and those that are open at first.
    pub(super) slots: usize,
    pub(super) inherited: Vec<usize>,
    pub(super) how: How,
}

/// A call and what it waits for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line {
    pub(super) call: Call,
    /// Which of its file's descriptors the call goes through.
    pub(super) descriptor: u32,
    pub(super) what: What,
    /// When it began in the trace, from the first on, and how long after its thread's last one ended, in ns.
    pub(super) start_ns: u64,
    pub(super) pause_ns: u64,
    /// Place of the file, its paths, the description that it works on, and one that it opens.
    pub(super) file: usize,
    pub(super) path: usize,
    pub(super) to: Option<usize>,
    pub(super) slot: usize,
    pub(super) opens: Option<usize>,
    /// Whether those who share its position count it, and those who close.
    pub(super) is_move: bool,
    pub(super) is_use: bool,
    pub(super) until: Until,
    pub(super) after_thread: Option<Begin>,
}

/// What a call is to whoever counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    /// It moves so many bytes; in order if it begins where the last one on its file ended.
    Transfer(Direction, u64, bool),
    Sync,
    Other,
}

/// How many steps on its paths, its description or the description's position a call waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Until {
    Paths(u32, u32),
    Uses(u32),
    Moves(u32),
}

/// Files of more bytes than this are not simulated.
const MOST_BYTES: u64 = 1 << 36;

/// What the translation goes by: the trace's steps in the order of their times.
struct Translator<'a> {
    plan: &'a Plan,
    sizes: Vec<u64>,
    /// Where the last access to each file ended.
    ends: Vec<u64>,
    refused: BTreeMap<String, u64>,
    /// The descriptor that each description is in the model, and how many each file has.
    descriptors: Vec<Option<u32>>,
    counts: Vec<u32>,
}

impl Script {
    /// Translates a plan.
    ///
    /// # Errors
    /// What the model can't express, each kind with its count.
    pub fn new(plan: &Plan, how: How) -> Result<Arc<Self>, String> {
        let bytes = plan.laid_out().saturating_add(plan.writes);
        if bytes > MOST_BYTES {
            return Err(format!(
                "its files hold {bytes} bytes, and {MOST_BYTES} are the most to be simulated"
            ));
        }
        let mut translator = Translator {
            plan,
            sizes: plan.files.clone(),
            ends: vec![0; plan.files.len()],
            refused: BTreeMap::new(),
            descriptors: vec![None; plan.slots],
            counts: vec![0; plan.files.len()],
        };
        let order = in_order(plan);
        let mut threads: Vec<Vec<Line>> =
            plan.threads.iter().map(|steps| Vec::with_capacity(steps.len())).collect();
        for &(thread, at) in &order {
            let line = translator.line(thread, at);
            threads[thread].push(line);
        }
        if !translator.refused.is_empty() {
            let named = |(what, count): (&String, &u64)| format!("{count} x {what}");
            let all: Vec<String> = translator.refused.iter().map(named).collect();
            return Err(format!("the model has no part for {}", all.join("; ")));
        }
        Ok(Arc::new(Self {
            threads,
            sizes: plan.files.clone(),
            paths: plan.sizes.len(),
            slots: plan.slots,
            inherited: plan.inherited.iter().map(|(slot, ..)| *slot).collect(),
            how,
        }))
    }

    /// How long it takes in ns if each call takes what `price` says of its file's number and itself, and threads go on
    /// at their times and after one another.
    pub fn length_ns(&self, mut price: impl FnMut(u32, Call) -> f64) -> f64 {
        let mut order: Vec<(u64, usize, usize)> = Vec::new();
        for (thread, lines) in self.threads.iter().enumerate() {
            order.extend(lines.iter().enumerate().map(|(at, line)| (line.start_ns, thread, at)));
        }
        order.sort_unstable();
        let mut ends = vec![0.0_f64; self.threads.len()];
        for (_, thread, at) in order {
            let line = &self.threads[thread][at];
            let begin = line.after_thread.map_or(0.0, |begin| ends[begin.thread]);
            let begin = ends[thread].max(begin);
            let pause = match self.how.pace {
                Pace::Fast => 0,
                Pace::Think => line.pause_ns + line.after_thread.map_or(0, |begin| begin.pause_ns),
                Pace::Recorded => line.start_ns.saturating_sub(begin as u64),
            };
            ends[thread] = begin + pause as f64 + price(line.file as u32, line.call);
        }
        ends.into_iter().fold(0.0, f64::max)
    }

    /// Size of each file at first, in bytes.
    pub fn sizes(&self) -> impl Iterator<Item = u64> {
        self.sizes.iter().copied()
    }

    /// How it is replayed.
    pub fn how(&self) -> How {
        self.how
    }

    /// The trace's steps that count as `direction`, with whether they are in order.
    pub(super) fn orders(&self, direction: Direction) -> impl Iterator<Item = bool> {
        self.threads.iter().flatten().filter_map(move |line| match line.what {
            What::Transfer(way, _, in_order) if way == direction => Some(in_order),
            _ => None,
        })
    }

    /// Whether anything waits for the device by asking for it.
    pub(super) fn syncs(&self) -> bool {
        self.threads.iter().flatten().any(|line| line.what == What::Sync)
    }
}

/// Thread and place of every step, by the time at which it began; a thread's own stay in their order.
fn in_order(plan: &Plan) -> Vec<(usize, usize)> {
    let mut order = Vec::new();
    for (thread, steps) in plan.threads.iter().enumerate() {
        let mut latest = i64::MIN;
        for (at, step) in steps.iter().enumerate() {
            latest = latest.max(step.operation.start_ns);
            order.push((latest, thread, at));
        }
    }
    order.sort_unstable();
    order.into_iter().map(|(_, thread, at)| (thread, at)).collect()
}

/// The flags that a replay opens with: where the source tells no result it tells no flags either.
fn flags(step: &Step) -> u32 {
    if step.operation.result.is_some() { step.operation.flags } else { 2 }
}

impl Translator<'_> {
    fn refuse(&mut self, what: &str) {
        *self.refused.entry(what.to_owned()).or_default() += 1;
    }

    /// A description's descriptor. One that was duplicated is the same.
    fn descriptor(&mut self, step: &Step) -> u32 {
        let count = &mut self.counts[step.file];
        let descriptor = *self.descriptors[step.slot].get_or_insert_with(|| {
            *count += 1;
            *count - 1
        });
        if step.operation.kind == Kind::Dup {
            self.descriptors[step.makes] = Some(descriptor);
        }
        descriptor
    }

    fn line(&mut self, thread: usize, at: usize) -> Line {
        let step = &self.plan.threads[thread][at];
        let operation = step.operation;
        let file = step.file;
        let what = self.what(step);
        let (kind, model_file) = self.kind(step);
        let descriptor = self.descriptor(step);
        let since = |from: i64| u64::try_from(operation.start_ns.saturating_sub(from)).unwrap_or(0);
        let before = at.checked_sub(1).map(|before| self.plan.threads[thread][before].end_ns());
        let offset = operation.offset.unwrap_or(0);
        let bytes = operation.length;
        if let What::Transfer(direction, moved, _) = what {
            self.ends[file] = offset.saturating_add(moved);
            if direction == Direction::Write {
                self.sizes[file] = self.sizes[file].max(offset.saturating_add(bytes));
            }
        }
        let failed = operation.result.is_some_and(|result| result < 0);
        let names = matches!(operation.kind, Kind::Open | Kind::Unlink | Kind::Rename);
        Line {
            call: Call { kind, file: model_file, offset, bytes, fresh_pages: 0 },
            descriptor,
            what,
            start_ns: since(self.plan.first_ns),
            pause_ns: before.map_or(0, since),
            file,
            path: operation.file.0 as usize,
            to: operation.to.map(|to| to.0 as usize),
            slot: step.slot,
            opens: match operation.kind {
                Kind::Open if !failed => Some(step.slot),
                Kind::Dup => Some(step.makes),
                _ => None,
            },
            is_move: matches!(
                operation.kind,
                Kind::Read | Kind::Readv | Kind::Write | Kind::Writev | Kind::Seek
            ),
            is_use: !names,
            until: match operation.kind {
                _ if names => Until::Paths(step.after_file, step.after_to),
                Kind::Close => Until::Uses(step.after),
                _ => Until::Moves(step.after),
            },
            after_thread: step.after_thread,
        }
    }

    fn what(&self, step: &Step) -> What {
        let operation = &step.operation;
        let in_order = operation.offset == Some(self.ends[step.file]);
        match (operation.kind.access(), operation.kind) {
            (Some(Access::Read), _) => What::Transfer(Direction::Read, operation.moved_bytes(), in_order),
            (Some(Access::Write), _) => What::Transfer(Direction::Write, operation.moved_bytes(), in_order),
            (None, Kind::Fsync | Kind::Fdatasync | Kind::SyncRange) => What::Sync,
            _ => What::Other,
        }
    }

    /// The model's call for a step, and the file that it goes to; a file of its own for what changes none.
    fn kind(&mut self, step: &Step) -> (Model, FileId) {
        let operation = &step.operation;
        let file = step.file;
        let (same, none) = (FileId(file as u32), FileId(self.plan.files.len() as u32));
        let access = operation.kind.access();
        if access.is_some() && operation.offset.is_none() {
            self.refuse("reads or writes at a place that the trace does not tell");
        }
        // Its pages go, those that were never written too.
        if let Some(freed) = step.frees {
            return (Model::Create, FileId(freed as u32));
        }
        match (access, operation.kind) {
            (Some(_), _) if operation.length == 0 => (Model::Seek, none),
            (Some(Access::Read), _) => (Model::Read, same),
            (Some(Access::Write), _) => (Model::Write, same),
            (None, Kind::Open) => self.open(step, same, none),
            (None, Kind::Close) => (Model::Close, none),
            // At the price of an open, which looks a path up as they do.
            (None, Kind::Unlink | Kind::Rename) => (Model::Open, none),
            (None, Kind::Fsync) => (Model::Sync, same),
            (None, Kind::Fdatasync) => (Model::SyncData, same),
            (None, Kind::SyncRange) => (Model::WriteOut, same),
            (None, Kind::Truncate) if operation.length == self.sizes[file] => (Model::Seek, none),
            (None, Kind::Truncate) if operation.length == 0 => {
                self.sizes[file] = 0;
                (Model::Create, same)
            }
            (None, kind @ (Kind::Truncate | Kind::Allocate | Kind::Discard)) => {
                self.refuse(kind.name());
                (Model::Seek, none)
            }
            // Calls that cost as little: a dup.
            _ => (Model::Seek, none),
        }
    }

    fn open(&mut self, step: &Step, same: FileId, none: FileId) -> (Model, FileId) {
        let size = &mut self.sizes[step.file];
        if step.operation.result.is_some_and(|result| result < 0) {
            return (Model::Open, none);
        }
        if flags(step) & O_TRUNC != 0 && std::mem::take(size) > 0 {
            return (Model::Create, same);
        }
        if let Some(flag) = special_flags(flags(step)) {
            self.refuse(&format!("open with {flag}"));
        }
        (Model::Open, same)
    }
}
