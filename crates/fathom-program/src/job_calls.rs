//! A fio job as a program: the calls of each of its threads, as fio makes them.

mod logged;
mod pace;
mod loops;
mod syncs;
mod verification;

use std::time::Duration;

use crate::call::{Call, CallKind, DIRECTIONS, Direction, FileId, Position};
use crate::dice::Dice;
use crate::job::{Engine, Job, Region, Trim};
use crate::next_file::NextFile;
use crate::offsets::{Offsets, Span};
use crate::program::{Step, Thread};

use self::logged::Logged;
use self::loops::CountedPasses;
pub use self::verification::ANY_WRITE;
use self::verification::{Verification, Written};

/// One thread of a job.
#[derive(Debug)]
pub struct JobCalls {
    job: Job,
    files: Vec<FileCalls>,
    /// The file of the next transfer, and which one follows it.
    file: usize,
    next_file: NextFile,
    /// What is done to each file before the next pass, and how many files that is still to be done to.
    renews_by: CallKind,
    to_renew: usize,
    ticks_per_second: f64,
    /// Bytes still to be transferred; the last transfer is made whole.
    left: u64,
    /// How far the passes are, where they are counted.
    passes: Option<CountedPasses>,
    /// Bytes that were transferred in the stretch of `zonemode=strided`, which fio counts over all files.
    stretch: u64,
    /// The bytes of one loop, and how many loops follow this one.
    whole: u64,
    loops_left: u64,
    /// Transfers that may still be made.
    transfers_left: u64,
    writes: u64,
    /// What is still to be read again, and the next of it where a seek goes before.
    verification: Option<Verification>,
    verifying: Option<Written>,
    /// What is replayed instead of transfers of its own.
    logged: Option<Logged>,
    /// Bytes that were transferred in either direction.
    moved: u64,
    /// Whether the block of the next write was trimmed: `rw=trimwrite`.
    is_trimmed: bool,
    /// The direction that was chosen before a wait or a sync, and the transfer that a seek goes before.
    chosen: Option<Direction>,
    transfer: Option<(Direction, Span)>,
    /// Whether a sync is the last that was done.
    was_sync: bool,
    /// Whether `thinktime` may be due, after how many transfers, and when it was last so.
    thinks: bool,
    unthought: u32,
    thought: u64,
    /// What is left of a `thinktime` after its busy part.
    think_until: Option<u64>,
    /// The direction of the last transfer.
    side: Direction,
    is_paced: bool,
    /// How many files were synced at the end.
    synced: usize,
    /// Draws when transfers of `rate_process=poisson` begin.
    arrivals: Dice,
    /// How long `startdelay` is, in ticks.
    delay: u64,
    phase: Phase,
    times: Option<Times>,
}

/// One of the files of a thread.
#[derive(Debug)]
struct FileCalls {
    /// A call of no kind in particular on it.
    call: Call,
    offsets: Offsets,
    position: Position,
    /// Whether what an engine of names does to it is still to come in this pass.
    is_unnamed: bool,
    /// The bytes from the first to the last that were written since the last sync; `sync_file_range` is of these.
    written: Option<(u64, u64)>,
}

/// How far a thread has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    /// `startdelay` or the drop after `wait_for` is to come.
    Delayed,
    /// That is just over.
    Begins,
    /// A loop is under way.
    Transfers,
    /// All calls of the loop have returned.
    Drained,
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
    /// A thread of a job on regions of some of a program's files; each has the descriptor of its place in the list.
    ///
    /// # Errors
    /// One sentence where the job makes no sense.
    pub fn new(
        job: &Job,
        regions: &[(FileId, Region)],
        thread: u32,
        ticks_per_second: f64,
    ) -> Result<Self, String> {
        let mut whole = job.transfer_of_loop()?.unwrap_or(u64::MAX);
        let all = || regions.iter().map(|(_, region)| region.length).sum();
        let passes = CountedPasses::of(job, all());
        whole = passes.as_ref().map_or(whole, |passes| passes.most);
        let verification = Verification::of(job);
        if verification.is_some() && !job.files.create_only {
            // As in fio each pass over the size is read again before the next.
            whole = job.size.unwrap_or_else(all).min(job.io_size.unwrap_or(u64::MAX));
        }
        // No job has more than 1,024 threads.
        let one = |(number, &(file, region)): (u32, &(FileId, Region))| {
            let call = Call { descriptor: number, ..Call::new(CallKind::Pause, file) };
            Ok(FileCalls {
                call,
                offsets: Offsets::new(job, region, number << 10 | thread)?,
                position: Position::default(),
                is_unnamed: job.engine.on_names().is_some(),
                written: None,
            })
        };
        let files: Vec<FileCalls> = (0..).zip(regions).map(one).collect::<Result<_, String>>()?;
        let mut arrivals = Dice::new(!job.seed ^ (u64::from(thread) << 32));
        let (low, high) = job.course.start_delay;
        let delay = low + high.saturating_sub(low).mul_f64(arrivals.share());
        let mut calls = Self {
            next_file: NextFile::new(job, files.len(), thread),
            files,
            file: 0,
            // fio goes round within a loop where time ends it.
            renews_by: match (job.engine.on_names(), job.files.unlink_each_loop && !job.time_based) {
                (None, true) => CallKind::Create,
                (Some(_), true) => CallKind::Unlink,
                (_, false) => CallKind::DontNeed,
            },
            // What the job that was waited for has left in the cache is dropped, as before a job that waits for none.
            to_renew: if job.course.wait_for.is_some() && job.drops_caches() { regions.len() } else { 0 },
            ticks_per_second,
            left: whole,
            passes,
            stretch: 0,
            whole,
            loops_left: job.loops_of_size() - 1,
            transfers_left: match job.course.number_ios {
                0 => u64::MAX,
                most => most.saturating_mul(job.loop_count()),
            },
            delay: (delay.as_secs_f64() * ticks_per_second) as u64,
            phase: if job.begins_late() { Phase::Delayed } else { Phase::Transfers },
            writes: 0,
            verification,
            verifying: None,
            logged: Logged::of(job),
            moved: 0,
            is_trimmed: false,
            unthought: 0,
            thought: 0,
            think_until: None,
            side: Direction::Read,
            arrivals,
            chosen: None,
            transfer: None,
            was_sync: false,
            thinks: false,
            is_paced: job.is_paced(),
            synced: 0,
            times: None,
            job: match job.is_offloaded() {
                // A thread that others offload to has no position of a file.
                true => Job { engine: Engine::Psync, ..job.clone() },
                false => job.clone(),
            },
        };
        calls.left = calls.bytes_of_pass();
        Ok(calls)
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

    /// Whether no transfer is left of this loop.
    pub fn is_done(&self) -> bool {
        self.left == 0 || self.transfers_left == 0
    }

    /// A transfer, or the trim or the seek that goes before it.
    #[inline(always)]
    fn transfer(&mut self, direction: Direction, span: Span) -> Step<bool> {
        if direction == Direction::Write
            && let Some((trim, _)) = self.job.order.trim
            && !std::mem::take(&mut self.is_trimmed)
        {
            return self.trim(trim, span);
        }
        let kind = self.kind(direction);
        let file = &mut self.files[self.file];
        if std::mem::take(&mut file.is_unnamed)
            && let Some(kind) = self.job.engine.on_names()
        {
            self.transfer = Some((direction, span));
            return Step::Call(Call { kind, ..file.call }, true);
        }
        let mut call = Call { kind, ..file.call }.at(span.offset, span.length);
        if let Some(seek) = file.position.seek_before(&call) {
            (self.transfer, self.is_trimmed) = (Some((direction, span)), true);
            return Step::Call(seek, false);
        }
        if direction == Direction::Write {
            self.writes += 1;
            if self.job.durability.range.is_some() {
                let end = span.offset + span.length;
                let written = &mut self.files[self.file].written;
                let (first, last) = written.unwrap_or((span.offset, end));
                *written = Some((first.min(span.offset), last.max(end)));
            }
        }
        if self.job.verify.is_some() {
            self.number(&mut call, direction, span);
        }
        self.count(direction, span);
        Step::Call(call, true)
    }

    /// A block is trimmed, instead of written or before that; fio bounds the trimmed and the written bytes each by the size.
    #[cold]
    fn trim(&mut self, trim: Trim, span: Span) -> Step<bool> {
        match trim {
            Trim::Only => self.count(Direction::Write, span),
            Trim::BeforeWrite => (self.is_trimmed, self.transfer) = (true, Some((Direction::Write, span))),
        }
        let call = self.files[self.file].call;
        Step::Call(Call { kind: CallKind::Discard, ..call }.at(span.offset, span.length), true)
    }

    /// Keeps the books of a transfer.
    #[inline(always)]
    fn count(&mut self, direction: Direction, span: Span) {
        self.left = self.left.saturating_sub(span.length);
        if let Some(passes) = &mut self.passes {
            passes.left = passes.left.saturating_sub(span.length);
        }
        self.moved += span.length;
        self.thinks = !self.job.thinktime.is_zero();
        self.transfers_left -= 1;
        self.was_sync = false;
        self.side = direction;
        if self.is_paced {
            let side = direction as usize;
            let ticks = match self.job.rates.poisson {
                // fio draws from the mean of the least block, whatever the transfer moves.
                true => -self.share(side, self.job.blocks[side].least) * self.arrivals.share().ln(),
                false => self.share(side, span.length),
            };
            if let Some(times) = &mut self.times {
                times.due[side] += ticks as u64;
            }
        }
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

    /// The next transfer; none where this pass is over.
    #[inline(always)]
    fn span(&mut self, direction: Direction) -> Option<Span> {
        match self.files.as_mut_slice() {
            [file] => file.offsets.next(direction),
            _ => self.span_of_several(direction),
        }
    }

    fn span_of_several(&mut self, direction: Direction) -> Option<Span> {
        while let Some(file) = self.next_file.choose() {
            self.file = file;
            let offsets = &mut self.files[file].offsets;
            let mut span = offsets.next_of_thread(direction, &mut self.stretch);
            if span.is_none() && self.next_file.begins_again() {
                offsets.rewind();
                span = offsets.next_of_thread(direction, &mut self.stretch);
            }
            if span.is_some() {
                return span;
            }
            self.next_file.finish();
        }
        None
    }

    /// fio syncs the file whose turn it is, and goes on with the one after it; none where all are done.
    fn file_to_sync(&mut self) -> Option<usize> {
        if self.files.len() == 1 { Some(0) } else { self.next_file.choose() }
    }

    /// fio counts the time of the last sync, but not the call.
    fn end(&mut self) -> Step<bool> {
        let asks = self.job.end_fsync || self.job.durability.on_close;
        let syncs = asks && self.writes > 0 && !self.was_sync;
        let drains = (syncs || self.loops_left > 0 || self.passes.is_some()) && self.job.is_queued();
        if drains && self.phase < Phase::Drained {
            self.phase = Phase::Drained;
            return Step::Drain;
        }
        match self.files.get(self.synced) {
            Some(file) if syncs => {
                self.synced += 1;
                Step::Call(Call { kind: CallKind::Fsync, ..file.call }, false)
            }
            _ => Step::End,
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
        if let Some(next) = self.verifying.take() {
            return self.read_again(next);
        }
        if self.to_renew > 0
            && let Some(step) = self.renew()
        {
            return step;
        }
        if self.phase == Phase::Delayed {
            self.phase = Phase::Begins;
            return Step::Wait(now.saturating_add(self.delay));
        }
        if self.phase == Phase::Begins {
            self.phase = Phase::Transfers;
            return Step::StartCounting;
        }
        let mut times = match self.times {
            Some(times) => times,
            None => {
                self.thought = now;
                *self.times.insert(self.begin(now))
            }
        };
        if let Some(until) = self.think_until.take() {
            return Step::Wait(until);
        }
        if self.job.engine == Engine::Cpuio {
            return self.burn(now, times.end);
        }
        if std::mem::take(&mut self.thinks)
            && let Some(step) = self.think(now, times.end)
        {
            return step;
        }
        if now >= times.ramp_end {
            (times.ramp_end, times.due) = (u64::MAX, [now; DIRECTIONS]);
            self.times = Some(times);
            return Step::StartCounting;
        }
        loop {
            if now >= times.end || self.left == 0 || self.transfers_left == 0 {
                let goes_on = now < times.end && self.transfers_left > 0 && self.whole > 0;
                match self.sync_of_pass(goes_on).unwrap_or_else(|| self.end()) {
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
            if self.passes.as_ref().is_some_and(|passes| passes.left == 0) {
                match self.end_of_pass() {
                    Some(step) => return step,
                    None => continue,
                }
            }
            if self.logged.is_some() {
                match self.next_of_log(now, times.end) {
                    Some(step) => return step,
                    None => continue,
                }
            }
            let chosen = self.chosen.take();
            let mut direction = chosen.unwrap_or_else(|| self.files[0].offsets.direction());
            if chosen.is_none() && self.is_paced {
                let (paced, due) = self.paced(direction, now, times.due);
                direction = paced;
                if due > now {
                    self.chosen = Some(direction);
                    return Step::Wait(due.min(times.end));
                }
            }
            if let Some(step) = self.due_sync() {
                self.chosen = Some(direction);
                return step;
            }
            let Some(span) = self.span(direction) else {
                match self.end_of_pass() {
                    Some(step) => return step,
                    None => continue,
                }
            };
            return self.transfer(direction, span);
        }
    }

    fn ends(&self) -> u64 {
        self.times.map_or(u64::MAX, |times| times.end)
    }

    fn stop(&mut self, now: u64) {
        (self.phase, self.thinks, self.think_until) = (self.phase.max(Phase::Transfers), false, None);
        let times = self.times.unwrap_or_else(|| self.begin(now));
        self.times = Some(Times { end: times.end.min(now), ..times });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::{Benchmark, Pattern, Surroundings, Verify, parse};

    /// All calls of a thread for which no time passes but what it waits for.
    fn calls(job: &Job, thread: u32) -> Vec<(CallKind, u64, u64)> {
        let files = job.files_of(thread).unwrap();
        let regions: Vec<_> = (0..).map(FileId).zip(files.iter().map(|file| file.region)).collect();
        let mut calls = JobCalls::new(job, &regions, thread, 1e9).unwrap();
        let (mut now, mut made) = (0, Vec::new());
        loop {
            match calls.next(now) {
                Step::Call(call, _) => made.push((call.kind, call.offset >> 10, now)),
                Step::Wait(until) | Step::Spin(until) => now = now.max(until),
                Step::StartCounting | Step::Verify(_) | Step::Await | Step::Drain => {}
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
    fn ranks_of_ior_fill_one_file_between_them_and_read_what_others_wrote() {
        let surroundings = Surroundings {
            page_size: 4096,
            cpus: 1,
            memory_mib: 1,
            variable: &|_| None,
            file: &|_| None,
            path: "",
            on_files: None,
            added: &[],
        };
        for segments in [1, 3] {
            let words = format!("ior -b 8k -t 4k -C -s {segments}");
            let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
            let of_rank = |rank| {
                let ior = Benchmark::read(&words, rank, 3).unwrap().unwrap();
                assert!(ior.is_shared && ior.shift == 0);
                parse(&ior.jobs, &surroundings).unwrap().jobs
            };
            let places = |job: &Job| {
                let places = calls(job, 0).into_iter().filter(|(kind, ..)| kind.direction().is_some());
                places.map(|(_, offset, _)| offset).collect::<Vec<_>>()
            };
            let ranks: Vec<_> = (0..3).map(of_rank).collect();
            let mut all: Vec<u64> = ranks.iter().flat_map(|jobs| places(&jobs[0])).collect();
            all.sort_unstable();
            assert_eq!(all, (0..6 * segments).map(|at| at * 4).collect::<Vec<_>>());
            for rank in 0..3 {
                assert_eq!(places(&ranks[rank][1]), places(&ranks[(rank + 1) % 3][0]));
            }
        }
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
    fn the_cache_is_emptied_between_passes_and_where_blocks_may_come_again_there_is_one_pass() {
        let drops = |random_map: bool| {
            let job = Job { pattern: Pattern::Random, random_map, io_size: Some(48 << 10), ..job(12) };
            let made = calls(&job, 0);
            assert_eq!(made.iter().filter(|(kind, ..)| *kind == CallKind::Pread).count(), 12);
            made.iter().filter(|(kind, ..)| *kind == CallKind::DontNeed).count()
        };
        assert_eq!([true, false].map(drops), [3, 0]);
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
        let regions = [(FileId(0), job.region().unwrap())];
        let mut calls = JobCalls::new(&job, &regions, 0, 1e9).unwrap();
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
    fn thinking_comes_after_so_many_transfers_or_so_long() {
        let times = |job: &Job| -> Vec<u64> { calls(job, 0).iter().map(|(_, _, now)| now / 1000).collect() };
        let mut thinking = Job { thinktime: Duration::from_micros(10), ..job(24) };
        thinking.thinking.blocks = 2;
        assert_eq!(times(&thinking), [0, 0, 10, 10, 20, 20]);
        thinking.thinking.spin = Duration::from_micros(4);
        assert_eq!(times(&thinking), [0, 0, 10, 10, 20, 20]);
        // A transfer takes 5 us: a wait comes when iotime and thinktime have passed since the last began.
        thinking.thinking = crate::job::Thinking { iotime: Duration::from_micros(5), ..Default::default() };
        thinking.rates.iops[0] = 200_000;
        thinking.size = Some(32 << 10);
        assert_eq!(times(&thinking), [0, 5, 10, 15, 25, 25, 30, 40]);
    }

    #[test]
    fn a_rate_makes_up_for_thinktime_unless_it_is_to_ignore_it() {
        let times = |job: &Job| -> Vec<u64> { calls(job, 0).iter().map(|(_, _, now)| now / 1000).collect() };
        let mut paced = Job { thinktime: Duration::from_micros(20), ..job(24) };
        paced.thinking.blocks = 3;
        paced.rates.iops[0] = 200_000;
        assert_eq!(times(&paced), [0, 5, 10, 30, 30, 30]);
        paced.rates.ignore_thinktime = true;
        assert_eq!(times(&paced), [0, 5, 10, 30, 35, 40]);
    }

    #[test]
    fn arrivals_of_a_poisson_process_are_exponential() {
        let mut paced = job(40_000);
        (paced.rates.poisson, paced.rates.iops[0]) = (true, 1_000_000);
        let times: Vec<u64> = calls(&paced, 0).iter().map(|(_, _, now)| *now).collect();
        let gaps: Vec<u64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let mean = gaps.iter().sum::<u64>() / gaps.len() as u64;
        assert!((970..1030).contains(&mean), "{mean} ns");
        // One in e is longer than the mean.
        let longer = gaps.iter().filter(|&&gap| gap > 1000).count() * 1000 / gaps.len();
        assert!((350..386).contains(&longer), "{longer} of 1000");
    }

    #[test]
    fn a_delay_is_drawn_for_each_thread() {
        let mut late = job(4);
        late.course.start_delay = (Duration::from_micros(100), Duration::from_micros(300));
        let begin = |thread| calls(&late, thread)[0].2;
        let begins: Vec<u64> = (0..8).map(begin).collect();
        assert!(begins.iter().all(|begin| (100_000..=300_000).contains(begin)), "{begins:?}");
        assert!(begins.iter().any(|&begin| begin != begins[0]), "{begins:?}");
        assert_eq!(begins[1], begin(1));
    }

    #[test]
    fn who_is_stopped_does_what_is_due_at_the_end() {
        let job = Job { end_fsync: true, read_percent: 0, ..job(64) };
        let mut calls = JobCalls::new(&job, &[(FileId(0), job.region().unwrap())], 0, 1e9).unwrap();
        assert!(matches!(calls.next(0), Step::Call(call, true) if call.kind == CallKind::Pwrite));
        calls.stop(1);
        assert!(matches!(calls.next(2), Step::Call(call, false) if call.kind == CallKind::Fsync));
        assert_eq!(calls.next(3), Step::End);
    }

    #[test]
    fn runs_repeat_an_offset_and_offsets_are_aligned() {
        let mut runs = Job { pattern: Pattern::Random, random_map: false, ..job(4096) };
        (runs.order.every, runs.order.identical) = (2, true);
        assert!(offsets(&runs).chunks(2).all(|pair| pair[0] == pair[1]));
        let mut aligned = Job { pattern: Pattern::Random, ..job(4096) };
        aligned.order.align = [1024; 3];
        let made = offsets(&aligned);
        assert_eq!(made.len(), 1024);
        assert!(made.iter().any(|offset| offset % 4 != 0) && made.iter().all(|&offset| offset <= 4092));
        let mut backwards = job(24);
        backwards.order.skip = -(8 << 10);
        assert_eq!(offsets(&backwards), [0, 16, 12, 8, 4, 0]);
        // A share of the file apart, rounded up to a block.
        let mut shares = Job { filesize: Some(100 << 10), ..job(4) };
        shares.order.increment = (11 << 10, true);
        assert_eq!([0, 1, 2].map(|thread| calls(&shares, thread)[0].1), [0, 12, 24]);
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
