//! What to do, as an ordered stream of calls per thread: what any machine can run.
//!
//! Passes of experiments ([`passes`](crate::passes)), fio jobs ([`job_calls`](crate::job_calls)) and traces
//! (`fathom_trace::replay`) write programs; Linux (`fathom_run::executor`) and the model's net
//! (`fathom_model::io_path`) run them. So both make the same calls in the same order, by construction.
//!
//! A machine pulls: it asks a thread for its next step whenever the last one is done, and says what time it is.
//! The thread answers with a call, with a moment to wait for, with other threads to wait for, or with the end.
//! All that a thread decides follows from its seed and, where a job has a time limit or a rate, from the time that
//! it is told; never from what a call has returned. Dispatch is static: between two calls of a job a machine neither
//! allocates nor calls through a pointer.
//!
//! What threads wait for is counted. A program has counters that begin at a value of their own. A call adds one to
//! each counter of [`Thread::signals`] when it has returned, and [`Step::Await`] holds a thread until each counter of
//! [`Thread::awaits`] is large enough. That is all there is of gates: a trace's opens, closes, shared positions,
//! paths and beginnings of threads are counters.
//!
//! The writer of a program gives each call a label, which comes back with the reading: whether it counts, and as what.
//!
//! How many calls a thread may have under way is its engine's affair, by the job's [`Depth`](crate::job::Depth); a thread
//! that must not go on before all have returned says [`Step::Drain`].

use crate::call::Call;

/// A program, ready to be run.
#[derive(Debug, Clone)]
pub struct Program<T> {
    /// What runs side by side.
    pub threads: Vec<T>,
    /// What each counter begins at.
    pub counters: Vec<u32>,
}

impl<T> Program<T> {
    /// A program of threads that do not wait for each other.
    pub fn of(threads: Vec<T>) -> Self {
        Self { threads, counters: Vec::new() }
    }
}

/// What a thread does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step<L> {
    /// A call, and what its writer calls it.
    Call(Call, L),
    /// Nothing until that moment.
    Wait(u64),
    /// The same with a busy CPU.
    Spin(u64),
    /// Nothing until each counter of [`Thread::awaits`] is large enough.
    Await,
    /// Nothing until every call that is under way has returned.
    Drain,
    /// What was done so far does not count: a ramp is over.
    StartCounting,
    /// From now on what was written is read again, or that is over: fio times the two apart.
    Verify(bool),
    /// The thread is done.
    End,
}

/// What a stopwatch shows that is started or stopped now: the time that it ran, less when it was started where it still runs.
pub fn stopwatch(shown: u64, now: u64, starts: bool) -> u64 {
    if starts { shown.wrapping_sub(now) } else { shown.wrapping_add(now) }
}

/// A counter, and the least value that is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Await {
    /// Its place in [`Program::counters`].
    pub counter: u32,
    /// The least value.
    pub least: u32,
}

/// One thread of a program. Times are in ticks of the machine's clock, from the program's start.
pub trait Thread {
    /// What the writer of a program says of each call to the code that keeps its reading.
    type Label: Copy + Send + std::fmt::Debug;

    /// The next step, now that the one before is done.
    fn next(&mut self, now: u64) -> Step<Self::Label>;

    /// How many calls may be under way now, where that is less than its engine's depth.
    #[inline(always)]
    fn depth(&self) -> u32 {
        u32::MAX
    }

    /// When the thread makes no more calls of its own accord: a call that has not begun by then is not made.
    fn ends(&self) -> u64 {
        u64::MAX
    }

    /// No transfer begins from now on; what is due at the end is done.
    fn stop(&mut self, _now: u64) {}

    /// What the last [`Step::Await`] waits for.
    fn awaits(&self) -> &[Await] {
        &[]
    }

    /// Counters that the last [`Step::Call`] adds one to when it has returned.
    #[inline(always)]
    fn signals(&self) -> &[u32] {
        &[]
    }
}

/// A thread whose calls are a function of their number, each with a wait before it, in ticks.
pub struct Numbered<F> {
    call: F,
    number: u64,
    has_waited: bool,
}

impl<F> std::fmt::Debug for Numbered<F> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Numbered({})", self.number)
    }
}

impl<F: FnMut(u64) -> Option<(u64, Call)>> Thread for Numbered<F> {
    type Label = ();

    fn next(&mut self, now: u64) -> Step<()> {
        let Some((wait, call)) = (self.call)(self.number) else { return Step::End };
        if wait > 0 && !std::mem::replace(&mut self.has_waited, true) {
            return Step::Wait(now + wait);
        }
        (self.number, self.has_waited) = (self.number + 1, false);
        Step::Call(call, ())
    }
}

/// Threads side by side, whose calls are a function of the thread and the call's number.
pub fn numbered(
    threads: u32,
    call: impl Fn(u32, u64) -> Option<(u64, Call)> + Clone + Send + 'static,
) -> Program<impl Thread<Label = ()> + Send + 'static> {
    let thread = |thread| {
        let call = call.clone();
        Numbered { call: move |number| call(thread, number), number: 0, has_waited: false }
    };
    Program::of((0..threads).map(thread).collect())
}

/// A list of calls, made so many times over by one thread.
pub fn repeated(calls: Vec<Call>, times: u64) -> Program<impl Thread<Label = ()> + Send + 'static> {
    let length = calls.len() as u64;
    numbered(1, move |_, number| (number < length * times).then(|| (0, calls[(number % length) as usize])))
}
