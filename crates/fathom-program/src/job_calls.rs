//! A fio job as a program: the calls of each of its threads, as fio makes them.

mod verification;

use std::time::Duration;

use crate::call::{Call, CallKind, DIRECTIONS, Direction, FileId};
use crate::job::{Engine, Job, Pattern, Region, Trim, Verify};
use crate::offsets::{Offsets, Span};
use crate::program::{Step, Thread};

pub use self::verification::ANY_WRITE;
use self::verification::{Phase, Verification, Written};

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
    /// The bytes from the first to the last that were written since the last sync; `sync_file_range` is of these.
    written: Option<(u64, u64)>,
    /// What is still to be read again, and the next of it where a seek goes before.
    verification: Option<Verification>,
    verifying: Option<Written>,
    /// Bytes that were transferred in either direction, with those that were read again.
    moved: u64,
    /// Whether the block of the next write was trimmed: `rw=trimwrite`.
    is_trimmed: bool,
    /// Where the file position is, for engines that have one.
    position: Option<u64>,
    /// The direction that was chosen before a wait, and the transfer that a sync or a seek goes before.
    chosen: Option<Direction>,
    transfer: Option<(Direction, Span)>,
    /// Whether `thinktime` is due.
    thinks: bool,
    is_paced: bool,
    has_drained: bool,
    is_synced: bool,
    /// Whether `startdelay` is to come, and whether it is just over.
    is_delayed: bool,
    begins: bool,
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
        let mut whole = job.transfer_of_loop()?.unwrap_or(u64::MAX);
        let mut loops = job.loops()?;
        let reads_again = |verify: &&Verify| !verify.no_reading && job.does(Direction::Write);
        let is_listed = job.pattern == Pattern::Random && job.random_map;
        let verification =
            job.verify.as_ref().filter(reads_again).map(|verify| Verification::new(verify, is_listed));
        if verification.is_some() && !job.files.create_only {
            // As in fio each pass over the size is read again before the next.
            (whole, loops) = (job.size.unwrap_or(region.length), false);
        }
        Ok(Self {
            verification,
            verifying: None,
            moved: 0,
            call: Call::new(CallKind::Pause, file),
            offsets: Offsets::new(job, region, thread)?,
            ticks_per_second,
            left: whole,
            loops,
            whole,
            loops_left: job.course.loops.saturating_sub(1),
            transfers_left: match job.course.number_ios {
                0 => u64::MAX,
                most => most.saturating_mul(u64::from(job.course.loops.max(1))),
            },
            is_delayed: !job.course.start_delay.0.is_zero(),
            writes: 0,
            written: None,
            is_trimmed: false,
            position: None,
            chosen: None,
            transfer: None,
            thinks: false,
            is_paced: job.is_paced(),
            has_drained: false,
            is_synced: false,
            begins: false,
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
    fn sync(&mut self) -> Option<Call> {
        // fio 3.33 makes a trim of a sync that is due in trimwrite.
        if self.writes == 0 || self.job.order.trim.is_some() {
            return None;
        }
        let is_due = |every: u32| every > 0 && self.writes.is_multiple_of(u64::from(every));
        let call = match (is_due(self.job.fsync), is_due(self.job.fdatasync), self.job.durability.range) {
            (true, ..) => Call { kind: CallKind::Fsync, ..self.call },
            (false, true, _) => Call { kind: CallKind::Fdatasync, ..self.call },
            (false, false, Some((flags, every))) if is_due(every) => {
                let (first, end) = self.written.unwrap_or_default();
                let bits = flags.iter().enumerate().map(|(bit, &is_set)| u32::from(is_set) << bit);
                Call { kind: CallKind::SyncRange, flags: bits.sum(), ..self.call }.at(first, end - first)
            }
            _ => return None,
        };
        self.written = None;
        // Nothing was written since the sync before: fio makes no call, and counts it.
        Some(if call.kind == CallKind::SyncRange && call.bytes == 0 {
            Call { kind: CallKind::Pause, ..call }
        } else {
            call
        })
    }

    /// A transfer, or the seek or the trim that goes before it.
    #[inline(always)]
    fn transfer(&mut self, direction: Direction, span: Span) -> Step<bool> {
        if direction == Direction::Write
            && let Some((trim, _)) = self.job.order.trim
            && !std::mem::take(&mut self.is_trimmed)
        {
            return self.trim(trim, span);
        }
        if let Some(seek) = self.seek(span) {
            (self.transfer, self.is_trimmed) = (Some((direction, span)), true);
            return seek;
        }
        let kind = self.kind(direction);
        let mut call = Call { kind, ..self.call }.at(span.offset, span.length);
        if direction == Direction::Write {
            self.writes += 1;
            if self.job.durability.range.is_some() {
                let end = span.offset + span.length;
                let (first, last) = self.written.unwrap_or((span.offset, end));
                self.written = Some((first.min(span.offset), last.max(end)));
            }
        }
        if self.job.verify.is_some() {
            self.number(&mut call, direction, span);
        }
        self.count(direction, span);
        Step::Call(call, true)
    }

    /// Gives a transfer of a job that verifies its number, and notes a write to be read again.
    #[cold]
    fn number(&mut self, call: &mut Call, direction: Direction, span: Span) {
        match direction {
            Direction::Write => {
                call.flags = (self.writes % u64::from(ANY_WRITE - 1)) as u32 + 1;
                if let Some(verification) = &mut self.verification {
                    verification.note(span, call.flags);
                    self.has_drained = false;
                }
                if self.job.verify.as_ref().is_some_and(|verify| verify.only) {
                    call.kind = CallKind::Pause;
                }
            }
            // Where nothing is written, an earlier job did.
            Direction::Read if !self.job.does(Direction::Write) => call.flags = ANY_WRITE,
            Direction::Read => {}
        }
    }

    /// A block is read again, after a seek where the engine needs one.
    #[cold]
    fn read_again(&mut self, (span, number): Written) -> Step<bool> {
        if let Some(seek) = self.seek(span) {
            self.verifying = Some((span, number));
            return seek;
        }
        self.moved += span.length;
        let kind = self.kind(Direction::Read);
        Step::Call(Call { kind, flags: number, ..self.call }.at(span.offset, span.length), true)
    }

    /// The next step of a batch of `verify_backlog`.
    #[cold]
    fn batch(&mut self) -> Option<Step<bool>> {
        let verification = self.verification.as_mut().filter(|all| all.is_due())?;
        if self.job.engine.is_asynchronous() && !std::mem::replace(&mut self.has_drained, true) {
            return Some(Step::Drain);
        }
        let next = verification.next_of_batch()?;
        Some(self.read_again(next))
    }

    /// The next step of the reads that follow the writes, none where all is read or there is no time for it.
    #[cold]
    fn verify(&mut self, has_time: bool) -> Option<Step<bool>> {
        let verification = self.verification.as_mut()?;
        let is_done = verification.len() == 0 && verification.phase != Phase::Drained;
        if is_done || !has_time {
            verification.clear();
            return None;
        }
        let alone = |kind| Some(Step::Call(Call { kind, ..self.call }, false));
        match verification.phase {
            Phase::Writing => {
                verification.phase = Phase::Drained;
                Some(Step::Drain)
            }
            Phase::Drained => {
                verification.phase = Phase::Synced;
                alone(CallKind::Fsync)
            }
            Phase::Synced => {
                verification.phase = Phase::Reading;
                alone(CallKind::DontNeed)
            }
            Phase::Reading => {
                let next = verification.next()?;
                Some(self.read_again(next))
            }
        }
    }

    /// Whether a job that verifies passes over its size once more.
    fn repeats(&self) -> bool {
        let limit = self.job.io_size.unwrap_or(0);
        let is_left = self.moved.saturating_add(self.job.largest_block()) <= limit;
        self.verification.is_some() && (self.job.time_based || is_left)
    }

    /// The seek that goes before a transfer, where the file position is elsewhere.
    #[inline(always)]
    fn seek(&mut self, span: Span) -> Option<Step<bool>> {
        if !matches!(self.job.engine, Engine::Sync | Engine::Vsync) {
            return None;
        }
        let is_there = self.position == Some(span.offset);
        self.position = Some(if is_there { span.offset + span.length } else { span.offset });
        let seek = Call { kind: CallKind::Seek, ..self.call }.at(span.offset, span.length);
        (!is_there).then_some(Step::Call(seek, false))
    }

    #[inline(always)]
    fn kind(&self, direction: Direction) -> CallKind {
        match (self.job.engine, direction) {
            (Engine::Sync, Direction::Read) => CallKind::Read,
            (Engine::Sync, Direction::Write) => CallKind::Write,
            (Engine::Vsync, Direction::Read) => CallKind::Readv,
            (Engine::Vsync, Direction::Write) => CallKind::Writev,
            (Engine::Pvsync, Direction::Read) => CallKind::Preadv,
            (Engine::Pvsync, Direction::Write) => CallKind::Pwritev,
            (_, Direction::Read) => CallKind::Pread,
            (_, Direction::Write) => CallKind::Pwrite,
        }
    }

    /// A block is trimmed, instead of written or before that; fio bounds the trimmed and the written bytes each by the size.
    #[cold]
    fn trim(&mut self, trim: Trim, span: Span) -> Step<bool> {
        match trim {
            Trim::Only => self.count(Direction::Write, span),
            Trim::BeforeWrite => (self.is_trimmed, self.transfer) = (true, Some((Direction::Write, span))),
        }
        Step::Call(Call { kind: CallKind::Discard, ..self.call }.at(span.offset, span.length), true)
    }

    /// Keeps the books of a transfer.
    #[inline(always)]
    fn count(&mut self, direction: Direction, span: Span) {
        self.left = self.left.saturating_sub(span.length);
        self.moved += span.length;
        self.thinks = !self.job.thinktime.is_zero();
        self.transfers_left -= 1;
        let side = direction as usize;
        if let (true, Some(times)) = (self.is_paced, &mut self.times) {
            let share = |amount: f64, rate: f64| if rate > 0.0 { amount / rate } else { 0.0 };
            let bytes = share(span.length as f64, self.job.rate[side] as f64);
            let transfers = share(1.0, f64::from(self.job.rates.iops[side]));
            times.due[side] += (bytes.max(transfers) * self.ticks_per_second) as u64;
        }
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
        if drains && !std::mem::replace(&mut self.has_drained, true) {
            return Step::Drain;
        }
        match syncs && !std::mem::replace(&mut self.is_synced, true) {
            true => Step::Call(Call { kind: CallKind::Fsync, ..self.call }, false),
            false => Step::End,
        }
    }

    /// Another loop begins where one is left and there is time and transfers for it.
    #[cold]
    fn next_loop(&mut self) -> Option<Step<bool>> {
        if !self.repeats() {
            self.loops_left -= 1;
        }
        self.left = self.whole;
        (self.is_synced, self.has_drained) = (false, false);
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
        if let Some(next) = self.verifying.take() {
            return self.read_again(next);
        }
        if std::mem::take(&mut self.is_delayed) {
            self.begins = true;
            return Step::Wait(now.saturating_add(self.ticks(self.job.course.start_delay.0)));
        }
        if std::mem::take(&mut self.begins) {
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
                    Step::End => {}
                    step => return step,
                }
                if let Some(step) = self.verify(now < times.end) {
                    return step;
                }
                if !goes_on || self.loops_left == 0 && !self.repeats() {
                    return Step::End;
                }
                match self.next_loop() {
                    Some(step) => return step,
                    None => continue,
                }
            }
            if let Some(step) = self.batch() {
                return step;
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
            if let Some(sync) = self.sync() {
                self.transfer = Some((direction, span));
                return Step::Call(sync, true);
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
    fn a_range_is_synced_from_its_first_to_its_last_write() {
        let mut job = Job { read_percent: 0, ..job(20) };
        job.durability.range = Some(([false, true, true], 2));
        let made: Vec<_> = calls(&job, 0).into_iter().map(|(kind, offset, _)| (kind, offset)).collect();
        let (write, sync) = (CallKind::Pwrite, CallKind::SyncRange);
        assert_eq!(
            made,
            [(write, 0), (write, 4), (sync, 0), (write, 8), (write, 12), (sync, 8), (write, 16)]
        );
    }

    #[test]
    fn a_block_is_trimmed_and_then_written() {
        let mut job = Job { read_percent: 0, engine: Engine::Sync, ..job(8) };
        job.order.trim = Some((Trim::BeforeWrite, job.blocks[0]));
        let kinds: Vec<_> = calls(&job, 0).into_iter().map(|(kind, ..)| kind).collect();
        assert_eq!(
            kinds,
            [CallKind::Discard, CallKind::Seek, CallKind::Write, CallKind::Discard, CallKind::Write]
        );
        job.order.trim = Some((Trim::Only, job.blocks[0]));
        assert_eq!(calls(&job, 0).len(), 2);
    }

    #[test]
    fn what_was_written_is_read_again_with_its_number() {
        let mut job = Job { read_percent: 0, invalidate: false, ..job(12) };
        job.verify = Some(Verify { method: "md5".to_owned(), backlog: (2, 1), ..Verify::default() });
        let mut calls = JobCalls::new(&job, job.region().unwrap(), 0, FileId(0), 1e9).unwrap();
        let mut made = Vec::new();
        loop {
            match calls.next(0) {
                Step::Call(call, _) => made.push((call.kind, call.offset >> 10, call.flags)),
                Step::End => break,
                _ => {}
            }
        }
        use CallKind::{DontNeed, Fsync, Pread, Pwrite};
        assert_eq!(made[..4], [(Pwrite, 0, 2), (Pwrite, 4, 3), (Pread, 0, 2), (Pwrite, 8, 4)]);
        assert_eq!(made[4..], [(Fsync, 0, 0), (DontNeed, 0, 0), (Pread, 4, 3), (Pread, 8, 4)]);
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
