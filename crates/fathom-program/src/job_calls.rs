//! A fio job as a program: the calls of each of its threads, as fio makes them.

use std::time::Duration;

use crate::call::{Call, CallKind, DIRECTIONS, Direction, FileId, Position};
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
    /// The bytes of one loop, and how many loops follow this one.
    whole: u64,
    loops_left: u32,
    /// Transfers that may still be made.
    transfers_left: u64,
    writes: u64,
    position: Position,
    /// The direction that was chosen before a wait, and the transfer that a sync or a seek goes before.
    chosen: Option<Direction>,
    transfer: Option<(Direction, Span)>,
    /// Whether `thinktime` is due.
    thinks: bool,
    is_paced: bool,
    phase: Phase,
    times: Option<Times>,
}

/// How far a thread has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    /// `startdelay` is to come.
    Delayed,
    /// `startdelay` is just over.
    Begins,
    /// A loop is under way.
    Transfers,
    /// All calls of the loop have returned.
    Drained,
    /// The last sync is made.
    Synced,
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
        let whole = job.transfer_of_loop()?.unwrap_or(u64::MAX);
        Ok(Self {
            call: Call::new(CallKind::Pause, file),
            offsets: Offsets::new(job, region, thread)?,
            ticks_per_second,
            left: whole,
            loops: job.loops()?,
            whole,
            loops_left: job.course.loops.saturating_sub(1),
            transfers_left: match job.course.number_ios {
                0 => u64::MAX,
                most => most.saturating_mul(u64::from(job.course.loops.max(1))),
            },
            phase: if job.course.start_delay.0.is_zero() { Phase::Transfers } else { Phase::Delayed },
            writes: 0,
            position: Position::default(),
            chosen: None,
            transfer: None,
            thinks: false,
            is_paced: job.is_paced(),
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
        let call = Call { kind, ..self.call }.at(span.offset, span.length);
        if let Some(seek) = self.position.seek_before(&call) {
            self.transfer = Some((direction, span));
            return Step::Call(seek, false);
        }
        self.writes += u64::from(direction == Direction::Write);
        self.left = self.left.saturating_sub(span.length);
        self.thinks = !self.job.thinktime.is_zero();
        self.transfers_left -= 1;
        let side = direction as usize;
        if let (true, Some(times)) = (self.is_paced, &mut self.times) {
            let share = |amount: f64, rate: f64| if rate > 0.0 { amount / rate } else { 0.0 };
            let bytes = share(span.length as f64, self.job.rate[side] as f64);
            let transfers = share(1.0, f64::from(self.job.rates.iops[side]));
            times.due[side] += (bytes.max(transfers) * self.ticks_per_second) as u64;
        }
        Step::Call(call, true)
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
        let syncs = (self.job.end_fsync || self.job.durability.on_close) && self.writes > 0;
        let drains = (syncs || self.loops_left > 0) && self.job.engine.is_asynchronous();
        if drains && self.phase < Phase::Drained {
            self.phase = Phase::Drained;
            return Step::Drain;
        }
        if syncs && self.phase < Phase::Synced {
            self.phase = Phase::Synced;
            return Step::Call(Call { kind: CallKind::Fsync, ..self.call }, false);
        }
        Step::End
    }

    /// Another loop begins where one is left and there is time and transfers for it.
    #[cold]
    fn next_loop(&mut self) -> Option<Step<bool>> {
        (self.loops_left, self.left) = (self.loops_left - 1, self.whole);
        self.phase = Phase::Transfers;
        self.next_pass()
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
        if self.phase == Phase::Delayed {
            self.phase = Phase::Begins;
            return Step::Wait(now.saturating_add(self.ticks(self.job.course.start_delay.0)));
        }
        if self.phase == Phase::Begins {
            self.phase = Phase::Transfers;
            return Step::StartCounting;
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
            if now >= times.end || self.left == 0 || self.transfers_left == 0 {
                let goes_on = now < times.end && self.transfers_left > 0 && self.whole > 0;
                match self.end() {
                    Step::End if self.loops_left > 0 && goes_on => match self.next_loop() {
                        Some(step) => return step,
                        None => continue,
                    },
                    step => return step,
                }
            }
            let chosen = self.chosen.take();
            let mut direction = chosen.unwrap_or_else(|| self.offsets.direction());
            if chosen.is_none() && self.is_paced {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::Pattern;

    /// All calls of a thread for which no time passes but what it waits for.
    fn calls(job: &Job, thread: u32) -> Vec<(CallKind, u64, u64)> {
        let region = job.region_of(thread).unwrap();
        let mut calls = JobCalls::new(job, region, thread, FileId(0), 1e9).unwrap();
        let (mut now, mut made) = (0, Vec::new());
        loop {
            match calls.next(now) {
                Step::Call(call, _) => made.push((call.kind, call.offset >> 10, now)),
                Step::Wait(until) => now = now.max(until),
                Step::StartCounting | Step::Await | Step::Drain => {}
                Step::End => return made,
            }
        }
    }

    fn job(kib: u64) -> Job {
        Job { size: Some(kib << 10), ..Job::named("x") }
    }

    fn offsets(job: &Job) -> Vec<u64> {
        calls(job, 0).into_iter().map(|(_, offset, _)| offset).collect()
    }

    #[test]
    fn loops_repeat_the_whole_and_a_number_of_transfers_ends_it() {
        let mut twice = Job { invalidate: false, ..job(12) };
        twice.course.loops = 2;
        assert_eq!(offsets(&twice), [0, 4, 8, 0, 4, 8]);
        assert_eq!(twice.transfer(), Ok(Some(24 << 10)));
        twice.course.number_ios = 2;
        assert_eq!(offsets(&twice).len(), 4);
    }

    #[test]
    fn holes_are_skipped_and_a_pass_goes_round() {
        let mut holed = job(24);
        holed.order.skip = 4 << 10;
        assert_eq!(offsets(&holed), [0, 8, 16, 0, 8, 16]);
        let mut runs = Job { pattern: Pattern::Random, random_map: false, ..job(4096) };
        runs.order.every = 4;
        let made = offsets(&runs);
        assert_eq!(made.len(), 1024);
        let joined = made.windows(2).filter(|pair| pair[1] == pair[0] + 4).count();
        assert!((760..=780).contains(&joined), "{joined}");
    }

    #[test]
    fn threads_begin_apart_and_late_and_at_a_rate() {
        let mut spread = job(8);
        spread.order.increment.0 = 16 << 10;
        spread.course.start_delay.0 = Duration::from_micros(5);
        spread.rates.iops[0] = 1_000_000;
        assert_eq!(calls(&spread, 2), [(CallKind::Pread, 32, 5_000), (CallKind::Pread, 36, 6_000)]);
    }

    #[test]
    fn a_split_of_sizes_is_drawn_by_its_percentages() {
        let mut split = job(8192);
        split.blocks = [crate::job::Blocks { least: 4 << 10, most: 16 << 10 }; DIRECTIONS];
        split.order.splits[0] = vec![(16 << 10, 20), (4 << 10, 80)];
        let count = offsets(&split).len();
        // The mean is 6.4 KiB.
        assert!((1200..1360).contains(&count), "{count}");
    }
}
