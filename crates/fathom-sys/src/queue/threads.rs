//! Requests that threads make by plain calls, one at a time each: fio's `io_submit_mode=offload`.

use std::collections::VecDeque;
use std::os::fd::BorrowedFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::io::{Errno, Result};

use super::{Completion, Operation, Request, Setup};

/// As many threads as slots, so that no request waits for a thread.
pub(super) struct Pool {
    shared: Arc<Shared>,
    prepared: Vec<Request>,
    ready: VecDeque<Completion>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    has_work: Condvar,
    has_results: Condvar,
}

#[derive(Default)]
struct State {
    tasks: VecDeque<Request>,
    results: VecDeque<Completion>,
    is_over: bool,
}

// SAFETY: memory and file belong to a request alone until it was popped, by the contract of `Pool::prepare`.
unsafe impl Send for Request {}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self) {
        loop {
            let mut state = self.state();
            let task = loop {
                if let Some(task) = state.tasks.pop_front() {
                    break task;
                }
                if state.is_over {
                    return;
                }
                state = self.has_work.wait(state).unwrap_or_else(PoisonError::into_inner);
            };
            drop(state);
            let completion = Completion { slot: task.slot, result: task.make() };
            self.state().results.push_back(completion);
            self.has_results.notify_one();
        }
    }
}

impl Request {
    fn make(&self) -> Result<u32> {
        // SAFETY: the file stays open until the request was popped.
        let file = unsafe { BorrowedFd::borrow_raw(self.file.0) };
        // SAFETY: the memory has `length` bytes, which are this request's until the request was popped.
        let memory = || unsafe { std::slice::from_raw_parts_mut(self.memory, self.length as usize) };
        let moved = match self.operation {
            Operation::Nop => 0,
            Operation::Fsync => rustix::fs::fsync(file).map(|()| 0)?,
            Operation::Fdatasync => rustix::fs::fdatasync(file).map(|()| 0)?,
            Operation::Read => rustix::io::pread(file, memory(), self.offset)?,
            Operation::Write => rustix::io::pwrite(file, memory(), self.offset)?,
        };
        Ok(moved as u32)
    }
}

impl Pool {
    /// As many threads as the queue is deep.
    pub(super) fn new(setup: &Setup) -> Result<Self> {
        let mut pool = Self {
            shared: Arc::default(),
            prepared: Vec::with_capacity(setup.depth as usize),
            ready: VecDeque::with_capacity(setup.depth as usize),
            threads: Vec::with_capacity(setup.depth as usize),
        };
        for _ in 0..setup.depth {
            let shared = Arc::clone(&pool.shared);
            let spawned = std::thread::Builder::new().stack_size(64 << 10).spawn(move || shared.work());
            // Those that run already end with the pool.
            pool.threads.push(spawned.map_err(|_| Errno::AGAIN)?);
        }
        Ok(pool)
    }

    /// # Safety
    /// Memory and file of the request must stay until its completion was popped, and its slot must be idle.
    pub(super) unsafe fn prepare(&mut self, request: &Request) {
        self.prepared.push(*request);
    }

    pub(super) fn submit(&mut self) -> Result<u32> {
        let started = self.prepared.len();
        self.shared.state().tasks.extend(self.prepared.drain(..));
        match started {
            1 => self.shared.has_work.notify_one(),
            _ => self.shared.has_work.notify_all(),
        }
        Ok(started as u32)
    }

    pub(super) fn wait(&mut self, min: u32, max: u32, timeout: Option<Duration>) -> Result<u32> {
        let until = timeout.map(|timeout| Instant::now() + timeout);
        let mut state = self.shared.state();
        while self.ready.len() + state.results.len() < min as usize {
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                break;
            }
            let left = left.unwrap_or(Duration::from_secs(1));
            let waited = self.shared.has_results.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        let room = (max as usize).saturating_sub(self.ready.len()).min(state.results.len());
        self.ready.extend(state.results.drain(..room));
        Ok(self.ready.len() as u32)
    }

    pub(super) fn pop(&mut self) -> Option<Completion> {
        self.ready.pop_front()
    }

    /// Whatever no thread has begun is given up.
    pub(super) fn cancel(&mut self) {
        let mut state = self.shared.state();
        let given_up = std::mem::take(&mut state.tasks).into_iter();
        state
            .results
            .extend(given_up.map(|task| Completion { slot: task.slot, result: Err(Errno::CANCELED) }));
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.state().is_over = true;
        self.shared.has_work.notify_all();
        for thread in self.threads.drain(..) {
            // It has nothing to say.
            let _ = thread.join();
        }
    }
}
