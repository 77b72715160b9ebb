//! What came of a run.

use fathom_sys::file::Errno;
use fathom_sys::usage::Usage;

use super::histogram::Histogram;
use super::sampling::{Sampled, SampledRates};
use super::steady::Steadiness;
use super::testbed::Cached;
use crate::executor::Levels;
use fathom_program::job::{DIRECTIONS, Direction, Job};

/// What one thread of a job did.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// Reads and writes.
    pub transfers: [Transfers; DIRECTIONS],
    /// Ranges that were trimmed.
    pub trims: Transfers,
    /// The latencies of `fsync(2)` and `fdatasync(2)`, in ticks.
    pub syncs: Histogram,
    /// From the first transfer that counts to the end of the last, in ns.
    pub elapsed_ns: u64,
    /// The length of a tick of the histograms, in ns.
    pub ns_per_tick: f64,
    /// What was in the page cache just before the thread began; none where the kernel does not tell.
    pub cached_before: Option<Cached>,
    /// CPU time, context switches and page faults of the thread.
    pub usage: Usage,
    /// What the device wrote while the threads of all jobs ran; none if no job syncs or the device has no counters.
    pub device_wrote: Option<Wrote>,
    /// Calls that failed without ending the job.
    pub errors: Errors,
    /// The depth that `latency_target` led to; none without that option.
    pub depth: Option<u32>,
    /// How many requests were under way and submitted at once; none where calls are made one after the other.
    pub levels: Option<Levels>,
    /// Rates, sampled while the thread ran.
    pub sampled: SampledRates,
    /// How steady the rate was, if the job ends when it is steady.
    pub steadiness: Option<Steadiness>,
    /// The log of the thread's transfers, if the job writes one; none for several threads together.
    pub log: Option<Box<super::log::Log>>,
    /// Every call, if the job logs calls; none for several threads together.
    pub calls: Option<Vec<super::log::Made>>,
}

/// Calls that failed without ending their job, as `continue_on_error` allows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Errors {
    /// The number of errors.
    pub count: u64,
    /// The number of the first error; zero where there is none.
    pub first: u32,
}

impl Errors {
    /// Counts a number of errors of one kind.
    pub(super) fn add(&mut self, count: u32, errno: Errno) {
        self.count += u64::from(count);
        if self.first == 0 && count > 0 {
            self.first = errno.raw_os_error().unsigned_abs();
        }
    }
}

/// What a device has written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Wrote {
    /// The number of writes that were submitted.
    pub requests: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Wrote {
    /// What the device has written since it had written `before`.
    pub fn since(self, before: Self) -> Self {
        Self {
            requests: self.requests.saturating_sub(before.requests),
            bytes: self.bytes.saturating_sub(before.bytes),
        }
    }

    fn and(self, next: Self) -> Self {
        Self { requests: self.requests + next.requests, bytes: self.bytes + next.bytes }
    }
}

/// What was transferred in one direction.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Transfers {
    /// Bytes.
    pub bytes: u64,
    /// The latencies of the calls, in ticks, and their number; of asynchronous requests, from submission to completion.
    pub latency: Histogram,
    /// How long it took to submit requests, in ticks; empty where calls are made one after the other.
    pub submission: Histogram,
    /// Submission and latency of requests together, in ticks.
    pub total: Histogram,
    /// The number of transfers, where the latencies are those of something else.
    pub blocks: Option<u64>,
    /// How long these transfers took in all, in ns, where that is less than the run: with `verify`, writes and the reads that check
    /// them run one after the other.
    pub ran_ns: Option<u64>,
    /// The latencies of requests by their I/O priority, as `ioprio_set(2)` numbers it, where some requests have a priority of their
    /// own.
    pub by_priority: Vec<(u16, Latencies)>,
}

/// Latencies of requests, in ticks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Latencies {
    /// From submission to completion.
    pub latency: Histogram,
    /// Including the submission.
    pub total: Histogram,
}

impl Transfers {
    /// Adds the transfers of another thread.
    pub fn add(&mut self, other: &Transfers) {
        self.bytes += other.bytes;
        self.latency.merge(&other.latency);
        self.submission.merge(&other.submission);
        self.total.merge(&other.total);
        if let Some(blocks) = other.blocks {
            *self.blocks.get_or_insert_default() += blocks;
        }
        self.ran_ns = self.ran_ns.max(other.ran_ns);
        for (priority, theirs) in &other.by_priority {
            let mine = self.of_priority(*priority);
            mine.latency.merge(&theirs.latency);
            mine.total.merge(&theirs.total);
        }
    }

    pub(super) fn of_priority(&mut self, priority: u16) -> &mut Latencies {
        let at = self.by_priority.binary_search_by_key(&priority, |(other, _)| *other).unwrap_or_else(|at| {
            self.by_priority.insert(at, (priority, Latencies::default()));
            at
        });
        &mut self.by_priority[at].1
    }

    /// The number of transfers.
    pub fn count(&self) -> u64 {
        self.blocks.unwrap_or(self.latency.count())
    }
}

impl Outcome {
    /// The outcome of a thread that did nothing.
    pub fn nothing(ns_per_tick: f64) -> Self {
        Self { ns_per_tick, ..Self::default() }
    }

    /// The same outcome with separate times for the writes and for the reads that verify them, as fio reports them; the reads took
    /// `verified_ns`.
    #[must_use]
    pub fn apart(mut self, job: &Job, verified_ns: u64) -> Self {
        if verified_ns > 0 {
            self.transfers[1].ran_ns = Some(self.elapsed_ns.saturating_sub(verified_ns));
            self.transfers[0].ran_ns = (!job.does(Direction::Read)).then_some(verified_ns);
        }
        self
    }

    /// How long transfers of one direction ran, in ns.
    pub fn ran_ns(&self, direction: Direction) -> u64 {
        self.transfers[direction as usize].ran_ns.unwrap_or(self.elapsed_ns)
    }

    /// What an engine of names did: the latencies are those of what it does to each of them, and as in fio belong to the
    /// reads if there are any. What was taken for trims was that.
    pub(super) fn of_names(mut self, job: &Job) -> Self {
        for side in &mut self.transfers {
            side.blocks = Some(std::mem::take(&mut side.latency).count());
        }
        let side = if job.does(Direction::Read) { Direction::Read } else { Direction::Write };
        self.transfers[side as usize].latency = std::mem::take(&mut self.trims.latency);
        (self.sampled.bandwidth[2], self.sampled.iops[2]) = (Sampled::default(), Sampled::default());
        self
    }

    /// The outcome that the thread would have had if it had gone on at the same rates for `factor` times as long.
    #[must_use]
    pub fn prolonged(mut self, factor: f64) -> Self {
        for side in &mut self.transfers {
            side.bytes = (side.bytes as f64 * factor).round() as u64;
            side.latency.repeated(factor);
        }
        self.syncs.repeated(factor);
        self.elapsed_ns = (self.elapsed_ns as f64 * factor) as u64;
        self
    }

    /// The threads of a run as one: counts and bytes are added up, the longest time is kept. None without threads.
    pub fn together(threads: &[Outcome]) -> Option<Outcome> {
        let (first, others) = threads.split_first()?;
        Some(others.iter().fold(first.clone(), |mut sum, one| {
            sum.add(one);
            sum
        }))
    }

    /// Adds an outcome that came after this one: times are added up as well.
    pub fn follow(&mut self, next: &Outcome) {
        let elapsed_ns = self.elapsed_ns + next.elapsed_ns;
        let ran = [Direction::Read, Direction::Write].map(|side| self.ran_ns(side) + next.ran_ns(side));
        let device_wrote = self.device_wrote.zip(next.device_wrote).map(|(mine, next)| mine.and(next));
        self.add(next);
        (self.elapsed_ns, self.device_wrote) = (elapsed_ns, device_wrote);
        for (side, ran) in self.transfers.iter_mut().zip(ran) {
            side.ran_ns = side.ran_ns.map(|_| ran);
        }
    }

    /// How many requests were under way, and submitted at once.
    pub fn levels(&self) -> Levels {
        let transfers = self.calls() + self.trims.count();
        self.levels.unwrap_or_else(|| Levels::one_by_one(transfers))
    }

    /// Adds the outcome of a thread that ran at the same time.
    pub fn add(&mut self, other: &Outcome) {
        if self.levels.is_some() || other.levels.is_some() {
            let mut levels = self.levels();
            levels.add(&other.levels());
            self.levels = Some(levels);
        }
        for (mine, theirs) in self.transfers.iter_mut().zip(&other.transfers) {
            mine.add(theirs);
        }
        self.trims.add(&other.trims);
        self.sampled.add(&other.sampled);
        self.steadiness = self.steadiness.take().or_else(|| other.steadiness.clone());
        self.syncs.merge(&other.syncs);
        self.errors.count += other.errors.count;
        self.errors.first = if self.errors.first == 0 { other.errors.first } else { self.errors.first };
        self.elapsed_ns = self.elapsed_ns.max(other.elapsed_ns);
        self.cached_before = match (self.cached_before, other.cached_before) {
            (Some(mine), Some(theirs)) => {
                Some(Cached { cached: mine.cached + theirs.cached, pages: mine.pages + theirs.pages })
            }
            _ => None,
        };
        self.usage = Usage {
            user: self.usage.user + other.usage.user,
            system: self.usage.system + other.usage.system,
            major_faults: self.usage.major_faults + other.usage.major_faults,
            minor_faults: self.usage.minor_faults + other.usage.minor_faults,
            sleeps: self.usage.sleeps + other.usage.sleeps,
            preemptions: self.usage.preemptions + other.usage.preemptions,
        };
    }

    /// The number of transfers in both directions.
    pub fn calls(&self) -> u64 {
        self.transfers.iter().map(Transfers::count).sum()
    }

    /// The latency that a share of the transfers of both directions does not exceed, in ns.
    pub fn latency_ns(&self, share: f64) -> f64 {
        let mut all = self.transfers[0].latency.clone();
        all.merge(&self.transfers[1].latency);
        all.quantile(share) as f64 * self.ns_per_tick
    }

    /// The latency that a share of the transfers does not exceed, in ns, of the direction that has more transfers; for requests it
    /// includes the submission. None without transfers.
    pub fn latency_of_most_ns(&self, share: f64) -> Option<f64> {
        let most = self.transfers.iter().max_by_key(|side| side.latency.count())?;
        let whole = if most.total.count() > 0 { &most.total } else { &most.latency };
        (whole.count() > 0).then(|| whole.quantile(share) as f64 * self.ns_per_tick)
    }

    /// Transfers per second in one direction.
    pub fn iops(&self, direction: Direction) -> f64 {
        per_second(self.transfers[direction as usize].count(), self.ran_ns(direction))
    }

    /// Bytes per second in one direction.
    pub fn bytes_per_second(&self, direction: Direction) -> f64 {
        per_second(self.transfers[direction as usize].bytes, self.ran_ns(direction))
    }

    /// Bytes per second in all directions of the job. Reads that verify written data do not count.
    pub fn bytes_per_second_of(&self, job: &Job) -> f64 {
        job.directions().map(|direction| self.bytes_per_second(direction)).sum()
    }
}

/// The rate of `count` events in `ns`, per second.
pub fn per_second(count: u64, ns: u64) -> f64 {
    if ns == 0 { 0.0 } else { count as f64 / (ns as f64 / 1e9) }
}
