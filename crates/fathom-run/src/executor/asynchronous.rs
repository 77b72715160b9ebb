//! Runs one thread of a program with several requests under way, by io_uring, by the calls behind libaio, or by threads
//! of ours or of the C library's.
//!
//! Batches follow fio 3.33 (`td_io_queue` of `ioengines.c`, `wait_for_completions` of `backend.c`): so many requests
//! are handed over by one call, and where the queue is full results are taken until no more than the low mark is left.

use std::path::{Path, PathBuf};
use std::time::Duration;

use fathom_program::call::{Call, CallKind};
use fathom_program::job::{Engine, Job};
use fathom_program::program::{Step, Thread};
use fathom_sys::clock::Counter;
use fathom_sys::file::{self, Access, Errno};
use fathom_sys::queue::{Engine as Carrier, Operation, Queue, Setup, UringOptions};
use fathom_sys::{Error, cache, transfer};

use super::engine::{memory, named};
use super::treatment::Treatments;
use super::{Control, Levels, OfJob, Recorder, Verifier, Window, mark};
use crate::fault::Fault;

/// How long a wait for results lasts before interrupts are looked for.
const PATIENCE: Duration = Duration::from_millis(50);

/// A request under way.
#[derive(Debug, Clone, Copy)]
struct Request<L> {
    call: Call,
    label: L,
    /// When it was begun, and when its submission had returned; in ticks.
    begun: u64,
    issued: u64,
    /// Where some have one of their own.
    priority: u16,
}

/// The requests of one thread on its files.
pub(crate) struct Requests<L> {
    queue: Queue,
    /// Of each file, by descriptor; all were opened in one way.
    paths: Vec<PathBuf>,
    access: Access,
    idle: Vec<u32>,
    /// By slot.
    under_way: Vec<Option<Request<L>>>,
    /// Slots that were prepared since the last submission, in order.
    prepared: Vec<u32>,
    batch: u32,
    reap: [u32; 2],
    low: u32,
    /// Whether a request waits for those that touch the same bytes.
    serializes: bool,
    /// Whether the carrier takes syncs as requests.
    queues_syncs: bool,
    /// Whether a read may end where the file does.
    may_read_less: bool,
    writes: u64,
    treatments: Option<Treatments>,
    /// What submitting and reaping came to, outside of the ramp.
    pub(crate) levels: Levels,
    pub(crate) verifier: Option<Verifier>,
}

impl<L: Copy> Requests<L> {
    /// A queue of a job's depth with buffers for its blocks.
    pub(crate) fn new(job: &Job, files: OfJob) -> Result<Self, Fault> {
        let (depth, options) = (job.depth.resolved(), &job.engine_options);
        let access = files.1;
        let (paths, files): (Vec<PathBuf>, Vec<_>) = files.0.into_iter().unzip();
        let first = paths[0].clone();
        let refused = |reason: String| Fault::Unsupported(format!("{}: {reason}", first.display()));
        let most = depth.most;
        let carrier = match job.engine {
            Engine::Libaio => Carrier::Libaio,
            Engine::Posixaio => Carrier::Posix,
            Engine::IoUring => Carrier::IoUring(UringOptions {
                poll: options.hipri,
                submission_thread: options.sqthread_poll,
                thread_cpu: options.sqthread_poll_cpu,
                fixed_buffers: options.fixedbufs,
                registered_files: options.registerfiles,
            }),
            _ => Carrier::Threads,
        };
        // Each slot begins on a page, as direct transfers need.
        let slot_bytes =
            (job.largest_block() as usize).next_multiple_of(fathom_sys::facts::page_size() as usize);
        let flag = |is_set: bool, flag: u32| if is_set { flag } else { 0 };
        let flags = flag(options.nowait, transfer::NO_WAIT) | flag(options.uncached, transfer::UNCACHED);
        let setup = Setup { vectored: options.vectored, flags, ..Setup::new(carrier, most, slot_bytes) };
        let bytes = slot_bytes
            .checked_mul(most as usize)
            .ok_or_else(|| refused("iodepth x bs is too much".to_owned()))?;
        let buffers = memory(bytes, job, &first)?;
        let queue = Queue::new(&setup, buffers, files).map_err(|refusal| refused(refusal.to_string()))?;
        Ok(Self {
            queue,
            paths,
            access,
            idle: (0..most).rev().collect(),
            under_way: vec![None; most as usize],
            prepared: Vec::with_capacity(most as usize),
            batch: depth.submit,
            reap: [depth.reap_least, depth.reap_most],
            low: depth.low,
            serializes: depth.serialize_overlap,
            queues_syncs: job.engine != Engine::Libaio,
            may_read_less: job.may_read_less(),
            writes: 0,
            treatments: Treatments::of(options, job.placement.priority),
            levels: Levels::default(),
            verifier: None,
        })
    }

    fn failure(&self, call: &Call, errno: Errno) -> Fault {
        let error = Error::new(named(call.kind), self.path(call), errno);
        Fault::System(if call.kind.direction().is_some() { error.at(call.offset) } else { error })
    }

    fn path(&self, call: &Call) -> &Path {
        &self.paths[call.descriptor as usize]
    }

    fn broken(&self, what: &'static str, errno: Errno) -> Fault {
        Error::new(what, &self.paths[0], errno).into()
    }

    fn busy(&self) -> u32 {
        (self.under_way.len() - self.idle.len()) as u32
    }

    /// Whether a request under way touches the bytes of a call, as far as that matters.
    fn overlaps(&self, call: &Call) -> bool {
        let meets = |other: &Call| {
            other.kind.direction().is_some()
                && other.offset < call.offset + call.bytes
                && call.offset < other.offset + other.bytes
        };
        self.serializes && self.under_way.iter().flatten().any(|request| meets(&request.call))
    }

    /// Hands over what is prepared.
    fn submit<C: Counter>(&mut self, clock: C) -> Result<(), Fault> {
        if self.prepared.is_empty() {
            return Ok(());
        }
        let started = self.queue.submit().map_err(|errno| self.broken("submit requests to", errno))?;
        let issued = clock.stop();
        self.levels.submit(started, self.busy());
        for slot in self.prepared.drain(..started as usize) {
            if let Some(request) = &mut self.under_way[slot as usize] {
                request.issued = issued;
            }
        }
        Ok(())
    }

    /// Takes results: at least `least` where so many are under way, and no longer than the patience lasts.
    fn reap<C: Counter, R: Recorder<L>>(
        &mut self,
        clock: C,
        least: u32,
        recorder: &mut R,
        unclaimed: &mut u64,
    ) -> Result<u64, Fault> {
        let ready = match self.queue.wait(least, self.reap[1], Some(PATIENCE)) {
            Ok(ready) => ready,
            Err(Errno::INTR) => 0,
            Err(errno) => return Err(self.broken("wait for requests to", errno)),
        };
        let now = clock.stop();
        self.levels.complete(ready);
        for _ in 0..ready {
            let Some(completion) = self.queue.pop() else { break };
            self.idle.push(completion.slot);
            let Some(Request { call, label, begun, issued, priority }) =
                self.under_way[completion.slot as usize].take()
            else {
                continue;
            };
            let moved = match completion.result {
                Err(errno) if recorder.forgives(&call, errno) => continue,
                result => result.map_err(|errno| self.failure(&call, errno))?,
            };
            let is_short = call.kind.direction().is_some() && u64::from(moved) != call.bytes;
            if is_short && !(self.may_read_less && call.kind.is_read()) {
                let (name, bytes) = (named(call.kind), call.bytes as usize);
                return Err(Fault::short(name, self.path(&call), call.offset, bytes, moved as usize));
            }
            if let (Some(verifier), 1.., true) = (&self.verifier, call.flags, call.kind.is_read()) {
                let path = &self.paths[call.descriptor as usize];
                match verifier.check(&mut self.queue.buffer(completion.slot)[..moved as usize], &call, path) {
                    Err(Fault::Mismatch(_)) if recorder.forgives_mismatch() => {}
                    checked => checked?,
                }
            }
            recorder.submitted(&call, label, [begun, issued, now]);
            if self.treatments.is_some() {
                recorder.prioritized(&call, label, priority, [begun, issued, now]);
            }
            recorder.record(&call, label, Window { start: issued, stop: now }, u64::from(moved));
            if call.kind.is_write() {
                *unclaimed += u64::from(moved);
            }
        }
        Ok(now)
    }

    /// A call that is no request, by itself.
    fn alone<C: Counter>(&mut self, clock: C, call: &Call) -> (Window, Result<(), Errno>) {
        let number = call.descriptor as usize;
        if call.kind == CallKind::Create {
            // Nothing is under way between loops.
            return super::window(clock, || {
                let new = OfJob::renew(&self.paths[number], self.access)?;
                self.queue.replace_file(number, new).map(drop)
            });
        }
        let file = self.queue.file(number);
        match call.kind {
            CallKind::Fsync => super::window(clock, || file::fsync(file)),
            CallKind::Fdatasync => super::window(clock, || file::fdatasync(file)),
            CallKind::DontNeed => super::window(clock, || cache::advise(file, 0, 0, cache::Advice::DontNeed)),
            CallKind::SyncRange => {
                super::window(clock, || cache::write_out(file, call.offset, call.bytes, call.flags))
            }
            CallKind::Discard => super::window(clock, || file::punch(file, call.offset, call.bytes)),
            CallKind::Pause => super::window(clock, || Ok(())),
            _ => super::window(clock, || Err(Errno::NOSYS)),
        }
    }

    fn prepare(&mut self, call: &Call, label: L, operation: Operation, now: u64) {
        let Some(slot) = self.idle.pop() else { return };
        if call.kind.is_write() {
            let buffer = &mut self.queue.buffer(slot)[..call.bytes as usize];
            mark(buffer, call.offset ^ self.writes);
            if let (Some(verifier), 1..) = (&self.verifier, call.flags) {
                verifier.fill(buffer, call);
            }
            self.writes += 1;
        }
        self.prepared.push(slot);
        let bytes = if call.kind.direction().is_some() { call.bytes as u32 } else { 0 };
        let file = call.descriptor as usize;
        let (treatment, priority) =
            self.treatments.as_mut().map_or_else(Default::default, |treatments| treatments.next(call));
        self.queue.prepare(slot, operation, file, call.offset, bytes, treatment);
        self.under_way[slot as usize] =
            Some(Request { call: *call, label, begun: now, issued: now, priority });
    }

    /// Which request a call is; none where it is made by itself.
    fn operation(&self, kind: CallKind) -> Option<Operation> {
        match kind {
            kind if kind.is_read() => Some(Operation::Read),
            kind if kind.is_write() => Some(Operation::Write),
            CallKind::Fsync if self.queues_syncs => Some(Operation::Fsync),
            CallKind::Fdatasync if self.queues_syncs => Some(Operation::Fdatasync),
            _ => None,
        }
    }
}

/// Makes a thread's calls to its end; gives how many ticks it took from `origin`. What was written is taken from the
/// budget however it ends, and nothing is under way when this returns: dropping the queue sees to that.
pub(crate) fn run<C: Counter, T: Thread, R: Recorder<T::Label>>(
    clock: C,
    thread: &mut T,
    requests: &mut Requests<T::Label>,
    recorder: &mut R,
    control: &Control<'_>,
    origin: u64,
) -> Result<u64, Fault> {
    control.claiming(|unclaimed| steps(clock, thread, requests, recorder, control, origin, unclaimed))
}

fn steps<C: Counter, T: Thread, R: Recorder<T::Label>>(
    clock: C,
    thread: &mut T,
    requests: &mut Requests<T::Label>,
    recorder: &mut R,
    control: &Control<'_>,
    origin: u64,
    unclaimed: &mut u64,
) -> Result<u64, Fault> {
    let mut now = origin;
    loop {
        control.go_on()?;
        if *unclaimed >= super::CLAIM {
            control.claim(std::mem::take(unclaimed))?;
        }
        match thread.next(now - origin) {
            Step::Call(call, label) => {
                if now >= control.deadline {
                    return Err(Fault::OutOfTime);
                }
                let Some(operation) = requests.operation(call.kind) else {
                    requests.submit(clock)?;
                    let (window, outcome) = requests.alone(clock, &call);
                    if let Err(errno) = outcome {
                        return control.go_on().and(Err(requests.failure(&call, errno)));
                    }
                    recorder.record(&call, label, window, 0);
                    now = window.stop;
                    continue;
                };
                while requests.overlaps(&call) {
                    stop_or_submit(clock, requests, control, now)?;
                    now = requests.reap(clock, 1, recorder, unclaimed)?;
                }
                requests.prepare(&call, label, operation, now);
                let most = thread.depth().min(requests.under_way.len() as u32);
                if requests.prepared.len() as u32 >= requests.batch || requests.busy() >= most {
                    requests.submit(clock)?;
                }
                if requests.busy() >= most {
                    let least = requests.reap[0].clamp(1, most);
                    let enough = requests.low.min(most - 1);
                    while requests.busy() > enough {
                        now = requests.reap(clock, least, recorder, unclaimed)?;
                        stop_or_submit(clock, requests, control, now)?;
                    }
                } else {
                    now = clock.stop();
                }
            }
            Step::Wait(until) => {
                drain(clock, requests, recorder, control, unclaimed)?;
                control.wait_until(clock, origin.saturating_add(until));
                now = clock.stop();
            }
            Step::Spin(until) => {
                drain(clock, requests, recorder, control, unclaimed)?;
                now = control.spin_until(clock, origin.saturating_add(until));
            }
            Step::Drain | Step::Await => now = drain(clock, requests, recorder, control, unclaimed)?,
            Step::StartCounting => {
                requests.levels = Levels::default();
                recorder.start_counting(now);
            }
            Step::Verify(begins) => {
                now = drain(clock, requests, recorder, control, unclaimed)?;
                recorder.verify(now, begins);
            }
            Step::End => {
                let now = drain(clock, requests, recorder, control, unclaimed)?;
                return Ok(now.saturating_sub(origin));
            }
        }
    }
}

/// Submits again what the kernel had no resources for, unless the run is to stop.
fn stop_or_submit<C: Counter, L: Copy>(
    clock: C,
    requests: &mut Requests<L>,
    control: &Control<'_>,
    now: u64,
) -> Result<(), Fault> {
    control.go_on()?;
    if now >= control.deadline {
        return Err(Fault::OutOfTime);
    }
    requests.submit(clock)
}

/// Submits what is prepared and takes all results; gives when the last was there.
fn drain<C: Counter, L: Copy, R: Recorder<L>>(
    clock: C,
    requests: &mut Requests<L>,
    recorder: &mut R,
    control: &Control<'_>,
    unclaimed: &mut u64,
) -> Result<u64, Fault> {
    let mut now = clock.stop();
    while requests.busy() > 0 {
        stop_or_submit(clock, requests, control, now)?;
        now = requests.reap(clock, 1, recorder, unclaimed)?;
    }
    Ok(now)
}
