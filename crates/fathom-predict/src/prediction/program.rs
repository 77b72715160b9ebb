//! The threads of jobs as a program of the model: the calls of `load`'s loop, in its order, from the same offsets.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use fathom_model::io_path::{Call, Done, Kind, Program, Time};
use fathom_model::page_cache::FileId;

use super::counted::{Counted, outcome};
use crate::model::{Parameters, Scalar};
use fathom_program::job::{Direction, Engine, Job, Region};
use fathom_program::offsets::{Offsets, Span};
use fathom_run::load::Outcome;

/// Threads that begin at once.
#[derive(Debug)]
pub(super) struct Threads(Vec<Mutex<Seat>>);

/// One thread.
#[derive(Debug)]
pub(super) struct Seat {
    job: Job,
    file: FileId,
    offsets: Offsets,
    left: u64,
    loops: bool,
    writes: u64,
    /// Where the file position is, for engines that have one.
    at: Option<u64>,
    /// Calls that will be made, with the wait before each.
    next: VecDeque<(What, Call, u64)>,
    is_over: bool,
    is_synced: bool,
    caller: Caller,
    made: Vec<What>,
}

/// What the loop itself costs.
#[derive(Debug, Clone, Copy)]
struct Caller {
    call: f64,
    written_byte: f64,
}

/// A call that was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Transfer(Direction, u32),
    Sync,
    /// What the loop does and does not count.
    Uncounted,
}

impl Seat {
    /// # Errors
    /// As the job's own checks.
    pub(super) fn new(
        job: &Job,
        region: Region,
        thread: u32,
        file: FileId,
        model: &Parameters,
    ) -> Result<Self, String> {
        Ok(Self {
            file,
            offsets: Offsets::new(job, region, thread)?,
            left: job.transfer()?.unwrap_or(u64::MAX),
            loops: job.loops()?,
            writes: 0,
            at: None,
            next: VecDeque::new(),
            is_over: false,
            is_synced: false,
            caller: Caller { call: model[Scalar::Caller], written_byte: model[Scalar::CallerWrittenByte] },
            made: Vec::new(),
            job: job.clone(),
        })
    }

    /// The calls up to the next transfer, or up to the end.
    fn plan(&mut self) {
        while self.next.is_empty() && !self.is_over {
            if self.left == 0 {
                self.is_over = true;
                break;
            }
            let direction = self.offsets.direction();
            match self.offsets.next(direction) {
                Some(span) => self.transfer(direction, span),
                None if self.loops => {
                    self.offsets.rewind();
                    if self.job.invalidate && !self.job.pre_read {
                        self.push(What::Uncounted, Kind::Evict, Span { offset: 0, length: 0 }, 0.0);
                    }
                }
                None => self.is_over = true,
            }
        }
        if self.is_over
            && self.job.end_fsync
            && self.writes > 0
            && !std::mem::replace(&mut self.is_synced, true)
        {
            self.push(What::Uncounted, Kind::Sync, Span { offset: 0, length: 0 }, 0.0);
        }
    }

    fn transfer(&mut self, direction: Direction, span: Span) {
        let every = |every: u32| every > 0 && self.writes > 0 && self.writes.is_multiple_of(u64::from(every));
        let sync = match (every(self.job.fsync), every(self.job.fdatasync)) {
            (true, _) => Some(Kind::Sync),
            (false, true) => Some(Kind::SyncData),
            (false, false) => None,
        };
        if let Some(kind) = sync {
            self.push(What::Sync, kind, Span { offset: 0, length: 0 }, 0.0);
        }
        if self.job.engine == Engine::Sync {
            if self.at != Some(span.offset) {
                self.push(What::Uncounted, Kind::Seek, span, 0.0);
            }
            self.at = Some(span.offset + span.length);
        }
        let is_first = self.made.is_empty() && self.next.is_empty();
        let pause = if is_first { 0.0 } else { self.job.thinktime.as_nanos() as f64 };
        let (kind, preparing) = match direction {
            Direction::Read => (Kind::Read, 0.0),
            Direction::Write => (Kind::Write, span.length as f64 * self.caller.written_byte),
        };
        let what = What::Transfer(direction, span.length as u32);
        self.push(what, kind, span, pause + self.caller.call + preparing);
        self.writes += u64::from(direction == Direction::Write);
        self.left = self.left.saturating_sub(span.length);
    }

    fn push(&mut self, what: What, kind: Kind, span: Span, wait_ns: f64) {
        let call = Call { kind, file: self.file, offset: span.offset, bytes: span.length, fresh_pages: 0 };
        self.next.push_back((what, call, wait_ns.round() as u64));
    }

    fn call(&mut self, now: Time) -> Option<Call> {
        let runtime = self.job.runtime.as_nanos() as u64;
        if runtime > 0 && !self.is_over && now.as_ticks() >= runtime {
            self.next.clear();
            self.is_over = true;
        }
        self.plan();
        let (what, call, _) = self.next.pop_front()?;
        self.made.push(what);
        Some(call)
    }

    /// What the run was, from the calls that the model made of it.
    fn outcome(&self, done: &[Done], job: u32, started: u64) -> Outcome {
        let own = done.iter().filter(|done| done.job == job);
        let mut outcome = outcome(own, started, |call| match self.made[call.number as usize] {
            What::Transfer(direction, bytes) => Counted::Transfer(direction, u64::from(bytes)),
            What::Sync => Counted::Sync,
            What::Uncounted => Counted::Other,
        });
        outcome.elapsed_ns += self.job.thinktime.as_nanos() as u64;
        outcome
    }
}

impl Threads {
    pub(super) fn new(seats: Vec<Seat>) -> Self {
        Self(seats.into_iter().map(Mutex::new).collect())
    }

    fn seat<T>(&self, job: u32, act: impl FnOnce(&mut Seat) -> T) -> T {
        // Whoever panicked here ends the run anyway.
        act(&mut self.0[job as usize].lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// One outcome per thread, from all calls that were made; `started` is when they began, in ns.
    pub(super) fn outcomes(&self, done: &[Done], started: u64) -> Vec<Outcome> {
        (0..self.jobs()).map(|job| self.seat(job, |seat| seat.outcome(done, job, started))).collect()
    }
}

impl Program for Threads {
    fn jobs(&self) -> u32 {
        self.0.len() as u32
    }

    fn call(&self, job: u32, number: u64) -> Option<Call> {
        self.call_at(job, number, Time::ZERO)
    }

    fn call_at(&self, job: u32, _: u64, now: Time) -> Option<Call> {
        self.seat(job, |seat| seat.call(now))
    }

    fn think_ns(&self, job: u32, _: u64) -> u64 {
        self.seat(job, |seat| {
            seat.plan();
            seat.next.front().map_or(0, |&(_, _, wait_ns)| wait_ns)
        })
    }
}
