//! A fio job as a program: the calls of each of its threads, as fio makes them.

use std::time::Duration;

use crate::call::{Call, CallKind, DIRECTIONS, Direction, FileId};
use crate::job::{Engine, Job, Region};
use crate::offsets::{Offsets, Span};
use crate::program::{Step, Thread};

/// One thread of a job.
#[derive(Debug)]
pub struct JobCalls {
    job: Job,
    /// A call of no kind in particular on the thread's file.
    call: Call,
    offsets: Offsets,
    ticks_per_second: f64,
    /// Bytes still to be transferred; the last transfer is made whole.
    left: u64,
    /// Whether another pass follows the first.
    loops: bool,
    writes: u64,
    /// Where the file position is, for engines that have one.
    position: Option<u64>,
    /// The direction that was chosen before a wait, and the transfer that a sync or a seek goes before.
    chosen: Option<Direction>,
    transfer: Option<(Direction, Span)>,
    /// Whether `thinktime` is due.
    thinks: bool,
    has_drained: bool,
    is_synced: bool,
    times: Option<Times>,
}

/// The moments of a run, in ticks.
#[derive(Debug, Clone, Copy)]
struct Times {
    end: u64,
    ramp_end: u64,
    /// When the next transfer of each direction may begin at the job's rate.
    due: [u64; DIRECTIONS],
}

impl JobCalls {
    /// A thread of a job on a region of one of a program's files.
    ///
    /// # Errors
    /// One sentence where the job makes no sense.
    pub fn new(
        job: &Job,
        region: Region,
        thread: u32,
        file: FileId,
        ticks_per_second: f64,
    ) -> Result<Self, String> {
        Ok(Self {
            call: Call::new(CallKind::Pause, file),
            offsets: Offsets::new(job, region, thread)?,
            ticks_per_second,
            left: job.transfer()?.unwrap_or(u64::MAX),
            loops: job.loops()?,
            writes: 0,
            position: None,
            chosen: None,
            transfer: None,
            thinks: false,
            has_drained: false,
            is_synced: false,
            times: None,
            job: job.clone(),
        })
    }

    fn ticks(&self, time: Duration) -> u64 {
        (time.as_secs_f64() * self.ticks_per_second) as u64
    }

    fn begin(&self, now: u64) -> Times {
        let ramp = self.ticks(self.job.ramp_time);
        let end = match self.job.runtime.is_zero() {
            true => u64::MAX,
            false => now.saturating_add(ramp).saturating_add(self.ticks(self.job.runtime)),
        };
        Times { end, ramp_end: if ramp > 0 { now + ramp } else { u64::MAX }, due: [now; DIRECTIONS] }
    }

    /// The direction of the next transfer, and when it is due; the other one goes first if it is due first.
    fn paced(&self, drawn: Direction, now: u64, due: [u64; DIRECTIONS]) -> (Direction, u64) {
        let other = match drawn {
            Direction::Read => Direction::Write,
            Direction::Write => Direction::Read,
        };
        let due = |direction: Direction| due[direction as usize];
        let goes_first = due(drawn) > now && self.job.does(other) && due(other) < due(drawn);
        let direction = if goes_first { other } else { drawn };
        (direction, due(direction))
    }

    /// The sync that is due before a transfer.
    ///
    /// fio asks before each transfer whether the writes so far are such a number: none follows the last one, and reads
    /// that come before the next write each get one too.
    #[inline(always)]
    fn sync(&self) -> Option<CallKind> {
        let every = |every: u32| every > 0 && self.writes > 0 && self.writes.is_multiple_of(u64::from(every));
        match (every(self.job.fsync), every(self.job.fdatasync)) {
            (true, _) => Some(CallKind::Fsync),
            (false, true) => Some(CallKind::Fdatasync),
            (false, false) => None,
        }
    }

    #[inline(always)]
    fn transfer(&mut self, direction: Direction, span: Span) -> Step<bool> {
        if matches!(self.job.engine, Engine::Sync | Engine::Vsync) {
            if self.position != Some(span.offset) {
                self.position = Some(span.offset);
                self.transfer = Some((direction, span));
                let seek = Call { kind: CallKind::Seek, ..self.call }.at(span.offset, span.length);
                return Step::Call(seek, false);
            }
            self.position = Some(span.offset + span.length);
        }
        let kind = match (self.job.engine, direction) {
            (Engine::Sync, Direction::Read) => CallKind::Read,
            (Engine::Sync, Direction::Write) => CallKind::Write,
            (Engine::Vsync, Direction::Read) => CallKind::Readv,
            (Engine::Vsync, Direction::Write) => CallKind::Writev,
            (Engine::Pvsync, Direction::Read) => CallKind::Preadv,
            (Engine::Pvsync, Direction::Write) => CallKind::Pwritev,
            (_, Direction::Read) => CallKind::Pread,
            (_, Direction::Write) => CallKind::Pwrite,
        };
        self.writes += u64::from(direction == Direction::Write);
        self.left = self.left.saturating_sub(span.length);
        self.thinks = !self.job.thinktime.is_zero();
        if let (rate @ 1.., Some(times)) = (self.job.rate[direction as usize], &mut self.times) {
            times.due[direction as usize] +=
                (span.length as f64 / rate as f64 * self.ticks_per_second) as u64;
        }
        Step::Call(Call { kind, ..self.call }.at(span.offset, span.length), true)
    }

    /// Another pass over the file; the cache is emptied of it, as before the first.
    #[cold]
    fn next_pass(&mut self) -> Option<Step<bool>> {
        self.offsets.rewind();
        let drops = self.job.invalidate && !self.job.pre_read;
        drops.then_some(Step::Call(Call { kind: CallKind::DontNeed, ..self.call }, false))
    }

    /// fio counts the time of the last sync, but not the call.
    fn end(&mut self) -> Step<bool> {
        let syncs = self.job.end_fsync && self.writes > 0;
        if syncs && self.job.engine.is_asynchronous() && !std::mem::replace(&mut self.has_drained, true) {
            return Step::Drain;
        }
        match syncs && !std::mem::replace(&mut self.is_synced, true) {
            true => Step::Call(Call { kind: CallKind::Fsync, ..self.call }, false),
            false => Step::End,
        }
    }
}

impl Thread for JobCalls {
    /// Whether the call counts: transfers and syncs do, but for the last sync.
    type Label = bool;

    #[inline(always)]
    fn next(&mut self, now: u64) -> Step<bool> {
        if let Some((direction, span)) = self.transfer.take() {
            return self.transfer(direction, span);
        }
        let mut times = match self.times {
            Some(times) => times,
            None => *self.times.insert(self.begin(now)),
        };
        if self.thinks {
            self.thinks = false;
            return Step::Wait(now.saturating_add(self.ticks(self.job.thinktime)).min(times.end));
        }
        if now >= times.ramp_end {
            (times.ramp_end, times.due) = (u64::MAX, [now; DIRECTIONS]);
            self.times = Some(times);
            return Step::StartCounting;
        }
        loop {
            if now >= times.end || self.left == 0 {
                return self.end();
            }
            let chosen = self.chosen.take();
            let mut direction = chosen.unwrap_or_else(|| self.offsets.direction());
            if chosen.is_none() && self.job.rate != [0; DIRECTIONS] {
                let (paced, due) = self.paced(direction, now, times.due);
                direction = paced;
                if due > now {
                    self.chosen = Some(direction);
                    return Step::Wait(due.min(times.end));
                }
            }
            let Some(span) = self.offsets.next(direction) else {
                if !self.loops {
                    self.left = 0;
                } else if let Some(step) = self.next_pass() {
                    return step;
                }
                continue;
            };
            if let Some(kind) = self.sync() {
                self.transfer = Some((direction, span));
                return Step::Call(Call { kind, ..self.call }, true);
            }
            return self.transfer(direction, span);
        }
    }

    fn ends(&self) -> u64 {
        self.times.map_or(u64::MAX, |times| times.end)
    }
}
