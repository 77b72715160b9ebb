//! The application: the threads of a program, that call, wait, and call again.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use fathom_net::{NetBuilder, Place, Span, Time};
use fathom_program::call::{Call, CallKind, Direction, FileId};
use fathom_program::program::{Await, Program, Step, Thread};

use super::places::Shared;
use super::state::State;
use super::work::{Turn, Work};
use crate::file_read::Read;

/// `O_TRUNC` of open(2).
const O_TRUNC: u32 = 0o1000;

/// What a thread does itself between two calls.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Overhead {
    /// For each call, in ns.
    pub call_ns: f64,
    /// For each byte that is written, in ns.
    pub written_byte_ns: f64,
    /// Whether it is done while the thread waits for a moment, if it does, and not after the wait.
    pub is_within_waits: bool,
}

/// A program on the net, and the calls that it has made.
#[derive(Debug)]
pub struct Load<T: Thread> {
    overhead: Overhead,
    /// The machine's file for each file of the program; the same number where there is none.
    files: Vec<FileId>,
    progress: Mutex<Progress<T>>,
}

#[derive(Debug)]
struct Progress<T: Thread> {
    callers: Vec<Caller<T>>,
    counters: Vec<u32>,
    /// Which of its file's descriptors each descriptor of the program is, and how many each file has.
    descriptors: BTreeMap<(FileId, u32), u32>,
    counts: BTreeMap<FileId, u32>,
}

/// A thread, with the call that it makes next.
#[derive(Debug)]
struct Caller<T: Thread> {
    thread: T,
    next: Option<(Call, T::Label)>,
    /// The moment that it decided so at, and how long it waits from then, in ns.
    decided: u64,
    wait: u64,
    is_held: bool,
    last_end: u64,
    made: Vec<(Call, T::Label)>,
}

/// What the net asks of a program.
pub(crate) trait Application: Send + Sync {
    fn jobs(&self) -> u32;
    /// Whether a thread begins at once, and not after another's call.
    fn begins(&self, job: u32) -> bool;
    /// How long a thread waits before its next call, in ns.
    fn wait_ns(&self, job: u32) -> u64;
    /// The next call, and which of its file's descriptors it goes through; none once the thread is done.
    fn call(&self, job: u32, now: Time) -> Option<(Call, u32)>;
    /// A call has returned: who goes on, and with its call of which number.
    fn returned(&self, job: u32, now: Time) -> Vec<Turn>;
}

impl<T: Thread> Load<T> {
    /// A program whose files are the machine's.
    pub fn new(program: Program<T>) -> Self {
        Self::with(program, Vec::new(), Overhead::default())
    }

    /// A program, the machine's file for each of its files, and what its threads do between two calls.
    pub fn with(program: Program<T>, files: Vec<FileId>, overhead: Overhead) -> Self {
        let caller = |thread| Caller {
            thread,
            next: None,
            decided: 0,
            wait: 0,
            is_held: false,
            last_end: 0,
            made: Vec::new(),
        };
        let mut progress = Progress {
            callers: program.threads.into_iter().map(caller).collect(),
            counters: program.counters,
            descriptors: BTreeMap::new(),
            counts: BTreeMap::new(),
        };
        (0..progress.callers.len()).for_each(|thread| progress.decide(thread, 0, overhead));
        Self { overhead, files, progress: Mutex::new(progress) }
    }

    fn progress<R>(&self, act: impl FnOnce(&mut Progress<T>) -> R) -> R {
        // Whoever panicked here ends the run anyway.
        act(&mut self.progress.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The calls that each thread has made, in order; they are handed out once.
    pub fn take_made(&self) -> Vec<Vec<(Call, T::Label)>> {
        let take = |caller: &mut Caller<T>| std::mem::take(&mut caller.made);
        self.progress(|progress| progress.callers.iter_mut().map(take).collect())
    }
}

impl<T: Thread> Progress<T> {
    fn is_free(&self, awaits: &[Await]) -> bool {
        awaits.iter().all(|one| self.counters[one.counter as usize] >= one.least)
    }

    /// Asks a thread for its next call, and when it makes it.
    fn decide(&mut self, thread: usize, now: u64, overhead: Overhead) {
        let mut at = now;
        let next = loop {
            match self.callers[thread].thread.next(at) {
                Step::Call(call, label) => break Some((call, label)),
                Step::Wait(until) => at = at.max(until),
                Step::Await if self.is_free(self.callers[thread].thread.awaits()) => {}
                Step::Await => {
                    self.callers[thread].is_held = true;
                    return;
                }
                Step::StartCounting | Step::Drain => {}
                Step::End => break None,
            }
        };
        let caller = &mut self.callers[thread];
        let is_first = caller.made.is_empty();
        let own = next.map_or(0.0, |(call, _)| {
            let written = if call.kind.is_write() { call.bytes as f64 } else { 0.0 };
            let counts = call.kind.direction().is_some() || overhead.is_within_waits;
            if counts { overhead.call_ns + written * overhead.written_byte_ns } else { 0.0 }
        });
        caller.wait = match (next, overhead.is_within_waits) {
            (None, _) => 0,
            (_, false) => at - now + own.round() as u64,
            (_, true) if is_first => at - now,
            (_, true) => at.max(caller.last_end + own as u64) - now,
        };
        (caller.next, caller.decided, caller.is_held) = (next, now, false);
    }

    /// Which of its file's descriptors a call goes through.
    fn descriptor(&mut self, call: &Call) -> u32 {
        let count = self.counts.entry(call.file).or_default();
        let descriptor = *self.descriptors.entry((call.file, call.descriptor)).or_insert_with(|| {
            *count += 1;
            *count - 1
        });
        if call.kind == CallKind::Dup {
            self.descriptors.insert((call.file, call.to), descriptor);
        }
        descriptor
    }
}

impl<T: Thread + Send> Application for Load<T> {
    fn jobs(&self) -> u32 {
        self.progress(|progress| progress.callers.len() as u32)
    }

    fn begins(&self, job: u32) -> bool {
        self.progress(|progress| !progress.callers[job as usize].is_held)
    }

    fn wait_ns(&self, job: u32) -> u64 {
        self.progress(|progress| progress.callers[job as usize].wait)
    }

    fn call(&self, job: u32, now: Time) -> Option<(Call, u32)> {
        let (job, now) = (job as usize, now.as_ticks());
        self.progress(|progress| {
            let ends = progress.callers[job].thread.ends();
            if progress.callers[job].decided < ends && ends <= now {
                // Its time was up while it waited.
                progress.decide(job, now, self.overhead);
            }
            let (call, label) = progress.callers[job].next.take()?;
            progress.callers[job].made.push((call, label));
            let descriptor = progress.descriptor(&call);
            let file = |id: FileId| self.files.get(id.0 as usize).copied().unwrap_or(id);
            Some((Call { file: file(call.file), frees: call.frees.map(file), ..call }, descriptor))
        })
    }

    fn returned(&self, job: u32, now: Time) -> Vec<Turn> {
        let (job, now) = (job as usize, now.as_ticks());
        self.progress(|progress| {
            let Progress { callers, counters, .. } = progress;
            callers[job].thread.signals().iter().for_each(|&counter| counters[counter as usize] += 1);
            callers[job].last_end = now;
            let held: Vec<usize> = (0..callers.len()).filter(|&other| callers[other].is_held).collect();
            let mut goes_on = Vec::new();
            for thread in [job].into_iter().chain(held) {
                let caller = &progress.callers[thread];
                if thread == job || progress.is_free(caller.thread.awaits()) {
                    progress.decide(thread, now, self.overhead);
                }
                let caller = &progress.callers[thread];
                if !caller.is_held {
                    goes_on.push(Turn { job: thread as u32, number: caller.made.len() as u64 });
                }
            }
            goes_on
        })
    }
}

/// A call in the words of the layers below: what costs as much and changes the same.
fn served(call: Call, state: &State) -> Call {
    if let Some(file) = call.frees {
        // Its pages go, those that were never written too.
        return Call { kind: CallKind::Create, file, ..call };
    }
    let kind = match call.kind {
        kind if kind.direction().is_some() && call.bytes == 0 => CallKind::Seek,
        kind => match kind.direction() {
            Some(Direction::Read) => CallKind::Read,
            Some(Direction::Write) => CallKind::Write,
            None => kind,
        },
    };
    let kind = match kind {
        CallKind::Open if call.flags & O_TRUNC != 0 && state.size(call.file) > 0 => CallKind::Create,
        CallKind::Truncate if call.bytes == 0 && state.size(call.file) > 0 => CallKind::Create,
        // There is no other file system.
        CallKind::Syncfs => CallKind::Sync,
        CallKind::DontNeed => CallKind::Evict,
        kind => kind,
    };
    Call { kind, ..call }
}

/// Ports: `calls` out, `returned` in. A closed loop: a job has one call under way, or thinks, or waits
/// for another's; or it has ended.
pub(super) fn draw(net: &mut NetBuilder, program: Arc<dyn Application>, calls: Place<Work>, shared: Shared) {
    let (calls, returned) = (net.port_out(calls), net.port_in(shared.returned));
    let kernel = net.fusion("kernel", shared.state);
    let (ready, ended) = (net.place::<Turn>("ready"), net.place("ended"));
    net.initial(
        ready,
        (0..program.jobs()).filter(|&job| program.begins(job)).map(|job| Turn { job, number: 0 }),
    );
    let (waits, goes_on) = (Arc::clone(&program), Arc::clone(&program));
    net.transition("issue")
        .input(ready)
        .delay_by(move |(turn,), _| Span::ticks(waits.wait_ns(turn.job)))
        .update_into(kernel, (calls, ended), move |(turn,), state, firing| {
            let Some((call, descriptor)) = program.call(turn.job, firing.done()) else {
                state.ledger.end_job();
                return (None, Some(()));
            };
            let call = served(call, state);
            let work = Work {
                turn: *turn,
                call,
                descriptor,
                begun: firing.done(),
                read: Read::new(
                    call.file,
                    call.offset,
                    call.bytes,
                    state.files.reader(call.file, descriptor),
                ),
                owed_ns: 0,
                far_ns: 0,
                copied: 0,
                pause_ns: 0,
            };
            (Some(work), None)
        })
        .add();
    net.transition("go on")
        .input(returned)
        .update(kernel, |(work,), state, firing| state.enter(work, firing.now()))
        .output_each(ready, move |(work,), firing| goes_on.returned(work.turn.job, firing.now()))
        .add();
}

impl State {
    /// Enters a call that has returned.
    fn enter(&mut self, work: &Work, now: Time) {
        let call = work.call;
        self.clock.note(now);
        let looked = (call.kind == CallKind::Look).then(|| self.cached(call.file, call.offset, call.bytes));
        self.ledger.enter(work, looked, &self.clock, now);
    }
}
