//! Threads that have several requests under way: what they hand over, wait for and reap, as
//! `fathom_run::executor::asynchronous` does it.
//!
//! A thread takes the CPU for each request that it hands over, and for each result that it takes. It hands over until so
//! many are under way as its engine has room for, then waits until enough have returned, and takes them.

use std::collections::VecDeque;

use fathom_net::{Span, Time};
use fathom_program::call::Call;
use fathom_program::program::{Step, Thread, stopwatch};

use super::{Issued, Progress};
use crate::io_path::state::State;
use crate::io_path::work::{Ready, Turn, Work};

/// How many requests a thread has under way, and how they are reaped. Source: fio's `iodepth` options.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Queueing {
    /// The most requests under way.
    pub depth: u32,
    /// The fewest results that are taken at a time once the queue is full.
    pub least: u32,
    /// The most results that are taken at a time once the queue is full.
    pub most: u32,
    /// The number of requests under way down to which results are taken.
    pub low: u32,
    /// CPU time to submit a request, in ns.
    pub submit_ns: f64,
    /// CPU time to take a result, in ns.
    pub reap_ns: f64,
    /// CPU time to wake up for a result, in ns.
    pub wake_ns: f64,
}

/// What a thread does once its CPU time for it is over.
#[derive(Clone, Copy, Debug)]
enum Act<L> {
    /// It submits a call, which takes this many ns of the call's latency.
    HandOver(Call, L, u64),
    /// It takes this many results.
    Reap(u32),
    End,
}

/// The requests of a thread.
#[derive(Debug)]
pub(super) struct UnderWay<L> {
    queueing: Queueing,
    /// Not reaped yet.
    busy: u32,
    /// Those of them that have returned.
    returned: VecDeque<Work>,
    act: Option<Act<L>>,
    /// Results are taken until no more requests than these are left.
    reaps_to: Option<u32>,
    /// Whether the thread waits for a result.
    is_asleep: bool,
    /// How often it has slept until one came.
    pub(super) sleeps: u64,
    /// Time of the CPU to wake up, if it was asleep, in ns.
    waking: f64,
    /// When its CPU time for the last of what it did is over, in ns.
    free: u64,
    /// What it waits for once nothing is under way.
    until: u64,
    is_over: bool,
}

impl<L> UnderWay<L> {
    pub(super) fn new(queueing: Queueing) -> Self {
        Self {
            queueing: Queueing { depth: queueing.depth.max(1), ..queueing },
            busy: 0,
            returned: VecDeque::new(),
            act: None,
            reaps_to: None,
            is_asleep: false,
            sleeps: 0,
            waking: 0.0,
            free: 0,
            until: 0,
            is_over: false,
        }
    }

    /// Whether results are to be taken now; none where nothing has to be reaped.
    fn may_reap(&mut self) -> Option<bool> {
        let target = self.reaps_to?;
        if self.busy <= target {
            self.reaps_to = None;
            return None;
        }
        let least = self.queueing.least.clamp(1, self.busy - target);
        Some(self.returned.len() as u32 >= least)
    }
}

impl<T: Thread, K> Progress<T, K> {
    /// What a thread does next, and after how much time of its CPU; none where it waits for a request or a call.
    pub(super) fn plan(&mut self, thread: usize, now: u64) -> Option<Ready> {
        let is_stopped = self.early.steady_since.is_some();
        let caller = &mut self.callers[thread];
        let (number, overhead) = (caller.made.count(), caller.overhead);
        let queue = caller.under_way.as_mut()?;
        let Queueing { depth, low, most, submit_ns, reap_ns, .. } = queue.queueing;
        let mut at = now.max(queue.free);
        let (act, work) = loop {
            match queue.may_reap() {
                Some(true) => {
                    let waking = std::mem::take(&mut queue.waking);
                    let results = (queue.returned.len() as u32).min(most);
                    let owed: u64 =
                        queue.returned.iter().take(results as usize).map(|work| work.owed_ns).sum();
                    break (Act::Reap(results), waking + reap_ns * f64::from(results) + owed as f64);
                }
                Some(false) => {
                    queue.is_asleep = true;
                    return None;
                }
                None => {}
            }
            if queue.is_over {
                break (Act::End, 0.0);
            }
            at = at.max(std::mem::take(&mut queue.until));
            let room = depth.min(caller.thread.depth()).max(1);
            if queue.busy >= room {
                queue.reaps_to = Some(low.min(room - 1));
                continue;
            }
            let step = if is_stopped { Step::End } else { caller.thread.next(at) };
            match step {
                Step::Call(call, label) => {
                    let [own, submit] = match call.kind.direction() {
                        Some(_) => [overhead.call_ns + overhead.of_bytes(&call, number), submit_ns],
                        None => [0.0; 2],
                    };
                    let of_call = (submit * caller.slowed).round() as u64;
                    break (Act::HandOver(call, label, of_call), own + submit);
                }
                Step::Wait(until) | Step::Spin(until) => (queue.reaps_to, queue.until) = (Some(0), until),
                Step::Drain | Step::Await => queue.reaps_to = Some(0),
                Step::Verify(begins) => caller.verified = stopwatch(caller.verified, at, begins),
                Step::StartCounting => caller.counts_from = Some((number, at)),
                Step::End => (queue.reaps_to, queue.is_over) = (Some(0), true),
            }
        };
        queue.act = Some(act);
        let work = (work * caller.slowed).round() as u64;
        let [wait, work] = [at - now, work].map(Span::ticks);
        Some(Ready { turn: Turn { job: thread as u32, number }, wait, work })
    }

    /// The thread has had its CPU time: what it does, and what it does after that.
    pub(super) fn issue_queued(
        &mut self,
        thread: usize,
        now: Time,
        state: &mut State,
        keep: fn(Call) -> K,
    ) -> Issued {
        let caller = &mut self.callers[thread];
        let number = caller.made.count();
        let turn = Turn { job: thread as u32, number };
        let Some(queue) = &mut caller.under_way else { return Issued::default() };
        queue.free = now.as_ticks();
        match queue.act.take() {
            Some(Act::HandOver(call, label, submit)) => {
                caller.made.calls.push((keep(call), label));
                let is_queued = call.kind.direction().is_some();
                queue.busy += u32::from(is_queued);
                // A call that is no request keeps the thread until it has returned.
                let next = if is_queued { self.plan(thread, now.as_ticks()) } else { None };
                Issued {
                    call: Some((turn, call, is_queued)),
                    next,
                    submit: Span::ticks(submit),
                    is_over: false,
                }
            }
            Some(Act::Reap(results)) => {
                queue.busy -= results;
                for work in queue.returned.drain(..results as usize) {
                    state.enter(&work, now);
                }
                Issued { next: self.plan(thread, now.as_ticks()), ..Issued::default() }
            }
            Some(Act::End) | None => Issued { is_over: true, ..Issued::default() },
        }
    }

    /// A request has returned, or a call that is none.
    pub(super) fn returned_queued(&mut self, work: &Work, now: u64) -> Option<Ready> {
        let thread = work.turn.job as usize;
        let queue = self.callers[thread].under_way.as_mut()?;
        if work.call.is_queued {
            queue.returned.push_back(*work);
            if !std::mem::take(&mut queue.is_asleep) {
                return None;
            }
            // It may not have gone to sleep yet.
            let slept = now >= queue.free;
            queue.sleeps += u64::from(slept);
            queue.waking = if slept { queue.queueing.wake_ns } else { 0.0 };
        }
        self.plan(thread, now)
    }
}
