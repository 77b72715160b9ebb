//! Runs jobs for real: threads that transfer as fast as the job allows, and what each of them saw.
//!
//! Files lie in a private directory, outlive a run and are used again by the next one with the same
//! `filename`, so that thousands of short runs need one layout. Before each run the share of its
//! region that is in the page cache is counted, where the kernel lets a program see that.

mod around;
mod burst;
mod calm;
mod course;
mod depth_search;
mod disks;
mod histogram;
mod locks;
pub mod log;
mod needs;

mod outcome;
mod place;
pub mod program;
mod ranks;
mod record;
mod sampling;
mod testbed;
mod steady;
mod steer;
mod write_logs;

use std::collections::HashMap;
use std::path::Path;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use fathom_sys::affinity;
use fathom_sys::clock::Counter;
use fathom_sys::usage::Usage;

pub use self::around::{files_below, input, length_below, surroundings};
pub use self::burst::{Burst, burst};
pub use self::calm::Start;
pub use self::disks::Disk;
pub use self::histogram::{Histogram, quantile};
pub use self::needs::Needs;
pub use self::outcome::{Errors, Latencies, Outcome, Transfers, Wrote, per_second};
pub use self::ranks::{Meeting, Ranks};
pub use self::sampling::{Sampled, SampledRates};
pub use self::steady::Steadiness;
pub use self::testbed::{Cached, Limits, Testbed};
pub use self::write_logs::write_logs;

pub use self::testbed::Folios;
pub use crate::executor::Levels;

use self::course::Course;
use self::disks::Disks;
use self::locks::Locked;
use self::record::{Record, forgiven, outcome};
use self::sampling::Sampling;
use self::steer::{Steered, Watched, is_steered};
use crate::executor::asynchronous::{self, Requests};
use crate::executor::{self, Buffer, Control, Counters, Mapped, Names, OfJob, Special, System};
use crate::fault::Fault;
use crate::instrument::Clock;
use fathom_program::call::FileId;
use fathom_program::job::{Engine, Job, ThreadFile};
use fathom_program::job_calls::JobCalls;

/// Runs one job with all its threads at the same time; returns one outcome per thread.
///
/// # Errors
/// A job that [`Job::check`] refuses, a budget or a disk that is too small, a call that fails or
/// moves less than it should, an interrupt, the end of the time allowed.
pub fn run(job: &Job, testbed: &mut Testbed) -> Result<Vec<Outcome>, Fault> {
    let (mut outcomes, _) = together(std::slice::from_ref(job), testbed)?;
    Ok(outcomes.pop().unwrap_or_default())
}

/// Runs the jobs of a file. Jobs between two stonewalls run at the same time, one such group after the other. Returns the outcomes
/// of each job's threads.
///
/// # Errors
/// As [`run`]; the first fault ends everything.
pub fn run_all(jobs: &[Job], testbed: &mut Testbed) -> Result<Vec<Vec<Outcome>>, Fault> {
    let mut outcomes = Vec::with_capacity(jobs.len());
    let mut is_over = false;
    for group in groups(jobs) {
        if is_over {
            let nothing =
                |job: &Job| vec![Outcome::nothing(1e9 / testbed.ticks_per_second()); job.numjobs as usize];
            outcomes.extend(group.iter().map(nothing));
            continue;
        }
        let (of_group, ends_all) = together(group, testbed)?;
        outcomes.extend(of_group);
        is_over = ends_all;
    }
    Ok(outcomes)
}

/// The groups of jobs that run at the same time: a stonewall begins another group.
pub fn groups(jobs: &[Job]) -> impl Iterator<Item = &[Job]> {
    jobs.chunk_by(|_, next| !next.stonewall)
}

/// A thread to be: its job, its number in it, and its files.
struct JobThread<'a> {
    job: &'a Job,
    number: u32,
    /// Each with its place among the different files of the jobs.
    files: Vec<(FileId, ThreadFile)>,
}

/// How long before its end a wait begins to spin: waking from a sleep takes about that long.
const SPIN: Duration = Duration::from_micros(100);

/// How long all rests before files are opened, dropped from the cache or read in, which keeps a CPU busy.
const REST: Duration = Duration::from_millis(100);

/// The outcomes of jobs that run at the same time, and whether their end was that of all.
fn together(jobs: &[Job], testbed: &mut Testbed) -> Result<(Vec<Vec<Outcome>>, bool), Fault> {
    // Looking takes time, and tells something of syncs alone.
    let syncs = jobs.iter().any(|job| job.fsync > 0);
    let wrote = |testbed: &Testbed| if syncs { testbed.device_wrote() } else { None };
    let before = wrote(testbed);
    testbed.lay_out(jobs)?;
    let elsewhere = testbed.with_files_of_others(jobs)?;
    let jobs = elsewhere.as_deref().unwrap_or(jobs);
    let (threads, records, ends_all) = started(jobs, testbed)?;
    testbed.meet(Meeting::Ended, jobs)?;
    let device_wrote = wrote(testbed).zip(before).map(|(after, before)| after.since(before));
    let ns_per_tick = 1e9 / testbed.ticks_per_second();
    let of = |(thread, record)| outcome(thread, record, ns_per_tick, device_wrote);
    let mut outcomes = threads.iter().zip(records).map(of);
    let outcomes = jobs.iter().map(|job| outcomes.by_ref().take(job.numjobs as usize).collect()).collect();
    Ok((outcomes, ends_all))
}

/// Gets everything ready and runs the threads of some jobs.
fn started<'a>(
    jobs: &'a [Job],
    testbed: &mut Testbed,
) -> Result<(Vec<JobThread<'a>>, Vec<Record>, bool), Fault> {
    let mut list = Vec::new();
    let mut known: HashMap<String, FileId> = HashMap::new();
    for job in jobs {
        for number in 0..job.numjobs {
            let files = job.files_of(number).map_err(Fault::Unsupported)?;
            let numbered = |file: ThreadFile| {
                let next = FileId(known.len() as u32);
                (*known.entry(file.name.clone()).or_insert(next), file)
            };
            list.push(JobThread { job, number, files: files.into_iter().map(numbered).collect() });
        }
    }
    // What the engine 'null' writes goes nowhere.
    let has_files = jobs.iter().any(|job| job.engine.has_files());
    let allowed = if has_files { testbed.write_budget() } else { u64::MAX };
    let budget = AtomicU64::new(allowed);
    if let Some(disks) = &mut testbed.disks {
        disks.begin();
    }
    let records = match testbed.clock() {
        Clock::Cycles(counter) => threads(counter, jobs, &list, testbed, &budget),
        Clock::Monotonic(counter) => threads(counter, jobs, &list, testbed, &budget),
    };
    if let Some(disks) = &mut testbed.disks {
        disks.end();
    }
    if has_files {
        testbed.count_written(allowed - budget.into_inner());
    }
    testbed.settle(jobs);
    let (records, ends_all) = records?;
    Ok((list, records, ends_all))
}

/// Runs all threads; each opens its own files and gets everything ready, and then they begin at once.
fn threads<C: Counter>(
    clock: C,
    jobs: &[Job],
    threads: &[JobThread<'_>],
    testbed: &Testbed,
    budget: &AtomicU64,
) -> Result<(Vec<Record>, bool), Fault> {
    let failed = AtomicBool::new(false);
    let control = Control {
        interrupt: testbed.interrupt(),
        failed: &failed,
        budget,
        deadline: executor::deadline(clock, testbed.deadline(), testbed.ticks_per_second()),
        ticks_per_second: testbed.ticks_per_second(),
        counters: &Counters::default(),
        spin: SPIN,
    };
    let start = Barrier::new(threads.len());
    let last = threads.iter().flat_map(|thread| &thread.files).map(|(file, _)| file.0).max();
    let files = last.map_or(0, |last| last as usize + 1);
    let course = Course::of(threads.iter().map(|thread| (thread.job, thread.number)), files);
    let calm = testbed.calm();
    if let Some(calm) = calm {
        calm.begin();
    }
    let outcomes: Vec<Result<Record, Fault>> = std::thread::scope(|scope| {
        let spawn = |number: usize| {
            let thread = &threads[number];
            let (control, start, failed, course) = (&control, &start, &failed, &course);
            scope.spawn(move || {
                affinity::sleep_precisely();
                if calm.is_none() {
                    std::thread::sleep(REST);
                }
                let ready = place::take(thread.job, number).and_then(|()| ready(thread, testbed));
                // All have opened their files.
                start.wait();
                let regions = thread.files.iter().map(|(_, file)| file.region);
                let ready = ready.and_then(|ready| {
                    let cached = testbed.cached(thread.job, &ready.1.descriptors.0, regions)?;
                    Ok((cached, ready))
                });
                if ready.is_err() {
                    failed.store(true, Ordering::Relaxed);
                }
                if let Some(calm) = calm {
                    calm.await_it();
                }
                start.wait();
                let met = testbed.begin_with_others(number, jobs, start, failed);
                let ready = ready.and_then(|ready| met.map(|()| ready));
                let turn = Turn { thread, number, course, control, testbed };
                let calls = thread.job.course.iologs[1].is_some().then(Vec::new);
                let log = log::Log::of(thread.job, control.ticks_per_second);
                let goes_on_after_mismatches = thread.job.course.continues[2];
                let forgiven = forgiven(thread.job);
                let sampling = Sampling::of(thread.job, control.ticks_per_second);
                let outcome = Outcome { calls, log, ..Outcome::default() };
                let mut record =
                    Record { outcome, forgiven, goes_on_after_mismatches, sampling, ..Record::default() };
                let outcome = ready.and_then(|(cached, ready)| {
                    record.outcome.cached_before = cached;
                    work(clock, ready, turn, record)
                });
                let outcome = course.fault(number).map_or(outcome, Err);
                course.ended(number, thread.job);
                if let Some(calm) = calm {
                    calm.end();
                }
                if outcome.is_err() {
                    failed.store(true, Ordering::Relaxed);
                }
                outcome
            })
        };
        let handles: Vec<_> = (0..threads.len()).map(spawn).collect();
        let gone = || Err(Fault::Unsupported("a thread of the load died".to_owned()));
        handles.into_iter().map(|handle| handle.join().unwrap_or_else(|_| gone())).collect()
    });
    Ok((executor::first_cause(outcomes)?, course.ends_all()))
}

/// A thread's calls, and what makes them.
fn ready(thread: &JobThread<'_>, testbed: &Testbed) -> Result<(JobCalls, System<OfJob>), Fault> {
    let job = thread.job;
    testbed.prepare(job, thread.files.iter().map(|(_, file)| file))?;
    let open = |(_, file): &(FileId, ThreadFile)| {
        let path = testbed.path_of(job, &file.name);
        let open = match job.files.existing {
            Some(_) => testbed.descriptor_of(job, &file.name, job.direct)?,
            None => OfJob::open(job, &path)?,
        };
        testbed.hint(job, &open, &path)?;
        Ok((path, open))
    };
    let files = thread.files.iter().filter(|_| job.engine.opens_files());
    let open = files.map(open).collect::<Result<Vec<_>, Fault>>()?;
    let buffer = Buffer::of_job(job, open.first().map_or(Path::new(&job.name), |(path, _)| path))?;
    let regions: Vec<_> = thread.files.iter().map(|(number, file)| (*number, file.region)).collect();
    let calls = JobCalls::new(job, &regions, thread.number, testbed.ticks_per_second());
    Ok((calls.map_err(Fault::Unsupported)?, System::new(OfJob::new(job, open), buffer)))
}

/// A thread among those that run at the same time.
#[derive(Clone, Copy)]
struct Turn<'a> {
    thread: &'a JobThread<'a>,
    number: usize,
    course: &'a Course,
    control: &'a Control<'a>,
    testbed: &'a Testbed,
}

impl<'a> Turn<'a> {
    fn steered(self, calls: JobCalls) -> Steered<'a> {
        let (job, ticks_per_second) = (self.thread.job, self.control.ticks_per_second);
        Steered::new(calls, job, self.course, self.number, ticks_per_second, self.testbed.most())
    }

    fn is_steered(self) -> bool {
        is_steered(self.thread.job) || self.testbed.most().is_some()
    }

    fn watched(self, record: &'a mut Record) -> Watched<'a> {
        let member = self.course.member(self.number);
        Watched::new(record, member, self.thread.job, self.control.ticks_per_second)
    }

    /// Waits for the job of `wait_for`.
    fn await_job(self) -> Result<(), Fault> {
        let awaited = self.thread.job.course.wait_for.as_ref();
        awaited.map_or(Ok(()), |name| self.course.wait_for(name, self.number, self.control))
    }
}

impl Testbed {
    /// Counts from now on what the disks below `path` do while jobs run.
    pub fn watch_disks(&mut self, path: &Path) {
        self.disks = Disks::below(path);
    }

    /// What the watched disks have done so far.
    pub fn disks(&self) -> Vec<Disk> {
        self.disks.as_ref().map_or_else(Vec::new, |disks| disks.so_far.clone())
    }
}

fn work<C: Counter>(
    clock: C,
    (calls, system): (JobCalls, System<OfJob>),
    turn: Turn<'_>,
    record: Record,
) -> Result<Record, Fault> {
    turn.await_job()?;
    let JobThread { job, files, .. } = turn.thread;
    match job.engine {
        Engine::Filecreate
        | Engine::Filestat
        | Engine::Filedelete
        | Engine::Dircreate
        | Engine::Dirstat
        | Engine::Dirdelete => {
            let path = |(_, file): &(FileId, ThreadFile)| turn.testbed.path_of(job, &file.name);
            drive(clock, calls, Names::of(job, files.iter().map(path).collect()), turn, record)
        }
        _ if job.is_offloaded() => deep(clock, calls, system, turn, record),
        Engine::Mmap => {
            let lengths: Vec<u64> = files.iter().map(|(_, file)| file.region.file).collect();
            drive(clock, calls, Mapped::of(system, job, &lengths)?, turn, record)
        }
        Engine::Psync | Engine::Pvsync | Engine::Sync | Engine::Vsync => {
            drive(clock, calls, system, turn, record)
        }
        Engine::Pvsync2
        | Engine::Splice
        | Engine::Falloc
        | Engine::Ftruncate
        | Engine::Null
        | Engine::Cpuio => drive(clock, calls, Special::of(system, job)?, turn, record),
        Engine::Libaio | Engine::IoUring | Engine::Posixaio => deep(clock, calls, system, turn, record),
    }
}

/// Runs a thread whose engine has several requests under way.
fn deep<C: Counter>(
    clock: C,
    mut calls: JobCalls,
    system: System<OfJob>,
    turn: Turn<'_>,
    record: Record,
) -> Result<Record, Fault> {
    let mut requests = Requests::new(turn.thread.job, system.descriptors)?;
    requests.verifier = system.buffer.verifier;
    let control = turn.control;
    let mut record = counted(clock, record, |record, origin| match turn.is_steered() {
        false => asynchronous::run(clock, &mut calls, &mut requests, record, control, origin),
        true => {
            let (mut calls, mut watched) = (turn.steered(calls), turn.watched(record));
            let ran = asynchronous::run(clock, &mut calls, &mut requests, &mut watched, control, origin);
            record.outcome.steadiness = calls.steadiness();
            ran
        }
    })?;
    record.outcome.levels = Some(requests.levels);
    Ok(record)
}

/// Runs a thread whose calls are made one after the other.
fn drive<C: Counter, E: executor::Engine>(
    clock: C,
    calls: JobCalls,
    engine: E,
    turn: Turn<'_>,
    record: Record,
) -> Result<Record, Fault> {
    match turn.thread.job.files.lock.as_deref() {
        None => drive_unlocked(clock, calls, engine, turn, record),
        Some(how) => {
            let engine = Locked { engine, locks: &turn.course.locks, shares: how == "readwrite" };
            drive_unlocked(clock, calls, engine, turn, record)
        }
    }
}

fn drive_unlocked<C: Counter, E: executor::Engine>(
    clock: C,
    mut calls: JobCalls,
    mut engine: E,
    turn: Turn<'_>,
    record: Record,
) -> Result<Record, Fault> {
    let control = turn.control;
    counted(clock, record, |record, origin| match turn.is_steered() {
        false => executor::run(clock, &mut calls, &mut engine, record, control, Some(origin)),
        true => {
            let (mut calls, mut watched) = (turn.steered(calls), turn.watched(record));
            let ran = executor::run(clock, &mut calls, &mut engine, &mut watched, control, Some(origin));
            record.outcome.steadiness = calls.steadiness();
            ran
        }
    })
}

/// Notes when a thread began to count, how long it took and what it used; `run` gives the ticks from its origin.
#[inline(always)]
fn counted<C: Counter>(
    clock: C,
    mut record: Record,
    run: impl FnOnce(&mut Record, u64) -> Result<u64, Fault>,
) -> Result<Record, Fault> {
    let origin = clock.stop();
    record.sampling.begin(origin);
    (record.began, record.outcome.usage) = (origin, Usage::of_this_thread());
    let ticks = run(&mut record, origin)?;
    record.elapsed = (origin + ticks).saturating_sub(record.began);
    record.outcome.usage = Usage::of_this_thread().since(record.outcome.usage);
    Ok(record)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::instrument::Instrument;
    use fathom_program::call::Direction;
    use fathom_program::job::{Blocks, Depth, Others, Pattern, PatternPart, SteadyState, Trim, Verify};
    use fathom_sys::file::Errno;
    use std::io::Write;
    use std::time::Instant;

    fn testbed(space: u64, max_write: u64) -> Testbed {
        let instrument = Instrument::calibrate().unwrap();
        let limits = Limits { max_write, deadline: None };
        Testbed::at(&std::env::temp_dir(), space, &instrument, limits, Arc::new(AtomicBool::new(false)))
            .unwrap()
    }

    fn small(name: &str) -> Job {
        Job { size: Some(256 << 10), ..Job::named(name) }
    }

    fn total(outcomes: &[Outcome], direction: Direction) -> (u64, u64) {
        let one = |outcome: &Outcome| {
            let transfers = &outcome.transfers[direction as usize];
            (transfers.bytes, transfers.latency.count())
        };
        outcomes.iter().map(one).fold((0, 0), |sum, (bytes, count)| (sum.0 + bytes, sum.1 + count))
    }

    #[test]
    fn what_a_hole_keeps_in_memory_takes_no_space_and_leaves_with_who_keeps_it() {
        let mut testbed = testbed(8 << 20, 64 << 20);
        let written = testbed.bytes_written();
        for bytes in [4 << 20, 6 << 20, 2 << 20] {
            let kept = testbed.keep_folios(bytes).unwrap();
            let taken = fathom_sys::file::allocated_bytes(std::os::fd::AsFd::as_fd(&kept.0)).unwrap();
            assert!(taken < 1 << 20, "{taken}");
        }
        assert_eq!(testbed.bytes_written(), written);
    }

    #[test]
    fn every_engine_and_order_moves_what_the_job_says() {
        let mut testbed = testbed(8 << 20, 64 << 20);
        use Engine::{IoUring, Libaio, Mmap, Psync, Pvsync, Pvsync2, Splice, Sync, Vsync};
        for engine in [Psync, Sync, Pvsync, Vsync, Pvsync2, Splice, Mmap, Libaio, IoUring] {
            for pattern in [Pattern::Sequential, Pattern::Random] {
                for read_percent in [0, 40, 100] {
                    let depth = Depth { most: 8, submit: 3, reap_least: 2, low: 5, ..Depth::default() };
                    let job = Job { engine, pattern, read_percent, depth, numjobs: 2, ..small("all") };
                    let outcomes = run(&job, &mut testbed).unwrap();
                    let (reads, writes) =
                        (total(&outcomes, Direction::Read), total(&outcomes, Direction::Write));
                    assert_eq!((reads.0 + writes.0, reads.1 + writes.1), (512 << 10, 128));
                    assert_eq!(reads.1 == 0, read_percent == 0);
                    assert_eq!(writes.1 == 0, read_percent == 100);
                    for one in outcomes.iter().filter(|_| !engine.is_asynchronous()) {
                        let busy: u64 = one.transfers.iter().map(|side| side.latency.sum()).sum();
                        assert!(busy as f64 * one.ns_per_tick <= one.elapsed_ns as f64 * 1.01 + 100.0);
                    }
                }
            }
        }
    }

    #[test]
    fn the_cache_is_brought_into_the_state_asked_for_and_proven() {
        let mut testbed = testbed(1 << 20, 64 << 20);
        let shared = Job { filename: Some("shared".to_owned()), ..small("cache") };
        let share =
            |outcomes: Vec<Outcome>| outcomes[0].cached_before.map(|it| it.cached as f64 / it.pages as f64);
        let cold = share(run(&shared, &mut testbed).unwrap());
        let cached = share(run(&Job { pre_read: true, ..shared.clone() }, &mut testbed).unwrap());
        // A file system in memory has nowhere else to keep its pages.
        let in_memory = fathom_sys::facts::mount_of(&std::env::temp_dir()).unwrap().fs_type == "tmpfs";
        let dropped = if in_memory { 1.0 } else { 0.0 };
        assert_eq!((cold, cached), (Some(dropped), Some(1.0)));
        let before = testbed.bytes_written();
        run(&shared, &mut testbed).unwrap();
        assert_eq!(testbed.bytes_written(), before, "the file is used again");
    }

    #[test]
    fn a_job_wears_out_until_it_has_moved_what_the_fastest_process_has() {
        let mut testbed = testbed(1 << 20, 64 << 20);
        let slow = Job {
            read_percent: 0,
            runtime: Duration::from_millis(50),
            thinktime: Duration::from_millis(5),
            ..small("slow")
        };
        let moved = Arc::new(AtomicU64::new(0));
        let reported = Arc::clone(&moved);
        let alone = Ranks::new(|_, _, _| Ok(None));
        testbed.meet_with(Some(alone.clone().wearing_out(move |bytes| {
            reported.store(bytes, Ordering::Relaxed);
            Ok(bytes + (40 << 10))
        })));
        let whole = total(&run(&slow, &mut testbed).unwrap(), Direction::Write).0;
        let moved = moved.load(Ordering::Relaxed);
        assert!((4096..=60 << 10).contains(&moved), "{moved} bytes in its time");
        assert_eq!(whole, moved + (40 << 10));
        let lost = |_| Err(Fault::Unsupported("another rank has died".to_owned()));
        testbed.meet_with(Some(alone.wearing_out(lost)));
        assert!(run(&slow, &mut testbed).unwrap_err().to_string().contains("has died"));
    }

    #[test]
    fn the_time_ends_a_job_and_the_ramp_does_not_count() {
        let mut testbed = testbed(1 << 20, 64 << 20);
        let timed = Job {
            runtime: Duration::from_millis(60),
            ramp_time: Duration::from_millis(40),
            time_based: true,
            ..small("timed")
        };
        let before = Instant::now();
        let outcomes = run(&timed, &mut testbed).unwrap();
        let taken = before.elapsed();
        assert!(taken >= Duration::from_millis(100), "{taken:?}");
        // A thread that has to wait for its CPU begins to count after the ramp, never before its end.
        let counted = Duration::from_nanos(outcomes[0].elapsed_ns);
        assert!(counted <= taken - Duration::from_millis(40), "{counted:?} of {taken:?}");
        assert!(total(&outcomes, Direction::Read).0 > 256 << 10, "it goes round");
    }

    #[test]
    fn a_rate_is_held_in_each_direction() {
        let mut testbed = testbed(1 << 20, 64 << 20);
        let rates = [1 << 20, 2 << 20];
        let job = Job { read_percent: 50, rate: rates, pattern: Pattern::Random, ..small("rate") };
        let outcomes = run(&job, &mut testbed).unwrap();
        let seconds = outcomes[0].elapsed_ns as f64 / 1e9;
        for direction in [Direction::Read, Direction::Write] {
            let bytes = total(&outcomes, direction).0 as f64;
            // A slow machine may miss a rate, never exceed it; the first block is free.
            let allowed = rates[direction as usize] as f64 * seconds + 4096.0;
            assert!(bytes <= allowed, "{direction:?}: {bytes} in {seconds} s");
        }
    }

    #[test]
    fn syncs_and_thinktime_are_done_and_counted() {
        let mut testbed = testbed(1 << 20, 64 << 20);
        let job = Job {
            read_percent: 0,
            size: Some(64 << 10),
            fsync: 4,
            end_fsync: true,
            thinktime: Duration::from_millis(1),
            ..small("sync")
        };
        let outcomes = run(&job, &mut testbed).unwrap();
        // Three between the writes and none after the last; the one at the end is not counted.
        assert_eq!(outcomes[0].syncs.count(), 3);
        assert!(outcomes[0].elapsed_ns >= 16_000_000);
    }

    #[test]
    fn a_budget_is_refused_before_the_first_byte_and_held_after() {
        let mut testbed = testbed(1 << 20, 1 << 20);
        let before = testbed.bytes_written();
        let big = Job { size: Some(2 << 20), ..Job::named("big") };
        assert!(
            matches!(run(&big, &mut testbed), Err(Fault::OverBudget { wanted, .. }) if wanted == 2 << 20)
        );
        assert_eq!(testbed.bytes_written(), before);
        let endless = Job {
            read_percent: 0,
            blocks: [Blocks::fixed(64 << 10); 2],
            time_based: true,
            runtime: Duration::from_secs(60),
            ..small("endless")
        };
        assert!(matches!(run(&endless, &mut testbed), Err(Fault::OverBudget { .. })));
    }

    #[test]
    fn an_interrupt_and_the_deadline_end_a_run() {
        let instrument = Instrument::calibrate().unwrap();
        let interrupt = Arc::new(AtomicBool::new(true));
        let endless =
            Job { time_based: true, runtime: Duration::from_secs(60), numjobs: 2, ..small("endless") };
        let limits =
            Limits { max_write: 8 << 20, deadline: Some(Instant::now() + Duration::from_millis(100)) };
        let mut testbed =
            Testbed::at(&std::env::temp_dir(), 1 << 20, &instrument, limits, Arc::clone(&interrupt)).unwrap();
        assert_eq!(run(&endless, &mut testbed).unwrap_err(), Fault::Interrupted);
        interrupt.store(false, Ordering::Relaxed);
        assert_eq!(run(&endless, &mut testbed).unwrap_err(), Fault::OutOfTime);
    }

    #[test]
    fn a_call_that_fails_is_named_with_its_place() {
        let mut testbed = testbed(1 << 20, 64 << 20);
        let job = small("gone");
        std::fs::remove_dir_all(testbed.path(&job, 0).parent().unwrap()).unwrap();
        let shown = run(&job, &mut testbed).unwrap_err().to_string();
        assert!(shown.contains("file.gone.0.0") && shown.contains("No such file"), "{shown}");
    }

    #[test]
    fn requests_under_way_are_counted_whole_and_their_syncs_too() {
        let mut testbed = testbed(8 << 20, 64 << 20);
        for engine in [Engine::Libaio, Engine::IoUring, Engine::Posixaio] {
            let depth = Depth { most: 32, ..Depth::default() };
            let job = Job { engine, depth, read_percent: 0, fsync: 8, end_fsync: true, ..small("under-way") };
            let outcome = run(&job, &mut testbed).unwrap().remove(0);
            let writes = &outcome.transfers[Direction::Write as usize];
            assert_eq!((writes.bytes, writes.latency.count(), outcome.syncs.count()), (256 << 10, 64, 7));
            assert_eq!([writes.submission.count(), writes.total.count()], [64, 64]);
            let sums = [&writes.submission, &writes.latency, &writes.total].map(Histogram::sum);
            assert_eq!(sums[0] + sums[1], sums[2]);
        }
    }

    #[test]
    fn an_interrupt_among_a_thousand_requests_ends_the_run() {
        let instrument = Instrument::calibrate().unwrap();
        let interrupt = Arc::new(AtomicBool::new(false));
        let limits = Limits { max_write: 64 << 20, deadline: Some(Instant::now() + Duration::from_secs(60)) };
        for engine in [Engine::Libaio, Engine::IoUring, Engine::Posixaio] {
            interrupt.store(false, Ordering::Relaxed);
            let mut testbed =
                Testbed::at(&std::env::temp_dir(), 8 << 20, &instrument, limits, Arc::clone(&interrupt))
                    .unwrap();
            let depth = Depth { most: 1000, submit: 0, ..Depth::default() };
            let endless = Job {
                engine,
                depth,
                time_based: true,
                runtime: Duration::from_secs(60),
                pattern: Pattern::Random,
                size: Some(8 << 20),
                ..small("thousand")
            };
            let sets = std::thread::spawn({
                let interrupt = Arc::clone(&interrupt);
                move || {
                    std::thread::sleep(Duration::from_millis(200));
                    interrupt.store(true, Ordering::Relaxed);
                }
            });
            assert_eq!(run(&endless, &mut testbed).unwrap_err(), Fault::Interrupted, "{engine:?}");
            sets.join().unwrap();
        }
    }

    #[test]
    fn an_impossible_depth_is_refused_with_what_is_possible() {
        let mut testbed = testbed(1 << 20, 64 << 20);
        for engine in [Engine::Libaio, Engine::IoUring] {
            let depth = Depth { most: 1 << 20, ..Depth::default() };
            let shown = run(&Job { engine, depth, ..small("deep") }, &mut testbed).unwrap_err().to_string();
            assert!(shown.contains("deep.0") && shown.contains("1048576"), "{shown}");
        }
        let (depth, blocks) = (Depth { most: 1 << 30, ..Depth::default() }, [Blocks::fixed(1 << 18); 2]);
        let vast = Job { engine: Engine::Posixaio, depth, blocks, ..small("vast") };
        let shown = run(&vast, &mut testbed).unwrap_err().to_string();
        assert!(shown.ends_with(": lower bs or iodepth"), "{shown}");
    }

    #[test]
    fn a_job_waits_for_another_and_its_end_ends_the_rest() {
        let mut testbed = testbed(8 << 20, 64 << 20);
        let endless = Job { time_based: true, runtime: Duration::from_secs(60), ..small("endless") };
        let first = Job { thinktime: Duration::from_millis(1), ..small("first") };
        let mut second = small("second");
        second.course.wait_for = Some("first".to_owned());
        let mut jobs = [first, second, Job { stonewall: true, ..small("never") }];
        let outcomes = run_all(&jobs, &mut testbed).unwrap();
        assert!(outcomes.iter().all(|one| total(one, Direction::Read).0 == 256 << 10));
        // The first to end is the job that is waited for: what waits ends with it, and so does an endless one.
        jobs[0].numjobs = 2;
        let mut ended = jobs.to_vec();
        ended.insert(2, Job { thinktime: Duration::from_secs(30), ..endless });
        for job in &mut ended {
            (job.course.exitall, job.course.exit_what) = (true, Others::All);
        }
        let before = Instant::now();
        let outcomes = run_all(&ended, &mut testbed).unwrap();
        assert!(before.elapsed() < Duration::from_secs(5));
        assert_eq!(total(&outcomes[1], Direction::Read), (0, 0));
        assert_eq!(total(&outcomes[2], Direction::Read).1, 1);
        assert_eq!((outcomes[3].len(), total(&outcomes[3], Direction::Read)), (1, (0, 0)));
    }

    #[test]
    fn a_latency_that_is_too_long_and_a_rate_that_is_too_low_are_named() {
        let mut testbed = testbed(1 << 20, 64 << 20);
        let mut slow = small("slow");
        slow.latency.most = [Duration::from_nanos(1); 3];
        let shown = run(&slow, &mut testbed).unwrap_err().to_string();
        assert!(
            shown.starts_with("[slow]: a pread at byte ") && shown.contains("max_latency=1ns"),
            "{shown}"
        );
        slow.latency.most = [Duration::ZERO; 3];
        slow.latency.target = Duration::from_nanos(1);
        let shown = run(&slow, &mut testbed).unwrap_err().to_string();
        assert!(shown.contains("latency_target=1ns"), "{shown}");
    }

    #[test]
    fn a_depth_that_holds_its_latency_is_found_and_ends_the_job() {
        let mut testbed = testbed(8 << 20, 64 << 20);
        for engine in [Engine::Libaio, Engine::IoUring, Engine::Posixaio] {
            let depth = Depth { most: 8, ..Depth::default() };
            let endless = Job { time_based: true, runtime: Duration::from_secs(60), ..small("target") };
            let mut job = Job { engine, depth, pattern: Pattern::Random, ..endless };
            job.latency.target = Duration::from_secs(30);
            job.latency.window = Duration::from_millis(10);
            let before = Instant::now();
            let outcome = run(&job, &mut testbed).unwrap().remove(0);
            let taken = before.elapsed();
            assert!((Duration::from_millis(50)..Duration::from_secs(20)).contains(&taken), "{taken:?}");
            // Only the last window counts.
            assert!(outcome.elapsed_ns < taken.as_nanos() as u64 / 2, "{} of {taken:?}", outcome.elapsed_ns);
            assert_eq!(outcome.depth, Some(8));
        }
    }

    #[test]
    fn a_steady_rate_ends_the_job() {
        let mut testbed = testbed(1 << 20, 64 << 20);
        let mut job = Job { time_based: true, runtime: Duration::from_secs(60), ..small("steady") };
        job.rates.iops[0] = 100;
        job.steady_state = Some(SteadyState {
            bandwidth: false,
            slope: false,
            limit: 50.0,
            percent: true,
            duration: Duration::from_secs(2),
            ramp: Duration::ZERO,
        });
        let outcome = run(&job, &mut testbed).unwrap().remove(0);
        let seconds = outcome.elapsed_ns as f64 / 1e9;
        assert!((2.0..30.0).contains(&seconds), "{seconds} s");
    }

    #[test]
    fn errors_that_are_forgiven_are_counted() {
        let mut testbed = testbed(1 << 20, 64 << 20);
        for engine in [Engine::Psync, Engine::Libaio] {
            let blocks = [Blocks::fixed(1000); 2];
            let mut job = Job { direct: true, blocks, engine, size: Some(4000), ..small("odd") };
            // A file system without direct transfers refuses to open the file.
            match run(&job, &mut testbed).map_err(|fault| fault.to_string()) {
                Err(fault) if fault.contains("open with") => return,
                Ok(_) => return,
                Err(_) => {}
            }
            (job.course.continues, job.course.ignored[0]) = ([true; 3], vec![22]);
            let outcome = run(&job, &mut testbed).unwrap().remove(0);
            assert_eq!(outcome.errors, Errors { count: 4, first: 22 }, "{engine:?}");
            assert_eq!(outcome.calls(), 0);
        }
    }

    #[test]
    fn transfers_that_touch_the_same_bytes_do_not_overlap() {
        let mut testbed = testbed(8 << 20, 64 << 20);
        for engine in [Engine::Libaio, Engine::IoUring, Engine::Posixaio] {
            let depth = Depth { most: 16, submit: 4, serialize_overlap: true, ..Depth::default() };
            let job = Job {
                engine,
                depth,
                read_percent: 0,
                random_map: false,
                pattern: Pattern::Random,
                ..small("overlap")
            };
            let job = Job { io_size: Some(1 << 20), size: Some(16 << 10), ..job };
            let outcomes = run(&job, &mut testbed).unwrap();
            assert_eq!(total(&outcomes, Direction::Write), (1 << 20, 256));
        }
    }

    #[test]
    fn a_job_runs_where_it_is_placed() {
        let mut testbed = testbed(1 << 20, 64 << 20);
        let mut job = Job { numjobs: 2, ..small("placed") };
        job.placement.cpus = vec![affinity::allowed_cpus()[0] as u32];
        (job.placement.nice, job.placement.priority, job.placement.split) = (1, Some((7, 2)), true);
        assert_eq!(run(&job, &mut testbed).unwrap().len(), 2);
    }

    #[test]
    fn requests_with_priorities_of_their_own_and_forced_ones_are_done() {
        let mut testbed = testbed(8 << 20, 64 << 20);
        for engine in [Engine::Libaio, Engine::IoUring] {
            let depth = Depth { most: 4, ..Depth::default() };
            let mut job = Job { engine, depth, read_percent: 50, pre_read: true, ..small("treated") };
            let options = &mut job.engine_options;
            // Best effort needs no privilege.
            (options.priorities.percent, options.priorities.class) = ([50, 20], [2, 2]);
            (options.priorities.level, options.force_async) = ([4, 0], 3);
            let outcomes = run(&job, &mut testbed).unwrap();
            let [reads, writes] = [Direction::Read, Direction::Write].map(|side| total(&outcomes, side));
            assert_eq!((reads.0 + writes.0, reads.1 + writes.1), (256 << 10, 64), "{engine:?}");
            let levels = outcomes[0].levels.unwrap();
            assert_eq!(levels.under_way.iter().sum::<u64>(), 64, "{levels:?}");
            assert!(levels.under_way[2] > 50 && levels.submitted[1] == 64, "{levels:?}");
        }
    }

    #[test]
    fn a_trimmed_block_is_a_hole() {
        let mut testbed = testbed(8 << 20, 64 << 20);
        for engine in [Engine::Psync, Engine::IoUring] {
            let mut job =
                Job { engine, read_percent: 0, filename: Some("holes".to_owned()), ..small("trim") };
            job.order.trim = Some((Trim::Only, job.blocks[0]));
            let outcome = match run(&job, &mut testbed) {
                Err(Fault::System(error)) if error.errno == Errno::OPNOTSUPP => {
                    let mut said = std::io::stderr();
                    writeln!(said, "skipped: a_trimmed_block_is_a_hole: no holes here").unwrap();
                    return;
                }
                outcomes => outcomes.unwrap().remove(0),
            };
            assert_eq!((outcome.trims.bytes, outcome.trims.latency.count()), (256 << 10, 64));
            let read = std::fs::read(testbed.path(&job, 0)).unwrap();
            assert!(read.len() == 256 << 10 && read.iter().all(|&byte| byte == 0));
            testbed.remove(&job);
        }
    }

    #[test]
    fn a_block_that_changed_since_it_was_written_fails_the_job() {
        let mut testbed = testbed(8 << 20, 64 << 20);
        let methods = [
            "md5", "crc7", "crc16", "crc32", "crc32c", "crc64", "sha1", "sha256", "sha512", "sha3-224",
            "xxhash",
        ];
        for (number, method) in methods.into_iter().chain(["pattern", "meta"]).enumerate() {
            let engine = [Engine::Psync, Engine::Libaio, Engine::Sync, Engine::IoUring][number % 4];
            let pattern = vec![PatternPart::Bytes(vec![1, 2, 3]), PatternPart::Offset];
            let pattern = if number % 2 == 0 || method == "pattern" { pattern } else { Vec::new() };
            let verify = Verify { method: method.to_owned(), pattern, ..Verify::default() };
            let filename = Some("checked".to_owned());
            let verify = Some(verify);
            let write = Job { engine, verify, filename, read_percent: 0, ..small("verified") };
            let outcome = run(&write, &mut testbed).unwrap().remove(0);
            assert_eq!(outcome.transfers.clone().map(|side| side.latency.count()), [64, 64], "{method}");
            let read = Job { read_percent: 100, ..write.clone() };
            run(&read, &mut testbed).unwrap();
            let path = testbed.path(&write, 0);
            let mut bytes = std::fs::read(&path).unwrap();
            // A header lies at the beginning of its block.
            let at = if method == "meta" { 8192 + 9 } else { 8192 + 1000 };
            bytes[at] ^= 4;
            std::fs::write(&path, bytes).unwrap();
            let shown = run(&read, &mut testbed).map(drop).unwrap_err().to_string();
            let said = format!("verify={method}: {}", path.display());
            assert!(shown.starts_with(&said) && shown.contains("at 8192: "), "{shown}");
            assert_eq!(shown.lines().count(), 1);
            testbed.remove(&write);
        }
    }

    #[test]
    fn files_are_made_anew_as_they_were_opened_and_reads_of_them_find_nothing() {
        let mut testbed = testbed(8 << 20, 64 << 20);
        for (engine, direct) in [(Engine::Psync, true), (Engine::Libaio, true), (Engine::IoUring, false)] {
            let mut job = Job { engine, direct, read_percent: 0, ..small("anew") };
            (job.files.unlink_each_loop, job.course.loops) = (true, 3);
            match run(&job, &mut testbed) {
                Ok(outcomes) => assert_eq!(total(&outcomes, Direction::Write), (768 << 10, 192)),
                // Not every file system has O_DIRECT.
                Err(fault) => assert!(direct && fault.to_string().contains("O_DIRECT"), "{fault}"),
            }
            testbed.remove(&job);
        }
        let mut read = small("empty");
        read.files.create_on_open = true;
        let shown = run(&read, &mut testbed).map(drop).unwrap_err().to_string();
        assert!(shown.contains("file.empty.0.0") && shown.lines().count() == 1, "{shown}");
    }

    #[test]
    fn a_job_that_goes_on_after_a_mismatch_tells_how_many_there_were() {
        let mut testbed = testbed(8 << 20, 64 << 20);
        for engine in [Engine::Psync, Engine::Libaio] {
            let verify = Some(Verify { method: "crc32c".to_owned(), ..Verify::default() });
            let mut job = Job { engine, verify, ..small("unwritten") };
            assert!(run(&job, &mut testbed).is_err());
            job.course.continues[2] = true;
            let outcome = run(&job, &mut testbed).unwrap().remove(0);
            assert_eq!((outcome.errors.count, outcome.transfers[0].latency.count()), (64, 64));
        }
    }

    #[test]
    fn names_are_made_looked_at_and_removed() {
        let mut testbed = testbed(8 << 20, 64 << 20);
        use Engine::{Dircreate, Dirdelete, Dirstat, Filecreate, Filedelete, Filestat};
        for engine in [Filecreate, Filestat, Filedelete, Dircreate, Dirstat, Dirdelete] {
            let mut job = Job { engine, size: Some(80 << 10), ..Job::named("names") };
            job.files.count = 10;
            let outcome = run(&job, &mut testbed).unwrap().remove(0);
            let read = &outcome.transfers[Direction::Read as usize];
            assert_eq!((read.count(), read.bytes, read.latency.count()), (20, 80 << 10, 10), "{engine:?}");
            let left = job.file_names(0).iter().filter(|name| testbed.path_of(&job, name).exists()).count();
            assert_eq!(left, if matches!(engine, Filedelete | Dirdelete) { 0 } else { 10 }, "{engine:?}");
            let is_directory = testbed.path_of(&job, &job.file_names(0)[0]).is_dir();
            assert_eq!(is_directory, matches!(engine, Dircreate | Dirstat), "{engine:?}");
            // A second loop finds what the first has left.
            job.course.loops = 2;
            let again = run(&job, &mut testbed);
            match engine {
                Filedelete | Dircreate | Dirdelete => {
                    let shown = again.map(drop).unwrap_err().to_string();
                    let calls = ["unlink", "mkdir", "rmdir"];
                    assert!(calls.iter().any(|call| shown.starts_with(call)), "{shown}");
                    assert!(shown.contains("file.names.0.0"), "{shown}");
                }
                _ => assert_eq!(again.unwrap()[0].transfers[0].latency.count(), 20, "{engine:?}"),
            }
            testbed.remove(&job);
        }
    }

    #[test]
    fn a_cpu_is_kept_busy_for_its_share_and_as_long_as_others_run() {
        let mut testbed = testbed(4 << 20, 64 << 20);
        let runtime = Duration::from_millis(400);
        let mut burner = Job { engine: Engine::Cpuio, runtime, size: Some(4096), ..Job::named("burner") };
        burner.engine_options.cpu = (25, Duration::from_millis(10), false);
        let outcome = run(&burner, &mut testbed).unwrap().remove(0);
        // Bursts of 10 ms every 40 ms; fewer where others take the CPU.
        assert!((1..=11).contains(&outcome.calls()), "{outcome:?}");
        assert!(outcome.elapsed_ns > 390_000_000, "{outcome:?}");
        let busy = outcome.usage.user + outcome.usage.system;
        assert!(busy.as_millis() < 300, "{busy:?}");
        // Where no other job runs it ends, though it has no time of its own.
        (burner.runtime, burner.engine_options.cpu.2) = (Duration::ZERO, true);
        run(&burner, &mut testbed).unwrap();
        let mut other = small("other");
        other.rates.iops[0] = 200;
        let (outcomes, _) = together(&[burner, other], &mut testbed).unwrap();
        assert!(outcomes[0][0].elapsed_ns > 300_000_000, "{outcomes:?}");
    }

    #[test]
    fn stonewalls_part_jobs_into_groups() {
        let wall = |name: &str, stonewall| Job { stonewall, ..small(name) };
        let jobs = [wall("a", true), wall("b", false), wall("c", true), wall("d", true)];
        let names: Vec<usize> = groups(&jobs).map(<[Job]>::len).collect();
        assert_eq!(names, [2, 1, 1]);
        let mut testbed = testbed(4 << 20, 64 << 20);
        assert_eq!(run_all(&jobs, &mut testbed).unwrap().len(), 4);
    }
}
