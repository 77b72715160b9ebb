//! The application: the threads of a program, that call, wait, and call again.

mod descriptors;
mod ends;
mod mapped;
mod overhead;
mod queued;
mod served;
mod steady;

use std::sync::{Arc, Mutex, PoisonError};

use fathom_net::{NetBuilder, Place, Span, Time};
use fathom_program::call::{Call, CallKind, FileId};
use fathom_program::program::{Await, Program, Step, Thread, stopwatch};

use self::descriptors::Descriptors;
pub use self::ends::Ends;
use self::ends::Stage;
use self::mapped::Mapped;
pub use self::overhead::Overhead;
pub use self::queued::Queueing;
use self::queued::UnderWay;
use self::served::served;
use self::steady::{Cut, Early, Watch};
use super::places::Shared;
use super::state::State;
use super::work::{Ready, SystemCall, Turn, Work};
use crate::file_read::Read;

/// Whether a call is what a job counts as a transfer: trims are.
fn is_transfer(call: &Call) -> bool {
    call.kind.direction().is_some() || call.kind == CallKind::Discard
}

/// A program on the net, with what is kept of the calls that it has made.
#[derive(Debug)]
pub struct Load<T: Thread, K = Call> {
    /// The machine's file for each file of the program; the same number where there is none.
    files: Vec<FileId>,
    keep: fn(Call) -> K,
    progress: Mutex<Progress<T, K>>,
}

#[derive(Debug)]
struct Progress<T: Thread, K> {
    callers: Vec<Caller<T, K>>,
    counters: Vec<u32>,
    /// The descriptors of each file of the program, and how many each file of the machine has.
    descriptors: Vec<Descriptors>,
    descriptor_counts: Vec<u32>,
    ends: Ends,
    /// What ends the run before its threads.
    early: Early,
}

/// A thread, with the call that it makes next.
#[derive(Debug)]
struct Caller<T: Thread, K> {
    thread: T,
    stage: Stage,
    /// When others ended it, in ns.
    stopped: Option<u64>,
    overhead: Overhead,
    next: Option<(Call, T::Label)>,
    /// The moment that it decided so at, and how long it waits from then, in ns.
    decided: u64,
    wait: u64,
    /// How long it then takes the CPU, in ns.
    work: u64,
    is_held: bool,
    last_end: u64,
    made: Made<(K, T::Label)>,
    /// Its requests, if it may have several under way.
    under_way: Option<Box<UnderWay<T::Label>>>,
    /// The first call that counts, and when counting began; none where all count.
    counts_from: Option<(u64, u64)>,
    /// How long what was written was read again, in ns, less when that began where it still is.
    verified: u64,
    /// How many times as long its work took at last, because other CPUs worked as well.
    slowed: f64,
    mapped: Mapped,
}

/// The calls that a thread has made, in order, but for those that were handed out.
#[derive(Debug)]
struct Made<C> {
    handed_out: u64,
    calls: Vec<C>,
}

impl<C> Made<C> {
    /// How many there are, with those that were handed out.
    fn count(&self) -> u64 {
        self.handed_out + self.calls.len() as u64
    }

    fn hand_out(&mut self) -> Vec<C> {
        self.handed_out = self.count();
        std::mem::take(&mut self.calls)
    }
}

/// What a thread does once it has its turn.
#[derive(Debug, Default)]
pub(crate) struct Issued {
    /// The call that it makes, its number, and whether it goes on meanwhile.
    call: Option<(Turn, Call, bool)>,
    /// What it does next, unless it waits.
    next: Option<Ready>,
    /// Time of the CPU that handing the call over took, which is part of its latency.
    submit: Span,
    /// Whether that was its last turn.
    is_over: bool,
}

/// What the net asks of a program.
pub(crate) trait Application: Send + Sync {
    fn jobs(&self) -> u32;
    /// The first call of a thread that begins at once, and not after another's call.
    fn first(&self, job: u32) -> Option<Ready>;
    /// A thread's turn: its call, if any, with its start; what it does next, unless it waits for the call; and whether it is done.
    fn issue(
        &self,
        ready: &Ready,
        now: Time,
        state: &mut State,
    ) -> (Option<(Turn, SystemCall, Time)>, Option<Ready>, bool);
    /// A call has returned: whether its thread goes on, and which of those that waited for it do.
    fn returned(&self, work: &Work, now: Time) -> (Option<Ready>, Vec<Ready>);
    /// Whether a thread may be ended by another's end while it waits for a moment.
    fn ends_early(&self) -> bool;
    /// A thread has ended: which begin that waited for it.
    fn ended(&self, job: u32, now: Time) -> Vec<Ready>;
}

impl<T: Thread> Load<T, ()> {
    /// A program whose files have the machine's numbers. Nothing is kept of its calls.
    pub fn new(program: Program<T>) -> Self {
        Self::with(program, Vec::new(), |_| Overhead::default(), drop)
    }
}

impl<T: Thread, K> Load<T, K> {
    /// A program, the machine's file for each of its files, the work of its threads between calls, and what to keep of each call.
    pub fn with(
        program: Program<T>,
        files: Vec<FileId>,
        overhead: impl Fn(usize) -> Overhead,
        keep: fn(Call) -> K,
    ) -> Self {
        let caller = |(number, thread)| Caller {
            thread,
            stage: Stage::Awaits,
            stopped: None,
            overhead: overhead(number),
            next: None,
            decided: 0,
            wait: 0,
            work: 0,
            is_held: false,
            last_end: 0,
            made: Made { handed_out: 0, calls: Vec::new() },
            under_way: None,
            counts_from: None,
            verified: 0,
            slowed: 1.0,
            mapped: Mapped::default(),
        };
        let progress = Progress {
            callers: program.threads.into_iter().enumerate().map(caller).collect(),
            counters: program.counters,
            descriptors: Vec::new(),
            descriptor_counts: Vec::new(),
            ends: Ends::default(),
            early: Early::default(),
        };
        Self { files, keep, progress: Mutex::new(progress) }
    }

    /// The same load with several requests of some threads under way; by thread, none where calls are made one by one.
    #[must_use]
    pub fn queued(self, queueing: &[Option<Queueing>]) -> Self {
        self.progress(|progress| {
            for (caller, &queueing) in progress.callers.iter_mut().zip(queueing) {
                caller.under_way = queueing.map(|queueing| Box::new(UnderWay::new(queueing)));
            }
        });
        self
    }

    /// The same load, ended once the rate from `from` ns on is steady and memory does not change or, if `may_fill`, fills evenly; or
    /// `long` ns later once the rate is steady, whatever goes on in memory.
    #[must_use]
    pub fn until_steady(self, from: u64, may_fill: bool, long: u64) -> Self {
        self.progress(|progress| progress.early.watch = Some(Watch::new(from, may_fill, long)));
        self
    }

    /// The same load, ended after so many calls from `from` ns on, whatever their rate does: the last half of the time counts as steady.
    #[must_use]
    pub fn at_most(self, calls: u64, from: u64) -> Self {
        self.progress(|progress| progress.early.cut = Some(Cut { from, calls_left: calls }));
        self
    }

    /// Whether the run ended because it made as many calls as it might.
    pub fn is_cut(&self) -> bool {
        self.progress(|progress| progress.early.is_cut())
    }

    /// The time in ns from which calls came at a steady rate, if that ended the run before its threads.
    pub fn steady_since(&self) -> Option<u64> {
        self.progress(|progress| progress.early.steady_since)
    }

    /// How long each thread read again what it had written, in ns.
    pub fn verified(&self) -> Vec<u64> {
        self.progress(|progress| progress.callers.iter().map(|caller| caller.verified).collect())
    }

    /// How often each thread slept until one of several requests under way returned, for each call that it made.
    pub fn sleeps(&self) -> Vec<f64> {
        let of = |caller: &Caller<T, K>| {
            let sleeps = caller.under_way.as_ref().map_or(0, |queue| queue.sleeps);
            sleeps as f64 / caller.made.count().max(1) as f64
        };
        self.progress(|progress| progress.callers.iter().map(of).collect())
    }

    /// The number of each thread's first call that counts, and when that began, in ns; none where all calls count.
    pub fn counts_from(&self) -> Vec<Option<(u64, u64)>> {
        self.progress(|progress| progress.callers.iter().map(|caller| caller.counts_from).collect())
    }

    fn progress<R>(&self, act: impl FnOnce(&mut Progress<T, K>) -> R) -> R {
        // A thread that panicked here ends the run anyway.
        act(&mut self.progress.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// What is kept of the calls of each thread, in order. Each entry is handed out once.
    pub fn take_made(&self) -> Vec<Vec<(K, T::Label)>> {
        let take = |caller: &mut Caller<T, K>| caller.made.hand_out();
        self.progress(|progress| progress.callers.iter_mut().map(take).collect())
    }
}

impl<T: Thread, K> Progress<T, K> {
    fn is_free(&self, awaits: &[Await]) -> bool {
        awaits.iter().all(|one| self.counters[one.counter as usize] >= one.least)
    }

    /// Asks a thread for its next call, and when it makes it.
    fn decide(&mut self, thread: usize, now: u64) {
        let mut at = now;
        let next = loop {
            if self.early.steady_since.is_some() {
                break None;
            }
            match self.callers[thread].thread.next(at) {
                Step::Call(call, label) => break Some((call, label)),
                Step::Wait(until) | Step::Spin(until) => at = at.max(until),
                Step::Await if self.is_free(self.callers[thread].thread.awaits()) => {}
                Step::Await => {
                    self.callers[thread].is_held = true;
                    return;
                }
                Step::Drain => {}
                Step::Verify(begins) => {
                    let verified = &mut self.callers[thread].verified;
                    *verified = stopwatch(*verified, at, begins);
                }
                Step::StartCounting => {
                    let caller = &mut self.callers[thread];
                    caller.counts_from = Some((caller.made.count(), at));
                }
                Step::End => break None,
            }
        };
        let caller = &mut self.callers[thread];
        let (number, overhead, slowed) = (caller.made.count(), caller.overhead, caller.slowed);
        let own = next.map_or(0.0, |(call, _)| {
            let written = if call.kind.is_write() { call.bytes as f64 } else { 0.0 };
            let counts = is_transfer(&call) || overhead.is_within_waits;
            let own = overhead.call_ns + written * overhead.written_byte_ns;
            if counts { slowed * (own + overhead.of_bytes(&call, number)) } else { 0.0 }
        });
        (caller.wait, caller.work) = match (next, overhead.is_within_waits) {
            (None, _) => (0, 0),
            (_, false) => (at - now, own.round() as u64),
            (_, true) if number == 0 => (at - now, 0),
            (_, true) => (at.max(caller.last_end + own as u64) - now, 0),
        };
        (caller.next, caller.decided, caller.is_held) = (next, now, false);
    }

    /// A thread makes its next call, and waits for it.
    fn issue(&mut self, turn: Turn, now: u64, keep: fn(Call) -> K) -> Issued {
        let thread = turn.job as usize;
        let ends = self.callers[thread].thread.ends();
        if self.callers[thread].decided < ends && ends <= now {
            // Its time was up while it waited.
            self.decide(thread, now);
        }
        let caller = &mut self.callers[thread];
        let Some((call, label)) = caller.next.take() else {
            return Issued { is_over: true, ..Issued::default() };
        };
        caller.made.calls.push((keep(call), label));
        Issued { call: Some((turn, call, false)), ..Issued::default() }
    }

    /// The next call of a thread that is not held.
    fn ready(&self, thread: usize) -> Option<Ready> {
        let caller = &self.callers[thread];
        let turn = Turn { job: thread as u32, number: caller.made.count() };
        let [wait, work] = [caller.wait, caller.work].map(Span::ticks);
        (!caller.is_held).then_some(Ready { turn, wait, work })
    }

    /// Which of the descriptors of the machine's file a call goes through.
    fn descriptor(&mut self, call: &Call, of_machine: FileId) -> u32 {
        let [file, of_machine] = [call.file, of_machine].map(|file| file.0 as usize);
        if file >= self.descriptors.len() {
            self.descriptors.resize_with(file + 1, Descriptors::default);
        }
        if of_machine >= self.descriptor_counts.len() {
            self.descriptor_counts.resize(of_machine + 1, 0);
        }
        self.descriptors[file].of(call, &mut self.descriptor_counts[of_machine])
    }
}

impl<T: Thread + Send, K: Send> Application for Load<T, K> {
    fn jobs(&self) -> u32 {
        self.progress(|progress| progress.callers.len() as u32)
    }

    fn first(&self, job: u32) -> Option<Ready> {
        self.progress(|progress| progress.may_begin(job as usize).then(|| progress.begin(job as usize, 0))?)
    }

    fn issue(
        &self,
        ready: &Ready,
        now: Time,
        state: &mut State,
    ) -> (Option<(Turn, SystemCall, Time)>, Option<Ready>, bool) {
        let job = ready.turn.job as usize;
        self.progress(|progress| {
            let begun = now.as_ticks().saturating_sub(ready.work.as_ticks());
            let slowed = state.crowd.call(ready.turn.job, begun, now.as_ticks());
            progress.callers[job].slowed = 1.0 + f64::from(slowed) / 1e3;
            let issued = match progress.callers[job].under_way {
                Some(_) => progress.issue_queued(job, now, state, self.keep),
                None => progress.issue(ready.turn, now.as_ticks(), self.keep),
            };
            if let Some((turn, call, _)) = &issued.call {
                let Progress { early, callers, .. } = progress;
                let have_begun = || callers.iter().all(|caller| caller.made.count() > 0);
                early.note(now.as_ticks(), turn.job, call, state, have_begun);
            }
            let call = issued.call.map(|(turn, call, is_queued)| {
                let file = |id: FileId| self.files.get(id.0 as usize).copied().unwrap_or(id);
                let descriptor = progress.descriptor(&call, file(call.file));
                let call = Call { file: file(call.file), frees: call.frees.map(file), ..call };
                let is_free = progress.callers[job].overhead.is_all && is_transfer(&call);
                let served = served(&call, descriptor, state);
                let kind = if is_free { CallKind::Pause } else { served.kind };
                let call = SystemCall { is_queued, kind, ..served };
                let caller = &mut progress.callers[job];
                let call = match caller.overhead.maps_for {
                    Some(bytes) => caller.mapped.touch(call, bytes, state),
                    None => call,
                };
                (turn, call, Time::ticks(now.as_ticks().saturating_sub(issued.submit.as_ticks())))
            });
            (call, issued.next, issued.is_over)
        })
    }

    fn returned(&self, work: &Work, now: Time) -> (Option<Ready>, Vec<Ready>) {
        let (job, now) = (work.turn.job as usize, now.as_ticks());
        self.progress(|progress| {
            if progress.callers[job].under_way.is_some() {
                return (progress.returned_queued(work, now), Vec::new());
            }
            let Progress { callers, counters, .. } = progress;
            callers[job].thread.signals().iter().for_each(|&counter| counters[counter as usize] += 1);
            callers[job].last_end = now;
            let held: Vec<usize> = (0..callers.len()).filter(|&other| callers[other].is_held).collect();
            progress.decide(job, now);
            let own = progress.ready(job);
            let others = held.into_iter().filter_map(|other| {
                if progress.is_free(progress.callers[other].thread.awaits()) {
                    progress.decide(other, now);
                }
                progress.ready(other)
            });
            (own, others.collect())
        })
    }

    fn ends_early(&self) -> bool {
        self.progress(|progress| progress.ends.ended.iter().any(|others| !others.is_empty()))
    }

    fn ended(&self, job: u32, now: Time) -> Vec<Ready> {
        self.progress(|progress| progress.ended(job as usize, now.as_ticks()))
    }
}

/// Ports: `calls` out, `returned` in. A closed loop: a job has a call under way, thinks, waits for another job, or has ended.
pub(super) fn draw(net: &mut NetBuilder, program: Arc<dyn Application>, calls: Place<Work>, shared: Shared) {
    let (calls, returned) = (net.port_out(calls), net.port_in(shared.returned));
    let kernel = net.fusion("kernel", shared.state);
    let (ready, ending) = (net.place::<Ready>("ready"), net.place::<u32>("ending"));
    let ended = net.place::<()>("ended");
    net.initial(ready, (0..program.jobs()).filter_map(|job| program.first(job)));
    let [goes_on, ends] = [(); 2].map(|()| Arc::clone(&program));
    // Where there are too few CPUs, a thread that waits for a moment takes none meanwhile. If the thread may end before
    // that moment, what it does then is not decided yet.
    let waits_apart = shared.cpus.is_some() || program.ends_early();
    let runnable = if waits_apart { net.place::<Ready>("runnable") } else { ready };
    if waits_apart {
        net.transition("think")
            .input(ready)
            .delay_by(|(ready,), _| ready.wait)
            .output(runnable, |(ready,), _| Ready { wait: Span::ZERO, ..*ready })
            .add();
    }
    let cpus = shared.cpus.map(|cpus| net.fusion("cpus", cpus));
    net.transition("issue")
        .input(runnable)
        .with(cpus, |transition, cpus| transition.consume(cpus, 1))
        .delay_by(|(ready,), _| ready.wait + ready.work)
        .with(cpus, |transition, cpus| transition.produce(cpus, 1))
        .update_into(kernel, (calls, ready, ending), move |(one,), state, firing| {
            let (call, next, is_over) = program.issue(one, firing.done(), state);
            let slowed = state.crowd.slowed(one.turn.job);
            if is_over {
                state.ledger.end_job();
            }
            let is_over = is_over.then_some(one.turn.job);
            let Some((turn, call, begun)) = call else { return (None, next, is_over) };
            let work = Work {
                turn,
                call,
                begun,
                read: Read::new(
                    call.file,
                    call.offset,
                    call.bytes,
                    state.files.reader(call.file, call.descriptor),
                ),
                owed_ns: 0,
                far_ns: 0,
                copied: 0,
                pause_ns: 0,
                locks: false,
                slowed,
            };
            (Some(work), next, is_over)
        })
        .add();
    net.transition("end")
        .input(ending)
        .output(ended, |_, _| ())
        .output_each(ready, move |(job,), firing| ends.ended(*job, firing.now()))
        .add();
    net.transition("go on")
        .input(returned)
        .update(kernel, |(work,), state, firing| {
            state.clock.note(firing.now());
            // A request is entered when its thread takes the result.
            if !work.call.is_queued && work.call.then.is_none() {
                state.enter(work, firing.now());
            }
        })
        .output_each(calls, |(work,), _| work.next_part())
        .output_each(ready, move |(work,), firing| {
            let (own, others) = match work.call.then {
                None => goes_on.returned(work, firing.now()),
                Some(_) => (None, Vec::new()),
            };
            own.into_iter().chain(others)
        })
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
