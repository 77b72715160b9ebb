//! Jobs run for real, several times over and in random turns, so that drift meets all of them alike.

use std::time::{Duration, Instant};

use fathom_stats::quantile;
use fathom_sys::{cgroup, facts, memory};
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;

use crate::model::{Model, Scalar};
use fathom_program::job::{Direction, Job};
use fathom_program::shuffle::shuffle;
use fathom_run::fault::Fault;
use fathom_run::load::{self, Folios, Needs, Outcome, Start, Testbed};

/// A job and its runs.
#[derive(Debug, Clone)]
pub struct Trial {
    /// The job.
    pub job: Job,
    /// The runs of the job in the order in which they were made, the threads of each together.
    pub runs: Vec<Outcome>,
    /// How many of the runs were disturbed by work on the same core, with no undisturbed run in their place.
    pub disturbed: usize,
    /// Why there are no runs, if the system refused.
    pub refusal: Option<String>,
}

/// How often jobs are run, and in which order and state.
#[derive(Debug, Clone, Copy)]
pub struct Schedule {
    /// How often each job is run.
    pub repeats: usize,
    /// The seed of the order.
    pub seed: u64,
    /// How long the device rests before each run.
    pub rest: Duration,
    /// How the machine is brought into the state in which each run begins.
    pub state: Settled,
    /// Time that must be left after the last round, for other work.
    pub leaves: Duration,
    /// Whether what is written is waited for, so that it matters how a run begins.
    pub writes_wait: bool,
    /// Jobs that memory alone serves, each run of which is several passes, run in every so many rounds.
    pub short_every: usize,
}

impl Schedule {
    /// So many runs in an order and from a state, without rests and with all the time there is.
    pub fn of(repeats: usize, seed: u64, state: Settled) -> Self {
        let (rest, leaves) = (Duration::ZERO, Duration::ZERO);
        Self { repeats, seed, rest, state, leaves, writes_wait: false, short_every: 1 }
    }

    fn is_short(&self, job: &Job) -> bool {
        is_short(job) && !(self.writes_wait && job.does(Direction::Write))
    }
}

/// How the machine is brought into the state in which a run begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settled {
    /// By a pass of the cached jobs that does not count. Before each run free memory lies there in large pieces, and the run waits
    /// until no other program works on the same core.
    ByPasses,
    /// Not at all: each run goes on from where the one before has left the kernel.
    AsLeft,
    /// By dropping the files of a job from the cache first, so that the cache holds only what the job reads.
    ByDropping,
}

/// A short job is repeated until its undisturbed passes took this long together, or there are this many of them. A longer run
/// is neither calm nor disturbed: it sees what the core is like on average.
const PASSES_NS: u64 = 40_000_000;
const ENOUGH_PASSES: usize = 2;
/// How many passes of a short job are made at most to find calm ones.
const MOST_PASSES: usize = 3;
/// The longest wait before a run for other programs on the same core: they work for some tens of ms at a time, or for seconds,
/// which would be too long to wait before each of two thousand passes.
const PATIENCE: Duration = Duration::from_millis(150);

/// How many times as long as they took last the jobs of a round may take.
const ROUNDS_DIFFER: f64 = 1.2;

/// How long a device must rest to be in the state that a prediction begins with: a device with limits remembers what it has just
/// done.
pub fn rest_of(model: &Model) -> Duration {
    Duration::from_nanos((2.25 * model.parameters[Scalar::LimitSlice]) as u64)
}

/// Runs every job several times: all of them once in a random order, then again in another order. If the time allowed is short, jobs
/// are run less often than wanted, but at least once.
///
/// # Errors
/// What concerns all jobs: an interrupt, the end of the time, a budget, a full disk.
pub fn run(jobs: &[Job], schedule: Schedule, testbed: &mut Testbed) -> Result<Vec<Trial>, Fault> {
    run_each(jobs, schedule, testbed, &mut |_, _| Ok(()))
}

/// The same as [`run`], and calls `after_each` after each run with the index of its job.
///
/// # Errors
/// As [`run`], and what `after_each` gives.
pub fn run_each(
    jobs: &[Job],
    schedule: Schedule,
    testbed: &mut Testbed,
    after_each: &mut dyn FnMut(usize, &mut Testbed) -> Result<(), Fault>,
) -> Result<Vec<Trial>, Fault> {
    let mut trials: Vec<Trial> = jobs
        .iter()
        .map(|job| Trial { job: job.clone(), runs: Vec::new(), disturbed: 0, refusal: None })
        .collect();
    let mut generator = Pcg64Mcg::seed_from_u64(schedule.seed);
    let mut order: Vec<usize> = (0..trials.len()).collect();
    let by_passes = schedule.state == Settled::ByPasses;
    let _held = by_passes.then(hold_small_pieces);
    if by_passes {
        // A device answers otherwise while it still works on what was just written.
        let lasting = jobs.iter().filter(|job| !job.is_new() && !is_kept(job));
        lasting.for_each(|job| lay_out(job, testbed));
    }
    let mut took = vec![Duration::ZERO; jobs.len()];
    let is_in = |round: usize, index: usize| {
        round.is_multiple_of(schedule.short_every) || !schedule.is_short(&jobs[index])
    };
    for round in 0..schedule.repeats {
        if by_passes && round.is_multiple_of(schedule.short_every) {
            lay_out_anew(jobs, testbed);
        }
        // No job always follows the same one.
        shuffle(&mut order, &mut generator);
        let mut run_all = || {
            order.iter().filter(|index| is_in(round, **index)).try_for_each(|&index| {
                let began = Instant::now();
                once(&mut trials[index], schedule, testbed)?;
                testbed.watch().advance(1)?;
                after_each(index, testbed)?;
                took[index] = began.elapsed();
                Ok(())
            })
        };
        match run_all() {
            // Some jobs have run once more than others.
            Err(Fault::OutOfTime) if round > 0 => break,
            all => all?,
        }
        // Fewer runs of all jobs are worth something, more runs of some are not.
        let next: Duration =
            (0..jobs.len()).filter(|index| is_in(round + 1, *index)).map(|index| took[index]).sum();
        let next = next.mul_f64(ROUNDS_DIFFER) + schedule.leaves;
        if round + 1 < schedule.repeats && testbed.time_left().is_some_and(|left| left <= next) {
            break;
        }
    }
    Ok(trials)
}

/// Has the files that stay in the cache lie on other pages than in the last round: how fast they are read depends on that as
/// well.
fn lay_out_anew(jobs: &[Job], testbed: &mut Testbed) {
    jobs.iter().filter(|job| is_kept(job)).for_each(|job| testbed.remove(job));
    for job in jobs.iter().filter(|job| is_kept(job)) {
        // Its data alone: what it writes itself is no part of it.
        lay_out(&Job { read_percent: 100, io_size: None, ..job.clone() }, testbed);
    }
}

/// Makes the files of a job that are not there. What can't be laid out tells why when it is run.
fn lay_out(job: &Job, testbed: &mut Testbed) {
    let _ = testbed.lay_out(std::slice::from_ref(job));
}

/// Holds small pieces of free memory, where there is memory to spare, so that files get larger ones, as most of a large file
/// does. How far apart pages lie that are no large folio is else decided by all that was freed before, and those of a small
/// file that lies in pieces are read up to a quarter slower.
fn hold_small_pieces() -> Option<memory::Mapping> {
    // To touch so much takes two seconds.
    const MOST: u64 = 4 << 30;
    match facts::free_in_pieces().unwrap_or(0).min(spare_memory() / 8).min(MOST) {
        0 => None,
        bytes => memory::Mapping::touched(bytes as usize).ok(),
    }
}

/// Bytes of memory that this process may take without anything being swapped.
pub(crate) fn spare_memory() -> u64 {
    let limit = cgroup::memory_limit().map_or(u64::MAX, |limit| limit.bytes);
    facts::available_memory().unwrap_or(0).min(limit)
}

/// Memory that is kept for the files of the next run, and given back just before it begins.
///
/// A virtual machine tells its host which memory is free, and the host takes it: two seconds after it was freed
/// (`mm/page_reporting.c`), the first access to it takes ten times as long as a write of a page. The host does not take
/// memory that a process holds. So all runs find memory that is there, and in the same state: none of it is in the CPU's
/// caches, where the CPU can be told so. On a machine without memory to spare nothing is kept.
///
/// What a process gives back stays in lists of each CPU's own, of single pages and of huge ones (`free_unref_page`); the sizes
/// between, which files take, are found by what files give back.
#[derive(Debug, Default)]
pub(crate) struct Reserve {
    _kept: Vec<memory::Mapping>,
    _folios: Option<Folios>,
}

impl Reserve {
    /// Takes so many bytes twice, once in large pages, and rather more than less; as folios of a file as well, where there is a
    /// testbed for it.
    pub(crate) fn of(space: u64, testbed: Option<&mut Testbed>) -> Self {
        // What a small file takes is else as likely to be what its last one left.
        const LEAST: u64 = 32 << 20;
        let spare = spare_memory() / 8;
        if space == 0 || space > spare {
            return Self::default();
        }
        let space = space.max(LEAST.min(spare));
        let kinds = [memory::Mapping::large, memory::Mapping::touched];
        let kept: Vec<memory::Mapping> =
            kinds.into_iter().filter_map(|kind| kind(space as usize).ok()).collect();
        for mapping in &kept {
            mapping.leave_cpu_caches();
        }
        Self { _kept: kept, _folios: testbed.and_then(|testbed| testbed.keep_folios(space).ok()) }
    }
}

/// Whether a job is served by memory alone: what it reads is cached, and what it writes goes before the device sees
/// much of it.
pub(crate) fn is_short(job: &Job) -> bool {
    let syncs = job.fsync > 0 || job.fdatasync > 0 || job.end_fsync;
    !job.direct && !syncs && (job.pre_read || !job.does(Direction::Read))
}

/// Whether a job finds a file that was there before in memory.
fn is_kept(job: &Job) -> bool {
    is_short(job) && !job.is_new()
}

fn once(trial: &mut Trial, schedule: Schedule, testbed: &mut Testbed) -> Result<(), Fault> {
    if trial.refusal.is_some() {
        return Ok(());
    }
    let outcome = match schedule.state {
        Settled::ByPasses if schedule.is_short(&trial.job) => {
            // The first does not count, as with fio's `ramp_time`: what somebody else did just before is in the CPU's caches.
            pass(&trial.job, &schedule, testbed)
                .and_then(|_| passes(&trial.job, &schedule, [ENOUGH_PASSES, MOST_PASSES], testbed))
        }
        _ => passes(&trial.job, &schedule, [1, 1], testbed),
    };
    match outcome {
        Ok((run, is_disturbed)) => {
            trial.disturbed += usize::from(is_disturbed && run.is_some());
            trial.runs.extend(run);
        }
        Err(Fault::Unsupported(reason)) => trial.refusal = Some(reason),
        Err(Fault::System(error)) if !error.is_full() && !error.is_read_only() => {
            trial.refusal = Some(error.to_string());
        }
        Err(fault) => return Err(fault),
    }
    Ok(())
}

/// Runs a job again and again as one run, each time with another buffer, since how fast a byte is copied depends on
/// where the two lie: until `enough` passes were calm, and `most` at most. Those that were disturbed count where none was
/// calm; gives whether that is so.
fn passes(
    job: &Job,
    schedule: &Schedule,
    [enough, most]: [usize; 2],
    testbed: &mut Testbed,
) -> Result<(Option<Outcome>, bool), Fault> {
    let mut sums: [Option<Outcome>; 2] = [None, None];
    let mut calm = 0;
    for _ in 0..most {
        let Some(one) = pass(job, schedule, testbed)? else { break };
        let is_disturbed = testbed.was_disturbed() && one.elapsed_ns < PASSES_NS;
        calm += usize::from(!is_disturbed);
        let sum = &mut sums[usize::from(is_disturbed)];
        match sum {
            Some(sum) => sum.follow(&one),
            None => *sum = Some(one),
        }
        let is_long = sums[0].as_ref().is_some_and(|calm| calm.elapsed_ns >= PASSES_NS);
        if calm >= enough || is_long {
            break;
        }
    }
    let [calm, disturbed] = sums;
    Ok(match calm {
        Some(calm) => (Some(calm), false),
        None => (disturbed, true),
    })
}

fn pass(job: &Job, schedule: &Schedule, testbed: &mut Testbed) -> Result<Option<Outcome>, Fault> {
    testbed.begin_when(match schedule.state {
        // What was read in has used up what a device that is held lets through, and waiting would bring it back.
        Settled::ByDropping => Start::Calm(Duration::ZERO),
        _ if schedule.is_short(job) => Start::Calm(PATIENCE),
        _ => Start::Rested,
    });
    let threads = from_its_state(job, *schedule, testbed, |testbed| load::run(job, testbed))?;
    Ok(Outcome::together(&threads))
}

/// Brings about what a run of a job begins with, has `run` do the job, and removes what was made for this run.
pub(crate) fn from_its_state<T>(
    job: &Job,
    schedule: Schedule,
    testbed: &mut Testbed,
    run: impl FnOnce(&mut Testbed) -> Result<T, Fault>,
) -> Result<T, Fault> {
    // What only writes begins with a new file.
    if job.is_new() {
        testbed.remove(job);
    }
    if schedule.state == Settled::ByDropping {
        testbed.drop_cached(job)?;
    }
    if schedule.state == Settled::ByPasses && job.pre_read {
        // Nothing of it is near at first, as the model has it.
        testbed.leave_cpu_caches(job)?;
    }
    // What is cached already takes no memory, nor what goes past the cache. Jobs were checked when they were laid out; one without a
    // size needs none.
    let takes = job.is_new() || !(is_short(job) || job.direct);
    let space = if takes { Needs::of(std::slice::from_ref(job)).map_or(0, |needs| needs.space) } else { 0 };
    if !job.is_new() {
        // In memory as it is: a server's cache holds the file in large pieces if it is laid out in what is kept for the run, and
        // reads of them are a quarter faster than a user's.
        lay_out(job, testbed);
    }
    // The device rests meanwhile.
    let rests_from = Instant::now();
    let reserve = Reserve::of(space, Some(testbed));
    if !schedule.is_short(job) {
        std::thread::sleep(schedule.rest.saturating_sub(rests_from.elapsed()));
    }
    drop(reserve);
    let outcome = run(testbed);
    // Nothing is left for the kernel to write during others' runs, and what a job writes over is on the device.
    if job.is_new() {
        testbed.remove(job);
    } else if outcome.is_ok() && job.does(Direction::Write) {
        testbed.write_out(job)?;
    }
    outcome
}

/// Space and writes that sets of jobs need if they run one after the other. Files that are only written are removed after
/// each run, so that there is at most one of them besides the files that stay.
///
/// # Errors
/// A job that makes no sense.
pub fn needs(sets: &[(Vec<Job>, Schedule)]) -> Result<Needs, String> {
    let (mut needs, room, _) = one_after_the_other(sets.iter().flat_map(|(jobs, _)| jobs))?;
    needs.space += room;
    for (jobs, schedule) in sets.iter().filter(|(_, schedule)| schedule.state == Settled::ByPasses) {
        let kept: Vec<Job> = jobs.iter().filter(|job| is_kept(job)).cloned().collect();
        needs.writes += Needs::of(&kept)?.space * schedule.repeats as u64;
    }
    needs.writes += writes(sets)?;
    Ok(needs)
}

/// What jobs need together whose files stay; the space for those of the others, which are only written and there one at a time;
/// and what each of the others needs.
pub(crate) fn one_after_the_other<'a>(
    jobs: impl Iterator<Item = &'a Job>,
) -> Result<(Needs, u64, Vec<Needs>), String> {
    let (new, lasting): (Vec<Job>, Vec<Job>) = jobs.cloned().partition(Job::is_new);
    let each = new.iter().map(|job| Needs::of(std::slice::from_ref(job)));
    let each: Vec<Needs> = each.collect::<Result<_, _>>()?;
    let room = each.iter().map(|one| one.space).max().unwrap_or(0);
    Ok((Needs::of(&lasting)?, room, each))
}

/// Bytes that sets of jobs write in all their runs, on files that are there.
///
/// # Errors
/// A job that makes no sense.
pub(crate) fn writes(sets: &[(Vec<Job>, Schedule)]) -> Result<u64, String> {
    sets.iter().map(|(jobs, schedule)| written(jobs, *schedule)).sum()
}

/// Bytes that jobs write in all their repeats; those of a runtime as if it never ended them.
fn written(jobs: &[Job], schedule: Schedule) -> Result<u64, String> {
    let of = |job: &Job| {
        let passes = if schedule.state != Settled::AsLeft && schedule.is_short(job) {
            1 + MOST_PASSES as u64
        } else {
            1
        };
        let bytes = job.transfer()?.unwrap_or(0) * u64::from(job.numjobs);
        Ok(bytes / 100 * u64::from(100 - job.read_percent) * (passes * schedule.repeats as u64))
    };
    jobs.iter().filter(|job| job.does(Direction::Write)).map(of).sum()
}

impl Trial {
    /// The figure of each run.
    pub fn each(&self, figure: impl Fn(&Outcome) -> f64) -> Vec<f64> {
        self.runs.iter().map(figure).collect()
    }

    /// What the device wrote for each sync, by run: requests including those of the data, and bytes without the data.
    pub fn logged(&self) -> Vec<[f64; 2]> {
        let of = |run: &Outcome| {
            let data = run.transfers[Direction::Write as usize].bytes;
            // That of the end is not among those that were timed.
            let syncs = run.syncs.count() + u64::from(self.job.end_fsync);
            let wrote = run.device_wrote?;
            let own = [wrote.requests, wrote.bytes.saturating_sub(data)];
            (self.job.fsync > 0 && syncs > 0).then_some(own.map(|count| count as f64 / syncs as f64))
        };
        self.runs.iter().filter_map(of).collect()
    }

    /// The median over the runs of the time per transfer, in ns; none without runs.
    pub fn ns_per_transfer(&self) -> Option<f64> {
        quantile::median(&self.each(ns_per_transfer)).filter(|time| *time > 0.0)
    }

    /// How far the median of the time may be off: a standard deviation of its logarithm, from the middle half of the runs; none
    /// without runs.
    pub fn uncertainty(&self) -> Option<f64> {
        let times = self.each(ns_per_transfer);
        let at = |share| quantile::quantile(&times, share);
        // Of a normal distribution: the half lies within 1.349 deviations, and a median is off by 1.253 of those of a mean.
        let spread = (at(0.75)? / at(0.25)?).ln() / 1.349 * 1.253 / (times.len() as f64).sqrt();
        Some(spread).filter(|spread| spread.is_finite())
    }

    /// The median over the runs of the latency that a share of a run's transfers does not exceed, in ns; none without runs. If the
    /// runs were pooled, a single one that was stopped for a moment would decide the latency.
    pub fn latency_ns(&self, share: f64) -> Option<f64> {
        quantile::median(&self.each(|run| run.latency_ns(share))).filter(|latency| *latency > 0.0)
    }

    /// The median over the runs of the bytes per second in both directions.
    pub fn bytes_per_second(&self) -> Option<f64> {
        quantile::median(&self.each(bytes_per_second)).filter(|rate| *rate > 0.0)
    }
}

/// The time of a run divided by its transfers, in ns.
pub fn ns_per_transfer(outcome: &Outcome) -> f64 {
    outcome.elapsed_ns as f64 / outcome.calls().max(1) as f64
}

/// Bytes per second in both directions.
pub fn bytes_per_second(outcome: &Outcome) -> f64 {
    bytes(outcome) / outcome.elapsed_ns.max(1) as f64 * 1e9
}

/// Bytes per second in both directions by the time within the calls and syncs alone.
pub(crate) fn bytes_per_second_of_calls(outcome: &Outcome) -> f64 {
    let calls = outcome.transfers.iter().map(|side| side.latency.sum()).sum::<u64>() + outcome.syncs.sum();
    bytes(outcome) / (calls.max(1) as f64 * outcome.ns_per_tick) * 1e9
}

/// The bytes that were moved in both directions.
pub(crate) fn bytes(outcome: &Outcome) -> f64 {
    outcome.transfers.iter().map(|side| side.bytes).sum::<u64>() as f64
}

#[cfg(test)]
mod tests {

    use super::*;
    use fathom_run::instrument::Instrument;
    use fathom_run::load::{Limits, Transfers};
    use fathom_run::watch::Watch;

    #[test]
    fn a_latency_is_that_of_the_middle_run_whatever_befell_one() {
        let run = |latencies: &[u64]| {
            let mut transfers = [Transfers::default(), Transfers::default()];
            latencies.iter().for_each(|&ns| transfers[0].latency.record(ns));
            Outcome { transfers, elapsed_ns: 1, ..Outcome::nothing(1.0) }
        };
        let of = |runs: Vec<Outcome>| {
            let trial = Trial { job: Job::named("read"), runs, disturbed: 0, refusal: None };
            [0.5, 0.99].map(|share| trial.latency_ns(share).map(f64::round))
        };
        let stopped: Vec<u64> = [10; 90].into_iter().chain([60; 10]).collect();
        assert_eq!(of(vec![run(&[10; 100]), run(&stopped), run(&[12; 100])]), [Some(10.0), Some(12.0)]);
        assert_eq!(of(Vec::new()), [None; 2]);
    }

    #[test]
    fn what_there_was_time_for_is_a_result() {
        let instrument = Instrument::calibrate().unwrap();
        let job = Job { size: Some(1 << 20), ..Job::named("read") };
        let rest = Duration::from_millis(10);
        let schedule = Schedule { rest, ..Schedule::of(1_000_000, 1, Settled::AsLeft) };
        let runs = |time: Duration| {
            let limits = Limits { max_write: 8 << 20, deadline: Some(Instant::now() + time) };
            let mut testbed =
                Testbed::at(&std::env::temp_dir(), 1 << 20, &instrument, limits, Watch::default()).unwrap();
            run(std::slice::from_ref(&job), schedule, &mut testbed).map(|trials| trials[0].runs.len())
        };
        // Each run rests for 10 ms, so that 4 s have fewer than 400 of them.
        let some = runs(Duration::from_secs(4)).unwrap();
        assert!((1..400).contains(&some), "{some}");
        assert_eq!(runs(Duration::ZERO), Err(Fault::OutOfTime));
    }

    #[test]
    fn what_is_only_written_lies_there_once_and_is_written_each_time() {
        const MIB: u64 = 1 << 20;
        let read = Job { size: Some(4 * MIB), pre_read: true, ..Job::named("read") };
        let write = |name, size| Job { size: Some(size), read_percent: 0, ..Job::named(name) };
        let jobs = vec![read, write("small", MIB), write("large", 2 * MIB)];
        let schedule = |state| Schedule::of(3, 1, state);
        let left = needs(&[(jobs.clone(), schedule(Settled::AsLeft))]).unwrap();
        let near = |bytes: u64, about: u64| bytes.abs_diff(about) < 10_000;
        assert_eq!(left.space, 6 * MIB);
        assert!(near(left.writes, (4 + 3 * 3) * MIB), "{left:?}");
        let settled = needs(&[(jobs, schedule(Settled::ByPasses))]).unwrap();
        let passes = 3 * (1 + 3);
        assert!(
            near(settled.writes, ((1 + 3) * 4 + 3 * passes) * MIB),
            "what stays is laid out anew: {settled:?}"
        );
    }
}
