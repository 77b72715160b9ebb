//! Runs one thread of a program on Linux, for passes, jobs and traces alike.
//!
//! Between the two clock readings of a call stands the system call and nothing else: no allocation, no formatting, no
//! dynamic dispatch. What to call is decided before the window opens, and the books are kept after it has closed.

pub(crate) mod asynchronous;
mod engine;
mod entries;
mod levels;
mod names;
mod special;
mod treatment;
mod verify;

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use fathom_program::call::Call;
use fathom_program::program::{Await, Step, Thread};
use fathom_sys::clock::Counter;
use fathom_sys::file::Errno;

pub(crate) use self::engine::{Buffer, Descriptors, Engine, Mapped, OfJob, Own, System};
pub(crate) use self::entries::{Entries, name as entry_name};
pub use self::levels::Levels;
pub(crate) use self::names::Names;
pub(crate) use self::special::Special;
pub(crate) use self::verify::Verifier;
use crate::fault::Fault;

/// Two clock readings, in ticks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    pub(crate) start: u64,
    pub(crate) stop: u64,
}

impl Window {
    /// How long it was open.
    #[inline(always)]
    pub(crate) fn ticks(self) -> u64 {
        self.stop.saturating_sub(self.start)
    }
}

/// What is kept of readings.
pub(crate) trait Recorder<L> {
    /// A call has returned and moved this many bytes.
    fn record(&mut self, call: &Call, label: L, window: Window, moved: u64);

    /// A request that is to be recorded was begun, handed over and done at these moments.
    fn submitted(&mut self, _call: &Call, _label: L, _moments: [u64; 3]) {}

    /// The same for a request of a job that gives some of its requests an I/O priority of their own.
    fn prioritized(&mut self, _call: &Call, _label: L, _priority: u16, _moments: [u64; 3]) {}

    /// Whether the thread goes on after a call that failed, which is then not recorded.
    fn forgives(&mut self, _call: &Call, _errno: Errno) -> bool {
        false
    }

    /// Whether the thread goes on after a block that is not what was written; the transfer is recorded all the same.
    fn forgives_mismatch(&mut self) -> bool {
        false
    }

    /// What was recorded so far does not count.
    fn start_counting(&mut self, _now: u64) {}

    /// From now on what was written is read again, or that is over.
    fn verify(&mut self, _now: u64, _begins: bool) {}
}

/// What all threads of a run look at.
pub(crate) struct Control<'a> {
    pub(crate) interrupt: &'a AtomicBool,
    /// Set by the first thread that fails, so that the others stop.
    pub(crate) failed: &'a AtomicBool,
    /// Bytes that may still be written.
    pub(crate) budget: &'a AtomicU64,
    /// When everything must have ended, in ticks of the clock.
    pub(crate) deadline: u64,
    pub(crate) ticks_per_second: f64,
    pub(crate) counters: &'a Counters,
    /// A shorter wait than this is spent spinning, and of a longer one what is left of it.
    pub(crate) spin: Duration,
}

/// How much may be written before the common budget is asked: rarely enough not to be felt.
const CLAIM: u64 = 8 << 20;
/// The longest sleep that hears no interrupt.
const SLICE: Duration = Duration::from_millis(50);

impl Control<'_> {
    fn is_over(&self) -> bool {
        self.interrupt.load(Ordering::Relaxed) || self.failed.load(Ordering::Relaxed)
    }

    /// Whether to go on: neither an interrupt nor a failure has ended the run.
    pub(crate) fn go_on(&self) -> Result<(), Fault> {
        if self.is_over() { Err(Fault::Interrupted) } else { Ok(()) }
    }

    /// Takes what was written from the common budget.
    fn claim(&self, wanted: u64) -> Result<(), Fault> {
        let take = |left: u64| left.checked_sub(wanted);
        match self.budget.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take) {
            Ok(_) => Ok(()),
            Err(left) => Err(Fault::OverBudget { wanted, left }),
        }
    }

    /// Keeps the CPU busy until the clock shows `moment`, unless the run is to end; gives what it shows then.
    fn spin_until<C: Counter>(&self, clock: C, moment: u64) -> u64 {
        let moment = moment.min(self.deadline);
        loop {
            let now = clock.stop();
            if now >= moment || self.is_over() {
                return now;
            }
            std::hint::spin_loop();
        }
    }

    /// Runs calls that count what they write in their argument, and claims what is not claimed yet however they end.
    #[inline(always)]
    fn claiming<R>(&self, run: impl FnOnce(&mut u64) -> Result<R, Fault>) -> Result<R, Fault> {
        let mut unclaimed = 0;
        let outcome = run(&mut unclaimed);
        let claimed = self.claim(unclaimed);
        outcome.and_then(|outcome| claimed.map(|()| outcome))
    }

    /// Waits until the clock shows `moment`, asleep for most of it, unless the run is to end.
    pub(crate) fn wait_until<C: Counter>(&self, clock: C, moment: u64) {
        let moment = moment.min(self.deadline);
        loop {
            let now = clock.stop();
            if now >= moment {
                return;
            }
            let left = Duration::from_secs_f64((moment - now) as f64 / self.ticks_per_second);
            if left <= self.spin {
                std::hint::spin_loop();
                continue;
            }
            if self.is_over() {
                return;
            }
            std::thread::sleep((left - self.spin).min(SLICE));
        }
    }
}

/// A program's counters, which threads wait for.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    values: Vec<AtomicU32>,
    /// Threads asleep until a counter changes.
    sleepers: AtomicU32,
    lock: Mutex<()>,
    changed: Condvar,
}

impl Counters {
    pub(crate) fn new(values: &[u32]) -> Self {
        Self { values: values.iter().map(|&value| AtomicU32::new(value)).collect(), ..Self::default() }
    }

    fn are(&self, awaits: &[Await]) -> bool {
        awaits.iter().all(|one| self.values[one.counter as usize].load(Ordering::SeqCst) >= one.least)
    }

    #[inline(always)]
    fn signal(&self, counters: &[u32]) {
        if counters.is_empty() {
            return;
        }
        for &counter in counters {
            self.values[counter as usize].fetch_add(1, Ordering::SeqCst);
        }
        // A thread that goes to sleep says so before it looks at the counters a last time.
        if self.sleepers.load(Ordering::SeqCst) > 0 {
            drop(self.lock.lock().unwrap_or_else(PoisonError::into_inner));
            self.changed.notify_all();
        }
    }

    /// Waits for other threads: a short time on the CPU, a long one asleep.
    fn wait<C: Counter>(&self, clock: C, awaits: &[Await], control: &Control<'_>) -> Result<(), Fault> {
        const LOOKS: u32 = 1024;
        for _ in 0..LOOKS {
            if self.are(awaits) {
                return Ok(());
            }
            std::thread::yield_now();
        }
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        let mut lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        let outcome = loop {
            if self.are(awaits) {
                break Ok(());
            }
            if control.is_over() {
                break Err(Fault::Interrupted);
            }
            if clock.stop() >= control.deadline {
                break Err(Fault::OutOfTime);
            }
            lock = self.changed.wait_timeout(lock, SLICE).unwrap_or_else(PoisonError::into_inner).0;
        };
        drop(lock);
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
        outcome
    }
}

/// Makes a thread's calls to its end; gives how many ticks it took from `origin`, which is the first reading of the
/// clock where there is none. What was written is taken from the budget however it ends.
#[inline(always)]
pub(crate) fn run<C: Counter, T: Thread, E: Engine, R: Recorder<T::Label>>(
    clock: C,
    thread: &mut T,
    engine: &mut E,
    recorder: &mut R,
    control: &Control<'_>,
    origin: Option<u64>,
) -> Result<u64, Fault> {
    control.claiming(|unclaimed| steps(clock, thread, engine, recorder, control, origin, unclaimed))
}

#[inline(always)]
fn steps<C: Counter, T: Thread, E: Engine, R: Recorder<T::Label>>(
    clock: C,
    thread: &mut T,
    engine: &mut E,
    recorder: &mut R,
    control: &Control<'_>,
    origin: Option<u64>,
    unclaimed: &mut u64,
) -> Result<u64, Fault> {
    let origin = origin.unwrap_or_else(|| clock.stop());
    let mut now = origin;
    loop {
        control.go_on()?;
        match thread.next(now - origin) {
            Step::Call(call, label) => {
                if now >= control.deadline {
                    return Err(Fault::OutOfTime);
                }
                engine.prepare(&call);
                let (window, outcome) = engine.make(clock, &call);
                now = window.stop.max(origin);
                if let Err(errno) = outcome
                    && recorder.forgives(&call, errno)
                {
                    continue;
                }
                // A signal may have cut the call short: then the signal is what ended the run.
                let outcome = outcome.map_err(|errno| engine.failure(call, errno));
                let moved = match outcome.and_then(|moved| engine.check(&call, moved)) {
                    Ok(moved) => moved,
                    Err(Fault::Mismatch(_)) if recorder.forgives_mismatch() => call.bytes,
                    Err(fault) => return control.go_on().and(Err(fault)),
                };
                recorder.record(&call, label, window, moved);
                control.counters.signal(thread.signals());
                if call.kind.is_write() {
                    *unclaimed += moved;
                    if *unclaimed >= CLAIM {
                        control.claim(std::mem::take(unclaimed))?;
                    }
                }
            }
            Step::Wait(until) => {
                control.wait_until(clock, origin.saturating_add(until));
                now = clock.stop();
            }
            Step::Spin(until) => now = control.spin_until(clock, origin.saturating_add(until)),
            Step::Await => {
                control.counters.wait(clock, thread.awaits(), control)?;
                now = clock.stop().max(origin);
            }
            // Each call has returned before the next is asked for.
            Step::Drain => {}
            Step::StartCounting => recorder.start_counting(now),
            Step::Verify(begins) => recorder.verify(now, begins),
            Step::End => return Ok(clock.stop().saturating_sub(origin)),
        }
    }
}

/// When everything must have ended, in ticks of the clock.
pub(crate) fn deadline<C: Counter>(clock: C, end: Option<Instant>, ticks_per_second: f64) -> u64 {
    let left = end.map(|end| end.saturating_duration_since(Instant::now()).as_secs_f64());
    left.map_or(u64::MAX, |left| clock.stop().saturating_add((left * ticks_per_second) as u64))
}

/// All records, or the fault that made the others stop.
pub(crate) fn first_cause<K>(outcomes: Vec<Result<K, Fault>>) -> Result<Vec<K>, Fault> {
    let is_cause =
        |outcome: &&Result<K, Fault>| matches!(outcome, Err(fault) if *fault != Fault::Interrupted);
    match outcomes.iter().find(is_cause) {
        Some(Err(fault)) => Err(fault.clone()),
        _ => outcomes.into_iter().collect(),
    }
}

/// Makes a block unlike any that was written before, in every 512 bytes.
#[inline(always)]
fn mark(block: &mut [u8], mark: u64) {
    let mark = mark.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    for sector in block.chunks_mut(512) {
        if let Some(word) = sector.first_chunk_mut::<8>() {
            *word = (u64::from_ne_bytes(*word) ^ mark).to_ne_bytes();
        }
    }
}

/// The timed window: a reading, the call, a reading.
#[inline(always)]
pub(crate) fn window<C: Counter, T>(clock: C, call: impl FnOnce() -> T) -> (Window, T) {
    let start = clock.start();
    let outcome = call();
    let stop = clock.stop();
    (Window { start, stop }, outcome)
}
