//! Threads that begin when others have ended, and threads that end with others: fio's `wait_for` and `exitall`.

use fathom_program::program::Thread;

use super::{Load, Progress};
use crate::io_path::work::Ready;

/// Which threads wait for the end of others, and which end with others, by thread; threads without an entry do neither.
#[derive(Clone, Debug, Default)]
pub struct Ends {
    /// The threads that must have ended before this one begins.
    pub awaited: Vec<Vec<usize>>,
    /// The threads that end when this one ends.
    pub ended: Vec<Vec<usize>>,
}

/// How far a thread has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// It waits for others to end.
    Awaits,
    Runs,
    Ended,
}

impl<T: Thread, K> Load<T, K> {
    /// Makes threads begin and end when others have ended.
    #[must_use]
    pub fn ending(self, ends: Ends) -> Self {
        self.progress(|progress| progress.ends = ends);
        self
    }

    /// When other threads ended each thread, in ns; none for a thread that ended by itself.
    pub fn stopped(&self) -> Vec<Option<u64>> {
        self.progress(|progress| progress.callers.iter().map(|caller| caller.stopped).collect())
    }
}

impl<T: Thread, K> Progress<T, K> {
    /// Whether all have ended that a thread waits for.
    pub(super) fn may_begin(&self, thread: usize) -> bool {
        let mut awaited = self.ends.awaited.get(thread).into_iter().flatten();
        awaited.all(|&other| self.callers[other].stage == Stage::Ended)
    }

    /// A thread begins. Returns what it does first, unless it is held.
    pub(super) fn begin(&mut self, thread: usize, now: u64) -> Option<Ready> {
        self.callers[thread].stage = Stage::Runs;
        if self.callers[thread].under_way.is_some() {
            return self.plan(thread, now);
        }
        self.decide(thread, now);
        self.ready(thread)
    }

    /// A thread has ended. Returns what the threads do that begin now: those that end with it need not wait any more.
    pub(super) fn ended(&mut self, thread: usize, now: u64) -> Vec<Ready> {
        self.callers[thread].stage = Stage::Ended;
        let with_it = self.ends.ended.get(thread).cloned().unwrap_or_default();
        for &other in with_it.iter().filter(|&&other| other != thread) {
            let other = &mut self.callers[other];
            if other.stage != Stage::Ended {
                other.thread.stop(now);
                other.stopped.get_or_insert(now);
            }
        }
        let begins = |&other: &usize| {
            self.callers[other].stage == Stage::Awaits && (with_it.contains(&other) || self.may_begin(other))
        };
        let beginning: Vec<usize> = (0..self.callers.len()).filter(begins).collect();
        beginning.into_iter().filter_map(|other| self.begin(other, now)).collect()
    }
}
