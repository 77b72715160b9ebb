//! A planned replay as a program: each thread's steps, when they begin, and what they wait for.

use std::sync::Arc;

use fathom_program::call::{Call, CallKind, FileId};
use fathom_program::program::{Await, Program, Step as Next, Thread};

use super::{Pace, Plan, Step, is_positional};

/// One thread of a replay.
#[derive(Debug)]
pub struct ReplayCalls {
    plan: Arc<Plan>,
    thread: usize,
    pace: Pace,
    ticks_per_ns: f64,
    /// Which step is next, and what of it is done.
    next: usize,
    stage: Stage,
    last_end: u64,
    awaits: Vec<Await>,
    signals: Vec<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Its thread begins after a step of another.
    Begin,
    /// And pauses as long as in the trace.
    Pause,
    /// It waits for steps on what it works on.
    Await,
    /// It waits for its time.
    Pace,
    Call,
}

impl Plan {
    /// The program of a replay. Its descriptors are the plan's slots, its paths the trace's; behind those stand as many
    /// that nothing has, for opens that found nothing.
    pub fn program(self: &Arc<Self>, pace: Pace, ticks_per_second: f64) -> Program<ReplayCalls> {
        let thread = |thread| ReplayCalls {
            plan: Arc::clone(self),
            thread,
            pace,
            ticks_per_ns: ticks_per_second / 1e9,
            next: 0,
            stage: Stage::Begin,
            last_end: 0,
            awaits: Vec::with_capacity(2),
            signals: Vec::with_capacity(6),
        };
        let threads = self.threads.len();
        let mut counters = vec![0; 3 * self.slots + self.sizes.len() + threads];
        self.inherited.iter().for_each(|(slot, ..)| counters[*slot] = 1);
        Program { threads: (0..threads).map(thread).collect(), counters }
    }

    /// The counters: a slot is open, uses of it, moves of its position; steps on a path; steps of a thread.
    fn open(&self, slot: usize) -> u32 {
        slot as u32
    }

    fn used(&self, slot: usize) -> u32 {
        (self.slots + slot) as u32
    }

    fn moved(&self, slot: usize) -> u32 {
        (2 * self.slots + slot) as u32
    }

    fn on_path(&self, path: crate::FileId) -> u32 {
        3 * self.slots as u32 + path.0
    }

    fn done(&self, thread: usize) -> u32 {
        (3 * self.slots + self.sizes.len() + thread) as u32
    }
}

impl Step {
    /// Whether it is an open that found nothing.
    fn has_failed(&self) -> bool {
        self.operation.result.is_some_and(|result| result < 0)
    }

    /// The call that a replay makes for it, where the trace has so many paths. Of a close, the flags are 1 where
    /// another descriptor still means the same description: then nothing is closed.
    pub fn call(&self, paths: usize) -> Call {
        let operation = &self.operation;
        let kind = match (operation.kind, operation.descriptor) {
            (CallKind::Read | CallKind::Readv, None) => CallKind::Pread,
            (CallKind::Write | CallKind::Writev, None) => CallKind::Pwrite,
            (kind, _) => kind,
        };
        let absent = if kind == CallKind::Open && self.has_failed() { paths as u32 } else { 0 };
        Call {
            kind,
            file: FileId(self.file as u32),
            descriptor: self.slot as u32,
            path: operation.file.0 + absent,
            to: match kind {
                CallKind::Dup => self.makes as u32,
                _ => operation.to.map_or(0, |to| to.0),
            },
            offset: operation.offset.unwrap_or(0),
            bytes: operation.length,
            flags: match kind {
                // A source that tells no result tells no flags either: for reading and writing then.
                CallKind::Open if operation.result.is_none() => 2,
                CallKind::Close => u32::from(!self.closes),
                _ => operation.flags,
            },
            buffer: 0,
            fresh_pages: 0,
            frees: self.frees.map(|file| FileId(file as u32)),
        }
    }

    /// What it waits for.
    fn awaits(&self, plan: &Plan, awaits: &mut Vec<Await>) {
        let operation = &self.operation;
        let mut wait = |counter, least| awaits.push(Await { counter, least });
        match operation.kind {
            CallKind::Open | CallKind::Unlink | CallKind::Rename => {
                wait(plan.on_path(operation.file), self.after_file);
                operation.to.into_iter().for_each(|to| wait(plan.on_path(to), self.after_to));
            }
            CallKind::Close => {
                wait(plan.open(self.slot), 1);
                wait(plan.used(self.slot), self.after);
            }
            _ => {
                wait(plan.open(self.slot), 1);
                wait(plan.moved(self.slot), self.after);
            }
        }
    }

    /// What those that wait for it count.
    fn signals(&self, plan: &Plan, thread: usize, signals: &mut Vec<u32>) {
        let operation = &self.operation;
        match operation.kind {
            CallKind::Open if !self.has_failed() => signals.push(plan.open(self.slot)),
            CallKind::Dup => signals.push(plan.open(self.makes)),
            _ => {}
        }
        if is_positional(operation) {
            signals.push(plan.moved(self.slot));
        }
        if !matches!(operation.kind, CallKind::Open | CallKind::Unlink | CallKind::Rename) {
            signals.push(plan.used(self.slot));
        }
        let paths = [Some(operation.file), operation.to];
        signals.extend(paths.into_iter().flatten().map(|path| plan.on_path(path)));
        signals.push(plan.done(thread));
    }
}

impl ReplayCalls {
    fn ticks(&self, ns: u64) -> u64 {
        (ns as f64 * self.ticks_per_ns) as u64
    }

    /// When a step begins by the trace's times.
    fn begins(&self, step: &Step) -> u64 {
        let since = |from: i64| u64::try_from(step.operation.start_ns.saturating_sub(from)).unwrap_or(0);
        let steps = &self.plan.threads[self.thread];
        match self.pace {
            Pace::Fast => 0,
            Pace::Recorded => self.ticks(since(self.plan.first_ns)),
            Pace::Think => {
                let before = self.next.checked_sub(1).map(|before| steps[before].end_ns());
                self.last_end + self.ticks(before.map_or(0, since))
            }
        }
    }
}

impl Thread for ReplayCalls {
    /// The step's place in its thread.
    type Label = u32;

    fn next(&mut self, now: u64) -> Next<u32> {
        let plan = Arc::clone(&self.plan);
        let Some(step) = plan.threads[self.thread].get(self.next) else { return Next::End };
        loop {
            match (self.stage, step.after_thread) {
                (Stage::Begin, Some(begin)) => {
                    self.stage = Stage::Pause;
                    self.awaits.clear();
                    self.awaits.push(Await { counter: plan.done(begin.thread), least: begin.steps });
                    return Next::Await;
                }
                (Stage::Pause, Some(begin)) if self.pace == Pace::Think => {
                    self.stage = Stage::Await;
                    return Next::Wait(now + self.ticks(begin.pause_ns));
                }
                (Stage::Begin, None) => {
                    self.last_end = now;
                    self.stage = Stage::Await;
                }
                (Stage::Pause, _) => self.stage = Stage::Await,
                (Stage::Await, _) => {
                    self.awaits.clear();
                    step.awaits(&plan, &mut self.awaits);
                    self.stage = Stage::Pace;
                    return Next::Await;
                }
                (Stage::Pace, _) => {
                    self.stage = Stage::Call;
                    let begins = self.begins(step);
                    if begins > now {
                        return Next::Wait(begins);
                    }
                }
                (Stage::Call, _) => {
                    self.signals.clear();
                    step.signals(&plan, self.thread, &mut self.signals);
                    (self.stage, self.next) = (Stage::Begin, self.next + 1);
                    return Next::Call(step.call(plan.sizes.len()), self.next as u32 - 1);
                }
            }
        }
    }

    fn awaits(&self) -> &[Await] {
        &self.awaits
    }

    fn signals(&self) -> &[u32] {
        &self.signals
    }
}
