//! A script as a program of the model: its threads wait for one another and for their times as those of a replay do.

use std::sync::{Arc, Mutex, PoisonError};

use fathom_model::io_path::{Call, Done, GoOn, Program, Time};

use super::counted::{Counted, outcome};
use super::script::{Script, Until, What};
use fathom_run::load::Outcome;
use fathom_run::replay::Pace;

/// The script, and how far it is.
#[derive(Debug)]
pub(super) struct Replaying {
    script: Arc<Script>,
    /// What a replay does between two calls, in ns.
    between: u64,
    progress: Mutex<Progress>,
}

#[derive(Debug)]
struct Progress {
    threads: Vec<Seat>,
    /// Of each description: whether it is open, uses and moves done.
    is_open: Vec<bool>,
    used: Vec<u32>,
    moved: Vec<u32>,
    /// Steps done on each path.
    paths: Vec<u32>,
    /// Threads that wait for a description or a path, and those that begin after each other one.
    blocked: Vec<usize>,
    begin_after: Vec<Vec<usize>>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Seat {
    /// The place of its next call.
    next: usize,
    last_end: u64,
    not_before: u64,
    /// What it waits before that call, from when it is free to make it.
    wait: u64,
}

impl Replaying {
    pub(super) fn new(script: &Arc<Script>, between: f64) -> Self {
        let threads = script.threads.len();
        let mut progress = Progress {
            threads: vec![Seat::default(); threads],
            is_open: vec![false; script.slots],
            used: vec![0; script.slots],
            moved: vec![0; script.slots],
            paths: vec![0; script.paths],
            blocked: Vec::new(),
            begin_after: vec![Vec::new(); threads],
        };
        script.inherited.iter().for_each(|&slot| progress.is_open[slot] = true);
        let replaying =
            Self { script: Arc::clone(script), between: between as u64, progress: Mutex::new(progress) };
        for thread in 0..threads {
            let begin = script.threads[thread].first().and_then(|line| line.after_thread);
            replaying.with(|progress| match begin {
                Some(begin) => progress.begin_after[begin.thread].push(thread),
                None if replaying.may(progress, thread) => replaying.schedule(progress, thread, 0),
                None => progress.blocked.push(thread),
            });
        }
        replaying
    }

    fn with<T>(&self, act: impl FnOnce(&mut Progress) -> T) -> T {
        // Whoever panicked here ends the run anyway.
        act(&mut self.progress.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether a thread's next call waits for nobody.
    fn may(&self, progress: &Progress, thread: usize) -> bool {
        let Some(line) = self.script.threads[thread].get(progress.threads[thread].next) else { return true };
        match line.until {
            Until::Paths(steps, on_new) => {
                progress.paths[line.path] >= steps && line.to.is_none_or(|to| progress.paths[to] >= on_new)
            }
            Until::Uses(steps) => progress.is_open[line.slot] && progress.used[line.slot] >= steps,
            Until::Moves(steps) => progress.is_open[line.slot] && progress.moved[line.slot] >= steps,
        }
    }

    /// Decides when a thread that is free to go makes its next call.
    fn schedule(&self, progress: &mut Progress, thread: usize, now: u64) {
        let seat = &mut progress.threads[thread];
        let Some(line) = self.script.threads[thread].get(seat.next) else {
            seat.wait = 0;
            return;
        };
        let is_first = seat.next == 0;
        let paced = match self.script.how.pace {
            Pace::Fast => 0,
            Pace::Recorded => line.start_ns,
            Pace::Think => seat.last_end + line.pause_ns,
        };
        let own = if is_first { 0 } else { seat.last_end + self.between };
        seat.wait = paced.max(own).max(seat.not_before).saturating_sub(now);
    }

    /// Enters that a call has returned, and gives the threads that may go on.
    fn enter(&self, progress: &mut Progress, thread: usize, number: usize, now: u64) -> Vec<usize> {
        let line = &self.script.threads[thread][number];
        if let Some(slot) = line.opens {
            progress.is_open[slot] = true;
        }
        progress.moved[line.slot] += u32::from(line.is_move);
        progress.used[line.slot] += u32::from(line.is_use);
        for path in [Some(line.path), line.to].into_iter().flatten() {
            progress.paths[path] += 1;
        }
        progress.threads[thread] = Seat { next: number + 1, last_end: now, ..progress.threads[thread] };
        let (mut free, mut blocked) = (Vec::new(), Vec::new());
        let mut waiting = std::mem::take(&mut progress.blocked);
        waiting.push(thread);
        let begin = |thread: usize| self.script.threads[thread].first().and_then(|line| line.after_thread);
        let (begun, later): (Vec<usize>, Vec<usize>) = std::mem::take(&mut progress.begin_after[thread])
            .into_iter()
            .partition(|&other| begin(other).is_some_and(|begin| begin.steps as usize <= number + 1));
        progress.begin_after[thread] = later;
        for other in begun {
            if self.script.how.pace == Pace::Think {
                progress.threads[other].not_before = now + begin(other).map_or(0, |begin| begin.pause_ns);
            }
            waiting.push(other);
        }
        for other in waiting {
            if self.may(progress, other) { &mut free } else { &mut blocked }.push(other);
        }
        progress.blocked = blocked;
        free.iter().for_each(|&other| self.schedule(progress, other, now));
        free
    }

    /// What the run was, from the calls that the model made of it.
    pub(super) fn outcome(&self, done: &[Done]) -> Outcome {
        outcome(done.iter(), 0, |call| {
            match self.script.threads[call.job as usize][call.number as usize].what {
                What::Transfer(direction, bytes, _) => Counted::Transfer(direction, bytes),
                What::Sync => Counted::Sync,
                What::Other => Counted::Other,
            }
        })
    }
}

impl Program for Replaying {
    fn jobs(&self) -> u32 {
        self.script.threads.len() as u32
    }

    fn call(&self, job: u32, number: u64) -> Option<Call> {
        self.script.threads[job as usize].get(number as usize).map(|line| line.call)
    }

    fn descriptor(&self, job: u32, number: u64) -> u32 {
        self.script.threads[job as usize].get(number as usize).map_or(0, |line| line.descriptor)
    }

    fn think_ns(&self, job: u32, _: u64) -> u64 {
        self.with(|progress| progress.threads[job as usize].wait)
    }

    fn begins(&self, job: u32) -> bool {
        let thread = job as usize;
        self.with(|progress| {
            let begins_later =
                self.script.threads[thread].first().is_some_and(|line| line.after_thread.is_some());
            !begins_later && !progress.blocked.contains(&thread)
        })
    }

    fn returned(&self, job: u32, number: u64, now: Time) -> GoOn {
        let free = self.with(|progress| {
            let free = self.enter(progress, job as usize, number as usize, now.as_ticks());
            free.into_iter()
                .map(|thread| (thread as u32, progress.threads[thread].next as u64))
                .collect::<Vec<_>>()
        });
        let itself = free.iter().any(|(thread, _)| *thread == job);
        GoOn { itself, others: free.into_iter().filter(|(thread, _)| *thread != job).collect() }
    }
}
